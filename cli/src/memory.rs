//! The memory of a tree, and the limits for all who divide memory between trees and caches.

use crate::system;
use bytemuck::try_zeroed_slice_box;
use oncilla_core::tree::{GraphWords, NODE_BYTES, NodeWords, Tree};
use oncilla_opencl::device::host_memory_beside;
use std::iter::successors;
use std::sync::atomic::AtomicU32;

/// Words for the edges of a node, on average. `bench` prints what a tree really takes.
const WORDS_PER_NODE: f64 = 25.0;

/// The smallest tree, in nodes: a smaller one is of no use, whatever the limit.
const LEAST_NODES: usize = 10_000;

/// The smallest memory that a tree is given under `RamLimitMb`, in MiB.
pub const LEAST_TREE_MB: usize = 2;
const _: () = assert!(
    (LEAST_NODES as f64 * bytes_of_node(Layout::Graph)) as usize <= bytes_of_mb(LEAST_TREE_MB),
    "a tree takes no more than it is given"
);

/// The most that the cache may take of the memory that `RamLimitMb` leaves to trees and cache.
pub const fn most_of_cache(left: usize) -> usize {
    left / 4
}

/// What is said of a `RamLimitMb` that can't be kept, because `what` takes `least` MiB with the smallest tree. A limit
/// of 0 is none.
pub fn too_low(what: &str, limit: usize, least: usize) -> Option<String> {
    let is_too_low = (1..least).contains(&limit);
    is_too_low.then(|| format!("{what} take more than RamLimitMb={limit}: {least} MiB with the smallest tree"))
}

/// Bytes of `mb` MiB, or the largest number if that is too many to be counted.
pub const fn bytes_of_mb(mb: usize) -> usize {
    mb.saturating_mul(1 << 20)
}

/// Whether positions that several lines reach share a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each line has nodes of its own.
    Tree,
    /// They do, which takes an index of the positions besides.
    Graph,
}

/// Bytes that a node takes with its edges, on average.
const fn bytes_of_node(layout: Layout) -> f64 {
    let entry = match layout {
        Layout::Tree => 0,
        Layout::Graph => size_of::<GraphWords>(),
    };
    (NODE_BYTES + entry) as f64 + WORDS_PER_NODE * 4.0
}

/// The most bytes that a tree has a use for: more nodes would have no words for their edges.
pub const fn most_of_tree(layout: Layout) -> usize {
    (Tree::MAX_WORDS as f64 / WORDS_PER_NODE * bytes_of_node(layout)) as usize
}

/// A tree's memory. Zeroed pages that have not been touched yet cost nothing.
pub struct Memory {
    nodes: Box<[NodeWords]>,
    words: Box<[AtomicU32]>,
    graph: Box<[GraphWords]>,
}

impl Memory {
    /// Memory of `bytes` bytes, or of as many as a tree can use, and its size. If the system does not grant that, half
    /// of what it grants: then the network and all else need some, too. `None` if it grants nothing.
    pub fn of_at_most(bytes: usize, layout: Layout) -> Option<(Self, usize)> {
        Self::granted(bytes.min(most_of_tree(layout)), layout)
    }

    fn granted(bytes: usize, layout: Layout) -> Option<(Self, usize)> {
        if let Some(memory) = Self::of(bytes, layout) {
            return Some((memory, bytes));
        }
        let mut sizes = successors(Some(bytes / 2), |&size| (size > 0).then_some(size / 2));
        let granted = sizes.find(|&size| Self::of(size, layout).is_some())?;
        Self::of(granted / 2, layout).map(|memory| (memory, granted / 2))
    }

    fn of(bytes: usize, layout: Layout) -> Option<Self> {
        let nodes = ((bytes as f64 / bytes_of_node(layout)) as usize).max(LEAST_NODES);
        let words = (nodes as f64 * WORDS_PER_NODE) as usize;
        let entries = if layout == Layout::Graph { nodes } else { 0 };
        Some(Self {
            nodes: try_zeroed_slice_box(nodes).ok()?,
            words: try_zeroed_slice_box(words).ok()?,
            graph: try_zeroed_slice_box(entries).ok()?,
        })
    }

    /// An empty tree, or graph, in this memory.
    pub fn lend(&self) -> Tree<'_> {
        if self.graph.is_empty() {
            Tree::new(&self.nodes, &self.words)
        } else {
            Tree::new_graph(&self.nodes, &self.words, &self.graph)
        }
    }
}

/// Bytes of memory that the process has now; `None` if the system does not say.
pub fn resident_bytes() -> Option<usize> {
    if cfg!(windows) { system::resident_bytes().map(|bytes| bytes.now) } else { status_bytes("VmRSS:") }
}

/// Bytes of memory that are taken by the process and by its buffers on devices that share the machine's memory, for
/// those who keep within a limit; 0 if the system does not say.
pub fn taken_bytes() -> usize {
    resident_bytes().unwrap_or(0) + host_memory_beside()
}

/// The most bytes of memory that the process has had at any time; `None` if the system does not say.
pub fn peak_resident_bytes() -> Option<usize> {
    if cfg!(windows) { system::resident_bytes().map(|bytes| bytes.peak) } else { status_bytes("VmHWM:") }
}

/// The bytes behind `key` in what Linux says about this process.
fn status_bytes(key: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: usize = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_os = "linux", windows))]
    fn the_system_says_how_much_memory_is_taken() {
        let taken = vec![1_u8; 64 << 20];
        let now = resident_bytes().expect("bytes");
        assert!(now > taken.len() && peak_resident_bytes().expect("bytes") > taken.len(), "{now}");
    }

    #[test]
    fn a_limit_that_can_not_be_kept_is_named() {
        let said = |limit| too_low("these", limit, 90);
        assert_eq!([said(0), said(90)], [None, None]);
        assert!(
            said(89).is_some_and(|note| note == "these take more than RamLimitMb=89: 90 MiB with the smallest tree")
        );
    }

    #[test]
    fn no_more_is_taken_than_a_tree_uses() {
        for layout in [Layout::Tree, Layout::Graph] {
            let Some((memory, granted)) = Memory::of_at_most(most_of_tree(layout) + (1 << 30), layout) else { return };
            let tree = memory.lend();
            assert_eq!((tree.node_capacity(), tree.word_capacity()), (memory.nodes.len(), memory.words.len()));
            assert!(granted <= most_of_tree(layout), "{granted}");
        }
    }

    #[test]
    fn less_memory_is_taken_where_there_is_not_enough() {
        // 2⁶⁰ bytes, and more than an address can express.
        for bytes in [1 << 60, usize::MAX] {
            let (memory, granted) = Memory::granted(bytes, Layout::Tree).unwrap();
            assert!(granted < bytes && memory.nodes.len() >= LEAST_NODES);
        }
        assert_eq!(Memory::of_at_most(8 << 20, Layout::Graph).unwrap().1, 8 << 20);
    }
}
