//! `oncilla analysis`: KataGo's parallel analysis engine for chess, and for Go ([`go`]) if the network is one of
//! KataGo's. It reads and writes JSON lines; many positions are searched at the same time, with one evaluator.
//!
//! ```text
//! stdin ──► lines ──► request ──► actions ─────────────────────────► output ──► stdout
//!                        └──────► query ──► queue ──► workers ──────────┘
//!                                                       └─► an Engine each, one Evaluator
//! ```
//!
//! The thread that reads the input also writes everything that needs no search: errors, warnings and the answers to
//! actions. It turns a query into turns in the queue, which keep a game in two bytes per move. When the queue has used
//! its share of `--queue-mb`, no more input is read. Answers are kept until the client reads them; when they have used
//! their share, a search that has ended waits until there is room for its answer. Each worker has a tree of its own.
//! Every accepted turn gets exactly one line with `isDuringSearch` false, however it ends.

mod actions;
mod answer;
mod crew;
mod due;
#[cfg(test)]
mod failing;
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
pub use output::{Heard, Output};
pub use pool::Pool;
use query::Defaults;
use request::Request;
use turns::Read;

use crate::console::{Console, aside};
use crate::engine::bytes_of_mb;
use crate::fields::Object;
use crate::line;
use crate::options::{Typed, katago};
use crate::text::quoted;

/// The line on standard error that tells a client that requests are read from now on.
const READY: &str = "Started, ready to begin handling requests";

/// Answers that the client has not read yet may use 1/`ANSWERS_SHARE` of `--queue-mb`; waiting queries may use the
/// rest.
const ANSWERS_SHARE: usize = 4;

/// The command's own switches, besides the options.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// Exit at the end of the input, without searching the queries that still wait.
    pub quit_without_waiting: bool,
    /// Options that override all others, as lists `NAME=VALUE,…`. A later one overrides an earlier one.
    pub overrides: Vec<String>,
}

/// Translates arguments in KataGo's spelling: names with a single dash, `-model` for the network, and flags with an
/// optional value (`=true` or `=false`).
///
/// # Errors
/// Such a flag has another value than true and false.
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

/// Parses the line of input that `bytes` contains, without searching. Returns the lines that answer it at once, and the
/// number of positions to search. For the fuzzer.
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
pub trait Analyst {
    /// Queues the positions of a query, or writes the error in it. Waits while the queue is full.
    fn ask(&self, id: &str, request: &Object);

    /// Executes an action, which is any request but a query.
    fn obey(&self, id: &str, action: &str, request: Object);

    /// The output that answers are written to.
    fn output(&self) -> &Output;

    /// Describes the evaluator in one line.
    fn describe(&self) -> String;

    /// The number of positions that are searched at the same time.
    fn parallel(&self) -> usize;

    /// Drops all waiting turns and stops all running searches, without answers.
    fn abandon(&self);

    /// Waits until all queries are answered and the client has read the answers.
    fn finish(self: Box<Self>);
}

/// The answer to a turn that was ended before its search had a result.
fn nothing(id: &str, turn: usize) -> String {
    serde_json::json!({ "id": id, "isDuringSearch": false, "noResults": true, "turnNumber": turn }).to_string()
}

/// The last line of a turn whose search failed.
fn failed(id: &str, turn: usize, why: &str) -> String {
    serde_json::json!({ "error": why, "id": id, "isDuringSearch": false, "turnNumber": turn }).to_string()
}

/// Runs the command until the end of the input.
///
/// # Errors
/// In one line: an override without a value or with a wrong one, no network, no device, or no thread.
pub fn run(mut input: impl BufRead, console: Arc<Console>, typed: Typed, switches: &Switches) -> Result<(), String> {
    let is_of_go =
        |typed: &Typed| typed.meaning().is_ok_and(|meaning| crate::engine::is_go(&meaning.settings.evaluator));
    let typed =
        overridden(&switches.overrides, typed, |typed, name| crate::go::Params::heeds(typed, name) && is_of_go(typed))?;
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
        console.log_input(text);
        console.lost_log().iter().for_each(|lost| aside(lost));
    });
    if switches.quit_without_waiting {
        pool.abandon();
    }
    pool.finish();
    console.lost_log().iter().for_each(|lost| aside(lost));
    Ok(())
}

/// Handles all lines of the input; `heard` is called with each of them first.
fn serve(input: &mut impl BufRead, pool: &dyn Analyst, longest: usize, heard: impl Fn(&str)) {
    while let Some(line) = line::unless_failed(lines::next(input, longest)) {
        if let lines::InputLine::Text(text) | lines::InputLine::NotUtf8(text) = &line {
            heard(text);
        }
        handle_line(pool, &line);
    }
}

/// Applies overrides, each a list `NAME=VALUE,…`, to the options. Prints a warning with the names that have no meaning,
/// except those for which `has` returns true; it is called with the resulting options.
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

/// Sets the options of a list `NAME=VALUE,…`. Returns the names that KataGo may have but that have no meaning here, as
/// is done for configuration files.
fn apply(overrides: &str, typed: &mut Typed) -> Result<Vec<String>, String> {
    let mut unused = Vec::new();
    for item in overrides.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let expected = || format!("--override-config: expected NAME=VALUE,…, got {}", crate::text::quoted(item));
        let (name, value) = item.split_once('=').ok_or_else(expected)?;
        let (name, value) = (name.trim(), value.trim());
        // As in KataGo, an empty value means that the option is not set, even if a configuration file sets it.
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

/// Answers a line, or queues it.
fn handle_line(pool: &dyn Analyst, line: &lines::InputLine) {
    match request::read(line) {
        Ok(None) => {}
        Ok(Some((id, Request::Action(action, request)))) => pool.obey(&id, &action, request),
        Ok(Some((id, Request::Query(request)))) => pool.ask(&id, &request),
        Err(refusal) => pool.output().say(refusal.line()),
    }
}
