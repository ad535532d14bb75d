//! Reads standard input in a thread of its own.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::line::{self, RawLine};
use crate::system;

/// The longest line that is parsed, in bytes. A game of 1,000 moves needs 6 kB.
const LONGEST: usize = 16 << 20;

/// What an error says of a longer line.
pub const TOO_LONG: &str = "a line of more than 16 MiB";

/// The number of lines that may be queued. If the queue is full, the sender has to wait, so that a flood of input does
/// not fill the memory.
const WAITING: usize = 64;

/// The largest number of lines that are kept for later, and of their bytes. No more lines are read beyond either limit.
const MOST_KEPT: (usize, usize) = (1_000, LONGEST);

/// One line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A line without its line end and byte-order mark. Bytes that are not UTF-8 are converted by [`system::text_of`].
    Line(String),
    /// A line of more than [`LONGEST`] bytes, of which only the beginning was kept.
    TooLong(String),
}

/// Starts the thread, which reads until the end of the input and then closes the channel.
///
/// # Errors
/// One line: the system has no thread left.
pub fn listen(mut input: impl BufRead + Send + 'static) -> Result<Receiver<Input>, String> {
    let (sender, receiver) = sync_channel(WAITING);
    let read = move || {
        while let Some(line) = line::unless_failed(read_line(&mut input)) {
            if sender.send(line).is_err() {
                break;
            }
        }
    };
    let started = std::thread::Builder::new().name("stdin".to_string()).spawn(read);
    started.map(|_| receiver).map_err(|error| format!("standard input: {error}"))
}

/// Lines that are kept until earlier commands are done, in their order.
#[derive(Debug, Default)]
pub struct Kept {
    inputs: VecDeque<Input>,
    /// The sum of the lines' bytes.
    bytes: usize,
}

impl Kept {
    /// Whether another line may be read.
    pub fn has_room(&self) -> bool {
        self.inputs.len() < MOST_KEPT.0 && self.bytes < MOST_KEPT.1
    }

    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Input> {
        self.inputs.iter()
    }

    pub fn push(&mut self, input: Input) {
        self.bytes += length(&input);
        self.inputs.push_back(input);
    }

    pub fn pop(&mut self) -> Option<Input> {
        let input = self.inputs.pop_front()?;
        self.bytes -= length(&input);
        Some(input)
    }

    /// Moves all lines of `other` behind these.
    pub fn append(&mut self, other: &mut Self) {
        self.inputs.append(&mut other.inputs);
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

fn length(input: &Input) -> usize {
    match input {
        Input::Line(line) | Input::TooLong(line) => line.len(),
    }
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<Input>> {
    let Some(line) = line::next(input, LONGEST)? else { return Ok(None) };
    let text = |bytes: &[u8]| line::without_mark(&system::text_of(bytes)).to_string();
    let mut bytes = match line {
        RawLine::Whole(bytes) => bytes,
        RawLine::TooLong { beginning, .. } => return Ok(Some(Input::TooLong(text(&beginning)))),
    };
    while let Some(b'\n' | b'\r') = bytes.last() {
        bytes.pop();
    }
    Ok(Some(Input::Line(text(&bytes))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<Input> {
        listen(io::Cursor::new(bytes)).unwrap().iter().collect()
    }

    #[test]
    fn what_is_kept_has_an_end() {
        let mut kept = Kept::default();
        let line = |length| Input::Line("x".repeat(length));
        for _ in 0..MOST_KEPT.0 {
            assert!(kept.has_room());
            kept.push(line(1));
        }
        assert!(!kept.has_room());
        assert_eq!(kept.pop(), Some(line(1)));
        assert!(kept.has_room());
        let mut long = Kept::default();
        long.push(Input::TooLong(String::new()));
        long.push(line(MOST_KEPT.1));
        assert!(!long.has_room());
        kept.append(&mut long);
        assert!(long.is_empty() && long.has_room() && !kept.has_room());
        assert_eq!(kept.iter().count(), MOST_KEPT.0 + 1);
        while kept.pop().is_some() {}
        assert!(kept.is_empty() && kept.has_room());
    }

    #[test]
    fn lines_and_their_ends() {
        let line = |text: &str| Input::Line(text.to_string());
        assert_eq!(read(b"a\r\nb\n\nc".to_vec()), [line("a"), line("b"), line(""), line("c")]);
        assert_eq!(read(b"\xff\0\n".to_vec()), [line(&system::text_of(b"\xff\0"))]);
        assert_eq!(read("\u{feff}uci\n\u{feff}\nx\u{feff}".into()), [line("uci"), line(""), line("x\u{feff}")]);
        assert_eq!(read(Vec::new()), []);
    }

    #[test]
    fn too_long_a_line_is_skipped_whole() {
        let mut bytes = vec![b'x'; LONGEST];
        bytes.push(b'\n');
        bytes.extend(std::iter::repeat_n(b'y', LONGEST + 5));
        bytes.extend(b"\nstop\n");
        let inputs = read(bytes);
        assert!(matches!(&inputs[0], Input::Line(line) if line.len() == LONGEST));
        assert!(matches!(&inputs[1], Input::TooLong(beginning) if beginning.starts_with("yyy")));
        assert_eq!(inputs[2..], [Input::Line("stop".to_string())]);
    }
}
