//! Tests the protocol of `oncilla analysis` through the real binary.

mod actions;
mod answers;
#[path = "../common/mod.rs"]
mod common;
#[path = "../driver/mod.rs"]
mod driver;
mod errors;
#[path = "../requests/mod.rs"]
mod requests;
mod sessions;
mod settings;

use driver::{Analysis, ENDLESS, Engine, run, spawn, stderr, stdout};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;

/// The answers to `input`, which is sent at once.
fn answers(args: &[&str], input: &str) -> Vec<Value> {
    let all = [&["analysis", "--backend=random", "--parallel=2"], args].concat();
    let output = run(&all, input);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("Started, ready to begin handling requests"));
    stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn of<'a>(answers: &'a [Value], id: &str) -> Vec<&'a Value> {
    answers.iter().filter(|answer| answer["id"] == id).collect()
}

/// The only answer to a query.
fn one(query: Value) -> Value {
    let all = answers(&[], &format!("{query}\n"));
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0].clone()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn start(args: &[&str]) -> Analysis {
    Analysis::with(&[&["analysis", "--backend=random"], args].concat())
}

fn moves_of(answer: &Value) -> Vec<&str> {
    answer["moveInfos"].as_array().unwrap().iter().map(|info| info["move"].as_str().unwrap()).collect()
}
