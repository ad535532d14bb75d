//! A limit by depth.

use super::{Hints, Progress, Reason, Stopper};

/// Stops when the playouts reach this many plies on average. That is no depth of an alpha-beta search: it grows with
/// the logarithm of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthLimit(pub u32);

impl Stopper for DepthLimit {
    fn check(&mut self, progress: &Progress<'_>, _: &mut Hints) -> Option<Reason> {
        (progress.mean_depth >= self.0).then_some(Reason::Depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_depth_and_beyond() {
        let stops = |mean_depth| {
            let progress = Progress { mean_depth, ..Progress::default() };
            DepthLimit(5).check(&progress, &mut Hints::new(None)).is_some()
        };
        assert_eq!([4, 5, 6].map(stops), [false, true, true]);
    }
}
