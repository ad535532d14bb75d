//! The two players.

use core::ops::Not;

/// A player, and a stone of that player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Color {
    /// Black moves first on an empty board.
    Black = 0,
    /// White gets the komi.
    White = 1,
}

impl Color {
    /// Both colors.
    pub const ALL: [Color; 2] = [Color::Black, Color::White];

    /// 1 for White, −1 for Black: what turns a number from White's view into one from this player's, and back.
    ///
    /// ```
    /// # use oncilla_go::Color;
    /// let lead = 7.5 * Color::Black.sign::<f64>();
    /// assert_eq!(lead, -7.5);
    /// ```
    pub fn sign<T: From<i8>>(self) -> T {
        T::from(match self {
            Color::White => 1,
            Color::Black => -1,
        })
    }
}

impl Not for Color {
    type Output = Color;

    /// The opponent.
    fn not(self) -> Color {
        match self {
            Color::Black => Color::White,
            Color::White => Color::Black,
        }
    }
}
