//! Single numbers: the multiply-add of the processor at hand, and functions that compile to vector code.

use super::board::LANES;
use crate::graph::{Activation, SELU};

/// Numbers side by side in a vector.
pub(super) type Lanes = [f32; LANES];

/// How a product is added to a sum, and what else the instructions at hand do in a way of their own.
pub(super) trait Arith {
    /// Vectors of eight that a register tile is wide: as many as the registers hold beside the operands.
    const WIDTH: usize;

    /// `a · b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;

    /// Rows to columns.
    #[inline(always)]
    fn transpose(rows: &[Lanes; LANES]) -> [Lanes; LANES] {
        let mut columns = [[0.0; LANES]; LANES];
        for (j, row) in rows.iter().enumerate() {
            columns.iter_mut().zip(row).for_each(|(column, x)| column[j] = *x);
        }
        columns
    }
}

/// Rounded once. Only where the processor does it in one instruction, else it is a call of a hundred cycles.
pub(super) struct Fused;

impl Arith for Fused {
    const WIDTH: usize = 2;

    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn transpose(rows: &[Lanes; LANES]) -> [Lanes; LANES] {
        // SAFETY: on x86-64 this type is named only in functions that are compiled for AVX2 and called where it was found.
        unsafe { avx::transpose(rows) }
    }
}

/// What the compiler does not find by itself.
#[cfg(target_arch = "x86_64")]
mod avx {
    use super::{LANES, Lanes};
    use std::arch::x86_64::{
        _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_shuffle_ps, _mm256_storeu_ps, _mm256_unpackhi_ps,
        _mm256_unpacklo_ps,
    };

    /// Pairs, then fours, then halves change places.
    #[target_feature(enable = "avx")]
    pub fn transpose(rows: &[Lanes; LANES]) -> [Lanes; LANES] {
        // SAFETY: each row has eight numbers.
        let load = |row: usize| unsafe { _mm256_loadu_ps(rows[row].as_ptr()) };
        let (a, b, c, d) = (load(0), load(1), load(2), load(3));
        let (e, f, g, h) = (load(4), load(5), load(6), load(7));
        let (ab, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let (ef, ef_high) = (_mm256_unpacklo_ps(e, f), _mm256_unpackhi_ps(e, f));
        let (gh, gh_high) = (_mm256_unpacklo_ps(g, h), _mm256_unpackhi_ps(g, h));
        const LOW: i32 = 0b01_00_01_00;
        const HIGH: i32 = 0b11_10_11_10;
        let first = [
            _mm256_shuffle_ps::<LOW>(ab, cd),
            _mm256_shuffle_ps::<HIGH>(ab, cd),
            _mm256_shuffle_ps::<LOW>(ab_high, cd_high),
            _mm256_shuffle_ps::<HIGH>(ab_high, cd_high),
        ];
        let second = [
            _mm256_shuffle_ps::<LOW>(ef, gh),
            _mm256_shuffle_ps::<HIGH>(ef, gh),
            _mm256_shuffle_ps::<LOW>(ef_high, gh_high),
            _mm256_shuffle_ps::<HIGH>(ef_high, gh_high),
        ];
        let mut columns = [[0.0; LANES]; LANES];
        for (at, (x, y)) in first.into_iter().zip(second).enumerate() {
            // SAFETY: each column has room for eight numbers.
            unsafe {
                _mm256_storeu_ps(columns[at].as_mut_ptr(), _mm256_permute2f128_ps::<0x20>(x, y));
                _mm256_storeu_ps(columns[at + 4].as_mut_ptr(), _mm256_permute2f128_ps::<0x31>(x, y));
            }
        }
        columns
    }
}

/// Rounded twice: the x86-64 of before 2013 and processors that are not known.
#[cfg_attr(target_arch = "aarch64", allow(dead_code))]
pub(super) struct Unfused;

impl Arith for Unfused {
    const WIDTH: usize = 1;

    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// `e^x` with a relative error below 2·10⁻⁷ for `|x| ≤ 87`; beyond, `x` is taken to the nearer end.
///
/// `e^x = 2^n · e^r` with `|r| ≤ ln 2 / 2`; `e^r` is its Taylor polynomial of degree 7, whose remainder there is 6·10⁻⁹.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 87.0);
    // Adding and subtracting 1.5·2²³ rounds to a whole number, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let mut p = 1.0 / 5040.0;
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p * r + c;
    }
    let power = (shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127)) << 23;
    p * f32::from_bits(power)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `x · tanh(ln(1 + e^x))`. With `n = e^x · (e^x + 2)` that is `x · n / (n + 2)`; above 20 it is `x` to the last bit.
#[inline(always)]
fn mish(x: f32) -> f32 {
    let e = exp(if x < 20.0 { x } else { 20.0 });
    let n = e * (e + 2.0);
    let y = x * (n / (n + 2.0));
    if x < 20.0 { y } else { x }
}

/// See [`Activation::Selu`].
#[inline(always)]
fn selu(x: f32) -> f32 {
    let (lambda, alpha) = SELU;
    // Of both branches the one that isn't wanted is worked out too: no jump in a vector.
    let below = lambda * alpha * (exp(x) - 1.0);
    if x > 0.0 { lambda * x } else { below }
}

/// `activation` of each element; a softmax is over all of them.
#[inline(always)]
pub(super) fn activate(activation: Activation, y: &mut [f32]) {
    match activation {
        Activation::None => {}
        Activation::Relu => y.iter_mut().for_each(|v| *v = v.max(0.0)),
        Activation::Mish => y.iter_mut().for_each(|v| *v = mish(*v)),
        Activation::Tanh => y.iter_mut().for_each(|v| *v = v.tanh()),
        Activation::Relu2 => y.iter_mut().for_each(|v| *v = v.max(0.0) * v.max(0.0)),
        Activation::Swish => y.iter_mut().for_each(|v| *v *= sigmoid(*v)),
        Activation::Selu => y.iter_mut().for_each(|v| *v = selu(*v)),
        Activation::Sigmoid => y.iter_mut().for_each(|v| *v = sigmoid(*v)),
        Activation::Softmax => {
            let largest = y.iter().fold(f32::NEG_INFINITY, |m, &v| m.max(v));
            y.iter_mut().for_each(|v| *v = exp(*v - largest));
            let sum: f32 = y.iter().sum();
            y.iter_mut().for_each(|v| *v /= sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_within_its_bound() {
        for i in -870_000..=870_000 {
            let x = i as f32 * 1e-4;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs() / expected;
            assert!(error < 2e-7, "exp({x}): {error}");
        }
        assert!(exp(-1000.0) < 1e-37 && exp(1000.0) > 1e37);
    }

    #[test]
    fn mish_is_within_rounding() {
        for i in -300_000..=300_000 {
            let x = i as f32 * 1e-4;
            let expected = f64::from(x) * f64::from(x).exp().ln_1p().tanh();
            let error = (f64::from(mish(x)) - expected).abs();
            assert!(error <= 4e-7 * expected.abs().max(1e-3), "mish({x}): {error}");
        }
        assert_eq!(mish(1e30), 1e30);
    }
}
