//! Tests `Hints` over UCI: evaluations that take hanging pieces into account.

mod driver;

use driver::Engine;

/// White's queen can capture a pawn that another pawn defends.
const HANGING: &str = "position fen 4k3/2p5/3p4/8/8/3Q4/8/4K3 w - - 0 1";

/// The statistics after a search of `nodes` nodes: a line for each root move.
fn statistics(engine: &mut Engine, position: &str, nodes: u32) -> Vec<String> {
    engine.say("ucinewgame");
    engine.say(position);
    let heard = engine.ask(&format!("go nodes {nodes}"), "bestmove");
    heard.into_iter().filter(|line| line.contains("(P:")).collect()
}

/// The prior of a root move in percent, after one evaluation of the root.
fn prior(engine: &mut Engine, mv: &str) -> f64 {
    prior_in(engine, HANGING, mv)
}

fn prior_in(engine: &mut Engine, position: &str, mv: &str) -> f64 {
    let lines = statistics(engine, position, 3);
    let line =
        lines.iter().find(|line| line.starts_with(&format!("info string {mv} "))).expect("the move's statistics");
    let text = line.split_once("(P:").expect("a prior").1.split_once('%').expect("per cent").0;
    text.trim().parse().expect("a number")
}

fn with(args: &[&str]) -> Engine {
    let common =
        ["--backend=host", "--threads=1", "--minibatch-size=1", "--smart-pruning-factor=0", "--verbose-move-stats"];
    Engine::with(&[&common[..], args].concat())
}

fn fixture(name: &str) -> String {
    oncilla_testing::fixtures().join("nets").join(name).display().to_string()
}

#[test]
fn a_move_that_loses_the_queen_loses_its_prior() {
    let (mut plain, mut told) = (with(&["--weights=tiny", "--hints=off"]), with(&["--weights=tiny"]));
    let (before, after) = (prior(&mut plain, "d3d6"), prior(&mut told, "d3d6"));
    assert!(after < before, "{before}% → {after}%");
}

#[test]
fn the_networks_in_the_program_bring_their_own_and_files_have_none() {
    let tiny = format!("--weights={}", fixture("tiny.pb.gz"));
    let hints = format!("--hints={}", fixture("tiny.hints"));
    let search = |args: &[&str]| statistics(&mut with(args), HANGING, 100);
    let own = search(&["--weights=tiny"]);
    let plain = search(&["--weights=tiny", "--hints=off"]);
    assert_ne!(own, plain);
    assert_eq!(search(&[&tiny]), plain);
    assert_eq!(search(&[&tiny, &hints]), own);
}

/// Black is lost, but a third occurrence is a draw, although the king would be mated there if the game went on.
#[test]
fn a_move_that_draws_by_repetition_keeps_its_prior() {
    let fen = "position fen 6k1/5ppp/8/8/8/8/5PPP/3Q2K1 w - - 0 1 moves";
    let [twice, thrice] =
        ["d1d2 g8f8 d2d1", "d1d2 g8f8 d2d1 f8g8 d1d2 g8f8 d2d1"].map(|moves| format!("{fen} {moves}"));
    for cache in ["--nncache=0", "--nncache=10000"] {
        let mut engine = with(&["--weights=small", cache]);
        // The position is the same, and so are all planes that the network sees.
        let [before, after] = [&twice, &thrice].map(|position| prior_in(&mut engine, position, "f8g8"));
        assert!(after > 5.0 * before, "{before}% → {after}%");
        engine.say(&thrice);
        let heard = engine.ask("go nodes 40", "bestmove");
        assert_eq!(heard.last().map(|line| line.as_str()), Some("bestmove f8g8"));
    }
}

#[test]
fn they_can_be_switched_while_the_engine_runs() {
    let mut engine = with(&["--weights=tiny"]);
    let own = statistics(&mut engine, HANGING, 100);
    engine.say("setoption name Hints value off");
    let plain = statistics(&mut engine, HANGING, 100);
    assert_eq!(plain, statistics(&mut with(&["--weights=tiny", "--hints=off"]), HANGING, 100));
    engine.say("setoption name Hints value auto");
    assert_eq!(statistics(&mut engine, HANGING, 100), own);
}

#[test]
fn an_evaluation_that_the_cache_has_is_corrected_once() {
    let visits = |cache: &str| {
        let mut engine = with(&["--weights=tiny", "--search-graph=tree", cache]);
        let mut search = || statistics(&mut engine, "position startpos moves e2e4 e7e5 d1h5", 400);
        let first = search();
        assert!(first.len() > 20, "statistics of all moves");
        (first, search())
    };
    let (without, again) = visits("--nncache=0");
    assert_eq!(without, again, "a search is the same each time");
    let (first, cached) = visits("--nncache=100000");
    assert_eq!((&first, &cached), (&without, &without));
}

/// Threads with separate roles use hints like threads with all roles.
#[test]
fn threads_with_roles_are_told_as_well() {
    let roles = ["--gather-threads=1", "--eval-threads=1", "--backprop-threads=1"];
    let (mut roles, mut all) = (with(&roles), with(&[]));
    assert_eq!(prior(&mut roles, "d3d6"), prior(&mut all, "d3d6"));
}

#[test]
fn what_is_no_hints_is_refused_with_its_name() {
    let mut engine = with(&["--weights=tiny", &format!("--hints={}", fixture("tiny.pb.gz"))]);
    engine.say("position startpos");
    let heard = engine.ask("go nodes 1", "bestmove");
    let expected = "tiny.pb.gz: no hints: expected the bytes 'ONHINTS2' at the beginning";
    assert!(heard.iter().any(|line| line.contains(expected)), "{heard:?}");
}
