//! The symmetries of a board, numbered as networks for Go number them.

use crate::points::{Move, Size};

const FLIP_Y: u8 = 1;
const FLIP_X: u8 = 2;
const TRANSPOSE: u8 = 4;

/// One of eight symmetries: bit 0 of its number turns the rows upside down, bit 1 mirrors the columns, and bit 2 then
/// transposes.
///
/// The transposing ones, 4 to 7, turn a board of X × Y into one of Y × X, so networks use them on square boards only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Symmetry(u8);

impl Symmetry {
    /// The symmetry that changes nothing.
    pub const NONE: Symmetry = Symmetry(0);

    /// All symmetries, by number.
    pub const ALL: [Symmetry; 8] = {
        let mut all = [Symmetry::NONE; 8];
        let mut number = 0;
        while number < 8 {
            all[number] = Symmetry(number as u8);
            number += 1;
        }
        all
    };

    /// The symmetry with this number, 0 to 7.
    pub fn from_number(number: u8) -> Option<Symmetry> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The symmetry's number, 0 to 7.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Whether the board's sides change places.
    pub fn transposes(self) -> bool {
        self.0 & TRANSPOSE != 0
    }

    /// Whether it turns a board of this size into one of the same size, as networks need it: a transposing symmetry does
    /// so for square boards only.
    pub fn fits(self, size: Size) -> bool {
        !self.transposes() || size.x() == size.y()
    }

    /// The symmetry that undoes this one.
    pub fn inverse(self) -> Symmetry {
        match self.0 {
            // A quarter turn is undone by the opposite one; all others undo themselves.
            5 => Symmetry(6),
            6 => Symmetry(5),
            _ => self,
        }
    }

    /// The size of the turned board.
    pub fn size(self, size: Size) -> Size {
        if !self.transposes() {
            return size;
        }
        Size::new(size.y(), size.x()).unwrap_or(size)
    }

    /// Where a move of a board of `size` goes, as a move of the turned board. A pass stays a pass.
    #[inline]
    pub fn apply(self, size: Size, mv: Move) -> Move {
        let Some((mut x, mut y)) = size.coordinates(mv) else { return mv };
        if self.0 & FLIP_Y != 0 {
            y = size.y() - 1 - y;
        }
        if self.0 & FLIP_X != 0 {
            x = size.x() - 1 - x;
        }
        let (x, y) = if self.transposes() { (y, x) } else { (x, y) };
        let columns = self.size(size).x();
        Move(u16::from(y) * u16::from(columns) + u16::from(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_undone_by_its_inverse() {
        for (x, y) in [(3, 3), (2, 5), (19, 19)] {
            let size = Size::new(x, y).unwrap();
            for symmetry in Symmetry::ALL {
                let turned = symmetry.size(size);
                for mv in size.points().chain([size.pass()]) {
                    let image = symmetry.apply(size, mv);
                    assert_eq!(symmetry.inverse().apply(turned, image), mv);
                    assert_eq!(image == turned.pass(), mv == size.pass());
                }
            }
        }
    }

    #[test]
    fn the_bits_are_flip_of_rows_then_of_columns_then_transpose() {
        let size = Size::new(3, 2).unwrap();
        let of = |number| {
            let symmetry = Symmetry::from_number(number).unwrap();
            let image = symmetry.apply(size, size.point(2, 0).unwrap());
            symmetry.size(size).coordinates(image).unwrap()
        };
        let images: [(u8, u8); 8] = core::array::from_fn(|number| of(number as u8));
        assert_eq!(images, [(2, 0), (2, 1), (0, 0), (0, 1), (0, 2), (1, 2), (0, 0), (1, 0)]);
        assert_eq!(Symmetry::from_number(8), None);
    }
}
