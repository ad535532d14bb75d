//! Positions that are reached on several paths.

use super::events::leaf;
use super::*;
use crate::evaluate::{Ending, Moves, Verdict};
use crate::repository::{Bound, Bounds};
use heapless::VecView;
use quickcheck::QuickCheck;
use std::collections::HashSet;

fn commuting(seed: u64) -> RandomGame {
    RandomGame { commuting: true, length: 4 + (seed % 9) as usize, ..RandomGame::of(seed) }
}

/// How many edges lead to nodes, beyond one for each node below the root.
fn shared<R: Repository>(search: &Search<R>) -> usize {
    let mut seen = HashSet::from([search.root.unwrap()]);
    let mut todo = std::vec![search.root.unwrap()];
    let mut shared = 0;
    while let Some(key) = todo.pop() {
        let node = search.repository.lock(key);
        for child in (0..node.visited_count()).filter_map(|at| node.child(at)) {
            if seen.insert(child) {
                todo.push(child);
            } else {
                shared += 1;
            }
        }
    }
    shared
}

#[test]
fn a_position_has_one_node() {
    fn holds(seed: u64, size: u8) -> bool {
        let mut game = commuting(seed);
        let size = 1 + usize::from(size) % 20;
        let mut shapes = List::new();
        on_both_graphs!(2000, 100_000, Params::default(), |search| {
            let mut batch = Batch::new(size);
            for _ in 0..20 {
                batch.gather(search);
                audit(search, &Audit { flying: batch.flying(), ..Audit::drained(game) });
                batch.answer(search, &mut game);
                audit(search, &Audit::drained(game));
            }
            shapes.push((search.visits(), shared(search), search.root_node().value()));
        });
        shapes[0] == shapes[1]
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64, u8) -> bool);
}

#[test]
fn a_position_with_another_number_of_moves_is_another_one() {
    let mut game = commuting(3);
    on_both_graphs!(2000, 100_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 20);
        let edge = search.root_node().visited().find(|edge| edge.child().is_some_and(|child| child.is_expanded()));
        let at = game.position(edge.unwrap().mv().into_iter());
        let has =
            [-1, 0, 1].map(|more| search.repository().has(at.key, game.legal(at).count().wrapping_add_signed(more)));
        assert_eq!(has, [false, true, false]);
    });
}

/// All positions of the game have the same key.
#[test]
fn two_positions_with_one_key_have_two_nodes_if_their_moves_differ_in_number() {
    let mut game = WrittenGame(|line| match line {
        [1] => (ours(line, 0.0), &[0.4, 0.3, 0.3]),
        _ => (ours(line, 0.0), &[0.5, 0.5]),
    });
    on_both_graphs!(100, 5000, as_written(), |search| {
        (0..2).for_each(|mv| search.visit(&mut game, mv, 1));
        let [first, second] = [0, 1].map(|mv| search.edge_of(mv).child().unwrap());
        assert_ne!(first.key(), second.key());
        assert_eq!([first.edge_count(), second.edge_count()], [2, 3]);
    });
}

#[test]
fn positions_without_a_key_have_a_node_each() {
    let position = |key| Answer { key, verdict: Verdict::Position(Value::EVEN) };
    for (key, nodes) in [(Answer::NO_KEY, 3), (2, 2)] {
        on_both_graphs!(100, 1000, Params::default(), |search| {
            search.answer(&mut leaf(search), &position(1), &mut [0.0, 0.0]).unwrap();
            for mv in [0, 1] {
                let mut event = leaf(search);
                event.name(Move(mv));
                search.answer(&mut event, &position(key), &mut [0.0]).unwrap();
            }
            assert_eq!((search.visits(), search.live_nodes()), (3, nodes));
        });
    }
}

#[test]
fn sharing_saves_evaluations() {
    let mut game = RandomGame { width: 5, length: 12, endings: 5, ..commuting(7) };
    let mut evaluations = List::new();
    let mut count = |counts: &Counts| {
        evaluations.push(counts.evaluations);
        let Counts { playouts, evaluations, terminals, transpositions, .. } = *counts;
        assert_eq!(playouts, evaluations + terminals + transpositions);
        transpositions
    };
    on_tree!(5000, 200_000, Params::default(), |search| {
        search.run_game(&mut game, 1500);
        assert_eq!(shared(search), 0);
        assert_eq!(count(&search.run_counts()), 0);
    });
    on_both_graphs!(5000, 200_000, Params::default(), |search| {
        search.run_game(&mut game, 1500);
        assert!(shared(search) > 50, "{}", shared(search));
        assert_eq!(u64::from(search.visits()), search.run_counts().playouts);
        assert_ne!(count(&search.run_counts()), 0);
    });
    assert_eq!(evaluations[1], evaluations[2]);
    assert!(evaluations[0] > evaluations[1], "{evaluations:?}");
}

#[test]
fn what_is_proven_on_one_path_is_true_on_all() {
    let mut proven = 0;
    for seed in 0..60 {
        let mut game = RandomGame { seed, width: 3, length: 5, endings: 30, commuting: true, first: None };
        on_both_graphs!(5000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1 + (seed % 5) as usize, 600);
            audit(search, &Audit::drained(game));
            proven += proofs::check_bounds(search, &game);
        });
    }
    assert!(proven > 300, "{proven} nodes proven by their children");
}

/// Another path may have proven the child, which no visit of the edge knows.
#[test]
fn a_certain_result_has_the_childs_value_on_all_paths() {
    let mut unknown = 0;
    for seed in 0..60 {
        let mut game = RandomGame { seed, width: 3, length: 5, endings: 30, commuting: true, first: None };
        on_both_graphs!(5000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1 + (seed % 5) as usize, 600);
            for edge in search.repository().nodes().flat_map(|node| node.visited()) {
                let certain = edge.child().filter(|child| child.bounds().closed()).map(|child| child.value());
                if let Some((certain, value)) = certain.zip(edge.known_value()) {
                    assert_eq!((value.wl, value.d, value.m), (-certain.wl, certain.d, certain.m));
                    unknown += usize::from(edge.value().is_some_and(|own| own != value));
                }
            }
        });
    }
    assert!(unknown > 0, "no path was behind another");
}

#[test]
fn a_full_graph_goes_on_and_loses_nothing() {
    for seed in 0..6 {
        let mut game = RandomGame { length: 40, ..commuting(seed * 977 + 5) };
        on_both_graphs!(300, 9000, Params::default(), |search| {
            let playouts = run_in_batches(search, &mut game, 1 + (seed % 7) as usize, 3000);
            assert_eq!(u64::from(search.visits() + search.restored()), playouts);
            audit(search, &Audit { short_of_room: true, ..Audit::drained(game) });
        });
    }
}

/// A folded node that grows again is worth something else than its edge keeps, but the edge has nothing to catch up
/// with: playouts go on below it until it has made up for its visits.
#[test]
fn a_graph_without_transpositions_restores_what_was_folded_as_a_tree_does() {
    for (seed, catch_up) in (0..6).flat_map(|seed| [CatchUp::Values, CatchUp::Visits].map(|rule| (seed, rule))) {
        let mut game = RandomGame { seed, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
        let mut grown = List::new();
        let params = Params { catch_up, ..Params::default() };
        on_both!(300, 9000, params, |search| {
            run_in_batches(search, &mut game, 1, 2000);
            grown.push((shape(search), search.visits(), search.restored()));
        });
        on_both_graphs!(300, 9000, params, |search| {
            run_in_batches(search, &mut game, 1, 2000);
            grown.push((shape(search), search.visits(), search.restored()));
        });
        assert!(grown[0].2 > 100, "{} restored", grown[0].2);
        assert!(grown[0] == grown[2] && grown[1] == grown[3], "seed {seed}, {catch_up:?}");
    }
}

#[test]
fn links_are_counted_right_whatever_is_folded_and_played() {
    fn play<R: Repository>(search: &mut Search<R>, mut game: RandomGame, size: usize) {
        run_in_batches(search, &mut game, size, 300);
        let mut batch = Batch::new(size);
        batch.gather(search);
        while search.recycle() > 0 {
            audit(search, &Audit { flying: batch.flying(), ..Audit::drained(game) });
        }
        batch.answer(search, &mut game);
        run_in_batches(search, &mut game, size, 200);
        let Some(mv) = search.best_move() else { return };
        search.advance(&[mv]);
        let mut game = game.after(mv);
        audit(search, &Audit::drained(game));
        run_in_batches(search, &mut game, size, 200);
        audit(search, &Audit::drained(game));
        search.advance(&[Move(999)]);
        assert_eq!(search.repository.live_nodes(), 1);
    }
    fn holds(seed: u64, size: u8) -> bool {
        on_both_graphs!(3000, 150_000, Params::default(), |search| {
            play(search, commuting(seed), 1 + usize::from(size) % 12)
        });
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64, u8) -> bool);
}

#[test]
fn joined_events_keep_what_holds_of_every_node() {
    fn holds(seed: u64, size: u8) -> bool {
        let mut game = commuting(seed);
        on_both_graphs!(3000, 150_000, Params::default(), |search| {
            let mut batch = Batch::new(1 + usize::from(size) % 40);
            for _ in 0..10 {
                batch.gather(search);
                for event in batch.events.iter_mut().filter(|event| event.stage == event::Stage::Leaf) {
                    let (answer, mut policy) = ask(&mut game, event);
                    search.settle(event, &answer, &mut policy).unwrap();
                }
                search.bring_back(&mut batch.events);
                batch.events.iter_mut().for_each(|event| search.cancel(event));
                audit(search, &Audit::drained(game));
            }
        });
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64, u8) -> bool);
}

/// A host that asks whether the graph knows a leaf gets the same tree as one that answers every leaf.
#[test]
fn a_transposition_is_settled_without_an_answer() {
    /// Makes one playout. Returns whether its leaf was settled without an answer.
    fn settles<R: Repository>(search: &mut Search<R>, game: &mut RandomGame, asks: bool) -> bool {
        let mut event = TestEvent::new();
        match search.gather(&mut event) {
            Gathered::Leaf => {}
            met => {
                assert!(search.backprop(&mut event).is_ok() || met == Gathered::NoMoves);
                return false;
            }
        }
        let (answer, mut policy) = ask(game, &mut event);
        let goes_on = matches!(answer.verdict, Verdict::Position(_));
        if asks && goes_on && search.settle_transposition(&mut event, answer.key, policy.len()).unwrap() {
            assert!(event.is_transposition() && event.is_ready());
            search.bring_back(&mut [event]);
            return true;
        }
        search.answer(&mut event, &answer, &mut policy).unwrap();
        false
    }
    let mut settled = 0;
    for seed in 0..20 {
        let mut game = commuting(seed);
        let mut shapes = List::new();
        on_both_graphs!(5000, 200_000, Params::default(), |search| {
            for asks in [false, true] {
                search.clear();
                settled += (0..300).filter(|_| settles(search, &mut game, asks)).count();
                audit(search, &Audit::drained(game));
                shapes.push((shape(search), search.visits()));
            }
        });
        assert!(shapes.iter().all(|shape| *shape == shapes[0]), "{seed}");
    }
    assert!(settled > 100, "{settled}");
}

/// The node that was seen is folded before it is asked for: the event then waits for its answer, which makes the
/// position's node.
#[test]
fn a_transposition_whose_node_has_gone_waits_for_its_answer() {
    on_both_graphs!(5000, 200_000, Params::default(), |search| {
        let mut game = RandomGame { width: 9, length: 40, endings: 0, ..commuting(8) };
        let mut gone = None;
        while gone.is_none() {
            let mut event = leaf(search);
            let (answer, mut policy) = ask(&mut game, &mut event);
            if search.repository().has(answer.key, policy.len()) {
                gone = Some((event, answer, policy));
            } else {
                search.answer(&mut event, &answer, &mut policy).unwrap();
            }
        }
        let (mut event, answer, mut policy) = gone.unwrap();
        while search.repository().has(answer.key, policy.len()) {
            assert!(search.recycle() > 0, "nothing to fold");
        }
        let nodes = search.live_nodes();
        assert_eq!(search.settle_transposition(&mut event, answer.key, policy.len()), Ok(false));
        assert!(!event.is_ready() && search.is_in_flight(&event));
        assert_eq!(search.live_nodes(), nodes);
        search.answer(&mut event, &answer, &mut policy).unwrap();
        assert!(search.repository().has(answer.key, policy.len()));
        audit(search, &Audit { short_of_room: true, ..Audit::drained(game) });
    });
}

#[test]
fn what_no_leaf_can_be_joined_to_settles_nothing() {
    let position = |key| Answer { key, verdict: Verdict::Position(Value::EVEN) };
    on_both_graphs!(100, 1000, Params::default(), |search| {
        let mut event = leaf(search);
        assert_eq!(search.settle_transposition(&mut event, 1, 1), Ok(false), "the root");
        search.answer(&mut event, &position(1), &mut [0.0]).unwrap();
        assert_eq!(search.settle_transposition(&mut event, 1, 1), Err(Refused::Stale));
        let mut event = leaf(search);
        assert_eq!(search.settle_transposition(&mut event, 1, 1), Err(Refused::Unnamed));
        assert!(!search.is_in_flight(&event));
        let mut event = leaf(search);
        event.name(Move(0));
        search.answer(&mut event, &position(2), &mut [0.0]).unwrap();
        let mut event = leaf(search);
        event.name(Move(0));
        assert_eq!(search.settle_transposition(&mut event, 2, 2), Ok(false), "of another number of moves");
        assert_eq!(search.settle_transposition(&mut event, 2, 1), Ok(false), "on the leaf's own path");
        search.answer(&mut event, &position(2), &mut [0.0]).unwrap();
        assert_eq!((search.visits(), shared(search)), (3, 0));
    });
    on_both!(100, 1000, Params::default(), |search| {
        search.answer(&mut leaf(search), &position(1), &mut [0.0, 0.0]).unwrap();
        let mut event = leaf(search);
        event.name(Move(0));
        search.answer(&mut event, &position(2), &mut [0.0]).unwrap();
        let mut event = leaf(search);
        event.name(Move(1));
        assert_eq!(search.settle_transposition(&mut event, 2, 1), Ok(false), "a tree");
        search.cancel(&mut event);
    });
}

/// A leaf that was asked for while nobody knew its position does not become the position's node by that: whichever is
/// answered first does, and the other is joined to it.
#[test]
fn leaves_that_were_asked_for_too_early_are_joined_once_one_is_answered() {
    let position = |key| Answer { key, verdict: Verdict::Position(Value::EVEN) };
    on_both_graphs!(100, 1000, Params::default(), |search| {
        search.answer(&mut leaf(search), &position(1), &mut [0.0, 0.0]).unwrap();
        let mut events = [0, 1].map(|mv| {
            let mut event = leaf(search);
            event.name(Move(mv));
            event
        });
        for event in &mut events {
            assert_eq!(search.settle_transposition(event, 2, 1), Ok(false));
        }
        for event in &mut events {
            search.settle(event, &position(2), &mut [0.0]).unwrap();
        }
        assert_eq!(events.each_ref().map(|event| event.is_transposition()), [false, true]);
        search.bring_back(&mut events);
        assert_eq!((search.visits(), search.live_nodes(), shared(search)), (3, 2, 1));
    });
}

/// Two ways lead to one position, after which an earlier position comes again.
struct TwoWays;

const BEHIND: Move = Move(4);

impl Evaluator for TwoWays {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        match line.len() {
            0 => moves.extend([Move(1), Move(2)]),
            1 => moves.extend([Move(3)]),
            _ => moves.extend([BEHIND]),
        }
    }

    fn evaluate(&mut self, mut line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let plies = line.len();
        let verdict = match plies {
            3.. => Verdict::Terminal(Value { m: 3.0, ..Value::DRAW }, Ending::TwoFold),
            _ => Verdict::Position(Value { wl: 0.25, d: 0.0, m: 0.0 }),
        };
        policy.extend(core::iter::repeat_n(0.0, if plies == 0 { 2 } else { 1 }));
        let key = if plies == 1 { line.next_back().unwrap().0.into() } else { 100 + plies as u64 };
        Ok(Answer { key, verdict })
    }
}

/// The same game seen from one ply on: the position that comes again lies before the root, so it is no draw.
struct OnePlyOn;

impl Evaluator for OnePlyOn {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend([if line.len() == 0 { Move(3) } else { BEHIND }]);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        policy.extend([0.0]);
        let verdict = Verdict::Position(Value { wl: 0.25, d: 0.0, m: 0.0 });
        Ok(Answer { key: 101 + line.len() as u64, verdict })
    }
}

#[test]
fn a_two_fold_draw_opens_below_a_position_that_others_have_visited_too() {
    on_both_graphs!(100, 5000, Params::default(), |search| {
        search.run(&mut TwoWays, MostMoves::<4>, MostPlies::<32>, 60).unwrap();
        assert_eq!(shared(search), 1);
        let of_root: List<u32> = search.root_node().visited().map(|edge| edge.n()).collect();
        search.advance(&[Move(1)]);
        search.start_move();
        let (_, behind) = (shape(search), search.root_node().visited().next().unwrap());
        let drawn = behind.child().unwrap().visited().next().unwrap().n();
        assert!(drawn > of_root[0], "visits of both ways: {drawn}, of one: {}", of_root[0]);
        search.run(&mut OnePlyOn, MostMoves::<4>, MostPlies::<32>, 5).unwrap();
        // The position below has lost its draws, and the nodes from which it was visited have lost the visits that were
        // worth them.
        let root = search.root_node();
        let edge = root.visited().next().unwrap();
        let child = edge.child().unwrap();
        assert_eq!((root.n(), root.n()), (of_root[0] + 5 - search.taken_back(), 1 + edge.n()));
        assert_eq!(child.n(), 1 + child.visited().map(|edge| edge.n()).sum::<u32>());
        assert!(search.taken_back() > 0 && edge.n() <= child.n(), "{} of {}", edge.n(), child.n());
        assert!(child.value().d < 0.01 && root.value().d < 0.01, "{:?} {:?}", child.value(), root.value());
    });
}

/// The side to move may pass, which leads to the same position with the same key, or go on.
struct Passing;

impl Passing {
    fn steps(line: Moves<'_>) -> u64 {
        line.map(|mv| u64::from(mv.0)).sum()
    }
}

impl Evaluator for Passing {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, _: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend([Move(0), Move(1)]);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        policy.extend([0.0; 2]);
        let steps = Self::steps(line);
        let wl = (steps % 5) as f32 / 10.0 - 0.2;
        Ok(Answer { key: steps, verdict: Verdict::Position(Value { wl, d: 0.1, m: 0.0 }) })
    }
}

/// True if an edge leads from a node back to it or to one before it on the way there.
fn has_cycle<R: Repository>(search: &Search<R>) -> bool {
    let mut todo = std::vec![std::vec![search.root.unwrap()]];
    while let Some(path) = todo.pop() {
        let node = search.repository.lock(*path.last().unwrap());
        for child in (0..node.visited_count()).filter_map(|at| node.child(at)) {
            if path.contains(&child) {
                return true;
            }
            todo.push(path.iter().copied().chain([child]).collect());
        }
    }
    false
}

#[test]
fn a_key_that_comes_again_on_its_own_path_closes_no_cycle() {
    on_both_graphs!(200, 5000, Params::default(), |search| {
        assert_eq!(search.run(&mut Passing, MostMoves::<2>, MostPlies::<8>, 100), Ok(100));
        assert_eq!(search.visits(), 100);
        assert!(!has_cycle(search));
        assert!(shared(search) > 0, "other paths are joined");
        // Every node is held by links that were counted, so all are freed.
        search.advance(&[Move(999)]);
        assert_eq!(search.repository.live_nodes(), 1);
    });
}

/// Two moves of the root lead to one position, a third one to another.
struct OneOfTwo;

impl Evaluator for OneOfTwo {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend((0..if line.len() == 0 { 3 } else { 1 }).map(Move));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        policy.extend(core::iter::repeat_n(0.0, if line.len() == 0 { 3 } else { 1 }));
        let key = line.fold(1, |key: u64, mv| key.wrapping_mul(3).wrapping_add(mv.0.max(1).into()));
        Ok(Answer { key, verdict: Verdict::Position(Value { wl: (key % 7) as f32 / 10.0, d: 0.0, m: 0.0 }) })
    }
}

/// A leaf below an edge that has kept visits of a folded child is joined to a node. If the node has fewer visits, the
/// edge keeps what it has, and the visit restores; if it has as many, the visit is a new one.
#[test]
fn an_edge_that_is_joined_to_less_than_it_has_kept_keeps_it() {
    for (visits, restored) in [(1, 1), (9, 1), (10, 0), (11, 0)] {
        on_both_graphs!(200, 5000, Params::default(), |search| {
            search.visit(&mut OneOfTwo, 0, 10);
            search.visit(&mut OneOfTwo, 2, 50);
            while search.recycle() > 0 {}
            let edge = |search: &Search<_>| (search.edge_of(0).n(), search.edge_of(0).value());
            let before = edge(search);
            assert_eq!((before.0, search.edge_of(0).child().map(|child| child.key())), (10, None), "folded");
            search.visit(&mut OneOfTwo, 1, visits);
            let nodes = search.visits();
            search.visit(&mut OneOfTwo, 0, 1);
            let child = |mv| search.edge_of(mv).child().map(|child| child.key());
            assert_eq!(child(0), child(1));
            assert_eq!((search.restored(), search.visits()), (restored, nodes + 1 - restored), "{visits}");
            assert_eq!(edge(search) == before, restored == 1, "{visits}");
        });
    }
}

/// Two moves of the root, each with one reply, lead to one position, after which the game ends by the next move.
struct Meeting;

impl Evaluator for Meeting {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend((0..if line.len() == 0 { 2 } else { 1 }).map(Move));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let plies = line.len();
        let verdict = if plies == 3 { Verdict::drawn() } else { Verdict::Position(Value::EVEN) };
        policy.extend(core::iter::repeat_n(0.0, if plies == 0 { 2 } else { 1 }));
        let key = if plies == 1 { line.fold(10, |key, mv| key + u64::from(mv.0)) } else { 1 + plies as u64 };
        Ok(Answer { key, verdict })
    }
}

/// Whether the first visit on another way came there before the position was proven or comes after that.
#[test]
fn what_was_proven_on_one_way_is_learned_on_another_by_its_next_visit() {
    for visits_before in [1, 2] {
        on_both_graphs!(100, 5000, as_written(), |search| {
            search.visit(&mut Meeting, 1, visits_before);
            search.visit(&mut Meeting, 0, 3);
            let is_proven = |search: &Search<_>| [0, 1].map(|mv| search.edge_of(mv).bounds().closed());
            assert_eq!((is_proven(search), shared(search)), ([true, false], visits_before as usize - 1));
            search.visit(&mut Meeting, 1, 1);
            assert_eq!((is_proven(search), shared(search)), ([true, true], 1));
        });
    }
}

/// With visits as the rule, an edge catches up exactly if its child has more visits, and a playout goes on exactly if
/// it has not.
#[test]
fn edges_catch_up_by_visits() {
    fn check<R: Repository>(search: &mut Search<R>, mut game: RandomGame) -> usize {
        let (mut batch, mut caught_up) = (Batch::new(1), 0);
        for _ in 0..300 {
            batch.gather(search);
            for (event, met) in batch.events.iter().zip(&batch.met) {
                let below = event.path.iter().skip(1).map(|step| step.node).chain(event.leaf);
                for (plies, (step, below)) in event.path.iter().zip(below).enumerate() {
                    let visits = search.repository.lock(step.node).visit(step.at.into()).completed();
                    let child = search.repository.lock(below);
                    let ends_here = plies + 1 == event.path.len() && *met == Gathered::Known;
                    if child.ending().is_none() && visits > 0 {
                        assert_eq!(ends_here, visits < child.n());
                        caught_up += usize::from(ends_here);
                    }
                }
            }
            batch.answer(search, &mut game);
        }
        audit(search, &Audit::drained(game));
        caught_up
    }
    let mut caught_up = 0;
    for seed in 0..30 {
        let params = Params { catch_up: CatchUp::Visits, ..Params::default() };
        on_both_graphs!(2000, 100_000, params, |search| caught_up += check(search, commuting(seed)));
    }
    assert!(caught_up > 100, "{caught_up}");
}

/// A first visit is joined to another node while its edge is being looked at. The place of its leaf goes to the next
/// leaf, of which the edge must say nothing.
#[test]
fn an_edge_does_not_speak_of_a_leaf_that_took_its_own_ones_place() {
    const ROOT: u64 = 1;
    const JOINED: u64 = 7;
    on_both_graphs!(100, 1000, Params::default(), |search| {
        let leaf = |search: &Search<_>, mv: u16| {
            let mut event = TestEvent::new();
            assert_eq!(search.gather(&mut event), Gathered::Leaf);
            if event.unnamed().is_some() {
                event.name(Move(mv));
            }
            event
        };
        let of_position = |key| Answer { key, verdict: Verdict::Position(Value::EVEN) };
        search.answer(&mut leaf(search, 0), &of_position(ROOT), &mut [0.2, 0.1, 0.0]).unwrap();
        search.answer(&mut leaf(search, 10), &of_position(JOINED), &mut [0.0, 0.0]).unwrap();
        let mut joins = leaf(search, 11);
        let edge = search.root_node().edges().find(|edge| edge.n() == 1 && edge.completed() == 0).unwrap();
        search.answer(&mut joins, &of_position(JOINED), &mut [0.0, 0.0]).unwrap();
        let lost = Answer { key: 0, verdict: Verdict::lost() };
        search.answer(&mut leaf(search, 12), &lost, &mut []).unwrap();
        assert_eq!((edge.bounds(), edge.ending(), edge.child().map(|child| child.key())), (Bounds::OPEN, None, None));
    });
}

/// A [`WrittenGame`] whose positions have keys.
struct KeyedGame<F: Fn(&[u16]) -> (u64, Written)>(F);

impl<F: Fn(&[u16]) -> (u64, Written)> Evaluator for KeyedGame<F> {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        WrittenGame(|line: &[u16]| (self.0)(line).1).legal_moves(line, moves);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let Ok(answer) = WrittenGame(|line: &[u16]| (self.0)(line).1).evaluate(line.clone(), policy);
        Ok(Answer { key: self.0(&line.map(|mv| mv.0).collect::<List<_>>()).0, ..answer })
    }
}

/// A leaf is joined to a drawn position. The side to move before it has another move, so that it has at least a draw,
/// and the opponent, who has no other move before that, at most one.
#[test]
fn bounds_that_are_learned_by_joining_go_on_to_the_nodes_above() {
    let mut game = KeyedGame(|line| match line {
        [] => (1, (ours(line, 0.0), &[0.5, 0.5])),
        [0] => (2, (ours(line, 0.0), &[1.0])),
        [1] => (3, (ours(line, 0.0), &[1.0])),
        [1, 0] => (4, (ours(line, 0.0), &[0.9, 0.1])),
        [0, 0] | [1, 0, 0] => (5, (ours(line, 0.0), &[1.0])),
        _ => (6, (Verdict::drawn(), &[])),
    });
    on_both_graphs!(100, 5000, as_written(), |search| {
        search.visit(&mut game, 0, 3);
        search.visit(&mut game, 1, 3);
        assert_eq!(shared(search), 1);
        let node = search.edge_of(1).child().unwrap();
        assert_eq!(node.bounds(), Bounds { lower: Bound::Loss, upper: Bound::Draw });
    });
}

/// A playout is on its way to a long reply while another one proves by a short reply, on another way, that the position
/// is won. What comes back then is no proof of the position, and its length is not the position's.
#[test]
fn what_comes_back_through_a_proven_position_tells_its_length_to_other_ways() {
    let mut game = KeyedGame(|line| match line {
        [] => (1, (ours(line, 0.0), &[0.5, 0.5])),
        [mv] => (2 + u64::from(*mv), (ours(line, 0.0), &[1.0])),
        _ => (4, (ours(line, 0.0), &[0.6, 0.4])),
    });
    let ended = |verdict| Answer { key: 0, verdict };
    on_both_graphs!(100, 5000, as_written(), |search| {
        search.visit(&mut game, 0, 2);
        search.visit(&mut game, 1, 2);
        assert_eq!(shared(search), 1);
        let [mut short, mut long] = [0, 1].map(|mv| {
            search.set_root_moves([(mv.into(), Move(mv))]);
            let mut event = TestEvent::new();
            assert_eq!((search.gather(&mut event), event.unnamed()), (Gathered::Leaf, Some(mv.into())));
            event.name(Move(mv));
            event
        });
        search.answer(&mut short, &ended(Verdict::lost()), &mut []).unwrap();
        let drawn = Verdict::Terminal(Value { m: 9.0, ..Value::DRAW }, Ending::Game);
        search.answer(&mut long, &ended(drawn), &mut []).unwrap();
        let values = [0, 1].map(|mv| search.edge_of(mv).child().unwrap().value());
        assert_eq!(values, [Value { m: 2.0, ..Value::LOSS }; 2]);
    });
}
