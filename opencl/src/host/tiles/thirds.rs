//! Splits numbers into three bytes, and puts these into operands.

use super::conv::{Layout, two_ranks};
use super::{BLOCKS, DEPTH, Line, Operand, ROWS};
use crate::host::arith::{Arith, Form};
use crate::host::board::Board;
use crate::host::isa::{BaselineForm, versions};
use crate::host::product::{Block, CHESS};

/// The largest value of an upper third.
const MOST: f32 = 127.0;

/// A largest number below this counts as this, so that its inverse is finite.
const LEAST: f32 = 1e-30;

/// The bits of a number's absolute value. They have the order of the absolute values, with those of NaNs behind all
/// others.
fn size(x: f32) -> u32 {
    x.to_bits() & 0x7fff_ffff
}

/// From the bits of the largest of some numbers: what an upper third of 1 is worth, and the factor that makes the
/// numbers whole ones. If the largest number is not finite, the first is a NaN, and so is whatever it is multiplied
/// with.
#[inline(always)]
fn scale(largest: u32) -> (f32, f32) {
    let largest = f32::from_bits(largest);
    match largest.is_finite() {
        true => (largest.max(LEAST) / MOST, MOST * 65536.0 / largest.max(LEAST)),
        false => (f32::NAN, 0.0),
    }
}

/// [`scale`] of the largest of `numbers`.
pub(in crate::host) fn scale_of(numbers: impl IntoIterator<Item = f32>) -> (f32, f32) {
    scale(numbers.into_iter().map(size).max().unwrap_or(0))
}

/// For each column of a right side: what an upper third of 1 is worth, and the factor that makes the numbers whole
/// ones.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) struct Scale {
    pub unit: [Block; BLOCKS],
    inverse: [Block; BLOCKS],
}

impl Scale {
    pub const ZERO: Self = Self { unit: [Block::ZERO; BLOCKS], inverse: [Block::ZERO; BLOCKS] };

    /// Sets both from the bits of the largest number of each column.
    #[inline(always)]
    fn set(&mut self, largest: &[u32; CHESS]) {
        for (number, largest) in largest.as_chunks::<16>().0.iter().enumerate() {
            for (at, largest) in largest.iter().enumerate() {
                (self.unit[number].0[at], self.inverse[number].0[at]) = scale(*largest);
            }
        }
    }
}

/// Splits `whole` = `a·2¹⁶ + b·2⁸ + c` into three signed bytes, the upper one, `a`, in the third place. What is added
/// makes the two lower ones carry over as if they had no sign, and is taken off again bit by bit.
#[inline(always)]
fn three_bytes(whole: i32) -> u32 {
    whole.cast_unsigned().wrapping_add(0x8080) ^ 0x8080
}

/// Sixteen numbers times `by`, as [`three_bytes`].
#[inline(always)]
fn sixteen<M: Arith>(x: &[f32; 16], by: &[f32; 16]) -> [u32; 16] {
    let mut whole = [0; 16];
    for at in (0..16).step_by(M::LANES) {
        M::whole(M::times(M::load(&x[at..]), M::load(&by[at..])), &mut whole[at..]);
    }
    let mut bytes = [0; 16];
    for (bytes, whole) in bytes.iter_mut().zip(whole) {
        *bytes = three_bytes(whole);
    }
    bytes
}

/// Splits sixteen columns of four rows, with a factor `by` for each column, into a line of each third.
#[inline(always)]
fn split<M: Arith>(rows: [&[f32; 16]; 4], by: &[f32; 16]) -> [Line; 3] {
    let mut bytes = [[0; 16]; 4];
    for (bytes, row) in bytes.iter_mut().zip(rows) {
        *bytes = sixteen::<M>(row, by);
    }
    let mut thirds = [Line::ZERO; 3];
    let [upper, middle, lower] = &mut thirds;
    // No closures, see `product`.
    for (at, ((upper, middle), lower)) in upper.0.iter_mut().zip(&mut middle.0).zip(&mut lower.0).enumerate() {
        let [a, b, c, d] = [bytes[0][at], bytes[1][at], bytes[2][at], bytes[3][at]];
        *upper = a >> 16 & 0xff | b >> 8 & 0xff00 | c & 0xff_0000 | d << 8 & 0xff00_0000;
        *middle = a >> 8 & 0xff | b & 0xff00 | c << 8 & 0xff_0000 | d << 16 & 0xff00_0000;
        *lower = a & 0xff | b << 8 & 0xff00 | c << 16 & 0xff_0000 | d << 24;
    }
    thirds
}

/// An operand of a right side: `number(row, column)` gives its numbers, and `by` has for each column the factor that
/// makes them whole ones.
pub(in crate::host) fn right(number: impl Fn(usize, usize) -> f32, by: &Block) -> Operand {
    let mut right = Operand::ZERO;
    for line in 0..DEPTH / 4 {
        let row = |row| std::array::from_fn(|column| number(4 * line + row, column));
        let rows: [[f32; 16]; 4] = std::array::from_fn(row);
        right.set(line, split::<BaselineForm>(rows.each_ref(), &by.0));
    }
    right
}

/// Splits a row of a left side, whose numbers are multiplied by `by`, into a line of each third. The bytes of
/// neighbouring numbers lie side by side.
#[inline(always)]
fn split_row<M: Arith>(row: &[f32; DEPTH], by: f32) -> [Line; 3] {
    let mut thirds = [Line::ZERO; 3];
    let [upper, middle, lower] = &mut thirds;
    for (number, row) in row.as_chunks().0.iter().enumerate() {
        let bytes = sixteen::<M>(row, &[by; 16]);
        for at in 0..4 {
            let of = |third: u32| u32::from_le_bytes(std::array::from_fn(|i| (bytes[4 * at + i] >> third) as u8));
            let at = 4 * number + at;
            (upper.0[at], middle.0[at], lower.0[at]) = (of(16), of(8), of(0));
        }
    }
    thirds
}

/// An operand of a left side: `number(row, column)` gives its numbers, and `by` has for each row the factor that makes
/// them whole ones.
pub(in crate::host) fn left(number: impl Fn(usize, usize) -> f32, by: &[f32; ROWS]) -> Operand {
    let mut left = Operand::ZERO;
    for (row, by) in by.iter().enumerate() {
        left.set(row, split_row::<BaselineForm>(&std::array::from_fn(|column| number(row, column)), *by));
    }
    left
}

versions! {
    /// Splits `rows`, `[rows][inputs]`, into operands of left sides: for each sixteen rows, one for each 64 inputs.
    /// Writes what the rows are worth to `units`. What is beyond the last input becomes zero; rows beyond the last one
    /// keep what they had.
    split_left = split_left_body(rows: &[f32], inputs: usize, left: &mut [Operand], units: &mut [[f32; ROWS]])
}

#[inline(always)]
fn split_left_body<F: Form>(rows: &[f32], inputs: usize, left: &mut [Operand], units: &mut [[f32; ROWS]]) {
    let panels = rows.chunks(ROWS * inputs).zip(left.chunks_exact_mut(inputs.div_ceil(DEPTH))).zip(units);
    for ((rows, left), units) in panels {
        for ((number, row), unit) in rows.chunks_exact(inputs).enumerate().zip(units) {
            let mut largest = 0;
            for x in row {
                largest = largest.max(size(*x));
            }
            let by;
            (*unit, by) = scale(largest);
            for (left, part) in left.iter_mut().zip(row.chunks(DEPTH)) {
                let mut rest = [0.0; DEPTH];
                let part = part.first_chunk().unwrap_or_else(|| {
                    rest[..part.len()].copy_from_slice(part);
                    &rest
                });
                left.set(number, split_row::<F::Wide>(part, by));
            }
        }
    }
}

versions! {
    /// Sets what the squares of `rows`, `[channels][CHESS]`, are worth: each by its own largest number.
    scale_rows = scale_rows_body(rows: &[f32], scale: &mut Scale)
}

#[inline(always)]
fn scale_rows_body<F: Form>(rows: &[f32], scale: &mut Scale) {
    let mut largest = [0; CHESS];
    for row in rows.as_chunks::<CHESS>().0 {
        for (largest, x) in largest.iter_mut().zip(row) {
            *largest = size(*x).max(*largest);
        }
    }
    scale.set(&largest);
}

versions! {
    /// Like [`scale_rows`], for chessboards, `[channels][plane]`: all squares by the largest of all numbers, because a
    /// convolution adds neighbours.
    scale_board = scale_board_body(planes: &[f32], scale: &mut Scale)
}

#[inline(always)]
fn scale_board_body<F: Form>(planes: &[f32], scale: &mut Scale) {
    let mut largest = [0; 64];
    let (whole, rest) = planes.as_chunks::<64>();
    for part in whole {
        for (largest, x) in largest.iter_mut().zip(part) {
            *largest = size(*x).max(*largest);
        }
    }
    let most = largest.into_iter().chain(rest.iter().map(|x| size(*x))).fold(0, u32::max);
    scale.set(&[most; CHESS]);
}

versions! {
    /// Splits one block of the squares of `rows`, up to 64 channels of `[CHESS]`, into `operand`, see [`Layout::Flat`].
    /// What is beyond the last channel keeps what it had.
    split_rows = split_rows_body(rows: &[f32], block: usize, scale: &Scale, operand: &mut Operand)
}

#[inline(always)]
fn split_rows_body<F: Form>(rows: &[f32], block: usize, scale: &Scale, operand: &mut Operand) {
    for (line, four) in rows.chunks(4 * CHESS).enumerate() {
        let mut x = [&[0.0; 16]; 4];
        for (x, row) in x.iter_mut().zip(four.as_chunks::<CHESS>().0) {
            *x = row[block * 16..].first_chunk().expect("sixteen squares");
        }
        operand.set(line, split::<F::Wide>(x, &scale.inverse[block].0));
    }
}

versions! {
    /// Splits two ranks of chessboards into `operands`: the rank before rank `first`, and the one four ranks further
    /// on. `planes` has up to 64 channels of `[plane]`, see [`Layout::Board`]. What is beyond the last channel keeps
    /// what it had.
    split_board = split_board_body(planes: &[f32], first: usize, scale: &Scale, operands: &mut [Operand])
}

#[inline(always)]
fn split_board_body<F: Form>(planes: &[f32], first: usize, scale: &Scale, operands: &mut [Operand]) {
    const PLANE: usize = Board::CHESS.plane;
    let [before, same, next] = operands else { unreachable!("three operands are made together") };
    let first = Board::CHESS.origin - Board::CHESS.stride + first * Board::CHESS.stride;
    let second = first + Layout::APART * Board::CHESS.stride;
    for (line, four) in planes.chunks(4 * PLANE).enumerate() {
        let mut x = [[0.0; 16]; 4];
        for (x, plane) in x.iter_mut().zip(four.as_chunks::<PLANE>().0) {
            *x = two_ranks(plane, first, second);
        }
        let thirds = split::<F::Wide>(x.each_ref(), &scale.inverse[0].0);
        let mut moved = [thirds; 2];
        for (number, Line(third)) in thirds.iter().enumerate() {
            moved[0][number] = Line(F::move_ranks(third, true));
            moved[1][number] = Line(F::move_ranks(third, false));
        }
        before.set(line, moved[0]);
        same.set(line, thirds);
        next.set(line, moved[1]);
    }
}
