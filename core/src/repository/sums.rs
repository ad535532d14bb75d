//! The sums of a node, value and moves left, in fixed point.
//!
//! Integers have the same sum in any order, a visit is not lost beside 10⁸ others, and it can be taken back exactly.

use crate::evaluate::Value;
use crate::repository::EdgeValue;

/// How many bits a sum's steps of W−L are finer than an edge's.
const WL_SHIFT: u32 = 7;
const D_SHIFT: u32 = 14;
const PLY_SHIFT: u32 = 15;

/// One unit of W−L and of D. 4·10⁹ visits need 62 of 63 bits.
const WL_ONE: f64 = ((EdgeValue::WL_ONE as u64) << WL_SHIFT) as f64;
const D_ONE: f64 = ((EdgeValue::D_ONE as u64) << D_SHIFT) as f64;
/// One ply of moves left. 4·10⁹ visits of [`MOST_PLIES`] and a path on top of it need 63 bits.
const PLY: i64 = (EdgeValue::PLY_ONE as i64) << PLY_SHIFT;
/// More moves left than this count as this many: so no sum overflows, whatever an evaluator says.
const MOST_PLIES: f32 = 1024.0;

/// Sums over the visits of a node, from the side to move at that node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    wl: i64,
    d: i64,
    m: i64,
}

impl Sums {
    /// How many words of a node's record the sums take.
    pub(crate) const WORDS: usize = 6;

    /// The sums of `times` visits worth `value`. A component beyond its range counts as the end of the range, and one
    /// that is not a number as 0.
    #[inline]
    pub fn of(value: Value, times: u32) -> Self {
        let value = Self::in_range(value);
        let fixed = |x: f32, one: f64| libm::rint(f64::from(x) * one) as i64 * i64::from(times);
        Self { wl: fixed(value.wl, WL_ONE), d: fixed(value.d, D_ONE), m: fixed(value.m, PLY as f64) }
    }

    pub(crate) fn in_range(value: Value) -> Value {
        let range = |x: f32, low: f32, high: f32| if x > low { x.min(high) } else { low };
        let wl = if value.wl.is_nan() { 0.0 } else { range(value.wl, -1.0, 1.0) };
        Value { wl, d: range(value.d, 0.0, 1.0), m: range(value.m, 0.0, MOST_PLIES) }
    }

    /// The sums of `times` visits along an edge, as its parent adds them: with the child's moves left and one ply more.
    pub(crate) fn of_edge(value: EdgeValue, times: u32) -> Self {
        let times = i64::from(times);
        Self {
            wl: (i64::from(value.wl) << WL_SHIFT) * times,
            d: (i64::from(value.d) << D_SHIFT) * times,
            m: ((i64::from(value.m) << PLY_SHIFT) + PLY) * times,
        }
    }

    /// The mean of `n` visits; with no visits it is all zero: even the probability of a draw, which is as unknown as
    /// the rest.
    #[inline]
    pub fn mean(self, n: u32) -> Value {
        if n == 0 {
            return Value::EVEN;
        }
        let scale = 1.0 / f64::from(n);
        let part = |sum: i64, one: f64| mean(sum, scale, one);
        Value { wl: part(self.wl, WL_ONE), d: part(self.d, D_ONE), m: part(self.m, PLY as f64) }
    }

    /// W−L of the mean of `n` visits.
    #[inline]
    pub fn mean_wl(self, n: u32) -> f32 {
        if n == 0 { Value::EVEN.wl } else { mean(self.wl, 1.0 / f64::from(n), WL_ONE) }
    }

    /// The sums of both sets of visits together.
    #[inline]
    pub fn plus(self, other: Self) -> Self {
        Self { wl: self.wl + other.wl, d: self.d + other.d, m: self.m + other.m }
    }

    /// These sums without those of `other`.
    #[inline]
    pub fn minus(self, other: Self) -> Self {
        Self { wl: self.wl - other.wl, d: self.d - other.d, m: self.m - other.m }
    }

    /// These sums as words of a node's record.
    #[inline]
    pub(crate) fn to_words(self) -> [u32; Self::WORDS] {
        let low = |x: i64| x as u32;
        let high = |x: i64| (x >> 32) as u32;
        [low(self.wl), high(self.wl), low(self.d), high(self.d), low(self.m), high(self.m)]
    }

    /// Reads the sums from words of a node's record.
    #[inline]
    pub(crate) fn from_words(word: impl Fn(usize) -> u32) -> Self {
        let join = |i: usize| (u64::from(word(i)) | u64::from(word(i + 1)) << 32) as i64;
        Self { wl: join(0), d: join(2), m: join(4) }
    }
}

/// The mean of a sum, where `scale` is 1 divided by the number of visits.
#[inline(always)]
fn mean(sum: i64, scale: f64, one: f64) -> f32 {
    (sum as f64 * scale * (1.0 / one)) as f32
}

#[cfg(all(test, not(loom)))]
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

    #[test]
    fn what_is_no_number_is_nothing() {
        let nothing = Sums::of(Value { wl: f32::NAN, d: f32::NAN, m: f32::NAN }, 3);
        assert_eq!(nothing, Sums::default());
        let most = Sums::of(Value { wl: 9.0, d: 9.0, m: 1e9 }, 1).mean(1);
        assert_eq!(most, Value { wl: 1.0, d: 1.0, m: 1024.0 });
    }

    quickcheck! {
        fn order_does_not_matter(values: std::vec::Vec<(i16, u16, u16)>) -> bool {
            let value = |&(wl, d, m): &(i16, u16, u16)| Value {
                wl: f32::from(wl) / 32768.0, d: f32::from(d) / 65536.0, m: f32::from(m) / 100.0,
            };
            let add = |sums: Sums, v| Sums::plus(sums, Sums::of(value(v), 1));
            let forth = values.iter().fold(Sums::default(), add);
            let back = values.iter().rev().fold(Sums::default(), add);
            let words = forth.to_words();
            forth == back && Sums::from_words(|i| words[i]) == forth
        }

        /// What an edge keeps of a value, times its visits, is what its parent's sums get: nothing is left when the
        /// value changes and the old one is taken away.
        fn an_edge_adds_what_it_keeps(wl: i16, d: u16, m: u16, n: u16) -> bool {
            let child = Value { wl: f32::from(wl) / 32768.0, d: f32::from(d) / 65536.0, m: f32::from(m) / 100.0 };
            let kept = EdgeValue::of_child(child);
            let sums = Sums::of_edge(kept, n.into());
            let mean = sums.mean(n.max(1).into());
            let near = |a: f32, b: f32, by: f32| (a - b).abs() <= by;
            n == 0 || near(mean.wl, -child.wl, 1.3e-7)
                && near(mean.d, child.d, 8e-6)
                && near(mean.m, child.m.min(2047.9) + 1.0, 0.017)
        }
    }
}
