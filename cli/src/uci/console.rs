//! The one place that writes to standard output.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::system;

/// Lc0's name for a log that is not a file.
const STDERR: &str = "<stderr>";

/// Writes whole lines, each at once, from any thread.
pub struct Console {
    out: Mutex<Box<dyn Write + Send>>,
    /// With a lock of its own: who has something for the log alone does not wait until somebody reads the output.
    /// Whoever has both took the output first.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    log: Option<Log>,
    /// What became of the last log, until it is told.
    lost: Option<String>,
}

/// A copy of everything, and what messages call it.
struct Log {
    name: String,
    out: Box<dyn Write + Send>,
}

impl Console {
    /// A console on standard output.
    pub fn stdout() -> Self {
        Self::new(Box::new(io::stdout()))
    }

    /// A console on anything.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out: Mutex::new(out), kept: Mutex::default() }
    }

    /// Writes a line.
    pub fn say(&self, line: &str) {
        self.say_all(&[line]);
    }

    /// Writes lines that belong together: nothing comes between them.
    pub fn say_all<L: AsRef<str>>(&self, lines: &[L]) {
        let text: String = lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect();
        // A thread that panicked here has at worst left half a line.
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            leave(&error);
        }
        let mut kept = self.kept();
        for line in lines {
            kept.log('<', line.as_ref());
        }
    }

    /// Writes something that a person should know.
    pub fn note(&self, text: &str) {
        // One line stays one line.
        self.say(&format!("info string {}", text.replace(['\n', '\r'], " ")));
    }

    /// Keeps a copy of everything in a file, or writes it to standard error if it is `<stderr>`, from now on; `None`
    /// ends it.
    ///
    /// # Errors
    /// The file can't be opened. No copy is kept then.
    pub fn log_to(&self, file: Option<&Path>) -> Result<(), String> {
        let opened = file.map(|path| {
            let name = format!("log file {}", path.display());
            if path == Path::new(STDERR) {
                return Ok(Log { name, out: Box::new(io::stderr()) });
            }
            match File::options().append(true).create(true).open(path) {
                Ok(file) => Ok(Log { name, out: Box::new(file) }),
                Err(error) => Err(format!("{name}: {error}")),
            }
        });
        let mut kept = self.kept();
        kept.log = None;
        kept.log = opened.transpose()?;
        Ok(())
    }

    /// Puts a line of input into the log.
    pub fn heard(&self, line: &str) {
        self.kept().log('>', line);
    }

    /// A line for a person, once, if the log could not be written any more.
    pub fn lost_log(&self) -> Option<String> {
        self.kept().lost.take()
    }

    /// Whether somebody keeps what [`Console::log_all`] writes.
    pub fn has_log(&self) -> bool {
        self.kept().log.is_some()
    }

    /// Puts lines into the log that are said to nobody.
    pub fn log_all(&self, lines: &[String]) {
        let mut kept = self.kept();
        lines.iter().for_each(|line| kept.log('#', line));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a line for a person to standard error. `eprintln!` would end the program where nobody reads that any more.
pub fn aside(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

impl Kept {
    fn log(&mut self, direction: char, line: &str) {
        if let Some(log) = &mut self.log
            && let Err(error) = writeln!(log.out, "{direction} {line}")
        {
            // A full disk must not end a game.
            self.lost = Some(format!("{}: {error}; nothing more is logged", log.name));
            self.log = None;
        }
    }
}

/// Nobody can be told anything any more. That the reader went away (`oncilla | head`) is no failure.
fn leave(error: &io::Error) -> ! {
    if system::is_gone(error) {
        std::process::exit(0);
    }
    aside(&format!("oncilla: standard output: {error}"));
    std::process::exit(2)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;

    /// Keeps what was written.
    #[derive(Clone, Default)]
    pub struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        pub fn lines(&self) -> Vec<String> {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(str::to_string).collect()
        }
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn notes_are_one_line() {
        let paper = Paper::default();
        Console::new(Box::new(paper.clone())).note("a\nbestmove e2e4\r\n");
        assert_eq!(paper.lines(), ["info string a bestmove e2e4  "]);
    }

    #[test]
    fn a_log_file_that_cannot_be_opened_is_an_error() {
        let console = Console::new(Box::new(Paper::default()));
        assert!(console.log_to(Some(Path::new("/no such folder/log"))).unwrap_err().starts_with("log file /no such"));
        assert_eq!(console.log_to(None), Ok(()));
    }
}
