//! Finds the [`Tuning`] that is fastest for one graph on one device, and stores it.
//!
//! [`search`] walks through the knobs and keeps what is better. Its caller decides how a candidate is tried, so that a
//! driver may hang or crash in a process that can be lost. [`Candidate::run`] is that trial. [`Record`] is the file.
//!
//! A candidate whose outputs differ from the host's is rejected. A record holds for a device, its driver, the text of
//! the kernels, the shape of the graph and the precision; it is looked up when a network is loaded.

mod record;
mod search;

pub use record::{Key, Record};
pub use search::{Trial, search};

use crate::backend::{Backend, BackendError, Outputs, shortest};
use crate::device::{self, Error, Kind};
use crate::graph::Graph;
use crate::kernels::{Tuning, Variant};
use crate::opencl::{Fault, LEAST_MAX_BATCH, OpenCl, Options, canary};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Batch sizes that a candidate is timed with: the latency of one position, a few, and the device filled. A GPU's
/// kernels for many positions run in large batches only: in how large ones depends on its units and on the network.
pub fn batches(kind: Kind) -> [usize; 3] {
    if kind == Kind::Cpu { [1, 4, 16] } else { [1, 8, 64] }
}

/// For how long each batch size is timed, once it is warm.
const TIMED: Duration = Duration::from_millis(400);

/// One tuning to be tried.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The network.
    pub graph: Arc<Graph>,
    /// The device, the precision, and the tuning that is tried.
    pub options: Options,
}

impl Candidate {
    /// Compiles, compares the outputs with the host's, and times: returns the milliseconds of a batch, for each of the
    /// device's [`batches`].
    ///
    /// The fastest run counts and not the mean: other programs make a run longer, none makes one shorter. A batch that
    /// is too long for one launch takes as long as the batches that it is made of.
    ///
    /// # Errors
    /// What the driver refused, or how far an output is from the host's.
    pub fn run(&self) -> Result<[f64; 3], BackendError> {
        let batches = self.batches()?;
        let mut device = self.open(batches[2])?;
        let each = self.graph.input().len();
        let input = canary::planes(batches[2] * each);
        let longest = device.max_batch();
        if !device.leaves_host_free() {
            // Devices that leave the host free were just compared in the largest batch.
            device.check_in(&[longest], 0)?;
        }
        let mut times = [0.0; 3];
        for (time, batch) in times.iter_mut().zip(batches) {
            let at_once = batch.min(longest);
            *time = in_parts(fastest(&mut device, &input[..at_once * each])?, batch, at_once);
        }
        Ok(times)
    }

    fn batches(&self) -> Result<[usize; 3], Error> {
        device::choose(&self.options.device).map(|device| batches(device.kind))
    }

    /// Compiles and compares. If there is no memory for the largest batch, batches are smaller, as they are in a game;
    /// the kernels are exactly those to be tried.
    fn open(&self, max_batch: usize) -> Result<OpenCl, Fault> {
        match self.open_for(max_batch) {
            Err(Fault::Call(error)) if error.is_of_memory() => self.open_for(LEAST_MAX_BATCH),
            opened => opened,
        }
    }

    fn open_for(&self, max_batch: usize) -> Result<OpenCl, Fault> {
        let options = Options { max_batch, self_check: false, ..self.options.clone() };
        let mut device = OpenCl::unchecked(Arc::clone(&self.graph), &options)?;
        let asked = self.options.tuning.filter(|asked| asked.variant == Variant::Gpu);
        if asked.is_some_and(|asked| asked.network > 0) && device.tuning().network == 0 {
            // With launches for each layer it is another candidate.
            let why = device.refused().unwrap_or("its kernels don't fit together");
            return Err(BackendError(format!("this network is not one launch: {why}")).into());
        }
        // The check goes on from single positions, so that no launch takes as long as one that hangs.
        device.check()?;
        Ok(device)
    }

    /// The tuning that a game uses on this device if nothing was tuned: if the kernels that it starts with are refused
    /// or wrong, it is what has replaced them.
    ///
    /// # Errors
    /// Like [`OpenCl::new`].
    pub fn of_a_game(&self) -> Result<Tuning, BackendError> {
        let [.., max_batch] = self.batches()?;
        let options = Options { max_batch, tuning: None, self_check: true, ..self.options.clone() };
        Ok(OpenCl::new(Arc::clone(&self.graph), &options)?.tuning())
    }
}

fn fastest(device: &mut OpenCl, input: &[f32]) -> Result<f64, BackendError> {
    let mut outputs = Outputs::default();
    // The first launch of a kernel may still be compiled for its size.
    device.evaluate(input, &mut outputs)?;
    let (begun, mut best) = (Instant::now(), f64::INFINITY);
    while begun.elapsed() < TIMED || best.is_infinite() {
        best = best.min(1e3 * shortest(1, || device.evaluate(input, &mut outputs))?);
    }
    Ok(best)
}

/// What a batch takes that is made of smaller ones, each of which takes so long.
fn in_parts(milliseconds: f64, batch: usize, at_once: usize) -> f64 {
    milliseconds * batch as f64 / at_once as f64
}

/// The geometric mean of some times: a candidate that halves one of them is as good as one that halves another.
pub fn score(times: [f64; 3]) -> f64 {
    (times.iter().map(|time| time.max(1e-6).ln()).sum::<f64>() / times.len() as f64).exp()
}

/// The tuning that is tried in [`search`] whatever happens to the others.
pub fn baseline(tuning: Tuning) -> Tuning {
    Tuning { winograd: 0, network: 0, ..tuning }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::device_is_there;
    use crate::opencl::selftest::kit;

    #[test]
    fn a_batch_takes_what_all_of_its_parts_take() {
        assert_eq!(
            [(16, 16), (16, 4), (4, 4), (1, 1)].map(|(batch, at_once)| in_parts(3.0, batch, at_once)),
            [3.0, 12.0, 3.0, 3.0]
        );
    }

    #[test]
    fn a_candidate_opens_in_one_launch_or_in_many_as_it_is_told() {
        if device_is_there().is_none() {
            return;
        }
        let (what, graph) = kit().swap_remove(0);
        let graph = Arc::new(graph);
        for network in [0, 1] {
            let tuning = Some(Tuning { network, ..Tuning::start(Variant::Gpu, 8) });
            let candidate = Candidate { graph: Arc::clone(&graph), options: Options { tuning, ..Options::default() } };
            assert_eq!(candidate.open(16).expect(what).tuning().network, network);
        }
    }
}
