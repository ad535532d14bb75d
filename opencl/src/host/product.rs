//! Products of matrices: dense layers, 1×1 convolutions, the products in attention, and Winograd's points.
//!
//! All of them have one tile: up to [`TILE`] rows of the left side times one or some [`Block`]s of sixteen columns of
//! the right side. The sums stay in registers while the tile walks over the dimension that both sides have in common.
//! Each sum is one chain of additions, whatever the number of rows and blocks, so that a row's result does not depend
//! on which other rows it is computed with.
//!
//! The right side is packed, panel by panel of a block's width, so that a tile reads it in order and its panels stay in
//! a near cache for all rows; chessboards need not be packed if a tile is as wide as one ([`takes_boards`]).

mod attention;
mod dense;
mod pointwise;
mod right;

pub(super) use attention::{Attention, Scores, attention, attention_room, scores, scores_room};
pub(super) use dense::{DenseInput, DensePanels, Entry, dense, dense_linear, sparse};
pub(super) use pointwise::{Inputs, Pointwise, pointwise};
pub(super) use right::{Floats, Right, takes_boards};

use super::arith::{Arith, Form};
use super::board::{LANES, Lanes};
use super::direct::TILE;
use super::isa::versions;

/// How many columns a block has.
pub(super) const COLUMNS: usize = 2 * LANES;

/// How many squares a chessboard has.
pub(super) const CHESS: usize = 64;

/// How many blocks a tile of any form is wide, at most.
pub(super) const MOST_BLOCKS: usize = 4;

/// A row of sixteen columns: a cache line.
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

    /// The columns of a row from `at` on; zeros beyond the row's end.
    #[inline(always)]
    pub fn of_row(row: &[f32], at: usize) -> Self {
        match row[at..].first_chunk() {
            Some(columns) => Self(*columns),
            None => Self::of_rest(&row[at..]),
        }
    }

    // The rest of a row is copied in a function of its own: in the same one, the compiler makes whole blocks calls of
    // `memcpy`, too.
    #[cold]
    #[inline(never)]
    fn of_rest(rest: &[f32]) -> Self {
        let mut block = Self::ZERO;
        block.0[..rest.len()].copy_from_slice(rest);
        block
    }

    /// The reverse of [`Block::of_row`]: writes as many columns as the row has.
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

/// The sums of a tile while they are in registers: `VECTORS` vectors of each block, from vector `first` on.
struct Sums<M: Arith, const ROWS: usize, const BLOCKS: usize, const VECTORS: usize> {
    held: [[[M::Vector; VECTORS]; BLOCKS]; ROWS],
    first: usize,
}

impl<M: Arith, const ROWS: usize, const BLOCKS: usize, const VECTORS: usize> Sums<M, ROWS, BLOCKS, VECTORS> {
    #[inline(always)]
    fn zeros(first: usize) -> Self {
        Self { held: [[[M::splat(0.0); VECTORS]; BLOCKS]; ROWS], first }
    }

    /// `Σ left[k][r] · right[k]` for each row `r`.
    #[inline(always)]
    fn of<L: Left<ROWS>, R: Right>(left: &L, right: [&[R::Row]; BLOCKS], of: R, first: usize) -> Self {
        let mut sums = Self::zeros(first);
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

    /// Adds one step of the sum.
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

/// What is done with a tile's sums while they are in registers.
pub(super) trait Sink {
    /// Takes the sums of the tile's row with this number: of each of its blocks, the vectors from `first` on.
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    );
}

/// Eight rows from `first` on.
#[inline(always)]
fn eight_rows<T>(rows: &[T], first: usize) -> &[T; LANES] {
    rows[first..].first_chunk().expect("eight steps")
}

/// The left side of a tile: a number for each of its rows, step by step along the dimension that both sides have in
/// common.
pub(super) trait Left<const ROWS: usize> {
    /// Where the numbers of eight steps are: looked up, and checked against the ends of the slices, once for all of
    /// them.
    type Eight<'a>
    where
        Self: 'a;

    fn eight(&self, first: usize) -> Self::Eight<'_>;

    /// The numbers of one of eight steps.
    fn of(eight: &Self::Eight<'_>, lane: usize) -> [f32; ROWS];

    /// The numbers of any step.
    fn at(&self, step: usize) -> [f32; ROWS];
}

/// Gives `Σ left[k][r] · right[k]` for each row `r` to the sink; all blocks of the right side have the same length.
#[inline(always)]
pub(super) fn tile<M: Arith, const ROWS: usize, const BLOCKS: usize>(
    left: impl Left<ROWS>,
    right: [&[Block]; BLOCKS],
    sink: &mut impl Sink,
) {
    tile_of::<M, Floats, ROWS, BLOCKS>(left, right, Floats, sink);
}

/// Like [`tile`], with a right side whose numbers may stand for others: `of` says which.
#[inline(always)]
fn tile_of<M: Arith, R: Right, const ROWS: usize, const BLOCKS: usize>(
    left: impl Left<ROWS>,
    right: [&[R::Row]; BLOCKS],
    of: R,
    sink: &mut impl Sink,
) {
    // As many vectors of the blocks at once as there are registers for.
    match M::WIDTH {
        2 => Sums::<M, ROWS, BLOCKS, 2>::of(&left, right, of, 0).give(sink),
        _ => {
            for first in 0..COLUMNS / M::LANES {
                Sums::<M, ROWS, BLOCKS, 1>::of(&left, right, of, first).give(sink);
            }
        }
    }
}

/// The numbers of a row from `at` on, as many as a vector has; zeros beyond the row's end.
#[inline(always)]
fn vector_of_row<M: Arith>(row: &[f32], at: usize) -> M::Vector {
    match row.get(at..at + M::LANES) {
        Some(numbers) => M::load(numbers),
        None => Block::of_rest(row.get(at..).unwrap_or_default()).vector::<M>(0),
    }
}

/// The reverse of [`vector_of_row`]: writes as many numbers as the row has.
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

/// Some panels of a packed right side, each `rows` long, from panel `first` on.
#[inline(always)]
pub(super) fn side_by_side<T, const BLOCKS: usize>(packed: &[T], rows: usize, first: usize) -> [&[T]; BLOCKS] {
    let mut blocks = [&packed[..0]; BLOCKS];
    for (number, block) in blocks.iter_mut().enumerate() {
        *block = &packed[(first + number) * rows..][..rows];
    }
    blocks
}

/// Rows that follow each other, `len` numbers each, from row `first` on.
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

// There are loops over references here, but no closures and no iterators over arrays: a function that is not inlined is
// not compiled for the instructions of the form either.
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

/// Rows that are side by side, `count` of them: those from `first` on.
struct Columns<'a> {
    data: &'a [f32],
    count: usize,
    first: usize,
}

impl<const ROWS: usize> Left<ROWS> for Columns<'_> {
    /// The rows of the first of the eight steps, and the distance to the next ones.
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

/// A product that is computed some columns at a time.
pub(super) trait ByColumns {
    /// Computes all rows of `BLOCKS` blocks of columns from the `block`th on.
    fn make_columns<M: Arith, const BLOCKS: usize>(&mut self, block: usize);
}

/// Computes all columns.
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

/// A product that is computed some rows and columns at a time.
pub(super) trait Product {
    /// Computes `ROWS` rows from the `row`th on of `BLOCKS` blocks of columns from the `block`th on.
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize);
}

/// A product with its number of rows, of which a tile has at most `MOST`.
struct Rows<'a, P, const MOST: usize> {
    product: &'a mut P,
    count: usize,
}

impl<P: Product, const MOST: usize> ByColumns for Rows<'_, P, MOST> {
    /// Whole tiles keep the multipliers busy; the rest goes in smaller tiles.
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

/// Computes all rows of `BLOCKS` blocks of columns.
#[inline(always)]
fn make_rows<M: Arith, const BLOCKS: usize>(product: &mut impl Product, rows: usize) {
    Rows::<_, TILE> { product, count: rows }.make_columns::<M, BLOCKS>(0);
}

/// Computes all rows of all columns.
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
    // The same code is compiled twice: with a chessboard's squares as a constant, and for any number.
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

/// Blocks of the columns from `first` on.
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

/// Writes a tile to its place in rows of `len` numbers, from the `block`th block of columns on.
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
