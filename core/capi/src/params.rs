//! The parameters of a search, as a C host sets them.

use crate::handle::{input, output};
use crate::status::{OncillaStatus, attempt};
use oncilla_core::formula::contempt::Rescale;
use oncilla_core::formula::lcb::{FinalChoice, Lcb};
use oncilla_core::formula::noise::Dirichlet;
use oncilla_core::formula::temperature::Temperature;
use oncilla_core::formula::weighing::Weighing;
use oncilla_core::search::{CatchUp, Cpuct, Deviation, Explored, Fpu, MovesLeft, Params};

/// `OncillaFpu.kind`: an unvisited move is worth its parent's value minus value times the root of the visited priors'
/// sum.
pub const ONCILLA_FPU_REDUCTION: u32 = 0;
/// `OncillaFpu.kind`: an unvisited move is worth this value.
pub const ONCILLA_FPU_ABSOLUTE: u32 = 1;

/// `OncillaParams.explored`: the number of visits.
pub const ONCILLA_EXPLORED_VISITS: u32 = 0;
/// `OncillaParams.explored`: the total weight of the visits. The moves left of a value are then 8 times the weight of a
/// visit, and there is no moves-left utility (KataGo's useUncertainty). The verdict ONCILLA_TWO_FOLD is not for such a
/// search, because it takes them for plies; use ONCILLA_SCORED.
pub const ONCILLA_EXPLORED_WEIGHTS: u32 = 1;
/// `OncillaParams.catch_up`: as long as the edge's value differs from the position's (Lc0's graph search).
pub const ONCILLA_CATCH_UP_VALUES: u32 = 0;
/// `OncillaParams.catch_up`: as long as the edge has fewer visits than the position (KataGo's graph search).
pub const ONCILLA_CATCH_UP_VISITS: u32 = 1;

/// How fast exploration grows with N: init + factor * ln((N + base) / base).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaCpuct {
    /// CPuct, in [0, 1000000].
    pub init: f32,
    /// CPuctBase, in visits: in [1, 1000000000].
    pub base: f32,
    /// CPuctFactor, in [0, 1000000].
    pub factor: f32,
}

/// What an unvisited move is worth (first play urgency).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaFpu {
    /// ONCILLA_FPU_REDUCTION or ONCILLA_FPU_ABSOLUTE.
    pub kind: u32,
    /// The number that `kind` refers to, in [-1000000, 1000000].
    pub value: f32,
}

/// How much a shorter win and a longer loss are worth (MovesLeft...). If it is on, each number has to be in [-1000000,
/// 1000000].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaMovesLeftUtility {
    /// Not 0 if the evaluator estimates moves left.
    pub on: u32,
    /// MovesLeftMaxEffect: limit of the bonus, in units of Q; not negative.
    pub max_effect: f32,
    /// MovesLeftThreshold: the |Q| of the parent from which on the bonus is given.
    pub threshold: f32,
    /// MovesLeftSlope: Q for each ply by which the child's game is shorter or longer than the parent's.
    pub slope: f32,
    /// MovesLeftConstantFactor.
    pub constant: f32,
    /// MovesLeftScaledFactor.
    pub scaled: f32,
    /// MovesLeftQuadraticFactor.
    pub quadratic: f32,
}

/// Noise on the root's priors, when it is evaluated.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaDirichlet {
    /// DirichletNoiseEpsilon: the noise's share of the new priors, in [0, 1]; 0 means no noise.
    pub epsilon: f32,
    /// DirichletNoiseAlpha: the smaller it is, the fewer moves get most of the noise. Above 0.
    pub alpha: f32,
}

/// Playing by chance, for oncilla_move_to_play (Temperature and Temp...).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaTemperature {
    /// The temperature at the first move; at 0 the best move is always played.
    pub start: f32,
    /// Over how many moves the temperature falls to 0; 0: it does not fall.
    pub decay_moves: u32,
    /// How many moves are played before it begins to fall.
    pub decay_delay_moves: u32,
    /// The move, counted from 1, from which on `endgame` is used instead; 0: never.
    pub cutoff_move: u32,
    /// The temperature from the cutoff on, and the least to which a decaying one falls.
    pub endgame: f32,
    /// Moves whose winning chances are lower than the most visited move's by more than this are left out, in percent,
    /// in [0, 100].
    pub value_cutoff: f32,
    /// Added to each move's visits, in [-1000, 1000].
    pub visit_offset: f32,
}

/// The final choice by a lower confidence bound, for oncilla_move_to_play.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaLcb {
    /// Not 0: the largest bound decides. 0: the most visits decide.
    pub on: u32,
    /// How many standard deviations below its mean a move's bound is, in [0, 100].
    pub stdevs: f32,
    /// How many visits a move must have, as a share of the most visited move's, in [0, 1].
    pub min_visit_share: f32,
}

/// How exploration follows the values below a node (KataGo's cpuctUtilityStdev...): exploration is multiplied by 1 +
/// scale * (deviation / usual - 1).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaDeviation {
    /// Not 0 if exploration follows them.
    pub on: u32,
    /// The deviation that leaves exploration unchanged, in [0.000001, 1000000].
    pub usual: f32,
    /// How many visits the usual deviation counts as, in [0, 1000000].
    pub weight: f32,
    /// How far exploration follows the deviation, in [0, 1].
    pub scale: f32,
}

/// How much the visits of each move count in what a node passes on to its parents (KataGo's useNoisePruning and
/// valueWeightExponent). If prune_scale and exponent are 0, each visit counts one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaWeighing {
    /// noisePruneUtilityScale, in the unit of the tree's values; not negative. 0: nothing is pruned.
    pub prune_scale: f32,
    /// valueWeightExponent, in [0, 1]. 0: good moves are not favoured.
    pub exponent: f32,
    /// How much a utility of 1 is in the tree's values, in [0.000001, 1000000].
    pub unit: f32,
}

/// How the evaluator's values change, seen from the side to move at the root: by contempt, or by another draw rate.
/// With a ratio of 1 and a diff of 0 they stay as they are.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaWdlRescale {
    /// The width of the distribution of outcomes is multiplied by this: below 1 there are more draws. Above 0.
    pub ratio: f64,
    /// The mean grows by the square of the width times this: any finite number.
    pub diff: f64,
    /// WDLMaxS: a larger width is reduced to this one. Not negative.
    pub max_s: f64,
}

/// All parameters of a search; names, defaults and meaning are those of Lc0's options, or of KataGo's where Lc0 has
/// none. Begin with oncilla_params_default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaParams {
    /// Exploration.
    pub cpuct: OncillaCpuct,
    /// Not 0: exploration at the root is cpuct_at_root. 0: it is cpuct, as at all nodes.
    pub root_has_own_cpuct: u32,
    /// Exploration at the root.
    pub cpuct_at_root: OncillaCpuct,
    /// The value of unvisited moves.
    pub fpu: OncillaFpu,
    /// Not 0: unvisited moves at the root are worth what fpu_at_root says. 0: they are worth what fpu says.
    pub root_has_own_fpu: u32,
    /// The value of unvisited moves at the root.
    pub fpu_at_root: OncillaFpu,
    /// From which value that of an unvisited move is derived. The mean of the node gets as its share the sum of the
    /// visited priors to this power; the node's own evaluation gets the rest (KataGo's
    /// fpuParentWeightByVisitedPolicyPow). In [0, 100]; 0: the mean alone.
    pub fpu_parent_power: f32,
    /// How exploration follows the deviation of values.
    pub deviation: OncillaDeviation,
    /// What exploration counts: ONCILLA_EXPLORED_VISITS or ONCILLA_EXPLORED_WEIGHTS.
    pub explored: u32,
    /// When a visit ends at a position that other paths of a graph have visited: ONCILLA_CATCH_UP_VALUES or
    /// ONCILLA_CATCH_UP_VISITS.
    pub catch_up: u32,
    /// The sum of the priors of the root's moves, in [0, 362].
    pub root_policy_sum: f32,
    /// How much the visits of each move count.
    pub weighing: OncillaWeighing,
    /// How the evaluator's values change.
    pub wdl_rescale: OncillaWdlRescale,
    /// Divides the logits before the softmax; above 0. Use 1 if the priors should stay as they come.
    pub policy_temperature: f32,
    /// Noise on the root's priors, when it is evaluated. A root that oncilla_advance has kept gets none: call
    /// oncilla_clear for that.
    pub noise: OncillaDirichlet,
    /// What a draw is worth to the side to move at the root, in [-1, 1].
    pub draw_score: f32,
    /// Not 0: proven results are passed on to the parents.
    pub sticky_endgames: u32,
    /// The moves-left utility.
    pub moves_left: OncillaMovesLeftUtility,
    /// How the move to play is chosen among the root's moves.
    pub lcb: OncillaLcb,
    /// How much chance there is in that choice.
    pub temperature: OncillaTemperature,
    /// Seed of the noise, and, together with the ply, of a choice by chance: equal seeds give equal searches. Set
    /// another seed for each move of a game (oncilla_set_params): otherwise every root of the game gets the same noise.
    /// (A root that was kept gets none, see `noise`.)
    pub seed: u64,
}

impl From<&Params> for OncillaParams {
    fn from(params: &Params) -> Self {
        let moves_left = params.moves_left.unwrap_or_default();
        let deviation = params.deviation.unwrap_or_default();
        let lcb = match params.final_choice {
            FinalChoice::Lcb(lcb) => lcb,
            FinalChoice::Visits => Lcb::default(),
        };
        Self {
            cpuct: params.cpuct.into(),
            root_has_own_cpuct: params.cpuct_at_root.is_some().into(),
            cpuct_at_root: (*params.root_cpuct()).into(),
            fpu: params.fpu.into(),
            root_has_own_fpu: params.fpu_at_root.is_some().into(),
            fpu_at_root: params.root_fpu().into(),
            fpu_parent_power: params.fpu_parent_power,
            deviation: OncillaDeviation {
                on: params.deviation.is_some().into(),
                usual: deviation.usual,
                weight: deviation.weight,
                scale: deviation.scale,
            },
            explored: match params.explored {
                Explored::Visits => ONCILLA_EXPLORED_VISITS,
                Explored::Weights => ONCILLA_EXPLORED_WEIGHTS,
            },
            catch_up: match params.catch_up {
                CatchUp::Values => ONCILLA_CATCH_UP_VALUES,
                CatchUp::Visits => ONCILLA_CATCH_UP_VISITS,
            },
            root_policy_sum: params.root_policy_sum,
            weighing: OncillaWeighing {
                prune_scale: params.weighing.prune_scale,
                exponent: params.weighing.exponent,
                unit: params.weighing.unit,
            },
            wdl_rescale: OncillaWdlRescale {
                ratio: params.wdl_rescale.ratio,
                diff: params.wdl_rescale.diff,
                max_s: params.wdl_rescale.max_s,
            },
            policy_temperature: params.policy_temperature,
            noise: OncillaDirichlet { epsilon: params.noise.epsilon, alpha: params.noise.alpha },
            draw_score: params.draw_score,
            sticky_endgames: params.sticky_endgames.into(),
            moves_left: OncillaMovesLeftUtility {
                on: params.moves_left.is_some().into(),
                max_effect: moves_left.max_effect,
                threshold: moves_left.threshold,
                slope: moves_left.slope,
                constant: moves_left.constant,
                scaled: moves_left.scaled,
                quadratic: moves_left.quadratic,
            },
            lcb: OncillaLcb {
                on: (params.final_choice != FinalChoice::Visits).into(),
                stdevs: lcb.stdevs,
                min_visit_share: lcb.min_visit_share,
            },
            temperature: OncillaTemperature {
                start: params.temperature.start,
                decay_moves: params.temperature.decay_moves,
                decay_delay_moves: params.temperature.decay_delay_moves,
                cutoff_move: params.temperature.cutoff_move,
                endgame: params.temperature.endgame,
                value_cutoff: params.temperature.value_cutoff,
                visit_offset: params.temperature.visit_offset,
            },
            seed: params.seed,
        }
    }
}

impl From<Cpuct> for OncillaCpuct {
    fn from(Cpuct { init, base, factor }: Cpuct) -> Self {
        Self { init, base, factor }
    }
}

impl From<Fpu> for OncillaFpu {
    fn from(fpu: Fpu) -> Self {
        match fpu {
            Fpu::Reduction(value) => Self { kind: ONCILLA_FPU_REDUCTION, value },
            Fpu::Absolute(value) => Self { kind: ONCILLA_FPU_ABSOLUTE, value },
        }
    }
}

impl From<OncillaCpuct> for Cpuct {
    fn from(OncillaCpuct { init, base, factor }: OncillaCpuct) -> Self {
        Self { init, base, factor }
    }
}

impl OncillaFpu {
    fn strategy(self) -> Result<Fpu, OncillaStatus> {
        match self.kind {
            ONCILLA_FPU_REDUCTION => Ok(Fpu::Reduction(self.value)),
            ONCILLA_FPU_ABSOLUTE => Ok(Fpu::Absolute(self.value)),
            _ => Err(OncillaStatus::OncillaBadChoice),
        }
    }
}

impl OncillaMovesLeftUtility {
    fn utility(self) -> Option<MovesLeft> {
        let Self { on, max_effect, threshold, slope, constant, scaled, quadratic } = self;
        (on != 0).then_some(MovesLeft { max_effect, threshold, slope, constant, scaled, quadratic })
    }
}

impl OncillaDeviation {
    fn deviation(self) -> Option<Deviation> {
        let Self { on, usual, weight, scale } = self;
        (on != 0).then_some(Deviation { usual, weight, scale })
    }
}

impl From<OncillaWeighing> for Weighing {
    fn from(OncillaWeighing { prune_scale, exponent, unit }: OncillaWeighing) -> Self {
        Self { prune_scale, exponent, unit }
    }
}

impl From<OncillaWdlRescale> for Rescale {
    fn from(OncillaWdlRescale { ratio, diff, max_s }: OncillaWdlRescale) -> Self {
        Self { ratio, diff, max_s }
    }
}

impl OncillaLcb {
    fn final_choice(self) -> FinalChoice {
        let Self { on, stdevs, min_visit_share } = self;
        if on == 0 { FinalChoice::Visits } else { FinalChoice::Lcb(Lcb { stdevs, min_visit_share }) }
    }
}

impl From<OncillaTemperature> for Temperature {
    fn from(temperature: OncillaTemperature) -> Self {
        let OncillaTemperature {
            start,
            decay_moves,
            decay_delay_moves,
            cutoff_move,
            endgame,
            value_cutoff,
            visit_offset,
        } = temperature;
        Self { start, decay_moves, decay_delay_moves, cutoff_move, endgame, value_cutoff, visit_offset }
    }
}

impl OncillaParams {
    /// These parameters for the search, if each is in its range.
    pub fn checked(&self) -> Result<Params, OncillaStatus> {
        let params = Params {
            cpuct: self.cpuct.into(),
            cpuct_at_root: (self.root_has_own_cpuct != 0).then_some(self.cpuct_at_root.into()),
            fpu: self.fpu.strategy()?,
            fpu_at_root: Some(self.fpu_at_root.strategy()?).filter(|_| self.root_has_own_fpu != 0),
            fpu_parent_power: self.fpu_parent_power,
            deviation: self.deviation.deviation(),
            explored: match self.explored {
                ONCILLA_EXPLORED_VISITS => Explored::Visits,
                ONCILLA_EXPLORED_WEIGHTS => Explored::Weights,
                _ => return Err(OncillaStatus::OncillaBadChoice),
            },
            catch_up: match self.catch_up {
                ONCILLA_CATCH_UP_VALUES => CatchUp::Values,
                ONCILLA_CATCH_UP_VISITS => CatchUp::Visits,
                _ => return Err(OncillaStatus::OncillaBadChoice),
            },
            root_policy_sum: self.root_policy_sum,
            weighing: self.weighing.into(),
            wdl_rescale: self.wdl_rescale.into(),
            policy_temperature: self.policy_temperature,
            noise: Dirichlet { epsilon: self.noise.epsilon, alpha: self.noise.alpha },
            draw_score: self.draw_score,
            sticky_endgames: self.sticky_endgames != 0,
            moves_left: self.moves_left.utility(),
            final_choice: self.lcb.final_choice(),
            temperature: self.temperature.into(),
            seed: self.seed,
        };
        params.check().map_err(|_| OncillaStatus::OncillaBadNumber)?;
        Ok(params)
    }
}

/// The parameters at a pointer, or the defaults if it is NULL.
///
/// # Safety
/// As for [`input`].
pub unsafe fn params_or_default(params: *const OncillaParams) -> Result<Params, OncillaStatus> {
    if params.is_null() {
        return Ok(Params::default());
    }
    // SAFETY: the caller's contract is this function's.
    unsafe { input(params)? }.checked()
}

/// `params` gets Lc0's defaults, except that the moves-left utility is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_params_default(params: *mut OncillaParams) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { output(params)? }.set((&Params::default()).into());
        Ok(())
    })
}

/// Returns ONCILLA_OK if every parameter can be used, ONCILLA_BAD_NUMBER or ONCILLA_BAD_CHOICE if one can't.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_params_check(params: *const OncillaParams) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { input(params)? }.checked()?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field is another one than its default.
    #[test]
    fn each_parameter_arrives() {
        let Params { temperature, .. } = Params::default();
        let params = Params {
            cpuct: Cpuct { init: 1.5, base: 500.0, factor: 2.5 },
            cpuct_at_root: Some(Cpuct { init: 2.5, base: 600.0, factor: 1.5 }),
            fpu: Fpu::Absolute(-0.25),
            fpu_at_root: Some(Fpu::Reduction(0.75)),
            fpu_parent_power: 2.0,
            deviation: Some(Deviation { usual: 0.5, weight: 3.0, scale: 0.25 }),
            explored: Explored::Weights,
            root_policy_sum: 2.0,
            policy_temperature: 1.25,
            noise: Dirichlet { epsilon: 0.25, alpha: 0.5 },
            draw_score: -0.5,
            wdl_rescale: Rescale { ratio: 0.5, diff: 0.25, max_s: 1.0 },
            sticky_endgames: false,
            moves_left: Some(MovesLeft { slope: 0.5, ..MovesLeft::default() }),
            catch_up: CatchUp::Visits,
            weighing: Weighing { prune_scale: 0.5, exponent: 0.25, unit: 0.75 },
            final_choice: FinalChoice::Lcb(Lcb { stdevs: 3.0, min_visit_share: 0.25 }),
            temperature: Temperature { start: 1.0, endgame: 0.5, cutoff_move: 20, ..temperature },
            seed: 7,
        };
        assert_eq!(OncillaParams::from(&params).checked(), Ok(params));
        assert_eq!(OncillaParams::from(&Params::default()).checked(), Ok(Params::default()));
    }
}
