//! Which of a slice of records are in use.

use crate::sync::{AtomicU32, Lock, get, set};

/// No record.
pub const NONE: u32 = 0;

/// Records that were never used lie above a mark; those given back hang in a list through their own first link word.
pub struct Pool {
    lock: Lock,
    /// The first record of the list, as its slot plus 1.
    free: AtomicU32,
    /// Slots that have been used so far.
    fresh: AtomicU32,
    live: AtomicU32,
}

impl Pool {
    pub fn new() -> Self {
        Self { lock: Lock::new(), free: AtomicU32::new(NONE), fresh: AtomicU32::new(0), live: AtomicU32::new(0) }
    }

    /// A slot plus 1, or `None` when all `len` are in use; and whether it was used before. `link` is the word of a slot
    /// that the list goes through.
    pub fn take<'w>(&self, len: usize, link: impl Fn(u32) -> &'w AtomicU32) -> Option<(u32, bool)> {
        let _held = self.lock.hold();
        let first = get(&self.free);
        let taken = if first != NONE {
            set(&self.free, get(link(first - 1)));
            (first, true)
        } else {
            let slot = get(&self.fresh);
            if slot as usize >= len {
                return None;
            }
            set(&self.fresh, slot + 1);
            (slot + 1, false)
        };
        set(&self.live, get(&self.live) + 1);
        Some(taken)
    }

    /// Gives a record back.
    pub fn give(&self, taken: u32, link: &AtomicU32) {
        let _held = self.lock.hold();
        set(link, get(&self.free));
        set(&self.free, taken);
        set(&self.live, get(&self.live) - 1);
    }

    /// Records in use.
    pub fn live(&self) -> usize {
        get(&self.live) as usize
    }

    /// Slots that have been used so far lie below this one.
    pub fn high_water(&self) -> u32 {
        get(&self.fresh)
    }
}
