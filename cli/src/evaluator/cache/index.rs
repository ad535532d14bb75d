//! From keys to places: a hash table with linear probing that grows up to a bound.

/// Slots of the smallest table.
const FIRST_SLOTS: usize = 64;

/// Maps entries to their places, by 32 bits of their key. The entries themselves know the rest of their key.
///
/// A slot is 0 if it is empty; else the tag is its upper half, and the place plus one its lower half.
#[derive(Default)]
pub struct Index {
    slots: Vec<u64>,
    most_slots: usize,
    len: usize,
}

/// The part of a key that the index uses.
pub fn tag(key: u64) -> u32 {
    key as u32
}

/// At most three quarters of the slots are in use, so that searches are short.
const fn most_used(slots: usize) -> usize {
    slots / 4 * 3
}

impl Index {
    /// An empty index for at most `entries` entries.
    pub fn new(entries: usize) -> Self {
        Self { slots: Vec::new(), most_slots: slots_for(entries), len: 0 }
    }

    /// Bytes of an index for `entries` entries when it has grown to its full size.
    pub const fn bytes_for(entries: usize) -> usize {
        slots_for(entries) * size_of::<u64>()
    }

    /// Bytes that the index takes now.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn clear(&mut self) {
        self.slots = Vec::new();
        self.len = 0;
    }

    /// Whether there is room for another entry without growing.
    pub fn has_room(&self) -> bool {
        self.len < most_used(self.slots.len())
    }

    /// Makes the table larger and fills it with `entries`, which have to be all there are. Returns false if the table
    /// has its full size.
    ///
    /// The old table is freed before the new one is made: both together would exceed the bound.
    pub fn grow(&mut self, entries: impl Iterator<Item = (u32, u32)>) -> bool {
        let slots = (2 * self.slots.len()).max(FIRST_SLOTS).min(self.most_slots);
        if slots == self.slots.len() {
            return false;
        }
        self.clear();
        self.slots = vec![0; slots];
        entries.for_each(|(tag, place)| self.insert(tag, place));
        true
    }

    /// Adds an entry. There must be room for it.
    pub fn insert(&mut self, tag: u32, place: u32) {
        let mut at = self.home(tag);
        while self.slots[at] != 0 {
            at = self.next(at);
        }
        self.slots[at] = slot(tag, place);
        self.len += 1;
    }

    /// The first place with this tag for which `is_it` returns true.
    pub fn find(&self, tag: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = self.home(tag);
        while self.slots[at] != 0 {
            let place = self.slots[at] as u32 - 1;
            if tag_of(self.slots[at]) == tag && is_it(place) {
                return Some(place);
            }
            at = self.next(at);
        }
        None
    }

    /// Removes an entry, which must be there.
    pub fn remove(&mut self, tag: u32, place: u32) {
        let mut hole = self.home(tag);
        while self.slots[hole] != slot(tag, place) {
            debug_assert!(self.slots[hole] != 0, "the entry is there");
            hole = self.next(hole);
        }
        // The entries behind the hole move up into it, except to slots before their home: no search may meet a hole too
        // soon.
        let mut at = self.next(hole);
        while self.slots[at] != 0 {
            let home = self.home(tag_of(self.slots[at]));
            if self.steps(home, at) >= self.steps(hole, at) {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
            at = self.next(at);
        }
        self.slots[hole] = 0;
        self.len -= 1;
    }

    /// The slot at which the search for a tag begins.
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.slots.len() as u64) >> 32) as usize
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    fn steps(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.slots.len() - from }
    }
}

const fn slots_for(entries: usize) -> usize {
    entries.div_ceil(3) * 4
}

fn slot(tag: u32, place: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(place + 1)
}

fn tag_of(slot: u64) -> u32 {
    (slot >> 32) as u32
}
