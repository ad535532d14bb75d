//! The Universal Chess Interface.
//!
//! Input is read in a thread of its own, so a running search never keeps a `stop` waiting. What is not understood is
//! refused with an `info string` and changes nothing: no line ends the program but `quit` and the end of the input.
//!
//! Specification: <https://www.shredderchess.com/download/div/uci.zip>.

pub mod command;
pub mod console;
pub(crate) mod input;
mod report;
mod session;
pub mod statistics;
pub mod stats;

pub use report::Report;
pub use session::run;
