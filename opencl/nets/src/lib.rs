//! Network files → graph.
#![warn(missing_docs)]
