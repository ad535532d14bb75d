//! Runs a network on boards of any size.
//!
//! An [`Evaluator`] is shared by all searches. Each size of board has a graph of its own, and so a backend
//! ([`boards`](super::boards)). Threads bring positions in a [`Batch`]; those of several threads come together on their
//! way to the device.

use super::Game;
use super::boards::{Boards, Heads, OnBoard};
use super::cache::Cache;
use super::evaluation::{Evaluation, ModelFacts, PolicyRules, Row};
use super::input;
use crate::network::{CacheCounts, EvaluatorCounts, EvaluatorSettings, Facts, Request, serve};
use crate::subject::graph_of;
use oncilla_go::planes::{self, Planes};
use oncilla_go::profile::{METADATA, Profile};
use oncilla_go::{Move, Size, Symmetry};
use oncilla_nets::katago::Model;
use oncilla_opencl::backend::Outputs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
#[cfg(test)]
use {crate::network::Service, oncilla_opencl::graph::Graph};

/// Evaluates positions with one network, for any number of threads at once.
pub struct Evaluator {
    model: Model,
    settings: EvaluatorSettings,
    boards: Boards,
    cache: Cache,
    since: Instant,
    evaluations: AtomicU64,
    /// What the next run tells a person.
    notes: Mutex<Vec<String>>,
}

/// How a position is to be looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Question {
    /// What the network is shown besides the position.
    pub planes: planes::Options,
    /// How the board is turned for the network.
    pub symmetry: Symmetry,
    /// How its policy is read.
    pub policy: PolicyRules,
    /// Whose play a network for human play shall imitate; other networks are not told.
    pub profile: Option<Profile>,
}

/// The error if a network for human play has no profile.
pub const NO_PROFILE: &str =
    "humanSLProfile: expected a profile, such as rank_5k, for this network is one for human play, got none";

/// Positions of one board size on their way through the network, and later their evaluations. The buffers grow with the
/// first batches and are kept; so is the service that runs the batch, for the next batches.
#[derive(Default)]
pub struct Batch {
    size: Option<Size>,
    on: Option<Arc<OnBoard>>,
    rows: Vec<Waiting>,
    input: Vec<f32>,
    request: Arc<Request>,
}

/// A position that waits.
struct Waiting {
    game: Arc<Game>,
    question: Question,
    key: u64,
}

impl Evaluator {
    /// An evaluator for a network that has been read. The service for a board size is made when its first position
    /// comes.
    pub fn new(model: Model, settings: EvaluatorSettings, cache_bytes: usize) -> Self {
        Self {
            model,
            settings,
            boards: Boards::default(),
            cache: Cache::new(cache_bytes as u64),
            since: Instant::now(),
            evaluations: AtomicU64::new(0),
            notes: Mutex::default(),
        }
    }

    /// The network.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The settings that the evaluator was made from.
    pub fn settings(&self) -> &EvaluatorSettings {
        &self.settings
    }

    /// Makes what runs the network on boards of this size; returns lines for a person if that is new.
    ///
    /// # Errors
    /// One line: a network that graphs can't express, or no device.
    pub fn prepare(&self, size: Size) -> Result<Vec<String>, String> {
        self.on(size).map(|(_, notes)| notes)
    }

    /// What runs the network on boards of this size, with lines for a person if it is new. It stays ready while it is
    /// held.
    ///
    /// # Errors
    /// Like [`Evaluator::prepare`].
    pub fn on(&self, size: Size) -> Result<(Arc<OnBoard>, Vec<String>), String> {
        self.boards.on(size, || {
            let graph = graph_of(&self.model, &self.settings.weights, size)?;
            OnBoard::new(Arc::new(graph), size, |graph| serve(&self.settings, graph))
        })
    }

    /// Like [`Evaluator::on`], with what a test makes to run the graph.
    #[cfg(test)]
    pub fn on_service(&self, size: Size, service: impl FnOnce(&Arc<Graph>) -> Service) -> Arc<OnBoard> {
        let make = || {
            let graph = graph_of(&self.model, &self.settings.weights, size)?;
            OnBoard::new(Arc::new(graph), size, |graph| Ok((service(graph), Vec::new())))
        };
        self.boards.on(size, make).expect("a graph").0
    }

    /// The facts about what runs the network on boards of this size, once that has been made.
    pub fn facts(&self, size: Size) -> Option<Facts> {
        self.boards.facts(size)
    }

    /// What the evaluator has done so far.
    pub fn counts(&self) -> EvaluatorCounts {
        EvaluatorCounts {
            evaluations: self.evaluations.load(Ordering::Relaxed),
            batches: self.boards.batches(),
            seconds: self.since.elapsed().as_secs_f64(),
        }
    }

    /// What the cache did and what it holds.
    pub fn cache_counts(&self) -> CacheCounts {
        self.cache.counts()
    }

    /// Empties the cache, and gives it room for `bytes` bytes.
    pub fn set_cache(&self, bytes: usize) {
        self.cache.set_room(bytes as u64);
    }

    /// Forgets what is in the cache.
    pub fn clear_cache(&self) {
        self.cache.clear();
    }

    /// The question in the form for this network: as in KataGo, a network for human play gets no optimistic policy, and
    /// no other network gets a profile.
    fn understood(&self, question: &Question) -> Question {
        let mut asked = *question;
        asked.planes.areas_with_suicide = self.model.suicide_in_pass_alive;
        match self.model.encodes_metadata() {
            true => asked.policy.optimism = 0.0,
            false => asked.profile = None,
        }
        asked
    }

    /// The numbers that the network reads besides a position. If the profile is missing, the batch is not run.
    fn metadata(&self, game: &Game, question: &Question) -> Option<[f32; METADATA]> {
        let of = |profile: Profile| profile.metadata(game.side_to_move(), game.size().area());
        self.model.encodes_metadata().then(|| question.profile.map_or([0.0; METADATA], of))
    }

    /// What the cache knows of the last position of a game. If it knows nothing, the position is appended to the batch.
    ///
    /// # Panics
    /// If the batch has positions of another size.
    pub fn push(&self, batch: &mut Batch, game: &Arc<Game>, question: &Question) -> Option<Arc<Evaluation>> {
        let question = self.understood(question);
        let planes = planes::encode(game, &question.planes);
        let key = key(&planes, &question);
        let known = self.cache.get(key).map(Arc::new);
        if known.is_none() {
            let metadata = self.metadata(game, &question);
            batch.add(&planes, metadata.as_ref(), Waiting { game: Arc::clone(game), question, key });
        }
        known
    }

    /// Evaluates the positions of a batch, in their order, and empties it. Also returns lines for a person.
    ///
    /// # Errors
    /// One line: a backend that can't be made, or that fails; a network's output that is not finite; or a network for
    /// human play without a profile.
    pub fn run(&self, batch: &mut Batch) -> Result<(Vec<Arc<Evaluation>>, Vec<String>), String> {
        let Some(size) = batch.size.take() else { return Ok((Vec::new(), Vec::new())) };
        let ran = self.run_on(size, batch);
        batch.rows.clear();
        batch.input.clear();
        // After an error they are told by the next run.
        Ok((ran?, std::mem::take(&mut *self.notes())))
    }

    fn notes(&self) -> MutexGuard<'_, Vec<String>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_on(&self, size: Size, batch: &mut Batch) -> Result<Vec<Arc<Evaluation>>, String> {
        if self.model.encodes_metadata() && batch.rows.iter().any(|row| row.question.profile.is_none()) {
            return Err(NO_PROFILE.to_string());
        }
        let ready = match batch.on.take().filter(|on| on.size == size) {
            Some(on) => on,
            None => {
                let (on, notes) = self.on(size)?;
                self.notes().extend(notes);
                on
            }
        };
        batch.on = Some(Arc::clone(&ready));
        batch.request.content().input = std::mem::take(&mut batch.input);
        let ran = ready.service.run(&batch.request, batch.rows.len());
        let mut content = batch.request.content();
        batch.input = std::mem::take(&mut content.input);
        self.notes().extend(ran?);
        ready.service.check(&content.outputs, batch.rows.len())?;
        self.evaluations.fetch_add(batch.rows.len() as u64, Ordering::Relaxed);
        let read = |(at, row): (usize, &Waiting)| {
            let evaluation = Arc::new(self.read(&ready, &content.outputs, at, row));
            if let Some(what) = evaluation.not_finite() {
                return Err(format!("expected finite numbers from the network, got another in {what}"));
            }
            self.cache.put(row.key, &evaluation);
            Ok(evaluation)
        };
        batch.rows.iter().enumerate().map(read).collect()
    }

    fn read(&self, ready: &OnBoard, outputs: &Outputs, at: usize, row: &Waiting) -> Evaluation {
        let Heads { policy, pass, results, scores, ownership } = ready.heads;
        let facts = ModelFacts { version: self.model.version, multipliers: self.model.multipliers };
        let turned = |numbers: &[f32]| turned_back(numbers, ready.size, row.question.symmetry);
        let (policy, ownership) = (
            turned(&outputs.policy[at * policy..][..policy]),
            turned(&outputs.ownership[at * ownership..][..ownership]),
        );
        let row_of_outputs = Row {
            policy: &policy,
            pass: &outputs.pass[at * pass..][..pass],
            results: &outputs.results[at * results..][..results],
            scores: &outputs.scores[at * scores..][..scores],
            ownership: &ownership,
        };
        Evaluation::new(row_of_outputs, &facts, &row.game, &row.question.policy)
    }

    /// The network's evaluation of one position.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    pub fn ask(&self, game: &Game, question: &Question) -> Result<(Arc<Evaluation>, Vec<String>), String> {
        self.ask_in(&mut Batch::default(), game, question)
    }

    /// Like [`Evaluator::ask`], with a batch in which nothing waits.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    pub fn ask_in(
        &self,
        batch: &mut Batch,
        game: &Game,
        question: &Question,
    ) -> Result<(Arc<Evaluation>, Vec<String>), String> {
        if let Some(known) = self.push(batch, &Arc::new(game.clone()), question) {
            return Ok((known, Vec::new()));
        }
        let (mut all, notes) = self.run(batch)?;
        let evaluation = all.pop().ok_or("no answer came")?;
        Ok((evaluation, notes))
    }
}

impl Batch {
    /// Sets the time from which on a device that takes unusually long is not waited for.
    pub fn set_deadline(&mut self, time: Option<Instant>) {
        let unless = |time| Request::unless(Box::new(move || time <= Instant::now()));
        self.request = Arc::new(time.map_or_else(Request::default, unless));
    }

    /// Whether that time has come.
    pub fn is_late(&self) -> bool {
        self.request.is_late()
    }

    fn add(&mut self, planes: &Planes, metadata: Option<&[f32; METADATA]>, row: Waiting) {
        let (size, symmetry) = (planes.size(), row.question.symmetry);
        assert_eq!(*self.size.get_or_insert(size), size, "a batch is of one size");
        input::add(planes, symmetry, metadata, &mut self.input);
        self.rows.push(row);
    }
}

/// A hash of all that an evaluation depends on: which moves are legal follows from the planes.
fn key(planes: &Planes, question: &Question) -> u64 {
    let mut hasher = DefaultHasher::new();
    (planes.size(), question.symmetry, planes.spatial(), question.profile).hash(&mut hasher);
    planes.global().iter().for_each(|number| number.to_bits().hash(&mut hasher));
    let PolicyRules { temperature, optimism, most_pass } = question.policy;
    [temperature, optimism, most_pass].iter().for_each(|number| number.to_bits().hash(&mut hasher));
    hasher.finish()
}

/// The network's planes for a board that was turned, turned back.
fn turned_back(planes: &[f32], size: Size, symmetry: Symmetry) -> Vec<f32> {
    let back = |plane: &[f32], mv: Move| plane[symmetry.apply(size, mv).index()];
    planes.chunks_exact(size.area()).flat_map(|plane| size.points().map(move |mv| back(plane, mv))).collect()
}
