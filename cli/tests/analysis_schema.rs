//! Compares the JSON Schemas of `oncilla analysis` with the engine: the schema of queries accepts what the engine
//! accepts, the engine refuses what the schema refuses, and the engine's answers fit the schema of answers.

mod driver;
mod requests;

use driver::{run, stderr, stdout};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};

const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/analysis/check.py");

/// Queries with errors that a schema can't detect, because they are in texts, in the position, or in a combination of
/// two fields.
const UNSEEN: [&str; 12] = [
    r#"{"analyzeTurns":[0],"moves":[],"priorities":[1,2]}"#,
    r#"{"analyzeTurns":[0.0],"moves":[]}"#,
    r#"{"analyzeTurns":[4294967296],"moves":[]}"#,
    r#"{"analyzeTurns":[18446744073709551615],"moves":[]}"#,
    r#"{"fen":"8/8 w","moves":[]}"#,
    r#"{"maxVisits":1.0,"moves":[]}"#,
    r#"{"moves":[["b","e2e4"]]}"#,
    r#"{"moves":[],"overrideSettings":{"CPuct":"x"}}"#,
    r#"{"moves":["e2e5"]}"#,
    r#"{"moves":["Nf4"]}"#,
    r#"{"analyzeTurns":[1],"moves":[]}"#,
    r#"{"allowMoves":[{"moves":[],"player":"W","untilDepth":1},{"moves":[],"player":"w","untilDepth":1}],"moves":[]}"#,
];

/// The schema's error for each line: `None` if the line is valid. The whole result is `None` if the checker can't run.
fn check(schema: &str, lines: &[String]) -> Option<Vec<Option<String>>> {
    let is_here = Command::new("python3").args(["-c", "import jsonschema"]).output();
    if !is_here.is_ok_and(|output| output.status.success()) {
        oncilla_testing::lacks_tool("the Python module jsonschema is not here");
        return None;
    }
    let mut process =
        Command::new("python3").args([CHECK, schema]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).is_ok());
    let output = process.wait_with_output().unwrap();
    assert!(writer.join().unwrap());
    let said = stdout(&output);
    let found: Vec<_> = said.lines().map(|line| Some(line.to_string()).filter(|line| line != "ok")).collect();
    assert_eq!(found.len(), lines.len(), "{said}");
    assert_eq!(output.status.success(), found.iter().all(Option::is_none));
    Some(found)
}

/// Valid queries and actions of every kind.
fn good() -> Vec<Value> {
    let rule = json!([{ "player": "w", "moves": ["e2e4", " G1F3 "], "untilDepth": 2 }]);
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let queries = [
        json!({}),
        json!({ "moves": [" Nf3", ["b", "d7-d5!?"], "g3", "e5", "Bg2", "Nc6", "O-O"], "allowMoves": [{ "player": "b", "moves": ["Bd6", "Bh3"], "untilDepth": 1 }] }),
        json!({ "moves": ["e2e4", ["Black", "e7e5"]], "analyzeTurns": [0, 2, 2], "priorities": [1, -5, 0] }),
        json!({ "initialFen": start, "rules": " Chess960", "priority": -3, "maxVisits": 1 }),
        json!({ "fen": "7k/Q7/6K1/8/8/8/8/8 w - - 0 1", "maxVisits": 200, "includePVVisits": true }),
        json!({ "fen": "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1" }),
        json!({ "maxTime": 5, "rootPolicyTemperature": 2, "rootFpuReductionMax": 0.5, "analysisPVLen": 3 }),
        json!({ "includePolicy": true, "includeTree": true, "avoidMoves": rule }),
        json!({ "includeTree": { "depth": 4, "minVisits": 2 }, "allowMoves": rule }),
        json!({ "allowMoves": [], "session": "s", "overrideSettings": { "reportAnalysisWinratesAs": "BLACK", "x": 1 } }),
        json!({ "action": null, "komi": 7.5, "terminateId": 5, "turnNumbers": "x", "fen": "startpos" }),
        json!({ "maxVisits": 20000, "reportDuringSearchEvery": 10, "firstReportDuringSearchAfter": 0.001 }),
    ];
    let queries = queries.into_iter().map(|mut query| {
        let fields = query.as_object_mut().unwrap();
        fields.entry("moves").or_insert(json!([]));
        fields.entry("maxVisits").or_insert(json!(30));
        query
    });
    let actions = [
        json!({ "action": "query_version", "anything": [1, null] }),
        json!({ "action": "query_models" }),
        json!({ "action": "clear_cache" }),
        json!({ "action": "terminate", "terminateId": "x" }),
        json!({ "action": "terminate", "terminateId": "x", "turnNumbers": [1, 2] }),
        json!({ "action": "terminate_all", "turnNumbers": [77] }),
        json!({ "action": "stats", "moves": 5 }),
        json!({ "action": "session" }),
        json!({ "action": "session", "session": "s", "close": true }),
    ];
    queries.chain(actions).collect()
}

fn bad() -> Vec<Value> {
    let mut all: Vec<Value> = requests::bad_queries().into_iter().map(|(query, _)| query).collect();
    all.extend(UNSEEN.iter().map(|text| serde_json::from_str(text).unwrap()));
    all.extend([
        json!({ "action": "no such" }),
        json!({ "action": "terminate" }),
        json!({ "action": "terminate", "terminateId": "x", "turnNumbers": 5 }),
        json!({ "action": "terminate_all", "turnNumbers": ["x"] }),
        json!({ "action": "session", "session": 5 }),
        json!({ "action": "session", "close": true }),
    ]);
    all
}

/// Sends the requests, each with an id. Returns their lines and the engine's answers.
fn ask(requests: &[Value], args: &[&str]) -> (Vec<String>, Vec<Value>) {
    let lines: Vec<String> = (requests.iter().enumerate())
        .map(|(number, request)| {
            let mut request = request.clone();
            request["id"] = json!(number.to_string());
            request.to_string()
        })
        .collect();
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = run(&[&["analysis", "--parallel=2"], args].concat(), &input);
    assert!(output.status.success(), "{}", stderr(&output));
    (lines, stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn queries_are_what_the_schema_says() {
    let (good, bad) = (good(), bad());
    let (lines, answers) = ask(&[good.clone(), bad.clone()].concat(), &["--backend=random"]);
    let refused =
        answers.iter().filter(|answer| answer["error"].is_string()).filter_map(|answer| answer["id"].as_str());
    let refused: HashSet<usize> = refused.map(|id| id.parse().unwrap()).collect();
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(refused.contains(&number), number >= good.len(), "{line}");
    }
    let Some(found) = check("query", &lines) else { return };
    let (of_good, of_bad) = found.split_at(good.len());
    for (line, found) in lines.iter().zip(of_good) {
        assert_eq!(*found, None, "{line}");
    }
    for (query, found) in bad.iter().zip(of_bad) {
        assert_eq!(found.is_none(), UNSEEN.contains(&query.to_string().as_str()), "{query}: {found:?}");
    }
    // A line that is not an object, one without an id, and one whose id is not a string.
    let refused = check("query", &["5".to_string(), "{}".to_string(), r#"{"id":5,"moves":[]}"#.to_string()]).unwrap();
    assert!(refused.iter().all(Option::is_some), "{refused:?}");
}

#[test]
fn answers_are_what_the_schema_says() {
    let all = [good(), bad()].concat();
    let mut lines = Vec::new();
    lines.extend(ask(&all, &["--backend=random"]).1);
    // Answers have more fields with a network; few visits are enough.
    let few = |mut query: Value| {
        query["maxVisits"] = json!(10);
        query
    };
    lines.extend(ask(&good().into_iter().map(few).collect::<Vec<_>>(), &["--backend=host"]).1);
    // A query that is terminated before it has any results, and lines that are not requests.
    let input = "{\"id\":\"a\",\"moves\":[],\"maxVisits\":1000000000,\"priority\":5}\n{\"id\":\"b\",\"moves\":[]}\n\
                 {\"id\":\"t\",\"action\":\"terminate_all\"}\nquit\n[]\n";
    let output = run(&["analysis", "--backend=random", "--parallel=1"], input);
    lines.extend(stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()));
    let has = |key: &str| lines.iter().any(|line| !line[key].is_null());
    for key in ["error", "warning", "noResults", "policy", "tree", "models", "version", "sessions", "queue"] {
        assert!(has(key), "{key}");
    }
    assert!(
        lines.iter().any(|line| line["isDuringSearch"] == true)
            && lines.iter().any(|line| line["rootInfo"]["rawMovesLeft"].is_number())
    );
    let texts: Vec<String> = lines.iter().map(Value::to_string).collect();
    let Some(found) = check("answer", &texts) else { return };
    for (text, found) in texts.iter().zip(&found) {
        assert_eq!(*found, None, "{text:.500}");
    }
    // The schema's errors for invalid answers.
    let mut answer = lines.iter().find(|line| line["moveInfos"][0]["move"].is_string()).unwrap().clone();
    answer["moveInfos"][0]["winrate"] = json!(1.5);
    let mut other = answer.clone();
    other["moveInfos"] = json!(5);
    let mut more = lines[0].clone();
    more["surprise"] = json!(1);
    let wrong = check("answer", &[answer, other, more].map(|line| line.to_string())).unwrap();
    assert!(wrong.iter().all(Option::is_some), "{wrong:?}");
}
