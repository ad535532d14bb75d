//! How far long work has come, in one line that is written over: on a terminal, and nothing anywhere else.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often the line changes at most: nobody reads faster.
const OFTEN: Duration = Duration::from_millis(100);

/// A line on standard error that comes and goes.
pub struct Progress {
    /// When something was shown, and how much of it is still there; `None` where nobody looks on.
    shown: Option<Mutex<Shown>>,
}

#[derive(Default)]
struct Shown {
    last: Option<Instant>,
    /// The length of the text, in characters.
    length: usize,
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
        write(&over(shown.length, text));
        *shown = Shown { last: Some(Instant::now()), length: text.chars().count() };
    }

    /// Takes the line away, so that something else can be written; the next text comes at once.
    pub fn clear(&self) {
        let Some(mut shown) = self.shown() else { return };
        let length = std::mem::take(&mut *shown).length;
        if length > 0 {
            write(&format!("{}\r", over(length, "")));
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

/// The text over one of `length` characters, of which nothing is left: they are replaced by blanks, because a console
/// of Windows shows those as a terminal does.
fn over(length: usize, text: &str) -> String {
    let blanks = length.saturating_sub(text.chars().count());
    format!("\r{text}{:blanks$}", "")
}

/// A terminal that has gone away is no failure of the work.
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
