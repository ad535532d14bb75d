//! Lists of fixed capacity. (Collecting into a list of `heapless` panics if there are more items than it holds.)

use heapless::{Vec, VecView};

/// Fills `list` with as many items as it has room for: if there are more, with those whose `worth` is largest. The
/// items that are kept stay in their order.
///
/// The list is the caller's: a list that is returned may be built in one place and copied to another, so that it is on
/// the stack twice.
pub fn fill_largest<T>(list: &mut VecView<T>, items: impl IntoIterator<Item = T>, worth: impl Fn(&T) -> f32) {
    list.clear();
    for item in items {
        if let Err(item) = list.push(item)
            && let Some(least) = list.iter_mut().min_by(|a, b| worth(a).total_cmp(&worth(b)))
            && worth(&item) > worth(least)
        {
            *least = item;
        }
    }
}

/// The first items, as many as a list of capacity `N` has room for.
pub fn up_to<T, const N: usize>(items: impl IntoIterator<Item = T>) -> Vec<T, N> {
    let mut list = Vec::new();
    for item in items {
        if list.push(item).is_err() {
            break;
        }
    }
    list
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_largest_stay() {
        fn largest<const N: usize>(items: &[f32]) -> Vec<f32, N> {
            let mut list = up_to([7.0]);
            fill_largest(list.as_mut_view(), items.iter().copied(), |x| *x);
            list
        }
        assert_eq!(largest::<4>(&[2.0, 9.0, 1.0]), [2.0, 9.0, 1.0]);
        assert_eq!(largest::<3>(&[2.0, 9.0, 1.0, 5.0, 0.0, 4.0]), [4.0, 9.0, 5.0]);
        assert!(largest::<0>(&[1.0]).is_empty());
    }
}
