//! Launches `pool.cl`.

use super::{Family, Items, Kernels, LINE, Launch, Value, Variant};
use crate::device::{Arg, Error};

pub(super) const FAMILY: Family = Family { name: "pool", source: include_str!("pool.cl") };

/// Makes the launch that writes the mean and the largest number of each of `input`'s channels to `output`, which is
/// plain.
///
/// # Errors
/// If the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, input: &Value, output: &Value) -> Result<Launch, Error> {
    kernels.check(&[input])?;
    kernels.check_plain(&[output])?;
    let from = input.layout;
    let args = [
        Arg::Buffer(&input.buffer),
        Arg::Int(from.stride()),
        Arg::Int(from.shape.channels),
        Arg::Int(from.shape.squares),
        Arg::Output(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    match kernels.variant() {
        Variant::Cpu => {
            let name = if from.block == 1 { "pool_planes" } else { "pool_blocked" };
            Ok(kernels.by_item(FAMILY, "", name, &args, from.blocks())?.with(Items::ByPosition))
        }
        Variant::Gpu => launch_lines(kernels, &args, from.shape.channels),
    }
}

/// Makes the launch of one group for some channels of a position.
fn launch_lines(kernels: &mut Kernels<'_>, args: &[Arg<'_>], channels: usize) -> Result<Launch, Error> {
    let line = |lanes: usize| lanes.min(LINE);
    let options = |lanes| format!("-DLANES={lanes} -DLINE={}", line(lanes));
    let across = |lanes| channels.div_ceil(lanes / line(lanes));
    kernels.in_lines(FAMILY, options, "pool", args, channels, across)
}
