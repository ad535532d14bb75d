//! Products of matrices in tiles of bfloat16, by instructions that multiply whole tiles: Intel's AMX.
//!
//! A processor with AMX makes sixteen times as many products of bfloat16 as of single precision. A bfloat16 has eight
//! digits, a third of what is needed here; but two of them, a number and what rounding it has left over, have seventeen. So
//! each side goes in as two halves, `a = A + a'` and `b = B + b'`, and a product is the sum of three, `A·B + a'·B + A·b'`,
//! all summed in single precision. What is left out, `a'·b'`, and what the halves round are below 2⁻¹⁵ of the product together;
//! numbers too small for the format's normal ones count as zero. Whether a network bears that is found out
//! when it is made ready (see [`super::Host`]).
//!
//! The left side's tiles have sixteen rows of 32 numbers, the right side's 32 rows of sixteen columns, two rows side by
//! side: a [`Line`] is sixteen columns of two rows. Four of them are multiplied at a time, 64 columns: the squares of a
//! chessboard, or as many neurons.
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
mod halves;
#[cfg(test)]
mod tests;

use super::product::Block;
pub(super) use conv::{Layout, end_on_board, end_side_by_side};
pub(super) use dense::{end_in_rows, lines_of_panel, right, steps_of_inputs};
pub(super) use halves::{left, line_pairs, split_board, split_left, split_rows};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Rows of a tile, and of sums.
pub(super) const ROWS: usize = 16;

/// Rows of the right side that a step multiplies, two to a line.
pub(super) const DEPTH: usize = 32;

/// Lines of a step.
pub(super) const LINES: usize = DEPTH / 2;

/// Blocks of sixteen columns that are multiplied at a time.
pub(super) const BLOCKS: usize = 4;

/// Columns that are multiplied at a time: the squares of a chessboard.
pub(super) const COLUMNS: usize = BLOCKS * super::product::COLUMNS;

/// Two bfloat16, the first in the lower half.
pub(super) type Pair = u32;

/// Sixteen columns of two rows: a line of the cache.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Line(pub [Pair; 16]);

impl Line {
    pub const ZERO: Self = Self([0; 16]);
}

/// Sixteen rows of 32 numbers of a left side: row by row their upper halves, then what those leave.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Left {
    upper: [Line; ROWS],
    lower: [Line; ROWS],
}

impl Left {
    pub const ZERO: Self = Self { upper: [Line::ZERO; ROWS], lower: [Line::ZERO; ROWS] };
}

/// Sums of sixteen rows in 64 columns.
pub(super) type Sums = [[Block; BLOCKS]; ROWS];

/// Panels of a left side that are multiplied in turns, so that what they multiply is read from a far cache once for all.
pub(super) const GROUP: usize = 4;

/// How the lines of a step lie: so many from one to the next, and from one block to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stride {
    pub line: usize,
    pub block: usize,
}

/// Which lines of a right side each step takes.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// Where they begin, in bytes.
    first: Vec<u32>,
    stride: Stride,
    /// Lines that there must be.
    lines: usize,
    /// Steps of a panel before it is the next one's turn: what they read stays in the nearest cache.
    round: usize,
}

impl Steps {
    /// `first` in lines. There is a step at least.
    pub fn new(first: impl IntoIterator<Item = usize>, stride: Stride, round: usize) -> Self {
        let first: Vec<usize> = first.into_iter().collect();
        let last = first.iter().max().expect("a step");
        let lines = last + (LINES - 1) * stride.line + (BLOCKS - 1) * stride.block + 1;
        let bytes = |line: usize| u32::try_from(line * size_of::<Line>()).expect("less than 4 GiB");
        Self { first: first.into_iter().map(bytes).collect(), stride, lines, round }
    }

    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Where in the order of [`Panels`] a step of one of so many panels stands.
    pub fn place(&self, panels: usize, panel: usize, step: usize) -> usize {
        let (group, round) = (panel / GROUP * GROUP, step / self.round * self.round);
        let in_group = GROUP.min(panels - group);
        let in_round = self.round.min(self.len() - round);
        group * self.len() + round * in_group + (panel - group) * in_round + step - round
    }

    /// The steps of each round.
    fn rounds(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.len()).step_by(self.round).map(|first| first..self.len().min(first + self.round))
    }
}

/// The left sides of some panels, in the order in which they are read: by groups, rounds, panels, steps.
#[derive(Clone, Copy)]
pub(super) struct Panels<'a> {
    pub left: &'a [Left],
    pub count: usize,
}

impl<'a> Panels<'a> {
    /// Whether a panel is a group of its own, so that its steps lie one after the other.
    fn alone(self, panel: usize) -> bool {
        panel.is_multiple_of(GROUP) && panel + 1 == self.count
    }

    /// The left side of a panel's round.
    fn of(self, panel: usize, steps: &Steps, round: &Range<usize>) -> &'a [Left] {
        &self.left[steps.place(self.count, panel, round.start)..][..round.len()]
    }
}

/// A right side: its upper halves, and what they leave in lines that lie alike.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    pub upper: &'a [Line],
    pub lower: &'a [Line],
}

impl<'a> Right<'a> {
    /// Of lines of which the first half is the upper one.
    pub fn of(lines: &'a [Line]) -> Self {
        let (upper, lower) = lines.split_at(lines.len() / 2);
        Self { upper, lower }
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
    /// `sums = Σ left · right` over all steps for some panels of one group, from the `first` on.
    pub fn multiply<'a>(
        &self,
        (panels, first): (Panels<'_>, usize),
        steps: &Steps,
        right: Right<'_>,
        sums: &'a mut [MaybeUninit<Sums>],
    ) -> &'a mut [Sums] {
        assert!(right.upper.len().min(right.lower.len()) >= steps.lines, "a right side for each step");
        let mut add = |round: Range<usize>| {
            for (sums, panel) in sums.iter_mut().zip(first..) {
                self.add(panels.of(panel, steps, &round), (steps, round.clone()), right, sums);
            }
        };
        match panels.alone(first) {
            // Nobody's turn is between.
            true => add(0..steps.len()),
            false => steps.rounds().for_each(add),
        }
        // SAFETY: the first round has written each of them, and there is a step at least.
        unsafe { sums.assume_init_mut() }
    }

    /// Adds some steps to sums, which begin with zero at the first.
    fn add(
        &self,
        left: &[Left],
        (steps, range): (&Steps, Range<usize>),
        right: Right<'_>,
        sums: &mut MaybeUninit<Sums>,
    ) {
        assert_eq!(left.len(), range.len(), "a left side for each step");
        let begin = range.start == 0;
        let steps = (&steps.first[range], steps.stride);
        match self {
            // SAFETY: all lines are there, see `multiply`; what does not begin here has begun before.
            #[cfg(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))]
            Self::Amx(tiles) => unsafe { tiles.add(left, steps, right, begin, sums) },
            #[cfg(any(test, not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))))]
            Self::Loops => {
                if begin {
                    sums.write([[Block::ZERO; BLOCKS]; ROWS]);
                }
                // SAFETY: as above.
                loops(left, steps, right, unsafe { sums.assume_init_mut() });
            }
        }
    }
}

/// What the instructions do, but for the order in which a step's products are added.
#[cfg(any(test, not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64"))))]
fn loops(left: &[Left], (first, stride): (&[u32], Stride), right: Right<'_>, sums: &mut Sums) {
    let numbers = |pair: Pair| [f32::from_bits(pair << 16), f32::from_bits(pair & 0xffff_0000)];
    for (left, first) in left.iter().zip(first) {
        let first = *first as usize / size_of::<Line>();
        for (a, b) in [(&left.upper, right.upper), (&left.lower, right.upper), (&left.upper, right.lower)] {
            for (sums, a) in sums.iter_mut().zip(a) {
                for (k, a) in a.0.iter().enumerate() {
                    let [a, a_next] = numbers(*a);
                    for (block, sums) in sums.iter_mut().enumerate() {
                        let line = &b[first + k * stride.line + block * stride.block];
                        for (sum, b) in sums.0.iter_mut().zip(line.0) {
                            let [b, b_next] = numbers(b);
                            *sum += a * b;
                            *sum += a_next * b_next;
                        }
                    }
                }
            }
        }
    }
}
