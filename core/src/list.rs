//! Lists of fixed capacity. Those of `heapless` panic where more is collected than they hold.

use heapless::{Vec, VecView};

/// Fills a list with as many as there is room for: of more, those that are `worth` most. What fits keeps its order.
///
/// The list is the caller's: one that is given back may be built in one place and copied to another, and stand twice on
/// the stack.
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

/// As many as there is room for.
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
