//! The evaluator service: positions of all threads and searches in one queue, from which devices and the host take
//! batches.
//!
//! There is no thread in the middle. Whoever wants rows evaluated puts them into the queue; if something that runs them
//! is idle, the same thread takes a batch out of the queue, which has its own rows and what others have put there, and
//! carries it. Else it waits until its answers are there or it is its turn to carry. So a search that is alone
//! evaluates in its own thread, with nothing between; and of many, those that wait while a batch is on its way make the
//! next one. A batch departs as soon as there is a place for it (`unit`): nobody waits for more to come.
//!
//! Where a thread has more rows than one batch takes, or there are several devices, helpers carry the others: threads
//! that are started when they are needed first.
//!
//! A row's answer does not depend on the batch that it is in, as far as the backends keep that promise; on which of
//! several devices it runs it does.

#[cfg(test)]
mod faults;
mod pace;
mod request;
#[cfg(test)]
mod tests;
mod unit;

pub use request::{IsLate, Request};
pub use unit::Unit;

use super::fault::guarded;
use oncilla_opencl::backend::Outputs;
use oncilla_opencl::graph::Graph;
use request::Sizes;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use unit::{Lane, QueueLength};

/// Most helpers: more batches than that are on their way in no program that evaluates chess positions.
const MOST_HELPERS: usize = 16;

/// How long rows that nobody has taken wait for news, where there are several units, before their owner looks itself
/// whether one is idle: nobody says that a batch of another is overdue.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Makes the host's unit, for what a device fails to answer.
pub type MakeHost = Box<dyn Fn() -> Result<Unit, String> + Send + Sync>;

/// Evaluates rows of one network for any number of threads.
pub struct Service {
    shared: Arc<Shared>,
}

struct Shared {
    sizes: Sizes,
    state: Mutex<State>,
    /// Heard by helpers.
    work: Condvar,
    make_host: MakeHost,
    /// The host for batches that a device has failed to answer; made for the first of them.
    stand_in: Mutex<Option<Unit>>,
}

struct State {
    /// Oldest first.
    queue: VecDeque<Entry>,
    /// Their places never change.
    units: Vec<Unit>,
    helpers: Vec<JoinHandle<()>>,
    idle_helpers: usize,
    /// Batches that have departed.
    departed: u64,
    /// Whether a device has ever failed.
    failed_before: bool,
    closed: bool,
}

/// Rows of a request that nobody has taken.
struct Entry {
    request: Arc<Request>,
    rows: Range<usize>,
    /// Whether its owner waits, and may be called to carry.
    waits: bool,
}

/// A batch that somebody carries.
struct Load {
    unit: usize,
    number: u64,
    lane: Lane,
    parts: Vec<Part>,
    rows: usize,
}

/// Rows of one request.
#[derive(Clone)]
struct Part {
    request: Arc<Request>,
    rows: Range<usize>,
}

/// What all units have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// One line for a person.
    pub describe: String,
    /// Largest batch that runs in one piece, or in one on each of several devices.
    pub max_batch: usize,
    /// Batch that a search should gather.
    pub preferred_batch: usize,
    /// Threads that a search should have, if nobody says how many.
    pub threads: usize,
    /// One-position searches that keep everything busy.
    pub searches: usize,
    /// Whether there is no device.
    pub is_host: bool,
}

impl Service {
    /// Runs `graph` on these units, at least one. Work is shared out by their speed, which is measured first where
    /// there are several.
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

    /// What runs at this moment.
    pub fn facts(&self) -> Facts {
        let state = self.shared.lock();
        let there = || state.units.iter().filter(|unit| unit.is_there());
        Facts {
            describe: there().map(|unit| unit.describe.as_str()).collect::<Vec<_>>().join("; "),
            max_batch: there().map(|unit| unit.max_batch).sum(),
            preferred_batch: there().map(|unit| unit.preferred_batch).sum(),
            threads: there().map(Unit::threads).sum::<usize>().max(1),
            searches: there().map(Unit::searches).sum(),
            is_host: !there().any(Unit::is_device),
        }
    }

    /// Batches that were run so far.
    pub fn batches(&self) -> u64 {
        self.shared.lock().departed
    }

    /// Evaluates the first `rows` rows of a request's input, and waits for all answers. A line for a person comes back
    /// where a device failed. What the host answers is the network's own word, and may be no numbers: see
    /// [`Self::check`].
    ///
    /// # Errors
    /// The host's line, if that failed too. The answers are then worth nothing.
    ///
    /// # Panics
    /// Where a backend panics.
    pub fn run(&self, request: &Arc<Request>, rows: usize) -> Result<Option<String>, String> {
        if rows == 0 {
            return Ok(None);
        }
        request.begin(rows);
        let shared = &*self.shared;
        // A backend that panics leaves nothing of this thread's in the queue.
        let _gone = Gone { shared, request };
        let mut state = shared.lock();
        state.queue.push_back(Entry { request: Arc::clone(request), rows: 0..rows, waits: false });
        while !request.is_done() {
            if let Some(load) = state.load(Some(request)) {
                self.call_another(&mut state);
                drop(state);
                if let Err(panic) = shared.carry(load, Some(request)) {
                    resume_unwind(panic);
                }
                state = shared.lock();
                continue;
            }
            if !state.has(request) {
                // Somebody carries its rows: if it was called, it was for those of others.
                self.call_another(&mut state);
            }
            state = wait_for_news(state, request);
        }
        self.call_another(&mut state);
        drop(state);
        let mut content = request.content();
        let (note, fault) = (content.note.take(), content.fault.take());
        fault.map_or(Ok(note), Err)
    }

    /// Whether all outputs of so many rows are finite numbers.
    ///
    /// # Errors
    /// One line: they are not.
    pub fn check(&self, outputs: &mut Outputs, rows: usize) -> Result<(), String> {
        self.shared.sizes.check(outputs, rows, |_| true)
    }

    /// If there are rows and a place for them, calls somebody to carry them.
    fn call_another(&self, state: &mut State) {
        if state.queue.is_empty() || !state.may_depart() {
            return;
        }
        if state.call_owner() {
            return;
        }
        if state.idle_helpers > 0 {
            self.shared.work.notify_one();
            return;
        }
        let lanes: usize = state.units.iter().map(Unit::lanes).sum();
        let most = lanes.saturating_sub(1).min(MOST_HELPERS);
        if state.helpers.len() < most {
            let shared = Arc::clone(&self.shared);
            let thread = Builder::new().name(format!("batches {}", state.helpers.len()));
            // Without one the thread that asked carries the rest too, later.
            state.helpers.extend(thread.spawn(move || shared.help()));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let helpers = std::mem::take(&mut state.helpers);
        drop(state);
        self.shared.work.notify_all();
        // One that panicked has said so.
        helpers.into_iter().for_each(|helper| drop(helper.join()));
    }
}

/// Waits until the owner of a request is called, for its answers or to carry.
fn wait_for_news<'a>(mut state: MutexGuard<'a, State>, request: &Arc<Request>) -> MutexGuard<'a, State> {
    state.set_waits(request, true);
    let mut state = if state.units.len() > 1 && state.has(request) {
        request.news.wait_timeout(state, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0
    } else {
        request.news.wait(state).unwrap_or_else(PoisonError::into_inner)
    };
    state.set_waits(request, false);
    state
}

/// Takes a request's rows out of the queue when its owner leaves.
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
            closed: false,
        }
    }

    fn waiting(&self) -> QueueLength {
        QueueLength { rows: self.queue.iter().map(|entry| entry.rows.len()).sum(), requests: self.queue.len() }
    }

    /// Whether it has rows that nobody has taken.
    fn has(&self, request: &Arc<Request>) -> bool {
        self.queue.iter().any(|entry| Arc::ptr_eq(&entry.request, request))
    }

    fn set_waits(&mut self, request: &Arc<Request>, waits: bool) {
        // What a device failed to answer stands in the queue beside what nobody has taken yet.
        let own = self.queue.iter_mut().filter(|entry| Arc::ptr_eq(&entry.request, request));
        own.for_each(|entry| entry.waits = waits);
    }

    /// Whether what waits could depart.
    fn may_depart(&self) -> bool {
        let waiting = self.waiting();
        self.units.iter().any(|unit| unit.departure(waiting).is_some())
    }

    /// Wakes the first one in the queue that waits. False if there is none.
    fn call_owner(&mut self) -> bool {
        let Some(entry) = self.queue.iter_mut().find(|entry| entry.waits) else { return false };
        entry.waits = false;
        entry.request.news.notify_one();
        true
    }

    /// A batch that departs now. Rows of `first` come first, if it has any that nobody has taken; who has none carries
    /// nothing.
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

    /// The unit whose turn it is, and how many of the waiting rows it should have: as many as it has done by the time
    /// when the others are through with theirs. One that would need longer for a single row gets none, for a while.
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

    /// Puts rows back that were not answered.
    fn put_back(&mut self, parts: Vec<Part>) {
        for part in parts.into_iter().rev() {
            self.queue.push_front(Entry { request: part.request, rows: part.rows, waits: true });
        }
    }
}

/// How a lane has failed.
struct Failed {
    /// It is held up by a batch that was left.
    may_answer_yet: bool,
    /// It was given up.
    is_spent: bool,
}

/// Rows that the host evaluates, in the place of a device, before it looks whether there is still time.
const ROWS_AT_ONCE: usize = 8;

/// What a panic carries.
type Panic = Box<dyn std::any::Any + Send>;

impl Shared {
    /// Each change of the state is complete before anything can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A helper's life.
    fn help(&self) {
        let mut state = self.lock();
        while !state.closed {
            let Some(load) = state.load(None) else {
                state.idle_helpers += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle_helpers -= 1;
                continue;
            };
            drop(state);
            let parts = load.parts.clone();
            // Nobody waits for this thread: those who wait for the rows must hear of it.
            if self.carry(load, None).is_err() {
                self.fail(&parts, "internal error: a backend panicked");
            }
            state = self.lock();
        }
    }

    /// Evaluates a batch and gives everybody the answers.
    ///
    /// # Errors
    /// The panic of the backend. Rows of others than `owner` are then in the queue again; without an owner nobody's
    /// are.
    fn carry(&self, mut load: Load, owner: Option<&Arc<Request>>) -> Result<(), Panic> {
        let begun = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.evaluate(&mut load.lane, &load.parts)));
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
                self.call(&mut state);
            }
            Ok(Err(fault)) => {
                drop(state);
                self.rescue(unit, parts, fault, Failed { may_answer_yet, is_spent });
            }
            Err(panic) => {
                if let Some(owner) = owner {
                    state.put_back(parts.into_iter().filter(|part| !Arc::ptr_eq(&part.request, owner)).collect());
                }
                self.call(&mut state);
                return Err(panic);
            }
        }
        Ok(())
    }

    /// Somebody should look at the queue: there may be a place again.
    fn call(&self, state: &mut State) {
        if !state.queue.is_empty() && state.may_depart() && !state.call_owner() {
            self.work.notify_one();
        }
    }

    fn evaluate(&self, lane: &mut Lane, parts: &[Part]) -> Result<(), String> {
        let each = self.sizes.input;
        // Those of a search that plays are late together, and the others wait.
        let is_late = || parts.iter().all(|part| part.request.is_late());
        if let [part] = parts
            && part.request.is_whole(&part.rows)
        {
            // Nothing to put together, and nothing to take apart.
            let mut content = part.request.content();
            let content = &mut *content;
            let rows = part.rows.len();
            lane.backend
                .evaluate_unless(&content.input[..rows * each], &mut lane.outputs, &is_late)
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
        lane.backend.evaluate_unless(&lane.input, &mut lane.outputs, &is_late).map_err(|error| error.to_string())?;
        self.check(lane, rows)?;
        let mut at = 0;
        for part in parts {
            self.sizes.copy(&mut lane.outputs, at, &mut part.request.content().outputs, &part.rows);
            at += part.rows.len();
        }
        Ok(())
    }

    fn check(&self, lane: &mut Lane, rows: usize) -> Result<(), String> {
        let mut outputs = std::mem::take(&mut lane.outputs);
        let checked = self.sizes.check(&mut outputs, rows, |role| lane.must_be_numbers(role));
        lane.outputs = outputs;
        checked
    }

    /// A unit has failed to answer these. A device's are answered by the host; after too many failures in a row it is
    /// given up.
    fn rescue(&self, unit: usize, parts: Vec<Part>, fault: String, failed: Failed) {
        let mut spent = Vec::new();
        let mut state = self.lock();
        if !state.units[unit].is_device() {
            drop(state);
            self.fail(&parts, &fault);
            return;
        }
        // Who is late has no time for the host either.
        let (late, parts): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.request.is_late());
        if !late.is_empty() {
            drop(state);
            self.fail(&late, &fault);
            state = self.lock();
        }
        if state.units[unit].is_there() {
            let first = !parts.is_empty() && !std::mem::replace(&mut state.failed_before, true);
            // A lane that was given up says nothing of the others.
            if failed.may_answer_yet || failed.is_spent || !state.units[unit].fail() {
                drop(state);
                let what = match failed.is_spent {
                    true => Some("the device goes on with fewer batches at a time"),
                    false => first.then_some("the host evaluates the batch"),
                };
                self.stand_in(&parts, what.map(|what| format!("{fault}; {what}")));
                return;
            }
            drop(state);
            match self.give_up(unit) {
                Ok(None) => {}
                Ok(Some((who, lanes))) => {
                    spent = lanes;
                    tell(&parts, format!("{fault}; {who}"));
                }
                Err(fault) => {
                    self.fail(&parts, &fault);
                    return;
                }
            }
            state = self.lock();
        }
        state.put_back(parts);
        self.call(&mut state);
        drop(state);
        let_go(spent);
    }

    /// Goes on without a unit; says with what, and gives back its lanes. Nothing if another thread was first.
    fn give_up(&self, unit: usize) -> Result<Option<(&'static str, Vec<Lane>)>, String> {
        // Kept until the unit is gone: one thread makes a host, and only who needs one too waits for that.
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

    /// Answers on the host, each by itself: what is wrong with one costs no other its answer.
    fn stand_in(&self, parts: &[Part], note: Option<String>) {
        let mut answered = Vec::new();
        for part in parts {
            match self.evaluate_on_host(part) {
                Ok(()) => answered.push(part.clone()),
                Err(fault) => part.request.content().fault = Some(fault),
            }
        }
        note.into_iter().for_each(|note| tell(&answered, note));
        self.done(parts);
    }

    /// A panic is an error here: those who wait are no threads of this one's, and must hear of it.
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
                self.evaluate(lane, &[Part { request: Arc::clone(&part.request), rows }])
            })
        });
        evaluated.unwrap_or_else(|panic| {
            // What it has left behind is not relied on.
            *stand_in = None;
            Err(panic)
        })
    }

    /// There is no answer for these. Of several faults the first is told: the others may follow from it.
    fn fail(&self, parts: &[Part], fault: &str) {
        parts.iter().for_each(|part| _ = part.request.content().fault.get_or_insert_with(|| fault.to_string()));
        self.done(parts);
    }

    fn done(&self, parts: &[Part]) {
        let mut state = self.lock();
        parts.iter().for_each(|part| part.request.answered(part.rows.len()));
        self.call(&mut state);
    }
}

/// Drops lanes where nobody waits for that: a driver that has failed may take its time, and a game's clock runs.
fn let_go(lanes: Vec<Lane>) {
    if lanes.is_empty() {
        return;
    }
    // Where the system has no thread they are dropped here.
    let _ = std::thread::Builder::new().name("lanes".to_string()).spawn(move || drop(lanes));
}

/// Has something said by the first whose rows these are.
fn tell(parts: &[Part], note: String) {
    if let Some(part) = parts.first() {
        part.request.content().note = Some(note);
    }
}
