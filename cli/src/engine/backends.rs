//! Networks on backends: which one runs, and why not another.
//!
//! A tuning that does not compile, or does not agree with the host, is replaced by the initial tuning for the kind of
//! device.

use super::canaries;
use super::drivers;
use super::evaluator::{Lack, Part};
use super::inputs::Inputs;
use super::service::{MakeHost, Service, Unit};
use super::settings::{BackendKind, EvaluatorSettings, Weights};
use super::tuning;
use crate::system::cores;
use oncilla_core::evaluate::Value;
use oncilla_nets::{Fault, HeadChoice, NetError, Network};
use oncilla_opencl::backend::{Backend, BackendError, Outputs, shortest};
use oncilla_opencl::device::{self, Device, DeviceChoice, Kind, Programs};
use oncilla_opencl::graph::{Graph, Role};
use oncilla_opencl::host::Host;
use oncilla_opencl::int8;
use oncilla_opencl::kernels::{Precision, Tuning};
use oncilla_opencl::opencl::{OpenCl, Options};
use oncilla_opencl::watched::{Patience, Watched, within};
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A network and what runs it.
pub struct Running {
    /// The network, to run it on another backend as well.
    pub graph: Arc<Graph>,
    /// What runs it.
    pub service: Service,
    /// The planes that the network wants to see.
    pub inputs: Inputs,
}

impl Running {
    /// Whether the network has a head with this role.
    pub fn has_head(&self, role: Role) -> bool {
        self.graph.output_len(role).is_some()
    }
}

/// Reads the network that `settings` name and makes the backend for it; also returns lines for a person.
pub fn open(settings: &EvaluatorSettings) -> Result<(Running, Vec<String>), Lack> {
    // This check comes first because reading a network may take long.
    settings.backend.is_here().map_err(Lack::of(Part::Backend))?;
    let (network, mut notes) = prepare(settings).map_err(Lack::of(Part::Network))?;
    let inputs = Inputs::of(&network, settings.history_fill).map_err(Lack::of(Part::Network))?;
    let graph = Arc::new(network.graph);
    let service = open_service(settings, &graph, &mut notes)?;
    Ok((Running { graph, service, inputs }, notes))
}

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
fn open_service(settings: &EvaluatorSettings, graph: &Arc<Graph>, notes: &mut Vec<String>) -> Result<Service, Lack> {
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

/// Reads the network that `settings` name and gives its layers their precision; also returns lines for a person.
///
/// # Errors
/// One line, with the file's name.
pub fn prepare(settings: &EvaluatorSettings) -> Result<(Network, Vec<String>), String> {
    let mut network = read_network(&settings.weights, &settings.heads)?;
    let mut notes = Vec::new();
    if settings.precision == Precision::Int8 {
        let canaries = canaries::planes(&canaries::POSITIONS, Inputs::of(&network, settings.history_fill)?)?;
        let choice = int8::choose(&mut network.graph, &canaries).map_err(|error| error.to_string())?;
        notes.push(choice.to_string());
    }
    Ok((network, notes))
}

/// Reads the network that `weights` name, with the heads of this choice, and without the planes and filters that change
/// nothing.
///
/// # Errors
/// One line, with the file's name.
pub fn read_network(weights: &Weights, heads: &HeadChoice) -> Result<Network, String> {
    try_network(weights, heads).map_err(|error| refusal(weights, &error))
}

/// Like [`read_network`], for a caller that does something else if the file is another kind of network.
pub fn try_network(weights: &Weights, heads: &HeadChoice) -> Result<Network, NetError> {
    let mut network = match weights {
        Weights::BuiltIn(network) => Network::from_bytes_heads(network.file(), heads),
        Weights::File(path) => Network::read_heads(path, heads),
    }?;
    network.prune();
    Ok(network)
}

/// Why a network is not used, in one line with its name.
pub fn refusal(weights: &Weights, error: &NetError) -> String {
    match weights {
        // The file may well have been meant for Go, but that could not be seen: its bytes are gone once they have been
        // read.
        Weights::File(path) if error.fault == Fault::Go && !path.is_file() => {
            of_network(weights, &format!("{error}; one for Go is read more than once, and has to be a regular file"))
        }
        _ => of_network(weights, error),
    }
}

/// A line about a network, with its name.
pub fn of_network(weights: &Weights, what: &dyn Display) -> String {
    match weights {
        Weights::BuiltIn(network) => format!("{}, which is built in: {what}", network.name()),
        Weights::File(path) => format!("{}: {what}", crate::text::shown(&path.to_string_lossy())),
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

/// One of the things on which the user wants to run the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedBackend {
    /// An OpenCL device.
    Device(DeviceChoice),
    /// The host's cores, beside devices.
    Host,
}

/// What the settings name, or else what [`device::DEVICE_ENV`] names, where commas separate several names.
pub fn wanted(settings: &EvaluatorSettings) -> Vec<WantedBackend> {
    let by_environment = || device::named_by_environment().unwrap_or_default();
    let names = match settings.devices.is_empty() {
        true => by_environment().split(',').filter(|name| !name.trim().is_empty()).map(str::to_string).collect(),
        false => settings.devices.clone(),
    };
    let wanted = |name: &String| match name.trim() {
        name if name.eq_ignore_ascii_case("host") => WantedBackend::Host,
        name => WantedBackend::Device(DeviceChoice::from(name)),
    };
    match names.is_empty() {
        true => vec![WantedBackend::Device(DeviceChoice::Auto)],
        false => names.iter().map(wanted).collect(),
    }
}

/// The first device that the settings name.
pub fn device_choice(settings: &EvaluatorSettings) -> DeviceChoice {
    let device = |wanted| match wanted {
        WantedBackend::Device(choice) => Some(choice),
        WantedBackend::Host => None,
    };
    wanted(settings).into_iter().find_map(device).unwrap_or_default()
}

/// Whether the user has said which device to use, or that there should be one.
fn is_asked_for(settings: &EvaluatorSettings) -> bool {
    let names_one =
        |wanted: &WantedBackend| matches!(wanted, WantedBackend::Device(choice) if *choice != DeviceChoice::Auto);
    let is_named = wanted(settings).iter().any(names_one) || device::named_by_environment().is_some();
    is_named || settings.backend != BackendKind::Auto
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

/// Keeps each device once, however many names it has, with a line for each that is left out: a second queue on it is
/// opened in any case. The host, and devices for which there is no index, are left as they are.
fn once_each(
    wanted: Vec<WantedBackend>,
    index_of: impl Fn(&DeviceChoice) -> Option<usize>,
) -> (Vec<WantedBackend>, Vec<String>) {
    if wanted.len() < 2 {
        return (wanted, Vec::new());
    }
    let (mut known, mut notes) = (Vec::new(), Vec::new());
    let mut is_new = |wanted: &WantedBackend| {
        let WantedBackend::Device(choice) = wanted else { return true };
        let Some(index) = index_of(choice) else { return true };
        if known.contains(&index) {
            notes.push(format!("OpenCL device {index} is named more than once, and runs the network once"));
            return false;
        }
        known.push(index);
        true
    };
    let kept = wanted.into_iter().filter(|wanted| is_new(wanted)).collect();
    (kept, notes)
}

/// The index of the device that a name means; `None` if no device has this name or if a driver hangs: opening it
/// reports that.
fn index_of(choice: &DeviceChoice) -> Option<usize> {
    let which = choice.clone();
    let chosen = within(GETTING_READY, move || device::choose(&which)).ok()?;
    chosen.ok().map(|device| device.index)
}

/// How long a device may take to compile its kernels and to answer for the first time. With a cache directory, what it
/// has compiled by then is kept, so that the next start needs less.
pub(super) const GETTING_READY: Duration = Duration::from_secs(180);

/// Devices that were not ready in time, by [label](Device::label), each with what its thread holds. Nothing waits for
/// such a device again before that thread has ended.
static LATE: Mutex<Vec<(String, Weak<()>)>> = Mutex::new(Vec::new());

fn late() -> MutexGuard<'static, Vec<(String, Weak<()>)>> {
    LATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the device with this [label](Device::label) was not ready in time and its thread still runs.
fn is_late(device: &str) -> bool {
    late().iter().any(|(late, held)| late == device && held.strong_count() > 0)
}

/// Like [`open_lanes`], but waits no longer than `limit`: a driver may hang here as well as later.
fn open_within(
    limit: Duration,
    settings: &EvaluatorSettings,
    device: &Device,
    graph: &Arc<Graph>,
    notes: &mut Vec<String>,
) -> Result<Unit, String> {
    let name = device.label();
    if is_late(&name) {
        return Err(format!("{name} is still not ready"));
    }
    // This is dropped however the thread ends, or if it never starts.
    let held = Arc::new(());
    let is_held = Arc::downgrade(&held);
    let (settings, graph, its) = (settings.clone(), Arc::clone(graph), device.clone());
    let open = move || {
        let _held = held;
        let mut notes = Vec::new();
        let unit = open_lanes(&settings, &its, &graph, &mut notes);
        (unit, notes)
    };
    let (unit, said) = within(limit, open).map_err(|error| {
        let mut late = late();
        late.retain(|(_, held)| held.strong_count() > 0);
        late.push((name.clone(), is_held));
        format!("{name} is not ready: {error}")
    })?;
    notes.extend(said);
    unit
}

/// Opens the first device that works, of those that `choice` may mean; the faults of those before it become notes, and
/// each has its own time limit. Without a name, only devices of the best kind are tried: a CPU is no stand-in for a
/// GPU.
fn open_device(
    settings: &EvaluatorSettings,
    choice: &DeviceChoice,
    graph: &Arc<Graph>,
    notes: &mut Vec<String>,
) -> Result<Unit, String> {
    let which = choice.clone();
    // Even a driver whose devices another process could list may hang here.
    let listed = within(GETTING_READY, move || device::candidates(&which)).map_err(|e| e.to_string())?;
    let mut devices = listed.map_err(|e| e.to_string())?;
    let best = devices[0].kind;
    devices.retain(|device| device.kind == best);
    let mut faults = Vec::new();
    for device in &devices {
        match open_within(GETTING_READY, settings, device, graph, notes) {
            Ok(unit) => {
                notes.extend(faults.into_iter().map(|fault| format!("{fault}; the next device runs the network")));
                return Ok(unit);
            }
            Err(fault) => faults.push(fault),
        }
    }
    Err(faults.join("; "))
}

/// A GPU that the user did not ask for must be faster than the host's cores.
fn outdoes_host(settings: &EvaluatorSettings, graph: &Arc<Graph>, device: &OpenCl) -> Result<(), String> {
    let Some(rate) = device.rate() else { return Ok(()) };
    let batch = device.preferred_batch();
    let of_host = host_rate(settings, graph, batch, rate).map_err(|error| error.to_string())?;
    if rate >= of_host {
        return Ok(());
    }
    let (device, rates) = (device.describe(), format!("{rate:.0} positions per second, the host {of_host:.0}"));
    Err(format!("{device}: expected more than the host's speed, got {rates} at {batch} a time"))
}

/// The host's positions per second in batches of this size. If one position alone takes so long that no batch can bring
/// the host to `least`, the rate for one position is returned: a slow host would take minutes for a batch.
fn host_rate(settings: &EvaluatorSettings, graph: &Arc<Graph>, batch: usize, least: f64) -> Result<f64, BackendError> {
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

/// Opens a device, with a second lane for another batch at the same time, if it has room for that and agrees with the
/// host on either.
fn open_lanes(
    settings: &EvaluatorSettings,
    device: &Device,
    graph: &Arc<Graph>,
    notes: &mut Vec<String>,
) -> Result<Unit, String> {
    drivers::rehearse(settings, device, graph)?;
    let device = open_tuned(settings, device, graph, notes)?;
    if !is_asked_for(settings) {
        outdoes_host(settings, graph, &device)?;
    }
    let second = device.another();
    let mut lanes = vec![lane(device, graph).map_err(|error| error.to_string())?];
    // If there is no room for a second lane, there is nothing to say: one batch at a time is a normal state.
    if let Ok(mut second) = second {
        match second.agrees_with_host().and_then(|()| lane(second, graph)) {
            Ok(second) => lanes.push(second),
            Err(fault) => notes.push(format!("a second batch at the same time: {fault}; one batch at a time runs")),
        }
    }
    Ok(Unit::device(lanes))
}

/// Makes a lane of a device. It is watched unless it is the host itself, which has no driver that waits for another
/// processor.
fn lane(device: OpenCl, graph: &Arc<Graph>) -> Result<Box<dyn Backend>, BackendError> {
    if !device.leaves_host_free() {
        return Ok(Box::new(device));
    }
    let mut lane = Watched::new(device, Arc::clone(graph), Patience::default())?;
    // The first launches of each kernel, which can take seconds on some drivers, have happened in the comparison with
    // the host. So the lane learns here, and not on a game's clock, how long an answer takes.
    let input = vec![0.0; graph.input().len()];
    lane.evaluate(&input, &mut Outputs::default())?;
    Ok(Box::new(lane))
}

/// Opens a device with what `oncilla tune` has found for it, if there is such a tuning and it works.
fn open_tuned(
    settings: &EvaluatorSettings,
    device: &Device,
    graph: &Arc<Graph>,
    notes: &mut Vec<String>,
) -> Result<OpenCl, String> {
    let (tuning, note) = tuning::known(settings, device, graph);
    notes.extend(note);
    let programs = tuning::cache_dir(settings).map(|cache| Arc::new(Programs::new(&cache)));
    let options = Options {
        device: DeviceChoice::Index(device.index),
        precision: settings.precision,
        programs: programs.clone(),
        ..Options::default()
    };
    let opened = open_with(graph, tuning, &options, notes);
    if let Some(why) = opened.as_ref().ok().and_then(OpenCl::refused) {
        notes.push(format!("{why}; each layer is launched by itself, which is slower"));
    }
    notes.extend(programs.and_then(|programs| programs.take_note()));
    opened
}

fn open_with(
    graph: &Arc<Graph>,
    tuning: Option<Tuning>,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<OpenCl, String> {
    if let Some(tuning) = tuning {
        match OpenCl::new(Arc::clone(graph), &Options { tuning: Some(tuning), ..options.clone() }) {
            Ok(device) => return Ok(device),
            Err(fault) => notes.push(format!("{fault}; the kernels run without their tuning")),
        }
    }
    OpenCl::new(Arc::clone(graph), options).map_err(|e| e.to_string())
}

/// The value of position `at` of the batch, from the heads that the network has.
pub fn value(outputs: &Outputs, at: usize) -> Value {
    let (wl, d) = match outputs.wdl.get(3 * at..3 * at + 3) {
        Some(&[w, d, l]) => (w - l, d),
        _ => (outputs.value.get(at).copied().unwrap_or(0.0), 0.0),
    };
    Value { wl, d, m: outputs.moves_left.get(at).copied().unwrap_or(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Typed;

    #[test]
    fn the_host_has_no_more_threads_than_cores() {
        assert_eq!([1, 6, 16, 64, 0].map(|wanted| threads_on(16, wanted)), [1, 6, 16, 16, 16]);
    }

    /// Also tries the kernels that a GPU has, and tunings without Winograd, in which there is nothing to fall back
    /// from.
    #[test]
    fn the_built_in_networks_pass_the_check_in_every_precision_and_on_every_form_of_kernels() {
        use oncilla_opencl::kernels::Variant;
        if drivers::device_is_there(&DeviceChoice::Auto).is_none() {
            return;
        }
        for network in super::super::builtin::BuiltIn::ALL {
            let mut settings = Typed::default().meaning().unwrap().settings.evaluator;
            settings.weights = Weights::BuiltIn(network);
            for precision in [Precision::Fp32, Precision::Fp16, Precision::Int8] {
                settings.precision = precision;
                let graph = Arc::new(prepare(&settings).unwrap().0.graph);
                let has_int8 = (0..graph.layers().len()).any(|layer| graph.is_int8(layer));
                assert!(precision == Precision::Int8 || !has_int8);
                for (variant, winograd) in [(Variant::Cpu, 0), (Variant::Cpu, 4), (Variant::Gpu, 0), (Variant::Gpu, 4)]
                {
                    let tuning = Tuning { winograd, ..Tuning::start(variant, 8) };
                    let options = Options { tuning: Some(tuning), precision, max_batch: 16, ..Options::default() };
                    let checked = OpenCl::new(Arc::clone(&graph), &options);
                    let kept = checked.map(|device| device.tuning()).map_err(|error| error.to_string());
                    // Layers in eight bits are launched one by one, so the network has no single launch.
                    let tuning = if has_int8 { Tuning { network: 0, ..tuning } } else { tuning };
                    assert_eq!(kept, Ok(tuning), "{}, {precision}", network.name());
                }
            }
        }
    }

    #[test]
    fn a_device_with_two_names_is_opened_once() {
        let wanted = |names: &[&str]| {
            let named = |name: &&str| match *name {
                "host" => WantedBackend::Host,
                name => WantedBackend::Device(DeviceChoice::from(name)),
            };
            names.iter().map(named).collect::<Vec<_>>()
        };
        // Device 1 is a Mali, the device that is chosen without a name is device 0, and there are no others.
        let index_of = |choice: &DeviceChoice| match choice {
            DeviceChoice::Auto => Some(0),
            DeviceChoice::Index(index) => Some(*index).filter(|index| *index < 2),
            DeviceChoice::Name(_) => Some(1),
        };
        for (named, kept, left_out) in [
            (&["0", "0"][..], &["0"][..], 1),
            (&["Mali", "0", "1", "auto"], &["Mali", "0"], 2),
            (&["host", "host", "0"], &["host", "host", "0"], 0),
            (&["9", "9"], &["9", "9"], 0),
            (&["0"], &["0"], 0),
        ] {
            let (got, notes) = once_each(wanted(named), index_of);
            assert_eq!((got, notes.len()), (wanted(kept), left_out), "{named:?}: {notes:?}");
        }
        let (_, notes) = once_each(wanted(&["1", "Mali"]), index_of);
        assert_eq!(notes, ["OpenCL device 1 is named more than once, and runs the network once"]);
    }

    #[test]
    fn a_device_that_is_late_is_asked_again_once_it_is_ready() {
        let Some(mut device) = drivers::device_is_there(&DeviceChoice::Index(0)) else { return };
        // The device gets a name of its own, because other tests open it under its real name.
        device.name = "late".to_string();
        let mut settings = Typed::default().meaning().unwrap().settings.evaluator;
        settings.weights = Weights::BuiltIn(super::super::builtin::BuiltIn::Tiny);
        let cache = std::env::temp_dir().join(format!("oncilla-late-{}", std::process::id()));
        settings.cache_dir = Some(cache.clone());
        let graph = Arc::new(prepare(&settings).unwrap().0.graph);
        let open = |limit| open_within(limit, &settings, &device, &graph, &mut Vec::new()).map(|_| ());
        let name = "OpenCL device 0 \"late\"";
        assert_eq!(open(Duration::ZERO), Err(format!("{name} is not ready: it took more than 0ns")));
        assert_eq!(open(Duration::ZERO), Err(format!("{name} is still not ready")));
        while is_late(name) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let opened = open(GETTING_READY);
        assert!(opened.is_ok(), "{:?}", opened.err());
        let _ = std::fs::remove_dir_all(cache); // there may be none
    }
}
