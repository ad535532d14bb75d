//! A batch: positions made ready for the evaluator, and their answers.

use super::cache::Cache;
use super::hints::Looks;
use super::inputs::Inputs;
use super::odd::Odd;
use super::random;
use crate::network::{IsLate, Request};
use oncilla_chess::planes::Planes;
use oncilla_chess::{History, Move, pack, policy};
use oncilla_core::evaluate::Value;
use oncilla_opencl::backend::{Chores, Outputs};
use std::ops::Range;
use std::sync::Arc;

/// What has to be known of a position to evaluate it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Needs {
    /// The planes as numbers.
    Planes(Inputs),
    /// The key. The planes are encoded too, so that this takes as long as it would with a network.
    Key(Inputs),
    /// Nothing.
    Nothing,
}

impl Needs {
    /// The position's key for the cache, which covers all that the answer depends on.
    fn cache_key(self, history: &History) -> u64 {
        match self {
            Self::Planes(inputs) | Self::Key(inputs) => inputs.key(history),
            // Without any needs there is no cache.
            Self::Nothing => 0,
        }
    }
}

/// What became of a position that was pushed.
#[derive(Debug, PartialEq)]
pub enum Pushed<'a> {
    /// The position was appended to the batch.
    Waits,
    /// The position is not in the batch, because the cache knows it: its value to the side to move, and its logits in
    /// the order of its moves.
    Known(Value, &'a mut [f32]),
}

/// What a position's evaluation depends on, besides the position and its moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    /// The indices of the moves that end the game as a draw, because of the positions before: hints have to know.
    pub drawing: &'a [usize],
    /// Changes the key for the cache. Other circumstances need another one.
    pub salt: u64,
}

/// The positions that a thread wants evaluated together, and later their answers. The buffers grow with the first
/// batches and are kept.
///
/// With a cache, a position that occurs twice in the batch is evaluated once: its key is compared with those before it,
/// which for some hundreds of positions takes less time than encoding its planes.
pub struct Batch {
    needs: Needs,
    cache: Option<Arc<Cache>>,
    /// The key of each position for the cache, if there is one.
    cache_keys: Vec<u64>,
    values: Vec<Value>,
    /// The error that the network expects of each value; empty if it has no head for that.
    value_errors: Vec<f32>,
    /// Where the logits of each position begin, and where those of the last one end.
    starts: Vec<usize>,
    logits: Vec<f32>,
    /// What the logit of each move is found by, parallel to `logits`: the move's policy index, or the packed move.
    /// Empty if nothing is needed.
    lookups: Vec<u16>,
    /// Positions that are the same as an earlier one: (the position, the earlier one).
    twins: Vec<(usize, usize)>,
    /// The other positions: those that are evaluated.
    rows: Vec<usize>,
    /// The planes of each row. The buffer never shrinks: numbers behind the last row are left over from earlier
    /// batches.
    input: Vec<f32>,
    /// The key of each row's position, if answers are random.
    keys: Vec<u64>,
    planes: Box<Planes>,
    /// What is seen of each row.
    looks: Looks,
    /// What goes to the service and back.
    request: Arc<Request>,
    /// Counts the answers that were not finite numbers.
    odd: Odd,
    /// Positions whose value or policy does not come from the network.
    unknown: Vec<usize>,
}

impl Batch {
    pub(super) fn new(needs: Needs, looks: Looks, cache: Option<Arc<Cache>>) -> Self {
        Self {
            needs,
            cache,
            cache_keys: Vec::new(),
            values: Vec::new(),
            value_errors: Vec::new(),
            starts: vec![0],
            logits: Vec::new(),
            lookups: Vec::new(),
            twins: Vec::new(),
            rows: Vec::new(),
            input: Vec::new(),
            keys: Vec::new(),
            planes: Box::default(),
            looks,
            request: Arc::default(),
            odd: Odd::default(),
            unknown: Vec::new(),
        }
    }

    /// Sets `is_late`: once it returns true, the batch's owner does not wait for a device that takes unusually long.
    pub fn unless(mut self, is_late: IsLate) -> Self {
        self.request = Arc::new(Request::unless(is_late));
        self
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.cache_keys.clear();
        self.values.clear();
        self.value_errors.clear();
        self.starts.truncate(1);
        self.logits.clear();
        self.lookups.clear();
        self.twins.clear();
        self.rows.clear();
        self.keys.clear();
        self.looks.clear();
        self.odd = Odd::default();
        self.unknown.clear();
    }

    /// Positions in the batch.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True for an empty batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of positions in the batch that are evaluated: those that occur twice count once.
    pub fn evaluations(&self) -> usize {
        self.rows.len()
    }

    /// Asks the cache for the last position of `history`, whose legal moves are `moves`. If there is no cache, or it
    /// does not know the position, the position is appended to the batch.
    pub fn push(&mut self, history: &History, moves: &[Move]) -> Pushed<'_> {
        self.push_with(history, moves, Circumstances::default())
    }

    /// Like [`Batch::push`], under other circumstances. `moves` may also be a part of the legal moves, which is a
    /// circumstance for the cache.
    pub fn push_with(&mut self, history: &History, moves: &[Move], with: Circumstances<'_>) -> Pushed<'_> {
        let start = self.next_start();
        self.logits.truncate(start);
        self.logits.resize(start + moves.len(), 0.0);
        let key = self.cache.is_some().then(|| self.needs.cache_key(history) ^ with.salt);
        let known = self.cache.as_ref().zip(key).and_then(|(cache, key)| cache.get(key, &mut self.logits[start..]));
        if let Some(value) = known {
            // These logits stand behind those of the batch until the next position is pushed.
            return Pushed::Known(value, &mut self.logits[start..]);
        }
        let at = self.len();
        match key.and_then(|key| self.earlier(key, moves.len())) {
            Some(earlier) => self.twins.push((at, earlier)),
            None => {
                self.push_row(history, moves, with.drawing);
                self.rows.push(at);
            }
        }
        self.cache_keys.extend(key);
        self.values.push(Value::EVEN);
        self.starts.push(self.logits.len());
        Pushed::Waits
    }

    fn next_start(&self) -> usize {
        self.starts[self.len()]
    }

    /// The first position of the batch with this key and as many moves.
    fn earlier(&self, key: u64, moves: usize) -> Option<usize> {
        let at = self.cache_keys.iter().position(|&earlier| earlier == key)?;
        (self.starts[at + 1] - self.starts[at] == moves).then_some(at)
    }

    /// Makes a position that is going to be evaluated ready for that.
    fn push_row(&mut self, history: &History, moves: &[Move], drawing: &[usize]) {
        match self.needs {
            Needs::Planes(inputs) => {
                let transform = inputs.encode(history, &mut self.planes);
                let mover = history.side_to_move();
                self.look_up(moves.iter().map(|&mv| policy::index(mv, mover, transform)));
                let place = self.rows.len() * inputs.numbers()..(self.rows.len() + 1) * inputs.numbers();
                self.input.resize(self.input.len().max(place.end), 0.0);
                inputs.write(&self.planes, &mut self.input[place]);
                self.looks.add(history.board(), moves, drawing);
            }
            Needs::Key(inputs) => {
                inputs.encode(history, &mut self.planes);
                self.keys.push(history.key());
                self.look_up(moves.iter().map(|&mv| pack(mv)));
            }
            Needs::Nothing => {}
        }
    }

    /// Sets what the logits of the next position are found by.
    fn look_up(&mut self, by: impl Iterator<Item = u16>) {
        // Twins have no lookups of their own.
        self.lookups.resize(self.next_start(), 0);
        self.lookups.extend(by);
    }

    /// The value of position `at` to its side to move.
    pub fn value(&self, at: usize) -> Value {
        self.values[at]
    }

    /// The squared error that the network expects of its value of position `at`, if the network has a head for that.
    pub fn value_error(&self, at: usize) -> Option<f32> {
        self.value_errors.get(at).copied().filter(|error| error.is_finite())
    }

    /// Whether the network's value or policy of position `at` was not finite, so that another one replaces it.
    pub fn is_unknown(&self, at: usize) -> bool {
        let first = self.twins.iter().find(|(twin, _)| *twin == at).map_or(at, |&(_, earlier)| earlier);
        self.unknown.contains(&first)
    }

    /// Counts the answers that were not finite numbers.
    pub(super) fn odd(&self) -> Odd {
        self.odd
    }

    /// The logits of position `at`, in the order of the moves that it was pushed with.
    pub fn logits(&mut self, at: usize) -> &mut [f32] {
        let moves = self.moves(at);
        &mut self.logits[moves]
    }

    /// The range in `logits` of the logits of position `at`.
    fn moves(&self, at: usize) -> Range<usize> {
        self.starts[at]..self.starts[at + 1]
    }

    pub(super) fn answer_at_random(&mut self) {
        for (&at, &key) in self.rows.iter().zip(&self.keys) {
            self.values[at] = random::value(key);
            let moves = self.starts[at]..self.starts[at + 1];
            random::logits(key, &self.lookups[moves.clone()], &mut self.logits[moves]);
        }
    }

    /// Sets the moves left to 0, as if the network had no estimate of them.
    pub(super) fn forget_moves_left(&mut self) {
        self.rows.iter().for_each(|&at| self.values[at].m = 0.0);
    }

    /// Gives the answers to the cache, and to the positions that occur in the batch a second time.
    pub(super) fn share_answers(&mut self) {
        let Some(cache) = &self.cache else { return };
        // The network did not answer these, but an entry of the cache could not say so.
        for &at in self.rows.iter().filter(|at| !self.unknown.contains(at)) {
            cache.put(self.cache_keys[at], self.values[at], &self.logits[self.moves(at)]);
        }
        for &(at, earlier) in &self.twins {
            self.values[at] = self.values[earlier];
            if !self.value_errors.is_empty() {
                self.value_errors[at] = self.value_errors[earlier];
            }
            self.logits.copy_within(self.starts[earlier]..self.starts[earlier + 1], self.starts[at]);
        }
    }

    /// Lends the rows to the service by calling `run`, and reads the answers. `run` also gets chores to be done; there
    /// are none without hints.
    pub(super) fn run_on(
        &mut self,
        run: impl FnOnce(&Arc<Request>, usize, Chores<'_>) -> Result<Option<String>, String>,
    ) -> Result<Option<String>, String> {
        self.request.content().input = std::mem::take(&mut self.input);
        let looks = &self.looks;
        let ran = run(&self.request, self.rows.len(), Chores { count: looks.len(), chore: &|at| looks.look(at) });
        self.input = std::mem::take(&mut self.request.content().input);
        if ran.is_ok() {
            self.read();
        }
        ran
    }

    /// Reads the answers from the request's outputs.
    fn read(&mut self) {
        let content = self.request.content();
        let outputs = &content.outputs;
        if !outputs.value_error.is_empty() {
            self.value_errors.resize(self.values.len(), 0.0);
        }
        let rows = self.rows.iter().enumerate();
        for ((n, &at), policy) in rows.zip(outputs.policy.chunks_exact(policy::SIZE)) {
            self.values[at] = value(outputs, n);
            if let Some(&error) = outputs.value_error.get(n) {
                self.value_errors[at] = error;
            }
            let moves = self.starts[at]..self.starts[at + 1];
            for (logit, &index) in self.logits[moves.clone()].iter_mut().zip(&self.lookups[moves]) {
                *logit = policy[usize::from(index)];
            }
            let odd = Odd::mend(
                &mut self.values[at],
                &mut self.logits[self.starts[at]..self.starts[at + 1]],
                outputs.value_error.get(n).copied(),
            );
            self.odd.add(odd);
            self.unknown.extend(odd.is_unknown().then_some(at));
            self.looks.correct(n, &mut self.values[at], &mut self.logits[self.starts[at]..self.starts[at + 1]]);
        }
    }
}

/// The value of position `at` of the batch, from the heads that the network has.
fn value(outputs: &Outputs, at: usize) -> Value {
    let (wl, d) = match outputs.wdl.get(3 * at..3 * at + 3) {
        Some(&[w, d, l]) => (w - l, d),
        _ => (outputs.value.get(at).copied().unwrap_or(0.0), 0.0),
    };
    Value { wl, d, m: outputs.moves_left.get(at).copied().unwrap_or(0.0) }
}
