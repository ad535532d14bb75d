//! The times of reports during a search.

use crate::fields::{BadField, Fields};
use std::time::{Duration, Instant};

/// The times of reports during a search, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reports {
    /// From the start of the search to the first report.
    pub first: Option<f64>,
    /// From each report to the next.
    pub every: Option<f64>,
}

impl Reports {
    /// `reportDuringSearchEvery` and `firstReportDuringSearchAfter`.
    ///
    /// # Errors
    /// Not a number of seconds.
    pub fn read(fields: Fields<'_>) -> Result<Self, BadField> {
        let every = fields.seconds("reportDuringSearchEvery")?;
        Ok(Self { first: fields.seconds("firstReportDuringSearchAfter")?.or(every), every })
    }
}

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
