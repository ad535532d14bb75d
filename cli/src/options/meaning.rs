//! What was typed, turned into what it means.

use std::path::PathBuf;

use oncilla_chess::planes::HistoryFill;
use oncilla_core::search::{Fpu, Params};
use oncilla_core::time::SmoothParams;

use crate::engine::{BackendKind, EvaluatorSettings, Settings, Weights};
use crate::score::ScoreType;

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
}

/// All options together.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// What the engine is told.
    pub settings: Settings,
    /// How it is written.
    pub output: Output,
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
    /// `RamLimitMb`, 0 for none.
    pub ram_limit_mb: usize,
}

impl Draft {
    /// Before any row has run. No value here survives: a test holds every row to setting its own.
    pub fn new() -> Self {
        let evaluator = EvaluatorSettings {
            weights: Weights::Embedded,
            backend: BackendKind::Auto,
            device: None,
            threads: 0,
            history_fill: HistoryFill::FenOnly,
        };
        let settings = Settings {
            evaluator,
            params: Params { moves_left: Some(Default::default()), ..Params::default() },
            white_draw_score: 0.0,
            two_fold_draws: true,
            minibatch: 0,
            threads: 1,
            graph: false,
            hash_mb: 0,
            multi_pv: 1,
            nodes_as_playouts: false,
            smart_pruning_factor: 0.0,
            move_overhead_ms: 0,
            time: SmoothParams::default(),
        };
        let meaning =
            Meaning { settings, output: Output::default(), log_file: None, preload: false, show_hidden: false };
        Self {
            meaning,
            fpu: FpuStrategy::Reduction,
            fpu_value: 0.0,
            root_fpu: RootFpu::Same,
            root_fpu_value: 0.0,
            root_has_own_cpuct: false,
            ram_limit_mb: 0,
        }
    }

    /// Joins what belongs together.
    pub fn finish(self) -> Meaning {
        let mut meaning = self.meaning;
        let settings = &mut meaning.settings;
        let params = &mut settings.params;
        params.fpu = self.fpu.with(self.fpu_value);
        params.fpu_at_root = match self.root_fpu {
            RootFpu::Same => params.fpu,
            RootFpu::Own(strategy) => strategy.with(self.root_fpu_value),
        };
        if !self.root_has_own_cpuct {
            params.cpuct_at_root = params.cpuct;
        }
        if self.ram_limit_mb > 0 {
            settings.hash_mb = settings.hash_mb.min(self.ram_limit_mb);
        }
        meaning
    }
}

impl Default for Draft {
    fn default() -> Self {
        Self::new()
    }
}
