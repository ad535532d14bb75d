//! Launches `softmax.cl`.

use super::{Family, Kernels, Launch, Value};
use crate::device::{Arg, Error};

pub(super) const FAMILY: Family = Family { name: "softmax", source: include_str!("softmax.cl") };

/// Makes the launch for a softmax over each position of `value`, in place.
///
/// # Errors
/// If the value isn't plain, or if the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, value: &Value) -> Result<Launch, Error> {
    kernels.check_plain(&[value])?;
    let args = [Arg::Output(&value.buffer), Arg::Int(value.layout.shape.len()), Arg::Int(value.layout.stride())];
    kernels.by_item(FAMILY, "", "softmax", &args, 1)
}
