//! A limit by depth.

use super::{Hints, Progress, Reason, Stopper};

/// If the mean depth has not grown while the playouts have become this many times as many, the tree gets no deeper: one
/// ply takes some three to thirty times as many as the one before.
const STALLED: u64 = 1000;

/// A search of fewer playouts than this is never said to get no deeper.
const STALLED_PLAYOUTS: u64 = 100_000;

/// Stops when the playouts reach a number of plies on average. That is not the depth of an alpha-beta search: it grows
/// with the logarithm of the nodes, as long as there are new positions to search. It does not grow if nearly every
/// playout ends the game at once, as in a draw by rule 50 that neither side can profitably avoid: when that has gone on
/// for long, the search stops, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DepthLimit {
    plies: u32,
    deepest: u32,
    /// How many playouts there were when that depth was reached.
    reached_at: u64,
}

impl DepthLimit {
    /// Stops at a mean depth of `plies` plies.
    pub const fn new(plies: u32) -> Self {
        Self { plies, deepest: 0, reached_at: 0 }
    }
}

impl Stopper for DepthLimit {
    fn check(&mut self, progress: &Progress<'_>, _: &mut Hints) -> Option<Reason> {
        // Fewer playouts than before are those of another move.
        if progress.mean_depth > self.deepest || progress.playouts < self.reached_at {
            (self.deepest, self.reached_at) = (progress.mean_depth, progress.playouts);
        }
        if progress.mean_depth >= self.plies {
            return Some(Reason::Depth);
        }
        let most = self.reached_at.saturating_mul(STALLED).max(STALLED_PLAYOUTS);
        (progress.playouts >= most).then_some(Reason::NoDeeper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: &mut DepthLimit, mean_depth: u32, playouts: u64) -> Option<Reason> {
        limit.check(&Progress { mean_depth, playouts, ..Progress::default() }, &mut Hints::new(None))
    }

    #[test]
    fn at_the_depth_and_beyond() {
        let stops = |mean_depth| check(&mut DepthLimit::new(5), mean_depth, 10);
        assert_eq!([4, 5, 6].map(stops), [None, Some(Reason::Depth), Some(Reason::Depth)]);
    }

    #[test]
    fn where_nothing_is_deeper() {
        let mut limit = DepthLimit::new(5);
        assert_eq!(check(&mut limit, 1, 1), None);
        assert_eq!(check(&mut limit, 2, 400), None);
        assert_eq!(check(&mut limit, 2, 399_999), None);
        assert_eq!(check(&mut limit, 2, 400_000), Some(Reason::NoDeeper));
        // It goes on as long as it grows.
        assert_eq!(check(&mut limit, 3, 400_000), None);
        assert_eq!(check(&mut limit, 2, 399_999_999), None, "a mean may fall");
        assert_eq!(check(&mut limit, 3, 400_000_000), Some(Reason::NoDeeper));
        let mut young = DepthLimit::new(2);
        assert_eq!(check(&mut young, 1, 99_999), None);
        assert_eq!(check(&mut DepthLimit::new(2), 0, 100_000), Some(Reason::NoDeeper));
        // The next move begins anew.
        assert_eq!([1, 50_000, 99_999].map(|playouts| check(&mut limit, 1, playouts)), [None; 3]);
        assert_eq!(check(&mut limit, 1, 1), None);
    }
}
