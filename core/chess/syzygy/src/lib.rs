//! Syzygy endgame tablebases, for up to seven pieces, and what is known without them.
//!
//! - [`Tablebases`]: the tables in some folders, shared by threads: results ([`Tablebases::wdl`]) and distances
//!   ([`Tablebases::dtz`]).
//! - [`RootRanks`]: which moves of a root keep the position's result ([`Tablebases::root_moves`]).
//! - [`three_men`]: endings of three men, which need no file.
//! - [`Fault`]: what is wrong with a file. A bad file gives an error when it is asked, and the other tables go on.
//!
//! The format is Ronald de Man's. Files are read, not mapped: see `file.rs`. Nothing is printed.
//!
//! ```no_run
//! use oncilla_chess::History;
//! use oncilla_syzygy::{Tablebases, Wdl};
//!
//! let tables = Tablebases::open("/tables/wdl:/tables/dtz")?;
//! let history: History = History::from_fen("8/8/8/3k4/8/3K4/8/3Q4 w - - 20 70")?;
//! assert_eq!(tables.wdl(history.board())?, Wdl::Win);
//! for ranked in tables.root_moves(&history, false)?.best() {
//!     println!("{} keeps it won", ranked.mv);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

mod fault;
mod file;
mod index;
mod material;
mod pairs;
mod probe;
mod root;
mod table;
mod tablebases;
#[cfg(test)]
mod tests;
pub mod three_men;
mod wdl;

pub use fault::Fault;
pub use material::{MAX_PIECES, Material};
pub use root::{MAX_RANK, RankedMove, RootRanks, dtz_rank, wdl_rank};
pub use table::Metric;
pub use tablebases::{BadFile, OpenError, ProbeError, Tablebases};
pub use wdl::Wdl;
