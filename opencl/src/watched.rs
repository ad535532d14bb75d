//! A thread of its own for what may never answer: a backend, or the driver that makes one.
//!
//! A thread that waits for a hung driver hangs too, and OpenCL has no wait with a timeout. So the driver
//! gets a thread of its own, with buffers of its own, and the caller waits as long as is reasonable. The thread costs a
//! batch some ten microseconds: for devices whose batches take hundreds.
//!
//! How long that is, [`Patience`] says. A caller that has to report its best move, and has one, waits less
//! ([`Backend::evaluate_unless`]). A batch that it abandons is no failure of the device as long as its answer may come;
//! until then this backend takes no other.

use crate::backend::{Backend, BackendError, Outputs};
use crate::graph::Graph;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Runs `work`, which may never end, in a thread of its own, and waits for it as long as `limit`. A result that comes
/// later is dropped in that thread.
///
/// # Errors
/// In one line, if it takes longer or panics, or if the system can't start a thread.
pub fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BackendError> {
    let (done, answer) = sync_channel(1);
    let run = move || {
        let _ = done.send(work()); // an error means that the caller no longer waits
    };
    let thread = thread::Builder::new().name("device".to_string()).spawn(run);
    let thread = thread.map_err(|error| BackendError(format!("no thread for it: {error}")))?;
    let answer = answer.recv_timeout(limit).map_err(|why| match why {
        RecvTimeoutError::Timeout => BackendError(format!("it took more than {limit:?}")),
        RecvTimeoutError::Disconnected => BackendError("a panic in its thread".to_string()),
    })?;
    // The thread has nothing left to do.
    let _ = thread.join();
    Ok(answer)
}

/// How long to wait for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until the first answer has come, because some drivers compile then. It is also the upper limit later, however
    /// long an answer took.
    pub first: Duration,
    /// The lower limit, once an answer has come.
    pub least: Duration,
    /// Once an answer has come: the limit as a multiple of the longest time that an answer took so far.
    pub times: u32,
    /// For a caller who is late: the lower limit.
    pub late_least: Duration,
    /// For a caller who is late: the limit as a multiple of what answers took lately.
    pub late_times: u32,
}

impl Default for Patience {
    /// Two minutes, then ten seconds or twenty times the longest answer, but no more than the two minutes: no batch of
    /// a device that works comes near that. A caller who is late waits for a tenth of a second or four times what is
    /// usual: a move has to be played, and a slow device has earned its time.
    fn default() -> Self {
        Self {
            first: Duration::from_secs(120),
            least: Duration::from_secs(10),
            times: 20,
            late_least: Duration::from_millis(100),
            late_times: 4,
        }
    }
}

impl Patience {
    fn limit(&self, longest: Option<Duration>) -> Duration {
        longest.map_or(self.first, |longest| self.least.max(longest.saturating_mul(self.times).min(self.first)))
    }

    /// The limit for a caller who is late.
    fn limit_if_late(&self, usual: Option<Duration>) -> Duration {
        usual.map_or(self.first, |usual| self.late_least.max(usual.saturating_mul(self.late_times).min(self.first)))
    }
}

/// How often a wait for a batch checks whether the caller is late.
const LOOK: Duration = Duration::from_millis(20);

/// What is usual is the longest of the last answers; with each answer the earlier ones count for less, by one part in
/// this many.
const FORGETS: u32 = 16;

/// The thread's answer, with the buffers.
type Reply = (Batch, Result<(), BackendError>);

/// The buffers that go to the thread and come back.
#[derive(Default)]
struct Batch {
    input: Vec<f32>,
    outputs: Outputs,
}

/// A backend in a thread of its own. Once it fails to answer in time, every batch fails at once, until that answer has
/// come. If a caller has left a batch before its time was up, the next caller waits for it, as long as it may still
/// come.
pub struct Watched {
    graph: Arc<Graph>,
    describe: String,
    max_batch: usize,
    preferred_batch: usize,
    leaves_host_free: bool,
    patience: Patience,
    longest: Option<Duration>,
    /// The longest of the latest answers, see [`FORGETS`].
    usual: Option<Duration>,
    /// When the last batch was sent to the thread.
    begun: Instant,
    /// The buffers, while the thread does not have them.
    idle: Option<Batch>,
    /// Set to `None` when this is dropped, which ends the thread.
    batches: Option<SyncSender<Batch>>,
    answers: Receiver<Reply>,
    thread: Option<JoinHandle<()>>,
}

/// Without the graph, the buffers and the thread.
impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut watched = f.debug_struct("Watched");
        watched.field("describe", &self.describe).field("max_batch", &self.max_batch);
        watched.field("patience", &self.patience).field("usual", &self.usual).finish_non_exhaustive()
    }
}

impl Watched {
    /// Moves a backend for this graph into a thread.
    ///
    /// # Errors
    /// If the system can't start a thread.
    pub fn new(
        mut backend: impl Backend + 'static,
        graph: Arc<Graph>,
        patience: Patience,
    ) -> Result<Self, BackendError> {
        let (describe, max_batch, preferred_batch) =
            (backend.describe(), backend.max_batch(), backend.preferred_batch());
        let leaves_host_free = backend.leaves_host_free();
        let (batches, to_do) = sync_channel::<Batch>(1);
        let (done, answers) = sync_channel(1);
        let run = move || {
            for mut batch in to_do {
                let answer = evaluate(&mut backend, &mut batch);
                if done.send((batch, answer)).is_err() {
                    break;
                }
            }
            // In this order: the thread that drops this waits until `done` is gone.
            drop(backend);
            drop(done);
        };
        let thread = thread::Builder::new().name("device".to_string()).spawn(run);
        let thread = thread.map_err(|error| BackendError(format!("{describe}: no thread for it: {error}")))?;
        Ok(Self {
            graph,
            describe,
            max_batch,
            preferred_batch,
            leaves_host_free,
            patience,
            longest: None,
            usual: None,
            begun: Instant::now(),
            idle: Some(Batch::default()),
            batches: Some(batches),
            answers,
            thread: Some(thread),
        })
    }

    fn fault(&self, what: &str) -> BackendError {
        BackendError(format!("{}: {what}", self.describe))
    }

    /// Returns the buffers, if the thread has given them back: the answer to a batch that was given up shows that the
    /// device works again.
    fn take_back(&mut self) -> Result<Batch, BackendError> {
        let given_up = || self.answers.try_recv().ok().map(|(batch, _)| batch);
        self.idle.take().or_else(given_up).ok_or_else(|| self.fault("still no answer"))
    }

    /// Like [`Watched::take_back`], but waits for a batch that may still come.
    fn take_back_or_wait(&mut self, is_late: &dyn Fn() -> bool) -> Result<Batch, BackendError> {
        match self.take_back() {
            Err(_) if !self.is_overdue() => self.wait(is_late).map(|(batch, _)| batch),
            taken => taken,
        }
    }

    /// Whether a caller who is late need not wait for the batch any longer.
    fn is_overdue(&self) -> bool {
        self.begun.elapsed() > self.patience.limit_if_late(self.usual)
    }

    /// Waits for the thread's answer: until the limit, or until the batch is overdue and the caller is late.
    fn wait(&self, is_late: &dyn Fn() -> bool) -> Result<Reply, BackendError> {
        let limit = self.patience.limit(self.longest);
        loop {
            let left = limit.saturating_sub(self.begun.elapsed());
            match self.answers.recv_timeout(left.min(LOOK)) {
                Ok(reply) => return Ok(reply),
                Err(RecvTimeoutError::Disconnected) => return Err(self.fault("its thread has ended")),
                Err(RecvTimeoutError::Timeout) if left <= LOOK => {
                    return Err(self.fault(&format!("no answer within {limit:?}")));
                }
                Err(RecvTimeoutError::Timeout) if self.is_overdue() && is_late() => {
                    let waited = self.begun.elapsed().as_millis();
                    return Err(self.fault(&format!("no answer within {waited} ms, and no time left")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Learns from an answer that was waited for all the time.
    fn learn(&mut self, took: Duration) {
        self.longest = self.longest.max(Some(took));
        self.usual = self.usual.map(|usual| usual - usual / FORGETS).max(Some(took));
    }
}

/// Evaluates a batch; a panic becomes an error as well, because the waiting thread has to learn of it.
fn evaluate(backend: &mut impl Backend, batch: &mut Batch) -> Result<(), BackendError> {
    let run = AssertUnwindSafe(|| backend.evaluate(&batch.input, &mut batch.outputs));
    catch_unwind(run).unwrap_or_else(|_| Err(BackendError("a panic in the backend".to_string())))
}

impl Backend for Watched {
    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn describe(&self) -> String {
        self.describe.clone()
    }

    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn preferred_batch(&self) -> usize {
        self.preferred_batch
    }

    fn leaves_host_free(&self) -> bool {
        self.leaves_host_free
    }

    fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
        self.evaluate_unless(input, outputs, &|| false)
    }

    fn evaluate_unless(
        &mut self,
        input: &[f32],
        outputs: &mut Outputs,
        is_late: &dyn Fn() -> bool,
    ) -> Result<(), BackendError> {
        let mut batch = self.take_back_or_wait(is_late)?;
        batch.input.clear();
        batch.input.extend_from_slice(input);
        self.begun = Instant::now();
        if self.batches.as_ref().is_none_or(|batches| batches.send(batch).is_err()) {
            return Err(self.fault("its thread has ended"));
        }
        let (mut batch, answer) = self.wait(is_late)?;
        std::mem::swap(outputs, &mut batch.outputs);
        self.idle = Some(batch);
        // What a failure took, a driver's own wait for one, says nothing of how long an answer takes.
        if answer.is_ok() {
            self.learn(self.begun.elapsed());
        }
        answer
    }

    fn may_answer_yet(&self) -> bool {
        self.idle.is_none() && self.begun.elapsed() < self.patience.limit(self.longest)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.batches.take());
        // A thread that hangs keeps its device and its buffers, be it in a batch or where it lets its device go.
        let has_ended = self.take_back().is_ok()
            && matches!(self.answers.recv_timeout(self.patience.least), Err(RecvTimeoutError::Disconnected));
        if let Some(thread) = self.thread.take().filter(|_| has_ended) {
            // It has caught every panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Activation, INPUT, Layer, Role, Shape};

    const PATIENCE: Patience = Patience {
        first: Duration::from_millis(50),
        least: Duration::from_millis(50),
        times: 1,
        late_least: Duration::ZERO,
        late_times: 0,
    };

    /// Doubles each number once it is told to; a negative one is an error, and NaN a panic.
    struct Doubles {
        graph: Arc<Graph>,
        go: Receiver<()>,
    }

    impl Backend for Doubles {
        fn graph(&self) -> &Graph {
            &self.graph
        }

        fn describe(&self) -> String {
            "doubles".to_string()
        }

        fn max_batch(&self) -> usize {
            4
        }

        fn preferred_batch(&self) -> usize {
            2
        }

        fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
            assert!(!input[0].is_nan(), "as a test");
            let _ = self.go.recv();
            outputs.value.clear();
            outputs.value.extend(input.iter().map(|x| 2.0 * x));
            if input[0] < 0.0 { Err(BackendError("out of order".to_string())) } else { Ok(()) }
        }
    }

    fn doubles(patience: Patience) -> (Watched, SyncSender<()>) {
        let mut graph = Graph::new(Shape { channels: 1, squares: 1 });
        let (weights, bias) = (vec![2.0], vec![0.0]);
        let value = graph.push(Layer::Dense { input: INPUT, channels: 1, weights, bias, activation: Activation::None });
        graph.output(Role::Value, value.expect("it fits")).expect("one number");
        let (graph, (told, go)) = (Arc::new(graph), sync_channel(8));
        let backend = Doubles { graph: Arc::clone(&graph), go };
        (Watched::new(backend, graph, patience).expect("a thread"), told)
    }

    fn run(watched: &mut Watched, input: &[f32]) -> Result<Vec<f32>, String> {
        let mut outputs = Outputs { value: vec![9.0; 3], ..Outputs::default() };
        watched.evaluate(input, &mut outputs).map(|()| outputs.value).map_err(|error| error.to_string())
    }

    #[test]
    fn work_is_waited_for_as_long_as_was_said() {
        assert_eq!(within(Duration::from_secs(60), || 7).map_err(|error| error.to_string()), Ok(7));
        let (_held, never) = sync_channel::<u32>(1);
        let late = within(Duration::from_millis(50), move || never.recv().ok()).expect_err("it waits for ever");
        assert_eq!(late.to_string(), "it took more than 50ms");
        let panics = within(Duration::from_secs(60), || assert_ne!(1, 1, "as a test")).expect_err("it panics");
        assert_eq!(panics.to_string(), "a panic in its thread");
    }

    #[test]
    fn it_says_what_the_backend_says() {
        let (mut watched, go) = doubles(Patience::default());
        assert_eq!((watched.describe(), watched.max_batch(), watched.preferred_batch()), ("doubles".to_string(), 4, 2));
        (0..4).for_each(|_| go.send(()).expect("a backend"));
        assert_eq!(run(&mut watched, &[1.0, 3.0]), Ok(vec![2.0, 6.0]));
        assert_eq!(run(&mut watched, &[5.0]), Ok(vec![10.0]));
        assert_eq!(run(&mut watched, &[-1.0]), Err("out of order".to_string()));
        assert_eq!(run(&mut watched, &[f32::NAN]), Err("a panic in the backend".to_string()));
        assert_eq!(run(&mut watched, &[4.0]), Ok(vec![8.0]));
    }

    #[test]
    fn a_backend_that_does_not_answer_is_left_alone_until_it_does() {
        // So long that a busy machine keeps nobody for half of it.
        let patience = Patience { first: Duration::from_secs(3), ..PATIENCE };
        let (mut watched, go) = doubles(patience);
        assert_eq!(run(&mut watched, &[1.0]), Err("doubles: no answer within 3s".to_string()));
        assert!(!watched.may_answer_yet(), "nobody waits for it any more");
        let begun = Instant::now();
        assert_eq!(run(&mut watched, &[2.0]), Err("doubles: still no answer".to_string()));
        assert!(begun.elapsed() < patience.first, "it waited again");
        // The first batch's answer, then that of the next, or of one after it where this machine is slow.
        (0..8).for_each(|_| go.send(()).expect("a backend"));
        let answer = (0..1000).find_map(|_| {
            thread::sleep(Duration::from_millis(5));
            run(&mut watched, &[3.0]).ok()
        });
        assert_eq!(answer, Some(vec![6.0]));
    }

    fn run_unless(watched: &mut Watched, input: &[f32], is_late: &dyn Fn() -> bool) -> Result<Vec<f32>, String> {
        let mut outputs = Outputs::default();
        let ran = watched.evaluate_unless(input, &mut outputs, is_late);
        ran.map(|()| outputs.value).map_err(|error| error.to_string())
    }

    /// A device that has answered once, and whose next batch waits until it is told to go on.
    fn usually_quick(late_least: Duration) -> (Watched, SyncSender<()>) {
        let (mut watched, go) = doubles(Patience { late_least, late_times: 0, ..Patience::default() });
        go.send(()).expect("a backend");
        assert_eq!(run(&mut watched, &[1.0]), Ok(vec![2.0]));
        (watched, go)
    }

    #[test]
    fn who_is_late_leaves_a_batch_that_takes_unusually_long() {
        let (mut watched, go) = usually_quick(Duration::from_millis(50));
        let begun = Instant::now();
        let fault = run_unless(&mut watched, &[2.0], &|| true).expect_err("it waits for ever");
        assert!(fault.starts_with("doubles: no answer within ") && fault.ends_with(" ms, and no time left"), "{fault}");
        assert!((Duration::from_millis(50)..watched.patience.least).contains(&begun.elapsed()));
        assert_eq!(run(&mut watched, &[3.0]), Err("doubles: still no answer".to_string()));
        assert!(watched.may_answer_yet());
        (0..8).for_each(|_| go.send(()).expect("a backend"));
        let answer = (0..1000).find_map(|_| {
            thread::sleep(Duration::from_millis(5));
            run(&mut watched, &[3.0]).ok()
        });
        assert_eq!(answer, Some(vec![6.0]));
        assert!(!watched.may_answer_yet());
    }

    #[test]
    fn who_is_late_waits_as_long_as_is_usual() {
        let (mut watched, go) = usually_quick(Duration::from_secs(60));
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(100));
                go.send(()).expect("a backend");
            });
            assert_eq!(run_unless(&mut watched, &[2.0], &|| true), Ok(vec![4.0]));
        });
    }

    /// The next caller waits for both, rather than to take a slow device for one that has failed.
    #[test]
    fn a_batch_that_was_left_may_come_yet() {
        let (mut watched, go) = usually_quick(Duration::ZERO);
        assert!(run_unless(&mut watched, &[2.0], &|| true).is_err());
        watched.patience.late_least = Duration::from_secs(60);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(50));
                (0..2).for_each(|_| go.send(()).expect("a backend"));
            });
            assert_eq!(run(&mut watched, &[3.0]), Ok(vec![6.0]));
        });
    }

    #[test]
    fn what_is_usual_is_forgotten_again() {
        let (mut watched, _go) = doubles(Patience::default());
        let second = Duration::from_secs(1);
        watched.learn(second);
        (0..100).for_each(|_| watched.learn(second / 100));
        assert_eq!((watched.longest, watched.usual), (Some(second), Some(second / 100)));
        assert_eq!(watched.patience.limit_if_late(watched.usual), second / 10);
        watched.learn(second);
        assert_eq!(watched.patience.limit_if_late(watched.usual), 4 * second);
        watched.learn(second / 100);
        assert!(watched.usual > Some(second * 9 / 10));
        assert_eq!(watched.patience.limit_if_late(None), watched.patience.first);
    }

    #[test]
    fn what_hangs_does_not_keep_whoever_drops_it() {
        let (mut watched, _go) = doubles(PATIENCE);
        assert!(run(&mut watched, &[1.0]).is_err());
        drop(watched);
    }

    /// A device that has failed may hang where it is to be let go, too.
    #[test]
    fn what_hangs_when_it_is_dropped_does_not_keep_whoever_drops_it() {
        struct Hangs(Graph);

        impl Drop for Hangs {
            fn drop(&mut self) {
                loop {
                    thread::park();
                }
            }
        }

        impl Backend for Hangs {
            fn graph(&self) -> &Graph {
                &self.0
            }

            fn describe(&self) -> String {
                "hangs".to_string()
            }

            fn max_batch(&self) -> usize {
                1
            }

            fn preferred_batch(&self) -> usize {
                1
            }

            fn evaluate(&mut self, _: &[f32], _: &mut Outputs) -> Result<(), BackendError> {
                Ok(())
            }
        }

        let graph = Graph::new(Shape { channels: 1, squares: 1 });
        let watched = Watched::new(Hangs(graph.clone()), Arc::new(graph), PATIENCE).expect("a thread");
        drop(watched);
    }

    #[test]
    fn the_wait_follows_what_answers_took() {
        let patience = Patience::default();
        let seconds = Duration::from_secs;
        assert_eq!(patience.limit(None), seconds(120));
        assert_eq!(patience.limit(Some(Duration::from_millis(3))), seconds(10));
        assert_eq!(patience.limit(Some(seconds(4))), seconds(80));
        assert_eq!(patience.limit(Some(seconds(30))), seconds(120), "no longer than the first answer is waited for");
    }

    #[test]
    fn what_a_failure_took_is_not_waited_for_again() {
        let (mut watched, go) = doubles(Patience::default());
        (0..2).for_each(|_| go.send(()).expect("a backend"));
        assert!(run(&mut watched, &[-1.0]).is_err() && run(&mut watched, &[f32::NAN]).is_err());
        assert_eq!(watched.longest, None, "no answer has come");
        assert_eq!(run(&mut watched, &[1.0]), Ok(vec![2.0]));
        let longest = watched.longest;
        thread::scope(|scope| {
            scope.spawn(|| {
                // The device takes its time to fail.
                thread::sleep(longest.unwrap_or_default() + Duration::from_millis(20));
                go.send(()).expect("a backend");
            });
            assert!(run(&mut watched, &[-1.0]).is_err());
        });
        assert!(longest.is_some() && watched.longest == longest);
    }
}
