//! Decides whether the threads share each position or one of them takes it, if there are more threads than positions.
//!
//! The outputs are the same to the bit. Which way is faster depends on how fast one core hears from another, and on
//! what else the cores have to do: of two machines of the same size one made a small network 1.5 times as fast by
//! sharing, the other half as fast.

use std::time::{Duration, Instant};

/// How many times both ways are tried in turn; the one that is faster more often is used. An odd number.
const PAIRS: u32 = 9;

/// How many batches in a row make one try. The first doesn't count: helpers that had nothing to do may be asleep.
pub(super) const ROW: u32 = 4;

/// After how many batches the ways are tried again.
const AGAIN: u32 = 4096;

/// Learns which way is faster from the batches themselves, which all have one size.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    /// Batches since the ways were tried.
    batches: u32,
    /// In how many pairs sharing was faster.
    wins: u32,
    /// How long a row of batches took, by way, in the pair that is being tried.
    times: [Duration; 2],
}

impl Sharing {
    /// Runs a batch: `run` is told whether its positions should be shared.
    pub fn run(&mut self, run: impl FnOnce(bool)) {
        let way = self.next();
        match way {
            Way::Known { shares } => run(shares),
            Way::Tried { shares, .. } => {
                let begun = Instant::now();
                run(shares);
                self.took(way, begun.elapsed());
            }
        }
    }

    /// The way of the next batch.
    fn next(&mut self) -> Way {
        if self.batches >= AGAIN {
            *self = Self::default();
        }
        let (row, place) = (self.batches / ROW, self.batches % ROW);
        self.batches += 1;
        match row < 2 * PAIRS {
            true => Way::Tried { shares: row % 2 == 1, place },
            false => Way::Known { shares: 2 * self.wins > PAIRS },
        }
    }

    /// Records how long a batch took that was tried.
    fn took(&mut self, way: Way, time: Duration) {
        let Way::Tried { shares, place } = way else { return };
        if place > 0 {
            self.times[usize::from(shares)] += time;
        }
        if shares && place == ROW - 1 {
            let [alone, shared] = std::mem::take(&mut self.times);
            self.wins += u32::from(shared < alone);
        }
    }
}

/// How a batch is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// As the batch with this index in its row; the time that it takes has to be recorded.
    Tried {
        shares: bool,
        place: u32,
    },
    Known {
        shares: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways of `batches` batches; `took` returns the microseconds of each.
    fn ways(sharing: &mut Sharing, batches: u32, took: impl Fn(u32, bool) -> u64) -> Vec<Way> {
        let mut next = |at| {
            let way = sharing.next();
            if let Way::Tried { shares, .. } = way {
                sharing.took(way, Duration::from_micros(took(at, shares)));
            }
            way
        };
        (0..batches).map(&mut next).collect()
    }

    #[test]
    fn the_way_that_is_faster_more_often_is_taken() {
        let tries = (2 * PAIRS * ROW) as usize;
        for faster in [true, false] {
            let took = |at, shares| match at {
                // What a helper needs to wake says nothing, nor do single times that another program took the
                // processor.
                _ if at % ROW == 0 && shares => 900,
                6 | 17 => 5000,
                _ if shares == faster => 100,
                _ => 150,
            };
            let ways = ways(&mut Sharing::default(), 200, took);
            let shared = |way: &&Way| matches!(way, Way::Tried { shares: true, .. });
            assert_eq!(ways[..tries].iter().filter(shared).count(), tries / 2);
            assert!(ways[tries..].iter().all(|way| *way == Way::Known { shares: faster }), "{faster}");
        }
    }

    #[test]
    fn it_is_tried_again() {
        let mut sharing = Sharing::default();
        ways(&mut sharing, AGAIN, |_, shares| if shares { 1 } else { 2 });
        let later = ways(&mut sharing, 100, |_, shares| if shares { 2 } else { 1 });
        assert_eq!(later[0], Way::Tried { shares: false, place: 0 });
        assert_eq!(later[99], Way::Known { shares: false });
    }
}
