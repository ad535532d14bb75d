//! Launches `dense.cl`.

use super::layout::Layout;
use super::{Family, Items, Kernels, Launch, Range, Step, Value, Variant, activation_code, quantise};
use crate::device::{Arg, Buffer, Error};
use crate::graph::Activation;

pub(super) const FAMILY: Family = Family { name: "dense", source: include_str!("dense.cl") };

/// How many positions a group has in the GPU variant, `ROWS` in dense.cl: for a few positions, and for more.
const GPU_ROWS: [usize; 2] = [2, 8];
/// How many outputs a group has in the GPU variant, `OUTS` in dense.cl.
pub(super) const GPU_OUTS: usize = 4;

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
    /// Whether it multiplies in eight bits, see [`crate::int8`].
    pub int8: bool,
}

/// From this many positions on, the kernel that shares weights between four of them is used.
const SHARE_FROM: usize = 3;

/// How many words of four bytes the packed weights take on the device.
pub fn weight_words(kernels: &Kernels<'_>, input: Layout, outputs: usize, int8: bool) -> usize {
    let padded = outputs.next_multiple_of(kernels.block());
    match int8 {
        true => 2 * padded + (padded * quantise::layout(kernels, input.shape).stride()).div_ceil(4),
        false => padded + kernels.stored(padded * input.stride()),
    }
}

/// How many words of scratch memory the layer takes, see `quantise`.
pub fn scratch_words(kernels: &Kernels<'_>, input: Layout, int8: bool) -> [usize; 2] {
    if int8 { quantise::scratch(kernels, input.shape) } else { [0; 2] }
}

/// What the kernels read.
struct Operands<'a> {
    input: &'a Buffer,
    /// How many elements a position has, as the kernels' text counts them.
    len: usize,
    weights: &'a Buffer,
    /// The steps of the input and of the weights, in eight bits.
    steps: Option<[&'a Buffer; 2]>,
    bias: &'a Buffer,
}

/// Packs the weights, and makes the launches: a kernel for single positions, and one for batches.
///
/// # Errors
/// If the driver fails.
pub fn step(kernels: &mut Kernels<'_>, dense: &Dense<'_>) -> Result<Step, Error> {
    kernels.check(&[dense.input])?;
    kernels.check_plain(&[dense.output])?;
    let block = kernels.block();
    let outputs = dense.bias.len();
    let padded = outputs.next_multiple_of(block);
    let bias = &kernels.upload_padded(dense.bias, padded)?;
    if !dense.int8 {
        let layout = dense.input.layout;
        let weights = &kernels.upload_weights(&pack(dense.weights, outputs, layout, block))?;
        let operands = Operands { input: &dense.input.buffer, len: layout.stride(), weights, steps: None, bias };
        return launches(kernels, dense, &operands);
    }
    let quantise::Rounded { launch, layout, numbers, steps } = quantise::launch(kernels, dense.input)?;
    let (whole, of_weights) = quantise::weights(kernels, dense.weights, outputs, padded)?;
    let weights = &quantise::upload(kernels, &pack(&whole, outputs, layout, block))?;
    let len = layout.stride() / quantise::element(kernels);
    let operands = Operands { input: &numbers, len, weights, steps: Some([&steps, &of_weights]), bias };
    Ok(launches(kernels, dense, &operands)?.behind(launch))
}

fn launches(kernels: &mut Kernels<'_>, dense: &Dense<'_>, operands: &Operands<'_>) -> Result<Step, Error> {
    match kernels.variant() {
        Variant::Cpu => {
            let single = launch_rows(kernels, dense, operands, 1)?;
            let shared = launch_rows(kernels, dense, operands, 4)?;
            Ok(Step::by_batch(vec![single], vec![shared], SHARE_FROM))
        }
        Variant::Gpu if kernels.alone() => {
            let (launch, _) = launch_groups(kernels, dense, operands, 1, &kernels.lanes())?;
            Ok(launch.into())
        }
        Variant::Gpu => {
            let [few, many] = GPU_ROWS;
            let (large, lanes) = launch_groups(kernels, dense, operands, many, &kernels.lanes())?;
            // Another number of lanes would give other sums: an answer must not depend on its batch.
            let (small, _) = launch_groups(kernels, dense, operands, few, &[lanes])?;
            Ok(Step::by_batch(vec![small], vec![large], few + 1))
        }
    }
}

/// `[panel][element of the input as stored][block]`; with blocks of one that is `[output][element]`.
fn pack<T: Copy + Default>(weights: &[T], outputs: usize, from: Layout, block: usize) -> Vec<T> {
    let (elements, stride) = (from.shape.len(), from.stride());
    let mut packed = vec![T::default(); outputs.next_multiple_of(block) * stride];
    for (o, row) in weights.chunks_exact(elements).enumerate() {
        for (i, &w) in row.iter().enumerate() {
            packed[(o / block * stride + from.at_index(i)) * block + o % block] = w;
        }
    }
    packed
}

impl<'a> Operands<'a> {
    /// The first arguments of every kernel.
    fn args(&self) -> Vec<Arg<'a>> {
        let mut args = vec![Arg::Buffer(self.input), Arg::Int(self.len), Arg::Int(self.len), Arg::Buffer(self.weights)];
        args.extend(self.steps.iter().flatten().map(|steps| Arg::Buffer(steps)));
        args.push(Arg::Buffer(self.bias));
        args
    }

    fn options(&self) -> &'static str {
        if self.steps.is_some() { "-DINT8" } else { "" }
    }
}

fn launch_rows(
    kernels: &mut Kernels<'_>,
    dense: &Dense<'_>,
    operands: &Operands<'_>,
    rows: usize,
) -> Result<Launch, Error> {
    let outputs = dense.bias.len();
    let mut args = operands.args();
    args.extend([
        Arg::Output(&dense.output.buffer),
        Arg::Int(outputs),
        Arg::Int(dense.output.layout.stride()),
        Arg::Int(activation_code(dense.activation)),
    ]);
    let name = if rows == 1 { "dense_one" } else { "dense_four" };
    let kernel = kernels.kernel(FAMILY, operands.options(), name, &args)?;
    let range = Range { each: 1, whole: rows, across: outputs.div_ceil(kernels.tuning.vector), local: [1, 1] };
    Ok(Launch::new(kernels, kernel, range, args.len()))
}

/// Groups that make `rows` positions each, with as many items as the device allows, tried from the front of `sizes`;
/// returns how many that are.
fn launch_groups(
    kernels: &mut Kernels<'_>,
    dense: &Dense<'_>,
    operands: &Operands<'_>,
    rows: usize,
    sizes: &[usize],
) -> Result<(Launch, usize), Error> {
    let outputs = dense.bias.len();
    let mut args = operands.args();
    args.extend([
        Arg::Output(&dense.output.buffer),
        Arg::Int(outputs),
        Arg::Int(dense.output.layout.stride()),
        Arg::Int(activation_code(dense.activation)),
    ]);
    // One text for all layers, if one group takes a position through the whole network.
    let in_fours = !kernels.alone() && operands.steps.is_none() && operands.len.is_multiple_of(4);
    let fours = if in_fours { " -DIN_FOURS" } else { "" };
    let options = |lanes| format!("-DLANES={lanes} -DROWS={rows}{fours} {}", operands.options());
    // Half of the local memory, so that two groups on a unit hide each other's waits.
    let most = kernels.session.device().local_memory / 2 / (4 * rows * GPU_OUTS) as u64;
    let parts = if in_fours { operands.len / 4 } else { operands.len };
    let fits =
        |lanes: usize| kernels.alone() || lanes == 1 || lanes as u64 <= most && lanes <= parts.next_power_of_two();
    let sizes: Vec<usize> = sizes.iter().copied().filter(|&lanes| fits(lanes)).collect();
    let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, &sizes, |lanes| lanes, options, "dense", &args)?;
    let range = Range { each: 1, whole: rows, across: outputs.div_ceil(GPU_OUTS), local: [lanes, 1] };
    Ok((Launch::new(kernels, kernel, range, args.len()).with(Items::Together), lanes))
}
