//! What an answer has: fields, order, perspectives, boards, rules.

use super::*;

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
