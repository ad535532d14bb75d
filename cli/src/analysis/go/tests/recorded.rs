//! The reader of queries compared with KataGo itself: the queries of its recorded sessions, and its answers.

use oncilla_go::Color;
use serde_json::Value;
use std::collections::BTreeMap;

use crate::analysis::go::query::{Defaults, Query};
use crate::analysis::lines::InputLine;
use crate::analysis::request::{self, Request};
use crate::analysis::turns::{Accepted, Read};
use crate::go::{Known, Params};

/// The sessions in which every turn was answered.
const SESSIONS: [&str; 20] = [
    "s01_normal",
    "s02_analyze_turns",
    "s03_visits_pv",
    "s04_includes",
    "s05_avoid_allow",
    "s06_override",
    "s08_priority",
    "s09_terminate",
    "s11_actions",
    "s12_bad_json",
    "s13_bad_fields",
    "s14_warnings",
    "s14b_warnings_off",
    "s15_duplicate_ids",
    "s16_big_lines",
    "s17_eof",
    "s17b_eof_nonewline",
    "s17c_eof_immediately",
    "s20_big_board",
    "s22_concurrency",
];

/// Queries that get another answer here, with the reason: session, id, field and error.
const OTHERWISE: [(&str, &str, &str, &str); 7] = [
    // KataGo turns these into numbers of 32 bits.
    (
        "s02_analyze_turns",
        "floatturns",
        "analyzeTurns",
        "Must specify an array of integers indicating turns to analyze",
    ),
    ("s02_analyze_turns", "boolturns", "analyzeTurns", "Must specify an array of integers indicating turns to analyze"),
    ("s02_analyze_turns", "hugeturn", "analyzeTurns", "Invalid turn number: 4294967297"),
    ("s08_priority", "prios_float", "priorities", "Must specify an array of integers indicating priorities"),
    // KataGo never answers, so that a client would wait forever.
    ("s02_analyze_turns", "emptyturns", "analyzeTurns", "Must not be empty"),
    ("s08_priority", "prios_empty", "analyzeTurns", "Must not be empty"),
    // KataGo names the network's file.
    (
        "s06_override",
        "humanprofile",
        "overrideSettings",
        "Could not set settings: humanSLProfile is specified as config param but the network does not use it",
    ),
];

/// A query that KataGo refuses and that is accepted here: `whiteHandicapBonus` as the number 0, which its description
/// permits. By session and id, with KataGo's error.
const TAKEN: [(&str, &str, &str, &str); 1] = [("s13_bad_fields", "f093", "whiteHandicapBonus", "Must be a string")];

/// Warnings that are given here in addition, because the parameter does nothing here.
const BESIDE: [(&str, &str, &str); 2] = [
    ("s06_override", "clearcut", "Config params of KataGo's that have no effect here: antiMirror"),
    ("s06_override", "nnconfig", "Config params of KataGo's that have no effect here: nnRandomize"),
];

/// Behind these words KataGo names its configuration file.
const IN_FILE: &str = " in config file ";

/// All answers to the queries of one id.
#[derive(Debug, Default, PartialEq)]
struct Answers {
    /// Fields with their texts.
    errors: Vec<(String, String)>,
    warnings: Vec<(String, String)>,
    /// Numbers of the turns, and who is to move there, unless nothing was searched.
    turns: Vec<(usize, Option<Color>)>,
}

impl Answers {
    /// Sorts the turns, because they are answered in any order.
    fn sorted(mut self) -> Self {
        self.turns.sort_by_key(|(turn, _)| *turn);
        self
    }

    fn hear(&mut self, answer: &Value) {
        let text = |key: &str| answer[key].as_str().map(|text| text.split(IN_FILE).next().unwrap_or(text).to_string());
        let field = text("field").unwrap_or_default();
        if let Some(error) = text("error") {
            self.errors.push((field, error));
        } else if let Some(warning) = text("warning") {
            self.warnings.push((field, warning));
        } else if answer["isDuringSearch"] == false {
            let player = answer["rootInfo"]["currentPlayer"].as_str().map(|player| match player {
                "B" => Color::Black,
                _ => Color::White,
            });
            self.turns.push((answer["turnNumber"].as_u64().unwrap() as usize, player));
        }
    }

    fn read(&mut self, Read { query, warnings }: Read<Query>) {
        self.warnings.extend(warnings.into_iter().map(|bad| (bad.field, bad.error)));
        match query {
            Err(bad) => self.errors.push((bad.field, bad.error)),
            Ok(Accepted { query, turns }) => {
                let player = |&turn: &usize| (turn, Some(query.setup.game(turn).side_to_move()));
                self.turns.extend(turns.keys().map(player));
            }
        }
    }
}

/// The lines of a session that went in one direction.
fn lines<'s>(session: &'s [Value], way: &'s str) -> impl Iterator<Item = &'s str> {
    session.iter().filter(move |row| row["dir"] == way).filter_map(|row| row["line"].as_str())
}

/// The parameters of a session's configuration file.
fn params(session: &[Value]) -> Params {
    let mut params = Params::default();
    let config = session[0]["config"].as_str().unwrap();
    for (name, value) in config.lines().filter_map(|line| line.split_once('=')) {
        let set = params.set(name.trim(), value.trim());
        assert_eq!(set, Ok(Known::Yes), "{name}");
    }
    params
}

/// How the queries of a session are read here, by id.
fn read(session: &[Value]) -> BTreeMap<String, Answers> {
    let defaults = Defaults::new(params(session));
    let mut read: BTreeMap<String, Answers> = BTreeMap::new();
    for line in lines(session, "in") {
        let line = line.trim().trim_start_matches('\u{feff}').to_string();
        if let Ok(Some((id, Request::Query(object)))) = request::read(&InputLine::Text(line)) {
            let query = defaults.read(&id, &object);
            read.entry(id).or_default().read(query);
        }
    }
    read
}

/// What KataGo answered to these ids.
fn answered(session: &[Value], ids: &BTreeMap<String, Answers>) -> BTreeMap<String, Answers> {
    let mut answered: BTreeMap<String, Answers> = BTreeMap::new();
    for answer in lines(session, "out").filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let id = answer["id"].as_str().filter(|id| ids.contains_key(*id) && answer.get("action").is_none());
        if let Some(id) = id {
            answered.entry(id.to_string()).or_default().hear(&answer);
        }
    }
    answered
}

/// Compares a session. Returns for how many ids the answers were the same.
fn compare(name: &str, session: &[Value]) -> usize {
    let read = read(session);
    let mut answered = answered(session, &read);
    let mut same = 0;
    for (id, ours) in read {
        let mut theirs = answered.remove(&id).unwrap_or_default().sorted();
        let mut ours = ours.sorted();
        if let Some((.., text)) = BESIDE.iter().find(|row| (row.0, row.1) == (name, id.as_str())) {
            let warning = ("overrideSettings".to_string(), text.to_string());
            assert_eq!(ours.warnings.pop(), Some(warning), "{name} {id}");
        }
        if let Some((.., field, error)) = OTHERWISE.iter().find(|row| (row.0, row.1) == (name, id.as_str())) {
            let expected = [(field.to_string(), error.to_string())];
            assert!(ours.errors == expected && ours != theirs, "{name} {id}: {ours:?}, KataGo {theirs:?}");
            continue;
        }
        if let Some((.., field, error)) = TAKEN.iter().find(|row| (row.0, row.1) == (name, id.as_str())) {
            let refused = [(field.to_string(), error.to_string())];
            assert!(
                theirs.errors == refused && ours.errors.is_empty() && ours.turns.len() == 1,
                "{name} {id}: {ours:?}"
            );
            continue;
        }
        // For a query that was ended before it was searched, KataGo does not say who is to move.
        for (theirs, ours) in theirs.turns.iter_mut().zip(&ours.turns) {
            theirs.1 = theirs.1.or(ours.1);
        }
        assert_eq!(ours, theirs, "{name} {id}");
        same += 1;
    }
    same
}

#[test]
fn queries_are_read_as_katago_reads_them() {
    let Some(shared) = oncilla_testing::shared_path("oracle/katago") else { return };
    let mut same = 0;
    for name in SESSIONS {
        let text = std::fs::read_to_string(shared.join(format!("{name}.jsonl"))).unwrap();
        let session: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        same += compare(name, &session);
    }
    assert!(same > 200, "{same}");
}
