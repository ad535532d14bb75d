//! `oncilla analysis`: KataGo's parallel analysis engine for chess. JSON lines in, JSON lines out; many positions are
//! searched at the same time, with one evaluator.
//!
//! ```text
//! stdin ──► lines ──► request ──► actions ─────────────────────────► output ──► stdout
//!                        └──────► query ──► queue ──► workers ──────────┘
//!                                                       └─► an Engine each, one Evaluator
//! ```
//!
//! The thread that reads answers what can be answered at once: errors, warnings, actions. A query becomes turns in the
//! queue, in two bytes a move; when they take more than `--queue-mb`, nothing more is read. Each worker has a tree of its
//! own. Every turn that was accepted gets one line whose `isDuringSearch` is false, however it ends.

mod actions;
mod answer;
mod fields;
mod hash;
mod lines;
mod moves;
mod output;
mod query;
mod queue;
mod request;
mod sessions;
mod worker;

use std::io::BufRead;
use std::sync::Arc;

use actions::Actions;
use fields::BadField;
use output::Output;
use query::{Defaults, Read};
use queue::Queue;
use request::{Object, Refusal, Request};
use serde_json::json;
use sessions::Sessions;
use worker::Worker;

use crate::engine::{BackendKind, CacheSize, Evaluator, Settings, resident_bytes};
use crate::options::{Meaning, Typed, table};
use crate::uci::console::{Console, aside};

/// What a client may wait for on standard error.
const READY: &str = "Started, ready to begin handling requests";

/// The cache gets at most one part in so many of what trees and cache may take together.
const CACHE_SHARE: usize = 4;

/// A tree of less is of no use, whatever the limit.
const LEAST_TREE_MB: usize = 1;

/// What the command is told beside the options.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// At the end of the input nothing more is searched.
    pub quit_without_waiting: bool,
    /// Options that count for more than all others: `NAME=VALUE,…`.
    pub overrides: Option<String>,
}

/// KataGo's way to write the arguments: single dashes, and `-model` for the network.
pub fn with_two_dashes(args: Vec<String>) -> Vec<String> {
    if !args.iter().any(|arg| arg == "analysis") {
        return args;
    }
    let respell = |arg: String| {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, format!("={value}")),
            None => (arg.as_str(), String::new()),
        };
        let ours = match name {
            "-config" => "--config",
            "-model" | "--model" => "--weights",
            "-override-config" => "--override-config",
            "-quit-without-waiting" => "--quit-without-waiting",
            _ => return arg,
        };
        format!("{ours}{value}")
    };
    args.into_iter().map(respell).collect()
}

/// What a line of input comes to before anything is searched: lines of answers, and how many positions it asks for. For the
/// fuzzer; `bytes` are the line.
pub fn understand(bytes: &[u8]) -> (Vec<String>, usize) {
    let typed = Typed::default();
    let Ok(meaning) = typed.meaning() else { return (Vec::new(), 0) };
    let settings = Arc::new(query::for_analysis(&meaning.settings));
    let defaults = Defaults::new(typed, &meaning, settings);
    let mut rest = bytes;
    let Ok(Some(line)) = lines::next(&mut rest, meaning.analysis.line_mb << 20) else { return (Vec::new(), 0) };
    match request::read(&line) {
        Ok(None) => (Vec::new(), 0),
        Ok(Some((_, Request::Action(_, request)))) => (vec![serde_json::Value::Object(request).to_string()], 0),
        Ok(Some((id, Request::Query(request)))) => {
            let Read { query, warnings } = defaults.read(&id, &request);
            let mut lines: Vec<String> = warnings.iter().map(|warning| warning_line(&id, warning)).collect();
            match query {
                Ok(accepted) => (lines, accepted.turns.len()),
                Err(bad) => {
                    lines.push(refusal(&id, bad).line());
                    (lines, 0)
                }
            }
        }
        Err(refusal) => (vec![refusal.line()], 0),
    }
}

fn warning_line(id: &str, warning: &BadField) -> String {
    json!({ "field": warning.field, "id": id, "warning": warning.error }).to_string()
}

fn refusal(id: &str, bad: BadField) -> Refusal {
    Refusal { error: bad.error, field: Some(bad.field), id: Some(id.to_string()) }
}

/// Serves until the end of the input.
///
/// # Errors
/// One line: an override that is no option, no network, no device, no thread.
pub fn run(
    mut input: impl BufRead,
    console: Arc<Console>,
    mut typed: Typed,
    switches: &Switches,
) -> Result<(), String> {
    apply(switches.overrides.as_deref().unwrap_or_default(), &mut typed)?;
    let meaning = typed.meaning()?;
    console.log_to(meaning.log_file.as_deref())?;
    let (evaluator, parallel, settings) = prepare(&meaning)?;
    let output = Arc::new(Output::new(Arc::clone(&console)));
    let queue = Arc::new(Queue::new(meaning.analysis.queue_mb << 20));
    let sessions = Arc::new(Sessions::new(meaning.analysis.sessions));
    let mut workers = Vec::new();
    for index in 0..parallel {
        let worker = Worker::new(
            Arc::clone(&queue),
            Arc::clone(&output),
            Arc::clone(&evaluator),
            Arc::clone(&sessions),
            Arc::clone(&settings),
        );
        let thread = std::thread::Builder::new().name(format!("analysis {index}"));
        match thread.spawn(move || worker.run()) {
            Ok(thread) => workers.push(thread),
            Err(error) if workers.is_empty() => return Err(format!("no thread for the search: {error}")),
            Err(_) => break,
        }
    }
    let service = Service {
        defaults: Defaults::new(typed, &meaning, settings),
        actions: Actions {
            queue: &queue,
            output: &output,
            evaluator: &evaluator,
            sessions: &sessions,
            parallel: workers.len(),
        },
    };
    aside(&format!("oncilla: {}, {} positions at a time", evaluator.describe(), workers.len()));
    aside(READY);
    let longest = meaning.analysis.line_mb << 20;
    // An error while reading ends the input like its end.
    while let Ok(Some(line)) = lines::next(&mut input, longest) {
        if let lines::Line::Text(text) | lines::Line::NotUtf8(text) = &line {
            console.heard(text);
        }
        service.hear(&line);
    }
    if switches.quit_without_waiting {
        output.close();
        let found = queue.find(|_| true);
        queue.end(&found);
    }
    queue.close();
    // A worker that panicked has said so.
    workers.into_iter().for_each(|worker| drop(worker.join()));
    Ok(())
}

/// Sets the options of `NAME=VALUE,…`.
fn apply(overrides: &str, typed: &mut Typed) -> Result<(), String> {
    for item in overrides.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let expected = || format!("--override-config: expected NAME=VALUE,…, got {}", crate::text::quoted(item));
        let (name, value) = item.split_once('=').ok_or_else(expected)?;
        let opt = table::by_any_name(name.trim());
        let opt = opt.ok_or_else(|| format!("--override-config: unknown option: {}", crate::text::quoted(name)))?;
        typed.set(opt, name.trim(), value.trim()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Loads the network, and shares the memory out: `Hash` is for all trees together, and with the cache they take no more
/// than `RamLimitMb` leaves.
fn prepare(meaning: &Meaning) -> Result<(Arc<Evaluator>, usize, Arc<Settings>), String> {
    let mut settings = query::for_analysis(&meaning.settings);
    if settings.evaluator.threads == meaning.settings.workers.all {
        // `Threads` are those of one position; the host backend computes for all of them.
        settings.evaluator.threads *= meaning.analysis.parallel;
    }
    let (mut evaluator, notes) = Evaluator::new(&settings.evaluator)?;
    notes.iter().for_each(|note| aside(note));
    let parallel = match meaning.analysis.parallel {
        0 => suitable(&evaluator),
        parallel => parallel,
    };
    let left = match settings.ram_limit_mb {
        0 => usize::MAX,
        limit => {
            let beside = resident_bytes().unwrap_or(0) >> 20;
            limit.saturating_sub(beside + meaning.analysis.queue_mb + meaning.analysis.line_mb)
        }
    };
    let cache = CacheSize { mb: settings.cache.mb.min(left / CACHE_SHARE), ..settings.cache };
    if let Err(note) = evaluator.set_cache(cache) {
        aside(&note);
    }
    let trees = settings.hash_mb.min(left.saturating_sub(cache.mb));
    settings.hash_mb = (trees / (parallel + meaning.analysis.sessions)).max(LEAST_TREE_MB);
    settings.ram_limit_mb = 0;
    Ok((Arc::new(evaluator), parallel, Arc::new(settings)))
}

/// Positions at a time that keep the evaluator busy.
fn suitable(evaluator: &Evaluator) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match evaluator.settings().backend {
        BackendKind::Random | BackendKind::Constant | BackendKind::Host => cores,
        BackendKind::Auto | BackendKind::OpenCl => evaluator.preferred_batch().clamp(cores, 64),
    }
}

/// Answers requests, or sees to it that somebody does.
struct Service<'s> {
    defaults: Defaults,
    actions: Actions<'s>,
}

impl Service<'_> {
    fn hear(&self, line: &lines::Line) {
        match request::read(line) {
            Ok(None) => {}
            Ok(Some((id, Request::Action(action, request)))) => self.actions.obey(&id, &action, request),
            Ok(Some((id, Request::Query(request)))) => self.enqueue(&id, &request),
            Err(refusal) => self.actions.output.say(&refusal.line()),
        }
    }

    fn enqueue(&self, id: &str, request: &Object) {
        let Read { query, warnings } = self.defaults.read(id, request);
        let warnings: Vec<String> = warnings.iter().map(|warning| warning_line(id, warning)).collect();
        self.actions.output.say_all(&warnings);
        match query {
            Ok(accepted) => self.actions.queue.push(accepted),
            Err(bad) => self.actions.output.say(&refusal(id, bad).line()),
        }
    }
}
