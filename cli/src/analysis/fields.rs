//! The fields of a request, one by one: each has the type that it should have, or the request is refused.

use serde_json::Value;

use super::request::Object;
use crate::options::table::MOST_VISITS;

/// Why a field is refused. The field is the one that the answer names: in a list of rules the inner one, as in KataGo.
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

/// A whole number; a number with a fraction, even of 0, is not one.
pub fn integer(value: &Value, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    value.as_i64().filter(|number| range.contains(number))
}

/// Reads the fields of an object.
#[derive(Clone, Copy)]
pub struct Fields<'o>(pub &'o Object);

impl<'o> Fields<'o> {
    /// The field, if it is there. `null` is there, and of the wrong type for everything.
    pub fn get(self, field: &str) -> Option<&'o Value> {
        self.0.get(field)
    }

    /// The field, if it is there, as `read` understands it.
    ///
    /// # Errors
    /// `read` does not.
    pub fn read<T>(
        self,
        field: &str,
        expected: &str,
        read: impl FnOnce(&'o Value) -> Option<T>,
    ) -> Result<Option<T>, BadField> {
        let Some(value) = self.get(field) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| BadField::new(field, expected))
    }

    /// True or false; false where nothing is said.
    ///
    /// # Errors
    /// Anything else, numbers too.
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

    /// Seconds.
    ///
    /// # Errors
    /// No number, or one that is out of range.
    pub fn seconds(self, field: &str) -> Result<Option<f64>, BadField> {
        self.number(field, "Must be number of seconds from 0.001 to 1000000.0", 0.001, 1e6)
    }

    /// `maxVisits`: visits of a position at most.
    ///
    /// # Errors
    /// No whole number, or one that is out of range.
    pub fn max_visits(self) -> Result<Option<u64>, BadField> {
        let expected = "Must be an integer from 1 to 2^50";
        self.read("maxVisits", expected, |value| integer(value, 1..=MOST_VISITS).map(i64::cast_unsigned))
    }

    /// `analysisPVLen`: moves of a line after its first.
    ///
    /// # Errors
    /// No whole number, or one that is out of range.
    pub fn pv_len(self) -> Result<Option<usize>, BadField> {
        let expected = "Must be an integer from 1 to 1000";
        self.read("analysisPVLen", expected, |value| integer(value, 1..=1000).map(|len| len as usize))
    }

    /// `rootPolicyTemperature`: what divides the root's logits.
    ///
    /// # Errors
    /// No number, or one that is out of range.
    pub fn root_policy_temperature(self) -> Result<Option<f64>, BadField> {
        self.number("rootPolicyTemperature", "Must be a number from 0.01 to 100.0", 0.01, 100.0)
    }

    /// Whole numbers.
    ///
    /// # Errors
    /// Anything else in the list, or no list.
    pub fn integers(self, field: &str, expected: &str) -> Result<Option<Vec<i128>>, BadField> {
        // The list may hold more than 64 bits can: which number it was is said later.
        let whole = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
        self.read(field, expected, |value| value.as_array()?.iter().map(whole).collect())
    }
}
