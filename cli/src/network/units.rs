//! What runs a network: the host, devices, or both; and why not something else.

use super::device::open_device;
use super::drivers;
use super::lack::{Lack, Part};
use super::service::{MakeHost, Service, Unit};
use super::settings::{BackendKind, EvaluatorSettings};
use super::wanted::{WantedBackend, index_of, is_asked_for, once_each, wanted};
use super::weights::of_network;
use crate::system::cores;
use oncilla_opencl::backend::{Backend, BackendError, Outputs, shortest};
use oncilla_opencl::device::{self, DeviceChoice, Kind};
use oncilla_opencl::graph::Graph;
use oncilla_opencl::host::Host;
use oncilla_opencl::kernels::Precision;
use std::sync::Arc;

/// Makes the service that runs a graph, of whatever game; also returns lines for a person.
///
/// # Errors
/// One line: there is no device, the backend is one without a network, or the network's outputs are not numbers.
pub fn serve(settings: &EvaluatorSettings, graph: &Arc<Graph>) -> Result<(Service, Vec<String>), String> {
    settings.backend.is_here()?;
    if matches!(settings.backend, BackendKind::Random | BackendKind::Constant) {
        return Err("Backend: expected auto, host or opencl, got one without a network".to_string());
    }
    let mut notes = Vec::new();
    let service = open_service(settings, graph, &mut notes)?;
    Ok((service, notes))
}

/// Makes the service that runs a network, if the network's outputs are numbers.
pub fn open_service(
    settings: &EvaluatorSettings,
    graph: &Arc<Graph>,
    notes: &mut Vec<String>,
) -> Result<Service, Lack> {
    let mut opened = open_units(settings, graph, notes);
    // This comes before the devices' faults: a device that rightly computes infinities is said to disagree with the
    // host, because infinities are never near each other.
    try_network_out(settings, graph, &mut opened)
        .map_err(|fault| Lack::of(Part::Network)(of_network(&settings.weights, &fault)))?;
    let units = opened.map_err(Lack::of(Part::Backend))?;
    let service = Service::new(graph, units, host_maker(graph, settings));
    let facts = service.facts();
    if settings.precision == Precision::Fp16 && !settings.is_half_precision(&facts) {
        notes.push(
            "fp16: weights are in half precision on an OpenCL device alone, the host computes in fp32".to_string(),
        );
    }
    notes.push(format!("network on {}", facts.describe));
    Ok(service)
}

/// Has the host evaluate a position, unless there is a device: a device has agreed with the host already, in numbers.
fn try_network_out(
    settings: &EvaluatorSettings,
    graph: &Arc<Graph>,
    opened: &mut Result<Vec<Unit>, String>,
) -> Result<(), String> {
    match opened {
        Ok(units) if units.iter().any(Unit::is_device) => Ok(()),
        Ok(units) => units.iter_mut().try_for_each(|unit| unit.try_out(graph)),
        // If the host can't be had either, that is no fault of the network's.
        Err(_) => open_host(graph, settings).map_or(Ok(()), |mut host| host.try_out(graph)),
    }
}

fn open_units(settings: &EvaluatorSettings, graph: &Arc<Graph>, notes: &mut Vec<String>) -> Result<Vec<Unit>, String> {
    let device = |notes: &mut Vec<String>| open_devices(settings, graph, notes);
    match settings.backend {
        BackendKind::OpenCl => return device(notes),
        BackendKind::Auto => match worthwhile_device(settings).and_then(|()| device(notes)) {
            Ok(units) => return Ok(units),
            Err(fault) => {
                // It is not worth a warning if the user did not ask for a device.
                let warning = if is_asked_for(settings) { "WARNING: " } else { "" };
                notes.push(format!("{warning}{fault}; the host runs the network"));
            }
        },
        BackendKind::Host | BackendKind::Random | BackendKind::Constant | BackendKind::Lc0s(_) => {}
    }
    Ok(vec![open_host(graph, settings)?])
}

/// A function that makes the host's unit when it is needed.
pub fn host_maker(graph: &Arc<Graph>, settings: &EvaluatorSettings) -> MakeHost {
    let (graph, settings) = (Arc::clone(graph), settings.clone());
    Box::new(move || open_host(&graph, &settings))
}

/// The host's unit: one backend with all threads, and one for each thread.
pub fn open_host(graph: &Arc<Graph>, settings: &EvaluatorSettings) -> Result<Unit, String> {
    let threads = host_threads(settings);
    let wide = host(graph, settings).map_err(|e| e.to_string())?;
    let lanes = if threads > 1 { threads } else { 0 };
    let narrow = (0..lanes).map(|_| Box::new(wide.single()) as Box<dyn Backend>).collect();
    Ok(Unit::host(Box::new(wide), narrow))
}

/// The host's backend with all threads.
fn host(graph: &Arc<Graph>, settings: &EvaluatorSettings) -> Result<Host, BackendError> {
    let make = if settings.tiles { Host::new } else { Host::on_vectors };
    make(Arc::clone(graph), host_threads(settings))
}

fn host_threads(settings: &EvaluatorSettings) -> usize {
    threads_on(cores(), settings.threads)
}

/// The number of threads that are wanted, but no more than there are cores: threads without a core would keep the cores
/// from those that each thread waits for. `wanted == 0` means one for each core.
fn threads_on(cores: usize, wanted: usize) -> usize {
    if wanted == 0 { cores } else { wanted.min(cores) }
}

/// A device that the user did not name must be more than the host's own cores, which the host backend uses already. An
/// OpenCL accelerator may be those cores again: some runtimes for CPUs come with one.
fn worthwhile_device(settings: &EvaluatorSettings) -> Result<(), String> {
    // If several devices are named, one may be there though the first is not: [`open_devices`] finds that out.
    if is_asked_for(settings) || wanted(settings).iter().all(|wanted| *wanted == WantedBackend::Host) {
        return Ok(());
    }
    drivers::scout()?;
    let device = device::choose(&DeviceChoice::Auto).map_err(|e| e.to_string())?;
    match device.kind {
        Kind::Cpu => Err(format!("the only OpenCL device is a CPU ({})", device.name)),
        Kind::Accelerator => Err(format!("no OpenCL device is a GPU (\"{}\" is an accelerator)", device.name)),
        Kind::Gpu => Ok(()),
    }
}

/// Opens all backends that the user names. If one of several can't be used, it is left out, with a line that says why.
fn open_devices(
    settings: &EvaluatorSettings,
    graph: &Arc<Graph>,
    notes: &mut Vec<String>,
) -> Result<Vec<Unit>, String> {
    drivers::scout()?;
    let (wanted, repeated) = once_each(wanted(settings), index_of);
    notes.extend(repeated);
    let (mut units, mut faults) = (Vec::new(), Vec::new());
    for wanted in wanted {
        let opened = match wanted {
            WantedBackend::Device(choice) => open_device(settings, &choice, graph, notes),
            WantedBackend::Host => open_host(graph, settings),
        };
        match opened {
            Ok(unit) => units.push(unit),
            Err(fault) => faults.push(fault),
        }
    }
    if units.is_empty() {
        return Err(faults.join("; "));
    }
    notes.extend(faults.into_iter().map(|fault| format!("{fault}; the other devices run the network")));
    Ok(units)
}

/// The host's positions per second in batches of this size. If one position alone takes so long that no batch can bring
/// the host to `least`, the rate for one position is returned: a slow host would take minutes for a batch.
pub fn host_rate(
    settings: &EvaluatorSettings,
    graph: &Arc<Graph>,
    batch: usize,
    least: f64,
) -> Result<f64, BackendError> {
    let threads = host_threads(settings);
    let mut host = host(graph, settings)?;
    let alone = rate_in_batches_of(1, &mut host)?;
    // At best, a thread in a batch needs half the time for each position that a position alone needs.
    if alone * 2.0 * (threads.max(1) as f64) < least {
        return Ok(alone);
    }
    let batch = batch.min(host.max_batch());
    rate_in_batches_of(batch, &mut host)
}

/// The positions per second of the faster of two runs: the first one begins with memory that has never been touched.
fn rate_in_batches_of(batch: usize, host: &mut Host) -> Result<f64, BackendError> {
    let (input, mut outputs) = (vec![0.0; batch * host.graph().input().len()], Outputs::default());
    Ok(batch as f64 / shortest(2, || host.evaluate(&input, &mut outputs))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_no_more_threads_than_cores() {
        assert_eq!([1, 6, 16, 64, 0].map(|wanted| threads_on(16, wanted)), [1, 6, 16, 16, 16]);
    }
}
