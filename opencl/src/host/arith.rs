//! Single numbers: the multiply-add of the processor at hand, and functions that compile to vector code.

use super::board::LANES;
use crate::graph::{Activation, SELU};

/// Numbers side by side in a vector.
pub(super) type Lanes = [f32; LANES];

/// How a product is added to a sum, and vectors of eight numbers.
pub(super) trait Arith {
    /// Vectors of eight that a register tile is wide: as many as the registers hold beside the operands.
    const WIDTH: usize;

    /// Eight numbers that are worked on together. Written with arrays instead, what Winograd's transforms do becomes vectors of
    /// the wrong numbers.
    type Vector: Copy;

    /// `a · b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;

    fn load(from: &Lanes) -> Self::Vector;

    fn store(x: Self::Vector, to: &mut Lanes);

    /// The same number eight times.
    fn splat(a: f32) -> Self::Vector;

    fn plus(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    fn minus(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// `a · x + y`.
    fn scale_add(a: f32, x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// Rows to columns.
    fn transpose(rows: &[Self::Vector; LANES]) -> [Self::Vector; LANES];
}

/// Vectors as arrays, with the number's own `mul_add`.
macro_rules! arrays {
    () => {
        type Vector = Lanes;

        #[inline(always)]
        fn load(from: &Lanes) -> Lanes {
            *from
        }

        #[inline(always)]
        fn store(x: Lanes, to: &mut Lanes) {
            *to = x;
        }

        #[inline(always)]
        fn splat(a: f32) -> Lanes {
            [a; LANES]
        }

        #[inline(always)]
        fn plus(mut x: Lanes, y: Lanes) -> Lanes {
            x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
            x
        }

        #[inline(always)]
        fn minus(mut x: Lanes, y: Lanes) -> Lanes {
            x.iter_mut().zip(y).for_each(|(x, y)| *x -= y);
            x
        }

        #[inline(always)]
        fn scale_add(a: f32, mut x: Lanes, y: Lanes) -> Lanes {
            x.iter_mut().zip(y).for_each(|(x, y)| *x = Self::mul_add(a, *x, y));
            x
        }

        #[inline(always)]
        fn transpose(rows: &[Lanes; LANES]) -> [Lanes; LANES] {
            let mut columns = [[0.0; LANES]; LANES];
            for (j, row) in rows.iter().enumerate() {
                columns.iter_mut().zip(row).for_each(|(column, x)| column[j] = *x);
            }
            columns
        }
    };
}

/// Rounded once. Only where the processor does it in one instruction, else it is a call of a hundred cycles.
pub(super) struct Fused;

#[cfg(not(target_arch = "x86_64"))]
impl Arith for Fused {
    const WIDTH: usize = 2;

    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    arrays!();
}

#[cfg(target_arch = "x86_64")]
mod avx {
    use super::{Arith, Fused, LANES, Lanes};
    use std::arch::x86_64::{
        __m256, _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_set1_ps,
        _mm256_shuffle_ps, _mm256_storeu_ps, _mm256_sub_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    // SAFETY of all that follows: on x86-64 `Fused` is named only in functions that are compiled for AVX2 and FMA, and called
    // where both were found; and `Lanes` are eight numbers.
    impl Arith for Fused {
        const WIDTH: usize = 2;

        type Vector = __m256;

        #[inline(always)]
        fn mul_add(a: f32, b: f32, c: f32) -> f32 {
            a.mul_add(b, c)
        }

        #[inline(always)]
        fn load(from: &Lanes) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_loadu_ps(from.as_ptr()) }
        }

        #[inline(always)]
        fn store(x: __m256, to: &mut Lanes) {
            // SAFETY: see above.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), x) }
        }

        #[inline(always)]
        fn splat(a: f32) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_set1_ps(a) }
        }

        #[inline(always)]
        fn plus(x: __m256, y: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_add_ps(x, y) }
        }

        #[inline(always)]
        fn minus(x: __m256, y: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_sub_ps(x, y) }
        }

        #[inline(always)]
        fn scale_add(a: f32, x: __m256, y: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_fmadd_ps(_mm256_set1_ps(a), x, y) }
        }

        #[inline(always)]
        fn transpose(rows: &[__m256; LANES]) -> [__m256; LANES] {
            // SAFETY: see above.
            unsafe { transpose(rows) }
        }
    }

    /// Pairs, then fours, then halves change places.
    #[inline]
    #[target_feature(enable = "avx")]
    fn transpose(rows: &[__m256; LANES]) -> [__m256; LANES] {
        let [a, b, c, d, e, f, g, h] = *rows;
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
        let mut columns = [a; LANES];
        for (at, (x, y)) in first.into_iter().zip(second).enumerate() {
            columns[at] = _mm256_permute2f128_ps::<0x20>(x, y);
            columns[at + 4] = _mm256_permute2f128_ps::<0x31>(x, y);
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

    arrays!();
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
