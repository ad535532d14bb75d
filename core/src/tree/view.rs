//! Reading a tree from outside: reports, statistics, tests.

use super::memory::Tree;
use super::node::{Bounds, NodeId, Visit};
use crate::evaluate::{Ending, Move, Value};

/// A node to look at.
#[derive(Clone, Copy)]
pub struct NodeView<'a> {
    tree: &'a Tree<'a>,
    id: NodeId,
}

/// An edge to look at.
#[derive(Clone, Copy)]
pub struct EdgeView<'a> {
    tree: &'a Tree<'a>,
    /// The move.
    pub mv: Move,
    /// The prior, in `[0, 1]`.
    pub p: f32,
    visit: Option<Visit>,
}

impl<'a> NodeView<'a> {
    pub(crate) fn new(tree: &'a Tree<'a>, id: NodeId) -> Self {
        Self { tree, id }
    }

    /// Completed visits.
    pub fn n(&self) -> u32 {
        self.tree.n(self.id)
    }

    /// Mean value, from the side to move.
    pub fn value(&self) -> Value {
        self.tree.mean(self.id)
    }

    /// How the game ended here, if it did.
    pub fn ending(&self) -> Option<Ending> {
        self.tree.ending(self.id)
    }

    /// What is proven, from the side to move.
    pub fn bounds(&self) -> Bounds {
        self.tree.bounds(self.id)
    }

    /// True if some visits of this node are kept nowhere below it: it was folded and grew again, or a line ended at it
    /// because the path could not get longer.
    pub fn is_regrown(&self) -> bool {
        self.tree.is_regrown(self.id)
    }

    /// True once the edges are known.
    pub fn is_expanded(&self) -> bool {
        self.tree.is_expanded(self.id)
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.tree.edge_count(self.id)
    }

    /// The edges, most likely first.
    pub fn edges(&self) -> impl Iterator<Item = EdgeView<'a>> + use<'a> {
        let tree = self.tree;
        let visits = tree.visits(self.id).map(|(_, visit)| Some(visit)).chain(core::iter::repeat(None));
        tree.edges(self.id).zip(visits).map(move |((mv, p), visit)| EdgeView { tree, mv, p, visit })
    }

    /// Sum of the priors of the edges that have a value (Lc0's visited policy).
    pub fn visited_policy(&self) -> f32 {
        self.edges().filter(|e| e.q().is_some()).map(|e| e.p).sum()
    }
}

impl<'a> EdgeView<'a> {
    /// Visits along the edge, those in flight included.
    pub fn n(&self) -> u32 {
        self.visit.map_or(0, |v| v.n)
    }

    /// Completed visits of the child (of a folded one: of the edge).
    pub fn completed(&self) -> u32 {
        match (self.child(), self.visit) {
            (Some(child), _) => child.n(),
            (None, Some(visit)) if visit.has_value() => visit.n,
            _ => 0,
        }
    }

    /// The cached value for the side that makes the move, draw score included, once a visit has come back.
    pub fn q(&self) -> Option<f32> {
        self.visit.filter(Visit::has_value).map(|v| v.q)
    }

    /// Moves left after the move, in plies.
    pub fn m(&self) -> Option<f32> {
        self.visit.filter(Visit::has_value).map(|v| v.m)
    }

    /// The child, if it is in the tree.
    pub fn child(&self) -> Option<NodeView<'a>> {
        let id = self.visit?.child?;
        Some(NodeView { tree: self.tree, id })
    }

    /// What is proven of the move, from the side that makes it.
    pub fn bounds(&self) -> Bounds {
        self.child().map_or(Bounds::OPEN, |child| child.bounds().flipped())
    }

    /// How the game ends with this move, if it is known.
    pub fn ending(&self) -> Option<Ending> {
        self.child().and_then(|child| child.ending())
    }

    /// The child's mean value, from the side that makes the move; moves left as at the child.
    pub fn value(&self) -> Option<Value> {
        let child = self.child().filter(|child| child.n() > 0)?.value();
        Some(Value { wl: 0.0 - child.wl, ..child }) // no minus zero: it would be printed
    }
}
