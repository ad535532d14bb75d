//! From the values in tables to the result and the distance of a position.
//!
//! Tables leave out what is cheap to find: captures, en passant, and for distances pawn moves that keep the result.

use oncilla_chess::{Board, Move, MoveList, Piece, has_legal_move, legal_moves};

use crate::fault::Fault;
use crate::material::Material;
use crate::table::{Metric, RawDtz};
use crate::tablebases::{ProbeError, Tablebases};
use crate::wdl::Wdl;

/// A result, and how it is reached.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    wdl: Wdl,
    /// True if only a capture reaches it, or if a capture wins: then the next zeroing move is this one.
    by_capture: bool,
}

/// Plies to the next zeroing move, seen from the side to move, as [`Tablebases::dtz`] gives them.
///
/// Of two distances with equal plies the one that is not exact is the smaller: the least of several is sure only if all
/// of them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Distance {
    pub plies: i32,
    /// If false, the zeroing move may come one ply later.
    pub exact: bool,
}

impl Distance {
    pub const DRAW: Self = Self { plies: 0, exact: true };

    /// The distance if the next move is the zeroing one.
    fn before_zeroing(wdl: Wdl) -> Self {
        Self { plies: before_zeroing(wdl), exact: true }
    }

    /// The distance as seen by the side that came here by a move that is not a zeroing one.
    fn before_move(self) -> Self {
        Self { plies: -self.plies - self.plies.signum(), ..self }
    }
}

impl Tablebases {
    /// The result of a position with the rule-50 counter at 0, seen from the side to move.
    ///
    /// # Errors
    /// For castling rights, too many pieces, and a table that is missing or can't be used.
    pub fn wdl(&self, board: &Board) -> Result<Wdl, ProbeError> {
        self.check(board)?;
        Ok(self.outcome(board)?.wdl)
    }

    /// Plies to the next capture or pawn move with the best play of both, seen from the side to move, with the rule-50
    /// counter at 0.
    ///
    /// Positive if that side wins, negative if it loses, 0 for a draw; beyond ±100 for a cursed win and a blessed loss.
    /// −1 if it is mated. If the table counts moves instead of plies, the number may be one ply off.
    ///
    /// # Errors
    /// For castling rights, too many pieces, and a table that is missing or can't be used.
    pub fn dtz(&self, board: &Board) -> Result<i32, ProbeError> {
        self.check(board)?;
        Ok(self.distance(board, Lookahead::OnePly)?.plies)
    }

    fn outcome(&self, board: &Board) -> Result<Outcome, ProbeError> {
        let mut captures = Wdl::Loss;
        let mut en_passant = None;
        for mv in moves_of(board, is_capture) {
            let wdl = -self.after_captures(&after(board, mv), Wdl::Loss, -captures)?;
            if wdl == Wdl::Win {
                return Ok(Outcome { wdl, by_capture: true });
            }
            if is_en_passant(board, mv) {
                en_passant = en_passant.max(Some(wdl));
            } else {
                captures = captures.max(wdl);
            }
        }
        // The table ignores en passant: both that it is possible, and that it may be the only move there is.
        let table = self.raw_wdl(board)?;
        if let Some(wdl) = en_passant {
            let must = || moves_of(board, |board, mv| !is_en_passant(board, mv)).is_empty();
            let stalemate_but_for_it = table == Wdl::Draw && captures < table && wdl < table && must();
            if wdl > captures.max(table) || stalemate_but_for_it {
                return Ok(Outcome { wdl, by_capture: true });
            }
            captures = captures.max(wdl);
        }
        let wdl = captures.max(table);
        Ok(Outcome { wdl, by_capture: captures == wdl && wdl > Wdl::Draw })
    }

    /// The result of a position just after a capture (so that there is no en passant), limited to the range between
    /// `alpha` and `beta`.
    fn after_captures(&self, board: &Board, mut alpha: Wdl, beta: Wdl) -> Result<Wdl, ProbeError> {
        for mv in moves_of(board, is_capture) {
            let wdl = -self.after_captures(&after(board, mv), -beta, -alpha)?;
            if wdl >= beta {
                return Ok(wdl);
            }
            alpha = alpha.max(wdl);
        }
        Ok(alpha.max(self.raw_wdl(board)?))
    }

    fn distance(&self, board: &Board, lookahead: Lookahead) -> Result<Distance, ProbeError> {
        let Outcome { wdl, by_capture } = self.outcome(board)?;
        if wdl == Wdl::Draw {
            return Ok(Distance::DRAW);
        }
        if by_capture || wdl > Wdl::Draw && self.a_pawn_move_reaches(board, wdl)? {
            return Ok(Distance::before_zeroing(wdl));
        }
        match (self.raw_dtz(board, wdl)?, lookahead) {
            (RawDtz::Plies { plies, exact }, _) => {
                Ok(Distance { plies: before_zeroing(wdl) + (plies - 1) * i32::from(wdl as i8).signum(), exact })
            }
            (RawDtz::OtherSide, Lookahead::OnePly) => self.distance_by_replies(board, wdl),
            (RawDtz::OtherSide, Lookahead::None) => Err(contradiction(board)),
        }
    }

    fn a_pawn_move_reaches(&self, board: &Board, wdl: Wdl) -> Result<bool, ProbeError> {
        for mv in moves_of(board, |board, mv| is_pawn_move(board, mv) && !is_capture(board, mv)) {
            if -self.outcome(&after(board, mv))?.wdl == wdl {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The distance if the table has only the other side to move. For a winner no zeroing move is the best, and a loser
    /// makes one only if it must.
    fn distance_by_replies(&self, board: &Board, wdl: Wdl) -> Result<Distance, ProbeError> {
        let mut best = (wdl < Wdl::Draw).then(|| Distance::before_zeroing(wdl));
        for mv in moves_of(board, |board, mv| !is_zeroing(board, mv)) {
            let next = after(board, mv);
            let distance = self.distance(&next, Lookahead::None)?;
            let mates = distance.plies == -1 && is_mate(&next);
            let distance = if mates { Distance::before_zeroing(Wdl::Win) } else { distance.before_move() };
            let counts = distance.plies.signum() == i32::from(wdl as i8).signum();
            if counts {
                best = Some(best.map_or(distance, |best| best.min(distance)));
            }
        }
        best.ok_or_else(|| contradiction(board))
    }

    /// The distance that the side to move gets by a move on the board; 0 for a draw.
    pub(crate) fn distance_by(&self, board: &Board, mv: Move) -> Result<Distance, ProbeError> {
        let next = after(board, mv);
        if is_mate(&next) {
            return Ok(Distance::before_zeroing(Wdl::Win));
        }
        if is_zeroing(board, mv) {
            return Ok(match -self.outcome(&next)?.wdl {
                Wdl::Draw => Distance::DRAW,
                wdl => Distance::before_zeroing(wdl),
            });
        }
        Ok(self.distance(&next, Lookahead::OnePly)?.before_move())
    }

    /// The result that the side to move gets by a move on the board.
    pub(crate) fn wdl_by(&self, board: &Board, mv: Move) -> Result<Wdl, ProbeError> {
        Ok(-self.outcome(&after(board, mv))?.wdl)
    }
}

/// Whether a table without this side to move may be asked about the replies. After a reply the other side is to move,
/// which is in the table, unless its file contradicts itself.
#[derive(Clone, Copy)]
enum Lookahead {
    OnePly,
    None,
}

/// The distance of a position whose best move zeroes the counter, and whose result is not a draw.
fn before_zeroing(wdl: Wdl) -> i32 {
    match wdl {
        Wdl::Loss => -1,
        Wdl::BlessedLoss => -101,
        Wdl::Draw => 0,
        Wdl::CursedWin => 101,
        Wdl::Win => 1,
    }
}

fn contradiction(board: &Board) -> ProbeError {
    let fault = Fault::Corrupt("results and distances contradict each other");
    ProbeError::BadTable { material: Material::of(board), metric: Metric::Dtz, fault }
}

pub(crate) fn moves_of(board: &Board, wanted: impl Fn(&Board, Move) -> bool) -> Vec<Move> {
    let mut moves = MoveList::new();
    legal_moves(board, &mut moves);
    moves.iter().copied().filter(|&mv| wanted(board, mv)).collect()
}

pub(crate) fn after(board: &Board, mv: Move) -> Board {
    let mut next = board.clone();
    next.play_unchecked(mv);
    next
}

fn is_pawn_move(board: &Board, mv: Move) -> bool {
    board.pieces(Piece::Pawn).has(mv.from)
}

fn is_en_passant(board: &Board, mv: Move) -> bool {
    is_pawn_move(board, mv) && mv.from.file() != mv.to.file() && !board.occupied().has(mv.to)
}

fn is_capture(board: &Board, mv: Move) -> bool {
    board.colors(!board.side_to_move()).has(mv.to) || is_en_passant(board, mv)
}

fn is_zeroing(board: &Board, mv: Move) -> bool {
    is_pawn_move(board, mv) || is_capture(board, mv)
}

fn is_mate(board: &Board) -> bool {
    !board.checkers().is_empty() && !has_legal_move(board)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result that the rule-50 counter may take away is a hundred plies further.
    #[test]
    fn what_zeroes_the_counter_is_one_ply_away() {
        assert_eq!(Wdl::ALL.map(before_zeroing), [-1, -101, 0, 101, 1]);
    }
}
