//! Launches `gather.cl`.

use super::{Family, Kernels, Launch, Value};
use crate::device::{Arg, Error};

pub(super) const FAMILY: Family = Family { name: "gather", source: include_str!("gather.cl") };

/// Picks elements of a value.
#[derive(Debug)]
pub struct Gather<'a> {
    /// What is read.
    pub input: &'a Value,
    /// For each element of the output, the element of the input that it is, counted channel-major.
    pub indices: &'a [u32],
    /// A value of the output's shape that is added, plain.
    pub residual: Option<&'a Value>,
    /// Where the elements go, plain.
    pub output: &'a Value,
}

/// Turns the indices into places of the input's layout, and makes the launch.
///
/// # Errors
/// If an index is outside the input, or if the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, gather: &Gather<'_>) -> Result<Launch, Error> {
    kernels.check(&[gather.input])?;
    kernels.check_plain(&[gather.output])?;
    kernels.check_plain(gather.residual.as_slice())?;
    let from = gather.input.layout;
    if let Some(i) = gather.indices.iter().find(|&&i| i as usize >= from.shape.len()) {
        return Err(kernels.unfit(format!("gather index {i}: the input has {} elements", from.shape.len())));
    }
    let places: Vec<u32> = gather.indices.iter().map(|&i| from.at_index(i as usize) as u32).collect();
    let indices = kernels.session.upload(&places)?;
    let residual = gather.residual.unwrap_or(gather.input);
    let args = [
        Arg::Buffer(&gather.input.buffer),
        Arg::Int(from.stride()),
        Arg::Buffer(&indices),
        Arg::Int(places.len()),
        Arg::Buffer(&residual.buffer),
        Arg::Int(gather.residual.is_some().into()),
        Arg::Int(residual.layout.stride()),
        Arg::Output(&gather.output.buffer),
        Arg::Int(gather.output.layout.stride()),
    ];
    kernels.by_element(FAMILY, "", "gather", &args, places.len())
}
