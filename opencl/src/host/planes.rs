//! A 3×3 convolution of a chess network's input: planes of pieces, and planes of a single number.
//!
//! Most planes of the input have few numbers that are not zero, the pieces; others have the same number on every square:
//! castling rights, the side to move, the counter of rule 50. So the sums are made number by number instead of square by
//! square. A piece adds its products to its own square and the neighbours. A plane of a single number adds, to each kind
//! of square, products that were summed when the weights were packed: the kinds differ by which neighbours are on the
//! board.

use super::arith::{Arith, Form};
use super::board::{Board, LANES, Lanes};
use super::kernel::versions;
use super::product::{Block, COLUMNS};
use super::winograd::{End, write_rank};

/// How many output channels a panel has.
pub(super) const PANEL: usize = COLUMNS;

/// A kernel has this many taps on a side.
const SIDE: usize = 3;
const TAPS: usize = SIDE * SIDE;

/// The sums have a border, so that a piece at the edge of the board needs no case of its own: a rank has this many
/// squares, and so have all of them.
const RANK: usize = LANES + 2;
const BORDERED: usize = RANK * RANK;

/// How many kinds of squares there are: at the first, the last or another rank, and the same for the file.
const KINDS: usize = 9;

/// How many blocks the sums of a position need for each panel.
pub(super) const SUMS: usize = BORDERED + KINDS;

/// The kind of a rank or file.
const fn kind(line: usize) -> usize {
    const LAST: usize = LANES - 1;
    match line {
        0 => 0,
        LAST => 2,
        _ => 1,
    }
}

/// The weights of a convolution of planes.
pub(super) struct Weights {
    /// `[planes][TAPS][panels]`. The taps are in reverse order: then they are in the order of the squares that a number
    /// adds to.
    taps: Vec<Block>,
    /// `[planes][KINDS][panels]`: what a plane of ones adds to a square.
    kinds: Vec<Block>,
    /// `[KINDS][panels]`: the bias, for each kind.
    bias: Vec<Block>,
}

impl Weights {
    /// From `[channels][planes][TAPS]`; a last panel with fewer channels is filled up with zeros.
    pub fn new(weights: &[f32], bias: &[f32]) -> Self {
        let (planes, panels) = (weights.len() / TAPS / bias.len(), bias.len().div_ceil(PANEL));
        let mut taps = vec![Block::ZERO; planes * TAPS * panels];
        let mut kinds = vec![Block::ZERO; planes * KINDS * panels];
        for (at, weights) in weights.chunks_exact(TAPS).enumerate() {
            let (channel, plane) = (at / planes, at % planes);
            let (panel, lane) = (channel / PANEL, channel % PANEL);
            for (tap, weight) in weights.iter().rev().enumerate() {
                taps[(plane * TAPS + tap) * panels + panel].0[lane] = *weight;
            }
            for kind in 0..KINDS {
                let sum: f64 = (0..TAPS).filter(|tap| is_inside(kind, *tap)).map(|tap| f64::from(weights[tap])).sum();
                kinds[(plane * KINDS + kind) * panels + panel].0[lane] = sum as f32;
            }
        }
        let mut blocks = vec![Block::ZERO; panels];
        bias.iter().enumerate().for_each(|(channel, bias)| blocks[channel / PANEL].0[channel % PANEL] = *bias);
        Self { taps, kinds, bias: blocks.repeat(KINDS) }
    }

    fn panels(&self) -> usize {
        self.bias.len() / KINDS
    }
}

/// Whether a tap of a square of this kind is on the board.
fn is_inside(kind: usize, tap: usize) -> bool {
    let inside = |kind: usize, tap: usize| !matches!((kind, tap), (0, 0) | (2, 2));
    inside(kind / SIDE, tap / SIDE) && inside(kind % SIDE, tap % SIDE)
}

versions! {
    /// Computes the sums of one position, [`SUMS`] times the number of panels, from its planes in the layout of
    /// [`Board::CHESS`].
    sums = sums_body(weights: &Weights, planes: &[f32], sums: &mut [Block])
}

#[inline(always)]
fn sums_body<F: Form>(weights: &Weights, planes: &[f32], sums: &mut [Block]) {
    let panels = weights.panels();
    let (of_squares, of_kinds) = sums.split_at_mut(BORDERED * panels);
    of_squares.fill(Block::ZERO);
    of_kinds.copy_from_slice(&weights.bias);
    let each = weights.taps.chunks_exact(TAPS * panels).zip(weights.kinds.chunks_exact(KINDS * panels));
    for (plane, (taps, kinds)) in planes.chunks_exact(Board::CHESS.plane).zip(each) {
        match single_number(plane) {
            Some(0.0) => {}
            Some(number) => add::<F::Wide>(number, kinds, of_kinds),
            None => add_pieces::<F::Wide>(plane, taps, panels, of_squares),
        }
    }
}

/// A rank of a plane.
#[inline(always)]
fn rank(plane: &[f32], rank: usize) -> &Lanes {
    plane[Board::CHESS.origin + rank * Board::CHESS.stride..].first_chunk().expect("a rank")
}

/// The number that is on all squares of a plane, if it is the same.
#[inline(always)]
fn single_number(plane: &[f32]) -> Option<f32> {
    let number = rank(plane, 0)[0];
    let mut differs = [0; LANES];
    for at in 0..LANES {
        for (differs, x) in differs.iter_mut().zip(rank(plane, at)) {
            *differs |= x.to_bits() ^ number.to_bits();
        }
    }
    if differs == [0; LANES] { Some(number) } else { None }
}

/// Adds what the numbers of a plane add to their squares and the neighbours.
#[inline(always)]
fn add_pieces<M: Arith>(plane: &[f32], taps: &[Block], panels: usize, sums: &mut [Block]) {
    let row = SIDE * panels;
    for at in 0..LANES {
        let numbers = rank(plane, at);
        let mut any = 0;
        for number in numbers {
            any |= number.to_bits();
        }
        if any == 0 {
            continue;
        }
        for (file, &number) in numbers.iter().enumerate() {
            if number != 0.0 {
                for (above, taps) in taps.chunks_exact(row).enumerate() {
                    let first = (at + above) * RANK + file;
                    add::<M>(number, taps, &mut sums[first * panels..][..row]);
                }
            }
        }
    }
}

/// `sums += a · weights`.
#[inline(always)]
fn add<M: Arith>(a: f32, weights: &[Block], sums: &mut [Block]) {
    for (sums, weights) in sums.iter_mut().zip(weights) {
        for number in 0..COLUMNS / M::LANES {
            sums.set::<M>(number, M::scale_add(a, weights.vector::<M>(number), sums.vector::<M>(number)));
        }
    }
}

versions! {
    /// Writes the planes of panel `number`, `[channels of the panel][plane]`, from the sums of all panels.
    finish = finish_body(number: usize, sums: &[Block], end: End<'_>, planes: &mut [f32])
}

#[inline(always)]
fn finish_body<F: Form>(number: usize, sums: &[Block], end: End<'_>, planes: &mut [f32]) {
    let panels = sums.len() / SUMS;
    let (of_squares, of_kinds) = sums.split_at(BORDERED * panels);
    let of_half = LANES * Board::CHESS.plane;
    for (half, planes) in planes.chunks_mut(of_half).enumerate() {
        let end = End { residual: end.residual.map(|residual| &residual[half * of_half..]), ..end };
        for rank in 0..LANES {
            let mut files = [F::Row::splat(0.0); LANES];
            for (file, sum) in files.iter_mut().enumerate() {
                let square = &of_squares[((rank + 1) * RANK + file + 1) * panels + number];
                let kind = &of_kinds[(kind(rank) * SIDE + kind(file)) * panels + number];
                *sum = F::Row::plus(square.vector::<F::Row>(half), kind.vector::<F::Row>(half));
            }
            write_rank::<F::Row, LANES>(Board::CHESS, &files, rank, end, planes);
        }
    }
}
