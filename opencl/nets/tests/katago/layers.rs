//! Models with parts that KataGo's recorded networks lack, transformers and metadata: compares what their graphs say
//! with what their layers say one by one.

use crate::common::device_is_there;
use crate::forward::{Board, Raw};
use crate::tiny::{human, tiny};
use crate::writer::{Random, random_model};
use oncilla_nets::katago::{Block, GLOBALS, METADATA, Model, PLANES, Rotation, TrunkNorm};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::graph::Graph;
use oncilla_opencl::host::{Host, plain};
use oncilla_opencl::kernels::{Tuning, Variant};
use oncilla_opencl::opencl::{OpenCl, Options};

const BOARDS: [(usize, usize); 4] = [(19, 19), (5, 7), (3, 2), (1, 1)];

/// Planes of zeros and ones, and globals, followed by metadata if the model encodes it.
fn position(random: &mut Random, board: Board, model: &Model) -> (Vec<Vec<f32>>, Vec<f32>) {
    let points = board.width * board.height;
    let planes = (0..PLANES).map(|_| (0..points).map(|_| random.below(2) as f32).collect()).collect();
    let numbers = GLOBALS + if model.encodes_metadata() { METADATA } else { 0 };
    (planes, (0..numbers).map(|_| random.below(9) as f32 / 8.0 - 0.5).collect())
}

/// All outputs in one list, with only the first of the policies: an evaluation layer by layer has no more.
fn numbers_of(board: Board, outputs: Outputs) -> Vec<f32> {
    let policy = [&outputs.policy[..board.width * board.height], &outputs.pass[..1]].concat();
    [policy, outputs.results, outputs.scores, outputs.ownership].concat()
}

/// The largest difference between what `run` makes of the graph and a position, and what the layers make of it, as a
/// share of the largest number if that is above one.
fn far(model: &Model, board: Board, random: &mut Random, run: impl Fn(Graph, &[f32]) -> Outputs) -> f32 {
    let (planes, globals) = position(random, board, model);
    let Raw { policy, value, scores, ownership } = board.evaluate(model, &planes, &globals);
    let expected = [policy, value, scores, ownership].concat();
    let graph = model.graph(board.height, board.width).expect("a graph");
    let got = numbers_of(board, run(graph, &[planes.concat(), globals].concat()));
    assert_eq!(got.len(), expected.len());
    let most = expected.iter().fold(1.0_f32, |most, x| most.max(x.abs()));
    let differences = got.iter().zip(&expected).map(|(a, b)| (a - b).abs() / most);
    // A NaN stays one.
    differences.fold(0.0, |worst, far| if far > worst || far.is_nan() { far } else { worst })
}

fn by_definition(graph: Graph, input: &[f32]) -> Outputs {
    plain::evaluate(&graph, input).expect("an evaluation")
}

fn evaluated(mut backend: impl Backend, input: &[f32]) -> Outputs {
    let mut outputs = Outputs::default();
    backend.evaluate(input, &mut outputs).expect("an evaluation");
    outputs
}

fn on_host(graph: Graph, input: &[f32]) -> Outputs {
    evaluated(Host::new(graph, 2).expect("a host"), input)
}

fn on_opencl(variant: Variant, graph: Graph, input: &[f32]) -> Outputs {
    let options = Options { max_batch: 2, tuning: Some(Tuning::start(variant, 8)), ..Options::default() };
    evaluated(OpenCl::new(graph, &options).expect("the device runs the network"), input)
}

/// Boards in the order of their sizes, with the largest possible one.
#[test]
fn a_graph_says_what_the_layers_say_on_opencl() {
    if !device_is_there() {
        return;
    }
    let random = &mut Random::new(0x5eed);
    for (height, width) in [(2, 3), (9, 9), (13, 5), (19, 19)] {
        for variant in [Variant::Cpu, Variant::Gpu] {
            let run = |graph, input: &[f32]| on_opencl(variant, graph, input);
            // Compiling takes time, and encoding metadata does not depend on the board: one size is enough.
            let encoding = (height == 9).then(human);
            for model in [tiny(17)].into_iter().chain(encoding) {
                let worst = far(&model, Board { width, height }, random, run);
                assert!(worst < 1e-5, "{}, {variant}, {height} by {width}: {worst}", model.name);
            }
        }
    }
}

#[test]
fn graphs_say_what_the_layers_say() {
    let random = &mut Random::new(0x0dd_ba11);
    for (height, width) in BOARDS {
        for (run, model) in [by_definition, on_host].into_iter().flat_map(|run| [(run, tiny(17)), (run, human())]) {
            let worst = far(&model, Board { width, height }, random, run);
            assert!(worst < 1e-5, "{}, {height} by {width}: {worst}", model.name);
        }
    }
    // Every kind of block, rotation and norm occurs, with weights that are not kept within any bounds.
    let (mut blocks, mut norms, mut encoders) = ([0; 4], [0; 3], [0; 2]);
    for seed in 1..60 {
        let model = random_model(&mut Random::new(seed), 17);
        for block in &model.trunk.blocks {
            blocks[match block {
                Block::Attention(block) => match block.rotation {
                    Rotation::None => 0,
                    Rotation::Fixed { .. } => 1,
                    Rotation::Learnt(_) => 2,
                },
                Block::FeedForward(_) => 3,
                _ => continue,
            }] += 1;
        }
        norms[match &model.trunk.norm {
            TrunkNorm::Batch(_) => 0,
            TrunkNorm::Rms(norm) => 1 + usize::from(norm.whole),
        }] += 1;
        encoders[usize::from(model.encodes_metadata())] += 1;
        let (height, width) = BOARDS[seed as usize % BOARDS.len()];
        for run in [by_definition, on_host] {
            let worst = far(&model, Board { width, height }, random, run);
            assert!(worst < 1e-3, "seed {seed}, {height} by {width}: {worst}");
        }
    }
    let all = || blocks.iter().chain(&norms).chain(&encoders);
    assert!(all().all(|&count| count > 3), "{blocks:?} {norms:?} {encoders:?}");
}

/// What an encoder makes is added, and nothing else changes: a model without one and a model whose encoder makes zeros
/// say the same, and the graph of a model without an encoder has no trace of it.
#[test]
fn metadata_is_added_to_what_there_was() {
    let board = Board { width: 5, height: 4 };
    let (with, without) = (human(), Model { trunk: tiny(15).trunk, ..human() });
    let (planes, numbers) = position(&mut Random::new(7), board, &with);
    let say = |model: &Model, numbers: &[f32]| {
        let graph = model.graph(board.height, board.width).expect("a graph");
        numbers_of(board, by_definition(graph, &[planes.concat(), numbers.to_vec()].concat()))
    };
    let said = say(&without, &numbers[..GLOBALS]);
    assert_ne!(say(&with, &numbers), said);
    let mut silent = with.clone();
    silent.trunk.metadata.as_mut().expect("an encoder").last.weights.fill(0.0);
    assert_eq!(say(&silent, &numbers), said);
    // The encoder's part of the input, three products and one sum.
    let layers = |model: &Model| model.graph(4, 5).expect("a graph").layers().len();
    assert_eq!(layers(&with), layers(&without) + 5);
    assert_eq!(without.graph(4, 5).expect("a graph").input().channels, PLANES * 20 + GLOBALS);
}
