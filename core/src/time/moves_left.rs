//! How many moves the game still has.

use super::Clock;
use crate::range::{OutOfRange, Range, check_all};

/// Estimates the moves left from the best information that is known of the position and allowed here. (For how much a
/// search values short wins, see [`search::MovesLeft`](crate::search::MovesLeft).)
///
/// On 6,670 positions of 402 games between engines that the network in the program was not trained on, the estimates
/// were off by a factor of 2.02 (move number), 1.94 (pieces) and 1.63 (network); geometric means of |error|.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MovesLeftEstimator {
    /// `mle-network`, if the network has a moves-left head.
    pub network: Option<MleNetwork>,
    /// `mle-pieces`, if the number of pieces is known.
    pub pieces: Option<MlePieces>,
    /// `mle-legacy`, always possible. Lc0's description of `smooth` has no other estimator.
    pub legacy: MleLegacy,
}

impl Default for MovesLeftEstimator {
    fn default() -> Self {
        Self { network: Some(MleNetwork::default()), pieces: Some(MlePieces::default()), legacy: MleLegacy::default() }
    }
}

impl MovesLeftEstimator {
    /// An estimator that uses the move number only, whatever else is known.
    pub fn by_number(legacy: MleLegacy) -> Self {
        Self { network: None, pieces: None, legacy }
    }

    /// How many moves one side still has to play, this one included; above 0.
    pub fn estimate(&self, clock: &Clock) -> f64 {
        let by_number = self.legacy.estimate(clock.ply);
        let network = || Some(self.network?.estimate(clock.network_plies.filter(|plies| *plies > 0.0)?, by_number));
        let pieces = || Some(self.pieces?.estimate(clock.pieces?));
        network().or_else(pieces).unwrap_or(by_number)
    }

    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// The name of the first parameter that is out of its range, or not a number.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.legacy.check(["mle-legacy midpoint", "mle-legacy steepness"])?;
        if let Some(pieces) = self.pieces {
            check_all(&[("mle-pieces full", pieces.full, MOVES), ("mle-pieces bare", pieces.bare, MOVES)])?;
        }
        self.network.map_or(Ok(()), |network| {
            check_all(&[("mle-network least", network.least, MOVES), ("mle-network most", network.most, MOVES)])
        })
    }
}

/// The range of a number of moves, or of a multiple of one: what a clock adds in that many moves is a finite time.
const MOVES: Range = Range::Between(1.0, 1e6, "in [1, 1000000]");

/// `mle-network(least, most)`: half of the plies that the network's moves-left head expects.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MleNetwork {
    /// The estimate is never less than this: a game that is nearly won may drag on. From 1 to a million.
    pub least: f64,
    /// The estimate is never more than this many times that of `mle-legacy`, unless that is below `least`: no head
    /// foresees a draw by repetition, and what is then on the clock is lost. From 1 to a million.
    pub most: f64,
}

impl Default for MleNetwork {
    /// The values that made the moves' shares of time most even in 120 recorded games, with each move taking the clock
    /// ÷ moves left, and that left at most 3% of the clock at the end of games of 80 moves or more.
    fn default() -> Self {
        Self { least: 5.0, most: 2.0 }
    }
}

impl MleNetwork {
    /// Moves left if `plies` half moves are expected, and `mle-legacy` estimates `by_number` moves.
    pub fn estimate(&self, plies: f64, by_number: f64) -> f64 {
        ((plies + 1.0) / 2.0).min(self.most * by_number).max(self.least)
    }
}

/// `mle-pieces(full, bare)`: from the number of pieces on the board.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MlePieces {
    /// Moves left with all 32 pieces. From 1 to a million.
    pub full: f64,
    /// Moves left with only the two kings. From 1 to a million.
    pub bare: f64,
}

impl Default for MlePieces {
    /// Fitted to the geometric means of 1,891 games of an engine against itself: 48.5 moves with 32 pieces, 33.5 with
    /// 24, 20.2 with 16, 14.4 with 8.
    fn default() -> Self {
        Self { full: 48.5, bare: 10.0 }
    }
}

impl MlePieces {
    /// Moves left with `pieces` pieces, kings and pawns among them: `bare + (full − bare)·((pieces − 2)/30)^1.5`.
    pub fn estimate(&self, pieces: u32) -> f64 {
        let part = f64::from(pieces.clamp(2, 32) - 2) / 30.0;
        self.bare + (self.full - self.bare) * part * libm::sqrt(part)
    }
}

/// `mle-legacy(midpoint, steepness)`: games end around move `midpoint`, and a game that is older than that is expected
/// to go on for a fixed fraction of its age.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MleLegacy {
    /// The move at which half of the games have ended. Above 0, at most a million.
    pub midpoint: f64,
    /// How sharply the estimate turns at the midpoint. In [0.01, 1000].
    pub steepness: f64,
}

/// The least estimate: a smaller number of moves (this one is far below one already) can't sensibly divide a clock.
const FEWEST_MOVES: f64 = 1e-3;

impl Default for MleLegacy {
    /// The values of Lc0's older time manager, to which its description of `smooth` refers.
    fn default() -> Self {
        Self { midpoint: 51.5, steepness: 7.0 }
    }
}

impl MleLegacy {
    pub(crate) fn check(&self, names: [&'static str; 2]) -> Result<(), OutOfRange> {
        check_all(&[
            // What a clock adds in that many moves is a finite time.
            (names[0], self.midpoint, Range::UpTo(1e6, "in (0, 1000000]")),
            // With less than 0.01 the estimate overflows, and more than 1000 would not make it any sharper.
            (names[1], self.steepness, Range::Between(0.01, 1000.0, "in [0.01, 1000]")),
        ])
    }

    /// Moves left after `ply` half moves: `mid·(1 + 2·(move/mid)^steep)^(1/steep) − move`, where `move` = ply/2. The
    /// result is above 0, even if rounding leaves nothing of it.
    pub fn estimate(&self, ply: u32) -> f64 {
        let (midpoint, steepness) = (self.midpoint, self.steepness);
        let played = f64::from(ply) / 2.0;
        let age = played / midpoint;
        // The power of the larger one of 1 and `move/mid` is factored out: otherwise a long game and a steep curve
        // would overflow.
        let scaled = if age <= 1.0 {
            midpoint * libm::pow(1.0 + 2.0 * libm::pow(age, steepness), 1.0 / steepness)
        } else {
            played * libm::pow(2.0 + libm::pow(age, -steepness), 1.0 / steepness)
        };
        (scaled - played).max(FEWEST_MOVES)
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

    #[test]
    fn the_ends_of_the_ranges_give_numbers_too() {
        for midpoint in [f64::MIN_POSITIVE, 1.0, 1e6] {
            for steepness in [0.01, 1000.0] {
                let legacy = MleLegacy { midpoint, steepness };
                assert!(legacy.check(["midpoint", "steepness"]).is_ok());
                for ply in [0, 1, 104, 2_000_000, u32::MAX] {
                    let left = legacy.estimate(ply);
                    assert!(left.is_finite() && left > 0.0, "ply {ply}, {legacy:?}: {left}");
                }
            }
        }
        // Values out of range are refused, and even with them the estimate is above 0.
        for (midpoint, steepness) in [(1e308, 7.0), (51.5, 1e17), (51.5, 1e300)] {
            let legacy = MleLegacy { midpoint, steepness };
            assert!(legacy.check(["midpoint", "steepness"]).is_err(), "{legacy:?}");
            assert!([0, 103, 104, 300, u32::MAX].iter().all(|&ply| legacy.estimate(ply) > 0.0), "{legacy:?}");
        }
    }

    #[test]
    fn pieces_between_a_full_board_and_two_kings() {
        let estimate = |pieces| MlePieces::default().estimate(pieces);
        assert_eq!([32, 40].map(estimate), [48.5; 2]);
        assert_eq!([2, 0].map(estimate), [10.0; 2]);
        // The means it was fitted to.
        for (pieces, mean) in [(24, 33.5), (16, 20.2), (8, 14.4), (4, 12.1)] {
            assert!((estimate(pieces) / mean - 1.0).abs() < 0.13, "{pieces}: {}", estimate(pieces));
        }
    }

    #[test]
    fn the_network_is_asked_first_then_the_pieces_then_the_move_number() {
        let clock = Clock { ply: 40, ..Clock::default() };
        let with_pieces = Clock { pieces: Some(2), ..clock };
        let all = MovesLeftEstimator::default();
        assert_eq!(all.estimate(&Clock { network_plies: Some(49.0), ..with_pieces }), 25.0);
        assert_eq!(all.estimate(&Clock { network_plies: Some(3.0), ..with_pieces }), 5.0);
        // A network without the head says 0, a broken one anything.
        for nothing in [0.0, -4.0, f64::NAN] {
            assert_eq!(all.estimate(&Clock { network_plies: Some(nothing), ..with_pieces }), 10.0);
        }
        let by_number = MleLegacy::default().estimate(40);
        assert_eq!(all.estimate(&Clock { network_plies: Some(f64::INFINITY), ..with_pieces }), 2.0 * by_number);
        assert_eq!(all.estimate(&clock), MleLegacy::default().estimate(40));
        let number = MovesLeftEstimator::by_number(MleLegacy::default());
        assert_eq!(number.estimate(&with_pieces), all.estimate(&clock));
    }
}
