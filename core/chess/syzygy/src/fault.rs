//! What can be wrong with a table's file.

use std::fmt;
use std::io;

/// Why a file is not a table that can be used, or not in this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The system refused to open or read it.
    Io(io::ErrorKind),
    /// It has this length, which no table has (16 more than a multiple of 64): it was cut or never finished.
    Length(u64),
    /// It begins with these bytes, which a table of its kind does not.
    Magic([u8; 4]),
    /// Something that it refers to is beyond its end.
    Short,
    /// It contradicts itself, or its name.
    Corrupt(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The library's words for these are "entity not found" and "not a directory".
            Self::Io(io::ErrorKind::NotFound) => f.write_str("no such file or folder"),
            Self::Io(io::ErrorKind::NotADirectory) => f.write_str("it is no folder"),
            Self::Io(kind) => write!(f, "{kind}"),
            Self::Length(len) => write!(f, "expected a length of 16 bytes more than a multiple of 64, got {len}"),
            Self::Magic(bytes) => write!(f, "it does not begin like a table of this kind: got {bytes:02x?}"),
            Self::Short => f.write_str("it ends before what it speaks of"),
            Self::Corrupt(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Fault {}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Short,
            kind => Self::Io(kind),
        }
    }
}
