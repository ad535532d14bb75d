//! `oncilla analysis`: KataGo's parallel analysis engine for chess, and for Go ([`go`]) if the network is one of
//! KataGo's. It reads and writes JSON lines; many positions are searched at the same time, with one evaluator.
//!
//! ```text
//! stdin ──► lines ──► request ──► actions ─────────────────────────► output ──► stdout
//!                        └──────► query ──► queue ──► workers ──────────┘
//!                                                       └─► a tree each, one Evaluator
//! ```
//!
//! The thread that reads the input also writes everything that needs no search: errors, warnings and the answers to
//! actions. It turns a query into turns in the queue, which keep a game in two bytes per move. When the queue has used
//! its share of `--queue-mb`, no more input is read. Answers are kept until the client reads them; when they have used
//! their share, a search that has ended waits until there is room for its answer. Each worker has a tree of its own.
//! Every accepted turn gets exactly one line with `isDuringSearch` false, however it ends.
//!
//! What depends on the game is in `chess` and [`go`]: the queue and its workers (`crew`), the output, the actions and the
//! order of turns are the same for both.

mod actions;
mod chess;
mod crew;
mod due;
mod fuzzing;
pub mod go;
mod lines;
mod output;
mod overriding;
mod pool;
mod queue;
mod request;
mod single;
#[cfg(test)]
mod tests;
mod turns;
mod waiting;

use std::io::BufRead;
use std::sync::Arc;

pub use chess::Pool;
pub use fuzzing::{understand, understand_go};
pub use output::{Heard, Output};
use request::Request;

use crate::console::{Console, aside, aside_as_is};
use crate::fields::Object;
use crate::line;
use crate::memory::bytes_of_mb;
use crate::options::{Typed, overrides};

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
        |typed: &Typed| typed.meaning().is_ok_and(|meaning| crate::subject::is_go(&meaning.settings.evaluator));
    let has = |typed: &Typed, name: &str| crate::go::Params::heeds(typed, name) && is_of_go(typed);
    let (typed, said) = overrides::apply(&switches.overrides, typed, has)?;
    said.iter().for_each(|line| aside(line));
    let meaning = typed.meaning()?;
    console.log_to(meaning.log_file.as_deref())?;
    let output = Output::new(Arc::clone(&console), bytes_of_mb(meaning.analysis.queue_mb) / ANSWERS_SHARE)
        .map_err(|error| format!("no thread for the answers: {error}"))?;
    let pool: Box<dyn Analyst> = match crate::subject::model(&meaning.settings.evaluator)? {
        Some(model) => Box::new(go::Pool::start(model, &typed, &meaning, output)?),
        None => match &meaning.human_model {
            Some(human) => {
                return Err(format!("--human-model: expected it with a network of Go's in --weights, got {human}"));
            }
            None => Box::new(Pool::start(typed, &meaning, output)?),
        },
    };
    aside(&format!("{}, {} positions at a time", pool.describe(), pool.parallel()));
    aside_as_is(READY);
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

/// Answers a line, or queues it.
fn handle_line(pool: &dyn Analyst, line: &lines::InputLine) {
    match request::read(line) {
        Ok(None) => {}
        Ok(Some((id, Request::Action(action, request)))) => pool.obey(&id, &action, request),
        Ok(Some((id, Request::Query(request)))) => pool.ask(&id, &request),
        Err(refusal) => pool.output().say(refusal.line()),
    }
}
