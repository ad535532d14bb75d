//! Options and network files, right and wrong.

use super::*;

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
