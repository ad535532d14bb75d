//! Reads lines of bounded length from bytes that may be anything.

use std::io::{self, BufRead, Read};

use crate::console::aside;

/// Some editors put this in front of UTF-8 text. If files were joined, it may be at the beginning of any line.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text without a byte-order mark at its beginning.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// A line that is too long.
pub struct TooLong {
    /// The line's first bytes, which may contain the id of a request.
    pub beginning: Vec<u8>,
    /// The line's length in bytes, with its line end.
    pub length: usize,
}

/// Bytes that are kept of a line that is too long.
const BEGINNING: usize = 4096;

/// The next line of at most `longest` bytes, with its line end; `None` at the end of the input. The last line may lack
/// a line end.
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

/// Returns what was read. An error ends the input, after a message on standard error.
pub fn unless_failed<T>(read: io::Result<Option<T>>) -> Option<T> {
    read.unwrap_or_else(|error| {
        aside(&format!("oncilla: standard input: {error}"));
        None
    })
}
