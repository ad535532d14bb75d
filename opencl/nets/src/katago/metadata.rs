//! The encoder of what is known of a game's players, which networks for human play have.

use super::METADATA;
use super::layers::{Dense, activation, dense, matmul};
use super::tokens::Reader;
use crate::error::NetError;
use oncilla_opencl::graph::Activation;

/// From the [`METADATA`] numbers to what is added to each point of the first convolution's output, in addition to what
/// the globals give: `last · second_activation(second · first_activation(first · metadata))`.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataEncoder {
    /// The first layer, with a bias.
    pub first: Dense,
    /// The activation after `first`.
    pub first_activation: Activation,
    /// The second layer, with a bias.
    pub second: Dense,
    /// The activation after `second`.
    pub second_activation: Activation,
    /// The last layer, to the trunk's channels, without a bias.
    pub last: Dense,
}

impl MetadataEncoder {
    /// Reads the encoder for a trunk of `channels` channels.
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
