//! Launches `affine.cl`.

use super::layout::Layout;
use super::{Family, Items, Kernels, Launch, Value, Variant, activation_code};
use crate::device::{Arg, Error};
use crate::graph::Activation;

pub(super) const FAMILY: Family = Family { name: "affine", source: include_str!("affine.cl") };

/// `output = activation(scale · (input + added) + shift)`, channel by channel.
#[derive(Debug)]
pub struct Affine<'a> {
    /// What is scaled.
    pub input: &'a Value,
    /// A vector with a number for each channel, which is added on each square.
    pub added: Option<&'a Value>,
    /// `[channels]`.
    pub scale: &'a [f32],
    /// `[channels]`.
    pub shift: &'a [f32],
    /// Applied last.
    pub activation: Activation,
    /// Where the result goes, in the layout of the input or plain.
    pub output: &'a Value,
}

/// How the output is stored: like the input, so that nothing is reordered, unless it has to be plain.
pub fn output_layout(input: Layout, plain: bool) -> Layout {
    if plain { Layout::plain(input.shape) } else { input }
}

/// How many words of four bytes scale and shift take on the device.
pub fn weight_words(input: Layout) -> usize {
    2 * padded(input)
}

/// The number of channels in whole blocks.
fn padded(layout: Layout) -> usize {
    layout.blocks() * layout.block
}

/// Sends scale and shift, and makes the launch.
///
/// # Errors
/// If a value has an unexpected layout, or if the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, affine: &Affine<'_>) -> Result<Launch, Error> {
    let Affine { input, added, scale, shift, activation, output } = *affine;
    kernels.check(&[input, output])?;
    kernels.check(added.as_slice())?;
    let (from, to) = (input.layout, output.layout);
    if from.block == 1 {
        kernels.check_plain(&[output])?;
    }
    let (scale, shift) = (kernels.upload_padded(scale, padded(from))?, kernels.upload_padded(shift, padded(from))?);
    let vector = added.unwrap_or(input);
    let mut args = vec![
        Arg::Buffer(&input.buffer),
        Arg::Int(from.stride()),
        Arg::Int(from.shape.squares),
        Arg::Buffer(&vector.buffer),
        Arg::Int(added.is_some().into()),
        Arg::Int(vector.layout.stride()),
        Arg::Buffer(&scale),
        Arg::Buffer(&shift),
        Arg::Output(&output.buffer),
        Arg::Int(to.stride()),
        Arg::Int(activation_code(activation)),
    ];
    match kernels.variant() {
        Variant::Gpu => kernels.by_element(FAMILY, "", "affine", &args, from.shape.len()),
        Variant::Cpu => {
            let name = if from.block == 1 { "affine_planes" } else { "affine_blocked" };
            args.extend((from.block > 1).then_some(Arg::Int(to.block)));
            Ok(kernels.by_item(FAMILY, "", name, &args, from.blocks())?.with(Items::ByPosition))
        }
    }
}
