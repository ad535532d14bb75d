//! `RamLimitMb` limits the memory of the whole process, and the search continues when the limit is reached.
#![cfg(target_os = "linux")]

mod common;
mod driver;

use driver::{Engine, patience};
use std::time::Instant;

/// A value from `/proc/PID/status`, in KiB.
fn kib(engine: &Engine, name: &str) -> u64 {
    let path = format!("/proc/{}/status", engine.id());
    let status = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let figure = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    figure.unwrap_or_else(|| panic!("{name} in {path}"))
}

/// The number behind `name` in an info line.
fn number(line: &str, name: &str) -> Option<u64> {
    line.split(' ').skip_while(|word| *word != name).nth(1)?.parse().ok()
}

/// Searches until the tree has been full and `more` playouts have followed. Returns the number of nodes at the end.
///
/// The time depends on the network and the machine, so it is limited only while the tree does not grow.
fn fill(engine: &mut Engine, more: u64) -> u64 {
    let mut deadline = Instant::now() + 2 * patience();
    let (mut full_at, mut last, mut fullest) = (None, 0, 0);
    loop {
        assert!(Instant::now() < deadline, "the tree is not full after {last} nodes");
        let lines = engine.until("info depth");
        let Some(line) = lines.last() else { continue };
        let (nodes, hashfull) = (number(line, "nodes").unwrap_or(0), number(line, "hashfull").unwrap_or(0));
        assert!(nodes >= last, "nodes fell from {last} to {nodes}");
        last = nodes;
        // Only folding makes a tree smaller.
        let is_full = full_at.is_none() && hashfull < fullest;
        if is_full {
            full_at = Some(nodes);
        }
        if is_full || hashfull > fullest {
            deadline = Instant::now() + 2 * patience();
        }
        fullest = fullest.max(hashfull);
        if full_at.is_some_and(|from| nodes >= from + more) {
            return nodes;
        }
    }
}

/// Fills a tree under a limit of `mb` MiB, and checks the memory, the search and the answer to `stop`.
fn stays_below(mb: u64, options: &[(&str, String)], more: u64) {
    let mut engine = Engine::with(&[]);
    engine.say(&format!("setoption name RamLimitMb value {mb}"));
    for (name, value) in options {
        engine.say(&format!("setoption name {name} value {value}"));
    }
    engine.ask("isready", "readyok");
    engine.say("position startpos");
    engine.say("go infinite");
    let nodes = fill(&mut engine, more);
    let (peak, limit) = (kib(&engine, "VmHWM"), mb * 1024);
    let begun = Instant::now();
    engine.ask("stop", "bestmove");
    let waited = begun.elapsed();
    oncilla_testing::say(&format!(
        "RamLimitMb {mb} {options:?}: {nodes} nodes, {peak} KiB at most, stop in {waited:.1?}"
    ));
    assert!(peak <= limit, "{peak} KiB of {limit} with {options:?}");
    assert!(waited < patience() / 10, "stop took {waited:?}");
}

fn options<const N: usize>(pairs: [(&'static str, &str); N]) -> Vec<(&'static str, String)> {
    pairs.map(|(name, value)| (name, value.to_string())).to_vec()
}

#[test]
fn a_tree_without_a_network() {
    for cache in ["0", "64"] {
        stays_below(64, &options([("Backend", "random"), ("NNCacheMb", cache)]), 20_000);
    }
}

/// Whether a line says that the limit can't be kept.
fn is_too_low_a_limit(line: &str) -> bool {
    line.starts_with("info string the program and its network take more than RamLimitMb=")
}

/// The memory of a full tree is not counted as the new network's.
#[test]
fn another_network_leaves_the_tree_its_room() {
    // Some allocators keep the memory of a smaller tree for later use.
    let mb = 96;
    let mut engine = Engine::with(&["--backend=random", "--nncache-mb=0", &format!("--ramlimit-mb={mb}")]);
    for backend in ["constant", "random"] {
        engine.say("go infinite");
        fill(&mut engine, 1000);
        engine.ask("stop", "bestmove");
        engine.say(&format!("setoption name Backend value {backend}"));
        // Far more nodes than the smallest tree can hold.
        let lines = engine.ask("go nodes 30000", "bestmove");
        assert!(!lines.iter().any(|line| is_too_low_a_limit(line)), "{backend}: {lines:#?}");
        let full = lines.iter().rev().find_map(|line| number(line, "hashfull"));
        oncilla_testing::say(&format!("{backend}: hashfull {full:?}, {} KiB", kib(&engine, "VmRSS")));
        assert!(full.is_some_and(|full| full < 400), "{mb} MiB, {backend}: {full:?}");
    }
    let peak = kib(&engine, "VmHWM");
    assert!(peak <= mb * 1024, "{peak} KiB of {mb} MiB");
}

/// If the network alone exceeds the limit, a line says so.
#[test]
fn a_limit_that_cannot_be_kept_is_named() {
    for (mb, expected) in [(8, true), (500, false)] {
        let mut engine = Engine::with(&["--backend=host", "--threads=1", &format!("--ramlimit-mb={mb}")]);
        let lines = engine.ask("go nodes 1", "bestmove");
        let said = lines.iter().any(|line| is_too_low_a_limit(line));
        assert_eq!(said, expected, "{mb} MiB: {lines:#?}");
    }
    // The line is printed once, even if the network is already loaded.
    let mut engine = Engine::with(&["--backend=host", "--threads=1"]);
    engine.ask("go nodes 1", "bestmove");
    engine.say("setoption name RamLimitMb value 8");
    for expected in [true, false] {
        let lines = engine.ask("go nodes 2", "bestmove");
        assert_eq!(lines.iter().any(|line| is_too_low_a_limit(line)), expected, "{lines:#?}");
    }
    // The line is printed once for each evaluator.
    engine.say("setoption name Backend value random");
    engine.say("setoption name RamLimitMb value 1");
    for (backend, expected) in [("random", true), ("constant", true), ("constant", false)] {
        engine.say(&format!("setoption name Backend value {backend}"));
        let lines = engine.ask("go nodes 2", "bestmove");
        assert_eq!(lines.iter().any(|line| is_too_low_a_limit(line)), expected, "{backend}: {lines:#?}");
    }
}

/// However many trees are requested, there are never more than fit.
#[test]
fn sessions_and_positions_at_a_time_share_what_there_is() {
    let mb = 128;
    let bounds = [&format!("--ramlimit-mb={mb}"), "--queue-mb=8", "--line-mb=1", "--backend=random"];
    for trees in ["--sessions=1024", "--parallel=256"] {
        let mut engine = Engine::with(&[&["analysis", trees], &bounds[..]].concat());
        for number in 0..200 {
            let session = if trees.contains("sessions") { format!(r#","session":"s{number}""#) } else { String::new() };
            engine.say(&format!(r#"{{"id":"{number}","moves":[],"maxVisits":8000{session}}}"#));
        }
        (0..200).for_each(|_| assert!(!engine.until("{")[0].contains("error")));
        let peak = kib(&engine, "VmHWM");
        // The memory of an emulator's own threads is included.
        assert!(peak <= mb * 1024 || driver::program::is_emulated(), "{peak} KiB of {mb} MiB with {trees}");
    }
}

/// The tree in an answer takes as much memory as its text, and only one search at a time builds one.
#[test]
fn trees_of_answers_are_no_larger_than_their_lines() {
    let mb = 128;
    let bounds = [&format!("--ramlimit-mb={mb}"), "--queue-mb=8", "--line-mb=1", "--backend=random", "--parallel=4"];
    let mut engine = Engine::with(&[&["analysis"], &bounds[..]].concat());
    for number in 0..4 {
        engine.say(&format!(r#"{{"id":"{number}","moves":[],"maxVisits":60000,"includeTree":{{"depth":1000}}}}"#));
    }
    (0..4).for_each(|_| assert!(engine.until("{")[0].contains(r#""treeIsCut":true"#)));
    let peak = kib(&engine, "VmHWM");
    oncilla_testing::say(&format!("four trees of 50,000 nodes: {peak} KiB at most"));
    assert!(peak <= mb * 1024 || driver::program::is_emulated(), "{peak} KiB of {mb} MiB");
}

/// Every warning has the query's id in it: a line of 100 kB is answered with 500 MB.
#[test]
fn warnings_with_a_long_id_are_not_kept() {
    let mb = 128;
    let bounds = [&format!("--ramlimit-mb={mb}"), "--queue-mb=8", "--line-mb=1", "--backend=constant"];
    let mut engine = Engine::with(&[&["analysis"], &bounds[..]].concat());
    let unknown: String = (0..10_000).map(|number| format!(r#","k{number}":1"#)).collect();
    let id = "a".repeat(50_000);
    engine.say(&format!(r#"{{"id":"{id}","moves":[],"maxVisits":2{unknown}}}"#));
    let warnings = (0..).take_while(|_| engine.until("{")[0].contains("warning")).count();
    assert_eq!(warnings, 10_000);
    let peak = kib(&engine, "VmHWM");
    assert!(peak <= mb * 1024 || driver::program::is_emulated(), "{peak} KiB of {mb} MiB");
}

/// In Go, some memory besides the trees belongs to the search.
#[test]
fn positions_of_go_share_what_there_is() {
    let mb = 128;
    let weights = format!("--weights={}", oncilla_testing::fixtures().join("go/tiny-v8.bin.gz").display());
    let bounds = [&format!("--ramlimit-mb={mb}"), "--queue-mb=8", "--line-mb=1", "--backend=host", "--threads=1"];
    let mut engine = Engine::with(&[&["analysis", "--parallel=64", &weights], &bounds[..]].concat());
    for number in 0..64 {
        let moves = format!(r#"[["B","Q{}"],["W","D{}"]]"#, number % 8 + 1, number / 8 + 1);
        let what = format!(r#""boardXSize":19,"boardYSize":19,"rules":"chinese","moves":{moves}"#);
        engine.say(&format!(r#"{{"id":"{number}",{what},"maxVisits":600,"includeOwnership":true}}"#));
    }
    (0..64).for_each(|_| assert!(!engine.until("{")[0].contains("error")));
    let peak = kib(&engine, "VmHWM");
    assert!(peak <= mb * 1024 || driver::program::is_emulated(), "{peak} KiB of {mb} MiB");
}

/// As a client that needs the memory expects it, the process returns what the cache held. In Go an evaluation is
/// thousands of bytes.
#[test]
fn a_cache_of_go_that_is_cleared_returns_its_memory() {
    let weights = format!("--weights={}", oncilla_testing::fixtures().join("go/tiny-v8.bin.gz").display());
    let bounds = ["--ramlimit-mb=512", "--backend=host", "--threads=1"];
    let mut engine = Engine::with(&[&["analysis", "--parallel=1", &weights], &bounds[..]].concat());
    let board = r#""boardXSize":19,"boardYSize":19,"rules":"chinese","moves":[]"#;
    engine.say(&format!(r#"{{"id":"q",{board},"maxVisits":8000}}"#));
    assert!(!engine.until("{")[0].contains("error"));
    engine.say(r#"{"id":"s","action":"stats"}"#);
    let stats: serde_json::Value = serde_json::from_str(&engine.until("{")[0]).expect("JSON");
    let held = stats["cache"]["bytes"].as_u64().expect("a number of bytes") / 1024;
    assert!(held > 8 * 1024, "{stats}");
    let before = kib(&engine, "VmRSS");
    engine.say(r#"{"id":"c","action":"clear_cache"}"#);
    assert!(engine.until("{")[0].contains("clear_cache"));
    let after = kib(&engine, "VmRSS");
    assert!(after + held * 3 / 4 <= before || driver::program::is_emulated(), "{held} KiB: {before} to {after} KiB");
}

#[test]
fn analysis_says_what_there_is_no_room_for() {
    let said = |args: &[&str]| driver::stderr(&driver::run(&[&["analysis", "--backend=random"], args].concat(), ""));
    let reduced =
        "oncilla: Hash and RamLimitMb leave too little for 1026 trees: 2 at a time, 6 of sessions, 2 MiB each";
    let text = said(&["--hash=16", "--parallel=2", "--sessions=1024"]);
    assert!(text.lines().any(|line| line == reduced), "{text}");
    assert!(said(&["--ramlimit-mb=20"]).contains(" take more than RamLimitMb=20: "));
    let text = said(&["--parallel=2"]);
    assert!(!text.contains("RamLimitMb"), "{text}");
}

/// The limit is little more than the process needs without a tree, but a search is possible.
#[test]
#[ignore = "takes minutes"]
fn a_network_with_little_room_beside_it() {
    for (weights, mb) in [("small", 36), ("tiny", 32)] {
        for cache in ["0", "64"] {
            stays_below(mb, &options([("Backend", "host"), ("WeightsFile", weights), ("NNCacheMb", cache)]), 500);
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn networks_and_limits() {
    let mut networks = vec!["small".to_string()];
    if let Some(shared) = oncilla_testing::shared() {
        networks.push(shared.join("nets/maia-1100.pb.gz").display().to_string());
    }
    for weights in networks {
        for cache in ["0", "64"] {
            for limit in [64, 200] {
                let network = [("Backend", "host".to_string()), ("WeightsFile", weights.clone())];
                let memory = [("NNCacheMb", cache.to_string()), ("Hash", "24".to_string())];
                stays_below(limit, &[network, memory].concat(), 1000);
            }
        }
    }
    for cache in ["0", "64"] {
        stays_below(200, &options([("Backend", "random"), ("NNCacheMb", cache)]), 200_000);
    }
}
