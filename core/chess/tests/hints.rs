//! Compares the hints for the built-in networks with what the program that fitted them says of 40 positions each.

use oncilla_chess::hints::{Hints, HintsError, MAGIC};
use oncilla_chess::tactics::{OF_MOVE, OF_POSITION, look};
use oncilla_chess::{History, MoveList};
use serde_json::Value;
use std::path::PathBuf;

fn nets(name: &str) -> PathBuf {
    oncilla_testing::fixtures().join("nets").join(name)
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(nets(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().expect("an array").iter().map(|number| number.as_f64().expect("a number") as f32).collect()
}

fn close(got: f32, expected: f32, what: &str) {
    assert!((got - expected).abs() < 2e-5, "{what}: got {got}, expected {expected}");
}

fn check(network: &str) {
    let hints = Hints::from_bytes(&read(&format!("{network}.hints"))).expect("hints");
    let rows = String::from_utf8(read(&format!("{network}.hints.rows.jsonl"))).expect("text");
    assert!(rows.lines().count() >= 40);
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).expect("JSON");
        let fen = row["fen"].as_str().expect("a FEN");
        let history: History = History::from_fen(fen).expect("a position");
        let mut moves = MoveList::new();
        history.legal_moves(&mut moves);
        let (mut gains, mut seen) = (vec![0; moves.len()], vec![[0.0; OF_MOVE]; moves.len()]);
        let position = look(history.board(), &moves, &[], &mut gains, &mut seen);
        let policy: Vec<Vec<f32>> = moves.iter().map(|mv| numbers(&row["policy"][mv.to_string()])).collect();
        let mut logits: Vec<f32> = policy.iter().map(|both| both[0].max(1e-7).ln()).collect();
        let wdl = [0, 1].map(|at| numbers(&row["wdl"][at]));
        let mut corrected = [wdl[0][0], wdl[0][1], wdl[0][2]];
        hints.correct(&position, &seen, &mut logits, &mut corrected);
        let sum: f32 = logits.iter().map(|logit| logit.exp()).sum();
        for ((mv, logit), expected) in moves.iter().zip(&logits).zip(&policy) {
            close(logit.exp() / sum, expected[1], &format!("{network}, {fen}, {mv}"));
        }
        for (got, &expected) in corrected.into_iter().zip(&wdl[1]) {
            close(got, expected, &format!("{network}, {fen}, value"));
        }
    }
}

#[test]
fn the_default_networks_hints_say_what_they_said_when_they_were_fitted() {
    check("default");
}

#[test]
fn tinys_hints_say_what_they_said_when_they_were_fitted() {
    check("tiny");
}

#[test]
fn hints_of_zeros_change_nothing() {
    let mut bytes = MAGIC.to_vec();
    bytes.resize(Hints::BYTES, 0);
    let hints = Hints::from_bytes(&bytes).expect("hints");
    let (mut logits, mut wdl) = ([0.5, -1.0, 7.0], [0.25, 0.25, 0.5]);
    hints.correct(&[1.0; OF_POSITION], &[[1.0; OF_MOVE]; 3], &mut logits, &mut wdl);
    assert_eq!(logits, [0.5, -1.0, 7.0]);
    wdl.into_iter().zip([0.25, 0.25, 0.5]).for_each(|(got, expected)| close(got, expected, "value"));
}

#[test]
fn without_moves_nothing_is_corrected() {
    let mut wdl = [0.25, 0.25, 0.5];
    Hints::from_bytes(&read("tiny.hints")).expect("hints").correct(&[0.0; OF_POSITION], &[], &mut [], &mut wdl);
    assert_eq!(wdl, [0.25, 0.25, 0.5]);
}

#[test]
fn what_is_no_hints_is_refused() {
    let bytes = read("tiny.hints");
    assert_eq!(bytes.len(), Hints::BYTES);
    let refused = |bytes: &[u8]| Hints::from_bytes(bytes).expect_err("refused");
    assert_eq!(refused(b"ONHINTS1"), HintsError::Magic);
    assert_eq!(refused(&[]), HintsError::Magic);
    assert_eq!(refused(&bytes[..bytes.len() - 1]), HintsError::Length(bytes.len() - 1));
    let mut broken = bytes.clone();
    broken[48..52].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert_eq!(refused(&broken), HintsError::NotFinite(48));
    assert_eq!(refused(&broken).to_string(), "hints: expected a finite number at byte 48");
}
