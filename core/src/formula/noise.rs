//! Dirichlet noise on the root's priors.
//!
//! AlphaZero's way to try moves at the root that the policy thinks nothing of (Silver et al., "A general reinforcement
//! learning algorithm that masters chess, shogi, and Go through self-play", Science 362, 2018, "Methods"). It is meant
//! for training games; games that should be won are played without it.

use super::random::Random;

/// How much noise there is, and of what shape.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Dirichlet {
    /// `DirichletNoiseEpsilon`: the noise's share of the new priors, in `[0, 1]`; 0 means no noise.
    pub epsilon: f32,
    /// `DirichletNoiseAlpha`: the smaller it is, the fewer moves get most of the noise.
    pub alpha: f32,
}

impl Default for Dirichlet {
    /// Lc0's defaults: no noise, and the alpha that AlphaZero had for chess.
    fn default() -> Self {
        Self { epsilon: 0.0, alpha: 0.3 }
    }
}

impl Dirichlet {
    /// True if there is no noise: priors stay as they are.
    pub fn is_off(&self) -> bool {
        self.epsilon <= 0.0 || self.epsilon.is_nan()
    }

    /// Mixes noise into priors: `P = (1 − ε)·P + ε·η / Σ η` with `η ~ Gamma(α, 1)`, one for each prior. Priors that add
    /// up to 1 still do. Their order changes: a caller that keeps edges by falling prior has to sort them again.
    ///
    /// Returns whether noise was mixed in. It is not if `epsilon` is 0, nor if `Σ η` is too small for a normal number
    /// of single precision (which happens with few priors and an `alpha` below 0.1): Lc0 leaves the priors alone then,
    /// too.
    ///
    /// Equal generators give equal noise to equal numbers of priors. No list of the η is kept: they are drawn twice,
    /// first for their sum.
    pub fn mix<'p>(&self, priors: impl ExactSizeIterator<Item = &'p mut f32>, random: &mut Random) -> bool {
        if self.is_off() {
            return false;
        }
        let alpha = f64::from(self.alpha);
        let mut again = random.clone();
        let sum: f64 = (0..priors.len()).map(|_| random.gamma(alpha)).sum();
        if sum < f64::from(f32::MIN_POSITIVE) {
            return false;
        }
        for prior in priors {
            let share = (again.gamma(alpha) / sum) as f32;
            *prior = (1.0 - self.epsilon) * *prior + self.epsilon * share;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;
    use std::vec::Vec;

    fn noisy(params: Dirichlet, priors: &[f32], seed: u64) -> Option<Vec<f32>> {
        let mut priors = priors.to_vec();
        params.mix(priors.iter_mut(), &mut Random::new(seed)).then_some(priors)
    }

    #[test]
    fn off_by_default() {
        let mut priors = [0.7, 0.3];
        assert!(!Dirichlet::default().mix(priors.iter_mut(), &mut Random::new(1)));
        assert!(!Dirichlet { epsilon: f32::NAN, alpha: 0.3 }.mix(priors.iter_mut(), &mut Random::new(1)));
        assert_eq!(priors, [0.7, 0.3]);
    }

    #[test]
    fn the_mixture_is_the_formula() {
        let (epsilon, alpha) = (0.25, 0.3);
        let mut random = Random::new(42);
        let eta = [0, 1, 2].map(|_| random.gamma(f64::from(0.3_f32)));
        let sum: f64 = eta.iter().sum();
        let noisy = noisy(Dirichlet { epsilon, alpha }, &[0.6, 0.3, 0.1], 42).unwrap();
        for ((noisy, eta), prior) in noisy.iter().zip(eta).zip([0.6, 0.3, 0.1]) {
            assert!((f64::from(*noisy) - (0.75 * prior + 0.25 * eta / sum)).abs() < 1e-6);
        }
    }

    #[test]
    fn nothing_to_draw_from() {
        let off = |alpha| noisy(Dirichlet { epsilon: 0.5, alpha }, &[0.6, 0.4], 1).is_none();
        assert!(off(0.0) && off(-1.0) && off(f32::NAN) && off(f32::INFINITY));
        assert!(off(1e-30), "all η underflow");
        assert!(noisy(Dirichlet { epsilon: 0.5, alpha: 0.3 }, &[], 1).is_none());
    }

    /// The components of a Dirichlet distribution have mean `1/k` and variance `(k−1)/(k²·(kα+1))`.
    #[test]
    fn noise_alone_is_dirichlet() {
        const MOVES: usize = 5;
        const GAMES: u32 = 20_000;
        let (k, n) = (MOVES as f64, f64::from(GAMES));
        for alpha in [0.3_f32, 1.0, 10.0] {
            let params = Dirichlet { epsilon: 1.0, alpha };
            let mut random = Random::new(9);
            let (mut sum, mut squares) = ([0.0; MOVES], [0.0; MOVES]);
            for _ in 0..GAMES {
                let mut priors = [0.2_f32; MOVES];
                assert!(params.mix(priors.iter_mut(), &mut random));
                for (at, p) in priors.map(f64::from).into_iter().enumerate() {
                    sum[at] += p;
                    squares[at] += (p - 1.0 / k) * (p - 1.0 / k);
                }
            }
            let variance = (k - 1.0) / (k * k * (k * f64::from(alpha) + 1.0));
            for (sum, squares) in sum.into_iter().zip(squares) {
                assert!((sum / n - 1.0 / k).abs() < 5.0 * (variance / n).sqrt(), "alpha {alpha}: mean {}", sum / n);
                assert!((squares / n / variance - 1.0).abs() < 0.06, "alpha {alpha}: variance {}", squares / n);
            }
        }
    }

    quickcheck! {
        fn priors_still_add_up(weights: Vec<u16>, seed: u64, epsilon: u8, alpha: u16) -> bool {
            let sum: f32 = weights.iter().map(|&w| f32::from(w)).sum();
            if sum == 0.0 {
                return true;
            }
            let priors: Vec<f32> = weights.iter().map(|&w| f32::from(w) / sum).collect();
            let params = Dirichlet { epsilon: f32::from(epsilon) / 255.0, alpha: f32::from(alpha) / 1000.0 };
            let Some(noisy) = noisy(params, &priors, seed) else {
                return epsilon == 0 || params.alpha < 0.5;
            };
            noisy.iter().all(|p| (0.0..=1.0).contains(p)) && (noisy.iter().sum::<f32>() - 1.0).abs() < 1e-4
        }

        fn the_seed_decides(seed: u64) -> bool {
            let params = Dirichlet { epsilon: 0.25, alpha: 0.3 };
            let of = |seed| noisy(params, &[0.5, 0.25, 0.25], seed);
            of(seed) == of(seed) && of(seed) != of(seed.wrapping_add(1))
        }
    }
}
