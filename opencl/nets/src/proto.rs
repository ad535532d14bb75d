//! The messages of a network file, as far as they are read: names and numbers are those in Lc0's `net.proto`.
//!
//! Every message borrows the bytes of its weights; nothing is copied before its length has been checked.

use crate::container::MAGIC_NUMBER;
use crate::error::NetError;
use crate::wire::{Message, Value, merge};

/// The most residual blocks. No network has more, not even KataGo's; a hostile file has millions of empty ones.
pub(crate) const MAX_BLOCKS: usize = 1024;

/// The most encoder layers of a body or of one policy head.
pub(crate) const MAX_ENCODERS: usize = 256;

/// Appends a repeated message, still encoded.
fn push<'a>(list: &mut Vec<&'a [u8]>, most: usize, field: &str, value: Value<'a>) -> Result<(), NetError> {
    if list.len() == most {
        return Err(NetError::malformed(field, format!("expected at most {most} of them, got more")));
    }
    list.push(value.bytes(field)?);
    Ok(())
}

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
            // Field 5 is `dims`: the architecture gives the shape.
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
    /// The variances, in spite of the name.
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

/// Lc0's smolgen: from all squares to a bias for the attention of each head.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Smolgen<'a> {
    pub compress: Option<Layer<'a>>,
    pub dense1_w: Option<Layer<'a>>,
    pub dense1_b: Option<Layer<'a>>,
    pub ln1_gammas: Option<Layer<'a>>,
    pub ln1_betas: Option<Layer<'a>>,
    pub dense2_w: Option<Layer<'a>>,
    pub dense2_b: Option<Layer<'a>>,
    pub ln2_gammas: Option<Layer<'a>>,
    pub ln2_betas: Option<Layer<'a>>,
}

impl<'a> Message<'a> for Smolgen<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.compress, "compress", value),
            2 => merge(&mut self.dense1_w, "dense1_w", value),
            3 => merge(&mut self.dense1_b, "dense1_b", value),
            4 => merge(&mut self.ln1_gammas, "ln1_gammas", value),
            5 => merge(&mut self.ln1_betas, "ln1_betas", value),
            6 => merge(&mut self.dense2_w, "dense2_w", value),
            7 => merge(&mut self.dense2_b, "dense2_b", value),
            8 => merge(&mut self.ln2_gammas, "ln2_gammas", value),
            9 => merge(&mut self.ln2_betas, "ln2_betas", value),
            _ => Ok(()),
        }
    }
}

/// Attention with several heads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mha<'a> {
    pub q_w: Option<Layer<'a>>,
    pub q_b: Option<Layer<'a>>,
    pub k_w: Option<Layer<'a>>,
    pub k_b: Option<Layer<'a>>,
    pub v_w: Option<Layer<'a>>,
    pub v_b: Option<Layer<'a>>,
    pub dense_w: Option<Layer<'a>>,
    pub dense_b: Option<Layer<'a>>,
    pub smolgen: Option<Smolgen<'a>>,
    pub has_rpe: bool,
}

impl<'a> Message<'a> for Mha<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.q_w, "q_w", value),
            2 => merge(&mut self.q_b, "q_b", value),
            3 => merge(&mut self.k_w, "k_w", value),
            4 => merge(&mut self.k_b, "k_b", value),
            5 => merge(&mut self.v_w, "v_w", value),
            6 => merge(&mut self.v_b, "v_b", value),
            7 => merge(&mut self.dense_w, "dense_w", value),
            8 => merge(&mut self.dense_b, "dense_b", value),
            9 => merge(&mut self.smolgen, "smolgen", value),
            10..=12 => {
                self.has_rpe = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The two layers after an attention, square by square.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ffn<'a> {
    pub dense1_w: Option<Layer<'a>>,
    pub dense1_b: Option<Layer<'a>>,
    pub dense2_w: Option<Layer<'a>>,
    pub dense2_b: Option<Layer<'a>>,
}

impl<'a> Message<'a> for Ffn<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.dense1_w, "dense1_w", value),
            2 => merge(&mut self.dense1_b, "dense1_b", value),
            3 => merge(&mut self.dense2_w, "dense2_w", value),
            4 => merge(&mut self.dense2_b, "dense2_b", value),
            _ => Ok(()),
        }
    }
}

/// A layer of a transformer's encoder.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Encoder<'a> {
    pub mha: Option<Mha<'a>>,
    pub ln1_gammas: Option<Layer<'a>>,
    pub ln1_betas: Option<Layer<'a>>,
    pub ffn: Option<Ffn<'a>>,
    pub ln2_gammas: Option<Layer<'a>>,
    pub ln2_betas: Option<Layer<'a>>,
}

impl<'a> Message<'a> for Encoder<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.mha, "mha", value),
            2 => merge(&mut self.ln1_gammas, "ln1_gammas", value),
            3 => merge(&mut self.ln1_betas, "ln1_betas", value),
            4 => merge(&mut self.ffn, "ffn", value),
            5 => merge(&mut self.ln2_gammas, "ln2_gammas", value),
            6 => merge(&mut self.ln2_betas, "ln2_betas", value),
            _ => Ok(()),
        }
    }
}

/// A policy head of any kind: each kind uses its part.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyHead<'a> {
    pub ip_pol_w: Option<Layer<'a>>,
    pub ip_pol_b: Option<Layer<'a>>,
    /// The queries of an attention policy.
    pub ip2_pol_w: Option<Layer<'a>>,
    pub ip2_pol_b: Option<Layer<'a>>,
    /// The keys of an attention policy.
    pub ip3_pol_w: Option<Layer<'a>>,
    pub ip3_pol_b: Option<Layer<'a>>,
    /// What an attention policy adds for a promotion.
    pub ip4_pol_w: Option<Layer<'a>>,
    /// Encoder layers, each still encoded, at most [`MAX_ENCODERS`].
    pub encoders: Vec<&'a [u8]>,
    pub headcount: u64,
    pub policy1: Option<ConvBlock<'a>>,
    pub policy: Option<ConvBlock<'a>>,
}

impl<'a> Message<'a> for PolicyHead<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.ip_pol_w, "ip_pol_w", value),
            2 => merge(&mut self.ip_pol_b, "ip_pol_b", value),
            3 => merge(&mut self.ip2_pol_w, "ip2_pol_w", value),
            4 => merge(&mut self.ip2_pol_b, "ip2_pol_b", value),
            5 => merge(&mut self.ip3_pol_w, "ip3_pol_w", value),
            6 => merge(&mut self.ip3_pol_b, "ip3_pol_b", value),
            7 => merge(&mut self.ip4_pol_w, "ip4_pol_w", value),
            8 => push(&mut self.encoders, MAX_ENCODERS, "pol_encoder", value),
            9 => {
                self.headcount = value.varint("pol_headcount")?;
                Ok(())
            }
            10 => merge(&mut self.policy1, "policy1", value),
            11 => merge(&mut self.policy, "policy", value),
            _ => Ok(()),
        }
    }
}

/// The policy heads of a network with several.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicyHeads<'a> {
    pub ip_pol_w: Option<Layer<'a>>,
    pub ip_pol_b: Option<Layer<'a>>,
    pub vanilla: Option<PolicyHead<'a>>,
    pub optimistic: Option<PolicyHead<'a>>,
    pub soft: Option<PolicyHead<'a>>,
    pub opponent: Option<PolicyHead<'a>>,
}

impl<'a> Message<'a> for PolicyHeads<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.ip_pol_w, "ip_pol_w", value),
            2 => merge(&mut self.ip_pol_b, "ip_pol_b", value),
            3 => merge(&mut self.vanilla, "vanilla", value),
            4 => merge(&mut self.optimistic, "optimistic_st", value),
            5 => merge(&mut self.soft, "soft", value),
            6 => merge(&mut self.opponent, "opponent", value),
            _ => Ok(()),
        }
    }
}

/// A value head; `value` is the first layer of one on a convolutional tower, `ip_val` of one on an attention body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueHead<'a> {
    pub ip_val_w: Option<Layer<'a>>,
    pub ip_val_b: Option<Layer<'a>>,
    pub ip1_val_w: Option<Layer<'a>>,
    pub ip1_val_b: Option<Layer<'a>>,
    pub ip2_val_w: Option<Layer<'a>>,
    pub ip2_val_b: Option<Layer<'a>>,
    /// The error that the head expects its value to have.
    pub ip_val_err_w: Option<Layer<'a>>,
    pub ip_val_err_b: Option<Layer<'a>>,
    pub value: Option<ConvBlock<'a>>,
}

impl<'a> Message<'a> for ValueHead<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.ip_val_w, "ip_val_w", value),
            2 => merge(&mut self.ip_val_b, "ip_val_b", value),
            3 => merge(&mut self.ip1_val_w, "ip1_val_w", value),
            4 => merge(&mut self.ip1_val_b, "ip1_val_b", value),
            5 => merge(&mut self.ip2_val_w, "ip2_val_w", value),
            6 => merge(&mut self.ip2_val_b, "ip2_val_b", value),
            7 => merge(&mut self.ip_val_err_w, "ip_val_err_w", value),
            8 => merge(&mut self.ip_val_err_b, "ip_val_err_b", value),
            11 => merge(&mut self.value, "value", value),
            _ => Ok(()),
        }
    }
}

/// The value heads of a network with several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueHeads<'a> {
    pub winner: Option<ValueHead<'a>>,
    pub q: Option<ValueHead<'a>>,
    pub st: Option<ValueHead<'a>>,
}

impl<'a> Message<'a> for ValueHeads<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        match number {
            1 => merge(&mut self.winner, "winner", value),
            2 => merge(&mut self.q, "q", value),
            3 => merge(&mut self.st, "st", value),
            _ => Ok(()),
        }
    }
}

/// How the squares of a position become the tokens of an attention body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Embedding<'a> {
    pub ip_emb_w: Option<Layer<'a>>,
    pub ip_emb_b: Option<Layer<'a>>,
    pub ip_mult_gate: Option<Layer<'a>>,
    pub ip_add_gate: Option<Layer<'a>>,
    pub ip_emb_preproc_w: Option<Layer<'a>>,
    pub ip_emb_preproc_b: Option<Layer<'a>>,
    pub ip_emb_ln_gammas: Option<Layer<'a>>,
    pub ip_emb_ln_betas: Option<Layer<'a>>,
    pub ip_emb_ffn: Option<Ffn<'a>>,
    pub ip_emb_ffn_ln_gammas: Option<Layer<'a>>,
    pub ip_emb_ffn_ln_betas: Option<Layer<'a>>,
}

/// The moves-left head; `moves_left` is the first layer of one on a convolutional tower, `ip_mov` of one on an
/// attention body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MovesLeft<'a> {
    pub moves_left: Option<ConvBlock<'a>>,
    pub ip_mov_w: Option<Layer<'a>>,
    pub ip_mov_b: Option<Layer<'a>>,
    pub ip1_mov_w: Option<Layer<'a>>,
    pub ip1_mov_b: Option<Layer<'a>>,
    pub ip2_mov_w: Option<Layer<'a>>,
    pub ip2_mov_b: Option<Layer<'a>>,
}

/// Everything a network has learnt. The single heads of a network without head messages are in the same structures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weights<'a> {
    pub input: Option<ConvBlock<'a>>,
    /// Blocks, each still encoded: an empty one is two bytes in the file and would be half a kilobyte here. At most
    /// [`MAX_BLOCKS`].
    pub residual: Vec<&'a [u8]>,
    pub policy: PolicyHead<'a>,
    pub value: ValueHead<'a>,
    pub moves_left: MovesLeft<'a>,
    pub policy_heads: Option<PolicyHeads<'a>>,
    pub value_heads: Option<ValueHeads<'a>>,
    pub embedding: Embedding<'a>,
    /// Encoder layers of an attention body, each still encoded, at most [`MAX_ENCODERS`].
    pub encoders: Vec<&'a [u8]>,
    /// Number of heads of their attention.
    pub headcount: u64,
    /// The weights that the smolgens of all encoder layers share.
    pub smolgen_w: Option<Layer<'a>>,
}

impl<'a> Message<'a> for Weights<'a> {
    fn set(&mut self, number: u64, value: Value<'a>) -> Result<(), NetError> {
        let (policy, val, left) = (&mut self.policy, &mut self.value, &mut self.moves_left);
        let embedding = &mut self.embedding;
        match number {
            1 => merge(&mut self.input, "input", value),
            2 => push(&mut self.residual, MAX_BLOCKS, "residual", value),
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
            17 => merge(&mut policy.ip2_pol_w, "ip2_pol_w", value),
            18 => merge(&mut policy.ip2_pol_b, "ip2_pol_b", value),
            19 => merge(&mut policy.ip3_pol_w, "ip3_pol_w", value),
            20 => merge(&mut policy.ip3_pol_b, "ip3_pol_b", value),
            21 => push(&mut policy.encoders, MAX_ENCODERS, "pol_encoder", value),
            22 => merge(&mut policy.ip4_pol_w, "ip4_pol_w", value),
            24 => {
                policy.headcount = value.varint("pol_headcount")?;
                Ok(())
            }
            25 => merge(&mut embedding.ip_emb_w, "ip_emb_w", value),
            26 => merge(&mut embedding.ip_emb_b, "ip_emb_b", value),
            27 => push(&mut self.encoders, MAX_ENCODERS, "encoder", value),
            28 => {
                self.headcount = value.varint("headcount")?;
                Ok(())
            }
            29 => merge(&mut val.ip_val_w, "ip_val_w", value),
            30 => merge(&mut val.ip_val_b, "ip_val_b", value),
            31 => merge(&mut left.ip_mov_w, "ip_mov_w", value),
            32 => merge(&mut left.ip_mov_b, "ip_mov_b", value),
            33 => merge(&mut embedding.ip_mult_gate, "ip_mult_gate", value),
            34 => merge(&mut embedding.ip_add_gate, "ip_add_gate", value),
            35 => merge(&mut self.smolgen_w, "smolgen_w", value),
            37 => merge(&mut embedding.ip_emb_preproc_w, "ip_emb_preproc_w", value),
            38 => merge(&mut embedding.ip_emb_preproc_b, "ip_emb_preproc_b", value),
            39 => merge(&mut embedding.ip_emb_ln_gammas, "ip_emb_ln_gammas", value),
            40 => merge(&mut embedding.ip_emb_ln_betas, "ip_emb_ln_betas", value),
            41 => merge(&mut embedding.ip_emb_ffn, "ip_emb_ffn", value),
            42 => merge(&mut embedding.ip_emb_ffn_ln_gammas, "ip_emb_ffn_ln_gammas", value),
            43 => merge(&mut embedding.ip_emb_ffn_ln_betas, "ip_emb_ffn_ln_betas", value),
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

/// Which architecture the network has, as numbers of the file's enumerations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NetworkFormat {
    pub input: u64,
    pub output: u64,
    pub network: u64,
    pub policy: u64,
    pub value: u64,
    pub moves_left: u64,
    pub default_activation: u64,
    pub smolgen_activation: u64,
    pub ffn_activation: u64,
    pub input_embedding: Option<u64>,
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
            8 => self.smolgen_activation = value.varint("smolgen_activation")?,
            9 => self.ffn_activation = value.varint("ffn_activation")?,
            10 => self.input_embedding = Some(value.varint("input_embedding")?),
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

/// How the network was trained.
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
            1 => match value.fixed32("magic")? {
                MAGIC_NUMBER => {}
                got => return Err(NetError::malformed("magic", format!("expected {MAGIC_NUMBER:#x}, got {got:#x}"))),
            },
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

    fn name(number: u64) -> String {
        let known = match number {
            1 => "magic",
            2 => "license",
            3 => "min_version",
            4 => "format",
            5 => "training_params",
            10 => "weights",
            11 => "onnx_model",
            _ => return format!("field {number}"),
        };
        known.to_string()
    }
}
