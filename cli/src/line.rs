//! Reads lines of bounded length from bytes that may be anything.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::aside;

/// Some editors put this in front of UTF-8 text. If files were joined, it may be at the beginning of any line.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text without a byte-order mark at its beginning.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// A line as it was read.
pub enum RawLine {
    /// The bytes of the line, with its line end.
    Whole(Vec<u8>),
    /// A line that is too long.
    TooLong {
        /// The line's first bytes, which may contain the id of a request.
        beginning: Vec<u8>,
        /// The line's length in bytes, with its line end.
        length: usize,
    },
}

impl RawLine {
    /// The line's length in bytes, with its line end.
    pub fn length(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::TooLong { length, .. } => *length,
        }
    }
}

/// Bytes that are kept of a line that is too long.
const BEGINNING: usize = 4096;

/// The next line; `None` at the end of the input. One of more than `longest` bytes, without its line end, is too long.
/// The last line may lack a line end.
///
/// # Errors
/// The errors of the input.
pub fn next(input: &mut impl BufRead, longest: usize) -> io::Result<Option<RawLine>> {
    let mut bytes = Vec::new();
    input.by_ref().take(longest as u64 + 1).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.len() > longest && bytes.last() != Some(&b'\n') {
        let length = bytes.len() + input.skip_until(b'\n')?;
        bytes.truncate(BEGINNING);
        bytes.shrink_to_fit();
        return Ok(Some(RawLine::TooLong { beginning: bytes, length }));
    }
    Ok(Some(RawLine::Whole(bytes)))
}

/// Input that tells whether reading it failed, which ends it like its end does: see [`unless_failed`].
pub struct Watched<R> {
    input: R,
    has_failed: Arc<AtomicBool>,
}

impl<R> Watched<R> {
    /// `has_failed` becomes true when reading `input` fails.
    pub fn new(input: R, has_failed: &Arc<AtomicBool>) -> Self {
        Self { input, has_failed: Arc::clone(has_failed) }
    }
}

fn watch<T>(has_failed: &AtomicBool, read: io::Result<T>) -> io::Result<T> {
    read.inspect_err(|error| {
        // A signal interrupts a read, which is then tried again.
        if error.kind() != io::ErrorKind::Interrupted {
            has_failed.store(true, Ordering::Relaxed);
        }
    })
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        watch(&self.has_failed, self.input.read(bytes))
    }
}

impl<R: BufRead> BufRead for Watched<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        watch(&self.has_failed, self.input.fill_buf())
    }

    fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
    }
}

/// Returns what was read. An error ends the input, after a message on standard error.
pub fn unless_failed<T>(read: io::Result<Option<T>>) -> Option<T> {
    read.unwrap_or_else(|error| {
        aside(&format!("standard input: {error}"));
        None
    })
}
