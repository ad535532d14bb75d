//! What is fuzzed, and what must hold whatever comes: nothing panics, a refusal says where it is and is short, and what
//! is accepted means the same when it is written out and read again.
//!
//! The same functions run over the kept corpus, and over mutations of it, with every `cargo test`
//! (`cli/tests/fuzz.rs`).

pub mod targets;

pub use targets::{analysis_line, fen, options, pgn, uci_line};
