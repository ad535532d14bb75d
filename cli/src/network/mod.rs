//! What runs a network, of either game: the host, OpenCL devices, or both.
//!
//! [`serve`] makes the service for a graph: it opens the units that the settings name (`units`, `device`), and the
//! service makes batches for them from the rows of all threads. What the rows mean is a matter of `evaluator` in chess
//! and of `go::evaluator` in Go.

mod builtin;
mod counts;
mod device;
pub mod drivers;
mod lack;
mod service;
mod settings;
pub mod tuning;
mod units;
mod wanted;
mod weights;

pub use builtin::BuiltIn;
pub use counts::{CacheCounts, EvaluatorCounts};
pub use lack::{Lack, Part};
pub use service::{Facts, IsLate, Request, Service, Unit};
pub use settings::{BackendKind, EvaluatorSettings, HintsFrom, Lc0Backend};
#[cfg(test)]
pub(crate) use units::host_maker;
pub(crate) use units::open_service;
pub use units::serve;
pub use wanted::{WantedBackend, device_choice, wanted};
pub use weights::{Weights, of_network, refusal};
