//! What the search can be told. Names, defaults and meaning are those of Lc0's options: the policy temperature flattens
//! a policy, and has to be 1 where the priors should stay as they come. Only the moves-left utility is off, because not
//! every evaluator knows of moves left. What chance, contempt and LCB are made of stands in
//! [`formula`](crate::formula).

use crate::formula::contempt::Rescale;
use crate::formula::lcb::FinalChoice;
use crate::formula::noise::Dirichlet;
use crate::formula::random::Random;
use crate::formula::temperature::Temperature;

/// What an unvisited move is worth (first play urgency).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Fpu {
    /// The parent's value minus `value · √(sum of the priors visited)`.
    Reduction(f32),
    /// This value.
    Absolute(f32),
}

/// How fast exploration grows: `init + factor · ln((N + base) / base)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cpuct {
    /// `CPuct`.
    pub init: f32,
    /// `CPuctBase`.
    pub base: f32,
    /// `CPuctFactor`.
    pub factor: f32,
}

/// How much a shorter win and a longer loss are worth (`MovesLeft…`).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MovesLeft {
    /// `MovesLeftMaxEffect`: bound of the bonus, in Q.
    pub max_effect: f32,
    /// `MovesLeftThreshold`: |Q| of the parent from which on it counts.
    pub threshold: f32,
    /// `MovesLeftSlope`: Q for each ply that the child is shorter or longer than the parent.
    pub slope: f32,
    /// `MovesLeftConstantFactor`.
    pub constant: f32,
    /// `MovesLeftScaledFactor`.
    pub scaled: f32,
    /// `MovesLeftQuadraticFactor`.
    pub quadratic: f32,
}

/// All parameters of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Params {
    /// Exploration below the root.
    pub cpuct: Cpuct,
    /// Exploration at the root.
    pub cpuct_at_root: Cpuct,
    /// Unvisited moves below the root.
    pub fpu: Fpu,
    /// Unvisited moves at the root.
    pub fpu_at_root: Fpu,
    /// `PolicyTemperature`: divides the logits before the softmax.
    pub policy_temperature: f32,
    /// Noise on the root's priors, when it is evaluated.
    pub noise: Dirichlet,
    /// What a draw is worth to the side to move at the root, in `[-1, 1]`. (`DrawScore` is White's view.)
    pub draw_score: f32,
    /// How the evaluator's values change, seen from the side to move at the root: contempt, another draw rate.
    pub wdl_rescale: Rescale,
    /// `StickyEndgames`: pass proven results on to the parents.
    pub sticky_endgames: bool,
    /// The moves-left utility; `None` without a moves-left head.
    pub moves_left: Option<MovesLeft>,
    /// What makes a root move the one to play.
    pub final_choice: FinalChoice,
    /// How much chance there is in that.
    pub temperature: Temperature,
    /// Seed of the noise and of a choice by chance: equal seeds give equal searches. Whoever plays a game gives each of
    /// its moves another one.
    pub seed: u64,
}

impl Default for MovesLeft {
    fn default() -> Self {
        Self { max_effect: 0.0345, threshold: 0.8, slope: 0.0027, constant: 0.0, scaled: 1.6521, quadratic: -0.6521 }
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
            cpuct_at_root: Cpuct::default(),
            fpu: Fpu::Reduction(0.33),
            fpu_at_root: Fpu::Reduction(0.33),
            policy_temperature: 1.359,
            noise: Dirichlet::default(),
            draw_score: 0.0,
            wdl_rescale: Rescale::default(),
            sticky_endgames: true,
            moves_left: None,
            final_choice: FinalChoice::Visits,
            temperature: Temperature::default(),
            seed: 0,
        }
    }
}

impl Params {
    /// Mixes noise into the priors of the root.
    pub(crate) fn add_noise(&self, policy: &mut [f32]) {
        if !self.noise.is_off() {
            self.noise.mix(policy.iter_mut(), &mut Random::new(self.seed));
        }
    }
}
