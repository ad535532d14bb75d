//! Threads that take one role each: gather, evaluate, bring back. They pass events on through queues.
//!
//! The number of events bounds everything: a gatherer needs an idle event, and each event becomes idle again when its
//! playout is done. How many events there are follows from what keeps the evaluating threads busy: see
//! [`Fleet::adjust`]. It also bounds the collisions, instead of `MaxCollisionVisits`: nobody gathers a whole batch here.

use super::leaf::LeafRules;
use super::leaves::{self, Leaves};
use super::settings::Settings;
use super::shared::Shared;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use oncilla_chess::History;
use oncilla_core::search::{Event, Gathered};
use oncilla_core::stats::{Counts, Stage};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

/// How long a thread waits before it checks whether the search has ended.
const PATIENCE: Duration = Duration::from_millis(2);

/// The largest number of events that a backprop thread takes at once: those are written together.
const JOINED: usize = 64;

/// The largest number of events, whatever it would take to keep a device busy.
const MOST_EVENTS: usize = 4096;

/// An event on its way.
type Parcel = Box<Event>;

/// The queues between the roles.
pub struct Queues {
    idle: (Sender<Parcel>, Receiver<Parcel>),
    leaves: (Sender<Parcel>, Receiver<Parcel>),
    returning: (Sender<Parcel>, Receiver<Parcel>),
    fleet: Fleet,
}

/// How many events there are, and how many there should be.
struct Fleet {
    wanted: AtomicUsize,
    there_are: AtomicUsize,
    least: usize,
    last: Mutex<Counts>,
}

impl Queues {
    /// Queues for `evaluating` threads that evaluate in batches of `batch`.
    pub fn new(batch: usize, evaluating: usize) -> Self {
        let least = (evaluating.max(1) * batch).min(MOST_EVENTS);
        let queues = Self {
            idle: unbounded(),
            // These queues are never full, because there are never more events than that.
            leaves: bounded(MOST_EVENTS),
            returning: bounded(MOST_EVENTS),
            fleet: Fleet {
                wanted: AtomicUsize::new((2 * least).min(MOST_EVENTS)),
                there_are: AtomicUsize::new(0),
                least,
                last: Mutex::new(Counts::ZERO),
            },
        };
        queues.launch();
        queues
    }

    /// The largest number of events in flight, at this moment.
    pub fn in_flight_limit(&self) -> usize {
        self.fleet.wanted.load(Ordering::Relaxed)
    }

    fn launch(&self) {
        let fleet = &self.fleet;
        while fleet.there_are.load(Ordering::Relaxed) < fleet.wanted.load(Ordering::Relaxed) {
            fleet.there_are.fetch_add(1, Ordering::Relaxed);
            let _ = self.idle.0.send(Box::default()); // both ends live in `self`
        }
    }

    /// Returns an event whose playout is done to the gatherers, unless there are too many events.
    fn retire(&self, event: Parcel) {
        let fleet = &self.fleet;
        if fleet.there_are.load(Ordering::Relaxed) > fleet.wanted.load(Ordering::Relaxed) {
            fleet.there_are.fetch_sub(1, Ordering::Relaxed);
        } else {
            let _ = self.idle.0.send(event);
        }
    }

    /// Adapts the number of events to what was counted since the last call.
    pub fn adjust(&self, counts: &Counts) {
        self.fleet.adjust(counts);
        self.launch();
    }
}

impl Fleet {
    /// If evaluating threads waited for leaves while gatherers waited for idle events, there are too few events, unless
    /// they collide. If no evaluating thread waited, fewer events may do: each event in flight makes the choices of the
    /// next ones worse, because they are made without its answer.
    fn adjust(&self, counts: &Counts) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = |stage: Stage| {
            let [now, before] = [counts, &*last].map(|counts| counts.waits[stage as usize].micros);
            now.saturating_sub(before)
        };
        let (starved, held_up) = (waited(Stage::Evaluate), waited(Stage::Gather));
        let evaluated = counts.evaluations - last.evaluations;
        let collided = counts.collisions - last.collisions;
        *last = *counts;
        drop(last);
        if evaluated == 0 {
            return;
        }
        let wanted = self.wanted.load(Ordering::Relaxed);
        let next = match (starved > 0, held_up > 0) {
            // More playouts collide than come through: the tree has no use for so many at once.
            _ if collided > 2 * evaluated => wanted - wanted / 16,
            (true, true) if 2 * collided < evaluated => wanted + wanted.div_ceil(4),
            (false, true) => wanted - wanted / 16,
            _ => wanted,
        };
        self.wanted.store(next.clamp(self.least, MOST_EVENTS), Ordering::Relaxed);
    }
}

/// Starts the threads of all roles; returns false if the system does not have enough threads.
pub fn start<'scope, 'env, 's: 'env, 'm: 'env>(
    scope: &'scope Scope<'scope, 'env>,
    shared: &'env Shared<'s, 'm>,
    settings: &Settings,
    rules: &LeafRules,
    position: &History,
) -> bool {
    let workers = settings.workers;
    let spawn = |name: &str, index: usize, job: Box<dyn FnOnce() + Send + 'scope>| {
        Builder::new().name(format!("{name} {index}")).spawn_scoped(scope, move || shared.guard(job)).is_ok()
    };
    let gatherers = (0..workers.gather.max(1)).all(|i| spawn("gather", i, Box::new(move || gather(shared))));
    let evaluators = (0..workers.eval.max(1)).all(|i| {
        let leaves = Leaves::new(settings, shared, rules.clone(), position);
        let mut own = Evaluating { leaves, counts: Counts::ZERO };
        spawn("eval", i, Box::new(move || own.run(shared)))
    });
    let returners = (0..workers.backprop.max(1)).all(|i| spawn("backprop", i, Box::new(move || bring_back(shared))));
    gatherers && evaluators && returners
}

/// Takes an element from a queue, and counts the wait if there was none. `None` once the search is over.
fn take<T>(queue: &Receiver<T>, shared: &Shared<'_, '_>, stage: Stage, counts: &mut Counts) -> Option<T> {
    if let Ok(element) = queue.try_recv() {
        return Some(element);
    }
    let begun = Instant::now();
    loop {
        match queue.recv_timeout(PATIENCE) {
            Ok(element) => {
                counts.add_wait(stage, begun.elapsed().as_micros() as u64);
                return Some(element);
            }
            Err(RecvTimeoutError::Timeout) if !shared.is_drained() => {}
            Err(_) => return None,
        }
    }
}

fn gather(shared: &Shared<'_, '_>) {
    let Some(queues) = shared.queues() else { return };
    let mut counts = Counts::ZERO;
    while !shared.is_stopped() {
        if shared.is_halted() || shared.claim(1) == 0 {
            shared.wait(PATIENCE);
            continue;
        }
        let Some(mut event) = take(&queues.idle.1, shared, Stage::Gather, &mut counts) else {
            shared.unclaim(1);
            break;
        };
        if !shared.depart() {
            shared.unclaim(1);
            break;
        }
        let recycled = shared.times_recycled();
        let met = shared.search().gather(&mut event);
        let on = match met {
            Gathered::Leaf => queues.leaves.0.send(event),
            Gathered::Known | Gathered::Collision => queues.returning.0.send(event),
            Gathered::Full | Gathered::NoMoves => {
                shared.arrive(1);
                shared.unclaim(1);
                if met == Gathered::NoMoves {
                    shared.halt(None);
                } else if !shared.recycle(recycled) {
                    shared.wait(PATIENCE);
                }
                queues.idle.0.send(event)
            }
        };
        debug_assert!(on.is_ok(), "the queues outlive their threads");
        shared.add(&std::mem::replace(&mut counts, Counts::ZERO));
    }
}

/// A thread that evaluates.
struct Evaluating {
    leaves: Leaves,
    counts: Counts,
}

impl Evaluating {
    fn run(&mut self, shared: &Shared<'_, '_>) {
        let Some(queues) = shared.queues() else { return };
        while let Some(first) = take(&queues.leaves.1, shared, Stage::Evaluate, &mut self.counts) {
            self.leaves.clear();
            self.look_at(first, shared, queues);
            // Take what is there, without waiting for more.
            while self.leaves.len() < self.leaves.size()
                && let Ok(event) = queues.leaves.1.try_recv()
            {
                self.look_at(event, shared, queues);
            }
            if let Err(fault) = self.answer(shared, queues) {
                shared.halt(Some(fault));
            }
            shared.add(&std::mem::replace(&mut self.counts, Counts::ZERO));
        }
    }

    fn look_at(&mut self, event: Parcel, shared: &Shared<'_, '_>, queues: &Queues) {
        if let Some(event) = self.leaves.look_at(&shared.search(), event, &mut self.counts) {
            let _ = queues.returning.0.send(event);
        }
    }

    fn answer(&mut self, shared: &Shared<'_, '_>, queues: &Queues) -> Result<(), String> {
        let ran = self.leaves.evaluate(shared);
        let settled = ran.and_then(|()| self.leaves.settle(&shared.search(), &mut self.counts));
        for event in self.leaves.events().drain(..) {
            // An event without an answer is cancelled by the thread that brings back.
            let _ = queues.returning.0.send(event);
        }
        settled
    }
}

fn bring_back(shared: &Shared<'_, '_>) {
    let Some(queues) = shared.queues() else { return };
    let mut counts = Counts::ZERO;
    let (mut events, mut collided): (Vec<Parcel>, Vec<Parcel>) = (Vec::new(), Vec::new());
    loop {
        // Events that collided lead others elsewhere, so they are kept until an answer has come. If nothing comes, no
        // others are left and they are taken back.
        let first = if collided.is_empty() {
            take(&queues.returning.1, shared, Stage::Backprop, &mut counts)
        } else {
            queues.returning.1.recv_timeout(PATIENCE).ok()
        };
        if first.is_none() && collided.is_empty() {
            return;
        }
        let nothing_came = first.is_none();
        let rest = queues.returning.1.try_iter().take(JOINED - 1);
        for event in first.into_iter().chain(rest) {
            if event.is_ready() { events.push(event) } else { collided.push(event) }
        }
        let search = shared.search();
        let done = events.len();
        leaves::bring_back(&search, &mut events, &mut counts);
        let undone = if done > 0 || nothing_came { collided.len() } else { 0 };
        for event in &mut collided[..undone] {
            // An event that is not ready may also be a leaf that got no answer.
            counts.collisions += u64::from(event.met() == Gathered::Collision);
            search.cancel(&mut **event);
        }
        drop(search);
        shared.add(&std::mem::replace(&mut counts, Counts::ZERO));
        shared.unclaim(undone as u64);
        events.drain(..).chain(collided.drain(..undone)).for_each(|event| queues.retire(event));
        shared.arrive(done + undone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_evaluators_than_events_are_no_fault() {
        let queues = Queues::new(1024, 5);
        queues.adjust(&Counts { evaluations: 1, ..Counts::ZERO });
        assert_eq!(queues.in_flight_limit(), MOST_EVENTS);
    }
}
