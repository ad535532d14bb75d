//! The memory of a tree.

use memmap2::MmapMut;
use oncilla_core::tree::{GraphWords, NODE_BYTES, NodeWords, Tree};
use std::iter::successors;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;
use zerocopy::{FromBytes, IntoBytes};

/// Words for edges that go with one node. `bench` prints what a tree really takes.
const WORDS_PER_NODE: f64 = 25.0;

/// Smallest tree.
const LEAST_NODES: usize = 10_000;

/// Zeroed pages that nobody has touched yet cost nothing.
pub struct Memory {
    nodes: Zeroed<NodeWords>,
    words: Zeroed<AtomicU32>,
    graph: Zeroed<GraphWords>,
}

impl Memory {
    /// As much as the system grants, halved from `bytes` on, and how much that is. `None` if it grants nothing.
    pub fn of_at_most(bytes: usize, graph: bool) -> Option<(Self, usize)> {
        let mut sizes = successors(Some(bytes), |&size| (size > 0).then_some(size / 2));
        sizes.find_map(|size| Self::of(size, graph).map(|memory| (memory, size)))
    }

    fn of(bytes: usize, graph: bool) -> Option<Self> {
        let entry = if graph { size_of::<GraphWords>() } else { 0 };
        let each = (NODE_BYTES + entry) as f64 + WORDS_PER_NODE * 4.0;
        let nodes = ((bytes as f64 / each) as usize).max(LEAST_NODES);
        let words = (nodes as f64 * WORDS_PER_NODE) as usize;
        let entries = if graph { nodes } else { 0 };
        Some(Self { nodes: Zeroed::new(nodes)?, words: Zeroed::new(words)?, graph: Zeroed::new(entries)? })
    }

    /// An empty tree, or graph, in this memory.
    pub fn lend(&mut self) -> Tree<'_> {
        let (nodes, words, graph) = (self.nodes.slice(), self.words.slice(), self.graph.slice());
        if graph.is_empty() { Tree::new(nodes, words) } else { Tree::new_graph(nodes, words, graph) }
    }
}

/// A slice of zeros in pages of its own.
struct Zeroed<T> {
    /// `None` for an empty slice, which can't be mapped.
    pages: Option<MmapMut>,
    of: PhantomData<T>,
}

impl<T: FromBytes + IntoBytes> Zeroed<T> {
    /// `None` if the system does not grant so much.
    fn new(len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let pages = if bytes == 0 { None } else { Some(MmapMut::map_anon(bytes).ok()?) };
        // A playout goes from one end of a large tree to the other; with pages of 2 MiB the processor finds more of them
        // without looking up where they are. Where the system has none, it says so, and small ones do.
        #[cfg(target_os = "linux")]
        let _ = pages.as_ref().map(|pages| pages.advise(memmap2::Advice::HugePage));
        Some(Self { pages, of: PhantomData })
    }

    fn slice(&mut self) -> &mut [T] {
        let Some(pages) = &mut self.pages else { return &mut [] };
        let Ok(slice) = <[T]>::mut_from_bytes(pages) else {
            unreachable!("pages begin at addresses that suit every type, and have the slice's bytes")
        };
        slice
    }
}

/// Bytes of memory that the process has now; `None` where the system does not say.
pub fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: usize = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_memory_is_taken_where_there_is_not_enough() {
        // 2⁶⁰ bytes and more than an address can say.
        for bytes in [1 << 60, usize::MAX] {
            let (mut memory, granted) = Memory::of_at_most(bytes, false).unwrap();
            assert!(granted < bytes && memory.lend().node_capacity() >= LEAST_NODES);
        }
        assert_eq!(Memory::of_at_most(8 << 20, true).unwrap().1, 8 << 20);
    }
}
