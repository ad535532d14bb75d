//! `oncilla backendbench --profile`: measures which commands a batch's time is spent in on an OpenCL device.

use std::sync::Arc;

use oncilla_go::Size;
use oncilla_opencl::backend::Backend;
use oncilla_opencl::opencl::profile::Profile;
use oncilla_opencl::opencl::{MAX_BATCH, Options};
use serde::Serialize;

use super::backend::{say_too_large, sizes};
use crate::console::{Console, aside};
use crate::network::{EvaluatorSettings, device_choice, drivers, tuning};
use crate::options::backend::on_a_device;
use crate::subject::Subject;

/// The number of runs of each batch size, whose mean is taken.
const RUNS: usize = 50;

/// The results for one batch size. The JSON output is a list of these.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The number of positions in a batch.
    pub batch: usize,
    /// The time of a batch by the host's clock; profiling makes it longer than usual.
    pub latency_ms: f64,
    /// The time from the first command's start to the last one's end by the device's clock.
    pub device_ms: f64,
    /// The part of `device_ms` in which the device executes no command.
    pub between_ms: f64,
    /// The parts of the time, the longest first.
    pub parts: Vec<Part>,
}

/// All launches of one kernel, or all transfers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// The kernel's name, `write` or `read`.
    pub of: String,
    /// Their number per batch.
    pub count: usize,
    /// Their total time per batch.
    pub ms: f64,
}

impl Row {
    fn new(batch: usize, profile: &Profile) -> Self {
        let ms = |seconds: f64| 1000.0 * seconds;
        let part = |part: &oncilla_opencl::opencl::profile::Part| Part {
            of: part.of.clone(),
            count: part.count,
            ms: ms(part.seconds),
        };
        let busy: f64 = profile.parts.iter().map(|part| part.seconds).sum();
        Self {
            batch,
            latency_ms: ms(profile.seconds),
            device_ms: ms(profile.device),
            between_ms: ms((profile.device - busy).max(0.0)),
            parts: profile.parts.iter().map(part).collect(),
        }
    }

    /// The table for the user.
    fn lines(&self) -> Vec<String> {
        let share = |ms: f64| 100.0 * ms / self.device_ms.max(1e-9);
        let of = |of: &str, count: String, ms: f64| format!("  {of:<32} {count:>5} {ms:>10.3} {:>6.1}%", share(ms));
        let head =
            format!("batch {}: {:.3} ms, of which {:.3} ms on the device", self.batch, self.latency_ms, self.device_ms);
        let parts = self.parts.iter().map(|part| of(&part.of, part.count.to_string(), part.ms));
        let between = of("between commands", String::new(), self.between_ms);
        std::iter::once(head).chain(parts).chain([between]).collect()
    }
}

/// Measures and prints the results.
///
/// # Errors
/// One line: no network, no device, a backend that does not use devices, or a batch size that the device does not
/// support.
pub fn print(
    console: &Console,
    settings: &EvaluatorSettings,
    board: Size,
    batches: Option<&[usize]>,
    json: bool,
) -> Result<(), String> {
    on_a_device(settings)?;
    // Sizes that no device supports are refused before memory is allocated for them.
    let [possible, others] = sizes(batches, MAX_BATCH)?;
    if let Some(batch) = others.first() {
        return Err(format!("--batch: expected at most {MAX_BATCH}, got {batch}"));
    }
    let most = possible.into_iter().max().unwrap_or(1);
    drivers::scout()?;
    let (subject, notes) = Subject::of(settings, board)?;
    notes.iter().for_each(|note| aside(note));
    let options = Options { device: device_choice(settings), max_batch: most, profiled: true, ..Options::default() };
    let (mut device, note) = tuning::open(settings, &Arc::new(subject.graph.clone()), options)?;
    note.iter().for_each(|note| aside(note));
    device.refused().iter().for_each(|why| aside(&format!("the network is not one launch: {why}")));
    let [batches, others] = sizes(batches, device.max_batch())?;
    say_too_large(&others, device.max_batch());
    let inputs = subject.inputs(batches.iter().copied().max().unwrap_or(0));
    let (mut rows, each) = (Vec::new(), subject.graph.input().len());
    for batch in batches {
        let profile = device.profile(&inputs[..batch * each], RUNS).map_err(|error| error.to_string())?;
        rows.push(Row::new(batch, &profile));
    }
    match json {
        true => console.say(&serde_json::to_string(&rows).map_err(|error| error.to_string())?),
        false => rows.iter().flat_map(Row::lines).for_each(|line| console.say(&line)),
    }
    Ok(())
}
