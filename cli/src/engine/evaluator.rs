//! Positions to values and logits: planes in, the backend's heads out.
//!
//! An [`Evaluator`] is shared by all threads of a search. Each thread has a [`Batch`] of its own: it pushes positions, runs
//! the batch, and reads the answers. Threads meet only where they wait for a backend, and in the cache, if there is one.

use super::backends::{self, Running};
use super::cache::{Cache, CacheCounts};
use super::contexts::{Generation, Replaced};
use super::random;
use super::settings::{BackendKind, CacheSize, EvaluatorSettings};
use oncilla_chess::planes::{self, HistoryFill, InputFormat, PLANES, Planes, encode};
use oncilla_chess::{History, MoveList, pack, policy};
use oncilla_core::evaluate::Value;
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::Role;
use std::ops::Range;
use std::sync::Arc;

/// Numbers of one position's input.
const INPUT_LEN: usize = PLANES * 64;

/// Largest batch of an evaluator without a network.
const MAX_BATCH_WITHOUT_NETWORK: usize = 1024;

/// Evaluates batches of positions, for any number of threads at once.
pub struct Evaluator {
    source: Source,
    settings: EvaluatorSettings,
    /// Another network, backend or history fill is another evaluator, so that an entry is always of this one.
    cache: Option<Arc<Cache>>,
    cache_size: CacheSize,
}

/// Whatever answers.
enum Source {
    Network(Running),
    /// Values and logits from a hash of the position.
    Random,
    /// Even values and logits.
    Constant,
}

impl Evaluator {
    /// Loads the network and makes its backend. Besides the evaluator there are lines for a person: what runs, and why
    /// not something else.
    ///
    /// # Errors
    /// One line: no such file, no network, no device.
    pub fn new(settings: &EvaluatorSettings) -> Result<(Self, Vec<String>), String> {
        let (source, notes) = match settings.backend {
            BackendKind::Random => (Source::Random, Vec::new()),
            BackendKind::Constant => (Source::Constant, Vec::new()),
            BackendKind::Auto | BackendKind::Host | BackendKind::OpenCl => {
                let (running, notes) = backends::open(settings)?;
                (Source::Network(running), notes)
            }
        };
        let (settings, cache_size) = (settings.clone(), CacheSize::default());
        Ok((Self { source, settings, cache: None, cache_size }, notes))
    }

    /// What it was made from.
    pub fn settings(&self) -> &EvaluatorSettings {
        &self.settings
    }

    /// Gives it a cache of this size, or none. One of the same size stays with all that it knows. Batches that were made
    /// before go on with the cache of their time.
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

    fn network(&self) -> Option<&Running> {
        match &self.source {
            Source::Network(running) => Some(running),
            Source::Random | Source::Constant => None,
        }
    }

    /// One line for a person.
    pub fn describe(&self) -> String {
        match &self.source {
            Source::Network(running) => running.contexts.facts().describe,
            Source::Random => "random answers".to_string(),
            Source::Constant => "constant answers".to_string(),
        }
    }

    /// Whether the network estimates the moves left.
    pub fn has_moves_left(&self) -> bool {
        self.network().is_some_and(|network| network.has_head(Role::MovesLeft))
    }

    /// Whether the network tells draws from losses.
    pub fn has_wdl(&self) -> bool {
        self.network().is_some_and(|network| network.has_head(Role::Wdl))
    }

    /// Floating-point operations of one evaluation; 0 without a network.
    pub fn flops(&self) -> u64 {
        self.network().map_or(0, |network| network.graph.flops())
    }

    /// Batch size that is worth waiting for.
    pub fn preferred_batch(&self) -> usize {
        self.network().map_or(1, |network| network.contexts.facts().preferred_batch)
    }

    /// Largest batch that runs in one piece. A larger one runs in several.
    pub fn max_batch(&self) -> usize {
        self.network().map_or(MAX_BATCH_WITHOUT_NETWORK, |network| network.contexts.facts().max_batch)
    }

    /// An empty batch, for one thread. It goes with this evaluator only.
    pub fn batch(&self) -> Batch {
        let fill = self.settings.history_fill;
        let needs = match &self.source {
            Source::Network(network) => Needs::Planes(network.input_format, fill),
            Source::Random => Needs::Key(InputFormat::Classical112, fill),
            Source::Constant => Needs::Nothing,
        };
        Batch::new(needs, self.cache.clone())
    }

    /// Evaluates the batch. Where the user left the choice of the backend to us, a device that fails is replaced by the
    /// host; the line that says so comes back.
    ///
    /// # Errors
    /// The backend's line, if nothing takes its place. The answers are then worth nothing.
    pub fn run(&self, batch: &mut Batch) -> Result<Option<String>, String> {
        let note = match &self.source {
            Source::Network(network) => self.run_network(network, batch)?,
            Source::Random => {
                batch.answer_at_random();
                None
            }
            Source::Constant => None,
        };
        batch.share_answers();
        Ok(note)
    }

    fn run_network(&self, network: &Running, batch: &mut Batch) -> Result<Option<String>, String> {
        let mut note = None;
        let mut done = 0;
        while done < batch.evaluations() {
            let mut context = network.contexts.take();
            let generation = context.generation();
            let part = done..batch.evaluations().min(done + context.max_batch());
            let result = batch.run_on(&mut *context, &part);
            // The next thread's batch runs while this one's answers are read.
            drop(context);
            match result.and_then(|()| batch.read(&part)) {
                Ok(()) => done = part.end,
                Err(fault) => note = self.replace(network, generation, fault)?.or(note),
            }
        }
        Ok(note)
    }

    /// Lets the host take over from a device that failed, where that is allowed. The part is then to be run again.
    fn replace(&self, network: &Running, failed: Generation, fault: String) -> Result<Option<String>, String> {
        if self.settings.backend != BackendKind::Auto {
            return Err(fault);
        }
        match network.contexts.replace(failed, || backends::open_host(&network.graph, &self.settings))? {
            Replaced::Now => Ok(Some(format!("{fault}; the host takes over"))),
            Replaced::Earlier => Ok(None),
            Replaced::Never => Err(fault),
        }
    }
}

/// What must be known of a position to evaluate it.
#[derive(Clone, Copy, Debug)]
enum Needs {
    /// The planes as numbers.
    Planes(InputFormat, HistoryFill),
    /// The key; and the planes are encoded, so that this takes as long as it would with a network.
    Key(InputFormat, HistoryFill),
    /// Nothing.
    Nothing,
}

impl Needs {
    /// The key of all that the answer depends on.
    fn cache_key(self, history: &History) -> u64 {
        match self {
            Self::Planes(format, fill) | Self::Key(format, fill) => planes::key(history, format, fill),
            // There is no cache for it.
            Self::Nothing => 0,
        }
    }
}

/// What became of a position that was pushed.
#[derive(Debug, PartialEq)]
pub enum Pushed<'a> {
    /// It is the last one of the batch.
    Waits,
    /// It is none of the batch, because the cache knows what it is worth to its side to move, and its logits in the order of
    /// its moves.
    Known(Value, &'a mut [f32]),
}

/// The positions that a thread wants evaluated together, and then their answers. Its buffers grow with the first batches
/// and are kept.
///
/// With a cache, a position that stands twice in the batch is evaluated once: its key is compared with those before it,
/// which for some hundreds of them takes less time than to encode its planes.
pub struct Batch {
    needs: Needs,
    cache: Option<Arc<Cache>>,
    /// The key of each position for the cache, if there is one.
    cache_keys: Vec<u64>,
    values: Vec<Value>,
    /// Where the logits of each position begin, and where those of the last one end.
    starts: Vec<usize>,
    logits: Vec<f32>,
    /// What a move's logit is found by, parallel to `logits`: its policy index, or the move, packed. Empty if nothing is
    /// needed.
    lookups: Vec<u16>,
    /// Positions that are the same as an earlier one, and that one.
    twins: Vec<(usize, usize)>,
    /// The others: those that are evaluated.
    rows: Vec<usize>,
    /// By row. It never shrinks: what stands behind the rows is left over.
    input: Vec<f32>,
    /// By row: the position's key, where answers are random.
    keys: Vec<u64>,
    planes: Box<Planes>,
    outputs: Outputs,
}

impl Batch {
    fn new(needs: Needs, cache: Option<Arc<Cache>>) -> Self {
        Self {
            needs,
            cache,
            cache_keys: Vec::new(),
            values: Vec::new(),
            starts: vec![0],
            logits: Vec::new(),
            lookups: Vec::new(),
            twins: Vec::new(),
            rows: Vec::new(),
            input: Vec::new(),
            keys: Vec::new(),
            planes: Box::default(),
            outputs: Outputs::default(),
        }
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.cache_keys.clear();
        self.values.clear();
        self.starts.truncate(1);
        self.logits.clear();
        self.lookups.clear();
        self.twins.clear();
        self.rows.clear();
        self.keys.clear();
    }

    /// Positions in the batch.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True for an empty batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Positions of the batch that are evaluated: without those that stand in it twice.
    pub fn evaluations(&self) -> usize {
        self.rows.len()
    }

    /// Asks the cache for the last position of `history`, whose legal moves are `moves`. If there is none, or it does not
    /// know, the position comes into the batch.
    pub fn push(&mut self, history: &History, moves: &MoveList) -> Pushed<'_> {
        let start = self.next_start();
        self.logits.truncate(start);
        self.logits.resize(start + moves.len(), 0.0);
        let key = self.cache.is_some().then(|| self.needs.cache_key(history));
        let known = self.cache.as_ref().zip(key).and_then(|(cache, key)| cache.get(key, &mut self.logits[start..]));
        if let Some(value) = known {
            // Its logits stand behind those of the batch until the next one comes.
            return Pushed::Known(value, &mut self.logits[start..]);
        }
        let at = self.len();
        match key.and_then(|key| self.earlier(key, moves.len())) {
            Some(earlier) => self.twins.push((at, earlier)),
            None => {
                self.push_row(history, moves);
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

    /// Makes the position ready for the evaluation.
    fn push_row(&mut self, history: &History, moves: &MoveList) {
        match self.needs {
            Needs::Planes(format, fill) => {
                let transform = encode(history, format, fill, &mut self.planes);
                let mover = history.side_to_move();
                self.look_up(moves.iter().map(|&mv| policy::index(mv, mover, transform)));
                let at = self.rows.len() * INPUT_LEN;
                self.input.resize(self.input.len().max(at + INPUT_LEN), 0.0);
                if let Some(place) = self.input[at..].first_chunk_mut::<INPUT_LEN>() {
                    self.planes.expand_into(place);
                }
            }
            Needs::Key(format, fill) => {
                encode(history, format, fill, &mut self.planes);
                self.keys.push(history.key());
                self.look_up(moves.iter().map(|&mv| pack(mv)));
            }
            Needs::Nothing => {}
        }
    }

    /// Says what the logits of the next position are found by.
    fn look_up(&mut self, by: impl Iterator<Item = u16>) {
        // Twins have no lookups of their own.
        self.lookups.resize(self.next_start(), 0);
        self.lookups.extend(by);
    }

    /// What position `at` is worth to its side to move.
    pub fn value(&self, at: usize) -> Value {
        self.values[at]
    }

    /// The logits of position `at`, in the order of the moves that it was pushed with.
    pub fn logits(&mut self, at: usize) -> &mut [f32] {
        let moves = self.moves(at);
        &mut self.logits[moves]
    }

    /// Where the logits of position `at` stand.
    fn moves(&self, at: usize) -> Range<usize> {
        self.starts[at]..self.starts[at + 1]
    }

    fn answer_at_random(&mut self) {
        for (&at, &key) in self.rows.iter().zip(&self.keys) {
            self.values[at] = random::value(key);
            let moves = self.starts[at]..self.starts[at + 1];
            random::logits(key, &self.lookups[moves.clone()], &mut self.logits[moves]);
        }
    }

    /// Gives the answers to the cache, and to the positions that stand in the batch twice.
    fn share_answers(&mut self) {
        let Some(cache) = &self.cache else { return };
        for &at in &self.rows {
            cache.put(self.cache_keys[at], self.values[at], &self.logits[self.moves(at)]);
        }
        for &(at, earlier) in &self.twins {
            self.values[at] = self.values[earlier];
            self.logits.copy_within(self.starts[earlier]..self.starts[earlier + 1], self.starts[at]);
        }
    }

    /// Evaluates some of the rows.
    fn run_on(&mut self, backend: &mut dyn Backend, part: &Range<usize>) -> Result<(), String> {
        let input = &self.input[part.start * INPUT_LEN..part.end * INPUT_LEN];
        backend.evaluate(input, &mut self.outputs).map_err(|error| error.to_string())
    }

    /// Reads the answers to some of the rows from the outputs.
    ///
    /// # Errors
    /// An output is no finite number: the backend has failed, whatever it says.
    fn read(&mut self, part: &Range<usize>) -> Result<(), String> {
        let mut finite = true;
        let rows = self.rows[part.clone()].iter().enumerate();
        for ((n, &at), policy) in rows.zip(self.outputs.policy.chunks_exact(policy::SIZE)) {
            let value = backends::value(&self.outputs, n);
            finite &= value.wl.is_finite() && value.d.is_finite() && value.m.is_finite();
            self.values[at] = value;
            let moves = self.starts[at]..self.starts[at + 1];
            for (logit, &index) in self.logits[moves.clone()].iter_mut().zip(&self.lookups[moves]) {
                *logit = policy[usize::from(index)];
                finite &= logit.is_finite();
            }
        }
        if finite { Ok(()) } else { Err("an output of the network is no finite number".to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::contexts::Contexts;
    use super::super::settings::Weights;
    use super::*;
    use oncilla_opencl::backend::BackendError;
    use oncilla_opencl::graph::Graph;
    use std::thread;

    fn settings(backend: BackendKind) -> EvaluatorSettings {
        EvaluatorSettings {
            weights: Weights::Embedded,
            backend,
            device: None,
            threads: 1,
            history_fill: HistoryFill::FenOnly,
        }
    }

    fn evaluator(backend: BackendKind) -> Evaluator {
        Evaluator::new(&settings(backend)).unwrap().0
    }

    /// A game of `plies` that the positions of a test come from, each with its moves.
    fn game(plies: usize) -> Vec<(History, MoveList)> {
        let mut history = History::startpos();
        let mut positions = Vec::new();
        for ply in 0..plies {
            let mut moves = MoveList::new();
            history.legal_moves(&mut moves);
            positions.push((history.clone(), moves.clone()));
            history.push(moves[7 * ply % moves.len()]);
        }
        positions
    }

    type Answers = Vec<(Value, Vec<f32>)>;

    /// For an evaluator without a cache, which never knows anything.
    fn push(batch: &mut Batch, (history, moves): &(History, MoveList)) {
        assert_eq!(batch.push(history, moves), Pushed::Waits);
    }

    fn answers(batch: &mut Batch) -> Answers {
        (0..batch.len()).map(|at| (batch.value(at), batch.logits(at).to_vec())).collect()
    }

    fn evaluate(evaluator: &Evaluator, batch: &mut Batch, positions: &[(History, MoveList)]) -> Answers {
        batch.clear();
        positions.iter().for_each(|position| push(batch, position));
        evaluator.run(batch).unwrap();
        answers(batch)
    }

    #[test]
    fn answers_depend_on_the_position_and_not_on_the_batch_or_the_thread() {
        let positions = game(24);
        for backend in [BackendKind::Random, BackendKind::Constant, BackendKind::Host] {
            let evaluator = evaluator(backend);
            let mut batch = evaluator.batch();
            let mut alone = Answers::new();
            for position in positions.chunks(1) {
                alone.extend(evaluate(&evaluator, &mut batch, position));
            }
            let lengths: Vec<_> = positions.iter().map(|(_, moves)| moves.len()).collect();
            assert_eq!(alone.iter().map(|(_, logits)| logits.len()).collect::<Vec<_>>(), lengths);
            thread::scope(|scope| {
                for size in [1, 5, 24] {
                    let (evaluator, positions, alone) = (&evaluator, &positions, &alone);
                    scope.spawn(move || {
                        let mut batch = evaluator.batch();
                        let together: Answers =
                            positions.chunks(size).flat_map(|part| evaluate(evaluator, &mut batch, part)).collect();
                        assert_eq!(together, *alone, "{backend:?}, {size}");
                    });
                }
            });
        }
    }

    #[test]
    fn logits_may_be_written_over() {
        let evaluator = evaluator(BackendKind::Constant);
        let mut batch = evaluator.batch();
        let positions = game(2);
        let first = evaluate(&evaluator, &mut batch, &positions);
        batch.logits(0).fill(f32::NAN);
        assert_eq!(answers(&mut batch)[1], first[1]);
        assert_eq!(evaluate(&evaluator, &mut batch, &positions), first);
    }

    #[test]
    fn random_policies_are_spread() {
        let evaluator = evaluator(BackendKind::Random);
        let answers = evaluate(&evaluator, &mut evaluator.batch(), &game(40));
        let logits: Vec<f32> = answers.into_iter().flat_map(|(_, logits)| logits).collect();
        let mean = logits.iter().sum::<f32>() / logits.len() as f32;
        let deviation = (logits.iter().map(|l| (l - mean).powi(2)).sum::<f32>() / logits.len() as f32).sqrt();
        // Uniform in [0, 3): 1.5 and 3/√12. Some thousand logits know both to a few hundredths.
        assert!(logits.len() > 800 && (mean - 1.5).abs() < 0.1 && (deviation - 0.866).abs() < 0.05);
    }

    /// A device that takes 3 positions at once and fails after some batches, loudly or by nonsense.
    struct Failing {
        host: Box<dyn Backend>,
        batches: usize,
        loud: bool,
    }

    impl Backend for Failing {
        fn graph(&self) -> &Graph {
            self.host.graph()
        }

        fn describe(&self) -> String {
            "a failing device".to_string()
        }

        fn max_batch(&self) -> usize {
            3
        }

        fn preferred_batch(&self) -> usize {
            3
        }

        fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
            assert!(input.len() <= self.max_batch() * INPUT_LEN);
            self.host.evaluate(input, outputs)?;
            if self.batches > 0 {
                self.batches -= 1;
                return Ok(());
            }
            outputs.policy.fill(f32::NAN);
            if self.loud { Err(BackendError("out of order".to_string())) } else { Ok(()) }
        }
    }

    fn on_failing_device(backend: BackendKind, batches: usize, loud: bool) -> Evaluator {
        let network = backends::read_network(&Weights::Embedded).unwrap();
        let graph = Arc::new(network.graph);
        let host = backends::open_host(&graph, &settings(backend)).unwrap();
        let contexts = Contexts::new(Box::new(Failing { host, batches, loud }), true);
        let input_format = InputFormat::from_number(network.input_format.number().into()).unwrap();
        let source = Source::Network(Running { graph, contexts, input_format });
        Evaluator { source, settings: settings(backend), cache: None, cache_size: CacheSize::default() }
    }

    #[test]
    fn the_host_takes_over_once_from_a_device_that_fails() {
        let positions = game(8);
        let host = evaluator(BackendKind::Host);
        let expected = evaluate(&host, &mut host.batch(), &positions);
        for (batches, loud) in [(0, true), (0, false), (4, true), (4, false)] {
            let evaluator = on_failing_device(BackendKind::Auto, batches, loud);
            let run = || {
                let mut batch = evaluator.batch();
                positions.iter().for_each(|position| push(&mut batch, position));
                let note = evaluator.run(&mut batch).unwrap();
                assert_eq!(answers(&mut batch), expected);
                note
            };
            let notes: Vec<String> = thread::scope(|scope| {
                let threads = [scope.spawn(run), scope.spawn(run), scope.spawn(run)];
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
            });
            let fault = if loud { "out of order" } else { "an output of the network is no finite number" };
            assert_eq!(notes, [format!("{fault}; the host takes over")]);
            assert!(evaluator.describe().starts_with("host"));
        }
    }

    #[test]
    fn a_device_that_was_asked_for_is_not_replaced() {
        let evaluator = on_failing_device(BackendKind::OpenCl, 0, true);
        let mut batch = evaluator.batch();
        push(&mut batch, &game(1)[0]);
        assert_eq!(evaluator.run(&mut batch), Err("out of order".to_string()));
        batch.clear();
        assert_eq!(evaluator.run(&mut batch), Ok(None), "an empty batch needs no device");
    }

    const SMALL_CACHE: CacheSize = CacheSize { entries: 20, mb: 1 };

    fn with_cache(backend: BackendKind, size: CacheSize) -> Evaluator {
        let mut evaluator = evaluator(backend);
        evaluator.set_cache(size).unwrap();
        evaluator
    }

    /// As `evaluate`, and how many positions the network was asked for.
    fn evaluate_with_cache(
        batch: &mut Batch,
        evaluator: &Evaluator,
        positions: &[(History, MoveList)],
    ) -> (Answers, usize) {
        batch.clear();
        let mut known = Vec::new();
        for (history, moves) in positions {
            known.push(match batch.push(history, moves) {
                Pushed::Known(value, logits) => Some((value, logits.to_vec())),
                Pushed::Waits => None,
            });
        }
        evaluator.run(batch).unwrap();
        let evaluations = batch.evaluations();
        let mut waited = answers(batch).into_iter();
        (known.into_iter().map(|known| known.unwrap_or_else(|| waited.next().unwrap())).collect(), evaluations)
    }

    #[test]
    fn answers_are_the_same_to_the_bit_with_a_cache_and_without() {
        let positions = game(100);
        for backend in [BackendKind::Random, BackendKind::Host] {
            let plain = evaluator(backend);
            let expected = evaluate(&plain, &mut plain.batch(), &positions);
            let cached = with_cache(backend, SMALL_CACHE);
            let asked: usize = thread::scope(|scope| {
                let work = |seed: usize| {
                    let (cached, positions, expected) = (&cached, &positions, &expected);
                    move || {
                        let mut batch = cached.batch();
                        let mut asked = 0;
                        for n in 0..40 {
                            // Near each other, so that some are known, and now and then one twice.
                            let chosen: Vec<usize> =
                                (0..n % 9).map(|i| (n + (7 * i * i + 13 * n * seed) % 23) % positions.len()).collect();
                            let wanted: Vec<_> = chosen.iter().map(|&at| positions[at].clone()).collect();
                            let (found, evaluations) = evaluate_with_cache(&mut batch, cached, &wanted);
                            for (&at, found) in chosen.iter().zip(&found) {
                                assert_eq!(bits(found), bits(&expected[at]), "{backend:?}, position {at}");
                            }
                            asked += evaluations;
                        }
                        asked
                    }
                };
                let threads = [scope.spawn(work(1)), scope.spawn(work(2))];
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            let counts = cached.cache_counts();
            assert!(counts.hits > 20 && counts.evictions > 20 && counts.entries <= 20, "{counts:?}");
            assert!(asked as u64 <= counts.misses, "{asked} of {counts:?}");
        }
    }

    fn bits((value, logits): &(Value, Vec<f32>)) -> Vec<u32> {
        [value.wl, value.d, value.m].iter().chain(logits).map(|number| number.to_bits()).collect()
    }

    #[test]
    fn a_position_that_stands_in_a_batch_twice_is_evaluated_once() {
        let evaluator = with_cache(BackendKind::Host, SMALL_CACHE);
        let [a, b, c]: [_; 3] = game(3).try_into().unwrap();
        let mut batch = evaluator.batch();
        let (found, evaluations) =
            evaluate_with_cache(&mut batch, &evaluator, &[a.clone(), b.clone(), a.clone(), c, b, a]);
        assert_eq!((batch.len(), evaluations), (6, 3));
        assert!(found[0] == found[2] && found[0] == found[5] && found[1] == found[4]);
        assert!(found[0] != found[1] && found[1] != found[3]);
    }

    #[test]
    fn a_cache_keeps_what_it_knows_until_the_game_or_its_size_changes() {
        let positions = game(4);
        let mut evaluator = with_cache(BackendKind::Random, SMALL_CACHE);
        let asked = |evaluator: &Evaluator| evaluate_with_cache(&mut evaluator.batch(), evaluator, &positions).1;
        assert_eq!([asked(&evaluator), asked(&evaluator)], [4, 0]);
        evaluator.set_cache(SMALL_CACHE).unwrap();
        assert_eq!(asked(&evaluator), 0);
        evaluator.clear_cache();
        assert_eq!([asked(&evaluator), asked(&evaluator)], [4, 0]);
        evaluator.set_cache(CacheSize { entries: 21, ..SMALL_CACHE }).unwrap();
        assert_eq!([asked(&evaluator), asked(&evaluator)], [4, 0]);
        for none in [CacheSize { entries: 0, ..SMALL_CACHE }, CacheSize { mb: 0, ..SMALL_CACHE }] {
            evaluator.set_cache(none).unwrap();
            assert_eq!([asked(&evaluator), asked(&evaluator)], [4, 4]);
            assert_eq!(evaluator.cache_counts(), CacheCounts::default());
        }
    }
}
