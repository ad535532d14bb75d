//! Tests of trees that are kept from move to move.

use super::*;
use crate::go::notes::Passed;
use crate::go::utility::Utility;
use crate::go::{Limits, Stopped, memory};

/// The query with these settings, and with those under which the network sees the moves of the game.
fn playing(query: &Value, settings: Value) -> Value {
    let mut query = query.clone();
    let mut all = json!({ "ignorePreRootHistory": false, "wideRootNoise": 0.0 });
    all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    query["overrideSettings"] = all;
    query
}

/// The query after more moves.
fn after(query: &Value, moves: &[(Color, &str)]) -> Value {
    let mut query = query.clone();
    let list = query["moves"].as_array_mut().unwrap();
    list.extend(moves.iter().map(|(color, text)| json!([if *color == Color::White { "W" } else { "B" }, text])));
    query
}

/// The most visited line of a search, at most `plies` long and as far as its moves have `least` visits, with the side
/// that plays each move.
fn line(search: &Search<'_>, plies: usize, least: u32) -> Vec<(Color, String)> {
    let (mut node, mut side) = (search.tree().expect("a root"), search.root().side_to_move());
    let mut line = Vec::new();
    while line.len() < plies {
        let best = node.visited().max_by_key(EdgeView::completed);
        let Some((edge, child)) = best.and_then(|edge| Some((edge, edge.child()?))) else { break };
        if edge.completed() < least {
            break;
        }
        line.push((side, search.root().size().format(Move(edge.mv().expect("its name").0)).to_string()));
        (node, side) = (child, !side);
    }
    line
}

fn borrowed(line: &[(Color, String)]) -> Vec<(Color, &str)> {
    line.iter().map(|(color, text)| (*color, text.as_str())).collect()
}

/// The utility that the root passes on, and the one of its averages, from the view of the side to move.
fn utilities(search: &Search<'_>) -> [f64; 2] {
    let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
    let own: f64 = search.root().side_to_move().sign();
    [search.utility(), own * search.averages(&root, at, &mut HashMap::new()).utility]
}

/// The priors of the root's moves, the largest first.
fn priors(search: &Search<'_>) -> Vec<f32> {
    let mut priors: Vec<f32> = search.tree().expect("a root").edges().map(|edge| edge.p()).collect();
    priors.sort_by(|a, b| b.total_cmp(a));
    priors
}

/// After some moves, the kept tree is like one of a new search of the position: its root has the same policy and
/// evaluation, and the values below agree with it. What a score is worth depends on the score that is expected, which
/// the kept tree knows better; if no part of the utility depends on it, values are the same, too.
#[test]
fn a_tree_goes_on_as_if_it_had_begun_here() {
    let mut kept = 0;
    for (seed, rules) in (0..60).zip(RULES.into_iter().cycle()) {
        let is_centred = seed % 2 == 0;
        let settings = json!({ "rootPolicyTemperature": 1.3, "rootNumSymmetriesToSample": 1 + seed % 3,
            "dynamicScoreUtilityFactor": if is_centred { 0.3 } else { 0.0 } });
        let query = playing(&some_game(seed, rules), settings);
        let ((game, plan), (memory, _)) = (asked(&query, 1), Memory::of_at_most(BYTES, Layout::Graph).expect("memory"));
        let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
        search_on(&mut search, 150);
        let line = line(&search, 1 + seed as usize % 3, 8);
        let played = after(&query, &borrowed(&line));
        let (game, plan) = asked(&played, 1);
        if game.ending().is_some() {
            continue;
        }
        search.turn_to(game, plan).expect("a search");
        let visits = search.visits();
        assert!(visits > 1 || visits == 0, "the root alone is not worth keeping");
        assert_eq!(search.playouts(), 0);
        if visits == 0 {
            continue;
        }
        kept += 1;
        let [passed_on, averaged] = utilities(&search);
        assert!((passed_on - averaged).abs() < 1e-3, "{seed} {rules}: {passed_on} {averaged}");
        super::search(&played, 1, 1, |fresh| {
            let (known, expected) = (priors(&search), priors(fresh));
            assert_eq!(known.len(), expected.len(), "{seed} {rules}");
            // The visits of a move have not changed its prior.
            assert!(known.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-4), "{seed} {rules}");
            let [own, expected] = [&search, fresh].map(|search| search.notes().root().expect("its note").1);
            assert_eq!((own.outlook, own.lead), (expected.outlook, expected.lead), "{seed} {rules}");
            assert!(is_centred || own.utility == expected.utility, "{seed} {rules}");
        });
        search_on(&mut search, visits + 100);
        assert_eq!((search.visits(), search.playouts()), (visits + 100, 100), "{seed} {rules}");
        let [passed_on, averaged] = utilities(&search);
        assert!((passed_on - averaged).abs() < 0.1, "{seed} {rules}: {passed_on} {averaged}");
        let (root, (at, _)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
        assert!(search.ownership(root, at).0.iter().all(|owned| owned.abs() <= 1.0 + 1e-9));
    }
    assert!(kept > 30, "{kept}");
}

/// The utility of scores is centred near the mean score of the visits that are kept, and after that near the network's
/// again if nothing can be kept.
#[test]
fn scores_are_centred_as_the_search_so_far_expects() {
    // At the root, noise pruning goes by other priors than below it.
    let settings = json!({ "useNoisePruning": false });
    let query = playing(&json!({ "moves": [["B", "C3"]], "komi": 3.5 }), settings);
    let ((game, plan), (memory, _)) = (asked(&query, 1), Memory::of_at_most(BYTES, Layout::Graph).expect("memory"));
    let factors = plan.factors;
    let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
    search_on(&mut search, 300);
    let by_network = search.context.utility;
    let root = search.tree().expect("a root");
    let best = root.visited().max_by_key(EdgeView::completed).expect("a move");
    let (at, _) = search.notes().next(0, best.mv().expect("its name")).expect("its note");
    let mean = search.averages(&best.child().expect("its node"), at, &mut HashMap::new()).score;
    let played = after(&query, &borrowed(&line(&search, 1, 8)));
    let (game, plan) = asked(&played, 1);
    search.turn_to(game, plan).expect("a search");
    assert!(search.visits() > 0);
    assert_eq!(search.context.utility, Utility::new(factors, 25, mean));
    super::search(&played, 1, 1, |fresh| assert_ne!(search.context.utility, fresh.context.utility));
    let (game, plan) = asked(&query, 1);
    search.turn_to(game, plan).expect("a search");
    assert_eq!((search.visits(), search.context.utility), (0, by_network));
}

/// The values and weights of all notes.
fn passed(search: &Search<'_>) -> Vec<(f32, Passed)> {
    let mut found = vec![0];
    let mut at = 0;
    while at < found.len() {
        let node_moves = (0..26).filter_map(|mv| search.notes().next(found[at], oncilla_core::Move(mv)));
        let more: Vec<At> = node_moves.map(|(next, _)| next).filter(|next| !found.contains(next)).collect();
        found.extend(more);
        at += 1;
    }
    found.into_iter().map(|at| search.notes().get(at)).map(|note| (note.raw_utility, note.passed)).collect()
}

/// If the same position is searched again, values below the root change only if what they are made of has changed.
#[test]
fn the_same_position_is_revalued_only_if_the_utility_is_another() {
    for (dynamic, then, changes) in [
        (0.0, json!({ "cpuctExploration": 2.0 }), false),
        (0.0, json!({ "rootNumSymmetriesToSample": 4 }), false),
        (0.0, json!({ "noisePruneUtilityScale": 0.01 }), true),
        (0.0, json!({ "staticScoreUtilityFactor": 0.5 }), true),
        (0.3, json!({ "cpuctExploration": 2.0 }), true),
    ] {
        let mut settings = json!({ "dynamicScoreUtilityFactor": dynamic });
        let begun = json!({ "moves": [["B", "C3"], ["W", "C4"]] });
        let ((game, plan), (memory, _)) =
            (asked(&playing(&begun, settings.clone()), 1), Memory::of_at_most(BYTES, Layout::Graph).expect("memory"));
        let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
        search_on(&mut search, 300);
        let before = passed(&search);
        settings.as_object_mut().unwrap().extend(then.as_object().unwrap().clone());
        let (game, plan) = asked(&playing(&begun, settings), 1);
        search.turn_to(game, plan).expect("a search");
        let after = passed(&search);
        assert_eq!((search.visits(), before.len()), (300, after.len()));
        assert_eq!(before[1..] != after[1..], changes, "{dynamic} {then}");
        let [passed_on, averaged] = utilities(&search);
        assert!((passed_on - averaged).abs() < 1e-3, "{then}: {passed_on} {averaged}");
    }
}

/// A tree that can't be used for the new position or plan is dropped.
#[test]
fn another_game_begins_anew() {
    let begun = json!({ "moves": [["B", "C3"], ["W", "C4"]], "includeOwnership": true });
    let query = playing(&begun, json!({}));
    let advantage = |of: f64| json!({ "playoutDoublingAdvantage": of });
    let out_of_turn = after(&query, &[(Color::White, "D3")]);
    let mut komi = query.clone();
    komi["komi"] = json!(3.5);
    let mut rules = query.clone();
    rules["rules"] = json!("tromp-taylor");
    let mut restricted = query.clone();
    restricted["avoidMoves"] = json!([{ "player": "B", "moves": ["D4"], "untilDepth": 1 }]);
    // The mirror image of this move, B4, is not searched.
    let d4 = [(Color::Black, "D4")];
    let without_ownership = json!({ "moves": query["moves"], "includeOwnership": false });
    for (what, first, then, is_kept) in [
        ("the same", query.clone(), query.clone(), true),
        ("a move", query.clone(), after(&query, &d4), true),
        ("without ownership", query.clone(), playing(&without_ownership, json!({})), true),
        ("with ownership", playing(&without_ownership, json!({})), query.clone(), false),
        ("taken back", after(&query, &d4), query.clone(), false),
        ("out of turn", query.clone(), out_of_turn, false),
        ("komi", query.clone(), komi, false),
        ("rules", query.clone(), rules.clone(), false),
        ("restrictions", query.clone(), restricted.clone(), false),
        ("no restrictions", restricted, query.clone(), false),
        ("another size", query.clone(), json!({ "boardXSize": 4, "boardYSize": 5 }), false),
        ("without history", query.clone(), begun.clone(), false),
        ("cpuct", query.clone(), playing(&query, json!({ "cpuctExploration": 2.0 })), true),
        ("utility", query.clone(), playing(&query, json!({ "staticScoreUtilityFactor": 0.5 })), true),
        ("weights", query.clone(), playing(&query, json!({ "valueWeightExponent": 1.0 })), true),
        ("policy", query.clone(), playing(&query, json!({ "nnPolicyTemperature": 2.0 })), false),
        ("passes", query.clone(), playing(&query, json!({ "conservativePass": false })), false),
        ("a pass, after which another ends the game", rules.clone(), after(&rules, &[(Color::Black, "pass")]), false),
        ("its advantage", playing(&query, advantage(1.0)), playing(&after(&query, &d4), advantage(1.0)), false),
        ("the other's", playing(&query, advantage(1.0)), playing(&after(&query, &d4), advantage(-1.0)), true),
    ] {
        let ((game, plan), (memory, _)) = (asked(&first, 1), Memory::of_at_most(BYTES, Layout::Graph).expect("memory"));
        let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
        search_on(&mut search, 400);
        let (game, plan) = asked(&then, 1);
        search.turn_to(game, plan).expect("a search");
        assert_eq!(search.visits() > 0, is_kept, "{what}: {}", search.visits());
        if is_kept {
            let [passed_on, averaged] = utilities(&search);
            assert!((passed_on - averaged).abs() < 1e-3, "{what}: {passed_on} {averaged}");
        }
        if !is_kept {
            search_on(&mut search, 50);
            let known = utilities(&search);
            super::search(&then, 1, 50, |fresh| assert_eq!(known, utilities(fresh), "{what}"));
        }
    }
}

/// One search plays both sides of a whole game in the same memory, and its room suffices because nodes are folded.
#[test]
fn a_tree_goes_on_through_a_game() {
    let memory = memory(1 << 20, u64::MAX).expect("memory");
    let mut query = playing(&json!({ "moves": [] }), json!({}));
    let (game, plan) = asked(&query, 4);
    let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
    let (mut reused, mut moves) = (0, 0);
    while moves < 60 && search.root().ending().is_none() {
        let before = search.visits();
        reused += before;
        let limits = Limits { visits: before + 300, playouts: u64::MAX, step: 64 };
        assert_eq!(search.run(&limits, |_| true), Ok(Stopped::Done));
        assert!(search.visits() >= before + 300, "{moves}");
        let [(color, text)] = &line(&search, 1, 1)[..] else { panic!("no move") };
        query = after(&query, &[(*color, text.as_str())]);
        let (game, plan) = asked(&query, 4);
        search.turn_to(game, plan).expect("a search");
        moves += 1;
    }
    assert!(moves > 10 && reused > 50 * moves, "{moves} {reused}");
}

/// If the game goes on without some positions, what they have told of their patterns is taken back in part
/// (`subtreeValueBiasFreeProp`).
#[test]
fn what_was_found_out_elsewhere_is_forgotten_in_part() {
    let after_a_move = |free: f64| {
        // The same pattern occurs at one end of the board after different moves at the other end.
        let begun = json!({ "boardXSize": 8, "boardYSize": 3, "moves": [["B", "D2"]] });
        let query = playing(&begun, json!({ "subtreeValueBiasFreeProp": free }));
        let ((game, plan), (memory, _)) = (asked(&query, 1), Memory::of_at_most(BYTES, Layout::Graph).expect("memory"));
        let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
        search_on(&mut search, 3000);
        let line = line(&search, 1, 8);
        let (game, plan) = asked(&after(&query, &borrowed(&line)), 1);
        search.turn_to(game, plan).expect("a search");
        assert!(search.visits() > 8, "{}", search.visits());
        utilities(&search)
    };
    assert_eq!(after_a_move(0.0), after_a_move(0.0));
    assert_ne!(after_a_move(0.0), after_a_move(1.0));
    let near = |[a, b]: [f64; 2]| (a - b).abs() < 1e-3;
    assert!([0.0, 0.8, 1.0].into_iter().all(|free| near(after_a_move(free))));
}
