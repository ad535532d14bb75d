//! A limit by time.

use super::{Hints, Progress, Reason, Stopper};
use crate::time::{Budget, sane_ms};

/// Stops when the time is used up, but not before one playout is done; in a hurry it needs none if the reused tree has
/// an answer. An unsettled search may go on for an extension.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TimeLimit {
    ms: f64,
    extension_ms: f64,
    floor_ms: f64,
    in_hurry: bool,
}

/// How long to wait for the first playout of a move once its time is used up. A reused tree has an answer ready, and an
/// evaluator that hangs must not cost the game.
const PATIENCE_MS: f64 = 100.0;

impl TimeLimit {
    /// Stop `ms` milliseconds after the move's clock started. The overhead has to be taken off already, as it is in a
    /// budget.
    pub fn new(ms: f64) -> Self {
        Self { ms: sane_ms(ms), extension_ms: 0.0, floor_ms: 0.0, in_hurry: false }
    }

    /// The limit that a time manager's budget sets.
    pub fn of(budget: &Budget) -> Self {
        Self {
            extension_ms: sane_ms(budget.extension_ms),
            floor_ms: sane_ms(budget.floor_ms),
            in_hurry: budget.in_hurry,
            ..Self::new(budget.limit_ms)
        }
    }

    /// `go movetime`: the move must be out after `ms` milliseconds, and takes `overhead_ms` of them to get there.
    pub fn movetime(ms: f64, overhead_ms: f64) -> Self {
        Self::new(ms - overhead_ms.max(0.0))
    }

    /// Both limits together: each of their times is the earlier of the two.
    pub fn earlier(self, other: Self) -> Self {
        let ms = self.ms.min(other.ms);
        let last = (self.ms + self.extension_ms).min(other.ms + other.extension_ms);
        let floor_ms = self.floor_ms.min(other.floor_ms);
        Self { ms, extension_ms: last - ms, floor_ms, in_hurry: self.in_hurry || other.in_hurry }
    }

    /// When to stop, in milliseconds after the move's clock started.
    pub fn ms(&self) -> f64 {
        self.ms
    }

    /// When to stop a search that is unsettled, in milliseconds after the move's clock started.
    pub fn extended_ms(&self) -> f64 {
        self.ms + self.extension_ms
    }
}

impl Stopper for TimeLimit {
    fn check(&mut self, progress: &Progress<'_>, hints: &mut Hints) -> Option<Reason> {
        let limit = if progress.unsettled { self.extended_ms() } else { self.ms };
        let left = limit - progress.elapsed_ms;
        hints.at_most_ms(left);
        hints.floor_ms = hints.floor_ms.max(self.floor_ms);
        let answered = progress.playouts > 0 || left <= -PATIENCE_MS;
        let is_over = left <= 0.0 && answered || self.in_hurry && progress.playouts == 0;
        is_over.then_some(Reason::Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(limit: TimeLimit, elapsed_ms: f64, playouts: u64) -> bool {
        let progress = Progress { elapsed_ms, playouts, visits: playouts + 10, ..Progress::default() };
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
    fn in_a_hurry_the_reused_tree_answers_at_once() {
        let in_hurry = TimeLimit::of(&Budget { limit_ms: 0.5, in_hurry: true, ..Budget::default() });
        assert!(stops(in_hurry, 0.0, 0));
        // Without one it is a search like any other.
        assert!(!stops(in_hurry, 0.1, 1));
        assert!(stops(in_hurry, 0.6, 1));
    }

    #[test]
    fn an_unsettled_search_goes_on() {
        let budget = Budget { limit_ms: 100.0, extension_ms: 50.0, floor_ms: 20.0, ..Budget::default() };
        let mut limit = TimeLimit::of(&budget);
        let mut at = |elapsed_ms, unsettled| {
            let progress = Progress { elapsed_ms, playouts: 1, visits: 1, unsettled, ..Progress::default() };
            let mut hints = Hints::new(None);
            let stop = limit.check(&progress, &mut hints).is_some();
            (stop, hints.remaining_ms, hints.floor_ms)
        };
        assert_eq!(at(90.0, false), (false, 10.0, 20.0));
        assert_eq!(at(90.0, true), (false, 60.0, 20.0));
        assert_eq!(at(149.0, true), (false, 1.0, 20.0));
        assert_eq!(at(149.0, false), (true, -49.0, 20.0));
        assert_eq!(at(150.0, true), (true, 0.0, 20.0));
    }

    #[test]
    fn movetime_leaves_room_for_the_overhead() {
        assert_eq!(TimeLimit::movetime(1000.0, 200.0).ms(), 800.0);
        assert_eq!(TimeLimit::movetime(100.0, 200.0).ms(), 0.0);
    }

    #[test]
    fn of_two_the_earlier() {
        let budget = |limit_ms, extension_ms| {
            TimeLimit::of(&Budget { limit_ms, extension_ms, floor_ms: 20.0, ..Budget::default() })
        };
        let both = |a: TimeLimit, b: TimeLimit| (a.earlier(b).ms(), a.earlier(b).extended_ms(), a.earlier(b).floor_ms);
        // A move time allows no extension beyond it, and no floor.
        assert_eq!(both(TimeLimit::new(800.0), budget(300.0, 600.0)), (300.0, 800.0, 0.0));
        assert_eq!(both(budget(300.0, 600.0), TimeLimit::new(200.0)), (200.0, 200.0, 0.0));
        assert_eq!(both(budget(300.0, 600.0), budget(400.0, 100.0)), (300.0, 500.0, 20.0));
        // Who is in a hurry stays so.
        let in_hurry = TimeLimit::of(&Budget { limit_ms: 800.0, in_hurry: true, ..Budget::default() });
        let calm = TimeLimit::new(800.0);
        assert!(stops(in_hurry.earlier(calm), 0.0, 0) && stops(calm.earlier(in_hurry), 0.0, 0));
        assert!(!stops(calm.earlier(calm), 0.0, 0));
    }

    #[test]
    fn a_time_that_is_no_number_is_no_time() {
        assert_eq!(TimeLimit::new(f64::NAN).ms(), 0.0);
    }

    #[test]
    fn an_endless_time_is_a_number() {
        let times = |limit: TimeLimit| [limit.ms(), limit.extended_ms()];
        let endless = TimeLimit::new(f64::INFINITY);
        assert!(times(endless.earlier(endless)).iter().all(|ms| ms.is_finite()), "{:?}", endless.earlier(endless));
        let extended = TimeLimit::of(&Budget {
            limit_ms: f64::INFINITY,
            extension_ms: f64::INFINITY,
            floor_ms: f64::INFINITY,
            ..Budget::default()
        });
        assert!(times(extended.earlier(endless)).iter().all(|ms| ms.is_finite()));
        assert_eq!(times(extended.earlier(TimeLimit::new(800.0))), [800.0, 800.0]);
    }
}
