//! Which edge a playout takes, and which move is played.

use super::*;
use crate::evaluate::Ending;
use crate::formula::lcb::{FinalChoice, Lcb};
use crate::formula::temperature::Temperature;
use crate::repository::Bound;
use crate::search::puct::{self, MovesLeftUtility};

/// The root's moves, best first.
fn ranking<R: Repository>(search: &Search<R>) -> List<Option<Move>> {
    let mut ranked = Vec::<_, EDGES>::new();
    search.rank_root(ranked.as_mut_view());
    ranked.iter().map(|edge| edge.mv()).collect()
}

/// A game in which the root's first moves end it with the verdicts in `list`, each from the view of the side to move
/// after it.
fn endings(list: &[Verdict]) -> WrittenGame<impl Fn(&[u16]) -> Written> {
    WrittenGame(|line: &[u16]| match line {
        &[mv] if usize::from(mv) < list.len() => (list[usize::from(mv)], &[]),
        _ => (ours(line, 0.9), &[0.4, 0.3, 0.3]),
    })
}

fn ended(wl: f32, m: f32, by: Ending) -> Verdict {
    Verdict::Terminal(Value { wl, d: 1.0 - wl.abs(), m }, by)
}

/// Visits every move of `list`, and checks that the ranking is as expected.
fn check_ranking(list: &[Verdict], expected: &[u16]) {
    on_both!(100, 5000, as_written(), |search| {
        (0..list.len() as u16).for_each(|mv| search.visit(&mut endings(list), mv, 1));
        search.set_root_moves((0..list.len()).map(|place| (place, Move(place as u16))));
        let expected: List<_> = expected.iter().map(|&mv| Some(Move(mv))).collect();
        assert_eq!(ranking(search), expected, "{list:?}");
        assert_eq!(search.best_edge().unwrap().mv(), expected[0], "{list:?}");
    });
}

#[test]
fn a_mate_comes_before_what_tablebases_say_and_a_draw_by_rule_too() {
    use Ending::{Game, Tablebase};
    // By its length each of the expected moves would come second. A position that is lost for the side to move makes
    // the move that leads there a win.
    check_ranking(&[ended(-1.0, 2.0, Tablebase), ended(-1.0, 8.0, Game)], &[1, 0]);
    check_ranking(&[ended(1.0, 8.0, Game), ended(1.0, 2.0, Tablebase)], &[1, 0]);
    check_ranking(&[ended(0.0, 2.0, Tablebase), ended(0.0, 8.0, Game)], &[1, 0]);
    // Between two that are known in the same way the length counts: wins are to be short, and losses long.
    for by in [Game, Tablebase] {
        check_ranking(&[ended(-1.0, 8.0, by), ended(-1.0, 2.0, by)], &[1, 0]);
        check_ranking(&[ended(1.0, 2.0, by), ended(1.0, 8.0, by)], &[1, 0]);
    }
}

/// The shortest draw comes first, and the order does not depend on which move was visited first.
#[test]
fn drawn_moves_are_ranked_together_by_the_visits_of_the_most_visited() {
    let drawn = |m| ended(0.0, m, Ending::Game);
    for [long, short, open] in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1]] {
        let mut game = WrittenGame(|line: &[u16]| match *line {
            [] => (ours(line, 0.0), &[0.4, 0.3, 0.3]),
            [mv] if mv == long => (drawn(4.0), &[]),
            [mv] if mv == short => (drawn(2.0), &[]),
            _ => (ours(line, 0.5), &[1.0]),
        });
        for (of_open, expected) in [(30, [short, long, open]), (60, [open, short, long])] {
            on_both!(1000, 50_000, as_written(), |search| {
                for mv in 0..3 {
                    search.visit(
                        &mut game,
                        mv,
                        if mv == long {
                            50
                        } else if mv == short {
                            1
                        } else {
                            of_open
                        },
                    );
                }
                search.set_root_moves((0..3).map(|place| (place, Move(place as u16))));
                assert_eq!(ranking(search), expected.map(|mv| Some(Move(mv))), "open visited {of_open} times");
            });
        }
    }
}

#[test]
fn a_proven_win_is_played_whatever_lower_bounds_say() {
    for by in [Ending::Game, Ending::Tablebase] {
        let params = Params { final_choice: FinalChoice::Lcb(Lcb::default()), ..as_written() };
        on_both!(1000, 50_000, params, |search| {
            let list = [ended(-1.0, 0.0, by)];
            let game = &mut endings(&list);
            search.visit(game, 1, 100);
            search.visit(game, 2, 50);
            search.visit(game, 0, 1);
            let mate = Some(Move(0));
            assert_eq!(search.edge_to_play(0).unwrap().mv(), mate, "{by:?}");
            assert_eq!(search.move_to_play(0, |_| unreachable!("it was visited")), mate, "{by:?}");
            assert_eq!(ranking(search)[0], mate, "{by:?}");
        });
    }
}

#[test]
fn a_lower_bound_chooses_no_move_that_is_proven_to_lose() {
    // An unlikely reply to the first move mates.
    let mut game = WrittenGame(|line| match line {
        [0, 1] => (Verdict::lost(), &[]),
        [0] => (ours(line, 0.9), &[0.985, 0.015]),
        [] => (ours(line, 0.0), &[0.4, 0.3, 0.3]),
        _ => (ours(line, if line[0] == 0 { 0.9 } else { 0.0 }), &[1.0]),
    });
    let params = Params { final_choice: FinalChoice::Lcb(Lcb::default()), ..as_written() };
    on_both!(1000, 50_000, params, |search| {
        search.visit(&mut game, 0, 1);
        while search.edge_of(0).bounds().upper != Bound::Loss {
            search.visit(&mut game, 0, 1);
        }
        // The move has so many visits that the others have no fair share of them.
        assert!(search.edge_of(0).n() > 100);
        search.visit(&mut game, 1, 3);
        search.visit(&mut game, 2, 5);
        assert_eq!(search.edge_to_play(0).unwrap().mv(), Some(Move(2)));
        assert_eq!(ranking(search), [2, 1, 0].map(|mv| Some(Move(mv))));
    });
}

/// One move was visited and many were not; none of them loses.
#[test]
fn chance_may_play_a_move_that_nobody_tried_where_the_root_is_as_good() {
    let mut game = WrittenGame(|line| (ours(line, 0.8), &[0.125; 8]));
    let temperature = Temperature { start: 1.0, value_cutoff: 10.0, visit_offset: 1.0, ..Temperature::default() };
    let params = Params { temperature, fpu: Fpu::Reduction(0.0), ..as_written() };
    on_both!(100, 5000, params, |search| {
        search.visit(&mut game, 0, 3);
        assert!((0..40).any(|ply| search.edge_to_play(ply).unwrap().mv().is_none()));
        // Moves that are worth much less are left out.
        search.set_params(Params { fpu: Fpu::Reduction(1.0), ..params });
        assert!((0..40).all(|ply| search.edge_to_play(ply).unwrap().mv() == Some(Move(0))));
    });
}

/// A draw is worth to chance what it is worth to the search, whether the move was visited or not.
#[test]
fn chance_values_draws_as_the_search_does() {
    let mut game = WrittenGame(|_| (Verdict::Position(Value::DRAW), &[0.125; 8]));
    let temperature = Temperature { start: 1.0, value_cutoff: 10.0, visit_offset: 1.0, ..Temperature::default() };
    for draw_score in [0.8, -0.8] {
        let params = Params { temperature, fpu: Fpu::Reduction(0.0), draw_score, ..as_written() };
        on_both!(100, 5000, params, |search| {
            search.visit(&mut game, 0, 3);
            assert!((0..40).any(|ply| search.edge_to_play(ply).unwrap().mv().is_none()), "{draw_score}");
        });
    }
}

#[test]
fn before_a_move_is_visited_the_likeliest_is_the_best() {
    let mut game = WrittenGame(|line| (ours(line, 0.0), &[0.3, 0.4, 0.3]));
    on_both!(100, 5000, as_written(), |search| {
        search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 1).unwrap();
        assert_eq!(search.best_edge().unwrap().index(), Some(1));
    });
}

/// One move with two replies: one draws, the other one is slightly worse for the side that replies.
fn draw_or_lose(line: &[u16]) -> Written {
    match line {
        [0, 0, ..] => (Verdict::Position(Value::DRAW), &[1.0]),
        [0, 1, ..] => (ours(line, 0.1), &[1.0]),
        [0] => (ours(line, 0.0), &[0.5, 0.5]),
        _ => (ours(line, 0.0), &[1.0]),
    }
}

/// To the opponent a draw is worth the opposite.
#[test]
fn who_does_not_want_a_draw_gets_one_only_where_the_opponent_does() {
    for (draw_score, best) in [(0.3, 1), (-0.3, 0)] {
        on_both!(1000, 50_000, Params { draw_score, ..as_written() }, |search| {
            search.run(&mut WrittenGame(draw_or_lose), MostMoves::<EDGES>, MostPlies::<64>, 300).unwrap();
            let replies = search.edge_of(0).child().unwrap();
            let visits = |mv| replies.visited().find(|edge| edge.mv() == Some(Move(mv))).unwrap().n();
            assert!(visits(best) > 2 * visits(1 - best), "{draw_score}: {} and {}", visits(0), visits(1));
        });
    }
}

#[test]
fn a_line_goes_on_with_the_reply_that_is_better_for_who_makes_it() {
    for (draw_score, best) in [(0.3, 1), (-0.3, 0)] {
        let params = Params { draw_score, fpu: Fpu::Absolute(2.0), ..as_written() };
        on_both!(1000, 50_000, params, |search| {
            // Four playouts visit the root, its move, and each reply once.
            search.run(&mut WrittenGame(draw_or_lose), MostMoves::<EDGES>, MostPlies::<64>, 4).unwrap();
            let first = search.best_edge().unwrap();
            let visits: List<u32> = first.child().unwrap().edges().map(|edge| edge.n()).collect();
            assert_eq!(visits, [1, 1]);
            let mut line = Vec::<Move, 8>::new();
            search.pv(&first, line.as_mut_view());
            assert_eq!(line[..], [Move(0), Move(best)], "{draw_score}");
        });
    }
}

/// A game with three moves after `plies` plies, the first of which is best for the side that moves, and with one move
/// after any other number of plies.
fn fork_after(plies: usize) -> WrittenGame<impl Fn(&[u16]) -> Written> {
    WrittenGame(move |line: &[u16]| {
        let of_mover = line.get(plies).map_or(0.0, |mv| 0.3 - 0.3 * f32::from(*mv));
        let wl = if plies.is_multiple_of(2) { of_mover } else { -of_mover };
        (ours(line, wl), if line.len() == plies { &[0.4, 0.3, 0.3] } else { &[1.0] })
    })
}

#[test]
fn the_root_has_its_own_exploration_and_no_other_node_has_it() {
    let usual = Cpuct::default();
    let wide = Cpuct { init: 10.0 * usual.init, ..usual };
    let grown = |plies, cpuct, cpuct_at_root| {
        let mut shapes = List::new();
        on_both!(1000, 50_000, Params { cpuct, cpuct_at_root, ..as_written() }, |search| {
            search.run(&mut fork_after(plies), MostMoves::<EDGES>, MostPlies::<64>, 200).unwrap();
            shapes.push(shape(search));
        });
        assert!(shapes[0] == shapes[1]);
        shapes.swap_remove(0)
    };
    for (plies, as_if) in [(0, wide), (1, usual), (2, usual)] {
        assert!(grown(plies, usual, Some(wide)) == grown(plies, as_if, None), "a fork after {plies} plies");
        assert!(grown(plies, usual, None) != grown(plies, wide, None));
    }
}

/// Where the root's priors add up to another number than 1, the sum of the visited ones is a part of all, and never
/// more: in the search and where chance chooses among visited moves and others.
#[test]
fn an_unvisited_root_move_is_held_against_a_part_of_the_priors() {
    for sum in [0.5, 1.0, 2.0, 4.0] {
        let params = Params { root_policy_sum: sum, fpu: Fpu::Reduction(0.4), ..Params::default() };
        let mut game = RandomGame { seed: 3, width: 9, length: 30, endings: 0, ..RandomGame::of(0) };
        on_both!(1000, 50_000, params, |search| {
            search.run_game(&mut game, 12);
            let root = search.root_node();
            let visited = root.visited_policy();
            assert!(root.visited().count() > 1 && (sum < 2.0 || visited > 1.0), "{visited} of {sum}");
            let part = (visited / sum.max(1.0)).min(1.0);
            let expected = puct::fpu(Fpu::Reduction(0.4), root.value().q(0.0), part);
            let found = root.read(|root| search.root_urgency(root));
            assert!((found - expected).abs() < 1e-6, "{sum}: {found} {expected}");
        });
    }
}

/// The scores that the formulas give to the root's visited edges, and the largest that they give to an edge that was
/// not visited.
fn scores<R: Repository>(search: &Search<R>) -> (List<f32>, Option<f32>) {
    let (params, root) = (search.params(), search.root_node());
    let exploration = puct::exploration(params.root_cpuct(), root.n());
    let utility = MovesLeftUtility::of(params.moves_left, root.value());
    let fpu = puct::fpu(params.root_fpu(), root.value().q(params.draw_score), root.visited_policy());
    let visited = root.visited().map(|edge| {
        let (q, m) = (edge.q(params.draw_score).unwrap(), edge.m().unwrap());
        q + utility.map_or(0.0, |utility| utility.of_child(q, m)) + puct::u(edge.p(), exploration, edge.n())
    });
    let unvisited = root.edges().filter(|edge| edge.mv().is_none()).map(|edge| fpu + puct::u(edge.p(), exploration, 0));
    (visited.collect(), unvisited.reduce(f32::max))
}

#[test]
fn a_playout_takes_the_root_move_with_the_largest_score() {
    let plain = Params::default();
    let any_length = MovesLeft { threshold: 0.0, ..MovesLeft::default() };
    let all = [
        plain,
        Params { draw_score: 0.6, ..plain },
        Params { draw_score: -0.6, fpu_at_root: Some(Fpu::Reduction(0.0)), ..plain },
        Params { moves_left: Some(any_length), ..plain },
        Params { cpuct_at_root: Some(Cpuct { init: 0.5, ..Cpuct::default() }), ..plain },
    ];
    for (params, seed) in all.into_iter().flat_map(|params| (0..20).map(move |seed| (params, seed))) {
        let mut game = RandomGame { seed, width: 9, length: 30, endings: 0, ..RandomGame::of(0) };
        on_both!(1000, 50_000, params, |search| {
            search.run_game(&mut game, 1);
            for _ in 0..100 {
                let (visited, unvisited) = scores(search);
                let before: List<u32> = search.root_node().visited().map(|edge| edge.n()).collect();
                search.run_game(&mut game, 1);
                let taken = search.root_node().visited().zip(&before).position(|(edge, n)| edge.n() != *n);
                let score = taken.map(|at| visited[at]).or(unvisited).unwrap();
                let best = visited.iter().copied().chain(unvisited).reduce(f32::max).unwrap();
                assert!(score >= best - 1e-6, "{score} of {best} with {params:?}");
            }
        });
    }
}
