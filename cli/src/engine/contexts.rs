//! The backends that run one network, lent to whichever thread has a batch.
//!
//! A backend takes one batch at a time. As many batches are in flight as there are backends; a thread that finds none
//! idle waits for one, and gathering goes on in the other threads.

use oncilla_opencl::backend::Backend;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the backends of one network have in common.
#[derive(Clone, Debug)]
pub struct Facts {
    /// One line for a person.
    pub describe: String,
    /// Largest batch.
    pub max_batch: usize,
    /// Batch that is worth waiting for.
    pub preferred_batch: usize,
    /// Whether they run on a device, which can fail where the host can't.
    pub device: bool,
}

/// Backends of one kind, all of the same network.
pub struct Contexts {
    state: Mutex<State>,
    given_back: Condvar,
}

/// Counts the replacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(u32);

/// What a failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Of the backends that run now. It may not happen again; `first` if none has failed before.
    Passing { first: bool },
    /// As many in a row as there may be: the device is of no use any more.
    Last,
    /// Of backends that have been replaced meanwhile.
    Earlier,
    /// Of the host, for which nothing can stand in.
    OfHost,
}

/// Batches in a row that a device may fail to answer before it is given up.
pub const FAILURES: u32 = 3;

/// What became of backends that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The host has just taken over.
    Now,
    /// Another thread had seen to it.
    Earlier,
    /// It was the host that failed.
    Never,
}

struct State {
    idle: Vec<Box<dyn Backend>>,
    facts: Facts,
    /// A backend of an earlier one is dropped when it comes back.
    generation: Generation,
    /// How many of the last batches failed.
    failures: u32,
    /// Whether any did.
    failed_before: bool,
}

impl State {
    fn new(backend: Box<dyn Backend>, device: bool, generation: Generation) -> Self {
        let facts = Facts {
            describe: backend.describe(),
            max_batch: backend.max_batch(),
            preferred_batch: backend.preferred_batch(),
            device,
        };
        Self { idle: vec![backend], facts, generation, failures: 0, failed_before: false }
    }
}

impl Contexts {
    /// One backend; `device` says whether it is a device's.
    pub fn new(backend: Box<dyn Backend>, device: bool) -> Self {
        Self { state: Mutex::new(State::new(backend, device, Generation(0))), given_back: Condvar::new() }
    }

    pub fn facts(&self) -> Facts {
        self.lock().facts.clone()
    }

    /// Lends a backend, and waits until one is idle.
    pub fn take(&self) -> Context<'_> {
        let mut state = self.lock();
        loop {
            if let Some(backend) = state.idle.pop() {
                return Context { backend: Some(backend), generation: state.generation, owner: self };
            }
            state = self.given_back.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A backend of `generation` has answered a batch.
    pub fn succeeded(&self, generation: Generation) {
        let mut state = self.lock();
        if state.generation == generation {
            state.failures = 0;
        }
    }

    /// A backend of `generation` has failed to.
    pub fn failed(&self, generation: Generation) -> Failure {
        let mut state = self.lock();
        if state.generation != generation {
            return Failure::Earlier;
        }
        if !state.facts.device {
            return Failure::OfHost;
        }
        let first = !std::mem::replace(&mut state.failed_before, true);
        state.failures += 1;
        if state.failures >= FAILURES { Failure::Last } else { Failure::Passing { first } }
    }

    /// Puts the host's backend from `make` in the place of a device's backends of `generation`. Other threads wait until
    /// it is made.
    ///
    /// # Errors
    /// Those of `make`; then nothing has changed.
    pub fn replace(
        &self,
        generation: Generation,
        make: impl FnOnce() -> Result<Box<dyn Backend>, String>,
    ) -> Result<Replaced, String> {
        let mut state = self.lock();
        if state.generation != generation {
            return Ok(Replaced::Earlier);
        }
        if !state.facts.device {
            return Ok(Replaced::Never);
        }
        *state = State::new(make()?, false, Generation(generation.0 + 1));
        self.given_back.notify_all();
        Ok(Replaced::Now)
    }

    /// Each change of the state is complete before anything can panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A backend on loan. It goes back when this is dropped, in a panic too.
pub struct Context<'a> {
    /// Only `drop` takes it out.
    backend: Option<Box<dyn Backend>>,
    generation: Generation,
    owner: &'a Contexts,
}

impl Context<'_> {
    pub fn generation(&self) -> Generation {
        self.generation
    }
}

const LENT: &str = "a backend on loan stays until it is dropped";

impl Deref for Context<'_> {
    type Target = dyn Backend;

    fn deref(&self) -> &Self::Target {
        self.backend.as_deref().expect(LENT)
    }
}

impl DerefMut for Context<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.backend.as_deref_mut().expect(LENT)
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        let mut state = self.owner.lock();
        if state.generation == self.generation {
            state.idle.extend(self.backend.take());
            self.owner.given_back.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_opencl::backend::{BackendError, Outputs};
    use oncilla_opencl::graph::{Graph, Shape};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    /// Says how many of its kind are at work at once.
    struct Busy {
        graph: Graph,
        name: &'static str,
    }

    static AT_WORK: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);

    fn busy(name: &'static str) -> Box<dyn Backend> {
        Box::new(Busy { graph: Graph::new(Shape { channels: 1, squares: 1 }), name })
    }

    impl Backend for Busy {
        fn graph(&self) -> &Graph {
            &self.graph
        }

        fn describe(&self) -> String {
            self.name.to_string()
        }

        fn max_batch(&self) -> usize {
            1
        }

        fn preferred_batch(&self) -> usize {
            1
        }

        fn evaluate(&mut self, _: &[f32], _: &mut Outputs) -> Result<(), BackendError> {
            let now = AT_WORK.fetch_add(1, Ordering::SeqCst) + 1;
            MOST.fetch_max(now, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(1));
            AT_WORK.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    }

    #[test]
    fn a_backend_has_one_batch_at_a_time_and_everybody_gets_a_turn() {
        let contexts = Contexts::new(busy("one"), true);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5).for_each(|_| contexts.take().evaluate(&[], &mut Outputs::default()).unwrap()));
            }
        });
        assert_eq!(MOST.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_failed_backend_is_replaced_once() {
        let contexts = Contexts::new(busy("device"), true);
        let lent = contexts.take();
        let generation = lent.generation();
        assert_eq!(contexts.replace(generation, || Err("no".to_string())), Err("no".to_string()));
        assert!(contexts.facts().device);
        // It is lent still; the host is there all the same, and what comes back late is dropped.
        assert_eq!(contexts.replace(generation, || Ok(busy("host"))), Ok(Replaced::Now));
        assert_eq!(contexts.replace(generation, || Ok(busy("another"))), Ok(Replaced::Earlier));
        assert_eq!(contexts.take().describe(), "host");
        drop(lent);
        assert_eq!(contexts.lock().idle.len(), 1);
        let host = contexts.take().generation();
        assert_eq!(contexts.replace(host, || Ok(busy("another"))), Ok(Replaced::Never));
        assert_eq!((contexts.facts().device, contexts.facts().describe.as_str()), (false, "host"));
    }

    #[test]
    fn a_device_is_given_up_after_some_failures_in_a_row() {
        let contexts = Contexts::new(busy("device"), true);
        let device = contexts.take().generation();
        let failed = || contexts.failed(device);
        assert_eq!([failed(), failed()], [Failure::Passing { first: true }, Failure::Passing { first: false }]);
        contexts.succeeded(device);
        assert_eq!([failed(), failed(), failed()][1..], [Failure::Passing { first: false }, Failure::Last]);
        contexts.replace(device, || Ok(busy("host"))).unwrap();
        assert_eq!(failed(), Failure::Earlier);
        assert_eq!(contexts.failed(contexts.take().generation()), Failure::OfHost);
    }

    #[test]
    fn a_panic_gives_the_backend_back() {
        let contexts = Contexts::new(busy("one"), true);
        let panicked = thread::scope(|scope| {
            let job = scope.spawn(|| {
                let _lent = contexts.take();
                panic!("as a test");
            });
            job.join().is_err()
        });
        assert!(panicked);
        assert_eq!(contexts.take().describe(), "one");
    }
}
