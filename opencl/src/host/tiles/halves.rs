//! Numbers as two bfloat16, and where they go in lines and left sides.

use super::conv::Layout;
use super::{COLUMNS, DEPTH, Left, Line, Pair, ROWS, Steps};
use crate::host::arith::Form;
use crate::host::board::{Board, LANES};
use crate::host::kernel::versions;

/// The nearest bfloat16, in the upper half of the result; of two that are as near the one farther from zero. A NaN stays one, the largest
/// numbers become infinite.
#[inline(always)]
fn nearest(x: f32) -> u32 {
    // What is added must not run over into the sign.
    let bits = if x.is_nan() { 0x7fc0_0000 } else { x.to_bits().wrapping_add(0x8000) };
    bits & 0xffff_0000
}

/// The bfloat16 next to a number and next to what that leaves, each in the upper half; of an infinite number that is none.
#[inline(always)]
fn halves(x: f32) -> (u32, u32) {
    let upper = nearest(x);
    (upper, nearest(x - f32::from_bits(upper)))
}

/// Sixteen columns of two rows.
#[inline(always)]
fn split(x: &[f32; 16], y: &[f32; 16], upper: &mut Line, lower: &mut Line) {
    for i in 0..16 {
        let ((upper_x, lower_x), (upper_y, lower_y)) = (halves(x[i]), halves(y[i]));
        (upper.0[i], lower.0[i]) = (upper_x >> 16 | upper_y, lower_x >> 16 | lower_y);
    }
}

/// A row of a left side: numbers that are multiplied with each other's neighbours lie side by side.
#[inline(always)]
fn split_row(row: &[f32; DEPTH], upper: &mut Line, lower: &mut Line) {
    let (mut first, mut rest) = ([0u16; DEPTH], [0u16; DEPTH]);
    for ((x, first), rest) in row.iter().zip(&mut first).zip(&mut rest) {
        let (next, left) = halves(*x);
        (*first, *rest) = ((next >> 16) as u16, (left >> 16) as u16);
    }
    let pairs = |of: &[u16; DEPTH]| std::array::from_fn(|at| Pair::from(of[2 * at]) | Pair::from(of[2 * at + 1]) << 16);
    (upper.0, lower.0) = (pairs(&first), pairs(&rest));
}

/// A left side of sixteen rows.
pub(in crate::host) fn left(row: impl Fn(usize) -> [f32; DEPTH]) -> Left {
    let mut left = Left::ZERO;
    for (number, (upper, lower)) in left.upper.iter_mut().zip(&mut left.lower).enumerate() {
        split_row(&row(number), upper, lower);
    }
    left
}

/// Two rows of a right side, of which `number` gives the number of a row and column: their lines' halves.
pub(in crate::host) fn line_pairs(number: impl Fn(usize, usize) -> f32) -> [(Line, Line); super::BLOCKS] {
    std::array::from_fn(|block| {
        let mut both = (Line::ZERO, Line::ZERO);
        let row = |row| std::array::from_fn(|column| number(row, block * 16 + column));
        split(&row(0), &row(1), &mut both.0, &mut both.1);
        both
    })
}

versions! {
    /// Splits `rows`, `[rows][inputs]`, into left sides, for each sixteen rows one for each step, in the order of [`super::Panels`]; what is
    /// beyond the last row or input becomes zeros.
    split_left = split_left_body(rows: &[f32], inputs: usize, steps: &Steps, left: &mut [Left])
}

#[inline(always)]
fn split_left_body<F: Form>(rows: &[f32], inputs: usize, steps: &Steps, left: &mut [Left]) {
    let panels = (rows.len() / inputs).div_ceil(ROWS);
    for (panel, rows) in rows.chunks(ROWS * inputs).enumerate() {
        for step in 0..steps.len() {
            let left = &mut left[steps.place(panels, panel, step)];
            let mut rows = rows.chunks_exact(inputs);
            for (upper, lower) in left.upper.iter_mut().zip(&mut left.lower) {
                let row = rows.next().map_or(&[][..], |row| &row[step * DEPTH..]);
                match row.first_chunk() {
                    Some(row) => split_row(row, upper, lower),
                    None => {
                        let mut rest = [0.0; DEPTH];
                        rest[..row.len()].copy_from_slice(row);
                        split_row(&rest, upper, lower);
                    }
                }
            }
        }
    }
}

versions! {
    /// Splits `rows`, `[rows][COLUMNS]`, into the lines of a right side; lines beyond the last row become zeros.
    split_rows = split_rows_body(rows: &[f32], upper: &mut [Line], lower: &mut [Line])
}

#[inline(always)]
fn split_rows_body<F: Form>(rows: &[f32], upper: &mut [Line], lower: &mut [Line]) {
    const NONE: [f32; COLUMNS] = [0.0; COLUMNS];
    let mut pairs = rows.chunks(2 * COLUMNS);
    let lines =
        upper.as_chunks_mut::<{ super::BLOCKS }>().0.iter_mut().zip(lower.as_chunks_mut::<{ super::BLOCKS }>().0);
    for (upper, lower) in lines {
        let Some(pair) = pairs.next() else {
            (*upper, *lower) = ([Line::ZERO; super::BLOCKS], [Line::ZERO; super::BLOCKS]);
            continue;
        };
        let (x, y) = pair.split_at(COLUMNS);
        let y = if y.is_empty() { &NONE[..] } else { y };
        let numbers = x.as_chunks().0.iter().zip(y.as_chunks().0);
        for ((x, y), (upper, lower)) in numbers.zip(upper.iter_mut().zip(lower)) {
            split(x, y, upper, lower);
        }
    }
}

versions! {
    /// Splits chessboards, `[channels][plane]`, into the lines of a right side, see [`Layout::BOARD`]; lines beyond the last channel
    /// become zeros.
    split_board = split_board_body(planes: &[f32], upper: &mut [Line], lower: &mut [Line])
}

#[inline(always)]
fn split_board_body<F: Form>(planes: &[f32], upper: &mut [Line], lower: &mut [Line]) {
    const EACH: usize = Layout::BOARD.lines;
    const PLANE: usize = Board::CHESS.plane;
    let mut pairs = planes.chunks(2 * PLANE);
    let lines = upper.as_chunks_mut::<EACH>().0.iter_mut().zip(lower.as_chunks_mut::<EACH>().0);
    for (upper, lower) in lines {
        let Some(pair) = pairs.next() else {
            (*upper, *lower) = ([Line::ZERO; EACH], [Line::ZERO; EACH]);
            continue;
        };
        let x: &[f32; PLANE] = pair.first_chunk().expect("a plane");
        let y = pair[PLANE..].first_chunk().unwrap_or(&[0.0; PLANE]);
        for at in 0..Layout::RANKS {
            let (mut centre, mut rest) = (Line::ZERO, Line::ZERO);
            split(&two_ranks(x, at), &two_ranks(y, at), &mut centre, &mut rest);
            for (lines, line) in [(&mut *upper, centre), (&mut *lower, rest)] {
                lines[at] = Line(F::move_ranks(&line.0, true));
                lines[Layout::RANKS + at] = line;
                lines[2 * Layout::RANKS + at] = Line(F::move_ranks(&line.0, false));
            }
        }
    }
}

/// The rank before the `at`th and the one four ranks on.
#[inline(always)]
fn two_ranks(plane: &[f32; Board::CHESS.plane], at: usize) -> [f32; 16] {
    let first = Board::CHESS.origin - Board::CHESS.stride + at * Board::CHESS.stride;
    let second = first + Layout::APART * Board::CHESS.stride;
    let mut both = [0.0; 16];
    let halves = both.as_chunks_mut::<LANES>().0;
    halves[0] = *plane[first..].first_chunk().expect("a rank");
    halves[1] = *plane[second..].first_chunk().expect("a rank");
    both
}
