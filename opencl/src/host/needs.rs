//! The working memory of a plan's steps, beside the values that they read and write.

use super::plan::{Attention, Conv, ConvWeights, Dense, DenseWeights, GROUP, Step, at_once};
use super::product::{COLUMNS, MOST_BLOCKS, scores_room};
use super::winograd::PANEL;
use super::{columns, tiles, winograd};
use crate::graph::Shape;

/// A length that depends on whether several threads share a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    alone: usize,
    shared: usize,
}

impl Room {
    /// The same length for one thread and for several.
    fn either(len: usize) -> Self {
        Self { alone: len, shared: len }
    }

    pub fn of(self, shared: bool) -> usize {
        if shared { self.shared } else { self.alone }
    }

    fn most(self, other: Self) -> Self {
        Self { alone: self.alone.max(other.alone), shared: self.shared.max(other.shared) }
    }
}

/// Lengths of the buffers that a step works in; for several steps, the largest of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// Numbers of the points in Winograd's convolution, for as many positions as are computed at once.
    pub points: usize,
    /// Blocks of its products, for the panels that are made at once.
    pub products: Room,
    /// Fours of one position's input in eight bits.
    pub fours: usize,
    /// Operands of a convolution's input in tiles, for as many positions as are computed at once.
    pub right: usize,
    /// Operands of a dense layer's input in tiles.
    pub left: usize,
    /// Inputs of a dense layer that are mostly zeros, see [`Dense::sparse`].
    pub entries: usize,
    /// Parts of a dense layer's input, see [`Dense::parts`].
    pub parts: usize,
    /// Numbers for other intermediate results of a step.
    pub scratch: Room,
    /// Blocks for other intermediate results of a step.
    pub room: Room,
}

impl Needs {
    fn of(step: &Step) -> Self {
        match step {
            Step::Conv(conv) => Self::of_conv(conv),
            Step::Dense(dense) => Self::of_dense(dense),
            Step::Attention(attention) => Self::of_attention(attention),
            Step::Scores(scores) => {
                let Shape { squares, channels } = scores.key.shape;
                Self { room: Room::either(scores_room(squares, channels)), ..Self::default() }
            }
            // For each square, including borders, a mean and a scale; or only a scale.
            Step::LayerNorm(norm) => Self::of_scratch(2 * norm.input.len() / norm.input.shape.channels),
            Step::RmsNorm(norm) => Self::of_scratch(norm.input.shape.squares),
            Step::Gather(_)
            | Step::Constant { .. }
            | Step::Gate(_)
            | Step::Affine(_)
            | Step::Pool(_)
            | Step::Rotate(_)
            | Step::Multiply(_)
            | Step::Spread { .. }
            | Step::Collect { .. } => Self::default(),
        }
    }

    pub fn of_all(steps: &[Step]) -> Self {
        // A convolution's input has one part.
        steps.iter().map(Self::of).fold(Self { parts: 1, ..Self::default() }, Self::most)
    }

    fn most(self, other: Self) -> Self {
        Self {
            points: self.points.max(other.points),
            products: self.products.most(other.products),
            fours: self.fours.max(other.fours),
            right: self.right.max(other.right),
            left: self.left.max(other.left),
            entries: self.entries.max(other.entries),
            parts: self.parts.max(other.parts),
            scratch: self.scratch.most(other.scratch),
            room: self.room.most(other.room),
        }
    }

    fn of_scratch(len: usize) -> Self {
        Self { scratch: Room::either(len), ..Self::default() }
    }

    fn of_conv(conv: &Conv) -> Self {
        let of_squeeze = conv.se.as_ref().map_or(0, |se| se.hidden + se.b2.len() / 2 * 3);
        let needs = Self { right: at_once(conv.operands()) * conv.operands(), ..Self::of_scratch(of_squeeze) };
        let channels = conv.input.shape.channels;
        // Inputs of products, each for all squares.
        let columns = |inputs: usize| Room::either(conv.input.shape.squares.div_ceil(COLUMNS) * inputs);
        match &conv.weights {
            ConvWeights::Fours(..) | ConvWeights::PointwiseFours(..) => Self { fours: conv.fours(), ..needs },
            ConvWeights::Winograd(..) => {
                let (together, panels) = (winograd::together(conv.board), conv.output.shape.channels.div_ceil(PANEL));
                let alone = together * conv.products() * panels.min(MOST_BLOCKS);
                // A team makes all panels of a position together.
                let products = Room { alone, shared: alone.max(conv.products() * panels) };
                Self { points: together * conv.points(), products, ..needs }
            }
            ConvWeights::Pointwise(..) => Self { room: columns(channels), ..needs },
            ConvWeights::Columns(weights) => {
                let surrounded = Room::either(channels * columns::plane(weights.sides));
                Self { room: columns(channels * columns::TAPS), scratch: needs.scratch.most(surrounded), ..needs }
            }
            ConvWeights::Direct(..) | ConvWeights::Tiles(..) => needs,
        }
    }

    fn of_dense(dense: &Dense) -> Self {
        let entries = if dense.sparse { dense.part().0 } else { 0 };
        let needs = Self { parts: dense.parts, entries, ..Self::default() };
        match &*dense.weights {
            DenseWeights::Fours(..) => Self { fours: dense.parts * dense.part().0.div_ceil(4), ..needs },
            DenseWeights::Tiles(weights) => Self {
                left: (GROUP * dense.parts).div_ceil(tiles::ROWS) * weights.steps.len(),
                // A team collects the rows of a position before any is written.
                scratch: Room { alone: 0, shared: dense.parts * weights.units.len() * COLUMNS },
                ..needs
            },
            DenseWeights::Single(..) | DenseWeights::Linear(..) => needs,
        }
    }

    /// A team works on all heads at the same time.
    fn of_attention(attention: &Attention) -> Self {
        let room = attention.room();
        Self { room: Room { alone: room, shared: attention.heads * room }, ..Self::default() }
    }
}
