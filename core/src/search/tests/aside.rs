//! Visits that come back aside: they count below the root only.

use super::*;
use crate::evaluate::Ending;
use quickcheck::QuickCheck;

/// A game that goes on at the root, in which every second one has positions that are reached on several paths.
fn game_of(seed: u64) -> RandomGame {
    RandomGame { commuting: seed % 2 == 1, ..RandomGame::of(seed) }
}

/// Makes one playout aside, if it can be made. Returns what it met.
fn go_aside<R: Repository>(search: &mut Search<R>, game: &mut RandomGame) -> Gathered {
    let mut event = TestEvent::new();
    let met = search.gather_aside(&mut event);
    bring_aside(search, game, &mut event, met);
    met
}

fn bring_aside<R: Repository>(search: &Search<R>, game: &mut RandomGame, event: &mut TestEvent, met: Gathered) {
    match met {
        Gathered::Leaf => {
            let (answer, mut policy) = ask(game, event);
            search.settle(event, &answer, &mut policy).unwrap();
            search.bring_back_aside(core::slice::from_mut(event));
        }
        Gathered::Known => search.bring_back_aside(core::slice::from_mut(event)),
        _ => search.cancel(event),
    }
}

/// Makes playouts aside that begin with a root move.
fn visit_aside<R: Repository>(search: &mut Search<R>, game: &mut RandomGame, mv: Move, visits: u32) {
    let place = game.legal(game.position(core::iter::empty())).position(|other| other == mv).unwrap();
    search.set_root_moves([(place, mv)]);
    for _ in 0..visits {
        let met = go_aside(search, game);
        assert!(matches!(met, Gathered::Leaf | Gathered::Known), "{met:?}");
    }
    search.set_root_moves([]);
}

/// The visits of a root move's child, and those of its edge.
fn visits_of<R: Repository>(search: &Search<R>, mv: Move) -> (u32, u32) {
    let edge = search.root_node().visited().find(|edge| edge.mv() == Some(mv));
    edge.map_or((0, 0), |edge| (edge.child().map_or(0, |child| child.n()), edge.completed()))
}

fn root_moves(game: &RandomGame) -> List<Move> {
    game.legal(game.position(core::iter::empty())).collect()
}

/// A move, its visits and their value.
type Edge = (Option<Move>, u32, Option<Value>);

/// What the root knows: its visits, its value, and those of its edges that have visits.
fn known_at_root<R: Repository>(search: &Search<R>) -> (u32, Value, List<Edge>) {
    let visited = search.root_node().visited().filter(|edge| edge.n() > 0);
    (search.visits(), search.root_node().value(), visited.map(|edge| (edge.mv(), edge.n(), edge.value())).collect())
}

#[test]
fn they_count_below_the_root_only() {
    fn check<R: Repository>(search: &mut Search<R>, mut game: RandomGame) {
        search.run_game(&mut game, 40);
        let before = known_at_root(search);
        for mv in root_moves(&game) {
            let (of_child, _) = visits_of(search, mv);
            visit_aside(search, &mut game, mv, 5);
            let more = visits_of(search, mv).0 - of_child;
            // In a graph a leaf may be known from another path: then it counts no visit.
            assert!(more == 5 || search.repository.is_graph() && more < 5, "{more}");
        }
        assert_eq!(known_at_root(search), before);
        audit(search, &Audit { aside: true, ..Audit::drained(game) });
    }
    for seed in 0..30 {
        on_both!(5000, 200_000, Params::default(), |search| check(search, game_of(seed)));
        on_both_graphs!(5000, 200_000, Params::default(), |search| check(search, game_of(seed)));
    }
}

/// Whatever comes back in whatever order, every node keeps what holds of it.
#[test]
fn both_kinds_go_together() {
    fn check<R: Repository>(search: &mut Search<R>, mut game: RandomGame, size: usize) {
        let (mut counted, mut luck) = (0, game.seed);
        let mut batch = Batch::new(size);
        for round in 0..30 {
            batch.met.clear();
            for event in &mut batch.events {
                luck = games::mix(luck, round);
                let met = if luck % 2 == 0 { search.gather(event) } else { search.gather_aside(event) };
                match met {
                    Gathered::Full if !batch.met.is_empty() => break,
                    Gathered::Full => assert!(search.recycle() > 0, "nothing to fold"),
                    _ => {}
                }
                batch.met.push(met);
            }
            let audited = Audit { aside: true, short_of_room: true, ..Audit::drained(game) };
            audit(search, &Audit { flying: batch.flying(), ..audited });
            for (event, met) in batch.events.iter_mut().zip(&batch.met) {
                luck = games::mix(luck, round);
                // The root's own evaluation is no visit of a move.
                if luck % 3 > 0 && event.plies() > 0 {
                    bring_aside(search, &mut game, event, *met);
                    continue;
                }
                let restored = search.restored();
                match met {
                    Gathered::Leaf => {
                        let (answer, mut policy) = ask(&mut game, event);
                        search.answer(event, &answer, &mut policy).unwrap();
                    }
                    Gathered::Known => search.backprop(event).unwrap(),
                    _ => search.cancel(event),
                }
                let counts = matches!(met, Gathered::Leaf | Gathered::Known) && search.restored() == restored;
                counted += u32::from(counts);
            }
            audit(search, &Audit { aside: true, short_of_room: true, ..Audit::drained(game) });
            assert_eq!(search.visits(), counted);
        }
    }
    fn holds(seed: u64, size: u8) -> bool {
        let (game, size) = (RandomGame { endings: 5, ..game_of(seed) }, 1 + usize::from(size) % 12);
        for (nodes, words) in [(5000, 200_000), (60, 2500)] {
            on_both!(nodes, words, Params::default(), |search| check(search, game, size));
            on_both_graphs!(nodes, words, Params::default(), |search| check(search, game, size));
        }
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64, u8) -> bool);
}

/// A move whose visits came aside is worth no more to the search than one without visits.
#[test]
fn the_search_takes_the_move_that_it_would_have_taken() {
    for seed in 0..40 {
        let mut game = game_of(seed);
        let mut taken = List::new();
        for params in [Params::default(), Params { fpu_parent_power: 1.0, ..Params::default() }] {
            for aside in [0, 3] {
                on_both!(5000, 200_000, params, |search| {
                    search.run_game(&mut game, 1);
                    root_moves(&game).into_iter().for_each(|mv| visit_aside(search, &mut game, mv, aside));
                    search.run_game(&mut game, 1);
                    let (.., edges) = known_at_root(search);
                    taken.push(edges.iter().map(|edge| edge.0).collect::<List<_>>());
                });
            }
        }
        assert!(taken[0].len() == 1 && taken.iter().all(|moves| *moves == taken[0]), "{seed}: {taken:?}");
    }
}

/// The priors of moves whose visits came aside are priors of visited moves: other moves without visits are less urgent.
#[test]
fn they_make_moves_without_visits_less_urgent() {
    let game = || {
        WrittenGame(|line: &[u16]| match line {
            [] => (ours(line, 0.0), &[0.4, 0.3, 0.3][..]),
            [0, ..] => (ours(line, -0.65), &[1.0][..]),
            _ => (ours(line, 0.0), &[1.0][..]),
        })
    };
    let params = Params { fpu: Fpu::Reduction(1.0), fpu_parent_power: 1.0, ..as_written() };
    // The first move has a score of −0.30. If it is all that was visited, the others have −0.24, and otherwise −0.54.
    for (aside, expected) in [(false, 1), (true, 0)] {
        on_both!(100, 1000, params, |search| {
            search.visit(&mut game(), 0, 1);
            if aside {
                search.set_root_moves([(1, Move(1))]);
                let mut event = TestEvent::new();
                assert_eq!(search.gather_aside(&mut event), Gathered::Leaf);
                event.name(Move(1));
                let answer = Answer { key: 0, verdict: ours(&[1], 0.0) };
                search.settle(&mut event, &answer, &mut [0.0]).unwrap();
                search.bring_back_aside(core::slice::from_mut(&mut event));
                search.set_root_moves([]);
            }
            let mut event = TestEvent::new();
            assert_eq!(search.gather(&mut event), Gathered::Leaf);
            let first = event.moves().next().map_or(event.unnamed(), |mv| Some(mv.0.into()));
            assert_eq!(first, Some(expected));
        });
    }
}

/// Where a graph's edges catch up with the visits of their children, visits that came aside are there to be taken.
#[test]
fn a_graph_catches_up_with_them() {
    let params = Params { catch_up: CatchUp::Visits, ..Params::default() };
    for seed in 0..20 {
        let mut game = RandomGame { endings: 0, commuting: true, length: 30, ..RandomGame::of(seed) };
        on_both_graphs!(5000, 200_000, params, |search| {
            search.run_game(&mut game, 1);
            let mv = root_moves(&game)[0];
            visit_aside(search, &mut game, mv, 12);
            let (all, _) = visits_of(search, mv);
            // A playout aside is not content with that: it goes on below.
            visit_aside(search, &mut game, mv, 1);
            assert_eq!((visits_of(search, mv), all), ((all + 1, 0), 12));
            let before = search.run_counts().evaluations;
            search.visit(&mut game, mv.0, 13);
            assert_eq!((visits_of(search, mv), search.run_counts().evaluations), ((13, 13), before));
            let child = search.edge_of(mv.0).child().expect("it was visited");
            let value = crate::repository::EdgeValue::of_child(child.value());
            assert_eq!(search.edge_of(mv.0).q(0.0), Some(value.q(0.0)));
            search.visit(&mut game, mv.0, 1);
            assert_eq!((visits_of(search, mv), search.run_counts().evaluations), ((14, 14), before + 1));
            audit(search, &Audit { aside: true, ..Audit::drained(game) });
        });
    }
}

/// Where they catch up with the values of their children, a playout aside goes on below all the same; another one ends
/// there, because the edge's value is not the child's any more.
#[test]
fn a_value_that_the_edge_does_not_have_yet_holds_none_of_them_up() {
    let caught_up = core::cell::Cell::new(0);
    for seed in 0..20 {
        let mut game = RandomGame { endings: 0, commuting: true, length: 30, ..RandomGame::of(seed) };
        on_both_graphs!(5000, 200_000, Params { catch_up: CatchUp::Values, ..Params::default() }, |search| {
            search.run_game(&mut game, 1);
            let mv = root_moves(&game)[0];
            visit_aside(search, &mut game, mv, 1);
            search.visit(&mut game, mv.0, 1);
            let (first, of_edge) = visits_of(search, mv);
            for more in 1..9 {
                visit_aside(search, &mut game, mv, 1);
                assert_eq!(visits_of(search, mv), (first + more, of_edge), "seed {seed}");
            }
            let before = search.run_counts().evaluations;
            search.visit(&mut game, mv.0, 1);
            caught_up.set(caught_up.get() + u32::from(search.run_counts().evaluations == before));
        });
    }
    assert!(caught_up.get() > 20, "{}", caught_up.get());
}

#[test]
fn they_stay_when_the_root_is_renewed_and_when_the_game_goes_on() {
    fn check<R: Repository>(search: &mut Search<R>, mut game: RandomGame) {
        search.run_game(&mut game, 1);
        let moves = root_moves(&game);
        moves.iter().for_each(|mv| visit_aside(search, &mut game, *mv, 4));
        let before: List<_> = moves.iter().map(|mv| visits_of(search, *mv)).collect();
        let live = search.live_nodes();
        let own = game.verdict(game.position(core::iter::empty())).value();
        assert_eq!(search.renew_root(own, &moves, &mut std::vec![0.0; moves.len()]), Ok(1));
        let now: List<_> = moves.iter().map(|mv| visits_of(search, *mv)).collect();
        assert_eq!((&now, search.live_nodes()), (&before, live));
        audit(search, &Audit { aside: true, ..Audit::drained(game) });
        assert_eq!(search.advance(&[moves[0]]), before[0].0);
        audit(search, &Audit::drained(game.after(moves[0])));
    }
    for seed in 0..30 {
        let game = RandomGame { endings: 0, length: 20, ..game_of(seed) };
        on_both!(5000, 200_000, Params::default(), |search| check(search, game));
        on_both_graphs!(5000, 200_000, Params::default(), |search| check(search, game));
    }
}

/// A move that ends the game counts each of its visits, and stays what it is.
#[test]
fn a_game_that_has_ended_is_visited_aside_too() {
    let mut game = RandomGame { length: 1, endings: 0, ..RandomGame::of(3) };
    on_both!(200, 9000, Params::default(), |search| {
        search.run_game(&mut game, 1);
        let before = known_at_root(search);
        for mv in root_moves(&game) {
            visit_aside(search, &mut game, mv, 7);
            assert_eq!(visits_of(search, mv), (7, 0));
        }
        assert_eq!(known_at_root(search), before);
        audit(search, &Audit { aside: true, ..Audit::drained(game) });
        search.run_game(&mut game, 30);
        audit(search, &Audit { aside: true, ..Audit::drained(game) });
    });
}

/// A repetition that was found aside is opened again. The root's edge does not count its visits, so none is taken from
/// it. (The cycle is longer than the way from the root: a host's mistake, which must not do more harm than that.)
#[test]
fn a_repetition_found_aside_opens_without_harm_to_the_roots_edge() {
    let goes_on = Verdict::Position(Value::EVEN);
    let repeats = Verdict::Terminal(Value { m: 3.0, ..Value::DRAW }, Ending::TwoFold);
    on_both!(100, 1000, as_written(), |search| {
        let game = &mut WrittenGame(|_| (goes_on, &[1.0]));
        search.run(game, MostMoves::<EDGES>, MostPlies::<64>, 1).unwrap();
        for verdict in [goes_on, repeats, goes_on] {
            let mut event = TestEvent::new();
            assert_eq!(search.gather_aside(&mut event), Gathered::Leaf);
            event.name(Move(0));
            search.settle(&mut event, &Answer { key: 0, verdict }, &mut [0.0]).unwrap();
            search.bring_back_aside(core::slice::from_mut(&mut event));
        }
        // The draw's visit was replaced by one of the open node.
        let (edge, child) = (search.edge_of(0), search.edge_of(0).child().unwrap());
        assert_eq!((search.visits(), edge.n(), child.n(), search.taken_back()), (1, 0, 2, 0));
        assert_eq!(child.visited().map(|edge| edge.n()).collect::<List<_>>(), [1]);
        assert_eq!(child.value(), Value { wl: 0.0, d: 0.0, m: 0.5 });
        search.visit(game, 0, 3);
        assert_eq!((search.visits(), search.edge_of(0).n()), (4, 3));
    });
}

/// The root's edge counts none of the visits, but all of them would have to be made again.
#[test]
fn a_subtree_that_was_visited_aside_is_as_large_as_it_is() {
    let mut checked = 0;
    for seed in 0..10 {
        let mut game = RandomGame { seed, width: 6, length: 30, endings: 0, ..RandomGame::of(0) };
        on_both!(5000, 200_000, Params::default(), |search| {
            search.run_game(&mut game, 1);
            let [first, .., aside] = root_moves(&game)[..] else { continue };
            visit_aside(search, &mut game, aside, 60);
            search.set_root_moves([(0, first)]);
            search.run_game(&mut game, 200);
            search.set_root_moves([]);
            assert_eq!(visits_of(search, aside), (60, 0));
            // Half of the other nodes are worth less, and are enough to make room.
            assert!(search.recycle() > 40);
            assert_eq!(visits_of(search, aside), (60, 0), "seed {seed}");
            checked += 1;
        });
    }
    assert!(checked > 10, "{checked}");
}
