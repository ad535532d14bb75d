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
mod request;
#[cfg(test)]
mod tests;
mod unit;

pub use request::{IsLate, Request};
pub use unit::{Unit, tried_input};

use crate::fault::guarded;
use oncilla_opencl::backend::{Chores, Outputs};
use oncilla_opencl::graph::Graph;
use request::Sizes;
use std::collections::VecDeque;
use std::mem::take;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use unit::{Lane, QueueLength};

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

struct State {
    /// The entries that wait, the oldest first.
    queue: VecDeque<Entry>,
    /// The units, whose indices never change.
    units: Vec<Unit>,
    helpers: Vec<JoinHandle<()>>,
    idle_helpers: usize,
    /// The number of batches that have departed.
    departed: u64,
    /// Whether a device has ever failed.
    failed_before: bool,
    /// What a person has yet to be told of devices that fail, the oldest first: whoever gets an answer next tells it,
    /// because a request that such a device has failed may have been late, and then nobody reads what comes of it.
    news: VecDeque<String>,
    closed: bool,
}

/// Rows of a request that have not been taken.
struct Entry {
    request: Arc<Request>,
    rows: Range<usize>,
}

/// A batch that a thread carries.
struct Load {
    unit: usize,
    number: u64,
    lane: Lane,
    parts: Vec<Part>,
    rows: usize,
}

/// Rows of one request that are part of a batch.
#[derive(Clone)]
struct Part {
    request: Arc<Request>,
    rows: Range<usize>,
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
    /// a device failed, in this run or in one that did not tell it. What the host answers is the network's own answer and need not be finite: see [`Self::check`].
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

impl State {
    fn new(units: Vec<Unit>) -> Self {
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

    fn waiting(&self) -> QueueLength {
        QueueLength { rows: self.queue.iter().map(|entry| entry.rows.len()).sum(), requests: self.queue.len() }
    }

    /// Whether there is no device.
    fn is_host(&self) -> bool {
        !self.units.iter().any(|unit| unit.is_there() && unit.is_device())
    }

    /// Whether the request has rows that have not been taken.
    fn has(&self, request: &Arc<Request>) -> bool {
        self.queue.iter().any(|entry| Arc::ptr_eq(&entry.request, request))
    }

    /// Whether a part of the queue could depart now.
    fn may_depart(&self) -> bool {
        let waiting = self.waiting();
        self.units.iter().any(|unit| unit.departure(waiting).is_some())
    }

    /// Wakes the first owner of rows in the queue that waits. False if there is none.
    fn call_owner(&self) -> bool {
        self.queue.iter().any(|entry| entry.request.call_owner())
    }

    /// Takes a batch that departs now out of the queue, with the rows of `first` at its beginning. `None` if nothing
    /// can depart, or if `first` has no rows in the queue.
    fn load(&mut self, first: Option<&Arc<Request>>) -> Option<Load> {
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
    fn put_back(&mut self, parts: Vec<Part>) {
        for part in parts.into_iter().rev() {
            self.queue.push_front(Entry { request: part.request, rows: part.rows });
        }
    }
}

/// How a lane has failed.
struct Failed {
    /// The lane is held up by a batch that was abandoned.
    may_answer_yet: bool,
    /// The lane was given up.
    is_spent: bool,
}

/// Rows that the host evaluates, in the place of a device, before it checks whether there is still time.
const ROWS_AT_ONCE: usize = 8;

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

    /// Handles rows that a unit has failed to answer. Those of a device are answered by the host; after too many
    /// failures in a row, the device is given up.
    fn rescue(&self, unit: usize, parts: Vec<Part>, fault: String, failed: Failed) {
        let mut spent = Vec::new();
        let mut state = self.lock();
        if !state.units[unit].is_device() {
            drop(state);
            self.fail(&parts, &fault);
            return;
        }
        // A request that is late has no time for the host either.
        let (late, parts): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.request.is_late());
        if !late.is_empty() {
            drop(state);
            self.fail(&late, &fault);
            state = self.lock();
        }
        if state.units[unit].is_there() {
            let first = !parts.is_empty() && !std::mem::replace(&mut state.failed_before, true);
            // A lane that was given up says nothing about the others.
            if failed.may_answer_yet || failed.is_spent || !state.units[unit].fail() {
                drop(state);
                let note = match failed.is_spent {
                    // The lane is gone, whether or not anybody waits for these rows.
                    true => {
                        self.tell(format!("{fault}; the device goes on with fewer batches at a time"));
                        None
                    }
                    false => first.then(|| format!("{fault}; the host evaluates the batch")),
                };
                self.stand_in(&parts, note);
                return;
            }
            drop(state);
            match self.give_up(unit) {
                Ok(None) => {}
                Ok(Some((who, lanes))) => {
                    spent = lanes;
                    self.tell(format!("{fault}; {who}"));
                }
                Err(fault) => {
                    self.fail(&parts, &fault);
                    return;
                }
            }
            state = self.lock();
        }
        state.put_back(parts);
        self.call(&state);
        drop(state);
        let_go(spent);
    }

    /// Goes on without a unit; returns the words for what runs instead, and the unit's lanes. `None` if another thread
    /// gave it up first.
    fn give_up(&self, unit: usize) -> Result<Option<(&'static str, Vec<Lane>)>, String> {
        // This lock is kept until the unit is gone: one thread makes a host, and only threads that need one too wait
        // for that.
        let mut stand_in = self.host();
        let mut state = self.lock();
        if !state.units[unit].is_there() {
            return Ok(None);
        }
        if state.units.iter().filter(|unit| unit.is_there()).count() > 1 {
            return Ok(Some(("the other devices go on", state.units[unit].lose())));
        }
        drop(state);
        let host = stand_in.take().map_or_else(|| self.new_host(), Ok)?;
        let mut state = self.lock();
        let lanes = state.units[unit].lose();
        state.units.push(host);
        Ok(Some(("the host takes over", lanes)))
    }

    fn host(&self) -> MutexGuard<'_, Option<Unit>> {
        self.stand_in.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_host(&self) -> Result<Unit, String> {
        guarded(|| (self.make_host)())?
    }

    /// Evaluates rows on the host, each request by itself, so that a fault in one costs no other its answer.
    fn stand_in(&self, parts: &[Part], note: Option<String>) {
        let mut has_answered = false;
        for part in parts {
            match self.evaluate_on_host(part) {
                Ok(()) => has_answered = true,
                Err(fault) => part.request.content().fault = Some(fault),
            }
        }
        note.filter(|_| has_answered).into_iter().for_each(|note| self.tell(note));
        self.done(parts);
    }

    /// Evaluates a part on the host. A panic becomes an error here: the requests' owners are other threads, and must be
    /// told.
    fn evaluate_on_host(&self, part: &Part) -> Result<(), String> {
        let mut stand_in = self.host();
        let host = match &mut *stand_in {
            Some(host) => host,
            none => none.insert(self.new_host()?),
        };
        let evaluated = guarded(|| {
            let most = host.max_batch.min(ROWS_AT_ONCE);
            let lane = host.widest();
            part.rows.clone().step_by(most).try_for_each(|start| {
                if part.request.is_late() {
                    return Err("no time left for the host's answer".to_string());
                }
                let rows = start..part.rows.end.min(start + most);
                self.evaluate(lane, &[Part { request: Arc::clone(&part.request), rows }], Chores::default())
            })
        });
        evaluated.unwrap_or_else(|panic| {
            // What the host's unit has left behind is not relied on.
            *stand_in = None;
            Err(panic)
        })
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

/// Drops lanes in another thread: a driver that has failed may take its time, and a game's clock runs.
fn let_go(lanes: Vec<Lane>) {
    if lanes.is_empty() {
        return;
    }
    // If the system has no thread, the lanes are dropped here.
    let _ = std::thread::Builder::new().name("lanes".to_string()).spawn(move || drop(lanes));
}
