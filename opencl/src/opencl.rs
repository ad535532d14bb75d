//! The backend that runs a graph on an OpenCL device.
//!
//! A batch is one write, one chain of kernels in an in-order queue, and one read for each head: the host doesn't look
//! at anything between layers. Weights are packed and sent once, when the backend is made.
//!
//! A launch may get lost, when a GPU is reset, possibly without an error. So outputs have their own memory, an element
//! of each is set to NaN on the device before a batch, and the event of each launch is checked at the end. The host's
//! own cores, which are not reset, need neither, nor does NVIDIA's driver, which fails every call after a failed
//! launch.
//!
//! On a CPU device a batch of more than 16 positions a core goes through the network in pieces of that size, one behind
//! the other in the queue: a layer's output is still in its core's cache for the next one, and values need room for one
//! piece only.
//!
//! [`OpenCl::another`] makes a second backend for the same device. So two batches are on a device at once, and it has
//! work while the host reads the answers of one.

mod batches;
pub(crate) mod canary;
mod fallback;
mod fault;
mod kit;
mod lower;
mod memory;
mod open;
pub mod profile;
pub mod selftest;

use crate::backend::{Backend, BackendError, Outputs, batch_of};
use crate::device::{Copies, Device, DeviceChoice, Error, Kind, Programs, Read, Session, Turns};
use crate::graph::{Graph, INPUT, Role};
use crate::kernels::network::{Network, move_steps};
use crate::kernels::{CompiledPrograms, Kernels, Precision, Step, Tuning, Value, Variant};
use canary::Canary;
pub(crate) use fallback::LEAST_MAX_BATCH;
use fallback::Size;
pub(crate) use fault::Fault;
use memory::Footprint;
use std::sync::Arc;

/// After this many launches the driver is told to begin with them: some drivers begin only when they are told, or at
/// the wait at the end.
const TOLD_AFTER: usize = 8;

/// How many positions for each core the CPU variant's kernels take at a time: see `largest_piece`.
const PIECE_OF_CORE: usize = 16;

/// The most positions in a batch: the kernels count the squares of a batch in an `int`.
pub const MAX_BATCH: usize = 1 << 16;

/// How to make an [`OpenCl`].
#[derive(Clone, Debug)]
pub struct Options {
    /// The device to use.
    pub device: DeviceChoice,
    /// Positions in the largest batch, 1 to [`MAX_BATCH`]; memory on the device grows with it. If the device is
    /// compared with the host, the limit is lowered to what it has memory for, and on a GPU also to what it is quick
    /// enough for.
    pub max_batch: usize,
    /// The tuning of the kernels; `None`: [`Tuning::of`] the device.
    pub tuning: Option<Tuning>,
    /// How weights are stored.
    pub precision: Precision,
    /// Whether a few positions are compared with the host's results before the device is trusted.
    pub self_check: bool,
    /// Where compiled programs are stored; `None`: nowhere.
    pub programs: Option<Arc<Programs>>,
    /// Whether the backend can report how long each kernel takes, see [`OpenCl::profile`]; that makes everything
    /// slower.
    pub profiled: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device: DeviceChoice::Auto,
            max_batch: 128,
            tuning: None,
            precision: Precision::Fp32,
            self_check: true,
            programs: None,
            profiled: false,
        }
    }
}

/// A graph on an OpenCL device.
#[derive(Debug)]
pub struct OpenCl {
    common: Common,
    /// By [`ValueId`]; values that share a buffer are never needed at the same time.
    values: Vec<Value>,
    /// By layer.
    steps: Vec<Vec<Step>>,
    /// All steps as one launch, if that is faster.
    network: Option<Network>,
    heads: Vec<Head>,
    memory: Footprint,
    turns: Turns,
    /// What was compiled, for kernels for other batches.
    programs: CompiledPrograms,
    // This field is the last, so that it is dropped last: the other objects were made from it.
    session: Session,
}

/// What is common to all backends that run a graph on one device at the same time.
#[derive(Clone, Debug)]
struct Common {
    graph: Arc<Graph>,
    tuning: Tuning,
    precision: Precision,
    max_batch: usize,
    /// The most positions that the kernels take at a time: the parts of a larger batch follow each other in the queue.
    largest_piece: usize,
    preferred: usize,
    /// See [`OpenCl::rate`].
    rate: Option<f64>,
    /// See [`OpenCl::refused`].
    refused: Option<String>,
    /// The canary that the device is compared with, once one was made.
    canary: Option<Arc<Canary>>,
}

impl Common {
    /// The number of positions of each piece of a batch; the last piece may have fewer.
    fn piece(&self, batch: usize) -> usize {
        batch.div_ceil(batch.div_ceil(self.largest_piece))
    }
}

#[derive(Debug)]
struct Head {
    role: Role,
    value: Value,
    /// What was read back, in the layout of the device.
    stored: Vec<f32>,
}

impl Head {
    /// Makes room for the outputs of a batch that is evaluated in pieces of at most `piece` positions; returns the
    /// reads of each piece.
    fn reads(&mut self, batch: usize, piece: usize) -> impl Iterator<Item = Read<'_>> {
        let each = self.value.layout.stride();
        // An output that the device does not write is NaN, and not that of the last batch.
        self.stored.clear();
        self.stored.resize(batch * each, f32::NAN);
        // The proof is in the last position: a launch over too few groups leaves that one out first.
        let from = &self.value.buffer;
        self.stored.chunks_mut(piece * each).map(move |to| Read { from, proof: to.len() - each, to })
    }
}

impl OpenCl {
    fn on_session(
        session: Session,
        graph: Arc<Graph>,
        precision: Precision,
        size: Size,
        programs: CompiledPrograms,
    ) -> Result<Self, Fault> {
        let Size { mut tuning, max_batch } = size;
        let device = session.device();
        let largest_piece = largest_piece(tuning.variant, device).min(max_batch);
        let mut kernels = Kernels::new(&session, &graph, tuning, precision, largest_piece).with_programs(programs);
        let (mut values, memory) = memory::allocate(&mut kernels, &graph)?;
        let mut steps = lower::lower(&mut kernels, &graph, &values)?;
        let (mut network, mut refused) = (None, None);
        if tuning.network > 0 {
            match Network::new(&kernels, &steps) {
                Ok(None) => {}
                Ok(Some((made, arenas))) => {
                    move_steps(&session, &arenas, &mut steps)?;
                    values.iter_mut().for_each(|value| value.buffer = arenas.moved(&value.buffer).clone());
                    network = Some(made);
                }
                Err(error) => refused = Some(error.to_string()),
            }
        }
        tuning.network = usize::from(network.is_some());
        let heads = graph
            .outputs()
            .iter()
            .map(|o| Head { role: o.role, value: values[o.value.0].clone(), stored: Vec::new() })
            .collect();
        session.finish()?;
        let programs = kernels.into_programs();
        let turns = Turns::new(device, max_batch);
        let preferred = preferred_batch(tuning.variant, device).clamp(1, max_batch);
        let (rate, canary) = (None, None);
        let common = Common { graph, tuning, precision, max_batch, largest_piece, preferred, rate, refused, canary };
        Ok(Self { common, values, steps, network, heads, memory, turns, programs, session })
    }

    /// Another backend for a second batch on the same device at the same time: it has its own queue and its own room
    /// for values, and shares weights and programs.
    ///
    /// # Errors
    /// If the device has no room for it, or the driver refuses.
    pub fn another(&self) -> Result<Self, BackendError> {
        let device = self.session.device();
        let needed = self.memory.all + self.memory.written;
        if needed > device.global_memory {
            return Err(BackendError::from(Error::Memory {
                device: device.name.clone(),
                what: "a second batch at the same time".to_string(),
                needed,
                available: device.global_memory,
            }));
        }
        let session = self.session.another()?;
        let mut copies = Copies::new(&session);
        let mut value = |value: &Value| -> Result<Value, Error> {
            Ok(Value { layout: value.layout, buffer: copies.buffer(&value.buffer)? })
        };
        let values = self.values.iter().map(&mut value).collect::<Result<Vec<_>, _>>()?;
        let head = |head: &Head| Ok(Head { role: head.role, value: value(&head.value)?, stored: Vec::new() });
        let heads = self.heads.iter().map(head).collect::<Result<Vec<_>, Error>>()?;
        let mut layer = |steps: &Vec<Step>| steps.iter().map(|step| step.copy(&mut copies)).collect();
        let steps = self.steps.iter().map(&mut layer).collect::<Result<Vec<Vec<_>>, Error>>()?;
        let network = self.network.as_ref().map(|network| network.copy(&mut copies)).transpose()?;
        let memory = Footprint { all: needed, ..self.memory };
        let turns = Turns::new(device, self.common.max_batch);
        let (common, programs) = (self.common.clone(), CompiledPrograms::default());
        Ok(Self { common, values, steps, network, heads, memory, turns, programs, session })
    }

    /// The tuning of the kernels that are run.
    pub fn tuning(&self) -> Tuning {
        self.common.tuning
    }

    /// Why the network is not one launch, if it would be but for the driver, which refused, or the results, which
    /// differed from the host's: then each layer has launches of its own, which is slower.
    pub fn refused(&self) -> Option<&str> {
        self.common.refused.as_deref()
    }

    /// Positions per second in batches of [`Backend::preferred_batch`], if that was measured when the device was
    /// compared with the host.
    pub fn rate(&self) -> Option<f64> {
        self.common.rate
    }

    /// How many launches of kernels a batch takes.
    pub fn launches(&mut self, batch: usize) -> usize {
        let piece = self.common.piece(batch);
        let mut of_piece = |positions: usize| match &self.network {
            Some(_) => 1,
            None => self.steps.iter_mut().flatten().map(|step| step.count(positions)).sum(),
        };
        let rest = batch % piece;
        batch / piece * of_piece(piece) + if rest > 0 { of_piece(rest) } else { 0 }
    }

    fn run(&mut self, batch: usize, input: &[f32], outputs: &mut Outputs) -> Result<(), Error> {
        let Self { common, session, values, steps, network, heads, turns, .. } = self;
        let (piece, each) = (common.piece(batch), common.graph.input().len());
        let mut heads_of_pieces: Vec<_> = heads.iter_mut().map(|head| head.reads(batch, piece)).collect();
        let turn = turns.wait(batch);
        session.batch(|commands| {
            network.as_mut().map_or(Ok(()), |network| network.begin(session))?;
            for input in input.chunks(piece * each) {
                let reads: Vec<Read<'_>> = heads_of_pieces.iter_mut().filter_map(Iterator::next).collect();
                reads.iter().try_for_each(|read| commands.spoil(read))?;
                commands.write(&values[INPUT.0].buffer, input)?;
                let positions = input.len() / each;
                match network.as_mut() {
                    Some(network) => network.enqueue(session, positions)?,
                    None => enqueue_steps(session, steps, positions)?,
                }
                reads.into_iter().try_for_each(|read| commands.read(read))?;
            }
            Ok(())
        })?;
        drop(heads_of_pieces);
        if let Some(network) = network {
            network.done();
        }
        drop(turn);
        turns.done(batch);
        for Head { role, value, stored } in heads {
            match value.layout.block {
                // The device has the output in the order of the host.
                1 => std::mem::swap(stored, outputs.head_mut(*role)),
                _ => value.layout.unpack(stored, outputs.head_mut(*role)),
            }
        }
        Ok(())
    }

    /// Like [`Backend::evaluate`], for an `input` of `batch` positions.
    fn answer(&mut self, batch: usize, input: &[f32], outputs: &mut Outputs) -> Result<(), Fault> {
        for role in Role::ALL {
            outputs.head_mut(role).clear();
        }
        self.run(batch, input, outputs)?;
        Ok(self.check_finite(outputs)?)
    }

    /// A device that computes nonsense is as bad as one that fails.
    fn check_finite(&self, outputs: &Outputs) -> Result<(), BackendError> {
        for Head { role, .. } in &self.heads {
            let numbers = outputs.head(*role);
            // The loop has no early exit: a search that stops at the first NaN would look at the numbers one by one.
            if !numbers.iter().fold(false, |any, x| any | !x.is_finite()) {
                continue;
            }
            if let Some(at) = numbers.iter().position(|x| !x.is_finite()) {
                let name = &self.session.device().name;
                return Err(BackendError(format!("device \"{name}\": output {role:?} is not finite at element {at}")));
            }
        }
        Ok(())
    }
}

impl Backend for OpenCl {
    fn graph(&self) -> &Graph {
        &self.common.graph
    }

    fn describe(&self) -> String {
        let device = self.session.device();
        let variant = self.common.tuning.variant;
        let precision = match self.common.precision {
            Precision::Fp32 => String::new(),
            other => format!(", {other}"),
        };
        format!("{}, driver {}, {variant} kernels{precision}", device.label(), device.driver)
    }

    fn max_batch(&self) -> usize {
        self.common.max_batch
    }

    fn preferred_batch(&self) -> usize {
        self.common.preferred.min(self.common.max_batch)
    }

    fn leaves_host_free(&self) -> bool {
        self.session.device().kind != Kind::Cpu
    }

    fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
        let batch = batch_of(&self.common.graph, self.common.max_batch, input)?;
        Ok(self.answer(batch, input, outputs)?)
    }
}

/// Enqueues each layer's own launches.
fn enqueue_steps(session: &Session, steps: &mut [Vec<Step>], positions: usize) -> Result<(), Error> {
    let told_after = if session.device().waits_at_flush() { usize::MAX } else { TOLD_AFTER };
    let mut launched = 0;
    for step in steps.iter_mut().flatten() {
        step.enqueue(session, positions)?;
        let before = launched;
        launched += step.count(positions);
        // The first is flushed at once, and then again and again: what is enqueued later follows without a gap.
        if before == 0 || before / told_after != launched / told_after {
            session.flush()?;
        }
    }
    Ok(())
}

/// The most positions that kernels take at a time. On a CPU, what they write should stay in the core's cache; on a GPU,
/// the units should be filled.
fn largest_piece(variant: Variant, device: &Device) -> usize {
    match variant {
        Variant::Cpu => PIECE_OF_CORE * device.compute_units as usize,
        Variant::Gpu => MAX_BATCH,
    }
}

/// The batch size that is worth waiting for, until it is measured. A CPU has its full speed with a few positions. A
/// GPU's units should be filled; 16 boards are 1,024 pixels.
fn preferred_batch(variant: Variant, device: &Device) -> usize {
    match variant {
        Variant::Cpu => 4 * device.compute_units as usize,
        Variant::Gpu => 16,
    }
}
