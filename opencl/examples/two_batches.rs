//! Evaluations per second of a network of maia-1500's size with random weights, by batch size: with one batch on the
//! device, and with two at the same time. A tuning is given in its own text, `variant=cpu vector=8 …`.
//!
//!     cargo run --release -p oncilla-opencl --example two_batches -- [device] [tuning]

#[path = "../tests/common/mod.rs"]
mod common;

use oncilla_opencl::backend::{Backend, BackendError, Outputs};
use oncilla_opencl::device::DeviceChoice;
use oncilla_opencl::graph::Activation;
use oncilla_opencl::kernels::Tuning;
use oncilla_opencl::opencl::{OpenCl, Options};
use std::time::{Duration, Instant};

const AT_LEAST: Duration = Duration::from_secs(2);
/// How long one of both is measured before it is the other's turn.
const SLICE: Duration = Duration::from_millis(100);

fn main() -> Result<(), BackendError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let tuning: Option<Tuning> = args.get(1).map(|text| text.parse()).transpose().map_err(BackendError)?;
    let device = DeviceChoice::from(args.first().map_or("", String::as_str));
    let graph = common::tower(1, 8, 64, 6, Activation::Relu);
    let (each, flops) = (graph.input().len(), graph.flops() as f64);
    let start = Instant::now();
    let mut backend = OpenCl::new(graph, &Options { device, tuning, ..Options::default() })?;
    println!("{}, {}, ready after {:.1?}", backend.describe(), backend.tuning(), start.elapsed());
    let mut second = backend.another()?;
    let mut random = common::Random(2);
    for batch in [1, 2, 4, 8, 16, 32, 64] {
        let input: Vec<f32> = (0..batch * each).map(|_| random.float()).collect();
        let mut outputs = Outputs::default();
        backend.evaluate(&input, &mut outputs)?;
        second.evaluate(&input, &mut outputs)?;
        // In turn, so that what else the machine does meets both.
        let (mut one, mut two) = (Rate::default(), Rate::default());
        while one.seconds + two.seconds < AT_LEAST.as_secs_f64() {
            one.add(run_for(&mut backend, &input)?);
            let other = std::thread::scope(|scope| {
                let other = scope.spawn(|| run_for(&mut second, &input));
                two.add(run_for(&mut backend, &input)?);
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })?;
            two.runs += other.runs;
        }
        let [one, two] = [one, two].map(|rate| f64::from(rate.runs) * batch as f64 / rate.seconds);
        println!(
            "batch {batch:2}: {one:7.0} evals/s, {:8.3} ms, {:6.1} GFLOP/s; two at a time {two:7.0} evals/s, ratio {:.2}",
            batch as f64 / one * 1e3,
            one * flops / 1e9,
            two / one
        );
    }
    Ok(())
}

/// Batches and the time that they took.
#[derive(Clone, Copy, Default)]
struct Rate {
    runs: u32,
    seconds: f64,
}

impl Rate {
    fn add(&mut self, more: Self) {
        self.runs += more.runs;
        self.seconds += more.seconds;
    }
}

fn run_for(backend: &mut OpenCl, input: &[f32]) -> Result<Rate, BackendError> {
    let (start, mut runs, mut outputs) = (Instant::now(), 0, Outputs::default());
    while start.elapsed() < SLICE {
        backend.evaluate(input, &mut outputs)?;
        runs += 1;
    }
    Ok(Rate { runs, seconds: start.elapsed().as_secs_f64() })
}
