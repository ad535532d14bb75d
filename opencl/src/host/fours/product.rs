//! Products of matrices in fours: dense layers and 1×1 convolutions. The tiles are those of [`crate::host::product`].

use super::{Dots, Ends, Four, PANEL, Weights, with_dots};
use crate::graph::Activation;
use crate::host::arith::{Arith, activate_vector};
use crate::host::direct::TILE;
use crate::host::product::{Block, ByColumns, COLUMNS, Product, make_all, make_columns, side_by_side};
use std::marker::PhantomData;

/// Some panels of a dense layer, [`PANEL`] neurons each.
#[derive(Clone, Copy)]
pub(in crate::host) struct DensePanels<'a> {
    /// `[panels][fours of inputs]`, zeros where there are fewer neurons or inputs.
    pub weights: &'a [Weights],
    /// `[panels]`.
    pub ends: &'a [Ends<PANEL>],
    /// What a step of each position's input is worth.
    pub steps: &'a [f32],
    /// `[positions][fours of inputs]`.
    pub input: &'a [Four],
}

with_dots! {
    /// Computes the panels into `output`, `[positions][neurons]`.
    dense = dense_body(panels: DensePanels<'_>, output: &mut [f32])
}

#[inline(always)]
fn dense_body<D: Dots>(panels: DensePanels<'_>, output: &mut [f32]) {
    let (positions, blocks) = (panels.steps.len(), panels.ends.len());
    let neurons = output.len() / positions;
    make_all::<D::Form>(&mut Neurons::<D> { panels, neurons, output, dots: PhantomData }, positions, blocks);
}

struct Neurons<'a, D> {
    panels: DensePanels<'a>,
    neurons: usize,
    output: &'a mut [f32],
    dots: PhantomData<D>,
}

impl<D: Dots> Product for Neurons<'_, D> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let DensePanels { weights, ends, steps, input } = self.panels;
        let fours = weights.len() / ends.len();
        let right: [_; BLOCKS] = side_by_side(weights, fours, block);
        let mut left = [&input[..0]; ROWS];
        for (number, left) in left.iter_mut().enumerate() {
            *left = &input[(row + number) * fours..][..fours];
        }
        let mut start = [D::sums(&[0; PANEL]); BLOCKS];
        for (start, ends) in start.iter_mut().zip(&ends[block..]) {
            *start = D::sums(&ends.start);
        }
        let mut sums = [start; ROWS];
        for step in 0..fours {
            let mut x = [D::splat(0); BLOCKS];
            for (x, right) in x.iter_mut().zip(&right) {
                *x = D::fours(&right[step].0);
            }
            for (sums, left) in sums.iter_mut().zip(&left) {
                let inputs = D::splat(left[step]);
                for (sum, weights) in sums.iter_mut().zip(&x) {
                    *sum = D::add(*sum, inputs, *weights);
                }
            }
        }
        let rows = self.output[row * self.neurons..].chunks_exact_mut(self.neurons);
        for ((output, sums), step) in rows.zip(&sums).zip(&steps[row..]) {
            for (number, (sums, ends)) in sums.iter().zip(&ends[block..]).enumerate() {
                let mut y = numbers::<D>(*sums);
                for (y, (of_channel, bias)) in y.0.iter_mut().zip(ends.steps.iter().zip(&ends.bias)) {
                    *y = *y * (of_channel * step) + bias;
                }
                y.put_in_row(output, (block + number) * PANEL);
            }
        }
    }
}

/// The sums of a vector as floats.
#[inline(always)]
fn numbers<D: Dots>(sums: D::Sums) -> Block {
    let mut whole = [0; PANEL];
    D::store(sums, &mut whole);
    Block(whole.map(|sum| sum as f32))
}

/// Some panels of a 1×1 convolution, with everything that ends it. Here a lane is a square.
#[derive(Clone, Copy)]
pub(in crate::host) struct Pointwise<'a> {
    pub squares: usize,
    /// `[panels][fours of input channels][TILE]`, zeros where there are fewer channels.
    pub weights: &'a [Four],
    /// `[panels]`.
    pub ends: &'a [Ends<TILE>],
    /// What a step of the input is worth.
    pub step: f32,
    /// `[fours of input channels][squares]`, with the squares filled up to whole vectors of [`PANEL`].
    pub input: &'a [Four],
    /// `[output channels][squares]`.
    pub residual: Option<&'a [f32]>,
    pub activation: Activation,
}

with_dots! {
    /// Computes the panels into `output`, `[output channels][squares]`.
    pointwise = pointwise_body(panels: Pointwise<'_>, output: &mut [f32])
}

#[inline(always)]
fn pointwise_body<D: Dots>(panels: Pointwise<'_>, output: &mut [f32]) {
    let blocks = panels.squares.div_ceil(PANEL);
    make_columns::<D::Form>(&mut Channels::<D> { panels, output, dots: PhantomData }, blocks);
}

struct Channels<'a, D> {
    panels: Pointwise<'a>,
    output: &'a mut [f32],
    dots: PhantomData<D>,
}

impl<D: Dots> ByColumns for Channels<'_, D> {
    #[inline(always)]
    fn make_columns<M: Arith, const BLOCKS: usize>(&mut self, block: usize) {
        let Pointwise { squares, weights, ends, step, input, residual, activation } = self.panels;
        let of_panel = weights.len() / ends.len();
        let room = squares.next_multiple_of(PANEL);
        for (panel, (weights, ends)) in weights.chunks_exact(of_panel).zip(ends).enumerate() {
            let mut sums = [[D::sums(&[0; PANEL]); BLOCKS]; TILE];
            for (sums, start) in sums.iter_mut().zip(&ends.start) {
                *sums = [D::sums(&[*start; PANEL]); BLOCKS];
            }
            for (weights, input) in weights.as_chunks::<TILE>().0.iter().zip(input.chunks_exact(room)) {
                let mut x = [D::splat(0); BLOCKS];
                for (x, input) in x.iter_mut().zip(&input.as_chunks().0[block..][..BLOCKS]) {
                    *x = D::fours(input);
                }
                for (sums, weights) in sums.iter_mut().zip(weights) {
                    let weights = D::splat(*weights);
                    for (sum, inputs) in sums.iter_mut().zip(&x) {
                        *sum = D::add(*sum, *inputs, weights);
                    }
                }
            }
            let mut tile = [[Block::ZERO; BLOCKS]; TILE];
            for (tile, sums) in tile.iter_mut().zip(&sums) {
                for (block, sum) in tile.iter_mut().zip(sums) {
                    *block = numbers::<D>(*sum);
                }
            }
            let ends = ends.steps.iter().zip(&ends.bias).map(|(of_channel, bias)| (of_channel * step, *bias));
            put_in_channels::<M, TILE, BLOCKS>(
                &mut tile,
                ends,
                (panel * TILE, block),
                (squares, residual, activation),
                self.output,
            );
        }
    }
}

/// Finishes some rows of a 1×1 convolution and writes them to their place in `output`, `[channels][squares]`: channels
/// from `first` on, squares from the block `block` on. Of each channel, `ends` has what a sum of 1 is worth, and the
/// bias. The residual has the layout of the output.
#[inline(always)]
fn put_in_channels<M: Arith, const ROWS: usize, const BLOCKS: usize>(
    sums: &mut [[Block; BLOCKS]; ROWS],
    ends: impl Iterator<Item = (f32, f32)>,
    (first, block): (usize, usize),
    (squares, residual, activation): (usize, Option<&[f32]>, Activation),
    output: &mut [f32],
) {
    let channels = output[first * squares..].chunks_exact_mut(squares).zip(sums).zip(ends).zip(first..);
    for (((row, sums), (step, bias)), channel) in channels {
        let residual = residual.map(|r| &r[channel * squares..][..squares]);
        for (number, sums) in sums.iter_mut().enumerate() {
            let at = (block + number) * COLUMNS;
            let residual = residual.map(|row| Block::of_row(row, at));
            for vector in 0..COLUMNS / M::LANES {
                let mut x = M::plus(M::times(sums.vector::<M>(vector), M::splat(step)), M::splat(bias));
                if let Some(residual) = &residual {
                    x = M::plus(x, residual.vector::<M>(vector));
                }
                sums.set::<M>(vector, activate_vector::<M>(activation, x));
            }
            sums.put_in_row(row, at);
        }
    }
}
