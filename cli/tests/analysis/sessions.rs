//! Queries of one session, and many queries at once.

use super::*;

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
    for (length, is_taken) in [(1 << 16, true), ((1 << 16) + 1, false)] {
        let name = "a".repeat(length);
        client.say(&json!({ "id": "l", "session": name, "moves": [], "maxVisits": 1 }));
        assert_eq!(client.next().get("error").is_none(), is_taken, "{length}");
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
