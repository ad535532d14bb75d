//! Small models of any version, and their files.

use oncilla_nets::katago::{
    Attention, Block, Conv, Dense, FeedForward, GLOBALS, METADATA, MetadataEncoder, Model, Multipliers, Norm, PLANES,
    Pass, PolicyHead, RmsNorm, Rotation, TokenNorm, Trunk, TrunkNorm, ValueHead,
};
use oncilla_opencl::graph::Activation;
use std::fmt::Display;
use std::ops::Range;

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `n`, from xorshift64.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % n as u64) as usize
    }

    fn width(&mut self) -> usize {
        1 + self.below(3)
    }

    fn weight(&mut self) -> f32 {
        self.below(1 << 24) as f32 / (1 << 22) as f32 - 2.0
    }

    fn weights(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.weight()).collect()
    }
}

/// Makes layers that are possible in a version.
struct Maker<'a> {
    random: &'a mut Random,
    version: u32,
}

impl Maker<'_> {
    fn activation(&mut self) -> Activation {
        match self.version {
            ..11 => Activation::Relu,
            _ => [Activation::None, Activation::Relu, Activation::Mish, Activation::Swish][self.random.below(4)],
        }
    }

    fn conv(&mut self, inputs: usize, outputs: usize) -> Conv {
        let kernel = [1, 3, 5][self.random.below(3)];
        Conv { kernel, inputs, outputs, weights: self.random.weights(inputs * outputs * kernel * kernel) }
    }

    fn norm(&mut self, channels: usize) -> Norm {
        let mut array = |otherwise: f32| match self.random.below(3) {
            0 => vec![otherwise; channels],
            _ => self.random.weights(channels),
        };
        Norm { scale: array(1.0), shift: array(0.0), activation: self.activation() }
    }

    fn matmul(&mut self, inputs: usize, outputs: usize) -> Dense {
        Dense { inputs, outputs, weights: self.random.weights(inputs * outputs), bias: vec![0.0; outputs] }
    }

    fn dense(&mut self, inputs: usize, outputs: usize) -> Dense {
        Dense { bias: self.random.weights(outputs), ..self.matmul(inputs, outputs) }
    }

    fn token_norm(&mut self, channels: usize) -> TokenNorm {
        TokenNorm { epsilon: 1e-6, weights: self.random.weights(channels) }
    }

    fn attention(&mut self, channels: usize) -> Attention {
        let key_heads = self.random.width();
        let heads = key_heads * self.random.width();
        let (pairs, width) = (self.random.width(), self.random.width());
        let rotation = match self.random.below(3) {
            0 => Rotation::None,
            1 => Rotation::Fixed { theta: 100.0 },
            _ => {
                Rotation::Learnt((0..key_heads * pairs).map(|_| [self.random.weight(), self.random.weight()]).collect())
            }
        };
        // If no pairs are turned, the number of channels may be odd, or one.
        let depth = if rotation == Rotation::None { pairs } else { 2 * pairs };
        Attention {
            norm: self.token_norm(channels),
            heads,
            key_heads,
            query: self.matmul(channels, heads * depth),
            key: self.matmul(channels, key_heads * depth),
            value: self.matmul(channels, key_heads * width),
            output: self.matmul(heads * width, channels),
            rotation,
        }
    }

    fn feed_forward(&mut self, channels: usize) -> FeedForward {
        let width = self.random.width();
        FeedForward {
            norm: self.token_norm(channels),
            first: self.matmul(channels, width),
            gate: self.matmul(channels, width),
            last: self.matmul(width, channels),
        }
    }

    fn trunk_norm(&mut self, channels: usize) -> TrunkNorm {
        if self.version < 15 || self.random.below(2) == 0 {
            return TrunkNorm::Batch(self.norm(channels));
        }
        TrunkNorm::Rms(RmsNorm {
            epsilon: 1e-6,
            whole: self.random.below(2) == 1,
            scale: self.random.weights(channels),
            shift: self.random.weights(channels),
            activation: self.activation(),
        })
    }

    /// A convolutional block, or, from version 17 on, in half of the cases one of a transformer.
    fn block(&mut self, channels: usize, kinds: usize) -> Block {
        if self.version >= 17 {
            match self.random.below(4) {
                0 => return Block::Attention(self.attention(channels)),
                1 => return Block::FeedForward(self.feed_forward(channels)),
                _ => {}
            }
        }
        let (width, pooled) = (self.random.width(), self.random.width());
        match self.random.below(kinds) {
            0 => Block::Ordinary {
                norm1: self.norm(channels),
                conv1: self.conv(channels, width),
                norm2: self.norm(width),
                conv2: self.conv(width, channels),
            },
            1 => Block::Pooling {
                norm1: self.norm(channels),
                regular: self.conv(channels, width),
                pooled: self.conv(channels, pooled),
                pooled_norm: self.norm(pooled),
                bias: self.matmul(3 * pooled, width),
                norm2: self.norm(width),
                conv2: self.conv(width, channels),
            },
            _ => Block::Nested {
                norm1: self.norm(channels),
                down: self.conv(channels, width),
                blocks: (0..self.random.width()).map(|_| self.block(width, 2)).collect(),
                norm2: self.norm(width),
                up: self.conv(width, channels),
            },
        }
    }

    fn trunk(&mut self) -> Trunk {
        let channels = self.random.width();
        Trunk {
            channels,
            mid: self.random.width(),
            regular: self.random.width(),
            pooled: self.random.width(),
            conv: self.conv(PLANES, channels),
            globals: self.matmul(GLOBALS, channels),
            metadata: (self.version >= 15 && self.random.below(2) == 1).then(|| self.encoder(channels)),
            blocks: (0..self.random.width()).map(|_| self.block(channels, 3)).collect(),
            norm: self.trunk_norm(channels),
        }
    }

    fn encoder(&mut self, channels: usize) -> MetadataEncoder {
        let (first, second) = (self.random.width(), self.random.width());
        MetadataEncoder {
            first: self.dense(METADATA, first),
            first_activation: self.activation(),
            second: self.dense(first, second),
            second_activation: self.activation(),
            last: self.matmul(second, channels),
        }
    }

    fn policy(&mut self, trunk: usize) -> PolicyHead {
        let (width, pooled, hidden) = (self.random.width(), self.random.width(), self.random.width());
        let logits = match self.version {
            ..12 => 1,
            12..16 => 2,
            16 => 4,
            _ => 2 + 2 * self.random.below(2),
        };
        PolicyHead {
            conv: self.conv(trunk, width),
            pooled: self.conv(trunk, pooled),
            pooled_norm: self.norm(pooled),
            bias: self.matmul(3 * pooled, width),
            norm: self.norm(width),
            points: self.conv(width, logits),
            pass: match self.version {
                ..15 => Pass::Linear(self.matmul(3 * pooled, logits)),
                _ => Pass::Hidden {
                    first: self.dense(3 * pooled, hidden),
                    activation: self.activation(),
                    second: self.matmul(hidden, logits),
                },
            },
        }
    }

    fn value(&mut self, trunk: usize) -> ValueHead {
        let (width, hidden) = (self.random.width(), self.random.width());
        ValueHead {
            conv: self.conv(trunk, width),
            norm: self.norm(width),
            hidden: self.dense(3 * width, hidden),
            activation: self.activation(),
            value: self.dense(hidden, 3),
            scores: self.dense(hidden, if self.version < 9 { 4 } else { 6 }),
            ownership: self.conv(width, 1),
        }
    }

    fn multipliers(&mut self) -> Multipliers {
        if self.version < 13 {
            return Multipliers::default();
        }
        let mut factor = || self.random.weight().abs();
        Multipliers {
            td_score: factor(),
            score_mean: factor(),
            score_stdev: factor(),
            lead: factor(),
            variance_time: factor(),
            short_term_errors: Some([factor(), factor()]),
        }
    }
}

/// A model with at most three channels and three blocks.
pub fn random_model(random: &mut Random, version: u32) -> Model {
    let mut maker = Maker { random, version };
    let trunk = maker.trunk();
    let (policy, value) = (maker.policy(trunk.channels), maker.value(trunk.channels));
    let multipliers = maker.multipliers();
    let mut flag = || version >= 15 && maker.random.below(2) == 1;
    Model {
        name: format!("random-v{version}"),
        version,
        multipliers,
        suicide_in_pass_alive: flag(),
        no_territory_beside_atari: flag(),
        trunk,
        policy,
        value,
        parameters: 0,
    }
}

/// A file with one token a line, and one line of numbers for each array.
pub struct Written {
    pub bytes: Vec<u8>,
    /// Where the arrays are in it, without `@BIN@`.
    pub arrays: Vec<Range<usize>>,
    pub parameters: u64,
}

pub fn write(model: &Model, text: bool) -> Written {
    let out = Written { bytes: Vec::new(), arrays: Vec::new(), parameters: 0 };
    let mut writer = Writer { out, text, version: model.version };
    writer.model(model);
    writer.out
}

struct Writer {
    out: Written,
    text: bool,
    version: u32,
}

impl Writer {
    fn line(&mut self, token: impl Display) {
        self.out.bytes.extend_from_slice(format!("{token}\n").as_bytes());
    }

    fn lines(&mut self, numbers: &[usize]) {
        numbers.iter().for_each(|number| self.line(number));
    }

    fn array(&mut self, numbers: &[f32]) {
        if !self.text {
            self.out.bytes.extend_from_slice(b"@BIN@");
        }
        let start = self.out.bytes.len();
        for (n, number) in numbers.iter().enumerate() {
            match self.text {
                true => {
                    self.out.bytes.extend_from_slice(format!("{}{number}", if n > 0 { " " } else { "" }).as_bytes())
                }
                false => self.out.bytes.extend_from_slice(&number.to_le_bytes()),
            }
        }
        self.out.arrays.push(start..self.out.bytes.len());
        self.out.bytes.push(b'\n');
        self.out.parameters += numbers.len() as u64;
    }

    fn conv(&mut self, name: &str, conv: &Conv) {
        let Conv { kernel, inputs, outputs, weights } = conv;
        self.line(name);
        self.lines(&[*kernel, *kernel, *inputs, *outputs, 1, 1]);
        let mut turned = Vec::new();
        for at in 0..kernel * kernel {
            for input in 0..*inputs {
                for output in 0..*outputs {
                    turned.push(weights[(output * inputs + input) * kernel * kernel + at]);
                }
            }
        }
        self.array(&turned);
    }

    /// Writes a norm with mean 0, and a variance that makes 1 or 4 with its epsilon, for which folding is exact.
    fn norm(&mut self, name: &str, norm: &Norm) {
        let channels = norm.scale.len();
        let scaled = norm.scale.iter().any(|&scale| scale != 1.0);
        let shifted = norm.shift.iter().any(|&shift| shift != 0.0);
        self.line(name);
        self.line(channels);
        self.line("0.25");
        self.lines(&[usize::from(scaled), usize::from(shifted)]);
        self.array(&vec![0.0; channels]);
        self.array(&vec![if scaled { 3.75 } else { 0.75 }; channels]);
        self.out.parameters -= 2 * channels as u64;
        if scaled {
            self.array(&norm.scale.iter().map(|scale| scale * 2.0).collect::<Vec<_>>());
        }
        if shifted {
            self.array(&norm.shift);
        }
        self.activation(norm.activation);
    }

    fn activation(&mut self, activation: Activation) {
        self.line("actv");
        if self.version >= 11 {
            self.line(match activation {
                Activation::None => "ACTIVATION_IDENTITY",
                Activation::Relu => "ACTIVATION_RELU",
                Activation::Mish => "ACTIVATION_MISH",
                _ => "ACTIVATION_SILU",
            });
        }
    }

    fn matmul(&mut self, name: &str, dense: &Dense) {
        self.line(name);
        self.lines(&[dense.inputs, dense.outputs]);
        let turned = (0..dense.inputs)
            .flat_map(|i| (0..dense.outputs).map(move |o| dense.weights[o * dense.inputs + i]))
            .collect::<Vec<_>>();
        self.array(&turned);
    }

    fn dense(&mut self, name: &str, dense: &Dense) {
        self.matmul(name, dense);
        self.line("b");
        self.line(dense.outputs);
        self.array(&dense.bias);
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Ordinary { norm1, conv1, norm2, conv2 } => {
                self.line("ordinary_block");
                self.line("ordinary");
                self.norm("norm1", norm1);
                self.conv("w1", conv1);
                self.norm("norm2", norm2);
                self.conv("w2", conv2);
            }
            Block::Pooling { norm1, regular, pooled, pooled_norm, bias, norm2, conv2 } => {
                self.line("gpool_block");
                self.line("gpool");
                self.norm("norm1", norm1);
                self.conv("w1a", regular);
                self.conv("w1b", pooled);
                self.norm("norm1b", pooled_norm);
                self.matmul("w1r", bias);
                self.norm("norm2", norm2);
                self.conv("w2", conv2);
            }
            Block::Nested { norm1, down, blocks, norm2, up } => {
                self.line("nested_bottleneck_block");
                self.line("nested");
                self.line(blocks.len());
                self.norm("normp", norm1);
                self.conv("convp", down);
                blocks.iter().for_each(|block| self.block(block));
                self.norm("normq", norm2);
                self.conv("convq", up);
            }
            Block::Attention(block) => self.attention(block),
            Block::FeedForward(block) => {
                self.line("transformer_ffn_block");
                self.line("ffn");
                self.lines(&[block.first.inputs, block.first.outputs, 1]);
                self.token_norm(&block.norm);
                self.matmul("linear1", &block.first);
                self.matmul("lineargate", &block.gate);
                self.matmul("linear2", &block.last);
            }
        }
    }

    fn attention(&mut self, block: &Attention) {
        self.line("transformer_attention_block");
        self.line("attention");
        let (depth, width) = (block.depth(), block.output.inputs / block.heads);
        let (turns, learns) = match block.rotation {
            Rotation::None => (0, 0),
            Rotation::Fixed { .. } => (1, 0),
            Rotation::Learnt(_) => (1, 1),
        };
        self.lines(&[block.heads, block.key_heads, depth, width, turns, learns]);
        self.token_norm(&block.norm);
        self.matmul("q", &block.query);
        self.matmul("k", &block.key);
        self.matmul("v", &block.value);
        self.matmul("out", &block.output);
        match &block.rotation {
            Rotation::None => {}
            Rotation::Fixed { theta } => {
                self.line("theta");
                self.line(theta);
            }
            Rotation::Learnt(frequencies) => {
                self.line("freqs");
                self.lines(&[block.key_heads, depth / 2, 2]);
                self.array(frequencies.as_flattened());
            }
        }
    }

    fn token_norm(&mut self, norm: &TokenNorm) {
        self.line("norm");
        self.line(norm.weights.len());
        self.line(norm.epsilon);
        self.array(&norm.weights);
    }

    fn trunk_norm(&mut self, norm: &TrunkNorm) {
        match norm {
            TrunkNorm::Batch(norm) => self.norm("trunk/norm", norm),
            TrunkNorm::Rms(norm) => {
                self.line("trunk/norm");
                self.line(norm.scale.len());
                self.line(norm.epsilon);
                self.lines(&[usize::from(norm.whole), 0]);
                self.array(&norm.scale);
                self.array(&norm.shift);
                self.activation(norm.activation);
            }
        }
    }

    fn model(&mut self, model: &Model) {
        self.line(&model.name);
        self.line(model.version);
        self.lines(&[PLANES, GLOBALS]);
        if self.version >= 13 {
            let m = model.multipliers;
            let [value, score] = m.short_term_errors.expect("multipliers");
            for factor in [m.td_score, m.score_mean, m.score_stdev, m.lead, m.variance_time, value, score] {
                self.line(factor);
            }
        }
        if self.version >= 15 {
            let encoder = usize::from(model.trunk.metadata.is_some());
            let flags = [model.suicide_in_pass_alive, model.no_territory_beside_atari].map(usize::from);
            self.lines(&[encoder, flags[0], flags[1], 0, 0, 0, 0, 0]);
        }
        self.trunk(&model.trunk);
        self.policy(&model.policy);
        self.value(&model.value);
    }

    fn trunk(&mut self, trunk: &Trunk) {
        self.line("trunk");
        self.lines(&[trunk.blocks.len(), trunk.channels, trunk.mid, trunk.regular, 0, trunk.pooled]);
        if self.version >= 15 {
            self.line(usize::from(matches!(trunk.norm, TrunkNorm::Rms(_))));
            self.lines(&[0; 5]);
        }
        self.conv("conv1", &trunk.conv);
        self.matmul("ginputw", &trunk.globals);
        if let Some(encoder) = &trunk.metadata {
            self.encoder(encoder);
        }
        trunk.blocks.iter().for_each(|block| self.block(block));
        self.trunk_norm(&trunk.norm);
    }

    fn encoder(&mut self, encoder: &MetadataEncoder) {
        self.line("meta_encoder");
        self.line(METADATA);
        self.dense("mul1", &encoder.first);
        self.activation(encoder.first_activation);
        self.dense("mul2", &encoder.second);
        self.activation(encoder.second_activation);
        self.matmul("mul3", &encoder.last);
    }

    fn policy(&mut self, policy: &PolicyHead) {
        self.line("policyhead");
        if self.version >= 17 {
            self.lines(&[policy.points.outputs, 0, 0, 0]);
        }
        self.conv("p1", &policy.conv);
        self.conv("g1", &policy.pooled);
        self.norm("g1/norm", &policy.pooled_norm);
        self.matmul("matmulg2w", &policy.bias);
        self.norm("p1/norm", &policy.norm);
        self.conv("p2", &policy.points);
        match &policy.pass {
            Pass::Linear(dense) => self.matmul("matmulpass", dense),
            Pass::Hidden { first, activation, second } => {
                self.dense("matmulpass", first);
                self.activation(*activation);
                self.matmul("matmulpass2", second);
            }
        }
    }

    fn value(&mut self, value: &ValueHead) {
        self.line("valuehead");
        if self.version >= 17 {
            self.lines(&[0; 3]);
        }
        self.conv("v1", &value.conv);
        self.norm("v1/norm", &value.norm);
        self.dense("v2", &value.hidden);
        self.activation(value.activation);
        self.dense("v3", &value.value);
        self.dense("sv3", &value.scores);
        self.conv("vownership", &value.ownership);
    }
}
