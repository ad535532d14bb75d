//! Reads the fields of a request and checks their types and ranges.

use serde_json::Value;

use super::request::Object;
use crate::options::table::MOST_VISITS;

/// A wrong field, for which a request is refused. As in KataGo, for a list of rules it is the field of the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadField {
    /// The field's name.
    pub field: String,
    /// What is wrong with the field.
    pub error: String,
}

impl BadField {
    /// A refusal of `field`.
    pub fn new(field: &str, error: impl Into<String>) -> Self {
        Self { field: field.to_string(), error: error.into() }
    }
}

/// Reads a whole number within a range. A number that is written with a fraction, even 1.0, is not one.
pub fn integer(value: &Value, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    value.as_i64().filter(|number| range.contains(number))
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

    /// A list of whole numbers.
    ///
    /// # Errors
    /// Not a list, or one with anything else in it.
    pub fn integers(self, field: &str, expected: &str) -> Result<Option<Vec<i128>>, BadField> {
        // All 64-bit integers, signed or not, are accepted here, so that a later error can name the number.
        let whole = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        self.read(field, expected, |value| value.as_array()?.iter().map(whole).collect())
    }
}
