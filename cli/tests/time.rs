//! Compares `oncilla time` with the reference: the test vectors and games of the spec "stoppers and time", sections 3,
//! 4, 6, 7 and 8, through the real binary.

mod driver;

use driver::{run, stderr, stdout};
use serde_json::Value;
use std::path::PathBuf;

fn explain(manager: &str, overhead_ms: u32, more: &[String]) -> Value {
    let mut args = vec!["time".to_string(), "--json".to_string()];
    args.push(format!("--time-manager={manager}"));
    args.push(format!("--move-overhead={overhead_ms}"));
    args.extend_from_slice(more);
    let output = run(&args.iter().map(String::as_str).collect::<Vec<_>>(), "");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{args:?}");
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

fn flags(of: &[(&str, f64)]) -> Vec<String> {
    of.iter().flat_map(|(name, number)| [format!("--{name}"), number.to_string()]).collect()
}

/// Checks that a number is within 0.1% of the reference, and 0 if the reference is 0.
#[track_caller]
fn assert_near(row: &Value, name: &str, expected: f64) {
    let got = row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"));
    assert!((got - expected).abs() <= expected.abs() * 1e-3, "{name}: {got}, expected {expected}");
}

#[test]
fn smooth_fifteen_budgets() {
    // Base, increment, ply, reused nodes; nodes per second, and parameters other than the defaults → moves left, total
    // time, new time, target in ms, budget in ms.
    for ([base, inc, ply, reused], nps, params, [moves_left, total, new, target, budget]) in [
        ([300000.0, 0.0, 0.0, 0.0], 0.0, "", [51.500, 233009.709, 233009.709, 11650.485, 16643.551]),
        ([300000.0, 3000.0, 0.0, 0.0], 0.0, "", [51.500, 353009.709, 353009.709, 17650.485, 25214.979]),
        ([300000.0, 3000.0, 40.0, 0.0], 0.0, "", [31.520, 500715.769, 500715.769, 25035.788, 35765.412]),
        ([300000.0, 3000.0, 40.0, 100000.0], 0.0, "", [31.520, 500715.769, 400715.769, 20035.788, 28622.555]),
        ([60000.0, 1000.0, 20.0, 50000.0], 0.0, "", [41.500, 97831.113, 47831.113, 2391.556, 3416.508]),
        ([60000.0, 0.0, 80.0, 0.0], 0.0, "", [13.705, 175121.374, 175121.374, 8756.069, 12508.670]),
        ([10000.0, 100.0, 100.0, 30000.0], 5000.0, "", [9.117, 11968.781, 0.0, 0.0, 0.0]),
        ([3000.0, 0.0, 60.0, 0.0], 0.0, "", [21.829, 5497.384, 5497.384, 274.869, 392.670]),
        (
            [900000.0, 10000.0, 30.0, 400000.0],
            40000.0,
            "(init-tree-reuse=0.6,init-timeuse=0.8)",
            [36.503, 3465576.654, 3065576.654, 76639.416, 95799.270],
        ),
        ([120000.0, 1000.0, 120.0, 1000000.0], 50000.0, "", [7.761, 1646120.749, 646120.749, 12922.415, 18460.593]),
        ([5000.0, 5000.0, 100.0, 0.0], 0.0, "", [9.117, 221937.563, 221937.563, 11096.878, 1500.000]),
        (
            [180000.0, 2000.0, 60.0, 20000.0],
            0.0,
            "(mle-legacy(midpoint=50,steepness=12.0))",
            [20.018, 439674.481, 419674.481, 20983.724, 29976.749],
        ),
        (
            [60000.0, 600.0, 10.0, 0.0],
            0.0,
            "(init-tree-reuse=0.7,init-timeuse=0.3)",
            [46.500, 126021.505, 126021.505, 6301.075, 18000.000],
        ),
        ([60000.0, 600.0, 10.0, 0.0], 0.0, "(init-tree-reuse=0.2)", [46.500, 47258.065, 47258.065, 2362.903, 3375.576]),
        ([1000.0, 0.0, 200.0, 0.0], 0.0, "", [10.485, 3815.126, 3815.126, 190.756, 272.509]),
    ] {
        let mut args = flags(&[("base", base), ("inc", inc), ("ply", ply), ("reused", reused)]);
        if nps > 0.0 {
            args.extend(flags(&[("nps", nps)]));
        }
        let row = explain(&format!("smooth{params}"), 0, &args);
        assert_near(&row, "moves_left", moves_left);
        assert_near(&row, "avg_total_nodes", total);
        assert_near(&row, "target_new_nodes", new);
        assert_near(&row, "target_ms", target);
        assert_near(&row, "budget_seed_ms", budget);
        // A move gets time, however many nodes the tree has.
        assert!(row["budget_ms"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn smooth_moves_left() {
    for (ply, expected) in [
        (0.0, [45.2000, 51.5000, 50.0000]),
        (1.0, [44.7000, 51.0000, 49.5000]),
        (2.0, [44.2000, 50.5000, 49.0000]),
        (10.0, [40.2000, 46.5000, 45.0000]),
        (20.0, [35.2020, 41.5002, 40.0000]),
        (40.0, [25.3203, 31.5196, 30.0001]),
        (60.0, [16.4524, 21.8286, 20.0181]),
        (80.0, [10.6704, 13.7048, 10.5395]),
        (100.0, [8.5486, 9.1168, 4.7936]),
        (120.0, [8.4609, 7.7614, 3.8575]),
        (160.0, [10.1744, 8.6134, 4.7696]),
        (200.0, [12.4847, 10.4846, 5.9474]),
        (300.0, [18.6106, 15.6201, 8.9195]),
    ] {
        let columns = [(45.2, 5.93), (51.5, 7.0), (50.0, 12.0)];
        for ((midpoint, steepness), expected) in columns.into_iter().zip(expected) {
            let manager = format!("smooth(mle-legacy(midpoint={midpoint},steepness={steepness}))");
            let row = explain(&manager, 0, &flags(&[("base", 60000.0), ("ply", ply)]));
            assert_near(&row, "moves_left", expected);
        }
    }
}

/// A file with a game, which is removed with the test.
struct Game(PathBuf);

impl Game {
    fn new(name: &str, lines: &str) -> Self {
        let path = std::env::temp_dir().join(format!("oncilla-time-{name}-{}", std::process::id()));
        std::fs::write(&path, lines).expect("a temporary file");
        Self(path)
    }

    fn replay(&self, manager: &str, overhead_ms: u32) -> Vec<Value> {
        let list = explain(manager, overhead_ms, &[format!("--history={}", self.0.display())]);
        list.as_array().expect("a list").clone()
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The test vectors of the exponential decay, tested by what is learnt from a move. At ply 0, with a clock of 51,500
/// ms, an average move has 1,000 ms.
#[test]
fn smooth_exponential_decay() {
    let after = |manager: &str, used: f64, nodes: f64| {
        let game = Game::new("decay", &format!(r#"{{"base":51500,"used":{used},"nodes":{nodes}}}"#));
        game.replay(manager, 0).remove(0)
    };
    for (seconds, expected) in [(1.0, 21294.4944), (5.0, 25000.0), (10.0, 27500.0)] {
        assert_near(&after("smooth", 1000.0 * seconds, 30000.0 * seconds)["learnt"], "nps", expected);
    }
    // With these parameters a budget is two and a half average moves: 1 / (1 − reuse) / timeuse.
    let manager = "smooth(init-tree-reuse=0.428571428571,max-tree-reuse=0.9)";
    for (moves, timeuse) in [(1.0, 0.679910), (3.0, 0.793874)] {
        let row = after(manager, 1000.0 * moves, 20000.0 * moves);
        assert_near(&row, "budget_seed_ms", 2500.0);
        assert_near(&row["learnt"], "timeuse", timeuse);
    }
    // The time use has min-timeuse as its lower limit: 30 average moves without used time would make it 0.0875.
    let manager = "smooth(min-timeuse=0.3,timeuse-update-rate=0.001)";
    assert_near(&after(manager, 100.0, 1.0)["learnt"], "timeuse", 0.3);
    // The number of average moves, the share of the tree that is reused after them, and the expected value.
    for (moves, reuse, expected) in
        [(1.0, 0.2, 0.452269), (2.0, 0.2, 0.412132), (4.0, 0.2, 0.35), (0.05, 0.2, 0.497412), (1.0, 0.9, 0.563641)]
    {
        let used = 1000.0 * moves;
        let lines = format!(
            r#"{{"base":51500,"used":{used},"nodes":100000}}
               {{"base":51500,"used":1,"nodes":1,"reused":{}}}"#,
            100_000.0 * reuse
        );
        assert_near(&Game::new("reuse", &lines).replay("smooth", 0)[1], "tree_reuse", expected);
    }
}

#[test]
fn smooth_a_game() {
    let game = Game::new(
        "smooth",
        r#"{"base":180000,"inc":2000,"ply":0,"reused":0,"used":4000,"nodes":60000}
           {"base":178000,"inc":2000,"ply":2,"reused":30000,"used":6000,"nodes":180000}
           {"base":174000,"inc":2000,"ply":4,"reused":100000,"used":1500,"nodes":45000}

           {"base":174500,"inc":2000,"reused":70000,"used":15000,"nodes":450000}"#,
    );
    let rows = game.replay("smooth", 0);
    assert_eq!(rows.len(), 4);
    for (row, [tree_reuse, timeuse, nps, budget, avg]) in rows.iter().zip([
        [0.50000, 0.70000, 20000.00, 15700.42, 5495.15],
        [0.50000, 0.67809, 17871.75, 13819.46, 5524.75],
        [0.49592, 0.66041, 24720.87, 10441.71, 5515.15],
        [0.49531, 0.65075, 25712.01, 12861.02, 5597.94],
    ]) {
        assert_near(row, "tree_reuse", tree_reuse);
        assert_near(row, "timeuse", timeuse);
        assert_near(row, "nps", nps);
        assert_near(row, "budget_seed_ms", budget);
        assert_near(row, "avg_move_ms", avg);
    }
    assert_eq!((rows[3]["ply"].as_u64(), rows[3]["used_ms"].as_f64()), (Some(6), Some(15000.0)));
}

#[test]
fn legacy_budgets() {
    // Base, increment, ply, moves to go → the budgets of a first move and of a later one.
    for (base, inc, ply, movestogo, first, later) in [
        (300000.0, 0.0, 1.0, None, 17929.0, 5878.0),
        (300000.0, 3000.0, 1.0, None, 26899.0, 8819.0),
        (300000.0, 3000.0, 41.0, None, 72888.0, 12567.0),
        (60000.0, 1000.0, 21.0, None, 14118.0, 2434.0),
        (60000.0, 0.0, 81.0, None, 25921.0, 4469.0),
        (60000.0, 0.0, 21.0, Some(10.0), 34684.0, 5980.0),
        (1000.0, 0.0, 61.0, None, 217.0, 37.0),
        (150.0, 0.0, 61.0, None, -50.0, -50.0),
    ] {
        let mut args = flags(&[("base", base), ("inc", inc), ("ply", ply)]);
        args.extend(movestogo.map_or_else(Vec::new, |moves| flags(&[("movestogo", moves)])));
        assert_near(&explain("legacy", 200, &args), "budget_ms", first);
        // A later move has no first-move bonus.
        let manager = "legacy(first-move-bonus=0,book-ply-bonus=0)";
        assert_near(&explain(manager, 200, &args), "budget_ms", later);
    }
    let slow = explain(
        "legacy(slowmover=2.0,first-move-bonus=0.0,book-ply-bonus=0.0)",
        200,
        &flags(&[("base", 60000.0), ("ply", 21.0)]),
    );
    assert_near(&slow, "budget_ms", 2917.0);
    assert_near(&slow, "spared_ms", -1458.0);
}

#[test]
fn legacy_a_game() {
    let game = Game::new(
        "legacy",
        r#"{"base":180000,"inc":2000,"ply":1,"used":3000,"nodes":1}
           {"base":179000,"inc":2000,"ply":3,"used":4000,"nodes":1}
           {"base":177000,"inc":2000,"ply":5,"used":9000,"nodes":1}"#,
    );
    let rows = game.replay("legacy", 200);
    for (row, (budget, spared)) in rows.iter().zip([(16733.0, 13733.0), (18994.0, 14994.0), (20255.0, 11255.0)]) {
        assert_near(row, "budget_ms", budget);
        assert_near(&row["learnt"], "spared_ms", spared);
    }
}

#[test]
fn simple_budgets_and_a_game() {
    for (base, inc, ply, expected) in [
        (300000.0, 0.0, 1.0, 4344.0),
        (300000.0, 3000.0, 1.0, 8841.0),
        (300000.0, 3000.0, 41.0, 14717.0),
        (60000.0, 1000.0, 21.0, 2947.0),
        (60000.0, 0.0, 81.0, 3210.0),
        (5000.0, 5000.0, 101.0, 4800.0),
        (1000.0, 0.0, 61.0, 35.0),
    ] {
        let row = explain("simple", 200, &flags(&[("base", base), ("inc", inc), ("ply", ply)]));
        assert_near(&row, "budget_ms", expected);
    }
    let game = Game::new(
        "simple",
        r#"{"base":60000,"inc":1000,"ply":1,"used":1500,"nodes":1}
           {"base":59500,"inc":1000,"ply":3,"used":1500,"nodes":1}"#,
    );
    let rows = game.replay("simple", 200);
    assert_near(&rows[0], "budget_ms", 2361.0);
    assert_near(&rows[1], "budget_ms", 3273.0);
}

#[test]
fn alphazero_budgets() {
    for (base, expected) in [(300000.0, 35976.0), (60000.0, 7176.0), (1000.0, 96.0), (150.0, -6.0)] {
        assert_near(&explain("alphazero", 200, &flags(&[("base", base), ("inc", 9000.0)])), "budget_ms", expected);
    }
}

#[test]
fn what_is_measured_and_estimated_shows() {
    // The second clock is 300 ms lower than the first one and the used time imply, which is more than the overhead of
    // 200 ms.
    let game = Game::new(
        "lag",
        r#"{"base":60000,"used":1000,"nodes":5000,"pieces":32}
           {"base":58700,"used":1000,"nodes":5000,"pieces":2}
           {"base":57700,"used":1000,"nodes":5000,"pieces":2,"network_plies":49}"#,
    );
    let rows = game.replay("smooth", 200);
    assert_near(&rows[1], "overhead_ms", 300.0);
    assert_near(&rows[1], "base_ms", 58400.0);
    for (row, expected) in rows.iter().zip([48.5, 10.0, 25.0]) {
        assert_near(row, "regular_moves_left", expected);
    }
    // The next move after a recorded game can be queried.
    let args = [format!("--history={}", game.0.display()), "--base=56700".to_string(), "--ply=6".to_string()];
    let list = explain("smooth", 200, &args);
    assert_eq!(list.as_array().unwrap().len(), 4);
    assert!(list[3]["used_ms"].is_null());
}

/// The engine's own games, as recorded by `fixtures/time/record.py`: a replay gives the engine's own budgets, which no
/// search exceeded by more than a batch.
#[test]
fn recorded_games_are_replayed() {
    for name in ["host", "opencl", "constant"] {
        let file = oncilla_testing::fixtures().join(format!("time/game-{name}.jsonl"));
        let moves = std::fs::read_to_string(&file).expect("a recorded game").lines().count();
        let list = explain("smooth", 200, &[format!("--history={}", file.display())]);
        let rows = list.as_array().unwrap();
        assert_eq!(rows.len(), moves, "{name}");
        for row in rows {
            let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name} in {row}"));
            assert!(number("limit_ms") > 0.0 && number("limit_ms") <= number("deadline_ms"), "{row}");
            assert!(number("used_ms") <= number("limit_ms") + number("extension_ms") + 5.0, "{row}");
            assert!(row["learnt"]["nps"].as_f64().is_some_and(|nps| nps > 0.0), "{row}");
        }
    }
}

#[test]
fn a_person_reads_the_same_numbers() {
    let args = ["time", "--base=60000", "--move-overhead=0"];
    let text = stdout(&run(&args, ""));
    let json = explain("smooth", 0, &flags(&[("base", 60000.0)]));
    let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines.len() + 2, json.as_object().unwrap().len(), "all but the manager and the ply");
    for line in lines {
        let [name, number] = line[..] else { panic!("{line:?}") };
        let difference = json[name].as_f64().unwrap() - number.parse::<f64>().unwrap();
        assert!(difference.abs() <= 5e-5, "{name}");
    }
}

#[test]
fn refusals() {
    let no_base = Game::new("refusal", "{\"base\":1,\"used\":1,\"nodes\":1}\n{\"bass\":1}\n");
    let history = format!("--history={}", no_base.0.display());
    for (args, expected) in [
        (&["time"][..], "expected --base MS or --history FILE"),
        (&["time", "--base=x"], "base"),
        (&["time", "--base=nan"], "time: --base: expected a number from 0 on, got NaN"),
        (&["time", "--base", "-5"], "time: --base: expected a number from 0 on, got -5"),
        (&["time", "--base=1", "--inc=-1"], "time: --inc: expected a number from 0 on, got -1"),
        (&["time", "--base=1", "--network-plies=inf"], "time: --network-plies: expected a number from 0 on, got inf"),
        (&["time", "--base=1", "--time-manager=smooth(reserve=2)"], "at offset 7: expected reserve in [0, 1), got 2"),
        (&["time", "--base=1", "--nps=5", "--time-manager=legacy"], "time: --nps: expected the time manager smooth"),
        (&["time", "--base=1", "--nps=0"], "init-nps must be above 0 and at most 1e12, not 0"),
        (&["time", "--history=no such file"], "no such file: "),
        (&["time", &history], "line 2: expected one of base,"),
    ] {
        let output = run(args, "");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(expected), "{args:?}: {}", stderr(&output));
    }
}
