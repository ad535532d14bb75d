//! Settings of a query, of the command line and of configuration files.

use super::*;

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
    let text = include_str!("../../../fixtures/analysis/analysis_example.cfg");
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
