//! Trees that live from query to query.
//!
//! Queries with the same `session` are searched one after the other in one tree. A position that is reached by moves
//! from the last one begins with the visits that it has there; `maxVisits` counts them. So a query for the same
//! position with more visits goes on where the last one ended, and with `allowMoves` all that is added goes to some
//! moves of the root.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::{Engine, Evaluator, Settings};

/// An engine and what it was told last.
pub struct Seat {
    /// An engine with a tree of its own.
    pub engine: Engine,
    /// What [`Engine::configure`] was given last.
    pub settings: Arc<Settings>,
    /// The last search left out moves below the root: its tree is of no use without them.
    pub was_restricted: bool,
    /// What the tree contains.
    pub held: Held,
}

impl Seat {
    /// An engine with an empty tree.
    pub fn new(settings: &Arc<Settings>, evaluator: &Arc<Evaluator>) -> Self {
        let engine = Engine::sharing((**settings).clone(), Arc::clone(evaluator));
        Self { engine, settings: Arc::clone(settings), was_restricted: false, held: Held::default() }
    }
}

/// What a tree contained at the end of its last search.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Whose search that was.
    pub id: String,
    /// The turn that was searched.
    pub turn: usize,
    /// Visits of the root.
    pub visits: u32,
    /// Bytes of nodes and edges.
    pub tree_bytes: usize,
}

impl State {
    fn take(&mut self, name: &str) -> Option<Seat> {
        let at = self.seats.iter().position(|(known, _)| known == name)?;
        Some(self.seats.remove(at).1)
    }
}

/// The trees of sessions that are not being searched now, the one that was used last at the end.
pub struct Sessions {
    state: Mutex<State>,
    most: usize,
}

#[derive(Default)]
struct State {
    seats: Vec<(String, Seat)>,
    /// Sessions whose tree a worker has, and whether it is to be forgotten when the search has ended.
    searched: HashMap<String, bool>,
}

impl Sessions {
    /// Keeps at most `most` sessions.
    pub fn new(most: usize) -> Self {
        Self { state: Mutex::default(), most }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two steps that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the session's tree, if there is one. Whoever searches it, or a new one, [keeps](Self::keep) it afterwards
    /// or has [lost](Self::lost) it.
    pub fn take(&self, name: &str) -> Option<Seat> {
        let mut state = self.lock();
        state.searched.insert(name.to_string(), false);
        state.take(name)
    }

    /// Forgets the session's tree; if it is being searched, when the search has ended.
    pub fn close(&self, name: &str) {
        let mut state = self.lock();
        // It is this search's tree that should be forgotten, and not a later one's.
        if let Some(is_closed) = state.searched.get_mut(name) {
            *is_closed = true;
        }
        // Under the lock: before this tree is gone no worker may leave another one in its place.
        drop(state.take(name));
    }

    /// Keeps the session's tree. The one that was not used for longest is forgotten, if there are too many.
    pub fn keep(&self, name: &str, seat: Seat) {
        let mut state = self.lock();
        let is_closed = state.searched.remove(name) == Some(true);
        let forgotten = if is_closed {
            Some(seat)
        } else {
            state.seats.push((name.to_string(), seat));
            if state.seats.len() > self.most { Some(state.seats.remove(0).1) } else { None }
        };
        drop(state);
        // Its thread ends without anybody waiting at the lock. Until then it counts as the tree that the worker may
        // have.
        drop(forgotten);
    }

    /// The session's tree will not be kept: its search has failed.
    pub fn lost(&self, name: &str) {
        self.lock().searched.remove(name);
    }

    /// What the sessions have that are not being searched: of one name, or of all.
    pub fn describe(&self, name: Option<&str>) -> Value {
        let state = self.lock();
        let named = state.seats.iter().filter(|(known, _)| name.is_none_or(|name| name == known));
        named
            .map(|(name, Seat { held, .. })| {
                json!({
                    "session": name,
                    "lastId": held.id,
                    "turnNumber": held.turn,
                    "visits": held.visits,
                    "treeBytes": held.tree_bytes,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::BackendKind;
    use crate::options::Typed;

    /// Makes seats that search nothing.
    fn seats() -> impl Fn() -> Seat {
        let mut settings = Typed::default().meaning().unwrap().settings;
        settings.evaluator.backend = BackendKind::Random;
        let evaluator = Arc::new(Evaluator::new(&settings.evaluator).unwrap().0);
        let settings = Arc::new(settings);
        move || Seat::new(&settings, &evaluator)
    }

    #[test]
    fn a_session_that_is_closed_twice_is_not_closed_for_the_next_search() {
        let (sessions, seat) = (Sessions::new(2), seats());
        assert!(sessions.take("s").is_none());
        sessions.keep("s", seat());
        sessions.close("s");
        sessions.close("s");
        assert!(sessions.take("s").is_none());
        sessions.keep("s", seat());
        assert!(sessions.take("s").is_some());
    }

    #[test]
    fn a_search_whose_session_is_closed_leaves_no_tree() {
        let (sessions, seat) = (Sessions::new(2), seats());
        let _ = sessions.take("s"); // there is none
        sessions.close("s");
        sessions.close("other");
        sessions.keep("s", seat());
        sessions.keep("other", seat());
        assert!(sessions.take("s").is_none() && sessions.take("other").is_some());
        // One that panics takes with it that it was to be closed.
        sessions.close("s");
        sessions.lost("s");
        sessions.keep("s", seat());
        assert!(sessions.take("s").is_some());
    }
}
