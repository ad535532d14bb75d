//! The multiply-add of the processor at hand, its vectors, and activations computed with them.

use super::board::LANES;
use super::product::COLUMNS;
use crate::graph::{Activation, SELU};
use crate::int8::NEAREST;

/// A form of the arithmetic: which vectors it uses for what.
pub(super) trait Form {
    /// The vectors for the ranks of a board and for blocks of channels.
    type Row: Ranks;

    /// The vectors for any number of elements that are side by side.
    type Wide: Arith;

    /// How many blocks of sixteen columns a tile of a product has: as many as the registers hold beside the operands.
    const BLOCKS: usize;

    /// Moves two ranks of a board by one file, towards higher files or lower ones. Zeros move in.
    #[inline(always)]
    fn move_ranks(ranks: &[u32; 2 * LANES], higher: bool) -> [u32; 2 * LANES] {
        std::array::from_fn(|at| match (higher, at % LANES) {
            (true, 0) | (false, 7) => 0,
            (true, _) => ranks[at - 1],
            (false, _) => ranks[at + 1],
        })
    }
}

/// How a product is added to a sum, and vectors of `LANES` numbers.
pub(super) trait Arith {
    /// How many numbers a vector has.
    const LANES: usize;

    /// How many vectors of a block a register tile holds at once.
    const WIDTH: usize;

    /// A vector. If it were written with arrays instead, the compiler would make vectors of the wrong numbers in
    /// Winograd's transforms.
    type Vector: Copy;

    /// `a · b + c`.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;

    /// Prefetches what will be read soon.
    #[inline(always)]
    fn fetch<T>(_: &T) {}

    /// Loads the first numbers of `from`.
    fn load(from: &[f32]) -> Self::Vector;

    /// Stores to the first numbers of `to`.
    fn store(x: Self::Vector, to: &mut [f32]);

    /// A vector with the same number in each lane.
    fn splat(a: f32) -> Self::Vector;

    fn plus(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    fn minus(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    fn times(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// `x / y`, if `x` is finite and `y` neither zero nor infinite; the last bit may be off.
    fn over(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// The larger of `a` and each number; a NaN stays a NaN.
    fn at_least(a: f32, x: Self::Vector) -> Self::Vector;

    /// The smaller of `a` and each number; a NaN stays a NaN.
    fn at_most(a: f32, x: Self::Vector) -> Self::Vector;

    /// The larger of each two numbers, neither of which may be a NaN.
    fn larger(x: Self::Vector, y: Self::Vector) -> Self::Vector;

    /// `x · y + z`.
    fn times_plus(x: Self::Vector, y: Self::Vector, z: Self::Vector) -> Self::Vector;

    /// `a · x + y`.
    #[inline(always)]
    fn scale_add(a: f32, x: Self::Vector, y: Self::Vector) -> Self::Vector {
        Self::times_plus(Self::splat(a), x, y)
    }

    /// Rounds to the nearest whole numbers, halves to even, and stores these to the first of `to`; any number for what
    /// is beyond their range, and for a NaN.
    fn whole(x: Self::Vector, to: &mut [i32]);

    /// The floats nearest to whole numbers.
    fn of_whole(from: &[i32]) -> Self::Vector;

    /// The first of some whole numbers of 16 bits, as floats.
    fn of_short(from: &[i16]) -> Self::Vector;

    /// `x · 2^n` for whole numbers `n`, which are given both as they are and as `n` + [`NEAREST`].
    fn times_power(x: Self::Vector, n: Self::Vector, shifted: Self::Vector) -> Self::Vector;
}

/// Vectors with as many numbers as a rank has squares.
pub(super) trait Ranks: Arith {
    /// Transposes rows to columns.
    fn transpose(rows: &[Self::Vector; LANES]) -> [Self::Vector; LANES];
}

/// Vectors of eight numbers as arrays, with the form's own `mul_add`.
macro_rules! arrays {
    ($arith:ty, $width:literal, |$a:ident, $b:ident, $c:ident| $mul_add:expr) => {
        impl Arith for $arith {
            const LANES: usize = LANES;
            const WIDTH: usize = $width;

            type Vector = [f32; LANES];

            #[inline(always)]
            fn mul_add($a: f32, $b: f32, $c: f32) -> f32 {
                $mul_add
            }

            #[inline(always)]
            fn load(from: &[f32]) -> Self::Vector {
                *from.first_chunk().expect("eight numbers")
            }

            #[inline(always)]
            fn store(x: Self::Vector, to: &mut [f32]) {
                *to.first_chunk_mut().expect("room for eight numbers") = x;
            }

            #[inline(always)]
            fn splat(a: f32) -> Self::Vector {
                [a; LANES]
            }

            #[inline(always)]
            fn plus(mut x: Self::Vector, y: Self::Vector) -> Self::Vector {
                x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
                x
            }

            #[inline(always)]
            fn minus(mut x: Self::Vector, y: Self::Vector) -> Self::Vector {
                x.iter_mut().zip(y).for_each(|(x, y)| *x -= y);
                x
            }

            #[inline(always)]
            fn times(mut x: Self::Vector, y: Self::Vector) -> Self::Vector {
                x.iter_mut().zip(y).for_each(|(x, y)| *x *= y);
                x
            }

            #[inline(always)]
            fn over(mut x: Self::Vector, y: Self::Vector) -> Self::Vector {
                x.iter_mut().zip(y).for_each(|(x, y)| *x /= y);
                x
            }

            #[inline(always)]
            fn at_least(a: f32, x: Self::Vector) -> Self::Vector {
                x.map(|x| if x < a { a } else { x })
            }

            #[inline(always)]
            fn at_most(a: f32, x: Self::Vector) -> Self::Vector {
                x.map(|x| if x > a { a } else { x })
            }

            #[inline(always)]
            fn larger(mut x: Self::Vector, y: Self::Vector) -> Self::Vector {
                x.iter_mut().zip(y).for_each(|(x, y)| *x = if *x > y { *x } else { y });
                x
            }

            #[inline(always)]
            fn times_plus(mut x: Self::Vector, y: Self::Vector, z: Self::Vector) -> Self::Vector {
                x.iter_mut().zip(y).zip(z).for_each(|((x, y), z)| *x = Self::mul_add(*x, y, z));
                x
            }

            #[inline(always)]
            fn whole(x: Self::Vector, to: &mut [i32]) {
                to.iter_mut().zip(x).for_each(|(to, x)| *to = (f64::from(x) + LAST_IS_ONE).to_bits() as i32);
            }

            #[inline(always)]
            fn of_whole(from: &[i32]) -> Self::Vector {
                from.first_chunk::<LANES>().expect("eight numbers").map(|x| x as f32)
            }

            #[inline(always)]
            fn of_short(from: &[i16]) -> Self::Vector {
                from.first_chunk::<LANES>().expect("eight numbers").map(f32::from)
            }

            #[inline(always)]
            fn times_power(x: Self::Vector, _: Self::Vector, shifted: Self::Vector) -> Self::Vector {
                let power = |x: f32| f32::from_bits(x.to_bits().wrapping_add_signed(EXPONENT) << 23);
                Self::times(x, shifted.map(power))
            }
        }

        impl Ranks for $arith {
            #[inline(always)]
            fn transpose(rows: &[Self::Vector; LANES]) -> [Self::Vector; LANES] {
                let mut columns = [[0.0; LANES]; LANES];
                for (j, row) in rows.iter().enumerate() {
                    columns.iter_mut().zip(row).for_each(|(column, x)| column[j] = *x);
                }
                columns
            }
        }
    };
}

/// Multiply-add that rounds once. Used only if the processor does it in one instruction: otherwise it is a call of a
/// hundred cycles.
pub(super) struct Fused;

#[cfg(not(target_arch = "x86_64"))]
arrays!(Fused, 2, |a, b, c| a.mul_add(b, c));

/// Multiply-add that rounds twice: for x86-64 processors from before 2013, and for unknown ones.
#[cfg_attr(target_arch = "aarch64", allow(dead_code))]
pub(super) struct Unfused;

arrays!(Unfused, 1, |a, b, c| a * b + c);

impl<A: Ranks> Form for A {
    type Row = Self;
    type Wide = Self;

    const BLOCKS: usize = 1;
}

/// 1.5·2⁵². Adding it rounds to a whole number, which then is in the low bits; not every processor has an instruction
/// for that.
pub(super) const LAST_IS_ONE: f64 = 6_755_399_441_055_744.0;

/// The range of `e^x`: `x` beyond it is replaced by the nearer end.
const FARTHEST: f32 = 87.0;

/// ln 2 in two parts; products of the first with whole numbers up to 2⁷ are exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// Added to the bits of a whole number and [`NEAREST`], leaves the number's exponent in the low bits.
pub(super) const EXPONENT: i32 = 127i32.wrapping_sub_unsigned(NEAREST.to_bits());

/// Coefficients of q, highest first, in `e^r = 1 + r + r² · q(r)`: Chebyshev's approximation for `|r| ≤ ln 2 / 2`.
const POLYNOMIAL: [f32; 5] = [0.001_392_619_8, 0.008_363_19, 0.041_666_556, 0.166_665_76, 0.5];

/// `e^x` with a relative error below 9·10⁻⁸ for `|x| ≤ 87`.
///
/// `e^x = 2^n · e^r` with `|r| ≤ ln 2 / 2`; the polynomial for `e^r` is off by 8·10⁻⁹ there.
#[inline(always)]
pub(super) fn exp<M: Arith>(x: M::Vector) -> M::Vector {
    exp_up_to_end::<M>(M::at_most(FARTHEST, x))
}

/// Like [`exp`], for `x ≤ 87`.
#[inline(always)]
pub(super) fn exp_up_to_end<M: Arith>(x: M::Vector) -> M::Vector {
    let x = M::at_least(-FARTHEST, x);
    // Adding and subtracting it rounds; between the two, the whole number is in the low bits.
    let shifted = M::scale_add(std::f32::consts::LOG2_E, x, M::splat(NEAREST));
    let n = M::minus(shifted, M::splat(NEAREST));
    let r = M::scale_add(-LN2_LOW, n, M::scale_add(-LN2_HIGH, n, x));
    let mut q = M::splat(POLYNOMIAL[0]);
    for &c in &POLYNOMIAL[1..] {
        q = M::times_plus(q, r, M::splat(c));
    }
    // The large part is added last, so that only this addition rounds by much.
    let p = M::plus(M::splat(1.0), M::times_plus(M::times(r, r), q, r));
    M::times_power(p, n, shifted)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
fn sigmoid<M: Arith>(x: M::Vector) -> M::Vector {
    let one = M::splat(1.0);
    M::over(one, M::plus(one, exp::<M>(M::minus(M::splat(0.0), x))))
}

/// `x · tanh(ln(1 + e^x))`. With `n = e^x · (e^x + 2)` that is `x · n / (n + 2)`, and the quotient is 1 from 20 on.
#[inline(always)]
fn mish<M: Arith>(x: M::Vector) -> M::Vector {
    let (e, two) = (exp::<M>(M::at_most(20.0, x)), M::splat(2.0));
    let n = M::times(e, M::plus(e, two));
    M::times(x, M::over(n, M::plus(n, two)))
}

/// `1 - 2 / (e^2x + 1)`: near 0 its error is small compared with 1, not with the result.
#[inline(always)]
fn tanh<M: Arith>(x: M::Vector) -> M::Vector {
    let one = M::splat(1.0);
    M::minus(one, M::over(M::splat(2.0), M::plus(one, exp::<M>(M::plus(x, x)))))
}

/// See [`Activation::Selu`].
#[inline(always)]
fn selu<M: Arith>(x: M::Vector) -> M::Vector {
    let (lambda, alpha) = SELU;
    // One of the two branches is always 0, so that a vector needs no jump.
    let below = M::minus(exp::<M>(M::at_most(0.0, x)), M::splat(1.0));
    M::scale_add(lambda * alpha, below, M::times(M::splat(lambda), M::at_least(0.0, x)))
}

/// `activation` of each number; a softmax, which is over all elements, leaves them as they are.
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
            // One number at a time: a network's value head has three, so vectors gain nothing.
            for v in y.iter_mut() {
                let mut same = [0.0; COLUMNS];
                M::store(exp::<M>(M::splat(*v - largest)), &mut same);
                *v = same[0];
            }
            let sum: f32 = y.iter().sum();
            y.iter_mut().for_each(|v| *v /= sum);
        }
        other => {
            // No closure takes a vector: outside of the function it would be compiled for other instructions.
            let mut vectors = y.chunks_exact_mut(M::LANES);
            for y in &mut vectors {
                M::store(activate_vector::<M>(other, M::load(y)), y);
            }
            let rest = vectors.into_remainder();
            if !rest.is_empty() {
                let mut last = [0.0; COLUMNS];
                last[..rest.len()].copy_from_slice(rest);
                M::store(activate_vector::<M>(other, M::load(&last)), &mut last);
                rest.copy_from_slice(&last[..rest.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{isa::Isa, kernel};
    use super::*;

    #[test]
    fn exp_is_within_its_bound() {
        let of = |x| exp::<Unfused>([x; LANES])[0];
        for i in -870_000..=870_000 {
            let x = i as f32 * 1e-4;
            let expected = f64::from(x).exp();
            let error = (f64::from(of(x)) - expected).abs() / expected;
            assert!(error < 9e-8, "exp({x}): {error}");
        }
        assert!(of(-1000.0) < 1e-37 && of(1000.0) > 1e37);
    }

    #[test]
    fn kernels_for_a_cpu_have_the_same_exp() {
        let common = include_str!("../kernels/common.cl");
        let (_, text) = common.split_once("INLINED vecf exp_vec(vecf x) {\n").unwrap();
        let (body, _) = text.split_once("\n}\n").unwrap();
        let words = body.split(|c: char| c.is_whitespace() || "();,".contains(c));
        let numbers: Vec<f32> = words.filter_map(|word| word.strip_suffix('f')?.parse().ok()).collect();
        let mut expected = vec![NEAREST, -FARTHEST, -FARTHEST, FARTHEST, FARTHEST];
        expected.extend([std::f32::consts::LOG2_E, LN2_HIGH, -LN2_LOW]);
        expected.extend(POLYNOMIAL);
        assert_eq!(numbers, [expected, vec![1.0]].concat());
    }

    /// The worst error of `activation` over numbers between -30 and 30, as a share of the result where that is above
    /// `floor`.
    fn worst(activation: Activation, expected: fn(f64) -> f64, floor: f64) -> f64 {
        let numbers: Vec<f32> = (-300_000..=300_000).map(|i| i as f32 * 1e-4).collect();
        let errors = Isa::found().flat_map(|isa| {
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
            for isa in Isa::found() {
                let mut numbers = [f32::NAN; 9];
                kernel::activate(isa, activation, &mut numbers);
                assert!(numbers.iter().all(|x| x.is_nan()), "{activation:?}, {isa:?}");
            }
        }
    }

    #[test]
    fn far_from_zero_there_is_no_overflow() {
        for activation in Activation::ELEMENTWISE {
            for isa in Isa::found() {
                let mut numbers = [-1e18, 1e18];
                kernel::activate(isa, activation, &mut numbers);
                assert!(numbers.iter().all(|x| x.is_finite()), "{activation:?}, {isa:?}: {numbers:?}");
            }
        }
    }
}
