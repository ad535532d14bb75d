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
