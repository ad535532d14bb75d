//! The time manager `alphazero`: gives every move a fixed part of the clock.
//!
//! Source: Lc0's manager of that name, after the games of the AlphaZero paper. Increment and moves to go are ignored.

use super::{Clock, sane_ms};
use crate::range::{OutOfRange, Range, check_all};

/// The parameters, with their names in `--time-manager=alphazero(…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AlphaZeroParams {
    /// `alphazero-time-pct`: part of the clock for each move, in percent. In [0, 100].
    pub time_pct: f64,
}

impl Default for AlphaZeroParams {
    fn default() -> Self {
        Self { time_pct: 12.0 }
    }
}

impl AlphaZeroParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// The name of the parameter that is out of its range, or not a number.
    pub fn check(&self) -> Result<(), OutOfRange> {
        check_all(&[("alphazero-time-pct", self.time_pct, Range::FromZeroTo(100.0, "in [0, 100]"))])
    }
}

/// A time manager that learns nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AlphaZero {
    params: AlphaZeroParams,
}

/// A move's budget and the numbers on the way to it, in milliseconds. They are whole numbers where Lc0's are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AlphaZeroBudget {
    /// The clock less the overhead; negative if the overhead is larger.
    pub available_ms: f64,
    /// The part of `available_ms` that is given to this move.
    pub part: f64,
    /// The budget; negative if `available_ms` is.
    pub budget_ms: f64,
}

impl AlphaZeroBudget {
    /// Each number with its name.
    pub fn numbers(&self) -> [(&'static str, f64); 3] {
        [("available_ms", self.available_ms), ("part", self.part), ("budget_ms", self.budget_ms)]
    }
}

impl AlphaZero {
    /// A time manager with these parameters.
    ///
    /// # Errors
    /// A parameter that is out of its range.
    pub fn new(params: AlphaZeroParams) -> Result<Self, OutOfRange> {
        params.check()?;
        Ok(Self { params })
    }

    /// The budget of a move.
    pub fn budget(&self, clock: &Clock) -> AlphaZeroBudget {
        let available_ms = sane_ms(clock.base_ms) - sane_ms(clock.overhead_ms);
        let part = self.params.time_pct / 100.0;
        AlphaZeroBudget { available_ms, part, budget_ms: libm::trunc(available_ms * part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_budgets() {
        // Spec "stoppers and time" §8, overhead 200 ms.
        for (base_ms, expected) in [(300000.0, 35976.0), (60000.0, 7176.0), (1000.0, 96.0), (150.0, -6.0)] {
            let clock = Clock { base_ms, overhead_ms: 200.0, increment_ms: 5000.0, ..Clock::default() };
            assert_eq!(AlphaZero::default().budget(&clock).budget_ms, expected);
        }
    }

    #[test]
    fn the_range_is_closed() {
        let check = |time_pct| AlphaZero::new(AlphaZeroParams { time_pct }).is_ok();
        assert_eq!([-0.1, 0.0, 100.0, 100.1, f64::NAN].map(check), [false, true, true, false, false]);
    }
}
