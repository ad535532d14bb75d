//! What the fuzzer calls: reads a line of input as the command does, without searching.

use std::sync::Arc;

use super::chess::{self, Defaults};
use super::crew::{refusal, warning_line};
use super::request::{self, Request};
use super::turns::Read;
use super::{go, lines};
use crate::fields::Object;
use crate::memory::bytes_of_mb;
use crate::options::Typed;

/// Parses the line of input that `bytes` contains, without searching. Returns the lines that answer it at once, and the
/// number of positions to search.
pub fn understand(bytes: &[u8]) -> (Vec<String>, usize) {
    let typed = Typed::default();
    let Ok(meaning) = typed.meaning() else { return (Vec::new(), 0) };
    let settings = Arc::new(chess::for_analysis(&meaning.settings));
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
