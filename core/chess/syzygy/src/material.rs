//! Which pieces are on the board: what tells one table from another.

use std::fmt;

use oncilla_chess::{Board, Color, Piece};

/// The most pieces that a Syzygy table has, kings included.
pub const MAX_PIECES: usize = 7;

/// A piece in a table: White's are 1 to 6 in the order of [`Piece`], Black's are 9 to 14.
pub(crate) const BLACK: u8 = 8;
pub(crate) const PAWN: u8 = 1;
pub(crate) const KING: u8 = 6;

/// The letters of a table's name, strongest first as the names have them.
const LETTERS: [(char, Piece); 6] = [
    ('K', Piece::King),
    ('Q', Piece::Queen),
    ('R', Piece::Rook),
    ('B', Piece::Bishop),
    ('N', Piece::Knight),
    ('P', Piece::Pawn),
];

/// How many pieces of each kind each side has, in four bits for each kind. Each side has one king.
///
/// Its text form is a table's name, such as `KRPvKR`: White's pieces are before the `v`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Material {
    sides: [u32; 2],
}

impl Material {
    /// The pieces of a position; more than 15 of one kind count as 15.
    pub fn of(board: &Board) -> Self {
        let count = |color| {
            let own = board.colors(color);
            Piece::ALL.iter().fold(0, |sum, &piece| sum | (board.pieces(piece) & own).len().min(15) << shift(piece))
        };
        Self { sides: [count(Color::White), count(Color::Black)] }
    }

    /// Reads a table's name. `None` unless it has the form `KRPvKR`, with one king on each side and at most
    /// [`MAX_PIECES`].
    pub fn parse(name: &str) -> Option<Self> {
        let (white, black) = name.split_once('v')?;
        let material = Self { sides: [parse_side(white)?, parse_side(black)?] };
        (material.len() <= MAX_PIECES).then_some(material)
    }

    /// How many pieces both sides have, kings included.
    #[expect(clippy::len_without_is_empty, reason = "there are always two kings")]
    pub fn len(self) -> usize {
        Color::ALL.iter().flat_map(|&color| Piece::ALL.map(|piece| self.count(color, piece))).sum()
    }

    /// How many pieces of one side and kind there are.
    pub fn count(self, color: Color, piece: Piece) -> usize {
        (self.sides[color as usize] >> shift(piece) & 15) as usize
    }

    /// White's pieces as Black's, and Black's as White's.
    pub fn swapped(self) -> Self {
        Self { sides: [self.sides[1], self.sides[0]] }
    }

    /// Whether both sides have the same pieces.
    pub fn is_symmetric(self) -> bool {
        self.sides[0] == self.sides[1]
    }

    /// Whether a side has a pawn.
    pub fn has_pawns(self) -> bool {
        Color::ALL.iter().any(|&color| self.count(color, Piece::Pawn) > 0)
    }

    /// Whether a side has exactly one piece of some kind, pawns and kings aside.
    pub(crate) fn has_unique_piece(self) -> bool {
        let kinds = [Piece::Knight, Piece::Bishop, Piece::Rook, Piece::Queen];
        Color::ALL.iter().any(|&color| kinds.iter().any(|&piece| self.count(color, piece) == 1))
    }

    /// How many pieces there are with a table's piece code; 0 for a number that is not a code.
    pub(crate) fn count_of_code(self, code: u8) -> usize {
        let color = if code < BLACK { Color::White } else { Color::Black };
        match (code & 7).checked_sub(1).and_then(|kind| Piece::try_index(kind.into())) {
            Some(piece) if code < 16 => self.count(color, piece),
            _ => 0,
        }
    }
}

fn shift(piece: Piece) -> u32 {
    4 * piece as u32
}

fn parse_side(text: &str) -> Option<u32> {
    let mut counts = 0u32;
    for letter in text.chars() {
        let (_, piece) = *LETTERS.iter().find(|(known, _)| *known == letter)?;
        if counts >> shift(piece) & 15 == MAX_PIECES as u32 {
            return None;
        }
        counts += 1 << shift(piece);
    }
    (counts >> shift(Piece::King) & 15 == 1).then_some(counts)
}

impl fmt::Display for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for color in Color::ALL {
            if color == Color::Black {
                f.write_str("v")?;
            }
            for (letter, piece) in LETTERS {
                for _ in 0..self.count(color, piece) {
                    write!(f, "{letter}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for name in ["KvK", "KQvK", "KBBNvKP", "KPPPPPvK", "KQRBvKNP"] {
            let material = Material::parse(name).unwrap();
            assert_eq!(material.to_string(), name);
            assert_eq!(material.swapped().swapped(), material);
        }
        for name in
            ["", "v", "K", "Kv", "vK", "KQ", "QvK", "KKvK", "KvKK", "KXvK", "kqvk", "KQvKvK", "KQQQQQQvK", "KQvK "]
        {
            assert_eq!(Material::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_position_has_the_material_of_its_table() {
        let board: Board = "8/2k5/8/1p6/8/2R5/3K4/5R2 b - - 0 1".parse().unwrap();
        let material = Material::of(&board);
        assert_eq!(material, Material::parse("KRRvKP").unwrap());
        assert_eq!((material.len(), material.has_pawns(), material.is_symmetric()), (5, true, false));
        assert!(!material.has_unique_piece());
        let codes: Vec<usize> = (0..=255).map(|code| material.count_of_code(code)).collect();
        let expected = [(4, 2), (6, 1), (9, 1), (14, 1)];
        for (code, &count) in codes.iter().enumerate() {
            assert_eq!(count, expected.iter().find(|(known, _)| *known == code).map_or(0, |(_, n)| *n), "{code}");
        }
    }
}
