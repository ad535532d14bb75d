//! Sample positions for tests and measurements of networks.

use super::Game;
use oncilla_go::planes;
use oncilla_go::profile::Profile;
use oncilla_go::{Rules, Size, Symmetry};
use oncilla_nets::katago::Model;

/// The number of moves before each sample, as a share of the board's points: first a middle game, then an empty board,
/// a board that is nearly full, and others.
const FILLED: [f32; 6] = [0.4, 0.0, 0.9, 0.15, 0.7, 0.03];

/// The profiles that networks for human play get for the samples, in turn.
const PROFILES: [&str; 3] = ["rank_5k", "preaz_3d_15k", "proyear_1990"];

/// Some positions on a board of this size, each from a random game that is the same in every run.
pub fn samples(size: Size) -> Vec<Game> {
    let game = |(seed, filled): (u64, f32)| {
        let mut game = Game::new(size, Rules::TROMP_TAYLOR);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed + 1);
        for _ in 0..(filled * size.area() as f32) as usize {
            let legal: Vec<_> = game.legal_moves().filter(|&mv| mv != size.pass()).collect();
            // This is the generator of Knuth's MMIX.
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (state >> 33) as usize % legal.len().max(1);
            if legal.get(at).is_none_or(|&mv| game.play(mv).is_err()) {
                break;
            }
        }
        game
    };
    (0..).zip(FILLED).map(game).collect()
}

/// The network's input for all samples, one row after the other.
pub fn inputs(model: &Model, size: Size) -> Vec<f32> {
    let mut input = Vec::new();
    for (game, name) in samples(size).iter().zip(PROFILES.into_iter().cycle()) {
        let planes = planes::encode(game, &planes::Options::default());
        let profile = Profile::from_name(name).filter(|_| model.encodes_metadata());
        let metadata = profile.map(|profile| profile.metadata(game.side_to_move(), size.area()));
        super::input::add(&planes, Symmetry::NONE, metadata.as_ref(), &mut input);
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go::tests::evaluator_with;
    use oncilla_go::planes::{GLOBAL, SPATIAL};
    use oncilla_go::profile::METADATA;

    #[test]
    fn they_are_of_all_stages_of_a_game() {
        for (x, y) in [(19, 19), (9, 9), (13, 7), (2, 2)] {
            let size = Size::new(x, y).unwrap();
            let samples = samples(size);
            let stones: Vec<usize> = samples.iter().map(|game| game.board().occupied().len()).collect();
            assert_eq!((samples.len(), stones[1]), (FILLED.len(), 0));
            assert!(size.area() < 60 || stones[2] > stones[3] && stones[3] > 5, "{stones:?}");
        }
    }

    #[test]
    fn a_network_sees_as_many_numbers_as_it_reads() {
        assert!(PROFILES.into_iter().all(|name| Profile::from_name(name).is_some()));
        let size = Size::new(7, 5).unwrap();
        for (file, beside) in [("tiny-v15.bin.gz", 0), ("tiny-human.bin.gz", METADATA)] {
            let evaluator = evaluator_with(file);
            let row = SPATIAL * 35 + GLOBAL + beside;
            assert_eq!(inputs(evaluator.model(), size).len(), FILLED.len() * row);
            assert_eq!(evaluator.model().graph(5, 7).unwrap().input().len(), row);
        }
    }
}
