//! Answers drawn from a hash of the position: for measuring a search without a network. They depend on the position's
//! key alone.

use oncilla_core::evaluate::Value;

/// Policies from logits in `[0, SPREAD)` are as uneven as those of a network.
const SPREAD: f32 = 3.0;

/// Uniform in `[0, 1)`, by `key` and `salt`.
fn uniform(key: u64, salt: u64) -> f32 {
    // The output function of SplitMix64.
    let mut x = key.wrapping_add(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ x >> 31) >> 40) as f32 / (1u64 << 24) as f32
}

/// The value of the position with `key`.
pub fn value(key: u64) -> Value {
    let wl = uniform(key, 1) * 2.0 - 1.0;
    Value { wl, d: uniform(key, 2) * (1.0 - wl.abs()), m: 0.0 }
}

/// The logit of a move, packed, in the position with `key`.
pub fn logit(key: u64, mv: u16) -> f32 {
    SPREAD * uniform(key, u64::from(mv) + 3)
}
