//! Lists of fixed capacity. Those of `heapless` panic where more is collected than they hold.

use heapless::Vec;

/// As many as there is room for: of more, those that are `worth` most. What fits keeps its order.
pub fn largest<T, const N: usize>(items: impl IntoIterator<Item = T>, worth: impl Fn(&T) -> f32) -> Vec<T, N> {
    let mut list = Vec::<T, N>::new();
    for item in items {
        if let Err(item) = list.push(item)
            && let Some(least) = list.iter_mut().min_by(|a, b| worth(a).total_cmp(&worth(b)))
            && worth(&item) > worth(least)
        {
            *least = item;
        }
    }
    list
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
        let worth = |x: &f32| *x;
        assert_eq!(largest::<_, 4>([2.0, 9.0, 1.0], worth), [2.0, 9.0, 1.0]);
        assert_eq!(largest::<_, 3>([2.0, 9.0, 1.0, 5.0, 0.0, 4.0], worth), [4.0, 9.0, 5.0]);
        assert!(largest::<f32, 0>([1.0], worth).is_empty());
    }
}
