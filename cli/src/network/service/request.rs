//! What a thread wants evaluated, in a place where other threads can answer it.

use oncilla_opencl::backend::Outputs;
use oncilla_opencl::graph::{Graph, Role};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Rows of input, and later their outputs. One thread owns the request and waits; any thread that has a backend may
/// answer a part of it.
#[derive(Default)]
pub struct Request {
    is_late: Option<IsLate>,
    content: Mutex<Content>,
    /// The number of all its rows, and of those without an answer yet.
    rows: AtomicUsize,
    open: AtomicUsize,
    /// Wakes the owner; used under the lock of the service.
    pub news: Condvar,
    /// Whether the owner waits for news, and may be called to carry. Also used under that lock.
    waits: AtomicBool,
}

/// Returns whether a search has to end, and has an answer without this request: then it does not wait for a device that
/// takes unusually long.
pub type IsLate = Box<dyn Fn() -> bool + Send + Sync>;

/// What a request carries in both directions.
#[derive(Default)]
pub struct Content {
    /// `[row][channels][squares]`, followed by numbers left over from earlier requests.
    pub input: Vec<f32>,
    /// The outputs by row, each head as long as the graph says.
    pub outputs: Outputs,
    /// Why there is no answer.
    pub fault: Option<String>,
}

impl Request {
    /// A request whose owner may be late.
    pub fn unless(is_late: IsLate) -> Self {
        Self { is_late: Some(is_late), ..Self::default() }
    }

    /// Whether the request's owner needs no answer any more.
    pub fn is_late(&self) -> bool {
        self.is_late.as_ref().is_some_and(|is_late| is_late())
    }

    /// The request's content. Only the thread that answers the request holds this lock for long.
    pub fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets that `rows` rows are to be answered.
    pub fn begin(&self, rows: usize) {
        self.rows.store(rows, Ordering::Relaxed);
        self.open.store(rows, Ordering::Relaxed);
    }

    /// Whether these are all rows of the request.
    pub fn is_whole(&self, rows: &Range<usize>) -> bool {
        rows.len() == self.rows.load(Ordering::Relaxed)
    }

    /// Says that this many more rows have been answered. To be called under the lock of the service.
    pub fn answered(&self, rows: usize) {
        self.open.fetch_sub(rows, Ordering::Relaxed);
        if self.is_done() {
            self.news.notify_one();
        }
    }

    /// Says that the owner waits for news from now on, or no longer. To be called under the lock of the service.
    pub fn set_waits(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }

    /// Wakes the owner, if it waits and was not called already. To be called under the lock of the service.
    pub fn call_owner(&self) -> bool {
        let waits = self.waits.swap(false, Ordering::Relaxed);
        if waits {
            self.news.notify_one();
        }
        waits
    }

    /// Whether all rows have been answered. To be called under the lock of the service.
    pub fn is_done(&self) -> bool {
        self.open.load(Ordering::Relaxed) == 0
    }
}

/// Whether a search can't do without an output of this role.
pub fn is_needed(role: Role) -> bool {
    !matches!(role, Role::MovesLeft | Role::ValueError)
}

/// How many numbers a row has: in its input, and in each of its outputs.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub input: usize,
    heads: [(Role, usize); Role::ALL.len()],
}

impl Sizes {
    pub fn new(graph: &Graph) -> Self {
        Self { input: graph.input().len(), heads: Role::ALL.map(|role| (role, graph.output_len(role).unwrap_or(0))) }
    }

    /// Checks that there are outputs for `rows` rows, and that those of the roles for which `count` returns true are
    /// finite: a backend that fails may not know it.
    pub fn check(&self, outputs: &Outputs, rows: usize, count: impl Fn(Role) -> bool) -> Result<(), String> {
        for (role, len) in self.heads {
            let Some(numbers) = outputs.head(role).get(..rows * len) else {
                return Err(format!("an output of the network ({role:?}) is missing"));
            };
            // This is not `all`: without an early exit it becomes a loop over vectors.
            if count(role) && !numbers.iter().fold(true, |finite, number| finite & number.is_finite()) {
                return Err("an output of the network is no finite number".to_string());
            }
        }
        Ok(())
    }

    /// Copies rows from `at` on of one batch to the range `rows` of another one, which is made long enough.
    pub fn copy(&self, from: &Outputs, at: usize, to: &mut Outputs, rows: &Range<usize>) {
        for (role, len) in self.heads {
            let to = to.head_mut(role);
            to.resize(to.len().max(rows.end * len), 0.0);
            to[rows.start * len..rows.end * len].copy_from_slice(&from.head(role)[at * len..][..rows.len() * len]);
        }
    }
}
