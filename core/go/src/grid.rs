//! A board of any size with a wall around it, so that each point has a neighbour on every side.

use crate::points::{MAX_SIDE, Move, Size};

/// How many cells there are from one row to the next. The wall at the left of a row is also the wall at the right of
/// the row above.
const STRIDE: usize = MAX_SIDE as usize + 1;

/// How many cells there are: the rows, and one more above and one below.
pub(crate) const CELLS: usize = STRIDE * (MAX_SIDE as usize + 2);

/// The number of a cell.
pub(crate) type Cell = u16;

/// The cell of a point.
#[inline]
pub(crate) fn cell(size: Size, point: Move) -> Cell {
    let x = u16::from(size.x());
    (point.0 / x + 1) * STRIDE as u16 + point.0 % x + 1
}

/// The point of a cell that is on the board.
#[inline]
pub(crate) fn point(size: Size, cell: Cell) -> Move {
    let (row, column) = (cell / STRIDE as u16 - 1, cell % STRIDE as u16 - 1);
    Move(row * u16::from(size.x()) + column)
}

/// The four cells around a cell that is on the board: above, left, right, below.
#[inline]
pub(crate) fn neighbours(cell: Cell) -> [Cell; 4] {
    let stride = STRIDE as Cell;
    [cell - stride, cell - 1, cell + 1, cell + stride]
}
