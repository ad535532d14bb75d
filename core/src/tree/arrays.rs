//! Arrays for the nodes of a tree: a heap, and a piece of it for each thread.

use super::heap::{Array, Heap};
use super::share::{self, SHARES};
use crate::sync::{AtomicU32, Lock, get, set};

/// How many words a thread takes from the heap at once, at most.
const PIECE: u32 = 1024;
/// The longest array that is carved from a piece: what is left at the piece's end is too short for the next array, and
/// should be a small part of it.
const FROM_PIECE: u32 = PIECE / 8;
/// Memory of fewer words than this is not shared out: what other threads hold would be a large part of it.
const SHARED_FROM: usize = 1 << 16;

/// Keeps track of which parts of a slice of words are in use as arrays.
///
/// A thread carves arrays off the end of a piece of the heap that is its own; what is free in the heap is used up
/// before memory that was never used. When memory is nearly full every array comes from the heap.
pub struct Arrays {
    heap: Heap,
    shares: [Share; SHARES],
}

/// The piece that one thread has to itself (or several threads have, if there are more threads than shares).
#[cfg_attr(all(feature = "std", not(loom)), repr(align(128)))]
struct Share {
    lock: Lock,
    /// The piece: an array of the heap, 0 for none …
    piece: AtomicU32,
    /// … and the end of what is left of the piece.
    end: AtomicU32,
}

impl Arrays {
    pub fn new() -> Self {
        let share = |_| Share { lock: Lock::new(), piece: AtomicU32::new(0), end: AtomicU32::new(0) };
        Self { heap: Heap::new(), shares: core::array::from_fn(share) }
    }

    /// Gives all arrays back.
    pub fn clear(&mut self, words: &[AtomicU32]) {
        *self = Self::new();
        self.heap.clear(words);
    }

    /// True if memory is so short that it has to be saved.
    pub fn is_short(&self, words: &[AtomicU32]) -> bool {
        self.heap.live() as usize > words.len() / 4 * 3
    }

    /// Words in use, headers included.
    pub fn live(&self) -> u32 {
        let idle: u32 = self.shares.iter().map(Share::idle).sum();
        // While other threads take arrays, the two numbers are not from the same moment.
        self.heap.live().saturating_sub(idle)
    }

    /// The length of an array in words.
    pub fn len(&self, words: &[AtomicU32], array: Array) -> u32 {
        self.heap.len(words, array)
    }

    /// Takes an array of at least `len` words, whose content is arbitrary. `None` if there is no room.
    pub fn take(&self, words: &[AtomicU32], len: u32) -> Option<Array> {
        let alone = len > FROM_PIECE || words.len() < SHARED_FROM || self.is_short(words);
        let own = if alone { None } else { share::own(&self.shares) };
        let taken = match own {
            Some(share) => share.take(&self.heap, words, len),
            None => self.heap.take(words, len),
        };
        taken.or_else(|| {
            self.shares.iter().for_each(|share| share.give_piece(&self.heap, words));
            self.heap.take(words, len)
        })
    }

    /// Gives an array back.
    pub fn give(&self, words: &[AtomicU32], array: Array) {
        self.heap.give(words, array);
    }
}

impl Share {
    fn take(&self, heap: &Heap, words: &[AtomicU32], len: u32) -> Option<Array> {
        let _held = self.lock.hold();
        // The heap has no shorter ones.
        let len = len.max(Heap::LEAST_LEN);
        self.carve(heap, words, len).or_else(|| {
            self.give_held(heap, words);
            let piece = heap.take_up_to(words, len, PIECE)?;
            set(&self.piece, piece);
            set(&self.end, piece + heap.len(words, piece));
            self.carve(heap, words, len)
        })
    }

    /// Takes an array off the end of the piece; the whole piece if what would be left is too short to go back to the
    /// heap.
    fn carve(&self, heap: &Heap, words: &[AtomicU32], len: u32) -> Option<Array> {
        let (piece, end) = (get(&self.piece), get(&self.end));
        let room = end - piece;
        if piece == 0 || room < len {
            return None;
        }
        if room > len + Heap::LEAST_LEN {
            let header = end - len - 1;
            set(&self.end, header);
            return Some(Heap::carve(words, header, end));
        }
        let whole = room == heap.len(words, piece);
        whole.then(|| {
            set(&self.piece, 0);
            piece
        })
    }

    fn give_piece(&self, heap: &Heap, words: &[AtomicU32]) {
        let _held = self.lock.hold();
        self.give_held(heap, words);
    }

    fn give_held(&self, heap: &Heap, words: &[AtomicU32]) {
        let piece = get(&self.piece);
        if piece != 0 {
            heap.give_rest(words, piece, get(&self.end));
            set(&self.piece, 0);
        }
    }

    /// Words of the piece that are not in use, header included.
    fn idle(&self) -> u32 {
        let _held = self.lock.hold();
        if get(&self.piece) == 0 { 0 } else { get(&self.end) - get(&self.piece) + 1 }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use quickcheck::{QuickCheck, TestResult};
    use std::vec::Vec;

    /// Takes and gives as `orders` says, and looks at every array when it goes back.
    fn use_arrays(arrays: &Arrays, words: &[AtomicU32], orders: &[(u16, bool)], mark: u32) -> bool {
        let mut held: Vec<(Array, u32)> = Vec::new();
        let mut kept = true;
        let mut give = |(array, len): (Array, u32)| {
            kept &= (0..len).all(|k| get(&words[(array + k) as usize]) == mark + array);
            arrays.give(words, array);
        };
        for &(size, gives) in orders {
            let len = u32::from(size) % if size % 7 == 0 { 2000 } else { 70 } + 1;
            if let Some(array) = arrays.take(words, len) {
                assert!(arrays.len(words, array) >= len);
                (0..len).for_each(|k| set(&words[(array + k) as usize], mark + array));
                held.push((array, len));
            }
            if gives && !held.is_empty() {
                give(held.swap_remove(usize::from(size) % held.len()));
            }
        }
        held.into_iter().for_each(give);
        kept
    }

    /// Every array keeps what was written into it, whatever other threads take and give, and in the end all of the
    /// memory is one array again.
    #[test]
    fn arrays_of_several_threads_do_not_overlap() {
        fn holds(orders: Vec<(u16, bool)>, large: bool) -> TestResult {
            let len = if large { SHARED_FROM } else { 5000 };
            let words: Vec<AtomicU32> = (0..len).map(|_| AtomicU32::new(0xdead_beef)).collect();
            let mut arrays = Arrays::new();
            arrays.clear(&words);
            let (arrays, words, orders) = (&arrays, &words[..], &orders[..]);
            let kept = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..3).map(|t| scope.spawn(move || use_arrays(arrays, words, orders, t << 24))).collect();
                threads.into_iter().all(|thread| thread.join().unwrap())
            });
            let free = arrays.live() == 0 && arrays.take(words, len as u32 / 8 * 7).is_some();
            TestResult::from_bool(kept && free)
        }
        QuickCheck::new().tests(60).quickcheck(holds as fn(Vec<(u16, bool)>, bool) -> TestResult);
    }

    #[test]
    fn arrays_of_any_length_fill_the_memory() {
        let words: Vec<AtomicU32> = (0..4 * SHARED_FROM).map(|_| AtomicU32::new(0)).collect();
        for len in (60..1100).step_by(45) {
            let mut arrays = Arrays::new();
            arrays.clear(&words);
            // As nodes do, some of which have hundreds of moves.
            while arrays.take(&words, len).is_some() {
                arrays.take(&words, 8);
            }
            assert!(arrays.live() as usize > words.len() / 8 * 7, "{} words in arrays of {len}", arrays.live());
        }
    }

    #[test]
    fn the_last_word_is_found_in_another_threads_piece() {
        let words: Vec<AtomicU32> = (0..SHARED_FROM).map(|_| AtomicU32::new(0)).collect();
        let mut arrays = Arrays::new();
        arrays.clear(&words);
        std::thread::scope(|scope| _ = scope.spawn(|| arrays.take(&words, 10)));
        let taken = core::iter::from_fn(|| arrays.take(&words, 15)).count();
        // The heap may leave a few of each block it has; the other thread's piece is many times that.
        assert!((taken + 8) * 16 > SHARED_FROM, "{taken} arrays of 16 words in {SHARED_FROM}");
    }
}
