//! 1×1 convolutions.

use super::right::RightSide;
use super::{
    Block, ByColumns, CHESS, COLUMNS, Columns, Sink, make_columns, put_vector_in_row, side_by_side, takes_boards,
    vector_of_row,
};
use crate::graph::Activation;
use crate::host::arith::{Arith, Form, activate};
use crate::host::direct::TILE;
use crate::host::isa::versions;
use std::ops::Range;

/// Some panels of a 1×1 convolution, with everything that ends it.
#[derive(Clone, Copy)]
pub(in crate::host) struct Pointwise<'a> {
    pub squares: usize,
    /// `[panels][input channels][TILE]`, zeros where there are fewer output channels.
    pub weights: &'a [f32],
    /// `[panels]`.
    pub bias: &'a [[f32; TILE]],
    pub input: Inputs<'a>,
    /// `[output channels][squares]`.
    pub residual: Option<&'a [f32]>,
    pub activation: Activation,
}

/// The input of a 1×1 convolution.
#[derive(Clone, Copy)]
pub(in crate::host) enum Inputs<'a> {
    /// `[ceil(squares / 16)][input channels]`.
    Packed(&'a [Block]),
    /// `[input channels][squares]` of chessboards, if [`Isa::takes_boards`].
    Boards(&'a [f32]),
}

versions! {
    /// Computes the panels into `output`, `[output channels][squares]`.
    pointwise = pointwise_body(panels: Pointwise<'_>, output: &mut [f32])
}

#[inline(always)]
fn pointwise_body<F: Form>(panels: Pointwise<'_>, output: &mut [f32]) {
    match panels.input {
        Inputs::Boards(input) => {
            assert!(takes_boards::<F>() && panels.squares == CHESS, "boards as they lie");
            let squares = CHESS;
            let input = input.as_chunks().0;
            each_panel::<F::Wide>(Pointwise { squares, ..panels }, input, 0..CHESS, output);
        }
        // The same code is compiled twice: with a chessboard's squares as a constant, and for any number.
        Inputs::Packed(input) if panels.squares == CHESS => {
            pointwise_over::<F>(Pointwise { squares: CHESS, ..panels }, input, output);
        }
        Inputs::Packed(input) => pointwise_over::<F>(panels, input, output),
    }
}

#[inline(always)]
fn pointwise_over<F: Form>(panels: Pointwise<'_>, input: &[Block], output: &mut [f32]) {
    // The outer loop is over blocks: they stay in the nearest cache for all panels, whose weights are read in order.
    make_columns::<F>(&mut Channels { panels, input, output }, panels.squares.div_ceil(COLUMNS));
}

struct Channels<'a> {
    panels: Pointwise<'a>,
    input: &'a [Block],
    output: &'a mut [f32],
}

impl ByColumns for Channels<'_> {
    #[inline(always)]
    fn make_columns<M: Arith, const BLOCKS: usize>(&mut self, block: usize) {
        let Pointwise { weights, bias, .. } = self.panels;
        let input: [_; BLOCKS] = side_by_side(self.input, weights.len() / bias.len() / TILE, block);
        each_panel::<M>(self.panels, input, block * COLUMNS..(block + BLOCKS) * COLUMNS, self.output);
    }
}

/// Computes some columns of each panel.
#[inline(always)]
fn each_panel<M: Arith>(panels: Pointwise<'_>, right: impl RightSide, columns: Range<usize>, output: &mut [f32]) {
    let Pointwise { squares, weights, bias, residual, activation, .. } = panels;
    let of_panel = weights.len() / bias.len();
    let panels = weights.chunks_exact(of_panel).zip(bias).zip(output.chunks_mut(TILE * squares));
    for (panel, ((weights, bias), output)) in panels.enumerate() {
        let residual = residual.map(|r| &r[panel * TILE * squares..][..output.len()]);
        let first = columns.start;
        let sink = &mut InChannels { squares, first, bias, residual, least: least(activation), output };
        right.tile::<M, TILE>(Columns { data: weights, count: TILE, first: 0 }, sink);
        if !ends_at_least(activation) {
            activate_columns::<M>(activation, squares, columns.clone(), output);
        }
    }
}

/// The end of a panel of a 1×1 convolution: `[channels][squares]`, fewer than [`TILE`] channels of the last panel.
struct InChannels<'a> {
    squares: usize,
    /// The first column of the tile.
    first: usize,
    bias: &'a [f32; TILE],
    residual: Option<&'a [f32]>,
    /// Smaller numbers become this one.
    least: f32,
    output: &'a mut [f32],
}

impl Sink for InChannels<'_> {
    #[inline(always)]
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    ) {
        let squares = self.squares;
        let Some(output) = self.output.get_mut(row * squares..(row + 1) * squares) else { return };
        let residual = self.residual.map(|r| &r[row * squares..][..squares]);
        let bias = M::splat(self.bias[row]);
        for (block, sums) in sums.iter().enumerate() {
            for (vector, x) in (first..).zip(sums) {
                let at = self.first + block * COLUMNS + vector * M::LANES;
                let mut x = M::plus(*x, bias);
                if let Some(residual) = residual {
                    x = M::plus(x, vector_of_row::<M>(residual, at));
                }
                put_vector_in_row::<M>(M::at_least(self.least, x), output, at);
            }
        }
    }
}

/// The smallest value of an activation. For an activation that only cuts off below that value, nothing else is left to
/// do.
fn least(activation: Activation) -> f32 {
    if activation == Activation::Relu { 0.0 } else { f32::NEG_INFINITY }
}

/// Whether an activation only cuts off below its [`least`] value.
fn ends_at_least(activation: Activation) -> bool {
    matches!(activation, Activation::None | Activation::Relu)
}

/// Applies the activation to some squares of each channel.
#[inline(always)]
fn activate_columns<M: Arith>(activation: Activation, squares: usize, columns: Range<usize>, output: &mut [f32]) {
    let columns = columns.start..columns.end.min(squares);
    if columns.len() == squares {
        return activate::<M>(activation, output);
    }
    for row in output.chunks_exact_mut(squares) {
        activate::<M>(activation, &mut row[columns.clone()]);
    }
}
