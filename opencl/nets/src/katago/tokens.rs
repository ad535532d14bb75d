//! A model file's tokens and numbers, and the faults that name the record and the place.

use crate::error::NetError;
use std::fmt::Display;

/// Longest token: names have some ten characters, a number in full some fifty.
const TOKEN: usize = 256;

/// Largest number of channels. Any limit will do that keeps three times as many within a `usize`.
const CHANNELS: usize = 1 << 20;

/// What stands before numbers in binary.
const BINARY: &[u8] = b"@BIN@";

/// Reads an unpacked file from its start to its end.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where what was read last begins: there the fault is.
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

    /// A fault at what was read last: the bytes break the format.
    pub fn malformed(&self, what: impl Display) -> NetError {
        NetError::malformed(self.record.clone(), self.placed(what))
    }

    /// A fault at what was read last: a sound file, perhaps, but of a kind that this reader does not know.
    pub fn unsupported(&self, what: impl Display) -> NetError {
        NetError::unsupported(self.record.clone(), self.placed(what))
    }

    fn placed(&self, what: impl Display) -> String {
        format!("{what}, at byte {} of the unpacked file", self.token)
    }

    /// Begins a record with its name.
    pub fn begin(&mut self, kind: &str) -> Result<(), NetError> {
        // Until then the record is the one before: there is no other name for the place.
        self.record = self.word(format_args!("the name of {kind}"))?.to_string();
        Ok(())
    }

    pub fn bytes_left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next token, which has to be printable.
    pub fn word(&mut self, expected: impl Display) -> Result<&'a str, NetError> {
        self.skip_white_space();
        self.token = self.at;
        let rest = &self.bytes[self.at..];
        // A little more than a token may have: a long one must not be looked through to its end.
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

    /// A whole number from 0 to `most`.
    pub fn whole(&mut self, what: impl Display, most: usize) -> Result<usize, NetError> {
        let word = self.word(&what)?;
        match word.parse() {
            Ok(number) if number <= most => Ok(number),
            _ => Err(self.malformed(format_args!("expected {what}, from 0 to {most}, got \"{word}\""))),
        }
    }

    /// A number of channels: at least one.
    pub fn channels(&mut self, what: impl Display) -> Result<usize, NetError> {
        match self.whole(&what, CHANNELS)? {
            0 => Err(self.malformed(format_args!("expected {what}, at least 1, got 0"))),
            channels => Ok(channels),
        }
    }

    /// A number of channels that is known, or that the file tells.
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

    /// Places that are kept free for later versions: what is not 0 there means something unknown.
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

    /// A finite number in decimal.
    pub fn float(&mut self, what: impl Display) -> Result<f32, NetError> {
        let word = self.word(&what)?;
        match word.parse::<f32>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.malformed(format_args!("expected {what}, a finite number, got \"{word}\""))),
        }
    }

    /// As many finite numbers as the product of `dims`, in binary or in decimal; the `n`th of the file gets to
    /// `place(n)`.
    ///
    /// Memory is taken once the bytes for so many numbers are known to be there.
    pub fn numbers(&mut self, dims: &[usize], place: impl Fn(usize) -> usize) -> Result<Vec<f32>, NetError> {
        self.skip_white_space();
        self.token = self.at;
        let binary = self.bytes[self.at..].starts_with(BINARY);
        if binary {
            self.at += BINARY.len();
        }
        // In decimal a digit and a blank are the least that a number has; the last one has no blank.
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

    /// A number of four bytes, the lowest first. That they are there has been seen.
    fn bits(&mut self, n: usize) -> Result<f32, NetError> {
        let bytes = &self.bytes[self.at..];
        let number = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if !number.is_finite() {
            return Err(self.malformed(format_args!("expected finite numbers, got {number} as number {n}")));
        }
        self.at += 4;
        Ok(number)
    }

    /// Nothing but white space may be left.
    pub fn end(&mut self) -> Result<(), NetError> {
        self.skip_white_space();
        self.token = self.at;
        match self.bytes_left() {
            0 => Ok(()),
            left => Err(self.malformed(format_args!("expected the end of the file behind it, got {left} bytes more"))),
        }
    }
}
