//! Starts what searches many positions of Go at the same time.

use std::sync::Arc;

use oncilla_go::Size;
use oncilla_nets::katago::Model;
use serde_json::Value;

use super::query::{Defaults, Query};
use super::worker::Searcher;
use crate::analysis::actions::Evaluators;
use crate::analysis::crew::QueryCrew;
use crate::analysis::output::Output;
use crate::analysis::pool::memory::{Asked, Shares};
use crate::analysis::pool::{MOST_AT_A_TIME, QueryPool, threads};
use crate::console::aside;
use crate::go::{Evaluator, Imitation, Networks, Params, describe_model};
use crate::memory::bytes_of_mb;
use crate::network::{CacheCounts, EvaluatorCounts};
use crate::options::{Meaning, Typed};

/// If the user does not say how many positions are searched at a time, it is as many as suit what runs this largest
/// board.
const BOARD: Size = Size::STANDARD;

/// A search takes this many equal parts: its tree, and at most as much for the notes beside it.
const PARTS: usize = 2;

/// The pool for Go.
pub type Pool = QueryPool<Query>;

impl Pool {
    /// Makes the services that run the networks on the largest board, and starts the workers.
    ///
    /// # Errors
    /// One line: a parameter of KataGo's has a value that it does not take, or that does not suit the networks; the
    /// network of `--human-model` is not one for human play; or there is no device or no thread.
    pub fn start(model: Model, typed: &Typed, meaning: &Meaning, output: Output) -> Result<Self, String> {
        let params = Params::default().of(typed, meaning)?;
        let imitation = Imitation::at_the_start(&model, &params, typed, meaning)?;
        let defaults = Defaults::for_networks(params, imitation);
        let settings = &meaning.settings;
        let on = threads::for_all_searches(&settings.evaluator, meaning);
        let networks = Networks::new(model, meaning.human_model.as_ref(), on)?;
        networks.prepare(BOARD)?.iter().for_each(|note| aside(note));
        let parallel = match meaning.analysis.parallel {
            0 => networks.main.facts(BOARD).map_or(1, |facts| facts.searches.clamp(1, MOST_AT_A_TIME)),
            parallel => parallel,
        };
        let Shares { cache_mb, trees } =
            Shares::of(settings, &meaning.analysis, Asked { parallel, sessions: 0, parts: PARTS });
        networks.set_cache(if settings.cache.entries == 0 { 0 } else { bytes_of_mb(cache_mb) });
        let crew = QueryCrew::start(output, meaning.analysis.queue_mb, trees.parallel, |queue, output| Searcher {
            queue: Arc::clone(queue),
            output: Arc::clone(output),
            networks: networks.clone(),
            tree_bytes: bytes_of_mb(trees.each_mb),
            minibatch: settings.minibatch,
            parallel: trees.parallel,
        })?;
        Ok(Self::new(move |id, request| defaults.read(id, request), crew, Arc::new(networks)))
    }
}

impl Evaluators for Networks {
    fn describe(&self) -> String {
        let Self { main, human } = self;
        let on = main.facts(BOARD).map(|facts| facts.describe).unwrap_or_default();
        let beside = human.as_ref().map_or(String::new(), |human| format!(" with {} beside it", human.model().name));
        format!("{}{beside}, for Go, on {on}", main.model().name)
    }

    fn models(&self) -> Vec<Value> {
        self.all().map(|network| describe_model(network, BOARD)).collect()
    }

    fn clear_cache(&self) {
        self.clear_cache();
    }

    fn counts(&self) -> EvaluatorCounts {
        let counts = self.all().map(Evaluator::counts);
        counts.reduce(EvaluatorCounts::and).unwrap_or_default()
    }

    fn cache_counts(&self) -> CacheCounts {
        let counts = self.all().map(Evaluator::cache_counts);
        counts.reduce(CacheCounts::and).unwrap_or_default()
    }
}
