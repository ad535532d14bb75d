//! 3×3 convolutions by their definition.
//!
//! A convolution's tile is [`TILE`] channels of the output times one or two vectors of squares. Its sums stay in
//! registers while it walks over input channels and kernel elements: one load of squares serves six channels, one
//! weight serves a whole vector. There is no im2col; the border of [`Board`] makes a shifted row a shifted load.
//!
//! Convolutions that are plain products of matrices are in [`super::product`].

use super::arith::{Arith, Form};
use super::board::{Board, LANES};
use super::isa::versions;

/// How many channels a convolution's tile has, and how many rows a product's: 6 · 2 sums, 2 operands and 1 weight fill
/// the sixteen vector registers of AVX2 (with one to spare).
pub(super) const TILE: usize = 6;

/// How many input channels are processed together, for one kernel element after the other. The innermost loop is then
/// over channels and short enough for the compiler to keep in registers, and what it reads is in the nearest cache the
/// next eight times: 32 channels of a tile and their weights are 15 kB.
pub(super) const BLOCK: usize = 32;

/// One panel of a convolution: up to [`TILE`] output channels.
#[derive(Clone, Copy)]
pub(super) struct ConvPanel<'a> {
    pub board: Board,
    /// `[input channels / BLOCK][9][BLOCK][TILE]`, zeros where there are fewer output channels; the last block has only
    /// the channels that are left.
    pub weights: &'a [f32],
    /// `[TILE]`.
    pub bias: &'a [f32; TILE],
    /// `[input channels][plane]`.
    pub input: &'a [f32],
}

versions! {
    /// Computes the planes of one panel into `output`, `[channels of the panel][plane]`, without residual and
    /// activation.
    conv = conv_body(panel: ConvPanel<'_>, output: &mut [f32])
}

#[inline(always)]
fn conv_body<F: Form>(panel: ConvPanel<'_>, output: &mut [f32]) {
    // The same code is compiled twice: with the chessboard's numbers as constants, and for any board.
    if panel.board == Board::CHESS {
        conv_on::<F::Row>(ConvPanel { board: Board::CHESS, ..panel }, output);
    } else {
        conv_on::<F::Row>(panel, output);
    }
}

#[inline(always)]
fn conv_on<A: Arith>(panel: ConvPanel<'_>, output: &mut [f32]) {
    match A::WIDTH {
        1 => tiles::<A, 1>(panel, output),
        _ => tiles::<A, 2>(panel, output),
    }
}

/// Sums of all tiles of a panel.
#[inline(always)]
fn tiles<A: Arith, const WIDTH: usize>(panel: ConvPanel<'_>, output: &mut [f32]) {
    let board = panel.board;
    let (vectors, step) = board.vectors();
    for first in (0..vectors).step_by(WIDTH) {
        let sums = tile::<A, WIDTH>(&panel, first * step, step);
        for (plane, sums) in output.chunks_exact_mut(board.plane).zip(&sums) {
            for (v, sums) in sums.iter().enumerate().take(vectors - first) {
                store(board, plane, (first + v) * step, sums);
            }
        }
    }
}

/// Stores a vector of sums that begins `at` numbers after the first square, but not over borders.
#[inline(always)]
pub(super) fn store(board: Board, plane: &mut [f32], at: usize, sums: &[f32; LANES]) {
    if board.files == LANES {
        plane[board.origin + at..][..LANES].copy_from_slice(sums);
        return;
    }
    for (i, &sum) in (at..).zip(sums) {
        if i % board.stride < board.files && i / board.stride < board.rows {
            plane[board.origin + i] = sum;
        }
    }
}

#[inline(always)]
fn tile<A: Arith, const WIDTH: usize>(panel: &ConvPanel<'_>, at: usize, step: usize) -> [[[f32; LANES]; WIDTH]; TILE] {
    let board = panel.board;
    let span = (WIDTH - 1) * step + LANES;
    let mut sums = [[[0.0; LANES]; WIDTH]; TILE];
    for (sums, &bias) in sums.iter_mut().zip(panel.bias) {
        *sums = [[bias; LANES]; WIDTH];
    }
    let mut weights = panel.weights;
    for planes in panel.input.chunks(BLOCK * board.plane) {
        for row in 0..3 {
            for file in 0..3 {
                // The kernel begins at the border's corner.
                let corner = at + row * board.stride + file;
                let (now, rest) = weights.split_at(planes.len() / board.plane * TILE);
                weights = rest;
                for (plane, weights) in planes.chunks_exact(board.plane).zip(now.chunks_exact(TILE)) {
                    let window = &plane[corner..][..span];
                    let mut x = [[0.0; LANES]; WIDTH];
                    for (v, x) in x.iter_mut().enumerate() {
                        x.copy_from_slice(&window[v * step..][..LANES]);
                    }
                    for (sums, &w) in sums.iter_mut().zip(weights) {
                        for (sums, x) in sums.iter_mut().zip(&x) {
                            for (sum, &x) in sums.iter_mut().zip(x) {
                                *sum = A::mul_add(w, x, *sum);
                            }
                        }
                    }
                }
            }
        }
    }
    sums
}
