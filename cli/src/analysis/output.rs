//! Where answers go, until nobody wants them any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::uci::console::{Console, aside};

/// Whole lines to standard output, from any thread.
pub struct Output {
    console: Arc<Console>,
    closed: AtomicBool,
}

impl Output {
    /// Lines go to `console`.
    pub fn new(console: Arc<Console>) -> Self {
        Self { console, closed: AtomicBool::new(false) }
    }

    /// Writes a line.
    pub fn say(&self, line: &str) {
        if !self.closed.load(Ordering::SeqCst) {
            self.console.say(line);
        }
    }

    /// Writes lines that belong together.
    pub fn say_all(&self, lines: &[String]) {
        if !lines.is_empty() && !self.closed.load(Ordering::SeqCst) {
            self.console.say_all(lines);
        }
    }

    /// Tells a person something.
    pub fn aside(&self, text: &str) {
        aside(&format!("oncilla: {text}"));
    }

    /// Nothing is written from now on.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}
