//! The small networks of Go with which the whole program is tested: `fixtures/go`. They are made here at random, with
//! weights that keep the outputs within bounds.

use super::gzip;
use super::writer::{Random, write};
use oncilla_nets::katago::{
    Attention, Block, Conv, Dense, FeedForward, GLOBALS, METADATA, MetadataEncoder, Model, Multipliers, Norm, PLANES,
    Pass, PolicyHead, RmsNorm, Rotation, TokenNorm, Trunk, TrunkNorm, ValueHead,
};
use oncilla_opencl::graph::Activation;
use std::io::Read;

/// The channels of the trunk, and those inside of its blocks and heads.
const CHANNELS: usize = 6;
const WIDTH: usize = 4;

struct Maker {
    random: Random,
    activation: Activation,
}

impl Maker {
    /// `count` weights such that a sum over `inputs` numbers is about as large as `size`.
    fn weights(&mut self, count: usize, inputs: usize, size: f32) -> Vec<f32> {
        let most = size * (3.0 / inputs as f32).sqrt();
        (0..count).map(|_| most * (self.random.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0)).collect()
    }

    fn conv(&mut self, kernel: usize, inputs: usize, outputs: usize, size: f32) -> Conv {
        let sum = inputs * kernel * kernel;
        Conv { kernel, inputs, outputs, weights: self.weights(outputs * sum, sum, size) }
    }

    fn norm(&mut self, channels: usize) -> Norm {
        Norm { scale: vec![1.0; channels], shift: self.weights(channels, 1, 0.2), activation: self.activation }
    }

    fn matmul(&mut self, inputs: usize, outputs: usize, size: f32) -> Dense {
        Dense { inputs, outputs, weights: self.weights(inputs * outputs, inputs, size), bias: vec![0.0; outputs] }
    }

    fn dense(&mut self, inputs: usize, outputs: usize, size: f32) -> Dense {
        Dense { bias: self.weights(outputs, 1, 0.3 * size), ..self.matmul(inputs, outputs, size) }
    }

    fn ordinary(&mut self, channels: usize) -> Block {
        Block::Ordinary {
            norm1: self.norm(channels),
            conv1: self.conv(3, channels, WIDTH, 1.0),
            norm2: self.norm(WIDTH),
            conv2: self.conv(3, WIDTH, channels, 1.0),
        }
    }

    fn pooling(&mut self, channels: usize) -> Block {
        Block::Pooling {
            norm1: self.norm(channels),
            regular: self.conv(3, channels, WIDTH, 1.0),
            pooled: self.conv(3, channels, WIDTH, 1.0),
            pooled_norm: self.norm(WIDTH),
            bias: self.matmul(3 * WIDTH, WIDTH, 0.3),
            norm2: self.norm(WIDTH),
            conv2: self.conv(3, WIDTH, channels, 1.0),
        }
    }

    fn nested(&mut self, channels: usize, version: u32) -> Block {
        Block::Nested {
            norm1: self.norm(channels),
            down: self.conv(1, channels, WIDTH, 1.0),
            blocks: match version {
                ..17 => vec![self.ordinary(WIDTH), self.pooling(WIDTH)],
                _ => {
                    let angles = self.weights(2 * 3, 1, 0.4);
                    let learnt = Rotation::Learnt(angles.as_chunks().0.to_vec());
                    vec![self.attention(WIDTH, learnt), self.feed_forward(WIDTH), self.ordinary(WIDTH)]
                }
            },
            norm2: self.norm(WIDTH),
            up: self.conv(1, WIDTH, channels, 1.0),
        }
    }

    fn token_norm(&mut self, channels: usize) -> TokenNorm {
        TokenNorm { epsilon: 1e-6, weights: self.weights(channels, 1, 0.8) }
    }

    /// An attention block with two heads of queries for each head of keys.
    fn attention(&mut self, channels: usize, rotation: Rotation) -> Block {
        let (key_heads, depth, width) = (1, 6, 3);
        let heads = 2 * key_heads;
        Block::Attention(Attention {
            norm: self.token_norm(channels),
            heads,
            key_heads,
            query: self.matmul(channels, heads * depth, 1.5),
            key: self.matmul(channels, key_heads * depth, 1.5),
            value: self.matmul(channels, key_heads * width, 1.0),
            output: self.matmul(heads * width, channels, 1.0),
            rotation,
        })
    }

    fn feed_forward(&mut self, channels: usize) -> Block {
        let width = 2 * channels + 1;
        Block::FeedForward(FeedForward {
            norm: self.token_norm(channels),
            first: self.matmul(channels, width, 1.0),
            gate: self.matmul(channels, width, 1.0),
            last: self.matmul(width, channels, 1.0),
        })
    }

    fn trunk_norm(&mut self, version: u32) -> TrunkNorm {
        match version {
            ..17 => TrunkNorm::Batch(self.norm(CHANNELS)),
            _ => TrunkNorm::Rms(RmsNorm {
                epsilon: 1e-6,
                whole: true,
                scale: self.weights(CHANNELS, 1, 0.8),
                shift: self.weights(CHANNELS, 1, 0.2),
                activation: self.activation,
            }),
        }
    }

    /// An encoder for metadata of which some forty numbers are not 0.
    fn encoder(&mut self) -> MetadataEncoder {
        MetadataEncoder {
            first: self.dense(METADATA, WIDTH, 3.0),
            first_activation: self.activation,
            second: self.dense(WIDTH, WIDTH, 1.0),
            second_activation: self.activation,
            last: self.matmul(WIDTH, CHANNELS, 1.5),
        }
    }

    fn policy(&mut self, version: u32) -> PolicyHead {
        let logits = if version < 12 { 1 } else { 2 };
        PolicyHead {
            conv: self.conv(1, CHANNELS, WIDTH, 1.0),
            pooled: self.conv(1, CHANNELS, WIDTH, 1.0),
            pooled_norm: self.norm(WIDTH),
            bias: self.matmul(3 * WIDTH, WIDTH, 0.3),
            norm: self.norm(WIDTH),
            points: self.conv(1, WIDTH, logits, 0.7),
            pass: match version {
                ..15 => Pass::Linear(self.matmul(3 * WIDTH, logits, 0.2)),
                _ => Pass::Hidden {
                    first: self.dense(3 * WIDTH, WIDTH, 0.3),
                    activation: self.activation,
                    second: self.matmul(WIDTH, logits, 0.3),
                },
            },
        }
    }

    fn value(&mut self, version: u32) -> ValueHead {
        ValueHead {
            conv: self.conv(1, CHANNELS, WIDTH, 1.0),
            norm: self.norm(WIDTH),
            hidden: self.dense(3 * WIDTH, CHANNELS, 0.3),
            activation: self.activation,
            value: self.dense(CHANNELS, 3, 0.5),
            scores: self.dense(CHANNELS, if version < 9 { 4 } else { 6 }, 0.3),
            ownership: self.conv(1, WIDTH, 1, 0.5),
        }
    }
}

/// A model of version 8 like the first networks, of version 15 with everything that later ones have, or of version 17
/// with what transformers have.
pub fn tiny(version: u32) -> Model {
    let activation = match version {
        ..11 => Activation::Relu,
        11..17 => Activation::Mish,
        _ => Activation::Swish,
    };
    let mut maker = Maker { random: Random::new(2 * u64::from(version) + 1), activation };
    let later = version >= 13;
    Model {
        name: format!("tiny-v{version}"),
        version,
        multipliers: match later {
            true => Multipliers {
                td_score: 20.0,
                score_mean: 20.0,
                score_stdev: 20.0,
                lead: 20.0,
                variance_time: 40.0,
                short_term_errors: Some([0.25, 150.0]),
            },
            false => Multipliers::default(),
        },
        suicide_in_pass_alive: later,
        no_territory_beside_atari: false,
        trunk: Trunk {
            channels: CHANNELS,
            mid: WIDTH,
            regular: WIDTH,
            pooled: WIDTH,
            conv: maker.conv(3, PLANES, CHANNELS, 3.0),
            globals: maker.matmul(GLOBALS, CHANNELS, 1.0),
            metadata: None,
            blocks: vec![
                match version {
                    ..17 => maker.ordinary(CHANNELS),
                    _ => maker.attention(CHANNELS, Rotation::Fixed { theta: 30.0 }),
                },
                maker.pooling(CHANNELS),
                maker.nested(CHANNELS, version),
            ],
            norm: maker.trunk_norm(version),
        },
        policy: maker.policy(version),
        value: maker.value(version),
        parameters: 0,
    }
}

/// The model of version 15 as a network for human play: with an encoder of metadata.
pub fn human() -> Model {
    let mut model = tiny(15);
    let mut maker = Maker { random: Random::new(192), activation: Activation::Mish };
    model.name = "tiny-human".to_string();
    model.trunk.metadata = Some(maker.encoder());
    model
}

/// The files in the repository are the ones that this makes: `ONCILLA_WRITE_FIXTURES=1` writes them anew.
#[test]
fn the_fixtures_are_made_here() {
    for model in [tiny(8), tiny(15), tiny(17), human()] {
        let written = write(&model, false).bytes;
        let path = oncilla_testing::fixtures().join(format!("go/{}.bin.gz", model.name));
        if std::env::var("ONCILLA_WRITE_FIXTURES").as_deref() == Ok("1") {
            std::fs::write(&path, gzip(&written)).expect("a file");
        }
        let mut there = Vec::new();
        let file = std::fs::File::open(&path).expect("a fixture");
        flate2::read::GzDecoder::new(file).read_to_end(&mut there).expect("a whole file");
        assert!(there == written, "{}", path.display());
        assert_eq!(Model::from_bytes(&there).expect("a model").trunk.blocks.len(), 3);
    }
}

/// The second flag of a header has come later than the first; what is behind it is still unknown.
#[test]
fn a_header_may_have_a_second_flag() {
    let file = std::fs::File::open(oncilla_testing::fixtures().join("go/tiny-v17.bin.gz")).expect("a fixture");
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut plain).expect("a whole file");
    // Before them are a name, three numbers, seven multipliers and the encoder's version.
    let (first, second) = (12, 13);
    let with = |line: usize, word: &[u8]| {
        let mut lines: Vec<&[u8]> = plain.split(|&byte| byte == b'\n').collect();
        assert_eq!(lines[line], if line == first { b"1" } else { b"0" }, "line {line}");
        lines[line] = word;
        Model::from_bytes(&lines.join(&b'\n'))
    };
    let flagged = with(second, b"1").expect("a model");
    assert!(flagged.no_territory_beside_atari);
    assert_eq!(Model { no_territory_beside_atari: false, ..flagged }, Model::from_bytes(&plain).expect("a model"));
    let error = with(second, b"2").expect_err("no flag").to_string();
    assert!(
        error.contains("expected whether points beside an atari are no territory, from 0 to 1, got \"2\""),
        "{error}"
    );
    for line in second + 1..second + 6 {
        let error = with(line, b"1").expect_err("unknown").to_string();
        assert!(error.contains("expected 0, kept for later versions, got \"1\""), "{error}");
    }
}
