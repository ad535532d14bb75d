//! Evaluations per second of a network of maia-1500's size with random weights, by batch size. A tuning is given in its
//! own text, `variant=cpu vector=8 …`.
//!
//!     cargo run --release -p oncilla-opencl --example evals -- [device] [tuning]
//!
//! A device `host:N` is the host with N threads.

#[path = "../tests/common/mod.rs"]
mod common;

use oncilla_opencl::backend::{Backend, BackendError, Outputs};
use oncilla_opencl::device::DeviceChoice;
use oncilla_opencl::graph::Activation;
use oncilla_opencl::host::Host;
use oncilla_opencl::kernels::Tuning;
use oncilla_opencl::opencl::{OpenCl, Options};
use std::time::{Duration, Instant};

const AT_LEAST: Duration = Duration::from_secs(2);

fn main() -> Result<(), BackendError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let tuning: Option<Tuning> = args.get(1).map(|text| text.parse()).transpose().map_err(BackendError)?;
    let device = DeviceChoice::from(args.first().map_or("", String::as_str));
    let graph = common::tower(1, 8, 64, 6, Activation::Relu);
    let (each, flops) = (graph.input().len(), graph.flops() as f64);
    let start = Instant::now();
    let host = args.first().and_then(|name| name.strip_prefix("host:"));
    let mut backend: Box<dyn Backend> = match host.map(|threads| threads.parse()) {
        Some(threads) => Box::new(Host::new(graph, threads.map_err(|_| BackendError("host:NUMBER".to_string()))?)?),
        None => Box::new(OpenCl::new(graph, &Options { device, tuning, ..Options::default() })?),
    };
    println!("{}, ready after {:.1?}", backend.describe(), start.elapsed());
    let mut random = common::Random(2);
    for batch in [1, 2, 4, 8, 16, 32, 64] {
        let input: Vec<f32> = (0..batch * each).map(|_| random.float()).collect();
        let mut outputs = Outputs::default();
        backend.evaluate(&input, &mut outputs)?;
        let (start, mut runs, mut fastest) = (Instant::now(), 0, f64::INFINITY);
        while start.elapsed() < AT_LEAST {
            let one = Instant::now();
            backend.evaluate(&input, &mut outputs)?;
            fastest = fastest.min(one.elapsed().as_secs_f64());
            runs += 1;
        }
        let mean = start.elapsed().as_secs_f64() / f64::from(runs);
        println!(
            "batch {batch:2}: {:7.0} evals/s, {:8.3} ms (fastest {:8.3}), {:6.1} GFLOP/s",
            batch as f64 / mean,
            mean * 1e3,
            fastest * 1e3,
            batch as f64 * flops / mean / 1e9
        );
    }
    Ok(())
}
