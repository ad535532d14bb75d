//! Dense layers.

use super::{
    Block, ByColumns, COLUMNS, Floats, InRows, Product, Right, Rows, Sink, Sums, make_columns, rows, side_by_side,
    tile_of,
};
use crate::host::arith::{Arith, Form};
use crate::host::direct::TILE;
use crate::host::isa::versions;
use crate::host::linear::Linear;

/// Some panels of a dense layer, [`COLUMNS`] neurons each.
#[derive(Clone, Copy)]
pub(in crate::host) struct DensePanels<'a, R: Right> {
    /// `[panels][inputs]`; something finite if there are fewer neurons.
    pub weights: &'a [R::Row],
    /// What the weights stand for.
    pub of: R,
    /// `[panels]`.
    pub bias: &'a [Block],
    pub input: DenseInput<'a>,
}

/// The input of a dense layer.
#[derive(Clone, Copy)]
pub(in crate::host) enum DenseInput<'a> {
    /// `[positions][inputs]`.
    Rows(&'a [f32]),
    /// The inputs of a single position that are not zero, in order. The sums are the same to the bit, because a
    /// weight's product with zero changes none.
    Sparse(&'a [Entry]),
}

/// A number of a row, and its index there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::host) struct Entry {
    index: u32,
    number: f32,
}

/// Writes the numbers of `row` that are not zero to the start of `room`, which has at least its length.
pub(in crate::host) fn sparse<'a>(row: &[f32], room: &'a mut [Entry]) -> &'a [Entry] {
    let mut count = 0;
    for (index, &number) in (0..).zip(row) {
        // Always written, and kept if it is not zero: a branch would be predicted wrong for every piece on the board.
        room[count] = Entry { index, number };
        count += usize::from(number != 0.0);
    }
    &room[..count]
}

versions! {
    /// Computes the panels into `output`, `[positions][neurons]`.
    dense = dense_body(panels: DensePanels<'_, Floats>, output: &mut [f32])
}

#[inline(always)]
fn dense_body<F: Form>(panels: DensePanels<'_, Floats>, output: &mut [f32]) {
    make_neurons::<F, TILE>(panels, output);
}

versions! {
    /// Like [`dense`], with weights of 16 bits, which become floats in registers, right before they are multiplied.
    dense_linear = dense_linear_body(panels: DensePanels<'_, Linear>, output: &mut [f32])
}

#[inline(always)]
fn dense_linear_body<F: Form>(panels: DensePanels<'_, Linear>, output: &mut [f32]) {
    // Tiles of six rows would leave no registers for that.
    make_neurons::<F, 4>(panels, output);
}

#[inline(always)]
fn make_neurons<F: Form, const MOST: usize>(panels: DensePanels<'_, impl Right>, output: &mut [f32]) {
    let inputs = panels.weights.len() / panels.bias.len();
    match panels.input {
        DenseInput::Rows(input) => {
            let positions = input.len() / inputs;
            let neurons = output.len() / positions;
            let product = &mut Neurons { panels, input, inputs, neurons, output };
            make_columns::<F>(&mut Rows::<_, MOST> { product, count: positions }, panels.bias.len());
        }
        DenseInput::Sparse(entries) => {
            make_columns::<F>(&mut SparseRow { panels, entries, inputs, output }, panels.bias.len());
        }
    }
}

/// From this many rows on, weights are prefetched. Then each tile's share of the prefetches is small; with few rows
/// each tile would wait for a burst that the memory can't serve.
const WORTH_FETCHING: usize = 4 * TILE;

struct Neurons<'a, R: Right> {
    panels: DensePanels<'a, R>,
    input: &'a [f32],
    inputs: usize,
    neurons: usize,
    output: &'a mut [f32],
}

impl<R: Right> Product for Neurons<'_, R> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let DensePanels { weights, of, bias, .. } = self.panels;
        let right = side_by_side(weights, self.inputs, block);
        self.fetch_next::<M, ROWS, BLOCKS>(row, block);
        let rows_of_output = InRows { output: &mut self.output[row * self.neurons..], len: self.neurons, block };
        let sink = &mut WithBias { bias: &bias[block..], rows: rows_of_output };
        tile_of::<M, R, ROWS, BLOCKS>(rows(self.input, self.inputs, row), right, of, sink);
    }
}

impl<R: Right> Neurons<'_, R> {
    /// Prefetches weights that come after those of a tile and that other rows will need later: the tile's share of
    /// them.
    #[inline(always)]
    fn fetch_next<M: Arith, const ROWS: usize, const BLOCKS: usize>(&self, row: usize, block: usize) {
        let count = self.input.len() / self.inputs;
        if count < WORTH_FETCHING {
            return;
        }
        let len = BLOCKS * self.inputs;
        let next = self.panels.weights.get((block + BLOCKS) * self.inputs..).unwrap_or_default();
        let (first, last) = (len * row / count, len * (row + ROWS) / count);
        for weights in next.get(first..last.min(next.len())).unwrap_or_default() {
            M::fetch(weights);
        }
    }
}

/// The neurons of a single position whose inputs are mostly zeros.
struct SparseRow<'a, R: Right> {
    panels: DensePanels<'a, R>,
    entries: &'a [Entry],
    inputs: usize,
    output: &'a mut [f32],
}

impl<R: Right> ByColumns for SparseRow<'_, R> {
    #[inline(always)]
    fn make_columns<M: Arith, const BLOCKS: usize>(&mut self, block: usize) {
        match M::WIDTH {
            2 => self.make::<M, BLOCKS, 2>(block, 0),
            _ => {
                for first in 0..COLUMNS / M::LANES {
                    self.make::<M, BLOCKS, 1>(block, first);
                }
            }
        }
    }
}

impl<R: Right> SparseRow<'_, R> {
    /// Computes `VECTORS` vectors of each block, from vector `first` on.
    #[inline(always)]
    fn make<M: Arith, const BLOCKS: usize, const VECTORS: usize>(&mut self, block: usize, first: usize) {
        let DensePanels { weights, of, bias, .. } = self.panels;
        let right = side_by_side::<_, BLOCKS>(weights, self.inputs, block);
        let mut sums = Sums::<M, 1, BLOCKS, VECTORS>::zeros(first);
        for entry in self.entries {
            let mut x = [&weights[0]; BLOCKS];
            for (x, right) in x.iter_mut().zip(&right) {
                *x = &right[entry.index as usize];
            }
            sums.add(&[entry.number], x, of);
        }
        let len = self.output.len();
        let rows = InRows { output: &mut *self.output, len, block };
        sums.give(&mut WithBias { bias: &bias[block..], rows });
    }
}

/// Rows, with a bias added to each column.
struct WithBias<'a> {
    bias: &'a [Block],
    rows: InRows<'a>,
}

impl Sink for WithBias<'_> {
    #[inline(always)]
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    ) {
        for (block, (sums, bias)) in sums.iter().zip(self.bias).enumerate() {
            for (vector, x) in (first..).zip(sums) {
                self.rows.put::<M>(row, block, vector, M::plus(*x, bias.vector::<M>(vector)));
            }
        }
    }
}
