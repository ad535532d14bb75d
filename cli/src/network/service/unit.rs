//! A unit: a device, or the host. It knows what runs batches, how many at once, and when one departs.

use super::pace::Pace;
use super::request::{Sizes, is_needed};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::compare::canary;
use oncilla_opencl::graph::{Graph, Role};
use std::time::{Duration, Instant};

/// After this many batches in a row that it failed to answer, a device is given up.
pub const FAILURES: u32 = 3;

/// Of the input numbers with which a network is tried, one in `ONE_IN` is 1, which is about as in a position.
const ONE_IN: u32 = 16;

/// After this many requests in a row that met no other one on the host, a request gets all of its cores again.
const ALONE: u32 = 8;

/// Batches of each size that are measured before the first search: a device that looks slow by chance gets no rows
/// beside others, and so would not be measured again.
const MEASURED: usize = 3;

/// So many numbers with which a network is tried.
pub fn tried_input(numbers: usize) -> Vec<f32> {
    canary(numbers, ONE_IN)
}

/// What a lane's backend runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunsOn {
    Device,
    /// One of the host's cores.
    Core,
    AllCores,
}

/// A backend that runs one batch at a time, and room for that batch.
pub struct Lane {
    pub backend: Box<dyn Backend>,
    runs_on: RunsOn,
    /// Rows of several requests, one after the other.
    pub input: Vec<f32>,
    pub outputs: Outputs,
    /// How many of the lane's last batches failed, in a row.
    failures: u32,
}

impl Lane {
    fn new(backend: Box<dyn Backend>, runs_on: RunsOn) -> Self {
        Self { backend, runs_on, input: Vec::new(), outputs: Outputs::default(), failures: 0 }
    }

    fn is_wide(&self) -> bool {
        self.runs_on == RunsOn::AllCores
    }

    /// Whether an output that is not finite shows that the backend has failed. What the host says is the network's own
    /// answer, whatever it is, because there is nothing else to ask. Nor is a device given up for outputs that a search
    /// can do without.
    pub fn must_be_numbers(&self, role: Role) -> bool {
        self.runs_on == RunsOn::Device && is_needed(role)
    }
}

/// Lanes that share what they run on: a device, or the host.
pub struct Unit {
    /// The unit in one line for a person.
    pub describe: String,
    /// The largest batch, in positions.
    pub max_batch: usize,
    /// The batch size that a search should gather for the unit.
    pub preferred_batch: usize,
    leaves_host_free: bool,
    rule: Rule,
    idle: Vec<Lane>,
    flights: Vec<Flight>,
    /// When the last batch came back.
    last: Option<Instant>,
    pace: Pace,
    /// How many of the last batches failed, in a row.
    failures: u32,
    /// The unit is given up: lanes that come back are dropped.
    is_lost: bool,
    /// Whether batches depart as they were asked for, and not as they are done soonest.
    keeps_batches: bool,
}

/// When a batch departs, and with what.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// For a device, several positions take hardly longer than one. The first batch departs at once, with all that
    /// waits. Another one departs behind it when it is full, or as large as those on their way: if it departed sooner,
    /// it would only wait on the device, and be smaller than it need be.
    Device,
    /// On the host, each core takes a position. If requests meet, each is evaluated by one core, in the thread that
    /// asks, so that no core waits for another; a request that is alone gets all cores. `alone` counts the requests in
    /// a row that met none.
    Host { alone: u32 },
}

/// A batch on its way.
struct Flight {
    number: u64,
    rows: usize,
    due: Instant,
}

/// How a batch may be composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The largest number of rows.
    pub rows: usize,
    /// Whether all rows must belong to one request.
    pub single: bool,
    is_wide: bool,
}

/// The number of rows that wait to be evaluated, and of the requests that they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLength {
    pub rows: usize,
    pub requests: usize,
}

impl Unit {
    /// A device, with one lane for each batch that may be on it.
    pub fn device(lanes: Vec<Box<dyn Backend>>) -> Self {
        Self::new(lanes.into_iter().map(|backend| Lane::new(backend, RunsOn::Device)).collect(), Rule::Device)
    }

    /// The host: a lane with all of its cores, and lanes of one core each, if there are several.
    pub fn host(wide: Box<dyn Backend>, narrow: Vec<Box<dyn Backend>>) -> Self {
        let mut lanes: Vec<Lane> = narrow.into_iter().map(|backend| Lane::new(backend, RunsOn::Core)).collect();
        lanes.insert(0, Lane::new(wide, RunsOn::AllCores));
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
            keeps_batches: false,
        }
    }

    /// From now on a batch is evaluated as it is asked for: it is not joined with others, and not divided.
    pub fn keep_batches(&mut self) {
        self.keeps_batches = true;
    }

    /// Whether the unit is a device, which can fail where the host can't.
    pub fn is_device(&self) -> bool {
        matches!(self.rule, Rule::Device)
    }

    /// Whether the unit can be used.
    pub fn is_there(&self) -> bool {
        !self.is_lost
    }

    /// The number of batches that the unit may have at once.
    pub fn lanes(&self) -> usize {
        match self.rule {
            Rule::Device => self.idle.len() + self.flights.len(),
            // Either the wide lane or the others are in use.
            Rule::Host { .. } => (self.idle.len() + self.flights.len()).saturating_sub(1).max(1),
        }
    }

    /// The number of searches, each of one position at a time, that keep the unit busy.
    pub fn searches(&self) -> usize {
        match self.rule {
            Rule::Device => self.preferred_batch * self.lanes(),
            Rule::Host { .. } => self.lanes(),
        }
    }

    /// The number of threads of one search that the unit wants for itself: each waits for its batch while the others
    /// gather. 0 if the search's single thread will do.
    pub fn threads(&self) -> usize {
        if self.leaves_host_free { self.lanes() } else { 0 }
    }

    /// The lane with the most cores, for use while the unit runs nothing else.
    pub fn widest(&mut self) -> &mut Lane {
        let at = self.idle.iter().position(|lane| lane.is_wide()).unwrap_or(0);
        &mut self.idle[at]
    }

    /// Evaluates one position, of the same kind of numbers on which devices are compared.
    ///
    /// # Errors
    /// One line, if an output is not finite or the backend fails.
    pub fn try_out(&mut self, graph: &Graph) -> Result<(), String> {
        let lane = self.widest();
        lane.backend
            .evaluate(&tried_input(graph.input().len()), &mut lane.outputs)
            .map_err(|error| error.to_string())?;
        Sizes::new(graph).check(&lane.outputs, 1, |_| true)
    }

    /// Measures a few batch sizes, so that work can be shared from the beginning.
    pub fn measure(&mut self) {
        let Some(lane) = self.idle.first_mut() else { return };
        for rows in [1, self.preferred_batch.min(self.max_batch)] {
            let input = vec![0.0; rows * lane.backend.graph().input().len()];
            for _ in 0..MEASURED {
                let begun = Instant::now();
                // What fails here also fails in the search, which reports it.
                if lane.backend.evaluate(&input, &mut lane.outputs).is_ok() {
                    self.pace.add(rows, begun.elapsed().as_secs_f64());
                }
            }
        }
    }

    /// Learns as if a batch of `rows` rows had taken `seconds`.
    #[cfg(test)]
    pub fn learn(&mut self, rows: usize, seconds: f64) {
        self.pace.add(rows, seconds);
    }

    /// The batch that may depart now, if `waiting` waits; `None` if it has to wait.
    pub fn departure(&self, waiting: QueueLength) -> Option<Departure> {
        if self.is_lost || waiting.rows == 0 {
            return None;
        }
        match self.rule {
            Rule::Device if self.keeps_batches => {
                let rows = self.max_batch;
                (!self.idle.is_empty()).then_some(Departure { rows, single: true, is_wide: false })
            }
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
                let there = self.idle.iter().any(|lane| lane.is_wide() == is_wide);
                there.then_some(Departure { rows: self.max_batch, single: true, is_wide })
            }
        }
    }

    /// Takes the lane for a batch of `rows` rows that departs now.
    pub fn depart(&mut self, number: u64, departure: Departure, rows: usize, waiting: QueueLength) -> Option<Lane> {
        if let Rule::Host { alone } = &mut self.rule {
            let met = !self.flights.is_empty() || waiting.requests > 1;
            *alone = if met { 0 } else { alone.saturating_add(1) };
        }
        let at = self.idle.iter().position(|lane| lane.is_wide() == departure.is_wide)?;
        let due = Instant::now() + Duration::from_secs_f64(self.done_in(rows, Instant::now()));
        self.flights.push(Flight { number, rows, due });
        Some(self.idle.swap_remove(at))
    }

    /// Learns that another unit worked on a batch for `time`.
    pub fn passed_over(&mut self, time: Duration) {
        self.pace.passed_over(time.as_secs_f64());
    }

    /// Takes back a lane; `begun` is when it began its batch, if it has answered. Returns the lane if it is of no use
    /// any more, because its device is lost, or because it fails again and again beside others: its driver may take its
    /// time to drop it.
    #[must_use]
    pub fn arrive(&mut self, number: u64, mut lane: Lane, rows: usize, begun: Option<Instant>) -> Option<Lane> {
        self.flights.retain(|flight| flight.number != number);
        let now = Instant::now();
        // While another batch was before this one on the device, this one took no time.
        let last = self.last.replace(now);
        lane.failures += u32::from(!lane.backend.may_answer_yet());
        if let Some(begun) = begun {
            (self.failures, lane.failures) = (0, 0);
            // The time of a single core says nothing about all of them.
            if lane.is_wide() || self.is_device() {
                let since = last.map_or(begun, |last| last.max(begun));
                self.pace.add(rows, now.saturating_duration_since(since).as_secs_f64());
            }
        }
        if self.is_lost {
            return Some(lane);
        }
        if self.is_device() && self.lanes() > 0 && lane.failures >= FAILURES {
            // The failures of this lane say nothing about the others.
            self.failures = 0;
            return Some(lane);
        }
        self.idle.push(lane);
        None
    }

    /// Counts a batch that has failed. Returns whether there were too many in a row.
    pub fn fail(&mut self) -> bool {
        self.failures += 1;
        self.failures >= FAILURES
    }

    /// Gives the unit up. Returns its lanes, because their driver may take its time to drop them.
    #[must_use]
    pub fn lose(&mut self) -> Vec<Lane> {
        self.is_lost = true;
        std::mem::take(&mut self.idle)
    }

    /// Seconds until a batch of `rows` rows that is enqueued now would be done.
    pub fn done_in(&self, rows: usize, now: Instant) -> f64 {
        let dues = self.flights.iter().map(|flight| flight.due);
        let free = match self.rule {
            Rule::Device => dues.max(),
            Rule::Host { .. } if self.idle.is_empty() => dues.min(),
            Rule::Host { .. } => None,
        };
        // A batch that is overdue may take as long again: rows should not wait for it if another unit is idle.
        let until = |due: Instant| due.max(now).duration_since(due.min(now)).as_secs_f64();
        let busy = free.map_or(0.0, until);
        busy + self.pace.expected(rows)
    }
}
