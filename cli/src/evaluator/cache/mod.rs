//! A cache of the network's evaluations of positions, kept across the searches of a process.
//!
//! A key stands for all that the network saw and for the legal moves, so that an entry can replace an evaluation. An
//! entry holds the value and the logits of the legal moves as 32-bit floating-point numbers. Nothing is rounded: what
//! is read is to the bit what was stored, and a search at batch size 1 grows the same tree with the cache as without.
//!
//! The cache is divided by key into shards, each behind a lock of its own, so that threads seldom meet. The oldest
//! entry of a shard makes room for the newest. An entry of n moves takes 4·(6 + n) bytes, and some 11 bytes in an
//! index.

mod index;
mod shard;
#[cfg(test)]
mod tests;

use crate::network::CacheCounts;
use oncilla_core::evaluate::Value;
use shard::Shard;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest number of shards. There are far fewer threads, so two of them seldom want the same shard at the same
/// time.
const MOST_SHARDS: usize = 64;
/// If a cache has several shards, each has at least this many bytes: some hundreds of entries.
const LEAST_SHARD_BYTES: usize = 64 << 10;
/// Each of several shards has at least this many entries, so that dividing a bound on the entries loses little.
const LEAST_SHARD_ENTRIES: usize = 16;

/// How much the evaluation cache keeps. Both bounds count; if one of them is 0 there is no cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// `NNCacheSize`: evaluations.
    pub entries: usize,
    /// `NNCacheMb`: MiB.
    pub mb: usize,
}

/// Evaluations by key, shared by any number of threads.
pub struct Cache {
    /// The number of shards is a power of two; the highest bits of a key choose one.
    shards: Box<[Padded]>,
}

/// Shards don't share a line of the processor's cache, because locking one would slow down the next.
#[repr(align(64))]
struct Padded(Mutex<Shard>);

impl Cache {
    /// An empty cache that holds at most `entries` evaluations and takes at most `bytes` bytes, including all its own
    /// structures. `None` if there is no room for a single entry, or if the system does not grant the address space.
    /// Memory is touched only as entries are added.
    pub fn new(bytes: usize, entries: usize) -> Option<Self> {
        let most = (bytes / LEAST_SHARD_BYTES).min(entries / LEAST_SHARD_ENTRIES).clamp(1, MOST_SHARDS);
        let count = 1 << most.ilog2();
        let each = (bytes.saturating_sub(size_of::<Self>()) / count).saturating_sub(size_of::<Padded>());
        let shard = |_| Some(Padded(Mutex::new(Shard::new(each, entries / count)?)));
        Some(Self { shards: (0..count).map(shard).collect::<Option<_>>()? })
    }

    /// Looks up the position with `key`: returns its value and writes its logits to `logits`, which has one element for
    /// each of its legal moves.
    pub fn get(&self, key: u64, logits: &mut [f32]) -> Option<Value> {
        self.shard(key).get(key, logits)
    }

    /// Keeps the evaluation of a position. An entry that is there already stays as it is. A position without moves is
    /// not kept: the rules say what it is worth.
    pub fn put(&self, key: u64, value: Value, logits: &[f32]) {
        self.shard(key).put(key, value, logits);
    }

    /// Forgets all entries and resets the counts.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| shard.lock().clear());
    }

    /// What the cache did since it was made or cleared, and what it holds.
    pub fn counts(&self) -> CacheCounts {
        let own = (size_of::<Self>() + size_of_val(&*self.shards)) as u64;
        let counts = self.shards.iter().map(|shard| shard.lock().counts());
        counts.fold(CacheCounts { bytes: own, ..CacheCounts::default() }, CacheCounts::and)
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Shard> {
        // A single shift to the right would be one by 64 bits if there is one shard, which overflows.
        let index = (key >> 32 << self.shards.len().ilog2() >> 32) as usize;
        self.shards[index].lock()
    }
}

impl Padded {
    /// A lock that is poisoned is taken all the same: nothing in a shard can panic between two steps that belong
    /// together.
    fn lock(&self) -> MutexGuard<'_, Shard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
