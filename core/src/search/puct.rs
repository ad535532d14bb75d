//! Every formula that decides which edge a playout takes. All of them are single precision and use `libm`, so that
//! the same answers give the same tree on every machine.

use super::params::{Cpuct, Fpu, MovesLeft};
use crate::approx;
use crate::evaluate::Value;

/// Exploration constant at a node with `n` completed visits (AlphaZero's growth; `CPuct`, `CPuctBase`, `CPuctFactor`).
pub fn cpuct(params: &Cpuct, n: u32) -> f32 {
    if params.factor == 0.0 {
        return params.init;
    }
    params.init + params.factor * approx::ln((n as f32 + params.base) / params.base)
}

/// What an edge's prior is multiplied by before it is divided by one plus the edge's visits: `cpuct · √(N − 1)`.
/// The node's own evaluation is no visit of a child, hence N − 1.
pub fn exploration(params: &Cpuct, n: u32) -> f32 {
    cpuct(params, n) * libm::sqrtf(n.saturating_sub(1).max(1) as f32)
}

/// U of an edge: `P · exploration / (1 + N)`, N with the visits in flight.
pub fn u(p: f32, exploration: f32, n_started: u32) -> f32 {
    p * exploration / (1 + n_started) as f32
}

/// What an unvisited edge is worth to the side to move at a parent worth `parent_q`.
pub fn fpu(strategy: Fpu, parent_q: f32, visited_policy: f32) -> f32 {
    match strategy {
        Fpu::Reduction(value) => parent_q - value * libm::sqrtf(visited_policy),
        Fpu::Absolute(value) => value,
    }
}

/// The moves-left utility of edges of one parent.
#[derive(Clone, Copy, Debug)]
pub struct MovesLeftUtility {
    params: MovesLeft,
    parent_m: f32,
}

impl MovesLeftUtility {
    /// `None` where it has no effect: the parent's result is open.
    pub fn of(params: Option<MovesLeft>, parent: Value) -> Option<Self> {
        let params = params?;
        (libm::fabsf(parent.wl) > params.threshold).then_some(Self { params, parent_m: parent.m })
    }

    /// To be added to the `q` of a child that has `m` plies left: a win should be short, a loss long.
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

    #[test]
    fn moves_left_prefers_short_wins_and_long_losses() {
        let cases = [
            (20.0, 30.0, 0.9, 0.017902),
            (40.0, 30.0, 0.9, -0.017902),
            (20.0, 30.0, -0.9, -0.017902),
            (40.0, 30.0, -0.95, 0.023551),
            (5.0, 60.0, 1.0, 0.0345),
            (20.0, 30.0, 0.7, 0.0),
        ];
        for (m, parent_m, q, expected) in cases {
            let parent = Value { wl: 0.95, d: 0.0, m: parent_m };
            let utility = MovesLeftUtility::of(Some(MovesLeft::default()), parent).unwrap().of_child(q, m);
            assert!((utility - expected).abs() < 1e-5, "{m} {parent_m} {q}: {utility}");
        }
        assert!(MovesLeftUtility::of(Some(MovesLeft::default()), Value { wl: 0.79, d: 0.0, m: 9.0 }).is_none());
    }

    #[test]
    fn fpu_falls_with_the_policy_seen() {
        assert_eq!(fpu(Fpu::Reduction(0.5), 0.3, 0.25), 0.3 - 0.25);
        assert_eq!(fpu(Fpu::Absolute(-1.0), 0.3, 0.25), -1.0);
    }
}
