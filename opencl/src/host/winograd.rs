//! A 3×3 convolution of a chessboard by Winograd's F(4×4, 3×3): `kernels/winograd.cl` has the definitions.
//!
//! The board has four tiles. Each is taken to 36 points; at each point the convolution is a product of a matrix of tiles by
//! input channels with one of input by output channels. That takes a quarter of the products of the definition.
//!
//! Points are made of eight channels at a time, which lie side by side in a vector, squares of eight output channels likewise.
//! Planes have their squares side by side, so that each block of eight channels is transposed on its way in and out.

use super::arith::{Arith, Lanes, activate_vector};
use super::board::{Board, LANES};
use super::kernel::versions;
use super::product::COLUMNS;
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
fn points_body<M: Arith>(planes: &[f32], rows: Rows, v: &mut [f32]) {
    let board = Board::CHESS;
    let mut squares = [[M::splat(0.0); BORDERED]; BORDERED];
    for (rank, squares) in squares[1..=board.rows].iter_mut().enumerate() {
        let mut files = [M::splat(0.0); LANES];
        for (files, plane) in files.iter_mut().zip(planes.chunks_exact(board.plane)) {
            *files = M::load(eight(plane, board.origin + rank * board.stride));
        }
        squares[1..=LANES].copy_from_slice(&M::transpose(&files));
    }
    let of_point = rows.count * LANES;
    for tile in 0..TILES {
        let (y, x) = (tile / 2 * TILE, tile % 2 * TILE);
        // By column, then by row.
        let mut lines = [[M::splat(0.0); SIDE]; SIDE];
        for j in 0..SIDE {
            let column = [0, 1, 2, 3, 4, 5].map(|i| squares[y + i][x + j]);
            lines.iter_mut().zip(to_points::<M>(&column)).for_each(|(line, point)| line[j] = point);
        }
        for (line, v) in lines.iter().zip(v.chunks_exact_mut(SIDE * of_point)) {
            for (point, v) in to_points::<M>(line).into_iter().zip(v.chunks_exact_mut(of_point)) {
                M::store(point, eight_mut(v, (rows.first + tile) * LANES));
            }
        }
    }
}

#[inline(always)]
fn eight(numbers: &[f32], at: usize) -> &Lanes {
    numbers[at..].first_chunk().expect("eight numbers")
}

#[inline(always)]
fn eight_mut(numbers: &mut [f32], at: usize) -> &mut Lanes {
    numbers[at..].first_chunk_mut().expect("room for eight numbers")
}

versions! {
    /// The products of all points for one panel: `v` is `[blocks of input channels][POINTS][rows][LANES]`, `weights`
    /// `[POINTS][blocks][LANES][PANEL]`, `m` `[POINTS][rows][PANEL]`.
    multiply = multiply_body(v: &[f32], weights: &[f32], rows: usize, m: &mut [[f32; PANEL]])
}

#[inline(always)]
fn multiply_body<M: Arith>(v: &[f32], weights: &[f32], rows: usize, m: &mut [[f32; PANEL]]) {
    let block = POINTS * rows * LANES;
    let weights = weights.chunks_exact(v.len() / block * LANES * PANEL);
    for (point, (weights, m)) in weights.zip(m.chunks_exact_mut(rows)).enumerate() {
        let mut at = point * rows * LANES;
        // Tiles of six rows keep the multipliers busy; there is an even number of them, four for one position.
        let (sixes, rest) = m.as_chunks_mut::<6>();
        for tile in sixes {
            *tile = multiply_rows::<M, 6>(v, block, at, weights);
            at += 6 * LANES;
        }
        let (fours, rest) = rest.as_chunks_mut::<4>();
        for tile in fours {
            *tile = multiply_rows::<M, 4>(v, block, at, weights);
            at += 4 * LANES;
        }
        for tile in rest.as_chunks_mut::<2>().0 {
            *tile = multiply_rows::<M, 2>(v, block, at, weights);
            at += 2 * LANES;
        }
    }
}

/// The sum of each row and channel is one chain over the input channels, whatever `ROWS` is.
#[inline(always)]
fn multiply_rows<M: Arith, const ROWS: usize>(
    v: &[f32],
    block: usize,
    at: usize,
    weights: &[f32],
) -> [[f32; PANEL]; ROWS] {
    let mut sums = [[0.0; PANEL]; ROWS];
    for (block, weights) in v.chunks_exact(block).zip(weights.chunks_exact(LANES * PANEL)) {
        let rows = &block[at..][..ROWS * LANES];
        for (lane, weights) in weights.as_chunks::<PANEL>().0.iter().enumerate() {
            for (row, sums) in sums.iter_mut().enumerate() {
                let x = rows[row * LANES + lane];
                sums.iter_mut().zip(weights).for_each(|(sum, &w)| *sum = M::mul_add(x, w, *sum));
            }
        }
    }
    sums
}

versions! {
    /// Makes the planes of one panel of a position, `[channels of the panel][plane]`, of its products `[POINTS][rows][PANEL]`.
    squares = squares_body(m: &[[f32; PANEL]], rows: Rows, bias: &[f32; PANEL], end: End<'_>, planes: &mut [f32])
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
fn squares_body<M: Arith>(m: &[[f32; PANEL]], rows: Rows, bias: &[f32; PANEL], end: End<'_>, planes: &mut [f32]) {
    let board = Board::CHESS;
    for (half, planes) in planes.chunks_mut(LANES * board.plane).enumerate() {
        let bias = M::load(eight(bias, half * LANES));
        let mut squares = [[M::splat(0.0); LANES]; LANES];
        for tile in 0..TILES {
            let (y, x) = (tile / 2 * TILE, tile % 2 * TILE);
            // By row of points, then by column of squares.
            let mut columns = [[M::splat(0.0); SIDE]; TILE];
            for i in 0..SIDE {
                let product = |j| &m[(i * SIDE + j) * rows.count + rows.first + tile];
                let line = [0, 1, 2, 3, 4, 5].map(|j| M::load(eight(product(j), half * LANES)));
                columns.iter_mut().zip(to_squares::<M>(&line)).for_each(|(column, square)| column[i] = square);
            }
            for (j, column) in columns.iter().enumerate() {
                let column = to_squares::<M>(column);
                squares[y..].iter_mut().zip(column).for_each(|(row, square)| row[x + j] = M::plus(square, bias));
            }
        }
        for (rank, files) in squares.iter().enumerate() {
            let files = M::transpose(files);
            for (number, (plane, files)) in planes.chunks_exact_mut(board.plane).zip(files).enumerate() {
                let at = board.origin + rank * board.stride;
                let y = match end.residual {
                    Some(residual) => {
                        M::plus(files, M::load(eight(residual, (half * LANES + number) * board.plane + at)))
                    }
                    None => files,
                };
                M::store(activate_vector::<M>(end.activation, y), eight_mut(plane, at));
            }
        }
    }
}
