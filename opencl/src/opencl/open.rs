//! Opens a device: tries what was asked for, checks it, and gives way where the device refuses something or gets it
//! wrong.

use super::canary::Canary;
use super::fallback::{Size, by_layers, give_way, is_one_launch};
use super::{Common, Fault, MAX_BATCH, OpenCl, Options, canary};
use crate::backend::{Backend, BackendError};
use crate::device::{self, Device, Session};
use crate::graph::Graph;
use crate::kernels::{CompiledPrograms, Precision, Tuning, Variant};
use std::sync::Arc;

impl OpenCl {
    /// Opens the device, compiles the kernels, sends the weights, and compares a few positions with the host. What the
    /// device refuses or gets wrong is replaced, as long as there is something smaller: one launch for the network by
    /// one for each layer, groups by smaller ones, batches by smaller ones if memory is short, and Winograd's tiles by
    /// smaller ones and then by direct convolutions.
    ///
    /// # Errors
    /// In one line: that there is no platform, no such device or too little memory, what the driver refused, or where
    /// the device's results differ from the host's.
    pub fn new(graph: impl Into<Arc<Graph>>, options: &Options) -> Result<Self, BackendError> {
        let graph = graph.into();
        if !options.self_check {
            return Ok(Self::unchecked(graph, options)?);
        }
        let device = device::choose(&options.device)?;
        let asked = Size { tuning: options.tuning.unwrap_or(Tuning::of(&device)), max_batch: options.max_batch };
        let (mut tried, mut refused) = (asked, None);
        loop {
            let lacks_launch = |made: &Self| is_one_launch(tried.tuning) && made.network.is_none();
            let made = match Self::of_size(&device, graph.clone(), options, tried) {
                Ok(made) if lacks_launch(&made) => Ok(made),
                other => other.and_then(Self::checked),
            };
            // Before anything else replaces it: was a program from a file to blame?
            if let (Some(programs), Some(fault)) = (&options.programs, fault_of_program(&made))
                && programs.renew(&fault)
            {
                continue;
            }
            let fault = match made {
                Ok(made) if lacks_launch(&made) => {
                    refused = made.common.refused;
                    tried.tuning = by_layers(tried.tuning);
                    continue;
                }
                Ok(made) => return Ok(made.having_refused(refused).with_less_memory(tried.max_batch)),
                Err(fault) => fault,
            };
            let Some(next) = give_way(&fault, tried, asked) else { return Err(fault.into()) };
            if is_one_launch(tried.tuning) {
                refused = Some(fault.to_string());
            }
            tried = next;
        }
    }

    /// Checks the device; a network that does not agree as one launch on a CPU device is checked again layer by layer,
    /// with the same kernels.
    pub(super) fn checked(mut self) -> Result<Self, Fault> {
        match self.check() {
            Ok(()) => Ok(self),
            Err(fault) if self.falls_back_to_layers() => Ok(self.having_refused(Some(fault.to_string()))),
            Err(fault) => Err(fault),
        }
    }

    /// Remembers why the network is not one launch, if that is known.
    pub(super) fn having_refused(mut self, why: Option<String>) -> Self {
        self.common.refused = why.or(self.common.refused);
        self
    }

    /// Gives each layer launches of its own, if the network was one launch; returns whether the device then agrees with
    /// the host.
    pub(super) fn falls_back_to_layers(&mut self) -> bool {
        if self.common.tuning.variant == Variant::Gpu || self.network.take().is_none() {
            return false; // a GPU's layers are made for that launch
        }
        self.common.tuning.network = 0;
        self.agrees_with_host().is_ok()
    }

    /// Compares the outputs of a few positions, always the same, with the host's: in batches of one position, of a few,
    /// and of as many as are evaluated at a time in a game; on a device other than the host's own cores also in the
    /// largest batch.
    ///
    /// # Errors
    /// If the device fails, or if a number is too far from the host's for the precision, as a share of the largest
    /// number of its output; with layers in eight bits, if the outputs differ by more than
    /// [`Loss::BOUND`](crate::int8::Loss::BOUND).
    pub fn agrees_with_host(&mut self) -> Result<(), BackendError> {
        let mut sizes = self.sizes();
        sizes.extend(self.leaves_host_free().then_some(self.common.max_batch));
        Ok(self.check_in(&sizes, 0)?)
    }

    pub(super) fn sizes(&self) -> Vec<usize> {
        canary::sizes(self.preferred_batch(), self.common.max_batch)
    }

    /// Checks what a device must pass before it is trusted.
    pub(crate) fn check(&mut self) -> Result<(), Fault> {
        match self.leaves_host_free() {
            true => self.fit_batches(),
            // The host's own cores are never reset, and a user who starts a game waits for this check.
            false => self.check_in(&self.sizes(), 0),
        }
    }

    /// Compares in batches of these sizes, each limited to the largest batch; for `turn` see [`Canary::check`].
    pub(crate) fn check_in(&mut self, sizes: &[usize], turn: usize) -> Result<(), Fault> {
        let canary = match &self.common.canary {
            Some(canary) => Arc::clone(canary),
            None => Arc::new(Canary::new(&self.common.graph)?),
        };
        self.common.canary = Some(Arc::clone(&canary));
        let bound = canary_bound(self.common.tuning, self.common.precision);
        canary.check(self, sizes, turn, bound)
    }

    pub(crate) fn unchecked(graph: Arc<Graph>, options: &Options) -> Result<Self, Fault> {
        Self::unchecked_on(&device::choose(&options.device)?, graph, options)
    }

    pub(super) fn unchecked_on(device: &Device, graph: Arc<Graph>, options: &Options) -> Result<Self, Fault> {
        let size = Size { tuning: options.tuning.unwrap_or(Tuning::of(device)), max_batch: options.max_batch };
        if !is_one_launch(size.tuning) {
            return Self::of_size(device, graph, options, size);
        }
        let refused = match Self::of_size(device, graph.clone(), options, size) {
            Ok(made) if made.network.is_some() => return Ok(made),
            Ok(made) => made.common.refused.clone(),
            Err(fault) => Some(fault.to_string()),
        };
        let size = Size { tuning: by_layers(size.tuning), ..size };
        Ok(Self::of_size(device, graph, options, size)?.having_refused(refused))
    }

    pub(super) fn of_size(device: &Device, graph: Arc<Graph>, options: &Options, size: Size) -> Result<Self, Fault> {
        let Size { max_batch, .. } = size;
        if !(1..=MAX_BATCH).contains(&max_batch) {
            let what = format!("largest batch: expected 1 to {MAX_BATCH} positions, got {max_batch}");
            return Err(BackendError(what).into());
        }
        let open = if options.profiled { Session::open_timed } else { Session::open };
        let mut session = open(device).map_err(Fault::Device)?;
        options.programs.iter().for_each(|programs| session.keep_programs(Arc::clone(programs)));
        Self::on_session(session, graph, options.precision, size, CompiledPrograms::default())
    }

    /// With memory for the batches that it takes, if it has memory for `most` positions and takes at most half as many.
    pub(super) fn with_less_memory(mut self, most: usize) -> Self {
        let size = Size { tuning: self.common.tuning, max_batch: self.common.max_batch };
        if size.max_batch > most / 2 {
            return self;
        }
        let Ok(session) = self.session.another() else { return self };
        let Common { graph, precision, .. } = self.common.clone();
        let programs = std::mem::take(&mut self.programs);
        match Self::on_session(session, graph, precision, size, programs) {
            Ok(mut smaller) if smaller.network.is_some() == self.network.is_some() => {
                let largest_piece = smaller.common.largest_piece;
                smaller.common = Common { largest_piece, ..self.common.clone() };
                if smaller.agrees_with_host().is_ok() { smaller } else { self }
            }
            _ => self,
        }
    }
}

/// A fault of a device that is being opened, or of what was replaced in it, of which a program may be the reason.
fn fault_of_program(made: &Result<OpenCl, Fault>) -> Option<String> {
    match made {
        Ok(made) => made.common.refused.clone(),
        Err(fault) => fault.may_be_of_program().then(|| fault.to_string()),
    }
}

/// How far a number of the canary's outputs may be from the host's, as a share of the largest.
///
/// In single precision, summed in another order, networks of up to 20 blocks differ by about 1e-6, and with Winograd's
/// convolutions by about 1e-5. Direct convolutions get more room: there is nothing else to fall back on.
fn canary_bound(tuning: Tuning, precision: Precision) -> f32 {
    match precision {
        Precision::Fp32 if tuning.winograd > 0 => precision.bound(),
        Precision::Fp32 => 1e-3,
        // Our default network's moves left are 2e-2 off on these boards, which are not chess positions, and its policy
        // is 8e-3 off; on positions from games the policy is 6e-4 off. With int8 only networks without a layer in eight
        // bits get here.
        Precision::Fp16 | Precision::Int8 => 5e-2,
    }
}
