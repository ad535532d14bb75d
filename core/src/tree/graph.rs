//! Finds the node of a position, in a graph, where positions that are reached on several paths share one node.
//!
//! The key comes with a leaf's answer, and the answered leaf is joined to the node with the same key. If keys are those
//! of `History::graph_key` in `oncilla_chess`, two paths share a node only if no repetition can distinguish them. So
//! draws by repetition, and proofs based on them, are properties of a node; no path-dependent data have to be stored,
//! and no path can loop. A host may supply other keys: a leaf is never joined to a node on its own path, so at least no
//! node becomes its own child.
//!
//! A hash table with chains beside the nodes: each entry belongs to the node in the same slot.

use crate::place;
use crate::sync::{AtomicU32, Lock, get, set};

/// What a graph keeps of a node: its position's key, its links, and the head of a chain of the table. As with
/// [`NodeWords`](super::NodeWords), any content will do, and what it means may change.
pub type GraphWords = [AtomicU32; 5];

const KEY_LOW: usize = 0;
const KEY_HIGH: usize = 1;
/// The next node of the chain, as its slot plus 1.
const NEXT: usize = 2;
/// How many parents' edges (and root handles) lead to the node; in the bits above, whether the node is in a chain.
const LINKS: usize = 3;
const CHAINED: u32 = 1 << 31;
/// The first node of the chain that begins here, as its slot plus 1.
const HEAD: usize = 4;

pub struct Graph<'m> {
    entries: &'m [GraphWords],
    lock: Lock,
}

impl<'m> Graph<'m> {
    pub fn new(entries: &'m [GraphWords]) -> Self {
        Self { entries, lock: Lock::new() }
    }

    pub fn clear(&mut self) {
        // An entry that is 0 already is not written: pages that were only read do not yet take memory of the process.
        let written = self.entries.iter().filter(|entry| get(&entry[HEAD]) != 0);
        written.for_each(|entry| set(&entry[HEAD], 0));
    }

    fn word(&self, slot: u32, word: usize) -> &AtomicU32 {
        &place::at(self.entries, slot as usize)[word]
    }

    /// Starts the entry of a new node, with one link, and whose position is not known yet.
    pub fn begin(&self, slot: u32) {
        set(self.word(slot, LINKS), 1);
    }

    /// Takes one link away; returns how many are left.
    pub fn unlink(&self, slot: u32) -> u32 {
        let _held = self.lock.hold();
        let links = get(self.word(slot, LINKS)) - 1;
        set(self.word(slot, LINKS), links);
        links & !CHAINED
    }

    fn head(&self, key: u64) -> &AtomicU32 {
        // The high half is taken, so that keys which differ only in their low bits spread, too.
        let spread = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.word(((spread * self.entries.len() as u64) >> 32) as u32, HEAD)
    }

    fn key(&self, slot: u32) -> u64 {
        u64::from(get(self.word(slot, KEY_LOW))) | u64::from(get(self.word(slot, KEY_HIGH))) << 32
    }

    /// The slot of the node that has the position, if `same` accepts it.
    pub fn find(&self, position: u64, same: impl Fn(u32) -> bool) -> Option<u32> {
        let _held = self.lock.hold();
        self.chain(position).find(|&slot| self.key(slot) == position && same(slot))
    }

    /// The slots of the chain that a position belongs to. The caller holds the lock.
    fn chain(&self, position: u64) -> impl Iterator<Item = u32> + '_ {
        let slot = |link: u32| link.checked_sub(1);
        core::iter::successors(slot(get(self.head(position))), move |&at| slot(get(self.word(at, NEXT))))
    }

    /// Returns the node that has the position already, and gives it one link more, if `same` accepts it; otherwise
    /// `slot` has the position from now on. If `slot` may not join the node that was found, it is left without a
    /// position.
    pub fn join(
        &self,
        slot: u32,
        position: u64,
        same: impl Fn(u32) -> bool,
        may_join: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let _held = self.lock.hold();
        match self.chain(position).find(|&other| other == slot || self.key(other) == position && same(other)) {
            Some(own) if own == slot => return None,
            Some(other) if !may_join(other) => return None,
            Some(other) => {
                let links = self.word(other, LINKS);
                set(links, get(links) + 1);
                return Some(other);
            }
            None => {}
        }
        let head = self.head(position);
        set(self.word(slot, KEY_LOW), position as u32);
        set(self.word(slot, KEY_HIGH), (position >> 32) as u32);
        set(self.word(slot, NEXT), get(head));
        set(self.word(slot, LINKS), get(self.word(slot, LINKS)) | CHAINED);
        set(head, slot + 1);
        None
    }

    /// Takes a node that no link leads to out of its chain.
    pub fn forget(&self, slot: u32) {
        if get(self.word(slot, LINKS)) & CHAINED == 0 {
            return;
        }
        let _held = self.lock.hold();
        let mut link = self.head(self.key(slot));
        while get(link) != slot + 1 {
            link = self.word(get(link) - 1, NEXT);
        }
        set(link, get(self.word(slot, NEXT)));
        set(self.word(slot, LINKS), 0);
    }
}
