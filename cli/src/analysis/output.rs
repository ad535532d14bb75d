//! The output for answers, until the client stops reading.
//!
//! A thread of its own writes the lines, so that a client may write all of its queries before it reads an answer: the
//! thread that reads the input and those that search don't wait for the client until [`Output`] holds `most_bytes`.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::single::Single;
use crate::console::{Console, aside};
use crate::fault::guarded;

/// What a channel receives in place of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line of an answer.
    Line(String),
    /// A message for standard error.
    Note(String),
}

/// After [`Output::close`], the longest wait for the client to read the next [`AT_ONCE`] lines.
const UNREAD: Duration = Duration::from_secs(1);

/// The most lines that are written with one call.
const AT_ONCE: usize = 8;

/// The output of whole lines, from any thread.
pub struct Output {
    to: To,
    /// A lock on the making of a line that may be long. It is held until the line is written, so that there is only one
    /// such line at a time.
    pub long_line: Arc<Single>,
}

enum To {
    Console(Arc<Unread>),
    Channel(Sender<Heard>),
}

/// The lines that are not written yet.
struct Unread {
    state: Mutex<State>,
    changed: Condvar,
    most_bytes: usize,
}

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    bytes: usize,
    /// From now on lines are dropped.
    is_closed: bool,
    /// No more lines will be added.
    is_ended: bool,
    /// The writing thread has ended.
    is_done: bool,
}

/// Bytes that a line uses while it waits.
#[allow(clippy::ptr_arg, reason = "the text itself is counted, too")]
fn held(line: &String) -> usize {
    line.len() + size_of_val(line)
}

impl Unread {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent even if a thread has panicked: no code that may panic runs between two related
        // changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line; waits while there is no room. There is room for a line of any length as long as fewer than
    /// `most_bytes` wait.
    fn push(&self, line: String) {
        let mut state = self.lock();
        while state.bytes >= self.most_bytes && !state.is_closed {
            state = self.wait(state);
        }
        if state.is_closed {
            return;
        }
        state.bytes += held(&line);
        state.lines.push_back(line);
        drop(state);
        self.changed.notify_all();
    }

    /// The next lines to write; waits for them. `None` at the end.
    fn take(&self) -> Option<Vec<String>> {
        let mut state = self.lock();
        while state.lines.is_empty() && !state.is_ended {
            state = self.wait(state);
        }
        let count = state.lines.len().min(AT_ONCE);
        (count > 0).then(|| state.lines.drain(..count).collect())
    }

    /// Frees the room of lines that were taken: only when they are written there is room for others.
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
            aside(&fault);
        }
        let mut state = self.lock();
        (state.is_done, state.is_closed) = (true, true);
        drop(state);
        self.changed.notify_all();
    }
}

impl Output {
    /// Writes lines to `console` and messages to standard error. About `most_bytes` of lines wait here for the client
    /// to read; [`Output::say`] blocks while that much is waiting.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn new(console: Arc<Console>, most_bytes: usize) -> io::Result<Self> {
        let waiting = Arc::new(Unread { state: Mutex::default(), changed: Condvar::new(), most_bytes });
        let ours = Arc::clone(&waiting);
        let thread = std::thread::Builder::new().name("answers".to_string());
        thread.spawn(move || ours.write_to(&console))?;
        Ok(Self { to: To::Console(waiting), long_line: Arc::default() })
    }

    /// Sends all lines and messages to `channel`.
    pub fn to(channel: Sender<Heard>) -> Self {
        Self { to: To::Channel(channel), long_line: Arc::default() }
    }

    /// Writes a line. A `String` is taken without a copy, since the line may be long.
    pub fn say(&self, line: impl Into<String>) {
        match &self.to {
            To::Console(waiting) => waiting.push(line.into()),
            // If the receiver is gone, the line is dropped.
            To::Channel(channel) => drop(channel.send(Heard::Line(line.into()))),
        }
    }

    /// Whether a line could be added without waiting. If not, reports during a search are skipped, as they are outdated
    /// when the client reads them.
    pub fn has_room(&self) -> bool {
        match &self.to {
            To::Console(waiting) => waiting.lock().bytes < waiting.most_bytes,
            To::Channel(_) => true,
        }
    }

    /// Writes a message to standard error.
    pub fn aside(&self, text: &str) {
        match &self.to {
            To::Console(_) => aside(text),
            To::Channel(channel) => drop(channel.send(Heard::Note(text.to_string()))),
        }
    }

    /// Drops all further lines, and those that wait for room.
    pub fn close(&self) {
        if let To::Console(waiting) = &self.to {
            waiting.lock().is_closed = true;
            waiting.changed.notify_all();
        }
    }

    /// Waits until all lines are written; after [`Output::close`], only as long as the client reads. No line may be
    /// added after this call.
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

    /// A writer that blocks until the bytes are received.
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
        // If it were dropped, the process would end, as it does when the client closes standard output.
        std::mem::forget(reader);
    }
}
