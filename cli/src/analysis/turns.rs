//! Reads the turns that a query asks for and their priorities, for both games.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::fields::{BadField, Fields, integer};

/// From 1 − 2⁶² to 2⁶² − 1.
const PRIORITIES: RangeInclusive<i64> = 1 - (1 << 62)..=(1 << 62) - 1;

/// The result of reading a query.
#[derive(Debug)]
pub struct Read<Q> {
    /// The query, or the error in it.
    pub query: Result<Accepted<Q>, BadField>,
    /// Warnings, which are written before the answers.
    pub warnings: Vec<BadField>,
}

/// A query with the turns that it asks for.
#[derive(Debug)]
pub struct Accepted<Q> {
    /// The query itself, which all of its turns share.
    pub query: Q,
    /// The priority of each turn, by the turn's number.
    pub turns: BTreeMap<usize, i64>,
}

/// Reads `analyzeTurns` and their `priorities`, if there are any. Without `analyzeTurns` the result is the last
/// position.
///
/// # Errors
/// Not a list of numbers, an empty one, or a number out of range; priorities without turns, or not one for each turn.
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

/// Sorts the turns by number and removes duplicates, of which the last priority counts, as in KataGo. Turns without a
/// priority of their own get `priority`.
///
/// # Errors
/// If `priority` is not a number in range, or if `priorities` are given too.
pub fn prioritized(fields: Fields<'_>, turns: Vec<(usize, Option<i64>)>) -> Result<BTreeMap<usize, i64>, BadField> {
    let expected = "Must be a number between -2^62 and 2^62";
    let priority = fields.read("priority", expected, |value| integer(value, PRIORITIES))?;
    if priority.is_some() && turns.iter().any(|(_, own)| own.is_some()) {
        return Err(BadField::new("priority", "Cannot specify both priority and priorities"));
    }
    Ok(turns.into_iter().map(|(turn, own)| (turn, own.or(priority).unwrap_or(0))).collect())
}
