//! The time manager `legacy`: the time is shared out evenly over the moves left, and the next one may use what a move
//! has spared.
//!
//! Source: Lc0's manager of that name.

use super::moves_left::MleLegacy;
use super::{Clock, sane_ms};
use crate::range::{OutOfRange, Range, check_all};

/// The parameters, with their names in `--time-manager=legacy(…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LegacyParams {
    /// `slowmover`: factor of every budget. A factor above 1 does not apply to budgets below 200 ms. In [0, 100].
    pub slowmover: f64,
    /// `midpoint-move` and `steepness`: the estimator of the moves left.
    pub moves_left: MleLegacy,
    /// `immediate-use`: the part of the spared time that the next move may use at once. In [0, 1].
    pub immediate_use: f64,
    /// `first-move-bonus`: what the first move gets in addition, as a part of its time. In [0, 100].
    pub first_move_bonus: f64,
    /// `book-ply-bonus`: what the first move gets in addition, in the same way, for each half move that was played
    /// before it, up to twelve. In [0, 100].
    pub book_ply_bonus: f64,
}

impl Default for LegacyParams {
    fn default() -> Self {
        Self {
            slowmover: 1.0,
            moves_left: MleLegacy::default(),
            immediate_use: 1.0,
            first_move_bonus: 1.8,
            book_ply_bonus: 0.25,
        }
    }
}

impl LegacyParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// The first parameter that is out of its range, or not a number.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.moves_left.check(["midpoint-move", "steepness"])?;
        check_all(&[
            ("slowmover", self.slowmover, Range::FromZeroTo(100.0, "in [0, 100]")),
            ("immediate-use", self.immediate_use, Range::FromZeroTo(1.0, "in [0, 1]")),
            ("first-move-bonus", self.first_move_bonus, Range::FromZeroTo(100.0, "in [0, 100]")),
            ("book-ply-bonus", self.book_ply_bonus, Range::FromZeroTo(100.0, "in [0, 100]")),
        ])
    }
}

/// How many half moves of a book count for the bonus at most.
const BOOK_PLIES: u32 = 12;
/// Times shorter than this are not made longer by `slowmover`.
const QUICK_MS: f64 = 200.0;

/// The state of the manager in one game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Legacy {
    params: LegacyParams,
    /// Time that earlier moves have spared; negative if they took more than their share.
    spared_ms: f64,
    has_moved: bool,
    running: Option<LegacyBudget>,
}

/// A move's budget and the numbers on the way to it, in milliseconds. They are whole numbers where Lc0's are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LegacyBudget {
    /// Time that earlier moves have spared.
    pub spared_before_ms: f64,
    /// Moves left: the estimate, or the moves to go if they are fewer.
    pub moves_left: f64,
    /// Time until the end of the game or the next control, less the overhead.
    pub game_ms: f64,
    /// Part of the spared time that this move may use.
    pub squander_ms: f64,
    /// The rest of the game's time ÷ moves left.
    pub even_ms: f64,
    /// The factor of a first move: its bonuses.
    pub first_move_factor: f64,
    /// `slowmover`, or 1 if it does not apply.
    pub slowmover_factor: f64,
    /// Spared time that is left after this move got its budget.
    pub spared_ms: f64,
    /// The clock less the overhead; negative if the overhead is larger.
    pub available_ms: f64,
    /// The budget: even × factors + squander, but not more than is available.
    pub budget_ms: f64,
}

impl LegacyBudget {
    /// Each number with its name, in the order of the computation.
    pub fn numbers(&self) -> [(&'static str, f64); 10] {
        [
            ("spared_before_ms", self.spared_before_ms),
            ("moves_left", self.moves_left),
            ("game_ms", self.game_ms),
            ("squander_ms", self.squander_ms),
            ("even_ms", self.even_ms),
            ("first_move_factor", self.first_move_factor),
            ("slowmover_factor", self.slowmover_factor),
            ("spared_ms", self.spared_ms),
            ("available_ms", self.available_ms),
            ("budget_ms", self.budget_ms),
        ]
    }
}

impl Legacy {
    /// The state at the start of a game.
    ///
    /// # Errors
    /// A parameter that is out of its range.
    pub fn new(params: LegacyParams) -> Result<Self, OutOfRange> {
        params.check()?;
        Ok(Self { params, ..Self::default() })
    }

    /// Time that earlier moves have spared; negative if they took more than their share.
    pub fn spared_ms(&self) -> f64 {
        self.spared_ms
    }

    /// Starts a move and gives it its budget.
    pub fn on_move_start(&mut self, clock: &Clock) -> LegacyBudget {
        let params = self.params;
        let spared_before_ms = self.spared_ms;
        let moves_left = clock.moves_left(params.moves_left.estimate(clock.ply));
        let available_ms = sane_ms(clock.base_ms) - sane_ms(clock.overhead_ms);
        let game_ms = (available_ms + sane_ms(clock.increment_ms) * (moves_left - 1.0)).max(0.0);
        let squander_ms = libm::trunc(self.spared_ms.max(0.0) * params.immediate_use);
        let even_ms = (game_ms - self.spared_ms.max(0.0)).max(0.0) / moves_left;
        let first_move_factor = if self.has_moved { 1.0 } else { params.first_move_factor(clock.ply) };
        let mut move_ms = even_ms * first_move_factor;
        self.spared_ms -= squander_ms;
        let slow_counts = params.slowmover < 1.0 || move_ms * params.slowmover > QUICK_MS;
        let slowmover_factor = if slow_counts { params.slowmover } else { 1.0 };
        self.spared_ms -= libm::trunc(move_ms * (slowmover_factor - 1.0));
        move_ms *= slowmover_factor;
        let budget = LegacyBudget {
            spared_before_ms,
            moves_left,
            game_ms,
            squander_ms,
            even_ms,
            first_move_factor,
            slowmover_factor,
            spared_ms: self.spared_ms,
            available_ms,
            budget_ms: libm::trunc((move_ms + squander_ms).min(available_ms)),
        };
        self.has_moved = true;
        self.running = Some(budget);
        budget
    }

    /// Ends the move, which took `used_ms`. Does nothing if no move was started.
    pub fn on_move_end(&mut self, used_ms: f64) {
        if let Some(budget) = self.running.take() {
            self.spared_ms += budget.budget_ms - libm::trunc(sane_ms(used_ms));
        }
    }
}

impl LegacyParams {
    fn first_move_factor(&self, ply: u32) -> f64 {
        1.0 + self.first_move_bonus + self.book_ply_bonus * f64::from(ply.min(BOOK_PLIES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(base_ms: f64, increment_ms: f64, ply: u32, moves_to_go: Option<u32>) -> Clock {
        Clock { base_ms, increment_ms, ply, moves_to_go, overhead_ms: 200.0, ..Clock::default() }
    }

    /// Without the bonus of a first move, every budget is that of a later one.
    fn later() -> LegacyParams {
        LegacyParams { first_move_bonus: 0.0, book_ply_bonus: 0.0, ..LegacyParams::default() }
    }

    #[test]
    fn reference_budgets() {
        // Base, increment, ply, moves to go → first move, later move: spec "stoppers and time" §6, overhead 200 ms.
        for (base, increment, ply, moves_to_go, first, other) in [
            (300000.0, 0.0, 1, None, 17929.0, 5878.0),
            (300000.0, 3000.0, 1, None, 26899.0, 8819.0),
            (300000.0, 3000.0, 41, None, 72888.0, 12567.0),
            (60000.0, 1000.0, 21, None, 14118.0, 2434.0),
            (60000.0, 0.0, 81, None, 25921.0, 4469.0),
            (60000.0, 0.0, 21, Some(10), 34684.0, 5980.0),
            (1000.0, 0.0, 61, None, 217.0, 37.0),
            (150.0, 0.0, 61, None, -50.0, -50.0),
        ] {
            let clock = clock(base, increment, ply, moves_to_go);
            assert_eq!(Legacy::default().on_move_start(&clock).budget_ms, first, "{base} {ply}");
            assert_eq!(Legacy::new(later()).unwrap().on_move_start(&clock).budget_ms, other, "{base} {ply}");
        }
    }

    #[test]
    fn reference_game() {
        // Clock, ply → budget; then what was used, and spared.
        let mut legacy = Legacy::default();
        for (base, ply, budget, used, spared) in [
            (180000.0, 1, 16733.0, 3000.0, 13733.0),
            (179000.0, 3, 18994.0, 4000.0, 14994.0),
            (177000.0, 5, 20255.0, 9000.0, 11255.0),
        ] {
            assert_eq!(legacy.on_move_start(&clock(base, 2000.0, ply, None)).budget_ms, budget);
            legacy.on_move_end(used);
            assert_eq!(legacy.spared_ms(), spared);
        }
    }

    #[test]
    fn a_slow_mover_pays_later() {
        let mut legacy = Legacy::new(LegacyParams { slowmover: 2.0, ..later() }).unwrap();
        let budget = legacy.on_move_start(&clock(60000.0, 0.0, 21, None));
        assert_eq!((budget.budget_ms, budget.spared_ms), (2917.0, -1458.0));
        // Quick moves stay as they are, unless they are to be quicker.
        assert_eq!(legacy.on_move_start(&clock(1000.0, 0.0, 61, None)).slowmover_factor, 1.0);
        let mut quick = Legacy::new(LegacyParams { slowmover: 0.5, ..later() }).unwrap();
        assert_eq!(quick.on_move_start(&clock(1000.0, 0.0, 61, None)).budget_ms, 18.0);
    }

    #[test]
    fn time_that_is_kept_comes_later() {
        let mut legacy = Legacy::new(LegacyParams { immediate_use: 0.5, ..later() }).unwrap();
        legacy.on_move_start(&clock(60000.0, 0.0, 21, None));
        legacy.on_move_end(458.0);
        assert_eq!(legacy.spared_ms(), 1000.0);
        let next = legacy.on_move_start(&clock(59542.0, 0.0, 23, None));
        assert_eq!((next.squander_ms, next.spared_ms), (500.0, 500.0));
    }

    #[test]
    fn a_move_that_was_never_started_spares_nothing() {
        let mut legacy = Legacy::default();
        legacy.on_move_end(1000.0);
        assert_eq!(legacy, Legacy::default());
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let name = |params| Legacy::new(params).unwrap_err().name;
        assert_eq!(name(LegacyParams { slowmover: -1.0, ..later() }), "slowmover");
        let moves_left = MleLegacy { midpoint: 0.0, ..MleLegacy::default() };
        assert_eq!(name(LegacyParams { moves_left, ..later() }), "midpoint-move");
        assert_eq!(name(LegacyParams { slowmover: 1e308, ..later() }), "slowmover");
        assert_eq!(name(LegacyParams { first_move_bonus: 1e308, ..later() }), "first-move-bonus");
        assert_eq!(name(LegacyParams { book_ply_bonus: 1e308, ..later() }), "book-ply-bonus");
    }

    #[test]
    fn the_largest_parameters_give_finite_numbers() {
        let moves_left = MleLegacy { midpoint: 1e6, ..MleLegacy::default() };
        let most = LegacyParams {
            slowmover: 100.0,
            moves_left,
            first_move_bonus: 100.0,
            book_ply_bonus: 100.0,
            ..LegacyParams::default()
        };
        let mut legacy = Legacy::new(most).unwrap();
        for _ in 0..3 {
            let budget = legacy.on_move_start(&clock(f64::INFINITY, f64::INFINITY, 40, None));
            assert!(budget.numbers().iter().all(|(_, number)| number.is_finite()), "{budget:?}");
            legacy.on_move_end(f64::INFINITY);
        }
    }
}
