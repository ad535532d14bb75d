//! The queue of rows that wait, the units that take batches out of it, and which unit takes how many.

use super::request::Request;
use super::unit::{Lane, QueueLength, Unit};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// What all threads share, under one lock.
pub(super) struct State {
    /// The entries that wait, the oldest first.
    pub(super) queue: VecDeque<Entry>,
    /// The units, whose indices never change.
    pub(super) units: Vec<Unit>,
    pub(super) helpers: Vec<JoinHandle<()>>,
    pub(super) idle_helpers: usize,
    /// The number of batches that have departed.
    pub(super) departed: u64,
    /// Whether a device has ever failed.
    pub(super) failed_before: bool,
    /// What a person has yet to be told of devices that fail, the oldest first: whoever gets an answer next tells it,
    /// because a request that such a device has failed may have been late, and then nobody reads what comes of it.
    pub(super) news: VecDeque<String>,
    pub(super) closed: bool,
}

/// Rows of a request that have not been taken.
pub(super) struct Entry {
    pub(super) request: Arc<Request>,
    pub(super) rows: Range<usize>,
}

/// A batch that a thread carries.
pub(super) struct Load {
    pub(super) unit: usize,
    pub(super) number: u64,
    pub(super) lane: Lane,
    pub(super) parts: Vec<Part>,
    pub(super) rows: usize,
}

/// Rows of one request that are part of a batch.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) request: Arc<Request>,
    pub(super) rows: Range<usize>,
}

impl State {
    pub(super) fn new(units: Vec<Unit>) -> Self {
        Self {
            queue: VecDeque::new(),
            units,
            helpers: Vec::new(),
            idle_helpers: 0,
            departed: 0,
            failed_before: false,
            news: VecDeque::new(),
            closed: false,
        }
    }

    pub(super) fn waiting(&self) -> QueueLength {
        QueueLength { rows: self.queue.iter().map(|entry| entry.rows.len()).sum(), requests: self.queue.len() }
    }

    /// Whether there is no device.
    pub(super) fn is_host(&self) -> bool {
        !self.units.iter().any(|unit| unit.is_there() && unit.is_device())
    }

    /// Whether the request has rows that have not been taken.
    pub(super) fn has(&self, request: &Arc<Request>) -> bool {
        self.queue.iter().any(|entry| Arc::ptr_eq(&entry.request, request))
    }

    /// Whether a part of the queue could depart now.
    pub(super) fn may_depart(&self) -> bool {
        let waiting = self.waiting();
        self.units.iter().any(|unit| unit.departure(waiting).is_some())
    }

    /// Wakes the first owner of rows in the queue that waits. False if there is none.
    pub(super) fn call_owner(&self) -> bool {
        self.queue.iter().any(|entry| entry.request.call_owner())
    }

    /// Takes a batch that departs now out of the queue, with the rows of `first` at its beginning. `None` if nothing
    /// can depart, or if `first` has no rows in the queue.
    pub(super) fn load(&mut self, first: Option<&Arc<Request>>) -> Option<Load> {
        if let Some(first) = first {
            let at = self.queue.iter().position(|entry| Arc::ptr_eq(&entry.request, first))?;
            if at > 0 {
                let entry = self.queue.remove(at)?;
                self.queue.push_front(entry);
            }
        }
        let waiting = self.waiting();
        let (unit, share) = self.choose(waiting)?;
        let departure = self.units[unit].departure(waiting)?;
        let most = departure.rows.min(share);
        let parts = self.take_parts(most, departure.single);
        let rows = parts.iter().map(|part| part.rows.len()).sum();
        let number = self.departed;
        let Some(lane) = self.units[unit].depart(number, departure, rows, waiting) else {
            self.put_back(parts);
            return None;
        };
        self.departed += 1;
        Some(Load { unit, number, lane, parts, rows })
    }

    /// The unit whose turn it is, and how many of the waiting rows it should have: as many as it can do in the time in
    /// which the others do theirs. A unit that would need longer for a single row gets none for a while.
    fn choose(&self, waiting: QueueLength) -> Option<(usize, usize)> {
        let there: Vec<usize> = (0..self.units.len()).filter(|&at| self.units[at].is_there()).collect();
        if let [only] = there[..] {
            return Some((only, waiting.rows));
        }
        let now = Instant::now();
        let mut shares = vec![0; self.units.len()];
        for _ in 0..waiting.rows {
            let done = |at: &&usize| self.units[**at].done_in(shares[**at] + 1, now);
            let next = there.iter().min_by(|a, b| done(a).total_cmp(&done(b)))?;
            shares[*next] += 1;
        }
        let may = |at: &&usize| shares[**at] > 0 && self.units[**at].departure(waiting).is_some();
        there.iter().filter(may).max_by_key(|at| shares[**at]).map(|&at| (at, shares[at]))
    }

    /// Takes at most `most` rows from the front of the queue.
    fn take_parts(&mut self, most: usize, single: bool) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut left = most.max(1);
        while left > 0
            && let Some(entry) = self.queue.front_mut()
        {
            let rows = entry.rows.start..entry.rows.end.min(entry.rows.start + left);
            left -= rows.len();
            entry.rows.start = rows.end;
            parts.push(Part { request: Arc::clone(&entry.request), rows });
            if entry.rows.is_empty() {
                self.queue.pop_front();
            }
            if single {
                break;
            }
        }
        parts
    }

    /// Puts rows that were not answered back into the queue.
    pub(super) fn put_back(&mut self, parts: Vec<Part>) {
        for part in parts.into_iter().rev() {
            self.queue.push_front(Entry { request: part.request, rows: part.rows });
        }
    }
}
