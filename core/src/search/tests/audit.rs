//! What holds for every node at any time: invariant 3 of the design, and what that rests on.

use super::*;
use crate::evaluate::Ending;
use crate::repository::{Bound, EdgeValue, Naming, Sums, Visit};
use crate::search::event::Stage;
use std::collections::HashSet;

/// What a search is checked against.
pub struct Audit<'a> {
    pub game: RandomGame,
    /// The events under way.
    pub flying: &'a [TestEvent],
    /// Whether leaves may have found no room.
    pub short_of_room: bool,
    /// Whether visits may have come aside, which the root's edges don't count.
    pub aside: bool,
}

impl Audit<'_> {
    pub fn drained(game: RandomGame) -> Self {
        Self { game, flying: &[], short_of_room: false, aside: false }
    }
}

/// Checks all nodes. Returns their number.
pub fn audit<R: Repository>(search: &Search<R>, against: &Audit<'_>) -> usize {
    let Some(root) = search.root else { return 0 };
    let mut seen = HashSet::from([root]);
    let mut todo = std::vec![(root, List::<Move>::new())];
    while let Some((key, path)) = todo.pop() {
        let audit = NodeAudit { search, against, key, path: &path };
        for (mv, child) in audit.node() {
            let is_new = seen.insert(child);
            assert!(is_new || search.repository.is_graph(), "two ways to one node of a tree, one is {path:?} {mv:?}");
            if is_new {
                todo.push((child, path.iter().copied().chain([mv]).collect()));
            }
        }
    }
    assert_eq!(seen.len(), search.repository.live_nodes(), "nodes that hang on the root, and nodes in use");
    assert_eq!(scanned(search), seen, "nodes that a scan meets");
    seen.len()
}

fn scanned<R: Repository>(search: &Search<R>) -> HashSet<Key> {
    let next = |&(_, at): &(Key, u64)| search.repository.scan(at);
    core::iter::successors(search.repository.scan(0), next).map(|(key, _)| key).collect()
}

struct NodeAudit<'a, R> {
    search: &'a Search<R>,
    against: &'a Audit<'a>,
    key: Key,
    path: &'a [Move],
}

impl<R: Repository> NodeAudit<'_, R> {
    /// Checks the node and its edges. Returns its children.
    fn node(&self) -> List<(Move, Key)> {
        let here = self.search.repository.lock(self.key);
        let path = self.path;
        assert!(!here.is_pinned(), "still pinned: {path:?}");
        assert_eq!(here.is_pending(), self.leaf_of() > 0, "pending: {path:?}");
        assert!(self.leaf_of() < 2, "evaluated twice: {path:?}");
        let visits: List<Visit> = here.visits().collect();
        if let Some(ending) = here.ending() {
            let bounds = here.bounds();
            assert!(bounds.closed() || matches!(ending, Ending::TwoFold | Ending::Scored), "ended and open: {path:?}");
            let (mean, certain) = (here.mean(), bounds.lower.value());
            assert!(!bounds.closed() || (mean.wl, mean.d) == (certain.wl, certain.d), "proven value: {path:?}");
        } else if here.is_expanded() && !here.is_regrown() {
            let completed: u32 = visits.iter().map(Visit::completed).sum();
            assert_eq!(completed, here.n() - 1, "visits: {path:?}");
            let own = Sums::of(self.against.game.verdict(self.position()).value(), 1);
            let sums = visits.iter().fold(own, |sums, visit| sums.plus(visit.contribution()));
            assert_eq!(here.sums(), sums, "value: {path:?}");
        }
        if here.is_expanded() {
            self.edges_are_the_legal_moves(&here);
        } else {
            assert!(visits.is_empty(), "edges before they are known: {path:?}");
        }
        let may_tell = here.is_expanded() && here.ending().is_none() && !here.is_regrown();
        let children = visits.into_iter().enumerate().filter_map(|(at, visit)| self.edge(&here, at, visit)).collect();
        drop(here);
        let told = NodeView::new(&self.search.repository, self.key).own_value();
        let own = self.against.game.verdict(self.position()).value();
        assert_eq!(told, may_tell.then(|| Sums::of(own, 1).mean(1)), "own value: {path:?}");
        children
    }

    fn position(&self) -> games::Position {
        self.against.game.position(self.path.iter().copied())
    }

    /// Events that wait for an answer about this node.
    fn leaf_of(&self) -> usize {
        self.against.flying.iter().filter(|e| e.stage == Stage::Leaf && e.leaf == Some(self.key)).count()
    }

    /// How many events under way go through an edge.
    fn through(&self, at: usize) -> usize {
        let here = |step: &Step| step.node == self.key && usize::from(step.at) == at;
        self.against.flying.iter().filter(|event| event.stage != Stage::Idle && event.path.iter().any(here)).count()
    }

    fn edge(&self, here: &R::Node<'_>, at: usize, visit: Visit) -> Option<(Move, Key)> {
        let legal: List<Move> = self.against.game.legal(self.position()).collect();
        let (mv, named) = match visit.mv {
            Naming::Named(mv) => (mv, true),
            Naming::Index(index) => (legal[usize::from(index)], false),
        };
        let path = self.path;
        assert_eq!(usize::from(visit.in_flight), self.through(at), "in flight: {path:?} {mv:?}");
        assert_eq!(visit.value.is_some(), visit.completed() > 0, "a value comes with a visit: {path:?} {mv:?}");
        assert!(named || visit.value.is_none(), "a name comes with an answer: {path:?} {mv:?}");
        let child = here.child(at)?;
        let below = self.search.repository.lock(child);
        assert!(named || !below.is_expanded() && below.ending().is_none(), "a name comes first: {path:?} {mv:?}");
        if !self.search.repository.is_graph() {
            let exact = below.n() == visit.completed();
            let may_have_less = self.against.short_of_room || below.is_restoring();
            let may_have_more = self.against.aside && path.is_empty();
            let differs =
                may_have_less && below.n() < visit.completed() || may_have_more && below.n() > visit.completed();
            assert!(exact || differs, "N: {path:?} {mv:?}");
            if self.against.flying.is_empty() && below.n() > 0 && !below.is_restoring() && !may_have_more {
                assert_eq!(
                    visit.value,
                    Some(EdgeValue::of_child(self.search.worth(&below))),
                    "cached value: {path:?} {mv:?}"
                );
            }
        }
        Some((mv, child))
    }

    /// Every legal move is one edge, and those without a visit wait in the order of their priors.
    fn edges_are_the_legal_moves(&self, here: &R::Node<'_>) {
        let legal: List<Move> = self.against.game.legal(self.position()).collect();
        let at = |mv: Move| legal.iter().position(|other| *other == mv).expect("an edge is a legal move");
        let visited = here.visits().map(|visit| match visit.mv {
            Naming::Named(mv) => at(mv),
            Naming::Index(index) => index.into(),
        });
        let waiting = (0..here.edge_count()).filter(|index| here.unvisited_prior(*index).is_some());
        let mut all: List<usize> = visited.chain(waiting.clone()).collect();
        all.sort_unstable();
        let path = self.path;
        assert_eq!(all, (0..legal.len()).collect::<List<_>>(), "edges: {path:?}");
        let priors = waiting.filter_map(|index| Some((index as u16, here.unvisited_prior(index)?)));
        let largest = priors.reduce(|best, next| if next.1 > best.1 { next } else { best });
        assert_eq!(here.next_unvisited(), largest, "the next edge: {path:?}");
        let in_order = here.visits().map(|visit| visit.prior).filter(|prior| *prior > 0);
        let restricted = !self.search.root_moves.are_all() || self.path.is_empty();
        assert!(restricted || in_order.is_sorted_by(|a, b| a >= b), "order of first visits: {path:?}");
    }
}

/// The value of a bound as a number: −1, 0, 1.
pub fn points(bound: Bound) -> i32 {
    bound as i32 - 1
}
