//! Sums of products, in single precision and in whole numbers; and how numbers are rounded to whole ones.
//!
//! A layer in whole numbers is the one that the documentation of `oncilla_opencl::int8` defines.

use crate::pack::{Floats, Layer, Weights};

/// The largest whole number; the smallest is its negative.
const MOST: f32 = 127.0;

/// 1.5 · 2²³. A float of this size has a last bit that is worth 1: after this is added, the low bits are the nearest
/// whole number, of two equally near ones the even one.
const NEAREST: f32 = 12_582_912.0;

/// What a layer reads: in single precision, and in whole numbers where the layer wants them.
pub(crate) struct Inputs<'a> {
    pub single: &'a [f32],
    pub whole: &'a [i8],
    /// What a whole number of 1 is worth.
    pub step: f32,
}

impl Layer<'_> {
    /// True if it reads whole numbers.
    pub fn is_whole(&self) -> bool {
        matches!(self.weights, Weights::Whole(..))
    }

    /// How many outputs the layer has.
    pub fn outputs(&self) -> usize {
        self.bias.0.len()
    }

    /// Calls `take` with the index and the value of each output. `window` says which inputs an output is made of.
    pub fn run(&self, inputs: &Inputs<'_>, window: Window, mut take: impl FnMut(usize, f32)) {
        let outputs = 0..self.outputs();
        match self.weights {
            Weights::Single(weights) => {
                let weights = weights.rows(window.rows * window.len);
                for ((output, weights), bias) in outputs.zip(weights).zip(self.bias.iter()) {
                    take(output, bias + window.single(inputs.single, weights));
                }
            }
            Weights::Whole(weights, steps) => {
                // Four at a time: an input is loaded once for all of them.
                let each = window.rows * window.len;
                let mut scales = steps.iter().zip(self.bias.iter()).enumerate();
                let mut put = |sum: i32| {
                    if let Some((output, (step, bias))) = scales.next() {
                        take(output, sum as f32 * (step * inputs.step) + bias);
                    }
                };
                let mut fours = weights.chunks_exact(4 * each);
                for four in &mut fours {
                    window.four(inputs.whole, four).into_iter().for_each(&mut put);
                }
                fours.remainder().chunks_exact(each).map(|weights| window.whole(inputs.whole, weights)).for_each(put);
            }
        }
    }

    /// A single output.
    pub fn output(&self, inputs: &Inputs<'_>, window: Window, output: usize) -> f32 {
        let each = window.rows * window.len;
        let number = |floats: Floats<'_>| floats.0.get(output).map_or(f32::NAN, |bytes| f32::from_le_bytes(*bytes));
        let row = output * each..(output + 1) * each;
        number(self.bias)
            + match self.weights {
                Weights::Single(weights) => {
                    weights.0.get(row).map_or(f32::NAN, |weights| window.single(inputs.single, Floats(weights)))
                }
                Weights::Whole(weights, steps) => {
                    let sum = weights.get(row).map_or(0, |weights| window.whole(inputs.whole, weights));
                    sum as f32 * (number(steps) * inputs.step)
                }
            }
    }
}

/// Which inputs an output is made of: `rows` times `len` of them, each row `stride` after the one before, the first at
/// `at`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub at: usize,
    pub rows: usize,
    pub len: usize,
    pub stride: usize,
}

impl Window {
    /// The window of a whole vector.
    pub fn all(len: usize) -> Self {
        Self { at: 0, rows: 1, len, stride: len }
    }

    fn rows<T>(self, inputs: &[T]) -> impl Iterator<Item = &[T]> {
        (0..self.rows).map(move |row| &inputs[self.at + row * self.stride..][..self.len])
    }

    #[inline(always)]
    fn single(self, inputs: &[f32], weights: Floats<'_>) -> f32 {
        let mut sum = 0.0;
        for (inputs, weights) in self.rows(inputs).zip(weights.rows(self.len)) {
            for (x, w) in inputs.iter().zip(weights.iter()) {
                sum += x * w;
            }
        }
        sum
    }

    #[inline(always)]
    fn whole(self, inputs: &[i8], weights: &[u8]) -> i32 {
        let mut sum = 0;
        for (inputs, weights) in self.rows(inputs).zip(weights.chunks_exact(self.len)) {
            sum += inputs.iter().zip(weights).map(|(x, w)| product(*x, *w)).sum::<i32>();
        }
        sum
    }

    /// The sums of four outputs, whose weights follow each other.
    #[inline(always)]
    fn four(self, inputs: &[i8], weights: &[u8]) -> [i32; 4] {
        let mut sums = [0; 4];
        let each = self.rows * self.len;
        for (row, inputs) in self.rows(inputs).enumerate() {
            let [a, b, c, d] = [0, 1, 2, 3].map(|output| &weights[output * each + row * self.len..][..self.len]);
            for ((((x, a), b), c), d) in inputs.iter().zip(a).zip(b).zip(c).zip(d) {
                let [first, second, third, fourth] = &mut sums;
                *first += product(*x, *a);
                *second += product(*x, *b);
                *third += product(*x, *c);
                *fourth += product(*x, *d);
            }
        }
        sums
    }
}

#[inline(always)]
fn product(input: i8, weight: u8) -> i32 {
    i32::from(input) * i32::from(weight as i8)
}

/// Rounds `numbers` to whole numbers in `whole`, and returns what a whole number of 1 is worth. What is not a number
/// becomes 0 in `whole`, and makes the step NaN, so that it is not lost.
pub(crate) fn to_whole(numbers: &[f32], whole: &mut [i8]) -> f32 {
    let most = numbers.iter().fold(0.0, |most, x| if x.abs() > most || x.is_nan() { x.abs() } else { most });
    let per_step = if most > 0.0 { MOST / most } else { 0.0 };
    for (whole, number) in whole.iter_mut().zip(numbers) {
        *whole = (number * per_step + NEAREST).to_bits() as i8;
    }
    most / MOST
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn whole_numbers_are_the_nearest() {
        let numbers = [127.0, -127.0, 0.5, 1.5, -0.5, -1.5, 0.49, 63.51, 0.0];
        let mut whole = [0; 9];
        assert_eq!(to_whole(&numbers, &mut whole), 1.0);
        assert_eq!(whole, [127, -127, 0, 2, 0, -2, 0, 64, 0]);
        assert_eq!(to_whole(&[0.0, 0.0], &mut whole), 0.0);
        assert!(to_whole(&[1.0, f32::NAN], &mut whole).is_nan());
        assert_eq!(whole[1], 0);
    }

    #[test]
    fn every_number_rounds_as_the_definition_says() {
        for i in -12_700..=12_700 {
            let number = i as f32 / 100.0;
            let mut whole = [0; 2];
            to_whole(&[127.0, number], &mut whole);
            assert_eq!(whole[1], number.round_ties_even() as i8, "{number}");
        }
    }

    #[test]
    fn outputs_are_the_same_alone_and_together() {
        let numbers: Vec<f32> = (0..60).map(|i| (i * 37 % 41) as f32 - 20.0).collect();
        let mut whole = [0; 60];
        let step = to_whole(&numbers, &mut whole);
        let inputs = Inputs { single: &numbers, whole: &whole, step };
        let window = Window { at: 3, rows: 3, len: 6, stride: 20 };
        let weights: Vec<u8> = (0..7 * 18).map(|i| (i * 53 % 255) as u8).collect();
        let of = |x: f32| x.to_le_bytes();
        let steps: Vec<[u8; 4]> = (0..7).map(|i| of(0.01 * i as f32)).collect();
        let single: Vec<[u8; 4]> = weights.iter().map(|w| of(f32::from(*w as i8))).collect();
        for weights in [Weights::Whole(&weights, Floats(&steps)), Weights::Single(Floats(&single))] {
            let layer = Layer { weights, bias: Floats(&steps) };
            let mut seen = 0;
            layer.run(&inputs, window, |output, y| {
                assert_eq!((output, y), (seen, layer.output(&inputs, window, output)));
                seen += 1;
            });
            assert_eq!(seen, 7);
        }
    }
}
