//! What is left of the last search when the next one begins: its tree and its memory.

use std::sync::Arc;

use crate::engine::Memory;
use crate::go::{Evaluator, Game, Plan, Search};

/// The place of a search that goes on from move to move.
pub struct Seat<'m> {
    memory: &'m Memory,
    search: Option<Search<'m>>,
}

impl<'m> Seat<'m> {
    /// An empty one.
    pub fn new(memory: &'m Memory) -> Self {
        Self { memory, search: None }
    }

    /// Nothing is left.
    pub fn forget(&mut self) {
        self.search = None;
    }

    /// Whether what is left knows who will own which point, and goes on with it.
    pub fn keeps_ownership(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.plan().keeps_ownership)
    }

    /// Does something with a search of this position, which begins with what is left of the last one. What fails, or
    /// panics, leaves nothing.
    ///
    /// # Errors
    /// As [`Search::new`], and those of `with`.
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
