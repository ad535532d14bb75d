//! Copies of kernels and their memory for another queue on the same device.

use super::Session;
use super::kernel::Kernel;
use super::memory::Buffer;
use crate::device::Error;

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
