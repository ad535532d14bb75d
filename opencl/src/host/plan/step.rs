//! Layers with packed weights, and where their values are.

use super::Place;
use crate::graph::Activation;
use crate::host::board::{Board, LANES};
use crate::host::direct::TILE;
use crate::host::fours::{self, Four};
use crate::host::linear::{Linear, Shorts};
use crate::host::product::{Block, attention_room};
use crate::host::tiles::{self, Layout, Operand, Steps};
use crate::host::winograd::{self, PANEL, POINTS};
use std::sync::Arc;

/// A convolution with packed weights.
pub(in crate::host) struct Conv {
    pub input: Place,
    pub output: Place,
    /// Layout of input, output and residual, if they are boards.
    pub board: Board,
    pub weights: ConvWeights,
    /// `[panels]`.
    pub bias: Vec<[f32; TILE]>,
    pub se: Option<Se>,
    pub residual: Option<Place>,
    pub activation: Activation,
}

impl Conv {
    /// How many fours one position's input has, if it is in fours.
    pub fn fours(&self) -> usize {
        self.input.shape.channels.div_ceil(4) * self.room()
    }

    /// How many fours a plane of its input takes, if it is in fours: a board, or squares filled up to whole panels.
    pub fn room(&self) -> usize {
        match self.weights {
            ConvWeights::PointwiseFours(..) => self.input.shape.squares.next_multiple_of(fours::PANEL),
            _ => self.board.plane,
        }
    }

    /// How many operands one position's input has, if it is in tiles.
    pub fn operands(&self) -> usize {
        match &self.weights {
            ConvWeights::Tiles(tiles) => tiles.layout.of(self.input.shape.channels),
            _ => 0,
        }
    }

    /// How many numbers one position's points have, if it is Winograd's.
    pub fn points(&self) -> usize {
        self.input.shape.channels.next_multiple_of(LANES) * POINTS * winograd::tiles(self.board)
    }

    /// How many blocks a panel's products have for one position, if it is Winograd's.
    pub fn products(&self) -> usize {
        POINTS * winograd::tiles(self.board)
    }
}

/// How a convolution is computed, and its weights for that.
pub(in crate::host) enum ConvWeights {
    /// 1×1, see [`crate::host::product::Pointwise::weights`]; the elements of all values are side by side.
    Pointwise(Vec<f32>),
    /// 5×5: like 1×1, with each tap of an input as an input of its own; the elements of all values are side by side.
    Columns(ColumnWeights),
    /// `[panels]` of what [`crate::host::direct::ConvPanel::weights`] describes.
    Direct(Vec<f32>),
    /// See [`crate::host::winograd`].
    Winograd(WinogradWeights),
    /// In tiles, on a chessboard: see [`crate::host::tiles`].
    Tiles(TileWeights),
    /// In eight bits: see [`crate::host::fours::ConvPanels`].
    Fours(FourWeights),
    /// 1×1 in eight bits, see [`crate::host::fours::Pointwise`]; the elements of all values are side by side.
    PointwiseFours(PointwiseFourWeights),
}

/// The weights of a 5×5 convolution.
pub(in crate::host) struct ColumnWeights {
    /// Ranks and files of the board.
    pub sides: (usize, usize),
    /// See [`crate::host::product::Pointwise::weights`].
    pub weights: Vec<f32>,
}

/// A convolution's weights in Winograd's form.
pub(in crate::host) struct WinogradWeights {
    /// `[panels][POINTS][blocks of input channels][LANES]`.
    pub weights: Vec<Block>,
    /// `[panels]`.
    pub bias: Vec<[f32; PANEL]>,
}

/// The weights of a convolution or a dense layer in eight bits.
pub(in crate::host) struct FourWeights {
    /// `[panels][fours of inputs][taps]`.
    pub weights: Vec<fours::Weights>,
    /// What follows the sums, `[panels]`.
    pub ends: Vec<fours::Ends<{ fours::PANEL }>>,
}

/// The weights of a 1×1 convolution in eight bits.
pub(in crate::host) struct PointwiseFourWeights {
    /// See [`crate::host::fours::Pointwise::weights`].
    pub weights: Vec<Four>,
    /// What follows the sums, `[panels]`.
    pub ends: Vec<fours::Ends<TILE>>,
}

/// A convolution's weights in tiles.
pub(in crate::host) struct TileWeights {
    pub layout: Layout,
    /// Whether the operands still hold the input from an earlier layer.
    pub split: bool,
    pub steps: Steps,
    /// `[panels][steps]`.
    pub left: Vec<Operand>,
    /// What the channels are worth, by panels.
    pub units: Vec<[f32; tiles::ROWS]>,
    /// `[panels]`.
    pub bias: Vec<[f32; tiles::ROWS]>,
}

/// Squeeze and excitation, weights transposed: see [`crate::host::se::Se`].
pub(in crate::host) struct Se {
    pub hidden: usize,
    pub w1: Vec<f32>,
    pub b1: Vec<f32>,
    pub w2: Vec<f32>,
    pub b2: Vec<f32>,
}

/// A dense layer with packed weights.
pub(in crate::host) struct Dense {
    pub input: Place,
    pub output: Place,
    /// Number of equal parts of the input that are multiplied separately, each into a part of the output: 1 except for
    /// a smolgen.
    pub parts: usize,
    /// Whether its input is expected to be mostly zeros: then only weights of other inputs are read.
    pub sparse: bool,
    /// Layers with the same weights share them.
    pub weights: Arc<DenseWeights>,
    /// `[panels]`.
    pub bias: Vec<Block>,
    pub activation: Activation,
}

impl Dense {
    /// Number of inputs and outputs of a part, which is a row of its own.
    pub fn part(&self) -> (usize, usize) {
        (self.input.len() / self.parts, self.output.len() / self.parts)
    }
}

/// A dense layer's weights.
pub(in crate::host) enum DenseWeights {
    /// `[panels][inputs of a part]`.
    Single(Vec<Block>),
    /// The same in 16 bits, and what the numbers stand for: see [`crate::host::linear`].
    Linear(Vec<Shorts>, Linear),
    /// In tiles: see [`crate::host::tiles`].
    Tiles(DenseTiles),
    /// In eight bits: see [`crate::host::fours::DensePanels`].
    Fours(FourWeights),
}

/// A dense layer's weights in tiles.
pub(in crate::host) struct DenseTiles {
    pub steps: Steps,
    /// `[panels][steps]`.
    pub right: Vec<Operand>,
    /// What the neurons are worth, `[panels]`.
    pub units: Vec<Block>,
}

/// A gather with indices into the buffers of its input and of what is added.
pub(in crate::host) struct Gather {
    pub input: Place,
    pub output: Place,
    pub indices: Vec<u32>,
    pub residual: Option<Added>,
}

/// What is added to a gather's numbers.
pub(in crate::host) struct Added {
    pub place: Place,
    /// Where its elements are, unless they are side by side.
    pub indices: Option<Vec<u32>>,
}

/// A scale and a shift for each element, in the layout of the value; 0 on borders.
pub(in crate::host) struct Gate {
    pub input: Place,
    pub output: Place,
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
}

/// A scale and a shift for each channel, and an activation. Input and output have the same layout.
pub(in crate::host) struct Affine {
    pub input: Place,
    pub output: Place,
    pub added: Option<Place>,
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
    pub activation: Activation,
}

/// Means and largest numbers of channels.
pub(in crate::host) struct Pool {
    pub input: Place,
    pub output: Place,
}

/// A layer norm. Input and output have the same layout.
pub(in crate::host) struct LayerNorm {
    pub input: Place,
    pub output: Place,
    pub epsilon: f32,
    pub gammas: Vec<f32>,
    pub betas: Vec<f32>,
}

/// A norm without weights, on elements that are side by side.
pub(in crate::host) struct RmsNorm {
    pub input: Place,
    pub output: Place,
    pub epsilon: f32,
    /// Whether one mean is taken over all channels and squares.
    pub whole: bool,
}

/// Rotation of pairs of channels, on elements that are side by side.
pub(in crate::host) struct Rotate {
    pub input: Place,
    pub output: Place,
    /// Cosines of the angles, `[channels / 2][squares]`.
    pub cosines: Vec<f32>,
    /// Sines of the angles, `[channels / 2][squares]`.
    pub sines: Vec<f32>,
}

/// A product element by element, of elements that are side by side.
pub(in crate::host) struct Multiply {
    pub left: Place,
    pub right: Place,
    pub output: Place,
}

/// Attention between squares.
pub(in crate::host) struct Attention {
    pub query: Place,
    pub key: Place,
    pub value: Place,
    pub output: Place,
    pub heads: usize,
    pub bias: Option<Place>,
}

impl Attention {
    /// How many blocks one head needs to work in.
    pub fn room(&self) -> usize {
        attention_room(self.query.shape.squares, self.query.shape.channels / self.heads)
    }
}

/// Products of the channels of two squares.
pub(in crate::host) struct Scores {
    pub query: Place,
    pub key: Place,
    pub output: Place,
}

/// One layer, ready to run.
pub(in crate::host) enum Step {
    Conv(Box<Conv>),
    Dense(Dense),
    Gather(Gather),
    /// The same numbers for every position, in the layout of the buffer.
    Constant {
        output: Place,
        values: Vec<f32>,
    },
    Gate(Gate),
    Affine(Affine),
    Pool(Pool),
    LayerNorm(LayerNorm),
    RmsNorm(RmsNorm),
    Rotate(Rotate),
    Multiply(Multiply),
    Attention(Attention),
    Scores(Scores),
    /// Copies elements that are side by side into the layout of a board.
    Spread {
        input: Place,
        output: Place,
    },
    /// The reverse of [`Step::Spread`].
    Collect {
        input: Place,
        output: Place,
    },
}

impl Step {
    pub fn output(&self) -> Place {
        match self {
            Self::Conv(conv) => conv.output,
            Self::Dense(dense) => dense.output,
            Self::Gather(gather) => gather.output,
            Self::Gate(gate) => gate.output,
            Self::Affine(affine) => affine.output,
            Self::Pool(pool) => pool.output,
            Self::LayerNorm(norm) => norm.output,
            Self::RmsNorm(norm) => norm.output,
            Self::Rotate(rotate) => rotate.output,
            Self::Multiply(multiply) => multiply.output,
            Self::Attention(attention) => attention.output,
            Self::Scores(scores) => scores.output,
            Self::Constant { output, .. } | Self::Spread { output, .. } | Self::Collect { output, .. } => *output,
        }
    }
}
