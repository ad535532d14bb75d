//! Standard input, read in a thread of its own.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::{line, system};

/// Longest line that is looked at. A game of 1,000 moves needs 6 kB.
const LONGEST: usize = 16 << 20;

/// Lines read ahead. Beyond that the sender has to wait, so that a flood does not fill the memory.
pub const AHEAD: usize = 64;

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A line without its end and without a byte-order mark. What is no UTF-8 was read as [`system::text_of`] does.
    Line(String),
    /// A line of more than [`LONGEST`] bytes: nothing of it was kept.
    TooLong,
}

/// Reads until the end of the input; then the channel closes.
pub fn listen(mut input: impl BufRead + Send + 'static) -> io::Result<Receiver<Input>> {
    let (sender, receiver) = sync_channel(AHEAD);
    std::thread::Builder::new().name("stdin".to_string()).spawn(move || {
        while let Some(line) = line::unless_failed(read_line(&mut input)) {
            if sender.send(line).is_err() {
                break;
            }
        }
    })?;
    Ok(receiver)
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<Input>> {
    let Some(line) = line::next(input, LONGEST)? else { return Ok(None) };
    let Ok(mut bytes) = line else { return Ok(Some(Input::TooLong)) };
    while let Some(b'\n' | b'\r') = bytes.last() {
        bytes.pop();
    }
    Ok(Some(Input::Line(line::without_mark(&system::text_of(&bytes)).to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<Input> {
        listen(io::Cursor::new(bytes)).unwrap().iter().collect()
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
        assert_eq!(inputs[1..], [Input::TooLong, Input::Line("stop".to_string())]);
    }
}
