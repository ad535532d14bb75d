//! Exponential decay: how a guess forgets.

/// Moves `from` towards `to`: half of the way once `value` equals `step`, three quarters at twice the step, and so on.
///
/// `to − (to − from)·0.5^(value/step)`, with `value` ≥ 0 and `step` > 0 in the same unit.
pub fn exponential_decay(from: f64, to: f64, step: f64, value: f64) -> f64 {
    to - (to - from) * libm::exp2(-value / step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_values() {
        // (from, to, step, value) → result, to the digits given there: spec "stoppers and time" §4.
        for (from, to, step, value, expected, digit) in [
            (0.5, 0.2, 4.0, 1.0, 0.452269, 1e-6),
            (0.5, 0.2, 4.0, 2.0, 0.412132, 1e-6),
            (0.5, 0.2, 4.0, 4.0, 0.35, 1e-6),
            (0.5, 0.2, 4.0, 0.05, 0.497412, 1e-6),
            (0.5, 0.9, 4.0, 1.0, 0.563641, 1e-6),
            (0.7, 0.4, 10.0, 1.0, 0.679910, 1e-6),
            (0.7, 1.2, 10.0, 3.0, 0.793874, 1e-6),
            (20000.0, 30000.0, 5.0, 1.0, 21294.4944, 1e-4),
            (20000.0, 30000.0, 5.0, 5.0, 25000.0, 1e-4),
            (20000.0, 30000.0, 5.0, 10.0, 27500.0, 1e-4),
            (0.7, 0.0, 10.0, 30.0, 0.0875, 1e-6),
        ] {
            let got = exponential_decay(from, to, step, value);
            assert!((got - expected).abs() <= digit, "{from}→{to} step {step} at {value}: {got}, expected {expected}");
        }
    }

    #[test]
    fn nothing_passed_nothing_moved() {
        assert_eq!(exponential_decay(0.5, 0.9, 4.0, 0.0), 0.5);
        // An endless wait forgets everything and is still a number.
        assert_eq!(exponential_decay(0.5, 0.9, 4.0, f64::INFINITY), 0.9);
    }

    #[test]
    fn two_short_steps_are_one_long_step() {
        let twice = exponential_decay(exponential_decay(20.0, 3.0, 4.0, 1.5), 3.0, 4.0, 2.5);
        assert!((twice - exponential_decay(20.0, 3.0, 4.0, 4.0)).abs() < 1e-12);
    }
}
