//! One device in use, and the objects on it.

use super::{Device, Error, answer, driver_alone};
use ocl::ffi::*;
use std::ffi::CString;
use std::mem::size_of_val;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A context and one in-order queue on one device.
#[derive(Debug)]
pub struct Session {
    device: Device,
    context: cl_context,
    queue: cl_command_queue,
}

// SAFETY: OpenCL objects may be used from any thread, one at a time; nothing here is tied to the thread that made it.
unsafe impl Send for Session {}

/// Memory on the device, a number of 4-byte elements. A clone is the same memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    mem: Arc<Mem>,
    len: usize,
}

#[derive(Debug)]
struct Mem(cl_mem);

// SAFETY: as for `Session`.
unsafe impl Send for Mem {}
// SAFETY: a shared `Mem` only lends its handle, and every call that takes one is thread-safe.
unsafe impl Sync for Mem {}

/// A compiled program.
#[derive(Debug)]
pub struct Program {
    program: cl_program,
    name: String,
}

// SAFETY: as for `Session`.
unsafe impl Send for Program {}

/// One kernel with its arguments. It keeps the buffers among them alive.
///
/// It is not `Clone` and not `Sync`: `clSetKernelArg` is the one call that two threads may not make on one object.
#[derive(Debug)]
pub struct Kernel {
    kernel: cl_kernel,
    name: String,
    held: Vec<(usize, Buffer)>,
}

// SAFETY: as for `Session`.
unsafe impl Send for Kernel {}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A pointer into global memory.
    Buffer(&'a Buffer),
    /// An `int`.
    Int(usize),
    /// A pointer into local memory of so many floats.
    Local(usize),
}

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

impl Drop for Mem {
    fn drop(&mut self) {
        // SAFETY: it is ours and alive; commands in the queue hold their own reference.
        unsafe { clReleaseMemObject(self.0) };
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: it is ours and alive; kernels hold their own reference.
        unsafe { clReleaseProgram(self.program) };
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: it is ours and alive.
        unsafe { clReleaseKernel(self.kernel) };
    }
}

impl Buffer {
    /// Number of 4-byte elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for a buffer without elements, which [`Session::buffer`] doesn't make.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Session {
    /// Opens a device.
    ///
    /// # Errors
    /// If the driver gives no context or no queue.
    pub fn open(device: &Device) -> Result<Self, Error> {
        let id = device.id.0;
        let mut status = CL_SUCCESS;
        // SAFETY: one device id, no properties, no callback.
        let context = unsafe { clCreateContext(null(), 1, &id, None, null_mut(), &mut status) };
        let made = Made { device: &device.name, status };
        made.check("clCreateContext", context.is_null())?;
        // SAFETY: the context is alive and has this device.
        let queue = unsafe { clCreateCommandQueue(context, id, 0, &mut status) };
        if let Err(error) = (Made { device: &device.name, status }).check("clCreateCommandQueue", queue.is_null()) {
            // SAFETY: the context is ours and nothing uses it.
            unsafe { clReleaseContext(context) };
            return Err(error);
        }
        Ok(Self { device: device.clone(), context, queue })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn check(&self, call: &str, status: cl_int) -> Result<(), Error> {
        Made { device: &self.device.name, status }.check(call, false)
    }

    /// Memory for `len` elements of 4 bytes.
    ///
    /// # Errors
    /// If it is more than the device gives in one piece, or the driver has no room.
    pub fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        let bytes = len.max(1).saturating_mul(4);
        if bytes as u64 > self.device.max_allocation {
            return Err(Error::Memory {
                device: self.device.name.clone(),
                what: "one buffer".to_string(),
                needed: bytes as u64,
                available: self.device.max_allocation,
            });
        }
        let mut status = CL_SUCCESS;
        // SAFETY: the context is alive, no host memory is lent.
        let mem = unsafe { clCreateBuffer(self.context, CL_MEM_READ_WRITE, bytes, null_mut(), &mut status) };
        let made = Made { device: &self.device.name, status };
        made.check("clCreateBuffer", mem.is_null())?;
        Ok(Buffer { mem: Arc::new(Mem(mem)), len })
    }

    /// Memory that holds `data`.
    ///
    /// # Errors
    /// As [`Session::buffer`], or if the transfer fails.
    pub fn upload<T: Element>(&self, data: &[T]) -> Result<Buffer, Error> {
        let buffer = self.buffer(data.len())?;
        self.write(&buffer, data)?;
        Ok(buffer)
    }

    /// Copies `data` to the start of `buffer`, and returns when that is done.
    ///
    /// # Errors
    /// If `data` is longer than the buffer, or the transfer fails.
    pub fn write<T: Element>(&self, buffer: &Buffer, data: &[T]) -> Result<(), Error> {
        self.fits("write", buffer, data.len())?;
        let (bytes, from) = (size_of_val(data), data.as_ptr().cast());
        // SAFETY: the buffer has room for `data`, and the call blocks until `data` was read.
        let status =
            unsafe { clEnqueueWriteBuffer(self.queue, buffer.mem.0, CL_TRUE, 0, bytes, from, 0, null(), null_mut()) };
        self.check("clEnqueueWriteBuffer", status)
    }

    /// Copies the start of `buffer` to `output`, behind all that was enqueued before.
    ///
    /// # Errors
    /// If `output` is longer than the buffer, or the transfer fails.
    pub fn read(&self, buffer: &Buffer, output: &mut [f32]) -> Result<(), Error> {
        self.fits("read", buffer, output.len())?;
        let (bytes, to) = (size_of_val(output), output.as_mut_ptr().cast());
        // SAFETY: the buffer holds that many elements, and the call blocks until they were written.
        let status =
            unsafe { clEnqueueReadBuffer(self.queue, buffer.mem.0, CL_TRUE, 0, bytes, to, 0, null(), null_mut()) };
        self.check("clEnqueueReadBuffer", status)
    }

    /// One write, what `enqueue` puts behind it, and the reads behind that, with one wait at the end.
    ///
    /// # Errors
    /// If a slice is longer than its buffer, or the driver fails anywhere; what was read is then worthless.
    pub fn batch(
        &self,
        write: (&Buffer, &[f32]),
        enqueue: impl FnOnce() -> Result<(), Error>,
        reads: &mut [(&Buffer, &mut [f32])],
    ) -> Result<(), Error> {
        let done = self.enqueue_batch(write, enqueue, reads);
        // The driver may still be reading and writing the caller's slices, so that nothing returns before this.
        let finished = self.finish();
        done.and(finished)
    }

    fn enqueue_batch(
        &self,
        (to, input): (&Buffer, &[f32]),
        enqueue: impl FnOnce() -> Result<(), Error>,
        reads: &mut [(&Buffer, &mut [f32])],
    ) -> Result<(), Error> {
        self.fits("write", to, input.len())?;
        let (bytes, from) = (size_of_val(input), input.as_ptr().cast());
        // SAFETY: the buffer has room for `input`, which the caller of `batch` lends until the queue is empty.
        let status =
            unsafe { clEnqueueWriteBuffer(self.queue, to.mem.0, CL_FALSE, 0, bytes, from, 0, null(), null_mut()) };
        self.check("clEnqueueWriteBuffer", status)?;
        enqueue()?;
        for (from, output) in reads {
            self.fits("read", from, output.len())?;
            let (bytes, to) = (size_of_val(*output), output.as_mut_ptr().cast());
            // SAFETY: the buffer holds that many elements; `output` is lent until the queue is empty.
            let status =
                unsafe { clEnqueueReadBuffer(self.queue, from.mem.0, CL_FALSE, 0, bytes, to, 0, null(), null_mut()) };
            self.check("clEnqueueReadBuffer", status)?;
        }
        Ok(())
    }

    fn fits(&self, what: &str, buffer: &Buffer, len: usize) -> Result<(), Error> {
        if (1..=buffer.len).contains(&len) {
            return Ok(());
        }
        Err(Error::Unfit {
            device: self.device.name.clone(),
            what: format!("{what} of {len} elements, but the buffer has {}", buffer.len),
        })
    }

    /// Compiles `source`. `name` is what an error calls it.
    ///
    /// # Errors
    /// [`Error::Build`] with the compiler's log.
    pub fn program(&self, name: &str, source: &str, options: &str) -> Result<Program, Error> {
        let c_string = |what: &str, text: &str| {
            CString::new(text).map_err(|_| Error::Unfit {
                device: self.device.name.clone(),
                what: format!("{what} of {name}.cl: expected a text, got a zero byte in it"),
            })
        };
        let (source, options) = (c_string("source", source)?, c_string("options", options)?);
        let _alone = driver_alone();
        let mut status = CL_SUCCESS;
        let text = source.as_ptr();
        // SAFETY: one C string that outlives the call, lengths null because it ends with a zero.
        let program = unsafe { clCreateProgramWithSource(self.context, 1, &text, null(), &mut status) };
        let made = Made { device: &self.device.name, status };
        made.check("clCreateProgramWithSource", program.is_null())?;
        let program = Program { program, name: name.to_string() };
        let id = self.device.id.0;
        // SAFETY: program and device are alive, `options` is a C string, no callback, so that the call blocks.
        let status = unsafe { clBuildProgram(program.program, 1, &id, options.as_ptr(), None, null_mut()) };
        match status {
            CL_SUCCESS => Ok(program),
            CL_BUILD_PROGRAM_FAILURE => Err(Error::Build {
                device: self.device.name.clone(),
                program: program.name.clone(),
                log: self.build_log(&program),
            }),
            status => self.check(&format!("clBuildProgram of {name}.cl"), status).map(|()| program),
        }
    }

    fn build_log(&self, program: &Program) -> String {
        let (program, id) = (program.program, self.device.id.0);
        // SAFETY: program and device are alive; `answer` passes null or as many bytes as it says.
        let log = answer(|n, at, len| unsafe { clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, n, at, len) });
        String::from_utf8_lossy(&log).trim_matches(['\0', '\n', ' ']).to_string()
    }

    /// A kernel of a program, with arguments in order.
    ///
    /// # Errors
    /// If the program has no such kernel, or an argument has the wrong size.
    pub fn kernel(&self, program: &Program, name: &str, args: &[Arg<'_>]) -> Result<Kernel, Error> {
        let c_name = CString::new(name).unwrap_or_default();
        let mut status = CL_SUCCESS;
        // SAFETY: the program is alive and built, `c_name` is a C string.
        let kernel = unsafe { clCreateKernel(program.program, c_name.as_ptr(), &mut status) };
        let made = Made { device: &self.device.name, status };
        made.check(&format!("clCreateKernel {name} of {}.cl", program.name), kernel.is_null())?;
        let mut kernel = Kernel { kernel, name: name.to_string(), held: Vec::new() };
        for (index, arg) in args.iter().enumerate() {
            self.set_arg(&mut kernel, index, *arg)?;
        }
        Ok(kernel)
    }

    /// Sets one argument for the next run.
    ///
    /// # Errors
    /// If the kernel has no such argument, or it has another size.
    pub fn set_arg(&self, kernel: &mut Kernel, index: usize, arg: Arg<'_>) -> Result<(), Error> {
        let int;
        let (bytes, value): (usize, *const c_void) = match &arg {
            Arg::Buffer(buffer) => (size_of::<cl_mem>(), (&raw const buffer.mem.0).cast()),
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
            return self.check(&format!("clSetKernelArg {index} of {}", kernel.name), status);
        }
        if let Arg::Buffer(buffer) = arg {
            kernel.held.retain(|(at, _)| *at != index);
            kernel.held.push((index, buffer.clone()));
        }
        Ok(())
    }

    /// Most work items that a group of this kernel can have on this device.
    pub fn work_group_limit(&self, kernel: &Kernel) -> usize {
        let (kernel, id) = (kernel.kernel, self.device.id.0);
        // SAFETY: kernel and device are alive; `answer` passes null or as many bytes as it says.
        let bytes =
            answer(|n, at, len| unsafe { clGetKernelWorkGroupInfo(kernel, id, CL_KERNEL_WORK_GROUP_SIZE, n, at, len) });
        bytes.try_into().map_or(1, usize::from_ne_bytes).min(self.device.max_work_group).max(1)
    }

    /// Enqueues one run of `global` work items in groups of `local`; each of `global` is a multiple of its `local`.
    ///
    /// # Safety
    /// With its arguments and this range the kernel stays inside its buffers.
    ///
    /// # Errors
    /// If the driver refuses.
    pub unsafe fn run(&self, kernel: &Kernel, global: [usize; 2], local: [usize; 2]) -> Result<(), Error> {
        let (global, local) = (global.as_ptr(), local.as_ptr());
        // SAFETY: the caller says that arguments and range fit, the kernel keeps its buffers alive; both arrays have the
        // two dimensions named.
        let status = unsafe {
            clEnqueueNDRangeKernel(self.queue, kernel.kernel, 2, null(), global, local, 0, null(), null_mut())
        };
        match status {
            CL_SUCCESS => Ok(()),
            status => self.check(&format!("clEnqueueNDRangeKernel {}", kernel.name), status),
        }
    }

    /// Waits for all that was enqueued.
    ///
    /// # Errors
    /// If a command failed.
    pub fn finish(&self) -> Result<(), Error> {
        // SAFETY: the queue is alive.
        self.check("clFinish", unsafe { clFinish(self.queue) })
    }
}

/// The outcome of a call that makes something.
struct Made<'a> {
    device: &'a str,
    status: cl_int,
}

impl Made<'_> {
    /// A null object with a good status is a failure too: some drivers do that.
    fn check(&self, call: &str, null: bool) -> Result<(), Error> {
        if self.status == CL_SUCCESS && !null {
            return Ok(());
        }
        let call = if self.status == CL_SUCCESS { format!("{call} gave nothing") } else { call.to_string() };
        Err(Error::Call { device: self.device.to_string(), call, status: self.status })
    }
}

/// Types that are four bytes without padding, the same on host and device.
pub trait Element: sealed::Sealed + Copy {}
impl Element for f32 {}
impl Element for u32 {}

/// Sealed: the transfers count in elements of four bytes.
mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u32 {}
}
