//! How much memory a search may take.

use crate::memory::{LEAST_TREE_MB, bytes_of_mb, most_of_cache, taken_bytes, too_low};

/// Memory that a search takes besides its tree and its notes.
const BESIDE_BYTES: usize = 2 << 20;

/// What the settings say about memory, in MiB.
#[derive(Clone, Copy, Debug)]
pub struct GivenMb {
    /// `Hash`: the most that the tree may take.
    pub hash: usize,
    /// `RamLimitMb`: the most that the program may take; 0 for no limit.
    pub limit: usize,
    /// The most that the cache of evaluations may take.
    pub cache: usize,
}

/// The memory that the settings allow, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct GtpMemory {
    hash: usize,
    limit: usize,
    /// The most that the cache may take.
    pub cache: usize,
    /// Memory of the program, including the backends that run its network.
    program: usize,
}

impl GtpMemory {
    /// The memory of a program whose network has been read and which takes `program` bytes so far.
    pub fn new(given: GivenMb, program: usize) -> Self {
        let limit = bytes_of_mb(given.limit);
        let most = if limit == 0 { usize::MAX } else { most_of_cache(limit.saturating_sub(program)) };
        Self { hash: bytes_of_mb(given.hash), limit, cache: bytes_of_mb(given.cache).min(most), program }
    }

    /// Calls `make`, whose result stays in memory, and adds the growth of the memory that is taken to the program's. What
    /// the last search has left in memory is not counted.
    pub fn count<T>(&mut self, make: impl FnOnce() -> T) -> T {
        let before = taken_bytes();
        let made = make();
        self.program += taken_bytes().saturating_sub(before);
        made
    }

    /// The most that the tree may take; the notes may take as much again.
    pub fn of_tree(&self) -> usize {
        if self.limit == 0 {
            return self.hash;
        }
        let beside = self.program + self.cache + BESIDE_BYTES;
        (self.limit.saturating_sub(beside) / 2).min(self.hash).max(bytes_of_mb(LEAST_TREE_MB))
    }

    /// The message about a limit that can't be kept; `None` if it can.
    pub fn too_low(&self) -> Option<String> {
        let least = self.program + self.cache + BESIDE_BYTES + 2 * bytes_of_mb(LEAST_TREE_MB);
        let [limit, least] = [self.limit, least].map(|bytes| bytes.div_ceil(1 << 20));
        too_low("the program and its network", limit, least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_and_notes_have_what_the_limit_leaves() {
        let of_tree = |[hash, limit, cache]: [usize; 3], program_mb: usize| {
            let memory = GtpMemory::new(GivenMb { hash, limit, cache }, bytes_of_mb(program_mb));
            [memory.of_tree() >> 20, memory.cache >> 20]
        };
        assert_eq!(of_tree([256, 0, 64], 100), [256, 64], "no limit");
        assert_eq!(of_tree([1, 0, 64], 100), [1, 64], "as small as it was asked for");
        assert_eq!(of_tree([256, 1000, 64], 100), [256, 64]);
        assert_eq!(of_tree([256, 300, 64], 100), [74, 50]);
        assert_eq!(of_tree([256, 100, 64], 200), [2, 0]);
    }

    #[test]
    fn a_limit_that_can_not_be_kept_is_named() {
        let said = |limit| GtpMemory::new(GivenMb { hash: 256, limit, cache: 0 }, 94 << 20).too_low();
        assert_eq!([said(0), said(100)], [None, None]);
        assert!(said(99).is_some_and(|line| line.contains("RamLimitMb=99: 100 MiB")));
    }
}
