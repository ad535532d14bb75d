//! What an evaluator and its cache have done, whichever game it is for.

/// What an evaluator has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EvaluatorCounts {
    /// Positions that were evaluated, without those that the cache knew.
    pub evaluations: u64,
    /// Batches in which they were evaluated.
    pub batches: u64,
    /// Seconds since the evaluator was made.
    pub seconds: f64,
}

impl EvaluatorCounts {
    /// The counts of two evaluators together, in the time of the one that was made first.
    pub fn and(self, other: Self) -> Self {
        Self {
            evaluations: self.evaluations + other.evaluations,
            batches: self.batches + other.batches,
            seconds: self.seconds.max(other.seconds),
        }
    }
}

/// What a cache did and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Positions that were asked for and found.
    pub hits: u64,
    /// Positions that were asked for and not found.
    pub misses: u64,
    /// Entries that were evicted for newer ones.
    pub evictions: u64,
    /// Entries that the cache holds now.
    pub entries: u64,
    /// Bytes that the cache takes now: the part of its allocations that has been written to.
    pub bytes: u64,
}

impl CacheCounts {
    /// The counts of two caches together.
    pub fn and(self, other: Self) -> Self {
        Self {
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            evictions: self.evictions + other.evictions,
            entries: self.entries + other.entries,
            bytes: self.bytes + other.bytes,
        }
    }
}
