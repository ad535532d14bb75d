//! Memory on a device, and what is moved between it and the host while the host waits.

use super::Session;
use crate::device::{Error, Kind, Purpose};
use ocl::ffi::*;
use std::mem::size_of_val;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory on the device: a number of 4-byte elements. A clone shares the memory.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(super) mem: Arc<Mem>,
    pub(super) len: usize,
}

/// Bytes of the buffers in the host's memory that are not the process's own, see [`host_memory_beside`].
static BESIDE: AtomicUsize = AtomicUsize::new(0);

/// Bytes of host memory that all buffers of this process take without being part of its resident memory: those on
/// devices that share the host's memory. (A driver for the host's own cores allocates them like any other memory.)
pub fn host_memory_beside() -> usize {
    BESIDE.load(Ordering::Relaxed)
}

/// A memory object, released with its last buffer.
#[derive(Debug)]
pub(super) struct Mem {
    pub(super) handle: cl_mem,
    /// How many bytes of [`BESIDE`] are its own.
    beside: usize,
    /// True if the buffer was filled when it was made and no kernel writes to it: weights and the like.
    pub(super) is_constant: bool,
    /// The buffer of which this one is a part, and how many elements come before it there.
    pub(super) part_of: Option<(Buffer, usize)>,
}

// SAFETY: as for `Session`.
unsafe impl Send for Mem {}
// SAFETY: a shared `Mem` only lends its handle, and every call that takes one is thread-safe.
unsafe impl Sync for Mem {}

impl Drop for Mem {
    fn drop(&mut self) {
        BESIDE.fetch_sub(self.beside, Ordering::Relaxed);
        // SAFETY: it is ours and alive; commands in the queue hold their own reference.
        unsafe { clReleaseMemObject(self.handle) };
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
        self.made("clCreateBuffer", status, mem.is_null())?;
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
        self.made("clCreateSubBuffer", status, mem.is_null())?;
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
        self.check(Purpose::Transfer, "clEnqueueCopyBuffer", status)
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
        self.check(Purpose::Transfer, "clEnqueueWriteBuffer", status)
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
        let read = self.check(Purpose::Transfer, "clEnqueueReadBuffer", status);
        // A command that has failed is named first, and its event is none of the next batch's.
        self.completed().and(read)
    }

    pub(super) fn fits(&self, what: &str, buffer: &Buffer, len: usize) -> Result<(), Error> {
        if (1..=buffer.len).contains(&len) {
            return Ok(());
        }
        Err(Error::Unfit {
            device: self.device.name.clone(),
            what: format!("{what} of {len} elements, but the buffer has {}", buffer.len),
        })
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
    use crate::device::{Device, device_is_there};

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
