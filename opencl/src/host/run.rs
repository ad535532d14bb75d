//! Runs a plan over groups of positions.

use super::arith::activate;
use super::board::Board;
use super::kernel::{self, ConvPanel, DensePanel, Isa, NEURONS, TILE};
use super::plan::{Conv, Dense, GROUP, Gather, Place, Plan, Step};
use crate::backend::Outputs;
use crate::graph::{Activation, Graph, Role};
use rayon::prelude::*;

/// A dense layer with fewer weights than this is done by one thread sooner than several are told of it.
const WORTH_SHARING: usize = 1 << 16;

/// A few positions that go through the layers together.
pub(super) struct Job<'a> {
    positions: usize,
    /// `[positions][channels][squares]`.
    input: &'a [f32],
    heads: Heads<'a>,
}

/// A slice of each head's buffer, `[positions][elements]`; empty where the network lacks the head.
struct Heads<'a> {
    policy: &'a mut [f32],
    wdl: &'a mut [f32],
    value: &'a mut [f32],
    moves_left: &'a mut [f32],
}

impl<'a> Heads<'a> {
    fn new(outputs: &'a mut Outputs) -> Self {
        let Outputs { policy, wdl, value, moves_left } = outputs;
        Self { policy, wdl, value, moves_left }
    }

    fn head(&mut self, role: Role) -> &mut [f32] {
        match role {
            Role::Policy => self.policy,
            Role::Wdl => self.wdl,
            Role::Value => self.value,
            Role::MovesLeft => self.moves_left,
        }
    }

    /// Takes the first `positions` of `batch` positions off.
    fn split_off(&mut self, positions: usize, batch: usize) -> Heads<'a> {
        let take = |slice: &mut &'a mut [f32]| {
            let whole = std::mem::take(slice);
            let (first, rest) = whole.split_at_mut(whole.len() / batch * positions);
            *slice = rest;
            first
        };
        Heads {
            policy: take(&mut self.policy),
            wdl: take(&mut self.wdl),
            value: take(&mut self.value),
            moves_left: take(&mut self.moves_left),
        }
    }
}

/// Cuts a batch into jobs of at most [`GROUP`] positions, of nearly equal size and a multiple of the threads in number
/// where there are positions enough.
pub(super) struct Jobs<'a> {
    jobs: usize,
    batch: usize,
    input: &'a [f32],
    heads: Heads<'a>,
}

impl<'a> Jobs<'a> {
    pub fn new(graph: &Graph, batch: usize, threads: usize, input: &'a [f32], outputs: &'a mut Outputs) -> Self {
        for role in [Role::Policy, Role::Wdl, Role::Value, Role::MovesLeft] {
            outputs.head_mut(role).resize(batch * graph.output_len(role).unwrap_or(0), 0.0);
        }
        let jobs = (threads * batch.div_ceil(threads).div_ceil(GROUP)).min(batch);
        Self { jobs, batch, input, heads: Heads::new(outputs) }
    }
}

impl<'a> Iterator for Jobs<'a> {
    type Item = Job<'a>;

    fn next(&mut self) -> Option<Job<'a>> {
        if self.jobs == 0 {
            return None;
        }
        let positions = self.batch.div_ceil(self.jobs);
        let (input, rest) = self.input.split_at(self.input.len() / self.batch * positions);
        let heads = self.heads.split_off(positions, self.batch);
        self.input = rest;
        self.batch -= positions;
        self.jobs -= 1;
        Some(Job { positions, input, heads })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.jobs, Some(self.jobs))
    }
}

impl ExactSizeIterator for Jobs<'_> {}

/// One thread's memory: room for the values of [`GROUP`] positions.
pub(super) struct Workspace {
    /// By slot, `[GROUP][elements]`. Borders are zero from the beginning and stay so.
    slots: Vec<Vec<f32>>,
    /// Inputs of a dense layer side by side.
    flat: Vec<f32>,
    /// For a squeeze.
    scratch: Vec<f32>,
}

impl Workspace {
    pub fn new(plan: &Plan) -> Self {
        Self {
            slots: plan.slots.iter().map(|len| vec![0.0; GROUP * len]).collect(),
            flat: vec![0.0; GROUP * plan.largest_dense],
            scratch: vec![0.0; plan.scratch],
        }
    }

    /// Runs the layers over `job`. With `shared`, other threads of the pool may help inside a layer; the numbers are
    /// the same.
    pub fn run(&mut self, plan: &Plan, isa: Isa, job: &mut Job<'_>, shared: bool) {
        let each = plan.input.shape.len();
        for (position, input) in job.input.chunks_exact(each).enumerate() {
            let place = plan.input;
            spread(place, input, &mut self.slots[place.slot][position * place.len()..][..place.len()]);
        }
        for step in &plan.steps {
            // The buffer is taken out while it is written: a step never writes where it reads.
            let slot = step.output().slot;
            let mut output = std::mem::take(&mut self.slots[slot]);
            match step {
                Step::Conv(conv) => self.conv(conv, isa, job.positions, shared, &mut output),
                Step::Dense(dense) => self.dense(dense, isa, job.positions, shared, &mut output),
                Step::Gather(gather) => self.gather(gather, job.positions, &mut output),
                Step::Spread { input, output: place } => {
                    for (position, output) in output.chunks_exact_mut(place.len()).enumerate().take(job.positions) {
                        spread(*place, self.value(*input, position), output);
                    }
                }
            }
            self.slots[slot] = output;
        }
        for &(role, place) in &plan.outputs {
            for (position, output) in job.heads.head(role).chunks_exact_mut(place.shape.len()).enumerate() {
                collect(place, self.value(place, position), output);
            }
        }
    }

    /// The value at `place` for one position of the group.
    fn value(&self, place: Place, position: usize) -> &[f32] {
        &self.slots[place.slot][position * place.len()..][..place.len()]
    }

    fn conv(&mut self, conv: &Conv, isa: Isa, positions: usize, shared: bool, output: &mut [f32]) {
        let plane = conv.board.plane;
        let weights = conv.weights.len() / conv.bias.len();
        let panel = |number: usize, position: usize, output: &mut [f32]| {
            let first = number * TILE * plane;
            let residual = conv.residual.filter(|_| conv.se.is_none());
            let panel = ConvPanel {
                board: conv.board,
                kernel: conv.kernel,
                weights: &conv.weights[number * weights..][..weights],
                bias: &conv.bias[number],
                input: self.value(conv.input, position),
                residual: residual.map(|r| &self.value(r, position)[first..][..output.len()]),
                // A squeeze comes between the sums and the activation.
                activation: if conv.se.is_none() { conv.activation } else { Activation::None },
            };
            kernel::conv(isa, panel, output);
        };
        let len = conv.output.len();
        if shared {
            for (position, output) in output.chunks_exact_mut(len).enumerate().take(positions) {
                let panels = output.par_chunks_mut(TILE * plane).enumerate();
                panels.for_each(|(number, output)| panel(number, position, output));
            }
        } else {
            // Panels outside, positions inside: the weights of a panel stay in the nearest cache for the group.
            for number in 0..conv.bias.len() {
                let range = number * TILE * plane..((number + 1) * TILE * plane).min(len);
                for (position, output) in output.chunks_exact_mut(len).enumerate().take(positions) {
                    panel(number, position, &mut output[range.clone()]);
                }
            }
        }
        self.squeeze_excite(conv, isa, positions, output);
    }

    fn squeeze_excite(&mut self, conv: &Conv, isa: Isa, positions: usize, output: &mut [f32]) {
        let Some(se) = &conv.se else { return };
        let mut scratch = std::mem::take(&mut self.scratch);
        for (position, planes) in output.chunks_exact_mut(conv.output.len()).enumerate().take(positions) {
            let se = kernel::Se {
                board: conv.board,
                squares: conv.output.shape.squares,
                hidden: se.hidden,
                w1: &se.w1,
                b1: &se.b1,
                w2: &se.w2,
                b2: &se.b2,
                residual: conv.residual.map(|r| self.value(r, position)),
                activation: conv.activation,
            };
            kernel::squeeze_excite(isa, se, planes, &mut scratch);
        }
        self.scratch = scratch;
    }

    fn dense(&mut self, dense: &Dense, isa: Isa, positions: usize, shared: bool, output: &mut [f32]) {
        let inputs = dense.input.shape.len();
        let outputs = dense.output.len();
        let mut flat = std::mem::take(&mut self.flat);
        for (position, flat) in flat.chunks_exact_mut(inputs).enumerate().take(positions) {
            collect(dense.input, self.value(dense.input, position), flat);
        }
        let panel = |number: usize, input: &[f32], sums: &mut [[f32; NEURONS]]| {
            let weights = &dense.weights[number * inputs * NEURONS..][..inputs * NEURONS];
            kernel::dense(isa, DensePanel { weights, bias: &dense.bias[number], input }, sums);
        };
        if shared && dense.weights.len() >= WORTH_SHARING {
            for (flat, output) in flat.chunks_exact(inputs).zip(output.chunks_exact_mut(outputs)).take(positions) {
                output.par_chunks_mut(NEURONS).enumerate().for_each(|(number, output)| {
                    let mut sums = [[0.0; NEURONS]];
                    panel(number, flat, &mut sums);
                    output.copy_from_slice(&sums[0][..output.len()]);
                });
            }
        } else {
            for number in 0..dense.bias.len() {
                let mut sums = [[0.0; NEURONS]; GROUP];
                panel(number, &flat[..positions * inputs], &mut sums[..positions]);
                let range = number * NEURONS..((number + 1) * NEURONS).min(outputs);
                for (sums, output) in sums.iter().zip(output.chunks_exact_mut(outputs)).take(positions) {
                    output[range.clone()].copy_from_slice(&sums[..range.len()]);
                }
            }
        }
        output.chunks_exact_mut(outputs).take(positions).for_each(|output| activate(dense.activation, output));
        self.flat = flat;
    }

    fn gather(&self, gather: &Gather, positions: usize, output: &mut [f32]) {
        for (position, output) in output.chunks_exact_mut(gather.output.len()).enumerate().take(positions) {
            let input = self.value(gather.input, position);
            output.iter_mut().zip(&gather.indices).for_each(|(y, &i)| *y = input[i as usize]);
        }
    }
}

/// Elements side by side → the layout of `place`.
fn spread(place: Place, from: &[f32], to: &mut [f32]) {
    match place.board {
        None => to.copy_from_slice(from),
        Some(board) => {
            for (row, from) in from.chunks_exact(board.files).enumerate() {
                to[row_at(board, row)..][..board.files].copy_from_slice(from);
            }
        }
    }
}

/// The layout of `place` → elements side by side.
fn collect(place: Place, from: &[f32], to: &mut [f32]) {
    match place.board {
        None => to.copy_from_slice(from),
        Some(board) => {
            for (row, to) in to.chunks_exact_mut(board.files).enumerate() {
                to.copy_from_slice(&from[row_at(board, row)..][..board.files]);
            }
        }
    }
}

/// Index of the first square of a row, rows counted through all planes.
fn row_at(board: Board, row: usize) -> usize {
    row / board.rows * board.plane + board.origin() + row % board.rows * board.stride
}
