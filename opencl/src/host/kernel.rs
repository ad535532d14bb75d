//! Layers that work on each element, channel or square, and what several of them need.

use super::arith::{self, Arith, Form, activate_vector};
use super::board::{Board, LANES};
use super::isa::versions;
use super::product::COLUMNS;
use crate::graph::Activation;

versions! {
    /// `activation` of each element; a softmax is over all of them.
    activate = activate_body(activation: Activation, y: &mut [f32])
}

#[inline(always)]
fn activate_body<F: Form>(activation: Activation, y: &mut [f32]) {
    arith::activate::<F::Wide>(activation, y);
}

versions! {
    /// `y = x · scale + shift`, element by element.
    gate = gate_body(x: &[f32], scale: &[f32], shift: &[f32], y: &mut [f32])
}

#[inline(always)]
fn gate_body<F: Form>(x: &[f32], scale: &[f32], shift: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).zip(scale.iter().zip(shift)).for_each(|((y, x), (scale, shift))| *y = x * scale + shift);
}

/// A scale and a shift for each channel, and an activation, of a value in whatever layout.
#[derive(Clone, Copy)]
pub(super) struct Affine<'a> {
    /// The layout; [`Board::flat`] if the elements are side by side.
    pub board: Board,
    /// `[channels]`: what each square of a channel gets before it is scaled.
    pub added: Option<&'a [f32]>,
    /// `[channels]`.
    pub scale: &'a [f32],
    /// `[channels]`.
    pub shift: &'a [f32],
    /// `[channels][plane]`.
    pub input: &'a [f32],
    pub activation: Activation,
}

versions! {
    /// `activation(scale · (input + added) + shift)` into `output`, which has the input's layout. Borders stay zero.
    affine = affine_body(affine: Affine<'_>, output: &mut [f32])
}

#[inline(always)]
fn affine_body<F: Form>(affine: Affine<'_>, output: &mut [f32]) {
    let Affine { board, added, scale, shift, input, activation } = affine;
    let planes = input.chunks_exact(board.plane).zip(output.chunks_exact_mut(board.plane));
    for (channel, ((x, y), (scale, shift))) in planes.zip(scale.iter().zip(shift)).enumerate() {
        let added = added.map_or(0.0, |added| added[channel]);
        // The border between rows is computed, too, and cleared at the end.
        let interior = board.interior();
        affine_plane::<F::Wide>(&x[interior.clone()], (added, *scale, *shift), activation, &mut y[interior]);
        board.clear_border(y);
    }
}

#[inline(always)]
fn affine_plane<M: Arith>(x: &[f32], numbers: (f32, f32, f32), activation: Activation, y: &mut [f32]) {
    let (mut from, mut to) = (x.chunks_exact(M::LANES), y.chunks_exact_mut(M::LANES));
    for (x, y) in (&mut from).zip(&mut to) {
        M::store(affine_vector::<M>(M::load(x), numbers, activation), y);
    }
    let (from, to) = (from.remainder(), to.into_remainder());
    if !to.is_empty() {
        let mut last = [0.0; COLUMNS];
        last[..from.len()].copy_from_slice(from);
        M::store(affine_vector::<M>(M::load(&last), numbers, activation), &mut last);
        to.copy_from_slice(&last[..to.len()]);
    }
}

#[inline(always)]
fn affine_vector<M: Arith>(x: M::Vector, (added, scale, shift): (f32, f32, f32), activation: Activation) -> M::Vector {
    activate_vector::<M>(activation, M::scale_add(scale, M::plus(x, M::splat(added)), M::splat(shift)))
}

versions! {
    /// Writes the mean of each plane's squares into `means`, and their largest number into `most`: NaN if one of them
    /// is NaN.
    pool = pool_body(board: Board, input: &[f32], means: &mut [f32], most: &mut [f32])
}

#[inline(always)]
fn pool_body<F: Form>(board: Board, input: &[f32], means: &mut [f32], most: &mut [f32]) {
    let squares = (board.rows * board.files) as f32;
    for ((plane, mean), most) in input.chunks_exact(board.plane).zip(means).zip(most) {
        *mean = sum(&plane[board.interior()]) / squares;
        let mut lanes = [f32::NEG_INFINITY; LANES];
        for row in plane[board.interior()].chunks(board.stride) {
            largest(&row[..board.files], &mut lanes);
        }
        *most = lanes.into_iter().fold(f32::NEG_INFINITY, larger);
    }
}

/// The larger of each lane and of the values that come to it.
#[inline(always)]
fn largest(values: &[f32], lanes: &mut [f32; LANES]) {
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        lanes.iter_mut().zip(chunk).for_each(|(most, &x)| *most = larger(*most, x));
    }
    lanes.iter_mut().zip(chunks.remainder()).for_each(|(most, &x)| *most = larger(*most, x));
}

/// The larger of two numbers; NaN if one is NaN.
#[inline(always)]
fn larger(most: f32, x: f32) -> f32 {
    if x > most || x.is_nan() { x } else { most }
}

/// The end of a convolution's panel, after the sums.
#[derive(Clone, Copy)]
pub(super) struct Finish<'a> {
    pub board: Board,
    /// The same planes of the value that is added.
    pub residual: Option<&'a [f32]>,
    /// Applied last.
    pub activation: Activation,
}

versions! {
    /// Adds the residual and applies the activation. Borders stay zero.
    finish = finish_body(end: Finish<'_>, output: &mut [f32])
}

#[inline(always)]
fn finish_body<F: Form>(end: Finish<'_>, output: &mut [f32]) {
    let board = end.board;
    if let Some(residual) = end.residual {
        for (plane, residual) in output.chunks_exact_mut(board.plane).zip(residual.chunks_exact(board.plane)) {
            let pairs = plane[board.interior()].iter_mut().zip(&residual[board.interior()]);
            pairs.for_each(|(y, r)| *y += r);
        }
    }
    if end.activation != Activation::None {
        for plane in output.chunks_exact_mut(board.plane) {
            activate_plane::<F>(board, end.activation, plane);
        }
    }
}

/// `activation` of each square. Borders stay zero.
#[inline(always)]
fn activate_plane<F: Form>(board: Board, activation: Activation, plane: &mut [f32]) {
    if board.files == LANES {
        for row in 0..board.rows {
            let squares = row_of(plane, board, row);
            F::Row::store(activate_vector::<F::Row>(activation, F::Row::load(squares)), squares);
        }
    } else {
        arith::activate::<F::Wide>(activation, &mut plane[board.interior()]);
        board.clear_border(plane);
    }
}

/// A row of eight squares.
#[inline(always)]
pub(super) fn row_of(plane: &mut [f32], board: Board, row: usize) -> &mut [f32] {
    &mut plane[board.origin + row * board.stride..][..LANES]
}

/// A sum in eight lanes, so that only its end needs vector shuffles.
#[inline(always)]
pub(super) fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        lanes.iter_mut().zip(chunk).for_each(|(l, v)| *l += v);
    }
    lanes.iter_mut().zip(chunks.remainder()).for_each(|(l, v)| *l += v);
    lanes.iter().sum()
}

versions! {
    /// `y = left · right`, element by element.
    multiply = multiply_body(left: &[f32], right: &[f32], y: &mut [f32])
}

#[inline(always)]
pub(super) fn multiply_body<F: Form>(left: &[f32], right: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(left).zip(right).for_each(|((y, left), right)| *y = left * right);
}

/// Pairs of channels that are rotated.
#[derive(Clone, Copy)]
pub(super) struct Rotate<'a> {
    pub squares: usize,
    /// `[channels][squares]`.
    pub input: &'a [f32],
    /// `[channels / 2][squares]`.
    pub cosines: &'a [f32],
    /// `[channels / 2][squares]`.
    pub sines: &'a [f32],
}

versions! {
    /// Turns each pair of channels by its angle at each square.
    rotate = rotate_body(rotate: Rotate<'_>, output: &mut [f32])
}

#[inline(always)]
fn rotate_body<F: Form>(rotate: Rotate<'_>, output: &mut [f32]) {
    let Rotate { squares, input, cosines, sines } = rotate;
    let angles = cosines.chunks_exact(squares).zip(sines.chunks_exact(squares));
    for ((x, y), (cosines, sines)) in
        input.chunks_exact(2 * squares).zip(output.chunks_exact_mut(2 * squares)).zip(angles)
    {
        let (a, b) = x.split_at(squares);
        let (first, second) = y.split_at_mut(squares);
        for (at, (first, second)) in first.iter_mut().zip(second).enumerate() {
            *first = F::Wide::mul_add(a[at], cosines[at], -b[at] * sines[at]);
            *second = F::Wide::mul_add(b[at], cosines[at], a[at] * sines[at]);
        }
    }
}
