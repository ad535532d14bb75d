//! Divides the memory between cache and trees if many positions are searched at the same time, for both games.

use std::fmt::{self, Display, Formatter};

use crate::analysis::request::MOST_VALUES;
use crate::console::aside;
use crate::engine::Settings;
use crate::memory::{LEAST_TREE_MB, most_of_cache, taken_bytes, too_low};
use crate::options::Analysis;

/// Memory that a search uses besides its tree: for a thread, events and a batch.
const BESIDE_TREE_MB: usize = 1;

/// Memory for the values of a parsed line. (Its text may have allocated twice its length.)
const VALUES_MB: usize = (MOST_VALUES * BYTES_OF_VALUE) >> 20;

/// Memory of one value: an object with a single field takes the most.
const BYTES_OF_VALUE: usize = 340;

/// The sizes of cache and trees.
pub struct Shares {
    pub cache_mb: usize,
    pub trees: Trees,
}

/// The requested numbers.
#[derive(Clone, Copy)]
pub struct Asked {
    /// Positions to search at the same time.
    pub parallel: usize,
    /// Sessions whose trees are to be kept.
    pub sessions: usize,
    /// Memory of a search, in trees: 1 for its tree, and more if it keeps data of a similar size besides the tree.
    pub parts: usize,
}

impl Shares {
    /// `Hash` is the size of all trees together. Trees, cache and the memory used besides them fit into what
    /// `RamLimitMb` leaves once the network is loaded. Prints a message if there is room for fewer trees than
    /// requested.
    pub fn of(settings: &Settings, analysis: &Analysis, asked: Asked) -> Self {
        let Asked { parallel, sessions, parts } = asked;
        let left = match settings.ram_limit_mb {
            0 => usize::MAX,
            limit => {
                let resident = taken_bytes() >> 20;
                let beside = resident + analysis.queue_mb + 2 * analysis.line_mb + VALUES_MB;
                let least = beside + parts * (BESIDE_TREE_MB + LEAST_TREE_MB);
                too_low(BESIDE_TREES, limit, least).iter().for_each(|note| aside(note));
                limit.saturating_sub(beside)
            }
        };
        let cache_mb = settings.cache.mb.min(most_of_cache(left));
        let trees = Trees::in_memory(settings.hash_mb, left.saturating_sub(cache_mb) / parts, parallel, sessions);
        if (trees.parallel, trees.sessions) != (parallel, sessions) {
            aside(&format!("Hash and RamLimitMb leave too little for {} trees: {trees}", parallel + sessions));
        }
        Self { cache_mb, trees }
    }
}

/// What takes memory besides trees and cache.
const BESIDE_TREES: &str = "the program, its network and the queries that may wait (--queue-mb, --line-mb)";

/// The number of trees and their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trees {
    /// Positions that are searched at the same time.
    pub parallel: usize,
    /// Sessions whose trees are kept.
    pub sessions: usize,
    /// Size of each tree in MiB.
    pub each_mb: usize,
}

impl Trees {
    /// As many trees as requested, or as many as fit. If they don't fit, fewer sessions are kept, and if that is not
    /// enough, fewer positions are searched at a time; sessions get at most half of the room. The trees together have
    /// `hash` MiB, and `left` MiB with the memory used besides them.
    fn in_memory(hash: usize, left: usize, parallel: usize, sessions: usize) -> Self {
        let room = (hash / LEAST_TREE_MB).min(left / (LEAST_TREE_MB + BESIDE_TREE_MB)).max(1);
        let parallel = parallel.min(room - sessions.min(room / 2));
        let sessions = sessions.min(room - parallel);
        let count = parallel + sessions;
        let each = (hash / count).min((left / count).saturating_sub(BESIDE_TREE_MB));
        Self { parallel, sessions, each_mb: each.max(LEAST_TREE_MB) }
    }
}

impl Display for Trees {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { parallel, sessions, each_mb } = self;
        write!(f, "{parallel} at a time, ")?;
        if *sessions > 0 {
            write!(f, "{sessions} of sessions, ")?;
        }
        write!(f, "{each_mb} MiB each")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_trees_than_fit() {
        const ALL: usize = usize::MAX;
        for (memory, asked, expected) in [
            ([256, ALL], [8, 4], [8, 4, 21]),
            ([24, ALL], [8, 4], [8, 4, 2]),
            ([16, ALL], [8, 4], [4, 4, 2]),
            ([16, ALL], [2, 1024], [2, 6, 2]),
            ([40, ALL], [256, 4], [16, 4, 2]),
            ([4, ALL], [1, 4], [1, 1, 2]),
            ([256, 120], [8, 4], [8, 4, 9]),
            ([256, 24], [8, 4], [4, 4, 2]),
            ([256, 0], [8, 4], [1, 0, 2]),
        ] {
            let Trees { parallel, sessions, each_mb } = Trees::in_memory(memory[0], memory[1], asked[0], asked[1]);
            assert_eq!([parallel, sessions, each_mb], expected, "{memory:?} MiB for {asked:?}");
        }
    }
}
