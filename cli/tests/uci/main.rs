//! Sessions with the real binary: input that a GUI sends, and input that no GUI should send.

#[path = "../driver/mod.rs"]
mod driver;
mod limits;
mod moves;
mod report;
mod session;
mod settings;
mod tree;

use driver::{A_WHILE, Engine, run, stderr, stdout};
use std::process::Stdio;

/// Keeps smart pruning from ending a search before its last visit. A proven result still ends it.
const TO_THE_LAST_VISIT: &str = "--smart-pruning-minimum-batches=10000";

fn best_moves(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("bestmove ")).count()
}

fn visits(info: &str) -> u64 {
    info.split(" nodes ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a number of nodes")
}

/// The moves that are played in several positions without a clock, each after `ucinewgame`.
fn played(engine: &mut Engine, positions: &[&str]) -> Vec<String> {
    let play = |position: &&str| {
        engine.say("ucinewgame");
        engine.say(&format!("position startpos moves {position}"));
        engine.best_move("go nodes 50")
    };
    positions.iter().map(play).collect()
}

/// The number behind a label in a line of statistics.
fn field(line: &str, label: &str) -> f32 {
    let after = line.split(label).nth(1).unwrap_or_else(|| panic!("{label} in {line}"));
    after.split([')', '%']).next().unwrap().trim().parse().unwrap_or(f32::NAN)
}

/// The move statistics of a search, which differ between networks.
fn searched(engine: &mut Engine) -> Vec<String> {
    engine.say("ucinewgame");
    let lines = engine.ask("go nodes 20", "bestmove");
    lines.into_iter().filter(|line| line.contains(" (V:")).collect()
}

const ALONE: [&str; 5] = ["-v", "--backend=host", "--threads=1", "--minibatch-size=1", "--smart-pruning-factor=0"];
