//! A 3×3 convolution of a chessboard by Winograd's F(4×4, 3×3): `kernels/winograd.cl` has the definitions.
//!
//! The board has four tiles. Each is taken to 36 points; at each point the convolution is a product of a matrix of tiles by
//! input channels with one of input by output channels. That takes a quarter of the products of the definition.
//!
//! Points are made of eight channels at a time, which lie side by side in a vector, squares of eight output channels likewise.
//! Planes have their squares side by side, so that each block of eight channels is transposed on its way in and out.

use super::arith::{Arith, Form, Ranks, activate_vector};
use super::board::{Board, LANES, Lanes};
use super::kernel::versions;
use super::product::{Block, COLUMNS, Left, Product, make_all, side_by_side, tile};
use crate::graph::Activation;

/// Squares of a side of a tile, of its input, and points.
const TILE: usize = 4;
const SIDE: usize = TILE + 2;
pub(super) const POINTS: usize = SIDE * SIDE;

/// Tiles of a board: rows of the matrices.
pub(super) const TILES: usize = 4;

/// Output channels of a panel.
pub(super) const PANEL: usize = COLUMNS;

/// Squares of a side of the board with its border.
const BORDERED: usize = 10;

/// Roots of 1/2 and 2, the points besides 0 and infinity, and their negatives.
const A: f32 = std::f32::consts::FRAC_1_SQRT_2;
const B: f32 = std::f32::consts::SQRT_2;

/// One dimension of a tile's points.
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

/// One dimension of a tile's squares.
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
    /// Rows of the matrices: [`TILES`] for each position.
    pub count: usize,
    /// The position's first.
    pub first: usize,
}

versions! {
    /// Makes the points of up to eight channels of a position, `[channels][plane]`, in `v`, `[POINTS][rows][LANES]`; channels that are
    /// not there are zero.
    points = points_body(planes: &[f32], rows: Rows, v: &mut [f32])
}

#[inline(always)]
fn points_body<F: Form>(planes: &[f32], rows: Rows, v: &mut [f32]) {
    let board = Board::CHESS;
    let mut squares = [[F::Row::splat(0.0); BORDERED]; BORDERED];
    for (rank, squares) in squares[1..=board.rows].iter_mut().enumerate() {
        let mut files = [F::Row::splat(0.0); LANES];
        for (files, plane) in files.iter_mut().zip(planes.chunks_exact(board.plane)) {
            *files = F::Row::load(&plane[board.origin + rank * board.stride..]);
        }
        squares[1..=LANES].copy_from_slice(&F::Row::transpose(&files));
    }
    let of_point = rows.count * LANES;
    for tile in 0..TILES {
        let (y, x) = (tile / 2 * TILE, tile % 2 * TILE);
        // By column, then by row.
        let mut lines = [[F::Row::splat(0.0); SIDE]; SIDE];
        for j in 0..SIDE {
            let column = [0, 1, 2, 3, 4, 5].map(|i| squares[y + i][x + j]);
            lines.iter_mut().zip(to_points::<F::Row>(&column)).for_each(|(line, point)| line[j] = point);
        }
        for (line, v) in lines.iter().zip(v.chunks_exact_mut(SIDE * of_point)) {
            for (point, v) in to_points::<F::Row>(line).into_iter().zip(v.chunks_exact_mut(of_point)) {
                F::Row::store(point, &mut v[(rows.first + tile) * LANES..]);
            }
        }
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

/// The products of one point.
struct Point<'a> {
    point: usize,
    v: &'a [f32],
    weights: &'a [Block],
    /// Input channels, whole blocks.
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
        let mut sums = [[Block::ZERO; BLOCKS]; ROWS];
        tile::<M, ROWS, BLOCKS>(left, right, &mut sums);
        for (row, sums) in (row..).zip(&sums) {
            for (number, sums) in sums.iter().enumerate() {
                self.m[((block + number) * POINTS + self.point) * self.rows + row] = *sums;
            }
        }
    }
}

/// A point of some tiles, a row each, in all channels.
struct Tiles<'a> {
    v: &'a [f32],
    /// Numbers of a block of channels.
    block: usize,
    /// Of the first row in each.
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
    /// Makes the planes of one panel of a position, `[channels of the panel][plane]`, of its products `[POINTS][rows][PANEL]`.
    squares = squares_body(m: &[Block], rows: Rows, bias: &[f32; PANEL], end: End<'_>, planes: &mut [f32])
}

/// What comes after the sums.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    /// The same planes of the value to add.
    pub residual: Option<&'a [f32]>,
    /// Applied last.
    pub activation: Activation,
}

#[inline(always)]
fn squares_body<F: Form>(m: &[Block], rows: Rows, bias: &[f32; PANEL], end: End<'_>, planes: &mut [f32]) {
    let board = Board::CHESS;
    for (half, planes) in planes.chunks_mut(LANES * board.plane).enumerate() {
        let bias = F::Row::load(&bias[half * LANES..]);
        let mut squares = [[F::Row::splat(0.0); LANES]; LANES];
        for tile in 0..TILES {
            let (y, x) = (tile / 2 * TILE, tile % 2 * TILE);
            // By row of points, then by column of squares.
            let mut columns = [[F::Row::splat(0.0); SIDE]; TILE];
            for i in 0..SIDE {
                let product = |j| &m[(i * SIDE + j) * rows.count + rows.first + tile];
                let line = [0, 1, 2, 3, 4, 5].map(|j| product(j).vector::<F::Row>(half));
                columns.iter_mut().zip(to_squares::<F::Row>(&line)).for_each(|(column, square)| column[i] = square);
            }
            for (j, column) in columns.iter().enumerate() {
                let column = to_squares::<F::Row>(column);
                squares[y..].iter_mut().zip(column).for_each(|(row, square)| row[x + j] = F::Row::plus(square, bias));
            }
        }
        for (rank, files) in squares.iter().enumerate() {
            let files = F::Row::transpose(files);
            for (number, (plane, files)) in planes.chunks_exact_mut(board.plane).zip(files).enumerate() {
                let at = board.origin + rank * board.stride;
                let y = match end.residual {
                    Some(residual) => {
                        F::Row::plus(files, F::Row::load(&residual[(half * LANES + number) * board.plane + at..]))
                    }
                    None => files,
                };
                F::Row::store(activate_vector::<F::Row>(end.activation, y), &mut plane[at..]);
            }
        }
    }
}
