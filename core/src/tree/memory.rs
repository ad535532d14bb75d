//! The memory of a tree, and which of it is in use.

use super::pool::Pool;

/// A node's record; its words are named in `node.rs`.
pub type NodeWords = [u32; 10];

/// A piece of an edge list or of a visit list: seven edges, or two visited edges, and a link to the next piece.
///
/// Lists of one block size mean that freed memory always fits what comes next: nothing can fragment.
pub type Block = [u32; 8];

/// Bytes of a node without its edges.
pub const NODE_BYTES: usize = size_of::<NodeWords>();

/// Bytes of a block. A node with 30 legal moves has five blocks of edges, and one for every two edges visited.
pub const BLOCK_BYTES: usize = size_of::<Block>();

/// Memory for a tree whose capacity is known at compile time.
///
/// A `static` can hold it: in a `Mutex` with std, in a `static_cell::ConstStaticCell` without.
///
/// ```
/// use oncilla_core::search::{Params, Search};
/// use oncilla_core::tree::TreeMemory;
/// use std::sync::Mutex;
///
/// static MEMORY: Mutex<TreeMemory<1000, 5000>> = Mutex::new(TreeMemory::new());
///
/// let mut memory = MEMORY.lock().unwrap();
/// let search = Search::new(memory.lend(), Params::default());
/// assert_eq!(search.tree().node_capacity(), 1000);
/// ```
///
/// A chess node takes about five blocks, so `BLOCKS` is best five times `NODES`. Each leaf in flight keeps
/// `⌈max_edges / 7⌉ + 1` blocks free for the edges that its answer may bring, so
/// [`Params::max_edges`](crate::search::Params::max_edges) should be the game's own; with room for fewer than some ten
/// times that, little of a tree can grow.
pub struct TreeMemory<const NODES: usize, const BLOCKS: usize> {
    nodes: [NodeWords; NODES],
    blocks: [Block; BLOCKS],
}

impl<const NODES: usize, const BLOCKS: usize> TreeMemory<NODES, BLOCKS> {
    /// Memory that no tree uses yet. All zero, so that a `static` needs no room in the program's image.
    pub const fn new() -> Self {
        const { assert!(NODES > 0 && BLOCKS > 0 && NODES < u32::MAX as usize && BLOCKS < (u32::MAX / 2) as usize) };
        Self { nodes: [[0; 10]; NODES], blocks: [[0; 8]; BLOCKS] }
    }

    /// An empty tree in this memory.
    pub fn lend(&mut self) -> Tree<'_> {
        Tree::new(&mut self.nodes, &mut self.blocks)
    }
}

impl<const NODES: usize, const BLOCKS: usize> Default for TreeMemory<NODES, BLOCKS> {
    fn default() -> Self {
        Self::new()
    }
}

/// A tree in lent memory.
pub struct Tree<'m> {
    pub(super) nodes: &'m mut [NodeWords],
    pub(super) blocks: &'m mut [Block],
    pub(super) node_pool: Pool,
    pub(super) block_pool: Pool,
}

impl<'m> Tree<'m> {
    /// An empty tree with room for `nodes.len()` nodes and `blocks.len()` pieces of edge lists (beyond 2³¹ of either,
    /// the rest is not used). What the memory held before does not matter.
    pub fn new(nodes: &'m mut [NodeWords], blocks: &'m mut [Block]) -> Self {
        const MOST: usize = (u32::MAX / 2) as usize;
        let nodes = if nodes.len() > MOST { &mut nodes[..MOST] } else { nodes };
        let blocks = if blocks.len() > MOST { &mut blocks[..MOST] } else { blocks };
        Self { nodes, blocks, node_pool: Pool::default(), block_pool: Pool::default() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.node_pool = Pool::default();
        self.block_pool = Pool::default();
    }

    /// Nodes in the tree.
    pub fn live_nodes(&self) -> usize {
        self.node_pool.live()
    }

    /// Nodes that there is room for.
    pub fn node_capacity(&self) -> usize {
        self.nodes.len()
    }

    /// Blocks in use.
    pub fn live_blocks(&self) -> usize {
        self.block_pool.live()
    }

    /// Blocks that there are.
    pub fn block_capacity(&self) -> usize {
        self.blocks.len()
    }

    /// Bytes in use by nodes and their edges.
    pub fn live_bytes(&self) -> usize {
        self.live_nodes() * NODE_BYTES + self.live_blocks() * BLOCK_BYTES
    }

    /// How full the fuller of the two pools is, per mille (UCI's `hashfull`).
    pub fn permille_full(&self) -> u32 {
        let permille = |live: usize, all: usize| (live as u64 * 1000 / all.max(1) as u64) as u32;
        permille(self.live_nodes(), self.nodes.len()).max(permille(self.live_blocks(), self.blocks.len()))
    }
}
