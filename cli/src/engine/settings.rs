//! What the engine is told: the meaning of options, not their spelling.

use super::builtin::BuiltIn;
use super::memory::Layout;
use super::service::Facts;
use oncilla_chess::Color;
use oncilla_chess::planes::HistoryFill;
use oncilla_core::formula::collisions::Collisions;
use oncilla_core::formula::contempt::Contempt;
use oncilla_core::formula::lcb::Lcb;
use oncilla_core::search::Params;
use oncilla_nets::HeadChoice;
use oncilla_opencl::kernels::Precision;
use std::fmt;
use std::path::PathBuf;

/// Where the network comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weights {
    /// From the program.
    BuiltIn(BuiltIn),
    /// From a file.
    File(PathBuf),
}

impl Weights {
    /// Whether another process that gets the same arguments, which are in UTF-8, reads the same network: a pipe gives
    /// it only once.
    pub fn is_there_again(&self) -> bool {
        match self {
            Self::BuiltIn(_) => true,
            Self::File(path) => path.to_str().is_some() && path.metadata().is_ok_and(|facts| facts.is_file()),
        }
    }
}

impl fmt::Display for Weights {
    /// Writes it as the user does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(network) => f.write_str(network.name()),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

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

/// How many threads take which role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Workers {
    /// `Threads`: workers that take all roles, if none of the others is set; 0 means as many as the evaluator suggests.
    pub all: usize,
    /// `GatherThreads`: workers that only gather.
    pub gather: usize,
    /// `EvalThreads`: workers that only evaluate.
    pub eval: usize,
    /// `BackpropThreads`: workers that only bring values back.
    pub backprop: usize,
}

impl Workers {
    /// How many workers take all roles, if the evaluator suggests `suggested`.
    pub fn taking_all_roles(&self, suggested: usize) -> usize {
        if self.all == 0 { suggested } else { self.all }
    }

    /// Whether one thread does the whole search: then the same answers give the same tree.
    pub fn is_one(&self) -> bool {
        self.all <= 1 && self.gather + self.eval + self.backprop == 0
    }
}

/// Whether a position that several lines lead to is searched only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchGraph {
    /// A graph if there is a network. If evaluations cost nothing, there is nothing to save by sharing them.
    Auto,
    /// It is searched once: a graph.
    Graph,
    /// It is searched once for each line: a tree.
    Tree,
}

/// How much the evaluation cache keeps. Both bounds count; if one of them is 0 there is no cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// `NNCacheSize`: evaluations.
    pub entries: usize,
    /// `NNCacheMb`: MiB.
    pub mb: usize,
}

/// Endgame tablebases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Syzygy {
    /// `SyzygyPath`: folders; empty for no tables.
    pub paths: String,
    /// `SyzygyFastPlay`: whether to take the shortest way to a win, not any safe one.
    pub fast_play: bool,
}

/// When the distribution of the root's visits counts as settled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KldGainSettings {
    /// `MinimumKLDGainPerNode`; 0: off.
    pub least_per_node: f64,
    /// `KLDGainAverageInterval`.
    pub interval: u64,
}

/// All settings of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What makes the evaluator.
    pub evaluator: EvaluatorSettings,
    /// The core's parameters. `moves_left` is dropped if the network has no such head; for each search `draw_score` is
    /// set from [`Settings::white_draw_score`], `wdl_rescale` from [`Settings::contempt`] and `seed` from
    /// [`Settings::random_seed`].
    pub params: Params,
    /// Contempt, and which side it belongs to.
    pub contempt: Contempt,
    /// `Lcb…`: how far below its value a move's lower confidence bound is, whether moves are chosen by it or not.
    pub lcb: Lcb,
    /// `RandomSeed`: with it, noise and random choices are the same in every run; 0: they differ each time.
    pub random_seed: u64,
    /// `SearchGraph`: a graph or a tree.
    pub search_graph: SearchGraph,
    /// The search's threads.
    pub workers: Workers,
    /// `MaxCollisionVisits…`: visits that a batch may spend on leaves in flight.
    pub collisions: Collisions,
    /// The tablebases.
    pub syzygy: Syzygy,
    /// `BuiltinEndgames`: whether endings of three men are known without tables.
    pub builtin_endgames: bool,
    /// The evaluation cache.
    pub cache: CacheSize,
    /// `DrawScore`: the value of a draw to White.
    pub white_draw_score: f32,
    /// `TwoFoldDraws`.
    pub two_fold_draws: bool,
    /// The number of positions that are gathered before they are evaluated together; 0 for what the backend prefers.
    pub minibatch: usize,
    /// `Hash`: MiB for the tree, and not more than `RamLimitMb`.
    pub hash_mb: usize,
    /// `RamLimitMb`: MiB for everything together; 0: no such limit.
    pub ram_limit_mb: usize,
    /// `MultiPV`.
    pub multi_pv: usize,
    /// `LogLiveStats`: whether every info has the statistics of the root's moves.
    pub live_stats: bool,
    /// `NodesAsPlayouts`: whether `go nodes` does not count the nodes of earlier moves.
    pub nodes_as_playouts: bool,
    /// `SmartPruningFactor`; 0: off.
    pub smart_pruning_factor: f32,
    /// `SmartPruningMinimumBatches`.
    pub smart_pruning_batches: u64,
    /// `NodesPerSecondLimit`; 0: none.
    pub nps_limit: f64,
    /// The limit by KLD gain.
    pub kld_gain: KldGainSettings,
    /// `MoveOverheadMs`.
    pub move_overhead_ms: u64,
    /// The time manager.
    pub time: oncilla_core::time::ManagerParams,
}

impl Settings {
    /// The value of a draw for a side.
    pub fn draw_score(&self, side: Color) -> f32 {
        if side == Color::White { self.white_draw_score } else { -self.white_draw_score }
    }

    /// The layout of the search's memory.
    pub fn layout(&self) -> Layout {
        match (self.search_graph, self.evaluator.backend) {
            (SearchGraph::Tree, _) | (SearchGraph::Auto, BackendKind::Random | BackendKind::Constant) => Layout::Tree,
            (SearchGraph::Graph | SearchGraph::Auto, _) => Layout::Graph,
        }
    }
}
