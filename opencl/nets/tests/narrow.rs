//! Networks from which planes that they do not look at are removed, and filters that are always zero.

mod common;

use common::{Planes, fixtures, rows};
use oncilla_nets::Network;
use oncilla_opencl::graph::ValueId;
use oncilla_opencl::host::plain;
use std::path::PathBuf;

fn read(file: PathBuf) -> Network {
    Network::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// The built-in networks look at few planes.
#[test]
fn a_network_says_the_same_without_the_planes_that_it_does_not_look_at() {
    let planes = Planes::read(&fixtures().join("encoder_planes.jsonl"));
    let rows = rows(&fixtures().join("nn_synthetic.jsonl"));
    // The pieces and a repetition, castling, the fifty moves, ones; in `before` also the pieces of the position before.
    let present: Vec<usize> = (0..13).chain(104..108).chain([109, 111]).collect();
    let before: Vec<usize> = (0..25).chain(104..108).chain([109, 111]).collect();
    for (name, seen) in [("default", present), ("tiny", before)] {
        let wide = read(fixtures().join(format!("../{name}.pb.gz")));
        let mut narrow = wide.clone();
        narrow.narrow();
        assert_eq!(narrow.planes, seen, "{name}");
        narrow.narrow();
        assert_eq!(narrow.planes, seen, "{name}: nothing is left to leave out");
        for row in rows.iter().step_by(rows.len() / 4) {
            let input = planes.of(row, wide.input_format.number());
            let kept: Vec<f32> = seen.iter().flat_map(|plane| &input[plane * 64..][..64]).copied().collect();
            let [expected, got] =
                [(&wide, &input), (&narrow, &kept)].map(|(net, input)| plain::evaluate(&net.graph, input).unwrap());
            assert_eq!((expected.policy, expected.wdl), (got.policy, got.wdl), "{name}");
            assert_eq!(expected.moves_left, got.moves_left, "{name}");
        }
    }
}

#[test]
fn a_network_that_looks_at_all_planes_keeps_them() {
    for name in ["c-se-conv-wdl-mlh-in2", "e4-attnbody-relu-classicalvalue-in1", "f-bt4-pedense-multihead-mish-in5"] {
        let mut network = read(fixtures().join(format!("synthetic-{name}.pb.gz")));
        network.narrow();
        assert_eq!(network.planes, (0..112).collect::<Vec<_>>(), "{name}");
        assert_eq!(network.graph.input().channels, 112, "{name}");
    }
}

/// A fifth of the filters inside the default network's blocks are always zero.
#[test]
fn a_network_says_the_same_without_filters_that_never_open() {
    let planes = Planes::read(&fixtures().join("encoder_planes.jsonl"));
    let rows = rows(&fixtures().join("nn_synthetic.jsonl"));
    for (name, filters) in [("default", [22, 39, 42, 40, 59].as_slice()), ("tiny", &[24, 24, 24, 24, 23])] {
        let whole = read(fixtures().join(format!("../{name}.pb.gz")));
        let mut pruned = whole.clone();
        pruned.prune();
        // Behind the input's convolution, each block has one convolution inside and one at its end.
        for (block, &filters) in filters.iter().enumerate() {
            assert_eq!(pruned.graph.shape(ValueId(2 + 2 * block)).channels, filters, "{name}, block {block}");
        }
        for row in rows.iter().step_by(rows.len() / 4) {
            let input = planes.of(row, whole.input_format.number());
            let kept: Vec<f32> = pruned.planes.iter().flat_map(|plane| &input[plane * 64..][..64]).copied().collect();
            let [expected, got] =
                [(&whole, &input), (&pruned, &kept)].map(|(net, input)| plain::evaluate(&net.graph, input).unwrap());
            assert_eq!((expected.policy, expected.wdl), (got.policy, got.wdl), "{name}");
            assert_eq!(expected.moves_left, got.moves_left, "{name}");
        }
    }
}
