//! Lines of standard input: bytes that may be anything, to text of bounded length.

use std::io::{self, BufRead};

use crate::line;

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end and the white space around it.
    Text(String),
    /// A line that is no UTF-8. What does not belong there has become U+FFFD.
    NotUtf8(String),
    /// A line that is too long. Nothing of it was kept.
    TooLong,
}

/// The next line of at most `longest` bytes; `None` at the end of the input. A last line needs no end.
///
/// # Errors
/// As the input.
pub fn next(input: &mut impl BufRead, longest: usize) -> io::Result<Option<Line>> {
    let Some(line) = line::next(input, longest)? else { return Ok(None) };
    let Ok(bytes) = line else { return Ok(Some(Line::TooLong)) };
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => Line::Text(trimmed(&text).to_string()),
        Err(error) => Line::NotUtf8(trimmed(&String::from_utf8_lossy(error.as_bytes())).to_string()),
    }))
}

/// Without a byte-order mark at its beginning, and without white space around it.
pub fn trimmed(line: &str) -> &str {
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    line::without_mark(line.trim_matches(is_space)).trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8], longest: usize) -> Vec<Line> {
        std::iter::from_fn(|| next(&mut bytes, longest).unwrap()).collect()
    }

    fn text(text: &str) -> Line {
        Line::Text(text.to_string())
    }

    #[test]
    fn ends_and_spaces() {
        assert_eq!(read(b" {} \r\n\n\t\nlast", 100), [text("{}"), text(""), text(""), text("last")]);
        assert_eq!(read(b"\xef\xbb\xbf{}\n", 100), [text("{}")]);
        assert_eq!(read(b"", 100), []);
    }

    #[test]
    fn what_is_no_utf8_is_told_apart() {
        assert_eq!(read(b"\xff\n{}\n", 100), [Line::NotUtf8("\u{fffd}".to_string()), text("{}")]);
    }

    #[test]
    fn long_lines_are_skipped_whole() {
        assert_eq!(read(b"12345\n123456\n123\n1234567", 5), [text("12345"), Line::TooLong, text("123"), Line::TooLong]);
    }
}
