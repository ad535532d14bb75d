//! What searches many positions at once: the queue, the workers, and what these share.

pub(super) mod threads;

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use super::actions::Actions;
use super::crew::Crew;
use super::output::Output;
use super::query::{self, Defaults, Query};
use super::request::{MOST_VALUES, Object};
use super::sessions::Sessions;
use super::worker::Worker;
use crate::engine::{CacheSize, Evaluator, Settings, resident_bytes};
use crate::options::{Meaning, Typed};
use crate::uci::console::aside;

/// The cache gets at most one part in so many of what trees and cache may take together.
const CACHE_SHARE: usize = 4;

/// A tree of less is of no use, whatever the limit, and the smallest that is made takes more than half of it.
const LEAST_TREE_MB: usize = 2;

/// What its search takes beside it: a thread, events, a batch.
const BESIDE_TREE_MB: usize = 1;

/// What a line becomes. Its text may lie in room for twice as much.
const VALUES_MB: usize = (MOST_VALUES * BYTES_OF_VALUE) >> 20;

/// An object of one field is the largest for what it says.
const BYTES_OF_VALUE: usize = 340;

/// More trees at a time than this would be small ones.
const MOST_AT_A_TIME: usize = 256;

/// Takes queries; what comes of them goes to its [`Output`].
pub struct Pool {
    defaults: Defaults,
    crew: Crew<Query>,
    evaluator: Arc<Evaluator>,
    sessions: Arc<Sessions>,
}

impl Pool {
    /// Loads the network and starts the workers.
    ///
    /// # Errors
    /// One line: no network, no device, no thread.
    pub fn start(typed: Typed, meaning: &Meaning, output: Output) -> Result<Self, String> {
        let settings = query::for_analysis(&meaning.settings);
        let (evaluator, notes) = evaluator(&settings, meaning)?;
        notes.iter().for_each(|note| aside(note));
        Self::with(evaluator, settings, typed, meaning, output)
    }

    /// Starts the workers for an evaluator that is there.
    ///
    /// # Errors
    /// One line: no thread.
    pub(super) fn with(
        evaluator: Evaluator,
        settings: Settings,
        typed: Typed,
        meaning: &Meaning,
        output: Output,
    ) -> Result<Self, String> {
        let (evaluator, Trees { parallel, sessions, .. }, settings) = share_out(evaluator, settings, meaning);
        let sessions = Arc::new(Sessions::new(sessions));
        let crew = Crew::start(output, meaning.analysis.queue_mb, parallel, |queue, output| {
            let (queue, output) = (Arc::clone(queue), Arc::clone(output));
            let (evaluator, sessions, settings) =
                (Arc::clone(&evaluator), Arc::clone(&sessions), Arc::clone(&settings));
            let worker = Worker::new(queue, output, evaluator, sessions, settings);
            move || worker.run()
        })?;
        let defaults = Defaults::new(typed, meaning, settings);
        Ok(Self { defaults, crew, evaluator, sessions })
    }

    /// What evaluates, in one line.
    pub fn describe(&self) -> String {
        self.evaluator.describe()
    }

    /// Positions that are searched at the same time.
    pub fn parallel(&self) -> usize {
        self.crew.count()
    }

    /// Where answers go.
    pub fn output(&self) -> &Output {
        &self.crew.output
    }

    /// What can be asked for beside analysis.
    pub fn actions(&self) -> Actions<'_, Query> {
        Actions {
            queue: &self.crew.queue,
            output: &self.crew.output,
            evaluator: &*self.evaluator,
            sessions: Some(&self.sessions),
            parallel: self.crew.count(),
        }
    }

    /// Queues the positions of a query, or says what is wrong with it. Waits while the queue is full.
    pub fn ask(&self, id: &str, request: &Object) {
        self.crew.take(id, self.defaults.read(id, request));
    }

    /// Ends what waits and what is being searched, without an answer.
    pub fn abandon(&self) {
        self.crew.abandon();
    }

    /// Waits until everything that was asked for is answered, and the answers are read.
    pub fn finish(self) {
        self.crew.finish();
    }
}

/// Loads the network; besides, lines for a person.
fn evaluator(settings: &Settings, meaning: &Meaning) -> Result<(Evaluator, Vec<String>), String> {
    Ok(Evaluator::new(&threads::for_all_searches(&settings.evaluator, meaning))?)
}

/// Shares the memory out: `Hash` is for all trees together, and with the cache they take no more than `RamLimitMb` leaves.
/// Says where that is room for fewer trees than were asked for.
fn share_out(
    mut evaluator: Evaluator,
    mut settings: Settings,
    meaning: &Meaning,
) -> (Arc<Evaluator>, Trees, Arc<Settings>) {
    let parallel = match meaning.analysis.parallel {
        0 => suitable(&evaluator, settings.workers.all),
        parallel => parallel,
    };
    let left = match settings.ram_limit_mb {
        0 => usize::MAX,
        limit => {
            let resident = resident_bytes().unwrap_or(0) >> 20;
            let beside = resident + meaning.analysis.queue_mb + 2 * meaning.analysis.line_mb + VALUES_MB;
            too_low(limit, beside + BESIDE_TREE_MB + LEAST_TREE_MB).iter().for_each(|note| aside(note));
            limit.saturating_sub(beside)
        }
    };
    let cache = CacheSize { mb: settings.cache.mb.min(left / CACHE_SHARE), ..settings.cache };
    if let Err(note) = evaluator.set_cache(cache) {
        aside(&note);
    }
    let wanted = meaning.analysis.sessions;
    let trees = Trees::in_memory(settings.hash_mb, left.saturating_sub(cache.mb), parallel, wanted);
    if (trees.parallel, trees.sessions) != (parallel, wanted) {
        aside(&format!("oncilla: Hash and RamLimitMb leave too little for {} trees: {trees}", parallel + wanted));
    }
    settings.hash_mb = trees.each_mb;
    settings.ram_limit_mb = 0;
    (Arc::new(evaluator), trees, Arc::new(settings))
}

/// What is said of a limit that can't be kept: all but trees and cache, and the smallest tree, take `least` MiB.
fn too_low(limit: usize, least: usize) -> Option<String> {
    (limit < least).then(|| {
        format!(
            "oncilla: the program, its network and the queries that may wait (--queue-mb, --line-mb) take more than \
             RamLimitMb={limit}: {least} MiB with the smallest tree"
        )
    })
}

/// How many trees there are at most, and how large each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trees {
    /// Positions that are searched at the same time.
    parallel: usize,
    /// Sessions whose trees are kept.
    sessions: usize,
    each_mb: usize,
}

impl Trees {
    /// As many as were asked for, or as there is room for: then fewer sessions are kept, and where that is not enough fewer
    /// positions are searched at a time. Up to half of the room is for sessions. Trees have `hash` MiB, and with what is
    /// beside them `left`.
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
        write!(f, "{parallel} at a time, {sessions} of sessions, {each_mb} MiB each")
    }
}

/// Positions at a time that keep the evaluator busy, if each is searched by so many threads.
fn suitable(evaluator: &Evaluator, threads: usize) -> usize {
    evaluator.searches().div_ceil(threads.max(1)).min(MOST_AT_A_TIME)
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

    #[test]
    fn a_limit_that_can_not_be_kept_is_named() {
        assert_eq!(too_low(90, 90), None);
        assert!(too_low(89, 90).is_some_and(|note| note.contains("RamLimitMb=89: 90 MiB")));
    }
}
