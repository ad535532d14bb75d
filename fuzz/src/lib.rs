//! What is fuzzed, and what must hold for every input: nothing panics, a refusal says where it is and is short, and
//! what is accepted means the same after it is written out and read again.
//!
//! With every `cargo test`, the same functions run over the kept corpus and over mutations of it (`cli/tests/fuzz.rs`).

pub mod targets;

pub use targets::{analysis_line, fen, options, pgn, sgf, uci_line};
