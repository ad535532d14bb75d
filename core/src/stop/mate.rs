//! A limit by mate.

use super::{Hints, Progress, Reason, Stopper};

/// Stops when a mate in at most this many moves is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MateLimit(pub u32);

impl Stopper for MateLimit {
    fn check(&mut self, progress: &Progress<'_>, _: &mut Hints) -> Option<Reason> {
        progress.mate_in.is_some_and(|moves| moves <= self.0).then_some(Reason::Mate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_enough() {
        let stops = |mate_in| {
            let progress = Progress { mate_in, ..Progress::default() };
            MateLimit(3).check(&progress, &mut Hints::new(None)).is_some()
        };
        assert_eq!([None, Some(2), Some(3), Some(4)].map(stops), [false, true, true, false]);
    }
}
