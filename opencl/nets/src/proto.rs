//! The messages of a network file, as far as they are read: names and numbers are those of Lc0's `net.proto`.
//!
//! Every message borrows the bytes of its weights; nothing is copied before its length has been checked.

use crate::error::NetError;
use crate::wire::{Message, Value, merge};

/// More blocks than this no network has; a hostile file has millions of empty ones.
pub(crate) const MAX_BLOCKS: usize = 1024;

/// One array of weights, still encoded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layer<'a> {
    pub min_val: f32,
    pub max_val: f32,
    pub params: &'a [u8],
    pub encoding: Option<u64>,
}

impl<'a> Message<'a> for Layer<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => self.min_val = value.float("min_val")?,
            2 => self.max_val = value.float("max_val")?,
            3 => self.params = value.bytes("params")?,
            4 => self.encoding = Some(value.varint("encoding")?),
            // 5 is `dims`: the architecture says the shape.
            _ => {}
        }
        Ok(())
    }
}

/// A convolution and the batch norm behind it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConvBlock<'a> {
    pub weights: Option<Layer<'a>>,
    pub biases: Option<Layer<'a>>,
    pub bn_means: Option<Layer<'a>>,
    /// Variances, whatever the name says.
    pub bn_stddivs: Option<Layer<'a>>,
    pub bn_gammas: Option<Layer<'a>>,
    pub bn_betas: Option<Layer<'a>>,
}

impl<'a> Message<'a> for ConvBlock<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.weights, "weights", value),
            2 => merge(&mut self.biases, "biases", value),
            3 => merge(&mut self.bn_means, "bn_means", value),
            4 => merge(&mut self.bn_stddivs, "bn_stddivs", value),
            5 => merge(&mut self.bn_gammas, "bn_gammas", value),
            6 => merge(&mut self.bn_betas, "bn_betas", value),
            _ => Ok(()),
        }
    }
}

/// Squeeze and excitation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SeUnit<'a> {
    pub w1: Option<Layer<'a>>,
    pub b1: Option<Layer<'a>>,
    pub w2: Option<Layer<'a>>,
    pub b2: Option<Layer<'a>>,
}

impl<'a> Message<'a> for SeUnit<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.w1, "w1", value),
            2 => merge(&mut self.b1, "b1", value),
            3 => merge(&mut self.w2, "w2", value),
            4 => merge(&mut self.b2, "b2", value),
            _ => Ok(()),
        }
    }
}

/// A residual block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Residual<'a> {
    pub conv1: Option<ConvBlock<'a>>,
    pub conv2: Option<ConvBlock<'a>>,
    pub se: Option<SeUnit<'a>>,
}

impl<'a> Message<'a> for Residual<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.conv1, "conv1", value),
            2 => merge(&mut self.conv2, "conv2", value),
            3 => merge(&mut self.se, "se", value),
            _ => Ok(()),
        }
    }
}

/// A policy head of a network with several; its convolutional and classical parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PolicyHead<'a> {
    pub ip_pol_w: Option<Layer<'a>>,
    pub ip_pol_b: Option<Layer<'a>>,
    pub policy1: Option<ConvBlock<'a>>,
    pub policy: Option<ConvBlock<'a>>,
}

impl<'a> Message<'a> for PolicyHead<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.ip_pol_w, "ip_pol_w", value),
            2 => merge(&mut self.ip_pol_b, "ip_pol_b", value),
            10 => merge(&mut self.policy1, "policy1", value),
            11 => merge(&mut self.policy, "policy", value),
            _ => Ok(()),
        }
    }
}

/// The policy heads of a network with several, of which `vanilla` is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PolicyHeads<'a> {
    pub ip_pol_w: Option<Layer<'a>>,
    pub ip_pol_b: Option<Layer<'a>>,
    pub vanilla: Option<PolicyHead<'a>>,
}

impl<'a> Message<'a> for PolicyHeads<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.ip_pol_w, "ip_pol_w", value),
            2 => merge(&mut self.ip_pol_b, "ip_pol_b", value),
            3 => merge(&mut self.vanilla, "vanilla", value),
            _ => Ok(()),
        }
    }
}

/// A value head of a network with several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueHead<'a> {
    pub ip1_val_w: Option<Layer<'a>>,
    pub ip1_val_b: Option<Layer<'a>>,
    pub ip2_val_w: Option<Layer<'a>>,
    pub ip2_val_b: Option<Layer<'a>>,
    pub value: Option<ConvBlock<'a>>,
}

impl<'a> Message<'a> for ValueHead<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            3 => merge(&mut self.ip1_val_w, "ip1_val_w", value),
            4 => merge(&mut self.ip1_val_b, "ip1_val_b", value),
            5 => merge(&mut self.ip2_val_w, "ip2_val_w", value),
            6 => merge(&mut self.ip2_val_b, "ip2_val_b", value),
            11 => merge(&mut self.value, "value", value),
            _ => Ok(()),
        }
    }
}

/// The value heads of a network with several, of which `winner` is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueHeads<'a> {
    pub winner: Option<ValueHead<'a>>,
}

impl<'a> Message<'a> for ValueHeads<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.winner, "winner", value),
            _ => Ok(()),
        }
    }
}

/// The moves-left head: a convolution and two dense layers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MovesLeft<'a> {
    pub moves_left: Option<ConvBlock<'a>>,
    pub ip1_mov_w: Option<Layer<'a>>,
    pub ip1_mov_b: Option<Layer<'a>>,
    pub ip2_mov_w: Option<Layer<'a>>,
    pub ip2_mov_b: Option<Layer<'a>>,
}

/// Everything a network has learnt. The single heads of a network without head messages stand in the same structures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights<'a> {
    pub input: Option<ConvBlock<'a>>,
    /// Each block still as bytes: an empty one is two bytes in the file and would be half a kilobyte here.
    /// At most [`MAX_BLOCKS`].
    pub residual: Vec<&'a [u8]>,
    pub policy: PolicyHead<'a>,
    pub value: ValueHead<'a>,
    pub moves_left: MovesLeft<'a>,
    pub policy_heads: Option<PolicyHeads<'a>>,
    pub value_heads: Option<ValueHeads<'a>>,
    /// Encoder layers of an attention body.
    pub encoders: usize,
    pub has_embedding: bool,
}

impl<'a> Message<'a> for Weights<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        let (policy, val, left) = (&mut self.policy, &mut self.value, &mut self.moves_left);
        match number {
            1 => merge(&mut self.input, "input", value),
            2 => {
                if self.residual.len() == MAX_BLOCKS {
                    return Err(NetError::malformed(
                        "residual",
                        format!("expected at most {MAX_BLOCKS} blocks, got more"),
                    ));
                }
                self.residual.push(value.bytes("residual")?);
                Ok(())
            }
            3 => merge(&mut policy.policy, "policy", value),
            4 => merge(&mut policy.ip_pol_w, "ip_pol_w", value),
            5 => merge(&mut policy.ip_pol_b, "ip_pol_b", value),
            6 => merge(&mut val.value, "value", value),
            7 => merge(&mut val.ip1_val_w, "ip1_val_w", value),
            8 => merge(&mut val.ip1_val_b, "ip1_val_b", value),
            9 => merge(&mut val.ip2_val_w, "ip2_val_w", value),
            10 => merge(&mut val.ip2_val_b, "ip2_val_b", value),
            11 => merge(&mut policy.policy1, "policy1", value),
            12 => merge(&mut left.moves_left, "moves_left", value),
            13 => merge(&mut left.ip1_mov_w, "ip1_mov_w", value),
            14 => merge(&mut left.ip1_mov_b, "ip1_mov_b", value),
            15 => merge(&mut left.ip2_mov_w, "ip2_mov_w", value),
            16 => merge(&mut left.ip2_mov_b, "ip2_mov_b", value),
            25 | 26 => {
                self.has_embedding = true;
                Ok(())
            }
            27 => {
                self.encoders += 1;
                Ok(())
            }
            44 => merge(&mut self.value_heads, "value_heads", value),
            45 => merge(&mut self.policy_heads, "policy_heads", value),
            _ => Ok(()),
        }
    }
}

/// The oldest Lc0 that can read the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Version {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
}

impl<'a> Message<'a> for Version {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => self.major = value.varint("major")?,
            2 => self.minor = value.varint("minor")?,
            3 => self.patch = value.varint("patch")?,
            _ => {}
        }
        Ok(())
    }
}

/// Which architecture it is, as numbers of the file's enumerations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NetworkFormat {
    pub input: u64,
    pub output: u64,
    pub network: u64,
    pub policy: u64,
    pub value: u64,
    pub moves_left: u64,
    pub default_activation: u64,
}

impl<'a> Message<'a> for NetworkFormat {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => self.input = value.varint("input")?,
            2 => self.output = value.varint("output")?,
            3 => self.network = value.varint("network")?,
            4 => self.policy = value.varint("policy")?,
            5 => self.value = value.varint("value")?,
            6 => self.moves_left = value.varint("moves_left")?,
            7 => self.default_activation = value.varint("default_activation")?,
            _ => {}
        }
        Ok(())
    }
}

/// Encoding of the weights and architecture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Format {
    pub weights_encoding: u64,
    pub network_format: Option<NetworkFormat>,
}

impl<'a> Message<'a> for Format {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => self.weights_encoding = value.varint("weights_encoding")?,
            2 => merge(&mut self.network_format, "network_format", value)?,
            _ => {}
        }
        Ok(())
    }
}

/// How the network came about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrainingParams {
    pub training_steps: u64,
}

impl<'a> Message<'a> for TrainingParams {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        if number == 1 {
            self.training_steps = value.varint("training_steps")?;
        }
        Ok(())
    }
}

/// The file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Net<'a> {
    pub magic: Option<u32>,
    pub license: &'a [u8],
    pub min_version: Option<Version>,
    pub format: Option<Format>,
    pub training_params: Option<TrainingParams>,
    pub weights: Option<Weights<'a>>,
    pub has_onnx_model: bool,
}

impl<'a> Message<'a> for Net<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => self.magic = Some(value.fixed32("magic")?),
            2 => self.license = value.bytes("license")?,
            3 => merge(&mut self.min_version, "min_version", value)?,
            4 => merge(&mut self.format, "format", value)?,
            5 => merge(&mut self.training_params, "training_params", value)?,
            10 => merge(&mut self.weights, "weights", value)?,
            11 => self.has_onnx_model = true,
            _ => {}
        }
        Ok(())
    }
}
