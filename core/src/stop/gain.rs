//! KLD gain: stop when more nodes no longer change where the visits go.

use super::{Hints, Progress, Reason, Stopper};
use crate::list;
use crate::search::MAX_ROOT_MOVES;
use heapless::Vec;

/// Stops when the distribution of the root's visits changes by less than this for each new node.
///
/// The change is the Kullback-Leibler divergence from the distribution at the last look to the present one. (Lc0's
/// `MinimumKLDGainPerNode` and `KLDGainAverageInterval`.) It never stops a search with more than [`MAX_ROOT_MOVES`]
/// moves at the root: it has no room for more, and would not see their changes.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct KldGain {
    least_per_node: f64,
    interval: u64,
    /// Visits of the moves at the last look.
    last: Vec<u32, MAX_ROOT_MOVES>,
    last_total: u64,
    /// Playouts at the last question.
    playouts: u64,
}

impl KldGain {
    /// Looks after every `interval` new nodes. Returns `None` (no such limit) if `least_per_node` is not above 0.
    pub fn new(least_per_node: f64, interval: u64) -> Option<Self> {
        (least_per_node > 0.0).then(|| Self {
            least_per_node,
            interval: interval.max(1),
            last: Vec::new(),
            last_total: 0,
            playouts: 0,
        })
    }

    /// Σ o·ln(o/p) over the moves that had visits, where o and p are their shares of the visits then and now.
    fn gain(&self, visits: &[u32], total: u64) -> f64 {
        let pairs = self.last.iter().zip(visits).filter(|(then, _)| **then > 0);
        let terms = pairs.map(|(&then, &now)| {
            let then = f64::from(then) / self.last_total as f64;
            let now = f64::from(now) / total as f64;
            then * libm::log(then / now)
        });
        terms.sum()
    }
}

impl Stopper for KldGain {
    fn check(&mut self, progress: &Progress<'_>, _: &mut Hints) -> Option<Reason> {
        if progress.playouts < self.playouts {
            // These are another move's: the visits that were seen are those of an earlier root.
            (self.last, self.last_total) = (Vec::new(), 0);
        }
        self.playouts = progress.playouts;
        // The root's own evaluation is not a visit of a move.
        let total = progress.visits.saturating_sub(1);
        let new = total.saturating_sub(self.last_total);
        if new < self.interval || progress.root_visits.len() > MAX_ROOT_MOVES {
            return None;
        }
        let is_first = self.last.is_empty();
        let per_node = self.gain(progress.root_visits, total) / new as f64;
        self.last = list::up_to(progress.root_visits.iter().copied());
        self.last_total = total;
        (!is_first && per_node < self.least_per_node).then_some(Reason::KldGain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(gain: &mut KldGain, visits: &[u32]) -> bool {
        let total: u32 = visits.iter().sum();
        let progress = Progress { visits: u64::from(total) + 1, root_visits: visits, ..Progress::default() };
        gain.check(&progress, &mut Hints::new(None)).is_some()
    }

    /// A stopper that has seen these visits.
    fn after(least_per_node: f64, visits: &[u32]) -> KldGain {
        let mut gain = KldGain::new(least_per_node, 100).unwrap();
        assert!(!look(&mut gain, visits), "the first look has nothing to compare with");
        gain
    }

    #[test]
    fn the_gain_by_hand() {
        // ½·ln(½ / ¾) + ½·ln(½ / ¼) = 0.143841 over 100 new nodes.
        let per_node = 0.001_438_41;
        assert!(!look(&mut after(0.999 * per_node, &[50, 50]), &[150, 50]));
        assert!(look(&mut after(1.001 * per_node, &[50, 50]), &[150, 50]));
    }

    #[test]
    fn visits_that_go_where_they_went_gain_nothing() {
        assert!(look(&mut after(1e-9, &[75, 25]), &[150, 50]));
        // A move that had no visits before counts for nothing by itself.
        assert!(!look(&mut after(1e-9, &[100, 0]), &[150, 50]));
    }

    #[test]
    fn not_before_the_interval() {
        let mut gain = after(1.0, &[50, 50]);
        assert!(!look(&mut gain, &[99, 100]));
        assert!(look(&mut gain, &[100, 100]));
        // The next look is compared with this one.
        assert!(!look(&mut gain, &[150, 149]));
        assert!(look(&mut gain, &[150, 150]));
    }

    #[test]
    fn the_first_look_waits_for_the_interval_too() {
        let mut gain = KldGain::new(1.0, 100).unwrap();
        assert!(!look(&mut gain, &[30, 20]));
        assert!(!look(&mut gain, &[60, 40]));
        assert!(look(&mut gain, &[120, 80]));
    }

    /// As for one that was made anew, whether the next root has more visits or fewer.
    #[test]
    fn another_move_is_not_compared_with_the_last_one() {
        for first in [10, 500] {
            let mut gain = after(1.0, &[100, 100]);
            let mut look_at = |playouts, visits: &[u32; 2]| {
                let total: u32 = visits.iter().sum();
                let progress =
                    Progress { playouts, visits: u64::from(total) + 1, root_visits: visits, ..Progress::default() };
                gain.check(&progress, &mut Hints::new(None)).is_some()
            };
            assert!(look_at(400, &[300, 100]));
            // The first look has nothing to compare with, whenever it comes.
            assert!(!look_at(1, &[first, 0]));
            assert_eq!(look_at(101, &[first + 100, 0]), first > 100);
            assert!(look_at(300, &[first + 300, 0]));
        }
    }

    #[test]
    fn visits_that_were_taken_back_are_a_change() {
        assert!(!look(&mut after(1.0, &[50, 50]), &[200, 0]));
    }

    #[test]
    fn more_moves_than_there_is_room_for_never_stop() {
        for (moves, stops) in [(MAX_ROOT_MOVES, true), (MAX_ROOT_MOVES + 1, false)] {
            let mut visits = std::vec![1; moves];
            let mut gain = after(1.0, &visits);
            *visits.last_mut().unwrap() += 1000;
            look(&mut gain, &visits);
            *visits.last_mut().unwrap() += 1000;
            assert_eq!(look(&mut gain, &visits), stops, "{moves} moves");
        }
    }

    #[test]
    fn a_least_gain_of_zero_is_no_limit() {
        assert_eq!([0.0, -1.0, f64::NAN].map(|least| KldGain::new(least, 100).is_some()), [false; 3]);
    }
}
