//! A search from its beginning to a limit.

use super::search::{Search, Step};
use crate::engine::Memory;

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
    let (memory, _) = Memory::of_at_most(most.min(needed.max(LEAST_BYTES)), true).ok_or("no memory for a tree")?;
    Ok(memory)
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

impl Search<'_> {
    /// Takes steps until a limit is reached, nothing is left to do, or `goes_on`, which is called before each step,
    /// returns false. The root is always evaluated, so that there is something to report. Returns false if it ended
    /// because its memory is full.
    ///
    /// # Errors
    /// Like [`Search::step`].
    pub fn run(&mut self, limits: &Limits, mut goes_on: impl FnMut(&mut Self) -> bool) -> Result<bool, String> {
        loop {
            let goes_on = goes_on(self);
            let visits = limits.visits.saturating_sub(self.spent());
            let left = visits.min(limits.playouts.saturating_sub(self.playouts()));
            if self.visits() > 0 && (left == 0 || !goes_on) {
                return Ok(true);
            }
            match self.step(left.clamp(1, limits.step.max(1)))? {
                Step::Progress(_) => {}
                Step::NothingToDo => return Ok(true),
                Step::NoRoom => return Ok(false),
            }
        }
    }
}
