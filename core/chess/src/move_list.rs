//! The legal moves of a position, in a list of fixed size.

use core::fmt;
use core::ops::Deref;

use cozy_chess::{BitBoard, Move, Piece, Square};

/// Room for the legal moves of any position that chess can reach: 218 is the most there are.
const CAPACITY: usize = 256;

/// The legal moves of a position, in the order that [`crate::History::legal_moves`] promises. It dereferences to a
/// slice of moves.
#[derive(Clone)]
pub struct MoveList {
    len: usize,
    moves: [Move; CAPACITY],
}

impl MoveList {
    /// A list without moves.
    pub const fn new() -> Self {
        const ANY: Move = Move { from: Square::A1, to: Square::A1, promotion: None };
        MoveList { len: 0, moves: [ANY; CAPACITY] }
    }

    /// Removes all moves.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a move to each square of `to`; `from` says from which square.
    #[inline(always)]
    pub(crate) fn extend(&mut self, from: impl Fn(Square) -> Square, to: BitBoard) {
        let mut left = to.0;
        while left != 0 {
            let to = Square::index(left.trailing_zeros() as usize & 63);
            self.append(from(to), to, None);
            left &= left - 1;
        }
    }

    /// Adds a move. It is written field by field, which compiles to plain stores.
    #[inline(always)]
    pub(crate) fn append(&mut self, from: Square, to: Square, promotion: Option<Piece>) {
        debug_assert!(self.len < CAPACITY, "FENs are held to what a game can reach, where 218 moves are the most");
        let mv = &mut self.moves[self.len % CAPACITY];
        mv.from = from;
        mv.to = to;
        mv.promotion = promotion;
        self.len += 1;
    }
}

impl Deref for MoveList {
    type Target = [Move];

    #[inline]
    fn deref(&self) -> &[Move] {
        &self.moves[..self.len.min(CAPACITY)]
    }
}

impl<'a> IntoIterator for &'a MoveList {
    type Item = &'a Move;
    type IntoIter = core::slice::Iter<'a, Move>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Default for MoveList {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for MoveList {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for MoveList {}

impl fmt::Debug for MoveList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
