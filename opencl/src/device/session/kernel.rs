//! Kernels with their arguments, and their launches.

use super::Session;
use super::batch::Command;
use super::memory::Buffer;
use super::program::Program;
use crate::device::{Error, Purpose, answer};
use ocl::ffi::*;
use std::ffi::CString;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// One kernel with its arguments. It keeps the buffers among them alive, and remembers all of them for
/// [`Copies`](super::Copies).
///
/// It is not `Clone` and not `Sync`: `clSetKernelArg` is the one call that two threads may not make on one object.
#[derive(Debug)]
pub struct Kernel {
    kernel: cl_kernel,
    name: Arc<str>,
    pub(super) args: Vec<Argument>,
}

// SAFETY: as for `Session`.
unsafe impl Send for Kernel {}

impl Kernel {
    /// The kernel's name in its program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the kernel's arguments were set to, in order.
    pub fn args(&self) -> &[Argument] {
        &self.args
    }
}

/// What an argument was set to.
#[derive(Clone, Debug)]
pub enum Argument {
    /// It was not set.
    Nothing,
    /// [`Arg::Buffer`] or [`Arg::Output`].
    Buffer {
        /// The buffer that it points to.
        buffer: Buffer,
        /// Whether the kernel writes to it.
        is_output: bool,
    },
    /// [`Arg::Int`].
    Int(usize),
    /// [`Arg::Local`].
    Local(usize),
}

impl Argument {
    /// The buffer that it points to, if it is one.
    pub fn buffer(&self) -> Option<&Buffer> {
        match self {
            Argument::Buffer { buffer, .. } => Some(buffer),
            _ => None,
        }
    }
}

impl From<Arg<'_>> for Argument {
    fn from(arg: Arg<'_>) -> Self {
        match arg {
            Arg::Buffer(buffer) => Argument::Buffer { buffer: buffer.clone(), is_output: false },
            Arg::Output(buffer) => Argument::Buffer { buffer: buffer.clone(), is_output: true },
            Arg::Int(value) => Argument::Int(value),
            Arg::Local(floats) => Argument::Local(floats),
        }
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A pointer into global memory that is read.
    Buffer(&'a Buffer),
    /// A pointer into global memory that is written to, and may be read.
    Output(&'a Buffer),
    /// An `int`.
    Int(usize),
    /// A pointer into local memory for this many floats.
    Local(usize),
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: it is ours and alive.
        unsafe { clReleaseKernel(self.kernel) };
    }
}

impl Session {
    /// A kernel of a program, with its arguments in order.
    ///
    /// # Errors
    /// If the program has no such kernel, or if an argument has the wrong size.
    pub fn kernel(&self, program: &Program, name: &str, args: &[Arg<'_>]) -> Result<Kernel, Error> {
        let c_name = CString::new(name).unwrap_or_default();
        let mut status = CL_SUCCESS;
        // SAFETY: the program is alive and built, `c_name` is a C string.
        let kernel = unsafe { clCreateKernel(program.program, c_name.as_ptr(), &mut status) };
        self.made(&format!("clCreateKernel {name} of {}.cl", program.name), status, kernel.is_null())?;
        let mut kernel = Kernel { kernel, name: name.into(), args: Vec::new() };
        for (index, arg) in args.iter().enumerate() {
            self.set_arg(&mut kernel, index, *arg)?;
        }
        Ok(kernel)
    }

    /// Another object of the same kernel.
    pub(super) fn kernel_again(&self, kernel: &Kernel) -> Result<Kernel, Error> {
        let mut program: cl_program = null_mut();
        let at = (&raw mut program).cast();
        // SAFETY: the kernel is alive, and `program` is a place for a handle.
        let status =
            unsafe { clGetKernelInfo(kernel.kernel, CL_KERNEL_PROGRAM, size_of::<cl_program>(), at, null_mut()) };
        self.check(Purpose::Kernels, "clGetKernelInfo", status)?;
        let c_name = CString::new(&*kernel.name).unwrap_or_default();
        let mut status = CL_SUCCESS;
        // SAFETY: the kernel keeps its program alive, `c_name` is a C string.
        let made = unsafe { clCreateKernel(program, c_name.as_ptr(), &mut status) };
        let call = format!("clCreateKernel {}", kernel.name);
        self.made(&call, status, made.is_null())?;
        Ok(Kernel { kernel: made, name: Arc::clone(&kernel.name), args: Vec::new() })
    }

    /// Sets one argument, for the next runs.
    ///
    /// # Errors
    /// If the kernel has no such argument, or if it has another size.
    pub fn set_arg(&self, kernel: &mut Kernel, index: usize, arg: Arg<'_>) -> Result<(), Error> {
        let int;
        let (bytes, value): (usize, *const c_void) = match &arg {
            Arg::Buffer(buffer) | Arg::Output(buffer) => (size_of::<cl_mem>(), (&raw const buffer.mem.handle).cast()),
            Arg::Int(value) => {
                int = i32::try_from(*value).map_err(|_| Error::Unfit {
                    device: self.device.name.clone(),
                    what: format!("argument {index} of {}: {value} is more than an int holds", kernel.name),
                })?;
                (size_of::<i32>(), (&raw const int).cast())
            }
            Arg::Local(floats) => (floats.max(&1) * 4, null()),
        };
        // SAFETY: the kernel is alive, `value` points to `bytes` bytes or is null for local memory; they are copied.
        let status = unsafe { clSetKernelArg(kernel.kernel, index as cl_uint, bytes, value) };
        if status != CL_SUCCESS {
            return self.check(Purpose::Kernels, &format!("clSetKernelArg {index} of {}", kernel.name), status);
        }
        kernel.args.resize(kernel.args.len().max(index + 1), Argument::Nothing);
        kernel.args[index] = arg.into();
        Ok(())
    }

    /// Sets all of `args`, for the next runs; each buffer is replaced by the one that `place` returns for it.
    ///
    /// # Errors
    /// The errors of `place`, and those of [`Session::set_arg`].
    pub fn set_args(
        &self,
        kernel: &mut Kernel,
        args: &[Argument],
        mut place: impl FnMut(&Buffer) -> Result<Buffer, Error>,
    ) -> Result<(), Error> {
        args.iter().enumerate().try_for_each(|(index, arg)| match arg {
            Argument::Nothing => Ok(()),
            Argument::Buffer { buffer, is_output: false } => self.set_arg(kernel, index, Arg::Buffer(&place(buffer)?)),
            Argument::Buffer { buffer, is_output: true } => self.set_arg(kernel, index, Arg::Output(&place(buffer)?)),
            Argument::Int(value) => self.set_arg(kernel, index, Arg::Int(*value)),
            Argument::Local(floats) => self.set_arg(kernel, index, Arg::Local(*floats)),
        })
    }

    /// Whether the kernel's text declares an argument `const`; `None` if the driver doesn't know.
    #[cfg(test)]
    pub fn arg_is_const(&self, kernel: &Kernel, index: usize) -> Option<bool> {
        let (mut qualifier, kernel): (cl_bitfield, _) = (0, kernel.kernel);
        let (bytes, at) = (size_of::<cl_bitfield>(), (&raw mut qualifier).cast());
        // SAFETY: the kernel is alive, and `qualifier` is a place for one.
        let status = unsafe {
            clGetKernelArgInfo(kernel, index as cl_uint, CL_KERNEL_ARG_TYPE_QUALIFIER, bytes, at, null_mut())
        };
        (status == CL_SUCCESS).then_some(qualifier & CL_KERNEL_ARG_TYPE_CONST != 0)
    }

    /// The most work items that a group of this kernel can have on this device: what the driver reports for the kernel,
    /// or, if it reports nothing or 0, for the device.
    pub fn work_group_limit(&self, kernel: &Kernel) -> usize {
        let (kernel, id) = (kernel.kernel, self.device.id.0);
        // SAFETY: kernel and device are alive; `answer` passes null or as many bytes as it says.
        let bytes =
            answer(|n, at, len| unsafe { clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE, n, at, len) });
        let of_device = self.device.max_work_group.max(1);
        match bytes.try_into().map_or(0, usize::from_ne_bytes) {
            0 => of_device,
            of_kernel => of_kernel.min(of_device),
        }
    }

    /// Enqueues one run of `global` work items in groups of `local`; each of `global` is a multiple of its `local`.
    ///
    /// # Safety
    /// With its arguments and this range, the kernel must stay inside of its buffers.
    ///
    /// # Errors
    /// If the driver refuses.
    pub unsafe fn run(&self, kernel: &Kernel, global: [usize; 2], local: [usize; 2]) -> Result<(), Error> {
        let (global, local) = (global.as_ptr(), local.as_ptr());
        let mut event = null_mut();
        let place = if self.is_watched() { &raw mut event } else { null_mut() };
        // SAFETY: the caller says that arguments and range fit, the kernel keeps its buffers alive; both arrays have
        // the two dimensions named; `place` is null or for an event.
        let status =
            unsafe { clEnqueueNDRangeKernel(self.queue, kernel.kernel, 2, null(), global, local, 0, null(), place) };
        self.watch(event, Command::Launch(Arc::clone(&kernel.name)));
        match status {
            CL_SUCCESS => Ok(()),
            status => self.check(Purpose::Kernels, &format!("clEnqueueNDRangeKernel {}", kernel.name), status),
        }
    }
}
