//! What searches many positions of Go at once: the queue, the workers, and what these share.

use std::sync::Arc;
use std::thread::JoinHandle;

use oncilla_go::Size;
use oncilla_nets::katago::Model;
use oncilla_opencl::kernels::Precision;
use serde_json::{Value, json};

use super::params::Params;
use super::query::{Defaults, Query};
use super::worker::Worker;
use crate::analysis::actions::{About, Actions};
use crate::analysis::output::Output;
use crate::analysis::pool::{refusal, warning_line};
use crate::analysis::queue::Queue;
use crate::analysis::request::Object;
use crate::analysis::turns::Read;
use crate::analysis::{ANSWERS_SHARE, Analyst};
use crate::engine::{CacheCounts, EvaluatorCounts};
use crate::go::Evaluator;
use crate::options::{Meaning, Typed};
use crate::uci::console::aside;

/// Positions at a time, where nobody says how many: as many as suit what runs the largest board.
const BOARD: Size = Size::STANDARD;

/// More trees at a time than this would be small ones.
const MOST_AT_A_TIME: usize = 256;

/// Takes queries; what comes of them goes to its [`Output`].
pub struct Pool {
    defaults: Defaults,
    queue: Arc<Queue<Query>>,
    output: Arc<Output>,
    evaluator: Arc<Evaluator>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Makes what runs the network on the largest board, and starts the workers.
    ///
    /// # Errors
    /// One line: a parameter of KataGo's with a value that it has not; no device, no thread.
    pub fn start(model: Model, typed: &Typed, meaning: &Meaning, output: Output) -> Result<Self, String> {
        let defaults = Defaults::new(Params::default().of(typed, meaning)?);
        let settings = &meaning.settings;
        let cache_bytes = if settings.cache.entries == 0 { 0 } else { settings.cache.mb << 20 };
        let evaluator = Arc::new(Evaluator::new(model, settings.evaluator.clone(), cache_bytes));
        evaluator.prepare(BOARD)?.iter().for_each(|note| aside(note));
        let parallel = match meaning.analysis.parallel {
            0 => evaluator.searches(BOARD).clamp(1, MOST_AT_A_TIME),
            parallel => parallel,
        };
        let output = Arc::new(output);
        let queue_bytes = meaning.analysis.queue_mb << 20;
        let queue = Arc::new(Queue::new(queue_bytes - queue_bytes / ANSWERS_SHARE));
        let mut workers = Vec::new();
        for index in 0..parallel {
            let worker = Worker {
                queue: Arc::clone(&queue),
                output: Arc::clone(&output),
                evaluator: Arc::clone(&evaluator),
                tree_bytes: (settings.hash_mb << 20) / parallel,
                batch: settings.minibatch.max(1),
            };
            let thread = std::thread::Builder::new().name(format!("analysis {index}"));
            match thread.spawn(move || worker.run()) {
                Ok(thread) => workers.push(thread),
                Err(error) if workers.is_empty() => return Err(format!("no thread for the search: {error}")),
                Err(_) => break,
            }
        }
        Ok(Self { defaults, queue, output, evaluator, workers })
    }
}

impl Analyst for Pool {
    fn ask(&self, id: &str, request: &Object) {
        let Read { query, warnings } = self.defaults.read(id, request);
        let warnings: Vec<String> = warnings.iter().map(|warning| warning_line(id, warning)).collect();
        self.output.say_all(&warnings);
        match query {
            Ok(accepted) => self.queue.push(accepted),
            Err(bad) => self.output.say(&refusal(id, bad).line()),
        }
    }

    fn obey(&self, id: &str, action: &str, request: Object) {
        let actions = Actions {
            queue: &*self.queue,
            output: &self.output,
            evaluator: &*self.evaluator,
            sessions: None,
            parallel: self.workers.len(),
        };
        actions.obey(id, action, request);
    }

    fn output(&self) -> &Output {
        &self.output
    }

    fn describe(&self) -> String {
        let on = self.evaluator.describe(BOARD).unwrap_or_default();
        format!("{}, for Go, on {on}", self.evaluator.model().name)
    }

    fn parallel(&self) -> usize {
        self.workers.len()
    }

    fn abandon(&self) {
        self.output.close();
        let found = self.queue.find(|_| true);
        self.queue.end(&found);
    }

    fn finish(self: Box<Self>) {
        self.queue.close();
        // A worker that panicked has said so.
        self.workers.into_iter().for_each(|worker| drop(worker.join()));
        self.output.finish();
    }
}

impl About for Evaluator {
    fn model(&self) -> Value {
        json!({
            "internalName": Evaluator::model(self).name,
            "maxBatchSize": self.max_batch(BOARD),
            "name": self.settings().weights.to_string(),
            "usesHumanSLProfile": false,
            "usingFP16": (self.settings().precision == Precision::Fp16).to_string(),
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
