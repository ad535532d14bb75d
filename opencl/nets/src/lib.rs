//! Network files → graph.
//!
//! [`Network::read`] takes Lc0's weights files (`.pb`, `.pb.gz`) with classical and squeeze-excite towers, classical and
//! convolutional policy, classical and WDL value, and a moves-left head. Whatever else a file holds is refused with an
//! error that names the field; no file makes the reader panic, or allocate more than a small multiple of the bytes that
//! it really has.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod container;
mod decode;
mod error;
mod format;
mod network;
pub mod policy;
mod proto;
mod wire;

pub use container::MAX_BYTES;
pub use error::{Fault, NetError};
pub use format::{InputFormat, PolicyKind, ValueKind};
pub use network::{Facts, Network};
