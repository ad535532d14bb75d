//! Register tiles of whole numbers, for layers in eight bits, see [`crate::int8`].
//!
//! The tiles are those of [`super::kernel`], of two inputs at a time: a processor multiplies pairs of sixteen bits and adds
//! each pair into 32 bits in one instruction. That is as many products in an instruction as a fused multiply-add of floats
//! has, and one instruction more for the sum, so that this form is not a fast one. Convolutions take it where there are no products of
//! eight bits ([`super::fours`]), and the numbers are the same.

use super::arith::{Arith, Form};
use super::board::{Board, LANES};
use super::kernel::{TILE, store, versions};
use super::product::COLUMNS;
use crate::int8;

/// Two inputs, or their weights.
pub(super) type Pair = [i16; 2];

/// One panel of a convolution: up to [`TILE`] output channels.
#[derive(Clone, Copy)]
pub(super) struct ConvPanel<'a> {
    pub board: Board,
    /// 1 or 3.
    pub kernel: usize,
    /// `[pairs of input channels][kernel · kernel][TILE]`, zeros where there are fewer channels.
    pub weights: &'a [Pair],
    /// What one is worth, `[TILE]`.
    pub steps: &'a [f32; TILE],
    /// `[TILE]`.
    pub bias: &'a [f32; TILE],
    /// `[pairs of input channels][plane]`.
    pub input: &'a [Pair],
}

versions! {
    /// Computes the planes of one panel into `output`, `[channels of the panel][plane]`: without residual and activation.
    conv = conv_body(panel: ConvPanel<'_>, output: &mut [f32])
}

#[inline(always)]
fn conv_body<F: Form>(panel: ConvPanel<'_>, output: &mut [f32]) {
    // The same code twice: with the chessboard's numbers as constants, and for any board.
    if panel.board == Board::CHESS {
        conv_on::<F::Row>(ConvPanel { board: Board::CHESS, ..panel }, output);
    } else {
        conv_on::<F::Row>(panel, output);
    }
}

#[inline(always)]
fn conv_on<A: Arith>(panel: ConvPanel<'_>, output: &mut [f32]) {
    match (A::WIDTH, panel.kernel) {
        (1, 1) => tiles::<1, 1>(panel, output),
        (1, _) => tiles::<1, 3>(panel, output),
        (_, 1) => tiles::<2, 1>(panel, output),
        (_, _) => tiles::<2, 3>(panel, output),
    }
}

#[inline(always)]
fn tiles<const WIDTH: usize, const KERNEL: usize>(panel: ConvPanel<'_>, output: &mut [f32]) {
    let board = panel.board;
    let (vectors, step) = board.vectors();
    for first in (0..vectors).step_by(WIDTH) {
        let sums = tile::<WIDTH, KERNEL>(&panel, first * step, step);
        let channels = sums.iter().zip(panel.steps).zip(panel.bias);
        for (plane, ((sums, step_of), bias)) in output.chunks_exact_mut(board.plane).zip(channels) {
            for (v, sums) in sums.iter().enumerate().take(vectors - first) {
                store(board, plane, (first + v) * step, &sums.map(|sum| sum as f32 * step_of + bias));
            }
        }
    }
}

#[inline(always)]
fn tile<const WIDTH: usize, const KERNEL: usize>(
    panel: &ConvPanel<'_>,
    at: usize,
    step: usize,
) -> [[[i32; LANES]; WIDTH]; TILE] {
    let board = panel.board;
    let start = if KERNEL == 3 { at } else { at + board.origin };
    let span = (WIDTH - 1) * step + LANES;
    let mut sums = [[[0; LANES]; WIDTH]; TILE];
    let weights = panel.weights.chunks_exact(KERNEL * KERNEL * TILE);
    for (plane, weights) in panel.input.chunks_exact(board.plane).zip(weights) {
        for (tap, weights) in weights.chunks_exact(TILE).enumerate() {
            let window = &plane[start + tap / KERNEL * board.stride + tap % KERNEL..][..span];
            let mut x = [[[0; 2]; LANES]; WIDTH];
            for (v, x) in x.iter_mut().enumerate() {
                x.copy_from_slice(&window[v * step..][..LANES]);
            }
            for (sums, &w) in sums.iter_mut().zip(weights) {
                for (sums, x) in sums.iter_mut().zip(&x) {
                    sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum += product(w, x));
                }
            }
        }
    }
    sums
}

#[inline(always)]
fn product(a: Pair, b: Pair) -> i32 {
    i32::from(a[0]) * i32::from(b[0]) + i32::from(a[1]) * i32::from(b[1])
}

/// One panel of a dense layer: [`COLUMNS`] neurons, for one position.
#[derive(Clone, Copy)]
pub(super) struct DensePanel<'a> {
    /// `[pairs of inputs][COLUMNS]`, zeros where there are fewer neurons.
    pub weights: &'a [Pair],
    /// What one is worth, `[COLUMNS]`.
    pub steps: &'a [f32; COLUMNS],
    /// `[COLUMNS]`.
    pub bias: &'a [f32; COLUMNS],
    /// `[pairs of inputs]`.
    pub input: &'a [Pair],
}

versions! {
    /// Computes one panel.
    dense = dense_body(panel: DensePanel<'_>, output: &mut [f32; COLUMNS])
}

#[inline(always)]
fn dense_body<F: Form>(panel: DensePanel<'_>, output: &mut [f32; COLUMNS]) {
    let mut sums = [0; COLUMNS];
    for (weights, &x) in panel.weights.chunks_exact(COLUMNS).zip(panel.input) {
        sums.iter_mut().zip(weights).for_each(|(sum, &w)| *sum += product(w, x));
    }
    let ends = panel.steps.iter().zip(panel.bias);
    output.iter_mut().zip(sums).zip(ends).for_each(|((y, sum), (step, bias))| *y = sum as f32 * step + bias);
}

versions! {
    /// Rounds `input`, `[rows][row]`, into pairs of rows, `[pairs of rows][row]`, and gives what one is worth. A row is a
    /// plane with its borders, or a single number.
    round = round_body(input: &[f32], row: usize, pairs: &mut [Pair], step: &mut f32)
}

#[inline(always)]
fn round_body<F: Form>(input: &[f32], row: usize, pairs: &mut [Pair], step: &mut f32) {
    let most = int8::most(input);
    let per_step = int8::per_step(most);
    *step = most / int8::MOST;
    let whole = |x: f32| i16::from(int8::round(x, per_step));
    for (rows, pairs) in input.chunks(2 * row).zip(pairs.chunks_exact_mut(row)) {
        let (first, second) = rows.split_at(row);
        pairs.iter_mut().zip(first).for_each(|(pair, &x)| *pair = [whole(x), 0]);
        pairs.iter_mut().zip(second).for_each(|(pair, &x)| pair[1] = whole(x));
    }
}
