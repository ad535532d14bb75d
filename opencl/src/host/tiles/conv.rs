//! How squares lie in the lines of a convolution's input, and what comes after its sums.

use super::{BLOCKS, DEPTH, LINES, ROWS, Steps, Stride, Sums};
use crate::graph::Activation;
use crate::host::arith::{Arith, Form, activate_vector};
use crate::host::board::{Board, LANES};
use crate::host::kernel::versions;
use crate::host::product::{Bias, put_in_channels};
use crate::host::winograd::End as After;

/// Where the squares of two channels lie in their lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) struct Layout {
    /// Of two channels.
    pub lines: usize,
}

impl Layout {
    /// A 1×1 convolution's: squares side by side.
    pub const FLAT: Self = Self { lines: BLOCKS };

    /// A 3×3 convolution's. A block is a line for each column of the kernel and each place on its rows, so that it is read in
    /// one go: two ranks, four apart. Moved by a rank they are those of the next line:
    ///
    /// ```text
    /// line   0      1     2     3     4     5
    /// ranks  -, 3   0, 4  1, 5  2, 6  3, 7  4, -
    /// ```
    ///
    /// These six come three times: for a kernel's columns moved by a file, as they are, and moved by one the other way.
    pub const BOARD: Self = Self { lines: 3 * Self::RANKS };

    /// Lines of a column of the kernel.
    pub(super) const RANKS: usize = 6;

    /// From a rank to the other of its block.
    pub(super) const APART: usize = 4;

    /// The tap of a step: a kernel's columns come one after the other.
    pub fn tap(step: usize, taps: usize) -> usize {
        if taps == 9 { step % 3 * 3 + step / 3 } else { step }
    }

    /// Lines of so many channels in both halves.
    pub fn of(self, channels: usize) -> usize {
        channels.div_ceil(DEPTH) * DEPTH * self.lines
    }

    /// The steps over so many channels: for 32 of them the columns of the kernel one after the other, while they are in the nearest cache. A round
    /// reads 24 or 32 kB.
    pub fn steps(self, channels: usize) -> Steps {
        let taps: Vec<usize> = match self {
            Self::BOARD => (0..9).map(|step| Self::tap(step, 9)).map(|tap| tap % 3 * Self::RANKS + tap / 3).collect(),
            _ => vec![0],
        };
        let parts = (0..channels.div_ceil(DEPTH)).map(|part| part * LINES * self.lines);
        let round = if self == Self::BOARD { 3 } else { 4 };
        let stride = Stride { line: self.lines, block: 1 };
        Steps::new(parts.flat_map(|part| taps.iter().map(move |tap| part + tap)), stride, round)
    }
}

versions! {
    /// Ends a panel of a 1×1 convolution and writes it to `output`, `[channels of the panel][squares]`; the residual lies alike.
    end_side_by_side = end_side_by_side_body(
        sums: &mut Sums,
        bias: &[f32; ROWS],
        residual: Option<&[f32]>,
        activation: Activation,
        output: &mut [f32],
    )
}

#[inline(always)]
fn end_side_by_side_body<F: Form>(
    sums: &mut Sums,
    bias: &[f32; ROWS],
    residual: Option<&[f32]>,
    activation: Activation,
    output: &mut [f32],
) {
    let ends = bias.iter().map(|bias| Bias(*bias));
    put_in_channels::<F::Wide, _, ROWS, BLOCKS>(sums, ends, (0, 0), (super::COLUMNS, residual, activation), output);
}

versions! {
    /// Ends a panel of a 3×3 convolution and writes it to `planes`, `[channels of the panel][plane]`.
    end_on_board = end_on_board_body(sums: &Sums, bias: &[f32; ROWS], after: After<'_>, planes: &mut [f32])
}

#[inline(always)]
fn end_on_board_body<F: Form>(sums: &Sums, bias: &[f32; ROWS], after: After<'_>, planes: &mut [f32]) {
    let board = Board::CHESS;
    for (channel, ((plane, sums), bias)) in planes.chunks_exact_mut(board.plane).zip(sums).zip(bias).enumerate() {
        let bias = F::Row::splat(*bias);
        for rank in 0..board.rows {
            let at = board.origin + rank * board.stride;
            let block = &sums[rank % Layout::APART];
            let mut y = F::Row::plus(F::Row::load(&block.0[rank / Layout::APART * LANES..]), bias);
            if let Some(residual) = after.residual {
                y = F::Row::plus(y, F::Row::load(&residual[channel * board.plane + at..]));
            }
            F::Row::store(activate_vector::<F::Row>(after.activation, y), &mut plane[at..]);
        }
    }
}
