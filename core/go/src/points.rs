//! The points of a board, moves, and their GTP notation.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign, Not, Sub};

/// The longest side of a board.
pub const MAX_SIDE: u8 = 19;

/// How many points the largest board has.
pub const MAX_AREA: usize = MAX_SIDE as usize * MAX_SIDE as usize;

/// The letters of columns: GTP skips I.
const LETTERS: &[u8; MAX_SIDE as usize] = b"ABCDEFGHJKLMNOPQRST";

/// The size of a board: columns and rows, 1 to [`MAX_SIDE`] each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    x: u8,
    y: u8,
}

impl Size {
    /// 19 × 19.
    pub const STANDARD: Size = Size { x: MAX_SIDE, y: MAX_SIDE };

    /// A board of `x` columns and `y` rows. `None` unless both are 1 to [`MAX_SIDE`].
    pub const fn new(x: u8, y: u8) -> Option<Size> {
        if x == 0 || y == 0 || x > MAX_SIDE || y > MAX_SIDE { None } else { Some(Size { x, y }) }
    }

    /// How many columns the board has.
    pub const fn x(self) -> u8 {
        self.x
    }

    /// How many rows the board has.
    pub const fn y(self) -> u8 {
        self.y
    }

    /// How many points the board has.
    pub const fn area(self) -> usize {
        self.x as usize * self.y as usize
    }

    /// The move that plays no stone. Its number is the one after the last point.
    pub const fn pass(self) -> Move {
        Move(self.x as u16 * self.y as u16)
    }

    /// The move on column `x` from the left and row `y` from the top, both from 0. `None` if that is off the board.
    pub const fn point(self, x: u8, y: u8) -> Option<Move> {
        if x < self.x && y < self.y { Some(Move(y as u16 * self.x as u16 + x as u16)) } else { None }
    }

    /// Column from the left and row from the top of a move's point, both from 0. `None` for a pass, and for what is not
    /// a move on this board.
    pub const fn coordinates(self, mv: Move) -> Option<(u8, u8)> {
        if mv.index() >= self.area() {
            return None;
        }
        let x = self.x as u16;
        Some(((mv.0 % x) as u8, (mv.0 / x) as u8))
    }

    /// Every point, by rows from the top left corner.
    pub fn points(self) -> impl DoubleEndedIterator<Item = Move> + ExactSizeIterator + Clone {
        (0..self.x as u16 * self.y as u16).map(Move)
    }

    /// Reads a move as GTP writes it: a letter for the column (without I), the row counted from the bottom, or `pass`;
    /// in either case of letters.
    ///
    /// ```
    /// use oncilla_go::{Move, Size};
    /// let size = Size::STANDARD;
    /// assert_eq!(size.parse("A19"), Ok(Move(0)));
    /// assert_eq!(size.parse("q16"), Ok(Move(3 * 19 + 15)));
    /// assert_eq!(size.parse("pass"), Ok(size.pass()));
    /// assert!(size.parse("I5").is_err());
    /// ```
    ///
    /// # Errors
    /// [`MoveError`] for anything else, and for points off the board.
    pub fn parse(self, text: &str) -> Result<Move, MoveError> {
        if text.eq_ignore_ascii_case("pass") {
            return Ok(self.pass());
        }
        self.parse_point(text).ok_or(MoveError)
    }

    fn parse_point(self, text: &str) -> Option<Move> {
        let (&letter, digits) = text.as_bytes().split_first()?;
        let x = LETTERS.iter().position(|&other| other == letter.to_ascii_uppercase())?;
        if !matches!(digits, [b'1'..=b'9'] | [b'1'..=b'9', b'0'..=b'9']) {
            return None;
        }
        let row = digits.iter().fold(0, |row, digit| 10 * row + (digit - b'0'));
        self.point(x as u8, self.y.checked_sub(row)?)
    }

    /// A move in GTP notation: the form that [`Size::parse`] reads, with capital letters but `pass` in small ones.
    pub fn format(self, mv: Move) -> MoveText {
        MoveText { size: self, mv }
    }
}

/// A point to play on, or a pass, numbered as by a policy head: y·X + x for column x and row y from the top, and X·Y
/// for a pass. What a number means depends on the [`Size`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move(pub u16);

impl Move {
    /// The move's index in a policy.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Displays a [`Move`].
#[derive(Clone, Copy, Debug)]
pub struct MoveText {
    size: Size,
    mv: Move,
}

impl fmt::Display for MoveText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size.coordinates(self.mv) {
            Some((x, y)) => write!(f, "{}{}", char::from(LETTERS[usize::from(x)]), self.size.y - y),
            None => f.write_str("pass"),
        }
    }
}

/// A text that is not a move on the board in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveError;

impl fmt::Display for MoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a point of the board, and not \"pass\"")
    }
}

impl core::error::Error for MoveError {}

const WORDS: usize = MAX_AREA.div_ceil(u64::BITS as usize);

/// A set of points, with a bit for each: 48 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PointSet([u64; WORDS]);

impl PointSet {
    /// No point.
    pub const EMPTY: PointSet = PointSet([0; WORDS]);

    /// Every point of a board.
    pub fn full(size: Size) -> PointSet {
        size.points().collect()
    }

    /// Whether `point` is in the set. A pass is never in a set that holds points of the same board.
    #[inline]
    pub fn contains(&self, point: Move) -> bool {
        self.0.get(point.index() / 64).is_some_and(|word| word >> (point.0 % 64) & 1 != 0)
    }

    /// Adds a point.
    ///
    /// # Panics
    /// If the number is not a point of any board: 384 or more.
    #[inline]
    pub fn insert(&mut self, point: Move) {
        self.0[point.index() / 64] |= 1 << (point.0 % 64);
    }

    /// Removes a point.
    ///
    /// # Panics
    /// Like [`PointSet::insert`].
    #[inline]
    pub fn remove(&mut self, point: Move) {
        self.0[point.index() / 64] &= !(1 << (point.0 % 64));
    }

    /// How many points are in it.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set has no point.
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// The points in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Move> + use<> {
        let words = self.0;
        (0..WORDS).flat_map(move |word| {
            let mut left = words[word];
            core::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                let found = left != 0;
                left &= left.wrapping_sub(1);
                found.then_some(Move((64 * word) as u16 + bit as u16))
            })
        })
    }

    fn each(self, other: PointSet, join: impl Fn(u64, u64) -> u64) -> PointSet {
        PointSet(core::array::from_fn(|word| join(self.0[word], other.0[word])))
    }
}

impl FromIterator<Move> for PointSet {
    /// # Panics
    /// Like [`PointSet::insert`].
    fn from_iter<I: IntoIterator<Item = Move>>(points: I) -> Self {
        let mut set = Self::EMPTY;
        points.into_iter().for_each(|point| set.insert(point));
        set
    }
}

impl BitOr for PointSet {
    type Output = PointSet;

    fn bitor(self, other: PointSet) -> PointSet {
        self.each(other, BitOr::bitor)
    }
}

impl BitOrAssign for PointSet {
    fn bitor_assign(&mut self, other: PointSet) {
        *self = *self | other;
    }
}

impl BitAnd for PointSet {
    type Output = PointSet;

    fn bitand(self, other: PointSet) -> PointSet {
        self.each(other, BitAnd::bitand)
    }
}

impl Sub for PointSet {
    type Output = PointSet;

    /// The points that are in the first set only.
    fn sub(self, other: PointSet) -> PointSet {
        self.each(other, |a, b| a & b.not())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString;
    use std::vec::Vec;

    #[test]
    fn every_move_is_read_as_it_is_written() {
        for (x, y) in [(1, 1), (2, 3), (9, 9), (13, 7), (19, 19)] {
            let size = Size::new(x, y).unwrap();
            for mv in size.points().chain([size.pass()]) {
                assert_eq!(size.parse(&size.format(mv).to_string()), Ok(mv));
            }
            for (i, mv) in size.points().enumerate() {
                let (x, y) = size.coordinates(mv).unwrap();
                assert_eq!((size.point(x, y), mv.index()), (Some(mv), i));
            }
        }
        assert_eq!(Size::STANDARD.format(Move(19 * 18 + 8)).to_string(), "J1");
        for text in ["", "A", "A0", "A01", "A20", "I3", "U3", "AA3", "A1 ", "é3", "A+1", "A100", "1A"] {
            assert_eq!(Size::STANDARD.parse(text), Err(MoveError), "{text}");
        }
        assert_eq!(Size::new(9, 9).unwrap().parse("K1"), Err(MoveError));
        assert!(Size::new(0, 9).is_none() && Size::new(9, 20).is_none());
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let points = [Move(0), Move(63), Move(64), Move(200), Move(360)];
        let mut set: PointSet = points.into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), points);
        assert!(set.contains(Move(64)) && !set.contains(Move(65)) && !set.contains(Size::STANDARD.pass()));
        set.remove(Move(64));
        assert_eq!((set.len(), set.is_empty(), (set - set).is_empty()), (4, false, true));
        assert_eq!(PointSet::full(Size::STANDARD).len(), MAX_AREA);
        assert_eq!(PointSet::full(Size::STANDARD) & set, set);
        assert!(!set.contains(Move(u16::MAX)));
    }
}
