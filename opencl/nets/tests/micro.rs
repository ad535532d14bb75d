//! Compares what a microcontroller would say of a position with the definition of layers in eight bits.

mod common;

use common::{Planes, fixtures, rows};
use oncilla_micro::{Network as Micro, PackError, Room};
use oncilla_nets::policy::MOVES;
use oncilla_nets::{Network, micro};
use oncilla_opencl::backend::Outputs;
use oncilla_opencl::graph::{Graph, Layer, Role, SqueezeExcite};
use oncilla_opencl::host::plain;

/// Random networks of the architecture: one with a convolutional policy, one with an attention policy.
const NETWORKS: [&str; 2] = ["synthetic-c-se-conv-wdl-mlh-in2", "synthetic-d-se-attnpolicy-in5"];
const FILTERS: usize = 32;

/// The bound if every number rounds to the same whole one as in double precision: what is left is the rounding of
/// single precision.
const EXACT: f32 = 2e-5;

/// The share of positions in which every number does.
const USUAL: f64 = 0.8;

/// The bound if one does not: it is off by one of 127 steps, and so is what follows from it.
const BOUND: f32 = 5e-3;

fn network(name: &str) -> Network {
    Network::read(fixtures().join(format!("{name}.pb.gz"))).unwrap()
}

/// The network with layers in eight bits: those that `which` selects among those that can be, but not the one that
/// reads the input.
fn in_whole_numbers(mut network: Network, which: impl Fn(&Layer) -> bool) -> Network {
    let graph = &mut network.graph;
    for layer in 1..graph.layers().len() {
        if graph.can_be_int8(layer) && which(&graph.layers()[layer]) {
            graph.set_int8(layer, true).unwrap();
        }
    }
    network
}

/// Selects the layers that have to be in eight bits, and, in a convolutional policy, more than these.
fn looks_around(layer: &Layer) -> bool {
    matches!(layer, Layer::Conv { kernel: 3, .. })
}

/// Packs the networks, with both kinds of policy, with as many layers in eight bits as possible.
fn packs() -> [Vec<u8>; 2] {
    NETWORKS.map(|name| micro::pack(&in_whole_numbers(network(name), |_| true)).unwrap())
}

/// The mask and the value of one plane, given the numbers of all planes.
fn plane(input: &[f32], plane: usize) -> (u64, f32) {
    let squares = &input[64 * plane..][..64];
    let value = squares.iter().copied().find(|x| *x != 0.0).unwrap_or(0.0);
    let mask = (0..64).filter(|&square| squares[square] != 0.0).fold(0, |mask, square| mask | 1 << square);
    assert!(squares.iter().all(|x| *x == 0.0 || *x == value), "a plane has one value");
    (mask, value)
}

/// The outputs of a pack, in the same order as the graph's.
fn run(pack: &[u8], input: &[f32]) -> Outputs {
    let mut room = Box::new(Room::<FILTERS>::new());
    let evaluation = Micro::new(pack).unwrap().evaluate(|at| plane(input, at), &mut room).unwrap();
    let policy: Vec<f32> = (0..MOVES as u16).map(|index| evaluation.logit(index)).collect();
    Outputs { policy, wdl: evaluation.wdl.to_vec(), moves_left: vec![evaluation.moves_left], ..Outputs::default() }
}

/// The largest difference, as a share of the largest expected number if that is above one.
fn error(expected: Outputs, got: Outputs) -> f32 {
    let roles = [Role::Policy, Role::Wdl, Role::MovesLeft];
    let error = |role| oncilla_opencl::compare::relative_error(expected.head(role), got.head(role));
    roles.map(error).into_iter().fold(0.0, f32::max)
}

/// Compares packs of this network with the definition on all positions that there are for it.
fn check(name: &str, which: impl Fn(&Layer) -> bool) {
    let network = network(name);
    let format = network.input_format.number();
    let network = in_whole_numbers(network, which);
    let pack = micro::pack(&network).unwrap();
    let planes = Planes::read(&fixtures().join("encoder_planes.jsonl"));
    let mut errors = Vec::new();
    for row in rows(&fixtures().join("nn_synthetic.jsonl")).iter().filter(|row| row["net"] == name) {
        let input = planes.of(row, format);
        errors.push(error(plain::evaluate(&network.graph, &input).unwrap(), run(&pack, &input)));
    }
    let worst = errors.iter().copied().fold(0.0, f32::max);
    let usual = errors.iter().filter(|error| **error < EXACT).count();
    println!("{name}: {} positions, {usual} within {EXACT}, worst {worst}", errors.len());
    assert!(errors.len() >= 5 && worst < BOUND, "{errors:?}");
    assert!(usual as f64 >= USUAL * errors.len() as f64, "{errors:?}");
}

#[test]
fn a_pack_says_what_the_definition_says() {
    NETWORKS.iter().for_each(|name| check(name, |_| true));
}

#[test]
fn so_does_one_with_heads_in_single_precision() {
    NETWORKS.iter().for_each(|name| check(name, looks_around));
}

#[test]
fn what_is_no_pack_is_refused() {
    for pack in packs() {
        for len in (0..pack.len()).step_by(37).chain([0, 4, 5, 6, pack.len() - 1]) {
            assert!(Micro::new(&pack[..len]).is_err(), "{len} of {} bytes", pack.len());
        }
        let longer = [&pack[..], &[0]].concat();
        assert_eq!(Micro::new(&longer).unwrap_err(), PackError::TooLong(1));
        let network = Micro::new(&pack).unwrap();
        assert_eq!(network.filters(), FILTERS);
        let refused = network.evaluate(|_| (0, 0.0), &mut Room::<3>::new()).err();
        assert_eq!(refused, Some(PackError::Room { expected: FILTERS, got: 3 }));
    }
}

#[test]
fn any_numbers_in_a_pack_give_an_evaluation() {
    let (mut state, mut run) = (1u32, 0);
    for pack in packs().iter().cycle().take(40) {
        let mut spoilt = pack.clone();
        for _ in 0..200 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // The change is behind the head of the pack.
            let at = 22 + state as usize % (spoilt.len() - 22);
            spoilt[at] = (state >> 24) as u8;
        }
        if let Ok(network) = Micro::new(&spoilt) {
            run += 1;
            let mut room = Room::<FILTERS>::new();
            let evaluation = network.evaluate(|plane| (1 << (plane % 64), 1.0), &mut room).unwrap();
            // A move's index may be anything: nothing is read from outside the boards.
            for index in 0..MOVES as u16 {
                evaluation.logit(index);
            }
            assert!([MOVES as u16, u16::MAX].iter().all(|&index| evaluation.logit(index).is_nan()));
        }
    }
    assert!(run > 30, "{run} of the packs were run");
}

/// The same network, but with one neuron in the last block's squeeze and excitation; and the number of that layer.
fn with_another_last_block(network: Network) -> (Network, usize) {
    let layers = network.graph.layers();
    let last = layers.iter().rposition(|layer| matches!(layer, Layer::Conv { se: Some(_), .. })).unwrap();
    let mut graph = Graph::new(network.graph.input());
    for (at, layer) in layers.iter().enumerate() {
        let mut layer = layer.clone();
        if at == last
            && let Layer::Conv { se: Some(se), .. } = &mut layer
        {
            let b2 = se.b2.clone();
            *se = SqueezeExcite { hidden: 1, w1: vec![0.0; b2.len() / 2], b1: vec![0.0], w2: vec![0.0; b2.len()], b2 };
        }
        graph.push(layer).unwrap();
    }
    for output in network.graph.outputs() {
        graph.output(output.role, output.value).unwrap();
    }
    (Network { graph, ..network }, last)
}

#[test]
fn other_networks_are_refused() {
    let refusal = |network: &Network| micro::pack(network).unwrap_err().to_string();
    // The 3×3 convolutions of this network are in single precision.
    for name in NETWORKS {
        let single = network(name);
        assert!(refusal(&single).contains("in the tower"), "{}", refusal(&single));
    }
    for (name, expected) in
        [("c2-se-conv-wdl-mlh-mish-in4", "layer 0 (convolution)"), ("e4-attnbody-relu-classicalvalue-in1", "layer 0")]
    {
        let network = network(&format!("synthetic-{name}"));
        assert!(refusal(&network).starts_with(expected), "{}", refusal(&network));
    }
    let (uneven, last) = with_another_last_block(network(NETWORKS[0]));
    let refusal = refusal(&in_whole_numbers(uneven, |_| true));
    assert!(refusal.starts_with(&format!("layer {last} ")), "{refusal}");
    assert!(refusal.contains("of the same size in every block"), "{refusal}");
}
