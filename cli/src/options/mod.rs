//! Options: one [table](table::OPTIONS) gives the flags of the command line, the UCI options, the help and OPTIONS.md.
//!
//! The way of an option: [`args`], [`config`] or `setoption` hand its text to [`Typed`], which checks it against its
//! row and keeps it; [`Typed::meaning`] runs every row's setter and gives the engine's settings. Nothing is opened,
//! loaded or started on the way; whether a file is there may be asked.

pub mod args;
pub mod backend;
pub mod config;
pub mod contempt;
mod go;
pub mod katago;
#[cfg(test)]
mod katagos_files;
pub mod kind;
pub mod meaning;
mod path;
pub mod print;
pub mod suboptions;
pub mod table;
pub mod time_manager;
mod typed;

pub use kind::{Kind, OptionError, Value};
pub use meaning::{Analysis, Meaning, Output, Perspective};
pub use table::{OPTIONS, Opt};
pub use typed::{Change, Typed, UnknownOption};
