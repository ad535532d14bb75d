//! Reads network files into graphs: those of Lc0, and those of KataGo.
//!
//! [`Network::read`] takes Lc0's weights files (`.pb`, `.pb.gz`): convolutional towers with and without squeeze and
//! excite, attention bodies with either embedding and with smolgen; classical, convolutional and attention policy;
//! classical and WDL value, with an estimate of its error; moves left; files with several heads, of which
//! [`HeadChoice`] names one of each kind to be read. Whatever else a file holds is refused with an error that names the
//! field; no file makes the reader panic, or allocate more than a small multiple of the file's actual size.
//!
//! ```
//! use oncilla_nets::{Network, policy};
//! use oncilla_opencl::backend::{Backend, Outputs};
//! use oncilla_opencl::host::Host;
//!
//! let network = Network::read("../../fixtures/nets/tiny.pb.gz")?;
//! let mut host = Host::new(network.graph, 1)?; // on a device: oncilla_opencl::opencl::OpenCl
//! let planes = vec![0.0; host.graph().input().len()]; // [112][64]: oncilla_chess::planes makes them of a position
//! let mut outputs = Outputs::default();
//! host.evaluate(&planes, &mut outputs)?;
//! assert_eq!((outputs.policy.len(), outputs.wdl.len()), (policy::MOVES, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`katago::Model`] is one of KataGo's networks for Go (`.bin.gz`, `.bin`, `.txt.gz`, `.txt`), read under the same
//! rules; [`katago::Model::graph`] makes the graph for boards of one size.
//!
//! [`micro::pack`] turns a small network into the bytes that `oncilla_micro` runs on a microcontroller.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod body;
mod builder;
mod container;
mod decode;
mod encoder;
mod error;
mod format;
mod heads;
pub mod katago;
pub mod micro;
mod network;
pub mod policy;
mod proto;
mod tower;
mod wire;

pub use container::MAX_BYTES;
pub use error::{Fault, NetError};
pub use format::{BodyKind, Embedding, InputFormat, PolicyKind, ValueKind};
pub use network::{Facts, HeadChoice, Network};
