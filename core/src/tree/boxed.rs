//! Memory for a tree whose capacity is known at run time.

use super::graph::GraphWords;
use super::memory::{NodeWords, Tree};
use crate::sync::AtomicU32;
use core::fmt;
use std::boxed::Box;

/// Memory on the heap for a tree, or a graph, of a capacity that is chosen when the program runs.
///
/// ```
/// use oncilla_core::search::{Params, Search};
/// use oncilla_core::tree::BoxedMemory;
///
/// let nodes = 100_000; // from an option, say
/// let mut memory = BoxedMemory::new(nodes, 25 * nodes);
/// let search = Search::new(memory.lend(), Params::default());
/// assert_eq!(search.repository().node_capacity(), nodes);
/// ```
///
/// A tree borrows its memory, so one struct can't own both: let what owns the struct own the memory, as a `Player<'m>`
/// with a `Search<Tree<'m>>` does in the example `connect_four`. Where the search may last as long as the program, give
/// the memory away:
///
/// ```
/// use oncilla_core::search::{Params, Search};
/// use oncilla_core::tree::{BoxedMemory, Tree};
///
/// struct Engine {
///     search: Search<Tree<'static>>,
/// }
///
/// impl Engine {
///     fn new(nodes: usize) -> Self {
///         let memory = Box::leak(Box::new(BoxedMemory::new_graph(nodes, 25 * nodes)));
///         Self { search: Search::new(memory.lend(), Params::default()) }
///     }
/// }
///
/// let mut engine = Engine::new(1000);
/// engine.search.clear(); // a new game needs no other memory
/// ```
///
/// All of it is written once, and so is the process's from the start. Whoever wants memory that the system fills with
/// zeros as it is used makes the slices for [`Tree::new`] in another way.
pub struct BoxedMemory {
    nodes: Box<[NodeWords]>,
    words: Box<[AtomicU32]>,
    /// Empty for a tree.
    graph: Box<[GraphWords]>,
}

impl BoxedMemory {
    /// Memory for a tree of at most `nodes` nodes, and `words` 32-bit words for their edges: see
    /// [`TreeMemory`](super::TreeMemory) for how many a node takes. It is 20 bytes a node and 4 a word.
    ///
    /// # Panics
    /// For more bytes than an address can say. Where the allocator has fewer the program ends, as with a `Vec`.
    pub fn new(nodes: usize, words: usize) -> Self {
        Self { nodes: zeroed(nodes), words: zeroed(words), graph: Box::default() }
    }

    /// The same for a graph, which takes 20 bytes a node more.
    ///
    /// # Panics
    /// As [`BoxedMemory::new`].
    pub fn new_graph(nodes: usize, words: usize) -> Self {
        Self { graph: zeroed(nodes), ..Self::new(nodes, words) }
    }

    /// An empty tree, or graph, in this memory.
    pub fn lend(&mut self) -> Tree<'_> {
        if self.graph.is_empty() {
            Tree::new(&self.nodes, &self.words)
        } else {
            Tree::new_graph(&self.nodes, &self.words, &self.graph)
        }
    }
}

/// How large it is. What is in it says nothing without the tree.
impl fmt::Debug for BoxedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut memory = f.debug_struct("BoxedMemory");
        memory.field("nodes", &self.nodes.len()).field("words", &self.words.len());
        memory.field("is_graph", &!self.graph.is_empty()).finish_non_exhaustive()
    }
}

fn zeroed<T: Default>(count: usize) -> Box<[T]> {
    core::iter::repeat_with(T::default).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Repository;

    #[test]
    fn a_capacity_of_the_programs_choice() {
        let mut memory = BoxedMemory::new(300, 5000);
        let tree = memory.lend();
        assert_eq!((tree.node_capacity(), tree.word_capacity(), tree.is_graph()), (300, 5000, false));
        let mut memory = BoxedMemory::new_graph(300, 5000);
        let graph = memory.lend();
        assert_eq!((graph.node_capacity(), graph.word_capacity(), graph.is_graph()), (300, 5000, true));
        assert!(BoxedMemory::new_graph(0, 0).lend().create(None).is_none());
    }

    /// A thread of a debug build has two megabytes: an array that passes through its stack does not.
    #[test]
    fn no_capacity_is_too_large_for_the_stack() {
        let mut memory = BoxedMemory::new(100_000, 2_000_000);
        assert_eq!(memory.lend().word_capacity(), 2_000_000);
    }
}
