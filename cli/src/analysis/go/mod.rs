//! Go: queries in the form of KataGo's clients, their searches, and the answers.
//!
//! While a query waits it takes little memory: two bytes for each move.

mod answer;
mod batches;
mod choice;
#[cfg(test)]
mod effects;
mod pool;
pub mod query;
#[cfg(test)]
mod recorded;
mod worker;

pub use answer::{Choice, Reporter};
pub use pool::{Pool, describe_model};
pub use query::{Defaults, Query, Wanted, is_field};
