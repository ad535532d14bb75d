//! Queries about Go, as KataGo's clients write them: which positions, how to search them, what to say.
//!
//! What comes of a query takes little memory while it waits: two bytes a move. Nothing here searches or evaluates.

pub mod params;
pub mod query;
#[cfg(test)]
mod recorded;
pub mod restrictions;
pub mod setup;
mod vertex;

pub use params::Params;
pub use query::{Defaults, Query, Wanted};
pub use restrictions::Restrictions;
pub use setup::Setup;
