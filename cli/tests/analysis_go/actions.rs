//! Actions, priorities, searches that are ended, and what is said on standard error.

use super::*;

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
    let client = start(&["--parallel=2"]);
    client.end_each_at_once(60, |id| query(json!({ "id": id, "maxVisits": ENDLESS })));
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
