//! Products of matrices in tiles of eight bits, by instructions that multiply whole tiles: Intel's AMX.
//!
//! A processor with AMX makes 32 times as many products of eight bits as of single precision, and its sums are exact. So a number
//! goes in as three signed bytes, `A + B/2⁸ + C/2¹⁶` times what `A` is worth: whole numbers of 23 digits and a sign. All that are summed are worth the same:
//! a row of a left side, a column of a right one, each by the largest of its numbers. Of the nine products of two numbers six are made, in three sums by
//! what they are worth, which are added at the end in single precision:
//!
//! ```text
//! A·A'                        1
//! A·B' + B·A'                 1/2⁸
//! A·C' + B·B' + C·A'          1/2¹⁶
//! ```
//!
//! What is left out, `B·C' + C·B'`, and what the numbers are rounded by are below 2⁻²¹ of the largest number of the row times that of the column, for each
//! product; mostly they are a tenth of that and cancel out. A long sum in single precision is rounded by as much. Splitting
//! numbers into whole ones whose products are summed exactly is known as Ozaki's scheme (Ozaki, Ogita, Oishi, Rump, 2012).
//!
//! The left side's tiles have sixteen rows of 64 numbers, the right side's 64 rows of sixteen columns, four rows side by
//! side: a [`Line`] is sixteen columns of four rows.
//!
//! | side by side | left side | right side |
//! |---|---|---|
//! | 1×1 convolution | weights | channels × squares |
//! | 3×3 convolution | weights, tap by tap | channels × squares, moved by the tap |
//! | dense layer, smolgen | positions, or their parts, × inputs | weights |

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
mod amx;
mod conv;
mod dense;
#[cfg(test)]
mod tests;
mod thirds;

use super::arith::Arith;
use super::product::Block;
pub(super) use conv::{Ends, Layout, end_on_board, end_side_by_side};
pub(super) use dense::{end_in_rows, lines_of_panel, steps_of_inputs};
use std::mem::MaybeUninit;
pub(super) use thirds::{Scale, left, line, scale_board, scale_of, scale_rows, split_board, split_left, split_rows};

/// Rows of a tile, and of sums.
pub(super) const ROWS: usize = 16;

/// Rows of the right side that a step multiplies, four to a line.
pub(super) const DEPTH: usize = 64;

/// Lines of a step.
pub(super) const LINES: usize = DEPTH / 4;

/// Blocks of sixteen columns of a chessboard's squares.
pub(super) const BLOCKS: usize = 4;

/// The squares of a chessboard.
pub(super) const COLUMNS: usize = BLOCKS * super::product::COLUMNS;

/// More products than this might be more in a sum than 31 bits hold: the lowest of the three has two of 127 and 128 and one of 128 twice.
pub(super) const MOST_PRODUCTS: usize = i32::MAX as usize / (2 * 127 * 128 + 128 * 128);

/// Sixteen columns of four rows, in signed bytes, the first row in the lowest: a line of the cache.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Line(pub [u32; 16]);

impl Line {
    pub const ZERO: Self = Self([0; 16]);
}

/// Sixteen rows of 64 numbers of a left side: row by row their upper thirds, then the middle ones, then the lower ones.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Left([[Line; ROWS]; 3]);

impl Left {
    pub const ZERO: Self = Self([[Line::ZERO; ROWS]; 3]);
}

/// Sums of sixteen rows in sixteen columns, by what they are worth.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Sums([[[i32; 16]; ROWS]; 3]);

impl Sums {
    /// Some numbers of a row, from the `first` on, in what its left side and its columns are worth.
    #[inline(always)]
    fn single<M: Arith>(&self, row: usize, first: usize, unit: f32, units: &Block) -> M::Vector {
        let part = |third: usize| M::of_whole(&self.0[third][row][first..]);
        let lower = M::scale_add(1.0 / 256.0, part(2), part(1));
        let sum = M::scale_add(1.0 / 256.0, lower, part(0));
        M::times(M::times(sum, M::splat(unit)), M::load(&units.0[first..]))
    }
}

/// How the lines of a step lie: so many from one to the next, and from one third to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stride {
    pub line: usize,
    pub third: usize,
}

/// Which lines of a right side each step takes.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// Where they begin, in bytes.
    first: Vec<u32>,
    stride: Stride,
    /// Lines that there must be.
    lines: usize,
    /// Steps of a block before it is the next one's turn: what they read of the right side stays in the nearest cache for all panels.
    round: usize,
}

impl Steps {
    /// `first` in lines. There is a step at least.
    pub fn new(first: impl IntoIterator<Item = usize>, stride: Stride, round: usize) -> Self {
        let first: Vec<usize> = first.into_iter().collect();
        let last = first.iter().max().expect("a step");
        let lines = last + (LINES - 1) * stride.line + 2 * stride.third + 1;
        let bytes = |line: usize| u32::try_from(line * size_of::<Line>()).expect("less than 4 GiB");
        Self { first: first.into_iter().map(bytes).collect(), stride, lines, round }
    }

    pub fn len(&self) -> usize {
        self.first.len()
    }
}

/// What multiplies tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tiles {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
    Amx(amx::Granted),
    /// Loops, where nothing else is, and for tests.
    #[cfg(any(test, not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))))]
    Loops,
}

impl Tiles {
    /// This processor's, if it has any and the system lends them to this program.
    pub fn find() -> Option<Self> {
        #[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
        return amx::Granted::ask().map(Self::Amx);
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64")))]
        return None;
    }

    /// Makes this thread's tiles ready until the result is dropped. That takes some 50 ns, but nothing where it is asked
    /// for within.
    pub fn ready(self) -> Ready {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
            Self::Amx(granted) => Ready::Amx(amx::Configured::new(granted)),
            #[cfg(any(test, not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))))]
            Self::Loops => Ready::Loops,
        }
    }
}

/// A thread's tiles, ready to multiply.
pub(super) enum Ready {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
    Amx(amx::Configured),
    #[cfg(any(test, not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))))]
    Loops,
}

impl Ready {
    /// `Σ left · right` over all steps: of a panel of sixteen rows, and of some blocks of columns, whose lines begin one after the other.
    pub fn multiply<'a>(
        &self,
        left: &[Left],
        steps: &Steps,
        right: &[Line],
        sums: &'a mut [MaybeUninit<Sums>],
    ) -> &'a [Sums] {
        assert!(right.len() >= steps.lines + sums.len() - 1, "a right side for each step");
        assert_eq!(left.len(), steps.len(), "a left side for each step");
        // What follows the left side is the next panel's: a part of it for each step. What follows the right one are the next neurons' weights.
        let mut ahead = match steps.stride.line {
            1 => right[..1].as_ptr().wrapping_add(2 * 3 * LINES),
            _ => left.as_ptr().wrapping_add(left.len()).cast(),
        };
        let rounds = left.chunks(steps.round).zip(steps.first.chunks(steps.round));
        for (number, (left, first)) in rounds.enumerate() {
            for (block, sums) in sums.iter_mut().enumerate() {
                self.add(left, (first, steps.stride), &right[block..], number == 0, ahead, sums);
                ahead = ahead.wrapping_add(first.len() * 3 * LINES / BLOCKS);
            }
        }
        // SAFETY: the first round has written each of them, and there is a step at least.
        unsafe { sums.assume_init_ref() }
    }

    /// Adds some steps to sums, which begin with zero at the first.
    #[inline(always)]
    fn add(
        &self,
        left: &[Left],
        steps: (&[u32], Stride),
        right: &[Line],
        begin: bool,
        ahead: *const Line,
        sums: &mut MaybeUninit<Sums>,
    ) {
        match self {
            // SAFETY, of both: all lines are there, see `multiply`; what does not begin here has begun before.
            #[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
            Self::Amx(tiles) if steps.1.line == 1 => unsafe {
                tiles.add_in_order(left, steps, right, begin, ahead, sums)
            },
            #[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
            Self::Amx(tiles) => unsafe { tiles.add(left, steps, right, begin, ahead, sums) },
            #[cfg(any(test, not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))))]
            Self::Loops => {
                if begin {
                    sums.write(Sums([[[0; 16]; ROWS]; 3]));
                }
                // SAFETY: as above.
                loops(left, steps, right, unsafe { sums.assume_init_mut() });
            }
        }
    }
}

/// What the instructions do.
#[cfg(any(test, not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))))]
fn loops(left: &[Left], (first, stride): (&[u32], Stride), right: &[Line], sums: &mut Sums) {
    for (left, first) in left.iter().zip(first) {
        let first = *first as usize / size_of::<Line>();
        for (a, b) in [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (2, 0)] {
            let rows = sums.0[a + b].iter_mut().zip(&left.0[a]);
            for (sums, a) in rows {
                for (k, a) in a.0.iter().enumerate() {
                    let line = &right[first + k * stride.line + b * stride.third];
                    for (sum, b) in sums.iter_mut().zip(line.0) {
                        let bytes = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
                        *sum +=
                            bytes.map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed())).sum::<i32>();
                    }
                }
            }
        }
    }
}
