//! Launches `elementwise.cl`.

use super::{Family, Kernels, Launch, Value};
use crate::device::{Arg, Error};

pub(super) const FAMILY: Family = Family { name: "elementwise", source: include_str!("elementwise.cl") };

/// Makes the launch for `output = input · scale + shift`, element by element; all values are plain.
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

/// Makes the launch for `output = left · right`, element by element; all values are plain.
///
/// # Errors
/// If the driver fails.
pub fn launch_multiply_values(
    kernels: &mut Kernels<'_>,
    left: &Value,
    right: &Value,
    output: &Value,
) -> Result<Launch, Error> {
    kernels.check_plain(&[left, right, output])?;
    let count = output.layout.shape.len();
    let args = [
        Arg::Buffer(&left.buffer),
        Arg::Int(left.layout.stride()),
        Arg::Buffer(&right.buffer),
        Arg::Int(right.layout.stride()),
        Arg::Int(count),
        Arg::Output(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    kernels.by_element(FAMILY, "", "multiply_values", &args, count)
}

/// Makes the launch that turns pairs of the input's channels by `angles`, `[channels / 2][squares]` in radians; input
/// and output are plain.
///
/// # Errors
/// If the driver fails.
pub fn launch_turn_pairs(
    kernels: &mut Kernels<'_>,
    input: &Value,
    angles: &[f32],
    output: &Value,
) -> Result<Launch, Error> {
    kernels.check_plain(&[input, output])?;
    let of = |function: fn(f32) -> f32| angles.iter().map(|&angle| function(angle)).collect::<Vec<f32>>();
    let (cosines, sines) = (kernels.session.upload(&of(f32::cos))?, kernels.session.upload(&of(f32::sin))?);
    let args = [
        Arg::Buffer(&input.buffer),
        Arg::Int(input.layout.stride()),
        Arg::Buffer(&cosines),
        Arg::Buffer(&sines),
        Arg::Int(input.layout.shape.squares),
        Arg::Int(angles.len()),
        Arg::Output(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    kernels.by_element(FAMILY, "", "turn_pairs", &args, angles.len())
}

/// Makes the launch that writes `values`, the same for every position, to `output`, which is plain.
///
/// # Errors
/// If the driver fails.
pub fn launch_constant(kernels: &mut Kernels<'_>, values: &[f32], output: &Value) -> Result<Launch, Error> {
    kernels.check_plain(&[output])?;
    let buffer = kernels.session.upload(values)?;
    let args =
        [Arg::Buffer(&buffer), Arg::Int(values.len()), Arg::Output(&output.buffer), Arg::Int(output.layout.stride())];
    kernels.by_element(FAMILY, "", "constant_value", &args, values.len())
}
