//! Compares input planes, transforms, counters and policy indices with numbers that Lc0 recorded.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use oncilla_chess::planes::{HistoryFill, InputFormat, Planes, encode};
use oncilla_chess::{Castling, Color, FenField, History, Move, MoveList, Square, Transform, notation, policy};
use serde_json::Value;

/// Recorded positions whose FEN is refused: White's knight on e2 attacks Black's king, and it is White's move.
const UNREACHABLE: [u64; 2] = [172, 173];

/// The bit of [`Transform::bits`] for the transpose.
const TRANSPOSE: u8 = 4;

#[test]
fn sampled_inputs_are_met_bit_for_bit() {
    let path = oncilla_testing::fixtures().join("planes.jsonl");
    assert_eq!(check(BufReader::new(File::open(path).unwrap())), (60, 0));
}

#[test]
fn every_recorded_input_is_met_bit_for_bit() {
    let Some(path) = oncilla_testing::shared_path("oracle/encoder_planes.jsonl.gz") else { return };
    let rows = BufReader::new(GzDecoder::new(File::open(path).unwrap()));
    let refused = 18;
    assert_eq!(check(rows), (3887 - refused, refused));
}

/// Compares every row. Returns how many rows were met, and how many are in [`UNREACHABLE`].
fn check(rows: impl BufRead) -> (usize, usize) {
    let (mut met, mut refused) = (0, 0);
    for line in rows.lines() {
        let row: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if UNREACHABLE.contains(&row["id"].as_u64().unwrap()) {
            let error = <History>::from_fen(row["fen"].as_str().unwrap()).unwrap_err();
            assert_eq!(error.field, FenField::SideToMove);
            refused += 1;
            continue;
        }
        let found = differences(&row);
        let place = format!("row {}, format {}, fill {}", row["id"], row["input_format"], row["history_fill"]);
        assert!(found.is_empty(), "{place}: {found:#?}");
        met += 1;
    }
    (met, refused)
}

/// Everything in which a row and this crate differ, in words.
fn differences(row: &Value) -> Vec<String> {
    let history = play(row);
    let format = InputFormat::from_number(row["input_format"].as_u64().unwrap() as u32).unwrap();
    let mut planes = Planes::default();
    let transform = encode(&history, format, fill(row), &mut planes);

    let mut found = Vec::new();
    let mut compare = |what: &str, expected: String, got: String| {
        if expected != got {
            found.push(format!("{what}: expected {expected}, got {got}"));
        }
    };
    compare("transform", row["transform"].to_string(), transform.bits().to_string());
    compare("rule50", row["rule50"].to_string(), history.rule50().to_string());
    compare("reps", row["reps"].to_string(), history.repetitions().to_string());
    compare("black", row["black"].to_string(), (history.side_to_move() == Color::Black).to_string());
    for (number, plane) in planes.as_array().iter().enumerate() {
        let got = (plane.mask, plane.value.to_bits());
        // Empty planes are not recorded; their value is never seen.
        let expected = recorded_plane(row, number).unwrap_or((0, got.1));
        compare(&format!("plane {number}"), format!("{expected:x?}"), format!("{got:x?}"));
    }
    let expected: BTreeMap<String, u16> = serde_json::from_value(row["nnidx"].clone()).unwrap();
    let got = policy_indices(&history, row["chess960"].as_bool().unwrap(), transform);
    compare("policy indices", format!("{expected:?}"), format!("{got:?}"));
    found
}

fn play(row: &Value) -> History {
    let mut history = History::from_fen(row["fen"].as_str().unwrap()).unwrap();
    for text in row["moves"].as_array().unwrap() {
        let mv = notation::parse_move(history.board(), text.as_str().unwrap()).unwrap();
        history.push(mv);
    }
    history
}

fn fill(row: &Value) -> HistoryFill {
    match row["history_fill"].as_str().unwrap() {
        "no" => HistoryFill::No,
        "fen_only" => HistoryFill::FenOnly,
        "always" => HistoryFill::Always,
        other => panic!("history fill {other}"),
    }
}

/// The mask of a recorded plane, and the bits of its value.
fn recorded_plane(row: &Value, number: usize) -> Option<(u64, u32)> {
    let plane = row["planes"].get(number.to_string())?;
    let mask = u64::from_str_radix(plane[0].as_str().unwrap(), 16).unwrap();
    Some((mask, (plane[1].as_f64().unwrap() as f32).to_bits()))
}

/// What Lc0 should have recorded: every legal move with its index.
fn policy_indices(history: &History, chess960: bool, transform: Transform) -> BTreeMap<String, u16> {
    let mut moves = MoveList::new();
    history.legal_moves(&mut moves);
    let index = |mv| match transform.bits() & TRANSPOSE {
        0 => policy::index(mv, history.side_to_move(), transform),
        _ => index_as_recorded(mv, history.side_to_move()),
    };
    let text = |mv| notation::format_move(history.board(), mv, Castling::of(chess960)).to_string();
    moves.iter().map(|&mv| (text(mv), index(mv))).collect()
}

/// The index of a transposed move as the recording engine computes it.
///
/// The recording engine turns the planes by flip, mirror and transpose, but turns the squares of a move only by half a
/// turn of the board, so its policy does not fit its planes. This crate turns both alike; here the same mistake is made
/// so that the recorded numbers are met.
fn index_as_recorded(mv: Move, mover: Color) -> u16 {
    let recorded = |square: Square| square.relative_to(mover).flip_file().flip_rank();
    let mv = Move { from: recorded(mv.from), to: recorded(mv.to), promotion: mv.promotion };
    policy::index(mv, Color::White, Transform::NONE)
}

/// No recorded number shows the true index of a transposed move. It must join squares of the turned planes.
#[test]
fn the_policy_turns_with_the_planes() {
    let transposed = ["k7/8/1K6/8/8/8/8/7R w - -", "7k/5Q2/6K1/8/8/8/8/8 w - -", "8/8/8/2bk4/8/2KB4/8/8 w - -"];
    for fen in transposed {
        let history = <History>::from_fen(fen).unwrap();
        let mut planes = Planes::default();
        let transform = encode(&history, InputFormat::Canonical, HistoryFill::FenOnly, &mut planes);
        assert_eq!(transform.bits() & TRANSPOSE, TRANSPOSE, "{fen}");
        let ours = planes.as_array()[..6].iter().fold(0, |all, plane| all | plane.mask);
        let mut moves = MoveList::new();
        history.legal_moves(&mut moves);
        for &mv in &moves {
            let (from, to, _) = policy::entry(policy::index(mv, Color::White, transform));
            assert_eq!(ours >> from as u32 & 1, 1, "{fen}: {mv} leaves a square where the planes have no piece");
            assert_eq!(ours >> to as u32 & 1, 0, "{fen}: {mv} enters a square that the mover holds");
        }
    }
}
