mod batches;
mod devices;
mod failures;
mod faults;

use super::*;
use oncilla_opencl::backend::{Backend, BackendError, Outputs};
use oncilla_opencl::graph::{Activation, Layer, Role, Shape};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A network whose value is its input, and whose policy is twice its input.
fn graph() -> Graph {
    let shape = Shape { channels: 1, squares: 1 };
    let mut graph = Graph::new(shape);
    let layer = |channels: usize| Layer::Dense {
        input: oncilla_opencl::graph::INPUT,
        channels,
        weights: vec![1.0; channels],
        bias: vec![0.0; channels],
        activation: Activation::None,
    };
    let value = graph.push(layer(1)).unwrap();
    let policy = graph.push(layer(2)).unwrap();
    graph.output(Role::Value, value).unwrap();
    graph.output(Role::Policy, policy).unwrap();
    graph
}

/// What the devices of a test have seen and shall do.
#[derive(Default)]
struct Seen {
    batches: Mutex<Vec<usize>>,
    at_work: AtomicUsize,
    most_at_work: AtomicUsize,
    /// No batch is answered while this is set.
    held: AtomicBool,
}

impl Seen {
    fn batches(&self) -> Vec<usize> {
        self.batches.lock().unwrap().clone()
    }

    fn rows(&self) -> usize {
        self.batches().iter().sum()
    }
}

struct Device {
    graph: Graph,
    seen: Arc<Seen>,
    max_batch: usize,
    leaves_host_free: bool,
    /// Milliseconds for each batch, and for each of its rows.
    times: [f64; 2],
    /// The fault of a call, by its number.
    fault: fn(usize) -> Option<&'static str>,
    calls: usize,
    /// Whether a batch can be abandoned, so that its answer comes when nothing waits for it.
    may_be_left: bool,
}

impl Backend for Device {
    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn describe(&self) -> String {
        format!("device of {}", self.max_batch)
    }

    fn max_batch(&self) -> usize {
        self.max_batch
    }

    fn preferred_batch(&self) -> usize {
        4.min(self.max_batch)
    }

    fn leaves_host_free(&self) -> bool {
        self.leaves_host_free
    }

    fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
        assert!((1..=self.max_batch).contains(&input.len()), "{}", input.len());
        let now = self.seen.at_work.fetch_add(1, Ordering::SeqCst) + 1;
        self.seen.most_at_work.fetch_max(now, Ordering::SeqCst);
        self.seen.batches.lock().unwrap().push(input.len());
        let [each, row] = self.times;
        thread::sleep(Duration::from_secs_f64((each + row * input.len() as f64) / 1000.0));
        while self.seen.held.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        self.seen.at_work.fetch_sub(1, Ordering::SeqCst);
        outputs.value = input.to_vec();
        outputs.policy = input.iter().flat_map(|&x| [x, x]).collect();
        self.calls += 1;
        match (self.fault)(self.calls) {
            None => Ok(()),
            Some("nonsense") => {
                outputs.policy[0] = f32::NAN;
                Ok(())
            }
            Some("short") => {
                outputs.value.clear();
                Ok(())
            }
            Some("panic") => panic!("as a test"),
            Some(fault) => Err(BackendError(fault.to_string())),
        }
    }

    fn evaluate_unless(
        &mut self,
        input: &[f32],
        outputs: &mut Outputs,
        is_late: &dyn Fn() -> bool,
    ) -> Result<(), BackendError> {
        self.evaluate(input, outputs)?;
        if self.may_be_left && is_late() { Err(BackendError("left".to_string())) } else { Ok(()) }
    }
}

/// A device that never fails.
fn device(seen: &Arc<Seen>, max_batch: usize, times: [f64; 2]) -> Device {
    Device {
        graph: graph(),
        seen: Arc::clone(seen),
        max_batch,
        leaves_host_free: false,
        times,
        fault: |_| None,
        calls: 0,
        may_be_left: false,
    }
}

fn unit(lanes: Vec<Device>) -> Unit {
    Unit::device(lanes.into_iter().map(|lane| Box::new(lane) as Box<dyn Backend>).collect())
}

fn no_host() -> MakeHost {
    Box::new(|| Err("there is no host".to_string()))
}

fn host(seen: &Arc<Seen>) -> MakeHost {
    let seen = Arc::clone(seen);
    Box::new(move || Ok(Unit::host(Box::new(device(&seen, 8, [0.0; 2])), Vec::new())))
}

fn service(units: Vec<Unit>, host: MakeHost) -> Service {
    Service::new(&graph(), units, host)
}

/// Has `rows` evaluated, and checks that each answer is that of its row.
fn ask(service: &Service, request: &Arc<Request>, rows: &[f32]) -> Option<String> {
    request.content().input = rows.to_vec();
    let note = service.run(request, rows.len()).unwrap();
    let content = request.content();
    assert_eq!(content.outputs.value[..rows.len()], *rows);
    let twice: Vec<f32> = rows.iter().flat_map(|&x| [x, x]).collect();
    assert_eq!(content.outputs.policy[..twice.len()], *twice);
    note
}

/// Runs `threads` threads that each ask `times` times for `rows` rows at once. Returns the notes.
fn ask_all(service: &Service, threads: usize, times: usize, rows: usize) -> Vec<String> {
    thread::scope(|scope| {
        let asking: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let request = Arc::default();
                    let own = |time: usize| (0..rows).map(move |row| (thread * 10_000 + time * 100 + row) as f32);
                    (0..times).filter_map(|time| ask(service, &request, &own(time).collect::<Vec<_>>())).collect()
                })
            })
            .collect();
        asking.into_iter().flat_map(|thread| -> Vec<String> { thread.join().unwrap() }).collect()
    })
}
