//! Actions, priorities, and searches that are ended.

use super::*;

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
    let model = &all[1]["models"][0];
    assert!(model["internalName"] == "small" && model["backend"].as_str().is_some_and(|text| !text.is_empty()));
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
    let client = start(&["--parallel=2"]);
    client.end_each_at_once(200, |id| json!({ "id": id, "moves": [], "maxVisits": ENDLESS }));
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
