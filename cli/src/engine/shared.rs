//! What the threads of one search share.

use super::Search;
use super::batch::Batch;
use super::control::Control;
use super::evaluator::Evaluator;
use super::fault::guarded;
use super::pipeline::Queues;
use oncilla_core::stats::Counts;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// The search and everything around it that its threads use at the same time.
pub struct Shared<'s, 'm> {
    /// Playouts read; folding a full tree writes.
    search: RwLock<&'s mut Search<'m>>,
    pub evaluator: &'s Evaluator,
    control: Arc<Control>,
    /// Playouts that may be gathered in all, and those that somebody has taken on.
    allowed: AtomicU64,
    claimed: AtomicU64,
    stop: AtomicBool,
    /// A thread panicked: what it had taken on never comes back.
    broken: AtomicBool,
    /// How often the tree was folded.
    recycled: AtomicU64,
    /// Threads that wait for answers of the evaluator.
    evaluating: AtomicUsize,
    /// Where each thread has one role: the queues between them, and events that are on their way.
    queues: Option<Queues>,
    under_way: AtomicUsize,
    told: Mutex<Told>,
    news: Condvar,
}

/// What the threads have said.
#[derive(Default)]
struct Told {
    counts: Counts,
    /// Of them, those that nobody has asked for.
    fresh: Counts,
    notes: Vec<String>,
    halted: bool,
    /// Why, if something has failed: what was said first.
    fault: Option<String>,
}

impl<'s, 'm> Shared<'s, 'm> {
    /// `queues` if each thread has one role.
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

    /// The search, to take playouts through it. Nobody folds the tree meanwhile, so give it back soon.
    pub fn search(&self) -> RwLockReadGuard<'_, &'s mut Search<'m>> {
        // A thread that panicked held it for reading: nothing is half done that a lock of a node does not guard.
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

    /// How often the tree was folded so far: to be asked before gathering finds it full.
    pub fn times_recycled(&self) -> u64 {
        self.recycled.load(Ordering::Acquire)
    }

    /// Folds a part of the tree, unless another thread has done so since `seen`. False if there is nothing to fold.
    pub fn recycle(&self, seen: u64) -> bool {
        let mut search = self.whole_search();
        if self.times_recycled() != seen {
            return true;
        }
        let freed = search.recycle() > 0;
        self.recycled.fetch_add(u64::from(freed), Ordering::Release);
        freed
    }

    /// A batch for one of the threads, which does not wait for its answers in vain once the best move is due.
    pub fn batch(&self) -> Batch {
        let control = Arc::clone(&self.control);
        self.evaluator.batch().unless(Box::new(move || control.is_late()))
    }

    /// Has the evaluator answer.
    ///
    /// # Errors
    /// As [`Evaluator::run`].
    pub fn evaluate(&self, positions: &mut Batch) -> Result<Option<String>, String> {
        self.evaluating.fetch_add(1, Ordering::Relaxed);
        let ran = self.evaluator.run(positions);
        self.evaluating.fetch_sub(1, Ordering::Relaxed);
        ran
    }

    /// Whether a thread has playouts that wait for the evaluator: whoever finds no room beside them will, once they are
    /// back.
    pub fn is_evaluating(&self) -> bool {
        self.evaluating.load(Ordering::Relaxed) > 0
    }

    /// Playouts that may be gathered from the start of the search on.
    pub fn allow(&self, playouts: u64) {
        self.allowed.store(playouts, Ordering::Relaxed);
        self.news.notify_all();
    }

    /// Takes on at most `wanted` playouts.
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

    /// Gives back playouts that came to nothing.
    pub fn unclaim(&self, playouts: u64) {
        self.claimed.fetch_sub(playouts, Ordering::Relaxed);
    }

    /// Adds what a thread did.
    pub fn add(&self, counts: &Counts) {
        let mut told = self.told();
        told.counts = told.counts.plus(counts);
        told.fresh = told.fresh.plus(counts);
    }

    /// What all threads did.
    pub fn counts(&self) -> Counts {
        self.told().counts
    }

    /// What all threads did since this was asked the last time.
    pub fn take_fresh(&self) -> Counts {
        std::mem::take(&mut self.told().fresh)
    }

    /// Says something to a person.
    pub fn note(&self, note: String) {
        self.told().notes.push(note);
        self.news.notify_all();
    }

    /// Says that this search can't go on. What fails when it has to end is no fault of it.
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

    /// True once somebody has said that the search can't go on.
    pub fn is_halted(&self) -> bool {
        self.told().halted
    }

    /// Why this search can't go on, where something has failed.
    pub fn fault(&self) -> Option<String> {
        self.told().fault.clone()
    }

    /// What there is to say.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.told().notes)
    }

    /// Tells all threads to bring back what they have, and end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.news.notify_all();
    }

    /// Stops when it is dropped, in a panic too: whoever hired the threads then waits for them.
    pub fn stop_on_drop(&self) -> impl Drop + '_ {
        struct Stop<'a, 's, 'm>(&'a Shared<'s, 'm>);
        impl Drop for Stop<'_, '_, '_> {
            fn drop(&mut self) {
                self.0.stop();
            }
        }
        Stop(self)
    }

    /// A thread's whole work. If it panics, the search can't go on.
    pub fn guard(&self, work: impl FnOnce()) {
        if let Err(fault) = guarded(work) {
            self.broken.store(true, Ordering::Release);
            self.halt(Some(fault));
        }
    }

    /// True once a thread has panicked: the tree has visits in flight that will never arrive.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// True once the threads should end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The queues, where each thread has one role.
    pub fn queues(&self) -> Option<&Queues> {
        self.queues.as_ref()
    }

    /// An event is about to leave its gatherer. False: the threads are to end, and it must not.
    ///
    /// It is counted before the look at `stop`, and [`is_drained`](Self::is_drained) looks the other way round: so
    /// nobody who found the search drained, and went, is sent an event.
    pub fn depart(&self) -> bool {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let may = !self.stop.load(Ordering::SeqCst);
        if !may {
            self.arrive(1);
        }
        may
    }

    /// So many events have come back.
    pub fn arrive(&self, events: usize) {
        self.under_way.fetch_sub(events, Ordering::SeqCst);
    }

    /// True once the threads should end and no event is under way any more that could still come.
    pub fn is_drained(&self) -> bool {
        self.stop.load(Ordering::SeqCst) && (self.is_broken() || self.under_way.load(Ordering::SeqCst) == 0)
    }

    /// Waits for news, but no longer than this.
    pub fn wait(&self, at_most: Duration) {
        let told = self.told();
        let _ = self.news.wait_timeout(told, at_most);
    }
}
