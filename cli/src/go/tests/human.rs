//! Tests of a network for human play: its input, its evaluations, its entries in the cache, and its use beside another
//! network.

use super::{BYTES, EVALUATOR, asked, evaluator_with, plainly, search_on};
use crate::fields::{MoveRule, MoveRules};
use crate::go::human::Way;
use crate::go::{
    Evaluation, Evaluator, Game, HumanExploration, NO_PROFILE, Plan, PolicyRules, Question, Restrictions, Search, Step,
};
use crate::memory::{Layout, Memory};
use hashbrown::HashMap;
use oncilla_core::search::Fpu;
use oncilla_go::planes::{self, GLOBAL, SPATIAL};
use oncilla_go::profile::Profile;
use oncilla_go::{Color, Move, Rules, Size};
use oncilla_opencl::host::plain;
use serde_json::{Value, json};
use std::sync::Arc;

fn human() -> Evaluator {
    evaluator_with("tiny-human.bin.gz")
}

fn asking(name: &str) -> Question {
    Question { profile: Some(Profile::from_name(name).expect("a profile")), ..Question::default() }
}

fn said(evaluator: &Evaluator, game: &Game, question: &Question) -> Evaluation {
    let (evaluation, _) = evaluator.ask(game, question).expect("an evaluation");
    (*evaluation).clone()
}

/// A game under rules by which every game has a result, with White to move.
fn game() -> Game {
    let size = Size::new(7, 5).expect("a size");
    let mut game = Game::new(size, Rules::TROMP_TAYLOR);
    for text in ["C3", "D2", "E4"] {
        game.play(size.parse(text).expect("a move")).expect("it is legal");
    }
    game
}

/// Compares with the plain evaluation of the graph, on planes, globals and metadata that are put together here.
#[test]
fn it_is_told_whose_play_is_wanted() {
    let (evaluator, game) = (human(), game());
    let graph = evaluator.model().graph(5, 7).expect("a graph");
    let mut before: Option<Evaluation> = None;
    for name in ["rank_3d_20k", "rank_20k_3d", "preaz_3d_20k", "proyear_1990"] {
        let question = asking(name);
        let options = planes::Options { areas_with_suicide: true, ..question.planes };
        let planes = planes::encode(&game, &options);
        let mut input = vec![0.0; SPATIAL * 35];
        planes.write_spatial(question.symmetry, &mut input);
        input.extend(planes.global());
        input.extend(question.profile.expect("a profile").metadata(Color::White, 35));
        assert_eq!(input.len(), SPATIAL * 35 + GLOBAL + 192);
        let outputs = plain::evaluate(&graph, &input).expect("an evaluation");
        let win = 1.0 / (1.0 + (outputs.results[1] - outputs.results[0]).exp());
        let said = said(&evaluator, &game, &question);
        assert!((said.win - win).abs() < 1e-5, "{name}: {} {win}", said.win);
        assert!(before.is_none_or(|before| (before.win - said.win).abs() > 1e-4), "{name}: {}", said.win);
        before = Some(said);
    }
}

#[test]
fn the_cache_keeps_players_apart() {
    let (evaluator, game) = (human(), game());
    let names = ["rank_3d", "rank_3d_4d", "preaz_3d", "proyear_1990", "proyear_1991"];
    let first: Vec<Evaluation> = names.iter().map(|name| said(&evaluator, &game, &asking(name))).collect();
    assert_eq!((evaluator.cache_counts().hits, evaluator.cache_counts().entries), (0, 5));
    let again: Vec<Evaluation> = names.iter().map(|name| said(&evaluator, &game, &asking(name))).collect();
    assert_eq!((evaluator.cache_counts().hits, evaluator.cache_counts().entries), (5, 5));
    assert_eq!(first, again);
    assert!(first.windows(2).all(|two| two[0] != two[1]));
}

#[test]
fn without_a_profile_it_says_nothing() {
    let (evaluator, game) = (human(), game());
    let refused = evaluator.ask(&game, &Question::default()).map(|_| ());
    assert_eq!(refused, Err(NO_PROFILE.to_string()));
    // The refusal has left nothing behind in the evaluator.
    let one = said(&evaluator, &game, &asking("rank_1k"));
    assert_eq!(one, said(&human(), &game, &asking("rank_1k")));
}

/// As in KataGo, a network for human play has no optimistic policy.
#[test]
fn its_policy_is_the_plain_one() {
    let game = game();
    let with = |evaluator: &Evaluator, question: Question, optimism: f32| {
        let policy = PolicyRules { optimism, ..question.policy };
        said(evaluator, &game, &Question { policy, ..question })
    };
    let (human, other) = (human(), evaluator_with("tiny-v15.bin.gz"));
    assert_eq!(with(&human, asking("rank_1k"), 1.0), with(&human, asking("rank_1k"), 0.0));
    assert_ne!(with(&other, Question::default(), 1.0), with(&other, Question::default(), 0.0));
}

#[test]
fn no_other_network_is_told() {
    let (evaluator, game) = (evaluator_with("tiny-v15.bin.gz"), game());
    assert_eq!(said(&evaluator, &game, &asking("rank_1k")), said(&evaluator, &game, &Question::default()));
    assert_eq!(evaluator.cache_counts().entries, 1);
}

/// The network for human play beside the main one.
fn beside() -> Arc<Evaluator> {
    Arc::new(human())
}

/// A position without symmetries, and how it is searched with a network for human play beside.
fn imitating(fields: &Value, batch: usize, human: &Arc<Evaluator>) -> (Arc<Game>, Plan) {
    let moves = json!([["B", "C3"], ["W", "D2"], ["B", "E4"]]);
    let mut query = json!({ "boardXSize": 7, "boardYSize": 5, "rules": "tromp-taylor", "moves": moves });
    query.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let (game, mut plan) = asked(&plainly(&query), batch);
    plan.human = Some(Arc::clone(human));
    plan.question.profile = Profile::from_name("rank_3d_20k");
    (game, plan)
}

/// An exploration in which nothing else counts, in these parts of the playouts: those that the root does not count, and
/// those that it counts.
fn exploring_only([weightless, weightful]: [f64; 2]) -> Option<HumanExploration> {
    Some(HumanExploration { weightless, weightful, constant: 1000.0, growth: 0.0 })
}

/// Does something with a search of so many visits.
fn searched<T>((game, plan): (Arc<Game>, Plan), visits: u64, look: impl FnOnce(&mut Search<'_>) -> T) -> T {
    let (memory, _) = Memory::of_at_most(BYTES, Layout::Graph).expect("memory");
    let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
    search_on(&mut search, visits);
    look(&mut search)
}

/// The visits of the root's moves, by move.
fn visits(search: &Search<'_>) -> Vec<u32> {
    let mut visits = vec![0; search.root().size().area() + 1];
    for edge in search.tree().expect("a root").visited() {
        visits[usize::from(edge.mv().expect("its name").0)] = edge.completed();
    }
    visits
}

/// What it says of the root is what its graph gives by definition, from planes that are put together here.
#[test]
fn beside_the_main_network_it_speaks_of_the_root() {
    let evaluator = beside();
    let (game, plan) = imitating(&json!({}), 1, &evaluator);
    let profile = plan.question.profile.expect("a profile");
    let options = planes::Options {
        history: 0,
        conservative_pass: true,
        passing_hacks: true,
        areas_with_suicide: true,
        ..planes::Options::default()
    };
    let planes = planes::encode(&game, &options);
    let mut input = vec![0.0; SPATIAL * 35];
    planes.write_spatial(plan.question.symmetry, &mut input);
    input.extend(planes.global());
    input.extend(profile.metadata(Color::White, 35));
    let outputs = plain::evaluate(&evaluator.model().graph(5, 7).expect("a graph"), &input).expect("an evaluation");
    let logits = || outputs.policy[..35].iter().chain(&outputs.pass[..1]).zip(0_u16..);
    let legal = |mv: u16| game.is_legal(oncilla_go::Move(mv));
    let sum: f32 = logits().filter(|(_, mv)| legal(*mv)).map(|(logit, _)| logit.exp()).sum();
    let expected: Vec<f32> = logits().map(|(logit, mv)| if legal(mv) { logit.exp() / sum } else { -1.0 }).collect();
    searched((game, plan), 40, |search| {
        let human = search.human().expect("its word");
        let off = human.policy.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-5 && human.policy.len() == 36, "{off}");
        assert_ne!(human.policy, search.raw().policy);
    });
    assert_eq!(evaluator.counts().evaluations, 1, "below the root it is not asked");
}

#[test]
fn beside_the_main_network_it_changes_no_search_by_itself() {
    let evaluator = beside();
    let with = searched(imitating(&json!({}), 1, &evaluator), 80, |search| (visits(search), search.utility()));
    let (game, plan) = imitating(&json!({}), 1, &evaluator);
    let alone = Plan { human: None, ..plan };
    assert_eq!(with, searched((game, alone), 80, |search| (visits(search), search.utility())));
    // Without a profile nobody asks it, and that is no error.
    let (game, mut plan) = imitating(&json!({}), 1, &evaluator);
    plan.question.profile = None;
    assert!(searched((game, plan), 1, |search| search.human().is_none()));
}

#[test]
fn its_word_follows_the_game() {
    let evaluator = beside();
    let more = json!([["B", "C3"], ["W", "D2"], ["B", "E4"], ["W", "E3"]]);
    searched(imitating(&json!({}), 1, &evaluator), 60, |search| {
        let before = search.human().cloned();
        let (game, plan) = imitating(&json!({ "moves": more }), 1, &evaluator);
        search.turn_to(game, plan).expect("a search");
        let fresh =
            searched(imitating(&json!({ "moves": more }), 1, &human().into()), 1, |fresh| fresh.human().cloned());
        assert!(search.human().is_some() && search.human() == fresh.as_ref() && before != fresh);
    });
}

/// First-play urgency is that of the priors as the network gives them: noise flattens only those that choose.
#[test]
fn the_urgency_of_its_moves_is_not_flattened() {
    searched(imitating(&json!({}), 1, &beside()), 30, |search| {
        assert!(search.plan().root_flattening > 1.0);
        let policy = &search.human().expect("its word").policy;
        let each = visits(search).into_iter().zip(policy);
        let visited: f64 = each.filter(|(visits, _)| *visits > 0).map(|(_, prior)| f64::from(*prior)).sum();
        assert!(visited > 0.0 && visited < 1.0);
        // White is to move, by whose utility the notes go.
        let (_, note) = search.notes().root().expect("a note");
        let [mean, own] = [note.passed.utility, note.raw_utility].map(f64::from);
        let params = &search.plan().params;
        let share = visited.powf(params.fpu_parent_power.into());
        let Fpu::Reduction(reduction) = params.root_fpu() else { panic!("another urgency") };
        let less = f64::from(reduction) * search.plan().factors.most() * visited.sqrt();
        let arms = search.human_arms(Way::Weightful, search.root_moves()).expect("an evaluated root");
        let urgency = search.human_urgency(&arms).expect("an evaluated root");
        assert!((urgency - (share * mean + (1.0 - share) * own - less)).abs() < 1e-6);
    });
}

/// What was visited because such players would play it is not searched on once they count no more.
#[test]
fn another_exploration_begins_a_new_tree() {
    let evaluator = beside();
    let (game, mut plan) = imitating(&json!({}), 1, &evaluator);
    plan.human_exploration = exploring_only([0.0, 1.0]);
    searched((game, plan), 60, |search| {
        let (game, plan) = imitating(&json!({}), 1, &evaluator);
        search.turn_to(Arc::clone(&game), plan).expect("a search");
        assert!(search.visits() <= 1);
        search_on(search, 60);
        let fresh = searched(imitating(&json!({}), 1, &evaluator), 60, |fresh| visits(fresh));
        assert_eq!(visits(search), fresh);
    });
}

/// How many of `visits` visits each move gets if exploration is all that counts: each goes to the move whose prior,
/// flattened as at the root, is the largest for its visits.
fn by_priors(search: &Search<'_>, visits: u64) -> Vec<u32> {
    let flattening = search.plan().root_flattening;
    assert!(flattening > 1.0);
    let policy = &search.human().expect("its word").policy;
    let priors: Vec<f32> = policy.iter().map(|prior| prior.max(0.0).powf(1.0 / flattening)).collect();
    let mut expected = vec![0_u32; priors.len()];
    for _ in 0..visits {
        let score = |at: &usize| priors[*at] / (1 + expected[*at]) as f32;
        let best = (0..priors.len()).max_by(|a, b| score(a).total_cmp(&score(b))).expect("a move");
        expected[best] += 1;
    }
    expected
}

/// A search that explores so, in these parts of the playouts.
fn explored<T>(parts: [f64; 2], batch: usize, visits: u64, look: impl FnOnce(&mut Search<'_>) -> T) -> T {
    let (game, mut plan) = imitating(&json!({}), batch, &beside());
    plan.human_exploration = exploring_only(parts);
    searched((game, plan), visits, look)
}

#[test]
fn the_root_may_be_explored_by_what_people_play() {
    const VISITS: u64 = 200;
    let expected = explored([0.0, 1.0], 1, VISITS, |search| {
        assert_eq!(search.visits(), VISITS);
        let (found, expected) = (visits(search), by_priors(search, VISITS - 1));
        assert!(found.iter().zip(&expected).all(|(a, b)| a.abs_diff(*b) <= 1), "{found:?} {expected:?}");
        expected
    });
    // With nothing of that, and with half of it, other moves are looked at.
    let [none, half, all] = [0.0, 0.5, 1.0].map(|part| explored([0.0, part], 1, VISITS, |search| visits(search)));
    let far = |visits: &[u32]| visits.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).sum::<u32>();
    assert!(far(&none) > far(&half) && far(&half) > far(&all), "{none:?} {half:?}");
    // Batches have playouts in flight.
    let together = explored([0.0, 1.0], 8, VISITS, |search| visits(search));
    assert_eq!(u64::from(together.iter().sum::<u32>()), VISITS - 1);
    assert!(far(&together) < far(&half), "{together:?}");
}

/// The visits of the positions after the root's moves, by move.
fn visits_of_positions(search: &Search<'_>) -> Vec<u32> {
    let mut visits = vec![0; search.root().size().area() + 1];
    for edge in search.tree().expect("a root").visited() {
        let mv = usize::from(edge.mv().expect("its name").0);
        visits[mv] = edge.child().map_or(0, |child| child.n());
    }
    visits
}

/// If no playout counts at the root, the root is as it was evaluated, and the positions after its moves have all
/// visits.
#[test]
fn the_root_may_be_explored_without_being_told() {
    const VISITS: u64 = 200;
    for batch in [1, 8] {
        explored([1.0, 0.0], batch, VISITS, |search| {
            assert_eq!((search.spent(), search.visits(), search.playouts()), (VISITS, 1, VISITS));
            let (own, found) = (f64::from(search.raw().winrate()), visits_of_positions(search));
            assert!(visits(search).iter().all(|visits| *visits == 0));
            let expected = by_priors(search, VISITS - 1);
            let most = if batch == 1 { 1 } else { 4 };
            assert!(found.iter().zip(&expected).all(|(a, b)| a.abs_diff(*b) <= most), "{found:?} {expected:?}");
            let (root, (at, note)) = (search.tree().expect("a root"), search.notes().root().expect("its note"));
            let averages = search.averages(&root, at, &mut HashMap::new());
            assert_eq!((averages.weight, note.passed.weight), (1.0, 1.0));
            let win = 0.5 + search.sign(at) * (averages.winrate() - 0.5);
            assert!((win - own).abs() < 1e-6, "{win} {own}");
            assert!((search.utility() - search.sign(at) * f64::from(note.raw_utility)).abs() < 1e-6);
        });
    }
}

/// Each batch has both kinds of playouts, in their shares.
#[test]
fn the_playouts_of_a_batch_are_of_both_kinds() {
    explored([0.5, 0.0], 8, 1, |search| {
        for _ in 0..20 {
            let before = (search.playouts(), search.spent() - search.visits());
            let Step::Progress(made) = search.step(8).expect("a step") else { panic!("no playout") };
            let aside = search.spent() - search.visits() - before.1;
            assert_eq!(made, search.playouts() - before.0);
            assert!(made >= 4 && (2 * aside).abs_diff(made) <= 3, "{aside} of {made}");
        }
    });
}

/// Half of the playouts leave the root alone: it counts the others, and the positions after its moves count all.
#[test]
fn some_visits_leave_the_root_alone() {
    const VISITS: u64 = 301;
    for batch in [1, 8] {
        let slack = 2 + batch as u64;
        let plain = explored([0.0, 0.0], batch, VISITS, |search| visits(search));
        explored([0.5, 0.0], batch, VISITS, |search| {
            assert_eq!((search.spent(), search.playouts()), (VISITS, VISITS));
            let (edges, positions) = (visits(search), visits_of_positions(search));
            let counted = u64::from(edges.iter().sum::<u32>());
            assert_eq!(search.visits(), counted + 1);
            assert!(counted.abs_diff(VISITS / 2) <= slack, "{counted}");
            assert!(edges.iter().zip(&positions).all(|(edge, position)| edge <= position));
            // A playout that chose by itself and found visits that its edge did not know counts them, and makes none.
            let below = u64::from(positions.iter().sum::<u32>());
            assert!(below > counted + VISITS / 6 && below < VISITS - VISITS / 6, "{below}");
            let best = |visits: &[u32]| (0..visits.len()).max_by_key(|at| visits[*at]);
            assert_eq!(best(&edges), best(&plain));
        });
        // At first the root does not know most of the moves that were visited.
        explored([0.5, 0.0], batch, 41, |search| {
            let (edges, positions) = (visits(search), visits_of_positions(search));
            let only_aside = edges.iter().zip(&positions).filter(|(edge, position)| **edge == 0 && **position > 0);
            assert!(only_aside.count() > 4, "{edges:?} {positions:?}");
        });
    }
}

/// As often as a playout is to count, it counts, and none is both.
#[test]
fn both_ways_of_exploring_share_the_playouts() {
    explored([0.3, 0.7], 1, 401, |search| {
        let counted = u64::from(visits(search).iter().sum::<u32>());
        assert!(counted.abs_diff(280) <= 3, "{counted}");
        assert_eq!((search.visits(), search.spent()), (counted + 1, 401));
    });
}

/// When the game goes on with a move that was looked at aside, all its visits are the new root's; and a search of the
/// same position goes on with them.
#[test]
fn visits_that_left_the_root_alone_stay_in_the_tree() {
    let evaluator = beside();
    let at = |moves: &Value| {
        let (game, mut plan) = imitating(&json!({ "moves": moves }), 1, &evaluator);
        plan.human_exploration = exploring_only([0.9, 0.0]);
        (game, plan)
    };
    let before = json!([["B", "C3"], ["W", "D2"], ["B", "E4"]]);
    searched(at(&before), 200, |search| {
        let (edges, positions) = (visits(search), visits_of_positions(search));
        let (game, plan) = at(&before);
        search.turn_to(game, plan).expect("a search");
        assert_eq!((visits(search), visits_of_positions(search)), (edges.clone(), positions.clone()));
        assert_eq!((search.spent(), search.playouts()), (search.visits(), 0));
        search_on(search, search.visits() + 50);
        // After a pass another one would end the game, so no tree is kept (`conservativePass`).
        let pass = search.root().size().pass().index();
        let uncounted = (0..edges.len()).filter(|at| edges[*at] == 0 && *at != pass);
        let mv = uncounted.max_by_key(|at| positions[*at]).expect("a move");
        let visits = visits_of_positions(search)[mv];
        assert!(visits > 2 && search.root().is_legal(oncilla_go::Move(mv as u16)), "{positions:?}");
        let text = search.root().size().format(oncilla_go::Move(mv as u16)).to_string();
        let mut moves = before.clone();
        moves.as_array_mut().unwrap().push(json!(["W", text]));
        let (game, plan) = at(&moves);
        search.turn_to(game, plan).expect("a search");
        assert_eq!((search.visits(), search.spent()), (visits.into(), visits.into()));
        search_on(search, 300);
        assert_eq!(search.spent(), 300);
    });
}

/// A pass that ends the game is visited like other moves, and its result is worth the same after each visit.
#[test]
fn the_end_of_the_game_may_be_looked_at_aside() {
    let moves = json!([["B", "C3"], ["W", "D2"], ["B", "E4"], ["W", "D4"], ["B", "pass"]]);
    let (game, mut plan) = imitating(&json!({ "moves": moves }), 1, &beside());
    plan.human_exploration = exploring_only([1.0, 0.0]);
    plan.conservative_pass = false;
    let avoided: Vec<Move> = (0..34).map(Move).collect();
    let rules = Color::ALL.map(|player| MoveRule { player, moves: avoided.clone(), until_depth: 1 });
    plan.restrictions = Restrictions::of(MoveRules { only: false, rules: rules.into() }, game.size()).into();
    searched((game, plan), 60, |search| {
        let (positions, pass) = (visits_of_positions(search), search.root().size().pass());
        assert_eq!(u64::from(positions.iter().sum::<u32>()), search.spent() - 1);
        assert!(positions[pass.index()] > 3, "{positions:?}");
        let (at, _) = search.notes().root().expect("its note");
        let (_, end) = search.notes().next(at, oncilla_core::Move(pass.0)).expect("its note");
        assert_eq!((end.outlook.stdev, end.passed.utility), (0.0, end.utility));
        assert_eq!(search.visits(), 1);
    });
}

/// A search in a full tree goes on with visits aside, which are folded too.
#[test]
fn a_full_tree_goes_on_with_visits_that_leave_the_root_alone() {
    let (game, mut plan) = imitating(&json!({}), 1, &beside());
    plan.human_exploration = exploring_only([0.8, 0.0]);
    let (memory, _) = Memory::of_at_most(64 << 10, Layout::Graph).expect("memory");
    let mut search = Search::new(Arc::clone(&EVALUATOR), &memory, game, plan).expect("a search");
    search_on(&mut search, 15_000);
    let counted = u64::from(visits(&search).iter().sum::<u32>());
    assert!(search.playouts() >= 2000 && search.visits() == counted + 1, "{}", search.playouts());
    // Visits were made again below what was folded.
    assert!(counted > 300 && search.core.restored() > 0, "{counted} {}", search.core.live_nodes());
}
