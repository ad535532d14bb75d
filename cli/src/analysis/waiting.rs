//! The turns that wait, and which of them can be searched: those of a session one after the other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::queue::{QueuedQuery, Turn};

/// Highest priority first; among equals the first that came.
pub type Place = (Reverse<i64>, u64);

/// Turns by their places. What is first is known at once, however many wait for their session.
pub struct WaitingTurns<Q> {
    turns: BTreeMap<Place, Turn<Q>>,
    /// Turns without a session, and the first of each session that is free.
    ready: BTreeSet<Place>,
    /// The sessions that are being searched, or for which turns wait.
    sessions: HashMap<String, Session>,
}

impl<Q> Default for WaitingTurns<Q> {
    fn default() -> Self {
        Self { turns: BTreeMap::new(), ready: BTreeSet::new(), sessions: HashMap::new() }
    }
}

#[derive(Default)]
struct Session {
    is_busy: bool,
    /// The places of its turns that wait.
    places: BTreeSet<Place>,
}

impl Session {
    /// The place of the session's turn that is ready.
    fn ready(&self) -> Option<&Place> {
        self.places.first().filter(|_| !self.is_busy)
    }
}

impl<Q: QueuedQuery> WaitingTurns<Q> {
    /// Adds a turn at a place that is free.
    pub fn insert(&mut self, place: Place, turn: Turn<Q>) {
        match turn.query.session() {
            Some(session) => self.change(session, |session| {
                session.places.insert(place);
            }),
            None => {
                self.ready.insert(place);
            }
        }
        self.turns.insert(place, turn);
    }

    /// Takes the first turn that can be searched, whose session is busy from then on.
    pub fn take(&mut self) -> Option<(Place, Turn<Q>)> {
        let place = *self.ready.first()?;
        let turn = self.remove(place)?;
        if let Some(session) = turn.query.session() {
            self.change(session, |session| session.is_busy = true);
        }
        Some((place, turn))
    }

    /// Takes a turn away that will not be searched.
    pub fn remove(&mut self, place: Place) -> Option<Turn<Q>> {
        let turn = self.turns.remove(&place)?;
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

    /// The turn of a session has got its last answer.
    pub fn set_free(&mut self, session: &str) {
        self.change(session, |session| session.is_busy = false);
    }

    /// Whether the session is being searched: what is ready is held against it.
    #[cfg(test)]
    pub fn is_busy(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|session| session.is_busy)
    }

    /// Changes a session, and what is ready with it.
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

    /// All waiting turns, with their places.
    pub fn iter(&self) -> impl Iterator<Item = (&Place, &Turn<Q>)> {
        self.turns.iter()
    }

    pub fn len(&self) -> usize {
        self.turns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }
}
