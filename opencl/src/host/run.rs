//! Runs a plan over groups of positions.

mod conv;
mod dense;
mod layers;
mod winograd;
mod workspace;

pub(super) use workspace::Workspace;

use super::board::{LANES, Lanes};
use super::isa::Isa;
use super::plan::{GROUP, Place, Plan, Step};
use super::team::Team;
use crate::backend::Outputs;
use crate::graph::{Graph, Role};
use std::ops::Range;

/// Into how many parts the channels of a 1×1 convolution or a dense layer are divided, for each thread of a team: more
/// than one, so that none waits long for a slower one.
const PARTS: usize = 2;

/// A few positions that go through the layers together.
pub(super) struct Job<'a> {
    positions: usize,
    /// `[positions][channels][squares]`.
    input: &'a [f32],
    heads: Heads<'a>,
}

/// A slice of each output's buffer, `[positions][elements]`, in the order of [`Role::ALL`]; empty where the network
/// lacks the head.
struct Heads<'a>([&'a mut [f32]; Role::ALL.len()]);

impl<'a> Heads<'a> {
    fn new(outputs: &'a mut Outputs) -> Self {
        let Outputs { policy, pass, wdl, value, moves_left, value_error, results, scores, ownership } = outputs;
        Self([policy, pass, wdl, value, moves_left, value_error, results, scores, ownership].map(Vec::as_mut_slice))
    }

    fn head(&mut self, role: Role) -> &mut [f32] {
        self.0[role as usize]
    }

    /// Splits off the first `positions` of `batch` positions.
    fn split_off(&mut self, positions: usize, batch: usize) -> Heads<'a> {
        Heads(self.0.each_mut().map(|slice| {
            let whole = std::mem::take(slice);
            let (first, rest) = whole.split_at_mut(whole.len() / batch * positions);
            *slice = rest;
            first
        }))
    }
}

/// Cuts a batch into jobs of at most [`GROUP`] positions. They have nearly equal sizes, and if there are enough
/// positions, their number is a multiple of the number of threads.
pub(super) struct Jobs<'a> {
    jobs: usize,
    batch: usize,
    input: &'a [f32],
    heads: Heads<'a>,
}

impl<'a> Jobs<'a> {
    pub fn new(graph: &Graph, batch: usize, threads: usize, input: &'a [f32], outputs: &'a mut Outputs) -> Self {
        for role in Role::ALL {
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

/// How the layers of a group are run.
#[derive(Clone, Copy)]
struct Run<'a> {
    isa: Isa,
    /// How many positions the group has.
    positions: usize,
    /// The threads that share each layer.
    team: Option<&'a Team>,
}

impl Run<'_> {
    /// The same, without a team if the layer is done sooner by one thread than several can be told of it.
    fn shared_if(self, worth: bool) -> Self {
        Self { team: self.team.filter(|_| worth), ..self }
    }

    /// Each position's number and its part of `values`, of which each position has `len`.
    fn each<T>(self, values: &mut [T], len: usize) -> impl Iterator<Item = (usize, &mut [T])> {
        values.chunks_exact_mut(len).enumerate().take(self.positions)
    }

    /// Runs `make` for parts of the panels and their pieces of `output`, which have `of_panel` numbers for each panel.
    /// A team shares the parts; without a team there is one part.
    fn each_part(
        self,
        panels: usize,
        of_panel: usize,
        output: &mut [f32],
        make: impl Fn(Range<usize>, &mut [f32]) + Sync,
    ) {
        let Some(team) = self.team else { return make(0..panels, output) };
        let part = panels.div_ceil(PARTS * team.members());
        let parts = output.chunks_mut(part * of_panel).enumerate();
        team.each(parts, |(number, output)| make(number * part..panels.min((number + 1) * part), output));
    }

    /// Runs `make` for each panel, `width` of the `len` numbers of a position (fewer for the last panel), and each
    /// position of `output`.
    fn each_panel(self, len: usize, width: usize, output: &mut [f32], make: impl Fn(usize, usize, &mut [f32]) + Sync) {
        if let Some(team) = self.team {
            for (position, output) in output.chunks_exact_mut(len).enumerate() {
                team.each(output.chunks_mut(width).enumerate(), |(number, output)| make(number, position, output));
            }
            return;
        }
        // The outer loop is over panels: the weights of a panel stay in the nearest cache for the whole group.
        for number in 0..len.div_ceil(width) {
            let range = number * width..((number + 1) * width).min(len);
            for (position, output) in output.chunks_exact_mut(len).enumerate() {
                make(number, position, &mut output[range.clone()]);
            }
        }
    }
}

impl Workspace {
    /// Runs the layers over `job`. A team shares each layer, for which the workspace must have been made; the results
    /// are the same.
    pub fn run(&mut self, plan: &Plan, isa: Isa, job: &mut Job<'_>, team: Option<&Team>) {
        let run = Run { isa, positions: job.positions, team };
        // Made ready once for all layers.
        let _ready = isa.tiles().filter(|_| plan.in_tiles()).map(|tiles| tiles.ready());
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
                Step::Conv(conv) => self.conv(conv, run, &mut output),
                Step::Dense(dense) => self.dense(dense, run, &mut output),
                Step::Gather(gather) => self.gather(gather, run, &mut output),
                Step::Constant { values, .. } => {
                    run.each(&mut output, values.len()).for_each(|(_, y)| y.copy_from_slice(values));
                }
                Step::Gate(gate) => self.gate(gate, run, &mut output),
                Step::Affine(affine) => self.affine(affine, run, &mut output),
                Step::Pool(pool) => self.pool(pool, run, &mut output),
                Step::LayerNorm(norm) => self.layer_norm(norm, run, &mut output),
                Step::RmsNorm(norm) => self.rms_norm(norm, run, &mut output),
                Step::Rotate(rotate) => self.rotate(rotate, run, &mut output),
                Step::Multiply(multiply) => self.multiply(multiply, run, &mut output),
                Step::Attention(attention) => self.attention(attention, run, &mut output),
                Step::Scores(scores) => self.scores(scores, run, &mut output),
                Step::Spread { input, output: place } => {
                    for (position, output) in run.each(&mut output, place.len()) {
                        spread(*place, self.value(*input, position), output);
                    }
                }
                Step::Collect { input, output: place } => {
                    for (position, output) in run.each(&mut output, place.len()) {
                        collect(*input, self.value(*input, position), output);
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
}

/// Copies elements that are side by side into the layout of `place`.
fn spread(place: Place, from: &[f32], to: &mut [f32]) {
    let Some(board) = place.board else { return to.copy_from_slice(from) };
    for (from, to) in from.chunks_exact(board.rows * board.files).zip(to.chunks_exact_mut(board.plane)) {
        let ranks = to[board.origin..].chunks_mut(board.stride);
        from.chunks_exact(board.files).zip(ranks).for_each(|(from, to)| copy_rank(from, to));
    }
}

/// Copies elements in the layout of `place` side by side.
fn collect(place: Place, from: &[f32], to: &mut [f32]) {
    let Some(board) = place.board else { return to.copy_from_slice(from) };
    for (from, to) in from.chunks_exact(board.plane).zip(to.chunks_exact_mut(board.rows * board.files)) {
        let ranks = from[board.origin..].chunks(board.stride);
        ranks.zip(to.chunks_exact_mut(board.files)).for_each(|(from, to)| copy_rank(&from[..to.len()], to));
    }
}

/// Copies `from` to the start of `to`; a rank of a chessboard as one vector, because a call of `memcpy` takes longer
/// than the copy.
fn copy_rank(from: &[f32], to: &mut [f32]) {
    match (<&Lanes>::try_from(from), to.first_chunk_mut::<LANES>()) {
        (Ok(from), Some(to)) => *to = *from,
        _ => to[..from.len()].copy_from_slice(from),
    }
}
