//! Reports on a search that goes on.

use super::query::Reports;
use std::time::{Duration, Instant};

/// When a report is due.
pub struct Due {
    next: Option<Instant>,
    every: Option<Duration>,
}

impl Due {
    /// The first report is due this long from now.
    pub fn new(reports: Reports) -> Self {
        let next = reports.first.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
        Self { next, every: reports.every.map(Duration::from_secs_f64) }
    }

    /// Whether one is.
    pub fn is_now(&self) -> bool {
        self.next.is_some_and(|next| Instant::now() >= next)
    }

    /// Records that a report was made.
    pub fn said(&mut self) {
        self.next = self.every.map(|every| Instant::now() + every);
    }
}
