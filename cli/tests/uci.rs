//! Sessions with the real binary: input that a GUI sends, and input that no GUI should send.

mod driver;

use driver::{A_WHILE, Engine, run, stderr, stdout};
use std::process::Stdio;

/// Keeps smart pruning from ending a search before its last visit. A proven result still ends it.
const TO_THE_LAST_VISIT: &str = "--smart-pruning-minimum-batches=10000";

fn best_moves(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("bestmove ")).count()
}

#[test]
fn a_plain_session() {
    let mut engine = Engine::start();
    assert!(engine.ask("uci", "uciok").iter().any(|line| line.starts_with("option name Hash ")));
    engine.ask("isready", "readyok");
    engine.say("ucinewgame");
    engine.say("position startpos moves e2e4 e7e5");
    let lines = engine.ask("go nodes 50", "bestmove");
    let info = &lines[lines.len() - 2];
    for word in ["depth", "seldepth", "time", "nodes 50", "score cp", "hashfull", "tbhits 0", "pv"] {
        assert!(info.contains(&format!(" {word}")), "{word} in {info}");
    }
    let (status, rest) = engine.finish();
    assert!(status.success());
    assert_eq!(rest, Vec::<String>::new());
}

#[test]
fn more_memory_than_there_is_ends_no_game() {
    let mut engine = Engine::start();
    engine.say("setoption name Hash value 1048576");
    engine.ask("isready", "readyok");
    engine.best_move("go nodes 50");
    engine.say("setoption name Hash value 8");
    engine.best_move("go nodes 50");
    assert!(engine.finish().0.success());
}

#[test]
fn nobody_reads_standard_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = driver::binary();
    // An option without effect is reported on standard error.
    command.args(["--backend=random", "--task-workers=1"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
    assert!(command.status().expect("the binary starts").success());
}

#[test]
fn garbage_is_refused_and_changes_nothing() {
    let mut engine = Engine::start();
    engine.say("position startpos moves e2e4");
    for garbage in [
        &b"\xff\xfe\x00\x01"[..],
        b"\0\0\0",
        b"go\0nodes",
        b"position",
        b"position fen",
        b"position fen x",
        b"position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        b"position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e9 0 1",
        b"position fen \xf0\x9f\x98\x80",
        b"position startpos moves e2e5",
        b"position startpos moves e2e4 e7e5 \xf0\x9f\x98\x80",
        b"setoption",
        b"setoption name",
        b"setoption name \xff value \xff",
        b"setoption name Threads value 99999999999999999999",
        b"setoption name Hash value -5",
        b"setoption name CPuct value 1e999",
        b"setoption name TimeManager value ((((((((((((",
    ] {
        engine.say_bytes(garbage);
        engine.say_bytes(b"\n");
    }
    let lines = engine.ask("d", "info string fen");
    assert_eq!(lines.len(), 19, "{lines:#?}");
    assert!(lines.iter().all(|line| line.starts_with("info string ")));
    assert!(lines[18].contains("/4P3/"), "the last good position is kept: {}", lines[18]);
    engine.ask("isready", "readyok");
    assert_eq!(best_moves(&engine.ask("go nodes 1", "bestmove")), 1);
}

#[test]
fn lines_of_a_megabyte() {
    let mut engine = Engine::start();
    engine.say(&"x".repeat(1 << 20));
    engine.say(&"go ".repeat(3).replace("go", "no").repeat(100_000));
    engine.say(&format!("position startpos moves {}", "e2e4 ".repeat(200_000)));
    engine.say(&format!("position fen {}", "8/".repeat(500_000)));
    let lines = engine.ask("isready", "readyok");
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert!(lines.iter().all(|line| line.len() < 1000));
    // A legal game of a megabyte: each side's knight moves out and back 52,000 times.
    engine.say(&format!("position startpos moves {}", "g1f3 g8f6 f3g1 f6g8 ".repeat(52_000)));
    assert_eq!(engine.ask("d", "info string fen").len(), 1);
    engine.best_move("go nodes 10");
}

#[test]
fn the_end_of_the_input_gives_the_answer_and_ends() {
    for (go, limit) in [
        ("", false),
        ("go nodes 100\n", true),
        ("go nodes 100", true),
        ("go movetime 50\n", true),
        ("go wtime 100 btime 100\n", true),
        ("go infinite\n", true),
        ("go\n", true),
        ("go ponder wtime 1000 btime 1000\n", true),
        ("go mate 3\n", true),
        ("go nodes 100\nwait\n", true),
        ("go infinite nodes 99\n", true),
        ("go infinite movetime 50\n", true),
        ("go infinite mate 3\n", true),
    ] {
        let output = run(&["--backend=random"], go);
        assert!(output.status.success(), "{go:?}");
        let text = stdout(&output);
        assert_eq!(text.matches("bestmove").count(), usize::from(limit), "{go:?}: {text}");
        if go.contains("nodes 100") {
            assert!(text.contains(" nodes 100 "), "the limit was reached: {text}");
        }
        assert_eq!(stderr(&output), "");
    }
}

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

#[test]
fn quit_ends_a_search_at_once() {
    let mut engine = Engine::start();
    engine.say("go infinite");
    engine.until("info depth");
    engine.say("quit");
    let (status, _) = engine.finish();
    assert!(status.success());
}

/// Opening a pipe to which nothing writes, as the network or the hints, never returns. Searches that were requested
/// before `quit` delay it no longer than the network itself does.
#[cfg(unix)]
#[test]
fn quit_ends_what_waits_for_a_file() {
    let folder = driver::Folder::new("blocked");
    let pipe = folder.file("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let (weights, hints) = (format!("--weights={pipe}"), format!("--hints={pipe}"));
    let set = format!("setoption name WeightsFile value {pipe}\nisready\ngo nodes 10\nquit");
    let sessions = [
        (&weights, "isready\nquit"),
        (&weights, "isready\ngo nodes 10\nquit"),
        (&weights, "isready\ngo movetime 100\nquit"),
        (&weights, "isready\ngo infinite\nstop\nquit"),
        (&weights, "go nodes 10\nposition startpos moves e2e4\nquit"),
        (&weights, "go nodes 10\nucinewgame\nisready\ngo nodes 10\nquit"),
        (&weights, "isready\ngo infinite"),
        (&weights, "go infinite"),
        (&hints, "isready\ngo nodes 10\nquit"),
        (&"--threads=1".to_string(), &set),
    ];
    // Each session takes five seconds, so they run at the same time.
    std::thread::scope(|scope| {
        for (option, lines) in sessions {
            scope.spawn(move || {
                let mut engine = Engine::with(&["--backend=host", option]);
                engine.say(lines);
                let (status, heard) = engine.finish();
                assert!(status.success() && heard.is_empty(), "{lines}: {status}, {heard:#?}");
            });
        }
    });
}

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
fn every_go_gets_one_best_move() {
    let mut engine = Engine::start();
    for next in ["go nodes 5", "position startpos", "ucinewgame"] {
        engine.say("go infinite");
        engine.until("info depth");
        engine.say(next);
        if next.starts_with("go") {
            engine.until("bestmove");
        }
        engine.until("bestmove");
        let lines = engine.ask("isready", "readyok");
        assert_eq!(best_moves(&lines), 0, "{next}");
    }
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

fn visits(info: &str) -> u64 {
    info.split(" nodes ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a number of nodes")
}

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

#[test]
fn games_that_are_over() {
    let mut engine = Engine::start();
    for (fen, score) in
        [("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "score mate 0"), ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "score cp 0")]
    {
        engine.say(&format!("position fen {fen}"));
        for go in ["go nodes 10", "go movetime 100", "go wtime 1000 btime 1000"] {
            let lines = engine.ask(go, "bestmove");
            assert_eq!(lines.last().unwrap(), "bestmove (none)");
            assert!(lines[lines.len() - 2].contains(score), "{lines:#?}");
        }
        engine.say("go infinite");
        assert_eq!(best_moves(&engine.overhear()), 0);
        engine.ask("stop", "bestmove");
    }
}

#[test]
fn castling_is_written_as_the_gui_reads_it() {
    let mut engine = Engine::start();
    let position = "position fen 4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1";
    engine.say(position);
    assert_eq!(engine.best_move("go nodes 5 searchmoves e1h1"), "e1g1");
    assert_eq!(engine.best_move("go nodes 5 searchmoves e1c1"), "e1c1");
    engine.say("setoption name UCI_Chess960 value true");
    engine.say(position);
    assert_eq!(engine.best_move("go nodes 5 searchmoves e1g1"), "e1h1");
    engine.say(&format!("{position} moves e1h1"));
    assert!(engine.ask("d", "info string fen")[0].contains("R4RK1 b"));
    // If the king or rook is not on its home square, the king's two steps would be another move or an illegal one.
    engine.say("setoption name UCI_Chess960 value false");
    engine.say("position fen 5k2/8/8/8/8/8/8/R4KR1 w GA - 0 1");
    assert_eq!(engine.best_move("go nodes 5 searchmoves f1a1"), "f1a1");
    engine.say("position fen 4k3/8/8/8/8/8/8/1R2K1R1 w GB - 0 1 moves e1g1");
    assert!(engine.ask("d", "info string fen")[0].contains("1R3RK1 b"));
}

#[test]
fn several_lines_come_in_order() {
    let mut engine = Engine::start();
    engine.say("setoption name MultiPV value 3");
    engine.say("setoption name UCI_ShowWDL value true");
    let lines = engine.ask("go nodes 200", "bestmove");
    let last = &lines[lines.len() - 4..lines.len() - 1];
    let mut first_moves = Vec::new();
    for (index, line) in last.iter().enumerate() {
        assert!(line.contains(&format!(" multipv {} pv ", index + 1)), "{line}");
        let wdl: Vec<i32> =
            line.split(" wdl ").nth(1).unwrap().split(' ').take(3).map(|n| n.parse().unwrap()).collect();
        assert_eq!(wdl.iter().sum::<i32>(), 1000);
        first_moves.push(line.split(" pv ").nth(1).unwrap().split(' ').next().unwrap());
    }
    let best = lines.last().unwrap().split(' ').nth(1).unwrap();
    assert_eq!(first_moves[0], best);
    assert!(first_moves[1] != best && first_moves[2] != best && first_moves[1] != first_moves[2]);
}

/// After a mate is found, the root's value is not that of the moves without a visit: they are lines all the same, with
/// the value of other moves.
#[test]
fn behind_a_mate_moves_without_a_visit_are_lines_that_win_nothing() {
    // With this FPU, each move is visited once before any is visited twice.
    let each_once = ["--fpu-strategy=absolute", "--fpu-value=1"];
    let mut engine =
        Engine::with(&[&["--backend=constant", "--multipv=50", "--smart-pruning-factor=0"], &each_once[..]].concat());
    engine.say("position fen 6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1");
    let mut lines_after = |nodes: usize| {
        let lines = engine.ask(&format!("go nodes {nodes}"), "bestmove");
        last_report(&lines).to_vec()
    };
    assert_eq!(lines_after(2).len(), 20);
    let mates = |lines: &Vec<String>| lines[0].contains(" score mate 1 ");
    let (nodes, lines) = (3..20).map(|nodes| (nodes, lines_after(nodes))).find(|(_, lines)| mates(lines)).unwrap();
    assert!(lines.len() == 20 && nodes - 1 < 20, "{nodes} nodes: {lines:#?}");
    assert!(lines[1..].iter().all(|line| line.contains(" score cp 0 ")), "{nodes} nodes: {lines:#?}");
}

/// The lines of the last report of a search.
fn last_report(lines: &[String]) -> &[String] {
    let first = lines.iter().rposition(|line| line.contains(" multipv 1 ")).expect("a report");
    &lines[first..lines.len() - 1]
}

/// A GUI shows the line of each number until it gets another one: after a mate, no line may be missing.
#[test]
fn a_mate_leaves_no_line_out() {
    // The tiny network sees the mate itself: its value of the root says no more of the other moves.
    for backend in ["--backend=random", "--backend=constant", "--backend=host --weights=tiny"] {
        let args: Vec<&str> = backend.split(' ').chain(["--multipv=3", "--threads=1"]).collect();
        let mut engine = Engine::with(&args);
        engine.say("position fen 6k1/6pp/8/8/8/8/3q1PPP/3Q2K1 b - - 0 1");
        let lines = engine.ask("go nodes 300", "bestmove");
        let [first, others @ ..] = last_report(&lines) else { panic!("{lines:#?}") };
        assert!(first.contains(" score mate 1 ") && first.ends_with(" pv d2d1"), "{first}");
        assert_eq!(others.len(), 2, "{backend}: {lines:#?}");
        for line in others {
            let score = line.split_once(" score ").expect("a score").1;
            let wins = match *score.split(' ').take(2).collect::<Vec<_>>() {
                ["cp", score] => score.parse::<i32>().expect("a number") > 5000,
                _ => !score.starts_with("mate -"),
            };
            assert!(!wins, "{backend}: {line}");
        }
    }
}

#[test]
fn live_statistics_come_with_every_info() {
    for live in [false, true] {
        let flag = if live { "--log-live-stats" } else { "--no-log-live-stats" };
        let mut engine = Engine::with(&["--backend=random", "-v", flag, "--smart-pruning-factor=0"]);
        let lines = engine.ask("go nodes 300", "bestmove");
        let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        let expected = if live { count("info depth ") + 1 } else { 1 };
        assert_eq!(count("info string node "), expected, "{lines:#?}");
    }
}

#[test]
fn statistics_go_to_the_log_where_nobody_else_wants_them() {
    for live in [false, true] {
        let file = std::env::temp_dir().join(format!("oncilla-statistics-{live}-{}", std::process::id()));
        let flag = if live { "--log-live-stats" } else { "--no-log-live-stats" };
        let log = format!("--logfile={}", file.display());
        let mut engine = Engine::with(&["--backend=random", "--smart-pruning-factor=0", flag, &log]);
        let lines = engine.ask("go nodes 300", "bestmove");
        assert!(lines.iter().all(|line| !line.contains("info string node ")), "{lines:#?}");
        drop(engine);
        let text = std::fs::read_to_string(&file);
        let _ = std::fs::remove_file(&file);
        let text = text.unwrap();
        let expected = if live { text.matches("< info depth ").count() + 1 } else { 1 };
        assert_eq!(text.matches("\n# info string node ").count(), expected, "{text}");
    }
}

#[test]
fn a_move_that_nobody_visited_ends_the_line() {
    let mut engine = Engine::with(&["--backend=random", "-v", "--threads=1", "--minibatch-size=1"]);
    let lines = engine.ask("go nodes 2", "bestmove");
    let [.., best] = &lines[..] else { panic!("{lines:#?}") };
    let &["bestmove", best, "ponder", ponder] = &best.split(' ').collect::<Vec<_>>()[..] else { panic!("{best}") };
    let last = lines.iter().rfind(|line| line.starts_with("info depth")).unwrap();
    assert!(last.ends_with(&format!(" pv {best} {ponder}")), "{last}");
    engine.say(&format!("position startpos moves {best}"));
    engine.say("ucinewgame");
    let lines = engine.ask("go nodes 1", "bestmove");
    assert_eq!(*lines.last().unwrap(), format!("bestmove {ponder}"), "by its prior");
    let root = lines.iter().find(|line| line.starts_with("info string node ")).unwrap();
    assert!(root.contains("(P:  0.00%)"), "{root}");
}

/// Lc0's formula is int((1 + M) / 2), where the M of a move without a visit is the root's plus one.
#[test]
fn moves_left_of_a_move_that_nobody_visited() {
    let net = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/nets/synthetic/synthetic-c-se-conv-wdl-mlh-in2.pb.gz");
    let weights = format!("--weights={net}");
    let mut engine = Engine::with(&[&ALONE[..], &[&weights, "--show-movesleft"]].concat());
    let lines = engine.ask("go nodes 1", "bestmove");
    let root = lines.iter().find(|line| line.starts_with("info string node ")).unwrap();
    let expected = ((2.0 + field(root, "(M:")) / 2.0) as u32;
    assert!(lines.iter().any(|line| line.contains(&format!(" movesleft {expected} "))), "{expected}: {lines:#?}");
    let mut without = Engine::with(&[&ALONE[..], &[&weights, "--show-movesleft", "--backend-opts=mlh=false"]].concat());
    let lines = without.ask("go nodes 1", "bestmove");
    let root = lines.iter().find(|line| line.starts_with("info string node ")).unwrap();
    assert!(field(root, "(M:") == 0.0 && lines.iter().all(|line| !line.contains("movesleft")), "{lines:#?}");
}

#[test]
fn verbose_statistics_count_every_visit() {
    let mut engine = Engine::with(&["--backend=random", "-v", "--minibatch-size=1", "--smart-pruning-factor=0"]);
    let lines = engine.ask("go nodes 300", "bestmove");
    let visits =
        |line: &String| -> u32 { line.split("N:").nth(1).unwrap().split('(').next().unwrap().trim().parse().unwrap() };
    let stats: Vec<&String> = lines.iter().filter(|line| line.contains(" (WL: ")).collect();
    let (node, moves) = stats.split_last().unwrap();
    assert!(node.starts_with("info string node "));
    assert_eq!(moves.len(), 20);
    assert_eq!(visits(node), 300);
    assert_eq!(moves.iter().map(|line| visits(line)).sum::<u32>(), 299);
    assert!(moves.is_sorted_by_key(|line| visits(line)));
}

#[test]
fn verbose_statistics_say_what_the_network_said_however_much_was_searched() {
    for graph in ["tree", "graph"] {
        let graph = format!("--search-graph={graph}");
        let options = ["-v", "--weights=tiny", "--backend=host", "--threads=1", "--minibatch-size=1", &graph];
        let mut engine = Engine::with(&options);
        let mut own = |position: &str, nodes: u32| -> Vec<String> {
            engine.say("ucinewgame");
            engine.say(position);
            let lines = engine.ask(&format!("go nodes {nodes}"), "bestmove");
            lines.into_iter().filter(|line| line.contains(" (V:")).collect()
        };
        let stats = own("position startpos", 200);
        let (node, moves) = stats.split_last().unwrap();
        let alone = own("position startpos", 1);
        assert_eq!(field(node, "(V:"), field(alone.last().unwrap(), "(V:"), "{node}");
        for line in moves.iter().rev().take(4) {
            assert!(!line.contains("-.----"), "{line}");
            let mv = line.split(' ').nth(2).unwrap();
            let after = own(&format!("position startpos moves {mv}"), 1);
            let theirs = field(after.last().unwrap(), "(V:");
            assert!((field(line, "(V:") + theirs).abs() < 1.1e-4, "{line}: {theirs}");
        }
    }
}

/// The number behind a label in a line of statistics.
fn field(line: &str, label: &str) -> f32 {
    let after = line.split(label).nth(1).unwrap_or_else(|| panic!("{label} in {line}"));
    after.split([')', '%']).next().unwrap().trim().parse().unwrap_or(f32::NAN)
}

/// With contempt, GUIs are shown the position's value without it, to the degree of `WDLEvalObjectivity`.
#[test]
fn contempt_is_not_shown() {
    let said = |contempt: &str, objectivity: &str, nodes: u32| {
        let options = ["--backend=host", "--threads=1", "--show-wdl", "-v", "--score-type=W-L", "--draw-score=0.25"];
        // The effect of contempt depends on the draw probability of the network's value, which hints would change.
        let contempt = [contempt, objectivity, "--wdl-draw-rate-target=0.6", "--hints=off"];
        let mut engine = Engine::with(&[&options[..], &contempt[..]].concat());
        engine.ask(&format!("go nodes {nodes}"), "bestmove")
    };
    let score = |lines: &[String]| -> i32 {
        let line = lines.iter().rfind(|line| line.contains(" score cp ")).expect("a score");
        line.split(" score cp ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    let [none, all, hidden, shown] = [
        ("--contempt=0", "--wdl-eval-objectivity=0"),
        ("--contempt=0", "--wdl-eval-objectivity=1"),
        ("--contempt=300", "--wdl-eval-objectivity=1"),
        ("--contempt=300", "--wdl-eval-objectivity=0"),
    ]
    .map(|(contempt, objectivity)| said(contempt, objectivity, 1));
    assert_eq!(score(&none), score(&all), "without contempt there is nothing to hide");
    assert!((score(&none) - score(&hidden)).abs() <= 1, "{none:?} {hidden:?}");
    assert!(score(&shown) > score(&none) + 500, "{none:?} {shown:?}");
    let root = |lines: &[String]| lines.iter().find(|line| line.starts_with("info string node ")).unwrap().clone();
    let own = [&none, &hidden, &shown].map(|lines| field(&root(lines), "(V:"));
    assert!(own.iter().all(|v| (v - own[0]).abs() < 1e-3), "the network's own value has no contempt: {own:?}");
    for lines in [said("--contempt=300", "--wdl-eval-objectivity=1", 50), hidden, shown] {
        for line in lines.iter().filter(|line| line.contains("(WL:") && !line.contains("-.---")) {
            let [wl, d, q] = ["(WL:", "(D:", "(Q:"].map(|label| field(line, label));
            assert!((wl + 0.25 * d - q).abs() < 2e-4, "{line}");
        }
    }
}

#[test]
fn a_bad_table_is_named_once() {
    let folder = std::env::temp_dir().join(format!("oncilla-bad-table-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("KQvK.rtbw"), [0; 80]).unwrap();
    let tables = format!("--syzygy-paths={}", folder.display());
    // Built-in endings would be used before the tables.
    let mut engine = Engine::with(&["--backend=random", "--no-builtin-endgames", &tables]);
    // With four men, the table is probed in the tree, when the knight is captured.
    engine.say("position fen 8/8/4k3/8/8/2nQ4/8/K7 w - - 0 1");
    let noted = |lines: Vec<String>| lines.iter().filter(|line| line.contains("KQvK.rtbw: ")).count();
    assert_eq!(noted(engine.ask("go nodes 100", "bestmove")), 1);
    assert_eq!(noted(engine.ask("go nodes 200", "bestmove")), 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The move statistics of a search, which differ between networks.
fn searched(engine: &mut Engine) -> Vec<String> {
    engine.say("ucinewgame");
    let lines = engine.ask("go nodes 20", "bestmove");
    lines.into_iter().filter(|line| line.contains(" (V:")).collect()
}

const ALONE: [&str; 5] = ["-v", "--backend=host", "--threads=1", "--minibatch-size=1", "--smart-pruning-factor=0"];

#[test]
fn a_wrong_setting_is_said_once_and_costs_no_more_than_itself() {
    let small = searched(&mut Engine::with(&ALONE));
    let absent = std::fs::read("no such file").expect_err("there is none");
    for (wrong, says) in [
        ("--weights=no such file", &*format!("no such file: can't read it: {absent}; the built-in network small")),
        ("--hints=no such file", &*format!("no such file: {absent}; the program's own hints")),
        ("--backend-opts=policy_head=foo", "the network has no policy head \"foo\", but vanilla; the built-in network"),
        ("--backend=opencl", "; the host runs the network"),
        (
            "--backend=mkl",
            "Backend: expected auto, host or opencl, got mkl, which only Lc0 has; the host runs the network",
        ),
    ] {
        let mut args = [&ALONE[..], &[wrong]].concat();
        if wrong == "--backend=opencl" {
            args.push("--backend-opts=device='no such device'");
        }
        // A GUI that sends `isready` before the game gets the warning then; any other gets it with the first search.
        for first in ["isready", "d"] {
            let mut engine = Engine::with(&args);
            engine.ask(first, if first == "d" { "info string fen" } else { "readyok" });
            assert_eq!(searched(&mut engine), small, "{wrong}");
            engine.ask("isready", "readyok");
            assert_eq!(searched(&mut engine), small, "{wrong}");
            let warnings = engine.heard.iter().filter(|line| line.starts_with("info string WARNING: "));
            let warnings: Vec<&String> = warnings.collect();
            assert!(warnings.len() == 1 && warnings[0].contains(says), "{warnings:?}");
            assert_eq!(engine.heard[0] == *warnings[0], first == "isready", "{:#?}", engine.heard);
        }
    }
}

/// The warning about a setting that is not available, also directly after a `bestmove`.
fn warned(engine: &mut Engine) -> String {
    let lines = engine.ask("isready", "readyok");
    lines.into_iter().find(|line| line.starts_with("info string WARNING: ")).expect("a warning")
}

#[test]
fn a_backend_of_lc0s_gives_way_to_the_nearest_and_a_name_that_nobody_has_is_refused() {
    let cuda = "WARNING: Backend: expected auto, host or opencl, got cuda, which only Lc0 has; auto runs the network: a GPU where";
    let config = std::env::temp_dir().join(format!("oncilla-lc0-backend-{}.config", std::process::id()));
    std::fs::write(&config, "backend=cuda\n").unwrap();
    for flag in ["--backend=CUDA", &format!("--config={}", config.display())] {
        let warning = warned(&mut Engine::with(&[flag, "--threads=1"]));
        assert!(warning.contains(cuda), "{warning}");
    }
    std::fs::remove_file(&config).unwrap();
    let mut engine = Engine::with(&ALONE);
    engine.say("setoption name Backend value cuda");
    let warning = warned(&mut engine);
    assert!(warning.contains(cuda), "{warning}");
    assert!(engine.ask("go nodes 5", "bestmove").iter().all(|line| !line.contains("WARNING")));
    engine.say("setoption name Backend value cuda-13");
    let refused = engine.ask("isready", "readyok");
    assert!(refused[0].contains("Backend: expected one of auto, host,") && refused[0].ends_with("got \"cuda-13\""));
    engine.say("setoption name Backend value host");
    assert_eq!(engine.ask("isready", "readyok"), ["readyok"]);
}

#[test]
fn a_network_that_is_not_there_leaves_the_last_one() {
    let mut engine = Engine::with(&ALONE);
    engine.say("setoption name WeightsFile value tiny");
    let tiny = searched(&mut engine);
    engine.say("setoption name WeightsFile value no such file");
    let warning = warned(&mut engine);
    assert!(warning.ends_with("; the built-in network tiny plays instead"), "{warning}");
    assert_eq!(searched(&mut engine), tiny);
    engine.say("setoption name WeightsFile value small");
    assert_eq!(engine.ask("isready", "readyok"), ["readyok"]);
    assert_ne!(searched(&mut engine), tiny);
    engine.say("setoption name Backend value random");
    engine.ask("isready", "readyok");
    let lines = engine.ask("go nodes 5", "bestmove");
    assert!(lines.iter().any(|line| line.starts_with("info depth")), "{lines:#?}");
}

#[test]
fn what_could_not_be_had_is_looked_for_again() {
    let folder = driver::Folder::new("later");
    let file = folder.file("later.pb.gz");
    let mut engine = Engine::with(&ALONE);
    let small = searched(&mut engine);
    let weights = format!("setoption name WeightsFile value {file}");
    for _ in 0..2 {
        engine.say(&weights);
        let warning = warned(&mut engine);
        assert!(warning.contains(": can't read it: "), "{warning}");
        engine.say("setoption name WeightsFile value small");
        assert_eq!(engine.ask("isready", "readyok"), ["readyok"]);
    }
    engine.say(&weights);
    engine.ask("isready", "readyok");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/nets/tiny.pb.gz"), &file).expect("a copy");
    assert_ne!(searched(&mut engine), small, "with the next game");
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

/// If the reader of the output goes away, that is no failure, and there is no error message.
#[test]
fn a_broken_pipe_is_quiet() {
    use std::io::Read;
    use std::process::Stdio;
    let mut process = driver::binary()
        .arg("--backend=random")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(process.stdout.take());
    let mut stdin = process.stdin.take().unwrap();
    // The engine may already have ended.
    let _ = std::io::Write::write_all(&mut stdin, b"uci\nuci\ngo infinite\n");
    let status = process.wait().unwrap();
    let mut said = String::new();
    process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(said, "");
}

#[test]
fn the_log_file_has_both_sides() {
    let file = std::env::temp_dir().join(format!("oncilla-log-{}", std::process::id()));
    let mut engine = Engine::start();
    engine.say(&format!("setoption name LogFile value {}", file.display()));
    engine.ask("isready", "readyok");
    assert!(engine.finish().0.success());
    let text = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    assert_eq!(text.unwrap(), "> isready\n< readyok\n");
    // `<stderr>` is Lc0's name for standard error.
    let output = run(&["--backend=random", "--logfile=<stderr>"], "isready\n");
    assert_eq!((stdout(&output), stderr(&output)), ("readyok\n".to_string(), "> isready\n< readyok\n".to_string()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_can_not_be_written_is_said_once() {
    let output = run(&["--backend=random", "--logfile=/dev/full"], "isready\nisready\ngo nodes 5\n");
    let text = stdout(&output);
    let lost = "info string log file /dev/full: No space left on device (os error 28); nothing more is logged";
    assert_eq!(text.lines().next(), Some(lost), "{text}");
    assert!(text.matches("log file").count() == 1 && text.contains("bestmove "), "{text}");
    let output = run(&["analysis", "--backend=random", "-l", "/dev/full"], "{\"id\":\"a\",\"moves\":[]}\n");
    assert!(stderr(&output).contains(&lost["info string ".len()..]), "{}", stderr(&output));
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

/// The moves that are played in several positions without a clock, each after `ucinewgame`.
fn played(engine: &mut Engine, positions: &[&str]) -> Vec<String> {
    let play = |position: &&str| {
        engine.say("ucinewgame");
        engine.say(&format!("position startpos moves {position}"));
        engine.best_move("go nodes 50")
    };
    positions.iter().map(play).collect()
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

/// A network that is loaded at the start is missed at the start: before any line of input.
#[test]
fn what_is_loaded_at_the_start_is_missed_at_the_start() {
    let mut engine = Engine::with(&["--backend=host", "--preload", "--weights=no such file"]);
    let heard = engine.until("info string WARNING: no such file: can't read it: ");
    assert_eq!(heard.len(), 1, "{heard:#?}");
    // Otherwise there is no reason to load it before a search.
    for more in [&["--preload", "--weights=tiny"][..], &["--weights=no such file"]] {
        let output = run(&[&["--backend=host"], more].concat(), "quit\n");
        assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()), "{more:?}");
    }
}

/// Collisions send playouts elsewhere: where few are allowed, batches stay smaller in a small tree.
#[test]
fn as_many_collisions_are_allowed_as_the_options_say() {
    let collisions = |options: &[&str]| -> u64 {
        let args = ["--backend=random", "--threads=1", "--minibatch-size=64", "--smart-pruning-factor=0"];
        let mut engine = Engine::with(&[&args[..], &["--show-statistics"], options].concat());
        let lines = engine.ask("go nodes 2000", "bestmove");
        let line = lines.iter().find(|line| line.starts_with("info string move: ")).expect("statistics");
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| *word == "collisions").expect("collisions");
        words[at - 1].parse().expect("a number")
    };
    // From no visit on, all that are allowed in a large tree.
    const AT_ONCE: &str = "--max-collision-visits-scaling-end=0";
    let all = collisions(&[AT_ONCE]);
    for few in [&["--max-collision-visits=1"][..], &["--max-collision-visits-scaling-start=100000"]] {
        let few = collisions(few);
        assert!(2 * few < all, "{few} of {all}");
    }
    let usual = collisions(&[]);
    assert!(usual < all, "{usual} of {all}");
    // With such a power, nearly all of the growth comes at its end.
    let late = collisions(&["--max-collision-visits-scaling-power=100"]);
    assert!(2 * late < usual, "{late} of {usual}");
}
