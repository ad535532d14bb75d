//! Layers of attention bodies, and layers in eight bits.

use super::*;

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
