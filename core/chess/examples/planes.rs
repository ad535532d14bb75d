//! Prints a position's input planes and policy indices, for programs that make the same and want to compare.
//!
//! Reads JSON lines `{"fen","moves"}` (castling is king takes rook) and answers each with a line `{"planes","nnidx"}`:
//! planes of input format 1 that are not empty, by number, as `[mask in hexadecimal, value]`; and every legal move with
//! its index. `fixtures/train/check_encoding.py` runs it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use oncilla_chess::planes::{HistoryFill, InputFormat, Planes, encode};
use oncilla_chess::{Castling, History, MoveList, notation, policy};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        writeln!(out, "{}", answer(&row)?)?;
    }
    Ok(out.flush()?)
}

fn answer(row: &Value) -> Result<Value, String> {
    let fen = row["fen"].as_str().ok_or("fen: a string expected")?;
    let mut history = <History>::from_fen(fen).map_err(|e| format!("{fen}: {e}"))?;
    for text in row["moves"].as_array().ok_or("moves: a list expected")? {
        let text = text.as_str().ok_or("moves: strings expected")?;
        let mv = notation::parse_move(history.board(), text).map_err(|e| format!("{fen}, {text}: {e}"))?;
        history.push(mv);
    }
    let mut planes = Planes::default();
    let format = InputFormat::from_number(1).ok_or("input format 1 is not known")?;
    let transform = encode(&history, format, HistoryFill::FenOnly, &mut planes);
    let full: BTreeMap<String, Value> = planes
        .as_array()
        .iter()
        .enumerate()
        .filter(|(_, plane)| plane.mask != 0)
        .map(|(number, plane)| (number.to_string(), json!([format!("{:x}", plane.mask), plane.value])))
        .collect();
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    let index: BTreeMap<String, u16> = moves
        .iter()
        .map(|&mv| {
            (
                notation::format_move(history.board(), mv, Castling::Chess960).to_string(),
                policy::index(mv, history.side_to_move(), transform),
            )
        })
        .collect();
    Ok(json!({"planes": full, "nnidx": index}))
}
