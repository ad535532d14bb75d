//! Products of matrices: dense layers, 1×1 convolutions, and what attention is made of.
//!
//! All of them have one tile: up to [`TILE`] rows of the left side times a [`Block`] of sixteen columns of the right side. The sums
//! stay in registers while it walks over what they have in common. Each sum is one chain of additions, whatever the
//! number of rows, so that a row's result does not depend on which rows it is made with.
//!
//! The right side is packed, block by block, so that a tile reads it in order and a block stays in the nearest cache for
//! all rows.

use super::arith::{Arith, activate_vector};
use super::board::LANES;
use super::kernel::{TILE, versions};
use crate::graph::Activation;

/// Columns of a tile.
pub(super) const COLUMNS: usize = 2 * LANES;

/// A row of sixteen columns: a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Block(pub [f32; COLUMNS]);

impl Block {
    pub const ZERO: Self = Self([0.0; COLUMNS]);

    #[inline(always)]
    fn vector<M: Arith>(&self, number: usize) -> M::Vector {
        M::load(self.0[number * LANES..].first_chunk().expect("eight numbers"))
    }

    #[inline(always)]
    fn set<M: Arith>(&mut self, number: usize, x: M::Vector) {
        M::store(x, self.0[number * LANES..].first_chunk_mut().expect("room for eight numbers"));
    }

    /// The columns of a row from `at` on; zeros where it has no more.
    #[inline(always)]
    fn of_row(row: &[f32], at: usize) -> Self {
        match row[at..].first_chunk() {
            Some(columns) => Self(*columns),
            None => {
                let mut block = Self::ZERO;
                block.0[..row.len() - at].copy_from_slice(&row[at..]);
                block
            }
        }
    }

    /// The reverse: as many as the row has.
    #[inline(always)]
    pub fn put_in_row(&self, row: &mut [f32], at: usize) {
        match row[at..].first_chunk_mut() {
            Some(columns) => *columns = self.0,
            None => {
                let left = row.len() - at;
                row[at..].copy_from_slice(&self.0[..left]);
            }
        }
    }
}

/// `sums[r] += Σ left[k][r] · right[k]`.
#[inline(always)]
fn tile<M: Arith, const ROWS: usize>(
    left: impl Iterator<Item = [f32; ROWS]> + Clone,
    right: &[Block],
    sums: &mut [Block; ROWS],
) {
    match M::WIDTH {
        1 => {
            part_of_tile::<M, ROWS, 1>(left.clone(), right, 0, sums);
            part_of_tile::<M, ROWS, 1>(left, right, 1, sums);
        }
        _ => part_of_tile::<M, ROWS, 2>(left, right, 0, sums),
    }
}

/// `WIDTH` vectors of a tile, from the `first` on: as many as the registers hold.
#[inline(always)]
fn part_of_tile<M: Arith, const ROWS: usize, const WIDTH: usize>(
    left: impl Iterator<Item = [f32; ROWS]>,
    right: &[Block],
    first: usize,
    sums: &mut [Block; ROWS],
) {
    let mut held = [[M::splat(0.0); WIDTH]; ROWS];
    for (held, sums) in held.iter_mut().zip(&*sums) {
        for (number, held) in held.iter_mut().enumerate() {
            *held = sums.vector::<M>(first + number);
        }
    }
    for (a, block) in left.zip(right) {
        let mut x = [M::splat(0.0); WIDTH];
        for (number, x) in x.iter_mut().enumerate() {
            *x = block.vector::<M>(first + number);
        }
        for row in 0..ROWS {
            for number in 0..WIDTH {
                held[row][number] = M::scale_add(a[row], x[number], held[row][number]);
            }
        }
    }
    for (held, sums) in held.iter().zip(sums) {
        for (number, held) in held.iter().enumerate() {
            sums.set::<M>(first + number, *held);
        }
    }
}

/// A left side whose rows lie one after the other, `len` numbers each.
#[inline(always)]
fn rows<const ROWS: usize>(
    data: &[f32],
    len: usize,
    first: usize,
) -> impl Iterator<Item = [f32; ROWS]> + Clone + use<'_, ROWS> {
    let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &data[(first + row) * len..][..len]);
    (0..len).map(move |k| rows.map(|row| row[k]))
}

/// A left side whose rows lie side by side, `count` of them.
#[inline(always)]
fn columns<const ROWS: usize>(
    data: &[f32],
    count: usize,
    first: usize,
) -> impl Iterator<Item = [f32; ROWS]> + Clone + use<'_, ROWS> {
    data.chunks_exact(count).map(move |row| *row[first..].first_chunk().expect("as many rows"))
}

/// A product that is made some rows at a time.
trait Product {
    /// Makes `ROWS` rows from the `first` on.
    fn make<M: Arith, const ROWS: usize>(&mut self, first: usize);
}

/// Makes all rows: tiles of six keep the multipliers busy, the rest goes in smaller ones.
#[inline(always)]
fn make_all<M: Arith>(product: &mut impl Product, count: usize) {
    let mut first = 0;
    while count - first >= TILE {
        product.make::<M, TILE>(first);
        first += TILE;
    }
    let left = count - first;
    if left & 4 != 0 {
        product.make::<M, 4>(first);
        first += 4;
    }
    if left & 2 != 0 {
        product.make::<M, 2>(first);
        first += 2;
    }
    if left & 1 != 0 {
        product.make::<M, 1>(first);
    }
}

versions! {
    /// Packs `matrix`, `[rows][columns]`, into `blocks`, `[ceil(columns / 16)][rows]`.
    pack = pack_body(matrix: &[f32], columns: usize, blocks: &mut [Block])
}

#[inline(always)]
fn pack_body<M: Arith>(matrix: &[f32], columns: usize, blocks: &mut [Block]) {
    let rows = matrix.len() / columns;
    for (number, blocks) in blocks.chunks_exact_mut(rows).enumerate() {
        pack_columns(matrix, columns, number * COLUMNS, blocks);
    }
}

/// The columns of every row from `at` on.
#[inline(always)]
fn pack_columns(matrix: &[f32], columns: usize, at: usize, blocks: &mut [Block]) {
    let rows = matrix.chunks_exact(columns).zip(blocks);
    rows.for_each(|(row, block)| *block = Block::of_row(row, at));
}

/// One panel of a dense layer: [`COLUMNS`] neurons.
#[derive(Clone, Copy)]
pub(super) struct DensePanel<'a> {
    /// `[inputs]`, zeros where there are fewer neurons.
    pub weights: &'a [Block],
    pub bias: &'a [f32; COLUMNS],
    /// `[positions][inputs]`.
    pub input: &'a [f32],
}

versions! {
    /// Computes one panel into `output`, `[positions]`.
    dense = dense_body(panel: DensePanel<'_>, output: &mut [Block])
}

#[inline(always)]
fn dense_body<M: Arith>(panel: DensePanel<'_>, output: &mut [Block]) {
    let count = output.len();
    make_all::<M>(&mut Neurons { panel, output }, count);
}

struct Neurons<'a> {
    panel: DensePanel<'a>,
    output: &'a mut [Block],
}

impl Product for Neurons<'_> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize>(&mut self, first: usize) {
        let DensePanel { weights, bias, input } = self.panel;
        let mut sums = [Block(*bias); ROWS];
        tile::<M, ROWS>(rows(input, weights.len(), first), weights, &mut sums);
        self.output[first..first + ROWS].copy_from_slice(&sums);
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
    /// `[ceil(squares / 16)][input channels]`.
    pub input: &'a [Block],
    /// `[output channels][squares]`.
    pub residual: Option<&'a [f32]>,
    pub activation: Activation,
}

versions! {
    /// Computes the panels into `output`, `[output channels][squares]`.
    pointwise = pointwise_body(panels: Pointwise<'_>, output: &mut [f32])
}

#[inline(always)]
fn pointwise_body<M: Arith>(panels: Pointwise<'_>, output: &mut [f32]) {
    let Pointwise { squares, weights, bias, input, residual, activation } = panels;
    let of_panel = weights.len() / bias.len();
    // Blocks outside: one stays in the nearest cache for all panels, whose weights are read in order.
    for (number, input) in input.chunks_exact(of_panel / TILE).enumerate() {
        let at = number * COLUMNS;
        for (panel, (weights, bias)) in weights.chunks_exact(of_panel).zip(bias).enumerate() {
            let mut sums = bias.map(|bias| Block([bias; COLUMNS]));
            tile::<M, TILE>(weights.as_chunks().0.iter().copied(), input, &mut sums);
            let first = panel * TILE * squares;
            for (channel, (row, sums)) in output[first..].chunks_exact_mut(squares).zip(&mut sums).enumerate() {
                let residual = residual.map(|r| Block::of_row(&r[first + channel * squares..][..squares], at));
                for half in 0..2 {
                    let mut y = sums.vector::<M>(half);
                    if let Some(residual) = &residual {
                        y = M::plus(y, residual.vector::<M>(half));
                    }
                    sums.set::<M>(half, activate_vector::<M>(activation, y));
                }
                sums.put_in_row(row, at);
            }
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
    depth + squares
}

versions! {
    /// Weighs the values into `output`, `[channels][squares]`; `room` has [`attention_room`] blocks.
    attention = attention_body(head: Attention<'_>, room: &mut [Block], output: &mut [f32])
}

#[inline(always)]
fn attention_body<M: Arith>(head: Attention<'_>, room: &mut [Block], output: &mut [f32]) {
    let Attention { squares, query, value, .. } = head;
    let depth = query.len() / squares;
    let (queries, scores) = room.split_at_mut(depth);
    let scores = &mut scores[..squares];
    // Sixteen squares of the query at a time: their scores, one row a key, stay in the nearest cache.
    for at in (0..squares).step_by(COLUMNS) {
        pack_columns(query, squares, at, queries);
        scale::<M>(queries, 1.0 / (depth as f32).sqrt());
        make_all::<M>(&mut Keys { head, at, queries, scores }, squares);
        let sums = exponents_of_columns::<M>(scores);
        make_all::<M>(&mut Values { head, at, weights: scores, sums, output }, value.len() / squares);
    }
}

#[inline(always)]
fn scale<M: Arith>(blocks: &mut [Block], by: f32) {
    for block in blocks {
        for half in 0..2 {
            block.set::<M>(half, M::times(M::splat(by), block.vector::<M>(half)));
        }
    }
}

/// The scores of sixteen queries: products with each key, and the bias.
struct Keys<'a> {
    head: Attention<'a>,
    at: usize,
    queries: &'a [Block],
    scores: &'a mut [Block],
}

impl Product for Keys<'_> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize>(&mut self, first: usize) {
        let Attention { squares, key, bias, .. } = self.head;
        let mut sums = [Block::ZERO; ROWS];
        if let Some(bias) = bias {
            let rows = bias[first * squares..].chunks_exact(squares).zip(&mut sums);
            rows.for_each(|(row, sums)| *sums = Block::of_row(row, self.at));
        }
        tile::<M, ROWS>(columns(key, squares, first), self.queries, &mut sums);
        self.scores[first..first + ROWS].copy_from_slice(&sums);
    }
}

/// Makes `e^(x - largest of its column)` of each, and gives the sums of the columns.
#[inline(always)]
fn exponents_of_columns<M: Arith>(rows: &mut [Block]) -> Block {
    let mut all = Block::ZERO;
    for half in 0..2 {
        let mut largest = rows[0].vector::<M>(half);
        for row in &*rows {
            largest = M::larger(row.vector::<M>(half), largest);
        }
        let mut sum = M::splat(0.0);
        for row in &mut *rows {
            let x = M::exp(M::minus(row.vector::<M>(half), largest));
            sum = M::plus(sum, x);
            row.set::<M>(half, x);
        }
        all.set::<M>(half, sum);
    }
    all
}

/// The means of the values of sixteen queries.
struct Values<'a> {
    head: Attention<'a>,
    at: usize,
    weights: &'a [Block],
    /// Of the weights.
    sums: Block,
    output: &'a mut [f32],
}

impl Product for Values<'_> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize>(&mut self, first: usize) {
        let Attention { squares, value, .. } = self.head;
        let mut sums = [Block::ZERO; ROWS];
        tile::<M, ROWS>(rows(value, squares, first), self.weights, &mut sums);
        for (row, sums) in self.output[first * squares..].chunks_exact_mut(squares).zip(&mut sums) {
            for half in 0..2 {
                sums.set::<M>(half, M::over(sums.vector::<M>(half), self.sums.vector::<M>(half)));
            }
            sums.put_in_row(row, self.at);
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
    /// Computes them into `output`, `[squares of the query][squares of the key]`; `room` has a block for each channel.
    scores = scores_body(sides: Scores<'_>, room: &mut [Block], output: &mut [f32])
}

#[inline(always)]
fn scores_body<M: Arith>(sides: Scores<'_>, room: &mut [Block], output: &mut [f32]) {
    let Scores { channels, query, key } = sides;
    let (queries, squares) = (query.len() / channels, key.len() / channels);
    let keys = &mut room[..channels];
    for at in (0..squares).step_by(COLUMNS) {
        pack_columns(key, squares, at, keys);
        scale::<M>(keys, 1.0 / (channels as f32).sqrt());
        make_all::<M>(&mut Queries { query, queries, squares, at, keys, output }, queries);
    }
}

struct Queries<'a> {
    query: &'a [f32],
    queries: usize,
    /// Of the key.
    squares: usize,
    at: usize,
    keys: &'a [Block],
    output: &'a mut [f32],
}

impl Product for Queries<'_> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize>(&mut self, first: usize) {
        let mut sums = [Block::ZERO; ROWS];
        tile::<M, ROWS>(columns(self.query, self.queries, first), self.keys, &mut sums);
        let rows = self.output[first * self.squares..].chunks_exact_mut(self.squares).zip(&sums);
        rows.for_each(|(row, sums)| sums.put_in_row(row, self.at));
    }
}
