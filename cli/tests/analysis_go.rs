//! Tests the protocol of `oncilla analysis` with Go networks through the real binary: with a small network from the
//! repository, and against recorded KataGo sessions if they are at hand.

mod common;
mod driver;

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

const INFO: [&str; 17] = [
    "edgeVisits",
    "edgeWeight",
    "lcb",
    "move",
    "order",
    "playSelectionValue",
    "prior",
    "pv",
    "scoreLead",
    "scoreMean",
    "scoreSelfplay",
    "scoreStdev",
    "utility",
    "utilityLcb",
    "visits",
    "weight",
    "winrate",
];

const ROOT: [&str; 19] = [
    "currentPlayer",
    "lcb",
    "rawLead",
    "rawNoResultProb",
    "rawScoreSelfplay",
    "rawScoreSelfplayStdev",
    "rawStScoreError",
    "rawStWrError",
    "rawVarTimeLeft",
    "rawWinrate",
    "scoreLead",
    "scoreSelfplay",
    "scoreStdev",
    "symHash",
    "thisHash",
    "utility",
    "visits",
    "weight",
    "winrate",
];

#[test]
fn every_flag_adds_its_fields() {
    let flags: [(&str, &[&str], &[&str]); 8] = [
        ("none", &[], &[]),
        ("includePolicy", &["policy"], &[]),
        ("includeOwnership", &["ownership"], &[]),
        ("includeOwnershipStdev", &["ownershipStdev"], &[]),
        ("includeMovesOwnership", &[], &["ownership"]),
        ("includeMovesOwnershipStdev", &[], &["ownershipStdev"]),
        ("includePVVisits", &[], &["pvEdgeVisits", "pvVisits"]),
        ("includeNoResultValue", &[], &["noResultValue"]),
    ];
    let sorted = |base: &[&'static str], more: &[&'static str]| {
        let mut all = [base, more].concat();
        all.sort_unstable();
        all
    };
    for version in [8, 15] {
        for (flag, top, info) in flags {
            let mut asked = query(json!({ "moves": [["B", "C3"], ["W", "G6"], ["B", "F2"]] }));
            if flag != "none" {
                asked[flag] = json!(true);
            }
            let all = heard(&words(version, &["--parallel=1"]), &lines(&[asked]));
            let answer = &all[0];
            check(answer);
            let base = ["id", "isDuringSearch", "moveInfos", "rootInfo", "turnNumber"];
            assert_eq!(keys(answer), sorted(&base, top), "{flag}");
            assert_eq!(keys(&answer["rootInfo"]), ROOT);
            for of in infos(answer) {
                assert_eq!(keys(of), sorted(&INFO, info), "{flag}");
                assert!(
                    of["pv"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .all(|mv| mv == "pass" || point(mv.as_str().unwrap(), 9).is_some())
                );
                for list in ["ownership", "ownershipStdev"].iter().filter(|list| of[**list].is_array()) {
                    assert!(
                        numbers(&of[*list]).len() == 81 && numbers(&of[*list]).iter().all(|owned| owned.abs() <= 1.0)
                    );
                }
                if flag == "includePVVisits" {
                    let lens = ["pv", "pvVisits", "pvEdgeVisits"].map(|list| of[list].as_array().unwrap().len());
                    assert!(lens[0] == lens[1] && lens[1] == lens[2] && of["pvEdgeVisits"][0] == of["edgeVisits"]);
                }
            }
            let counts = ["visits", "edgeVisits", "order"];
            let first = object(&infos(answer)[0]).iter().chain(object(&answer["rootInfo"]));
            for (key, value) in first {
                let is_right = match key.as_str() {
                    "move" | "currentPlayer" | "symHash" | "thisHash" => value.is_string(),
                    "pv" | "pvVisits" | "pvEdgeVisits" | "ownership" | "ownershipStdev" => value.is_array(),
                    key if counts.contains(&key) => value.is_u64(),
                    _ => value.is_f64(),
                };
                assert!(is_right, "{key}: {value}");
            }
            let root = &answer["rootInfo"];
            assert_eq!(root["currentPlayer"], "W");
            assert_eq!(version == 8, (&root["rawStWrError"], &root["rawVarTimeLeft"]) == (&json!(-0.5), &json!(-1.0)));
            for list in ["ownership", "ownershipStdev"].iter().filter(|list| answer[**list].is_array()) {
                assert!(
                    numbers(&answer[*list]).len() == 81
                        && numbers(&answer[*list]).iter().all(|owned| owned.abs() <= 1.0)
                );
            }
            if flag == "includePolicy" {
                let policy = numbers(&answer["policy"]);
                assert!(policy.len() == 82 && policy.iter().filter(|p| **p == -1.0).count() == 3);
                let sum: f64 = policy.iter().filter(|p| **p >= 0.0).sum();
                assert!((sum - 1.0).abs() < 1e-5, "{sum}");
            }
        }
    }
}

#[test]
fn one_visit_is_the_networks_word() {
    let answer = one(json!({ "maxVisits": 1 }));
    let root = &answer["rootInfo"];
    assert_eq!((infos(&answer).len(), &root["visits"]), (0, &json!(1)));
    for (mean, raw) in [("winrate", "rawWinrate"), ("scoreLead", "rawLead"), ("scoreSelfplay", "rawScoreSelfplay")] {
        assert!((number(root, mean) - number(root, raw)).abs() < 1e-6, "{mean}");
    }
}

#[test]
fn boards_and_rules_of_all_kinds_are_searched() {
    let mut queries = Vec::new();
    for (x, y) in [(2, 2), (2, 3), (5, 5), (13, 7), (19, 2), (19, 19)] {
        for rules in ["chinese", "japanese", "tromp-taylor", "aga-button", "stone-scoring", "goe"] {
            for komi in [json!(7.5), json!(-400), json!(400)] {
                queries.push(json!({ "boardXSize": x, "boardYSize": y, "rules": rules, "komi": komi, "maxVisits": 30,
                    "includePolicy": true, "includeOwnership": true }));
            }
        }
    }
    for (query, answer) in queries.iter().zip(each(&queries)) {
        check(&answer);
        let (x, y) = (query["boardXSize"].as_u64().unwrap() as usize, query["boardYSize"].as_u64().unwrap() as usize);
        assert_eq!(answer["rootInfo"]["visits"], 30, "{query}");
        assert_eq!((numbers(&answer["policy"]).len(), numbers(&answer["ownership"]).len()), (x * y + 1, x * y));
    }
}

/// Under superko, the legal moves depend on a position's history. If lines transpose, the search continues with the
/// moves that are legal in all of them.
#[test]
fn superko_on_the_smallest_boards_ends() {
    for rules in ["tromp-taylor", "aga", "goe", "chinese"] {
        for (x, y) in [(2, 2), (3, 2)] {
            let answer = one(json!({ "boardXSize": x, "boardYSize": y, "rules": rules, "maxVisits": 3000 }));
            check(&answer);
            assert_eq!(answer["rootInfo"]["visits"], 3000, "{rules}");
        }
    }
}

#[test]
fn games_that_are_over_are_analysed() {
    let passes = json!([["B", "pass"], ["W", "pass"], ["B", "pass"], ["W", "pass"], ["B", "C3"]]);
    for rules in ["chinese", "japanese", "tromp-taylor"] {
        let all =
            answers(&[], &[query(json!({ "moves": passes, "rules": rules, "analyzeTurns": [0, 1, 2, 3, 4, 5] }))]);
        assert_eq!(all.len(), 6);
        for answer in &all {
            check(answer);
            assert!(!infos(answer).is_empty() && answer["rootInfo"]["visits"] == 40);
        }
    }
}

#[test]
fn turns_are_answered_once_each_and_in_order() {
    let moves = json!([["B", "C3"], ["w", "G6"], ["black", "(2,2)"], ["White", "g3"]]);
    let all = answers(&[], &[query(json!({ "moves": moves, "analyzeTurns": [4, 0, 2, 2, 1] }))]);
    let turns: Vec<u64> = all.iter().map(|answer| answer["turnNumber"].as_u64().unwrap()).collect();
    assert_eq!(turns, [0, 1, 2, 4]);
    let players: Vec<&str> = all.iter().map(|answer| answer["rootInfo"]["currentPlayer"].as_str().unwrap()).collect();
    assert_eq!(players, ["B", "W", "B", "B"]);
    let twice = answers(&[], &[query(json!({})), query(json!({}))]);
    assert_eq!(twice.len(), 2);
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn moves_are_left_out_to_their_depth() {
    let rule =
        |player: &str, moves: Value, depth: u64| json!([{ "player": player, "moves": moves, "untilDepth": depth }]);
    let fields = [
        json!({ "maxVisits": 300 }),
        json!({ "maxVisits": 300, "avoidMoves": rule("B", json!(["E5", "pass", "C4"]), 1), "includePolicy": true }),
        json!({ "maxVisits": 300, "allowMoves": rule("B", json!(["D3"]), 1) }),
        json!({ "maxVisits": 300, "allowMoves": rule("W", json!(["D3", "E3"]), 20) }),
        json!({ "maxVisits": 30, "allowMoves": rule("B", json!([]), 1) }),
    ];
    let all = each(&fields);
    all.iter().for_each(check);
    let moves = |at: usize| infos(&all[at]).iter().map(|info| info["move"].as_str().unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(moves(0).len(), 82);
    assert!(["E5", "pass", "C4"].iter().all(|mv| !moves(1).contains(mv)));
    assert!(numbers(&all[1]["policy"]).iter().all(|&p| p >= 0.0), "the policy is the network's");
    assert_eq!(moves(2), BTreeSet::from(["D3"]));
    for info in infos(&all[3]) {
        let replies = info["pv"].as_array().unwrap().iter().skip(1).step_by(2);
        assert!(replies.into_iter().all(|mv| mv == "D3" || mv == "E3"), "{info}");
    }
    // There is no move to search, so the network's evaluation remains.
    let none = &all[4];
    assert_eq!(infos(none).len(), 0);
    assert!((number(&none["rootInfo"], "winrate") - number(&none["rootInfo"], "rawWinrate")).abs() < 1e-6);
}

#[test]
fn perspectives_are_the_same_numbers() {
    let ask = |whose: &str| {
        json!({ "moves": [["B", "C3"]], "includeOwnership": true, "includeOwnershipStdev": true, "includeMovesOwnership": true,
            "includePolicy": true, "includeNoResultValue": true, "maxVisits": 60,
            "overrideSettings": { "reportAnalysisWinratesAs": whose } })
    };
    let all = each(&[ask("BLACK"), ask("WHITE"), ask("SIDETOMOVE")]);
    let same = |at: usize| {
        let mut answer = all[at].clone();
        answer["id"] = json!("");
        answer
    };
    assert_eq!(same(1), same(2), "White is to move");
    let signed = ["utility", "utilityLcb", "scoreLead", "scoreMean", "scoreSelfplay", "rawLead", "rawScoreSelfplay"];
    let pairs = infos(&all[0]).iter().zip(infos(&all[1])).chain([(&all[0]["rootInfo"], &all[1]["rootInfo"])]);
    for (black, white) in pairs {
        for (key, value) in object(black) {
            let (own, other) = (value.as_f64(), white[key].as_f64());
            match (key.as_str(), own.zip(other)) {
                ("winrate" | "lcb" | "rawWinrate", Some((own, other))) => {
                    assert!((own + other - 1.0).abs() < 1e-6, "{key}")
                }
                (key, Some((own, other))) if signed.contains(&key) => assert!((own + other).abs() < 1e-6, "{key}"),
                ("ownership", _) => {
                    let both = numbers(value).into_iter().zip(numbers(&white[key]));
                    assert!(both.into_iter().all(|(own, other)| (own + other).abs() < 1e-5));
                }
                _ => assert_eq!(value, &white[key], "{key}"),
            }
        }
    }
    let both = numbers(&all[0]["ownership"]).into_iter().zip(numbers(&all[1]["ownership"]));
    assert!(both.into_iter().all(|(own, other)| (own + other).abs() < 1e-5));
    assert_eq!((&all[0]["ownershipStdev"], &all[0]["policy"]), (&all[1]["ownershipStdev"], &all[1]["policy"]));
    // The bound is below the mean for the player to move, so it is above it from the other player's view.
    for info in infos(&all[0]) {
        assert!(number(info, "lcb") > number(info, "winrate") && number(info, "utilityLcb") > number(info, "utility"));
    }
    for info in infos(&all[1]) {
        assert!(number(info, "lcb") < number(info, "winrate") && number(info, "utilityLcb") < number(info, "utility"));
    }
}

/// Rounding errors must not change the weight of a visit.
#[test]
fn where_nothing_is_pruned_weights_are_visits() {
    let settings = json!({ "useNoisePruning": false, "useLcbForSelection": false });
    let answer = one(json!({ "moves": [["B", "C3"]], "maxVisits": 300, "overrideSettings": settings }));
    assert_eq!(number(&answer["rootInfo"], "weight"), 300.0);
    for info in infos(&answer) {
        for (weight, visits) in [("weight", "visits"), ("edgeWeight", "edgeVisits")] {
            assert_eq!(number(info, weight), number(info, visits), "{info}");
        }
        let value = number(info, "playSelectionValue");
        assert!(value.fract() == 0.0 && value <= number(info, "edgeVisits"), "{info}");
    }
}

/// On an empty board most moves are symmetric to another one that was searched: their numbers are the same, and their
/// lines and ownership are turned or mirrored.
#[test]
fn images_say_what_their_original_says() {
    for (x, y) in [(9_usize, 9_usize), (7, 5)] {
        let answer = one(json!({ "boardXSize": x, "boardYSize": y, "maxVisits": 200, "includeMovesOwnership": true,
            "includePVVisits": true }));
        check(&answer);
        let original = |name: &Value| infos(&answer).iter().find(|info| info["move"] == *name).expect("an original");
        let images: Vec<&Value> = infos(&answer).iter().filter(|info| info["isSymmetryOf"].is_string()).collect();
        assert!(images.len() > x * y / 2, "{}", images.len());
        for image in images {
            let of = original(&image["isSymmetryOf"]);
            for (key, value) in object(of) {
                match key.as_str() {
                    "move" | "order" | "pv" | "ownership" | "prior" => {}
                    _ => assert_eq!(value, &image[key], "{key}"),
                }
            }
            // One symmetry maps the whole line and the ownership.
            let [own, turned] = [of, image].map(|info| {
                let pv = info["pv"].as_array().unwrap().iter();
                pv.map(|mv| point(mv.as_str().unwrap(), y)).collect::<Vec<_>>()
            });
            let places = |number: usize| {
                move |(column, row): (usize, usize)| {
                    let (column, row) = (
                        if number & 1 > 0 { x - 1 - column } else { column },
                        if number & 2 > 0 { y - 1 - row } else { row },
                    );
                    if number & 4 > 0 { (row, column) } else { (column, row) }
                }
            };
            let [owned, owned_turned] = [of, image].map(|info| numbers(&info["ownership"]));
            let fits = |number: &usize| {
                let to = places(*number);
                own.iter().map(|at| at.map(to)).eq(turned.iter().copied())
                    && (0..x * y).all(|at| {
                        let (column, row) = to((at % x, at / x));
                        (owned[at] - owned_turned[row * x + column]).abs() < 1e-5
                    })
            };
            assert!((0..if x == y { 8 } else { 4 }).any(|number| fits(&number)), "{of} {image}");
        }
    }
}

/// The flag is for queries that don't say it themselves.
#[test]
fn the_roots_temperature_of_the_command_line_is_for_all_queries() {
    let ask = |args: &[&str], settings: Value| {
        answers(args, &[query(json!({ "moves": [["B", "C3"]], "overrideSettings": settings }))])
    };
    let (flag, own) =
        (["--root-policy-temperature=3"], |temperature: f64| json!({ "rootPolicyTemperature": temperature }));
    let flat = ask(&flag, json!({}));
    assert_eq!(flat, ask(&[], own(3.0)));
    assert_ne!(flat, ask(&[], json!({})));
    assert_eq!(ask(&flag, own(1.0)), ask(&[], json!({})));
}

#[test]
fn settings_of_a_query_are_its_own() {
    let of = |settings: Value| json!({ "moves": [["B", "C3"]], "maxVisits": 100, "overrideSettings": settings });
    let all = each(&[
        of(json!({})),
        of(json!({})),
        of(json!({ "wideRootNoise": 5 })),
        of(json!({ "cpuctExploration": 10 })),
        of(json!({ "rootNumSymmetriesToSample": 8 })),
        of(json!({ "rootPolicyTemperature": 0.1 })),
        of(json!({ "playoutDoublingAdvantage": 2 })),
        of(json!({ "maxPlayouts": 20 })),
    ]);
    all.iter().for_each(check);
    let told = |at: usize| (&all[at]["rootInfo"], &all[at]["moveInfos"]);
    assert_eq!(told(0), told(1));
    for at in 2..all.len() {
        assert_ne!(told(0), told(at), "{at}");
    }
    assert!(number(&all[7]["rootInfo"], "visits") <= 21.0);
    // With the mean over all symmetries, the policy of an empty board is symmetric.
    let empty =
        one(json!({ "overrideSettings": { "rootNumSymmetriesToSample": 8 }, "includePolicy": true, "maxVisits": 1 }));
    let policy = numbers(&empty["policy"]);
    for at in 0..81 {
        let (column, row) = (at % 9, at / 9);
        for image in [row * 9 + 8 - column, (8 - row) * 9 + column, column * 9 + row] {
            assert!((policy[at] - policy[image]).abs() < 1e-6);
        }
    }
}

/// The advantage of one side is the disadvantage of the other, so after a move the network gets the negative value.
#[test]
fn an_advantage_in_playouts_belongs_to_one_side() {
    let of = |moves: Value, advantage: f64, visits: u32| {
        let allowed = json!([{ "player": "B", "moves": ["E5"], "untilDepth": 1 }]);
        let mut asked = json!({ "moves": moves, "maxVisits": visits, "overrideSettings": {
            "playoutDoublingAdvantage": advantage, "ignorePreRootHistory": false, "conservativePass": false,
            "reportAnalysisWinratesAs": "BLACK" } });
        if visits > 1 {
            asked["allowMoves"] = allowed;
        }
        one(asked)
    };
    let behind = number(&of(json!([]), 2.0, 2)["moveInfos"][0], "winrate");
    let [opposite, same] = [-2.0, 2.0].map(|it| number(&of(json!([["B", "E5"]]), it, 1)["rootInfo"], "rawWinrate"));
    assert!((behind - opposite).abs() < 1e-5, "{behind} behind the move, {opposite} at it");
    assert!((behind - same).abs() > 1e-3, "the network does not mind");
}

#[test]
fn the_same_question_has_the_same_answer() {
    let queries: Vec<Value> = ["chinese", "japanese", "aga"]
        .map(|rules| {
            query(json!({ "id": rules, "rules": rules, "moves": [["B", "E5"]], "maxVisits": 300,
            "includeOwnership": true, "includePVVisits": true }))
        })
        .into();
    let words = words(15, &["--parallel=1", "--threads=1"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let once = || run(&words, &lines(&queries)).stdout;
    assert_eq!(once(), once());
}

#[test]
fn many_queries_at_once_are_each_answered() {
    let queries: Vec<Value> = (0..50)
        .map(|at| {
            query(json!({ "id": at.to_string(), "boardXSize": 5 + at % 5, "boardYSize": 9, "maxVisits": 20 + at }))
        })
        .collect();
    let all = heard(&words(8, &["--parallel=4"]), &lines(&queries));
    all.iter().for_each(check);
    let mut visits: Vec<(u64, u64)> = all
        .iter()
        .map(|answer| {
            let id = answer["id"].as_str().unwrap().parse().unwrap();
            (id, answer["rootInfo"]["visits"].as_u64().unwrap())
        })
        .collect();
    visits.sort_unstable();
    assert_eq!(visits, (0..50).map(|at| (at, 20 + at)).collect::<Vec<_>>());
}

#[test]
fn warnings_go_on_and_errors_do_not() {
    let queries = [
        query(json!({ "id": "w", "Komi": 7, "fen": "", "overrideSettings": { "y": 1, "a": 2 } })),
        query(json!({ "id": "both", "foo": 1, "moves": [["B", "C3"], ["W", "C3"]] })),
        query(json!({ "id": "bad", "foo": 1, "komi": 7.3 })),
        query(json!({ "id": "rules", "rules": { "scoring": "TERRITORY", "hasButton": true } })),
        query(json!({ "id": "lacking", "overrideSettings": { "antiMirror": true, "logSearchInfo": true,
            "rootFpuLossProp": 0.5, "rootNoiseEnabled": false, "useGraphSearch": true, "x": 1 } })),
        query(json!({ "id": "chance", "overrideSettings": { "nnRandSeed": "abc", "nnRandomize": true } })),
        query(json!({ "id": "sure", "overrideSettings": { "nnRandomize": false } })),
    ];
    let all = answers(&[], &queries);
    let of = |id: &str| all.iter().filter(|answer| answer["id"] == id).collect::<Vec<_>>();
    let said = |id: &str| -> Vec<String> {
        of(id).iter().map(|answer| answer["field"].as_str().unwrap_or("").to_string()).collect()
    };
    assert_eq!(said("w"), ["overrideSettings", "Komi", "fen", ""]);
    assert_eq!(of("w")[0]["warning"], "Unknown config params: a,y");
    assert_eq!(
        (said("both"), &of("both")[1]["error"]),
        (vec!["foo".into(), "moves".into()], &json!("Illegal move 1: C3"))
    );
    assert_eq!(said("bad"), ["komi"]);
    assert!(said("rules") == ["rules", ""] && of("rules")[0]["warning"].as_str().unwrap().contains("not supported"));
    let lacking = "Config params of KataGo's that have no effect here: antiMirror,rootFpuLossProp";
    assert_eq!(said("lacking"), ["overrideSettings", "overrideSettings", ""]);
    assert_eq!([0, 1].map(|at| &of("lacking")[at]["warning"]), ["Unknown config params: x", lacking]);
    let chance = "Config params of KataGo's that have no effect here: nnRandSeed,nnRandomize";
    assert_eq!((&of("chance")[0]["warning"], said("sure")), (&json!(chance), vec![String::new()]));
    let silent = answers(&["-override-config=warnUnusedFields=false"], &[query(json!({ "foo": 1 }))]);
    assert_eq!(silent.len(), 1);
}

/// Settings that the search uses are not reported as unused; unknown names are reported, and so are settings that only
/// KataGo's search has.
#[test]
fn names_that_are_not_used_are_told() {
    let settings =
        ["ignorePreRootHistory=True", "cpuctUtilityStdevScale=0.5", "rootNoiseEnabled=false", "logToStderr=true"];
    let not_used = ["futileVisitsThreshold=0.1", "nonsense=1"];
    let both = [&settings[..], &not_used].concat();
    let said_to = |words: &[String]| stderr(&run(&words.iter().map(String::as_str).collect::<Vec<_>>(), ""));
    let said = said_to(&words(8, &["--threads=1", &format!("-override-config={}", both.join(","))]));
    assert!(said.contains("--override-config: not used: futileVisitsThreshold, nonsense\n"), "{said}");
    let file = std::env::temp_dir().join(format!("oncilla-not-used-{}.cfg", std::process::id()));
    std::fs::write(&file, both.join("\n")).unwrap();
    let said = said_to(&words(8, &["--threads=1", "-config", &file.display().to_string()]));
    std::fs::remove_file(&file).unwrap();
    assert!(said.contains(": not used: futileVisitsThreshold, nonsense\n"), "{said}");
}

/// Also compares the values in the file with the table of parameters.
#[test]
fn the_example_configuration_is_used_wholly_and_changes_nothing() {
    let asked = lines(&[query(json!({ "maxVisits": 100, "includeOwnership": true, "includePolicy": true }))]);
    let said = |more: &[&str]| {
        let words = words(15, &[&["--parallel=1", "--threads=1"], more].concat());
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), &asked);
        let told = |what: &str| stderr(&output).contains(what);
        assert!(output.status.success() && !told("not used") && !told("without effect"), "{}", stderr(&output));
        stdout(&output)
    };
    let file = fixtures().join("analysis/analysis_example_go.cfg");
    assert_eq!(said(&["-config", &file.display().to_string()]), said(&[]));
}

#[test]
fn actions_answer_with_themselves() {
    let all = answers(
        &[],
        &[
            json!({ "id": "v", "action": "query_version" }),
            json!({ "id": "m", "action": "query_models" }),
            json!({ "id": "c", "action": "clear_cache" }),
            json!({ "id": "s", "action": "stats" }),
            json!({ "id": "t", "action": "terminate", "terminateId": "nobody" }),
            json!({ "id": "u", "action": "Terminate" }),
        ],
    );
    assert_eq!(all.len(), 6);
    assert_eq!(all[0]["version"], env!("CARGO_PKG_VERSION"));
    let model = &all[1]["models"][0];
    assert_eq!(keys(model), ["internalName", "maxBatchSize", "name", "usesHumanSLProfile", "usingFP16", "version"]);
    assert_eq!((&model["internalName"], &model["version"]), (&json!("tiny-v8"), &json!(8)));
    assert_eq!(all[2], json!({ "id": "c", "action": "clear_cache" }));
    assert_eq!(all[3]["queue"]["waiting"], 0);
    assert_eq!(all[4], json!({ "id": "t", "action": "terminate", "terminateId": "nobody" }));
    assert!(all[5]["error"].as_str().unwrap().contains("'terminate_all'"));
}

/// The profile is set for the program or by a query, and evaluations for each profile are separate: although there is
/// one cache for all, a query gets the same answer as without a cache.
#[test]
fn a_network_for_human_play_imitates_who_is_asked_for() {
    let fields = |profile: &str| {
        let moves = json!([["B", "C3"], ["W", "G7"]]);
        query(json!({ "moves": moves, "includePolicy": true, "overrideSettings": { "humanSLProfile": profile } }))
    };
    let names = ["rank_9d", "rank_9d_20k", "rank_20k_9d", "preaz_9d", "proyear_1850", "proyear_2023", "rank_9d"];
    let asked: Vec<Value> = names.iter().map(|name| fields(name)).collect();
    let all = heard(&human(&[]), &lines(&asked));
    assert_eq!(all.len(), names.len());
    all.iter().for_each(check);
    assert_eq!(all[0], all[6]);
    for (at, one) in all[..6].iter().enumerate() {
        let alone = heard(&human(&["--nncache=0"]), &lines(&asked[at..=at]));
        assert_eq!(&alone[0], one, "{}", names[at]);
        assert!(all[..at].iter().all(|other| other["policy"] != one["policy"]), "{}", names[at]);
    }
    // The program's profile is used unless a query has another one.
    let silent = query(json!({ "moves": [["B", "C3"], ["W", "G7"]], "includePolicy": true }));
    let config = ["-override-config", "humanSLProfile=preaz_9d"];
    let said = heard(&human(&config), &lines(&[silent, fields("proyear_1850")]));
    assert_eq!(said, [all[3].clone(), all[4].clone()]);
}

#[test]
fn whose_play_is_wanted_is_named_as_katago_names_it() {
    let ask = |words: &[String], settings: Value| {
        let query = query(json!({ "overrideSettings": settings }));
        let all = heard(words, &lines(&[query]));
        assert_eq!((all.len(), &all[0]["field"], &all[0]["id"]), (1, &json!("overrideSettings"), &json!("a")));
        all[0]["error"].as_str().expect("an error").to_string()
    };
    let needed = ask(&human(&[]), json!({}));
    assert!(needed.starts_with("humanSLProfile: expected a profile, such as rank_5k, for this network"), "{needed}");
    assert_eq!(ask(&human(&["-override-config", "humanSLProfile=rank_3d"]), json!({ "humanSLProfile": "_" })), needed);
    let unknown = "Could not set settings: Unknown human SL network profile: rank_10d";
    assert_eq!(ask(&human(&[]), json!({ "humanSLProfile": "rank_10d" })), unknown);
    assert_eq!(ask(&words(15, &[]), json!({ "humanSLProfile": "rank_10d" })), unknown);
    let unused = "Could not set settings: humanSLProfile is specified as config param but the network does not use it";
    assert_eq!(ask(&words(15, &[]), json!({ "humanSLProfile": "rank_1d" })), unused);
    // If the program's own profile is wrong, it ends with an error at the start.
    for (words, said) in [
        (human(&["-override-config", "humanSLProfile=9p"]), "Unknown human SL network profile: 9p"),
        (words(15, &["-override-config", "humanSLProfile=rank_1d"]), "humanSLProfile is specified as config param"),
    ] {
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn a_network_for_human_play_says_that_it_is_one() {
    for (words, expected) in [(human(&[]), true), (words(15, &[]), false)] {
        let all = heard(&words, &lines(&[json!({ "id": "m", "action": "query_models" })]));
        assert_eq!(all[0]["models"][0]["usesHumanSLProfile"], expected);
    }
}

/// The words that start the program with a small network, and one for human play beside it.
fn beside(args: &[&str]) -> Vec<String> {
    let human = fixtures().join("go/tiny-human.bin.gz").display().to_string();
    words(8, &[&["--parallel=1", "--threads=1", "-human-model", &human], args].concat())
}

/// The answer without what a network for human play says beside the main one.
fn without_human(answer: &Value) -> Value {
    let strip = |value: &mut Value| {
        value.as_object_mut().expect("an object").retain(|name, _| !name.starts_with("human"));
    };
    let mut answer = answer.clone();
    strip(&mut answer);
    strip(&mut answer["rootInfo"]);
    answer["moveInfos"].as_array_mut().expect("a list").iter_mut().for_each(strip);
    answer
}

/// The place of a move in a policy.
fn place(mv: &str, side: usize) -> usize {
    point(mv, side).map_or(side * side, |(x, y)| y * side + x)
}

/// Beside another network it says of each position what it says where it is the only one, and the other network says
/// and searches what it does alone.
#[test]
fn a_network_for_human_play_beside_another_says_what_it_says_alone() {
    let moves = [json!([["B", "C3"], ["W", "G7"]]), json!([["B", "C3"], ["W", "G7"], ["B", "D5"]]), json!([])];
    for (view, symmetries) in [("SIDETOMOVE", 1), ("WHITE", 1), ("BLACK", 4)] {
        let asked = |profile: &str| -> Vec<Value> {
            let settings = json!({ "humanSLProfile": profile, "rootNumSymmetriesToSample": symmetries });
            let fields = |moves| json!({ "moves": moves, "includePolicy": true, "overrideSettings": settings });
            moves.iter().map(|moves| query(fields(moves))).collect()
        };
        let config = ["-override-config".to_string(), format!("reportAnalysisWinratesAs={view}")];
        let with_config = |words: Vec<String>| [&words[..], &config[..]].concat();
        let (people, nobody) = (lines(&asked("rank_9d_20k")), lines(&asked("_")));
        let all = heard(&with_config(beside(&[])), &people);
        let alone = heard(&with_config(human(&[])), &people);
        let main = heard(&with_config(words(8, &["--parallel=1", "--threads=1"])), &nobody);
        assert_eq!((all.len(), alone.len(), main.len()), (3, 3, 3));
        for ((answer, alone), main) in all.iter().zip(&alone).zip(&main) {
            check(answer);
            assert_eq!(&without_human(answer), main);
            assert_eq!(answer["humanPolicy"], alone["policy"]);
            assert_ne!(answer["humanPolicy"], answer["policy"]);
            let (root, theirs) = (&answer["rootInfo"], &alone["rootInfo"]);
            for (name, their) in [
                ("humanWinrate", "rawWinrate"),
                ("humanScoreMean", "rawScoreSelfplay"),
                ("humanScoreStdev", "rawScoreSelfplayStdev"),
                ("humanStWrError", "rawStWrError"),
                ("humanStScoreError", "rawStScoreError"),
            ] {
                assert!(root[name].is_number() && root[name] == theirs[their], "{name}: {root} {theirs}");
            }
            for info in infos(answer) {
                let at = place(info["move"].as_str().expect("a move"), 9);
                assert_eq!(info["humanPrior"], answer["humanPolicy"][at], "{info}");
            }
        }
        let images = infos(&all[2]).iter().filter(|info| !info["isSymmetryOf"].is_null()).count();
        assert!(images > 0, "moves of the empty board have images");
        // Without a profile, and without a wish for the policy, there is less to say.
        let silent = heard(&with_config(beside(&[])), &nobody);
        assert_eq!(silent, main);
        let mut short = asked("rank_9d_20k");
        short.iter_mut().for_each(|query| query["includePolicy"] = json!(false));
        let short = heard(&with_config(beside(&[])), &lines(&short));
        assert!(short.iter().all(|answer| answer["humanPolicy"].is_null() && answer["policy"].is_null()));
        assert!(short.iter().all(|answer| answer["rootInfo"]["humanWinrate"].is_number()));
    }
}

/// The program's own profile counts, too; and what the search is told of such players' moves changes it.
#[test]
fn the_search_may_follow_a_network_for_human_play() {
    let moves = json!([["B", "C3"], ["W", "G7"]]);
    let settings = |settings: Value| query(json!({ "overrideSettings": settings, "moves": moves, "maxVisits": 150 }));
    let asked = [
        settings(json!({})),
        settings(json!({ "humanSLRootExploreProbWeightful": 0.5 })),
        settings(json!({ "humanSLRootExploreProbWeightful": 0.5, "humanSLCpuctExploration": 8 })),
        settings(json!({ "humanSLRootExploreProbWeightful": 0.5, "humanSLProfile": "_" })),
    ];
    let all = heard(&beside(&["-override-config", "humanSLProfile=preaz_9d"]), &lines(&asked));
    assert_eq!(all.len(), 4);
    all.iter().for_each(check);
    assert!(all[0]["rootInfo"]["humanWinrate"].is_number() && all[3]["rootInfo"]["humanWinrate"].is_null());
    let visited = |answer: &Value| -> BTreeMap<String, u64> {
        let visits = |info: &Value| (info["move"].to_string(), info["edgeVisits"].as_u64().expect("a number"));
        infos(answer).iter().map(visits).collect()
    };
    assert!(visited(&all[1]) != visited(&all[0]) && visited(&all[2]) != visited(&all[1]));
    assert_eq!(visited(&all[3]), visited(&all[0]), "nobody to follow");
}

/// Playouts of which the root is not told are spent like others. Answers show what they have found.
#[test]
fn the_search_may_look_at_what_people_play_aside() {
    let moves = json!([["B", "C3"], ["W", "G7"]]);
    let asked = |part: f64, visits: u64| {
        let settings = json!({ "humanSLRootExploreProbWeightless": part, "humanSLCpuctPermanent": 2.0 });
        query(json!({ "overrideSettings": settings, "moves": moves, "maxVisits": visits }))
    };
    let all = heard(
        &beside(&["-override-config", "humanSLProfile=preaz_9d"]),
        &lines(&[asked(0.0, 200), asked(0.8, 200), asked(1.0, 200), asked(0.8, 1)]),
    );
    assert_eq!(all.len(), 4, "{all:#?}");
    all.iter().for_each(|answer| check_with(answer, 0.0));
    let sum = |answer: &Value, name: &str| infos(answer).iter().map(|info| info[name].as_u64().unwrap()).sum::<u64>();
    let of_root: Vec<u64> = all.iter().map(|answer| answer["rootInfo"]["visits"].as_u64().unwrap()).collect();
    assert_eq!((of_root[0], of_root[2], of_root[3]), (200, 1, 1));
    assert!(of_root[1].abs_diff(40) < 8, "{of_root:?}");
    for (answer, least) in all.iter().zip([199, 160, 199, 0]) {
        assert!(sum(answer, "visits") >= least, "{}", sum(answer, "visits"));
    }
    let only_aside = |info: &&Value| info["edgeVisits"] == 0;
    let aside: Vec<&Value> = infos(&all[1]).iter().filter(only_aside).collect();
    assert!(
        !aside.is_empty() && aside.iter().all(|info| info["edgeWeight"] == 0.0 && info["playSelectionValue"] == 0.0)
    );
    // If the root counts no visit at all, the priors say what to play.
    let priors: Vec<f64> = infos(&all[2]).iter().map(|info| number(info, "prior")).collect();
    assert!(priors.is_sorted_by(|a, b| a >= b) && infos(&all[2])[0]["playSelectionValue"] == 1.0, "{priors:?}");
}

#[test]
fn what_is_for_a_network_beside_needs_one() {
    let said = |words: &[String], settings: Value| {
        let all = heard(words, &lines(&[query(json!({ "maxVisits": 2, "overrideSettings": settings }))]));
        assert!(all.iter().all(|answer| answer["id"] == "a"), "{all:#?}");
        all
    };
    let [plain, with] = [words(15, &[]), beside(&[])];
    for (name, value) in [("humanSLRootExploreProbWeightful", 0.0), ("humanSLChosenMoveProp", 1.0)] {
        let all = said(&plain, json!({ name: value }));
        let expected = format!("Could not set settings: {name}: expected a network for human play beside the main one");
        assert!(all[0]["error"].as_str().is_some_and(|error| error.starts_with(&expected)), "{all:#?}");
        assert_eq!((all.len(), &all[0]["field"]), (1, &json!("overrideSettings")));
        assert!(said(&plain, json!({ name: "" }))[0]["moveInfos"].is_array(), "as if nobody had named it");
    }
    assert!(said(&with, json!({ "humanSLRootExploreProbWeightful": 0.5 }))[0]["moveInfos"].is_array());
    let all = said(&with, json!({ "humanSLCpuctPermanent": 1001 }));
    let range = "Could not set settings: Key 'humanSLCpuctPermanent' must be in the range 0 to 1000";
    assert_eq!(all[0]["error"], range);
    // What is not done is warned of.
    for name in ["humanSLOppExploreProbWeightless", "humanSLPlaExploreProbWeightful", "humanSLChosenMoveProp"] {
        let all = said(&with, json!({ name: 0.5 }));
        let warning = format!("Config params of KataGo's that have no effect here: {name}");
        assert_eq!((all.len(), &all[0]["warning"]), (2, &json!(warning)), "{all:#?}");
        assert_eq!(said(&with, json!({ name: 0 })).len(), 1, "{name}");
    }
}

#[test]
fn a_network_beside_has_to_be_one_for_human_play() {
    let other = fixtures().join("go/tiny-v15.bin.gz").display().to_string();
    let human = fixtures().join("go/tiny-human.bin.gz").display().to_string();
    let chess = ["analysis", "--backend=host", "--weights=tiny", "--human-model", &human].map(str::to_string).to_vec();
    for (words, part) in [
        (words(8, &["--human-model", &other]), "--human-model: expected a network for human play, got another network"),
        (words(8, &["-human-model=/no/such/file"]), "--human-model: /no/such/file: can't read it"),
        (
            words(8, &["--human-model=small"]),
            "--human-model: expected a network for human play, one of KataGo's, got small",
        ),
        (words(8, &["--human-model=."]), "in a regular file"),
        (words(8, &["--human-model=Cargo.toml"]), "one of KataGo's, got Cargo.toml"),
        (chess, "--human-model: expected it with a network of Go's in --weights"),
        (
            words(8, &["-override-config", "humanSLCpuctPermanent=0"]),
            "humanSLCpuctPermanent: expected a network for human play beside the main one (--human-model), got none",
        ),
    ] {
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{}", stderr(&output));
        let last = stderr(&output).lines().last().unwrap_or_default().to_string();
        assert!(last.starts_with("oncilla: ") && last.contains(part), "{}", stderr(&output));
    }
    // None at all is none.
    assert_eq!(heard(&words(8, &["--human-model="]), "{\"id\":\"m\",\"action\":\"query_models\"}\n").len(), 1);
}

#[test]
fn clients_are_told_of_both_networks() {
    let asked = [
        json!({ "id": "m", "action": "query_models" }),
        query(json!({ "maxVisits": 1, "overrideSettings": { "humanSLProfile": "rank_1d" } })),
    ];
    let words = beside(&[]);
    let mut client = Analysis::with(&words.iter().map(String::as_str).collect::<Vec<_>>());
    asked.iter().for_each(|line| client.say(line));
    let models = client.next();
    let told: Vec<_> =
        models["models"].as_array().unwrap().iter().map(|m| (&m["internalName"], &m["usesHumanSLProfile"])).collect();
    assert_eq!(told, [(&json!("tiny-v8"), &json!(false)), (&json!("tiny-human"), &json!(true))]);
    assert!(models["models"][1]["name"].as_str().unwrap().ends_with("tiny-human.bin.gz"));
    assert!(client.next()["rootInfo"]["humanWinrate"].is_number());
    let stats = |client: &mut Analysis| {
        client.say(&json!({ "id": "s", "action": "stats" }));
        let stats = client.next();
        [&stats["evaluator"]["evaluations"], &stats["cache"]["entries"]].map(|count| count.as_u64().unwrap())
    };
    assert_eq!(stats(&mut client), [2, 2], "one position for each");
    client.say(&json!({ "id": "c", "action": "clear_cache" }));
    client.next();
    assert_eq!(stats(&mut client), [2, 0]);
}

/// Starts the program with a small network.
fn start(args: &[&str]) -> Analysis {
    Analysis::with(&words(8, args).iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn terminate_ends_what_waits_and_what_is_searched() {
    let mut client = start(&["--parallel=1"]);
    client.say(&query(json!({ "id": "A", "maxVisits": ENDLESS, "firstReportDuringSearchAfter": 0.001 })));
    let report = client.next();
    assert_eq!(report["isDuringSearch"], true, "it is being searched");
    check(&report);
    let moves = json!([["B", "C3"], ["W", "C4"]]);
    client.say(&query(json!({ "id": "B", "moves": moves, "analyzeTurns": [0, 1, 2], "maxVisits": ENDLESS })));
    client.say(&json!({ "id": "t", "action": "terminate", "terminateId": "B", "turnNumbers": [0, 2] }));
    let empty = |turn| json!({ "id": "B", "isDuringSearch": false, "noResults": true, "turnNumber": turn });
    assert_eq!([client.next(), client.next()], [empty(0), empty(2)]);
    assert_eq!(client.next()["id"], "t");
    client.say(&json!({ "id": "t", "action": "terminate", "terminateId": "A" }));
    assert_eq!(client.next()["action"], "terminate");
    let partial = client.next();
    assert_eq!((&partial["id"], &partial["isDuringSearch"]), (&json!("A"), &json!(false)));
    check(&partial);
    client.say(&json!({ "id": "all", "action": "terminate_all" }));
    let rest = client.finish();
    let last: Vec<&Value> = rest.iter().filter(|answer| answer["id"] == "B").collect();
    assert_eq!((last.len(), &last[0]["turnNumber"], rest.len()), (1, &json!(1), 2));
}

#[test]
fn a_search_ended_at_once_answers_once() {
    let mut client = start(&["--parallel=2"]);
    for number in 0..60 {
        let id = number.to_string();
        client.say(&query(json!({ "id": id, "maxVisits": ENDLESS })));
        client.say(&json!({ "id": "t", "action": "terminate", "terminateId": id }));
    }
    let mut finals = BTreeMap::new();
    for answer in client.finish().iter().filter(|answer| answer["action"].is_null()) {
        *finals.entry(answer["id"].to_string()).or_insert(0) += 1;
    }
    assert_eq!((finals.len(), finals.values().max()), (60, Some(&1)));
}

#[test]
fn reports_come_until_the_end() {
    let mut client = start(&["--parallel=1"]);
    client.say(&query(json!({ "maxVisits": ENDLESS, "reportDuringSearchEvery": 0.01 })));
    let mut before = 0;
    for _ in 0..5 {
        let report = client.next();
        check(&report);
        let visits = report["rootInfo"]["visits"].as_u64().unwrap();
        assert!(report["isDuringSearch"] == true && visits > before);
        before = visits;
    }
    client.say(&json!({ "id": "t", "action": "terminate_all" }));
    let rest = client.finish();
    let finals = rest.iter().filter(|answer| answer["isDuringSearch"] == false).count();
    assert_eq!((finals, &rest.last().unwrap()["isDuringSearch"]), (1, &json!(false)));
    // A query's own time limit ends its search too.
    let timed = one(json!({ "maxVisits": ENDLESS, "overrideSettings": { "maxTime": 0.05 } }));
    check(&timed);
}

#[test]
fn higher_priorities_come_first() {
    let mut client = start(&["--parallel=1"]);
    client.say(&query(json!({ "id": "busy", "maxVisits": ENDLESS, "firstReportDuringSearchAfter": 0.001 })));
    client.next();
    let moves = json!([["B", "C3"], ["W", "C4"], ["B", "D3"]]);
    client.say(&query(json!({ "id": "zero", "maxVisits": 1 })));
    client.say(&query(
        json!({ "id": "p", "moves": moves, "analyzeTurns": [3, 1, 0], "priorities": [5, -1, 7], "maxVisits": 1 }),
    ));
    client.say(&query(json!({ "id": "five", "maxVisits": 1, "priority": 5 })));
    client.say(&json!({ "id": "end", "action": "terminate", "terminateId": "busy" }));
    let order: Vec<(String, u64)> = client
        .finish()
        .iter()
        .filter(|answer| answer["action"].is_null() && answer["id"] != "busy")
        .map(|answer| (answer["id"].as_str().unwrap().to_string(), answer["turnNumber"].as_u64().unwrap()))
        .collect();
    let expected = [("p", 0), ("p", 3), ("five", 0), ("zero", 0), ("p", 1)];
    assert_eq!(order, expected.map(|(id, turn)| (id.to_string(), turn)));
}

#[test]
fn the_input_may_end_before_the_answers() {
    let long = query(json!({ "moves": [["B", "C3"]], "analyzeTurns": [0, 1], "maxVisits": ENDLESS }));
    for flag in ["-quit-without-waiting", "-quit-without-waiting=true", "--quit-without-waiting=true"] {
        assert_eq!(answers(&[flag], std::slice::from_ref(&long)).len(), 0);
    }
    assert_eq!(answers(&["-quit-without-waiting=false"], &[query(json!({}))]).len(), 1);
    assert_eq!(answers(&[], &[]).len(), 0);
    let words = words(8, &["--parallel=2"]);
    let (process, mut stdin) = spawn(&words.iter().map(String::as_str).collect::<Vec<_>>());
    for number in 0..200 {
        writeln!(stdin, "{}", query(json!({ "id": number.to_string(), "maxVisits": 3 }))).unwrap();
    }
    drop(stdin);
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stdout(&output).lines().count(), 200);
}

/// The program's output on standard error.
fn said(args: &[&str], queries: &[Value]) -> String {
    let words = words(8, args);
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), &lines(queries));
    assert!(output.status.success(), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn what_runs_a_size_is_made_once() {
    let board = |side: usize| query(json!({ "boardXSize": side, "boardYSize": side, "maxVisits": 300 }));
    let queries: Vec<Value> = (0..2).flat_map(|_| (4..10).map(board)).collect();
    let said = said(&["--threads=1", "--parallel=6"], &queries);
    // Six sizes, and the largest board, whose service is made at the start.
    assert_eq!(said.lines().filter(|line| line.contains("network on ")).count(), 7, "{said}");
}

#[test]
fn the_host_has_threads_for_all_positions() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (parallel, threads) in [(1, 1), (2, cores.min(2))] {
        let said = said(&["--threads=1", &format!("--parallel={parallel}")], &[]);
        assert!(said.contains(&format!("for Go, on host, {threads} thread")), "{said}");
    }
}

#[test]
fn memory_is_shared_out() {
    let few = said(&["--threads=1", "--parallel=100", "--hash=16"], &[]);
    let reduced = "oncilla: Hash and RamLimitMb leave too little for 100 trees: 8 at a time, 2 MiB each";
    assert!(few.contains(reduced) && few.contains(", 8 positions at a time"), "{few}");
    let low = said(&["--threads=1", "--ramlimit-mb=20"], &[]);
    assert!(low.contains(" take more than RamLimitMb=20: "), "{low}");
    assert!(!said(&["--threads=1", "--parallel=2"], &[]).contains("RamLimitMb"));
}

#[test]
fn a_search_that_ends_for_want_of_memory_says_so() {
    let board = |visits: u64| query(json!({ "boardXSize": 5, "boardYSize": 5, "maxVisits": visits }));
    let ended = |visits| said(&["--threads=1", "--parallel=1", "--hash=2"], &[board(visits)]);
    let said = ended(1_000_000);
    assert!(
        said.contains("oncilla: query \"a\", turn 0: ended after ") && said.contains(" of 1000000 visits"),
        "{said}"
    );
    assert!(!ended(100).contains("ended after"));
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

/// Sums for the comparison with KataGo's searches.
#[derive(Debug, Default)]
struct Agreement {
    roots: usize,
    off: f64,
    bests: usize,
    same: usize,
    first: usize,
    /// The number of moves with the same number of visits in both searches, if more than one; of those whose utility is
    /// equal; and of those after which both expect the same line.
    moves: usize,
    equal: usize,
    lines: usize,
    /// The number of points with an ownership in both answers, and the sum of the differences.
    points: usize,
    owned_off: f64,
    /// The sum of the differences in the root's weight per visit.
    weight_off: f64,
}

impl Agreement {
    fn compare(&mut self, ours: &Value, theirs: &Value) {
        assert_eq!(keys(ours), keys(theirs));
        let (root, their_root) = (&ours["rootInfo"], &theirs["rootInfo"]);
        if !root.is_object() || !their_root.is_object() {
            return;
        }
        // KataGo's documentation has the root's `lcb`, but the recorded version does not write it any more.
        let own: Vec<&str> = keys(root).into_iter().filter(|key| *key != "lcb").collect();
        assert!(own == keys(their_root) && root["lcb"].is_f64(), "{root}, KataGo {their_root}");
        assert!((number(root, "rawWinrate") - number(their_root, "rawWinrate")).abs() <= 1e-4, "{root}");
        self.roots += 1;
        self.off += (number(root, "winrate") - number(their_root, "winrate")).abs();
        let of_visit = |root: &Value| number(root, "weight") / number(root, "visits");
        self.weight_off += (of_visit(root) - of_visit(their_root)).abs();
        self.compare_owners(&ours["ownership"], &theirs["ownership"]);
        let (Some(first), Some(their_first)) = (infos(ours).first(), infos(theirs).first()) else {
            assert_eq!(infos(ours).len(), infos(theirs).len());
            return;
        };
        assert_eq!(keys(first), keys(their_first));
        assert_same_images(&ours["id"], infos(ours), infos(theirs));
        self.compare_moves(infos(ours), infos(theirs));
        // A move and its symmetric images count as one.
        let names: Vec<&Value> = infos(theirs)
            .iter()
            .filter(|info| info["isSymmetryOf"].is_null())
            .take(3)
            .map(|info| &info["move"])
            .collect();
        let is_among = |info: &&Value| names.contains(&&info["move"]) || names.contains(&&info["isSymmetryOf"]);
        self.bests += 1;
        self.first += usize::from(first["move"] == their_first["move"]);
        self.same += usize::from(infos(theirs).iter().filter(is_among).any(|info| info["move"] == first["move"]));
    }
}

impl Agreement {
    /// KataGo has noise at the root, which changes the visits of the root's moves. Below them there is no noise, so the
    /// same number of visits gives the same value, except for positions that several moves of the root lead to.
    fn compare_moves(&mut self, ours: &[Value], theirs: &[Value]) {
        for their in theirs.iter().filter(|info| info["visits"].as_u64().unwrap() > 1) {
            let is_it = |info: &&Value| info["move"] == their["move"] && info["visits"] == their["visits"];
            let Some(our) = ours.iter().find(is_it) else { continue };
            self.moves += 1;
            self.equal += usize::from((number(our, "utility") - number(their, "utility")).abs() < 0.002);
            self.lines += usize::from(our["pv"] == their["pv"]);
        }
    }

    fn compare_owners(&mut self, ours: &Value, theirs: &Value) {
        let points = |of: &Value| of.as_array().into_iter().flatten().map(|point| point.as_f64().unwrap()).collect();
        let (ours, theirs): (Vec<f64>, Vec<f64>) = (points(ours), points(theirs));
        assert_eq!(ours.len(), theirs.len());
        self.points += ours.len();
        self.owned_off += ours.iter().zip(theirs).map(|(our, their)| (our - their).abs()).sum::<f64>();
    }
}

/// Queries that forbid one of two symmetric moves but not the other, or do so only below the root. KataGo leaves the
/// images out anyway; here all are searched.
const TOLD_APART: [&str; 2] = ["avoid1", "avoid_both"];

/// Checks that the same one of symmetric moves is searched and represents the others.
fn assert_same_images(id: &Value, ours: &[Value], theirs: &[Value]) {
    let has_images = |infos: &[Value]| infos.iter().any(|info| info["isSymmetryOf"].is_string());
    let is_told_apart = TOLD_APART.iter().any(|told| id == told);
    assert_eq!(has_images(ours), has_images(theirs) && !is_told_apart, "{id}");
    if is_told_apart {
        return;
    }
    let of = |info: &Value| (info["move"].to_string(), info["isSymmetryOf"].to_string());
    let theirs: BTreeMap<String, String> = theirs.iter().map(of).collect();
    for (mv, stands_for_it) in ours.iter().map(of) {
        assert!(theirs.get(&mv).is_none_or(|theirs| *theirs == stands_for_it), "{id}: {mv} {stands_for_it}");
    }
}

#[test]
fn recorded_queries_are_answered_as_katago_answers_them() {
    let Some(shared) = shared() else { return };
    let weights = format!("--weights={}", shared.join("nets/g170-b6c96-s175395328-d26788732.bin.gz").display());
    let mut agreement = Agreement::default();
    for name in RECORDED {
        let session = json_lines(&shared.join(format!("oracle/katago/{name}.jsonl")));
        let of = |way: &'static str| {
            session.iter().filter(move |row| row["dir"] == way).filter_map(|row| row["line"].as_str())
        };
        let config = session[0]["config"].as_str().unwrap();
        let settings: Vec<String> = config.lines().map(|line| line.replace(' ', "")).collect();
        let settings = format!("-override-config={}", settings.join(","));
        let words = ["analysis", "--backend=host", &weights, "--parallel=1", &settings].map(str::to_string);
        let input: String = of("in").map(|line| format!("{line}\n")).collect();
        let ours = heard(&words, &input);
        let theirs: Vec<Value> = of("out").filter_map(|line| serde_json::from_str(line).ok()).collect();
        let (ours, theirs) = (finals(&ours), finals(&theirs));
        assert!(ours.keys().eq(theirs.keys()), "{name}");
        for (turn, theirs) in &theirs {
            assert_eq!(ours[turn].len(), theirs.len(), "{name} {turn:?}");
            ours[turn].iter().zip(theirs).for_each(|(ours, theirs)| agreement.compare(ours, theirs));
        }
    }
    let Agreement { roots, off, bests, same, first, moves, equal, lines, points, owned_off, weight_off } = agreement;
    let of_visit = weight_off / roots as f64;
    let (mean, share, of_point) = (off / roots as f64, same as f64 / bests as f64, owned_off / points as f64);
    println!("{roots} roots: mean |Δ winrate| {mean:.4}, a visit counts on average {of_visit:.4} less or more");
    println!("of {bests} best moves {first} are KataGo's, {same} among its first three");
    println!(
        "of {moves} moves with as many visits, more than one, {equal} are worth the same, {lines} have the same line"
    );
    println!("of {points} points each is on average {of_point:.4} less or more one's own");
    // Measured over 111 roots, which have noise in KataGo: mean |Δ winrate| 0.0052, weight per visit 0.0259, best move
    // the same in 100 or 101 of 107 and among the first three in 107, equal utility 125 of 132, the same line 129 of
    // 132, ownership 0.0267 per point.
    assert!(roots > 100 && mean <= 0.010 && of_visit <= 0.040, "{mean} {of_visit}");
    assert!(first * 10 >= bests * 9, "{first} of {bests}");
    assert!(bests > 100 && share >= 0.9, "{share}");
    assert!(moves > 80 && equal * 100 >= moves * 85, "{equal} of {moves}");
    assert!(lines * 100 >= moves * 90, "{lines} of {moves}");
    assert!(points > 900 && of_point <= 0.035, "{of_point} of {points}");
}
