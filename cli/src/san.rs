//! Reads and writes moves in algebraic notation.

use oncilla_chess::cozy_chess::Piece;
use oncilla_chess::cozy_chess::util::{display_san_move, parse_san_move};
use oncilla_chess::{Board, Move, MoveList, legal_moves, notation};

/// Length of the longest text that may be a move, in bytes: `Ng1-f3` with many annotation marks.
const LONGEST: usize = 16;

/// Whether a text has the form of a move in algebraic notation in some position.
pub fn has_form(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let text = without_marks(text);
    if castles(text).is_some() {
        return true;
    }
    let bare: String = text.chars().filter(|c| !"-:()x=".contains(*c)).collect();
    let bare = bare.strip_prefix(['K', 'Q', 'R', 'B', 'N']).unwrap_or(&bare);
    let bare = bare.strip_suffix(['Q', 'R', 'B', 'N']).unwrap_or(bare);
    let (is_file, is_rank) = (|c: &u8| (b'a'..=b'h').contains(c), |c: &u8| (b'1'..=b'8').contains(c));
    match bare.as_bytes() {
        [file, rank] => is_file(file) && is_rank(rank),
        [from, file, rank] => (is_file(from) || is_rank(from)) && is_file(file) && is_rank(rank),
        [from, with, file, rank] => is_file(from) && is_rank(with) && is_file(file) && is_rank(rank),
        _ => false,
    }
}

/// Marks after a move: check, mate, and annotations of the move or the position. A mark comes before the marks that it
/// ends with.
const MARKS: [&str; 18] =
    ["+/-", "-/+", "+/=", "=/+", "+-", "-+", "+=", "=+", "+", "#", "!", "?", "=", "±", "∓", "⩲", "⩱", "∞"];

/// Whether a text consists of marks that stand apart from their move, or of nothing: also the letters by which programs
/// mark a novelty and a diagram.
pub fn is_mark(text: &str) -> bool {
    matches!(text, "N" | "D") || without_marks(text).is_empty()
}

/// Removes the marks after a move, which do not identify it.
fn without_marks(mut text: &str) -> &str {
    while let Some(rest) = MARKS.iter().find_map(|mark| text.strip_suffix(mark)) {
        text = rest;
    }
    text.strip_suffix("e.p.").unwrap_or(text).trim_end()
}

/// Castling in the notation of the library, if the text is castling.
fn castles(text: &str) -> Option<&'static str> {
    match text {
        "O-O" | "0-0" => Some("O-O"),
        "O-O-O" | "0-0-0" => Some("O-O-O"),
        _ => None,
    }
}

/// Reads a legal move as people and programs write it: `Nf3`, `Ngf3`, `Ng1-f3`, `exd6e.p.`, `e8Q`, `0-0`, or in UCI
/// notation.
pub fn read(board: &Board, text: &str) -> Option<Move> {
    let text = without_marks(text);
    if let Some(castles) = castles(text) {
        return parse_san_move(board, castles).ok();
    }
    let bare: String = text.chars().filter(|c| !"-:()".contains(*c)).collect();
    let in_san = |text: &str| parse_san_move(board, text).ok();
    let in_uci = || notation::parse_move(board, &bare.to_ascii_lowercase()).ok();
    in_san(&bare).or_else(|| if names_a_bishop(&bare) { None } else { in_uci() }).or_else(|| in_san(&promoting(&bare)?))
}

/// Whether a text names a bishop with its rank (`B1c3`), and is not UCI notation in capitals (`B1C3`).
fn names_a_bishop(text: &str) -> bool {
    matches!(text.as_bytes(), [b'B', _, b'a'..=b'h', ..])
}

/// A text that ends in a small letter for the piece of a promotion (`a8=q`), with the capital.
fn promoting(text: &str) -> Option<String> {
    let moved = text.strip_suffix(['q', 'r', 'b', 'n'])?;
    let is_promotion = moved.trim_end_matches('=').ends_with(['1', '8']);
    is_promotion.then(|| format!("{moved}{}", text[moved.len()..].to_ascii_uppercase()))
}

/// The text of an error about a move that is not legal: the moves that it may mean if it is ambiguous, or else "a legal
/// move".
pub fn expected(board: &Board, text: &str) -> String {
    let mut moves = MoveList::new();
    legal_moves(board, &mut moves);
    let meant: Vec<String> =
        moves.iter().filter(|&&mv| may_mean(board, text, mv)).map(|&mv| write(board, mv)).collect();
    match &meant[..] {
        [] | [_] => "a legal move".to_string(),
        [others @ .., last] => format!("one of {} and {last}", others.join(", ")),
    }
}

/// Whether a text may be a shortened form of the move.
fn may_mean(board: &Board, text: &str, mv: Move) -> bool {
    let Some(piece) = board.piece_on(mv.from) else { return false };
    let letter = if piece == Piece::Pawn { String::new() } else { piece.to_string().to_ascii_uppercase() };
    let in_full = format!("{letter}{mv}");
    let bare: String = without_marks(text).chars().filter(|c| !"-:()x=".contains(*c)).collect();
    let Some(left) = bare.strip_prefix(&letter) else { return false };
    let mut of_move = in_full[letter.len()..].chars();
    left.ends_with(&mv.to.to_string()) && left.chars().all(|c| of_move.any(|other| other == c))
}

/// Writes a legal move in algebraic notation.
pub fn write(board: &Board, mv: Move) -> String {
    display_san_move(board, mv).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_chess::{DEFAULT_CAP, History, MoveList};

    fn history(fen: &str) -> History {
        History::<DEFAULT_CAP>::from_fen(fen).unwrap()
    }

    #[test]
    fn every_spelling() {
        let fen = "r3k2r/1P6/8/3pP3/8/8/8/R3K1NR w KQkq d6 0 1";
        for (text, mv) in [
            ("Nf3", "g1f3"),
            ("Ng1-f3", "g1f3"),
            ("Nh3!?", "g1h3"),
            ("Nh3+-", "g1h3"),
            ("Nf3++-!", "g1f3"),
            ("g1f3-+", "g1f3"),
            ("exd6±", "e5d6"),
            ("exd6", "e5d6"),
            ("exd6e.p.", "e5d6"),
            ("ed6", "e5d6"),
            ("e5:d6", "e5d6"),
            ("b8=Q+", "b7b8q"),
            ("b8Q", "b7b8q"),
            ("bxa8=N", "b7a8n"),
            ("b7a8n", "b7a8n"),
            ("O-O-O", "e1a1"),
            ("0-0-0", "e1a1"),
            ("e1c1", "e1a1"),
            ("Ke2", "e1e2"),
        ] {
            assert_eq!(read(history(fen).board(), text).map(|mv| mv.to_string()).as_deref(), Some(mv), "{text}");
            assert!(has_form(text) || text == "b7a8n", "{text}");
        }
        for text in ["", "O-O", "Nf4", "e9", "Ke1", "--", "é", "b8", "Rc8"] {
            assert_eq!(read(history(fen).board(), text), None, "{text}");
        }
    }

    #[test]
    fn a_bishop_that_can_not_go_there_is_no_pawn() {
        let fen = "4k3/1P6/8/8/1R6/8/8/1N2K3 w - - 0 1";
        for (text, mv) in [
            ("B1c3", None),
            ("B4c4", None),
            ("B7b8Q", None),
            ("B1C3", Some("b1c3")),
            ("B4C4", Some("b4c4")),
            ("B7B8Q", Some("b7b8q")),
            ("b7b8Q", Some("b7b8q")),
            ("E1E2", Some("e1e2")),
        ] {
            assert_eq!(read(history(fen).board(), text).map(|mv| mv.to_string()).as_deref(), mv, "{text}");
        }
    }

    #[test]
    fn the_piece_of_a_promotion_may_be_a_small_letter() {
        let fen = "1b2k3/P7/8/8/8/8/6p1/4K3 w - - 0 1";
        for (text, mv) in [("a8=q", "a7a8q"), ("a8n+", "a7a8n"), ("axb8=b", "a7b8b"), ("a8=r!", "a7a8r")] {
            assert_eq!(read(history(fen).board(), text).map(|mv| mv.to_string()).as_deref(), Some(mv), "{text}");
        }
        for text in ["a8=k", "a8=", "q", "=q", "a7=q"] {
            assert_eq!(read(history(fen).board(), text), None, "{text}");
        }
    }

    #[test]
    fn what_has_the_form_of_a_move_in_no_position() {
        let long = format!("Nf3{}e.p.", " ".repeat(1000));
        for text in ["", "Q4", "D4", "K10", "pass", "--", "é", "e9", "i4", "e2e4e5", "44", "Nf", "O-O-O-O", "N", &long]
        {
            assert!(!has_form(text), "{text}");
        }
        for text in ["Nf4", "Ke1", "b8", "Rc8", "O-O", "B1c3", "e7-e8(Q)+", "Qa1xb2#"] {
            assert!(has_form(text), "{text}");
        }
    }

    #[test]
    fn what_an_ambiguous_move_may_mean_is_said() {
        let knights = "4k3/8/8/8/8/5N2/8/1N2KN2 w - - 0 1";
        let queens = "1Q1Q4/8/8/3q4/8/8/1Q6/2K4k w - - 0 1";
        for (fen, text, said) in [
            (knights, "Nd2", "one of Nbd2, Nf1d2 and N3d2"),
            (knights, "N1d2!?", "one of Nbd2 and Nf1d2"),
            (knights, "Nfd2", "one of Nf1d2 and N3d2"),
            (knights, "Nc3", "a legal move"),
            (knights, "Nd7", "a legal move"),
            (knights, "d2", "a legal move"),
            (queens, "Qxd5", "a legal move"),
            (queens, "Qb4", "one of Q2b4 and Q8b4"),
            (queens, "", "a legal move"),
        ] {
            assert_eq!(expected(history(fen).board(), text), said, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
            "1Q1Q4/8/8/3q4/8/8/1Q6/2K4k w - - 0 1",
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
        ] {
            let history = history(fen);
            let mut moves = MoveList::new();
            history.legal_moves(&mut moves);
            assert!(!moves.is_empty());
            for &mv in &moves {
                let text = write(history.board(), mv);
                assert_eq!(read(history.board(), &text), Some(mv), "{text} in {fen}");
            }
        }
    }
}
