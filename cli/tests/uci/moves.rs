//! Which moves are searched, and which one is played.

use super::*;

#[test]
fn a_mate_that_may_not_be_played_ends_no_search() {
    let mut engine = Engine::with(&["--backend=random", TO_THE_LAST_VISIT]);
    engine.say("position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1");
    assert_eq!(engine.best_move("go nodes 2000"), "a1a8");
    let lines = engine.ask("go nodes 2600 searchmoves g1f2 g1f1", "bestmove");
    assert_eq!(visits(&lines[lines.len() - 2]), 2600, "{lines:#?}");
    let lines = engine.ask("go mate 1 nodes 2900 searchmoves g1f1", "bestmove");
    assert_eq!(visits(&lines[lines.len() - 2]), 2900, "{lines:#?}");
}

#[test]
fn the_last_line_is_about_the_move_that_is_played() {
    let (mut by_bound, mut by_visits) = (Engine::start(), Engine::start());
    // With these settings nearly every move can be chosen by its bound, so the best one seldom has the most visits.
    for option in ["FinalChoice value lcb", "LcbStdevs value 0", "LcbMinVisitShare value 0.01"] {
        by_bound.say(&format!("setoption name {option}"));
    }
    let mut differ = 0;
    for moves in ["", "moves e2e4", "moves d2d4", "moves e2e4 e7e5", "moves g1f3", "moves c2c4 c7c5"] {
        let position = format!("position startpos {moves}");
        [&mut by_bound, &mut by_visits].into_iter().for_each(|engine| engine.say(&position));
        let lines = by_bound.ask("go nodes 400", "bestmove");
        let [.., info, best] = &lines[..] else { panic!("{lines:#?}") };
        let (_, pv) = info.split_once(" pv ").expect("a line");
        let played = best.split(' ').nth(1).expect("a move");
        assert_eq!(pv.split(' ').next(), Some(played), "{lines:#?}");
        differ += usize::from(by_visits.best_move("go nodes 400") != played);
    }
    assert!(differ > 0);
}

#[test]
fn search_moves_are_the_only_ones() {
    let mut engine = Engine::start();
    assert_eq!(engine.best_move("go nodes 50 searchmoves a2a3"), "a2a3");
    assert_eq!(engine.best_move("go searchmoves h2h3 nodes 50"), "h2h3");
    let lines = engine.ask("go nodes 5 searchmoves e2e5", "bestmove");
    assert!(lines[0].starts_with("info string go: searchmoves: "), "{lines:#?}");
}

/// The tree already has more visits than the limit, but none of the only move in `searchmoves`.
#[test]
fn a_search_among_some_moves_looks_at_one_of_them_at_least() {
    // Three men without built-in endings, so that the moves have no known results.
    let unknown = "--no-builtin-endgames";
    let mut engine = Engine::with(&["--backend=constant", "--threads=1", "--smart-pruning-factor=0", unknown]);
    // This move loses the queen, which is a draw.
    engine.say("position fen 8/8/8/4k3/8/8/8/KQ6 w - - 0 1");
    for go in ["go nodes 100", "go movetime 0"] {
        engine.say("ucinewgame");
        let all = engine.ask("go nodes 5", "bestmove");
        assert!(!all.iter().any(|line| line.contains(" pv b1e4")), "{all:#?}");
        let lines = engine.ask(&format!("{go} searchmoves b1e4"), "bestmove");
        assert!(lines[lines.len() - 2].contains(" pv b1e4 e5"), "{go}: {lines:#?}");
    }
    engine.ask("go nodes 200 searchmoves b1b2", "bestmove");
    let lines = engine.ask("go nodes 100 searchmoves b1d3", "bestmove");
    assert_eq!(visits(&lines[lines.len() - 2]), 100, "a new tree: {lines:#?}");
    let mut engine = Engine::with(&["--backend=host", "--threads=1", "--smart-pruning-factor=0"]);
    let all = engine.ask("go nodes 20", "bestmove");
    assert_eq!(visits(&all[all.len() - 2]), 20);
    let lines = engine.ask("go nodes 10 searchmoves g2g4", "bestmove");
    assert_eq!(visits(&lines[lines.len() - 2]), 21, "one more than there were: {lines:#?}");
}

/// Without `searchmoves`, the mate is played, although another move has hundreds of visits from a search with
/// `searchmoves`.
#[test]
fn visits_of_the_moves_that_were_named_stand_against_no_other() {
    let mut engine = Engine::with(&["--backend=host", "--threads=1"]);
    engine.say("position fen 6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1");
    assert_eq!(engine.best_move("go nodes 500 searchmoves h2h3"), "h2h3");
    assert_eq!(engine.best_move("go nodes 600"), "a1a8");
    assert_eq!(engine.best_move("go nodes 700 searchmoves a1a7 h2h3"), "a1a7");
}

/// Moves without a visit get neither the value that the mate proves for the position, nor the network's value of the
/// position, which has a mate in it.
#[test]
fn a_move_without_a_visit_is_not_worth_what_another_proves() {
    let mut engine = Engine::with(&[
        "--backend=host",
        "--hints=off",
        "--threads=1",
        "--minibatch-size=1",
        "--show-wdl",
        "--multipv=50",
    ]);
    engine.say("position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1");
    let lines = engine.ask("go nodes 3", "bestmove");
    let (mates, others): (Vec<&String>, Vec<&String>) =
        lines.iter().filter(|line| line.contains(" nodes 3 ")).partition(|line| line.contains(" score mate 1 "));
    assert!(!mates.is_empty() && others.len() == 16 * mates.len(), "a line is missing: {lines:#?}");
    assert!(others.iter().all(|line| !line.contains(" wdl 1000 0 0 ")), "{others:#?}");
    let score =
        |line: &String| line.split(" score ").nth(1).and_then(|rest| rest.split(" hash").next()).map(str::to_string);
    let networks = lines.iter().find(|line| line.contains(" nodes 1 ")).and_then(score);
    assert!(networks.is_some() && others.iter().all(|line| score(line) != networks), "{lines:#?}");
}

/// Positions in which a side makes its first move, or a later one. Each gets random numbers of its own.
const OPENINGS: [&str; 8] =
    ["e2e4", "d2d4 d7d5", "g1f3", "c2c4 e7e5", "b2b3", "e2e4 c7c5 g1f3", "b1c3", "e2e4 e7e5 g1f3 b8c6"];

/// Moves are chosen by chance.
const BY_CHANCE: [&str; 4] = ["--backend=random", "--threads=1", "--smart-pruning-factor=0", "--temperature=1"];
/// As many are added to the visits that all moves are about as likely: two lists of moves do not agree by accident.
const ALL_ALIKE: &str = "--temp-visit-offset=1000";

#[test]
fn moves_by_chance_are_the_same_with_the_same_seed_and_others_with_another() {
    for offset in ["--temp-visit-offset=0", ALL_ALIKE] {
        let moves = |seed: u32| {
            let seed = format!("--random-seed={seed}");
            played(&mut Engine::with(&[&BY_CHANCE[..], &[offset, &seed]].concat()), &OPENINGS)
        };
        assert_eq!(moves(7), moves(7), "{offset}");
    }
    let mut engine = Engine::with(&[&BY_CHANCE[..], &[ALL_ALIKE]].concat());
    let mut with_seed = |seed: u32| {
        engine.say(&format!("setoption name RandomSeed value {seed}"));
        played(&mut engine, &OPENINGS)
    };
    let first = with_seed(1);
    assert!((2..=12).all(|seed| with_seed(seed) != first), "{first:?}");
    // Without a seed, each search draws its own numbers, in one run and in several.
    let mut without = || with_seed(0);
    assert!(without() != without());
    let args = [&BY_CHANCE[..], &[ALL_ALIKE, "--random-seed=0"]].concat();
    assert_ne!(played(&mut Engine::with(&args), &OPENINGS), played(&mut Engine::with(&args), &OPENINGS));
}

/// A temperature counts the moves of the game, not those of the search.
#[test]
fn from_its_cutoff_on_a_temperature_leaves_nothing_to_chance() {
    let cutoff = |mv: &str| {
        let mv = format!("--temp-cutoff-move={mv}");
        let mut engine =
            Engine::with(&[&BY_CHANCE[..], &[ALL_ALIKE, "--random-seed=7", "--temp-endgame=0", &mv]].concat());
        played(&mut engine, &OPENINGS)
    };
    let best = played(&mut Engine::with(&BY_CHANCE[..3]), &OPENINGS);
    assert_eq!(cutoff("1"), best, "from the first move on");
    // The second move of a side comes after two plies.
    let chosen = cutoff("2");
    for ((opening, chosen), best) in OPENINGS.iter().zip(&chosen).zip(&best) {
        let is_late = opening.contains(' ');
        assert!(!is_late || chosen == best, "{opening}: {chosen}, {best}");
    }
    assert_ne!(chosen, best, "the first moves are left to chance");
}

#[test]
fn noise_changes_the_priors_and_repeats_with_its_seed() {
    let priors = |epsilon: &str, seed: &str| {
        let (epsilon, seed) = (format!("--noise-epsilon={epsilon}"), format!("--random-seed={seed}"));
        let mut engine = Engine::with(&["--backend=random", "--threads=1", "-v", &epsilon, &seed]);
        let lines = engine.ask("go nodes 1", "bestmove");
        let prior = |line: &String| {
            let mv = line.split(' ').nth(2).filter(|mv| *mv != "node")?.to_string();
            line.contains("(P:").then(|| (mv, field(line, "(P:").to_string()))
        };
        let priors: std::collections::BTreeMap<_, _> = lines.iter().filter_map(prior).collect();
        assert_eq!(priors.len(), 20, "{lines:#?}");
        priors
    };
    let plain = priors("0", "7");
    assert_eq!(plain, priors("0", "8"), "there is no noise");
    let noisy = priors("0.5", "7");
    assert_ne!(noisy, plain);
    assert_eq!(noisy, priors("0.5", "7"));
    assert_ne!(noisy, priors("0.5", "8"));
    assert_ne!(priors("0.5", "0"), priors("0.5", "0"));
}
