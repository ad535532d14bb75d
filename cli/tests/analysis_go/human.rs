//! Networks for human play.

use super::*;

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
