//! Which moves of a root keep the position's result.

use oncilla_chess::{History, Move, MoveList};

use crate::probe::Distance;
use crate::tablebases::{ProbeError, Tablebases};
use crate::wdl::Wdl;

/// The rank of a move that wins, or loses, whatever the rule-50 counter says.
pub const MAX_RANK: i32 = 1000;

/// The last ply, counted from when the rule-50 counter was 0, on which a zeroing move is in time.
const LAST_PLY: i32 = 100;

/// A move of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedMove {
    /// The move. It is never castling.
    pub mv: Move,
    /// The rank; more is better: see [`dtz_rank`] and [`wdl_rank`].
    pub rank: i32,
    /// The result, seen from the side to move at the root. If distances are known, it takes the game's rule-50 counter
    /// into account: a win that comes too late is cursed.
    pub wdl: Wdl,
    /// Plies to the next zeroing move, this one included; 0 for a draw. `None` if moves were ranked by results only.
    pub dtz: Option<i32>,
    /// Plies to mate, this one included, negative for the side that is mated. `None` if it comes from a table in a
    /// file, or if the rule-50 counter may run out before.
    pub mate: Option<i32>,
    /// True if [`RankedMove::wdl`] is a win or a loss that would come on the very ply on which the rule-50 counter runs
    /// out, by a table that counts moves and not plies: it may come one ply later, and then it is a draw. (The rank is
    /// that of Lc0 all the same.)
    pub may_be_late: bool,
}

/// The moves of a root, ranked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootRanks {
    /// All legal moves, in the order of [`History::legal_moves`]. There is at least one.
    pub moves: Vec<RankedMove>,
    /// Why moves could be ranked by results only; `None` if distances are known.
    ///
    /// With distances every move that remains makes progress, or keeps a win with plies to spare. Without distances, a
    /// search must find the progress itself.
    pub without_dtz: Option<ProbeError>,
}

impl RootRanks {
    /// The rank of the best moves.
    pub fn best_rank(&self) -> i32 {
        self.moves.iter().map(|ranked| ranked.rank).max().unwrap_or(0)
    }

    /// The moves that a search should look at: those with the best rank.
    pub fn best(&self) -> impl Iterator<Item = &RankedMove> {
        let best = self.best_rank();
        self.moves.iter().filter(move |ranked| ranked.rank == best)
    }

    /// Whether distances are known. Then a search needs no results at its leaves: the counter at the root may be
    /// anything, and the moves that remain are safe.
    pub fn by_dtz(&self) -> bool {
        self.without_dtz.is_none()
    }
}

impl Tablebases {
    /// Ranks the legal moves of a game's last position, whatever its rule-50 counter is.
    ///
    /// They are ranked by distance, or by result if a DTZ table is missing. `fast_play` (Lc0's `SyzygyFastPlay`) ranks
    /// winning moves by distance even if there is time for all of them. A move after which a position occurs for the
    /// third time, at once or by a reply of a side that is lost, counts as a draw, which Lc0 does not see.
    ///
    /// # Errors
    /// For castling rights, too many pieces, no legal move ([`ProbeError::NoMove`]), and a WDL table that is missing or
    /// can't be used.
    pub fn root_moves<const CAP: usize>(
        &self,
        history: &History<CAP>,
        fast_play: bool,
    ) -> Result<RootRanks, ProbeError> {
        let board = history.board();
        self.check(board)?;
        let mut moves = MoveList::new();
        history.legal_moves(&mut moves);
        if moves.is_empty() {
            return Err(ProbeError::NoMove);
        }
        let hurry = fast_play || has_repeated(history);
        let rule50 = history.rule50().into();
        let mut game = Box::new(history.clone());
        let mut is_drawn = |mv: Move, wins: bool| {
            game.push(mv);
            let is_drawn = is_let_go(&mut game, wins, |game| game.repetitions() > 1);
            game.pop();
            is_drawn
        };
        let by_distance = |&mv: &Move| {
            let distance = self.distance_by(board, mv)?;
            let Distance { plies, exact } = if is_drawn(mv, distance.plies > 0) { Distance::DRAW } else { distance };
            let rank = dtz_rank(plies, rule50, hurry);
            let may_be_late = !exact && plies.abs() + rule50 == LAST_PLY;
            Ok(RankedMove { mv, rank, wdl: wdl_of_rank(rank), dtz: Some(plies), mate: None, may_be_late })
        };
        let without_dtz = match moves.iter().map(by_distance).collect() {
            Ok(moves) => return Ok(RootRanks { moves, without_dtz: None }),
            Err(error) => error,
        };
        let by_result = |&mv: &Move| {
            let wdl = self.wdl_by(board, mv)?;
            let wdl = if is_drawn(mv, wdl > Wdl::Draw) { Wdl::Draw } else { wdl };
            Ok(RankedMove { mv, rank: wdl_rank(wdl), wdl, dtz: None, mate: None, may_be_late: false })
        };
        let moves = moves.iter().map(by_result).collect::<Result<_, ProbeError>>()?;
        Ok(RootRanks { moves, without_dtz: Some(without_dtz) })
    }
}

/// Whether the game is drawn after its last move, or by some reply of a side that is lost.
pub(crate) fn is_let_go<const CAP: usize>(
    game: &mut History<CAP>,
    is_lost: bool,
    is_drawn: impl Fn(&History<CAP>) -> bool,
) -> bool {
    let mut replies = MoveList::new();
    if is_lost {
        game.legal_moves(&mut replies);
    }
    let draws = |&reply: &Move| {
        game.push(reply);
        let drawn = is_drawn(game);
        game.pop();
        drawn
    };
    replies.iter().any(draws) || is_drawn(game)
}

/// Whether a position has occurred twice since the last zeroing move: then the side that wins has wasted time.
fn has_repeated<const CAP: usize>(history: &History<CAP>) -> bool {
    (0..=usize::from(history.rule50()))
        .map_while(|plies| history.back(plies))
        .any(|position| position.repetitions() > 0)
}

/// The rank of a move by the plies to the next zeroing move, this one included (Lc0's formula, from Fathom).
///
/// - A win that comes before the counter runs out, at latest on its 99th ply: [`MAX_RANK`]. All such moves are equal,
///   and the search chooses; except with `hurry`, because the game has repeated a position or because the caller asked
///   for it.
/// - Other wins: `MAX_RANK − (dtz + rule50)`, so that the fastest is best.
/// - A loss against which the counter does not help, even if the winner takes twice as long: `−MAX_RANK`.
/// - Other losses: `−MAX_RANK + (−dtz + rule50)`: the slower, the better.
/// - A draw: 0. Wins and losses stay on their side of it, however long they take or how far the counter is.
pub fn dtz_rank(dtz: i32, rule50: i32, hurry: bool) -> i32 {
    match dtz {
        1.. if dtz + rule50 <= 99 && !hurry => MAX_RANK,
        1.. => (MAX_RANK - (dtz + rule50)).max(1),
        0 => 0,
        _ if -2 * dtz + rule50 < 100 => -MAX_RANK,
        _ => (-MAX_RANK + (-dtz + rule50)).min(-1),
    }
}

/// The rank of a move by its result.
pub fn wdl_rank(wdl: Wdl) -> i32 {
    match wdl {
        Wdl::Loss => -MAX_RANK,
        Wdl::BlessedLoss => -MAX_RANK + 101,
        Wdl::Draw => 0,
        Wdl::CursedWin => MAX_RANK - 101,
        Wdl::Win => MAX_RANK,
    }
}

/// The result that a rank stands for: 100 plies away from [`MAX_RANK`] the counter has run out.
pub(crate) fn wdl_of_rank(rank: i32) -> Wdl {
    const IN_TIME: i32 = MAX_RANK - LAST_PLY;
    match rank {
        IN_TIME.. => Wdl::Win,
        1.. => Wdl::CursedWin,
        0 => Wdl::Draw,
        _ if rank <= -IN_TIME => Wdl::Loss,
        _ => Wdl::BlessedLoss,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wins_in_time_are_equal_and_others_are_ordered() {
        for (dtz, rule50, hurry, rank) in [
            (1, 0, false, 1000),
            (99, 0, false, 1000),
            (50, 49, false, 1000),
            (50, 50, false, 900),
            (100, 0, false, 900),
            (101, 0, false, 899),
            (1, 99, false, 900),
            (1, 0, true, 999),
            (99, 0, true, 901),
            (30, 20, true, 950),
            (110, 20, true, 870),
        ] {
            assert_eq!(dtz_rank(dtz, rule50, hurry), rank, "{dtz} {rule50} {hurry}");
        }
    }

    #[test]
    fn losses_are_equal_until_the_counter_may_help() {
        for (dtz, rule50, rank) in [
            (-1, 0, -1000),
            (-49, 0, -1000),
            (-49, 1, -1000),
            (-49, 2, -949),
            (-50, 0, -950),
            (-100, 0, -900),
            (-101, 0, -899),
            (-1, 97, -1000),
            (-1, 98, -901),
        ] {
            for hurry in [false, true] {
                assert_eq!(dtz_rank(dtz, rule50, hurry), rank, "{dtz} {rule50}");
            }
        }
    }

    #[test]
    fn a_draw_lies_between_whatever_the_counter() {
        for rule50 in (0..200).chain([1000, 65535]) {
            assert_eq!(dtz_rank(0, rule50, false), 0);
            for dtz in 1..1100 {
                assert!(dtz_rank(dtz, rule50, false) > 0 && dtz_rank(dtz, rule50, true) > 0);
                assert!(dtz_rank(-dtz, rule50, false) < 0);
            }
        }
    }

    #[test]
    fn results_have_the_ranks_of_lc0() {
        assert_eq!(Wdl::ALL.map(wdl_rank), [-1000, -899, 0, 899, 1000]);
        assert_eq!(Wdl::ALL.map(wdl_rank).map(wdl_of_rank), Wdl::ALL);
        for (rank, wdl) in [(901, Wdl::Win), (900, Wdl::Win), (870, Wdl::CursedWin), (-900, Wdl::Loss)] {
            assert_eq!(wdl_of_rank(rank), wdl, "{rank}");
        }
    }

    #[test]
    fn a_repetition_is_seen_until_the_next_zeroing_move() {
        let mut history: History = History::from_fen("6k1/8/8/8/8/8/4P3/K6R w - - 0 1").unwrap();
        let mut play = |moves: &str| {
            for text in moves.split_whitespace() {
                history.try_push(text.parse().unwrap()).unwrap();
            }
            has_repeated(&history)
        };
        assert!(!play("h1h2 g8f8 h2h1"));
        assert!(play("f8g8"));
        assert!(play("h1h3 g8f8"));
        assert!(!play("e2e3"));
    }
}
