//! What can not be run is refused, and what is no number stays one.

use super::*;

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
