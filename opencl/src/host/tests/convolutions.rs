//! Convolutions: Winograd, those of the input, and larger filters.

use super::*;

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
