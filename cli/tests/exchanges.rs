//! `ExchangePrior`: priors that know what exchanges lose, over UCI.

mod driver;

use driver::Engine;

/// White's queen can take a pawn that a pawn defends.
const HANGING: &str = "position fen 4k3/2p5/3p4/8/8/3Q4/8/4K3 w - - 0 1";

/// The prior of a root move in percent, after one evaluation of the root.
fn prior(engine: &mut Engine, position: &str, mv: &str) -> f64 {
    engine.say("ucinewgame");
    engine.say(position);
    let heard = engine.ask("go nodes 3", "bestmove");
    let line =
        heard.iter().find(|line| line.starts_with(&format!("info string {mv} "))).expect("the move's statistics");
    let text = line.split_once("(P:").expect("a prior").1.split_once('%').expect("per cent").0;
    text.trim().parse().expect("a number")
}

fn with(args: &[&str]) -> Engine {
    let common =
        ["--backend=host", "--threads=1", "--minibatch-size=1", "--smart-pruning-factor=0", "--verbose-move-stats"];
    Engine::with(&[&common[..], args].concat())
}

#[test]
fn a_move_that_loses_the_queen_loses_its_prior() {
    let (mut plain, mut told) = (with(&["--exchange-prior=0"]), with(&["--exchange-prior=2"]));
    let (before, after) = (prior(&mut plain, HANGING, "d3d6"), prior(&mut told, HANGING, "d3d6"));
    assert!(after < before, "{before}% → {after}%");
    // A quiet move gains by it: priors are shared out.
    let (before, after) = (prior(&mut plain, HANGING, "e1e2"), prior(&mut told, HANGING, "e1e2"));
    assert!(after > before, "{before}% → {after}%");
}

/// An evaluation that the cache has is corrected as one that was waited for.
#[test]
fn the_cache_keeps_what_the_network_said() {
    let visits = |cache: &str, gatherers: &str| {
        let mut engine = with(&["--weights=tiny", "--exchange-prior=0.9", "--search-graph=tree", cache, gatherers]);
        let search = |engine: &mut Engine| {
            engine.say("ucinewgame");
            engine.say("position startpos moves e2e4 e7e5 d1h5");
            let heard = engine.ask("go nodes 400", "bestmove");
            heard.into_iter().filter(|line| line.contains("(P:")).collect::<Vec<_>>()
        };
        let first = search(&mut engine);
        assert!(first.len() > 20, "statistics of all moves");
        (first, search(&mut engine))
    };
    let (without, again) = visits("--nncache=0", "--gather-threads=0");
    assert_eq!(without, again, "a search is the same each time");
    let (first, cached) = visits("--nncache=100000", "--gather-threads=0");
    assert_eq!(first, without);
    assert_eq!(cached, without);
}

/// Threads with roles of their own correct as those do that take all roles.
#[test]
fn threads_with_roles_correct_as_well() {
    let mut roles = with(&["--exchange-prior=2", "--gather-threads=1", "--eval-threads=1", "--backprop-threads=1"]);
    let mut all = with(&["--exchange-prior=2"]);
    assert_eq!(prior(&mut roles, HANGING, "d3d6"), prior(&mut all, HANGING, "d3d6"));
}
