//! The yardstick: how many moves a second the move generator plays when every leaf is made.
//!
//! Perft 5 from the start position with [`cozy_chess`] alone: each legal move is played on a copy of the board, leaves
//! too, and nothing is counted in bulk. The cost of a playout is told in these moves, so that it means the same on
//! every machine.
//!
//! `cargo run --release -p oncilla-chess --example perft [DEPTH]`

use std::time::Instant;

use oncilla_chess::Board;

/// Moves played below `board`, down to `depth` plies, leaves counted twice: as moves and as leaves.
fn perft(board: &Board, depth: u32) -> (u64, u64) {
    if depth == 0 {
        return (0, 1);
    }
    let (mut moves, mut leaves) = (0, 0);
    board.generate_moves(|piece_moves| {
        for mv in piece_moves {
            let mut board = board.clone();
            board.play_unchecked(mv);
            let below = perft(&board, depth - 1);
            moves += 1 + below.0;
            leaves += below.1;
        }
        false
    });
    (moves, leaves)
}

fn main() {
    let depth = std::env::args().nth(1).map_or(5, |text| text.parse().expect("a depth in plies"));
    let start = Instant::now();
    let (moves, leaves) = perft(&Board::startpos(), depth);
    let seconds = start.elapsed().as_secs_f64();
    println!("depth {depth}: {leaves} leaves, {moves} moves, {:.0} moves/s", moves as f64 / seconds);
}
