//! What is started for the analysis of chess.

use super::query::{self, Defaults, Query};
use super::sessions::Sessions;
use super::worker::Searcher;
use crate::analysis::crew::QueryCrew;
use crate::analysis::output::Output;
use crate::analysis::pool::memory::{Asked, Shares, Trees};
use crate::analysis::pool::{MOST_AT_A_TIME, QueryPool, threads};
use crate::console::aside;
use crate::engine::{Settings, open_tablebases};
use crate::evaluator::{CacheSize, Evaluator};
use crate::options::{Meaning, Typed};
use oncilla_syzygy::Tablebases;
use std::sync::Arc;

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
        Ok(Self::with(evaluator, settings, typed, meaning, output)?.with_tablebases(tables))
    }

    /// Starts the workers for an evaluator that is loaded.
    ///
    /// # Errors
    /// In one line: no thread could be started.
    pub(in crate::analysis) fn with(
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
        Ok(Self::new(move |id, request| defaults.read(id, request), crew, evaluator).with_sessions(sessions))
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
