//! Compares evaluations by a KataGo network, through `oncilla eval` and `oncilla analysis`, on the host and on an
//! OpenCL device, with KataGo's. KataGo's values are from White's view; those of `eval` are from the view of the side
//! to move.

mod common;
mod driver;

use common::{json_lines, text};
use driver::{OWN_CACHE, run, stderr, stdout};
use oncilla_testing::shared;
use serde_json::{Value, json};
use std::path::Path;

const NETWORK: &str = "nets/g170-b6c96-s175395328-d26788732.bin.gz";

/// The bound on probabilities, win rates and ownership.
const BOUND: f64 = 1e-4;

/// The bound on points and utility.
const BOUND_SCORE: f64 = 1e-3;

/// The number of recorded rows.
const ROWS: usize = 40;

fn rows(shared: &Path) -> Vec<Value> {
    let rows = json_lines(&shared.join("oracle/katago/nn_b6c96.jsonl"));
    assert_eq!(rows.len(), ROWS);
    rows
}

/// A row's position in the form of a query.
fn position(row: &Value) -> Value {
    let mut position = json!({});
    for field in ["boardXSize", "boardYSize", "rules", "komi", "initialStones", "moves"] {
        position[field] = row[field].clone();
    }
    let first = row["moves"].get(0).map_or(&row["toMove"], |first| &first[0]);
    position["initialPlayer"] = first.clone();
    position
}

/// The program's answers to these lines.
fn ask(shared: &Path, args: &[&str], lines: &[Value]) -> Vec<Value> {
    let weights = format!("--weights={}", shared.join(NETWORK).display());
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = run(&[args, &[&weights, OWN_CACHE]].concat(), &input);
    assert!(output.status.success(), "{}", stderr(&output));
    let answers: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), lines.len(), "{}", stderr(&output));
    answers
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

/// The names of a board's points, row by row from the top, and of the pass.
fn names(row: &Value) -> Vec<String> {
    let (x, y) = (row["boardXSize"].as_u64().unwrap() as usize, row["boardYSize"].as_u64().unwrap() as usize);
    let columns: Vec<char> = "ABCDEFGHJKLMNOPQRST".chars().collect();
    let points = (0..y).flat_map(|at| columns[..x].iter().map(move |column| format!("{column}{}", y - at)));
    points.chain(["pass".to_string()]).collect()
}

/// How far ours is from theirs. (`max`, which comes next, would pass over a NaN.)
fn distance(ours: f64, theirs: f64) -> f64 {
    assert!(ours.is_finite(), "{ours} where KataGo has {theirs}");
    (ours - theirs).abs()
}

/// The largest difference between two lists of the same length.
fn farthest(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).map(|(a, b)| distance(*a, *b)).fold(0.0, f64::max)
}

/// The largest differences of probabilities and of points.
#[derive(Debug, Default)]
struct Worst {
    share: f64,
    points: f64,
}

impl Worst {
    fn share(&mut self, ours: f64, theirs: f64) {
        self.share = self.share.max(distance(ours, theirs));
    }

    fn points(&mut self, ours: f64, theirs: f64) {
        self.points = self.points.max(distance(ours, theirs));
    }

    fn check(&self, of: &str) {
        println!("{of}: {self:?}");
        assert!(self.share <= BOUND && self.points <= BOUND_SCORE, "{of}: {self:?}");
    }
}

/// Compares an answer of `oncilla eval` with KataGo's.
fn compare(worst: &mut Worst, row: &Value, answer: &Value) {
    let raw = &row["raw"];
    let side = if text(row, "toMove") == "W" { 1.0 } else { -1.0 };
    worst.share(number(answer, "winrate"), 0.5 + side * (number(raw, "rawWinrate") - 0.5));
    worst.share(number(answer, "noResult"), number(raw, "rawNoResultProb"));
    worst.points(number(answer, "lead"), side * number(raw, "rawLead"));
    worst.points(number(answer, "score"), side * number(raw, "rawScoreSelfplay"));
    worst.points(number(answer, "scoreStdev"), number(raw, "rawScoreSelfplayStdev"));
    let policy = answer["policy"].as_object().expect("a policy");
    for (name, theirs) in names(row).iter().zip(numbers(&raw["policy"])) {
        // Illegal moves have −1 in KataGo's policy, and no entry in ours.
        assert_eq!(policy.contains_key(name), theirs >= 0.0, "{name} in {row}");
        worst.share(policy.get(name).map_or(-1.0, |p| p.as_f64().expect("a number")), theirs);
    }
    let theirs: Vec<f64> = numbers(&raw["ownership"]).iter().map(|owned| side * owned).collect();
    worst.share = worst.share.max(farthest(&numbers(&answer["ownership"]), &theirs));
}

#[test]
fn every_position_is_seen_as_katago_sees_it() {
    let Some(shared) = shared() else { return };
    let rows = rows(&shared);
    let lines: Vec<Value> = rows.iter().map(position).collect();
    let mut worst = Worst::default();
    for (row, answer) in rows.iter().zip(ask(&shared, &["eval", "--backend=host"], &lines)) {
        compare(&mut worst, row, &answer);
    }
    worst.check("eval");
}

#[test]
fn an_analysis_of_one_visit_is_katagos() {
    let Some(shared) = shared() else { return };
    let rows = rows(&shared);
    let query = |(at, row): (usize, &Value)| {
        let mut query = position(row);
        let more = json!({
            "id": at.to_string(), "maxVisits": 1, "includePolicy": true, "includeOwnership": true,
            "overrideSettings": { "reportAnalysisWinratesAs": "WHITE" },
        });
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        query
    };
    let queries: Vec<Value> = rows.iter().enumerate().map(query).collect();
    let mut worst = Worst::default();
    for answer in ask(&shared, &["analysis", "--backend=host", "--parallel=1"], &queries) {
        let row = &rows[text(&answer, "id").parse::<usize>().expect("a row's number")];
        let (root, theirs) = (&answer["rootInfo"], &row["engineDefault"]);
        assert_eq!((&answer["moveInfos"], &root["visits"]), (&json!([]), &json!(1)));
        assert_eq!(root["currentPlayer"], row["toMove"]);
        for key in ["rawWinrate", "rawNoResultProb", "rawStWrError"] {
            worst.share(number(root, key), number(theirs, key));
        }
        worst.share(number(root, "winrate"), number(theirs, "rawWinrate"));
        for key in
            ["rawLead", "rawScoreSelfplay", "rawScoreSelfplayStdev", "utility", "rawStScoreError", "rawVarTimeLeft"]
        {
            worst.points(number(root, key), number(theirs, key));
        }
        for list in ["policy", "ownership"] {
            worst.share = worst.share.max(farthest(&numbers(&answer[list]), &numbers(&theirs[list])));
        }
    }
    worst.check("analysis");
}

/// The network's output for a rotated or mirrored board is mapped back.
#[test]
fn a_turned_board_is_seen_as_katago_sees_it() {
    let Some(shared) = shared() else { return };
    let rows = rows(&shared);
    let turned = rows.iter().filter_map(|row| Some((row, row["gtpRawAllSymmetries"].as_array()?)));
    let mut all: Vec<(&Value, &Value)> = Vec::new();
    turned.for_each(|(row, seen)| all.extend(seen.iter().map(|seen| (row, seen))));
    assert_eq!(all.len(), 8 * 9);
    let line = |(row, seen): &(&Value, &Value)| {
        let mut line = position(row);
        line["symmetry"] = seen["symmetry"].clone();
        line
    };
    let lines: Vec<Value> = all.iter().map(line).collect();
    let mut worst = Worst::default();
    for ((row, seen), answer) in all.iter().zip(ask(&shared, &["eval", "--backend=host"], &lines)) {
        let side = if text(row, "toMove") == "W" { 1.0 } else { -1.0 };
        let winrate = 0.5 * (1.0 + number(seen, "whiteWin") - number(seen, "whiteLoss"));
        worst.share(number(&answer, "winrate"), 0.5 + side * (winrate - 0.5));
        worst.share(number(&answer, "noResult"), number(seen, "noResult"));
        // These are rounded to three decimals.
        worst.points(number(&answer, "lead"), side * number(seen, "whiteLead"));
        worst.points(number(&answer, "score"), side * number(seen, "whiteScoreSelfplay"));
        for (name, theirs) in names(row).iter().zip(seen["policy"].as_array().expect("a policy")) {
            assert_eq!(answer["policy"][name].is_null(), theirs.is_null(), "{name} in {row}");
            worst.share(answer["policy"][name].as_f64().unwrap_or(0.0), theirs.as_f64().unwrap_or(0.0));
        }
        let theirs: Vec<f64> = numbers(&seen["whiteOwnership"]).iter().map(|owned| side * owned).collect();
        worst.share = worst.share.max(farthest(&numbers(&answer["ownership"]), &theirs));
    }
    worst.check("eval of turned boards");
}

/// `kata-raw-nn` says of every position that GTP can come to what KataGo says, also that this network has no heads for
/// the errors and for the time.
#[test]
fn the_raw_outputs_are_katagos() {
    let Some(shared) = shared() else { return };
    let rows = rows(&shared);
    let rows: Vec<&Value> = rows.iter().filter(|row| row["initialStones"] == json!([])).collect();
    let mut input = String::new();
    for row in &rows {
        input += &format!("rectangular_boardsize {} {}\n", row["boardXSize"], row["boardYSize"]);
        input += &format!("kata-set-rules {}\nkomi {}\n", row["rules"], row["komi"]);
        for mv in row["moves"].as_array().expect("moves") {
            let [color, point] = [0, 1].map(|at| mv[at].as_str().expect("a word"));
            input += &format!("play {color} {point}\n");
        }
        input += "1 kata-raw-nn 0\n";
    }
    let weights = format!("--weights={}", shared.join(NETWORK).display());
    let output = run(&["gtp", "--backend=host", &weights, OWN_CACHE], &input);
    let answers = stdout(&output);
    assert!(!answers.contains('?'), "{answers}");
    let answers: Vec<&str> = answers.split("=1 ").skip(1).collect();
    assert_eq!(answers.len(), rows.len());
    let mut worst = Worst::default();
    for (row, answer) in rows.iter().zip(answers) {
        let theirs = &row["gtpRaw"];
        let ours = |name: &str| -> f64 {
            let line = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} in {answer}"))
        };
        for name in ["whiteWin", "whiteLoss", "noResult", "shorttermWinlossError"] {
            worst.share(ours(name), number(theirs, name));
        }
        // These are rounded to three decimals.
        for name in ["whiteLead", "whiteScoreSelfplay", "varTimeLeft", "shorttermScoreError"] {
            worst.points(ours(name), number(theirs, name));
        }
        worst.points(ours("whiteScoreSelfplaySq").sqrt(), number(theirs, "whiteScoreSelfplaySq").sqrt());
    }
    worst.check("kata-raw-nn");
}

/// Whether there is a device. If not, prints a line.
fn device_is_there() -> bool {
    oncilla_testing::opencl(oncilla_opencl::device::list()).is_some()
}

#[test]
fn a_device_sees_what_katago_sees() {
    let Some(shared) = shared() else { return };
    if !device_is_there() {
        return;
    }
    let rows = rows(&shared);
    let rows: Vec<&Value> =
        rows.iter().filter(|row| row["boardXSize"] == 9 && row["boardYSize"] == 9).take(6).collect();
    let lines: Vec<Value> = rows.iter().map(|row| position(row)).collect();
    let mut worst = Worst::default();
    for (row, answer) in rows.iter().zip(ask(&shared, &["eval", "--backend=opencl"], &lines)) {
        compare(&mut worst, row, &answer);
    }
    worst.check("eval on a device");
}
