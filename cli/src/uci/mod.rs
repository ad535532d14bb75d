//! The Universal Chess Interface.
//!
//! A thread of its own reads the input, so a running search never delays a `stop`. A line that can't be parsed is
//! refused with an `info string` and changes nothing. Only `quit` and the end of the input end the program.
//!
//! Specification: <https://www.shredderchess.com/download/div/uci.zip>.

pub mod command;
pub mod move_stats;
mod report;
mod session;

pub use report::Report;
pub use session::run;
