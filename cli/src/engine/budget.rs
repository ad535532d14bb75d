//! What `RamLimitMb` leaves to tree and cache.

use super::evaluator::Evaluator;
use super::leaves;
use super::memory::{self, bytes_of_mb};
use super::settings::{CacheSize, Settings};
use oncilla_chess::{History, MoveList};

/// Bytes that queues, events and batches take beside tree and network.
const QUEUES: usize = 8 << 20;
/// A tree of less is of no use, whatever the limit.
const LEAST_TREE: usize = 1 << 20;

/// The cache gets at most one part in so many of what tree and cache may take together.
const CACHE_SHARE: usize = 4;

/// What the tree's memory is made from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TreeSize {
    pub bytes: usize,
    pub graph: bool,
}

/// How the process's memory is divided.
pub struct MemoryBudget {
    /// Bytes that the process had, apart from tree and cache, when the evaluator was weighed, or else at its start.
    beside_the_tree: usize,
    /// The evaluator was weighed: only where `RamLimitMb` asks for it, because it takes as long as some batches.
    is_weighed: bool,
    /// The last `RamLimitMb` that was held against what this evaluator takes; 0: none yet.
    judged_limit_mb: usize,
}

impl MemoryBudget {
    /// Before there is an evaluator.
    pub fn new() -> Self {
        Self { beside_the_tree: memory::resident_bytes().unwrap_or(0), is_weighed: false, judged_limit_mb: 0 }
    }

    /// Another evaluator, or one with other batches, takes other memory, and what was said of the last one is not said
    /// of this one.
    pub fn forget_evaluator(&mut self) {
        self.is_weighed = false;
        self.judged_limit_mb = 0;
    }

    /// Whether what the evaluator takes has to be known and is not.
    pub fn must_weigh(&self, settings: &Settings) -> bool {
        settings.ram_limit_mb > 0 && !self.is_weighed
    }

    fn memory_left(&self, settings: &Settings) -> usize {
        match settings.ram_limit_mb {
            0 => usize::MAX,
            limit => bytes_of_mb(limit).saturating_sub(self.beside_the_tree),
        }
    }

    /// The cache gets what `NNCacheMb` says, and at most a share of what is left.
    pub fn cache_size(&self, settings: &Settings) -> CacheSize {
        let CacheSize { entries, mb } = settings.cache;
        CacheSize { entries, mb: mb.min((self.memory_left(settings) / CACHE_SHARE) >> 20) }
    }

    /// The tree gets `Hash`, unless less is left.
    pub fn tree_size(&self, settings: &Settings) -> TreeSize {
        let cache = bytes_of_mb(self.cache_size(settings).mb);
        let most = self.memory_left(settings).saturating_sub(cache).max(LEAST_TREE);
        TreeSize { bytes: bytes_of_mb(settings.hash_mb).min(most), graph: settings.is_graph() }
    }

    /// Says where `RamLimitMb` is less than the process takes with the smallest tree; once for each limit and
    /// evaluator.
    pub fn judge_limit(&mut self, settings: &Settings) -> Option<String> {
        let (limit, least) = (settings.ram_limit_mb, (self.beside_the_tree + LEAST_TREE).div_ceil(1 << 20));
        let is_new = std::mem::replace(&mut self.judged_limit_mb, limit) != limit;
        (is_new && (1..least).contains(&limit)).then(|| {
            format!("the program and its network take more than RamLimitMb={limit}: {least} MiB with the smallest tree")
        })
    }

    /// Measures what the process takes beside tree and cache. A backend takes most of its memory with its first batch,
    /// so each thread's batch is run once; the line that a backend says meanwhile comes back.
    pub fn weigh(&mut self, evaluator: &Evaluator, settings: &Settings) -> Option<String> {
        let (position, mut moves) = (History::startpos(), MoveList::new());
        position.legal_moves(&mut moves);
        let (size, workers) = (leaves::batch_size(settings, evaluator), settings.workers);
        let threads = workers.taking_all_roles(evaluator.threads()).max(workers.eval);
        let mut batches: Vec<_> = (0..threads).map(|_| evaluator.batch()).collect();
        let mut note = None;
        for batch in &mut batches {
            for _ in 0..size {
                batch.push(&position, &moves);
            }
            // What fails here fails in the search too, which says so.
            note = evaluator.run(batch).ok().flatten().or(note);
        }
        // No search has used the tree: hardly a page of it has been touched.
        self.beside_the_tree = memory::resident_bytes().map_or(0, |bytes| bytes + QUEUES);
        self.is_weighed = true;
        note
    }
}
