//! How fast a search is from moment to moment: recorded, made faster or slower as a whole, and disturbed.

use crate::random::Random;
use crate::recorded::Trace;

/// The share of the mean speed below which a speed never falls.
pub const SLOWEST: f64 = 0.1;

/// The speed in one game.
pub struct Speed<'t> {
    trace: &'t Trace,
    /// The mean speed, in playouts a second.
    nps: f64,
    /// The seed that chooses the seconds of half the speed; `None` if there are none.
    slow_seed: Option<u64>,
}

impl<'t> Speed<'t> {
    pub fn new(trace: &'t Trace, nps: f64, slow_seed: Option<u64>) -> Self {
        Self { trace, nps, slow_seed }
    }

    pub fn mean_nps(&self) -> f64 {
        self.nps
    }

    /// The speed in playouts a second, after `ms` milliseconds of search since the game's start.
    pub fn at(&self, ms: f64) -> f64 {
        let second = (ms / 1000.0) as u64;
        let is_slow = self.slow_seed.is_some_and(|seed| Random::new(seed ^ second).chance(0.1));
        let trace = self.trace.at(ms).max(2.0 * SLOWEST);
        self.nps * trace * if is_slow { 0.5 } else { 1.0 }
    }
}
