//! The program as a library: `main.rs` only reads the arguments.

pub mod engine;
