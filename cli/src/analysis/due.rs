//! The times of reports during a search.

use super::query::Reports;
use std::time::{Duration, Instant};

/// The time of the next report, and the interval of those after it.
pub struct Due {
    next: Option<Instant>,
    every: Option<Duration>,
}

impl Due {
    /// Starts to count the time until the first report.
    pub fn new(reports: Reports) -> Self {
        let next = reports.first.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
        Self { next, every: reports.every.map(Duration::from_secs_f64) }
    }

    /// Whether a report is due.
    pub fn is_now(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() >= next)
    }

    /// Records that a report was made.
    pub fn said(&mut self) {
        self.next = self.every.map(|every| Instant::now() + every);
    }
}
