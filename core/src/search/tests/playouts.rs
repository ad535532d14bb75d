//! Visits, values, choices.

use super::*;
use crate::repository::Sums;
use crate::stop::{Limits, Progress, Reason};
use quickcheck::QuickCheck;

#[test]
fn visits_in_flight_are_those_of_the_events() {
    fn holds(seed: u64, batch: u8, draw_score: i8) -> bool {
        let mut game = RandomGame::of(seed);
        let size = 1 + usize::from(batch) % 40;
        let params = Params { draw_score: f32::from(draw_score) / 128.0, ..Params::default() };
        on_both!(2000, 100_000, params, |search| {
            let (mut batch, mut playouts) = (Batch::new(size), 0);
            for _ in 0..20 {
                batch.gather(search);
                audit(search, &Audit { flying: batch.flying(), ..Audit::drained(game) });
                playouts += batch.answer(search, &mut game);
                audit(search, &Audit::drained(game));
            }
            assert_eq!(playouts, u64::from(search.visits()));
        });
        true
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(u64, u8, i8) -> bool);
}

#[test]
fn the_same_answers_give_the_same_tree() {
    fn holds(seed: u64) -> bool {
        let mut game = RandomGame::of(seed);
        let mut shapes = List::new();
        // The same answers, with different memory and different loops.
        on_both!(3000, 100_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 700);
            shapes.push(shape(search));
        });
        on_both!(1000, 60_000, Params::default(), |search| {
            search.run_game(&mut game, 700);
            shapes.push(shape(search));
        });
        shapes.iter().all(|shape| *shape == shapes[0])
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64) -> bool);
}

/// The trees are the same to the visit, also with many playouts under way and after the game has gone on.
#[test]
fn both_repositories_grow_the_same_tree() {
    fn holds(seed: u64, batch: u8) -> bool {
        let game = RandomGame::of(seed);
        let size = 1 + usize::from(batch) % 30;
        let mut shapes = List::new();
        on_both!(5000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game.clone(), size, 600);
            let before = shape(search);
            let best = search.best_move();
            let kept = best.map(|best| search.advance(&[best]));
            if let Some(best) = best {
                run_in_batches(search, &mut game.after(best), size, 300);
            }
            shapes.push((before, best, kept, shape(search)));
        });
        shapes[0] == shapes[1]
    }
    QuickCheck::new().tests(30).quickcheck(holds as fn(u64, u8) -> bool);
}

#[test]
fn a_cancelled_playout_leaves_no_trace() {
    let mut game = RandomGame::of(6);
    on_both!(1000, 50_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 50);
        let before = shape(search);
        let mut event = TestEvent::new();
        while search.gather(&mut event) != Gathered::Leaf {
            search.backprop(&mut event).unwrap();
        }
        search.cancel(&mut event);
        audit(search, &Audit::drained(game));
        let with_visits =
            |shape: List<(_, u32, u32, Option<Value>)>| shape.into_iter().filter(|edge| edge.1 > 0).collect();
        let (before, after): (List<_>, List<_>) = (with_visits(before), with_visits(shape(search)));
        assert_eq!(before, after);
        run_in_batches(search, &mut game, 4, 200);
        audit(search, &Audit::drained(game));
    });
}

#[test]
fn what_an_evaluator_says_beyond_all_bounds_is_no_overflow() {
    struct Loud;
    impl Evaluator for Loud {
        type Error = core::convert::Infallible;
        fn legal_moves(&mut self, _: Moves<'_>, moves: &mut VecView<Move>) {
            moves.extend([Move(1), Move(2)]);
        }
        fn evaluate(&mut self, moves: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
            policy.extend([f32::INFINITY, f32::NAN]);
            let odd = if moves.len().is_multiple_of(2) { f32::INFINITY } else { 1e30 };
            Ok(Answer { key: 0, verdict: Verdict::Position(Value { wl: odd, d: f32::NAN, m: odd }) })
        }
    }
    on_both!(500, 20_000, Params::default(), |search| {
        assert_eq!(search.run(&mut Loud, MostMoves::<EDGES>, MostPlies::<64>, 10), Ok(10));
        assert_eq!(search.run(&mut Loud, MostMoves::<EDGES>, MostPlies::<64>, 290), Ok(290));
        let value = search.root_node().value();
        assert!(value.wl.abs() <= 1.0 && (0.0..=1.0).contains(&value.d) && value.m >= 0.0, "{value:?}");
    });
}

/// A host prints these when it looks for a fault.
#[test]
fn a_search_and_its_parts_can_be_printed() {
    let mut game = RandomGame { seed: 4, width: 4, length: 30, endings: 0, ..RandomGame::of(0) };
    let mut memory = crate::tree::TreeMemory::<100, 2000>::new();
    assert_eq!(std::format!("{memory:?}"), "TreeMemory { nodes: 100, words: 2000, .. }");
    let mut search = Search::new(memory.lend(), Params::default());
    search.run_game(&mut game, 20);
    let text = std::format!("{search:?}");
    assert!(text.starts_with("Search { visits: 20, live_nodes: 20, params: Params {"), "{text}");
    let root = std::format!("{:?}", search.root_node());
    assert!(root.starts_with("NodeView { key: Key(1), n: 20, value: Value {"), "{root}");
    let edge = std::format!("{:?}", search.best_edge().unwrap());
    assert!(edge.starts_with("EdgeView { naming: Named(Move("), "{edge}");
}

#[test]
fn what_is_known_of_nothing_is_the_default() {
    use crate::repository::Bounds;
    assert_eq!((Bounds::default(), Value::default()), (Bounds::OPEN, Value::EVEN));
    assert_eq!(Fpu::default(), Params::default().fpu);
    on_both!(100, 5000, Params::default(), |search| assert_eq!(search.proven(), Bounds::OPEN));
}

/// Contempt belongs to one side, so at every second ply it is the other way round.
#[test]
fn answers_are_rescaled_for_the_side_that_has_the_contempt() {
    use crate::formula::contempt::Rescale;
    let said = Value { wl: 0.1, d: 0.5, m: 0.0 };
    let mut game = WrittenGame(|_| (Verdict::Position(said), &[1.0]));
    let wdl_rescale = Rescale { diff: 0.6, ..Rescale::default() };
    on_both!(100, 5000, Params { wdl_rescale, ..as_written() }, |search| {
        search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 4).unwrap();
        let mut node = search.root_node();
        for ours in [true, false, true, false] {
            let own = node.own_value().unwrap();
            assert!(if ours { own.wl > said.wl + 0.05 } else { own.wl < said.wl - 0.05 }, "{own:?}");
            let seen_from_here = if ours { wdl_rescale } else { wdl_rescale.from_the_other_side() };
            let original = seen_from_here.original(own);
            assert!((original.wl - said.wl).abs() < 1e-3 && (original.d - said.d).abs() < 1e-3, "{original:?}");
            node = node.visited().next().and_then(|edge| edge.child()).unwrap_or(node);
        }
    });
}

#[test]
fn visits_are_counted_up_to_a_limit() {
    let mut game = RandomGame { seed: 4, width: 4, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(500, 20_000, Params::default(), |search| {
        search.run_game(&mut game, 2);
        let root = search.root.unwrap();
        search.repository.lock(root).add(MAX_VISITS.wrapping_sub(22) as i32, Sums::of(Value::EVEN, MAX_VISITS - 22));
        assert_eq!(search.visits(), MAX_VISITS - 20);
        let mut batch = Batch::new(10);
        batch.gather(search);
        batch.answer(search, &mut game);
        let left = MAX_VISITS - search.visits();
        assert_eq!(search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, u64::MAX), Ok(left.into()));
        assert_eq!(search.visits(), MAX_VISITS);
    });
}

#[test]
fn longer_lines_than_a_path_holds_do_not_stop_the_search() {
    let mut game = RandomGame { seed: 3, width: 1, length: 1000, endings: 0, ..RandomGame::of(0) };
    on_both!(100, 5000, Params::default(), |search| {
        assert_eq!(search.run(&mut game, MostMoves::<4>, MostPlies::<8>, 30), Ok(30));
        assert_eq!(search.visits(), 30);
        assert_eq!(search.repository().live_nodes(), 9);
        audit(search, &Audit::drained(game));
    });
}

#[test]
fn root_moves_can_be_named() {
    let mut game = RandomGame { seed: 9, width: 9, length: 9, endings: 0, ..RandomGame::of(0) };
    on_both!(1000, 50_000, Params::default(), |search| {
        search.run_game(&mut game, 1);
        let legal: List<Move> = game.legal(game.position([].into_iter())).collect();
        let last = *legal.last().unwrap();
        search.set_root_moves([(legal.len() - 1, last)]);
        search.run_game(&mut game, 100);
        assert_eq!(search.best_move(), Some(last));
        for edge in search.root_node().edges() {
            assert_eq!(edge.n(), if edge.mv_or(|index| legal[index]) == last { 100 } else { 0 });
        }
        // Naming no moves means all of them.
        search.set_root_moves([]);
        search.run_game(&mut game, 300);
        assert!(search.root_node().edges().filter(|edge| edge.n() > 0).count() > 1);
        audit(search, &Audit::drained(game));
    });
}

/// Also moves whose first visit is under way, which have no name yet.
#[test]
fn root_moves_are_named_while_visits_are_in_flight() {
    let games = (0..).map(|seed| RandomGame { seed, width: 9, length: 9, endings: 0, ..RandomGame::of(0) });
    let width = |game: &RandomGame| game.legal(game.position([].into_iter())).count();
    let mut game = games.into_iter().find(|game| width(game) > 5).unwrap();
    on_both!(1000, 50_000, Params::default(), |search| {
        search.run_game(&mut game, 1);
        let legal: List<Move> = game.legal(game.position([].into_iter())).collect();
        let mut events: [TestEvent; 40] = core::array::from_fn(|_| TestEvent::new());
        let leaf = |event: &mut TestEvent| (search.gather(event) == Gathered::Leaf).then(|| event.unnamed().unwrap());
        let mut places: List<usize> = events.iter_mut().filter_map(leaf).collect();
        assert!(places.len() > 2, "{places:?}");
        places.remove(1);
        // The moves may come in any order, and twice.
        places.push(places[0]);
        search.set_root_moves(places.iter().rev().map(|&place| (place, legal[place])));
        events.iter_mut().for_each(|event| search.cancel(event));
        search.run_game(&mut game, 60);
        for edge in search.root_node().edges() {
            let is_named = places.iter().any(|&place| edge.mv_or(|index| legal[index]) == legal[place]);
            assert!(is_named || edge.n() == 0, "{edge:?} of {places:?}");
            assert_eq!(search.may_play(&edge), is_named);
        }
        assert!(search.root_node().edges().filter(|edge| edge.n() > 0).count() > 2);
        audit(search, &Audit::drained(game));
    });
}

#[test]
fn root_moves_that_can_not_become_the_best_are_left_out() {
    let mut game = RandomGame { seed: 9, width: 9, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(2000, 100_000, Params::default(), |search| {
        search.run_game(&mut game, 500);
        let before: List<u32> = search.root_node().visited().map(|edge| edge.n()).collect();
        let most = *before.iter().max().unwrap();
        search.set_remaining_playouts(Some(10));
        search.run_game(&mut game, 10);
        for (edge, n) in search.root_node().visited().zip(before) {
            assert!(edge.n() == n || n + 10 >= most, "{n} visits of {most} grew to {}", edge.n());
        }
    });
}

/// A game with three moves at the root, of which the second is good.
fn three_moves(line: &[u16]) -> Written {
    let good = line.first() == Some(&1);
    (ours(line, if good { 0.5 } else { -0.5 }), if line.is_empty() { &[0.4, 0.3, 0.3] } else { &[1.0] })
}

#[test]
fn a_root_move_that_can_just_draw_level_is_not_left_out() {
    on_both!(1000, 50_000, as_written(), |search| {
        let game = &mut WrittenGame(three_moves);
        search.visit(game, 0, 30);
        search.visit(game, 1, 20);
        search.visit(game, 2, 1);
        let visits = |search: &Search<_>| [0, 1, 2].map(|mv| search.edge_of(mv).n());
        search.set_remaining_playouts(Some(9));
        search.run(game, MostMoves::<EDGES>, MostPlies::<64>, 1).unwrap();
        assert_eq!(visits(search), [31, 20, 1], "9 are too few");
        search.set_remaining_playouts(Some(11));
        search.run(game, MostMoves::<EDGES>, MostPlies::<64>, 1).unwrap();
        assert_eq!(visits(search), [31, 21, 1], "11 are just enough");
    });
}

#[test]
fn a_root_move_that_nobody_tried_is_left_out_if_it_has_no_hope() {
    on_both!(1000, 50_000, as_written(), |search| {
        let game = &mut WrittenGame(three_moves);
        search.visit(game, 0, 30);
        for (remaining, visited) in [(29, 1), (31, 2)] {
            search.set_remaining_playouts(Some(remaining));
            search.run(game, MostMoves::<EDGES>, MostPlies::<64>, 1).unwrap();
            assert_eq!(search.root_node().visited_count(), visited, "{remaining} playouts are left");
        }
    });
}

#[test]
fn a_move_that_may_not_be_searched_leaves_no_other_without_hope() {
    on_both!(1000, 50_000, as_written(), |search| {
        let game = &mut WrittenGame(three_moves);
        search.visit(game, 0, 500);
        search.set_root_moves([1, 2].map(|mv| (mv.into(), Move(mv))));
        search.set_remaining_playouts(Some(50));
        assert_eq!(search.run(game, MostMoves::<EDGES>, MostPlies::<64>, 50), Ok(50));
        let visits = [0, 1, 2].map(|mv| search.edge_of(mv).n());
        assert_eq!((visits[0], visits[1] + visits[2]), (500, 50));
    });
}

#[test]
fn a_place_that_the_root_has_not_is_no_moves() {
    let mut game = RandomGame { seed: 9, width: 9, length: 9, endings: 0, ..RandomGame::of(0) };
    on_both!(1000, 50_000, Params::default(), |search| {
        search.run_game(&mut game, 20);
        let edges = search.root_node().edge_count();
        // The first place beyond the end, one beyond the words of the priors, and one beyond 16 bits, which would
        // become 0 there.
        for place in [edges, edges + 40, 1 << 16] {
            search.set_root_moves([(place, Move(999))]);
            assert_eq!(search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 5), Ok(0));
            assert_eq!((search.visits(), search.best_move()), (20, None));
            let progress = Progress::of(search, &search.run_counts(), 0.0);
            assert_eq!(Limits::default().check(&progress, None).stop, Some(Reason::NoMoves));
        }
        // Beside a place that exists, they change nothing.
        let best = {
            search.set_root_moves([]);
            search.best_move().unwrap()
        };
        search.set_root_moves([(edges + 40, Move(999)), (edges, best)]);
        search.run_game(&mut game, 5);
        assert_eq!((search.visits(), search.best_move()), (25, Some(best)));
        audit(search, &Audit::drained(game));
    });
}

/// A game with this many moves at the root, of which the last is the only good one.
struct Wide(u16);

impl Evaluator for Wide {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend((0..if line.len() == 0 { self.0 } else { 1 }).map(Move));
    }

    fn evaluate(&mut self, mut line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let plies = line.len();
        policy.extend(core::iter::repeat_n(0.0, if plies == 0 { self.0.into() } else { 1 }));
        let good = line.next() == Some(Move(self.0 - 1));
        let of_us = if good { 0.9 } else { -0.9 };
        let wl = if plies.is_multiple_of(2) { of_us } else { -of_us };
        Ok(Answer { key: 0, verdict: Verdict::Position(Value { wl, d: 0.0, m: 0.0 }) })
    }
}

#[test]
fn the_move_to_play_may_be_any_of_more_moves_than_a_list_holds() {
    use crate::formula::lcb::{FinalChoice, Lcb};
    use crate::formula::temperature::Temperature;
    // Every move is tried once before any is tried again.
    let params = Params { fpu_at_root: Some(Fpu::Absolute(2.0)), ..Params::default() };
    for moves in [MAX_ROOT_MOVES, MAX_ROOT_MOVES + 1, 593] {
        let best = Some(Move(moves as u16 - 1));
        on_both!(5000, 200_000, params, |search| {
            search.run(&mut Wide(moves as u16), MostMoves::<600>, MostPlies::<64>, 3000).unwrap();
            let (plain, cold) = (*search.params(), Temperature { start: 0.01, ..Temperature::default() });
            assert_eq!(search.best_move(), best);
            let mut ranked = Vec::<_, 3>::new();
            search.rank_root(ranked.as_mut_view());
            assert_eq!((ranked.len(), ranked[0].mv()), (3, best));
            assert!(ranked[1].n() >= ranked[2].n() && ranked[1].mv() != best);
            drop(ranked);
            search.set_params(Params { final_choice: FinalChoice::Lcb(Lcb::default()), ..plain });
            assert_eq!(search.edge_to_play(0).and_then(|edge| edge.mv()), best);
            search.set_params(Params { temperature: cold, ..plain });
            assert_eq!(search.edge_to_play(0).and_then(|edge| edge.mv()), best);
        });
    }
}

/// Even for a host that leaves the seed as it is, chance decides at each ply anew.
#[test]
fn a_choice_by_chance_is_another_one_at_each_ply() {
    use crate::formula::temperature::Temperature;
    let warm = Temperature { start: 1.0, ..Temperature::default() };
    let params = Params { temperature: warm, fpu_at_root: Some(Fpu::Absolute(2.0)), ..Params::default() };
    on_both!(100, 5000, params, |search| {
        search.run(&mut Wide(10), MostMoves::<10>, MostPlies::<64>, 11).unwrap();
        let played = |ply| search.edge_to_play(ply).and_then(|edge| edge.mv());
        let moves: std::collections::HashSet<_> = (0..40).map(played).collect();
        assert!(moves.len() > 5, "{moves:?}");
        assert!((0..40).all(|ply| played(ply) == played(ply)));
    });
}

#[test]
fn a_ranking_has_the_move_to_play_first_and_the_others_in_order() {
    use crate::formula::lcb::{FinalChoice, Lcb};
    let mut game = RandomGame { seed: 8, width: 9, length: 30, endings: 0, ..RandomGame::of(0) };
    // Looks for games in which a bound chooses another move than the visits do.
    let mut overtaken = 0;
    for seed in 0..40 {
        game.seed = seed;
        on_both!(2000, 100_000, Params::default(), |search| {
            search.run_game(&mut game, 300);
            let best = search.best_move();
            let lcb = FinalChoice::Lcb(Lcb { stdevs: 0.0, min_visit_share: 0.05 });
            search.set_params(Params { final_choice: lcb, ..Params::default() });
            let chosen = search.edge_to_play(0).and_then(|edge| edge.mv());
            overtaken += u32::from(chosen != best);
            let mut all = Vec::<_, EDGES>::new();
            search.rank_root(all.as_mut_view());
            assert_eq!((all.len(), all[0].mv()), (search.root_node().edge_count(), chosen));
            assert!(all[1..].is_sorted_by(|a, b| a.completed() >= b.completed()));
            // With less room, the list has the first moves of the ranking.
            let mut two = Vec::<_, 2>::new();
            search.rank_root(two.as_mut_view());
            let named =
                |edges: &[EdgeView<'_, _>]| edges.iter().map(|edge| (edge.mv(), edge.index())).collect::<List<_>>();
            assert_eq!(named(&two), named(&all[..two.len()]));
            search.rank_root(Vec::<_, 0>::new().as_mut_view());
        });
    }
    assert!(overtaken > 5, "{overtaken}");
}

/// Nobody locks the parent on the way to the child then. A repetition may be opened again, and so be a leaf.
#[test]
fn an_edge_is_firm_once_its_child_will_not_be_a_leaf_again() {
    use crate::evaluate::Ending;
    let mut game = WrittenGame(|line| match line {
        [1] => (Verdict::drawn(), &[]),
        [2] => (Verdict::Terminal(Value { m: 1.0, ..Value::DRAW }, Ending::TwoFold), &[]),
        [_, ..] => (ours(line, 0.0), &[1.0]),
        [] => (ours(line, 0.0), &[0.4, 0.3, 0.3]),
    });
    on_tree!(100, 5000, as_written(), |search| {
        (0..3).for_each(|mv| search.visit(&mut game, mv, 2));
        let root = search.repository.lock(search.root.unwrap());
        assert_eq!([0, 1, 2].map(|at| root.is_firm(at)), [true, true, false]);
    });
}

/// Noise is for the root alone, and another seed makes another one.
#[test]
fn the_roots_priors_have_noise_and_no_others() {
    use crate::formula::noise::Dirichlet;
    let game = || WrittenGame(|line| (ours(line, 0.0), &[0.5, 0.25, 0.25]));
    let mut found = List::new();
    let noise = Dirichlet { epsilon: 0.5, alpha: 1.0 };
    for params in [as_written(), Params { noise, seed: 1, ..as_written() }, Params { noise, seed: 2, ..as_written() }] {
        on_both!(100, 5000, params, |search| {
            search.run(&mut game(), MostMoves::<EDGES>, MostPlies::<64>, 2).unwrap();
            let priors = |node: NodeView<'_, _>| {
                let mut priors: List<_> =
                    node.edges().map(|edge| (edge.mv_or(|at| Move(at as u16)).0, edge.p())).collect();
                priors.sort_by_key(|prior| prior.0);
                priors
            };
            let child = search.root_node().visited().find_map(|edge| edge.child()).unwrap();
            found.push((priors(search.root_node()), priors(child)));
        });
    }
    let [plain, _, one, same, other, _] = &found[..] else { unreachable!("three on each of two repositories") };
    assert!(plain.0 != one.0 && one.0 != other.0 && one.0 == same.0, "{found:?}");
    assert_eq!((&plain.1, &plain.1), (&one.1, &other.1));
}

/// Nothing has checked that the parameters are numbers.
#[test]
fn parameters_that_are_no_numbers_lead_nowhere_but_harm_nothing() {
    use crate::formula::noise::Dirichlet;
    let mut game = RandomGame { seed: 9, width: 9, length: 9, endings: 0, ..RandomGame::of(0) };
    let plain = Params::default();
    let noise = |epsilon| Dirichlet { epsilon, alpha: 0.3 };
    let no_number = Cpuct { init: f32::NAN, ..Cpuct::default() };
    let far = Cpuct { init: f32::INFINITY, ..Cpuct::default() };
    for params in [
        Params { policy_temperature: 0.0, ..plain },
        Params { policy_temperature: -1.0, ..plain },
        Params { policy_temperature: f32::NAN, ..plain },
        Params { noise: noise(1.5), ..plain },
        Params { noise: noise(f32::INFINITY), ..plain },
        Params { cpuct: no_number, cpuct_at_root: Some(no_number), ..plain },
        Params { cpuct: far, cpuct_at_root: Some(far), ..plain },
        Params { draw_score: f32::NAN, ..plain },
        Params { fpu: Fpu::Absolute(f32::NAN), fpu_at_root: Some(Fpu::Absolute(f32::NAN)), ..plain },
    ] {
        assert!(params.check().is_err(), "{params:?}");
        on_both!(1000, 50_000, params, |search| {
            search.run_game(&mut game, 1);
            let edges = search.root_node().edge_count();
            assert_eq!(search.root_node().edges().count(), edges, "each prior is one edge's");
            search.run_game(&mut game, 199);
            assert_eq!((search.visits(), search.root_node().edges().count()), (200, edges), "{params:?}");
            assert!(search.best_edge().is_some());
            search.set_remaining_playouts(Some(1000));
            search.run_game(&mut game, 10);
            assert_eq!(search.visits(), 210, "{params:?}");
            audit(search, &Audit::drained(game));
        });
    }
}

/// Lists `moves` moves of each position but gives `logits` logits; or fails at the leaves below the root.
struct Careless {
    moves: u16,
    logits: usize,
    fails: bool,
}

impl Evaluator for Careless {
    type Error = &'static str;

    fn legal_moves(&mut self, _: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend((0..self.moves).map(Move));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        policy.extend(core::iter::repeat_n(0.0, self.logits));
        let answer = Answer { key: 0, verdict: Verdict::Position(Value::EVEN) };
        if self.fails && line.len() > 0 { Err("no network") } else { Ok(answer) }
    }
}

#[test]
fn an_evaluator_that_lists_other_moves_than_it_has_logits_for_is_told() {
    for (moves, logits) in [(2, 5), (5, 2), (0, 3)] {
        on_both!(100, 5000, Params::default(), |search| {
            let mut careless = Careless { moves, logits, fails: false };
            let told = Err(RunError::ListsDiffer { moves: moves.into(), logits });
            // The root is evaluated without asking for the list of moves, its children are not.
            assert_eq!(search.run(&mut careless, MostMoves::<EDGES>, MostPlies::<64>, 10), told);
            assert_eq!((search.visits(), search.root_node().in_flight()), (1, 0));
            assert_eq!(search.run(&mut careless, MostMoves::<EDGES>, MostPlies::<64>, 10), told, "and once more");
        });
    }
}

#[test]
fn what_ends_a_run_is_an_error_that_says_why() {
    fn says(error: impl core::error::Error) -> std::string::String {
        std::format!("{error}")
    }
    on_both!(100, 5000, Params::default(), |search| {
        let failed =
            search.run(&mut Careless { moves: 2, logits: 2, fails: true }, MostMoves::<EDGES>, MostPlies::<64>, 10);
        assert_eq!(
            failed.map_err(|error| std::format!("{error}")).unwrap_err(),
            "the evaluator failed: no network",
            "also where the evaluator's error is a text"
        );
        let differ = search
            .run(&mut Careless { moves: 1, logits: 2, fails: false }, MostMoves::<EDGES>, MostPlies::<64>, 10)
            .unwrap_err();
        assert_eq!(
            says(differ),
            "the evaluator listed 1 moves and gave 2 logits for the same position, or for two with equal keys that are not equal"
        );
    });
    on_both!(100, 5000, Params::default(), |search| {
        let error = search
            .run(&mut Careless { moves: 0, logits: 0, fails: false }, MostMoves::<EDGES>, MostPlies::<64>, 10)
            .unwrap_err();
        let why = "a position that goes on came without a legal move";
        assert_eq!(says(error), std::format!("the evaluator's answer was refused: {why}"));
    });
    assert_eq!(says(Refused::TooManyEdges), "more than 1023 legal moves came");
    assert_eq!(std::format!("{:>3}", Move(7)), "  7");
}
