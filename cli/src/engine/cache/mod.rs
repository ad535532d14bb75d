//! What the network said of positions, kept across the searches of a process.
//!
//! A key stands for all that the network saw and for the legal moves, so that an entry can be taken for an evaluation.
//! It holds the value and the logits of the legal moves as 32-bit floating-point numbers, nothing rounded: what comes
//! out is to the bit what went in, and a search at batch size 1 grows the same tree with the cache as without.
//!
//! The cache is parted by key into shards, each behind a lock of its own, so that threads seldom meet. The oldest entry
//! of a shard makes room for the newest. An entry of n moves takes 4·(6 + n) bytes and some 11 in an index.

mod index;
mod shard;
#[cfg(test)]
mod tests;

use oncilla_core::evaluate::Value;
use shard::Shard;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most shards. Threads are fewer by far; that two of them want the same one at the same time is an exception.
const MOST_SHARDS: usize = 64;
/// A shard of a cache with several holds some hundreds of entries.
const LEAST_SHARD_BYTES: usize = 64 << 10;
/// So that parting a bound on the entries loses little.
const LEAST_SHARD_ENTRIES: usize = 16;

/// Evaluations by key, for any number of threads.
pub struct Cache {
    /// A power of two of them, chosen by the highest bits of a key.
    shards: Box<[Padded]>,
}

/// Shards don't share a line of the processor's cache, or locking one would slow the next.
#[repr(align(64))]
struct Padded(Mutex<Shard>);

/// What a cache did and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Positions that were asked for and known.
    pub hits: u64,
    /// Positions that were asked for and not known.
    pub misses: u64,
    /// Entries that made room for newer ones.
    pub evictions: u64,
    /// Entries now.
    pub entries: u64,
    /// Bytes now: of what was allocated, the part that has been written to.
    pub bytes: u64,
}

impl Cache {
    /// An empty cache that holds at most `entries` evaluations and takes at most `bytes` bytes, all its own structures
    /// included. `None` if not a single entry has room, or the system does not grant the address space. Memory is
    /// touched only as entries come.
    pub fn new(bytes: usize, entries: usize) -> Option<Self> {
        let most = (bytes / LEAST_SHARD_BYTES).min(entries / LEAST_SHARD_ENTRIES).clamp(1, MOST_SHARDS);
        let count = 1 << most.ilog2();
        let each = (bytes.saturating_sub(size_of::<Self>()) / count).saturating_sub(size_of::<Padded>());
        let shard = |_| Some(Padded(Mutex::new(Shard::new(each, entries / count)?)));
        Some(Self { shards: (0..count).map(shard).collect::<Option<_>>()? })
    }

    /// What is known of the position with `key`: its value, and its logits in the place of `logits`, which are as many
    /// as it has legal moves.
    pub fn get(&self, key: u64, logits: &mut [f32]) -> Option<Value> {
        self.shard(key).get(key, logits)
    }

    /// Keeps the evaluation of a position. One that is known stays as it is; a position without moves is not kept: the
    /// rules say what it is worth.
    pub fn put(&self, key: u64, value: Value, logits: &[f32]) {
        self.shard(key).put(key, value, logits);
    }

    /// Forgets all entries, and what was counted.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| shard.lock().clear());
    }

    /// What it did since it was made or cleared, and what it holds.
    pub fn counts(&self) -> CacheCounts {
        let own = (size_of::<Self>() + size_of_val(&*self.shards)) as u64;
        self.shards.iter().fold(CacheCounts { bytes: own, ..CacheCounts::default() }, |sum, shard| {
            let counts = shard.lock().counts();
            CacheCounts {
                hits: sum.hits + counts.hits,
                misses: sum.misses + counts.misses,
                evictions: sum.evictions + counts.evictions,
                entries: sum.entries + counts.entries,
                bytes: sum.bytes + counts.bytes,
            }
        })
    }

    fn shard(&self, key: u64) -> MutexGuard<'_, Shard> {
        // A single shard would shift all bits out.
        let index = (key >> 32 << self.shards.len().ilog2() >> 32) as usize;
        self.shards[index].lock()
    }
}

impl Padded {
    /// Nothing in a shard can panic between two steps that belong together.
    fn lock(&self) -> MutexGuard<'_, Shard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
