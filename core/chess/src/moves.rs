//! A move in 16 bits, for a search that keeps millions of them.

use cozy_chess::{Move, Piece, Square};

/// The pieces for the promotion field's values, from 1 on; 0 is no promotion.
const PROMOTIONS: [Piece; 4] = [Piece::Knight, Piece::Bishop, Piece::Rook, Piece::Queen];

/// Packs a move: bits 0–5 from, bits 6–11 to, bits 12–14 promotion (0 none, 1 knight, 2 bishop, 3 rook, 4 queen).
///
/// Squares are absolute (a1 = 0, h8 = 63), castling is king takes rook. Bit 15 stays clear, and no legal move is 0.
///
/// ```
/// use oncilla_chess::{pack, unpack};
/// let mv = "e7e8q".parse().unwrap();
/// assert_eq!(pack(mv), 4 << 12 | 60 << 6 | 52);
/// assert_eq!(unpack(pack(mv)), mv);
/// ```
#[inline]
pub fn pack(mv: Move) -> u16 {
    let promotion = mv.promotion.map_or(0, |piece| piece as u16);
    promotion << 12 | (mv.to as u16) << 6 | mv.from as u16
}

/// Unpacks what [`pack`] made. It accepts any number: promotion values above 4, which `pack` never writes, are read as
/// none.
#[inline]
pub fn unpack(packed: u16) -> Move {
    Move {
        from: Square::index(usize::from(packed & 63)),
        to: Square::index(usize::from(packed >> 6 & 63)),
        promotion: PROMOTIONS.get(usize::from(packed >> 12 & 7).wrapping_sub(1)).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_move_survives_packing() {
        for from in Square::ALL {
            for to in Square::ALL {
                for promotion in [None, Some(Piece::Knight), Some(Piece::Bishop), Some(Piece::Rook), Some(Piece::Queen)]
                {
                    let mv = Move { from, to, promotion };
                    assert_eq!(unpack(pack(mv)), mv);
                }
            }
        }
    }

    #[test]
    fn every_number_unpacks() {
        for packed in 0..=u16::MAX {
            let mv = unpack(packed);
            if packed >> 12 <= 4 {
                assert_eq!(pack(mv), packed);
            }
        }
    }
}
