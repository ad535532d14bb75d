//! What is wrong, and what is only warned of.

use super::*;

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
