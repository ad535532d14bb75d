//! Protobuf's wire format, as far as a network file uses it: fields one after the other, borrowed from the file's
//! bytes.
//!
//! A reader never looks past its slice and never allocates. Groups (wire types 3 and 4) don't occur in networks and are
//! refused; so nesting is only as deep as the messages in [`crate::proto`] are, six levels.
//! Format: <https://protobuf.dev/programming-guides/encoding/>.

use crate::error::NetError;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed64,
    Fixed32(u32),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    fn name(self) -> &'static str {
        match self {
            Value::Varint(_) => "a varint",
            Value::Fixed64 => "a fixed64",
            Value::Fixed32(_) => "a fixed32",
            Value::Bytes(_) => "a length-delimited field",
        }
    }

    fn mismatch(self, field: &str, expected: &str) -> NetError {
        NetError::malformed(field, format!("expected {expected}, got {}", self.name()))
    }

    pub(crate) fn varint(self, field: &str) -> Result<u64, NetError> {
        match self {
            Value::Varint(v) => Ok(v),
            other => Err(other.mismatch(field, "a varint")),
        }
    }

    pub(crate) fn fixed32(self, field: &str) -> Result<u32, NetError> {
        match self {
            Value::Fixed32(v) => Ok(v),
            other => Err(other.mismatch(field, "a fixed32")),
        }
    }

    pub(crate) fn float(self, field: &str) -> Result<f32, NetError> {
        self.fixed32(field).map(f32::from_bits)
    }

    pub(crate) fn bytes(self, field: &str) -> Result<&'a [u8], NetError> {
        match self {
            Value::Bytes(v) => Ok(v),
            other => Err(other.mismatch(field, "a length-delimited field")),
        }
    }
}

/// A message that takes one field after the other.
///
/// As in protobuf, a later scalar replaces an earlier one and a later message is merged into an earlier one.
pub(crate) trait Message<'a> {
    /// Takes the field with this number; a field that it does not know is skipped.
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError>;

    /// What the field with this number is called, for the error that it is cut off; it may be known to no reader.
    fn name(number: u64) -> String {
        format!("field {number}")
    }

    /// Takes every field of `bytes`.
    fn merge(&mut self, bytes: &'a [u8]) -> Result<(), NetError> {
        let mut reader = Reader { rest: bytes, len: bytes.len(), number: None };
        while !reader.rest.is_empty() {
            let (number, value) = reader.field().map_err(|e| match reader.number {
                Some(number) => e.within(&Self::name(number)),
                None => e,
            })?;
            self.set(number, value)?;
        }
        Ok(())
    }
}

/// Merges a length-delimited `value` into `message`; the paths in errors contain `field`.
pub(crate) fn merge<'a, M: Message<'a> + Default>(
    message: &mut Option<M>,
    field: &str,
    value: Value<'a>,
) -> Result<(), NetError> {
    let bytes = value.bytes(field)?;
    message.get_or_insert_default().merge(bytes).map_err(|e| e.within(field))
}

struct Reader<'a> {
    rest: &'a [u8],
    len: usize,
    /// The number of the field that is being read, once it is known.
    number: Option<u64>,
}

impl<'a> Reader<'a> {
    fn fault(&self, what: impl std::fmt::Display) -> NetError {
        NetError::malformed(
            "",
            format!("at byte {} of {} in the message: {what}", self.len - self.rest.len(), self.len),
        )
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), NetError> {
        self.number = None;
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number >= 1 << 29 {
            return Err(self.fault(format_args!("expected a field number from 1 to 2^29 - 1, got {number}")));
        }
        self.number = Some(number);
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Fixed64
            }
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                let bytes = self.take(4)?;
                Value::Fixed32(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            }
            other => {
                return Err(self.fault(format_args!("expected wire type 0, 1, 2 or 5, got {other}")));
            }
        };
        Ok((number, value))
    }

    fn varint(&mut self) -> Result<u64, NetError> {
        let mut value = 0u64;
        for (i, &byte) in self.rest.iter().take(10).enumerate() {
            // Ten groups of seven bits are 70 bits: of the last group only the lowest bit fits.
            if i == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        match self.rest.len() {
            0..10 => Err(self.fault("truncated in a varint")),
            _ => Err(self.fault("a varint is longer than 64 bits")),
        }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], NetError> {
        match usize::try_from(length).ok().and_then(|n| self.rest.split_at_checked(n)) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.fault(format_args!("truncated: expected {length} more bytes, got {}", self.rest.len()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Debug, PartialEq)]
    struct Seen<'a>(Vec<(u64, Value<'a>)>);

    impl<'a> Message<'a> for Seen<'a> {
        fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
            self.0.push((number, value));
            Ok(())
        }
    }

    fn seen(bytes: &[u8]) -> Result<Vec<(u64, Value<'_>)>, NetError> {
        let mut message = Seen::default();
        message.merge(bytes)?;
        Ok(message.0)
    }

    #[test]
    fn every_wire_type() {
        let bytes = [0x08, 0x96, 0x01, 0x15, 1, 0, 0, 0, 0x1a, 2, 7, 8, 0x21, 0, 0, 0, 0, 0, 0, 0, 0];
        let expected =
            vec![(1, Value::Varint(150)), (2, Value::Fixed32(1)), (3, Value::Bytes(&[7, 8])), (4, Value::Fixed64)];
        assert_eq!(seen(&bytes).unwrap(), expected);
    }

    #[test]
    fn largest_varint_and_one_more() {
        let mut bytes = vec![0x08];
        bytes.extend([0xff; 9]);
        bytes.push(1);
        assert_eq!(seen(&bytes).unwrap(), vec![(1, Value::Varint(u64::MAX))]);
        bytes[10] = 2;
        assert!(seen(&bytes).unwrap_err().what.contains("longer than 64 bits"));
    }

    #[test]
    fn faults_are_named() {
        for (bytes, expected) in [
            (&[0x08][..], "at byte 1 of 1 in the message: truncated in a varint"),
            (&[0x08, 0x80], "field 1: at byte 1 of 2 in the message: truncated in a varint"),
            (&[0x0b], "field 1: at byte 1 of 1 in the message: expected wire type 0, 1, 2 or 5, got 3"),
            (&[0x00, 0x00], "expected a field number from 1"),
            (&[0x80, 0x80, 0x80, 0x80, 0x10, 0x00], "expected a field number from 1"),
            (&[0x0a, 5, 1], "field 1: at byte 2 of 3 in the message: truncated: expected 5 more bytes, got 1"),
            (&[0x0d, 1, 2, 3], "truncated: expected 4 more bytes, got 3"),
            (
                &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
                "truncated: expected 18446744073709551615",
            ),
        ] {
            let error = seen(bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
