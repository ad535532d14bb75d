//! Reads UTF-16, which PowerShell 5 writes if a program's output is redirected to a file (`>`), and converts it to
//! UTF-8. UTF-16 is recognised by its byte-order mark and an ASCII character after it: all input of this program begins
//! with one.

use crate::bounded;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::Path;

/// Whether a text with this beginning may be UTF-16.
pub fn is_beginning(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// Reads a file in UTF-8 or UTF-16.
///
/// # Errors
/// The file can't be [read](bounded::read), or is in neither encoding.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    Text::new(bounded::read(path)?.as_slice()).read_to_string(&mut text)?;
    Ok(text)
}

/// Like [`read_to_string`], for files in which parts that don't matter may have another encoding: invalid UTF-8 becomes
/// U+FFFD.
///
/// # Errors
/// The file can't be [read](bounded::read).
pub fn read_lossily(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    Text::new(bounded::read(path)?.as_slice()).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes a code unit from two bytes.
type Unit = fn([u8; 2]) -> u16;

/// The encoding; unknown until the first byte is requested.
enum Form {
    Unknown,
    /// UTF-8, or anything else: passed on unchanged.
    Bytes,
    /// The input has ended already: a terminal would be asked for more.
    Ended,
    Utf16(Unit),
}

/// A reader that converts UTF-16 to UTF-8, without the byte-order mark, and passes on anything else unchanged.
/// Incomplete characters become U+FFFD.
pub struct Text<R> {
    input: R,
    form: Form,
    /// Bytes of an incomplete character.
    rest: Vec<u8>,
    /// Bytes that are ready to be read.
    ready: VecDeque<u8>,
}

/// Whether more bytes are needed to decide if a text is UTF-16.
fn may_be_utf16(first: &[u8]) -> bool {
    matches!(first, [] | [0xff | 0xfe] | [0xff, 0xfe] | [0xfe, 0xff] | [0xff, 0xfe, 1..0x80] | [0xfe, 0xff, 0])
}

impl<R: Read> Text<R> {
    /// Reads nothing yet, because an input may block.
    pub fn new(input: R) -> Self {
        Self { input, form: Form::Unknown, rest: Vec::new(), ready: VecDeque::new() }
    }

    /// Reads up to four bytes, as many as are needed to recognise the encoding.
    fn begin(&mut self) -> io::Result<Form> {
        let mut first = Vec::new();
        let mut has_ended = false;
        while may_be_utf16(&first) && !has_ended {
            has_ended = self.input.by_ref().take(1).read_to_end(&mut first)? == 0;
        }
        let (form, rest): (_, &[u8]) = match first[..] {
            [0xff, 0xfe] | [0xff, 0xfe, 1..0x80, 0] => (Form::Utf16(u16::from_le_bytes), &first[2..]),
            [0xfe, 0xff] | [0xfe, 0xff, 0, 1..0x80] => (Form::Utf16(u16::from_be_bytes), &first[2..]),
            _ if has_ended => (Form::Ended, &[]),
            _ => (Form::Bytes, &[]),
        };
        match form {
            Form::Utf16(_) => self.rest.extend(rest),
            _ => self.ready.extend(&first),
        }
        Ok(form)
    }

    /// Converts some more text; returns whether there may be more.
    fn go_on(&mut self, unit: Unit) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        let read = self.input.read(&mut chunk)?;
        self.rest.extend(&chunk[..read]);
        let (pairs, odd) = self.rest.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().copied().map(unit).collect();
        let mut kept = odd.len();
        if read == 0 {
            // At the end of the input, the missing byte will not come.
            units.extend(odd.iter().map(|_| 0xfffd));
            kept = 0;
        } else if units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
            kept += 2;
        }
        self.rest.drain(..self.rest.len() - kept);
        self.ready.extend(String::from_utf16_lossy(&units).into_bytes());
        Ok(read > 0)
    }
}

impl<R: Read> Read for Text<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Form::Unknown = self.form {
            self.form = self.begin()?;
        }
        if let Form::Utf16(unit) = self.form {
            while self.ready.is_empty() && self.go_on(unit)? {}
        }
        match self.form {
            Form::Bytes if self.ready.is_empty() => self.input.read(buf),
            _ => self.ready.read(buf),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal, which may go on after its end.
    struct Terminal(u32);

    impl Read for Terminal {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            assert!(self.0 == 1 && !buf.is_empty(), "asked {} times", self.0);
            Ok(0)
        }
    }

    #[test]
    fn an_input_that_has_ended_is_not_asked_again() {
        let mut text = Text::new(Terminal(0));
        for _ in 0..3 {
            assert_eq!(text.read(&mut [0; 8]).unwrap(), 0);
        }
    }

    /// A reader that returns at most this many bytes at a time, as a pipe may.
    struct Slow(VecDeque<u8>, usize);

    impl Read for Slow {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let most = buf.len().min(self.1);
            self.0.read(&mut buf[..most])
        }
    }

    fn read(bytes: &[u8]) -> Vec<u8> {
        let by = |most| {
            let mut read = Vec::new();
            Text::new(Slow(bytes.to_vec().into(), most)).read_to_end(&mut read).unwrap();
            read
        };
        let whole = by(usize::MAX);
        assert!((1..5).all(|most| by(most) == whole), "{bytes:?}");
        whole
    }

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn both_orders_of_bytes() {
        let text = "uci\r\nschön ♞ 𝄞\n".repeat(500);
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            assert!(is_beginning(&utf16("\u{feff}", bytes)));
            assert_eq!(read(&utf16(&format!("\u{feff}{text}"), bytes)), text.as_bytes());
            assert_eq!(read(&utf16("\u{feff}", bytes)), b"");
        }
    }

    #[test]
    fn what_is_no_utf16_comes_as_it_is() {
        for bytes in
            [&b""[..], b"u", b"uci\n", b"\xff", b"\xfe", b"\xff\0", b"\xef\xbb\xbfuci", b"\xff\xff\xfe", b"a\xff\xfe"]
        {
            assert!(!is_beginning(bytes));
            assert_eq!(read(bytes), bytes);
        }
        // With a byte-order mark, but not UTF-16 that begins with ASCII.
        for bytes in
            [&b"\xff\xfe{\n"[..], b"\xff\xfe\xfd", b"\xff\xfea", b"\xfe\xff\0", b"\xfe\xffuci\n", b"\xff\xfe\0\0"]
        {
            assert_eq!(read(bytes), bytes);
        }
    }

    #[test]
    fn half_a_character() {
        assert_eq!(read(b"\xff\xfea\0b"), "a\u{fffd}".as_bytes());
        assert_eq!(read(b"\xff\xfea\0\x34\xd8"), "a\u{fffd}".as_bytes());
        assert_eq!(read(b"\xff\xfea\0\x34\xd8a\0"), "a\u{fffd}a".as_bytes());
    }
}
