//! Positions to values and logits: planes in, the backend's heads out.
//!
//! An [`Evaluator`] is shared by all threads of all searches. Each thread has a [`Batch`] of its own: it pushes
//! positions, runs the batch, and reads the answers. Threads meet in the cache, if there is one, and in the service,
//! which makes batches for the devices out of what all of them push.

use super::backends::{self, Running};
use super::batch::Needs;
pub use super::batch::{Batch, Pushed};
use super::cache::{Cache, CacheCounts};
use super::hints::{self, Looks};
use super::inputs::Inputs;
use super::odd::Odd;
use super::settings::{BackendKind, CacheSize, EvaluatorSettings};
use crate::system::cores;
use oncilla_chess::hints::Hints;
use oncilla_opencl::graph::Role;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// An evaluator without a network answers at once; a few playouts together keep the memory busy instead.
const BATCH_WITHOUT_NETWORK: usize = 16;

/// Largest batch of an evaluator without a network.
const MAX_BATCH_WITHOUT_NETWORK: usize = 1024;

/// Evaluates batches of positions, for any number of threads at once.
pub struct Evaluator {
    source: Source,
    /// For the network, if it has some.
    hints: Option<Arc<Hints>>,
    settings: EvaluatorSettings,
    /// Another network, backend or history fill is another evaluator, so that an entry is always of this one.
    cache: Option<Arc<Cache>>,
    cache_size: CacheSize,
    work: Work,
    /// What of its answers was no finite number, as far as it was said.
    told: Mutex<Odd>,
}

/// Counts what is evaluated.
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

/// What an evaluator has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EvaluatorCounts {
    /// Positions that were evaluated: not those that the cache knew.
    pub evaluations: u64,
    /// Batches that they came in.
    pub batches: u64,
    /// Seconds since it was made.
    pub seconds: f64,
}

/// Whatever answers.
enum Source {
    Network(Running),
    /// Values and logits from a hash of the position.
    Random,
    /// Even values and logits.
    Constant,
}

/// What an evaluator is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The network, with its heads.
    Network,
    /// The hints for it.
    Hints,
    /// What runs it.
    Backend,
}

/// Why there is no evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What can't be had.
    pub part: Part,
    /// One line: no such file, no network, no device.
    pub why: String,
}

impl Lack {
    /// Says which part a line is about.
    pub fn of(part: Part) -> impl FnOnce(String) -> Self {
        move |why| Self { part, why }
    }
}

impl From<Lack> for String {
    fn from(lack: Lack) -> Self {
        lack.why
    }
}

impl Evaluator {
    /// Loads the network and makes its backend. Besides the evaluator there are lines for a person: what runs, and why
    /// not something else.
    ///
    /// # Errors
    /// The part that can't be had, and why.
    pub fn new(settings: &EvaluatorSettings) -> Result<(Self, Vec<String>), Lack> {
        let mut hints = None;
        let (source, notes) = match settings.backend {
            BackendKind::Random => (Source::Random, Vec::new()),
            BackendKind::Constant => (Source::Constant, Vec::new()),
            BackendKind::Auto | BackendKind::Host | BackendKind::OpenCl | BackendKind::Lc0s(_) => {
                // Hints are read at once, a network may take long.
                hints = hints::read(&settings.hints, &settings.weights).map_err(Lack::of(Part::Hints))?;
                let (running, notes) = backends::open(settings)?;
                (Source::Network(running), notes)
            }
        };
        let (settings, cache_size) = (settings.clone(), CacheSize::default());
        Ok((
            Self { source, hints, settings, cache: None, cache_size, work: Work::default(), told: Mutex::default() },
            notes,
        ))
    }

    /// What it was made from.
    pub fn settings(&self) -> &EvaluatorSettings {
        &self.settings
    }

    /// Gives it a cache of this size, or none. One of the same size stays with all that it knows. Batches that were
    /// made before go on with the cache of their time.
    ///
    /// Constant answers need no cache and get none.
    ///
    /// # Errors
    /// One line: the system does not grant the memory. Then there is no cache.
    pub fn set_cache(&mut self, size: CacheSize) -> Result<(), String> {
        if size == self.cache_size || matches!(self.source, Source::Constant) {
            return Ok(());
        }
        // The old one goes first: both together may be more than there is.
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

    /// Forgets what is in the cache: a new game begins.
    pub fn clear_cache(&self) {
        self.cache.iter().for_each(|cache| cache.clear());
    }

    /// What the cache did and holds; nothing without one.
    pub fn cache_counts(&self) -> CacheCounts {
        self.cache.as_ref().map(|cache| cache.counts()).unwrap_or_default()
    }

    /// What it did so far.
    pub fn counts(&self) -> EvaluatorCounts {
        let [evaluations, batches] =
            [&self.work.evaluations, &self.work.batches].map(|count| count.load(Ordering::Relaxed));
        // Batches of several threads are one for a device.
        let batches = self.network().map_or(batches, |network| network.service.batches());
        EvaluatorCounts { evaluations, batches, seconds: self.work.since.elapsed().as_secs_f64() }
    }

    fn network(&self) -> Option<&Running> {
        match &self.source {
            Source::Network(running) => Some(running),
            Source::Random | Source::Constant => None,
        }
    }

    /// One line for a person.
    pub fn describe(&self) -> String {
        match &self.source {
            Source::Network(running) => running.service.facts().describe,
            Source::Random => "random answers".to_string(),
            Source::Constant => "constant answers".to_string(),
        }
    }

    /// As [`EvaluatorSettings::is_half_precision`]; not without a network.
    pub fn is_half_precision(&self) -> bool {
        self.network().is_some_and(|running| self.settings.is_half_precision(&running.service.facts()))
    }

    /// Whether the network estimates the moves left, and is to be believed.
    pub fn has_moves_left(&self) -> bool {
        self.believes_moves_left() && self.network().is_some_and(|network| network.has_head(Role::MovesLeft))
    }

    /// Not any more once one was no finite number.
    fn believes_moves_left(&self) -> bool {
        self.settings.moves_left && !self.told().has_no_moves_left()
    }

    fn told(&self) -> MutexGuard<'_, Odd> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the network tells draws from losses.
    pub fn has_wdl(&self) -> bool {
        self.network().is_some_and(|network| network.has_head(Role::Wdl))
    }

    /// Whether the network estimates how far its values are off.
    pub fn has_value_error(&self) -> bool {
        self.network().is_some_and(|network| network.has_head(Role::ValueError))
    }

    /// Floating-point operations of one evaluation; 0 without a network.
    pub fn flops(&self) -> u64 {
        self.network().map_or(0, |network| network.graph.flops())
    }

    /// Batch size that is worth waiting for.
    pub fn preferred_batch(&self) -> usize {
        self.network().map_or(BATCH_WITHOUT_NETWORK, |network| network.service.facts().preferred_batch)
    }

    /// Threads that a search should have, if nobody says how many.
    pub fn threads(&self) -> usize {
        self.network().map_or(1, |network| network.service.facts().threads)
    }

    /// Searches of one position at a time that keep it busy, each with a thread of its own.
    pub fn searches(&self) -> usize {
        self.network().map_or_else(cores, |network| network.service.facts().searches)
    }

    /// Largest batch that runs in one piece. A larger one runs in several.
    pub fn max_batch(&self) -> usize {
        self.network().map_or(MAX_BATCH_WITHOUT_NETWORK, |network| network.service.facts().max_batch)
    }

    /// An empty batch, for one thread. It goes with this evaluator only.
    pub fn batch(&self) -> Batch {
        self.batch_with(self.cache.clone())
    }

    /// An empty batch that the cache answers nothing of.
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

    /// Evaluates the batch. Where a device fails to, the host does, and in the end takes over; a line that says so
    /// comes back once each. So does one where the network's own answer is no finite number, and another one counts.
    ///
    /// # Errors
    /// The host's line, if that fails too. The answers are then worth nothing.
    pub fn run(&self, batch: &mut Batch) -> Result<Option<String>, String> {
        let note = match &self.source {
            Source::Network(network) => batch.run_on(|request, rows| network.service.run(request, rows))?,
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

    /// With what is to be said of answers that are no numbers.
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
pub(crate) mod tests;
