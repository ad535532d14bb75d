//! Tests the protocol of `oncilla analysis` through the real binary.

mod common;
mod driver;
mod requests;

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

#[test]
fn an_answer_has_its_fields() {
    let answer = one(json!({
        "id": "a", "moves": ["e2e4", ["b", "e7e5"]], "maxVisits": 40, "includePolicy": true, "includePVVisits": true,
        "includeTree": { "depth": 3, "minVisits": 2 },
    }));
    assert_eq!(keys(&answer), ["id", "isDuringSearch", "moveInfos", "policy", "rootInfo", "tree", "turnNumber"]);
    assert_eq!((answer["turnNumber"].as_u64(), answer["isDuringSearch"].as_bool()), (Some(2), Some(false)));
    let root = &answer["rootInfo"];
    assert_eq!((root["visits"].as_u64(), root["currentPlayer"].as_str()), (Some(40), Some("W")));
    for key in ["winrate", "drawrate", "wdl", "scoreCp", "utility", "lcb", "weight", "rawWinrate", "rawWdl"] {
        assert!(!root[key].is_null(), "{key}");
    }
    for key in ["thisHash", "symHash"] {
        assert_eq!(root[key].as_str().unwrap().len(), 32);
    }
    let infos = answer["moveInfos"].as_array().unwrap();
    let sum = |key: &str| infos.iter().map(|info| info[key].as_u64().unwrap()).sum::<u64>();
    // The root's own evaluation is one of its visits.
    assert_eq!((sum("visits"), sum("edgeVisits")), (39, 39));
    for (order, info) in infos.iter().enumerate() {
        assert_eq!(info["order"], order);
        let pv = info["pv"].as_array().unwrap();
        assert_eq!(pv[0], info["move"]);
        assert_eq!(info["pvVisits"].as_array().unwrap().len(), pv.len());
        assert_eq!(info["pvEdgeVisits"][0], info["edgeVisits"]);
        let wdl: Vec<f64> = info["wdl"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect();
        assert!((wdl.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        assert!((info["winrate"].as_f64().unwrap() - wdl[0] - wdl[1] / 2.0).abs() < 1e-6);
        assert!(info["lcb"].as_f64() < info["winrate"].as_f64());
    }
    let policy = answer["policy"].as_object().unwrap();
    assert_eq!(policy.len(), 29);
    assert!((policy.values().map(|p| p.as_f64().unwrap()).sum::<f64>() - 1.0).abs() < 1e-6);
    let tree = answer["tree"].as_array().unwrap();
    assert_eq!(tree.len(), infos.iter().filter(|info| info["edgeVisits"].as_u64() >= Some(2)).count());
    assert!(tree[0]["children"].as_array().unwrap().iter().all(|child| child["edgeVisits"].as_u64() >= Some(2)));
}

/// A move that draws by repetition makes hints see other things, and the network's own word is that of the search.
#[test]
fn the_network_says_the_same_of_the_root_as_in_the_search() {
    let moves = ["d1d2", "g8f8", "d2d1", "f8g8", "d1d2", "g8f8", "d2d1"];
    let query =
        json!({ "id": "a", "initialFen": "6k1/5ppp/8/8/8/8/5PPP/3Q2K1 w - - 0 1", "moves": moves, "maxVisits": 1 });
    let args = ["analysis", "--backend=host", "--weights=tiny", "--parallel=1"];
    let output = run(&args, &format!("{query}\n"));
    let answer: Value = serde_json::from_str(stdout(&output).trim()).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let of_root = |key: &str| answer["rootInfo"][key].as_f64().unwrap_or_else(|| panic!("{key} in {answer}"));
    assert!((of_root("winrate") - of_root("rawWinrate")).abs() < 1e-6, "{answer}");
}

/// The numbers named `key` of an answer's moves, in their order.
fn column(answer: &Value, key: &str) -> Vec<f64> {
    answer["moveInfos"].as_array().unwrap().iter().map(|info| info[key].as_f64().unwrap()).collect()
}

/// Whether the moves are not in the order of their visits, because something else decided the order.
fn is_overtaken(answer: &Value) -> bool {
    let values = column(answer, "playSelectionValue");
    assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
    !column(answer, "edgeVisits").is_sorted_by(|a, b| a >= b)
}

#[test]
fn moves_are_in_the_order_of_what_they_are_chosen_by() {
    let by_bound = json!({ "useLcbForSelection": true, "minVisitPropForLCB": 0.01, "LcbStdevs": 0 });
    let query = |moves: &[&str]| json!({ "id": "", "moves": moves, "maxVisits": 300, "overrideSettings": by_bound });
    let game = ["e2e4", "e7e5", "g1f3", "b8c6"];
    assert!((0..=game.len()).any(|turn| is_overtaken(&one(query(&game[..turn])))));
    // A full tree, which expands folded nodes again.
    let full = json!({ "id": "", "moves": ["e2e4"], "maxVisits": 150_000 });
    let all = answers(&["--hash=2", "--parallel=1"], &format!("{full}\n"));
    assert!(is_overtaken(&all[0]));
}

/// The moves' visits add up to the root's, even while threads search, and while a full tree is folded.
#[test]
fn visits_of_moves_add_up_in_every_report() {
    let query = json!({ "id": "", "moves": ["e2e4"], "maxVisits": 150_000, "reportDuringSearchEvery": 0.01 });
    let all = answers(&["--hash=2", "--parallel=1", "--threads=4"], &format!("{query}\n"));
    for answer in &all {
        let visits = answer["rootInfo"]["visits"].as_f64().unwrap();
        assert_eq!(column(answer, "edgeVisits").iter().sum::<f64>() + 1.0, visits);
    }
    let visits: Vec<u64> = all.iter().map(|answer| answer["rootInfo"]["visits"].as_u64().unwrap()).collect();
    assert!(visits.is_sorted() && visits.last() == Some(&150_000), "{visits:?}");
}

#[test]
fn every_turn_gets_one_line_and_the_input_may_end_before() {
    let game = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6"];
    let query = json!({ "id": "game", "moves": game, "analyzeTurns": [6, 0, 3, 3], "maxVisits": 5 });
    let all = answers(&[], &query.to_string());
    let mut turns: Vec<u64> = all.iter().map(|answer| answer["turnNumber"].as_u64().unwrap()).collect();
    turns.sort_unstable();
    assert_eq!(turns, [0, 3, 6]);
    assert_eq!(answers(&[], ""), Vec::<Value>::new());
    assert_eq!(answers(&[], " \r\n\n\t\n"), Vec::<Value>::new());
    // This query has so many visits that it is not answered before the input ends.
    let long = json!({ "id": "game", "moves": game, "analyzeTurns": [6, 0, 3, 3], "maxVisits": 100_000_000 });
    assert_eq!(answers(&["--quit-without-waiting"], &long.to_string()).len(), 0);
}

#[test]
fn one_visit_is_the_networks_word() {
    let answer = one(json!({ "id": "", "moves": [], "maxVisits": 1 }));
    let root = &answer["rootInfo"];
    assert_eq!((answer["moveInfos"].as_array().unwrap().len(), root["visits"].as_u64()), (0, Some(1)));
    assert_eq!((&root["winrate"], &root["wdl"]), (&root["rawWinrate"], &root["rawWdl"]));
}

#[test]
fn moves_in_algebraic_notation_are_those_in_uci() {
    let query =
        |moves: Value, rules: Value| one(json!({ "id": "", "moves": moves, "maxVisits": 40, "avoidMoves": rules }));
    let rule = |player: &str, moves: &[&str]| json!([{ "player": player, "moves": moves, "untilDepth": 1 }]);
    let in_uci = ["e2e4", "d7d5", "e4d5", "g8f6", "f1b5", "c8d7", "g1f3", "a7a6", "e1g1"];
    let as_people_write = ["e4", "d5", "e:d5", "Nf6", "Bb5+", "Bd7!?", " Nf3 ", "a6", "0-0"];
    let uci = query(json!(in_uci), rule("b", &["f6d5", "a6b5"]));
    assert_eq!(query(json!(as_people_write), rule("b", &["Nxd5", "axb5"])), uci);
    assert!(uci["moveInfos"].as_array().unwrap().iter().all(|info| info["move"] != "a6b5" && info["move"] != "f6d5"));
    let pairs: Vec<[&str; 2]> = ["w", "b"].into_iter().cycle().zip(as_people_write).map(<[&str; 2]>::from).collect();
    assert_eq!(query(json!(pairs), rule("b", &["f6d5", "axb5"])), uci);
    // Two bishops and a knight can move to c3; `B1c3` means the bishop on the first rank.
    let bishops = json!({ "id": "", "initialFen": "4k3/8/8/B7/8/8/8/BN2K3 w - - 0 1", "moves": [], "maxVisits": 5,
        "allowMoves": [{ "player": "w", "moves": ["B1c3"], "untilDepth": 1 }] });
    assert_eq!(one(bishops)["moveInfos"][0]["move"], "a1c3");
    let played = json!({ "id": "", "initialFen": "4k3/8/8/B7/8/8/8/BN2K3 w - - 0 1", "moves": ["B1c3", "Kf7", "Nd2"], "maxVisits": 5 });
    assert!(one(played)["error"].is_null(), "the knight is still there");
}

#[test]
fn what_is_no_move_is_told_with_its_turn() {
    let error = |mut query: Value| {
        query["id"] = json!("");
        let answers = answers(&[], &format!("{query}\n"));
        let last = answers.last().unwrap();
        format!("{}: {}", last["field"].as_str().unwrap(), last["error"].as_str().unwrap())
    };
    let knights = ["d4", "d5", "Nf3", "e6"];
    let rule = |player: &str, mv: &str| json!([{ "player": player, "moves": [mv], "untilDepth": 1 }]);
    for (query, expected) in [
        (
            json!({ "moves": ["e4", "Q4"] }),
            "Could not parse move: Q4: expected UCI as in \"g1f3\", or algebraic notation as in \"Nf3\" and \"O-O\", at turn 1",
        ),
        (json!({ "moves": ["e4", "Nf3"] }), "Illegal move 1: Nf3 (expected a legal move)"),
        (json!({ "moves": ["d4", "d5", "Nf3", "e6", "Nd2"] }), "Illegal move 4: Nd2 (expected one of Nbd2 and Nfd2)"),
        (json!({ "moves": ["e2e5"] }), "Illegal move 0: e2e5"),
        (json!({ "moves": [["b", "Nf3"]] }), "Illegal move 0: Nf3 (White is to move)"),
        (
            json!({ "moves": knights, "avoidMoves": rule("w", "Nd2") }),
            "Could not parse move: Nd2: expected one of Nbd2 and Nfd2 at turn 4",
        ),
        (
            json!({ "moves": knights, "avoidMoves": rule("w", "Nd5") }),
            "Could not parse move: Nd5: expected a legal move at turn 4",
        ),
        (
            json!({ "moves": knights, "allowMoves": rule("b", "Nf6") }),
            "Could not parse move: Nf6: expected UCI as in \"g1f3\" for who is not to move at turn 4",
        ),
        (
            json!({ "moves": knights, "allowMoves": rule("w", "Nbd2"), "analyzeTurns": [2, 4] }),
            "Could not parse move: Nbd2: expected UCI as in \"g1f3\" where several positions are asked for",
        ),
        (
            json!({ "fen": "8/P7/8/8/8/8/k7/7K w - - 0 1", "moves": [], "avoidMoves": rule("w", "a7a8") }),
            "Could not parse move: a7a8: expected the piece that the pawn becomes, as in \"a7a8q\"",
        ),
    ] {
        assert_eq!(error(query.clone()), format!("moves: {expected}"), "{query}");
    }
    let of_go = json!({ "moves": [["B", "Q4"], ["W", "D4"]], "rules": "tromp-taylor", "komi": 7.5, "boardXSize": 19, "boardYSize": 19 });
    let says = "this program analyses chess, and a query with boardXSize, boardYSize, komi is for Go: expected moves,";
    assert!(error(of_go).contains(says));
    assert!(
        error(json!({ "moves": [], "rules": "tromp-taylor", "komi": 7.5 })).contains("chess, and a query with komi is")
    );
    for of_chess in [json!({ "moves": ["Q4"] }), json!({ "moves": [], "maxVisits": 0, "komi": 7 })] {
        assert!(!error(of_chess).contains("Go"));
    }
}

#[test]
fn warnings_go_on_and_errors_do_not() {
    let input = [
        json!({ "id": "w", "moves": [], "maxVisits": 2, "komi": 7, "Moves": 1, "overrideSettings": { "y": 1, "a": 2 } }),
        json!({ "id": "both", "moves": ["e2e5"], "komi": 7, "analyzeTurns": [0] }),
        json!({ "id": "bad", "moves": ["e2e4"], "komi": 7, "analyzeTurns": [2] }),
        json!({ "id": "off", "moves": [], "maxVisits": 2, "komi": 7 }),
    ];
    let text: String = input[..3].iter().map(|line| format!("{line}\n")).collect();
    let all = answers(&[], &text);
    let said: Vec<(&str, bool)> =
        of(&all, "w").iter().map(|a| (a["field"].as_str().unwrap_or(""), a["warning"].is_string())).collect();
    assert_eq!(said, [("overrideSettings", true), ("Moves", true), ("komi", true), ("", false)]);
    assert_eq!(of(&all, "w")[0]["warning"], "Unknown config params: a,y");
    let warned = |at: usize| of(&all, "w")[at]["warning"].as_str().unwrap();
    assert!(warned(1).contains("do you have a typo?") && warned(2).starts_with("Has no meaning in chess"));
    let both = of(&all, "both");
    assert_eq!((both.len(), &both[0]["field"], &both[1]["error"]), (2, &json!("komi"), &json!("Illegal move 0: e2e5")));
    let bad = of(&all, "bad");
    assert_eq!((bad.len(), &bad[0]["error"]), (1, &json!("Invalid turn number: 2")));
    for switch in [
        "-override-config=nnCacheSizePowerOfTwo=20,logDir=x,warnUnusedFields=false",
        "--no-warn-unused-fields",
        "-override-config=warnUnusedFields=false",
    ] {
        assert_eq!(answers(&[switch], &format!("{}\n", input[3])).len(), 1, "{switch}");
    }
}

#[test]
fn who_is_to_move_may_be_said_twice_but_not_otherwise() {
    let ask = |player: &str, fen: &str| {
        one(json!({ "id": "a", "moves": [], "maxVisits": 2, "fen": fen, "initialPlayer": player }))
    };
    let black = "4k3/8/8/8/8/8/8/4K2R b K - 0 1";
    for (player, fen) in [("w", "startpos"), ("WHITE", "startpos"), ("B", black), ("black", black)] {
        assert_eq!(ask(player, fen)["rootInfo"]["visits"], 2, "{player}");
    }
    let refused = ask("B", "startpos");
    let said = (refused["field"].as_str(), refused["error"].as_str());
    assert_eq!(said, (Some("initialPlayer"), Some("White is to move in the position")));
}

/// An error names the wrong field and the reason.
#[test]
fn bad_fields_are_named() {
    let cases = requests::bad_queries();
    let mut input = String::new();
    for (number, (query, _)) in cases.iter().enumerate() {
        let mut query = query.clone();
        query["id"] = json!(number.to_string());
        input += &format!("{query}\n");
    }
    let all = answers(&[], &input);
    assert_eq!(all.len(), cases.len());
    for (number, (query, field)) in cases.iter().enumerate() {
        let said = of(&all, &number.to_string());
        assert!(said[0]["error"].is_string(), "{query}");
        assert_eq!(said[0]["field"], *field, "{query}: {}", said[0]);
    }
}

#[test]
fn lines_that_are_no_requests_are_answered() {
    let deep = format!("{{\"id\":\"deep\",\"x\":{}", "[".repeat(100_000));
    let long = format!("{{\"id\":\"long\",\"moves\":[],\"maxVisits\":1}}{}", " ".repeat(2 << 20));
    let input = format!(
        "quit\n[1]\n5\n{{}}\n{{\"id\":5}}\n{{\"id\":\"cut\",\n{deep}\n\u{feff}{{\"id\":\"bom\",\"moves\":[],\"maxVisits\":1}}\r\n{long}\n{{\"id\":\"longer\",{}\n",
        "x".repeat(17 << 20)
    );
    let all = answers(&[], &input);
    let errors: Vec<&Value> = all.iter().filter(|answer| answer["error"].is_string()).collect();
    assert_eq!(errors.len(), 8, "{errors:?}");
    assert!(errors.iter().all(|error| error.to_string().len() < 600 && error["field"].is_null()));
    for id in ["cut", "deep", "longer"] {
        assert_eq!(of(&all, id).len(), 1, "{id}");
    }
    for id in ["bom", "long"] {
        assert_eq!(of(&all, id)[0]["rootInfo"]["visits"], 1, "{id}");
    }
}

#[test]
fn actions_answer_with_themselves() {
    let all = answers(
        &[],
        r#"{"id":"v","action":"query_version","extra":[1,{"b":null}]}
{"id":"m","action":"query_models"}
{"id":"c","action":"clear_cache","moves":5}
{"id":"s","action":"stats"}
{"id":"t","action":"terminate","terminateId":"nobody","turnNumbers":[]}
{"id":"t1","action":"terminate"}
{"id":"t2","action":"terminate","terminateId":"x","turnNumbers":[1.5]}
{"id":"a","action":"terminate_all"}
{"id":"u","action":"Query_version"}
{"id":"n","action":5}
"#,
    );
    assert_eq!(all.len(), 10);
    assert_eq!(all[0]["extra"].to_string(), r#"[1,{"b":null}]"#);
    assert_eq!((&all[0]["version"], &all[0]["action"]), (&json!(env!("CARGO_PKG_VERSION")), &json!("query_version")));
    assert_eq!((&all[1]["models"][0]["name"], &all[1]["models"][0]["usingFP16"]), (&json!("small"), &json!("false")));
    assert_eq!(all[2], json!({ "id": "c", "action": "clear_cache", "moves": 5 }));
    assert_eq!(all[3]["queue"]["waiting"], 0);
    assert_eq!(all[4], json!({ "id": "t", "action": "terminate", "terminateId": "nobody", "turnNumbers": [] }));
    assert_eq!((&all[5]["field"], &all[6]["field"]), (&json!("terminateId"), &json!("turnNumbers")));
    assert_eq!(all[7], json!({ "id": "a", "action": "terminate_all" }));
    assert!(all[8]["error"].as_str().unwrap().contains("'terminate_all'") && all[8]["id"] == "u");
    assert_eq!((&all[9]["field"], &all[9]["id"]), (&json!("moves"), &json!("n")), "no action: a query");
}

/// The error about an unknown action names all that there are.
#[test]
fn every_action_that_an_error_names_is_known() {
    let unknown = answers(&[], "{\"id\":\"u\",\"action\":\"unknown\"}\n");
    let error = unknown[0]["error"].as_str().unwrap();
    let expected = "'action' field must be 'query_version' or 'query_models' or 'clear_cache' or 'terminate' or \
                    'terminate_all' or 'session' or 'stats'";
    assert_eq!(error, expected);
    let names: Vec<&str> = error.split('\'').skip(3).step_by(2).collect();
    let asked = names.iter().map(|name| format!("{{\"id\":\"a\",\"action\":\"{name}\",\"terminateId\":\"x\"}}\n"));
    let known = answers(&[], &asked.collect::<String>());
    assert_eq!(known.iter().map(|answer| answer["action"].as_str().unwrap()).collect::<Vec<_>>(), names);
    assert!(known.iter().all(|answer| answer.get("error").is_none()), "{known:?}");
}

fn start(args: &[&str]) -> Analysis {
    Analysis::with(&[&["analysis", "--backend=random"], args].concat())
}

#[test]
fn terminate_ends_what_waits_and_what_is_searched() {
    let mut client = start(&["--parallel=1"]);
    let report = json!({ "id": "A", "moves": [], "maxVisits": ENDLESS, "firstReportDuringSearchAfter": 0.001 });
    client.say(&report);
    assert_eq!(client.next()["isDuringSearch"], true, "it is being searched");
    client.say(&json!({ "id": "B", "moves": ["e2e4", "e7e5"], "analyzeTurns": [0, 1, 2], "maxVisits": ENDLESS }));
    client.say(&json!({ "id": "t", "action": "terminate", "terminateId": "B", "turnNumbers": [0, 2] }));
    let empty = |turn| json!({ "id": "B", "isDuringSearch": false, "noResults": true, "turnNumber": turn });
    assert_eq!([client.next(), client.next()], [empty(0), empty(2)]);
    assert_eq!(client.next()["id"], "t");
    client.say(&json!({ "id": "t", "action": "terminate", "terminateId": "A" }));
    assert_eq!(client.next()["action"], "terminate");
    let partial = client.next();
    assert_eq!((&partial["id"], &partial["isDuringSearch"]), (&json!("A"), &json!(false)));
    assert!(partial["rootInfo"]["visits"].as_u64() > Some(0));
    client.say(&json!({ "id": "all", "action": "terminate_all" }));
    // B's last turn may or may not have been started.
    let rest = client.finish();
    let last: Vec<&Value> = rest.iter().filter(|answer| answer["id"] == "B").collect();
    assert_eq!((last.len(), &last[0]["turnNumber"]), (1, &json!(1)));
    assert_eq!(rest.len(), 2);
}

/// The input is many times as large as a pipe's buffer. A client that writes all of it before it reads is not blocked,
/// and gets all answers.
#[test]
fn a_client_may_write_everything_before_it_reads() {
    let (process, mut stdin) = spawn(&["analysis", "--backend=constant", "--parallel=2"]);
    for number in 0..3000 {
        let query = json!({ "id": number.to_string(), "moves": ["e2e4", "e7e5"], "maxVisits": 20 });
        writeln!(stdin, "{query}").unwrap();
    }
    let endless = json!({ "id": "endless", "moves": [], "maxVisits": ENDLESS });
    writeln!(stdin, "{endless}\n{}", json!({ "id": "t", "action": "terminate", "terminateId": "endless" })).unwrap();
    drop(stdin);
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stdout(&output).lines().count(), 3002);
}

/// Nothing reads the output, and the program ends anyway.
#[test]
fn without_waiting_it_ends_although_nobody_reads() {
    let (mut process, mut stdin) = spawn(&["analysis", "--backend=constant", "--parallel=2", "-quit-without-waiting"]);
    for number in 0..1000 {
        let query = json!({ "id": number.to_string(), "moves": [], "maxVisits": 20 });
        writeln!(stdin, "{query}").unwrap();
    }
    drop(stdin);
    assert!(process.wait().unwrap().success());
}

#[test]
fn a_search_ended_at_once_answers_once() {
    let mut client = start(&["--parallel=2"]);
    for number in 0..200 {
        let id = number.to_string();
        client.say(&json!({ "id": id, "moves": [], "maxVisits": ENDLESS }));
        client.say(&json!({ "id": "t", "action": "terminate", "terminateId": id }));
    }
    let mut finals = HashMap::new();
    for answer in client.finish().iter().filter(|answer| answer["action"].is_null()) {
        *finals.entry(answer["id"].as_str().unwrap().to_string()).or_insert(0) += 1;
    }
    assert_eq!((finals.len(), finals.values().max()), (200, Some(&1)));
}

#[test]
fn higher_priorities_come_first() {
    let mut client = start(&["--parallel=1"]);
    client.say(&json!({ "id": "busy", "moves": [], "maxVisits": ENDLESS, "firstReportDuringSearchAfter": 0.001 }));
    client.next();
    let moves = ["e2e4", "e7e5", "g1f3"];
    let priorities =
        json!({ "id": "p", "moves": moves, "analyzeTurns": [3, 1, 0], "priorities": [5, -1, 7], "maxVisits": 1 });
    client.say(&json!({ "id": "zero", "moves": [], "maxVisits": 1 }));
    client.say(&priorities);
    client.say(&json!({ "id": "five", "moves": [], "maxVisits": 1, "priority": 5 }));
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
fn perspectives_are_the_same_numbers() {
    let ask_in = |unit: &str, whose: &str| {
        let settings = json!({ "reportAnalysisWinratesAs": whose, "ScoreType": unit });
        one(json!({ "id": "a", "moves": ["e2e4"], "maxVisits": 30, "overrideSettings": settings }))
    };
    // The two sides' win percentages add up to 100%.
    let percent = |whose| ask_in("win_percentage", whose)["rootInfo"]["scoreCp"].as_i64().unwrap();
    assert!((9_999..=10_000).contains(&(percent("WHITE") + percent("BLACK"))), "each is cut off");
    let ask = |whose| ask_in("WDL_mu", whose);
    let (black, white, mover) = (ask("BLACK"), ask("WHITE"), ask("SIDETOMOVE"));
    assert_eq!(black, mover, "Black is to move");
    for (own, other) in [
        (&black["rootInfo"], &white["rootInfo"]),
        (&black["moveInfos"][0], &white["moveInfos"][0]),
        (&black["moveInfos"][5], &white["moveInfos"][5]),
    ] {
        let number = |value: &Value, key: &str| value[key].as_f64().unwrap();
        for key in ["winrate", "lcb"] {
            assert!((number(own, key) + number(other, key) - 1.0).abs() < 1e-6, "{key}");
        }
        for key in ["utility", "utilityLcb", "scoreCp"] {
            assert!((number(own, key) + number(other, key)).abs() < 1e-6, "{key}");
        }
        assert_eq!(own["drawrate"], other["drawrate"]);
        assert_eq!((&own["wdl"][0], &own["wdl"][2]), (&other["wdl"][2], &other["wdl"][0]));
        assert_eq!((&own["prior"], &own["visits"]), (&other["prior"], &other["visits"]));
    }
}

#[test]
fn a_mate_has_the_sign_of_whoever_the_numbers_are_for() {
    let mate = |fen: &str, whose: &str| {
        let settings = json!({ "reportAnalysisWinratesAs": whose });
        let answer = one(json!({ "id": "a", "fen": fen, "moves": [], "maxVisits": 300, "overrideSettings": settings }));
        answer["moveInfos"][0]["mate"].as_i64().unwrap()
    };
    let (black, white) = ("6k1/8/8/8/8/1r6/r7/6K1 b - - 0 1", "6k1/R7/1R6/8/8/8/8/6K1 w - - 0 1");
    assert_eq!(["SIDETOMOVE", "BLACK", "WHITE"].map(|whose| mate(black, whose)), [1, 1, -1]);
    assert_eq!(["SIDETOMOVE", "BLACK", "WHITE"].map(|whose| mate(white, whose)), [1, -1, 1]);
}

/// Checks that an edge's value is the mean of the child's own evaluation, which is at most 1, and of the values of the
/// child's edges. Returns the number of edges checked.
fn check_means(edges: &Value) -> usize {
    let number = |edge: &Value, key: &str| edge[key].as_f64().unwrap();
    let sum = |edge: &Value| number(edge, "edgeVisits") * number(edge, "utility");
    let mut checked = 0;
    for edge in edges.as_array().into_iter().flatten() {
        if let Some(children) = edge["children"].as_array() {
            let below: f64 = children.iter().map(sum).sum();
            assert!((sum(edge) - below).abs() <= 1.001, "{} is not {below} and at most 1: {edge}", sum(edge));
            checked += usize::from(below.abs() > 2.0) + check_means(&edge["children"]);
        }
    }
    checked
}

#[test]
fn a_tree_is_seen_by_the_same_side_at_every_ply() {
    let mut checked = 0;
    for (whose, draw_score) in [("SIDETOMOVE", 0.0), ("WHITE", 0.0), ("BLACK", 0.5)] {
        for moves in [json!([]), json!(["e2e4"])] {
            let answer = one(json!({
                "id": "a", "moves": moves, "maxVisits": 600, "includeTree": { "depth": 5, "minVisits": 1 },
                "overrideSettings": { "reportAnalysisWinratesAs": whose, "DrawScore": draw_score },
            }));
            checked += check_means(&answer["tree"]);
        }
    }
    assert!(checked > 50, "{checked} edges of which a wrong sign would be seen");
}

fn moves_of(answer: &Value) -> Vec<&str> {
    answer["moveInfos"].as_array().unwrap().iter().map(|info| info["move"].as_str().unwrap()).collect()
}

#[test]
fn moves_are_avoided_to_their_depth() {
    let plain = one(json!({ "id": "a", "moves": [], "maxVisits": 300 }));
    let best = moves_of(&plain)[0].to_string();
    let rule =
        |moves: Value, player: &str, depth: u64| json!([{ "player": player, "moves": moves, "untilDepth": depth }]);
    let ask = |field: &str, rules: Value| {
        let mut query =
            json!({ "id": "a", "moves": [], "maxVisits": 300, "includeTree": { "depth": 3 }, "includePolicy": true });
        query[field] = rules;
        one(query)
    };
    let without = ask("avoidMoves", rule(json!([best]), "W", 1));
    assert!(!moves_of(&without).contains(&best.as_str()));
    assert!(without["policy"][&best].is_number(), "the policy is the network's");
    assert_eq!(moves_of(&ask("avoidMoves", rule(json!([best]), "B", 1))), moves_of(&plain));
    assert_eq!(moves_of(&ask("allowMoves", rule(json!(["a2a3", "h2h4"]), "W", 1))).len(), 2);
    // The replies are checked likewise.
    let replies = |answer: &Value| -> Vec<String> {
        let children = answer["tree"].as_array().unwrap().iter().filter_map(|child| child["children"].as_array());
        children.flatten().map(|reply| reply["move"].as_str().unwrap().to_string()).collect()
    };
    let only = ask("allowMoves", rule(json!(["e7e5", "c7c5"]), "B", 2));
    assert!(!replies(&only).is_empty() && replies(&only).iter().all(|mv| mv == "e7e5" || mv == "c7c5"));
    assert!(replies(&ask("allowMoves", rule(json!(["e7e5", "c7c5"]), "B", 1))).len() > 20);
    let none = ask("allowMoves", rule(json!([]), "W", 1));
    assert_eq!(moves_of(&none), Vec::<&str>::new());
    assert_eq!(none["rootInfo"]["wdl"], none["rootInfo"]["rawWdl"]);
}

/// The lines 1. Bb5 Bb4 2. a3 and 1. Bd3 Bd6 2. Bb5 Bb4 3. a3 lead to one position, but after Black's reply White's
/// rule applies only in the first line.
#[test]
fn moves_are_avoided_in_a_graph_too() {
    let lists =
        [("W", 5, vec!["f1b5", "f1d3", "d3b5", "a2a3", "h2h3", "g2g3", "e1d2"]), ("B", 3, vec!["f8b4", "f8d6"])];
    let rules: Vec<Value> = lists
        .iter()
        .map(|(player, depth, moves)| json!({ "player": player, "moves": moves, "untilDepth": depth }))
        .collect();
    for visits in [1_000, 5_000, 20_000, 50_000] {
        let query = json!({
            "id": "a", "moves": ["e2e4", "e7e5"], "allowMoves": rules, "maxVisits": visits, "includeTree": { "depth": 5 },
        });
        let all = answers(&["--search-graph=graph"], &query.to_string());
        assert_eq!((all.len(), all[0]["rootInfo"]["visits"].as_u64()), (1, Some(visits)));
        let mut level: Vec<&Value> = all[0]["tree"].as_array().unwrap().iter().collect();
        for ply in 0..5 {
            let (_, until_depth, allowed) = &lists[ply % 2];
            assert!(!level.is_empty(), "ply {ply}");
            for mv in level.iter().map(|node| node["move"].as_str().unwrap()) {
                assert!(ply >= *until_depth || allowed.contains(&mv), "{mv} at ply {ply} of {visits} visits");
            }
            level = level.iter().filter_map(|node| node["children"].as_array()).flatten().collect();
        }
    }
}

#[test]
fn settings_of_a_query_are_its_own() {
    let ask = |fields: Value| {
        let mut query = json!({ "id": "a", "moves": [], "maxVisits": 200 });
        query.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        one(query)
    };
    let plain = ask(json!({}));
    assert_eq!(ask(json!({})), plain, "the same question, the same answer");
    for fields in [
        json!({ "overrideSettings": { "CPuct": 4 } }),
        json!({ "overrideSettings": { "cpuct": "4" } }),
        json!({ "rootPolicyTemperature": 3.0 }),
        json!({ "rootFpuReductionMax": 1.5 }),
        json!({ "overrideSettings": { "rootFpuReductionMax": 1.5 } }),
        json!({ "overrideSettings": { "rootFpuReductionMax": "1.5" } }),
        json!({ "overrideSettings": { "cpuctExploration": 4 } }),
        json!({ "overrideSettings": { "cpuctExplorationLog": 9.5 } }),
        json!({ "overrideSettings": { "fpuReductionMax": 0 } }),
        json!({ "overrideSettings": { "winLossUtilityFactor": 0.2 } }),
    ] {
        assert_ne!(ask(fields.clone())["moveInfos"], plain["moveInfos"], "{fields}");
    }
    // Settings that can't change for one query keep their values, with a warning.
    let fixed = json!({
        "CPuct": 4, "Hash": 1, "MinibatchSize": 7, "MoveOverheadMs": 99, "NodesAsPlayouts": true, "SearchGraph": "tree",
        "SmartPruningFactor": 2, "SyzygyPath": "x", "Threads": 3, "numAnalysisThreads": 3, "RandomSeed": 0,
        "Ponder": true, "Temperature": 50, "SmartPruningMinimumBatches": 3, "ConfigFile": "x", "CPuctBase": 38739.0,
    });
    let query = json!({ "id": "a", "moves": [], "maxVisits": 200, "overrideSettings": fixed });
    let [said, answer] = &answers(&[], &format!("{query}\n"))[..] else { panic!("two lines") };
    assert_eq!(
        said["warning"],
        "Can not be set for one query: ConfigFile,Hash,MinibatchSize,MoveOverheadMs,NodesAsPlayouts,Ponder,SearchGraph,\
         SmartPruningFactor,SmartPruningMinimumBatches,SyzygyPath,Temperature,Threads"
    );
    assert_eq!(*answer, ask(json!({ "overrideSettings": { "CPuct": 4 } })));
    let visits = ask(json!({ "overrideSettings": { "maxVisits": 7 } }))["rootInfo"]["visits"].clone();
    assert_eq!(visits, 200, "the query's own word counts for more");
    assert_eq!(one(json!({ "id": "a", "moves": [], "overrideSettings": { "maxVisits": 7 } }))["rootInfo"]["visits"], 7);
    assert_eq!(ask(json!({ "overrideSettings": { "maxPlayouts": 9 } }))["rootInfo"]["visits"], 9);
    let priors = |answer: &Value| answer["moveInfos"][0]["prior"].as_f64().unwrap();
    assert!(priors(&ask(json!({ "rootPolicyTemperature": 10.0 }))) < priors(&plain));
    let short = ask(json!({ "analysisPVLen": 1 }));
    let lengths = short["moveInfos"].as_array().unwrap().iter().map(|info| info["pv"].as_array().unwrap().len());
    assert_eq!(lengths.max(), Some(2), "a move, and so many behind it");
}

/// The flag is for queries that don't say it themselves.
#[test]
fn the_roots_temperature_of_the_command_line_is_for_all_queries() {
    let ask = |args: &[&str], fields: Value| {
        let mut query = json!({ "id": "a", "moves": [], "maxVisits": 200 });
        query.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        answers(args, &format!("{query}\n"))
    };
    let (flag, field) =
        (["--root-policy-temperature=3"], |temperature: f64| json!({ "rootPolicyTemperature": temperature }));
    let flat = ask(&flag, json!({}));
    assert_eq!(flat, ask(&[], field(3.0)));
    assert_ne!(flat, ask(&[], json!({})));
    assert_eq!(ask(&flag, field(1.0)), ask(&[], json!({})));
}

/// A setting that has an effect only together with another option causes a warning only if that option is not set.
#[test]
fn settings_that_count_together_are_not_warned_of() {
    let pairs = [
        (json!({ "CPuctAtRoot": 9 }), json!({ "RootHasOwnCpuctParams": true })),
        (json!({ "Contempt": "Bob=200" }), json!({ "UCI_Opponent": "none none human Bob" })),
        (json!({ "FpuValueAtRoot": 0.1 }), json!({ "FpuStrategyAtRoot": "reduction" })),
        (json!({ "ContemptMaxValue": 50 }), json!({ "Contempt": "100" })),
        (json!({ "WDLContemptAttenuation": 0.5 }), json!({ "Contempt": "100" })),
        (json!({ "WDLDrawRateReference": 0.6 }), json!({ "Contempt": "100" })),
        (json!({ "WDLBookExitBias": 0.3 }), json!({ "Contempt": "100" })),
    ];
    let said = |settings: &Value| {
        let query = json!({ "id": "a", "moves": ["e2e4"], "maxVisits": 60, "overrideSettings": settings });
        answers(&[], &format!("{query}\n"))
    };
    for (one, other) in pairs {
        let mut both = one.clone();
        both.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        both["SmartPruningFactor"] = json!(2);
        let [warning, answer] = &said(&both)[..] else { panic!("{both}") };
        assert_eq!(warning["warning"], "Can not be set for one query: SmartPruningFactor", "{both}");
        let without = said(&other).pop().unwrap();
        assert_ne!(answer["moveInfos"], without["moveInfos"], "{both}: it changes something");
    }
    let alone = said(&json!({ "CPuctAtRoot": 9 }));
    assert_eq!(alone[0]["warning"], "Can not be set for one query: CPuctAtRoot");
}

/// Upper and lower case are the same in an option's name, so one option can be set many times. The time must grow only
/// with the number of names; if it grew with its square, this would take minutes.
#[test]
fn an_option_in_many_spellings_is_read_at_once() {
    let spelled = |number: usize| -> String {
        let letters = "smartpruningminimumbatches".chars().enumerate();
        letters.map(|(at, c)| if number >> at & 1 == 1 { c.to_ascii_uppercase() } else { c }).collect()
    };
    let settings: serde_json::Map<String, Value> = (0..16_384).map(|number| (spelled(number), json!(3))).collect();
    let query = json!({ "id": "a", "moves": [], "maxVisits": 1, "overrideSettings": settings });
    let begun = std::time::Instant::now();
    let said = answers(&[], &format!("{query}\n"));
    assert!(said.len() == 2 && said[0]["warning"].as_str().unwrap().split(',').count() == 16_384, "{said:?}");
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn the_end_of_a_game_is_analysed() {
    let mated = one(json!({ "id": "a", "fen": "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "moves": [] }));
    assert_eq!((mated["moveInfos"].as_array().unwrap().len(), &mated["rootInfo"]["winrate"]), (0, &json!(0.0)));
    assert_eq!((&mated["rootInfo"]["lcb"], &mated["rootInfo"]["utilityLcb"]), (&json!(0.0), &json!(-1.0)));
    let mates = one(json!({ "id": "a", "fen": "7k/Q7/6K1/8/8/8/8/8 w - - 0 1", "moves": [], "maxVisits": 100 }));
    assert_eq!((&mates["moveInfos"][0]["mate"], &mates["rootInfo"]["visits"]), (&json!(1), &json!(100)));
    assert_eq!(mates["moveInfos"][0]["lcb"], 1.0);
}

/// The search takes away the prior of a move that is proven to lose, but the answer still has it.
#[test]
fn a_move_that_loses_keeps_its_prior() {
    let fen = "6k1/5ppp/8/8/8/8/r4PPP/4R1K1 b - - 0 1";
    let ask = |temperatures: [f64; 2]| {
        one(json!({
            "id": "a", "fen": fen, "moves": [], "maxVisits": 1000, "includePolicy": true, "includeTree": { "depth": 2 },
            "overrideSettings": { "PolicyTemperature": temperatures[0] }, "rootPolicyTemperature": temperatures[1],
        }))
    };
    for temperatures in [[1.0, 1.0], [1.5, 2.0]] {
        let answer = ask(temperatures);
        let policy = answer["policy"].as_object().unwrap();
        let tempered = |p: &Value| p.as_f64().unwrap().powf(1.0 / temperatures.iter().product::<f64>());
        let sum: f64 = policy.values().map(tempered).sum();
        let infos = answer["moveInfos"].as_array().unwrap();
        assert!(infos.iter().any(|info| info["mate"] == -1), "{infos:#?}");
        for info in infos {
            let expected = tempered(&policy[info["move"].as_str().unwrap()]) / sum;
            assert!((info["prior"].as_f64().unwrap() / expected - 1.0).abs() < 0.01, "{info}: {expected}");
        }
        let tree = answer["tree"].as_array().unwrap();
        assert!(tree.iter().all(|node| node["prior"].is_null() == (node["mate"] == -1)), "{tree:#?}");
    }
}

#[test]
fn what_a_table_says_is_no_mate() {
    let Some(shared) = oncilla_testing::shared() else { return };
    let tables = format!("--syzygy-paths={}", shared.join("syzygy").display());
    let fen = "k7/8/8/3q4/4P3/8/8/K6R w - - 0 1";
    let query = json!({ "id": "a", "fen": fen, "moves": [], "maxVisits": 500 });
    let answer = &answers(&[&tables], &format!("{query}\n"))[0];
    let taken = answer["moveInfos"].as_array().unwrap().iter().find(|info| info["move"] == "e4d5").unwrap();
    assert!(taken["winrate"] == 1.0 && taken["mate"].is_null(), "{taken}");
}

#[test]
fn castling_is_written_as_the_rules_say() {
    let castles = |rules: &str| {
        let fen = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1";
        let only = json!([{ "player": "W", "moves": ["e1g1"], "untilDepth": 1 }]);
        let query =
            json!({ "id": "a", "initialFen": fen, "moves": [], "rules": rules, "allowMoves": only, "maxVisits": 3 });
        moves_of(&one(query))[0].to_string()
    };
    assert_eq!((castles("chess").as_str(), castles("Chess960").as_str()), ("e1g1", "e1h1"));
}

#[test]
fn katagos_arguments_are_understood() {
    let file = std::env::temp_dir().join(format!("oncilla-analysis-{}", std::process::id()));
    std::fs::write(&file, "# a comment\nmaxVisits = 9 # nine\nnumAnalysisThreads=1\nbackend=random\n").unwrap();
    let config = file.display().to_string();
    let ask = |args: &[&str]| {
        let output = run(args, "{\"id\":\"a\",\"moves\":[]}\n");
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str::<Value>(&stdout(&output)).unwrap()["rootInfo"]["visits"].as_u64()
    };
    assert_eq!(ask(&["analysis", "-config", &config, "-model", "small"]), Some(9));
    assert_eq!(ask(&["analysis", "-config", &config, "-override-config", "maxVisits=4,cpuct=2"]), Some(4));
    assert_eq!(ask(&["analysis", "-config", &config, "-override-config", "maxVisits=4,maxVisits="]), Some(500));
    let again = ["-override-config", "maxVisits=4", "-override-config", "maxVisits=5", "-analysis-threads", "2"];
    assert_eq!(ask(&[&["analysis", "-config", &config][..], &again].concat()), Some(5));
    assert_eq!(ask(&["analysis", "--config", &config, "--max-visits=6"]), Some(6));
    let _ = std::fs::remove_file(&file);
    let overriding = |with: &str| run(&["analysis", "--backend=random", "-override-config", with], "");
    // KataGo's names that mean nothing here are reported and ignored, as in its files.
    let passed = overriding("nonsense=1,maxVisits=4");
    assert!(passed.status.success(), "{}", stderr(&passed));
    assert!(stderr(&passed).contains("--override-config: not used: nonsense\n"), "{}", stderr(&passed));
    for (with, fault) in [("maxVisits", "expected NAME=VALUE"), ("maxVisits=many", "expected a whole number")] {
        let refused = overriding(with);
        assert_eq!((refused.status.code(), stdout(&refused).as_str()), (Some(2), ""));
        assert!(stderr(&refused).contains(fault), "{}", stderr(&refused));
    }
}

#[test]
fn the_example_configuration_is_used_wholly() {
    let text = include_str!("../../fixtures/analysis/analysis_example.cfg");
    // The file unchanged, and with all settings that it has commented out, except a log.
    let offers = |line: &str| {
        let is_name = |name: &str| name != "logFile" && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let setting =
            line.strip_prefix("# ").filter(|rest| rest.split_once(" = ").is_some_and(|(name, _)| is_name(name)));
        setting.unwrap_or(line).to_string()
    };
    let all: Vec<String> = text.lines().map(offers).collect();
    assert!(all.iter().filter(|line| line.contains(" = ") && !line.starts_with('#')).count() > 20, "{all:?}");
    let folder = driver::Folder::new("example-configuration");
    for text in [text, &all.join("\n")] {
        let config = folder.file("analysis.cfg");
        std::fs::write(&config, text).unwrap();
        let output = run(&["analysis", "--backend=random", "-config", &config], "{\"id\":\"a\",\"moves\":[]}\n");
        assert!(output.status.success() && !stderr(&output).contains("not used"), "{}", stderr(&output));
        assert_eq!(serde_json::from_str::<Value>(&stdout(&output)).unwrap()["rootInfo"]["visits"], 500);
    }
}

#[test]
fn bounds_are_as_wide_as_asked_for() {
    let bound = |settings: Value| {
        let answer = one(json!({ "id": "a", "moves": [], "maxVisits": 50, "overrideSettings": settings }));
        let info = answer["moveInfos"][0].clone();
        let [utility, bound] = ["utility", "utilityLcb"].map(|name| info[name].as_f64().unwrap());
        (utility, utility - bound)
    };
    let (utility, one) = bound(json!({}));
    let (same, five) = bound(json!({ "LcbStdevs": 5 }));
    assert_eq!(utility, same);
    assert!((five / one - 5.0).abs() < 1e-3, "{one} and {five}");
    // If the win is worth twice as much, and exploration and FPU reductions are doubled too, it is the same search in
    // other units.
    let double = json!({ "winLossUtilityFactor": 2, "cpuctExploration": 3.49, "cpuctExplorationLog": 7.788, "fpuReductionMax": 0.66 });
    let (twice, wide) = bound(double);
    assert!((twice / utility - 2.0).abs() < 1e-3 && (wide / one - 2.0).abs() < 1e-3, "{twice} and {wide}");
}

#[test]
fn whose_view_may_stand_in_the_configuration() {
    let file = std::env::temp_dir().join(format!("oncilla-view-{}", std::process::id()));
    let ask = |view: &str, over: &[&str]| {
        std::fs::write(&file, format!("reportAnalysisWinratesAs = {view}\nmaxVisits = 20\n")).unwrap();
        let config = file.display().to_string();
        let args = [&["analysis", "--backend=random", "-config", &config], over].concat();
        let output = run(&args, "{\"id\":\"a\",\"moves\":[]}\n");
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str::<Value>(&stdout(&output)).unwrap()["rootInfo"]["winrate"].as_f64().unwrap()
    };
    let [white, black, mover] = ["WHITE", "BLACK", "SIDETOMOVE"].map(|view| ask(view, &[]));
    assert_eq!(white, mover, "White is to move");
    assert!((white + black - 1.0).abs() < 1e-6 && (white - black).abs() > 1e-3);
    assert_eq!(ask("WHITE", &["-override-config", "reportAnalysisWinratesAs=BLACK"]), black);
    let _ = std::fs::remove_file(&file);
}

/// The network has an output for the error of its value.
#[test]
fn the_error_that_a_network_expects_is_told() {
    let net = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../fixtures/nets/synthetic/synthetic-f-bt4-pedense-multihead-mish-in5.pb.gz"
    );
    let evaluated = run(&["eval", "--backend=host", "--weights", net], "{\"fen\":\"startpos\"}\n");
    let squared = serde_json::from_str::<Value>(&stdout(&evaluated)).unwrap()["e"].as_f64().unwrap();
    // The second time, the position is in the cache, which does not have the error.
    let queries = "{\"id\":\"a\",\"moves\":[],\"maxVisits\":2}\n".repeat(2);
    let output = run(&["analysis", "--backend=host", "--parallel=1", "-model", net], &queries);
    let told: Vec<f64> = (stdout(&output).lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["rootInfo"]["rawStWrError"].as_f64().unwrap())
        .collect();
    assert_eq!(told.len(), 2, "{}", stderr(&output));
    // The network's error is that of W − L, whose range is twice that of a win rate.
    assert!(told.iter().all(|error| (error - squared.sqrt() / 2.0).abs() < 1e-5), "{told:?}, {squared}");
    let plain = run(&["analysis", "--backend=random"], "{\"id\":\"a\",\"moves\":[]}\n");
    assert!(!stdout(&plain).contains("rawStWrError"));
}

#[test]
fn a_whole_game_is_the_same_in_any_company() {
    let game = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5a4", "g8f6", "e1g1", "f8e7"];
    let all_turns: Vec<usize> = (0..=game.len()).collect();
    let query = json!({ "id": "game", "moves": game, "analyzeTurns": all_turns, "maxVisits": 60 });
    let host = |args: &[&str], input: &str| -> HashMap<u64, Value> {
        let output = run(&[&["analysis", "--backend=host"], args].concat(), input);
        assert!(output.status.success(), "{}", stderr(&output));
        let lines = stdout(&output);
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| (line["turnNumber"].as_u64().unwrap(), line)).collect()
    };
    let together = host(&["--parallel=4", "--threads=1"], &query.to_string());
    let mut alone = HashMap::new();
    for turn in [0, 5, 10] {
        let query = json!({ "id": "game", "moves": game, "analyzeTurns": [turn], "maxVisits": 60 });
        alone.extend(host(&["--parallel=1", "--threads=1", "--nncache=0"], &query.to_string()));
    }
    assert_eq!(together.len(), 11);
    for (turn, answer) in alone {
        assert_eq!(together[&turn], answer, "turn {turn}");
    }
}

/// With one thread per position, and without early stopping, the final answer for a turn is the result of a UCI search
/// of that position.
#[test]
fn a_turn_is_searched_as_uci_would_search_it() {
    let games = [
        &["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5c6", "d7c6", "e1g1", "f7f6"][..],
        &["d2d4", "g8f6", "c2c4", "e7e6", "b1c3", "f8b4"],
        &["f2f3", "e7e5", "g2g4", "d8h4"],
    ];
    let same = ["--backend=host", "--threads=1", "--smart-pruning-factor=0", "--minibatch-size=1"];
    let mut input = String::new();
    for (number, moves) in games.iter().enumerate() {
        let turns: Vec<usize> = (0..=moves.len()).collect();
        let id = number.to_string();
        input += &format!(
            "{}\n",
            json!({ "id": id, "moves": moves, "analyzeTurns": turns, "maxVisits": 40, "rules": "chess960" })
        );
    }
    let output = run(&[&["analysis", "--parallel=5"], &same[..]].concat(), &input);
    assert!(output.status.success(), "{}", stderr(&output));
    let all: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(all.len(), 11 + 7 + 5);
    // The move statistics write castling as king takes rook, whatever the rules.
    let mut uci = Engine::with(&[&same[..], &["--verbose-move-stats", "--chess960"]].concat());
    for answer in &all {
        let moves = games[answer["id"].as_str().unwrap().parse::<usize>().unwrap()];
        let turn = answer["turnNumber"].as_u64().unwrap() as usize;
        uci.say("ucinewgame");
        uci.say(&format!("position startpos moves {}", moves[..turn].join(" ")));
        let lines = uci.ask("go nodes 40", "bestmove");
        let mut alone = HashMap::new();
        for line in lines.iter().filter_map(|line| line.strip_prefix("info string ")) {
            let Some((mv, rest)) = line.split_once(' ').filter(|_| line.contains(" N: ")) else { continue };
            let n = rest.split_once(" N: ").and_then(|(_, rest)| rest.split_whitespace().next()).unwrap();
            let q = rest.split_once("(Q: ").and_then(|(_, rest)| rest.split(')').next()).unwrap();
            alone.insert(mv.to_string(), (n.parse::<u64>().unwrap(), q.trim().parse::<f64>().unwrap()));
        }
        let best = lines.last().and_then(|line| line.split(' ').nth(1)).unwrap();
        let Some((nodes, q)) = alone.remove("node") else {
            // The game is over.
            assert_eq!((answer["moveInfos"].as_array().unwrap().len(), turn), (0, moves.len()), "{answer}");
            continue;
        };
        alone.retain(|_, (n, _)| *n > 0);
        let visits: HashMap<String, u64> = alone.into_iter().map(|(mv, (n, _))| (mv, n)).collect();
        assert_eq!((visits_of(answer), answer["rootInfo"]["visits"].as_u64()), (visits, Some(nodes)), "turn {turn}");
        assert_eq!(moves_of(answer)[0], best, "turn {turn}");
        assert!((answer["rootInfo"]["utility"].as_f64().unwrap() - q).abs() < 1e-5, "turn {turn}");
    }
}

#[test]
fn thousands_wait_in_little_memory() {
    let game: Vec<&str> = ["g1f3", "g8f6", "f3g1", "f6g8"].into_iter().cycle().take(100).collect();
    let mut input = String::new();
    for number in 0..5000 {
        let query = match number % 10 {
            9 => json!({ "id": format!("{number}"), "moves": ["e2e5"] }),
            _ => json!({ "id": format!("{number}"), "moves": game, "maxVisits": 1, "priority": number % 3 }),
        };
        input += &format!("{query}\n");
    }
    let all = answers(&["--queue-mb=1"], &input);
    let mut ids: Vec<usize> = all.iter().map(|answer| answer["id"].as_str().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..5000).collect::<Vec<_>>(), "nothing lost, nothing doubled");
    assert_eq!(all.iter().filter(|answer| answer["error"].is_string()).count(), 500);
}

/// The visits of the root's moves.
fn visits_of(answer: &Value) -> HashMap<String, u64> {
    let infos = answer["moveInfos"].as_array().unwrap().iter();
    infos.map(|info| (info["move"].as_str().unwrap().to_string(), info["edgeVisits"].as_u64().unwrap())).collect()
}

#[test]
fn a_session_goes_on_where_it_was() {
    let mut client = start(&["--parallel=3"]);
    let mut ask = |fields: Value| {
        let mut query = json!({ "id": "q", "session": "s", "moves": [] });
        query.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        client.say(&query);
        client.next()
    };
    let first = ask(json!({ "maxVisits": 300 }));
    let (before, best) = (visits_of(&first), moves_of(&first)[0].to_string());
    // More visits for one move only.
    let seldom = moves_of(&first).last().unwrap().to_string();
    let only = json!([{ "player": "W", "moves": [seldom], "untilDepth": 1 }]);
    let steered = ask(json!({ "maxVisits": 400, "allowMoves": only, "includeTree": true }));
    assert_eq!(steered["rootInfo"]["visits"], 400);
    assert_eq!(moves_of(&steered), [seldom.as_str()]);
    let tree: Vec<&Value> = steered["tree"].as_array().unwrap().iter().map(|child| &child["move"]).collect();
    assert_eq!(tree, [&json!(seldom)], "what may not be searched is not shown");
    let all = visits_of(&ask(json!({ "maxVisits": 400 })));
    for (mv, visits) in &before {
        assert_eq!(all[mv] - visits, if *mv == seldom { 100 } else { 0 }, "{mv}");
    }
    // The next turn's search starts with the subtree of the move.
    let next = ask(json!({ "moves": [best], "maxVisits": 1 }));
    assert_eq!(next["rootInfo"]["visits"], before[&best]);
    // `maxPlayouts` counts only new playouts, not the visits that the tree already has.
    let playouts = json!({ "moves": [best], "maxVisits": 100_000, "overrideSettings": { "maxPlayouts": 11 } });
    assert_eq!(ask(playouts)["rootInfo"]["visits"], before[&best] + 11);
    // A tree whose priors have noise is not used for a search without noise, nor the reverse.
    let noisy = json!({ "maxVisits": 20, "overrideSettings": { "DirichletNoiseEpsilon": 0.5 } });
    assert_eq!(ask(noisy)["rootInfo"]["visits"], 20);
    assert_eq!(ask(json!({ "maxVisits": 10 }))["rootInfo"]["visits"], 10);
    // Another game, or rules that hold below the root, start a new tree.
    assert_eq!(ask(json!({ "moves": ["a2a3"], "maxVisits": 1 }))["rootInfo"]["visits"], 1);
    let deep = json!([{ "player": "B", "moves": ["e7e5"], "untilDepth": 2 }]);
    assert_eq!(ask(json!({ "maxVisits": 50, "avoidMoves": deep }))["rootInfo"]["visits"], 50);
    assert_eq!(ask(json!({ "maxVisits": 2 }))["rootInfo"]["visits"], 2);
    client.say(&json!({ "id": "a", "action": "session", "session": "s", "close": true }));
    let closed = client.next();
    assert_eq!((&closed["sessions"][0]["lastId"], &closed["sessions"][0]["visits"]), (&json!("q"), &json!(2)));
    client.say(&json!({ "id": "a", "action": "session" }));
    assert_eq!(client.next()["sessions"], json!([]));
    // A session that is being searched is discarded after the search has ended.
    client.say(
        &json!({ "id": "e", "session": "e", "moves": [], "maxVisits": ENDLESS, "firstReportDuringSearchAfter": 0.001 }),
    );
    assert_eq!(client.next()["isDuringSearch"], true);
    client.say(&json!({ "id": "a", "action": "session", "session": "e", "close": true }));
    client.say(&json!({ "id": "a", "action": "terminate_all" }));
    assert_eq!([client.next(), client.next(), client.next()].map(|a| a["id"].clone()), ["a", "a", "e"]);
    client.say(&json!({ "id": "e", "session": "e", "moves": [], "maxVisits": 1 }));
    assert_eq!(client.next()["rootInfo"]["visits"], 1);
    for wrong in [json!({ "session": 5 }), json!({ "close": 1 }), json!({ "close": true })] {
        let mut request = json!({ "id": "a", "action": "session" });
        request.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        client.say(&request);
        assert!(client.next()["error"].is_string(), "{wrong}");
    }
    assert!(client.finish().is_empty());
}

/// The number of trees, each of which is owned by a thread of this name.
#[cfg(target_os = "linux")]
fn trees(client: &Analysis) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", client.0.id())).unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "search").count()
}

/// A worker for queries without a session has no tree of its own while it searches a session's tree.
#[test]
#[cfg(target_os = "linux")]
fn there_are_no_more_trees_than_share_the_memory() {
    let mut client = start(&["--parallel=1", "--sessions=2"]);
    for number in 0..12 {
        let mut query = json!({ "id": "q", "moves": [], "maxVisits": ENDLESS, "firstReportDuringSearchAfter": 0.001 });
        if number % 3 != 0 {
            query["session"] = json!(format!("s{}", number % 4));
        }
        client.say(&query);
        assert_eq!(client.next()["isDuringSearch"], true);
        let trees = trees(&client);
        assert!((1..=3).contains(&trees), "{trees} trees at query {number}");
        client.say(&json!({ "id": "t", "action": "terminate_all" }));
        assert_eq!([client.next()["id"].clone(), client.next()["id"].clone()], ["t", "q"]);
    }
    assert!(client.finish().is_empty());
}

#[test]
fn queries_of_a_session_wait_for_each_other() {
    let turns: Vec<Value> = (0..60)
        .map(|n| {
            let session = format!("s{}", n % 6);
            json!({ "id": format!("{n}"), "session": session, "moves": [], "maxVisits": 20 * (n / 6 + 1) })
        })
        .collect();
    let input: String = turns.iter().map(|turn| format!("{turn}\n")).collect();
    let all = answers(&["--parallel=4", "--sessions=2"], &input);
    assert_eq!(all.len(), 60);
    for session in 0..6 {
        let ids = all.iter().map(|answer| answer["id"].as_str().unwrap().parse::<usize>().unwrap());
        let order: Vec<usize> = ids.filter(|id| id % 6 == session).collect();
        assert!(order.is_sorted(), "{order:?}");
    }
}

/// Runs a Python client that was written only from the protocol; its source says what it checks.
#[test]
fn a_client_analyses_a_whole_game() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        oncilla_testing::lacks_tool("python3 is not here");
        return;
    }
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/analysis/client.py");
    let (program, arguments) = (driver::program::words(), ["analysis", "--backend=random", "--parallel=3"]);
    let mut python = std::process::Command::new("python3");
    let output = python.args([client, "--"]).args(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).ends_with("every promise kept\n"), "{}", stdout(&output));
}
