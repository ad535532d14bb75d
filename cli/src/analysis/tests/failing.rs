//! Tests of the whole command on a device that fails, once for each of its calls.

use crate::analysis::{Analyst, Heard, Output, Pool, chess, serve};
use crate::evaluator::faulty::{Fault, Plan, on_failing_device, on_nothing, without_host};
use crate::evaluator::{CacheSize, Evaluator};
use crate::network::BackendKind;
use crate::options::{Typed, table};
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, channel};

const VISITS: u64 = 12;

/// The number of turns of a query: the positions after 0, 1, … of its moves.
const TURNS: usize = 4;

/// Returns the answers to `lines`, and the messages on standard error.
fn answers(lines: &str, plan: Plan) -> (Vec<Value>, Vec<String>) {
    answers_of(lines, on_failing_device(BackendKind::OpenCl, true, plan))
}

fn pool_on(evaluator: Evaluator) -> (Box<Pool>, Receiver<Heard>) {
    let mut typed = Typed::default();
    for (name, value) in [("parallel", "3"), ("Hash", "16"), ("MinibatchSize", "1")] {
        let opt = table::by_flag(name).or_else(|| table::by_name(name)).expect("an option");
        typed.set(opt, name, value).expect("a value");
    }
    let meaning = typed.meaning().expect("settings");
    let mut settings = chess::for_analysis(&meaning.settings);
    settings.cache = CacheSize { entries: 0, mb: 0 };
    let (heard, said) = channel();
    let pool = Pool::with(evaluator, settings, typed, &meaning, Output::to(heard)).expect("a pool");
    assert_eq!(pool.parallel(), 3);
    (Box::new(pool), said)
}

fn answers_of(lines: &str, evaluator: Evaluator) -> (Vec<Value>, Vec<String>) {
    let (pool, said) = pool_on(evaluator);
    serve(&mut lines.as_bytes(), &*pool, 1 << 20, |_| {});
    pool.finish();
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for heard in said {
        match heard {
            Heard::Line(line) => found.push(serde_json::from_str(&line).expect("JSON")),
            Heard::Note(note) => notes.push(note),
        }
    }
    (found, notes)
}

#[test]
fn every_turn_is_answered_in_full_whatever_call_of_the_device_fails() {
    let turns: Vec<usize> = (0..TURNS).collect();
    let ids = ["a", "b"];
    let queries = ids.map(|id| {
        let query = json!({ "id": id, "moves": ["e2e4", "e7e5", "g1f3"], "maxVisits": VISITS, "analyzeTurns": turns });
        format!("{query}\n")
    });
    for call in 0..60 {
        let once = |fault| move |now: usize| (now == call).then_some(fault);
        let plans: [Plan; 4] = [
            Box::new(once(Fault::Loud)),
            Box::new(once(Fault::Nonsense)),
            Box::new(once(Fault::Slow)),
            Box::new(move |now| (now >= call).then_some(Fault::Loud)),
        ];
        let number = call % plans.len();
        let plan = plans.into_iter().nth(number).expect("one of them");
        let (found, notes) = answers(&queries.concat(), plan);
        let mut answered: Vec<(String, u64)> = Vec::new();
        for answer in &found {
            assert_eq!(answer["rootInfo"]["visits"], VISITS, "call {call}: {answer}");
            let infos = answer["moveInfos"].as_array().expect("moves");
            let visits: u64 = infos.iter().map(|info| info["edgeVisits"].as_u64().expect("a number")).sum();
            assert_eq!(visits, VISITS - 1, "call {call}: {answer}");
            answered
                .push((answer["id"].as_str().expect("an id").into(), answer["turnNumber"].as_u64().expect("a turn")));
        }
        answered.sort();
        let expected: Vec<(String, u64)> =
            ids.iter().flat_map(|id| turns.iter().map(|&turn| (id.to_string(), turn as u64))).collect();
        assert_eq!(answered, expected, "call {call}: {notes:?}");
        // A fault is reported once. The fourth plan has two messages: one when the host evaluates a batch instead of
        // the device, and one when the host replaces the device.
        let most = [1, 1, 0, 2][number];
        assert!(notes.len() <= most, "call {call}: {notes:?}");
        assert!(notes.len() >= most.min(1) || call >= 20, "call {call}: {notes:?}");
    }
}

#[test]
fn a_turn_that_nothing_can_evaluate_is_answered_with_the_error() {
    let query = json!({ "id": "a", "moves": ["e2e4"], "maxVisits": VISITS, "analyzeTurns": [0, 1] });
    let (mut found, notes) = answers_of(&format!("{query}\n"), on_nothing());
    found.sort_by_key(|answer| answer["turnNumber"].as_u64());
    let failed = |turn| json!({ "error": "no host", "id": "a", "isDuringSearch": false, "turnNumber": turn });
    assert_eq!(found, [failed(0), failed(1)]);
    assert!(notes.iter().all(|note| note == "no host"), "{notes:?}");
}

/// The tree of a failed search is neither reported nor reused.
#[test]
fn a_search_that_breaks_off_is_answered_with_the_error_and_its_session_forgotten() {
    for call in [1, 2, 5] {
        let query = json!({ "id": "a", "moves": ["e2e4"], "maxVisits": VISITS, "session": "s" });
        let plan = move |now: usize| (now >= call).then_some(Fault::Loud);
        let (pool, said) = pool_on(without_host(Box::new(plan)));
        serve(&mut format!("{query}\n").as_bytes(), &*pool, 1 << 20, |_| {});
        let (mut notes, mut found) = (Vec::new(), Vec::new());
        while found.is_empty() {
            match said.recv().expect("an answer") {
                Heard::Line(line) => found.push(serde_json::from_str::<Value>(&line).expect("JSON")),
                Heard::Note(note) => notes.push(note),
            }
        }
        let failed = json!({ "error": "no host", "id": "a", "isDuringSearch": false, "turnNumber": 1 });
        assert_eq!((found, notes), (vec![failed], vec!["no host".to_string()]), "call {call}");
        serve(&mut br#"{"id": "b", "action": "session"}"#.as_slice(), &*pool, 1 << 20, |_| {});
        pool.finish();
        let kept = said.iter().find_map(|heard| match heard {
            Heard::Line(line) => serde_json::from_str::<Value>(&line).ok(),
            Heard::Note(_) => None,
        });
        assert_eq!(kept.expect("an answer")["sessions"], json!([]), "call {call}");
    }
}
