//! Launches `dense.cl`.

use super::{Family, Kernels, Launch, Range, Step, Value, Variant, activation_code};
use crate::device::{Arg, Buffer, Error};
use crate::graph::Activation;

pub(super) const FAMILY: Family = Family { name: "dense", source: include_str!("dense.cl") };

/// Positions of a group in the GPU variant, `ROWS` in dense.cl.
const GPU_ROWS: usize = 4;

/// A fully connected layer.
#[derive(Debug)]
pub struct Dense<'a> {
    /// What is multiplied.
    pub input: &'a Value,
    /// `[outputs][elements of the input]`, channel-major.
    pub weights: &'a [f32],
    /// `[outputs]`.
    pub bias: &'a [f32],
    /// Applied last; a softmax is left to [`super::softmax`].
    pub activation: Activation,
    /// Where the result goes, plain.
    pub output: &'a Value,
}

/// From this many positions on, the kernel that shares weights between four of them is used.
const SHARE_FROM: usize = 3;

/// Words of four bytes that the packed weights take on the device.
pub fn weight_words(kernels: &Kernels<'_>, input: super::layout::Layout, outputs: usize) -> usize {
    let padded = outputs.next_multiple_of(kernels.block());
    padded + kernels.stored(padded * input.stride())
}

/// Packs the weights, and makes the launches: a kernel for single positions, and one for batches.
///
/// # Errors
/// If the driver fails.
pub fn step(kernels: &mut Kernels<'_>, dense: &Dense<'_>) -> Result<Step, Error> {
    kernels.check(&[dense.input, dense.output])?;
    let block = kernels.block();
    let weights = kernels.upload_weights(&pack(dense, block))?;
    let mut padded = dense.bias.to_vec();
    padded.resize(padded.len().next_multiple_of(block), 0.0);
    let bias = kernels.session.upload(&padded)?;
    match kernels.variant() {
        Variant::Cpu => {
            let single = launch_rows(kernels, dense, &weights, &bias, 1)?;
            let shared = launch_rows(kernels, dense, &weights, &bias, 4)?;
            Ok(Step::by_batch(vec![single], vec![shared], SHARE_FROM))
        }
        Variant::Gpu => Ok(launch_groups(kernels, dense, &weights, &bias)?.into()),
    }
}

/// `[panel][element of the input as stored][block]`; with blocks of one that is `[output][element]`.
fn pack(dense: &Dense<'_>, block: usize) -> Vec<f32> {
    let from = dense.input.layout;
    let (elements, stride) = (from.shape.len(), from.stride());
    let mut packed = vec![0.0; dense.bias.len().next_multiple_of(block) * stride];
    for (o, row) in dense.weights.chunks_exact(elements).enumerate() {
        for (i, &w) in row.iter().enumerate() {
            packed[(o / block * stride + from.at_index(i)) * block + o % block] = w;
        }
    }
    packed
}

fn launch_rows(
    kernels: &mut Kernels<'_>,
    dense: &Dense<'_>,
    weights: &Buffer,
    bias: &Buffer,
    rows: usize,
) -> Result<Launch, Error> {
    let (from, outputs) = (dense.input.layout, dense.bias.len());
    let args = [
        Arg::Buffer(&dense.input.buffer),
        Arg::Int(from.stride()),
        Arg::Int(from.stride()),
        Arg::Buffer(weights),
        Arg::Buffer(bias),
        Arg::Buffer(&dense.output.buffer),
        Arg::Int(outputs),
        Arg::Int(dense.output.layout.stride()),
        Arg::Int(activation_code(dense.activation)),
    ];
    let name = if rows == 1 { "dense_one" } else { "dense_four" };
    let kernel = kernels.kernel(FAMILY, "", name, &args)?;
    let range = Range { each: 1, whole: rows, across: outputs.div_ceil(kernels.tuning.vector), local: [1, 1] };
    Ok(Launch::new(kernels, kernel, range, args.len()))
}

fn launch_groups(
    kernels: &mut Kernels<'_>,
    dense: &Dense<'_>,
    weights: &Buffer,
    bias: &Buffer,
) -> Result<Launch, Error> {
    let from = dense.input.layout;
    let args = [
        Arg::Buffer(&dense.input.buffer),
        Arg::Int(from.stride()),
        Arg::Int(from.stride()),
        Arg::Buffer(weights),
        Arg::Buffer(bias),
        Arg::Buffer(&dense.output.buffer),
        Arg::Int(dense.output.layout.stride()),
        Arg::Int(activation_code(dense.activation)),
    ];
    let options = |lanes| format!("-DLANES={lanes}");
    let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, &kernels.lanes(), |lanes| lanes, options, "dense", &args)?;
    let range = Range { each: 1, whole: GPU_ROWS, across: dense.bias.len(), local: [lanes, 1] };
    Ok(Launch::new(kernels, kernel, range, args.len()))
}
