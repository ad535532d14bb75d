//! A search from its beginning to a limit.

use super::search::{Search, Step};

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
    /// Steps until a limit is reached, nothing is left to do or `goes_on`, which is asked before each step, says no. The root is always
    /// evaluated: it is what there is to tell.
    ///
    /// # Errors
    /// As [`Search::step`].
    pub fn run(&mut self, limits: &Limits, mut goes_on: impl FnMut(&mut Self) -> bool) -> Result<(), String> {
        loop {
            let goes_on = goes_on(self);
            let visits = limits.visits.saturating_sub(self.visits());
            let left = visits.min(limits.playouts.saturating_sub(self.playouts()));
            if self.visits() > 0 && (left == 0 || !goes_on) {
                return Ok(());
            }
            if self.step(left.clamp(1, limits.step.max(1)))? == Step::NothingToDo {
                return Ok(());
            }
        }
    }
}
