//! What the rest of the program tells a running search.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The wishes of whoever gave the `go`, and whether a search runs.
#[derive(Default)]
pub struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct State {
    searching: bool,
    stop: bool,
    /// Nobody waits for the best move.
    silent: bool,
    /// When the pondered move was played.
    ponder_hit: Option<Instant>,
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked leaves wishes that are still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A search is about to begin.
    pub fn begin(&self) {
        *self.lock() = State { searching: true, ..State::default() };
    }

    /// The search has ended.
    pub fn end(&self) {
        self.lock().searching = false;
        self.changed.notify_all();
    }

    /// True while a search runs.
    pub fn is_searching(&self) -> bool {
        self.lock().searching
    }

    /// The search should end; `silent` where its best move is of no interest.
    pub fn stop(&self, silent: bool) {
        let mut state = self.lock();
        state.stop = true;
        state.silent |= silent;
        drop(state);
        self.changed.notify_all();
    }

    /// The pondered move was played.
    pub fn ponder_hit(&self) {
        self.lock().ponder_hit.get_or_insert_with(Instant::now);
        self.changed.notify_all();
    }

    /// Blocks until no search runs.
    pub fn wait_until_idle(&self) {
        let mut state = self.lock();
        while state.searching {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// For the search: should it end?
    pub fn should_stop(&self) -> bool {
        self.lock().stop
    }

    /// For the search: does nobody wait for its best move?
    pub fn is_silent(&self) -> bool {
        self.lock().silent
    }

    /// For the search: when the pondered move was played, if it was.
    pub fn ponder_hit_at(&self) -> Option<Instant> {
        self.lock().ponder_hit
    }

    /// For a search that has nothing left to do: waits until it is told something, or for a second.
    pub fn wait_for_wish(&self) {
        let state = self.lock();
        if !state.stop && state.ponder_hit.is_none() {
            let _ = self.changed.wait_timeout(state, Duration::from_secs(1));
        }
    }
}
