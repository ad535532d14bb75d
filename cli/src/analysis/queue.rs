//! The queue between the thread that reads queries and the workers.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::turns::Accepted;
use super::waiting::{Place, WaitingTurns};

/// A query of chess or Go, with what the queue needs of it.
pub trait QueuedQuery {
    /// Need not be unique.
    fn id(&self) -> &str;

    /// The session, if there is one. Its queries are searched one after the other.
    fn session(&self) -> Option<&str>;

    /// The memory that the query uses, in bytes, with everything whose length the client chooses.
    fn bytes(&self) -> usize;
}

/// A position to search.
#[derive(Debug)]
pub struct Turn<Q> {
    /// Shared with the query's other turns.
    pub query: Arc<Q>,
    /// The number of moves played before the position.
    pub number: usize,
    /// The turn's part of the memory that the query takes, in bytes.
    bytes: usize,
}

impl<Q> Clone for Turn<Q> {
    fn clone(&self) -> Self {
        Self { query: Arc::clone(&self.query), ..*self }
    }
}

impl<Q: QueuedQuery> Turn<Q> {
    /// Whether the turn's query has this id; `None` stands for every id.
    pub fn is_of(&self, id: Option<&str>) -> bool {
        id.is_none_or(|id| id == self.query.id())
    }
}

/// A turn that is being searched.
#[derive(Default)]
pub struct Running {
    ended: AtomicBool,
    stop: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Running {
    /// Sets the function that stops the search. To be called before the search starts.
    pub fn stop_with(&self, stop: impl Fn() + Send + Sync + 'static) {
        let _ = self.stop.set(Box::new(stop));
    }

    /// True once the search should end. To be checked before the search starts, and again after it has started.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(stop) = self.stop.get() {
            stop();
        }
    }
}

/// Turns in the order of their priorities. The memory of waiting turns is bounded: adding more blocks.
pub struct Queue<Q> {
    state: Mutex<State<Q>>,
    changed: Condvar,
    most_bytes: usize,
}

struct State<Q> {
    waiting: WaitingTurns<Q>,
    bytes: usize,
    running: HashMap<u64, (Turn<Q>, Arc<Running>)>,
    next: u64,
    closed: bool,
}

impl<Q> Default for State<Q> {
    fn default() -> Self {
        Self { waiting: WaitingTurns::default(), bytes: 0, running: HashMap::new(), next: 0, closed: false }
    }
}

/// A turn that a worker has taken.
pub struct Taken<Q> {
    /// The turn.
    pub turn: Turn<Q>,
    /// For stopping the search.
    pub running: Arc<Running>,
    number: u64,
}

/// How much there is in a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueCounts {
    /// The number of waiting turns.
    pub waiting: usize,
    /// The number of turns that are being searched.
    pub running: usize,
    /// Bytes that the waiting queries use.
    pub bytes: usize,
}

/// The turns that a `terminate` ends.
pub struct Ended<Q> {
    /// The turns that were removed from the queue, in the order in which they were added.
    pub waiting: Vec<Turn<Q>>,
    /// The turns that are being searched, for [`Queue::end`].
    running: Vec<u64>,
}

impl<Q: QueuedQuery> Queue<Q> {
    /// An empty queue for `most_bytes`; the last query may exceed that.
    pub fn new(most_bytes: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), most_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, State<Q>> {
        // The state is consistent even if a thread has panicked: no code that may panic runs between two related
        // changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds all turns of a query; waits while the queue is full.
    pub fn push(&self, accepted: Accepted<Q>) {
        let Accepted { query, turns } = accepted;
        let bytes = query.bytes() / turns.len().max(1) + size_of::<(Place, Turn<Q>, (u64, Place))>();
        let query = Arc::new(query);
        let mut state = self.lock();
        while state.bytes >= self.most_bytes {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        for (number, priority) in turns {
            state.bytes += bytes;
            let place = (Reverse(priority), state.next);
            state.next += 1;
            state.waiting.insert(place, Turn { query: Arc::clone(&query), number, bytes });
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The next turn to search; waits for one. `None` once the queue is closed and empty.
    pub fn take(&self) -> Option<Taken<Q>> {
        let mut state = self.lock();
        loop {
            if let Some(((_, number), turn)) = state.waiting.take() {
                state.bytes -= turn.bytes;
                let running = Arc::new(Running::default());
                state.running.insert(number, (turn.clone(), Arc::clone(&running)));
                drop(state);
                self.changed.notify_all();
                return Some(Taken { turn, running, number });
            }
            // Turns that wait for their session are taken when the search of that session has ended.
            if state.closed && state.waiting.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// To be called when the last answer to a turn has been written.
    pub fn done(&self, taken: &Taken<Q>) {
        let mut state = self.lock();
        state.running.remove(&taken.number);
        if let Some(session) = taken.turn.query.session() {
            state.waiting.set_free(session);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Takes the waiting turns of the id, or of all ids, for which `is_meant` is true, out of the queue, and finds the
    /// running ones.
    pub fn take_out(&self, id: Option<&str>, is_meant: impl Fn(&Turn<Q>) -> bool) -> Ended<Q> {
        let mut state = self.lock();
        let places = state.waiting.of(id).filter(|(_, turn)| is_meant(turn)).map(|(place, _)| place);
        let mut places: Vec<Place> = places.collect();
        places.sort_unstable_by_key(|(_, number)| *number);
        let waiting: Vec<Turn<Q>> = places.iter().filter_map(|place| state.waiting.remove(*place)).collect();
        state.bytes -= waiting.iter().map(|turn| turn.bytes).sum::<usize>();
        let running = state.running.iter().filter(|(_, (turn, _))| turn.is_of(id) && is_meant(turn));
        let running = running.map(|(number, _)| *number).collect();
        drop(state);
        self.changed.notify_all();
        Ended { waiting, running }
    }

    /// Stops those of the found searches that still run.
    pub fn end(&self, found: &Ended<Q>) {
        // The lock prevents that a worker finishes one of them, takes another turn, and has that one stopped.
        let state = self.lock();
        let running = found.running.iter().filter_map(|number| state.running.get(number));
        running.for_each(|(_, running)| running.end());
    }

    /// How much there is in the queue.
    pub fn counts(&self) -> QueueCounts {
        let state = self.lock();
        QueueCounts { waiting: state.waiting.len(), running: state.running.len(), bytes: state.bytes }
    }

    /// Tells the workers that no more queries will be added.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::chess::{Defaults, Query, for_analysis};
    use crate::options::Typed;
    use serde_json::{Value, json};
    use std::cmp::Reverse;

    /// A query with only these fields and no moves.
    fn query_with(id: &str, fields: &Value) -> Accepted<Query> {
        let typed = Typed::default();
        let meaning = typed.meaning().expect("settings");
        let defaults = Defaults::new(typed, &meaning, Arc::new(for_analysis(&meaning.settings)));
        let mut request = json!({ "moves": [] });
        let object = request.as_object_mut().expect("an object");
        object.extend(fields.as_object().expect("fields").clone());
        defaults.read(id, object).query.expect("a query")
    }

    /// Bytes of a queue in which only this query waits.
    fn bytes_with(id: &str, fields: &Value) -> usize {
        let queue = Queue::new(1);
        queue.push(query_with(id, fields));
        queue.counts().bytes
    }

    /// Compares the queue with a list that is searched linearly.
    #[test]
    fn the_first_whose_session_is_free_is_taken() {
        // Two queries share an id.
        fn id_of(session: Option<&str>) -> &'static str {
            if session == Some("a") { "a" } else { "" }
        }
        let sessions = [None, Some("a"), Some("b")];
        let queries = sessions.map(|session| {
            let fields = session.map_or(json!({}), |session| json!({ "session": session }));
            Arc::new(query_with(id_of(session), &fields).query)
        });
        fn of(turn: &Turn<Query>) -> Option<&str> {
            turn.query.session()
        }
        fn property(queries: &[Arc<Query>; 3], steps: &[(u8, u8)]) -> bool {
            let (mut waiting, mut list) = (WaitingTurns::default(), Vec::<(Place, Option<String>)>::new());
            let mut busy: Vec<String> = Vec::new();
            for (number, (what, choice)) in (0..).zip(steps) {
                match what % 8 {
                    0..4 => {
                        let query = Arc::clone(&queries[usize::from(*choice) % 3]);
                        let place = (Reverse(i64::from(*choice / 3 % 4)), number);
                        list.push((place, query.session.clone()));
                        list.sort_unstable();
                        waiting.insert(place, Turn { query, number: 0, bytes: 0 });
                    }
                    4..6 => {
                        let free = |session: &Option<String>| session.as_ref().is_none_or(|name| !busy.contains(name));
                        let at = list.iter().position(|(_, session)| free(session));
                        let expected = at.map(|at| list.remove(at));
                        let taken = waiting.take();
                        if taken.as_ref().map(|(place, turn)| (*place, of(turn).map(str::to_string))) != expected {
                            return false;
                        }
                        busy.extend(expected.and_then(|(_, session)| session));
                    }
                    6 if !busy.is_empty() => {
                        waiting.set_free(&busy.remove(usize::from(*choice) % busy.len()));
                    }
                    7 if !list.is_empty() => {
                        let (place, session) = list.remove(usize::from(*choice) % list.len());
                        if waiting.remove(place).as_ref().map(of) != Some(session.as_deref()) {
                            return false;
                        }
                    }
                    _ => {}
                }
                let is_said = |name: &str| waiting.is_busy(name) == busy.iter().any(|busy| busy == name);
                if !is_said("a") || !is_said("b") || waiting.len() != list.len() {
                    return false;
                }
            }
            let sorted = |id| {
                let mut places: Vec<Place> = waiting.of(id).map(|(place, _)| place).collect();
                places.sort_unstable();
                places
            };
            let listed = |id: Option<&str>| -> Vec<Place> {
                let is_meant = |session: &Option<String>| id.is_none_or(|id| id_of(session.as_deref()) == id);
                list.iter().filter(|(_, session)| is_meant(session)).map(|(place, _)| *place).collect()
            };
            [None, Some(""), Some("a"), Some("b")].into_iter().all(|id| sorted(id) == listed(id))
        }
        let mut g = quickcheck::Gen::new(100);
        for _ in 0..300 {
            assert!(property(&queries, &<Vec<(u8, u8)> as quickcheck::Arbitrary>::arbitrary(&mut g)));
        }
    }

    #[test]
    fn all_that_a_client_can_make_long_counts() {
        let least = bytes_with("", &json!({}));
        let long = "x".repeat(50_000);
        assert!(bytes_with(&long, &json!({})) >= least + 50_000);
        assert!(bytes_with("", &json!({ "session": long })) >= least + 50_000);
        let many = vec!["e2e4"; 10_000];
        for field in ["avoidMoves", "allowMoves"] {
            let rules = json!({ field: [{ "player": "w", "moves": many, "untilDepth": 1 }] });
            assert!(bytes_with("", &rules) >= least + size_of_val(&oncilla_chess::unpack(0)) * many.len(), "{field}");
        }
        let rules = vec![json!({ "player": "w", "moves": [], "untilDepth": 1 }); 1000];
        assert!(bytes_with("", &json!({ "avoidMoves": rules })) >= least + 40_000);
    }
}
