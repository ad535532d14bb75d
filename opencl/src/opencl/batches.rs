//! How large a GPU's batches are: this is measured when it is opened and compared with the host. It gives the largest
//! batch, and the smallest one with about the best rate, which a search gathers.
//!
//! A system takes a launch that lasts too long for one that hangs, and resets the GPU: after half a second where v3d or
//! panfrost drives it, 640 ms with i915, two seconds on Windows. How many positions that is, on GPUs of which the
//! fastest is a thousand times as fast as the slowest, is found out by trying, from a single position on.

use super::{Fault, OpenCl, canary};
use crate::backend::{Outputs, shortest};

/// The batch sizes that are tried: single positions and a few, which have kernels of their own, and the sizes that a
/// search may gather.
const LADDER: [usize; 6] = [1, 3, 8, 16, 32, 64];

/// How many seconds a batch's launches may take on average: the longest launch, which takes about four times as long,
/// then takes a fifth of what the strictest system allows.
const LAUNCH: f64 = 0.025;

/// How many seconds a batch may take, however many launches it has: a game waits for it.
const BATCH: f64 = 0.5;

/// A smaller batch with this share of the best rate is preferred: it is back sooner.
const WORTH: f64 = 0.9;

/// The smallest batch that is preferred, if it is possible.
const LEAST: usize = 8;

/// A batch that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Timed {
    batch: usize,
    seconds: f64,
}

impl Timed {
    /// Positions per second.
    fn rate(self) -> f64 {
        self.batch as f64 / self.seconds
    }

    /// How many seconds another batch takes at most: positions that share launches take no longer.
    fn expected(self, batch: usize) -> f64 {
        batch as f64 / self.rate()
    }
}

/// How many seconds a batch of `launches` launches may take.
fn limit(launches: usize) -> f64 {
    (LAUNCH * launches as f64).min(BATCH)
}

/// The most positions that take no longer than `limit`, judged by the largest batch that was measured.
fn largest(last: Timed, limit: f64, most: usize) -> usize {
    ((limit * last.rate()) as usize).clamp(1, most)
}

/// The smallest batch that is worth gathering and whose rate is about the best.
fn preferred(timed: &[Timed]) -> Option<Timed> {
    let from = timed.iter().position(|timed| timed.batch >= LEAST).unwrap_or(0);
    let best = timed[from..].iter().map(|timed| timed.rate()).fold(0.0, f64::max);
    timed[from..].iter().find(|timed| timed.rate() >= WORTH * best).copied()
}

impl OpenCl {
    /// Compares batches of growing sizes with the host, as long as none takes too long; measures them, and sets the
    /// largest and the preferred batch by that.
    pub(super) fn fit_batches(&mut self) -> Result<(), Fault> {
        self.fit(Self::check_in)
    }

    /// Sets the largest batch by the time that batches of growing sizes take, unless that is done, whatever they
    /// compute.
    pub(super) fn limit_batches(&mut self) -> Result<(), Fault> {
        match self.common.rate {
            Some(_) => Ok(()),
            None => self.fit(|_, _, _| Ok(())),
        }
    }

    fn fit(&mut self, check_in: impl Fn(&mut Self, &[usize], usize) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut timed: Vec<Timed> = Vec::new();
        for (turn, batch) in LADDER.into_iter().enumerate() {
            let is_long = timed.last().is_some_and(|last| last.expected(batch) > limit(self.launches(batch)));
            if batch > self.common.max_batch || is_long {
                break;
            }
            check_in(self, &[batch], turn)?;
            timed.push(Timed { batch, seconds: self.seconds(batch)? });
        }
        let Some(&last) = timed.last() else { return Ok(()) };
        self.common.max_batch = largest(last, limit(self.launches(last.batch)), self.common.max_batch);
        self.common.largest_piece = self.common.largest_piece.min(self.common.max_batch);
        timed.retain(|timed| timed.batch <= self.common.max_batch);
        if let Some(best) = preferred(&timed) {
            (self.common.preferred, self.common.rate) = (best.batch, Some(best.rate()));
        }
        check_in(self, &[self.common.max_batch], LADDER.len())
    }

    /// The shorter one of two runs, whatever they compute; before that, the kernels are compiled for this size.
    fn seconds(&mut self, batch: usize) -> Result<f64, Fault> {
        let input = canary::planes(batch * self.common.graph.input().len());
        Ok(shortest(2, || self.run(batch, &input, &mut Outputs::default()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(times: &[(usize, f64)]) -> Vec<Timed> {
        times.iter().map(|&(batch, seconds)| Timed { batch, seconds }).collect()
    }

    #[test]
    fn no_launch_comes_near_what_a_system_allows() {
        assert_eq!(limit(4), 0.1);
        assert_eq!(limit(80), BATCH);
        let last = Timed { batch: 8, seconds: 0.04 };
        assert_eq!(last.expected(16), 0.08);
        assert_eq!(largest(last, 0.1, 128), 20);
        assert_eq!(largest(last, 100.0, 128), 128);
        assert_eq!(largest(Timed { batch: 1, seconds: 3.0 }, 0.5, 128), 1, "there is nothing smaller");
    }

    #[test]
    fn the_smallest_batch_with_about_the_best_rate_is_preferred() {
        let best = |times: &[(usize, f64)]| preferred(&timed(times)).map(|best| best.batch);
        assert_eq!(best(&[(1, 1.0), (3, 1.0), (8, 1.0), (16, 1.1), (32, 1.5), (64, 2.9)]), Some(32));
        assert_eq!(best(&[(1, 1.0), (3, 2.9), (8, 8.0), (16, 16.0)]), Some(8), "no smaller one is worth gathering");
        assert_eq!(best(&[(1, 1.0), (3, 2.9)]), Some(1), "where there is a larger one");
        assert_eq!(best(&[]), None);
    }
}
