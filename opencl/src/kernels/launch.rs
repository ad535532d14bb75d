//! Launches: a kernel with its range, and what a layer enqueues of them for a batch.

use super::{Family, Kernels};
use crate::device::{Arg, Argument, Copies, Error, Kernel, Session};

/// One run of a kernel in the chain of a batch.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(super) compiled: Compiled,
    pub(super) range: Range,
    pub(super) items: Items,
    pub(super) max_batch: usize,
    /// Index of the argument `batch`, and the value that it was set to.
    pub(super) batch_arg: usize,
    pub(super) batch: usize,
}

/// How the items of a launch go with each other, for [`super::network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Items {
    /// The items of all positions that read the same weights follow each other.
    ByWeights,
    /// All items of a position (or of a group's part of the batch) follow each other, because they read or write
    /// neighbouring memory.
    ByPosition,
    /// The items of a group work together.
    Together,
}

/// How many groups a batch takes: `ceil(batch * each / whole)` by `across`, groups of `local` items.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) each: usize,
    pub(super) whole: usize,
    pub(super) across: usize,
    pub(super) local: [usize; 2],
}

/// A compiled kernel, and the text that it was made from.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) kernel: Kernel,
    pub(super) family: Family,
    /// The options beside those of [`Kernels::options`].
    pub(super) options: String,
}

impl Launch {
    pub(super) fn new(kernels: &Kernels<'_>, compiled: Compiled, range: Range, batch_arg: usize) -> Self {
        Self { compiled, range, items: Items::ByWeights, max_batch: kernels.max_batch, batch_arg, batch: 0 }
    }

    /// The same launch with items that go otherwise than [`Items::ByWeights`].
    pub(super) fn with(self, items: Items) -> Self {
        Self { items, ..self }
    }

    /// The kernel's arguments, except for the batch, which comes last.
    pub(super) fn own_args(&self) -> &[Argument] {
        let args = self.compiled.kernel.args();
        &args[..self.batch_arg.min(args.len())]
    }

    fn copy(&self, copies: &mut Copies<'_>) -> Result<Self, Error> {
        let Compiled { kernel, family, options } = &self.compiled;
        let compiled = Compiled { kernel: copies.kernel(kernel)?, family: *family, options: options.clone() };
        Ok(Self { compiled, batch: 0, ..*self })
    }

    /// Enqueues this run for `batch` positions, after everything that was enqueued before.
    ///
    /// # Errors
    /// If the batch is larger than what the buffers were made for, or if the driver refuses.
    pub fn enqueue(&mut self, session: &Session, batch: usize) -> Result<(), Error> {
        check_batch(session, batch, self.max_batch)?;
        if self.batch != batch {
            session.set_arg(&mut self.compiled.kernel, self.batch_arg, Arg::Int(batch))?;
            self.batch = batch;
        }
        let Range { each, whole, across, local } = self.range;
        let global = [(batch * each).div_ceil(whole) * local[0], across * local[1]];
        // SAFETY: a launcher made the range for a kernel that leaves out what lies behind the batch, for shapes that the
        // graph has checked; its buffers were checked to hold `max_batch` positions, and `batch` is no more.
        unsafe { session.run(&self.compiled.kernel, global, local) }
    }
}

/// What a layer enqueues: for large batches other launches than for small ones, if that is faster.
#[derive(Debug)]
pub(crate) struct Step {
    /// Launches that come first, in batches of any size.
    first: Vec<Launch>,
    small: Vec<Launch>,
    large: Vec<Launch>,
    /// The smallest batch that counts as large.
    large_from: usize,
}

impl Step {
    /// A step with the same launches for every batch.
    pub fn new(launches: Vec<Launch>) -> Self {
        Self { first: launches, small: Vec::new(), large: Vec::new(), large_from: usize::MAX }
    }

    /// A step with the launches `large` for batches of `from` positions and more, and `small` for others.
    pub fn by_batch(small: Vec<Launch>, large: Vec<Launch>, from: usize) -> Self {
        Self { first: Vec::new(), small, large, large_from: from }
    }

    /// The same step after another launch.
    pub(super) fn behind(mut self, launch: Launch) -> Self {
        self.first.insert(0, launch);
        self
    }

    /// The launches for a batch of `batch` positions.
    pub(super) fn launches(&mut self, batch: usize) -> impl Iterator<Item = &mut Launch> {
        let rest = if batch < self.large_from { &mut self.small } else { &mut self.large };
        self.first.iter_mut().chain(rest)
    }

    /// All launches, for batches of any size.
    pub(super) fn launches_mut(&mut self) -> impl Iterator<Item = &mut Launch> {
        self.first.iter_mut().chain(&mut self.small).chain(&mut self.large)
    }

    /// Panics if a kernel's text says that it writes to other arguments than its launcher says; returns for how many
    /// arguments the text says so.
    #[cfg(test)]
    pub fn check_outputs(&mut self, session: &Session) -> usize {
        let mut known = 0;
        for Launch { compiled: Compiled { kernel, .. }, .. } in self.launches_mut() {
            for (index, arg) in kernel.args().iter().enumerate() {
                if let Argument::Buffer { is_output, .. } = arg
                    && let Some(is_const) = session.arg_is_const(kernel, index)
                {
                    assert_eq!(!is_const, *is_output, "argument {index} of {}", kernel.name());
                    known += 1;
                }
            }
        }
        known
    }

    /// All launches, with the sizes of the batches that each is for.
    pub(super) fn by_size(&self) -> impl Iterator<Item = (&Launch, std::ops::Range<usize>)> {
        let (first, small, large) = (&self.first, &self.small, &self.large);
        let all = [(first, 0..usize::MAX), (small, 0..self.large_from), (large, self.large_from..usize::MAX)];
        all.into_iter().flat_map(|(launches, sizes)| launches.iter().map(move |launch| (launch, sizes.clone())))
    }

    /// How many launches a batch of `batch` positions takes.
    pub fn count(&mut self, batch: usize) -> usize {
        self.launches(batch).count()
    }

    /// The same launches for another session, see [`Copies`].
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn copy(&self, copies: &mut Copies<'_>) -> Result<Self, Error> {
        let mut all = |launches: &[Launch]| launches.iter().map(|launch| launch.copy(copies)).collect::<Result<_, _>>();
        let (first, small, large) = (all(&self.first)?, all(&self.small)?, all(&self.large)?);
        Ok(Self { first, small, large, large_from: self.large_from })
    }

    /// See [`Launch::enqueue`].
    ///
    /// # Errors
    /// Like [`Launch::enqueue`].
    pub fn enqueue(&mut self, session: &Session, batch: usize) -> Result<(), Error> {
        self.launches(batch).try_for_each(|launch| launch.enqueue(session, batch))
    }
}

impl From<Launch> for Step {
    fn from(launch: Launch) -> Self {
        Self::new(vec![launch])
    }
}

/// Refuses a batch of no position, and one of more than `most`.
pub(super) fn check_batch(session: &Session, batch: usize, most: usize) -> Result<(), Error> {
    match (1..=most).contains(&batch) {
        true => Ok(()),
        false => Err(Error::Unfit {
            device: session.device().name.clone(),
            what: format!("batch: expected 1 to {most}, got {batch}"),
        }),
    }
}
