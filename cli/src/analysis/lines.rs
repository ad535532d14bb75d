//! Splits the bytes of standard input into lines of text of bounded length.

use std::io::{self, BufRead};

use crate::line::{self, RawLine};

/// A line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputLine {
    /// A line without its line end and the white space around it.
    Text(String),
    /// A line that is not valid UTF-8; invalid bytes are replaced by U+FFFD.
    NotUtf8(String),
    /// The beginning of a line that is too long.
    TooLong(String),
}

/// The next line of at most `longest` bytes; `None` at the end of the input. The last line may lack a line end.
///
/// # Errors
/// The errors of the input.
pub fn next(input: &mut impl BufRead, longest: usize) -> io::Result<Option<InputLine>> {
    let Some(line) = line::next(input, longest)? else { return Ok(None) };
    let lossy = |bytes: &[u8]| trimmed(&String::from_utf8_lossy(bytes)).to_string();
    Ok(Some(match line {
        RawLine::Whole(bytes) => match String::from_utf8(bytes) {
            Ok(text) => InputLine::Text(in_place(text)),
            Err(error) => InputLine::NotUtf8(lossy(error.as_bytes())),
        },
        RawLine::TooLong { beginning, .. } => InputLine::TooLong(lossy(&beginning)),
    }))
}

/// Like [`trimmed`], but without a copy, since a line may be a large part of the memory that the process may use.
fn in_place(mut text: String) -> String {
    let kept = trimmed(&text);
    let (begin, len) = (kept.as_ptr() as usize - text.as_ptr() as usize, kept.len());
    text.truncate(begin + len);
    text.drain(..begin);
    text
}

/// The line without a byte-order mark at its beginning, and without white space around it.
pub fn trimmed(line: &str) -> &str {
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    line::without_mark(line.trim_matches(is_space)).trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8], longest: usize) -> Vec<InputLine> {
        std::iter::from_fn(|| next(&mut bytes, longest).unwrap()).collect()
    }

    fn text(text: &str) -> InputLine {
        InputLine::Text(text.to_string())
    }

    #[test]
    fn ends_and_spaces() {
        assert_eq!(read(b" {} \r\n\n\t\nlast", 100), [text("{}"), text(""), text(""), text("last")]);
        assert_eq!(read(b"\xef\xbb\xbf{}\n", 100), [text("{}")]);
        assert_eq!(read(b"", 100), []);
    }

    #[test]
    fn what_is_no_utf8_is_told_apart() {
        assert_eq!(read(b"\xff\n{}\n", 100), [InputLine::NotUtf8("\u{fffd}".to_string()), text("{}")]);
    }

    #[test]
    fn long_lines_are_skipped_whole() {
        let long = |text: &str| InputLine::TooLong(text.to_string());
        let expected = [text("12345"), long("123456"), text("123"), long("123456")];
        assert_eq!(read(b"12345\n123456\n123\n1234567", 5), expected);
    }
}
