//! Several batches at the same time on one device, and the same positions in batches of any size.
#![cfg(feature = "opencl")]

mod common;

use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::Activation;
use oncilla_opencl::kernels::{Tuning, Variant};
use oncilla_opencl::opencl::{OpenCl, Options};
use oncilla_opencl::watched::{Patience, Watched};
use std::sync::Arc;

/// The outputs of `batch` positions, from position `first` on.
fn evaluate(device: &mut dyn Backend, input: &[f32], first: usize, batch: usize) -> Outputs {
    let each = device.graph().input().len();
    let mut outputs = Outputs::default();
    device.evaluate(&input[first * each..(first + batch) * each], &mut outputs).expect("the device works");
    outputs
}

/// With the tuning that the device starts with, and with the kernels for a GPU, of which others run for a few
/// positions.
#[test]
fn a_position_has_the_same_answer_in_every_batch_and_on_every_queue() {
    if !common::device_is_there() {
        return;
    }
    check(None);
    for (winograd, network) in [(4, 0), (0, 0), (0, 1)] {
        check(Some(Tuning { winograd, network, ..Tuning::start(Variant::Gpu, 8) }));
    }
}

fn check(tuning: Option<Tuning>) {
    const POSITIONS: usize = 24;
    let graph = common::tower(1, 8, 24, 2, Activation::Mish);
    let mut random = common::Random(5);
    let input: Vec<f32> = (0..POSITIONS * graph.input().len()).map(|_| random.float()).collect();
    let mut first = OpenCl::new(graph, &Options { max_batch: 16, tuning, ..Options::default() }).expect("it compiles");
    let alone: Vec<Outputs> = (0..POSITIONS).map(|at| evaluate(&mut first, &input, at, 1)).collect();
    let check = |device: &mut dyn Backend, at: usize, batch: usize| {
        let together = evaluate(device, &input, at, batch);
        for (offset, alone) in alone[at..at + batch].iter().enumerate() {
            let len = alone.policy.len();
            assert_eq!(together.policy[offset * len..][..len], alone.policy, "position {} of {batch}", at + offset);
            assert_eq!(together.wdl[3 * offset..][..3], alone.wdl, "position {} of {batch}", at + offset);
        }
    };
    let second = first.another().expect("there is room for two");
    let third = second.another().expect("there is room for three");
    let graph = Arc::new(third.graph().clone());
    let third = Watched::new(third, graph, Patience::default()).expect("a thread");
    let devices: [Box<dyn Backend>; 3] = [Box::new(first), Box::new(second), Box::new(third)];
    std::thread::scope(|scope| {
        for (seed, mut device) in devices.into_iter().enumerate() {
            let check = &check;
            scope.spawn(move || {
                for round in 0..20 {
                    let batch = 1 + (7 * round + 5 * seed) % 16;
                    check(&mut *device, (3 * round + seed) % (POSITIONS - batch + 1), batch);
                }
            });
        }
    });
}
