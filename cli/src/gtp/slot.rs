//! Keeps the last search, with its tree and its memory, so that the next one can continue it.

use std::sync::Arc;

use crate::go::{Evaluator, Game, Plan, Search};
use crate::memory::Memory;

/// Holds a search that is continued from move to move.
pub struct SearchSlot<'m> {
    memory: &'m Memory,
    search: Option<Search<'m>>,
}

impl<'m> SearchSlot<'m> {
    /// A place for searches in this memory, without a search at first.
    pub fn new(memory: &'m Memory) -> Self {
        Self { memory, search: None }
    }

    /// Drops the last search.
    pub fn forget(&mut self) {
        self.search = None;
    }

    /// Whether the last search keeps the ownership of the points.
    pub fn keeps_ownership(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.plan().keeps_ownership)
    }

    /// Calls `with` with a search of this position, which continues the last search as far as its tree can be used. If
    /// that fails or panics, no search is kept.
    ///
    /// # Errors
    /// The errors of [`Search::new`] and of `with`.
    pub fn search<T>(
        &mut self,
        evaluator: &Arc<Evaluator>,
        game: Arc<Game>,
        plan: Plan,
        with: impl FnOnce(&mut Search<'m>) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut search = match self.search.take() {
            Some(mut search) => {
                search.turn_to(game, plan)?;
                search
            }
            None => Search::new(Arc::clone(evaluator), self.memory, game, plan)?,
        };
        let done = with(&mut search)?;
        self.search = Some(search);
        Ok(done)
    }
}
