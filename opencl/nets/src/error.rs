//! What can be wrong with a network file, and where.

use std::fmt;

/// What kind of fault it is, for a caller that treats them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file could not be read from its device.
    Io,
    /// The file is of another kind or too old: it is not damaged, but not a network that this crate reads.
    Foreign,
    /// The file is a network of KataGo's, for Go, where one for chess was expected: [`crate::katago`] reads it.
    Go,
    /// The bytes violate the format: truncated, contradictory or out of range.
    Malformed,
    /// A valid network that needs something which this reader does not have.
    Unsupported,
}

/// Why a network file was refused, in one line that names the field, what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetError {
    /// What kind of fault it is.
    pub fault: Fault,
    /// Path of the field in Lc0's `net.proto`, such as `weights.residual[3].conv1.weights`, or a record's name in
    /// KataGo's file, such as `rconv3/w1a`, or, of what was read and can't be run, the part of the network, such as
    /// `blocks[3].convolution`; empty for the file as a whole.
    pub field: String,
    /// What was expected and what was found.
    pub what: String,
}

impl NetError {
    pub(crate) fn new(fault: Fault, field: impl Into<String>, what: impl Into<String>) -> Self {
        Self { fault, field: field.into(), what: what.into() }
    }

    pub(crate) fn malformed(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Fault::Malformed, field, what)
    }

    pub(crate) fn unsupported(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Fault::Unsupported, field, what)
    }

    /// The same error as seen by the enclosing message: `parent` is put before the field's path.
    ///
    /// Paths are put together on the way out, so that nothing is formatted while a sound file is read.
    pub(crate) fn within(mut self, parent: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => parent.to_string(),
            rest => format!("{parent}.{rest}"),
        };
        self
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.what),
            field => write!(f, "{field}: {}", self.what),
        }
    }
}

impl std::error::Error for NetError {}
