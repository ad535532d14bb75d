//! Threads of the host if many positions are searched at the same time, for both games.

use crate::network::EvaluatorSettings;
use crate::options::Meaning;

/// The settings of the evaluator that all searches share.
pub fn for_all_searches(of_one: &EvaluatorSettings, meaning: &Meaning) -> EvaluatorSettings {
    let mut wanted = of_one.clone();
    if !wanted.threads_are_all {
        wanted.threads = host_threads(wanted.threads, meaning.analysis.parallel);
    }
    wanted
}

/// `Threads` are those of one position; the host computes for all positions, with no more threads than there are cores
/// (`network/units.rs`). 0 means one thread for each core.
fn host_threads(of_one: usize, parallel: usize) -> usize {
    of_one.saturating_mul(parallel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Typed, table};

    /// Whether they are as many as those of a position or not.
    #[test]
    fn threads_of_the_backend_are_those_of_all_positions() {
        for (options, threads) in [("", 16), ("threads=2", 2), ("threads=3", 3)] {
            let mut typed = Typed::default();
            for (flag, value) in [("threads", "2"), ("backend-opts", options), ("parallel", "8")] {
                typed.set(table::by_flag(flag).unwrap(), flag, value).unwrap();
            }
            let meaning = typed.meaning().unwrap();
            assert_eq!(for_all_searches(&meaning.settings.evaluator, &meaning).threads, threads, "{options}");
        }
    }

    #[test]
    fn each_position_has_its_threads() {
        assert_eq!([host_threads(2, 3), host_threads(0, 8), host_threads(3, 0)], [6, 0, 0]);
    }
}
