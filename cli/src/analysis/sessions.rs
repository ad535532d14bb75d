//! Trees that live from query to query.
//!
//! Queries with the same `session` are searched one after the other in one tree. A position that is reached by moves from
//! the last one begins with the visits that it has there; `maxVisits` counts them. So a query for the same position with
//! more visits goes on where the last one ended, and with `allowMoves` all that is added goes to some moves of the root.

use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::{Engine, Evaluator, Settings};

/// An engine and what it was told last.
pub struct Seat {
    /// With a tree of its own.
    pub engine: Engine,
    /// What [`Engine::configure`] was given last.
    pub settings: Arc<Settings>,
    /// The last search left out moves below the root: its tree is of no use without them.
    pub was_restricted: bool,
    /// What is in the tree.
    pub held: Held,
}

impl Seat {
    /// An engine with an empty tree.
    pub fn new(settings: &Arc<Settings>, evaluator: &Arc<Evaluator>) -> Self {
        let engine = Engine::sharing((**settings).clone(), Arc::clone(evaluator));
        Self { engine, settings: Arc::clone(settings), was_restricted: false, held: Held::default() }
    }
}

/// What a tree had at the end of its last search.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// Whose search that was.
    pub id: String,
    /// Of which turn.
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
    /// Sessions to forget as soon as their search has ended.
    closing: HashSet<String>,
}

impl Sessions {
    /// Keeps at most so many.
    pub fn new(most: usize) -> Self {
        Self { state: Mutex::default(), most }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two steps that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the session's tree, if there is one.
    pub fn take(&self, name: &str) -> Option<Seat> {
        self.lock().take(name)
    }

    /// Forgets the session's tree; if the session `is_busy`, when its search has ended.
    pub fn close(&self, name: &str, is_busy: impl FnOnce() -> bool) {
        let mut state = self.lock();
        let forgotten = state.take(name);
        // Under the lock: who searches it has kept it before, or will keep it after.
        if forgotten.is_none() && is_busy() {
            state.closing.insert(name.to_string());
        }
        // Still under the lock: before this tree is gone no worker may leave another one in its place.
        drop(forgotten);
    }

    /// Keeps the session's tree. The one that was not used for longest is forgotten, if there are too many.
    pub fn keep(&self, name: &str, seat: Seat) {
        let mut state = self.lock();
        let forgotten = if state.closing.remove(name) {
            Some(seat)
        } else {
            state.seats.push((name.to_string(), seat));
            if state.seats.len() > self.most { Some(state.seats.remove(0).1) } else { None }
        };
        drop(state);
        // Its thread ends without anybody waiting at the lock. Until then it counts as the tree that the worker may have.
        drop(forgotten);
    }

    /// The session's tree will not be kept: who had it panicked.
    pub fn lost(&self, name: &str) {
        self.lock().closing.remove(name);
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
