use super::*;
use crate::evaluator::batch::Circumstances;
use crate::evaluator::faulty::{Fault, on_failing_device, on_failing_host, on_watched_device, settings};
use crate::network::{HintsFrom, Service, Unit, Weights};
use oncilla_chess::tactics;
use oncilla_chess::{History, MoveList, TwoFold, pack, unpack};
use oncilla_core::evaluate::{self, Answer, Moves, Value, Verdict};
use oncilla_core::heapless::VecView;
use oncilla_core::search::{MostMoves, MostPlies, Params, Search};
use oncilla_core::tree::TreeMemory;
use oncilla_opencl::host::Host;
use oncilla_opencl::watched::Patience;
use std::thread;
use std::time::Duration;

fn evaluator(backend: BackendKind) -> Evaluator {
    Evaluator::new(&settings(backend)).unwrap().0
}

/// The positions of a game of `plies` plies, each with its moves, which the tests use.
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

/// Pushes a position into the batch of an evaluator without a cache, which never knows the position.
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

/// If a row were not looked at, or took what was seen of another one, its answer would be another.
#[test]
fn each_answer_is_corrected_by_what_is_seen_of_its_own_position() {
    let positions = game(40);
    let mut evaluator = evaluator(BackendKind::Host);
    let hints = evaluator.hints.clone().unwrap();
    let Source::Network(running) = &mut evaluator.source else { unreachable!("it has a network") };
    // The threads of one search share the looks, whatever this machine has of cores.
    let (graph, wide) = (&running.graph, Box::new(Host::new(Arc::clone(&running.graph), 3).unwrap()));
    running.service = Service::new(graph, vec![Unit::host(wide, Vec::new())], Box::new(|| Err("no".to_string())));
    let mut batch = evaluator.batch();
    // Later batches use the room that larger ones have left.
    let corrected = [40, 1, 7, 3, 13].map(|size| -> Answers {
        positions.chunks(size).flat_map(|part| evaluate(&evaluator, &mut batch, part)).collect()
    });
    evaluator.hints = None;
    let expected: Answers = evaluate(&evaluator, &mut evaluator.batch(), &positions)
        .into_iter()
        .zip(&positions)
        .map(|((mut value, mut logits), (history, moves))| {
            let (mut gains, mut seen) = (vec![0; moves.len()], vec![[0.0; tactics::OF_MOVE]; moves.len()]);
            let position = tactics::look(history.board(), moves, &[], &mut gains, &mut seen);
            let mut wdl = [(1.0 - value.d + value.wl) / 2.0, value.d, (1.0 - value.d - value.wl) / 2.0];
            hints.correct(&position, &seen, &mut logits, &mut wdl);
            (value.wl, value.d) = (wdl[0] - wdl[2], wdl[1]);
            (value, logits)
        })
        .collect();
    corrected.iter().for_each(|corrected| assert_eq!(*corrected, expected));
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
    // Logits are uniform in [0, 3): mean 1.5, deviation 3/√12. Some thousand logits give both to a few hundredths.
    assert!(logits.len() > 800 && (mean - 1.5).abs() < 0.1 && (deviation - 0.866).abs() < 0.05);
}

/// The words for `fault` in lines for a person.
fn named(fault: Fault) -> &'static str {
    if fault == Fault::Loud { "out of order" } else { "an output of the network is no finite number" }
}

#[test]
fn the_host_takes_over_from_a_device_that_never_answers() {
    let positions = game(8);
    let host = evaluator(BackendKind::Host);
    let expected = evaluate(&host, &mut host.batch(), &positions);
    let patience = Patience { least: Duration::from_millis(20), times: 20, ..Patience::default() };
    let device = on_watched_device(false, Box::new(|now| (now >= 2).then_some(Fault::Silent)), patience);
    let (mut batch, mut notes) = (device.batch(), Vec::new());
    for _ in 0..4 {
        batch.clear();
        positions.iter().for_each(|position| push(&mut batch, position));
        notes.extend(device.run(&mut batch).unwrap());
        assert_eq!(answers(&mut batch), expected);
    }
    assert!(notes[0].contains("no answer within"), "{notes:?}");
    assert!(notes.len() <= 2, "said once, and once that the host takes over: {notes:?}");
}

#[test]
fn the_host_takes_over_once_from_a_device_that_fails() {
    let positions = game(8);
    let host = evaluator(BackendKind::Host);
    let expected = evaluate(&host, &mut host.batch(), &positions);
    let from = [0, 4].into_iter().flat_map(|calls| [(calls, Fault::Loud), (calls, Fault::Nonsense)]);
    for ((calls, fault), backend) in from.zip([BackendKind::Auto, BackendKind::OpenCl].into_iter().cycle()) {
        let evaluator = on_failing_device(backend, false, Box::new(move |call| (call >= calls).then_some(fault)));
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
        let said = |what: &str| notes.iter().filter(|note| **note == format!("{}; {what}", named(fault))).count();
        let (once, for_good) = (said("the host evaluates the batch"), said("the host takes over"));
        // A thread that saw both faults tells only the second.
        assert!(once <= 1 && for_good == 1 && once + for_good == notes.len(), "{notes:?}");
        assert!(evaluator.describe().starts_with("host"));
    }
}

#[test]
fn the_host_stands_in_for_a_device_that_fails_now_and_then() {
    let positions = game(30);
    let host = evaluator(BackendKind::Host);
    let expected = evaluate(&host, &mut host.batch(), &positions);
    for fault in [Fault::Loud, Fault::Nonsense] {
        let plan = move |call: usize| (!call.is_multiple_of(3)).then_some(fault);
        let evaluator = on_failing_device(BackendKind::OpenCl, false, Box::new(plan));
        let mut batch = evaluator.batch();
        let mut notes = Vec::new();
        for _ in 0..3 {
            batch.clear();
            positions.iter().for_each(|position| push(&mut batch, position));
            notes.extend(evaluator.run(&mut batch).unwrap());
            assert_eq!(answers(&mut batch), expected);
        }
        assert_eq!(notes, [format!("{}; the host evaluates the batch", named(fault))]);
        assert_eq!(evaluator.describe(), "a failing device");
        batch.clear();
        assert_eq!(evaluator.run(&mut batch), Ok(None), "an empty batch needs no device");
    }
}

/// An evaluator's answer to a position for which its network has no numbers, and the line for a person.
fn odd_answers(evaluator: &Evaluator, position: &(History, MoveList)) -> (Value, Vec<f32>, bool, Option<String>) {
    let mut batch = evaluator.batch();
    push(&mut batch, position);
    let note = evaluator.run(&mut batch).unwrap();
    (batch.value(0), batch.logits(0).to_vec(), batch.is_unknown(0), note)
}

#[test]
fn what_the_network_has_no_number_for_counts_as_unknown_and_is_said_once() {
    let position = &game(1)[0];
    let mut host = evaluator(BackendKind::Host);
    host.hints = None;
    let (good, logits) = evaluate(&host, &mut host.batch(), std::slice::from_ref(position)).remove(0);
    assert!(host.has_moves_left() && good.m > 0.0);
    let cases = [
        (Fault::NoMovesLeft, "moves left", Value { m: 0.0, ..good }, logits.clone(), false),
        (Fault::Nonsense, "policy", good, vec![0.0; logits.len()], true),
    ];
    for (fault, what, value, logits, is_unknown) in cases {
        let mut evaluator = on_failing_host(Box::new(move |call| (call < 2).then_some(fault)));
        // Hints would change the answers that replace what is unknown.
        evaluator.hints = None;
        let (found, policy, unknown, note) = odd_answers(&evaluator, position);
        assert_eq!((found, policy, unknown), (value, logits, is_unknown));
        let note = note.unwrap();
        assert!(note.starts_with(&format!("WARNING: the network's {what} of a position")), "{note}");
        assert_eq!(odd_answers(&evaluator, position).3, None, "once is enough");
        // A mean over estimates and missing ones would be no estimate, so none of them counts.
        let has_moves_left = fault != Fault::NoMovesLeft;
        assert_eq!(evaluator.has_moves_left(), has_moves_left);
        let m = if has_moves_left { good.m } else { 0.0 };
        assert_eq!(odd_answers(&evaluator, position).0, Value { m, ..good });
    }
}

/// If the cache answered, it would not say that the answer is a replacement.
#[test]
fn what_the_network_has_no_number_for_does_not_come_into_the_cache() {
    let position = &game(1)[0];
    for (fault, entries) in [(Fault::Nonsense, 0), (Fault::NoMovesLeft, 1)] {
        let mut evaluator = on_failing_host(Box::new(move |_| Some(fault)));
        evaluator.set_cache(SMALL_CACHE).unwrap();
        let mut batch = evaluator.batch();
        // A twin is as unknown as the earlier position.
        (0..2).for_each(|_| push(&mut batch, position));
        evaluator.run(&mut batch).unwrap();
        assert_eq!(evaluator.cache_counts().entries, entries);
        assert_eq!([0, 1].map(|at| batch.is_unknown(at)), [entries == 0; 2]);
    }
}

#[test]
fn no_device_is_given_up_for_what_a_search_can_go_without() {
    let position = &game(1)[0];
    let evaluator = on_failing_device(BackendKind::OpenCl, false, Box::new(|_| Some(Fault::NoMovesLeft)));
    let notes: Vec<String> = (0..9).filter_map(|_| odd_answers(&evaluator, position).3).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(evaluator.describe(), "a failing device");
}

const SMALL_CACHE: CacheSize = CacheSize { entries: 20, mb: 1 };

fn with_cache(backend: BackendKind, size: CacheSize) -> Evaluator {
    let mut evaluator = evaluator(backend);
    evaluator.set_cache(size).unwrap();
    evaluator
}

/// Evaluates like `evaluate`; also returns how many positions the network was asked for.
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
                        // The positions are near each other, so that some are known, and some occur twice in a batch.
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
    let (found, evaluations) = evaluate_with_cache(&mut batch, &evaluator, &[a.clone(), b.clone(), a.clone(), c, b, a]);
    assert_eq!((batch.len(), evaluations), (6, 3));
    assert!(found[0] == found[2] && found[0] == found[5] && found[1] == found[4]);
    assert!(found[0] != found[1] && found[1] != found[3]);
}

#[test]
fn a_position_that_stands_in_a_batch_twice_has_its_error_twice() {
    const NETWORK: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../fixtures/nets/synthetic/synthetic-f-bt4-pedense-multihead-mish-in5.pb.gz"
    );
    let settings = EvaluatorSettings { weights: Weights::File(NETWORK.into()), ..settings(BackendKind::Host) };
    let mut evaluator = Evaluator::new(&settings).unwrap().0;
    evaluator.set_cache(SMALL_CACHE).unwrap();
    let [a, b]: [_; 2] = game(2).try_into().unwrap();
    let mut batch = evaluator.batch();
    [&a, &b, &a].into_iter().for_each(|position| push(&mut batch, position));
    evaluator.run(&mut batch).unwrap();
    let errors = [0, 1, 2].map(|at| batch.value_error(at).unwrap());
    assert!(errors[0] == errors[2] && errors[0] != errors[1] && errors[0] > 0.0, "{errors:?}");
}

/// A search of some moves asks for the logits of those alone.
#[test]
fn parts_of_a_positions_moves_are_different_positions_to_the_cache() {
    // Hints are off, because they look at all moves of a position.
    let settings = EvaluatorSettings { hints: HintsFrom::Nowhere, ..settings(BackendKind::Host) };
    let mut evaluator = Evaluator::new(&settings).unwrap().0;
    evaluator.set_cache(SMALL_CACHE).unwrap();
    let (history, moves) = game(1).pop().unwrap();
    let all = evaluate_with_cache(&mut evaluator.batch(), &evaluator, &[(history.clone(), moves.clone())]).0;
    let parts = [(1, 0..8), (2, 8..16)];
    let with = |salt| Circumstances { salt, ..Circumstances::default() };
    let mut batch = evaluator.batch();
    for (salt, places) in parts.clone() {
        assert_eq!(batch.push_with(&history, &moves[places], with(salt)), Pushed::Waits);
    }
    evaluator.run(&mut batch).unwrap();
    for (at, (_, places)) in parts.clone().into_iter().enumerate() {
        assert_eq!(batch.logits(at), &all[0].1[places]);
    }
    batch.clear();
    for (salt, places) in parts {
        let mut known = all[0].1[places.clone()].to_vec();
        assert_eq!(batch.push_with(&history, &moves[places], with(salt)), Pushed::Known(all[0].0, &mut known));
    }
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

/// Asks the evaluator for one leaf at a time, below the last position of a game.
struct OneByOne<'a> {
    history: History,
    evaluator: &'a Evaluator,
    batch: Batch,
}

impl OneByOne<'_> {
    fn go_to(&mut self, line: Moves<'_>) -> (usize, MoveList) {
        let root = self.history.len();
        line.for_each(|mv| self.history.push(unpack(mv.0)));
        let mut moves = MoveList::new();
        self.history.legal_moves(&mut moves);
        (root, moves)
    }
}

impl evaluate::Evaluator for OneByOne<'_> {
    type Error = String;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<oncilla_core::Move>) {
        let (root, legal) = self.go_to(line);
        moves.extend(legal.iter().map(|&mv| oncilla_core::Move(pack(mv))));
        self.history.truncate(root);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, String> {
        let plies = line.len();
        let (root, moves) = self.go_to(line);
        let key = self.history.key();
        self.batch.clear();
        let ended = self.history.terminal_given_moves(!moves.is_empty(), plies, TwoFold::Draw);
        let verdict = if ended.is_some() {
            if self.history.board().checkers().is_empty() { Verdict::drawn() } else { Verdict::lost() }
        } else {
            let known = match self.batch.push(&self.history, &moves) {
                Pushed::Known(value, logits) => {
                    policy.extend(logits.iter().copied());
                    Some(value)
                }
                Pushed::Waits => None,
            };
            Verdict::Position(known.map_or_else(
                || {
                    self.evaluator.run(&mut self.batch)?;
                    policy.extend(self.batch.logits(0).iter().copied());
                    Ok::<Value, String>(self.batch.value(0))
                },
                Ok,
            )?)
        };
        self.history.truncate(root);
        Ok(Answer { key, verdict })
    }
}

/// Visits and bits of the mean value of a node; for each of its edges the move, visits and bits of the prior.
type NodeFacts = (u32, u32, Vec<(Option<u16>, u32, u32)>);

/// The facts of every node, in the order of a walk through the tree.
fn tree_below(evaluator: &Evaluator, game: &[&str], playouts: u64) -> Vec<NodeFacts> {
    let mut history = History::startpos();
    game.iter().for_each(|mv| history.push(mv.parse().unwrap()));
    let mut memory = TreeMemory::<1000, 40_000>::new();
    let mut search = Search::new(memory.lend(), Params::default());
    let mut host = OneByOne { history, evaluator, batch: evaluator.batch() };
    search.run(&mut host, MostMoves::<256>, MostPlies::<64>, playouts).unwrap();
    let mut nodes = Vec::new();
    let mut waiting = vec![search.root().unwrap()];
    while let Some(node) = waiting.pop() {
        let edges = node.edges().map(|edge| (edge.mv().map(|mv| mv.0), edge.n(), edge.p().to_bits())).collect();
        nodes.push((node.n(), node.value().wl.to_bits(), edges));
        waiting.extend(node.visited().filter_map(|edge| edge.child()));
    }
    nodes
}

#[test]
fn a_search_grows_the_same_tree_with_a_cache_and_without() {
    let plain = evaluator(BackendKind::Random);
    // The larger cache keeps all earlier searches, the smaller one hardly more than one.
    for entries in [10_000, 600] {
        let cached = with_cache(BackendKind::Random, CacheSize { entries, mb: 1 });
        for game in [&["e2e4"][..], &["e2e4", "e7e5"], &["e2e4", "e7e5"], &["e2e4"]] {
            assert_eq!(tree_below(&cached, game, 500), tree_below(&plain, game, 500), "{entries} entries, {game:?}");
        }
        let counts = cached.cache_counts();
        assert!(counts.hits > 100 && (counts.evictions > 0) == (entries == 600), "{counts:?}");
    }
}
