//! Visits, values, choices.

use super::*;
use crate::evaluate::{Moves, Verdict};
use crate::tree::Sums;
use heapless::VecView;
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
            assert_eq!(playouts, u64::from(search.nodes()));
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
        // Different memory, different loops.
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

/// To the visit, also with many playouts under way and after the game has gone on.
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
        assert_eq!(search.run::<_, EDGES, 64>(&mut Loud, 10), Ok(()));
        assert_eq!(search.run::<_, EDGES, 64>(&mut Loud, 290), Ok(()));
        let value = search.root_node().value();
        assert!(value.wl.abs() <= 1.0 && (0.0..=1.0).contains(&value.d) && value.m >= 0.0, "{value:?}");
    });
}

#[test]
fn visits_are_counted_up_to_a_limit() {
    let mut game = RandomGame { seed: 4, width: 4, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(500, 20_000, Params::default(), |search| {
        search.run_game(&mut game, 2);
        let root = search.root.unwrap();
        search.repository.lock(root).add(MAX_VISITS.wrapping_sub(22) as i32, Sums::of(Value::EVEN, MAX_VISITS - 22));
        assert_eq!(search.nodes(), MAX_VISITS - 20);
        let mut batch = Batch::new(10);
        batch.gather(search);
        batch.answer(search, &mut game);
        assert_eq!(search.run::<_, EDGES, 64>(&mut game, u64::MAX), Ok(()));
        assert_eq!(search.nodes(), MAX_VISITS);
    });
}

#[test]
fn longer_lines_than_a_path_holds_do_not_stop_the_search() {
    let mut game = RandomGame { seed: 3, width: 1, length: 1000, endings: 0, ..RandomGame::of(0) };
    on_both!(100, 5000, Params::default(), |search| {
        assert_eq!(search.run::<_, 4, 8>(&mut game, 30), Ok(()));
        assert_eq!(search.nodes(), 30);
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
            assert_eq!(edge.n(), if edge.is(last, legal.len() - 1) { 100 } else { 0 });
        }
        // None named means all.
        search.set_root_moves([]);
        search.run_game(&mut game, 300);
        assert!(search.root_node().edges().filter(|edge| edge.n() > 0).count() > 1);
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
