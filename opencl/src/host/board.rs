//! How the squares of a board are arranged in the host's memory.
//!
//! A plane of a value that a 3×3 convolution reads or makes has a border of zeros, so that there is no case for the
//! edge; other values store their squares contiguously. Element-wise operations (gates, norms, affine layers) keep the
//! layout of a value, so no data are moved between convolutions. One column of zeros between two rows serves as the
//! right border of the one and the left border of the other:
//!
//! ```text
//!   0 0 0 0 0 0 0 0 0          row above the board
//!   0 a b c d e f g h          each row: its left border, then its squares
//!   ...
//!   0 0 0 0 0 0 0 0 0 0        row below; the last 0 is the right border of the last row
//! ```
//!
//! In chess that is 91 numbers a plane, so that 64 planes stay in a first-level cache of 32 kB.

use crate::graph::Graph;

/// How many numbers a kernel handles at once: a row of a chessboard.
pub(super) const LANES: usize = 8;

/// A rank of a chessboard, or the same number of channels.
pub(super) type Lanes = [f32; LANES];

/// The layout of one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Board {
    pub rows: usize,
    pub files: usize,
    /// The distance from a square to the one above it.
    pub stride: usize,
    /// The distance from a plane to the next.
    pub plane: usize,
    /// Index of the first square. A kernel's corner is this far before its centre.
    pub origin: usize,
}

impl Board {
    /// A chessboard. Kernels that get this constant know every address at compile time.
    pub const CHESS: Self = Self::new(8, 8);

    /// The board that has this many squares in `graph`; if there is none, a single row, over which only a 1×1
    /// convolution makes sense.
    pub fn of(graph: &Graph, squares: usize) -> Self {
        let (rows, files) = graph.sides(squares).unwrap_or((1, squares));
        Self::new(rows, files)
    }

    /// Squares side by side without a border: what is done to each square alone needs none.
    pub const fn flat(squares: usize) -> Self {
        Self { rows: 1, files: squares, stride: squares + 1, plane: squares, origin: 0 }
    }

    const fn new(rows: usize, files: usize) -> Self {
        let stride = files + 1;
        // Rows of eight are processed in pairs: below an odd number of rows there is one more row of zeros.
        let worked_on = if files == LANES { rows.next_multiple_of(2) } else { rows };
        let bordered = (worked_on + 2) * stride + 1;
        // On other boards vectors run on over the ends of rows: see `vectors`.
        let run_on = (rows * stride).next_multiple_of(2 * LANES) + 2 * stride + 2;
        let plane = if files == LANES || bordered > run_on { bordered } else { run_on };
        Self { rows, files, stride, plane, origin: stride + 1 }
    }

    /// How many squares there are.
    pub const fn squares(self) -> usize {
        self.rows * self.files
    }

    /// The vectors of a plane: how many there are, and how far apart. With rows of eight there is one for each row;
    /// otherwise they follow each other over squares and the borders between them.
    pub const fn vectors(self) -> (usize, usize) {
        match self.files == LANES {
            true => (self.rows, self.stride),
            false => ((self.rows * self.stride).div_ceil(LANES), LANES),
        }
    }

    /// The part of a plane from its first to its last square, borders between rows included.
    pub const fn interior(self) -> std::ops::Range<usize> {
        self.origin..self.origin + self.rows * self.stride - 1
    }

    /// Index of a square in its plane.
    pub fn index(self, square: usize) -> usize {
        self.origin + square / self.files * self.stride + square % self.files
    }

    /// Sets the border between rows to zero again.
    #[inline(always)]
    pub fn clear_border(self, plane: &mut [f32]) {
        for row in 1..self.rows {
            plane[self.origin + row * self.stride - 1] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Shape;

    #[test]
    fn borders_are_apart_from_squares() {
        let on_squares = [1, 4, 9, 25, 49, 64, 81, 361, 2, 12].map(|squares| (None, squares));
        let on_sides = [(13, 9), (9, 13), (3, 8), (8, 3), (1, 8), (5, 1)].map(|sides| (Some(sides), sides.0 * sides.1));
        for (sides, squares) in on_squares.into_iter().chain(on_sides) {
            let mut graph = Graph::new(Shape { channels: 1, squares });
            if let Some((ranks, files)) = sides {
                graph = graph.on_board(ranks, files);
            }
            let board = Board::of(&graph, squares);
            assert!(sides.is_none_or(|sides| sides == (board.rows, board.files)));
            let indices: Vec<usize> = (0..squares).map(|s| board.index(s)).collect();
            assert_eq!(indices[0], board.interior().start);
            assert_eq!(indices[squares - 1] + 1, board.interior().end);
            for &i in &indices {
                // Eight neighbours, all in the plane; beside an edge they are border.
                for near in [i - board.stride - 1, i + board.stride + 1] {
                    assert!(near < board.plane);
                }
            }
            for row in 0..board.rows {
                assert!(!indices.contains(&(board.origin + row * board.stride - 1)));
                assert!(!indices.contains(&(board.origin + row * board.stride + board.files)));
            }
        }
        assert_eq!(Board::CHESS.plane, 91);
        assert_eq!(Board::flat(12).interior(), 0..12);
    }
}
