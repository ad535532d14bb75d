//! Where answers go, until nobody wants them any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use crate::uci::console::{Console, aside};

/// What comes out, where the program itself listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line of an answer.
    Line(String),
    /// Something for a person.
    Note(String),
}

/// Whole lines, from any thread.
pub struct Output {
    to: To,
    closed: AtomicBool,
}

enum To {
    Console(Arc<Console>),
    Channel(Sender<Heard>),
}

impl Output {
    /// Lines go to `console`, and what a person should know to standard error.
    pub fn new(console: Arc<Console>) -> Self {
        Self { to: To::Console(console), closed: AtomicBool::new(false) }
    }

    /// Everything goes to `channel`.
    pub fn to(channel: Sender<Heard>) -> Self {
        Self { to: To::Channel(channel), closed: AtomicBool::new(false) }
    }

    /// Writes a line.
    pub fn say(&self, line: &str) {
        self.say_all(&[line]);
    }

    /// Writes lines that belong together.
    pub fn say_all<L: AsRef<str>>(&self, lines: &[L]) {
        if lines.is_empty() || self.closed.load(Ordering::SeqCst) {
            return;
        }
        match &self.to {
            To::Console(console) => console.say_all(lines),
            // Who does not listen any more wants to hear nothing.
            To::Channel(channel) => lines.iter().for_each(|line| drop(channel.send(Heard::Line(line.as_ref().into())))),
        }
    }

    /// Tells a person something.
    pub fn aside(&self, text: &str) {
        match &self.to {
            To::Console(_) => aside(&format!("oncilla: {text}")),
            To::Channel(channel) => drop(channel.send(Heard::Note(text.to_string()))),
        }
    }

    /// Nothing is written from now on.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}
