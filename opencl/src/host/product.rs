//! Products of matrices: dense layers, 1×1 convolutions, what attention is made of, and Winograd's points.
//!
//! All of them have one tile: up to [`TILE`] rows of the left side times one or some [`Block`]s of sixteen columns of the right side.
//! The sums stay in registers while it walks over what they have in common. Each sum is one chain of additions, whatever the
//! number of rows and blocks, so that a row's result does not depend on which rows it is made with.
//!
//! The right side is packed, panel by panel of a block's width, so that a tile reads it in order and its panels stay in a near
//! cache for all rows.

use super::arith::{Arith, Form, activate, activate_vector, exp_up_to_end};
use super::board::{LANES, Lanes};
use super::kernel::{TILE, versions};
use super::linear::Linear;
use crate::graph::Activation;
use std::ops::Range;

/// Columns of a block.
pub(super) const COLUMNS: usize = 2 * LANES;

/// Squares of a chessboard.
pub(super) const CHESS: usize = 64;

/// The most blocks that a tile of any form is wide.
pub(super) const MOST_BLOCKS: usize = 4;

/// A row of sixteen columns: a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Block(pub [f32; COLUMNS]);

impl Block {
    pub const ZERO: Self = Self([0.0; COLUMNS]);

    #[inline(always)]
    pub fn vector<M: Arith>(&self, number: usize) -> M::Vector {
        M::load(&self.0[number * M::LANES..])
    }

    #[inline(always)]
    pub fn set<M: Arith>(&mut self, number: usize, x: M::Vector) {
        M::store(x, &mut self.0[number * M::LANES..]);
    }

    /// The columns of a row from `at` on; zeros where it has no more.
    #[inline(always)]
    fn of_row(row: &[f32], at: usize) -> Self {
        match row[at..].first_chunk() {
            Some(columns) => Self(*columns),
            None => Self::of_rest(&row[at..]),
        }
    }

    // What is left of a row is copied apart: side by side with it the compiler makes whole blocks calls of `memcpy`, too.
    #[cold]
    #[inline(never)]
    fn of_rest(rest: &[f32]) -> Self {
        let mut block = Self::ZERO;
        block.0[..rest.len()].copy_from_slice(rest);
        block
    }

    /// The reverse: as many as the row has.
    #[inline(always)]
    pub fn put_in_row(&self, row: &mut [f32], at: usize) {
        match row[at..].first_chunk_mut() {
            Some(columns) => *columns = self.0,
            None => self.put_in_rest(&mut row[at..]),
        }
    }

    #[cold]
    #[inline(never)]
    fn put_in_rest(&self, rest: &mut [f32]) {
        rest.copy_from_slice(&self.0[..rest.len()]);
    }
}

/// The sums of a tile while they are in registers: `VECTORS` vectors of each block, from the `first` on.
struct Sums<M: Arith, const ROWS: usize, const BLOCKS: usize, const VECTORS: usize> {
    held: [[[M::Vector; VECTORS]; BLOCKS]; ROWS],
    first: usize,
}

impl<M: Arith, const ROWS: usize, const BLOCKS: usize, const VECTORS: usize> Sums<M, ROWS, BLOCKS, VECTORS> {
    /// `Σ left[k][r] · right[k]` for each row `r`.
    #[inline(always)]
    fn of<L: Left<ROWS>, R: Right>(left: &L, right: [&[R::Row]; BLOCKS], of: R, first: usize) -> Self {
        let mut sums = Self { held: [[[M::splat(0.0); VECTORS]; BLOCKS]; ROWS], first };
        let len = right[0].len();
        let mut step = 0;
        while len - step >= LANES {
            let eight = left.eight(step);
            let mut now = [eight_rows(right[0], step); BLOCKS];
            for (now, right) in now.iter_mut().zip(&right) {
                *now = eight_rows(right, step);
            }
            for lane in 0..LANES {
                let mut x = [&now[0][lane]; BLOCKS];
                for (x, now) in x.iter_mut().zip(&now) {
                    *x = &now[lane];
                }
                sums.add(&L::of(&eight, lane), x, of);
            }
            step += LANES;
        }
        for step in step..len {
            let mut x = [&right[0][step]; BLOCKS];
            for (x, right) in x.iter_mut().zip(&right) {
                *x = &right[..len][step];
            }
            sums.add(&left.at(step), x, of);
        }
        sums
    }

    /// Adds a step.
    #[inline(always)]
    fn add<R: Right>(&mut self, left: &[f32; ROWS], right: [&R::Row; BLOCKS], of: R) {
        let mut x = [[M::splat(0.0); VECTORS]; BLOCKS];
        for (x, right) in x.iter_mut().zip(&right) {
            for (number, x) in x.iter_mut().enumerate() {
                *x = of.vector::<M>(right, self.first + number);
            }
        }
        for (held, a) in self.held.iter_mut().zip(left) {
            for (held, x) in held.iter_mut().zip(&x) {
                for (held, x) in held.iter_mut().zip(x) {
                    *held = M::scale_add(*a, *x, *held);
                }
            }
        }
    }

    #[inline(always)]
    fn give(&self, sink: &mut impl Sink) {
        for (row, held) in self.held.iter().enumerate() {
            sink.take::<M, BLOCKS, VECTORS>(row, self.first, held);
        }
    }
}

/// What becomes of a tile's sums while they are in registers.
pub(super) trait Sink {
    /// Takes sums of the tile's row of that number: of each of its blocks the vectors from the `first` on.
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    );
}

/// Eight rows from the `first` on.
#[inline(always)]
fn eight_rows<T>(rows: &[T], first: usize) -> &[T; LANES] {
    rows[first..].first_chunk().expect("eight steps")
}

/// The right side of a tile: what the numbers in its rows of sixteen columns stand for.
pub(super) trait Right: Copy {
    type Row: Copy + Sync;

    /// The vector of that number in a row.
    fn vector<M: Arith>(self, row: &Self::Row, number: usize) -> M::Vector;
}

/// Numbers that stand for themselves.
#[derive(Clone, Copy)]
pub(super) struct Floats;

impl Right for Floats {
    type Row = Block;

    #[inline(always)]
    fn vector<M: Arith>(self, row: &Block, number: usize) -> M::Vector {
        row.vector::<M>(number)
    }
}

/// Rows of sixty-four numbers that lie side by side, a chessboard's or those of four blocks: wide vectors need them in no other order.
#[derive(Clone, Copy)]
struct Boards;

impl Right for Boards {
    type Row = [f32; CHESS];

    #[inline(always)]
    fn vector<M: Arith>(self, row: &[f32; CHESS], number: usize) -> M::Vector {
        M::load(&row[number * M::LANES..])
    }
}

/// Whether the columns of a tile of this form are a chessboard's squares: it takes the rows of boards as they lie.
pub(super) const fn takes_boards<F: Form>() -> bool {
    F::BLOCKS * COLUMNS == CHESS
}

/// The same of four blocks.
#[derive(Clone, Copy)]
struct Fours;

impl Right for Fours {
    type Row = [Block; MOST_BLOCKS];

    #[inline(always)]
    fn vector<M: Arith>(self, row: &[Block; MOST_BLOCKS], number: usize) -> M::Vector {
        vector_of_blocks::<M>(row, number)
    }
}

/// The vector of that number of blocks that lie side by side.
#[inline(always)]
fn vector_of_blocks<M: Arith>(blocks: &[Block], number: usize) -> M::Vector {
    let each = COLUMNS / M::LANES;
    blocks[number / each].vector::<M>(number % each)
}

/// The right side of a tile, however it lies.
trait RightSide: Copy {
    /// `Σ left[k][r] · right[k]` for each row `r` into the sink.
    fn tile<M: Arith, const ROWS: usize>(self, left: impl Left<ROWS>, sink: &mut impl Sink);
}

impl<const BLOCKS: usize> RightSide for [&[Block]; BLOCKS] {
    #[inline(always)]
    fn tile<M: Arith, const ROWS: usize>(self, left: impl Left<ROWS>, sink: &mut impl Sink) {
        tile::<M, ROWS, BLOCKS>(left, self, sink);
    }
}

/// Where [`takes_boards`] is true. A row goes to the sink as one block of four vectors.
impl RightSide for &[[f32; CHESS]] {
    #[inline(always)]
    fn tile<M: Arith, const ROWS: usize>(self, left: impl Left<ROWS>, sink: &mut impl Sink) {
        Sums::<M, ROWS, 1, 4>::of(&left, [self], Boards, 0).give(sink);
    }
}

/// The same.
impl RightSide for &[[Block; MOST_BLOCKS]] {
    #[inline(always)]
    fn tile<M: Arith, const ROWS: usize>(self, left: impl Left<ROWS>, sink: &mut impl Sink) {
        Sums::<M, ROWS, 1, 4>::of(&left, [self], Fours, 0).give(sink);
    }
}

/// The right side of a product.
trait Sides: Copy {
    /// That of a tile: so many blocks of columns from the `block`th on.
    fn of_tile<const BLOCKS: usize>(self, block: usize) -> impl RightSide;
}

/// Block by block, so many rows each.
#[derive(Clone, Copy)]
struct Packed<'a> {
    blocks: &'a [Block],
    rows: usize,
}

impl Sides for Packed<'_> {
    #[inline(always)]
    fn of_tile<const BLOCKS: usize>(self, block: usize) -> impl RightSide {
        side_by_side::<_, BLOCKS>(self.blocks, self.rows, block)
    }
}

/// All columns as one block.
#[derive(Clone, Copy)]
struct Whole<'a, Row>(&'a [Row]);

impl<'a, Row> Sides for Whole<'a, Row>
where
    &'a [Row]: RightSide,
    Self: Copy,
{
    #[inline(always)]
    fn of_tile<const BLOCKS: usize>(self, _: usize) -> impl RightSide {
        self.0
    }
}

/// The left side of a tile: a number for each of its rows, step by step along what both sides have in common.
pub(super) trait Left<const ROWS: usize> {
    /// Where the numbers of eight steps are: looked up, and held against the ends of the slices, once for all of them.
    type Eight<'a>
    where
        Self: 'a;

    fn eight(&self, first: usize) -> Self::Eight<'_>;

    /// Of one of eight steps.
    fn of(eight: &Self::Eight<'_>, lane: usize) -> [f32; ROWS];

    /// Of any step.
    fn at(&self, step: usize) -> [f32; ROWS];
}

/// `Σ left[k][r] · right[k]` for each row `r` into the sink; all blocks of the right side are of the same length.
#[inline(always)]
pub(super) fn tile<M: Arith, const ROWS: usize, const BLOCKS: usize>(
    left: impl Left<ROWS>,
    right: [&[Block]; BLOCKS],
    sink: &mut impl Sink,
) {
    tile_of::<M, Floats, ROWS, BLOCKS>(left, right, Floats, sink);
}

/// The same with a right side that may stand for other numbers.
#[inline(always)]
fn tile_of<M: Arith, R: Right, const ROWS: usize, const BLOCKS: usize>(
    left: impl Left<ROWS>,
    right: [&[R::Row]; BLOCKS],
    of: R,
    sink: &mut impl Sink,
) {
    // As many vectors of the blocks at once as the registers hold.
    match M::WIDTH {
        2 => Sums::<M, ROWS, BLOCKS, 2>::of(&left, right, of, 0).give(sink),
        _ => {
            for first in 0..COLUMNS / M::LANES {
                Sums::<M, ROWS, BLOCKS, 1>::of(&left, right, of, first).give(sink);
            }
        }
    }
}

/// The numbers of a row from `at` on, as many as a vector has; zeros where the row has no more.
#[inline(always)]
fn vector_of_row<M: Arith>(row: &[f32], at: usize) -> M::Vector {
    match row.get(at..at + M::LANES) {
        Some(numbers) => M::load(numbers),
        None => Block::of_rest(row.get(at..).unwrap_or_default()).vector::<M>(0),
    }
}

/// The reverse: as many as the row has.
#[inline(always)]
fn put_vector_in_row<M: Arith>(x: M::Vector, row: &mut [f32], at: usize) {
    match row.get_mut(at..at + M::LANES) {
        Some(numbers) => M::store(x, numbers),
        None => {
            let mut block = Block::ZERO;
            block.set::<M>(0, x);
            block.put_in_rest(row.get_mut(at..).unwrap_or_default());
        }
    }
}

/// Some panels of a packed right side, each `rows` long, from the `first` on.
#[inline(always)]
pub(super) fn side_by_side<T, const BLOCKS: usize>(packed: &[T], rows: usize, first: usize) -> [&[T]; BLOCKS] {
    let mut blocks = [&packed[..0]; BLOCKS];
    for (number, block) in blocks.iter_mut().enumerate() {
        *block = &packed[(first + number) * rows..][..rows];
    }
    blocks
}

/// Rows that lie one after the other, `len` numbers each, from the `first` on.
#[inline(always)]
fn rows<const ROWS: usize>(data: &[f32], len: usize, first: usize) -> Lines<'_, ROWS> {
    let mut lines = [&data[..0]; ROWS];
    for (row, line) in lines.iter_mut().enumerate() {
        *line = &data[(first + row) * len..][..len];
    }
    Lines(lines)
}

/// Rows as slices.
struct Lines<'a, const ROWS: usize>([&'a [f32]; ROWS]);

// Loops over references here, no closures and no arrays as iterators: what is not inlined is not compiled for the instructions of
// the form either.
impl<const ROWS: usize> Left<ROWS> for Lines<'_, ROWS> {
    type Eight<'a>
        = [&'a Lanes; ROWS]
    where
        Self: 'a;

    #[inline(always)]
    fn eight(&self, first: usize) -> [&Lanes; ROWS] {
        let mut eight = [&[0.0; LANES]; ROWS];
        for (eight, line) in eight.iter_mut().zip(&self.0) {
            *eight = line[first..].first_chunk().expect("eight steps");
        }
        eight
    }

    #[inline(always)]
    fn of(eight: &[&Lanes; ROWS], lane: usize) -> [f32; ROWS] {
        let mut numbers = [0.0; ROWS];
        for (number, line) in numbers.iter_mut().zip(eight) {
            *number = line[lane];
        }
        numbers
    }

    #[inline(always)]
    fn at(&self, step: usize) -> [f32; ROWS] {
        let mut numbers = [0.0; ROWS];
        for (number, line) in numbers.iter_mut().zip(&self.0) {
            *number = line[step];
        }
        numbers
    }
}

/// Rows that lie side by side, `count` of them: those from the `first` on.
struct Columns<'a> {
    data: &'a [f32],
    count: usize,
    first: usize,
}

impl<const ROWS: usize> Left<ROWS> for Columns<'_> {
    /// The rows of the first of them, and how far the next are.
    type Eight<'a>
        = (&'a [f32], usize)
    where
        Self: 'a;

    #[inline(always)]
    fn eight(&self, first: usize) -> (&[f32], usize) {
        (&self.data[first * self.count + self.first..][..(LANES - 1) * self.count + ROWS], self.count)
    }

    #[inline(always)]
    fn of(&(data, count): &(&[f32], usize), lane: usize) -> [f32; ROWS] {
        *data[lane * count..].first_chunk().expect("as many rows")
    }

    #[inline(always)]
    fn at(&self, step: usize) -> [f32; ROWS] {
        *self.data[step * self.count + self.first..].first_chunk().expect("as many rows")
    }
}

/// A product that is made some columns at a time.
pub(super) trait ByColumns {
    /// Makes all rows of `BLOCKS` blocks of columns from the `block`th on.
    fn make_columns<M: Arith, const BLOCKS: usize>(&mut self, block: usize);
}

/// Makes all columns.
#[inline(always)]
pub(super) fn make_columns<F: Form>(product: &mut impl ByColumns, blocks: usize) {
    let mut block = 0;
    if F::BLOCKS == 4 {
        while blocks - block >= 4 {
            product.make_columns::<F::Wide, 4>(block);
            block += 4;
        }
        if blocks - block == 3 {
            product.make_columns::<F::Wide, 3>(block);
            block += 3;
        }
        if blocks - block == 2 {
            product.make_columns::<F::Wide, 2>(block);
            block += 2;
        }
    }
    while block < blocks {
        product.make_columns::<F::Wide, 1>(block);
        block += 1;
    }
}

/// A product that is made some rows and columns at a time.
pub(super) trait Product {
    /// Makes `ROWS` rows from the `row`th on of `BLOCKS` blocks of columns from the `block`th on.
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize);
}

/// A product with its number of rows, of which a tile has at most `MOST`.
struct Rows<'a, P, const MOST: usize> {
    product: &'a mut P,
    count: usize,
}

impl<P: Product, const MOST: usize> ByColumns for Rows<'_, P, MOST> {
    /// Whole tiles keep the multipliers busy, the rest goes in smaller ones.
    #[inline(always)]
    fn make_columns<M: Arith, const BLOCKS: usize>(&mut self, block: usize) {
        let mut row = 0;
        while self.count - row >= MOST {
            self.product.make::<M, MOST, BLOCKS>(row, block);
            row += MOST;
        }
        let left = self.count - row;
        if left & 4 != 0 {
            self.product.make::<M, 4, BLOCKS>(row, block);
            row += 4;
        }
        if left & 2 != 0 {
            self.product.make::<M, 2, BLOCKS>(row, block);
            row += 2;
        }
        if left & 1 != 0 {
            self.product.make::<M, 1, BLOCKS>(row, block);
        }
    }
}

/// Makes all rows of so many blocks of columns.
#[inline(always)]
fn make_rows<M: Arith, const BLOCKS: usize>(product: &mut impl Product, rows: usize) {
    Rows::<_, TILE> { product, count: rows }.make_columns::<M, BLOCKS>(0);
}

/// Makes all rows of all columns.
#[inline(always)]
pub(super) fn make_all<F: Form>(product: &mut impl Product, rows: usize, blocks: usize) {
    make_columns::<F>(&mut Rows::<_, TILE> { product, count: rows }, blocks);
}

versions! {
    /// Packs `matrix`, `[rows][columns]`, into `blocks`, `[ceil(columns / 16)][rows]`.
    pack = pack_body(matrix: &[f32], columns: usize, blocks: &mut [Block])
}

#[inline(always)]
fn pack_body<F: Form>(matrix: &[f32], columns: usize, blocks: &mut [Block]) {
    // The same code twice: with a chessboard's squares as a constant, and for any.
    if columns == CHESS {
        pack_all(matrix, CHESS, blocks);
    } else {
        pack_all(matrix, columns, blocks);
    }
}

#[inline(always)]
fn pack_all(matrix: &[f32], columns: usize, blocks: &mut [Block]) {
    pack_blocks(matrix, columns, 0, blocks);
}

/// Blocks of the columns from the `first` on.
#[inline(always)]
fn pack_blocks(matrix: &[f32], columns: usize, first: usize, blocks: &mut [Block]) {
    let rows = matrix.len() / columns;
    for (number, blocks) in blocks.chunks_exact_mut(rows).enumerate() {
        pack_columns(matrix, columns, (first + number) * COLUMNS, blocks);
    }
}

/// The columns of every row from `at` on.
#[inline(always)]
fn pack_columns(matrix: &[f32], columns: usize, at: usize, blocks: &mut [Block]) {
    let rows = matrix.chunks_exact(columns).zip(blocks);
    rows.for_each(|(row, block)| *block = Block::of_row(row, at));
}

/// Some panels of a dense layer, [`COLUMNS`] neurons each.
#[derive(Clone, Copy)]
pub(super) struct DensePanels<'a, R: Right> {
    /// `[panels][inputs]`, something finite where there are fewer neurons.
    pub weights: &'a [R::Row],
    /// What the weights stand for.
    pub of: R,
    /// `[panels]`.
    pub bias: &'a [Block],
    /// `[positions][inputs]`.
    pub input: &'a [f32],
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
    /// The same with weights of 16 bits, which become floats in registers, right before they are multiplied.
    dense_linear = dense_linear_body(panels: DensePanels<'_, Linear>, output: &mut [f32])
}

#[inline(always)]
fn dense_linear_body<F: Form>(panels: DensePanels<'_, Linear>, output: &mut [f32]) {
    // Tiles of six rows leave no registers for that.
    make_neurons::<F, 4>(panels, output);
}

#[inline(always)]
fn make_neurons<F: Form, const MOST: usize>(panels: DensePanels<'_, impl Right>, output: &mut [f32]) {
    let inputs = panels.weights.len() / panels.bias.len();
    let positions = panels.input.len() / inputs;
    let neurons = output.len() / positions;
    let product = &mut Neurons { panels, inputs, neurons, output };
    make_columns::<F>(&mut Rows::<_, MOST> { product, count: positions }, panels.bias.len());
}

struct Neurons<'a, R: Right> {
    panels: DensePanels<'a, R>,
    inputs: usize,
    neurons: usize,
    output: &'a mut [f32],
}

impl<R: Right> Product for Neurons<'_, R> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let DensePanels { weights, of, bias, input } = self.panels;
        let right = side_by_side(weights, self.inputs, block);
        self.fetch_next::<M, ROWS, BLOCKS>(row, block);
        let rows_of_output = InRows { output: &mut self.output[row * self.neurons..], len: self.neurons, block };
        let sink = &mut WithBias { bias: &bias[block..], rows: rows_of_output };
        tile_of::<M, R, ROWS, BLOCKS>(rows(input, self.inputs, row), right, of, sink);
    }
}

impl<R: Right> Neurons<'_, R> {
    /// Asks for the weights that come after those of a tile, which other rows will need meanwhile: for a tile's share of them.
    #[inline(always)]
    fn fetch_next<M: Arith, const ROWS: usize, const BLOCKS: usize>(&self, row: usize, block: usize) {
        let count = self.panels.input.len() / self.inputs;
        let len = BLOCKS * self.inputs;
        let next = self.panels.weights.get((block + BLOCKS) * self.inputs..).unwrap_or_default();
        let (first, last) = (len * row / count, len * (row + ROWS) / count);
        for weights in next.get(first..last.min(next.len())).unwrap_or_default() {
            M::fetch(weights);
        }
    }
}

/// Writes a tile to where it belongs in rows of `len` numbers, from the `block`th block of their columns on.
struct InRows<'a> {
    output: &'a mut [f32],
    len: usize,
    block: usize,
}

impl InRows<'_> {
    #[inline(always)]
    fn put<M: Arith>(&mut self, row: usize, block: usize, vector: usize, x: M::Vector) {
        let row = &mut self.output[row * self.len..][..self.len];
        put_vector_in_row::<M>(x, row, (self.block + block) * COLUMNS + vector * M::LANES);
    }
}

impl Sink for InRows<'_> {
    #[inline(always)]
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    ) {
        for (block, sums) in sums.iter().enumerate() {
            for (vector, x) in sums.iter().enumerate() {
                self.put::<M>(row, block, first + vector, *x);
            }
        }
    }
}

/// The same with a bias for each column.
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

/// Some panels of a 1×1 convolution, with all that ends it.
#[derive(Clone, Copy)]
pub(super) struct Pointwise<'a> {
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
pub(super) enum Inputs<'a> {
    /// `[ceil(squares / 16)][input channels]`.
    Packed(&'a [Block]),
    /// `[input channels][squares]`, of chessboards, where [`Isa::takes_boards`].
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
        // As above.
        Inputs::Packed(input) if panels.squares == CHESS => {
            pointwise_over::<F>(Pointwise { squares: CHESS, ..panels }, input, output);
        }
        Inputs::Packed(input) => pointwise_over::<F>(panels, input, output),
    }
}

#[inline(always)]
fn pointwise_over<F: Form>(panels: Pointwise<'_>, input: &[Block], output: &mut [f32]) {
    // Blocks outside: they stay in the nearest cache for all panels, whose weights are read in order.
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

/// Some columns of each panel.
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
    /// Column of the tile.
    first: usize,
    bias: &'a [f32; TILE],
    residual: Option<&'a [f32]>,
    /// What is less becomes this.
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

/// Below it an activation has its smallest value. For those that are no more than that, nothing else is left to do.
fn least(activation: Activation) -> f32 {
    if activation == Activation::Relu { 0.0 } else { f32::NEG_INFINITY }
}

/// Whether an activation is no more than its [`least`] value.
fn ends_at_least(activation: Activation) -> bool {
    matches!(activation, Activation::None | Activation::Relu)
}

/// Activates some squares of each channel.
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

/// What is made of a channel's sums before anything else: the bias is added.
pub(super) trait End {
    fn of<M: Arith>(&self, sums: M::Vector) -> M::Vector;
}

/// Ends some rows of a 1×1 convolution and writes it to where it belongs in `output`, `[channels][squares]`: its channels from the
/// `first` and its squares from the `block` on. The residual lies as the output.
#[inline(always)]
pub(super) fn put_in_channels<M: Arith, E: End, const ROWS: usize, const BLOCKS: usize>(
    sums: &mut [[Block; BLOCKS]; ROWS],
    ends: impl Iterator<Item = E>,
    (first, block): (usize, usize),
    (squares, residual, activation): (usize, Option<&[f32]>, Activation),
    output: &mut [f32],
) {
    let channels = output[first * squares..].chunks_exact_mut(squares).zip(sums).zip(ends).zip(first..);
    for (((row, sums), end), channel) in channels {
        let residual = residual.map(|r| &r[channel * squares..][..squares]);
        for (number, sums) in sums.iter_mut().enumerate() {
            let at = (block + number) * COLUMNS;
            let residual = residual.map(|row| Block::of_row(row, at));
            for vector in 0..COLUMNS / M::LANES {
                let mut x = end.of::<M>(sums.vector::<M>(vector));
                if let Some(residual) = &residual {
                    x = M::plus(x, residual.vector::<M>(vector));
                }
                sums.set::<M>(vector, activate_vector::<M>(activation, x));
            }
            sums.put_in_row(row, at);
        }
    }
}

/// One head of an attention. All values are `[channels of the head][squares]`.
#[derive(Clone, Copy)]
pub(super) struct Attention<'a> {
    pub squares: usize,
    pub query: &'a [f32],
    pub key: &'a [f32],
    pub value: &'a [f32],
    /// `[squares of the key][squares of the query]`.
    pub bias: Option<&'a [f32]>,
}

/// Blocks that [`attention`] needs to work in: so many channels of the query in the head.
pub(super) fn attention_room(squares: usize, depth: usize) -> usize {
    blocks_at_once(squares) * (depth + squares)
}

/// Blocks that [`scores`] needs to work in.
pub(super) fn scores_room(squares: usize, channels: usize) -> usize {
    blocks_at_once(squares) * channels
}

/// The most blocks of columns that any form works on at once.
fn blocks_at_once(columns: usize) -> usize {
    columns.div_ceil(COLUMNS).min(MOST_BLOCKS)
}

versions! {
    /// Weighs the values into `output`, `[channels][squares]`; `room` has [`attention_room`] blocks.
    attention = attention_body(head: Attention<'_>, room: &mut [Block], output: &mut [f32])
}

#[inline(always)]
fn attention_body<F: Form>(head: Attention<'_>, room: &mut [Block], output: &mut [f32]) {
    // As above.
    match (takes_boards::<F>(), head.squares) {
        (true, CHESS) => attention_on_board::<F::Wide>(Attention { squares: CHESS, ..head }, room, output),
        (false, CHESS) => attention_over::<F>(Attention { squares: CHESS, ..head }, room, output),
        _ => attention_over::<F>(head, room, output),
    }
}

/// All squares at once, which lie in the order that the products want.
#[inline(always)]
fn attention_on_board<M: Arith>(head: Attention<'_>, room: &mut [Block], output: &mut [f32]) {
    let scores = &mut room[..MOST_BLOCKS * CHESS];
    let apart = Apart { rows: MOST_BLOCKS, blocks: 1 };
    let mut shares = [Block::ZERO; MOST_BLOCKS];
    make_rows::<M, 1>(&mut Keys { head, first: 0, queries: Whole(boards(head.query)), apart, scores }, CHESS);
    Exponents { squares: CHESS, apart, scores, shares: &mut shares }.make_columns::<M, MOST_BLOCKS>(0);
    let weights = Whole(scores.as_chunks::<MOST_BLOCKS>().0);
    make_rows::<M, 1>(&mut Values { head, first: 0, weights, shares: &shares, output }, head.value.len() / CHESS);
}

#[inline(always)]
fn attention_over<F: Form>(head: Attention<'_>, room: &mut [Block], output: &mut [f32]) {
    let Attention { squares, query, value, .. } = head;
    let (depth, blocks) = (query.len() / squares, squares.div_ceil(COLUMNS));
    let (queries, scores) = room.split_at_mut(blocks_at_once(squares) * depth);
    let apart = Apart { rows: 1, blocks: squares };
    // Some squares of the query at a time: their scores, one row a key, stay in the nearest cache.
    for first in (0..blocks).step_by(F::BLOCKS) {
        let count = F::BLOCKS.min(blocks - first);
        let (queries, scores) = (&mut queries[..count * depth], &mut scores[..count * squares]);
        pack_blocks(query, squares, first, queries);
        let queries = Packed { blocks: queries, rows: depth };
        make_all::<F>(&mut Keys { head, first, queries, apart, scores }, squares, count);
        let mut shares = [Block::ZERO; MOST_BLOCKS];
        make_columns::<F>(&mut Exponents { squares, apart, scores, shares: &mut shares }, count);
        let weights = Packed { blocks: scores, rows: squares };
        make_all::<F>(&mut Values { head, first, weights, shares: &shares, output }, value.len() / squares, count);
    }
}

/// Chessboards, one after the other.
#[inline(always)]
fn boards(squares: &[f32]) -> &[[f32; CHESS]] {
    squares.as_chunks().0
}

/// How far apart blocks of scores lie: those of a key from those of the next one, and those of a key.
#[derive(Clone, Copy)]
struct Apart {
    rows: usize,
    blocks: usize,
}

/// The scores of some blocks of queries: products with each key over the root of the channels, and the bias.
struct Keys<'a, Q> {
    head: Attention<'a>,
    first: usize,
    queries: Q,
    apart: Apart,
    scores: &'a mut [Block],
}

impl<Q: Sides> Product for Keys<'_, Q> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let Attention { squares, key, bias, .. } = self.head;
        let bias = bias.map(|bias| &bias[row * squares..][..ROWS * squares]);
        let apart = self.apart;
        let scores = &mut self.scores[block * apart.blocks + row * apart.rows..];
        let by = 1.0 / ((key.len() / squares) as f32).sqrt();
        let sink = &mut InScores { squares, first: self.first + block, by, bias, apart, scores };
        self.queries.of_tile::<BLOCKS>(block).tile::<M, ROWS>(Columns { data: key, count: squares, first: row }, sink);
    }
}

struct InScores<'a> {
    squares: usize,
    /// Block of the queries.
    first: usize,
    /// What the sums are multiplied by.
    by: f32,
    /// `[rows][squares]`.
    bias: Option<&'a [f32]>,
    apart: Apart,
    scores: &'a mut [Block],
}

impl Sink for InScores<'_> {
    #[inline(always)]
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    ) {
        let each = COLUMNS / M::LANES;
        let bias = self.bias.map(|bias| &bias[row * self.squares..][..self.squares]);
        for (block, sums) in sums.iter().enumerate() {
            for (vector, x) in (first..).zip(sums) {
                let at = (self.first + block) * COLUMNS + vector * M::LANES;
                let x = match bias {
                    Some(bias) => M::scale_add(self.by, *x, vector_of_row::<M>(bias, at)),
                    None => M::times(M::splat(self.by), *x),
                };
                let block = (block + vector / each) * self.apart.blocks + row * self.apart.rows;
                self.scores[block].set::<M>(vector % each, x);
            }
        }
    }
}

/// Makes `e^(x - largest of its column)` of each score, and what the sums of the columns have to be multiplied by to be one.
struct Exponents<'a> {
    squares: usize,
    apart: Apart,
    scores: &'a mut [Block],
    /// For each block.
    shares: &'a mut [Block],
}

impl ByColumns for Exponents<'_> {
    /// Block by block in the innermost loops, none of which then waits for what it has just begun.
    #[inline(always)]
    fn make_columns<M: Arith, const BLOCKS: usize>(&mut self, block: usize) {
        let (squares, apart) = (self.squares, self.apart);
        let scores = &mut self.scores[block * apart.blocks..];
        for vector in 0..COLUMNS / M::LANES {
            let mut largest = [M::splat(f32::NEG_INFINITY); BLOCKS];
            for row in 0..squares {
                for (number, largest) in largest.iter_mut().enumerate() {
                    *largest =
                        M::larger(scores[number * apart.blocks + row * apart.rows].vector::<M>(vector), *largest);
                }
            }
            let mut sums = [M::splat(0.0); BLOCKS];
            for row in 0..squares {
                for (number, (sum, largest)) in sums.iter_mut().zip(&largest).enumerate() {
                    let score = &mut scores[number * apart.blocks + row * apart.rows];
                    let x = exp_up_to_end::<M>(M::minus(score.vector::<M>(vector), *largest));
                    *sum = M::plus(*sum, x);
                    score.set::<M>(vector, x);
                }
            }
            for (sum, block) in sums.iter().zip(&mut self.shares[block..]) {
                block.set::<M>(vector, M::over(M::splat(1.0), *sum));
            }
        }
    }
}

/// The means of the values of some blocks of queries.
struct Values<'a, W> {
    head: Attention<'a>,
    first: usize,
    weights: W,
    /// What the sums are multiplied by, for each block.
    shares: &'a [Block],
    output: &'a mut [f32],
}

impl<W: Sides> Product for Values<'_, W> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let Attention { squares, value, .. } = self.head;
        let output = InRows { output: &mut self.output[row * squares..], len: squares, block: self.first + block };
        let sink = &mut Shares { by: &self.shares[block..], rows: output };
        self.weights.of_tile::<BLOCKS>(block).tile::<M, ROWS>(rows(value, squares, row), sink);
    }
}

/// Rows whose columns are multiplied by something each.
struct Shares<'a> {
    by: &'a [Block],
    rows: InRows<'a>,
}

impl Sink for Shares<'_> {
    #[inline(always)]
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    ) {
        for (block, sums) in sums.iter().enumerate() {
            for (vector, x) in (first..).zip(sums) {
                let by = vector_of_blocks::<M>(&self.by[block..], vector);
                self.rows.put::<M>(row, block, vector, M::times(by, *x));
            }
        }
    }
}

/// The products of each square of a query with each of a key, both `[channels][squares]`, over the root of the channels.
#[derive(Clone, Copy)]
pub(super) struct Scores<'a> {
    pub channels: usize,
    pub query: &'a [f32],
    pub key: &'a [f32],
}

versions! {
    /// Computes them into `output`, `[squares of the query][squares of the key]`; `room` has [`scores_room`] blocks.
    scores = scores_body(sides: Scores<'_>, room: &mut [Block], output: &mut [f32])
}

#[inline(always)]
fn scores_body<F: Form>(sides: Scores<'_>, room: &mut [Block], output: &mut [f32]) {
    let Scores { channels, query, key } = sides;
    let (queries, squares) = (query.len() / channels, key.len() / channels);
    if takes_boards::<F>() && squares == CHESS {
        return make_rows::<F::Wide, 1>(&mut Queries { sides, first: 0, keys: Whole(boards(key)), output }, queries);
    }
    let blocks = squares.div_ceil(COLUMNS);
    for first in (0..blocks).step_by(F::BLOCKS) {
        let count = F::BLOCKS.min(blocks - first);
        let keys = &mut room[..count * channels];
        pack_blocks(key, squares, first, keys);
        let keys = Packed { blocks: keys, rows: channels };
        make_all::<F>(&mut Queries { sides, first, keys, output }, queries, count);
    }
}

struct Queries<'a, K> {
    sides: Scores<'a>,
    first: usize,
    keys: K,
    output: &'a mut [f32],
}

impl<K: Sides> Product for Queries<'_, K> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let Scores { channels, query, key } = self.sides;
        let (queries, squares) = (query.len() / channels, key.len() / channels);
        let left = Columns { data: query, count: queries, first: row };
        let output = InRows { output: &mut self.output[row * squares..], len: squares, block: self.first + block };
        let by = [Block([1.0 / (channels as f32).sqrt(); COLUMNS]); MOST_BLOCKS];
        self.keys.of_tile::<BLOCKS>(block).tile::<M, ROWS>(left, &mut Shares { by: &by, rows: output });
    }
}
