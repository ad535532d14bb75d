//! The lines that answer a query.

use serde_json::{Value as Json, json};

use super::query::Query;
use crate::go::{Reporter, Search};

/// The line about a search, or `None` while nothing is known.
pub fn line(query: &Query, turn: usize, search: &Search<'_>, is_during_search: bool) -> Option<String> {
    search.tree().filter(|root| root.n() > 0)?;
    let mut answer = Reporter::new(&query.params, query.wanted, search).answer();
    answer.insert("id".into(), json!(query.id));
    answer.insert("isDuringSearch".into(), json!(is_during_search));
    answer.insert("turnNumber".into(), json!(turn));
    Some(Json::Object(answer).to_string())
}
