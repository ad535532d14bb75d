//! How long to think about a move.
//!
//! A time manager gives each move a budget, from the clock and from what it has learnt about this game. There are
//! four, each in a file: [`smooth`], [`legacy`], [`alphazero`] and [`simple`]; [`Manager`] is any one of them, together
//! with the [`latency`] that it has measured. It reads no clock. The caller brings times in milliseconds and counts, in
//! this order for every move:
//!
//! 1. [`Manager::on_move_start`] with the clock and the nodes that the tree already holds: the [`Budget`] comes back;
//! 2. [`Manager::on_progress`] and [`Manager::on_leader`], as often as is convenient, while the search runs;
//! 3. [`Manager::on_move_end`] with the time used and the nodes added.
//!
//! A budget is a time after which to stop. To stop earlier is the business of [`crate::stop`].

pub mod alphazero;
pub mod decay;
pub mod latency;
pub mod legacy;
pub mod manager;
pub mod moves_left;
pub mod numbers;
pub mod range;
pub mod simple;
pub mod smooth;
pub mod unrest;

pub use alphazero::{AlphaZero, AlphaZeroParams};
pub use latency::Latency;
pub use legacy::{Legacy, LegacyParams};
pub use manager::{Budget, Manager, ManagerParams};
pub use moves_left::{MleLegacy, MleNetwork, MlePieces, MovesLeft};
pub use numbers::Numbers;
pub use range::OutOfRange;
pub use simple::{Simple, SimpleParams};
pub use smooth::{Smooth, SmoothBudget, SmoothParams};
pub use unrest::Leader;

/// The clock and the board as they stand when the engine begins to think. Times are in milliseconds.
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
    /// Time by which a move may last longer than it should: a batch that must be waited for, an evaluator that stalls.
    /// Only the last moments of a clock are kept from a budget for it, see [`Clock::deadline_ms`].
    pub stall_ms: f64,
    /// Pieces on the board, kings and pawns among them, if known.
    pub pieces: Option<u32>,
    /// Half moves until the end of the game, as the network's moves-left head expects them, if known.
    pub network_plies: Option<f64>,
}

/// Any longer time counts as this one, some thirty years: a budget is computed with plain, finite numbers.
const FOREVER_MS: f64 = 1e12;

/// A time from outside, from 0 to [`FOREVER_MS`]; not a number is 0.
fn sane_ms(ms: f64) -> f64 {
    if ms > 0.0 { ms.min(FOREVER_MS) } else { 0.0 }
}

/// Part of the time left that a move may use even where a stall would cost the game.
const DARE: f64 = 0.1;
/// Part of the clock that a move may use even where the overhead exceeds the clock.
const LAST_RESORT: f64 = 0.001;

impl Clock {
    /// Time left after the overhead: what a budget may be made of. Never negative, always finite.
    pub fn available_ms(&self) -> f64 {
        (sane_ms(self.base_ms) - sane_ms(self.overhead_ms)).max(0.0)
    }

    /// The latest moment to stop. A move that ends here and stalls for `stall_ms` is still in time. A clock that can't
    /// afford a stall gives a tenth of what is left, since stalls are rare; and a thousandth where even the overhead is
    /// more than all of it, for the overhead is a guess. 0 only for a clock at 0.
    pub fn deadline_ms(&self) -> f64 {
        let available = self.available_ms();
        let safe = available - sane_ms(self.stall_ms);
        safe.max(available * DARE).max(sane_ms(self.base_ms) * LAST_RESORT)
    }

    /// Moves until the next time control or the end of the game, at least this one.
    pub(crate) fn moves_left(&self, estimate: f64) -> f64 {
        let until_control = self.moves_to_go.filter(|&moves| moves > 0).map_or(f64::INFINITY, f64::from);
        estimate.min(until_control).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_leaves_room_for_a_stall() {
        let deadline =
            |base_ms, stall_ms| Clock { base_ms, stall_ms, overhead_ms: 50.0, ..Clock::default() }.deadline_ms();
        assert_eq!(deadline(60_050.0, 300.0), 59_700.0);
        // Not while that would leave nothing to think with.
        assert_eq!(deadline(250.0, 300.0), 20.0);
        assert_eq!(deadline(40.0, 300.0), 0.04);
        assert_eq!(deadline(0.0, 300.0), 0.0);
        assert_eq!(deadline(f64::NAN, f64::NAN), 0.0);
    }
}
