//! The main loop: reads lines of input and writes the answers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use super::commands::{self, Handler};
use super::identity::Identity;
use super::line::{CommandLine, answer};
use super::player::Player;
use super::record::Record;
use super::slot::SearchSlot;
use crate::console::{Console, aside};
use crate::fault::guarded;
use crate::input::{Input, TOO_LONG};
use crate::text::quoted;

/// The lines of input, which a thread reads.
pub struct LineQueue {
    receiver: Receiver<Input>,
    /// Lines that were received but not yet handled.
    waiting: VecDeque<Input>,
}

impl LineQueue {
    /// The input from a thread's channel.
    pub fn new(receiver: Receiver<Input>) -> Self {
        Self { receiver, waiting: VecDeque::new() }
    }

    /// The next line; `None` at the end of the input.
    fn next(&mut self) -> Option<Input> {
        self.waiting.pop_front().or_else(|| self.receiver.recv().ok())
    }

    /// Whether a line has come, or the input has ended.
    pub fn is_ready(&mut self) -> bool {
        if !self.waiting.is_empty() {
            return true;
        }
        match self.receiver.try_recv() {
            Ok(line) => self.waiting.push_back(line),
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => {}
        }
        true
    }

    /// Waits until [`LineQueue::is_ready`] is true.
    pub fn wait(&mut self) {
        if self.waiting.is_empty() {
            self.waiting.extend(self.receiver.recv().ok());
        }
    }
}

/// An answer that is written line by line while the command runs.
pub struct Stream {
    console: Arc<Console>,
    id: String,
    begun: bool,
}

impl Stream {
    /// Writes the first line of a successful answer, once.
    pub fn begin(&mut self) {
        if !self.begun {
            self.console.say(&format!("={}", self.id));
        }
        self.begun = true;
    }

    /// Writes a line of the answer.
    pub fn say(&mut self, line: &str) {
        self.begin();
        self.console.say(line);
    }

    /// Ends the answer, with a last line if there is one. Once the answer has begun, an error goes to standard error.
    fn end(mut self, said: Result<String, String>) {
        match said {
            Ok(last) => {
                self.begin();
                let lines = [&last[..], ""];
                self.console.say_all(if last.is_empty() { &lines[1..] } else { &lines });
            }
            Err(error) if self.begun => {
                aside(&error);
                self.console.say("");
            }
            Err(error) => self.console.say_all(&[&answer(&self.id, &Err(error)), ""]),
        }
    }
}

/// The state of the program between two commands.
pub struct Session {
    pub(super) console: Arc<Console>,
    pub(super) lines: LineQueue,
    pub(super) identity: Identity,
    pub(super) player: Player,
    pub(super) record: Record,
    /// Whether a game is being played, so that the player may ponder.
    pub(super) ponders: bool,
    pub(super) quits: bool,
}

impl Session {
    /// Handles lines until `quit` or the end of the input.
    ///
    /// # Errors
    /// If there is no memory for a tree.
    pub fn talk(&mut self) -> Result<(), String> {
        loop {
            let (memory, bytes) = (self.player.memory()?, self.player.memory_bytes());
            let mut slot = SearchSlot::new(&memory);
            // A board of another size needs memory, too, so the tree may then have to be smaller.
            while self.player.memory_bytes() == bytes {
                let Some(input) = self.next(&mut slot) else { return Ok(()) };
                self.handle(&mut slot, input);
                self.console.lost_log().iter().for_each(|lost| aside(lost));
                if self.quits {
                    return Ok(());
                }
            }
        }
    }

    /// Waits for the next line. The player may ponder meanwhile.
    fn next(&mut self, slot: &mut SearchSlot<'_>) -> Option<Input> {
        let (player, record, lines) = (&self.player, &self.record, &mut self.lines);
        if self.ponders && player.settings().pondering_enabled && !lines.is_ready() {
            let pondered = guarded(|| player.ponder(slot, record, || !lines.is_ready())).and_then(|pondered| pondered);
            if let Err(fault) = pondered {
                aside(&format!("while pondering: {fault}"));
            }
        }
        self.lines.next()
    }

    fn handle(&mut self, slot: &mut SearchSlot<'_>, input: Input) {
        let text = match input {
            Input::Line(text) => text,
            Input::TooLong(beginning) => {
                let Some(id) = CommandLine::id_at(&beginning) else { return };
                let error = Err(format!("syntax error: {TOO_LONG}"));
                return self.console.say_all(&[&answer(&id, &error), ""]);
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
            Some(Handler::Answers(execute)) => {
                let said = guarded(|| execute(self, &line.args)).and_then(|said| said);
                self.console.say_all(&[&answer(&line.id, &said), ""]);
            }
            Some(Handler::Searches(execute)) => {
                let said = guarded(|| execute(self, slot, &line.args)).and_then(|said| said);
                self.console.say_all(&[&answer(&line.id, &said), ""]);
            }
            Some(Handler::Streams(execute)) => {
                let mut stream = Stream { console: Arc::clone(&self.console), id: line.id, begun: false };
                let said = guarded(|| execute(self, slot, &mut stream, &line.args)).and_then(|said| said);
                stream.end(said);
            }
        }
    }
}
