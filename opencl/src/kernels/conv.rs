//! Launches `conv.cl`.
//!
//! Squares are ordered as `Graph::sides` says, for both forms of convolution. 5×5 convolutions are always direct, and a
//! network without them has no code for them.

use super::layout::Layout;
use super::product::{self, Groups, Products, Shapes, with_product};
use super::se::Se;
use super::{
    Family, Items, Kernels, Launch, Range, Step, Value, Variant, activation_code, pointwise, quantise, winograd,
};
use crate::device::{Arg, Buffer, Error};
use crate::graph::{Activation, Graph, Layer, Shape, ValueId};

pub(super) const FAMILY: Family = Family { name: "conv", source: with_product!("conv.cl") };

/// A convolution with everything that is fused into it.
#[derive(Debug)]
pub struct Conv<'a> {
    /// What is convolved.
    pub input: &'a Value,
    /// 1, 3 or 5.
    pub kernel: usize,
    /// `[channels][input channels][kernel][kernel]`.
    pub weights: &'a [f32],
    /// `[channels]`.
    pub bias: &'a [f32],
    /// Added before the activation.
    pub residual: Option<&'a Value>,
    /// Applied last.
    pub activation: Activation,
    /// Where the result goes; a different buffer from the input's.
    pub output: &'a Value,
    /// Whether it multiplies in eight bits, see [`crate::int8`].
    pub int8: bool,
    /// Which neighbouring layers are launched together with it.
    pub joins: Joins,
    /// Squeeze and excitation of its output, if that comes before what joins the next layer; then it has residual and
    /// activation.
    pub se: Option<Se<'a>>,
}

/// Whether the end of a convolution and the beginning of the one that reads it are one launch: Winograd's on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joins {
    /// With the layer before.
    pub before: bool,
    /// With the next layer.
    pub next: bool,
}

impl Joins {
    /// The joins of layer `at` of a graph.
    pub fn of(kernels: &Kernels<'_>, graph: &Graph, at: usize) -> Self {
        Self { before: at > 0 && is_joined(kernels, graph, at - 1), next: is_joined(kernels, graph, at) }
    }
}

/// Whether layer `at` is joined with the next one.
fn is_joined(kernels: &Kernels<'_>, graph: &Graph, at: usize) -> bool {
    let is_winograd = |at: usize, kernel: usize| is_winograd(kernels, kernel, graph.is_int8(at));
    match graph.layers().get(at..at + 2) {
        Some([Layer::Conv { kernel, .. }, Layer::Conv { input, kernel: next_kernel, .. }]) => {
            kernels.variant() == Variant::Gpu
                && *input == ValueId(at + 1)
                && is_winograd(at, *kernel)
                && is_winograd(at + 1, *next_kernel)
        }
        _ => false,
    }
}

impl Conv<'_> {
    /// The arguments for the end of any convolution: `END_ARGS` in common.cl without the batch.
    pub(super) fn end(&self) -> [Arg<'_>; 8] {
        let (residual, to) = (self.residual.unwrap_or(self.input), self.output.layout);
        [
            Arg::Buffer(&residual.buffer),
            Arg::Int(self.residual.is_some().into()),
            Arg::Int(residual.layout.block),
            Arg::Int(residual.layout.stride()),
            Arg::Output(&self.output.buffer),
            Arg::Int(to.block),
            Arg::Int(to.stride()),
            Arg::Int(activation_code(self.activation)),
        ]
    }

    fn check(&self, kernels: &Kernels<'_>) -> Result<(), Error> {
        kernels.check(&[self.input, self.output])?;
        kernels.check(self.residual.as_slice())?;
        kernels.check(self.se.as_ref().and_then(|se| se.residual).as_slice())
    }
}

/// What the memory of a convolution depends on.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// How its input is stored.
    pub input: Layout,
    /// How many channels it makes.
    pub channels: usize,
    /// 1, 3 or 5.
    pub kernel: usize,
    /// Whether it multiplies in eight bits, see [`crate::int8`].
    pub int8: bool,
}

impl Outline {
    /// How the output is stored: in blocks for other convolutions, which broadcast a square's channels, or plain, if it
    /// has to be or because its kernel makes it so.
    pub fn output_layout(self, kernels: &Kernels<'_>, plain: bool) -> Layout {
        let shape = Shape { channels: self.channels, squares: self.input.shape.squares };
        let plain = plain || self.is_pointwise(kernels);
        if plain { Layout::plain(shape) } else { Layout::blocked(shape, kernels.block()) }
    }

    /// How many words of four bytes the packed weights take on the device.
    pub fn weight_words(self, kernels: &Kernels<'_>) -> usize {
        let Self { input, channels, kernel, int8 } = self;
        if self.is_pointwise(kernels) {
            return pointwise::weight_words(kernels, input, channels);
        }
        let padded = padded(kernels, channels);
        if int8 {
            let whole = quantise::layout(kernels, input.shape);
            return 2 * padded + (padded * whole.blocks() * whole.block * kernel * kernel).div_ceil(4);
        }
        match is_winograd(kernels, kernel, int8) {
            true => winograd::needs(kernels, input, channels).weights,
            false => padded + kernels.stored(padded * input.blocks() * input.block * kernel * kernel),
        }
    }

    /// How many words of scratch memory it takes, see [`winograd::Needs`] and `quantise`.
    pub fn scratch_words(self, kernels: &Kernels<'_>) -> [usize; 2] {
        match is_winograd(kernels, self.kernel, self.int8) {
            _ if self.int8 => quantise::scratch(kernels, self.input.shape),
            true => winograd::needs(kernels, self.input, self.channels).scratch,
            false => [0; 2],
        }
    }

    fn is_pointwise(self, kernels: &Kernels<'_>) -> bool {
        pointwise::takes(kernels, self.input, self.kernel, self.int8)
    }
}

/// Whether a convolution is Winograd's. If so it is for every batch, so that an answer does not depend on its batch;
/// otherwise it is direct.
fn is_winograd(kernels: &Kernels<'_>, kernel: usize, int8: bool) -> bool {
    // Winograd's points have more bits than the squares that they are made of: not in eight bits. And a position that
    // is taken through the network by one group has too few tiles for it.
    kernel == 3 && kernels.tuning.winograd > 0 && !int8 && !kernels.alone()
}

/// The number of output channels, filled up to whole panels.
fn padded(kernels: &Kernels<'_>, channels: usize) -> usize {
    channels.next_multiple_of(match kernels.variant() {
        Variant::Cpu => kernels.tuning.vector,
        Variant::Gpu => product::channels(kernels),
    })
}

/// Packs the weights, and makes the launches: direct or Winograd's, as the tuning says.
///
/// # Errors
/// If the squares are not a board, or if the driver fails.
pub fn step(kernels: &mut Kernels<'_>, conv: &Conv<'_>) -> Result<Step, Error> {
    conv.check(kernels)?;
    if conv.int8 {
        return step_in_whole_numbers(kernels, conv);
    }
    if pointwise::takes(kernels, conv.input.layout, conv.kernel, conv.int8) {
        return Ok(pointwise::launch(kernels, conv)?.into());
    }
    if !is_winograd(kernels, conv.kernel, conv.int8) {
        return direct(kernels, conv);
    }
    winograd::step(kernels, conv)
}

/// What a direct convolution reads.
struct Operands<'a> {
    input: &'a Buffer,
    layout: Layout,
    weights: &'a Buffer,
    /// The steps of the input and of the weights, in eight bits.
    steps: Option<[&'a Buffer; 2]>,
}

/// The direct form.
fn direct(kernels: &mut Kernels<'_>, conv: &Conv<'_>) -> Result<Step, Error> {
    let layout = conv.input.layout;
    let weights = kernels.upload_weights(&pack(kernels, conv, conv.weights, layout))?;
    let operands = Operands { input: &conv.input.buffer, layout, weights: &weights, steps: None };
    step_direct(kernels, conv, &operands)
}

/// The direct form in eight bits, after a launch that rounds its input.
fn step_in_whole_numbers(kernels: &mut Kernels<'_>, conv: &Conv<'_>) -> Result<Step, Error> {
    let quantise::Rounded { launch, layout, numbers, steps } = quantise::launch(kernels, conv.input)?;
    let channels = conv.bias.len();
    let (whole, of_weights) = quantise::weights(kernels, conv.weights, channels, padded(kernels, channels))?;
    let weights = quantise::upload(kernels, &pack(kernels, conv, &whole, layout))?;
    let operands = Operands { input: &numbers, layout, weights: &weights, steps: Some([&steps, &of_weights]) };
    Ok(step_direct(kernels, conv, &operands)?.behind(launch))
}

fn step_direct(kernels: &mut Kernels<'_>, conv: &Conv<'_>, operands: &Operands<'_>) -> Result<Step, Error> {
    let (from, channels) = (operands.layout, conv.bias.len());
    let squares = from.shape.squares;
    let sides = kernels.graph.sides_for(conv.kernel, squares);
    let (ranks, files) = sides.map_err(|what| kernels.unfit(what))?;
    let padded = padded(kernels, channels);
    let bias = kernels.upload_padded(conv.bias, padded)?;
    let elements = if operands.steps.is_some() { quantise::element(kernels) } else { 1 };
    let mut args = vec![
        Arg::Buffer(operands.input),
        Arg::Int(from.blocks()),
        Arg::Int(from.stride() / elements),
        Arg::Buffer(operands.weights),
    ];
    args.extend(operands.steps.iter().flatten().map(|steps| Arg::Buffer(steps)));
    args.push(Arg::Buffer(&bias));
    let int8 = if operands.steps.is_some() { " -DINT8" } else { "" };
    let options = format!("-DRANKS={ranks} -DFILES={files}{}{int8}", with_five(kernels));
    match kernels.variant() {
        Variant::Cpu => {
            args.extend(conv.end());
            step_on_cpu(kernels, conv.kernel, from, (ranks, files), padded, &options, &args)
        }
        Variant::Gpu => {
            args.push(Arg::Int(channels));
            args.extend(conv.end());
            // Only squares of 1x1 convolutions, and whole fours of them, are read without looking them up.
            let needs_local = conv.kernel != 1 || !squares.is_multiple_of(4);
            let int8 = operands.steps.is_some();
            let products = Products { count: 1, rows: squares, channels: padded, needs_local, int8 };
            step_on_gpu(kernels, conv.kernel, products, &options, &args)
        }
    }
}

/// One work-item for some squares of a rank.
fn step_on_cpu(
    kernels: &mut Kernels<'_>,
    kernel: usize,
    from: Layout,
    (ranks, files): (usize, usize),
    channels: usize,
    options: &str,
    args: &[Arg<'_>],
) -> Result<Step, Error> {
    let name = match (kernel, from.block) {
        (5, 1) => "conv5_planes",
        (5, _) => "conv5_blocked",
        (3, 1) => "conv3_planes",
        (3, _) => "conv3_blocked",
        _ => "conv1_blocked",
    };
    let tiles = files.div_ceil(kernels.tuning.squares);
    let options = format!("{options} -DTW={}", files.div_ceil(tiles));
    let kernel = kernels.kernel(FAMILY, &options, name, args)?;
    let range = Range { each: ranks * tiles, whole: 1, across: channels / kernels.tuning.vector, local: [1, 1] };
    Ok(Launch::new(kernels, kernel, range, args.len()).into())
}

/// Work-groups for parts of the product.
fn step_on_gpu(
    kernels: &mut Kernels<'_>,
    kernel: usize,
    products: Products,
    options: &str,
    args: &[Arg<'_>],
) -> Result<Step, Error> {
    let name = match kernel {
        5 => "conv5",
        3 => "conv3",
        _ => "conv1",
    };
    let Shapes { many, few } = Shapes::new(kernels, products);
    let mut launch = |groups: Groups| -> Result<Launch, Error> {
        let options = |lx| format!("{options} {}", groups.options(lx));
        let (kernel, lx) =
            kernels.kernel_in_groups(FAMILY, &groups.columns, |lx| groups.items(lx), options, name, args)?;
        Ok(Launch::new(kernels, kernel, groups.range(lx, products), args.len()).with(Items::Together))
    };
    let many = launch(many)?;
    match few {
        Some((few, many_from)) => Ok(Step::by_batch(vec![launch(few)?], vec![many], many_from)),
        None => Ok(many.into()),
    }
}

/// The option that adds the text for 5×5 convolutions, which most graphs do not have. It is the same for all of a
/// graph's convolutions, so that they have one text.
fn with_five(kernels: &Kernels<'_>) -> &'static str {
    let has_five = kernels.graph.layers().iter().any(|layer| matches!(layer, Layer::Conv { kernel: 5, .. }));
    if has_five { " -DWITH_FIVE=1" } else { "" }
}

/// The weights in the order in which conv.cl reads them, for an input in this layout.
fn pack<T: Copy + Default>(kernels: &Kernels<'_>, conv: &Conv<'_>, weights: &[T], from: Layout) -> Vec<T> {
    match kernels.variant() {
        Variant::Cpu => pack_rows(conv, weights, from, kernels.tuning.vector),
        Variant::Gpu => pack_tiles(conv, weights, from, padded(kernels, conv.bias.len())),
    }
}

/// `[panel][i][input channel, padded][j][vec]`.
fn pack_rows<T: Copy + Default>(conv: &Conv<'_>, weights: &[T], from: Layout, vec: usize) -> Vec<T> {
    let k = conv.kernel;
    let (inputs, padded) = (from.shape.channels, from.blocks() * from.block);
    let channels = conv.bias.len();
    let mut packed = vec![T::default(); channels.next_multiple_of(vec) * k * padded * k];
    for (at, &w) in weights.iter().enumerate() {
        let (o, c, i, j) = (at / (inputs * k * k), at / (k * k) % inputs, at / k % k, at % k);
        packed[((((o / vec * k + i) * padded + c) * k) + j) * vec + o % vec] = w;
    }
    packed
}

/// `[i][j][block of input channels][channels, padded][channel of the block]`.
fn pack_tiles<T: Copy + Default>(conv: &Conv<'_>, weights: &[T], from: Layout, padded: usize) -> Vec<T> {
    let taps = conv.kernel * conv.kernel;
    let (inputs, block) = (from.shape.channels, from.block);
    let mut packed = vec![T::default(); from.blocks() * taps * padded * block];
    for (at, &w) in weights.iter().enumerate() {
        let (o, c, tap) = (at / (inputs * taps), at / taps % inputs, at % taps);
        packed[((tap * from.blocks() + c / block) * padded + o) * block + c % block] = w;
    }
    packed
}
