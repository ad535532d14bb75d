//! Positions to values and logits: planes in, the backend's heads out.
//!
//! An [`Evaluator`] is shared by all threads of a search. Each thread has a [`Batch`] of its own: it pushes positions, runs
//! the batch, and reads the answers. Threads meet only where they wait for a backend.

use super::backends::{self, Running};
use super::contexts::{Generation, Replaced};
use super::random;
use super::settings::{BackendKind, EvaluatorSettings};
use oncilla_chess::planes::{HistoryFill, InputFormat, PLANES, Planes, encode};
use oncilla_chess::{History, MoveList, pack, policy};
use oncilla_core::evaluate::Value;
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::Role;
use std::ops::Range;

/// Numbers of one position's input.
const INPUT_LEN: usize = PLANES * 64;

/// Largest batch of an evaluator without a network.
const MAX_BATCH_WITHOUT_NETWORK: usize = 1024;

/// Evaluates batches of positions, for any number of threads at once.
pub struct Evaluator {
    source: Source,
    settings: EvaluatorSettings,
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
        Ok((Self { source, settings: settings.clone() }, notes))
    }

    /// What it was made from.
    pub fn settings(&self) -> &EvaluatorSettings {
        &self.settings
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
        Batch::new(match &self.source {
            Source::Network(network) => Needs::Planes(network.input_format, fill),
            Source::Random => Needs::Key(fill),
            Source::Constant => Needs::Nothing,
        })
    }

    /// Evaluates the batch. Where the user left the choice of the backend to us, a device that fails is replaced by the
    /// host; the line that says so comes back.
    ///
    /// # Errors
    /// The backend's line, if nothing takes its place. The answers are then worth nothing.
    pub fn run(&self, batch: &mut Batch) -> Result<Option<String>, String> {
        match &self.source {
            Source::Network(network) => self.run_network(network, batch),
            Source::Random => {
                batch.answer_at_random();
                Ok(None)
            }
            Source::Constant => Ok(None),
        }
    }

    fn run_network(&self, network: &Running, batch: &mut Batch) -> Result<Option<String>, String> {
        let mut note = None;
        let mut done = 0;
        while done < batch.len() {
            let mut context = network.contexts.take();
            let generation = context.generation();
            let part = done..batch.len().min(done + context.max_batch());
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
    Key(HistoryFill),
    /// Nothing.
    Nothing,
}

/// The positions that a thread wants evaluated together, and then their answers. Its buffers grow with the first batches
/// and are kept.
pub struct Batch {
    needs: Needs,
    planes: Box<Planes>,
    /// `[position][plane][square]`. It never shrinks: what stands behind the positions is left over.
    input: Vec<f32>,
    outputs: Outputs,
    keys: Vec<u64>,
    values: Vec<Value>,
    /// Where the logits of each position begin, and where those of the last one end.
    starts: Vec<usize>,
    logits: Vec<f32>,
    /// What a move's logit is found by, parallel to `logits`: its policy index, or the move, packed. Empty if nothing is
    /// needed.
    lookups: Vec<u16>,
}

impl Batch {
    fn new(needs: Needs) -> Self {
        Self {
            needs,
            planes: Box::default(),
            input: Vec::new(),
            outputs: Outputs::default(),
            keys: Vec::new(),
            values: Vec::new(),
            starts: vec![0],
            logits: Vec::new(),
            lookups: Vec::new(),
        }
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.starts.truncate(1);
        self.logits.clear();
        self.lookups.clear();
    }

    /// Positions in the batch.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True for an empty batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the last position of `history`, whose legal moves are `moves`.
    pub fn push(&mut self, history: &History, moves: &MoveList) {
        match self.needs {
            Needs::Planes(format, fill) => self.push_planes(history, moves, format, fill),
            Needs::Key(fill) => {
                encode(history, InputFormat::Classical112, fill, &mut self.planes);
                self.keys.push(history.key());
                self.lookups.extend(moves.iter().map(|&mv| pack(mv)));
            }
            Needs::Nothing => {}
        }
        self.values.push(Value::EVEN);
        self.logits.resize(self.logits.len() + moves.len(), 0.0);
        self.starts.push(self.logits.len());
    }

    fn push_planes(&mut self, history: &History, moves: &MoveList, format: InputFormat, fill: HistoryFill) {
        let transform = encode(history, format, fill, &mut self.planes);
        let mover = history.side_to_move();
        self.lookups.extend(moves.iter().map(|&mv| policy::index(mv, mover, transform)));
        let at = self.len() * INPUT_LEN;
        self.input.resize(self.input.len().max(at + INPUT_LEN), 0.0);
        if let Some(place) = self.input[at..].first_chunk_mut::<INPUT_LEN>() {
            self.planes.expand_into(place);
        }
    }

    /// What position `at` is worth to its side to move.
    pub fn value(&self, at: usize) -> Value {
        self.values[at]
    }

    /// The logits of position `at`, in the order of the moves that it was pushed with.
    pub fn logits(&mut self, at: usize) -> &mut [f32] {
        &mut self.logits[self.starts[at]..self.starts[at + 1]]
    }

    fn answer_at_random(&mut self) {
        for (at, &key) in self.keys.iter().enumerate() {
            self.values[at] = random::value(key);
            let moves = self.starts[at]..self.starts[at + 1];
            random::logits(key, &self.lookups[moves.clone()], &mut self.logits[moves]);
        }
    }

    /// Evaluates some of the positions.
    fn run_on(&mut self, backend: &mut dyn Backend, part: &Range<usize>) -> Result<(), String> {
        let input = &self.input[part.start * INPUT_LEN..part.end * INPUT_LEN];
        backend.evaluate(input, &mut self.outputs).map_err(|error| error.to_string())
    }

    /// Reads the answers to some of the positions from the outputs.
    ///
    /// # Errors
    /// An output is no finite number: the backend has failed, whatever it says.
    fn read(&mut self, part: &Range<usize>) -> Result<(), String> {
        let mut finite = true;
        for ((n, at), policy) in part.clone().enumerate().zip(self.outputs.policy.chunks_exact(policy::SIZE)) {
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
    use std::sync::Arc;
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

    fn answers(batch: &mut Batch) -> Answers {
        (0..batch.len()).map(|at| (batch.value(at), batch.logits(at).to_vec())).collect()
    }

    fn evaluate(evaluator: &Evaluator, batch: &mut Batch, positions: &[(History, MoveList)]) -> Answers {
        batch.clear();
        positions.iter().for_each(|(history, moves)| batch.push(history, moves));
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
        Evaluator { source: Source::Network(Running { graph, contexts, input_format }), settings: settings(backend) }
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
                positions.iter().for_each(|(history, moves)| batch.push(history, moves));
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
        game(1).iter().for_each(|(history, moves)| batch.push(history, moves));
        assert_eq!(evaluator.run(&mut batch), Err("out of order".to_string()));
        batch.clear();
        assert_eq!(evaluator.run(&mut batch), Ok(None), "an empty batch needs no device");
    }
}
