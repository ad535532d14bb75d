//! Functions that several test programs share.

#![allow(dead_code, reason = "each test file uses its own part")]

use oncilla_chess::{History, notation};
use serde_json::Value;
use std::path::Path;

/// The rows of a file of JSON lines.
pub fn json_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

/// The text named `key` in a row.
pub fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("{key} in {row}"))
}

/// The list of texts named `key` in a row; empty if the row has none.
pub fn words<'a>(row: &'a Value, key: &str) -> Vec<&'a str> {
    row[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The position of a row, or why it is not reachable.
pub fn position(row: &Value) -> Result<History, String> {
    let mut history = History::from_fen(text(row, "fen")).map_err(|e| e.to_string())?;
    for word in words(row, "moves") {
        let mv = notation::parse_move(history.board(), word).map_err(|e| e.to_string())?;
        history.push(mv);
    }
    Ok(history)
}
