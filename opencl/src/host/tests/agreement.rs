//! Networks of all kinds agree with the plain form.

use super::*;

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
