//! Lines from outside, of bounded length: bytes that may be anything.

use std::io::{self, BufRead, Read};

use crate::uci::console::aside;

/// What some editors put in front of a text in UTF-8. Where texts were joined it may stand before any line.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text without a byte-order mark at its beginning.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// A line that is too long.
pub struct TooLong {
    /// The line's first bytes, from which its reader may find out whose it was.
    pub beginning: Vec<u8>,
    /// The line's length in bytes, with its end.
    pub length: usize,
}

/// So much is kept of a line that is too long.
const BEGINNING: usize = 4096;

/// The next line of at most `longest` bytes, with its end; `None` at the end of the input. A last line needs no end.
///
/// # Errors
/// The errors of the input.
pub fn next(input: &mut impl BufRead, longest: usize) -> io::Result<Option<Result<Vec<u8>, TooLong>>> {
    let mut bytes = Vec::new();
    input.by_ref().take(longest as u64 + 1).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.len() > longest && bytes.last() != Some(&b'\n') {
        let length = bytes.len() + input.skip_until(b'\n')?;
        bytes.truncate(BEGINNING);
        bytes.shrink_to_fit();
        return Ok(Some(Err(TooLong { beginning: bytes, length })));
    }
    Ok(Some(Ok(bytes)))
}

/// What was read. An error ends the input like its end, and a line for a person says that it was one.
pub fn unless_failed<T>(read: io::Result<Option<T>>) -> Option<T> {
    read.unwrap_or_else(|error| {
        aside(&format!("oncilla: standard input: {error}"));
        None
    })
}
