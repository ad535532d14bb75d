//! A position through the network.

use crate::pack::{Block, Head, Layer, MOST_HIDDEN, Network, PackError, SQUARES, SqueezeExcite, TAPS};
use crate::sums::{Inputs, Window, to_whole};

/// Squares of a row of a board with a border.
const ROW: usize = 10;

/// Squares with the border, which is zero: a 3×3 convolution reads it.
const CELLS: usize = ROW * ROW;

/// Numbers of each square, channel by channel.
type Board<T, const FILTERS: usize> = [[T; FILTERS]; CELLS];

/// What a network of so many filters works in: three boards, 900 bytes a filter.
pub struct Room<const FILTERS: usize> {
    /// The tower's value.
    x: Board<f32, FILTERS>,
    /// What becomes of it in a block or a head.
    y: Board<f32, FILTERS>,
    /// What a layer in eight bits reads.
    whole: Board<i8, FILTERS>,
}

impl<const FILTERS: usize> Room<FILTERS> {
    /// Room that was not used yet; a `static` can hold it.
    pub const fn new() -> Self {
        Self { x: [[0.0; FILTERS]; CELLS], y: [[0.0; FILTERS]; CELLS], whole: [[0; FILTERS]; CELLS] }
    }
}

impl<const FILTERS: usize> Default for Room<FILTERS> {
    fn default() -> Self {
        Self::new()
    }
}

/// What the network says of a position.
pub struct Evaluation<'a> {
    /// Probabilities of win, draw and loss of the side to move.
    pub wdl: [f32; 3],
    /// Plies until the end of the game, at least 0.
    pub moves_left: f32,
    policy: Layer<'a>,
    inputs: Inputs<'a>,
    filters: usize,
}

impl Evaluation<'_> {
    /// The logit of the move in this plane of a convolutional policy from this square (a1 = 0, h8 = 63, as the mover sees them).
    /// NaN for a plane or a square that there is not.
    pub fn logit(&self, plane: u8, from: u8) -> f32 {
        match usize::from(from) {
            square @ ..SQUARES => self.policy.output(&self.inputs, around(square, self.filters), plane.into()),
            _ => f32::NAN,
        }
    }
}

impl<'a> Network<'a> {
    /// Runs the network on a position. `planes` says of an input plane on which squares (a1 = bit 0) it has a value, and which;
    /// it is 0 on the others.
    ///
    /// # Errors
    /// If the room is for another number of filters.
    pub fn evaluate<'r, const FILTERS: usize>(
        &self,
        planes: impl Fn(usize) -> (u64, f32),
        room: &'r mut Room<FILTERS>,
    ) -> Result<Evaluation<'r>, PackError>
    where
        'a: 'r,
    {
        if FILTERS != self.filters {
            return Err(PackError::Room { expected: self.filters, got: FILTERS });
        }
        let Room { x, y, whole } = room;
        self.read_planes(planes, x);
        for block in self.tower() {
            run_block(&block, x, y, whole);
        }
        let [win, draw, loss] = run_head(&self.value, x, y, whole);
        let [moves_left] = run_head(&self.moves_left, x, y, whole);
        let [first, policy] = self.policy;
        convolve(&first, x, whole, y);
        rectify(y);
        let inputs = inputs(&policy, y.as_flattened(), whole.as_flattened_mut());
        Ok(Evaluation {
            wdl: softmax([win, draw, loss]),
            moves_left: relu(moves_left),
            policy,
            inputs,
            filters: FILTERS,
        })
    }

    /// The input convolution. Most planes have few squares: it goes from what is there to what that adds to.
    fn read_planes<const FILTERS: usize>(
        &self,
        planes: impl Fn(usize) -> (u64, f32),
        output: &mut Board<f32, FILTERS>,
    ) {
        for cell in output.iter_mut() {
            cell.iter_mut().zip(self.input_bias.iter()).for_each(|(y, bias)| *y = bias);
        }
        for (&plane, weights) in self.planes.iter().zip(self.input.rows(TAPS * FILTERS)) {
            let (mut squares, value) = planes(plane.into());
            while squares != 0 {
                let cell = cell_of(squares.trailing_zeros() as usize);
                squares &= squares - 1;
                for (tap, weights) in weights.rows(FILTERS).enumerate() {
                    // The output that sees this cell at this tap lies the other way.
                    let seen_from = cell + ROW + 1 - (tap / 3 * ROW + tap % 3);
                    output[seen_from].iter_mut().zip(weights.iter()).for_each(|(y, w)| *y += w * value);
                }
            }
        }
        rectify(output);
        clear_border(output);
    }
}

/// `x` becomes `relu(se(second(relu(first(x)))) + x)`.
fn run_block<const FILTERS: usize>(
    block: &Block<'_>,
    x: &mut Board<f32, FILTERS>,
    y: &mut Board<f32, FILTERS>,
    whole: &mut Board<i8, FILTERS>,
) {
    convolve(&block.first, x, whole, y);
    rectify(y);
    let step = to_whole(y.as_flattened(), whole.as_flattened_mut());
    convolve_whole(&block.second, whole, step, y);
    let [scale, shift] = excite(&block.se, y);
    for cell in cells() {
        for (((x, y), scale), shift) in x[cell].iter_mut().zip(&y[cell]).zip(&scale).zip(&shift) {
            *x = relu(scale * y + shift + *x);
        }
    }
}

/// A 3×3 convolution of the tower: in whole numbers, bias included.
fn convolve<const FILTERS: usize>(
    layer: &Layer<'_>,
    input: &Board<f32, FILTERS>,
    whole: &mut Board<i8, FILTERS>,
    output: &mut Board<f32, FILTERS>,
) {
    let step = to_whole(input.as_flattened(), whole.as_flattened_mut());
    convolve_whole(layer, whole, step, output);
}

fn convolve_whole<const FILTERS: usize>(
    layer: &Layer<'_>,
    input: &Board<i8, FILTERS>,
    step: f32,
    output: &mut Board<f32, FILTERS>,
) {
    clear_border(output);
    let inputs = Inputs { single: &[], whole: input.as_flattened(), step };
    for square in 0..SQUARES {
        let cell = &mut output[cell_of(square)];
        layer.run(&inputs, around(square, FILTERS), |filter, y| cell[filter] = y);
    }
}

/// The factor and the summand of each filter.
fn excite<const FILTERS: usize>(se: &SqueezeExcite<'_>, y: &Board<f32, FILTERS>) -> [[f32; FILTERS]; 2] {
    let mut pooled = [0.0; FILTERS];
    for cell in cells() {
        pooled.iter_mut().zip(&y[cell]).for_each(|(sum, y)| *sum += y);
    }
    pooled.iter_mut().for_each(|sum| *sum /= SQUARES as f32);
    let mut hidden = [0.0; MOST_HIDDEN];
    let neurons = se.b1.0.len();
    for ((h, weights), bias) in hidden.iter_mut().zip(se.w1.rows(FILTERS)).zip(se.b1.iter()) {
        *h = relu(weights.iter().zip(&pooled).fold(bias, |sum, (w, p)| sum + w * p));
    }
    let mut excited = [[0.0; FILTERS]; 2];
    for ((e, weights), bias) in excited.as_flattened_mut().iter_mut().zip(se.w2.rows(neurons)).zip(se.b2.iter()) {
        *e = weights.iter().zip(&hidden).fold(bias, |sum, (w, h)| sum + w * h);
    }
    excited[0].iter_mut().for_each(|gamma| *gamma = 1.0 / (1.0 + libm::expf(-*gamma)));
    excited
}

/// A head's last sums. `y` is where its channels go, all those of a square together, without a border.
fn run_head<const FILTERS: usize, const OUTPUTS: usize>(
    head: &Head<'_>,
    x: &Board<f32, FILTERS>,
    y: &mut Board<f32, FILTERS>,
    whole: &mut Board<i8, FILTERS>,
) -> [f32; OUTPUTS] {
    let y = &mut y.as_flattened_mut()[..SQUARES * head.channels];
    let whole = whole.as_flattened_mut();
    let read = inputs(&head.squeeze, x.as_flattened(), whole);
    for (square, channels) in y.chunks_exact_mut(head.channels).enumerate() {
        let window = Window { at: cell_of(square) * FILTERS, ..Window::all(FILTERS) };
        head.squeeze.run(&read, window, |channel, value| channels[channel] = relu(value));
    }
    let mut hidden = [0.0; MOST_HIDDEN];
    let hidden = &mut hidden[..head.hidden];
    head.dense.run(&inputs(&head.dense, y, whole), Window::all(y.len()), |neuron, value| hidden[neuron] = relu(value));
    let mut outputs = [0.0; OUTPUTS];
    let last = inputs(&head.last, hidden, whole);
    head.last.run(&last, Window::all(hidden.len()), |output, value| outputs[output] = value);
    outputs
}

/// Numbers as a layer reads them.
fn inputs<'a>(layer: &Layer<'_>, single: &'a [f32], whole: &'a mut [i8]) -> Inputs<'a> {
    let whole = &mut whole[..single.len()];
    let step = if layer.is_whole() { to_whole(single, whole) } else { 0.0 };
    Inputs { single, whole, step }
}

/// What a 3×3 convolution reads for its output on a square.
fn around(square: usize, filters: usize) -> Window {
    let corner = cell_of(square) - ROW - 1;
    Window { at: corner * filters, rows: 3, len: 3 * filters, stride: ROW * filters }
}

/// Where a square of the board lies within the border.
fn cell_of(square: usize) -> usize {
    (square / 8 + 1) * ROW + square % 8 + 1
}

/// The cells of all squares.
fn cells() -> impl Iterator<Item = usize> {
    (0..SQUARES).map(cell_of)
}

fn clear_border<const FILTERS: usize>(board: &mut Board<f32, FILTERS>) {
    for (at, cell) in board.iter_mut().enumerate() {
        if [at % ROW, at / ROW].iter().any(|place| [0, ROW - 1].contains(place)) {
            *cell = [0.0; FILTERS];
        }
    }
}

fn rectify<const FILTERS: usize>(board: &mut Board<f32, FILTERS>) {
    board.as_flattened_mut().iter_mut().for_each(|x| *x = relu(*x));
}

fn relu(x: f32) -> f32 {
    // Not `max`: that is a call where the processor has no instruction for it.
    if x > 0.0 { x } else { 0.0 }
}

fn softmax(logits: [f32; 3]) -> [f32; 3] {
    let most = logits.iter().fold(f32::NEG_INFINITY, |most, x| most.max(*x));
    let powers = logits.map(|x| libm::expf(x - most));
    let sum: f32 = powers.iter().sum();
    powers.map(|power| power / sum)
}
