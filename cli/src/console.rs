//! Writes to standard output; no other module does.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::system;

/// Lc0's name for standard error as the log file.
const STDERR: &str = "<stderr>";

/// Writes whole lines, without interleaving, from any thread.
pub struct Console {
    out: Mutex<Box<dyn Write + Send>>,
    /// This has a lock of its own, so that a thread which only writes to the log does not wait until the GUI reads the
    /// output. A thread that needs both locks `out` first.
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    log: Option<Log>,
    /// Why the last log ended, until this is reported.
    lost: Option<String>,
}

/// The log, and its name in messages.
struct Log {
    name: String,
    out: Box<dyn Write + Send>,
}

impl Console {
    /// A console that writes to standard output.
    pub fn stdout() -> Self {
        Self::new(Box::new(io::stdout()))
    }

    /// A console that writes to `out`.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out: Mutex::new(out), kept: Mutex::default() }
    }

    /// Writes a line.
    pub fn say(&self, line: &str) {
        self.say_all(&[line]);
    }

    /// Writes lines without lines of other threads between them.
    pub fn say_all<L: AsRef<str>>(&self, lines: &[L]) {
        let text: String = lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect();
        // A thread that panicked with this lock has left at most a partial line.
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            leave(&error);
        }
        let mut kept = self.kept();
        for line in lines {
            kept.log('<', line.as_ref());
        }
    }

    /// Writes an `info string` for the user.
    pub fn note(&self, text: &str) {
        // A text of several lines becomes one.
        self.say(&format!("info string {}", text.replace(['\n', '\r'], " ")));
    }

    /// Logs everything to a file from now on, or to standard error if the file is `<stderr>`; `None` ends the log.
    ///
    /// # Errors
    /// The file can't be opened. Nothing is logged then.
    pub fn log_to(&self, file: Option<&Path>) -> Result<(), String> {
        let opened = file.map(|path| {
            let name = format!("log file {}", path.display());
            if path == Path::new(STDERR) {
                return Ok(Log { name, out: Box::new(io::stderr()) });
            }
            if is_pipe(path) {
                // To open one may take forever.
                return Err(format!("{name}: expected a file, got a pipe"));
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

    /// Writes a line of input to the log.
    pub fn log_input(&self, line: &str) {
        self.kept().log('>', line);
    }

    /// Returns once why the log ended, if it could not be written any more.
    pub fn lost_log(&self) -> Option<String> {
        self.kept().lost.take()
    }

    /// Whether there is a log.
    pub fn has_log(&self) -> bool {
        self.kept().log.is_some()
    }

    /// Writes lines to the log only, not to the output.
    pub fn log_all(&self, lines: &[String]) {
        let mut kept = self.kept();
        lines.iter().for_each(|line| kept.log('#', line));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|facts| facts.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// Writes a line for the user to standard error, with the program's name: a GUI's log may mix it with other programs'
/// lines.
pub fn aside(line: &str) {
    aside_as_is(&format!("oncilla: {line}"));
}

/// Writes a line to standard error that a client may wait for. `eprintln!` would panic if standard error is closed.
pub fn aside_as_is(line: &str) {
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

/// Ends the process because the output can't be written. A reader that closed the pipe (`oncilla | head`) is not a
/// failure.
fn leave(error: &io::Error) -> ! {
    if system::is_gone(error) {
        std::process::exit(0);
    }
    aside(&format!("standard output: {error}"));
    std::process::exit(2)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;

    /// An output that keeps what is written to it.
    #[derive(Clone, Default)]
    pub struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl SharedBuffer {
        pub fn lines(&self) -> Vec<String> {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(str::to_string).collect()
        }
    }

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn notes_are_one_line() {
        let buffer = SharedBuffer::default();
        Console::new(Box::new(buffer.clone())).note("a\nbestmove e2e4\r\n");
        assert_eq!(buffer.lines(), ["info string a bestmove e2e4  "]);
    }

    #[test]
    fn a_log_file_that_cannot_be_opened_is_an_error() {
        let console = Console::new(Box::new(SharedBuffer::default()));
        assert!(console.log_to(Some(Path::new("/no such folder/log"))).unwrap_err().starts_with("log file /no such"));
        assert_eq!(console.log_to(None), Ok(()));
    }
}
