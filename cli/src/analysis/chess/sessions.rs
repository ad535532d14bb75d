//! Trees that are kept from one query to the next.
//!
//! Queries with the same `session` are searched one after the other in one tree. A position that follows from the last
//! one by moves starts with the visits that it has in the tree; they count for `maxVisits`. So a query for the same
//! position with more visits continues the last search, and with `allowMoves` all new visits go to some of the root's
//! moves.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::{Engine, Settings};
use crate::evaluator::Evaluator;

/// An engine with its tree, and what it was configured with.
pub struct TreeEngine {
    /// An engine with a tree of its own.
    pub engine: Engine,
    /// The last argument of [`Engine::configure`].
    pub settings: Arc<Settings>,
    /// The last search was restricted below the root, so that its tree is not usable for other searches.
    pub was_restricted: bool,
    /// A summary of the tree.
    pub summary: TreeSummary,
}

impl TreeEngine {
    /// An engine with an empty tree.
    pub fn new(settings: &Arc<Settings>, evaluator: &Arc<Evaluator>) -> Self {
        let engine = Engine::sharing((**settings).clone(), Arc::clone(evaluator));
        Self { engine, settings: Arc::clone(settings), was_restricted: false, summary: TreeSummary::default() }
    }
}

/// A summary of a tree after its last search.
#[derive(Clone, Debug, Default)]
pub struct TreeSummary {
    /// The id of the query.
    pub id: String,
    /// The turn that was searched.
    pub turn: usize,
    /// Visits of the root.
    pub visits: u32,
    /// Bytes that nodes and edges use.
    pub tree_bytes: usize,
}

impl State {
    fn take(&mut self, name: &str) -> Option<TreeEngine> {
        let at = self.tree_engines.iter().position(|(known, _)| known == name)?;
        Some(self.tree_engines.remove(at).1)
    }
}

/// The trees of the sessions that are not being searched now; the most recently used one is the last.
pub struct Sessions {
    state: Mutex<State>,
    most: usize,
}

#[derive(Default)]
struct State {
    tree_engines: Vec<(String, TreeEngine)>,
    /// The sessions that are being searched, and whether their tree is to be dropped after the search.
    searched: HashMap<String, bool>,
}

impl Sessions {
    /// Keeps at most `most` trees.
    pub fn new(most: usize) -> Self {
        Self { state: Mutex::default(), most }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent even if a thread has panicked: no code that may panic runs between two related
        // changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the session's tree, if there is one. After its search, the caller has to call [`Sessions::keep`] with this
    /// tree or a new one, or [`Sessions::lost`].
    pub fn take(&self, name: &str) -> Option<TreeEngine> {
        let mut state = self.lock();
        state.searched.insert(name.to_string(), false);
        state.take(name)
    }

    /// Drops the session's tree; if it is being searched, after the search.
    pub fn close(&self, name: &str) {
        let mut state = self.lock();
        // The flag belongs to this search, so that the tree of a later one is not dropped.
        if let Some(is_closed) = state.searched.get_mut(name) {
            *is_closed = true;
        }
        // The tree is dropped under the lock, so that no worker can store another one before it is gone.
        drop(state.take(name));
    }

    /// Stores the session's tree. If there are too many, the least recently used one is dropped.
    pub fn keep(&self, name: &str, tree_engine: TreeEngine) {
        let mut state = self.lock();
        let is_closed = state.searched.remove(name) == Some(true);
        let forgotten = if is_closed {
            Some(tree_engine)
        } else {
            state.tree_engines.push((name.to_string(), tree_engine));
            if state.tree_engines.len() > self.most { Some(state.tree_engines.remove(0).1) } else { None }
        };
        drop(state);
        // Dropped outside of the lock, since it waits for the engine's thread to end. Until then its memory counts as
        // that of the worker's tree.
        drop(forgotten);
    }

    /// The session's search has failed, and there is no tree to keep.
    pub fn lost(&self, name: &str) {
        self.lock().searched.remove(name);
    }

    /// Describes the trees that are not being searched: of one session, or of all.
    pub fn describe(&self, name: Option<&str>) -> Value {
        let state = self.lock();
        let named = state.tree_engines.iter().filter(|(known, _)| name.is_none_or(|name| name == known));
        named
            .map(|(name, TreeEngine { summary, .. })| {
                json!({
                    "session": name,
                    "lastId": summary.id,
                    "turnNumber": summary.turn,
                    "visits": summary.visits,
                    "treeBytes": summary.tree_bytes,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::BackendKind;
    use crate::options::Typed;

    /// Makes engines for tests.
    fn tree_engines() -> impl Fn() -> TreeEngine {
        let mut settings = Typed::default().meaning().unwrap().settings;
        settings.evaluator.backend = BackendKind::Random;
        let evaluator = Arc::new(Evaluator::new(&settings.evaluator).unwrap().0);
        let settings = Arc::new(settings);
        move || TreeEngine::new(&settings, &evaluator)
    }

    #[test]
    fn a_session_that_is_closed_twice_is_not_closed_for_the_next_search() {
        let (sessions, tree_engine) = (Sessions::new(2), tree_engines());
        assert!(sessions.take("s").is_none());
        sessions.keep("s", tree_engine());
        sessions.close("s");
        sessions.close("s");
        assert!(sessions.take("s").is_none());
        sessions.keep("s", tree_engine());
        assert!(sessions.take("s").is_some());
    }

    #[test]
    fn a_search_whose_session_is_closed_leaves_no_tree() {
        let (sessions, tree_engine) = (Sessions::new(2), tree_engines());
        let _ = sessions.take("s"); // there is none
        sessions.close("s");
        sessions.close("other");
        sessions.keep("s", tree_engine());
        sessions.keep("other", tree_engine());
        assert!(sessions.take("s").is_none() && sessions.take("other").is_some());
        // A search that fails also clears the flag that its session was closed.
        sessions.close("s");
        sessions.lost("s");
        sessions.keep("s", tree_engine());
        assert!(sessions.take("s").is_some());
    }
}
