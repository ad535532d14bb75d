//! Why a device is not trusted.

use crate::backend::BackendError;
use crate::device::{Error, Purpose};
use std::fmt;

/// Why a device is not trusted.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It can't be opened.
    Device(Error),
    /// A call failed.
    Call(Error),
    /// It answers, but not as it should.
    Answer(BackendError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Call(error)
    }
}

impl From<BackendError> for Fault {
    fn from(error: BackendError) -> Self {
        Fault::Answer(error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Device(error) | Fault::Call(error) => error.fmt(f),
            Fault::Answer(error) => error.fmt(f),
        }
    }
}

impl From<Fault> for BackendError {
    fn from(fault: Fault) -> Self {
        Self(fault.to_string())
    }
}

impl Fault {
    /// Whether a program may be the reason: it has no such kernel, its launch fails, or its numbers are wrong.
    pub(super) fn may_be_of_program(&self) -> bool {
        match self {
            Fault::Answer(_) => true,
            Fault::Call(error @ Error::Call { purpose, .. }) => match purpose {
                Purpose::Kernels => true,
                Purpose::Object => !error.is_of_memory(),
                Purpose::Transfer => false,
            },
            Fault::Device(_) | Fault::Call(_) => false,
        }
    }
}
