//! Launches `norm.cl`.

use super::{Family, Items, Kernels, LINE, Launch, Value, Variant};
use crate::device::{Arg, Error};
use crate::graph::Shape;

pub(super) const FAMILY: Family = Family { name: "norm", source: include_str!("norm.cl") };

/// A layer norm over the channels of each square.
#[derive(Debug)]
pub struct LayerNorm<'a> {
    /// What is normed, plain.
    pub input: &'a Value,
    /// At least 0.
    pub epsilon: f32,
    /// `[channels]`.
    pub gammas: &'a [f32],
    /// `[channels]`.
    pub betas: &'a [f32],
    /// Where the result goes, plain.
    pub output: &'a Value,
}

/// Sends the weights, and makes the launch.
///
/// # Errors
/// If the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, norm: &LayerNorm<'_>) -> Result<Launch, Error> {
    let LayerNorm { input, epsilon, gammas, betas, output } = *norm;
    kernels.check_plain(&[input, output])?;
    let (gammas, betas) = (kernels.session.upload(gammas)?, kernels.session.upload(betas)?);
    let shape = input.layout.shape;
    // A graph has no epsilon below 0, so the sign bit can be cleared.
    let epsilon = Arg::Int(epsilon.abs().to_bits() as usize);
    let from = [Arg::Buffer(&input.buffer), Arg::Int(input.layout.stride()), Arg::Int(shape.channels)];
    let rest = [
        Arg::Buffer(&gammas),
        Arg::Buffer(&betas),
        epsilon,
        Arg::Output(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    launch_named(kernels, ["layer_norm", "vector_norm"], &from, &rest, shape)
}

/// Makes the launch for a norm without weights, over the channels of each square or over all channels and squares;
/// input and output are plain, and `epsilon` is above 0. See [`crate::graph::Layer::RmsNorm`].
///
/// # Errors
/// If the driver fails.
pub fn launch_rms_norm(
    kernels: &mut Kernels<'_>,
    input: &Value,
    epsilon: f32,
    whole: bool,
    output: &Value,
) -> Result<Launch, Error> {
    kernels.check_plain(&[input, output])?;
    let shape = match whole {
        true => Shape { channels: input.layout.shape.len(), squares: 1 },
        false => input.layout.shape,
    };
    let from = [Arg::Buffer(&input.buffer), Arg::Int(input.layout.stride()), Arg::Int(shape.channels)];
    let epsilon = Arg::Int(epsilon.abs().to_bits() as usize);
    let rest = [epsilon, Arg::Output(&output.buffer), Arg::Int(output.layout.stride())];
    launch_named(kernels, ["rms_norm", "vector_rms_norm"], &from, &rest, shape)
}

/// Makes the launch of a norm. Its kernels are given by their names: `of_vector` is used on a CPU for a vector without
/// a board. The arguments `from` come before the number of squares, which `of_vector` is not told, and `rest` behind
/// it.
fn launch_named(
    kernels: &mut Kernels<'_>,
    [of_squares, of_vector]: [&str; 2],
    from: &[Arg<'_>],
    rest: &[Arg<'_>],
    shape: Shape,
) -> Result<Launch, Error> {
    let args = [from, &[Arg::Int(shape.squares)], rest].concat();
    match kernels.variant() {
        Variant::Cpu if shape.squares == 1 => kernels.by_item(FAMILY, "", of_vector, &[from, rest].concat(), 1),
        Variant::Cpu => {
            let across = shape.squares.div_ceil(kernels.full_span());
            Ok(kernels.by_item(FAMILY, "", of_squares, &args, across)?.with(Items::ByPosition))
        }
        Variant::Gpu => launch_lines(kernels, of_squares, &args, shape),
    }
}

/// How many channels of a square an item keeps in registers at most. If it has no more than that, its group is compiled
/// for their number.
const MOST_KEPT: usize = 32;

/// Makes the launch of one group for some squares of a position.
fn launch_lines(kernels: &mut Kernels<'_>, name: &str, args: &[Arg<'_>], shape: Shape) -> Result<Launch, Error> {
    // One text for all layers, if one group takes a position through the whole network.
    let most = if kernels.alone() { LINE } else { shape.squares.next_power_of_two() };
    let is_alone = kernels.alone();
    let line = |lanes: usize| lanes.min(LINE).min(most);
    let options = |lanes| {
        let kept = shape.channels.div_ceil(lanes / line(lanes));
        let channels = format!(" -DCHANNELS={}", shape.channels);
        let channels = if kept <= MOST_KEPT && !is_alone { channels.as_str() } else { "" };
        format!("-DLANES={lanes} -DLINE={}{channels}", line(lanes))
    };
    let across = |lanes| shape.squares.div_ceil(line(lanes));
    kernels.in_lines(FAMILY, options, name, args, shape.channels, across)
}
