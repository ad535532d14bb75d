//! Products in tiles (AMX), and weights in sixteen bits.

use super::*;

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
