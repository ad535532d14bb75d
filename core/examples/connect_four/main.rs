//! Connect Four in a tree whose memory is a `static` of fixed size, kept from move to move:
//!
//!     cargo run --release -p oncilla-core --example connect_four
//!
//! plays a game against itself and prints each position.

mod game;

use game::{Board, Player};
use oncilla_core::tree::TreeMemory;
use std::sync::Mutex;

/// Nodes: a move that a game of Connect Four can take in a moment. Words for their edges: 4 for the priors of seven
/// columns, 8 and 5 for each visited child.
const NODES: usize = 4000;
const WORDS: usize = 60_000;

/// All of the search's memory: some 320 kB, known to the linker.
static MEMORY: Mutex<TreeMemory<NODES, WORDS>> = Mutex::new(TreeMemory::new());

fn main() {
    let mut memory = MEMORY.lock().expect("nobody else plays");
    let mut player = Player::new(Board::default(), memory.lend());
    while let Some(mv) = player.best_move(5000) {
        player.play(mv);
        println!("column {}\n{}", mv.0 + 1, player.board());
    }
}
