//! A time to stop at.

use super::{Hints, Progress, Reason, Stopper};

/// Stops when the time is used, but lets one playout happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLimit {
    ms: f64,
}

/// How long an answer waits for the first playout of a move when its time is used. A reused tree has an answer ready,
/// and an evaluator that hangs must not cost the game.
const PATIENCE_MS: f64 = 100.0;

impl TimeLimit {
    /// Stop `ms` milliseconds after the move's clock started. A budget comes with its overhead already taken off.
    pub fn new(ms: f64) -> Self {
        Self { ms: ms.max(0.0) }
    }

    /// `go movetime`: the move must be out after `ms`, and takes `overhead_ms` to get there.
    pub fn movetime(ms: f64, overhead_ms: f64) -> Self {
        Self::new(ms - overhead_ms.max(0.0))
    }

    /// The earlier of two.
    pub fn earlier(self, other: Self) -> Self {
        Self { ms: self.ms.min(other.ms) }
    }

    /// Milliseconds after the move's clock started.
    pub fn ms(&self) -> f64 {
        self.ms
    }
}

impl Stopper for TimeLimit {
    fn check(&mut self, progress: &Progress, hints: &mut Hints) -> Option<Reason> {
        let left = self.ms - progress.elapsed_ms;
        hints.at_most_ms(left);
        let answered = progress.playouts > 0 || left <= -PATIENCE_MS;
        (left <= 0.0 && answered).then_some(Reason::Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(limit: TimeLimit, elapsed_ms: f64, playouts: u64) -> bool {
        let progress = Progress { elapsed_ms, playouts, nodes: playouts + 10, ..Progress::default() };
        let mut hints = Hints::new(None);
        let stops = { limit }.check(&progress, &mut hints).is_some();
        assert_eq!(hints.remaining_ms, limit.ms() - elapsed_ms);
        stops
    }

    #[test]
    fn at_the_time_and_not_before() {
        assert!(!stops(TimeLimit::new(100.0), 99.9, 1));
        assert!(stops(TimeLimit::new(100.0), 100.0, 1));
    }

    #[test]
    fn no_time_still_means_a_playout() {
        assert!(!stops(TimeLimit::new(0.0), 5.0, 0));
        assert!(stops(TimeLimit::new(0.0), 5.0, 1));
        // Unless none comes and the reused tree can answer.
        assert!(stops(TimeLimit::new(0.0), 100.0, 0));
    }

    #[test]
    fn movetime_leaves_room_for_the_overhead() {
        assert_eq!(TimeLimit::movetime(1000.0, 200.0).ms(), 800.0);
        assert_eq!(TimeLimit::movetime(100.0, 200.0).ms(), 0.0);
        assert_eq!(TimeLimit::movetime(1000.0, 0.0).earlier(TimeLimit::new(300.0)).ms(), 300.0);
    }

    #[test]
    fn a_time_that_is_no_number_is_no_time() {
        assert_eq!(TimeLimit::new(f64::NAN).ms(), 0.0);
    }
}
