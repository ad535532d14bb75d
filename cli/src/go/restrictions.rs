//! Moves that a query leaves out: those of `avoidMoves`, or all except those of `allowMoves`.

use oncilla_go::{Color, Move, PointSet, Size};
use serde_json::Value;
use std::collections::BTreeMap;

use super::vertex::{self, Vertex};
use crate::fields::{BadField, Fields, MoveRules};

/// Which moves may not be searched, by player and depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// The moves that are forbidden to each player, by the depth at which that ends.
    forbidden: [Box<[Forbidden]>; 2],
}

/// Moves that are forbidden at depths less than `until_depth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Forbidden {
    until_depth: usize,
    /// The set of moves; it contains a pass by its number, like a point.
    moves: PointSet,
}

impl Restrictions {
    /// Whether a player may play a move `depth` plies below the position that is analysed.
    #[inline]
    pub fn allows(&self, color: Color, depth: usize, mv: Move) -> bool {
        let forbidden = &self.forbidden[color as usize];
        !forbidden.iter().any(|forbidden| depth < forbidden.until_depth && forbidden.moves.contains(mv))
    }

    /// Whether every move is allowed everywhere.
    pub fn is_empty(&self) -> bool {
        self.forbidden.iter().all(|forbidden| forbidden.is_empty())
    }

    /// Whether a move is forbidden anywhere else than at the position that is analysed.
    pub fn reach_below_root(&self) -> bool {
        self.forbidden.iter().flatten().any(|forbidden| forbidden.until_depth > 1)
    }

    /// Both restrictions; `None` if both restrict the same player.
    pub fn and(self, other: Self) -> Option<Self> {
        let mut forbidden = self.forbidden;
        for (ours, theirs) in forbidden.iter_mut().zip(other.forbidden) {
            match (ours.is_empty(), theirs.is_empty()) {
                (false, false) => return None,
                (true, _) => *ours = theirs,
                (false, true) => {}
            }
        }
        Some(Self { forbidden })
    }

    /// Bytes that the restrictions take besides their own size.
    pub fn bytes(&self) -> usize {
        self.forbidden.iter().map(|forbidden| size_of_val(&**forbidden)).sum()
    }

    /// Reads `avoidMoves` or `allowMoves`.
    ///
    /// # Errors
    /// A bad field, in KataGo's words: a field of a rule is named by its own name.
    pub fn read(fields: Fields<'_>, size: Size) -> Result<Self, BadField> {
        Ok(Self::of(fields.move_rules(vertex::player, |moves| vertices(moves, size))?, size))
    }

    /// The restrictions that these rules make on a board of this size.
    pub fn of(MoveRules { only, rules }: MoveRules<Color, Vec<Move>>, size: Size) -> Self {
        let mut until: [BTreeMap<Move, usize>; 2] = Default::default();
        for rule in rules {
            let until = &mut until[rule.player as usize];
            if only {
                let all = size.points().chain([size.pass()]);
                until.extend(all.map(|mv| (mv, rule.until_depth)));
            }
            // If a move has several depths, the last one counts; 0 forbids it nowhere.
            let depth = if only { 0 } else { rule.until_depth };
            until.extend(rule.moves.iter().map(|&mv| (mv, depth)));
        }
        Self { forbidden: until.map(|until| by_depth(&until)) }
    }
}

/// Groups the moves by their depth.
fn by_depth(until: &BTreeMap<Move, usize>) -> Box<[Forbidden]> {
    let mut sets: BTreeMap<usize, PointSet> = BTreeMap::new();
    for (&mv, &depth) in until.iter().filter(|(_, depth)| **depth > 0) {
        sets.entry(depth).or_default().insert(mv);
    }
    sets.into_iter().map(|(until_depth, moves)| Forbidden { until_depth, moves }).collect()
}

fn vertices(list: &Value, size: Size) -> Result<Vec<Move>, BadField> {
    let shape = || BadField::new("moves", "Must be an array of GTP board vertices");
    let read = |value: &Value| vertex_of_rule(value.as_str().ok_or_else(shape)?, size);
    list.as_array().ok_or_else(shape)?.iter().map(read).collect()
}

/// Reads a move of a rule.
///
/// # Errors
/// The text is not on this board.
pub fn vertex_of_rule(text: &str, size: Size) -> Result<Move, BadField> {
    match Vertex::read(text, size) {
        Some(Vertex::On(mv)) => Ok(mv),
        _ => Err(BadField::new("moves", format!("Could not parse board location: {text}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SIZE: Size = Size::STANDARD;

    fn read(fields: Value) -> Restrictions {
        Restrictions::read(Fields(fields.as_object().unwrap()), SIZE).unwrap()
    }

    fn at(text: &str) -> Move {
        SIZE.parse(text).unwrap()
    }

    #[test]
    fn moves_are_avoided_until_their_depth() {
        let rules = json!([
            { "player": "b", "moves": ["D4", "pass", "Q16"], "untilDepth": 3 },
            { "player": "B", "moves": ["Q16"], "untilDepth": 1 },
            { "player": "white", "moves": ["T1"], "untilDepth": i64::MAX },
        ]);
        let restrictions = read(json!({ "avoidMoves": rules }));
        let black = |depth, text| restrictions.allows(Color::Black, depth, at(text));
        assert_eq!([0, 2, 3].map(|depth| black(depth, "D4")), [false, false, true]);
        assert_eq!([0, 1].map(|depth| black(depth, "Q16")), [false, true], "the last depth counts");
        assert!(!black(0, "pass") && black(0, "T1") && black(0, "K10"));
        assert!(!restrictions.allows(Color::White, 1_000_000, at("T1")));
        assert!(restrictions.allows(Color::White, 0, at("D4")));
        assert!(!restrictions.is_empty() && restrictions.bytes() == 3 * size_of::<Forbidden>());
        assert!(restrictions.reach_below_root());
        let at_the_root = json!([{ "player": "w", "moves": ["D4"], "untilDepth": 1 }]);
        assert!(!read(json!({ "avoidMoves": at_the_root })).reach_below_root());
    }

    #[test]
    fn all_but_the_allowed_moves_are_forbidden() {
        let rules = json!([{ "player": "W", "moves": ["D4"], "untilDepth": 2 }]);
        let restrictions = read(json!({ "allowMoves": rules }));
        let white = |depth, text| restrictions.allows(Color::White, depth, at(text));
        assert!(white(0, "D4") && !white(0, "pass") && !white(1, "A1") && white(2, "A1"));
        assert!(restrictions.allows(Color::Black, 0, at("A1")));
        let none = json!([{ "player": "B", "moves": [], "untilDepth": 1 }]);
        let restrictions = read(json!({ "allowMoves": none }));
        assert!(SIZE.points().chain([SIZE.pass()]).all(|mv| !restrictions.allows(Color::Black, 0, mv)));
    }

    #[test]
    fn nothing_is_forbidden_by_empty_lists() {
        let empty = json!([{ "player": "B", "moves": [], "untilDepth": 1 }]);
        for fields in
            [json!({}), json!({ "avoidMoves": [] }), json!({ "allowMoves": [] }), json!({ "avoidMoves": empty })]
        {
            assert!(read(fields.clone()).is_empty(), "{fields}");
        }
    }
}
