//! A device made ready: with its tuning, compared with the host, and watched.
//!
//! A device that takes two batches at once is tried with two at once, too.
//!
//! A tuning that does not compile, or does not agree with the host, is replaced by the initial tuning for the kind of
//! device.

use super::drivers;
use super::service::{Unit, tried_input};
use super::settings::EvaluatorSettings;
use super::tuning;
use super::units::host_rate;
use super::wanted::is_asked_for;
use oncilla_opencl::backend::{Backend, BackendError, Outputs};
use oncilla_opencl::device::{self, Device, DeviceChoice, Programs};
use oncilla_opencl::graph::Graph;
use oncilla_opencl::kernels::Tuning;
use oncilla_opencl::opencl::{OpenCl, Options};
use oncilla_opencl::watched::{Patience, Watched, within};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long a device may take to compile its kernels and to answer for the first time. With a cache directory, what it
/// has compiled by then is kept, so that the next start needs less.
pub(super) const GETTING_READY: Duration = Duration::from_secs(180);

/// How many batches each of two lanes runs beside the other's before a game does the same, and for how long, once a
/// lane has run each trial: a start must not wait for a slow device.
const BATCHES_AT_ONCE: usize = 12;
const TIME_AT_ONCE: Duration = Duration::from_millis(250);

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

/// Opens the first device that works, of those that `choice` may mean; the faults of those before it become notes, and
/// each has its own time limit. Without a name, only devices of the best kind are tried: a CPU is no stand-in for a
/// GPU.
pub fn open_device(
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
            Ok(second) => notes.extend(join_second(&mut lanes, second, graph)?),
            Err(fault) => notes.push(one_at_a_time(&fault)),
        }
    }
    Ok(Unit::device(lanes))
}

fn one_at_a_time(fault: &BackendError) -> String {
    format!("a second batch at the same time: {fault}; one batch at a time runs")
}

/// Adds a second lane that answers beside the first as either does alone; otherwise returns a note.
fn join_second(
    lanes: &mut Vec<Box<dyn Backend>>,
    mut second: Box<dyn Backend>,
    graph: &Graph,
) -> Result<Option<String>, String> {
    let first = &mut lanes[0];
    let trials = trials(first.as_mut(), graph).map_err(|error| error.to_string())?;
    let Err(fault) = at_once(first.as_mut(), second.as_mut(), &trials) else {
        lanes.push(second);
        return Ok(None);
    };
    drop(second);
    // The first lane goes on if it is well without the second.
    trials.iter().try_for_each(|trial| trial.check(first.as_mut())).map_err(|error| error.to_string())?;
    Ok(Some(one_at_a_time(&fault)))
}

/// A batch, and what a lane answers alone.
struct Trial {
    input: Vec<f32>,
    expected: Outputs,
}

/// Batches of one position and of as many as a game has at a time, two of each: after a lost launch, what an earlier
/// batch has left behind is wrong.
fn trials(lane: &mut dyn Backend, graph: &Graph) -> Result<Vec<Trial>, BackendError> {
    let each = graph.input().len();
    let sizes = [1, lane.preferred_batch()];
    let positions = tried_input((1 + sizes[1]) * each);
    let mut trials = Vec::new();
    for (from, size) in [(0, sizes[0]), (0, sizes[1]), (1, sizes[0]), (1, sizes[1])] {
        let (input, mut expected) = (positions[from * each..][..size * each].to_vec(), Outputs::default());
        lane.evaluate(&input, &mut expected)?;
        trials.push(Trial { input, expected });
    }
    Ok(trials)
}

impl Trial {
    /// The same kernels with the same numbers on the same device: every bit is the same.
    fn check(&self, lane: &mut dyn Backend) -> Result<(), BackendError> {
        let mut got = Outputs::default();
        lane.evaluate(&self.input, &mut got)?;
        let what = "expected the same numbers as from one batch alone, got others beside another batch";
        if got == self.expected { Ok(()) } else { Err(BackendError(what.to_string())) }
    }
}

/// Runs the trials on two lanes from two threads, each lane with another one than the other's.
fn at_once(first: &mut dyn Backend, second: &mut dyn Backend, trials: &[Trial]) -> Result<(), BackendError> {
    let begun = Instant::now();
    let run = |lane: &mut dyn Backend, from: usize| {
        let batches = trials.iter().cycle().skip(from).take(BATCHES_AT_ONCE).enumerate();
        let mut in_time = batches.take_while(|(done, _)| *done < trials.len() || begun.elapsed() < TIME_AT_ONCE);
        in_time.try_for_each(|(_, trial)| trial.check(lane))
    };
    std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().name("second lane".to_string()).spawn_scoped(scope, || run(second, 1));
        let beside = beside.map_err(|error| BackendError(format!("a thread: {error}")))?;
        let done = run(first, 0);
        let beside = beside.join().unwrap_or_else(|_| Err(BackendError("its thread has panicked".to_string())));
        beside.and(done)
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::prepare;
    use crate::network::{BuiltIn, Weights};
    use crate::options::Typed;

    #[test]
    fn a_device_that_is_late_is_asked_again_once_it_is_ready() {
        let Some(mut device) = drivers::device_is_there(&DeviceChoice::Index(0)) else { return };
        // The device gets a name of its own, because other tests open it under its real name.
        device.name = "late".to_string();
        let mut settings = Typed::default().meaning().unwrap().settings.evaluator;
        settings.weights = Weights::BuiltIn(BuiltIn::Tiny);
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
