//! Launches `pointwise.cl`: a 1×1 convolution between plain values on the cores of a host.

use super::conv::Conv;
use super::layout::Layout;
use super::{Family, Kernels, Launch, Range, Variant};
use crate::device::{Arg, Error};

pub(super) const FAMILY: Family = Family { name: "pointwise", source: include_str!("pointwise.cl") };

/// The sums of an item, which take half of the registers.
#[derive(Clone, Copy)]
struct Tile {
    /// The number of output channels.
    outs: usize,
    /// The number of vectors of squares.
    span: usize,
}

impl Tile {
    fn of(kernels: &Kernels<'_>, squares: usize) -> Self {
        let (vector, full) = (kernels.tuning.vector, kernels.full_span());
        // With half of a span, a board may have less padding. With a single vector, there would be more weights to read
        // than can be loaded meanwhile.
        let is_padded_less = squares.next_multiple_of(full / 2) < squares.next_multiple_of(full);
        let outs = if is_padded_less && full > 2 * vector { 8 } else { 4 };
        Self { outs, span: 4 * full / vector / outs }
    }
}

/// Whether this form runs a convolution of `input`; if so, its output is plain.
pub fn takes(kernels: &Kernels<'_>, input: Layout, kernel: usize, int8: bool) -> bool {
    kernels.variant() == Variant::Cpu && kernel == 1 && input.block == 1 && !int8
}

/// How many words of four bytes the packed weights take on the device.
pub fn weight_words(kernels: &Kernels<'_>, input: Layout, channels: usize) -> usize {
    let padded = channels.next_multiple_of(Tile::of(kernels, input.shape.squares).outs);
    padded + kernels.stored(padded * input.shape.channels)
}

/// Packs the weights, and makes the launch.
///
/// # Errors
/// If a value has another layout, or if the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, conv: &Conv<'_>) -> Result<Launch, Error> {
    kernels.check_plain(&[conv.input, conv.output])?;
    let (from, channels) = (conv.input.layout, conv.bias.len());
    let squares = from.shape.squares;
    let Tile { outs, span } = Tile::of(kernels, squares);
    let padded = channels.next_multiple_of(outs);
    let weights = kernels.upload_weights(&pack(conv, outs))?;
    let bias = kernels.upload_padded(conv.bias, padded)?;
    let mut args = vec![
        Arg::Buffer(&conv.input.buffer),
        Arg::Int(from.shape.channels),
        Arg::Int(from.stride()),
        Arg::Buffer(&weights),
        Arg::Buffer(&bias),
        Arg::Int(channels),
    ];
    args.extend(conv.end());
    let options = format!("-DSQUARES={squares} -DOUTS={outs} -DSPAN={span}");
    let kernel = kernels.kernel(FAMILY, &options, "pointwise", &args)?;
    let each = squares.div_ceil(span * kernels.tuning.vector) * (padded / outs);
    Ok(Launch::new(kernels, kernel, Range { each, whole: 1, across: 1, local: [1, 1] }, args.len()))
}

/// `[panel][input channel][channel of the panel]`.
fn pack(conv: &Conv<'_>, panel: usize) -> Vec<f32> {
    let inputs = conv.input.layout.shape.channels;
    let mut packed = vec![0.0; conv.bias.len().next_multiple_of(panel) * inputs];
    for (at, &w) in conv.weights.iter().enumerate() {
        let (o, c) = (at / inputs, at % inputs);
        packed[(o / panel * inputs + c) * panel + o % panel] = w;
    }
    packed
}
