//! Squeeze and excitation.

use super::arith::{self, Arith, Form, activate_vector};
use super::board::{Board, LANES};
use super::isa::versions;
use super::kernel::{row_of, sum};
use crate::graph::Activation;

/// Squeeze and excitation, with its weights in the order in which the kernel reads them: the inputs slowest.
#[derive(Clone, Copy)]
pub(super) struct Se<'a> {
    pub board: Board,
    pub squares: usize,
    pub hidden: usize,
    /// `[channels][hidden]`.
    pub w1: &'a [f32],
    /// `[hidden]`.
    pub b1: &'a [f32],
    /// `[hidden][2 · channels]`.
    pub w2: &'a [f32],
    /// `[2 · channels]`.
    pub b2: &'a [f32],
    /// `[channels][plane]`.
    pub residual: Option<&'a [f32]>,
    pub activation: Activation,
}

versions! {
    /// Squeezes, excites, adds the residual and activates `planes` in place; `scratch` has `3 · channels + hidden`
    /// numbers.
    squeeze_excite = se_body(se: Se<'_>, planes: &mut [f32], scratch: &mut [f32])
}

#[inline(always)]
fn se_body<F: Form>(se: Se<'_>, planes: &mut [f32], scratch: &mut [f32]) {
    if se.board == Board::CHESS {
        se_on::<F>(Se { board: Board::CHESS, ..se }, planes, scratch);
    } else {
        se_on::<F>(se, planes, scratch);
    }
}

#[inline(always)]
fn se_on<F: Form>(se: Se<'_>, planes: &mut [f32], scratch: &mut [f32]) {
    let board = se.board;
    let channels = se.b2.len() / 2;
    let (pooled, rest) = scratch.split_at_mut(channels);
    let (hidden, rest) = rest.split_at_mut(se.hidden);
    let excited = &mut rest[..2 * channels];
    for (pooled, plane) in pooled.iter_mut().zip(planes.chunks_exact(board.plane)) {
        *pooled = sum(&plane[board.interior()]) / se.squares as f32;
    }
    matrix_vector::<F::Wide>(se.w1, se.b1, pooled, hidden);
    arith::activate::<F::Wide>(se.activation, hidden);
    matrix_vector::<F::Wide>(se.w2, se.b2, hidden, excited);
    let (scales, shifts) = excited.split_at_mut(channels);
    arith::activate::<F::Wide>(Activation::Sigmoid, scales);
    for (c, plane) in planes.chunks_exact_mut(board.plane).enumerate().take(channels) {
        let (scale, shift) = (scales[c], shifts[c]);
        let residual = se.residual.map(|r| &r[c * board.plane..][..board.plane]);
        if board.files == LANES {
            let shift = F::Row::splat(shift);
            for row in 0..board.rows {
                let squares = row_of(plane, board, row);
                let mut y = F::Row::scale_add(scale, F::Row::load(squares), shift);
                if let Some(residual) = residual {
                    let at = board.origin + row * board.stride;
                    y = F::Row::plus(y, F::Row::load(&residual[at..]));
                }
                F::Row::store(activate_vector::<F::Row>(se.activation, y), squares);
            }
            continue;
        }
        let interior = &mut plane[board.interior()];
        interior.iter_mut().for_each(|y| *y = scale * *y + shift);
        if let Some(residual) = residual {
            interior.iter_mut().zip(&residual[board.interior()]).for_each(|(y, r)| *y += r);
        }
        arith::activate::<F::Wide>(se.activation, interior);
        board.clear_border(plane);
    }
}

/// `y = b + Σ x[i] · w[i]`, where `w` has a row for each input.
#[inline(always)]
fn matrix_vector<A: Arith>(w: &[f32], b: &[f32], x: &[f32], y: &mut [f32]) {
    y.copy_from_slice(b);
    for (row, &x) in w.chunks_exact(b.len()).zip(x) {
        y.iter_mut().zip(row).for_each(|(y, &w)| *y = A::mul_add(x, w, *y));
    }
}
