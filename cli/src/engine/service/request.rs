//! What a thread wants evaluated, where other threads can take it on.

use oncilla_opencl::backend::Outputs;
use oncilla_opencl::graph::{Graph, Role};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Rows of input, and then their outputs. One thread owns it and waits; whoever has a backend may answer a part of it.
#[derive(Default)]
pub struct Request {
    is_late: Option<IsLate>,
    content: Mutex<Content>,
    /// All of its rows, and those without an answer.
    rows: AtomicUsize,
    open: AtomicUsize,
    /// Heard by its owner, under the lock of the service.
    pub news: Condvar,
}

/// Whether a search has to end, and has an answer without this one: it then does not wait for a device that takes
/// unusually long.
pub type IsLate = Box<dyn Fn() -> bool + Send + Sync>;

/// What goes to and fro.
#[derive(Default)]
pub struct Content {
    /// `[row][channels][squares]`, and what was left over behind that.
    pub input: Vec<f32>,
    /// By row, each head as long as the graph says.
    pub outputs: Outputs,
    /// What to tell a person.
    pub note: Option<String>,
    /// Why there is no answer.
    pub fault: Option<String>,
}

impl Request {
    /// One whose owner may be late.
    pub fn unless(is_late: IsLate) -> Self {
        Self { is_late: Some(is_late), ..Self::default() }
    }

    /// Whether its owner needs no answer any more.
    pub fn is_late(&self) -> bool {
        self.is_late.as_ref().is_some_and(|is_late| is_late())
    }

    /// Its content. Nobody holds it for long but the one that answers it.
    pub fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many rows are to be answered.
    pub fn begin(&self, rows: usize) {
        self.rows.store(rows, Ordering::Relaxed);
        self.open.store(rows, Ordering::Relaxed);
    }

    /// Whether these are all of its rows.
    pub fn is_whole(&self, rows: &Range<usize>) -> bool {
        rows.len() == self.rows.load(Ordering::Relaxed)
    }

    /// So many of them have been. To be called under the lock of the service.
    pub fn answered(&self, rows: usize) {
        self.open.fetch_sub(rows, Ordering::Relaxed);
        if self.is_done() {
            self.news.notify_one();
        }
    }

    /// Whether all of them have been. To be asked under the lock of the service.
    pub fn is_done(&self) -> bool {
        self.open.load(Ordering::Relaxed) == 0
    }
}

/// Whether a search can't go without an output of this role.
pub fn is_needed(role: Role) -> bool {
    !matches!(role, Role::MovesLeft | Role::ValueError)
}

/// Numbers of one row: of its input, and of each of its outputs.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub input: usize,
    heads: [(Role, usize); Role::ALL.len()],
}

impl Sizes {
    pub fn new(graph: &Graph) -> Self {
        Self { input: graph.input().len(), heads: Role::ALL.map(|role| (role, graph.output_len(role).unwrap_or(0))) }
    }

    /// Whether there are outputs for so many rows, and of the roles that `count` all of them numbers: a backend that
    /// fails may not know it.
    pub fn check(&self, outputs: &mut Outputs, rows: usize, count: impl Fn(Role) -> bool) -> Result<(), String> {
        for (role, len) in self.heads {
            let Some(numbers) = outputs.head_mut(role).get(..rows * len) else {
                return Err(format!("an output of the network ({role:?}) is missing"));
            };
            // Not `all`: without an early end this is a loop over vectors.
            if count(role) && !numbers.iter().fold(true, |finite, number| finite & number.is_finite()) {
                return Err("an output of the network is no finite number".to_string());
            }
        }
        Ok(())
    }

    /// Copies the rows `from` on of one batch to the rows `to` of another, which is made long enough.
    pub fn copy(&self, from: &mut Outputs, at: usize, to: &mut Outputs, rows: &Range<usize>) {
        for (role, len) in self.heads {
            let to = to.head_mut(role);
            to.resize(to.len().max(rows.end * len), 0.0);
            to[rows.start * len..rows.end * len].copy_from_slice(&from.head_mut(role)[at * len..][..rows.len() * len]);
        }
    }
}
