//! Keeps track of which slots of a slice of nodes are in use.

use super::memory::NodeWords;
use super::node::STATE;
use super::share::{self, SHARES};
use crate::place;
use crate::sync::{AtomicU32, Lock, get, publish, see, set};

/// No slot.
pub const NONE: u32 = 0;

/// The word of a free node that links to the next one in its list.
pub const LINK: usize = 3;

/// How many slots a thread takes for itself at once.
const STRETCH: u32 = 64;
/// Slices shorter than this are not shared out: what other threads hold would be a large part of them.
const SHARED_FROM: usize = 1 << 11;

/// Slots that were never used are above a mark; those that were freed are in a list.
///
/// A thread takes a stretch of slots at once, and then nodes from its own stretch: neighbours in a stretch share cache
/// lines, so that no thread writes into a line that another one is filling. Slots are named by their number plus 1.
pub struct Pool {
    lock: Lock,
    /// The first slot of the list.
    free: AtomicU32,
    /// How many slots have been handed out so far.
    fresh: AtomicU32,
    /// How many slots are in use or in a share.
    out: AtomicU32,
    shares: [Share; SHARES],
}

/// Slots that one thread has to itself (or several threads have, if there are more threads than shares).
#[cfg_attr(all(feature = "std", not(loom)), repr(align(128)))]
struct Share {
    lock: Lock,
    /// The first slot of a list, and the first slot of a stretch that ends at `end`.
    free: AtomicU32,
    next: AtomicU32,
    end: AtomicU32,
    /// How many slots the list and the stretch have together.
    held: AtomicU32,
}

impl Pool {
    pub fn new() -> Self {
        let share = |_| Share {
            lock: Lock::new(),
            free: AtomicU32::new(NONE),
            next: AtomicU32::new(0),
            end: AtomicU32::new(0),
            held: AtomicU32::new(0),
        };
        Self {
            lock: Lock::new(),
            free: AtomicU32::new(NONE),
            fresh: AtomicU32::new(0),
            out: AtomicU32::new(0),
            shares: core::array::from_fn(share),
        }
    }

    /// Takes a slot; `None` if all are in use. No thread holds the slot's node, whose other words are arbitrary.
    pub fn take(&self, nodes: &[NodeWords]) -> Option<u32> {
        let own = if nodes.len() >= SHARED_FROM { share::own(&self.shares) } else { None };
        let Some(share) = own else { return self.take_one(nodes) };
        let held = share.lock.hold();
        if let Some(slot) = share.pop(nodes).or_else(|| self.refill(share, nodes)) {
            return Some(slot);
        }
        drop(held);
        self.shares.iter().find_map(|share| {
            let _held = share.lock.hold();
            share.pop(nodes)
        })
    }

    fn take_one(&self, nodes: &[NodeWords]) -> Option<u32> {
        let _held = self.lock.hold();
        let slot = match get(&self.free) {
            NONE => self.cut(nodes, 1)? + 1,
            slot => {
                set(&self.free, get(link(nodes, slot)));
                slot
            }
        };
        set(&self.out, get(&self.out) + 1);
        Some(slot)
    }

    /// Takes at most `wanted` slots that were never used, and returns the index of the first. From now on their nodes
    /// can be looked at.
    fn cut(&self, nodes: &[NodeWords], wanted: u32) -> Option<u32> {
        let first = get(&self.fresh);
        let end = (first + wanted).min(nodes.len() as u32);
        place::span(nodes, first as usize, (end - first) as usize).iter().for_each(|node| set(&node[STATE], 0));
        // Whoever walks the nodes must not find what an earlier search, or the memory's last owner, left in them.
        publish(&self.fresh, end);
        (end > first).then_some(first)
    }

    /// Fills a share that is locked and has nothing left, and takes a slot from it.
    fn refill(&self, share: &Share, nodes: &[NodeWords]) -> Option<u32> {
        let _held = self.lock.hold();
        let first = get(&self.free);
        let mut count = 0;
        if first != NONE {
            let mut last = first;
            count = 1;
            while count < STRETCH && get(link(nodes, last)) != NONE {
                last = get(link(nodes, last));
                count += 1;
            }
            set(&self.free, get(link(nodes, last)));
            set(link(nodes, last), NONE);
            set(&share.free, first);
        } else if let Some(next) = self.cut(nodes, STRETCH) {
            let end = get(&self.fresh);
            set(&share.next, next);
            set(&share.end, end);
            count = end - next;
        }
        set(&share.held, count);
        set(&self.out, get(&self.out) + count);
        share.pop(nodes)
    }

    /// Gives a slot back.
    pub fn give(&self, nodes: &[NodeWords], slot: u32) {
        let _held = self.lock.hold();
        set(link(nodes, slot), get(&self.free));
        set(&self.free, slot);
        set(&self.out, get(&self.out) - 1);
    }

    /// How many slots are in use.
    pub fn live(&self) -> usize {
        let held: u32 = self.shares.iter().map(|share| get(&share.held)).sum();
        // While other threads take slots, the two numbers are not from the same moment.
        get(&self.out).saturating_sub(held) as usize
    }

    /// All slots that have been used so far are below this one. All below it have a state of this search.
    pub fn high_water(&self) -> u32 {
        see(&self.fresh)
    }
}

impl Share {
    /// Takes a slot from a share that is locked.
    fn pop(&self, nodes: &[NodeWords]) -> Option<u32> {
        let (first, next) = (get(&self.free), get(&self.next));
        let slot = if first != NONE {
            set(&self.free, get(link(nodes, first)));
            first
        } else if next < get(&self.end) {
            set(&self.next, next + 1);
            next + 1
        } else {
            return None;
        };
        set(&self.held, get(&self.held) - 1);
        Some(slot)
    }
}

fn link(nodes: &[NodeWords], slot: u32) -> &AtomicU32 {
    &place::at(nodes, slot as usize - 1)[LINK]
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::vec::Vec;

    fn nodes(len: usize) -> Vec<NodeWords> {
        (0..len).map(|_| core::array::from_fn(|_| AtomicU32::new(0xdead_beef))).collect()
    }

    #[test]
    fn every_slot_is_taken_once_whoever_takes_it() {
        for len in [5, SHARED_FROM + 100] {
            let nodes = nodes(len);
            let pool = Pool::new();
            for _ in 0..2 {
                let take_all = || core::iter::from_fn(|| pool.take(&nodes)).collect::<Vec<_>>();
                let taken: Vec<u32> = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..3).map(|_| scope.spawn(take_all)).collect();
                    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
                });
                assert_eq!(taken.len(), len);
                assert_eq!(taken.iter().collect::<HashSet<_>>().len(), len);
                assert_eq!((pool.live(), pool.high_water()), (len, len as u32));
                taken.iter().for_each(|&slot| pool.give(&nodes, slot));
                assert_eq!(pool.live(), 0);
            }
        }
    }

    #[test]
    fn a_slot_that_nobody_has_used_can_be_looked_at() {
        let nodes = nodes(SHARED_FROM);
        let pool = Pool::new();
        pool.take(&nodes).unwrap();
        let seen = &nodes[..pool.high_water() as usize];
        assert!(seen.iter().all(|node| get(&node[STATE]) == 0));
    }
}
