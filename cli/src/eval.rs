//! `oncilla eval`: evaluates positions with the network alone. It reads and writes JSON lines.
//!
//! A line of input is `{"fen": "…", "moves": ["e2e4", …], "id": "…"}`; each field may be missing. For each there is a
//! line of output, in the same order: `{"q", "d", "m", "e", "policy": {"e2e4": 0.66, …}}`. q = W − L and d are those of
//! the side to move, m is in plies, and e is the squared error of q that the network expects (m and e are missing if
//! the network has no head for them). The policy is a softmax over the legal moves at temperature 1. Castling is
//! written as the king's own two squares, or as king takes rook if the input has `"chess960": true`. A line with an
//! error is answered with `{"error": "…"}`. An `id` may be any JSON value, and is part of the answer in both cases.

mod chess;
mod go;

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::mpsc::Receiver;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::console::Console;
use crate::fields::Object;
use crate::input::{Input, TOO_LONG, listen};
use crate::network::EvaluatorSettings;
use crate::subject::model;

/// The most lines that are evaluated together.
const BATCH: usize = 64;

/// Evaluates positions of one game with a network.
trait Oracle {
    /// A position, with what a line of input says about its evaluation.
    type Position;
    /// What the network says about a position.
    type Answer: Serialize;

    /// The most positions that are evaluated together.
    fn most(&self) -> usize;

    /// Parses a line.
    ///
    /// # Errors
    /// In one line: not a JSON object, or a field that is wrong.
    fn understand(&self, line: &str) -> Result<Self::Position, String>;

    /// Evaluates the positions; for each there is an answer, or why there is none.
    ///
    /// # Errors
    /// In one line: no device, or a backend that fails.
    fn answer(&mut self, positions: &[&Self::Position]) -> Result<Vec<Result<Self::Answer, String>>, String>;
}

#[derive(Serialize)]
struct Refusal {
    error: String,
}

/// A line of output: an answer or an error, with the id of the input.
#[derive(Serialize)]
struct Named<T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Box<RawValue>>,
    #[serde(flatten)]
    said: T,
}

/// A line of input with its id: a position, or the error in it.
struct Read<P> {
    id: Option<Box<RawValue>>,
    line: Result<P, String>,
}

/// Answers every line of `input`; with `chess960`, castling is written as king takes rook in all of them.
///
/// # Errors
/// In one line: no network, no device, or a backend that fails.
pub fn run(
    settings: &EvaluatorSettings,
    chess960: bool,
    input: impl BufRead + Send + 'static,
    console: &Console,
) -> Result<(), String> {
    match model(settings)? {
        Some(model) => answer_all(go::Oracle::new(model, settings), input, console),
        None => answer_all(chess::Oracle::new(settings, chess960)?, input, console),
    }
}

fn answer_all(mut oracle: impl Oracle, input: impl BufRead + Send + 'static, console: &Console) -> Result<(), String> {
    let lines = listen(input)?;
    loop {
        let read = next_lines(&lines, &oracle);
        if read.is_empty() {
            return Ok(());
        }
        let positions: Vec<_> = read.iter().filter_map(|read| read.line.as_ref().ok()).collect();
        let mut answers = oracle.answer(&positions)?.into_iter();
        let line = |Read { id, line }| match line.map(|_| answers.next()) {
            Ok(Some(Ok(answer))) => say(id, answer),
            Ok(Some(Err(error))) | Err(error) => say(id, Refusal { error }),
            Ok(None) => Err("no answer came".to_string()),
        };
        console.say_all(&read.into_iter().map(line).collect::<Result<Vec<_>, _>>()?);
    }
}

/// A line of output.
fn say(id: Option<Box<RawValue>>, said: impl Serialize) -> Result<String, String> {
    serde_json::to_string(&Named { id, said }).map_err(|error| error.to_string())
}

/// Reads the lines that are available, as many as are evaluated together, and waits for the first one. Empty at the end
/// of the input.
fn next_lines<O: Oracle>(lines: &Receiver<Input>, oracle: &O) -> Vec<Read<O::Position>> {
    let mut read = Vec::new();
    while read.len() < oracle.most() {
        let next = if read.is_empty() { lines.recv().ok() } else { lines.try_recv().ok() };
        match next {
            Some(Input::Line(line)) if line.trim_ascii().is_empty() => {}
            Some(Input::Line(line)) => read.push(Read { id: id_in(&line), line: oracle.understand(&line) }),
            Some(Input::TooLong(_)) => read.push(Read { id: None, line: Err(TOO_LONG.to_string()) }),
            None => break,
        }
    }
    read
}

/// The id of a line as it is written there, even if the rest of the line is wrong.
fn id_in(line: &str) -> Option<Box<RawValue>> {
    let mut fields: HashMap<String, Box<RawValue>> = serde_json::from_str(line).ok()?;
    fields.remove("id").filter(|id| id.get() != "null")
}

/// The object that is a line; `expected` says which one.
///
/// # Errors
/// In one line: what the line is instead, and where.
fn object(line: &str, expected: &str) -> Result<Object, String> {
    serde_json::from_str(line).map_err(|error| {
        let (text, column) = (error.to_string(), error.column());
        // The line that the library counts is always the first.
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("expected {expected}: {what} at column {column}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tests::SharedBuffer;
    use crate::network::BackendKind;
    use crate::options::Typed;
    use serde_json::{Value, json};

    fn answers(input: &str) -> Vec<Value> {
        let mut settings = Typed::default().meaning().unwrap().settings.evaluator;
        settings.backend = BackendKind::Random;
        let buffer = SharedBuffer::default();
        let console = Console::new(Box::new(buffer.clone()));
        run(&settings, false, std::io::Cursor::new(input.to_string().into_bytes()), &console).unwrap();
        buffer.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn answers_come_in_order_and_errors_stand_in_their_place() {
        let answers = answers(
            "{}\nnonsense\n\n{\"fen\":\"8/8 w\"}\n{\"moves\":[\"e2e4\",\"e2e4\"]}\n{\"moves\":[\"e2e4\"]}\n{\"moves\":7}\n",
        );
        assert_eq!(answers.len(), 6);
        let is_error = |value: &Value| value["error"].is_string();
        assert_eq!(answers.iter().map(is_error).collect::<Vec<_>>(), [false, true, true, true, false, true]);
        assert!(answers[3]["error"].as_str().unwrap().starts_with("move 2 of 2: bad move"));
        assert!(answers[0]["policy"]["e2e4"].is_f64());
        assert!(answers[4]["policy"]["e7e5"].is_f64());
    }

    #[test]
    fn a_name_comes_back_whatever_it_is() {
        let answers =
            answers("{\"id\":\"a\"}\n{\"id\":[1,{}],\"fen\":\"8/8 w\"}\n{\"id\":7,\"colour\":\"w\"}\n{\"id\":null}\n");
        let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(ids, [&json!("a"), &json!([1, {}]), &json!(7), &Value::Null]);
        let are_errors: Vec<bool> = answers.iter().map(|answer| answer["error"].is_string()).collect();
        assert_eq!(are_errors, [false, true, true, false]);
        assert!(answers[3].get("id").is_none());
    }

    /// A number may be longer than any type has digits for.
    #[test]
    fn a_name_comes_back_as_it_was_written() {
        let mut settings = Typed::default().meaning().unwrap().settings.evaluator;
        settings.backend = BackendKind::Random;
        let said = |input: &str| {
            let buffer = SharedBuffer::default();
            let console = Console::new(Box::new(buffer.clone()));
            run(&settings, false, std::io::Cursor::new(input.to_string().into_bytes()), &console).unwrap();
            buffer.lines().concat()
        };
        for id in ["12345678901234567890123", "1e400", "[ 1,2 ]", "\"\\u0061\""] {
            let name = format!("{{\"id\":{id},");
            assert!(said(&format!("{{\"id\": {id}}}\n")).starts_with(&name), "{id}");
            assert!(said(&format!("{{\"fen\": 5, \"id\": {id}}}\n")).starts_with(&name), "{id}");
        }
    }

    #[test]
    fn an_error_names_the_field_or_the_place() {
        let error = |line: &str| answers(line)[0]["error"].as_str().unwrap().to_string();
        assert_eq!(error("{\"fen\":5}"), "fen: Must be a string");
        assert_eq!(error("{\"moves\":[\"e2e4\",7]}"), "moves: Must be a list of strings");
        assert_eq!(error("{\"colour\":\"w\"}"), "unknown field `colour`, expected one of fen, moves, chess960, id");
        let of_nonsense = error("{}x");
        assert!(
            of_nonsense.starts_with("expected an object with fen, ") && of_nonsense.ends_with(" at column 3"),
            "{of_nonsense}"
        );
    }

    #[test]
    fn the_policy_adds_up_to_one() {
        let many = "{\"moves\":[\"e2e4\"]}\n{}\n".repeat(100);
        let answers = answers(&many);
        assert_eq!(answers.len(), 200);
        for answer in &answers {
            let policy = answer["policy"].as_object().unwrap();
            assert_eq!(policy.len(), 20);
            let sum: f64 = policy.values().map(|p| p.as_f64().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        }
        assert_eq!(answers[0], answers[198]);
        assert_ne!(answers[0]["q"], answers[1]["q"]);
    }

    #[test]
    fn castling_is_written_as_asked() {
        let fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        let answers = answers(&format!("{{\"fen\":\"{fen}\"}}\n{{\"fen\":\"{fen}\",\"chess960\":true}}\n"));
        assert!(answers[0]["policy"]["e1g1"].is_f64() && answers[0]["policy"]["e1h1"].is_null());
        assert!(answers[1]["policy"]["e1h1"].is_f64() && answers[1]["policy"]["e1g1"].is_null());
    }

    #[test]
    fn a_position_without_moves_has_an_empty_policy() {
        let answers = answers("{\"fen\":\"7k/5Q2/6K1/8/8/8/8/8 b - - 0 1\"}");
        assert!(answers[0]["policy"].as_object().unwrap().is_empty());
        assert!(answers[0]["q"].is_number());
    }
}
