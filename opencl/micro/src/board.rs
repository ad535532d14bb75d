//! Numbers on the squares of a board, and layers that work on them.

use crate::pack::{Layer, SQUARES};
use crate::sums::{Inputs, Window, to_whole};

/// How many cells a row of a board has, with its border.
pub(crate) const ROW: usize = 10;

/// How many cells a board has, with its border of zeros, which 3×3 convolutions read.
pub(crate) const CELLS: usize = ROW * ROW;

/// The numbers of all squares: for each square those of its channels.
pub(crate) type Board<T, const FILTERS: usize> = [[T; FILTERS]; CELLS];

/// A 3×3 convolution of the tower, in whole numbers, with its bias.
pub(crate) fn convolve<const FILTERS: usize>(
    layer: &Layer<'_>,
    input: &Board<f32, FILTERS>,
    whole: &mut Board<i8, FILTERS>,
    output: &mut Board<f32, FILTERS>,
) {
    let step = to_whole(input.as_flattened(), whole.as_flattened_mut());
    convolve_whole(layer, whole, step, output);
}

/// The same convolution for an input that is in whole numbers already.
pub(crate) fn convolve_whole<const FILTERS: usize>(
    layer: &Layer<'_>,
    input: &Board<i8, FILTERS>,
    step: f32,
    output: &mut Board<f32, FILTERS>,
) {
    clear_border(output);
    let inputs = Inputs { single: &[], whole: input.as_flattened(), step };
    for square in 0..SQUARES {
        let cell = &mut output[cell_of(square)];
        layer.run(&inputs, around(square, FILTERS), |filter, y| cell[filter] = y);
    }
}

/// A 1×1 convolution. In `output` the channels of a square are next to each other, and there is no border.
pub(crate) fn squeeze<const FILTERS: usize>(
    layer: &Layer<'_>,
    input: &Board<f32, FILTERS>,
    whole: &mut [i8],
    activation: impl Fn(f32) -> f32,
    output: &mut [f32],
) {
    let inputs = inputs(layer, input.as_flattened(), whole);
    for (square, channels) in output.chunks_exact_mut(layer.outputs()).enumerate() {
        let window = Window { at: cell_of(square) * FILTERS, ..Window::all(FILTERS) };
        layer.run(&inputs, window, |channel, sum| channels[channel] = activation(sum));
    }
}

/// The numbers in the form in which a layer reads them.
pub(crate) fn inputs<'a>(layer: &Layer<'_>, single: &'a [f32], whole: &'a mut [i8]) -> Inputs<'a> {
    let whole = &mut whole[..single.len()];
    let step = if layer.is_whole() { to_whole(single, whole) } else { 0.0 };
    Inputs { single, whole, step }
}

/// What a 3×3 convolution reads for its output on a square.
pub(crate) fn around(square: usize, filters: usize) -> Window {
    let corner = cell_of(square) - ROW - 1;
    Window { at: corner * filters, rows: 3, len: 3 * filters, stride: ROW * filters }
}

/// The cell of a square of the board.
pub(crate) fn cell_of(square: usize) -> usize {
    (square / 8 + 1) * ROW + square % 8 + 1
}

/// The cells of all squares.
pub(crate) fn cells() -> impl Iterator<Item = usize> {
    (0..SQUARES).map(cell_of)
}

pub(crate) fn clear_border<const FILTERS: usize>(board: &mut Board<f32, FILTERS>) {
    for (at, cell) in board.iter_mut().enumerate() {
        if [at % ROW, at / ROW].iter().any(|place| [0, ROW - 1].contains(place)) {
            *cell = [0.0; FILTERS];
        }
    }
}

pub(crate) fn rectify<const FILTERS: usize>(board: &mut Board<f32, FILTERS>) {
    board.as_flattened_mut().iter_mut().for_each(|x| *x = relu(*x));
}

pub(crate) fn relu(x: f32) -> f32 {
    // This is not `max`: if the processor has no instruction for that, it is a call; and it would hide what is not a
    // number.
    if x < 0.0 { 0.0 } else { x }
}
