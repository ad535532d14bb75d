//! Launches `conv.cl`.

use super::layout::Layout;
use super::{Family, Kernels, Launch, Range, Step, Value, Variant, activation_code, winograd};
use crate::device::{Arg, Buffer, Error};
use crate::graph::{Activation, Shape};

pub(super) const FAMILY: Family = Family { name: "conv", source: include_str!("conv.cl") };

/// Output channels of a group in the GPU variant, `CHANNELS` in conv.cl.
pub(super) const GPU_CHANNELS: usize = 32;
/// Groups of the GPU variant are `LX` by 8 items.
pub(super) const GPU_LY: usize = 8;

/// A convolution with all that is fused into it.
#[derive(Debug)]
pub struct Conv<'a> {
    /// What is convolved.
    pub input: &'a Value,
    /// 1 or 3.
    pub kernel: usize,
    /// `[channels][input channels][kernel][kernel]`.
    pub weights: &'a [f32],
    /// `[channels]`.
    pub bias: &'a [f32],
    /// Added before the activation.
    pub residual: Option<&'a Value>,
    /// Applied last.
    pub activation: Activation,
    /// Where the result goes, another buffer than the input's.
    pub output: &'a Value,
}

/// Ranks and files of the board that a kernel runs over; a 1x1 convolution doesn't care how the squares lie.
pub(super) fn board(squares: usize, kernel: usize) -> Option<(usize, usize)> {
    let side = squares.isqrt();
    match kernel {
        _ if side * side == squares => Some((side, side)),
        1 => Some((1, squares)),
        _ => None,
    }
}

pub(super) fn no_board(kernels: &Kernels<'_>, squares: usize) -> Error {
    kernels.unfit(format!("a 3x3 convolution needs a square board, got {squares} squares"))
}

/// How a convolution's output is stored: in blocks for other convolutions, which broadcast a square's channels, or plain.
pub fn output_layout(kernels: &Kernels<'_>, shape: Shape, plain: bool) -> Layout {
    if plain { Layout::plain(shape) } else { Layout::blocked(shape, kernels.block()) }
}

/// Batches for which a convolution is direct, and those for which it is Winograd's, both if there are such.
fn is_direct(kernels: &Kernels<'_>, kernel: usize) -> (bool, bool) {
    let tuning = kernels.tuning;
    let winograd = kernel == 3 && tuning.winograd > 0 && tuning.winograd_from <= kernels.max_batch;
    (!winograd || tuning.winograd_from > 1, winograd)
}

/// Words of four bytes that the packed weights take on the device.
pub fn weight_words(kernels: &Kernels<'_>, input: Layout, channels: usize, kernel: usize) -> usize {
    let padded = match kernels.variant() {
        Variant::Cpu => channels.next_multiple_of(kernels.tuning.vector),
        Variant::Gpu => channels.next_multiple_of(GPU_CHANNELS),
    };
    let direct = padded + kernels.stored(padded * input.blocks() * input.block * kernel * kernel);
    let (is_direct, is_winograd) = is_direct(kernels, kernel);
    let winograd = if is_winograd { winograd::needs(kernels, input, channels).weights } else { 0 };
    winograd + if is_direct { direct } else { 0 }
}

/// Floats of scratch memory that it takes, see [`winograd::Needs`].
pub fn scratch_floats(kernels: &Kernels<'_>, input: Layout, channels: usize, kernel: usize) -> [usize; 2] {
    match is_direct(kernels, kernel) {
        (_, true) => winograd::needs(kernels, input, channels).scratch,
        (_, false) => [0; 2],
    }
}

/// Packs the weights, and makes the launches: direct, Winograd's, or the one for small batches and the other for large
/// ones, as the tuning says.
///
/// # Errors
/// If the board isn't square or the driver fails.
pub fn step(kernels: &mut Kernels<'_>, conv: &Conv<'_>) -> Result<Step, Error> {
    let (is_direct, is_winograd) = is_direct(kernels, conv.kernel);
    let direct = if is_direct { vec![launch(kernels, conv)?] } else { Vec::new() };
    let winograd = if is_winograd { winograd::launches(kernels, conv)? } else { Vec::new() };
    let from = if is_winograd { kernels.tuning.winograd_from } else { usize::MAX };
    Ok(Step::by_batch(direct, winograd, from))
}

/// The direct one.
fn launch(kernels: &mut Kernels<'_>, conv: &Conv<'_>) -> Result<Launch, Error> {
    kernels.check(&[conv.input, conv.output])?;
    kernels.check(conv.residual.as_slice())?;
    let squares = conv.input.layout.shape.squares;
    let Some(board) = board(squares, conv.kernel) else {
        return Err(no_board(kernels, squares));
    };
    match kernels.variant() {
        Variant::Cpu => launch_rows(kernels, conv, board),
        Variant::Gpu => launch_tiles(kernels, conv, board),
    }
}

fn launch_rows(kernels: &mut Kernels<'_>, conv: &Conv<'_>, (ranks, files): (usize, usize)) -> Result<Launch, Error> {
    let (from, to) = (conv.input.layout, conv.output.layout);
    let name = match (conv.kernel, from.block) {
        (3, 1) => "conv3_planes",
        (3, _) => "conv3_blocked",
        (_, 1) => "conv1_planes",
        _ => "conv1_blocked",
    };
    let vec = kernels.tuning.vector;
    let weights = kernels.upload_weights(&pack_rows(conv, vec))?;
    let bias = upload_bias(kernels, conv.bias, to.shape.channels.next_multiple_of(vec))?;
    let residual = conv.residual.unwrap_or(conv.input);
    let args = [
        Arg::Buffer(&conv.input.buffer),
        Arg::Int(from.blocks()),
        Arg::Int(from.stride()),
        Arg::Buffer(&weights),
        Arg::Buffer(&bias),
        Arg::Buffer(&residual.buffer),
        Arg::Int(conv.residual.is_some().into()),
        Arg::Int(residual.layout.block),
        Arg::Int(residual.layout.stride()),
        Arg::Buffer(&conv.output.buffer),
        Arg::Int(to.block),
        Arg::Int(to.stride()),
        Arg::Int(activation_code(conv.activation)),
    ];
    let tiles = files.div_ceil(kernels.tuning.squares);
    let options = format!("-DRANKS={ranks} -DFILES={files} -DTW={}", files.div_ceil(tiles));
    let kernel = kernels.kernel(FAMILY, &options, name, &args)?;
    let range = Range { each: ranks * tiles, whole: 1, across: to.shape.channels.div_ceil(vec), local: [1, 1] };
    Ok(Launch::new(kernels, kernel, range, args.len()))
}

/// `bias`, and zeros up to `padded` numbers.
pub(super) fn upload_bias(kernels: &Kernels<'_>, bias: &[f32], padded: usize) -> Result<Buffer, Error> {
    let mut numbers = bias.to_vec();
    numbers.resize(padded, 0.0);
    kernels.session.upload(&numbers)
}

/// `[panel][i][input channel, padded][j][vec]`.
fn pack_rows(conv: &Conv<'_>, vec: usize) -> Vec<f32> {
    let (k, from) = (conv.kernel, conv.input.layout);
    let (inputs, padded) = (from.shape.channels, from.blocks() * from.block);
    let channels = conv.bias.len();
    let mut packed = vec![0.0; channels.next_multiple_of(vec) * k * padded * k];
    for (at, &w) in conv.weights.iter().enumerate() {
        let (o, c, i, j) = (at / (inputs * k * k), at / (k * k) % inputs, at / k % k, at % k);
        packed[((((o / vec * k + i) * padded + c) * k) + j) * vec + o % vec] = w;
    }
    packed
}

fn launch_tiles(kernels: &mut Kernels<'_>, conv: &Conv<'_>, (ranks, files): (usize, usize)) -> Result<Launch, Error> {
    let (from, to) = (conv.input.layout, conv.output.layout);
    let channels = to.shape.channels;
    let padded = channels.next_multiple_of(GPU_CHANNELS);
    let weights = kernels.upload_weights(&pack_tiles(conv, padded))?;
    let bias = upload_bias(kernels, conv.bias, padded)?;
    let residual = conv.residual.unwrap_or(conv.input);
    let args = [
        Arg::Buffer(&conv.input.buffer),
        Arg::Int(from.shape.channels),
        Arg::Int(from.stride()),
        Arg::Buffer(&weights),
        Arg::Buffer(&bias),
        Arg::Buffer(&residual.buffer),
        Arg::Int(conv.residual.is_some().into()),
        Arg::Int(residual.layout.stride()),
        Arg::Buffer(&conv.output.buffer),
        Arg::Int(channels),
        Arg::Int(to.stride()),
        Arg::Int(activation_code(conv.activation)),
    ];
    let name = if conv.kernel == 3 { "conv3" } else { "conv1" };
    let items = |lx| lx * GPU_LY;
    let options = |lx| format!("-DRANKS={ranks} -DFILES={files} -DLX={lx}");
    let (kernel, lx) = kernels.kernel_in_groups(FAMILY, &kernels.columns(), items, options, name, &args)?;
    let range = Range { each: ranks * files, whole: 4 * lx, across: padded / GPU_CHANNELS, local: [lx, GPU_LY] };
    Ok(Launch::new(kernels, kernel, range, args.len()))
}

/// `[input channel][i][j][channels, padded]`.
fn pack_tiles(conv: &Conv<'_>, padded: usize) -> Vec<f32> {
    let depth = conv.input.layout.shape.channels * conv.kernel * conv.kernel;
    let mut packed = vec![0.0; depth * padded];
    for (at, &w) in conv.weights.iter().enumerate() {
        packed[at % depth * padded + at / depth] = w;
    }
    packed
}
