//! Tests the protocol of `oncilla analysis` with Go networks through the real binary: with a small network from the
//! repository, and against recorded KataGo sessions if they are at hand.

mod actions;
mod answers;
#[path = "../common/mod.rs"]
mod common;
#[path = "../driver/mod.rs"]
mod driver;
mod human;
mod recorded;
mod settings;

use common::json_lines;
use driver::{Analysis, ENDLESS, run, spawn, stderr, stdout};
use oncilla_testing::{fixtures, shared};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// The words that start the program with a small network on the host.
fn words(version: u32, args: &[&str]) -> Vec<String> {
    words_of(&format!("tiny-v{version}"), args)
}

/// Like [`words`], with a network for human play.
fn human(args: &[&str]) -> Vec<String> {
    words_of("tiny-human", &[&["--parallel=1", "--threads=1"], args].concat())
}

fn words_of(network: &str, args: &[&str]) -> Vec<String> {
    let weights = fixtures().join(format!("go/{network}.bin.gz"));
    let own = ["analysis".to_string(), "--backend=host".into(), format!("--weights={}", weights.display())];
    own.into_iter().chain(args.iter().map(|arg| arg.to_string())).collect()
}

/// The program's answers to the lines of `input`.
fn heard(words: &[String], input: &str) -> Vec<Value> {
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), input);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("Started, ready to begin handling requests"));
    stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn lines(queries: &[Value]) -> String {
    queries.iter().map(|query| format!("{query}\n")).collect()
}

fn answers(args: &[&str], queries: &[Value]) -> Vec<Value> {
    heard(&words(8, &[&["--parallel=1", "--threads=1"], args].concat()), &lines(queries))
}

/// A query with `fields`, and with the fields that every query needs.
fn query(fields: Value) -> Value {
    let mut query =
        json!({ "id": "a", "boardXSize": 9, "boardYSize": 9, "rules": "chinese", "moves": [], "maxVisits": 40 });
    query.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    query
}

/// The only answer to a query that has `fields` added.
fn one(fields: Value) -> Value {
    let all = answers(&[], &[query(fields)]);
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0].clone()
}

/// The answer to each of `queries`, in their order.
fn each(queries: &[Value]) -> Vec<Value> {
    let numbered: Vec<Value> = queries
        .iter()
        .enumerate()
        .map(|(at, fields)| {
            let mut query = query(fields.clone());
            query["id"] = json!(at.to_string());
            query
        })
        .collect();
    let mut all = answers(&[], &numbered);
    assert_eq!(all.len(), queries.len(), "{all:#?}");
    all.sort_by_key(|answer| answer["id"].as_str().unwrap().parse::<usize>().unwrap());
    all
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}"))
}

fn keys(value: &Value) -> Vec<&str> {
    object(value).keys().map(String::as_str).collect()
}

fn infos(answer: &Value) -> &Vec<Value> {
    answer["moveInfos"].as_array().unwrap_or_else(|| panic!("no moves: {answer}"))
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

/// The column and row of a vertex, from the left and from the top; `None` for a pass.
fn point(vertex: &str, rows: usize) -> Option<(usize, usize)> {
    let column = "ABCDEFGHJKLMNOPQRST".find(vertex.chars().next()?)?;
    Some((column, rows - vertex[1..].parse::<usize>().ok()?))
}

/// Checks properties that every answer must have.
fn check(answer: &Value) {
    check_with(answer, 1.0);
}

/// Checks an answer in which each move has at least so many visits by the root.
fn check_with(answer: &Value, least: f64) {
    let root = &answer["rootInfo"];
    let own = infos(answer).iter().filter(|info| info["isSymmetryOf"].is_null());
    let visits: u64 = own.map(|info| info["edgeVisits"].as_u64().unwrap()).sum();
    assert_eq!(visits + 1, root["visits"].as_u64().unwrap(), "the root's own evaluation is one of its visits: {root}");
    assert_eq!(root["lcb"], root["winrate"]);
    assert!(root["rawStWrError"] != -0.5 || number(root, "weight") <= number(root, "visits"), "{root}");
    for (order, info) in infos(answer).iter().enumerate() {
        assert_eq!(info["order"], order);
        assert_eq!((&info["pv"][0], &info["scoreMean"]), (&info["move"], &info["scoreLead"]));
        assert!((0.0..=1.0).contains(&number(info, "winrate")), "{info}");
        let [visits, by_root] = ["visits", "edgeVisits"].map(|name| number(info, name));
        assert!(visits >= by_root.max(1.0) && by_root >= least, "{info}");
    }
    let named: BTreeSet<&str> = infos(answer).iter().map(|info| info["move"].as_str().unwrap()).collect();
    assert_eq!(named.len(), infos(answer).len(), "a move comes once");
}

/// Starts the program with a small network.
fn start(args: &[&str]) -> Analysis {
    Analysis::with(&words(8, args).iter().map(String::as_str).collect::<Vec<_>>())
}

/// The program's output on standard error.
fn said(args: &[&str], queries: &[Value]) -> String {
    let words = words(8, args);
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), &lines(queries));
    assert!(output.status.success(), "{}", stderr(&output));
    stderr(&output)
}

/// Recorded sessions with queries.
const RECORDED: [&str; 11] = [
    "s01_normal",
    "s02_analyze_turns",
    "s03_visits_pv",
    "s04_includes",
    "s05_avoid_allow",
    "s06_override",
    "s08_priority",
    "s14_warnings",
    "s15_duplicate_ids",
    "s20_big_board",
    "s22_concurrency",
];

/// Queries that are refused here, because their turns or priorities are not 32-bit integers.
const REFUSED: [&str; 4] = ["floatturns", "boolturns", "hugeturn", "prios_float"];

/// The final answers by id and turn, each in their order.
fn finals(answers: &[Value]) -> BTreeMap<(String, u64), Vec<&Value>> {
    let mut finals: BTreeMap<_, Vec<&Value>> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer["isDuringSearch"] == false) {
        let (id, turn) = (answer["id"].as_str().unwrap().to_string(), answer["turnNumber"].as_u64().unwrap());
        finals.entry((id, turn)).or_default().push(answer);
    }
    finals.retain(|(id, _), _| !REFUSED.contains(&id.as_str()));
    finals
}
