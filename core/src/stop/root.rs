//! The moves at the root, as far as the end of a search depends on them.

/// What is proven about a move at the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It wins.
    Win,
    /// It loses.
    Loss,
    /// Nothing, or that it draws.
    #[default]
    Open,
}

/// One move at the root.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RootEdge {
    /// Finished visits.
    pub visits: u64,
    /// W − L for the side that plays it, in [−1, 1]. Means nothing without a visit.
    pub q: f32,
    /// What is proven about it, for the side that plays it. Counts only with a visit.
    pub outcome: Outcome,
}

/// A summary of all legal moves at the root, those that `searchmoves` leaves out among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// Legal moves.
    pub moves: u32,
    /// Moves that are known to lose.
    pub losing: u32,
    /// Whether a move is known to win.
    pub winning: bool,
    /// Whether a move has a Q above [`HOPELESS_Q`].
    pub hope: bool,
    /// Visits of the most visited move.
    pub most_visits: u64,
    /// Visits of the next one.
    pub second_visits: u64,
}

/// A move at or below this Q is as good as lost.
pub const HOPELESS_Q: f32 = -0.98;

impl Root {
    /// Summarises the edges of the root.
    pub fn of(edges: impl IntoIterator<Item = RootEdge>) -> Self {
        edges.into_iter().fold(Self::default(), Self::with)
    }

    fn with(mut self, edge: RootEdge) -> Self {
        self.moves += 1;
        if edge.visits > 0 {
            self.losing += u32::from(edge.outcome == Outcome::Loss);
            self.winning |= edge.outcome == Outcome::Win;
            self.hope |= edge.q > HOPELESS_Q;
        }
        if edge.visits > self.most_visits {
            self.second_visits = self.most_visits;
            self.most_visits = edge.visits;
        } else {
            self.second_visits = self.second_visits.max(edge.visits);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_largest_in_any_order() {
        for visits in [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
            let root = Root::of(visits.map(|visits| RootEdge { visits, ..RootEdge::default() }));
            assert_eq!((root.moves, root.most_visits, root.second_visits), (3, 3, 2));
        }
        let root = Root::of([7, 7].map(|visits| RootEdge { visits, ..RootEdge::default() }));
        assert_eq!((root.most_visits, root.second_visits), (7, 7));
    }

    #[test]
    fn a_move_without_a_visit_proves_nothing() {
        let unvisited = |outcome| RootEdge { visits: 0, q: 0.9, outcome };
        let root = Root::of([unvisited(Outcome::Win), unvisited(Outcome::Loss)]);
        assert_eq!(root, Root { moves: 2, ..Root::default() });
    }

    #[test]
    fn hope_needs_a_move_that_is_not_lost() {
        let edge = |q| RootEdge { visits: 1, q, outcome: Outcome::Open };
        assert!(!Root::of([edge(-0.98), edge(-1.0)]).hope);
        assert!(Root::of([edge(-0.97), edge(-1.0)]).hope);
    }
}
