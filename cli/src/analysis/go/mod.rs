//! Go: queries in the form of KataGo's clients, their searches, and the answers.
//!
//! While a query waits it takes little memory: two bytes for each move.

mod answer;
mod batches;
mod choice;
#[cfg(test)]
mod effects;
mod imitation;
pub mod params;
mod plan;
mod pool;
pub mod query;
#[cfg(test)]
mod recorded;
pub mod restrictions;
pub mod setup;
pub mod vertex;
mod worker;

pub use answer::{Choice, Reporter};
pub use imitation::Imitation;
pub use params::Params;
pub use pool::{Pool, describe_model};
pub use query::{Defaults, Query, Wanted, is_field};
pub use restrictions::Restrictions;
pub use setup::{Setup, Transcript, rules};
