//! Whether the threads share a position or one of them takes it, where there are more threads than positions.
//!
//! The outputs are the same to the bit. Which is faster depends on how soon one core hears of another, and on what else
//! the cores have to do: of two machines of the same size one made a small network 1.5 times as fast by sharing, the
//! other half as fast.

use std::time::{Duration, Instant};

/// So many times both ways are tried in turn; the one that is faster more often is taken. An odd number.
const PAIRS: u32 = 9;

/// Batches in a row of which a try is made. The first doesn't count: helpers that had nothing to do may sleep.
pub(super) const ROW: u32 = 4;

/// After so many batches they are tried again.
const AGAIN: u32 = 4096;

/// Learns it from the batches themselves, which are of one size.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    /// Batches since the ways were tried.
    batches: u32,
    /// Pairs in which sharing was faster.
    wins: u32,
    /// What a row of batches took, by way, of the pair that is being tried.
    times: [Duration; 2],
}

impl Sharing {
    /// Runs a batch: `run` is told whether its positions are shared.
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

    /// How long a batch took that was tried.
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
    /// As the batch at that place in its row; the time that it takes is to be told.
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

    /// The ways of so many batches, each of which takes so many microseconds.
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
