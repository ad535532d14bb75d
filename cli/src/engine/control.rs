//! What the rest of the program tells a running search.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The wishes of whatever gave the `go`, and whether a search runs.
#[derive(Default)]
pub struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct State {
    searching: bool,
    stop: bool,
    /// Whether all that is left to do is to say the best move.
    is_over: bool,
    /// Whether nothing waits for the best move.
    silent: bool,
    /// When the pondered move was played.
    ponder_hit: Option<Instant>,
    /// Whether there is a best move.
    has_answer: bool,
    /// When the best move has to be said.
    due: Option<Instant>,
}

impl State {
    fn be_due(&mut self, at: Instant) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked leaves wishes that are still valid, so a poisoned lock is taken all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called when a search is about to begin.
    pub fn begin(&self) {
        *self.lock() = State { searching: true, ..State::default() };
    }

    /// Called when the search has ended.
    pub fn end(&self) {
        self.lock().searching = false;
        self.changed.notify_all();
    }

    /// Called when the best move is said next: whoever reads it may then ask for what waits for the end of a search.
    pub fn be_over(&self) {
        self.lock().is_over = true;
    }

    /// True while a search runs that has yet to find its best move.
    pub fn is_at_work(&self) -> bool {
        let state = self.lock();
        state.searching && !state.is_over
    }

    /// True while a search runs.
    pub fn is_searching(&self) -> bool {
        self.lock().searching
    }

    /// Asks the search to end.
    pub fn stop(&self) {
        self.stop_and(|_| {});
    }

    /// Asks the search to end, and to say nothing, because its best move is of no interest.
    pub fn stop_silently(&self) {
        self.stop_and(|state| state.silent = true);
    }

    fn stop_and(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        state.stop = true;
        change(&mut state);
        state.be_due(Instant::now());
        drop(state);
        self.changed.notify_all();
    }

    /// Called when the pondered move was played.
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

    /// Like [`Control::wait_until_idle`], but waits no longer than `limit`. Returns whether no search runs.
    pub fn wait_until_idle_for(&self, limit: Duration) -> bool {
        let still = self.changed.wait_timeout_while(self.lock(), limit, |state| state.searching);
        !still.unwrap_or_else(PoisonError::into_inner).0.searching
    }

    /// For the search: whether it should end.
    pub fn should_stop(&self) -> bool {
        self.lock().stop
    }

    /// For the search: sets that it has a best move, which has to be said by `due`.
    pub fn answer_by(&self, due: Option<Instant>) {
        let mut state = self.lock();
        state.has_answer = true;
        due.into_iter().for_each(|due| state.be_due(due));
    }

    /// For the search: whether it has a best move that should be said by now. Then nothing is worth waiting for.
    pub fn is_late(&self) -> bool {
        let state = self.lock();
        state.has_answer && state.due.is_some_and(|due| due <= Instant::now())
    }

    /// For the search: whether nothing waits for its best move.
    pub fn is_silent(&self) -> bool {
        self.lock().silent
    }

    /// For the search: when the pondered move was played, if it was.
    pub fn ponder_hit_at(&self) -> Option<Instant> {
        self.lock().ponder_hit
    }

    /// Returns a guard that ends the search when it is dropped, however the search's thread ends: nothing must wait
    /// forever.
    pub fn end_on_drop(self: Arc<Self>) -> impl Drop + Send {
        struct End(Arc<Control>);
        impl Drop for End {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        End(self)
    }

    /// For a search that has nothing left to do and has seen `ponder_hit`: waits until it is told more, or for a
    /// second.
    pub fn wait_for_wish(&self, ponder_hit: Option<Instant>) {
        let state = self.lock();
        if !state.stop && state.ponder_hit == ponder_hit {
            let _ = self.changed.wait_timeout(state, Duration::from_secs(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_wish_does_not_wake() {
        let control = Arc::new(Control::default());
        control.begin();
        control.ponder_hit();
        let begun = Instant::now();
        control.wait_for_wish(None);
        assert!(begun.elapsed() < Duration::from_millis(500), "the ponder hit came between the look and the wait");
        let known = control.ponder_hit_at();
        let stopper = Arc::clone(&control);
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            stopper.stop();
        });
        control.wait_for_wish(known);
        assert!(begun.elapsed() >= Duration::from_millis(20), "nothing new was said");
        thread.join().expect("the stopper does not panic");
        assert!(control.should_stop());
    }

    #[test]
    fn a_thread_that_dies_ends_its_search() {
        let control = Arc::new(Control::default());
        control.begin();
        let inside = Arc::clone(&control);
        let thread = std::thread::spawn(move || {
            let _end = inside.end_on_drop();
            std::panic::resume_unwind(Box::new("dead"));
        });
        control.wait_until_idle();
        assert!(thread.join().is_err());
    }
}
