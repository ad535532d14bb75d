//! Live analysis and the network's own word.

use super::*;

#[test]
fn an_analysis_ends_with_the_next_line() {
    let mut talk = Talk::tiny(&[]);
    talk.ask("boardsize 7");
    for end in ["", "name", "# nothing"] {
        talk.engine.say("4 lz-analyze b 2");
        let first = talk.engine.until("info");
        assert_eq!(first[0], "=4");
        talk.engine.until("info");
        talk.engine.say(end);
        let rest = talk.answer();
        assert!(rest.iter().all(|line| line.starts_with("info")), "{rest:?}");
        if end == "name" {
            assert_eq!(talk.answer(), ["= Oncilla"]);
        }
    }
    // Without an interval there is only one line, at the end.
    talk.engine.say("kata-analyze");
    talk.engine.until("=");
    std::thread::sleep(Duration::from_millis(50));
    talk.engine.say("get_komi");
    assert_eq!(talk.answer().len(), 1);
    assert_eq!(talk.answer(), ["= 7.5"]);
    // A second analysis replaces the first one, and `quit` ends it.
    talk.engine.say("kata-analyze 1");
    talk.engine.until("info");
    talk.engine.say("lz-analyze w 1");
    talk.engine.until("=");
    talk.engine.until("info");
    talk.engine.say("9 quit");
    talk.answer();
    assert_eq!(talk.answer(), ["=9"]);
    let (status, rest) = talk.engine.finish();
    assert!(status.success() && rest.is_empty(), "{rest:?}");
}

#[test]
fn a_search_that_can_do_no_more_waits_for_its_end() {
    let mut talk = Talk::tiny(&[]);
    talk.ask("boardsize 2");
    // All moves are forbidden, so there is nothing to search.
    talk.engine.say("kata-analyze b 1 allow b pass 1 allow w pass 1");
    assert_eq!(talk.engine.until("=").len(), 1);
    talk.engine.overhear();
    let begun = Instant::now();
    talk.engine.say("name");
    loop {
        if talk.answer() == ["= Oncilla"] {
            break;
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn lines_have_what_was_asked_for() {
    let input = "boardsize 7\nplay b D4\nkata-search_analyze w ownership true ownershipStdev true movesOwnership true \
                 pvVisits true rootInfo true noResultValue true maxmoves 3\n";
    let text = last(&["--max-visits=60"], input);
    let [line, play] = &text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    let parts = parts(line);
    let infos: Vec<_> = parts.iter().filter(|part| part[0].0 == "info").collect();
    assert!(infos.len() <= 3 && !infos.is_empty());
    assert_eq!(*play, format!("play {}", value(infos[0], "move")[0]));
    for (order, info) in infos.iter().enumerate() {
        let number = |name: &str| value(info, name)[0].parse::<f64>().unwrap();
        assert_eq!(number("order") as usize, order);
        assert!((0.0..=1.0).contains(&number("winrate")) && (0.0..=1.0).contains(&number("prior")));
        assert_eq!(value(info, "pv")[0], value(info, "move")[0]);
        assert_eq!(value(info, "pvVisits").len(), value(info, "pv").len());
        assert!(value(info, "pvEdgeVisits").is_empty(), "nobody has asked for them");
        assert_eq!(value(info, "movesOwnership").len(), 49);
    }
    let of = |name: &str| parts.iter().find(|part| part[0].0 == name).unwrap();
    assert_eq!((of("ownership")[0].1.len(), of("ownershipStdev")[0].1.len()), (49, 49));
    assert_eq!(value(of("rootInfo"), "visits"), ["60"]);
    assert_eq!(value(of("rootInfo"), "currentPlayer"), ["W"]);
}

#[test]
fn moves_are_avoided_allowed_and_added() {
    let says =
        |keys: &str| last(&["--max-visits=10"], &format!("boardsize 5\nplay w B4\nkata-search_analyze b {keys}\n"));
    let moves = |text: &str| -> BTreeSet<String> {
        parts(text.lines().next().unwrap()).iter().map(|info| value(info, "move")[0].clone()).collect()
    };
    assert_eq!(moves(&says("allow b A1,B2 1")), BTreeSet::from(["A1", "B2"].map(str::to_string)));
    assert!(!moves(&says("avoid b C3,pass 1")).contains("C3"));
    let more = says("minmoves 25");
    assert_eq!(moves(&more).len(), 25, "all free points and a pass");
    assert!(more.contains(" visits 0 "));
}

/// Moves that `minmoves` adds have the value of first-play urgency, the bounds of no visits, and their images.
#[test]
fn moves_without_visits_have_their_urgency() {
    let input = "boardsize 5\nkata-search_analyze b minmoves 26 pvVisits true noResultValue true\n";
    let text = last(&["--max-visits=5"], input);
    let parts = parts(text.lines().next().unwrap());
    let infos: Vec<&Part> = parts.iter().collect();
    let number = |part: &Part, name: &str| value(part, name)[0].parse::<f64>().expect("a number");
    let is_original = |info: &&Part| value(info, "isSymmetryOf").is_empty();
    let is_unvisited = |info: &&Part| number(info, "visits") == 0.0;
    let (unvisited, visited): (Vec<&Part>, Vec<&Part>) = infos.iter().copied().partition(is_unvisited);
    assert!(visited.iter().copied().filter(is_original).count() <= 4, "{text}");
    let named: BTreeSet<&String> = infos.iter().map(|info| &value(info, "move")[0]).collect();
    assert_eq!((named.len(), infos.len()), (26, 26), "each move comes once");
    for info in &unvisited {
        assert_eq!((number(info, "weight"), number(info, "utilityLcb")), (0.0, 0.0), "{info:?}");
        assert_eq!((value(info, "lcb"), value(info, "pv")), (value(info, "winrate"), value(info, "move")));
        assert_eq!((number(info, "noResultValue"), number(info, "pvVisits")), (0.0, 0.0));
        assert_eq!(value(info, "utility"), value(unvisited[0], "utility"), "one urgency for all");
    }
    let orders: Vec<f64> = infos.iter().map(|info| number(info, "order")).collect();
    assert_eq!(orders, (0..infos.len()).map(|order| order as f64).collect::<Vec<_>>());
    let originals: Vec<&Part> = unvisited.iter().copied().filter(is_original).collect();
    assert!(!originals.is_empty() && originals.len() < unvisited.len(), "{text}");
    assert!(originals.is_sorted_by(|a, b| number(a, "prior") >= number(b, "prior")), "{text}");
}

/// In a symmetric position `minmoves` does not add what is excluded, as it does in others.
#[test]
fn excluded_moves_are_added_only_to_positions_without_symmetry() {
    let moves = |before: &str, keys: &str| -> BTreeSet<String> {
        let text = last(&["--max-visits=10"], &format!("boardsize 5\n{before}kata-search_analyze b {keys}\n"));
        parts(text.lines().next().unwrap()).iter().map(|info| value(info, "move")[0].clone()).collect()
    };
    for depth in [1, 2] {
        let named = moves("", &format!("allow b C3 {depth} minmoves 5"));
        assert_eq!(named, BTreeSet::from(["C3".to_string()]), "{depth}");
    }
    let without = moves("", "avoid b A1 1 minmoves 26");
    assert!(without.len() == 25 && !without.contains("A1"), "also if the other corners are allowed: {without:?}");
    assert_eq!(moves("play w B4\nplay w C4\n", "allow b C3 1 minmoves 5").len(), 5);
}

/// In the same tree, `rootFpuReductionMax` lowers the value of moves without visits in proportion to the root of what
/// the visited moves have of the policy.
#[test]
fn moves_without_visits_are_worth_less_the_more_was_seen() {
    let analyze = "kata-search_analyze b minmoves 26\n";
    let reduced = |by: f64| format!("kata-set-param rootFpuReductionMax {by}\n{analyze}");
    let args = ["--max-visits=5", "-override-config", "dynamicScoreUtilityFactor=0"];
    let all = heard(&args, &format!("boardsize 5\n{}{}", reduced(0.0), reduced(0.4)));
    let [before, after] = [2, 4].map(|at| parts(all[at].2.lines().next().unwrap()));
    let number = |part: &Part, name: &str| value(part, name)[0].parse::<f64>().expect("a number");
    let visits = |parts: &[Part]| -> BTreeSet<(String, String)> {
        parts.iter().map(|info| (value(info, "move")[0].clone(), value(info, "visits")[0].clone())).collect()
    };
    assert_eq!(visits(&before), visits(&after), "the tree was kept");
    let visited = |info: &&Part| number(info, "visits") > 0.0 && value(info, "isSymmetryOf").is_empty();
    let seen: f64 = before.iter().filter(visited).map(|info| number(info, "prior")).sum();
    let [whole, less] = [&before, &after].map(|parts| {
        number(parts.iter().find(|info| number(info, "visits") == 0.0).expect("a move without visits"), "utility")
    });
    assert!(seen > 0.01 && (whole - less - 0.4 * seen.sqrt()).abs() < 1e-5, "{whole} {less} {seen}");
}

/// Moves without visits have the root's ownership, and their images have it turned.
#[test]
fn moves_without_visits_have_the_ownership_of_the_root() {
    let input = "boardsize 5\nkata-search_analyze b minmoves 26 movesOwnership true ownership true\n";
    let text = last(&["--max-visits=5"], input);
    let parts = parts(text.lines().next().unwrap());
    let of_root =
        parts.iter().map(|part| value(part, "ownership")).find(|owned| !owned.is_empty()).expect("the root's");
    let sorted = |owned: &[String]| owned.iter().cloned().collect::<BTreeSet<String>>();
    let mut turned = 0;
    for info in parts.iter().filter(|info| value(info, "visits").first().is_some_and(|visits| visits == "0")) {
        let owned = value(info, "movesOwnership");
        assert_eq!((owned.len(), sorted(owned)), (25, sorted(of_root)), "{info:?}");
        match value(info, "isSymmetryOf").is_empty() {
            true => assert_eq!(owned, of_root, "{info:?}"),
            false => turned += usize::from(owned != of_root),
        }
    }
    assert!(turned > 0, "{text}");
}

/// The numbers are the same as those of an `oncilla analysis` query, down to the last digit.
#[test]
fn a_search_is_that_of_analysis() {
    let moves = [["B", "D4"], ["W", "C5"], ["B", "E3"]];
    let plays: String = moves.iter().map(|[color, place]| format!("play {color} {place}\n")).collect();
    let args = ["--max-visits=120", "--minibatch-size=1"];
    let ours = last(&args, &format!("boardsize 7\nkomi 6.5\n{plays}kata-search_analyze w\n"));
    let query = json!({
        "id": "a", "boardXSize": 7, "boardYSize": 7, "rules": "tromp-taylor", "komi": 6.5, "moves": moves, "maxVisits": 120,
        "overrideSettings": { "wideRootNoise": 0, "ignorePreRootHistory": false },
    });
    let mut words = words(&["--minibatch-size=1", "--parallel=1"]);
    words[0] = "analysis".into();
    words.retain(|word| !COLD.contains(&&word[..]));
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), &format!("{query}\n"));
    let answer: Value = serde_json::from_str(stdout(&output).trim()).expect("JSON");
    let infos = answer["moveInfos"].as_array().unwrap();
    let parts = parts(ours.lines().next().unwrap());
    assert_eq!(parts.len(), infos.len());
    for (part, info) in parts.iter().zip(infos) {
        assert_eq!(info["move"], value(part, "move")[0]);
        for name in ["visits", "winrate", "scoreLead", "prior", "lcb", "utility", "order"] {
            assert_eq!(info[name].to_string(), value(part, name)[0], "{name}");
        }
    }
}

#[test]
fn the_networks_own_word_is_complete() {
    let text = last(&[], "boardsize 5\nplay b C3\nkata-raw-nn all\n");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words.iter().filter(|word| **word == "symmetry").count(), 8);
    let at = words.iter().position(|word| *word == "policy").unwrap();
    let policy = &words[at + 1..at + 26];
    assert_eq!(policy.iter().filter(|word| **word == "NAN").count(), 1, "{policy:?}");
    assert_eq!(words[at + 26], "policyPass");
    let sum: f64 = policy.iter().filter_map(|word| word.parse::<f64>().ok().filter(|p| p.is_finite())).sum();
    let pass: f64 = words[at + 27].parse().unwrap();
    assert!((sum + pass - 1.0).abs() < 1e-4, "{sum} and {pass}");
    assert_eq!(words[at + 28], "whiteOwnership");
    // Boards that are not square are not transposed.
    let all = heard(&[], "rectangular_boardsize 5 3\nkata-raw-nn 4\nkata-raw-nn all\n");
    assert!(!all[1].0 && all[2].2.matches("symmetry").count() == 4);
    // As in KataGo, the network is told of an advantage, and its policy is not flattened.
    let with = |name: &str, value: &str| {
        last(&[], &format!("boardsize 5\nplay b C3\nkata-set-param {name} {value}\nkata-raw-nn 0\n"))
    };
    let plain = with("nnPolicyTemperature", "1");
    assert_eq!(with("nnPolicyTemperature", "2"), plain);
    let advantage =
        |pla: &str| with("playoutDoublingAdvantagePla", &format!("{pla}\nkata-set-param playoutDoublingAdvantage 2"));
    assert!(advantage("white") != plain && advantage("black") != advantage("white"));
}

/// In the style of Leela Zero, too, if they are asked for (KataGo refuses the keys there).
#[test]
fn visits_of_a_line_are_in_both_styles() {
    for command in ["lz-genmove_analyze", "kata-genmove_analyze"] {
        let asked = format!("boardsize 9\n{command} b 1000 pvVisits true pvEdgeVisits true maxmoves 1\n");
        let text = last(&QUICK, &asked);
        assert!(text.contains(" pvVisits ") && text.contains(" pvEdgeVisits "), "{command}: {text}");
        let plain = last(&QUICK, &format!("boardsize 9\n{command} b 1000 maxmoves 1\n"));
        assert!(!plain.contains(" pvVisits") && !plain.contains(" pvEdgeVisits"), "{command}: {plain}");
    }
}
