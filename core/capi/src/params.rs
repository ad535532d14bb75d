//! The parameters of a search, as a C host sets them.

use crate::handle::{input, output};
use crate::status::{OncillaStatus, attempt};
use oncilla_core::formula::lcb::{FinalChoice, Lcb};
use oncilla_core::formula::noise::Dirichlet;
use oncilla_core::formula::temperature::Temperature;
use oncilla_core::search::{Cpuct, Fpu, MovesLeft, Params};

/// `OncillaFpu.kind`: an unvisited move is worth its parent's value minus value times the root of the visited priors' sum.
pub const ONCILLA_FPU_REDUCTION: u32 = 0;
/// `OncillaFpu.kind`: an unvisited move is worth this value.
pub const ONCILLA_FPU_ABSOLUTE: u32 = 1;

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
    /// What it says, in [-1000000, 1000000].
    pub value: f32,
}

/// How much a shorter win and a longer loss are worth (MovesLeft...). Where it is on, each number is in [-1000000, 1000000].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaMovesLeftUtility {
    /// Not 0 where the evaluator knows of moves left.
    pub on: u32,
    /// MovesLeftMaxEffect: bound of the bonus, in Q; not negative.
    pub max_effect: f32,
    /// MovesLeftThreshold: |Q| of the parent from which on it counts.
    pub threshold: f32,
    /// MovesLeftSlope: Q for each ply that the child is shorter or longer than the parent.
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
    /// DirichletNoiseEpsilon: the noise's share of the new priors, in [0, 1]; 0 is no noise.
    pub epsilon: f32,
    /// DirichletNoiseAlpha: the smaller, the fewer moves get most of the noise. Above 0.
    pub alpha: f32,
}

/// Playing by chance, for oncilla_move_to_play (Temperature and Temp...).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaTemperature {
    /// Of the first move; 0 always plays the best one.
    pub start: f32,
    /// Moves in which it falls to 0; 0: it does not fall.
    pub decay_moves: u32,
    /// Moves before it begins to fall.
    pub decay_delay_moves: u32,
    /// The move, counted from 1, from which on `endgame` counts instead; 0: never.
    pub cutoff_move: u32,
    /// From the cutoff on, and the least to which another one falls.
    pub endgame: f32,
    /// Moves that lose more of the win percentage than this against the most visited one are left out, in hundredths, in
    /// [0, 100].
    pub value_cutoff: f32,
    /// Added to the visits, in [-1000, 1000].
    pub visit_offset: f32,
}

/// The final choice by a lower confidence bound, for oncilla_move_to_play.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaLcb {
    /// Not 0: the largest bound decides. 0: the most visits.
    pub on: u32,
    /// How many standard deviations below its mean a move is taken, in [0, 100].
    pub stdevs: f32,
    /// The share of the most visits that a move must have, in [0, 1].
    pub min_visit_share: f32,
}

/// All parameters of a search; names, defaults and meaning are those of Lc0's options. Begin with
/// oncilla_params_default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaParams {
    /// Exploration below the root.
    pub cpuct: OncillaCpuct,
    /// Exploration at the root.
    pub cpuct_at_root: OncillaCpuct,
    /// Unvisited moves below the root.
    pub fpu: OncillaFpu,
    /// Unvisited moves at the root.
    pub fpu_at_root: OncillaFpu,
    /// Divides the logits before the softmax; above 0. 1 where the priors should stay as they come.
    pub policy_temperature: f32,
    /// Noise on the root's priors.
    pub noise: OncillaDirichlet,
    /// What a draw is worth to the side to move at the root, in [-1, 1].
    pub draw_score: f32,
    /// Not 0: proven results are passed on to the parents.
    pub sticky_endgames: u32,
    /// The moves-left utility.
    pub moves_left: OncillaMovesLeftUtility,
    /// What makes a root move the one to play.
    pub lcb: OncillaLcb,
    /// How much chance there is in that.
    pub temperature: OncillaTemperature,
    /// Seed of the noise, and with the ply of a choice by chance: equal seeds give equal searches. Give each move of a game
    /// another one (oncilla_set_params): else every root of the game gets the same noise.
    pub seed: u64,
}

impl From<&Params> for OncillaParams {
    fn from(params: &Params) -> Self {
        let moves_left = params.moves_left.unwrap_or_default();
        let lcb = match params.final_choice {
            FinalChoice::Lcb(lcb) => lcb,
            FinalChoice::Visits => Lcb::default(),
        };
        Self {
            cpuct: params.cpuct.into(),
            cpuct_at_root: params.cpuct_at_root.into(),
            fpu: params.fpu.into(),
            fpu_at_root: params.fpu_at_root.into(),
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
    /// The parameters, if each is in its range.
    pub fn checked(&self) -> Result<Params, OncillaStatus> {
        let params = Params {
            cpuct: self.cpuct.into(),
            cpuct_at_root: self.cpuct_at_root.into(),
            fpu: self.fpu.strategy()?,
            fpu_at_root: self.fpu_at_root.strategy()?,
            policy_temperature: self.policy_temperature,
            noise: Dirichlet { epsilon: self.noise.epsilon, alpha: self.noise.alpha },
            draw_score: self.draw_score,
            sticky_endgames: self.sticky_endgames != 0,
            moves_left: self.moves_left.utility(),
            final_choice: self.lcb.final_choice(),
            temperature: self.temperature.into(),
            seed: self.seed,
            ..Params::default()
        };
        params.check().map_err(|_| OncillaStatus::OncillaBadNumber)?;
        Ok(params)
    }
}

/// The parameters that a NULL stands for.
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

/// Lc0's defaults, but for the moves-left utility, which is off.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_params_default(params: *mut OncillaParams) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { output(params)? }.set((&Params::default()).into());
        Ok(())
    })
}

/// ONCILLA_OK if every parameter can be used; ONCILLA_BAD_NUMBER or ONCILLA_BAD_CHOICE if one can't.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_params_check(params: *const OncillaParams) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { input(params)? }.checked()?;
        Ok(())
    })
}
