//! A search from its beginning to a limit.

use super::search::{Search, Step};
use crate::engine::Memory;

/// How many bytes of the tree a visit takes at most: a node, its edges' priors and records.
const BYTES_A_VISIT: usize = 2048;

/// How many bytes a tree gets for few visits, if there are as many.
const LEAST_BYTES: usize = 4 << 20;

/// Memory for the tree of `visits` visits: no more than it needs, and at most `most` bytes.
///
/// # Errors
/// If there is no memory.
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
    /// Takes steps until a limit is reached, nothing is left to do, or `goes_on`, which is called before each step,
    /// returns false. The root is always evaluated, so that there is something to report. Returns false if it ended
    /// because its memory is full.
    ///
    /// # Errors
    /// Like [`Search::step`].
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
