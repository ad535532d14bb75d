//! Reading a tree from outside: reports, statistics, tests. Searching may go on meanwhile.

use super::worth::below;
use crate::evaluate::{Ending, Move, Value};
use crate::repository::{Bounds, Key, Naming, Node, Repository, Visit};
use crate::tree::Tree;
use core::fmt;

/// A node, as a view.
pub struct NodeView<'a, R> {
    repository: &'a R,
    key: Key,
}

/// What a search's repository contains, without the means to change it.
pub struct Contents<'a, R> {
    repository: &'a R,
}

/// An edge as it was at the time of the look. What is behind it is read only when it is asked for, and is as it is
/// then.
pub struct EdgeView<'a, R> {
    repository: &'a R,
    /// The node that the edge leads from, and the place of its record there.
    from: (Key, usize),
    child: Option<Key>,
    naming: Naming,
    p: f32,
    visit: Option<Visit>,
}

impl<R> Clone for NodeView<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for NodeView<'_, R> {}

impl<R> Clone for Contents<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Contents<'_, R> {}

impl<R: Repository> fmt::Debug for Contents<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").field("live_nodes", &self.live_nodes()).finish_non_exhaustive()
    }
}

impl<R> Clone for EdgeView<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for EdgeView<'_, R> {}

impl<R: Repository> fmt::Debug for NodeView<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut view = f.debug_struct("NodeView");
        view.field("key", &self.key).field("n", &self.n()).field("value", &self.value());
        view.field("bounds", &self.bounds()).field("edge_count", &self.edge_count()).finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for EdgeView<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut view = f.debug_struct("EdgeView");
        view.field("naming", &self.naming).field("p", &self.p);
        view.field("child", &self.child).field("visit", &self.visit).finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<R: Repository> defmt::Format for NodeView<'_, R> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let (n, value, bounds) = (self.n(), self.value(), self.bounds());
        defmt::write!(
            f,
            "NodeView {{ key: {}, n: {}, value: {}, bounds: {}, edge_count: {}, .. }}",
            self.key,
            n,
            value,
            bounds,
            self.edge_count()
        );
    }
}

#[cfg(feature = "defmt")]
impl<R> defmt::Format for EdgeView<'_, R> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let Self { naming, p, child, visit, .. } = self;
        defmt::write!(f, "EdgeView {{ naming: {}, p: {}, child: {}, visit: {}, .. }}", naming, p, child, visit);
    }
}

impl<'a, R: Repository> Contents<'a, R> {
    pub(super) fn new(repository: &'a R) -> Self {
        Self { repository }
    }

    /// How many nodes are in use.
    pub fn live_nodes(&self) -> usize {
        self.repository.live_nodes()
    }

    /// True if a position that is reached on several paths has one node.
    pub fn is_graph(&self) -> bool {
        self.repository.is_graph()
    }

    /// In a graph: whether a node has the position already. `position` is the position's
    /// [key](crate::evaluate::Answer::key), and `edges` the number of its legal moves.
    pub fn has(&self, position: u64, edges: usize) -> bool {
        self.repository.has(position, edges)
    }

    /// The nodes in use, in any order. One that is made meanwhile may be missing.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'a, R>> + use<'a, R> {
        let repository = self.repository;
        let keys = core::iter::successors(repository.scan(0), |(_, cursor)| repository.scan(*cursor));
        keys.map(|(key, _)| NodeView::new(repository, key))
    }
}

impl Contents<'_, Tree<'_>> {
    /// How many nodes there is room for.
    pub fn node_capacity(&self) -> usize {
        self.repository.node_capacity()
    }

    /// How many words there are for edges.
    pub fn word_capacity(&self) -> usize {
        self.repository.word_capacity()
    }

    /// How many words edges use.
    pub fn live_words(&self) -> usize {
        self.repository.live_words()
    }

    /// How many bytes nodes and their edges use.
    pub fn live_bytes(&self) -> usize {
        self.repository.live_bytes()
    }

    /// How full the fuller of the two memories is, per mille (UCI's `hashfull`).
    pub fn permille_full(&self) -> u32 {
        self.repository.permille_full()
    }
}

impl<'a, R: Repository> NodeView<'a, R> {
    pub(crate) fn new(repository: &'a R, key: Key) -> Self {
        Self { repository, key }
    }

    /// Reads parts of the node at one moment. The node is locked until `part` returns: `part` must not ask the search,
    /// or another view, anything.
    pub fn read<T>(&self, part: impl FnOnce(&R::Node<'a>) -> T) -> T {
        part(&self.repository.lock(self.key))
    }

    /// The key by which the repository finds the node.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Completed visits.
    pub fn n(&self) -> u32 {
        self.read(Node::n)
    }

    /// Mean value, from the side to move.
    pub fn value(&self) -> Value {
        self.read(Node::mean)
    }

    /// The evaluator's value of the node itself: what is left of its sums without its edges' visits. `None` before the
    /// node is expanded, if the game ended there or the result is certain, and if it [is regrown](Self::is_regrown).
    pub fn own_value(&self) -> Option<Value> {
        self.read(|node| {
            let is_known = node.is_expanded() && node.ending().is_none() && !node.is_regrown();
            is_known.then(|| node.sums().minus(below(node).1).mean(1))
        })
    }

    /// How the game ended here, if it did.
    pub fn ending(&self) -> Option<Ending> {
        self.read(Node::ending)
    }

    /// What is proven, from the side to move. A root's bounds stay open while the game goes on: see
    /// [`Search::proven`](super::Search::proven).
    pub fn bounds(&self) -> Bounds {
        self.read(Node::bounds)
    }

    /// True if some visits of this node are not counted in any node or edge below it: the node was folded and not
    /// restored, a line ended at it because the path could not get longer, or there was no room for a leaf.
    pub fn is_regrown(&self) -> bool {
        self.read(Node::is_regrown)
    }

    /// True once the edges are known.
    pub fn is_expanded(&self) -> bool {
        self.read(Node::is_expanded)
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.read(|node| if node.is_expanded() { node.edge_count() } else { 0 })
    }

    /// Number of edges that have a record. Searching only adds to it.
    pub fn visited_count(&self) -> usize {
        self.read(Node::visited_count)
    }

    /// Visits in flight through the node.
    pub fn in_flight(&self) -> u32 {
        self.read(|node| node.visits().map(|visit| u32::from(visit.in_flight)).sum())
    }

    /// The edges: those with a record in the order of their first visits, then the others in the order of the game's
    /// list. An edge that is visited for the first time meanwhile may be in neither part: see
    /// [`NodeView::of_all_edges`].
    pub fn edges(&self) -> impl Iterator<Item = EdgeView<'a, R>> + Clone + use<'a, R> {
        self.visited().chain(self.unvisited())
    }

    /// Returns what `look` returns when it saw all edges: `look` is called again if an edge was visited for the first
    /// time meanwhile.
    pub fn of_all_edges<T>(&self, mut look: impl FnMut() -> T) -> T {
        loop {
            let before = self.visited_count();
            let found = look();
            if self.visited_count() == before {
                return found;
            }
        }
    }

    /// The edges that have a record.
    pub fn visited(&self) -> impl Iterator<Item = EdgeView<'a, R>> + Clone + use<'a, R> {
        let view = *self;
        (0..self.visited_count()).map(move |at| {
            let (visit, child) = view.read(|node| (node.visit(at), node.child(at)));
            let (repository, from) = (view.repository, (view.key, at));
            EdgeView { repository, from, child, naming: visit.mv, p: visit.p(), visit: Some(visit) }
        })
    }

    fn unvisited(&self) -> impl Iterator<Item = EdgeView<'a, R>> + Clone + use<'a, R> {
        let view = *self;
        (0..self.edge_count()).filter_map(move |index| {
            let p = view.read(|node| node.unvisited_prior(index))?;
            let (repository, from) = (view.repository, (view.key, index));
            Some(EdgeView { repository, from, child: None, naming: Naming::Index(index as u16), p, visit: None })
        })
    }

    /// Sum of the priors of the edges that have a value (Lc0's visited policy).
    pub fn visited_policy(&self) -> f32 {
        self.visited().filter(EdgeView::has_value).fold(0.0, |sum, e| sum + e.p) // `sum` makes −0 of none
    }
}

impl<'a, R: Repository> EdgeView<'a, R> {
    pub(crate) fn child_key(&self) -> Option<Key> {
        self.child
    }

    fn has_value(&self) -> bool {
        self.visit.is_some_and(|visit| visit.value.is_some())
    }

    /// The edge's move, once it is known: when its first visit has been answered. Until then there is
    /// [`EdgeView::index`].
    pub fn mv(&self) -> Option<Move> {
        match self.naming {
            Naming::Named(mv) => Some(mv),
            Naming::Index(_) => None,
        }
    }

    /// The move's index in the game's list of legal moves, as long as the move itself is not known.
    pub fn index(&self) -> Option<usize> {
        match self.naming {
            Naming::Named(_) => None,
            Naming::Index(index) => Some(index.into()),
        }
    }

    /// The edge's move. If the tree does not know it, `legal` says which legal move has the index that it gets.
    pub fn mv_or(&self, legal: impl FnOnce(usize) -> Move) -> Move {
        match self.naming {
            Naming::Named(mv) => mv,
            Naming::Index(index) => legal(index.into()),
        }
    }

    pub(crate) fn naming(&self) -> Naming {
        self.naming
    }

    /// The prior, in `[0, 1]`. Once the move is proven to lose, it is nearly 0, so that no visits are drawn to it (as
    /// in Lc0).
    pub fn p(&self) -> f32 {
        self.p
    }

    /// Visits along the edge, including those in flight.
    pub fn n(&self) -> u32 {
        self.visit.map_or(0, |v| v.n)
    }

    /// Visits along the edge that have come back.
    pub fn completed(&self) -> u32 {
        self.visit.map_or(0, |v| v.completed())
    }

    /// The value to the side that makes the move, with draws worth `draw_score`, once a visit has come back.
    pub fn q(&self, draw_score: f32) -> Option<f32> {
        self.visit?.value.map(|value| value.q(draw_score))
    }

    /// Moves left after the move, in plies.
    pub fn m(&self) -> Option<f32> {
        self.visit?.value.map(|value| value.m())
    }

    /// The value to the side that makes the move, by the edge's visits; the moves left are the child's.
    pub fn value(&self) -> Option<Value> {
        self.visit?.value.map(|value| Value { wl: value.wl(), d: value.d(), m: value.m() })
    }

    /// [`EdgeView::value`], or the child's if its result is certain: in a graph another path may have found that out,
    /// and no visit of this edge knows it.
    pub fn known_value(&self) -> Option<Value> {
        let own = self.value()?;
        let certain = self.of_child(|child| child.bounds().closed().then(|| child.mean())).flatten();
        Some(certain.map_or(own, |Value { wl, d, m }| Value { wl: -wl, d, m }))
    }

    /// Reads a part of the child, if the child is still in the tree, and still this edge's: a leaf that was lost, or
    /// joined to another node, leaves its slot to another node.
    fn of_child<T>(&self, part: impl FnOnce(&R::Node<'a>) -> T) -> Option<T> {
        let (from, at) = self.from;
        let key = self.child?;
        // While the parent is locked, no thread takes the child away.
        let parent = self.repository.lock(from);
        let is_there = at < parent.visited_count() && parent.child(at) == Some(key);
        is_there.then(|| part(&self.repository.lock(key)))
    }

    /// The child, if it is in the tree.
    pub fn child(&self) -> Option<NodeView<'a, R>> {
        self.of_child(|_| ())?;
        self.child.map(|key| NodeView { repository: self.repository, key })
    }

    /// [`EdgeView::bounds`] and [`EdgeView::ending`], read at the same moment.
    pub(crate) fn result(&self) -> (Bounds, Option<Ending>) {
        self.of_child(|child| (child.bounds().flipped(), child.ending())).unwrap_or((Bounds::OPEN, None))
    }

    /// What is proven of the move, from the side that makes it.
    pub fn bounds(&self) -> Bounds {
        self.result().0
    }

    /// How the game ends with this move, if it is known.
    pub fn ending(&self) -> Option<Ending> {
        self.result().1
    }
}
