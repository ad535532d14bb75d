//! The core's parameters for one search.

use super::limits::Go;
use super::settings::Settings;
use oncilla_chess::{Color, History};
use oncilla_core::formula::random::Random;
use oncilla_core::search::Params;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The parameters of a search of `position`. Draw score and contempt are converted to the side to move.
pub fn params_for(settings: &Settings, has_moves_left: bool, position: &History, go: &Go) -> Params {
    let white = position.side_to_move() == Color::White;
    Params {
        draw_score: settings.draw_score(position.side_to_move()),
        wdl_rescale: settings.contempt.at_root(white, go.infinite),
        moves_left: settings.params.moves_left.filter(|_| has_moves_left),
        seed: seed_for(settings.random_seed, position),
        ..settings.params
    }
}

/// The seed for a position: each move of a game gets another one. With `seed == 0` it also differs from run to run.
fn seed_for(seed: u64, position: &History) -> u64 {
    let seed = if seed == 0 { RandomState::new().build_hasher().finish() } else { seed };
    Random::stream(seed, position.key()).bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::lineage::tests::after;
    use crate::options::Typed;

    #[test]
    fn draws_and_contempt_are_those_of_the_side_to_move() {
        let settings = |mode: &str| {
            let mut typed = Typed::default();
            let contempt = [("contempt", "300"), ("contempt-mode", mode), ("wdl-draw-rate-target", "0.6")];
            for (flag, value) in contempt.into_iter().chain([("draw-score", "0.25")]) {
                let opt = crate::options::table::by_flag(flag).unwrap();
                typed.set(opt, flag, value).unwrap();
            }
            typed.meaning().unwrap().settings
        };
        let [white, black] = [after(&[]), after(&["e2e4"])];
        let own = settings("white_side_analysis");
        let params = |position: &History, infinite: bool, mode: &str| {
            params_for(&settings(mode), true, position, &Go { infinite, ..Go::default() })
        };
        let [at_white, at_black] = [&white, &black].map(|position| params(position, false, "white_side_analysis"));
        assert_eq!([at_white.draw_score, at_black.draw_score], [0.25, -0.25]);
        assert_eq!(
            [at_white.wdl_rescale, at_black.wdl_rescale],
            [true, false].map(|white| own.contempt.at_root(white, false))
        );
        assert_ne!(at_white.wdl_rescale, at_black.wdl_rescale);
        assert_ne!(params(&white, true, "play").wdl_rescale, params(&white, false, "play").wdl_rescale, "nobody's");
        assert!(at_white.moves_left.is_some());
        assert!(params_for(&own, false, &white, &Go::default()).moves_left.is_none(), "there is no such head");
    }
}
