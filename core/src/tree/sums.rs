//! What a node sums: value and moves left in fixed point.
//!
//! Integers add up to the same sum in any order, and a visit is not lost beside 10⁸ others.

use crate::evaluate::Value;

/// One unit of W−L and of D. 4·10⁹ visits need 62 of 63 bits.
const VALUE_ONE: f64 = (1u64 << 30) as f64;
/// One ply of moves left. 4·10⁹ visits of [`MOST_PLIES`] and a path on top of it need 63 bits.
const PLY_ONE: f64 = (1u64 << 20) as f64;
/// More moves left than this are taken for so many: no sum overflows, whatever an evaluator says.
const MOST_PLIES: f32 = 1024.0;

/// Sums over the visits of a node, from the side to move at that node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    wl: i64,
    d: i64,
    m: i64,
}

impl Sums {
    /// Words of a record that a sum takes.
    pub const WORDS: usize = 6;

    /// `value`, `times` times. What lies beyond its range counts as the end of the range, and no number as 0.
    pub fn of(value: Value, times: u32) -> Self {
        let value =
            Value { wl: value.wl.clamp(-1.0, 1.0), d: value.d.clamp(0.0, 1.0), m: value.m.clamp(0.0, MOST_PLIES) };
        let fixed = |x: f32, one: f64| libm::rint(f64::from(x) * one) as i64 * i64::from(times);
        Self { wl: fixed(value.wl, VALUE_ONE), d: fixed(value.d, VALUE_ONE), m: fixed(value.m, PLY_ONE) }
    }

    /// The mean of `n` visits; of none, a draw is assumed to be as unknown as everything else: zero.
    pub fn mean(self, n: u32) -> Value {
        if n == 0 {
            return Value::EVEN;
        }
        let mean = |sum: i64, one: f64| (sum as f64 / (f64::from(n) * one)) as f32;
        Value { wl: mean(self.wl, VALUE_ONE), d: mean(self.d, VALUE_ONE), m: mean(self.m, PLY_ONE) }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self { wl: self.wl + other.wl, d: self.d + other.d, m: self.m + other.m }
    }

    /// This without `other`.
    pub fn minus(self, other: Self) -> Self {
        Self { wl: self.wl - other.wl, d: self.d - other.d, m: self.m - other.m }
    }

    /// As the other side sees it.
    pub fn flipped(self) -> Self {
        Self { wl: -self.wl, ..self }
    }

    /// The same `n` visits one ply earlier, as the other side sees them.
    pub fn one_ply_up(self, n: u32) -> Self {
        Self { m: self.m + i64::from(n) * PLY_ONE as i64, ..self.flipped() }
    }

    /// The words of a record.
    pub fn to_words(self) -> [u32; Self::WORDS] {
        let low = |x: i64| x as u32;
        let high = |x: i64| (x >> 32) as u32;
        [low(self.wl), high(self.wl), low(self.d), high(self.d), low(self.m), high(self.m)]
    }

    /// From the words of a record.
    pub fn from_words(w: &[u32]) -> Self {
        let join = |i: usize| (u64::from(w[i]) | u64::from(w[i + 1]) << 32) as i64;
        Self { wl: join(0), d: join(2), m: join(4) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    #[test]
    fn a_visit_is_not_lost_beside_a_hundred_million() {
        let many = Sums::of(Value { wl: 0.5, d: 0.25, m: 500.0 }, 100_000_000);
        let one = Sums::of(Value { wl: -1.0, d: 0.0, m: 0.0 }, 1);
        let back = many.plus(one).minus(many);
        assert_eq!(back, one);
        assert_eq!(many.mean(100_000_000), Value { wl: 0.5, d: 0.25, m: 500.0 });
    }

    quickcheck! {
        fn order_does_not_matter(values: std::vec::Vec<(i16, u16, u16)>) -> bool {
            let value = |&(wl, d, m): &(i16, u16, u16)| Value {
                wl: f32::from(wl) / 32768.0, d: f32::from(d) / 65536.0, m: f32::from(m) / 100.0,
            };
            let add = |sums: Sums, v| Sums::plus(sums, Sums::of(value(v), 1));
            let forth = values.iter().fold(Sums::default(), add);
            let back = values.iter().rev().fold(Sums::default(), add);
            forth == back && Sums::from_words(&forth.to_words()) == forth
        }
    }
}
