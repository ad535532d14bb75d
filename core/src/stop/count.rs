//! Limits by count: visits of the root, playouts for this move, nodes that the tree holds.

use super::{Hints, Progress, Reason, Stopper};

/// Stops when the root has this many visits, including those that the reused tree brought along. It is what `go nodes`
/// asks for, and Lc0's visits stopper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct VisitLimit(pub u64);

/// Stops after this many playouts, whatever the tree held before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PlayoutLimit(pub u64);

/// Stops when the tree holds this many nodes. This is for a host whose tree must leave room for something else. A tree
/// that recycles before it is that large goes on for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LiveNodeLimit(pub u64);

impl Stopper for VisitLimit {
    fn check(&mut self, progress: &Progress<'_>, hints: &mut Hints) -> Option<Reason> {
        hints.at_most_playouts(self.0.saturating_sub(progress.visits));
        (progress.visits >= self.0).then_some(Reason::Visits)
    }
}

impl Stopper for PlayoutLimit {
    fn check(&mut self, progress: &Progress<'_>, hints: &mut Hints) -> Option<Reason> {
        hints.at_most_playouts(self.0.saturating_sub(progress.playouts));
        (progress.playouts >= self.0).then_some(Reason::Playouts)
    }
}

impl Stopper for LiveNodeLimit {
    fn check(&mut self, progress: &Progress<'_>, _: &mut Hints) -> Option<Reason> {
        // How many playouts are left is not known, because not every playout adds a node.
        (progress.live_nodes >= self.0).then_some(Reason::Nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTOUCHED: u64 = 4_000_000_000;

    fn check(mut stopper: impl Stopper, [visits, playouts, live_nodes]: [u64; 3]) -> (bool, u64) {
        let mut hints = Hints::new(None);
        let stop = stopper.check(&Progress { visits, playouts, live_nodes, ..Progress::default() }, &mut hints);
        (stop.is_some(), hints.remaining_playouts)
    }

    #[test]
    fn visits_count_the_reused_tree() {
        assert_eq!(check(VisitLimit(100), [99, 9, 500]), (false, 1));
        assert_eq!(check(VisitLimit(100), [100, 10, 5]), (true, 0));
        assert_eq!(check(VisitLimit(100), [250, 0, 5]), (true, 0));
    }

    #[test]
    fn playouts_do_not() {
        assert_eq!(check(PlayoutLimit(100), [500, 99, 500]), (false, 1));
        assert_eq!(check(PlayoutLimit(100), [500, 100, 500]), (true, 0));
    }

    #[test]
    fn nodes_are_what_the_tree_holds() {
        assert_eq!(check(LiveNodeLimit(100), [500, 500, 99]), (false, UNTOUCHED));
        assert_eq!(check(LiveNodeLimit(100), [1, 1, 100]), (true, UNTOUCHED));
    }
}
