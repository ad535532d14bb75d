//! Tests the other commands of the real binary, and the exit codes.

mod driver;

use driver::{run, stderr, stdout};
use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};

#[test]
fn exit_codes_and_where_the_words_go() {
    for args in [
        &["--nonsense"][..],
        &["nonsense"],
        &["--cpuct=x"],
        &["--cpuct"],
        &["--backend=nonsense"],
        &["--time-manager=smooth("],
        &["--config=no such file"],
        &["bench", "--nodes", "x"],
        &["bench", "--backend=random", "--fen", "8/8 w"],
        &["bench", "--backend=host", "--weights=no such file"],
        &["backendbench", "--backend=random", "--batch=0"],
        &["backendbench", "--backend=random", "--at-a-time=0"],
        &["backendbench", "--backend=host", "--profile", "--at-a-time=2"],
        &["describenet", "no such file"],
        &["eval", "--backend=host", "--weights=no such file"],
        &["eval", "--backend=host", "--weights="],
        &["bench", "--movetime=5", "--nodes=3"],
        &["bench", "--movetime=5", "--rounds=2"],
        &["bench", "--rounds=0"],
        &["bench", "--num-positions=99"],
        &["bench", "--num-positions=2", "--fen=startpos"],
        &["analysis", "--backend=random", "--syzygy-paths=no such folder"],
        &["analysis", "-quit-without-waiting=maybe"],
        &["--generate", "nonsense"],
    ] {
        let output = run(args, "");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(stdout(&output), "", "{args:?}");
        assert!(stderr(&output).starts_with("oncilla: "), "{args:?}: {}", stderr(&output));
    }
    for args in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["--version"],
        &["-V"],
        &["bench", "--help"],
        &["bench", "-h"],
        &["uci"],
        &[],
    ] {
        let output = run(args, "");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(stderr(&output), "", "{args:?}");
    }
}

#[test]
fn a_backend_that_only_lc0_has_ends_every_command_but_uci() {
    for command in ["analysis", "eval", "bench", "backendbench", "devices", "tune", "selftest"] {
        let output = run(&[command, "--backend=onnx-trt"], "");
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{command}");
        let says = stderr(&output);
        assert!(says.starts_with("oncilla: ") && says.contains("got onnx-trt"), "{command}: {says}");
    }
}

/// A closed pipe is not a failure (see `a_broken_pipe_is_quiet`), but a full disk is one.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    for args in [&["--help"][..], &["bench", "--backend=random", "--nodes=1"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let output = driver::binary().args(args).stdout(full).output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).starts_with("oncilla: standard output: "), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn help_names_every_command_and_flag() {
    let text = stdout(&run(&["--show-hidden", "--help"], ""));
    for word in [
        "uci",
        "gtp",
        "eval",
        "bench",
        "backendbench",
        "describenet",
        "devices",
        "--hash=",
        "--cpuct-at-root=",
        "-w, --weights=",
        "--[no-]two-fold-draws\n",
        "--[no-]chess960\n",
        "--generate=man|bash|",
    ] {
        assert!(text.contains(word), "{word}");
    }
    assert!(!stdout(&run(&["--help"], "")).contains("--cpuct-at-root="));
}

/// The help of a command lists only a few of the options.
#[test]
fn help_of_a_command_says_where_the_options_are() {
    for command in ["analysis", "gtp", "report"] {
        let help = stdout(&run(&[command, "--help"], ""));
        let last: Vec<&str> = help.split("Notes:").nth(1).expect("notes").split_whitespace().collect();
        assert!(last.join(" ").ends_with("see oncilla --help, or OPTIONS.md"), "{help}");
    }
}

#[test]
fn flags_without_effect_are_said_in_one_line() {
    let output = run(&["--backend=random", "--task-workers=0", "--max-prefetch=0", "--temperature=0"], "go nodes 1\n");
    assert_eq!(stderr(&output), "oncilla: accepted, without effect: --task-workers, --max-prefetch\n");
    assert!(stdout(&output).contains("bestmove"));
    let analysis = ["--max-visits=7", "--human-model=x", "--win-loss-utility-factor=0.9", "--parallel=0"];
    let output = run(&[&["eval", "--backend=random"], &analysis[..]].concat(), "");
    assert_eq!(stderr(&output), "oncilla: of analysis, without effect here: --human-model, --max-visits\n");
    let output = run(&[&["analysis", "--backend=random", "--max-time=1"], &analysis[..1]].concat(), "");
    assert!(!stderr(&output).contains("without effect"), "{}", stderr(&output));
    let output = run(&["eval", "--backend=random", "--hints=", "--chess960"], "");
    assert_eq!(stderr(&output), "oncilla: without effect in this command: --hints\n");
}

#[test]
fn a_config_file_is_read() {
    let file = std::env::temp_dir().join(format!("oncilla-config-{}", std::process::id()));
    std::fs::write(&file, "# ours\nbackend=random\n--multipv=2\n").unwrap();
    let output = run(&[&format!("--config={}", file.display())], "go nodes 50\n");
    let _ = std::fs::remove_file(&file);
    assert!(stdout(&output).contains(" multipv 2 "));
}

#[test]
fn of_several_config_files_the_later_counts_for_more() {
    let folder = driver::Folder::new("configs");
    let config = |name: &str, text: &str| {
        std::fs::write(folder.0.join(name), text).unwrap();
        format!("--config={}", folder.file(name))
    };
    let (first, second) = (config("first", "backend=random\nmultipv=2\n"), config("second", "multipv=3\n"));
    for (args, lines) in [([&first, &second], 3), ([&second, &first], 2)] {
        let output = run(&args.map(String::as_str), "go nodes 50\n");
        let text = stdout(&output);
        let (shown, beyond) = (format!(" multipv {lines} "), format!(" multipv {} ", lines + 1));
        assert!(text.contains(&shown) && !text.contains(&beyond), "{args:?}: {text}");
    }
    let absent = format!("--config={}", folder.file("absent"));
    assert_eq!(run(&[&absent, &second], "quit\n").status.code(), run(&[&absent], "quit\n").status.code());
    assert!(stderr(&run(&[&absent, &second], "quit\n")).contains("absent"));
}

/// Some editors put a byte order mark in front of every file.
#[test]
fn a_byte_order_mark_is_no_part_of_the_input() {
    let output = run(&["--backend=random"], "\u{feff}uci\n");
    assert!(stdout(&output).contains("uciok"), "{}", stdout(&output));
    let output = run(&["eval", "--backend=random"], "\u{feff}{}\n");
    assert!(stdout(&output).contains("policy"), "{}", stdout(&output));
    let folder = driver::Folder::new("marks");
    let marked = |name: &str, text: &str| {
        std::fs::write(folder.0.join(name), format!("\u{feff}{text}")).unwrap();
        folder.file(name)
    };
    let output = run(&["--backend=random", "--config", &marked("config", "multipv=2\n")], "go nodes 50\n");
    assert!(stdout(&output).contains(" multipv 2 "), "{}", stderr(&output));
    let history = marked("history", "{\"base\":180000,\"used\":4000,\"nodes\":60000}\n");
    let output = run(&["time", "--history", &history, "--base", "60000"], "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("ply 2"), "the move after the first: {}", stdout(&output));
}

#[test]
fn a_bench_of_no_nodes_ends() {
    for threads in ["--threads=1", "--threads=2"] {
        let output = run(&["bench", "--backend=random", "--hash=16", "--nodes=0", "--fen=startpos", threads], "");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn bench_in_json_and_for_openbench() {
    let args = ["bench", "--backend", "random", "--nodes", "50", "--hash=16"];
    let json = run(&[&args[..], &["--json"]].concat(), "");
    let summary: Value = serde_json::from_str(&stdout(&json)).unwrap();
    assert_eq!(summary["nodes"], 14 * 50);
    for key in ["seconds", "nps", "bytes_per_node"] {
        assert!(summary[key].as_f64().unwrap() > 0.0, "{key}");
    }
    let text = stdout(&run(&[&args[..], &["--threads=2"]].concat(), ""));
    assert!(text.contains(&format!("signature {}", summary["signature"].as_str().unwrap())), "{text}");
    let last: Vec<&str> = text.lines().last().unwrap().split(' ').collect();
    let &[nodes, "nodes", nps, "nps"] = &last[..] else { panic!("{last:?}") };
    assert_eq!(nodes, "700");
    assert!(nps.parse::<u64>().is_ok());
}

#[test]
fn bench_of_one_position() {
    let output = run(&["bench", "--backend=constant", "--fen", "startpos", "--nodes=10", "--json"], "");
    let summary: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(summary["nodes"], 10);
}

#[test]
fn backendbench_in_json() {
    let output = run(&["backendbench", "--backend=random", "--batch=1,4", "--json"], "");
    let rows: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let batches: Vec<i64> = rows.as_array().unwrap().iter().map(|row| row["batch"].as_i64().unwrap()).collect();
    assert_eq!(batches, [1, 4]);
    for row in rows.as_array().unwrap() {
        for key in ["evals_per_second", "latency_ms", "gflops"] {
            assert!(row[key].is_number(), "{key}");
        }
    }
}

#[test]
fn backendbench_of_several_batches_at_a_time() {
    let of_go = ["--weights=../fixtures/go/tiny-v8.bin.gz", "--weights=../fixtures/go/tiny-human.bin.gz"];
    for weights in ["--weights=tiny"].into_iter().chain(of_go) {
        let output = run(&["backendbench", "--backend=host", weights, "--batch=2", "--at-a-time=3", "--json"], "");
        let rows: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let of = |key: &str| rows[0][key].as_f64().unwrap();
        // Three batches of two positions are always in progress.
        let on_the_way = of("evals_per_second") * of("latency_ms") / 1000.0;
        assert!((on_the_way - 6.0).abs() < 1e-6, "{weights}: {on_the_way}");
    }
}

#[test]
fn eval_answers_line_by_line() {
    let output =
        run(&["eval", "--backend=random"], "{\"moves\":[\"e2e4\"]}\nx\n{\"fen\":\"8/8 w\"}\n{}\n{\"Fen\":\"\"}\n[]\n");
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6);
    assert!(lines[0]["policy"]["e7e5"].is_number() && lines[3]["policy"]["e2e4"].is_number());
    assert!(lines[0]["e"].is_null());
    assert!(lines[1]["error"].is_string() && lines[2]["error"].as_str().unwrap().starts_with("bad FEN"));
    assert!(lines[4]["error"].as_str().is_some_and(|error| error.contains("unknown field `Fen`")), "{}", lines[4]);
    assert!(lines[5]["error"].as_str().is_some_and(|error| error.contains("an object with fen")), "{}", lines[5]);
    assert!(output.status.success());
}

/// The errors are KataGo's, with the name of what is wrong.
#[test]
fn eval_tells_a_network_for_human_play_whose() {
    let position = |settings: Value| {
        let moves = json!([["B", "C3"]]);
        json!({ "moves": moves, "rules": "chinese", "boardXSize": 7, "boardYSize": 7, "overrideSettings": settings })
    };
    let names = ["rank_3d", "preaz_3d", "rank_3d_5k", "rank_10d", "rank_3d"];
    let named = names.map(|name| position(json!({ "humanSLProfile": name, "maxVisits": "x" })));
    let input: String = named.iter().chain(&[position(json!({}))]).map(|line| format!("{line}\n")).collect();
    let eval = |network: &str| -> Vec<Value> {
        let output = run(&["eval", "--backend=host", &format!("--weights=../fixtures/go/{network}.bin.gz")], &input);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let said = eval("tiny-human");
    let error = |said: &Value| said["error"].as_str().unwrap_or_default().to_string();
    assert_eq!(said[0], said[4]);
    assert!(said[0]["policy"] != said[1]["policy"] && said[0]["policy"] != said[2]["policy"]);
    assert_eq!(error(&said[3]), "overrideSettings: Unknown human SL network profile: rank_10d");
    assert!(error(&said[5]).starts_with("overrideSettings: humanSLProfile: expected a profile"), "{}", said[5]);
    let said = eval("tiny-v15");
    assert!(error(&said[0]).ends_with("the network does not use it") && said[5]["policy"].is_object(), "{said:?}");
}

/// Outputs for which a network has no head are left out, because 0 moves left would mean the end of the game.
#[test]
fn eval_tells_what_the_network_has_heads_for() {
    for (name, expected) in [
        ("synthetic-a2-classical-enum", "d policy q"),
        ("synthetic-c-se-conv-wdl-mlh-in2", "d m policy q"),
        ("synthetic-f-bt4-pedense-multihead-mish-in5", "d e m policy q"),
    ] {
        let weights = format!("--weights={}", synthetic(name).display());
        let output = run(&["eval", "--backend=host", &weights], "{}\n");
        let answer: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.join(" "), expected, "{name}");
    }
}

fn synthetic(name: &str) -> PathBuf {
    oncilla_testing::fixtures().join("nets/synthetic").join(format!("{name}.pb.gz"))
}

/// If a network has several heads, the chosen ones are used; a head that the network does not have is refused.
#[test]
fn heads_are_chosen_by_name() {
    let net = synthetic("synthetic-f-bt4-pedense-multihead-mish-in5");
    let eval = |heads: &str| {
        let weights = format!("--weights={}", net.display());
        run(&["eval", "--backend=host", &weights, &format!("--backend-opts={heads}")], "{}\n")
    };
    let answer = |heads| -> Value { serde_json::from_str(&stdout(&eval(heads))).unwrap() };
    let (plain, others) = (answer("policy_head=vanilla"), answer("policy_head=soft,value_head=st"));
    assert_ne!(plain["policy"], others["policy"]);
    assert_ne!(plain["q"], others["q"]);
    // Each of the network's value heads has an output for its error.
    assert!([&plain, &others].iter().all(|answer| answer["e"].as_f64().is_some_and(|e| (0.0..=1.0).contains(&e))));
    let refused = eval("value_head=best");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("no value head \"best\", but winner, q, st"), "{}", stderr(&refused));
}

#[test]
fn networks_are_described_or_refused() {
    let text = stdout(&run(&["describenet"], ""));
    assert!(text.contains("Filters: ") && text.contains("Policy head: "), "{text}");
    for args in [&["describenet", "--weights=small"][..], &["describenet", "small"]] {
        assert_eq!(stdout(&run(args, "")), text, "{args:?}");
    }
    assert!(stdout(&run(&["describenet", "tiny"], "")).contains("Network: tiny, built in\n"));
    let cargo_toml = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = run(&["describenet", cargo_toml.to_str().unwrap()], "");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
}

/// A number of a message's field, or its length.
fn varint(bytes: &[u8], at: &mut usize) -> usize {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        *at += 1;
        value |= usize::from(bytes[*at - 1] & 0x7f) << shift;
        if bytes[*at - 1] < 0x80 {
            break;
        }
    }
    value
}

/// Gives the field that `path` leads to a number that no reader knows.
fn hide(bytes: &mut [u8], path: &[usize]) {
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let tag = varint(bytes, &mut at);
        let length = match tag & 7 {
            0 => {
                varint(bytes, &mut at);
                0
            }
            5 => 4,
            _ => varint(bytes, &mut at),
        };
        match path {
            [number] if *number == tag >> 3 => bytes[start] = 15 << 3 | 2,
            [number, inner @ ..] if *number == tag >> 3 => hide(&mut bytes[at..at + length], inner),
            _ => {}
        }
        at += length;
    }
}

#[test]
fn a_network_without_its_default_heads_is_described_by_the_first_that_it_has() {
    let file = std::fs::File::open(synthetic("synthetic-f-bt4-pedense-multihead-mish-in5")).unwrap();
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut plain).unwrap();
    let (weights, policy_heads, value_heads, vanilla, winner) = (10, 45, 44, 3, 1);
    let folder = driver::Folder::new("no-default-heads");
    let path = folder.file("net.pb");
    for (hidden, rows, refused) in [
        (
            [weights, policy_heads, vanilla],
            [
                "Policy head: attention (optimistic, soft, opponent)",
                "Default policy head: none called vanilla; this describes optimistic: a search needs \
                 --backend-opts=policy_head=optimistic",
                "Value head: WDL (winner, q, st)",
            ],
            "the network has no policy head \"vanilla\", but optimistic, soft, opponent",
        ),
        (
            [weights, value_heads, winner],
            [
                "Policy head: attention (vanilla, optimistic, soft, opponent)",
                "Value head: WDL (q, st)",
                "Default value head: none called winner; this describes q: a search needs --backend-opts=value_head=q",
            ],
            "the network has no value head \"winner\", but q, st",
        ),
    ] {
        let mut edited = plain.clone();
        hide(&mut edited, &hidden);
        std::fs::write(&path, edited).unwrap();
        let text = stdout(&run(&["describenet", &path], ""));
        for row in rows {
            assert!(text.lines().any(|line| line.trim_start() == row), "{row}\n{text}");
        }
        assert_eq!(text.matches("Default ").count(), 1, "{text}");
        let output = run(&["eval", "--backend=host", &format!("--weights={path}")], "{}\n");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(refused), "{}", stderr(&output));
    }
}

#[test]
fn what_a_network_of_go_is_told_is_described() {
    let describe = |network: &str| stdout(&run(&["describenet", &format!("../fixtures/go/{network}.bin.gz")], ""));
    let human = describe("tiny-human");
    assert!(human.contains("Metadata inputs: 192, encoded in 4 and 4 channels (human play)\n"), "{human}");
    assert!(!describe("tiny-v15").contains("Metadata"));
}

/// A KataGo network of version 8, with two channels and one block of each kind; all its weights are 0.5.
fn go_network() -> String {
    let array = |count: usize| "0.5 ".repeat(count);
    let conv = |name: &str, kernel: usize, inputs: usize, outputs: usize| {
        let weights = array(kernel * kernel * inputs * outputs);
        format!("{name} {kernel} {kernel} {inputs} {outputs} 1 1 {weights}\n")
    };
    let matrix =
        |name: &str, inputs: usize, outputs: usize| format!("{name} {inputs} {outputs} {}\n", array(inputs * outputs));
    let bias = |name: &str, channels: usize| format!("{name} {channels} {}\n", array(channels));
    let norm = |name: &str| format!("{name} 2 0.001 0 1 {}\n{name}/act\n", array(6));
    let ordinary =
        ["ordinary_block o\n".into(), norm("o/n1"), conv("o/w1", 3, 2, 2), norm("o/n2"), conv("o/w2", 3, 2, 2)]
            .concat();
    let pooled = [norm("g/n1"), conv("g/w1a", 3, 2, 2), conv("g/w1b", 3, 2, 2), norm("g/n1b"), matrix("g/w1r", 6, 2)];
    let pooling = ["gpool_block g\n".into(), pooled.concat(), norm("g/n2"), conv("g/w2", 3, 2, 2)].concat();
    let nested = [
        "nested_bottleneck_block b 2\n".into(),
        norm("b/n1"),
        conv("b/down", 1, 2, 2),
        ordinary.clone(),
        pooling.clone(),
        norm("b/n2"),
        conv("b/up", 1, 2, 2),
    ];
    let policy = [conv("p1", 1, 2, 2), conv("g1", 1, 2, 2), norm("g1/n"), matrix("g2", 6, 2), norm("p1/n")];
    let value = [conv("v1", 1, 2, 2), norm("v1/n"), matrix("v2", 6, 2), bias("v2b", 2), "v2/act\n".into()];
    [
        "go-b3c2 8 22 19\ntrunk 3 2 2 2 0 2\n".into(),
        conv("conv1", 5, 22, 2),
        matrix("globals", 19, 2),
        [ordinary, pooling, nested.concat()].concat(),
        norm("tip"),
        format!("policyhead\n{}", policy.concat()),
        conv("p2", 1, 2, 1) + &matrix("pass", 6, 1),
        format!("valuehead\n{}", value.concat()),
        matrix("v3", 2, 3) + &bias("v3b", 3) + &matrix("sv3", 2, 4) + &bias("sv3b", 4) + &conv("own", 1, 2, 1),
    ]
    .concat()
}

/// The kind of a network is determined before it is read, but a pipe can be read only once.
#[cfg(unix)]
#[test]
fn a_network_for_go_is_not_read_from_a_pipe() {
    let (network, weights) = (go_network(), "--weights=/dev/stdin");
    for args in [
        &["describenet", "/dev/stdin"][..],
        &["analysis", "--backend=host", weights],
        &["backendbench", "--backend=host", weights],
        &["gtp", "--backend=host", weights],
    ] {
        let output = run(args, &network);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = stderr(&output);
        assert!(said.contains("/dev/stdin") && said.contains("more than once"), "{args:?}: {said}");
        assert!(said.contains("regular file"), "{args:?}: {said}");
    }
}

/// Writes a Go network to a file in `folder`.
fn go_file(folder: &driver::Folder, content: &str) -> String {
    std::fs::write(folder.file("go.txt"), content).expect("a file");
    format!("--weights={}", folder.file("go.txt"))
}

#[test]
fn a_network_for_go_whose_outputs_are_no_numbers_is_refused() {
    let folder = driver::Folder::new("infinite-go");
    let weights = go_file(&folder, &go_network().replace("0.5 ", "1e30 "));
    let position = json!({ "moves": [], "rules": "tromp-taylor", "boardXSize": 9, "boardYSize": 9 });
    for command in ["analysis", "backendbench", "gtp", "eval"] {
        let output = run(&[command, "--backend=host", &weights], &format!("{position}\n"));
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("go.txt: an output of the network is no finite number"), "{command}: {said}");
    }
}

/// On the small board, a value that is scaled by the board's size becomes infinite.
#[test]
fn an_analysis_of_go_that_fails_is_answered_with_the_error() {
    let folder = driver::Folder::new("small-go");
    let [half, large] = ["0.5 ".repeat(4), "-2.8e38 ".repeat(4)];
    let network = go_network();
    let pooled = format!("v2 6 2 {}", "0.5 ".repeat(12));
    assert!(network.contains(&pooled));
    let weights = go_file(&folder, &network.replace(&pooled, &format!("v2 6 2 {half}{large}{half}")));
    let query = |id: &str, side: u32| {
        json!({
            "id": id, "moves": [], "rules": "tromp-taylor", "komi": 0.5, "boardXSize": side, "boardYSize": side,
            "maxVisits": 2
        })
    };
    let input = format!("{}\n{}\n", query("small", 2), query("large", 19));
    let output = run(&["analysis", "--backend=host", "--parallel=1", &weights], &input);
    let answers: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    let of = |id: &str| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{answers:?}"));
    let error = format!("{}: an output of the network is no finite number", folder.file("go.txt"));
    let expected = json!({ "error": error, "id": "small", "isDuringSearch": false, "turnNumber": 0 });
    assert_eq!(*of("small"), expected, "{}", stderr(&output));
    assert!(of("large")["rootInfo"]["visits"] == 2, "{answers:?}");
}

/// A weight that is scaled by the board's size becomes infinite for the small board, and stays finite for the large one.
#[test]
fn a_network_for_go_that_does_not_suit_a_board_is_named() {
    let folder = driver::Folder::new("unfit-go");
    let network = go_network();
    let pooled = format!("v2 6 2 {}", "0.5 ".repeat(12));
    let scaled = format!("v2 6 2 {}{}{}", "0.5 ".repeat(4), "-3e38 ".repeat(4), "0.5 ".repeat(4));
    let weights = go_file(&folder, &network.replace(&pooled, &scaled));
    for (board, status) in [("2", 2), ("19", 0)] {
        let output = run(&["backendbench", "--backend=host", "--batch=1", &format!("--board={board}"), &weights], "");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{board}: {said}");
        let named = format!("{}: value head.dense: dense weights: expected finite numbers", folder.file("go.txt"));
        assert_eq!(said.contains(&named), status != 0, "{board}: {said}");
    }
}

#[test]
fn a_network_for_go_is_described_but_not_played_with() {
    let path = std::env::temp_dir().join(format!("oncilla-go-{}.txt", std::process::id()));
    let described = |content: &str| {
        std::fs::write(&path, content).expect("a file");
        run(&["describenet", path.to_str().unwrap()], "")
    };
    let sound = go_network();
    let text = stdout(&described(&sound));
    for line in [
        "Game: Go",
        "Name: go-b3c2",
        "Format: KataGo, version 8",
        "Blocks: 3: 1 ordinary, 1 with global pooling, 1 nested; within those 1 ordinary, 1 with global pooling",
        "Trunk channels: 2",
        "Input planes: 22",
        "Global inputs: 19",
        "Policy head: 2 channels, 2 pooled, 1 of logits, a pass from the pooled ones",
        "Value head: 2 channels, 2 hidden: win, loss, no result",
        "Parameters: 1631",
    ] {
        assert!(text.lines().any(|l| l.trim_start() == line), "{line}\n{text}");
    }
    let refused = run(&["bench", "--backend=host", &format!("--weights={}", path.display())], "");
    assert_eq!(refused.status.code(), Some(2));
    let expected = "a network of KataGo, for Go: expected one of Lc0, for chess";
    assert!(stderr(&refused).contains(expected), "{}", stderr(&refused));
    for (damaged, expected) in [
        (sound.replacen(" 8 ", " 18 ", 1), "header: expected a version of the format from 8 to 17, got 18, at byte 8 "),
        (sound[..sound.len() / 2].to_string(), ": expected "),
    ] {
        let output = described(&damaged);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected) && stderr(&output).lines().count() == 1, "{}", stderr(&output));
    }
    let _ = std::fs::remove_file(path);
}

/// Bash's completions for the last of `words`, which are split as bash splits them.
#[cfg(unix)]
fn offered(script: &str, words: &[&str]) -> String {
    let line = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let ask =
        format!("{script}\nCOMP_WORDS=({line}); COMP_CWORD={}; _oncilla; echo \"${{COMPREPLY[*]}}\"", words.len() - 1);
    let output = std::process::Command::new("bash").args(["--norc", "-c", &ask]).output().expect("bash");
    assert_eq!(stderr(&output), "", "{words:?}");
    stdout(&output).trim_end().to_string()
}

#[test]
#[cfg(unix)]
fn bash_completes_commands_flags_and_values() {
    let script = stdout(&run(&["--generate", "bash"], ""));
    for (words, expected) in [
        (&["oncilla", "de"][..], "describenet devices"),
        (&["oncilla", "--thr"], "--threads"),
        (&["oncilla", "--no-two"], "--no-two-fold-draws"),
        (&["oncilla", "--backend", "=", "h"], "host"),
        (&["oncilla", "--fpu-strategy", "="], "reduction absolute"),
        (&["oncilla", "-b", "op"], "opencl"),
        (&["oncilla", "bench", "--js"], "--json"),
        // Another command has this flag.
        (&["oncilla", "devices", "--js"], ""),
        (&["oncilla", "--threads", "=", ""], ""),
        (&["oncilla", "--generate", "f"], "fish"),
    ] {
        assert_eq!(offered(&script, words), expected, "{words:?}");
    }
}

#[test]
fn texts_for_the_system() {
    let page = stdout(&run(&["--generate", "man"], ""));
    for part in [
        ".TH ONCILLA 1",
        ".SH EXIT STATUS",
        "\n.B backendbench\n",
        ".\n.RS\n.TP\n.B \\-\\-batch=VALUE\n",
        "\n.B \\-\\-no\\-two\\-fold\\-draws\nSwitches off: Take the first ",
        "\n.B \\-w, \\-\\-weights=VALUE\n",
        "\\-\\-movestogo",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(stdout(&run(&["--generate", "zsh"], "")).starts_with("#compdef oncilla\n"));
    assert!(stdout(&run(&["--generate", "fish"], "")).contains("complete -c oncilla -l cpuct -x -d '"));
    let expected = "expected one of man, bash, zsh, fish, options-table, go-parameters, got nothing";
    assert!(stderr(&run(&["--generate"], "")).contains(expected));
}

/// The output of `command` with a terminal on all of its streams, as far as `script` can make one.
fn on_a_terminal(command: &str) -> Option<String> {
    let command = format!("{} {command}", driver::program::words().join(" "));
    let mut script = std::process::Command::new("script");
    match script.args(["-qefc", &command, "/dev/null"]).stdin(std::process::Stdio::null()).output() {
        Ok(output) => Some(stdout(&output)),
        Err(error) => {
            oncilla_testing::lacks_tool(&format!("script: {error}"));
            None
        }
    }
}

#[test]
fn progress_is_for_terminals() {
    const WRITTEN_OVER: char = '\r';
    for args in [
        "bench --backend=constant --fen=startpos --nodes=300000 --json",
        "backendbench --backend=random --batch=1 --json",
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        let output = run(&words, "");
        assert!(
            !stderr(&output).replace("\r\n", "\n").contains(WRITTEN_OVER) && !stdout(&output).contains(WRITTEN_OVER),
            "{args}"
        );
        if let Some(said) = on_a_terminal(args).map(|said| said.replace("\r\n", "\n")) {
            assert!(said.contains(&format!("{WRITTEN_OVER}1/1: ")), "{args}: {said:?}");
            // The line is erased before the result is printed, by overwriting it with spaces.
            assert!(!said.contains('\x1b'), "{args}: {said:?}");
            let result = said.rsplit(WRITTEN_OVER).next().unwrap_or_default();
            assert!(result.starts_with(['{', '[']), "{args}: {said:?}");
        }
    }
}

/// Encodes a text as PowerShell 5 does when it writes to a file.
fn in_utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{}", text.replace('\n', "\r\n")).encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn what_powershell_has_written_is_read() {
    let folder = driver::Folder::new("commands-utf16");
    let file = |name: &str, text: &str| {
        std::fs::write(folder.0.join(name), in_utf16(text)).unwrap();
        folder.file(name)
    };
    let config = format!("--config={}", file("config", "backend=random\nmax-visits=2\n"));
    let output = driver::run_bytes(&[&config], &in_utf16("position startpos moves e2e4\ngo nodes 2\n"));
    assert!(stdout(&output).contains("bestmove "), "{}", stdout(&output));
    for (command, query) in [("eval", r#"{"moves":["e2e4"]}"#), ("analysis", r#"{"id":"a","moves":["e2e4"]}"#)] {
        let output = driver::run_bytes(&[command, &config], &in_utf16(&format!("{query}\n")));
        let answer: Value = serde_json::from_str(stdout(&output).trim()).expect("one line");
        assert_eq!(answer.get("error"), None, "{command}: {answer}");
    }
    let games = file("games.pgn", "[White \"Öğe\"]\n\n1. e4 e5 1-0\n");
    let output = run(&["report", &games, &config], "");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(folder.text("games.report.pgn").contains("[White \"Öğe\"]"));
    let history = file("history", "{\"base\":180000,\"used\":4000,\"nodes\":60000}\n");
    let output = run(&["time", "--history", &history], "");
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_network_lies_beside_the_program() {
    let folder = driver::Folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside"));
    let _ = std::fs::remove_dir_all(&folder.0); // left by an interrupted run
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let mut words = driver::program::words();
    let program = PathBuf::from(words.pop().expect("the binary"));
    let beside = folder.0.join(program.file_name().expect("a name"));
    // A hard link, because a program whose copy is still being written can't be started.
    std::fs::hard_link(&program, &beside).expect("another name");
    words.push(beside.display().to_string());
    std::fs::copy(oncilla_testing::fixtures().join("nets/tiny.pb.gz"), folder.0.join("a net.pb.gz")).expect("a copy");
    for name in ["--weights=a net.pb.gz", "--weights=\"a net.pb.gz\""] {
        let output = std::process::Command::new(&words[0])
            .args(&words[1..])
            .args(["describenet", name])
            .current_dir(std::env::temp_dir())
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{name}: {}", stderr(&output));
    }
    assert_eq!(run(&["describenet", "a net.pb.gz"], "").status.code(), Some(2), "it is beside another program");
}
