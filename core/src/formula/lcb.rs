//! The final choice by a lower confidence bound.
//!
//! The most visited move is the one that the search believed in for longest. A move that looked better only lately has
//! a better value and fewer visits. KataGo (and Leela Zero before it) then asks which value is worth most if every move
//! is taken at the lower end of its confidence interval, among the moves that have a fair share of the visits
//! (`useLcbForSelection`, `lcbStdevs`, `minVisitPropForLCB`; `cpp/search/searchhelpers.cpp` there). Lc0 has no such
//! thing: the options are ours.
//!
//! KataGo keeps the sum of the squares of the values below each move. This tree keeps means only, and from them a bound
//! follows. An outcome is +1, `ds` or −1, where `ds` is what a draw is worth. Let one be drawn by taking
//! one of the move's evaluations at random, and then an outcome with that evaluation's W, D and L. Its mean is `q`, and
//! its variance is `W + L + ds²·D − q²`; without a draw score `W + L − (W − L)²`. By the law of total variance this is
//! the variance of the evaluations plus the mean of the variance within each: so it is never less than what KataGo
//! measures. In 200 openings, searched with the built-in network, the deviation of the evaluations was a quarter of the
//! bound's (0.15 to 0.41 in four moves out of five). So one deviation here is about four of KataGo's, which takes five.

/// `FinalChoice`: how the move to play is chosen among the root's moves. Proven results come before either rule.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FinalChoice {
    /// The move with the most visits.
    #[default]
    Visits,
    /// The move with the largest lower confidence bound.
    Lcb(Lcb),
}

/// How the lower confidence bound is computed, and which moves have one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Lcb {
    /// `LcbStdevs`: how many standard deviations below its mean a move's bound is, in `[0, 100]`.
    pub stdevs: f32,
    /// `LcbMinVisitShare`: how many visits a move must have, as a share of the most visited move's, in `[0, 1]`.
    pub min_visit_share: f32,
}

impl Default for Lcb {
    /// KataGo's share of visits. In the 200 openings that [the module](self) speaks of, anything from 0.5 to 2
    /// deviations chose about equally well after 100 to 1600 visits, held against the values after 8000.
    fn default() -> Self {
        Self { stdevs: 1.0, min_visit_share: 0.15 }
    }
}

/// A root move to choose from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visited {
    /// Completed visits.
    pub n: u32,
    /// Mean value to the side to move, draw score included, in `[-1, 1]`.
    pub q: f32,
    /// Mean probability of a draw.
    pub d: f32,
}

/// Variance of an outcome whose mean is `q` and draw probability `d`, if a draw is worth `draw_score`. This is an upper
/// bound of the variance of the evaluations that the mean is made of.
pub fn variance(q: f32, d: f32, draw_score: f32) -> f32 {
    (1.0 - d + draw_score * draw_score * d - q * q).max(0.0)
}

impl Lcb {
    /// The lower confidence bound of a move: `q − stdevs·√(variance / n)`. Minus infinity for a move without a visit.
    ///
    /// As in KataGo, an observation of weight `1/n²` with the largest possible variance is mixed in: 1, that of a game
    /// which is won or lost by the toss of a coin. It keeps one lucky visit from looking certain, and with ten visits
    /// it hardly matters.
    pub fn bound(&self, of: Visited, draw_score: f32) -> f32 {
        if of.n == 0 {
            return f32::NEG_INFINITY;
        }
        const LARGEST_VARIANCE: f32 = 1.0;
        let n = of.n as f32;
        let prior = 1.0 / (n * n);
        let weight = n + prior;
        let variance = variance(of.q, of.d, draw_score) + LARGEST_VARIANCE * prior / weight;
        let effective_visits = weight * weight / (n + prior * prior);
        of.q - self.stdevs * libm::sqrtf(variance / effective_visits)
    }

    /// The move with the best bound among those with enough visits; of equal ones the one with more visits, then the
    /// first. `None` if no move has a visit.
    ///
    /// The iterator is gone through twice, and the visits may change in between: so the move itself is returned, not
    /// its index.
    pub fn choose<M>(&self, moves: impl Iterator<Item = (M, Visited)> + Clone, draw_score: f32) -> Option<M> {
        let most = moves.clone().map(|(_, m)| m.n).max().filter(|&n| n > 0)?;
        // The most visited move is always among them.
        let least = self.min_visit_share.min(1.0) * most as f32;
        let eligible = moves.filter(|(_, m)| m.n > 0 && (m.n == most || m.n as f32 >= least));
        let bounds = eligible.map(|(mv, m)| (mv, self.bound(m, draw_score), m.n));
        let better = |a: &(M, f32, u32), b: &(M, f32, u32)| a.1.total_cmp(&b.1).then(a.2.cmp(&b.2)).is_gt();
        bounds.reduce(|best, next| if better(&next, &best) { next } else { best }).map(|(mv, _, _)| mv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;
    use std::vec::Vec;

    fn visited(n: u32, q: f32, d: f32) -> Visited {
        Visited { n, q, d }
    }

    fn choose(lcb: Lcb, moves: &[(u32, f32, f32)]) -> Option<usize> {
        lcb.choose(moves.iter().map(|&(n, q, d)| visited(n, q, d)).enumerate(), 0.0)
    }

    #[test]
    fn the_variance_of_an_outcome() {
        // W = 0.5, D = 0.3, L = 0.2: 0.7 − 0.09.
        assert!((variance(0.3, 0.3, 0.0) - 0.61).abs() < 1e-6);
        // A draw is worth −0.5: q = 0.3 − 0.15, second moment 0.7 + 0.075.
        assert!((variance(0.15, 0.3, -0.5) - (0.775 - 0.0225)).abs() < 1e-6);
        assert_eq!([variance(1.0, 0.0, 0.0), variance(0.0, 1.0, 0.0), variance(1.5, 0.0, 0.0)], [0.0; 3]);
        assert_eq!(variance(0.0, 0.0, 0.0), 1.0);
    }

    #[test]
    fn the_bound() {
        let lcb = Lcb { stdevs: 2.0, min_visit_share: 0.15 };
        // Many visits: the mixed-in observation is nothing. √(0.61 / 10000) = 0.0078102.
        assert!((lcb.bound(visited(10_000, 0.3, 0.3), 0.0) - (0.3 - 2.0 * 0.0078102)).abs() < 1e-6);
        // One: half of the variance is that of the coin that is mixed in, and both count as two observations.
        assert!((lcb.bound(visited(1, 0.3, 0.3), 0.0) - (0.3 - 2.0 * (1.11_f32 / 2.0).sqrt())).abs() < 1e-6);
        assert_eq!(lcb.bound(visited(0, 0.9, 0.0), 0.0), f32::NEG_INFINITY);
    }

    #[test]
    fn a_late_better_move_is_played() {
        let lcb = Lcb::default();
        // √(0.5 / 600) = 0.029, √(0.5 / 300) = 0.041.
        assert_eq!(choose(lcb, &[(600, 0.0, 0.5), (300, 0.1, 0.5)]), Some(1));
        assert_eq!(choose(lcb, &[(600, 0.0, 0.5), (300, 0.005, 0.5)]), Some(0));
        // Too few visits.
        assert_eq!(choose(lcb, &[(600, 0.0, 0.5), (89, 0.9, 0.1)]), Some(0));
        assert_eq!(choose(lcb, &[(600, 0.0, 0.5), (90, 0.9, 0.1)]), Some(1));
        // A doubtful value: more visits are asked for where games are decided.
        assert_eq!(choose(lcb, &[(600, 0.0, 0.95), (300, 0.01, 0.5)]), Some(0));
    }

    #[test]
    fn the_ends() {
        let lcb = Lcb::default();
        assert_eq!(choose(lcb, &[]), None);
        assert_eq!(choose(lcb, &[(0, 0.0, 0.0), (0, 0.5, 0.0)]), None);
        assert_eq!(choose(lcb, &[(0, 0.0, 0.0), (1, -1.0, 0.0)]), Some(1));
        assert_eq!(choose(lcb, &[(5, 0.1, 0.5), (5, 0.1, 0.5)]), Some(0), "the first of equals");
        let all = Lcb { min_visit_share: 7.0, ..lcb };
        assert_eq!(choose(all, &[(5, 0.1, 0.5), (6, 0.0, 0.5)]), Some(1), "the most visited is always eligible");
        let means = Lcb { stdevs: 0.0, min_visit_share: 0.0 };
        assert_eq!(choose(means, &[(500, 0.1, 0.5), (1, 0.2, 0.5), (0, 0.9, 0.5)]), Some(1));
        assert_eq!(choose(means, &[(6, 0.1, 0.5), (7, 0.1, 0.5), (5, 0.1, 0.5)]), Some(1), "of equals, by visits");
    }

    /// The bound that the choice rests on: outcomes vary at least as much as the evaluations that they are drawn from.
    #[test]
    fn the_variance_bounds_that_of_the_evaluations() {
        fn holds(evaluations: Vec<(u8, u8, u8)>, draw_score: i8) -> bool {
            let draw_score = f32::from(draw_score) / 128.0;
            let n = evaluations.len() as f32;
            let values: Vec<(f32, f32)> = evaluations
                .iter()
                .map(|&(w, d, l)| {
                    let sum = f32::from(w) + f32::from(d) + f32::from(l) + 1e-3;
                    let [w, d, l] = [w, d, l].map(|part| f32::from(part) / sum);
                    (w - l + draw_score * d, d)
                })
                .collect();
            let mean = values.iter().map(|v| v.0).sum::<f32>() / n;
            let d = values.iter().map(|v| v.1).sum::<f32>() / n;
            let measured = values.iter().map(|v| (v.0 - mean) * (v.0 - mean)).sum::<f32>() / n;
            values.is_empty() || measured <= variance(mean, d, draw_score) + 1e-5
        }
        quickcheck::quickcheck(holds as fn(Vec<(u8, u8, u8)>, i8) -> bool);
    }

    quickcheck! {
        fn more_visits_make_it_surer(n: u16, more: u16, q: i8, d: u8) -> bool {
            let q = f32::from(q) / 128.0;
            let d = f32::from(d) / 255.0 * (1.0 - q.abs());
            let n = u32::from(n) + 1;
            let bound = |n| Lcb::default().bound(visited(n, q, d), 0.0);
            bound(n) <= bound(n + u32::from(more)) + 1e-6 && bound(n) <= q
        }
    }
}
