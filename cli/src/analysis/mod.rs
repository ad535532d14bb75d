//! `oncilla analysis`: KataGo's parallel analysis engine for chess, and in [`go`] for Go, where the network is one of
//! KataGo's. JSON lines in, JSON lines out; many positions are searched at the same time, with one evaluator.
//!
//! ```text
//! stdin ──► lines ──► request ──► actions ─────────────────────────► output ──► stdout
//!                        └──────► query ──► queue ──► workers ──────────┘
//!                                                       └─► an Engine each, one Evaluator
//! ```
//!
//! The thread that reads answers what can be answered at once: errors, warnings, actions. A query becomes turns in the
//! queue, in two bytes a move; when they take their share of `--queue-mb`, nothing more is read. Answers wait for the
//! client to read them; when they take theirs, searches wait at their end, too. Each worker has a tree of its own.
//! Every turn that was accepted gets one line whose `isDuringSearch` is false, however it ends.

mod actions;
mod answer;
mod crew;
mod due;
#[cfg(test)]
mod failing;
mod fields;
pub mod go;
mod hash;
mod lines;
mod moves;
mod output;
mod pool;
mod query;
mod queue;
mod request;
mod sessions;
mod single;
mod turns;
mod waiting;
mod worker;

use std::io::BufRead;
use std::sync::Arc;

use crew::{refusal, warning_line};
pub use fields::{BadField, Fields, integer};
pub use output::{Heard, Output};
pub use pool::Pool;
use query::Defaults;
pub use request::Object;
use request::Request;
use turns::Read;

use crate::engine::bytes_of_mb;
use crate::line;
use crate::options::{Typed, katago};
use crate::text::quoted;
use crate::uci::console::{Console, aside};

/// The line on standard error that a client may wait for.
const READY: &str = "Started, ready to begin handling requests";

/// Answers that nobody has read may take one part in this many of `--queue-mb`; waiting queries may take the rest.
const ANSWERS_SHARE: usize = 4;

/// What the command is told beside the options.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// At the end of the input nothing more is searched.
    pub quit_without_waiting: bool,
    /// Options that count for more than all others: `NAME=VALUE,…`, of which the later count for more.
    pub overrides: Vec<String>,
}

/// KataGo's way to write the arguments of its commands: single dashes, and `-model` for the network. What is a flag
/// there may have a value.
///
/// # Errors
/// Another value of such a flag than true and false.
pub fn with_two_dashes(args: Vec<String>) -> Result<Vec<String>, String> {
    if !args.iter().any(|arg| katago::COMMANDS.contains(&arg.as_str())) {
        return Ok(args);
    }
    let respell = |arg: String| {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, format!("={value}")),
            None => (arg.as_str(), String::new()),
        };
        let ours = match name {
            "-config" => "--config",
            "-model" | "--model" => "--weights",
            "-human-model" => "--human-model",
            "-override-config" => "--override-config",
            "-analysis-threads" => "--parallel",
            "-quit-without-waiting" | "--quit-without-waiting" => match value.as_str() {
                "=false" => return Ok(None),
                "" | "=true" => return Ok(Some("--quit-without-waiting".to_string())),
                other => return Err(format!("{name}: expected true or false, got {}", quoted(&other[1..]))),
            },
            _ => return Ok(Some(arg)),
        };
        Ok(Some(format!("{ours}{value}")))
    };
    args.into_iter().filter_map(|arg| respell(arg).transpose()).collect()
}

/// Understands a line of input, up to where anything would be searched: returns the lines of answers, and how many
/// positions it asks for. For the fuzzer; `bytes` are the line.
pub fn understand(bytes: &[u8]) -> (Vec<String>, usize) {
    let typed = Typed::default();
    let Ok(meaning) = typed.meaning() else { return (Vec::new(), 0) };
    let settings = Arc::new(query::for_analysis(&meaning.settings));
    let longest = bytes_of_mb(meaning.analysis.line_mb);
    let defaults = Defaults::new(typed, &meaning, settings);
    understand_with(bytes, longest, |id, request| defaults.read(id, request))
}

/// Like [`understand`], for a Go network.
pub fn understand_go(bytes: &[u8]) -> (Vec<String>, usize) {
    let defaults = go::Defaults::default();
    understand_with(bytes, 1 << 20, |id, request| defaults.read(id, request))
}

fn understand_with<Q>(bytes: &[u8], longest: usize, read: impl Fn(&str, &Object) -> Read<Q>) -> (Vec<String>, usize) {
    let mut rest = bytes;
    let Ok(Some(line)) = lines::next(&mut rest, longest) else { return (Vec::new(), 0) };
    match request::read(&line) {
        Ok(None) => (Vec::new(), 0),
        Ok(Some((_, Request::Action(_, request)))) => (vec![serde_json::Value::Object(request).to_string()], 0),
        Ok(Some((id, Request::Query(request)))) => {
            let Read { query, warnings } = read(&id, &request);
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

/// Answers queries about one game, chess or Go.
trait Analyst {
    /// Queues the positions of a query, or says what is wrong with it. Waits while the queue is full.
    fn ask(&self, id: &str, request: &Object);

    /// Does what is asked for beside analysis.
    fn obey(&self, id: &str, action: &str, request: Object);

    /// The output for answers.
    fn output(&self) -> &Output;

    /// What evaluates, in one line.
    fn describe(&self) -> String;

    /// Positions that are searched at the same time.
    fn parallel(&self) -> usize;

    /// Ends what waits and what is being searched, without an answer.
    fn abandon(&self);

    /// Waits until everything that was asked for is answered, and the answers are read.
    fn finish(self: Box<Self>);
}

impl Analyst for Pool {
    fn ask(&self, id: &str, request: &Object) {
        self.ask(id, request);
    }

    fn obey(&self, id: &str, action: &str, request: Object) {
        self.actions().obey(id, action, request);
    }

    fn output(&self) -> &Output {
        self.output()
    }

    fn describe(&self) -> String {
        self.describe()
    }

    fn parallel(&self) -> usize {
        self.parallel()
    }

    fn abandon(&self) {
        self.abandon();
    }

    fn finish(self: Box<Self>) {
        (*self).finish();
    }
}

/// The line of a turn that was ended before anything was known.
fn nothing(id: &str, turn: usize) -> String {
    serde_json::json!({ "id": id, "isDuringSearch": false, "noResults": true, "turnNumber": turn }).to_string()
}

/// The line of a turn whose search has failed, which is its last one.
fn failed(id: &str, turn: usize, why: &str) -> String {
    serde_json::json!({ "error": why, "id": id, "isDuringSearch": false, "turnNumber": turn }).to_string()
}

/// Serves until the end of the input.
///
/// # Errors
/// In one line: an override without a value or with a wrong one, no network, no device, or no thread.
pub fn run(mut input: impl BufRead, console: Arc<Console>, typed: Typed, switches: &Switches) -> Result<(), String> {
    let is_of_go =
        |typed: &Typed| typed.meaning().is_ok_and(|meaning| crate::engine::is_go(&meaning.settings.evaluator));
    let typed =
        overridden(&switches.overrides, typed, |typed, name| go::Params::heeds(typed, name) && is_of_go(typed))?;
    let meaning = typed.meaning()?;
    console.log_to(meaning.log_file.as_deref())?;
    let output = Output::new(Arc::clone(&console), bytes_of_mb(meaning.analysis.queue_mb) / ANSWERS_SHARE)
        .map_err(|error| format!("no thread for the answers: {error}"))?;
    let pool: Box<dyn Analyst> = match crate::engine::model(&meaning.settings.evaluator)? {
        Some(model) => Box::new(go::Pool::start(model, &typed, &meaning, output)?),
        None => match &meaning.human_model {
            Some(human) => {
                return Err(format!("--human-model: expected it with a network of Go's in --weights, got {human}"));
            }
            None => Box::new(Pool::start(typed, &meaning, output)?),
        },
    };
    aside(&format!("oncilla: {}, {} positions at a time", pool.describe(), pool.parallel()));
    aside(READY);
    serve(&mut input, &*pool, bytes_of_mb(meaning.analysis.line_mb), |text| {
        console.heard(text);
        console.lost_log().iter().for_each(|lost| aside(lost));
    });
    if switches.quit_without_waiting {
        pool.abandon();
    }
    pool.finish();
    console.lost_log().iter().for_each(|lost| aside(lost));
    Ok(())
}

/// Hears all lines; each is told to `heard` first.
fn serve(input: &mut impl BufRead, pool: &dyn Analyst, longest: usize, heard: impl Fn(&str)) {
    while let Some(line) = line::unless_failed(lines::next(input, longest)) {
        if let lines::InputLine::Text(text) | lines::InputLine::NotUtf8(text) = &line {
            heard(text);
        }
        hear(pool, &line);
    }
}

/// Options with others over them, each a list of `NAME=VALUE,…`. A line for a person says which mean nothing, but for
/// those that `has`, which is given all of them, knows.
///
/// # Errors
/// In one line: an override has no value, or a wrong one.
pub fn overridden(overrides: &[String], mut typed: Typed, has: impl Fn(&Typed, &str) -> bool) -> Result<Typed, String> {
    let before = typed.of_katago().to_vec();
    let unused = apply(&overrides.join(","), &mut typed)?;
    let added = typed.of_katago().iter().filter(|given| !before.contains(given));
    let reduced = added.filter_map(|(name, value)| katago::reduced(name, value));
    reduced.for_each(|line| aside(&format!("oncilla: --override-config: {line}")));
    let unused: Vec<String> = unused.into_iter().filter(|name| !has(&typed, name)).collect();
    if !unused.is_empty() {
        aside(&format!("oncilla: --override-config: not used: {}", unused.join(", ")));
    }
    Ok(typed)
}

/// Sets the options of `NAME=VALUE,…`. KataGo has names that mean nothing here: those come back, as those of its files
/// do.
fn apply(overrides: &str, typed: &mut Typed) -> Result<Vec<String>, String> {
    let mut unused = Vec::new();
    for item in overrides.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let expected = || format!("--override-config: expected NAME=VALUE,…, got {}", crate::text::quoted(item));
        let (name, value) = item.split_once('=').ok_or_else(expected)?;
        let (name, value) = (name.trim(), value.trim());
        // As in KataGo, this is as if no file had named it.
        if value.is_empty() && (katago::is_name(name) || katago::settings(name, value).is_empty()) {
            typed.forget_katagos(name);
            continue;
        }
        typed.keep_katagos(name, value);
        let set = katago::settings(name, value);
        if set.is_empty() {
            unused.push(crate::text::shown(name));
        }
        for (opt, value) in set {
            typed.set_for(opt, name, &value).map_err(|error| error.to_string())?;
        }
    }
    Ok(unused)
}

/// Answers a line, or sees to it that somebody does.
fn hear(pool: &dyn Analyst, line: &lines::InputLine) {
    match request::read(line) {
        Ok(None) => {}
        Ok(Some((id, Request::Action(action, request)))) => pool.obey(&id, &action, request),
        Ok(Some((id, Request::Query(request)))) => pool.ask(&id, &request),
        Err(refusal) => pool.output().say(refusal.line()),
    }
}
