//! The record of a visited edge: five words.
//!
//! | word | bits |
//! |---|---|
//! | 0 | N |
//! | 1 | child: 29; whether it is firm: 1; visits in flight, high part: 2 |
//! | 2 | W−L, 0 for no value: 24; visits in flight, low part: 8 |
//! | 3 | prior: 16; move: 16 |
//! | 4 | draws: 16; moves left: 16. Without a value: the place among the legal moves, and whether the move is known |

use crate::evaluate::Move;
use crate::repository::{EdgeValue, Naming, Seen, Sums, Visit};
use crate::sync::{AtomicU32, get, set};

/// Words of a record.
pub const RECORD: usize = 5;

const CHILD_BITS: u32 = 29;
const CHILD_MASK: u32 = (1 << CHILD_BITS) - 1;
const FIRM: u32 = 1 << CHILD_BITS;
/// The bits below the number of visits in flight.
const LINK_BITS: u32 = CHILD_BITS + 1;
const LINK_MASK: u32 = CHILD_MASK | FIRM;
/// The largest number of slots that a child's link can tell apart.
pub const MOST_CHILDREN: usize = CHILD_MASK as usize;

const WL_BITS: u32 = 24;
const WL_MASK: u32 = (1 << WL_BITS) - 1;
/// The code of W−L = 0. (0 stands for no value: codes begin with 1.)
const WL_EVEN: i32 = 1 << (WL_BITS - 1);
const LOW_BITS: u32 = 32 - WL_BITS;
const LOW_MASK: u32 = (1 << LOW_BITS) - 1;

const NAMED: u32 = 1 << 31;

#[inline(always)]
pub fn read(words: &[AtomicU32; RECORD]) -> Visit {
    let [n, child, wl, edge, rest] = words;
    let (n, child, wl, edge, rest) = (get(n), get(child), get(wl), get(edge), get(rest));
    let in_flight = (child >> LINK_BITS << LOW_BITS | wl >> WL_BITS) as u16;
    let code = (wl & WL_MASK) as i32;
    let value = (code != 0).then_some(EdgeValue { wl: code - WL_EVEN, d: rest as u16, m: (rest >> 16) as u16 });
    Visit { n, in_flight, value, prior: edge as u16, mv: naming(words) }
}

/// What selection needs of the record.
#[inline(always)]
pub fn seen(words: &[AtomicU32; RECORD]) -> Seen {
    let [n, _, wl, edge, rest] = words;
    let (code, rest) = ((get(wl) & WL_MASK) as i32, get(rest));
    let value = (code != 0).then_some(EdgeValue { wl: code - WL_EVEN, d: rest as u16, m: (rest >> 16) as u16 });
    Seen { n: get(n), value, prior: get(edge) as u16 }
}

/// The move, or its index among the legal ones.
#[inline]
pub fn naming(words: &[AtomicU32; RECORD]) -> Naming {
    let [_, _, wl, edge, rest] = words;
    let (code, edge, rest) = (get(wl) & WL_MASK, get(edge), get(rest));
    let named = code != 0 || rest & NAMED != 0;
    if named { Naming::Named(Move((edge >> 16) as u16)) } else { Naming::Index(rest as u16) }
}

/// Counts one more visit in flight; `false` if the record can't count any more of them.
#[inline]
pub fn depart(words: &[AtomicU32; RECORD]) -> bool {
    let (child, wl) = (get(&words[1]), get(&words[2]));
    let (low, carry) = wl.overflowing_add(1 << WL_BITS);
    if carry {
        if child >> LINK_BITS == u32::MAX >> LINK_BITS {
            return false;
        }
        set(&words[1], child + (1 << LINK_BITS));
    }
    set(&words[2], low);
    set(&words[0], get(&words[0]) + 1);
    true
}

/// `visits` of the visits in flight come back, after which the child is worth `value`. Returns by how much the record's
/// contribution to its node's sums grows.
#[inline(always)]
pub fn arrive(words: &[AtomicU32; RECORD], visits: u16, value: EdgeValue) -> Sums {
    let before = read(words);
    debug_assert!(matches!(before.mv, Naming::Named(_)), "a move is named before its first visit comes back");
    let after = Visit { in_flight: before.in_flight - visits, value: Some(value), ..before };
    let in_flight = u32::from(after.in_flight);
    set(&words[1], get(&words[1]) & LINK_MASK | in_flight >> LOW_BITS << LINK_BITS);
    set(&words[2], code_of(value) | (in_flight & LOW_MASK) << WL_BITS);
    set(&words[4], u32::from(value.d) | u32::from(value.m) << 16);
    after.contribution().minus(before.contribution())
}

#[inline(always)]
fn code_of(value: EdgeValue) -> u32 {
    (value.wl + WL_EVEN) as u32
}

/// Writes everything but the child.
#[inline(always)]
pub fn write(words: &[AtomicU32; RECORD], visit: Visit) {
    let in_flight = u32::from(visit.in_flight);
    let (mv, unvalued) = match visit.mv {
        Naming::Named(mv) => (mv.0, NAMED),
        Naming::Index(index) => (0, index.into()),
    };
    let (code, rest) = match visit.value {
        Some(value) => (code_of(value), u32::from(value.d) | u32::from(value.m) << 16),
        None => (0, unvalued),
    };
    set(&words[0], visit.n);
    set(&words[1], get(&words[1]) & LINK_MASK | in_flight >> LOW_BITS << LINK_BITS);
    set(&words[2], code | (in_flight & LOW_MASK) << WL_BITS);
    set(&words[3], u32::from(visit.prior) | u32::from(mv) << 16);
    set(&words[4], rest);
}

/// The child's slot plus 1, or 0.
#[inline(always)]
pub fn child(words: &[AtomicU32; RECORD]) -> u32 {
    get(&words[1]) & CHILD_MASK
}

/// Links the record to another child, which is not firm.
#[inline]
pub fn set_child(words: &[AtomicU32; RECORD], child: u32) {
    set(&words[1], get(&words[1]) & !LINK_MASK | child);
}

#[inline(always)]
pub fn is_firm(words: &[AtomicU32; RECORD]) -> bool {
    get(&words[1]) & FIRM != 0
}

#[inline]
pub fn set_firm(words: &[AtomicU32; RECORD]) {
    set(&words[1], get(&words[1]) | FIRM);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::evaluate::Value;
    use quickcheck::quickcheck;

    quickcheck! {
        fn a_record_keeps_all_its_parts(n: u32, flying: u16, link: u32, prior: u16, mv: u16, state: u8, wl: i16) -> bool {
            let words: [AtomicU32; RECORD] = core::array::from_fn(|_| AtomicU32::new(0));
            let at_child = Value { wl: f32::from(wl) / 32767.0, d: f32::from(prior) / 65535.0, m: f32::from(mv) / 32.0 };
            let visit = Visit {
                n,
                in_flight: flying % (Visit::MOST_IN_FLIGHT + 1),
                value: (state.is_multiple_of(3)).then(|| EdgeValue::of_child(at_child)),
                prior,
                mv: if state % 3 == 1 { Naming::Index(mv % 1024) } else { Naming::Named(Move(mv)) },
            };
            set_child(&words, link & CHILD_MASK);
            let firm = link & FIRM != 0;
            if firm {
                set_firm(&words);
            }
            write(&words, visit);
            let kept = read(&words) == visit && child(&words) == link & CHILD_MASK && is_firm(&words) == firm;
            set_child(&words, 7);
            kept && read(&words) == visit && child(&words) == 7 && !is_firm(&words)
        }
    }
}
