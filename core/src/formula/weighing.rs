//! How much the visits of each move count in what a position is worth.
//!
//! Some of the visits of PUCT find out that a move is bad, and in a plain mean they make the position look worse than
//! it is for a player who does not make that move. KataGo counts such visits less (its options `useNoisePruning`,
//! `noisePruneUtilityScale` and `valueWeightExponent`; Lc0 has no such thing). There are two steps, each of which can
//! be left out:
//!
//! 1. *Noise is pruned.* A move is compared with those before it. If it is worse than they are, and has more than twice
//!    the visits that its prior would give it beside them, it loses the share 1 − exp(−gap / scale) of the excess.
//! 2. *Good moves are favoured.* Each weight is multiplied by a power of the probability that the move is no worse than
//!    the moves' mean. That probability is taken from Student's distribution with three degrees of freedom, which is
//!    the wider the fewer visits a value has. The sum of the weights stays what it was.

use crate::approx;
use core::f32::consts::PI;

/// How visits are counted. If both steps are off, each visit counts one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Weighing {
    /// `noisePruneUtilityScale`, in the unit of the tree's values: a gap of this size costs a move most of its excess.
    /// 0: nothing is pruned.
    pub prune_scale: f32,
    /// `valueWeightExponent`, in `[0, 1]`. 0: good moves are not favoured.
    pub exponent: f32,
    /// How much a utility of 1, for which KataGo's constants are meant, is in the tree's values. Above 0.
    pub unit: f32,
}

/// A move that was visited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Branch {
    /// Completed visits.
    pub n: f32,
    /// Value to the side that makes the move.
    pub q: f32,
    /// Prior.
    pub p: f32,
}

/// A move may have this many times the visits that its prior would give it.
const LENIENCE: f32 = 2.0;
/// The precision of a mean is the square root of its visits, times this.
const PRECISION: f32 = 1.5;
/// The least variance that a mean is assumed to have.
const LEAST_VARIANCE: f32 = 1e-8;
/// The least probability that a move is assumed to have of being good.
const LEAST_PROBABILITY: f32 = 1e-4;

impl Default for Weighing {
    fn default() -> Self {
        Self::OFF
    }
}

impl Weighing {
    /// Both steps are off: each visit counts one.
    pub const OFF: Self = Self { prune_scale: 0.0, exponent: 0.0, unit: 1.0 };

    /// True if each visit counts one.
    pub fn is_off(&self) -> bool {
        self.prune_scale == 0.0 && self.exponent == 0.0
    }

    /// The weight of each move, in the order of the branches. They should be in the order of their priors, the largest
    /// first. `branches` is called at most three times.
    pub fn weights<I: Iterator<Item = Branch>>(&self, branches: impl Fn() -> I) -> impl Iterator<Item = f32> {
        let pruned = || self.pruned(branches());
        let all = pruned().fold(Sums::default(), Sums::plus);
        let Self { exponent, unit, .. } = *self;
        let mean = all.value / all.weight;
        let favoured = move |(branch, weight): (Branch, f32)| {
            let deviation = unit * libm::sqrtf(LEAST_VARIANCE + 1.0 / (PRECISION * libm::sqrtf(weight)));
            let p = students_distribution((branch.q - mean) / deviation) + LEAST_PROBABILITY;
            weight * approx::exp(exponent * approx::ln(p))
        };
        let is_favouring = exponent > 0.0 && all.weight > 0.0;
        let sum = if is_favouring { pruned().map(favoured).sum() } else { 0.0 };
        let factor = all.weight / sum;
        pruned().map(move |branch| if sum > 0.0 { favoured(branch) * factor } else { branch.1 })
    }

    /// What pruning, the first step, leaves of each move's visits. The weights have the same sum, but for rounding.
    pub fn kept(&self, branches: impl Iterator<Item = Branch>) -> impl Iterator<Item = f32> {
        self.pruned(branches).map(|(_, weight)| weight)
    }

    fn pruned<I: Iterator<Item = Branch>>(&self, branches: I) -> Pruned<I> {
        Pruned { branches, scale: self.prune_scale, before: Sums::default() }
    }
}

/// Sums over moves.
#[derive(Clone, Copy, Default)]
struct Sums {
    weight: f32,
    value: f32,
    p: f32,
}

impl Sums {
    fn plus(self, (branch, weight): (Branch, f32)) -> Self {
        Self { weight: self.weight + weight, value: self.value + weight * branch.q, p: self.p + branch.p }
    }
}

/// Moves, each with the weight that pruning leaves it.
struct Pruned<I> {
    branches: I,
    scale: f32,
    before: Sums,
}

impl<I: Iterator<Item = Branch>> Iterator for Pruned<I> {
    type Item = (Branch, f32);

    fn next(&mut self) -> Option<Self::Item> {
        let branch = self.branches.next()?;
        let weighed = (branch, branch.n - noise(&self.before, &branch, self.scale));
        self.before = self.before.plus(weighed);
        Some(weighed)
    }
}

/// How many visits a move has too many.
fn noise(before: &Sums, branch: &Branch, scale: f32) -> f32 {
    if scale == 0.0 || before.weight <= 0.0 || before.p <= 0.0 {
        return 0.0;
    }
    let gap = before.value / before.weight - branch.q;
    let excess = branch.n - LENIENCE * before.weight * branch.p / before.p;
    if gap > 0.0 && excess > 0.0 { excess * (1.0 - libm::expf(-gap / scale)) } else { 0.0 }
}

/// The cumulative distribution of Student's t with three degrees of freedom.
fn students_distribution(t: f32) -> f32 {
    let x = t / libm::sqrtf(3.0);
    0.5 + (x / (1.0 + x * x) + libm::atanf(x)) / PI
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;
    use std::vec::Vec;

    const KATAGO: Weighing = Weighing { prune_scale: 0.15, exponent: 0.25, unit: 1.0 };

    fn weights(weighing: &Weighing, branches: &[Branch]) -> Vec<f32> {
        weighing.weights(|| branches.iter().copied()).collect()
    }

    fn branches(of: &[(u8, i8, u8)]) -> Vec<Branch> {
        let branch = |&(n, q, p): &(u8, i8, u8)| Branch {
            n: f32::from(n) + 1.0,
            q: f32::from(q) / 128.0,
            p: f32::from(p) / 256.0,
        };
        of.iter().map(branch).collect()
    }

    /// From a table of the distribution.
    #[test]
    fn students_distribution_has_the_values_of_the_table() {
        for (t, p) in [(0.0, 0.5), (1.638, 0.9), (2.353, 0.95), (3.182, 0.975), (5.841, 0.995), (-2.353, 0.05)] {
            assert!((students_distribution(t) - p).abs() < 5e-5, "{t}");
        }
    }

    /// 60 visits beside 40 that a prior of a quarter would make 20 of, twice of which are left alone: 20 too many.
    #[test]
    fn what_pruning_takes() {
        let prunes = Weighing { exponent: 0.0, ..KATAGO };
        let of = [Branch { n: 40.0, q: 0.5, p: 0.5 }, Branch { n: 60.0, q: 0.2, p: 0.25 }];
        let taken = 20.0 * (1.0 - (-0.3_f32 / 0.15).exp());
        let found = weights(&prunes, &of);
        assert!((found[1] - (60.0 - taken)).abs() < 1e-4, "{found:?}");
        assert_eq!(found[0], 40.0);
        let better = [of[0], Branch { q: 0.6, ..of[1] }];
        assert_eq!(weights(&prunes, &better), [40.0, 60.0]);
    }

    /// Sixteen visits have a precision of 1.5·√16, so a deviation of √(1/6). The moves are 2.353 deviations above and
    /// below their mean, which by the table are the probabilities 0.95 and 0.05.
    #[test]
    fn what_a_good_move_is_given() {
        let favours = Weighing { prune_scale: 0.0, ..KATAGO };
        let q = 2.353 / 6.0_f32.sqrt();
        let of = [q, -q].map(|q| Branch { n: 16.0, q, p: 0.5 });
        let [good, bad] = [0.95_f32, 0.05].map(|p| (p + 1e-4).powf(0.25));
        let found = weights(&favours, &of);
        assert!((found[0] - 32.0 * good / (good + bad)).abs() < 0.1, "{found:?}");
        assert!((found[1] - 32.0 * bad / (good + bad)).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn a_move_alone_keeps_its_visits() {
        assert_eq!(weights(&KATAGO, &branches(&[(11, 50, 100)])), [12.0]);
        assert!(weights(&KATAGO, &[]).is_empty());
    }

    quickcheck! {
        fn off_each_visit_counts_one(of: Vec<(u8, i8, u8)>) -> bool {
            let of = branches(&of);
            weights(&Weighing::OFF, &of).iter().zip(&of).all(|(&weight, branch)| weight == branch.n)
        }

        /// No branch has a negative weight, and all weights together are no more than the visits.
        fn weights_are_taken_from_visits(of: Vec<(u8, i8, u8)>) -> bool {
            let of = branches(&of);
            let found = weights(&KATAGO, &of);
            let (sum, visits) = (found.iter().sum::<f32>(), of.iter().map(|branch| branch.n).sum::<f32>());
            found.len() == of.len() && found.iter().all(|&weight| weight > 0.0) && sum <= visits * (1.0 + 1e-5)
        }

        /// Favouring good moves takes from the others what it gives.
        fn the_sum_is_what_pruning_leaves(of: Vec<(u8, i8, u8)>) -> bool {
            let of = branches(&of);
            let kept: Vec<f32> = KATAGO.kept(of.iter().copied()).collect();
            let (sum, left) = (weights(&KATAGO, &of).iter().sum::<f32>(), kept.iter().sum::<f32>());
            kept == weights(&Weighing { exponent: 0.0, ..KATAGO }, &of) && (sum - left).abs() <= 1e-5 * left
        }

        /// The mean moves towards the better moves.
        fn the_mean_is_no_worse(of: Vec<(u8, i8, u8)>) -> bool {
            let of = branches(&of);
            let mean = |weighing: &Weighing| {
                let found = weights(weighing, &of);
                let sum = found.iter().zip(&of).map(|(weight, branch)| weight * branch.q).sum::<f32>();
                sum / found.iter().sum::<f32>()
            };
            of.is_empty() || mean(&Weighing { prune_scale: 0.0, ..KATAGO }) >= mean(&Weighing::OFF) - 1e-5
        }

        /// Values in another unit have the same weights.
        fn the_unit_is_free(of: Vec<(u8, i8, u8)>) -> bool {
            let of = branches(&of);
            let halves: Vec<Branch> = of.iter().map(|branch| Branch { q: branch.q / 2.0, ..*branch }).collect();
            let half = Weighing { prune_scale: KATAGO.prune_scale / 2.0, unit: 0.5, ..KATAGO };
            weights(&KATAGO, &of).iter().zip(weights(&half, &halves)).all(|(a, b)| (a - b).abs() <= 1e-3 * a)
        }
    }
}
