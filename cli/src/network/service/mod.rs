//! The evaluator service: positions of all threads and searches in one queue, from which devices and the host take
//! batches.
//!
//! The service has no thread of its own. A thread that wants rows evaluated puts them into the queue. If something that
//! runs them is idle, the same thread takes a batch out of the queue, which has its own rows and those that others have
//! put there, and carries it. Else it waits until its answers are there or it is its turn to carry. So a search that is
//! alone evaluates in its own thread, with nothing between; and of many searches, those that wait while a batch is on
//! its way make the next one. A batch departs as soon as there is a place for it, without waiting for more rows: `unit`
//! has the rules, and `pace` learns how large a full batch is.
//!
//! If a thread has more rows than one batch takes, or if there are several devices, helpers carry the other rows:
//! threads that are started when they are first needed.
//!
//! A row's answer does not depend on the batch that it is in, as far as the backends keep that promise; but it does
//! depend on which of several devices evaluates it.
//!
//! The owner of rows may have chores for them that need no network. On the host they are part of the work: the cores
//! that evaluate the batch do them. For a device their owner does them before the rows go into the queue: meanwhile the
//! device evaluates what others have put there, and no place on it is held.
//!
//! If a device fails to answer, the host does, unless a move is due: then the rows are not evaluated. After three
//! failures in a row the device is no longer used. The host's results are used as they are. In chess, numbers that are
//! not finite count as unknown (`odd`) and the search goes on; in Go it ends.

mod pace;
mod queue;
mod request;
mod rescue;
#[cfg(test)]
mod tests;
mod unit;

pub use request::{IsLate, Request};
pub use unit::{Unit, tried_input};

use crate::fault::guarded;
use oncilla_opencl::backend::{Chores, Outputs};
use oncilla_opencl::graph::Graph;
use queue::{Entry, Load, Part, State};
use request::Sizes;
use rescue::{Failed, let_go};
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};
use unit::Lane;

/// The largest number of helpers: no program that evaluates chess positions has more batches than that on their way.
const MOST_HELPERS: usize = 16;

/// How long rows that have not been taken wait for news, if there are several units, before their owner itself looks
/// whether one is idle: nothing tells it when a batch of another unit is overdue.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Makes the host's unit, which evaluates what a device fails to answer.
pub type MakeHost = Box<dyn Fn() -> Result<Unit, String> + Send + Sync>;

/// Evaluates rows of one network for any number of threads.
pub struct Service {
    shared: Arc<Shared>,
}

struct Shared {
    sizes: Sizes,
    state: Mutex<State>,
    /// Wakes helpers.
    work: Condvar,
    make_host: MakeHost,
    /// The host's unit for batches that a device has failed to answer; made for the first of them.
    stand_in: Mutex<Option<Unit>>,
}

/// The facts about all units together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What runs, in one line for a person.
    pub describe: String,
    /// The largest batch that runs in one piece, or in one piece on each of several devices.
    pub max_batch: usize,
    /// The batch size that a search should gather.
    pub preferred_batch: usize,
    /// The number of threads that a search should have, unless the user sets it.
    pub threads: usize,
    /// The number of searches, each of one position at a time, that keep everything busy.
    pub searches: usize,
    /// Whether there is no device.
    pub is_host: bool,
}

impl Service {
    /// Runs `graph` on `units`, of which there has to be at least one. Several units share the work by their speed,
    /// which is measured here.
    pub fn new(graph: &Graph, mut units: Vec<Unit>, make_host: MakeHost) -> Self {
        if units.len() > 1 {
            units.iter_mut().for_each(Unit::measure);
        }
        let shared = Shared {
            sizes: Sizes::new(graph),
            state: Mutex::new(State::new(units)),
            work: Condvar::new(),
            make_host,
            stand_in: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// From now on a device evaluates each request as one batch, as far as it takes so many, for who measures batches.
    pub fn keep_batches(&self) {
        self.shared.lock().units.iter_mut().for_each(Unit::keep_batches);
    }

    /// The facts about what runs at this moment.
    pub fn facts(&self) -> Facts {
        let state = self.shared.lock();
        let there = || state.units.iter().filter(|unit| unit.is_there());
        Facts {
            describe: there().map(|unit| unit.describe.as_str()).collect::<Vec<_>>().join("; "),
            max_batch: there().map(|unit| unit.max_batch).sum(),
            preferred_batch: there().map(|unit| unit.preferred_batch).sum(),
            threads: there().map(Unit::threads).sum::<usize>().max(1),
            searches: there().map(Unit::searches).sum(),
            is_host: state.is_host(),
        }
    }

    /// The number of batches that were run so far.
    pub fn batches(&self) -> u64 {
        self.shared.lock().departed
    }

    /// Evaluates the first `rows` rows of a request's input, and waits for all answers. Returns a line for a person if
    /// a device failed, in this run or in one that did not tell it. What the host answers is the network's own answer
    /// and need not be finite: see [`Self::check`].
    ///
    /// # Errors
    /// The host's line, if the host failed too. The answers then mean nothing.
    ///
    /// # Panics
    /// If a backend panics.
    pub fn run(&self, request: &Arc<Request>, rows: usize) -> Result<Option<String>, String> {
        self.run_with(request, rows, Chores::default())
    }

    /// Like [`Service::run`]; also has `chores` done, by whichever threads have time for them.
    ///
    /// # Errors
    /// Like [`Service::run`].
    ///
    /// # Panics
    /// If a backend or a chore panics.
    pub fn run_with(
        &self,
        request: &Arc<Request>,
        rows: usize,
        mut chores: Chores<'_>,
    ) -> Result<Option<String>, String> {
        if rows == 0 {
            return Ok(None);
        }
        let shared = &self.shared;
        if chores.count > 0 && !shared.lock().is_host() {
            take(&mut chores).do_here();
        }
        request.begin(rows);
        // If a backend panics, this takes the thread's rows out of the queue.
        let _gone = Gone { shared, request };
        let mut state = shared.lock();
        state.queue.push_back(Entry { request: Arc::clone(request), rows: 0..rows });
        while !request.is_done() {
            if let Some(load) = state.load(Some(request)) {
                shared.call_another(&mut state);
                drop(state);
                if let Err(panic) = shared.carry(load, Some(request), take(&mut chores)) {
                    resume_unwind(panic);
                }
                state = shared.lock();
                continue;
            }
            if !state.has(request) {
                // Other threads carry this request's rows. If this thread was called, that was to carry rows of others.
                shared.call_another(&mut state);
            }
            state = wait_for_news(state, request);
        }
        shared.call_another(&mut state);
        drop(state);
        // They are left if another thread has carried the rows.
        chores.do_here();
        let fault = request.content().fault.take();
        fault.map_or_else(|| Ok(shared.lock().news.pop_front()), Err)
    }

    /// What a person has yet to be told, if no request tells it.
    pub fn take_news(&self) -> Vec<String> {
        self.shared.lock().news.drain(..).collect()
    }

    /// Whether all outputs of the first `rows` rows are finite numbers.
    ///
    /// # Errors
    /// One line, if they are not.
    pub fn check(&self, outputs: &Outputs, rows: usize) -> Result<(), String> {
        self.shared.sizes.check(outputs, rows, |_| true)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let helpers = take(&mut state.helpers);
        drop(state);
        self.shared.work.notify_all();
        // A helper that panicked has said so.
        helpers.into_iter().for_each(|helper| drop(helper.join()));
    }
}

/// Waits until the owner of a request is called: because its answers are there, or to carry.
fn wait_for_news<'a>(mut state: MutexGuard<'a, State>, request: &Arc<Request>) -> MutexGuard<'a, State> {
    request.set_waits(true);
    state = if state.units.len() > 1 && state.has(request) {
        request.news.wait_timeout(state, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0
    } else {
        request.news.wait(state).unwrap_or_else(PoisonError::into_inner)
    };
    request.set_waits(false);
    state
}

/// Takes a request's rows out of the queue if its owner leaves in a panic.
struct Gone<'a> {
    shared: &'a Shared,
    request: &'a Arc<Request>,
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.lock().queue.retain(|entry| !Arc::ptr_eq(&entry.request, self.request));
        }
    }
}

/// The payload of a panic.
type Panic = Box<dyn std::any::Any + Send>;

impl Shared {
    /// Takes the lock even if it is poisoned: each change of the state is complete before anything can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If there are rows and a place for them, wakes a thread to carry them.
    fn call_another(self: &Arc<Self>, state: &mut State) {
        if state.queue.is_empty() || !state.may_depart() || state.call_owner() {
            return;
        }
        if state.idle_helpers > 0 {
            self.work.notify_one();
            return;
        }
        let lanes: usize = state.units.iter().map(Unit::lanes).sum();
        let most = lanes.saturating_sub(1).min(MOST_HELPERS);
        if state.helpers.len() < most {
            let shared = Arc::clone(self);
            let thread = Builder::new().name(format!("batches {}", state.helpers.len()));
            // If there is no thread, the owner itself carries the rest too, later.
            state.helpers.extend(thread.spawn(move || shared.help()));
        }
    }

    /// The main loop of a helper.
    fn help(self: &Arc<Self>) {
        let mut state = self.lock();
        while !state.closed {
            let Some(load) = state.load(None) else {
                state.idle_helpers += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle_helpers -= 1;
                continue;
            };
            self.call_another(&mut state);
            drop(state);
            let parts = load.parts.clone();
            // Nothing waits for this thread, so the threads that wait for the rows must be told.
            if self.carry(load, None, Chores::default()).is_err() {
                self.fail(&parts, "internal error: a backend panicked");
            }
            state = self.lock();
        }
    }

    /// Does `owner`'s chores, evaluates a batch and gives the answers to their owners.
    ///
    /// # Errors
    /// The panic of the backend or of a chore. The rows of all requests but `owner`'s are then in the queue again;
    /// without an owner, no rows are.
    fn carry(&self, mut load: Load, owner: Option<&Arc<Request>>, chores: Chores<'_>) -> Result<(), Panic> {
        let begun = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.evaluate(&mut load.lane, &load.parts, chores)));
        let Load { unit, number, lane, parts, rows } = load;
        let mut state = self.lock();
        let answered = matches!(outcome, Ok(Ok(()))).then_some(begun);
        let may_answer_yet = lane.backend.may_answer_yet();
        let spent = state.units[unit].arrive(number, lane, rows, answered);
        if answered.is_some() {
            let others = state.units.iter_mut().enumerate().filter(|(at, _)| *at != unit);
            others.for_each(|(_, other)| other.passed_over(begun.elapsed()));
        }
        let is_spent = spent.is_some();
        let_go(spent.into_iter().collect());
        match outcome {
            Ok(Ok(())) => {
                parts.iter().for_each(|part| part.request.answered(part.rows.len()));
                self.call(&state);
            }
            Ok(Err(fault)) => {
                drop(state);
                self.rescue(unit, parts, fault, Failed { may_answer_yet, is_spent });
            }
            Err(panic) => {
                if let Some(owner) = owner {
                    state.put_back(parts.into_iter().filter(|part| !Arc::ptr_eq(&part.request, owner)).collect());
                }
                self.call(&state);
                return Err(panic);
            }
        }
        Ok(())
    }

    /// Wakes a thread to look at the queue, because there may be a place again.
    fn call(&self, state: &State) {
        if !state.queue.is_empty() && state.may_depart() && !state.call_owner() {
            self.work.notify_one();
        }
    }

    fn evaluate(&self, lane: &mut Lane, parts: &[Part], chores: Chores<'_>) -> Result<(), String> {
        let each = self.sizes.input;
        // The requests of a search that plays are late together; the other requests wait.
        let is_late = || parts.iter().all(|part| part.request.is_late());
        if let [part] = parts
            && part.request.is_whole(&part.rows)
        {
            // A single request needs nothing copied together or apart.
            let mut content = part.request.content();
            let content = &mut *content;
            let rows = part.rows.len();
            lane.backend
                .evaluate_beside(chores, &content.input[..rows * each], &mut lane.outputs, &is_late)
                .map_err(|error| error.to_string())?;
            self.check(lane, rows)?;
            std::mem::swap(&mut lane.outputs, &mut content.outputs);
            return Ok(());
        }
        lane.input.clear();
        for part in parts {
            let content = part.request.content();
            lane.input.extend_from_slice(&content.input[part.rows.start * each..part.rows.end * each]);
        }
        let rows = lane.input.len() / each;
        lane.backend
            .evaluate_beside(chores, &lane.input, &mut lane.outputs, &is_late)
            .map_err(|error| error.to_string())?;
        self.check(lane, rows)?;
        let mut at = 0;
        for part in parts {
            self.sizes.copy(&lane.outputs, at, &mut part.request.content().outputs, &part.rows);
            at += part.rows.len();
        }
        Ok(())
    }

    fn check(&self, lane: &Lane, rows: usize) -> Result<(), String> {
        self.sizes.check(&lane.outputs, rows, |role| lane.must_be_numbers(role))
    }

    /// Says that there is no answer for these rows. Of several faults the first is told, because the others may follow
    /// from it.
    fn fail(&self, parts: &[Part], fault: &str) {
        parts.iter().for_each(|part| _ = part.request.content().fault.get_or_insert_with(|| fault.to_string()));
        self.done(parts);
    }

    fn tell(&self, note: String) {
        self.lock().news.push_back(note);
    }

    fn done(&self, parts: &[Part]) {
        let state = self.lock();
        parts.iter().for_each(|part| part.request.answered(part.rows.len()));
        self.call(&state);
    }
}
