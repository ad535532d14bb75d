//! What searches many positions at once: the queue, the workers, and what these share.

pub(super) mod memory;
pub(super) mod threads;

use std::sync::Arc;

use super::actions::Actions;
use super::crew::QueryCrew;
use super::output::Output;
use super::query::{self, Defaults, Query};
use super::request::Object;
use super::sessions::Sessions;
use super::worker::Worker;
use crate::engine::{CacheSize, Evaluator, Settings, open_tablebases};
use crate::options::{Meaning, Typed};
use crate::uci::console::aside;
use memory::{Asked, Shares, Trees};
use oncilla_syzygy::Tablebases;

/// More trees at a time than this would be small ones.
pub const MOST_AT_A_TIME: usize = 256;

/// Takes queries; what comes of them goes to its [`Output`].
pub struct Pool {
    defaults: Defaults,
    crew: QueryCrew<Query>,
    evaluator: Arc<Evaluator>,
    sessions: Arc<Sessions>,
    /// Held, so that all searches have the same ones.
    _tablebases: Option<Arc<Tablebases>>,
}

impl Pool {
    /// Loads the network and starts the workers.
    ///
    /// # Errors
    /// In one line: no network, no tables although some are named, no device, or no thread.
    pub fn start(typed: Typed, meaning: &Meaning, output: Output) -> Result<Self, String> {
        let settings = query::for_analysis(&meaning.settings);
        let tables = tablebases(&settings)?;
        let (evaluator, notes) = evaluator(&settings, meaning)?;
        notes.iter().for_each(|note| aside(note));
        Ok(Self { _tablebases: tables, ..Self::with(evaluator, settings, typed, meaning, output)? })
    }

    /// Starts the workers for an evaluator that is there.
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
        let crew = QueryCrew::start(output, meaning.analysis.queue_mb, parallel, |queue, output| {
            let (queue, output) = (Arc::clone(queue), Arc::clone(output));
            let (evaluator, sessions, settings) =
                (Arc::clone(&evaluator), Arc::clone(&sessions), Arc::clone(&settings));
            let worker = Worker::new(queue, output, evaluator, sessions, settings);
            move || worker.run()
        })?;
        let defaults = Defaults::new(typed, meaning, settings);
        Ok(Self { defaults, crew, evaluator, sessions, _tablebases: None })
    }

    /// What evaluates, in one line.
    pub fn describe(&self) -> String {
        self.evaluator.describe()
    }

    /// Positions that are searched at the same time.
    pub fn parallel(&self) -> usize {
        self.crew.count()
    }

    /// The output for answers.
    pub fn output(&self) -> &Output {
        &self.crew.output
    }

    /// What can be asked for beside analysis.
    pub fn actions(&self) -> Actions<'_, Query> {
        Actions {
            queue: &self.crew.queue,
            output: &self.crew.output,
            networks: &*self.evaluator,
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

/// The tables that `SyzygyPath` names.
fn tablebases(settings: &Settings) -> Result<Option<Arc<Tablebases>>, String> {
    if settings.syzygy.paths.is_empty() {
        return Ok(None);
    }
    let (tables, said) = open_tablebases(&settings.syzygy.paths)?;
    said.iter().for_each(|line| aside(line));
    Ok(Some(tables))
}

/// Loads the network; besides, lines for a person.
fn evaluator(settings: &Settings, meaning: &Meaning) -> Result<(Evaluator, Vec<String>), String> {
    Ok(Evaluator::new(&threads::for_all_searches(&settings.evaluator, meaning))?)
}

/// Shares the memory out.
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

/// How many positions at a time keep the evaluator busy, if each is searched by `threads` threads.
fn suitable(evaluator: &Evaluator, threads: usize) -> usize {
    evaluator.searches().div_ceil(threads.max(1)).min(MOST_AT_A_TIME)
}
