//! What was typed, turned into what it means.

use std::path::PathBuf;

use oncilla_chess::planes::HistoryFill;
use oncilla_core::formula::collisions::Collisions;
use oncilla_core::formula::contempt::{Contempt, RescaleParams};
use oncilla_core::formula::lcb::{FinalChoice, Lcb};
use oncilla_core::search::{Cpuct, Fpu, Params};
use oncilla_core::time::ManagerParams;
use oncilla_opencl::kernels::Precision;

use crate::engine::{
    BackendKind, BuiltIn, EvaluatorSettings, HintsFrom, KldGainSettings, SearchGraph, Settings, Syzygy, Weights,
};
use crate::score::ScoreType;

use super::contempt::elo_of;

/// How the UCI lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// `ScoreType`.
    pub score_type: ScoreType,
    /// `UCI_Chess960`: castling is written as king takes rook.
    pub chess960: bool,
    /// `UCI_ShowWDL`.
    pub show_wdl: bool,
    /// `UCI_ShowEPS`.
    pub show_eps: bool,
    /// `UCI_ShowMovesLeft`.
    pub show_moves_left: bool,
    /// `PerPVCounters`: each line of a multi-PV shows its own nodes.
    pub per_pv_counters: bool,
    /// `VerboseMoveStats`.
    pub verbose_move_stats: bool,
    /// `ShowStatistics`.
    pub show_statistics: bool,
}

/// From whose view the numbers of an analysis are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Perspective {
    /// The side to move in the position that is analysed.
    #[default]
    SideToMove,
    /// White.
    White,
    /// Black.
    Black,
}

/// What `oncilla analysis` is told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Analysis {
    /// `--parallel`: positions that are searched at the same time; 0: as many as suit the backend.
    pub parallel: usize,
    /// `--max-visits`: visits of a position, where the query does not say.
    pub max_visits: u64,
    /// `--max-playouts`: visits that a search adds to what its tree has, likewise; 0: no limit.
    pub max_playouts: u64,
    /// `--max-time`: seconds, likewise; 0: no limit.
    pub max_time: f64,
    /// `--analysis-pv-len`: moves of a line after its first.
    pub pv_len: usize,
    /// `--root-policy-temperature`: divides the root's logits.
    pub root_policy_temperature: f32,
    /// `--win-loss-utility-factor`: a won game's utility.
    pub win_loss_utility: f32,
    /// `--report-analysis-winrates-as`.
    pub perspective: Perspective,
    /// `--warn-unused-fields`: a warning for each field of a query that means nothing.
    pub warns: bool,
    /// `--sessions`: trees that live on from query to query.
    pub sessions: usize,
    /// `--queue-mb`: MiB of queries that wait, and of answers that nobody has read.
    pub queue_mb: usize,
    /// `--line-mb`: longest line of input in MiB.
    pub line_mb: usize,
}

/// The meaning of all options together.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// What the engine is told.
    pub settings: Settings,
    /// How it is written.
    pub output: Output,
    /// What `oncilla analysis` is told.
    pub analysis: Analysis,
    /// `--human-model`: a network for human play that stands beside the main one.
    pub human_model: Option<Weights>,
    /// `LogFile`: a copy of the UCI traffic goes to the end of this file.
    pub log_file: Option<PathBuf>,
    /// `--preload`: the network is loaded at once, not at the first `isready` or `go`.
    pub preload: bool,
    /// `--show-hidden`: the answer to `uci` lists every option.
    pub show_hidden: bool,
}

/// Which FPU formula the root has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootFpu {
    /// As every other node.
    Same,
    /// Its own.
    Own(FpuStrategy),
}

/// `FpuStrategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FpuStrategy {
    /// Parent's Q less a part.
    Reduction,
    /// A fixed value.
    Absolute,
}

impl FpuStrategy {
    fn with(self, value: f32) -> Fpu {
        match self {
            Self::Reduction => Fpu::Reduction(value),
            Self::Absolute => Fpu::Absolute(value),
        }
    }
}

/// What the rows of the table fill in, one after the other. Some settings are made of several options.
pub struct Draft {
    /// Becomes [`Meaning::settings`] and the rest.
    pub meaning: Meaning,
    /// `FpuStrategy`.
    pub fpu: FpuStrategy,
    /// `FpuValue`.
    pub fpu_value: f32,
    /// `FpuStrategyAtRoot`.
    pub root_fpu: RootFpu,
    /// `FpuValueAtRoot`.
    pub root_fpu_value: f32,
    /// `RootHasOwnCpuctParams`.
    pub root_has_own_cpuct: bool,
    /// `CPuctAtRoot` and what belongs to it.
    pub root_cpuct: Cpuct,
    /// `FinalChoice` is lcb.
    pub chooses_by_lcb: bool,
    /// `Contempt`, in the grammar of [`elo_of`].
    pub contempt_list: String,
    /// `UCI_Opponent`.
    pub opponent: String,
    /// `UCI_RatingAdv`.
    pub rating_advantage: f64,
    /// `ContemptMaxValue` and `WDL…`.
    pub rescale: RescaleParams,
}

impl Draft {
    /// Before any row has run. No value here survives: a test holds every row to setting its own.
    pub fn new() -> Self {
        let evaluator = EvaluatorSettings {
            weights: Weights::BuiltIn(BuiltIn::Small),
            hints: HintsFrom::Program,
            heads: Default::default(),
            moves_left: true,
            backend: BackendKind::Auto,
            devices: Vec::new(),
            precision: Precision::Fp32,
            cache_dir: None,
            threads: 0,
            tiles: true,
            history_fill: HistoryFill::FenOnly,
        };
        let settings = Settings {
            evaluator,
            params: Params { moves_left: Some(Default::default()), ..Params::default() },
            syzygy: Syzygy::default(),
            builtin_endgames: false,
            white_draw_score: 0.0,
            two_fold_draws: true,
            contempt: Contempt::default(),
            lcb: Lcb::default(),
            random_seed: 0,
            search_graph: SearchGraph::Auto,
            workers: Default::default(),
            collisions: Collisions::default(),
            cache: Default::default(),
            minibatch: 0,
            hash_mb: 0,
            ram_limit_mb: 0,
            multi_pv: 1,
            live_stats: false,
            nodes_as_playouts: false,
            smart_pruning_factor: 0.0,
            smart_pruning_batches: 0,
            nps_limit: 0.0,
            kld_gain: KldGainSettings::default(),
            move_overhead_ms: 0,
            time: ManagerParams::default(),
        };
        let meaning = Meaning {
            settings,
            output: Output::default(),
            analysis: Analysis::default(),
            human_model: None,
            log_file: None,
            preload: false,
            show_hidden: false,
        };
        Self {
            meaning,
            fpu: FpuStrategy::Reduction,
            fpu_value: 0.0,
            root_fpu: RootFpu::Same,
            root_fpu_value: 0.0,
            root_has_own_cpuct: false,
            root_cpuct: Cpuct::default(),
            chooses_by_lcb: false,
            contempt_list: String::new(),
            opponent: String::new(),
            rating_advantage: 0.0,
            rescale: RescaleParams::default(),
        }
    }

    /// Joins what belongs together.
    pub fn finish(self) -> Meaning {
        let mut meaning = self.meaning;
        let settings = &mut meaning.settings;
        let params = &mut settings.params;
        params.fpu = self.fpu.with(self.fpu_value);
        params.fpu_at_root = match self.root_fpu {
            RootFpu::Same => None,
            RootFpu::Own(strategy) => Some(strategy.with(self.root_fpu_value)),
        };
        params.cpuct_at_root = self.root_has_own_cpuct.then_some(self.root_cpuct);
        scale_utility(params, meaning.analysis.win_loss_utility);
        if self.chooses_by_lcb {
            params.final_choice = FinalChoice::Lcb(settings.lcb);
        }
        // The list was read when it was typed: what it can't say, it does not hold.
        let elo = elo_of(&self.contempt_list, &self.opponent, self.rating_advantage);
        settings.contempt.rescale = self.rescale.rescale(elo.unwrap_or(self.rating_advantage));
        if settings.ram_limit_mb > 0 {
            settings.hash_mb = settings.hash_mb.min(settings.ram_limit_mb);
        }
        meaning
    }
}

/// KataGo's `winLossUtilityFactor`: with values f times as large the best of Q + U is that of Q + U/f, and likewise
/// with what is taken from the parent's value for a move that was not visited.
fn scale_utility(params: &mut Params, factor: f32) {
    for cpuct in [&mut params.cpuct].into_iter().chain(&mut params.cpuct_at_root) {
        cpuct.init /= factor;
        cpuct.factor /= factor;
    }
    for fpu in [&mut params.fpu].into_iter().chain(&mut params.fpu_at_root) {
        if let Fpu::Reduction(reduction) = fpu {
            *reduction /= factor;
        }
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self::new()
    }
}
