//! Which move is to be played, as KataGo chooses it: by the weights of visits and by lower bounds; at the root without
//! the visits that the search would not make now that it knows more.

use crate::go::Params;
use crate::go::notes::Averages;
use oncilla_core::evaluate::Value;
use oncilla_core::search::puct;

/// In the choice of the move that the others are compared with, a prior of 1 counts as this many visits.
const VISITS_OF_PRIORS: f64 = 2.0;

/// A move of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arm {
    /// The visits that came by this move.
    pub(super) visits: u32,
    /// The weight of these visits together.
    pub(super) weight: f64,
    /// The mean utility for the side to move, with bonuses.
    pub(super) utility: f64,
    /// The move's prior.
    pub(super) prior: f64,
    /// How far the mean utility may be off.
    pub(super) radius: f64,
    /// The value by which the move is chosen (KataGo's `playSelectionValue`): its weight at first, or 0 if it is not to
    /// be played.
    pub(super) value: f64,
}

impl Arm {
    /// The lower end of the utilities that the move may have. That of a move whose visits do not count is below all
    /// others, as in KataGo, whatever these visits have found.
    pub(super) fn bound(&self) -> f64 {
        if self.weight > 0.0 { self.utility - self.radius } else { -self.radius }
    }

    /// How well explored the move is, as in KataGo: its last visit may be one that finds out how bad it is, and if
    /// there are few visits the prior says more.
    fn explored(&self) -> f64 {
        let visits = f64::from(self.visits.max(1));
        self.value * (visits - 1.0) / visits + VISITS_OF_PRIORS * self.prior
    }
}

/// The largest of the numbers and its place; of equals the first one.
fn largest(of: impl Iterator<Item = (usize, f64)>) -> Option<(usize, f64)> {
    of.reduce(|best, other| if other.1 > best.1 { other } else { best })
}

/// The place of the move that is explored best, with which the others are compared.
fn best_explored(arms: &[Arm]) -> Option<usize> {
    largest(arms.iter().map(Arm::explored).enumerate()).map(|(at, _)| at)
}

/// Values moves by their priors. KataGo does so if no move has a value: it may be that the root has not counted the
/// visits of any.
pub(super) fn value_by_priors(arms: &mut [Arm]) {
    arms.iter_mut().for_each(|arm| arm.value = arm.prior);
}

/// Scales values so that the largest is at least 1, as KataGo does: where evaluations are uncertain a move may have
/// less than the weight of one visit. The order and the proportions of the values stay the same.
pub(super) fn scale_to_one(arms: &mut [Arm]) {
    let largest = arms.iter().map(|arm| arm.value).fold(0.0, f64::max);
    if largest > 0.0 && largest < 1.0 {
        arms.iter_mut().for_each(|arm| arm.value /= largest);
    }
}

impl Params {
    /// `lcbStdevs` deviations of a mean, if no utility is further from 0 than `most`. As in KataGo an observation of
    /// the largest variance is mixed in, whose weight falls with the third power of the visits: it keeps one lucky
    /// visit from looking certain.
    pub(super) fn radius(&self, averages: &Averages, most: f64) -> f64 {
        let (weight, visits) = (averages.weight, averages.effective());
        if weight <= 0.0 {
            return 2.0 * most * self.lcb_stdevs;
        }
        let prior = weight / visits.powi(3);
        let mean_square = averages.utility * averages.utility;
        let own = averages.utility_square.max(mean_square + 1e-8);
        // The variance of that observation comes on top of that of the others.
        let largest = own + most * most;
        let variance = (own * weight + largest * prior) / (weight + prior) - mean_square;
        let effective = (weight + prior) * (weight + prior) / (averages.weight_square + prior * prior);
        self.lcb_stdevs * (variance / effective).sqrt()
    }

    /// The factor of a prior, which is then divided by one plus the move's weight, at a root with these averages whose
    /// moves have `weight` together: the search's own, so that no visit is taken away that it would make.
    fn exploration(&self, root: &Averages, weight: f64) -> f64 {
        f64::from(puct::exploration_by_weight(&self.cpuct(), weight as f32)) * self.deviation_factor(root)
    }

    /// The factor by which the deviation changes exploration, as in the core, from the root's averages.
    fn deviation_factor(&self, root: &Averages) -> f64 {
        let value = Value { wl: root.utility as f32, d: (1.0 - root.utility_square) as f32, m: 0.0 };
        let factor = |deviation| puct::deviation_factor(&deviation, root.weight as f32, value).into();
        self.deviation().map_or(1.0, factor)
    }

    /// Gives each move its value: the weight that PUCT would give it now if the best explored move has the weight that
    /// it has, or its own weight if that is less. Returns the weight of the best explored move.
    pub(super) fn prune(&self, root: &Averages, arms: &mut [Arm]) -> f64 {
        let Some(at) = best_explored(arms) else { return 0.0 };
        let best = arms[at];
        let exploration = self.exploration(root, arms.iter().map(|arm| arm.weight).sum());
        let level = best.utility + exploration * best.prior / (1.0 + best.weight);
        for arm in arms.iter_mut() {
            let gap = level - arm.utility;
            let wanted = if gap > 0.0 { (exploration * arm.prior / gap - 1.0).max(0.0) } else { f64::INFINITY };
            arm.value = arm.value.min(wanted).ceil();
        }
        arms[at].value = best.value;
        best.value
    }

    /// Prefers a move by its lower bound (`useLcbForSelection`): of the moves whose weight is enough compared with
    /// `explored`, that of the best explored one, the move with the best bound gets a value above those of moves with
    /// more visits and worse bounds.
    pub(super) fn prefer_by_bound(&self, explored: f64, arms: &mut [Arm]) {
        if !self.use_lcb_for_selection {
            return;
        }
        let least = self.min_visit_prop_for_lcb * explored;
        let eligible = arms.iter().enumerate().filter(|(_, arm)| arm.value > 0.0 && arm.value >= least);
        let Some((best, bound)) = largest(eligible.map(|(at, arm)| (at, arm.bound()))) else { return };
        let raised = |other: &Arm| {
            let excess = bound - other.bound();
            // How many times as wide the other move's interval would have to be.
            let ratio = if excess > 0.0 { (other.radius + excess) / (other.radius + 0.2 * excess) } else { 1.0 };
            if excess >= 0.0 { other.value * ratio * ratio } else { 0.0 }
        };
        let value = arms.iter().map(raised).fold(arms[best].value, f64::max);
        arms[best].value = value;
    }

    /// The place of the move that would be chosen below the root, where every move keeps its weight.
    pub(super) fn chosen(&self, arms: &mut [Arm]) -> Option<usize> {
        let explored = best_explored(arms).map(|at| arms[at].value)?;
        self.prefer_by_bound(explored, arms);
        largest(arms.iter().map(|arm| arm.value).enumerate()).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn arm(weight: f64, utility: f64, prior: f64) -> Arm {
        Arm { visits: weight as u32, weight, utility, prior, radius: 0.1, value: weight }
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

    /// If moves have one visit each, the prior decides which of them the others are compared with; more weight is
    /// wanted for it than for a worse one.
    #[test]
    fn of_few_visits_the_prior_says_more() {
        let mut arms = [arm(1.0, 0.1, 0.1), arm(1.0, -0.3, 0.2), arm(1.0, 0.1, 0.6)];
        assert_eq!(Params::default().prune(&root(4.0, 0.0), &mut arms), 1.0);
        assert_eq!((arms[1].value, arms[2].value), (0.0, 1.0));
        let mut visited = [arm(2.0, 0.1, 0.1), arm(1.0, 0.1, 0.4)];
        assert_eq!(Params::default().prune(&root(4.0, 0.0), &mut visited), 2.0);
    }

    /// One visit is enough for a bound, if the best explored move has no more.
    #[test]
    fn a_bound_counts_from_the_first_visit_on() {
        let mut arms = [arm(1.0, 0.1, 0.5), arm(1.0, 0.2, 0.3)];
        Params::default().prefer_by_bound(1.0, &mut arms);
        assert!(arms[1].value > 1.0 && arms[0].value == 1.0, "{arms:?}");
        let mut few = [arm(10.0, 0.1, 0.5), arm(1.0, 0.2, 0.3)];
        Params::default().prefer_by_bound(10.0, &mut few);
        assert_eq!(few[1].value, 1.0);
    }

    #[test]
    fn without_visits_priors_are_values() {
        let mut arms = [arm(0.0, 0.0, 0.5), arm(0.0, 0.0, 0.25), arm(0.0, 0.0, 0.0)];
        value_by_priors(&mut arms);
        scale_to_one(&mut arms);
        assert_eq!(arms.map(|arm| arm.value), [1.0, 0.5, 0.0]);
    }

    #[test]
    fn the_largest_value_is_at_least_one() {
        let scaled = |weights: [f64; 2]| {
            let mut arms = weights.map(|weight| arm(weight, 0.0, 0.1));
            scale_to_one(&mut arms);
            arms.map(|arm| arm.value)
        };
        assert_eq!(scaled([0.5, 0.25]), [1.0, 0.5]);
        assert_eq!(scaled([1.5, 0.25]), [1.5, 0.25]);
        assert_eq!(scaled([0.0, 0.0]), [0.0, 0.0]);
    }

    /// Below the root a move keeps its weight, however bad it has become; a better bound may outweigh it.
    #[test]
    fn below_the_root_weights_and_bounds_choose() {
        let chosen = |arms: &[Arm]| Params::default().chosen(&mut arms.to_vec());
        assert_eq!(chosen(&[arm(3.0, 0.1, 0.2), arm(5.0, 0.2, 0.1), arm(5.0, 0.2, 0.3)]), Some(1));
        assert_eq!(chosen(&[arm(20.0, -0.2, 0.3), arm(10.0, 0.3, 0.1)]), Some(1));
        assert_eq!(chosen(&[arm(20.0, -0.2, 0.3), arm(2.0, 0.3, 0.1)]), Some(0));
        assert_eq!(chosen(&[]), None);
        let by_weight = Params { use_lcb_for_selection: false, ..Params::default() };
        assert_eq!(by_weight.chosen(&mut [arm(20.0, -0.2, 0.3), arm(10.0, 0.3, 0.1)]), Some(0));
    }

    #[test]
    fn no_bound_is_below_that_of_visits_that_do_not_count() {
        let radius = Params::default().radius(&Averages { utility: 0.5, ..Averages::default() }, 1.4);
        assert_eq!(radius, 14.0);
        assert_eq!(Arm { radius, ..arm(0.0, 0.5, 0.1) }.bound(), -14.0);
        assert_eq!(arm(1.0, 0.5, 0.1).bound(), 0.4);
    }

    /// Two visits with 0.5 and −0.1 have a variance of 0.09, and a quarter of a visit adds 1.4² to it.
    #[test]
    fn a_radius_is_of_what_was_seen_and_of_the_largest_variance_on_top() {
        let one =
            Averages { utility: 0.2, utility_square: 0.13, weight: 1.0, weight_square: 1.0, ..Averages::default() };
        let variance: f64 = 0.09 + 1.4 * 1.4 * 0.25 / 2.25;
        let effective = 2.25 * 2.25 / (2.0 + 0.25 * 0.25);
        let radius = Params::default().radius(&one.times(2), 1.4);
        assert!((radius - 5.0 * (variance / effective).sqrt()).abs() < 1e-9, "{radius}");
        // The mean square may be rounded to less than the square of the mean: the root must not be taken of a negative
        // number.
        let still = Averages { utility_square: 0.04 - 1e-12, ..one };
        assert!((0.0..1e-3).contains(&Params::default().radius(&still.times(1_000_000), 1.4)));
    }

    /// If utilities differ as much as usual, exploration is as it is; if they don't differ, it is less.
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
            let kept = Params::default().prune(&root(100.0, 0.0), &mut arms);
            let most = arms.iter().map(Arm::explored).fold(0.0, f64::max);
            let is_kept = |arm: &Arm| arm.explored() == most && arm.value == kept && arm.weight == kept;
            arms.iter().all(|arm| (0.0..=arm.weight).contains(&arm.value)) && (arms.is_empty() || arms.iter().any(is_kept))
        }

        /// More visits of the same kind make a mean more certain.
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
