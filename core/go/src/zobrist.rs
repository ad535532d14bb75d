//! Numbers for hashing, the same on every machine and in every run.

use crate::color::Color;

/// SplitMix64's finalizer after one step (Steele, Lea and Flood, 2014).
pub(crate) const fn scatter(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A key for each stone on each of `N` cells, from seeds that nothing else uses.
const fn keys<const N: usize>() -> [[u64; N]; 2] {
    let mut keys = [[0; N]; 2];
    let mut cell = 0;
    while cell < N {
        keys[Color::Black as usize][cell] = scatter(1 << 32 | cell as u64);
        keys[Color::White as usize][cell] = scatter(2 << 32 | cell as u64);
        cell += 1;
    }
    keys
}

/// Keys of stones by color and cell.
pub(crate) static STONES: [[u64; crate::grid::CELLS]; 2] = keys();
