//! Hints: corrections of what a network says of a position, by what can be seen without a network.
//!
//! A small network overlooks what hangs and what mates, where a look at exchanges ([`crate::tactics`]) does not. Two
//! networks of one hidden layer say what that look is worth: the first adds to each move's logit, the second to those
//! of win, draw and loss. Both are fitted to one network (`fixtures/train/hints.py`), whose own answer is among their
//! inputs, and are wrong for any other network.
//!
//! KataGo's networks are told of ladders in the same spirit, but before the evaluation and not after it; a network of
//! Lc0's format has no inputs for that. For priors that a look ahead informs, see H. Baier and M. Winands,
//! "MCTS-Minimax Hybrids with State Evaluations", 2018.
//!
//! With hints a small network plays much better at equal nodes: `fixtures/nets/README.md` has the games.

use core::fmt;

use crate::tactics::{OF_MOVE, OF_POSITION, OfMove, OfPosition, of_move};

/// Neurons of the hidden layers.
const HIDDEN: usize = 64;

/// Inputs of both networks about the position: what the network said of it, what is seen of it, and what is seen of all
/// its moves.
const CONTEXT: usize = 4 + OF_POSITION + OF_ALL;

/// See [`of_all`].
const OF_ALL: usize = 11;

/// Inputs about a move: how far it is behind the network's first choice, and what is seen of it; the context follows.
const MOVE_INPUTS: usize = 1 + OF_MOVE + CONTEXT;

/// How a file of hints begins.
pub const MAGIC: [u8; 8] = *b"ONHINTS2";

/// Probabilities of a move, or of a result, that a network gives as less than this count as this.
const LEAST: f32 = 1e-5;

/// The hints for one network.
#[derive(Clone)]
pub struct Hints {
    policy: Layers<MOVE_INPUTS, 1>,
    value: Layers<CONTEXT, 3>,
}

/// Without the weights, which are thousands of numbers.
impl fmt::Debug for Hints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hints").finish_non_exhaustive()
    }
}

/// One hidden layer with a ReLU.
#[derive(Clone)]
struct Layers<const INPUTS: usize, const OUTPUTS: usize> {
    /// By input, so that an input of 0 costs nothing: most inputs are 0.
    weights: [[f32; HIDDEN]; INPUTS],
    bias: [f32; HIDDEN],
    out: [[f32; HIDDEN]; OUTPUTS],
    out_bias: [f32; OUTPUTS],
}

/// Why bytes are not hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HintsError {
    /// They do not begin with [`MAGIC`].
    Magic,
    /// Their length is not [`Hints::BYTES`], but this.
    Length(usize),
    /// The number at this offset of the bytes is not finite.
    NotFinite(usize),
}

impl fmt::Display for HintsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => write!(f, "no hints: expected the bytes 'ONHINTS2' at the beginning"),
            Self::Length(bytes) => write!(f, "hints: expected {} bytes, got {bytes}", Hints::BYTES),
            Self::NotFinite(at) => write!(f, "hints: expected a finite number at byte {at}"),
        }
    }
}

impl core::error::Error for HintsError {}

impl Hints {
    /// The length of a file, in bytes.
    pub const BYTES: usize = MAGIC.len() + 4 * (Layers::<MOVE_INPUTS, 1>::NUMBERS + Layers::<CONTEXT, 3>::NUMBERS);

    /// Reads a file: [`MAGIC`] and numbers of single precision, least byte first: for the policy, then for the value,
    /// `weights[inputs][hidden]`, `bias[hidden]`, `out[outputs][hidden]`, `out_bias[outputs]`.
    ///
    /// # Errors
    ///
    /// If the bytes are not hints.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HintsError> {
        let numbers = bytes.strip_prefix(&MAGIC).ok_or(HintsError::Magic)?;
        if bytes.len() != Self::BYTES {
            return Err(HintsError::Length(bytes.len()));
        }
        let (numbers, _) = numbers.as_chunks::<4>();
        if let Some(at) = numbers.iter().position(|&number| !f32::from_le_bytes(number).is_finite()) {
            return Err(HintsError::NotFinite(MAGIC.len() + 4 * at));
        }
        let mut numbers = numbers.iter().map(|&number| f32::from_le_bytes(number));
        Ok(Self { policy: Layers::read(&mut numbers), value: Layers::read(&mut numbers) })
    }

    /// Corrects what a network said of a position: a logit for each move, and the probabilities of win, draw and loss
    /// of the side to move. `position` and `moves` are what was seen of it ([`crate::tactics::look`]); without moves
    /// nothing is corrected.
    ///
    /// # Panics
    ///
    /// If `moves` and `logits` differ in length.
    pub fn correct(&self, position: &OfPosition, moves: &[OfMove], logits: &mut [f32], wdl: &mut [f32; 3]) {
        assert_eq!(moves.len(), logits.len(), "a logit for each move");
        if moves.is_empty() {
            return;
        }
        let [win, draw, loss] = wdl.map(|probability| libm::logf(probability.max(LEAST)));
        let said = [wdl[0] - wdl[2], wdl[1], win - loss, draw - win.max(loss)];
        let of_all = of_all(moves, logits);
        let more = self.value.end(&self.value.begin(0, [&said, position, &of_all]));
        *wdl = softmax([win + more[0], draw + more[1], loss + more[2]]);
        let best = highest(logits);
        let of_position = self.policy.begin(1 + OF_MOVE, [&said, position, &of_all]);
        for (seen, logit) in moves.iter().zip(logits) {
            let mut hidden = of_position;
            self.policy.add(&mut hidden, 0, &[(*logit - best).max(-12.0) / 4.0]);
            self.policy.add(&mut hidden, 1, seen);
            let [more] = self.policy.end(&hidden);
            *logit += more;
        }
    }
}

/// What is seen of all moves: the best of some numbers, what is expected of others by the network's policy, that
/// policy's entropy in nats, and what its first choice gains.
fn of_all(moves: &[OfMove], logits: &[f32]) -> [f32; OF_ALL] {
    let highest = highest(logits);
    let best = |what: usize| moves.iter().map(|seen| seen[what]).fold(f32::MIN, f32::max);
    let (mut sum, mut entropy, mut expected, mut first) = (0.0, 0.0, [0.0; 4], None);
    for (seen, logit) in moves.iter().zip(logits) {
        let behind = logit - highest;
        let weight = libm::expf(behind);
        sum += weight;
        entropy -= weight * behind;
        let what = [of_move::BALANCE, of_move::CHECK, of_move::THREAT, of_move::GAIN];
        expected.iter_mut().zip(what).for_each(|(expected, what)| *expected += weight * seen[what]);
        if behind == 0.0 {
            first = first.or(Some(seen[of_move::GAIN]));
        }
    }
    let [balance, check, threat, gain] = expected.map(|expected| expected / sum);
    let least_lost = moves.iter().map(|seen| seen[of_move::OTHER_LOST]).fold(f32::MAX, f32::min);
    [
        best(of_move::BALANCE),
        balance,
        best(of_move::MATE),
        check,
        threat,
        best(of_move::THREAT),
        least_lost,
        best(of_move::GAIN),
        gain,
        entropy / sum + libm::logf(sum),
        first.unwrap_or(0.0),
    ]
}

fn highest(logits: &[f32]) -> f32 {
    logits.iter().copied().fold(f32::MIN, f32::max)
}

fn softmax(logits: [f32; 3]) -> [f32; 3] {
    let highest = logits.into_iter().fold(f32::MIN, f32::max);
    let weights = logits.map(|logit| libm::expf(logit - highest));
    let sum: f32 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

impl<const INPUTS: usize, const OUTPUTS: usize> Layers<INPUTS, OUTPUTS> {
    const NUMBERS: usize = (INPUTS + 1 + OUTPUTS) * HIDDEN + OUTPUTS;

    /// Reads the numbers; those that are missing become zeros.
    fn read(numbers: &mut impl Iterator<Item = f32>) -> Self {
        let mut next = || numbers.next().unwrap_or(0.0);
        let mut row = || core::array::from_fn(|_| next());
        let (weights, bias) = (core::array::from_fn(|_| row()), row());
        let out = core::array::from_fn(|_| row());
        Self { weights, bias, out, out_bias: core::array::from_fn(|_| next()) }
    }

    /// The sums of the hidden layer over the inputs from `first` on, which are given in `PARTS` parts.
    fn begin<const PARTS: usize>(&self, first: usize, inputs: [&[f32]; PARTS]) -> [f32; HIDDEN] {
        let (mut hidden, mut at) = (self.bias, first);
        for part in inputs {
            self.add(&mut hidden, at, part);
            at += part.len();
        }
        hidden
    }

    fn add(&self, hidden: &mut [f32; HIDDEN], first: usize, inputs: &[f32]) {
        for (&input, weights) in inputs.iter().zip(&self.weights[first..]) {
            if input != 0.0 {
                for (sum, weight) in hidden.iter_mut().zip(weights) {
                    *sum += input * weight;
                }
            }
        }
    }

    fn end(&self, hidden: &[f32; HIDDEN]) -> [f32; OUTPUTS] {
        core::array::from_fn(|output| {
            let products = self.out[output].iter().zip(hidden).map(|(weight, sum)| weight * sum.max(0.0));
            self.out_bias[output] + products.sum::<f32>()
        })
    }
}
