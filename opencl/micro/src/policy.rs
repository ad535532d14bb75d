//! Policies: what is computed once for a position, and the logit of a move from that.

use crate::board::{Board, around, convolve, inputs, rectify, squeeze};
use crate::pack::{Attention, Layer, Policy, SQUARES};
use crate::sums::{Inputs, Window, to_whole};

/// λ and α of SELU. Klambauer et al. 2017, arXiv:1706.02515.
const SELU: (f32, f32) = (1.050_701, 1.673_263_2);

/// What is computed of a policy before a move is asked for.
pub(crate) enum Logits<'a> {
    /// What the last convolution reads.
    Convolution { last: Layer<'a>, inputs: Inputs<'a>, filters: usize },
    /// The queries of the squares from which moves start, and the keys of the squares on which they end.
    Attention { queries: &'a [f32], keys: Inputs<'a>, pieces: Layer<'a> },
}

impl Logits<'_> {
    /// The logit at a place, see [`Policy`]. NaN for a plane or a piece that does not exist.
    pub fn at(&self, place: usize) -> f32 {
        match self {
            Self::Convolution { last, inputs, filters } => {
                last.output(inputs, around(place % SQUARES, *filters), place / SQUARES)
            }
            Self::Attention { queries, keys, pieces } => {
                let depth = queries.len() / SQUARES;
                let (to, from) = (place % SQUARES, place / SQUARES % SQUARES);
                let [query, key] = [&queries[from * depth..][..depth], &keys.single[to * depth..][..depth]];
                let product: f32 = query.iter().zip(key).map(|(q, k)| q * k).sum();
                let window = Window { at: to * depth, ..Window::all(depth) };
                product / libm::sqrtf(depth as f32) + pieces.output(keys, window, place / (SQUARES * SQUARES))
            }
        }
    }
}

impl<'a> Policy<'a> {
    /// Computes the policy from the tower's value `x`, which is overwritten.
    pub fn run<'r, const FILTERS: usize>(
        &self,
        x: &'r mut Board<f32, FILTERS>,
        y: &'r mut Board<f32, FILTERS>,
        whole: &'r mut Board<i8, FILTERS>,
    ) -> Logits<'r>
    where
        'a: 'r,
    {
        match self {
            Self::Convolution([first, last]) => {
                convolve(first, x, whole, y);
                rectify(y);
                let inputs = inputs(last, y.as_flattened(), whole.as_flattened_mut());
                Logits::Convolution { last: *last, inputs, filters: FILTERS }
            }
            Self::Attention(layers) => attend(layers, x, y, whole.as_flattened_mut()),
        }
    }
}

/// Writes the queries into `x` and the keys into `y`.
fn attend<'r, const FILTERS: usize>(
    layers: &Attention<'r>,
    x: &'r mut Board<f32, FILTERS>,
    y: &'r mut Board<f32, FILTERS>,
    whole: &'r mut [i8],
) -> Logits<'r> {
    let Attention { embedding, query, key, pieces } = layers;
    let (width, depth) = (embedding.outputs(), query.outputs());
    let y = y.as_flattened_mut();
    squeeze(embedding, x, whole, selu, &mut y[..SQUARES * width]);
    let x = &mut x.as_flattened_mut()[..SQUARES * depth];
    let step = match query.is_whole() || key.is_whole() {
        true => to_whole(&y[..SQUARES * width], &mut whole[..SQUARES * width]),
        false => 0.0,
    };
    for (square, queries) in x.chunks_exact_mut(depth).enumerate() {
        let read = square * width..(square + 1) * width;
        let inputs = Inputs { single: &y[read.clone()], whole: &whole[read], step };
        query.run(&inputs, Window::all(width), |channel, sum| queries[channel] = sum);
        // A square's key goes where its embedding was, or an earlier one, which is not needed any more: keys are not
        // wider.
        let mut keys = [0.0; FILTERS];
        key.run(&inputs, Window::all(width), |channel, sum| keys[channel] = sum);
        y[square * depth..][..depth].copy_from_slice(&keys[..depth]);
    }
    let keys = inputs(pieces, &y[..SQUARES * depth], whole);
    Logits::Attention { queries: x, keys, pieces: *pieces }
}

fn selu(x: f32) -> f32 {
    let (lambda, alpha) = SELU;
    if x > 0.0 { lambda * x } else { lambda * alpha * libm::expm1f(x) }
}
