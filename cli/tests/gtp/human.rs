//! Networks for human play.

use super::*;

/// The profile is a parameter like any other, except that the network gives no evaluation without one.
#[test]
fn a_network_for_human_play_imitates_who_is_asked_for() {
    let ask = |args: &[&str], input: &str| heard_of(&words_of("tiny-human", &[&QUICK[..], args].concat()), input);
    let said = ask(
        &[],
        "boardsize 5\nkata-get-models\nkata-get-param humanSLProfile\ngenmove b\nkata-raw-nn 0\n\
         kata-set-param humanSLProfile rank_10d\nkata-set-param humanSLProfile rank_3d_5k\n\
         kata-get-param humanSLProfile\nkata-raw-nn 0\nkata-set-params {\"humanSLProfile\":\"proyear_1990\"}\n\
         kata-raw-nn 0\nkata-set-param humanSLProfile rank_3d_5k\nkata-raw-nn 0\ngenmove b\nlz-genmove_analyze w\n\
         kata-set-param humanSLProfile _\ngenmove b\n",
    );
    let text = |at: usize| said[at].2.as_str();
    let oks: Vec<usize> = (0..said.len()).filter(|at| !said[*at].0).collect();
    assert_eq!((said.len(), &oks[..]), (17, &[3, 4, 5, 16][..]), "{said:#?}");
    assert!(text(1).contains("\"usesHumanSLProfile\":true"), "{}", text(1));
    for at in [3, 4, 16] {
        assert!(text(at).contains("humanSLProfile: expected a profile, such as rank_5k"), "{}", text(at));
    }
    assert!(text(5).contains("Unknown human SL network profile: rank_10d"), "{}", text(5));
    assert_eq!((text(2), text(7)), ("", "rank_3d_5k"));
    assert!(text(8) != text(10) && text(8) == text(12));
    // The profile may also be set at the start of the program.
    let config = ["-override-config", "humanSLProfile=rank_3d_5k"];
    let other = ask(&config, "boardsize 5\nkata-raw-nn 0\ngenmove b\n");
    assert_eq!((other[1].2.as_str(), other[2].2.as_str()), (text(8), text(13)));
}

#[test]
fn other_networks_imitate_nobody() {
    let said = heard(
        &[],
        "kata-get-models\nkata-set-param humanSLProfile rank_3d\nkata-get-param humanSLProfile\n\
         kata-set-param humanSLProfile _\n",
    );
    assert!(said[0].2.contains("\"usesHumanSLProfile\":false"), "{}", said[0].2);
    assert!(!said[1].0 && said[1].2.contains("the network does not use it"), "{}", said[1].2);
    assert!(said[2].0 && said[2].2.is_empty() && said[3].0, "{said:?}");
    let words = words(&["-override-config", "humanSLProfile=rank_3d"]);
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the network does not use it"), "{}", stderr(&output));
}

/// Whatever stands beside what, a network says the same.
#[test]
fn a_network_for_human_play_beside_another_says_what_it_says_alone() {
    let input = "boardsize 7\nkomi 5.5\nplay b C3\nplay w E4\nplay b D5\n";
    let profile = ["-override-config", "humanSLProfile=rank_3d_15k"];
    let own = last(&[], &format!("{input}kata-raw-nn 3\n"));
    let alone = heard_of(&words_of("tiny-human", &profile), &format!("{input}kata-raw-nn 3\n"));
    let alone = &alone.last().expect("an answer").2;
    let all = heard_of(&beside(&profile), &format!("{input}kata-raw-nn 3\nkata-raw-human-nn 3\nkata-get-models\n"));
    let [main, human, models] = [5, 6, 7].map(|at| &all[at].2);
    assert_eq!(main, &own);
    for name in ["policy", "whiteOwnership"] {
        let (found, expected) = (rows(human, name, 7), rows(alone, name, 7));
        assert!(found.len() == 7 && format!("{found:?}") == format!("{expected:?}"), "{name}: {human}");
    }
    for (name, theirs) in [
        ("whiteWin", "whiteWin"),
        ("whiteLoss", "whiteLoss"),
        ("noResult", "noResult"),
        ("whiteScore", "whiteScoreSelfplay"),
        ("whiteScoreSq", "whiteScoreSelfplaySq"),
        ("shorttermWinlossError", "shorttermWinlossError"),
        ("shorttermScoreError", "shorttermScoreError"),
        ("policyPass", "policyPass"),
    ] {
        assert!(named(human, name).is_some() && named(human, name) == named(alone, theirs), "{name}: {human}");
    }
    assert_eq!((named(human, "whiteLead"), named(human, "varTimeLeft")), (None, None));
    let models: Value = serde_json::from_str(models).unwrap();
    let uses: Vec<&Value> = models.as_array().unwrap().iter().map(|model| &model["usesHumanSLProfile"]).collect();
    assert_eq!(uses, [&json!(false), &json!(true)]);
}

/// The vertex of the largest number of a square of rows.
fn largest(rows: &[Vec<f64>]) -> String {
    let all = rows.iter().enumerate().flat_map(|(y, row)| row.iter().enumerate().map(move |(x, p)| (*p, x, y)));
    let (_, x, y) = all.filter(|(p, ..)| p.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0)).expect("a number");
    format!("{}{}", "ABCDEFGHJ".chars().nth(x).expect("a column"), rows.len() - y)
}

/// The probabilities of a policy in an answer of `kata-raw-nn`: that of a pass, and the likeliest point with its own.
fn likeliest(raw: &str, side: usize) -> (f64, String, f64) {
    let rows = rows(raw, "policy", side);
    let most = rows.iter().flatten().copied().filter(|p| p.is_finite()).fold(0.0, f64::max);
    (named(raw, "policyPass").expect("a pass").parse().expect("a number"), largest(&rows), most)
}

/// Without chance the move is the one that such players play most, whether the search has looked at it or not.
#[test]
fn moves_are_chosen_as_players_of_the_profile_choose_them() {
    let begin = "boardsize 7\nplay b B3\nplay w E5\nplay b D6\nplay w C5\n";
    let turn = |player| {
        format!(
            "kata-raw-human-nn 0\nkata-search {player}\nkata-genmove_analyze {player} 100000 avoid {player} pass 1\n"
        )
    };
    let turns = (turn("b") + &turn("w")).repeat(2);
    let mut games = BTreeSet::new();
    for (profile, visits) in [("rank_9d", 1), ("rank_20k", 30), ("proyear_1850", 30)] {
        let settings =
            format!("humanSLProfile={profile},humanSLChosenMoveProp=1,maxVisits={visits},allowResignation=false");
        let all = heard_of(&beside(&["-override-config", &settings]), &format!("{begin}{turns}"));
        let mut played = Vec::new();
        for turn in all[5..].chunks(3) {
            let (pass, point, prior) = likeliest(&turn[0].2, 7);
            assert_eq!(turn[1].2, if pass > prior { "pass" } else { &point }, "{profile}");
            assert_eq!(turn[2].2.lines().last(), Some(&format!("play {point}")[..]), "{profile}");
            played.push(point);
        }
        assert_eq!(played.len(), 4);
        games.insert(played.join(" "));
        // Nothing of it: as without the other network.
        let none = settings.replace("Prop=1", "Prop=0");
        let plain = format!("maxVisits={visits},allowResignation=false");
        let game = |words: &[String]| heard_of(words, &format!("{begin}genmove b\ngenmove w\n"))[5..].to_vec();
        assert_eq!(game(&beside(&["-override-config", &none])), game(&words(&["-override-config", &plain])));
    }
    assert!(games.len() > 1, "{games:?}");
}

/// The search's own part of a pass, which without visits is the main network's, is shared out to nobody.
#[test]
fn a_pass_may_be_left_to_the_search() {
    let input = "boardsize 7\nplay b B3\nplay w E5\nplay b D6\nkata-raw-nn 0\nkata-raw-human-nn 0\nkata-search w\n";
    let mut decisions = BTreeSet::new();
    for (ignores, profile) in [(true, "rank_9d"), (false, "rank_9d"), (true, "rank_20k"), (false, "proyear_2000")] {
        let settings = format!(
            "humanSLProfile={profile},humanSLChosenMoveProp=1,humanSLChosenMoveIgnorePass={ignores},maxVisits=1"
        );
        let all = heard_of(&beside(&["-override-config", &settings]), input);
        let [(own_pass, ..), (pass, point, prior)] = [4, 5].map(|at| likeliest(&all[at].2, 7));
        let (pass, prior) = if ignores { (own_pass, prior / (1.0 - pass) * (1.0 - own_pass)) } else { (pass, prior) };
        assert!((pass - prior).abs() > 1e-4, "too near: {pass} {prior}");
        let expected = if pass > prior { "pass".to_string() } else { point };
        assert_eq!(all[6].2, expected, "{ignores} {profile}");
        decisions.insert(expected);
    }
    assert!(decisions.len() > 1 && decisions.contains("pass"), "{decisions:?}");
}

/// With a lambda of nothing only the move of the largest utility is left, however few visits it has.
#[test]
fn moves_that_the_search_finds_bad_are_left_out() {
    let input = "boardsize 7\nplay b B3\nplay w E5\nplay b D6\nkata-search_analyze w\nkata-search_analyze b\n";
    let settings = "humanSLProfile=rank_20k,humanSLChosenMoveProp=1,humanSLChosenMovePiklLambda=0,maxVisits=60";
    let all = heard_of(&beside(&["-override-config", settings]), input);
    for (ok, _, text) in &all[4..] {
        assert!(ok, "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let [.., line, play] = &lines[..] else { panic!("{text}") };
        let utility = |info: &Vec<(String, Vec<String>)>| value(info, "utility")[0].parse::<f64>().expect("a number");
        let infos = parts(line);
        let best = infos.iter().max_by(|a, b| utility(a).total_cmp(&utility(b))).expect("a move");
        assert!(infos.len() > 3, "{line}");
        assert_eq!(*play, format!("play {}", value(best, "move")[0]), "{line}");
    }
}

/// An empty value takes back what a file or a command has set. What has no effect here is taken, with a word about it.
#[test]
fn parameters_are_taken_back_and_those_without_effect_are_taken() {
    let input = "kata-get-param maxVisits\nkata-set-param maxVisits\nkata-get-param maxVisits\n\
                 kata-set-params {\"humanSLProfile\":\"\",\"wideRootNoise\":\"\",\"humanSLChosenMoveProp\":\"\"}\n\
                 kata-get-param humanSLProfile\nkata-get-param wideRootNoise\nkata-get-param humanSLChosenMoveProp\n\
                 kata-set-params {\"humanSLOppExploreProbWeightless\":0.8,\"humanSLPlaExploreProbWeightful\":0}\n\
                 kata-get-param fillDameBeforePass\n";
    let config = "humanSLProfile=rank_5k,wideRootNoise=0.5,humanSLChosenMoveProp=0.5";
    let words = beside(&[&QUICK[..], &["-override-config", config]].concat());
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), input);
    let said = answers(&stdout(&output));
    assert!(said.len() == 9 && said.iter().all(|(ok, ..)| *ok), "{said:?}");
    let values = [0, 2, 4, 5, 6, 8].map(|at| said[at].2.as_str());
    assert_eq!(values, ["12", "500", "", "0", "0", "true"]);
    let warned = stderr(&output);
    assert!(warned.contains("humanSLOppExploreProbWeightless=0.8 has no effect"), "{warned}");
    assert!(!warned.contains("humanSLPlaExploreProbWeightful=0 has no effect"), "{warned}");
    // Without a network beside the main one, to take such a parameter back is no error either.
    let alone = heard(&QUICK, "kata-set-params {\"humanSLChosenMoveProp\":\"\"}\nkata-set-param humanSLProfile\n");
    assert!(alone.iter().all(|(ok, ..)| *ok), "{alone:?}");
}

#[test]
fn what_players_choose_is_set_as_katago_sets_it() {
    let said = heard_of(
        &beside(&QUICK),
        "boardsize 5\nkata-raw-human-nn 0\nkata-set-param humanSLChosenMoveProp 1\ngenmove b\n\
         kata-set-param humanSLChosenMoveProp 1.5\nkata-set-param humanSLChosenMovePiklLambda -1\n\
         kata-set-param humanSLChosenMoveIgnorePass true\nkata-get-param humanSLChosenMoveProp\n\
         kata-get-param humanSLChosenMovePiklLambda\nkata-get-param humanSLChosenMoveIgnorePass\n\
         kata-set-param humanSLRootExploreProbWeightful 0.5\nkata-set-param humanSLProfile rank_1d\n\
         kata-raw-human-nn 0\ngenmove w\nclear_cache\n",
    );
    let wrong: Vec<usize> = (0..said.len()).filter(|at| !said[*at].0).collect();
    assert_eq!((said.len(), &wrong[..]), (15, &[1, 4, 5][..]), "{said:#?}");
    assert!(said[1].2.starts_with("humanSLProfile: expected a profile"), "{}", said[1].2);
    assert!(said[4].2.contains("range 0 to 1") && said[5].2.contains("range 0 to 1000000000"), "{said:?}");
    assert_eq!([7, 8, 9].map(|at| said[at].2.as_str()), ["1", "1000000000", "true"]);
    // Without the network they are errors, which say what there should be.
    let without = heard(&QUICK, "kata-set-param humanSLChosenMoveProp 0\nkata-raw-human-nn 0\n");
    for (ok, _, text) in without {
        assert!(!ok && text.contains("--human-model"), "{text}");
    }
    for (words, part) in [
        (
            words(&["-override-config", "humanSLChosenMoveProp=0.5"]),
            "humanSLChosenMoveProp: expected a network for human",
        ),
        (words(&["-human-model", "/no/such/file"]), "oncilla: --human-model: /no/such/file: can't read it"),
        (beside(&["-override-config", "humanSLChosenMoveProp=2"]), "range 0 to 1"),
    ] {
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(part) && stdout(&output).is_empty(), "{}", stderr(&output));
    }
    let output = run(&beside(&[]).iter().map(String::as_str).collect::<Vec<_>>(), "");
    assert!(stderr(&output).contains("--human-model is not asked until humanSLProfile"), "{}", stderr(&output));
}
