//! Which layers may be computed in another way than by their definition.

use super::board::{Board, LANES};
use super::product::CHESS;
use super::{tiles, winograd};
use crate::graph::{Graph, INPUT, Layer, Shape, ValueId};

/// What may be used in place of sums by their definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ways {
    /// Winograd's convolutions, if they take less time.
    pub winograd: bool,
    /// Tiles: for convolutions on a chessboard, except for those of the network's input, and for dense layers.
    pub tiles: bool,
}

impl Ways {
    /// The ways that any layer of a graph would go. What none of them goes needs no plan of its own.
    pub fn of(graph: &Graph) -> Self {
        let single = || graph.layers().iter().enumerate().filter(|&(at, _)| !graph.is_int8(at));
        let tiles = |layer| !reads_planes(graph, layer) && takes_tiles(graph, layer);
        Self {
            winograd: single()
                .any(|(_, layer)| ConvShape::of_layer(graph, layer).is_some_and(ConvShape::takes_winograd)),
            tiles: single().any(|(_, layer)| tiles(layer)),
        }
    }

    /// Every choice among these ways but that of none of them; what is fastest comes first.
    pub fn choices(self) -> impl Iterator<Item = Self> {
        let all = [(true, true), (true, false), (false, true)].map(|(tiles, winograd)| Self { winograd, tiles });
        all.into_iter().filter(move |ways| (self.tiles || !ways.tiles) && (self.winograd || !ways.winograd))
    }
}

/// Whether a layer's sums may be made in tiles.
fn takes_tiles(graph: &Graph, layer: &Layer) -> bool {
    match layer {
        Layer::Conv { .. } => ConvShape::of_layer(graph, layer).is_some_and(ConvShape::takes_tiles),
        Layer::Dense { weights, bias, .. } => dense_takes_tiles(weights.len() / bias.len(), bias.len()),
        Layer::Smolgen { input, heads, weights } => {
            let inputs = graph.shape(*input).len() / heads;
            dense_takes_tiles(inputs, weights.len() / inputs)
        }
        _ => false,
    }
}

/// Whether a layer is a convolution of the input's planes, or a dense layer of numbers of them, such as a dense embedding
/// of the pieces. Most of these numbers are zeros.
pub(super) fn reads_planes(graph: &Graph, layer: &Layer) -> bool {
    let made_by = |value: ValueId| value.0.checked_sub(1).map(|at| &graph.layers()[at]);
    let is_gathered = |layer: &Layer| matches!(layer, Layer::Gather { input: INPUT, residual: None, .. });
    graph.input().squares > 1
        && match layer {
            Layer::Conv { input, .. } => *input == INPUT,
            Layer::Dense { input, .. } => made_by(*input).is_none_or(is_gathered),
            _ => false,
        }
}

/// The fewest channels that a convolution in tiles makes: its input is split for all of them.
const WORTH_CHANNELS: usize = 32;

/// The fewest neurons of a dense layer in tiles.
const WORTH_NEURONS: usize = 64;

/// The fewest channels, in and out, for which Winograd's form is used: a block.
const WORTH_WINOGRAD: usize = LANES;

/// Whether tiles are worth it for this many inputs and taps. If sums are short, or if a good part of a step is empty,
/// splitting the operands and putting the sums together takes as long as tiles save; and there is a length at which a
/// sum may overflow.
fn worth_tiles(inputs: usize, taps: usize) -> bool {
    inputs >= tiles::DEPTH / 4 * 3 && (tiles::DEPTH / 2 * 3..=tiles::MOST_PRODUCTS).contains(&(inputs * taps))
}

/// Whether a dense layer's sums may be made in tiles.
pub(super) fn dense_takes_tiles(inputs: usize, neurons: usize) -> bool {
    neurons >= WORTH_NEURONS && worth_tiles(inputs, 1)
}

/// A convolution by its sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConvShape {
    pub kernel: usize,
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the output.
    pub outputs: usize,
    /// The board of a 3×3 convolution; the squares of another in a single row.
    pub board: Board,
}

impl ConvShape {
    /// The sizes of a convolution of `input`.
    pub fn of(graph: &Graph, input: Shape, kernel: usize, outputs: usize) -> Self {
        let board = if kernel == 3 { Board::of(graph, input.squares) } else { Board::flat(input.squares) };
        Self { kernel, inputs: input.channels, outputs, board }
    }

    /// The sizes of a layer, if it is a convolution.
    fn of_layer(graph: &Graph, layer: &Layer) -> Option<Self> {
        let Layer::Conv { input, kernel, channels, .. } = layer else { return None };
        Some(Self::of(graph, graph.shape(*input), *kernel, *channels))
    }

    /// Whether its sums may be made in tiles. A 3×3 convolution in tiles knows no board but a chessboard; to one of
    /// 1×1 it is all the same how its 64 squares lie.
    pub fn takes_tiles(self) -> bool {
        let fits = match self.kernel {
            1 => self.board.squares() == CHESS,
            3 => self.board == Board::CHESS,
            _ => false,
        };
        fits && self.outputs >= WORTH_CHANNELS && worth_tiles(self.inputs, self.kernel * self.kernel)
    }

    /// Whether it may be computed in Winograd's form.
    pub fn takes_winograd(self) -> bool {
        self.kernel == 3 && winograd::fits(self.board) && self.inputs.min(self.outputs) >= WORTH_WINOGRAD
    }
}
