//! How long a unit is busy with a batch, by its size: measured, never assumed.
//!
//! A batch may be slow for reasons of its own: another program, a compiler, a clock that was low. So what counts for a
//! class of sizes is the median of its last few batches, and classes that are too large to be worth it are tried again
//! now and then. In the end every measurement that was bad by chance is forgotten. So is that a unit was slow, once
//! others have done the work for a while: a unit that gets nothing isn't measured.

use std::collections::VecDeque;

/// Sizes are divided into classes by their power of two, up to 2¹⁶.
const CLASSES: usize = 17;

/// The number of a class's last batches that count: a machine gets warm, and other programs come and go.
const RECENT: usize = 7;

/// A size is a full batch if a larger one does not have this much more evaluations per second.
const WORTH: f64 = 1.05;

/// After this many full batches a larger one is tried, if there are rows for it: that it was not worth it may have been
/// chance, or due to the time when it ran.
const TRIAL: u32 = 64;

/// A class of sizes is tried again, as if it were as fast as it ever was, when other units have worked as long as this
/// many of its typical batches take since its last one. If it is as slow as it was then, that has cost the search one
/// part in `PASSED_OVER`.
const PASSED_OVER: f64 = 50.0;

/// The latencies of one unit.
#[derive(Clone, Debug)]
pub struct Pace {
    classes: [Option<Class>; CLASSES],
    max_batch: usize,
    /// The number of full batches since a larger one ran.
    full_ones: u32,
}

/// What is known of the sizes from one power of two up to the next.
#[derive(Clone, Debug)]
struct Class {
    /// The last batches, the oldest first.
    recent: VecDeque<Sample>,
    typical: Sample,
    fastest: Sample,
    /// Seconds that other units have worked since the newest batch.
    passed_over: f64,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    rows: f64,
    seconds: f64,
}

impl Sample {
    fn per_second(self) -> f64 {
        self.rows / self.seconds
    }
}

impl Class {
    fn new(first: Sample) -> Self {
        Self { recent: VecDeque::from([first]), typical: first, fastest: first, passed_over: 0.0 }
    }

    /// Adds a batch. The typical batch is the median by speed; of two it is the faster one, because nothing makes a
    /// batch faster than it is.
    fn add(&mut self, sample: Sample) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(sample);
        let mut by_speed: Vec<Sample> = self.recent.iter().copied().collect();
        by_speed.sort_by(|a, b| b.per_second().total_cmp(&a.per_second()));
        self.typical = by_speed[(by_speed.len() - 1) / 2];
        if sample.per_second() > self.fastest.per_second() {
            self.fastest = sample;
        }
        self.passed_over = 0.0;
    }

    /// What a batch is expected to take.
    fn expected(&self) -> Sample {
        if self.passed_over < PASSED_OVER * self.typical.seconds { self.typical } else { self.fastest }
    }
}

/// The largest size of a class.
fn largest_of(class: usize) -> usize {
    (2 << class) - 1
}

impl Pace {
    /// The pace of a unit that takes at most `max_batch` positions and of which nothing is known yet.
    pub fn new(max_batch: usize) -> Self {
        Self { classes: Default::default(), max_batch, full_ones: 0 }
    }

    /// Learns that a batch of `rows` rows took `seconds`.
    pub fn add(&mut self, rows: usize, seconds: f64) {
        match rows.cmp(&self.full()) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.full_ones = self.full_ones.saturating_add(1),
            std::cmp::Ordering::Greater => self.full_ones = 0,
        }
        // If the clock stood still, it is assumed to have ticked once.
        let new = Sample { rows: rows as f64, seconds: seconds.max(1e-9) };
        match &mut self.classes[(rows.max(1).ilog2() as usize).min(CLASSES - 1)] {
            Some(class) => class.add(new),
            none => *none = Some(Class::new(new)),
        }
    }

    /// Learns that another unit worked on a batch for `seconds`.
    pub fn passed_over(&mut self, seconds: f64) {
        self.classes.iter_mut().flatten().for_each(|class| class.passed_over += seconds);
    }

    /// The smallest batch with which the unit is about as fast as it gets, as far as sizes are told apart. Until a
    /// larger class was seen not to be worth it, that is the largest batch that the unit takes: what was not tried may
    /// be better.
    pub fn full(&self) -> usize {
        self.full_class().map_or(self.max_batch, largest_of).min(self.max_batch)
    }

    /// The largest batch that should depart now: a full one, or now and then a larger one to try.
    pub fn most(&self) -> usize {
        match self.full_class() {
            Some(class) if self.full_ones >= TRIAL => largest_of(class + 1).min(self.max_batch),
            _ => self.full(),
        }
    }

    /// The class of full batches. `None` if no class was seen to be too large.
    fn full_class(&self) -> Option<usize> {
        let mut known = self.classes.iter().enumerate().filter_map(|(at, class)| Some((at, class.as_ref()?.typical)));
        let (mut full, mut best) = known.next()?;
        let mut is_peak = false;
        for (class, typical) in known {
            is_peak = typical.per_second() < WORTH * best.per_second();
            if !is_peak {
                (full, best) = (class, typical);
            }
        }
        is_peak.then_some(full)
    }

    /// Seconds that a batch of `rows` rows is expected to take; 0 if nothing is known, so that the unit is tried.
    pub fn expected(&self, rows: usize) -> f64 {
        let rows = rows as f64;
        let mut below: Option<Sample> = None;
        for above in self.classes.iter().flatten().map(Class::expected) {
            if above.rows >= rows {
                let Some(below) = below else { return above.seconds };
                let part = (rows - below.rows) / (above.rows - below.rows);
                return below.seconds + part * (above.seconds - below.seconds);
            }
            below = Some(above);
        }
        below.map_or(0.0, |below| below.seconds * rows / below.rows)
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
        assert_eq!(pace(&[(1, 1.0), (2, 1.1), (5, 1.3), (8, 2.6)]).full(), 7, "the class's largest");
        // A host's cores: batches of all sizes have the same speed.
        assert_eq!(pace(&[(1, 1.0), (2, 2.0), (4, 4.0), (8, 8.0)]).full(), 1);
    }

    #[test]
    fn what_is_expected_lies_between_what_was_measured() {
        let pace = pace(&[(2, 1.0), (8, 4.0)]);
        assert_eq!([1, 2, 5, 8, 16].map(|rows| pace.expected(rows)), [1.0, 1.0, 2.5, 4.0, 8.0]);
        assert_eq!(super::Pace::new(8).expected(3), 0.0);
    }

    #[test]
    fn the_newest_batches_count() {
        let mut pace = pace(&[(4, 1.0)]);
        (0..RECENT).for_each(|_| pace.add(4, 3.0));
        assert_eq!(pace.expected(4), 3.0);
    }

    #[test]
    fn who_was_passed_over_for_long_is_expected_to_be_as_fast_as_ever() {
        let mut pace = pace(&[(4, 1.0), (4, 1.5)]);
        (0..RECENT).for_each(|_| pace.add(4, 3.0));
        pace.passed_over(PASSED_OVER * 3.0 - 1.0);
        assert_eq!(pace.expected(4), 3.0);
        pace.passed_over(2.0);
        assert_eq!(pace.expected(4), 1.0);
        pace.add(4, 3.0);
        assert_eq!(pace.expected(4), 3.0, "it was tried");
    }

    /// Seconds for a batch if a launch takes as long as twenty rows: the larger a batch, the better.
    fn takes(rows: usize) -> f64 {
        0.001 + 0.000_05 * rows as f64
    }

    /// Runs batches that are as large as they may be.
    fn run_full(pace: &mut Pace, batches: usize) {
        for _ in 0..batches {
            let rows = pace.most();
            pace.add(rows, takes(rows));
        }
    }

    #[test]
    fn one_slow_batch_costs_no_larger_ones_for_good() {
        for slow in [16, 33, 64, 100] {
            let mut pace = Pace::new(256);
            [1, 2, 4, 8, 16, 33, 64, 100].iter().for_each(|&rows| pace.add(rows, takes(rows)));
            pace.add(slow, 0.5);
            assert_eq!(pace.full(), 256, "after a batch of {slow}");
            // The first batch of its class, of which nothing else is known.
            let mut pace = Pace::new(256);
            [1, 2, 4, 8].iter().for_each(|&rows| pace.add(rows, takes(rows)));
            pace.add(slow, 0.5);
            run_full(&mut pace, 4 * (TRIAL as usize + 1));
            assert_eq!(pace.full(), 256, "after a first batch of {slow}");
        }
    }

    #[test]
    fn what_was_slow_for_a_while_is_tried_until_it_is_not() {
        let mut pace = Pace::new(256);
        [1, 4, 16, 64].iter().for_each(|&rows| pace.add(rows, takes(rows)));
        (0..RECENT).for_each(|_| pace.add(200, 0.5));
        assert_eq!((pace.full(), pace.most()), (127, 127));
        run_full(&mut pace, TRIAL as usize);
        assert_eq!((pace.full(), pace.most()), (127, 255), "a trial makes nobody wait for more rows");
        run_full(&mut pace, 1);
        assert_eq!(pace.most(), 127, "one at a time");
        run_full(&mut pace, RECENT * (TRIAL as usize + 1));
        assert!(pace.full() >= 255, "{}", pace.full());
    }

    /// Otherwise, what a full batch is would sink with each batch that was not quite full.
    #[test]
    fn smaller_batches_of_a_class_do_not_make_its_full_one_smaller() {
        let mut pace = Pace::new(256);
        [1, 4, 16, 64].iter().for_each(|&rows| pace.add(rows, takes(rows)));
        (0..RECENT).for_each(|_| pace.add(200, 0.5));
        for batch in 0..1000 {
            let rows = pace.full() - batch % 50;
            pace.add(rows, takes(rows));
            assert!(pace.full() >= 127, "{}", pace.full());
        }
    }
}
