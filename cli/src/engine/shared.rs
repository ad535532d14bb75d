//! What the threads of one search share.

use super::Search;
use super::control::Control;
use super::pipeline::Queues;
use crate::evaluator::{Batch, Evaluator};
use crate::fault::guarded;
use oncilla_core::stats::Counts;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// The search and everything around it that its threads use at the same time.
pub struct Shared<'s, 'm> {
    /// Playouts lock it for reading; folding a full tree locks it for writing.
    search: RwLock<&'s mut Search<'m>>,
    pub evaluator: &'s Evaluator,
    control: Arc<Control>,
    /// Playouts that may be gathered in all, and how many of them threads have claimed.
    allowed: AtomicU64,
    claimed: AtomicU64,
    stop: AtomicBool,
    /// Whether a thread panicked: what it had claimed never comes back.
    broken: AtomicBool,
    /// How often the tree was folded.
    recycled: AtomicU64,
    /// The number of threads that wait for answers of the evaluator.
    evaluating: AtomicUsize,
    /// If each thread has one role: the queues between them, and the number of events that are on their way.
    queues: Option<Queues>,
    under_way: AtomicUsize,
    told: Mutex<Told>,
    news: Condvar,
}

/// What the threads have told.
#[derive(Default)]
struct Told {
    counts: Counts,
    /// The part of `counts` that has not been asked for yet.
    fresh: Counts,
    notes: Vec<String>,
    halted: bool,
    /// If something has failed, why: the first that was told.
    fault: Option<String>,
}

impl<'s, 'm> Shared<'s, 'm> {
    /// What the threads of one search share, with `queues` if each thread has one role.
    pub fn new(
        search: &'s mut Search<'m>,
        evaluator: &'s Evaluator,
        queues: Option<Queues>,
        control: Arc<Control>,
    ) -> Self {
        Self {
            search: RwLock::new(search),
            evaluator,
            control,
            allowed: AtomicU64::new(0),
            claimed: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            recycled: AtomicU64::new(0),
            evaluating: AtomicUsize::new(0),
            queues,
            under_way: AtomicUsize::new(0),
            told: Mutex::default(),
            news: Condvar::new(),
        }
    }

    /// The search, to take playouts through it. The tree can't be folded while this lock is held, so drop it soon.
    pub fn search(&self) -> RwLockReadGuard<'_, &'s mut Search<'m>> {
        // A thread that panicked held it for reading: nothing is half done, except what the lock of a node guards.
        self.search.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn whole_search(&self) -> RwLockWriteGuard<'_, &'s mut Search<'m>> {
        self.search.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The search, when all threads are done.
    pub fn into_search(self) -> &'s mut Search<'m> {
        self.search.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the tree was folded so far. To be called before gathering, which may find the tree full.
    pub fn times_recycled(&self) -> u64 {
        self.recycled.load(Ordering::Acquire)
    }

    /// Folds a part of the tree, unless another thread has done so since [`Self::times_recycled`] was `seen`. False if
    /// there is nothing to fold.
    pub fn recycle(&self, seen: u64) -> bool {
        let mut search = self.whole_search();
        if self.times_recycled() != seen {
            return true;
        }
        let freed = search.recycle() > 0;
        self.recycled.fetch_add(u64::from(freed), Ordering::Release);
        freed
    }

    /// A batch for one of the threads, which does not wait in vain for its answers once the best move is due.
    pub fn batch(&self) -> Batch {
        let control = Arc::clone(&self.control);
        self.evaluator.batch().unless(Box::new(move || control.is_late()))
    }

    /// Has the evaluator answer a batch.
    ///
    /// # Errors
    /// The errors of [`Evaluator::run`].
    pub fn evaluate(&self, positions: &mut Batch) -> Result<Option<String>, String> {
        self.evaluating.fetch_add(1, Ordering::Relaxed);
        let ran = self.evaluator.run(positions);
        self.evaluating.fetch_sub(1, Ordering::Relaxed);
        ran
    }

    /// Whether a thread has playouts that wait for the evaluator: a thread that finds no room beside them will find
    /// some once they are back.
    pub fn is_evaluating(&self) -> bool {
        self.evaluating.load(Ordering::Relaxed) > 0
    }

    /// Sets how many playouts may be gathered, counted from the start of the search.
    pub fn allow(&self, playouts: u64) {
        self.allowed.store(playouts, Ordering::Relaxed);
        self.news.notify_all();
    }

    /// How many playouts may still be claimed.
    pub fn unclaimed(&self) -> u64 {
        self.allowed.load(Ordering::Relaxed).saturating_sub(self.claimed.load(Ordering::Relaxed))
    }

    /// Claims at most `wanted` playouts; returns how many.
    pub fn claim(&self, wanted: u64) -> u64 {
        let mut got = 0;
        let allowed = self.allowed.load(Ordering::Relaxed);
        let take = |claimed: u64| {
            got = wanted.min(allowed.saturating_sub(claimed));
            Some(claimed + got)
        };
        let _ = self.claimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        got
    }

    /// Gives back claimed playouts that came to nothing. That is no news: workers that find nothing to do would wake each
    /// other without end.
    pub fn unclaim(&self, playouts: u64) {
        self.claimed.fetch_sub(playouts, Ordering::Relaxed);
    }

    /// Adds what a thread did to the counts.
    pub fn add(&self, counts: &Counts) {
        let mut told = self.told();
        told.counts = told.counts.plus(counts);
        told.fresh = told.fresh.plus(counts);
    }

    /// What all threads did.
    pub fn counts(&self) -> Counts {
        self.told().counts
    }

    /// What all threads did since the last call.
    pub fn take_fresh(&self) -> Counts {
        std::mem::take(&mut self.told().fresh)
    }

    /// Adds a line for a person.
    pub fn note(&self, note: String) {
        self.told().notes.push(note);
        self.news.notify_all();
    }

    /// Says that this search can't go on. What fails when the search has to end anyway is no fault of it.
    pub fn halt(&self, why: Option<String>) {
        let is_late = self.control.is_late();
        let mut told = self.told();
        told.halted = true;
        if told.fault.is_none() && !is_late {
            told.fault.clone_from(&why);
        }
        told.notes.extend(why);
        drop(told);
        self.news.notify_all();
    }

    /// Whether a thread has said that the search can't go on.
    pub fn is_halted(&self) -> bool {
        self.told().halted
    }

    /// Why this search can't go on, if something has failed.
    pub fn fault(&self) -> Option<String> {
        self.told().fault.clone()
    }

    /// Takes the lines for a person.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.told().notes)
    }

    /// Tells all threads to bring back what they have, and end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.news.notify_all();
    }

    /// Returns a guard that stops the threads when it is dropped, in a panic too: the thread that hired them then waits
    /// for them.
    pub fn stop_on_drop(&self) -> impl Drop + '_ {
        struct Stop<'a, 's, 'm>(&'a Shared<'s, 'm>);
        impl Drop for Stop<'_, '_, '_> {
            fn drop(&mut self) {
                self.0.stop();
            }
        }
        Stop(self)
    }

    /// Runs a thread's whole work. If that panics, the search can't go on.
    pub fn guard(&self, work: impl FnOnce()) {
        if let Err(fault) = guarded(work) {
            self.broken.store(true, Ordering::Release);
            self.halt(Some(fault));
        }
    }

    /// Whether a thread has panicked: then the tree has visits in flight that will never arrive.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Whether the threads should end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The queues, if each thread has one role.
    pub fn queues(&self) -> Option<&Queues> {
        self.queues.as_ref()
    }

    /// Called when an event is about to leave its gatherer. False if the threads are to end, so that it must not leave.
    ///
    /// The event is counted before `stop` is looked at, and [`is_drained`](Self::is_drained) looks in the opposite
    /// order: so no thread that found the search drained, and ended, is sent an event.
    pub fn depart(&self) -> bool {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let may = !self.stop.load(Ordering::SeqCst);
        if !may {
            self.arrive(1);
        }
        may
    }

    /// Says that this many events have come back.
    pub fn arrive(&self, events: usize) {
        self.under_way.fetch_sub(events, Ordering::SeqCst);
    }

    /// Whether the threads should end and no event is under way any more that could still come.
    pub fn is_drained(&self) -> bool {
        self.stop.load(Ordering::SeqCst) && (self.is_broken() || self.under_way.load(Ordering::SeqCst) == 0)
    }

    /// Waits for news, but no longer than `at_most`.
    pub fn wait(&self, at_most: Duration) {
        let told = self.told();
        let _ = self.news.wait_timeout(told, at_most);
    }
}
