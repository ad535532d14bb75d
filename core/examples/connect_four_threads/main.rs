//! Connect Four in a graph that two threads search at once, eight playouts at a time, as long as a time manager says:
//!
//!     cargo run --release -p oncilla-core --features std --example connect_four_threads
//!
//! plays a game against itself on a clock of two seconds, and prints each move, its value and the line that both sides
//! would play. It is the same as `core/capi/examples/connect_four.cpp`.

#[path = "../connect_four/game.rs"]
mod connect_four;
mod player;

use oncilla_core::time::Clock;
use oncilla_core::tree::BoxedMemory;
use player::Player;

const THREADS: usize = 2;

fn main() {
    let mut memory = BoxedMemory::new_graph(20_000, 400_000);
    let mut player = Player::new(connect_four::Board::default(), memory.lend());
    let mut clock = Clock { base_ms: 2000.0, ..Clock::default() };
    while let Some(thought) = player.think(&clock, THREADS) {
        // There is no clock for the other side: it plays as fast.
        clock = Clock { base_ms: clock.base_ms - thought.used_ms, ply: clock.ply + 1, ..clock };
        let line: Vec<String> = thought.line.iter().map(|mv| (mv.0 + 1).to_string()).collect();
        println!(
            "column {}, {:.1} ms, {} playouts, value {:+.3}, line {} ({})",
            thought.mv.0 + 1,
            thought.used_ms,
            thought.playouts,
            thought.wl,
            line.join(" "),
            thought.why
        );
        player.play(thought.mv);
    }
}
