//! What is proven is true.

use super::*;
use crate::evaluate::Verdict;
use crate::repository::Bound;
use audit::points;

/// The result of a game by exhaustion, from the side to move: −1, 0, 1.
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

/// Checks every bound against the exhausted game; gives back how many results are proven by children.
pub fn check_bounds<R: Repository>(search: &Search<R>, game: &RandomGame) -> usize {
    let mut todo = std::vec![(search.root_node(), List::new())];
    let mut proven = 0;
    while let Some((node, path)) = todo.pop() {
        if node.n() > 0 {
            let result = solve(game, &mut path.clone());
            let bounds = node.bounds();
            assert!((points(bounds.lower)..=points(bounds.upper)).contains(&result), "{path:?}");
            proven += usize::from(bounds.closed() && node.is_expanded());
        }
        for edge in node.visited() {
            let mut path = path.clone();
            path.push(edge.mv.unwrap_or_default());
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
    // With this many playouts in a game this small.
    assert!(found * 10 >= won * 9 && won > 20, "{found} of {won} wins found");
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
