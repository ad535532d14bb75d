//! A cache of evaluations, by a key of the planes that they were made from.

use super::Evaluation;
use crate::network::CacheCounts;
use hashbrown::HashMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keeps evaluations in two generations. If the young generation takes half of the room, the old one is forgotten and
/// the young one becomes old; an evaluation that is found in the old one becomes young again. So evaluations that are
/// used stay, without a list of their uses.
pub struct Cache(Mutex<State>);

#[derive(Default)]
struct State {
    most_bytes: u64,
    young: Generation,
    old: Generation,
    counts: CacheCounts,
}

/// Evaluations one after the other in one piece of memory. As pieces of their own they would lie among what others
/// allocate, and a system's allocator would not return their memory when [the cache is cleared](Cache::clear).
#[derive(Default)]
struct Generation {
    /// What the evaluations take that are known, without the places of those that were replaced or became young again:
    /// these are free only when the generation is forgotten.
    bytes: u64,
    known: HashMap<u64, Kept>,
    points: Vec<f32>,
}

/// An evaluation whose policy and ownership lie in a generation's memory.
struct Kept {
    start: usize,
    policy_len: usize,
    ownership_len: usize,
    /// The evaluation without them.
    rest: Evaluation,
}

/// Bytes of so many evaluations with so many points together. A map that has just grown has room for more than twice
/// what it holds.
fn bytes(evaluations: usize, points: usize) -> u64 {
    (points * size_of::<f32>() + 3 * evaluations * size_of::<(u64, Kept)>()) as u64
}

impl Kept {
    /// Bytes that the evaluation takes, including its place in the map.
    fn bytes(&self) -> u64 {
        bytes(1, self.policy_len + self.ownership_len)
    }

    fn new(start: usize, of: &Evaluation) -> Self {
        let rest = Evaluation { policy: Vec::new(), ownership: Vec::new(), ..*of };
        Self { start, policy_len: of.policy.len(), ownership_len: of.ownership.len(), rest }
    }
}

impl Cache {
    /// A cache of at most `most_bytes` bytes; with 0 it keeps nothing.
    pub fn new(most_bytes: u64) -> Self {
        Self(Mutex::new(State { most_bytes, ..State::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two steps that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The evaluation under this key, if there is one.
    pub fn get(&self, key: u64) -> Option<Evaluation> {
        let mut state = self.lock();
        let state = &mut *state;
        let found = state.young.get(key).or_else(|| {
            let found = state.old.take(key)?;
            state.admit(key, &found);
            Some(found)
        });
        match found {
            Some(_) => state.counts.hits += 1,
            None => state.counts.misses += 1,
        }
        found
    }

    /// Keeps an evaluation.
    pub fn put(&self, key: u64, evaluation: &Evaluation) {
        let mut state = self.lock();
        if state.most_bytes > 0 {
            state.admit(key, evaluation);
        }
    }

    /// Forgets all evaluations, and keeps at most `most_bytes` bytes from now on.
    pub fn set_room(&self, most_bytes: u64) {
        self.clear();
        self.lock().most_bytes = most_bytes;
    }

    /// Forgets all evaluations, and gives their memory back.
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
    fn admit(&mut self, key: u64, evaluation: &Evaluation) {
        let room = self.most_bytes / 2;
        if self.young.taken() + bytes(1, evaluation.policy.len() + evaluation.ownership.len()) > room {
            mem::swap(&mut self.young, &mut self.old);
            self.counts.evictions += self.young.known.len() as u64;
            self.young.forget();
        }
        self.young.insert(key, evaluation, room);
    }
}

impl Generation {
    /// Bytes of all that was inserted, also of what was replaced since.
    fn taken(&self) -> u64 {
        bytes(self.known.len(), self.points.len())
    }

    fn get(&self, key: u64) -> Option<Evaluation> {
        Some(self.read(self.known.get(&key)?))
    }

    /// Returns an evaluation and forgets it.
    fn take(&mut self, key: u64) -> Option<Evaluation> {
        let kept = self.known.remove(&key)?;
        self.bytes -= kept.bytes();
        Some(self.read(&kept))
    }

    fn read(&self, kept: &Kept) -> Evaluation {
        let (policy, others) = self.points[kept.start..].split_at(kept.policy_len);
        Evaluation { policy: policy.to_vec(), ownership: others[..kept.ownership_len].to_vec(), ..kept.rest }
    }

    /// Inserts an evaluation, in memory of `room` bytes. If the system does not grant that at once, the memory grows
    /// with what it holds; if it grants no more, the evaluation is not kept.
    fn insert(&mut self, key: u64, evaluation: &Evaluation, room: u64) {
        let Evaluation { policy, ownership, .. } = evaluation;
        if self.points.capacity() == 0 {
            // What comes of it is seen below.
            let _ = self.points.try_reserve_exact(room as usize / size_of::<f32>());
        }
        if self.points.try_reserve(policy.len() + ownership.len()).is_err() {
            return;
        }
        let kept = Kept::new(self.points.len(), evaluation);
        self.points.extend_from_slice(policy);
        self.points.extend_from_slice(ownership);
        self.bytes += kept.bytes();
        if let Some(before) = self.known.insert(key, kept) {
            self.bytes -= before.bytes();
        }
    }

    /// Forgets everything, but keeps the memory.
    fn forget(&mut self) {
        self.known.clear();
        self.points.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;
    use std::collections::HashMap;

    fn evaluation(value: f32) -> Evaluation {
        Evaluation {
            policy: vec![0.0; 10],
            win: value,
            loss: 0.0,
            no_result: 0.0,
            score_mean: 0.0,
            score_stdev: 0.0,
            lead: 0.0,
            short_term: None,
            ownership: Vec::new(),
        }
    }

    quickcheck! {
        /// After any sequence of puts and gets, the cache returns the last evaluation of a key, takes no more than its
        /// room, and has the right counts.
        fn it_tells_what_it_was_told(steps: Vec<(bool, u8)>, room: u8) -> bool {
            let each = Kept::new(0, &evaluation(0.0)).bytes();
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
        let each = Kept::new(0, &evaluation(0.0)).bytes();
        for room in 1..12 {
            let cache = Cache::new(room * each);
            for key in 0..200_u64 {
                cache.put(key, &evaluation(key as f32));
                cache.get(key.saturating_sub(room / 2));
                assert!(cache.counts().bytes <= room.max(2) * each, "{room} {key}");
            }
        }
    }

    /// As if several threads asked for one position at a time.
    #[test]
    fn what_is_put_again_and_again_takes_no_more_than_there_is_room_for() {
        let room = 100 * Kept::new(0, &evaluation(0.0)).bytes();
        let cache = Cache::new(room);
        for at in 0..10_000_u16 {
            cache.put(7, &evaluation(at.into()));
            assert_eq!(cache.get(7).map(|known| known.win), Some(at.into()));
        }
        let state = cache.lock();
        let capacity = state.young.points.capacity() + state.old.points.capacity();
        assert!((capacity * size_of::<f32>()) as u64 <= room, "{capacity}");
        drop(state);
        cache.clear();
        let state = cache.lock();
        assert_eq!(state.young.points.capacity() + state.old.points.capacity(), 0);
    }

    #[test]
    fn what_is_used_stays() {
        let cache = Cache::new(8 * Kept::new(0, &evaluation(0.0)).bytes());
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
