//! Positions on which a network is tried.

use super::Game;
use oncilla_go::planes;
use oncilla_go::{Rules, Size, Symmetry};

/// Moves before each of them, as shares of the board's points: a middle game first, an empty board, one that is nearly
/// full.
const FILLED: [f32; 6] = [0.4, 0.0, 0.9, 0.15, 0.7, 0.03];

/// Some positions on a board of this size, each of a game by chance that is the same in every run.
pub fn samples(size: Size) -> Vec<Game> {
    let game = |(seed, filled): (u64, f32)| {
        let mut game = Game::new(size, Rules::TROMP_TAYLOR);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed + 1);
        for _ in 0..(filled * size.area() as f32) as usize {
            let legal: Vec<_> = game.legal_moves().filter(|&mv| mv != size.pass()).collect();
            // The numbers of Knuth's MMIX.
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

/// What a network sees of a game's last position.
pub fn inputs(game: &Game) -> Vec<f32> {
    let planes = planes::encode(game, &planes::Options::default());
    let mut input = Vec::new();
    super::input::add(&planes, Symmetry::NONE, &mut input);
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_go::planes::{GLOBAL, SPATIAL};

    #[test]
    fn they_are_of_all_stages_of_a_game() {
        for (x, y) in [(19, 19), (9, 9), (13, 7), (2, 2)] {
            let size = Size::new(x, y).unwrap();
            let samples = samples(size);
            let stones: Vec<usize> = samples.iter().map(|game| game.board().occupied().len()).collect();
            assert_eq!((samples.len(), stones[1]), (FILLED.len(), 0));
            assert!(size.area() < 60 || stones[2] > stones[3] && stones[3] > 5, "{stones:?}");
            let inputs = samples.iter().map(inputs);
            assert!(inputs.into_iter().all(|input| input.len() == SPATIAL * size.area() + GLOBAL));
        }
    }
}
