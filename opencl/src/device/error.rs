//! What can go wrong between here and a device, one line each.

use crate::backend::BackendError;
use ocl::ffi::*;
use std::fmt;

/// Why no device was found or why one failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No OpenCL library, or a library without a driver behind it.
    NoPlatform {
        /// Which of the two, and why.
        why: String,
    },
    /// Platforms, but no device on any of them.
    NoDevice,
    /// No device matches what was asked for.
    NoMatch {
        /// The index, or the part of a name, that was asked for.
        asked: String,
        /// The devices that exist, each as `index name`.
        there: Vec<String>,
    },
    /// A call of the OpenCL interface failed.
    Call {
        /// Name of the device; empty if none was chosen yet.
        device: String,
        /// Name of the OpenCL function, and of the kernel if there is one.
        call: String,
        /// What the call was for.
        purpose: Purpose,
        /// The status that the call returned.
        status: i32,
    },
    /// The driver's compiler refused a program.
    Build {
        /// Name of the device.
        device: String,
        /// Family of kernels, the name of its `.cl` file.
        program: String,
        /// What the compiler said, with its line breaks.
        log: String,
    },
    /// The graph doesn't fit into the device's memory.
    Memory {
        /// Name of the device.
        device: String,
        /// What is too big.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },
    /// A kernel needs more of the memory that a group shares than there is, however small a batch or a group.
    LocalMemory {
        /// Name of the device.
        device: String,
        /// What needs the memory.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes that there are.
        available: u64,
    },
    /// Not a failure of OpenCL, but something that the device or the graph can't do.
    Unfit {
        /// Name of the device.
        device: String,
        /// What was expected and what was found.
        what: String,
    },
}

/// What a call of the OpenCL interface is for, which says what may help if it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To make an object: a context, a queue, a buffer, a program, a kernel.
    Object,
    /// To move numbers from or to the device, or between its buffers.
    Transfer,
    /// To compile kernels, to launch them, and to wait for what was enqueued.
    Kernels,
}

/// How many characters of a build log go into one line.
const LOG_CHARS: usize = 600;

/// The beginning of a compiler's log, from the first line with an error on, if there is one: warnings come before it.
fn in_one_line(log: &str) -> String {
    let mut lines = log.lines().skip_while(|line| !line.to_lowercase().contains("error")).peekable();
    let from_error = lines.peek().is_some();
    let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>().join(" ");
    let line = if from_error { words(&lines.collect::<Vec<_>>().join(" ")) } else { words(log) };
    match line.is_empty() {
        true => "its compiler gives no reason".to_string(),
        false => line.chars().take(LOG_CHARS).collect(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoPlatform { why } => write!(f, "no OpenCL platform was found: {why}"),
            Error::NoDevice => f.write_str("no OpenCL device was found on any platform"),
            Error::NoMatch { asked, there } => {
                write!(f, "device \"{asked}\": expected an index or part of a name of: {}", there.join(", "))
            }
            Error::Call { device, call, status, .. } if device.is_empty() => {
                write!(f, "OpenCL: {call}: {}", Status(*status))
            }
            Error::Call { device, call, status, .. } => {
                write!(f, "device \"{device}\": {call}: {}", Status(*status))
            }
            Error::Build { device, program, log } => {
                write!(f, "device \"{device}\": {program}.cl was not compiled: {}", in_one_line(log))
            }
            Error::Memory { device, what, needed, available } => {
                write!(f, "device \"{device}\": {what}: {} needed, {} available", Bytes(*needed), Bytes(*available))
            }
            Error::LocalMemory { device, what, needed, available } => {
                let (needed, available) = (Bytes(*needed), Bytes(*available));
                write!(f, "device \"{device}\": {what}: {needed} of local memory needed, {available} available")
            }
            Error::Unfit { device, what } => write!(f, "device \"{device}\": {what}"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Whether smaller groups may help: a driver has refused groups that are within its own limits, for lack of
    /// registers or local memory. (What makes, fills or reads a buffer and fails with the same status has no groups.)
    pub fn is_of_groups(&self) -> bool {
        let statuses = [CL_OUT_OF_RESOURCES, CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE];
        matches!(self, Error::Call { purpose: Purpose::Kernels, status, .. } if statuses.contains(status))
    }

    /// Whether smaller batches may help: some drivers find out only at a launch that there is too little memory, and
    /// some (Intel's NEO, Mesa's rusticl) call a device's own memory, or what they share with it, the host's.
    pub fn is_of_memory(&self) -> bool {
        let statuses =
            [CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_INVALID_BUFFER_SIZE, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY];
        matches!(self, Error::Memory { .. }) || matches!(self, Error::Call { status, .. } if statuses.contains(status))
    }
}

impl From<Error> for BackendError {
    fn from(error: Error) -> Self {
        BackendError(error.to_string())
    }
}

/// A number of bytes, displayed for a person.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 10 << 10 => write!(f, "{n} bytes"),
            n if n < 10 << 20 => write!(f, "{} KiB", n.div_ceil(1 << 10)),
            n => write!(f, "{} MiB", n.div_ceil(1 << 20)),
        }
    }
}

/// A status, displayed with its name if users are likely to meet it.
struct Status(i32);

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            CL_DEVICE_NOT_FOUND => "CL_DEVICE_NOT_FOUND",
            CL_DEVICE_NOT_AVAILABLE => "CL_DEVICE_NOT_AVAILABLE",
            CL_COMPILER_NOT_AVAILABLE => "CL_COMPILER_NOT_AVAILABLE",
            CL_MEM_OBJECT_ALLOCATION_FAILURE => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
            CL_OUT_OF_RESOURCES => "CL_OUT_OF_RESOURCES",
            CL_OUT_OF_HOST_MEMORY => "CL_OUT_OF_HOST_MEMORY",
            CL_BUILD_PROGRAM_FAILURE => "CL_BUILD_PROGRAM_FAILURE",
            CL_INVALID_VALUE => "CL_INVALID_VALUE",
            CL_INVALID_PLATFORM => "CL_INVALID_PLATFORM",
            CL_INVALID_DEVICE => "CL_INVALID_DEVICE",
            CL_INVALID_CONTEXT => "CL_INVALID_CONTEXT",
            CL_INVALID_COMMAND_QUEUE => "CL_INVALID_COMMAND_QUEUE",
            CL_INVALID_MEM_OBJECT => "CL_INVALID_MEM_OBJECT",
            CL_INVALID_BUILD_OPTIONS => "CL_INVALID_BUILD_OPTIONS",
            CL_INVALID_PROGRAM_EXECUTABLE => "CL_INVALID_PROGRAM_EXECUTABLE",
            CL_INVALID_KERNEL_NAME => "CL_INVALID_KERNEL_NAME",
            CL_INVALID_ARG_INDEX => "CL_INVALID_ARG_INDEX",
            CL_INVALID_ARG_SIZE => "CL_INVALID_ARG_SIZE",
            CL_INVALID_KERNEL_ARGS => "CL_INVALID_KERNEL_ARGS",
            CL_INVALID_WORK_GROUP_SIZE => "CL_INVALID_WORK_GROUP_SIZE",
            CL_INVALID_WORK_ITEM_SIZE => "CL_INVALID_WORK_ITEM_SIZE",
            CL_INVALID_BUFFER_SIZE => "CL_INVALID_BUFFER_SIZE",
            CL_INVALID_GLOBAL_WORK_SIZE => "CL_INVALID_GLOBAL_WORK_SIZE",
            CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
            CL_MISALIGNED_SUB_BUFFER_OFFSET => "CL_MISALIGNED_SUB_BUFFER_OFFSET",
            CL_INVALID_BINARY => "CL_INVALID_BINARY",
            CL_INVALID_OPERATION => "CL_INVALID_OPERATION",
            -1001 => "CL_PLATFORM_NOT_FOUND_KHR",
            other => return write!(f, "status {other}"),
        };
        write!(f, "{name} ({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(device: &str, call: &str, purpose: Purpose, status: i32) -> Error {
        Error::Call { device: device.into(), call: call.into(), purpose, status }
    }

    #[test]
    fn every_error_is_one_line() {
        let device = || "x".to_string();
        let all = [
            Error::NoPlatform { why: "there is no library".into() },
            Error::NoDevice,
            Error::NoMatch { asked: "y".into(), there: vec!["0 x".into()] },
            call("", "clGetPlatformIDs", Purpose::Object, -9999),
            Error::Build { device: device(), program: "conv".into(), log: "a\n  b\r\n".repeat(1000) },
            Error::Memory { device: device(), what: "weights".into(), needed: 1 << 40, available: 9 },
            Error::LocalMemory { device: device(), what: "se".into(), needed: 1 << 16, available: 1 << 10 },
            Error::Unfit { device: device(), what: "w".into() },
        ];
        for error in all {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.len() < 1000, "{line}");
        }
    }

    #[test]
    fn a_transfer_without_memory_has_no_groups() {
        for (purpose, is_of_groups) in [(Purpose::Object, false), (Purpose::Transfer, false), (Purpose::Kernels, true)]
        {
            let error = call("x", "clEnqueueNDRangeKernel dense", purpose, CL_OUT_OF_RESOURCES);
            assert_eq!((error.is_of_groups(), error.is_of_memory()), (is_of_groups, true), "{purpose:?}");
        }
    }

    #[test]
    fn memory_that_a_driver_calls_the_host_s_is_memory() {
        for (status, is_of_memory) in [(-6, true), (-4, true), (-61, true), (-36, false)] {
            let error = call("x", "clCreateBuffer", Purpose::Object, status);
            assert_eq!((error.is_of_groups(), error.is_of_memory()), (false, is_of_memory), "{error}");
        }
    }

    #[test]
    fn a_failed_call_names_device_call_and_status() {
        let error = call("x", "clFinish", Purpose::Kernels, CL_OUT_OF_RESOURCES);
        assert_eq!(error.to_string(), "device \"x\": clFinish: CL_OUT_OF_RESOURCES (-5)");
    }
}
