//! The program as a library: `main.rs` only reads the arguments.

pub mod bench;
pub mod describe;
pub mod engine;
pub mod eval;
pub mod generate;
pub mod options;
pub mod progress;
pub mod score;
mod text;
pub mod time;
pub mod uci;
