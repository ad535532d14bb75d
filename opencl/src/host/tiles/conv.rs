//! The layout of squares in the operands of a convolution's input, and what comes after its sums.

use super::{BLOCKS, DEPTH, ROWS, Steps, Sums};
use crate::graph::Activation;
use crate::host::arith::{Arith, Form, activate_vector};
use crate::host::board::{Board, LANES};
use crate::host::isa::versions;
use crate::host::product::{Block, CHESS, COLUMNS};

/// Where the squares of 64 channels are in their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Layout {
    /// For a 1×1 convolution: squares side by side.
    Flat,
    /// For a 3×3 convolution. A block has an operand for each tap, which is read as it is: two ranks, four apart. Moved
    /// by a rank they are the ranks of the next three operands:
    ///
    /// ```text
    /// operands  0-2    3-5   6-8   9-11  12-14 15-17
    /// ranks     -, 3   0, 4  1, 5  2, 6  3, 7  4, -
    /// ```
    ///
    /// Each pair of ranks is there three times: moved by a file, as it is, and moved by a file the other way.
    Board,
}

impl Layout {
    /// How many ranks apart the two ranks of a block are.
    pub(super) const APART: usize = 4;

    /// How many operands 64 channels take.
    pub fn operands(self) -> usize {
        match self {
            Self::Flat => BLOCKS,
            Self::Board => 18,
        }
    }

    /// How many operands are made together.
    pub fn together(self) -> usize {
        match self {
            Self::Flat => 1,
            Self::Board => 3,
        }
    }

    /// How many operands `channels` channels take.
    pub fn of(self, channels: usize) -> usize {
        channels.div_ceil(DEPTH) * self.operands()
    }

    /// The steps over `channels` channels: for each 64 channels all taps, one after the other.
    pub fn steps(self, channels: usize) -> Steps {
        let (taps, round) = match self {
            Self::Flat => (1, 4),
            Self::Board => (9, 9),
        };
        let parts = (0..self.of(channels)).step_by(self.operands());
        Steps::new(parts.flat_map(|part| part..part + taps), self.together(), round)
    }
}

/// The sums of a block of a panel, what they are worth, and what comes after them.
#[derive(Clone, Copy)]
pub(in crate::host) struct Ends<'a> {
    pub sums: &'a Sums,
    /// What the panel's channels are worth.
    pub units: &'a [f32; ROWS],
    /// What the block's squares are worth.
    pub squares: &'a Block,
    pub bias: &'a [f32; ROWS],
    /// The panel's residual, in the layout of its output.
    pub residual: Option<&'a [f32]>,
    pub activation: Activation,
}

impl Ends<'_> {
    /// Finishes the squares of one channel, with the residual's added.
    #[inline(always)]
    fn of<M: Arith>(&self, channel: usize, residual: Option<[f32; 16]>) -> [f32; 16] {
        let (unit, bias) = (self.units[channel], M::splat(self.bias[channel]));
        let mut row = [0.0; 16];
        for first in (0..16).step_by(M::LANES) {
            let mut x = M::plus(self.sums.single::<M>(channel, first, unit, self.squares), bias);
            if let Some(residual) = &residual {
                x = M::plus(x, M::load(&residual[first..]));
            }
            M::store(activate_vector::<M>(self.activation, x), &mut row[first..]);
        }
        row
    }
}

versions! {
    /// Finishes a block of a panel of a 1×1 convolution and writes it to `output`, `[channels of the panel][squares]`.
    end_side_by_side = end_side_by_side_body(ends: Ends<'_>, block: usize, output: &mut [f32])
}

#[inline(always)]
fn end_side_by_side_body<F: Form>(ends: Ends<'_>, block: usize, output: &mut [f32]) {
    for (channel, row) in output.chunks_exact_mut(CHESS).enumerate() {
        let at = block * COLUMNS;
        let residual = ends.residual.map(|r| *r[channel * CHESS + at..].first_chunk().expect("a block"));
        *row[at..].first_chunk_mut().expect("a block") = ends.of::<F::Wide>(channel, residual);
    }
}

versions! {
    /// Finishes a block of a panel of a 3×3 convolution and writes it to `planes`, `[channels of the panel][plane]`.
    end_on_board = end_on_board_body(ends: Ends<'_>, block: usize, planes: &mut [f32])
}

#[inline(always)]
fn end_on_board_body<F: Form>(ends: Ends<'_>, block: usize, planes: &mut [f32]) {
    let board = Board::CHESS;
    let first = board.origin + block * board.stride;
    let second = first + Layout::APART * board.stride;
    for (channel, plane) in planes.chunks_exact_mut(board.plane).enumerate() {
        let residual = ends.residual.map(|r| two_ranks(&r[channel * board.plane..], first, second));
        let both = ends.of::<F::Wide>(channel, residual);
        let halves = both.as_chunks::<LANES>().0;
        *plane[first..].first_chunk_mut().expect("a rank") = halves[0];
        *plane[second..].first_chunk_mut().expect("a rank") = halves[1];
    }
}

/// Two ranks of a plane, which begin at the indices `first` and `second`.
#[inline(always)]
pub(super) fn two_ranks(plane: &[f32], first: usize, second: usize) -> [f32; 16] {
    let mut both = [0.0; 16];
    let halves = both.as_chunks_mut::<LANES>().0;
    halves[0] = *plane[first..].first_chunk().expect("a rank");
    halves[1] = *plane[second..].first_chunk().expect("a rank");
    both
}
