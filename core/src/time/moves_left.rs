//! How many moves the game still has.

use super::Clock;

/// An estimator of the moves that one side still has to play, this move included.
///
/// Only the move number is used today. Estimators that read the network's moves-left head or count the pieces go here.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MovesLeft {
    /// `mle-legacy`: from the move number alone.
    Legacy(MleLegacy),
}

impl MovesLeft {
    /// Moves left at this point of the game, a number above 0.
    pub fn estimate(&self, clock: &Clock) -> f64 {
        match self {
            MovesLeft::Legacy(legacy) => legacy.estimate(clock.ply),
        }
    }
}

impl Default for MovesLeft {
    fn default() -> Self {
        MovesLeft::Legacy(MleLegacy::default())
    }
}

/// `mle-legacy(midpoint, steepness)`: games end around move `midpoint`, and a game that is older than that is expected
/// to go on for a fixed fraction of its age.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MleLegacy {
    /// The move at which half of the games have ended. Above 0.
    pub midpoint: f64,
    /// How sharply the estimate turns at the midpoint. Above 0.
    pub steepness: f64,
}

impl Default for MleLegacy {
    /// The values of Lc0's older time manager, which the seed document refers to.
    fn default() -> Self {
        Self { midpoint: 51.5, steepness: 7.0 }
    }
}

impl MleLegacy {
    /// Moves left after `ply` half moves: `mid·(1 + 2·(move/mid)^steep)^(1/steep) − move`, `move` = ply/2.
    pub fn estimate(&self, ply: u32) -> f64 {
        let (midpoint, steepness) = (self.midpoint, self.steepness);
        let played = f64::from(ply) / 2.0;
        let age = played / midpoint;
        // The power of the larger side is divided out: a long game and a steep curve would overflow otherwise.
        let scaled = if age <= 1.0 {
            midpoint * libm::pow(1.0 + 2.0 * libm::pow(age, steepness), 1.0 / steepness)
        } else {
            played * libm::pow(2.0 + libm::pow(age, -steepness), 1.0 / steepness)
        };
        scaled - played
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_table() {
        // ply → (45.2, 5.93), (51.5, 7), (50, 12): spec "stoppers and time" §3.
        let columns = [(45.2, 5.93), (51.5, 7.0), (50.0, 12.0)];
        for (ply, expected) in [
            (0, [45.2000, 51.5000, 50.0000]),
            (1, [44.7000, 51.0000, 49.5000]),
            (2, [44.2000, 50.5000, 49.0000]),
            (10, [40.2000, 46.5000, 45.0000]),
            (20, [35.2020, 41.5002, 40.0000]),
            (40, [25.3203, 31.5196, 30.0001]),
            (60, [16.4524, 21.8286, 20.0181]),
            (80, [10.6704, 13.7048, 10.5395]),
            (100, [8.5486, 9.1168, 4.7936]),
            (120, [8.4609, 7.7614, 3.8575]),
            (160, [10.1744, 8.6134, 4.7696]),
            (200, [12.4847, 10.4846, 5.9474]),
            (300, [18.6106, 15.6201, 8.9195]),
        ] {
            for ((midpoint, steepness), expected) in columns.into_iter().zip(expected) {
                let got = MleLegacy { midpoint, steepness }.estimate(ply);
                assert!((got - expected).abs() <= 1e-4, "ply {ply} ({midpoint}, {steepness}): {got}, not {expected}");
            }
        }
    }

    #[test]
    fn any_length_of_game_gives_a_number_above_zero() {
        for steepness in [0.1, 1.0, 7.0, 100.0] {
            for ply in [0, 1, 102, 103, 104, 6000, 100_000, u32::MAX] {
                let left = MleLegacy { midpoint: 51.5, steepness }.estimate(ply);
                assert!(left.is_finite() && left > 0.0, "ply {ply}, steepness {steepness}: {left}");
            }
        }
    }
}
