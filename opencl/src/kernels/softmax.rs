//! Launches `softmax.cl`.

use super::{Family, Kernels, Launch, Range, Value};
use crate::device::{Arg, Error};

pub(super) const FAMILY: Family = Family { name: "softmax", source: include_str!("softmax.cl") };

/// A softmax over each position of `value`, in place.
///
/// # Errors
/// If the value isn't plain or the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, value: &Value) -> Result<Launch, Error> {
    kernels.check(&[value])?;
    if value.layout.block != 1 {
        return Err(kernels.unfit("a softmax reads a plain value, got a blocked one".to_string()));
    }
    let args = [Arg::Output(&value.buffer), Arg::Int(value.layout.shape.len()), Arg::Int(value.layout.stride())];
    let kernel = kernels.kernel(FAMILY, "", "softmax", &args)?;
    let range = Range { each: 1, whole: 1, across: 1, local: [1, 1] };
    Ok(Launch::new(kernels, kernel, range, args.len()))
}
