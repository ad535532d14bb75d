//! Compares our kernels, in both variants, with Lc0's recorded outputs, on real and synthetic networks.
//!
//! The planes come from the record, too, so that only the file reader and the kernels are tested.

mod common;

use common::device_is_there;
use flate2::read::GzDecoder;
use oncilla_nets::{HeadChoice, Network};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::Role;
use oncilla_opencl::kernels::{Tuning, Variant};
use oncilla_opencl::opencl::{OpenCl, Options};
use oncilla_testing::shared;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Bound on |Δq|, |Δd| and |Δpolicy|; moves left, in plies, may differ by a hundred times as much.
const TOLERANCE: f64 = 1e-4;
const BATCH: usize = 9;

fn lines(reader: impl BufRead) -> impl Iterator<Item = Json> {
    reader.lines().map(|line| serde_json::from_str(&line.expect("a readable file")).expect("JSON lines"))
}

/// A position with its history, and the input format in which it is encoded.
type Key = (String, u64);

fn key(row: &Json, format: u64) -> Key {
    (format!("{} {} {}", row["fen"], row["moves"], row["chess960"]), format)
}

/// The recorded planes of every position: `[112][64]`.
fn planes(shared: &Path) -> HashMap<Key, Vec<f32>> {
    let file = File::open(shared.join("oracle/encoder_planes.jsonl.gz")).expect("the record of planes");
    lines(BufReader::new(GzDecoder::new(file)))
        .filter(|row| row["history_fill"] == "fen_only")
        .map(|row| (key(&row, row["input_format"].as_u64().expect("a format")), expand(&row["planes"])))
        .collect()
}

fn expand(planes: &Json) -> Vec<f32> {
    let mut input = vec![0.0; 112 * 64];
    for (plane, mask_and_value) in planes.as_object().expect("planes by number") {
        let plane: usize = plane.parse().expect("a number");
        let mask = mask_and_value[0].as_str().expect("a mask");
        let mask = u64::from_str_radix(mask, 16).expect("hexadecimal");
        let value = mask_and_value[1].as_f64().expect("a value") as f32;
        for square in (0..64).filter(|square| mask >> square & 1 == 1) {
            input[plane * 64 + square] = value;
        }
    }
    input
}

/// Probabilities of the row's moves: a softmax over their logits.
fn policy(row: &Json, logits: &[f32]) -> Vec<(String, f64)> {
    let index = row["nnidx"].as_object().expect("an index for each move");
    let of = |at: &Json| f64::from(logits[at.as_u64().expect("an index") as usize]).exp();
    let sum: f64 = index.values().map(of).sum();
    index.iter().map(|(m, at)| (m.clone(), of(at) / sum)).collect()
}

/// Checks position `n` of a batch against its row.
fn check(what: &str, row: &Json, n: usize, outputs: &Outputs, policy_len: usize) {
    let near = |name: &str, got: f64, expected: &Json, tolerance: f64| {
        let expected = expected.as_f64().expect("a number");
        assert!(
            (got - expected).abs() <= tolerance,
            "{what}, row {}: {name}: expected {expected}, got {got}",
            row["id"]
        );
    };
    match outputs.wdl.get(3 * n..3 * n + 3) {
        Some(wdl) => {
            near("q", f64::from(wdl[0] - wdl[2]), &row["q"], TOLERANCE);
            near("d", f64::from(wdl[1]), &row["d"], TOLERANCE);
        }
        None => near("q", f64::from(outputs.value[n]), &row["q"], TOLERANCE),
    }
    if let Some(&plies) = outputs.moves_left.get(n) {
        near("m", f64::from(plies), &row["m"], 100.0 * TOLERANCE);
    }
    for (m, p) in policy(row, &outputs.policy[n * policy_len..][..policy_len]) {
        near(&m, p, &row["policy"][&m], TOLERANCE);
    }
}

fn check_network(path: &Path, heads: &HeadChoice, rows: &[Json], planes: &HashMap<Key, Vec<f32>>) {
    let network = Network::read_heads(path, heads).expect("the network can be read");
    let format = u64::from(network.input_format.number());
    let policy_len = network.graph.output_len(Role::Policy).expect("a policy");
    for variant in [Variant::Cpu, Variant::Gpu] {
        let options = Options { max_batch: BATCH, tuning: Some(Tuning::start(variant, 8)), ..Options::default() };
        let mut backend = OpenCl::new(network.graph.clone(), &options).expect("the device runs the network");
        // On the cores of a host the kernels for a GPU are slow: every seventh row is enough to see that they are
        // right.
        let rows: Vec<&Json> = rows.iter().step_by(if variant == Variant::Gpu { 7 } else { 1 }).collect();
        for rows in rows.chunks(BATCH) {
            let input: Vec<f32> = rows.iter().flat_map(|row| planes[&key(row, format)].iter().copied()).collect();
            let mut outputs = Outputs::default();
            backend.evaluate(&input, &mut outputs).expect("the device goes on");
            for (n, row) in rows.iter().enumerate() {
                check(&format!("{}, {variant:?}", path.display()), row, n, &outputs, policy_len);
            }
        }
    }
}

/// The rows of a record, by network, policy head and value head.
fn by_network(path: &Path) -> HashMap<[String; 3], Vec<Json>> {
    let mut rows: HashMap<_, Vec<Json>> = HashMap::new();
    for row in lines(BufReader::new(File::open(path).expect("the record of outputs"))) {
        let named = |key: &str, default| row.get(key).and_then(Json::as_str).unwrap_or(default).to_string();
        let run = [named("net", ""), named("policy_head", "vanilla"), named("value_head", "winner")];
        rows.entry(run).or_default().push(row);
    }
    rows
}

fn check_networks(record: &str, expected: usize) {
    let Some(shared) = shared().filter(|_| device_is_there()) else { return };
    let (planes, rows) = (planes(&shared), by_network(&shared.join(record)));
    assert_eq!(rows.len(), expected);
    for ([net, policy, value], rows) in &rows {
        let heads = HeadChoice { policy: policy.clone(), value: value.clone() };
        check_network(&shared.join(format!("nets/{net}.pb.gz")), &heads, rows, &planes);
    }
}

#[test]
fn maia_networks_give_what_lc0_gives() {
    check_networks("oracle/nn_maia_shared.jsonl", 3);
}

/// Every architecture that Lc0 reads, with every choice of heads.
#[test]
fn synthetic_networks_give_what_lc0_gives() {
    check_networks("oracle/nn_synthetic.jsonl", 30);
}
