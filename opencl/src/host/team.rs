//! Threads that share the work of one thread, a few microseconds of it at a time.
//!
//! The work is the layers of a position, the positions of a batch, or chores of the batch's owner. A position of a
//! small network is a tenth of a millisecond of work in dozens of steps. To put a thread to sleep and wake it costs as
//! much as several steps, so helpers watch for the next step as long as a position is under way, and for a while after
//! it before they sleep. A helper that has not come is not waited for: the thread that gives out the work does what is
//! left of it.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};

/// How often a helper looks for work before it sleeps: about 50 µs, which is more than the time between two steps.
/// Between two batches a search gathers for longer than that. Then a helper sleeps, and leaves its core to others.
const LOOKS: u32 = 2000;

/// How often a thread looks for what another one is about to do, before it yields the processor to other threads.
const PATIENCE: u32 = 1000;

/// What a helper does until nothing is left of a round. It does not panic.
type Work<'a> = &'a (dyn Fn(Member) + Sync);

/// Which member does a part of the work.
#[derive(Clone, Copy)]
enum Member {
    Giver,
    Helper,
}

/// A bit of [`Shared::state`]: a round is open.
const OPEN: u64 = 1;
/// The unit of [`Shared::state`] that counts helpers at work.
const HELPER: u64 = 1 << 1;
/// The unit of [`Shared::state`] that counts rounds: below it is room for 32,767 helpers, above it for the rounds of
/// some years.
const ROUND: u64 = 1 << 16;

struct Shared {
    /// The rounds so far, how many helpers are at work, and whether more may join: all in one number, so that a helper
    /// either joins a round or is too late for it.
    state: AtomicU64,
    /// Points to the [`Work`] of the round while it is open or helpers are at work.
    work: AtomicPtr<Work<'static>>,
    /// True while some thread gives out work.
    taken: AtomicBool,
    asleep: AtomicUsize,
    /// True if there is more work to come: helpers without work then keep looking for it, however long that takes, and
    /// do not sleep.
    busy: AtomicBool,
    leaving: AtomicBool,
}

impl Shared {
    /// Joins the open round, unless it is the round number `last`.
    fn join(&self, last: u64) -> Option<u64> {
        let state = self.state.load(Ordering::Relaxed);
        let round = state / ROUND;
        let open = state & OPEN != 0 && round != last;
        let joined =
            open && self.state.compare_exchange(state, state + HELPER, Ordering::Acquire, Ordering::Relaxed).is_ok();
        joined.then_some(round)
    }

    /// Does a helper's part of the round that it has joined.
    fn help(&self) {
        // SAFETY: `Team::together` wrote the pointer before it opened the round, and keeps what it points to until
        // every helper that has joined has left (`Closing`), so that it outlives this call.
        let work = unsafe { *self.work.load(Ordering::Relaxed) };
        work(Member::Helper);
        self.state.fetch_sub(HELPER, Ordering::Release);
    }

    /// The loop in which a helper lives.
    fn serve(&self) {
        let (mut last, mut looks) = (u64::MAX, 0);
        while !self.leaving.load(Ordering::Relaxed) {
            if let Some(round) = self.join(last) {
                self.help();
                (last, looks) = (round, 0);
            } else if looks < LOOKS {
                looks += 1;
                spin_loop();
            } else if self.busy.load(Ordering::Relaxed) {
                thread::yield_now();
                looks = LOOKS - PATIENCE;
            } else {
                self.sleep();
                looks = 0;
            }
        }
    }

    /// A helper that is called between its count and its sleep does not sleep, and one that is called before it counts
    /// sees that there is work.
    fn sleep(&self) {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        if !self.leaving.load(Ordering::SeqCst) && !self.busy.load(Ordering::SeqCst) {
            thread::park();
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Repeats `look` until it finds something, and returns that.
fn watch<T>(look: impl Fn() -> Option<T>) -> T {
    let mut looks = 0;
    loop {
        if let Some(found) = look() {
            return found;
        }
        looks += 1;
        match looks < PATIENCE {
            true => spin_loop(),
            false => thread::yield_now(),
        }
    }
}

/// A lock that is held for a few instructions, without sleeping for it. `None` if another member panicked while it held
/// it: the panic is passed on, and the others stop there.
fn lock_awake<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    watch(|| match mutex.try_lock() {
        Ok(guard) => Some(Some(guard)),
        Err(TryLockError::Poisoned(_)) => Some(None),
        Err(TryLockError::WouldBlock) => None,
    })
}

/// Ends a round, whether its giver returns or panics: no helper may join any more, and those who have are waited for.
struct Closing<'a>(&'a Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!OPEN, Ordering::Relaxed);
        watch(|| self.0.state.load(Ordering::Acquire).is_multiple_of(ROUND).then_some(()));
        self.0.taken.store(false, Ordering::Release);
    }
}

/// A team whose helpers are awake.
pub(super) struct Awake<'a>(&'a Shared);

impl Drop for Awake<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Relaxed);
    }
}

/// The caller's thread and its helpers.
pub(super) struct Team {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
}

impl Team {
    /// A team of `members` threads including the caller's, or of as many as the system can start.
    pub fn new(members: usize) -> Self {
        let mut team = Self::alone();
        let start = |number| {
            let shared = Arc::clone(&team.shared);
            thread::Builder::new().name(format!("host-{number}")).spawn(move || shared.serve())
        };
        team.helpers = (1..members).map_while(|number| start(number).ok()).collect();
        team
    }

    /// The caller without helpers.
    pub fn alone() -> Self {
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            work: AtomicPtr::default(),
            taken: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            busy: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
        });
        Self { shared, helpers: Vec::new() }
    }

    pub fn members(&self) -> usize {
        1 + self.helpers.len()
    }

    /// Wakes the helpers that sleep, and keeps them awake until the result is dropped. Without this call work is done,
    /// too, but by the caller alone.
    pub fn wake(&self) -> Awake<'_> {
        // Not a store: QEMU lets the load overtake that of 64-bit ARM, and a helper would sleep on.
        self.shared.busy.swap(true, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) > 0 {
            self.helpers.iter().for_each(|helper| helper.thread().unpark());
        }
        Awake(&self.shared)
    }

    /// Does `work` for each of `items`, each by whichever member is free. Returns when all is done; a panic of a helper
    /// continues here.
    ///
    /// If some thread gives out work already, as inside of `work`, the caller does all of it.
    pub fn each<I>(&self, mut items: I, work: impl Fn(I::Item) + Sync)
    where
        I: DoubleEndedIterator + ExactSizeIterator + Send,
        I::Item: Send,
    {
        if self.helpers.is_empty() || self.shared.taken.swap(true, Ordering::Acquire) {
            return items.for_each(work);
        }
        // Each lock is a cache line that goes from core to core, which takes as long as some items: so the giver gets
        // its first item without a lock, and a member that sees that nothing is left does not take it.
        let first = Mutex::new(items.next());
        let left = AtomicUsize::new(items.len());
        let items = Mutex::new(items);
        // Items are taken from both ends: in successive layers a thread then makes the same part, and finds much of its
        // input in its own cache.
        let next = |member| {
            if left.load(Ordering::Relaxed) == 0 {
                return None;
            }
            let mut items = lock_awake(&items)?;
            let item = match member {
                Member::Giver => items.next(),
                Member::Helper => items.next_back(),
            };
            left.store(items.len(), Ordering::Relaxed);
            item
        };
        self.together(|member| {
            if let Member::Giver = member
                && let Some(item) = lock_awake(&first).and_then(|mut first| first.take())
            {
                work(item);
            }
            while let Some(item) = next(member) {
                work(item);
            }
        });
    }

    /// One round of `work` by all members. `taken` is set, so that there is no other round.
    fn together(&self, work: impl Fn(Member) + Sync) {
        let shared = &*self.shared;
        let panic = Mutex::new(None);
        let help = |member| {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| work(member))) {
                *panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
            }
        };
        let help: Work<'_> = &help;
        let closing = Closing(shared);
        let round = shared.state.load(Ordering::Relaxed) / ROUND + 1;
        shared.work.store((&raw const help).cast::<Work<'static>>().cast_mut(), Ordering::Relaxed);
        shared.state.store((round * ROUND) | OPEN, Ordering::Release);
        work(Member::Giver);
        drop(closing);
        if let Some(payload) = panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(payload);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.leaving.store(true, Ordering::SeqCst);
        for helper in self.helpers.drain(..) {
            helper.thread().unpark();
            // A helper's panics are caught where they happen.
            let _ = helper.join();
        }
    }
}

/// Does `work` for each of `items`, with a team if there is one.
pub(super) fn each<I>(team: Option<&Team>, items: I, work: impl Fn(I::Item) + Sync)
where
    I: DoubleEndedIterator + ExactSizeIterator + Send,
    I::Item: Send,
{
    match team {
        None => items.for_each(work),
        Some(team) => team.each(items, work),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::thread::ThreadId;

    /// Waits in `work` until every member has come, so that all of them do work.
    fn gather(team: &Team) -> HashSet<ThreadId> {
        let here = Mutex::new(HashSet::new());
        team.each(0..team.members(), |_| {
            here.lock().expect("no panics").insert(thread::current().id());
            while here.lock().expect("no panics").len() < team.members() {
                team.wake();
            }
        });
        here.into_inner().expect("no panics")
    }

    #[test]
    fn each_item_is_taken_once() {
        for members in 1..=4 {
            let team = Team::new(members);
            let mut items = [0usize; 9];
            for round in 1..=2000 {
                team.each(items.iter_mut().enumerate(), |(number, item)| *item += number);
                assert!(items.iter().enumerate().all(|(number, item)| *item == number * round), "{items:?}");
            }
        }
    }

    #[test]
    fn all_members_come_even_after_they_slept() {
        let team = Team::new(3);
        let first = gather(&team);
        while team.shared.asleep.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
        assert_eq!((first.len(), gather(&team)), (3, first));
    }

    /// What one thread does between two rounds may take long.
    #[test]
    fn nobody_sleeps_while_there_is_more_to_come() {
        let team = Team::new(3);
        let asleep = || team.shared.asleep.load(Ordering::SeqCst);
        for _ in 0..3 {
            watch(|| (asleep() == 2).then_some(()));
            let awake = team.wake();
            watch(|| (asleep() == 0).then_some(()));
            for _ in 0..20 {
                thread::sleep(std::time::Duration::from_millis(1));
                assert_eq!(asleep(), 0);
            }
            drop(awake);
        }
    }

    #[test]
    fn work_inside_work_is_done_by_its_giver() {
        let team = Team::new(2);
        let outside = AtomicUsize::new(0);
        team.each(0..8, |_| {
            let giver = thread::current().id();
            team.each(0..8, |_| {
                outside.fetch_add(usize::from(thread::current().id() != giver), Ordering::Relaxed);
            });
        });
        assert_eq!(outside.into_inner(), 0);
        assert_eq!(gather(&team).len(), 2);
    }

    #[test]
    fn a_panic_of_any_member_goes_on_at_the_giver() {
        let team = Team::new(2);
        let giver = thread::current().id();
        for of_giver in [true, false] {
            let come = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                team.each(0..2, |_| {
                    come.fetch_add(1, Ordering::Relaxed);
                    while come.load(Ordering::Relaxed) < 2 {
                        team.wake();
                    }
                    assert!((thread::current().id() == giver) != of_giver, "expected by the test");
                });
            }));
            assert!(result.is_err());
            assert_eq!(gather(&team).len(), 2);
        }
    }
}
