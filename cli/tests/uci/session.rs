//! What a GUI sends, input that none should send, and the end of the input.

use super::*;

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
