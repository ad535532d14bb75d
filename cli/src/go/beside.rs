//! The network for human play that stands beside the main one (KataGo's `-human-model`).
//!
//! The main network searches. The one beside it is asked about the root alone: what players of a profile would play
//! there, and how they would fare.
//!
//! It has an evaluator of its own, which is asked when a search begins.

use super::Evaluator;
use crate::network::{EvaluatorSettings, Weights, of_network};
use crate::subject::model;
use oncilla_nets::katago::Model;

/// The cache of the network beside gets one part in this many of what both networks may take: it is asked about roots
/// alone.
const CACHE_SHARE: usize = 8;

/// Bytes for the caches of the main network and of the one beside it, if there is one, out of `bytes` for both.
pub fn shares_of_cache(bytes: usize, has_beside: bool) -> [usize; 2] {
    let beside = if has_beside { bytes / CACHE_SHARE } else { 0 };
    [bytes - beside, beside]
}

/// An evaluator for the network in `weights`, which runs on what runs the main network. It has no cache yet.
///
/// # Errors
/// One line that begins with `--human-model`: the file can't be read, or it is no network for human play. KataGo takes
/// any network, and warns of one that does not know profiles.
pub fn beside(weights: &Weights, of_main: &EvaluatorSettings) -> Result<Evaluator, String> {
    let settings = EvaluatorSettings { weights: weights.clone(), ..of_main.clone() };
    let model = read(&settings).map_err(|error| format!("--human-model: {error}"))?;
    Ok(Evaluator::new(model, settings, 0))
}

fn read(settings: &EvaluatorSettings) -> Result<Model, String> {
    let weights = &settings.weights;
    if let Weights::File(path) = weights {
        let facts = path.metadata().map_err(|error| of_network(weights, &format!("can't read it: {error}")))?;
        // It is read more than once, which a pipe does not allow.
        if !facts.is_file() {
            return Err(format!("expected a network for human play in a regular file, got {weights}"));
        }
    }
    match model(settings)? {
        Some(model) if model.encodes_metadata() => Ok(model),
        Some(_) => Err(format!("expected a network for human play, got another network of Go's, {weights}")),
        None => Err(format!("expected a network for human play, one of KataGo's, got {weights}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_for_both() {
        assert_eq!(shares_of_cache(800, false), [800, 0]);
        assert_eq!(shares_of_cache(800, true), [700, 100]);
        assert_eq!(shares_of_cache(0, true), [0, 0]);
    }
}
