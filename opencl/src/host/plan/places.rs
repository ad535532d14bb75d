//! Where each value of a graph has its room, and how its elements lie there.

use crate::graph::{Graph, Layer, Shape, ValueId};
use crate::host::board::Board;

/// A value's buffer, and the layout of its elements there.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) struct Place {
    /// Index of the buffer.
    pub slot: usize,
    pub shape: Shape,
    /// The layout of the board if a [spatial](is_spatial) convolution reads or makes the value; otherwise its elements
    /// are side by side.
    pub board: Option<Board>,
}

impl Place {
    /// How many numbers one position needs.
    pub fn len(&self) -> usize {
        self.board.map_or(self.shape.len(), |board| board.plane * self.shape.channels)
    }

    /// Index of an element, counted channel-major, in the buffer of one position.
    pub(super) fn index(&self, element: usize) -> usize {
        match self.board {
            None => element,
            Some(board) => element / self.shape.squares * board.plane + board.index(element % self.shape.squares),
        }
    }

    /// Lays out elements that are side by side, with zeros on borders.
    pub(super) fn lay_out(&self, values: &[f32]) -> Vec<f32> {
        let mut laid = vec![0.0; self.len()];
        values.iter().enumerate().for_each(|(at, v)| laid[self.index(at)] = *v);
        laid
    }
}

/// Whether a layer is a convolution that looks at the nearest neighbours: it reads and writes boards. A convolution
/// that looks farther has its neighbours gathered, see [`crate::host::columns`].
fn is_spatial(layer: &Layer) -> bool {
    matches!(layer, Layer::Conv { kernel: 3, .. })
}

/// Whether a layer reads its input in whatever layout it has: a spatial convolution reads a board; others work element
/// by element, and write the same layout; a gather looks elements up wherever they are, and pooling leaves no board.
pub(super) fn reads_any(layer: &Layer) -> bool {
    is_spatial(layer) || matches!(layer, Layer::Gather { .. } | Layer::Pool { .. }) || by_element(layer).is_some()
}

/// The values whose elements a layer wants side by side. The vector that an affine layer adds is one of them, whatever
/// the layer reads: on a board of a single square that vector might be a board, too.
pub(super) fn reads_flat(layer: &Layer) -> impl Iterator<Item = ValueId> {
    let added = |value: &ValueId| matches!(layer, Layer::Affine { added: Some(added), .. } if added == value);
    layer.reads().filter(move |value| !reads_any(layer) || added(value))
}

/// The value on which a layer works element by element, writing the same layout.
fn by_element(layer: &Layer) -> Option<ValueId> {
    match layer {
        Layer::Gate { input, .. } | Layer::LayerNorm { input, .. } | Layer::Affine { input, .. } => Some(*input),
        _ => None,
    }
}

/// Whether a layer can write the layout of a board.
pub(super) fn writes_board(layer: &Layer, is_board: impl Fn(ValueId) -> bool) -> bool {
    match layer {
        Layer::Conv { .. } => is_spatial(layer),
        Layer::Constant { .. } => true,
        Layer::Gate { .. }
        | Layer::LayerNorm { .. }
        | Layer::Affine { .. }
        | Layer::Dense { .. }
        | Layer::Gather { .. }
        | Layer::Smolgen { .. }
        | Layer::Attention { .. }
        | Layer::RmsNorm { .. }
        | Layer::Rotate { .. }
        | Layer::Multiply { .. }
        | Layer::Pool { .. }
        | Layer::Scores { .. } => by_element(layer).is_some_and(is_board),
    }
}

/// For each value, whether it has the layout of a board: if a spatial convolution makes or reads it, or if it is made
/// element by element from a board.
fn boards(graph: &Graph) -> Vec<bool> {
    let layers = graph.layers();
    let mut boards = vec![false; layers.len() + 1];
    for (at, layer) in layers.iter().enumerate().filter(|&(_, layer)| is_spatial(layer)) {
        layer.reads().for_each(|value| boards[value.0] = true);
        boards[at + 1] = true;
    }
    for (at, layer) in layers.iter().enumerate() {
        if let Some(input) = by_element(layer) {
            boards[at + 1] |= boards[input.0];
        }
    }
    boards
}

/// A place for each value. A slot is reused after the last layer that reads it, but only by values of the same layout,
/// so that borders which were zero once stay zero.
pub(super) fn places(graph: &Graph) -> Vec<Place> {
    let layers = graph.layers();
    let mut last_read = vec![0; layers.len() + 1];
    for (at, layer) in layers.iter().enumerate() {
        layer.reads().for_each(|value| last_read[value.0] = at);
    }
    graph.outputs().iter().for_each(|output| last_read[output.value.0] = usize::MAX);
    let mut free: Vec<Place> = Vec::new();
    let mut places: Vec<Place> = Vec::with_capacity(layers.len() + 1);
    let mut slots = 0;
    for (value, is_board) in boards(graph).into_iter().enumerate() {
        let shape = graph.shape(ValueId(value));
        let board = is_board.then(|| Board::of(graph, shape.squares));
        let reused = free.iter().position(|p| p.shape == shape && p.board == board);
        let place = match reused {
            Some(at) => free.swap_remove(at),
            None => {
                slots += 1;
                Place { slot: slots - 1, shape, board }
            }
        };
        places.push(place);
        // The value that the layer read for the last time is free for the next value.
        let Some(layer) = value.checked_sub(1) else { continue };
        let mut done: Vec<usize> = layers[layer].reads().map(|v| v.0).filter(|&v| last_read[v] == layer).collect();
        done.sort_unstable();
        done.dedup();
        free.extend(done.into_iter().map(|v| places[v]));
    }
    places
}
