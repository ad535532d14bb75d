//! Compiled programs: from their text, or from what the same driver made of it before.

use super::Session;
use crate::device::alone::compiler_alone;
use crate::device::{Error, ProgramKey, Purpose, answer};
use ocl::ffi::*;
use std::ffi::CString;
use std::ptr::{null, null_mut};

/// The largest compiled program that is believed, in bytes.
const MAX_BINARY: usize = 256 << 20;

/// A compiled program.
#[derive(Debug)]
pub struct Program {
    pub(super) program: cl_program,
    pub(super) name: String,
}

// SAFETY: as for `Session`.
unsafe impl Send for Program {}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: it is ours and alive; kernels hold their own reference.
        unsafe { clReleaseProgram(self.program) };
    }
}

impl Session {
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
        self.made("clCreateProgramWithSource", status, program.is_null())?;
        self.build(Program { program, name: name.to_string() }, options)
    }

    /// A program from bytes that this driver returned earlier.
    fn program_again(&self, name: &str, binary: &[u8], options: &CString) -> Result<Program, Error> {
        let (id, len, bytes) = (self.device.id.0, binary.len(), binary.as_ptr());
        let (mut status, mut of_binary) = (CL_SUCCESS, CL_SUCCESS);
        // SAFETY: one device, whose binary is `len` bytes at `bytes`; both statuses are places for a status.
        let program =
            unsafe { clCreateProgramWithBinary(self.context, 1, &id, &len, &bytes, &mut of_binary, &mut status) };
        self.made("clCreateProgramWithBinary", status, program.is_null())?;
        let program = Program { program, name: name.to_string() };
        self.check(Purpose::Object, "clCreateProgramWithBinary", of_binary)?;
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
            status => self
                .check(Purpose::Kernels, &format!("clBuildProgram of {}.cl", program.name), status)
                .map(|()| program),
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
}
