//! Networks that magnify rounding, whose outputs may differ by more than others'.

use super::*;

/// How numbers are changed, as rounding might change them: by a small part of themselves, up or down as the salt says
/// for each.
#[derive(Clone, Copy)]
pub(super) struct Shake {
    by: f32,
    salt: u64,
}

impl Shake {
    /// How much a sum of `terms` terms is changed. Each addition rounds the sum so far; the first part, 6, is for
    /// operations other than additions, such as exponentials. Among a thousand networks the host's worst number was off
    /// by at most 0.8 times what a change by this much makes of it, and mostly by less than a third.
    fn of_sum(self, terms: usize) -> Self {
        Self { by: self.by * (6.0 + 0.75 * (terms as f32).sqrt()), ..self }
    }

    fn numbers(self, numbers: &[f32]) -> Vec<f32> {
        // Going up and down in turn would cancel where two layers are alike.
        let is_up = |at: usize| {
            let mixed = (at as u64 ^ self.salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0
        };
        let moved = |(at, x): (usize, &f32)| if is_up(at) { x * (1.0 + self.by) } else { x * (1.0 - self.by) };
        numbers.iter().enumerate().map(moved).collect()
    }
}

/// The number of terms of the longest sum that makes a number of the layer's output.
pub(super) fn terms(graph: &Graph, layer: &Layer) -> usize {
    match layer {
        Layer::Conv { input, kernel, .. } => graph.shape(*input).channels * kernel * kernel,
        Layer::Dense { input, .. } => graph.shape(*input).len(),
        Layer::Smolgen { input, heads, .. } => graph.shape(*input).len() / heads,
        Layer::Scores { query, .. } => graph.shape(*query).channels,
        Layer::Attention { query, heads, .. } => {
            let shape = graph.shape(*query);
            shape.squares.max(shape.channels / heads)
        }
        Layer::RmsNorm { input, whole: true, .. } => graph.shape(*input).len(),
        Layer::LayerNorm { input, .. } | Layer::RmsNorm { input, .. } => graph.shape(*input).channels,
        Layer::Pool { input } => graph.shape(*input).squares,
        Layer::Rotate { .. } | Layer::Multiply { .. } => 2,
        Layer::Gather { .. } | Layer::Constant { .. } | Layer::Gate { .. } | Layer::Affine { .. } => 1,
    }
}

/// The graph with its weights shaken: what comes of sums in another order is what such weights would have given.
pub(super) fn shaken_graph(graph: &Graph, shake: Shake) -> Graph {
    let mut other = Graph::new(graph.input());
    let board = graph.layers().iter().find_map(|layer| match layer {
        Layer::Conv { input, kernel, .. } if *kernel > 1 => graph.sides(graph.shape(*input).squares),
        _ => None,
    });
    if let Some((ranks, files)) = board {
        other = other.on_board(ranks, files);
    }
    for layer in graph.layers() {
        let of_sum = shake.of_sum(terms(graph, layer));
        // Winograd's sums have larger numbers in them.
        let of_three = Shake { by: 2.0 * of_sum.by, ..of_sum };
        let mut layer = layer.clone();
        match &mut layer {
            Layer::Conv { kernel, weights, se, .. } => {
                *weights = if *kernel == 3 { of_three.numbers(weights) } else { of_sum.numbers(weights) };
                if let Some(se) = se {
                    se.w1 = shake.of_sum(se.w1.len() / se.hidden).numbers(&se.w1);
                    se.w2 = shake.of_sum(se.hidden).numbers(&se.w2);
                }
            }
            Layer::Dense { weights, .. } => *weights = of_sum.numbers(weights),
            Layer::Smolgen { weights, .. } => *weights = of_sum.numbers(weights).into(),
            _ => {}
        }
        other.push(layer).expect("it fitted");
    }
    graph.outputs().iter().for_each(|output| other.output(output.role, output.value).expect("it fitted"));
    other
}

/// The outputs of a network whose weights and values are shaken.
pub(super) fn shaken(case: &Case, shake: Shake) -> Outputs {
    let graph = shaken_graph(&case.graph, shake);
    let of_values = Shake { salt: !shake.salt, ..shake };
    let moved = |layer: &Layer, made: Vec<f32>| of_values.of_sum(terms(&graph, layer)).numbers(&made);
    let mut outputs = Outputs::default();
    for position in shake.of_sum(1).numbers(&case.input).chunks_exact(graph.input().len()) {
        let values = plain::values_with(&graph, position, moved).expect("an evaluation");
        for output in graph.outputs() {
            outputs.head_mut(output.role).extend_from_slice(&values[output.value.0]);
        }
    }
    outputs
}

/// Each salt changes the numbers in other directions: with a single one, the changes may cancel by chance.
pub(super) const SALTS: [u64; 4] =
    [0x2545_f491_4f6c_dd1d, 0x9e6c_63d0_876a_68ee, 0xd1b5_4a32_d192_ed03, 0xbf58_476d_1ce4_e5b9];

/// Whether the network makes so much of the last bits of its numbers that two orders of addition need not agree: a
/// softmax over large scores does if it comes after a square, and so does a sum whose terms cancel each other.
pub(super) fn magnifies_rounding(case: &Case) -> bool {
    // Computed without eight bits: in those an input near the middle between two whole numbers would jump.
    let still = shaken(case, Shake { by: 0.0, salt: 0 });
    let differs = |salt| difference(&still, &shaken(case, Shake { by: f32::EPSILON / 2.0, salt })).is_some();
    SALTS.into_iter().any(differs)
}
