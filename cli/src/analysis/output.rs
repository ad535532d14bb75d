//! The output for answers, until nobody wants them any more.
//!
//! A thread of its own writes them, so that a client may write all of its queries before it reads: neither the thread
//! that reads nor those that search wait for it, until [`Output`] holds as many bytes as it may.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::single::Single;
use crate::engine::guarded;
use crate::uci::console::{Console, aside};

/// What comes out, where the program itself listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line of an answer.
    Line(String),
    /// Something for a person.
    Note(String),
}

/// A reader who has not read [`AT_ONCE`] lines in this time is taken not to read any more.
const UNREAD: Duration = Duration::from_secs(1);

/// Lines that are written together.
const AT_ONCE: usize = 8;

/// Whole lines, from any thread.
pub struct Output {
    to: To,
    /// Held by whoever makes a line that may be long, until the line is written: so there are fewer of these lines than
    /// searches.
    pub long_line: Arc<Single>,
}

enum To {
    Console(Arc<Unread>),
    Channel(Sender<Heard>),
}

/// Lines that nobody has read yet.
struct Unread {
    state: Mutex<State>,
    changed: Condvar,
    most_bytes: usize,
}

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    bytes: usize,
    /// True if nothing is written any more.
    is_closed: bool,
    /// Nothing more will come.
    is_ended: bool,
    /// There is nobody who would write.
    is_done: bool,
}

/// Bytes that a line takes while it waits.
#[allow(clippy::ptr_arg, reason = "the text itself is counted, too")]
fn held(line: &String) -> usize {
    line.len() + size_of_val(line)
}

impl Unread {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two steps that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while there is no room; one answer has room whatever its length.
    fn push(&self, lines: impl Iterator<Item = String>) {
        let mut state = self.lock();
        while state.bytes >= self.most_bytes && !state.is_closed {
            state = self.wait(state);
        }
        if state.is_closed {
            return;
        }
        for line in lines {
            state.bytes += held(&line);
            state.lines.push_back(line);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// What to write next; `None` at the end.
    fn take(&self) -> Option<Vec<String>> {
        let mut state = self.lock();
        while state.lines.is_empty() && !state.is_ended {
            state = self.wait(state);
        }
        let count = state.lines.len().min(AT_ONCE);
        (count > 0).then(|| state.lines.drain(..count).collect())
    }

    /// Lines that were taken are written: only now there is room for others.
    fn written(&self, lines: &[String]) {
        self.lock().bytes -= lines.iter().map(held).sum::<usize>();
        self.changed.notify_all();
    }

    fn write_to(&self, console: &Console) {
        let written = guarded(|| {
            while let Some(lines) = self.take() {
                console.say_all(&lines);
                self.written(&lines);
            }
        });
        if let Err(fault) = written {
            aside(&format!("oncilla: {fault}"));
        }
        let mut state = self.lock();
        (state.is_done, state.is_closed) = (true, true);
        drop(state);
        self.changed.notify_all();
    }
}

impl Output {
    /// Lines go to `console`, and what a person should know to standard error. Of lines that nobody reads about
    /// `most_bytes` wait here; whoever says more than that has to wait.
    ///
    /// # Errors
    /// No thread.
    pub fn new(console: Arc<Console>, most_bytes: usize) -> io::Result<Self> {
        let waiting = Arc::new(Unread { state: Mutex::default(), changed: Condvar::new(), most_bytes });
        let ours = Arc::clone(&waiting);
        let thread = std::thread::Builder::new().name("answers".to_string());
        thread.spawn(move || ours.write_to(&console))?;
        Ok(Self { to: To::Console(waiting), long_line: Arc::default() })
    }

    /// Everything goes to `channel`.
    pub fn to(channel: Sender<Heard>) -> Self {
        Self { to: To::Channel(channel), long_line: Arc::default() }
    }

    /// Writes a line. One that is handed over is not copied: it may be long.
    pub fn say(&self, line: impl Into<String>) {
        self.push(std::iter::once(line.into()));
    }

    /// Writes lines that belong together.
    pub fn say_all<L: AsRef<str>>(&self, lines: &[L]) {
        self.push(lines.iter().map(|line| line.as_ref().to_string()));
    }

    fn push(&self, mut lines: impl Iterator<Item = String>) {
        match &self.to {
            To::Console(waiting) => waiting.push(lines),
            // A receiver that no longer listens needs no answer.
            To::Channel(channel) => lines.try_for_each(|line| channel.send(Heard::Line(line))).unwrap_or(()),
        }
    }

    /// Whether somebody reads: what is worth something only now need not be said otherwise.
    pub fn has_room(&self) -> bool {
        match &self.to {
            To::Console(waiting) => waiting.lock().bytes < waiting.most_bytes,
            To::Channel(_) => true,
        }
    }

    /// Writes a text for a person.
    pub fn aside(&self, text: &str) {
        match &self.to {
            To::Console(_) => aside(&format!("oncilla: {text}")),
            To::Channel(channel) => drop(channel.send(Heard::Note(text.to_string()))),
        }
    }

    /// Closes the output: nothing is written from now on.
    pub fn close(&self) {
        if let To::Console(waiting) = &self.to {
            waiting.lock().is_closed = true;
            waiting.changed.notify_all();
        }
    }

    /// Waits until everything is written; where [`Output::close`] was called, only while somebody reads. Nothing may be
    /// said any more.
    pub fn finish(&self) {
        let To::Console(waiting) = &self.to else { return };
        let mut state = waiting.lock();
        state.is_ended = true;
        waiting.changed.notify_all();
        while !state.is_done {
            if !state.is_closed {
                state = waiting.wait(state);
                continue;
            }
            let bytes = state.bytes;
            let is_unread = |state: &mut State| state.bytes == bytes && !state.is_done;
            let waited = waiting.changed.wait_timeout_while(state, UNREAD, is_unread);
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                return;
            }
            state = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::mpsc::{Receiver, channel, sync_channel};

    /// Takes what is written only when somebody else takes it from there.
    struct Pipe(std::sync::mpsc::SyncSender<Vec<u8>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn nobody_reads(most_bytes: usize) -> (Output, Receiver<Vec<u8>>) {
        let (pipe, reader) = sync_channel(0);
        (Output::new(Arc::new(Console::new(Box::new(Pipe(pipe)))), most_bytes).unwrap(), reader)
    }

    fn text(reader: &Receiver<Vec<u8>>) -> String {
        String::from_utf8(reader.iter().flatten().collect()).unwrap()
    }

    #[test]
    fn nobody_waits_for_a_reader_while_there_is_room() {
        let (output, reader) = nobody_reads(1 << 20);
        (0..1000).for_each(|number| output.say(number.to_string()));
        let finished = std::thread::spawn(move || output.finish());
        let expected: String = (0..1000).map(|number| format!("{number}\n")).collect();
        assert_eq!(text(&reader), expected);
        finished.join().unwrap();
    }

    #[test]
    fn where_there_is_no_room_one_waits_until_something_was_read() {
        let (output, reader) = nobody_reads(100);
        let output = Arc::new(output);
        output.say("x".repeat(1000));
        assert!(!output.has_room());
        let (said, says) = channel();
        let other = Arc::clone(&output);
        let second = std::thread::spawn(move || {
            other.say("y");
            said.send(()).unwrap();
        });
        assert!(says.recv_timeout(Duration::from_millis(50)).is_err());
        assert_eq!(reader.recv().unwrap().len(), 1001);
        says.recv_timeout(Duration::from_secs(10)).expect("room");
        second.join().unwrap();
        assert_eq!(reader.recv().unwrap(), b"y\n");
        output.finish();
    }

    #[test]
    fn what_is_closed_waits_for_nobody() {
        let (output, reader) = nobody_reads(1);
        output.say("first");
        let output = Arc::new(output);
        let other = Arc::clone(&output);
        let second = std::thread::spawn(move || other.say("second"));
        output.close();
        second.join().unwrap();
        output.say("third");
        output.finish();
        // Dropping it would end the process, as when nobody reads standard output any more.
        std::mem::forget(reader);
    }
}
