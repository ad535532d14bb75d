//! A device, or the host: what runs batches, how many at once, and when one departs.

use super::pace::Pace;
use super::request::{Sizes, is_needed};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::{Graph, Role};
use oncilla_opencl::host::canary;
use std::time::{Duration, Instant};

/// Batches in a row that a device may fail to answer before it is given up.
pub const FAILURES: u32 = 3;

/// Of the numbers that a network is tried on one in so many is a one, as about in a position.
const ONE_IN: u32 = 16;

/// Requests that meet no other one on the host before one gets all of its cores again.
const ALONE: u32 = 8;

/// Batches of a size that are measured before the first search: a device that looks slow by chance gets no rows beside
/// others, and so would not be measured again.
const MEASURED: usize = 3;

/// Something that runs one batch at a time, and room for that batch.
pub struct Lane {
    pub backend: Box<dyn Backend>,
    /// It has all of the host's cores; others have one.
    is_wide: bool,
    is_hosts: bool,
    /// Rows of several requests, side by side.
    pub input: Vec<f32>,
    pub outputs: Outputs,
    /// How many of its last batches failed.
    failures: u32,
}

impl Lane {
    fn new(backend: Box<dyn Backend>, is_wide: bool, is_hosts: bool) -> Self {
        Self { backend, is_wide, is_hosts, input: Vec::new(), outputs: Outputs::default(), failures: 0 }
    }

    /// Whether an output that is no number tells that the backend has failed. What the host says is the network's own
    /// word, whatever it is: there is nobody else to ask. Nor is a device given up for what a search can go without.
    pub fn must_be_numbers(&self, role: Role) -> bool {
        !self.is_hosts && is_needed(role)
    }
}

/// Where lanes come from that share what they run on.
pub struct Unit {
    /// One line for a person.
    pub describe: String,
    /// Largest batch.
    pub max_batch: usize,
    /// Batch that a search should gather for it.
    pub preferred_batch: usize,
    leaves_host_free: bool,
    rule: Rule,
    idle: Vec<Lane>,
    flights: Vec<Flight>,
    /// When the last batch came back.
    last: Option<Instant>,
    pace: Pace,
    /// How many of the last batches failed.
    failures: u32,
    /// It is of no use any more: lanes that come back are dropped.
    is_lost: bool,
}

/// When a batch departs, and with what.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Several positions take a device hardly longer than one. The first batch goes at once, with all that is there.
    /// Another goes behind it when it is full or as large: sooner it would only wait there, and be smaller than it need
    /// be.
    Device,
    /// Each core takes a position. Where requests meet, each is evaluated by one core, in the thread that asks, so that
    /// no core waits for another; one that is alone has all of them. `alone` counts those that met none.
    Host { alone: u32 },
}

/// A batch on its way.
struct Flight {
    number: u64,
    rows: usize,
    due: Instant,
}

/// What a batch may be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// At most so many rows.
    pub rows: usize,
    /// Of one request only.
    pub single: bool,
    is_wide: bool,
}

/// Rows that wait for an answer, and the requests that they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLength {
    pub rows: usize,
    pub requests: usize,
}

impl Unit {
    /// A device, with one lane for each batch that may be on it.
    pub fn device(lanes: Vec<Box<dyn Backend>>) -> Self {
        Self::new(lanes.into_iter().map(|backend| Lane::new(backend, false, false)).collect(), Rule::Device)
    }

    /// The host: with all of its cores, and in lanes of one core each, if there are several.
    pub fn host(wide: Box<dyn Backend>, narrow: Vec<Box<dyn Backend>>) -> Self {
        let mut lanes: Vec<Lane> = narrow.into_iter().map(|backend| Lane::new(backend, false, true)).collect();
        lanes.insert(0, Lane::new(wide, true, true));
        Self::new(lanes, Rule::Host { alone: ALONE })
    }

    fn new(idle: Vec<Lane>, rule: Rule) -> Self {
        let first = &idle[0].backend;
        let (describe, max_batch) = (first.describe(), first.max_batch());
        let (preferred_batch, leaves_host_free) = (first.preferred_batch(), first.leaves_host_free());
        let pace = Pace::new(max_batch);
        Self {
            describe,
            max_batch,
            preferred_batch,
            leaves_host_free,
            rule,
            idle,
            flights: Vec::new(),
            last: None,
            pace,
            failures: 0,
            is_lost: false,
        }
    }

    /// Whether it is a device, which can fail where the host can't.
    pub fn is_device(&self) -> bool {
        matches!(self.rule, Rule::Device)
    }

    /// Whether it can be used.
    pub fn is_there(&self) -> bool {
        !self.is_lost
    }

    /// Batches that it may have at once.
    pub fn lanes(&self) -> usize {
        match self.rule {
            Rule::Device => self.idle.len() + self.flights.len(),
            // Either the wide one or the others.
            Rule::Host { .. } => (self.idle.len() + self.flights.len()).saturating_sub(1).max(1),
        }
    }

    /// One-position searches that keep it busy.
    pub fn searches(&self) -> usize {
        match self.rule {
            Rule::Device => self.preferred_batch * self.lanes(),
            Rule::Host { .. } => self.lanes(),
        }
    }

    /// Threads of one search that it wants for itself: each waits for its batch while the others gather. 0: the
    /// search's one will do.
    pub fn threads(&self) -> usize {
        if self.leaves_host_free { self.lanes() } else { 0 }
    }

    /// The lane with most cores, where nobody else uses any.
    pub fn widest(&mut self) -> &mut Lane {
        let at = self.idle.iter().position(|lane| lane.is_wide).unwrap_or(0);
        &mut self.idle[at]
    }

    /// Evaluates one position, of such numbers as devices are compared on.
    ///
    /// # Errors
    /// One line: an output is no finite number.
    pub fn try_out(&mut self, graph: &Graph) -> Result<(), String> {
        let lane = self.widest();
        lane.backend
            .evaluate(&canary(graph.input().len(), ONE_IN), &mut lane.outputs)
            .map_err(|error| error.to_string())?;
        Sizes::new(graph).check(&mut lane.outputs, 1, |_| true)
    }

    /// Measures a few batch sizes, so that work can be shared out from the beginning.
    pub fn measure(&mut self) {
        let Some(lane) = self.idle.first_mut() else { return };
        for rows in [1, self.preferred_batch.min(self.max_batch)] {
            let input = vec![0.0; rows * lane.backend.graph().input().len()];
            for _ in 0..MEASURED {
                let begun = Instant::now();
                // What fails here fails in the search too, which says so.
                if lane.backend.evaluate(&input, &mut lane.outputs).is_ok() {
                    self.pace.add(rows, begun.elapsed().as_secs_f64());
                }
            }
        }
    }

    /// As if a batch of `rows` had taken so long.
    #[cfg(test)]
    pub fn learn(&mut self, rows: usize, seconds: f64) {
        self.pace.add(rows, seconds);
    }

    /// What may depart now, where so much waits; `None`: it has to wait.
    pub fn departure(&self, waiting: QueueLength) -> Option<Departure> {
        if self.is_lost || waiting.rows == 0 {
            return None;
        }
        match self.rule {
            Rule::Device => {
                let full = self.pace.full();
                let on_the_way: usize = self.flights.iter().map(|flight| flight.rows).sum();
                let may = !self.idle.is_empty() && waiting.rows >= on_the_way.min(full);
                may.then_some(Departure { rows: self.pace.most(), single: false, is_wide: false })
            }
            Rule::Host { alone } => {
                let is_alone = self.flights.is_empty() && waiting.requests == 1 && alone >= ALONE;
                let has_narrow = self.lanes() > 1;
                let is_wide = is_alone || !has_narrow;
                let there = self.idle.iter().any(|lane| lane.is_wide == is_wide);
                there.then_some(Departure { rows: self.max_batch, single: true, is_wide })
            }
        }
    }

    /// Takes the lane for a batch of `rows` that departs now.
    pub fn depart(&mut self, number: u64, departure: Departure, rows: usize, waiting: QueueLength) -> Option<Lane> {
        if let Rule::Host { alone } = &mut self.rule {
            let met = !self.flights.is_empty() || waiting.requests > 1;
            *alone = if met { 0 } else { alone.saturating_add(1) };
        }
        let at = self.idle.iter().position(|lane| lane.is_wide == departure.is_wide)?;
        let due = Instant::now() + Duration::from_secs_f64(self.done_in(rows, Instant::now()));
        self.flights.push(Flight { number, rows, due });
        Some(self.idle.swap_remove(at))
    }

    /// Another unit had a batch for so long.
    pub fn passed_over(&mut self, time: Duration) {
        self.pace.passed_over(time.as_secs_f64());
    }

    /// The lane comes back; `begun`, if it has answered, is when it began. Gives back one that is of no use any more,
    /// be it that its device is lost or that it fails again and again beside others: its driver may take its time to
    /// let it go.
    #[must_use]
    pub fn arrive(&mut self, number: u64, mut lane: Lane, rows: usize, begun: Option<Instant>) -> Option<Lane> {
        self.flights.retain(|flight| flight.number != number);
        let now = Instant::now();
        // While another batch was before it on the device, it took nothing.
        let last = self.last.replace(now);
        lane.failures += u32::from(!lane.backend.may_answer_yet());
        if let Some(begun) = begun {
            (self.failures, lane.failures) = (0, 0);
            // What a single core takes says nothing of all of them.
            if lane.is_wide || self.is_device() {
                let since = last.map_or(begun, |last| last.max(begun));
                self.pace.add(rows, now.saturating_duration_since(since).as_secs_f64());
            }
        }
        if self.is_lost {
            return Some(lane);
        }
        if self.is_device() && self.lanes() > 0 && lane.failures >= FAILURES {
            // Its failures say nothing of the others.
            self.failures = 0;
            return Some(lane);
        }
        self.idle.push(lane);
        None
    }

    /// A batch has failed. True if there were too many in a row.
    pub fn fail(&mut self) -> bool {
        self.failures += 1;
        self.failures >= FAILURES
    }

    /// Gives it up, and its lanes back, whose driver may take its time to let them go.
    #[must_use]
    pub fn lose(&mut self) -> Vec<Lane> {
        self.is_lost = true;
        std::mem::take(&mut self.idle)
    }

    /// Seconds until a batch of `rows` that is enqueued now would be done.
    pub fn done_in(&self, rows: usize, now: Instant) -> f64 {
        let dues = self.flights.iter().map(|flight| flight.due);
        let free = match self.rule {
            Rule::Device => dues.max(),
            Rule::Host { .. } if self.idle.is_empty() => dues.min(),
            Rule::Host { .. } => None,
        };
        // A batch that is overdue may take as long again: who waits for it should not, where another unit is idle.
        let until = |due: Instant| due.max(now).duration_since(due.min(now)).as_secs_f64();
        let busy = free.map_or(0.0, until);
        busy + self.pace.expected(rows)
    }
}
