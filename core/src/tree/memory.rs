//! The memory of a tree: how nodes are taken and freed in it.

use super::arrays::Arrays;
use super::graph::{Graph, GraphWords};
use super::heap::MOST_WORDS;
use super::node::{LIVE, LOCKED, Locked, NEW, STATE};
use super::pool::{LINK, Pool};
use super::record::MOST_CHILDREN;
use crate::place;
use crate::repository::{Key, Node, Repository, Visit};
use crate::sync::{AtomicU32, acquire, get, release, set};
use core::fmt;
use core::num::NonZeroU64;

/// A node's record. What its words mean is the tree's own business and may change; it is a plain array so that a host can
/// take zeroed pages for it without `unsafe`. Any content will do, and [`Default`] makes one.
pub type NodeWords = [AtomicU32; 5];

/// Bytes of a node, without its edges.
pub const NODE_BYTES: usize = size_of::<[u32; 5]>();

/// A tree (or a graph) in lent memory.
pub struct Tree<'m> {
    pub(super) nodes: &'m [NodeWords],
    pub(super) words: &'m [AtomicU32],
    pub(super) pool: Pool,
    pub(super) arrays: Arrays,
    graph: Option<Graph<'m>>,
}

impl fmt::Debug for Tree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("is_graph", &self.is_graph())
            .field("live_nodes", &self.live_nodes())
            .field("node_capacity", &self.node_capacity())
            .field("live_words", &self.live_words())
            .field("word_capacity", &self.word_capacity())
            .finish_non_exhaustive()
    }
}

impl<'m> Tree<'m> {
    /// The most nodes that a tree uses: 2²⁹ − 1, because a link has 29 bits.
    pub const MAX_NODES: usize = MOST_CHILDREN;
    /// The most words that a tree uses for edges: 2³⁰ − 1.
    pub const MAX_WORDS: usize = MOST_WORDS;

    /// An empty tree with room for `nodes.len()` nodes, which keeps their edges in `words` (what lies beyond
    /// [`Tree::MAX_NODES`] and [`Tree::MAX_WORDS`] is not used). What the memory held before does not matter, but no
    /// other code may use it meanwhile: that would be memory-safe, but the tree would make no sense.
    ///
    /// ```
    /// use oncilla_core::search::{Params, Search};
    /// use oncilla_core::tree::{NodeWords, Tree};
    /// use std::iter::repeat_with;
    /// use std::sync::atomic::AtomicU32;
    ///
    /// let nodes: Vec<NodeWords> = repeat_with(NodeWords::default).take(1000).collect();
    /// let words: Vec<AtomicU32> = repeat_with(AtomicU32::default).take(25_000).collect();
    /// let search = Search::new(Tree::new(&nodes, &words), Params::default());
    /// assert_eq!(search.visits(), 0);
    /// ```
    pub fn new(nodes: &'m [NodeWords], words: &'m [AtomicU32]) -> Self {
        let nodes = &nodes[..nodes.len().min(Self::MAX_NODES)];
        let words = &words[..words.len().min(Self::MAX_WORDS)];
        let mut tree = Self { nodes, words, pool: Pool::new(), arrays: Arrays::new(), graph: None };
        tree.clear();
        tree
    }

    /// An empty graph: positions that are reached on several paths have one node. It has room for as many nodes as the
    /// shorter of `nodes` and `graph` has elements.
    pub fn new_graph(nodes: &'m [NodeWords], words: &'m [AtomicU32], graph: &'m [GraphWords]) -> Self {
        let mut tree = Self::new(&nodes[..nodes.len().min(graph.len())], words);
        tree.graph = Some(Graph::new(graph));
        tree.clear();
        tree
    }

    /// How many nodes there is room for.
    pub fn node_capacity(&self) -> usize {
        self.nodes.len()
    }

    /// How many words there are for edges.
    pub fn word_capacity(&self) -> usize {
        self.words.len()
    }

    /// How many words edges use.
    pub fn live_words(&self) -> usize {
        self.arrays.live() as usize
    }

    /// How many bytes nodes and their edges use.
    pub fn live_bytes(&self) -> usize {
        let graph = if self.graph.is_some() { size_of::<GraphWords>() } else { 0 };
        self.live_nodes() * (NODE_BYTES + graph) + self.live_words() * 4
    }

    /// How full the fuller of the two memories is, per mille (UCI's `hashfull`).
    pub fn permille_full(&self) -> u32 {
        let permille = |live: usize, all: usize| (live as u64 * 1000 / all.max(1) as u64) as u32;
        permille(self.live_nodes(), self.nodes.len()).max(permille(self.live_words(), self.words.len()))
    }

    pub(super) fn node(&self, slot: u32) -> &'m NodeWords {
        place::at(self.nodes, slot as usize)
    }

    /// Takes a link from the node; if it was the last one, frees the node, and all nodes that only it leads to. Returns
    /// how many were freed.
    fn release(&self, slot: u32) -> usize {
        let mut freed = 0;
        let mut first = self.unlink(slot, 0);
        while first != 0 {
            let slot = first - 1;
            first = get(&self.node(slot)[LINK]);
            first = self.unlink_children(slot, first);
            self.drop_node(slot);
            freed += 1;
        }
        freed
    }

    /// Takes a link from a node. If it was the last one, puts the node before `first` in the list of nodes to be freed,
    /// and returns the list's new head. The list uses the same word of a node as the list of free nodes.
    fn unlink(&self, slot: u32, first: u32) -> u32 {
        if self.graph.as_ref().is_some_and(|graph| graph.unlink(slot) > 0) {
            return first;
        }
        set(&self.node(slot)[LINK], first);
        slot + 1
    }

    fn unlink_children(&self, slot: u32, mut first: u32) -> u32 {
        let count = self.lock(key(slot)).visited_count();
        for at in 0..count {
            let child = self.lock(key(slot)).child(at);
            if let Some(child) = child {
                first = self.unlink(slot_of(child), first);
            }
        }
        first
    }

    fn has_edges(&self, slot: u32, edges: usize) -> bool {
        let node = self.lock(key(slot));
        node.is_expanded() && node.edge_count() == edges
    }

    /// Frees the memory of one node that no link leads to.
    fn drop_node(&self, slot: u32) {
        if let Some(graph) = &self.graph {
            graph.forget(slot);
        }
        let mut node = self.lock(key(slot));
        node.give_arrays();
        node.die();
        drop(node);
        self.pool.give(self.nodes, slot + 1);
    }
}

fn key(slot: u32) -> Key {
    // The key is the slot plus 1, which is not 0.
    Key(NonZeroU64::MIN.saturating_add(u64::from(slot)))
}

pub(super) fn key_of_link(link: u32) -> Option<Key> {
    NonZeroU64::new(u64::from(link)).map(Key)
}

pub(super) fn slot_of(key: Key) -> u32 {
    (key.0.get() - 1) as u32
}

impl<'m> Repository for Tree<'m> {
    type Node<'r>
        = Locked<'r, 'm>
    where
        Self: 'r;

    #[inline]
    fn lock(&self, key: Key) -> Locked<'_, 'm> {
        let words = self.node(slot_of(key));
        let state = acquire(&words[STATE], LOCKED);
        Locked::new(self, words, state)
    }

    #[cfg(not(loom))]
    #[inline]
    fn prefetch(&self, key: Key) {
        crate::sync::prefetch(&self.node(slot_of(key))[STATE]);
    }

    #[cfg(not(loom))]
    #[inline]
    fn prefetch_edges(&self, key: Key) {
        super::node::prefetch_edges(self.words, self.node(slot_of(key)));
    }

    fn create(&self, _parent: Option<(Key, u16)>) -> Option<Key> {
        let link = self.pool.take(self.nodes)?;
        let words = self.node(link - 1);
        // Someone who looks at the tree may have come to a leaf that was in this slot before, and may write its state
        // back.
        acquire(&words[STATE], LOCKED);
        set(&words[1], 0);
        release(&words[STATE], NEW);
        if let Some(graph) = &self.graph {
            graph.begin(link - 1);
        }
        key_of_link(link)
    }

    fn discard(&self, key: Key) {
        self.drop_node(slot_of(key));
    }

    #[inline(always)] // in a tree it is no more than a look at a flag
    fn join(&self, node: Key, position: u64, edges: usize, may_join: impl Fn(Key) -> bool) -> Option<Key> {
        let graph = self.graph.as_ref()?;
        graph.join(slot_of(node), position, |slot| self.has_edges(slot, edges), |slot| may_join(key(slot))).map(key)
    }

    #[inline(always)]
    fn has(&self, position: u64, edges: usize) -> bool {
        self.graph.as_ref().is_some_and(|graph| graph.find(position, |slot| self.has_edges(slot, edges)).is_some())
    }

    fn is_graph(&self) -> bool {
        self.graph.is_some()
    }

    fn clear(&mut self) {
        self.pool = Pool::new();
        self.arrays.clear(self.words);
        if let Some(graph) = &mut self.graph {
            graph.clear();
        }
    }

    fn fold(&mut self, parent: Key, at: usize) -> usize {
        let mut node = self.lock(parent);
        let child = node.child(at);
        node.set_child(at, None);
        drop(node);
        child.map_or(0, |child| self.release(slot_of(child)))
    }

    fn free(&mut self, root: Key) -> usize {
        self.release(slot_of(root))
    }

    fn free_below(&mut self, proven: Key) -> usize {
        let node = self.lock(proven);
        let flying = node.visits().any(|visit: Visit| visit.in_flight > 0);
        let count = node.visited_count();
        drop(node);
        if flying {
            return 0;
        }
        let freed = (0..count).map(|at| self.fold(proven, at)).sum();
        self.lock(proven).become_leaf();
        freed
    }

    fn scan(&self, cursor: u64) -> Option<(Key, u64)> {
        let used = self.pool.high_water();
        let live = |slot: &u32| {
            let word = &self.node(*slot)[STATE];
            let mut state = get(word);
            if state & LOCKED != 0 {
                // What it is besides, only who has the lock can see.
                state = acquire(word, LOCKED);
                release(word, state);
            }
            state & LIVE != 0
        };
        let slot = (u32::try_from(cursor).ok()?..used).find(live)?;
        Some((key(slot), u64::from(slot) + 1))
    }

    fn live_nodes(&self) -> usize {
        self.pool.live()
    }
}
