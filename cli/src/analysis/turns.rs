//! Which positions of a query are asked for, and in which order: the same for every game.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::fields::{BadField, Fields, integer};

/// From 1 − 2⁶² to 2⁶² − 1.
const PRIORITIES: RangeInclusive<i64> = 1 - (1 << 62)..=(1 << 62) - 1;

/// What came of reading a query.
#[derive(Debug)]
pub struct Read<Q> {
    /// The query, or what is wrong with it.
    pub query: Result<Accepted<Q>, BadField>,
    /// What may be wrong, said before anything else.
    pub warnings: Vec<BadField>,
}

/// A query and which of its positions are asked for.
#[derive(Debug)]
pub struct Accepted<Q> {
    /// Shared by its turns.
    pub query: Q,
    /// The number of each turn and its priority, by number.
    pub turns: BTreeMap<usize, i64>,
}

/// `analyzeTurns` and the `priorities` that go with them, if there are any. Without them the last position is asked
/// for.
///
/// # Errors
/// No list of numbers, none in it, or one that is out of range; priorities without turns, or not as many.
pub fn turns(fields: Fields<'_>, last: usize) -> Result<Vec<(usize, Option<i64>)>, BadField> {
    let expected = "Must specify an array of integers indicating turns to analyze";
    let numbers = fields.integers("analyzeTurns", expected)?;
    let expected = "Must specify an array of integers indicating priorities";
    let priorities = fields.integers("priorities", expected)?;
    let bad = |error: &str| BadField::new("priorities", error);
    let Some(numbers) = numbers else {
        return match priorities {
            Some(_) => Err(bad("Can only specify when also specifying analyzeTurns")),
            None => Ok(vec![(last, None)]),
        };
    };
    if numbers.is_empty() {
        return Err(BadField::new("analyzeTurns", "Must not be empty"));
    }
    let mut turns = Vec::with_capacity(numbers.len());
    for number in numbers {
        let turn = usize::try_from(number).ok().filter(|turn| *turn <= last);
        let turn = turn.ok_or_else(|| BadField::new("analyzeTurns", format!("Invalid turn number: {number}")))?;
        turns.push((turn, None));
    }
    let Some(priorities) = priorities else { return Ok(turns) };
    if priorities.len() != turns.len() {
        return Err(bad("Must be of matching length to analyzeTurns"));
    }
    for ((_, own), number) in turns.iter_mut().zip(priorities) {
        let priority = i64::try_from(number).ok().filter(|priority| PRIORITIES.contains(priority));
        *own = Some(priority.ok_or_else(|| bad(&format!("Invalid priority: {number}")))?);
    }
    Ok(turns)
}

/// The turns with their priorities, in their order, each once: of several priorities the highest.
///
/// # Errors
/// If `priority` is not a number in range, or if there are priorities already.
pub fn prioritized(fields: Fields<'_>, turns: Vec<(usize, Option<i64>)>) -> Result<BTreeMap<usize, i64>, BadField> {
    let expected = "Must be a number between -2^62 and 2^62";
    let priority = fields.read("priority", expected, |value| integer(value, PRIORITIES))?;
    if priority.is_some() && turns.iter().any(|(_, own)| own.is_some()) {
        return Err(BadField::new("priority", "Cannot specify both priority and priorities"));
    }
    let mut once = BTreeMap::new();
    for (turn, own) in turns {
        let priority = own.or(priority).unwrap_or(0);
        once.entry(turn).and_modify(|known: &mut i64| *known = priority.max(*known)).or_insert(priority);
    }
    Ok(once)
}
