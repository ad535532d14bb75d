//! Weights in the order that the kernels want, packed once for a plan.

use super::board::LANES;
use super::direct::{BLOCK, TILE};
use super::fours::{self, Four};
use super::linear::{Linear, Shorts};
use super::plan::{FourWeights, PointwiseFourWeights};
use super::product::{Block, COLUMNS};
use super::tiles;
use super::winograd::{PANEL, POINTS};
use crate::int8;
use crate::winograd::transform;

/// From `[rows][columns]` to `[rows / COLUMNS][columns]` blocks of rows, with the last panel filled up with zeros.
pub(super) fn dense(matrix: &[f32], rows: usize) -> Vec<Block> {
    blocks_of_rows(matrix, rows, Block::ZERO, |block, row, weight| block.0[row] = weight)
}

/// Like [`dense`], in 16 bits; padded with the 16-bit number 0, even where that doesn't stand for 0.0.
pub(super) fn linear(matrix: &[f32], rows: usize, linear: Linear) -> Vec<Shorts> {
    blocks_of_rows(matrix, rows, Shorts::ZERO, |block, row, weight| block.0[row] = linear.number(weight))
}

fn blocks_of_rows<T: Copy>(matrix: &[f32], rows: usize, zero: T, set: impl Fn(&mut T, usize, f32)) -> Vec<T> {
    let columns = matrix.len() / rows;
    let mut packed = vec![zero; rows.div_ceil(COLUMNS) * columns];
    for (row, values) in matrix.chunks_exact(columns).enumerate() {
        let panel = &mut packed[row / COLUMNS * columns..];
        values.iter().zip(panel).for_each(|(v, block)| set(block, row % COLUMNS, *v));
    }
    packed
}

/// From `[channels][inputs]` to `[channels / TILE][inputs][TILE]`, with the last panel filled up with zeros.
pub(super) fn pointwise(weights: &[f32], channels: usize) -> Vec<f32> {
    let inputs = weights.len() / channels;
    let mut packed = vec![0.0; channels.next_multiple_of(TILE) * inputs];
    for (o, weights) in weights.chunks_exact(inputs).enumerate() {
        let panel = &mut packed[o / TILE * TILE * inputs..];
        weights.iter().enumerate().for_each(|(input, w)| panel[input * TILE + o % TILE] = *w);
    }
    packed
}

/// From `[channels][inputs][9]` to `[channels / TILE][inputs / BLOCK][9][BLOCK][TILE]`, with the last panel filled up
/// with zeros, and the last block shorter.
pub(super) fn conv(weights: &[f32], channels: usize) -> Vec<f32> {
    const TAPS: usize = 9;
    let inputs = weights.len() / channels / TAPS;
    let mut packed = Vec::with_capacity(channels.next_multiple_of(TILE) * inputs * TAPS);
    for first in (0..channels).step_by(TILE) {
        for block in (0..inputs).step_by(BLOCK) {
            for tap in 0..TAPS {
                for input in block..inputs.min(block + BLOCK) {
                    let weight = |o: usize| if o < channels { weights[(o * inputs + input) * TAPS + tap] } else { 0.0 };
                    packed.extend((first..first + TILE).map(weight));
                }
            }
        }
    }
    packed
}

/// In the order that [`super::winograd::multiply`] wants, panel by panel; what fills up blocks and panels is zero.
pub(super) fn winograd(weights: &[f32], channels: usize) -> Vec<Block> {
    let inputs = weights.len() / channels / 9;
    let padded = inputs.next_multiple_of(LANES);
    let mut packed = vec![Block::ZERO; channels.div_ceil(PANEL) * POINTS * padded];
    for (at, weights) in weights.chunks_exact(9).enumerate() {
        let (o, c) = (at / inputs, at % inputs);
        for (point, u) in transform(4, weights).into_iter().enumerate() {
            packed[(o / PANEL * POINTS + point) * padded + c].0[o % PANEL] = u as f32;
        }
    }
    packed
}

/// From `[channels][inputs][taps]` to left sides, `[panels of sixteen channels]` times the steps of
/// [`tiles::Layout::steps`], and what the channels are worth; what fills up panels and steps is zero.
pub(super) fn tiles(weights: &[f32], channels: usize, taps: usize) -> (Vec<tiles::Operand>, Vec<[f32; tiles::ROWS]>) {
    let inputs = weights.len() / channels / taps;
    let (units, inverse) = scales(weights, inputs * taps);
    let mut packed = Vec::new();
    for (panel, inverse) in by_panels(&inverse).iter().enumerate() {
        for part in (0..inputs).step_by(tiles::DEPTH) {
            for tap in 0..taps {
                let weight = |row, k| match (panel * tiles::ROWS + row, part + k) {
                    (o, input) if o < channels && input < inputs => weights[(o * inputs + input) * taps + tap],
                    _ => 0.0,
                };
                packed.push(tiles::left(weight, inverse));
            }
        }
    }
    (packed, by_panels(&units))
}

/// From `[neurons][inputs]` to right sides, `[panels of sixteen neurons][steps]`, and what the neurons are worth; what
/// fills up panels and steps is zero.
pub(super) fn tiles_dense(matrix: &[f32], neurons: usize) -> (Vec<tiles::Operand>, Vec<Block>) {
    let inputs = matrix.len() / neurons;
    let (units, inverse) = scales(matrix, inputs);
    let blocks = |of: &[f32]| by_panels(of).into_iter().map(Block);
    let mut packed = Vec::new();
    for (panel, inverse) in blocks(&inverse).enumerate() {
        for part in (0..inputs).step_by(tiles::DEPTH) {
            let weight = |k, column| match (part + k, panel * COLUMNS + column) {
                (input, neuron) if input < inputs && neuron < neurons => matrix[neuron * inputs + input],
                _ => 0.0,
            };
            packed.push(tiles::right(weight, &inverse));
        }
    }
    (packed, blocks(&units).collect())
}

/// What rows of `len` numbers are worth in tiles, and the factors that turn them into whole numbers.
fn scales(rows: &[f32], len: usize) -> (Vec<f32>, Vec<f32>) {
    rows.chunks_exact(len).map(|row| tiles::scale_of(row.iter().copied())).unzip()
}

/// The weight of channel `o` for an input and a tap; 0 beyond the last channel or input.
fn weight_of(weights: &int8::Weights, taps: usize, o: usize, input: usize, tap: usize) -> i8 {
    let channels = weights.steps.len();
    let inputs = weights.numbers.len() / channels / taps;
    if o < channels && input < inputs { weights.numbers[(o * inputs + input) * taps + tap] } else { 0 }
}

/// In the order that [`super::fours::ConvPanels`] wants; with one tap, that of [`super::fours::DensePanels`].
pub(super) fn fours(weights: &int8::Weights, bias: &[f32], taps: usize) -> FourWeights {
    let channels = weights.steps.len();
    let inputs = weights.numbers.len() / channels / taps;
    let mut packed = Vec::with_capacity(channels.div_ceil(fours::PANEL) * inputs.div_ceil(4) * taps);
    for first in (0..channels).step_by(fours::PANEL) {
        for input in (0..inputs).step_by(4) {
            for tap in 0..taps {
                let four = |o: usize| four(weights, taps, first + o, input, tap);
                packed.push(fours::Weights(std::array::from_fn(four)));
            }
        }
    }
    FourWeights { weights: packed, ends: ends(weights, bias) }
}

/// In the order that [`super::fours::Pointwise`] wants.
pub(super) fn pointwise_fours(weights: &int8::Weights, bias: &[f32]) -> PointwiseFourWeights {
    let channels = weights.steps.len();
    let inputs = weights.numbers.len() / channels;
    let mut packed = Vec::with_capacity(channels.next_multiple_of(TILE) * inputs.div_ceil(4));
    for first in (0..channels).step_by(TILE) {
        for input in (0..inputs).step_by(4) {
            packed.extend((first..first + TILE).map(|o| four(weights, 1, o, input, 0)));
        }
    }
    PointwiseFourWeights { weights: packed, ends: ends(weights, bias) }
}

/// The weights of a channel for the four inputs from `input` on.
fn four(weights: &int8::Weights, taps: usize, o: usize, input: usize, tap: usize) -> Four {
    let weight = |i: usize| weight_of(weights, taps, o, input + i, tap).cast_unsigned();
    Four::from_le_bytes(std::array::from_fn(weight))
}

/// What is the same for all squares, by panels.
fn ends<const N: usize>(weights: &int8::Weights, bias: &[f32]) -> Vec<fours::Ends<N>> {
    let panels = starts(weights).into_iter().zip(by_panels(&weights.steps)).zip(by_panels(bias));
    panels.map(|((start, steps), bias)| fours::Ends { start, steps, bias }).collect()
}

/// The initial values of the sums of each channel, see [`fours::Ends`], by panels.
fn starts<const N: usize>(weights: &int8::Weights) -> Vec<[i32; N]> {
    let of_channel = weights.numbers.len() / weights.steps.len();
    let channels = weights.numbers.chunks_exact(of_channel);
    by_panels(&channels.map(|row| -128 * row.iter().map(|&w| i32::from(w)).sum::<i32>()).collect::<Vec<_>>())
}

/// Divides into panels of `N` numbers, the last one filled up with zeros.
pub(super) fn by_panels<T: Copy + Default, const N: usize>(numbers: &[T]) -> Vec<[T; N]> {
    let panel = |part: &[T]| std::array::from_fn(|i| part.get(i).copied().unwrap_or_default());
    numbers.chunks(N).map(panel).collect()
}
