//! Smart pruning: stop when more search can't change the move.

use super::{Hints, Progress, Reason, Stopper};

/// Stops when the moves behind the most visited one can't catch up in what is left.
///
/// The rule is that of Lc0's `SmartPruningFactor`: `R < N₁ − N₂`, where R is the smaller of the seconds that are left
/// times the playouts per second and of the playouts that are left, divided by the factor, and N₁ and N₂ are the visits
/// of the two most visited moves. As there, the first 200 ms after a move's first playout say nothing of the speed and
/// never end a search. If no time is limited, the speed does not matter: then the first 300 playouts never end a
/// search, so that the same limits make the same search every time (Lc0 waits for 200 ms in that case, too). Two things
/// that Lc0 also decides here, the only move and the known best move, are [limits of their own](super::known).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SmartPruning {
    factor: f64,
    least_batches: u64,
    /// Playouts that were done before the move's clock began to run.
    before: u64,
    /// When the first playout of this move was seen. The speed is measured from here, since what comes before (a
    /// kernel that is compiled, a batch that fills) says nothing about it.
    started_ms: Option<f64>,
    /// Playouts at the last question.
    playouts: u64,
}

/// The speed is not trusted sooner than this after the first playout.
const WARMUP_MS: f64 = 200.0;
/// Added to the playouts that were counted, against an estimate of the speed that is too low. If no time is limited,
/// this many have to be done before anything is pruned.
const TOLERANCE_PLAYOUTS: u64 = 300;

impl SmartPruning {
    /// Prunes with this factor: 1 expects the speed as measured to last, more prunes earlier. With 0, a negative number
    /// or NaN there is no pruning (`None`).
    pub fn new(factor: f64) -> Option<Self> {
        (factor > 0.0).then_some(Self { factor, least_batches: 0, before: 0, started_ms: None, playouts: 0 })
    }

    /// Does not prune before this many batches: Lc0's `SmartPruningMinimumBatches`.
    pub fn after_batches(self, least_batches: u64) -> Self {
        Self { least_batches, ..self }
    }

    /// The first `playouts` playouts were done while the opponent thought (`ponderhit`): they say nothing of the speed
    /// under the move's own clock. If no time is limited they count like all others.
    pub fn behind(self, playouts: u64) -> Self {
        Self { before: playouts, ..self }
    }

    /// How many playouts can still come; `None` as long as the speed is not known. If no time is limited, the number
    /// does not depend on the speed, and so not on the clock: the same playouts are the same search.
    fn remaining_playouts(&mut self, progress: &Progress<'_>, hints: &Hints) -> Option<u64> {
        if progress.playouts < self.playouts {
            // These are another move's.
            self.started_ms = None;
        }
        self.playouts = progress.playouts;
        let own = progress.playouts.saturating_sub(self.before);
        if own == 0 {
            return None;
        }
        let in_count = hints.remaining_playouts as f64 / self.factor;
        if !hints.is_timed() {
            return (progress.playouts > TOLERANCE_PLAYOUTS).then_some(in_count as u64);
        }
        let elapsed_ms = progress.elapsed_ms - *self.started_ms.get_or_insert(progress.elapsed_ms);
        if elapsed_ms < WARMUP_MS {
            return None;
        }
        let measured = || ((own + TOLERANCE_PLAYOUTS) as f64 / elapsed_ms * 1000.0).max(1.0);
        let nps = hints.nps.unwrap_or_else(measured);
        let in_time = hints.remaining_ms / 1000.0 * nps / self.factor;
        // If the time is over, the number is negative, and becomes 0.
        Some(in_time.min(in_count) as u64)
    }
}

impl Stopper for SmartPruning {
    fn check(&mut self, progress: &Progress<'_>, hints: &mut Hints) -> Option<Reason> {
        let remaining = self.remaining_playouts(progress, hints)?;
        hints.at_most_playouts(remaining);
        let may_stop = progress.batches >= self.least_batches && progress.elapsed_ms >= hints.floor_ms;
        (may_stop && remaining < progress.root.lead()).then_some(Reason::Decided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::{Outcome, Root, RootEdge};

    fn open(visits: u64) -> RootEdge {
        RootEdge { visits, q: 0.0, outcome: Outcome::Open }
    }

    /// A search at `playouts` per second whose best move leads by `lead`, asked first at 0 s, then after 1 s.
    fn after_a_second(factor: f64, playouts: u64, lead: u64, mut hints: Hints) -> (Option<Reason>, u64) {
        let mut pruning = SmartPruning::new(factor).unwrap();
        let first = Progress { visits: 1, playouts: 1, ..Progress::default() };
        assert_eq!(pruning.check(&first, &mut hints.clone()), None);
        let root = Root::of([open(lead + 10), open(10)]);
        let second = Progress { elapsed_ms: 1000.0, visits: playouts, playouts, root, ..Progress::default() };
        (pruning.check(&second, &mut hints), hints.remaining_playouts)
    }

    #[test]
    fn a_refuted_move_decides_nothing() {
        let lost = RootEdge { visits: 1000, q: -1.0, outcome: Outcome::Loss };
        let root = Root::of([lost, open(10), open(9)]);
        let progress = Progress { visits: 1020, playouts: 1020, root, ..Progress::default() };
        let mut hints = Hints { remaining_playouts: 880, ..Hints::new(None) };
        assert_eq!(SmartPruning::new(1.0).unwrap().check(&progress, &mut hints), None);
    }

    #[test]
    fn a_lead_that_lasts_over_what_is_left() {
        let left = |ms, nps| Hints { remaining_ms: ms, ..Hints::new(nps) };
        // (700 + 300 playouts) in 1 s; 2 s are left.
        assert_eq!(after_a_second(1.0, 700, 2000, left(2000.0, None)), (None, 2000));
        assert_eq!(after_a_second(1.0, 700, 2001, left(2000.0, None)), (Some(Reason::Decided), 2000));
        // The factor prunes earlier.
        assert_eq!(after_a_second(2.0, 700, 1001, left(2000.0, None)), (Some(Reason::Decided), 1000));
        // The time manager's speed goes before the measured one.
        assert_eq!(after_a_second(1.0, 700, 400, left(2000.0, Some(200.0))), (None, 400));
        // Time that is over leaves nothing.
        assert_eq!(after_a_second(1.0, 700, 1, left(-5.0, None)), (Some(Reason::Decided), 0));
    }

    /// The speed is measured from the first playout after a ponder hit, with the same tolerance as any other: however
    /// long that playout takes, it ends no search.
    #[test]
    fn what_was_pondered_says_nothing_of_the_speed() {
        let root = Root::of([open(1800), open(1700)]);
        let asked = |at: &[(f64, u64)]| {
            let mut pruning = SmartPruning::new(1.0).unwrap().behind(50_000);
            let answers = at.iter().map(|&(elapsed_ms, own)| {
                let playouts = 50_000 + own;
                let progress = Progress { elapsed_ms, visits: playouts, playouts, root, ..Progress::default() };
                let mut hints = Hints { remaining_ms: 4500.0, ..Hints::new(None) };
                (pruning.check(&progress, &mut hints).is_some(), hints.remaining_playouts)
            });
            answers.last()
        };
        let unknown = Hints::new(None).remaining_playouts;
        assert_eq!(asked(&[(0.0, 0), (250.0, 0)]), Some((false, unknown)), "nothing is known yet");
        assert_eq!(asked(&[(0.0, 0), (3000.0, 1), (3100.0, 20)]), Some((false, unknown)), "this is too early");
        // 4.5 s are left: (700 + 300) in one second, and (10 + 300) in 25 seconds.
        assert_eq!(asked(&[(0.0, 0), (5.0, 1), (1005.0, 700)]), Some((false, 4500)));
        assert_eq!(asked(&[(0.0, 0), (5.0, 1), (25_005.0, 10)]), Some((true, 55)));
    }

    #[test]
    fn the_next_move_has_a_start_of_its_own() {
        let mut pruning = SmartPruning::new(1.0).unwrap();
        let root = Root::of([open(2000), open(10)]);
        let mut decides = |(elapsed_ms, playouts)| {
            let progress = Progress { elapsed_ms, visits: playouts, playouts, root, ..Progress::default() };
            pruning.check(&progress, &mut Hints { remaining_ms: 100.0, ..Hints::new(None) }).is_some()
        };
        assert_eq!([(5.0, 1), (104.0, 600), (205.0, 700)].map(&mut decides), [false, false, true]);
        assert_eq!([(300.0, 1), (499.0, 600), (500.0, 700)].map(&mut decides), [false, false, true]);
    }

    #[test]
    fn of_two_limits_the_nearer_one_prunes() {
        // 1000 playouts by the time, 300 by the count.
        let left = |playouts| Hints { remaining_ms: 2000.0, remaining_playouts: playouts, ..Hints::new(None) };
        assert_eq!(after_a_second(2.0, 700, 300, left(600)), (None, 300));
        assert_eq!(after_a_second(2.0, 700, 301, left(600)), (Some(Reason::Decided), 300));
        assert_eq!(after_a_second(2.0, 700, 1000, left(2600)), (None, 1000));
    }

    #[test]
    fn a_limit_by_count_prunes_too() {
        let left = Hints { remaining_playouts: 133, ..Hints::new(None) };
        assert_eq!(after_a_second(1.33, 700, 100, left), (None, 100));
        assert_eq!(after_a_second(1.33, 700, 101, left), (Some(Reason::Decided), 100));
    }

    #[test]
    fn a_limit_by_count_does_not_ask_the_clock() {
        let root = Root::of([open(450), open(10)]);
        let decides = |elapsed_ms, playouts| {
            let progress = Progress { elapsed_ms, visits: playouts, playouts, root, ..Progress::default() };
            let mut hints = Hints { remaining_playouts: 399, ..Hints::new(None) };
            let stops = SmartPruning::new(1.33).unwrap().check(&progress, &mut hints) == Some(Reason::Decided);
            (stops, hints.remaining_playouts)
        };
        for elapsed_ms in [0.0, 1.0, 199.0, 1e6] {
            assert_eq!(decides(elapsed_ms, 300), (false, 399));
            assert_eq!(decides(elapsed_ms, 301), (true, 300));
        }
    }

    #[test]
    fn not_before_the_speed_is_known() {
        let mut pruning = SmartPruning::new(1.0).unwrap();
        let root = Root::of([open(5000), open(0)]);
        let at = |elapsed_ms, playouts| Progress { elapsed_ms, visits: 5000, playouts, root, ..Progress::default() };
        let mut check = |progress| pruning.check(&progress, &mut Hints { remaining_ms: 1.0, ..Hints::new(None) });
        // The wait for the first playout does not count.
        assert_eq!(check(at(2000.0, 0)), None);
        assert_eq!(check(at(3000.0, 1)), None);
        assert_eq!(check(at(3199.0, 900)), None);
        assert_eq!(check(at(3200.0, 900)), Some(Reason::Decided));
    }

    #[test]
    fn a_factor_of_zero_is_no_pruning() {
        assert_eq!(SmartPruning::new(0.0), None);
        assert_eq!(SmartPruning::new(f64::NAN), None);
    }

    #[test]
    fn not_before_the_batches_that_were_asked_for_nor_the_floor() {
        let root = Root::of([open(5000), open(0)]);
        let decides = |batches, floor_ms| {
            let mut pruning = SmartPruning::new(1.0).unwrap().after_batches(10);
            let hints = Hints { remaining_ms: 1.0, floor_ms, ..Hints::new(None) };
            let at =
                |elapsed_ms| Progress { elapsed_ms, visits: 5000, playouts: 50, batches, root, ..Progress::default() };
            assert_eq!(pruning.check(&at(0.0), &mut hints.clone()), None);
            pruning.check(&at(500.0), &mut hints.clone()) == Some(Reason::Decided)
        };
        assert_eq!([decides(9, 0.0), decides(10, 0.0)], [false, true]);
        assert_eq!([decides(10, 501.0), decides(10, 500.0)], [false, true]);
    }
}
