//! Runs a graph on the host's own cores.
//!
//! [`plain`] is the reference: loops that follow the definitions of [`crate::graph`] word for word. [`Host`] is what a
//! program uses; it agrees with `plain` up to rounding.
//!
//! **A position's outputs don't depend on its batch.** [`Host`] gives the same bits for a position whatever else is in
//! the batch, wherever it stands there and however many threads there are: each element of a value is made by one chain
//! of additions in an order that the graph alone fixes; threads and batches only divide the elements among them. Another
//! processor, with other instructions, may round differently.

mod arith;
mod board;
mod kernel;
pub mod plain;
mod plan;
mod run;
#[cfg(test)]
mod tests;
mod whole;

use crate::backend::{Backend, BackendError, Outputs, batch_of};
use crate::graph::Graph;
use kernel::Isa;
use plan::Plan;
use rayon::ThreadPool;
use rayon::prelude::*;
use run::{Jobs, Workspace};
use std::sync::{Arc, Mutex};

/// Largest batch. The host needs no batch at all; the bound keeps the outputs' buffers small.
const MAX_BATCH: usize = 1024;

/// Most bytes that one thread may need to work in: no network of sense comes near, and a file that names a million heads
/// of attention is to be refused, not to end the program.
const MAX_WORKSPACE: usize = 1 << 30;

/// A graph made ready for the host: weights in the order in which the kernels read them, and room to work in.
///
/// After the first batch of a size no evaluation allocates; only the queues of several threads take a block now and then.
pub struct Host {
    graph: Arc<Graph>,
    plan: Arc<Plan>,
    isa: Isa,
    threads: usize,
    /// None for a single thread, which is the caller's own.
    pool: Option<ThreadPool>,
    /// One for each thread.
    workspaces: Vec<Workspace>,
}

impl Host {
    /// Prepares `graph` for `threads` threads, at least 1.
    ///
    /// # Errors
    /// If a 3×3 convolution runs over a board that is not a square, the values of the graph are too large, or the threads
    /// can't be started.
    pub fn new(graph: impl Into<Arc<Graph>>, threads: usize) -> Result<Self, BackendError> {
        let graph = graph.into();
        if threads == 0 {
            return Err(BackendError("host: expected at least 1 thread, got 0".to_string()));
        }
        let plan = Plan::new(&graph)?;
        let needed = Workspace::bytes(&plan, threads > 1);
        if needed > MAX_WORKSPACE {
            let (needed, most) = (needed >> 20, MAX_WORKSPACE >> 20);
            return Err(BackendError(format!(
                "host: a thread would need {needed} MiB to work in, at most {most} are lent"
            )));
        }
        let pool = match threads {
            1 => None,
            _ => Some(
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .thread_name(|i| format!("host-{i}"))
                    .build()
                    .map_err(|e| BackendError(format!("host: can't start {threads} threads: {e}")))?,
            ),
        };
        let workspaces = (0..threads).map(|_| Workspace::new(&plan, threads > 1)).collect();
        Ok(Self { graph, plan: Arc::new(plan), isa: Isa::detect(), threads, pool, workspaces })
    }

    /// Another one for a single thread, with the same weights: several of them evaluate at once and none waits for another.
    pub fn single(&self) -> Self {
        let (graph, plan) = (Arc::clone(&self.graph), Arc::clone(&self.plan));
        let workspaces = vec![Workspace::new(&plan, false)];
        Self { graph, plan, isa: self.isa, threads: 1, pool: None, workspaces }
    }
}

impl Backend for Host {
    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn describe(&self) -> String {
        let threads = if self.threads == 1 { "thread" } else { "threads" };
        format!("host, {} {threads}, {}", self.threads, self.isa.name())
    }

    fn max_batch(&self) -> usize {
        MAX_BATCH
    }

    /// One position a thread: more at once saves nothing but reads of weights, which the caches mostly hold.
    fn preferred_batch(&self) -> usize {
        self.threads
    }

    fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
        let batch = batch_of(&self.graph, MAX_BATCH, input)?;
        let jobs = Jobs::new(&self.graph, batch, self.threads, input, outputs);
        let (plan, isa) = (&*self.plan, self.isa);
        // With fewer jobs than threads, the threads left over help inside each layer.
        let share_layers = jobs.len() < self.threads;
        match &self.pool {
            None => jobs.for_each(|mut job| self.workspaces[0].run(plan, isa, &mut job, false)),
            Some(pool) => {
                let jobs = Mutex::new(jobs);
                // A poisoned lock means that another thread has panicked, which rayon passes on.
                let next = || jobs.lock().ok().and_then(|mut jobs| jobs.next());
                pool.install(|| {
                    self.workspaces.par_iter_mut().with_max_len(1).for_each(|workspace| {
                        while let Some(mut job) = next() {
                            workspace.run(plan, isa, &mut job, share_layers);
                        }
                    });
                });
            }
        }
        Ok(())
    }
}
