//! Moves that need no search, whatever is left of the budget.

use super::{Hints, Progress, Reason, Stopper};

/// Stops if there is only one legal move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OnlyMove;

/// Stops when a move is known to win, or when all others are known to lose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct KnownBest;

impl Stopper for OnlyMove {
    fn check(&mut self, progress: &Progress<'_>, _: &mut Hints) -> Option<Reason> {
        (progress.root.moves == 1).then_some(Reason::OnlyMove)
    }
}

impl Stopper for KnownBest {
    fn check(&mut self, progress: &Progress<'_>, _: &mut Hints) -> Option<Reason> {
        let root = &progress.root;
        // If no move has hope, the last one is not taken before it is known to lose: the search may still find a
        // defence.
        let others = root.losing + u32::from(root.hope);
        (root.winning || (root.moves > 0 && root.moves <= others)).then_some(Reason::KnownBest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::{Outcome, Root, RootEdge};

    fn edge(q: f32, outcome: Outcome) -> RootEdge {
        RootEdge { visits: 1, q, outcome }
    }

    fn check(mut stopper: impl Stopper, edges: &[RootEdge]) -> Option<Reason> {
        let progress = Progress { visits: 1, root: Root::of(edges.iter().copied()), ..Progress::default() };
        stopper.check(&progress, &mut Hints::new(None))
    }

    #[test]
    fn one_move_and_no_other_number() {
        let open = edge(0.0, Outcome::Open);
        assert_eq!(check(OnlyMove, &[]), None);
        assert_eq!(check(OnlyMove, &[open]), Some(Reason::OnlyMove));
        assert_eq!(check(OnlyMove, &[open, open]), None);
    }

    #[test]
    fn a_win_or_nothing_but_losses_beside_it() {
        let (open, lost) = (edge(0.0, Outcome::Open), edge(-1.0, Outcome::Loss));
        assert_eq!(check(KnownBest, &[]), None);
        assert_eq!(check(KnownBest, &[open, open]), None);
        assert_eq!(check(KnownBest, &[open, edge(1.0, Outcome::Win)]), Some(Reason::KnownBest));
        assert_eq!(check(KnownBest, &[open, lost]), Some(Reason::KnownBest));
        assert_eq!(check(KnownBest, &[lost, lost]), Some(Reason::KnownBest));
    }

    #[test]
    fn one_doubtful_move_among_lost_ones_is_searched_on() {
        let doubtful = edge(-0.99, Outcome::Open);
        assert_eq!(check(KnownBest, &[doubtful, edge(-1.0, Outcome::Loss)]), None);
    }
}
