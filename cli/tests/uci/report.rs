//! Info lines: lines of play, statistics, contempt.

use super::*;

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
