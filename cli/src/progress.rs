//! Shows the progress of long work, in one line of a terminal that is overwritten. Without a terminal nothing is
//! written.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A longer text would take a second line of most terminals, which is not overwritten.
const MOST_CHARACTERS: usize = 79;

/// The shortest time between two changes of the line: more frequent ones can't be read.
const OFTEN: Duration = Duration::from_millis(100);

/// A temporary line on standard error.
pub struct Progress {
    /// The state of the line; `None` if standard error is not a terminal.
    shown: Option<Mutex<Shown>>,
}

#[derive(Default)]
struct Shown {
    last: Option<Instant>,
    /// The length of the text, in characters.
    length: usize,
}

impl Progress {
    /// Shows progress on standard error if that is a terminal.
    pub fn on_stderr() -> Self {
        Self { shown: io::stderr().is_terminal().then(Mutex::default) }
    }

    /// Overwrites the line with `text`, unless the last change was too short a time ago.
    pub fn show(&self, text: &str) {
        let Some(mut shown) = self.shown() else { return };
        if shown.last.is_some_and(|last| last.elapsed() < OFTEN) {
            return;
        }
        let text: String = text.chars().take(MOST_CHARACTERS).collect();
        write(&over(shown.length, &text));
        *shown = Shown { last: Some(Instant::now()), length: text.chars().count() };
    }

    /// Removes the line, so that something else can be written. The next text is shown at once.
    pub fn clear(&self) {
        let Some(mut shown) = self.shown() else { return };
        let length = std::mem::take(&mut *shown).length;
        if length > 0 {
            write(&format!("{}\r", over(length, "")));
        }
    }

    fn shown(&self) -> Option<std::sync::MutexGuard<'_, Shown>> {
        // A thread that panicked here has at worst left an incomplete line.
        Some(self.shown.as_ref()?.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// `text` over a line of `length` characters. The rest of that line is overwritten with blanks, which a Windows console
/// handles like any terminal.
fn over(length: usize, text: &str) -> String {
    let blanks = length.saturating_sub(text.chars().count());
    format!("\r{text}{:blanks$}", "")
}

/// Errors are ignored: a closed terminal must not end the work.
fn write(text: &str) {
    let mut stderr = io::stderr();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_longer_text() {
        assert_eq!(over(0, "1/2"), "\r1/2");
        assert_eq!(over(5, "½"), "\r½    ");
        assert_eq!(over(2, ""), "\r  ");
    }
}
