//! How much memory `RamLimitMb` leaves to the tree and the cache.

use super::leaves;
use super::settings::Settings;
use crate::evaluator::{Batch, CacheSize, Evaluator};
use crate::memory::{self, LEAST_TREE_MB, Layout, bytes_of_mb, most_of_cache};
use oncilla_chess::{History, MoveList};
use std::time::{Duration, Instant};

/// Bytes that queues, events and batches take, besides the tree and the network.
const QUEUES: usize = 8 << 20;

/// After this time, the weighing of an evaluator begins no further batch: a GUI waits for `readyok`. The first batch does
/// not count, with which kernels may be compiled.
const LONG: Duration = Duration::from_millis(500);

/// What determines the tree's memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TreeSize {
    pub bytes: usize,
    pub layout: Layout,
}

/// How the process's memory is divided.
pub struct MemoryBudget {
    /// Bytes that the process had, without tree and cache, when the evaluator was weighed, or else at its start.
    beside_the_tree: usize,
    /// Whether the evaluator was weighed. That happens only if `RamLimitMb` asks for it, because it takes as long as
    /// some batches.
    is_weighed: bool,
    /// The last `RamLimitMb` that was compared with what this evaluator takes; 0 if none was.
    judged_limit_mb: usize,
}

impl MemoryBudget {
    /// The budget before there is an evaluator.
    pub fn new() -> Self {
        Self { beside_the_tree: memory::taken_bytes(), is_weighed: false, judged_limit_mb: 0 }
    }

    /// Called for another evaluator, or one with other batches: it takes other memory, and warnings about the last one
    /// do not count as given for this one.
    pub fn forget_evaluator(&mut self) {
        self.is_weighed = false;
        self.judged_limit_mb = 0;
    }

    /// Whether the memory that the evaluator takes has to be known and is not.
    pub fn must_weigh(&self, settings: &Settings) -> bool {
        settings.ram_limit_mb > 0 && !self.is_weighed
    }

    fn memory_left(&self, settings: &Settings) -> usize {
        match settings.ram_limit_mb {
            0 => usize::MAX,
            limit => bytes_of_mb(limit).saturating_sub(self.beside_the_tree),
        }
    }

    /// The cache gets what `NNCacheMb` says, but at most a share of the memory that is left.
    pub fn cache_size(&self, settings: &Settings) -> CacheSize {
        let CacheSize { entries, mb } = settings.cache;
        CacheSize { entries, mb: mb.min(most_of_cache(self.memory_left(settings)) >> 20) }
    }

    /// The tree gets what `Hash` says, unless less is left.
    pub fn tree_size(&self, settings: &Settings) -> TreeSize {
        let cache = bytes_of_mb(self.cache_size(settings).mb);
        let most = self.memory_left(settings).saturating_sub(cache).max(bytes_of_mb(LEAST_TREE_MB));
        TreeSize { bytes: bytes_of_mb(settings.hash_mb).min(most), layout: settings.layout() }
    }

    /// Returns a warning if `RamLimitMb` is less than the process takes with the smallest tree, once for each limit and
    /// evaluator.
    pub fn judge_limit(&mut self, settings: &Settings) -> Option<String> {
        let (limit, least) = (settings.ram_limit_mb, self.beside_the_tree.div_ceil(1 << 20) + LEAST_TREE_MB);
        let is_new = std::mem::replace(&mut self.judged_limit_mb, limit) != limit;
        memory::too_low("the program and its network", limit, least).filter(|_| is_new)
    }

    /// Measures what the process takes besides tree and cache. A backend takes most of its memory with its first batch,
    /// so each thread's batch is run once; if that takes long, those that are left count as much as the others but it.
    /// Returns the lines that a backend says meanwhile.
    pub fn weigh(&mut self, evaluator: &Evaluator, settings: &Settings) -> Vec<String> {
        let (position, mut moves) = (History::startpos(), MoveList::new());
        position.legal_moves(&mut moves);
        let (size, workers) = (leaves::batch_size(settings, evaluator), settings.workers);
        let threads = workers.taking_all_roles(evaluator.threads()).max(workers.eval);
        let mut batches: Vec<_> = (0..threads).map(|_| evaluator.batch()).collect();
        let mut notes = Vec::new();
        let mut run = |batch: &mut Batch| {
            for _ in 0..size {
                batch.push(&position, &moves);
            }
            // What fails here also fails in the search, which reports it.
            notes.extend(evaluator.run(batch).ok().flatten());
        };
        let mut batches = batches.iter_mut();
        // The first batch shows nothing of the others, because the backend's own memory is in it.
        batches.next().into_iter().for_each(&mut run);
        let (begun, with_first) = (Instant::now(), memory::taken_bytes());
        let mut others = 0;
        while (others == 0 || begun.elapsed() <= LONG)
            && let Some(batch) = batches.next()
        {
            run(batch);
            others += 1;
        }
        // No search has used the tree yet: hardly a page of it has been touched.
        let taken = memory::taken_bytes();
        let not_run = taken.saturating_sub(with_first).saturating_mul(batches.len()) / others.max(1);
        self.beside_the_tree = taken.saturating_add(not_run).saturating_add(QUEUES);
        self.is_weighed = true;
        notes
    }
}
