//! Single numbers: the multiply-add of the processor at hand, and functions that compile to vector code.

use crate::graph::{Activation, SELU};

/// How a product is added to a sum.
pub(super) trait Arith {
    /// Vectors of eight that a register tile is wide: as many as the registers hold beside the operands.
    const WIDTH: usize;

    /// `a · b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;
}

/// Rounded once. Only where the processor does it in one instruction, else it is a call of a hundred cycles.
pub(super) struct Fused;

impl Arith for Fused {
    const WIDTH: usize = 2;

    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
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
