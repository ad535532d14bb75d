//! Networks as they are read, run on the host, against what Lc0 answered.

mod common;

use common::{Planes, rows};
use oncilla_nets::Network;
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::Role;
use oncilla_opencl::host::{Host, plain};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Largest difference allowed in q, d and a policy's probability.
const TOLERANCE: f64 = 1e-4;

/// In plies: the recorded numbers go beyond 100, of which this is a float's rounding.
const TOLERANCE_PLIES: f64 = 1e-3;

/// Largest differences that were seen.
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
        let number = |name: &str| row[name].as_f64().expect("a number");
        self.q = self.q.max((q - number("q")).abs());
        self.d = self.d.max((d - number("d")).abs());
        self.m = self.m.max((m - number("m")).abs());
        let logits = &outputs.policy[at * 1858..][..1858];
        let index = row["nnidx"].as_object().expect("indices by move");
        let logit = |at: &Value| f64::from(logits[at.as_u64().expect("an index") as usize]);
        let largest = index.values().map(logit).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = index.values().map(|i| (logit(i) - largest).exp()).sum();
        assert!(sum.is_finite());
        for (name, i) in index {
            let p = (logit(i) - largest).exp() / sum;
            self.policy = self.policy.max((p - row["policy"][name].as_f64().expect("a probability")).abs());
            self.logit = self.logit.max((logit(i) - row["logits"][name].as_f64().expect("a logit")).abs());
        }
    }

    fn check(&self, what: &str, count: usize) {
        println!("{what}: {count} rows, {self:?}");
        // A NaN is not within any tolerance.
        let within = |v: f64, tolerance| v <= tolerance;
        let all = [self.q, self.d, self.policy].iter().all(|&v| within(v, TOLERANCE));
        assert!(all && within(self.m, TOLERANCE_PLIES), "{what}: {self:?}");
    }
}

/// Rows by network, of networks that can be read.
fn by_network(path: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut networks = BTreeMap::<String, Vec<Value>>::new();
    for row in rows(path) {
        networks.entry(row["net"].as_str().expect("a name").to_string()).or_default().push(row);
    }
    networks
}

/// Runs all rows of one network on the host, in batches of uneven sizes, and the first one on the reference as well.
fn check(file: &Path, rows: &[Value], planes: &Planes) {
    let network = Network::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
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
    worst.check(&name, rows.len());
    let mut worst = Worst::default();
    worst.add(&rows[0], 0, &plain::evaluate(&network.graph, &planes.of(&rows[0], format)).expect("an evaluation"));
    worst.check(&format!("{name}, plain"), 1);
}

#[test]
fn fixtures_match_lc0() {
    let planes = Planes::read(&common::fixtures().join("encoder_planes.jsonl"));
    let networks = by_network(&common::fixtures().join("nn_synthetic.jsonl"));
    assert_eq!(networks.len(), 4);
    for (name, rows) in networks {
        check(&common::fixtures().join(format!("{name}.pb.gz")), &rows, &planes);
    }
}

#[test]
fn maia_matches_lc0() {
    let Some(shared) = common::shared() else { return };
    let planes = Planes::read(&shared.join("oracle/encoder_planes.jsonl.gz"));
    let networks = by_network(&shared.join("oracle/nn_maia_shared.jsonl"));
    assert_eq!(networks.values().map(Vec::len).sum::<usize>(), 735);
    for (name, rows) in networks {
        check(&shared.join(format!("nets/{name}.pb.gz")), &rows, &planes);
    }
}

/// What is not read yet, and the words that say so.
const REFUSED: [(&str, &str); 10] = [
    ("synthetic-d-", "policy head: attention is not supported yet"),
    ("synthetic-d2-", "policy head: attention is not supported yet"),
    ("synthetic-e-", "body: attention is not supported yet"),
    ("synthetic-e2-", "body: attention is not supported yet"),
    ("synthetic-e3-", "body: attention is not supported yet"),
    ("synthetic-e4-", "body: attention is not supported yet"),
    ("synthetic-f-", "body: attention is not supported yet"),
    ("synthetic-f2-", "body: attention is not supported yet"),
    ("synthetic-f3-", "body: attention is not supported yet"),
    ("synthetic-f4-", "body: attention is not supported yet"),
];

#[test]
fn every_synthetic_network_matches_or_is_refused() {
    let Some(shared) = common::shared() else { return };
    let planes = Planes::read(&shared.join("oracle/encoder_planes.jsonl.gz"));
    let networks = by_network(&shared.join("oracle/nn_synthetic.jsonl"));
    assert_eq!(networks.len(), 21);
    let mut refused = 0;
    for (name, rows) in networks {
        let file = shared.join(format!("nets/{name}.pb.gz"));
        match REFUSED.iter().find(|(prefix, _)| name.starts_with(prefix)) {
            None => check(&file, &rows, &planes),
            Some((_, words)) => {
                let error = Network::read(&file).expect_err("an architecture that is not supported");
                assert_eq!(error.fault, oncilla_nets::Fault::Unsupported);
                assert!(error.to_string().contains(words), "{name}: {error}");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, REFUSED.len());
}

#[test]
fn a_katago_network_is_named() {
    let Some(shared) = common::shared() else { return };
    let error =
        Network::read(shared.join("nets/g170-b6c96-s175395328-d26788732.bin.gz")).expect_err("a network for Go");
    assert_eq!(error.to_string(), "a network of KataGo: not supported yet");
}
