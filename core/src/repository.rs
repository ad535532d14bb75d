//! What a search needs from the place where its nodes are kept.
//!
//! A [`Repository`] finds nodes by a 64-bit [`Key`]. It does not hand out whole nodes: a [`Node`] is one node under its
//! lock, to be read or updated in parts, so a repository may store the parts in any form. [`Tree`](crate::tree::Tree)
//! is the one that searches use, in memory that is fixed before it starts; with the feature `map` there is a second
//! one, `map`, in a sharded hash map.
//!
//! Edges are numbered as the game numbers its legal moves. PUCT visits edges without a visit in the order of their
//! priors, because each of them is worth the same: so a node only has to know which one is next, and the record of an
//! edge (N, the child's value, the move) is made with its first visit.

pub mod prior;
mod sums;

use crate::evaluate::{Ending, Move, Value};
use core::num::NonZeroU64;
pub use sums::Sums;

/// What a node is found by. Only the repository knows what the number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Key(pub NonZeroU64);

/// A result that is certain, seen from the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Bound {
    /// The side to move loses.
    Loss,
    /// A draw.
    Draw,
    /// The side to move wins.
    Win,
}

impl Bound {
    /// The same result as the other side sees it.
    pub fn flipped(self) -> Self {
        match self {
            Self::Loss => Self::Win,
            Self::Draw => Self::Draw,
            Self::Win => Self::Loss,
        }
    }

    /// The value of a game that has ended with this result.
    pub fn value(self) -> Value {
        match self {
            Self::Loss => Value::LOSS,
            Self::Draw => Value::DRAW,
            Self::Win => Value::WIN,
        }
    }
}

/// What is proven of a node, from its side to move: the result lies between two bounds. The default is
/// [`Bounds::OPEN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Bounds {
    /// The side to move gets at least this.
    pub lower: Bound,
    /// The side to move gets at most this.
    pub upper: Bound,
}

impl Default for Bounds {
    fn default() -> Self {
        Self::OPEN
    }
}

impl Bounds {
    /// Nothing is proven.
    pub const OPEN: Self = Self { lower: Bound::Loss, upper: Bound::Win };

    /// The same bounds as the other side sees them.
    pub fn flipped(self) -> Self {
        Self { lower: self.upper.flipped(), upper: self.lower.flipped() }
    }

    /// What two proofs prove together.
    pub fn both(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper) }
    }

    /// True if the result is certain.
    pub fn closed(self) -> bool {
        self.lower == self.upper
    }
}

/// What an edge keeps of its child's value, for the side that makes the move, in the precision of the edge's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EdgeValue {
    pub(crate) wl: i32,
    pub(crate) d: u16,
    pub(crate) m: u16,
}

impl EdgeValue {
    /// W−L is kept in steps of 1/8388607: as fine as a 32-bit float is near 1.
    pub(crate) const WL_ONE: i32 = (1 << 23) - 1;
    /// Draws in steps of 1/65535.
    pub(crate) const D_ONE: u16 = u16::MAX;
    /// Moves left in steps of 1/32 ply, at most 2,047.
    pub(crate) const PLY_ONE: u16 = 32;

    const WL_STEP: f32 = 1.0 / Self::WL_ONE as f32;

    /// The value of a child, given from the child's side to move, in the form in which its parent's edge keeps it.
    #[inline(always)]
    pub fn of_child(child: Value) -> Self {
        Self {
            wl: -(rounded(child.wl * Self::WL_ONE as f32)).clamp(-Self::WL_ONE, Self::WL_ONE),
            // Values outside of their ranges, which rounded means may be, are cut off.
            d: (child.d * f32::from(Self::D_ONE) + 0.5) as u16,
            m: (child.m * f32::from(Self::PLY_ONE) + 0.5) as u16,
        }
    }

    /// W−L for the side that makes the move.
    #[inline]
    pub fn wl(self) -> f32 {
        self.wl as f32 * Self::WL_STEP
    }

    /// The probability of a draw.
    #[inline]
    pub fn d(self) -> f32 {
        f32::from(self.d) * (1.0 / Self::D_ONE as f32)
    }

    /// Plies left after the move.
    #[inline]
    pub fn m(self) -> f32 {
        f32::from(self.m) * (1.0 / Self::PLY_ONE as f32)
    }

    /// The expected score with draws worth `draw_score` to the side that makes the move.
    #[inline]
    pub fn q(self, draw_score: f32) -> f32 {
        let wl = self.wl();
        if draw_score == 0.0 { wl } else { wl + draw_score * self.d() }
    }

    /// The same value from the child's side to move.
    pub fn at_child(self) -> Value {
        Value { wl: 0.0 - self.wl(), d: self.d(), m: self.m() }
    }
}

/// Rounds to the nearest whole number, halves away from zero, in a few instructions.
#[inline(always)]
fn rounded(x: f32) -> i32 {
    (x + f32::from_bits(0.5f32.to_bits() | x.to_bits() & 1 << 31)) as i32
}

/// The record of an edge that was visited.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Visit {
    /// Visits along this edge, including those in flight.
    pub n: u32,
    /// How many of these visits are in flight, at most [`Visit::MOST_IN_FLIGHT`].
    pub in_flight: u16,
    /// The child's value, once a visit has come back.
    pub value: Option<EdgeValue>,
    /// The prior in its packed form, see [`prior`].
    pub prior: u16,
    /// The move, or its index in the game's list until the move is named.
    pub mv: Naming,
}

/// The parts of a record that selection needs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Seen {
    /// Visits along this edge, including those in flight.
    pub n: u32,
    /// The child's value, once a visit has come back.
    pub value: Option<EdgeValue>,
    /// The prior in its packed form.
    pub prior: u16,
}

impl From<Visit> for Seen {
    fn from(visit: Visit) -> Self {
        Self { n: visit.n, value: visit.value, prior: visit.prior }
    }
}

impl Seen {
    /// The prior.
    #[inline]
    pub fn p(&self) -> f32 {
        prior::unpack(self.prior)
    }
}

/// Whether the move of an edge is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Naming {
    /// The index of the move in the list of legal moves.
    Index(u16),
    /// The move.
    Named(Move),
}

impl Visit {
    /// The most visits that may be in flight along one edge.
    pub const MOST_IN_FLIGHT: u16 = (1 << 10) - 1;

    /// Visits that have come back.
    #[inline]
    pub fn completed(&self) -> u32 {
        self.n - u32::from(self.in_flight)
    }

    /// The prior.
    #[inline]
    pub fn p(&self) -> f32 {
        prior::unpack(self.prior)
    }

    /// What the visits that have come back add to the parent's sums.
    #[inline]
    pub(crate) fn contribution(&self) -> Sums {
        self.value.map_or(Sums::default(), |value| Sums::of_edge(value, self.completed()))
    }
}

/// Nodes, found by a key. Shared by all threads of a search.
pub trait Repository: Sync {
    /// A node under its lock.
    type Node<'r>: Node
    where
        Self: 'r;

    /// Locks the node with this key; waits while another thread holds it. A thread that holds a node may lock one of
    /// its children, but never the other way round.
    fn lock(&self, key: Key) -> Self::Node<'_>;

    /// Prefetches a node that is about to be locked. The node may have left the repository already.
    fn prefetch(&self, _key: Key) {}

    /// Prefetches what selection is about to read of a node, whose own words have arrived since
    /// [`Repository::prefetch`].
    fn prefetch_edges(&self, _key: Key) {}

    /// A new node without visits, the `edge`th child of `parent` (a root has none); `None` when there is no room.
    fn create(&self, parent: Option<(Key, u16)>) -> Option<Key>;

    /// Forgets a node that [`Repository::create`] made and no edge leads to.
    fn discard(&self, key: Key);

    /// In a graph: returns the node that has the position already, if there is one other than `node`; otherwise `node`
    /// has the position from now on, and the result is `None`. `position` is the position's key (never
    /// [`Answer::NO_KEY`](crate::evaluate::Answer::NO_KEY)), and `edges` the number of its legal moves, which has to be
    /// the same. If `may_join` refuses the node that was found, the result is
    /// `None`, too, and `node` has no position. In a tree each path has a node of its own, and the result is `None`.
    /// Called while the thread holds no node.
    fn join(&self, node: Key, position: u64, edges: usize, may_join: impl Fn(Key) -> bool) -> Option<Key>;

    /// In a graph: whether a node has the position already. Then [`Repository::join`] will find that node as long as
    /// nothing is folded. (A search does not join a node on its own path: see
    /// [`Answer::key`](crate::evaluate::Answer::key).
    /// [`Search::settle_transposition`](crate::search::Search::settle_transposition) joins a leaf to the node, if that
    /// is possible.)
    fn has(&self, position: u64, edges: usize) -> bool;

    /// True if a position that is reached on several paths has one node.
    fn is_graph(&self) -> bool;

    /// Forgets all nodes.
    fn clear(&mut self);

    /// Takes the child away from the `at`th visited edge of `parent`, and frees all nodes that no other link leads to.
    /// The edge keeps N and value. Returns the number of nodes freed. No visit may be in flight along the edge.
    fn fold(&mut self, parent: Key, at: usize) -> usize;

    /// Frees a root and all nodes that no other link leads to. Returns the number of nodes freed.
    fn free(&mut self, root: Key) -> usize;

    /// Frees the edges of a node whose result is certain, and what hangs below them: they are of no more use. Returns
    /// the number of nodes freed.
    fn free_below(&mut self, proven: Key) -> usize;

    /// The next node after the `cursor`, in any order that meets all nodes, and the cursor to go on from; `None` at the
    /// end.
    fn scan(&self, cursor: u64) -> Option<(Key, u64)>;

    /// How many nodes are in use.
    fn live_nodes(&self) -> usize;
}

/// The largest number that [`Node::idle`] returns.
pub const MOST_IDLE: u32 = 3;

/// A locked node: no other thread reads or changes it.
pub trait Node {
    /// Completed visits.
    fn n(&self) -> u32;

    /// Mean of the completed visits, from the side to move at the node.
    fn mean(&self) -> Value;

    /// W−L of the mean.
    fn mean_wl(&self) -> f32 {
        self.mean().wl
    }

    /// Sums of the completed visits.
    fn sums(&self) -> Sums;

    /// Adds `n` visits (which may be negative) and their sums. A node without a visited edge has no place for sums: it
    /// keeps the first visit's value.
    fn add(&mut self, n: i32, sums: Sums);

    /// Makes all `n` visits worth `value`. Called for a node that has visited edges, or that has no edges at all.
    fn settle(&mut self, n: u32, value: Value);

    /// Replaces the sums of the completed visits.
    fn set_sums(&mut self, sums: Sums);

    /// Counts `n` visits worth `value` that are kept nowhere below; `false` if there is no room.
    fn regrow(&mut self, n: u32, value: Value) -> bool;

    /// How the node's game ended, if it did.
    fn ending(&self) -> Option<Ending>;

    /// Records how the game ended.
    fn set_ending(&mut self, ending: Option<Ending>);

    /// What is proven.
    fn bounds(&self) -> Bounds;

    /// Records what is proven.
    fn set_bounds(&mut self, bounds: Bounds);

    /// True once the evaluation has come back and the edges are known.
    fn is_expanded(&self) -> bool;

    /// True while somebody evaluates the node.
    fn is_pending(&self) -> bool;

    /// Records whether somebody evaluates the node.
    fn set_pending(&mut self, on: bool);

    /// True if some visits of this node are not counted in any node or edge below it: the node was folded and not
    /// restored, a line ended at it because the path could not get longer, or there was no room for a leaf.
    fn is_regrown(&self) -> bool;

    /// Records that some visits are not counted below the node.
    fn set_regrown(&mut self);

    /// True for a folded node that is growing again: its parent's edge may have visits that the node lacks.
    fn is_restoring(&self) -> bool;

    /// Records whether the parent's edge may have visits that the node lacks.
    fn set_restoring(&mut self, on: bool);

    /// How often recycling has looked at the node since its last visit, at most [`MOST_IDLE`].
    fn idle(&self) -> u32;

    /// Sets how often recycling has looked at the node. [`Node::add`] sets it to 0.
    fn set_idle(&mut self, idle: u32);

    /// True if the node must not be folded.
    fn is_pinned(&self) -> bool;

    /// Sets whether the node must not be folded.
    fn set_pinned(&mut self, on: bool);

    /// Gives the node its edges, with these priors, which are in the order of the legal moves; `false` if there is no
    /// room.
    fn expand(&mut self, priors: &[f32]) -> bool;

    /// Number of legal moves.
    fn edge_count(&self) -> usize;

    /// Number of edges with a record.
    fn visited_count(&self) -> usize;

    /// The record of the edge that was the `at`th to be visited.
    fn visit(&self, at: usize) -> Visit;

    /// The records in the order of their edges' first visits.
    fn visits(&self) -> impl Iterator<Item = Visit> + '_ {
        (0..self.visited_count()).map(|at| self.visit(at))
    }

    /// What selection needs of the records, in the same order as [`Node::visits`].
    fn seen(&self) -> impl Iterator<Item = Seen> + '_ {
        self.visits().map(Seen::from)
    }

    /// The move of the `at`th record, or its index in the list of legal moves.
    fn naming(&self, at: usize) -> Naming {
        self.visit(at).mv
    }

    /// Counts one more visit in flight along the edge of the `at`th record; returns `false` if there are
    /// [`Visit::MOST_IN_FLIGHT`] already.
    fn depart(&mut self, at: usize) -> bool {
        let visit = self.visit(at);
        let departs = visit.in_flight < Visit::MOST_IN_FLIGHT;
        if departs {
            self.set_visit(at, Visit { n: visit.n + 1, in_flight: visit.in_flight + 1, ..visit });
        }
        departs
    }

    /// `visits` of the visits in flight along an edge come back, after which the child is worth `value`. Returns what
    /// that adds to the sums of this node.
    fn arrive(&mut self, at: usize, visits: u16, value: EdgeValue) -> Sums {
        let before = self.visit(at);
        let after = Visit { in_flight: before.in_flight - visits, value: Some(value), ..before };
        self.set_visit(at, after);
        after.contribution().minus(before.contribution())
    }

    /// Replaces the `at`th record, but not the link to its child.
    fn set_visit(&mut self, at: usize, visit: Visit);

    /// The child of the `at`th record, if it is in the repository.
    fn child(&self, at: usize) -> Option<Key>;

    /// Links the `at`th record to a child, or to none.
    fn set_child(&mut self, at: usize, child: Option<Key>);

    /// True if nothing can replace or remove the child of the `at`th record while visits are in flight along the edge:
    /// it is not a leaf that may turn out to be another node's position, or to have no room.
    fn is_firm(&self, _at: usize) -> bool {
        false
    }

    /// Records that the child is firm. A repository that does not record it is asked for the child once more.
    fn set_firm(&mut self, _at: usize) {}

    /// The edge without a record that has the largest prior (of equal ones the first): its index in the list of legal
    /// moves, and its prior.
    fn next_unvisited(&self) -> Option<(u16, f32)>;

    /// The prior of the edge with this index in the list of legal moves, if there is such an edge and it has no record.
    fn unvisited_prior(&self, index: usize) -> Option<f32>;

    /// Makes a record for an edge that has none, and returns the record's place; `None` if there is no room.
    fn open_edge(&mut self, index: u16) -> Option<usize>;
}
