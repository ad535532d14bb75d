//! The program as a library: `main.rs` only reads the arguments.

pub mod engine;
pub mod options;
pub mod score;
mod text;
pub mod uci;
