//! Why a game is over; the reasons are in the order in which a search asks for them.

use cozy_chess::{BitBoard, Board, Move, Piece};

use crate::history::{History, Position};
use crate::movegen::has_legal_move;

/// Why nothing is left to search below a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Terminal {
    /// The side to move is mated: a loss for it.
    Checkmate,
    /// The side to move has no legal move and is not in check: a draw.
    Stalemate,
    /// Neither side can mate by any sequence of moves, as far as this rule can tell: a draw.
    Material,
    /// A hundred plies without a pawn move or a capture: a draw.
    FiftyMoves,
    /// The third occurrence of the position: a draw.
    Threefold,
    /// The second occurrence of a position whose first occurrence is at or below the root: a draw to the search, though
    /// not yet by the rules, so it proves nothing about the position.
    TwoFold {
        /// Plies since the position's previous occurrence.
        cycle: u16,
    },
}

impl Terminal {
    /// True for a draw; otherwise the side to move has lost.
    pub fn is_draw(self) -> bool {
        self != Terminal::Checkmate
    }
}

/// What a search makes of the second occurrence of a position: Lc0's `TwoFoldDraws`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TwoFold {
    /// A draw, four plies below the root at least.
    Draw,
    /// Nothing yet: the game goes on, as it does by the rules.
    Ignored,
}

impl TwoFold {
    /// A draw if `draws`.
    pub fn of(draws: bool) -> Self {
        if draws { Self::Draw } else { Self::Ignored }
    }
}

impl<const CAP: usize> History<CAP> {
    /// Why the last position is terminal; `None` while the game goes on.
    ///
    /// `plies_from_root` is the position's depth below the root of the search. The root itself (0) is terminal only
    /// if it has no legal move: a search was asked for, so the game goes on whatever its counters say.
    /// Mate and stalemate come before material, rule 50, the third occurrence and, with [`TwoFold::Draw`], the second
    /// occurrence at least four plies below the root.
    ///
    /// ```
    /// use oncilla_chess::{History, Terminal, TwoFold};
    /// let history: History = History::from_fen("7k/5Q2/6K1/8/8/8/8/8 b - - 99 80")?;
    /// assert_eq!(history.terminal(0, TwoFold::Draw), Some(Terminal::Stalemate));
    /// # Ok::<(), oncilla_chess::FenError>(())
    /// ```
    pub fn terminal(&self, plies_from_root: usize, two_fold: TwoFold) -> Option<Terminal> {
        let has_moves = has_legal_move(self.board());
        self.terminal_given_moves(has_moves, plies_from_root, two_fold)
    }

    /// [`History::terminal`] for a caller that has generated the moves already: `has_moves` says whether there is one.
    pub fn terminal_given_moves(&self, has_moves: bool, plies_from_root: usize, two_fold: TwoFold) -> Option<Terminal> {
        let last = self.last();
        if !has_moves {
            let mated = !last.board().checkers().is_empty();
            return Some(if mated { Terminal::Checkmate } else { Terminal::Stalemate });
        }
        if plies_from_root == 0 {
            return None;
        }
        if insufficient_material(last.board()) {
            return Some(Terminal::Material);
        }
        if last.rule50() >= 100 {
            return Some(Terminal::FiftyMoves);
        }
        if last.repetitions() >= 2 {
            return Some(Terminal::Threefold);
        }
        (two_fold == TwoFold::Draw && repeats_below_root(last, plies_from_root))
            .then_some(Terminal::TwoFold { cycle: last.cycle_length() })
    }
}

impl<const CAP: usize> History<CAP> {
    /// Calls `each` with the index of each of the legal `moves` that ends the game as a draw by its history: by rule 50,
    /// or by a third occurrence.
    ///
    /// Moves are played and taken back for that: if the history is full, its oldest position is forgotten.
    ///
    /// ```
    /// use oncilla_chess::{History, MoveList, notation};
    /// let mut history: History = History::from_fen("6k1/5ppp/8/8/8/8/5PPP/3Q2K1 w - - 0 1")?;
    /// for text in "d1d2 g8f8 d2d1 f8g8 d1d2 g8f8 d2d1".split(' ') {
    ///     history.push(notation::parse_move(history.board(), text).unwrap());
    /// }
    /// let (mut moves, mut drawing) = (MoveList::new(), Vec::new());
    /// history.legal_moves(&mut moves);
    /// history.drawing_moves(&moves, |at| drawing.push(moves[at].to_string()));
    /// assert_eq!(drawing, ["f8g8"]);
    /// # Ok::<(), oncilla_chess::FenError>(())
    /// ```
    pub fn drawing_moves(&mut self, moves: &[Move], mut each: impl FnMut(usize)) {
        // The shortest repetition takes four plies.
        if self.rule50() < 3 {
            return;
        }
        for (at, &mv) in moves.iter().enumerate() {
            if self.rule50() < 99 && !self.may_repeat(mv) {
                continue;
            }
            self.push(mv);
            let terminal = self.terminal(1, TwoFold::Ignored);
            self.pop();
            if matches!(terminal, Some(Terminal::FiftyMoves | Terminal::Threefold)) {
                each(at);
            }
        }
    }

    /// Whether after `mv` the pieces could stand as they did before: it may say yes for too many moves, but not for
    /// too few. That saves playing nearly all of them.
    fn may_repeat(&self, mv: Move) -> bool {
        let (board, us) = (self.board(), self.side_to_move());
        let moved = mv.from.bitboard() | mv.to.bitboard();
        (3..=usize::from(self.rule50())).step_by(2).map_while(|plies| self.back(plies)).any(|earlier| {
            let (ours, theirs) = (earlier.board().colors(us), earlier.board().colors(!us));
            theirs == board.colors(!us) && ours == board.colors(us) ^ moved
        })
    }
}

/// Whether the position occurred exactly once before, at or below the root.
fn repeats_below_root(last: &Position, plies_from_root: usize) -> bool {
    last.repetitions() == 1 && plies_from_root >= 4 && plies_from_root >= usize::from(last.cycle_length())
}

/// Whether no mate is possible: there is one bishop or knight at most, or only bishops that are all on squares of one
/// colour.
///
/// Two knights, or a knight on each side, can still mate if the other side helps, so they don't count.
fn insufficient_material(board: &Board) -> bool {
    let heavy = board.pieces(Piece::Pawn) | board.pieces(Piece::Rook) | board.pieces(Piece::Queen);
    if !heavy.is_empty() {
        return false;
    }
    if board.occupied().len() < 4 {
        return true;
    }
    let bishops = board.pieces(Piece::Bishop);
    board.pieces(Piece::Knight).is_empty()
        && ((bishops & BitBoard::DARK_SQUARES).is_empty() || (bishops & BitBoard::LIGHT_SQUARES).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::parse_move;

    fn history(fen: &str, moves: &str) -> History {
        let mut history = History::from_fen(fen).unwrap();
        for text in moves.split_whitespace() {
            history.push(parse_move(history.board(), text).unwrap());
        }
        history
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    const KNIGHTS_OUT_AND_BACK: &str = "g1f3 g8f6 f3g1 f6g8";

    #[test]
    fn material() {
        for (fen, drawn) in [
            ("8/8/4k3/8/8/3K4/8/8 w - -", true),
            ("8/8/4k3/8/8/3KN3/8/8 w - -", true),
            ("8/8/4k3/8/8/3KB3/8/8 b - -", true),
            ("8/4b3/4k3/8/8/3KB3/8/8 b - -", true),
            ("8/3b4/4k3/8/8/3KB3/8/8 b - -", false),
            ("8/5b2/4k3/7b/8/3K4/2B5/8 b - -", true),
            ("8/8/4k3/8/8/3KNN2/8/8 w - -", false),
            ("8/8/4kn2/8/8/3KN3/8/8 w - -", false),
            ("8/8/4k3/8/8/3KP3/8/8 w - -", false),
        ] {
            let history = history(fen, "");
            let expected = drawn.then_some(Terminal::Material);
            assert_eq!(history.terminal(1, TwoFold::Draw), expected, "{fen}");
            assert_eq!(history.terminal(0, TwoFold::Draw), None, "the root goes on: {fen}");
        }
    }

    #[test]
    fn every_end_but_mate_is_a_draw() {
        let draws = [Terminal::Stalemate, Terminal::Material, Terminal::FiftyMoves, Terminal::Threefold];
        assert!(draws.into_iter().chain([Terminal::TwoFold { cycle: 4 }]).all(Terminal::is_draw));
        assert!(!Terminal::Checkmate.is_draw());
    }

    #[test]
    fn mate_comes_before_rule_50() {
        let mate = history("7k/8/6K1/8/8/8/8/R7 w - - 99 90", "a1a8");
        assert_eq!(mate.rule50(), 100);
        assert_eq!(mate.terminal(1, TwoFold::Draw), Some(Terminal::Checkmate));
        let quiet = history("7k/8/6K1/8/8/8/8/R7 w - - 99 90", "a1b1");
        assert_eq!(quiet.terminal(1, TwoFold::Draw), Some(Terminal::FiftyMoves));
        assert_eq!(quiet.terminal(0, TwoFold::Draw), None);
    }

    #[test]
    fn repetitions_count_from_the_root_and_from_the_rules() {
        let once = history(START, KNIGHTS_OUT_AND_BACK);
        assert_eq!(once.terminal(4, TwoFold::Draw), Some(Terminal::TwoFold { cycle: 4 }));
        assert_eq!(once.terminal(4, TwoFold::Ignored), None);
        assert_eq!(once.terminal(3, TwoFold::Draw), None, "the first occurrence lies before the root");
        let mut twice = once;
        for text in KNIGHTS_OUT_AND_BACK.split_whitespace() {
            twice.push(parse_move(twice.board(), text).unwrap());
        }
        assert_eq!(twice.terminal(1, TwoFold::Ignored), Some(Terminal::Threefold));
    }
}
