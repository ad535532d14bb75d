//! Runs a plan over groups of positions.

use super::board::{Board, LANES, Lanes};
use super::columns;
use super::fours::{self, Four, RowEnds};
use super::kernel::{self, ConvPanel, Finish, Isa, TILE};
use super::needs::Needs;
use super::plan::{
    Added, Affine, Attention, Conv, ConvWeights, Dense, DenseTiles, DenseWeights, GROUP, Gate, Gather, LayerNorm,
    Multiply, Place, Plan, Pool, RmsNorm, Rotate, Scores, Step, TileWeights, at_once,
};
use super::product::{self, Block, COLUMNS, DenseInput, DensePanels, Entry, Floats, Inputs, Pointwise, Right};
use super::team::{Team, each};
use super::tiles::{self, Layout, Operand, Scale};
use super::winograd::{self, Channels, End, PANEL, POINTS, Rows};
use crate::backend::Outputs;
use crate::graph::{Activation, Graph, Role, Shape};
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut, Range};

/// A dense layer with fewer weights than this is done sooner by one thread than several can be told of it.
const WORTH_SHARING: usize = 1 << 16;

/// The same for an affine layer, by the number of its elements.
const WORTH_SHARING_ELEMENTS: usize = 1 << 13;

/// A row with at most one number in so many that is not zero is multiplied without its zeros.
const MOSTLY_ZEROS: usize = 4;

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

/// Numbers that begin at the start of a cache line: then sixteen squares of a chessboard are one line, and not parts of
/// two.
#[derive(Default)]
struct Values {
    room: Vec<f32>,
    range: Range<usize>,
}

impl Values {
    fn zeros(len: usize) -> Self {
        let room = vec![0.0; len + COLUMNS];
        // If the start can't be aligned, the results are still right.
        let first = room.as_ptr().align_offset(align_of::<Block>()).min(COLUMNS);
        Self { room, range: first..first + len }
    }
}

impl Deref for Values {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.room[self.range.clone()]
    }
}

impl DerefMut for Values {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.room[self.range.clone()]
    }
}

/// One thread's memory: room for the values of [`GROUP`] positions.
pub(super) struct Workspace {
    /// By slot, `[GROUP][elements]`. Borders are zero from the beginning, and stay zero.
    slots: Vec<Values>,
    /// The points of Winograd's convolution, for as many positions as are computed at once, and their products: for the
    /// panels that are made at once, or for all panels if several threads work on a position.
    points: Vec<f32>,
    products: Vec<Block>,
    /// Inputs in eight bits, and what a step of each is worth: for each position, or for each of its parts.
    fours: Vec<Four>,
    steps: Vec<f32>,
    /// Inputs in tiles: those of a convolution, and for each position what its squares are worth; those of a dense
    /// layer, and what its rows are worth.
    right: Vec<Operand>,
    scales: Vec<Scale>,
    left: Vec<Operand>,
    units: Vec<[f32; tiles::ROWS]>,
    /// A dense layer's inputs that are not zero, for one position.
    entries: Vec<Entry>,
    /// Other working memory of a step, see [`Needs::scratch`] and [`Needs::room`].
    scratch: Vec<f32>,
    room: Vec<Block>,
}

impl Workspace {
    /// How many bytes [`Workspace::new`] takes.
    pub fn bytes(plan: &Plan, shared: bool) -> usize {
        let slots = GROUP * plan.slots.iter().sum::<usize>() + COLUMNS * plan.slots.len();
        let needs = &plan.needs;
        let numbers = slots + needs.points + needs.scratch.of(shared);
        GROUP * (needs.fours * size_of::<Four>() + needs.parts * size_of::<f32>())
            + size_of::<f32>() * numbers
            + size_of::<Operand>() * (needs.right + needs.left)
            + size_of::<Scale>() * Self::scales(needs)
            + size_of::<[f32; tiles::ROWS]>() * Self::units(needs)
            + size_of::<Entry>() * needs.entries
            + size_of::<Block>() * (needs.room.of(shared) + needs.products.of(shared))
    }

    /// For how many positions it stores what their squares are worth, if anything is in tiles.
    fn scales(needs: &Needs) -> usize {
        if needs.right > 0 { GROUP } else { 0 }
    }

    /// For how many panels of rows it stores what they are worth.
    fn units(needs: &Needs) -> usize {
        if needs.left > 0 { (GROUP * needs.parts).div_ceil(tiles::ROWS) } else { 0 }
    }

    /// With `shared`, several threads may work on one job.
    pub fn new(plan: &Plan, shared: bool) -> Self {
        let needs = &plan.needs;
        Self {
            slots: plan.slots.iter().map(|len| Values::zeros(GROUP * len)).collect(),
            points: vec![0.0; needs.points],
            products: vec![Block::ZERO; needs.products.of(shared)],
            fours: vec![fours::ZEROS; GROUP * needs.fours],
            steps: vec![0.0; GROUP * needs.parts],
            right: vec![Operand::ZERO; needs.right],
            scales: vec![Scale::ZERO; Self::scales(needs)],
            left: vec![Operand::ZERO; needs.left],
            units: vec![[0.0; tiles::ROWS]; Self::units(needs)],
            entries: vec![Entry::default(); needs.entries],
            scratch: vec![0.0; needs.scratch.of(shared)],
            room: vec![Block::ZERO; needs.room.of(shared)],
        }
    }

    /// Runs the layers over `job`. A team shares each layer, for which the workspace must have been made; the results
    /// are the same.
    pub fn run(&mut self, plan: &Plan, isa: Isa, job: &mut Job<'_>, team: Option<&Team>) {
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
                Step::Conv(conv) => self.conv(conv, isa, job.positions, team, &mut output),
                Step::Dense(dense) => self.dense(dense, isa, job.positions, team, &mut output),
                Step::Gather(gather) => self.gather(gather, job.positions, &mut output),
                Step::Constant { values, .. } => {
                    output.chunks_exact_mut(values.len()).take(job.positions).for_each(|y| y.copy_from_slice(values));
                }
                Step::Gate(gate) => self.gate(gate, isa, job.positions, &mut output),
                Step::Affine(affine) => self.affine(affine, isa, job.positions, team, &mut output),
                Step::Pool(pool) => self.pool(pool, isa, job.positions, &mut output),
                Step::LayerNorm(norm) => self.layer_norm(norm, isa, job.positions, &mut output),
                Step::RmsNorm(norm) => self.rms_norm(norm, isa, job.positions, team, &mut output),
                Step::Rotate(rotate) => self.rotate(rotate, isa, job.positions, team, &mut output),
                Step::Multiply(multiply) => self.multiply(multiply, isa, job.positions, team, &mut output),
                Step::Attention(attention) => self.attention(attention, isa, job.positions, team, &mut output),
                Step::Scores(scores) => self.scores(scores, isa, job.positions, &mut output),
                Step::Spread { input, output: place } => {
                    for (position, output) in output.chunks_exact_mut(place.len()).enumerate().take(job.positions) {
                        spread(*place, self.value(*input, position), output);
                    }
                }
                Step::Collect { input, output: place } => {
                    for (position, output) in output.chunks_exact_mut(place.len()).enumerate().take(job.positions) {
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

    fn conv(&mut self, conv: &Conv, isa: Isa, positions: usize, team: Option<&Team>, output: &mut [f32]) {
        match &conv.weights {
            ConvWeights::Winograd(weights, bias) => {
                self.winograd(conv, (weights, bias), isa, positions, team, output);
            }
            ConvWeights::Tiles(weights) => self.conv_in_tiles(conv, weights, isa, positions, team, output),
            ConvWeights::Pointwise(weights) => {
                let squares = conv.input.shape.squares;
                self.pointwise(
                    (conv, weights),
                    isa,
                    positions,
                    team,
                    |input, _, blocks| {
                        if isa.takes_boards() && squares == product::CHESS {
                            return Inputs::Boards(input);
                        }
                        product::pack(isa, input, squares, blocks);
                        Inputs::Packed(blocks)
                    },
                    output,
                );
            }
            ConvWeights::Columns(sides, weights) => {
                self.pointwise(
                    (conv, weights),
                    isa,
                    positions,
                    team,
                    |input, scratch, blocks| {
                        let surrounded = &mut scratch[..conv.input.shape.channels * columns::plane(*sides)];
                        columns::surround(*sides, input, surrounded);
                        let rows = blocks.chunks_exact_mut(conv.input.shape.channels * columns::TAPS);
                        each(team, rows.enumerate(), |(number, rows)| {
                            columns::gather(*sides, surrounded, number, rows)
                        });
                        Inputs::Packed(blocks)
                    },
                    output,
                );
            }
            ConvWeights::Direct(weights) => {
                let of_panel = weights.len() / conv.bias.len();
                self.by_panels((conv, TILE), isa, positions, team, output, |number, position, output| {
                    let weights = &weights[number * of_panel..][..of_panel];
                    let input = self.value(conv.input, position);
                    let panel = ConvPanel { board: conv.board, weights, bias: &conv.bias[number], input };
                    kernel::conv(isa, panel, output);
                });
            }
            ConvWeights::PointwiseFours(weights, ends) => {
                self.pointwise_in_fours(conv, (weights, ends), isa, positions, team, output);
            }
            ConvWeights::Fours(weights, ends) => {
                let fours = self.round_to_fours(conv, isa, positions);
                let of_panel = weights.len() / ends.len();
                let tile = fours::TILE_PANELS;
                self.by_panels(
                    (conv, tile * fours::PANEL),
                    isa,
                    positions,
                    team,
                    output,
                    |number, position, output| {
                        let first = number * tile;
                        let ends = &ends[first..ends.len().min(first + tile)];
                        let weights = &weights[first * of_panel..][..ends.len() * of_panel];
                        let (board, step) = (conv.board, self.steps[position]);
                        let input = &self.fours[position * fours..][..fours];
                        fours::conv(isa, fours::ConvPanels { board, weights, ends, step, input }, output);
                    },
                );
            }
        }
        self.squeeze_excite(conv, isa, positions, output);
    }

    /// Finishes some planes of a convolution, from plane `first` on, after their sums.
    fn finish(&self, conv: &Conv, isa: Isa, position: usize, first: usize, output: &mut [f32]) {
        let (residual, activation) = end(conv);
        let residual = residual.map(|r| &self.value(r, position)[first * conv.board.plane..][..output.len()]);
        kernel::finish(isa, Finish { board: conv.board, residual, activation }, output);
    }

    /// Winograd's convolution of all positions, some at a time, in parts of nearly equal size.
    fn winograd(
        &mut self,
        conv: &Conv,
        weights: (&[Block], &[[f32; PANEL]]),
        isa: Isa,
        positions: usize,
        team: Option<&Team>,
        output: &mut [f32],
    ) {
        let (mut points, mut products) = (std::mem::take(&mut self.points), std::mem::take(&mut self.products));
        let together = positions.div_ceil(positions.div_ceil(winograd::together(conv.board)));
        let parts = output[..positions * conv.output.len()].chunks_mut(together * conv.output.len());
        for (number, output) in parts.enumerate() {
            let (start, room) = (number * together, (&mut points[..], &mut products[..]));
            self.winograd_together((conv, weights), isa, start, team, room, output);
        }
        (self.points, self.products) = (points, products);
    }

    /// Winograd's convolution of the positions from `start` on, whose values are `output`.
    fn winograd_together(
        &self,
        (conv, (weights, bias)): (&Conv, (&[Block], &[[f32; PANEL]])),
        isa: Isa,
        start: usize,
        team: Option<&Team>,
        (points, products): (&mut [f32], &mut [Block]),
        output: &mut [f32],
    ) {
        let (board, len) = (conv.board, conv.output.len());
        let (positions, tiles, plane) = (output.len() / len, winograd::tiles(board), board.plane);
        let count = positions * tiles;
        let rows = |position| Rows { count, first: position * tiles };
        let used = &mut points[..positions * conv.points()];
        let (input, distance) = (&self.slots[conv.input.slot][start * conv.input.len()..], conv.input.len());
        let block = |(number, points): (usize, &mut [f32])| {
            let first = number * LANES;
            let channels = LANES.min(conv.input.shape.channels - first);
            let planes = &input[first * plane..];
            winograd::points(isa, board, Channels { planes, channels, positions, distance }, points);
        };
        let of_block = POINTS * count * LANES;
        each(team, used.chunks_exact_mut(of_block).enumerate(), block);
        let (used, of_panel) = (&*used, weights.len() / bias.len());
        let rows_of_panel = POINTS * count;
        // Finishes some panels of a position, from panel `first` on, out of all positions' products.
        let squares = |first: usize, position: usize, products: &[Block], output: &mut [f32]| {
            let (residual, activation) = end(conv);
            let panels = products.chunks_exact(rows_of_panel).zip(output.chunks_mut(PANEL * plane)).zip(first..);
            for ((products, output), number) in panels {
                let first = number * PANEL * plane;
                let residual = residual.map(|place| &self.value(place, start + position)[first..][..output.len()]);
                let end = End { residual, activation };
                winograd::squares(isa, board, products, rows(position), &bias[number], end, output);
            }
        };
        let multiply = |first: usize, products: &mut [Block]| {
            let weights = &weights[first * of_panel..][..products.len() / rows_of_panel * of_panel];
            winograd::multiply(isa, used, weights, count, products);
        };
        let panels = bias.len();
        if let Some(team) = team {
            // The same number of parts for each thread, if there are enough panels.
            let parts = panels.div_ceil(isa.blocks()).next_multiple_of(team.members());
            let part = panels.div_ceil(parts);
            let products = products[..panels * rows_of_panel].chunks_mut(part * rows_of_panel);
            let parts = products.zip(output.chunks_mut(part * PANEL * plane)).enumerate();
            team.each(parts, |(number, (products, output))| {
                multiply(number * part, products);
                squares(number * part, 0, products, output);
            });
        } else {
            for first in (0..panels).step_by(isa.blocks()) {
                let end = panels.min(first + isa.blocks());
                let products = &mut products[..(end - first) * rows_of_panel];
                multiply(first, products);
                let range = first * PANEL * plane..(end * PANEL * plane).min(len);
                for (position, output) in output.chunks_exact_mut(len).enumerate() {
                    squares(first, position, products, &mut output[range.clone()]);
                }
            }
        }
    }

    /// A convolution in tiles, some positions at a time: the inputs that a panel's weights multiply stay in a near
    /// cache for all panels.
    fn conv_in_tiles(
        &mut self,
        conv: &Conv,
        weights: &TileWeights,
        isa: Isa,
        positions: usize,
        team: Option<&Team>,
        output: &mut [f32],
    ) {
        let (mut right, mut scales) = (std::mem::take(&mut self.right), std::mem::take(&mut self.scales));
        let (needed, len) = (conv.operands(), conv.output.len());
        // Parts of nearly equal size, because each part reads all the weights.
        let at_once = positions.div_ceil(positions.div_ceil(at_once(needed)));
        for first in (0..positions).step_by(at_once) {
            let range = first..positions.min(first + at_once);
            let unsplit = if weights.split { 0..0 } else { range.clone() };
            for (position, (right, scale)) in unsplit.zip(right.chunks_exact_mut(needed).zip(&mut scales)) {
                split(conv, weights.layout, isa, self.value(conv.input, position), team, right, scale);
            }
            let output = &mut output[range.start * len..range.end * len];
            self.panels_in_tiles((conv, weights), isa, first, team, (&right, &scales), output);
        }
        (self.right, self.scales) = (right, scales);
    }

    /// Computes all panels of some positions, from position `first` on, from their inputs in tiles.
    fn panels_in_tiles(
        &self,
        (conv, weights): (&Conv, &TileWeights),
        isa: Isa,
        first: usize,
        team: Option<&Team>,
        (right, scales): (&[Operand], &[Scale]),
        output: &mut [f32],
    ) {
        let (needed, len, each) = (conv.operands(), conv.output.len(), conv.output.len() / conv.output.shape.channels);
        let (residual, activation) = end(conv);
        let multiplier = isa.tiles().expect("a plan in tiles is made where there are some");
        let (width, steps) = (tiles::ROWS * each, weights.steps.len());
        each_panel(team, len, width, output, |number, position, output| {
            let ready = multiplier.ready();
            let left = &weights.left[number * steps..][..steps];
            let (units, bias) = (&weights.units[number], &weights.bias[number]);
            let residual = residual.map(|place| &self.value(place, first + position)[number * width..][..output.len()]);
            let right = &right[position * needed..][..needed];
            let mut sums = [const { MaybeUninit::uninit() }; tiles::BLOCKS];
            let sums = ready.multiply(left, &weights.steps, right, &mut sums);
            for (block, (sums, squares)) in sums.iter().zip(&scales[position].unit).enumerate() {
                let ends = tiles::Ends { sums, units, squares, bias, residual, activation };
                match weights.layout {
                    Layout::Flat => tiles::end_side_by_side(isa, ends, block, output),
                    Layout::Board => tiles::end_on_board(isa, ends, block, output),
                }
            }
        });
    }

    /// A convolution as one product, position by position: `side` makes the right side from an input, using scratch
    /// memory and blocks.
    fn pointwise(
        &mut self,
        (conv, weights): (&Conv, &[f32]),
        isa: Isa,
        positions: usize,
        team: Option<&Team>,
        side: impl for<'a> Fn(&'a [f32], &mut [f32], &'a mut [Block]) -> Inputs<'a>,
        output: &mut [f32],
    ) {
        let (mut room, mut scratch) = (std::mem::take(&mut self.room), std::mem::take(&mut self.scratch));
        let (inputs, squares) = (weights.len() / (TILE * conv.bias.len()), conv.input.shape.squares);
        let blocks = &mut room[..squares.div_ceil(COLUMNS) * inputs];
        let (residual, activation) = end(conv);
        for (position, output) in output.chunks_exact_mut(conv.output.len()).enumerate().take(positions) {
            let input = side(self.value(conv.input, position), &mut scratch, blocks);
            let residual = residual.map(|place| self.value(place, position));
            each_part(team, conv.bias.len(), TILE * squares, output, |panels, output| {
                let first = panels.start * TILE;
                let weights = &weights[first * inputs..panels.end * TILE * inputs];
                let bias = &conv.bias[panels];
                let residual = residual.map(|r| &r[first * squares..][..output.len()]);
                product::pointwise(isa, Pointwise { squares, weights, bias, input, residual, activation }, output);
            });
        }
        (self.room, self.scratch) = (room, scratch);
    }

    /// Rounds the inputs of a convolution in eight bits; returns the number of fours of a position.
    fn round_to_fours(&mut self, conv: &Conv, isa: Isa, positions: usize) -> usize {
        let (plane, fours) = (conv.board.plane, conv.fours());
        let mut rounded = std::mem::take(&mut self.fours);
        for (position, rounded) in rounded.chunks_exact_mut(fours).enumerate().take(positions) {
            let mut step = 0.0;
            fours::round(isa, self.value(conv.input, position), plane, conv.room(), rounded, &mut step);
            self.steps[position] = step;
        }
        self.fours = rounded;
        fours
    }

    /// A 1×1 convolution in eight bits, position by position.
    fn pointwise_in_fours(
        &mut self,
        conv: &Conv,
        (weights, ends): (&[Four], &[RowEnds]),
        isa: Isa,
        positions: usize,
        team: Option<&Team>,
        output: &mut [f32],
    ) {
        let fours = self.round_to_fours(conv, isa, positions);
        let (squares, of_panel) = (conv.input.shape.squares, weights.len() / ends.len());
        let (residual, activation) = end(conv);
        for (position, output) in output.chunks_exact_mut(conv.output.len()).enumerate().take(positions) {
            let input = &self.fours[position * fours..][..fours];
            let step = self.steps[position];
            let residual = residual.map(|place| self.value(place, position));
            each_part(team, ends.len(), TILE * squares, output, |panels, output| {
                let first = panels.start * TILE * squares;
                let residual = residual.map(|r| &r[first..][..output.len()]);
                let weights = &weights[panels.start * of_panel..panels.end * of_panel];
                let ends = &ends[panels];
                fours::pointwise(
                    isa,
                    fours::Pointwise { squares, weights, ends, step, input, residual, activation },
                    output,
                );
            });
        }
    }

    /// Runs `sums` for each panel of `width` channels and each position, and then what comes after the sums.
    fn by_panels(
        &self,
        (conv, width): (&Conv, usize),
        isa: Isa,
        positions: usize,
        team: Option<&Team>,
        output: &mut [f32],
        sums: impl Fn(usize, usize, &mut [f32]) + Sync,
    ) {
        let len = conv.output.len();
        let written = &mut output[..positions * len];
        each_panel(team, len, width * conv.board.plane, written, |number, position, output| {
            sums(number, position, output);
            self.finish(conv, isa, position, number * width, output);
        });
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

    fn dense(&mut self, dense: &Dense, isa: Isa, positions: usize, team: Option<&Team>, output: &mut [f32]) {
        match &*dense.weights {
            DenseWeights::Single(weights) => {
                self.dense_in_single((dense, weights, Floats), positions, team, output, |panels, output| {
                    product::dense(isa, panels, output);
                });
            }
            DenseWeights::Linear(weights, linear) => {
                self.dense_in_single((dense, weights, *linear), positions, team, output, |panels, output| {
                    product::dense_linear(isa, panels, output);
                });
            }
            DenseWeights::Tiles(weights) => self.dense_in_tiles(dense, weights, isa, positions, team, output),
            DenseWeights::Fours(weights, ends) => {
                self.dense_in_fours(dense, (weights, ends), isa, positions, team, output);
            }
        }
        let outputs = output.chunks_exact_mut(dense.output.len()).take(positions);
        outputs.for_each(|y| kernel::activate(isa, dense.activation, y));
    }

    /// All positions are computed together, so that each weight is read once.
    fn dense_in_fours(
        &mut self,
        dense: &Dense,
        (weights, ends): (&[fours::Weights], &[fours::Ends]),
        isa: Isa,
        positions: usize,
        team: Option<&Team>,
        output: &mut [f32],
    ) {
        let (inputs, outputs) = dense.part();
        let (fours, rows) = (inputs.div_ceil(4), positions * dense.parts);
        let rounded = self.fours.chunks_exact_mut(fours).zip(&mut self.steps);
        for (input, (rounded, step)) in self.slots[dense.input.slot].chunks_exact(inputs).take(rows).zip(rounded) {
            fours::round_row(isa, input, rounded, step);
        }
        let (input, steps, written) = (&self.fours[..rows * fours], &self.steps[..rows], &mut output[..rows * outputs]);
        if rows == 1 {
            let team = team.filter(|_| inputs * outputs >= WORTH_SHARING);
            each_part(team, ends.len(), fours::PANEL, written, |panels, output| {
                let weights = &weights[panels.start * fours..panels.end * fours];
                fours::dense(isa, fours::DensePanels { weights, ends: &ends[panels], steps, input }, output);
            });
        } else {
            // Without a team all rows are computed together: a panel's weights stay in the nearest cache for them.
            let count = team.map_or(rows, |team| rows_of_member(rows, team));
            let blocks = input.chunks(count * fours).zip(steps.chunks(count)).zip(written.chunks_mut(count * outputs));
            each(team, blocks, |((input, steps), output)| {
                fours::dense(isa, fours::DensePanels { weights, ends, steps, input }, output);
            });
        }
    }

    /// All rows are computed together, so that each weight is read once.
    fn dense_in_tiles(
        &mut self,
        dense: &Dense,
        weights: &DenseTiles,
        isa: Isa,
        positions: usize,
        team: Option<&Team>,
        output: &mut [f32],
    ) {
        let DenseTiles { steps, right, units } = weights;
        let (inputs, outputs) = dense.part();
        let rows = positions * dense.parts;
        let mut scratch = std::mem::take(&mut self.scratch);
        let input = &self.slots[dense.input.slot][..rows * inputs];
        tiles::split_left(isa, input, inputs, &mut self.left, &mut self.units);
        let multiplier = isa.tiles().expect("a plan in tiles is made where there are some");
        // Writes some panels of neurons into rows of `len` numbers, which begin at the first of these neurons.
        let neurons = |panels: Range<usize>, len: usize, output: &mut [f32]| {
            let ready = multiplier.ready();
            for (number, at) in panels.zip((0..).step_by(COLUMNS)) {
                let right = &right[number * steps.len()..][..steps.len()];
                let rows = self.left.chunks_exact(steps.len()).zip(&self.units);
                for ((left, rows), output) in rows.zip(output.chunks_mut(tiles::ROWS * len)) {
                    let mut sums = [MaybeUninit::uninit()];
                    let sums = ready.multiply(left, steps, right, &mut sums);
                    let (neurons, bias) = (&units[number], &dense.bias[number]);
                    tiles::end_in_rows(isa, tiles::RowEnds { sums: &sums[0], rows, neurons, bias }, at, len, output);
                }
            }
        };
        let (output, panels) = (&mut output[..rows * outputs], units.len());
        match team.filter(|_| inputs * outputs >= WORTH_SHARING) {
            None => neurons(0..panels, outputs, output),
            Some(team) => {
                // Panel by panel, so that each thread has a piece of its own; from there the numbers are copied to
                // their rows.
                let of_panel = rows * COLUMNS;
                let made = &mut scratch[..panels * of_panel];
                each_part(Some(team), panels, of_panel, made, |panels, made| {
                    let each = panels.zip(made.chunks_exact_mut(of_panel));
                    each.for_each(|(panel, made)| neurons(panel..panel + 1, COLUMNS, made));
                });
                for (made, first) in made.chunks_exact(of_panel).zip((0..).step_by(COLUMNS)) {
                    for (made, row) in made.chunks_exact(COLUMNS).zip(output.chunks_exact_mut(outputs)) {
                        let row = &mut row[first..outputs.min(first + COLUMNS)];
                        row.copy_from_slice(&made[..row.len()]);
                    }
                }
            }
        }
        self.scratch = scratch;
    }

    /// In single precision, with `make` for some panels and rows; the weights may be stored in fewer bits.
    fn dense_in_single<R: Right + Sync>(
        &mut self,
        (dense, weights, of): (&Dense, &[R::Row], R),
        positions: usize,
        team: Option<&Team>,
        output: &mut [f32],
        make: impl Fn(DensePanels<'_, R>, &mut [f32]) + Sync,
    ) {
        let (inputs, outputs) = dense.part();
        let rows = positions * dense.parts;
        let used = &self.slots[dense.input.slot][..rows * inputs];
        let written = &mut output[..rows * outputs];
        let each_row = used.chunks_exact(inputs).zip(written.chunks_exact_mut(outputs));
        let all = |input: DenseInput<'_>, output: &mut [f32]| {
            make(DensePanels { weights, of, bias: &dense.bias, input }, output);
        };
        // The neurons of one row; `products` says how many products they are.
        let of_row = |input: DenseInput<'_>, products: usize, output: &mut [f32]| match team {
            Some(team) if products >= WORTH_SHARING => {
                let panels = dense.bias.len().div_ceil(PARTS * team.members());
                let parts = weights.chunks(panels * inputs).zip(dense.bias.chunks(panels));
                team.each(parts.zip(output.chunks_mut(panels * COLUMNS)), |((weights, bias), output)| {
                    make(DensePanels { weights, of, bias, input }, output);
                });
            }
            _ => all(input, output),
        };
        let products = weights.len() * COLUMNS;
        match team {
            _ if dense.sparse => each_row.for_each(|(row, output)| {
                let entries = product::sparse(row, &mut self.entries);
                if MOSTLY_ZEROS * entries.len() <= inputs {
                    of_row(DenseInput::Sparse(entries), products / inputs * entries.len(), output);
                } else {
                    of_row(DenseInput::Rows(row), products, output);
                }
            }),
            Some(_) if products >= WORTH_SHARING && dense.parts == 1 => {
                each_row.for_each(|(row, output)| of_row(DenseInput::Rows(row), products, output));
            }
            Some(team) if dense.parts > 1 => {
                let count = rows_of_member(rows, team);
                let blocks = used.chunks(count * inputs).zip(written.chunks_mut(count * outputs));
                team.each(blocks, |(input, output)| all(DenseInput::Rows(input), output));
            }
            _ => all(DenseInput::Rows(used), written),
        }
    }

    fn gather(&self, gather: &Gather, positions: usize, output: &mut [f32]) {
        for (position, output) in output.chunks_exact_mut(gather.output.len()).enumerate().take(positions) {
            let input = self.value(gather.input, position);
            output.iter_mut().zip(&gather.indices).for_each(|(y, &i)| *y = input[i as usize]);
            if let Some(Added { place, indices }) = &gather.residual {
                let added = self.value(*place, position);
                match indices {
                    None => output.iter_mut().zip(added).for_each(|(y, added)| *y += added),
                    Some(indices) => output.iter_mut().zip(indices).for_each(|(y, &i)| *y += added[i as usize]),
                }
            }
        }
    }

    fn gate(&self, gate: &Gate, isa: Isa, positions: usize, output: &mut [f32]) {
        for (position, output) in output.chunks_exact_mut(gate.output.len()).enumerate().take(positions) {
            kernel::gate(isa, self.value(gate.input, position), &gate.scale, &gate.shift, output);
        }
    }

    fn affine(&self, affine: &Affine, isa: Isa, positions: usize, team: Option<&Team>, output: &mut [f32]) {
        let Place { shape, board, .. } = affine.input;
        let board = board.unwrap_or(Board::flat(shape.squares));
        let team = team.filter(|_| affine.output.len() >= WORTH_SHARING_ELEMENTS);
        for (position, output) in output.chunks_exact_mut(affine.output.len()).enumerate().take(positions) {
            let input = self.value(affine.input, position);
            let added = affine.added.map(|added| self.value(added, position));
            each_part(team, shape.channels, board.plane, output, |channels, output| {
                let affine = kernel::Affine {
                    board,
                    added: added.map(|added| &added[channels.clone()]),
                    scale: &affine.scale[channels.clone()],
                    shift: &affine.shift[channels.clone()],
                    input: &input[channels.start * board.plane..channels.end * board.plane],
                    activation: affine.activation,
                };
                kernel::affine(isa, affine, output);
            });
        }
    }

    fn pool(&self, pool: &Pool, isa: Isa, positions: usize, output: &mut [f32]) {
        let Place { shape, board, .. } = pool.input;
        let board = board.unwrap_or(Board::flat(shape.squares));
        for (position, output) in output.chunks_exact_mut(pool.output.len()).enumerate().take(positions) {
            let (means, most) = output.split_at_mut(shape.channels);
            kernel::pool(isa, board, self.value(pool.input, position), means, most);
        }
    }

    fn layer_norm(&mut self, norm: &LayerNorm, isa: Isa, positions: usize, output: &mut [f32]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        for (position, output) in output.chunks_exact_mut(norm.output.len()).enumerate().take(positions) {
            let norm = kernel::LayerNorm {
                board: norm.input.board,
                epsilon: norm.epsilon,
                gammas: &norm.gammas,
                betas: &norm.betas,
                input: self.value(norm.input, position),
            };
            kernel::layer_norm(isa, norm, output, &mut scratch);
        }
        self.scratch = scratch;
    }

    fn rms_norm(&mut self, norm: &RmsNorm, isa: Isa, positions: usize, team: Option<&Team>, output: &mut [f32]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let Shape { channels, squares } = norm.input.shape;
        let team = team.filter(|_| norm.output.len() >= WORTH_SHARING_ELEMENTS);
        let scales = &mut scratch[..squares];
        for (position, output) in output.chunks_exact_mut(norm.output.len()).enumerate().take(positions) {
            let input = self.value(norm.input, position);
            kernel::rms_scales(isa, input, norm.epsilon, norm.whole, scales);
            each_part(team, channels, squares, output, |channels, output| {
                let input = &input[channels.start * squares..channels.end * squares];
                kernel::scale_squares(isa, input, scales, output);
            });
        }
        self.scratch = scratch;
    }

    fn rotate(&self, rotate: &Rotate, isa: Isa, positions: usize, team: Option<&Team>, output: &mut [f32]) {
        let Shape { channels, squares } = rotate.input.shape;
        let team = team.filter(|_| rotate.output.len() >= WORTH_SHARING_ELEMENTS);
        for (position, output) in output.chunks_exact_mut(rotate.output.len()).enumerate().take(positions) {
            let input = self.value(rotate.input, position);
            each_part(team, channels / 2, 2 * squares, output, |pairs, output| {
                let of_pairs = pairs.start * squares..pairs.end * squares;
                let rotate = kernel::Rotate {
                    squares,
                    input: &input[2 * of_pairs.start..2 * of_pairs.end],
                    cosines: &rotate.cosines[of_pairs.clone()],
                    sines: &rotate.sines[of_pairs],
                };
                kernel::rotate(isa, rotate, output);
            });
        }
    }

    fn multiply(&self, multiply: &Multiply, isa: Isa, positions: usize, team: Option<&Team>, output: &mut [f32]) {
        let Shape { channels, squares } = multiply.left.shape;
        let team = team.filter(|_| multiply.output.len() >= WORTH_SHARING_ELEMENTS);
        for (position, output) in output.chunks_exact_mut(multiply.output.len()).enumerate().take(positions) {
            let (left, right) = (self.value(multiply.left, position), self.value(multiply.right, position));
            each_part(team, channels, squares, output, |channels, output| {
                let part = channels.start * squares..channels.end * squares;
                kernel::multiply(isa, &left[part.clone()], &right[part], output);
            });
        }
    }

    fn attention(&mut self, step: &Attention, isa: Isa, positions: usize, team: Option<&Team>, output: &mut [f32]) {
        let mut room = std::mem::take(&mut self.room);
        let (each, needed) = (step.output.len() / step.heads, step.room());
        for (position, output) in output.chunks_exact_mut(step.output.len()).enumerate().take(positions) {
            let head = |number: usize, output: &mut [f32], room: &mut [Block]| {
                let part = |place: Place| {
                    let len = place.len() / step.heads;
                    &self.value(place, position)[number * len..][..len]
                };
                let head = product::Attention {
                    squares: step.query.shape.squares,
                    query: part(step.query),
                    key: part(step.key),
                    value: part(step.value),
                    bias: step.bias.map(part),
                };
                product::attention(isa, head, room, output);
            };
            if let Some(team) = team {
                let heads = output.chunks_exact_mut(each).zip(room.chunks_mut(needed)).enumerate();
                team.each(heads, |(number, (output, room))| head(number, output, room));
            } else {
                let heads = output.chunks_exact_mut(each).enumerate();
                heads.for_each(|(number, output)| head(number, output, &mut room[..needed]));
            }
        }
        self.room = room;
    }

    fn scores(&mut self, step: &Scores, isa: Isa, positions: usize, output: &mut [f32]) {
        let mut room = std::mem::take(&mut self.room);
        for (position, output) in output.chunks_exact_mut(step.output.len()).enumerate().take(positions) {
            let (query, key) = (self.value(step.query, position), self.value(step.key, position));
            let channels = step.query.shape.channels;
            product::scores(isa, product::Scores { channels, query, key }, &mut room, output);
        }
        self.room = room;
    }
}

/// How many rows of a dense layer a member of the team takes at a time; it reads all weights for them.
fn rows_of_member(rows: usize, team: &Team) -> usize {
    rows.div_ceil(team.members()).min(GROUP)
}

/// Runs `make` for parts of the panels and their pieces of `output`, which have `of_panel` numbers for each panel. A
/// team shares the parts; without a team there is one part.
fn each_part(
    team: Option<&Team>,
    panels: usize,
    of_panel: usize,
    output: &mut [f32],
    make: impl Fn(Range<usize>, &mut [f32]) + Sync,
) {
    let Some(team) = team else { return make(0..panels, output) };
    let part = panels.div_ceil(PARTS * team.members());
    let parts = output.chunks_mut(part * of_panel).enumerate();
    team.each(parts, |(number, output)| make(number * part..panels.min((number + 1) * part), output));
}

/// Runs `make` for each panel, `width` of the `len` numbers of a position (fewer for the last panel), and each position
/// of `output`.
fn each_panel(
    team: Option<&Team>,
    len: usize,
    width: usize,
    output: &mut [f32],
    make: impl Fn(usize, usize, &mut [f32]) + Sync,
) {
    if let Some(team) = team {
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

/// Splits the input of a convolution in tiles.
fn split(
    conv: &Conv,
    layout: Layout,
    isa: Isa,
    input: &[f32],
    team: Option<&Team>,
    right: &mut [Operand],
    scale: &mut Scale,
) {
    let plane = match layout {
        Layout::Flat => {
            tiles::scale_rows(isa, input, scale);
            product::CHESS
        }
        Layout::Board => {
            tiles::scale_board(isa, input, scale);
            conv.board.plane
        }
    };
    let (together, each_part) = (layout.together(), layout.operands() / layout.together());
    each(team, right.chunks_exact_mut(together).enumerate(), |(number, operands)| {
        let (part, at) = (number / each_part * tiles::DEPTH * plane, number % each_part);
        let input = &input[part..input.len().min(part + tiles::DEPTH * plane)];
        match layout {
            Layout::Flat => tiles::split_rows(isa, input, at, scale, &mut operands[0]),
            Layout::Board => tiles::split_board(isa, input, at, scale, operands),
        }
    });
}

/// Residual and activation that follow a convolution's sums: none if squeeze and excitation comes first, which then
/// does both.
fn end(conv: &Conv) -> (Option<Place>, Activation) {
    match conv.se {
        None => (conv.residual, conv.activation),
        Some(_) => (None, Activation::None),
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
