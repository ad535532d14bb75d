//! Positions to values: planes in, the backend's heads out.

use super::backends::{self, Source};
use super::settings::{BackendKind, EvaluatorSettings};
use oncilla_chess::planes::{InputFormat, PLANES, Planes, encode};
use oncilla_chess::{History, MoveList, pack, policy};
use oncilla_core::Move;
use oncilla_core::evaluate::{MoveLogit, Value};
use oncilla_core::heapless::VecView;
use oncilla_opencl::backend::Outputs;

/// Numbers of one position's input.
const INPUT_LEN: usize = PLANES * 64;

/// Evaluates positions in batches: [`Evaluator::push`] each, [`Evaluator::run`], then read each answer.
pub struct Evaluator {
    source: Source,
    settings: EvaluatorSettings,
    input_format: InputFormat,
    batch: Vec<Entry>,
    len: usize,
    input: Vec<f32>,
    outputs: Outputs,
    planes: Planes,
}

/// A position of the batch.
#[derive(Default)]
struct Entry {
    moves: MoveList,
    /// Policy index of each move.
    indices: Vec<u16>,
    key: u64,
}

impl Evaluator {
    /// Loads the network and makes its backend. Besides the evaluator there are lines for a person: what runs, and why
    /// not something else.
    ///
    /// # Errors
    /// One line: no such file, no network, no device.
    pub fn new(settings: &EvaluatorSettings) -> Result<(Self, Vec<String>), String> {
        let (source, notes) = backends::open(settings)?;
        let input_format = source.input_format();
        let evaluator = Self {
            source,
            settings: settings.clone(),
            input_format,
            batch: Vec::new(),
            len: 0,
            input: Vec::new(),
            outputs: Outputs::default(),
            planes: Planes::default(),
        };
        Ok((evaluator, notes))
    }

    /// What it was made from.
    pub fn settings(&self) -> &EvaluatorSettings {
        &self.settings
    }

    /// One line for a person.
    pub fn describe(&self) -> String {
        self.source.describe()
    }

    /// Whether the network estimates the moves left.
    pub fn has_moves_left(&self) -> bool {
        self.source.has_moves_left()
    }

    /// Whether the network tells draws from losses.
    pub fn has_wdl(&self) -> bool {
        self.source.has_wdl()
    }

    /// Floating-point operations of one evaluation; 0 without a network.
    pub fn flops(&self) -> u64 {
        self.source.flops()
    }

    /// Batch size that is worth waiting for.
    pub fn preferred_batch(&self) -> usize {
        self.source.preferred_batch()
    }

    /// Largest batch.
    pub fn max_batch(&self) -> usize {
        self.source.max_batch()
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Positions in the batch.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for an empty batch.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the last position of `history`, whose legal moves are `moves`.
    pub fn push(&mut self, history: &History, moves: &MoveList) {
        if self.batch.len() == self.len {
            self.batch.push(Entry::default());
        }
        let mover = history.side_to_move();
        let entry = &mut self.batch[self.len];
        entry.moves.clone_from(moves);
        entry.key = history.key();
        entry.indices.clear();
        if self.source.has_network() {
            let transform = encode(history, self.input_format, self.settings.history_fill, &mut self.planes);
            entry.indices.extend(moves.iter().map(|&mv| policy::index(mv, mover, transform)));
            let at = self.len * INPUT_LEN;
            self.input.resize(self.input.len().max(at + INPUT_LEN), 0.0);
            let Some(place) = self.input[at..].first_chunk_mut::<INPUT_LEN>() else { return };
            self.planes.expand_into(place);
        }
        self.len += 1;
    }

    /// Evaluates the batch. Where the user left the choice of the backend to us, a device that fails is replaced by the
    /// host; the line that says so comes back.
    ///
    /// # Errors
    /// The backend's line, if nothing takes its place.
    pub fn run(&mut self) -> Result<Option<String>, String> {
        if self.is_empty() {
            return Ok(None);
        }
        let input = &self.input[..if self.source.has_network() { self.len * INPUT_LEN } else { 0 }];
        let Err(fault) = self.source.run(input, &mut self.outputs) else { return Ok(None) };
        if self.settings.backend != BackendKind::Auto || !self.source.is_device() {
            return Err(fault);
        }
        self.source = self.source.to_host(self.settings.threads)?;
        self.source.run(input, &mut self.outputs)?;
        Ok(Some(format!("{fault}; the host takes over")))
    }

    /// What position `at` of the batch is worth; its legal moves and their logits are pushed onto `into`.
    pub fn answer(&self, at: usize, into: &mut VecView<MoveLogit>) -> Value {
        let entry = &self.batch[at];
        into.clear();
        if let Some(random) = self.source.without_network(entry.key) {
            into.extend(entry.moves.iter().map(|&mv| MoveLogit { mv: Move(pack(mv)), logit: random.logit(pack(mv)) }));
            return random.value();
        }
        let logits = &self.outputs.policy[at * policy::SIZE..][..policy::SIZE];
        let edges = entry.moves.iter().zip(&entry.indices);
        into.extend(edges.map(|(&mv, &index)| MoveLogit { mv: Move(pack(mv)), logit: logits[usize::from(index)] }));
        backends::value(&self.outputs, at)
    }

    /// The key of position `at` of the batch.
    pub fn key(&self, at: usize) -> u64 {
        self.batch[at].key
    }

    /// The legal moves of position `at`, in the order of their logits.
    pub fn moves(&self, at: usize) -> &MoveList {
        &self.batch[at].moves
    }
}
