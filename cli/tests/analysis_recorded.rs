//! Compares `oncilla analysis` with recorded KataGo sessions: the same requests, translated to chess, get the same
//! number of answers of the same kinds, about the same fields and turns. Texts and numbers are not compared, and
//! partial reports are left out.
//!
//! At least sixty requests of each kind are compared. If the recordings have fewer, the recorded ones are varied in
//! ways that do not change KataGo's answer: the keys in another order, spaces between the tokens, another id, other
//! moves, the position as a FEN ([`in_other_words`]).

mod common;
mod driver;

use common::json_lines;
use driver::{run_bytes, stdout};
use oncilla_testing::say;
use oncilla_testing::shared;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

type Object = Map<String, Value>;

/// The recorded sessions, each named by its topic.
const RECORDED: [&str; 24] = [
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
    "s17_eof",
    "s17b_eof_nonewline",
    "s16_big_lines",
    "s17c_eof_immediately",
    "s17e_quit_without_waiting_fast",
    "s18_invalid_utf8_valid_otherwise",
    "s18b_invalid_utf8_garbage",
    "s18c_nul_byte",
    "s20_big_board",
    "s22_concurrency",
];

/// The smallest number of requests of each kind that are compared.
const LEAST: usize = 60;

/// Intended differences: the session, the id, our answers, and the reason.
const OTHERWISE: [(&str, &str, &[&str], &str); 15] = [
    ("s02_analyze_turns", "emptyturns", &["error analyzeTurns"], "a client that waits for the query must hear of it"),
    ("s02_analyze_turns", "floatturns", &["error analyzeTurns"], "1.7 is not cut off to 1"),
    ("s02_analyze_turns", "boolturns", &["error analyzeTurns"], "true is no turn"),
    ("s02_analyze_turns", "hugeturn", &["error analyzeTurns"], "2^32 + 1 does not become 1"),
    ("s08_priority", "prios_empty", &["error analyzeTurns"], "as above"),
    ("s08_priority", "prios_float", &["error priorities"], "1.9 is not cut off to 1"),
    ("s09_terminate", "t11", &["error turnNumbers"], "1.7 and true are no turns"),
    ("s13_bad_fields", "f005", &["final 0"], "rules are chess, where nothing is said"),
    ("s16_big_lines", "", &["error ", "error ", "error "], "what nests deeply is an error, not the end of the program"),
    ("s16_big_lines", "sync5", &["echo query_version"], "and what follows is answered"),
    ("s16_big_lines", "sync6", &["echo query_version"], "likewise"),
    ("s18_invalid_utf8_valid_otherwise", "", &["error "], "a line that is no UTF-8 is an error"),
    ("s18_invalid_utf8_valid_otherwise", "sync1", &["echo query_version"], "and what follows is answered"),
    ("s18b_invalid_utf8_garbage", "", &["error "], "likewise"),
    ("s18b_invalid_utf8_garbage", "sync1", &["echo query_version"], "likewise"),
];

/// Fields that exist only for Go, each of which gets a warning here; and `initialPlayer`, because it is a player of Go
/// in a recording.
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

/// A game that can be repeated without end, so any number of moves can be taken from it.
const GAME: [&str; 8] = ["g1f3", "g8f6", "f3g1", "f6g8", "b1c3", "b8c6", "c3b1", "c6b8"];

/// The kind of an answer as a short text; `None` for a partial report.
fn kind(answer: &Value) -> Option<String> {
    let field = answer["field"].as_str();
    if answer["error"].is_string() {
        // KataGo does not name the field of an unknown action.
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

/// The kinds of all answers by id; the empty id stands for requests whose id KataGo could not read.
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

/// Translates a recorded request to chess; `None` if it is about Go only.
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

/// Replaces Go moves by chess moves, except those that are invalid in Go.
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

/// Replaces the moves in the lists of moves to avoid or allow, except those that are invalid in Go.
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

/// Replaces KataGo's options by ours; `None` if the request has a setting without a counterpart.
fn put_settings(request: &mut Object) -> Option<()> {
    let Some(settings) = request.get_mut("overrideSettings").and_then(Value::as_object_mut) else { return Some(()) };
    let ours = |name: &str| match name {
        "rootSymmetryPruning" => Some("TwoFoldDraws"),
        _ => None,
    };
    if settings.contains_key("humanSLProfile") {
        return None;
    }
    for name in ["wideRootNoise", "playoutDoublingAdvantage", "ignorePreRootHistory", "antiMirror"] {
        settings.remove(name);
    }
    for name in ["rootNumSymmetriesToSample", "nnRandomize", "conservativePass"] {
        settings.remove(name);
    }
    *settings = std::mem::take(settings)
        .into_iter()
        .map(|(name, value)| (ours(&name).map_or(name, str::to_string), value))
        .collect();
    Some(())
}

/// A recorded request, translated to chess, and the kinds of its answers.
#[derive(Clone)]
struct Asked {
    id: Option<String>,
    line: Vec<u8>,
    answers: Vec<String>,
}

impl Asked {
    /// The kind of the request.
    fn kind(&self) -> String {
        let request = serde_json::from_slice::<Value>(&self.line).unwrap_or_default();
        if self.id.is_none() {
            return "no request".to_string();
        }
        if let Some(action) = request["action"].as_str() {
            let is_refused = self.answers.iter().any(|answer| answer.starts_with("error"));
            return if is_refused { "bad action".to_string() } else { action.to_string() };
        }
        let has = |word: &str| self.answers.iter().any(|answer| answer.starts_with(word));
        let kind = if has("warning") {
            "query with a warning"
        } else if has("error") {
            "bad query"
        } else {
            "query"
        };
        kind.to_string()
    }
}

/// The id and the bytes of a recorded line, translated to chess if necessary; `None` if that is not possible.
fn sent(row: &Value, refused: impl Fn(&str) -> Option<Value>) -> Option<(Option<String>, Vec<u8>)> {
    let id = |line: &str| Some(serde_json::from_str::<Value>(line).ok()?["id"].as_str()?.to_string());
    if let Some(hex) = row["hex"].as_str() {
        let digits = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
        return Some((None, digits.collect()));
    }
    if let Some(parts) = row["gen"].as_object() {
        let repeated = |part: &Value| part["repeat"].as_str().unwrap().repeat(part["count"].as_u64().unwrap() as usize);
        let mut line = parts["prefix"].as_str().unwrap().to_string() + &repeated(&row["gen"]);
        match parts["suffix"].as_str() {
            Some(suffix) => line += suffix,
            None => line += &(repeated(&parts["suffix"]) + parts["suffix"]["then"].as_str().unwrap()),
        }
        return Some((id(&line), line.into_bytes()));
    }
    // A line that is truncated in the recording is about Go.
    let line = row["line"].as_str()?;
    let id = id(line);
    let error = id.as_deref().and_then(refused);
    Some((id, in_chess(line, error.as_ref())?.into_bytes()))
}

/// A recorded answer. If it is truncated, only its kind can be known.
fn answered(row: &Value) -> Option<Value> {
    let Some(head) = row["cut"]["head"].as_str() else { return serde_json::from_str(row["line"].as_str()?).ok() };
    Some(match head.starts_with("{\"error\"") {
        true => json!({ "error": "cut" }),
        false => json!({ "action": "query_version", "id": format!("longid_{}", "x".repeat(1_000_000)) }),
    })
}

/// The kinds of our answers to a session, by id.
fn ask(input: &[u8], args: &[&str]) -> BTreeMap<String, Vec<String>> {
    let args = [&["analysis", "--backend=random", "--parallel=2", "--max-visits=50", "--line-mb=32"], args].concat();
    let output = run_bytes(&args, input);
    assert!(output.status.success());
    by_id(stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()))
}

fn compare(name: &str, ours: &BTreeMap<String, Vec<String>>, theirs: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let differences = ours.keys().chain(theirs.keys()).filter(|id| ours.get(*id) != theirs.get(*id));
    let mut lines: Vec<String> = differences
        .map(|id| format!("{name}, {id:.40?}: {:?} instead of {:?}", ours.get(id), theirs.get(id)))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Replays a recorded session. Returns its requests, and the unintended differences between our answers and the
/// recorded ones.
fn replay(name: &str, rows: &[Value]) -> (Vec<Asked>, Vec<String>) {
    let outputs = || rows.iter().filter(|row| row["dir"] == "out").filter_map(answered);
    let mut theirs = by_id(outputs());
    let refused = |id: &str| outputs().find(|answer| answer["id"] == id && answer["error"].is_string());
    let mut input = Vec::new();
    let mut all = Vec::new();
    for row in rows.iter().filter(|row| row["dir"] == "in") {
        match sent(row, refused) {
            Some((id, line)) => {
                input.extend_from_slice(&line);
                input.push(b'\n');
                all.push(Asked { id, line, answers: Vec::new() });
            }
            None => {
                let id = row["line"].as_str().and_then(|line| serde_json::from_str::<Value>(line).ok());
                theirs.remove(id.as_ref().and_then(|request| request["id"].as_str()).unwrap_or_default());
            }
        }
    }
    // Warnings about rules exist only for Go.
    theirs.values_mut().for_each(|kinds| kinds.retain(|kind| kind != "warning rules"));
    for (_, id, answers, _) in OTHERWISE.iter().filter(|(scenario, ..)| *scenario == name) {
        theirs.insert(id.to_string(), answers.iter().map(|kind| kind.to_string()).collect());
    }
    let mut args = Vec::new();
    if name.contains("quit_without_waiting") {
        args.push("-quit-without-waiting");
        // Whether a search ends before the input does depends on timing.
        theirs.retain(|_, kinds| !kinds.iter().any(|kind| kind.starts_with("final")));
    }
    if name == "s14b_warnings_off" {
        args.push("-override-config=warnUnusedFields=false");
    }
    let mut ours = ask(&input, &args);
    if name.contains("quit_without_waiting") {
        ours.retain(|_, kinds| !kinds.iter().any(|kind| kind.starts_with("final")));
    }
    for asked in &mut all {
        let named = asked.id.as_ref().and_then(|id| theirs.get(id)).cloned();
        asked.answers = named.unwrap_or_else(|| vec!["error ".to_string()]);
    }
    // If several requests have the same id, it is unknown which answers belong to which.
    let is_alone = |asked: &Asked| {
        asked.id.as_ref().is_some_and(|id| !id.is_empty())
            && all.iter().filter(|other| other.id == asked.id).count() == 1
    };
    let singles = all.iter().filter(|asked| is_alone(asked) || asked.id.is_none()).cloned().collect();
    (singles, compare(name, &ours, &theirs))
}

/// A variant of the request, chosen by `number`, with the id `id`. Lines that are not JSON get spaces around them.
fn in_other_words(asked: &Asked, number: usize, id: &str) -> Vec<u8> {
    let Ok(Value::Object(mut request)) = serde_json::from_slice::<Value>(&asked.line) else {
        return [b" ".repeat(number % 7), asked.line.clone(), b"\t".repeat(number % 5)].concat();
    };
    if asked.id.is_some() {
        request.insert("id".to_string(), json!(id));
    }
    let is_query = !request.get("action").is_some_and(Value::is_string);
    let is_good = asked.answers.iter().all(|answer| !answer.starts_with("error"));
    if is_query && is_good {
        for (ply, pair) in request.get_mut("moves").and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
            let mv = GAME[(ply + 4 * (number % 2)) % GAME.len()];
            *pair =
                if number.is_multiple_of(3) { json!(mv) } else { json!([if ply % 2 == 0 { "w" } else { "B" }, mv]) };
        }
        if number.is_multiple_of(5) {
            request.insert("fen".to_string(), json!("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"));
        }
    }
    if !is_query {
        request.insert(format!("note {number}"), json!({ "number": number, "of": [null, true, "é\u{1f600}"] }));
    }
    let mut fields: Vec<String> = request.iter().map(|(key, value)| format!("{} : {value}", json!(key))).collect();
    let at = number % fields.len().max(1);
    fields.rotate_left(at);
    format!("{{ {} }}", fields.join(" , ")).into_bytes()
}

#[test]
fn recorded_conversations() {
    let Some(shared) = shared() else { return };
    let mut differences = Vec::new();
    let mut by_kind: BTreeMap<String, Vec<Asked>> = BTreeMap::new();
    for name in RECORDED {
        let rows = json_lines(&shared.join("oracle/katago").join(format!("{name}.jsonl")));
        let (asked, lines) = replay(name, &rows);
        differences.extend(lines);
        for asked in asked {
            by_kind.entry(asked.kind()).or_default().push(asked);
        }
    }
    let mut counts = Vec::new();
    let (mut input, mut theirs) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
    for (kind, recorded) in &mut by_kind {
        let of_kind = recorded.len();
        // One of the recorded lines consists of two, and blank lines have no answer.
        let is_line = |line: &[u8]| !line.contains(&b'\n') && !line.trim_ascii().is_empty();
        recorded.retain(|asked| asked.line.len() < 10_000 && is_line(&asked.line));
        let missing = LEAST.saturating_sub(of_kind);
        for number in 0..missing {
            let asked = &recorded[number % recorded.len()];
            let id = format!("{kind} {number} ✓");
            input.extend(in_other_words(asked, number / recorded.len() + 1, &id));
            input.push(b'\n');
            let id = asked.id.as_ref().map_or(String::new(), |_| id);
            let is_nameless = asked.answers.iter().all(|answer| answer == "error ");
            theirs.entry(if is_nameless { String::new() } else { id }).or_default().extend(asked.answers.clone());
        }
        counts.push(format!("{kind}: {of_kind} + {missing}"));
    }
    differences.extend(compare("in other words", &ask(&input, &[]), &theirs));
    assert!(differences.is_empty(), "{differences:#?}");
    say(&format!("compared, recorded and in other words: {}", counts.join(", ")));
    for kind in ["query", "bad query", "query with a warning", "no request", "bad action"] {
        assert!(by_kind.contains_key(kind), "{kind}");
    }
    for action in ["query_version", "query_models", "clear_cache", "terminate"] {
        assert!(by_kind.contains_key(action), "{action}");
    }
}
