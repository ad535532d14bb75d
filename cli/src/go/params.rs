//! KataGo's parameters of the search, by their names in its configuration files. They are in one table, from which
//! everything about them is made. `params!` makes a table; the parameters that only a player needs have their own
//! (`crate::gtp`).

use std::fmt::Display;
use std::ops::RangeInclusive;

use oncilla_go::Color;
use oncilla_go::profile::Profile;

use super::vertex;
use crate::options::{Meaning, Perspective, Typed};

/// A row of the table, for a person.
#[derive(Clone, Debug)]
pub struct Row {
    /// KataGo's name.
    pub name: &'static str,
    /// The value if the user does not set one; empty if there is none.
    pub default: String,
    /// The values that are taken, in words.
    pub values: String,
    /// What the parameter does.
    pub meaning: &'static str,
}

/// Whether there is a parameter of some name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// There is, and what was asked for is done.
    Yes,
    /// There is none, and nothing is done.
    No,
}

macro_rules! params {
    (
        $(#[doc = $about:literal])+
        pub struct $Params:ident;
        $($(#[doc = $meaning:literal])+ $field:ident: $kind:ty = $default:expr, in $range:expr, $name:literal;)+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $Params {
            $($(#[doc = $meaning])+ pub $field: $kind,)+
        }

        impl Default for $Params {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $Params {
            /// The names of all of them.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// All of them, for a person.
            pub fn table() -> Vec<Row> {
                let defaults = Self::default();
                vec![$(Row {
                    name: $name,
                    default: defaults.$field.write(),
                    values: <$kind>::values(&$range),
                    meaning: concat!($($meaning),+).trim_start(),
                },)+]
            }

            /// The value of the one of that name, as it is read; `None` for a name that is not in the table.
            pub fn get(&self, name: &str) -> Option<String> {
                Some(match name {
                    $($name => self.$field.write(),)+
                    _ => return None,
                })
            }

            fn set_here(&mut self, name: &str, value: &str) -> Result<Known, String> {
                match name {
                    $($name => self.$field = <$kind>::read(name, value, &$range)?,)+
                    _ => return Ok(Known::No),
                }
                Ok(Known::Yes)
            }
        }
    };
}

pub(crate) use params;

params! {
    /// How a position is searched, and from whose view the results are told.
    pub struct Params;
    /// Visits of the root at most.
    max_visits: u64 = 500, in 1..=1 << 50, "maxVisits";
    /// Visits at most that a search adds.
    max_playouts: u64 = 1 << 50, in 1..=1 << 50, "maxPlayouts";
    /// Seconds at most.
    max_time: f64 = 1e20, in 0.0..=1e20, "maxTime";
    /// Moves of a line after its first.
    analysis_pv_len: usize = 15, in 1..=1000, "analysisPVLen";
    /// From whose view values are given.
    report_analysis_winrates_as: Perspective = Perspective::SideToMove, in ANYTHING, "reportAnalysisWinratesAs";
    /// Utility of a won game.
    win_loss_utility_factor: f64 = 1.0, in 0.0..=1.0, "winLossUtilityFactor";
    /// The most utility that the score has, compared with an even one.
    static_score_utility_factor: f64 = 0.1, in 0.0..=1.0, "staticScoreUtilityFactor";
    /// The most utility that the score has, compared with the expected one.
    dynamic_score_utility_factor: f64 = 0.3, in 0.0..=1.0, "dynamicScoreUtilityFactor";
    /// How far the expected score is moved towards an even one: 1 is all the way.
    dynamic_score_center_zero_weight: f64 = 0.2, in 0.0..=1.0, "dynamicScoreCenterZeroWeight";
    /// The width of the dynamic utility in points, as a multiple of the board's side.
    dynamic_score_center_scale: f64 = 0.75, in 0.2..=5.0, "dynamicScoreCenterScale";
    /// White's utility of a game without a result.
    no_result_utility_for_white: f64 = 0.0, in -1.0..=1.0, "noResultUtilityForWhite";
    /// How many games won by White a draw counts as.
    draw_equivalent_wins_for_white: f64 = 0.5, in 0.0..=1.0, "drawEquivalentWinsForWhite";
    /// Weight of exploration.
    cpuct_exploration: f64 = 1.0, in 0.0..=10.0, "cpuctExploration";
    /// By how much the weight of exploration grows with the logarithm of the visits.
    cpuct_exploration_log: f64 = 0.45, in 0.0..=10.0, "cpuctExplorationLog";
    /// Visits with which that growth begins.
    cpuct_exploration_base: f64 = 500.0, in 10.0..=100_000.0, "cpuctExplorationBase";
    /// By how much a move without visits counts as worse than its parent, once moves with all of the prior have visits.
    fpu_reduction_max: f64 = 0.2, in 0.0..=2.0, "fpuReductionMax";
    /// The same at the root.
    root_fpu_reduction_max: f64 = 0.1, in 0.0..=2.0, "rootFpuReductionMax";
    /// Whether a move without visits follows the search's value only as far as moves with much of the prior have visits,
    /// and the network's value for the rest; false: the search's value alone.
    fpu_parent_weight_by_visited_policy: bool = true, in ANYTHING, "fpuParentWeightByVisitedPolicy";
    /// The exponent of the visited part of the prior in that.
    fpu_parent_weight_power: f64 = 2.0, in 0.0..=5.0, "fpuParentWeightByVisitedPolicyPow";
    /// Whether a worse move counts less if it has more visits than its prior explains.
    use_noise_pruning: bool = true, in ANYTHING, "useNoisePruning";
    /// A move that is worse by this utility has most of such visits not counted.
    noise_prune_utility_scale: f64 = 0.15, in 0.001..=10.0, "noisePruneUtilityScale";
    /// How much more the visits of good moves count in a position's mean.
    value_weight_exponent: f64 = 0.25, in 0.0..=1.0, "valueWeightExponent";
    /// How far an evaluation is corrected by the network's errors in other positions that the same move in the same
    /// local pattern led to.
    subtree_value_bias_factor: f64 = 0.45, in 0.0..=1.0, "subtreeValueBiasFactor";
    /// The exponent of the visits below a position in its weight for that.
    subtree_value_bias_weight_exponent: f64 = 0.85, in 0.0..=1.0, "subtreeValueBiasWeightExponent";
    /// The part of a position's contribution that is forgotten when the position is dropped from the tree.
    subtree_value_bias_free_prop: f64 = 0.8, in 0.0..=1.0, "subtreeValueBiasFreeProp";
    /// Whether an evaluation counts less where the network is unsure, with networks that say how unsure they are.
    use_uncertainty: bool = true, in ANYTHING, "useUncertainty";
    /// An evaluation's weight is this, divided by how far its utility is expected to move.
    uncertainty_coeff: f64 = 0.25, in 0.0001..=1.0, "uncertaintyCoeff";
    /// The exponent of that movement.
    uncertainty_exponent: f64 = 1.0, in 0.0..=2.0, "uncertaintyExponent";
    /// The largest weight, which a game that has ended has.
    uncertainty_max_weight: f64 = 8.0, in 1.0..=100.0, "uncertaintyMaxWeight";
    /// The standard deviation of utilities at which exploration has its normal weight.
    cpuct_utility_stdev_prior: f64 = 0.4, in 0.0..=10.0, "cpuctUtilityStdevPrior";
    /// The number of visits as which this deviation counts.
    cpuct_utility_stdev_prior_weight: f64 = 2.0, in 0.0..=100.0, "cpuctUtilityStdevPriorWeight";
    /// How far the weight of exploration follows the deviation that was found: 1 is all the way.
    cpuct_utility_stdev_scale: f64 = 0.85, in 0.0..=1.0, "cpuctUtilityStdevScale";
    /// Divides the logits of the root.
    root_policy_temperature: f64 = 1.0, in 0.01..=100.0, "rootPolicyTemperature";
    /// Divides all logits.
    nn_policy_temperature: f64 = 1.0, in 0.01..=5.0, "nnPolicyTemperature";
    /// How much wider than its priors the root is searched, by flatter priors and by chance.
    wide_root_noise: f64 = 0.04, in 0.0..=5.0, "wideRootNoise";
    /// Whether the network is shown no moves that were played before the position.
    ignore_pre_root_history: bool = true, in ANYTHING, "ignorePreRootHistory";
    /// Whether the network is shown no moves that were played before any position.
    ignore_all_history: bool = false, in ANYTHING, "ignoreAllHistory";
    /// Whether the network is kept from knowing, at the root, that a pass would end the game.
    conservative_pass: bool = true, in ANYTHING, "conservativePass";
    /// Whether passes get no more than 95 % of the priors, and the end of the game is hidden from the network where it
    /// would not be won.
    enable_passing_hacks: bool = true, in ANYTHING, "enablePassingHacks";
    /// The network plays as if one player searched 2 to this power times as much as the other.
    playout_doubling_advantage: f64 = 0.0, in -3.0..=3.0, "playoutDoublingAdvantage";
    /// The player with that advantage; none: the player to move.
    playout_doubling_advantage_pla: Option<Color> = None, in ANYTHING, "playoutDoublingAdvantagePla";
    /// Whose play is imitated, with a network for human play.
    human_profile: Option<Profile> = None, in ANYTHING, "humanSLProfile";
    /// Part of the playouts whose first move is chosen by the policy of the network for human play beside the main one,
    /// and whose visits the root does not count.
    human_root_explore_weightless: f64 = 0.0, in 0.0..=1.0, "humanSLRootExploreProbWeightless";
    /// Part of the playouts whose first move is chosen so, and whose visits the root counts.
    human_root_explore_weightful: f64 = 0.0, in 0.0..=1.0, "humanSLRootExploreProbWeightful";
    /// Weight of exploration in the choice of such a move.
    human_cpuct_exploration: f64 = 1.0, in 0.0..=1000.0, "humanSLCpuctExploration";
    /// By how much that weight grows with the square root of the visits.
    human_cpuct_permanent: f64 = 0.0, in 0.0..=1000.0, "humanSLCpuctPermanent";
    /// How much of a network's optimistic policy is used below the root.
    policy_optimism: f64 = 1.0, in 0.0..=1.0, "policyOptimism";
    /// The same at the root.
    root_policy_optimism: f64 = 0.2, in 0.0..=1.0, "rootPolicyOptimism";
    /// The number of symmetries in which the root is evaluated.
    root_num_symmetries_to_sample: usize = 1, in 1..=8, "rootNumSymmetriesToSample";
    /// Whether of root moves that are mirror images only one is searched.
    root_symmetry_pruning: bool = true, in ANYTHING, "rootSymmetryPruning";
    /// The points that a move costs where everything is settled. A pass costs a part of them where it is better to fill
    /// up first.
    root_ending_bonus_points: f64 = 0.5, in -1.0..=1.0, "rootEndingBonusPoints";
    /// Whether nothing is played where all is alive once the opponent has passed four times in a row.
    root_prune_useless_moves: bool = true, in ANYTHING, "rootPruneUselessMoves";
    /// Whether under territory rules a pass waits as long as some other move is about as good.
    fill_dame_before_pass: bool = false, in ANYTHING, "fillDameBeforePass";
    /// Whether the best move is the one with the best lower bound, among those with visits enough.
    use_lcb_for_selection: bool = true, in ANYTHING, "useLcbForSelection";
    /// Standard deviations that lower bounds are below the average.
    lcb_stdevs: f64 = 5.0, in 1.0..=12.0, "lcbStdevs";
    /// The visits that are enough for that, as a share of those of the move with the most.
    min_visit_prop_for_lcb: f64 = 0.15, in 0.0..=1.0, "minVisitPropForLCB";
    /// Whether Black's moves in a row at the beginning count as handicap stones.
    black_run_is_handicap: bool = true, in ANYTHING, "assumeMultipleStartingBlackMovesAreHandicap";
    /// Whether each field of a query that means nothing gets a warning.
    warn_unused_fields: bool = true, in ANYTHING, "warnUnusedFields";
}

/// Rows that hold for the whole program: a query can't change them.
const OF_THE_PROGRAM: [&str; 2] = ["assumeMultipleStartingBlackMovesAreHandicap", "warnUnusedFields"];

/// KataGo's parameters for logs, devices, threads, caches, clocks and the choice of a move to play, which are not in
/// the table. They don't change an analysis, so a client that sets them makes no mistake.
const OF_NO_SEARCH: [&str; 58] = [
    "analysisIgnorePreRootHistory",
    "analysisWideRootNoise",
    "chosenMoveTemperature",
    "chosenMoveTemperatureEarly",
    "chosenMoveTemperatureHalflife",
    "chosenMoveTemperatureOnlyBelowProb",
    "cudaUseFP16",
    "cudaUseNHWC",
    "endgameTurnTimeDecay",
    "evalCacheMinVisits",
    "forDeterministicTesting",
    "homeDataDir",
    "humanSLChosenMoveIgnorePass",
    "humanSLChosenMovePiklLambda",
    "lagBuffer",
    "logAllRequests",
    "logAllResponses",
    "logDir",
    "logDirDated",
    "logErrorsAndWarnings",
    "logFile",
    "logSearchInfo",
    "logTimeStamp",
    "logToStderr",
    "logToStdout",
    "maxBoardSizeForNNBuffer",
    "maxBoardXSizeForNNBuffer",
    "maxBoardYSizeForNNBuffer",
    "maxPlayoutsPondering",
    "maxTimePondering",
    "maxVisitsPondering",
    "metalUseFP16",
    "midgameTimeFactor",
    "midgameTurnPeakTime",
    "minPlayoutsPerThread",
    "mutexPoolSize",
    "nnCacheSizePowerOfTwo",
    "nnMaxBatchSize",
    "nnMutexPoolSizePowerOfTwo",
    "nodeTableShardsPowerOfTwo",
    "numAnalysisThreads",
    "numEigenThreadsPerModel",
    "numNNServerThreadsPerModel",
    "numSearchThreads",
    "numSearchThreadsPerAnalysisThread",
    "numVirtualLossesPerThread",
    "obviousMovesPolicyEntropyTolerance",
    "obviousMovesPolicySurpriseTolerance",
    "obviousMovesTimeFactor",
    "openclReTunePerBoardSize",
    "openclUseFP16",
    "overallocateTimeFactor",
    "requireMaxBoardSize",
    "rootDirichletNoiseTotalConcentration",
    "rootDirichletNoiseWeight",
    "treeReuseCarryOverTimeFactor",
    "trtTransformerNHWC",
    "trtUseFP16",
];

/// Rows of [`OF_NO_SEARCH`] that KataGo reads only in files for its GTP engine: a client that has them in a query has
/// mistaken them for `wideRootNoise` and `ignorePreRootHistory`.
const OF_GTP: [&str; 2] = ["analysisIgnorePreRootHistory", "analysisWideRootNoise"];

/// Parameters of KataGo's search that are not in the table, with the value with which it does what is done here. With
/// another value KataGo's analysis changes, and ours does not.
const LACKING: [(&str, &str); 29] = [
    ("antiMirror", "false"),
    ("avoidMYTDaggerHack", "false"),
    ("avoidRepeatedPatternUtility", "0"),
    ("chosenMovePrune", "1"),
    ("chosenMoveSubtract", "0"),
    ("enableMorePassingHacks", "false"),
    ("fpuLossProp", "0"),
    ("fpuParentWeight", "0"),
    ("fpuUseParentAverage", "true"),
    ("futileVisitsThreshold", "0"),
    ("genmoveAntiMirror", "false"),
    ("graphSearchCatchUpLeakProb", "0"),
    ("graphSearchRepBound", ""),
    ("humanSLChosenMoveProp", "0"),
    ("humanSLOppExploreProbWeightful", "0"),
    ("humanSLOppExploreProbWeightless", "0"),
    ("humanSLPlaExploreProbWeightful", "0"),
    ("humanSLPlaExploreProbWeightless", "0"),
    ("nnRandSeed", ""),
    ("nnRandomize", "false"),
    ("noisePruningCap", "1e50"),
    ("preventCleanupPhase", "true"),
    ("rootDesiredPerChildVisitsCoeff", "0"),
    ("rootFpuLossProp", "0"),
    ("rootNoiseEnabled", "false"),
    ("rootPolicyTemperatureEarly", "1"),
    ("useEvalCache", "false"),
    ("useGraphSearch", "true"),
    ("useNonBuggyLcb", "true"),
];

impl Params {
    /// These parameters, changed by what was given under KataGo's names and then by the program's own options.
    ///
    /// # Errors
    /// A parameter of KataGo's with a value that it does not take.
    pub fn of(mut self, typed: &Typed, meaning: &Meaning) -> Result<Self, String> {
        for (name, value) in typed.of_katago() {
            self.set(name, value)?;
        }
        self.take_flags(typed, meaning);
        Ok(self)
    }

    /// Takes what was given by flags of our own, which count for more than files.
    fn take_flags(&mut self, typed: &Typed, meaning: &Meaning) {
        let analysis = &meaning.analysis;
        let mut take = |flag, take: &dyn Fn(&mut Self)| {
            if typed.has_own(flag) {
                take(self);
            }
        };
        let playouts = if analysis.max_playouts == 0 { u64::MAX } else { analysis.max_playouts };
        let seconds = if analysis.max_time == 0.0 { f64::INFINITY } else { analysis.max_time };
        take("max-visits", &|params| params.max_visits = analysis.max_visits);
        take("max-playouts", &|params| params.max_playouts = playouts);
        take("max-time", &|params| params.max_time = seconds);
        take("analysis-pv-len", &|params| params.analysis_pv_len = analysis.pv_len);
        take("root-policy-temperature", &|params| {
            params.root_policy_temperature = analysis.root_policy_temperature.into();
        });
        take("win-loss-utility-factor", &|params| params.win_loss_utility_factor = analysis.win_loss_utility.into());
        take("report-analysis-winrates-as", &|params| params.report_analysis_winrates_as = analysis.perspective);
        take("warn-unused-fields", &|params| params.warn_unused_fields = analysis.warns);
    }

    /// Sets the parameter of this name, if KataGo has one.
    ///
    /// # Errors
    /// One line in KataGo's words: the parameter does not take this value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Known, String> {
        if OF_NO_SEARCH.contains(&name) || as_here(name).is_some() {
            return Ok(Known::Yes);
        }
        self.set_here(name, value)
    }

    /// Whether KataGo has a parameter of this name.
    pub fn has(name: &str) -> bool {
        Self::default().set(name, "") != Ok(Known::No)
    }

    /// Whether this is a parameter of KataGo's search that ours has not: some of its values have no effect here.
    pub fn may_lack(name: &str) -> bool {
        as_here(name).is_some()
    }

    /// Whether KataGo's search would do something with this value that ours does not.
    pub fn lacks(name: &str, value: &str) -> bool {
        as_here(name).is_some_and(|here| !is_same(here, value))
    }

    /// Whether the user need not be warned that what was given under a name of KataGo's is not used.
    pub fn heeds(typed: &Typed, name: &str) -> bool {
        let given = typed.of_katago().iter().rev().find(|(other, _)| other == name);
        Self::has(name) && !given.is_some_and(|(name, value)| Self::lacks(name, value))
    }

    /// Like [`Params::set`], for one query: it ignores what holds for the whole program, and does not know the
    /// parameters that are only for KataGo's GTP engine.
    ///
    /// # Errors
    /// Like [`Params::set`].
    pub fn set_for_query(&mut self, name: &str, value: &str) -> Result<Known, String> {
        match name {
            _ if OF_THE_PROGRAM.contains(&name) => Ok(Known::Yes),
            _ if OF_GTP.contains(&name) => Ok(Known::No),
            _ => self.set(name, value),
        }
    }
}

/// The value of a parameter that is [`LACKING`] with which KataGo does what is done here.
fn as_here(name: &str) -> Option<&'static str> {
    LACKING.iter().find(|(lacking, _)| *lacking == name).map(|(_, here)| *here)
}

/// Whether two values are the same, no matter how they are written.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    let numbers = one.parse::<f64>().ok().zip(other.parse::<f64>().ok());
    numbers.map_or_else(|| one.eq_ignore_ascii_case(other), |(one, other)| one == other)
}

/// The range of types that have none.
pub(crate) const ANYTHING: () = ();

/// A type of parameters.
pub trait Kind: Sized {
    /// The type that says which values are taken.
    type Range;

    /// Reads a value.
    ///
    /// # Errors
    /// One line in KataGo's words.
    fn read(name: &str, text: &str, range: &Self::Range) -> Result<Self, String>;

    /// Writes the value in a form that [`Kind::read`] takes.
    fn write(&self) -> String;

    /// The values that are taken, in words.
    fn values(range: &Self::Range) -> String;
}

impl Kind for bool {
    type Range = ();

    fn read(name: &str, text: &str, (): &()) -> Result<Self, String> {
        let word = text.trim().to_ascii_lowercase();
        word.parse().map_err(|_| unparsed(name, text, "bool"))
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn values((): &()) -> String {
        "`true`, `false`".to_string()
    }
}

impl Kind for u64 {
    type Range = RangeInclusive<u64>;

    fn read(name: &str, text: &str, range: &Self::Range) -> Result<Self, String> {
        let number: i128 = text.trim().parse().map_err(|_| unparsed(name, text, "int64_t"))?;
        let number = u64::try_from(number).ok();
        number.filter(|number| range.contains(number)).ok_or_else(|| beyond(name, range))
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn values(range: &Self::Range) -> String {
        from_to(range)
    }
}

impl Kind for usize {
    type Range = RangeInclusive<usize>;

    fn read(name: &str, text: &str, range: &Self::Range) -> Result<Self, String> {
        let number: i128 = text.trim().parse().map_err(|_| unparsed(name, text, "int"))?;
        let number = usize::try_from(number).ok();
        number.filter(|number| range.contains(number)).ok_or_else(|| beyond(name, range))
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn values(range: &Self::Range) -> String {
        from_to(range)
    }
}

impl Kind for f64 {
    type Range = RangeInclusive<f64>;

    fn read(name: &str, text: &str, range: &Self::Range) -> Result<Self, String> {
        let number: f64 = text.trim().parse().map_err(|_| unparsed(name, text, "double"))?;
        // NaN is in no range.
        if range.contains(&number) { Ok(number) } else { Err(beyond(name, range)) }
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn values(range: &Self::Range) -> String {
        from_to(range)
    }
}

impl Kind for Perspective {
    type Range = ();

    fn read(name: &str, text: &str, (): &()) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "b" | "black" => Ok(Perspective::Black),
            "w" | "white" => Ok(Perspective::White),
            "sidetomove" => Ok(Perspective::SideToMove),
            _ => Err(format!("Could not parse config value for {name}: {text}")),
        }
    }

    fn write(&self) -> String {
        let word = match self {
            Perspective::Black => "BLACK",
            Perspective::White => "WHITE",
            Perspective::SideToMove => "SIDETOMOVE",
        };
        word.to_string()
    }

    fn values((): &()) -> String {
        "`BLACK`, `WHITE`, `SIDETOMOVE`".to_string()
    }
}

impl Kind for Option<Color> {
    type Range = ();

    fn read(name: &str, text: &str, (): &()) -> Result<Self, String> {
        let color = vertex::player(text.trim());
        color.map(Some).ok_or_else(|| format!("Could not parse player in field {name}, should be BLACK or WHITE"))
    }

    fn write(&self) -> String {
        self.map_or("", |color| if color == Color::White { "WHITE" } else { "BLACK" }).to_string()
    }

    fn values((): &()) -> String {
        "`BLACK`, `WHITE`".to_string()
    }
}

impl Kind for Option<Profile> {
    type Range = ();

    fn read(_: &str, text: &str, (): &()) -> Result<Self, String> {
        match text.trim() {
            // These are KataGo's ways to say that there is none.
            "" | "_" | "\"\"" => Ok(None),
            name => {
                Profile::from_name(name).map(Some).ok_or_else(|| format!("Unknown human SL network profile: {name}"))
            }
        }
    }

    fn write(&self) -> String {
        self.map_or(String::new(), |profile| profile.to_string())
    }

    fn values((): &()) -> String {
        "a profile, such as `rank_5k`, or `_`".to_string()
    }
}

fn unparsed(name: &str, text: &str, kind: &str) -> String {
    format!("Could not parse '{text}' as {kind} for key '{name}'")
}

fn beyond(name: &str, range: &RangeInclusive<impl Display>) -> String {
    format!("Key '{name}' must be in the range {}", from_to(range))
}

fn from_to(range: &RangeInclusive<impl Display>) -> String {
    format!("{} to {}", range.start(), range.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn set(name: &str, value: &str) -> Result<(Params, Known), String> {
        let mut params = Params::default();
        params.set(name, value).map(|known| (params, known))
    }

    #[test]
    fn every_row_is_set_by_its_name() {
        for row in Params::table() {
            let changed = |value| set(row.name, value).ok().filter(|(params, _)| *params != Params::default());
            assert!(
                ["false", "true", "3", "0.6", "30", "black", "rank_3d"].into_iter().find_map(changed).is_some(),
                "{}",
                row.name
            );
            assert!(set(row.name, "x").is_err(), "{}", row.name);
        }
    }

    #[test]
    fn names_stand_in_one_place() {
        let lacking = LACKING.map(|(name, _)| name);
        let table = Params::NAMES.iter().copied();
        let names: Vec<&str> = table.chain(OF_NO_SEARCH).chain(lacking).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(OF_THE_PROGRAM.iter().all(|name| names.contains(name)));
        assert!(OF_NO_SEARCH.is_sorted() && lacking.is_sorted());
        assert_eq!(set("noSuchParam", "1"), Ok((Params::default(), Known::No)));
        assert_eq!(set("antiMirror", "true"), Ok((Params::default(), Known::Yes)));
    }

    #[test]
    fn what_changes_katagos_search_alone_is_known() {
        for (name, here) in LACKING {
            assert!(Params::has(name) && !Params::lacks(name, here) && Params::lacks(name, "17"), "{name}");
        }
        assert!(!Params::lacks("rootNoiseEnabled", " False") && Params::lacks("rootNoiseEnabled", "true"));
        assert!(!Params::lacks("noisePruningCap", "100e48") && Params::lacks("useGraphSearch", "false"));
        for name in OF_NO_SEARCH.into_iter().chain(["noSuchParam", "maxVisits"]) {
            assert!(!Params::lacks(name, "17"), "{name}");
        }
    }

    #[test]
    fn values_are_checked() {
        let error = |name: &str, value: &str| set(name, value).unwrap_err();
        assert_eq!(error("cpuctExploration", "-5"), "Key 'cpuctExploration' must be in the range 0 to 10");
        assert_eq!(error("cpuctExploration", "abc"), "Could not parse 'abc' as double for key 'cpuctExploration'");
        assert_eq!(error("conservativePass", "maybe"), "Could not parse 'maybe' as bool for key 'conservativePass'");
        assert_eq!(error("maxVisits", "0"), "Key 'maxVisits' must be in the range 1 to 1125899906842624");
        assert_eq!(error("maxVisits", "5.5"), "Could not parse '5.5' as int64_t for key 'maxVisits'");
        for text in ["nan", "inf", "-inf", "1e999"] {
            assert!(error("maxTime", text).contains("range"), "{text}");
        }
        for text in ["rank_10d", "3d", "preaz_3d_5", "proyear_2024"] {
            assert_eq!(error("humanSLProfile", text), format!("Unknown human SL network profile: {text}"));
        }
    }

    #[test]
    fn a_profile_may_be_none() {
        let mut params = Params::default();
        for (text, written) in [(" rank_3d_5k ", "rank_3d_5k"), ("_", ""), ("preaz_1k", "preaz_1k"), ("\"\"", "")] {
            assert_eq!(params.set("humanSLProfile", text), Ok(Known::Yes));
            assert_eq!(params.get("humanSLProfile").as_deref(), Some(written));
        }
        assert_eq!(params, Params::default());
    }

    /// Every parameter that can be set is documented.
    #[test]
    fn the_page_about_go_has_every_parameter() {
        let page = include_str!("../../../docs/go.md");
        for name in Params::NAMES {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
        for (name, _) in LACKING {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }

    /// The example has every row: with its default, or behind a `#` with another value if the default is nothing.
    #[test]
    fn the_example_configuration_has_the_defaults() {
        let text = include_str!("../../../fixtures/analysis/analysis_example_go.cfg");
        let pairs = |line: &'static str| line.split_once(" = ");
        let mut names = BTreeSet::new();
        for (name, value) in text.lines().filter(|line| !line.starts_with('#')).filter_map(pairs) {
            assert_eq!(set(name, value), Ok((Params::default(), Known::Yes)), "{name} = {value}");
            assert_eq!(Params::default().get(name).as_deref(), Some(value));
            assert!(names.insert(name), "{name} twice");
        }
        let shown = text.lines().filter_map(|line| pairs(line.strip_prefix("# ")?));
        names.extend(shown.map(|(name, _)| name));
        Params::NAMES.iter().for_each(|name| assert!(names.contains(name), "{name}"));
    }

    #[test]
    fn a_query_does_not_change_the_program() {
        let mut params = Params::default();
        for name in OF_THE_PROGRAM {
            assert_eq!(params.set_for_query(name, "false"), Ok(Known::Yes));
        }
        assert_eq!(params, Params::default());
        assert_eq!(params.set_for_query("ignorePreRootHistory", "False"), Ok(Known::Yes));
        assert!(!params.ignore_pre_root_history);
    }

    #[test]
    fn what_katago_reads_for_gtp_alone_is_unknown_in_a_query() {
        for name in OF_GTP {
            assert!(Params::has(name), "{name} may stand in a file");
            assert_eq!(Params::default().set_for_query(name, "0"), Ok(Known::No), "{name}");
        }
    }
}
