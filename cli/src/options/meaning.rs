//! Turns the values of options into settings.

use std::path::PathBuf;

use oncilla_chess::planes::HistoryFill;
use oncilla_core::formula::collisions::Collisions;
use oncilla_core::formula::contempt::{Contempt, RescaleParams};
use oncilla_core::formula::lcb::{FinalChoice, Lcb};
use oncilla_core::search::{Cpuct, Fpu, Params};
use oncilla_core::time::ManagerParams;
use oncilla_opencl::kernels::Precision;

use crate::engine::{KldGainSettings, SearchGraph, Settings, Syzygy};
use crate::network::{BackendKind, BuiltIn, EvaluatorSettings, HintsFrom, Weights};
use crate::score::ScoreType;

use super::contempt::elo_of;

/// The format of the UCI lines.
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

/// The player whose view the numbers of an analysis are given from.
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

/// The settings of `oncilla analysis`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Analysis {
    /// `--parallel`: the number of positions that are searched at the same time; 0: as many as suit the backend.
    pub parallel: usize,
    /// `--max-visits`: the visits of a position, if the query does not set them.
    pub max_visits: u64,
    /// `--max-playouts`: the visits that a search adds to those of its tree, if the query does not set them; 0: no
    /// limit.
    pub max_playouts: u64,
    /// `--max-time`: the seconds of a search, if the query does not set them; 0: no limit.
    pub max_time: f64,
    /// `--analysis-pv-len`: the moves of a line after its first.
    pub pv_len: usize,
    /// `--root-policy-temperature`: the root's logits are divided by it.
    pub root_policy_temperature: f32,
    /// `--win-loss-utility-factor`: the utility of a won game.
    pub win_loss_utility: f32,
    /// `--report-analysis-winrates-as`.
    pub perspective: Perspective,
    /// `--warn-unused-fields`: unknown fields of a query cause a warning each.
    pub warns: bool,
    /// `--sessions`: the number of trees that are kept from query to query.
    pub sessions: usize,
    /// `--queue-mb`: MiB of waiting queries, and of answers that the client has not read.
    pub queue_mb: usize,
    /// `--line-mb`: the longest line of input in MiB.
    pub line_mb: usize,
}

/// The settings that follow from all options.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// The engine's settings.
    pub settings: Settings,
    /// The format of the output.
    pub output: Output,
    /// The settings of `oncilla analysis`.
    pub analysis: Analysis,
    /// `--human-model`: a network for human play beside the main one.
    pub human_model: Option<Weights>,
    /// `LogFile`: a copy of the UCI traffic is appended to this file.
    pub log_file: Option<PathBuf>,
    /// `--preload`: the network is loaded at the start, not at the first `isready` or `go`.
    pub preload: bool,
    /// `--show-hidden`: the answer to `uci` lists every option.
    pub show_hidden: bool,
}

/// The FPU strategy of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootFpu {
    /// That of all other nodes.
    Same,
    /// A strategy of its own.
    Own(FpuStrategy),
}

/// `FpuStrategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FpuStrategy {
    /// The parent's Q less a reduction.
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

/// The settings while the rows of the table set them, one after the other. Some settings depend on several options.
pub struct Draft {
    /// The settings that depend on one option each.
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
    /// `CPuctAtRoot`, `CPuctBaseAtRoot` and `CPuctFactorAtRoot`.
    pub root_cpuct: Cpuct,
    /// Whether `FinalChoice` is `lcb`.
    pub chooses_by_lcb: bool,
    /// `Contempt`, in the syntax of [`elo_of`].
    pub contempt_list: String,
    /// `UCI_Opponent`.
    pub opponent: String,
    /// `UCI_RatingAdv`.
    pub rating_advantage: f64,
    /// `ContemptMaxValue` and `WDL…`.
    pub rescale: RescaleParams,
}

impl Draft {
    /// The draft before any row has been applied. No value of it remains; a test checks that each row sets its own.
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
            threads_are_all: false,
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

    /// Computes the settings that depend on several options.
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
        *params = params.scaled_down(meaning.analysis.win_loss_utility);
        if self.chooses_by_lcb {
            params.final_choice = FinalChoice::Lcb(settings.lcb);
        }
        // The list was checked when it was set, so this can't fail.
        let elo = elo_of(&self.contempt_list, &self.opponent, self.rating_advantage);
        settings.contempt.rescale = self.rescale.rescale(elo.unwrap_or(self.rating_advantage));
        if settings.ram_limit_mb > 0 {
            settings.hash_mb = settings.hash_mb.min(settings.ram_limit_mb);
        }
        meaning
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self::new()
    }
}
