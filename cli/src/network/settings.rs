//! What determines the network, and what runs it.

use super::service::Facts;
use super::weights::Weights;
use oncilla_chess::planes::HistoryFill;
use oncilla_nets::HeadChoice;
use oncilla_opencl::kernels::Precision;
use std::path::PathBuf;

/// Where the hints for the network come from, see [`oncilla_chess::hints`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HintsFrom {
    /// The program has hints for the networks that it holds; other networks have none.
    Program,
    /// There are none.
    Nowhere,
    /// A file.
    File(PathBuf),
}

/// What runs the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// OpenCL if there is a device that works, the host otherwise.
    Auto,
    /// The host's cores.
    Host,
    /// OpenCL or an error.
    OpenCl,
    /// No network: priors and values drawn from a hash of the position.
    Random,
    /// No network: even priors, even values.
    Constant,
    /// A backend that only Lc0 has.
    Lc0s(Lc0Backend),
}

impl BackendKind {
    /// Whether an OpenCL device may run the network.
    pub fn uses_devices(self) -> bool {
        matches!(self, Self::Auto | Self::OpenCl)
    }

    /// Refuses a backend that is not here.
    ///
    /// # Errors
    /// One line, with the backend's name in Lc0.
    pub fn is_here(self) -> Result<(), String> {
        match self {
            Self::Lc0s(Lc0Backend { name, .. }) => {
                Err(format!("Backend: expected auto, host or opencl, got {name}, which only Lc0 has"))
            }
            Self::Auto | Self::Host | Self::OpenCl | Self::Random | Self::Constant => Ok(()),
        }
    }
}

/// A backend of Lc0's that is not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lc0Backend {
    /// The backend's name in Lc0.
    pub name: &'static str,
    /// Whether it is made for the host's cores.
    pub is_for_cpus: bool,
}

impl Lc0Backend {
    /// The backend here that comes nearest to it.
    pub fn nearest(self) -> BackendKind {
        if self.is_for_cpus { BackendKind::Host } else { BackendKind::Auto }
    }
}

/// Everything that determines the evaluator; a change makes a new one.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatorSettings {
    /// The network.
    pub weights: Weights,
    /// Where the hints for the network come from.
    pub hints: HintsFrom,
    /// Which of the network's heads are used, if it has several.
    pub heads: HeadChoice,
    /// Whether the network's estimate of the moves left is used, if it has one.
    pub moves_left: bool,
    /// The backend that runs the network.
    pub backend: BackendKind,
    /// Indices or parts of the names of OpenCL devices, or `host`; several share the work. If empty, the device that is
    /// chosen when the user names none.
    pub devices: Vec<String>,
    /// How the weights are stored on the device.
    pub precision: Precision,
    /// The folder in which tunings are kept; `None` for the system's own folder for such things.
    pub cache_dir: Option<PathBuf>,
    /// Threads of the host backend; 0 means one for each core.
    pub threads: usize,
    /// Whether `BackendOptions` says so, and not `Threads`, which are those of one search.
    pub threads_are_all: bool,
    /// Whether the host backend may multiply in tiles (AMX), if the processor can.
    pub tiles: bool,
    /// What stands for the positions before the first known one.
    pub history_fill: HistoryFill,
}

impl EvaluatorSettings {
    /// Whether the weights are in half precision on what runs the network: on the host they are not, whatever is asked
    /// for.
    pub fn is_half_precision(&self, on: &Facts) -> bool {
        self.precision == Precision::Fp16 && !on.is_host
    }
}
