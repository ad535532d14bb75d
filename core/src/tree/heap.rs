//! Arrays of any length in one slice of words: a two-level segregated fit (Masmano et al., TLSF, 2004).
//!
//! Free blocks of similar sizes are in one list, a bit for each list says whether it has any, and neighbours that are
//! both free are joined. So taking and giving back cost the same however full the memory is, and blocks that were split
//! are joined again.

use crate::place;
use crate::sync::{AtomicU32, Lock, get, set};

/// How many lists there are for each doubling of the size.
const LISTS: u32 = 8;
/// How many doublings there are: sizes are below 2³¹ words.
const DOUBLINGS: usize = 29;
/// The least size of a block: a free block holds its header, two links and, at its end, its size.
const LEAST: u32 = 4;

// A header has the block's size in words, header included, above two bits. This one: the block is free.
const FREE: u32 = 1;
/// The block before this one is free, and that block's last word is its size.
const AFTER_FREE: u32 = 2;
const SIZE_SHIFT: u32 = 2;

/// The most words that a heap uses.
pub const MOST_WORDS: usize = (1 << 30) - 1;

/// Keeps track of which arrays of a slice are in use.
pub struct Heap {
    lock: Lock,
    live: AtomicU32,
    /// Bit `i`: some list of doubling `i` has a block.
    doublings: AtomicU32,
    lists: [AtomicU32; DOUBLINGS],
    heads: [AtomicU32; DOUBLINGS * LISTS as usize],
}

/// An array, given by the index of its first word. Never 0.
pub type Array = u32;

fn class(size: u32) -> (usize, u32) {
    if size < LISTS {
        return (0, size);
    }
    let log = size.ilog2();
    ((log - 2) as usize, (size >> (log - 3)) & (LISTS - 1))
}

/// The smallest size whose class has only blocks of at least `size` words.
fn round_up(size: u32) -> u32 {
    if size < LISTS { size } else { size + (1 << (size.ilog2() - 3)) - 1 }
}

impl Heap {
    /// The length of the shortest array, in words.
    pub const LEAST_LEN: u32 = LEAST - 1;

    pub fn new() -> Self {
        Self {
            lock: Lock::new(),
            live: AtomicU32::new(0),
            doublings: AtomicU32::new(0),
            lists: core::array::from_fn(|_| AtomicU32::new(0)),
            heads: core::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Gives all arrays back: all of `words` is one free block.
    pub fn clear(&mut self, words: &[AtomicU32]) {
        *self = Self::new();
        let size = words.len() as u32;
        if size >= LEAST {
            self.insert(words, 0, size, 0);
        }
    }

    /// Words in use, including headers and carved arrays.
    pub fn live(&self) -> u32 {
        get(&self.live)
    }

    /// Takes an array of at least `len` words, whose content is arbitrary. `None` if there is no room.
    pub fn take(&self, words: &[AtomicU32], len: u32) -> Option<Array> {
        self.take_up_to(words, len, len)
    }

    /// Takes the shortest free array of at least `least` words that is at hand, but not more than `most` words of it.
    pub fn take_up_to(&self, words: &[AtomicU32], least: u32, most: u32) -> Option<Array> {
        let (least, most) = ((least + 1).max(LEAST), (most + 1).max(LEAST));
        let _held = self.lock.hold();
        let at = self.find(round_up(least))?;
        let header = get(place::at(words, at as usize));
        let size = header >> SIZE_SHIFT;
        let used = if size >= most + LEAST { most } else { size };
        if used < size && class(size - used) == class(size) {
            self.move_front(words, at, used, size);
        } else {
            self.unlink(words, at, size);
            if used < size {
                self.insert(words, at + used, size - used, 0);
            } else {
                self.tell_next(words, at + size, 0);
            }
        }
        set(place::at(words, at as usize), used << SIZE_SHIFT | header & AFTER_FREE);
        set(&self.live, get(&self.live) + used);
        Some(at + 1)
    }

    /// The length of an array in words.
    pub fn len(&self, words: &[AtomicU32], array: Array) -> u32 {
        // The size in a header is written by the block's holder only; a neighbour only changes the bit that says
        // whether the block before is free.
        (get(place::at(words, array as usize - 1)) >> SIZE_SHIFT) - 1
    }

    /// Makes an array of the words from `header` to `end`, which were the last part of a longer array; what remains of
    /// that is freed by [`Heap::give_rest`]. No words of other arrays are read or written, so no lock is needed: the
    /// header of the longer array is left as it is, because the length of a neighbour that is in use is never read.
    pub fn carve(words: &[AtomicU32], header: u32, end: u32) -> Array {
        set(place::at(words, header as usize), (end - header) << SIZE_SHIFT);
        header + 1
    }

    /// Gives an array back.
    pub fn give(&self, words: &[AtomicU32], array: Array) {
        self.give_rest(words, array, array + self.len(words, array));
    }

    /// Frees the rest of an array, up to `end`, after other arrays were carved off it.
    pub fn give_rest(&self, words: &[AtomicU32], array: Array, end: u32) {
        let _held = self.lock.hold();
        let mut at = array - 1;
        let header = get(place::at(words, at as usize));
        let mut size = end - at;
        set(&self.live, get(&self.live) - size);
        if header & AFTER_FREE != 0 {
            let before = get(place::at(words, at as usize - 1));
            at -= before;
            self.unlink(words, at, before);
            size += before;
        }
        if let Some(next) = words.get((at + size) as usize).map(get).filter(|next| next & FREE != 0) {
            let next_size = next >> SIZE_SHIFT;
            self.unlink(words, at + size, next_size);
            size += next_size;
        }
        self.insert(words, at, size, get(place::at(words, at as usize)) & AFTER_FREE);
    }

    /// Writes into the header of the block at `at`, if there is one, whether the block before is free.
    fn tell_next(&self, words: &[AtomicU32], at: u32, after_free: u32) {
        if let Some(next) = words.get(at as usize) {
            set(next, get(next) & !AFTER_FREE | after_free);
        }
    }

    fn find(&self, size: u32) -> Option<u32> {
        let (doubling, list) = class(size);
        let mut doubling = doubling;
        let mut lists = get(self.lists.get(doubling)?) & (u32::MAX << list);
        if lists == 0 {
            let larger = get(&self.doublings) & u32::MAX.checked_shl(doubling as u32 + 1)?;
            if larger == 0 {
                return None;
            }
            doubling = larger.trailing_zeros() as usize;
            lists = get(place::at(&self.lists, doubling));
        }
        let list = lists.trailing_zeros();
        Some(get(place::at(&self.heads, doubling * LISTS as usize + list as usize)) - 1)
    }

    /// Makes the `size` words at `at` a free block.
    fn insert(&self, words: &[AtomicU32], at: u32, size: u32, after_free: u32) {
        let (doubling, list) = class(size);
        let head = place::at(&self.heads, doubling * LISTS as usize + list as usize);
        let next = get(head);
        let here = at as usize;
        set(place::at(words, here), size << SIZE_SHIFT | FREE | after_free);
        set(place::at(words, here + 1), next);
        set(place::at(words, here + 2), 0);
        set(place::at(words, here + size as usize - 1), size);
        if next != 0 {
            set(place::at(words, next as usize - 1 + 2), at + 1);
        }
        set(head, at + 1);
        set(place::at(&self.lists, doubling), get(place::at(&self.lists, doubling)) | 1 << list);
        set(&self.doublings, get(&self.doublings) | 1 << doubling);
        self.tell_next(words, at + size, AFTER_FREE);
    }

    /// Takes the first `used` words from the free block at `at`, which keeps its place in its list: most arrays are
    /// taken from one large block.
    fn move_front(&self, words: &[AtomicU32], at: u32, used: u32, size: u32) {
        let (next, before) = (get(place::at(words, at as usize + 1)), get(place::at(words, at as usize + 2)));
        let here = (at + used) as usize;
        set(place::at(words, here), (size - used) << SIZE_SHIFT | FREE);
        set(place::at(words, here + 1), next);
        set(place::at(words, here + 2), before);
        set(place::at(words, (at + size) as usize - 1), size - used);
        self.link(words, next, before, at + used + 1, class(size));
    }

    /// Makes `link` the block between `before` and `next` in a list (each is an index plus 1, or 0 for none); if there
    /// is none before, `link` becomes the list's head.
    fn link(&self, words: &[AtomicU32], next: u32, before: u32, link: u32, (doubling, list): (usize, u32)) {
        if next != 0 {
            set(place::at(words, next as usize - 1 + 2), link);
        }
        match before {
            0 => set(place::at(&self.heads, doubling * LISTS as usize + list as usize), link),
            _ => set(place::at(words, before as usize - 1 + 1), link),
        }
    }

    fn unlink(&self, words: &[AtomicU32], at: u32, size: u32) {
        let (next, before) = (get(place::at(words, at as usize + 1)), get(place::at(words, at as usize + 2)));
        if next != 0 {
            set(place::at(words, next as usize - 1 + 2), before);
        }
        if before != 0 {
            set(place::at(words, before as usize - 1 + 1), next);
            return;
        }
        let (doubling, list) = class(size);
        set(place::at(&self.heads, doubling * LISTS as usize + list as usize), next);
        if next == 0 {
            let lists = get(place::at(&self.lists, doubling)) & !(1 << list);
            set(place::at(&self.lists, doubling), lists);
            if lists == 0 {
                set(&self.doublings, get(&self.doublings) & !(1 << doubling));
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use quickcheck::{QuickCheck, quickcheck};
    use std::vec::Vec;

    fn memory(len: usize) -> Vec<AtomicU32> {
        (0..len).map(|_| AtomicU32::new(0xdead_beef)).collect()
    }

    fn fresh(words: &[AtomicU32]) -> Heap {
        let mut heap = Heap::new();
        heap.clear(words);
        heap
    }

    quickcheck! {
        /// Every array keeps its content, whatever is allocated and freed around it.
        fn arrays_do_not_overlap(sizes: Vec<(u8, bool)>) -> bool {
            let words = memory(3000);
            let heap = fresh(&words);
            let mut held: Vec<(Array, u32, u32)> = Vec::new();
            for (i, (size, give)) in sizes.into_iter().enumerate() {
                let len = u32::from(size % 120) + 1;
                if let Some(array) = heap.take(&words, len) {
                    assert!(heap.len(&words, array) >= len);
                    (0..len).for_each(|k| set(&words[(array + k) as usize], i as u32));
                    held.push((array, len, i as u32));
                }
                if give && !held.is_empty() {
                    let (array, ..) = held.swap_remove(i % held.len());
                    heap.give(&words, array);
                }
            }
            let kept = held.iter().all(|&(array, len, i)| (0..len).all(|k| get(&words[(array + k) as usize]) == i));
            held.iter().for_each(|&(array, ..)| heap.give(&words, array));
            // All grew together again: one block of the whole length.
            kept && heap.live() == 0 && heap.take(&words, 2700).is_some()
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let words = memory(64);
        let heap = fresh(&words);
        assert!(heap.take(&words, 64).is_none());
        let all = heap.take(&words, 40).expect("it fits");
        assert!(heap.take(&words, 40).is_none());
        heap.give(&words, all);
        assert!(heap.take(&words, 40).is_some());
        for tiny in 0..4 {
            assert!(fresh(&memory(tiny)).take(&memory(tiny), 1).is_none());
        }
    }

    #[test]
    fn a_class_has_only_what_is_large_enough() {
        fn holds(size: u32) -> bool {
            let size = size % (MOST_WORDS as u32 / 2) + LEAST;
            let (doubling, list) = class(round_up(size));
            let (own_doubling, own_list) = class(size);
            // The smallest block of the class that is searched first.
            let least = if doubling == 0 { list } else { (LISTS + list) << (doubling - 1) };
            least >= size && (doubling, list) >= (own_doubling, own_list) && doubling < DOUBLINGS
        }
        QuickCheck::new().tests(2000).quickcheck(holds as fn(u32) -> bool);
    }
}
