//! Compares whole networks and hard cases on a device with the plain loops of the host, and tests what is refused.
//! `every_kernel.rs` tests kernel by kernel.

#![cfg(feature = "opencl")]

mod common;

use common::{Random, TOLERANCE, Way, agrees, conv, dense, device_is_there, first_difference, go, output, tower};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::device::{self, DeviceChoice, Session};
use oncilla_opencl::graph::{Activation, Graph, INPUT, Layer, Shape, ValueId};
use oncilla_opencl::host::plain;
use oncilla_opencl::kernels::{Precision, Tuning, Variant};
use oncilla_opencl::opencl::{MAX_BATCH, OpenCl, Options};

/// Both variants, with direct convolutions and with Winograd's.
fn tunings() -> impl Iterator<Item = Tuning> {
    [Variant::Cpu, Variant::Gpu]
        .into_iter()
        .flat_map(|variant| [0, 4].map(|winograd| Tuning { winograd, ..Tuning::start(variant, 8) }))
}

/// Runs `graph` on both variants, in every precision, and compares with the reference.
fn agree(graph: &Graph, batches: [usize; 2], random: &mut Random, what: &str) {
    for variant in [Variant::Cpu, Variant::Gpu] {
        let (winograd, network) = (random.pick(&[0, 2, 4]), random.pick(&[0, 1]));
        let tuning = Tuning { winograd, network, ..Tuning::start(variant, 8) };
        for precision in [Precision::Fp32, Precision::Fp16, Precision::Int8] {
            if let Err(why) = agrees(graph.clone(), &Way { tuning, precision, batches }, random) {
                panic!("{what}: {why}");
            }
        }
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
    agree(&output(graph, x), [1, 4], random, "21 squares");
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
        agree(&output(graph, y), [1, 3], random, "residual of planes");
    }
}

/// Every kernel on shapes so small that an interpreter such as Oclgrind gets through in a minute: see `ci/oclgrind`.
#[test]
fn tiny_shapes_of_every_kernel_agree() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random(22);
    let graphs = [
        ("convolutions", tiny_convolutions(random, 5)),
        ("convolutions in fours", tiny_convolutions(random, 4)),
        ("vectors", tiny_vectors(random)),
        ("attention", tiny_attention(random)),
        ("Go", go(23, (3, 5), [2, 3, 9])),
    ];
    // A chessboard that one group of a GPU takes through the network.
    let way = Way {
        tuning: Tuning { network: 1, ..Tuning::start(Variant::Gpu, 1) },
        precision: Precision::Fp32,
        batches: [1, 2],
    };
    agrees(tiny_convolutions(random, 8), &way, random).unwrap_or_else(|why| panic!("a chessboard: {why}"));
    agrees(go(24, (8, 8), [2, 3, 5]), &way, random).unwrap_or_else(|why| panic!("Go on a chessboard: {why}"));
    let gpu = Tuning { columns: 4, lanes: 32, ..Tuning::start(Variant::Gpu, 1) };
    for (tuning, precision) in [
        (Tuning { winograd: 0, network: 0, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp32),
        (Tuning { winograd: 0, network: 1, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp32),
        (Tuning { winograd: 4, rows: 8, network: 0, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp32),
        (Tuning { winograd: 4, rows: 8, network: 1, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp32),
        (Tuning { winograd: 2, vectors: 1, vector: 4, network: 0, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp16),
        (Tuning { winograd: 2, vectors: 1, vector: 4, network: 1, ..Tuning::start(Variant::Cpu, 8) }, Precision::Fp16),
        (Tuning { winograd: 2, vector: 4, ..Tuning::start(Variant::Cpu, 8) }, Precision::Int8),
        (Tuning { winograd: 0, ..gpu }, Precision::Fp32),
        (Tuning { winograd: 4, ..gpu }, Precision::Fp32),
        (Tuning { winograd: 4, item_rows: 8, item_channels: 8, depth: 16, ..gpu }, Precision::Fp32),
        (Tuning { winograd: 2, depth: 0, ..gpu }, Precision::Fp16),
        (Tuning { network: 1, ..gpu }, Precision::Fp32),
        (gpu, Precision::Int8),
        (Tuning { item_rows: 8, depth: 0, ..gpu }, Precision::Int8),
    ] {
        for (what, graph) in &graphs {
            let way = Way { tuning, precision, batches: [1, 3] };
            if let Err(why) = agrees(graph.clone(), &way, random) {
                panic!("{what}: {why}");
            }
        }
    }
}

fn tiny_convolutions(random: &mut Random, side: usize) -> Graph {
    let mut graph = Graph::new(Shape { channels: 2, squares: side * side });
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
    let normed = graph.push(Layer::RmsNorm { input: y, epsilon: 0.1, whole: false }).expect("it fits");
    let turned = Layer::Rotate { input: normed, angles: random.floats(3 * squares, 1) };
    let turned = graph.push(turned).expect("it fits");
    let product = graph.push(Layer::Multiply { left: turned, right: normed }).expect("it fits");
    let y = graph.push(Layer::RmsNorm { input: product, epsilon: 0.1, whole: true }).expect("it fits");
    let y = graph.push(Layer::Scores { query: y, key: x }).expect("it fits");
    output(graph, y)
}

#[test]
fn a_whole_network_agrees_at_every_batch_size() {
    if !device_is_there() {
        return;
    }
    for batches in [[1, 9], [2, 8], [3, 7]] {
        agree(&tower(6, 8, 24, 2, Activation::Relu), batches, &mut Random(7), "relu tower");
    }
    agree(&tower(8, 8, 16, 1, Activation::Mish), [4, 5], &mut Random(9), "mish tower");
}

#[test]
fn a_network_of_go_agrees_at_every_batch_size() {
    if !device_is_there() {
        return;
    }
    for (batches, board) in [([1, 9], (7, 5)), ([2, 8], (19, 19)), ([3, 7], (8, 8)), ([4, 5], (9, 9))] {
        agree(&go(25, board, [22, 19, 12]), batches, &mut Random(26), &format!("Go on {board:?}"));
    }
}

/// On a GPU a group makes the squares of a chessboard, and those of no other board. Of devices that are CPUs, only some
/// are known to run a network in one launch.
#[test]
fn a_network_of_go_is_one_launch_where_others_are() {
    if !device_is_there() {
        return;
    }
    for (variant, board, fits) in [(Variant::Cpu, (5, 7), 1), (Variant::Gpu, (8, 8), 1), (Variant::Gpu, (5, 7), 0)] {
        let network = |graph| {
            let tuning = Tuning { network: 1, ..Tuning::start(variant, 8) };
            let options = Options { tuning: Some(tuning), self_check: false, ..Options::default() };
            OpenCl::new(graph, &options).expect("it compiles").tuning().network
        };
        let known = network(tower(28, 8, 8, 1, Activation::Relu));
        assert_eq!(network(go(27, board, [3, 2, 9])), fits * known, "{variant}, {board:?}");
    }
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
            assert_eq!(alone.policy, policy, "{tuning}, position {n}");
            assert_eq!(alone.wdl, all.wdl[3 * n..3 * n + 3], "{tuning}, position {n}");
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
fn activations_are_right_far_from_zero_and_keep_a_nan() {
    if !device_is_there() {
        return;
    }
    use Activation::{Mish, None as Nothing, Relu, Relu2, Selu, Sigmoid, Swish, Tanh};
    for activation in [Nothing, Relu, Mish, Tanh, Relu2, Swish, Selu, Sigmoid] {
        let mut graph = Graph::new(Shape { channels: 1, squares: 64 });
        let same = Layer::Conv {
            input: INPUT,
            channels: 1,
            kernel: 1,
            weights: vec![1.0],
            bias: vec![0.0],
            se: None,
            residual: None,
            activation,
        };
        let x = graph.push(same).expect("it fits");
        let graph = output(graph, x);
        let mut input: Vec<f32> = (0..64).map(|at| (at as f32 - 31.5) * 6.0).collect();
        let expected = plain::evaluate(&graph, &input).expect("the reference runs every graph");
        for tuning in tunings() {
            let options = Options { tuning: Some(tuning), ..Options::default() };
            let mut device = OpenCl::new(graph.clone(), &options).expect("a device that is there runs the graph");
            let mut got = Outputs::default();
            device.evaluate(&input, &mut got).expect("numbers come out");
            let difference = first_difference(&expected.policy, &got.policy, TOLERANCE);
            assert_eq!(difference, None, "{activation:?}, {tuning}");
            // The usual NaN, and one with other bits set.
            for nan in [f32::NAN, f32::from_bits(0xffc0_01ff)] {
                let kept = std::mem::replace(&mut input[40], nan);
                let error = device.evaluate(&input, &mut got).expect_err("NaN goes in, so that NaN comes out");
                assert!(error.0.contains("not finite at element 40"), "{activation:?}, {tuning}: {error}");
                input[40] = kept;
            }
        }
    }
}

/// A copy of the input, made by a 3×3 convolution; on a CPU it lies in blocks if all convolutions are direct.
fn copied(graph: &mut Graph) -> ValueId {
    let mut weights = vec![0.0; 9];
    weights[4] = 1.0;
    let (bias, activation) = (vec![0.0], Activation::None);
    let copy =
        Layer::Conv { input: INPUT, channels: 1, kernel: 3, weights, bias, se: None, residual: None, activation };
    graph.push(copy).expect("it fits")
}

/// Appends an affine layer of a single channel.
fn scaled(graph: &mut Graph, input: ValueId, scale: f32, activation: Activation) -> ValueId {
    let affine = Layer::Affine { input, added: None, scale: vec![scale], shift: vec![0.0], activation };
    graph.push(affine).expect("it fits")
}

/// Runs a graph with direct convolutions on a device, unchecked: what is compared here is not finite everywhere.
fn direct(graph: &Graph, variant: Variant) -> OpenCl {
    let tuning = Tuning { winograd: 0, network: 0, ..Tuning::start(variant, 8) };
    let options = Options { tuning: Some(tuning), self_check: false, ..Options::default() };
    OpenCl::new(graph.clone(), &options).expect("a device that is there runs the graph")
}

#[test]
fn affine_layers_are_right_far_from_zero_and_keep_a_nan() {
    if !device_is_there() {
        return;
    }
    let both = [Variant::Cpu, Variant::Gpu];
    for (activation, variant) in Activation::ELEMENTWISE.into_iter().flat_map(|act| both.map(|variant| (act, variant)))
    {
        for in_blocks in [false, true] {
            let mut graph = Graph::new(Shape { channels: 1, squares: 64 });
            let x = if in_blocks { copied(&mut graph) } else { INPUT };
            let y = scaled(&mut graph, x, 1.0, activation);
            let graph = output(graph, y);
            let mut input: Vec<f32> = (0..64).map(|at| (at as f32 - 31.5) * 6.0).collect();
            let expected = plain::evaluate(&graph, &input).expect("the reference runs every graph");
            let (mut device, mut got) = (direct(&graph, variant), Outputs::default());
            device.evaluate(&input, &mut got).expect("numbers come out");
            let difference = first_difference(&expected.policy, &got.policy, TOLERANCE);
            assert_eq!(difference, None, "{activation:?}, {variant}, in blocks: {in_blocks}");
            // A convolution gives the NaN to all neighbours, the first of which is a rank before.
            let first = if in_blocks { 32 } else { 40 };
            for nan in [f32::NAN, f32::from_bits(0xffc0_01ff)] {
                input[40] = nan;
                let error = device.evaluate(&input, &mut got).expect_err("NaN goes in, so that NaN comes out");
                let wanted = format!("not finite at element {first}");
                assert!(error.0.contains(&wanted), "{activation:?}, {variant}: {error}");
            }
        }
    }
}

/// On boards whose squares are whole vectors, and on others.
#[test]
fn pools_keep_a_nan_and_what_is_infinite() {
    if !device_is_there() {
        return;
    }
    for (variant, side) in [Variant::Cpu, Variant::Gpu].into_iter().flat_map(|v| [4, 5].map(|side| (v, side))) {
        for in_blocks in [false, true] {
            // The input doubled, and that times `scale`: a number that is too large becomes infinite, or with 0 a NaN,
            // at one square only.
            let graph_of = |scale: f32, element: u32| {
                let mut graph = Graph::new(Shape { channels: 1, squares: side * side });
                let x = if in_blocks { copied(&mut graph) } else { INPUT };
                let x = scaled(&mut graph, x, 2.0, Activation::None);
                let x = scaled(&mut graph, x, scale, Activation::None);
                let pooled = graph.push(Layer::Pool { input: x }).expect("it fits");
                let pick = Layer::Gather { input: pooled, indices: vec![element], squares: 1, residual: None };
                let picked = graph.push(pick).expect("it fits");
                output(graph, picked)
            };
            let largest = graph_of(1.0, 1);
            let mut device = direct(&largest, variant);
            let mut of_nan = [0, 1].map(|element| direct(&graph_of(0.0, element), variant));
            pools_are_right(&largest, &mut device, &mut of_nan, &format!("{variant}, in blocks: {in_blocks}"));
        }
    }
}

/// `largest`, which `device` runs, makes a maximum; the graphs of `of_nan` make mean and maximum where one number is a
/// NaN.
fn pools_are_right(largest: &Graph, device: &mut OpenCl, of_nan: &mut [OpenCl], what: &str) {
    let squares = largest.input().squares;
    for at in [0, 1, squares / 2, squares - 1] {
        for too_large in [f32::MAX, f32::MIN] {
            let mut input: Vec<f32> = (0..squares).map(|at| (at as f32).sin()).collect();
            input[at] = too_large;
            let expected = plain::evaluate(largest, &input).expect("the reference runs every graph").policy[0];
            let mut got = Outputs::default();
            let done = device.evaluate(&input, &mut got);
            // An output that is infinite is an error.
            assert_eq!(done.is_ok(), expected.is_finite(), "{what}, {squares} squares, at {at}: {expected}");
            assert!(done.is_err() || got.policy == [expected], "{what}, {squares} squares, at {at}: {got:?}");
            for device in &mut *of_nan {
                device.evaluate(&input, &mut got).expect_err("a NaN comes out");
            }
        }
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
    // The input takes a terabyte.
    let mut graph = Graph::new(Shape { channels: 1 << 16, squares: 64 });
    let x = conv(&mut graph, &mut Random(14), (INPUT, 1, 1), None, None, Activation::Relu);
    // If a device is compared with the host, smaller batches are tried until they fit; the kernels for a CPU take a
    // batch in pieces, and have room for one.
    let tuning = Some(Tuning::start(Variant::Gpu, 8));
    let options = Options { max_batch: MAX_BATCH, tuning, self_check: false, ..Options::default() };
    let made = OpenCl::new(output(graph, x), &options).map(|_| ());
    let error = made.expect_err("no device has that much");
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
    assert!(error.0.contains("3x3 convolution: expected a board, got 60 squares"), "{error}");
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

/// Two channels with the same numbers, whose weights cancel each other except for a rest: the rounding of a sum is then
/// as large as the rest. Numbers are whole, so that direct sums, one tap or row after the other, are exact.
fn cancelling(most: i64) -> Graph {
    let random = &mut Random(31);
    let mut graph = Graph::new(Shape { channels: 1, squares: 64 });
    let copy = Layer::Conv {
        input: INPUT,
        channels: 2,
        kernel: 1,
        weights: vec![1.0; 2],
        bias: vec![0.0; 2],
        se: None,
        residual: None,
        activation: Activation::None,
    };
    let twice = graph.push(copy).expect("it fits");
    let channels = 8;
    let mut weights = Vec::new();
    for _ in 0..channels {
        let large: Vec<f32> = (0..9).map(|_| (most - 1 - 2 * random.below(most as usize / 4) as i64) as f32).collect();
        let rest: Vec<f32> = (0..9).map(|_| random.pick(&[-1.0, 1.0])).collect();
        weights.extend_from_slice(&large);
        weights.extend(large.iter().zip(&rest).map(|(large, rest)| rest - large));
    }
    let (bias, activation) = (vec![0.0; channels], Activation::None);
    let layer = Layer::Conv { input: twice, channels, kernel: 3, weights, bias, se: None, residual: None, activation };
    let y = graph.push(layer).expect("it fits");
    output(graph, y)
}

/// Where they round too much, Winograd's larger tile gives way to the smaller one, and that to the direct form.
#[test]
fn a_tile_that_rounds_too_much_gives_way() {
    if !device_is_there() {
        return;
    }
    // The points of the smaller tile are whole numbers, those of the larger one are not. If numbers are so large that
    // their sums have more than 24 bits, neither form is exact.
    let tuning = Tuning { winograd: 4, ..Tuning::start(Variant::Cpu, 8) };
    let options = Options { max_batch: 3, tuning: Some(tuning), ..Options::default() };
    // Whether the network is one launch depends on the device, not on how it rounds.
    let unchecked = OpenCl::new(cancelling(1 << 3), &Options { self_check: false, ..options.clone() });
    let tuning = Tuning { network: unchecked.expect("it compiles").tuning().network, ..tuning };
    for (most, kept) in [(1 << 3, 4), (1 << 14, 2), (1 << 22, 0)] {
        let device = OpenCl::new(cancelling(most), &options).expect("one of the forms agrees with the host");
        assert_eq!(device.tuning(), Tuning { winograd: kept, ..tuning }, "weights up to {most}");
    }
}

#[test]
fn a_profile_has_every_launch_and_transfer() {
    if !device_is_there() {
        return;
    }
    let graph = tower(20, 8, 12, 1, Activation::Mish);
    let heads = graph.outputs().len();
    let input: Vec<f32> = vec![0.5; 2 * graph.input().len()];
    for tuning in tunings() {
        let profiled =
            Options { max_batch: 2, tuning: Some(tuning), self_check: false, profiled: true, ..Options::default() };
        let mut device = OpenCl::new(graph.clone(), &profiled).expect("a device that is there runs the graph");
        let profile = device.profile(&input, 3).expect("a batch of two");
        let count = |of: &str| profile.parts.iter().find(|part| part.of == of).map_or(0, |part| part.count);
        assert_eq!((count("write"), count("read")), (1, heads), "{tuning}: {profile:?}");
        let all: usize = profile.parts.iter().map(|part| part.count).sum();
        assert_eq!(all, device.launches(2) + 1 + heads, "{tuning}: {profile:?}");
        let busy: f64 = profile.parts.iter().map(|part| part.seconds).sum();
        assert!(0.0 < busy && busy <= 1.001 * profile.device, "{tuning}: {profile:?}");
        assert!(profile.parts.is_sorted_by(|a, b| a.seconds >= b.seconds), "{tuning}: {profile:?}");
        assert!(device.profile(&input, 0).is_err(), "none of no runs");
        let mut other = OpenCl::new(graph.clone(), &Options { profiled: false, ..profiled }).expect("as before");
        assert!(other.profile(&input, 1).is_err(), "it keeps no times");
    }
}
