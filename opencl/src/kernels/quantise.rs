//! Launches `quantise.cl`, and does what else the layers in eight bits need besides their own kernels.

use super::layout::Layout;
use super::{Family, Kernels, Launch, Range, Value, Variant};
use crate::device::{Arg, Buffer, Error};
use crate::graph::Shape;
use crate::int8;

pub(super) const FAMILY: Family = Family { name: "quantise", source: include_str!("quantise.cl") };

/// How many channels an element of the GPU variant has: `char4` in common.cl.
const GPU_CHANNELS: usize = 4;

/// How many items a group of the CPU variant has: a loop over the elements of a position.
const CPU_LANES: usize = 16;

/// How the whole numbers of an input are stored.
pub(super) fn layout(kernels: &Kernels<'_>, shape: Shape) -> Layout {
    Layout::blocked(shape, element(kernels) * kernels.block())
}

/// How many whole numbers an element of the kernels' text has.
pub(super) fn element(kernels: &Kernels<'_>) -> usize {
    match kernels.variant() {
        Variant::Cpu => 1,
        Variant::Gpu => GPU_CHANNELS,
    }
}

/// How many words of four bytes of scratch memory an input takes: for the whole numbers, and for their steps.
pub(super) fn scratch(kernels: &Kernels<'_>, shape: Shape) -> [usize; 2] {
    [(kernels.max_batch * layout(kernels, shape).stride()).div_ceil(4), kernels.max_batch]
}

/// An input after a launch has rounded it.
pub(super) struct Rounded {
    pub launch: Launch,
    pub layout: Layout,
    pub numbers: Buffer,
    /// What a whole number of 1 is worth, for each position.
    pub steps: Buffer,
}

/// Rounds `input` into the scratch memory that layers share.
pub(super) fn launch(kernels: &mut Kernels<'_>, input: &Value) -> Result<Rounded, Error> {
    let shape = input.layout.shape;
    let layout = layout(kernels, shape);
    let [numbers, steps] = kernels.scratch(scratch(kernels, shape))?;
    let args = [
        Arg::Buffer(&input.buffer),
        Arg::Int(shape.channels),
        Arg::Int(shape.squares),
        Arg::Int(input.layout.block),
        Arg::Int(input.layout.stride()),
        Arg::Output(&numbers),
        Arg::Int(layout.block),
        Arg::Int(layout.stride()),
        Arg::Output(&steps),
    ];
    let sizes = match kernels.variant() {
        Variant::Cpu => super::halves(CPU_LANES),
        Variant::Gpu => kernels.lanes(),
    };
    let sizes = kernels.along_second(sizes);
    // A number half way between two whole ones must be rounded to the same side as on the host.
    let exact = kernels.session.device().rounds_quotients;
    let exact = if exact { " -cl-fp32-correctly-rounded-divide-sqrt" } else { "" };
    let options = |lanes| format!("-DLANES={lanes}{exact}");
    let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, &sizes, |lanes| lanes, options, "quantise", &args)?;
    let range = Range { each: 1, whole: 1, across: 1, local: [1, lanes] };
    Ok(Rounded { launch: Launch::new(kernels, kernel, range, args.len()), layout, numbers, steps })
}

/// Sends packed whole numbers.
pub(super) fn upload(kernels: &Kernels<'_>, packed: &[i8]) -> Result<Buffer, Error> {
    let word = |bytes: &[i8]| {
        u32::from_ne_bytes(std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0).to_ne_bytes()[0]))
    };
    kernels.session.upload(&packed.chunks(4).map(word).collect::<Vec<u32>>())
}

/// Rounds a layer's weights, and sends their steps to the device: one for each of `padded` channels.
pub(super) fn weights(
    kernels: &Kernels<'_>,
    weights: &[f32],
    channels: usize,
    padded: usize,
) -> Result<(Vec<i8>, Buffer), Error> {
    let int8::Weights { numbers, steps } = int8::Weights::new(weights, channels);
    Ok((numbers, kernels.upload_padded(&steps, padded)?))
}
