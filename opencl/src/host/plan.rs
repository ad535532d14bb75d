//! A graph made ready: weights packed for the kernels, and a place for every value.

use super::board::{Board, LANES};
use super::fours;
use super::kernel::{BLOCK, Isa, TILE};
use super::product::{Block, COLUMNS, attention_room, scores_room};
use super::whole::Pair;
use super::winograd::{PANEL, POINTS, TILES};
use crate::backend::BackendError;
use crate::graph::{Activation, Graph, Layer, Role, Shape, SqueezeExcite, ValueId};
use crate::int8;
use crate::winograd::transform;
use std::sync::Arc;

/// Positions that go through the layers together, so that weights, which may outgrow the caches of a core, are read once for
/// all of them; their values should not.
pub(super) const GROUP: usize = 8;

/// A value's buffer and how its elements lie there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Which buffer.
    pub slot: usize,
    pub shape: Shape,
    /// The layout where a [spatial](is_spatial) convolution reads or makes the value; else its elements lie side by side.
    pub board: Option<Board>,
}

impl Place {
    /// Numbers that one position needs.
    pub fn len(&self) -> usize {
        self.board.map_or(self.shape.len(), |board| board.plane * self.shape.channels)
    }

    /// Index of an element, channel-major, in the buffer of one position.
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
    /// Layout of input, output and residual where they are boards.
    pub board: Board,
    pub kernel: usize,
    pub weights: ConvWeights,
    /// `[panels]`.
    pub bias: Vec<[f32; TILE]>,
    pub se: Option<Se>,
    pub residual: Option<Place>,
    pub activation: Activation,
}

impl Conv {
    /// Numbers of one position's points, if it is Winograd's.
    pub fn points(&self) -> usize {
        self.input.shape.channels.next_multiple_of(LANES) * POINTS * TILES
    }
}

/// How a convolution is computed, and its weights for that.
pub(super) enum ConvWeights {
    /// 1×1, see [`super::product::Pointwise::weights`]; all values lie side by side.
    Pointwise(Vec<f32>),
    /// `[panels]` of what [`super::kernel::ConvPanel::weights`] describes.
    Direct(Vec<f32>),
    /// `[panels][POINTS][blocks of input channels][LANES]`, and the bias of each panel: see [`super::winograd`].
    Winograd(Vec<Block>, Vec<[f32; PANEL]>),
    /// In eight bits: `[panels]` of what [`super::whole::ConvPanel::weights`] describes, and the steps of each.
    Whole(Vec<Pair>, Vec<[f32; TILE]>),
    /// In eight bits, where the processor multiplies fours: see [`super::fours::ConvPanels`].
    Fours(Vec<fours::Weights>, Vec<fours::Ends>),
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
    /// Equal parts of the input that are multiplied one by one, each to a part of the output: 1 but for a smolgen.
    pub parts: usize,
    pub weights: DenseWeights,
    /// `[panels]`.
    pub bias: Vec<Block>,
    pub activation: Activation,
}

/// A dense layer's weights.
pub(super) enum DenseWeights {
    /// `[panels][inputs of a part]`. Layers with the same weights share them.
    Single(Arc<Vec<Block>>),
    /// In eight bits: `[panels][pairs of inputs][COLUMNS]`, and the steps of each panel.
    Whole(Vec<Pair>, Vec<[f32; COLUMNS]>),
}

/// A gather with indices into the buffers of its input and of what is added.
pub(super) struct Gather {
    pub input: Place,
    pub output: Place,
    pub indices: Vec<u32>,
    pub residual: Option<(Place, Vec<u32>)>,
}

/// A scale and a shift for each element, as the value lies in its buffer; 0 on borders.
pub(super) struct Gate {
    pub input: Place,
    pub output: Place,
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
}

/// A layer norm. Input and output lie in the same way.
pub(super) struct LayerNorm {
    pub input: Place,
    pub output: Place,
    pub epsilon: f32,
    pub gammas: Vec<f32>,
    pub betas: Vec<f32>,
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
    /// Blocks that one head needs to work in.
    pub fn room(&self) -> usize {
        attention_room(self.query.shape.squares, self.query.shape.channels / self.heads)
    }
}

/// Products of two squares' channels.
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
    /// The same numbers for every position, as they lie in the buffer.
    Constant {
        output: Place,
        values: Vec<f32>,
    },
    Gate(Gate),
    LayerNorm(LayerNorm),
    Attention(Attention),
    Scores(Scores),
    /// From elements side by side to the layout of a board.
    Spread {
        input: Place,
        output: Place,
    },
    /// The reverse.
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
            Self::LayerNorm(norm) => norm.output,
            Self::Attention(attention) => attention.output,
            Self::Scores(scores) => scores.output,
            Self::Constant { output, .. } | Self::Spread { output, .. } | Self::Collect { output, .. } => *output,
        }
    }
}

/// The layers of a graph, ready to run.
pub(super) struct Plan {
    /// Numbers of one position's points in a convolution of Winograd's.
    pub points: usize,
    /// Panels of its output.
    pub panels: usize,
    pub input: Place,
    pub steps: Vec<Step>,
    /// In the order of [`Graph::outputs`].
    pub outputs: Vec<(Role, Place)>,
    /// Numbers of each slot for one position.
    pub slots: Vec<usize>,
    /// Pairs of the largest input in eight bits of one position.
    pub largest_whole: usize,
    /// Fours of it.
    pub largest_fours: usize,
    /// Numbers that a step needs to work in at most.
    pub scratch: usize,
    /// Blocks that a step of one thread needs to work in at most.
    pub room: usize,
    /// The same where several threads work on the heads of an attention.
    pub shared_room: usize,
}

impl Plan {
    /// With `winograd`, convolutions are computed by Winograd's where that takes less.
    pub fn new(graph: &Graph, winograd: bool, isa: Isa) -> Result<Self, BackendError> {
        let fours = fours::found(isa);
        let places = places(graph);
        let mut steps = Vec::with_capacity(graph.layers().len());
        let slot_count = places.iter().map(|p| p.slot + 1).max().unwrap_or(0);
        let mut slots = vec![0; slot_count];
        places.iter().for_each(|p| slots[p.slot] = p.len());
        let mut packed = Packed::default();
        // Where a value lies with its elements side by side, once a layer has asked for it.
        let mut flat = places.clone();
        for (at, layer) in graph.layers().iter().enumerate() {
            let int8 = graph.is_int8(at);
            let place = places[at + 1];
            let reads_board = is_spatial(layer, int8) || goes_by_element(layer);
            for value in layer.reads() {
                let input = flat[value.0];
                if reads_board || input.board.is_none() {
                    continue;
                }
                flat[value.0] = Place { slot: slots.len(), board: None, ..input };
                slots.push(flat[value.0].len());
                steps.push(Step::Collect { input, output: flat[value.0] });
            }
            let inputs = if reads_board { &places } else { &flat };
            // What a layer writes side by side for a convolution is laid out in a step of its own.
            let spread = place.board.is_some() && !writes_board(layer, int8, |v| places[v.0].board.is_some());
            let output = if spread { Place { slot: slots.len(), board: None, ..place } } else { place };
            let step = step((layer, Form { int8, winograd, fours }), inputs, output, &mut packed);
            steps.push(step.map_err(|e| BackendError(format!("layer {at}: {e}")))?);
            if spread {
                slots.push(output.len());
                steps.push(Step::Spread { input: output, output: place });
                flat[at + 1] = output;
            }
        }
        let whole = |s: &Step| match s {
            Step::Conv(conv) if matches!(conv.weights, ConvWeights::Whole(..)) => {
                let input = conv.input;
                input.shape.channels.div_ceil(2) * input.len() / input.shape.channels
            }
            Step::Dense(Dense { input, weights: DenseWeights::Whole(..), .. }) => input.shape.len().div_ceil(2),
            _ => 0,
        };
        let fours = |s: &Step| match s {
            Step::Conv(conv) if matches!(conv.weights, ConvWeights::Fours(..)) => {
                conv.input.shape.channels.div_ceil(4) * conv.board.plane
            }
            _ => 0,
        };
        let winograd = |s: &Step| match s {
            Step::Conv(conv) if matches!(conv.weights, ConvWeights::Winograd(..)) => {
                (conv.points(), conv.output.shape.channels.div_ceil(PANEL))
            }
            _ => (0, 0),
        };
        let scratch = |s: &Step| match s {
            Step::Conv(conv) => conv.se.as_ref().map_or(0, |se| se.hidden + se.b2.len() / 2 * 3),
            Step::LayerNorm(norm) => 2 * norm.input.len() / norm.input.shape.channels,
            _ => 0,
        };
        let room = |s: &Step| match s {
            Step::Conv(conv) if matches!(conv.weights, ConvWeights::Pointwise(..)) => {
                conv.input.shape.squares.div_ceil(COLUMNS) * conv.input.shape.channels
            }
            Step::Attention(attention) => attention.room(),
            Step::Scores(scores) => scores_room(scores.key.shape.squares, scores.key.shape.channels),
            _ => 0,
        };
        let shared = |s: &Step| match s {
            Step::Attention(attention) => attention.heads * attention.room(),
            other => room(other),
        };
        Ok(Self {
            input: places[0],
            outputs: graph.outputs().iter().map(|o| (o.role, places[o.value.0])).collect(),
            slots,
            points: steps.iter().map(|s| winograd(s).0).max().unwrap_or(0),
            panels: steps.iter().map(|s| winograd(s).1).max().unwrap_or(0),
            largest_whole: steps.iter().map(whole).max().unwrap_or(0),
            largest_fours: steps.iter().map(fours).max().unwrap_or(0),
            scratch: steps.iter().map(scratch).max().unwrap_or(0),
            room: steps.iter().map(room).max().unwrap_or(0),
            shared_room: steps.iter().map(shared).max().unwrap_or(0),
            steps,
        })
    }
}

/// Packed weights by the address of those in the graph, so that what layers share stays one.
#[derive(Default)]
struct Packed(Vec<(*const Vec<f32>, Arc<Vec<Block>>)>);

impl Packed {
    fn of(&mut self, weights: &Arc<Vec<f32>>, rows: usize) -> Arc<Vec<Block>> {
        let address = Arc::as_ptr(weights);
        if let Some((_, packed)) = self.0.iter().find(|(a, _)| *a == address) {
            return Arc::clone(packed);
        }
        let packed = Arc::new(pack(weights, rows));
        self.0.push((address, Arc::clone(&packed)));
        packed
    }
}

/// Whether a layer is a convolution that looks at neighbours, or one in eight bits: both read and write boards.
fn is_spatial(layer: &Layer, int8: bool) -> bool {
    matches!(layer, Layer::Conv { kernel, .. } if *kernel != 1 || int8)
}

/// Whether a layer goes element by element through its input, however that lies, and writes it alike; a gather looks
/// elements up wherever they are.
fn goes_by_element(layer: &Layer) -> bool {
    matches!(layer, Layer::Gate { .. } | Layer::LayerNorm { .. } | Layer::Gather { .. })
}

/// Whether a layer can write the layout of a board.
fn writes_board(layer: &Layer, int8: bool, is_board: impl Fn(ValueId) -> bool) -> bool {
    match layer {
        Layer::Conv { .. } => is_spatial(layer, int8),
        Layer::Constant { .. } => true,
        Layer::Gate { input, .. } | Layer::LayerNorm { input, .. } => is_board(*input),
        Layer::Dense { .. }
        | Layer::Gather { .. }
        | Layer::Smolgen { .. }
        | Layer::Attention { .. }
        | Layer::Scores { .. } => false,
    }
}

/// For each value, whether it lies as a board: where a spatial convolution makes or reads it, and where it is made from a
/// board element by element.
fn boards(graph: &Graph) -> Vec<bool> {
    let layers = graph.layers();
    let mut boards = vec![false; layers.len() + 1];
    for (at, layer) in layers.iter().enumerate().filter(|&(at, layer)| is_spatial(layer, graph.is_int8(at))) {
        layer.reads().for_each(|value| boards[value.0] = true);
        boards[at + 1] = true;
    }
    for (at, layer) in layers.iter().enumerate() {
        if let Layer::Gate { input, .. } | Layer::LayerNorm { input, .. } = layer {
            boards[at + 1] |= boards[input.0];
        }
    }
    boards
}

/// A place for each value. A slot is used again after the last layer that reads it, but only by values of the same
/// layout, so that borders which were zero once stay zero.
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
        let board = is_board.then(|| Board::of(shape));
        let reused = free.iter().position(|p| p.shape == shape && p.board == board);
        let place = match reused {
            Some(at) => free.swap_remove(at),
            None => {
                slots += 1;
                Place { slot: slots - 1, shape, board }
            }
        };
        places.push(place);
        // What this value's layer read last is free for the next one.
        let Some(layer) = value.checked_sub(1) else { continue };
        let mut done: Vec<usize> = layers[layer].reads().map(|v| v.0).filter(|&v| last_read[v] == layer).collect();
        done.sort_unstable();
        done.dedup();
        free.extend(done.into_iter().map(|v| places[v]));
    }
    places
}

/// How a layer's sums are made.
#[derive(Clone, Copy)]
struct Form {
    int8: bool,
    winograd: bool,
    fours: bool,
}

/// Fewest channels, in and out, for which Winograd's form is taken: a block.
const WORTH_WINOGRAD: usize = LANES;

fn conv_weights((weights, bias): (&[f32], &[f32]), kernel: usize, input: Place, form: Form) -> ConvWeights {
    let fewest = input.shape.channels.min(bias.len());
    if form.int8 && form.fours {
        pack_fours(&int8::Weights::new(weights, bias.len()), bias, kernel * kernel)
    } else if form.int8 {
        pack_whole_conv(&int8::Weights::new(weights, bias.len()), kernel * kernel)
    } else if kernel == 1 {
        ConvWeights::Pointwise(pack_pointwise(weights, bias.len()))
    } else if form.winograd && input.board == Some(Board::CHESS) && fewest >= WORTH_WINOGRAD {
        ConvWeights::Winograd(pack_winograd(weights, bias.len()), pack_bias(bias))
    } else {
        ConvWeights::Direct(pack_conv(weights, bias.len()))
    }
}

fn step((layer, form): (&Layer, Form), places: &[Place], output: Place, packed: &mut Packed) -> Result<Step, String> {
    Ok(match layer {
        Layer::Conv { input, kernel, weights, bias, se, residual, activation, .. } => {
            let input = places[input.0];
            let squares = input.shape.squares;
            if *kernel == 3 && squares.isqrt().pow(2) != squares {
                return Err(format!("a 3x3 convolution needs a square board, got {squares} squares"));
            }
            Step::Conv(Box::new(Conv {
                input,
                output,
                board: if input.board.is_some() { Board::of(input.shape) } else { Board::flat(squares) },
                kernel: *kernel,
                weights: conv_weights((weights, bias), *kernel, input, form),
                bias: pack_bias(bias),
                se: se.as_ref().map(transpose_se),
                residual: residual.map(|r| places[r.0]),
                activation: *activation,
            }))
        }
        Layer::Dense { input, weights, bias, activation, .. } => Step::Dense(Dense {
            input: places[input.0],
            output,
            parts: 1,
            weights: match form.int8 {
                false => DenseWeights::Single(Arc::new(pack(weights, bias.len()))),
                true => pack_whole_dense(&int8::Weights::new(weights, bias.len())),
            },
            bias: pack_bias(bias).into_iter().map(Block).collect(),
            activation: *activation,
        }),
        Layer::Smolgen { input, heads, weights } => Step::Dense(Dense {
            input: places[input.0],
            output,
            parts: *heads,
            weights: DenseWeights::Single(packed.of(weights, output.shape.squares)),
            bias: vec![Block::ZERO; output.shape.squares.div_ceil(COLUMNS)],
            activation: Activation::None,
        }),
        Layer::Gather { input, indices, residual, .. } => {
            let input = places[input.0];
            let indices = indices.iter().map(|&i| input.index(i as usize) as u32).collect();
            let residual = residual.map(|r| {
                let place = places[r.0];
                (place, (0..place.shape.len()).map(|i| place.index(i) as u32).collect())
            });
            Step::Gather(Gather { input, output, indices, residual })
        }
        Layer::Constant { values, .. } => Step::Constant { output, values: lay_out(output, values) },
        Layer::Gate { input, scale, shift } => {
            let (scale, shift) = (lay_out(output, scale), lay_out(output, shift));
            Step::Gate(Gate { input: places[input.0], output, scale, shift })
        }
        Layer::LayerNorm { input, epsilon, gammas, betas } => Step::LayerNorm(LayerNorm {
            input: places[input.0],
            output,
            epsilon: *epsilon,
            gammas: gammas.clone(),
            betas: betas.clone(),
        }),
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

/// Elements side by side → as they lie at `place`, zeros on borders.
fn lay_out(place: Place, values: &[f32]) -> Vec<f32> {
    let mut laid = vec![0.0; place.len()];
    values.iter().enumerate().for_each(|(at, v)| laid[place.index(at)] = *v);
    laid
}

/// `[rows][columns]` → `[rows / COLUMNS][columns]` blocks of rows, the last panel filled up with zeros.
fn pack(matrix: &[f32], rows: usize) -> Vec<Block> {
    let columns = matrix.len() / rows;
    let mut packed = vec![Block::ZERO; rows.div_ceil(COLUMNS) * columns];
    for (row, values) in matrix.chunks_exact(columns).enumerate() {
        let panel = &mut packed[row / COLUMNS * columns..];
        values.iter().zip(panel).for_each(|(v, block)| block.0[row % COLUMNS] = *v);
    }
    packed
}

/// `[channels][inputs]` → `[channels / TILE][inputs][TILE]`, the last panel filled up with zeros.
fn pack_pointwise(weights: &[f32], channels: usize) -> Vec<f32> {
    let inputs = weights.len() / channels;
    let mut packed = vec![0.0; channels.next_multiple_of(TILE) * inputs];
    for (o, weights) in weights.chunks_exact(inputs).enumerate() {
        let panel = &mut packed[o / TILE * TILE * inputs..];
        weights.iter().enumerate().for_each(|(input, w)| panel[input * TILE + o % TILE] = *w);
    }
    packed
}

/// `[channels][inputs][9]` → `[channels / TILE][inputs / BLOCK][9][BLOCK][TILE]`, the last panel filled up with zeros, the last
/// block shorter.
fn pack_conv(weights: &[f32], channels: usize) -> Vec<f32> {
    const TAPS: usize = 9;
    let inputs = weights.len() / channels / TAPS;
    let mut packed = Vec::with_capacity(channels.next_multiple_of(TILE) * inputs * TAPS);
    for first in (0..channels).step_by(TILE) {
        for block in (0..inputs).step_by(BLOCK) {
            for tap in 0..TAPS {
                for input in block..inputs.min(block + BLOCK) {
                    let weight = |o: usize| if o < channels { weights[(o * inputs + input) * TAPS + tap] } else { 0.0 };
                    packed.extend((first..first + TILE).map(weight));
                }
            }
        }
    }
    packed
}

/// As [`super::winograd::multiply`] wants them, panel by panel; what fills up blocks and panels is zero.
fn pack_winograd(weights: &[f32], channels: usize) -> Vec<Block> {
    let inputs = weights.len() / channels / 9;
    let padded = inputs.next_multiple_of(LANES);
    let mut packed = vec![Block::ZERO; channels.div_ceil(PANEL) * POINTS * padded];
    for (at, weights) in weights.chunks_exact(9).enumerate() {
        let (o, c) = (at / inputs, at % inputs);
        for (point, u) in transform(4, weights).into_iter().enumerate() {
            packed[(o / PANEL * POINTS + point) * padded + c].0[o % PANEL] = u as f32;
        }
    }
    packed
}

/// The weight of channel `o` for an input and a tap; 0 beyond the last channel or input.
fn whole_weight(weights: &int8::Weights, taps: usize, o: usize, input: usize, tap: usize) -> i8 {
    let channels = weights.steps.len();
    let inputs = weights.numbers.len() / channels / taps;
    if o < channels && input < inputs { weights.numbers[(o * inputs + input) * taps + tap] } else { 0 }
}

/// As [`super::whole::ConvPanel::weights`] wants them.
fn pack_whole_conv(weights: &int8::Weights, taps: usize) -> ConvWeights {
    let channels = weights.steps.len();
    let inputs = weights.numbers.len() / channels / taps;
    let weight = |o: usize, input: usize, tap: usize| i16::from(whole_weight(weights, taps, o, input, tap));
    let mut packed = Vec::with_capacity(channels.next_multiple_of(TILE) * inputs.div_ceil(2) * taps);
    for first in (0..channels).step_by(TILE) {
        for input in (0..inputs).step_by(2) {
            for tap in 0..taps {
                packed.extend((first..first + TILE).map(|o| [weight(o, input, tap), weight(o, input + 1, tap)]));
            }
        }
    }
    ConvWeights::Whole(packed, pack_bias(&weights.steps))
}

/// As [`super::fours::ConvPanels`] wants them.
fn pack_fours(weights: &int8::Weights, bias: &[f32], taps: usize) -> ConvWeights {
    let channels = weights.steps.len();
    let inputs = weights.numbers.len() / channels / taps;
    let mut packed = Vec::with_capacity(channels.div_ceil(fours::PANEL) * inputs.div_ceil(4) * taps);
    for first in (0..channels).step_by(fours::PANEL) {
        for input in (0..inputs).step_by(4) {
            for tap in 0..taps {
                let of_channel =
                    |o: usize| std::array::from_fn(|i| whole_weight(weights, taps, first + o, input + i, tap));
                packed.push(fours::Weights(std::array::from_fn(of_channel)));
            }
        }
    }
    let of_channel = |o: usize| weights.numbers.chunks_exact(inputs * taps).nth(o).unwrap_or_default();
    let start = |o: usize| -128 * of_channel(o).iter().map(|&w| i32::from(w)).sum::<i32>();
    let panels = pack_bias(&weights.steps).into_iter().zip(pack_bias(bias)).zip((0..).step_by(fours::PANEL));
    let ends = panels.map(|((steps, bias), first)| fours::Ends {
        start: std::array::from_fn(|o| start(first + o)),
        steps,
        bias,
    });
    ConvWeights::Fours(packed, ends.collect())
}

/// As [`super::whole::DensePanel::weights`] wants them.
fn pack_whole_dense(weights: &int8::Weights) -> DenseWeights {
    let channels = weights.steps.len();
    let inputs = weights.numbers.len() / channels;
    let pairs = inputs.div_ceil(2);
    let mut packed = vec![[0; 2]; channels.next_multiple_of(COLUMNS) * pairs];
    for (at, &w) in weights.numbers.iter().enumerate() {
        let (o, input) = (at / inputs, at % inputs);
        packed[(o / COLUMNS * pairs + input / 2) * COLUMNS + o % COLUMNS][input % 2] = w.into();
    }
    DenseWeights::Whole(packed, pack_bias(&weights.steps))
}

fn pack_bias<const N: usize>(bias: &[f32]) -> Vec<[f32; N]> {
    let panel = |part: &[f32]| std::array::from_fn(|i| part.get(i).copied().unwrap_or(0.0));
    bias.chunks(N).map(panel).collect()
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
