//! Products of matrices in tiles of eight bits, by instructions that multiply whole tiles: Intel's AMX.
//!
//! A processor with AMX makes 32 times as many products of eight bits as of single precision, and its sums are exact.
//! So each number is given as three signed bytes, `A + B/2⁸ + C/2¹⁶` times what an `A` of 1 is worth: a whole number of
//! 23 bits and a sign. That worth, the unit, is the same for all numbers of a sum: there is one for each row of a left
//! side and one for each column of a right side, chosen by the largest number in it. Of the nine products of two
//! numbers' bytes six are made, in three sums by what they are worth, which are added at the end in single precision:
//!
//! ```text
//! A·A'                        1
//! A·B' + B·A'                 1/2⁸
//! A·C' + B·B' + C·A'          1/2¹⁶
//! ```
//!
//! What is left out (`B·C'`, `C·B'`, `C·C'`) and what the rounding of the numbers changes are below 2⁻²¹ of the largest
//! number of the row times that of the column, for each product; mostly they are a tenth of that and cancel out, and
//! the rounding of a sum in single precision changes as much. Adding the three sums rounds the result four or five
//! times more. Splitting numbers into whole ones whose products are summed exactly is known as Ozaki's scheme (Ozaki,
//! Ogita, Oishi, Rump, 2012).
//!
//! A step multiplies two [`Operand`]s: sixteen rows of 64 numbers of the left side with 64 rows of sixteen columns of
//! the right one, of which four rows lie side by side in a [`Line`].
//!
//! | side by side | left side | right side |
//! |---|---|---|
//! | 1×1 convolution | weights | channels × squares |
//! | 3×3 convolution | weights, tap by tap | channels × squares, moved by the tap |
//! | dense layer, smolgen | positions, or their parts, × inputs | weights |
//!
//! Tiles make five times as many products of single precision as vectors do, if the operands are in a near cache.
//! Weights take three bytes each. A 3×3 convolution is best computed by its definition. What a step reads of each
//! operand is contiguous, also for the squares that a tap moves: see `tiles/conv.rs`.
//!
//! One large number in a row costs the others their digits. So convolutions of the network's input, where ones stand
//! beside a count of moves, stay in single precision: in tiles, the error of maia-1500 was ten times as large. The
//! sub-option `tiles=false` of the program turns tiles off. Devices are compared with what vectors compute. In tests on
//! processors without AMX loops replace the instructions.

// On other targets tiles are never granted, and a program has no value of their types.
#[cfg_attr(
    not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64")),
    path = "tiles/no_amx.rs"
)]
mod amx;
mod conv;
mod dense;
#[cfg(test)]
mod tests;
mod thirds;

use super::arith::Arith;
use super::product::{Block, CHESS, COLUMNS};
pub(super) use conv::{Ends, Layout, end_on_board, end_side_by_side};
pub(super) use dense::{RowEnds, end_in_rows, steps_of_inputs};
use std::mem::MaybeUninit;
pub(super) use thirds::{Scale, left, right, scale_board, scale_of, scale_rows, split_board, split_left, split_rows};

/// The number of rows of a tile, and of sums.
pub(super) const ROWS: usize = 16;

/// The number of products that a step adds to each of its sums.
pub(super) const DEPTH: usize = 64;

/// The number of blocks of sixteen columns that a chessboard's squares make.
pub(super) const BLOCKS: usize = CHESS / COLUMNS;

/// With more products than this, a sum might exceed 31 bits: to the lowest of the three, each adds at most 127 · 128
/// twice and 128 · 128 once.
pub(super) const MOST_PRODUCTS: usize = i32::MAX as usize / (2 * 127 * 128 + 128 * 128);

/// One third of a row of 64 numbers of a left side, or of sixteen columns of four rows of a right side, the first row
/// in the lowest bytes: a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Line(pub [u32; 16]);

impl Line {
    pub const ZERO: Self = Self([0; 16]);
}

/// What a step reads of a side: sixteen lines of upper thirds, then those of the middle ones, then those of the lower
/// ones.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Operand([[Line; ROWS]; 3]);

impl Operand {
    pub const ZERO: Self = Self([[Line::ZERO; ROWS]; 3]);

    /// Sets line `number` of each third.
    #[inline(always)]
    fn set(&mut self, number: usize, thirds: [Line; 3]) {
        for (lines, line) in self.0.iter_mut().zip(thirds) {
            lines[number] = line;
        }
    }
}

/// The three sums, by what they are worth, of sixteen rows and sixteen columns: `[sum][row][column]`.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Sums([[[i32; 16]; ROWS]; 3]);

impl Sums {
    /// The results of a vector of columns of `row`, from column `first` on, in single precision; `unit` is the unit of
    /// the left side's row, `units` are those of the right side's columns.
    #[inline(always)]
    fn single<M: Arith>(&self, row: usize, first: usize, unit: f32, units: &Block) -> M::Vector {
        let part = |third: usize| M::of_whole(&self.0[third][row][first..]);
        let lower = M::scale_add(1.0 / 256.0, part(2), part(1));
        let sum = M::scale_add(1.0 / 256.0, lower, part(0));
        M::times(M::times(sum, M::splat(unit)), M::load(&units.0[first..]))
    }
}

/// Which operands of a right side the steps read.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// For each step the place of its operand for the first block of columns, in bytes.
    first: Vec<u32>,
    /// The next block's operands are this many operands further on.
    block: usize,
    /// How many operands there must be for the first block.
    operands: usize,
    /// How many steps of a block are made before it is the next block's turn: what they read of the right side stays in
    /// the nearest cache for all panels.
    round: usize,
}

impl Steps {
    /// There must be at least one step.
    pub fn new(operands: impl IntoIterator<Item = usize>, block: usize, round: usize) -> Self {
        let first: Vec<usize> = operands.into_iter().collect();
        let operands = first.iter().max().expect("a step") + 1;
        let bytes = |operand: usize| u32::try_from(operand * size_of::<Operand>()).expect("less than 4 GiB");
        Self { first: first.into_iter().map(bytes).collect(), block, operands, round }
    }

    pub fn len(&self) -> usize {
        self.first.len()
    }
}

/// What multiplies tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tiles {
    Amx(amx::Granted),
    /// Loops, for tests.
    #[cfg(test)]
    Loops,
}

impl Tiles {
    /// This processor's tiles, if it has any and the system lends them to this program.
    pub fn find() -> Option<Self> {
        amx::Granted::ask().map(Self::Amx)
    }

    /// Makes this thread's tiles ready until the result is dropped. That takes some 50 ns, but no time while an earlier
    /// result lives.
    pub fn ready(self) -> Ready {
        match self {
            Self::Amx(granted) => Ready::Amx(amx::Configured::new(granted)),
            #[cfg(test)]
            Self::Loops => Ready::Loops,
        }
    }
}

/// A thread's tiles, ready to multiply.
pub(super) enum Ready {
    Amx(amx::Configured),
    #[cfg(test)]
    Loops,
}

impl Ready {
    /// Computes `Σ left · right` over all steps, for a panel of sixteen rows and, for each of `sums`, a block of
    /// sixteen columns.
    pub fn multiply<'a>(
        &self,
        left: &[Operand],
        steps: &Steps,
        right: &[Operand],
        sums: &'a mut [MaybeUninit<Sums>],
    ) -> &'a [Sums] {
        assert!(
            right.len() >= steps.operands + sums.len().saturating_sub(1) * steps.block,
            "a right side for each step"
        );
        assert_eq!(left.len(), steps.len(), "a left side for each step");
        // What is prefetched. Behind the left side lies the next panel's: a part of it in each step. A right side of a
        // single block is prefetched two operands ahead; behind it lie the next neurons' operands.
        let (in_order, next_panel, next_neurons) =
            (steps.block == 0, left.as_ptr_range().end, right.as_ptr().wrapping_add(2));
        let mut ahead = if in_order { next_neurons } else { next_panel }.cast::<Line>();
        let rounds = left.chunks(steps.round).zip(steps.first.chunks(steps.round));
        for (number, (left, first)) in rounds.enumerate() {
            for (block, sums) in sums.iter_mut().enumerate() {
                let (right, begin) = (&right[block * steps.block..], number == 0);
                match self {
                    // SAFETY: all operands are there, see above; sums that do not begin here have begun before.
                    Self::Amx(tiles) => unsafe { tiles.add(left, (first, in_order), right, begin, ahead, sums) },
                    #[cfg(test)]
                    Self::Loops => {
                        if begin {
                            sums.write(Sums([[[0; 16]; ROWS]; 3]));
                        }
                        // SAFETY: the sums were written when they began: just now, or in an earlier round.
                        loops(left, first, right, unsafe { sums.assume_init_mut() });
                    }
                }
                ahead = ahead.wrapping_add(first.len() * size_of::<Operand>() / size_of::<Line>() / BLOCKS);
            }
        }
        // SAFETY: the first round has written each of them, and there is a step at least.
        unsafe { sums.assume_init_ref() }
    }
}

/// Does what the instructions do. A step's 64 products of two bytes have an exact sum in single precision, with which
/// every processor is fast.
#[cfg(test)]
fn loops(left: &[Operand], first: &[u32], right: &[Operand], sums: &mut Sums) {
    let floats = |four: u32| four.to_le_bytes().map(|byte| f32::from(byte.cast_signed()));
    for (left, first) in left.iter().zip(first) {
        let right = &right[*first as usize / size_of::<Operand>()];
        // [third][row][column]
        let mut columns = [[[0.0; 16]; DEPTH]; 3];
        for (columns, lines) in columns.iter_mut().zip(&right.0) {
            for (at, four) in lines.iter().flat_map(|line| line.0).enumerate() {
                let (rows, column) = (&mut columns[at / 16 * 4..][..4], at % 16);
                rows.iter_mut().zip(floats(four)).for_each(|(row, x)| row[column] = x);
            }
        }
        for (a, b) in [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (2, 0)] {
            for (sums, line) in sums.0[a + b].iter_mut().zip(&left.0[a]) {
                let mut exact = [0.0; 16];
                for (x, row) in line.0.iter().flat_map(|&four| floats(four)).zip(&columns[b]) {
                    exact.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
                }
                sums.iter_mut().zip(exact).for_each(|(sum, exact)| *sum += exact as i32);
            }
        }
    }
}
