//! How long to think about a move.
//!
//! A time manager gives each move a budget, from the clock and from what it has learnt about this game. There are four
//! managers, each in a file of its own: [`smooth`], [`legacy`], [`alphazero`] and [`simple`]; [`Manager`] is any one of
//! them, together with the [`latency`] that it measures. It reads no clock: the caller passes it times in milliseconds,
//! and counts of nodes, with these calls for every move:
//!
//! 1. [`Manager::on_move_start`] with the clock and the nodes that the tree already holds: it returns the [`Budget`];
//! 2. [`Manager::on_progress`] and [`Manager::on_leader`], as often as is convenient, while the search runs;
//! 3. [`Manager::on_move_end`] with the time used and the nodes added.
//!
//! A budget is the time after which to stop. Stopping earlier is the business of [`crate::stop`].

pub mod alphazero;
pub mod decay;
pub mod latency;
pub mod legacy;
pub mod manager;
pub mod moves_left;
pub mod numbers;
pub mod simple;
pub mod smooth;
pub mod unrest;

pub use alphazero::{AlphaZero, AlphaZeroParams};
pub use latency::Latency;
pub use legacy::{Legacy, LegacyParams};
pub use manager::{Budget, Manager, ManagerParams};
pub use moves_left::{MleLegacy, MleNetwork, MlePieces, MovesLeftEstimator};
pub use numbers::Numbers;
pub use simple::{Simple, SimpleParams};
pub use smooth::{Smooth, SmoothBudget, SmoothParams};
pub use unrest::Leader;

use latency::STALL_MS;

/// The clock and the board as they stand when the engine begins to think. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Clock {
    /// Time left. Some GUIs send a negative time: it counts as 0.
    pub base_ms: f64,
    /// Time that a move adds to the clock. A negative one counts as 0.
    pub increment_ms: f64,
    /// Moves until the next time control, this one included. `None` or 0: the rest of the game.
    pub moves_to_go: Option<u32>,
    /// Half moves played since the start of the game: 2·(full move − 1), plus 1 for Black. The lag is measured where this
    /// is two more than at the last move.
    pub ply: u32,
    /// Time that passes between our answer and the moment when the opponent's clock starts to run. It is kept out of
    /// every budget.
    pub overhead_ms: f64,
    /// Time by which a move may last longer than it should: a batch that must be waited for, an evaluator that stalls.
    /// Only when a clock is nearly used up, time is kept out of a budget for it: see [`Clock::deadline_ms`].
    pub stall_ms: f64,
    /// Time that every move costs beside its budget, as measured: the lag, and the end of the last batch.
    pub move_cost_ms: f64,
    /// Time that is kept so that the game can go on beyond its expected end.
    pub spare_ms: f64,
    /// Pieces on the board, kings and pawns among them, if known.
    pub pieces: Option<u32>,
    /// Half moves until the end of the game, as the network's moves-left head expects them, if known.
    pub network_plies: Option<f64>,
}

/// Any longer time counts as this one, about thirty years, so that budgets are computed with finite numbers.
const FOREVER_MS: f64 = 1e12;

/// Limits a time from outside to the range from 0 to [`FOREVER_MS`]; what is not a number becomes 0.
pub(crate) fn sane_ms(ms: f64) -> f64 {
    if ms > 0.0 { ms.min(FOREVER_MS) } else { 0.0 }
}

/// The part of the time left that a move may use even if a stall would cost the game.
const DARE: f64 = 0.1;
/// The part of the clock that a move may use even if the overhead exceeds the clock.
const LAST_RESORT: f64 = 0.001;
/// A smaller overhead counts as this one in what concerns the last moments of a clock.
const LEAST_OVERHEAD_MS: f64 = 10.0;

impl Clock {
    /// Time left after the overhead, of which budgets are made. Never negative, always finite.
    pub fn available_ms(&self) -> f64 {
        (sane_ms(self.base_ms) - sane_ms(self.overhead_ms)).max(0.0)
    }

    /// Time left after the overhead and after what is kept for a long game.
    pub(crate) fn unspared_ms(&self) -> f64 {
        (self.available_ms() - sane_ms(self.spare_ms)).max(0.0)
    }

    /// What a move adds to the clock, less what it costs beside its budget. May be negative.
    pub(crate) fn net_increment_ms(&self) -> f64 {
        sane_ms(self.increment_ms) - sane_ms(self.move_cost_ms)
    }

    /// The latest moment to stop. The last batch may take half of the overhead. Then:
    /// * a move that ends here, stalls for `stall_ms` and meets a lag of twice the overhead is still in time;
    /// * if the clock is too short for that, but long enough for a stall alone, no more is given than the other half of
    ///   the overhead: so the move survives the stall and as much lag as the rest of the clock allows;
    /// * if the clock is too short for a stall, a tenth of what is left is given.
    ///
    /// A thousandth of the clock is always given, because the overhead is a guess. The result is 0 only if the clock
    /// is.
    pub fn deadline_ms(&self) -> f64 {
        let base = sane_ms(self.base_ms);
        let overhead = sane_ms(self.overhead_ms).max(LEAST_OVERHEAD_MS);
        let stall = sane_ms(self.stall_ms);
        let safe = base - stall - 2.5 * overhead;
        let part = self.unspared_ms() * DARE;
        // After a longer stall, the next one may still be an ordinary one.
        let survives = base > stall.min(STALL_MS);
        let daring = if survives { part.min(overhead / 2.0) } else { part };
        safe.max(daring).max(base * LAST_RESORT)
    }

    /// Moves until the next time control or the end of the game, at least 1. `estimate` is the estimate of the moves
    /// left in the game.
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
        let clock = |base_ms| Clock { base_ms, stall_ms: 300.0, overhead_ms: 50.0, ..Clock::default() };
        let deadline = |base_ms| clock(base_ms).deadline_ms();
        assert_eq!(deadline(60_000.0), 59_575.0);
        // Not while that would leave nothing to think with.
        assert_eq!((deadline(440.0), deadline(250.0), deadline(40.0)), (25.0, 20.0, 0.04));
        assert_eq!((deadline(0.0), deadline(f64::NAN)), (0.0, 0.0));
        let without = Clock { overhead_ms: 0.0, stall_ms: f64::NAN, ..clock(1000.0) };
        assert_eq!(without.deadline_ms(), 975.0);
    }

    #[test]
    fn who_has_more_than_overhead_lag_and_stall_survives_them() {
        for overhead_ms in [10.0, 20.0, 50.0, 200.0] {
            for lag_ms in [0.0, 0.3, 1.0, 2.0].map(|part| part * overhead_ms) {
                for spare_ms in [1e-6, 1.0, 10.0, 100.0, 1000.0] {
                    let base_ms = overhead_ms + lag_ms + 300.0 + spare_ms;
                    let clock = Clock { base_ms, overhead_ms, stall_ms: 300.0, ..Clock::default() };
                    let batch_ms = overhead_ms / 2.0;
                    let left = base_ms - clock.deadline_ms() - batch_ms - 300.0 - lag_ms;
                    assert!(left >= 0.0, "overhead {overhead_ms}, lag {lag_ms}, spare {spare_ms}: {left}");
                }
            }
        }
    }
}
