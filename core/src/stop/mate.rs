//! A limit by mate.

use super::{Hints, Outcome, Progress, Reason, Stopper};
use crate::evaluate::Ending;
use crate::repository::Repository;
use crate::search::{EdgeView, Search};

/// Stops when a mate in at most this many moves is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MateLimit(pub u32);

impl Stopper for MateLimit {
    fn check(&mut self, progress: &Progress<'_>, _: &mut Hints) -> Option<Reason> {
        progress.mate_in.is_some_and(|moves| moves <= self.0).then_some(Reason::Mate)
    }
}

/// Moves to the shortest mate that the root's moves prove: `round(M) / 2 + 1` in whole numbers, M being the plies left
/// after the move, as Lc0 counts them. A win by tablebase is no mate.
pub(super) fn mate_in<R: Repository>(search: &Search<R>) -> Option<u32> {
    let mates = |edge: &EdgeView<'_, R>| {
        let by_rule = edge.completed() > 0 && edge.ending() != Some(Ending::Tablebase) && search.may_play(edge);
        by_rule && Outcome::of(edge) == Outcome::Win
    };
    let edges = search.root().into_iter().flat_map(|root| root.edges());
    edges.filter(mates).filter_map(|edge| edge.known_value()).map(|value| (value.m + 0.5) as u32 / 2 + 1).min()
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
