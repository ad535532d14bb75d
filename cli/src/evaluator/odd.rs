//! Answers of a network that are not finite numbers, and what replaces them. They do not end a game.

use oncilla_core::evaluate::Value;

/// Why there is no answer for a caller that wants the network's own.
pub const UNKNOWN: &str = "the network's value or policy of the position is no finite number";

/// The kinds of answers that were not finite numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Odd(u8);

const VALUE: Odd = Odd(1);
const POLICY: Odd = Odd(2);
const MOVES_LEFT: Odd = Odd(4);
const VALUE_ERROR: Odd = Odd(8);

/// The words for each kind, for a person, and what replaces the answer.
const KINDS: [(Odd, &str, &str); 4] = [
    (VALUE, "value", "where that is so it counts as even"),
    (POLICY, "policy", "where that is so all moves count alike"),
    (MOVES_LEFT, "moves left", "from now on there is no estimate"),
    (VALUE_ERROR, "value error", "where that is so there is no estimate"),
];

impl Odd {
    /// Makes all numbers of an answer finite, with as few changes as possible: a part that is not finite becomes what a
    /// network says that knows nothing, or that lacks the head. `error` is only looked at. Returns what was not finite.
    pub fn mend(value: &mut Value, logits: &mut [f32], error: Option<f32>) -> Self {
        let mut odd = Self::default();
        if !(value.wl.is_finite() && value.d.is_finite()) {
            (value.wl, value.d) = (Value::EVEN.wl, Value::EVEN.d);
            odd.add(VALUE);
        }
        if !logits.iter().all(|logit| logit.is_finite()) {
            logits.fill(0.0);
            odd.add(POLICY);
        }
        if !value.m.is_finite() {
            value.m = 0.0;
            odd.add(MOVES_LEFT);
        }
        if error.is_some_and(|error| !error.is_finite()) {
            odd.add(VALUE_ERROR);
        }
        odd
    }

    /// Adds the kinds of `other`.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether the position's value, or which moves are good, is unknown.
    pub fn is_unknown(self) -> bool {
        self.0 & (VALUE.0 | POLICY.0) != 0
    }

    /// Whether an estimate of the moves left was missing: a mean over estimates and missing ones is no estimate.
    pub fn has_no_moves_left(self) -> bool {
        self.0 & MOVES_LEFT.0 != 0
    }

    /// Lines for a person about the kinds that are not in `told` yet.
    pub fn news(self, told: Self) -> impl Iterator<Item = String> {
        let new = self.0 & !told.0;
        KINDS.into_iter().filter(move |(kind, ..)| new & kind.0 != 0).map(|(_, what, instead)| {
            format!("WARNING: the network's {what} of a position is no finite number; {instead}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_becomes_what_says_nothing_and_the_rest_stays() {
        let mended = |mut value: Value, mut logits: [f32; 2], error| {
            let odd = Odd::mend(&mut value, &mut logits, error);
            (value, logits, odd)
        };
        let good = Value { wl: 0.5, d: 0.25, m: 30.0 };
        let logits = [1.0, -2.0];
        assert_eq!(mended(good, logits, Some(0.1)), (good, logits, Odd::default()));
        let wl = Value { wl: f32::NAN, ..good };
        assert_eq!(mended(wl, logits, None), (Value { m: 30.0, ..Value::EVEN }, logits, VALUE));
        assert_eq!(mended(Value { d: f32::INFINITY, ..good }, logits, None).2, VALUE);
        assert_eq!(mended(good, [f32::NEG_INFINITY, 1.0], None), (good, [0.0; 2], POLICY));
        let m = Value { m: f32::INFINITY, ..good };
        assert_eq!(mended(m, logits, None), (Value { m: 0.0, ..good }, logits, MOVES_LEFT));
        assert_eq!(mended(good, logits, Some(f32::NAN)), (good, logits, VALUE_ERROR));
        assert!(VALUE.is_unknown() && POLICY.is_unknown() && !MOVES_LEFT.is_unknown() && !VALUE_ERROR.is_unknown());
    }

    #[test]
    fn each_kind_is_told_once() {
        let mut both = MOVES_LEFT;
        both.add(POLICY);
        let said: Vec<String> = both.news(MOVES_LEFT).collect();
        let expected = "WARNING: the network's policy of a position is no finite number; where that is so all moves \
            count alike";
        assert_eq!(said, [expected]);
        assert_eq!(both.news(both).count(), 0);
    }
}
