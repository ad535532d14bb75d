//! Tests that the example does what it says.

#[path = "../examples/play.rs"]
mod play;

use oncilla_chess::{Castling, Terminal, TwoFold, notation};

/// Plays from a position, and returns the moves and how the game ended.
fn played(fen: &str, playouts: u64, plies: usize) -> (Vec<String>, Option<Terminal>) {
    let mut moves = Vec::new();
    let each = |history: &play::Record, mv, _| {
        moves.push(notation::format_move(history.board(), mv, Castling::Standard).to_string());
    };
    let game = play::play(fen, playouts, plies, each).unwrap();
    (moves, game.terminal(1, TwoFold::Ignored))
}

#[test]
fn mates_that_are_near_are_given() {
    let (moves, end) = played("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 500, 1);
    assert_eq!((moves.join(" ").as_str(), end), ("d1d8", Some(Terminal::Checkmate)));
    // Morphy's problem: only one move mates in two.
    let (moves, end) = played("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2000, 3);
    assert_eq!((moves[0].as_str(), moves.len(), end), ("a1a6", 3, Some(Terminal::Checkmate)));
}

#[test]
fn no_piece_hangs_and_the_tree_is_kept() {
    let mut kept = Vec::new();
    let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
    let game = play::play(fen, 300, 20, |_, _, begun_with| kept.push(begun_with)).unwrap();
    assert_eq!((kept.len(), game.terminal(1, TwoFold::Ignored)), (20, None));
    assert!(kept[0] == 0 && kept[1..].iter().all(|visits| *visits > 0), "{kept:?}");
    let pieces = |color| game.board().colors(color).len();
    let (white, black) = (pieces(oncilla_chess::Color::White), pieces(oncilla_chess::Color::Black));
    assert!(white.abs_diff(black) <= 1, "{}", game.board());
}
