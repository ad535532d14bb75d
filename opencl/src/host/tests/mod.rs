//! Compares the fast forms with the plain one, over random graphs, boards and batches.

mod agreement;
mod chores;
mod convolutions;
mod random;
mod refused;
mod rounding;
mod tiles;
mod transformers;

use super::isa::Isa;
use super::*;
use crate::graph::{Activation, INPUT, Layer, Role, Shape, SqueezeExcite, ValueId};
use quickcheck::{Arbitrary, Gen, QuickCheck, TestResult};
use random::*;
use rounding::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

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

fn positions(g: &mut Gen, graph: &Graph) -> Vec<f32> {
    (0..9 * graph.input().len()).map(|_| number(g)).collect()
}

/// How many convolutions of a host's plan have such weights.
fn convolutions(host: &Host, are_such: impl Fn(&plan::ConvWeights) -> bool) -> usize {
    let is_such = |step: &&plan::Step| match step {
        plan::Step::Conv(conv) => are_such(&conv.weights),
        _ => false,
    };
    host.plan.steps.iter().filter(is_such).count()
}
