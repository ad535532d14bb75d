//! How long a unit is busy with a batch, by its size: measured, never assumed.

/// Sizes are told apart by their power of two, up to 2¹⁶.
const CLASSES: usize = 17;

/// The weight of the newest batch in the mean of its class: a machine gets warm, and other programs come and go.
const NEWEST: f64 = 1.0 / 8.0;

/// A batch is full where a larger one has not this much more evaluations per second.
const WORTH: f64 = 1.05;

/// The latencies of one unit.
#[derive(Clone, Debug)]
pub struct Pace {
    /// By class: the mean of the sizes and of the times.
    classes: [Option<Mean>; CLASSES],
    max_batch: usize,
}

#[derive(Clone, Copy, Debug)]
struct Mean {
    rows: f64,
    seconds: f64,
}

impl Mean {
    fn per_second(self) -> f64 {
        self.rows / self.seconds
    }
}

impl Pace {
    /// Of a unit of which nothing is known yet, which takes at most `max_batch` positions.
    pub fn new(max_batch: usize) -> Self {
        Self { classes: [None; CLASSES], max_batch }
    }

    /// A batch of `rows` took so long.
    pub fn add(&mut self, rows: usize, seconds: f64) {
        let class = (rows.max(1).ilog2() as usize).min(CLASSES - 1);
        // A clock that stood still has at least ticked.
        let new = Mean { rows: rows as f64, seconds: seconds.max(1e-9) };
        let mean = self.classes[class].get_or_insert(new);
        mean.rows += NEWEST * (new.rows - mean.rows);
        mean.seconds += NEWEST * (new.seconds - mean.seconds);
    }

    /// The smallest batch with which the unit is about as fast as it gets. As long as no larger one was seen than those
    /// that were worth it, that is the largest which it takes: what was not tried may be better.
    pub fn full(&self) -> usize {
        let mut known = self.classes.iter().flatten();
        let Some(mut best) = known.next() else { return self.max_batch };
        let mut is_peak = false;
        for mean in known {
            is_peak = mean.per_second() < WORTH * best.per_second();
            if !is_peak {
                best = mean;
            }
        }
        if is_peak { (best.rows.round() as usize).clamp(1, self.max_batch) } else { self.max_batch }
    }

    /// Seconds that a batch of `rows` may take; 0 where nothing is known, so that it is tried.
    pub fn expected(&self, rows: usize) -> f64 {
        let rows = rows as f64;
        let mut below: Option<&Mean> = None;
        for mean in self.classes.iter().flatten() {
            if mean.rows >= rows {
                let Some(below) = below else { return mean.seconds };
                let part = (rows - below.rows) / (mean.rows - below.rows);
                return below.seconds + part * (mean.seconds - below.seconds);
            }
            below = Some(mean);
        }
        below.map_or(0.0, |mean| mean.seconds * rows / mean.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(times: &[(usize, f64)]) -> Pace {
        let mut pace = Pace::new(64);
        times.iter().for_each(|&(rows, seconds)| pace.add(rows, seconds));
        pace
    }

    #[test]
    fn a_batch_is_full_where_more_is_no_faster() {
        assert_eq!(pace(&[]).full(), 64);
        assert_eq!(pace(&[(1, 1.0)]).full(), 64, "nothing larger was tried");
        assert_eq!(pace(&[(1, 1.0), (2, 1.1), (4, 1.3), (8, 2.4)]).full(), 64, "each was better than the last");
        assert_eq!(pace(&[(1, 1.0), (2, 1.1), (5, 1.3), (8, 2.6)]).full(), 5);
        // A processor: no batch is faster than another.
        assert_eq!(pace(&[(1, 1.0), (2, 2.0), (4, 4.0), (8, 8.0)]).full(), 1);
    }

    #[test]
    fn what_is_expected_lies_between_what_was_measured() {
        let pace = pace(&[(2, 1.0), (8, 4.0)]);
        assert_eq!([1, 2, 5, 8, 16].map(|rows| pace.expected(rows)), [1.0, 1.0, 2.5, 4.0, 8.0]);
        assert_eq!(super::Pace::new(8).expected(3), 0.0);
    }

    #[test]
    fn the_newest_batches_count_most() {
        let mut pace = pace(&[(4, 1.0)]);
        (0..40).for_each(|_| pace.add(4, 3.0));
        assert!((2.9..3.0).contains(&pace.expected(4)));
    }
}
