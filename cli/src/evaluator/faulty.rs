//! Evaluators on devices that fail as a test says.

use super::*;
use crate::network::{BuiltIn, HintsFrom, Service, Unit, Weights, host_maker};
use oncilla_chess::planes::HistoryFill;
use oncilla_opencl::backend::{Backend, BackendError, Outputs};
use oncilla_opencl::graph::Graph;
use oncilla_opencl::host::Host;
use oncilla_opencl::watched::{Patience, Watched};
use std::thread;
use std::time::Duration;

/// A device that takes 3 positions at once, and fails as `plan` says.
struct Failing {
    host: Box<dyn Backend>,
    /// If the device has to be quick: the answers of the first call, which all other calls get too.
    canned: Option<Outputs>,
    calls: usize,
    plan: Plan,
}

/// The fault of each call, by the call's number.
pub type Plan = Box<dyn Fn(usize) -> Option<Fault> + Send>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The device says that it failed.
    Loud,
    /// The device says nothing, but its answers are not numbers.
    Nonsense,
    /// The device's estimates of moves left are not numbers.
    NoMovesLeft,
    /// The right answers come late.
    Slow,
    /// The right answers come very late.
    Stalled,
    Panic,
    /// The device never answers.
    Silent,
}

impl Backend for Failing {
    fn graph(&self) -> &Graph {
        self.host.graph()
    }

    fn describe(&self) -> String {
        "a failing device".to_string()
    }

    fn max_batch(&self) -> usize {
        3
    }

    fn preferred_batch(&self) -> usize {
        3
    }

    fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
        let of_one = self.graph().input().len();
        assert!(input.len() <= self.max_batch() * of_one);
        match &self.canned {
            Some(canned) if self.calls > 0 => outputs.clone_from(canned),
            Some(_) => {
                self.host.evaluate(&input[..of_one].repeat(self.max_batch()), outputs)?;
                self.canned = Some(outputs.clone());
            }
            None => self.host.evaluate(input, outputs)?,
        }
        let fault = (self.plan)(self.calls);
        self.calls += 1;
        match fault {
            None => Ok(()),
            Some(Fault::Loud) => {
                outputs.policy.fill(7.0);
                Err(BackendError("out of order".to_string()))
            }
            Some(Fault::Nonsense) => {
                outputs.policy.fill(f32::NAN);
                Ok(())
            }
            Some(Fault::NoMovesLeft) => {
                outputs.moves_left.fill(f32::INFINITY);
                Ok(())
            }
            Some(Fault::Slow) => {
                thread::sleep(Duration::from_millis(20));
                Ok(())
            }
            // This is longer than a thread of a search looks for something to do in vain.
            Some(Fault::Stalled) => {
                thread::sleep(Duration::from_secs(4));
                Ok(())
            }
            Some(Fault::Panic) => panic!("as a test"),
            Some(Fault::Silent) => loop {
                thread::park();
            },
        }
    }
}

/// An evaluator with the embedded network on a device that fails as `plan` says. With `quick`, the device gives the
/// same answer to all positions.
pub fn on_failing_device(backend: BackendKind, quick: bool, plan: Plan) -> Evaluator {
    on_device(backend, quick, plan, |device, _| Box::new(device))
}

/// An evaluator on a device that fails in each batch, with no host to stand in for it.
pub fn on_nothing() -> Evaluator {
    without_host(Box::new(|_| Some(Fault::Loud)))
}

/// An evaluator on a device that fails as `plan` says, with no host to stand in for it.
pub fn without_host(plan: Plan) -> Evaluator {
    on_unit(plan, |device| Unit::device(vec![device]))
}

/// An evaluator on a host that fails as `plan` says: there is nothing else to ask.
pub fn on_failing_host(plan: Plan) -> Evaluator {
    on_unit(plan, |host| Unit::host(host, Vec::new()))
}

/// An evaluator on a device that is not waited for longer than `patience` says.
pub fn on_watched_device(quick: bool, plan: Plan, patience: Patience) -> Evaluator {
    on_device(BackendKind::OpenCl, quick, plan, |device, graph| watched(device, graph, patience))
}

fn watched(device: Failing, graph: &Arc<Graph>, patience: Patience) -> Box<dyn Backend> {
    Box::new(Watched::new(device, Arc::clone(graph), patience).unwrap())
}

/// A service that runs any graph on such a device, which gives the right answers until it fails.
pub fn serve_on_watched_device(graph: &Arc<Graph>, plan: Plan, patience: Patience) -> Service {
    let host = Box::new(Host::new(Arc::clone(graph), 1).unwrap());
    let device = watched(Failing { host, canned: None, calls: 0, plan }, graph, patience);
    Service::new(graph, vec![Unit::device(vec![device])], host_maker(graph, &settings(BackendKind::OpenCl)))
}

fn on_unit(plan: Plan, unit: impl FnOnce(Box<dyn Backend>) -> Unit) -> Evaluator {
    let mut evaluator = on_failing_device(BackendKind::OpenCl, true, Box::new(|_| Some(Fault::Loud)));
    let Source::Network(running) = &mut evaluator.source else { unreachable!("it has a network") };
    let backend =
        Failing { host: Box::new(Host::new(Arc::clone(&running.graph), 1).unwrap()), canned: None, calls: 0, plan };
    let none = Box::new(|| Err("no host".to_string()));
    running.service = Service::new(&running.graph, vec![unit(Box::new(backend))], none);
    evaluator
}

fn on_device(
    backend: BackendKind,
    quick: bool,
    plan: Plan,
    lane: impl FnOnce(Failing, &Arc<Graph>) -> Box<dyn Backend>,
) -> Evaluator {
    let network = read_network(&Weights::BuiltIn(BuiltIn::Small), &Default::default()).unwrap();
    let inputs = Inputs::of(&network, HistoryFill::default()).unwrap();
    let graph = Arc::new(network.graph);
    let host = Box::new(Host::new(Arc::clone(&graph), 1).unwrap());
    let device = Failing { host, canned: quick.then(Outputs::default), calls: 0, plan };
    let device = Unit::device(vec![lane(device, &graph)]);
    let service = Service::new(&graph, vec![device], host_maker(&graph, &settings(backend)));
    let source = Source::Network(Running { graph, service, inputs });
    let settings = settings(backend);
    Evaluator {
        source,
        hints: hints::read(&settings.hints, &settings.weights).unwrap(),
        settings,
        cache: None,
        cache_size: CacheSize::default(),
        work: Work::default(),
        told: Mutex::default(),
    }
}

/// Settings with the embedded network.
pub(super) fn settings(backend: BackendKind) -> EvaluatorSettings {
    EvaluatorSettings {
        weights: Weights::BuiltIn(BuiltIn::Small),
        hints: HintsFrom::Program,
        heads: Default::default(),
        moves_left: true,
        backend,
        devices: Vec::new(),
        precision: Default::default(),
        cache_dir: None,
        threads: 1,
        threads_are_all: false,
        tiles: true,
        history_fill: HistoryFill::FenOnly,
    }
}
