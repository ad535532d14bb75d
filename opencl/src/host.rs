//! Runs a graph on the host's own cores.
//!
//! [`plain`] is the reference: loops that follow the definitions of [`crate::graph`] word for word. [`Host`] is what a
//! program uses; it agrees with `plain` up to rounding.
//!
//! **A position's outputs don't depend on its batch.** [`Host`] gives the same bits for a position whatever else is in
//! the batch, wherever it is in the batch, and however many threads there are: each element of a value is made by one
//! chain of additions in an order that the graph alone fixes; threads and batches only divide the elements among them.
//! Another processor, with other instructions, may round differently.
//!
//! **Precision.** Except for rounding, outputs are those of sums in single precision. Two ways of computing sums differ
//! from the definition: Winograd's convolutions, and a processor's tiles of eight bits (`host/tiles.rs`), where the
//! largest number of a row determines the last digit of all its numbers. Either is used only for a network whose
//! outputs on canary positions are within 5·10⁻⁵ of direct sums.

mod arith;
mod board;
mod columns;
mod direct;
// Other processors' instructions for it are not in stable Rust.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_variables))]
mod fours;
mod isa;
mod kernel;
mod linear;
mod needs;
mod norm;
mod pack;
pub mod plain;
mod plan;
mod product;
mod run;
mod se;
mod sharing;
mod team;
#[cfg(test)]
mod tests;
#[cfg_attr(not(all(target_arch = "x86_64", target_os = "linux", target_pointer_width = "64")), allow(dead_code))]
mod tiles;
mod ways;
mod winograd;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::backend::{Backend, BackendError, Chores, Outputs, batch_of};
use crate::compare::{canary, relative_error};
use crate::graph::Graph;
use isa::Isa;
use plan::Plan;
use run::{Job, Jobs, Workspace};
use sharing::Sharing;
use std::fmt;
use std::sync::{Arc, Mutex};
use team::Team;
use ways::Ways;

/// The largest batch. The host does not need batches at all; the bound keeps the buffers of outputs small.
const MAX_BATCH: usize = 1024;

/// How many positions are worth evaluating at once if a single thread's tiles multiply: they are so fast that for one
/// position reading the weights takes a large part of the time. Games have shown that more positions cost a search more
/// than they save (docs/changes.md). With vectors the products take the time: more positions at once save next to
/// nothing.
const IN_TILES: usize = 4;

/// The most bytes that one thread may need for its work. No sensible network comes near it, and a file that declares a
/// million heads of attention should be refused, and not end the program.
const MAX_WORKSPACE: usize = 1 << 30;

/// A graph made ready for the host: weights in the order in which the kernels read them, and room to work in.
///
/// After the first batch of a size no evaluation allocates; only the queues of several threads take a block now and
/// then.
pub struct Host {
    graph: Arc<Graph>,
    plan: Arc<Plan>,
    isa: Isa,
    /// The caller's own thread, and the threads that help it.
    team: Team,
    /// One workspace for each thread; the first has room for a team.
    workspaces: Vec<Workspace>,
    /// By the number of positions less one, as far as that is at most half the number of threads.
    sharing: Vec<Sharing>,
}

/// Without the graph and the weights.
impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut host = f.debug_struct("Host");
        host.field("isa", &self.isa).field("threads", &self.workspaces.len()).finish_non_exhaustive()
    }
}

impl Host {
    /// Prepares `graph` for `threads` threads (at least 1), or for as many as the system can start. If the processor
    /// has AMX, it multiplies in tiles; the system is asked for permission to use them, see the top of this module.
    ///
    /// # Errors
    /// If a 3×3 or 5×5 convolution works on squares that are not a board, or if the values of the graph are too large.
    pub fn new(graph: impl Into<Arc<Graph>>, threads: usize) -> Result<Self, BackendError> {
        Self::with(graph, threads, Isa::detect())
    }

    /// Like [`Host::new`], but without tiles, for which the system is not asked either.
    ///
    /// # Errors
    /// Like [`Host::new`].
    pub fn on_vectors(graph: impl Into<Arc<Graph>>, threads: usize) -> Result<Self, BackendError> {
        Self::with(graph, threads, Isa::detect_without_tiles())
    }

    /// Prepares `graph` for the given instructions.
    fn with(graph: impl Into<Arc<Graph>>, threads: usize, isa: Isa) -> Result<Self, BackendError> {
        let graph = graph.into();
        if threads == 0 {
            return Err(BackendError("host: expected at least 1 thread, got 0".to_string()));
        }
        let plan = plan(&graph, isa)?;
        Self::of_plan(graph, plan, threads, isa)
    }

    fn of_plan(graph: Arc<Graph>, plan: Plan, threads: usize, isa: Isa) -> Result<Self, BackendError> {
        let isa = if plan.in_tiles() { isa } else { isa.without_tiles() };
        let needed = Workspace::bytes(&plan, threads > 1);
        if needed > MAX_WORKSPACE {
            let (needed, most) = (needed >> 20, MAX_WORKSPACE >> 20);
            return Err(BackendError(format!(
                "host: a thread would need {needed} MiB to work in, at most {most} are lent"
            )));
        }
        let team = Team::new(threads);
        let threads = team.members();
        let workspaces = (0..threads).map(|number| Workspace::new(&plan, threads > 1 && number == 0)).collect();
        Ok(Self { graph, plan: Arc::new(plan), isa, team, workspaces, sharing: vec![Sharing::default(); threads / 2] })
    }

    /// Another host with a single thread and the same weights: several of these can evaluate at once, and none waits
    /// for another.
    pub fn single(&self) -> Self {
        let (graph, plan) = (Arc::clone(&self.graph), Arc::clone(&self.plan));
        let workspaces = vec![Workspace::new(&plan, false)];
        Self { graph, plan, isa: self.isa, team: Team::alone(), workspaces, sharing: Vec::new() }
    }
}

/// On how many positions Winograd's convolutions and sums in tiles are compared with direct sums before they are
/// trusted.
const CANARIES: usize = 2;

/// How far an output may be from that of direct sums, as a share of the largest number if that is above one.
const BOUND: f32 = 5e-5;

/// Plans the evaluation: in tiles if the processor has them, and with Winograd's convolutions, or with only one of the
/// two, or neither, if this network's weights make them round too much.
fn plan(graph: &Graph, isa: Isa) -> Result<Plan, BackendError> {
    let direct = Plan::new(graph, Ways::default())?;
    if Workspace::bytes(&direct, false) > MAX_WORKSPACE {
        return Ok(direct);
    }
    let evaluate = |plan: &Plan| {
        let input = canary(CANARIES * graph.input().len(), 4);
        let mut outputs = Outputs::default();
        let mut workspace = Workspace::new(plan, false);
        Jobs::new(graph, CANARIES, 1, &input, &mut outputs)
            .for_each(|mut job| workspace.run(plan, isa, &mut job, None));
        outputs
    };
    let mut expected = None;
    let there = Ways::of(graph);
    for ways in (Ways { tiles: there.tiles && isa.tiles().is_some(), ..there }).choices() {
        let fast = Plan::new(graph, ways)?;
        if Workspace::bytes(&fast, false) > MAX_WORKSPACE {
            continue;
        }
        let expected = expected.get_or_insert_with(|| evaluate(&direct));
        let got = evaluate(&fast);
        if graph.outputs().iter().all(|o| relative_error(expected.head(o.role), got.head(o.role)) <= BOUND) {
            return Ok(fast);
        }
    }
    Ok(direct)
}

impl Backend for Host {
    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn describe(&self) -> String {
        let threads = self.team.members();
        let name = if threads == 1 { "thread" } else { "threads" };
        format!("host, {threads} {name}, {}", self.isa.name())
    }

    fn max_batch(&self) -> usize {
        MAX_BATCH
    }

    /// One position for each thread; a single thread with tiles takes a few more (`IN_TILES`).
    fn preferred_batch(&self) -> usize {
        let threads = self.team.members();
        if threads == 1 && self.plan.in_tiles() { IN_TILES } else { threads }
    }

    fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
        self.evaluate_beside(Chores::default(), input, outputs, &|| false)
    }

    fn evaluate_beside(
        &mut self,
        chores: Chores<'_>,
        input: &[f32],
        outputs: &mut Outputs,
        _is_late: &dyn Fn() -> bool,
    ) -> Result<(), BackendError> {
        let batch = batch_of(&self.graph, MAX_BATCH, input)?;
        let Self { graph, plan, team, workspaces, sharing, isa } = self;
        let mut run = |shares| {
            let threads = if shares { batch } else { team.members() };
            let work = Work { jobs: Jobs::new(graph, batch, threads, input, outputs), chores };
            match shares {
                true => shared(plan, *isa, team, &mut workspaces[0], work),
                false => each_alone(plan, *isa, team, workspaces, work),
            }
        };
        // With one position for each thread, half of the threads or more would have nothing to do.
        match sharing.get_mut(batch - 1) {
            Some(sharing) => sharing.run(run),
            None => run(false),
        }
        Ok(())
    }
}

/// A batch, and what is done beside it.
struct Work<'a> {
    jobs: Jobs<'a>,
    chores: Chores<'a>,
}

/// Evaluates one position after the other, each with all threads.
fn shared(plan: &Plan, isa: Isa, team: &Team, workspace: &mut Workspace, work: Work<'_>) {
    let _awake = team.wake();
    let Work { jobs, chores } = work;
    jobs.for_each(|mut job| workspace.run(plan, isa, &mut job, Some(team)));
    team.each(0..chores.count, chores.chore);
}

/// What one thread does by itself.
enum Part<'a> {
    Job(Job<'a>),
    Chore(usize),
}

/// Evaluates each position with one thread.
fn each_alone(plan: &Plan, isa: Isa, team: &Team, workspaces: &mut [Workspace], work: Work<'_>) {
    let Work { jobs, chores } = work;
    let run = |workspace: &mut Workspace, part| match part {
        Part::Job(mut job) => workspace.run(plan, isa, &mut job, None),
        Part::Chore(number) => (chores.chore)(number),
    };
    // Chores come last: they are short, and make up for jobs that end at different times. In one round with the jobs
    // they cost no other wait for a helper, which may have lost its core to another program.
    let is_one = jobs.len() + chores.count == 1;
    let parts = jobs.map(Part::Job).chain((0..chores.count).map(Part::Chore));
    if is_one {
        return parts.for_each(|part| run(&mut workspaces[0], part));
    }
    let parts = Mutex::new((parts, Some(team.wake())));
    let next = || {
        // A poisoned lock means that another thread has panicked; the team passes the panic on.
        let (parts, awake) = &mut *parts.lock().ok()?;
        let part = parts.next();
        if part.is_none() {
            // There is only one round: a thread that has nothing left to do may sleep.
            *awake = None;
        }
        part
    };
    team.each(workspaces.iter_mut(), |workspace| {
        while let Some(part) = next() {
            run(workspace, part);
        }
    });
}
