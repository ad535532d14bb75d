//! Memory for a tree whose capacity is known at compile time.

use super::memory::{NodeWords, Tree};
use crate::sync::AtomicU32;

/// Memory for a tree of at most `NODES` nodes, and `WORDS` 32-bit words for their edges.
///
/// A `static` can hold it: in a `Mutex` with std, in a `static_cell::ConstStaticCell` without.
///
/// ```
/// use oncilla_core::search::{Params, Search};
/// use oncilla_core::tree::TreeMemory;
/// use std::sync::Mutex;
///
/// static MEMORY: Mutex<TreeMemory<1000, 25_000>> = Mutex::new(TreeMemory::new());
///
/// let mut memory = MEMORY.lock().unwrap();
/// let search = Search::new(memory.lend(), Params::default());
/// assert_eq!(search.repository().node_capacity(), 1000);
/// ```
///
/// A node with 30 legal moves takes 16 words for its priors, 8 more once a child of it is visited, and some 6 for each
/// visited child: 22 to 25 words a node are enough for chess.
pub struct TreeMemory<const NODES: usize, const WORDS: usize> {
    nodes: [NodeWords; NODES],
    words: [AtomicU32; WORDS],
}

impl<const NODES: usize, const WORDS: usize> TreeMemory<NODES, WORDS> {
    /// Memory that no tree uses yet. All zero, so that a `static` needs no room in the program's image.
    pub const fn new() -> Self {
        const { assert!(NODES > 0 && WORDS > 0) };
        Self { nodes: [const { [const { AtomicU32::new(0) }; 5] }; NODES], words: [const { AtomicU32::new(0) }; WORDS] }
    }

    /// An empty tree in this memory.
    pub fn lend(&mut self) -> Tree<'_> {
        Tree::new(&self.nodes, &self.words)
    }
}

impl<const NODES: usize, const WORDS: usize> Default for TreeMemory<NODES, WORDS> {
    fn default() -> Self {
        Self::new()
    }
}
