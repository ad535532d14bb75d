//! Every formula that decides which edge a playout takes. All of them compute in single precision, with `libm` and this
//! crate's own approximations instead of the system's functions, so that the same answers give the same tree on every
//! machine.

use super::params::{Cpuct, Deviation, Fpu, MovesLeft};
use crate::approx;
use crate::evaluate::Value;
use crate::formula::lcb;

/// Exploration constant at a node with `n` completed visits (AlphaZero's growth; `CPuct`, `CPuctBase`, `CPuctFactor`).
#[inline]
pub fn cpuct(params: &Cpuct, n: u32) -> f32 {
    grown(params, n as f32)
}

#[inline]
fn grown(params: &Cpuct, n: f32) -> f32 {
    if params.factor == 0.0 {
        return params.init;
    }
    params.init + params.factor * approx::ln((n + params.base) / params.base)
}

/// What an edge's prior is multiplied by, before that is divided by one plus the edge's visits: `cpuct · √(N − 1)`. The
/// node's own evaluation is not a visit of a child, hence N − 1.
#[inline]
pub fn exploration(params: &Cpuct, n: u32) -> f32 {
    cpuct(params, n) * libm::sqrtf(n.saturating_sub(1).max(1) as f32)
}

/// The same factor if visits have weights, where `weight` is that of all the moves' visits together: `cpuct · √(weight
/// + 0.01)` (KataGo).
#[inline]
pub fn exploration_by_weight(params: &Cpuct, weight: f32) -> f32 {
    grown(params, weight) * libm::sqrtf(weight + WEIGHT_OF_NONE as f32)
}

/// KataGo adds this to the weight of the moves' visits: it keeps exploration above 0 if nothing was visited.
pub const WEIGHT_OF_NONE: f64 = 0.01;

/// The factor of exploration at a node whose mean is `value`; `n` is the number of its visits, or their total weight:
/// see [`Deviation`].
#[inline(never)]
pub fn deviation_factor(params: &Deviation, n: f32, value: Value) -> f32 {
    if n <= 1.0 {
        return 1.0;
    }
    let square = value.wl * value.wl;
    let outcomes = square + lcb::variance(value.wl, value.d, 0.0);
    let all = (square + params.usual * params.usual) * params.weight + outcomes * n;
    let deviation = libm::sqrtf((all / (params.weight + n - 1.0) - square).max(0.0));
    1.0 + params.scale * (deviation / params.usual - 1.0)
}

/// U of an edge: `P · exploration / (1 + N)`, where N includes the visits in flight.
pub fn u(p: f32, exploration: f32, n_started: u32) -> f32 {
    p * exploration / (1 + n_started) as f32
}

/// U of an edge if visits have weights: `weight` is the total weight of the edge's visits, including those in flight.
pub fn u_of_weight(p: f32, exploration: f32, weight: f32) -> f32 {
    p * exploration / (1.0 + weight)
}

/// An edge whose value is known.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Arm {
    /// Completed visits.
    pub n: u32,
    /// Value to the side to move at the parent.
    pub q: f32,
    /// Prior.
    pub p: f32,
}

impl Arm {
    /// How many visits bring the edge's Q + U down to `level`; at least as many as it has.
    pub fn raised(&self, level: Level) -> u32 {
        let u = level.above + (level.highest_q - self.q);
        // `as` turns what is negative or not a number into 0.
        self.n.max((self.p * level.exploration / u - 1.0) as u32)
    }
}

/// A level of Q + U.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Level {
    highest_q: f32,
    /// How far the level is above the highest Q. Single precision could not resolve so small a difference in a sum.
    above: f32,
    /// The factor of the priors in U.
    exploration: f32,
}

/// The level of Q + U that PUCT reaches with `more` further visits if every Q stays as it is: when all edges above the
/// level have been brought down to it, these visits are spent. (It is the limit that PUCT's visits tend to: Grill et
/// al., Monte-Carlo tree search as regularized policy optimization, 2020.) `None` if no edge has a prior.
pub fn level(arms: &[Arm], exploration: f32, more: u32) -> Option<Level> {
    let open = || arms.iter().filter(|arm| arm.p > 0.0);
    let highest_q = open().map(|arm| arm.q).reduce(f32::max)?;
    let level = |above| Level { highest_q, above, exploration };
    let spent = |above| arms.iter().map(|arm| (arm.raised(level(above)) - arm.n) as f32).sum::<f32>();
    let mut low = 0.0;
    let mut high = open().map(|arm| arm.q - highest_q + u(arm.p, exploration, arm.n)).fold(low, f32::max);
    for _ in 0..LEVEL_STEPS {
        let middle = (low + high) / 2.0;
        if spent(middle) > more as f32 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(level(high))
}

/// How often the interval that contains the level is halved: it can be much longer than the values to which U is
/// brought down.
const LEVEL_STEPS: u32 = 40;

/// The value of an unvisited edge (first-play urgency) to the side to move at a parent worth `parent_q`.
/// `visited_policy` is the sum of the priors that were visited.
pub fn fpu(strategy: Fpu, parent_q: f32, visited_policy: f32) -> f32 {
    match strategy {
        Fpu::Reduction(value) => parent_q - value * libm::sqrtf(visited_policy),
        Fpu::Absolute(value) => value,
    }
}

/// The moves-left utility of the edges of one parent.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MovesLeftUtility {
    params: MovesLeft,
    parent_m: f32,
}

impl MovesLeftUtility {
    /// `None` if it has no effect, because the parent's result is open.
    pub fn of(params: Option<MovesLeft>, parent: Value) -> Option<Self> {
        let params = params?;
        (libm::fabsf(parent.wl) > params.threshold).then_some(Self { params, parent_m: parent.m })
    }

    /// What to add to the `q` of a child that has `m` plies left: a win should be short, a loss long.
    pub fn of_child(&self, q: f32, m: f32) -> f32 {
        let MovesLeft { max_effect, threshold, slope, constant, scaled, quadratic } = self.params;
        let effect = (slope * (m - self.parent_m)).min(max_effect).max(-max_effect); // `clamp` may panic
        let strength = libm::fabsf(q);
        let certainty = if threshold > 0.0 && threshold < 1.0 {
            (strength - threshold).max(0.0) / (1.0 - threshold)
        } else {
            strength
        };
        libm::copysignf(effect, -q * effect) * (constant + scaled * certainty + quadratic * certainty * certainty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuct_grows_as_in_lc0() {
        let expected = [
            (1, 1.7451),
            (100, 1.75504),
            (1000, 1.84424),
            (10_000, 2.63919),
            (100_000, 6.71276),
            (1_000_000, 14.55204),
        ];
        for (n, c) in expected {
            // The values are those of an exact logarithm; ours may be 0.0053 off, times the factor.
            assert!((cpuct(&Cpuct::default(), n) - c).abs() < 0.0053 * 3.894, "N = {n}");
        }
    }

    /// Playout by playout, PUCT comes to the same visits as by the level.
    #[test]
    fn the_level_is_where_puct_goes() {
        let start = [(400, 0.10, 0.3), (900, 0.05, 0.2), (50, 0.12, 0.01), (20, -0.3, 0.4), (7, 0.9, 0.0)];
        let arms = start.map(|(n, q, p)| Arm { n, q, p });
        for more in [1, 100, 3000, 50_000] {
            let e = exploration(&Cpuct::default(), arms.iter().map(|arm| arm.n).sum::<u32>() + more);
            let mut played = arms;
            for _ in 0..more {
                let score = |arm: &Arm| if arm.p > 0.0 { arm.q + u(arm.p, e, arm.n) } else { f32::NEG_INFINITY };
                let best = (0..played.len()).max_by(|&a, &b| score(&played[a]).total_cmp(&score(&played[b]))).unwrap();
                played[best].n += 1;
            }
            let level = level(&arms, e, more).unwrap();
            for (arm, played) in arms.iter().zip(played) {
                let (n, tolerance) = (arm.raised(level), 2 + played.n / 1000);
                assert!(n.abs_diff(played.n) <= tolerance, "{more} more: {n}, played {}", played.n);
            }
        }
        assert_eq!(level(&[Arm { n: 3, q: 0.5, p: 0.0 }], 10.0, 5), None);
    }

    /// The best move's U is less than half a step between two values near its Q.
    #[test]
    fn a_level_hardly_above_the_best_q_is_told_apart() {
        for (p, more) in [(1e-6, 80_000), (3e-6, 400_000), (1e-5, 400_000)] {
            let best = Arm { n: 4 * more, q: 0.62, p };
            let level = level(&[best, Arm { n: more, q: 0.5, p: 0.9 }], 2000.0, more).unwrap();
            let raised = best.raised(level);
            assert!(raised.abs_diff(5 * more) <= more / 1000, "{p}: {raised}");
        }
    }

    #[test]
    fn moves_left_prefers_short_wins_and_long_losses() {
        let cases = [
            (20.0, 30.0, 0.9, 0.017902),
            (40.0, 30.0, 0.9, -0.017902),
            (20.0, 30.0, -0.9, -0.017902),
            (40.0, 30.0, -0.95, 0.023551),
            (5.0, 60.0, 1.0, 0.0345),
            (115.0, 60.0, 1.0, -0.0345),
            (20.0, 30.0, 0.7, 0.0),
        ];
        for (m, parent_m, q, expected) in cases {
            let parent = Value { wl: 0.95, d: 0.0, m: parent_m };
            let utility = MovesLeftUtility::of(Some(MovesLeft::default()), parent).unwrap().of_child(q, m);
            assert!((utility - expected).abs() < 1e-5, "{m} {parent_m} {q}: {utility}");
        }
        let counts = |wl| MovesLeftUtility::of(Some(MovesLeft::default()), Value { wl, d: 0.0, m: 9.0 }).is_some();
        assert_eq!([0.95, 0.8, 0.79, -0.79, -0.8, -0.95].map(counts), [true, false, false, false, false, true]);
    }

    /// The variance of a value v is 1 − D − v², since W + L is its mean square. The usual deviation changes nothing.
    #[test]
    fn exploration_follows_the_deviation() {
        let params = Deviation { usual: 0.4, weight: 2.0, scale: 0.85 };
        let of = |wl: f32, square: f32| Value { wl, d: 1.0 - square, m: 0.0 };
        assert_eq!(deviation_factor(&params, 1.0, of(0.3, 0.09)), 1.0);
        assert!((deviation_factor(&params, 1e6, of(0.3, 0.09 + 0.16)) - 1.0).abs() < 1e-3);
        // Two visits beside the two of the usual deviation, all with a mean square of 0.25: the mean counts as known.
        let deviation = (0.25 * 4.0 / 3.0 - 0.09_f32).sqrt();
        let expected = 1.0 + 0.85 * (deviation / 0.4 - 1.0);
        assert!((deviation_factor(&params, 2.0, of(0.3, 0.25)) - expected).abs() < 1e-5);
        assert!((deviation_factor(&params, 1e6, of(0.3, 0.09)) - 0.15).abs() < 1e-2);
        assert!((deviation_factor(&params, 1e6, of(0.0, 0.64)) - 1.85).abs() < 1e-3);
    }

    #[test]
    fn fpu_falls_with_the_policy_seen() {
        assert_eq!(fpu(Fpu::Reduction(0.5), 0.3, 0.25), 0.3 - 0.25);
        assert_eq!(fpu(Fpu::Absolute(-1.0), 0.3, 0.25), -1.0);
    }
}
