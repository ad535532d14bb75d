//! The program as a library: `main.rs` only reads the arguments.

pub mod analysis;
pub mod bench;
pub mod describe;
pub mod engine;
pub mod eval;
pub mod generate;
pub mod options;
pub mod progress;
pub mod report;
pub mod score;
pub mod selftest;
mod text;
pub mod time;
pub mod tune;
pub mod uci;
