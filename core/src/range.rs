//! Parameters and their ranges.

/// A parameter that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OutOfRange {
    /// The parameter's name, as the user writes it.
    pub name: &'static str,
    /// The value that was given.
    pub value: f64,
    /// What is accepted, worded to follow "must be".
    pub expected: &'static str,
}

impl core::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} must be {}, not {}", self.name, self.expected, self.value)
    }
}

impl core::error::Error for OutOfRange {}

/// More than anybody means, yet small enough that no budget becomes infinite.
const MOST: f64 = 1e12;

/// The range that a number must be in.
#[derive(Clone, Copy)]
pub(crate) enum Range {
    Fraction,
    Positive,
    NotNegative,
    /// Above 0, at most this number.
    UpTo(f64, &'static str),
    /// From 0 to this number.
    FromZeroTo(f64, &'static str),
    Between(f64, f64, &'static str),
}

impl Range {
    pub(crate) fn check(self, name: &'static str, value: f64) -> Result<(), OutOfRange> {
        let (fits, expected) = match self {
            Self::Fraction => ((0.0..1.0).contains(&value), "in [0, 1)"),
            Self::Positive => (value > 0.0 && value <= MOST, "above 0 and at most 1e12"),
            Self::NotNegative => ((0.0..=MOST).contains(&value), "at least 0 and at most 1e12"),
            Self::UpTo(most, text) => (value > 0.0 && value <= most, text),
            Self::FromZeroTo(most, text) => ((0.0..=most).contains(&value), text),
            Self::Between(least, most, text) => ((least..=most).contains(&value), text),
        };
        if fits && value.is_finite() { Ok(()) } else { Err(OutOfRange { name, value, expected }) }
    }
}

/// Checks the numbers in their order; the error names the first that is out of its range.
pub(crate) fn check_all(rows: &[(&'static str, f64, Range)]) -> Result<(), OutOfRange> {
    rows.iter().try_for_each(|&(name, value, range)| range.check(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_every_range() {
        let fits = |range: Range, value| range.check("x", value).is_ok();
        for (range, inside, outside) in [
            (Range::Fraction, [0.0, 0.999], [-0.1, 1.0]),
            (Range::Positive, [1e-9, 1e12], [0.0, 2e12]),
            (Range::NotNegative, [0.0, 1e12], [-1e-9, 2e12]),
            (Range::UpTo(1.0, "in (0, 1]"), [1e-9, 1.0], [0.0, 1.1]),
            (Range::FromZeroTo(100.0, "in [0, 100]"), [0.0, 100.0], [-0.1, 100.1]),
            (Range::Between(2.0, 3.0, "in [2, 3]"), [2.0, 3.0], [1.9, 3.1]),
        ] {
            assert!(inside.into_iter().all(|value| fits(range, value)));
            assert!(outside.into_iter().all(|value| !fits(range, value)));
            assert!(!fits(range, f64::NAN));
        }
    }

    #[test]
    fn the_message_says_what_was_expected_and_what_came() {
        let error = Range::Positive.check("init-nps", 0.0).unwrap_err();
        assert_eq!(std::format!("{error}"), "init-nps must be above 0 and at most 1e12, not 0");
    }
}
