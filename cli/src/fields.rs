//! Reads the fields of a request and checks their types and ranges.

use std::fmt;

use serde_json::{Map, Value};

use crate::options::table::MOST_VISITS;

/// A JSON object.
pub type Object = Map<String, Value>;

/// A wrong field, for which a request is refused. As in KataGo, for a list of rules it is the field of the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadField {
    /// The field's name.
    pub field: String,
    /// What is wrong with the field.
    pub error: String,
}

impl fmt::Display for BadField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.error)
    }
}

impl BadField {
    /// A refusal of `field`.
    pub fn new(field: &str, error: impl Into<String>) -> Self {
        Self { field: field.to_string(), error: error.into() }
    }
}

/// What a field with a player must be.
pub const A_PLAYER: &str = "Must be \"b\" or \"w\"";

/// What the depth of a rule must be.
pub const A_DEPTH: &str = "Must be a positive integer";

/// A search parameter of KataGo's that is also a field of queries.
pub const ROOT_FPU: &str = "rootFpuReductionMax";

/// Reads a whole number within a range. A number that is written with a fraction, even 1.0, is not one.
pub fn integer(value: &Value, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    value.as_i64().filter(|number| range.contains(number))
}

/// `avoidMoves` or `allowMoves`, with players and moves as the game has them.
pub struct MoveRules<P, M> {
    /// True for `allowMoves`: the moves are all that may be searched.
    pub only: bool,
    /// The rules, in the query's order.
    pub rules: Vec<MoveRule<P, M>>,
}

impl<P: PartialEq, M> MoveRules<P, M> {
    /// The rules of a list, each as converted by `read`.
    ///
    /// # Errors
    /// `read` fails, or a player has several rules that say which moves are all that may be searched.
    pub fn of<'l, T>(
        only: bool,
        list: &'l [T],
        read: impl Fn(&'l T) -> Result<MoveRule<P, M>, BadField>,
    ) -> Result<Self, BadField> {
        let bad = |error| Err(BadField::new("allowMoves", error));
        if only && list.len() > 2 {
            return bad("Currently allowMoves only allows at most one entry per player");
        }
        let mut rules: Vec<MoveRule<P, M>> = Vec::new();
        for rule in list {
            let rule = read(rule)?;
            if only && rules.iter().any(|other| other.player == rule.player) {
                return bad("Cannot specify allowMoves more than once for the same player");
            }
            rules.push(rule);
        }
        Ok(Self { only, rules })
    }
}

/// A rule of `avoidMoves` or `allowMoves`.
pub struct MoveRule<P, M> {
    /// Whose moves the rule is about.
    pub player: P,
    /// The moves.
    pub moves: M,
    /// The depth, in plies below the position that is analysed, from which on the rule does not count.
    pub until_depth: usize,
}

/// Reads the fields of an object.
#[derive(Clone, Copy)]
pub struct Fields<'o>(pub &'o Object);

impl<'o> Fields<'o> {
    /// The field, if there is one. A field that is `null` is present, and has the wrong type for every reader.
    pub fn get(self, field: &str) -> Option<&'o Value> {
        self.0.get(field)
    }

    /// The field as converted by `read`; `None` if it is missing.
    ///
    /// # Errors
    /// `read` returns `None`.
    pub fn read<T>(
        self,
        field: &str,
        expected: &str,
        read: impl FnOnce(&'o Value) -> Option<T>,
    ) -> Result<Option<T>, BadField> {
        let Some(value) = self.get(field) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| BadField::new(field, expected))
    }

    /// A boolean; false if the field is missing.
    ///
    /// # Errors
    /// Any other value, numbers included.
    pub fn switch(self, field: &str) -> Result<bool, BadField> {
        Ok(self.read(field, "Must be a boolean", Value::as_bool)?.unwrap_or(false))
    }

    /// A number from `least` to `most`.
    ///
    /// # Errors
    /// Anything else.
    pub fn number(self, field: &str, expected: &str, least: f64, most: f64) -> Result<Option<f64>, BadField> {
        self.read(field, expected, |value| value.as_f64().filter(|number| (least..=most).contains(number)))
    }

    /// A number of seconds.
    ///
    /// # Errors
    /// Not a number, or one that is out of range.
    pub fn seconds(self, field: &str) -> Result<Option<f64>, BadField> {
        self.number(field, "Must be number of seconds from 0.001 to 1000000.0", 0.001, 1e6)
    }

    /// `maxVisits`: the most visits of a position.
    ///
    /// # Errors
    /// Not a whole number, or one that is out of range.
    pub fn max_visits(self) -> Result<Option<u64>, BadField> {
        let expected = "Must be an integer from 1 to 2^50";
        self.read("maxVisits", expected, |value| integer(value, 1..=MOST_VISITS).map(i64::cast_unsigned))
    }

    /// `analysisPVLen`: the most moves of a `pv` after its first one.
    ///
    /// # Errors
    /// Not a whole number, or one that is out of range.
    pub fn pv_len(self) -> Result<Option<usize>, BadField> {
        let expected = "Must be an integer from 1 to 1000";
        self.read("analysisPVLen", expected, |value| integer(value, 1..=1000).map(|len| len as usize))
    }

    /// `rootPolicyTemperature`: divides the logits of the root.
    ///
    /// # Errors
    /// Not a number, or one that is out of range.
    pub fn root_policy_temperature(self) -> Result<Option<f64>, BadField> {
        self.number("rootPolicyTemperature", "Must be a number from 0.01 to 100.0", 0.01, 100.0)
    }

    /// `rootFpuReductionMax`: by how much a move of the root without visits is taken to be worse than the root.
    ///
    /// # Errors
    /// Not a number, or one that is out of range.
    pub fn root_fpu_reduction(self) -> Result<Option<f64>, BadField> {
        self.root_fpu_reduction_of(Value::as_f64)
    }

    /// Like [`Fields::root_fpu_reduction`], with numbers as `number` reads them.
    ///
    /// # Errors
    /// `number` returns `None`, or a number that is out of range.
    pub fn root_fpu_reduction_of(self, number: fn(&Value) -> Option<f64>) -> Result<Option<f64>, BadField> {
        let read = |value| number(value).filter(|number| (0.0..=2.0).contains(number));
        self.read(ROOT_FPU, "Must be a number from 0.0 to 2.0", read)
    }

    /// A list of whole numbers.
    ///
    /// # Errors
    /// Not a list, or one with anything else in it.
    pub fn integers(self, field: &str, expected: &str) -> Result<Option<Vec<i128>>, BadField> {
        // All 64-bit integers, signed or not, are accepted here, so that a later error can name the number.
        let whole = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        self.read(field, expected, |value| value.as_array()?.iter().map(whole).collect())
    }

    /// `avoidMoves` or `allowMoves`; without either, no rules. `player` and `moves` read the parts of a rule that each
    /// game has in its own notation.
    ///
    /// # Errors
    /// Both fields are there, or one that is no list of rules, or a field of a rule is wrong, which is then named by
    /// its own name, as in KataGo.
    pub fn move_rules<P: PartialEq, M>(
        self,
        player: impl Fn(&str) -> Option<P>,
        moves: impl Fn(&'o Value) -> Result<M, BadField>,
    ) -> Result<MoveRules<P, M>, BadField> {
        let (field, only, list) = match (self.get("avoidMoves"), self.get("allowMoves")) {
            (None, None) => return Ok(MoveRules { only: false, rules: Vec::new() }),
            (Some(_), Some(_)) => {
                return Err(BadField::new("allowMoves", "Cannot specify both allowMoves and avoidMoves"));
            }
            (Some(list), None) => ("avoidMoves", false, list),
            (None, Some(list)) => ("allowMoves", true, list),
        };
        let shape = || BadField::new(field, "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'");
        let list = list.as_array().ok_or_else(shape)?;
        MoveRules::of(only, list, |rule| {
            let [its_player, its_moves, depth] = ["player", "moves", "untilDepth"].map(|inner| rule.get(inner));
            let (Some(its_player), Some(its_moves), Some(depth)) = (its_player, its_moves, depth) else {
                return Err(shape());
            };
            let its_player = its_player.as_str().and_then(&player);
            let its_player = its_player.ok_or_else(|| BadField::new("player", A_PLAYER))?;
            let its_moves = moves(its_moves)?;
            let depth = integer(depth, 1..=i64::MAX).ok_or_else(|| BadField::new("untilDepth", A_DEPTH))?;
            let until_depth = usize::try_from(depth).unwrap_or(usize::MAX);
            Ok(MoveRule { player: its_player, moves: its_moves, until_depth })
        })
    }
}
