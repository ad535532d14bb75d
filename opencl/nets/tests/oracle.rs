//! Compares networks, run on the host as they are read, with what Lc0 answered.

mod common;

use common::{Planes, rows};
use oncilla_nets::{Fault, HeadChoice, Network};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::Role;
use oncilla_opencl::host::{Host, plain};
use serde_json::Value;
use std::path::Path;

/// The largest difference allowed in q, d and a policy's probability.
const TOLERANCE: f64 = 1e-4;

/// The largest difference allowed in moves left, in plies: the recorded numbers go beyond 100, and this is the rounding
/// of a float of that size.
const TOLERANCE_PLIES: f64 = 1e-3;

/// How many pairs of a network and heads the repository's fixtures have.
const FIXTURES: usize = 11;

/// The largest differences that were seen.
#[derive(Debug, Default)]
struct Worst {
    q: f64,
    d: f64,
    m: f64,
    policy: f64,
    logit: f64,
}

impl Worst {
    fn add(&mut self, row: &Value, at: usize, outputs: &Outputs) {
        let (q, d) = match (outputs.wdl.get(3 * at..3 * at + 3), outputs.value.get(at)) {
            (Some(wdl), _) => (f64::from(wdl[0]) - f64::from(wdl[2]), f64::from(wdl[1])),
            (None, Some(&value)) => (f64::from(value), 0.0),
            _ => panic!("the network has no value head"),
        };
        let m = outputs.moves_left.get(at).map_or(0.0, |&m| f64::from(m));
        // `max` below would pass over a NaN.
        assert!([q, d, m].iter().all(|number| number.is_finite()), "{row}: q {q}, d {d}, m {m}");
        let number = |name: &str| row[name].as_f64().expect("a number");
        self.q = self.q.max((q - number("q")).abs());
        self.d = self.d.max((d - number("d")).abs());
        self.m = self.m.max((m - number("m")).abs());
        let logits = &outputs.policy[at * 1858..][..1858];
        let index = row["nnidx"].as_object().expect("indices by move");
        let logit = |at: &Value| f64::from(logits[at.as_u64().expect("an index") as usize]);
        let largest = index.values().map(logit).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = index.values().map(|i| (logit(i) - largest).exp()).sum();
        assert!(sum.is_finite() && index.values().all(|i| logit(i).is_finite()), "{row}");
        for (name, i) in index {
            let p = (logit(i) - largest).exp() / sum;
            self.policy = self.policy.max((p - row["policy"][name].as_f64().expect("a probability")).abs());
            self.logit = self.logit.max((logit(i) - row["logits"][name].as_f64().expect("a logit")).abs());
        }
    }

    fn check(&self, what: &str, count: usize) {
        println!("{what}: {count} rows, {self:?}");
        let all = [self.q, self.d, self.policy].iter().all(|&v| v <= TOLERANCE);
        assert!(all && self.m <= TOLERANCE_PLIES, "{what}: {self:?}");
    }
}

/// A network's name and its heads.
type Run = (String, HeadChoice);

/// The rows of a record, by network and heads.
fn by_network(path: &Path) -> Vec<(Run, Vec<Value>)> {
    let mut networks = Vec::<(Run, Vec<Value>)>::new();
    for row in rows(path) {
        let text = |key: &str| row.get(key).map(|v| v.as_str().expect("a name").to_string());
        let default = HeadChoice::default();
        let policy = text("policy_head").unwrap_or(default.policy);
        let value = text("value_head").unwrap_or(default.value);
        let run = (text("net").expect("a network"), HeadChoice { policy, value });
        match networks.iter_mut().find(|(other, _)| *other == run) {
            Some((_, rows)) => rows.push(row),
            None => networks.push((run, vec![row])),
        }
    }
    networks
}

/// Runs all rows of one network on the host, in batches of uneven sizes, and the first row on the reference as well.
fn check(file: &Path, heads: &HeadChoice, rows: &[Value], planes: &Planes) {
    let network = Network::read_heads(file, heads).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    assert_eq!(network.graph.output_len(Role::Wdl).is_some(), network.has_wdl());
    assert_eq!(network.graph.output_len(Role::MovesLeft).is_some(), network.has_moves_left());
    let format = network.input_format.number();
    let mut host = Host::new(network.graph.clone(), 2).expect("a host");
    let mut worst = Worst::default();
    let mut rest = rows;
    for size in (1..=16).cycle() {
        let (batch, after) = rest.split_at(size.min(rest.len()));
        let input: Vec<f32> = batch.iter().flat_map(|row| planes.of(row, format)).collect();
        let mut outputs = Outputs::default();
        host.evaluate(&input, &mut outputs).expect("an evaluation");
        batch.iter().enumerate().for_each(|(at, row)| worst.add(row, at, &outputs));
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = format!("{name}, {}, {}", heads.policy, heads.value);
    worst.check(&name, rows.len());
    let mut worst = Worst::default();
    worst.add(&rows[0], 0, &plain::evaluate(&network.graph, &planes.of(&rows[0], format)).expect("an evaluation"));
    worst.check(&format!("{name}, plain"), 1);
}

#[test]
fn fixtures_match_lc0() {
    let planes = Planes::read(&common::fixtures().join("encoder_planes.jsonl"));
    let networks = by_network(&common::fixtures().join("nn_synthetic.jsonl"));
    assert_eq!(networks.len(), FIXTURES);
    for ((name, heads), rows) in networks {
        check(&common::fixtures().join(format!("{name}.pb.gz")), &heads, &rows, &planes);
    }
}

#[test]
fn maia_matches_lc0() {
    let Some(shared) = oncilla_testing::shared() else { return };
    let planes = Planes::read(&shared.join("oracle/encoder_planes.jsonl.gz"));
    let networks = by_network(&shared.join("oracle/nn_maia_shared.jsonl"));
    assert_eq!(networks.iter().map(|(_, rows)| rows.len()).sum::<usize>(), 735);
    for ((name, heads), rows) in networks {
        check(&shared.join(format!("nets/{name}.pb.gz")), &heads, &rows, &planes);
    }
}

/// Every architecture that Lc0 reads, with every choice of heads.
#[test]
fn synthetic_networks_match_lc0() {
    let Some(shared) = oncilla_testing::shared() else { return };
    let planes = Planes::read(&shared.join("oracle/encoder_planes.jsonl.gz"));
    let networks = by_network(&shared.join("oracle/nn_synthetic.jsonl"));
    // There are 21 networks; three of them have been recorded with three more pairs of heads each.
    assert_eq!(networks.len(), 30);
    for ((name, heads), rows) in networks {
        check(&shared.join(format!("nets/{name}.pb.gz")), &heads, &rows, &planes);
    }
}

#[test]
fn heads_that_are_not_there_are_named() {
    let refused = |file: &str, policy: &str, value: &str| {
        let heads = HeadChoice { policy: policy.to_string(), value: value.to_string() };
        let error = Network::read_heads(common::fixtures().join(format!("{file}.pb.gz")), &heads);
        error.expect_err("no such head").to_string()
    };
    let single = "synthetic-h-enc-float16";
    assert_eq!(
        refused(single, "soft", "winner"),
        "weights.policy_heads: the network has no policy head \"soft\", but vanilla"
    );
    assert_eq!(
        refused("synthetic-f-bt4-pedense-multihead-mish-in5", "soft", "best"),
        "weights.value_heads: the network has no value head \"best\", but winner, q, st"
    );
}

#[test]
fn a_katago_network_is_named() {
    let Some(shared) = oncilla_testing::shared() else { return };
    let error =
        Network::read(shared.join("nets/g170-b6c96-s175395328-d26788732.bin.gz")).expect_err("a network for Go");
    let expected = "a network of KataGo, for Go: expected one of Lc0, for chess";
    assert_eq!((error.fault, error.to_string().as_str()), (Fault::Go, expected));
}
