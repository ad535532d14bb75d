//! How a position is searched: the plan of a search, and the one that follows from parameters.

use super::bias::Correction;
use super::evaluation::MOST_PASS;
use super::utility::Factors;
use super::{Evaluator, Game, HumanExploration, Params, PolicyRules, Question, Restrictions, Uncertainty};
use oncilla_core::formula::noise::Dirichlet;
use oncilla_core::formula::weighing::Weighing;
use oncilla_core::search::{CatchUp, Cpuct, Deviation, Explored, Fpu, Params as CoreParams};
use oncilla_go::Color;
use oncilla_go::planes::{self, HISTORY};
use std::sync::Arc;

/// Deviations are divided by the usual one, which may be 0 in KataGo's files.
const LEAST_DEVIATION: f64 = 0.001;

/// The earlier moves that the network is shown with a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The moves of the game, and of the search.
    All,
    /// Only the moves of the search (`ignorePreRootHistory`).
    BelowRoot,
    /// No moves (`ignoreAllHistory`).
    Nothing,
}

/// How a position is searched.
#[derive(Clone)]
pub struct Plan {
    /// The core's parameters, for values from −1 to 1.
    pub params: CoreParams,
    /// The utility of results and scores.
    pub factors: Factors,
    /// How evaluations are corrected by what was found out below other positions with the same last move and
    /// surroundings.
    pub correction: Correction,
    /// How the weight of an evaluation depends on its uncertainty; `None` for a weight of 1, which all evaluations have
    /// if the network does not report its uncertainty.
    pub uncertainty: Option<Uncertainty>,
    /// How the network is asked below the root, except for the history, which is set for each position.
    pub question: Question,
    /// The side that has the advantage in `question`; `None` for the side to move at the root
    /// (`playoutDoublingAdvantagePla`).
    pub advantage_of: Option<Color>,
    /// The part of the optimistic policy in the root's policy (`rootPolicyOptimism`).
    pub root_optimism: f32,
    /// The network for human play that evaluates the root beside the main one, if the question has a profile.
    pub human: Option<Arc<Evaluator>>,
    /// How the search explores the root's moves by that network's policy; `None` if it does not.
    pub human_exploration: Option<HumanExploration>,
    /// Which earlier moves the network is shown.
    pub history: Seen,
    /// Whether the game is taken to go on after a pass at the root that would end it (`conservativePass`).
    pub conservative_pass: bool,
    /// The number of symmetries through which the root is evaluated, from 1 to 8 (`rootNumSymmetriesToSample`).
    pub root_symmetries: usize,
    /// Divides the logits of the root's moves.
    pub root_temperature: f32,
    /// Divides the logits of the root's moves once more. The priors are not normalised after that, so they may sum to
    /// more than 1 (`wideRootNoise`).
    pub root_flattening: f32,
    /// Whether only one of several root moves that are mirror images of each other is searched (`rootSymmetryPruning`).
    pub prunes_symmetric: bool,
    /// Points that a move of the root costs if everything is settled (`rootEndingBonusPoints`).
    pub ending_bonus: f64,
    /// Whether useless moves of the root are left out if the opponent has passed again and again and everything is
    /// alive (`rootPruneUselessMoves`).
    pub prunes_useless: bool,
    /// Whether the ownership of points is noted.
    pub keeps_ownership: bool,
    /// The most bytes that the notes may take in addition to the tree. Once they take half of that, ownership is noted
    /// for no more positions except the root's moves.
    pub notes_bytes: usize,
    /// The most positions that are evaluated together.
    pub batch: usize,
    /// The moves that may not be searched.
    pub restrictions: Arc<Restrictions>,
}

impl Plan {
    /// The plan with moves left out.
    pub(crate) fn with(self, restrictions: Arc<Restrictions>) -> Self {
        Self { restrictions, ..self }
    }

    /// The plan with the advantage of the side to move in this position.
    pub(super) fn seen_from(mut self, root: &Game) -> Self {
        let of_root = &mut self.question.planes.playout_doubling_advantage;
        *of_root = advantage_of(root.side_to_move(), self.advantage_of.take(), *of_root);
        self
    }

    /// How the network is asked about a position `depth` plies below the root.
    pub(super) fn question_at(&self, depth: usize) -> Question {
        let history = match self.history {
            Seen::All => HISTORY,
            Seen::BelowRoot => depth.min(HISTORY),
            Seen::Nothing => 0,
        };
        let conservative_pass = self.conservative_pass && depth == 0;
        let playout_doubling_advantage = advantage(self.question.planes.playout_doubling_advantage, depth);
        let planes = planes::Options { history, conservative_pass, playout_doubling_advantage, ..self.question.planes };
        Question { planes, ..self.question }
    }
}

impl Params {
    /// How a position is searched if all its moves are allowed and no ownership is wanted.
    pub(crate) fn plan(&self, batch: usize, notes_bytes: usize) -> Plan {
        let params = self;
        let factors = Factors::of(params);
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
            human_exploration: HumanExploration {
                weightless: params.human_root_explore_weightless,
                weightful: params.human_root_explore_weightful,
                constant: params.human_cpuct_exploration,
                growth: params.human_cpuct_permanent,
            }
            .if_any(),
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
            restrictions: Arc::default(),
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

    /// The advantage of `side`, in doublings of its search over its opponent's (`playoutDoublingAdvantage`), which
    /// belongs to the side to move if none is named.
    pub fn advantage_of(&self, side: Color) -> f32 {
        let (owner, advantage) = (self.playout_doubling_advantage_pla, self.playout_doubling_advantage);
        advantage_of(side, owner, advantage as f32)
    }
}

/// The advantage of `side` if `owner` has the advantage `of_owner`, or `side` itself without an owner.
fn advantage_of(side: Color, owner: Option<Color>, of_owner: f32) -> f32 {
    let is_the_opponents = owner.is_some_and(|owner| owner != side);
    advantage(of_owner, usize::from(is_the_opponents))
}

/// The advantage of the side to move `depth` plies below the root, if the side to move at the root has the advantage
/// `of_root`; its opponent has the opposite.
pub(super) fn advantage(of_root: f32, depth: usize) -> f32 {
    // The additions turn −0 into 0, because the two would be different keys in the cache.
    if depth.is_multiple_of(2) { 0.0 + of_root } else { 0.0 - of_root }
}

#[cfg(test)]
mod tests {
    use super::advantage;

    #[test]
    fn no_advantage_is_the_same_number_for_both_sides() {
        let none = [0.0, -0.0].map(|of_root| [0, 1].map(|depth| advantage(of_root, depth).to_bits()));
        assert_eq!(none, [[0, 0], [0, 0]]);
        assert_eq!([0, 1, 2].map(|depth| advantage(1.5, depth)), [1.5, -1.5, 1.5]);
    }
}
