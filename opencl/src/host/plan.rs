//! A graph made ready to run: weights packed for the kernels, and a place for every value.

mod places;
mod step;
mod weights;

pub(super) use places::Place;
pub(super) use step::{
    Added, Affine, Attention, ColumnWeights, Conv, ConvWeights, Dense, DenseTiles, DenseWeights, FourWeights, Gate,
    Gather, LayerNorm, Multiply, PointwiseFourWeights, Pool, RmsNorm, Rotate, Scores, Se, Step, TileWeights,
    WinogradWeights,
};

use super::needs::Needs;
use super::pack;
use super::product::{Block, COLUMNS};
use super::tiles::Operand;
use super::ways::{ConvShape, Ways, reads_planes};
use crate::backend::BackendError;
use crate::graph::{Activation, Graph, Layer, Role, SqueezeExcite};
use places::{places, reads_any, reads_flat, writes_board};
use std::sync::Arc;
use weights::{Form, Packed, conv_weights, dense_weights};

/// How many positions go through the layers together: weights, which may be larger than a core's caches, are read once
/// for all of them, while their values should stay in the caches.
pub(super) const GROUP: usize = 8;

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
            let sides = graph.sides_for(*kernel, input.shape.squares)?;
            let shape = ConvShape::of(graph, input.shape, *kernel, bias.len());
            Step::Conv(Box::new(Conv {
                input,
                output,
                board: shape.board,
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
        Layer::Constant { values, .. } => Step::Constant { output, values: output.lay_out(values) },
        Layer::Gate { input, scale, shift } => {
            let (scale, shift) = (output.lay_out(scale), output.lay_out(shift));
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
