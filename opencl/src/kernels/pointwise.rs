//! Launches `pointwise.cl`: a 1×1 convolution between plain values on the cores of a host.

use super::conv::{Conv, upload_bias};
use super::layout::Layout;
use super::{Family, Kernels, Launch, Range, Variant};
use crate::device::{Arg, Error};

pub(super) const FAMILY: Family = Family { name: "pointwise", source: include_str!("pointwise.cl") };

/// Vectors of squares that an item makes.
const SPAN: usize = 2;

/// Output channels that it makes: with them its sums take half of the registers.
fn panel(kernels: &Kernels<'_>) -> usize {
    // There are 32 registers where they hold 16 floats, and 16 where they hold 8.
    if kernels.tuning.vector == 16 { 8 } else { 4 }
}

/// Whether this form runs a convolution of `input`: its output is plain then.
pub fn takes(kernels: &Kernels<'_>, input: Layout, kernel: usize, int8: bool) -> bool {
    kernels.variant() == Variant::Cpu && kernel == 1 && input.block == 1 && !int8
}

/// Words of four bytes that the packed weights take on the device.
pub fn weight_words(kernels: &Kernels<'_>, input: Layout, channels: usize) -> usize {
    let padded = channels.next_multiple_of(panel(kernels));
    padded + kernels.stored(padded * input.shape.channels)
}

/// Packs the weights, and makes the launch.
///
/// # Errors
/// If a value has another layout or the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, conv: &Conv<'_>) -> Result<Launch, Error> {
    kernels.check_plain(&[conv.input, conv.output])?;
    let (from, channels) = (conv.input.layout, conv.bias.len());
    let (panel, squares) = (panel(kernels), from.shape.squares);
    let padded = channels.next_multiple_of(panel);
    let weights = kernels.upload_weights(&pack(conv, panel))?;
    let bias = upload_bias(kernels, conv.bias, padded)?;
    let mut args = vec![
        Arg::Buffer(&conv.input.buffer),
        Arg::Int(from.shape.channels),
        Arg::Int(from.stride()),
        Arg::Buffer(&weights),
        Arg::Buffer(&bias),
        Arg::Int(channels),
    ];
    args.extend(conv.end());
    let options = format!("-DSQUARES={squares} -DOUTS={panel} -DSPAN={SPAN}");
    let kernel = kernels.kernel(FAMILY, &options, "pointwise", &args)?;
    let each = squares.div_ceil(SPAN * kernels.tuning.vector) * (padded / panel);
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
