//! A batch: commands that are put into the queue one after the other and waited for together.

use super::Session;
use super::memory::Buffer;
use crate::device::{Error, Purpose};
use ocl::ffi::*;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of_val;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// Marks where a batch has yet to write: a number that no device computes as an output.
static NO_NUMBER: f32 = f32::NAN;

/// What a command does.
#[derive(Clone, Debug)]
pub(super) enum Command {
    Write,
    Read,
    /// A launch of the kernel with this name.
    Launch(Arc<str>),
}

impl Command {
    fn purpose(&self) -> Purpose {
        match self {
            Self::Write | Self::Read => Purpose::Transfer,
            Self::Launch(_) => Purpose::Kernels,
        }
    }
}

impl fmt::Display for Command {
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

/// A command's own event, never null.
#[derive(Debug)]
pub(super) struct Event(cl_event);

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: it was given to us, and is used no more.
        unsafe { clReleaseEvent(self.0) };
    }
}

impl Session {
    /// When the commands ran that were waited for since the last call, in their order; empty without
    /// [`Session::open_timed`].
    pub fn times(&self) -> Vec<Time> {
        self.times.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// Runs what `enqueue` puts into the queue, with a single wait at the end.
    ///
    /// # Errors
    /// The error of `enqueue`, or the driver's if it fails anywhere; then what was read is worthless.
    pub fn batch<'d>(&self, enqueue: impl FnOnce(&Commands<'_, 'd>) -> Result<(), Error>) -> Result<(), Error> {
        // The driver may still be reading and writing the caller's slices: this does not return, nor unwind, before the
        // queue is empty.
        let unwound = FinishedWhenDropped(self);
        let done = enqueue(&Commands { session: self, lent: PhantomData });
        std::mem::forget(unwound);
        let finished = self.finish();
        done.and(finished)
    }

    /// Waits until everything that was enqueued is done.
    ///
    /// # Errors
    /// If a command failed.
    pub fn finish(&self) -> Result<(), Error> {
        // SAFETY: the queue is alive.
        let finished = self.check(Purpose::Kernels, "clFinish", unsafe { clFinish(self.queue) });
        // This is called in any case, so that no event is left for the next batch.
        let completed = self.completed();
        finished.and(completed)
    }

    /// Checks the commands' events: some drivers report that a command failed only in its event, and run the commands
    /// after it on what was in memory before.
    pub(super) fn completed(&self) -> Result<(), Error> {
        for (event, command) in self.events.take() {
            let status = self.status(&event)?;
            if status < CL_COMPLETE {
                return self.check(command.purpose(), &format!("a batch: {command}"), status);
            }
            if let Some(times) = &self.times {
                let begin = self.time(&event, CL_PROFILING_COMMAND_START)?;
                let end = self.time(&event, CL_PROFILING_COMMAND_END)?;
                times.borrow_mut().push(Time { of: command.to_string(), begin, end });
            }
        }
        Ok(())
    }

    /// How far a command has come, or, if it is negative, why it failed.
    fn status(&self, event: &Event) -> Result<cl_int, Error> {
        let mut status: cl_int = CL_COMPLETE;
        let at = (&raw mut status).cast();
        // SAFETY: the event is alive, and `status` is a place for a status.
        let asked =
            unsafe { clGetEventInfo(event.0, CL_EVENT_COMMAND_EXECUTION_STATUS, size_of::<cl_int>(), at, null_mut()) };
        self.check(Purpose::Kernels, "clGetEventInfo", asked).map(|()| status)
    }

    /// A time of an event by the device's clock, in nanoseconds.
    fn time(&self, event: &Event, when: cl_uint) -> Result<u64, Error> {
        let mut time: u64 = 0;
        let at = (&raw mut time).cast();
        // SAFETY: the event is alive, and `time` is a place for eight bytes.
        let status = unsafe { clGetEventProfilingInfo(event.0, when, size_of::<u64>(), at, null_mut()) };
        self.check(Purpose::Kernels, "clGetEventProfilingInfo", status).map(|()| time)
    }

    /// Remembers a command's event, if the driver gave one.
    pub(super) fn watch(&self, event: cl_event, command: Command) {
        if !event.is_null() {
            self.events.borrow_mut().push((Event(event), command));
        }
    }

    /// Whether a command that sends or launches something has an event.
    pub(super) fn is_watched(&self) -> bool {
        self.times.is_some() || self.device.may_lose_launches()
    }
}

/// Waits for the queue when it is dropped.
struct FinishedWhenDropped<'a>(&'a Session);

impl Drop for FinishedWhenDropped<'_> {
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
        if !session.device.may_lose_launches() {
            return Ok(());
        }
        session.fits("write behind the start", read.from, read.proof + 1)?;
        let (at, from) = (read.proof * 4, (&raw const NO_NUMBER).cast());
        // SAFETY: the buffer has that element, and a static is there until the queue is empty.
        let status = unsafe {
            clEnqueueWriteBuffer(session.queue, read.from.mem.handle, CL_FALSE, at, 4, from, 0, null(), null_mut())
        };
        session.check(Purpose::Transfer, "clEnqueueWriteBuffer", status)
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
        session.watch(event, Command::Write);
        session.check(Purpose::Transfer, "clEnqueueWriteBuffer", status)
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
        session.check(Purpose::Transfer, "clEnqueueReadBuffer", status)?;
        session.watch(event, Command::Read);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A transfer that finds too little memory says nothing about the groups of kernels.
    #[test]
    fn a_command_that_fails_is_a_transfer_or_of_kernels() {
        let failed = |command: Command| Error::Call {
            device: "x".to_string(),
            call: format!("a batch: {command}"),
            purpose: command.purpose(),
            status: CL_OUT_OF_RESOURCES,
        };
        for (command, is_of_groups) in
            [(Command::Write, false), (Command::Read, false), (Command::Launch("dense".into()), true)]
        {
            let error = failed(command);
            assert_eq!((error.is_of_groups(), error.is_of_memory()), (is_of_groups, true), "{error}");
        }
    }
}
