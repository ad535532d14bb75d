//! What the engine is told: the meaning of options, not their spelling.

use oncilla_chess::planes::HistoryFill;
use oncilla_core::search::Params;
use std::path::PathBuf;

/// Where the network comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weights {
    /// The one in the program.
    Embedded,
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
}

/// Everything that makes the evaluator; a change makes a new one.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatorSettings {
    /// The network.
    pub weights: Weights,
    /// What runs it.
    pub backend: BackendKind,
    /// Index or part of the name of an OpenCL device.
    pub device: Option<String>,
    /// Threads of the host backend; 0: one for each core.
    pub threads: usize,
    /// Positions before the first known one.
    pub history_fill: HistoryFill,
}

/// Everything that a search can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What makes the evaluator.
    pub evaluator: EvaluatorSettings,
    /// The core's parameters. `moves_left` is dropped where the network has no such head; `draw_score` is set from
    /// [`Settings::white_draw_score`] for each search.
    pub params: Params,
    /// `DrawScore`: what a draw is worth to White.
    pub white_draw_score: f32,
    /// `TwoFoldDraws`.
    pub two_fold_draws: bool,
    /// Positions gathered before they are evaluated together; 0: what the backend prefers.
    pub minibatch: usize,
    /// Threads that do playouts.
    pub threads: usize,
    /// Positions that are reached on several paths have one node.
    pub graph: bool,
    /// `Hash`: MiB for the tree.
    pub hash_mb: usize,
    /// `MultiPV`.
    pub multi_pv: usize,
    /// `NodesAsPlayouts`: `go nodes` does not count the nodes of earlier moves.
    pub nodes_as_playouts: bool,
    /// `SmartPruningFactor`; 0: off.
    pub smart_pruning_factor: f32,
    /// `MoveOverheadMs`.
    pub move_overhead_ms: u64,
    /// The time manager.
    pub time: oncilla_core::time::SmoothParams,
}

impl Settings {
    /// What the tree's memory is made from: its MiB, and whether it is a graph.
    pub fn tree(&self) -> (usize, bool) {
        (self.hash_mb, self.graph)
    }

    /// Threads that do playouts.
    pub fn search_threads(&self) -> usize {
        self.threads.max(1)
    }
}
