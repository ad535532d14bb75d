//! Chess: queries, their searches, and the answers, which are read from the tree itself (`Observer::look`).

mod answer;
mod hash;
mod moves;
mod pool;
mod query;
mod sessions;
mod worker;

pub use pool::Pool;
#[cfg(test)]
pub use query::Query;
pub use query::{Defaults, for_analysis};
pub use sessions::Sessions;
