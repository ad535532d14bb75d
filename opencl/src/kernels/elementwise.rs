//! Launches `elementwise.cl`.

use super::{Family, Kernels, Launch, Value};
use crate::device::{Arg, Error};

pub(super) const FAMILY: Family = Family { name: "elementwise", source: include_str!("elementwise.cl") };

/// `output = input · scale + shift`, element by element: input, scale, shift, and where it goes; all plain.
///
/// # Errors
/// If the driver fails.
pub fn launch_gate(
    kernels: &mut Kernels<'_>,
    input: &Value,
    scale: &[f32],
    shift: &[f32],
    output: &Value,
) -> Result<Launch, Error> {
    kernels.check_plain(&[input, output])?;
    let (scale, shift) = (kernels.session.upload(scale)?, kernels.session.upload(shift)?);
    let from = input.layout;
    let args = [
        Arg::Buffer(&input.buffer),
        Arg::Int(from.stride()),
        Arg::Buffer(&scale),
        Arg::Buffer(&shift),
        Arg::Int(from.shape.len()),
        Arg::Output(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    kernels.by_element(FAMILY, "", "gate", &args, from.shape.len())
}

/// The same numbers for every position, plain.
///
/// # Errors
/// If the driver fails.
pub fn launch_constant(kernels: &mut Kernels<'_>, values: &[f32], output: &Value) -> Result<Launch, Error> {
    kernels.check(&[output])?;
    let buffer = kernels.session.upload(values)?;
    let args =
        [Arg::Buffer(&buffer), Arg::Int(values.len()), Arg::Output(&output.buffer), Arg::Int(output.layout.stride())];
    kernels.by_element(FAMILY, "", "constant_value", &args, values.len())
}
