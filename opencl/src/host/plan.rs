//! A graph made ready to run: weights packed for the kernels, and a place for every value.

use super::board::{Board, LANES};
use super::columns;
use super::fours::{self, Four, RowEnds};
use super::kernel::TILE;
use super::linear::{Linear, Shorts};
use super::needs::Needs;
use super::pack;
use super::product::{Block, COLUMNS, attention_room};
use super::tiles::{self, Layout, Operand, Steps};
use super::ways::{ConvShape, Ways, dense_takes_tiles, reads_planes};
use super::winograd::{self, PANEL, POINTS};
use crate::backend::BackendError;
use crate::graph::{Activation, Graph, Layer, Role, Shape, SqueezeExcite, ValueId};
use crate::int8;
use std::sync::Arc;

/// How many positions go through the layers together: weights, which may be larger than a core's caches, are read once
/// for all of them, while their values should stay in the caches.
pub(super) const GROUP: usize = 8;

/// A value's buffer, and the layout of its elements there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
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
    fn index(&self, element: usize) -> usize {
        match self.board {
            None => element,
            Some(board) => element / self.shape.squares * board.plane + board.index(element % self.shape.squares),
        }
    }
}

/// A convolution with packed weights.
pub(super) struct Conv {
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
pub(super) enum ConvWeights {
    /// 1×1, see [`super::product::Pointwise::weights`]; the elements of all values are side by side.
    Pointwise(Vec<f32>),
    /// 5×5: like 1×1, with each tap of an input as an input of its own; the elements of all values are side by side.
    Columns(ColumnWeights),
    /// `[panels]` of what [`super::kernel::ConvPanel::weights`] describes.
    Direct(Vec<f32>),
    /// See [`super::winograd`].
    Winograd(WinogradWeights),
    /// In tiles, on a chessboard: see [`super::tiles`].
    Tiles(TileWeights),
    /// In eight bits: see [`super::fours::ConvPanels`].
    Fours(FourWeights),
    /// 1×1 in eight bits, see [`super::fours::Pointwise`]; the elements of all values are side by side.
    PointwiseFours(PointwiseFourWeights),
}

/// The weights of a 5×5 convolution.
pub(super) struct ColumnWeights {
    /// Ranks and files of the board.
    pub sides: (usize, usize),
    /// See [`super::product::Pointwise::weights`].
    pub weights: Vec<f32>,
}

/// A convolution's weights in Winograd's form.
pub(super) struct WinogradWeights {
    /// `[panels][POINTS][blocks of input channels][LANES]`.
    pub weights: Vec<Block>,
    /// `[panels]`.
    pub bias: Vec<[f32; PANEL]>,
}

/// The weights of a convolution or a dense layer in eight bits.
pub(super) struct FourWeights {
    /// `[panels][fours of inputs][taps]`.
    pub weights: Vec<fours::Weights>,
    /// What follows the sums, `[panels]`.
    pub ends: Vec<fours::Ends>,
}

/// The weights of a 1×1 convolution in eight bits.
pub(super) struct PointwiseFourWeights {
    /// See [`super::fours::Pointwise::weights`].
    pub weights: Vec<Four>,
    /// What follows the sums, `[panels]`.
    pub ends: Vec<RowEnds>,
}

/// A convolution's weights in tiles.
pub(super) struct TileWeights {
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

/// Squeeze and excitation, weights transposed: see [`super::kernel::Se`].
pub(super) struct Se {
    pub hidden: usize,
    pub w1: Vec<f32>,
    pub b1: Vec<f32>,
    pub w2: Vec<f32>,
    pub b2: Vec<f32>,
}

/// A dense layer with packed weights.
pub(super) struct Dense {
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
pub(super) enum DenseWeights {
    /// `[panels][inputs of a part]`.
    Single(Vec<Block>),
    /// The same in 16 bits, and what the numbers stand for: see [`super::linear`].
    Linear(Vec<Shorts>, Linear),
    /// In tiles: see [`super::tiles`].
    Tiles(DenseTiles),
    /// In eight bits: see [`super::fours::DensePanels`].
    Fours(FourWeights),
}

/// A dense layer's weights in tiles.
pub(super) struct DenseTiles {
    pub steps: Steps,
    /// `[panels][steps]`.
    pub right: Vec<Operand>,
    /// What the neurons are worth, `[panels]`.
    pub units: Vec<Block>,
}

/// A gather with indices into the buffers of its input and of what is added.
pub(super) struct Gather {
    pub input: Place,
    pub output: Place,
    pub indices: Vec<u32>,
    pub residual: Option<Added>,
}

/// What is added to a gather's numbers.
pub(super) struct Added {
    pub place: Place,
    /// Where its elements are, unless they are side by side.
    pub indices: Option<Vec<u32>>,
}

/// A scale and a shift for each element, in the layout of the value; 0 on borders.
pub(super) struct Gate {
    pub input: Place,
    pub output: Place,
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
}

/// A scale and a shift for each channel, and an activation. Input and output have the same layout.
pub(super) struct Affine {
    pub input: Place,
    pub output: Place,
    pub added: Option<Place>,
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
    pub activation: Activation,
}

/// Means and largest numbers of channels.
pub(super) struct Pool {
    pub input: Place,
    pub output: Place,
}

/// A layer norm. Input and output have the same layout.
pub(super) struct LayerNorm {
    pub input: Place,
    pub output: Place,
    pub epsilon: f32,
    pub gammas: Vec<f32>,
    pub betas: Vec<f32>,
}

/// A norm without weights, on elements that are side by side.
pub(super) struct RmsNorm {
    pub input: Place,
    pub output: Place,
    pub epsilon: f32,
    /// Whether one mean is taken over all channels and squares.
    pub whole: bool,
}

/// Rotation of pairs of channels, on elements that are side by side.
pub(super) struct Rotate {
    pub input: Place,
    pub output: Place,
    /// Cosines of the angles, `[channels / 2][squares]`.
    pub cosines: Vec<f32>,
    /// Sines of the angles, `[channels / 2][squares]`.
    pub sines: Vec<f32>,
}

/// A product element by element, of elements that are side by side.
pub(super) struct Multiply {
    pub left: Place,
    pub right: Place,
    pub output: Place,
}

/// Attention between squares.
pub(super) struct Attention {
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
pub(super) struct Scores {
    pub query: Place,
    pub key: Place,
    pub output: Place,
}

/// One layer, ready to run.
pub(super) enum Step {
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

/// The layers of a graph, ready to run.
pub(super) struct Plan {
    pub input: Place,
    pub steps: Vec<Step>,
    /// The outputs, in the order of [`Graph::outputs`].
    pub outputs: Vec<(Role, Place)>,
    /// For each slot, how many numbers it has for one position.
    pub slots: Vec<usize>,
    /// The working memory of its steps.
    pub needs: Needs,
}

impl Plan {
    pub fn new(graph: &Graph, ways: Ways) -> Result<Self, BackendError> {
        let places = places(graph);
        let mut steps = Vec::with_capacity(graph.layers().len());
        let slot_count = places.iter().map(|p| p.slot + 1).max().unwrap_or(0);
        let mut slots = vec![0; slot_count];
        places.iter().for_each(|p| slots[p.slot] = p.len());
        let mut packed = Packed::default();
        // The place of each value with its elements side by side, once a layer has asked for that.
        let mut flat = places.clone();
        for (at, layer) in graph.layers().iter().enumerate() {
            // The network's input has planes of ones beside a count of moves up to a hundred: a scale that fits the
            // count rounds the ones. And a dense layer of planes multiplies hardly any of them.
            let planes = reads_planes(graph, layer);
            let ways = Ways { tiles: ways.tiles && !planes, ..ways };
            let form = Form { int8: graph.is_int8(at), planes, ways };
            let place = places[at + 1];
            for value in reads_flat(layer) {
                let input = flat[value.0];
                if input.board.is_none() {
                    continue;
                }
                flat[value.0] = Place { slot: slots.len(), board: None, ..input };
                slots.push(flat[value.0].len());
                steps.push(Step::Collect { input, output: flat[value.0] });
            }
            let inputs = Inputs { as_they_lie: &places, flat: &flat };
            // If a layer writes elements side by side for a convolution, a step of its own lays them out.
            let spread = place.board.is_some() && !writes_board(layer, |v| places[v.0].board.is_some());
            let output = if spread { Place { slot: slots.len(), board: None, ..place } } else { place };
            let step = step(graph, layer, form, inputs, output, &mut packed);
            steps.push(step.map_err(|e| BackendError(format!("layer {at}: {e}")))?);
            if spread {
                slots.push(output.len());
                steps.push(Step::Spread { input: output, output: place });
                flat[at + 1] = output;
            }
        }
        mark_split(&mut steps);
        Ok(Self {
            input: places[0],
            outputs: graph.outputs().iter().map(|o| (o.role, places[o.value.0])).collect(),
            slots,
            needs: Needs::of_all(&steps),
            steps,
        })
    }

    /// Whether some layer's sums are made in tiles.
    pub fn in_tiles(&self) -> bool {
        self.needs.right > 0 || self.needs.left > 0
    }
}

/// Packed weights, so that those which layers share are packed once.
#[derive(Default)]
struct Packed(Vec<(PackedKey, Arc<DenseWeights>)>);

/// What packed weights are made of and go by.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PackedKey {
    /// The address of those in the graph.
    weights: *const Vec<f32>,
    outputs: usize,
    parts: usize,
    int8: bool,
}

impl Packed {
    fn of(&mut self, weights: &Arc<Vec<f32>>, outputs: usize, parts: usize, form: Form) -> Arc<DenseWeights> {
        let key = PackedKey { weights: Arc::as_ptr(weights), outputs, parts, int8: form.int8 };
        if let Some((_, packed)) = self.0.iter().find(|(known, _)| *known == key) {
            return Arc::clone(packed);
        }
        let packed = Arc::new(dense_weights(weights, &vec![0.0; outputs], parts, form));
        self.0.push((key, Arc::clone(&packed)));
        packed
    }
}

/// Whether a layer is a convolution that looks at the nearest neighbours: it reads and writes boards. A convolution
/// that looks farther has its neighbours gathered, see [`super::columns`].
fn is_spatial(layer: &Layer) -> bool {
    matches!(layer, Layer::Conv { kernel: 3, .. })
}

/// Whether a layer reads its input in whatever layout it has: a spatial convolution reads a board; others work element
/// by element, and write the same layout; a gather looks elements up wherever they are, and pooling leaves no board.
fn reads_any(layer: &Layer) -> bool {
    is_spatial(layer) || matches!(layer, Layer::Gather { .. } | Layer::Pool { .. }) || by_element(layer).is_some()
}

/// The values whose elements a layer wants side by side. The vector that an affine layer adds is one of them, whatever
/// the layer reads: on a board of a single square that vector might be a board, too.
fn reads_flat(layer: &Layer) -> impl Iterator<Item = ValueId> {
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
fn writes_board(layer: &Layer, is_board: impl Fn(ValueId) -> bool) -> bool {
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
fn places(graph: &Graph) -> Vec<Place> {
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

/// Finds the convolutions whose input was already split for an earlier one: queries, keys and values have the same
/// input.
fn mark_split(steps: &mut [Step]) {
    let mut held = None;
    for step in steps {
        let written = step.output().slot;
        if let Step::Conv(conv) = step {
            // If only a part of a group's positions is split at a time, nothing is left for the next layer.
            let (slot, all) = (conv.input.slot, at_once(conv.operands()) == GROUP);
            if let ConvWeights::Tiles(weights) = &mut conv.weights {
                let now = all.then_some((slot, weights.layout));
                weights.split = now.is_some() && now == held;
                held = now;
            }
        }
        held = held.filter(|&(slot, _)| slot != written);
    }
}

/// How many bytes of input in tiles are processed at once: what a second-level cache holds beside the weights.
const HELD: usize = 1 << 20;

/// For how many positions the input in tiles is made before their sums, if each has `operands` operands.
pub(super) fn at_once(operands: usize) -> usize {
    let held = HELD / size_of::<Operand>();
    held.checked_div(operands).unwrap_or(0).clamp(1, GROUP)
}

/// How a layer's sums are computed.
#[derive(Clone, Copy)]
struct Form {
    int8: bool,
    /// Whether the layer reads the input's planes, see [`reads_planes`].
    planes: bool,
    ways: Ways,
}

/// The weights of a convolution on a board of `sides`, ranks and files.
fn conv_weights(weights: &[f32], bias: &[f32], shape: ConvShape, sides: (usize, usize), form: Form) -> ConvWeights {
    let kernel = shape.kernel;
    if kernel == columns::KERNEL {
        return ConvWeights::Columns(ColumnWeights { sides, weights: pack::pointwise(weights, bias.len()) });
    }
    if form.int8 {
        let whole = int8::Weights::new(weights, bias.len());
        return match kernel {
            1 => ConvWeights::PointwiseFours(pack::pointwise_fours(&whole, bias)),
            _ => ConvWeights::Fours(pack::fours(&whole, bias, fours::TAPS)),
        };
    }
    if form.ways.tiles && shape.takes_tiles() {
        let layout = if kernel == 1 { Layout::Flat } else { Layout::Board };
        let steps = layout.steps(shape.inputs);
        let (left, units) = pack::tiles(weights, bias.len(), kernel * kernel);
        ConvWeights::Tiles(TileWeights { layout, split: false, steps, left, units, bias: pack::by_panels(bias) })
    } else if kernel == 1 {
        ConvWeights::Pointwise(pack::pointwise(weights, bias.len()))
    } else if form.ways.winograd && shape.takes_winograd() {
        let weights = pack::winograd(weights, bias.len());
        ConvWeights::Winograd(WinogradWeights { weights, bias: pack::by_panels(bias) })
    } else {
        ConvWeights::Direct(pack::conv(weights, bias.len()))
    }
}

/// The weights of a layer whose input has `parts` parts, see [`Dense::parts`].
fn dense_weights(weights: &[f32], bias: &[f32], parts: usize, form: Form) -> DenseWeights {
    if !form.int8 {
        let inputs = weights.len() / bias.len();
        return if form.ways.tiles && dense_takes_tiles(inputs, bias.len()) {
            let (right, units) = pack::tiles_dense(weights, bias.len());
            DenseWeights::Tiles(DenseTiles { steps: tiles::steps_of_inputs(inputs), right, units })
        } else {
            single_weights(weights, bias.len(), parts)
        };
    }
    DenseWeights::Fours(pack::fours(&int8::Weights::new(weights, bias.len()), bias, 1))
}

/// The fewest weights of a dense layer that are worth 16 bits: more than a second-level cache holds. Weights in a near
/// cache are read as fast in 32 bits, and need no conversion to floats.
const WORTH_SHORTS: usize = 1 << 19;

/// In 16 bits if that costs only time that would be spent waiting: each further part of an input converts and
/// multiplies a weight again, without reading it again.
fn single_weights(weights: &[f32], neurons: usize, parts: usize) -> DenseWeights {
    let worth = parts == 1 && weights.len() >= WORTH_SHORTS;
    match if worth { Linear::fit(weights) } else { None } {
        Some(linear) => DenseWeights::Linear(pack::linear(weights, neurons, linear), linear),
        None => DenseWeights::Single(pack::dense(weights, neurons)),
    }
}

/// Where a layer finds the values that it reads.
struct Inputs<'a> {
    /// In the layout of a board if they are boards.
    as_they_lie: &'a [Place],
    /// With their elements side by side; valid for the values of [`reads_flat`].
    flat: &'a [Place],
}

fn step(
    graph: &Graph,
    layer: &Layer,
    form: Form,
    inputs: Inputs,
    output: Place,
    packed: &mut Packed,
) -> Result<Step, String> {
    let places = if reads_any(layer) { inputs.as_they_lie } else { inputs.flat };
    Ok(match layer {
        Layer::Conv { input, kernel, weights, bias, se, residual, activation, .. } => {
            let input = places[input.0];
            let squares = input.shape.squares;
            let sides = graph.sides_for(*kernel, squares)?;
            let board = input.board.unwrap_or(Board::flat(squares));
            let shape = ConvShape { kernel: *kernel, inputs: input.shape.channels, outputs: bias.len(), board };
            Step::Conv(Box::new(Conv {
                input,
                output,
                board,
                weights: conv_weights(weights, bias, shape, sides, form),
                bias: pack::by_panels(bias),
                se: se.as_ref().map(transpose_se),
                residual: residual.map(|r| places[r.0]),
                activation: *activation,
            }))
        }
        Layer::Dense { input, weights, bias, activation, .. } => Step::Dense(Dense {
            input: places[input.0],
            output,
            parts: 1,
            sparse: form.planes,
            weights: Arc::new(dense_weights(weights, bias, 1, form)),
            bias: pack::by_panels(bias).into_iter().map(Block).collect(),
            activation: *activation,
        }),
        Layer::Smolgen { input, heads, weights } => Step::Dense(Dense {
            input: places[input.0],
            output,
            parts: *heads,
            sparse: false,
            weights: packed.of(weights, output.shape.squares, *heads, form),
            bias: vec![Block::ZERO; output.shape.squares.div_ceil(COLUMNS)],
            activation: Activation::None,
        }),
        Layer::Gather { input, indices, residual, .. } => {
            let input = places[input.0];
            let indices = indices.iter().map(|&i| input.index(i as usize) as u32).collect();
            let residual = residual.map(|r| {
                let place = places[r.0];
                let indices = |_| (0..place.shape.len()).map(|i| place.index(i) as u32).collect();
                Added { place, indices: place.board.map(indices) }
            });
            Step::Gather(Gather { input, output, indices, residual })
        }
        Layer::Constant { values, .. } => Step::Constant { output, values: lay_out(output, values) },
        Layer::Gate { input, scale, shift } => {
            let (scale, shift) = (lay_out(output, scale), lay_out(output, shift));
            Step::Gate(Gate { input: places[input.0], output, scale, shift })
        }
        Layer::Affine { input, added, scale, shift, activation } => Step::Affine(Affine {
            input: places[input.0],
            output,
            added: added.map(|added| inputs.flat[added.0]),
            scale: scale.clone(),
            shift: shift.clone(),
            activation: *activation,
        }),
        Layer::Pool { input } => Step::Pool(Pool { input: places[input.0], output }),
        Layer::LayerNorm { input, epsilon, gammas, betas } => Step::LayerNorm(LayerNorm {
            input: places[input.0],
            output,
            epsilon: *epsilon,
            gammas: gammas.clone(),
            betas: betas.clone(),
        }),
        Layer::RmsNorm { input, epsilon, whole } => {
            Step::RmsNorm(RmsNorm { input: places[input.0], output, epsilon: *epsilon, whole: *whole })
        }
        Layer::Rotate { input, angles } => Step::Rotate(Rotate {
            input: places[input.0],
            output,
            cosines: angles.iter().map(|angle| angle.cos()).collect(),
            sines: angles.iter().map(|angle| angle.sin()).collect(),
        }),
        Layer::Multiply { left, right } => {
            Step::Multiply(Multiply { left: places[left.0], right: places[right.0], output })
        }
        Layer::Attention { query, key, value, heads, bias } => Step::Attention(Attention {
            query: places[query.0],
            key: places[key.0],
            value: places[value.0],
            output,
            heads: *heads,
            bias: bias.map(|bias| places[bias.0]),
        }),
        Layer::Scores { query, key } => Step::Scores(Scores { query: places[query.0], key: places[key.0], output }),
    })
}

/// From elements side by side to the layout of `place`, with zeros on borders.
fn lay_out(place: Place, values: &[f32]) -> Vec<f32> {
    let mut laid = vec![0.0; place.len()];
    values.iter().enumerate().for_each(|(at, v)| laid[place.index(at)] = *v);
    laid
}

fn transpose_se(se: &SqueezeExcite) -> Se {
    let transpose = |m: &[f32], rows: usize| -> Vec<f32> {
        let columns = m.len() / rows;
        (0..m.len()).map(|i| m[i % rows * columns + i / rows]).collect()
    };
    Se {
        hidden: se.hidden,
        w1: transpose(&se.w1, se.b1.len()),
        b1: se.b1.clone(),
        w2: transpose(&se.w2, se.b2.len()),
        b2: se.b2.clone(),
    }
}
