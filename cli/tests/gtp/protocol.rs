//! Commands, their answers, and input that nobody should send.

use super::*;

#[test]
fn every_command_does_what_it_is_for() {
    let folder = Folder::new("gtp-all");
    let file = folder.file("game.sgf");
    let input = format!("{ALL}printsgf {file}\nloadsgf {file}\nquit\n");
    let all = heard_of(&beside(&[&QUICK[..], &["-override-config", "humanSLProfile=rank_5k"]].concat()), &input);
    assert_eq!(all.len(), input.lines().count());
    for (line, (ok, _, text)) in input.lines().zip(&all) {
        assert!(ok, "{line}: {text}");
    }
    let listed: BTreeSet<&str> = all[4].2.lines().collect();
    let used: BTreeSet<&str> = input.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(listed, used, "a command that is not tried here, or not listed");
    let text = |line: &str| &all[input.lines().position(|other| other == line).unwrap()].2;
    assert_eq!((text("protocol_version"), text("known_command play")), (&"2".to_string(), &"true".to_string()));
    assert_eq!((text("get_komi"), text("kata-get-param maxVisits")), (&"6.5".to_string(), &"12".to_string()));
    assert_eq!(text("fixed_handicap 4"), "C3 G7 C7 G3");
    assert_eq!(text("place_free_handicap 6").split(' ').collect::<BTreeSet<_>>().len(), 6);
    let models: Value = serde_json::from_str(text("kata-get-models")).unwrap();
    assert_eq!(models[0]["version"], 8);
    let params: Value = serde_json::from_str(text("kata-get-params")).unwrap();
    let some =
        ["resignThreshold", "maxVisits", "allowResignation", "reportAnalysisWinratesAs"].map(|name| &params[name]);
    assert_eq!(some, [&json!(-0.95), &json!(12), &json!(true), &json!("SIDETOMOVE")]);
    let params: BTreeSet<&str> = text("kata-list-params").split(' ').collect();
    assert!(params.contains("analysisWideRootNoise") && params.contains("cpuctExploration"));
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let wrong = "play\nplay b\nplay green A1\nplay b Z1\nplay b A0\nplay b C3\nplay b A1 A2\ngenmove\ngenmove x\ngenmove b w
boardsize\nboardsize 1\nboardsize 20\nboardsize x\nboardsize 9 9 9\nboardsize 9:\nboardsize 9:1\nboardsize x:9\nrectangular_boardsize\nrectangular_boardsize 9 99
komi\nkomi x\nkomi 7.3\nkomi nan\nkomi 1000\nclear_board 1\nname x\nquit now\nknown_command\nknown_command a b
set_position b\nset_position b A1 w A1\nset_position b pass\nset_position b A1 w A2 w B1\nundo 1
fixed_handicap 2\nfixed_handicap x\nplace_free_handicap 2\nset_free_handicap A1 B1\nset_free_handicap A1\nset_free_handicap pass pass
lz-analyze x\nlz-analyze 1e12\nkata-analyze b 10 foo bar\nkata-analyze ownership\nkata-genmove_analyze avoid b A1 0
kata-analyze allow b A1 1 avoid b A1 1\nkata-search x\nstop now\nkata-raw-nn\nkata-raw-nn 8\nkata-raw-nn some
kata-raw-human-nn\nkata-raw-human-nn 0\nkata-set-param humanSLChosenMoveProp 1\nkata-set-params {\"humanSLCpuctPermanent\":0}
time_settings 1 2\ntime_settings -1 0 0\ntime_settings a b c\ntime_left b\ntime_left x 1 1\ntime_left b x 1
kgs-time_settings\nkgs-time_settings fischer 1 1\nkgs-time_settings byoyomi 1\nkata-time_settings absolute -1\nkata-list_time_settings x
final_score x\nfinal_status_list\nfinal_status_list well\nshowboard x\nloadsgf\nloadsgf /no/such/file\nprintsgf /no/such/folder/file
kata-get-rules x\nkata-set-rules chess\nkata-set-rule ko\nkata-set-rule ko FOO\nkata-set-rule foo BAR\nkgs-rules korean
kata-get-param\nkata-get-param foo\nkata-set-param\nkata-set-param foo 1\nkata-set-param foo\nkata-set-param maxVisits 0\nkata-set-param resignThreshold 5
kata-set-param ponderingEnabled true\nkata-set-param numSearchThreads 8\nkata-set-params\nkata-set-params [1]\nkata-get-params x
kata-set-params {\"maxVisits\":3,\"foo\":1}\nkata-set-params {\"maxVisits\":3,\"resignThreshold\":5}\nkata-list-params x\nkata-get-models x\nclear_cache x\ncputime x
unknown\nPLAY b A1\n7\n";
    let state = "showboard\nkata-get-rules\nget_komi\nkata-get-params\n";
    let all = heard(&QUICK, &format!("boardsize 5\nplay b C3\n{state}{wrong}{state}"));
    let count = wrong.lines().count();
    assert_eq!(all.len(), 6 + count + 4);
    for (line, (ok, id, text)) in wrong.lines().zip(&all[6..]) {
        assert!(!ok && !text.is_empty(), "{line}: {text}");
        assert_eq!(id, if line == "7" { "7" } else { "" });
    }
    assert_eq!(all[2..6], all[6 + count..]);
    let error = |line: &str| &all[6 + wrong.lines().position(|other| other == line).unwrap()].2;
    assert_eq!(error("unknown"), "unknown command: \"unknown\"");
    assert_eq!(error("play b C3"), "illegal move: C3, there is a stone");
    assert_eq!(error("boardsize 20"), "unacceptable size: expected sides from 2 to 19, got 20 and 20");
    assert_eq!(error("boardsize x:9"), "unacceptable size: expected sides from 2 to 19, got \"x\" and 9");
    assert_eq!(error("set_position b A1 w A1"), "illegal position: two stones are on one point: A1");
    assert_eq!(error("set_position b A1 w A2 w B1"), "illegal position: a stone has no liberty: A1");
    assert_eq!(error("set_free_handicap A1"), "bad vertex list: expected at least 2 points, got 1");
    let interval = "syntax error: expected hundredths of a second, from 0 to 1e11, got \"1e12\"";
    assert_eq!(error("lz-analyze 1e12"), interval);
    assert_eq!(error("fixed_handicap 2"), "invalid number of stones: this board has no points for a fixed handicap");
    assert!(error("kata-set-param numSearchThreads 8").starts_with("cannot change parameter: "));
    assert!(error("play green A1").starts_with("syntax error: expected a color"));
    assert!(error("place_free_handicap 2").starts_with("board not empty"));
}

#[test]
fn numbers_comments_and_control_characters() {
    let all = heard(
        &QUICK,
        "\u{feff}12 name\r\n# a comment\n\n   \n 0013\tversion # and another\n3 na\u{1}me\nnonsense\n99 nonsense",
    );
    let ids: Vec<&str> = all.iter().map(|(_, id, _)| id.as_str()).collect();
    assert_eq!(ids, ["12", "0013", "3", "", "99"]);
    assert_eq!(all.iter().map(|(ok, _, _)| *ok).collect::<Vec<_>>(), [true, true, true, false, false]);
    assert_eq!((&all[0].2[..], &all[2].2[..]), ("Oncilla", "Oncilla"));
}

#[test]
fn odd_lines_have_one_answer_each() {
    let long = format!("play b {}", "A1 ".repeat(100_000));
    let number = format!("{} name", "9".repeat(5000));
    let lines = [
        "na\0me",
        "\0\u{1}",
        "n\u{e4}me",
        "play b \u{e9}4",
        "komi \u{ff17}",
        "boardsize 5",
        &long,
        &number,
        "play b (0,0)",
        "play w pss",
        "play b tt",
        "play b i1",
        "play b A6",
        "genmove b w",
        "komi .5",
        "komi -0",
        "komi 1e300",
        "loadsgf",
        "loadsgf #",
        "name",
    ];
    let all = heard(&QUICK, &lines.join("\n"));
    assert_eq!(all.len(), lines.len() - 1, "there is no answer to control characters alone");
    assert_eq!(all.iter().filter(|(ok, ..)| *ok).count(), 8, "{all:?}");
    assert!(all.iter().all(|(_, _, text)| text.len() < 1000));
    assert_eq!(all.last().unwrap().2, "Oncilla");
}

/// A controller that numbers its commands waits for the number.
#[test]
fn the_answer_to_too_long_a_line_has_its_number() {
    let long = "A1 ".repeat(6 << 20);
    let all = heard(&QUICK, &format!("12 play b {long}\nplay b {long}\n# {long}\n13 name\n"));
    let error = || "syntax error: a line of more than 16 MiB".to_string();
    let expected = [(false, "12", error()), (false, "", error()), (true, "13", "Oncilla".to_string())];
    assert_eq!(all, expected.map(|(ok, id, text)| (ok, id.to_string(), text)));
}

#[test]
fn moves_are_taken_back() {
    let mut talk = Talk::tiny(&QUICK);
    talk.ask("boardsize 5");
    let empty = stones(&talk.ask("showboard"));
    talk.ask("play b C3");
    let one = stones(&talk.ask("showboard"));
    talk.ask("play w pass");
    let mv = talk.ask("genmove b");
    assert_ne!(stones(&talk.ask("showboard")) == one, mv != "pass");
    for expected in [&one, &one, &empty] {
        talk.ask("undo");
        assert_eq!(&stones(&talk.ask("showboard")), expected);
    }
    talk.engine.say("undo");
    assert_eq!(talk.answer(), ["? cannot undo: no move was played"]);
    // Handicap stones are not moves.
    talk.ask("boardsize 9");
    assert_eq!(talk.ask("fixed_handicap 3"), "C3 G7 C7");
    talk.engine.say("undo");
    assert!(talk.answer()[0].starts_with("? cannot undo"));
    assert!(talk.ask("showboard").starts_with("Move 0: W to play"));
    // `undo` restores captured stones.
    talk.ask("boardsize 5");
    for mv in ["b A1", "w A2", "b C3"] {
        talk.ask(&format!("play {mv}"));
    }
    let before = stones(&talk.ask("showboard"));
    talk.ask("play w B1");
    assert_ne!(stones(&talk.ask("showboard")), before);
    talk.ask("undo");
    assert_eq!(stones(&talk.ask("showboard")), before);
}

/// A ko on a 5×5 board, just after White has captured.
const KO: &str =
    "boardsize 5\nplay b B3\nplay w C3\nplay b A2\nplay w D2\nplay b B1\nplay w C1\nplay b C2\nplay w B2\n";

#[test]
fn a_position_does_not_come_back_where_superko_forbids_it() {
    let ended =
        |rules: &str, moves: &str| heard(&QUICK, &format!("kata-set-rules {rules}\n{KO}{moves}")).pop().unwrap();
    for rules in ["tromp-taylor", "chinese", "aga", "japanese"] {
        let (ok, _, text) = ended(rules, "play b C2\n");
        assert_eq!((ok, text.as_str()), (false, "illegal move: C2, ko"), "{rules}");
    }
    let (ok, _, text) = ended("tromp-taylor", "play b pass\nplay w pass\nplay b C2\n");
    assert_eq!((ok, text.as_str()), (false, "illegal move: C2, superko: the position was there before"));
    assert!(ended("chinese", "play b pass\nplay w pass\nplay b C2\n").0);
    assert!(ended("tromp-taylor", "play b E5\nplay w E4\nplay b C2\n").0, "the position is another one");
}

#[test]
fn the_end_of_the_input_ends_everything_and_loses_no_answer() {
    let all = heard(&["--max-visits=300"], "boardsize 7\n5 genmove b");
    assert_eq!((all.len(), &all[1].1[..], all[1].0), (2, "5", true));
    let all = heard(&[], "boardsize 5\nlz-analyze 1\n");
    assert!(all[1].0);
    let all = heard(&["--max-visits=100"], "boardsize 5\nkata-genmove_analyze b 1");
    assert!(all[1].2.lines().last().unwrap().starts_with("play "));
    assert!(heard(&QUICK, "quit\nname\n").len() == 1, "nothing is heard behind quit");
    assert!(heard(&QUICK, "").is_empty());
}

#[test]
fn boards_have_columns_and_rows() {
    for sides in ["9 7", "9:7"] {
        let board = last(&QUICK, &format!("boardsize {sides}\nshowboard\n"));
        assert!(board.contains(" J\n  7 ") && stones(&board).len() == 63, "{board}");
    }
}

/// The search for a move out of turn knows nothing of earlier positions, so superko must not forbid what it chooses.
#[test]
fn a_move_out_of_turn_is_not_forbidden_by_what_was_before() {
    let allowed = last(&QUICK, &format!("{KO}play b pass\nkata-genmove_analyze b 100000 allow b C2 1\n"));
    assert!(allowed.ends_with("play C2"), "{allowed}");
    assert_eq!(last(&QUICK, &format!("{KO}play b pass\nplay b C2\n")), "");
    let in_turn = heard(&QUICK, &format!("{KO}play b pass\nplay w pass\nplay b C2\n")).pop().unwrap();
    assert!(!in_turn.0 && in_turn.2.contains("superko"), "{in_turn:?}");
}

/// An empty value brings back not only the number, but also what the number has replaced.
#[test]
fn a_parameter_that_is_taken_back_leaves_nothing_behind() {
    let visits = |set: &str| {
        let limits = ["--nncache=0", "-override-config", "maxPlayouts=600"];
        root_visits(&last(&limits, &format!("boardsize 4\n{set}{LOOK}\n")))
    };
    assert!(visits("") >= 600);
    assert_eq!(visits("kata-set-param maxVisits 20\nkata-set-params {\"maxVisits\":\"\"}\n"), visits(""));
    assert!(visits("kata-set-param maxVisits\nkata-set-param maxVisits 20\n") < 60);
    let handicap = |set: &str| last(&QUICK, &format!("boardsize 9\nfixed_handicap 4\n{set}{LOOK}\n"));
    let name = "kata-set-param playoutDoublingAdvantage";
    assert_eq!(handicap(&format!("{name} 1\n{name}\n")), handicap(""));
    assert_ne!(handicap(&format!("{name} 0\n")), handicap(""));
}

#[test]
fn a_position_keeps_who_is_to_move() {
    let folder = Folder::new("gtp-first");
    let file = folder.file("position.sgf");
    let read = format!("printsgf {file}\nclear_board\nloadsgf {file}\nshowboard\n");
    let board = |input: &str| last(&QUICK, input).lines().next().unwrap_or_default().to_string();
    let black = board(&format!("boardsize 9\nset_position b C3 b G7\n{read}"));
    assert!(black.contains("B to play"), "{black}");
    let text = folder.text("position.sgf");
    assert!(text.contains("PL[B]") && !text.contains("HA["), "{text}");
    let white = board(&format!("boardsize 9\nset_free_handicap C3 G7\n{read}"));
    assert!(white.contains("W to play"), "{white}");
    let text = folder.text("position.sgf");
    assert!(text.contains("PL[W]") && text.contains("HA[2]"), "{text}");
}

#[test]
fn the_program_has_the_name_that_it_is_given() {
    let names = |flags: &[&str]| heard(flags, "name\nversion\n").into_iter().map(|(_, _, text)| text);
    let (name, version) = ("--name=KataGo", ["-override-version", "1.16.3"]);
    assert_eq!(names(&[&[name][..], &version].concat()).collect::<Vec<_>>(), ["KataGo", "1.16.3"]);
    assert_eq!(names(&[name]).collect::<Vec<_>>(), ["KataGo", env!("CARGO_PKG_VERSION")]);
}
