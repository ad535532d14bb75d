//! The UCI loop: reads commands, runs them with the engine.

use std::io::BufRead;
use std::ops::ControlFlow::{self, Break, Continue};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use oncilla_chess::{Castling, History};

use crate::engine::{Done, Engine, Go, Observer};
use crate::options::{Change, Meaning, OptionError, Typed, UnknownOption, print, table};
use crate::position::PositionText;

use super::command::{self, Command, GoWords};
use super::report::Report;
use crate::console::Console;
use crate::input::{Input, Kept, TOO_LONG, listen};

/// How long `quit` waits for a search to end or a network to load. Whatever takes longer may depend on a device or a
/// file that never becomes ready.
const QUIT_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the input is checked for `quit` while the network is loaded or a search is stopped.
const QUIT_POLL: Duration = Duration::from_millis(50);

/// How long `wait` sleeps between two checks of the search.
const SEARCH_POLL: Duration = Duration::from_millis(2);
/// How long `wait` lets a search for a mate go on after the end of the input, when nothing can stop it any more.
const MATE_TIMEOUT: Duration = Duration::from_secs(60);

/// Speaks UCI until `quit` or the end of the input.
///
/// At the end of the input, a search with a limit of its own runs to that limit, so that
/// `printf 'go nodes 100\n' | oncilla` prints a best move. Any other search is stopped, and prints its best move if it
/// ends within five seconds.
pub fn run(input: impl BufRead + Send + 'static, console: Arc<Console>, typed: Typed) -> ExitCode {
    let meaning = match typed.meaning() {
        Ok(meaning) => meaning,
        Err(error) => {
            console.note(&error);
            return ExitCode::from(2);
        }
    };
    let lines = match listen(input) {
        Ok(lines) => lines,
        Err(error) => {
            console.note(&error);
            return ExitCode::from(2);
        }
    };
    let engine = Engine::that_plays_on(meaning.settings.clone());
    let mut session = Session::new(engine, console, typed, meaning, lines);
    session.log();
    let prepared = if session.meaning.preload { session.prepare() } else { Continue(()) };
    if prepared.break_value().unwrap_or_else(|| session.talk()) == Exit::Leave {
        // Dropping the session would wait for its threads; they end with the process instead.
        std::mem::forget(session);
    }
    ExitCode::SUCCESS
}

/// Whether a session goes on after a command.
type Flow = ControlFlow<Exit>;

struct Session {
    engine: Engine,
    console: Arc<Console>,
    typed: Typed,
    meaning: Meaning,
    /// The last valid position.
    position: Box<History>,
    /// What ends the last search.
    end: End,
    lines: Receiver<Input>,
    /// Input that arrived during a `wait`.
    deferred: Kept,
}

/// What ends a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A limit that is in force, or `stop`.
    Limit,
    /// A limit that is in force after `ponderhit`.
    PonderHit,
    /// A mate, which may never be found.
    Mate,
    /// Only `stop`.
    Nothing,
}

impl End {
    fn of(go: &Go) -> Self {
        let limited = go.clock.is_some() || go.move_time_ms.is_some() || go.nodes.is_some() || go.depth.is_some();
        match (limited && !go.infinite, go.ponder) {
            (false, false) if go.mate.is_some() && !go.infinite => Self::Mate,
            (false, _) => Self::Nothing,
            (true, false) => Self::Limit,
            (true, true) => Self::PonderHit,
        }
    }
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Quit,
    /// Like `Quit`, but without waiting for the engine.
    Leave,
}

impl Session {
    fn new(engine: Engine, console: Arc<Console>, typed: Typed, meaning: Meaning, lines: Receiver<Input>) -> Self {
        let position = Box::new(History::startpos());
        Self { engine, console, typed, meaning, position, end: End::Limit, lines, deferred: Kept::default() }
    }

    /// Runs commands until `quit` or the end of the input.
    fn talk(&mut self) -> Exit {
        while let Some(input) = self.deferred.pop().or_else(|| self.lines.recv().ok()) {
            match self.handle(input) {
                Continue(()) => {}
                Break(Exit::Quit) => return self.quit(),
                Break(Exit::Leave) => return Exit::Leave,
            }
        }
        self.end_of_input()
    }

    /// Stops a running search, which may print its best move within [`QUIT_TIMEOUT`].
    fn quit(&mut self) -> Exit {
        self.engine.stop();
        let exit = if self.engine.wait_for(QUIT_TIMEOUT) { Exit::Quit } else { Exit::Leave };
        self.say_of_log();
        exit
    }

    /// Reports once that the log can't be written any more.
    fn say_of_log(&self) {
        self.console.lost_log().iter().for_each(|lost| self.console.note(lost));
    }

    /// Lets a search with a limit of its own run to it, and stops any other.
    fn end_of_input(&mut self) -> Exit {
        if self.end != End::Limit {
            return self.quit();
        }
        self.engine.wait();
        self.say_of_log();
        Exit::Quit
    }

    fn handle(&mut self, input: Input) -> Flow {
        let line = match input {
            Input::Line(line) => line,
            Input::TooLong(_) => {
                self.console.note(&format!("refused: {TOO_LONG}"));
                return Continue(());
            }
        };
        self.console.log_input(&line);
        self.say_of_log();
        match command::parse(&line) {
            Ok(None) => Continue(()),
            Ok(Some(command)) => self.obey(command),
            Err(refusal) => {
                self.console.note(&refusal.to_string());
                Continue(())
            }
        }
    }

    fn obey(&mut self, command: Command<'_>) -> Flow {
        match command {
            Command::Uci => self.introduce(),
            Command::IsReady => {
                self.prepare()?;
                self.console.say("readyok");
            }
            Command::NewGame => {
                self.finish_search()?;
                self.engine.new_game();
            }
            Command::Position(setup) => return self.set_up(&setup),
            Command::Go(words) => return self.go(&words),
            Command::Stop => {
                self.end = End::Limit;
                self.engine.stop();
            }
            Command::PonderHit => self.ponder_hit(),
            Command::SetOption { name, value } => {
                self.set_option(&name, value).unwrap_or_else(|error| self.console.note(&error));
            }
            Command::Wait => return self.wait(),
            Command::Show => {
                self.console.note(&format!("fen {}", self.position.to_fen(Castling::of(self.meaning.output.chess960))))
            }
            Command::Quit => return Break(Exit::Quit),
            Command::Ignored => {}
        }
        Continue(())
    }

    fn introduce(&self) {
        let mut lines = vec![
            concat!("id name Oncilla ", env!("CARGO_PKG_VERSION")).to_string(),
            "id author the Oncilla developers".to_string(),
        ];
        lines.extend(print::uci_lines(&self.typed, self.meaning.show_hidden));
        lines.push("uciok".to_string());
        self.console.say_all(&lines);
    }

    /// Loads the network if necessary. Commands that arrive meanwhile are run afterwards, unless it is [time to
    /// leave](Self::is_time_to_leave).
    fn prepare(&mut self) -> Flow {
        let answer = self.engine.begin_to_prepare();
        let mut leaving = None;
        loop {
            match answer.recv_timeout(QUIT_POLL) {
                Err(RecvTimeoutError::Timeout) if self.is_time_to_leave(&mut leaving) => return Break(Exit::Leave),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => self.console.note(&self.engine.why_no_thread()),
                Ok(Err(error)) => self.console.note(&error),
                Ok(Ok(())) => {}
            }
            return Continue(());
        }
    }

    /// Stops a running search and waits for its best move, because every `go` gets one, unless it is [time to
    /// leave](Self::is_time_to_leave).
    fn finish_search(&mut self) -> Flow {
        if !self.engine.is_searching() {
            return Continue(());
        }
        self.engine.stop();
        let mut leaving = None;
        while !self.engine.wait_for(QUIT_POLL) {
            if self.is_time_to_leave(&mut leaving) {
                return Break(Exit::Leave);
            }
        }
        Continue(())
    }

    /// Whether the session may be left for longer than [`QUIT_TIMEOUT`]; `since` is set when it first may.
    fn is_time_to_leave(&mut self, since: &mut Option<Instant>) -> bool {
        self.may_leave() && since.get_or_insert_with(Instant::now).elapsed() > QUIT_TIMEOUT
    }

    /// Whether `quit` has arrived, or the input has ended and the last `go` in it has no limit of its own. Earlier
    /// searches do not count, because `quit` would stop them. After a `wait` the result is false, because its sender
    /// expects the search to finish.
    fn may_leave(&mut self) -> bool {
        let has_ended = self.look_ahead();
        let mut last_search = End::Limit;
        for input in self.deferred.iter() {
            let Input::Line(line) = input else { continue };
            match command::parse(line) {
                Ok(Some(Command::Wait)) => return false,
                Ok(Some(Command::Quit)) => return true,
                Ok(Some(Command::Go(words))) => last_search = End::of(&words.resolve(&self.position).0),
                _ => {}
            }
        }
        has_ended && last_search != End::Limit
    }

    /// Reads the input that has arrived into `deferred`. Returns whether the input has ended.
    fn look_ahead(&mut self) -> bool {
        while self.deferred.has_room() {
            match self.lines.try_recv() {
                Ok(input) => self.deferred.push(input),
                Err(error) => return error == TryRecvError::Disconnected,
            }
        }
        false
    }

    fn set_up(&mut self, text: &PositionText<'_>) -> Flow {
        match text.play() {
            Ok(position) => {
                self.finish_search()?;
                self.engine.position((*position).clone());
                self.position = position;
            }
            Err(error) => self.console.note(&format!("position refused, the last one is kept: {error}")),
        }
        Continue(())
    }

    fn go(&mut self, words: &GoWords<'_>) -> Flow {
        self.finish_search()?;
        let (go, notes) = words.resolve(&self.position);
        notes.iter().for_each(|note| self.console.note(note));
        self.end = End::of(&go);
        let unsearched = Done { best: go.first_legal_move(&self.position), ..Done::default() };
        if let Err(error) = self.engine.go(go, Box::new(self.report())) {
            self.console.note(&format!("{error}; the first legal move is played"));
            // The sender of `go` waits for a `bestmove`.
            self.report().done(&unsearched);
        }
        Continue(())
    }

    /// What writes the lines of a search of the position.
    fn report(&self) -> Report {
        let Meaning { settings, output, .. } = &self.meaning;
        Report::new(Arc::clone(&self.console), self.position.board().clone(), *output, settings)
    }

    fn ponder_hit(&mut self) {
        if self.engine.is_searching() {
            if self.end == End::PonderHit {
                self.end = End::Limit;
            }
            self.engine.ponder_hit();
        }
    }

    fn set_option(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let opt = table::by_name(name).ok_or_else(|| UnknownOption(name.to_string()).to_string())?;
        let is_button = opt.kind.default().is_none();
        let value = match value {
            // UCI's notation for an empty text.
            Some("<empty>") => "",
            Some(value) => value,
            None if is_button => "",
            None => {
                let expected = opt.kind.expected();
                return Err(OptionError::Unfit { option: opt.name.to_string(), expected, got: None }.to_string());
            }
        };
        let change = self.typed.set_by_name(opt, name, value).map_err(|error| error.to_string())?;
        match change {
            Change::Pressed => {
                // There is only one button. As in Lc0 it counts from the next search on.
                self.engine.forget();
                return Ok(());
            }
            Change::WithoutEffect(reason) => {
                self.console.note(&format!("{}: accepted, without effect: {reason}", opt.name));
            }
            Change::Kept => self.console.note(&format!("{name}: the default leaves what was set by the other name")),
            Change::Set => {}
        }
        let meaning = self.typed.meaning()?;
        let before = std::mem::replace(&mut self.meaning, meaning);
        if before.settings != self.meaning.settings {
            self.engine.configure(self.meaning.settings.clone());
        }
        if before.log_file != self.meaning.log_file {
            self.log();
        }
        Ok(())
    }

    fn log(&self) {
        if let Err(error) = self.console.log_to(self.meaning.log_file.as_deref()) {
            self.console.note(&error);
        }
    }

    /// Waits for the search to end. Commands that arrive meanwhile are run afterwards in their order, except those that
    /// [may overtake](Self::may_overtake).
    fn wait(&mut self) -> Flow {
        // An earlier `wait` may have deferred the command that ends this search.
        let mut kept = std::mem::take(&mut self.deferred);
        let (mut alone, mut is_told) = (None, false);
        while self.engine.is_searching() {
            let next = match kept.pop() {
                Some(input) => Ok(input),
                None if self.deferred.has_room() => self.lines.recv_timeout(SEARCH_POLL),
                None => {
                    self.hold_back(&mut is_told);
                    continue;
                }
            };
            let input = match next {
                Ok(input) => input,
                Err(RecvTimeoutError::Timeout) => continue,
                // A script may end with `wait`, but if the GUI is gone, the search must not run for ever.
                Err(RecvTimeoutError::Disconnected)
                    if self.end == End::Mate && alone.get_or_insert_with(Instant::now).elapsed() < MATE_TIMEOUT =>
                {
                    std::thread::sleep(SEARCH_POLL);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => match self.end_of_input() {
                    Exit::Leave => return Break(Exit::Leave),
                    Exit::Quit => break,
                },
            };
            if !self.may_overtake(&input) {
                self.deferred.push(input);
            } else {
                // Lines that arrive while this one is run come after those that were kept.
                self.deferred.append(&mut kept);
                self.handle(input)?;
                kept = std::mem::take(&mut self.deferred);
            }
        }
        self.deferred.append(&mut kept);
        Continue(())
    }

    /// The limit of deferred lines is reached during a `wait`, so no more are read and the sender has to wait. A search
    /// without a limit of its own is stopped, because its `stop` would not be read any more.
    fn hold_back(&mut self, is_told: &mut bool) {
        if self.end != End::Limit && !std::mem::replace(is_told, true) {
            self.console.note("more has come in behind wait than is kept: the search is stopped");
            self.engine.stop();
        }
        self.engine.wait_for(SEARCH_POLL);
    }

    /// Whether a line that arrived during a `wait` is run at once: a command that ends a search without a limit of its
    /// own, or an `isready` with no deferred line before it.
    fn may_overtake(&self, input: &Input) -> bool {
        let Input::Line(line) = input else { return false };
        match command::parse(line) {
            Ok(Some(Command::Stop | Command::PonderHit)) => self.end != End::Limit,
            // A script that searches for a mate may end with `quit`.
            Ok(Some(Command::Quit)) => !matches!(self.end, End::Limit | End::Mate),
            Ok(Some(Command::IsReady)) => self.deferred.is_empty(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::tests::SharedBuffer;

    /// The lines that the session prints. No search is started here; the integration tests do that.
    fn answers(input: &str) -> Vec<String> {
        let buffer = SharedBuffer::default();
        let console = Arc::new(Console::new(Box::new(buffer.clone())));
        let input = std::io::Cursor::new(input.to_string().into_bytes());
        assert_eq!(run(input, console, Typed::default()), ExitCode::SUCCESS);
        buffer.lines()
    }

    /// The system may have no thread left.
    #[test]
    fn without_a_search_the_first_legal_move_is_played() {
        let buffer = SharedBuffer::default();
        let console = Arc::new(Console::new(Box::new(buffer.clone())));
        let input = "isready\nposition startpos moves f2f3 e7e5 g2g4\ngo nodes 1\ngo searchmoves d8h4\n\
                     position startpos moves f2f3 e7e5 g2g4 d8h4\ngo nodes 1\n";
        let lines = listen(std::io::Cursor::new(input.as_bytes())).unwrap();
        let typed = Typed::default();
        let meaning = typed.meaning().unwrap();
        let mut session = Session::new(Engine::without_a_thread("no thread is left"), console, typed, meaning, lines);
        assert_eq!(session.talk(), Exit::Quit);
        let why = "the system gave the search no thread: no thread is left";
        let played =
            |mv: &str| [format!("info string {why}; the first legal move is played"), format!("bestmove {mv}")];
        let said = [vec![format!("info string {why}"), "readyok".to_string()]];
        let moves = ["e5e4", "d8h4", "(none)"].map(|mv| played(mv).to_vec());
        assert_eq!(buffer.lines(), [said.concat(), moves.concat()].concat());
    }

    #[test]
    fn an_introduction() {
        let lines = answers("uci\n");
        assert!(lines[0].starts_with("id name Oncilla "));
        assert!(lines[1].starts_with("id author "));
        assert!(lines[2..lines.len() - 1].iter().all(|line| line.starts_with("option name ")));
        assert_eq!(lines.last().unwrap(), "uciok");
        for name in ["Hash", "Threads", "Move Overhead", "MultiPV", "Ponder", "UCI_Chess960", "UCI_ShowWDL"] {
            assert!(lines.iter().any(|line| line.starts_with(&format!("option name {name} type"))), "{name}");
        }
    }

    #[test]
    fn options_are_set_or_refused() {
        let lines = answers(
            "setoption name hash value 16\nsetoption name Hash value 0\nsetoption name Nonsense value 1\n\
             setoption name Hash\nsetoption name TaskWorkers value 4\nsetoption name TaskWorkers value -1\n\
             setoption name SyzygyPath value <empty>\nsetoption name cleartree\nsetoption\n\
             setoption name TimeManager value smooth(init-nps=)\nsetoption name Threads value 1e3\n",
        );
        assert_eq!(
            lines,
            [
                "info string Hash: expected a whole number from 1 to 1048576, got \"0\"",
                "info string unknown option: \"Nonsense\"",
                "info string Hash: expected a whole number from 1 to 1048576, got nothing",
                "info string TaskWorkers: accepted, without effect: gathering is not split into tasks",
                "info string setoption: expected name, got the end of the line",
                "info string TimeManager: at offset 16: expected a value, got ')'",
                "info string Threads: expected a whole number from 0 to 128, got \"1e3\"",
            ]
        );
    }

    #[test]
    fn a_gui_may_send_every_option_that_is_listed() {
        let set_all = print::uci_lines(&Typed::default(), true).into_iter().filter_map(|line| {
            let (name, kind) = line.strip_prefix("option name ")?.split_once(" type ")?;
            let default = kind.split_once(" default ")?.1;
            let default = default.split(' ').next().unwrap_or_default();
            let value = if name == "MoveOverheadMs" { "1000" } else { default };
            Some(format!("setoption name {name} value {value}\n"))
        });
        let lines = answers(&set_all.collect::<String>());
        assert_eq!(lines, ["info string Move Overhead: the default leaves what was set by the other name"]);
    }

    #[test]
    fn a_refused_position_leaves_the_last_good_one() {
        let lines = answers(
            "position startpos moves e2e4\nposition startpos moves e2e4 e7e5 e4e5\nd\nposition fen 8/8 w\nd\nxyzzy\n\
             stop\nponderhit\n\n",
        );
        let fen = "info string fen rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert!(lines[0].starts_with("info string position refused, the last one is kept: move 3 of 3: "));
        assert_eq!(lines[1], fen);
        assert!(lines[2].starts_with("info string position refused, the last one is kept: bad FEN: board"));
        assert_eq!(lines[3], fen);
        assert_eq!(lines[4], "info string unknown command: \"xyzzy\"");
    }

    #[test]
    fn nothing_is_heard_after_quit() {
        assert_eq!(answers("d\nquit\nd\n").len(), 1);
    }
}
