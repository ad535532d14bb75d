//! Compares the built-in networks as a microcontroller runs them with the host in int8, on positions of games.

mod common;

use common::{json_lines, position};
use oncilla::evaluator::{Inputs, canaries};
use oncilla_chess::planes::{HistoryFill, Planes};
use oncilla_chess::{History, MoveList, policy};
use oncilla_micro::{Network as Micro, Room};
use oncilla_nets::{Network, micro};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::Graph;
use oncilla_opencl::host::Host;
use oncilla_opencl::int8;
use oncilla_testing::fixtures;
use std::path::PathBuf;

/// The size of the firmware's flash for the network, in bytes.
const MOST_BYTES: usize = 128 << 10;

/// The number of input planes that the firmware's network has: those of the current position, and the pieces of the
/// position before.
const PLANES_READ: usize = 31;

/// The bound on the mean divergence of the policy, in nats, and on the mean |Δ(W − L)|, over all rows. If a number is
/// rounded to a different integer in one of the two, it is off by a 127th of the largest number beside it; all other
/// differences are those of single-precision rounding.
const BOUND: f64 = 1e-3;

fn file(name: &str) -> PathBuf {
    fixtures().join("nets").join(name)
}

/// A network with the layers chosen for a pack, and its inputs.
fn chosen(name: &str) -> (Network, Inputs) {
    let mut network = Network::read(file(&format!("{name}.pb.gz"))).expect("a network");
    let inputs = Inputs::of(&network, HistoryFill::FenOnly).expect("a format");
    let positions = canaries::planes(&canaries::POSITIONS, inputs).expect("planes");
    println!("{name}: {}", micro::choose(&mut network.graph, &positions).expect("a choice"));
    (network, inputs)
}

/// The differences between a pack's and the host's output for a position: the policy's divergence, in nats, and |Δ(W −
/// L)|.
struct Apart {
    policy: f64,
    value: f64,
    /// Whether they differ only by single-precision rounding.
    same: bool,
    /// Whether both give the same move the largest probability.
    same_move: bool,
}

/// Runs both on the positions and compares their outputs.
fn apart<const FILTERS: usize>(pack: &[u8], host: Graph, inputs: Inputs, positions: &[History]) -> Vec<Apart> {
    let micro = Micro::new(pack).expect("a pack");
    let mut room = Box::new(Room::<FILTERS>::new());
    let mut host = Host::new(host, 1).expect("a host");
    let (mut planes, mut moves, mut outputs) = (Planes::default(), MoveList::new(), Outputs::default());
    let compared = positions.iter().map(|history| {
        let transform = inputs.encode(history, &mut planes);
        let mut input = vec![0.0; inputs.numbers()];
        inputs.write(&planes, &mut input);
        host.evaluate(&input, &mut outputs).expect("an evaluation");
        let seen = planes.as_array();
        let found = micro.evaluate(|plane| (seen[plane].mask, seen[plane].value), &mut room).expect("a room that fits");
        history.legal_moves(&mut moves);
        let logits = moves.iter().map(|&mv| {
            let index = policy::index(mv, history.side_to_move(), transform);
            (outputs.policy[usize::from(index)], found.logit(index))
        });
        let (expected, got): (Vec<f32>, Vec<f32>) = logits.unzip();
        let value = f64::from((found.wdl[0] - found.wdl[2]) - (outputs.wdl[0] - outputs.wdl[2])).abs();
        let largest = |logits: &[f32]| (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b]));
        Apart {
            policy: int8::divergence(&expected, &got),
            value,
            same: value < 1e-5 && expected.iter().zip(&got).all(|(a, b)| (a - b).abs() < 1e-4),
            same_move: largest(&expected) == largest(&got),
        }
    });
    compared.collect()
}

fn mean(of: &[Apart], what: fn(&Apart) -> f64) -> f64 {
    of.iter().map(what).sum::<f64>() / of.len() as f64
}

/// Compares pack and host on the network's own rows.
fn compare<const FILTERS: usize>(name: &str) {
    let (network, inputs) = chosen(name);
    let pack = micro::pack(&network).expect("a pack");
    let rows = json_lines(&file(&format!("{name}.rows.jsonl")));
    let positions: Vec<History> =
        rows.iter().map(|row| position(row).expect("a position that can be reached")).collect();
    let apart = apart::<FILTERS>(&pack, network.graph, inputs, &positions);
    let (policy, value) = (mean(&apart, |row| row.policy), mean(&apart, |row| row.value));
    let (count, same) = (apart.len(), apart.iter().filter(|row| row.same).count());
    println!("{name}: {count} rows, {same} the same; mean divergence {policy:.7}, mean difference of W - L {value:.7}");
    assert!(count >= 40 && policy <= BOUND && value <= BOUND);
    assert!(2 * same > count, "{same} of {count}");
}

#[test]
fn the_networks_in_packs_are_the_hosts() {
    compare::<24>("tiny");
    compare::<64>("default");
}

#[test]
fn the_firmwares_network_fits() {
    let pack = micro::pack(&chosen("tiny").0).expect("a pack");
    println!("{} bytes", pack.len());
    assert!(pack.len() <= MOST_BYTES, "{} bytes", pack.len());
    assert_eq!(Micro::new(&pack).expect("a pack").planes().len(), PLANES_READ);
}

/// The layers are chosen by the canary positions. On other positions the value may be off by more than the bound; this
/// checks by how much.
#[test]
fn what_eight_bits_cost_off_the_canaries() {
    let single = Network::read(file("tiny.pb.gz")).expect("a network").graph;
    let (network, inputs) = chosen("tiny");
    let pack = micro::pack(&network).expect("a pack");
    for name in ["recycling", "conversions", "mates"] {
        let text = std::fs::read_to_string(fixtures().join(format!("positions/{name}.epd"))).expect("positions");
        // A line without operations has two counters behind the four fields of the position.
        let fen = |line: &str| line.split(" bm ").next().and_then(|line| line.split(" dm ").next()).map(str::to_owned);
        let fens = text.lines().filter_map(fen).map(|fen| if fen.split(' ').count() < 6 { fen + " 0 1" } else { fen });
        let positions: Vec<History> = fens.map(|fen| History::from_fen(&fen).expect("a position")).collect();
        let mut apart = apart::<24>(&pack, single.clone(), inputs, &positions);
        let (policy, value) = (mean(&apart, |row| row.policy), mean(&apart, |row| row.value));
        let same_move = apart.iter().filter(|row| row.same_move).count();
        apart.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (count, at) = (apart.len(), |share: usize| apart[(apart.len() - 1) * share / 100].value);
        println!(
            "{name}: mean divergence {policy:.4}; difference of W - L: mean {value:.4}, 95% {:.3}, most {:.3}",
            at(95),
            at(100)
        );
        println!("{name}: {same_move} of {count} think most of the same move");
        assert!(policy <= 0.01 && value <= 0.02 && 10 * same_move >= 9 * count);
    }
}
