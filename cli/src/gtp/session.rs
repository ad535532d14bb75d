//! The loop: lines in, answers out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use super::commands::{self, Handler};
use super::line::{CommandLine, answer};
use super::player::Player;
use super::record::Record;
use super::seat::Seat;
use crate::engine::guarded;
use crate::text::quoted;
use crate::uci::console::{Console, aside};
use crate::uci::input::Input;

/// What comes in.
pub struct Ear {
    lines: Receiver<Input>,
    /// Heard, and not yet looked at.
    waiting: VecDeque<Input>,
}

impl Ear {
    /// Of lines that a thread reads.
    pub fn new(lines: Receiver<Input>) -> Self {
        Self { lines, waiting: VecDeque::new() }
    }

    /// The next line; `None` at the end of the input.
    fn next(&mut self) -> Option<Input> {
        self.waiting.pop_front().or_else(|| self.lines.recv().ok())
    }

    /// Whether there is a line, or none will come.
    pub fn hears(&mut self) -> bool {
        if !self.waiting.is_empty() {
            return true;
        }
        match self.lines.try_recv() {
            Ok(line) => self.waiting.push_back(line),
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => {}
        }
        true
    }

    /// Waits until [`Ear::hears`].
    pub fn wait(&mut self) {
        if self.waiting.is_empty() {
            self.waiting.extend(self.lines.recv().ok());
        }
    }
}

/// An answer that is said bit by bit.
pub struct Stream {
    console: Arc<Console>,
    id: String,
    begun: bool,
}

impl Stream {
    /// Says that the command was understood. What follows are its lines.
    pub fn begin(&mut self) {
        if !self.begun {
            self.console.say(&format!("={}", self.id));
        }
        self.begun = true;
    }

    /// Says a line.
    pub fn say(&mut self, line: &str) {
        self.begin();
        self.console.say(line);
    }

    /// Ends the answer, with a last line if there is one.
    fn end(mut self, said: Result<String, String>) {
        match said {
            Ok(last) => {
                self.begin();
                let lines = [&last[..], ""];
                self.console.say_all(if last.is_empty() { &lines[1..] } else { &lines });
            }
            Err(error) if self.begun => {
                aside(&format!("oncilla: {error}"));
                self.console.say("");
            }
            Err(error) => self.console.say_all(&[&answer(&self.id, &Err(error)), ""]),
        }
    }
}

/// A conversation.
pub struct Session {
    pub(super) console: Arc<Console>,
    pub(super) ear: Ear,
    pub(super) player: Player,
    pub(super) record: Record,
    /// Whether a game is being played, so that it may think in the opponent's time.
    pub(super) ponders: bool,
    pub(super) quits: bool,
}

impl Session {
    /// Until `quit` or the end of the input.
    ///
    /// # Errors
    /// There is no memory for a tree.
    pub fn talk(&mut self) -> Result<(), String> {
        loop {
            let (memory, bytes) = (self.player.memory()?, self.player.memory_bytes());
            let mut seat = Seat::new(&memory);
            // What runs another size of board takes some of what the tree has.
            while self.player.memory_bytes() == bytes {
                let Some(input) = self.next(&mut seat) else { return Ok(()) };
                self.hear(&mut seat, input);
                self.console.lost_log().iter().for_each(|lost| aside(lost));
                if self.quits {
                    return Ok(());
                }
            }
        }
    }

    /// The next line. It may think while it waits.
    fn next(&mut self, seat: &mut Seat<'_>) -> Option<Input> {
        let (player, record, ear) = (&self.player, &self.record, &mut self.ear);
        if self.ponders && player.settings.pondering_enabled && !ear.hears() {
            let thought = guarded(|| player.ponder(seat, record, || !ear.hears())).and_then(|thought| thought);
            if let Err(fault) = thought {
                aside(&format!("oncilla: while pondering: {fault}"));
            }
        }
        self.ear.next()
    }

    fn hear(&mut self, seat: &mut Seat<'_>, input: Input) {
        let text = match input {
            Input::Line(text) => text,
            Input::TooLong => {
                let error = Err("syntax error: a line of more than 16 MiB".to_string());
                return self.console.say_all(&[&answer("", &error), ""]);
            }
        };
        self.console.log_input(&text);
        let Some(line) = CommandLine::read(&text) else { return };
        match commands::find(&line.name) {
            None => {
                let error = if line.name.is_empty() {
                    "syntax error: expected a command behind its number, got nothing".to_string()
                } else {
                    format!("unknown command: {}", quoted(&line.name))
                };
                self.console.say_all(&[&answer(&line.id, &Err(error)), ""]);
            }
            Some(Handler::Answers(obey)) => {
                let said = guarded(|| obey(self, &line.args)).and_then(|said| said);
                self.console.say_all(&[&answer(&line.id, &said), ""]);
            }
            Some(Handler::Searches(obey)) => {
                let said = guarded(|| obey(self, seat, &line.args)).and_then(|said| said);
                self.console.say_all(&[&answer(&line.id, &said), ""]);
            }
            Some(Handler::Streams(obey)) => {
                let mut stream = Stream { console: Arc::clone(&self.console), id: line.id, begun: false };
                let said = guarded(|| obey(self, seat, &mut stream, &line.args)).and_then(|said| said);
                stream.end(said);
            }
        }
    }
}
