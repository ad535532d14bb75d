//! Sorting without panics.
//!
//! The standard library's sort is faster, but panics if an order contradicts itself: to the linker that panic is
//! reachable, whatever the order is. Without `std` events are sorted by a heap sort.

use core::cmp::Ordering;

/// Sorts a slice; equal elements may change places.
pub fn by<T>(these: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    if cfg!(feature = "std") { these.sort_unstable_by(order) } else { heap_sort(these, order) }
}

fn heap_sort<T>(these: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    for root in (0..these.len() / 2).rev() {
        sift(these, root, &order);
    }
    for end in (1..these.len()).rev() {
        swap(these, 0, end);
        if let Some(heap) = these.get_mut(..end) {
            sift(heap, 0, &order);
        }
    }
}

/// Moves the element at `root` down until none of its children comes after it.
fn sift<T>(heap: &mut [T], mut root: usize, order: &impl Fn(&T, &T) -> Ordering) {
    let comes_after = |a: Option<&T>, b: Option<&T>| matches!((a, b), (Some(a), Some(b)) if order(a, b).is_gt());
    loop {
        let (left, right) = (2 * root + 1, 2 * root + 2);
        let child = if comes_after(heap.get(right), heap.get(left)) { right } else { left };
        if !comes_after(heap.get(child), heap.get(root)) {
            return;
        }
        swap(heap, root, child);
        root = child;
    }
}

fn swap<T>(these: &mut [T], a: usize, b: usize) {
    if let Ok([a, b]) = these.get_disjoint_mut([a, b]) {
        core::mem::swap(a, b);
    }
}

/// Moves the last element of a slice to its place among the others, which are sorted; it comes after its equals.
pub fn insert_last<T>(these: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let mut at = these.len().saturating_sub(1);
    while let Some([before, one]) = at.checked_sub(1).and_then(|before| these.get(before..=at))
        && order(one, before).is_lt()
    {
        swap(these, at, at - 1);
        at -= 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use quickcheck::quickcheck;
    use std::vec::Vec;

    quickcheck! {
        fn sorted_as_the_standard_library_does(these: Vec<u8>) -> bool {
            let [mut heaped, mut expected] = [these.clone(), these];
            heap_sort(&mut heaped, u8::cmp);
            expected.sort();
            heaped == expected
        }

        fn inserted_in_order_and_stable(these: Vec<(u8, u8)>) -> bool {
            let [mut inserted, mut expected] = [these.clone(), these];
            for end in 0..=inserted.len() {
                insert_last(&mut inserted[..end], |a, b| (a.0 / 8).cmp(&(b.0 / 8)));
            }
            expected.sort_by_key(|one| one.0 / 8);
            inserted == expected
        }
    }
}
