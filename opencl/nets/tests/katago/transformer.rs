//! Models of version 17: what their graphs say, against their layers one by one.

use crate::forward::{Board, Raw};
use crate::tiny::tiny;
use crate::writer::{Random, random_model};
use oncilla_nets::katago::{Block, GLOBALS, Model, PLANES, Rotation, TrunkNorm};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::host::{Host, plain};

const BOARDS: [(usize, usize); 4] = [(9, 9), (5, 7), (3, 2), (1, 1)];

/// Planes of zeros and ones, and globals.
fn position(random: &mut Random, board: Board) -> (Vec<Vec<f32>>, Vec<f32>) {
    let points = board.width * board.height;
    let planes = (0..PLANES).map(|_| (0..points).map(|_| random.below(2) as f32).collect()).collect();
    (planes, (0..GLOBALS).map(|_| random.below(9) as f32 / 8.0 - 0.5).collect())
}

/// All that is said, the first policy alone, which the other way of running it has not more of.
fn numbers(board: Board, outputs: Outputs) -> Vec<f32> {
    let policy = [&outputs.policy[..board.width * board.height], &outputs.pass[..1]].concat();
    [policy, outputs.results, outputs.scores, outputs.ownership].concat()
}

/// The largest difference, as a share of the largest number if that is above one.
fn far(model: &Model, board: Board, random: &mut Random) -> f32 {
    let (planes, globals) = position(random, board);
    let Raw { policy, value, scores, ownership } = board.evaluate(model, &planes, &globals);
    let expected = [policy, value, scores, ownership].concat();
    let graph = model.graph(board.height, board.width).expect("a graph");
    let input = [planes.concat(), globals].concat();
    let by_definition = plain::evaluate(&graph, &input).expect("an evaluation");
    let mut by_host = Outputs::default();
    Host::new(graph, 2).expect("a host").evaluate(&input, &mut by_host).expect("an evaluation");
    let most = expected.iter().fold(1.0_f32, |most, x| most.max(x.abs()));
    let outputs = [by_definition, by_host].map(|outputs| numbers(board, outputs));
    let differences = outputs.iter().flat_map(|got| {
        assert_eq!(got.len(), expected.len());
        got.iter().zip(&expected).map(|(a, b)| (a - b).abs() / most)
    });
    // A NaN stays.
    differences.fold(0.0, |worst, far| if far > worst || far.is_nan() { far } else { worst })
}

#[test]
fn graphs_say_what_the_layers_say() {
    let random = &mut Random::new(0x0dd_ba11);
    for (height, width) in BOARDS {
        let worst = far(&tiny(17), Board { width, height }, random);
        assert!(worst < 1e-5, "{height} by {width}: {worst}");
    }
    // Every kind of block, rotation and norm, with weights that nobody has kept within bounds.
    let (mut blocks, mut norms) = ([0; 4], [0; 3]);
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
        let (height, width) = BOARDS[seed as usize % BOARDS.len()];
        let worst = far(&model, Board { width, height }, random);
        assert!(worst < 1e-3, "seed {seed}, {height} by {width}: {worst}");
    }
    assert!(blocks.iter().chain(&norms).all(|&count| count > 3), "{blocks:?} {norms:?}");
}
