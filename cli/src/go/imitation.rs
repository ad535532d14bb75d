//! Which networks for human play there are, and what may be set because of that.

use super::params::Params;
use crate::console::aside;
use crate::go::NO_PROFILE;
use crate::options::{Meaning, Typed};
use oncilla_go::profile::Profile;
use oncilla_nets::katago::Model;

/// Networks for human play, of which there may be none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imitation {
    /// Whether the main network, which searches, is one.
    pub by_main: bool,
    /// Whether one stands beside the main network (`-human-model`).
    pub by_beside: bool,
}

/// Why a profile can't be set.
const UNUSED_PROFILE: &str = "humanSLProfile is specified as config param but the network does not use it";

/// The beginning of the names of KataGo's parameters that are for a network beside the main one.
const OF_BESIDE: &str = "humanSL";

/// The only parameter with such a name that a main network may use, too.
const PROFILE: &str = "humanSLProfile";

impl Imitation {
    /// The networks that the program starts with, `model` being the main one. A line on standard error says so if one of
    /// them is not used.
    ///
    /// # Errors
    /// Those of [`Imitation::suits`] and [`Imitation::permits`].
    pub fn at_the_start(model: &Model, params: &Params, typed: &Typed, meaning: &Meaning) -> Result<Self, String> {
        let networks = Self { by_main: model.encodes_metadata(), by_beside: meaning.human_model.is_some() };
        networks.suits(params)?;
        networks.permits(typed.of_katago().iter().map(|(name, _)| name.as_str()))?;
        networks.unused(params).iter().for_each(|line| aside(line));
        Ok(networks)
    }

    /// Only the main network, which may be one for human play.
    pub fn alone(by_main: bool) -> Self {
        Self { by_main, by_beside: false }
    }

    /// Checks that some network uses the profile, if there is one.
    ///
    /// # Errors
    /// One line in KataGo's words, without the network's file.
    pub fn suits(self, params: &Params) -> Result<(), String> {
        let is_used = self.by_main || self.by_beside;
        if params.human_profile.is_some() && !is_used { Err(UNUSED_PROFILE.to_string()) } else { Ok(()) }
    }

    /// The profile that these parameters have, which a main network for human play needs.
    ///
    /// # Errors
    /// One line: it needs one, and there is none.
    pub fn profile(self, params: &Params) -> Result<Option<Profile>, String> {
        match params.human_profile {
            None if self.by_main => Err(NO_PROFILE.to_string()),
            profile => Ok(profile),
        }
    }

    /// Checks that no parameter of these names needs a network beside the main one that is not there, whatever its
    /// value.
    ///
    /// # Errors
    /// One line that names the first such parameter.
    pub fn permits<'n>(self, mut names: impl Iterator<Item = &'n str>) -> Result<(), String> {
        let needs = |name: &&str| name.starts_with(OF_BESIDE) && *name != PROFILE && Params::has(name);
        match names.find(|name| !self.by_beside && needs(name)) {
            Some(name) => {
                Err(format!("{name}: expected a network for human play beside the main one (--human-model), got none"))
            }
            None => Ok(()),
        }
    }

    /// A line for a person, if there is a network beside the main one that nobody has named a profile for.
    pub fn unused(self, params: &Params) -> Option<&'static str> {
        (self.by_beside && params.human_profile.is_none())
            .then_some("the network of --human-model is not asked until humanSLProfile says whose play is wanted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go::Known;

    const NONE: Imitation = Imitation { by_main: false, by_beside: false };
    const MAIN: Imitation = Imitation { by_main: true, by_beside: false };
    const BESIDE: Imitation = Imitation { by_main: false, by_beside: true };

    fn with_profile(name: &str) -> Params {
        let mut params = Params::default();
        assert_eq!(params.set(PROFILE, name), Ok(Known::Yes));
        params
    }

    #[test]
    fn a_profile_needs_some_network() {
        let suits = |profile: &str| [NONE, MAIN, BESIDE].map(|networks| networks.suits(&with_profile(profile)));
        assert_eq!(suits("rank_5k"), [Err(UNUSED_PROFILE.to_string()), Ok(()), Ok(())]);
        assert_eq!(suits("_"), [Ok(()), Ok(()), Ok(())]);
    }

    #[test]
    fn what_is_for_a_network_beside_needs_it() {
        let needing = [
            "humanSLChosenMoveIgnorePass",
            "humanSLChosenMovePiklLambda",
            "humanSLChosenMoveProp",
            "humanSLCpuctExploration",
            "humanSLCpuctPermanent",
            "humanSLOppExploreProbWeightful",
            "humanSLOppExploreProbWeightless",
            "humanSLPlaExploreProbWeightful",
            "humanSLPlaExploreProbWeightless",
            "humanSLRootExploreProbWeightful",
            "humanSLRootExploreProbWeightless",
        ];
        for name in needing {
            for networks in [NONE, MAIN] {
                let error = networks.permits(["maxVisits", name].into_iter()).unwrap_err();
                assert!(error.starts_with(&format!("{name}: expected")) && error.contains("--human-model"), "{error}");
            }
            assert_eq!(BESIDE.permits([name].into_iter()), Ok(()));
        }
        let others = ["humanSLProfile", "humanSLNothing", "maxVisits", ""];
        assert_eq!(NONE.permits(others.into_iter()), Ok(()));
    }

    #[test]
    fn a_network_that_is_not_asked_is_told_of() {
        assert!(BESIDE.unused(&Params::default()).is_some_and(|line| line.contains("humanSLProfile")));
        let silent = [BESIDE.unused(&with_profile("rank_5k")), NONE.unused(&Params::default())];
        assert_eq!(silent, [None, None]);
    }
}
