//! How numbers are stored on a device.

use std::fmt;

/// How numbers are stored on the device. Sums are in single precision, and of whole numbers exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Everything in single precision.
    #[default]
    Fp32,
    /// The weights of convolutions, dense layers and smolgens in half precision: they take half the memory, and half as
    /// much is read.
    Fp16,
    /// Single precision, except for the layers that the graph has in eight bits, see [`crate::int8`].
    Int8,
}

impl Precision {
    /// How far an output may be from the host's, as a share of its largest number if that is above one: see
    /// [`crate::compare::relative_error`].
    pub fn bound(self) -> f32 {
        match self {
            Precision::Fp32 => 1e-4,
            Precision::Fp16 => 1e-2,
            // A number half way between two whole ones falls to one side here and to the other there.
            Precision::Int8 => 5e-2,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::Fp32 => "fp32",
            Precision::Fp16 => "fp16",
            Precision::Int8 => "int8",
        })
    }
}
