//! Compares the fast forms with the plain one, over random graphs, boards and batches.

use super::isa::Isa;
use super::*;
use crate::graph::{Activation, INPUT, Layer, Role, Shape, SqueezeExcite, ValueId};
use quickcheck::{Arbitrary, Gen, QuickCheck, TestResult};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A random graph and a batch for it.
#[derive(Clone, Debug)]
struct Case {
    graph: Graph,
    input: Vec<f32>,
}

/// A number that is uniform between -1 and 1.
fn number(g: &mut Gen) -> f32 {
    u32::arbitrary(g) as f32 / u32::MAX as f32 * 2.0 - 1.0
}

/// `n` numbers of such a size that a sum over `fan_in` of them is of the size of one.
fn numbers(g: &mut Gen, n: usize, fan_in: usize) -> Vec<f32> {
    let scale = (3.0 / fan_in.max(1) as f32).sqrt();
    (0..n).map(|_| number(g) * scale).collect()
}

fn below(g: &mut Gen, n: usize) -> usize {
    usize::arbitrary(g) % n
}

fn squeeze(g: &mut Gen, channels: usize) -> SqueezeExcite {
    let hidden = 1 + below(g, 9);
    SqueezeExcite {
        hidden,
        w1: numbers(g, hidden * channels, channels),
        b1: numbers(g, hidden, 4),
        w2: numbers(g, 2 * channels * hidden, hidden),
        b2: numbers(g, 2 * channels, 4),
    }
}

fn conv(g: &mut Gen, graph: &mut Graph, kernels: &[usize]) -> ValueId {
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

fn dense(g: &mut Gen, graph: &mut Graph, channels: usize, activation: Activation) -> ValueId {
    let all: Vec<ValueId> = values(graph).collect();
    let input = *g.choose(&all).expect("the input is one");
    let fan_in = graph.shape(input).len();
    let weights = numbers(g, channels * fan_in, fan_in);
    let bias = numbers(g, channels, 4);
    graph.push(Layer::Dense { input, channels, weights, bias, activation }).expect("it fits")
}

fn any(g: &mut Gen, graph: &Graph) -> ValueId {
    ValueId(below(g, graph.layers().len() + 1))
}

/// A value with few squares, because attention makes the square of their number of them.
fn narrow(g: &mut Gen, graph: &Graph) -> ValueId {
    let few: Vec<ValueId> = values(graph).filter(|&v| graph.shape(v).squares <= 81).collect();
    *g.choose(&few).expect("the input is one")
}

fn gather(g: &mut Gen, graph: &mut Graph) -> ValueId {
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
fn elementwise(g: &mut Gen, graph: &mut Graph) -> ValueId {
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

fn affine(g: &mut Gen, graph: &mut Graph, input: ValueId, added: Option<ValueId>, activation: Activation) -> ValueId {
    let channels = graph.shape(input).channels;
    let (scale, shift) = (numbers(g, channels, 4), numbers(g, channels, 4));
    graph.push(Layer::Affine { input, added, scale, shift, activation }).expect("it fits")
}

fn pool(g: &mut Gen, graph: &mut Graph) -> ValueId {
    let input = any(g, graph);
    graph.push(Layer::Pool { input }).expect("it fits")
}

/// Attention between any values, with a smolgen for its bias or without.
fn attention(g: &mut Gen, graph: &mut Graph) -> ValueId {
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

fn scores(g: &mut Gen, graph: &mut Graph) -> ValueId {
    let query = narrow(g, graph);
    let channels = graph.shape(query).channels;
    let keys: Vec<ValueId> = values(graph).filter(|&v| graph.shape(v).channels == channels).collect();
    let key = *g.choose(&keys).expect("the query");
    graph.push(Layer::Scores { query, key }).expect("it fits")
}

fn values(graph: &Graph) -> impl Iterator<Item = ValueId> + use<> {
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

fn hosts(graph: &Graph) -> Vec<Host> {
    forms(graph).flatten().collect()
}

/// For each form that this processor has, hosts with one, two and three threads.
fn forms(graph: &Graph) -> impl Iterator<Item = [Host; 3]> {
    Isa::found().map(|isa| [1, 2, 3].map(|threads| Host::with(graph.clone(), threads, isa).expect("a host")))
}

/// For each form that has tiles, hosts that use them, and compute everything else by definition, whatever the canaries
/// say: these would hide a fault.
fn in_tiles(graph: &Graph) -> impl Iterator<Item = [Host; 3]> {
    let graph = Arc::new(graph.clone());
    let host = move |isa, threads| {
        let plan = Plan::new(&graph, Ways { tiles: true, winograd: false }).expect("a plan");
        Host::of_plan(Arc::clone(&graph), plan, threads, isa).expect("a host")
    };
    Isa::found().filter(|isa| isa.tiles().is_some()).map(move |isa| [1, 2, 3].map(|threads| host(isa, threads)))
}

/// Evaluates `input`; a single position is evaluated so often that at first one thread has it, and then all share it.
fn run(host: &mut Host, input: &[f32]) -> Outputs {
    let mut outputs = Outputs::default();
    host.evaluate(input, &mut outputs).expect("an evaluation");
    if input.len() == host.graph().input().len() {
        for _ in 0..=super::sharing::ROW {
            let mut again = Outputs::default();
            host.evaluate(input, &mut again).expect("an evaluation");
            assert!(same_bits(&again, &outputs), "{}: not the same bits", host.describe());
        }
    }
    outputs
}

/// Whether the outputs have the same bits. Then a NaN equals itself: a network may make one of a large input.
fn same_bits(a: &Outputs, b: &Outputs) -> bool {
    let bits =
        |outputs: &Outputs| Role::ALL.map(|role| outputs.head(role).iter().map(|x| x.to_bits()).collect::<Vec<_>>());
    bits(a) == bits(b)
}

/// A case without its weights, short enough to read.
fn outline(case: &Case) -> String {
    let graph = &case.graph;
    let layers = graph.layers().iter().zip(values(graph).skip(1)).map(|(layer, value)| {
        let shape = graph.shape(value);
        let what = match layer {
            Layer::Conv { input, kernel, se, residual, activation, .. } => {
                format!("{kernel}x{kernel} of {}, se {}, residual {residual:?}, {activation:?}", input.0, se.is_some())
            }
            Layer::Dense { input, activation, .. } => format!("dense of {}, {activation:?}", input.0),
            other => format!("{} of {:?}", other.name(), other.reads().map(|v| v.0).collect::<Vec<_>>()),
        };
        let what = if graph.is_int8(value.0 - 1) { format!("int8 {what}") } else { what };
        format!("{}: {}x{} {what}", value.0, shape.channels, shape.squares)
    });
    let input = graph.input();
    format!("input {}x{}; {}", input.channels, input.squares, layers.collect::<Vec<_>>().join("; "))
}

/// The first place, if any, where `got` is further from `expected` than single precision's rounding explains.
fn difference(expected: &Outputs, got: &Outputs) -> Option<String> {
    const BOUND: f32 = 2e-5;
    Role::ALL.into_iter().find_map(|role| {
        let (expected, got) = (expected.head(role), got.head(role));
        if expected.len() != got.len() {
            return Some(format!("{role:?}: expected {} numbers, got {}", expected.len(), got.len()));
        }
        // Not "is further than": every comparison with a NaN is false.
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= BOUND * a.abs().max(1.0);
        let at = expected.iter().zip(got).position(|pair| !near(pair))?;
        Some(format!("{role:?} at {at}: expected {}, got {}", expected[at], got[at]))
    })
}

/// How numbers are changed, as rounding might change them: by a small part of themselves, up or down as the salt says
/// for each.
#[derive(Clone, Copy)]
struct Shake {
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
fn terms(graph: &Graph, layer: &Layer) -> usize {
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
fn shaken_graph(graph: &Graph, shake: Shake) -> Graph {
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
fn shaken(case: &Case, shake: Shake) -> Outputs {
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
const SALTS: [u64; 4] = [0x2545_f491_4f6c_dd1d, 0x9e6c_63d0_876a_68ee, 0xd1b5_4a32_d192_ed03, 0xbf58_476d_1ce4_e5b9];

/// Whether the network makes so much of the last bits of its numbers that two orders of addition need not agree: a
/// softmax over large scores does if it comes after a square, and so does a sum whose terms cancel each other.
fn magnifies_rounding(case: &Case) -> bool {
    // Computed without eight bits: in those an input near the middle between two whole numbers would jump.
    let still = shaken(case, Shake { by: 0.0, salt: 0 });
    let differs = |salt| difference(&still, &shaken(case, Shake { by: f32::EPSILON / 2.0, salt })).is_some();
    SALTS.into_iter().any(differs)
}

#[test]
fn agrees_with_plain() {
    fn property(case: Case) -> TestResult {
        if magnifies_rounding(&case) {
            return TestResult::discard();
        }
        let expected = plain::evaluate(&case.graph, &case.input).expect("an evaluation");
        for mut host in forms(&case.graph).chain(in_tiles(&case.graph)).flatten() {
            let got = run(&mut host, &case.input);
            if let Some(difference) = difference(&expected, &got) {
                panic!("{}: {difference}, in {}", host.describe(), outline(&case));
            }
        }
        TestResult::passed()
    }
    // Of a thousand cases two were discarded; more than six of these would be a fault.
    QuickCheck::new().tests(300).max_tests(306).min_tests_passed(300).quickcheck(property as fn(Case) -> TestResult);
}

#[test]
fn a_position_does_not_depend_on_its_batch() {
    fn property(case: Case) -> bool {
        let each = case.graph.input().len();
        forms(&case.graph).all(|mut hosts| {
            let whole = run(&mut hosts[0], &case.input);
            hosts.iter_mut().all(|host| {
                let singles: Vec<Outputs> = case.input.chunks_exact(each).map(|input| run(host, input)).collect();
                let joined = |head: fn(&Outputs) -> &Vec<f32>| -> Vec<f32> {
                    singles.iter().flat_map(|outputs| head(outputs).iter().copied()).collect()
                };
                // The same to the bit, in one batch and one by one, on any number of threads.
                run(host, &case.input) == whole
                    && joined(|o| &o.policy) == whole.policy
                    && joined(|o| &o.wdl) == whole.wdl
                    && joined(|o| &o.moves_left) == whole.moves_left
                    && joined(|o| &o.ownership) == whole.ownership
            })
        })
    }
    QuickCheck::new().tests(150).quickcheck(property as fn(Case) -> bool);
}

/// Evaluates nine positions, three and one of them: the results must agree with the plain form's, and be the same to
/// the bit on other numbers of threads and in other batches.
fn agrees(forms: impl Iterator<Item = [Host; 3]>, graph: &Graph, input: &[f32], what: &str) {
    let each = graph.input().len();
    assert_eq!(input.len(), 9 * each);
    let expected = plain::evaluate(graph, input).expect("an evaluation");
    for mut hosts in forms {
        let whole = run(&mut hosts[0], input);
        assert_eq!(difference(&expected, &whole), None, "{what}, {}", hosts[0].describe());
        let len = whole.policy.len() / 9;
        for host in &mut hosts {
            for (first, count) in [(0, 9), (0, 1), (4, 3), (8, 1)] {
                let part = run(host, &input[first * each..][..count * each]);
                let same = part.policy == whole.policy[first * len..][..count * len];
                assert!(same, "{what}, {}: {count} from {first}", host.describe());
            }
        }
    }
}

/// For each form, hosts with Winograd's convolutions, whatever the canaries say.
fn with_winograd(graph: &Graph) -> impl Iterator<Item = [Host; 3]> {
    let graph = Arc::new(graph.clone());
    let host = move |isa: Isa, threads| {
        let plan = Plan::new(&graph, Ways { tiles: false, winograd: true }).expect("a plan");
        Host::of_plan(Arc::clone(&graph), plan, threads, isa).expect("a host")
    };
    Isa::found().map(move |isa| [1, 2, 3].map(|threads| host(isa, threads)))
}

fn on_board(channels: usize, (ranks, files): (usize, usize)) -> Graph {
    Graph::new(Shape { channels, squares: ranks * files }).on_board(ranks, files)
}

/// The first of a few networks drawn that does not magnify rounding, and nine positions for it.
fn steady(g: &mut Gen, draw: impl Fn(&mut Gen) -> Graph) -> Case {
    // Of the worst kind here, with squares behind a sum on a large board, a fifth magnify it.
    const DRAWS: usize = 10;
    let mut cases = (0..DRAWS).map(|_| {
        let graph = draw(g);
        Case { input: positions(g, &graph), graph }
    });
    cases.find(|case| !magnifies_rounding(case)).expect("a network that does not magnify rounding")
}

fn positions(g: &mut Gen, graph: &Graph) -> Vec<f32> {
    (0..9 * graph.input().len()).map(|_| number(g)).collect()
}

/// Pushes a convolution without a squeeze.
fn filter(
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

/// On a board of one square the vector that an affine layer adds has as many squares as the board that a convolution
/// reads it as.
#[test]
fn on_a_single_square_what_is_added_may_be_a_board_as_well() {
    let g = &mut Gen::new(100);
    let mut graph = on_board(40, (1, 1));
    let vector = dense(g, &mut graph, 40, Activation::None);
    let sum = affine(g, &mut graph, INPUT, Some(vector), Activation::Relu);
    let twice = affine(g, &mut graph, vector, Some(vector), Activation::None);
    let of_vector = filter(g, &mut graph, (vector, Some(twice)), (40, 3), Activation::None);
    let last = filter(g, &mut graph, (of_vector, Some(sum)), (40, 1), Activation::None);
    graph.output(Role::Policy, last).expect("any length");
    let input = positions(g, &graph);
    agrees(forms(&graph).chain(in_tiles(&graph)), &graph, &input, "one square");
}

/// How many convolutions of a host's plan have such weights.
fn convolutions(host: &Host, are_such: impl Fn(&plan::ConvWeights) -> bool) -> usize {
    let is_such = |step: &&plan::Step| match step {
        plan::Step::Conv(conv) => are_such(&conv.weights),
        _ => false,
    };
    host.plan.steps.iter().filter(is_such).count()
}

/// Planes of pieces, of one number, of none, and of numbers all over the board; panels that are not full, a squeeze, a
/// residual, and a second convolution of the same planes.
#[test]
fn convolutions_of_the_input_agree_with_plain() {
    let g = &mut Gen::new(100);
    for (planes, channels) in [(1, 1), (7, 24), (20, 16), (9, 70)] {
        let mut graph = on_board(planes, (8, 8));
        let (weights, bias) = (numbers(g, channels * planes * 9, planes), numbers(g, channels, 4));
        let (residual, activation, se) = (None, Activation::Mish, Some(squeeze(g, channels)));
        let conv = Layer::Conv { input: INPUT, channels, kernel: 3, weights, bias, se, residual, activation };
        let first = graph.push(conv).expect("it fits");
        let second = filter(g, &mut graph, (INPUT, Some(first)), (channels, 3), Activation::Relu);
        graph.output(Role::Policy, second).expect("any length");
        let mut input = Vec::new();
        for plane in 0..9 * planes {
            let one_in = [1, 2, 6, 20, 64, 1000][below(g, 6)];
            match plane % 5 {
                0 => input.extend([number(g); 64]),
                _ => input.extend((0..64).map(|_| if below(g, one_in) == 0 { number(g) } else { 0.0 })),
            }
        }
        agrees(forms(&graph).chain(in_tiles(&graph)), &graph, &input, &format!("{planes} planes to {channels}"));
    }
}

/// Tiles that are partly outside the board, narrow boards, more positions than are computed at once, panels and blocks
/// that are not full.
#[test]
fn winograd_agrees_with_plain_on_any_board() {
    let g = &mut Gen::new(100);
    let boards = [(4, 4), (5, 5), (7, 9), (8, 8), (13, 8), (8, 13), (13, 9), (9, 13), (5, 24), (19, 19)];
    for (board, channels) in boards.into_iter().zip([9, 50, 33, 40, 16, 24, 97, 48, 20, 35]) {
        let mut graph = on_board(channels, board);
        let scaled = affine(g, &mut graph, INPUT, None, Activation::None);
        let first = filter(g, &mut graph, (scaled, None), (channels, 3), Activation::Mish);
        let normed = affine(g, &mut graph, first, None, Activation::Relu);
        let second = filter(g, &mut graph, (normed, Some(first)), (channels, 3), Activation::None);
        let last = filter(g, &mut graph, (second, None), (13, 3), Activation::Tanh);
        graph.output(Role::Policy, last).expect("any length");
        let is_winograd = |weights: &_| matches!(weights, plan::ConvWeights::Winograd(..));
        assert!(with_winograd(&graph).flatten().all(|host| convolutions(&host, is_winograd) == 3), "{board:?}");
        let input = positions(g, &graph);
        agrees(with_winograd(&graph), &graph, &input, &format!("{channels} channels on {board:?}"));
    }
}

/// A NaN must not get into a tile from beyond a rank's end: what lies there belongs to the next rank.
#[test]
fn tiles_read_nothing_of_the_next_rank() {
    let g = &mut Gen::new(100);
    let mut graph = on_board(8, (9, 9));
    let last = filter(g, &mut graph, (INPUT, None), (8, 3), Activation::None);
    graph.output(Role::Policy, last).expect("any length");
    let mut input = numbers(g, 8 * 81, 4);
    // The first two files are NaNs: nothing on the last tile's files depends on them.
    (0..8 * 81).filter(|at| at % 9 < 2).for_each(|at| input[at] = f32::NAN);
    for mut host in with_winograd(&graph).flatten() {
        let mut got = Outputs::default();
        host.evaluate(&input, &mut got).expect("an evaluation");
        assert!((0..8 * 81).filter(|at| at % 9 == 8).all(|at| got.policy[at].is_finite()), "{}", host.describe());
    }
}

/// Affine layers and pools behind a convolution that leaves borders and behind one that leaves none, and before such.
#[test]
fn affine_layers_and_pools_agree_with_plain() {
    let g = &mut Gen::new(100);
    let boards = [(8, 8), (9, 9), (13, 9), (3, 8), (1, 1)];
    for (number, activation) in Activation::ELEMENTWISE.into_iter().enumerate() {
        for (kernel, adds, squared) in [(1, false, 0), (1, true, 1), (3, false, 2), (3, true, 0)] {
            let board = boards[(number + kernel) % boards.len()];
            // Squares of squares magnify rounding: only one of the three layers has squares.
            let activations = [0, 1, 2].map(|at| match activation {
                Activation::Relu2 if at != squared => Activation::Relu,
                other => other,
            });
            let Case { graph, input } = steady(g, |g| {
                let mut graph = on_board(7, board);
                let first = filter(g, &mut graph, (INPUT, None), (11, kernel), Activation::None);
                let pooled = graph.push(Layer::Pool { input: first }).expect("it fits");
                let added = dense_of(g, &mut graph, pooled, 11);
                let normed = affine(g, &mut graph, first, adds.then_some(added), activations[0]);
                // If the border were no longer zero, this convolution would show it.
                let around = filter(g, &mut graph, (normed, Some(normed)), (11, 3), Activation::None);
                let again = affine(g, &mut graph, around, Some(added), activations[1]);
                let flat = filter(g, &mut graph, (again, None), (5, 1), Activation::None);
                let pools = [again, flat, added].map(|input| graph.push(Layer::Pool { input }).expect("it fits"));
                let heads = pools.map(|pooled| dense_of(g, &mut graph, pooled, 20));
                let vector = affine(g, &mut graph, heads[0], Some(heads[1]), activations[2]);
                let indices = (0..20).collect();
                let sum = Layer::Gather { input: vector, indices, squares: 1, residual: Some(heads[2]) };
                let sum = graph.push(sum).expect("it fits");
                graph.output(Role::Policy, sum).expect("any length");
                graph.output(Role::Ownership, again).expect("any length");
                graph
            });
            agrees(forms(&graph), &graph, &input, &format!("{kernel}x{kernel}, {activation:?}, {board:?}"));
        }
    }
}

fn dense_of(g: &mut Gen, graph: &mut Graph, input: ValueId, channels: usize) -> ValueId {
    let fan_in = graph.shape(input).len();
    let (weights, bias) = (numbers(g, channels * fan_in, fan_in), numbers(g, channels, 4));
    graph.push(Layer::Dense { input, channels, weights, bias, activation: Activation::None }).expect("it fits")
}

#[test]
fn five_by_five_agrees_with_plain() {
    let g = &mut Gen::new(100);
    for (inputs, channels, board) in
        [(22, 32, (19, 19)), (3, 7, (1, 1)), (5, 13, (2, 9)), (8, 6, (8, 8)), (4, 5, (9, 3))]
    {
        let mut graph = on_board(inputs, board);
        let first = filter(g, &mut graph, (INPUT, None), (channels, 5), Activation::Relu);
        // The 5×5 convolutions stand beside boards with borders, and have none themselves.
        let around = filter(g, &mut graph, (first, None), (channels, 3), Activation::None);
        let squeezed = Some(squeeze(g, channels));
        let fan_in = channels * 25;
        let last = Layer::Conv {
            input: around,
            channels,
            kernel: 5,
            weights: numbers(g, channels * fan_in, fan_in),
            bias: numbers(g, channels, 4),
            se: squeezed,
            residual: Some(first),
            activation: Activation::Swish,
        };
        let last = graph.push(last).expect("it fits");
        graph.output(Role::Policy, last).expect("any length");
        let input = positions(g, &graph);
        agrees(forms(&graph), &graph, &input, &format!("{inputs} to {channels} channels on {board:?}"));
    }
}

/// With an epsilon as small as Lc0's, on the network's input as it comes.
#[test]
fn layer_norms_agree_with_plain() {
    let g = &mut Gen::new(100);
    for (channels, squares, epsilon) in [(64, 64, 1e-6), (33, 49, 1e-3), (48, 1, 1e-3), (2, 12, 1e-6)] {
        let mut graph = Graph::new(Shape { channels, squares });
        let (gammas, betas) = (numbers(g, channels, 4), numbers(g, channels, 4));
        let norm = graph.push(Layer::LayerNorm { input: INPUT, epsilon, gammas, betas }).expect("it fits");
        graph.output(Role::Policy, norm).expect("any length");
        // Far from zero: a variance computed as the difference of two large sums would be wrong.
        let input: Vec<f32> = (0..3 * graph.input().len()).map(|_| 100.0 + number(g)).collect();
        let expected = plain::evaluate(&graph, &input).expect("an evaluation");
        for mut host in hosts(&graph) {
            assert_eq!(difference(&expected, &run(&mut host, &input)), None, "{channels}x{squares}");
        }
    }
}

/// With an epsilon as small as KataGo's, on a board of Go and on other numbers of squares, alone and by a team.
#[test]
fn blocks_of_a_transformer_agree_with_plain() {
    let g = &mut Gen::new(100);
    for (channels, squares) in [(48, 361), (6, 45), (64, 64), (2, 1)] {
        for whole in [false, true] {
            let mut graph = Graph::new(Shape { channels, squares });
            let normed = graph.push(Layer::RmsNorm { input: INPUT, epsilon: 1e-6, whole }).expect("it fits");
            let angles = (0..channels / 2 * squares).map(|_| 20.0 * number(g)).collect();
            let turned = graph.push(Layer::Rotate { input: normed, angles }).expect("it fits");
            let attention = Layer::Attention { query: turned, key: turned, value: normed, heads: 2, bias: None };
            let attended = graph.push(attention).expect("it fits");
            let product = graph.push(Layer::Multiply { left: attended, right: normed }).expect("it fits");
            graph.output(Role::Policy, product).expect("any length");
            let input = positions(g, &graph);
            agrees(forms(&graph), &graph, &input, &format!("{channels} channels on {squares} squares"));
        }
    }
}

/// Whole numbers and their sums are exact, whichever instructions multiply them.
#[test]
fn eight_bits_are_the_same_in_every_form() {
    let g = &mut Gen::new(100);
    let shapes = [(1, 5, 64, 3), (33, 40, 64, 3), (64, 64, 64, 1), (7, 17, 81, 3), (70, 33, 361, 3), (6, 31, 12, 1)];
    for (inputs, channels, squares, kernel) in shapes {
        let mut graph = Graph::new(Shape { channels: inputs, squares });
        let fan_in = inputs * kernel * kernel;
        let (weights, bias) = (numbers(g, channels * fan_in, fan_in), numbers(g, channels, 4));
        let (se, activation) = (None, Activation::Relu);
        let residual = (inputs == channels).then_some(INPUT);
        let layer = Layer::Conv { input: INPUT, channels, kernel, weights, bias, se, residual, activation };
        graph.push(layer).expect("it fits");
        the_same_in_eight_bits(g, graph, &format!("{inputs} to {channels} channels, {kernel}x{kernel}"));
    }
    for (inputs, channels) in [(1, 1), (5, 3), (64, 16), (130, 100), (1027, 257)] {
        let mut graph = Graph::new(Shape { channels: inputs, squares: 1 });
        let (weights, bias) = (numbers(g, channels * inputs, inputs), numbers(g, channels, 4));
        let activation = Activation::Relu;
        graph.push(Layer::Dense { input: INPUT, channels, weights, bias, activation }).expect("it fits");
        the_same_in_eight_bits(g, graph, &format!("dense, {inputs} to {channels}"));
    }
    for (part, heads, outputs) in [(3, 1, 4), (6, 5, 33), (40, 9, 64)] {
        let mut graph = Graph::new(Shape { channels: part * heads, squares: 1 });
        let weights = numbers(g, outputs * part, part).into();
        graph.push(Layer::Smolgen { input: INPUT, heads, weights }).expect("it fits");
        the_same_in_eight_bits(g, graph, &format!("smolgen, {heads} times {part} to {outputs}"));
    }
}

/// Marks the graph's one layer to be in eight bits, and compares all forms, in batches of 3 and of 1.
fn the_same_in_eight_bits(g: &mut Gen, mut graph: Graph, what: &str) {
    graph.set_int8(0, true).expect("it can be");
    graph.output(Role::Policy, ValueId(1)).expect("any length");
    let input: Vec<f32> = (0..3 * graph.input().len()).map(|_| number(g)).collect();
    let expected = plain::evaluate(&graph, &input).expect("an evaluation");
    let first = run(&mut hosts(&graph)[0], &input);
    assert_eq!(difference(&expected, &first), None, "{what}");
    for mut host in hosts(&graph) {
        assert!(run(&mut host, &input) == first, "{what}");
        let alone = run(&mut host, &input[..graph.input().len()]);
        assert_eq!(alone.policy, first.policy[..alone.policy.len()], "{what}, alone");
    }
}

/// A reused workspace must not carry anything from one batch into the next, not even if the first overflowed.
#[test]
fn a_batch_leaves_nothing_behind() {
    fn property(a: Case, loudness: usize) -> bool {
        let each = a.graph.input().len();
        let by = [1e3, 1e20, f32::NAN][loudness % 3];
        let loud: Vec<f32> = a.input.iter().map(|x| by * x).collect();
        let mut used = Host::new(a.graph.clone(), 2).expect("a host");
        run(&mut used, &loud);
        let mut fresh = Host::new(a.graph.clone(), 2).expect("a host");
        same_bits(&run(&mut used, &a.input[..each]), &run(&mut fresh, &a.input[..each]))
    }
    QuickCheck::new().tests(100).quickcheck(property as fn(Case, usize) -> bool);
}

#[test]
fn layers_of_a_transformer_that_do_not_fit_are_refused() {
    let refused = |layer| Graph::new(Shape { channels: 3, squares: 4 }).push(layer).expect_err("no layer").to_string();
    for epsilon in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let error = refused(Layer::RmsNorm { input: INPUT, epsilon, whole: false });
        assert_eq!(error, format!("layer 0: RMS norm epsilon: expected a number above 0, got {epsilon}"));
    }
    let odd = refused(Layer::Rotate { input: INPUT, angles: vec![0.0; 4] });
    assert_eq!(odd, "layer 0: rotation: expected an even number of channels, got 3");
    let mut graph = Graph::new(Shape { channels: 4, squares: 4 });
    let error = graph.push(Layer::Rotate { input: INPUT, angles: vec![0.0; 16] }).expect_err("too many");
    assert_eq!(error.what, "rotation angles: expected [2, 4] elements, got 16");
    let pooled = graph.push(Layer::Pool { input: INPUT }).expect("it fits");
    let error = graph.push(Layer::Multiply { left: INPUT, right: pooled }).expect_err("another shape");
    assert!(
        error
            .what
            .starts_with("product: expected Shape { channels: 4, squares: 4 } on the right, as on the left, got "),
        "{error}"
    );
}

#[test]
fn each_chore_is_done_once_and_every_thread_may_do_some() {
    let mut graph = Graph::new(Shape { channels: 1, squares: 1 });
    let affine =
        Layer::Dense { input: INPUT, channels: 1, weights: vec![2.0], bias: vec![0.0], activation: Activation::None };
    let value = graph.push(affine).expect("a layer");
    graph.output(Role::Value, value).expect("an output");
    for threads in 1..=4 {
        let mut host = Host::new(graph.clone(), threads).expect("a graph for the host");
        let mut run = |rows: usize, count: usize, chore: &(dyn Fn(usize) + Sync)| {
            let input: Vec<f32> = (0..rows).map(|row| row as f32).collect();
            let mut outputs = Outputs::default();
            host.evaluate_beside(Chores { count, chore }, &input, &mut outputs, &|| false).expect("a batch");
            assert!(outputs.value.iter().zip(&input).all(|(value, input)| *value == 2.0 * input));
        };
        // Long enough that a batch is run in either way (`Sharing`).
        for round in 0..100 {
            for (rows, count) in [(1, 0), (1, 1), (2, 7), (3, 3), (9, 100)] {
                let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                run(rows, count, &|number| _ = done[number].fetch_add(1, Ordering::Relaxed));
                let done = done.into_iter().map(AtomicUsize::into_inner);
                assert!(done.eq((0..count).map(|_| 1)), "{rows} rows, {count} chores, {threads} threads, {round}");
            }
            // Nobody is through before all have come, so that each thread does one.
            let (come, begun) = (AtomicUsize::new(0), Instant::now());
            run(1 + round % 2, threads, &|_| {
                come.fetch_add(1, Ordering::Relaxed);
                while come.load(Ordering::Relaxed) < threads {
                    assert!(begun.elapsed() < Duration::from_secs(60), "a thread does not come");
                    std::thread::yield_now();
                }
            });
        }
    }
}

#[test]
fn what_can_not_be_run_is_refused() {
    let graph = |squares, kernel: usize| {
        let mut graph = Graph::new(Shape { channels: 2, squares });
        let (weights, bias) = (vec![0.5; 2 * kernel * kernel], vec![0.0]);
        let (input, activation) = (INPUT, Activation::None);
        let layer = Layer::Conv { input, channels: 1, kernel, weights, bias, se: None, residual: None, activation };
        let value = graph.push(layer).expect("it fits");
        graph.output(Role::Policy, value).expect("any length");
        graph
    };
    let refused = |graph: Graph, threads| Host::new(graph, threads).expect_err("a refusal").0;
    assert_eq!(refused(graph(12, 3), 1), "layer 0: a 3x3 convolution: expected a board, got 12 squares");
    assert_eq!(refused(graph(12, 5), 1), "layer 0: a 5x5 convolution: expected a board, got 12 squares");
    assert_eq!(refused(graph(12, 3).on_board(4, 4), 1), "layer 0: a 3x3 convolution: expected a board, got 12 squares");
    assert!(Host::new(graph(12, 3).on_board(4, 3), 1).is_ok());
    assert_eq!(refused(graph(16, 3), 0), "host: expected at least 1 thread, got 0");
    // The layer has few weights but many heads, each of which makes 4096 numbers.
    let heads = 200_000;
    let mut large = Graph::new(Shape { channels: heads, squares: 1 });
    let bias = large.push(Layer::Smolgen { input: INPUT, heads, weights: vec![0.5; 4096].into() }).expect("it fits");
    large.output(Role::Policy, bias).expect("any length");
    assert!(refused(large, 2).ends_with(" MiB to work in, at most 1024 are lent"));
    // More numbers than a kernel can count.
    let heads = 1 << 20;
    let mut larger = Graph::new(Shape { channels: heads, squares: 1 });
    let error = larger.push(Layer::Smolgen { input: INPUT, heads, weights: vec![0.5; 4096].into() }).unwrap_err();
    assert_eq!(error.what, "expected 1 to 2147483647 elements, got 1048576 channels of 4096 squares");
    let none = Graph::new(Shape { channels: 0, squares: 64 });
    let error = Host::new(none, 1).expect("a host").evaluate(&[], &mut Outputs::default()).unwrap_err().0;
    assert_eq!(error, "input: expected 1 to 1024 positions of 0 numbers, got 0 numbers");
    // The size is refused before even the canaries' input is made.
    let mut larger = Graph::new(Shape { channels: 1 << 34, squares: 64 });
    let one = Layer::Gather { input: INPUT, indices: vec![0], squares: 1, residual: None };
    let one = larger.push(one).expect("it fits");
    larger.output(Role::Policy, one).expect("any length");
    assert!(refused(larger, 1).ends_with(" MiB to work in, at most 1024 are lent"));
    let mut host = Host::new(graph(12, 1), 1).expect("a host");
    let mut outputs = Outputs::default();
    for len in [0, 23, 25, 24 * (MAX_BATCH + 1)] {
        assert!(host.evaluate(&vec![0.0; len], &mut outputs).is_err(), "{len}");
    }
    assert_eq!(run(&mut host, &[1.0; 48]).policy, [1.0; 24]);
}

/// One channel and one filter, worked out by hand: a kernel that reads one square up and one to the right.
#[test]
fn a_kernel_is_a_cross_correlation() {
    let mut graph = Graph::new(Shape { channels: 1, squares: 64 });
    let mut weights = vec![0.0; 9];
    weights[5] = 10.0;
    weights[7] = 1.0;
    let layer = Layer::Conv {
        input: INPUT,
        channels: 1,
        kernel: 3,
        weights,
        bias: vec![0.5],
        se: None,
        residual: None,
        activation: Activation::None,
    };
    let value = graph.push(layer).expect("it fits");
    graph.output(Role::Policy, value).expect("any length");
    let input: Vec<f32> = (0..64).map(|s| s as f32).collect();
    let expected: Vec<f32> = (0..64)
        .map(|s| {
            let right = if s % 8 < 7 { 10 * (s + 1) } else { 0 };
            let up = if s / 8 < 7 { s + 8 } else { 0 };
            (right + up) as f32 + 0.5
        })
        .collect();
    assert_eq!(plain::evaluate(&graph, &input).expect("an evaluation").policy, expected);
    for mut host in hosts(&graph) {
        assert_eq!(run(&mut host, &input).policy, expected);
    }
}

/// The first channel is large, the others are small. Where the output does not depend on the first one, its size makes
/// the tiles round the others too much.
#[test]
fn what_tiles_round_too_much_is_not_computed_in_them() {
    const CHANNELS: usize = 96;
    let g = &mut Gen::new(100);
    let mut graph = Graph::new(Shape { channels: CHANNELS, squares: 64 });
    let mut scale = vec![1.0; CHANNELS * 64];
    scale[..64].fill(1e5);
    let gated = graph.push(Layer::Gate { input: INPUT, scale, shift: vec![0.0; CHANNELS * 64] }).expect("it fits");
    let conv = |weights| {
        let (bias, activation) = (vec![0.0; CHANNELS], Activation::None);
        Layer::Conv { input: gated, channels: CHANNELS, kernel: 1, weights, bias, se: None, residual: None, activation }
    };
    let mut weights = numbers(g, CHANNELS * CHANNELS, CHANNELS);
    for (weight, bears) in [(1.0, true), (0.0, false)] {
        weights.iter_mut().step_by(CHANNELS).for_each(|first| *first = weight);
        let mut graph = graph.clone();
        let last = graph.push(conv(weights.clone())).expect("it fits");
        graph.output(Role::Policy, last).expect("any length");
        for isa in Isa::found().filter(|isa| isa.tiles().is_some()) {
            let host = Host::with(graph.clone(), 1, isa).expect("a host");
            assert_eq!(host.plan.in_tiles(), bears, "{}", host.describe());
            assert_eq!(host.isa == isa, bears, "{}", host.describe());
        }
    }
}

/// Because the network's input has numbers of very different sizes.
#[test]
fn convolutions_of_the_input_are_not_computed_in_tiles() {
    let g = &mut Gen::new(100);
    for kernel in [1, 3] {
        let mut graph = Graph::new(Shape { channels: 64, squares: 64 });
        let weights = numbers(g, 64 * 64 * kernel * kernel, 64);
        let (bias, activation) = (vec![0.0; 64], Activation::None);
        let conv =
            Layer::Conv { input: INPUT, channels: 64, kernel, weights, bias, se: None, residual: None, activation };
        let last = graph.push(conv).expect("it fits");
        graph.output(Role::Policy, last).expect("any length");
        for isa in Isa::found() {
            let host = Host::with(graph.clone(), 1, isa).expect("a host");
            assert!(!host.plan.in_tiles(), "{}", host.describe());
        }
    }
}

/// A network whose layers are too small for tiles is computed as on a processor without them.
#[test]
fn what_is_not_worth_tiles_is_winograds() {
    let g = &mut Gen::new(100);
    let mut graph = Graph::new(Shape { channels: 24, squares: 64 });
    let mut last = affine(g, &mut graph, INPUT, None, Activation::None);
    for _ in 0..2 {
        let (weights, bias) = (numbers(g, 24 * 24 * 9, 24 * 9), numbers(g, 24, 4));
        let (residual, activation) = (Some(last), Activation::Relu);
        let conv = Layer::Conv { input: last, channels: 24, kernel: 3, weights, bias, se: None, residual, activation };
        last = graph.push(conv).expect("it fits");
    }
    graph.output(Role::Policy, last).expect("any length");
    for isa in Isa::found() {
        let host = Host::with(graph.clone(), 1, isa).expect("a host");
        let winograd = |step: &plan::Step| match step {
            plan::Step::Conv(conv) => matches!(conv.weights, plan::ConvWeights::Winograd(..)),
            _ => true,
        };
        assert!(host.plan.steps.iter().all(winograd), "{}", host.describe());
        assert_eq!(host.isa, isa.without_tiles());
    }
}

/// No activation hides that an input was a NaN: neither in the plain form, with which all are compared, nor in those
/// that run.
#[test]
fn a_nan_stays_one() {
    let g = &mut Gen::new(100);
    for activation in Activation::ELEMENTWISE.into_iter().chain([Activation::Softmax]) {
        let mut graph = Graph::new(Shape { channels: 5, squares: 64 });
        let (weights, bias) = (numbers(g, 9 * 5 * 64, 5 * 64), numbers(g, 9, 4));
        let dense = Layer::Dense { input: INPUT, channels: 9, weights, bias, activation };
        let last = graph.push(dense).expect("it fits");
        graph.output(Role::Policy, last).expect("any length");
        let mut input = numbers(g, 5 * 64, 3);
        input[70] = f32::NAN;
        let expected = plain::evaluate(&graph, &input).expect("an evaluation").policy;
        assert!(expected.iter().all(|x| x.is_nan()), "{activation:?}: {expected:?}");
        for isa in Isa::found() {
            let mut host = Host::with(graph.clone(), 1, isa).expect("a host");
            let mut got = Outputs::default();
            host.evaluate(&input, &mut got).expect("an evaluation");
            assert!(got.policy.iter().all(|x| x.is_nan()), "{activation:?}, {}: {:?}", host.describe(), got.policy);
        }
    }
}

/// Neither a plane's mean nor its largest number hides a NaN, nor does what is added to it.
#[test]
fn a_nan_stays_one_in_affine_layers_and_pools() {
    let g = &mut Gen::new(100);
    for board in [(9, 9), (8, 8), (2, 3)] {
        for at in [0, board.0 * board.1 - 1] {
            let mut graph = on_board(3, board);
            let around = filter(g, &mut graph, (INPUT, None), (3, 3), Activation::Relu);
            let sum = affine(g, &mut graph, around, None, Activation::Relu);
            let [there, here] = [sum, INPUT].map(|input| graph.push(Layer::Pool { input }).expect("it fits"));
            let indices = vec![1, 4, 0];
            let added = Layer::Gather { input: here, indices, squares: 1, residual: None };
            let added = graph.push(added).expect("it fits");
            let spoilt = affine(g, &mut graph, around, Some(added), Activation::Mish);
            // If anything of what was added were left on a border, this convolution would read it.
            let again = filter(g, &mut graph, (spoilt, None), (1, 3), Activation::None);
            graph.output(Role::Policy, spoilt).expect("any length");
            graph.output(Role::Ownership, there).expect("any length");
            graph.output(Role::Scores, here).expect("any length");
            graph.output(Role::Pass, again).expect("any length");
            let mut input = numbers(g, graph.input().len(), 4);
            input[board.0 * board.1 + at] = f32::NAN;
            let expected = plain::evaluate(&graph, &input).expect("an evaluation");
            for mut host in forms(&graph).flatten() {
                let mut got = Outputs::default();
                host.evaluate(&input, &mut got).expect("an evaluation");
                for role in [Role::Policy, Role::Ownership, Role::Scores, Role::Pass] {
                    let mut pairs = expected.head(role).iter().zip(got.head(role));
                    let same = pairs.all(|(a, b)| a.is_nan() == b.is_nan());
                    assert!(same, "{role:?}, {board:?}, {}", host.describe());
                }
                // Nothing of the NaN is left for the next position.
                let clean = numbers(g, graph.input().len(), 4);
                let expected = plain::evaluate(&graph, &clean).expect("an evaluation");
                host.evaluate(&clean, &mut got).expect("an evaluation");
                assert_eq!(difference(&expected, &got), None, "{board:?}, {}", host.describe());
            }
        }
    }
}

/// Compares the results of hosts in tiles with the plain form's and, to the bit, with those of the first and the last
/// position alone.
fn in_tiles_it_agrees(graph: &Graph, input: &[f32], what: &str) {
    let expected = plain::evaluate(graph, input).expect("an evaluation");
    let each = graph.input().len();
    let batch = input.len() / each;
    for mut host in in_tiles(graph).flatten() {
        assert!(host.plan.in_tiles(), "{what}");
        let got = run(&mut host, input);
        assert_eq!(difference(&expected, &got), None, "{what}, {}", host.describe());
        for at in [0, batch - 1] {
            let alone = run(&mut host, &input[at * each..][..each]);
            let len = alone.policy.len();
            assert!(alone.policy == got.policy[at * len..][..len], "{what}, {}: position {at} alone", host.describe());
        }
        // A position with a NaN leaves nothing behind for the next ones.
        let mut none = input.to_vec();
        none[each - 1] = f32::NAN;
        let mut outputs = Outputs::default();
        host.evaluate(&none, &mut outputs).expect("an evaluation");
        assert!(outputs.policy.iter().any(|x| x.is_nan()), "{what}, {}", host.describe());
        assert!(run(&mut host, input) == got, "{what}, {}: not the same after a NaN", host.describe());
    }
}

/// More positions than are split at once, and convolutions that read one input, some of them next to each other: if
/// another value has come to its place in between, the input is split anew.
#[test]
fn convolutions_in_tiles_agree_with_plain() {
    let g = &mut Gen::new(100);
    for (kernel, channels, batch) in [(1, 98, 3), (3, 50, 3), (3, 130, 10), (1, 600, 10), (3, 80, 9), (3, 200, 8)] {
        let mut graph = Graph::new(Shape { channels, squares: 64 });
        let fan_in = channels * kernel * kernel;
        let conv = |graph: &mut Graph, g: &mut Gen, input, residual, activation, squeezed| {
            let (weights, bias) = (numbers(g, channels * fan_in, fan_in), numbers(g, channels, 4));
            let se = if squeezed { Some(squeeze(g, channels)) } else { None };
            graph
                .push(Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation })
                .expect("it fits")
        };
        let gate = |graph: &mut Graph, g: &mut Gen, input| {
            let (scale, shift) = (numbers(g, channels * 64, 4), numbers(g, channels * 64, 4));
            graph.push(Layer::Gate { input, scale, shift }).expect("it fits")
        };
        let gated = gate(&mut graph, g, INPUT);
        let first = conv(&mut graph, g, gated, None, Activation::Relu, true);
        // This value comes to the place where the first layer's input was.
        let gated = gate(&mut graph, g, first);
        let mut last = conv(&mut graph, g, gated, None, Activation::Mish, false);
        for _ in 0..2 {
            last = conv(&mut graph, g, gated, Some(last), Activation::None, false);
        }
        last = conv(&mut graph, g, last, Some(gated), Activation::Tanh, false);
        graph.output(Role::Policy, last).expect("any length");
        let input: Vec<f32> = (0..batch * channels * 64).map(|_| number(g)).collect();
        in_tiles_it_agrees(&graph, &input, &format!("{kernel}x{kernel}, {channels} channels"));
    }
}

/// Boards of as many squares as a chessboard has.
#[test]
fn of_boards_with_64_squares_only_a_chessboard_is_convolved_in_tiles() {
    let g = &mut Gen::new(100);
    for board in [(4, 16), (16, 4), (2, 32)] {
        let mut graph = on_board(80, board);
        let mut conv = |graph: &mut Graph, input, kernel, channels| {
            let fan_in = graph.shape(input).channels * kernel * kernel;
            let (weights, bias) = (numbers(g, channels * fan_in, fan_in), numbers(g, channels, 4));
            let (se, residual, activation) = (None, None, Activation::Relu);
            let conv = Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation };
            graph.push(conv).expect("it fits")
        };
        // Not the first layer, which reads planes.
        let first = conv(&mut graph, INPUT, 1, 100);
        let near = conv(&mut graph, first, 3, 100);
        assert_eq!(Ways::of(&graph), Ways { winograd: board != (2, 32), tiles: false }, "{board:?}");
        let last = conv(&mut graph, near, 1, 70);
        assert!(Ways::of(&graph).tiles, "a square at a time, they may lie as they like");
        graph.output(Role::Policy, last).expect("any length");
        let input: Vec<f32> = (0..9 * graph.input().len()).map(|_| number(g)).collect();
        agrees(forms(&graph).chain(in_tiles(&graph)), &graph, &input, &format!("{board:?}"));
    }
}

/// Layers that share weights and part them otherwise, as no file says.
#[test]
fn shared_weights_may_be_parted_in_several_ways() {
    let g = &mut Gen::new(100);
    let mut graph = Graph::new(Shape { channels: 32, squares: 1 });
    let weights = Arc::new(numbers(g, 64, 8));
    for (channels, heads, role) in [(32, 1, Role::Policy), (16, 1, Role::Scores), (32, 2, Role::Ownership)] {
        let indices = (0..channels).collect();
        let part = graph.push(Layer::Gather { input: INPUT, indices, squares: 1, residual: None }).expect("it fits");
        let weights = Arc::clone(&weights);
        let made = graph.push(Layer::Smolgen { input: part, heads, weights }).expect("it fits");
        graph.output(role, made).expect("any length");
    }
    let input: Vec<f32> = (0..9 * 32).map(|_| number(g)).collect();
    agrees(forms(&graph), &graph, &input, "shared weights");
}

/// One row, and more rows than a panel has; inputs that fill the steps, and inputs that don't.
#[test]
fn dense_layers_in_tiles_agree_with_plain() {
    let g = &mut Gen::new(100);
    for (part, heads, batch) in [(96, 8, 20), (97, 20, 8), (128, 3, 5), (256, 32, 8), (140, 13, 8)] {
        let mut graph = Graph::new(Shape { channels: part * heads, squares: 1 });
        let weights = numbers(g, 1000 * part, part).into();
        let layer = graph.push(Layer::Smolgen { input: INPUT, heads, weights }).expect("it fits");
        graph.output(Role::Policy, layer).expect("any length");
        let input: Vec<f32> = (0..batch * part * heads).map(|_| number(g)).collect();
        in_tiles_it_agrees(&graph, &input, &format!("smolgen, {heads} times {part}"));
    }
    for (inputs, channels, batch) in [(96, 64, 1), (300, 100, 20), (1030, 257, 3)] {
        let mut graph = Graph::new(Shape { channels: inputs, squares: 1 });
        let (weights, bias) = (numbers(g, channels * inputs, inputs), numbers(g, channels, 4));
        let activation = Activation::Swish;
        let layer = graph.push(Layer::Dense { input: INPUT, channels, weights, bias, activation }).expect("it fits");
        graph.output(Role::Policy, layer).expect("any length");
        let input: Vec<f32> = (0..batch * inputs).map(|_| number(g)).collect();
        in_tiles_it_agrees(&graph, &input, &format!("dense, {inputs} to {channels}"));
    }
}

/// A dense embedding, whose inputs are planes of pieces: with some pieces, with none, and with numbers all over the
/// board; in floats and in 16 bits, and with so many neurons that a team shares a position.
#[test]
fn dense_layers_of_planes_agree_with_plain() {
    let g = &mut Gen::new(100);
    for channels in [100, 6000] {
        let mut graph = Graph::new(Shape { channels: 3, squares: 64 });
        let indices: Vec<u32> = (0..128).map(|at| at % 64 * 2 + at / 64).collect();
        let inputs = indices.len();
        let pieces = graph.push(Layer::Gather { input: INPUT, indices, squares: 1, residual: None });
        let weights = linear16(g, channels * inputs, inputs);
        let (input, bias) = (pieces.expect("it fits"), numbers(g, channels, 4));
        let layer = Layer::Dense { input, channels, weights, bias, activation: Activation::Mish };
        let embedded = graph.push(layer).expect("it fits");
        graph.output(Role::Policy, embedded).expect("any length");
        assert_eq!(in_16_bits(&graph), usize::from(channels == 6000));
        let one_in = [20, 1, 8, 4, 1000, 3, 64, 5, 2];
        let one_in = one_in.into_iter().flat_map(|one_in| vec![one_in; graph.input().len()]);
        let input: Vec<f32> = one_in.map(|one_in| if below(g, one_in) == 0 { number(g) } else { 0.0 }).collect();
        agrees(forms(&graph), &graph, &input, &format!("{inputs} inputs of planes to {channels}"));
    }
}

/// Weights as a file in LINEAR16 gives them: the first two are the ends of the range.
fn linear16(g: &mut Gen, n: usize, fan_in: usize) -> Vec<f32> {
    let most = (3.0 / fan_in as f32).sqrt();
    let numbers = [0, u16::MAX].into_iter().chain(std::iter::from_fn(|| Some(u16::arbitrary(g))));
    numbers.take(n).map(|number| f32::from(number) / 65535.0).map(|t| -most * (1.0 - t) + most * t).collect()
}

/// How many dense layers of the graph's plan have weights in 16 bits.
fn in_16_bits(graph: &Graph) -> usize {
    let plan = Plan::new(graph, Ways::default()).expect("a plan");
    let linear = |step: &&plan::Step| match step {
        plan::Step::Dense(dense) => matches!(*dense.weights, plan::DenseWeights::Linear(..)),
        _ => false,
    };
    plan.steps.iter().filter(linear).count()
}

/// Weights of a file in LINEAR16 are kept in 16 bits, and no others; a position's bits are the same in batches of one
/// tile and of more.
#[test]
fn large_dense_layers_are_kept_in_16_bits() {
    let g = &mut Gen::new(100);
    for (inputs, channels) in [(1025, 513), (300, 1751)] {
        for rounded in [true, false] {
            let mut graph = Graph::new(Shape { channels: inputs, squares: 1 });
            let mut weights = linear16(g, channels * inputs, inputs);
            if !rounded {
                weights[1000] += 1e-5;
            }
            let (bias, activation) = (numbers(g, channels, 4), Activation::Swish);
            let layer =
                graph.push(Layer::Dense { input: INPUT, channels, weights, bias, activation }).expect("it fits");
            graph.output(Role::Policy, layer).expect("any length");
            assert_eq!(in_16_bits(&graph), usize::from(rounded));
            let input: Vec<f32> = (0..11 * inputs).map(|_| number(g)).collect();
            let expected = plain::evaluate(&graph, &input).expect("an evaluation");
            for mut host in hosts(&graph) {
                let got = run(&mut host, &input);
                assert_eq!(difference(&expected, &got), None, "{inputs} to {channels}, {}", host.describe());
                let alone = run(&mut host, &input[10 * inputs..]);
                assert!(got.policy.ends_with(&alone.policy), "{inputs} to {channels}, {}", host.describe());
            }
        }
    }
}
