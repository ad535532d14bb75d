//! The networks in the program as a microcontroller runs them, against the host in eight bits, on positions of games.

mod common;

use common::{fixtures, json_lines, position};
use oncilla::engine::{Inputs, canaries};
use oncilla_chess::planes::{HistoryFill, Planes};
use oncilla_chess::{MoveList, policy};
use oncilla_micro::{Network as Micro, Room};
use oncilla_nets::{Network, micro};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::host::Host;
use oncilla_opencl::int8;
use std::path::PathBuf;

/// What the firmware's flash has for its network.
const MOST_BYTES: usize = 128 << 10;

/// Input planes that the firmware's network looks at: those of the present position, and the pieces of the one before.
const PLANES_READ: usize = 31;

/// Bounds on the mean divergence of the policy, in nats, and on the mean |ΔW − L|, over all rows. A number that rounds to another whole
/// one here than there is off by a 127th of the largest beside it; nothing else differs by more than single precision does.
const BOUND: f64 = 1e-3;

fn file(name: &str) -> PathBuf {
    fixtures().join("nets").join(name)
}

/// A network whose layers have been chosen for a pack, and what it sees.
fn chosen(name: &str) -> (Network, Inputs) {
    let mut network = Network::read(file(&format!("{name}.pb.gz"))).expect("a network");
    let inputs = Inputs::of(&network, HistoryFill::FenOnly).expect("a format");
    let positions = canaries::planes(&canaries::POSITIONS, inputs).expect("planes");
    println!("{name}: {}", micro::choose(&mut network.graph, &positions).expect("a choice"));
    (network, inputs)
}

/// Compares pack and host on the rows that belong to the network.
fn compare<const FILTERS: usize>(name: &str) {
    let (network, inputs) = chosen(name);
    let pack = micro::pack(&network).expect("a pack");
    let micro = Micro::new(&pack).expect("a pack");
    let mut room = Box::new(Room::<FILTERS>::new());
    let mut host = Host::new(network.graph, 1).expect("a host");

    let rows = json_lines(&file(&format!("{name}.rows.jsonl")));
    let (mut divergence, mut difference, mut same) = (0.0, 0.0, 0);
    let (mut planes, mut moves, mut outputs) = (Planes::default(), MoveList::new(), Outputs::default());
    for row in &rows {
        let history = position(row).expect("a position that can be reached");
        let transform = inputs.encode(&history, &mut planes);
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
        let lost = int8::divergence(&expected, &got);
        let of_value = f64::from((found.wdl[0] - found.wdl[2]) - (outputs.wdl[0] - outputs.wdl[2])).abs();
        (divergence, difference) = (divergence + lost, difference + of_value);
        same += usize::from(of_value < 1e-5 && expected.iter().zip(&got).all(|(a, b)| (a - b).abs() < 1e-4));
    }
    let count = rows.len() as f64;
    let (divergence, difference) = (divergence / count, difference / count);
    println!(
        "{name}: {} rows, {same} the same; mean divergence {divergence:.7}, mean difference of W - L {difference:.7}",
        rows.len()
    );
    assert!(rows.len() >= 40 && divergence <= BOUND && difference <= BOUND);
    assert!(2 * same > rows.len(), "{same} of {}", rows.len());
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
