//! Searches like KataGo's, whose visits count more or less.

use super::*;
use crate::evaluate::{Answer, Moves, Value, Verdict};
use crate::formula::weighing::{Branch, Weighing};
use heapless::VecView;
use quickcheck::QuickCheck;

pub fn as_katago() -> Params {
    Params {
        weighing: Weighing { prune_scale: 0.15, exponent: 0.25, unit: 1.0 },
        fpu_parent_power: 2.0,
        deviation: Some(Deviation { usual: 0.4, weight: 2.0, scale: 0.85 }),
        root_policy_sum: 0.7,
        ..Params::default()
    }
}

/// Every edge has what its child passes on, and the sums stay those of visits that count one each.
#[test]
fn what_holds_of_every_node_holds_with_weights() {
    fn holds(seed: u64, batch: u8, explored: bool) -> bool {
        let params = Params { explored: if explored { Explored::Weights } else { Explored::Visits }, ..as_katago() };
        let mut game = RandomGame::of(seed);
        let size = 1 + usize::from(batch) % 20;
        // Also with memory that is soon full.
        for (nodes, words) in [(2000, 100_000), (60, 900)] {
            on_both!(nodes, words, params, |search| {
                let mut batch = Batch::new(size);
                for _ in 0..20 {
                    batch.gather(search);
                    batch.answer(search, &mut game);
                    audit(search, &Audit { short_of_room: true, ..Audit::drained(game) });
                }
            });
        }
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64, u8, bool) -> bool);
}

/// Without pruning, the sum of the weights is the number of visits, and better moves weigh more: what is passed on is
/// no worse than the mean.
#[test]
fn what_is_passed_on_is_no_worse_than_the_mean() {
    fn holds(seed: u64) -> bool {
        let mut game = RandomGame::of(seed);
        let weighing = Weighing { prune_scale: 0.0, ..as_katago().weighing };
        on_both!(5000, 200_000, Params { weighing, ..Params::default() }, |search| {
            run_in_batches(search, &mut game, 1, 300);
            let root = search.root_node();
            let (passed_on, mean) = (search.passed_on(&root), root.value());
            assert!(passed_on.wl >= mean.wl - 1e-4, "{passed_on:?} {mean:?}");
            assert!((0.0..=1.0).contains(&passed_on.d) && passed_on.m.is_finite(), "{passed_on:?}");
        });
        true
    }
    QuickCheck::new().tests(40).quickcheck(holds as fn(u64) -> bool);
}

/// Each part of the value is the mean of the node's own evaluation, which weighs one, and of what the edges keep.
#[test]
fn what_is_passed_on_is_the_weighed_mean() {
    let params = as_katago();
    for seed in 0..20 {
        let mut game = RandomGame::of(seed);
        on_both!(5000, 200_000, params, |search| {
            run_in_batches(search, &mut game, 1, 100);
            let root = search.root_node();
            let branches = || {
                root.visited().map(|edge| Branch { n: edge.completed() as f32, q: edge.q(0.0).unwrap(), p: edge.p() })
            };
            let weights: List<f64> = params.weighing.weights(branches).map(f64::from).collect();
            let own = root.own_value().expect("the game goes on");
            let mean = |part: fn(Value) -> f32, plies: f32| {
                let below = root
                    .visited()
                    .zip(&weights)
                    .map(|(edge, weight)| weight * f64::from(part(edge.value().unwrap()) + plies));
                ((f64::from(part(own)) + below.sum::<f64>()) / (1.0 + weights.iter().sum::<f64>())) as f32
            };
            let passed_on = search.passed_on(&root);
            assert!((passed_on.wl - mean(|value| value.wl, 0.0)).abs() < 1e-4, "{passed_on:?}");
            assert!((passed_on.d - mean(|value| value.d, 0.0)).abs() < 1e-4, "{passed_on:?}");
            assert!((passed_on.m - mean(|value| value.m, 1.0)).abs() < 1e-2, "{passed_on:?}");
        });
    }
}

/// The value of a move without a visit follows the node's own evaluation while little of the policy was visited.
#[test]
fn a_disappointment_lets_others_be_tried() {
    let visited = |power: f32| {
        let mut tried = 0;
        for seed in 0..40 {
            let mut game = RandomGame::of(seed);
            on_tree!(5000, 200_000, Params { fpu_parent_power: power, ..Params::default() }, |search| {
                run_in_batches(search, &mut game, 1, 60);
                tried += search.root_node().visited_count();
            });
        }
        tried
    };
    assert_ne!(visited(0.0), visited(2.0));
}

/// The more of the policy was visited, the nearer that value is to the mean.
#[test]
fn a_move_without_a_visit_is_held_against_a_value_between_the_own_one_and_the_mean() {
    fn held<R: Repository>(search: &Search<R>, mean: Value, visited: f32) -> Value {
        search.held_against(&search.repository.lock(search.root_node().key()), mean, visited)
    }
    let mut game = RandomGame { endings: 0, ..RandomGame::of(3) };
    let params = Params { fpu_parent_power: 2.0, ..Params::default() };
    on_both!(5000, 200_000, params, |search| {
        run_in_batches(search, &mut game, 1, 100);
        let root = search.root_node();
        let (own, mean) = (root.own_value().expect("the game goes on"), root.value());
        assert!((own.wl - mean.wl).abs() > 0.05 && (own.m - mean.m).abs() > 1.0, "{own:?} {mean:?}");
        for (visited, share) in [(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)] {
            let held = held(search, mean, visited);
            for (held, own, mean) in [(held.wl, own.wl, mean.wl), (held.d, own.d, mean.d), (held.m, own.m, mean.m)] {
                let expected = own + share * (mean - own);
                assert!((held - expected).abs() < 0.02 * (mean - own).abs() + 1e-4, "{held} for {expected}");
            }
        }
        search.set_params(Params { fpu_parent_power: 0.0, ..params });
        assert_eq!(held(search, mean, 0.5), mean);
    });
}

#[test]
fn the_roots_priors_sum_to_what_is_said() {
    let mut game = RandomGame::of(3);
    on_both!(1000, 50_000, as_katago(), |search| {
        run_in_batches(search, &mut game, 1, 40);
        let of = |node: NodeView<'_, _>| node.edges().map(|edge| edge.p()).sum::<f32>();
        assert!((of(search.root_node()) - 0.7).abs() < 1e-2);
        let child = search.root_node().visited().filter_map(|edge| edge.child()).find(|child| child.is_expanded());
        assert!((of(child.expect("a child")) - 1.0).abs() < 1e-2);
    });
}

/// The root's priors sum to 2, so a move with a prior of 0.8 is two fifths of what can be visited. The first move has a
/// score of 0.05 then, and the others one of 0.28; they would have −0.11 if four fifths were visited.
#[test]
fn the_policy_that_was_visited_is_a_part_of_the_roots_sum() {
    let mut game = WrittenGame(|line| match line {
        [] => (ours(line, 0.0), &[0.4, 0.3, 0.3]),
        [0, ..] => (ours(line, -0.65), &[1.0]),
        _ => (ours(line, 0.0), &[1.0]),
    });
    let params = Params { fpu: Fpu::Reduction(1.0), fpu_parent_power: 1.0, root_policy_sum: 2.0, ..as_written() };
    on_both!(100, 1000, params, |search| {
        search.visit(&mut game, 0, 1);
        search.run(&mut game, MostMoves::<EDGES>, MostPlies::<64>, 1).unwrap();
        assert_eq!(search.root_node().visited_count(), 2);
    });
}

/// A game with two equally good moves, after each of which it is drawn; the numbers are what a visit of each weighs.
struct TwoDraws([f32; 2]);

impl Evaluator for TwoDraws {
    type Error = core::convert::Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        if line.len() == 0 {
            moves.extend([Move(0), Move(1)]);
        }
    }

    fn evaluate(&mut self, mut line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Self::Error> {
        let weighing = |weight| Value { m: weight * Value::WEIGHT_ONE, ..Value::EVEN };
        let (key, verdict) = match line.next_back() {
            None => (0, Verdict::Position(weighing(1.0))),
            Some(mv) => (1 + u64::from(mv.0), Verdict::scored(weighing(self.0[usize::from(mv.0)]))),
        };
        if key == 0 {
            policy.extend([0.0; 2]);
        }
        Ok(Answer { key, verdict })
    }
}

/// Moves with the same value and prior get visits of the same weight in sum from PUCT. The weight is not taken for the
/// length of a cycle.
#[test]
fn exploration_goes_by_what_visits_weigh() {
    let visits = |explored, weights| {
        let (mut of, params) = ([0; 2], Params { explored, ..Params::default() });
        on_both!(10, 500, params, |search| {
            search.run(&mut TwoDraws(weights), MostMoves::<2>, MostPlies::<8>, 101).unwrap();
            search.root_node().visited().for_each(|edge| of[usize::from(edge.mv().unwrap().0)] = edge.completed());
            assert_eq!(search.root_node().n(), 101);
        });
        of
    };
    assert_eq!(visits(Explored::Weights, [1.0, 1.0]), [50, 50]);
    assert_eq!(visits(Explored::Weights, [4.0, 1.0]), [20, 80]);
    assert_eq!(visits(Explored::Weights, [0.25, 1.0]), [80, 20]);
    assert_eq!(visits(Explored::Visits, [1.0 / 32.0, 0.0]), [50, 50]);
}
