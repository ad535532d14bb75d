//! Goes on with the tree after a move of the game.

use super::*;
use crate::evaluate::{Ending, Moves, Verdict};
use heapless::VecView;
use quickcheck::QuickCheck;

#[test]
fn the_game_goes_on() {
    fn go_on<R: Repository>(search: &mut Search<R>, mut game: RandomGame, batch: usize) {
        run_in_batches(search, &mut game, batch, 400);
        let Some(edge) = search.best_edge() else { return };
        let mv = edge.mv().unwrap();
        let (n, ended) = (edge.completed(), edge.child().is_some_and(|child| !child.is_expanded()));
        let kept = search.advance(&[mv]);
        // A child that ended the game is evaluated anew as a root.
        assert!(kept == n || ended && kept == 0 || search.root_node().is_regrown());
        // As the root of its own game, the position is what it was below the old root.
        let mut moved = game.after(mv);
        audit(search, &Audit::drained(moved));
        search.start_move();
        search.run_game(&mut moved, 200);
        assert_eq!(u64::from(search.visits()), u64::from(kept) + search.run_counts().playouts);
        audit(search, &Audit::drained(moved));
    }
    fn holds(seed: u64, batch: u8) -> bool {
        on_both!(3000, 150_000, Params::default(), |search| {
            go_on(search, RandomGame::of(seed | 1), 1 + usize::from(batch) % 5)
        });
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64, u8) -> bool);
}

/// The first playouts in a tree that is there already say little of its depth.
#[test]
fn the_depth_of_a_kept_tree_is_a_mean_of_many_playouts() {
    let mut game = RandomGame { seed: 11, width: 4, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(4000, 200_000, Params::default(), |search| {
        let mean = |search: &Search<_>, playouts: u64| {
            let counts = search.run_counts();
            assert!(counts.playouts == playouts && counts.depth_sum >= 2 * playouts);
            assert_eq!(u64::from(search.mean_depth(&counts)), counts.depth_sum / playouts.max(1));
        };
        search.run_game(&mut game, 20);
        mean(search, 20);
        search.run_game(&mut game, 480);
        let mv = search.best_move().unwrap();
        assert!(search.advance(&[mv]) > 0);
        search.start_move();
        let mut game = game.after(mv);
        search.run_game(&mut game, 50);
        let counts = search.run_counts();
        assert_eq!(u64::from(search.mean_depth(&counts)), counts.depth_sum / 100);
        search.run_game(&mut game, 100);
        mean(search, 150);
    });
}

/// What playouts restored below one root says nothing of the next one's moves, whether a move of the game is begun or
/// not.
#[test]
fn each_root_has_its_own_count_of_what_is_restored() {
    let mut game = RandomGame { seed: 11, width: 4, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(4000, 200_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 500);
        while search.recycle() > 0 {}
        run_in_batches(search, &mut game, 1, 100);
        assert!(search.restored() > 0);
        let mv = search.best_move().unwrap();
        search.advance(&[mv]);
        assert_eq!(search.restored(), 0);
    });
}

#[test]
fn a_move_that_nobody_visited_begins_anew() {
    let mut game = RandomGame { seed: 2, width: 9, length: 9, endings: 0, ..RandomGame::of(0) };
    on_both!(1000, 50_000, Params::default(), |search| {
        run_in_batches(search, &mut game, 1, 30);
        assert_eq!(search.advance(&[Move(999)]), 0);
        assert_eq!((search.visits(), search.repository().live_nodes()), (0, 1));
        // The same with a move that was folded.
        run_in_batches(search, &mut game, 1, 30);
        while search.recycle() > 0 {}
        let folded = search.root_node().visited().find(|edge| edge.child().is_none()).and_then(|edge| edge.mv());
        assert_eq!(search.advance(&[folded.unwrap()]), 0);
        assert_eq!((search.visits(), search.repository().live_nodes()), (0, 1));
    });
}

#[test]
fn a_proven_root_counts_its_folded_children() {
    /// Returns `None` if no move is proven.
    fn check<R: Repository>(search: &mut Search<R>, mut game: RandomGame) -> Option<()> {
        run_in_batches(search, &mut game, 1, 60);
        let proven = |edge: &EdgeView<'_, R>| {
            edge.child().is_some_and(|child| child.is_expanded() && child.ending().is_some() && child.n() > 4)
        };
        let mv = search.root_node().visited().find(proven)?.mv()?;
        while search.recycle() > 0 {}
        let edge = search.root_node().visited().find(|edge| edge.mv() == Some(mv))?;
        let child = edge.child().filter(NodeView::is_expanded)?;
        let kept = 1 + child.visited().map(|edge| edge.n()).sum::<u32>();
        assert_eq!(search.advance(&[mv]), kept);
        assert_eq!((search.root_node().ending(), search.root_node().bounds()), (None, Bounds::OPEN));
        let value = search.root_node().value();
        assert!(value.wl.abs() <= 1.0, "{value:?}");
        let mut moved = game.after(mv);
        run_in_batches(search, &mut moved, 1, 200);
        let value = search.root_node().value();
        assert!(value.wl.abs() <= 1.0 && (0.0..=1.0).contains(&value.d), "{value:?}");
        audit(search, &Audit::drained(moved));
        Some(())
    }
    let mut checked = 0;
    for seed in 0..400 {
        let game = RandomGame { seed, width: 3, length: 5, endings: 40, ..RandomGame::of(0) };
        on_both!(5000, 200_000, Params::default(), |search| checked += check(search, game).iter().count());
    }
    assert!(checked > 20, "{checked}");
}

/// One side can only pass back and forth; after four plies the position comes again.
struct Cycle {
    /// How many plies of the game before the root belong to the cycle.
    before: usize,
}

impl Evaluator for Cycle {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, _: Moves<'_>, moves: &mut VecView<Move>) {
        moves.extend([Move(1)]);
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let plies = line.len();
        let verdict = if plies >= 4 && plies + self.before < 8 {
            Verdict::Terminal(Value { m: 4.0, ..Value::DRAW }, Ending::TwoFold)
        } else if plies + self.before >= 8 {
            Verdict::drawn()
        } else {
            Verdict::Position(Value { wl: if plies.is_multiple_of(2) { 0.5 } else { -0.5 }, d: 0.0, m: 0.0 })
        };
        policy.extend([0.0]);
        Ok(Answer { key: 0, verdict })
    }
}

/// Its `m` is the length of the cycle, which no other value may replace.
#[test]
fn a_two_fold_draw_can_not_be_given_another_value() {
    on_both!(100, 5000, Params::default(), |search| {
        search.run(&mut Cycle { before: 0 }, MostMoves::<4>, MostPlies::<32>, 20).unwrap();
        let drawn = |node: &NodeView<'_, _>| node.ending() == Some(Ending::TwoFold);
        let key = search.repository().nodes().find(drawn).map(|node| node.key()).expect("a repetition");
        let before = search.node(key).value();
        search.revalue(key, Value { wl: 0.7, d: 0.0, m: 0.0 });
        assert_eq!(search.node(key).value(), before);
        search.advance(&[Move(1), Move(1)]);
        search.start_move();
        search.run(&mut Cycle { before: 2 }, MostMoves::<4>, MostPlies::<32>, 1).unwrap();
        assert_eq!(search.taken_back(), 16);
    });
}

#[test]
fn a_two_fold_draw_opens_when_its_cycle_reaches_behind_the_root() {
    on_both!(100, 5000, Params::default(), |search| {
        search.run(&mut Cycle { before: 0 }, MostMoves::<4>, MostPlies::<32>, 20).unwrap();
        let drawn = search.root_node().value();
        assert!(drawn.d > 0.7, "{drawn:?}");
        let kept = search.advance(&[Move(1), Move(1)]);
        assert_eq!(kept, 18);
        search.start_move();
        search.run(&mut Cycle { before: 2 }, MostMoves::<4>, MostPlies::<32>, 1).unwrap();
        // Sixteen draws were taken back, and one playout went on below.
        assert_eq!(search.taken_back(), 16);
        assert_eq!(search.visits(), 3);
        let value = search.root_node().value();
        assert!((value.wl - 0.5).abs() < 1e-6 && (value.d, value.m) == (0.0, 1.0), "{value:?}");
        let visits: List<u32> = shape(search).into_iter().map(|edge| edge.1).collect();
        assert_eq!(visits, [2, 1]);
    });
}

/// A game in which, after two plies, the side to move draws by a repetition, or plays on and is a little worse. Two
/// plies later the repetition reaches behind the root, and the same move loses.
struct Perpetual {
    /// The moves of the game before the root.
    before: &'static [u16],
}

impl Perpetual {
    fn played(&self, line: Moves<'_>) -> List<u16> {
        self.before.iter().copied().chain(line.map(|mv| mv.0)).collect()
    }
}

impl Evaluator for Perpetual {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        let legal: &[u16] = match self.played(line)[..] {
            [] => &[1],
            [_] => &[2],
            [_, _] => &[3, 5],
            [_, _, 3] => &[4],
            _ => &[1, 2],
        };
        moves.extend(legal.iter().map(|&mv| Move(mv)));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let plies = line.len();
        let played = self.played(line);
        let edges = if matches!(played[..], [] | [_] | [_, _, 3]) { 1 } else { 2 };
        policy.extend(core::iter::repeat_n(0.0, edges));
        let of_the_repeater = match played[..] {
            [_, _, 3, _, ..] => -0.9,
            [_, _, 5, ..] => -0.2,
            _ => 0.0,
        };
        let wl = if played.len().is_multiple_of(2) { of_the_repeater } else { -of_the_repeater };
        let verdict = match played[..] {
            [_, _, 3, 4] if plies >= 4 => Verdict::Terminal(Value { m: 4.0, ..Value::DRAW }, Ending::TwoFold),
            _ => Verdict::Position(Value { wl, d: 0.0, m: 0.0 }),
        };
        // No two lines lead to the same position.
        let key = played.iter().fold(1, |key, &mv| 7 * key + u64::from(mv));
        Ok(Answer { key, verdict })
    }
}

/// Visits of both moves, first one playout and then some hundreds after the repetition has come to reach behind the
/// root.
fn after_the_perpetual<R: Repository>(search: &mut Search<R>) -> List<(u32, u32)> {
    search.run(&mut Perpetual { before: &[] }, MostMoves::<4>, MostPlies::<64>, 1000).unwrap();
    search.advance(&[Move(1), Move(2)]);
    search.start_move();
    let found = [1, 600].map(|more| {
        search.run(&mut Perpetual { before: &[1, 2] }, MostMoves::<4>, MostPlies::<64>, more).unwrap();
        let root = search.root_node();
        let visits = |mv| root.visited().find(|edge| edge.mv() == Some(Move(mv))).map_or(0, |edge| edge.n());
        assert_eq!(root.n(), 1 + visits(3) + visits(5));
        (visits(3), visits(5))
    });
    assert!(search.taken_back() > 700, "{}", search.taken_back());
    assert_eq!(search.best_move(), Some(Move(5)));
    found.into()
}

#[test]
fn a_move_whose_draw_is_gone_has_to_win_its_visits_anew_in_trees_and_graphs() {
    let mut found = std::vec![];
    on_both!(5000, 50_000, Params::default(), |search| found.push(after_the_perpetual(search)));
    on_both_graphs!(5000, 50_000, Params::default(), |search| found.push(after_the_perpetual(search)));
    assert!(found[0][0].0 <= 2, "{found:?}");
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
}

#[test]
fn what_was_said_of_a_roots_moves_is_not_said_of_the_nexts() {
    let game = RandomGame { seed: 9, width: 9, length: 30, endings: 0, ..RandomGame::of(0) };
    on_both!(5000, 200_000, Params::default(), |search| {
        let mut moved = game;
        run_in_batches(search, &mut moved, 1, 200);
        let edge = search.root_node().visited().next().unwrap();
        let mv = edge.mv().unwrap();
        let restrict = |search: &mut Search<_>| {
            search.set_root_moves([(0, Move(7))]);
            search.set_remaining_playouts(Some(1));
        };
        let is_restricted = |search: &Search<_>| !search.root_moves.are_all() || search.remaining_playouts().is_some();
        restrict(search);
        search.advance(&[]);
        assert!(is_restricted(search), "the root is the same");
        search.advance(&[mv]);
        assert!(!is_restricted(search));
        let mut moved = game.after(mv);
        search.run_game(&mut moved, 300);
        let tried = search.root_node().visited().filter(|edge| edge.n() > 1).count();
        assert!(tried > 1, "{tried} of {} moves", search.root_node().edge_count());
        restrict(search);
        search.clear();
        assert!(!is_restricted(search));
        // Also if the tree is cleared because something is in flight.
        run_in_batches(search, &mut moved, 1, 10);
        restrict(search);
        assert_ne!(search.gather(&mut TestEvent::new()), Gathered::NoMoves);
        search.advance(&[]);
        assert!(!is_restricted(search));
    });
}
