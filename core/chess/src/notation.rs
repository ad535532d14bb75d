//! Moves as UCI writes them.
//!
//! UCI has two ways to write castling: the king's own two squares (`e1g1`), and king takes rook (`e1h1`), which is the
//! only one that is enough for Chess960. Both are always read; the caller chooses which one is written.

use core::fmt::{self, Write};
use core::str::FromStr;

use cozy_chess::{Board, File, Move, Piece, Rank, Square};
use heapless::String;

use crate::fen::Clipped;

/// The text of a move: four or five characters.
pub type MoveText = String<5>;

/// Why the text of a move was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveError {
    /// The text, cut off if it is too long for a message.
    pub text: String<16>,
    /// What is wrong with it.
    pub reason: MoveRefusal,
}

/// What can be wrong with the text of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveRefusal {
    /// It is not two squares and at most one letter more.
    Syntax,
    /// The letter is not q, r, b or n.
    PromotionLetter,
    /// A pawn reaches the last rank and no letter says what it becomes.
    NoPromotionLetter,
    /// The position does not allow the move.
    Illegal,
}

impl fmt::Display for MoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = match self.reason {
            MoveRefusal::Syntax => "two squares and at most a promotion letter",
            MoveRefusal::PromotionLetter => "promotion letter q, r, b or n",
            MoveRefusal::NoPromotionLetter => "a promotion letter after the squares",
            MoveRefusal::Illegal => "a legal move of the position",
        };
        write!(f, "bad move: expected {expected}, got {:?}", self.text.as_str())
    }
}

impl core::error::Error for MoveError {}

/// Reads a move of `board`, with castling in either notation.
///
/// ```
/// use oncilla_chess::{History, notation};
/// let history: History = History::from_fen("r3k2r/8/8/8/8/8/8/R3K2R w KQkq -")?;
/// assert_eq!(notation::parse_move(history.board(), "e1g1"), notation::parse_move(history.board(), "e1h1"));
/// assert_eq!(
///     notation::parse_move(history.board(), "e1e3").unwrap_err().to_string(),
///     "bad move: expected a legal move of the position, got \"e1e3\""
/// );
/// # Ok::<(), oncilla_chess::FenError>(())
/// ```
///
/// # Errors
/// If the text is not a move, or the move is not legal.
pub fn parse_move(board: &Board, text: &str) -> Result<Move, MoveError> {
    read_move(board, text).map_err(|reason| {
        let mut clipped = Clipped(String::new());
        // `Clipped` never fails: it cuts the text off.
        let _ = clipped.write_str(text);
        MoveError { text: clipped.0, reason }
    })
}

fn read_move(board: &Board, text: &str) -> Result<Move, MoveRefusal> {
    let square = |range| text.get(range).and_then(|s| Square::from_str(s).ok()).ok_or(MoveRefusal::Syntax);
    let (from, to) = (square(0..2)?, square(2..4)?);
    let promotion = match &text[4..] {
        "" => None,
        "q" => Some(Piece::Queen),
        "r" => Some(Piece::Rook),
        "b" => Some(Piece::Bishop),
        "n" => Some(Piece::Knight),
        more if more.chars().count() == 1 => return Err(MoveRefusal::PromotionLetter),
        _ => return Err(MoveRefusal::Syntax),
    };
    let mv = Move { from, to, promotion };
    if board.is_legal(mv) {
        return Ok(mv);
    }
    if let Some(castling) = castling_by_king_squares(board, mv).filter(|&castling| board.is_legal(castling)) {
        return Ok(castling);
    }
    let with_letter = Move { promotion: Some(Piece::Queen), ..mv };
    let lacks_letter = promotion.is_none() && board.is_legal(with_letter);
    Err(if lacks_letter { MoveRefusal::NoPromotionLetter } else { MoveRefusal::Illegal })
}

/// The castling that `e1g1`, `e1c1`, `e8g8` or `e8c8` means, as king takes rook.
fn castling_by_king_squares(board: &Board, mv: Move) -> Option<Move> {
    let mover = board.side_to_move();
    let rank = Rank::First.relative_to(mover);
    let king_at_home = mv.from == Square::new(File::E, rank) && mv.from == board.king(mover);
    if !king_at_home || mv.to.rank() != rank || mv.promotion.is_some() {
        return None;
    }
    let rook = match mv.to.file() {
        File::G => board.castle_rights(mover).short,
        File::C => board.castle_rights(mover).long,
        _ => None,
    };
    rook.map(|file| Move { to: Square::new(file, rank), ..mv })
}

/// How castling is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Castling {
    /// Moves by the king's own two squares (`e1g1`), rights as `KQkq`; what that can't say, as in Chess960.
    Standard,
    /// Moves as king takes rook (`e1h1`), rights by the rooks' files (`HAha`, Shredder-FEN).
    Chess960,
}

impl Castling {
    /// As in Chess960 if the game is `chess960`.
    pub fn of(chess960: bool) -> Self {
        if chess960 { Self::Chess960 } else { Self::Standard }
    }
}

/// Writes a legal move of `board`.
///
/// With [`Castling::Standard`], castling is king takes rook, too, unless the king stands on the e file and the rook on
/// the a or h file: only then do the king's two squares say what is meant.
pub fn format_move(board: &Board, mv: Move, castling: Castling) -> MoveText {
    let by_king = castling == Castling::Standard && board.colors(board.side_to_move()).has(mv.to);
    let to = match (mv.from.file(), mv.to.file()) {
        (File::E, File::H) if by_king => Square::new(File::G, mv.to.rank()),
        (File::E, File::A) if by_king => Square::new(File::C, mv.to.rank()),
        _ => mv.to,
    };
    let mut text = MoveText::new();
    let written = write!(text, "{}", Move { to, ..mv });
    debug_assert!(written.is_ok(), "a move has at most five characters");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, MIN_CAP};

    fn board(fen: &str) -> Board {
        History::<MIN_CAP>::from_fen(fen).unwrap().board().clone()
    }

    fn refusal(board: &Board, text: &str) -> MoveRefusal {
        parse_move(board, text).unwrap_err().reason
    }

    #[test]
    fn castling_is_read_in_both_notations_and_written_in_the_one_asked_for() {
        for (fen, king_squares, takes_rook) in [
            ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq -", "e1g1", "e1h1"),
            ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq -", "e1c1", "e1a1"),
            ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq -", "e8g8", "e8h8"),
            ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq -", "e8c8", "e8a8"),
        ] {
            let board = board(fen);
            let mv = parse_move(&board, takes_rook).unwrap();
            assert_eq!(parse_move(&board, king_squares), Ok(mv));
            assert_eq!(format_move(&board, mv, Castling::Standard), king_squares);
            assert_eq!(format_move(&board, mv, Castling::Chess960), takes_rook);
        }
    }

    #[test]
    fn only_king_takes_rook_is_clear_away_from_the_standard_squares() {
        let inner_rook = board("4k3/8/8/8/8/8/8/4KR2 w F -");
        let castles = parse_move(&inner_rook, "e1f1").unwrap();
        assert_eq!(parse_move(&inner_rook, "e1g1"), Ok(castles));
        assert_eq!(format_move(&inner_rook, castles, Castling::Standard), "e1f1");
        let other_king = board("4k3/8/8/8/8/8/8/5K1R w H -");
        let castles = parse_move(&other_king, "f1h1").unwrap();
        assert_eq!(format_move(&other_king, castles, Castling::Standard), "f1h1");
        let step = parse_move(&other_king, "f1g1").unwrap();
        assert_eq!((step.to, format_move(&other_king, step, Castling::Standard).as_str()), (Square::G1, "f1g1"));
    }

    #[test]
    fn a_king_step_is_no_castling() {
        let without_rights = board("4k3/8/8/8/8/8/8/4K2R w - -");
        assert_eq!(refusal(&without_rights, "e1g1"), MoveRefusal::Illegal);
        assert_eq!(refusal(&without_rights, "e1h1"), MoveRefusal::Illegal);
        let rook_on_e1 = board("3k4/8/8/8/8/8/K7/4R3 w - -");
        assert_eq!(format_move(&rook_on_e1, parse_move(&rook_on_e1, "e1h1").unwrap(), Castling::Standard), "e1h1");
    }

    #[test]
    fn castling_stays_on_the_kings_own_rank_and_promotes_nothing() {
        let board = board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq -");
        for text in ["e1g2", "e1c2", "e1g3", "e1c8", "e1g1q", "e1h1q", "d1g1", "d1c1", "e2g1", "e8g8", "e1b1"] {
            assert_eq!(refusal(&board, text), MoveRefusal::Illegal, "{text:?}");
        }
    }

    #[test]
    fn refusals_say_what_is_wrong() {
        let board = board("8/P3k3/8/8/8/8/8/4K3 w - -");
        for text in ["", "a7", "a7a", "a7a9q", "i7a8q", "a7a8qq", "0000", "a7é8", "é7a8q", "a7a8q "] {
            assert_eq!(refusal(&board, text), MoveRefusal::Syntax, "{text:?}");
        }
        for text in ["a7a8k", "a7a8p", "a7a8Q", "a7a8é", "e1e2 "] {
            assert_eq!(refusal(&board, text), MoveRefusal::PromotionLetter, "{text:?}");
        }
        assert_eq!(refusal(&board, "a7a8"), MoveRefusal::NoPromotionLetter);
        for text in ["e1e3", "e1e2q", "e7e6", "b2b4", "a7b8q", "e1e1"] {
            assert_eq!(refusal(&board, text), MoveRefusal::Illegal, "{text:?}");
        }
        assert_eq!(parse_move(&board, "a7a8n").map(|mv| mv.promotion), Ok(Some(Piece::Knight)));
        let long = parse_move(&board, "a move that no message should repeat in full").unwrap_err();
        assert_eq!(long.text, "a move that no m");
        let wide = parse_move(&board, "a move that no éa").unwrap_err();
        assert_eq!(wide.text, "a move that no ", "nothing comes after what has no room");
    }
}
