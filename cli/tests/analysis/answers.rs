//! What an answer has: fields, order, perspectives, moves.

use super::*;

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
