//! The tree's invariants, on random games.

use super::*;
use crate::evaluate::{Answer, Ending, Moves, Value, Verdict};
use crate::tree::{Block, Bound, NodeWords, Sums};
use heapless::VecView;
use quickcheck::{QuickCheck, quickcheck};
use std::boxed::Box;
use std::vec;

type TestEvent = Event<64>;

/// A game that a seed makes up: what follows a list of moves is decided by its hash.
#[derive(Clone, Copy, Debug)]
struct RandomGame {
    seed: u64,
    /// Most moves in a position.
    width: u16,
    /// Plies after which the game ends for certain.
    length: usize,
    /// Of 256 positions so many end the game.
    endings: u64,
}

fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (x ^ x >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53) ^ x >> 29
}

impl RandomGame {
    fn key(&self, moves: impl Iterator<Item = Move>) -> (u64, usize) {
        moves.fold((mix(self.seed, 1), 0), |(key, plies), mv| (mix(key, u64::from(mv.0) + 7), plies + 1))
    }

    fn verdict(&self, key: u64, plies: usize) -> Verdict {
        if plies > 0 && (plies >= self.length || key % 256 < self.endings) {
            return match key >> 8 & 3 {
                0 => Verdict::lost(),
                1 => Verdict::Terminal(Value::WIN, Ending::Tablebase),
                _ => Verdict::drawn(),
            };
        }
        let part = |shift: u64| (key >> shift & 0xff) as f32 / 256.0;
        let wl = part(16) * 2.0 - 1.0;
        Verdict::Position(Value { wl, d: part(24) * (1.0 - wl.abs()), m: part(32) * 100.0 })
    }

    fn moves(&self, key: u64) -> impl Iterator<Item = MoveLogit> + use<> {
        let width = u64::from(self.width);
        let logit = move |i: u64| (mix(key, i + 99) % 64) as f32 / 16.0; // equal priors happen
        (0..1 + key % width).map(move |i| MoveLogit { mv: Move(i as u16), logit: logit(i) })
    }
}

impl Evaluator for RandomGame {
    type Error = core::convert::Infallible;

    fn evaluate(&mut self, moves: Moves<'_>, policy: &mut VecView<MoveLogit>) -> Result<Answer, Self::Error> {
        let (key, plies) = self.key(moves);
        let verdict = self.verdict(key, plies);
        if let Verdict::Position(_) = verdict {
            policy.extend(self.moves(key));
        }
        Ok(Answer { key, verdict })
    }
}

fn game(seed: u64) -> RandomGame {
    RandomGame { seed, width: 2 + (seed % 11) as u16, length: 6 + (seed % 17) as usize, endings: seed % 40 }
}

fn with_search<R>(nodes: usize, blocks: usize, params: Params, f: impl FnOnce(&mut Search<'_>) -> R) -> R {
    let mut node_memory: Box<[NodeWords]> = vec![[7; 10]; nodes].into();
    let mut block_memory: Box<[Block]> = vec![[7; 8]; blocks].into();
    f(&mut Search::new(Tree::new(&mut node_memory, &mut block_memory), params))
}

fn params() -> Params {
    Params { max_edges: 12, ..Params::default() }
}

/// Gathers up to `batch` events and then answers them, newest first, until `playouts` playouts are done.
fn run_in_batches(search: &mut Search<'_>, game: &mut RandomGame, batch: usize, playouts: u64) {
    let mut events = vec![TestEvent::new(); batch];
    let end = search.counts().playouts + playouts;
    while search.counts().playouts < end {
        let gathered = gather_batch(search, &mut events);
        if gathered.is_empty() {
            return;
        }
        answer_batch(search, game, &mut events, &gathered);
    }
}

fn gather_batch(search: &mut Search<'_>, events: &mut [TestEvent]) -> std::vec::Vec<Gathered> {
    let mut gathered = std::vec::Vec::new();
    for event in events {
        match search.gather(event) {
            met @ (Gathered::Leaf | Gathered::Known | Gathered::Collision) => gathered.push(met),
            Gathered::Full if gathered.is_empty() => {
                assert!(search.recycle() > 0, "nothing to fold");
                break;
            }
            _ => break,
        }
    }
    gathered
}

fn answer_batch(search: &mut Search<'_>, game: &mut RandomGame, events: &mut [TestEvent], gathered: &[Gathered]) {
    for (event, met) in events.iter_mut().zip(gathered).rev() {
        match met {
            Gathered::Leaf => {
                let mut policy = Vec::<MoveLogit, 16>::new();
                let answer = game.evaluate(event.moves(), policy.as_mut_view()).unwrap();
                search.answer(event, &answer, &mut policy).unwrap();
            }
            Gathered::Known => search.backprop(event).unwrap(),
            _ => search.cancel(event),
        }
    }
}

/// Walks the tree and checks invariant 3 of the design at every node: the visits in flight, and (where `full`: no node
/// was folded) the value as the mean of the node's own evaluation and its children's. Gives back the nodes seen.
fn audit(search: &Search<'_>, game: &RandomGame, events: &[TestEvent], full: bool) -> usize {
    let mut seen = 0;
    let Some(root) = search.root else { return 0 };
    let mut todo = vec![(root, std::vec::Vec::<Move>::new())];
    while let Some((node, path)) = todo.pop() {
        seen += 1;
        let tree = search.tree();
        let below =
            events.iter().filter(|e| e.leaf.is_some() && e.path.iter().any(|s| s.parent == node)).count() as u32;
        let closed = tree.ending(node).is_some() || tree.is_regrown(node);
        let visits: u32 = tree.visits(node).map(|(_, visit)| visit.n).sum();
        if tree.is_expanded(node) && !closed {
            assert_eq!(visits, tree.n(node) - 1 + below, "visits in flight after {path:?}");
        }
        let mut sums = Sums::default();
        for ((mv, p), (place, visit)) in tree.edges(node).zip(tree.visits(node)) {
            assert!((0.0..=1.0).contains(&p));
            let Some(child) = visit.child else { continue };
            let n = tree.n(child);
            let through = events.iter().filter(|e| e.leaf.is_some() && e.path.iter().any(|s| s.visit == place)).count();
            assert_eq!(visit.n, n + through as u32, "visits of an edge and of its child after {path:?} {mv:?}");
            sums = sums.plus(tree.sums(child).one_ply_up(n));
            if n > 0 {
                let mean = tree.mean(child);
                let q = -mean.wl + search.draw_score_at(path.len()) * mean.d;
                // A node that grows again is not asked yet: its sums are the edge's Q, rounded.
                let asked = tree.is_expanded(child) || tree.ending(child).is_some();
                assert!(visit.q == q || !asked && (visit.q - q).abs() < 1e-6, "cached Q after {path:?}");
            }
            let mut path = path.clone();
            path.push(mv);
            todo.push((child, path));
        }
        if full && !closed && tree.is_expanded(node) {
            let (key, plies) = game.key(path.iter().copied());
            let own = Sums::of(game.verdict(key, plies).value(), 1);
            assert_eq!(tree.sums(node), own.plus(sums), "value after {path:?}");
        }
        let priors: std::vec::Vec<f32> = tree.edges(node).map(|(_, p)| p).filter(|p| *p > 1e-9).collect();
        assert!(priors.is_sorted_by(|a, b| a >= b), "priors after {path:?}");
    }
    assert_eq!(seen, search.tree().live_nodes(), "every node hangs on the root");
    seen
}

#[test]
fn visits_in_flight_are_those_of_the_events() {
    fn holds(seed: u64, batch: u8, draw_score: i8) -> bool {
        let mut game = game(seed);
        let batch = 1 + usize::from(batch) % 40;
        let params = Params { draw_score: f32::from(draw_score) / 128.0, ..params() };
        with_search(2000, 8000, params, |search| {
            let mut events = vec![TestEvent::new(); batch];
            for _ in 0..20 {
                let gathered = gather_batch(search, &mut events);
                let flying = &events[..gathered.len()];
                assert_eq!(search.in_flight() as usize, flying.len());
                audit(search, &game, flying, true);
                answer_batch(search, &mut game, &mut events, &gathered);
                assert_eq!(search.in_flight(), 0);
                audit(search, &game, &[], true);
            }
            assert_eq!(search.counts().playouts, u64::from(search.nodes()));
            true
        })
    }
    QuickCheck::new().tests(60).quickcheck(holds as fn(u64, u8, i8) -> bool);
}

#[test]
fn the_same_answers_give_the_same_tree() {
    type Shape = std::vec::Vec<(Move, u32, u32, u32)>;
    fn shape(search: &Search<'_>) -> Shape {
        let mut todo: std::vec::Vec<_> = search.root().into_iter().collect();
        let mut all = Shape::new();
        while let Some(node) = todo.pop() {
            for edge in node.edges() {
                all.push((edge.mv, edge.n(), edge.p.to_bits(), edge.q().unwrap_or(9.0).to_bits()));
                todo.extend(edge.child());
            }
        }
        all
    }
    fn holds(seed: u64) -> bool {
        let mut game = game(seed);
        let by_hand = with_search(3000, 9000, params(), |search| {
            run_in_batches(search, &mut game, 1, 700);
            shape(search)
        });
        // Other memory, other loop.
        let by_run = with_search(1000, 4000, params(), |search| {
            search.run::<_, 16, 64>(&mut game, 700).unwrap();
            shape(search)
        });
        by_hand == by_run
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64) -> bool);
}

/// The result of a game by exhaustion, from the side to move: -1, 0, 1.
fn solve(game: &RandomGame, path: &mut std::vec::Vec<Move>) -> i32 {
    let (key, plies) = game.key(path.iter().copied());
    match game.verdict(key, plies) {
        Verdict::Terminal(value, _) => value.wl as i32,
        Verdict::Position(_) => {
            let replies = game.moves(key).map(|edge| {
                path.push(edge.mv);
                let result = -solve(game, path);
                path.pop();
                result
            });
            replies.max().unwrap()
        }
    }
}

/// Checks every bound of the tree against the exhausted game; gives back how many results are proven by children.
fn check_bounds(search: &Search<'_>, game: &RandomGame) -> usize {
    let mut todo = vec![(search.root().unwrap(), std::vec::Vec::new())];
    let mut proven = 0;
    while let Some((node, path)) = todo.pop() {
        if node.n() > 0 {
            let result = solve(game, &mut path.clone());
            let bounds = node.bounds();
            assert!((bounds.lower as i32 - 1..=bounds.upper as i32 - 1).contains(&result), "{path:?}");
            proven += usize::from(bounds.lower == bounds.upper && node.is_expanded());
        }
        for edge in node.edges() {
            let mut path = path.clone();
            path.push(edge.mv);
            todo.extend(edge.child().map(|child| (child, path)));
        }
    }
    proven
}

#[test]
fn what_is_proven_is_true() {
    let mut proven = 0;
    for seed in 0..80 {
        let mut game = RandomGame { seed, width: 3, length: 5, endings: 30 };
        with_search(5000, 20000, params(), |search| {
            run_in_batches(search, &mut game, 1 + (seed % 5) as usize, 1500);
            audit(search, &game, &[], true);
            proven += check_bounds(search, &game);
            let root = solve(&game, &mut std::vec::Vec::new());
            let mut after = vec![search.best_move().unwrap()];
            // With this many playouts in a game this small, a won root is won by the move chosen.
            assert!(root < 1 || -solve(&game, &mut after) == 1, "seed {seed}");
        });
    }
    assert!(proven > 200, "{proven} nodes proven by their children");
}

#[test]
fn a_full_tree_goes_on() {
    for seed in 0..12 {
        let mut game = RandomGame { length: 40, ..game(seed * 977 + 5) };
        with_search(300, 900, params(), |search| {
            run_in_batches(search, &mut game, 1 + (seed % 7) as usize, 20_000);
            let mut line = Vec::<Move, 8>::new();
            let best = search.best_move().unwrap();
            search.pv(best, line.as_mut_view());
            assert_eq!(line.first(), Some(&best));
            audit(search, &game, &[], false);
            // A visit that was counted at the root stays counted.
            assert_eq!(u64::from(search.nodes()), search.counts().playouts);
            let root = search.root().unwrap();
            let sum: u32 = root.edges().map(|edge| edge.n()).sum();
            assert_eq!(sum, root.n() - 1);
        });
    }
}

#[test]
fn a_regrown_node_starts_from_what_its_edge_kept() {
    let mut game = RandomGame { seed: 11, width: 4, length: 30, endings: 0 };
    with_search(4000, 12000, params(), |search| {
        run_in_batches(search, &mut game, 1, 500);
        let kept: std::vec::Vec<_> = search.root().unwrap().edges().map(|e| (e.mv, e.n(), e.q())).collect();
        while search.recycle() > 0 {}
        for (mv, n, q) in kept.iter().filter(|(_, n, _)| *n > 3) {
            let edge = search.root().unwrap().edges().find(|e| e.mv == *mv).unwrap();
            assert_eq!((edge.n(), edge.q()), (*n, *q), "folding keeps N and Q");
        }
        run_in_batches(search, &mut game, 1, 50);
        for edge in search.root().unwrap().edges().filter(|e| e.n() > 20) {
            let (_, n, q) = kept.iter().find(|(mv, ..)| *mv == edge.mv).unwrap();
            let drift = (edge.q().unwrap() - q.unwrap()).abs();
            let new = edge.n() - n;
            assert!(drift <= 2.0 * new as f32 / edge.n() as f32 + 1e-5, "{new} new visits moved Q by {drift}");
        }
        audit(search, &game, &[], false);
    });
}

#[test]
fn a_collision_is_no_visit_of_a_regrown_node() {
    for seed in 0..20 {
        let mut game = RandomGame { seed, width: 3, length: 30, endings: 0 };
        with_search(4000, 12000, params(), |search| {
            run_in_batches(search, &mut game, 1, 100);
            while search.recycle() > 0 {}
            let mut events = vec![TestEvent::new(); 30];
            for _ in 0..4 {
                let gathered = gather_batch(search, &mut events);
                audit(search, &game, &events[..gathered.len()], false);
                answer_batch(search, &mut game, &mut events, &gathered);
                audit(search, &game, &[], false);
            }
        });
    }
}

#[test]
fn the_move_to_play_is_not_folded() {
    let mut checked = 0;
    for seed in 0..400 {
        let mut game = RandomGame { seed, width: 9, length: 9, endings: 20 };
        with_search(5000, 20000, params(), |search| {
            let wins = |search: &Search<'_>| {
                search.best_edge().is_some_and(|edge| edge.bounds().lower == Bound::Win && edge.completed() > 0)
            };
            while !wins(search) && search.nodes() < 300 {
                run_in_batches(search, &mut game, 1, 1);
            }
            if wins(search) {
                let best = search.best_move();
                while search.recycle() > 0 {}
                assert_eq!(search.best_move(), best, "seed {seed}");
                assert!(wins(search), "seed {seed}");
                checked += 1;
            }
        });
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn visits_are_counted_up_to_a_limit() {
    let mut game = RandomGame { seed: 4, width: 4, length: 30, endings: 0 };
    with_search(500, 2000, params(), |search| {
        search.run::<_, 16, 64>(&mut game, 1).unwrap();
        let root = search.root.unwrap();
        search.tree.set_sums(root, MAX_VISITS - 20, Sums::of(Value::EVEN, MAX_VISITS - 20));
        let mut events = vec![TestEvent::new(); 30];
        let gathered = gather_batch(search, &mut events);
        answer_batch(search, &mut game, &mut events, &gathered);
        assert_eq!(search.run::<_, 16, 64>(&mut game, u64::MAX), Ok(()));
        assert_eq!(search.nodes(), MAX_VISITS);
    });
}

/// A long line of forced moves, beside one move that ends the game.
struct Forced;

impl Evaluator for Forced {
    type Error = core::convert::Infallible;

    fn evaluate(&mut self, mut moves: Moves<'_>, policy: &mut VecView<MoveLogit>) -> Result<Answer, Self::Error> {
        let plies = moves.len();
        if moves.any(|mv| mv == Move(2)) {
            return Ok(Answer { key: 0, verdict: Verdict::drawn() });
        }
        let _ = policy.push(MoveLogit { mv: Move(1), logit: 0.0 });
        if plies == 0 {
            let _ = policy.push(MoveLogit { mv: Move(2), logit: 0.0 });
        }
        Ok(Answer { key: 0, verdict: Verdict::Position(Value::EVEN) })
    }
}

#[test]
fn whatever_is_beside_the_line_can_be_folded() {
    with_search(100, 400, Params { max_edges: 2, ..params() }, |search| {
        search.run::<_, 2, 64>(&mut Forced, 90).unwrap();
        let root = search.root().unwrap();
        let [line, beside] = [0, 1].map(|at| root.edges().nth(at).unwrap().n());
        assert!(line > beside && beside > 16, "{line} {beside}");
        assert_eq!(search.recycle(), 1);
        assert_eq!(search.recycle(), 0);
    });
}

#[test]
fn a_proven_root_counts_its_folded_children() {
    let mut checked = 0;
    for seed in 0..400 {
        let mut game = RandomGame { seed, width: 3, length: 5, endings: 40 };
        with_search(5000, 20000, params(), |search| {
            run_in_batches(search, &mut game, 1, 60);
            let proven = search.root().unwrap().edges().find_map(|edge| {
                let child = edge.child()?;
                (child.is_expanded() && child.ending().is_some() && child.n() > 4).then_some((edge.mv, child.n()))
            });
            let Some((mv, _)) = proven else { return };
            while search.recycle() > 0 {}
            let kept: u32 = {
                let root = search.root().unwrap();
                let Some(child) = root.edges().find(|e| e.mv == mv).and_then(|e| e.child()) else { return };
                1 + child.edges().map(|e| e.n()).sum::<u32>()
            };
            assert_eq!(search.advance(&[mv]), kept);
            let value = search.root().unwrap().value();
            assert!(value.wl.abs() <= 1.0, "{value:?}");
            checked += 1;
            search.start_move();
            search.run::<_, 16, 64>(&mut Shifted { game, first: mv }, 200).unwrap();
            let value = search.root().unwrap().value();
            assert!(value.wl.abs() <= 1.0 && (0.0..=1.0).contains(&value.d), "{value:?}");
            audit(search, &game, &[], false);
        });
    }
    assert!(checked > 10, "{checked}");
}

#[test]
fn what_an_evaluator_says_beyond_all_bounds_is_no_overflow() {
    struct Loud;
    impl Evaluator for Loud {
        type Error = core::convert::Infallible;
        fn evaluate(&mut self, moves: Moves<'_>, policy: &mut VecView<MoveLogit>) -> Result<Answer, Self::Error> {
            policy.extend([Move(1), Move(2)].map(|mv| MoveLogit { mv, logit: f32::INFINITY }));
            let odd = if moves.len().is_multiple_of(2) { f32::INFINITY } else { 1e30 };
            Ok(Answer { key: 0, verdict: Verdict::Position(Value { wl: odd, d: f32::NAN, m: odd }) })
        }
    }
    with_search(500, 2000, params(), |search| {
        assert_eq!(search.run::<_, 16, 64>(&mut Loud, 10), Ok(()));
        assert_eq!(search.run::<_, 16, 64>(&mut Loud, 290), Ok(()));
        let value = search.root().unwrap().value();
        assert!(value.wl.abs() <= 1.0 && (0.0..=1.0).contains(&value.d) && value.m >= 0.0, "{value:?}");
    });
}

#[test]
fn the_two_ways_back_can_not_be_confused() {
    let mut game = RandomGame { seed: 1, width: 1, length: 2, endings: 0 };
    with_search(100, 400, params(), |search| {
        let mut event = TestEvent::new();
        assert_eq!(search.gather(&mut event), Gathered::Leaf);
        assert_eq!(search.backprop(&mut event), Err(Refused::Stale), "nothing is known of a leaf");
        let mut policy = Vec::<MoveLogit, 16>::new();
        let answer = game.evaluate(event.moves(), policy.as_mut_view()).unwrap();
        assert_eq!(search.answer(&mut event, &answer, &mut policy), Ok(()));
        run_in_batches(search, &mut game, 1, 20);
        assert_eq!(search.gather(&mut event), Gathered::Known);
        let before = search.root().unwrap().value();
        assert_eq!(search.answer(&mut event, &answer, &mut policy), Err(Refused::Stale), "it was answered already");
        assert_eq!(search.root().unwrap().value(), before);
        assert_eq!(search.backprop(&mut event), Ok(()));
        audit(search, &game, &[], false);
    });
}

quickcheck! {
    fn the_game_goes_on(seed: u64) -> bool {
        let mut game = game(seed | 1);
        with_search(3000, 12000, params(), |search| {
            run_in_batches(search, &mut game, 3, 400);
            let Some(edge) = search.best_edge() else { return true };
            let (mv, n) = (edge.mv, edge.completed());
            let kept = search.advance(&[mv]);
            // A child that ended the game is asked again as a root.
            assert!(kept == n || search.root().is_none_or(|root| root.is_regrown()));
            // As the root of its own game, the position is what it was below the old root.
            let mut moved = Shifted { game, first: mv };
            search.start_move();
            let met = search.run::<_, 16, 64>(&mut moved, 200);
            assert_eq!(met, Ok(()));
            assert_eq!(u64::from(search.nodes()), u64::from(kept) + search.counts().playouts);
            true
        })
    }
}

struct Shifted {
    game: RandomGame,
    first: Move,
}

impl Evaluator for Shifted {
    type Error = core::convert::Infallible;

    fn evaluate(&mut self, moves: Moves<'_>, policy: &mut VecView<MoveLogit>) -> Result<Answer, Self::Error> {
        let (key, plies) = self.game.key(core::iter::once(self.first).chain(moves));
        let verdict = self.game.verdict(key, plies);
        if let Verdict::Position(_) = verdict {
            policy.extend(self.game.moves(key));
        }
        Ok(Answer { key, verdict })
    }
}

#[test]
fn late_answers_hit_nobody() {
    let mut game = game(5);
    with_search(1000, 4000, params(), |search| {
        run_in_batches(search, &mut game, 1, 50);
        let mut event = TestEvent::new();
        while search.gather(&mut event) != Gathered::Leaf {
            search.backprop(&mut event).unwrap();
        }
        let mut policy = Vec::<MoveLogit, 16>::new();
        let answer = game.evaluate(event.moves(), policy.as_mut_view()).unwrap();
        search.clear();
        run_in_batches(search, &mut game, 1, 20);
        assert_eq!(search.answer(&mut event, &answer, &mut policy), Err(Refused::Stale));
        assert_eq!(search.nodes(), 20);
        audit(search, &game, &[], true);
    });
}

#[test]
fn a_cancelled_playout_leaves_no_trace() {
    let mut game = game(6);
    with_search(1000, 4000, params(), |search| {
        run_in_batches(search, &mut game, 1, 50);
        let before = search.counts();
        let mut event = TestEvent::new();
        while search.gather(&mut event) != Gathered::Leaf {
            search.backprop(&mut event).unwrap();
        }
        assert_eq!(
            search.answer(&mut event, &Answer { key: 0, verdict: Verdict::Position(Value::EVEN) }, &mut []),
            Err(Refused::NoEdges)
        );
        assert_eq!(search.counts().evaluations, before.evaluations);
        assert_eq!(search.in_flight(), 0);
        audit(search, &game, &[], true);
        run_in_batches(search, &mut game, 4, 200);
        audit(search, &game, &[], true);
    });
}

/// One side can only pass back and forth; after four plies the position comes again.
struct Cycle {
    /// Plies of the game before the root, within the cycle.
    before: usize,
}

impl Evaluator for Cycle {
    type Error = core::convert::Infallible;

    fn evaluate(&mut self, moves: Moves<'_>, policy: &mut VecView<MoveLogit>) -> Result<Answer, Self::Error> {
        let plies = moves.len();
        let verdict = if plies >= 4 && plies + self.before < 8 {
            Verdict::Terminal(Value { m: 4.0, ..Value::DRAW }, Ending::TwoFold)
        } else if plies + self.before >= 8 {
            Verdict::drawn()
        } else {
            Verdict::Position(Value { wl: if plies.is_multiple_of(2) { 0.5 } else { -0.5 }, d: 0.0, m: 0.0 })
        };
        let _ = policy.push(MoveLogit { mv: Move(1), logit: 0.0 });
        Ok(Answer { key: 0, verdict })
    }
}

#[test]
fn a_two_fold_draw_opens_when_its_cycle_reaches_behind_the_root() {
    with_search(100, 400, params(), |search| {
        search.run::<_, 4, 32>(&mut Cycle { before: 0 }, 20).unwrap();
        let drawn = search.root().unwrap().value();
        assert!(drawn.d > 0.7, "{drawn:?}");
        let kept = search.advance(&[Move(1), Move(1)]);
        assert_eq!(kept, 18);
        search.start_move();
        search.run::<_, 4, 32>(&mut Cycle { before: 2 }, 1).unwrap();
        // Sixteen draws were taken back, one playout went on below.
        assert_eq!(search.taken_back(), 16);
        assert_eq!(search.nodes(), 3);
        assert_eq!(search.root().unwrap().value(), Value { wl: 0.5, d: 0.0, m: 1.0 });
    });
}

#[test]
fn longer_lines_than_a_path_holds_do_not_stop_the_search() {
    let mut game = RandomGame { seed: 3, width: 1, length: 1000, endings: 0 };
    with_search(100, 400, params(), |search| {
        assert_eq!(search.run::<_, 4, 8>(&mut game, 30), Ok(()));
        assert_eq!(search.nodes(), 30);
        assert_eq!(search.tree().live_nodes(), 9);
    });
}

#[test]
fn root_moves_can_be_named() {
    let mut game = RandomGame { seed: 9, width: 9, length: 9, endings: 0 };
    with_search(1000, 4000, params(), |search| {
        search.run::<_, 16, 64>(&mut game, 1).unwrap();
        let last = search.root().unwrap().edges().last().unwrap().mv;
        search.set_root_moves([last]);
        search.run::<_, 16, 64>(&mut game, 100).unwrap();
        assert_eq!(search.best_move(), Some(last));
        for edge in search.root().unwrap().edges() {
            assert_eq!(edge.n(), if edge.mv == last { 100 } else { 0 });
        }
    });
}
