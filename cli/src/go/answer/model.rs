//! The description of a network in answers.

use oncilla_go::Size;
use serde_json::{Value, json};

use crate::go::Evaluator;

/// A network's entry in the answers to `query_models` and GTP's `kata-get-models`, with what runs it on boards of a
/// size.
pub fn describe_model(network: &Evaluator, size: Size) -> Value {
    let (model, facts) = (network.model(), network.facts(size));
    let is_half_precision = facts.as_ref().is_some_and(|facts| network.settings().is_half_precision(facts));
    json!({
        "internalName": model.name,
        "maxBatchSize": facts.map_or(1, |facts| facts.max_batch),
        "name": network.settings().weights.to_string(),
        "usesHumanSLProfile": model.encodes_metadata(),
        "usingFP16": is_half_precision.to_string(),
        "version": model.version,
    })
}
