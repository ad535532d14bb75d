//! The parameters of a search. Names, defaults and meaning are those of Lc0's options. The policy temperature flattens
//! a policy, and has to be 1 if the priors should stay as they come. Unlike in Lc0 the moves-left utility is off by
//! default, because not every evaluator estimates moves left. The parts about chance, contempt and LCB are in
//! [`formula`](crate::formula).

use super::MAX_ROOT_MOVES;
use crate::formula::contempt::Rescale;
use crate::formula::lcb::FinalChoice;
use crate::formula::noise::Dirichlet;
use crate::formula::random::Random;
use crate::formula::temperature::Temperature;
use crate::formula::weighing::Weighing;
use crate::range::{OutOfRange, Range, check_all};

/// What an unvisited move is worth (first play urgency).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Fpu {
    /// The parent's value minus `value · √(sum of the priors visited)`.
    Reduction(f32),
    /// This value itself.
    Absolute(f32),
}

/// How fast exploration grows: `init + factor · ln((N + base) / base)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cpuct {
    /// `CPuct`, in `[0, 1000000]`.
    pub init: f32,
    /// `CPuctBase`, in visits: from 1 to 1000000000.
    pub base: f32,
    /// `CPuctFactor`, in `[0, 1000000]`.
    pub factor: f32,
}

/// How exploration follows the spread of the values below a node. Exploration is multiplied by `1 + scale · (σ / usual
/// − 1)`. σ is the standard deviation of the outcomes below the node, as
/// [`lcb::variance`](crate::formula::lcb::variance) computes it, with an observation of the usual deviation mixed in
/// (KataGo's `cpuctUtilityStdev…`). For an evaluator that gives a value v a draw probability of 1 − v², it is the
/// deviation of the values themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Deviation {
    /// `cpuctUtilityStdevPrior`: the deviation that leaves exploration unchanged. Above 0.
    pub usual: f32,
    /// `cpuctUtilityStdevPriorWeight`: how many visits the usual deviation counts as.
    pub weight: f32,
    /// `cpuctUtilityStdevScale`, in `[0, 1]`: how far exploration follows the deviation.
    pub scale: f32,
}

/// How much a shorter win and a longer loss are worth (`MovesLeft…`). (The length of a game is estimated by a
/// [`time::MovesLeftEstimator`](crate::time::MovesLeftEstimator).)
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MovesLeft {
    /// `MovesLeftMaxEffect`: limit of the bonus, in units of Q.
    pub max_effect: f32,
    /// `MovesLeftThreshold`: the |Q| of the parent from which on the bonus is given.
    pub threshold: f32,
    /// `MovesLeftSlope`: Q for each ply by which the child's game is shorter or longer than the parent's.
    pub slope: f32,
    /// `MovesLeftConstantFactor`.
    pub constant: f32,
    /// `MovesLeftScaledFactor`.
    pub scaled: f32,
    /// `MovesLeftQuadraticFactor`.
    pub quadratic: f32,
}

/// All parameters of a search. If they come from outside, call [`Params::check`]: a search with values out of range
/// does not panic, but once its scores are not numbers its choice of moves makes no sense.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Params {
    /// Exploration.
    pub cpuct: Cpuct,
    /// Exploration at the root, if it differs (`RootHasOwnCpuctParams`).
    pub cpuct_at_root: Option<Cpuct>,
    /// The value of unvisited moves.
    pub fpu: Fpu,
    /// The value of unvisited moves at the root, if it differs (`FpuStrategyAtRoot`).
    pub fpu_at_root: Option<Fpu>,
    /// First-play urgency starts from a mix of the node's mean and its own evaluation. The mean's share is the sum of
    /// the visited priors to this power (KataGo's `fpuParentWeightByVisitedPolicyPow`). 0: the mean alone.
    pub fpu_parent_power: f32,
    /// How exploration follows the deviation of values; `None`: not at all.
    pub deviation: Option<Deviation>,
    /// What exploration counts: visits, or their weights.
    pub explored: Explored,
    /// The sum of the priors of the root's moves, each of which stays below 2, in `[0, 362]`. It is not 1 if a move
    /// stands for others that are left out, or if priors are flattened and the largest is to keep its size.
    pub root_policy_sum: f32,
    /// `PolicyTemperature`: divides the logits before the softmax. Above 0.
    pub policy_temperature: f32,
    /// Noise on the root's priors, when it is evaluated. A root that [`Search::advance`](super::Search::advance) has
    /// kept gets none: call [`clear`](super::Search::clear) or [`renew_root`](super::Search::renew_root) for that.
    pub noise: Dirichlet,
    /// What a draw is worth to the side to move at the root, in `[-1, 1]`. (`DrawScore` itself is from White's view.)
    pub draw_score: f32,
    /// How the evaluator's values change, seen from the side to move at the root: by contempt, or by another draw rate.
    pub wdl_rescale: Rescale,
    /// `StickyEndgames`: whether proven results are passed on to the parents.
    pub sticky_endgames: bool,
    /// The moves-left utility; `None` if the evaluator does not estimate moves left.
    pub moves_left: Option<MovesLeft>,
    /// When a visit ends at a position that other paths have visited.
    pub catch_up: CatchUp,
    /// How much the visits of each move count in what a node passes on to its parents.
    pub weighing: Weighing,
    /// What makes a root move the one to play.
    pub final_choice: FinalChoice,
    /// How much chance there is in the choice of the move to play.
    pub temperature: Temperature,
    /// Seed of the noise, and, together with the ply, of a choice by chance: equal seeds give equal searches. In a
    /// game, set another seed for each move: otherwise every root of the game gets the same noise. (A root that was
    /// kept gets none, see `noise`.)
    pub seed: u64,
}

/// What exploration counts, for a move and for all moves of its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Explored {
    /// The number of visits.
    #[default]
    Visits,
    /// The total weight of the visits (KataGo's `useUncertainty`). Each visit of a move weighs
    /// [`Value::m`](crate::evaluate::Value::m) / [`Value::WEIGHT_ONE`](crate::evaluate::Value::WEIGHT_ONE). So `m` is
    /// not a number of plies then: there is no moves-left utility, and a host does not answer with
    /// [`Ending::TwoFold`](crate::evaluate::Ending::TwoFold), because its `m` is always taken for a number of plies.
    Weights,
}

/// In a graph a visit may end at a position that other paths have visited, to bring to the edge what they found out.
/// This says when it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CatchUp {
    /// As long as the edge's value differs from the position's (Lc0's graph search).
    #[default]
    Values,
    /// As long as the edge has fewer visits than the position (KataGo's graph search).
    Visits,
}

impl Default for Fpu {
    /// Lc0's `FpuStrategy` and `FpuValue`.
    fn default() -> Self {
        Self::Reduction(0.33)
    }
}

impl Default for MovesLeft {
    fn default() -> Self {
        Self { max_effect: 0.0345, threshold: 0.8, slope: 0.0027, constant: 0.0, scaled: 1.6521, quadratic: -0.6521 }
    }
}

impl Default for Deviation {
    /// The defaults of KataGo's options.
    fn default() -> Self {
        Self { usual: 0.4, weight: 2.0, scale: 0.85 }
    }
}

impl Default for Cpuct {
    fn default() -> Self {
        Self { init: 1.745, base: 38739.0, factor: 3.894 }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            cpuct: Cpuct::default(),
            cpuct_at_root: None,
            fpu: Fpu::default(),
            fpu_at_root: None,
            fpu_parent_power: 0.0,
            deviation: None,
            explored: Explored::default(),
            root_policy_sum: 1.0,
            policy_temperature: 1.359,
            noise: Dirichlet::default(),
            draw_score: 0.0,
            wdl_rescale: Rescale::default(),
            sticky_endgames: true,
            moves_left: None,
            catch_up: CatchUp::default(),
            weighing: Weighing::OFF,
            final_choice: FinalChoice::Visits,
            temperature: Temperature::default(),
            seed: 0,
        }
    }
}

/// How far from 0 a number may be so that every score stays within single precision.
const BOUNDED: Range = Range::Between(-1e6, 1e6, "in [-1000000, 1000000]");
const BOUNDED_POSITIVE: Range = Range::FromZeroTo(1e6, "in [0, 1000000]");
/// The range of what values are divided by. The least number is rounded to single precision, because that is what is
/// checked.
const UNIT: Range = Range::Between(1e-6_f32 as f64, 1e6, "in [0.000001, 1000000]");
const SHARE: Range = Range::FromZeroTo(1.0, "in [0, 1]");
const HUNDRED: Range = Range::FromZeroTo(100.0, "in [0, 100]");
const FINITE: Range = Range::Between(f64::MIN, f64::MAX, "finite");

impl Cpuct {
    fn check(&self, [init, base, factor]: [&'static str; 3]) -> Result<(), OutOfRange> {
        check_all(&[
            (init, self.init.into(), BOUNDED_POSITIVE),
            // Growth can't be measured in less than one visit, and far below one the quotient overflows.
            (base, self.base.into(), Range::Between(1.0, 1e9, "in [1, 1000000000]")),
            (factor, self.factor.into(), BOUNDED_POSITIVE),
        ])
    }
}

impl Fpu {
    /// First play urgency for values within −1 and 1, from one that is meant for utilities up to `most`: a reduction is
    /// divided by that. A fixed value is one of the tree's values already, and stays.
    #[must_use]
    pub fn scaled_down(self, most: f32) -> Self {
        match self {
            Self::Reduction(value) => Self::Reduction(value / most),
            Self::Absolute(value) => Self::Absolute(value),
        }
    }

    fn check(&self, name: &'static str) -> Result<(), OutOfRange> {
        let (Self::Reduction(value) | Self::Absolute(value)) = *self;
        BOUNDED.check(name, value.into())
    }
}

impl Deviation {
    fn check(&self) -> Result<(), OutOfRange> {
        check_all(&[
            ("usual deviation", self.usual.into(), UNIT),
            ("weight of the usual deviation", self.weight.into(), BOUNDED_POSITIVE),
            ("scale of the deviation", self.scale.into(), SHARE),
        ])
    }
}

impl MovesLeft {
    fn check(&self) -> Result<(), OutOfRange> {
        check_all(&[
            ("MovesLeftMaxEffect", self.max_effect.into(), BOUNDED_POSITIVE),
            ("MovesLeftThreshold", self.threshold.into(), BOUNDED),
            ("MovesLeftSlope", self.slope.into(), BOUNDED),
            ("MovesLeftConstantFactor", self.constant.into(), BOUNDED),
            ("MovesLeftScaledFactor", self.scaled.into(), BOUNDED),
            ("MovesLeftQuadraticFactor", self.quadratic.into(), BOUNDED),
        ])
    }
}

impl Params {
    /// Checks every parameter against its range: if all are in range, every score of a search is a finite number.
    ///
    /// # Errors
    /// The first parameter that is out of its range, or not a number.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.cpuct.check(["CPuct", "CPuctBase", "CPuctFactor"])?;
        self.root_cpuct().check(["CPuctAtRoot", "CPuctBaseAtRoot", "CPuctFactorAtRoot"])?;
        self.fpu.check("FpuValue")?;
        self.root_fpu().check("FpuValueAtRoot")?;
        self.moves_left.map_or(Ok(()), |moves_left| moves_left.check())?;
        self.deviation.map_or(Ok(()), |deviation| deviation.check())?;
        check_all(&[
            ("power of the parent's value", self.fpu_parent_power.into(), HUNDRED),
            (
                "sum of the root's policy",
                self.root_policy_sum.into(),
                Range::FromZeroTo(MAX_ROOT_MOVES as f64, "in [0, 362]"),
            ),
            ("PolicyTemperature", self.policy_temperature.into(), Range::Positive),
            ("DirichletNoiseEpsilon", self.noise.epsilon.into(), SHARE),
            ("DirichletNoiseAlpha", self.noise.alpha.into(), Range::Positive),
            ("DrawScore", self.draw_score.into(), Range::Between(-1.0, 1.0, "in [-1, 1]")),
            ("ratio of the WDL rescale", self.wdl_rescale.ratio, Range::Positive),
            ("diff of the WDL rescale", self.wdl_rescale.diff, FINITE),
            ("WDLMaxS", self.wdl_rescale.max_s, Range::NotNegative),
            ("scale of the weighing", self.weighing.prune_scale.into(), Range::NotNegative),
            ("exponent of the weighing", self.weighing.exponent.into(), SHARE),
            ("unit of the weighing", self.weighing.unit.into(), UNIT),
        ])?;
        self.check_choice()
    }

    /// The parameters for values within −1 and 1, from ones that are meant for utilities up to `most` (KataGo's
    /// `winLossUtilityFactor` and its like). The move with the largest Q + U is the same if both are divided by `most`.
    #[must_use]
    pub fn scaled_down(mut self, most: f32) -> Self {
        for cpuct in [&mut self.cpuct].into_iter().chain(&mut self.cpuct_at_root) {
            cpuct.init /= most;
            cpuct.factor /= most;
        }
        self.fpu = self.fpu.scaled_down(most);
        self.fpu_at_root = self.fpu_at_root.map(|fpu| fpu.scaled_down(most));
        self.weighing.prune_scale /= most;
        self.weighing.unit /= most;
        if let Some(deviation) = &mut self.deviation {
            deviation.usual /= most;
        }
        self
    }

    /// The exploration parameters at the root.
    pub fn root_cpuct(&self) -> &Cpuct {
        self.cpuct_at_root.as_ref().unwrap_or(&self.cpuct)
    }

    /// The value of an unvisited move at the root.
    pub fn root_fpu(&self) -> Fpu {
        self.fpu_at_root.unwrap_or(self.fpu)
    }

    /// True if each visit counts one, and both the value of unvisited moves and exploration are derived from the plain
    /// mean and from priors whose sum is 1, as in Lc0.
    pub(super) fn counts_alike(&self) -> bool {
        let by_visits = self.explored == Explored::Visits && self.deviation.is_none();
        let by_mean = self.weighing.is_off() && self.fpu_parent_power == 0.0 && self.root_policy_sum == 1.0;
        by_visits && by_mean
    }

    /// Checks the parameters of the choice of the move to play.
    fn check_choice(&self) -> Result<(), OutOfRange> {
        if let FinalChoice::Lcb(lcb) = self.final_choice {
            check_all(&[
                ("LcbStdevs", lcb.stdevs.into(), HUNDRED),
                ("LcbMinVisitShare", lcb.min_visit_share.into(), SHARE),
            ])?;
        }
        check_all(&[
            ("Temperature", self.temperature.start.into(), Range::NotNegative),
            ("TempEndgame", self.temperature.endgame.into(), Range::NotNegative),
            ("TempValueCutoff", self.temperature.value_cutoff.into(), HUNDRED),
            ("TempVisitOffset", self.temperature.visit_offset.into(), Range::Between(-1e3, 1e3, "in [-1000, 1000]")),
        ])
    }

    /// Mixes noise into the priors of the root.
    pub(crate) fn add_noise(&self, policy: &mut [f32]) {
        if !self.noise.is_off() {
            self.noise.mix(policy.iter_mut(), &mut Random::new(self.seed));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::formula::lcb::Lcb;

    #[test]
    fn the_defaults_are_in_range() {
        assert_eq!(Params::default().check(), Ok(()));
        assert_eq!(Params { moves_left: Some(MovesLeft::default()), ..Params::default() }.check(), Ok(()));
    }

    #[test]
    fn utilities_are_scaled_down_with_all_that_is_held_against_them() {
        let deviation = Deviation { usual: 0.4, weight: 2.0, scale: 0.85 };
        let params = Params {
            cpuct_at_root: Some(Cpuct { init: 3.0, ..Cpuct::default() }),
            fpu: Fpu::Reduction(0.5),
            fpu_at_root: Some(Fpu::Absolute(-1.0)),
            deviation: Some(deviation),
            weighing: Weighing { prune_scale: 0.5, exponent: 0.25, unit: 1.0 },
            ..Params::default()
        };
        let expected = Params {
            cpuct: Cpuct { init: params.cpuct.init / 2.0, factor: params.cpuct.factor / 2.0, ..params.cpuct },
            cpuct_at_root: Some(Cpuct { init: 1.5, factor: params.cpuct.factor / 2.0, ..Cpuct::default() }),
            fpu: Fpu::Reduction(0.25),
            deviation: Some(Deviation { usual: 0.2, ..deviation }),
            weighing: Weighing { prune_scale: 0.25, exponent: 0.25, unit: 0.5 },
            ..params
        };
        assert_eq!(params.scaled_down(2.0), expected);
    }

    #[test]
    fn who_is_out_of_range_is_named() {
        let refused = |change: fn(&mut Params)| {
            let mut params = Params { moves_left: Some(MovesLeft::default()), ..Params::default() };
            params.final_choice = FinalChoice::Lcb(Default::default());
            change(&mut params);
            params.check().unwrap_err().name
        };
        assert_eq!(refused(|p| p.cpuct.init = f32::NAN), "CPuct");
        assert_eq!(refused(|p| p.cpuct.init = 1e30), "CPuct");
        assert_eq!(refused(|p| p.cpuct.base = 1e-30), "CPuctBase");
        assert_eq!(refused(|p| p.cpuct.factor = -1.0), "CPuctFactor");
        assert_eq!(refused(|p| p.cpuct_at_root = Some(Cpuct { base: 0.0, ..Cpuct::default() })), "CPuctBaseAtRoot");
        assert_eq!(refused(|p| p.fpu = Fpu::Absolute(f32::INFINITY)), "FpuValue");
        assert_eq!(refused(|p| p.fpu_at_root = Some(Fpu::Reduction(f32::NAN))), "FpuValueAtRoot");
        assert_eq!(refused(|p| p.policy_temperature = 0.0), "PolicyTemperature");
        // What is divided by them would be beyond single precision.
        assert_eq!(
            refused(|p| p.deviation = Some(Deviation { usual: 1e-40, weight: 0.0, scale: 1.0 })),
            "usual deviation"
        );
        assert_eq!(refused(|p| p.weighing.unit = 1e-40), "unit of the weighing");
        let unit = |unit| {
            let mut params = Params::default();
            params.weighing.unit = unit;
            params.check().is_ok()
        };
        assert_eq!([1e-6, 1e6, 9.9e-7, 1.1e6].map(unit), [true, true, false, false]);
        assert_eq!(refused(|p| p.noise.epsilon = 1.5), "DirichletNoiseEpsilon");
        assert_eq!(refused(|p| p.noise.alpha = 0.0), "DirichletNoiseAlpha");
        assert_eq!(refused(|p| p.draw_score = -1.5), "DrawScore");
        assert_eq!(refused(|p| p.wdl_rescale.max_s = f64::NAN), "WDLMaxS");
        assert_eq!(refused(|p| p.moves_left = Some(MovesLeft { slope: 1e30, ..Default::default() })), "MovesLeftSlope");
        assert_eq!(refused(|p| p.temperature.start = -1.0), "Temperature");
        assert_eq!(refused(|p| p.wdl_rescale.diff = f64::INFINITY), "diff of the WDL rescale");
        // Below 0 it would leave out the move with the most visits, and leave those that lose.
        assert_eq!(refused(|p| p.temperature.value_cutoff = -1.0), "TempValueCutoff");
        assert_eq!(refused(|p| p.temperature.value_cutoff = 100.5), "TempValueCutoff");
        assert_eq!(refused(|p| p.temperature.visit_offset = 1e30), "TempVisitOffset");
        let lcb = |stdevs, min_visit_share| {
            let final_choice = FinalChoice::Lcb(Lcb { stdevs, min_visit_share });
            Params { final_choice, ..Params::default() }.check().map_err(|error| std::format!("{error}"))
        };
        assert_eq!(lcb(f32::NAN, 0.5), Err("LcbStdevs must be in [0, 100], not NaN".into()));
        assert_eq!(lcb(-1.0, 0.5), Err("LcbStdevs must be in [0, 100], not -1".into()));
        assert_eq!(lcb(1.0, 1.5), Err("LcbMinVisitShare must be in [0, 1], not 1.5".into()));
        assert_eq!(lcb(100.0, 1.0), Ok(()));
    }

    /// The ends of the ranges together.
    #[test]
    fn scores_are_finite_in_range() {
        use crate::search::puct;
        let steep = Cpuct { init: 1e6, base: 1.0, factor: 1e6 };
        assert!(puct::u(2.0, puct::exploration(&steep, u32::MAX), 0).is_finite());
        assert!(puct::fpu(Fpu::Reduction(-1e6), 1.0, 2.0).is_finite());
        let far = MovesLeft { max_effect: 1e6, threshold: 0.0, slope: 1e6, constant: 1e6, scaled: 1e6, quadratic: 1e6 };
        let winning = crate::evaluate::Value { wl: 1.0, d: 0.0, m: 2047.0 };
        let utility = puct::MovesLeftUtility::of(Some(far), winning).unwrap();
        assert!(utility.of_child(1.0, 0.0).is_finite());
    }
}
