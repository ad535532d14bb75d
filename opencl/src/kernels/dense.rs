//! Launches `dense.cl`.

use super::{Family, Kernels, Launch, Range, Value, Variant, activation_code};
use crate::device::{Arg, Buffer, Error};
use crate::graph::Activation;

const FAMILY: Family = Family { name: "dense", source: include_str!("dense.cl") };

/// Items of a group in the GPU variant.
const GPU_LANES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];
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

/// A dense layer has a kernel for single positions and one for batches.
#[derive(Debug)]
pub struct DenseLaunch {
    single: Launch,
    batched: Option<Launch>,
}

/// From this many positions on, the kernel that shares weights between four of them is used.
const SHARE_FROM: usize = 3;

impl DenseLaunch {
    /// See [`Launch::enqueue`].
    ///
    /// # Errors
    /// As there.
    pub fn enqueue(&mut self, session: &crate::device::Session, batch: usize) -> Result<(), Error> {
        match &mut self.batched {
            Some(batched) if batch >= SHARE_FROM => batched.enqueue(session, batch),
            _ => self.single.enqueue(session, batch),
        }
    }
}

/// Floats that the packed weights take on the device.
pub fn weight_floats(kernels: &Kernels<'_>, input: super::layout::Layout, outputs: usize) -> usize {
    outputs.next_multiple_of(kernels.block()) * (input.stride() + 1)
}

/// Packs the weights, and makes the launch.
///
/// # Errors
/// If the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, dense: &Dense<'_>) -> Result<DenseLaunch, Error> {
    kernels.check(&[dense.input, dense.output])?;
    let block = kernels.block();
    let weights = kernels.session.upload(&pack(dense, block))?;
    let mut padded = dense.bias.to_vec();
    padded.resize(padded.len().next_multiple_of(block), 0.0);
    let bias = kernels.session.upload(&padded)?;
    match kernels.variant {
        Variant::Cpu => Ok(DenseLaunch {
            single: launch_rows(kernels, dense, &weights, &bias, 1)?,
            batched: Some(launch_rows(kernels, dense, &weights, &bias, 4)?),
        }),
        Variant::Gpu => Ok(DenseLaunch { single: launch_groups(kernels, dense, &weights, &bias)?, batched: None }),
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
    let range = Range { each: 1, whole: rows, across: outputs.div_ceil(kernels.vec), local: [1, 1] };
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
    let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, &GPU_LANES, |lanes| lanes, options, "dense", &args)?;
    let range = Range { each: 1, whole: GPU_ROWS, across: dense.bias.len(), local: [lanes, 1] };
    Ok(Launch::new(kernels, kernel, range, args.len()))
}
