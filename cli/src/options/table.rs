//! The table of options.
//!
//! Names, types, defaults, ranges and order are those of Lc0 for every option that Lc0 has. A row without an effect
//! here has a reason; the option is accepted, so that a command line, a script or a GUI made for Lc0 works unchanged.

use oncilla_chess::planes::HistoryFill;
use oncilla_core::formula::contempt::ContemptMode;
use oncilla_core::search::MovesLeft;
use oncilla_opencl::kernels::Precision;

use super::kind::Effect::{AtStart, Sets, Without};
use super::kind::{Kind, SetBool, SetFloat, SetInt, SetText};
use super::meaning::{Draft, FpuStrategy, Perspective, RootFpu};
use super::path::{path, paths, unquoted};
use super::{backend, contempt, time_manager};
use crate::engine::SearchGraph;
use crate::score::ScoreType;

/// The upper end of `--max-visits`, which no search reaches.
pub const MOST_VISITS: i64 = 1 << 50;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// The name in UCI; empty if the option is only a flag.
    pub name: &'static str,
    /// Another name of the option in UCI. Both are listed, and because a GUI may send all listed options, the default
    /// under one name does not undo a value that was set under the other.
    pub alias: Option<&'static str>,
    /// The long flag without its `--`; empty if the option is only in UCI.
    pub flag: &'static str,
    /// The short flag.
    pub short: Option<char>,
    /// The type, default, range and effect.
    pub kind: Kind,
    /// Whether the option is listed only with `--show-hidden`. It can always be set.
    pub hidden: bool,
    /// Whether the value names files or folders, which a shell can complete.
    pub names_files: bool,
    /// The effect, in one line.
    pub help: &'static str,
}

/// Rows of one topic.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The topic.
    pub title: &'static str,
    /// The rows.
    pub options: &'static [Opt],
}

/// All options, in the order of UCI's list.
pub static OPTIONS: &[Group] = &[
    Group { title: "Program", options: PROGRAM },
    Group { title: "Search", options: SEARCH },
    Group { title: "Limits and time", options: TIME },
    Group { title: "Output", options: OUTPUT },
    Group { title: "Network", options: NETWORK },
    Group { title: "Analysis (oncilla analysis)", options: ANALYSIS },
];

/// All rows of the table, in their order.
pub fn all() -> impl Iterator<Item = &'static Opt> {
    OPTIONS.iter().flat_map(|group| group.options)
}

/// The rows that only `analysis`, `gtp` and `report` use.
pub fn of_analysis() -> impl Iterator<Item = &'static Opt> {
    // The unit of utilities counts in every search.
    let rows = ANALYSIS.iter().filter(|opt| opt.flag != "win-loss-utility-factor");
    by_flag("human-model").into_iter().chain(rows)
}

/// The row of a UCI name or alias; upper and lower case are the same.
pub fn by_name(name: &str) -> Option<&'static Opt> {
    let is = |candidate: &str| !candidate.is_empty() && candidate.eq_ignore_ascii_case(name);
    all().find(|opt| is(opt.name) || opt.alias.is_some_and(is))
}

/// The row of a long flag.
pub fn by_flag(flag: &str) -> Option<&'static Opt> {
    all().find(|opt| !flag.is_empty() && opt.flag == flag)
}

/// The row of a short flag.
pub fn by_short(short: char) -> Option<&'static Opt> {
    all().find(|opt| opt.short == Some(short))
}

impl Opt {
    const fn new(name: &'static str, flag: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, alias: None, flag, short: None, kind, hidden: false, names_files: false, help }
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
        Self::new(name, flag, Kind::Choice { default, of, also: &[], effect }, help)
    }

    /// Accepts more words, which are not listed.
    const fn also(self, also: &'static [&'static str]) -> Self {
        let Kind::Choice { default, of, effect, .. } = self.kind else { return self };
        Self { kind: Kind::Choice { default, of, also, effect }, ..self }
    }

    const fn hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    const fn files(self) -> Self {
        Self { names_files: true, ..self }
    }

    const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    const fn alias(self, alias: &'static str) -> Self {
        Self { alias: Some(alias), ..self }
    }

    /// The row's unique key.
    pub fn key(&self) -> &'static str {
        if self.name.is_empty() { self.flag } else { self.name }
    }

    /// The option's name on the command line, or in UCI if it has no flag.
    pub fn spelling(&self) -> String {
        if self.flag.is_empty() { self.name.to_string() } else { format!("--{}", self.flag) }
    }
}

const NO_GC: &str = "the tree lives in memory of fixed size and has no garbage";
const NO_TASKS: &str = "gathering is not split into tasks";
const PROGRAM: &[Opt] = &[
    Opt::text(
        "LogFile",
        "logfile",
        "",
        "Copy the UCI traffic to the end of this file, or to standard error if it is <stderr>.",
        Sets(|d, file| {
            d.meaning.log_file = (!unquoted(file).is_empty()).then(|| path(file));
            Ok(())
        }),
    )
    .files()
    .short('l'),
    // `args` reads it before all other options.
    Opt::text(
        "ConfigFile",
        "config",
        "",
        "Read flags from this file at the start, one a line. Of several files the later counts for more, and the command line for most.",
        AtStart("a configuration file is read at the start only (--config=FILE)"),
    )
    .files()
    .short('c'),
    // A search ponders if `go ponder` was sent. The option only tells the GUI that it may send that.
    Opt::switch("Ponder", "ponder", false, "The GUI may let the engine think on the opponent's time.", Sets(|_, _| {})),
    Opt::text(
        "SyzygyPath",
        "syzygy-paths",
        "",
        "Folders of Syzygy tablebases, separated as in PATH (by :, on Windows by ;).",
        Sets(|d, folders| {
            d.meaning.settings.syzygy.paths = paths(folders);
            Ok(())
        }),
    )
    .files()
    .short('s'),
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
    Opt::text(
        "",
        "cache-dir",
        "",
        "Folder for compiled OpenCL programs and what oncilla tune finds; without one $XDG_CACHE_HOME/oncilla or ~/.cache/oncilla, on Windows %LOCALAPPDATA%\\oncilla\\cache.",
        Sets(|d, folder| {
            d.meaning.settings.evaluator.cache_dir = (!unquoted(folder).is_empty()).then(|| path(folder));
            Ok(())
        }),
    )
    .files(),
    Opt::int(
        "Threads",
        "threads",
        0,
        (0, 128),
        "Threads that search, and threads that the host backend computes with (never more than there are cores). 0: one thread that searches, or on a GPU one for each batch that the GPU may have at a time; and every core for the host backend.",
        Sets(|d, n| {
            d.meaning.settings.workers.all = n as usize;
            d.meaning.settings.evaluator.threads = n as usize;
        }),
    )
    .short('t'),
    Opt::int(
        "GatherThreads",
        "gather-threads",
        0,
        (0, 128),
        "Threads that only choose which positions to evaluate; 0: threads take all roles.",
        Sets(|d, n| d.meaning.settings.workers.gather = n as usize),
    )
    .hidden(),
    Opt::int(
        "EvalThreads",
        "eval-threads",
        0,
        (0, 128),
        "Threads that only evaluate positions; 0: threads take all roles.",
        Sets(|d, n| d.meaning.settings.workers.eval = n as usize),
    )
    .hidden(),
    Opt::int(
        "BackpropThreads",
        "backprop-threads",
        0,
        (0, 128),
        "Threads that only bring values back to the root; 0: threads take all roles.",
        Sets(|d, n| d.meaning.settings.workers.backprop = n as usize),
    )
    .hidden(),
    Opt::int(
        "Hash",
        "hash",
        256,
        (1, 1 << 20),
        "MiB of memory for the tree; more than 4.8 GiB (as a graph 5.6) a tree can't use.",
        Sets(|d, mib| {
            d.meaning.settings.hash_mb = mib as usize;
        }),
    ),
    Opt::int(
        "RandomSeed",
        "random-seed",
        0,
        (0, i32::MAX as i64),
        "Noise and moves chosen by chance are the same each time; 0: other ones each time.",
        Sets(|d, seed| d.meaning.settings.random_seed = seed as u64),
    )
    .hidden(),
];

const SEARCH: &[Opt] = &[
    Opt::choice(
        "SearchGraph",
        "search-graph",
        "auto",
        &["auto", "graph", "tree"],
        "graph: a position is searched once, however many lines lead to it; tree: once for each; auto: a graph with a \
         network, and a tree where evaluations cost nothing.",
        Sets(|d, shape| {
            d.meaning.settings.search_graph = match shape {
                "graph" => SearchGraph::Graph,
                "tree" => SearchGraph::Tree,
                _ => SearchGraph::Auto,
            };
            Ok(())
        }),
    ),
    Opt::int(
        "MinibatchSize",
        "minibatch-size",
        0,
        (0, 1024),
        "Positions to gather before they are evaluated together; 0: what the backend prefers (bench: 16, which makes its signature the same everywhere).",
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
            d.root_cpuct.init = x as f32;
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
            d.root_cpuct.base = x as f32;
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
        Sets(|d, x| d.root_cpuct.factor = x as f32),
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
    Opt::float(
        "Temperature",
        "temperature",
        0.0,
        (0.0, 100.0),
        "Choose moves by chance: 1: as often as they were visited; 0: always the best.",
        Sets(|d, x| d.meaning.settings.params.temperature.start = x as f32),
    )
    .hidden(),
    Opt::int(
        "TempDecayMoves",
        "tempdecay-moves",
        0,
        (0, 640),
        "Moves in which the temperature falls to 0; 0: it does not fall.",
        Sets(|d, n| d.meaning.settings.params.temperature.decay_moves = n as u32),
    )
    .hidden(),
    Opt::int(
        "TempDecayDelayMoves",
        "tempdecay-delay-moves",
        0,
        (0, 100),
        "Moves before the temperature begins to fall.",
        Sets(|d, n| d.meaning.settings.params.temperature.decay_delay_moves = n as u32),
    )
    .hidden(),
    Opt::int(
        "TempCutoffMove",
        "temp-cutoff-move",
        0,
        (0, 1000),
        "Move from which on the temperature is TempEndgame; 0: none.",
        Sets(|d, n| d.meaning.settings.params.temperature.cutoff_move = n as u32),
    )
    .hidden(),
    Opt::float(
        "TempEndgame",
        "temp-endgame",
        0.0,
        (0.0, 100.0),
        "Temperature after TempCutoffMove, and the least that another falls to.",
        Sets(|d, x| d.meaning.settings.params.temperature.endgame = x as f32),
    )
    .hidden(),
    Opt::float(
        "TempValueCutoff",
        "temp-value-cutoff",
        100.0,
        (0.0, 100.0),
        "Leave out moves that lose more win percentage than this against the most visited one.",
        Sets(|d, x| d.meaning.settings.params.temperature.value_cutoff = x as f32),
    )
    .hidden(),
    Opt::float(
        "TempVisitOffset",
        "temp-visit-offset",
        0.0,
        (-1000.0, 1000.0),
        "Added to the visits before the temperature is applied.",
        Sets(|d, x| d.meaning.settings.params.temperature.visit_offset = x as f32),
    )
    .hidden(),
    Opt::float(
        "DirichletNoiseEpsilon",
        "noise-epsilon",
        0.0,
        (0.0, 1.0),
        "Share of noise in the root's priors.",
        Sets(|d, x| d.meaning.settings.params.noise.epsilon = x as f32),
    )
    .hidden(),
    Opt::float(
        "DirichletNoiseAlpha",
        "noise-alpha",
        0.3,
        (0.0, 1e7),
        "Shape of the noise: the smaller, the fewer moves get most of it.",
        Sets(|d, x| d.meaning.settings.params.noise.alpha = x as f32),
    )
    .hidden(),
    Opt::choice(
        "FinalChoice",
        "final-choice",
        "visits",
        &["visits", "lcb"],
        "The move to play: the one with the most visits, or with the best lower confidence bound.",
        Sets(|d, name| {
            d.chooses_by_lcb = name == "lcb";
            Ok(())
        }),
    ),
    Opt::float(
        "LcbStdevs",
        "lcb-stdevs",
        1.0,
        (0.0, 100.0),
        "Standard deviations from a move's value down to its lower confidence bound.",
        Sets(|d, x| d.meaning.settings.lcb.stdevs = x as f32),
    )
    .hidden(),
    Opt::float(
        "LcbMinVisitShare",
        "lcb-min-visit-share",
        0.15,
        (0.0, 1.0),
        "Share of the most visits that a move must have to be chosen by its bound.",
        Sets(|d, x| d.meaning.settings.lcb.min_visit_share = x as f32),
    )
    .hidden(),
    Opt::switch(
        "ShowStatistics",
        "show-statistics",
        false,
        "After each search, say how many playouts, evaluations, hits, batches and waits there were.",
        Sets(|d, on| d.meaning.output.show_statistics = on),
    ),
    Opt::switch(
        "VerboseMoveStats",
        "verbose-move-stats",
        false,
        "Write the statistics of every root move before bestmove; without it they go to the log file alone, behind #.",
        Sets(|d, on| d.meaning.output.verbose_move_stats = on),
    )
    .short('v'),
    Opt::switch(
        "LogLiveStats",
        "log-live-stats",
        false,
        "Write the statistics of VerboseMoveStats with every info; they go where that says.",
        Sets(|d, on| d.meaning.settings.live_stats = on),
    )
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
        "The part that FpuStrategy takes off the parent's Q, or the fixed value.",
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
    Opt::int(
        "CacheHistoryLength",
        "cache-history-length",
        0,
        (0, 7),
        "Plies in the cache's key.",
        Without("the key has all the plies that the network sees"),
    ),
    Opt::int(
        "MaxCollisionEvents",
        "max-collision-events",
        917,
        (1, 65536),
        "Collisions a batch.",
        Without("MaxCollisionVisits counts, as in Lc0"),
    ),
    Opt::int(
        "MaxCollisionVisits",
        "max-collision-visits",
        80000,
        (1, 100_000_000),
        "Most visits that a batch spends on positions that are being evaluated already; never more than it has \
         positions. Threads with one role each do not heed it: there, the positions in flight become fewer.",
        Sets(|d, n| d.meaning.settings.collisions.most = n as u32),
    ),
    Opt::int(
        "MaxCollisionVisitsScalingStart",
        "max-collision-visits-scaling-start",
        28,
        (1, 100_000),
        "Visits of the root up to which one collision visit is allowed, instead of MaxCollisionVisits.",
        Sets(|d, n| d.meaning.settings.collisions.scaling_start = n as u32),
    ),
    Opt::int(
        "MaxCollisionVisitsScalingEnd",
        "max-collision-visits-scaling-end",
        145_000,
        (0, 100_000_000),
        "Visits of the root from which on all of MaxCollisionVisits are allowed; 0: always.",
        Sets(|d, n| d.meaning.settings.collisions.scaling_end = n as u32),
    ),
    Opt::float(
        "MaxCollisionVisitsScalingPower",
        "max-collision-visits-scaling-power",
        1.25,
        (0.01, 100.0),
        "How late, between MaxCollisionVisitsScalingStart and -End, most of the growth comes.",
        Sets(|d, x| d.meaning.settings.collisions.scaling_power = x as f32),
    ),
    Opt::switch(
        "OutOfOrderEval",
        "out-of-order-eval",
        true,
        "Pass known results to the tree while a batch is gathered.",
        Without("known results always go to the tree at once"),
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
    Opt::switch(
        "SyzygyFastPlay",
        "syzygy-fast-play",
        false,
        "Shortest way by tablebase.",
        Sets(|d, on| d.meaning.settings.syzygy.fast_play = on),
    ),
    Opt::switch(
        "BuiltinEndgames",
        "builtin-endgames",
        true,
        "Know a queen, a rook or a pawn against a king without tablebases. Its results count as tbhits, too.",
        Sets(|d, on| d.meaning.settings.builtin_endgames = on),
    ),
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
        ContemptMode::NAMES,
        "Who has the contempt: the side to move (but nobody in go infinite), one side, or nobody.",
        Sets(|d, name| {
            d.meaning.settings.contempt.mode = ContemptMode::from_name(name).ok_or("no such contempt mode")?;
            Ok(())
        }),
    ),
    Opt::text(
        "Contempt",
        "contempt",
        "",
        "Our rating less the opponent's in Elo, for all or by opponent: NUMBER,NAME=NUMBER,…",
        Sets(|d, list| {
            // Whether the list is valid does not depend on the opponent.
            contempt::elo_of(list, "", 0.0)?;
            d.contempt_list = list.to_string();
            Ok(())
        }),
    ),
    Opt::float(
        "ContemptMaxValue",
        "contempt-max-value",
        420.0,
        (0.0, 10000.0),
        "Most contempt in Elo.",
        Sets(|d, x| d.rescale.max_contempt = x),
    )
    .hidden(),
    Opt::float(
        "WDLCalibrationElo",
        "wdl-calibration-elo",
        0.0,
        (0.0, 10000.0),
        "Our Elo, which draw rate and contempt follow from; 0: the draw rates are given.",
        Sets(|d, x| d.rescale.calibration_elo = x),
    ),
    Opt::float(
        "WDLContemptAttenuation",
        "wdl-contempt-attenuation",
        1.0,
        (-10.0, 10.0),
        "Factor of the contempt's effect.",
        Sets(|d, x| d.rescale.attenuation = x),
    )
    .hidden(),
    Opt::float(
        "WDLMaxS",
        "wdl-max-s",
        1.4,
        (0.0, 10.0),
        "Bound of the scale that W, D and L are taken to have.",
        Sets(|d, x| d.rescale.max_s = x),
    )
    .hidden(),
    Opt::float(
        "WDLEvalObjectivity",
        "wdl-eval-objectivity",
        1.0,
        (0.0, 1.0),
        "How much of the contempt the score leaves out.",
        Sets(|d, x| d.meaning.settings.contempt.objectivity = x),
    ),
    Opt::float(
        "WDLDrawRateTarget",
        "wdl-draw-rate-target",
        0.0,
        (0.0, 0.999),
        "Draw rate of equal positions in the games that are played; 0: as the network has it.",
        Sets(|d, x| d.rescale.draw_rate_target = x),
    )
    .hidden(),
    Opt::float(
        "WDLDrawRateReference",
        "wdl-draw-rate-reference",
        0.5,
        (0.001, 0.999),
        "Draw rate of equal positions that the network has.",
        Sets(|d, x| d.rescale.draw_rate_reference = x),
    ),
    Opt::float(
        "WDLBookExitBias",
        "wdl-book-exit-bias",
        0.65,
        (-2.0, 2.0),
        "Advantage of White in the positions that games begin from: at 1 a win is as likely as not.",
        Sets(|d, x| d.rescale.book_exit_bias = x),
    )
    .hidden(),
    Opt::float(
        "NodesPerSecondLimit",
        "nps-limit",
        0.0,
        (0.0, 1e6),
        "Nodes per second at most; 0: as many as there can be.",
        Sets(|d, x| d.meaning.settings.nps_limit = x),
    ),
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
    Opt::text(
        "UCI_Opponent",
        "",
        "",
        "Who plays the other side: the names in Contempt are looked for in this.",
        Sets(|d, text| {
            d.opponent = text.to_string();
            Ok(())
        }),
    ),
    Opt::float(
        "UCI_RatingAdv",
        "",
        0.0,
        (-10000.0, 10000.0),
        "Our rating less the opponent's in Elo, where Contempt does not say it.",
        Sets(|d, x| d.rating_advantage = x),
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
    Opt::int(
        "MaxPrefetch",
        "max-prefetch",
        32,
        (0, 1024),
        "Positions to evaluate ahead.",
        Without("no position is evaluated before it is searched"),
    ),
    Opt::int(
        "SolidTreeThreshold",
        "solid-tree-threshold",
        100,
        (1, 2_000_000_000),
        "Visits from which on children are laid out together.",
        Without("the tree is always packed, in one piece of memory"),
    ),
];

const TIME: &[Opt] = &[
    Opt::int(
        "KLDGainAverageInterval",
        "kldgain-average-interval",
        100,
        (1, 10_000_000),
        "Nodes between two looks at the gain.",
        Sets(|d, nodes| d.meaning.settings.kld_gain.interval = nodes as u64),
    )
    .hidden(),
    Opt::float(
        "MinimumKLDGainPerNode",
        "minimum-kldgain-per-node",
        0.0,
        (0.0, 1.0),
        "Stop when the visits' distribution changes less than this.",
        Sets(|d, gain| d.meaning.settings.kld_gain.least_per_node = gain),
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
        "Batches before smart pruning may stop a search.",
        Sets(|d, batches| d.meaning.settings.smart_pruning_batches = batches as u64),
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
        "MiB for everything; 0: no such limit. The tree gets what is left, at most Hash; when it is full it is folded and the search goes on. \
         A limit below what the program and its network take can't be kept.",
        Sets(|d, mib| d.meaning.settings.ram_limit_mb = mib as usize),
    ),
    Opt::int(
        "MoveOverheadMs",
        "move-overhead",
        200,
        (0, 100_000_000),
        "Time lost between the engine's answer and the GUI's clock. A `movetime` is shortened by it, too.",
        Sets(|d, ms| d.meaning.settings.move_overhead_ms = ms as u64),
    )
    .alias("Move Overhead"),
    Opt::text(
        "TimeManager",
        "time-manager",
        "smooth",
        "How the clock is shared out: smooth, legacy, alphazero or simple, with (PARAMETER=NUMBER,…) or without.",
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
            let fill = HistoryFill::ALL.into_iter().find(|fill| fill.to_string() == name);
            d.meaning.settings.evaluator.history_fill = fill.unwrap_or_default();
            Ok(())
        }),
    ),
    Opt::text(
        "WeightsFile",
        "weights",
        "small",
        "The network: a file, which is looked for in the working directory and then beside the program, or small or tiny, which are built in.",
        Sets(|d, text| {
            d.meaning.settings.evaluator.weights = backend::weights(text);
            Ok(())
        }),
    )
    .files()
    .short('w'),
    Opt::text(
        "",
        "human-model",
        "",
        "Go, analysis and gtp: a network of KataGo's for human play beside the main one (docs/go.md), looked for as --weights is.",
        Sets(|d, text| {
            d.meaning.human_model = backend::human_model(text);
            Ok(())
        }),
    )
    .files(),
    Opt::text(
        "Hints",
        "hints",
        "auto",
        "Corrections of the network's policy and value, from a look at exchanges, threats and mates in one. A file (fixtures/train/hints.py makes one for a network); \
         auto: the built-in networks have theirs, others have none; off: the network's word alone, as in Lc0.",
        Sets(|d, text| {
            d.meaning.settings.evaluator.hints = backend::hints(text);
            Ok(())
        }),
    ),
    Opt::choice(
        "Backend",
        "backend",
        "auto",
        backend::BACKENDS,
        "What runs the network; auto: a GPU, by OpenCL, if it is measured to be faster than the host (the CPU's cores), the host otherwise. UCI takes the names of Lc0's other backends for \
         auto, or for host if they are for CPUs, and says so.",
        Sets(|d, name| {
            d.meaning.settings.evaluator.backend = backend::kind(name).ok_or("no such backend")?;
            Ok(())
        }),
    )
    .also(backend::ONLY_LC0S)
    .short('b'),
    Opt::text(
        "BackendOptions",
        "backend-opts",
        "",
        "gpu=NUMBER, device=NAME|host (several share the work: gpu=0,device=host), threads=0..128, \
         tiles=true|false (false: the host leaves a processor's AMX alone), mlh=true|false (moves left), \
         policy_head=NAME, value_head=NAME.",
        Sets(|d, text| backend::options(&mut d.meaning.settings.evaluator, text)),
    )
    .short('o'),
    Opt::choice(
        "Precision",
        "precision",
        "fp32",
        &["fp32", "fp16", "int8"],
        "fp16: weights in half precision on an OpenCL device, half the memory, values within 0.005 of fp32's. int8: layers that \
         multiply whole numbers of eight bits, as many as leave policy and value within 0.01 on average, on every backend; the host is faster so with an attention body, \
         slower with a tower of 3x3 convolutions.",
        Sets(|d, name| {
            let precision = [Precision::Fp32, Precision::Fp16, Precision::Int8].into_iter();
            let precision = precision.into_iter().find(|precision| precision.to_string() == name);
            d.meaning.settings.evaluator.precision = precision.ok_or("no such precision")?;
            Ok(())
        }),
    ),
    Opt::int(
        "NNCacheSize",
        "nncache",
        2_000_000,
        (0, 999_999_999),
        "Most evaluations in the cache; 0: no cache.",
        Sets(|d, n| d.meaning.settings.cache.entries = n as usize),
    ),
    Opt::int(
        "NNCacheMb",
        "nncache-mb",
        64,
        (0, 1 << 20),
        "Most MiB of memory for the cache; 0: no cache.",
        Sets(|d, mib| d.meaning.settings.cache.mb = mib as usize),
    ),
];

const ANALYSIS: &[Opt] = &[
    Opt::int(
        "",
        "parallel",
        0,
        (0, 1024),
        "Positions that are searched at the same time, each by --threads; 0: as many as suit the backend.",
        Sets(|d, n| d.meaning.analysis.parallel = n as usize),
    ),
    Opt::int(
        "",
        "max-visits",
        500,
        (1, MOST_VISITS),
        "Visits of a position, where the query does not say.",
        Sets(|d, n| d.meaning.analysis.max_visits = n as u64),
    ),
    Opt::int(
        "",
        "max-playouts",
        0,
        (0, 1 << 50),
        "Visits that a search adds to those of its session's tree; 0: no limit.",
        Sets(|d, n| d.meaning.analysis.max_playouts = n as u64),
    ),
    Opt::float(
        "",
        "max-time",
        0.0,
        (0.0, 1e6),
        "Seconds for a position, where the query does not say; 0: no limit.",
        Sets(|d, x| d.meaning.analysis.max_time = x),
    ),
    Opt::int(
        "",
        "analysis-pv-len",
        15,
        (1, 1000),
        "Moves of a line after its first.",
        Sets(|d, n| d.meaning.analysis.pv_len = n as usize),
    ),
    Opt::float(
        "",
        "root-policy-temperature",
        1.0,
        (0.01, 100.0),
        "Divides the logits at the root, before PolicyTemperature divides them all.",
        Sets(|d, x| d.meaning.analysis.root_policy_temperature = x as f32),
    ),
    Opt::float(
        "",
        "win-loss-utility-factor",
        1.0,
        (0.01, 100.0),
        "Utility of a won game: what exploration and FPU reductions are held against, and the unit of utilities.",
        Sets(|d, x| d.meaning.analysis.win_loss_utility = x as f32),
    ),
    Opt::choice(
        "",
        "report-analysis-winrates-as",
        "SIDETOMOVE",
        &["SIDETOMOVE", "WHITE", "BLACK"],
        "Whose view values are given in.",
        Sets(|d, name| {
            d.meaning.analysis.perspective = match name {
                "WHITE" => Perspective::White,
                "BLACK" => Perspective::Black,
                _ => Perspective::SideToMove,
            };
            Ok(())
        }),
    ),
    Opt::switch(
        "",
        "warn-unused-fields",
        true,
        "Warn of each field of a query that means nothing.",
        Sets(|d, on| d.meaning.analysis.warns = on),
    ),
    Opt::int(
        "",
        "sessions",
        4,
        (1, 1024),
        "Trees of sessions that are kept; they share Hash with those of the other positions.",
        Sets(|d, n| d.meaning.analysis.sessions = n as usize),
    ),
    Opt::int(
        "",
        "queue-mb",
        64,
        (1, 1 << 20),
        "MiB of queries that wait and of answers that nobody has read; beyond that nothing more is read from standard input.",
        Sets(|d, mib| d.meaning.analysis.queue_mb = mib as usize),
    ),
    Opt::int(
        "",
        "line-mb",
        16,
        (1, 1024),
        "Longest line of input in MiB.",
        Sets(|d, mib| d.meaning.analysis.line_mb = mib as usize),
    ),
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
