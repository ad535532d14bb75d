//! How long to think about a move.
//!
//! A time manager gives each move a budget, from the clock and from what it has learnt about this game: the speed of
//! the search, how much of a tree survives a move, how much of a budget is really used. It reads no clock. The caller
//! brings times in milliseconds and counts, in this order for every move:
//!
//! 1. [`Smooth::on_move_start`] with the clock and the nodes that the tree already holds: the [`Budget`] comes back;
//! 2. [`Smooth::on_progress`], as often as is convenient, while the search runs;
//! 3. [`Smooth::on_move_end`] with the time used and the nodes in the tree.
//!
//! A budget is a time after which to stop. To stop earlier is the business of [`crate::stop`].

pub mod decay;
pub mod moves_left;
pub mod smooth;

pub use moves_left::{MleLegacy, MovesLeft};
pub use smooth::{Budget, OutOfRange, Smooth, SmoothParams};

/// The clock as it stands when the engine begins to think. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// Time left. Some GUIs send a negative one: it counts as 0.
    pub base_ms: f64,
    /// Time that a move adds. A negative one counts as 0.
    pub increment_ms: f64,
    /// Moves until the next time control, this one included. `None` or 0: the rest of the game.
    pub moves_to_go: Option<u32>,
    /// Half moves played since the start of the game: 2·(full move − 1), plus 1 for Black.
    pub ply: u32,
    /// Time that passes between our answer and the moment when the opponent's clock runs. It is kept out of every
    /// budget.
    pub overhead_ms: f64,
}

/// Any longer time counts as this one, some thirty years: a budget is computed with plain, finite numbers.
const FOREVER_MS: f64 = 1e12;

/// A time from outside, from 0 to [`FOREVER_MS`]; not a number is 0.
fn sane_ms(ms: f64) -> f64 {
    if ms > 0.0 { ms.min(FOREVER_MS) } else { 0.0 }
}

impl Clock {
    /// Time left after the overhead: what a budget may be made of. Never negative, always finite.
    pub fn available_ms(&self) -> f64 {
        (sane_ms(self.base_ms) - sane_ms(self.overhead_ms)).max(0.0)
    }
}
