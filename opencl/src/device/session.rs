//! One device in use, and the objects on it.

mod batch;
mod copies;
mod kernel;
mod memory;
mod program;

pub use batch::{Commands, Read, Time};
pub use copies::Copies;
pub use kernel::{Arg, Argument, Kernel};
pub use memory::{Buffer, host_memory_beside};
pub use program::Program;

use super::{Device, Error, Programs, Purpose};
use batch::{Command, Event};
use ocl::ffi::*;
use std::cell::RefCell;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A context and one in-order queue on one device.
#[derive(Debug)]
pub struct Session {
    device: Device,
    context: cl_context,
    queue: cl_command_queue,
    programs: Option<Arc<Programs>>,
    /// The commands whose end is still to be checked, see [`Session::completed`].
    events: RefCell<Vec<(Event, Command)>>,
    /// When each command ran, if the queue records that, see [`Session::open_timed`].
    times: Option<RefCell<Vec<Time>>>,
}

// SAFETY: OpenCL objects may be used from any thread, one at a time; nothing here is tied to the thread that made it.
unsafe impl Send for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: both are ours and alive. A failing release leaks, which is all that can be done about it.
        unsafe {
            clFinish(self.queue);
            clReleaseCommandQueue(self.queue);
            clReleaseContext(self.context);
        }
    }
}

impl Session {
    /// Opens a device.
    ///
    /// # Errors
    /// If the driver creates no context or no queue.
    pub fn open(device: &Device) -> Result<Self, Error> {
        Self::new(device, false)
    }

    /// Opens a device with a queue that records when each command ran, for [`Session::times`]; recording takes time
    /// itself.
    ///
    /// # Errors
    /// Like [`Session::open`].
    pub fn open_timed(device: &Device) -> Result<Self, Error> {
        Self::new(device, true)
    }

    fn new(device: &Device, timed: bool) -> Result<Self, Error> {
        let id = device.id.0;
        let mut status = CL_SUCCESS;
        // SAFETY: one device id, no properties, no callback.
        let context = unsafe { clCreateContext(null(), 1, &id, None, null_mut(), &mut status) };
        made(device, "clCreateContext", status, context.is_null())?;
        Self::with_queue(device, context, timed)
    }

    /// Another queue on the same device, in the same context: both can use the same buffers and programs.
    ///
    /// # Errors
    /// If the driver creates no queue.
    pub fn another(&self) -> Result<Self, Error> {
        // SAFETY: the context is alive; the other session releases it once more.
        self.check(Purpose::Object, "clRetainContext", unsafe { clRetainContext(self.context) })?;
        let mut other = Self::with_queue(&self.device, self.context, self.times.is_some())?;
        other.programs.clone_from(&self.programs);
        Ok(other)
    }

    /// A session with a new queue; it takes over the context.
    fn with_queue(device: &Device, context: cl_context, timed: bool) -> Result<Self, Error> {
        let mut status = CL_SUCCESS;
        let properties = if timed { CL_QUEUE_PROFILING_ENABLE } else { 0 };
        // SAFETY: the context is alive and has this device.
        let queue = unsafe { clCreateCommandQueue(context, device.id.0, properties, &mut status) };
        if let Err(error) = made(device, "clCreateCommandQueue", status, queue.is_null()) {
            // SAFETY: the context is ours and nothing uses it.
            unsafe { clReleaseContext(context) };
            return Err(error);
        }
        let times = timed.then(RefCell::default);
        Ok(Self { device: device.clone(), context, queue, programs: None, events: RefCell::default(), times })
    }

    /// Makes the session look for compiled programs in `programs`, and store those that it compiles.
    pub fn keep_programs(&mut self, programs: Arc<Programs>) {
        self.programs = Some(programs);
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn check(&self, purpose: Purpose, call: &str, status: cl_int) -> Result<(), Error> {
        match status {
            CL_SUCCESS => Ok(()),
            status => Err(Error::Call { device: self.device.name.clone(), call: call.to_string(), purpose, status }),
        }
    }

    /// Whether a call has made an object.
    fn made(&self, call: &str, status: cl_int, is_null: bool) -> Result<(), Error> {
        made(&self.device, call, status, is_null)
    }

    /// Makes the driver begin with what was enqueued, while more is being enqueued.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn flush(&self) -> Result<(), Error> {
        // SAFETY: the queue is alive.
        self.check(Purpose::Kernels, "clFlush", unsafe { clFlush(self.queue) })
    }
}

/// Whether a call has made an object. A null object with a good status counts as a failure, too: some drivers return
/// that.
fn made(device: &Device, call: &str, status: cl_int, is_null: bool) -> Result<(), Error> {
    let call = match (status, is_null) {
        (CL_SUCCESS, false) => return Ok(()),
        (CL_SUCCESS, true) => format!("{call} gave nothing"),
        _ => call.to_string(),
    };
    Err(Error::Call { device: device.name.clone(), call, purpose: Purpose::Object, status })
}
