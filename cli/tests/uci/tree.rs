//! The tree from move to move.

use super::*;

/// The tree is cleared, but the evaluations made for it stay in the cache.
#[test]
fn to_clear_the_tree_leaves_the_cache() {
    let mut engine = Engine::start();
    engine.say("setoption name ShowStatistics value true");
    let counted =
        |lines: &[String]| lines.iter().find_map(|line| line.strip_prefix("info string move: ").map(str::to_string));
    let first = counted(&engine.ask("go nodes 100", "bestmove")).expect("statistics");
    engine.say("setoption name ClearTree");
    let again = counted(&engine.ask("go nodes 100", "bestmove")).expect("statistics");
    assert!(first.contains(" 0 cache hits") && !again.contains(" 0 cache hits"), "{first}; {again}");
}

#[test]
fn a_tree_is_cleared_before_the_next_search() {
    let mut engine = Engine::with(&["--backend=random", TO_THE_LAST_VISIT]);
    engine.say("go infinite");
    engine.until("info depth 3");
    engine.say("setoption name ClearTree");
    let lines = engine.ask("isready", "readyok");
    assert_eq!(best_moves(&lines), 0, "the search goes on: {lines:#?}");
    engine.ask("stop", "bestmove");
    engine.say("go nodes 5");
    let lines = engine.until("bestmove");
    assert!(visits(&lines[lines.len() - 2]) < 10, "{lines:#?}");
}

/// Smart pruning is on, but checks the root at fixed numbers of playouts, so it does not depend on timing.
#[test]
fn one_thread_makes_the_same_tree_in_every_run() {
    for go in ["go nodes 60", "go nodes 800", "go depth 6"] {
        let visits = || {
            let mut engine = Engine::with(&["--weights=tiny", "--threads=1", "-v"]);
            engine.ask("isready", "readyok");
            let lines = engine.ask(go, "bestmove");
            lines.into_iter().filter(|line| line.contains(" N: ") || line.starts_with("bestmove")).collect::<Vec<_>>()
        };
        let first = visits();
        assert!(first.len() > 20, "{first:#?}");
        (0..5).for_each(|_| assert_eq!(visits(), first, "{go}"));
    }
}

#[test]
fn the_tree_is_kept_while_the_game_goes_on() {
    let mut engine = Engine::with(&["--backend=random", "--smart-pruning-factor=0"]);
    engine.say("position startpos");
    let lines = engine.ask("go nodes 1000", "bestmove");
    let words: Vec<&str> = lines.last().unwrap().split(' ').collect();
    let &["bestmove", best, "ponder", ponder] = &words[..] else { panic!("{words:?}") };
    let nodes =
        |line: &String| -> u64 { line.split(" nodes ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap() };
    let first = |lines: &[String]| nodes(lines.iter().find(|line| line.starts_with("info depth")).unwrap());
    engine.say(&format!("position startpos moves {best} {ponder}"));
    assert!(
        first(&engine.ask("go nodes 100000 movetime 250", "bestmove")) > 1,
        "it starts with nodes of the last search"
    );
    engine.say("ucinewgame");
    engine.say(&format!("position startpos moves {best} {ponder}"));
    assert!(first(&engine.ask("go nodes 1", "bestmove")) <= 1);
}

/// The first playouts in a tree that is there already are deep, or not, by chance.
#[test]
fn the_depth_of_a_kept_tree_is_that_of_many_playouts_and_never_falls() {
    let mut engine = Engine::with(&["--backend=random", "--smart-pruning-factor=0", "--threads=1"]);
    engine.say("position startpos");
    let lines = engine.ask("go nodes 20000", "bestmove");
    let words: Vec<&str> = lines.last().unwrap().split(' ').collect();
    let &["bestmove", best, "ponder", ponder] = &words[..] else { panic!("{words:?}") };
    engine.say(&format!("position startpos moves {best} {ponder}"));
    let number = |line: &String, label: &str| -> u64 {
        line.split(label).nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    for go in ["go depth 3", "go nodes 100000"] {
        let infos: Vec<String> =
            engine.ask(go, "bestmove").into_iter().filter(|line| line.starts_with("info depth")).collect();
        let depths: Vec<u64> = infos.iter().map(|line| number(line, " depth ")).collect();
        assert!(depths.is_sorted(), "{go}: {depths:?}");
        let [first, last] = [infos.first(), infos.last()].map(|line| number(line.unwrap(), " nodes "));
        // A mean depth of 3 is a sum of 300 in a hundred playouts, and no playout is deeper than 30.
        assert!(last - first >= 9, "{go}: {infos:#?}");
    }
}
