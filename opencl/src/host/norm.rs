//! Norms: over the channels of each square, or over all elements of a position.

use super::arith::{Arith, Form};
use super::board::Board;
use super::isa::versions;
use super::kernel::{multiply_body, sum};
use super::product::{CHESS, COLUMNS};

/// A layer norm of one position, in whatever layout the value has.
#[derive(Clone, Copy)]
pub(super) struct LayerNorm<'a> {
    /// `None` if the elements are side by side.
    pub board: Option<Board>,
    pub epsilon: f32,
    /// `[channels]`.
    pub gammas: &'a [f32],
    /// `[channels]`.
    pub betas: &'a [f32],
    /// `[channels][plane]`.
    pub input: &'a [f32],
}

versions! {
    /// Norms the channels of each square into `output`, which has the input's layout; `scratch` has two planes.
    layer_norm = layer_norm_body(norm: LayerNorm<'_>, output: &mut [f32], scratch: &mut [f32])
}

#[inline(always)]
fn layer_norm_body<F: Form>(norm: LayerNorm<'_>, output: &mut [f32], scratch: &mut [f32]) {
    let plane = norm.input.len() / norm.gammas.len();
    match (plane, norm.board) {
        (1, _) => return vector_norm(norm, output),
        (CHESS, None) => return chess_norm::<F::Wide>(norm, output),
        _ => {}
    }
    let range = norm.board.map_or(0..plane, Board::interior);
    let channels = norm.gammas.len() as f32;
    // Square by square; the border between rows is normed, too, and cleared at the end.
    let (means, rest) = scratch.split_at_mut(range.len());
    let scales = &mut rest[..range.len()];
    means.fill(0.0);
    scales.fill(0.0);
    // All channels are taken relative to the first one: what the channels of a square have in common then costs no
    // digits.
    let first = &norm.input[range.clone()];
    for x in norm.input.chunks_exact(plane) {
        means.iter_mut().zip(&x[range.clone()]).zip(first).for_each(|((sum, x), first)| *sum += x - first);
    }
    means.iter_mut().for_each(|sum| *sum /= channels);
    for x in norm.input.chunks_exact(plane) {
        let centred = x[range.clone()].iter().zip(first).zip(&*means).map(|((x, first), mean)| x - first - mean);
        scales.iter_mut().zip(centred).for_each(|(sum, x)| *sum = F::Wide::mul_add(x, x, *sum));
    }
    // One division for each square instead of one for each of its channels.
    scales.iter_mut().for_each(|sum| *sum = 1.0 / (*sum / channels + norm.epsilon).sqrt());
    let pairs = norm.gammas.iter().zip(norm.betas);
    for ((x, y), (gamma, beta)) in norm.input.chunks_exact(plane).zip(output.chunks_exact_mut(plane)).zip(pairs) {
        let centred = x[range.clone()].iter().zip(first).zip(&*means).map(|((x, first), mean)| x - first - mean);
        let elements = y[range.clone()].iter_mut().zip(centred).zip(&*scales);
        elements.for_each(|((y, x), scale)| *y = F::Wide::mul_add(x * scale, *gamma, *beta));
        norm.board.into_iter().for_each(|board| board.clear_border(y));
    }
}

/// How many vectors of a chessboard's squares are processed together.
const TOGETHER: usize = CHESS / COLUMNS;

/// The norm of a chessboard's squares that lie side by side: some vectors of them at a time, whose sums stay in
/// registers.
#[inline(always)]
fn chess_norm<M: Arith>(norm: LayerNorm<'_>, output: &mut [f32]) {
    let channels = M::splat(norm.gammas.len() as f32);
    let rows = norm.input.as_chunks::<CHESS>().0;
    for part in 0..COLUMNS / M::LANES {
        let at = part * M::LANES;
        // As above, from the first channel.
        let first = together::<M>(&rows[0], at);
        let mut means = [M::splat(0.0); TOGETHER];
        for row in rows {
            let x = together::<M>(row, at);
            for ((sum, x), first) in means.iter_mut().zip(&x).zip(&first) {
                *sum = M::plus(*sum, M::minus(*x, *first));
            }
        }
        for mean in &mut means {
            *mean = M::over(*mean, channels);
        }
        let mut squares = [M::splat(0.0); TOGETHER];
        for row in rows {
            let x = together::<M>(row, at);
            for ((sum, x), (first, mean)) in squares.iter_mut().zip(&x).zip(first.iter().zip(&means)) {
                let x = M::minus(M::minus(*x, *first), *mean);
                *sum = M::times_plus(x, x, *sum);
            }
        }
        let mut scales = [[0.0; COLUMNS]; TOGETHER];
        for (scales, sum) in scales.iter_mut().zip(&squares) {
            M::store(M::over(*sum, channels), scales);
            scales.iter_mut().for_each(|x| *x = 1.0 / (*x + norm.epsilon).sqrt());
        }
        let pairs = norm.gammas.iter().zip(norm.betas);
        for ((row, y), (gamma, beta)) in rows.iter().zip(output.as_chunks_mut::<CHESS>().0).zip(pairs) {
            let x = together::<M>(row, at);
            for (number, ((x, scales), (first, mean))) in
                x.iter().zip(&scales).zip(first.iter().zip(&means)).enumerate()
            {
                let centred = M::times(M::minus(M::minus(*x, *first), *mean), M::load(scales));
                let y = &mut y[number * COLUMNS + at..];
                M::store(M::times_plus(centred, M::splat(*gamma), M::splat(*beta)), y);
            }
        }
    }
}

/// The vector at the same place in each sixteen squares.
#[inline(always)]
fn together<M: Arith>(row: &[f32; CHESS], at: usize) -> [M::Vector; TOGETHER] {
    let mut vectors = [M::splat(0.0); TOGETHER];
    for (number, vector) in vectors.iter_mut().enumerate() {
        *vector = M::load(&row[number * COLUMNS + at..]);
    }
    vectors
}

/// The norm of a vector without a board, whose channels are side by side.
#[inline(always)]
fn vector_norm(norm: LayerNorm<'_>, output: &mut [f32]) {
    let channels = norm.input.len() as f32;
    // As above, from the first channel; the output holds what is being summed.
    let first = norm.input[0];
    output.iter_mut().zip(norm.input).for_each(|(y, x)| *y = x - first);
    let mean = sum(output) / channels;
    output.iter_mut().zip(norm.input).for_each(|(y, x)| *y = (x - first - mean).powi(2));
    let scale = 1.0 / (sum(output) / channels + norm.epsilon).sqrt();
    let pairs = norm.gammas.iter().zip(norm.betas);
    let elements = output.iter_mut().zip(norm.input).zip(pairs);
    elements.for_each(|((y, x), (gamma, beta))| *y = gamma * ((x - first - mean) * scale) + beta);
}

versions! {
    /// By what each square's channels have to be multiplied so that the mean of their squares is 1; with `whole`, the
    /// mean over all channels and squares: `1 / √(mean + epsilon)`. There are as many as `scales` has elements.
    rms_scales = rms_scales_body(input: &[f32], epsilon: f32, whole: bool, scales: &mut [f32])
}

#[inline(always)]
fn rms_scales_body<F: Form>(input: &[f32], epsilon: f32, whole: bool, scales: &mut [f32]) {
    let mut count = input.len() / scales.len();
    scales.fill(0.0);
    for plane in input.chunks_exact(scales.len()) {
        scales.iter_mut().zip(plane).for_each(|(sum, &x)| *sum = F::Wide::mul_add(x, x, *sum));
    }
    if whole {
        let all = sum(scales);
        scales.fill(all);
        count = input.len();
    }
    scales.iter_mut().for_each(|sum| *sum = 1.0 / (*sum / count as f32 + epsilon).sqrt());
}

versions! {
    /// Multiplies each square of every channel by its scale.
    scale_squares = scale_squares_body(input: &[f32], scales: &[f32], output: &mut [f32])
}

#[inline(always)]
fn scale_squares_body<F: Form>(input: &[f32], scales: &[f32], output: &mut [f32]) {
    for (x, y) in input.chunks_exact(scales.len()).zip(output.chunks_exact_mut(scales.len())) {
        multiply_body::<F>(x, scales, y);
    }
}
