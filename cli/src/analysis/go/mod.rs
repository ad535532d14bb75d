//! Go: queries in the form of KataGo's clients, their searches, and the answers.
//!
//! While a query waits it takes little memory: two bytes for each move.

mod answer;
mod batches;
mod pool;
pub mod query;
#[cfg(test)]
mod tests;
mod worker;

pub use pool::Pool;
pub use query::{Defaults, Query, is_field};
