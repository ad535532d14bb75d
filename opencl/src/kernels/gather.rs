//! Launches `gather.cl`.

use super::{Family, Kernels, Launch, Range, Value, Variant};
use crate::device::{Arg, Error};

const FAMILY: Family = Family { name: "gather", source: include_str!("gather.cl") };

const GPU_LANES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];
/// The CPU variant has few elements an item: a group is a loop there.
const CPU_LANES: [usize; 1] = [64];

/// Picks elements of a value.
#[derive(Debug)]
pub struct Gather<'a> {
    /// What is read.
    pub input: &'a Value,
    /// Channel-major elements of the input.
    pub indices: &'a [u32],
    /// Where they go, plain.
    pub output: &'a Value,
}

/// Turns the indices into places of the input's layout, and makes the launch.
///
/// # Errors
/// If an index is outside the input or the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, gather: &Gather<'_>) -> Result<Launch, Error> {
    kernels.check(&[gather.input, gather.output])?;
    let from = gather.input.layout;
    if let Some(i) = gather.indices.iter().find(|&&i| i as usize >= from.shape.len()) {
        return Err(kernels.unfit(format!("gather index {i}: the input has {} elements", from.shape.len())));
    }
    let places: Vec<u32> = gather.indices.iter().map(|&i| from.at_index(i as usize) as u32).collect();
    let indices = kernels.session.upload(&places)?;
    let args = [
        Arg::Buffer(&gather.input.buffer),
        Arg::Int(from.stride()),
        Arg::Buffer(&indices),
        Arg::Int(places.len()),
        Arg::Buffer(&gather.output.buffer),
        Arg::Int(gather.output.layout.stride()),
    ];
    let sizes: &[usize] = match kernels.variant {
        Variant::Cpu => &CPU_LANES,
        Variant::Gpu => &GPU_LANES,
    };
    let options = |lanes| format!("-DLANES={lanes}");
    let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, sizes, |lanes| lanes, options, "gather", &args)?;
    let range = Range { each: 1, whole: 1, across: places.len().div_ceil(lanes), local: [1, lanes] };
    Ok(Launch::new(kernels, kernel, range, args.len()))
}
