//! The playout doubling advantage of a player that has given a handicap, as in KataGo
//! (`dynamicPlayoutDoublingAdvantageCapPerOppLead`). Told that it searches more than its opponent, the network also
//! plays for complications: a game that is lost between equals need not be lost against a weaker player.

use oncilla_go::{Color, Scoring, Size};

use crate::go::Game;

/// A fair komi.
const FAIR: f64 = 7.0;

/// Points that a handicap stone is worth under area scoring.
const STONE_IN_AREA: f64 = 15.0;

/// Points that a handicap stone is worth under territory scoring.
const STONE_IN_TERRITORY: f64 = 14.0;

/// Points of a head start that do not count as a handicap, on 19×19 and at least on any board.
const EVEN: [f64; 2] = [4.0, 2.0];

/// Advantages are multiples of this, so they change in such steps from move to move.
const STEP: f64 = 0.125;

/// The largest advantage: networks have seen hardly any larger one.
const MOST: f64 = 2.75;

/// The shortest side of a board on which there is an advantage.
const SHORTEST: u8 = 8;

/// Win less loss, from −1 to 1, below which the advantage grows, and the one above which it shrinks.
const BALANCE: [f64; 2] = [-0.9, -0.5];

/// Points that Black is ahead by at the beginning, by handicap stones and komi, if it is treated as people treat it.
///
/// As in KataGo, Black's moves in a row at the beginning count here even if
/// `assumeMultipleStartingBlackMovesAreHandicap` is false.
pub fn head_start(game: &Game) -> f64 {
    let mut game = game.clone();
    game.set_black_run_is_handicap(true);
    let (rules, stones) = (game.rules(), game.handicap_stones());
    let stone = if rules.scoring == Scoring::Area { STONE_IN_AREA } else { STONE_IN_TERRITORY };
    // White has the first move after the stones.
    let given = stone * stones.saturating_sub(1) as f64 - rules.handicap_bonus.points(stones) as f64;
    given + FAIR - f64::from(rules.komi.points())
}

/// How many times more a point counts on this board than on 19×19.
fn scale(size: Size) -> f64 {
    (Size::STANDARD.area() as f64 / size.area() as f64).powf(0.75)
}

/// The advantage of White, in doublings of its search over Black's: at most `for_each_point` for each point of a head
/// start. `estimates` are those of White's wins less its losses in its earlier turns.
pub fn for_white(game: &Game, for_each_point: f64, estimates: impl Iterator<Item = f64>) -> f64 {
    let (size, ahead) = (game.size(), head_start(game));
    let scale = scale(size);
    let [even, least] = EVEN;
    let even = (even / scale).max(least);
    if ahead.abs() < even || size.x().min(size.y()) < SHORTEST {
        return 0.0;
    }
    // The advantage is White's if Black is ahead.
    let sign = if ahead >= 0.0 { 1.0 } else { -1.0 };
    let most = (for_each_point * (ahead.abs() - even) * scale).min(MOST);
    let most = (most / STEP).round() * STEP;
    if game.board().stones(Color::White).is_empty() {
        return sign * most;
    }
    let [low, high] = BALANCE;
    let next = |now: f64, estimate: f64| match sign * estimate {
        lost if lost < low => now + STEP,
        fair if fair > high => now - STEP,
        _ => now,
    };
    sign * estimates.fold(most, |now, estimate| next(now, estimate).clamp(0.0, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_go::{Komi, Rules};

    /// A game with handicap stones on one line, then a stone of White's in a corner.
    fn game(side: u8, stones: u8, rules: &str, komi: f32) -> Game {
        let size = Size::new(side, side).expect("a size");
        let rules = Rules { komi: Komi::from_points(komi).expect("a komi"), ..Rules::from_name(rules).expect("rules") };
        let mut game = Game::new(size, rules);
        for x in 0..stones {
            game.play_as(Color::Black, size.point(x, 3).expect("a point")).expect("a stone");
        }
        game.play_as(Color::White, size.point(0, 0).expect("a point")).expect("a stone");
        game
    }

    fn at_first(game: &Game) -> f64 {
        for_white(game, 0.045, std::iter::empty())
    }

    #[test]
    fn more_stones_are_more_advantage() {
        // 15 for each of two stones and 6.5 for the komi, less the bonus of 3: 33.5 points, of which 4 do not count.
        assert_eq!(at_first(&game(19, 3, "chinese", 0.5)), 1.375);
        // 14 for each of two stones, and no bonus: 34.5 points.
        assert_eq!(at_first(&game(19, 3, "japanese", 0.5)), 1.375);
        assert_eq!(at_first(&game(19, 9, "japanese", 0.5)), MOST);
        assert_eq!(at_first(&game(19, 1, "japanese", 6.5)), 0.0, "an even game");
        assert_eq!(at_first(&game(19, 1, "japanese", 2.5)), 0.0, "4.5 points are no step");
        // Black has given a komi of 40.
        assert_eq!(at_first(&game(19, 1, "japanese", 40.0)), -1.25);
        assert_eq!(at_first(&game(9, 2, "japanese", 0.5)), 2.5, "(20.5 − 2)·0.045·3.07");
        assert_eq!(at_first(&game(7, 2, "japanese", 0.5)), 0.0);
    }

    #[test]
    fn who_is_sure_to_lose_risks_more() {
        let game = game(19, 3, "japanese", 0.5);
        let after = |estimates: &[f64]| for_white(&game, 0.045, estimates.iter().copied());
        assert_eq!(after(&[-0.95]), 1.375, "as much as there is");
        assert_eq!(after(&[-0.4, -0.4, -0.7]), 1.125);
        assert_eq!(after(&[-0.4, -0.4, -0.95]), 1.25);
        assert_eq!(after(&[0.9; 20]), 0.0);
        assert_eq!(after(&[&[0.9; 20][..], &[-0.95]].concat()), 0.125);
        let by_komi = super::tests::game(19, 1, "japanese", 40.0);
        assert_eq!(for_white(&by_komi, 0.045, [0.4, 0.7].into_iter()), -1.125, "in Black's view");
    }
}
