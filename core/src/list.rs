//! Lists of fixed capacity. Those of `heapless` panic where more is collected than they hold.

use heapless::Vec;

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
