//! The pool that searches many positions of Go at the same time: the queue, the workers, and what these share.

use std::sync::Arc;

use oncilla_go::Size;
use oncilla_nets::katago::Model;
use serde_json::{Value, json};

use super::params::Params;
use super::query::{Defaults, Query};
use super::worker::Worker;
use crate::analysis::Analyst;
use crate::analysis::actions::{About, Actions};
use crate::analysis::crew::QueryCrew;
use crate::analysis::output::Output;
use crate::analysis::pool::memory::{Asked, Shares};
use crate::analysis::pool::{MOST_AT_A_TIME, threads};
use crate::analysis::request::Object;
use crate::engine::bytes_of_mb;
use crate::engine::{CacheCounts, EvaluatorCounts};
use crate::go::Evaluator;
use crate::options::{Meaning, Typed};
use crate::uci::console::aside;

/// If the user does not say how many positions are searched at a time, it is as many as suit what runs this largest
/// board.
const BOARD: Size = Size::STANDARD;

/// A search takes this many equal parts: its tree, and at most as much for the notes beside it.
const PARTS: usize = 2;

/// Takes queries; their answers go to its [`Output`].
pub struct Pool {
    defaults: Defaults,
    crew: QueryCrew<Query>,
    evaluator: Arc<Evaluator>,
}

impl Pool {
    /// Makes the service that runs the network on the largest board, and starts the workers.
    ///
    /// # Errors
    /// One line: a parameter of KataGo's has a value that it does not take, or that does not suit the network; or there
    /// is no device or no thread.
    pub fn start(model: Model, typed: &Typed, meaning: &Meaning, output: Output) -> Result<Self, String> {
        let (params, is_for_human_play) = (Params::default().of(typed, meaning)?, model.encodes_metadata());
        params.suit(is_for_human_play)?;
        let defaults = Defaults::for_network(params, is_for_human_play);
        let settings = &meaning.settings;
        let mut evaluator = Evaluator::new(model, threads::for_all_searches(&settings.evaluator, meaning), 0);
        evaluator.prepare(BOARD)?.iter().for_each(|note| aside(note));
        let parallel = match meaning.analysis.parallel {
            0 => evaluator.facts(BOARD).map_or(1, |facts| facts.searches.clamp(1, MOST_AT_A_TIME)),
            parallel => parallel,
        };
        let Shares { cache_mb, trees } =
            Shares::of(settings, &meaning.analysis, Asked { parallel, sessions: 0, parts: PARTS });
        evaluator.set_cache(if settings.cache.entries == 0 { 0 } else { bytes_of_mb(cache_mb) });
        let evaluator = Arc::new(evaluator);
        let crew = QueryCrew::start(output, meaning.analysis.queue_mb, trees.parallel, |queue, output| {
            let worker = Worker {
                queue: Arc::clone(queue),
                output: Arc::clone(output),
                evaluator: Arc::clone(&evaluator),
                tree_bytes: bytes_of_mb(trees.each_mb),
                minibatch: settings.minibatch,
                parallel: trees.parallel,
            };
            move || worker.run()
        })?;
        Ok(Self { defaults, crew, evaluator })
    }
}

impl Analyst for Pool {
    fn ask(&self, id: &str, request: &Object) {
        self.crew.take(id, self.defaults.read(id, request));
    }

    fn obey(&self, id: &str, action: &str, request: Object) {
        let actions = Actions {
            queue: &*self.crew.queue,
            output: &self.crew.output,
            evaluator: &*self.evaluator,
            sessions: None,
            parallel: self.crew.count(),
        };
        actions.obey(id, action, request);
    }

    fn output(&self) -> &Output {
        &self.crew.output
    }

    fn describe(&self) -> String {
        let on = self.evaluator.facts(BOARD).map(|facts| facts.describe).unwrap_or_default();
        format!("{}, for Go, on {on}", self.evaluator.model().name)
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

impl About for Evaluator {
    fn model(&self) -> Value {
        let facts = self.facts(BOARD);
        let is_half_precision = facts.as_ref().is_some_and(|facts| self.settings().is_half_precision(facts));
        json!({
            "internalName": Evaluator::model(self).name,
            "maxBatchSize": facts.map_or(1, |facts| facts.max_batch),
            "name": self.settings().weights.to_string(),
            "usesHumanSLProfile": Evaluator::model(self).encodes_metadata(),
            "usingFP16": is_half_precision.to_string(),
            "version": Evaluator::model(self).version,
        })
    }

    fn clear_cache(&self) {
        self.clear_cache();
    }

    fn counts(&self) -> EvaluatorCounts {
        self.counts()
    }

    fn cache_counts(&self) -> CacheCounts {
        self.cache_counts()
    }
}
