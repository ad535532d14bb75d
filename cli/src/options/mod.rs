//! Options: one [table](table::OPTIONS) defines the flags of the command line, the UCI options, the help and
//! OPTIONS.md.
//!
//! [`args`], [`config`], [`overrides`] or `setoption` pass an option's text to [`Typed`], which checks it against its
//! row of the table and keeps the value; [`Typed::meaning`] applies all rows' setters and returns the engine's
//! settings. Nothing is opened, loaded or started for this, but the existence of a file may be checked. These
//! [`Settings`](crate::engine::Settings) are the only part of the options that the engine sees.

pub mod args;
pub mod backend;
pub mod config;
pub mod contempt;
mod go;
pub mod katago;
pub mod kind;
pub mod meaning;
pub mod overrides;
mod path;
pub mod print;
pub mod suboptions;
pub mod table;
#[cfg(test)]
mod tests;
pub mod time_manager;
mod typed;

pub use kind::{Kind, OptionError, Value};
pub use meaning::{Analysis, Meaning, Output, Perspective};
pub use table::{OPTIONS, Opt};
pub use typed::{Change, Typed, UnknownOption};
