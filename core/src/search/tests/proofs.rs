//! What is proven is true.

use super::*;
use crate::evaluate::Ending;
use crate::repository::{Bound, Bounds};
use audit::points;

/// The result of a game by exhaustive search, from the view of the side to move: −1, 0 or 1.
pub fn solve(game: &RandomGame, path: &mut List<Move>) -> i32 {
    let at = game.position(path.iter().copied());
    match game.verdict(at) {
        Verdict::Terminal(value, _) => value.wl as i32,
        Verdict::Position(_) => {
            let replies = game.legal(at).map(|mv| {
                path.push(mv);
                let result = -solve(game, path);
                path.pop();
                result
            });
            replies.max().unwrap()
        }
    }
}

/// Checks that a proven loss is one ply longer than its longest defence, and a proven win one ply longer than one of
/// the replies that win.
fn check_length<R: Repository>(node: &NodeView<'_, R>) {
    let (m, bound) = (node.value().m, node.bounds().lower);
    let leads_there = node.visited().filter(|reply| reply.bounds() == node.bounds());
    let lengths: List<f32> = leads_there.filter_map(|reply| Some(reply.child()?.value().m + 1.0)).collect();
    let longest = lengths.iter().copied().fold(0.0, f32::max);
    let is_true = match bound {
        Bound::Loss => (longest - m).abs() < 0.01,
        // The reply that proved it last may be one of which it is only known that it is no better.
        Bound::Draw => true,
        Bound::Win => lengths.iter().any(|length| (length - m).abs() < 0.01),
    };
    assert!(is_true, "{bound:?} in {m} plies, by replies in {lengths:?}");
}

/// Checks every bound against the exhausted game; returns how many results are proven by children.
pub fn check_bounds<R: Repository>(search: &Search<R>, game: &RandomGame) -> usize {
    let mut todo = std::vec![(search.root_node(), List::new())];
    let mut proven = 0;
    while let Some((node, path)) = todo.pop() {
        if node.n() > 0 {
            let result = solve(game, &mut path.clone());
            let bounds = node.bounds();
            assert!((points(bounds.lower)..=points(bounds.upper)).contains(&result), "{path:?}");
            if bounds.closed() && node.is_expanded() {
                check_length(&node);
                proven += 1;
            }
        }
        for edge in node.visited() {
            let mut path = path.clone();
            path.push(edge.mv().unwrap_or_default());
            todo.extend(edge.child().map(|child| (child, path)));
        }
    }
    proven
}

#[test]
fn what_is_proven_is_true() {
    let (mut proven, mut won, mut found) = (0, 0, 0);
    for seed in 0..60 {
        let mut game = RandomGame { seed, width: 3, length: 5, endings: 30, ..RandomGame::of(0) };
        on_both!(5000, 200_000, Params::default(), |search| {
            run_in_batches(search, &mut game, 1 + (seed % 5) as usize, 1500);
            audit(search, &Audit::drained(game));
            proven += check_bounds(search, &game);
            won += usize::from(solve(&game, &mut List::new()) == 1);
            found += usize::from(search.best_edge().unwrap().bounds().lower == Bound::Win);
        });
    }
    assert!(proven > 300, "{proven} nodes proven by their children");
    // With this many playouts in a game this small, nearly all are found.
    assert!(found * 10 >= won * 9 && won > 20, "{found} of {won} wins found");
}

/// The bounds of all nodes that have more than `least` visits and have kept all of them, by the moves that lead to
/// them.
fn bounds_below<R: Repository>(search: &Search<R>, least: u32) -> std::collections::HashMap<List<Move>, (u32, Bounds)> {
    let mut todo = std::vec![(search.root_node(), List::new())];
    let mut found = std::collections::HashMap::new();
    while let Some((node, path)) = todo.pop() {
        if node.n() > least && !node.is_regrown() {
            found.insert(path.clone(), (node.n(), node.bounds()));
        }
        for edge in node.visited() {
            let path = [&path[..], &[edge.mv().unwrap_or_default()]].concat();
            todo.extend(edge.child().map(|child| (child, path)));
        }
    }
    found
}

#[test]
fn what_was_proven_stays_so_where_moves_are_folded() {
    const STEP: u64 = 4;
    let mut narrowed = 0;
    for seed in 0..300 {
        let mut game = RandomGame { seed, width: 4, length: 6, endings: 30, ..RandomGame::of(0) };
        on_both!(60, 2000, Params::default(), |search| {
            let mut before = bounds_below(search, STEP as u32);
            for _ in 0..100 {
                run_in_batches(search, &mut game, 1, STEP);
                let _ = search.recycle();
                let after = bounds_below(search, STEP as u32);
                for (path, (n, now)) in &after {
                    // A node that has fewer visits than before may be another one, which took its place.
                    let Some((_, then)) = before.get(path).filter(|(then, _)| then <= n) else { continue };
                    assert_eq!(now.both(*then), *now, "seed {seed}, {path:?}: {then:?} became {now:?}");
                    narrowed += u32::from(now != then);
                }
                before = after;
            }
        });
    }
    assert!(narrowed > 100, "{narrowed} proofs");
}

#[test]
fn a_position_is_proven_by_its_moves_though_the_root_is_searched_on() {
    let mut closed = [0; 3];
    for seed in 0..120 {
        let mut game = RandomGame { seed, width: 3, length: 5, endings: 30, ..RandomGame::of(0) };
        let result = solve(&game, &mut List::new());
        on_both!(5000, 200_000, Params::default(), |search| {
            assert_eq!(search.proven(), Bounds::OPEN);
            for _ in 0..30 {
                run_in_batches(search, &mut game, 1 + (seed % 5) as usize, 50);
                let proven = search.proven();
                assert!((points(proven.lower)..=points(proven.upper)).contains(&result), "seed {seed}: {proven:?}");
                assert_eq!(search.root_node().bounds(), Bounds::OPEN);
            }
            let edges: List<Bounds> = search.root_node().edges().map(|edge| edge.bounds()).collect();
            let (lower, upper) = (edges.iter().map(|edge| edge.lower).max(), edges.iter().map(|edge| edge.upper).max());
            assert_eq!((Some(search.proven().lower), Some(search.proven().upper)), (lower, upper));
            if search.proven().closed() {
                closed[(result + 1) as usize] += 1;
            }
        });
    }
    assert!(closed.iter().all(|&count| count > 5), "{closed:?} losses, draws and wins proven");
}

/// The move that proved it was folded before the position became the root.
#[test]
fn a_root_knows_what_a_folded_move_proved() {
    let mut game = WrittenGame(|line| match line {
        [0, 0] => (Verdict::drawn(), &[]),
        [0] => (ours(line, 0.0), &[0.5, 0.5]),
        _ => (ours(line, 0.0), &[1.0]),
    });
    on_both!(100, 5000, as_written(), |search| {
        // The move that goes on is worth nothing either, but it is the one with more visits: its line is not folded.
        search.visit(&mut game, 0, 60);
        let at_least_a_draw = Bounds { lower: Bound::Draw, upper: Bound::Win };
        assert_eq!(search.edge_of(0).child().unwrap().bounds(), at_least_a_draw);
        while search.recycle() > 0 {}
        search.advance(&[Move(0)]);
        assert_eq!(search.edge_of(0).child().map(|child| child.key()), None, "folded");
        assert_eq!(search.proven(), at_least_a_draw);
    });
}

#[test]
fn a_game_that_has_ended_at_the_root_is_proven() {
    let mut game = RandomGame { seed: 1, width: 1, length: 0, endings: 0, ..RandomGame::of(0) }.after(Move(7));
    on_both!(100, 5000, Params::default(), |search| {
        search.run_game(&mut game, 1);
        assert!(search.proven().closed());
        assert_eq!(search.proven(), search.root_node().bounds());
    });
}

#[test]
fn nothing_is_passed_on_where_endgames_do_not_stick() {
    let params = Params { sticky_endgames: false, ..Params::default() };
    for seed in 0..20 {
        let mut game = RandomGame { seed, width: 3, length: 5, endings: 30, ..RandomGame::of(0) };
        on_both!(5000, 200_000, params, |search| {
            run_in_batches(search, &mut game, 2, 400);
            audit(search, &Audit::drained(game));
            assert_eq!(check_bounds(search, &game), 0);
        });
    }
}

/// A game of three moves, the first of which looks best for long, although one of the replies mates.
struct Trap;

impl Evaluator for Trap {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        let count = [3, 2, 1][line.len().min(2)];
        moves.extend((0..count).map(Move));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let line: List<u16> = line.map(|mv| mv.0).collect();
        let good = if line.len().is_multiple_of(2) { 0.9 } else { -0.9 };
        let verdict = match line[..] {
            [0, 1] => Verdict::lost(),
            [0, ..] => Verdict::Position(Value { wl: good, d: 0.0, m: 0.0 }),
            _ => Verdict::Position(Value::EVEN),
        };
        // The reply that mates has a prior of 5%.
        let priors: &[f32] = [&[0.0; 3][..], &[0.0, -2.94], &[0.0]][line.len().min(2)];
        policy.extend(priors.iter().copied());
        Ok(Answer { key: 0, verdict })
    }
}

#[test]
fn a_move_that_turned_out_to_lose_leaves_no_other_without_hope() {
    on_both!(1000, 50_000, Params::default(), |search| {
        let visits = |search: &Search<_>| search.root_node().edges().map(|edge| edge.n()).collect::<List<_>>();
        let lost = |search: &Search<_>| search.root_node().visited().any(|edge| edge.bounds().upper == Bound::Loss);
        while !lost(search) {
            search.run(&mut Trap, MostMoves::<4>, MostPlies::<32>, 1).unwrap();
        }
        let before = visits(search);
        assert!(before[0] > before[1] + 10, "{before:?}");
        search.set_remaining_playouts(Some(10));
        search.run(&mut Trap, MostMoves::<4>, MostPlies::<32>, 10).unwrap();
        let after = visits(search);
        assert_eq!(after[0], before[0]);
        assert!(after[1] > before[1] && after[2] > before[2], "{before:?} {after:?}");
        assert_ne!(search.best_move(), Some(Move(0)));
    });
}

/// A game of two moves, the first of which loses at once.
struct Blunder;

impl Evaluator for Blunder {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, _: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend([Move(1), Move(2)]);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let won = Verdict::Terminal(Value { wl: 1.0, d: 0.0, m: 0.0 }, Ending::Game);
        policy.extend([1.0, 0.0]);
        Ok(Answer { key: 0, verdict: if line.len() == 1 { won } else { Verdict::Position(Value::EVEN) } })
    }
}

/// A game in which the first of two moves ends it, with a value that need not be a result.
struct Almost(Value);

impl Evaluator for Almost {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, _: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend([Move(1), Move(2)]);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        policy.extend([1.0, 0.0]);
        let ended = Verdict::Terminal(self.0, Ending::Game);
        Ok(Answer { key: 0, verdict: if line.len() == 1 { ended } else { Verdict::Position(Value::EVEN) } })
    }
}

#[test]
fn what_is_proven_is_worth_what_it_proves() {
    let ended = |wl, d| Value { wl, d, m: 3.0 };
    for (value, bound) in [
        (ended(0.001, 0.0), Bound::Draw),
        (ended(-0.4, 9.0), Bound::Draw),
        (ended(f32::NAN, f32::NAN), Bound::Draw),
        (ended(0.9, 0.1), Bound::Win),
        (ended(-7.0, 0.0), Bound::Loss),
    ] {
        on_both!(1000, 50_000, Params::default(), |search| {
            search.run(&mut Almost(value), MostMoves::<4>, MostPlies::<32>, 2).unwrap();
            let edge = search.root().unwrap().edges().next().unwrap();
            let child = edge.child().unwrap();
            assert_eq!((child.bounds().lower, child.bounds().upper), (bound, bound), "{value:?}");
            assert_eq!(child.value(), Value { m: 3.0, ..bound.value() }, "{value:?}");
        });
    }
}

/// A score is final: it keeps its value, proves nothing, and its plies are those of no cycle that could open it again.
#[test]
fn a_score_stays_as_it_is() {
    let score = Value { wl: -0.25, d: 0.5, m: 64.0 };
    let ends = |line: &[u16]| -> Written {
        match line.len() {
            0 => (ours(line, 0.0), &[1.0]),
            _ => (Verdict::scored(score), &[]),
        }
    };
    for explored in [Explored::Visits, Explored::Weights] {
        on_both!(1000, 50_000, Params { explored, ..as_written() }, |search| {
            search.run(&mut WrittenGame(ends), MostMoves::<4>, MostPlies::<8>, 20).unwrap();
            let child = search.edge_of(0).child().unwrap();
            assert_eq!((child.ending(), child.bounds(), child.value()), (Some(Ending::Scored), Bounds::OPEN, score));
            assert_eq!((child.n(), search.visits(), search.taken_back()), (19, 20, 0));
            assert_eq!(search.proven(), Bounds::OPEN);
        });
    }
}

/// The moves left of a score do not decide which move is better, as they do between draws.
#[test]
fn of_two_scores_the_better_one_is_played() {
    let ends = |line: &[u16]| -> Written {
        match line {
            [] => (ours(line, 0.0), &[0.5, 0.5]),
            [0, ..] => (Verdict::scored(Value { wl: -0.5, d: 0.0, m: 9.0 }), &[]),
            _ => (Verdict::scored(Value { wl: 0.5, d: 0.0, m: 1.0 }), &[]),
        }
    };
    on_both!(1000, 50_000, as_written(), |search| {
        search.run(&mut WrittenGame(ends), MostMoves::<4>, MostPlies::<8>, 60).unwrap();
        assert!(search.edge_of(1).completed() > 0);
        assert_eq!(search.best_move(), Some(Move(0)));
    });
}

/// Whatever value a host gives to a repetition, it is a draw; the moves left are the cycle's.
#[test]
fn a_repetition_is_worth_a_draw() {
    let ends = |line: &[u16]| -> Written {
        match line.len() {
            0 => (ours(line, 0.0), &[1.0]),
            _ => (Verdict::Terminal(Value { wl: 0.9, d: 0.1, m: 1.0 }, Ending::TwoFold), &[]),
        }
    };
    on_both!(1000, 50_000, as_written(), |search| {
        search.run(&mut WrittenGame(ends), MostMoves::<4>, MostPlies::<8>, 20).unwrap();
        let child = search.edge_of(0).child().unwrap();
        assert_eq!((child.bounds(), child.value()), (Bounds::OPEN, Value { m: 1.0, ..Value::DRAW }));
    });
}

#[test]
fn there_is_a_move_once_one_was_visited() {
    on_both!(1000, 50_000, Params::default(), |search| {
        search.run(&mut Blunder, MostMoves::<4>, MostPlies::<32>, 1).unwrap();
        assert_eq!(search.best_move(), None);
        search.run(&mut Blunder, MostMoves::<4>, MostPlies::<32>, 1).unwrap();
        assert_eq!(search.best_edge().map(|edge| edge.mv()), Some(None));
        assert_eq!(search.best_move(), Some(Move(1)));
    });
}

#[test]
fn a_move_that_nobody_tried_is_played_before_one_that_loses() {
    use crate::formula::temperature::Temperature;
    let legal = |index: usize| Move(1 + index as u16);
    on_both!(1000, 50_000, Params::default(), |search| {
        assert_eq!(search.move_to_play(0, |_| unreachable!("nothing is known")), None);
        search.run(&mut Blunder, MostMoves::<4>, MostPlies::<32>, 1).unwrap();
        assert_eq!(search.move_to_play(0, legal), Some(Move(1)), "by its prior");
        search.run(&mut Blunder, MostMoves::<4>, MostPlies::<32>, 1).unwrap();
        assert_eq!(search.move_to_play(0, legal), Some(Move(2)));
        // A move that has a name needs no list.
        let warm = Temperature { start: 0.01, ..Temperature::default() };
        search.set_params(Params { temperature: warm, ..Params::default() });
        assert_eq!(search.move_to_play(0, |_| unreachable!("it was visited")), Some(Move(1)), "chance knows no proofs");
    });
}

/// The length of the shortest win is not known, but that of the longest defence is, whenever it was proven.
#[test]
fn a_proven_result_is_one_ply_longer_than_the_reply_that_leads_to_it() {
    let ended = |wl: f32, m| (Verdict::Terminal(Value { wl, d: 1.0 - wl.abs(), m }, Ending::Game), &[] as &[f32]);
    let mut game = WrittenGame(|line| match line {
        [0, _] => ended(0.0, 5.0),
        [1, 0] => ended(1.0, 7.0),
        [1, 1] => ended(1.0, 2.0),
        [2, _] => ended(-1.0, 3.0),
        [1] => (ours(line, 0.0), &[0.6, 0.4]),
        [_] => (ours(line, 0.0), &[1.0]),
        _ => (ours(line, 0.0), &[0.4, 0.3, 0.3]),
    });
    on_both!(100, 5000, as_written(), |search| {
        for (mv, replies, bound, m) in [(0, 1, Bound::Draw, 6.0), (1, 2, Bound::Loss, 8.0), (2, 1, Bound::Win, 4.0)] {
            search.visit(&mut game, mv, 1 + replies);
            let node = search.edge_of(mv).child().unwrap();
            assert_eq!(node.bounds(), Bounds { lower: bound, upper: bound });
            assert_eq!(node.value(), Value { m, ..bound.value() });
        }
        let node = search.edge_of(1).child().unwrap();
        assert_eq!(node.visited().map(|reply| reply.m()).collect::<List<_>>(), [Some(7.0), Some(2.0)], "short last");
    });
}

/// A draw is known where one reply draws and the other leads to where the opponent can draw: the last to be found is
/// two plies away.
#[test]
fn a_draw_counts_the_plies_to_a_reply_that_is_no_worse_for_who_makes_it() {
    let drawn = (Verdict::Terminal(Value::DRAW, Ending::Game), &[] as &[f32]);
    let mut game = WrittenGame(|line| match line {
        [0, 0] | [0, 1, 0] => drawn,
        [0, 1] => (ours(line, 0.0), &[0.99, 0.01]),
        _ => (ours(line, 0.0), &[0.5, 0.5]),
    });
    on_both!(100, 5000, as_written(), |search| {
        search.visit(&mut game, 0, 10);
        let node = search.edge_of(0).child().unwrap();
        assert_eq!(node.bounds(), Bounds { lower: Bound::Draw, upper: Bound::Draw });
        assert_eq!(node.value(), Value { m: 2.0, ..Value::DRAW });
    });
}

/// A position is open as long as one of its replies is folded. The reply comes back with the value that its edge has
/// kept: nothing changes but what is proven.
#[test]
fn a_reply_that_was_folded_proves_something_when_it_is_back() {
    let mut game = WrittenGame(|line| match line {
        [0, _] => (Verdict::drawn(), &[]),
        [0] => (ours(line, 0.0), &[0.6, 0.4]),
        _ => (ours(line, 0.0), &[1.0]),
    });
    // Every move is tried once before any is tried again.
    let params = Params { fpu: Fpu::Absolute(1.0), ..as_written() };
    on_both!(100, 5000, params, |search| {
        search.visit(&mut game, 0, 2);
        let node = search.edge_of(0).child().unwrap().key();
        assert_eq!(search.repository.fold(node, 0), 1);
        search.visit(&mut game, 0, 1);
        let visits = |search: &Search<_>| search.node(node).visited().map(|edge| edge.n()).collect::<List<_>>();
        assert_eq!((visits(search), search.node(node).bounds().closed()), (std::vec![1, 1], false));
        search.visit(&mut game, 0, 1);
        assert_eq!((visits(search), search.node(node).bounds().closed()), (std::vec![2, 1], true));
    });
}

/// The reply that wins comes back together with one that proves nothing.
#[test]
fn a_win_is_proven_whatever_comes_back_with_it() {
    let mut game = WrittenGame(|line| (ours(line, 0.0), if line.is_empty() { &[1.0] } else { &[0.6, 0.4] }));
    on_both!(100, 5000, as_written(), |search| {
        search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 2).unwrap();
        let replies = [(0, Verdict::lost(), 0), (1, Verdict::Position(Value::EVEN), 1)];
        let mut events = replies.map(|(reply, verdict, moves)| {
            let mut event = TestEvent::new();
            assert_eq!((search.gather(&mut event), event.unnamed()), (Gathered::Leaf, Some(reply.into())));
            event.name(Move(reply));
            search.settle(&mut event, &Answer { key: 0, verdict }, &mut [0.0; 1][..moves]).unwrap();
            event
        });
        search.bring_back(&mut events);
        let node = search.edge_of(0).child().unwrap();
        assert_eq!((node.n(), node.bounds()), (3, Bounds { lower: Bound::Win, upper: Bound::Win }));
    });
}

/// Two replies win, and both come back together: the first one tells how long it takes, whoever says so.
#[test]
fn of_two_replies_that_win_the_first_one_tells_the_length() {
    let mut game = WrittenGame(|line| (ours(line, 0.0), if line.is_empty() { &[1.0] } else { &[0.6, 0.4] }));
    for ending in [Ending::Game, Ending::Tablebase] {
        on_both!(100, 5000, as_written(), |search| {
            search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 2).unwrap();
            let mut events = [3.0, 7.0].map(|m| {
                let mut event = TestEvent::new();
                assert_eq!(search.gather(&mut event), Gathered::Leaf);
                event.name(Move(event.unnamed().unwrap() as u16));
                let verdict = Verdict::Terminal(Value { m, ..Value::LOSS }, ending);
                search.settle(&mut event, &Answer { key: 0, verdict }, &mut []).unwrap();
                event
            });
            search.bring_back(&mut events);
            let node = search.edge_of(0).child().unwrap();
            assert_eq!(node.value(), Value { m: 4.0, ..Value::WIN }, "{ending:?}");
        });
    }
}

/// A position was thought to be exactly the draw that it is. Its edge's value does not change when that is proven.
#[test]
fn a_draw_that_was_expected_is_proven_above_too() {
    let mut game = WrittenGame(|line| match line {
        [0, 0] => (Verdict::Position(Value { m: 1.0, ..Value::DRAW }), &[1.0]),
        [0, 0, 0] => (Verdict::drawn(), &[]),
        _ => (ours(line, 0.0), &[1.0]),
    });
    on_both!(100, 5000, as_written(), |search| {
        search.visit(&mut game, 0, 3);
        let node = search.edge_of(0).child().unwrap();
        assert_eq!(node.bounds(), Bounds { lower: Bound::Draw, upper: Bound::Draw });
    });
}

#[test]
fn what_follows_from_tablebases_is_a_tablebase_result_unless_somebody_mates() {
    let won = |by| (Verdict::Terminal(Value::WIN, by), &[] as &[f32]);
    let lost = |by| (Verdict::Terminal(Value::LOSS, by), &[] as &[f32]);
    let mut game = WrittenGame(|line| match line {
        [0, _] => won(Ending::Tablebase),
        [1, _] => lost(Ending::Tablebase),
        [2, 0] => won(Ending::Tablebase),
        [2, 1] => lost(Ending::Game),
        [3, 0] => won(Ending::Game),
        [3, 1] => won(Ending::Tablebase),
        [4, _] => won(Ending::Game),
        [_] => (ours(line, 0.0), &[0.6, 0.4]),
        _ => (ours(line, 0.0), &[0.2; 5]),
    });
    on_both!(100, 5000, as_written(), |search| {
        for (mv, replies, bound, ending) in [
            (0, 2, Bound::Loss, Ending::Tablebase),
            (1, 1, Bound::Win, Ending::Tablebase),
            (2, 2, Bound::Win, Ending::Game),
            (3, 2, Bound::Loss, Ending::Tablebase),
            (4, 2, Bound::Loss, Ending::Game),
        ] {
            search.visit(&mut game, mv, 1 + replies);
            let node = search.edge_of(mv).child().unwrap();
            assert_eq!((node.bounds().lower, node.bounds().upper), (bound, bound), "after {mv}");
            assert_eq!(node.ending(), Some(ending), "after {mv}");
        }
    });
}

/// Checks what limits are told of a search, move by move as a host would write it.
#[test]
fn limits_are_told_what_the_tree_knows() {
    use crate::stop::{Outcome, Progress};
    let (mut mates, mut losses) = (0, 0);
    for seed in 0..60 {
        let mut game = RandomGame { seed, width: 4, length: 6, endings: 30, ..RandomGame::of(0) };
        on_both!(5000, 200_000, Params { draw_score: 0.25, ..Params::default() }, |search| {
            assert!(!Progress::of(search, &search.run_counts(), 0.0).root.stuck, "its moves are not known yet");
            search.run_game(&mut game, 400);
            let progress = Progress::of(search, &search.run_counts(), 25.0);
            assert_eq!((progress.elapsed_ms, progress.visits, progress.playouts), (25.0, 400, 400));
            assert_eq!(progress.live_nodes as usize, search.live_nodes());
            assert_eq!(progress.mean_depth, search.run_counts().mean_depth() as u32);
            let root = search.root_node();
            let count = |what: Outcome| root.edges().filter(|edge| Outcome::of(edge) == what).count();
            // What is known to lose is not played as long as there is anything else.
            let is_open = |edge: &EdgeView<'_, _>| edge.completed() > 0 && Outcome::of(edge) != Outcome::Loss;
            let any_open = root.edges().any(|edge| is_open(&edge));
            let rivals = root.edges().filter(|edge| !any_open || is_open(edge));
            let most = rivals.map(|edge| edge.completed()).max().unwrap();
            assert_eq!((progress.root.moves as usize, progress.root.most_visits), (root.edge_count(), most.into()));
            let first = root.edges().nth(progress.root.most_visited as usize).unwrap();
            assert_eq!((first.completed(), first.q(0.25)), (most, Some(progress.root.most_visited_q)));
            assert_eq!(progress.root.losing as usize, count(Outcome::Loss));
            assert_eq!(progress.root.winning, count(Outcome::Win) > 0);
            assert!(progress.root.winning || progress.mate_in.is_none());
            losses += count(Outcome::Loss);
            mates += u32::from(progress.mate_in.is_some());
            if let Some(mate) = progress.mate_in {
                let best = search.best_edge().unwrap();
                assert!(best.ending() != Some(Ending::Tablebase), "a mate comes first");
                assert_eq!(mate, best.m().unwrap().round() as u32 / 2 + 1);
            }
            // Moves that may not be searched are still counted, but nothing is known of them.
            search.set_root_moves([(usize::MAX, Move(0))]);
            let none = Progress::of(search, &search.run_counts(), 0.0);
            assert_eq!((none.root.moves, none.root.most_visits, none.mate_in), (progress.root.moves, 0, None));
        });
    }
    assert!(mates > 10 && losses > 10, "{mates} mates, {losses} lost moves");
}
