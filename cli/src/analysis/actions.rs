//! The requests besides queries. The answer to one is the request itself, with the fields that the action adds.

use serde_json::{Value, json};
use std::collections::BTreeSet;

use super::chess::Sessions;
use super::crew::refusal;
use super::nothing;
use super::output::Output;
use super::queue::{Queue, QueueCounts, QueuedQuery, Turn};
use crate::evaluator::Evaluator;
use crate::fields::{BadField, Fields, Object};
use crate::memory::resident_bytes;
use crate::network::{CacheCounts, EvaluatorCounts};

/// The networks and their caches, of chess or Go, with what actions need of them.
pub trait Evaluators {
    /// Describes the networks and what they run on, in one line.
    fn describe(&self) -> String;

    /// Describes the networks: the entries of the answer to `query_models`, the main network first.
    fn models(&self) -> Vec<Value>;

    /// Empties the caches.
    fn clear_cache(&self);

    /// Counts the evaluations of all networks since the start.
    fn counts(&self) -> EvaluatorCounts;

    /// Statistics of all caches together: hits, misses and contents.
    fn cache_counts(&self) -> CacheCounts;
}

impl Evaluators for Evaluator {
    fn describe(&self) -> String {
        self.describe()
    }

    fn models(&self) -> Vec<Value> {
        let settings = self.settings();
        vec![json!({
            // Lc0's networks do not contain their names.
            "internalName": settings.weights.name(),
            "backend": self.describe(),
            "maxBatchSize": self.max_batch(),
            "name": settings.weights.to_string(),
            "usesHumanSLProfile": false,
            "usingFP16": self.is_half_precision().to_string(),
            "hasWdl": self.has_wdl(),
            "hasMovesLeft": self.has_moves_left(),
            "hasValueError": self.has_value_error(),
        })]
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

/// Everything that actions read or change.
pub struct Actions<'a, Q> {
    /// The waiting turns and the running searches.
    pub queue: &'a Queue<Q>,
    /// The output that answers are written to.
    pub output: &'a Output,
    /// The networks and their caches.
    pub networks: &'a dyn Evaluators,
    /// The sessions, whose trees are kept between queries; `None` for a game that has none.
    pub sessions: Option<&'a Sessions>,
    /// The number of positions that are searched at the same time.
    pub parallel: usize,
}

/// The action that only a game with sessions has.
const SESSION: &str = "session";

/// All actions, in the order in which an error lists them.
const ACTIONS: [&str; 7] =
    ["query_version", "query_models", "clear_cache", "terminate", "terminate_all", SESSION, "stats"];

impl<Q: QueuedQuery> Actions<'_, Q> {
    /// Executes an action and answers it.
    pub fn obey(&self, id: &str, action: &str, request: Object) {
        if let Err(error) = self.execute(action, request) {
            self.output.say(refusal(id, error).line());
        }
    }

    fn execute(&self, action: &str, request: Object) -> Result<(), BadField> {
        match (action, self.sessions) {
            ("query_version", _) => self.echo(request, version()),
            ("query_models", _) => self.echo(request, json!({ "models": self.networks.models() })),
            ("clear_cache", _) => {
                self.networks.clear_cache();
                self.echo(request, Value::Null);
            }
            ("terminate", _) => self.terminate_one(request)?,
            ("terminate_all", _) => self.terminate(request, None)?,
            (SESSION, Some(sessions)) => self.session(sessions, request)?,
            ("stats", _) => self.echo(request, self.stats()),
            (_, sessions) => return Err(BadField::new("action", expected_actions(sessions.is_some()))),
        }
        Ok(())
    }

    /// Answers with the request and what is added to it.
    fn echo(&self, mut request: Object, added: Value) {
        if let Value::Object(added) = added {
            request.extend(added);
        }
        self.output.say(Value::Object(request).to_string());
    }

    fn stats(&self) -> Value {
        let cache = self.networks.cache_counts();
        let counts = self.networks.counts();
        let QueueCounts { waiting, running, bytes } = self.queue.counts();
        let rate = |n: u64| if counts.seconds > 0.0 { (n as f64 / counts.seconds).round() } else { 0.0 };
        json!({
            "queue": { "waiting": waiting, "running": running, "parallel": self.parallel, "bytes": bytes },
            "evaluator": {
                "evaluations": counts.evaluations,
                "batches": counts.batches,
                "seconds": counts.seconds,
                "evaluationsPerSecond": rate(counts.evaluations),
            },
            "cache": {
                "hits": cache.hits,
                "misses": cache.misses,
                "evictions": cache.evictions,
                "entries": cache.entries,
                "bytes": cache.bytes,
            },
            "memory": { "residentBytes": resident_bytes() },
        })
    }

    /// Reports on one session or on all of them; closes the named one if the request has `close`.
    fn session(&self, sessions: &Sessions, request: Object) -> Result<(), BadField> {
        let fields = Fields(&request);
        let name = fields.read(SESSION, "Must be a string", Value::as_str)?;
        let close = fields.switch("close")?;
        let described = sessions.describe(name);
        if close {
            let expected = "Requests to close a session must have a string \"session\" field";
            sessions.close(name.ok_or_else(|| BadField::new(SESSION, expected))?);
        }
        self.echo(request, json!({ "sessions": described }));
        Ok(())
    }

    fn terminate_one(&self, request: Object) -> Result<(), BadField> {
        let id = request.get("terminateId").and_then(Value::as_str).map(str::to_string);
        let expected = "Requests for a terminate action must have a string \"terminateId\" field";
        let id = id.ok_or_else(|| BadField::new("terminateId", expected))?;
        self.terminate(request, Some(id))
    }

    /// Ends the turns of one id, or of all ids. The waiting turns are answered first, then the request is echoed; the
    /// running searches are stopped after that, and give their answers when they have ended.
    fn terminate(&self, request: Object, id: Option<String>) -> Result<(), BadField> {
        let expected = "If provided, must be an array of integers indicating turns to terminate";
        let numbers = Fields(&request).integers("turnNumbers", expected)?;
        let numbers: Option<BTreeSet<i128>> = numbers.map(BTreeSet::from_iter);
        let is_meant = |turn: &Turn<Q>| numbers.as_ref().is_none_or(|numbers| numbers.contains(&(turn.number as i128)));
        let found = self.queue.take_out(id.as_deref(), is_meant);
        // One by one: each waits for room, and thousands of turns may share a long id.
        found.waiting.iter().for_each(|turn| self.output.say(nothing(turn.query.id(), turn.number)));
        self.output.say(Value::Object(request).to_string());
        self.queue.end(&found);
        Ok(())
    }
}

/// The error for an unknown action.
fn expected_actions(has_sessions: bool) -> String {
    let known = ACTIONS.into_iter().filter(|action| has_sessions || *action != SESSION);
    let quoted: Vec<String> = known.map(|action| format!("'{action}'")).collect();
    format!("'action' field must be {}", quoted.join(" or "))
}

fn version() -> Value {
    json!({ "version": env!("CARGO_PKG_VERSION"), "git_hash": option_env!("ONCILLA_GIT_HASH").unwrap_or("<omitted>") })
}
