//! The network that searches, and the one for human play that may stand beside it (KataGo's `-human-model`).
//!
//! The one beside is asked about the root alone, when a search begins: what players of a profile would play there, and
//! how they would fare. It has an evaluator of its own.

use super::{Evaluator, Imitation};
use crate::network::{EvaluatorSettings, Weights, of_network};
use crate::subject::model;
use oncilla_go::Size;
use oncilla_nets::katago::Model;
use std::sync::Arc;

/// What evaluates.
#[derive(Clone)]
pub struct Networks {
    /// The network that searches.
    pub main: Arc<Evaluator>,
    /// The one for human play beside it, if there is one.
    pub human: Option<Arc<Evaluator>>,
}

impl Networks {
    /// Evaluators for a network that has been read and for that of `--human-model`, if there is one, which runs on what
    /// runs the main one. They have no cache yet.
    ///
    /// # Errors
    /// One line that begins with `--human-model`: the file can't be read, or it is no network for human play. KataGo
    /// takes any network, and warns of one that does not know profiles.
    pub fn new(main: Model, human: Option<&Weights>, settings: EvaluatorSettings) -> Result<Self, String> {
        let human = human.map(|weights| {
            let settings = EvaluatorSettings { weights: weights.clone(), ..settings.clone() };
            let model = read(&settings).map_err(|error| format!("--human-model: {error}"))?;
            Ok::<_, String>(Arc::new(Evaluator::new(model, settings, 0)))
        });
        Ok(Self { human: human.transpose()?, main: Arc::new(Evaluator::new(main, settings, 0)) })
    }

    /// The main network, and then the other.
    pub fn all(&self) -> impl Iterator<Item = &Evaluator> {
        [Some(&self.main), self.human.as_ref()].into_iter().flatten().map(|network| &**network)
    }

    /// Which of the networks are for human play.
    pub fn imitation(&self) -> Imitation {
        Imitation { by_main: self.main.model().encodes_metadata(), by_beside: self.human.is_some() }
    }

    /// Prepares what runs the networks on boards of this size; returns lines for a person if that is new.
    ///
    /// # Errors
    /// Like [`Evaluator::prepare`].
    pub fn prepare(&self, size: Size) -> Result<Vec<String>, String> {
        let said: Result<Vec<_>, String> = self.all().map(|network| network.prepare(size)).collect();
        Ok(said?.concat())
    }

    /// Gives the networks caches of so many bytes together.
    pub fn set_cache(&self, bytes: usize) {
        let shares = shares_of_cache(bytes, self.human.is_some());
        self.all().zip(shares).for_each(|(network, share)| network.set_cache(share));
    }

    /// Forgets what is in the caches.
    pub fn clear_cache(&self) {
        self.all().for_each(Evaluator::clear_cache);
    }
}

/// The cache of the network beside gets one part in this many of what both networks may take: it is asked about roots
/// alone.
const CACHE_SHARE: usize = 8;

/// Bytes for the caches of the main network and of the one beside it, if there is one, out of `bytes` for both.
fn shares_of_cache(bytes: usize, has_beside: bool) -> [usize; 2] {
    let beside = if has_beside { bytes / CACHE_SHARE } else { 0 };
    [bytes - beside, beside]
}

fn read(settings: &EvaluatorSettings) -> Result<Model, String> {
    let weights = &settings.weights;
    if let Weights::File(path) = weights {
        let facts = path.metadata().map_err(|error| of_network(weights, &format!("can't read it: {error}")))?;
        // It is read more than once, which a pipe does not allow.
        if !facts.is_file() {
            return Err(format!("expected a network for human play in a regular file, got {weights}"));
        }
    }
    match model(settings)? {
        Some(model) if model.encodes_metadata() => Ok(model),
        Some(_) => Err(format!("expected a network for human play, got another network of Go's, {weights}")),
        None => Err(format!("expected a network for human play, one of KataGo's, got {weights}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_for_both() {
        assert_eq!(shares_of_cache(800, false), [800, 0]);
        assert_eq!(shares_of_cache(800, true), [700, 100]);
        assert_eq!(shares_of_cache(0, true), [0, 0]);
    }
}
