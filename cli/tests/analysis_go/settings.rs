//! Settings of a query, of the command line and of configuration files.

use super::*;

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
