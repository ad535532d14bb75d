//! The multiply-add of the processor at hand, vectors of eight numbers, and activations of them.

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

    fn times(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    fn over(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// The larger of `a` and each number; a NaN stays one.
    fn at_least(a: f32, x: Self::Vector) -> Self::Vector;

    /// The smaller of `a` and each number; a NaN stays one.
    fn at_most(a: f32, x: Self::Vector) -> Self::Vector;

    /// The larger of two, of which none is a NaN.
    fn larger(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// `a · x + y`.
    fn scale_add(a: f32, x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// See [`exp`].
    fn exp(x: Self::Vector) -> Self::Vector;

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
        fn times(mut x: Lanes, y: Lanes) -> Lanes {
            x.iter_mut().zip(y).for_each(|(x, y)| *x *= y);
            x
        }

        #[inline(always)]
        fn over(mut x: Lanes, y: Lanes) -> Lanes {
            x.iter_mut().zip(y).for_each(|(x, y)| *x /= y);
            x
        }

        #[inline(always)]
        fn at_least(a: f32, x: Lanes) -> Lanes {
            x.map(|x| if x < a { a } else { x })
        }

        #[inline(always)]
        fn at_most(a: f32, x: Lanes) -> Lanes {
            x.map(|x| if x > a { a } else { x })
        }

        #[inline(always)]
        fn larger(mut x: Lanes, y: Lanes) -> Lanes {
            x.iter_mut().zip(y).for_each(|(x, y)| *x = if *x > y { *x } else { y });
            x
        }

        #[inline(always)]
        fn exp(x: Lanes) -> Lanes {
            x.map(exp)
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
    use super::{Arith, FARTHEST, Fused, LANES, LN2_HIGH, LN2_LOW, Lanes, ROUND, TAYLOR};
    use std::arch::x86_64::{
        __m256, _mm256_add_epi32, _mm256_add_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_div_ps,
        _mm256_fmadd_ps, _mm256_fnmadd_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps,
        _mm256_permute2f128_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_shuffle_ps, _mm256_slli_epi32,
        _mm256_storeu_ps, _mm256_sub_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };
    use std::f32::consts::LOG2_E;

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
        fn times(x: __m256, y: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_mul_ps(x, y) }
        }

        #[inline(always)]
        fn over(x: __m256, y: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_div_ps(x, y) }
        }

        // Of a number and a NaN these two give the second.
        #[inline(always)]
        fn at_least(a: f32, x: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_max_ps(_mm256_set1_ps(a), x) }
        }

        #[inline(always)]
        fn at_most(a: f32, x: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_min_ps(_mm256_set1_ps(a), x) }
        }

        #[inline(always)]
        fn larger(x: __m256, y: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { _mm256_max_ps(x, y) }
        }

        #[inline(always)]
        fn exp(x: __m256) -> __m256 {
            // SAFETY: see above.
            unsafe { exp(x) }
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

    /// As the function for one number, with sums rounded once.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn exp(x: __m256) -> __m256 {
        let x = Fused::at_most(FARTHEST, Fused::at_least(-FARTHEST, x));
        let shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(LOG2_E), _mm256_set1_ps(ROUND));
        let n = _mm256_sub_ps(shifted, _mm256_set1_ps(ROUND));
        let r = _mm256_fnmadd_ps(n, _mm256_set1_ps(LN2_HIGH), x);
        let r = _mm256_fnmadd_ps(n, _mm256_set1_ps(LN2_LOW), r);
        let mut p = _mm256_set1_ps(TAYLOR[0]);
        for &c in &TAYLOR[1..] {
            p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
        }
        let bias = 127i32.wrapping_sub_unsigned(ROUND.to_bits());
        let power = _mm256_slli_epi32::<23>(_mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(bias)));
        _mm256_mul_ps(p, _mm256_castsi256_ps(power))
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

/// Where `e^x` ends: beyond, `x` is taken to the nearer end.
const FARTHEST: f32 = 87.0;

/// ln 2 in two parts; products of the first with whole numbers up to 2⁷ are exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// Adding and subtracting 1.5·2²³ rounds to a whole number, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;

/// Coefficients of `e^r`, highest first.
const TAYLOR: [f32; 8] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];

/// `e^x` with a relative error below 2·10⁻⁷ for `|x| ≤ 87`.
///
/// `e^x = 2^n · e^r` with `|r| ≤ ln 2 / 2`; `e^r` is its Taylor polynomial of degree 7, whose remainder there is 6·10⁻⁹.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = x.clamp(-FARTHEST, FARTHEST);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let p = TAYLOR[1..].iter().fold(TAYLOR[0], |p, c| p * r + c);
    let power = (shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127)) << 23;
    p * f32::from_bits(power)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
fn sigmoid<M: Arith>(x: M::Vector) -> M::Vector {
    let one = M::splat(1.0);
    M::over(one, M::plus(one, M::exp(M::minus(M::splat(0.0), x))))
}

/// `x · tanh(ln(1 + e^x))`. With `n = e^x · (e^x + 2)` that is `x · n / (n + 2)`, and the quotient is 1 from 20 on.
#[inline(always)]
fn mish<M: Arith>(x: M::Vector) -> M::Vector {
    let (e, two) = (M::exp(M::at_most(20.0, x)), M::splat(2.0));
    let n = M::times(e, M::plus(e, two));
    M::times(x, M::over(n, M::plus(n, two)))
}

/// `1 - 2 / (e^2x + 1)`: near 0 that is exact to a share of one, not of the result.
#[inline(always)]
fn tanh<M: Arith>(x: M::Vector) -> M::Vector {
    let one = M::splat(1.0);
    M::minus(one, M::over(M::splat(2.0), M::plus(one, M::exp(M::plus(x, x)))))
}

/// See [`Activation::Selu`].
#[inline(always)]
fn selu<M: Arith>(x: M::Vector) -> M::Vector {
    let (lambda, alpha) = SELU;
    // Of both branches one is 0: no jump in a vector.
    let below = M::minus(M::exp(M::at_most(0.0, x)), M::splat(1.0));
    M::scale_add(lambda * alpha, below, M::times(M::splat(lambda), M::at_least(0.0, x)))
}

/// `activation` of each of eight numbers; what is over all elements, a softmax, leaves them as they are.
#[inline(always)]
pub(super) fn activate_vector<M: Arith>(activation: Activation, x: M::Vector) -> M::Vector {
    match activation {
        Activation::None | Activation::Softmax => x,
        Activation::Relu => M::at_least(0.0, x),
        Activation::Mish => mish::<M>(x),
        Activation::Tanh => tanh::<M>(x),
        Activation::Relu2 => {
            let x = M::at_least(0.0, x);
            M::times(x, x)
        }
        Activation::Swish => M::times(x, sigmoid::<M>(x)),
        Activation::Selu => selu::<M>(x),
        Activation::Sigmoid => sigmoid::<M>(x),
    }
}

/// `activation` of each element; a softmax is over all of them.
#[inline(always)]
pub(super) fn activate<M: Arith>(activation: Activation, y: &mut [f32]) {
    match activation {
        Activation::None => {}
        Activation::Softmax => {
            let largest = y.iter().fold(f32::NEG_INFINITY, |m, &v| m.max(v));
            y.iter_mut().for_each(|v| *v = exp(*v - largest));
            let sum: f32 = y.iter().sum();
            y.iter_mut().for_each(|v| *v /= sum);
        }
        other => {
            // No closure takes a vector: outside of the function it would be compiled for other instructions.
            let (whole, rest) = y.as_chunks_mut();
            for y in whole {
                M::store(activate_vector::<M>(other, M::load(y)), y);
            }
            if !rest.is_empty() {
                let mut last = [0.0; LANES];
                last[..rest.len()].copy_from_slice(rest);
                M::store(activate_vector::<M>(other, M::load(&last)), &mut last);
                rest.copy_from_slice(&last[..rest.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{self, Isa};
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

    /// The worst error of `activation` over numbers between -30 and 30, as a share of the result where that is above `floor`.
    fn worst(activation: Activation, expected: fn(f64) -> f64, floor: f64) -> f64 {
        let numbers: Vec<f32> = (-300_000..=300_000).map(|i| i as f32 * 1e-4).collect();
        let isas = [Isa::detect(), Isa::Baseline];
        let errors = isas.into_iter().flat_map(|isa| {
            let mut got = numbers.clone();
            kernel::activate(isa, activation, &mut got);
            numbers
                .iter()
                .zip(got)
                .map(|(&x, y)| {
                    let expected = expected(x.into());
                    (f64::from(y) - expected).abs() / expected.abs().max(floor)
                })
                .collect::<Vec<_>>()
        });
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn activations_are_within_rounding() {
        assert!(worst(Activation::Mish, |x| x * x.exp().ln_1p().tanh(), 1e-3) < 4e-7);
        assert!(worst(Activation::Swish, |x| x / (1.0 + (-x).exp()), 1e-3) < 4e-7);
        assert!(worst(Activation::Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 1e-3) < 4e-7);
        assert!(worst(Activation::Tanh, f64::tanh, 1.0) < 2e-7);
        assert!(worst(Activation::Relu2, |x| x.max(0.0).powi(2), 1e-3) < 1e-7);
        let selu = |x: f64| match x > 0.0 {
            true => f64::from(SELU.0) * x,
            false => f64::from(SELU.0) * f64::from(SELU.1) * x.exp_m1(),
        };
        assert!(worst(Activation::Selu, selu, 1.0) < 4e-7);
    }

    #[test]
    fn an_activation_keeps_what_is_not_a_number() {
        for activation in Activation::ELEMENTWISE {
            for isa in [Isa::detect(), Isa::Baseline] {
                let mut numbers = [f32::NAN; 9];
                kernel::activate(isa, activation, &mut numbers);
                assert!(numbers.iter().all(|x| x.is_nan()), "{activation:?}, {isa:?}");
            }
        }
    }

    #[test]
    fn far_from_zero_there_is_no_overflow() {
        for activation in Activation::ELEMENTWISE {
            let mut numbers = [-1e18, 1e18];
            kernel::activate(Isa::detect(), activation, &mut numbers);
            assert!(numbers.iter().all(|x| x.is_finite()), "{activation:?}: {numbers:?}");
        }
    }
}
