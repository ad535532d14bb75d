//! A search from its beginning to a limit.

use super::search::{Search, Step};
use crate::memory::{Layout, Memory};

/// The most bytes of the tree that a visit takes: a node, and the priors and records of its edges.
const BYTES_A_VISIT: usize = 2048;

/// The bytes that a tree gets even for few visits, if it may have as many.
const LEAST_BYTES: usize = 4 << 20;

/// Memory for a tree of `visits` visits: about as much as it needs, and at most `most` bytes.
///
/// # Errors
/// If there is no memory.
pub fn memory(most: usize, visits: u64) -> Result<Memory, String> {
    let needed = usize::try_from(visits).unwrap_or(usize::MAX).saturating_mul(BYTES_A_VISIT);
    let granted = Memory::of_at_most(most.min(needed.max(LEAST_BYTES)), Layout::Graph);
    granted.map(|(memory, _)| memory).ok_or_else(|| "expected memory for a tree, the system grants none".to_string())
}

/// The limits at which a search ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most visits of the root, and of playouts that it does not count ([`Search::spent`]).
    pub visits: u64,
    /// The most playouts.
    pub playouts: u64,
    /// The playouts of one step. Between two steps the search can report and be ended.
    pub step: u64,
}

/// Why a search has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Stopped {
    /// A limit is reached, nothing is left to do, or the caller wants no more.
    Done,
    /// There is no room for another node.
    Full,
}

impl Search<'_> {
    /// Takes steps until a limit is reached, nothing is left to do, or `goes_on`, which is called before each step,
    /// returns false. The root is always evaluated, so that there is something to report.
    ///
    /// # Errors
    /// Like [`Search::step`].
    pub fn run(&mut self, limits: &Limits, mut goes_on: impl FnMut(&mut Self) -> bool) -> Result<Stopped, String> {
        loop {
            let goes_on = goes_on(self);
            let visits = limits.visits.saturating_sub(self.spent());
            let left = visits.min(limits.playouts.saturating_sub(self.playouts()));
            if self.visits() > 0 && (left == 0 || !goes_on) {
                return Ok(Stopped::Done);
            }
            match self.step(left.clamp(1, limits.step.max(1)))? {
                Step::Progress(_) => {}
                Step::NothingToDo => return Ok(Stopped::Done),
                Step::NoRoom => return Ok(Stopped::Full),
            }
        }
    }
}
