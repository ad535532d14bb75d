//! Tells a search anew what was said of its positions.

use super::*;
use crate::evaluate::{Answer, Moves, Verdict};
use crate::formula::contempt::Rescale;
use crate::repository::{Bound, EdgeValue};
use heapless::VecView;
use quickcheck::QuickCheck;
use std::collections::HashSet;

/// The root's edges with their moves, visits and values, in the order of the moves.
fn edges<R: Repository>(search: &Search<R>) -> List<(Move, u32, Option<Value>)> {
    let known = |edge: EdgeView<'_, R>| Some((edge.mv()?, edge.completed(), edge.value()));
    let mut edges: List<_> = search.root_node().visited().filter_map(known).collect();
    edges.sort_by_key(|edge| edge.0.0);
    edges
}

/// What a game says of its root: value, moves, logits.
fn said_of_root(game: &RandomGame) -> (Value, List<Move>, List<f32>) {
    let root = game.position(core::iter::empty());
    (game.verdict(root).value(), game.legal(root).collect(), game.logits(root).collect())
}

/// A game that does not end at the root.
fn game_of(seed: u64) -> RandomGame {
    RandomGame { commuting: seed % 2 == 1, ..RandomGame::of(seed) }
}

#[test]
fn a_root_that_is_told_the_same_again_is_the_same() {
    fn check<R: Repository>(search: &mut Search<R>, mut game: RandomGame, batch: usize) {
        run_in_batches(search, &mut game, batch, 300);
        let (before, live, value) = (edges(search), search.live_nodes(), search.root_node().value());
        let (own, moves, mut logits) = said_of_root(&game);
        assert_eq!(search.renew_root(own, &moves, &mut logits), Ok(search.visits()));
        assert_eq!((edges(search), search.live_nodes(), search.root_node().value()), (before, live, value));
        audit(search, &Audit::drained(game));
        search.run_game(&mut game, 200);
        audit(search, &Audit::drained(game));
    }
    fn holds(seed: u64, batch: u8) -> bool {
        let (game, batch) = (game_of(seed), 1 + usize::from(batch) % 5);
        on_both!(5000, 200_000, Params::default(), |search| check(search, game, batch));
        on_both_graphs!(5000, 200_000, Params::default(), |search| check(search, game, batch));
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64, u8) -> bool);
}

/// Indices count in the new list from then on, so what was said with others is lifted.
#[test]
fn a_renewed_root_has_no_restrictions() {
    let mut game = (0..).map(game_of).find(|game| said_of_root(game).1.len() > 3).unwrap();
    on_both!(5000, 200_000, Params::default(), |search| {
        search.run_game(&mut game, 50);
        let (own, moves, _) = said_of_root(&game);
        let last = moves.len() - 1;
        search.set_root_moves([(0, moves[0])]);
        search.set_remaining_playouts(Some(1));
        assert!(search.renew_root(own, &moves[last..], &mut [0.0]).is_ok());
        let mut event = Event::<64>::new();
        assert_ne!(search.gather(&mut event), Gathered::NoMoves);
        search.cancel(&mut event);
    });
}

/// What is done with every other value is done with this one, too.
#[test]
fn a_root_that_is_told_the_same_again_is_rescaled_as_before() {
    let wdl_rescale = Rescale { ratio: 0.6, diff: 0.4, ..Rescale::default() };
    for seed in 0..20 {
        let mut game = game_of(seed);
        on_both!(5000, 200_000, Params { wdl_rescale, ..Params::default() }, |search| {
            run_in_batches(search, &mut game, 1, 100);
            let before = search.root_node().value();
            let (own, moves, mut logits) = said_of_root(&game);
            assert_eq!(search.renew_root(own, &moves, &mut logits), Ok(search.visits()));
            assert_eq!(search.root_node().value(), before);
        });
    }
}

/// Moves that are not in the new list take their visits with them; others keep them, with another prior.
#[test]
fn a_root_may_get_other_moves_and_priors() {
    fn check<R: Repository>(search: &mut Search<R>, mut game: RandomGame) {
        run_in_batches(search, &mut game, 1, 200);
        let (_, mut moves, _) = said_of_root(&game);
        moves.retain(|mv| mv.0 % 2 == 1);
        let before = edges(search);
        let own = Value { wl: 0.25, d: 0.5, m: 3.0 };
        if moves.is_empty() {
            assert_eq!(search.renew_root(own, &moves, &mut []), Err(Refused::NoEdges));
            assert_eq!(edges(search), before);
            return;
        }
        let one_more = &mut std::vec![0.0; moves.len() + 1];
        assert_eq!(search.renew_root(own, &moves, one_more), Err(Refused::ListsDiffer));
        let kept: List<_> = before.into_iter().filter(|(mv, ..)| moves.contains(mv)).collect();
        let n = 1 + kept.iter().map(|edge| edge.1).sum::<u32>();
        assert_eq!(search.renew_root(own, &moves, &mut std::vec![0.0; moves.len()]), Ok(n));
        assert_eq!(edges(search), kept);
        let root = search.root_node();
        assert!(root.edge_count() == moves.len() && root.own_value().is_some_and(|now| (now.wl - 0.25).abs() < 1e-4));
        let even = 1.0 / moves.len() as f32;
        // A move that certainly loses has no prior.
        let prior = |edge: &EdgeView<'_, R>| if edge.bounds().upper == Bound::Loss { 0.0 } else { even };
        assert!(root.edges().all(|edge| (edge.p() - prior(&edge)).abs() < 1e-3));
    }
    fn holds(seed: u64) -> bool {
        on_both!(5000, 200_000, Params::default(), |search| check(search, game_of(seed)));
        on_both_graphs!(5000, 200_000, Params::default(), |search| check(search, game_of(seed)));
        true
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(u64) -> bool);
}

#[test]
fn a_root_with_visits_in_flight_stays_as_it_is() {
    let mut game = RandomGame { seed: 9, width: 9, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(5000, 200_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 50);
        let mut event = TestEvent::new();
        let _ = search.gather(&mut event);
        let (own, moves, logits) = said_of_root(&game);
        let before = edges(search);
        assert_eq!(search.renew_root(own, &moves, &mut logits.clone()), Err(Refused::Stale));
        assert_eq!(edges(search), before);
        search.cancel(&mut event);
        assert_eq!(search.renew_root(own, &moves, &mut logits.clone()), Ok(50));
    });
    // There is room for a root, but not always for its edges.
    let mut refused = 0;
    for words in (200..800).step_by(20) {
        on_tree!(60, words, Params::default(), |search| {
            let _ = search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 50);
            let (own, moves, mut logits) = said_of_root(&game);
            let before = (edges(search), search.visits(), search.live_nodes());
            if search.renew_root(own, &moves, &mut logits).is_err() {
                refused += 1;
                assert_eq!((edges(search), search.visits(), search.live_nodes()), before, "{words} words");
            }
        });
    }
    assert!(refused > 0);
    // There is no room for another root.
    on_tree!(8, 200, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 8);
        let (own, moves, mut logits) = said_of_root(&game);
        let visits = search.visits();
        assert_eq!(search.renew_root(own, &moves, &mut logits), Err(Refused::NoRoom));
        assert_eq!(search.visits(), visits);
    });
}

/// Each node once, after all nodes below it, with the line that leads to it.
fn from_the_leaves<R: Repository>(search: &Search<R>) -> List<(Key, List<Move>)> {
    fn go<R: Repository>(
        node: NodeView<'_, R>,
        line: &[Move],
        seen: &mut HashSet<Key>,
        found: &mut List<(Key, List<Move>)>,
    ) {
        if !seen.insert(node.key()) {
            return;
        }
        for edge in node.visited() {
            if let Some((mv, child)) = edge.mv().zip(edge.child()) {
                go(child, &[line, &[mv]].concat(), seen, found);
            }
        }
        found.push((node.key(), line.into()));
    }
    let mut found = List::new();
    go(search.root_node(), &[], &mut HashSet::new(), &mut found);
    found
}

/// Gives each of `nodes`, in their order, a value that follows from the line that leads to it.
fn value_anew<R: Repository>(search: &mut Search<R>, nodes: &[(Key, List<Move>)], value: &dyn Fn(&[Move]) -> Value) {
    for (node, line) in nodes {
        let passed_on = |edge: EdgeView<'_, R>| Some((edge.mv()?, search.passed_on(&edge.child()?)));
        let edges: List<(Move, Value)> = search.node(*node).visited().filter_map(passed_on).collect();
        edges.into_iter().for_each(|(mv, value)| search.revalue_edge(*node, mv, value));
        search.revalue(*node, value(line));
    }
}

/// The tree of one game becomes that of another, in which all values are different, and then becomes what it was.
#[test]
fn a_tree_can_be_valued_anew() {
    fn check<R: Repository>(search: &mut Search<R>, mut game: RandomGame) {
        run_in_batches(search, &mut game, 1, 300);
        let value = |line: &[Move]| match game.verdict(game.position(line.iter().copied())) {
            Verdict::Position(value) | Verdict::Terminal(value, _) => value,
        };
        let before = search.root_node().value();
        let nodes = from_the_leaves(search);
        value_anew(search, &nodes, &|line| Value { wl: -0.5 * value(line).wl, ..value(line) });
        let between = search.root_node().value();
        value_anew(search, &nodes, &value);
        let after = search.root_node().value();
        if search.visits() > 20 && search.proven() == Default::default() {
            assert_ne!(between, before);
        }
        let near = |a: f32, b: f32| (a - b).abs() < 1e-4;
        // In a graph an edge may not know all of its child's visits.
        assert!(
            search.repository.is_graph() || near(after.wl, before.wl) && near(after.d, before.d),
            "{before:?} {after:?}"
        );
        audit(search, &Audit::drained(game));
        search.run_game(&mut game, 100);
        audit(search, &Audit::drained(game));
    }
    fn holds(seed: u64) -> bool {
        for params in [Params::default(), weights::as_katago()] {
            on_both!(5000, 200_000, params, |search| check(search, game_of(seed)));
            on_both_graphs!(5000, 200_000, params, |search| check(search, game_of(seed)));
        }
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64) -> bool);
}

/// A host may say what an edge is worth, whatever is below it. The node's value changes with it, by as much as the
/// edge's visits count. The next visit reads the child's value again.
#[test]
fn an_edge_may_be_told_what_it_is_worth() {
    let mut game = RandomGame { seed: 5, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
    fn edge<R: Repository>(search: &Search<R>) -> EdgeView<'_, R> {
        search.root_node().visited().max_by_key(|edge| edge.completed()).unwrap()
    }
    on_both!(5000, 200_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 200);
        let (mv, visits, before) =
            (edge(search).mv().unwrap(), edge(search).completed(), edge(search).value().unwrap());
        let (root, root_before) = (search.root_node().key(), search.root_node().value());
        let child = edge(search).child().unwrap().value();
        let other = Value { wl: 0.5 * child.wl, ..child };
        assert!(child.wl.abs() > 0.01, "{child:?}");
        search.revalue_edge(root, mv, other);
        let after = edge(search);
        assert!((after.value().unwrap().wl + other.wl).abs() < 1e-5, "{before:?} {:?}", after.value());
        assert_eq!(after.child().unwrap().value(), child);
        let less = (after.value().unwrap().wl - before.wl) * visits as f32 / 200.0;
        assert!((search.root_node().value().wl - root_before.wl - less).abs() < 1e-5);
        // A move that does not exist, or was not visited, can't be given a worth.
        search.revalue_edge(root, Move(9999), child);
        assert!((search.root_node().value().wl - root_before.wl - less).abs() < 1e-5);
        run_in_batches(search, &mut game, 1, 2000);
        assert!(search.root_node().visited().any(|edge| edge.mv() == Some(mv) && edge.completed() > visits));
        audit(search, &Audit::drained(game));
    });
}

/// What an edge keeps of a child that was folded counts until the child has made up for it.
#[test]
fn an_edge_that_knows_more_than_its_child_can_not_be_told() {
    let mut game = RandomGame { seed: 5, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(200, 20_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 2000);
        let all = search.repository().nodes().flat_map(|node| node.visited().map(move |edge| (node.key(), edge)));
        let more: List<_> = all
            .filter(|(_, edge)| edge.completed() > edge.child().map_or(0, |child| child.n()))
            .map(|(node, edge)| (node, edge.mv().unwrap(), edge.value()))
            .collect();
        assert!(!more.is_empty());
        for (node, mv, before) in more {
            search.revalue_edge(node, mv, Value { wl: 0.5, d: 0.25, m: 3.0 });
            let after = search.node(node).visited().find(|edge| edge.mv() == Some(mv)).unwrap().value();
            assert_eq!(after, before);
        }
    });
}

/// A game in which two moves of the root have the same name: a host's mistake. Each of them keeps its own visits.
struct Twice;

impl Evaluator for Twice {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, _: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend(TWICE);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        policy.extend([0.0, 1.0, 0.5]);
        let key = line.fold(1, |key, mv| key * 4 + u64::from(mv.0));
        Ok(Answer { key, verdict: Verdict::Position(Value { wl: 0.1, d: 0.3, m: 9.0 }) })
    }
}

const TWICE: [Move; 3] = [Move(1), Move(1), Move(2)];

#[test]
fn a_move_that_is_listed_twice_is_kept_twice() {
    on_both!(1000, 50_000, Params::default(), |search| {
        search.run(&mut Twice, MostMoves::<3>, MostPlies::<16>, 100).unwrap();
        let before = edges(search);
        let n = search.visits();
        assert_eq!(search.renew_root(Value::EVEN, &TWICE, &mut [0.0, 1.0, 0.5]), Ok(n));
        assert_eq!(edges(search).len(), before.len());
        assert_eq!(search.root_node().edge_count(), 3);
        assert!(search.root_node().edges().all(|edge| edge.p() <= 1.0));
    });
}

/// The worth that an edge is given may be just beyond the possible range.
#[test]
fn what_an_edge_is_told_is_cut_off_at_its_ends() {
    let kept = |d, m| EdgeValue::of_child(Value { wl: 0.1, d, m }).at_child();
    assert_eq!([kept(1.00001, 0.0).d, kept(-0.00001, 0.0).d, kept(f32::NAN, 0.0).d], [1.0, 0.0, 0.0]);
    assert_eq!([kept(0.0, -0.02).m, kept(0.0, f32::NAN).m, kept(0.0, 1.0).m], [0.0, 0.0, 1.0]);
    assert!(kept(0.0, f32::INFINITY).m > 2000.0);
}
