//! The encoder of what is known of a game's players: networks for human play have it.

use super::METADATA;
use super::layers::{Dense, activation, dense, matmul};
use super::tokens::Reader;
use crate::error::NetError;
use oncilla_opencl::graph::Activation;

/// From the [`METADATA`] to what is added to each point of the first convolution's output, beside what comes of the
/// globals: `last · second_activation(second · first_activation(first · metadata))`.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataEncoder {
    /// With a bias.
    pub first: Dense,
    /// What follows.
    pub first_activation: Activation,
    /// With a bias.
    pub second: Dense,
    /// What follows.
    pub second_activation: Activation,
    /// To the trunk's channels, without a bias.
    pub last: Dense,
}

impl MetadataEncoder {
    /// For a trunk of so many channels.
    pub(super) fn read(reader: &mut Reader<'_>, channels: usize) -> Result<Self, NetError> {
        reader.begin("the metadata encoder")?;
        reader.known("numbers of metadata", Some(METADATA))?;
        let first = dense(reader, METADATA, None)?;
        let first_activation = activation(reader)?;
        let second = dense(reader, first.outputs, None)?;
        let second_activation = activation(reader)?;
        let last = matmul(reader, second.outputs, Some(channels))?;
        Ok(Self { first, first_activation, second, second_activation, last })
    }
}
