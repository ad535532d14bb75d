//! Memory for a tree, of a capacity that is known only at run time.

use super::graph::GraphWords;
use super::memory::{NodeWords, Tree};
use crate::sync::AtomicU32;
use alloc::boxed::Box;
use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::fmt;

/// Memory on the heap for a tree, or a graph, of a capacity that is chosen at run time.
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
/// A tree borrows its memory, so one struct can't own both: let the owner of the struct own the memory, as with
/// `Player<'m>`, which has a `Search<Tree<'m>>`, in the example `connect_four`. If the search may last as long as the
/// program, leak the memory:
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
/// All of the memory is written once, so the process occupies it from the start. If you want memory that the system
/// fills with zeros only as it is used, make the slices for [`Tree::new`] in another way.
pub struct BoxedMemory {
    nodes: Box<[NodeWords]>,
    words: Box<[AtomicU32]>,
    /// Empty for a tree.
    graph: Box<[GraphWords]>,
}

impl BoxedMemory {
    /// Memory for a tree of at most `nodes` nodes, and `words` 32-bit words for their edges: see
    /// [`TreeMemory`](super::TreeMemory) for how many words a node takes. A node takes 20 bytes, a word 4.
    ///
    /// # Panics
    /// If it would be more bytes than an address can express. If the allocator has fewer bytes, the program aborts, as
    /// with a `Vec`. [`BoxedMemory::try_new`] does neither.
    pub fn new(nodes: usize, words: usize) -> Self {
        Self { nodes: zeroed(nodes), words: zeroed(words), graph: Box::default() }
    }

    /// Memory for a graph, like [`BoxedMemory::new`] for a tree; a graph takes 20 bytes more for each node.
    ///
    /// # Panics
    /// Like [`BoxedMemory::new`].
    pub fn new_graph(nodes: usize, words: usize) -> Self {
        Self { graph: zeroed(nodes), ..Self::new(nodes, words) }
    }

    /// [`BoxedMemory::new`], for a capacity that may be more than there is.
    ///
    /// ```
    /// use oncilla_core::tree::BoxedMemory;
    ///
    /// assert!(BoxedMemory::try_new(1000, 25_000).is_ok());
    /// assert!(BoxedMemory::try_new(usize::MAX, 25_000).is_err());
    /// ```
    ///
    /// # Errors
    /// If the allocator does not have that many bytes. (Under an operating system that promises more memory than it
    /// has, that may come out only when the memory is written.)
    pub fn try_new(nodes: usize, words: usize) -> Result<Self, TryReserveError> {
        Ok(Self { nodes: try_zeroed(nodes)?, words: try_zeroed(words)?, graph: Box::default() })
    }

    /// [`BoxedMemory::new_graph`], for a capacity that may be more than there is.
    ///
    /// # Errors
    /// Like [`BoxedMemory::try_new`].
    pub fn try_new_graph(nodes: usize, words: usize) -> Result<Self, TryReserveError> {
        Ok(Self { graph: try_zeroed(nodes)?, ..Self::try_new(nodes, words)? })
    }

    /// An empty tree, or graph, that uses this memory.
    pub fn lend(&mut self) -> Tree<'_> {
        if self.graph.is_empty() {
            Tree::new(&self.nodes, &self.words)
        } else {
            Tree::new_graph(&self.nodes, &self.words, &self.graph)
        }
    }
}

/// Shows the size of the memory. Its content means nothing without the tree.
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

fn try_zeroed<T: Default>(count: usize) -> Result<Box<[T]>, TryReserveError> {
    let mut all = Vec::new();
    all.try_reserve_exact(count)?;
    all.extend(core::iter::repeat_with(T::default).take(count));
    Ok(all.into_boxed_slice())
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

    #[test]
    fn a_capacity_that_nobody_has_is_an_error() {
        for (nodes, words) in [(usize::MAX, 1), (1, usize::MAX), (usize::MAX / 20, 1)] {
            assert!(BoxedMemory::try_new(nodes, words).is_err(), "{nodes} nodes, {words} words");
            assert!(BoxedMemory::try_new_graph(nodes, words).is_err(), "{nodes} nodes, {words} words");
        }
        let mut memory = BoxedMemory::try_new_graph(300, 5000).unwrap();
        let graph = memory.lend();
        assert_eq!((graph.node_capacity(), graph.word_capacity(), graph.is_graph()), (300, 5000, true));
        assert!(!BoxedMemory::try_new(300, 5000).unwrap().lend().is_graph());
    }

    /// A thread of a debug build has two megabytes: an array that passes through its stack does not.
    #[test]
    fn no_capacity_is_too_large_for_the_stack() {
        let mut memory = BoxedMemory::new(100_000, 2_000_000);
        assert_eq!(memory.lend().word_capacity(), 2_000_000);
    }
}
