//! What the searches of a game did, measured by a clock that runs from the engine's start.

use super::report::Statistics;
use oncilla_core::stats::{Counts, Stats};
use std::time::Instant;

/// The statistics of a searcher.
pub struct Tally {
    stats: Stats,
    /// The zero of the statistics' clock.
    started: Instant,
}

impl Tally {
    /// Empty statistics, whose clock begins now.
    pub fn new() -> Self {
        Self { stats: Stats::new(0), started: Instant::now() }
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    pub fn start_game(&mut self) {
        self.stats.start_game(self.now_ms());
    }

    pub fn start_move(&mut self) {
        self.stats.start_move(self.now_ms());
    }

    /// Adds what was done since the last call.
    pub fn record(&mut self, fresh: &Counts) {
        self.stats.record(self.now_ms(), fresh);
    }

    /// The statistics of what was counted until now.
    pub fn statistics(&self, in_flight: Option<usize>) -> Statistics {
        let now = self.now_ms();
        Statistics {
            game: self.stats.game(now),
            current_move: self.stats.current_move(now),
            windows: self.stats.windows(now).to_vec(),
            in_flight,
        }
    }
}
