//! What ends a search, and what is waited for.

use super::*;

#[test]
fn what_was_to_wait_waits_at_the_end_of_the_input_too() {
    let input = "go nodes 20000\nwait\nposition startpos moves e2e4\ngo nodes 30000\n";
    let text = stdout(&run(&["--backend=random", TO_THE_LAST_VISIT], input));
    for nodes in [" nodes 20000 ", " nodes 30000 "] {
        assert!(text.contains(nodes), "{nodes} in {text}");
    }
}

#[test]
fn every_limit_ends() {
    let mut engine = Engine::start();
    for go in [
        "go nodes 0",
        "go nodes 1",
        "go nodes 1 depth 99",
        "go depth 3",
        "go movetime 0",
        "go movetime 1",
        "go movetime -100",
        "go wtime 0 btime 0",
        "go wtime -5 btime -5 winc -5",
        "go wtime 100",
        "go btime 100",
        "go wtime btime 5",
        "go nodes",
        "go depth x",
        "go wtime 1000 btime 1000 movestogo 0",
        "go wtime 1000 btime 1000 movestogo 1",
        "go nodes 99999999999999999999 movetime 1",
        "go nodes 5 unknown words",
        "go perft 3",
    ] {
        engine.say("ucinewgame");
        let lines = engine.ask(go, "bestmove");
        assert!(lines.iter().any(|line| line.starts_with("info depth ")), "{go}: {lines:#?}");
        assert_ne!(lines.last().unwrap(), "bestmove (none)", "{go}");
    }
}

#[test]
fn input_is_read_while_searching() {
    let mut engine = Engine::start();
    engine.say("go infinite");
    for _ in 0..3 {
        let lines = engine.ask("isready", "readyok");
        assert_eq!(best_moves(&lines), 0);
    }
    for refused in ["nonsense", "position startpos moves e2e5", "position fen 8/8", "setoption name Hash value 0"] {
        engine.say(refused);
        engine.until("info string ");
    }
    assert_eq!(best_moves(&engine.ask("isready", "readyok")), 0, "what is refused does not stop the search");
    engine.ask("stop", "bestmove");
    engine.say("stop");
    engine.say("ponderhit");
    assert_eq!(engine.overhear(), Vec::<String>::new(), "a second stop is harmless");
}

#[test]
fn pondering_waits_for_the_hit() {
    let mut engine = Engine::start();
    engine.say("setoption name Ponder value true");
    engine.say("position startpos moves e2e4 e7e5");
    engine.say("go ponder nodes 10");
    assert_eq!(best_moves(&engine.overhear()), 0);
    engine.ask("ponderhit", "bestmove");
    engine.say("go ponder wtime 10000 btime 10000");
    assert_eq!(best_moves(&engine.overhear()), 0);
    let played = engine.ask("stop", "bestmove").pop().unwrap();
    assert!(
        ["1", "2", "3", "4"].iter().any(|rank| played.split(' ').nth(1).unwrap().contains(rank)),
        "White's: {played}"
    );
    engine.say("ponderhit");
    assert_eq!(engine.overhear(), Vec::<String>::new());
}

/// The tree of a ponder search is kept after `ponderhit`, and for the next move.
#[test]
fn pondering_is_not_lost() {
    let mut engine = Engine::with(&["--backend=random", "--ponder", "--smart-pruning-factor=0"]);
    let nodes =
        |line: &String| -> u64 { line.split(" nodes ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap() };
    engine.say("position startpos moves e2e4 e7e5");
    let said = engine.ask("go ponder nodes 5000", "info depth 2 ");
    assert_eq!(best_moves(&said), 0);
    let said = engine.ask("ponderhit", "bestmove");
    let (played, infos) = said.split_last().unwrap();
    let infos: Vec<u64> = infos.iter().map(nodes).collect();
    assert!(infos.is_sorted() && *infos.last().unwrap() >= 5000, "one search, not two: {infos:?}");
    let &["bestmove", best, "ponder", ponder] = &played.split(' ').collect::<Vec<_>>()[..] else { panic!("{played}") };
    engine.say(&format!("position startpos moves e2e4 e7e5 {best} {ponder}"));
    engine.say("go ponder nodes 6000");
    let first = engine.until("info depth").pop().unwrap();
    assert!(nodes(&first) > 1, "the tree of the last move: {first}");
    engine.ask("stop", "bestmove");
}

/// There are hours on the clock, so an engine that uses its budget exceeds the test's time limit.
#[test]
fn a_hit_on_a_forced_move_is_answered_at_once() {
    for manager in ["smooth", "legacy"] {
        let mut engine = Engine::with(&["--backend=random", "--ponder", &format!("--time-manager={manager}")]);
        // The only legal move captures the queen.
        engine.say("position fen 7k/8/8/8/8/8/1q6/K5R1 w - - 0 1");
        engine.say("go ponder wtime 36000000 btime 36000000");
        assert_eq!(best_moves(&engine.overhear()), 0);
        assert_eq!(engine.ask("ponderhit", "bestmove").pop().unwrap().split(' ').nth(1), Some("a1b2"));
    }
}

#[test]
fn a_number_of_nodes_counts_while_pondering() {
    let mut engine = Engine::with(&["--backend=random", "--ponder", "--threads=1"]);
    engine.say("go ponder nodes 100");
    assert_eq!(best_moves(&engine.overhear()), 0);
    let lines = engine.ask("ponderhit", "bestmove");
    assert!(lines[lines.len() - 2].contains(" nodes 100 "), "{lines:#?}");
}

#[test]
fn a_limit_that_is_reached_in_infinite_does_not_end_it() {
    let mut engine = Engine::start();
    engine.say("go infinite nodes 10");
    assert_eq!(best_moves(&engine.overhear()), 0);
    engine.ask("stop", "bestmove");
}

/// Everything is proven after some visits, the last of which change neither the best move nor a depth.
#[test]
fn an_infinite_search_that_has_proven_all_says_so() {
    let args = ["--backend=constant", "--threads=1", "--minibatch-size=1"];
    for position in ["7k/8/6K1/8/8/8/7P/R7 b - - 0 1", "k7/8/1K6/8/8/8/7P/7R b - - 0 1"] {
        let mut engine = Engine::with(&args);
        engine.say(&format!("position fen {position}"));
        engine.say("go infinite");
        while !engine.until("info depth").last().unwrap().contains(" score mate -") {}
        engine.ask("stop", "bestmove");
    }
}

#[test]
fn wait_holds_back_what_can_wait() {
    let mut engine = Engine::start();
    engine.say("go nodes 2000");
    engine.say("wait");
    engine.say("d");
    engine.say("isready");
    let lines = engine.until("info string fen");
    assert_eq!(best_moves(&lines), 1, "{lines:#?}");
    engine.say("go infinite");
    engine.say("wait");
    engine.ask("stop", "bestmove");
    engine.say("go infinite");
    engine.say("wait");
    engine.say("quit");
    assert!(engine.finish().0.success());
}

/// A script may end with `quit`; `stop` applies to the search before it.
#[test]
fn what_comes_behind_a_wait_is_meant_for_later() {
    let mut engine = Engine::with(&["--backend=random", TO_THE_LAST_VISIT]);
    let script = "go nodes 300\nwait\nposition startpos moves e2e4\ngo infinite\nstop\ngo nodes 400\nwait\n\
                  setoption name MultiPV value 2\nisready\ngo infinite\nwait\nstop\ngo nodes 20\nwait\nquit";
    engine.say(script);
    let (status, lines) = engine.finish();
    assert!(status.success());
    let searched: Vec<u64> =
        lines.windows(2).filter(|pair| pair[1].starts_with("bestmove")).map(|pair| visits(&pair[0])).collect();
    assert_eq!(searched.len(), 5, "{lines:#?}");
    let as_asked = [0, 2, 4].map(|at| searched[at]).into_iter().zip([300, 400, 20]).all(|(made, asked)| made >= asked);
    assert!(as_asked, "{searched:?} {lines:#?}");
}

/// At most a thousand lines of input are kept during a `wait`. A search without a limit is stopped then, because it
/// could not read a `stop` behind more lines.
#[test]
fn more_behind_a_wait_than_is_kept_ends_a_search_without_an_end() {
    let flood = "position startpos moves e2e4\n".repeat(1500);
    let said = "info string more has come in behind wait than is kept: the search is stopped";
    // A search with a limit of its own goes on until that limit.
    for (go, times_said) in [("go infinite", 1), ("go movetime 300", 0)] {
        let mut engine = Engine::with(&["--backend=constant"]);
        engine.say(&format!("{go}\nwait\n{flood}d\nstop\nquit"));
        let (status, lines) = engine.finish();
        assert!(status.success() && best_moves(&lines) == 1, "{go}: {lines:#?}");
        assert_eq!(lines.iter().filter(|line| *line == said).count(), times_said, "{go}");
        let position = lines.iter().find(|line| line.starts_with("info string fen ")).expect("what stands behind");
        assert!(position.contains(" b KQkq "), "{position}");
    }
}

/// The mate is found before any input behind `wait` takes effect: another search, the end of the input, or `quit`.
#[test]
fn wait_waits_for_a_mate() {
    let position = "position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1\ngo mate 1\nwait\n";
    for (rest, searches) in [("go nodes 5\nwait\nquit\n", 2), ("", 1)] {
        let lines = stdout(&run(&["--backend=constant"], &format!("{position}{rest}")));
        let played: Vec<&str> = lines.lines().filter(|line| line.starts_with("bestmove")).collect();
        assert_eq!((played.len(), played[0]), (searches, "bestmove a1a8"), "{lines}");
    }
}

#[test]
fn a_tree_that_can_not_get_deeper_ends_the_search_for_depth() {
    let mut engine = Engine::with(&["--backend=random", "--smart-pruning-factor=0"]);
    for (fen, go) in [
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "go depth 5"),
        ("k7/8/K7/8/8/8/8/7R w - - 0 1", "go depth 10"),
        ("k7/8/K7/8/8/8/8/7R w - - 0 1", "go depth 10 searchmoves h1h8"),
    ] {
        engine.say(&format!("position fen {fen}"));
        engine.say(go);
        engine.until("bestmove");
    }
    // Nor does the search use the CPU while it waits for `stop`.
    engine.say("position fen 4k3/8/8/8/8/8/8/4K3 w - - 0 1");
    engine.say("go infinite");
    std::thread::sleep(A_WHILE);
    engine.say("stop");
    let heard = engine.until("bestmove");
    let nodes =
        |line: &String| line.split_once(" nodes ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok());
    let nodes = heard.iter().filter_map(nodes).max().unwrap();
    assert!(nodes < 1000, "{nodes} nodes");
}

/// In a graph each playout is counted in exactly one way, whichever thread makes it, even if several threads evaluate
/// the same position at the same time.
#[test]
fn every_playout_is_counted_once_whoever_does_it() {
    let roles = ["--gather-threads=2", "--eval-threads=2", "--backprop-threads=2"];
    for threads in [&["--threads=1"][..], &["--threads=2"], &roles] {
        // No cache, because with one a position that is twice in a batch would be evaluated only once.
        let fixed =
            ["--backend=random", "--search-graph=graph", "--nncache=0", "--show-statistics", "--minibatch-size=16"];
        let mut engine = Engine::with(&[&fixed, threads].concat());
        engine.say("position fen 8/8/3p4/4k3/8/8/4P3/4K3 w - - 0 1");
        let lines = engine.ask("go nodes 20000", "bestmove");
        let line = lines.iter().find(|line| line.starts_with("info string move: ")).expect("statistics");
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let number = |name: &str| -> u64 {
            let at = words.iter().position(|word| *word == name).expect(name);
            words[at - 1].parse().expect("a number")
        };
        let ends = ["evaluations", "transpositions", "terminals"].map(number);
        assert_eq!(number("playouts"), ends.iter().sum::<u64>(), "{line}");
        assert!(number("transpositions") > 0, "{line}");
    }
}

#[test]
fn a_limit_of_speed_holds_whoever_does_the_playouts() {
    for threads in ["--threads=1", "--threads=2", "--gather-threads=1"] {
        let mut engine = Engine::with(&["--backend=constant", "--nps-limit=500", "--smart-pruning-factor=0", threads]);
        engine.ask("isready", "readyok");
        let lines = engine.ask("go movetime 700", "bestmove");
        let words: Vec<&str> = lines[lines.len() - 2].split(' ').collect();
        let number = |name| -> f64 {
            let at = words.iter().position(|word| *word == name).expect(name);
            words[at + 1].parse().expect("a number")
        };
        // The move overhead is subtracted from the 700 ms. Without the limit there would be some hundred times as many
        // nodes.
        let most = 500.0 * number("time") / 1000.0 + 20.0;
        assert!(number("nodes") > 50.0 && number("nodes") <= most, "{threads}: {words:?}");
    }
}

/// The visits of the last report of a search.
fn visits_of(engine: &mut Engine, go: &str) -> u64 {
    let lines = engine.ask(go, "bestmove");
    visits(lines.iter().rfind(|line| line.starts_with("info depth ")).expect("a report"))
}

/// Nearly all visits go to the move that captures the queen.
#[test]
fn a_search_whose_best_move_is_certain_ends_before_its_limit_unless_that_is_switched_off() {
    let args = ["--weights=tiny", "--backend=host", "--threads=1"];
    for (factor, ends_early) in [(None, true), (Some("--smart-pruning-factor=0"), false)] {
        let mut engine = Engine::with(&[&args[..], factor.as_slice()].concat());
        engine.say("position fen rnb1kbnr/ppp1pppp/8/3q4/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 3");
        let lines = engine.ask("go nodes 1200", "bestmove");
        let [.., info, best] = &lines[..] else { panic!("{lines:#?}") };
        assert!(best.starts_with("bestmove e4d5"), "{lines:#?}");
        assert_eq!(visits(info) < 1200, ends_early, "{factor:?}: {info}");
        assert!(visits(info) > 300, "as many are made in any case: {info}");
    }
}

#[test]
fn a_search_ends_when_its_visits_change_little() {
    let args = ["--backend=random", "--threads=1", "--smart-pruning-factor=0"];
    for (gain, ends_early) in [("0", false), ("1", true)] {
        let mut engine = Engine::with(&[&args[..], &[&format!("--minimum-kldgain-per-node={gain}")]].concat());
        let made = visits_of(&mut engine, "go nodes 3000");
        assert_eq!(made < 3000, ends_early, "{gain}: {made}");
    }
}

/// The first search leaves more visits than the second one asks for.
#[test]
fn nodes_that_count_as_playouts_are_new_ones() {
    for (flag, expected) in [("--nodes-as-playouts", 100), ("--no-nodes-as-playouts", 0)] {
        let mut engine = Engine::with(&["--backend=random", "--threads=1", "--smart-pruning-factor=0", flag]);
        let lines = engine.ask("go nodes 10000", "bestmove");
        let words: Vec<&str> = lines.last().unwrap().split(' ').collect();
        let &["bestmove", best, "ponder", ponder] = &words[..] else { panic!("{words:?}") };
        engine.say(&format!("position startpos moves {best} {ponder}"));
        let kept = visits_of(&mut engine, "go nodes 1");
        assert!(kept > 100, "the tree is kept: {kept}");
        assert_eq!(visits_of(&mut engine, "go nodes 100") - kept, expected, "{flag}");
    }
}
