//! The waiting turns, and which of them can be searched now: a session is searched by one worker at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

use super::queue::{QueuedQuery, Turn};

/// The order of turns: highest priority first, and by arrival among equal priorities.
pub type Place = (Reverse<i64>, u64);

const FIRST: Place = (Reverse(i64::MAX), u64::MIN);
const LAST: Place = (Reverse(i64::MIN), u64::MAX);

/// Waiting turns by place. The first one that can be searched is found at once, even if many others wait for their
/// session.
pub struct WaitingTurns<Q> {
    turns: BTreeMap<Place, Turn<Q>>,
    /// The turns without a session, and the first turn of each session that is not being searched.
    ready: BTreeSet<Place>,
    /// The sessions that are being searched or have waiting turns.
    sessions: HashMap<String, Session>,
    /// The places of the turns by the hash of their id, for `terminate`.
    ids: BTreeSet<(u64, Place)>,
    hasher: RandomState,
}

impl<Q> Default for WaitingTurns<Q> {
    fn default() -> Self {
        Self {
            turns: BTreeMap::new(),
            ready: BTreeSet::new(),
            sessions: HashMap::new(),
            ids: BTreeSet::new(),
            hasher: RandomState::new(),
        }
    }
}

#[derive(Default)]
struct Session {
    is_busy: bool,
    /// The places of the session's waiting turns.
    places: BTreeSet<Place>,
}

impl Session {
    /// The first turn of the session, if the session is not being searched.
    fn ready(&self) -> Option<&Place> {
        self.places.first().filter(|_| !self.is_busy)
    }
}

impl<Q: QueuedQuery> WaitingTurns<Q> {
    /// Adds a turn at an unused place.
    pub fn insert(&mut self, place: Place, turn: Turn<Q>) {
        match turn.query.session() {
            Some(session) => self.change(session, |session| {
                session.places.insert(place);
            }),
            None => {
                self.ready.insert(place);
            }
        }
        self.ids.insert((self.hasher.hash_one(turn.query.id()), place));
        self.turns.insert(place, turn);
    }

    /// Takes the first turn that can be searched, and marks its session as busy.
    pub fn take(&mut self) -> Option<(Place, Turn<Q>)> {
        let place = *self.ready.first()?;
        let turn = self.remove(place)?;
        if let Some(session) = turn.query.session() {
            self.change(session, |session| session.is_busy = true);
        }
        Some((place, turn))
    }

    /// Removes a turn, wherever it is in the queue.
    pub fn remove(&mut self, place: Place) -> Option<Turn<Q>> {
        let turn = self.turns.remove(&place)?;
        self.ids.remove(&(self.hasher.hash_one(turn.query.id()), place));
        match turn.query.session() {
            Some(session) => self.change(session, |session| {
                session.places.remove(&place);
            }),
            None => {
                self.ready.remove(&place);
            }
        }
        Some(turn)
    }

    /// Marks a session as no longer busy, after the last answer of its turn.
    pub fn set_free(&mut self, session: &str) {
        self.change(session, |session| session.is_busy = false);
    }

    /// Whether the session is being searched. For tests of `ready`.
    #[cfg(test)]
    pub fn is_busy(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|session| session.is_busy)
    }

    /// Changes a session, and updates `ready`.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Session)) {
        if !self.sessions.contains_key(name) {
            self.sessions.insert(name.to_string(), Session::default());
        }
        let Some(session) = self.sessions.get_mut(name) else { return };
        if let Some(place) = session.ready() {
            self.ready.remove(place);
        }
        change(session);
        if let Some(place) = session.ready() {
            self.ready.insert(*place);
        } else if !session.is_busy {
            self.sessions.remove(name);
        }
    }

    /// The waiting turns of an id, or all, with their places.
    pub fn of(&self, id: Option<&str>) -> impl Iterator<Item = (Place, &Turn<Q>)> {
        let hash = id.map(|id| self.hasher.hash_one(id));
        let (first, last) = (hash.unwrap_or(u64::MIN), hash.unwrap_or(u64::MAX));
        let places = self.ids.range((first, FIRST)..=(last, LAST)).map(|(_, place)| *place);
        let turns = places.filter_map(|place| Some((place, self.turns.get(&place)?)));
        turns.filter(move |(_, turn)| turn.is_of(id))
    }

    pub fn len(&self) -> usize {
        self.turns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }
}
