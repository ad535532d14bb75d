//! Layers that multiply in whole numbers of eight bits: their definition, and with [`choose`] the choice of layers that
//! can do so without harm.
//!
//! A layer that [`Graph::set_int8`](crate::graph::Graph::set_int8) has marked computes, for each channel `o` of its
//! output,
//!
//! ```text
//!   y[o] = s[o] · t · Σ W[o][i] · X[i] + bias[o]
//!   s[o] = max over i of |w[o][i]| / 127      W[o][i] = round(w[o][i] / s[o])
//!   t    = max over i of |x[i]| / 127         X[i]    = round(x[i] / t)
//! ```
//!
//! with the sum in 32 bits, exact. The weights have a step for each channel; the input has one for each position (and
//! for each head of a smolgen), taken from its actual values, so that nothing has to be calibrated and a position's
//! outputs do not depend on its batch. Bias, squeeze and excitation, residual and activation stay as they are. The
//! scheme is that of Jacob et al. 2017, arXiv:1712.05877.
//!
//! This is a mark on the graph's layer and not a choice of a backend, so the reference implementation defines it, and
//! every kernel is compared with it.
//!
//! The host computes 3×3 convolutions in eight bits directly. So eight bits pay off only where they do not replace
//! Winograd convolutions: in attention bodies (twice to three times as fast with AVX-512 VNNI or AVX-VNNI), but not in
//! a tower of 3×3 convolutions. On OpenCL devices a smolgen stays in single precision.

mod choice;

pub use choice::{Choice, Loss, choose, choose_within, divergence};

/// The largest whole number (a sign and seven bits); the smallest is its negative.
pub const MOST: f32 = 127.0;

/// 1.5 · 2²³. A float of this size has a last bit that is worth 1: after this is added, the low bits are the nearest
/// whole number, of two equally near ones the even one.
pub(crate) const NEAREST: f32 = 12_582_912.0;

/// How many products a sum in 32 bits can hold. Weights are within ±127. The host adds 128 to each input, so that it
/// has no sign, and subtracts 128 times the sum of the weights at the end, which has to fit as well.
pub const MOST_INPUTS: usize = i32::MAX as usize / (127 * 128);

/// Weights as whole numbers, in their original order `[channel][input]`, and the step of each channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Between -127 and 127.
    pub numbers: Vec<i8>,
    /// What a whole number of 1 is worth in each channel; 0 if all weights of the channel are 0.
    pub steps: Vec<f32>,
}

impl Weights {
    /// Rounds the weights of `channels` channels.
    pub fn new(weights: &[f32], channels: usize) -> Self {
        let (mut numbers, mut steps) = (Vec::with_capacity(weights.len()), Vec::with_capacity(channels));
        for row in weights.chunks_exact(weights.len() / channels) {
            let most = most(row);
            steps.push(most / MOST);
            numbers.extend(row.iter().map(|&w| round(w, per_step(most))));
        }
        Self { numbers, steps }
    }
}

/// The largest absolute value; NaN if one of the values is NaN, so that it is not lost by rounding.
#[inline(always)]
pub fn most(values: &[f32]) -> f32 {
    // Without their signs, floats are in the order of their bits, and a NaN is above all others. Taking the bits as
    // whole numbers leaves no NaN to be checked for, so this is vectorised.
    f32::from_bits(values.iter().fold(0, |most, x| most.max(x.abs().to_bits())))
}

/// How many steps are in 1, if `most` is the largest absolute value.
#[inline(always)]
pub fn per_step(most: f32) -> f32 {
    if most > 0.0 { MOST / most } else { 0.0 }
}

/// The whole number for `x`, rounded to nearest, halves to even. `per_step` comes from [`per_step`], whose `most` was
/// at least the absolute value of `x`.
// It is always inlined: a function that is not inlined is not compiled for the instructions of the host's forms.
#[inline(always)]
pub fn round(x: f32, per_step: f32) -> i8 {
    // A NaN that comes from infinity becomes 0. Unlike a cast this is vectorised.
    (x * per_step + NEAREST).to_bits() as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_within_half_a_step() {
        let weights = [0.5, -1.27, 0.003, 0.0, 0.0, 0.0, 3.0, 2.0, -1.0];
        let rounded = Weights::new(&weights, 3);
        for (at, (w, n)) in weights.iter().zip(&rounded.numbers).enumerate() {
            let step = rounded.steps[at / 3];
            assert!((w - f32::from(*n) * step).abs() <= 0.5001 * step, "{at}");
        }
        assert_eq!(rounded.numbers[1], -127);
        assert_eq!(rounded.steps[1], 0.0);
    }

    #[test]
    fn a_number_that_is_not_finite_is_not_lost() {
        assert!(most(&[1.0, f32::NAN, 2.0]).is_nan());
        assert_eq!(most(&[1.0, f32::NEG_INFINITY]), f32::INFINITY);
        assert_eq!(most(&[]), 0.0);
    }
}
