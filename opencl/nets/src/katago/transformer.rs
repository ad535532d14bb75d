//! Blocks for which each point of the board is a token: attention between them, and a gated linear unit for each.
//!
//! Version 17 has them, among other blocks and in nested ones.

use super::layers::{Dense, matmul};
use super::tokens::Reader;
use crate::error::NetError;
use oncilla_opencl::graph::Activation;

/// `x / √(mean of x² + ε) · weights`, where the mean is over the channels of each point.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenNorm {
    /// ε, above 0.
    pub epsilon: f32,
    /// `[channels]`.
    pub weights: Vec<f32>,
}

/// The norm behind the last block in place of a batch norm: `activation(x / √(mean of x² + ε) · scale + shift)`.
#[derive(Clone, Debug, PartialEq)]
pub struct RmsNorm {
    /// ε, above 0.
    pub epsilon: f32,
    /// Whether there is one mean over all channels and points (`spatial`), or one for each point over its channels.
    pub whole: bool,
    /// `[channels]`.
    pub scale: Vec<f32>,
    /// `[channels]`.
    pub shift: Vec<f32>,
    /// The activation that follows.
    pub activation: Activation,
}

/// `transformer_attention_block`: adds `output · attention(query · y, key · y, value · y)` to its input, with `y` the
/// normed input.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// The norm of the input.
    pub norm: TokenNorm,
    /// Number of heads of the queries.
    pub heads: usize,
    /// Number of heads of the keys and values, a divisor of `heads`: each is shared by `heads / key_heads` neighbouring
    /// heads of queries.
    pub key_heads: usize,
    /// To [`Attention::depth`] channels for each of `heads` heads. A product of query and key is divided by the root of
    /// that depth.
    pub query: Dense,
    /// To as many channels for each of `key_heads` heads.
    pub key: Dense,
    /// To some number of channels, another one perhaps, for each of `key_heads` heads.
    pub value: Dense,
    /// From `heads` times as many channels as a head's value has.
    pub output: Dense,
    /// How queries and keys are told their place on the board.
    pub rotation: Rotation,
}

/// The angles by which pairs of neighbouring channels of a head's queries and keys are turned at a point `(x, y)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Rotation {
    /// Nothing is turned.
    None,
    /// The first half of a head's `n` pairs, rounded down, is turned by `y · θ^(−2p/n)`, the others by `x · θ^(−2p/n)`,
    /// with `p` counted from 0 in each half.
    Fixed {
        /// θ, above 0.
        theta: f32,
    },
    /// Pairs are turned by `x · a + y · b`, with `[key_heads][pairs]` of `[a, b]`.
    Learnt(Vec<[f32; 2]>),
}

/// `transformer_ffn_block`: adds `last · (swish(first · y) ∘ gate · y)` to its input, with `y` the normed input.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedForward {
    /// The norm of the input.
    pub norm: TokenNorm,
    /// To the block's own width.
    pub first: Dense,
    /// To the block's own width, too.
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

    /// Number of channels of a head's query and key.
    pub fn depth(&self) -> usize {
        self.query.outputs / self.heads
    }

    /// The angles of each pair of the queries' channels at each point of a board, `[heads · pairs][height][width]` in
    /// radians; `None` if nothing is turned. The angles of keys are the same, once there are as many heads of them.
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
