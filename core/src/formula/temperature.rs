//! Playing by chance: the temperature at each move of the game, and the choice among the root's moves.
//!
//! The formulas are Lc0's (`Temperature` and `Temp…`). The temperature flattens or sharpens the distribution of the
//! visits: at 1 a move is played with a probability proportional to its visits; towards 0 only the most visited one
//! remains.

/// The options `Temperature` and `Temp…`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Temperature {
    /// `Temperature`: the temperature at the first move; at 0 the best move is always played.
    pub start: f32,
    /// `TempDecayMoves`: over how many moves the temperature falls to 0; 0: it does not fall.
    pub decay_moves: u32,
    /// `TempDecayDelayMoves`: how many moves are played before it begins to fall.
    pub decay_delay_moves: u32,
    /// `TempCutoffMove`: the move, counted from 1, from which on `endgame` is used instead; 0: never.
    pub cutoff_move: u32,
    /// `TempEndgame`: the temperature from the cutoff on, and the least to which a decaying one falls.
    pub endgame: f32,
    /// `TempValueCutoff`: moves whose winning chances are lower than the most visited move's by more than this are left
    /// out, in percent, in `[0, 100]`. A value below 0 would leave out the most visited move, and keep losing ones.
    pub value_cutoff: f32,
    /// `TempVisitOffset`: added to each move's visits, in `[-1000, 1000]`.
    pub visit_offset: f32,
}

impl Default for Temperature {
    fn default() -> Self {
        Self {
            start: 0.0,
            decay_moves: 0,
            decay_delay_moves: 0,
            cutoff_move: 0,
            endgame: 0.0,
            value_cutoff: 100.0,
            visit_offset: 0.0,
        }
    }
}

/// A root move to choose from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Completed visits.
    pub n: u32,
    /// Value to the side to move, draw score included, in `[-1, 1]`; for an unvisited move, the root's first-play
    /// urgency.
    pub q: f32,
    /// Prior, in `[0, 1]`.
    pub p: f32,
}

/// One percent of winning chances in units of Q, which goes from −1 to 1.
const PERCENT: f32 = 1.0 / 50.0;

impl Temperature {
    /// The temperature after `ply` half moves of the game. 0 means that the best move is played.
    pub fn at(&self, ply: u32) -> f32 {
        let played = ply / 2;
        // `played + 1 ≥ cutoff`, without the overflow.
        if self.cutoff_move > 0 && played >= self.cutoff_move - 1 {
            return self.endgame;
        }
        if self.start == 0.0 || self.decay_moves == 0 {
            return self.start;
        }
        let left = self.decay_moves.saturating_sub(played.saturating_sub(self.decay_delay_moves));
        (self.start * (left as f32 / self.decay_moves as f32)).max(self.endgame)
    }

    /// Chooses among the root's moves: each with a probability that is proportional to `((N + offset) / max)^(1/T)`,
    /// with `max` the largest `N + offset`. If that is not above 0, the priors take the place of the visits. `uniform`
    /// is a random number in `[0, 1)`.
    ///
    /// The iterator is gone through several times, and the visits may change in between: so the move itself is
    /// returned, not its index.
    ///
    /// `None` if there is no move. A temperature of 0 leaves the moves with the most visits. As in Lc0, proofs are not
    /// taken into account: `value_cutoff` is what leaves out lost moves.
    pub fn choose<M>(
        &self,
        temperature: f32,
        moves: impl Iterator<Item = (M, Candidate)> + Clone,
        uniform: f32,
    ) -> Option<M> {
        let visits = |c: &Candidate| c.n as f32 + self.visit_offset;
        let candidates = moves.clone().map(|(_, c)| c);
        // Of equals the first, which has the larger prior.
        let most = candidates.clone().reduce(|most, c| if visits(&c) > visits(&most) { c } else { most })?;
        let by_visits = visits(&most) > 0.0;
        let scale =
            if by_visits { visits(&most) } else { candidates.clone().map(|c| c.p).fold(f32::MIN_POSITIVE, f32::max) };
        // If no move has a visit that counts, there is no move whose value the others could be compared with.
        let least_q = if by_visits { most.q - self.value_cutoff * PERCENT } else { f32::NEG_INFINITY };
        let weight = |c: Candidate| {
            let share = if by_visits { visits(&c) } else { c.p } / scale;
            // Not `q >= least_q`: a value that is not a number must not leave the caller without a move.
            if c.q < least_q { 0.0 } else { libm::powf(share.max(0.0), 1.0 / temperature) }
        };

        let toss = uniform * candidates.map(weight).sum::<f32>();
        let mut below = 0.0;
        let mut chosen = None;
        let weights = moves.clone().map(|(mv, c)| (mv, weight(c)));
        for (mv, weight) in weights.filter(|(_, weight)| *weight > 0.0) {
            chosen = Some(mv);
            below += weight;
            if below > toss {
                break;
            }
        }
        // If rounding puts the toss beyond the last move, that one is chosen; if all priors are 0, the first one.
        chosen.or_else(|| moves.map(|(mv, _)| mv).next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::random::Random;
    use quickcheck::quickcheck;
    use std::vec::Vec;

    fn moves(list: &[(u32, f32, f32)]) -> Vec<Candidate> {
        list.iter().map(|&(n, q, p)| Candidate { n, q, p }).collect()
    }

    fn choose(params: &Temperature, temperature: f32, list: &[(u32, f32, f32)], uniform: f32) -> Option<usize> {
        params.choose(temperature, moves(list).into_iter().enumerate(), uniform)
    }

    /// How often each of `list` is chosen, of `count` times.
    fn frequencies(params: &Temperature, temperature: f32, list: &[(u32, f32, f32)], count: u32) -> Vec<u32> {
        let mut random = Random::new(2024);
        let mut counts = std::vec![0; list.len()];
        for _ in 0..count {
            counts[choose(params, temperature, list, random.uniform()).unwrap()] += 1;
        }
        counts
    }

    /// Pearson's χ² of counts against the probabilities that they should have.
    fn chi2(counts: &[u32], expected: &[f64]) -> f64 {
        let count = f64::from(counts.iter().sum::<u32>());
        let cell = |(&n, &p): (&u32, &f64)| {
            if p == 0.0 {
                assert_eq!(n, 0, "an impossible choice");
                return 0.0;
            }
            (f64::from(n) - count * p) * (f64::from(n) - count * p) / (count * p)
        };
        counts.iter().zip(expected).map(cell).sum()
    }

    #[test]
    fn constant_by_default() {
        let warm = Temperature { start: 0.7, endgame: 0.9, ..Temperature::default() };
        assert_eq!([0, 1, 40, u32::MAX].map(|ply| warm.at(ply)), [0.7; 4]);
        assert_eq!([0, 1, 40, u32::MAX].map(|ply| Temperature::default().at(ply)), [0.0; 4]);
    }

    /// Two moves of delay, then down in four; a move is two plies.
    #[test]
    fn decay_after_a_delay() {
        let decaying = Temperature { start: 0.8, decay_delay_moves: 2, decay_moves: 4, ..Temperature::default() };
        let expected = [0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.6, 0.6, 0.4, 0.4, 0.2, 0.2, 0.0, 0.0];
        for (ply, expected) in (0..).zip(expected) {
            assert!((decaying.at(ply) - expected).abs() < 1e-6, "ply {ply}: {}", decaying.at(ply));
        }
        let floor = Temperature { endgame: 0.3, ..decaying };
        assert_eq!([0, 8, 10, 100].map(|ply| floor.at(ply)), [0.8, decaying.at(8), 0.3, 0.3]);
        assert_eq!(Temperature { decay_moves: u32::MAX, decay_delay_moves: u32::MAX, ..decaying }.at(u32::MAX), 0.8);
    }

    #[test]
    fn the_cutoff_counts_for_more() {
        let cut = Temperature { start: 0.8, decay_moves: 100, cutoff_move: 3, endgame: 0.1, ..Temperature::default() };
        // Move 3 begins at ply 4.
        assert!(cut.at(3) > 0.7);
        assert_eq!([4, 5, 200].map(|ply| cut.at(ply)), [0.1; 3]);
        assert_eq!(Temperature { cutoff_move: 1, ..cut }.at(0), 0.1);
        assert_eq!(Temperature { start: 0.0, ..cut }.at(200), 0.1, "also where the game begins cold");
    }

    /// 60, 30 and 10 visits: the sums of the weights are 0.6, 0.9 and 1 at temperature 1.
    #[test]
    fn the_toss_lands_where_it_should() {
        let list = [(60, 0.0, 0.3), (30, 0.0, 0.3), (10, 0.0, 0.4)];
        let at = |uniform| choose(&Temperature::default(), 1.0, &list, uniform);
        assert_eq!([0.0, 0.59, 0.61, 0.89, 0.91, 0.9999999].map(|u| at(u).unwrap()), [0, 0, 1, 1, 2, 2]);
        assert_eq!(at(1.0), Some(2), "a toss out of its range");
        let alike = [(50, 0.0, 0.5), (50, 0.0, 0.5)];
        assert_eq!(choose(&Temperature::default(), 1.0, &alike, 0.5), Some(1), "as many numbers for each");
        assert_eq!(choose(&Temperature::default(), 1.0, &[], 0.5), None);
    }

    #[test]
    fn proportional_to_the_visits() {
        let list = [(60, 0.0, 0.1), (30, 0.0, 0.1), (10, 0.0, 0.1), (0, 0.0, 0.7)];
        // Three degrees of freedom, or two: below 16 in 99.9% of all seeds.
        let chi2_at = |temperature, expected: &[f64]| {
            chi2(&frequencies(&Temperature::default(), temperature, &list, 20_000), expected)
        };
        assert!(chi2_at(1.0, &[0.6, 0.3, 0.1, 0.0]) < 16.0);
        // Squares: 36 : 9 : 1.
        assert!(chi2_at(0.5, &[36.0 / 46.0, 9.0 / 46.0, 1.0 / 46.0, 0.0]) < 16.0);
        // Square roots.
        let roots = [60.0_f64.sqrt(), 30.0_f64.sqrt(), 10.0_f64.sqrt()];
        let sum: f64 = roots.iter().sum();
        assert!(chi2_at(2.0, &[roots[0] / sum, roots[1] / sum, roots[2] / sum, 0.0]) < 16.0);
    }

    #[test]
    fn the_offset_counts_as_visits() {
        let list = [(60, 0.0, 0.5), (30, 0.0, 0.2), (10, 0.0, 0.2), (0, 0.0, 0.1)];
        let with = |visit_offset, expected: &[f64]| {
            let params = Temperature { visit_offset, ..Temperature::default() };
            chi2(&frequencies(&params, 1.0, &list, 20_000), expected)
        };
        // 50 : 20 : 0 : below 0.
        assert!(with(-10.0, &[5.0 / 7.0, 2.0 / 7.0, 0.0, 0.0]) < 16.0);
        // 70 : 40 : 20 : 10.
        assert!(with(10.0, &[0.5, 40.0 / 140.0, 20.0 / 140.0, 10.0 / 140.0]) < 16.0);
        // Nothing is left: the priors.
        assert!(with(-60.0, &[0.5, 0.2, 0.2, 0.1]) < 16.0);
    }

    #[test]
    fn bad_moves_are_left_out() {
        let list = [(60, 0.5, 0.1), (30, 0.31, 0.1), (10, 0.29, 0.1), (1, 0.9, 0.1)];
        let params = Temperature { value_cutoff: 10.0, ..Temperature::default() };
        // Ten percent are 0.2 in Q.
        let counts = frequencies(&params, 1.0, &list, 20_000);
        assert!(chi2(&counts, &[60.0 / 91.0, 30.0 / 91.0, 0.0, 1.0 / 91.0]) < 16.0, "{counts:?}");
        // Against the most visited, whatever its value.
        let counts = frequencies(&Temperature { value_cutoff: 0.0, ..params }, 1.0, &list, 1000);
        assert!(counts[1] == 0 && counts[2] == 0 && counts[3] > 0, "{counts:?}");
        // Of two that are visited as often, the first, which has the larger prior.
        let alike = [(50, 0.5, 0.4), (50, 0.0, 0.3), (50, 0.9, 0.3)];
        let counts = frequencies(&params, 1.0, &alike, 1000);
        assert!(counts[0] > 0 && counts[1] == 0 && counts[2] > 0, "{counts:?}");
        // Without visits, no move is left out for the value that none of them has.
        let unvisited = [(0, 0.5, 0.5), (0, -0.9, 0.5)];
        assert!(frequencies(&Temperature { value_cutoff: 0.0, ..params }, 1.0, &unvisited, 1000)[1] > 400);
    }

    #[test]
    fn cold_is_the_most_visited() {
        let list = [(59, 0.0, 0.4), (60, 0.0, 0.3), (10, 0.0, 0.3)];
        for temperature in [0.0, 1e-40, 0.001] {
            assert_eq!(frequencies(&Temperature::default(), temperature, &list, 100), [0, 100, 0], "{temperature}");
        }
        // Priors that would vanish in their power are held against the largest.
        let unvisited = [(0, 0.0, 0.01), (0, 0.0, 0.02), (0, 0.0, 0.01)];
        assert_eq!(frequencies(&Temperature::default(), 0.01, &unvisited, 100), [0, 100, 0]);
        assert_eq!(choose(&Temperature::default(), 1.0, &[(0, 0.0, 0.0), (0, 0.0, 0.0)], 0.9), Some(0));
    }

    quickcheck! {
        /// Whatever the numbers are, a move that exists is chosen, and never one without weight.
        fn a_choice_is_made(list: Vec<(u16, i8, u8)>, t: u8, offset: i8, cutoff: u8, toss: u16) -> bool {
            let list: Vec<(u32, f32, f32)> =
                list.into_iter().map(|(n, q, p)| (n.into(), f32::from(q) / 128.0, f32::from(p) / 256.0)).collect();
            let params = Temperature {
                visit_offset: offset.into(),
                value_cutoff: f32::from(cutoff) / 2.55,
                ..Temperature::default()
            };
            let uniform = f32::from(toss) / 65536.0;
            let Some(at) = choose(&params, f32::from(t) / 64.0, &list, uniform) else { return list.is_empty() };
            let counts = |n: u32| n as f32 + params.visit_offset > 0.0;
            counts(list[at].0) || !list.iter().any(|&(n, _, _)| counts(n))
        }
    }
}
