//! Access to slices by indices that the tree's own words contain.
//!
//! Such an index is in range, unless there is a fault in this crate, or other code writes to the tree's memory. With
//! `std` (and in debug builds) an index out of range panics as usual: the program around the search can catch that, and
//! go on without this tree. Without `std` a panic can't be caught, and code that can't panic is smaller: there, such an
//! index leads to words that are not used for anything.

use crate::sync::AtomicU32;

/// A type with a spare value, which takes the place of one that is not there.
pub trait Spare: Sized + 'static {
    /// The spare value, which is not used for anything else.
    fn spare() -> &'static Self;
}

/// True if an index out of range panics.
const PANICS: bool = cfg!(any(feature = "std", debug_assertions, test, loom));

#[cfg(not(loom))]
static NOBODYS: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];

#[cfg(not(loom))]
impl Spare for AtomicU32 {
    fn spare() -> &'static Self {
        &NOBODYS[0]
    }
}

#[cfg(not(loom))]
impl<const N: usize> Spare for [AtomicU32; N] {
    fn spare() -> &'static Self {
        const { assert!(N <= NOBODYS.len()) };
        match NOBODYS.first_chunk() {
            Some(words) => words,
            None => unreachable!(),
        }
    }
}

#[cfg(loom)]
impl<T: 'static> Spare for T {
    fn spare() -> &'static Self {
        unreachable!("loom panics before")
    }
}

/// Keeps a path that is hardly ever taken out of the way of the rest.
#[cold]
#[inline(never)]
fn spare<T: Spare>() -> &'static T {
    T::spare()
}

#[cold]
#[inline(never)]
#[track_caller]
fn out_of_range(count: usize, first: usize, len: usize) -> ! {
    panic!("{count} words at {first} of {len}")
}

/// The element at `index`.
#[inline(always)]
#[track_caller]
pub fn at<T: Spare>(of: &[T], index: usize) -> &T {
    match of.get(index) {
        Some(found) => found,
        None if PANICS => &of[index],
        None => spare(),
    }
}

/// What `part` reads of the element at `index`, or the default.
#[inline(always)]
#[track_caller]
pub fn read<T, U: Default>(of: &[T], index: usize, part: impl FnOnce(&T) -> U) -> U {
    if PANICS { part(&of[index]) } else { of.get(index).map(part).unwrap_or_default() }
}

/// All elements from `first` on.
#[inline(always)]
#[track_caller]
pub fn from<T>(of: &[T], first: usize) -> &[T] {
    if PANICS { &of[first..] } else { of.get(first..).unwrap_or(&[]) }
}

/// `len` elements from `first` on.
#[inline(always)]
#[track_caller]
pub fn span<T>(of: &[T], first: usize, len: usize) -> &[T] {
    if PANICS { &of[first..][..len] } else { of.get(first..).and_then(|of| of.get(..len)).unwrap_or(&[]) }
}

/// `N` words from `first` on.
#[inline(always)]
#[track_caller]
pub fn chunk<const N: usize>(of: &[AtomicU32], first: usize) -> &[AtomicU32; N] {
    match of.get(first..).and_then(|of| of.first_chunk()) {
        Some(words) => words,
        None if PANICS => out_of_range(N, first, of.len()),
        None => spare(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words<const N: usize>() -> [AtomicU32; N] {
        core::array::from_fn(|i| AtomicU32::new(i as u32))
    }

    #[test]
    fn what_is_there_is_found() {
        let words = words::<10>();
        assert!(core::ptr::eq(at(&words, 9), &words[9]));
        assert!(core::ptr::eq(from(&words, 10), &words[10..]));
        assert!(core::ptr::eq(span(&words, 7, 3), &words[7..]));
        assert!(core::ptr::eq(chunk::<5>(&words, 5).as_slice(), &words[5..]));
    }

    #[test]
    #[should_panic(expected = "5 words at 6 of 10")]
    fn with_std_a_place_out_of_range_is_a_panic() {
        chunk::<5>(&words::<10>(), 6);
    }
}
