//! Positions to values and logits: planes in, the backend's heads out.
//!
//! An [`Evaluator`] is shared by all threads of all searches. Each thread has a [`Batch`] of its own: it pushes
//! positions, runs the batch, and reads the answers. Threads meet in the cache, if there is one, and in the service,
//! which makes batches for the devices out of what all of them push.
//!
//! A network is run without the planes whose weights are all zero (`Graph::narrow`): the built-in ones use 19 and 31 of
//! 112. The cache's key covers exactly the inputs that are left. So a network that uses the present position alone is
//! not evaluated again when other moves lead to the same position.
//!
//! To search many positions, use that many threads that call [`Evaluator::run`], each with one position at a time and a
//! tree of its own: on one device the answers are the same as alone. [`Evaluator::searches`] returns how many keep all
//! devices busy.

#[cfg(test)]
pub(crate) mod faulty;

pub(crate) mod batch;
mod cache;
pub mod canaries;
mod drawing;
mod hints;
mod inputs;
mod network;
mod odd;
mod random;

pub use batch::{Batch, Pushed};
pub use cache::CacheSize;
pub use drawing::Drawing;
pub use inputs::Inputs;
pub use network::{prepare, read_network, try_network};
pub use odd::UNKNOWN;

use crate::network::{BackendKind, CacheCounts, EvaluatorCounts, EvaluatorSettings, Lack, Part};
use crate::system::cores;
use batch::Needs;
use cache::Cache;
use hints::Looks;
use network::Running;
use odd::Odd;
use oncilla_chess::hints::Hints;
use oncilla_opencl::graph::Role;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// An evaluator without a network answers at once; a batch of a few playouts keeps the memory busy instead.
const BATCH_WITHOUT_NETWORK: usize = 16;

/// The largest batch of an evaluator without a network.
const MAX_BATCH_WITHOUT_NETWORK: usize = 1024;

/// Evaluates batches of positions, for any number of threads at the same time.
pub struct Evaluator {
    source: Source,
    /// The hints for the network, if it has some.
    hints: Option<Arc<Hints>>,
    settings: EvaluatorSettings,
    /// Each entry is an answer of this evaluator: with another network, backend or history fill there is another
    /// evaluator.
    cache: Option<Arc<Cache>>,
    cache_size: CacheSize,
    work: Work,
    /// The answers that were not finite numbers, as far as the user was told of them.
    told: Mutex<Odd>,
}

/// Counts the evaluations and batches.
struct Work {
    since: Instant,
    evaluations: AtomicU64,
    batches: AtomicU64,
}

impl Default for Work {
    fn default() -> Self {
        Self { since: Instant::now(), evaluations: AtomicU64::new(0), batches: AtomicU64::new(0) }
    }
}

/// What answers.
enum Source {
    Network(Running),
    /// Values and logits from a hash of the position.
    Random,
    /// Even values and logits.
    Constant,
}

impl Evaluator {
    /// Loads the network and makes its backend. Also returns lines for a person: what runs, and why not something else.
    ///
    /// # Errors
    /// The part that can't be had, and why.
    pub fn new(settings: &EvaluatorSettings) -> Result<(Self, Vec<String>), Lack> {
        let mut hints = None;
        let (source, notes) = match settings.backend {
            BackendKind::Random => (Source::Random, Vec::new()),
            BackendKind::Constant => (Source::Constant, Vec::new()),
            BackendKind::Auto | BackendKind::Host | BackendKind::OpenCl | BackendKind::Lc0s(_) => {
                // Hints come first: they are read at once, while a network may take long.
                hints = hints::read(&settings.hints, &settings.weights).map_err(Lack::of(Part::Hints))?;
                let (running, notes) = network::open(settings)?;
                (Source::Network(running), notes)
            }
        };
        let (settings, cache_size) = (settings.clone(), CacheSize::default());
        Ok((
            Self { source, hints, settings, cache: None, cache_size, work: Work::default(), told: Mutex::default() },
            notes,
        ))
    }

    /// The settings that the evaluator was made from.
    pub fn settings(&self) -> &EvaluatorSettings {
        &self.settings
    }

    /// Gives the evaluator a cache of this size, or none. A cache that has this size already stays, with all that it
    /// knows. Batches that were made earlier keep the cache that they were made with.
    ///
    /// Constant answers need no cache and get none.
    ///
    /// # Errors
    /// One line: the system does not grant the memory. Then there is no cache.
    pub fn set_cache(&mut self, size: CacheSize) -> Result<(), String> {
        if size == self.cache_size || matches!(self.source, Source::Constant) {
            return Ok(());
        }
        // The old cache is freed first: both together may be more memory than there is.
        self.cache = None;
        self.cache_size = size;
        if size.entries == 0 || size.mb == 0 {
            return Ok(());
        }
        let cache = Cache::new(size.mb.saturating_mul(1 << 20), size.entries);
        self.cache = cache.map(Arc::new);
        let none = || format!("the evaluation cache: the system does not grant {} MiB; there is none", size.mb);
        self.cache.as_ref().map(|_| ()).ok_or_else(none)
    }

    /// Forgets what is in the cache, because a new game begins.
    pub fn clear_cache(&self) {
        self.cache.iter().for_each(|cache| cache.clear());
    }

    /// What the cache did and holds; zeros without a cache.
    pub fn cache_counts(&self) -> CacheCounts {
        self.cache.as_ref().map(|cache| cache.counts()).unwrap_or_default()
    }

    /// What the evaluator has done so far.
    pub fn counts(&self) -> EvaluatorCounts {
        let [evaluations, batches] =
            [&self.work.evaluations, &self.work.batches].map(|count| count.load(Ordering::Relaxed));
        // The service may join the batches of several threads into one for a device.
        let batches = self.network().map_or(batches, |network| network.service.batches());
        EvaluatorCounts { evaluations, batches, seconds: self.work.since.elapsed().as_secs_f64() }
    }

    fn network(&self) -> Option<&Running> {
        match &self.source {
            Source::Network(running) => Some(running),
            Source::Random | Source::Constant => None,
        }
    }

    /// Like [`crate::network::Service::keep_batches`].
    pub fn keep_batches(&self) {
        self.network().into_iter().for_each(|network| network.service.keep_batches());
    }

    /// What runs the network, in one line for a person.
    pub fn describe(&self) -> String {
        match &self.source {
            Source::Network(running) => running.service.facts().describe,
            Source::Random => "random answers".to_string(),
            Source::Constant => "constant answers".to_string(),
        }
    }

    /// Like [`EvaluatorSettings::is_half_precision`]; false without a network.
    pub fn is_half_precision(&self) -> bool {
        self.network().is_some_and(|running| self.settings.is_half_precision(&running.service.facts()))
    }

    /// Whether the network estimates the moves left, and its estimates are to be believed.
    pub fn has_moves_left(&self) -> bool {
        self.believes_moves_left() && self.network().is_some_and(|network| network.has_head(Role::MovesLeft))
    }

    /// Whether estimates of the moves left are believed: no longer once one of them was not a finite number.
    fn believes_moves_left(&self) -> bool {
        self.settings.moves_left && !self.told().has_no_moves_left()
    }

    fn told(&self) -> MutexGuard<'_, Odd> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the network distinguishes draws from losses.
    pub fn has_wdl(&self) -> bool {
        self.network().is_some_and(|network| network.has_head(Role::Wdl))
    }

    /// Whether the network estimates the errors of its values.
    pub fn has_value_error(&self) -> bool {
        self.network().is_some_and(|network| network.has_head(Role::ValueError))
    }

    /// Floating-point operations of one evaluation; 0 without a network.
    pub fn flops(&self) -> u64 {
        self.network().map_or(0, |network| network.graph.flops())
    }

    /// The batch size that is worth waiting for, in positions.
    pub fn preferred_batch(&self) -> usize {
        self.network().map_or(BATCH_WITHOUT_NETWORK, |network| network.service.facts().preferred_batch)
    }

    /// The number of threads that a search should have, unless the user sets it.
    pub fn threads(&self) -> usize {
        self.network().map_or(1, |network| network.service.facts().threads)
    }

    /// The number of searches, each of one position at a time and with a thread of its own, that keep the evaluator
    /// busy.
    pub fn searches(&self) -> usize {
        self.network().map_or_else(cores, |network| network.service.facts().searches)
    }

    /// The largest batch that runs in one piece, in positions. A larger one runs in several.
    pub fn max_batch(&self) -> usize {
        self.network().map_or(MAX_BATCH_WITHOUT_NETWORK, |network| network.service.facts().max_batch)
    }

    /// An empty batch for one thread, to be used with this evaluator only.
    pub fn batch(&self) -> Batch {
        self.batch_with(self.cache.clone())
    }

    /// An empty batch that does not use the cache.
    pub fn batch_without_cache(&self) -> Batch {
        self.batch_with(None)
    }

    fn batch_with(&self, cache: Option<Arc<Cache>>) -> Batch {
        let fill = self.settings.history_fill;
        let needs = match &self.source {
            Source::Network(network) => Needs::Planes(network.inputs),
            Source::Random => Needs::Key(Inputs::classical(fill)),
            Source::Constant => Needs::Nothing,
        };
        Batch::new(needs, Looks::new(self.hints.clone()), cache)
    }

    /// Evaluates the batch. If a device fails to, the host evaluates it, and in the end takes over. Each such event is
    /// told once, in the line that is returned; so is the first time that an answer of the network is not a finite
    /// number and is replaced.
    ///
    /// # Errors
    /// The host's line, if the host fails too. The answers then mean nothing.
    pub fn run(&self, batch: &mut Batch) -> Result<Option<String>, String> {
        let note = match &self.source {
            Source::Network(network) => {
                batch.run_on(|request, rows, look| network.service.run_with(request, rows, look))?
            }
            Source::Random => {
                batch.answer_at_random();
                None
            }
            Source::Constant => None,
        };
        let note = self.with_news(note, batch.odd());
        if !self.believes_moves_left() {
            batch.forget_moves_left();
        }
        if batch.evaluations() > 0 {
            self.work.evaluations.fetch_add(batch.evaluations() as u64, Ordering::Relaxed);
            self.work.batches.fetch_add(1, Ordering::Relaxed);
        }
        batch.share_answers();
        Ok(note)
    }

    /// Whether evaluations are corrected by hints.
    pub fn has_hints(&self) -> bool {
        self.hints.is_some()
    }

    /// What no batch has told yet of devices that failed.
    pub fn take_news(&self) -> Vec<String> {
        match &self.source {
            Source::Network(network) => network.service.take_news(),
            Source::Random | Source::Constant => Vec::new(),
        }
    }

    /// Joins `note` with the lines that tell of answers that are not finite numbers.
    fn with_news(&self, note: Option<String>, odd: Odd) -> Option<String> {
        if odd == Odd::default() {
            return note;
        }
        let mut told = self.told();
        let lines: Vec<String> = note.into_iter().chain(odd.news(*told)).collect();
        told.add(odd);
        (!lines.is_empty()).then(|| lines.join(". "))
    }
}

#[cfg(test)]
mod tests;
