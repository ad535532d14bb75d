//! Tests of queries and answers as a whole.

mod effects;
mod recorded;
