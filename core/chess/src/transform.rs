//! The symmetry by which the canonical input formats turn a position.

use cozy_chess::{Board, Color, Piece, Square};

/// Three reflections, applied in this order: flip the files, mirror the ranks, transpose along the diagonal h1–a8.
///
/// Canonical input formats (3 and above) turn the board so that the mover's king is in one small part of it; the
/// policy's squares turn with it. Other formats use [`Transform::NONE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transform(u8);

const FLIP: u8 = 1;
const MIRROR: u8 = 2;
const TRANSPOSE: u8 = 4;

impl Transform {
    /// The identity.
    pub const NONE: Transform = Transform(0);

    /// The reflections as bits: 1 flip, 2 mirror, 4 transpose.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The square to which a square of the mover's view goes.
    #[inline]
    pub fn square(self, square: Square) -> Square {
        let files = if self.0 & FLIP != 0 { 0b000_111 } else { 0 };
        let ranks = if self.0 & MIRROR != 0 { 0b111_000 } else { 0 };
        let mut square = square as usize ^ files ^ ranks;
        if self.0 & TRANSPOSE != 0 {
            square = (square >> 3 | square << 3 & 0b111_000) ^ 0b111_111;
        }
        Square::index(square)
    }

    /// The set to which a set of squares of the mover's view goes, with one bit for each square (a1 = bit 0).
    #[inline]
    pub fn mask(self, mask: u64) -> u64 {
        let mut mask = mask;
        if self.0 & FLIP != 0 {
            mask = mask.reverse_bits().swap_bytes();
        }
        if self.0 & MIRROR != 0 {
            mask = mask.swap_bytes();
        }
        if self.0 & TRANSPOSE != 0 {
            // First the quarters of the board, then the quarters of each quarter: what is off the diagonal h1–a8
            // changes places.
            for (apart, lower) in [(36, 0x0f0f_0f0f), (18, 0x3333_0000_3333), (9, 0x55_0055_0055_0055)] {
                let changed = (mask ^ mask >> apart) & lower;
                mask ^= changed | changed << apart;
            }
        }
        mask
    }

    /// The transform that the canonical formats choose for a position.
    ///
    /// None while anybody may castle. Otherwise the king goes to files e–h; if there are pawns, nothing more is
    /// allowed. Without pawns the king goes to ranks 1–4 and on or below the diagonal h1–a8; on the diagonal itself the
    /// first set of pieces that is not its own reflection decides.
    pub(crate) fn canonical(board: &Board) -> Transform {
        let rights = Color::ALL.map(|color| *board.castle_rights(color));
        if rights.iter().any(|side| side.short.is_some() || side.long.is_some()) {
            return Self::NONE;
        }
        let mover = board.side_to_move();
        let king = board.king(mover).relative_to(mover);
        let mut transform = Self::NONE;
        if (king.file() as u8) < 4 {
            transform.0 |= FLIP;
        }
        if !board.pieces(Piece::Pawn).is_empty() {
            return transform;
        }
        if king.rank() as u8 >= 4 {
            transform.0 |= MIRROR;
        }
        if transform.wants_transpose(board) {
            transform.0 |= TRANSPOSE;
        }
        transform
    }

    /// Whether a pawnless position that `self` has flipped and mirrored is also to be transposed.
    fn wants_transpose(self, board: &Board) -> bool {
        let mover = board.side_to_move();
        let king = self.square(board.king(mover).relative_to(mover));
        let diagonal = king.file() as u8 + king.rank() as u8;
        if diagonal != 7 {
            return diagonal > 7;
        }
        let sets = [
            board.occupied(),
            board.colors(mover),
            board.pieces(Piece::King),
            board.pieces(Piece::Queen),
            board.pieces(Piece::Rook),
            board.pieces(Piece::Knight),
            board.pieces(Piece::Bishop),
        ];
        sets.iter()
            .map(|set| self.mask(seen_by(set.0, mover)))
            .map(|set| set.cmp(&Transform(TRANSPOSE).mask(set)))
            .find(|order| order.is_ne())
            .is_some_and(|order| order.is_gt())
    }
}

/// A set of absolute squares as `viewer` sees it: Black's view has the ranks mirrored.
pub(crate) fn seen_by(mask: u64, viewer: Color) -> u64 {
    match viewer {
        Color::White => mask,
        Color::Black => mask.swap_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_squares_turn_alike_and_no_bit_is_lost() {
        for bits in 0..8 {
            let transform = Transform(bits);
            let mask = 0x0123_4567_89ab_cdef;
            assert_eq!(transform.mask(mask).count_ones(), mask.count_ones());
            for square in Square::ALL {
                assert_eq!(transform.mask(1 << square as u32), 1 << transform.square(square) as u32);
            }
        }
    }

    #[test]
    fn the_transpose_keeps_its_diagonal() {
        let transpose = Transform(TRANSPOSE);
        assert_eq!(transpose.square(Square::H1), Square::H1);
        assert_eq!(transpose.square(Square::A8), Square::A8);
        assert_eq!(transpose.square(Square::A1), Square::H8);
        assert_eq!(transpose.square(Square::H4), Square::E1);
    }
}
