//! A 3×3 convolution of a board by Winograd's F(4×4, 3×3): `kernels/winograd.cl` has the definitions.
//!
//! A chessboard has four tiles; on other boards some tiles may be partly outside: a board of 19×19 has 25 of them,
//! which takes 3.6 times fewer products than the definition. Each tile is transformed into 36 points; at each point the
//! convolution is a product of a matrix of tiles by input channels with one of input by output channels. That takes a
//! quarter of the products of the definition if no tile is partly outside.
//!
//! It is used at every batch size, because a position's outputs must not depend on its batch, on boards from 4×4 on,
//! with up to 24 files.
//!
//! Points are computed for eight channels at a time, which are side by side in a vector, and squares for eight output
//! channels likewise. Planes have their squares side by side, so that each block of eight channels is transposed on its
//! way in and out.

use super::arith::{Arith, Form, Ranks, activate_vector};
use super::board::{Board, LANES, Lanes};
use super::isa::versions;
use super::plan::GROUP;
use super::product::{Block, COLUMNS, Left, Product, Sink, make_all, side_by_side, tile};
use crate::graph::Activation;

/// The side of a tile in squares; of its input; and the number of points.
const TILE: usize = 4;
const SIDE: usize = TILE + 2;
pub(super) const POINTS: usize = SIDE * SIDE;

/// The most files of a board: a row of tiles is held at once.
const WIDEST: usize = 3 * LANES;

/// How many rows of the matrices are made at once, if there are several positions: with this many, points and products
/// stay in a near cache from one step to the next, and with fewer it is not worth reading the weights. Those of a
/// chessboard's [`GROUP`] are fewer.
const MOST_ROWS: usize = 64;

/// How many output channels a panel has.
pub(super) const PANEL: usize = COLUMNS;

/// Whether this form is worth it, and possible, on a board.
pub(super) fn fits(board: Board) -> bool {
    board.rows >= TILE && (TILE..=WIDEST).contains(&board.files)
}

/// How many tiles a board has: they are the rows of the matrices.
pub(super) const fn tiles(board: Board) -> usize {
    board.rows.div_ceil(TILE) * board.files.div_ceil(TILE)
}

/// How many positions are computed at once.
pub(super) fn together(board: Board) -> usize {
    (MOST_ROWS / tiles(board)).clamp(1, GROUP)
}

/// The roots of 1/2 and 2: they and their negatives are the points besides 0 and infinity.
const A: f32 = std::f32::consts::FRAC_1_SQRT_2;
const B: f32 = std::f32::consts::SQRT_2;

/// Transforms one dimension of a tile into points.
#[inline(always)]
fn to_points<M: Arith>(d: &[M::Vector; SIDE]) -> [M::Vector; SIDE] {
    let even_a = M::scale_add(-2.0, d[2], d[4]);
    let even_b = M::scale_add(-0.5, d[2], d[4]);
    let odd_a = M::scale_add(-2.0, d[1], d[3]);
    let odd_b = M::scale_add(-0.5, d[1], d[3]);
    [
        M::scale_add(-2.5, d[2], M::plus(d[0], d[4])),
        M::scale_add(A, odd_a, even_a),
        M::scale_add(-A, odd_a, even_a),
        M::scale_add(B, odd_b, even_b),
        M::scale_add(-B, odd_b, even_b),
        M::scale_add(-2.5, d[3], M::plus(d[1], d[5])),
    ]
}

/// Transforms one dimension of a tile's points back into squares.
#[inline(always)]
fn to_squares<M: Arith>(m: &[M::Vector; SIDE]) -> [M::Vector; TILE] {
    let zero = M::splat(0.0);
    let times = |a, x| M::scale_add(a, x, zero);
    let (sum_a, sum_b) = (M::plus(m[1], m[2]), M::plus(m[3], m[4]));
    let (odd_a, odd_b) = (times(A, M::minus(m[1], m[2])), times(B, M::minus(m[3], m[4])));
    [
        M::plus(m[0], M::plus(sum_a, sum_b)),
        M::plus(odd_a, odd_b),
        M::scale_add(2.0, sum_b, times(0.5, sum_a)),
        M::scale_add(2.0, odd_b, M::scale_add(0.5, odd_a, m[5])),
    ]
}

/// Where the points of a position go.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// How many rows the matrices have: for each position as many as it has tiles.
    pub count: usize,
    /// The position's first row.
    pub first: usize,
}

/// Up to eight channels of some positions.
#[derive(Clone, Copy)]
pub(super) struct Channels<'a> {
    /// Their planes, `[channels][plane]`, and behind them what else a position has.
    pub planes: &'a [f32],
    pub channels: usize,
    pub positions: usize,
    /// How far the planes of a position are from those of the next.
    pub distance: usize,
}

versions! {
    /// Makes the points of some channels in `v`, `[POINTS][rows][LANES]`, with the rows of one position after the other;
    /// channels that are not there are zero.
    points = points_body(board: Board, channels: Channels<'_>, v: &mut [f32])
}

#[inline(always)]
fn points_body<F: Form>(board: Board, channels: Channels<'_>, v: &mut [f32]) {
    // The same code is compiled twice: with the chessboard's numbers as constants, and for any board.
    if board == Board::CHESS {
        points_of::<F, { LANES + 2 }, { LANES + 2 }>(Board::CHESS, channels, v);
    } else {
        points_of::<F, { WIDEST + 2 }, SIDE>(board, channels, v);
    }
}

#[inline(always)]
fn points_of<F: Form, const FILES: usize, const RANKS: usize>(board: Board, channels: Channels<'_>, v: &mut [f32]) {
    let Channels { planes, channels, positions, distance } = channels;
    // Made once for all positions: to clear it takes a good part of the time.
    let mut squares = [[F::Row::splat(0.0); FILES]; RANKS];
    for position in 0..positions {
        let planes = &planes[position * distance..][..channels * board.plane];
        let rows = Rows { count: positions * tiles(board), first: position * tiles(board) };
        points_on::<F, FILES, RANKS>(board, planes, rows, &mut squares, v);
    }
}

/// `FILES` is at least the number of files of all tiles, with a border on either side. `RANKS` is the number of ranks
/// that are held at once in `squares`, also with a border: those of the whole board or of a row of tiles. The first rank
/// and the borders of the others are zero.
#[inline(always)]
fn points_on<F: Form, const FILES: usize, const RANKS: usize>(
    board: Board,
    planes: &[f32],
    rows: Rows,
    squares: &mut [[<F::Row as Arith>::Vector; FILES]; RANKS],
    v: &mut [f32],
) {
    let (of_point, across) = (rows.count * LANES, board.files.div_ceil(TILE));
    let mut number = rows.first;
    for first in (0..board.rows).step_by(RANKS - 2) {
        // The first rank is the border; later the first two are the last two of before.
        if first > 0 {
            (squares[0], squares[1]) = (squares[RANKS - 2], squares[RANKS - 1]);
        }
        let held = if first == 0 { 1 } else { 2 };
        for (rank, squares) in (first + held - 1..).zip(&mut squares[held..]) {
            if rank < board.rows {
                read_rank::<F::Row, FILES>(board, planes, rank, squares);
            } else {
                *squares = [F::Row::splat(0.0); FILES];
            }
        }
        for tile in 0..(RANKS - 2) / TILE * across {
            let (y, x) = (tile / across * TILE, tile % across * TILE);
            // First by column, then by row.
            let mut lines = [[F::Row::splat(0.0); SIDE]; SIDE];
            for j in 0..SIDE {
                let column = [0, 1, 2, 3, 4, 5].map(|i| squares[y + i][x + j]);
                lines.iter_mut().zip(to_points::<F::Row>(&column)).for_each(|(line, point)| line[j] = point);
            }
            for (line, v) in lines.iter().zip(v.chunks_exact_mut(SIDE * of_point)) {
                for (point, v) in to_points::<F::Row>(line).into_iter().zip(v.chunks_exact_mut(of_point)) {
                    F::Row::store(point, &mut v[(number + tile) * LANES..]);
                }
            }
        }
        number += (RANKS - 2) / TILE * across;
    }
    squares[0] = [F::Row::splat(0.0); FILES];
}

/// A rank of up to eight planes behind the border before its first file; zeros behind its last one.
#[inline(always)]
fn read_rank<R: Ranks, const FILES: usize>(
    board: Board,
    planes: &[f32],
    rank: usize,
    squares: &mut [R::Vector; FILES],
) {
    for first in (0..board.files).step_by(LANES) {
        let mut files = [R::splat(0.0); LANES];
        for (files, plane) in files.iter_mut().zip(planes.chunks_exact(board.plane)) {
            *files = R::load(&plane[board.origin + rank * board.stride + first..]);
        }
        squares[1 + first..][..LANES].copy_from_slice(&R::transpose(&files));
    }
    // Vectors may have run on into the next rank.
    if !board.files.is_multiple_of(LANES) {
        squares[1 + board.files..].fill(R::splat(0.0));
    }
}

versions! {
    /// The products of all points for some panels: `v` is `[blocks of input channels][POINTS][rows][LANES]`, `weights`
    /// `[panels][POINTS][blocks][LANES]`, `m` `[panels][POINTS][rows]`.
    multiply = multiply_body(v: &[f32], weights: &[Block], rows: usize, m: &mut [Block])
}

#[inline(always)]
fn multiply_body<F: Form>(v: &[f32], weights: &[Block], rows: usize, m: &mut [Block]) {
    let (inputs, panels) = (v.len() / (POINTS * rows), m.len() / (POINTS * rows));
    for point in 0..POINTS {
        make_all::<F>(&mut Point { point, v, weights, inputs, rows, m }, rows, panels);
    }
}

/// The products at one point.
struct Point<'a> {
    point: usize,
    v: &'a [f32],
    weights: &'a [Block],
    /// The number of input channels, in whole blocks.
    inputs: usize,
    rows: usize,
    m: &'a mut [Block],
}

impl Product for Point<'_> {
    #[inline(always)]
    fn make<M: Arith, const ROWS: usize, const BLOCKS: usize>(&mut self, row: usize, block: usize) {
        let of_panel = POINTS * self.inputs;
        let mut right: [_; BLOCKS] = side_by_side(self.weights, of_panel, block);
        for right in &mut right {
            *right = &right[self.point * self.inputs..][..self.inputs];
        }
        let left = Tiles { v: self.v, block: POINTS * self.rows * LANES, at: (self.point * self.rows + row) * LANES };
        let products = &mut self.m[(block * POINTS + self.point) * self.rows + row..];
        tile::<M, ROWS, BLOCKS>(left, right, &mut InPanels { products, of_panel: POINTS * self.rows });
    }
}

/// Rows of one point's products, in which each block belongs to a panel.
struct InPanels<'a> {
    products: &'a mut [Block],
    of_panel: usize,
}

impl Sink for InPanels<'_> {
    #[inline(always)]
    fn take<M: Arith, const BLOCKS: usize, const VECTORS: usize>(
        &mut self,
        row: usize,
        first: usize,
        sums: &[[M::Vector; VECTORS]; BLOCKS],
    ) {
        for (block, sums) in sums.iter().enumerate() {
            let products = &mut self.products[block * self.of_panel + row];
            for (vector, x) in (first..).zip(sums) {
                products.set::<M>(vector, *x);
            }
        }
    }
}

/// One point of some tiles: a row for each tile, with all channels.
struct Tiles<'a> {
    v: &'a [f32],
    /// How many numbers a block of channels has.
    block: usize,
    /// The place of the first row in each block.
    at: usize,
}

impl<const ROWS: usize> Left<ROWS> for Tiles<'_> {
    type Eight<'a>
        = &'a [Lanes; ROWS]
    where
        Self: 'a;

    #[inline(always)]
    fn eight(&self, first: usize) -> &[Lanes; ROWS] {
        let rows = &self.v[first / LANES * self.block + self.at..][..ROWS * LANES];
        rows.as_chunks().0.first_chunk().expect("as many rows")
    }

    #[inline(always)]
    fn of(eight: &&[Lanes; ROWS], lane: usize) -> [f32; ROWS] {
        let mut numbers = [0.0; ROWS];
        for (number, row) in numbers.iter_mut().zip(*eight) {
            *number = row[lane];
        }
        numbers
    }

    #[inline(always)]
    fn at(&self, step: usize) -> [f32; ROWS] {
        <Self as Left<ROWS>>::of(&self.eight(step), step % LANES)
    }
}

versions! {
    /// Computes the planes of one panel of a position, `[channels of the panel][plane]`, from its products
    /// `[POINTS][rows][PANEL]`.
    squares = squares_body(
        board: Board,
        m: &[Block],
        rows: Rows,
        bias: &[f32; PANEL],
        end: End<'_>,
        planes: &mut [f32],
    )
}

/// What comes after the sums.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    /// The same planes of the value that is added.
    pub residual: Option<&'a [f32]>,
    /// Applied last.
    pub activation: Activation,
}

#[inline(always)]
fn squares_body<F: Form>(board: Board, m: &[Block], rows: Rows, bias: &[f32; PANEL], end: End<'_>, planes: &mut [f32]) {
    // Compiled twice, as `points_body` is.
    if board == Board::CHESS {
        squares_on::<F, LANES, LANES>(Board::CHESS, m, rows, bias, end, planes);
    } else {
        squares_on::<F, WIDEST, TILE>(board, m, rows, bias, end, planes);
    }
}

/// `FILES` is at least the number of files of all tiles. `RANKS` is the number of ranks that are held at once.
#[inline(always)]
fn squares_on<F: Form, const FILES: usize, const RANKS: usize>(
    board: Board,
    m: &[Block],
    rows: Rows,
    bias: &[f32; PANEL],
    end: End<'_>,
    planes: &mut [f32],
) {
    let (of_half, across) = (LANES * board.plane, board.files.div_ceil(TILE));
    let mut squares = [[F::Row::splat(0.0); FILES]; RANKS];
    for (half, planes) in planes.chunks_mut(of_half).enumerate() {
        let bias = F::Row::load(&bias[half * LANES..]);
        let end = End { residual: end.residual.map(|residual| &residual[half * of_half..]), ..end };
        let mut number = rows.first;
        for first in (0..board.rows).step_by(RANKS) {
            for tile in 0..RANKS / TILE * across {
                let (y, x) = (tile / across * TILE, tile % across * TILE);
                // By row of points, then by column of squares.
                let mut columns = [[F::Row::splat(0.0); SIDE]; TILE];
                for i in 0..SIDE {
                    let product = |j| &m[(i * SIDE + j) * rows.count + number + tile];
                    let line = [0, 1, 2, 3, 4, 5].map(|j| product(j).vector::<F::Row>(half));
                    columns.iter_mut().zip(to_squares::<F::Row>(&line)).for_each(|(column, square)| column[i] = square);
                }
                for (j, column) in columns.iter().enumerate() {
                    let column = to_squares::<F::Row>(column);
                    squares[y..]
                        .iter_mut()
                        .zip(column)
                        .for_each(|(row, square)| row[x + j] = F::Row::plus(square, bias));
                }
            }
            number += RANKS / TILE * across;
            for (rank, files) in (first..board.rows).zip(&squares) {
                write_rank::<F::Row, FILES>(board, files, rank, end, planes);
            }
        }
    }
}

/// Finishes a rank of up to eight planes, given with the channels of each of its files side by side.
#[inline(always)]
fn write_rank<R: Ranks, const FILES: usize>(
    board: Board,
    files: &[R::Vector; FILES],
    rank: usize,
    end: End<'_>,
    planes: &mut [f32],
) {
    for first in (0..board.files).step_by(LANES) {
        // The last vector has eight files, too, unless the board is narrower than that: some files are written twice.
        let first = first.min(board.files.saturating_sub(LANES));
        let at = board.origin + rank * board.stride + first;
        let channels = R::transpose(files[first..].first_chunk().expect("eight files"));
        for (number, (plane, channel)) in planes.chunks_exact_mut(board.plane).zip(channels).enumerate() {
            let y = match end.residual {
                Some(residual) => R::plus(channel, R::load(&residual[number * board.plane + at..])),
                None => channel,
            };
            let y = activate_vector::<R>(end.activation, y);
            match board.files < LANES {
                false => R::store(y, &mut plane[at..]),
                true => {
                    let mut all = [0.0; LANES];
                    R::store(y, &mut all);
                    plane[at..][..board.files].copy_from_slice(&all[..board.files]);
                }
            }
        }
    }
}
