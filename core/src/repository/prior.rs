//! Priors: a softmax at a temperature, and 16 bits to keep one in.

use crate::approx;

/// Turns logits into probabilities in place, at the policy temperature (Lc0's `PolicyTemperature`).
///
/// `p = e^((l − max) / T) / Σ`. Infinity counts as the largest number: moves with that logit share all the probability.
/// A logit that is not a number counts as minus infinity; if all are minus infinity, every move gets the same
/// probability.
pub fn softmax(policy: &mut [f32], temperature: f32) {
    let mut max = largest(policy).min(f32::MAX);
    if max == f32::NEG_INFINITY {
        policy.fill(0.0);
        max = 0.0;
    }
    for p in policy.iter_mut() {
        let logit = if p.is_nan() { f32::NEG_INFINITY } else { p.min(f32::MAX) };
        *p = approx::exp((logit - max) / temperature);
    }
    let sum: f32 = policy.iter().sum();
    for p in policy.iter_mut() {
        *p /= sum;
    }
}

/// The largest of those elements that are numbers, minus infinity if none is. It is vectorised: each lane has a maximum
/// of its own.
fn largest(of: &[f32]) -> f32 {
    let larger = |max: f32, x: f32| if x > max { x } else { max }; // no NaN is larger
    let (chunks, rest) = of.as_chunks::<4>();
    let mut max = [f32::NEG_INFINITY; 4];
    for chunk in chunks {
        for (max, x) in max.iter_mut().zip(chunk) {
            *max = larger(*max, *x);
        }
    }
    max.iter().chain(rest).fold(f32::NEG_INFINITY, |max, x| larger(max, *x))
}

/// Exponent and mantissa bits of the packed form: 5 and 11, for numbers in `[2⁻³¹, 2)`.
const EXPONENT_BASE: u32 = 3 << 28;
const DROPPED_BITS: u32 = 12;

/// A probability in 16 bits: a float with 11 bits of mantissa, rounded to nearest. What is too small for that becomes
/// 0, and so does what is negative or not a number. The result is never 0xffff: nodes store one more than it in 16
/// bits.
///
/// The width is Lc0's, so that a choice between two moves rounds as it does there.
#[inline(always)]
pub fn pack(p: f32) -> u16 {
    let p = if p > 0.0 { p } else { 0.0 };
    let rounded = p.to_bits() + (1 << (DROPPED_BITS - 1));
    ((rounded.max(EXPONENT_BASE) - EXPONENT_BASE) >> DROPPED_BITS).min(0xfffe) as u16
}

/// The probability that [`pack`] kept. 0 becomes 2⁻³¹: even a prior of nearly nothing is above 0.
#[inline]
pub fn unpack(bits: u16) -> f32 {
    f32::from_bits((u32::from(bits) << DROPPED_BITS) | EXPONENT_BASE)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    #[test]
    fn packs_as_lc0_does() {
        for (p, bits) in [(1.0, 0xf800), (0.5, 0xf000), (0.1, 0xdccd), (1.0 / 3.0, 0xeaab), (1e-5, 0x727c), (0.0, 0)] {
            assert_eq!(pack(p), bits, "{p}");
        }
        assert!((unpack(0xdccd) - 0.100006).abs() < 1e-6);
        assert!((unpack(0) - 4.6566e-10).abs() < 1e-13);
    }

    #[test]
    fn what_is_no_probability_has_a_code_too() {
        for p in [f32::NAN, -f32::NAN, -0.0, -1e-9, -1.0, f32::NEG_INFINITY] {
            assert_eq!(pack(p), 0, "{p}");
        }
        for p in [2.0, 1e30, f32::MAX, f32::INFINITY] {
            assert_eq!(pack(p), 0xfffe, "{p}");
        }
    }

    #[test]
    fn a_policy_without_a_number_is_even() {
        for none in [f32::NAN, f32::NEG_INFINITY] {
            let mut policy = [f32::NAN, none, f32::NEG_INFINITY];
            softmax(&mut policy, 1.0);
            assert!(policy.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-6));
        }
    }

    #[test]
    fn moves_that_are_infinitely_promising_share_all() {
        let mut policy = [3e38, f32::INFINITY, f32::NAN, f32::NEG_INFINITY, 7.0, f32::INFINITY];
        softmax(&mut policy, 1.359);
        assert_eq!(policy, [0.0, 0.5, 0.0, 0.0, 0.0, 0.5]);
    }

    quickcheck! {
        fn packing_keeps_three_digits_and_the_order(a: u32, b: u32) -> bool {
            let [a, b] = [a, b].map(|x| (f64::from(x) / f64::from(u32::MAX)) as f32);
            let near = |p: f32| p < 1e-8 || ((unpack(pack(p)) - p) / p).abs() < 1.0 / 4096.0 + 1e-6;
            near(a) && near(b) && (a > b || pack(a) <= pack(b)) && (b > a || pack(b) <= pack(a))
        }
    }
}
