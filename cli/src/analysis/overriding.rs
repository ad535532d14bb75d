//! The errors and warnings about `overrideSettings` and unused fields, in KataGo's words: they are the same for both
//! games.

use serde_json::Value;

use crate::fields::{BadField, Fields, Object};

/// The field for a query's own parameters.
pub const OVERRIDES: &str = "overrideSettings";

/// The warning about parameters that nobody knows.
pub const UNKNOWN: &str = "Unknown config params";

/// The warning about an unknown field.
pub const UNUSED: &str = "Unexpected or unused field, do you have a typo? \
                          (set warnUnusedFields=false in the config to disable this warning)";

/// The query's own parameters, if it has the field.
///
/// # Errors
/// The field is no object.
pub fn read<'o>(fields: Fields<'o>) -> Result<Option<&'o Object>, BadField> {
    fields.read(OVERRIDES, "Must be an object", Value::as_object)
}

/// The error for a parameter that could not be set.
pub fn unset(reason: String) -> BadField {
    BadField::new(OVERRIDES, format!("Could not set settings: {reason}"))
}

/// One warning about all these parameters together, if there are any.
pub fn warning(what: &str, names: &[&str]) -> Option<BadField> {
    (!names.is_empty()).then(|| BadField::new(OVERRIDES, format!("{what}: {}", names.join(","))))
}
