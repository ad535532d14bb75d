//! Results of positions.

use std::ops::Neg;

/// The result of a position with perfect play, seen from the side to move, with the rule-50 counter at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i8)]
pub enum Wdl {
    /// Lost.
    Loss = -2,
    /// A loss that the fifty-move rule makes a draw.
    BlessedLoss = -1,
    /// A draw.
    Draw = 0,
    /// A win that the fifty-move rule makes a draw.
    CursedWin = 1,
    /// Won.
    Win = 2,
}

impl Wdl {
    /// All results, from the worst to the best.
    pub const ALL: [Wdl; 5] = [Wdl::Loss, Wdl::BlessedLoss, Wdl::Draw, Wdl::CursedWin, Wdl::Win];

    /// The points under the fifty-move rule: 1 for a win, 0 for a draw, −1 for a loss.
    pub fn points(self) -> i8 {
        match self {
            Wdl::Loss => -1,
            Wdl::Win => 1,
            _ => 0,
        }
    }
}

impl Neg for Wdl {
    type Output = Wdl;

    fn neg(self) -> Wdl {
        match self {
            Wdl::Loss => Wdl::Win,
            Wdl::BlessedLoss => Wdl::CursedWin,
            Wdl::Draw => Wdl::Draw,
            Wdl::CursedWin => Wdl::BlessedLoss,
            Wdl::Win => Wdl::Loss,
        }
    }
}
