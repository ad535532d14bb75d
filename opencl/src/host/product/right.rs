//! The right side of a product, in any layout, and whatever its numbers stand for.

use super::{Block, CHESS, COLUMNS, Left, MOST_BLOCKS, Sink, Sums, side_by_side, tile};
use crate::host::arith::{Arith, Form};

/// The right side of a tile: what the numbers in its rows of sixteen columns stand for.
pub(in crate::host) trait Right: Copy {
    type Row: Copy + Sync;

    /// The vector number `number` of a row.
    fn vector<M: Arith>(self, row: &Self::Row, number: usize) -> M::Vector;
}

/// Numbers that stand for themselves.
#[derive(Clone, Copy)]
pub(in crate::host) struct Floats;

impl Right for Floats {
    type Row = Block;

    #[inline(always)]
    fn vector<M: Arith>(self, row: &Block, number: usize) -> M::Vector {
        row.vector::<M>(number)
    }
}

/// Rows of sixty-four numbers that are side by side, a chessboard's or those of four blocks: wide vectors need no other
/// order.
#[derive(Clone, Copy)]
pub(super) struct Boards;

impl Right for Boards {
    type Row = [f32; CHESS];

    #[inline(always)]
    fn vector<M: Arith>(self, row: &[f32; CHESS], number: usize) -> M::Vector {
        M::load(&row[number * M::LANES..])
    }
}

/// Like [`Boards`], with rows of four blocks.
#[derive(Clone, Copy)]
pub(super) struct Fours;

impl Right for Fours {
    type Row = [Block; MOST_BLOCKS];

    #[inline(always)]
    fn vector<M: Arith>(self, row: &[Block; MOST_BLOCKS], number: usize) -> M::Vector {
        vector_of_blocks::<M>(row, number)
    }
}

/// The vector number `number` of blocks that are side by side.
#[inline(always)]
pub(super) fn vector_of_blocks<M: Arith>(blocks: &[Block], number: usize) -> M::Vector {
    let each = COLUMNS / M::LANES;
    blocks[number / each].vector::<M>(number % each)
}

/// Whether the columns of a tile of this form are a chessboard's squares: then the rows of boards can be used without
/// packing.
pub(in crate::host) const fn takes_boards<F: Form>() -> bool {
    F::BLOCKS * COLUMNS == CHESS
}

/// The right side of a tile, in any layout.
pub(super) trait RightSide: Copy {
    /// Gives `Σ left[k][r] · right[k]` for each row `r` to the sink.
    fn tile<M: Arith, const ROWS: usize>(self, left: impl Left<ROWS>, sink: &mut impl Sink);
}

impl<const BLOCKS: usize> RightSide for [&[Block]; BLOCKS] {
    #[inline(always)]
    fn tile<M: Arith, const ROWS: usize>(self, left: impl Left<ROWS>, sink: &mut impl Sink) {
        tile::<M, ROWS, BLOCKS>(left, self, sink);
    }
}

/// Used if [`takes_boards`] is true. A row goes to the sink as one block of four vectors.
impl RightSide for &[[f32; CHESS]] {
    #[inline(always)]
    fn tile<M: Arith, const ROWS: usize>(self, left: impl Left<ROWS>, sink: &mut impl Sink) {
        Sums::<M, ROWS, 1, 4>::of(&left, [self], Boards, 0).give(sink);
    }
}

/// Used if [`takes_boards`] is true, like the one for boards.
impl RightSide for &[[Block; MOST_BLOCKS]] {
    #[inline(always)]
    fn tile<M: Arith, const ROWS: usize>(self, left: impl Left<ROWS>, sink: &mut impl Sink) {
        Sums::<M, ROWS, 1, 4>::of(&left, [self], Fours, 0).give(sink);
    }
}

/// The right side of a product.
pub(super) trait Sides: Copy {
    /// The right side of a tile: `BLOCKS` blocks of columns from the `block`th on.
    fn of_tile<const BLOCKS: usize>(self, block: usize) -> impl RightSide;
}

/// Packed block by block, with `rows` rows in each.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a> {
    pub blocks: &'a [Block],
    pub rows: usize,
}

impl Sides for Packed<'_> {
    #[inline(always)]
    fn of_tile<const BLOCKS: usize>(self, block: usize) -> impl RightSide {
        side_by_side::<_, BLOCKS>(self.blocks, self.rows, block)
    }
}

/// All columns as one block.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a, Row>(pub &'a [Row]);

impl<'a, Row> Sides for Whole<'a, Row>
where
    &'a [Row]: RightSide,
    Self: Copy,
{
    #[inline(always)]
    fn of_tile<const BLOCKS: usize>(self, _: usize) -> impl RightSide {
        self.0
    }
}
