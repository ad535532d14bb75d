//! Limits by count: nodes of the tree, and playouts of this move.

use super::{Hints, Progress, Reason, Stopper};

/// Stops when the root has this many visits, those of the reused tree among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLimit(pub u64);

/// Stops after this many playouts, whatever the tree held before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayoutLimit(pub u64);

impl Stopper for NodeLimit {
    fn check(&mut self, progress: &Progress, hints: &mut Hints) -> Option<Reason> {
        hints.at_most_playouts(self.0.saturating_sub(progress.nodes));
        (progress.nodes >= self.0).then_some(Reason::Nodes)
    }
}

impl Stopper for PlayoutLimit {
    fn check(&mut self, progress: &Progress, hints: &mut Hints) -> Option<Reason> {
        hints.at_most_playouts(self.0.saturating_sub(progress.playouts));
        (progress.playouts >= self.0).then_some(Reason::Playouts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mut stopper: impl Stopper, nodes: u64, playouts: u64) -> (bool, u64) {
        let mut hints = Hints::new(None);
        let stop = stopper.check(&Progress { nodes, playouts, ..Progress::default() }, &mut hints);
        (stop.is_some(), hints.remaining_playouts)
    }

    #[test]
    fn nodes_count_the_reused_tree() {
        assert_eq!(check(NodeLimit(100), 99, 9), (false, 1));
        assert_eq!(check(NodeLimit(100), 100, 10), (true, 0));
        assert_eq!(check(NodeLimit(100), 250, 0), (true, 0));
    }

    #[test]
    fn playouts_do_not() {
        assert_eq!(check(PlayoutLimit(100), 500, 99), (false, 1));
        assert_eq!(check(PlayoutLimit(100), 500, 100), (true, 0));
    }
}
