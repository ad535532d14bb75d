//! The search plan that follows from parameters.

use super::query::Query;
use crate::go::bias::Correction;
use crate::go::utility::Factors;
use crate::go::{Allowed, HumanExploration, Params, Plan, PolicyRules, Question, Restrictions, Seen, Uncertainty};
use oncilla_core::formula::noise::Dirichlet;
use oncilla_core::formula::weighing::Weighing;
use oncilla_core::search::{CatchUp, Cpuct, Deviation, Explored, Fpu, Params as CoreParams};
use oncilla_go::planes;
use std::sync::Arc;

/// The bound of a pass's prior in KataGo, if it has one.
const MOST_PASS: f32 = 0.95;

/// Deviations are divided by the usual one, which may be 0 in KataGo's files.
const LEAST_DEVIATION: f64 = 0.001;

impl Query {
    /// How the query is searched, with batches of at most `batch` positions and `notes_bytes` bytes of notes.
    pub fn plan(self: &Arc<Self>, batch: usize, notes_bytes: usize) -> Plan {
        let plan = self.params.plan(batch, notes_bytes);
        Plan { keeps_ownership: self.wanted.any_ownership(), ..plan.with(&self.restrictions, self.allowed()) }
    }

    fn allowed(self: &Arc<Self>) -> Option<Allowed> {
        let query = Arc::clone(self);
        Some(Arc::new(move |color, depth, mv| query.restrictions.allows(color, depth, mv)))
    }
}

impl Plan {
    /// The plan with moves left out: `allowed` says the same as `restrictions`.
    pub(crate) fn with(self, restrictions: &Restrictions, allowed: Option<Allowed>) -> Self {
        if restrictions.is_empty() {
            return self;
        }
        // A move that is forbidden below the root need not be forbidden after a mirrored move.
        let prunes_symmetric = self.prunes_symmetric && !restrictions.reach_below_root();
        Self { allowed, prunes_symmetric, ..self }
    }
}

impl Params {
    /// How a position is searched if all its moves are allowed and no ownership is wanted.
    pub(crate) fn plan(&self, batch: usize, notes_bytes: usize) -> Plan {
        let params = self;
        let factors = Factors {
            win_loss: params.win_loss_utility_factor,
            no_result: params.no_result_utility_for_white,
            static_score: params.static_score_utility_factor,
            dynamic_score: params.dynamic_score_utility_factor,
            centre_zero_weight: params.dynamic_score_center_zero_weight,
            centre_scale: params.dynamic_score_center_scale,
        };
        let policy = PolicyRules {
            temperature: params.nn_policy_temperature as f32,
            optimism: params.policy_optimism as f32,
            most_pass: if params.enable_passing_hacks { MOST_PASS } else { 1.0 },
        };
        let advantage = params.playout_doubling_advantage as f32;
        let planes = planes::Options {
            playout_doubling_advantage: advantage,
            passing_hacks: params.enable_passing_hacks,
            draw_wins: params.draw_equivalent_wins_for_white as f32,
            ..planes::Options::default()
        };
        Plan {
            params: self.core_params().scaled_down(factors.most() as f32),
            factors,
            correction: Correction {
                factor: params.subtree_value_bias_factor,
                exponent: params.subtree_value_bias_weight_exponent,
                free: params.subtree_value_bias_free_prop,
            },
            uncertainty: params.use_uncertainty.then_some(Uncertainty {
                coefficient: params.uncertainty_coeff,
                exponent: params.uncertainty_exponent,
                most: params.uncertainty_max_weight,
            }),
            question: Question { planes, policy, profile: params.human_profile, ..Question::default() },
            advantage_of: params.playout_doubling_advantage_pla,
            root_optimism: params.root_policy_optimism as f32,
            human: None,
            human_exploration: (params.human_root_explore > 0.0).then_some(HumanExploration {
                part: params.human_root_explore,
                constant: params.human_cpuct_exploration,
                growth: params.human_cpuct_permanent,
            }),
            history: match (params.ignore_all_history, params.ignore_pre_root_history) {
                (true, _) => Seen::Nothing,
                (false, true) => Seen::BelowRoot,
                (false, false) => Seen::All,
            },
            conservative_pass: params.conservative_pass,
            root_symmetries: params.root_num_symmetries_to_sample,
            root_temperature: params.root_policy_temperature as f32,
            // KataGo adds noise to utilities, too. Here nothing is left to chance.
            root_flattening: (4.0 * params.wide_root_noise + 1.0) as f32,
            prunes_symmetric: params.root_symmetry_pruning,
            ending_bonus: params.root_ending_bonus_points,
            prunes_useless: params.root_prune_useless_moves,
            keeps_ownership: false,
            notes_bytes,
            batch,
            allowed: None,
        }
    }

    /// Exploration by utilities that are scaled as in KataGo.
    pub(super) fn cpuct(&self) -> Cpuct {
        Cpuct {
            init: self.cpuct_exploration as f32,
            base: self.cpuct_exploration_base as f32,
            factor: self.cpuct_exploration_log as f32,
        }
    }

    /// How exploration follows the deviation of utilities that are scaled as in KataGo.
    pub(super) fn deviation(&self) -> Option<Deviation> {
        (self.cpuct_utility_stdev_scale > 0.0).then_some(Deviation {
            usual: self.cpuct_utility_stdev_prior.max(LEAST_DEVIATION) as f32,
            weight: self.cpuct_utility_stdev_prior_weight as f32,
            scale: self.cpuct_utility_stdev_scale as f32,
        })
    }

    /// The core's parameters for utilities that are scaled as in KataGo.
    fn core_params(&self) -> CoreParams {
        let params = self;
        CoreParams {
            cpuct: self.cpuct(),
            fpu: Fpu::Reduction(params.fpu_reduction_max as f32),
            fpu_at_root: Some(Fpu::Reduction(params.root_fpu_reduction_max as f32)),
            fpu_parent_power: if params.fpu_parent_weight_by_visited_policy {
                params.fpu_parent_weight_power as f32
            } else {
                0.0
            },
            deviation: params.deviation(),
            policy_temperature: 1.0,
            noise: Dirichlet { epsilon: 0.0, ..Dirichlet::default() },
            sticky_endgames: false,
            moves_left: None,
            catch_up: CatchUp::Visits,
            explored: Explored::Weights,
            weighing: Weighing {
                prune_scale: if params.use_noise_pruning { params.noise_prune_utility_scale as f32 } else { 0.0 },
                exponent: params.value_weight_exponent as f32,
                unit: 1.0,
            },
            ..CoreParams::default()
        }
    }
}
