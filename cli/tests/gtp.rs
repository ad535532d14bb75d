//! Tests `oncilla gtp` through the real binary: sessions with a small network from the repository, and games with a
//! stronger network if it is at hand.

mod common;
mod driver;

use driver::{Engine, Folder, run, stderr, stdout};
use oncilla_go::{Color, Game, Rules, Size};
use oncilla_testing::{fixtures, shared};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Makes the program play the best move instead of a random one, so that a test sees the same game each time. These
/// arguments come first, so that a test of random moves can override them.
const COLD: [&str; 2] = ["-override-config", "chosenMoveTemperature=0,chosenMoveTemperatureEarly=0"];

/// The words that start the program with a small network on the host.
fn words(args: &[&str]) -> Vec<String> {
    words_of("tiny-v8", args)
}

fn words_of(network: &str, args: &[&str]) -> Vec<String> {
    let weights = fixtures().join(format!("go/{network}.bin.gz")).display().to_string();
    let own = ["gtp", "--backend=host", "--threads=1", "--hash=64", "-model", &weights];
    own.iter().chain(&COLD).chain(args).map(|arg| arg.to_string()).collect()
}

/// The arguments of a program with a small network, and a network for human play beside it.
fn beside(args: &[&str]) -> Vec<String> {
    let human = fixtures().join("go/tiny-human.bin.gz").display().to_string();
    words(&[&["-human-model", &human], args].concat())
}

/// An answer: whether it is a success, its number, and its text.
type Answer = (bool, String, String);

/// The answers to `input`.
fn heard(args: &[&str], input: &str) -> Vec<Answer> {
    heard_of(&words(args), input)
}

fn heard_of(words: &[String], input: &str) -> Vec<Answer> {
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), input);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("GTP ready, beginning main protocol loop"));
    answers(&stdout(&output))
}

/// Splits the output into answers, each of which ends with an empty line.
fn answers(text: &str) -> Vec<Answer> {
    assert!(text.is_empty() || text.ends_with("\n\n"), "an answer without its end: {text:?}");
    let read = |text: &str| {
        let ok = match text.chars().next() {
            Some('=') => true,
            Some('?') => false,
            _ => panic!("neither = nor ?: {text:?}"),
        };
        let rest = &text[1..];
        let id = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        (ok, rest[..id].to_string(), rest[id..].trim_start().to_string())
    };
    text.split_terminator("\n\n").map(read).collect()
}

/// The text of the last answer, which must not be an error.
fn last(args: &[&str], input: &str) -> String {
    let (ok, _, text) = heard(args, input).pop().expect("an answer");
    assert!(ok, "{input}: {text}");
    text
}

/// A session that is in progress.
struct Talk {
    engine: Engine,
}

impl Talk {
    fn with(words: &[String]) -> Self {
        let mut command = driver::binary();
        command.args(words).stderr(Stdio::null());
        Self { engine: Engine::of(command) }
    }

    fn tiny(args: &[&str]) -> Self {
        Self::with(&words(args))
    }

    /// The lines of an answer, up to the empty line that ends it.
    fn answer(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.engine.until("").pop().expect("a line");
            if line.is_empty() {
                return lines;
            }
            lines.push(line);
        }
    }

    /// Starts an analysis, which the next line ends.
    fn analyze(&mut self) {
        self.engine.say("kata-analyze");
        self.engine.say("name");
        let answers = [self.answer(), self.answer()].map(|lines| lines.concat());
        assert!(answers[0].starts_with('=') && answers[1] == "= Oncilla", "{answers:?}");
    }

    /// Sends a line. Returns the text of the answer, which must not be an error.
    fn ask(&mut self, line: &str) -> String {
        self.engine.say(line);
        let lines = self.answer();
        assert!(lines[0].starts_with('='), "{line}: {lines:?}");
        lines.join("\n").trim_start_matches('=').trim().to_string()
    }
}

const QUICK: [&str; 2] = ["--max-visits=12", "--nncache=0"];

/// Every command, with valid arguments.
const ALL: &str = "protocol_version
name
version
known_command play
list_commands
boardsize 7
rectangular_boardsize 5 6
boardsize 5
clear_board
set_position b C3 w C4 b D4
komi 6.5
get_komi
play w D3
genmove b
kata-search w
undo
lz-genmove_analyze w 1 maxmoves 2
kata-genmove_analyze interval 1 ownership true
genmove_analyze b
kata-search_analyze w rootInfo true
kata-search_cancellable w
kata-search_analyze_cancellable b
lz-analyze 1
kata-analyze b 1 minmoves 3 pvVisits true
analyze w 1
stop
kata-raw-nn all
kata-raw-human-nn all
time_settings 60 10 5
time_left b 50 0
kgs-time_settings byoyomi 60 10 3
kata-time_settings fischer 60 1
kata-list_time_settings
time_settings 0 1 0
final_score
final_status_list alive
showboard
printsgf
kata-get-rules
kata-set-rules chinese
kata-set-rule ko SITUATIONAL
kgs-rules aga
kata-list-params
kata-get-param maxVisits
kata-set-param resignThreshold -0.95
kata-get-params
kata-set-params { \"resignConsecTurns\": 4, \"allowResignation\": \"false\" }
kata-get-models
clear_cache
clear-cache
cputime
gomill-cpu_time
boardsize 9
fixed_handicap 4
clear_board
place_free_handicap 6
clear_board
set_free_handicap A1 B2 C3
";

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
boardsize\nboardsize 1\nboardsize 20\nboardsize x\nboardsize 9 9 9\nboardsize 9:\nboardsize 9:1\nrectangular_boardsize\nrectangular_boardsize 9 99
komi\nkomi x\nkomi 7.3\nkomi nan\nkomi 1000\nclear_board 1\nname x\nquit now\nknown_command\nknown_command a b
set_position b\nset_position b A1 w A1\nset_position b pass\nset_position b A1 w A2 w B1\nundo 1
fixed_handicap 2\nfixed_handicap x\nplace_free_handicap 2\nset_free_handicap A1 B1\nset_free_handicap A1\nset_free_handicap pass pass
lz-analyze x\nkata-analyze b 10 foo bar\nkata-analyze ownership\nkata-genmove_analyze avoid b A1 0
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

/// With any time settings, even those without any time, a move comes soon.
#[test]
fn every_kind_of_clock_gets_moves() {
    let clocks = "time_settings 0 0 0\ntime_settings 1 0 0\ntime_settings 0 1 1\ntime_settings 1 1 3\ntime_settings 1 1 0
kata-time_settings none\nkata-time_settings absolute 0\nkata-time_settings absolute 1\nkata-time_settings byoyomi 1 0.2 2
kata-time_settings byoyomi 1 1 0\nkata-time_settings canadian 0 0.5 5\nkata-time_settings fischer 0 0\nkata-time_settings fischer 1 0.1
kata-time_settings fischer-capped 1 0.1 -1 -1\nkata-time_settings Fischer-Capped 2 0.1 1 0.2\nkgs-time_settings byoyomi 0 0.2 1";
    let moves = "boardsize 4\ngenmove b\ngenmove w\ntime_left b 0 0\ntime_left w -3.5 0\ngenmove b\ngenmove w\n\
                 time_left b 0.1 1\ntime_left w 0.1 3\ngenmove b\ngenmove w\n";
    let input: String = clocks.lines().map(|clock| format!("{clock}\n{moves}")).collect();
    let begun = Instant::now();
    let all = heard(&QUICK, &input);
    assert_eq!(all.len(), input.lines().count());
    assert!(all.iter().all(|(ok, ..)| *ok), "{all:?}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// The points of a board in the output of `showboard`.
fn stones(board: &str) -> String {
    let rows = board.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    rows.flat_map(|row| row.chars().filter(|c| matches!(c, 'X' | 'O' | '.'))).collect()
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

/// The names of a part of a line, each with its values.
type Part = Vec<(String, Vec<String>)>;

/// The names and values in a line of KataGo's, for each of its parts.
fn parts(line: &str) -> Vec<Part> {
    let names = "move visits edgeVisits utility winrate scoreMean scoreStdev scoreLead scoreSelfplay prior lcb utilityLcb weight \
                 noResultValue isSymmetryOf order pv pvVisits pvEdgeVisits movesOwnership movesOwnershipStdev rawWinrate rawLead \
                 rawScoreSelfplay rawScoreSelfplayStdev rawNoResultProb rawStWrError rawStScoreError rawVarTimeLeft \
                 currentPlayer symHash thisHash ownership ownershipStdev info rootInfo";
    let names: BTreeSet<&str> = names.split_whitespace().collect();
    let mut parts: Vec<Part> = Vec::new();
    for word in line.split(' ') {
        if ["info", "rootInfo", "ownership", "ownershipStdev"].contains(&word) {
            parts.push(Vec::new());
        }
        let part = parts.last_mut().expect("a part");
        match part.last_mut() {
            Some((_, values)) if !names.contains(word) => values.push(word.to_string()),
            _ => part.push((word.to_string(), Vec::new())),
        }
    }
    parts
}

fn value<'p>(part: &'p [(String, Vec<String>)], name: &str) -> &'p [String] {
    part.iter().find(|(other, _)| other == name).map_or(&[], |(_, values)| values)
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

/// A search that the next line would cancel can also end by itself.
#[test]
fn a_search_may_be_cancelled() {
    let mut talk = Talk::tiny(&["--max-visits=1000000"]);
    talk.ask("boardsize 7");
    let empty = talk.ask("showboard");
    for (command, expected) in
        [("kata-search_cancellable", "cancelled"), ("kata-search_analyze_cancellable b 1", "play cancelled")]
    {
        talk.engine.say(command);
        if command.ends_with('1') {
            talk.engine.until("info");
        }
        talk.engine.say("name");
        let said = talk.answer();
        assert_eq!(said.last().unwrap().trim_start_matches("= "), expected, "{said:?}");
        assert_eq!(talk.answer(), ["= Oncilla"]);
        // An empty line cancels it, too.
        talk.engine.say(command);
        talk.engine.say("");
        let said = talk.answer();
        assert_eq!(said.last().unwrap().trim_start_matches("= "), expected, "{said:?}");
    }
    assert_eq!(talk.ask("showboard"), empty, "nothing is played");
    talk.ask("kata-set-param maxVisits 20");
    assert!(talk.ask("kata-search_analyze_cancellable w").contains("\nplay "));
    let mv = talk.ask("kata-search_cancellable");
    assert!(mv != "cancelled" && !mv.is_empty(), "{mv}");
}

/// The default limit of a search for a move does not hold if another limit is given.
#[test]
fn one_limit_is_enough() {
    let visits = |config: &str| {
        let text = last(&["-override-config", config], "boardsize 5\nkata-search_analyze b rootInfo true\n");
        value(parts(text.lines().next().unwrap()).last().unwrap(), "visits")[0].parse::<u64>().unwrap()
    };
    assert_eq!(visits("rules=chinese"), 500);
    assert!((600..=601).contains(&visits("maxPlayouts=600")));
    assert_eq!(visits("maxPlayouts=600,maxVisits=40"), 40);
    // A time limit that is never reached has no effect; one that has passed already ends the search after its first
    // step.
    assert!((600..=601).contains(&visits("maxTime=36000,maxPlayouts=600")));
    assert!(visits("maxTime=0.000001,maxPlayouts=20000") < 600);
}

#[test]
fn boards_have_columns_and_rows() {
    for sides in ["9 7", "9:7"] {
        let board = last(&QUICK, &format!("boardsize {sides}\nshowboard\n"));
        assert!(board.contains(" J\n  7 ") && stones(&board).len() == 63, "{board}");
    }
}

/// The time of a search whose move is not played is not counted.
#[test]
fn time_is_counted_for_moves_alone() {
    assert_eq!(
        last(&QUICK, "boardsize 5\ntime_settings 60 0 0\nkata-search b\nkata-search_analyze b\ncputime\n"),
        "0.000"
    );
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

/// The search for a move out of turn knows nothing of earlier positions, so superko must not forbid what it chooses.
#[test]
fn a_move_out_of_turn_is_not_forbidden_by_what_was_before() {
    let allowed = last(&QUICK, &format!("{KO}play b pass\nkata-genmove_analyze b 100000 allow b C2 1\n"));
    assert!(allowed.ends_with("play C2"), "{allowed}");
    assert_eq!(last(&QUICK, &format!("{KO}play b pass\nplay b C2\n")), "");
    let in_turn = heard(&QUICK, &format!("{KO}play b pass\nplay w pass\nplay b C2\n")).pop().unwrap();
    assert!(!in_turn.0 && in_turn.2.contains("superko"), "{in_turn:?}");
}

/// Neither a pass that wins or ends the game nor the likeliest move is played where `avoid` or `allow` excludes it.
#[test]
fn what_is_excluded_is_not_played() {
    let asked = "kata-genmove_analyze b 100000";
    let played = |input: &str| last(&QUICK, input).rsplit_once("play ").map(|(_, mv)| mv.to_string()).unwrap();
    // Black owns the whole board, so a pass wins.
    let won = "boardsize 5\nset_position b B3 b C3 b D3\nplay b C4\nplay w pass\n";
    assert_eq!(played(&format!("{won}{asked}\n")), "pass");
    assert_ne!(played(&format!("{won}{asked} avoid b pass 1\n")), "pass");
    assert!(["E5", "E4"].contains(&&played(&format!("{won}{asked} allow b E5,E4 1\n"))[..]));
    // White has passed twice in the same position, so a pass ends the game.
    let first = "C3 C2 A3 B2 D3 B3 B4 D2 E2 A4 A5 A2 C4 A4 B5 D5 D1 C1 E3 E4 A3 D4 B1 E1 pass";
    let cycle = format!("{first} A4 D1 A1 A3 E1 pass A4 D1 pass A3 E1 pass");
    let moves = cycle.split(' ').enumerate().map(|(at, mv)| format!("play {} {mv}\n", ["b", "w"][at % 2]));
    let ended = format!("boardsize 5\nkata-set-rules koSIMPLEscoreAREAtaxNONEsui0\n{}", moves.collect::<String>());
    let color = ["b", "w"][cycle.split(' ').count() % 2];
    assert_eq!(played(&format!("{ended}kata-genmove_analyze {color} 100000\n")), "pass");
    assert_ne!(played(&format!("{ended}kata-genmove_analyze {color} 100000 avoid {color} pass 1\n")), "pass");
    // There is a stone on the only point that is allowed.
    let all = heard(&QUICK, &format!("boardsize 9\nplay b C3\nplay w E5\n7 {asked} allow b C3 1\nshowboard\n"));
    let error = "cannot move: expected a legal move among those that avoid or allow leaves, got none";
    assert_eq!(all[3], (false, "7".to_string(), error.to_string()));
    assert_eq!(stones(&all[4].2).matches(['X', 'O']).count(), 2);
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
fn games_are_written_and_read() {
    let folder = Folder::new("gtp-sgf");
    let file = folder.file("a game.sgf");
    let input = format!(
        "boardsize 9\nkata-set-rules japanese\nkomi 5.5\nfixed_handicap 2\nplay w E5\nplay b pass\nplay w F5\nshowboard\n\
         printsgf {file}\nboardsize 5\nkata-set-rules chinese\nkomi 0\nloadsgf {file}\nshowboard\nloadsgf {file} 2\nshowboard\n\
         loadsgf {file} 5\nshowboard\nloadsgf {file} 0\n"
    );
    let all = heard(&QUICK, &input);
    assert_eq!(all[7], all[13]);
    assert!(all[15].2.starts_with("Move 1: B to play") && all[15].2.contains("(O)"), "{}", all[15].2);
    assert_eq!((all[16].0, &all[17].2), (true, &all[7].2), "beyond the end is the end");
    assert!(!all[18].0 && all[18].2.contains("expected a move from 1 on, got 0"), "{}", all[18].2);
    assert!(folder.text("a game.sgf").contains("HA[2]AB[gc][cg]"), "{}", folder.text("a game.sgf"));
}

#[test]
fn files_that_others_have_written_are_read_or_refused() {
    let folder = Folder::new("gtp-odd");
    let endless = format!("(;SZ[9]{})", ";B[];W[tt]".repeat(50_001));
    for (name, bytes, expected) in [
        ("latin", b"(;SZ[9]PB[Jos\xe9]KM[375]C[\\]];B[cc](;W[tt];B[])(;W[aa]))".as_slice(), Ok(3)),
        ("setup", b"(;SZ[9]HA[2]AB[cc][gg]AW[ee]PL[W])", Ok(0)),
        ("endless", endless.as_bytes(), Err("a game of more than 100000 moves")),
        ("nothing", b"", Err("begins with (")),
        ("large", b"(;SZ[25])", Err("SZ: expected")),
        ("occupied", b"(;SZ[9];B[cc];W[cc])", Err("there is a stone")),
        ("twice", b"(;SZ[9]AB[cc]AW[cc])", Err("two stones are on one point")),
        ("dead", b"(;SZ[9]AB[ab][ba]AW[aa])", Err("a stone has no liberty")),
        ("komi", b"(;SZ[9]KM[6.5 moku];B[cc])", Err("KM: expected whole or half points")),
    ] {
        std::fs::write(folder.0.join(name), bytes).unwrap();
        let all = heard(&QUICK, &format!("komi 5.5\nloadsgf {}\nshowboard\nget_komi\n", folder.file(name)));
        let ((ok, _, text), board) = (&all[1], &all[2].2);
        match expected {
            Ok(moves) => assert!(*ok && board.starts_with(&format!("Move {moves}: ")), "{name}: {text} {board}"),
            Err(part) => assert!(!ok && text.contains(part) && stones(board).len() == 361, "{name}: {text}"),
        }
        assert_eq!(all[3].2, if name == "latin" { "7.5" } else { "5.5" });
    }
    assert!(!heard(&QUICK, &format!("loadsgf {}\n", folder.0.display()))[0].0, "a folder");
}

#[test]
fn a_game_that_is_over_is_written_with_its_result() {
    let passes = "play w pass\nplay b pass\n";
    let game = "boardsize 9\nkomi 6.5\nkata-set-rules tromp-taylor\nplay b E5\n";
    assert!(!last(&QUICK, &format!("{game}play w pass\nprintsgf\n")).contains("RE["), "it goes on");
    let counted = last(&QUICK, &format!("{game}{passes}printsgf\n"));
    assert!(counted.contains("RE[B+74.5]"), "{counted}");
    let agreed = heard(&QUICK, &format!("{game}kata-set-rules japanese\n{passes}final_score\nprintsgf\n"));
    let [.., (_, _, score), (_, _, text)] = &agreed[..] else { panic!("{agreed:?}") };
    assert!(text.contains(&format!("RE[{score}]")), "{score}: {text}");
}

#[test]
fn no_score_is_more_than_a_board_has() {
    for rules in ["japanese", "tromp-taylor"] {
        let score = last(&QUICK, &format!("boardsize 2\nkomi 0.5\nkata-set-rules {rules}\nfinal_score\n"));
        let (winner, points) = score.split_once('+').unwrap();
        let most = if winner == "W" { 4.5 } else { 3.5 };
        assert!(points.parse::<f64>().unwrap() <= most, "{rules}: {score}");
    }
}

#[test]
fn the_program_has_the_name_that_it_is_given() {
    let names = |flags: &[&str]| heard(flags, "name\nversion\n").into_iter().map(|(_, _, text)| text);
    let (name, version) = ("--name=KataGo", ["-override-version", "1.16.3"]);
    assert_eq!(names(&[&[name][..], &version].concat()).collect::<Vec<_>>(), ["KataGo", "1.16.3"]);
    assert_eq!(names(&[name]).collect::<Vec<_>>(), ["KataGo", env!("CARGO_PKG_VERSION")]);
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

#[test]
fn the_rules_count_where_they_can() {
    let passed = "boardsize 5\nplay b C3\nplay w pass\nplay b pass\n";
    assert_eq!(last(&QUICK, &format!("{passed}final_score\n")), "B+17.5");
    assert_eq!(last(&QUICK, &format!("{passed}komi 25\nfinal_score\n")), "0");
    assert_eq!(last(&QUICK, &format!("{passed}komi 30\nfinal_score\n")), "W+5");
}

/// White's stone counts, so no list may call it dead or its surroundings Black's.
#[test]
fn the_lists_say_what_the_score_counts() {
    let wall = (2..=5).map(|row| format!("play w {}\nplay b C{row}\n", if row == 2 { "E3" } else { "pass" }));
    let ended = format!("boardsize 5\nkomi 0.5\nplay b C1\n{}play w pass\nplay b pass\n", wall.collect::<String>());
    let lists =
        ["alive", "dead", "seki", "white_territory", "black_territory"].map(|word| format!("final_status_list {word}"));
    // A network that plays well expects Black to own everything.
    for words in [Some(words(&QUICK)), strong(&[])].into_iter().flatten() {
        let all = heard_of(&words, &format!("{ended}final_score\n{}\n", lists.join("\n")));
        let texts: Vec<&str> = all.iter().rev().take(6).rev().map(|(_, _, text)| text.as_str()).collect();
        let black = "A5 B5 A4 B4 A3 B3 A2 B2 A1 B1";
        assert_eq!(texts, ["B+13.5", "C5 C4 C3 C2 C1\nE3", "", "", "", black]);
    }
}

#[test]
fn rules_that_are_wrong_are_named() {
    let all = heard(
        &QUICK,
        "kata-set-rules {\"ko\":\"SIMPLE\",\"foo\":1}\nkata-set-rules {\"ko\":\"FOO\"}\nkata-set-rules {\"komi\":3}\n\
         kata-set-rules koSIMPLEkomi3\nkata-get-rules\nget_komi\n",
    );
    let expected = [
        "unknown rules: expected one of friendlyPassOk, hasButton, ko, scoring, suicide, tax, whiteHandicapBonus, \
         got \"foo\"",
        "unknown rules: no value of ko: \"FOO\"",
        "unknown rules: expected rules without a komi, which the command komi sets, got ",
        "unknown rules: expected rules without a komi, which the command komi sets, got \"koSIMPLEkomi3\"",
    ];
    for ((ok, _, text), expected) in all.iter().zip(expected) {
        assert!(!ok && text.starts_with(expected), "{text}");
    }
    assert!(all[4].2.contains("\"ko\":\"POSITIONAL\"") && all[5].2 == "7.5", "{all:?}");
}

/// Plays a game of at most `most` moves, and checks that every move is legal. `clock` is called before each move, and
/// after it with the time that it took.
fn play_out(
    talk: &mut Talk,
    side: u8,
    rules: &str,
    most: usize,
    mut clock: impl FnMut(&mut Talk, Color, Duration),
) -> Game {
    let size = Size::new(side, side).unwrap();
    let mut game: Game = Game::new(size, rules.parse::<Rules>().unwrap());
    while game.ending().is_none() && game.ply() < most {
        let color = game.side_to_move();
        clock(talk, color, Duration::ZERO);
        let begun = Instant::now();
        let text = talk.ask(&format!("genmove {}", if color == Color::Black { "b" } else { "w" }));
        let used = begun.elapsed();
        if text == "resign" {
            break;
        }
        let mv = size.parse(&text).unwrap_or_else(|_| panic!("no move: {text}"));
        game.play(mv).unwrap_or_else(|_| panic!("illegal: {text} after {} moves", game.ply()));
        clock(talk, color, used);
    }
    game
}

#[test]
fn what_it_plays_is_legal() {
    for rules in ["tromp-taylor", "chinese", "japanese"] {
        let mut talk = Talk::tiny(&["--max-visits=8", "-override-config", &format!("rules={rules}")]);
        talk.ask("boardsize 4");
        let game = play_out(&mut talk, 4, rules, 80, |_, _, _| {});
        assert!(game.ply() > 1);
    }
}

/// The root's visits, from the last line of an analysis with `rootInfo`.
fn root_visits(text: &str) -> u64 {
    let said = text.rsplit_once("rootInfo visits ").and_then(|(_, rest)| rest.split(' ').next());
    said.and_then(|number| number.parse().ok()).expect("visits of the root")
}

const LOOK: &str = "kata-search_analyze rootInfo true";

#[test]
fn the_tree_goes_on_from_move_to_move() {
    let mut talk = Talk::tiny(&["--max-playouts=300"]);
    let mut visits = |input: &[&str]| {
        input.iter().for_each(|line| drop(talk.ask(line)));
        root_visits(&talk.ask(LOOK))
    };
    assert_eq!(visits(&["boardsize 5"]), 300);
    // The same tree is searched further.
    let again = visits(&[]);
    assert_eq!(again, 600);
    let after_own = visits(&["genmove b"]);
    assert!((301..900).contains(&after_own), "{after_own}");
    let after_both = visits(&["genmove w", "genmove b"]);
    assert!(after_both > 300, "{after_both}");
    for forgets in [
        "undo",
        "komi 3.5",
        "kata-set-rules japanese",
        "clear_cache",
        "kata-set-param policyOptimism 0.5",
        "clear_board",
    ] {
        assert_eq!(visits(&[forgets]), 300, "{forgets}");
    }
    // An analysis of another command is another search, so its tree is not reused.
    assert!(visits(&["name"]) > 300);
    talk.analyze();
    assert_eq!(root_visits(&talk.ask(LOOK)), 300);
}

#[test]
fn games_differ_by_chance_unless_it_is_told_otherwise() {
    let moves = "boardsize 9\n".to_string() + &"genmove b\ngenmove w\n".repeat(6);
    let game = |config: &str| {
        let all = heard(&["--max-visits=40", "-override-config", config], &moves);
        all.into_iter().map(|(_, _, text)| text).collect::<Vec<_>>()
    };
    let games: Vec<_> = (0..4).map(|_| game("chosenMoveTemperatureEarly=1,allowResignation=false")).collect();
    assert!(games.iter().any(|other| *other != games[0]), "{games:?}");
    let seeded = |seed| game(&format!("searchRandSeed={seed},chosenMoveTemperatureEarly=1,allowResignation=false"));
    assert_eq!(seeded("a"), seeded("a"));
    assert!(seeded("a") != seeded("b") || seeded("b") != seeded("c"));
    let cold = || game("allowResignation=false");
    assert_eq!(cold(), cold());
}

#[test]
fn it_thinks_in_the_opponents_time_if_it_is_told_to() {
    let pondering = |config: &str| {
        let mut talk = Talk::tiny(&["--max-visits=20", "-override-config", config]);
        talk.ask("boardsize 7");
        // There is no pondering before the first `genmove`.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(root_visits(&talk.ask(LOOK)), 20);
        talk.ask("genmove b");
        talk
    };
    let mut talk = pondering("ponderingEnabled=true,maxVisitsPondering=400");
    let begun = Instant::now();
    loop {
        let visits = root_visits(&talk.ask(LOOK));
        assert!(visits <= 400 && begun.elapsed() < Duration::from_secs(60), "{visits}");
        if visits == 400 {
            break;
        }
    }
    // The reply to the move that was pondered starts from the ponder tree.
    let known = root_visits(&talk.ask("kata-genmove_analyze w rootInfo true"));
    assert!(known >= 400, "{known}");
    // An analysis ends the pondering.
    talk.analyze();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(root_visits(&talk.ask(LOOK)), 20);
    let mut talk = pondering("maxVisitsPondering=400");
    std::thread::sleep(Duration::from_millis(50));
    assert!(root_visits(&talk.ask(LOOK)) <= 20);
    // Without a limit, the program ponders until the next line, or until the end of the input.
    let words = words(&["--max-visits=20", "-override-config", "ponderingEnabled=true"]);
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "boardsize 7\ngenmove b\nplay w A1\n");
    assert_eq!(answers(&stdout(&output)).len(), 3);
}

/// Each wait for a line adds as many as are allowed, if it is long enough for them.
#[test]
fn it_adds_no_more_visits_in_the_opponents_time_than_it_may() {
    let config = "ponderingEnabled=true,maxPlayoutsPondering=30";
    let mut talk = Talk::tiny(&["--max-visits=20", "-override-config", config]);
    talk.ask("boardsize 7");
    talk.ask("genmove b");
    let mut last = root_visits(&talk.ask(LOOK));
    let begun = Instant::now();
    for wait in 1.. {
        std::thread::sleep(Duration::from_millis(20 * wait));
        let visits = root_visits(&talk.ask(LOOK));
        assert!(visits <= last + 30 && begun.elapsed() < driver::patience(), "{visits} after {last}");
        if visits == last + 30 {
            break;
        }
        last = visits;
    }
}

/// While one engine ponders some hundred visits, another one that has no time for it ponders next to none.
#[test]
fn it_thinks_no_longer_in_the_opponents_time_than_it_may() {
    let pondering = |more: &str| {
        let config = format!("ponderingEnabled=true{more}");
        let mut talk = Talk::tiny(&["--max-visits=20", "-override-config", &config]);
        talk.ask("boardsize 7");
        talk.ask("genmove b");
        talk
    };
    let mut hurried = pondering(",maxTimePondering=0");
    let mut patient = pondering("");
    let begun = Instant::now();
    while root_visits(&patient.ask(LOOK)) < 400 {
        assert!(begun.elapsed() < driver::patience());
        std::thread::sleep(Duration::from_millis(20));
    }
    let visits = root_visits(&hurried.ask(LOOK));
    assert!(visits <= 40, "{visits}");
}

#[test]
fn configuration_files_of_katagos_are_understood() {
    let folder = Folder::new("gtp-config");
    std::fs::write(
        folder.0.join("gtp.cfg"),
        "# as KataGo has it\nlogDir = gtp_logs\nrules = japanese\nmaxVisits = 7\nnumSearchThreads = 1\nresignThreshold = -0.5\n\
         ponderingEnabled = true\nsearchFactorAfterOnePass = 1.0\nchosenMoveTemperature = 0.1\nmadeUp = 1\ndefaultBoardSize = 5\n",
    )
    .unwrap();
    let words =
        words(&["-config", &folder.file("gtp.cfg"), "-override-config", "resignThreshold=-0.25,neverHeardOf=1"]);
    let input =
        "showboard\nkata-get-param maxVisits\nkata-get-param resignThreshold\nkata-search_analyze b rootInfo true\n";
    let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), input);
    let all = answers(&stdout(&output));
    assert!(all[0].2.contains("Rules koSIMPLEscoreTERRITORYtaxSEKIsui0komi6.5") && stones(&all[0].2).len() == 25);
    assert_eq!((&all[1].2[..], &all[2].2[..]), ("7", "-0.25"));
    assert!(all[3].2.contains("rootInfo visits 7 "), "{}", all[3].2);
    let says = stderr(&output);
    assert!(!says.contains("pondering"), "{says}");
    let unused: Vec<&str> = says.lines().filter(|line| line.contains("not used")).collect();
    assert!(
        unused.len() == 2 && unused[0].ends_with("not used: madeUp") && unused[1].ends_with("neverHeardOf"),
        "{says}"
    );
}

#[test]
fn what_cannot_begin_says_why() {
    for (args, part) in [
        (vec!["gtp", "--backend=host"], "gtp: expected a network of Go, KataGo's, with --weights, got small"),
        (vec!["gtp", "--weights=/no/such.bin.gz"], "/no/such.bin.gz: can't read it: "),
    ] {
        let output = run(&args, "name\n");
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{args:?}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    for (config, part) in [
        ("resignThreshold=1", "Key 'resignThreshold' must be in the range -1 to 0"),
        ("koRule=FOO", "koRule: no value of ko"),
        ("rules=chess", "expected rules by name"),
        ("rules", "expected NAME=VALUE"),
    ] {
        let words = words(&["-override-config", config]);
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), "name\n");
        assert_eq!(output.status.code(), Some(2), "{config}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

/// The words that start the program with a stronger network. `None` if the network is not at hand, or if the program is
/// emulated.
fn strong(args: &[&str]) -> Option<Vec<String>> {
    if driver::program::is_emulated() {
        return None;
    }
    let weights = shared()?.join("nets/g170-b6c96-s175395328-d26788732.bin.gz").display().to_string();
    let own = ["gtp", "--backend=host", "--hash=64", "-model", &weights];
    Some(own.iter().chain(&COLD).chain(args).map(|arg| arg.to_string()).collect())
}

#[test]
fn it_plays_a_game_to_its_end() {
    let Some(words) = strong(&["-override-config", "maxVisits=12,allowResignation=false,defaultBoardSize=9"]) else {
        return;
    };
    let mut talk = Talk::with(&words);
    let game = play_out(&mut talk, 9, "tromp-taylor", 300, |_, _, _| {});
    assert!(game.ending().is_some() && game.ply() > 20, "{} moves", game.ply());
    let lead = game.white_lead().unwrap();
    let winner = if lead > 0.0 { 'W' } else { 'B' };
    assert_eq!(talk.ask("final_score"), format!("{winner}+{}", lead.abs()));
    // By rules with an agreement on dead stones, those that are left on the board may make the lead larger.
    talk.ask("kata-set-rules chinese");
    let agreed = talk.ask("final_score");
    assert!(agreed.starts_with(winner) && agreed[2..].parse::<f32>().unwrap() >= lead.abs(), "{agreed}, {lead}");
}

#[test]
fn no_clock_runs_out() {
    let Some(words) = strong(&["-override-config", "allowResignation=false,defaultBoardSize=9"]) else { return };
    let mut talk = Talk::with(&words);
    // Main time only, for all moves of the game.
    let mut left = [2.5_f64; 2];
    talk.ask("time_settings 2 0 0");
    let game = play_out(&mut talk, 9, "tromp-taylor", 120, |talk, color, used| {
        let left = &mut left[color as usize];
        *left -= used.as_secs_f64();
        assert!(*left > 0.0, "{color:?} lost on time");
        talk.ask(&format!("time_left {} {left:.3} 0", if color == Color::Black { "b" } else { "w" }));
    });
    assert!(game.ply() >= 60 || game.ending().is_some());
    // One period for each move.
    talk.ask("clear_board");
    talk.ask("kgs-time_settings byoyomi 0 1 1");
    play_out(&mut talk, 9, "tromp-taylor", 8, |talk, color, used| {
        assert!(used < Duration::from_secs(1), "{used:?}");
        talk.ask(&format!("time_left {} 1 1", if color == Color::Black { "b" } else { "w" }));
    });
    // Five moves per period of 2.5 s, and the program does not get `time_left`.
    talk.ask("clear_board");
    talk.ask("kata-time_settings canadian 0 2.5 5");
    let mut spent = [0.0; 2];
    play_out(&mut talk, 9, "tromp-taylor", 10, |_, color, used| spent[color as usize] += used.as_secs_f64());
    assert!(spent.iter().all(|spent| *spent < 2.5), "{spent:?}");
}

/// Two halves of a board with walls of stones: Black's is the larger one, and no stone of the opponent can live in
/// either.
fn halves() -> String {
    let stones = (1..=9).map(|row| format!("b C{row} b F{row} w G{row}"));
    format!("boardsize 9\nset_position {}\n", stones.collect::<Vec<_>>().join(" "))
}

/// By area, a single stone surrounds the whole board, but this does not predict the result.
#[test]
fn the_score_of_a_game_that_goes_on_is_what_is_expected() {
    let Some(words) = strong(&[]) else { return };
    let mut talk = Talk::with(&words);
    for line in ["boardsize 9", "kata-set-rules chinese", "play b E5"] {
        talk.ask(line);
    }
    let score = talk.ask("final_score");
    let points: f32 = score[2..].parse().unwrap();
    assert!(points < 20.0 && points.fract() == 0.5, "{score}");
    talk.ask("komi 7");
    let score = talk.ask("final_score");
    assert!(score == "0" || score[2..].parse::<f32>().unwrap().fract() == 0.0, "{score}");
    // With stones of both colours, only the stones themselves are surrounded.
    for line in ["clear_board", "komi 0.5", "fixed_handicap 4", "play w E5"] {
        talk.ask(line);
    }
    let score = talk.ask("final_score");
    assert!(score.starts_with("B+") && score[2..].parse::<f32>().unwrap() > 15.0, "{score}");
}

#[test]
fn it_passes_where_that_wins_and_resigns_what_is_lost() {
    let Some(words) = strong(&["-override-config", "maxVisits=30,resignConsecTurns=2"]) else { return };
    let says = |input: &str| {
        let output = run(&words.iter().map(String::as_str).collect::<Vec<_>>(), input);
        answers(&stdout(&output)).pop().unwrap().2
    };
    // Black has 54 of 81 points, and White has komi.
    let won = halves();
    for rules in ["tromp-taylor", "chinese", "japanese"] {
        let passed = says(&format!("kata-set-rules {rules}\n{won}play b pass\nplay w pass\ngenmove b\n"));
        assert_eq!(passed, "pass", "{rules}");
    }
    assert_eq!(says(&format!("{won}final_score\n")), "B+19.5");
    // White can't win any more, and resigns in its second turn.
    assert_ne!(says(&format!("{won}play b A1\ngenmove w\n")), "resign");
    assert_eq!(says(&format!("{won}play b A1\ngenmove w\nplay b A2\ngenmove w\n")), "resign");
    let stays =
        says(&format!("kata-set-param allowResignation false\n{won}play b A1\ngenmove w\nplay b A2\ngenmove w\n"));
    assert_ne!(stays, "resign");
    // The player who gives a handicap is behind at the start, but does not resign.
    assert_ne!(says("boardsize 9\nfixed_handicap 9\ngenmove w\nplay b A1\ngenmove w\n"), "resign");
    let early = |share| {
        let moves = format!("{won}play b A1\ngenmove w\nplay b A2\ngenmove w\n");
        says(&format!("kata-set-param resignMinMovesPerBoardArea {share}\n{moves}"))
    };
    assert_eq!((early("0") == "resign", early("0.1") == "resign"), (true, false));
    // A pass wins, but is excluded.
    let alive: String = ["C1", "C2", "C3", "C4", "C5", "B3"]
        .iter()
        .zip(["A1", "A2", "A3", "A4", "A5", "pass"])
        .map(|(black, white)| format!("play b {black}\nplay w {white}\n"))
        .collect();
    let chosen = |more: &str| {
        let asked = format!("boardsize 5\nkomi 0.5\nkata-set-rules chinese\n{alive}kata-genmove_analyze b 100000");
        says(&format!("{asked}{more}\n")).rsplit_once("play ").map(|(_, mv)| mv.to_string()).unwrap()
    };
    assert_eq!(chosen(""), "pass");
    assert_ne!(chosen(" avoid b pass 1"), "pass");
    assert!(["E5", "E4"].contains(&&chosen(" allow b E5,E4 1")[..]));
    // White's stone at A5 is dead.
    let dead = format!("{won}play b pass\nplay w A5\n");
    assert_eq!(says(&format!("{dead}final_status_list dead\n")), "A5");
    assert_eq!(says(&format!("kata-set-rules chinese\n{dead}final_score\n")), "B+19.5");
    // Both sides have passed, and leave the dead stones on the board.
    assert_eq!(says(&format!("kata-set-rules chinese\n{dead}play b pass\nplay w pass\nfinal_score\n")), "B+19.5");
    let alive = says(&format!("{dead}final_status_list alive\n"));
    assert_eq!(alive.lines().count(), 3);
}

#[test]
fn a_new_game_begins_with_full_clocks() {
    let asked = "kata-genmove_analyze b 100000 rootInfo true\n";
    let visits = |more: &str| {
        let input = format!("boardsize 9\ntime_settings 600 0 0\ntime_left b 0 0\n{more}{asked}");
        let text = last(&["-override-config", "maxVisits=60"], &input);
        let mut words = text.split_whitespace().skip_while(|word| *word != "rootInfo").skip(2);
        words.next().and_then(|visits| visits.parse::<u32>().ok()).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(visits("") < 60);
    assert_eq!(visits("clear_board\n"), 60);
}

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

/// The rows of numbers of `kata-raw-nn` behind this name, from the top.
fn rows(raw: &str, name: &str, count: usize) -> Vec<Vec<f64>> {
    let behind = raw.lines().skip_while(|line| *line != name).skip(1).take(count);
    behind.map(|row| row.split(' ').map(|number| number.parse().unwrap_or(f64::NAN)).collect()).collect()
}

/// What stands behind a name in an answer of `kata-raw-nn`.
fn named<'r>(raw: &'r str, name: &str) -> Option<&'r str> {
    raw.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
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
