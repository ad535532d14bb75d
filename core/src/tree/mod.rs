//! The node repository that searches use: compressed, in memory that is fixed before it starts.
//!
//! A node is five words. A node that was visited once has no more than that and its priors, two bytes for each legal
//! move; most nodes of a search are such leaves. With the first visit of a child it becomes a branch: N, the sums and
//! the records of its visited edges, twenty bytes each, move to an array of their own that grows with them. Arrays of
//! any length are allocated in one heap. So a node with thirty moves takes about 105 bytes in a search.
//!
//! An edge is identified by the index of its move in the game's list of legal moves. The move itself is stored with the
//! edge's first visit, when the evaluator, which has the position, names it: the tree cannot tell the move of an
//! unvisited edge.
//!
//! All of it is 32-bit atomics, so threads share it by `&`, and no code here is `unsafe`. A bit in each node's first
//! word is its lock.

mod arrays;
#[cfg(all(any(test, feature = "alloc"), not(loom)))]
mod boxed;
#[cfg(not(loom))]
mod capacity;
mod graph;
mod heap;
mod memory;
mod node;
mod pool;
mod record;
mod share;

#[cfg(all(any(test, feature = "alloc"), not(loom)))]
pub use boxed::BoxedMemory;
#[cfg(not(loom))]
pub use capacity::{GraphMemory, TreeMemory};
pub use graph::GraphWords;
pub use memory::{NODE_BYTES, NodeWords, Tree};
pub use node::{Locked, MAX_EDGES};
