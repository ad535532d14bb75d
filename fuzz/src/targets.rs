//! The targets. `cli/tests/fuzz.rs` includes this file, too.

use oncilla::options::config::Syntax;
use oncilla::options::{Change, Typed, config, suboptions, table, time_manager};
use oncilla::uci::command::{self, Command};
use oncilla_chess::{Castling, History, MoveList, notation};

/// The most bytes that a message may have: of a longer line, only a part is repeated to the user.
const LONGEST_ANSWER: usize = 2000;

/// A line of UCI, parsed, and carried out as far as that needs no engine. Bytes that are no UTF-8 become U+FFFD, as in
/// the program.
pub fn uci_line(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    match command::parse(&line) {
        Err(refusal) => assert_short(&refusal.to_string()),
        Ok(Some(Command::Position(setup))) => match setup.play() {
            Ok(position) => check_position(&position),
            Err(error) => assert_short(&error.to_string()),
        },
        Ok(Some(Command::Go(words))) => {
            let position: History = History::startpos();
            let (go, notes) = words.resolve(&position);
            notes.iter().for_each(|note| assert_short(note));
            let mut legal = MoveList::new();
            position.legal_moves(&mut legal);
            assert!(go.search_moves.iter().all(|mv| legal.contains(mv)), "only legal moves are searched: {line:?}");
            assert!(go.nodes.is_none_or(|nodes| nodes > 0), "a best move needs a node: {line:?}");
        }
        Ok(Some(Command::SetOption { name, value })) => {
            // The name keeps its words, and the value is a part of the line.
            assert!(!name.is_empty() && !name.contains("  "), "{line:?}");
            assert!(value.is_none_or(|value| line.contains(value)), "{line:?}");
        }
        Ok(_) => {}
    }
}

/// A line of `oncilla analysis`, of either game: whatever it is, it is answered in JSON lines, or is a request to
/// evaluate positions.
pub fn analysis_line(data: &[u8]) {
    let is_blank =
        String::from_utf8_lossy(data).lines().next().is_none_or(|line| line.replace('\u{feff}', "").trim().is_empty());
    for (lines, turns) in [oncilla::analysis::understand(data), oncilla::analysis::understand_go(data)] {
        assert!(is_blank || turns > 0 || !lines.is_empty(), "a line that gets no answer");
        for line in lines {
            let answer: serde_json::Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(answer.is_object() && !line.contains('\n'), "{line}");
        }
    }
}

/// A FEN.
pub fn fen(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match <History>::from_fen(&text) {
        Ok(position) => check_position(&position),
        Err(error) => assert_short(&error.to_string()),
    }
}

/// Checks a position that was accepted: it can be written and read again, and every move in it can be played, taken
/// back, and read in the notation in which it is written.
fn check_position(position: &History) {
    for castling in [Castling::Standard, Castling::Chess960] {
        let text = position.to_fen(castling).to_string();
        let again: History = History::from_fen(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(again.to_fen(castling).to_string(), text);
        // The boards themselves need not be the same: the library sets its en-passant file after every double step, a
        // FEN (and this program) only if an enemy pawn stands beside the pawn.
        assert!(again.board().same_position(position.board()), "{text}");
        let beside = |history: &History| (history.last().en_passant(), history.rule50());
        assert_eq!(beside(&again), beside(position), "{text}");
    }
    let mut moves = MoveList::new();
    position.legal_moves(&mut moves);
    let mut played = position.clone();
    for &mv in moves.iter() {
        for castling in [Castling::Standard, Castling::Chess960] {
            let text = notation::format_move(position.board(), mv, castling).to_string();
            assert_eq!(notation::parse_move(position.board(), &text), Ok(mv), "{text}");
        }
        played.push(mv);
        let mut replies = MoveList::new();
        played.legal_moves(&mut replies);
        assert!(played.pop());
        assert_eq!(played.key(), position.key());
    }
}

/// The grammar of options: a list in a value, a time manager, the value of any option (the first byte chooses which),
/// and a configuration file.
pub fn options(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    if let Err(error) = suboptions::parse(&text) {
        assert!(text.is_char_boundary(error.offset), "{error} in {text:?}");
        assert_short(&error.to_string());
    }
    if let Err(error) = time_manager::read(&text) {
        assert_short(&error);
    }
    let all: Vec<_> = table::all().collect();
    let opt = all[usize::from(first) % all.len()];
    let mut typed = Typed::default();
    match typed.set(opt, opt.key(), &text) {
        Ok(Change::Set) => {
            // The accepted text is the value from then on, and the settings can be made.
            assert!(typed.value(opt).is_some());
            assert!(typed.meaning().is_ok(), "{}={text:?}", opt.key());
        }
        Ok(_) => {}
        Err(error) => assert_short(&error.to_string()),
    }
    for syntax in [Syntax::Ours, Syntax::KataGo] {
        if let Err((line, error)) = config::parse(&text, syntax) {
            assert!(line >= 1 && line <= text.lines().count(), "line {line} of {text:?}");
            assert_short(&error);
        }
    }
}

/// Games in PGN: whatever they are, reading ends, and what is wrong is reported in a short line.
pub fn pgn(data: &[u8]) {
    use oncilla::report::pgn::{NextGame, Reader};
    let mut reader = Reader::new(data);
    let mut games = 0;
    while let Some(game) = reader.next_game().expect("memory does not fail to be read") {
        games += 1;
        match game {
            NextGame::Game(game) => assert_eq!(game.number, games),
            NextGame::Skipped(skipped) => assert_short(&skipped.reason),
        }
    }
    assert_eq!(reader.bytes(), data.len() as u64);
}

/// Games in SGF: what is read can be written, and what was written is read as the same game.
pub fn sgf(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match oncilla::gtp::reread_sgf(&text) {
        Ok(written) => assert_eq!(oncilla::gtp::reread_sgf(&written).as_ref(), Ok(&written), "{text:?}"),
        Err(error) => assert_short(&error),
    }
}

/// Checks that a message is short: a megabyte of nonsense must not be sent back.
fn assert_short(message: &str) {
    assert!(message.len() <= LONGEST_ANSWER, "{} bytes of message", message.len());
    assert!(!message.is_empty());
}
