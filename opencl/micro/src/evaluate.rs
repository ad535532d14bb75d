//! Runs a position through the network.

use crate::board::{
    Board, CELLS, ROW, cell_of, cells, clear_border, convolve, convolve_whole, inputs, rectify, relu, squeeze,
};
use crate::pack::{Block, Head, MOST_HIDDEN, Network, PackError, SQUARES, SqueezeExcite, TAPS};
use crate::policy::Logits;
use crate::sums::{Window, to_whole};
use core::fmt;

/// The working memory of a network with `FILTERS` filters: three boards, 900 bytes for each filter.
pub struct Room<const FILTERS: usize> {
    /// The tower's value.
    x: Board<f32, FILTERS>,
    /// The value that a block or a head makes of it.
    y: Board<f32, FILTERS>,
    /// What a layer in eight bits reads.
    whole: Board<i8, FILTERS>,
}

impl<const FILTERS: usize> Room<FILTERS> {
    /// A room that has not been used yet; a `static` can hold it.
    pub const fn new() -> Self {
        Self { x: [[0.0; FILTERS]; CELLS], y: [[0.0; FILTERS]; CELLS], whole: [[0; FILTERS]; CELLS] }
    }
}

impl<const FILTERS: usize> Default for Room<FILTERS> {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows the size of the room. Its content means nothing between evaluations.
impl<const FILTERS: usize> fmt::Debug for Room<FILTERS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").field("filters", &FILTERS).finish_non_exhaustive()
    }
}

/// What the network says of a position.
pub struct Evaluation<'a> {
    /// Probabilities of win, draw and loss of the side to move.
    pub wdl: [f32; 3],
    /// Plies until the end of the game, at least 0.
    pub moves_left: f32,
    logits: Logits<'a>,
    places: &'a [[u8; 2]],
}

/// Without the logits, which are computed one at a time.
impl fmt::Debug for Evaluation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Evaluation");
        shown.field("wdl", &self.wdl).field("moves_left", &self.moves_left).finish_non_exhaustive()
    }
}

impl Evaluation<'_> {
    /// The logit of a move, given by its index in Lc0's policy. NaN for an index that does not exist.
    pub fn logit(&self, index: u16) -> f32 {
        match self.places.get(usize::from(index)) {
            Some(place) => self.logits.at(u16::from_le_bytes(*place).into()),
            None => f32::NAN,
        }
    }
}

impl<'a> Network<'a> {
    /// Runs the network on a position. `planes` gives, for an input plane, the squares (a1 = bit 0) on which it has a
    /// value, and that value; on the others it is 0.
    ///
    /// # Errors
    /// If the room is for another number of filters than the network has.
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
        Ok(Evaluation {
            wdl: softmax([win, draw, loss]),
            moves_left: relu(moves_left),
            logits: self.policy.run(x, y, whole),
            places: self.places,
        })
    }

    /// The input convolution. Most planes have few squares: so it goes through these, and adds to the outputs that they
    /// affect.
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
                    // The output that sees this cell at this tap is on the opposite side of it.
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

/// The scale and the shift of each filter.
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

/// The outputs of a head. Its channels go into `y`: those of a square next to each other, without a border.
fn run_head<const FILTERS: usize, const OUTPUTS: usize>(
    head: &Head<'_>,
    x: &Board<f32, FILTERS>,
    y: &mut Board<f32, FILTERS>,
    whole: &mut Board<i8, FILTERS>,
) -> [f32; OUTPUTS] {
    let y = &mut y.as_flattened_mut()[..SQUARES * head.channels];
    let whole = whole.as_flattened_mut();
    squeeze(&head.squeeze, x, whole, relu, y);
    let mut hidden = [0.0; MOST_HIDDEN];
    let hidden = &mut hidden[..head.hidden];
    head.dense.run(&inputs(&head.dense, y, whole), Window::all(y.len()), |neuron, value| hidden[neuron] = relu(value));
    let mut outputs = [0.0; OUTPUTS];
    let last = inputs(&head.last, hidden, whole);
    head.last.run(&last, Window::all(hidden.len()), |output, value| outputs[output] = value);
    outputs
}

fn softmax(logits: [f32; 3]) -> [f32; 3] {
    let most = logits.iter().fold(f32::NEG_INFINITY, |most, x| most.max(*x));
    let powers = logits.map(|x| libm::expf(x - most));
    let sum: f32 = powers.iter().sum();
    powers.map(|power| power / sum)
}
