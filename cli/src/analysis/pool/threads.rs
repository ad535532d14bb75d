//! Threads of the host where many positions are searched at the same time: for both games.

use crate::engine::EvaluatorSettings;
use crate::options::Meaning;

/// What the evaluator of all searches is made from.
pub fn for_all_searches(of_one: &EvaluatorSettings, meaning: &Meaning) -> EvaluatorSettings {
    let mut wanted = of_one.clone();
    if wanted.threads == meaning.settings.workers.all {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        wanted.threads = host_threads(wanted.threads, meaning.analysis.parallel, cores);
    }
    wanted
}

/// `Threads` are those of one position; the host backend computes for all of them, with no more threads than there are
/// cores, unless one position alone is to have more. 0 is one for each core.
fn host_threads(of_one: usize, parallel: usize, cores: usize) -> usize {
    match of_one * parallel {
        0 => 0,
        of_all => of_all.min(cores).max(of_one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_gets_no_more_threads_than_cores() {
        assert_eq!(host_threads(2, 3, 16), 6);
        assert_eq!(host_threads(4, 64, 16), 16);
        assert_eq!(host_threads(24, 4, 16), 24, "one position alone would have as many");
        assert_eq!([host_threads(0, 8, 16), host_threads(3, 0, 16)], [0, 0], "one for each core");
    }
}
