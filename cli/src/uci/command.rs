//! Parses lines of input into commands.
//!
//! As the specification requires, unknown words before a command are skipped. Unknown words within `go` are skipped
//! too, with a note; a `go` that consists only of unknown words searches one node. A value that is missing or not a
//! number does not make the whole `go` fail, because its sender waits for a `bestmove`.

use std::fmt;
use std::iter::Peekable;
use std::str::SplitAsciiWhitespace;

use oncilla_chess::cozy_chess::Color;
use oncilla_chess::{History, notation};

use crate::engine::{Clock, Go};
use crate::position::PositionText;
use crate::text::quoted;

/// A parsed command. Its texts are slices of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'l> {
    /// `uci`.
    Uci,
    /// `isready`.
    IsReady,
    /// `ucinewgame`.
    NewGame,
    /// `position`.
    Position(PositionText<'l>),
    /// `go`.
    Go(Box<GoWords<'l>>),
    /// `stop`.
    Stop,
    /// `ponderhit`.
    PonderHit,
    /// `setoption`.
    SetOption {
        /// The name, its words separated by one space.
        name: String,
        /// What follows `value`.
        value: Option<&'l str>,
    },
    /// `wait`, from Lc0: nothing more is done until the search has ended.
    Wait,
    /// `d`, from Stockfish: the position as a FEN.
    Show,
    /// `quit`.
    Quit,
    /// `debug` and `register`, which have no effect.
    Ignored,
}

/// Why a line is not a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// None of its words is a command.
    Unknown(String),
    /// The command is known, but its arguments are wrong.
    Arguments {
        /// The command.
        command: &'static str,
        /// What was expected.
        expected: &'static str,
        /// What was found; `None` for the end of the line.
        got: Option<String>,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(line) => write!(f, "unknown command: {}", quoted(line)),
            Self::Arguments { command, expected, got: Some(got) } => {
                write!(f, "{command}: expected {expected}, got {}", quoted(got))
            }
            Self::Arguments { command, expected, got: None } => {
                write!(f, "{command}: expected {expected}, got the end of the line")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Parses a line. An empty line is neither a command nor an error.
///
/// # Errors
/// What was expected and what was found.
pub fn parse(line: &str) -> Result<Option<Command<'_>>, Refusal> {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let (word, arguments) = split_word(rest);
        if word.is_empty() {
            break;
        }
        if let Some(command) = parse_command(word, arguments) {
            return command.map(Some);
        }
        rest = arguments;
    }
    match line.trim_ascii() {
        "" => Ok(None),
        unknown => Err(Refusal::Unknown(unknown.to_string())),
    }
}

/// Splits off the first word.
fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len()))
}

fn parse_command<'l>(word: &str, arguments: &'l str) -> Option<Result<Command<'l>, Refusal>> {
    Some(match word {
        "uci" => Ok(Command::Uci),
        "isready" => Ok(Command::IsReady),
        "ucinewgame" => Ok(Command::NewGame),
        "position" => position(arguments).map(Command::Position),
        "go" => Ok(Command::Go(Box::new(GoWords::parse(arguments)))),
        "stop" => Ok(Command::Stop),
        "ponderhit" => Ok(Command::PonderHit),
        "setoption" => parse_option(arguments),
        "wait" => Ok(Command::Wait),
        "d" => Ok(Command::Show),
        "quit" => Ok(Command::Quit),
        "debug" | "register" => Ok(Command::Ignored),
        _ => return None,
    })
}

/// `name WORDS [value TEXT]`. Spaces within the value are kept.
fn parse_option(arguments: &str) -> Result<Command<'_>, Refusal> {
    let refuse = |expected, got: &str| {
        let got = (!got.is_empty()).then(|| got.to_string());
        Err(Refusal::Arguments { command: "setoption", expected, got })
    };
    let (first, mut rest) = split_word(arguments.trim_ascii_start());
    if first != "name" {
        return refuse("name", first);
    }
    let mut name = String::new();
    let value = loop {
        let (word, after) = split_word(rest.trim_ascii_start());
        rest = after;
        match word {
            "" => break None,
            "value" if !name.is_empty() => break Some(after.trim_ascii()),
            _ if name.is_empty() => name.push_str(word),
            _ => {
                name.push(' ');
                name.push_str(word);
            }
        }
    };
    if name.is_empty() {
        return refuse("a name", "");
    }
    Ok(Command::SetOption { name, value })
}

fn position(arguments: &str) -> Result<PositionText<'_>, Refusal> {
    let mut words = arguments.split_ascii_whitespace();
    let first = words.next();
    let mut fen = match first {
        Some("startpos") => None,
        Some("fen") => Some(Vec::new()),
        _ => {
            let (expected, got) = ("startpos or fen", first.map(str::to_string));
            return Err(Refusal::Arguments { command: "position", expected, got });
        }
    };
    for word in words.by_ref() {
        match &mut fen {
            _ if word == "moves" => break,
            Some(fields) if fields.is_empty() && word == "startpos" => {
                let (expected, got) = ("a FEN, or startpos without fen before it", Some(word.to_string()));
                return Err(Refusal::Arguments { command: "position", expected, got });
            }
            Some(fields) => fields.push(word),
            // If the word were skipped, the moves behind it would be lost and the start position would be searched.
            None => {
                let (expected, got) = ("moves behind startpos", Some(word.to_string()));
                return Err(Refusal::Arguments { command: "position", expected, got });
            }
        }
    }
    Ok(PositionText { fen, moves: words.collect() })
}

/// The arguments of `go`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoWords<'l> {
    /// `wtime`, `btime`.
    pub time: [Option<i64>; 2],
    /// `winc`, `binc`.
    pub increment: [Option<i64>; 2],
    /// `movestogo`.
    pub moves_to_go: Option<u32>,
    /// `movetime`.
    pub move_time: Option<i64>,
    /// `nodes`.
    pub nodes: Option<u64>,
    /// `depth`.
    pub depth: Option<u32>,
    /// `mate`.
    pub mate: Option<u32>,
    /// `infinite`.
    pub infinite: bool,
    /// `ponder`.
    pub ponder: bool,
    /// The words after `searchmoves`.
    pub search_moves: Vec<&'l str>,
    /// Notes about wrong values and what is used instead, one line each.
    pub notes: Vec<String>,
}

/// The keywords of `go`, none of which is read as a move or a number.
const KEYWORDS: [&str; 12] = [
    "searchmoves",
    "ponder",
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "depth",
    "nodes",
    "mate",
    "movetime",
    "infinite",
];

impl<'l> GoWords<'l> {
    fn parse(arguments: &'l str) -> Self {
        let mut go = Self::default();
        let mut words = arguments.split_ascii_whitespace().peekable();
        let mut unknown = Vec::new();
        while let Some(word) = words.next() {
            if !go.take(word, &mut words) {
                unknown.push(word);
            }
        }
        if !unknown.is_empty() {
            let mut note = format!("go: skipped, not known: {}", quoted(&unknown.join(" ")));
            // `go perft 3` must not start an endless search, but its sender may be waiting for a `bestmove`.
            if go == Self::default() {
                go.nodes = Some(1);
                note.push_str("; taken as nodes 1");
            }
            go.notes.push(note);
        }
        go
    }

    /// Reads a keyword and its value from `words`. Returns false if the word is not a keyword.
    fn take(&mut self, keyword: &'l str, words: &mut Peekable<SplitAsciiWhitespace<'l>>) -> bool {
        match keyword {
            "infinite" => self.infinite = true,
            "ponder" => self.ponder = true,
            "searchmoves" => {
                while let Some(mv) = words.next_if(|word| !KEYWORDS.contains(word)) {
                    self.search_moves.push(mv);
                }
            }
            "wtime" => self.time[0] = Some(self.number(keyword, words, 0)),
            "btime" => self.time[1] = Some(self.number(keyword, words, 0)),
            "winc" => self.increment[0] = Some(self.number(keyword, words, 0)),
            "binc" => self.increment[1] = Some(self.number(keyword, words, 0)),
            "movetime" => self.move_time = Some(self.number(keyword, words, 0)),
            // A best move needs at least one node.
            "nodes" => self.nodes = Some(self.number(keyword, words, 1).max(1) as u64),
            "depth" => self.depth = Some(self.small_number(keyword, words, 1)),
            "mate" => self.mate = Some(self.small_number(keyword, words, 1)).filter(|&n| n > 0),
            "movestogo" => self.moves_to_go = Some(self.small_number(keyword, words, 0)).filter(|&n| n > 0),
            _ => return false,
        }
        true
    }

    /// The number after a keyword, clamped to the range of 64 bits. If no number follows, the result is `least`, so
    /// that the search ends soon instead of never.
    fn number(&mut self, keyword: &str, words: &mut Peekable<SplitAsciiWhitespace<'l>>, least: i64) -> i64 {
        let word = words.next_if(|word| !KEYWORDS.contains(word));
        match word.and_then(read_number) {
            Some(number) => number,
            None => {
                let got = word.or_else(|| words.peek().copied());
                let got = got.map_or_else(|| "the end of the line".to_string(), quoted);
                self.notes.push(format!("go: {keyword}: expected a number, got {got}; taken as {least}"));
                least
            }
        }
    }

    fn small_number(&mut self, keyword: &str, words: &mut Peekable<SplitAsciiWhitespace<'l>>, least: i64) -> u32 {
        self.number(keyword, words, least).clamp(0, i64::from(u32::MAX)) as u32
    }

    /// The search request for the side to move, and notes about what could not be used, one line each.
    pub fn resolve(&self, position: &History) -> (Go, Vec<String>) {
        let mut notes = self.notes.clone();
        let go = Go {
            clock: self.clock(position.side_to_move()),
            move_time_ms: self.move_time,
            nodes: self.nodes,
            depth: self.depth,
            mate: self.mate,
            search_moves: self.moves(position, &mut notes),
            infinite: self.infinite,
            ponder: self.ponder,
            ..Go::default()
        };
        (go, notes)
    }

    /// The clock of the side to move. If only the opponent's time was sent, that time is used, because some limit was
    /// intended.
    fn clock(&self, mover: Color) -> Option<Clock> {
        let (own, other) = if mover == Color::White { (0, 1) } else { (1, 0) };
        Some(Clock {
            left_ms: self.time[own].or(self.time[other])?,
            increment_ms: self.increment[own].unwrap_or(0),
            moves_to_go: self.moves_to_go,
        })
    }

    fn moves(&self, position: &History, notes: &mut Vec<String>) -> Vec<oncilla_chess::Move> {
        let mut moves = Vec::new();
        for text in &self.search_moves {
            match notation::parse_move(position.board(), text) {
                Ok(mv) if moves.contains(&mv) => {}
                Ok(mv) => moves.push(mv),
                Err(error) => notes.push(format!("go: searchmoves: {error}")),
            }
        }
        if moves.is_empty() && !self.search_moves.is_empty() {
            notes.push("go: searchmoves: no legal move among them; all moves are searched".to_string());
        }
        moves
    }
}

/// Reads an integer; a decimal fraction is cut off.
fn read_number(word: &str) -> Option<i64> {
    let whole = word.split_once('.').map_or(word, |(whole, fraction)| {
        let is_fraction = fraction.bytes().all(|b| b.is_ascii_digit());
        if is_fraction { whole } else { word }
    });
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let bound = if whole.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(whole.parse().unwrap_or(bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_chess::Castling;

    fn go(text: &str) -> (Go, Vec<String>) {
        let Ok(Some(Command::Go(words))) = parse(text) else { panic!("{text} is no go") };
        words.resolve(&History::startpos())
    }

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    fn setup_error(text: &str) -> String {
        let Ok(Some(Command::Position(setup))) = parse(text) else { panic!("{text} is no position") };
        setup.play().unwrap_err().to_string()
    }

    #[test]
    fn plain_commands() {
        for (line, command) in [
            ("uci", Command::Uci),
            (" isready\t", Command::IsReady),
            ("ucinewgame\r\n", Command::NewGame),
            ("stop", Command::Stop),
            ("ponderhit", Command::PonderHit),
            ("wait", Command::Wait),
            ("quit", Command::Quit),
            ("joho debug on", Command::Ignored),
        ] {
            assert_eq!(parse(line), Ok(Some(command)), "{line}");
        }
        assert_eq!(parse(" \t\r\n"), Ok(None));
    }

    #[test]
    fn garbage_is_repeated_in_part() {
        assert_eq!(refusal("hello\0 world"), "unknown command: \"hello\\0 world\"");
        assert_eq!(refusal("UCI"), "unknown command: \"UCI\"");
        assert!(refusal(&"x".repeat(1 << 20)).len() < 300);
        assert!(refusal(&"\u{fffd} ".repeat(1 << 18)).len() < 1000);
    }

    #[test]
    fn options_have_names_and_values_of_several_words() {
        let option = |name: &str, value| Ok(Some(Command::SetOption { name: name.to_string(), value }));
        assert_eq!(parse("setoption name Move  Overhead value 5"), option("Move Overhead", Some("5")));
        assert_eq!(
            parse("setoption name WeightsFile value  /a b/c  d.pb "),
            option("WeightsFile", Some("/a b/c  d.pb"))
        );
        assert_eq!(parse("setoption name LogFile value"), option("LogFile", Some("")));
        assert_eq!(parse("setoption name ClearTree"), option("ClearTree", None));
        assert_eq!(refusal("setoption Hash value 1"), "setoption: expected name, got \"Hash\"");
        assert_eq!(refusal("setoption name"), "setoption: expected a name, got the end of the line");
        assert_eq!(refusal("setoption"), "setoption: expected name, got the end of the line");
    }

    #[test]
    fn positions() {
        let played = |text: &str| {
            let Ok(Some(Command::Position(setup))) = parse(text) else { panic!("{text} is no position") };
            setup.play().unwrap().to_fen(Castling::Standard).to_string()
        };
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert_eq!(played("position startpos"), start);
        assert_eq!(played("position startpos moves"), start);
        assert_eq!(played(&format!("position  fen {start}")), start);
        let after = "rnbqkbnr/ppp1pppp/3p4/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";
        assert_eq!(played("position startpos moves e2e4 d7d6"), after);
        assert_eq!(played(&format!("position fen {start} moves e2e4 d7d6")), after);
        let castled = "5k2/8/8/8/8/8/8/5RK1 b - - 1 1";
        assert_eq!(played("position fen 5k2/8/8/8/8/8/8/4K2R w K - 0 1 moves e1g1"), castled);
        assert_eq!(played("position fen 5k2/8/8/8/8/8/8/4K2R w K - 0 1 moves e1h1"), castled);
    }

    #[test]
    fn refused_positions_say_where() {
        assert_eq!(refusal("position"), "position: expected startpos or fen, got the end of the line");
        assert_eq!(refusal("position moves e2e4"), "position: expected startpos or fen, got \"moves\"");
        assert_eq!(
            setup_error("position startpos moves e2e4 e7e5 e4e5 g8f6"),
            "move 3 of 4: bad move: expected a legal move of the position, got \"e4e5\""
        );
        for stray in ["e2e4", "move"] {
            let expected = format!("position: expected moves behind startpos, got \"{stray}\"");
            assert_eq!(refusal(&format!("position startpos {stray} e7e5 moves e2e4")), expected);
        }
        assert!(setup_error("position fen").starts_with("bad FEN: board"));
        assert!(setup_error("position fen 8/8/8/8/8/8/8/8 w - - 0 1").starts_with("bad FEN: board: expected one king"));
        assert!(setup_error("position startpos moves \u{1F600}\u{1F600}").starts_with("move 1 of 1: bad move"));
    }

    #[test]
    fn every_limit_arrives() {
        let (limits, notes) =
            go("go wtime 1000 btime 2000 winc 10 binc 20 movestogo 5 depth 7 nodes 8 mate 9 movetime 10");
        assert!(notes.is_empty());
        let clock = Clock { left_ms: 1000, increment_ms: 10, moves_to_go: Some(5) };
        let expected = Go {
            clock: Some(clock),
            move_time_ms: Some(10),
            nodes: Some(8),
            depth: Some(7),
            mate: Some(9),
            ..Go::default()
        };
        assert_eq!(limits, expected);
        assert!(go("go infinite").0.infinite);
        let (ponder, _) = go("go ponder wtime 5 btime 6");
        assert!(ponder.ponder && ponder.clock.is_some());
    }

    #[test]
    fn blacks_clock_is_blacks() {
        let Ok(Some(Command::Go(words))) = parse("go wtime 1000 btime 2000 winc 10 binc 20") else { panic!() };
        let mut position: History = History::startpos();
        position.push("e2e4".parse().unwrap());
        let clock = Clock { left_ms: 2000, increment_ms: 20, moves_to_go: None };
        assert_eq!(words.resolve(&position).0.clock, Some(clock));
    }

    #[test]
    fn one_clock_is_better_than_none() {
        let clock = |left_ms, increment_ms| Some(Clock { left_ms, increment_ms, moves_to_go: None });
        assert_eq!(go("go btime 100 binc 7").0.clock, clock(100, 0));
        assert_eq!(go("go wtime 100 winc 7").0.clock, clock(100, 7));
        assert_eq!(go("go winc 7").0.clock, None);
    }

    #[test]
    fn search_moves_end_at_the_next_keyword() {
        let (limits, notes) = go("go searchmoves e2e4 d2d4 e2e4 nodes 5");
        assert_eq!(limits.search_moves.len(), 2);
        assert_eq!((limits.nodes, notes.len()), (Some(5), 0));
        let (limits, notes) = go("go searchmoves e2e5 xyz");
        assert!(limits.search_moves.is_empty());
        assert_eq!(notes.len(), 3, "{notes:?}");
    }

    #[test]
    fn a_missing_number_is_the_least() {
        let (limits, notes) = go("go wtime btime 5");
        assert_eq!(limits.clock.map(|clock| clock.left_ms), Some(0));
        assert_eq!(notes, ["go: wtime: expected a number, got \"btime\"; taken as 0"]);
        let (limits, notes) = go("go nodes");
        assert_eq!(limits.nodes, Some(1));
        assert_eq!(notes, ["go: nodes: expected a number, got the end of the line; taken as 1"]);
        let (limits, notes) = go("go depth abc nodes 5");
        assert_eq!((limits.depth, limits.nodes, notes.len()), (Some(1), Some(5), 1));
    }

    #[test]
    fn unknown_words_are_skipped_and_repeated() {
        let (limits, notes) = go("go node 100 depth 7 movetime1000");
        assert_eq!(limits, Go { depth: Some(7), ..Go::default() });
        assert_eq!(notes, ["go: skipped, not known: \"node 100 movetime1000\""]);
        let (limits, notes) = go("go perft 3");
        assert_eq!(limits, Go { nodes: Some(1), ..Go::default() });
        assert_eq!(notes, ["go: skipped, not known: \"perft 3\"; taken as nodes 1"]);
        assert_eq!(go("go perft 3 infinite").0, Go { infinite: true, ..Go::default() });
        assert_eq!(go("go").0, Go::default());
        let (_, notes) = go(&format!("go {}", "x ".repeat(1 << 20)));
        assert!(notes.len() == 1 && notes[0].len() < 300);
    }

    #[test]
    fn odd_numbers() {
        assert_eq!(go("go nodes 99999999999999999999999").0.nodes, Some(i64::MAX as u64));
        assert_eq!(go("go nodes 5000000000").0.nodes, Some(5_000_000_000));
        assert_eq!(go("go nodes -5").0.nodes, Some(1));
        assert_eq!(go("go depth 99999999999999999999999").0.depth, Some(u32::MAX));
        assert_eq!(go("go wtime -99999999999999999999999").0.clock.unwrap().left_ms, i64::MIN);
        assert_eq!(go("go movetime 12.75").0.move_time_ms, Some(12));
        assert_eq!(go("go movetime 1.2.3").1.len(), 1);
        assert_eq!(go("go wtime 5 movestogo 0").0.clock.unwrap().moves_to_go, None);
        assert_eq!(["go mate 0 nodes 5", "go mate -3"].map(|line| go(line).0.mate), [None; 2]);
        assert_eq!(go("go foo 7 nodes 3 bar").0.nodes, Some(3));
    }
}
