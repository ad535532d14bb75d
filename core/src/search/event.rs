//! A playout under way: from gathering to backprop.

use crate::evaluate::{Move, Moves};
use crate::tree::{NodeId, VisitRef};
use heapless::Vec;

/// Longest path of an event, where the caller does not choose another.
///
/// A playout that gets so deep ends at the node it has reached and counts that node's value once more. The principal
/// variation of a million playouts seldom has more than 60 plies; 256 leaves room for forced lines.
pub const MAX_PLIES: usize = 256;

/// One edge of a path.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub(super) parent: NodeId,
    pub(super) visit: VisitRef,
    pub(super) edge: u16,
    pub(super) mv: Move,
}

/// A playout under way: the path from the root to a leaf. Reused from playout to playout.
#[derive(Clone, Debug)]
pub struct Event<const PLIES: usize = MAX_PLIES> {
    pub(super) path: Vec<Step, PLIES>,
    /// Where the path ends, while the playout is in flight.
    pub(super) leaf: Option<NodeId>,
    /// The leaf is another playout's.
    pub(super) collided: bool,
    /// Events of a tree that was cleared or re-rooted since they were gathered hit nobody.
    pub(super) epoch: u32,
}

impl<const PLIES: usize> Event<PLIES> {
    /// An event that no playout uses yet.
    pub const fn new() -> Self {
        Self { path: Vec::new(), leaf: None, collided: false, epoch: 0 }
    }

    /// The moves from the root to the leaf.
    pub fn moves(&self) -> Moves<'_> {
        self.path.iter().map(|step| step.mv)
    }

    /// Plies from the root to the leaf.
    pub fn plies(&self) -> usize {
        self.path.len()
    }
}

impl<const PLIES: usize> Default for Event<PLIES> {
    fn default() -> Self {
        Self::new()
    }
}
