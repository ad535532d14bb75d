//! Compares every kernel, in every precision, on shapes and with tunings that quickcheck makes up, with the plain loops
//! of the host.
//!
//! With `ONCILLA_TEST_TINY=1` shapes are so small that even an OpenCL implementation that interprets, or one that takes
//! minutes for a large kernel, gets through: see `ci/second-opencl`.

#![cfg(feature = "opencl")]

mod common;

use common::{Random, Way, agrees, conv, dense, device_is_there, output};
use oncilla_opencl::graph::{Activation, Graph, INPUT, Layer, Shape, ValueId};
use oncilla_opencl::kernels::tuning::KNOBS;
use oncilla_opencl::kernels::{Precision, Tuning, Variant};
use quickcheck::{Arbitrary, Gen, QuickCheck, TestResult};

/// How a graph is run, and the seed that its shapes and numbers come from.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    way: Way,
}

fn is_tiny() -> bool {
    std::env::var("ONCILLA_TEST_TINY").as_deref() == Ok("1")
}

/// Numbers of ranks and files that differ, some of them not divided by any tile.
fn rectangle(random: &mut Random) -> (usize, usize) {
    match is_tiny() {
        true => random.pick(&[(3, 5), (4, 2), (1, 6)]),
        false => random.pick(&[(13, 9), (5, 7), (4, 8), (7, 19), (1, 6)]),
    }
}

/// The input of a convolution over more than one square: a square board or another one.
fn any_board(random: &mut Random, most_channels: usize) -> Graph {
    let ((ranks, files), square) = (rectangle(random), square_board(random));
    let squares = random.pick(&[square, ranks * files]);
    Graph::new(Shape { channels: up_to(random, most_channels), squares }).on_board(ranks, files)
}

/// A number from 1 to `most`.
fn up_to(random: &mut Random, most: usize) -> usize {
    1 + random.below(if is_tiny() { most.min(9) } else { most })
}

/// The number of squares of a square board, some with odd sides.
fn square_board(random: &mut Random) -> usize {
    if is_tiny() { random.pick(&[1, 9, 25]) } else { random.pick(&[64, 64, 64, 1, 9, 25, 81]) }
}

/// Any number of squares, for kernels to which their arrangement does not matter.
fn squares(random: &mut Random) -> usize {
    if is_tiny() { random.pick(&[1, 2, 9, 12]) } else { random.pick(&[64, 64, 1, 2, 21, 25, 60, 81]) }
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let random = &mut Random(u64::arbitrary(g));
        let mut tuning = Tuning::start(random.pick(&[Variant::Cpu, Variant::Gpu]), 8);
        for knob in &KNOBS {
            tuning = knob.set(tuning, random.pick(knob.values));
        }
        let precision = random.pick(&[Precision::Fp32, Precision::Fp16, Precision::Int8]);
        let first = random.pick(&[1, 3]);
        Self { seed: random.next(), way: Way { tuning, precision, batches: [first, 4 - first] } }
    }
}

/// Defines a test for each kernel: it runs `count` graphs, which `build` makes from seeds.
macro_rules! kernels {
    ($($test:ident: $count:expr, $build:expr;)*) => { $(
        #[test]
        fn $test() {
            fn property(case: Case) -> TestResult {
                let random = &mut Random(case.seed);
                let build: fn(&mut Random) -> Graph = $build;
                let graph = build(random);
                agrees(graph, &case.way, random).map_or_else(TestResult::error, |()| TestResult::passed())
            }
            if device_is_there() {
                QuickCheck::new().tests($count).quickcheck(property as fn(Case) -> TestResult);
            }
        }
    )* };
}

// The counts are as large as the time for compiling allows: convolutions and attention are compiled for their board.
kernels! {
    convolutions_agree: 6, |random| convolution(random, false);
    squeeze_and_excitation_agrees: 4, |random| convolution(random, true);
    dense_layers_agree: 8, dense_layer;
    softmaxes_agree: 4, softmax;
    gathers_agree: 6, gather;
    gates_and_constants_agree: 6, gate_and_constant;
    layer_norms_agree: 6, layer_norm;
    rms_norms_agree: 6, rms_norm;
    rotations_agree: 4, rotation;
    products_agree: 4, product;
    attention_agrees: 4, attention;
    smolgens_agree: 4, smolgen;
    scores_agree: 4, scores;
    convolutions_of_five_agree: 4, convolution_of_five;
    convolutions_of_rectangles_agree: 6, convolution_of_a_rectangle;
    affine_layers_agree: 8, affine;
    pools_agree: 6, pool;
}

/// A convolution of planes, and one of its output, with what may be fused into them.
fn convolution(random: &mut Random, squeezes: bool) -> Graph {
    let kernel = random.pick(&[1, 3, 3, 3]);
    let squares = if kernel == 1 { squares(random) } else { square_board(random) };
    let mut graph = Graph::new(Shape { channels: up_to(random, 20), squares });
    let channels = up_to(random, 40);
    let (first, second) = (random.pick(&[Activation::Tanh, Activation::Relu]), random.pick(&Activation::ELEMENTWISE));
    let x = conv(&mut graph, random, (INPUT, channels, kernel), None, None, first);
    let hidden = squeezes.then(|| up_to(random, 20));
    let residual = random.pick(&[None, Some(x)]);
    let y = conv(&mut graph, random, (x, channels, kernel), hidden, residual, second);
    output(graph, y)
}

/// The first layer of a network of Go, and one that no network has: a 5×5 convolution of the first one's output.
fn convolution_of_five(random: &mut Random) -> Graph {
    let mut graph = any_board(random, 22);
    let channels = up_to(random, 30);
    let x = conv(&mut graph, random, (INPUT, channels, 5), None, None, Activation::Tanh);
    let (residual, activation) = (random.pick(&[None, Some(x)]), random.pick(&Activation::ELEMENTWISE));
    let y = conv(&mut graph, random, (x, channels, 5), None, residual, activation);
    output(graph, y)
}

/// Convolutions of all kinds one after the other, direct ones and Winograd's.
fn convolution_of_a_rectangle(random: &mut Random) -> Graph {
    let (ranks, files) = rectangle(random);
    let mut graph = Graph::new(Shape { channels: up_to(random, 20), squares: ranks * files }).on_board(ranks, files);
    let channels = up_to(random, 30);
    let x = conv(&mut graph, random, (INPUT, channels, 3), None, None, Activation::Tanh);
    let hidden = random.pick(&[false, true]).then(|| up_to(random, 20));
    let (residual, activation) = (random.pick(&[None, Some(x)]), random.pick(&Activation::ELEMENTWISE));
    let y = conv(&mut graph, random, (x, channels, 3), hidden, residual, activation);
    let z = conv(&mut graph, random, (y, channels, 1), None, None, Activation::None);
    output(graph, z)
}

/// A board that is plain because it is the input, or one that may lie in blocks because a 3×3 convolution made it.
fn board_in_any_order(random: &mut Random) -> (Graph, ValueId) {
    let mut graph = any_board(random, 30);
    let channels = up_to(random, 40);
    let made = conv(&mut graph, random, (INPUT, channels, 3), None, None, Activation::Tanh);
    let value = random.pick(&[INPUT, made]);
    (graph, value)
}

/// An affine layer, read either by a layer that takes any order, or by one that takes only a plain value.
fn affine(random: &mut Random) -> Graph {
    let (mut graph, x) = board_in_any_order(random);
    let shape = graph.shape(x);
    let channels = shape.channels;
    let vector = random.pick(&[false, true]).then(|| dense(&mut graph, random, INPUT, channels, Activation::Tanh));
    let (scale, shift, activation) =
        (random.floats(channels, 4), random.floats(channels, 4), random.pick(&Activation::ELEMENTWISE));
    let y = graph.push(Layer::Affine { input: x, added: vector, scale, shift, activation }).expect("it fits");
    let z = match random.below(3) {
        0 => y,
        1 => conv(&mut graph, random, (y, 5, 3), None, None, Activation::None),
        _ => {
            let (scale, shift) = (random.floats(shape.len(), 4), random.floats(shape.len(), 4));
            graph.push(Layer::Gate { input: y, scale, shift }).expect("it fits")
        }
    };
    output(graph, z)
}

fn pool(random: &mut Random) -> Graph {
    let (mut graph, x) = board_in_any_order(random);
    let y = graph.push(Layer::Pool { input: x }).expect("it fits");
    output(graph, y)
}

/// A value with squares: the input, which is plain, or a convolution's output, which may lie in blocks.
fn plain_or_blocked(graph: &mut Graph, random: &mut Random) -> ValueId {
    match random.below(2) {
        0 => INPUT,
        _ => {
            let channels = up_to(random, 40);
            conv(graph, random, (INPUT, channels, 1), None, None, Activation::Tanh)
        }
    }
}

fn board(random: &mut Random) -> Graph {
    let (channels, squares) = (up_to(random, 30), squares(random));
    Graph::new(Shape { channels, squares })
}

fn dense_layer(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let x = plain_or_blocked(&mut graph, random);
    let (channels, activation) = (up_to(random, 50), random.pick(&Activation::ELEMENTWISE));
    let y = dense(&mut graph, random, x, channels, activation);
    output(graph, y)
}

fn softmax(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let channels = up_to(random, 50);
    let y = dense(&mut graph, random, INPUT, channels, Activation::Softmax);
    output(graph, y)
}

fn gather(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let x = plain_or_blocked(&mut graph, random);
    let len = graph.shape(x).len();
    let (channels, squares) = (up_to(random, 12), random.pick(&[1, graph.input().squares]));
    let mut pick = |residual| {
        let indices = (0..channels * squares).map(|_| random.below(len) as u32).collect();
        graph.push(Layer::Gather { input: x, indices, squares, residual }).expect("it fits")
    };
    let first = pick(None);
    let second = pick(Some(first));
    output(graph, second)
}

fn gate_and_constant(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let x = plain_or_blocked(&mut graph, random);
    let shape = graph.shape(x);
    let (scale, shift) = (random.floats(shape.len(), 4), random.floats(shape.len(), 4));
    let gated = graph.push(Layer::Gate { input: x, scale, shift }).expect("it fits");
    let constant = graph.push(Layer::Constant { shape, values: random.floats(shape.len(), 4) }).expect("it fits");
    let indices = (0..shape.len() as u32).rev().collect();
    let sum = Layer::Gather { input: gated, indices, squares: shape.squares, residual: Some(constant) };
    let sum = graph.push(sum).expect("it fits");
    output(graph, sum)
}

fn layer_norm(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let x = plain_or_blocked(&mut graph, random);
    let channels = graph.shape(x).channels;
    let (gammas, betas) = (random.floats(channels, 4), random.floats(channels, 4));
    // Larger than Lc0's: where channels are nearly equal, a norm magnifies their rounding.
    let y = graph.push(Layer::LayerNorm { input: x, epsilon: 0.1, gammas, betas }).expect("it fits");
    output(graph, y)
}

fn rms_norm(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let x = plain_or_blocked(&mut graph, random);
    let whole = random.pick(&[false, true]);
    let y = graph.push(Layer::RmsNorm { input: x, epsilon: 0.1, whole }).expect("it fits");
    output(graph, y)
}

fn rotation(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let channels = 2 * up_to(random, 20);
    let x = conv(&mut graph, random, (INPUT, channels, 1), None, None, Activation::Tanh);
    let angles = random.floats(channels / 2 * graph.input().squares, 1);
    let y = graph.push(Layer::Rotate { input: x, angles }).expect("it fits");
    output(graph, y)
}

/// The product of two values, and of a value with itself.
fn product(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let x = plain_or_blocked(&mut graph, random);
    let channels = graph.shape(x).channels;
    let right = conv(&mut graph, random, (INPUT, channels, 1), None, None, Activation::Swish);
    let y = graph.push(Layer::Multiply { left: x, right }).expect("it fits");
    let z = graph.push(Layer::Multiply { left: y, right: y }).expect("it fits");
    output(graph, z)
}

/// A bias for each head, made from a vector.
fn bias(graph: &mut Graph, random: &mut Random, heads: usize, outputs: usize) -> ValueId {
    let part = up_to(random, 9);
    let input = dense(graph, random, INPUT, heads * part, Activation::Swish);
    let weights = random.floats(outputs * part, part).into();
    graph.push(Layer::Smolgen { input, heads, weights }).expect("it fits")
}

fn smolgen(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let (heads, outputs) = (up_to(random, 9), up_to(random, 300));
    let y = bias(&mut graph, random, heads, outputs);
    output(graph, y)
}

fn attention(random: &mut Random) -> Graph {
    let (heads, squares) = (up_to(random, 5), squares(random));
    let depth = heads * up_to(random, 9);
    let mut graph = Graph::new(Shape { channels: depth, squares });
    let query = conv(&mut graph, random, (INPUT, depth, 1), None, None, Activation::None);
    let width = heads * up_to(random, 9);
    let value = conv(&mut graph, random, (INPUT, width, 1), None, None, Activation::Swish);
    let bias = random.pick(&[false, true]).then(|| bias(&mut graph, random, heads, squares * squares));
    let y = graph.push(Layer::Attention { query, key: INPUT, value, heads, bias }).expect("it fits");
    output(graph, y)
}

fn scores(random: &mut Random) -> Graph {
    let mut graph = board(random);
    let channels = graph.input().channels;
    let query = conv(&mut graph, random, (INPUT, channels, 1), None, None, Activation::None);
    let y = graph.push(Layer::Scores { query, key: INPUT }).expect("it fits");
    output(graph, y)
}
