//! Which move of the root is the one to play, as KataGo chooses it: by visits, of which those are left out that the search would not
//! make now that it knows more, and by lower bounds.

use super::params::Params;
use crate::go::notes::Averages;
use oncilla_core::evaluate::Value;
use oncilla_core::search::puct;

/// Fewer visits say nothing of a move's lower bound, as in KataGo.
const VISITS_FOR_BOUND: f64 = 3.0;

/// KataGo adds it to the visits, so that the first one is not made for nothing.
const OFFSET: f64 = 0.01;

/// A move of the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// What its visits count together.
    pub weight: f64,
    /// Its mean utility for the side to move.
    pub utility: f64,
    /// Its prior.
    pub prior: f64,
    /// How far its mean utility may be off.
    pub radius: f64,
    /// What it is chosen by (KataGo's `playSelectionValue`): its weight at first.
    pub value: f64,
}

impl Arm {
    /// The lower end of what it may be worth.
    pub fn bound(&self) -> f64 {
        self.utility - self.radius
    }
}

impl Params {
    /// `lcbStdevs` deviations of a mean, where no utility is further from 0 than `most`. As in KataGo an observation of the largest
    /// variance is mixed in, whose weight falls with the third power of the visits: it keeps one lucky visit from looking certain.
    pub fn radius(&self, averages: &Averages, most: f64) -> f64 {
        let (weight, visits) = (averages.weight, averages.effective());
        if weight <= 0.0 {
            return 2.0 * most;
        }
        let prior = weight / visits.powi(3);
        let largest = averages.utility * averages.utility + most * most;
        let square = (averages.utility_square * weight + largest * prior) / (weight + prior);
        let variance = (square - averages.utility * averages.utility).max(1e-8);
        let effective = (weight + prior) * (weight + prior) / (averages.weight_square + prior * prior);
        self.lcb_stdevs * (variance / effective).sqrt()
    }

    /// What a prior is multiplied by before it is divided by one and the move's weight, at a root with these means whose moves weigh so
    /// much together.
    fn exploration(&self, root: &Averages, weight: f64) -> f64 {
        let growth = ((weight + self.cpuct_exploration_base) / self.cpuct_exploration_base).ln();
        let cpuct = self.cpuct_exploration + self.cpuct_exploration_log * growth;
        cpuct * (weight + OFFSET).sqrt() * self.deviation_factor(root)
    }

    /// As the core has it, of the root's means.
    fn deviation_factor(&self, root: &Averages) -> f64 {
        let value = Value { wl: root.utility as f32, d: (1.0 - root.utility_square) as f32, m: 0.0 };
        let factor = |deviation| puct::deviation_factor(&deviation, root.weight as f32, value).into();
        self.deviation().map_or(1.0, factor)
    }

    /// Gives each move its value: the weight that PUCT would give it now that the move with the most of it has what it has, where that
    /// is less than it has.
    pub fn prune(&self, root: &Averages, arms: &mut [Arm]) {
        let Some(best) = arms.iter().copied().reduce(|best, arm| if arm.weight > best.weight { arm } else { best })
        else {
            return;
        };
        let exploration = self.exploration(root, arms.iter().map(|arm| arm.weight).sum());
        let level = best.utility + exploration * best.prior / (1.0 + best.weight);
        for arm in arms {
            let gap = level - arm.utility;
            let wanted = if gap > 0.0 { (exploration * arm.prior / gap - 1.0).max(0.0) } else { f64::INFINITY };
            let is_best = arm.weight == best.weight && arm.prior == best.prior && arm.utility == best.utility;
            arm.value = if is_best { arm.weight } else { arm.weight.min(wanted).ceil() };
        }
    }

    /// Of the moves with visits enough, the one whose value is sure to be good is preferred to those with more visits, where its bound
    /// is better (`useLcbForSelection`).
    pub fn prefer_by_bound(&self, arms: &mut [Arm]) {
        if !self.use_lcb_for_selection {
            return;
        }
        let most = arms.iter().map(|arm| arm.value).fold(0.0, f64::max);
        let least = self.min_visit_prop_for_lcb * most;
        let eligible = arms.iter().enumerate().filter(|(_, arm)| arm.value >= least.max(VISITS_FOR_BOUND));
        let Some((best, bound)) = eligible.map(|(at, arm)| (at, arm.bound())).max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return;
        };
        let raised = |other: &Arm| {
            let excess = bound - other.bound();
            // How many times as wide the other's interval would have to be.
            let ratio = (other.radius + excess) / (other.radius + 0.2 * excess);
            if excess > 0.0 { other.value * ratio * ratio } else { 0.0 }
        };
        let value = arms.iter().map(raised).fold(arms[best].value, f64::max);
        arms[best].value = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn arm(weight: f64, utility: f64, prior: f64) -> Arm {
        Arm { weight, utility, prior, radius: 0.1, value: weight }
    }

    fn root(weight: f64, utility: f64) -> Averages {
        let utility_square = utility * utility + 0.4 * 0.4;
        Averages { weight, weight_square: weight, utility, utility_square, ..Averages::default() }
    }

    #[test]
    fn a_bad_move_keeps_the_visits_that_puct_would_give_it() {
        let mut arms = [arm(60.0, 0.3, 0.5), arm(20.0, -0.2, 0.3), arm(2.0, 0.31, 0.01)];
        let params = Params { cpuct_utility_stdev_scale: 0.0, ..Params::default() };
        params.prune(&root(83.0, 0.15), &mut arms);
        let exploration = (1.0 + 0.45 * (582.0_f64 / 500.0).ln()) * 82.01_f64.sqrt();
        let wanted = exploration * 0.3 / (0.3 + exploration * 0.5 / 61.0 + 0.2) - 1.0;
        assert_eq!(arms.map(|arm| arm.value), [60.0, wanted.ceil(), 1.0]);
        assert!((4.0..5.0).contains(&wanted), "{wanted}");
    }

    /// Where values differ as much as usual, exploration is as it is; where they don't differ, it is less.
    #[test]
    fn exploration_follows_the_deviation() {
        let params = Params::default();
        assert!((params.deviation_factor(&root(1e6, 0.3)) - 1.0).abs() < 1e-3);
        let still = Averages { utility_square: 0.09, ..root(1e6, 0.3) };
        assert!((params.deviation_factor(&still) - 0.15).abs() < 1e-2);
        assert_eq!(params.deviation_factor(&root(1.0, 0.3)), 1.0);
    }

    quickcheck! {
        fn pruning_only_takes(of: Vec<(u8, i8, u8)>) -> bool {
            let read = |&(n, q, p): &(u8, i8, u8)| {
                arm(f64::from(n) + 1.0, f64::from(q) / 128.0, f64::from(p) / 256.0)
            };
            let mut arms: Vec<Arm> = of.iter().map(read).collect();
            Params::default().prune(&root(100.0, 0.0), &mut arms);
            let most = arms.iter().map(|arm| arm.weight).fold(0.0, f64::max);
            arms.iter().all(|arm| (0.0..=arm.weight).contains(&arm.value))
                && (arms.is_empty() || arms.iter().any(|arm| arm.value == most))
        }

        /// More visits of the same kind make a mean surer.
        fn more_visits_are_surer(visits: u16, more: u8, utility: i8) -> bool {
            let of = |n: u32| {
                let utility = f64::from(utility) / 128.0;
                let one = Averages { utility, utility_square: utility * utility + 0.1, weight: 1.0, weight_square: 1.0, ..Averages::default() };
                Params::default().radius(&one.times(n), 1.4)
            };
            let visits = u32::from(visits) + 1;
            of(visits + u32::from(more) + 1) < of(visits)
        }
    }
}
