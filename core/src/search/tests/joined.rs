//! Events that come back together.

use super::*;
use quickcheck::QuickCheck;

/// Gathers once more on a search that is in the same state as the first.
fn gathered<R: Repository>(search: &mut Search<R>, game: &mut RandomGame, size: usize) -> Batch {
    run_in_batches(search, game, 1, 100);
    let mut batch = Batch::new(size);
    batch.gather(search);
    batch
}

/// Events that come back together leave the same tree as the same answers one at a time, in the order in which the
/// leaves are in the tree. The only exception is a proven draw: it takes its moves left from the result that came last,
/// and together they come at once.
fn leaves_the_same_tree(seed: u64, size: u8, params: Params) {
    let mut game = RandomGame::of(seed);
    let size = 2 + usize::from(size) % 40;
    let mut shapes = List::new();
    on_both!(3000, 150_000, params, |search| {
        let mut joined = gathered(search, &mut game, size);
        for event in joined.events.iter_mut().filter(|event| event.stage == event::Stage::Leaf) {
            let (answer, mut policy) = ask(&mut game, event);
            search.settle(event, &answer, &mut policy).unwrap();
        }
        search.bring_back(&mut joined.events);
        joined.events.iter_mut().for_each(|event| search.cancel(event));
        audit(search, &Audit::drained(game));
        shapes.push((shape(search), search.visits(), search.root_node().value()));
    });
    on_both!(3000, 150_000, params, |search| {
        let mut single = gathered(search, &mut game, size);
        let path = |event: &TestEvent| event.path.iter().map(|step| step.at).collect::<List<_>>();
        single.events.sort_by_key(path);
        for event in &mut single.events {
            match event.stage {
                event::Stage::Leaf => {
                    let (answer, mut policy) = ask(&mut game, event);
                    search.answer(event, &answer, &mut policy).unwrap();
                }
                event::Stage::Known { .. } => search.backprop(event).unwrap(),
                _ => search.cancel(event),
            }
        }
        audit(search, &Audit::drained(game));
        shapes.push((shape(search), search.visits(), search.root_node().value()));
    });
    if params.sticky_endgames {
        for (edges, _, root) in &mut shapes {
            edges.iter_mut().filter_map(|edge| edge.3.as_mut()).chain([root]).for_each(|value| value.m = 0.0);
        }
    }
    for other in &shapes[1..] {
        let differ = |(ours, theirs)| (ours != theirs).then_some((ours, theirs));
        assert_eq!(shapes[0].0.iter().zip(&other.0).find_map(differ), None);
        assert_eq!(shapes[0], *other);
    }
}

#[test]
fn joined_events_leave_the_same_tree() {
    fn holds(seed: u64, size: u8, sticky_endgames: bool) -> bool {
        leaves_the_same_tree(seed, size, Params { sticky_endgames, ..Params::default() });
        true
    }
    QuickCheck::new().tests(100).quickcheck(holds as fn(u64, u8, bool) -> bool);
}

/// Wherever in the slice an event stands.
#[test]
fn of_two_events_the_one_that_is_ready_comes_back() {
    let mut game = RandomGame { seed: 2, width: 9, length: 9, endings: 0, ..RandomGame::of(0) };
    for ready in [0, 1] {
        on_both!(1000, 50_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1, 30);
            let mut events = [events::leaf(search), events::leaf(search)];
            let (answer, mut policy) = ask(&mut game, &mut events[ready]);
            search.settle(&mut events[ready], &answer, &mut policy).unwrap();
            search.bring_back(&mut events);
            assert_eq!(search.visits(), 31);
            audit(search, &Audit { flying: &events, ..Audit::drained(game) });
            assert_eq!(events.iter().filter(|event| event.is_under_way()).count(), 1);
            events.iter_mut().for_each(|event| search.cancel(event));
            audit(search, &Audit::drained(game));
        });
    }
}

#[test]
fn what_was_settled_in_a_tree_that_is_gone_does_not_come_back() {
    let mut game = RandomGame { seed: 2, width: 9, length: 9, endings: 0, ..RandomGame::of(0) };
    on_both!(1000, 50_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 30);
        let mut events = [events::leaf(search), events::leaf(search)];
        let (answer, mut policy) = ask(&mut game, &mut events[0]);
        search.settle(&mut events[0], &answer, &mut policy).unwrap();
        search.clear();
        run_in_batches(search, &mut game, 1, 20);
        let before = (shape(search), search.visits());
        search.bring_back(&mut events);
        assert_eq!((shape(search), search.visits()), before);
        audit(search, &Audit::drained(game));
        // It is at its end. The other one still waits: it may be another search's.
        assert_eq!(events.iter().filter(|event| event.is_under_way()).count(), 1);
    });
}

#[test]
fn events_that_wait_are_left_as_they_are() {
    fn holds(seed: u64, size: u8) -> bool {
        let mut game = RandomGame::of(seed);
        on_both!(3000, 150_000, Params::default(), |search| {
            let mut batch = gathered(search, &mut game, 2 + usize::from(size) % 40);
            let waits =
                |(at, event): &(usize, &mut TestEvent)| event.stage == event::Stage::Leaf && at.is_multiple_of(2);
            for (_, event) in batch.events.iter_mut().enumerate().filter(waits) {
                let (answer, mut policy) = ask(&mut game, event);
                search.settle(event, &answer, &mut policy).unwrap();
            }
            search.bring_back(&mut batch.events);
            audit(search, &Audit { flying: &batch.events, ..Audit::drained(game) });
            // Bringing them back once more changes nothing.
            let before = (shape(search), search.visits());
            search.bring_back(&mut batch.events);
            assert_eq!(before, (shape(search), search.visits()));
            batch.events.iter_mut().for_each(|event| search.cancel(event));
            audit(search, &Audit::drained(game));
        });
        true
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(u64, u8) -> bool);
}
