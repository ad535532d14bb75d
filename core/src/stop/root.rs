//! The moves at the root, as far as the end of a search depends on them.

use crate::repository::{Bound, Repository};
use crate::search::{EdgeView, Search};
use crate::time::Leader;

/// What is proven about a move at the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RootEdge {
    /// Finished visits.
    pub visits: u64,
    /// Q to the side that plays it, draw score included, in [−1, 1]. Meaningless without a visit.
    pub q: f32,
    /// What is proven about it, for the side that plays it. Counts only with a visit.
    pub outcome: Outcome,
}

impl Outcome {
    /// What an edge proves of its move.
    pub fn of<R: Repository>(edge: &EdgeView<'_, R>) -> Self {
        let (bounds, ending) = edge.result();
        match (ending, bounds.lower, bounds.upper) {
            (None, ..) => Self::Open,
            (_, Bound::Win, _) => Self::Win,
            (_, _, Bound::Loss) => Self::Loss,
            _ => Self::Open,
        }
    }
}

impl RootEdge {
    /// Describes an edge of a search's root. An edge that may not be searched counts as one without a visit.
    pub fn of<R: Repository>(search: &Search<R>, edge: &EdgeView<'_, R>) -> Self {
        if !search.may_play(edge) {
            return Self::default();
        }
        let q = edge.q(search.params().draw_score).unwrap_or(0.0);
        Self { visits: edge.completed().into(), q, outcome: Outcome::of(edge) }
    }
}

/// A summary of all legal moves at the root. Moves that `searchmoves` leaves out should count as moves without a visit:
/// what is known of them from before must not end a search of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Root {
    /// Number of legal moves.
    pub moves: u32,
    /// True if no move can be searched: the game has ended, or all its moves are left out ([`Search::set_root_moves`]).
    pub stuck: bool,
    /// Number of moves that are known to lose.
    pub losing: u32,
    /// Whether a move is known to win.
    pub winning: bool,
    /// Whether a move has a Q above [`HOPELESS_Q`].
    pub hope: bool,
    /// Number of visited moves that are not known to lose. If there are any, those that are known to lose are not among
    /// the most visited ones below: they will not be played.
    pub open: u32,
    /// Visits of the most visited move.
    pub most_visits: u64,
    /// Visits of the second most visited move.
    pub second_visits: u64,
    /// Which of the edges is the most visited, by its place in their order; of equal ones the first.
    pub most_visited: u32,
    /// Q of the most visited move.
    pub most_visited_q: f32,
    /// Q of the second most visited move.
    pub second_q: f32,
}

/// A move at or below this Q is as good as lost.
pub const HOPELESS_Q: f32 = -0.98;

impl Root {
    /// Summarises the edges of the root.
    pub fn of(edges: impl IntoIterator<Item = RootEdge>) -> Self {
        edges.into_iter().fold(Self::default(), Self::with)
    }

    /// Summarises the root of a search.
    pub fn of_search<R: Repository>(search: &Search<R>) -> Self {
        let Some(root) = search.root() else { return Self::default() };
        let is_known = root.is_expanded() || root.ending().is_some();
        root.of_all_edges(|| {
            let stuck = is_known && !root.edges().any(|edge| search.may_play(&edge));
            Self { stuck, ..Self::of(root.edges().map(|edge| RootEdge::of(search, &edge))) }
        })
    }

    fn with(mut self, edge: RootEdge) -> Self {
        self.moves += 1;
        if edge.visits == 0 {
            return self;
        }
        let is_lost = edge.outcome == Outcome::Loss;
        self.losing += u32::from(is_lost);
        self.winning |= edge.outcome == Outcome::Win;
        self.hope |= edge.q > HOPELESS_Q;
        if !is_lost && self.open == 0 {
            (self.most_visits, self.second_visits) = (0, 0);
            (self.most_visited, self.most_visited_q, self.second_q) = (0, 0.0, 0.0);
        }
        self.open += u32::from(!is_lost);
        if is_lost && self.open > 0 {
            return self;
        }
        if edge.visits > self.most_visits {
            (self.second_visits, self.second_q) = (self.most_visits, self.most_visited_q);
            (self.most_visits, self.most_visited_q) = (edge.visits, edge.q);
            self.most_visited = self.moves - 1;
        } else if edge.visits > self.second_visits {
            (self.second_visits, self.second_q) = (edge.visits, edge.q);
        }
        self
    }

    /// By how many visits the most visited move leads; 0 if it is known to lose while others are not.
    pub fn lead(&self) -> u64 {
        if self.open == 0 && self.losing < self.moves {
            return 0;
        }
        self.most_visits.saturating_sub(self.second_visits)
    }

    /// The most visited move, for the time manager; `None` if no move has a visit. The edges must have kept their order
    /// since the search began.
    pub fn leader(&self) -> Option<Leader> {
        let contested = self.second_visits > 0 && self.second_q > self.most_visited_q;
        (self.most_visits > 0).then_some(Leader { mv: self.most_visited, q: self.most_visited_q, contested })
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

    /// A long search may refute the move that has most visits: then the others have yet to be told apart.
    #[test]
    fn a_move_that_is_known_to_lose_does_not_lead() {
        let edge = |visits, outcome| RootEdge { visits, q: 0.1, outcome };
        let (refuted, other) = (edge(1000, Outcome::Loss), edge(900, Outcome::Loss));
        for edges in [
            [refuted, other, edge(10, Outcome::Open), edge(9, Outcome::Open)],
            [edge(10, Outcome::Open), edge(9, Outcome::Open), refuted, other],
            [refuted, edge(9, Outcome::Open), other, edge(10, Outcome::Open)],
        ] {
            let root = Root::of(edges);
            assert_eq!((root.most_visits, root.second_visits, root.lead(), root.losing), (10, 9, 1, 2));
            assert_eq!(edges[root.leader().unwrap().mv as usize].visits, 10);
        }
        let alone = Root::of([refuted, other, edge(10, Outcome::Open)]);
        assert_eq!((alone.most_visits, alone.second_visits), (10, 0));
        assert_eq!(Root::of([refuted, other]).lead(), 100, "all of them lose");
        assert_eq!(Root::of([refuted, other, edge(0, Outcome::Open)]).lead(), 0, "another one may be better");
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

    #[test]
    fn the_leader_and_who_contests_it() {
        let edge = |(visits, q)| RootEdge { visits, q, outcome: Outcome::Open };
        let leader = |edges: [(u64, f32); 3]| Root::of(edges.map(edge)).leader();
        assert_eq!(leader([(0, 0.9), (0, 0.9), (0, 0.9)]), None);
        let of = |mv, q, contested| Some(Leader { mv, q, contested });
        assert_eq!(leader([(2, 0.1), (5, 0.2), (0, 0.9)]), of(1, 0.2, false));
        assert_eq!(leader([(4, 0.3), (5, 0.2), (1, 0.1)]), of(1, 0.2, true));
        // Only the second counts: a move with a visit or two may have any Q.
        assert_eq!(leader([(4, 0.1), (1, 0.8), (5, 0.2)]), of(2, 0.2, false));
        // A move without a visit has no value to contest with, however bad the only one is.
        assert_eq!(leader([(5, -0.2), (0, 0.9), (0, 0.9)]), of(0, -0.2, false));
        // Of two with as many visits the first leads.
        assert_eq!(leader([(5, 0.1), (5, 0.2), (1, 0.0)]), of(0, 0.1, true));
    }
}
