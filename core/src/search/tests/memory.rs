//! Memory that is full.

use super::*;
use crate::evaluate::{Ending, Moves, Verdict};
use crate::repository::Bound;
use heapless::VecView;
use quickcheck::QuickCheck;

#[test]
fn a_full_tree_goes_on() {
    for seed in 0..6 {
        let mut game = RandomGame { length: 40, ..RandomGame::of(seed * 977 + 5) };
        on_both!(300, 9000, Params::default(), |search| {
            let playouts = run_in_batches(search, &mut game, 1 + (seed % 7) as usize, 6000);
            let mut line = Vec::<Move, 8>::new();
            let best = search.best_edge().unwrap();
            search.pv(&best, line.as_mut_view());
            assert_eq!(line.first().copied(), best.mv());
            audit(search, &Audit { short_of_room: true, ..Audit::drained(game) });
            // A visit that was counted at the root stays counted.
            assert_eq!(u64::from(search.visits() + search.restored()), playouts);
            let root = search.root_node();
            let sum: u32 = root.edges().map(|edge| edge.n()).sum();
            assert_eq!(sum, root.n() - 1);
        });
    }
}

/// However large the two memories are, the search goes on, or says that it can't.
#[test]
fn memory_of_a_few_words_is_no_harm() {
    fn holds(seed: u64, nodes: u8, words: u16, batch: u8) -> bool {
        let mut game = RandomGame { length: 20, ..RandomGame::of(seed) };
        on_tree!(usize::from(nodes % 60), usize::from(words % 1500), Params::default(), |search| {
            let mut batch = Batch::new(1 + usize::from(batch % 8));
            for _ in 0..200 {
                batch.met.clear();
                for event in &mut batch.events {
                    match search.gather(event) {
                        met @ (Gathered::Leaf | Gathered::Known | Gathered::Collision) => batch.met.push(met),
                        _ => break,
                    }
                }
                if batch.met.is_empty() && search.recycle() == 0 {
                    break;
                }
                let against = Audit { short_of_room: true, ..Audit::drained(game) };
                audit(search, &Audit { flying: batch.flying(), ..against });
                for (event, met) in batch.events.iter_mut().zip(&batch.met).rev() {
                    match met {
                        Gathered::Leaf => {
                            let (answer, mut policy) = ask(&mut game, event);
                            match search.answer(event, &answer, &mut policy) {
                                Ok(()) => {}
                                Err(refused) => assert_eq!(refused, Refused::NoRoom),
                            }
                        }
                        Gathered::Known => search.backprop(event).unwrap(),
                        _ => search.cancel(event),
                    }
                }
                batch.met.clear();
                audit(search, &Audit { short_of_room: true, ..Audit::drained(game) });
            }
        });
        true
    }
    QuickCheck::new().tests(150).quickcheck(holds as fn(u64, u8, u16, u8) -> bool);
}

#[test]
fn what_there_is_no_room_for_is_said() {
    let mut game = RandomGame::of(12345);
    on_tree!(0, 1000, Params::default(), |search| {
        assert!(search.root().is_none());
        assert_eq!(search.gather(&mut TestEvent::new()), Gathered::Full);
        assert_eq!(search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 10), Err(RunError::Full));
        assert_eq!((search.visits(), search.best_move(), search.advance(&[Move(1)])), (0, None, 0));
    });
    on_tree!(10, 2, Params::default(), |search| {
        assert_eq!(
            search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 10),
            Err(RunError::Refused(Refused::NoRoom))
        );
        audit(search, &Audit::drained(game));
    });
    // There is room for the root, and for nothing else.
    on_both!(1, 1000, Params::default(), |search| {
        assert_eq!(search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 10), Err(RunError::Full));
        assert_eq!(search.visits(), 1);
        audit(search, &Audit::drained(game));
    });
}

#[test]
fn a_root_whose_moves_find_no_room_is_gathered_again() {
    let even = Answer { key: 0, verdict: Verdict::Position(Value::EVEN) };
    on_tree!(10, 2, Params::default(), |search| {
        let mut event = TestEvent::new();
        assert_eq!(search.gather(&mut event), Gathered::Leaf);
        assert_eq!(search.answer(&mut event, &even, &mut [0.0; 9]), Err(Refused::NoRoom));
        assert!(!event.is_under_way());
        assert_eq!(search.answer(&mut event, &even, &mut [0.0; 9]), Err(Refused::Stale));
        assert_eq!(search.gather(&mut event), Gathered::Leaf);
    });
}

/// The search goes on though no node was freed, and looks for room only once.
#[test]
fn a_leaf_whose_moves_find_no_room_stays_in_its_edge() {
    let answer = |wl| Answer { key: 0, verdict: Verdict::Position(Value { wl, d: 0.0, m: 0.0 }) };
    let percent = |value: Value| (value.wl * 100.0).round();
    on_tree!(10, 300, Params::default(), |search| {
        search.answer(&mut events::leaf(search), &answer(0.0), &mut [0.0]).unwrap();
        for (visits, value) in [(1, -25.0), (2, -33.0)] {
            let mut event = events::leaf(search);
            event.name(Move(5));
            search.answer(&mut event, &answer(0.5), &mut [0.0; 900]).unwrap();
            assert_eq!((search.visits(), search.edge_of(5).n(), search.live_nodes()), (1 + visits, visits, 1));
            let (root, edge) = (search.root_node(), search.edge_of(5));
            assert_eq!((edge.completed(), edge.value().map(percent), root.in_flight()), (visits, Some(-50.0), 0));
            assert_eq!(percent(root.value()), value);
            assert_eq!(search.gather(&mut event), Gathered::Full);
            assert_eq!((search.recycle(), search.recycle()), (1, 0));
        }
    });
}

/// There was no room for the edges of a leaf. Before its visit comes back there is, and another playout has answered
/// the leaf: it counts both visits, as its edge does.
#[test]
fn a_visit_that_found_no_room_counts_at_the_leaf_that_has_found_some_since() {
    let worth = |wl| Verdict::Position(Value { wl, d: 0.0, m: 0.0 });
    let (mean, drawn) = (Value { wl: 0.25, d: 0.0, m: 0.0 }, Value::DRAW);
    for (verdict, moves, value) in [(worth(0.0), 1, mean), (Verdict::drawn(), 0, drawn)] {
        on_tree!(10, 300, Params::default(), |search| {
            let answer = |verdict| Answer { key: 0, verdict };
            search.answer(&mut events::leaf(search), &answer(worth(0.0)), &mut [0.0]).unwrap();
            let mut late = events::leaf(search);
            late.name(Move(5));
            search.settle(&mut late, &answer(worth(0.5)), &mut [0.0; 900]).unwrap();
            assert!(late.is_ready() && search.recycle() == 1);
            search.answer(&mut events::leaf(search), &answer(verdict), &mut [0.0; 1][..moves]).unwrap();
            search.bring_back(&mut [late]);
            let (edge, child) = (search.edge_of(5), search.edge_of(5).child().unwrap());
            assert_eq!((search.visits(), edge.n(), edge.completed(), child.n()), (3, 2, 2, 2));
            assert_eq!((child.value(), child.is_regrown()), (value, moves > 0));
        });
    }
}

/// The same while the leaf still waits for its answer, which is its second visit then.
#[test]
fn a_visit_that_found_no_room_counts_at_a_leaf_that_is_not_answered_yet() {
    let answer = |wl| Answer { key: 0, verdict: Verdict::Position(Value { wl, d: 0.0, m: 0.0 }) };
    on_tree!(10, 300, Params::default(), |search| {
        search.answer(&mut events::leaf(search), &answer(0.0), &mut [0.0]).unwrap();
        let mut late = events::leaf(search);
        late.name(Move(5));
        search.settle(&mut late, &answer(0.5), &mut [0.0; 900]).unwrap();
        assert_eq!(search.recycle(), 1);
        let mut waits = events::leaf(search);
        search.bring_back(&mut [late]);
        let percent = |value: Value| (value.wl * 100.0).round();
        let known = |search: &Search<_>| (search.edge_of(5).completed(), search.edge_of(5).value().map(percent));
        assert_eq!((search.visits(), known(search)), (2, (1, Some(-50.0))));
        search.answer(&mut waits, &answer(0.3), &mut [0.0]).unwrap();
        let child = search.edge_of(5).child().unwrap();
        assert_eq!((search.visits(), known(search), child.n()), (3, (2, Some(-40.0)), 2));
    });
}

#[test]
fn folding_keeps_n_and_q() {
    fn holds(seed: u64) -> bool {
        let mut game = RandomGame { length: 30, ..RandomGame::of(seed) };
        on_both!(4000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 500);
            let before = shape(search);
            let (n, value) = (search.visits(), search.root_node().value());
            while search.recycle() > 0 {
                assert_eq!((search.visits(), search.root_node().value()), (n, value));
                audit(search, &Audit::drained(game));
            }
            // What is left of the tree is as it was.
            let kept = shape(search);
            assert!(kept.iter().all(|edge| before.contains(edge)), "{kept:?}");
        });
        true
    }
    QuickCheck::new().tests(20).quickcheck(holds as fn(u64) -> bool);
}

type RootEdge = (Option<Move>, u32, Option<f32>);

fn root_edges<R: Repository>(search: &Search<R>) -> List<RootEdge> {
    search.root_node().visited().map(|edge| (edge.mv(), edge.n(), edge.q(0.0))).collect()
}

/// What was folded is restored before it counts: a small tree takes more playouts to reach the same visits.
#[test]
fn a_small_tree_goes_where_a_large_one_goes() {
    for seed in 0..10 {
        let mut game = RandomGame { seed, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
        let goes_on = |nodes: u32, small: &[RootEdge], game: &mut RandomGame| {
            on_tree!(10_000, 400_000, Params::default(), |search| {
                run_in_batches(search, game, 1, nodes.into());
                assert_eq!(root_edges(search), small, "seed {seed}, {nodes} visits");
            });
        };
        on_both!(300, 9000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 3000);
            assert!(search.restored() > 300, "{} restored", search.restored());
            goes_on(search.visits(), &root_edges(search), &mut game);
        });
    }
}

/// As long as a folded node has regained fewer visits than its edge has kept, none of them counts above it.
#[test]
fn a_regrown_node_does_not_count_until_its_edge_has_been_made_up_for() {
    let mut game = RandomGame { seed: 11, width: 4, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(4000, 200_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 500);
        while search.recycle() > 0 {}
        for _ in 0..100 {
            let (edges, nodes, restored) = (root_edges(search), search.visits(), search.restored());
            run_in_batches(search, &mut game, 1, 1);
            if search.restored() > restored {
                assert_eq!((search.restored(), search.visits()), (restored + 1, nodes));
                assert_eq!(root_edges(search), edges);
            } else {
                assert_eq!(search.visits(), nodes + 1);
            }
        }
        assert!(search.restored() > 50, "{} restored", search.restored());
        audit(search, &Audit::drained(game));
        run_in_batches(search, &mut game, 1, 1000);
        assert!(search.visits() > 600, "{}", search.visits());
        audit(search, &Audit::drained(game));
    });
}

/// It makes up for visits until the first one that is new to its edge.
#[test]
fn a_regrown_node_is_like_any_other_once_its_edge_has_been_made_up_for() {
    let mut game = WrittenGame(|line| (ours(line, 0.0), &[1.0]));
    on_both!(100, 5000, as_written(), |search| {
        search.visit(&mut game, 0, 3);
        // As many playouts may restore as the tree has nodes now.
        search.start_restoring();
        let root = search.root_node().key();
        assert_eq!(search.repository.fold(root, 0), 3);
        for (n, restoring) in [(3, true), (3, true), (3, true), (4, false)] {
            search.visit(&mut game, 0, 1);
            let (n_now, child) = (search.edge_of(0).n(), search.edge_of(0).child().unwrap().key());
            assert_eq!((n_now, search.repository.lock(child).is_restoring()), (n, restoring));
        }
    });
}

/// However small the tree is, the search does not come to a standstill.
#[test]
fn a_third_of_the_playouts_are_visits() {
    for seed in 0..5 {
        let mut game = RandomGame { seed, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
        on_both!(300, 9000, Params::default(), |search| {
            run_in_batches(search, &mut game, 4, 30_000);
            let (nodes, restored) = (search.visits(), search.restored());
            assert!(restored > nodes, "{restored} restored, {nodes} visits");
            assert!(restored <= 2 * nodes + 4, "{restored} restored, {nodes} visits");
            audit(search, &Audit { short_of_room: true, ..Audit::drained(game) });
        });
    }
}

/// Playouts that only restored are distributed at the root as PUCT would if the values stayed as they are.
#[test]
fn the_move_to_play_is_the_one_that_visits_are_due_to() {
    let mut others = 0;
    for seed in 0..20 {
        let mut game = RandomGame { seed, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
        on_tree!(300, 9000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 3000);
            let most = search.root_node().visited().max_by_key(|edge| edge.n()).unwrap().mv();
            let exploration = puct::exploration(search.params().root_cpuct(), search.visits() + search.restored());
            let mut played: List<_> = search
                .root_node()
                .visited()
                .map(|edge| (edge.mv(), edge.n(), edge.q(0.0).unwrap(), edge.p()))
                .collect();
            for _ in 0..search.restored() {
                let score = |&(_, n, q, p): &(Option<Move>, u32, f32, f32)| q + puct::u(p, exploration, n);
                played.iter_mut().max_by(|a, b| score(a).total_cmp(&score(b))).unwrap().1 += 1;
            }
            played.sort_by_key(|edge| core::cmp::Reverse(edge.1));
            if let [first, second, ..] = played[..]
                && first.1 > second.1 + 2
            {
                assert_eq!(search.best_move(), first.0, "seed {seed}");
                others += u32::from(first.0 != most);
            }
        });
    }
    assert!(others > 0, "the most visited move is always the one to play");
}

/// If words for edges run out first, a leaf that finds no room is not visited again and again for the value of its one
/// evaluation.
#[test]
fn a_search_short_of_words_folds() {
    let mut game = RandomGame { seed: 3, width: 8, length: 30, endings: 0, ..RandomGame::of(0) };
    on_tree!(5000, 3000, Params::default(), |search| {
        let mut event = TestEvent::new();
        let (mut folded, mut without_child) = (0, 0);
        for _ in 0..3000 {
            match search.gather(&mut event) {
                Gathered::Full => folded += search.recycle(),
                Gathered::Leaf => {
                    let (answer, mut policy) = ask(&mut game, &mut event);
                    search.answer(&mut event, &answer, &mut policy).unwrap();
                    without_child += u32::from(get(&search.short_of_room) != 0);
                }
                met => panic!("{met:?}"),
            }
        }
        assert!(folded > 100, "{folded} folded");
        assert!(without_child > 0 && without_child < 300, "{without_child} leaves without room");
    });
}

#[test]
fn a_collision_is_no_visit_of_a_regrown_node() {
    for seed in 0..20 {
        let mut game = RandomGame { seed, width: 3, length: 30, endings: 0, ..RandomGame::of(0) };
        on_both!(4000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 100);
            while search.recycle() > 0 {}
            let mut batch = Batch::new(30);
            for _ in 0..4 {
                batch.gather(search);
                audit(search, &Audit { flying: batch.flying(), ..Audit::drained(game) });
                batch.answer(search, &mut game);
                audit(search, &Audit::drained(game));
            }
        });
    }
}

#[test]
fn the_move_to_play_does_not_change_by_folding() {
    let (mut won, mut lost) = (0, 0);
    for seed in 0..200 {
        let mut game = RandomGame { seed, width: 9, length: 9, endings: 20, ..RandomGame::of(0) };
        on_both!(5000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 20 + seed % 200);
            let best = |search: &Search<_>| search.best_edge().map(|edge| (edge.mv(), edge.bounds()));
            let before = best(search);
            lost += search.root_node().visited().filter(|edge| edge.bounds().upper == Bound::Loss).count();
            while search.recycle() > 0 {}
            assert_eq!(best(search), before, "seed {seed}");
            won += usize::from(before.is_some_and(|(_, bounds)| bounds.lower == Bound::Win));
            audit(search, &Audit::drained(game));
        });
    }
    assert!(won >= 50 && lost >= 100, "{won} won, {lost} lost moves");
}

/// A game with moves of the root that lose at once, followed by others after which the game goes on.
struct Losing {
    lost: u16,
    open: u16,
}

impl Losing {
    const WIDTH: u16 = 5;

    fn moves_after(&self, plies: usize) -> u16 {
        if plies == 0 { self.lost + self.open } else { Self::WIDTH }
    }
}

impl Evaluator for Losing {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend((0..self.moves_after(line.len())).map(Move));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        if line.len() == 1 && line.clone().all(|mv| mv.0 < self.lost) {
            return Ok(Answer { key: 0, verdict: Verdict::Terminal(Value { wl: 1.0, d: 0.0, m: 0.0 }, Ending::Game) });
        }
        policy.extend(core::iter::repeat_n(0.0, self.moves_after(line.len()).into()));
        let wl = f32::from(line.map(|mv| 7 * mv.0).sum::<u16>() % 20) / 100.0 - 0.1;
        Ok(Answer { key: 0, verdict: Verdict::Position(Value { wl, ..Value::EVEN }) })
    }
}

/// The lost moves stay in the tree, and must not hide what is below the others.
#[test]
fn a_tree_full_of_lost_moves_folds_below_the_others() {
    for (nodes, lost, open) in [(40, 25, 5), (100, 60, 10), (400, 250, 50)] {
        let params = Params { fpu_at_root: Some(Fpu::Absolute(1.0)), ..Params::default() };
        on_both!(nodes, 60 * nodes, params, |search| {
            search.run(&mut Losing { lost, open }, MostMoves::<300>, MostPlies::<64>, 5000).unwrap();
            let proven = |edge: &EdgeView<'_, _>| edge.bounds().upper == Bound::Loss;
            assert_eq!(search.root_node().edges().filter(proven).count(), usize::from(lost));
        });
    }
}

/// A game with a long line of forced moves, beside one move that ends the game.
struct Forced;

impl Forced {
    fn over(mut moves: Moves<'_>) -> bool {
        moves.any(|mv| mv == Move(2))
    }
}

impl Evaluator for Forced {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend([Move(1)]);
        if line.len() == 0 {
            moves.extend([Move(2)]);
        }
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        if Self::over(line.clone()) {
            return Ok(Answer { key: 0, verdict: Verdict::drawn() });
        }
        policy.extend(core::iter::repeat_n(0.0, if line.len() == 0 { 2 } else { 1 }));
        Ok(Answer { key: 0, verdict: Verdict::Position(Value::EVEN) })
    }
}

/// The line is folded if there is nothing else to fold, and its first moves stay. It is not folded while something is
/// in flight, because behind that there may soon be something else to fold.
#[test]
fn the_line_to_be_played_is_folded_last_and_from_its_end() {
    on_both!(100, 5000, Params::default(), |search| {
        search.run(&mut Forced, MostMoves::<2>, MostPlies::<64>, 90).unwrap();
        let [line, beside] = [0, 1].map(|at| search.root_node().edges().nth(at).unwrap().n());
        assert!(line > beside && beside > 16, "{line} {beside}");
        let pv_len = |search: &Search<_>| {
            let mut pv = Vec::<Move, 64>::new();
            search.pv(&search.best_edge().unwrap(), pv.as_mut_view());
            assert!(pv.iter().all(|mv| *mv == Move(1)));
            pv.len()
        };
        let mut event = TestEvent::new();
        assert!(matches!(search.gather(&mut event), Gathered::Leaf | Gathered::Known));
        assert_eq!((search.recycle(), pv_len(search)), (0, line as usize));
        search.cancel(&mut event);
        // In addition to the line's nodes, the root among them, there is the move that ends the game.
        let mut before = search.repository().live_nodes() - 1;
        while search.recycle() > 0 {
            let left = search.repository().live_nodes() - 1;
            assert!(left < before && left >= 2.max(before / 2), "{left} of {before}");
            before = left;
        }
        assert_eq!((before, pv_len(search)), (2, 2));
    });
}

/// In games with few moves there is room for little more than the line, and in all of them the memory between its nodes
/// is in pieces.
#[test]
fn a_tree_goes_on_with_sixty_words_for_each_move() {
    let ends_early = |words: usize, width: u16, seed: u64| {
        let mut game = RandomGame { seed, width, length: 30, endings: 0, ..RandomGame::of(0) };
        let (nodes, words) = memory(500, words * usize::from(width));
        let search = &mut Search::new(Tree::new(&nodes, &words), Params::default());
        search.run(&mut game, MostMoves::<40>, MostPlies::<64>, 3000) == Err(RunError::Full)
    };
    let early = |words: usize, width: u16| (0..60).filter(|&seed| ends_early(words, width, seed)).count();
    for width in [2, 3, 5, 8, 16, 40] {
        assert_eq!(early(60, width), 0, "{width} moves");
    }
    for width in [2, 3, 5, 8, 16] {
        assert!(early(20, width) > 5, "{width} moves: the documents ask for more than is needed");
    }
}

/// A game whose first move loses to the first of two replies.
fn refuted(line: &[u16]) -> Written {
    match line {
        [0, 0] => (Verdict::lost(), &[]),
        [0] => (ours(line, 0.0), &[0.6, 0.4]),
        [] => (ours(line, 0.0), &[0.5, 0.3, 0.2]),
        _ => (ours(line, 0.0), &[1.0]),
    }
}

/// Of a move that is proven to lose only the result is of use, unless a playout is on its way below it.
#[test]
fn the_replies_to_a_refuted_move_are_freed_once_nothing_is_in_flight_there() {
    on_both!(100, 5000, as_written(), |search| {
        let game = &mut WrittenGame(refuted);
        search.visit(game, 1, 5);
        search.visit(game, 0, 1);
        search.set_root_moves([(0, Move(0))]);
        let [mut first, mut second] = [0, 1].map(|reply| {
            let mut event = TestEvent::new();
            assert_eq!(search.gather(&mut event), Gathered::Leaf);
            assert_eq!(event.unnamed(), Some(reply));
            event.name(Move(reply as u16));
            event
        });
        let (lost, even) = (Verdict::lost(), Verdict::Position(Value::EVEN));
        search.answer(&mut first, &Answer { key: 0, verdict: lost }, &mut []).unwrap();
        search.set_root_moves([]);
        let child = search.edge_of(0).child().unwrap().key();
        while search.recycle() > 0 {}
        assert!(search.node(child).is_expanded() && search.node(child).visited_count() == 2);
        search.answer(&mut second, &Answer { key: 0, verdict: even }, &mut [0.0]).unwrap();
        assert_eq!(search.node(child).n(), 3);
        while search.recycle() > 0 {}
        let node = search.edge_of(0).child().unwrap();
        assert!(node.key() == child && !node.is_expanded() && node.visited_count() == 0);
        assert_eq!((node.n(), node.bounds().lower, search.edge_of(0).n()), (3, Bound::Win, 3));
    });
}

/// A leaf is not joined to a node that has no edges any more.
#[test]
fn a_node_whose_edges_were_freed_is_found_no_longer() {
    on_both_graphs!(100, 5000, as_written(), |search| {
        let game = &mut WrittenGame(refuted);
        search.visit(game, 1, 5);
        search.visit(game, 0, 2);
        // No other position has two moves.
        assert!(search.repository().has(1, 2));
        while search.recycle() > 0 {}
        assert!(search.edge_of(0).child().is_some_and(|child| child.bounds().closed()));
        assert!(!search.repository().has(1, 2));
    });
}

/// The lines to all nodes, with their visits.
fn lines<R: Repository>(search: &Search<R>) -> std::collections::HashMap<List<Move>, u32> {
    let mut todo = std::vec![(search.root_node(), List::new())];
    let mut found = std::collections::HashMap::new();
    while let Some((node, line)) = todo.pop() {
        for edge in node.visited() {
            let line = [&line[..], &[edge.mv().unwrap_or_default()]].concat();
            todo.extend(edge.child().map(|child| (child, line)));
        }
        found.insert(line, node.n());
    }
    found
}

/// What is folded is no larger, by doublings, than half of all subtrees are.
#[test]
fn the_smallest_subtrees_are_folded_first_and_a_quarter_of_the_nodes() {
    for seed in 0..10 {
        let mut game = RandomGame { seed, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
        on_both!(4000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 400);
            let before = lines(search);
            let freed = search.recycle();
            let quarter = before.len() / 4;
            assert!((quarter..quarter + 3 * EDGES).contains(&freed), "{freed} of {}", before.len());
            let after = lines(search);
            assert_eq!(after.len() + freed, before.len());
            let mut sizes: List<u32> = before.values().copied().collect();
            sizes.sort_unstable();
            let half = sizes[sizes.len() / 2 + 5];
            let mut gone = before.iter().filter(|(line, _)| !after.contains_key(*line));
            assert!(gone.all(|(_, n)| n.ilog2() <= half.ilog2()), "seed {seed}");
        });
    }
}

#[test]
fn what_was_visited_lately_is_folded_after_what_was_not() {
    for seed in 0..10 {
        let mut game = RandomGame { seed, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
        on_both!(4000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 600);
            assert!((0..2).all(|_| search.recycle() > 0));
            let before = lines(search);
            run_in_batches(search, &mut game, 1, 60);
            let new: List<_> = lines(search).into_iter().filter(|(line, _)| !before.contains_key(line)).collect();
            assert!(new.len() > 40, "{}", new.len());
            assert!(search.recycle() > 0);
            let after = lines(search);
            assert!(new.iter().all(|(line, _)| after.contains_key(line)), "seed {seed}");
        });
    }
}

#[test]
fn nodes_in_flight_are_not_folded() {
    fn holds(seed: u64, batch: u8) -> bool {
        let mut game = RandomGame { length: 30, ..RandomGame::of(seed) };
        on_both!(4000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 3, 300);
            let mut batch = Batch::new(1 + usize::from(batch) % 20);
            batch.gather(search);
            while search.recycle() > 0 {}
            audit(search, &Audit { flying: batch.flying(), ..Audit::drained(game) });
            batch.answer(search, &mut game);
            audit(search, &Audit::drained(game));
        });
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64, u8) -> bool);
}
