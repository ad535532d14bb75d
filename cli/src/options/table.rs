//! The table of options.
//!
//! Names, types, defaults, ranges and order are Lc0's wherever Lc0 has the option. A row that does nothing here says
//! why; it is accepted all the same, so that a command line, a script or a GUI made for Lc0 works as it stands.

use oncilla_chess::planes::HistoryFill;
use oncilla_core::search::MovesLeft;

use super::kind::Effect::{Sets, Without};
use super::kind::{Kind, SetBool, SetFloat, SetInt, SetText};
use super::meaning::{Draft, FpuStrategy, RootFpu};
use super::{backend, time_manager};
use crate::score::ScoreType;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Name in UCI; empty if the option is a flag only.
    pub name: &'static str,
    /// Another name in UCI for the same thing.
    pub alias: Option<&'static str>,
    /// Long flag without its `--`; empty if the option is known to UCI only.
    pub flag: &'static str,
    /// Short flag.
    pub short: Option<char>,
    /// Type, default, range and effect.
    pub kind: Kind,
    /// Not listed unless `--show-hidden` asks for it. It can be set all the same.
    pub hidden: bool,
    /// What it does, in one line.
    pub help: &'static str,
}

/// Options that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// What they are about.
    pub title: &'static str,
    /// The rows.
    pub options: &'static [Opt],
}

/// Every option there is, in the order in which UCI lists them.
pub static OPTIONS: &[Group] = &[
    Group { title: "Program", options: PROGRAM },
    Group { title: "Search", options: SEARCH },
    Group { title: "Limits and time", options: TIME },
    Group { title: "Output", options: OUTPUT },
    Group { title: "Network", options: NETWORK },
];

/// All rows, in order.
pub fn all() -> impl Iterator<Item = &'static Opt> {
    OPTIONS.iter().flat_map(|group| group.options)
}

/// The row of that UCI name or alias, whatever the case of its letters.
pub fn by_name(name: &str) -> Option<&'static Opt> {
    let is = |candidate: &str| !candidate.is_empty() && candidate.eq_ignore_ascii_case(name);
    all().find(|opt| is(opt.name) || opt.alias.is_some_and(is))
}

/// The row of that long flag.
pub fn by_flag(flag: &str) -> Option<&'static Opt> {
    all().find(|opt| !flag.is_empty() && opt.flag == flag)
}

/// The row of that short flag.
pub fn by_short(short: char) -> Option<&'static Opt> {
    all().find(|opt| opt.short == Some(short))
}

impl Opt {
    const fn new(name: &'static str, flag: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, alias: None, flag, short: None, kind, hidden: false, help }
    }

    const fn text(n: &'static str, flag: &'static str, default: &'static str, help: &'static str, e: SetText) -> Self {
        Self::new(n, flag, Kind::Text { default, effect: e }, help)
    }

    const fn int(
        name: &'static str,
        flag: &'static str,
        default: i64,
        range: (i64, i64),
        help: &'static str,
        effect: SetInt,
    ) -> Self {
        Self::new(name, flag, Kind::Int { default, min: range.0, max: range.1, effect }, help)
    }

    const fn float(
        name: &'static str,
        flag: &'static str,
        default: f64,
        range: (f64, f64),
        help: &'static str,
        effect: SetFloat,
    ) -> Self {
        Self::new(name, flag, Kind::Float { default, min: range.0, max: range.1, effect }, help)
    }

    const fn switch(n: &'static str, flag: &'static str, default: bool, help: &'static str, e: SetBool) -> Self {
        Self::new(n, flag, Kind::Bool { default, effect: e }, help)
    }

    const fn choice(
        name: &'static str,
        flag: &'static str,
        default: &'static str,
        of: &'static [&'static str],
        help: &'static str,
        effect: SetText,
    ) -> Self {
        Self::new(name, flag, Kind::Choice { default, of, effect }, help)
    }

    const fn hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    const fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// What the row is found by again: no two rows have the same.
    pub fn key(&self) -> &'static str {
        if self.name.is_empty() { self.flag } else { self.name }
    }

    /// How a user writes it on the command line, or in UCI if there is no flag.
    pub fn spelling(&self) -> String {
        if self.flag.is_empty() { self.name.to_string() } else { format!("--{}", self.flag) }
    }
}

const LATER: &str = "not here yet";
const FIXED: &str = "fixed at Lc0's default, but never more than a batch";
const NO_CACHE: &str = "there is no evaluation cache yet";
const NO_GC: &str = "the tree lives in memory of fixed size and has no garbage";
const NO_TASKS: &str = "gathering is not split into tasks";
const NO_TABLEBASES: &str = "there are no tablebases yet";

const PROGRAM: &[Opt] = &[
    Opt::text(
        "LogFile",
        "logfile",
        "",
        "Copy the UCI traffic to the end of this file.",
        Sets(|d, file| {
            d.meaning.log_file = (!file.is_empty()).then(|| file.into());
            Ok(())
        }),
    )
    .short('l'),
    // Read before any other option, see `args`: there is nothing left to set.
    Opt::text(
        "ConfigFile",
        "config",
        "",
        "Read flags from this file, one a line. The command line counts for more.",
        Sets(|_, _| Ok(())),
    )
    .short('c'),
    // Whether a search ponders is said by `go ponder`; the option only tells the GUI that it may.
    Opt::switch("Ponder", "ponder", false, "The GUI may let the engine think on the opponent's time.", Sets(|_, _| {})),
    Opt::text("SyzygyPath", "syzygy-paths", "", "Folders of Syzygy tablebases.", Without(NO_TABLEBASES)).short('s'),
    Opt::switch(
        "StrictTiming",
        "strict-uci-timing",
        false,
        "Start the clock at go, not at position.",
        Without("the clock always starts at go"),
    )
    .hidden(),
    Opt::switch(
        "",
        "preload",
        false,
        "Load the network at the start, not when it is first needed.",
        Sets(|d, on| {
            d.meaning.preload = on;
        }),
    ),
    Opt::switch(
        "",
        "show-hidden",
        false,
        "List every option in --help and in the answer to uci.",
        Sets(|d, on| {
            d.meaning.show_hidden = on;
        }),
    ),
    Opt::text("", "cache-dir", "", "Folder for compiled kernels and tuning.", Without("nothing is cached yet")),
    Opt::int(
        "Threads",
        "threads",
        0,
        (0, 128),
        "Threads of the host backend; 0: one for each core.",
        Sets(|d, n| {
            d.meaning.settings.evaluator.threads = n as usize;
        }),
    )
    .short('t'),
    Opt::int(
        "Hash",
        "hash",
        256,
        (1, 1 << 20),
        "MiB of memory for the tree.",
        Sets(|d, mib| {
            d.meaning.settings.hash_mb = mib as usize;
        }),
    ),
];

const SEARCH: &[Opt] = &[
    Opt::int(
        "MinibatchSize",
        "minibatch-size",
        0,
        (0, 1024),
        "Positions to gather before they are evaluated together; 0: what the backend prefers.",
        Sets(|d, n| d.meaning.settings.minibatch = n as usize),
    ),
    Opt::float(
        "CPuct",
        "cpuct",
        1.745,
        (0.0, 100.0),
        "Exploration constant of PUCT.",
        Sets(|d, x| {
            d.meaning.settings.params.cpuct.init = x as f32;
        }),
    ),
    Opt::float(
        "CPuctAtRoot",
        "cpuct-at-root",
        1.745,
        (0.0, 100.0),
        "CPuct at the root.",
        Sets(|d, x| {
            d.meaning.settings.params.cpuct_at_root.init = x as f32;
        }),
    )
    .hidden(),
    Opt::float(
        "CPuctBase",
        "cpuct-base",
        38739.0,
        (1.0, 1e9),
        "Visits that the growth of exploration is measured in.",
        Sets(|d, x| d.meaning.settings.params.cpuct.base = x as f32),
    ),
    Opt::float(
        "CPuctBaseAtRoot",
        "cpuct-base-at-root",
        38739.0,
        (1.0, 1e9),
        "CPuctBase at the root.",
        Sets(|d, x| {
            d.meaning.settings.params.cpuct_at_root.base = x as f32;
        }),
    )
    .hidden(),
    Opt::float(
        "CPuctFactor",
        "cpuct-factor",
        3.894,
        (0.0, 1000.0),
        "How fast exploration grows with the logarithm of the visits.",
        Sets(|d, x| d.meaning.settings.params.cpuct.factor = x as f32),
    ),
    Opt::float(
        "CPuctFactorAtRoot",
        "cpuct-factor-at-root",
        3.894,
        (0.0, 1000.0),
        "CPuctFactor at the root.",
        Sets(|d, x| d.meaning.settings.params.cpuct_at_root.factor = x as f32),
    )
    .hidden(),
    Opt::switch(
        "RootHasOwnCpuctParams",
        "root-has-own-cpuct-params",
        false,
        "Use CPuctAtRoot, CPuctBaseAtRoot and CPuctFactorAtRoot at the root.",
        Sets(|d, on| d.root_has_own_cpuct = on),
    )
    .hidden(),
    Opt::switch(
        "TwoFoldDraws",
        "two-fold-draws",
        true,
        "Take the first repetition of a position within the tree for a draw.",
        Sets(|d, on| d.meaning.settings.two_fold_draws = on),
    ),
    Opt::float("Temperature", "temperature", 0.0, (0.0, 100.0), "Choose moves by chance.", Without(LATER)).hidden(),
    Opt::int("TempDecayMoves", "tempdecay-moves", 0, (0, 640), "Moves until the temperature is 0.", Without(LATER))
        .hidden(),
    Opt::int(
        "TempDecayDelayMoves",
        "tempdecay-delay-moves",
        0,
        (0, 100),
        "Moves before the temperature falls.",
        Without(LATER),
    )
    .hidden(),
    Opt::int(
        "TempCutoffMove",
        "temp-cutoff-move",
        0,
        (0, 1000),
        "Move from which on TempEndgame counts.",
        Without(LATER),
    )
    .hidden(),
    Opt::float("TempEndgame", "temp-endgame", 0.0, (0.0, 100.0), "Least temperature.", Without(LATER)).hidden(),
    Opt::float(
        "TempValueCutoff",
        "temp-value-cutoff",
        100.0,
        (0.0, 100.0),
        "Leave out moves that lose this much win percentage.",
        Without(LATER),
    )
    .hidden(),
    Opt::float(
        "TempVisitOffset",
        "temp-visit-offset",
        0.0,
        (-1000.0, 1000.0),
        "Added to the visits before the temperature is applied.",
        Without(LATER),
    )
    .hidden(),
    Opt::float(
        "DirichletNoiseEpsilon",
        "noise-epsilon",
        0.0,
        (0.0, 1.0),
        "Share of noise at the root.",
        Without(LATER),
    )
    .hidden(),
    Opt::float("DirichletNoiseAlpha", "noise-alpha", 0.3, (0.0, 1e7), "Shape of the noise.", Without(LATER)).hidden(),
    Opt::switch(
        "VerboseMoveStats",
        "verbose-move-stats",
        false,
        "Write the statistics of every root move before bestmove.",
        Sets(|d, on| d.meaning.output.verbose_move_stats = on),
    )
    .short('v'),
    Opt::switch("LogLiveStats", "log-live-stats", false, "Write these statistics with every info.", Without(LATER))
        .hidden(),
    Opt::choice(
        "FpuStrategy",
        "fpu-strategy",
        "reduction",
        &["reduction", "absolute"],
        "What an unvisited move is worth: the parent's Q less a part, or a fixed value.",
        Sets(|d, name| {
            d.fpu = fpu_strategy(name)?;
            Ok(())
        }),
    ),
    Opt::float(
        "FpuValue",
        "fpu-value",
        0.33,
        (-100.0, 100.0),
        "That part, or that value.",
        Sets(|d, x| {
            d.fpu_value = x as f32;
        }),
    ),
    Opt::choice(
        "FpuStrategyAtRoot",
        "fpu-strategy-at-root",
        "same",
        &["reduction", "absolute", "same"],
        "FpuStrategy at the root.",
        Sets(|d, name| {
            d.root_fpu = if name == "same" { RootFpu::Same } else { RootFpu::Own(fpu_strategy(name)?) };
            Ok(())
        }),
    )
    .hidden(),
    Opt::float(
        "FpuValueAtRoot",
        "fpu-value-at-root",
        1.0,
        (-100.0, 100.0),
        "FpuValue at the root, unless the strategy is the same.",
        Sets(|d, x| d.root_fpu_value = x as f32),
    )
    .hidden(),
    Opt::int("CacheHistoryLength", "cache-history-length", 0, (0, 7), "Plies in the cache's key.", Without(NO_CACHE)),
    Opt::int("MaxCollisionEvents", "max-collision-events", 917, (1, 65536), "Collisions a batch.", Without(FIXED)),
    Opt::int(
        "MaxCollisionVisits",
        "max-collision-visits",
        80000,
        (1, 100_000_000),
        "Collision visits a batch.",
        Without(FIXED),
    ),
    Opt::int(
        "MaxCollisionVisitsScalingStart",
        "max-collision-visits-scaling-start",
        28,
        (1, 100_000),
        "Tree size from which on collision visits grow.",
        Without(FIXED),
    ),
    Opt::int(
        "MaxCollisionVisitsScalingEnd",
        "max-collision-visits-scaling-end",
        145_000,
        (0, 100_000_000),
        "Tree size at which they are largest.",
        Without(FIXED),
    ),
    Opt::float(
        "MaxCollisionVisitsScalingPower",
        "max-collision-visits-scaling-power",
        1.25,
        (0.01, 100.0),
        "Bend of the growth between.",
        Without(FIXED),
    ),
    Opt::switch(
        "OutOfOrderEval",
        "out-of-order-eval",
        true,
        "Pass known results to the tree while a batch is gathered.",
        Without("they always are"),
    ),
    Opt::float(
        "MaxOutOfOrderEvalsFactor",
        "max-out-of-order-evals-factor",
        2.4,
        (0.0, 100.0),
        "Most of these, in batches.",
        Without("fixed at four for each position of a batch"),
    ),
    Opt::switch(
        "StickyEndgames",
        "sticky-endgames",
        true,
        "Pass proven results on to the parents.",
        Sets(|d, on| d.meaning.settings.params.sticky_endgames = on),
    ),
    Opt::switch("SyzygyFastPlay", "syzygy-fast-play", false, "Shortest way by tablebase.", Without(NO_TABLEBASES)),
    Opt::int(
        "MultiPV",
        "multipv",
        1,
        (1, 500),
        "Lines to show.",
        Sets(|d, n| {
            d.meaning.settings.multi_pv = n as usize;
        }),
    ),
    Opt::switch(
        "PerPVCounters",
        "per-pv-counters",
        false,
        "Show each line's own nodes.",
        Sets(|d, on| {
            d.meaning.output.per_pv_counters = on;
        }),
    ),
    Opt::choice(
        "ScoreType",
        "score-type",
        "WDL_mu",
        ScoreType::NAMES,
        "Unit of the score.",
        Sets(|d, name| {
            d.meaning.output.score_type = ScoreType::from_name(name).ok_or("no such score type")?;
            Ok(())
        }),
    ),
    Opt::float(
        "MovesLeftMaxEffect",
        "moves-left-max-effect",
        0.0345,
        (0.0, 1.0),
        "Most that a shorter win or a longer loss is worth, in Q.",
        Sets(|d, x| moves_left(d).max_effect = x as f32),
    ),
    Opt::float(
        "MovesLeftThreshold",
        "moves-left-threshold",
        0.8,
        (0.0, 1.0),
        "|Q| from which on moves left count.",
        Sets(|d, x| moves_left(d).threshold = x as f32),
    ),
    Opt::float(
        "MovesLeftSlope",
        "moves-left-slope",
        0.0027,
        (0.0, 1.0),
        "Q for each ply.",
        Sets(|d, x| {
            moves_left(d).slope = x as f32;
        }),
    ),
    Opt::float(
        "MovesLeftConstantFactor",
        "moves-left-constant-factor",
        0.0,
        (-1.0, 1.0),
        "Constant part of the weight.",
        Sets(|d, x| moves_left(d).constant = x as f32),
    ),
    Opt::float(
        "MovesLeftScaledFactor",
        "moves-left-scaled-factor",
        1.6521,
        (-2.0, 2.0),
        "Part of the weight that grows with |Q|.",
        Sets(|d, x| moves_left(d).scaled = x as f32),
    ),
    Opt::float(
        "MovesLeftQuadraticFactor",
        "moves-left-quadratic-factor",
        -0.6521,
        (-1.0, 1.0),
        "Part of the weight that grows with Q².",
        Sets(|d, x| moves_left(d).quadratic = x as f32),
    ),
    Opt::int(
        "MaxConcurrentSearchers",
        "max-concurrent-searchers",
        1,
        (0, 128),
        "Gatherers at once.",
        Without(NO_TASKS),
    ),
    Opt::float(
        "DrawScore",
        "draw-score",
        0.0,
        (-1.0, 1.0),
        "What a draw is worth to White.",
        Sets(|d, x| {
            d.meaning.settings.white_draw_score = x as f32;
        }),
    ),
    Opt::choice(
        "ContemptMode",
        "contempt-mode",
        "play",
        &["play", "white_side_analysis", "black_side_analysis", "disable"],
        "Whose contempt it is.",
        Without(LATER),
    ),
    Opt::text("Contempt", "contempt", "", "Contempt in Elo, by opponent.", Without(LATER)),
    Opt::float("ContemptMaxValue", "contempt-max-value", 420.0, (0.0, 10000.0), "Most contempt.", Without(LATER))
        .hidden(),
    Opt::float("WDLCalibrationElo", "wdl-calibration-elo", 0.0, (0.0, 10000.0), "Elo of the play.", Without(LATER)),
    Opt::float(
        "WDLContemptAttenuation",
        "wdl-contempt-attenuation",
        1.0,
        (-10.0, 10.0),
        "Weight of the contempt.",
        Without(LATER),
    )
    .hidden(),
    Opt::float("WDLMaxS", "wdl-max-s", 1.4, (0.0, 10.0), "Bound of the spread.", Without(LATER)).hidden(),
    Opt::float(
        "WDLEvalObjectivity",
        "wdl-eval-objectivity",
        1.0,
        (0.0, 1.0),
        "How much of the contempt the score leaves out.",
        Without(LATER),
    ),
    Opt::float("WDLDrawRateTarget", "wdl-draw-rate-target", 0.0, (0.0, 0.999), "Draw rate to aim at.", Without(LATER))
        .hidden(),
    Opt::float(
        "WDLDrawRateReference",
        "wdl-draw-rate-reference",
        0.5,
        (0.001, 0.999),
        "Draw rate of the network.",
        Without(LATER),
    ),
    Opt::float("WDLBookExitBias", "wdl-book-exit-bias", 0.65, (-2.0, 2.0), "Bias of the openings.", Without(LATER))
        .hidden(),
    Opt::float("NodesPerSecondLimit", "nps-limit", 0.0, (0.0, 1e6), "Nodes per second at most.", Without(LATER)),
    Opt::int("TaskWorkers", "task-workers", -1, (-1, 128), "Helpers of a gatherer.", Without(NO_TASKS)),
    Opt::int(
        "MinimumProcessingWork",
        "minimum-processing-work",
        20,
        (2, 100_000),
        "Split from here.",
        Without(NO_TASKS),
    ),
    Opt::int("MinimumPickingWork", "minimum-picking-work", 1, (1, 100_000), "Split from here.", Without(NO_TASKS)),
    Opt::int(
        "MinimumRemainingPickingWork",
        "minimum-remaining-picking-work",
        20,
        (0, 100_000),
        "Split only if this is left.",
        Without(NO_TASKS),
    ),
    Opt::int(
        "MinimumPerTaskProcessing",
        "minimum-per-task-processing",
        8,
        (1, 100_000),
        "Least work of a task.",
        Without(NO_TASKS),
    ),
    Opt::int(
        "IdlingMinimumWork",
        "idling-minimum-work",
        0,
        (0, 10_000),
        "Work for an idle backend.",
        Without(NO_TASKS),
    ),
    Opt::int(
        "ThreadIdlingThreshold",
        "thread-idling-threshold",
        1,
        (0, 128),
        "Threads that make a backend idle.",
        Without(NO_TASKS),
    ),
    Opt::text("UCI_Opponent", "", "", "Who plays the other side.", Without("there is no contempt yet")),
    Opt::float(
        "UCI_RatingAdv",
        "",
        0.0,
        (-10000.0, 10000.0),
        "Our rating less the opponent's.",
        Without("there is no contempt yet"),
    ),
    Opt::switch("SearchSpinBackoff", "search-spin-backoff", false, "Wait longer between tries.", Without(NO_TASKS)),
    Opt::float(
        "GarbageCollectionDelay",
        "garbage-collection-delay",
        10.0,
        (0.0, 100.0),
        "Part of a move's time before freed nodes are collected.",
        Without(NO_GC),
    ),
    Opt::int("MaxPrefetch", "max-prefetch", 32, (0, 1024), "Positions to evaluate ahead.", Without(NO_CACHE)),
    Opt::int(
        "SolidTreeThreshold",
        "solid-tree-threshold",
        100,
        (1, 2_000_000_000),
        "Visits from which on children are laid out together.",
        Without("they always are"),
    ),
];

const TIME: &[Opt] = &[
    Opt::int(
        "KLDGainAverageInterval",
        "kldgain-average-interval",
        100,
        (1, 10_000_000),
        "Nodes between two looks at the gain.",
        Without(LATER),
    )
    .hidden(),
    Opt::float(
        "MinimumKLDGainPerNode",
        "minimum-kldgain-per-node",
        0.0,
        (0.0, 1.0),
        "Stop when the visits' distribution changes less than this.",
        Without(LATER),
    )
    .hidden(),
    Opt::float(
        "SmartPruningFactor",
        "smart-pruning-factor",
        1.33,
        (0.0, 10.0),
        "Stop when no other move can become the best; larger than 1: earlier; 0: never.",
        Sets(|d, x| d.meaning.settings.smart_pruning_factor = x as f32),
    ),
    Opt::int(
        "SmartPruningMinimumBatches",
        "smart-pruning-minimum-batches",
        0,
        (0, 10_000),
        "Batches before that.",
        Without(LATER),
    ),
    Opt::switch(
        "NodesAsPlayouts",
        "nodes-as-playouts",
        false,
        "go nodes counts playouts, not visits.",
        Sets(|d, on| {
            d.meaning.settings.nodes_as_playouts = on;
        }),
    )
    .hidden(),
    Opt::int(
        "RamLimitMb",
        "ramlimit-mb",
        0,
        (0, 100_000_000),
        "MiB for the tree, if less than Hash; 0: no such limit. The tree is folded there; the search goes on.",
        Sets(|d, mib| d.ram_limit_mb = mib as usize),
    ),
    Opt::int(
        "MoveOverheadMs",
        "move-overhead",
        200,
        (0, 100_000_000),
        "Time lost between the engine's answer and the GUI's clock.",
        Sets(|d, ms| d.meaning.settings.move_overhead_ms = ms as u64),
    )
    .alias("Move Overhead"),
    Opt::text(
        "TimeManager",
        "time-manager",
        "smooth",
        "How the clock is shared out: smooth, or smooth(PARAMETER=NUMBER,…).",
        Sets(|d, text| {
            d.meaning.settings.time = time_manager::read(text)?;
            Ok(())
        }),
    ),
    Opt::new("ClearTree", "", Kind::Button, "Forget the tree.").hidden(),
];

const OUTPUT: &[Opt] = &[
    Opt::switch(
        "UCI_Chess960",
        "chess960",
        false,
        "Write castling as king takes rook.",
        Sets(|d, on| {
            d.meaning.output.chess960 = on;
        }),
    ),
    Opt::switch(
        "UCI_ShowWDL",
        "show-wdl",
        false,
        "Show win, draw and loss per mille.",
        Sets(|d, on| {
            d.meaning.output.show_wdl = on;
        }),
    ),
    Opt::switch(
        "UCI_ShowEPS",
        "show-eps",
        false,
        "Show evaluations per second.",
        Sets(|d, on| {
            d.meaning.output.show_eps = on;
        }),
    ),
    Opt::switch(
        "UCI_ShowMovesLeft",
        "show-movesleft",
        false,
        "Show the moves left of the game.",
        Sets(|d, on| {
            d.meaning.output.show_moves_left = on;
        }),
    ),
];

const NETWORK: &[Opt] = &[
    Opt::float(
        "PolicyTemperature",
        "policy-softmax-temp",
        1.359,
        (0.1, 10.0),
        "Divides the policy's logits before the softmax.",
        Sets(|d, x| d.meaning.settings.params.policy_temperature = x as f32),
    ),
    Opt::choice(
        "HistoryFill",
        "history-fill",
        "fen_only",
        &["no", "fen_only", "always"],
        "When to repeat the first position in place of the unknown ones before it.",
        Sets(|d, name| {
            d.meaning.settings.evaluator.history_fill = match name {
                "no" => HistoryFill::No,
                "always" => HistoryFill::Always,
                _ => HistoryFill::FenOnly,
            };
            Ok(())
        }),
    ),
    Opt::text(
        "WeightsFile",
        "weights",
        "small",
        "The network: a file, or small, which is built in.",
        Sets(|d, text| {
            d.meaning.settings.evaluator.weights = backend::weights(text)?;
            Ok(())
        }),
    )
    .short('w'),
    Opt::choice(
        "Backend",
        "backend",
        "auto",
        backend::BACKENDS,
        "What runs the network; auto: OpenCL if a device works, the host otherwise.",
        Sets(|d, name| {
            d.meaning.settings.evaluator.backend = backend::kind(name).ok_or("no such backend")?;
            Ok(())
        }),
    )
    .short('b'),
    Opt::text(
        "BackendOptions",
        "backend-opts",
        "",
        "gpu=NUMBER, device=NAME, threads=NUMBER.",
        Sets(|d, text| backend::options(&mut d.meaning.settings.evaluator, text)),
    )
    .short('o'),
    Opt::int("NNCacheSize", "nncache", 2_000_000, (0, 999_999_999), "Evaluations to keep.", Without(NO_CACHE)),
];

fn moves_left(draft: &mut Draft) -> &mut MovesLeft {
    draft.meaning.settings.params.moves_left.get_or_insert_default()
}

fn fpu_strategy(name: &str) -> Result<FpuStrategy, String> {
    match name {
        "reduction" => Ok(FpuStrategy::Reduction),
        "absolute" => Ok(FpuStrategy::Absolute),
        _ => Err("no such FPU strategy".to_string()),
    }
}
