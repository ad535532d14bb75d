//! Runs a network [`graph`] on an OpenCL device or on the host's own cores.
//!
//! The crate knows no game: it takes a graph of layers with weights, and batches of input planes. `oncilla-nets` makes
//! graphs from Lc0's and KataGo's network files; its front page has an example. In this crate *host* means the CPU: the
//! backend that is always available.
//!
//! With the feature `dynamic`, which is on by default, a program starts without an OpenCL library: the crate defines
//! the functions of OpenCL 1.2 itself and forwards them to the library that it finds, or that the environment variable
//! `ONCILLA_OPENCL_LIBRARY` names. They are the only functions of these names in a program then, for other crates too,
//! and an empty `libOpenCL` stands before the system's where the program is linked; so a program that calls OpenCL by
//! itself, or functions of a later version, should have `default-features = false, features = ["opencl"]`, and is
//! linked with the system's library as usual.
#![warn(missing_docs, missing_debug_implementations)]

pub mod backend;
#[cfg(feature = "opencl")]
mod cached;
pub mod compare;
#[cfg(feature = "opencl")]
pub mod device;
pub mod graph;
pub mod host;
pub mod int8;
#[cfg(feature = "opencl")]
pub mod kernels;
#[cfg(all(feature = "dynamic", not(target_os = "macos")))]
mod loader;
#[cfg(feature = "opencl")]
pub mod opencl;
#[cfg(all(test, feature = "opencl"))]
mod test_folder;
#[cfg(feature = "opencl")]
pub mod tune;
pub mod watched;
mod winograd;
