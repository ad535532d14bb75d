//! Weights in the form that a layer's way of computing needs.

use super::step::{ColumnWeights, ConvWeights, DenseTiles, DenseWeights, TileWeights, WinogradWeights};
use crate::host::linear::Linear;
use crate::host::tiles::{self, Layout};
use crate::host::ways::{ConvShape, Ways, dense_takes_tiles};
use crate::host::{columns, fours, pack};
use crate::int8;
use std::sync::Arc;

/// How a layer's sums are computed.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub int8: bool,
    /// Whether the layer reads the input's planes, see [`reads_planes`](crate::host::ways::reads_planes).
    pub planes: bool,
    pub ways: Ways,
}

/// The weights of a convolution on a board of `sides`, ranks and files.
pub(super) fn conv_weights(
    weights: &[f32],
    bias: &[f32],
    shape: ConvShape,
    sides: (usize, usize),
    form: Form,
) -> ConvWeights {
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
pub(super) fn dense_weights(weights: &[f32], bias: &[f32], parts: usize, form: Form) -> DenseWeights {
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

/// Packed weights, so that those which layers share are packed once.
#[derive(Default)]
pub(super) struct Packed(Vec<(PackedKey, Arc<DenseWeights>)>);

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
    pub(super) fn of(
        &mut self,
        weights: &Arc<Vec<f32>>,
        outputs: usize,
        parts: usize,
        form: Form,
    ) -> Arc<DenseWeights> {
        let key = PackedKey { weights: Arc::as_ptr(weights), outputs, parts, int8: form.int8 };
        if let Some((_, packed)) = self.0.iter().find(|(known, _)| *known == key) {
            return Arc::clone(packed);
        }
        let packed = Arc::new(dense_weights(weights, &vec![0.0; outputs], parts, form));
        self.0.push((key, Arc::clone(&packed)));
        packed
    }
}
