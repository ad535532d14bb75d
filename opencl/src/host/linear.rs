//! Weights of dense layers in 16 bits: a file in Lc0's LINEAR16 has no more bits of them.
//!
//! Such an array consists of its smallest number, its largest number, and for each weight which of the 65,536 numbers
//! from one to the other it is. It can be kept in that form, and a dense layer of one position, which reads each weight
//! for a single product, then waits for half as many bytes. The weight is made in registers, right before it is
//! multiplied. Sums of the numbers themselves, `scale · Σ x·k + offset · Σ x`, would be less work, but if a few large
//! weights are on one side, both terms are far larger than what is left of them.

use super::arith::{Arith, LAST_IS_ONE};
use super::product::{COLUMNS, Right};

/// A row of sixteen columns: half a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(super) struct Shorts(pub [i16; COLUMNS]);

impl Shorts {
    pub const ZERO: Self = Self([0; COLUMNS]);
}

/// What numbers of 16 bits stand for: `scale · number + offset`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear {
    scale: f32,
    /// The middle of the array: adding to it rounds half as much as adding to an end.
    offset: f32,
}

/// Steps from the smallest number to the largest.
const STEPS: f64 = 65535.0;

/// How far a weight may be from what its number stands for, as a share of the array's largest number: four times that
/// one's rounding. The file's reader rounds as much when it makes a float of a number (`min · (1 - t) + max · t`), so
/// that neither is nearer to what was written.
const BOUND: f32 = 2.0 * f32::EPSILON;

impl Linear {
    /// The linear form of an array, if it reproduces each weight except for rounding; `None` for other arrays.
    pub fn fit(weights: &[f32]) -> Option<Self> {
        let wider = |(low, high): (f32, f32), w: &f32| (low.min(*w), high.max(*w));
        let (low, high) = weights.iter().fold((f32::INFINITY, f32::NEG_INFINITY), wider);
        let scale = (f64::from(high) - f64::from(low)) / STEPS;
        let offset = f64::from(low) - scale * f64::from(i16::MIN);
        let linear = Self { scale: scale as f32, offset: offset as f32 };
        let bound = BOUND * low.abs().max(high.abs());
        // A weight that is not a number is not within the bound.
        weights.iter().all(|&w| (linear.of(linear.number(w)) - w).abs() <= bound).then_some(linear)
    }

    /// The number nearest to a weight.
    pub fn number(self, weight: f32) -> i16 {
        let steps = (f64::from(weight) - f64::from(self.offset)) * (1.0 / f64::from(self.scale));
        (steps + LAST_IS_ONE).to_bits() as i16
    }

    fn of(self, number: i16) -> f32 {
        // The product is exact, as in a fused multiply-add.
        (f64::from(self.scale) * f64::from(number) + f64::from(self.offset)) as f32
    }
}

impl Right for Linear {
    type Row = Shorts;

    #[inline(always)]
    fn vector<M: Arith>(self, row: &Shorts, number: usize) -> M::Vector {
        M::scale_add(self.scale, M::of_short(&row.0[number * M::LANES..]), M::splat(self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::super::isa::Isa;
    use super::super::pack;
    use super::super::product::{self, Block, DenseInput, DensePanels, Entry, Floats};
    use super::*;
    use crate::compare::relative_error;
    use quickcheck::{Arbitrary, Gen, quickcheck};

    /// An array as a file in LINEAR16 gives it, with both ends, and its numbers.
    fn array(g: &mut Gen, len: usize, (low, high): (f32, f32)) -> (Vec<f32>, Vec<u16>) {
        let numbers: Vec<u16> =
            [0, u16::MAX].into_iter().chain(std::iter::from_fn(|| Some(u16::arbitrary(g)))).take(len).collect();
        let weight = |&number: &u16| {
            let t = f32::from(number) / 65535.0;
            low * (1.0 - t) + high * t
        };
        (numbers.iter().map(weight).collect(), numbers)
    }

    /// Ends on one side of zero or either, some of them a thousand times as far as the other.
    const ENDS: [(f32, f32); 6] = [(-0.1, 0.1), (-0.03, 7.3), (-31.0, 0.02), (2.0, 2.5), (-1e-6, -1e-9), (0.0, 1.0)];

    #[test]
    fn linear16_keeps_its_numbers() {
        let g = &mut Gen::new(100);
        for (low, high) in ENDS {
            let (weights, numbers) = array(g, 100_000, (low, high));
            let linear = Linear::fit(&weights).expect("an array of 16 bits");
            let shifted = |number: u16| (i32::from(number) + i32::from(i16::MIN)) as i16;
            assert!(weights.iter().zip(&numbers).all(|(w, n)| linear.number(*w) == shifted(*n)), "{low} to {high}");
        }
        let (mut same, _) = array(g, 50, (0.25, 0.25));
        assert!(Linear::fit(&same).is_some_and(|linear| same.iter().all(|w| linear.of(linear.number(*w)) == *w)));
        same[7] = f32::NAN;
        assert!(Linear::fit(&same).is_none());
    }

    #[test]
    fn other_arrays_stay_floats() {
        let g = &mut Gen::new(100);
        let (mut weights, _) = array(g, 1000, (-1.0, 1.0));
        // A single one between two steps.
        weights[500] += 1e-5;
        assert!(Linear::fit(&weights).is_none());
        weights[500] = f32::INFINITY;
        assert!(Linear::fit(&weights).is_none());
        let floats: Vec<f32> = (0..1000).map(|_| u32::arbitrary(g) as f32 / u32::MAX as f32).collect();
        assert!(Linear::fit(&floats).is_none());
    }

    fn same(a: &[f32], b: &[f32]) -> bool {
        a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()))
    }

    quickcheck! {
        /// In every form, for any sizes: as the product of floats, and to the bit the same for a row alone and for its
        /// numbers that are not zero.
        fn products_are_those_of_floats(inputs: u8, neurons: u8, positions: u8, ends: u8, seed: u64) -> bool {
            let g = &mut Gen::from_size_and_seed(100, seed);
            let (inputs, neurons, positions) = (1 + inputs as usize % 70, 1 + neurons as usize % 100, 1 + positions as usize % 13);
            let (weights, _) = array(g, inputs * neurons, ENDS[ends as usize % ENDS.len()]);
            let mut numbers = |n: usize, least: i8| -> Vec<f32> {
                let mut number = || i8::arbitrary(g);
                (0..n).map(|_| number()).map(|x| if x < least { 0.0 } else { x.into() }).collect()
            };
            let least = if seed.is_multiple_of(2) { i8::MIN } else { 100 };
            let (input, bias) = (numbers(positions * inputs, least), pack::by_panels(&numbers(neurons, i8::MIN)));
            let bias: Vec<Block> = bias.into_iter().map(Block).collect();
            let of = Linear::fit(&weights).expect("an array of 16 bits");
            let (floats, shorts) = (pack::dense(&weights, neurons), pack::linear(&weights, neurons, of));
            let last = &input[(positions - 1) * inputs..];
            let mut room = vec![Entry::default(); inputs];
            let entries = DenseInput::Sparse(product::sparse(last, &mut room));
            Isa::found().all(|isa| {
                let in_floats = |input, rows: usize| {
                    let mut made = vec![0.0; rows * neurons];
                    product::dense(isa, DensePanels { weights: &floats, of: Floats, bias: &bias, input }, &mut made);
                    made
                };
                let in_shorts = |input, rows: usize| {
                    let mut made = vec![0.0; rows * neurons];
                    product::dense_linear(isa, DensePanels { weights: &shorts, of, bias: &bias, input }, &mut made);
                    made
                };
                let all = DenseInput::Rows(&input);
                let (expected, got) = (in_floats(all, positions), in_shorts(all, positions));
                let ends_with = |all: &[f32], last: Vec<f32>| same(&all[(positions - 1) * neurons..], &last);
                relative_error(&expected, &got) < 1e-5
                    && ends_with(&got, in_shorts(DenseInput::Rows(last), 1))
                    && ends_with(&got, in_shorts(entries, 1))
                    && ends_with(&expected, in_floats(entries, 1))
            })
        }
    }
}
