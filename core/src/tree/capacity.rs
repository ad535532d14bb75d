//! Memory for a tree, of a capacity that is known at compile time.

use super::graph::GraphWords;
use super::memory::{NodeWords, Tree};
use crate::sync::AtomicU32;
use core::fmt;

/// Memory for a tree of at most `NODES` nodes, and `WORDS` 32-bit words for their edges.
///
/// A `static` can hold it: in a `Mutex` with `std`, in a `static_cell::ConstStaticCell` without.
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
/// A local variable of this type is on the stack, and so, for a moment, is the value in `Box::new(TreeMemory::new())`
/// in a debug build: a large one overflows the stack. With the feature `alloc` there is `BoxedMemory`, which never does,
/// and whose capacity can be chosen at run time; without it, make the slices for [`Tree::new`] yourself. For a graph
/// there is [`GraphMemory`].
///
/// A node with 30 legal moves takes 16 words for its priors, 8 more once a child of it is visited, and about 6 for each
/// visited child: 22 to 25 words for each node are enough for chess.
pub struct TreeMemory<const NODES: usize, const WORDS: usize> {
    nodes: [NodeWords; NODES],
    words: [AtomicU32; WORDS],
}

impl<const NODES: usize, const WORDS: usize> TreeMemory<NODES, WORDS> {
    /// Memory that no tree uses yet. It is all zero, so that a `static` needs no room in the program's image.
    pub const fn new() -> Self {
        const { assert!(NODES > 0 && WORDS > 0) };
        Self { nodes: [const { [const { AtomicU32::new(0) }; 5] }; NODES], words: [const { AtomicU32::new(0) }; WORDS] }
    }

    /// An empty tree that uses this memory.
    pub fn lend(&mut self) -> Tree<'_> {
        Tree::new(&self.nodes, &self.words)
    }
}

/// Shows the size of the memory. Its content means nothing without the tree.
impl<const NODES: usize, const WORDS: usize> fmt::Debug for TreeMemory<NODES, WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeMemory").field("nodes", &NODES).field("words", &WORDS).finish_non_exhaustive()
    }
}

impl<const NODES: usize, const WORDS: usize> Default for TreeMemory<NODES, WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

/// Memory for a graph of at most `NODES` nodes, and `WORDS` 32-bit words for their edges: positions that are reached on
/// several paths have one node. It takes 20 bytes more for each node than [`TreeMemory`]; everything else said there
/// holds here, too.
///
/// ```
/// use oncilla_core::repository::Repository;
/// use oncilla_core::search::{Params, Search};
/// use oncilla_core::tree::GraphMemory;
///
/// let mut memory = GraphMemory::<1000, 25_000>::new();
/// let search = Search::new(memory.lend(), Params::default());
/// assert!(search.repository().is_graph());
/// assert_eq!(search.repository().node_capacity(), 1000);
/// ```
pub struct GraphMemory<const NODES: usize, const WORDS: usize> {
    tree: TreeMemory<NODES, WORDS>,
    graph: [GraphWords; NODES],
}

impl<const NODES: usize, const WORDS: usize> GraphMemory<NODES, WORDS> {
    /// Memory that no graph uses yet. It is all zero, so that a `static` needs no room in the program's image.
    pub const fn new() -> Self {
        Self { tree: TreeMemory::new(), graph: [const { [const { AtomicU32::new(0) }; 5] }; NODES] }
    }

    /// An empty graph that uses this memory.
    pub fn lend(&mut self) -> Tree<'_> {
        Tree::new_graph(&self.tree.nodes, &self.tree.words, &self.graph)
    }
}

/// Shows the size of the memory. Its content means nothing without the graph.
impl<const NODES: usize, const WORDS: usize> fmt::Debug for GraphMemory<NODES, WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphMemory").field("nodes", &NODES).field("words", &WORDS).finish_non_exhaustive()
    }
}

impl<const NODES: usize, const WORDS: usize> Default for GraphMemory<NODES, WORDS> {
    fn default() -> Self {
        Self::new()
    }
}
