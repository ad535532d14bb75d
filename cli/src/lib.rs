//! The engine as a library; `bin/oncilla` reads the arguments and starts a command.

// Only one module calls functions of Windows and needs `unsafe`.
#![cfg_attr(not(windows), forbid(unsafe_code))]
#![cfg_attr(windows, deny(unsafe_code))]

pub mod analysis;
pub mod bench;
mod bounded;
mod child;
pub mod console;
pub mod describe;
mod digest;
pub mod engine;
pub mod eval;
pub mod evaluator;
mod fault;
mod fields;
pub mod generate;
pub mod go;
pub mod gtp;
mod input;
mod json;
pub mod line;
mod memory;
pub mod network;
pub mod options;
pub mod position;
pub mod progress;
pub mod report;
mod san;
pub mod score;
pub mod selftest;
mod softmax;
pub mod statistics;
pub mod subject;
pub mod system;
mod text;
pub mod time;
pub mod tune;
pub mod uci;
pub mod usage;
mod utf16;
