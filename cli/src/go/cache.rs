//! A cache of evaluations, by a key of the planes that they were made from.

use super::Evaluation;
use crate::network::CacheCounts;
use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps evaluations in two generations. If the young generation takes half of the room, the old one is dropped and the
/// young one becomes old; an evaluation that is found in the old one becomes young again. So evaluations that are used
/// stay, without a list of their uses.
pub struct Cache {
    most_bytes: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    young: Generation,
    old: Generation,
    counts: CacheCounts,
}

#[derive(Default)]
struct Generation {
    bytes: u64,
    known: HashMap<u64, Arc<Evaluation>>,
}

/// Bytes that an evaluation takes, including its place in the map.
fn bytes(evaluation: &Evaluation) -> u64 {
    let numbers = evaluation.policy.capacity() + evaluation.ownership.capacity();
    (size_of::<Evaluation>() + numbers * size_of::<f32>() + 4 * size_of::<(u64, Arc<Evaluation>)>()) as u64
}

impl Cache {
    /// A cache of at most `most_bytes` bytes; with 0 it keeps nothing.
    pub fn new(most_bytes: u64) -> Self {
        Self { most_bytes, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two steps that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The evaluation under this key, if there is one.
    pub fn get(&self, key: u64) -> Option<Arc<Evaluation>> {
        let mut state = self.lock();
        let state = &mut *state;
        let found = state.young.known.get(&key).cloned().or_else(|| {
            let found = state.old.known.remove(&key)?;
            state.old.bytes -= bytes(&found);
            state.admit(key, &found, self.most_bytes);
            Some(found)
        });
        match found {
            Some(_) => state.counts.hits += 1,
            None => state.counts.misses += 1,
        }
        found
    }

    /// Keeps an evaluation.
    pub fn put(&self, key: u64, evaluation: &Arc<Evaluation>) {
        if self.most_bytes == 0 {
            return;
        }
        self.lock().admit(key, evaluation, self.most_bytes);
    }

    /// Forgets all evaluations.
    pub fn clear(&self) {
        let mut state = self.lock();
        (state.young, state.old) = Default::default();
    }

    /// What the cache did and what it holds.
    pub fn counts(&self) -> CacheCounts {
        let state = self.lock();
        CacheCounts {
            entries: (state.young.known.len() + state.old.known.len()) as u64,
            bytes: state.young.bytes + state.old.bytes,
            ..state.counts
        }
    }
}

impl State {
    /// Makes an evaluation young, in a new generation if the young one takes half of the room.
    fn admit(&mut self, key: u64, evaluation: &Arc<Evaluation>, most_bytes: u64) {
        if self.young.bytes + bytes(evaluation) > most_bytes / 2 {
            let young = mem::take(&mut self.young);
            let old = mem::replace(&mut self.old, young);
            self.counts.evictions += old.known.len() as u64;
        }
        self.young.insert(key, evaluation);
    }
}

impl Generation {
    fn insert(&mut self, key: u64, evaluation: &Arc<Evaluation>) {
        self.bytes += bytes(evaluation);
        if let Some(before) = self.known.insert(key, Arc::clone(evaluation)) {
            self.bytes -= bytes(&before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn evaluation(value: f32) -> Arc<Evaluation> {
        Arc::new(Evaluation {
            policy: vec![0.0; 10],
            win: value,
            loss: 0.0,
            no_result: 0.0,
            score_mean: 0.0,
            score_stdev: 0.0,
            lead: 0.0,
            variance_time: 0.0,
            errors: None,
            ownership: Vec::new(),
        })
    }

    quickcheck! {
        /// After any sequence of puts and gets, the cache returns the last evaluation of a key, takes no more than its
        /// room, and has the right counts.
        fn it_tells_what_it_was_told(steps: Vec<(bool, u8)>, room: u8) -> bool {
            let each = bytes(&evaluation(0.0));
            let cache = Cache::new(u64::from(room) * each);
            let mut told = HashMap::new();
            steps.iter().enumerate().all(|(at, &(puts, key))| {
                let key = u64::from(key % 16);
                if puts {
                    cache.put(key, &evaluation(at as f32));
                    told.insert(key, at as f32);
                }
                let counts = cache.counts();
                let fits = counts.bytes == counts.entries * each && counts.bytes <= u64::from(room.max(2)) * each;
                fits && (puts || cache.get(key).is_none_or(|known| told.get(&key) == Some(&known.win)))
            })
        }
    }

    #[test]
    fn what_is_found_again_takes_no_more_than_there_is_room_for() {
        let each = bytes(&evaluation(0.0));
        for room in 1..12 {
            let cache = Cache::new(room * each);
            for key in 0..200_u64 {
                cache.put(key, &evaluation(key as f32));
                cache.get(key.saturating_sub(room / 2));
                assert!(cache.counts().bytes <= room.max(2) * each, "{room} {key}");
            }
        }
    }

    #[test]
    fn what_is_used_stays() {
        let cache = Cache::new(8 * bytes(&evaluation(0.0)));
        cache.put(7, &evaluation(0.5));
        for key in 100..200 {
            cache.put(key, &evaluation(0.0));
            assert_eq!(cache.get(7).map(|known| known.win), Some(0.5), "{key}");
        }
        assert!(cache.counts().evictions > 80);
        cache.clear();
        assert_eq!((cache.get(7), cache.counts().entries), (None, 0));
    }
}
