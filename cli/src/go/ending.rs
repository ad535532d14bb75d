//! How moves of the root count besides their values when the game comes to its end, as in KataGo, so that games end as
//! people end them: without moves where everything is settled (`rootEndingBonusPoints`, `rootPruneUselessMoves`), and
//! without a pass before the last neutral points are filled (`fillDameBeforePass`).
//!
//! What a move costs is part of the value in its edge, and so affects the path of the search and the choice. The means
//! in the notes do not contain it.

use super::notes::Averages;
use super::{Evaluation, Game};
use oncilla_go::area::{Area, pass_alive};
use oncilla_go::{Board, Button, Color, Move, PointSet, Scoring};

/// From this ownership on, a point almost surely belongs to that side.
const SURE: f32 = 0.95;

/// The part of the bonus that a pass costs: a little, so that a neutral point is filled first.
const OF_PASS: f32 = 2.0 / 3.0;

/// The part of the bonus that a pass costs if it takes the button.
const OF_BUTTON: f32 = 0.5;

/// This many passes of a player in a row show that it wants no more.
const PASSES: usize = 4;

/// How much worse than a pass a move may be, in utility and in points, for the pass to wait for it.
const WORSE: [f64; 2] = [0.1, 0.5];

/// A move with more visits than this is known, however many a pass has.
const KNOWN: u32 = 500;

/// Points that each move of the root costs the side to move besides its effect, by [`Move::index`]; settled points cost
/// `bonus`.
pub(super) fn costs(root: &Game, raw: &Evaluation, bonus: f32) -> Vec<f32> {
    let (board, side, pass) = (root.board(), root.side_to_move(), root.size().pass());
    let mut costs = vec![0.0; root.size().area() + 1];
    if bonus == 0.0 {
        return costs;
    }
    let counts_area = root.rules().scoring == Scoring::Area;
    costs[pass.index()] = match (counts_area, root.button()) {
        (false, _) => OF_PASS * bonus,
        (true, Button::Available) => OF_BUTTON * bonus,
        (true, Button::None | Button::Taken(_)) => 0.0,
    };
    // While there is a ko, a threat may be worth more than the point on which it is played.
    if board.ko().is_some() {
        return costs;
    }
    let safe = pass_alive(board, root.rules().suicide);
    for (point, &owned) in root.size().points().zip(&raw.ownership) {
        let beside_opponent = || board.neighbours(point).any(|beside| board.stone(beside) == Some(!side));
        let is_idle = match owned {
            owned if owned <= -SURE => !counts_area || !captures(board, side, point),
            owned if owned >= SURE => !beside_opponent() && !connects(board, side, point, &safe),
            _ => false,
        };
        if is_idle {
            costs[point.index()] = bonus * (owned.abs() - SURE) / (1.0 - SURE);
        }
    }
    costs
}

/// Whether a stone of `side` at this point captures stones.
fn captures(board: &Board, side: Color, point: Move) -> bool {
    board.neighbours(point).any(|beside| board.stone(beside) == Some(!side) && board.liberties(beside) == 1)
}

/// Whether a stone of `side` at this point joins a chain of that side that is not alive by itself with another chain.
fn connects(board: &Board, side: Color, point: Move, safe: &Area) -> bool {
    if board.stone(point).is_some() || safe.of(side).contains(point) {
        return false;
    }
    let own = || board.neighbours(point).filter(|&beside| board.stone(beside) == Some(side));
    let is_apart = |one: Move| own().any(|other| board.chain(one).all(|stone| stone != other));
    own().find(|&beside| safe.owner(beside).is_none()).is_some_and(is_apart)
}

/// The points that are settled, if the root's side has nothing to do but to fill them, because its opponent has passed
/// again and again; else no points.
pub(super) fn useless(root: &Game) -> PointSet {
    let opponent = !root.side_to_move();
    let passed = |&(color, mv): &(Color, Move)| color == opponent && mv == root.size().pass();
    if root.moves().rev().step_by(2).take(PASSES).filter(passed).count() < PASSES {
        return PointSet::EMPTY;
    }
    let safe = pass_alive(root.board(), root.rules().suicide);
    *safe.of(Color::Black) | *safe.of(Color::White)
}

/// A move of the root that was searched.
#[derive(Clone, Copy)]
pub struct Searched<'a> {
    /// The move.
    pub mv: Move,
    /// Visits that came by the root.
    pub visits: u32,
    /// The weight of these visits.
    pub weight: f64,
    /// The averages of the visits.
    pub averages: &'a Averages,
}

/// Whether a pass is to wait, because some move is about as good that is not one into the opponent's area. Under area
/// scoring a player gets points for such moves anyway.
pub fn pass_can_wait<'a>(root: &Game, raw: &Evaluation, moves: impl Iterator<Item = Searched<'a>> + Clone) -> bool {
    let pass = root.size().pass();
    let Some(passing) = moves.clone().find(|searched| searched.mv == pass && searched.weight > 0.0) else {
        return false;
    };
    let sign: f64 = root.side_to_move().sign();
    let owned = |point: Move| raw.ownership.get(point.index()).copied().unwrap_or(0.0);
    let is_lost = |mv| owned(mv) < -SURE && !root.board().neighbours(mv).any(|beside| owned(beside) > SURE);
    let is_known = |searched: &Searched<'_>| {
        searched.weight > 0.0 && (searched.visits > KNOWN || searched.weight > 2.0 * passing.weight.sqrt())
    };
    let is_as_good = |searched: &Searched<'_>| {
        let more = |of: fn(&Averages) -> f64| sign * (of(searched.averages) - of(passing.averages));
        let [utility, points] = WORSE;
        more(|means| means.utility) > -utility
            && more(|means| means.score) > -points
            && more(|means| means.lead) > -points
    };
    root.rules().scoring == Scoring::Territory
        && moves
            .filter(|searched| searched.mv != pass)
            .any(|other| !is_lost(other.mv) && is_known(&other) && is_as_good(&other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_go::{Rules, Size};

    /// Both sides are alive, and the points between them are neutral.
    const SETTLED: [&str; 5] = [".X.O.", "XX.OO", ".X.O.", "XX.OO", ".X.O."];

    /// A position with Black to move, given as rows from the top.
    fn game(rows: [&str; 5], rules: &str) -> Game {
        let size = Size::new(5, 5).expect("a size");
        let stone = |(point, sign)| {
            Some((if sign == 'X' { Color::Black } else { Color::White }, point)).filter(|_| sign != '.')
        };
        let stones = size.points().zip(rows.into_iter().flat_map(str::chars)).filter_map(stone);
        let board = Board::with_stones(size, stones).expect("a board");
        Game::starting_from(board, Color::Black, Rules::from_name(rules).expect("rules"))
    }

    /// An evaluation in which Black owns each row's points to this degree.
    fn owned(row: [f32; 5]) -> Evaluation {
        Evaluation {
            policy: vec![1.0 / 26.0; 26],
            win: 0.5,
            loss: 0.5,
            no_result: 0.0,
            score_mean: 0.0,
            score_stdev: 1.0,
            lead: 0.0,
            short_term: None,
            ownership: [row; 5].concat(),
        }
    }

    fn at(game: &Game, text: &str) -> Move {
        game.size().parse(text).expect("a move")
    }

    /// The cost of a move in hundredths of a point.
    fn cost(game: &Game, row: [f32; 5], text: &str) -> f32 {
        (100.0 * costs(game, &owned(row), 0.5)[at(game, text).index()]).round()
    }

    #[test]
    fn what_is_settled_costs() {
        let row = [0.99, 0.99, 0.0, -0.99, -1.0];
        for (rules, pass) in [("chinese", 0.0), ("japanese", 33.0), ("tromp-taylor", 0.0)] {
            let game = game(SETTLED, rules);
            let found = ["A5", "C3", "E3", "pass"].map(|text| cost(&game, row, text));
            assert_eq!(found, [40.0, 0.0, 50.0, pass], "{rules}: in its own area, between, in the other's");
            assert!(costs(&game, &owned(row), 0.0).iter().all(|&cost| cost == 0.0));
            assert_eq!(cost(&game, [0.94; 5], "A5"), 0.0, "not sure");
        }
    }

    #[test]
    fn what_takes_or_joins_or_answers_costs_nothing() {
        let rows = [".....", ".....", "O...X", ".....", ".X.X."];
        let (chinese, japanese) = (game(rows, "chinese"), game(rows, "japanese"));
        assert_eq!([&chinese, &japanese].map(|game| cost(game, [-0.99; 5], "B4")), [40.0; 2]);
        // The move takes the stone in the corner.
        let taken = ["O....", ".....", ".....", ".....", "....."];
        let beside = ["OX...", ".....", ".....", ".....", "....."];
        assert_eq!([taken, beside].map(|rows| cost(&game(rows, "chinese"), [-0.99; 5], "A4")), [40.0, 0.0]);
        assert_eq!([taken, beside].map(|rows| cost(&game(rows, "japanese"), [-0.99; 5], "A4")), [40.0, 40.0]);
        for game in [&chinese, &japanese] {
            let found = ["C1", "E2", "E5", "A4"].map(|text| cost(game, [0.99; 5], text));
            assert_eq!(found, [0.0, 40.0, 40.0, 0.0], "joins two, joins one to nothing, alone, beside the opponent");
        }
    }

    #[test]
    fn in_a_ko_only_a_pass_costs() {
        let mut game = game([".....", ".....", ".....", "XO...", ".XO.."], "japanese");
        game.play_as(Color::White, at(&game, "A1")).expect("it takes B1");
        assert!(game.board().ko().is_some());
        assert_eq!(["E5", "pass"].map(|text| cost(&game, [1.0; 5], text)), [0.0, 33.0]);
    }

    #[test]
    fn who_passes_again_and_again_is_left_alone() {
        let mut game = game(["....."; 5], "chinese");
        for (count, stone) in ["A2", "B1", "B2", "C2", "D1", "D2", "D3"].into_iter().enumerate() {
            let points: Vec<String> =
                useless(&game).iter().map(|point| game.size().format(point).to_string()).collect();
            match count {
                // Black is alive with D2, after six passes.
                6 => assert_eq!(points, ["A2", "B2", "C2", "D2", "A1", "B1", "C1", "D1"]),
                _ => assert!(points.is_empty(), "{points:?}"),
            }
            game.play(at(&game, stone)).expect("a move");
            game.play(game.size().pass()).expect("a pass");
        }
        assert!(!useless(&game).is_empty());
        game.play(at(&game, "E5")).expect("a move");
        assert!(useless(&game).is_empty(), "of White, who is to move now, the opponent has not passed");
        game.play(at(&game, "E4")).expect("a move");
        assert!(useless(&game).is_empty(), "the last move was none");
    }

    #[test]
    fn a_pass_waits_for_what_is_as_good() {
        let territory = game(SETTLED, "japanese");
        let raw = owned([0.99, 0.99, 0.0, -0.99, -0.99]);
        let pass = Averages { utility: 0.3, score: -5.0, lead: -5.0, ..Averages::default() };
        let waits = |game: &Game, text: &str, weight: f64, visits: u32, other: Averages| {
            let passing = Searched { mv: game.size().pass(), visits: 25, weight: 25.0, averages: &pass };
            let other = Searched { mv: at(game, text), visits, weight, averages: &other };
            pass_can_wait(game, &raw, [passing, other].into_iter())
        };
        // The test turns White's values round for Black.
        let as_good = Averages { utility: 0.39, score: -4.6, lead: -4.6, ..pass };
        assert!(waits(&territory, "C3", 11.0, 11, as_good));
        assert!(!waits(&territory, "C3", 9.0, 9, as_good), "not known well enough");
        assert!(waits(&territory, "C3", 9.0, 501, as_good));
        assert!(!waits(&game(SETTLED, "chinese"), "C3", 11.0, 11, as_good), "there it gains a point");
        assert!(!waits(&territory, "E5", 11.0, 11, as_good), "the opponent's");
        for worse in [
            Averages { utility: 0.41, ..as_good },
            Averages { score: -4.4, ..as_good },
            Averages { lead: -4.4, ..as_good },
        ] {
            assert!(!waits(&territory, "C3", 11.0, 11, worse), "{worse:?}");
        }
        let alone = [Searched { mv: at(&territory, "C3"), visits: 11, weight: 11.0, averages: &as_good }];
        assert!(!pass_can_wait(&territory, &raw, alone.into_iter()), "nobody looked at a pass");
    }
}
