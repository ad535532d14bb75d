//! Runs a network [`graph`] on an OpenCL device or on the host's own cores.
//!
//! The crate knows no game: it takes a graph of layers with weights, and batches of input planes. `oncilla-nets` makes
//! graphs from Lc0's and KataGo's network files; its front page has an example. In this crate *host* means the CPU: the
//! backend that is always available.
#![warn(missing_docs, missing_debug_implementations)]

pub mod backend;
#[cfg(feature = "opencl")]
mod cached;
#[cfg(feature = "opencl")]
pub mod device;
pub mod graph;
pub mod host;
pub mod int8;
#[cfg(feature = "opencl")]
pub mod kernels;
#[cfg(all(feature = "opencl", not(target_os = "macos")))]
mod loader;
#[cfg(feature = "opencl")]
pub mod opencl;
#[cfg(all(test, feature = "opencl"))]
mod test_folder;
#[cfg(feature = "opencl")]
pub mod tune;
pub mod watched;
mod winograd;
