//! Tests of a network for human play: its input, its evaluations, its entries in the cache, and its use beside another
//! network.

use super::{BYTES, EVALUATOR, asked, evaluator_with, plainly, search_on};
use crate::engine::Memory;
use crate::go::{Evaluation, Evaluator, Game, HumanExploration, NO_PROFILE, Plan, PolicyRules, Question, Search};
use oncilla_core::search::Fpu;
use oncilla_go::planes::{self, GLOBAL, SPATIAL};
use oncilla_go::profile::Profile;
use oncilla_go::{Color, Rules, Size};
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

/// Does something with a search of so many visits.
fn searched<T>((game, plan): (Arc<Game>, Plan), visits: u64, look: impl FnOnce(&mut Search<'_>) -> T) -> T {
    let (memory, _) = Memory::of_at_most(BYTES, true).expect("memory");
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
        let arms = search.human_arms(search.root_moves()).expect("an evaluated root");
        let urgency = search.human_urgency(&arms).expect("an evaluated root");
        assert!((urgency - (share * mean + (1.0 - share) * own - less)).abs() < 1e-6);
    });
}

/// What was visited because such players would play it is not searched on once they count no more.
#[test]
fn another_exploration_begins_a_new_tree() {
    let evaluator = beside();
    let (game, mut plan) = imitating(&json!({}), 1, &evaluator);
    plan.human_exploration = Some(HumanExploration { part: 1.0, constant: 1000.0, growth: 0.0 });
    searched((game, plan), 60, |search| {
        let (game, plan) = imitating(&json!({}), 1, &evaluator);
        search.turn_to(Arc::clone(&game), plan).expect("a search");
        assert!(search.visits() <= 1);
        search_on(search, 60);
        let fresh = searched(imitating(&json!({}), 1, &evaluator), 60, |fresh| visits(fresh));
        assert_eq!(visits(search), fresh);
    });
}

/// If exploration is all that counts, each visit goes to the move whose prior is the largest for its visits.
#[test]
fn the_root_may_be_explored_by_what_people_play() {
    const VISITS: u64 = 200;
    let evaluator = beside();
    let exploring = |part, batch| {
        let (game, mut plan) = imitating(&json!({}), batch, &evaluator);
        plan.human_exploration = Some(HumanExploration { part, constant: 1000.0, growth: 0.0 });
        (game, plan)
    };
    let (found, priors, flattening) = searched(exploring(1.0, 1), VISITS, |search| {
        assert_eq!(search.visits(), VISITS);
        (visits(search), search.human().expect("its word").policy.clone(), search.plan().root_flattening)
    });
    assert!(flattening > 1.0);
    let priors: Vec<f32> = priors.iter().map(|prior| prior.max(0.0).powf(1.0 / flattening)).collect();
    let mut expected = vec![0_u32; priors.len()];
    for _ in 1..VISITS {
        let score = |at: &usize| priors[*at] / (1 + expected[*at]) as f32;
        let best = (0..priors.len()).max_by(|a, b| score(a).total_cmp(&score(b))).expect("a move");
        expected[best] += 1;
    }
    assert!(found.iter().zip(&expected).all(|(a, b)| a.abs_diff(*b) <= 1), "{found:?} {expected:?}");
    // With nothing of that, and with half of it, other moves are looked at.
    let [none, half] = [0.0, 0.5].map(|part| searched(exploring(part, 1), VISITS, |search| visits(search)));
    let far = |visits: &[u32]| visits.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b)).sum::<u32>();
    assert!(far(&none) > far(&half) && far(&half) > far(&found), "{none:?} {half:?}");
    // Batches have playouts in flight.
    let together = searched(exploring(1.0, 8), VISITS, |search| visits(search));
    assert_eq!(u64::from(together.iter().sum::<u32>()), VISITS - 1);
    assert!(far(&together) < far(&half), "{together:?}");
}
