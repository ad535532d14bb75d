//! Tests `oncilla gtp` through the real binary: sessions with a small network from the repository, and games with a
//! stronger network if it is at hand.

mod analysis;
mod clocks;
#[path = "../common/mod.rs"]
mod common;
#[path = "../driver/mod.rs"]
mod driver;
mod files;
mod human;
mod play;
mod protocol;
mod rules;

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

/// The points of a board in the output of `showboard`.
fn stones(board: &str) -> String {
    let rows = board.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    rows.flat_map(|row| row.chars().filter(|c| matches!(c, 'X' | 'O' | '.'))).collect()
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

/// The root's visits, from the last line of an analysis with `rootInfo`.
fn root_visits(text: &str) -> u64 {
    let said = text.rsplit_once("rootInfo visits ").and_then(|(_, rest)| rest.split(' ').next());
    said.and_then(|number| number.parse().ok()).expect("visits of the root")
}

const LOOK: &str = "kata-search_analyze rootInfo true";

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

/// The rows of numbers of `kata-raw-nn` behind this name, from the top.
fn rows(raw: &str, name: &str, count: usize) -> Vec<Vec<f64>> {
    let behind = raw.lines().skip_while(|line| *line != name).skip(1).take(count);
    behind.map(|row| row.split(' ').map(|number| number.parse().unwrap_or(f64::NAN)).collect()).collect()
}

/// What stands behind a name in an answer of `kata-raw-nn`.
fn named<'r>(raw: &'r str, name: &str) -> Option<&'r str> {
    raw.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}
