//! `oncilla analysis` against recorded conversations with KataGo: the same requests, put into chess, get as many answers of
//! the same kinds, about the same fields and turns. Texts and numbers are not compared, and partial reports are left out.

mod common;
mod driver;

use common::{json_lines, shared};
use driver::{run, say, stdout};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

type Object = Map<String, Value>;

/// Conversations, and what each is about.
const RECORDED: [&str; 19] = [
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
    "s15_duplicate_ids",
    "s17_eof",
    "s17b_eof_nonewline",
    "s17c_eof_immediately",
    "s18c_nul_byte",
    "s20_big_board",
    "s22_concurrency",
];

/// Where we answer otherwise: what KataGo answers, what we answer, and why.
const OTHERWISE: [(&str, &str, &[&str], &str); 8] = [
    ("s02_analyze_turns", "emptyturns", &["error analyzeTurns"], "a client that waits for the query must hear of it"),
    ("s02_analyze_turns", "floatturns", &["error analyzeTurns"], "1.7 is not cut off to 1"),
    ("s02_analyze_turns", "boolturns", &["error analyzeTurns"], "true is no turn"),
    ("s02_analyze_turns", "hugeturn", &["error analyzeTurns"], "2^32 + 1 does not become 1"),
    ("s08_priority", "prios_empty", &["error analyzeTurns"], "as above"),
    ("s08_priority", "prios_float", &["error priorities"], "1.9 is not cut off to 1"),
    ("s09_terminate", "t11", &["error turnNumbers"], "1.7 and true are no turns"),
    ("s13_bad_fields", "f005", &["final 0"], "rules are chess, where nothing is said"),
];

/// Fields that only Go has. Here they get a warning each.
const OF_GO: [&str; 11] = [
    "boardXSize",
    "boardYSize",
    "includeMovesOwnership",
    "includeMovesOwnershipStdev",
    "includeNoResultValue",
    "includeOwnership",
    "includeOwnershipStdev",
    "initialPlayer",
    "initialStones",
    "komi",
    "whiteHandicapBonus",
];

/// A game without an end, for any number of moves.
const GAME: [&str; 8] = ["g1f3", "g8f6", "f3g1", "f6g8", "b1c3", "b8c6", "c3b1", "c6b8"];

/// What a line of answer is, in a word or two.
fn kind(answer: &Value) -> Option<String> {
    let field = answer["field"].as_str();
    if answer["error"].is_string() {
        // KataGo does not say which field an unknown action is in.
        return Some(format!("error {}", field.filter(|field| *field != "action").unwrap_or("")));
    }
    if answer["warning"].is_string() {
        return Some(format!("warning {}", field.unwrap_or("")));
    }
    if let Some(action) = answer["action"].as_str() {
        return Some(format!("echo {action}"));
    }
    let is_partial = answer["isDuringSearch"].as_bool()?;
    (!is_partial).then(|| format!("final {}", answer["turnNumber"]))
}

/// The kinds of all answers to each id; under the empty name those to what had no id that KataGo could read.
fn by_id(answers: impl Iterator<Item = Value>) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for answer in answers {
        let Some(kind) = kind(&answer) else { continue };
        let nameless = kind == "error ";
        let id = answer["id"].as_str().filter(|_| !nameless).unwrap_or("").to_string();
        all.entry(id).or_default().push(kind);
    }
    all.values_mut().for_each(|kinds| kinds.sort_unstable());
    all
}

/// A recorded request in chess. `None` if it is about Go.
fn in_chess(line: &str, refused: Option<&Value>) -> Option<String> {
    let Ok(Value::Object(mut request)) = serde_json::from_str::<Value>(line) else { return Some(line.to_string()) };
    if request.get("action").is_some_and(Value::is_string) || !request.get("id").is_some_and(Value::is_string) {
        return Some(line.to_string());
    }
    let field = refused.and_then(|error| error["field"].as_str()).unwrap_or("");
    if OF_GO.contains(&field) {
        return None;
    }
    OF_GO.iter().for_each(|field| drop(request.remove(*field)));
    if field != "rules" {
        request.remove("rules");
    }
    let text = refused.and_then(|error| error["error"].as_str()).unwrap_or("");
    put_moves(&mut request, text);
    put_rules(&mut request, text);
    put_settings(&mut request)?;
    Some(Value::Object(request).to_string())
}

/// Moves of chess for moves of Go, but for what is no move in Go either.
fn put_moves(request: &mut Object, error: &str) {
    let illegal = error.strip_prefix("Illegal move ").and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
    let Some(list) = request.get_mut("moves").and_then(Value::as_array_mut) else { return };
    let is_shape = error.starts_with("Must") || error.starts_with("Could not parse player");
    for (ply, pair) in list.iter_mut().enumerate() {
        let Some([player, at]) = pair.as_array_mut().map(Vec::as_mut_slice) else { continue };
        if player.as_str().is_some_and(|text| matches!(text.to_lowercase().as_str(), "b" | "w" | "black" | "white")) {
            *player = json!(if ply % 2 == 0 { "W" } else { "b" });
        }
        let is_no_place =
            error.starts_with("Could not parse board location") && error.ends_with(at.as_str().unwrap_or(""));
        if at.is_string() && !is_no_place && !(is_shape && at == "") {
            *at = json!(if illegal == Some(ply) { "a1a8" } else { GAME[ply % GAME.len()] });
        }
    }
}

/// Which moves to avoid: other moves, but for what is no move in Go either.
fn put_rules(request: &mut Object, error: &str) {
    for field in ["avoidMoves", "allowMoves"] {
        for rule in request.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            let moves = rule.get_mut("moves").and_then(Value::as_array_mut).into_iter().flatten();
            for (number, at) in moves.enumerate().filter(|(_, at)| at.is_string()) {
                if !error.starts_with("Could not parse board location") {
                    *at = json!(["a2a3", "b2b3", "c2c3", "a7a6", "b7b6", "c7c6"][number % 6]);
                }
            }
        }
    }
}

/// Our options for KataGo's. `None` where it is about a setting that there is no counterpart of.
fn put_settings(request: &mut Object) -> Option<()> {
    let Some(settings) = request.get_mut("overrideSettings").and_then(Value::as_object_mut) else { return Some(()) };
    let ours = |name: &str| match name {
        "cpuctExploration" => Some("CPuct"),
        "rootSymmetryPruning" => Some("TwoFoldDraws"),
        "nnCacheSizePowerOfTwo" => Some("NNCacheMb"),
        _ => None,
    };
    if settings.contains_key("humanSLProfile") {
        return None;
    }
    for name in
        ["winLossUtilityFactor", "wideRootNoise", "playoutDoublingAdvantage", "ignorePreRootHistory", "antiMirror"]
    {
        settings.remove(name);
    }
    for name in ["rootNumSymmetriesToSample", "maxPlayouts", "nnRandomize", "conservativePass"] {
        settings.remove(name);
    }
    *settings = std::mem::take(settings)
        .into_iter()
        .map(|(name, value)| (ours(&name).map_or(name, str::to_string), value))
        .collect();
    Some(())
}

#[test]
fn recorded_conversations() {
    let Some(shared) = shared() else { return };
    let mut compared: BTreeMap<String, usize> = BTreeMap::new();
    let mut requests = 0;
    let mut differences = Vec::new();
    for name in RECORDED {
        let rows = json_lines(&shared.join("oracle/katago").join(format!("{name}.jsonl")));
        let answer = |row: &Value| serde_json::from_str::<Value>(row["line"].as_str()?).ok();
        let mut theirs = by_id(rows.iter().filter(|row| row["dir"] == "out").filter_map(answer));
        let refused = |id: &str| {
            let answers = rows.iter().filter(|row| row["dir"] == "out").filter_map(answer);
            answers.into_iter().find(|answer| answer["id"] == id && answer["error"].is_string())
        };
        let mut input = String::new();
        for row in rows.iter().filter(|row| row["dir"] == "in") {
            let line = row["line"].as_str().unwrap_or_else(|| panic!("{name}: {row}"));
            let id =
                serde_json::from_str::<Value>(line).ok().and_then(|request| Some(request["id"].as_str()?.to_string()));
            let error = id.as_deref().and_then(refused);
            match in_chess(line, error.as_ref()) {
                Some(line) => {
                    requests += 1;
                    input += &format!("{line}\n");
                }
                None => drop(theirs.remove(&id.unwrap_or_default())),
            }
        }
        // Warnings about rules are Go's.
        theirs.values_mut().for_each(|kinds| kinds.retain(|kind| kind != "warning rules"));
        for (_, id, answers, _) in OTHERWISE.iter().filter(|(scenario, ..)| *scenario == name) {
            if theirs.contains_key(*id) || input.contains(&format!("\"id\":\"{id}\"")) {
                theirs.insert(id.to_string(), answers.iter().map(|kind| kind.to_string()).collect());
            }
        }
        let output = run(&["analysis", "--backend=random", "--parallel=2", "--max-visits=50"], &input);
        assert!(output.status.success());
        let lines = stdout(&output);
        let ours = by_id(lines.lines().map(|line| serde_json::from_str(line).unwrap()));
        for id in theirs.keys().chain(ours.keys()) {
            let [ours, theirs] = [&ours, &theirs].map(|answers| answers.get(id).cloned().unwrap_or_default());
            if ours != theirs {
                let line = lines.lines().find(|line| line.contains(&format!("\"{id}\""))).unwrap_or("");
                differences.push(format!("{name}, {id:?}: {ours:?} instead of {theirs:?}: {line:.300}"));
            }
        }
        for kind in ours.values().flatten() {
            let word = kind.split(' ').next().unwrap_or("");
            *compared.entry(word.to_string()).or_default() += 1;
        }
    }
    differences.dedup();
    assert!(differences.is_empty(), "{differences:#?}");
    say(&format!("{requests} requests; answers compared: {compared:?}"));
    assert!(requests > 320, "{requests}");
}
