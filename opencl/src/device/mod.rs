//! Platforms and devices: which there are, and which one is meant.
//!
//! [`list`] asks every platform for its devices, in the driver's order, which is that of `clinfo`. [`choose`] picks
//! one. A [`Session`] is one device in use: a context, one in-order queue, and the objects made for it.
//!
//! Drivers are treated as hostile. Handles are released without looking at the status, statuses are plain numbers (a
//! vendor may invent one), lengths that a driver reports are bounded before anything is allocated. This is why the
//! calls go through `ocl`'s declarations ([`ocl::ffi`]) and not through its objects, which panic where a release fails
//! or a status is unknown.

mod alone;
mod arena;
mod choice;
mod error;
mod facts;
mod list;
mod programs;
mod quirks;
mod session;

pub use alone::{Turn, Turns};
pub use arena::Arenas;
pub use choice::{DeviceChoice, candidates, choose, named_by_environment};
pub use error::{Error, Purpose};
pub use facts::{Device, Kind};
use list::answer;
pub use list::list;
pub use programs::{ProgramKey, Programs};
pub use session::{Arg, Argument, Buffer, Commands, Copies, Kernel, Program, Read, Session, Time, host_memory_beside};

/// Environment variable that chooses a device if nothing else does: an index or part of a name. From a list with commas
/// the program takes all devices, and the host if `host` is in it; this crate takes the first device.
pub const DEVICE_ENV: &str = "ONCILLA_DEVICE";

/// Environment variable that names the OpenCL library to open instead of the usual ones; `none` means no library at
/// all. It is read where the library is looked up at run time: with the feature `dynamic`, everywhere but on macOS.
pub const LIBRARY_ENV: &str = "ONCILLA_OPENCL_LIBRARY";

/// The device that tests use; `None`, and a line that says so, if there is none and none is required.
#[cfg(test)]
pub(crate) fn device_is_there() -> Option<Device> {
    oncilla_testing::opencl(choose(&DeviceChoice::Auto))
}
