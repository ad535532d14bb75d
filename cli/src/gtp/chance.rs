//! The part of chance in the choice of a move, as in KataGo (`chosenMoveTemperature` and related parameters), so that
//! no two games need be alike.

use oncilla_core::formula::random::Random;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};

use super::settings::Settings;

/// Halflives are given for a board with sides of this many points.
const SIDE: f64 = 19.0;

/// Below this temperature chance plays no part: the best move is played.
const COLD: f64 = 1e-4;

/// Of the best move's visits, at most one part in `MOST_TAKEN` is taken away, as in KataGo.
const MOST_TAKEN: f64 = 64.0;

/// The generator of random numbers for choices. A seed (`searchRandSeed`) always gives the same numbers; without one
/// they differ each time.
pub fn random(seed: Option<&str>) -> Random {
    let number = seed.map_or_else(
        || RandomState::new().build_hasher().finish(),
        |words| {
            let mut hasher = DefaultHasher::new();
            words.hash(&mut hasher);
            hasher.finish()
        },
    );
    Random::new(number)
}

impl Settings {
    /// The temperature after `moves` moves on a board of `points` points.
    fn temperature(&self, moves: usize, points: usize) -> f64 {
        let halvings = moves as f64 / self.chosen_move_temperature_halflife * SIDE / (points as f64).sqrt();
        let [early, late] = [self.chosen_move_temperature_early, self.chosen_move_temperature];
        late + (early - late) * 0.5_f64.powf(halvings)
    }

    /// What is left of the values of moves once small ones are left out (`chosenMovePrune`) and each has lost something
    /// (`chosenMoveSubtract`).
    pub fn left(&self, values: &[f64]) -> Vec<f64> {
        let most = values.iter().copied().fold(0.0, f64::max);
        // If the best move has few visits, less is taken away.
        let [subtract, prune] = [self.chosen_move_subtract, self.chosen_move_prune].map(|n| n.min(most / MOST_TAKEN));
        let left = |value: &f64| if *value < prune { 0.0 } else { (value - subtract).max(0.0) };
        values.iter().map(left).collect()
    }

    /// Chooses one of several moves by their `values`, and returns its index: the best one, of equals the first, or
    /// another by chance, of which there is as much as suits the number of `moves` so far. Moves whose share of all
    /// values is above `chosenMoveTemperatureOnlyBelowProb` are as likely as that share says, relative to each other,
    /// whatever the temperature. `uniform` is a random number from 0 to 1.
    pub fn choose(&self, values: &[f64], moves: usize, points: usize, uniform: f64) -> usize {
        let temperature = self.temperature(moves, points);
        let better = |best: (usize, f64), other: (usize, f64)| if other.1 > best.1 { other } else { best };
        let (best, most) = values.iter().copied().enumerate().reduce(better).unwrap_or((0, 0.0));
        let only_below = self.chosen_move_temperature_only_below_prob;
        if (temperature <= COLD && only_below >= 1.0) || most <= 0.0 {
            return best;
        }
        // As a share of the best move's value, like all that follows.
        let threshold = (only_below * values.iter().sum::<f64>() / most).min(1.0);
        let share = |value: &f64| {
            let share = value / most;
            let cools = share <= threshold && threshold > 0.0;
            if cools { threshold * (share / threshold).powf(1.0 / temperature.max(COLD)) } else { share }
        };
        let toss = uniform * values.iter().map(share).sum::<f64>();
        let mut below = 0.0;
        let chosen = values.iter().position(|value| {
            below += share(value);
            below > toss
        });
        chosen.unwrap_or(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: usize = 361;

    fn constant(temperature: f64) -> Settings {
        Settings {
            chosen_move_temperature: temperature,
            chosen_move_temperature_early: temperature,
            ..Settings::default()
        }
    }

    /// How often each move is chosen for a thousand evenly spread random numbers.
    fn counts(settings: &Settings, values: &[f64]) -> Vec<usize> {
        let mut counts = vec![0; values.len()];
        let left = settings.left(values);
        (0..1000).for_each(|n| counts[settings.choose(&left, 0, AREA, (f64::from(n) + 0.5) / 1000.0)] += 1);
        counts
    }

    #[test]
    fn it_cools_down_faster_on_small_boards() {
        let settings = Settings::default();
        let at = |moves, points| settings.temperature(moves, points);
        assert_eq!([at(0, AREA), at(19, AREA), at(9, 81)].map(|t| (t * 1e6).round() / 1e6), [0.5, 0.3, 0.3]);
        assert!(at(1000, AREA) < 0.1001 && at(1000, AREA) >= 0.1);
    }

    #[test]
    fn a_move_is_chosen_as_often_as_its_share_says() {
        assert_eq!(counts(&constant(1.0), &[60.0, 30.0, 10.0]), [600, 300, 100]);
        assert_eq!(counts(&constant(0.5), &[60.0, 30.0, 0.0]), [800, 200, 0]);
        assert_eq!(counts(&constant(0.0), &[60.0, 59.0]), [1000, 0]);
        assert_eq!(counts(&constant(0.0), &[30.0, 60.0, 60.0]), [0, 1000, 0], "the best need not be the first");
        assert_eq!(counts(&constant(1.0), &[30.0, 60.0, 10.0]), [300, 600, 100]);
        assert_eq!(counts(&constant(1.0), &[0.0, 0.0]), [1000, 0], "nothing to choose by");
        assert_eq!(constant(1.0).choose(&[], 0, AREA, 0.5), 0);
    }

    #[test]
    fn only_unlikely_moves_feel_the_temperature() {
        let values = [64.0, 32.0, 4.0];
        let below = |temperature, chosen_move_temperature_only_below_prob| {
            let settings = Settings { chosen_move_temperature_only_below_prob, ..constant(temperature) };
            counts(&settings, &values)
        };
        // The last move keeps (4 / 8)² of the threshold's 8, and the others their 64 and 32.
        assert_eq!(below(0.5, 0.08), [653, 327, 20]);
        assert_eq!(below(0.0, 0.08), [667, 333, 0]);
        assert_eq!(below(0.5, 0.0), [640, 320, 40]);
        assert_eq!(below(0.5, 0.9), below(0.5, 1.0), "the best move is the threshold, at most");
    }

    #[test]
    fn small_ones_are_left_out() {
        let settings = |chosen_move_subtract, chosen_move_prune| Settings {
            chosen_move_subtract,
            chosen_move_prune,
            ..constant(1.0)
        };
        assert_eq!(counts(&settings(10.0, 0.0), &[700.0, 470.0, 10.0]), [600, 400, 0]);
        assert_eq!(counts(&settings(0.0, 10.0), &[700.0, 300.0, 9.0]), [700, 300, 0]);
        assert_eq!(counts(&settings(100.0, 100.0), &[65.0, 29.0, 1.0]), [696, 304, 0], "at most one in 64");
    }

    #[test]
    fn words_are_a_seed() {
        let first = |seed| random(seed).uniform();
        assert_eq!(first(Some("a")), first(Some("a")));
        assert_ne!(first(Some("a")), first(Some("b")));
        assert_ne!(first(None), first(None));
    }
}
