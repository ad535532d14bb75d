//! One device in use, and the objects on it.

use super::alone::compiler_alone;
use super::{Device, Error, Kind, ProgramKey, Programs, answer};
use ocl::ffi::*;
use std::cell::RefCell;
use std::ffi::CString;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of_val;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest compiled program that is believed, in bytes.
const MAX_BINARY: usize = 256 << 20;

/// Marks where a batch has yet to write: a number that no device computes as an output.
static NO_NUMBER: f32 = f32::NAN;

/// A context and one in-order queue on one device.
#[derive(Debug)]
pub struct Session {
    device: Device,
    context: cl_context,
    queue: cl_command_queue,
    programs: Option<Arc<Programs>>,
    /// The commands whose end is still to be checked, see [`Session::completed`].
    events: RefCell<Vec<(Event, Of)>>,
    /// When each command ran, if the queue records that, see [`Session::open_timed`].
    times: Option<RefCell<Vec<Time>>>,
}

/// What a command does.
#[derive(Clone, Debug)]
enum Of {
    Write,
    Read,
    /// A launch of the kernel with this name.
    Launch(Arc<str>),
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Launch(kernel) => kernel,
        })
    }
}

/// When the device executed a command, by its own clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// The name of the kernel, or `write` or `read`.
    pub of: String,
    /// When it began, in nanoseconds.
    pub begin: u64,
    /// When it ended, in nanoseconds.
    pub end: u64,
}

// SAFETY: OpenCL objects may be used from any thread, one at a time; nothing here is tied to the thread that made it.
unsafe impl Send for Session {}

/// Memory on the device: a number of 4-byte elements. A clone shares the memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    mem: Arc<Mem>,
    len: usize,
}

/// Bytes of the buffers in the host's memory that are not the process's own, see [`host_memory_beside`].
static BESIDE: AtomicUsize = AtomicUsize::new(0);

/// Bytes of host memory that all buffers of this process take without being part of its resident memory: those on
/// devices that share the host's memory. (A driver for the host's own cores allocates them like any other memory.)
pub fn host_memory_beside() -> usize {
    BESIDE.load(Ordering::Relaxed)
}

#[derive(Debug)]
struct Mem {
    handle: cl_mem,
    /// How many bytes of [`BESIDE`] are its own.
    beside: usize,
    /// True if the buffer was filled when it was made and no kernel writes to it: weights and the like.
    is_constant: bool,
    /// The buffer of which this one is a part, and how many elements come before it there.
    part_of: Option<(Buffer, usize)>,
}

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

/// One kernel with its arguments. It keeps the buffers among them alive, and remembers all of them for [`Copies`].
///
/// It is not `Clone` and not `Sync`: `clSetKernelArg` is the one call that two threads may not make on one object.
#[derive(Debug)]
pub struct Kernel {
    kernel: cl_kernel,
    name: Arc<str>,
    args: Vec<Argument>,
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
        BESIDE.fetch_sub(self.beside, Ordering::Relaxed);
        // SAFETY: it is ours and alive; commands in the queue hold their own reference.
        unsafe { clReleaseMemObject(self.handle) };
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
    /// How many 4-byte elements the buffer has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for a buffer without elements, which [`Session::buffer`] doesn't make.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if no kernel writes to the buffer.
    pub fn is_constant(&self) -> bool {
        self.mem.is_constant
    }

    /// Whether both are the same memory.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.mem, &other.mem)
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
        let made = Made { device: &device.name, status };
        made.check("clCreateContext", context.is_null())?;
        Self::with_queue(device, context, timed)
    }

    /// When the commands ran that were waited for since the last call, in their order; empty without
    /// [`Session::open_timed`].
    pub fn times(&self) -> Vec<Time> {
        self.times.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// Another queue on the same device, in the same context: both can use the same buffers and programs.
    ///
    /// # Errors
    /// If the driver creates no queue.
    pub fn another(&self) -> Result<Self, Error> {
        // SAFETY: the context is alive; the other session releases it once more.
        self.check("clRetainContext", unsafe { clRetainContext(self.context) })?;
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
        if let Err(error) = (Made { device: &device.name, status }).check("clCreateCommandQueue", queue.is_null()) {
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

    fn check(&self, call: &str, status: cl_int) -> Result<(), Error> {
        Made { device: &self.device.name, status }.check(call, false)
    }

    /// Memory for `len` elements of 4 bytes.
    ///
    /// # Errors
    /// If it is more than the device allows for one buffer, or if the driver has no room.
    pub fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.memory(len, false)
    }

    fn memory(&self, len: usize, is_constant: bool) -> Result<Buffer, Error> {
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
        let is_beside = self.device.shares_memory && self.device.kind != Kind::Cpu;
        let beside = if is_beside { bytes } else { 0 };
        BESIDE.fetch_add(beside, Ordering::Relaxed);
        Ok(Buffer { mem: Arc::new(Mem { handle: mem, beside, is_constant, part_of: None }), len })
    }

    /// Memory for constants, which are written to its regions afterwards.
    ///
    /// # Errors
    /// Like [`Session::buffer`].
    pub fn constant_buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.memory(len, true)
    }

    /// The `len` elements of a buffer from `at` on; `at` has to be a multiple of the device's alignment.
    ///
    /// # Errors
    /// If the buffer is shorter or is itself a region, or if the driver refuses.
    pub fn region(&self, of: &Buffer, at: usize, len: usize) -> Result<Buffer, Error> {
        if len == 0 || at.saturating_add(len) > of.len || of.mem.part_of.is_some() {
            let what = format!("a region of {len} elements from {at} on in a buffer of {}", of.len);
            return Err(Error::Unfit { device: self.device.name.clone(), what });
        }
        let region = cl_buffer_region { origin: at * 4, size: len * 4 };
        let mut status = CL_SUCCESS;
        // SAFETY: the buffer is alive, and the region, inside it, outlives the call.
        let mem = unsafe {
            let region = (&raw const region).cast();
            clCreateSubBuffer(of.mem.handle, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, region, &mut status)
        };
        let made = Made { device: &self.device.name, status };
        made.check("clCreateSubBuffer", mem.is_null())?;
        let mem = Mem { handle: mem, beside: 0, is_constant: of.mem.is_constant, part_of: Some((of.clone(), at)) };
        Ok(Buffer { mem: Arc::new(mem), len })
    }

    /// Enqueues a copy of the content of `from` to the start of `to`.
    ///
    /// # Errors
    /// If `to` is shorter, or if the driver refuses.
    pub fn copy(&self, from: &Buffer, to: &Buffer) -> Result<(), Error> {
        self.fits("copy", to, from.len)?;
        // SAFETY: both are alive and have at least `from.len` elements, and they are different memory: no caller copies
        // from a region.
        let status = unsafe {
            let (from, to, bytes) = (from.mem.handle, to.mem.handle, from.len * 4);
            clEnqueueCopyBuffer(self.queue, from, to, 0, 0, bytes, 0, null(), null_mut())
        };
        self.check("clEnqueueCopyBuffer", status)
    }

    /// Memory that holds `data`, which is not changed afterwards.
    ///
    /// # Errors
    /// Like [`Session::buffer`]; also if the transfer fails.
    pub fn upload<T: Element>(&self, data: &[T]) -> Result<Buffer, Error> {
        let buffer = self.memory(data.len(), true)?;
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
        let status = unsafe {
            clEnqueueWriteBuffer(self.queue, buffer.mem.handle, CL_TRUE, 0, bytes, from, 0, null(), null_mut())
        };
        self.check("clEnqueueWriteBuffer", status)
    }

    /// Copies the start of `buffer` to `output`, after everything that was enqueued before.
    ///
    /// # Errors
    /// If `output` is longer than the buffer, or if the transfer or a command before it fails.
    pub fn read(&self, buffer: &Buffer, output: &mut [f32]) -> Result<(), Error> {
        self.fits("read", buffer, output.len())?;
        let (bytes, to) = (size_of_val(output), output.as_mut_ptr().cast());
        // SAFETY: the buffer holds that many elements, and the call blocks until they were written.
        let status =
            unsafe { clEnqueueReadBuffer(self.queue, buffer.mem.handle, CL_TRUE, 0, bytes, to, 0, null(), null_mut()) };
        let read = self.check("clEnqueueReadBuffer", status);
        // A command that has failed is named first, and its event is none of the next batch's.
        self.completed().and(read)
    }

    /// Runs what `enqueue` puts into the queue, with a single wait at the end.
    ///
    /// # Errors
    /// The error of `enqueue`, or the driver's if it fails anywhere; then what was read is worthless.
    pub fn batch<'d>(&self, enqueue: impl FnOnce(&Commands<'_, 'd>) -> Result<(), Error>) -> Result<(), Error> {
        // The driver may still be reading and writing the caller's slices: this does not return, nor unwind, before the
        // queue is empty.
        let unwound = Emptied(self);
        let done = enqueue(&Commands { session: self, lent: PhantomData });
        std::mem::forget(unwound);
        let finished = self.finish();
        done.and(finished)
    }

    /// Checks the commands' events: some drivers report that a command failed only in its event, and run the commands
    /// after it on what was in memory before.
    fn completed(&self) -> Result<(), Error> {
        for (event, of) in self.events.take() {
            let mut status: cl_int = CL_COMPLETE;
            let at = (&raw mut status).cast();
            // SAFETY: the event is alive, and `status` is a place for a status.
            let asked = unsafe {
                clGetEventInfo(event.0, CL_EVENT_COMMAND_EXECUTION_STATUS, size_of::<cl_int>(), at, null_mut())
            };
            self.check("clGetEventInfo", asked)?;
            if status < CL_COMPLETE {
                return self.check(&format!("a batch: {of}"), status);
            }
            if let Some(times) = &self.times {
                let [begin, end] =
                    [CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END].map(|when| self.time(&event, when));
                times.borrow_mut().push(Time { of: of.to_string(), begin: begin?, end: end? });
            }
        }
        Ok(())
    }

    /// A time of an event by the device's clock, in nanoseconds.
    fn time(&self, event: &Event, when: cl_uint) -> Result<u64, Error> {
        let mut time: u64 = 0;
        let at = (&raw mut time).cast();
        // SAFETY: the event is alive, and `time` is a place for eight bytes.
        let status = unsafe { clGetEventProfilingInfo(event.0, when, size_of::<u64>(), at, null_mut()) };
        self.check("clGetEventProfilingInfo", status).map(|()| time)
    }

    /// Remembers a command's event, if the driver gave one.
    fn watch(&self, event: cl_event, of: Of) {
        if !event.is_null() {
            self.events.borrow_mut().push((Event(event), of));
        }
    }

    /// Whether a command that sends or launches something has an event.
    fn is_watched(&self) -> bool {
        self.times.is_some() || self.may_lose_launches()
    }

    /// Whether launches may get lost without any error: a GPU can be reset, the host's own cores can't, and with
    /// NVIDIA's driver every call fails after a launch that failed. If launches can't get lost, the work of noticing
    /// that is saved: with an event for each launch a batch of maia-1500 took 1.3 times as long on an H200.
    fn may_lose_launches(&self) -> bool {
        self.device.kind != Kind::Cpu && self.device.platform != "NVIDIA CUDA"
    }

    /// Whether the driver begins with nothing new before all that was flushed is done: Mesa's rusticl waits so, in the
    /// versions that distributions have.
    pub fn waits_at_flush(&self) -> bool {
        self.device.platform == "rusticl"
    }

    /// Makes the driver begin with what was enqueued, while more is being enqueued.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn flush(&self) -> Result<(), Error> {
        // SAFETY: the queue is alive.
        self.check("clFlush", unsafe { clFlush(self.queue) })
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

    /// Compiles `source`. Errors call it `name`.
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
        let (c_source, c_options) = (c_string("source", source)?, c_string("options", options)?);
        let _alone = compiler_alone(&self.device.platform);
        let Some(programs) = &self.programs else { return self.compile(name, &c_source, &c_options) };
        let key = ProgramKey::new(&self.device, source, options);
        if let Some(binary) = programs.load(&key) {
            match self.program_again(name, &binary, &c_options) {
                Ok(program) => return Ok(program),
                Err(_) => programs.refuse(&key),
            }
        }
        let program = self.compile(name, &c_source, &c_options)?;
        // If a driver returns no bytes, the program is compiled every time.
        if let Some(binary) = self.binary(&program) {
            programs.keep(&key, &binary);
        }
        Ok(program)
    }

    fn compile(&self, name: &str, source: &CString, options: &CString) -> Result<Program, Error> {
        let mut status = CL_SUCCESS;
        let text = source.as_ptr();
        // SAFETY: one C string that outlives the call, lengths null because it ends with a zero.
        let program = unsafe { clCreateProgramWithSource(self.context, 1, &text, null(), &mut status) };
        let made = Made { device: &self.device.name, status };
        made.check("clCreateProgramWithSource", program.is_null())?;
        self.build(Program { program, name: name.to_string() }, options)
    }

    /// A program from bytes that this driver returned earlier.
    fn program_again(&self, name: &str, binary: &[u8], options: &CString) -> Result<Program, Error> {
        let (id, len, bytes) = (self.device.id.0, binary.len(), binary.as_ptr());
        let (mut status, mut of_binary) = (CL_SUCCESS, CL_SUCCESS);
        // SAFETY: one device, whose binary is `len` bytes at `bytes`; both statuses are places for a status.
        let program =
            unsafe { clCreateProgramWithBinary(self.context, 1, &id, &len, &bytes, &mut of_binary, &mut status) };
        let made = Made { device: &self.device.name, status };
        made.check("clCreateProgramWithBinary", program.is_null())?;
        let program = Program { program, name: name.to_string() };
        self.check("clCreateProgramWithBinary", of_binary)?;
        self.build(program, options)
    }

    fn build(&self, program: Program, options: &CString) -> Result<Program, Error> {
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
            status => self.check(&format!("clBuildProgram of {}.cl", program.name), status).map(|()| program),
        }
    }

    /// The driver's bytes of a program that was built for this device; `None` if it returns none.
    fn binary(&self, program: &Program) -> Option<Vec<u8>> {
        let program = program.program;
        // SAFETY: the program is alive; `answer` passes null or as many bytes as it says.
        let sizes = answer(|n, at, len| unsafe { clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, n, at, len) });
        // One device, and so one size.
        let size = usize::from_ne_bytes(sizes.try_into().ok()?);
        if !(1..=MAX_BINARY).contains(&size) {
            return None;
        }
        let mut bytes = vec![0u8; size];
        let mut place: *mut u8 = bytes.as_mut_ptr();
        let at: *mut c_void = (&raw mut place).cast();
        // SAFETY: the program is alive; it has one binary, for which `place` points to as many bytes as it takes.
        let status = unsafe { clGetProgramInfo(program, CL_PROGRAM_BINARIES, size_of::<*mut u8>(), at, null_mut()) };
        (status == CL_SUCCESS).then_some(bytes)
    }

    fn build_log(&self, program: &Program) -> String {
        let (program, id) = (program.program, self.device.id.0);
        // SAFETY: program and device are alive; `answer` passes null or as many bytes as it says.
        let log = answer(|n, at, len| unsafe { clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, n, at, len) });
        String::from_utf8_lossy(&log).trim_matches(['\0', '\n', ' ']).to_string()
    }

    /// A kernel of a program, with its arguments in order.
    ///
    /// # Errors
    /// If the program has no such kernel, or if an argument has the wrong size.
    pub fn kernel(&self, program: &Program, name: &str, args: &[Arg<'_>]) -> Result<Kernel, Error> {
        let c_name = CString::new(name).unwrap_or_default();
        let mut status = CL_SUCCESS;
        // SAFETY: the program is alive and built, `c_name` is a C string.
        let kernel = unsafe { clCreateKernel(program.program, c_name.as_ptr(), &mut status) };
        let made = Made { device: &self.device.name, status };
        made.check(&format!("clCreateKernel {name} of {}.cl", program.name), kernel.is_null())?;
        let mut kernel = Kernel { kernel, name: name.into(), args: Vec::new() };
        for (index, arg) in args.iter().enumerate() {
            self.set_arg(&mut kernel, index, *arg)?;
        }
        Ok(kernel)
    }

    /// Another object of the same kernel.
    fn kernel_again(&self, kernel: &Kernel) -> Result<Kernel, Error> {
        let mut program: cl_program = null_mut();
        let at = (&raw mut program).cast();
        // SAFETY: the kernel is alive, and `program` is a place for a handle.
        let status =
            unsafe { clGetKernelInfo(kernel.kernel, CL_KERNEL_PROGRAM, size_of::<cl_program>(), at, null_mut()) };
        self.check("clGetKernelInfo", status)?;
        let c_name = CString::new(&*kernel.name).unwrap_or_default();
        let mut status = CL_SUCCESS;
        // SAFETY: the kernel keeps its program alive, `c_name` is a C string.
        let made = unsafe { clCreateKernel(program, c_name.as_ptr(), &mut status) };
        let call = format!("clCreateKernel {}", kernel.name);
        Made { device: &self.device.name, status }.check(&call, made.is_null())?;
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
            return self.check(&format!("clSetKernelArg {index} of {}", kernel.name), status);
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
        self.watch(event, Of::Launch(Arc::clone(&kernel.name)));
        match status {
            CL_SUCCESS => Ok(()),
            status => self.check(&format!("clEnqueueNDRangeKernel {}", kernel.name), status),
        }
    }

    /// Waits until everything that was enqueued is done.
    ///
    /// # Errors
    /// If a command failed.
    pub fn finish(&self) -> Result<(), Error> {
        // SAFETY: the queue is alive.
        let finished = self.check("clFinish", unsafe { clFinish(self.queue) });
        // This is called in any case, so that no event is left for the next batch.
        let completed = self.completed();
        finished.and(completed)
    }
}

/// Waits for the queue when it is dropped.
struct Emptied<'a>(&'a Session);

impl Drop for Emptied<'_> {
    fn drop(&mut self) {
        // A failure is reported where the panic is caught, if anywhere.
        let _ = self.0.finish();
    }
}

/// Puts transfers into a queue, from and to slices that are lent for `'d`, which outlives the transfers: see
/// [`Session::batch`].
#[derive(Debug)]
pub struct Commands<'s, 'd> {
    session: &'s Session,
    /// Makes `'d` invariant: neither shorter nor longer.
    lent: PhantomData<&'d mut &'d ()>,
}

impl<'d> Commands<'_, 'd> {
    /// Writes NaN where a batch has yet to write, if launches may get lost: see [`Read::proof`].
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn spoil(&self, read: &Read<'_>) -> Result<(), Error> {
        let session = self.session;
        if !session.may_lose_launches() {
            return Ok(());
        }
        session.fits("write behind the start", read.from, read.proof + 1)?;
        let (at, from) = (read.proof * 4, (&raw const NO_NUMBER).cast());
        // SAFETY: the buffer has that element, and a static is there until the queue is empty.
        let status = unsafe {
            clEnqueueWriteBuffer(session.queue, read.from.mem.handle, CL_FALSE, at, 4, from, 0, null(), null_mut())
        };
        session.check("clEnqueueWriteBuffer", status)
    }

    /// Copies `input` to the start of a buffer.
    ///
    /// # Errors
    /// If `input` is longer than the buffer, or if the driver refuses.
    pub fn write(&self, to: &Buffer, input: &'d [f32]) -> Result<(), Error> {
        let session = self.session;
        session.fits("write", to, input.len())?;
        let (bytes, from) = (size_of_val(input), input.as_ptr().cast());
        let mut event = null_mut();
        let place = if session.is_watched() { &raw mut event } else { null_mut() };
        // SAFETY: the buffer has room for `input`, which is lent until the queue is empty; `place` is null or for an
        // event.
        let status =
            unsafe { clEnqueueWriteBuffer(session.queue, to.mem.handle, CL_FALSE, 0, bytes, from, 0, null(), place) };
        session.watch(event, Of::Write);
        session.check("clEnqueueWriteBuffer", status)
    }

    /// Copies the start of a buffer to where `read` says.
    ///
    /// # Errors
    /// If that is longer than the buffer, or if the driver refuses.
    pub fn read(&self, read: Read<'d>) -> Result<(), Error> {
        let (session, Read { from, to: output, .. }) = (self.session, read);
        session.fits("read", from, output.len())?;
        let (bytes, to) = (size_of_val(output), output.as_mut_ptr().cast());
        let mut event = null_mut();
        // SAFETY: the buffer holds that many elements; `output` is lent until the queue is empty; `event` is a place
        // for one.
        let status = unsafe {
            clEnqueueReadBuffer(session.queue, from.mem.handle, CL_FALSE, 0, bytes, to, 0, null(), &mut event)
        };
        session.check("clEnqueueReadBuffer", status)?;
        session.watch(event, Of::Read);
        Ok(())
    }
}

/// The start of a buffer, which a batch fetches.
#[derive(Debug)]
pub struct Read<'a> {
    /// The buffer that the batch wrote to.
    pub from: &'a Buffer,
    /// Where the elements go.
    pub to: &'a mut [f32],
    /// The index of an element that the batch writes. If launches may get lost, it is set to NaN on the device before:
    /// then a lost launch can't pass off the previous batch's answer as this one's.
    pub proof: usize,
}

/// A command's own event, never null.
#[derive(Debug)]
struct Event(cl_event);

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was given to us, and is used no more.
        unsafe { clReleaseEvent(self.0) };
    }
}

/// Makes, for a session, copies of the kernels and memory of another session in the same context. Constant memory is
/// shared.
#[derive(Debug)]
pub struct Copies<'a> {
    session: &'a Session,
    /// Each buffer that is written to, and its copy.
    buffers: Vec<(Buffer, Buffer)>,
}

impl<'a> Copies<'a> {
    /// Copies for `session`.
    pub fn new(session: &'a Session) -> Self {
        Self { session, buffers: Vec::new() }
    }

    /// The buffer itself if it is constant; otherwise one of the same size, which is always the same for the same
    /// buffer. The content is not copied.
    ///
    /// # Errors
    /// Like [`Session::buffer`].
    pub fn buffer(&mut self, buffer: &Buffer) -> Result<Buffer, Error> {
        if buffer.mem.is_constant {
            return Ok(buffer.clone());
        }
        if let Some((_, copy)) = self.buffers.iter().find(|(known, _)| known.is(buffer)) {
            return Ok(copy.clone());
        }
        let copy = match &buffer.mem.part_of {
            None => self.session.buffer(buffer.len)?,
            Some((whole, at)) => {
                let whole = self.buffer(whole)?;
                self.session.region(&whole, *at, buffer.len)?
            }
        };
        self.buffers.push((buffer.clone(), copy.clone()));
        Ok(copy)
    }

    /// The same kernel with the same arguments, except for buffers that are written to.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn kernel(&mut self, kernel: &Kernel) -> Result<Kernel, Error> {
        let mut copy = self.session.kernel_again(kernel)?;
        let session = self.session;
        session.set_args(&mut copy, &kernel.args, |buffer| self.buffer(buffer))?;
        Ok(copy)
    }
}

/// The result of a call that makes an object.
struct Made<'a> {
    device: &'a str,
    status: cl_int,
}

impl Made<'_> {
    /// A null object with a good status counts as a failure, too: some drivers return that.
    fn check(&self, call: &str, null: bool) -> Result<(), Error> {
        if self.status == CL_SUCCESS && !null {
            return Ok(());
        }
        let call = if self.status == CL_SUCCESS { format!("{call} gave nothing") } else { call.to_string() };
        Err(Error::Call { device: self.device.to_string(), call, status: self.status })
    }
}

/// Types of four bytes without padding that are the same on host and device.
pub trait Element: sealed::Sealed + Copy {}
impl Element for f32 {}
impl Element for u32 {}

/// Sealed: the transfers count in elements of four bytes.
mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u32 {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::device_is_there;

    #[test]
    fn buffers_of_a_gpu_without_memory_of_its_own_are_counted() {
        let Some(device) = device_is_there() else { return };
        let held = |shares_memory, kind| {
            let session = Session::open(&Device { shares_memory, kind, ..device.clone() }).unwrap();
            let buffer = session.buffer(1000).unwrap();
            let with = host_memory_beside();
            drop(buffer);
            with.wrapping_sub(host_memory_beside())
        };
        // (All other tests have the host's own cores.)
        let kinds = [(true, Kind::Gpu), (true, Kind::Accelerator), (false, Kind::Gpu), (true, Kind::Cpu)];
        let counted = kinds.map(|(shares_memory, kind)| held(shares_memory, kind));
        assert_eq!(counted, [4000, 4000, 0, 0]);
    }
}
