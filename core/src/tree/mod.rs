//! The node repository: nodes and edges in two pools of fixed-size records.
//!
//! Values are never fetched whole: a node is read and updated in parts, through the methods of [`Tree`], so that the
//! records can change their form without anybody outside noticing.
//!
//! The edges of a node are sorted by prior, and PUCT visits those without a visit in that order. Hence the visited
//! edges are a prefix of the list, and what only a visited edge has (its N, the cached Q, the child's slot) is kept
//! in a second list that is as long as that prefix.

mod memory;
mod node;
mod pool;
pub mod prior;
mod sums;
mod view;

pub use memory::{BLOCK_BYTES, Block, NODE_BYTES, NodeWords, Tree, TreeMemory};
pub use node::{Bound, Bounds, EDGES_PER_BLOCK, MAX_EDGES};
pub(crate) use node::{NodeId, Visit, VisitRef};
pub(crate) use sums::Sums;
pub use view::{EdgeView, NodeView};
