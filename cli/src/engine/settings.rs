//! What the engine is told: the meaning of options, not their spelling.

use crate::evaluator::CacheSize;
use crate::memory::Layout;
use crate::network::{BackendKind, EvaluatorSettings};
use oncilla_chess::Color;
use oncilla_core::formula::collisions::Collisions;
use oncilla_core::formula::contempt::Contempt;
use oncilla_core::formula::lcb::Lcb;
use oncilla_core::search::Params;

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
