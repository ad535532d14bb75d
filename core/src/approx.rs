//! Exponential and logarithm in a handful of instructions, the same on every machine.
//!
//! Both replace the curve between two powers of two by a parabola that is exact at the ends: one number remains free,
//! and is chosen so that the largest error is the least. The search needs no better: a prior is kept in 11 bits of
//! mantissa, and the exploration term takes a logarithm that is near 0 for all but the largest trees. Lc0 approximates
//! both with errors of the same size, and with these two functions a search makes the same choices as there, visit for
//! visit.

/// `2^f ≈ 1 + f·(SLOPE + (1 − SLOPE)·f)` on `[0, 1]`, with a relative error of at most 0.268%.
const EXP2_SLOPE: f32 = 0.660_234;

/// `log2(1 + f) ≈ f·(SLOPE + (1 − SLOPE)·f)` on `[0, 1]`, with an error of at most 0.00764.
const LOG2_SLOPE: f32 = 1.346_555_4;

const MANTISSA_BITS: u32 = 23;
const EXPONENT_BIAS: i32 = 127;
/// 1.5 · 2²³. A number of this size has no bits below 1, and neither has its sum with a number that is not too large.
const WHOLE: f32 = 12_582_912.0;
/// The least exponent of a normal number.
const LEAST_EXPONENT: i32 = 1 - EXPONENT_BIAS;

#[inline(always)]
fn parabola(slope: f32, f: f32) -> f32 {
    f * (slope + (1.0 - slope) * f)
}

/// `e^x` within 0.27%; 0 where that is too small for a normal number (and where `x` is not a number), and 2¹²⁷ where it
/// is larger. There is no branch, so that a loop of calls is vectorised.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = x * core::f32::consts::LOG2_E;
    let in_range = if x > LEAST_EXPONENT as f32 { x } else { LEAST_EXPONENT as f32 };
    let in_range = if in_range < EXPONENT_BIAS as f32 { in_range } else { EXPONENT_BIAS as f32 };
    // Where a float's last bit is worth 1, a sum is the nearest whole number, and its mantissa says which.
    let shifted = in_range + WHOLE;
    let (nearest, number) = (shifted - WHOLE, shifted.to_bits().wrapping_sub(WHOLE.to_bits()));
    let above = nearest > in_range;
    let floor = if above { nearest - 1.0 } else { nearest };
    let exponent = number.wrapping_add(EXPONENT_BIAS as u32).wrapping_sub(u32::from(above));
    let power = f32::from_bits(exponent << MANTISSA_BITS);
    let value = power * (1.0 + parabola(EXP2_SLOPE, in_range - floor));
    if x >= LEAST_EXPONENT as f32 { value } else { 0.0 }
}

/// `ln x` within 0.0053, for normal numbers above 0.
pub fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> MANTISSA_BITS) as i32 - EXPONENT_BIAS;
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1) | (EXPONENT_BIAS as u32) << MANTISSA_BITS;
    let log2 = exponent as f32 + parabola(LOG2_SLOPE, f32::from_bits(mantissa) - 1.0);
    log2 * core::f32::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    /// Largest error of a slope over [0, 1], against the exact curve.
    fn worst(error: impl Fn(f64) -> f64) -> f64 {
        (0..=4000).map(|i| error(f64::from(i) / 4000.0).abs()).fold(0.0, f64::max)
    }

    fn exp2_error(slope: f64) -> f64 {
        worst(|f| (1.0 + f * (slope + (1.0 - slope) * f)) / f.exp2() - 1.0)
    }

    fn log2_error(slope: f64) -> f64 {
        worst(|f| f * (slope + (1.0 - slope) * f) - (1.0 + f).log2())
    }

    #[test]
    fn the_slopes_are_the_best_ones() {
        for (error, slope) in [(exp2_error as fn(f64) -> f64, EXP2_SLOPE), (log2_error, LOG2_SLOPE)] {
            let slope = f64::from(slope);
            assert!(error(slope) < error(slope - 1e-4) && error(slope) < error(slope + 1e-4), "{slope}");
        }
        assert!(exp2_error(EXP2_SLOPE.into()) < 0.00268);
        assert!(log2_error(LOG2_SLOPE.into()) < 0.00764);
    }

    #[test]
    fn the_ends() {
        assert_eq!([exp(0.0), exp(-1000.0), exp(f32::NEG_INFINITY)], [1.0, 0.0, 0.0]);
        assert!(exp(1000.0) > 1e38 && exp(1000.0).is_finite());
        assert_eq!([ln(1.0), ln(2.0)], [0.0, core::f32::consts::LN_2]);
    }

    quickcheck! {
        fn exp_is_near(x: i16) -> bool {
            let x = f32::from(x) / 32768.0 * 80.0;
            (f64::from(exp(x)) / f64::from(x).exp() - 1.0).abs() < 0.0027
        }

        fn ln_is_near(x: u32) -> bool {
            let x = 1.0 + x as f32 / 1000.0;
            (f64::from(ln(x)) - f64::from(x).ln()).abs() < 0.0053
        }
    }
}
