//! The time manager `simple`: gives a move a part of the clock that grows with the game, and what the last move left
//! over.
//!
//! Source: Lc0's manager of that name. Moves to go are ignored.

use super::{Clock, sane_ms};
use crate::range::{OutOfRange, Range, check_all};

/// The parameters, with their names in `--time-manager=simple(…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SimpleParams {
    /// `base-pct`: part of the clock for a move at the start of the game, in percent. In (0, 100].
    pub base_pct: f64,
    /// `ply-pct`: what each half move adds to `base-pct`, in percent. In [0, 1].
    pub ply_pct: f64,
    /// `time-factor`: how many increments are used for each move. In [0, 100].
    pub time_factor: f64,
    /// `opening-bonus-pct`: what the first move gets in addition, in percent of its time. In [0, 1000].
    pub opening_bonus_pct: f64,
}

impl Default for SimpleParams {
    fn default() -> Self {
        Self { base_pct: 1.4, ply_pct: 0.049, time_factor: 1.5, opening_bonus_pct: 0.0 }
    }
}

impl SimpleParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// The first parameter that is out of its range, or not a number.
    pub fn check(&self) -> Result<(), OutOfRange> {
        check_all(&[
            ("base-pct", self.base_pct, Range::UpTo(100.0, "in (0, 100]")),
            ("ply-pct", self.ply_pct, Range::FromZeroTo(1.0, "in [0, 1]")),
            ("time-factor", self.time_factor, Range::FromZeroTo(100.0, "in [0, 100]")),
            ("opening-bonus-pct", self.opening_bonus_pct, Range::FromZeroTo(1000.0, "in [0, 1000]")),
        ])
    }
}

/// The state of the manager in one game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Simple {
    params: SimpleParams,
    previous: Option<SimpleBudget>,
}

/// A move's budget and the numbers on the way to it, in milliseconds. They are whole numbers where Lc0's are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SimpleBudget {
    /// The clock less the overhead; negative if the overhead is larger.
    pub available_ms: f64,
    /// The part of `available_ms` that is given to this move.
    pub part: f64,
    /// Time by that part, including the bonus of the first move.
    pub own_ms: f64,
    /// What the last move left of its budget.
    pub left_over_ms: f64,
    /// The budget: the sum of the two, but not more than is available; negative if `available_ms` is.
    pub budget_ms: f64,
}

impl SimpleBudget {
    /// Each number with its name, in the order of the computation.
    pub fn numbers(&self) -> [(&'static str, f64); 5] {
        [
            ("available_ms", self.available_ms),
            ("part", self.part),
            ("own_ms", self.own_ms),
            ("left_over_ms", self.left_over_ms),
            ("budget_ms", self.budget_ms),
        ]
    }
}

impl Simple {
    /// The state at the start of a game.
    ///
    /// # Errors
    /// The name of the first parameter that is out of its range.
    pub fn new(params: SimpleParams) -> Result<Self, OutOfRange> {
        params.check()?;
        Ok(Self { params, previous: None })
    }

    /// Starts a move and gives it its budget.
    pub fn on_move_start(&mut self, clock: &Clock) -> SimpleBudget {
        let (base_ms, increment_ms) = (sane_ms(clock.base_ms), sane_ms(clock.increment_ms));
        let available_ms = base_ms - sane_ms(clock.overhead_ms);
        let params = &self.params;
        let per_move = (params.base_pct + f64::from(clock.ply) * params.ply_pct) / 100.0;
        // Lc0's clocks are whole milliseconds: dividing by at least 1 keeps this finite for a fraction of one.
        let of_increment = if base_ms > 0.0 { increment_ms / base_ms.max(1.0) * params.time_factor } else { 0.0 };
        let part = per_move + of_increment;
        let bonus = if self.previous.is_none() { params.opening_bonus_pct / 100.0 } else { 0.0 };
        let own_ms = available_ms * part * (1.0 + bonus);
        let left_over_ms = self.previous.map_or(0.0, |previous| {
            let used = previous.available_ms - (available_ms - increment_ms);
            // If the clock was filled up, for the moves to the next control, it does not say what was left.
            if used < 0.0 { 0.0 } else { (previous.budget_ms - used).max(0.0) }
        });
        let budget_ms = libm::trunc((own_ms + left_over_ms).min(available_ms));
        let budget = SimpleBudget { available_ms, part, own_ms, left_over_ms, budget_ms };
        self.previous = Some(budget);
        budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(base_ms: f64, increment_ms: f64, ply: u32) -> Clock {
        Clock { base_ms, increment_ms, ply, overhead_ms: 200.0, ..Clock::default() }
    }

    #[test]
    fn reference_budgets() {
        // Spec "stoppers and time" §7, overhead 200 ms.
        for (base, increment, ply, expected) in [
            (300000.0, 0.0, 1, 4344.0),
            (300000.0, 3000.0, 1, 8841.0),
            (300000.0, 3000.0, 41, 14717.0),
            (60000.0, 1000.0, 21, 2947.0),
            (60000.0, 0.0, 81, 3210.0),
            (5000.0, 5000.0, 101, 4800.0),
            (1000.0, 0.0, 61, 35.0),
        ] {
            assert_eq!(Simple::default().on_move_start(&clock(base, increment, ply)).budget_ms, expected, "{base}");
        }
    }

    #[test]
    fn what_is_left_over_comes_back() {
        let mut simple = Simple::default();
        assert_eq!(simple.on_move_start(&clock(60000.0, 1000.0, 1)).budget_ms, 2361.0);
        let second = simple.on_move_start(&clock(59500.0, 1000.0, 3));
        assert_eq!((second.left_over_ms, second.budget_ms), (861.0, 3273.0));
    }

    /// Else the next budget would be nearly all of the new clock.
    #[test]
    fn time_for_the_next_moves_is_not_left_over() {
        let mut simple = Simple::default();
        simple.on_move_start(&clock(120_000.0, 0.0, 77));
        let second = simple.on_move_start(&clock(1_313_000.0, 0.0, 79));
        assert_eq!((second.left_over_ms, second.budget_ms), (0.0, second.own_ms.trunc()));
    }

    #[test]
    fn the_first_move_has_its_bonus() {
        let params = SimpleParams { opening_bonus_pct: 100.0, ..SimpleParams::default() };
        let mut simple = Simple::new(params).unwrap();
        assert_eq!(simple.on_move_start(&clock(300000.0, 0.0, 1)).budget_ms, 8688.0);
        // And never after: 4,344 by itself, and half of the first budget is left over.
        assert_eq!(simple.on_move_start(&clock(300000.0 - 4344.0, 0.0, 1)).budget_ms, 4281.0 + 4344.0);
    }

    #[test]
    fn odd_clocks_give_finite_numbers() {
        for base in [0.0, -5.0, 1e-300, 0.5, f64::NAN, f64::INFINITY] {
            for increment in [1000.0, 1e9, f64::INFINITY] {
                let budget = Simple::default().on_move_start(&clock(base, increment, 1));
                assert!(budget.numbers().iter().all(|(_, number)| number.is_finite()), "{base} {increment}");
            }
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let error = Simple::new(SimpleParams { ply_pct: 1.5, ..SimpleParams::default() }).unwrap_err();
        assert_eq!(error, OutOfRange { name: "ply-pct", value: 1.5, expected: "in [0, 1]" });
    }
}
