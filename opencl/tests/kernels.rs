//! Every kernel, both variants and precisions, against the plain loops of the host.

#![cfg(feature = "opencl")]

mod common;

use common::{Random, conv, dense, device_is_there, first_difference, tower};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::device::{self, DeviceChoice, Session};
use oncilla_opencl::graph::{Activation, Graph, INPUT, Layer, Role, Shape, ValueId};
use oncilla_opencl::host::plain;
use oncilla_opencl::kernels::tuning::KNOBS;
use oncilla_opencl::kernels::{Precision, Tuning, Variant};
use oncilla_opencl::opencl::selftest::error;
use oncilla_opencl::opencl::{MAX_BATCH, OpenCl, Options};
use quickcheck::{Arbitrary, Gen, QuickCheck, TestResult};

/// Of a number, relative to numbers above one: what sums in another order differ by.
const TOLERANCE: f32 = 2e-5;

/// Both variants, with direct convolutions and with Winograd's.
fn tunings() -> impl Iterator<Item = Tuning> {
    [Variant::Cpu, Variant::Gpu]
        .into_iter()
        .flat_map(|variant| [0, 4].map(|winograd| Tuning { winograd, ..Tuning::start(variant, 8) }))
}

/// Runs `graph` on both variants, in both precisions, and on the reference at several batch sizes.
fn agree(graph: &Graph, batches: &[usize], random: &mut Random, what: &str) {
    for variant in [Variant::Cpu, Variant::Gpu] {
        let tuning = Tuning { winograd: random.pick(&[0, 2, 4]), ..Tuning::start(variant, 8) };
        for precision in [Precision::Fp32, Precision::Fp16] {
            if let Err(why) = compare(graph, batches, random, (tuning, precision)) {
                panic!("{what}: {why}");
            }
        }
    }
}

/// The first difference between one way of running `graph` and the reference.
fn compare(
    graph: &Graph,
    batches: &[usize],
    random: &mut Random,
    (tuning, precision): (Tuning, Precision),
) -> Result<(), String> {
    let max_batch = batches.iter().copied().max().unwrap_or(1);
    let options = Options { max_batch, tuning: Some(tuning), precision, self_check: false, ..Options::default() };
    let mut device = OpenCl::new(graph.clone(), &options).map_err(|e| format!("{tuning}: {e}"))?;
    for &batch in batches {
        let input: Vec<f32> = (0..batch * graph.input().len()).map(|_| random.float()).collect();
        let mut got = Outputs::default();
        device.evaluate(&input, &mut got).map_err(|e| format!("{tuning}: {e}"))?;
        let mut expected = plain::evaluate(graph, &input).expect("the reference runs every graph");
        for output in graph.outputs() {
            let (expected, got) = (expected.head_mut(output.role), got.head_mut(output.role));
            let difference = match precision {
                Precision::Fp32 => first_difference(expected, got, TOLERANCE),
                // Rounded weights: an error is a share of what was added up, not of what came out.
                Precision::Fp16 => Some(error(expected, got)).filter(|e| *e > precision.bound()).map(|e| e.to_string()),
            };
            if let Some(difference) = difference {
                return Err(format!("{tuning}, {precision}, batch {batch}, {:?}: {difference}", output.role));
            }
        }
    }
    Ok(())
}

/// One convolution of odd size, with what may be fused into it, and a way of running it.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    side: usize,
    channels: [usize; 2],
    kernel: usize,
    hidden: Option<usize>,
    residual: bool,
    activation: Activation,
    batch: usize,
    tuning: Tuning,
    precision: Precision,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let random = &mut Random(u64::arbitrary(g));
        let mut tuning = Tuning::start(random.pick(&[Variant::Cpu, Variant::Gpu]), 8);
        for knob in &KNOBS {
            tuning = knob.set(tuning, random.pick(knob.values));
        }
        Self {
            seed: random.next(),
            side: random.pick(&[8, 8, 8, 1, 3, 5, 9]),
            channels: [1 + random.below(20), 1 + random.below(40)],
            kernel: random.pick(&[1, 3, 3, 3]),
            hidden: random.pick(&[None, None, Some(1), Some(5)]),
            residual: random.pick(&[false, true]),
            activation: random.pick(&Activation::ELEMENTWISE),
            batch: random.pick(&[1, 3]),
            tuning: Tuning { winograd_from: random.pick(&[1, 2]), ..tuning },
            precision: random.pick(&[Precision::Fp32, Precision::Fp16]),
        }
    }
}

impl Case {
    /// A convolution of planes, and the one in question of what it made.
    fn graph(&self) -> Graph {
        let random = &mut Random(self.seed);
        let mut graph = Graph::new(Shape { channels: self.channels[0], squares: self.side * self.side });
        let to = self.channels[1];
        let x = conv(&mut graph, random, (INPUT, to, self.kernel), None, None, Activation::Tanh);
        let residual = self.residual.then_some(x);
        let y = conv(&mut graph, random, (x, to, self.kernel), self.hidden, residual, self.activation);
        output(graph, y)
    }

    fn agrees(&self) -> Result<(), String> {
        let random = &mut Random(self.seed);
        // Batches of one and three on one object: with `winograd_from` 2 they take different ways.
        compare(&self.graph(), &[self.batch, 4 - self.batch], random, (self.tuning, self.precision))
    }
}

#[test]
fn every_tuning_of_a_convolution_agrees() {
    if !device_is_there() {
        return;
    }
    // Few: a tuning that was never run is compiled for seconds.
    QuickCheck::new().tests(8).quickcheck(
        (|case: Case| case.agrees().map_or_else(TestResult::error, |()| TestResult::passed()))
            as fn(Case) -> TestResult,
    );
}

fn output(mut graph: Graph, value: ValueId) -> Graph {
    graph.output(Role::Policy, value).expect("a policy has any length");
    graph
}

#[test]
fn convolutions_of_odd_shapes_agree() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(1);
    for case in 0..6 {
        let side = random.pick(&[8, 8, 8, 1, 5, 19]);
        let kernel = random.pick(&[1, 3]);
        let mut graph = Graph::new(Shape { channels: 1 + random.below(20), squares: side * side });
        // The first reads planes, the second what the first made, with a residual.
        let channels = 1 + random.below(40);
        let (first, second) = (random.pick(&Activation::ELEMENTWISE), random.pick(&Activation::ELEMENTWISE));
        let x = conv(&mut graph, random, (INPUT, channels, kernel), None, None, first);
        let residual = random.pick(&[None, Some(x)]);
        let y = conv(&mut graph, random, (x, channels, 4 - kernel), None, residual, second);
        let graph = output(graph, y);
        let batch = 1 + random.below(9);
        let what = format!("case {case}: side {side}, {} to {channels} channels", graph.input().channels);
        agree(&graph, &[batch], random, &what);
    }
}

#[test]
fn a_pointwise_convolution_needs_no_square_board() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(17);
    let mut graph = Graph::new(Shape { channels: 5, squares: 21 });
    let x = conv(&mut graph, random, (INPUT, 9, 1), None, None, Activation::Relu);
    agree(&output(graph, x), &[1, 4], random, "21 squares");
}

#[test]
fn a_residual_may_be_the_input() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(2);
    for hidden in [None, Some(3)] {
        let mut graph = Graph::new(Shape { channels: 11, squares: 64 });
        let y = conv(&mut graph, random, (INPUT, 11, 3), hidden, Some(INPUT), Activation::Relu);
        agree(&output(graph, y), &[3], random, "residual of planes");
    }
}

#[test]
fn squeeze_and_excitation_agrees() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(3);
    for case in 0..5 {
        let side = random.pick(&[8, 8, 5]);
        let channels = 1 + random.below(70);
        let hidden = 1 + random.below(20);
        let activation = random.pick(&Activation::ELEMENTWISE);
        let mut graph = Graph::new(Shape { channels: 6, squares: side * side });
        let x = conv(&mut graph, random, (INPUT, channels, 1), None, None, Activation::Relu);
        let residual = random.pick(&[None, Some(x)]);
        let y = conv(&mut graph, random, (x, channels, 3), Some(hidden), residual, activation);
        let batch = 1 + random.below(9);
        agree(&output(graph, y), &[batch], random, &format!("case {case}: {channels} channels, {hidden} hidden"));
    }
}

#[test]
fn dense_layers_agree() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(4);
    for case in 0..4 {
        let mut graph = Graph::new(Shape { channels: 1 + random.below(30), squares: random.pick(&[1, 9, 64]) });
        let channels = 1 + random.below(40);
        let x = conv(&mut graph, random, (INPUT, channels, 1), None, None, Activation::Tanh);
        let from = random.pick(&[INPUT, x]);
        let (hidden, last) = (1 + random.below(50), 1 + random.below(30));
        let activation = random.pick(&Activation::ELEMENTWISE);
        let y = dense(&mut graph, random, from, hidden, activation);
        let y = dense(&mut graph, random, y, last, Activation::Softmax);
        agree(&output(graph, y), &[1, 2, 3, 4, 5, 9], random, &format!("case {case}"));
    }
}

/// Every kernel on shapes so small that an interpreter such as Oclgrind is through in a minute: see `ci/oclgrind`.
#[test]
fn tiny_shapes_of_every_kernel_agree() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(22);
    let graphs = [tiny_convolutions(random), tiny_vectors(random), tiny_attention(random)];
    for (tuning, precision) in [
        (Tuning { winograd: 0, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp32),
        (Tuning { winograd: 4, rows: 8, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp32),
        (Tuning { winograd: 2, vectors: 1, vector: 4, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp16),
        (Tuning { winograd: 0, columns: 4, lanes: 32, ..Tuning::start(Variant::Gpu, 1) }, Precision::Fp32),
        (Tuning { winograd: 4, columns: 4, lanes: 32, ..Tuning::start(Variant::Gpu, 1) }, Precision::Fp32),
        (Tuning { winograd: 2, columns: 4, lanes: 32, ..Tuning::start(Variant::Gpu, 1) }, Precision::Fp16),
    ] {
        for (what, graph) in ["convolutions", "vectors", "attention"].iter().zip(&graphs) {
            if let Err(why) = compare(graph, &[1, 3], random, (tuning, precision)) {
                panic!("{what}: {why}");
            }
        }
    }
}

fn tiny_convolutions(random: &mut Random) -> Graph {
    let mut graph = Graph::new(Shape { channels: 2, squares: 25 });
    let x = conv(&mut graph, random, (INPUT, 9, 3), None, None, Activation::Relu);
    let y = conv(&mut graph, random, (x, 9, 3), Some(3), Some(x), Activation::Mish);
    let y = conv(&mut graph, random, (y, 5, 1), None, None, Activation::Relu);
    let z = conv(&mut graph, random, (INPUT, 5, 1), None, Some(y), Activation::Tanh);
    output(graph, z)
}

fn tiny_vectors(random: &mut Random) -> Graph {
    let mut graph = Graph::new(Shape { channels: 3, squares: 4 });
    let x = dense(&mut graph, random, INPUT, 11, Activation::Swish);
    let indices = (0..11).rev().collect();
    let y = graph.push(Layer::Gather { input: x, indices, squares: 1, residual: Some(x) }).expect("it fits");
    let (gammas, betas) = (random.floats(11, 4), random.floats(11, 4));
    let y = graph.push(Layer::LayerNorm { input: y, epsilon: 0.1, gammas, betas }).expect("it fits");
    let y = dense(&mut graph, random, y, 5, Activation::Softmax);
    output(graph, y)
}

fn tiny_attention(random: &mut Random) -> Graph {
    let (squares, heads) = (9, 2);
    let mut graph = Graph::new(Shape { channels: 6, squares });
    let (scale, shift) = (random.floats(6 * squares, 4), random.floats(6 * squares, 4));
    let gated = graph.push(Layer::Gate { input: INPUT, scale, shift }).expect("it fits");
    let (gammas, betas) = (random.floats(6, 4), random.floats(6, 4));
    let x = graph.push(Layer::LayerNorm { input: gated, epsilon: 0.1, gammas, betas }).expect("it fits");
    let constant = Layer::Constant { shape: Shape { channels: 6, squares }, values: random.floats(6 * squares, 4) };
    let key = graph.push(constant).expect("it fits");
    let parts = dense(&mut graph, random, x, 3 * heads, Activation::Relu);
    let weights = random.floats(squares * squares * 3, 3).into();
    let bias = graph.push(Layer::Smolgen { input: parts, heads, weights }).expect("it fits");
    let y = Layer::Attention { query: x, key, value: gated, heads, bias: Some(bias) };
    let y = graph.push(y).expect("it fits");
    let y = graph.push(Layer::Scores { query: y, key: x }).expect("it fits");
    output(graph, y)
}

#[test]
fn gathering_agrees() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(5);
    for from_conv in [false, true] {
        let mut graph = Graph::new(Shape { channels: 13, squares: 64 });
        let mut x = INPUT;
        if from_conv {
            x = conv(&mut graph, random, (INPUT, 21, 1), None, None, Activation::None);
        }
        let len = graph.shape(x).len();
        let indices = (0..100).map(|_| random.below(len) as u32).collect();
        let y = graph
            .push(Layer::Gather { input: x, indices, squares: 1, residual: None })
            .expect("the indices are inside");
        agree(&output(graph, y), &[1, 7], random, "gather");
    }
}

#[test]
fn norms_gates_and_constants_agree() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(18);
    for squares in [64, 1, 25] {
        let mut graph = Graph::new(Shape { channels: 11, squares });
        let mut x = INPUT;
        for channels in [11, 37] {
            // What a convolution made lies in blocks, the input does not.
            let shape = Shape { channels, squares };
            let (scale, shift) = (random.floats(shape.len(), 4), random.floats(shape.len(), 4));
            let y = graph.push(Layer::Gate { input: x, scale, shift }).expect("it fits");
            let (gammas, betas) = (random.floats(channels, 4), random.floats(channels, 4));
            let y = graph.push(Layer::LayerNorm { input: y, epsilon: 0.1, gammas, betas }).expect("it fits");
            let constant =
                Layer::Constant { shape: Shape { channels: 37, squares }, values: random.floats(37 * squares, 4) };
            let constant = graph.push(constant).expect("it fits");
            x = conv(&mut graph, random, (y, 37, 1), None, Some(constant), Activation::Selu);
        }
        let (gammas, betas) = (random.floats(37, 4), random.floats(37, 4));
        let y = graph.push(Layer::LayerNorm { input: x, epsilon: 0.1, gammas, betas }).expect("it fits");
        agree(&output(graph, y), &[1, 6], random, &format!("{squares} squares"));
    }
}

#[test]
fn attention_agrees() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(19);
    for (squares, heads, with_bias) in [(64, 3, true), (64, 1, false), (25, 2, true), (1, 5, true)] {
        let mut graph = Graph::new(Shape { channels: 7 * heads, squares });
        let query = conv(&mut graph, random, (INPUT, 7 * heads, 1), None, None, Activation::None);
        let value = conv(&mut graph, random, (INPUT, 3 * heads, 1), None, None, Activation::Swish);
        let bias = with_bias.then(|| {
            let parts = dense(&mut graph, random, INPUT, 5 * heads, Activation::Swish);
            let weights = random.floats(squares * squares * 5, 5).into();
            graph.push(Layer::Smolgen { input: parts, heads, weights }).expect("it fits")
        });
        let attention = Layer::Attention { query, key: INPUT, value, heads, bias };
        let y = graph.push(attention).expect("it fits");
        let scores = graph.push(Layer::Scores { query, key: INPUT }).expect("it fits");
        agree(&output(graph.clone(), y), &[1, 5], random, &format!("{heads} heads on {squares} squares"));
        agree(&output(graph, scores), &[1, 5], random, &format!("scores of {squares} squares"));
    }
}

#[test]
fn a_whole_network_agrees_at_every_batch_size() {
    if !device_is_there() {
        return;
    }
    let batches: Vec<usize> = (1..=9).collect();
    agree(&tower(6, 8, 24, 2, Activation::Relu), &batches, &mut Random(7), "relu tower");
    agree(&tower(8, 8, 16, 1, Activation::Mish), &[4], &mut Random(9), "mish tower");
}

#[test]
fn a_batch_gives_what_its_positions_give_alone() {
    if !device_is_there() {
        return;
    }
    let graph = tower(10, 8, 16, 1, Activation::Relu);
    let random = &mut Random(11);
    let each = graph.input().len();
    let input: Vec<f32> = (0..9 * each).map(|_| random.float()).collect();
    for tuning in tunings() {
        let options = Options { max_batch: 9, tuning: Some(tuning), ..Options::default() };
        let mut device = OpenCl::new(graph.clone(), &options).expect("a device that is there runs the graph");
        let (mut all, mut alone) = (Outputs::default(), Outputs::default());
        device.evaluate(&input, &mut all).expect("a batch of nine");
        for (n, position) in input.chunks_exact(each).enumerate() {
            device.evaluate(position, &mut alone).expect("a batch of one");
            let policy = &all.policy[n * alone.policy.len()..][..alone.policy.len()];
            assert_eq!(first_difference(&alone.policy, policy, 1e-5), None, "{tuning}, position {n}");
            assert_eq!(first_difference(&alone.wdl, &all.wdl[3 * n..3 * n + 3], 1e-5), None);
        }
    }
}

#[test]
fn an_output_that_is_not_finite_is_an_error() {
    if !device_is_there() {
        return;
    }
    let mut graph = Graph::new(Shape { channels: 2, squares: 64 });
    let x = conv(&mut graph, &mut Random(12), (INPUT, 2, 3), None, None, Activation::Relu);
    let graph = output(graph, x);
    for tuning in tunings() {
        let options = Options { tuning: Some(tuning), ..Options::default() };
        let mut device = OpenCl::new(graph.clone(), &options).expect("a device that is there runs the graph");
        let mut input = vec![0.0; 128];
        input[70] = f32::NAN;
        let error = device.evaluate(&input, &mut Outputs::default()).expect_err("NaN goes in, so that NaN comes out");
        assert!(error.0.contains("Policy is not finite"), "{error}");
        input[70] = 0.0;
        device.evaluate(&input, &mut Outputs::default()).expect("the device goes on after a bad batch");
    }
}

#[test]
fn a_batch_of_the_wrong_size_is_an_error() {
    if !device_is_there() {
        return;
    }
    let graph = tower(13, 8, 8, 1, Activation::Relu);
    let options = Options { max_batch: 2, ..Options::default() };
    let each = graph.input().len();
    let mut device = OpenCl::new(graph, &options).expect("a device that is there runs the graph");
    for len in [0, 1, each - 1, each + 1, 3 * each] {
        assert!(device.evaluate(&vec![0.0; len], &mut Outputs::default()).is_err(), "{len} numbers");
    }
}

#[test]
fn too_little_memory_is_said_before_anything_is_allocated() {
    if !device_is_there() {
        return;
    }
    // A terabyte of input.
    let mut graph = Graph::new(Shape { channels: 1 << 16, squares: 64 });
    let x = conv(&mut graph, &mut Random(14), (INPUT, 1, 1), None, None, Activation::Relu);
    let options = Options { max_batch: MAX_BATCH, ..Options::default() };
    let error = OpenCl::new(output(graph, x), &options).expect_err("no device has that much");
    assert!(error.0.contains("needed") && error.0.contains("available") && !error.0.contains('\n'), "{error}");
}

#[test]
fn a_batch_that_the_kernels_can_not_count_is_refused() {
    if !device_is_there() {
        return;
    }
    let graph = tower(14, 8, 8, 1, Activation::Relu);
    for max_batch in [0, MAX_BATCH + 1, usize::MAX] {
        let options = Options { max_batch, ..Options::default() };
        assert!(OpenCl::new(graph.clone(), &options).is_err(), "{max_batch}");
    }
}

#[test]
fn a_board_that_is_not_square_is_refused() {
    if !device_is_there() {
        return;
    }
    let mut graph = Graph::new(Shape { channels: 2, squares: 60 });
    let x = conv(&mut graph, &mut Random(15), (INPUT, 2, 3), None, None, Activation::Relu);
    let error = OpenCl::new(output(graph, x), &Options::default()).expect_err("60 squares are no square board");
    assert!(error.0.contains("3x3 convolution needs a square board, got 60 squares"), "{error}");
}

#[test]
fn a_device_that_is_not_there_is_named() {
    if !device_is_there() {
        return;
    }
    let options = Options { device: DeviceChoice::from("no such device"), ..Options::default() };
    let graph = tower(16, 8, 8, 1, Activation::Relu);
    let error = OpenCl::new(graph, &options).expect_err("nothing has that name");
    assert!(error.0.starts_with("device \"no such device\": expected an index or part of a name of: 0 "), "{error}");
}

#[test]
fn a_program_that_does_not_compile_shows_what_the_compiler_said() {
    if !device_is_there() {
        return;
    }
    let device = device::choose(&DeviceChoice::Auto).expect("a device that is there");
    let session = Session::open(&device).expect("a device that is there opens");
    let error = session.program("broken", "kernel void f() { return no_such_name; }", "").expect_err("a wrong program");
    let line = error.to_string();
    assert!(line.contains("broken.cl") && line.contains("no_such_name") && !line.contains('\n'), "{line}");
}

#[test]
fn a_self_test_finds_nothing_wrong_and_names_every_layer() {
    if !device_is_there() {
        return;
    }
    let graph = tower(20, 8, 12, 1, Activation::Mish);
    for tuning in tunings() {
        let options = Options { max_batch: 2, tuning: Some(tuning), self_check: false, ..Options::default() };
        let mut device = OpenCl::new(graph.clone(), &options).expect("a device that is there runs the graph");
        let random = &mut Random(21);
        let input: Vec<f32> = (0..2 * graph.input().len()).map(|_| random.float()).collect();
        let mut heard = 0;
        let found = device.self_test(&input, |_| heard += 1).expect("a batch of two");
        assert!(found.worst() < TOLERANCE, "{tuning}: {found:?}");
        assert_eq!((found.layers.len(), found.heads.len(), heard), (graph.layers().len(), 3, graph.layers().len()));
    }
}
