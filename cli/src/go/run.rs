//! A search from its beginning to a limit.

use super::search::{Search, Step};
use crate::engine::Memory;

/// What a visit takes of the tree at most: a node, its edges' priors and records.
const BYTES_A_VISIT: usize = 2048;

/// What a tree is given for few visits, where there is so much.
const LEAST_BYTES: usize = 4 << 20;

/// Memory for the tree of so many visits, which takes no more than it needs and than `most` bytes.
///
/// # Errors
/// There is none.
pub fn memory(most: usize, visits: u64) -> Result<Memory, String> {
    let needed = usize::try_from(visits).unwrap_or(usize::MAX).saturating_mul(BYTES_A_VISIT);
    let (memory, _) = Memory::of_at_most(most.min(needed.max(LEAST_BYTES)), true).ok_or("no memory for a tree")?;
    Ok(memory)
}

/// When a search ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Visits of the root.
    pub visits: u64,
    /// Playouts.
    pub playouts: u64,
    /// Playouts of one step: between two steps reports and the end are thought of.
    pub step: u64,
}

impl Search<'_> {
    /// Steps until a limit is reached, nothing is left to do or `goes_on`, which is asked before each step, says no.
    /// The root is always evaluated: it is what there is to tell. False where it ended because its memory is full.
    ///
    /// # Errors
    /// As [`Search::step`].
    pub fn run(&mut self, limits: &Limits, mut goes_on: impl FnMut(&mut Self) -> bool) -> Result<bool, String> {
        loop {
            let goes_on = goes_on(self);
            let visits = limits.visits.saturating_sub(self.visits());
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
