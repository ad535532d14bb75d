//! Threads of the host where many positions are searched at the same time: for both games.

use crate::engine::EvaluatorSettings;
use crate::options::Meaning;
use crate::system::cores;

/// What the evaluator of all searches is made from.
pub fn for_all_searches(of_one: &EvaluatorSettings, meaning: &Meaning) -> EvaluatorSettings {
    let mut wanted = of_one.clone();
    if wanted.threads == meaning.settings.workers.all {
        wanted.threads = host_threads(wanted.threads, meaning.analysis.parallel, cores());
    }
    wanted
}

/// `Threads` are those of one position; the host backend computes for all of them, with no more threads than there are
/// cores. 0 is one for each core.
fn host_threads(of_one: usize, parallel: usize, cores: usize) -> usize {
    (of_one * parallel).min(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_gets_no_more_threads_than_cores() {
        assert_eq!(host_threads(2, 3, 16), 6);
        assert_eq!(host_threads(4, 64, 16), 16);
        assert_eq!(host_threads(24, 4, 16), 16, "be they for one position alone");
        assert_eq!([host_threads(0, 8, 16), host_threads(3, 0, 16)], [0, 0], "one for each core");
    }
}
