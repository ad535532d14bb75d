//! Tests of searches with a small network: the sums of their notes, and the ends of games.

mod human;
mod ownership;
mod reuse;

use super::notes::{At, Note};
use super::{Evaluator, Game, Limits, Plan, Search, Step, Stopped};
use crate::analysis::go::Defaults;
use crate::evaluator::faulty::{Fault, serve_on_watched_device};
use crate::memory::{Layout, Memory};
use crate::network::{BackendKind, EvaluatorSettings, HintsFrom, Weights};
use hashbrown::HashMap;
use oncilla_chess::planes::HistoryFill;
use oncilla_core::search::{EdgeView, NodeView};
use oncilla_core::tree::Tree;
use oncilla_go::{Color, Move, Outcome, Size};
use oncilla_nets::HeadChoice;
use oncilla_nets::katago::Model;
use oncilla_opencl::kernels::Precision;
use oncilla_opencl::watched::Patience;
use quickcheck::QuickCheck;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

static EVALUATOR: LazyLock<Arc<Evaluator>> = LazyLock::new(|| Arc::new(evaluator()));

fn evaluator() -> Evaluator {
    evaluator_with("tiny-v8.bin.gz")
}

/// An evaluator with a network of `fixtures/go`, on the host.
pub(crate) fn evaluator_with(file: &str) -> Evaluator {
    evaluator_changed(file, |_| ())
}

/// An evaluator whose network is changed by `changed` once it has been read.
fn evaluator_changed(file: &str, changed: impl FnOnce(&mut Model)) -> Evaluator {
    let weights = oncilla_testing::fixtures().join("go").join(file);
    let settings = EvaluatorSettings {
        weights: Weights::File(weights.clone()),
        hints: HintsFrom::Nowhere,
        moves_left: true,
        heads: HeadChoice::default(),
        backend: BackendKind::Host,
        devices: Vec::new(),
        precision: Precision::Fp32,
        cache_dir: None,
        threads: 1,
        threads_are_all: false,
        tiles: true,
        history_fill: HistoryFill::FenOnly,
    };
    let mut model = Model::read(weights).expect("a model");
    changed(&mut model);
    Evaluator::new(model, settings, 16 << 20)
}

/// In all of these cases the network's outputs are finite, but what is computed from them is not.
#[test]
fn what_is_made_of_outputs_is_refused_where_it_is_no_finite_number() {
    type Change = fn(&mut Model);
    let said = |changed: Change| {
        let evaluator = evaluator_changed("tiny-v15.bin.gz", changed);
        let (game, plan) = asked(&json!({"moves": [["B", "C3"]]}), 1);
        evaluator.ask(&game, &plan.question).map(|_| ())
    };
    assert_eq!(said(|_| ()), Ok(()));
    let changes: [(Change, &str); 4] = [
        (|model| model.multipliers.score_mean = 1e30, "the score"),
        (|model| model.multipliers.lead = f32::INFINITY, "the score"),
        (|model| model.multipliers.variance_time = f32::INFINITY, "the variance in time"),
        (|model| model.multipliers.short_term_errors = Some([-1.0, 30.0]), "a short-term error"),
    ];
    for (changed, what) in changes {
        assert_eq!(said(changed), Err(format!("expected finite numbers from the network, got another in {what}")));
    }
}

/// Without a time at which the search has to end, it would wait a minute for a batch.
#[test]
fn a_device_that_hangs_costs_a_move_no_more_than_its_time() {
    let evaluator = Arc::new(evaluator());
    let patience = Patience { least: Duration::from_secs(60), ..Patience::default() };
    let size = Size::new(5, 5).expect("a size");
    let plan = Box::new(|call| (call >= 5).then_some(Fault::Silent));
    let _held = evaluator.on_service(size, |graph| serve_on_watched_device(graph, plan, patience));
    let (memory, _) = Memory::of_at_most(BYTES, Layout::Graph).expect("memory");
    let query = |moves: Value| asked(&json!({"moves": moves, "boardXSize": 5, "boardYSize": 5}), 3);
    let (game, plan) = query(json!([]));
    let mut search = Search::new(Arc::clone(&evaluator), &memory, game, plan).expect("a search");
    search.set_deadline(Instant::now().checked_add(Duration::from_millis(300)));
    let limits = |visits| Limits { visits, playouts: u64::MAX, step: 3 };
    assert_eq!(search.run(&limits(1000), |_| true), Ok(Stopped::Done));
    let said = search.said().join(". ");
    assert!(said.contains("no time left"), "{said}");
    assert!((1..1000).contains(&search.visits()), "{}", search.visits());
    // The search did not wait for the batch, but the device is not given up yet.
    search.set_deadline(None);
    let (game, plan) = query(json!([["B", "C3"]]));
    search.turn_to(game, plan).expect("the host's word");
    assert_eq!(search.run(&limits(100), |_| true), Ok(Stopped::Done));
    let said = search.said().join(". ");
    assert!(!said.contains("takes over"), "{said}");
    assert!(search.visits() >= 100);
}

/// The bytes of a tree in these tests.
const BYTES: usize = 4 << 20;

/// Searches the last position of a query, and returns what `look` makes of the search.
fn search<T>(fields: &Value, batch: usize, visits: u64, look: impl FnOnce(&Search<'_>) -> T) -> T {
    let ((game, plan), (memory, _)) = (asked(fields, batch), Memory::of_at_most(BYTES, Layout::Graph).expect("memory"));
    let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
    search_on(&mut search, visits);
    look(&search)
}

/// Searches until this many visits are spent, which are those of the root unless some leave it alone, or nothing is
/// left to do.
fn search_on(search: &mut Search<'_>, visits: u64) {
    while search.spent() < visits {
        let step = search.step((visits - search.spent()).min(64)).expect("a step");
        if matches!(step, Step::NothingToDo | Step::NoRoom) {
            break;
        }
    }
}

/// The last position of a query, on a board of 5×5 unless the query has another size, and the plan for its search.
fn asked(fields: &Value, batch: usize) -> (Arc<Game>, Plan) {
    let mut object = json!({ "boardXSize": 5, "boardYSize": 5, "rules": "chinese", "moves": [] });
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let query = Defaults::default().read("", object.as_object().unwrap()).query.expect("a query").query;
    let query = Arc::new(query);
    (Arc::new(query.setup.game(query.setup.turns())), query.plan(batch, usize::MAX))
}

/// An empty square board with a side of this many points.
fn empty_board(side: u8) -> (Arc<Game>, Plan) {
    asked(&json!({ "boardXSize": side, "boardYSize": side }), 1)
}

/// The number of lines which say that a backend was made for a board size.
fn made(said: &[String]) -> usize {
    said.iter().filter(|line| line.starts_with("network on")).count()
}

#[test]
fn what_runs_a_size_stays_while_it_is_searched() {
    let evaluator = Arc::new(evaluator());
    let boards: Vec<_> = (4..10).map(empty_board).collect();
    let memory = || Memory::of_at_most(BYTES, Layout::Graph).expect("memory").0;
    let memories: Vec<_> = boards.iter().map(|_| memory()).collect();
    let count = boards.len();
    let all = boards.into_iter().zip(&memories);
    let begun = all.map(|((game, plan), memory)| Search::new(Arc::clone(&evaluator), memory, game, plan));
    let mut searches: Vec<_> = begun.map(|begun| begun.expect("a search")).collect();
    for _ in 0..5 {
        searches.iter_mut().for_each(|search| assert_eq!(search.step(1), Ok(Step::Progress(1))));
    }
    let said: Vec<String> = searches.iter_mut().flat_map(Search::said).collect();
    assert_eq!(made(&said), count, "{said:?}");
    let counts = evaluator.counts();
    assert_eq!((counts.evaluations, counts.batches), (counts.batches, counts.evaluations), "all that there were");
    drop(searches);
    let before = evaluator.counts().batches;
    for side in 10..16 {
        assert_eq!(made(&evaluator.prepare(Size::new(side, side).unwrap()).expect("a backend")), 1);
    }
    assert_eq!(evaluator.counts().batches, before, "also of those that are gone");
    assert!(evaluator.facts(Size::new(4, 4).unwrap()).is_some(), "what is known of them stays");
}

#[test]
fn who_asks_for_the_same_size_waits_until_it_is_made() {
    let (evaluator, size) = (evaluator(), Size::new(9, 9).unwrap());
    let made: usize = std::thread::scope(|scope| {
        let ask = |_| scope.spawn(|| made(&evaluator.prepare(size).expect("a backend")));
        let asking: Vec<_> = (0..8).map(ask).collect();
        asking.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(made, 1);
}

/// A query with a random game.
fn some_game(seed: u64, rules: &str) -> Value {
    let query = json!({ "boardXSize": 5, "boardYSize": 5, "rules": rules, "moves": [], "includeOwnership": true });
    let read = Defaults::default().read("", query.as_object().unwrap()).query.expect("a query");
    let mut game = read.query.setup.game(0);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut moves = Vec::new();
    for _ in 0..seed % 40 {
        let legal: Vec<Move> = game.legal_moves().collect();
        // This is the generator of Knuth's MMIX. A pass is as likely as any other move.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mv = legal[(state >> 33) as usize % legal.len()];
        let player = if game.side_to_move() == Color::White { "W" } else { "B" };
        moves.push(json!([player, game.size().format(mv).to_string()]));
        let _ = game.play_tolerantly(game.side_to_move(), mv);
    }
    let mut query = query;
    query["moves"] = json!(moves);
    query
}

const RULES: [&str; 6] = ["chinese", "japanese", "tromp-taylor", "aga-button", "stone-scoring", "ancient-territory"];

/// The query with parameters under which each visit has weight 1.
fn plainly(query: &Value) -> Value {
    let mut query = query.clone();
    query["overrideSettings"] = json!({ "useNoisePruning": false, "valueWeightExponent": 0.0 });
    query
}

/// The mean utility of all visits, computed from the root down: each node divides its share among its own visit and the
/// moves that its other visits went to.
fn shared_out<'s>(search: &Search<'s>, root: NodeView<'_, Tree<'s>>, at: At) -> f64 {
    let (mut mean, mut open) = (0.0, vec![(root, at, 1.0)]);
    while let Some((node, at, share)) = open.pop() {
        let edges: Vec<_> = node.visited().filter(|edge| edge.completed() > 0).collect();
        let below: u32 = edges.iter().map(|edge| edge.completed()).sum();
        let own = if node.is_expanded() { 1.0 } else { f64::from(node.n()) };
        let each = share / (own + f64::from(below));
        mean += own * each * f64::from(search.notes().get(at).utility);
        for edge in edges {
            let (next, note) = search.notes().next(at, edge.mv().expect("its name")).expect("its note");
            let share = each * f64::from(edge.completed());
            match edge.child() {
                Some(child) => open.push((child, next, share)),
                None => mean += share * f64::from(note.utility),
            }
        }
    }
    mean
}

#[test]
fn averages_are_those_of_all_visits() {
    fn property(seed: u64, rules: usize, visits: u8, together: bool) -> bool {
        let game = some_game(seed, RULES[rules % RULES.len()]);
        let visits = u64::from(visits % 200) + 1;
        search(&plainly(&game), if together { 8 } else { 1 }, visits, |search| {
            let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
            let averages = search.averages(&root, at, &mut HashMap::new());
            let utility = shared_out(search, root, at);
            let (means, deviations) = search.ownership(root, at);
            (search.visits(), averages.weight) == (visits, visits as f64)
                && (averages.utility - utility).abs() < 1e-9
                && averages.utility_square >= averages.utility * averages.utility - 1e-9
                && averages.win_loss.abs() <= 1.0
                && (0.0..=1.0).contains(&averages.no_result)
                && means.len() == 25
                && means.iter().all(|owned| owned.abs() <= 1.0 + 1e-9)
                && deviations.iter().all(|deviation| (0.0..=1.0 + 1e-9).contains(deviation))
        })
    }

    QuickCheck::new().tests(100).quickcheck(property as fn(u64, usize, u8, bool) -> bool);
}

/// The weight of all visits of a node: its own, and those below it, in proportion to the visits of its edges.
fn weight_of(search: &Search<'_>, node: NodeView<'_, Tree<'_>>, at: At) -> f64 {
    let own = f64::from(search.notes().get(at).own_weight);
    if !node.is_expanded() {
        return own * f64::from(node.n());
    }
    let below = node.visited().filter(|edge| edge.completed() > 0).map(|edge| {
        let (next, _) = search.notes().next(at, edge.mv().expect("its name")).expect("its note");
        let child = edge.child().expect("its node");
        weight_of(search, child, next) * f64::from(edge.completed()) / f64::from(child.n())
    });
    own + below.sum::<f64>()
}

/// If the network reports its uncertainty, uncertain evaluations count less, and ends of games count the most.
#[test]
fn what_is_unsure_counts_less() {
    let evaluator = Arc::new(evaluator_with("tiny-v15.bin.gz"));
    let weights = |moves: Value, fields: Value| {
        let mut query = plainly(&json!({ "rules": "tromp-taylor", "moves": moves }));
        query["overrideSettings"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let ((game, plan), (memory, _)) = (asked(&query, 1), Memory::of_at_most(BYTES, Layout::Graph).expect("memory"));
        let mut search = Search::new(Arc::clone(&evaluator), &memory, game, plan).expect("a search");
        search_on(&mut search, 150);
        let (root, (at, note)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
        let averages = search.averages(&root, at, &mut HashMap::new());
        let (counted, all) = (weight_of(&search, root, at), averages.weight);
        assert!((counted - all).abs() < 1e-3 * all, "{counted} {all}");
        let passed = note.passed.weight;
        assert!((f64::from(passed) * search.visits() as f64 - all).abs() < 1e-3 * all, "{passed} {all}");
        // The notes after the root's moves that were visited.
        let nexts = root.visited().filter_map(|edge| search.notes().next(at, edge.mv()?));
        (all, nexts.map(|(_, next)| (next.outlook.stdev, next.own_weight)).collect::<Vec<_>>())
    };
    let opening = || json!([["B", "C3"], ["W", "D3"]]);
    let (all, of_moves) = weights(opening(), json!({}));
    assert!((all - 150.0).abs() > 1.0, "{all}");
    let is_first = |weight: &f32| *weight == of_moves[0].1;
    assert!(of_moves.len() > 3 && !of_moves.iter().all(|(_, weight)| is_first(weight)), "{of_moves:?}");
    assert!(of_moves.iter().all(|(_, weight)| *weight > 0.0 && *weight < 8.0), "{of_moves:?}");
    assert_eq!(weights(opening(), json!({ "useUncertainty": false })).0, 150.0);
    // A pass ends the game, which is certain, so its score has no deviation.
    let passed = || json!([["B", "C3"], ["W", "D3"], ["B", "D4"], ["W", "pass"]]);
    let (_, of_moves) = weights(passed(), json!({ "conservativePass": false, "uncertaintyMaxWeight": 5.0 }));
    let ends: Vec<f32> = of_moves.iter().filter(|(stdev, _)| *stdev == 0.0).map(|(_, weight)| *weight).collect();
    assert_eq!(ends, [5.0], "{of_moves:?}");
}

/// Whether there are no transpositions below a node.
fn is_tree(node: NodeView<'_, Tree<'_>>) -> bool {
    let below = |edge: EdgeView<'_, Tree<'_>>| {
        edge.child().is_none_or(|child| child.n() == edge.completed() && (!child.is_expanded() || is_tree(child)))
    };
    node.visited().all(below)
}

/// The averages agree with the tree's own values. With transpositions they agree less, because some of the tree's
/// values are then older.
#[test]
fn averages_have_the_weights_of_the_tree() {
    let mut trees = 0;
    for (seed, visits) in (0..60).flat_map(|seed| [4, 8, 12, 100].map(|visits| (seed, visits))) {
        let game = some_game(seed, RULES[seed as usize % RULES.len()]);
        search(&game, 1, visits, |search| {
            let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
            let averages = search.averages(&root, at, &mut HashMap::new());
            let own: f64 = search.root().side_to_move().sign();
            let (ours, trees_own) = (own * averages.utility, search.utility());
            let is_tree = is_tree(root);
            trees += usize::from(is_tree);
            let most = if is_tree { 1e-4 } else { 0.1 };
            assert!((ours - trees_own).abs() < most, "{seed} {visits}: {ours} {trees_own}");
            assert!(averages.weight <= visits as f64, "{}", averages.weight);
        });
    }
    assert!((100..240).contains(&trees), "{trees}");
}

/// If good moves count more, the others count less by as much, and rounding must not change the sum.
#[test]
fn where_nothing_is_pruned_each_visit_counts_one() {
    for seed in 0..20 {
        let mut game = some_game(seed, RULES[seed as usize % RULES.len()]);
        game["overrideSettings"] = json!({ "useNoisePruning": false });
        search(&game, 1, 150, |search| {
            let (root, (at, note)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
            let averages = search.averages(&root, at, &mut HashMap::new());
            assert_eq!((averages.weight, note.passed.weight), (150.0, 1.0), "{seed}");
        });
    }
}

/// Of moves that are mirror images the one is searched that KataGo searches, even if the network sees the moves of the
/// game.
#[test]
fn one_image_stands_for_the_others() {
    let by_black = (json!([]), ["C3", "D3", "D4", "E3", "E4", "E5", "pass"].as_slice());
    let by_white = (json!([["B", "C3"]]), ["A1", "A2", "A3", "B2", "B3", "pass"].as_slice());
    for ((moves, expected), ignored) in
        [by_black, by_white].into_iter().flat_map(|of| [(of.clone(), true), (of, false)])
    {
        let settings = json!({ "ignorePreRootHistory": ignored });
        search(&json!({ "moves": moves, "overrideSettings": settings }), 1, 60, |search| {
            let (root, size) = (search.tree().expect("a root"), search.root().size());
            let moves: Vec<_> = root.visited().filter_map(|edge| edge.mv()).collect();
            let names: Vec<_> = moves.iter().map(|mv| size.format(Move(mv.0)).to_string()).collect();
            assert!(names.len() >= 3 && names.iter().all(|name| expected.contains(&name.as_str())), "{names:?}");
        });
    }
}

/// The stones are symmetric, and the ko is on the axis.
#[test]
fn where_ko_forbids_a_point_no_move_stands_for_another() {
    let stones = json!([["B", "B3"], ["B", "D3"], ["B", "C4"], ["W", "B2"], ["W", "D2"], ["W", "C1"], ["W", "C3"]]);
    let moves = |ko: &[[&str; 2]]| json!({ "initialStones": stones, "initialPlayer": "B", "moves": ko });
    for (ko, images) in [(&[["B", "C2"]][..], 0), (&[["B", "C2"], ["W", "C5"], ["B", "pass"]], 1)] {
        search(&moves(ko), 1, 10, |search| {
            assert_eq!(search.root().ko_banned().is_empty(), images > 0);
            assert_eq!(search.stands_for(Move(0)).len(), images, "{ko:?}");
        });
    }
}

#[test]
fn lines_come_together_under_every_rule() {
    for rules in RULES {
        for (x, y, visits) in [(2, 2, 3000), (3, 2, 2000), (3, 3, 2000), (5, 5, 1000)] {
            let board = plainly(&json!({ "boardXSize": x, "boardYSize": y, "rules": rules }));
            for batch in [1, 8] {
                search(&board, batch, visits, |search| {
                    assert_eq!(search.visits(), visits, "{board} {batch}");
                    let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
                    let averages = search.averages(&root, at, &mut HashMap::new());
                    assert_eq!(averages.weight, visits as f64, "{board} {batch}");
                });
            }
        }
    }
}

#[test]
fn a_search_goes_on_where_its_memory_is_full() {
    for rules in ["chinese", "tromp-taylor"] {
        let board = json!({ "rules": rules, "includeOwnership": true });
        search(&board, 8, 20_000, |search| {
            let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
            let averages = search.averages(&root, at, &mut HashMap::new());
            let (means, _) = search.ownership(root, at);
            let own: f64 = search.root().side_to_move().sign();
            let utility = own * search.utility();
            // For folded nodes the notes have only the first visit, and the tree has the mean.
            assert!((averages.utility - utility).abs() < 0.02, "{rules}: {} {utility}", averages.utility);
            assert_eq!(search.visits(), 20_000);
            assert!((10_000.0..20_001.0).contains(&averages.weight), "{}", averages.weight);
            assert!(means.iter().all(|owned| owned.abs() <= 1.0 + 1e-9));
        });
    }
}

/// Flatter priors, which sum to more than 1, lead to more moves of the root being visited; they do not lower the value
/// of moves without visits.
#[test]
fn wide_root_noise_widens_the_root() {
    let visited = |noise: f64| {
        let settings = json!({ "wideRootNoise": noise, "rootSymmetryPruning": false });
        search(&json!({ "boardXSize": 9, "boardYSize": 9, "overrideSettings": settings }), 1, 60, |search| {
            search.tree().expect("a root").visited_count()
        })
    };
    let found = [0.0, 0.04, 0.5, 5.0].map(visited);
    assert!(found.is_sorted() && found[3] > found[0] + 20, "{found:?}");
}

/// What noise pruning leaves of each weight, by the definition: `moves` have weight, utility for the mover and prior.
fn pruned(moves: &[[f64; 3]], scale: f64) -> Vec<f64> {
    let (mut weight, mut value, mut prior, mut kept) = (0.0, 0.0, 0.0, Vec::new());
    for &[n, utility, p] in moves {
        let (gap, excess) = (value / weight - utility, n - 2.0 * weight * p / prior);
        let lost = if gap > 0.0 && excess > 0.0 { excess * (1.0 - f64::exp(-gap / scale)) } else { 0.0 };
        kept.push(n - lost);
        (weight, value, prior) = (weight + n - lost, value + (n - lost) * utility, prior + p);
    }
    kept
}

/// Flattened priors lead to more visits of unlikely moves, and would excuse them.
#[test]
fn noise_of_the_root_is_pruned_by_priors_that_are_not_flattened() {
    let mut apart = 0;
    for seed in 0..10 {
        let mut query = some_game(seed, "chinese");
        // The small network's policy is rather flat, and it values most moves alike.
        query["overrideSettings"] = json!({ "wideRootNoise": 5.0, "valueWeightExponent": 0.0,
            "rootPolicyTemperature": 0.1, "noisePruneUtilityScale": 0.01 });
        search(&query, 1, 200, |search| {
            let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
            let visited = search.all_visited(&root, at).moves;
            let by = |prior: &dyn Fn(&EdgeView<'_, _>) -> f64| {
                let utility = |at| search.sign(0) * f64::from(search.notes().get(at).passed.utility);
                let facts = visited.iter().map(|(move_, _)| [move_.weight, utility(move_.next), prior(&move_.edge)]);
                pruned(&facts.collect::<Vec<_>>(), 0.01)
            };
            let expected = by(&|edge| search.prior(Move(edge.mv().expect("its name").0)));
            let flattened = by(&|edge| f64::from(edge.p()));
            let off =
                |kept: &[f64]| visited.iter().zip(kept).map(|((_, weight), kept)| (weight - kept).abs()).sum::<f64>();
            assert!(off(&expected) < 0.02, "{seed}: {}", off(&expected));
            apart += usize::from(off(&flattened) > 1.0);
        });
    }
    assert!(apart > 5, "{apart}");
}

/// The ownership of the root's moves is noted even if there is no room for that of other positions.
#[test]
fn ownership_of_moves_is_always_there() {
    let query = json!({ "boardXSize": 5, "boardYSize": 5, "rules": "chinese", "moves": [], "includeMovesOwnership": true,
        "overrideSettings": { "rootSymmetryPruning": false } });
    let query = Arc::new(Defaults::default().read("", query.as_object().unwrap()).query.expect("a query").query);
    let game: Arc<Game> = Arc::new(query.setup.game(0));
    let (memory, _) = Memory::of_at_most(BYTES, Layout::Graph).expect("memory");
    // Half of this memory is taken before all moves of the root are visited.
    let plan = query.plan(1, 12 << 10);
    let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
    while matches!(search.step(1).expect("a step"), Step::Progress(_)) {}
    let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
    let moves: Vec<_> = root.visited().filter_map(|edge| search.notes().next(at, edge.mv()?)).collect();
    assert!(moves.len() > 3 && moves.iter().all(|(_, note)| note.ownership.len() == 25), "{}", moves.len());
}

#[test]
fn where_nothing_is_worth_anything_the_network_leads() {
    let nothing =
        json!({ "winLossUtilityFactor": 0.0, "staticScoreUtilityFactor": 0.0, "dynamicScoreUtilityFactor": 0.0 });
    search(&json!({ "overrideSettings": nothing }), 1, 50, |search| {
        let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
        let averages = search.averages(&root, at, &mut HashMap::new());
        assert_eq!((search.visits(), averages.utility), (50, 0.0));
        let more_than_once = root.visited().filter(|edge| edge.completed() > 1).count();
        assert!(more_than_once > 2 && averages.lead.is_finite(), "{more_than_once}");
    });
}

/// Searches a random game to which a pass is added, where a second pass is the only move that may be searched, and a
/// third pass the only one after that. `None` if the game ended with a pass already.
fn passing<T>(seed: u64, fields: &Value, visits: u64, look: impl FnOnce(&Search<'_>) -> T) -> Option<T> {
    let mut query = some_game(seed, "tromp-taylor");
    query.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let moves = query["moves"].as_array_mut().unwrap();
    if moves.last().is_some_and(|last| last[1] == "pass") {
        return None;
    }
    let side = if moves.len().is_multiple_of(2) { "B" } else { "W" };
    moves.push(json!([side, "pass"]));
    let pass = |player| json!({ "player": player, "moves": ["pass"], "untilDepth": 2 });
    query["allowMoves"] = json!([pass("B"), pass("W")]);
    Some(search(&query, 1, visits, look))
}

/// The only move that was searched, and the index and the note of the position after it.
fn only<'s, 'm>(
    search: &'s Search<'m>,
    node: NodeView<'s, Tree<'m>>,
    at: At,
) -> (EdgeView<'s, Tree<'m>>, At, &'s Note) {
    let edge = node.visited().next().expect("a move");
    let (next, note) = search.notes().next(at, edge.mv().expect("its name")).expect("its note");
    (edge, next, note)
}

/// A second pass ends the game under rules that count areas, and its note has the score by the rules.
#[test]
fn games_that_end_have_the_score_of_the_rules() {
    for (rules, komi, draw_wins, [more, stdev]) in [
        (json!("tromp-taylor"), 7.5, 0.5, [0.0; 2]),
        (json!("tromp-taylor"), 7.5, 1.0, [0.0; 2]),
        (json!("tromp-taylor"), -30.0, 0.5, [0.0, 0.5]),
        (json!({ "tax": "ALL" }), 0.5, 0.5, [0.0; 2]),
        (json!({ "ko": "SITUATIONAL", "whiteHandicapBonus": "N" }), 7.0, 0.5, [0.0, 0.5]),
        (json!({ "ko": "SITUATIONAL", "whiteHandicapBonus": "N" }), 7.0, 1.0, [0.5, 0.0]),
    ] {
        let settings = json!({ "conservativePass": false, "drawEquivalentWinsForWhite": draw_wins });
        let fields = json!({ "rules": rules, "komi": komi, "overrideSettings": settings });
        let check = |search: &Search<'_>| {
            let mut ended = search.root().clone();
            ended.play(ended.size().pass()).expect("a pass");
            let Some(Outcome::WhiteLead(lead)) = ended.outcome() else { panic!("{rules}") };
            let (edge, _, note) = only(search, search.tree().expect("a root"), 0);
            let score = lead + more;
            assert_eq!((note.lead, note.outlook.score, note.outlook.stdev), (score, score, stdev));
            let sign = if lead == 0.0 { 2.0 * draw_wins - 1.0 } else { lead.signum() };
            assert_eq!(note.outlook.win_loss, sign, "{rules}");
            assert_eq!(edge.completed(), 2);
        };
        let checked = (0..40).filter_map(|seed| passing(seed, &fields, 3, check)).count();
        assert!(checked > 20, "{checked}");
    }
}

/// If dead stones may be left on the board, or at the root under `conservativePass`, a second pass is evaluated by the
/// network, and a third one ends the game.
#[test]
fn a_second_pass_may_leave_a_game_open() {
    for (rules, conservative) in [("chinese", false), ("aga", false), ("tromp-taylor", true)] {
        let fields = json!({ "rules": rules, "overrideSettings": { "conservativePass": conservative } });
        let check = |search: &Search<'_>| {
            let (second, at, note) = only(search, search.tree().expect("a root"), 0);
            assert!(note.outlook.stdev > 0.0 && second.completed() == 5, "{rules}");
            let (third, _, note) = only(search, second.child().expect("a node"), at);
            // The deviation is half a point if a draw is possible.
            let stdev = if search.root().rules().may_draw() { 0.5 } else { 0.0 };
            assert_eq!((note.outlook.stdev, third.completed(), note.lead), (stdev, 4, note.outlook.score), "{rules}");
        };
        let checked = (0..20).filter_map(|seed| passing(seed, &fields, 6, check)).count();
        assert!(checked > 8, "{checked}");
    }
}
