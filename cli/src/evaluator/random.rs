//! Answers drawn from a hash of the position, for measuring a search without a network. They depend on the position's
//! key alone.

use oncilla_core::evaluate::Value;

/// Logits are uniform in `[0, SPREAD)`, so that policies are as uneven as a network's.
const SPREAD: f32 = 3.0;

/// A number that is uniform in `[0, 1)`, in steps of 2⁻²⁴, from `key` and `salt`.
///
/// The mixing steps of MurmurHash3 (`fmix32`), with half of the key in the middle of them: 32-bit arithmetic without a
/// branch, so that a compiler makes vectors of it.
#[inline]
fn uniform(key: u64, salt: u32) -> f32 {
    let mut x = salt.wrapping_mul(0x9e37_79b1) ^ key as u32;
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b) ^ (key >> 32) as u32;
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    // The number is below 2²⁴, so the conversion of signed numbers, which every processor has, gives the same.
    ((x ^ x >> 16) >> 8) as i32 as f32 * (1.0 / (1 << 24) as f32)
}

/// The value of the position with `key`.
pub fn value(key: u64) -> Value {
    // No packed move is as large as these salts.
    let wl = uniform(key, 1 << 16) * 2.0 - 1.0;
    Value { wl, d: uniform(key, 2 << 16) * (1.0 - wl.abs()), m: 0.0 }
}

/// Writes the logits of the packed `moves` in the position with `key` to `into`.
pub fn logits(key: u64, moves: &[u16], into: &mut [f32]) {
    for (logit, &mv) in into.iter_mut().zip(moves) {
        *logit = SPREAD * uniform(key, mv.into());
    }
}
