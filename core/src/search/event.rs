//! A playout under way: from gathering to backprop.

use super::gather::Gathered;
use crate::evaluate::{Move, Moves, Value};
use crate::place;
use crate::repository::{EdgeValue, Key};
use heapless::Vec;

/// The longest path of an event, unless the caller chooses another length.
///
/// A playout that gets so deep ends at the node it has reached and counts that node's value once more. The principal
/// variation of a million playouts seldom has more than 60 plies; 256 leaves room for forced lines.
pub const MAX_PLIES: usize = 256;

/// One edge of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(super) node: Key,
    /// The place of the edge's record in the node.
    pub(super) at: u16,
    pub(crate) mv: Move,
}

/// What a playout waits for next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    /// Nothing: it is not under way.
    Idle,
    /// The next ply, where `leaf` is the node that it has come to.
    Descending,
    /// An answer for its leaf.
    Leaf,
    /// Backprop: the leaf's value is known. In a graph the playout may only catch up with visits that the leaf has from
    /// other paths: then it does not count there.
    Known { counts_there: bool },
    /// To be taken back: the leaf is another playout's.
    Collided,
    /// Backprop: the leaf has its answer. `value` is that of a leaf that the tree has no room for.
    Answered { value: Option<Value>, proven: bool },
    /// Its end, before the root: it only restored a visit that the nodes above have counted already, and is in flight
    /// there no longer.
    Restored,
}

/// What an answer or backprop has just made of a node, kept for the edge above it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    pub node: Key,
    pub n: u32,
    pub value: EdgeValue,
}

/// A playout under way: the path from the root to a leaf, of at most `PLIES` moves (at least one). An event is reused
/// from playout to playout.
///
/// The default length is not inferred: write `Event::<32>::new()`, or `let mut event: Event = Event::new()` for
/// [`MAX_PLIES`].
///
/// It can't be cloned: each event stands for visits in flight, and those of a copy would be brought back twice.
///
/// ```compile_fail,E0599
/// use oncilla_core::search::Event;
///
/// let twin = Event::<32>::new().clone();
/// ```
#[derive(Debug)]
pub struct Event<const PLIES: usize = MAX_PLIES> {
    pub(super) path: Vec<Step, PLIES>,
    pub(super) leaf: Option<Key>,
    pub(super) stage: Stage,
    /// Index of the last step's move among the legal ones, until the move is named.
    pub(super) unnamed: Option<u16>,
    /// Gathering: the last edge leads to `leaf` whatever other threads do meanwhile.
    pub(super) firm: bool,
    /// Gathering in a graph: what the last edge keeps of its child's value.
    pub(super) kept: Option<EdgeValue>,
    /// Completed visits of that edge.
    pub(super) counted: u32,
    /// Backprop: a result below may prove something above; its moves left.
    pub(super) proving: Option<f32>,
    /// Backprop: what became of the node one ply deeper; set in the first of the events that came back through that
    /// node.
    pub(super) below: Option<Below>,
    /// The epoch of the tree that it was gathered in: events from before a tree was cleared or re-rooted change
    /// nothing.
    pub(super) epoch: u32,
    pub(super) met: Gathered,
}

impl<const PLIES: usize> Event<PLIES> {
    /// An event that no playout uses yet.
    pub const fn new() -> Self {
        const { assert!(PLIES > 0, "an event needs room for a move") };
        Self {
            path: Vec::new(),
            leaf: None,
            stage: Stage::Idle,
            unnamed: None,
            firm: false,
            kept: None,
            counted: 0,
            proving: None,
            below: None,
            epoch: 0,
            met: Gathered::NoMoves,
        }
    }

    /// The moves from the root to the leaf, or to the leaf's parent while the last move is [`Event::unnamed`].
    pub fn moves(&self) -> Moves<'_> {
        Moves::along(place::span(&self.path, 0, self.path.len() - usize::from(self.unnamed.is_some())))
    }

    /// The last move's index among the legal moves of the position after [`Event::moves`], if the tree does not know
    /// which move that is. Call [`Event::name`] with that move before the leaf is answered.
    pub fn unnamed(&self) -> Option<usize> {
        self.unnamed.map(usize::from)
    }

    /// Names the last move of the path.
    pub fn name(&mut self, mv: Move) {
        if self.unnamed.take().is_some()
            && let Some(step) = self.path.last_mut()
        {
            step.mv = mv;
        }
    }

    /// True if the value of the leaf is known: the event only has to be brought back.
    pub fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Known { .. } | Stage::Answered { .. })
    }

    /// True if the leaf's value was known from visits on other paths of a graph.
    pub fn is_transposition(&self) -> bool {
        matches!(self.stage, Stage::Known { counts_there: false })
    }

    /// True from gathering until the event is brought back or cancelled. It stays true if that never happens because
    /// the tree was cleared meanwhile: see [`Search::is_in_flight`](super::Search::is_in_flight).
    pub fn is_under_way(&self) -> bool {
        self.stage != Stage::Idle
    }

    /// What the playout met on its way down, when it was last gathered.
    pub fn met(&self) -> Gathered {
        self.met
    }

    /// Plies from the root to the leaf.
    pub fn plies(&self) -> usize {
        self.path.len()
    }

    /// The node `plies` plies below the root, on the way to the leaf.
    #[inline(always)]
    pub(super) fn node_at(&self, plies: usize) -> Option<Key> {
        self.path.get(plies).map(|step| step.node)
    }

    /// The edge that the path takes from that node: the place of its record.
    #[inline(always)]
    pub(super) fn edge_at(&self, plies: usize) -> u16 {
        place::read(&self.path, plies, |step| step.at)
    }

    pub(super) fn begin(&mut self, epoch: u32, root: Option<Key>) {
        self.finish();
        self.epoch = epoch;
        self.leaf = root;
        self.stage = Stage::Descending;
        self.kept = None;
    }

    pub(super) fn finish(&mut self) {
        self.path.clear();
        self.leaf = None;
        self.stage = Stage::Idle;
        self.unnamed = None;
        self.proving = None;
        self.below = None;
    }
}

impl<const PLIES: usize> Default for Event<PLIES> {
    fn default() -> Self {
        Self::new()
    }
}
