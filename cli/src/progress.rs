//! How far long work has come, in one line that is written over: on a terminal, and nothing anywhere else.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often the line changes at most: nobody reads faster.
const OFTEN: Duration = Duration::from_millis(100);

/// A line on standard error that comes and goes.
pub struct Progress {
    /// When something was shown, and whether it is still there; `None` where nobody looks on.
    shown: Option<Mutex<Shown>>,
}

#[derive(Default)]
struct Shown {
    last: Option<Instant>,
    is_there: bool,
}

impl Progress {
    /// On standard error, if that is a terminal.
    pub fn on_stderr() -> Self {
        Self { shown: io::stderr().is_terminal().then(Mutex::default) }
    }

    /// Writes the text over the one before. Texts that come too fast are left out.
    pub fn show(&self, text: &str) {
        let Some(mut shown) = self.shown() else { return };
        if shown.last.is_some_and(|last| last.elapsed() < OFTEN) {
            return;
        }
        *shown = Shown { last: Some(Instant::now()), is_there: true };
        write(&format!("\r\x1b[K{text}"));
    }

    /// Takes the line away, so that something else can be written; the next text comes at once.
    pub fn clear(&self) {
        let Some(mut shown) = self.shown() else { return };
        if std::mem::take(&mut *shown).is_there {
            write("\r\x1b[K");
        }
    }

    fn shown(&self) -> Option<std::sync::MutexGuard<'_, Shown>> {
        // A thread that panicked here has at worst left half a line.
        Some(self.shown.as_ref()?.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A terminal that has gone away is no failure of the work.
fn write(text: &str) {
    let mut stderr = io::stderr();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
