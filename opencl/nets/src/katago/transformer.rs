//! Blocks to which each point of the board is a token: attention between them, and a gated linear unit for each.
//!
//! Version 17 has them, between other blocks and in nested ones.

use super::layers::{Dense, matmul};
use super::tokens::Reader;
use crate::error::NetError;
use oncilla_opencl::graph::Activation;

/// `x / √(mean of x² + ε) · weights`, for each point over its channels.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenNorm {
    /// ε, above 0.
    pub epsilon: f32,
    /// `[channels]`.
    pub weights: Vec<f32>,
}

/// What stands behind the last block in the place of a batch norm: `activation(x / √(mean of x² + ε) · scale + shift)`.
#[derive(Clone, Debug, PartialEq)]
pub struct RmsNorm {
    /// ε, above 0.
    pub epsilon: f32,
    /// Whether the mean is one over all channels and points (`spatial`), or each point has its own over its channels.
    pub whole: bool,
    /// `[channels]`.
    pub scale: Vec<f32>,
    /// `[channels]`.
    pub shift: Vec<f32>,
    /// What follows.
    pub activation: Activation,
}

/// `transformer_attention_block`: adds to its input `output · attention(query · y, key · y, value · y)` of the normed
/// input `y`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Of the input.
    pub norm: TokenNorm,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values, which divide those: each is shared by `heads / key_heads` neighbouring queries'.
    pub key_heads: usize,
    /// To `heads` times some channels. A product is divided by the root of a head's channels.
    pub query: Dense,
    /// To `key_heads` times as many.
    pub key: Dense,
    /// To `key_heads` times some others.
    pub value: Dense,
    /// From `heads` times those.
    pub output: Dense,
    /// How queries and keys are told where they are.
    pub rotation: Rotation,
}

/// The angles by which pairs of neighbouring channels of a head's queries and keys are turned at a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Rotation {
    /// None.
    None,
    /// Of `n` pairs the first half, rounded down, by `y · θ^(−2p/n)`, the others by `x` in the same way, each half
    /// counted from 0.
    Fixed {
        /// θ, above 0.
        theta: f32,
    },
    /// By `x · a + y · b`, with `[key_heads][pairs]` of `[a, b]`.
    Learnt(Vec<[f32; 2]>),
}

/// `transformer_ffn_block`: adds to its input `last · (swish(first · y) ∘ gate · y)` of the normed input `y`.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedForward {
    /// Of the input.
    pub norm: TokenNorm,
    /// To the block's own width.
    pub first: Dense,
    /// Likewise.
    pub gate: Dense,
    /// Back to the input's width.
    pub last: Dense,
}

impl TokenNorm {
    fn read(reader: &mut Reader<'_>, channels: usize) -> Result<Self, NetError> {
        reader.begin("a norm")?;
        reader.known("channels", Some(channels))?;
        let epsilon = epsilon(reader)?;
        Ok(Self { epsilon, weights: reader.numbers(&[channels], |n| n)? })
    }
}

impl RmsNorm {
    pub(super) fn read(reader: &mut Reader<'_>, channels: usize) -> Result<Self, NetError> {
        reader.begin("a norm")?;
        reader.known("channels", Some(channels))?;
        let epsilon = epsilon(reader)?;
        let whole = reader.flag("whether the norm is over the whole board")?;
        match reader.word("the channels of a group")? {
            "0" => {}
            other => {
                let what = format_args!("expected all channels in one group, 0, got groups of \"{other}\"");
                return Err(reader.unsupported(what));
            }
        }
        let (scale, shift) = (reader.numbers(&[channels], |n| n)?, reader.numbers(&[channels], |n| n)?);
        Ok(Self { epsilon, whole, scale, shift, activation: super::layers::activation(reader)? })
    }
}

fn epsilon(reader: &mut Reader<'_>) -> Result<f32, NetError> {
    let epsilon = reader.float("epsilon")?;
    match epsilon > 0.0 && epsilon <= 1.0 {
        true => Ok(epsilon),
        false => Err(reader.malformed(format_args!("expected an epsilon above 0, at most 1, got {epsilon}"))),
    }
}

impl Attention {
    pub(super) fn read(reader: &mut Reader<'_>, channels: usize) -> Result<Self, NetError> {
        reader.begin("a block")?;
        let heads = reader.channels("heads")?;
        let key_heads = reader.channels("heads of keys")?;
        if !heads.is_multiple_of(key_heads) {
            let what = format_args!("expected heads of keys that divide {heads} heads, got {key_heads}");
            return Err(reader.malformed(what));
        }
        let depth = reader.channels("channels of a head's query")?;
        let width = reader.channels("channels of a head's value")?;
        let turns = reader.flag("whether positions turn channels")?;
        let learns = reader.flag("whether angles are learnt")?;
        if turns && depth % 2 != 0 {
            return Err(reader.malformed(format_args!("expected pairs of a head's channels, got {depth} channels")));
        }
        let norm = TokenNorm::read(reader, channels)?;
        let query = matmul(reader, channels, Some(heads.saturating_mul(depth)))?;
        let key = matmul(reader, channels, Some(key_heads.saturating_mul(depth)))?;
        let value = matmul(reader, channels, Some(key_heads.saturating_mul(width)))?;
        let output = matmul(reader, heads.saturating_mul(width), Some(channels))?;
        let rotation = if turns { Rotation::read(reader, key_heads, depth / 2, learns)? } else { Rotation::None };
        Ok(Self { norm, heads, key_heads, query, key, value, output, rotation })
    }

    /// Channels of a head's query and key.
    pub fn depth(&self) -> usize {
        self.query.outputs / self.heads
    }

    /// The angles of each pair of the queries' channels at each point of a board, `[heads · pairs][height][width]` in
    /// radians; none where nothing is turned. What keys have is the same, once their heads are as many.
    pub fn angles(&self, height: usize, width: usize) -> Option<Vec<f32>> {
        let (pairs, group) = (self.depth() / 2, self.heads / self.key_heads);
        let of_pair = |head: usize, pair: usize| match &self.rotation {
            Rotation::None => [0.0; 2],
            Rotation::Learnt(frequencies) => frequencies[head / group * pairs + pair],
            Rotation::Fixed { theta } => {
                let along_y = pair < pairs / 2;
                let number = if along_y { pair } else { pair - pairs / 2 };
                let frequency = theta.powf(-((2 * number) as f32) / pairs as f32);
                if along_y { [0.0, frequency] } else { [frequency, 0.0] }
            }
        };
        let all = (0..self.heads).flat_map(|head| (0..pairs).map(move |pair| (head, pair)));
        let at_points =
            |[a, b]: [f32; 2]| (0..height * width).map(move |at| (at % width) as f32 * a + (at / width) as f32 * b);
        let angles = all.flat_map(|(head, pair)| at_points(of_pair(head, pair)));
        (self.rotation != Rotation::None).then(|| angles.collect())
    }
}

impl Rotation {
    fn read(reader: &mut Reader<'_>, heads: usize, pairs: usize, learns: bool) -> Result<Self, NetError> {
        reader.begin("angles")?;
        if !learns {
            let theta = reader.float("theta")?;
            return match theta > 0.0 {
                true => Ok(Self::Fixed { theta }),
                false => Err(reader.malformed(format_args!("expected a theta above 0, got {theta}"))),
            };
        }
        reader.known("heads of keys", Some(heads))?;
        reader.known("pairs of channels", Some(pairs))?;
        reader.known("frequencies of a pair", Some(2))?;
        let frequencies = reader.numbers(&[heads, pairs, 2], |n| n)?;
        Ok(Self::Learnt(frequencies.as_chunks().0.to_vec()))
    }
}

impl FeedForward {
    pub(super) fn read(reader: &mut Reader<'_>, channels: usize) -> Result<Self, NetError> {
        reader.begin("a block")?;
        reader.known("channels", Some(channels))?;
        let width = reader.channels("channels between")?;
        if !reader.flag("whether there is a gate")? {
            return Err(reader.unsupported("expected a gated linear unit, 1, got a block without a gate, 0"));
        }
        let norm = TokenNorm::read(reader, channels)?;
        let first = matmul(reader, channels, Some(width))?;
        let gate = matmul(reader, channels, Some(width))?;
        let last = matmul(reader, width, Some(channels))?;
        Ok(Self { norm, first, gate, last })
    }
}
