//! The heads: what a model says of a position.

use super::layers::{Conv, Dense, Norm, activation, conv, dense, matmul, norm};
use super::tokens::Reader;
use crate::error::NetError;
use oncilla_opencl::graph::Activation;

/// The policy head: logits of moves.
///
/// With `x` the trunk's output and `g = pool(pooled_norm(pooled · x))`, pooled as in [`super::Block::Pooling`]: the
/// points' logits are `points · norm(conv · x + bias · g)`; those of a pass are what `pass` makes of `g`.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyHead {
    /// The convolution whose output stays on the board.
    pub conv: Conv,
    /// The convolution whose output is pooled.
    pub pooled: Conv,
    /// The norm of `pooled`'s output, before it is pooled.
    pub pooled_norm: Norm,
    /// From the pooled numbers to what is added to each point of `conv`'s output.
    pub bias: Dense,
    /// The norm of the sum.
    pub norm: Norm,
    /// From the normed sum to logits: one channel before version 12, then two, the plain and the optimistic policy, and
    /// in version 16 four; from version 17 on two or four, as the file says.
    pub points: Conv,
    /// From the pooled numbers to the logits of a pass: as many as `points` has channels.
    pub pass: Pass,
}

/// From the policy head's pooled numbers to the logits of a pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Pass {
    /// The layer before version 15.
    Linear(Dense),
    /// The layers from version 15 on.
    Hidden {
        /// The first layer, with a bias.
        first: Dense,
        /// The activation after `first`.
        activation: Activation,
        /// The second layer, without a bias.
        second: Dense,
    },
}

/// The value head: value, scores and ownership, all from the view of the player to move.
///
/// With `v = norm(conv · x)` of the trunk's output `x`, `h = activation(hidden · pool(v))`. Pooling makes all channels'
/// mean, all channels' mean·(s − 14)/10, and all channels' mean·((s − 14)²/100 − 0.1), with s the root of the board's
/// points.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueHead {
    /// The convolution of the trunk's output.
    pub conv: Conv,
    /// The norm of `conv`'s output.
    pub norm: Norm,
    /// From the pooled numbers to `h`.
    pub hidden: Dense,
    /// The activation after `hidden`.
    pub activation: Activation,
    /// From `h` to three logits: win, loss, no result.
    pub value: Dense,
    /// From `h` to the score's mean, its deviation, the lead, and how the value varies in time; from version 9 on also
    /// to the short-term errors of value and score. All these come before [`super::Multipliers`] and before what makes
    /// them positive.
    pub scores: Dense,
    /// From `v` to who owns each point, before the hyperbolic tangent.
    pub ownership: Conv,
}

impl PolicyHead {
    pub(super) fn read(reader: &mut Reader<'_>, trunk: usize) -> Result<Self, NetError> {
        reader.begin("the policy head")?;
        let logits = match reader.version {
            ..12 => 1,
            12..16 => 2,
            16 => 4,
            _ => Self::policies(reader)?,
        };
        let regular = conv(reader, trunk, None)?;
        let pooled = conv(reader, trunk, None)?;
        let pooled_norm = norm(reader, pooled.outputs)?;
        let bias = matmul(reader, 3 * pooled.outputs, Some(regular.outputs))?;
        let norm = norm(reader, regular.outputs)?;
        let points = conv(reader, regular.outputs, Some(logits))?;
        let pass = Pass::read(reader, 3 * pooled.outputs, logits)?;
        Ok(Self { conv: regular, pooled, pooled_norm, bias, norm, points, pass })
    }

    /// Reads the number of policies, and the places behind it that are kept free and must be 0.
    fn policies(reader: &mut Reader<'_>) -> Result<usize, NetError> {
        let policies = match reader.word("the number of policies")? {
            "2" => 2,
            "4" => 4,
            other => return Err(reader.unsupported(format_args!("expected 2 or 4 policies, got \"{other}\""))),
        };
        reader.zeros(3)?;
        Ok(policies)
    }
}

impl Pass {
    fn read(reader: &mut Reader<'_>, inputs: usize, logits: usize) -> Result<Self, NetError> {
        if reader.version < 15 {
            return Ok(Self::Linear(matmul(reader, inputs, Some(logits))?));
        }
        let first = dense(reader, inputs, None)?;
        let activation = activation(reader)?;
        let second = matmul(reader, first.outputs, Some(logits))?;
        Ok(Self::Hidden { first, activation, second })
    }
}

impl ValueHead {
    pub(super) fn read(reader: &mut Reader<'_>, trunk: usize) -> Result<Self, NetError> {
        reader.begin("the value head")?;
        let scores = if reader.version < 9 { 4 } else { 6 };
        if reader.version >= 17 {
            reader.zeros(3)?;
        }
        let first = conv(reader, trunk, None)?;
        let norm = norm(reader, first.outputs)?;
        let hidden = dense(reader, 3 * first.outputs, None)?;
        let activation = activation(reader)?;
        let value = dense(reader, hidden.outputs, Some(3))?;
        let scores = dense(reader, hidden.outputs, Some(scores))?;
        let ownership = conv(reader, first.outputs, Some(1))?;
        Ok(Self { conv: first, norm, hidden, activation, value, scores, ownership })
    }
}
