//! Random graphs, layer by layer, and batches for them.

use super::*;

/// A random graph and a batch for it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) graph: Graph,
    pub(super) input: Vec<f32>,
}

/// A number that is uniform between -1 and 1.
pub(super) fn number(g: &mut Gen) -> f32 {
    u32::arbitrary(g) as f32 / u32::MAX as f32 * 2.0 - 1.0
}

/// `n` numbers of such a size that a sum over `fan_in` of them is of the size of one.
pub(super) fn numbers(g: &mut Gen, n: usize, fan_in: usize) -> Vec<f32> {
    let scale = (3.0 / fan_in.max(1) as f32).sqrt();
    (0..n).map(|_| number(g) * scale).collect()
}

pub(super) fn below(g: &mut Gen, n: usize) -> usize {
    usize::arbitrary(g) % n
}

pub(super) fn squeeze(g: &mut Gen, channels: usize) -> SqueezeExcite {
    let hidden = 1 + below(g, 9);
    SqueezeExcite {
        hidden,
        w1: numbers(g, hidden * channels, channels),
        b1: numbers(g, hidden, 4),
        w2: numbers(g, 2 * channels * hidden, hidden),
        b2: numbers(g, 2 * channels, 4),
    }
}

pub(super) fn conv(g: &mut Gen, graph: &mut Graph, kernels: &[usize]) -> ValueId {
    let boards: Vec<ValueId> = values(graph).filter(|&v| graph.shape(v).squares == graph.input().squares).collect();
    let input = *g.choose(&boards).expect("the input is one");
    let channels = *g.choose(&[1, 2, 5, 6, 7, 13, 34, 50, 100]).expect("some");
    let kernel = *g.choose(kernels).expect("some");
    let shape = Shape { channels, squares: graph.input().squares };
    let equals: Vec<ValueId> = boards.into_iter().filter(|&v| graph.shape(v) == shape).collect();
    let residual = g.choose(&equals).copied().filter(|_| bool::arbitrary(g));
    let activation = *g.choose(&Activation::ELEMENTWISE).expect("some");
    let fan_in = graph.shape(input).channels * kernel * kernel;
    let weights = numbers(g, channels * fan_in, fan_in);
    let bias = numbers(g, channels, 4);
    let se = bool::arbitrary(g).then(|| squeeze(g, channels));
    graph.push(Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation }).expect("it fits")
}

pub(super) fn dense(g: &mut Gen, graph: &mut Graph, channels: usize, activation: Activation) -> ValueId {
    let all: Vec<ValueId> = values(graph).collect();
    let input = *g.choose(&all).expect("the input is one");
    let fan_in = graph.shape(input).len();
    let weights = numbers(g, channels * fan_in, fan_in);
    let bias = numbers(g, channels, 4);
    graph.push(Layer::Dense { input, channels, weights, bias, activation }).expect("it fits")
}

pub(super) fn any(g: &mut Gen, graph: &Graph) -> ValueId {
    ValueId(below(g, graph.layers().len() + 1))
}

/// A value with few squares, because attention makes the square of their number of them.
pub(super) fn narrow(g: &mut Gen, graph: &Graph) -> ValueId {
    let few: Vec<ValueId> = values(graph).filter(|&v| graph.shape(v).squares <= 81).collect();
    *g.choose(&few).expect("the input is one")
}

pub(super) fn gather(g: &mut Gen, graph: &mut Graph) -> ValueId {
    let input = any(g, graph);
    let each = graph.shape(input).len();
    // Half of the layers make a board, for a convolution to read.
    let squares = if bool::arbitrary(g) { graph.input().squares } else { 1 };
    let channels = *g.choose(&[1, 2, 7, 50]).expect("some");
    let indices = (0..channels * squares).map(|_| below(g, each) as u32).collect();
    let shape = Shape { channels, squares };
    let equals: Vec<ValueId> = values(graph).filter(|&v| graph.shape(v) == shape).collect();
    let residual = g.choose(&equals).copied().filter(|_| bool::arbitrary(g));
    graph.push(Layer::Gather { input, indices, squares, residual }).expect("it fits")
}

/// A constant, a gate, a norm, a rotation, a product or an affine layer.
pub(super) fn elementwise(g: &mut Gen, graph: &mut Graph) -> ValueId {
    let input = any(g, graph);
    let shape = graph.shape(input);
    let alike: Vec<ValueId> = values(graph).filter(|&v| graph.shape(v) == shape).collect();
    let layer = match below(g, 8) {
        3 | 4 => {
            let activation = *g.choose(&Activation::ELEMENTWISE).expect("some");
            let added = bool::arbitrary(g).then(|| dense(g, graph, shape.channels, Activation::None));
            return affine(g, graph, input, added, activation);
        }
        0 => Layer::Constant { shape, values: numbers(g, shape.len(), 4) },
        1 => Layer::Gate { input, scale: numbers(g, shape.len(), 4), shift: numbers(g, shape.len(), 4) },
        5 => Layer::RmsNorm { input, epsilon: 0.1, whole: bool::arbitrary(g) },
        6 if shape.channels.is_multiple_of(2) => Layer::Rotate { input, angles: numbers(g, shape.len() / 2, 4) },
        6 | 7 => Layer::Multiply { left: input, right: *g.choose(&alike).expect("the value itself") },
        _ => Layer::LayerNorm {
            input,
            // Larger than Lc0's: where channels are nearly equal, a norm magnifies their rounding.
            epsilon: *g.choose(&[0.1, 0.5]).expect("some"),
            gammas: numbers(g, shape.channels, 4),
            betas: numbers(g, shape.channels, 4),
        },
    };
    graph.push(layer).expect("it fits")
}

pub(super) fn affine(
    g: &mut Gen,
    graph: &mut Graph,
    input: ValueId,
    added: Option<ValueId>,
    activation: Activation,
) -> ValueId {
    let channels = graph.shape(input).channels;
    let (scale, shift) = (numbers(g, channels, 4), numbers(g, channels, 4));
    graph.push(Layer::Affine { input, added, scale, shift, activation }).expect("it fits")
}

pub(super) fn pool(g: &mut Gen, graph: &mut Graph) -> ValueId {
    let input = any(g, graph);
    graph.push(Layer::Pool { input }).expect("it fits")
}

/// Attention between any values, with a smolgen for its bias or without.
pub(super) fn attention(g: &mut Gen, graph: &mut Graph) -> ValueId {
    let query = narrow(g, graph);
    let shape = graph.shape(query);
    let alike = |v: &ValueId| graph.shape(*v) == shape;
    let keys: Vec<ValueId> = values(graph).filter(alike).collect();
    let on_board = |v: &ValueId| graph.shape(*v).squares == shape.squares;
    let boards: Vec<ValueId> = values(graph).filter(on_board).collect();
    let (key, value) = (*g.choose(&keys).expect("the query"), *g.choose(&boards).expect("the query"));
    let divides = |h: &usize| shape.channels.is_multiple_of(*h) && graph.shape(value).channels.is_multiple_of(*h);
    let heads = *g.choose(&(1..=8).filter(divides).collect::<Vec<_>>()).expect("one head");
    let bias = bool::arbitrary(g).then(|| {
        let each = 1 + below(g, 5);
        let input = dense(g, graph, heads * each, Activation::Swish);
        let weights = numbers(g, shape.squares * shape.squares * each, each).into();
        graph.push(Layer::Smolgen { input, heads, weights }).expect("it fits")
    });
    graph.push(Layer::Attention { query, key, value, heads, bias }).expect("it fits")
}

pub(super) fn scores(g: &mut Gen, graph: &mut Graph) -> ValueId {
    let query = narrow(g, graph);
    let channels = graph.shape(query).channels;
    let keys: Vec<ValueId> = values(graph).filter(|&v| graph.shape(v).channels == channels).collect();
    let key = *g.choose(&keys).expect("the query");
    graph.push(Layer::Scores { query, key }).expect("it fits")
}

pub(super) fn values(graph: &Graph) -> impl Iterator<Item = ValueId> + use<> {
    (0..=graph.layers().len()).map(ValueId)
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        // Chess half of the time; other square boards, Go, a single square, boards that are longer than wide or wider
        // than long, and 12 squares, which are no board at all.
        let squares = [64, 64, 64, 64, 64, 64, 64, 1, 4, 49, 81, 12, 8].map(|squares| (squares, None));
        let sides = [(3, 5), (9, 5), (7, 8), (5, 13)].map(|(ranks, files)| (ranks * files, Some((ranks, files))));
        let (squares, sides) = *g.choose(&[&squares[..], &sides].concat()).expect("some");
        let kernels: &[usize] = if squares == 12 || squares == 8 { &[1] } else { &[1, 3, 3, 3, 3, 5] };
        let channels = *g.choose(&[1, 3, 33, 40, 64, 70]).expect("some");
        let mut graph = Graph::new(Shape { channels, squares });
        if let Some((ranks, files)) = sides {
            graph = graph.on_board(ranks, files);
        }
        for _ in 0..1 + below(g, 6) {
            match below(g, 11) {
                0 => {
                    let activation = *g.choose(&Activation::ELEMENTWISE).expect("some");
                    let channels = *g.choose(&[1, 15, 16, 17, 70]).expect("some");
                    dense(g, &mut graph, channels, activation);
                }
                1 => drop(gather(g, &mut graph)),
                2 | 3 => drop(elementwise(g, &mut graph)),
                4 => drop(attention(g, &mut graph)),
                5 => drop(scores(g, &mut graph)),
                6 => drop(pool(g, &mut graph)),
                _ => drop(conv(g, &mut graph, kernels)),
            }
        }
        let last = ValueId(graph.layers().len());
        let wdl = dense(g, &mut graph, 3, Activation::Softmax);
        let plies = dense(g, &mut graph, 1, Activation::Relu);
        graph.output(Role::Policy, last).expect("any length");
        graph.output(Role::Wdl, wdl).expect("three");
        if bool::arbitrary(g) {
            graph.output(Role::MovesLeft, plies).expect("one");
        }
        if bool::arbitrary(g) {
            let any = any(g, &graph);
            graph.output(Role::Ownership, any).expect("any length");
        }
        // Only the first layer may be in eight bits: further on, a number near the middle between two whole ones may be
        // rounded up in one form and down in another.
        if bool::arbitrary(g) && graph.can_be_int8(0) {
            graph.set_int8(0, true).expect("it can be");
        }
        let batch = 1 + below(g, 20);
        let input = (0..batch * graph.input().len()).map(|_| number(g)).collect();
        Self { graph, input }
    }
}

/// Pushes a convolution without a squeeze.
pub(super) fn filter(
    g: &mut Gen,
    graph: &mut Graph,
    (input, residual): (ValueId, Option<ValueId>),
    (channels, kernel): (usize, usize),
    activation: Activation,
) -> ValueId {
    let fan_in = graph.shape(input).channels * kernel * kernel;
    let (weights, bias) = (numbers(g, channels * fan_in, fan_in), numbers(g, channels, 4));
    graph.push(Layer::Conv { input, channels, kernel, weights, bias, se: None, residual, activation }).expect("it fits")
}
