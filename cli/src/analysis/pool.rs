//! Everything that searches many positions at once: the queue, the workers, and the state that they share; and how that
//! is started for chess.

pub(super) mod memory;
pub(super) mod threads;

use std::sync::Arc;

use super::Analyst;
use super::actions::{Actions, Evaluators};
use super::crew::QueryCrew;
use super::output::Output;
use super::query::{self, Defaults, Query};
use super::queue::QueuedQuery;
use super::sessions::Sessions;
use super::turns::Read;
use super::worker::Searcher;
use crate::console::aside;
use crate::engine::{CacheSize, Evaluator, Settings, open_tablebases};
use crate::fields::Object;
use crate::options::{Meaning, Typed};
use memory::{Asked, Shares, Trees};
use oncilla_syzygy::Tablebases;

/// The most positions at a time by default. With more, each tree would be small.
pub const MOST_AT_A_TIME: usize = 256;

/// Accepts the queries of one game, and writes the answers to an [`Output`].
pub struct QueryPool<Q> {
    read: ReadsQuery<Q>,
    crew: QueryCrew<Q>,
    networks: Arc<dyn Evaluators>,
    /// `None` for a game that has none.
    sessions: Option<Arc<Sessions>>,
    /// Kept alive, so that all searches share them; `None` for a game that has none.
    _tablebases: Option<Arc<Tablebases>>,
}

/// Reads the fields of the query with this id.
type ReadsQuery<Q> = Box<dyn Fn(&str, &Object) -> Read<Q>>;

impl<Q> QueryPool<Q> {
    /// A pool without sessions, whose queries `read` reads.
    pub fn new(
        read: impl Fn(&str, &Object) -> Read<Q> + 'static,
        crew: QueryCrew<Q>,
        networks: Arc<dyn Evaluators>,
    ) -> Self {
        Self { read: Box::new(read), crew, networks, sessions: None, _tablebases: None }
    }
}

impl<Q: QueuedQuery + Send + Sync + 'static> Analyst for QueryPool<Q> {
    fn ask(&self, id: &str, request: &Object) {
        self.crew.take(id, (self.read)(id, request));
    }

    fn obey(&self, id: &str, action: &str, request: Object) {
        let actions = Actions {
            queue: &*self.crew.queue,
            output: &self.crew.output,
            networks: &*self.networks,
            sessions: self.sessions.as_deref(),
            parallel: self.crew.count(),
        };
        actions.obey(id, action, request);
    }

    fn output(&self) -> &Output {
        &self.crew.output
    }

    fn describe(&self) -> String {
        self.networks.describe()
    }

    fn parallel(&self) -> usize {
        self.crew.count()
    }

    fn abandon(&self) {
        self.crew.abandon();
    }

    fn finish(self: Box<Self>) {
        self.crew.finish();
    }
}

/// The pool for chess.
pub type Pool = QueryPool<Query>;

impl Pool {
    /// Loads the network and starts the workers.
    ///
    /// # Errors
    /// In one line: no network, tablebases that are named but not found, no device, or no thread.
    pub fn start(typed: Typed, meaning: &Meaning, output: Output) -> Result<Self, String> {
        let settings = query::for_analysis(&meaning.settings);
        let tables = tablebases(&settings)?;
        let (evaluator, notes) = evaluator(&settings, meaning)?;
        notes.iter().for_each(|note| aside(note));
        Ok(Self { _tablebases: tables, ..Self::with(evaluator, settings, typed, meaning, output)? })
    }

    /// Starts the workers for an evaluator that is loaded.
    ///
    /// # Errors
    /// In one line: no thread could be started.
    pub(super) fn with(
        evaluator: Evaluator,
        settings: Settings,
        typed: Typed,
        meaning: &Meaning,
        output: Output,
    ) -> Result<Self, String> {
        let (evaluator, Trees { parallel, sessions, .. }, settings) = share_out(evaluator, settings, meaning);
        let sessions = Arc::new(Sessions::new(sessions));
        let crew = QueryCrew::start(output, meaning.analysis.queue_mb, parallel, |_, output| {
            let (evaluator, sessions, settings) =
                (Arc::clone(&evaluator), Arc::clone(&sessions), Arc::clone(&settings));
            Searcher::new(Arc::clone(output), evaluator, sessions, settings)
        })?;
        let defaults = Defaults::new(typed, meaning, settings);
        let pool = Self::new(move |id, request| defaults.read(id, request), crew, evaluator);
        Ok(Self { sessions: Some(sessions), ..pool })
    }
}

/// Opens the tablebases of `SyzygyPath`.
fn tablebases(settings: &Settings) -> Result<Option<Arc<Tablebases>>, String> {
    if settings.syzygy.paths.is_empty() {
        return Ok(None);
    }
    let (tables, said) = open_tablebases(&settings.syzygy.paths)?;
    said.iter().for_each(|line| aside(line));
    Ok(Some(tables))
}

/// Loads the network; also returns messages for standard error.
fn evaluator(settings: &Settings, meaning: &Meaning) -> Result<(Evaluator, Vec<String>), String> {
    Ok(Evaluator::new(&threads::for_all_searches(&settings.evaluator, meaning))?)
}

/// Divides the memory between the cache and the trees.
fn share_out(
    mut evaluator: Evaluator,
    mut settings: Settings,
    meaning: &Meaning,
) -> (Arc<Evaluator>, Trees, Arc<Settings>) {
    let parallel = match meaning.analysis.parallel {
        0 => suitable(&evaluator, settings.workers.all),
        parallel => parallel,
    };
    let asked = Asked { parallel, sessions: meaning.analysis.sessions, parts: 1 };
    let Shares { cache_mb, trees } = Shares::of(&settings, &meaning.analysis, asked);
    if let Err(note) = evaluator.set_cache(CacheSize { mb: cache_mb, ..settings.cache }) {
        aside(&note);
    }
    settings.hash_mb = trees.each_mb;
    settings.ram_limit_mb = 0;
    (Arc::new(evaluator), trees, Arc::new(settings))
}

/// The number of positions at a time that keeps the evaluator busy, if `threads` threads search each.
fn suitable(evaluator: &Evaluator, threads: usize) -> usize {
    evaluator.searches().div_ceil(threads.max(1)).min(MOST_AT_A_TIME)
}
