//! Evaluations of positions, computed from the outputs of KataGo's networks.

use super::Game;
use oncilla_go::{KoRule, Move, Scoring};
use oncilla_nets::katago::Multipliers;

/// How a policy is computed from logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyRules {
    /// Divides the logits (`nnPolicyTemperature`). Above 0.
    pub temperature: f32,
    /// The part of the optimistic policy, from 0 for the plain one to 1, if the network has both (`policyOptimism`).
    pub optimism: f32,
    /// The largest probability of a pass if there are other moves; 1 for no bound. (KataGo's `enablePassingHacks` sets
    /// 0.95.)
    pub most_pass: f32,
}

/// The bound of a pass's prior in KataGo, if it has one.
pub const MOST_PASS: f32 = 0.95;

impl Default for PolicyRules {
    fn default() -> Self {
        Self { temperature: 1.0, optimism: 1.0, most_pass: MOST_PASS }
    }
}

/// A network's evaluation of a position, from the view of the side to move.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The probability of each point, row by row from the top, and last that of a pass; −1 for an illegal move.
    pub policy: Vec<f32>,
    /// Probability of a win.
    pub win: f32,
    /// Probability of a loss.
    pub loss: f32,
    /// Probability of a game without a result. 0 if the rules do not have such games.
    pub no_result: f32,
    /// Expected score if the network plays against itself (KataGo's `scoreSelfplay`).
    pub score_mean: f32,
    /// Standard deviation of the score.
    pub score_stdev: f32,
    /// Points that would make the game even (`scoreLead`).
    pub lead: f32,
    /// How sure the network is of that; `None` for networks before version 9.
    pub short_term: Option<ShortTerm>,
    /// Who will own each point: from 1 for the side to move to −1 for the opponent.
    pub ownership: Vec<f32>,
}

/// How sure a network is of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShortTerm {
    /// How long the value will go on to vary (`varTimeLeft`).
    pub variance_time: f32,
    /// How far win − loss will move in the near future.
    pub value_error: f32,
    /// How far the score will.
    pub score_error: f32,
}

impl ShortTerm {
    /// What KataGo says for a network that has no such heads.
    pub const UNKNOWN: Self = Self { variance_time: -1.0, value_error: -1.0, score_error: -1.0 };
}

/// A row of a network's outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'o> {
    /// `[policies][points]`.
    pub policy: &'o [f32],
    /// `[policies]`.
    pub pass: &'o [f32],
    /// Logits of win, loss, no result.
    pub results: &'o [f32],
    pub scores: &'o [f32],
    /// `[points]`.
    pub ownership: &'o [f32],
}

/// The facts about a model that are needed to read its outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelFacts {
    pub version: u32,
    pub multipliers: Multipliers,
}

impl Evaluation {
    /// Reads a row of outputs for the last position of `game`. Points have been turned back already.
    pub(super) fn new(row: Row<'_>, facts: &ModelFacts, game: &Game, rules: &PolicyRules) -> Self {
        let [win, loss, no_result] = results(row.results, game);
        let Multipliers { score_mean, score_stdev, lead, .. } = facts.multipliers;
        // A game without a result has no score.
        let counts = 1.0 - no_result;
        let mean = row.scores[0] * score_mean;
        let stdev = softplus(row.scores[1]) * score_stdev;
        let square = (mean * mean + stdev * stdev) * counts;
        let mean = mean * counts;
        let variance = square - mean * mean;
        Self {
            policy: policy(row, game, rules),
            win,
            loss,
            no_result,
            score_mean: mean,
            // Not `max`: that would turn what is not a number (from a mean beyond all bounds) into 0.
            score_stdev: if variance < 0.0 { 0.0 } else { variance.sqrt() },
            lead: row.scores[2] * lead * counts,
            short_term: short_term(row.scores, facts),
            ownership: row.ownership.to_vec(),
        }
    }

    /// The name of what is not a finite number here, if anything is: even if a network's outputs are finite, what is
    /// computed from them need not be.
    pub(super) fn not_finite(&self) -> Option<&'static str> {
        let ShortTerm { variance_time, value_error, score_error } = self.short_term.unwrap_or(ShortTerm::UNKNOWN);
        let all = [
            ("the policy", self.policy.as_slice()),
            ("the value", &[self.win, self.loss, self.no_result]),
            ("the score", &[self.score_mean, self.score_stdev, self.lead]),
            ("the variance in time", &[variance_time]),
            ("a short-term error", &[value_error, score_error]),
            ("the ownership", &self.ownership),
        ];
        all.into_iter().find(|(_, numbers)| !numbers.iter().all(|number| number.is_finite())).map(|(what, _)| what)
    }

    /// ½·(1 + win − loss).
    pub fn winrate(&self) -> f32 {
        0.5 * (1.0 + self.win - self.loss)
    }

    /// The mean of several evaluations of one position, seen through different symmetries; `None` if there are none.
    pub fn mean(all: &[Self]) -> Option<Self> {
        let (first, n) = (all.first()?, all.len() as f32);
        let mean = |of: fn(&Self) -> f32| all.iter().map(of).sum::<f32>() / n;
        let each = |of: fn(&Self) -> &Vec<f32>| -> Vec<f32> {
            (0..of(first).len()).map(|at| all.iter().map(|one| of(one)[at]).sum::<f32>() / n).collect()
        };
        let score_mean = mean(|one| one.score_mean);
        let square = mean(|one| one.score_mean * one.score_mean + one.score_stdev * one.score_stdev);
        Some(Self {
            policy: each(|one| &one.policy),
            win: mean(|one| one.win),
            loss: mean(|one| one.loss),
            no_result: mean(|one| one.no_result),
            score_mean,
            score_stdev: (square - score_mean * score_mean).max(0.0).sqrt(),
            lead: mean(|one| one.lead),
            short_term: first.short_term.map(|_| {
                let mean =
                    |of: fn(ShortTerm) -> f32| all.iter().filter_map(|one| one.short_term.map(of)).sum::<f32>() / n;
                ShortTerm {
                    variance_time: mean(|one| one.variance_time),
                    value_error: mean(|one| one.value_error),
                    score_error: mean(|one| one.score_error),
                }
            }),
            ownership: each(|one| &one.ownership),
        })
    }
}

/// Probabilities of win, loss and no result; the last is 0 if the rules do not have it.
fn results(logits: &[f32], game: &Game) -> [f32; 3] {
    let rules = game.rules();
    let has_none = rules.ko != KoRule::Simple && rules.scoring != Scoring::Territory;
    let no_result = if has_none { f32::NEG_INFINITY } else { logits[2] };
    let logits = [logits[0], logits[1], no_result];
    let most = logits.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let powers = logits.map(|logit| (logit - most).exp());
    let sum: f32 = powers.iter().sum();
    powers.map(|power| power / sum)
}

fn policy(row: Row<'_>, game: &Game, rules: &PolicyRules) -> Vec<f32> {
    let points = game.size().area();
    let (pass, optimistic) = (game.size().pass(), row.pass.len() > 1);
    let plain = |mv: Move| if mv == pass { row.pass[0] } else { row.policy[mv.index()] };
    let hopeful = |mv: Move| if mv == pass { row.pass[1] } else { row.policy[points + mv.index()] };
    let logit = |mv: Move| {
        let plain = plain(mv);
        let logit = if optimistic { plain + (hopeful(mv) - plain) * rules.optimism } else { plain };
        logit / rules.temperature
    };
    let mut policy = vec![f32::NEG_INFINITY; points + 1];
    game.legal_moves().for_each(|mv| policy[mv.index()] = logit(mv));
    let most = policy.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    policy.iter_mut().for_each(|p| *p = (*p - most).exp());
    bound_pass(&mut policy, rules.most_pass);
    let sum: f32 = policy.iter().sum();
    let legal = |mv: usize| game.is_legal(Move(mv as u16));
    policy.iter_mut().enumerate().for_each(|(mv, p)| *p = if legal(mv) { *p / sum } else { -1.0 });
    policy
}

/// Bounds the pass, which is the last move, to the part `most` of the sum.
fn bound_pass(policy: &mut [f32], most: f32) {
    let Some((pass, others)) = policy.split_last_mut() else { return };
    let others: f32 = others.iter().sum();
    if others > 0.0 && *pass > most * (*pass + others) {
        *pass = others * most / (1.0 - most);
    }
}

/// Reads the errors as KataGo does for each version.
fn short_term(scores: &[f32], facts: &ModelFacts) -> Option<ShortTerm> {
    let &[_, _, _, variance_time, value, score] = scores else { return None };
    let [of_value, of_score] = facts.multipliers.short_term_errors.unwrap_or([0.25, 30.0]);
    let [value_error, score_error] = match facts.version {
        ..10 => [softplus(value), softplus(score) * 10.0],
        10..14 => [(softplus(value) * of_value).sqrt(), (softplus(score) * of_score).sqrt()],
        _ => {
            let root = |x: f32, most: f32| (softplus(x * 0.5).powi(2) * most).sqrt();
            [root(value, of_value), root(score, of_score)]
        }
    };
    let variance_time = softplus(variance_time) * facts.multipliers.variance_time;
    Some(ShortTerm { variance_time, value_error, score_error })
}

/// `ln(1 + e^x)` without overflow.
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
