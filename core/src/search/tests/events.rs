//! Events that come late, twice, or with nonsense.

use super::*;
use crate::evaluate::Verdict;
use crate::tree::MAX_EDGES;

/// Gathers until a leaf is met.
pub fn leaf<R: Repository>(search: &Search<R>) -> TestEvent {
    let mut event = TestEvent::new();
    while search.gather(&mut event) != Gathered::Leaf {
        search.backprop(&mut event).unwrap();
    }
    event
}

#[test]
fn late_answers_hit_nobody() {
    let mut game = RandomGame::of(5);
    on_both!(1000, 50_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 50);
        let (mut event, mut other) = (leaf(search), TestEvent::new());
        let (answer, mut policy) = ask(&mut game, &mut event);
        assert_ne!(search.gather(&mut other), Gathered::NoMoves);
        search.clear();
        run_in_batches(search, &mut game, 1, 20);
        assert_eq!(search.answer(&mut event, &answer, &mut policy), Err(Refused::Stale));
        search.cancel(&mut other);
        search.bring_back(&mut [&mut event, &mut other]);
        assert_eq!(search.visits(), 20);
        audit(search, &Audit::drained(game));
    });
}

#[test]
fn who_advances_with_playouts_under_way_begins_anew() {
    let game = RandomGame { seed: 21, width: 6, length: 20, endings: 0, ..RandomGame::of(0) };
    // Advances from a root that is being evaluated and from a tree, each by a move and by none.
    for (playouts, on_the_way) in [(0, true), (0, false), (60, true), (60, false)] {
        on_both!(1000, 50_000, Params::default(), |search| {
            let mut game = game;
            run_in_batches(search, &mut game, 1, playouts);
            let mut event = leaf(search);
            let (answer, mut policy) = ask(&mut game, &mut event);
            let first = game.legal(game.position([].into_iter())).next().unwrap();
            let moves = [first];
            assert_eq!(search.advance(&moves[..usize::from(on_the_way)]), 0);
            assert_eq!(search.answer(&mut event, &answer, &mut policy), Err(Refused::Stale));
            run_in_batches(search, &mut game, 1, 20);
            assert_eq!(search.visits(), 20);
            audit(search, &Audit::drained(game));
        });
    }
}

/// An answer that has entered the tree counts, whether its event is brought back, cancelled or gathered anew: a leaf
/// never has more visits than its edge.
#[test]
fn a_settled_playout_is_not_taken_back() {
    for (seed, anew) in (0..20).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut game = RandomGame { endings: 0, length: 40, ..RandomGame::of(seed) };
        on_both!(1000, 50_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 50);
            let before = search.visits();
            let mut event = leaf(search);
            let known = search.visits() - before;
            let (answer, mut policy) = ask(&mut game, &mut event);
            search.settle(&mut event, &answer, &mut policy).unwrap();
            if anew {
                let _ = search.gather(&mut event);
            }
            search.cancel(&mut event);
            assert_eq!(search.visits(), before + known + 1, "seed {seed}");
            audit(search, &Audit::drained(game));
        });
    }
}

#[test]
fn an_answer_that_makes_no_sense_leaves_no_trace() {
    let mut game = RandomGame::of(6);
    let even = Answer { key: 0, verdict: Verdict::Position(Value::EVEN) };
    on_both!(1000, 50_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 50);
        let nodes = search.visits();
        let mut many = std::vec![0.0; MAX_EDGES + 1];
        for (policy, refused) in [(0, Refused::NoEdges), (MAX_EDGES + 1, Refused::TooManyEdges)] {
            let mut event = leaf(search);
            event.name(Move(1));
            assert_eq!(search.answer(&mut event, &even, &mut many[..policy]), Err(refused));
            audit(search, &Audit::drained(game));
        }
        let mut event = leaf(search);
        if event.unnamed().is_some() {
            assert_eq!(search.answer(&mut event, &even, &mut [0.0]), Err(Refused::Unnamed));
        }
        audit(search, &Audit::drained(game));
        assert_eq!(search.visits(), nodes);
    });
}

#[test]
fn a_position_may_have_as_many_moves_as_a_node_has_room_for() {
    let even = Answer { key: 0, verdict: Verdict::Position(Value::EVEN) };
    on_both!(100, 10_000, Params::default(), |search| {
        assert_eq!(search.answer(&mut leaf(search), &even, &mut [0.0; MAX_EDGES]), Ok(()));
        assert_eq!((search.visits(), search.root_node().edge_count()), (1, MAX_EDGES));
    });
}

#[test]
fn a_move_is_named_once() {
    let mut game = RandomGame { seed: 2, width: 9, length: 9, endings: 0, ..RandomGame::of(0) };
    on_both!(1000, 50_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 1);
        let mut event = leaf(search);
        assert_eq!((event.unnamed().is_some(), event.plies(), event.moves().len()), (true, 1, 0));
        let (answer, mut policy) = ask(&mut game, &mut event);
        let named = event.moves().next();
        event.name(Move(500));
        assert_eq!(event.moves().next(), named);
        // The event is not answered: the next playout asks again.
        search.cancel(&mut event);
        let mut event = leaf(search);
        assert!(event.unnamed().is_some());
        let again = ask(&mut game, &mut event);
        assert_eq!((again.0, &again.1), (answer, &policy));
        search.answer(&mut event, &answer, &mut policy).unwrap();
        assert_eq!(search.root_node().visited().next().unwrap().mv(), named);
    });
}

#[test]
fn the_two_ways_back_can_not_be_confused() {
    let mut game = RandomGame { seed: 1, width: 1, length: 2, endings: 0, ..RandomGame::of(0) };
    on_both!(100, 5000, Params::default(), |search| {
        let mut event = TestEvent::new();
        assert_eq!(search.gather(&mut event), Gathered::Leaf);
        assert_eq!(search.backprop(&mut event), Err(Refused::Stale), "nothing is known of a leaf");
        let (answer, mut policy) = ask(&mut game, &mut event);
        assert_eq!(search.answer(&mut event, &answer, &mut policy), Ok(()));
        run_in_batches(search, &mut game, 1, 20);
        assert_eq!(search.gather(&mut event), Gathered::Known);
        let before = search.root_node().value();
        assert_eq!(search.answer(&mut event, &answer, &mut policy), Err(Refused::Stale), "it was answered already");
        assert_eq!(search.root_node().value(), before);
        assert_eq!(search.backprop(&mut event), Ok(()));
        assert_eq!(search.backprop(&mut event), Err(Refused::Stale), "it is back already");
        audit(search, &Audit::drained(game));
        assert_eq!(search.gather(&mut event), Gathered::Known);
        search.clear();
        assert_eq!(search.backprop(&mut event), Err(Refused::Stale), "its tree is gone");
    });
}

#[test]
fn an_edge_has_only_so_many_visits_in_flight() {
    // Every position has one move: there is a known end from which any number of playouts may be on the way back.
    let mut game = RandomGame { seed: 1, width: 1, length: 1, endings: 0, ..RandomGame::of(0) };
    let params = Params { sticky_endgames: false, ..Params::default() };
    on_both!(100, 5000, params, |search| {
        run_in_batches(search, &mut game, 1, 5);
        let most = usize::from(crate::repository::Visit::MOST_IN_FLIGHT);
        let mut events: List<_> = (0..most + 5).map(|_| TestEvent::new()).collect();
        let met: List<Gathered> = events.iter_mut().map(|event| search.gather(event)).collect();
        assert!(met[..most].iter().all(|met| *met == Gathered::Known));
        assert!(met[most..].iter().all(|met| *met == Gathered::Collision));
        audit(search, &Audit { flying: &events, ..Audit::drained(game) });
        events[most..].iter_mut().for_each(|event| search.cancel(event));
        search.bring_back(&mut events[..most]);
        audit(search, &Audit::drained(game));
        assert_eq!(search.visits() as usize, 5 + most);
    });
}

#[test]
fn an_event_that_is_gathered_again_leaves_nothing_behind() {
    let mut game = RandomGame::of(6);
    on_both!(1000, 50_000, Params::default(), |search| {
        // The leaf is the root, where every other playout would collide with it, or lies below.
        for playouts in [0, 50] {
            run_in_batches(search, &mut game, 1, playouts);
            let mut events = [leaf(search), TestEvent::new()];
            assert_eq!(search.gather(&mut events[0]), Gathered::Leaf);
            audit(search, &Audit { flying: &events[..1], ..Audit::drained(game) });
            search.gather_together(&mut events);
            assert_eq!(events[0].met(), Gathered::Leaf);
            events.iter_mut().for_each(|event| search.cancel(event));
            audit(search, &Audit::drained(game));
        }
        search.run_game(&mut game, 50);
        // The same with an event that was answered and never brought back.
        let mut event = leaf(search);
        let (answer, mut policy) = ask(&mut game, &mut event);
        search.settle(&mut event, &answer, &mut policy).unwrap();
        let _ = search.gather(&mut event);
        search.cancel(&mut event);
        assert_eq!(search.root_node().in_flight(), 0);
        search.run_game(&mut game, 50);
    });
}

#[test]
fn who_runs_into_what_is_in_flight_hears_of_it() {
    let mut game = RandomGame { seed: 1, width: 1, length: 9, endings: 0, ..RandomGame::of(0) };
    on_both!(1000, 50_000, Params::default(), |search| {
        for playouts in [0, 3] {
            search.run_game(&mut game, playouts);
            let nodes = search.visits();
            let mut event = leaf(search);
            assert_eq!(search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 10), Err(RunError::InFlight));
            assert_eq!(search.visits(), nodes);
            search.cancel(&mut event);
            audit(search, &Audit::drained(game));
            search.run_game(&mut game, 2);
        }
        // An event that was dropped can't be taken back by anyone.
        drop(leaf(search));
        assert_eq!(search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 10), Err(RunError::InFlight));
        search.clear();
        search.run_game(&mut game, 10);
        assert_eq!(search.visits(), 10);
    });
}

#[test]
fn an_event_of_another_search_is_stale() {
    let mut game = RandomGame { seed: 3, width: 6, length: 20, endings: 0, ..RandomGame::of(0) };
    on_both!(1000, 50_000, Params::default(), |search| {
        on_tree!(1000, 50_000, Params::default(), |other| {
            // Neither search has cleared its tree or moved its root: in that the two are alike.
            run_in_batches(search, &mut game, 1, 60);
            run_in_batches(other, &mut game, 1, 2);
            let mut event = leaf(search);
            let mut strays = [TestEvent::new(), TestEvent::new()];
            search.gather_together(&mut strays);
            let in_flight = search.root_node().in_flight();
            let (answer, mut policy) = ask(&mut game, &mut event);
            assert!(search.is_in_flight(&event) && !other.is_in_flight(&event));
            assert_eq!(other.answer(&mut event, &answer, &mut policy), Err(Refused::Stale));
            other.cancel(&mut strays[0]);
            other.bring_back(&mut strays);
            audit(other, &Audit::drained(game));
            other.run_game(&mut game, 50);
            // The event still belongs to its own search. What the stray events had in flight there stays until the tree
            // is cleared.
            search.answer(&mut event, &answer, &mut policy).unwrap();
            assert_eq!((search.visits(), search.root_node().in_flight()), (61, in_flight - 1));
            search.clear();
            search.run_game(&mut game, 20);
            audit(search, &Audit::drained(game));
        });
    });
}
