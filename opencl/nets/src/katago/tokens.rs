//! Reads a model file's tokens and numbers, with errors that name the record and the place.

use crate::error::NetError;
use std::fmt::Display;

/// Length of the longest token in bytes: names have some ten characters, a number in full some fifty.
const TOKEN: usize = 256;

/// Largest number of channels. Any limit will do for which three times as many fit into a `usize`.
const CHANNELS: usize = 1 << 20;

/// Precedes numbers in binary.
const BINARY: &[u8] = b"@BIN@";

/// Reads an unpacked file from its start to its end.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where what was read last begins: the place that errors name.
    token: usize,
    /// The record that is being read.
    record: String,
    /// The format's version, which some records depend on; 0 until it is known.
    pub version: u32,
    /// Blocks announced so far, those in nested blocks too.
    pub blocks: usize,
    /// Learnt numbers read so far: all but the means and variances of batch norms.
    pub parameters: u64,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, token: 0, record: "header".to_string(), version: 0, blocks: 0, parameters: 0 }
    }

    /// The error that what was read last breaks the format.
    pub fn malformed(&self, what: impl Display) -> NetError {
        NetError::malformed(self.record.clone(), self.placed(what))
    }

    /// The error that what was read last is of a kind that this reader does not know, in a file that may be sound.
    pub fn unsupported(&self, what: impl Display) -> NetError {
        NetError::unsupported(self.record.clone(), self.placed(what))
    }

    fn placed(&self, what: impl Display) -> String {
        format!("{what}, at byte {} of the unpacked file", self.token)
    }

    /// Begins a record: reads its name.
    pub fn begin(&mut self, kind: &str) -> Result<(), NetError> {
        // Until the name is read, an error names the record before: there is no other name for the place.
        self.record = self.word(format_args!("the name of {kind}"))?.to_string();
        Ok(())
    }

    pub fn bytes_left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Reads the next token, which has to be printable.
    pub fn word(&mut self, expected: impl Display) -> Result<&'a str, NetError> {
        self.skip_white_space();
        self.token = self.at;
        let rest = &self.bytes[self.at..];
        // One byte more than a token may have: a long one must not be searched to its end.
        let rest = &rest[..rest.len().min(TOKEN + 1)];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let token = match std::str::from_utf8(&rest[..length]) {
            Ok("") => return Err(self.malformed(format_args!("expected {expected}, got the end of the file"))),
            Ok(token) if length <= TOKEN && token.bytes().all(|b| b.is_ascii_graphic()) => token,
            _ => {
                let start = rest[..length.min(16)].escape_ascii();
                return Err(self.malformed(format_args!("expected {expected}, got \"{start}\" …")));
            }
        };
        self.at += length;
        Ok(token)
    }

    fn skip_white_space(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(rest.len());
    }

    /// Reads a whole number from 0 to `most`.
    pub fn whole(&mut self, what: impl Display, most: usize) -> Result<usize, NetError> {
        let word = self.word(&what)?;
        match word.parse() {
            Ok(number) if number <= most => Ok(number),
            _ => Err(self.malformed(format_args!("expected {what}, from 0 to {most}, got \"{word}\""))),
        }
    }

    /// Reads a number of channels, at least one.
    pub fn channels(&mut self, what: impl Display) -> Result<usize, NetError> {
        match self.whole(&what, CHANNELS)? {
            0 => Err(self.malformed(format_args!("expected {what}, at least 1, got 0"))),
            channels => Ok(channels),
        }
    }

    /// Reads a number of channels, which must be `expected` if that is given.
    pub fn known(&mut self, what: impl Display, expected: Option<usize>) -> Result<usize, NetError> {
        let got = self.channels(&what)?;
        match expected {
            Some(expected) if expected != got => {
                Err(self.malformed(format_args!("expected {expected} as {what}, got {got}")))
            }
            _ => Ok(got),
        }
    }

    pub fn flag(&mut self, what: impl Display) -> Result<bool, NetError> {
        Ok(self.whole(what, 1)? == 1)
    }

    /// Reads `count` places that are kept free for later versions, which must be 0: another number there means
    /// something unknown.
    pub fn zeros(&mut self, count: usize) -> Result<(), NetError> {
        for _ in 0..count {
            match self.word("0, kept for later versions")? {
                "0" => {}
                other => {
                    return Err(self.unsupported(format_args!("expected 0, kept for later versions, got \"{other}\"")));
                }
            }
        }
        Ok(())
    }

    /// Reads a finite number in decimal.
    pub fn float(&mut self, what: impl Display) -> Result<f32, NetError> {
        let word = self.word(&what)?;
        match word.parse::<f32>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.malformed(format_args!("expected {what}, a finite number, got \"{word}\""))),
        }
    }

    /// Reads as many finite numbers as the product of `dims`, in binary or in decimal; the file's `n`th number goes to
    /// index `place(n)`.
    ///
    /// Memory is allocated only once the bytes for all numbers are known to be there.
    pub fn numbers(&mut self, dims: &[usize], place: impl Fn(usize) -> usize) -> Result<Vec<f32>, NetError> {
        self.skip_white_space();
        self.token = self.at;
        let binary = self.bytes[self.at..].starts_with(BINARY);
        if binary {
            self.at += BINARY.len();
        }
        // In decimal, a number takes at least a digit and a blank; the last one needs no blank.
        let (each, left) = if binary { (4, self.bytes_left()) } else { (2, self.bytes_left() + 1) };
        let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|n| *n <= left / each);
        let Some(count) = count else {
            let dims = dims.iter().map(usize::to_string).collect::<Vec<_>>().join("·");
            let left = self.bytes_left();
            let form = if binary { "4 bytes" } else { "a digit and a blank" };
            return Err(self.malformed(format_args!("expected {dims} numbers of {form}, got {left} bytes in all")));
        };
        let mut numbers = vec![0.0; count];
        for n in 0..count {
            numbers[place(n)] = if binary { self.bits(n)? } else { self.float("a weight")? };
        }
        self.parameters += count as u64;
        Ok(numbers)
    }

    /// Reads number `n`, four bytes, the lowest first. The caller has made sure that they are there.
    fn bits(&mut self, n: usize) -> Result<f32, NetError> {
        let bytes = &self.bytes[self.at..];
        let number = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if !number.is_finite() {
            return Err(self.malformed(format_args!("expected finite numbers, got {number} as number {n}")));
        }
        self.at += 4;
        Ok(number)
    }

    /// Checks that nothing but white space is left.
    pub fn end(&mut self) -> Result<(), NetError> {
        self.skip_white_space();
        self.token = self.at;
        match self.bytes_left() {
            0 => Ok(()),
            left => Err(self.malformed(format_args!("expected the end of the file behind it, got {left} bytes more"))),
        }
    }
}
