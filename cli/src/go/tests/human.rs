//! Tests of a network for human play: its input, its evaluations, and its entries in the cache.

use super::evaluator_with;
use crate::go::{Evaluation, Evaluator, Game, NO_PROFILE, PolicyRules, Question};
use oncilla_go::planes::{self, GLOBAL, SPATIAL};
use oncilla_go::profile::Profile;
use oncilla_go::{Color, Rules, Size};
use oncilla_opencl::host::plain;

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
