//! A model for boards of one size, as a graph.
//!
//! The input is one vector: all planes, `[plane][y][x]`, then the globals, then, for networks for human play, the
//! metadata. On a board of a known size two of pooling's three numbers per channel suffice: the size goes into the
//! weights.

use super::heads::Pass;
use super::layers::{Conv, Dense, Norm};
use super::{
    Attention, Block, FeedForward, GLOBALS, METADATA, MetadataEncoder, Model, PLANES, PolicyHead, Rotation, TokenNorm,
    TrunkNorm, ValueHead,
};
use crate::error::NetError;
use oncilla_opencl::graph::{Activation, Graph, INPUT, Layer, Role, Shape, ShapeError, ValueId};

/// Which three numbers per channel a layer's weights expect from pooling; size is `(s − 14)/10`, with s the root of the
/// board's points.
#[derive(Clone, Copy)]
enum Pooled {
    /// Mean, mean·size, maximum.
    WithMost,
    /// Mean, mean·size, mean·(size² − 0.1).
    ByValue,
}

impl Model {
    /// The graph of this model for boards of `height` rows of `width` points. Its outputs are [`Role::Policy`],
    /// `[policies][height][width]`, and [`Role::Pass`], `[policies]`; [`Role::Results`], [`Role::Scores`] and
    /// [`Role::Ownership`], `[height][width]`. There is one policy before version 12; then there are two, the plain and
    /// the optimistic one, and from version 16 on perhaps two more outputs that are no policies.
    ///
    /// # Errors
    /// If the model has more of something than a graph may have, or weights that become infinite when norms, or the
    /// board's size, are multiplied into them.
    pub fn graph(&self, height: usize, width: usize) -> Result<Graph, NetError> {
        let points = height * width;
        let trunk = &self.trunk;
        let behind_planes = GLOBALS + if trunk.metadata.is_some() { METADATA } else { 0 };
        let input = Shape { channels: PLANES * points + behind_planes, squares: 1 };
        let mut builder = Builder { graph: Graph::new(input).on_board(height, width), points, width, angles: 0 };
        let planes = builder.part(0..PLANES * points, points)?;
        let globals = builder.part(PLANES * points..PLANES * points + GLOBALS, 1)?;
        let (x, mut added) = (builder.conv(planes, &trunk.conv)?, builder.dense(globals, &trunk.globals)?);
        if let Some(encoder) = &trunk.metadata {
            let metadata = builder.part(PLANES * points + GLOBALS..input.channels, 1)?;
            let encoded = builder.encoded(metadata, encoder)?;
            added = builder.add(added, encoded)?;
        }
        let x = builder.add(x, added)?;
        let x = builder.blocks(x, &trunk.blocks)?;
        let x = builder.trunk_norm(x, &trunk.norm).map_err(|e| e.within("trunk"))?;
        builder.policy(x, &self.policy).map_err(|e| e.within("policy head"))?;
        builder.value(x, &self.value).map_err(|e| e.within("value head"))?;
        Ok(builder.graph)
    }
}

struct Builder {
    graph: Graph,
    /// Points of the board.
    points: usize,
    /// Points of a row.
    width: usize,
    /// How many angles the blocks so far have.
    angles: usize,
}

/// The most angles of all blocks. Those with some six times the heads of large networks have as many, and a small file
/// can declare millions of heads.
const MOST_ANGLES: usize = 1 << 24;

impl Builder {
    fn push(&mut self, layer: Layer) -> Result<ValueId, NetError> {
        let what = layer.name();
        self.graph.push(layer).map_err(|e: ShapeError| NetError::unsupported(what, e.what))
    }

    fn name(&mut self, role: Role, value: ValueId) -> Result<(), NetError> {
        self.graph.output(role, value).map_err(|e| NetError::unsupported("output", e.what))
    }

    /// Takes the `elements` of the input as a value with `squares` squares.
    fn part(&mut self, elements: std::ops::Range<usize>, squares: usize) -> Result<ValueId, NetError> {
        let indices = elements.map(|at| at as u32).collect();
        self.push(Layer::Gather { input: INPUT, indices, squares, residual: None })
    }

    fn conv(&mut self, input: ValueId, conv: &Conv) -> Result<ValueId, NetError> {
        self.conv_and(input, conv, None, None)
    }

    fn conv_and_norm(&mut self, input: ValueId, conv: &Conv, norm: &Norm) -> Result<ValueId, NetError> {
        self.conv_and(input, conv, Some(norm), None)
    }

    fn conv_and(
        &mut self,
        input: ValueId,
        conv: &Conv,
        norm: Option<&Norm>,
        residual: Option<ValueId>,
    ) -> Result<ValueId, NetError> {
        let (mut weights, mut bias, mut activation) = (conv.weights.clone(), vec![0.0; conv.outputs], Activation::None);
        if let Some(norm) = norm {
            let of_output = weights.len() / conv.outputs;
            for (weights, scale) in weights.chunks_exact_mut(of_output).zip(&norm.scale) {
                weights.iter_mut().for_each(|weight| *weight *= scale);
            }
            bias.clone_from(&norm.shift);
            activation = norm.activation;
        }
        let (channels, kernel) = (conv.outputs, conv.kernel);
        self.push(Layer::Conv { input, channels, kernel, weights, bias, se: None, residual, activation })
    }

    fn norm(&mut self, input: ValueId, added: Option<ValueId>, norm: &Norm) -> Result<ValueId, NetError> {
        let (scale, shift, activation) = (norm.scale.clone(), norm.shift.clone(), norm.activation);
        self.push(Layer::Affine { input, added, scale, shift, activation })
    }

    /// Adds to each channel of `input` its own number, the one in `added`.
    fn add(&mut self, input: ValueId, added: ValueId) -> Result<ValueId, NetError> {
        let channels = self.graph.shape(input).channels;
        let norm = Norm { scale: vec![1.0; channels], shift: vec![0.0; channels], activation: Activation::None };
        self.norm(input, Some(added), &norm)
    }

    fn dense(&mut self, input: ValueId, dense: &Dense) -> Result<ValueId, NetError> {
        self.dense_and(input, dense, Activation::None)
    }

    fn dense_and(&mut self, input: ValueId, dense: &Dense, activation: Activation) -> Result<ValueId, NetError> {
        let (channels, weights, bias) = (dense.outputs, dense.weights.clone(), dense.bias.clone());
        self.push(Layer::Dense { input, channels, weights, bias, activation })
    }

    fn encoded(&mut self, metadata: ValueId, encoder: &MetadataEncoder) -> Result<ValueId, NetError> {
        let hidden = self.dense_and(metadata, &encoder.first, encoder.first_activation)?;
        let hidden = self.dense_and(hidden, &encoder.second, encoder.second_activation)?;
        self.dense(hidden, &encoder.last)
    }

    /// A layer that reads the two numbers a channel that [`Layer::Pool`] makes, in place of `dense`, which reads three.
    fn of_pooled(&self, dense: &Dense, kind: Pooled) -> Dense {
        let size = ((self.points as f32).sqrt() - 14.0) / 10.0;
        let channels = dense.inputs / 3;
        let row = |row: &[f32]| {
            let (means, rest) = row.split_at(channels);
            let (sized, last) = rest.split_at(channels);
            let of_last = if let Pooled::ByValue = kind { size * size - 0.1 } else { 0.0 };
            let mean =
                means.iter().zip(sized).zip(last).map(|((mean, sized), last)| mean + size * sized + of_last * last);
            let most = last.iter().map(|&last| if let Pooled::WithMost = kind { last } else { 0.0 });
            mean.chain(most).collect::<Vec<f32>>()
        };
        let weights = dense.weights.chunks_exact(dense.inputs).flat_map(row).collect();
        Dense { inputs: 2 * channels, outputs: dense.outputs, weights, bias: dense.bias.clone() }
    }

    fn blocks(&mut self, mut x: ValueId, blocks: &[Block]) -> Result<ValueId, NetError> {
        for (i, block) in blocks.iter().enumerate() {
            x = self.block(x, block).map_err(|e| e.within(&format!("blocks[{i}]")))?;
        }
        Ok(x)
    }

    fn block(&mut self, x: ValueId, block: &Block) -> Result<ValueId, NetError> {
        match block {
            Block::Ordinary { norm1, conv1, norm2, conv2 } => {
                let y = self.norm(x, None, norm1)?;
                let y = self.conv_and_norm(y, conv1, norm2)?;
                self.conv_and(y, conv2, None, Some(x))
            }
            Block::Pooling { norm1, regular, pooled, pooled_norm, bias, norm2, conv2 } => {
                let y = self.norm(x, None, norm1)?;
                let (regular, pooled) = (self.conv(y, regular)?, self.conv_and_norm(y, pooled, pooled_norm)?);
                let pooled = self.push(Layer::Pool { input: pooled })?;
                let bias = self.of_pooled(bias, Pooled::WithMost);
                let added = self.dense(pooled, &bias)?;
                let y = self.norm(regular, Some(added), norm2)?;
                self.conv_and(y, conv2, None, Some(x))
            }
            Block::Nested { norm1, down, blocks, norm2, up } => {
                let y = self.norm(x, None, norm1)?;
                let y = self.conv(y, down)?;
                let y = self.blocks(y, blocks)?;
                let y = self.norm(y, None, norm2)?;
                self.conv_and(y, up, None, Some(x))
            }
            Block::Attention(attention) => self.attention(x, attention),
            Block::FeedForward(feed_forward) => self.feed_forward(x, feed_forward),
        }
    }

    fn trunk_norm(&mut self, x: ValueId, norm: &TrunkNorm) -> Result<ValueId, NetError> {
        match norm {
            TrunkNorm::Batch(norm) => self.norm(x, None, norm),
            TrunkNorm::Rms(rms) => {
                let normed = self.push(Layer::RmsNorm { input: x, epsilon: rms.epsilon, whole: rms.whole })?;
                let (scale, shift, activation) = (rms.scale.clone(), rms.shift.clone(), rms.activation);
                self.push(Layer::Affine { input: normed, added: None, scale, shift, activation })
            }
        }
    }

    /// A norm without its weights: they go into those of the layers that read it, see [`weighed`].
    fn token_norm(&mut self, x: ValueId, norm: &TokenNorm) -> Result<ValueId, NetError> {
        self.push(Layer::RmsNorm { input: x, epsilon: norm.epsilon, whole: false })
    }

    /// Applies `dense` to each point.
    fn linear(
        &mut self,
        input: ValueId,
        dense: Dense,
        activation: Activation,
        residual: Option<ValueId>,
    ) -> Result<ValueId, NetError> {
        let Dense { outputs: channels, weights, bias, .. } = dense;
        self.push(Layer::Conv { input, channels, kernel: 1, weights, bias, se: None, residual, activation })
    }

    fn attention(&mut self, x: ValueId, block: &Attention) -> Result<ValueId, NetError> {
        let angles = self.angles_of(block)?;
        let normed = self.token_norm(x, &block.norm)?;
        let of = |dense: &Dense, heads: usize| for_heads(weighed(dense, &block.norm), heads, block.heads);
        let mut query = self.linear(normed, of(&block.query, block.heads), Activation::None, None)?;
        let mut key = self.linear(normed, of(&block.key, block.key_heads), Activation::None, None)?;
        let value = self.linear(normed, of(&block.value, block.key_heads), Activation::None, None)?;
        if let Some(angles) = angles {
            query = self.push(Layer::Rotate { input: query, angles: angles.clone() })?;
            key = self.push(Layer::Rotate { input: key, angles })?;
        }
        let attended = self.push(Layer::Attention { query, key, value, heads: block.heads, bias: None })?;
        self.linear(attended, block.output.clone(), Activation::None, Some(x))
    }

    /// The block's angles, if it turns anything. They are counted before they are made.
    fn angles_of(&mut self, block: &Attention) -> Result<Option<Vec<f32>>, NetError> {
        if block.rotation == Rotation::None {
            return Ok(None);
        }
        let pairs = block.heads.saturating_mul(block.depth() / 2);
        self.angles = self.angles.saturating_add(pairs.saturating_mul(self.points));
        if self.angles > MOST_ANGLES {
            let what = format!("expected at most {MOST_ANGLES} angles in all blocks, got {} or more", self.angles);
            return Err(NetError::unsupported("attention", what));
        }
        Ok(block.angles(self.points / self.width, self.width))
    }

    fn feed_forward(&mut self, x: ValueId, block: &FeedForward) -> Result<ValueId, NetError> {
        let normed = self.token_norm(x, &block.norm)?;
        let left = self.linear(normed, weighed(&block.first, &block.norm), Activation::Swish, None)?;
        let right = self.linear(normed, weighed(&block.gate, &block.norm), Activation::None, None)?;
        let product = self.push(Layer::Multiply { left, right })?;
        self.linear(product, block.last.clone(), Activation::None, Some(x))
    }

    fn policy(&mut self, x: ValueId, head: &PolicyHead) -> Result<(), NetError> {
        let regular = self.conv(x, &head.conv)?;
        let pooled = self.conv_and_norm(x, &head.pooled, &head.pooled_norm)?;
        let pooled = self.push(Layer::Pool { input: pooled })?;
        let bias = self.of_pooled(&head.bias, Pooled::WithMost);
        let added = self.dense(pooled, &bias)?;
        let y = self.norm(regular, Some(added), &head.norm)?;
        let policy = self.conv(y, &head.points)?;
        let pass = match &head.pass {
            Pass::Linear(pass) => self.dense(pooled, &self.of_pooled(pass, Pooled::WithMost))?,
            Pass::Hidden { first, activation, second } => {
                let hidden = self.dense_and(pooled, &self.of_pooled(first, Pooled::WithMost), *activation)?;
                self.dense(hidden, second)?
            }
        };
        self.name(Role::Policy, policy)?;
        self.name(Role::Pass, pass)
    }

    fn value(&mut self, x: ValueId, head: &ValueHead) -> Result<(), NetError> {
        let v = self.conv_and_norm(x, &head.conv, &head.norm)?;
        let pooled = self.push(Layer::Pool { input: v })?;
        let hidden = self.dense_and(pooled, &self.of_pooled(&head.hidden, Pooled::ByValue), head.activation)?;
        let (results, scores) = (self.dense(hidden, &head.value)?, self.dense(hidden, &head.scores)?);
        let signed = vec![1.0; head.ownership.outputs];
        let norm = Norm { shift: vec![0.0; signed.len()], scale: signed, activation: Activation::Tanh };
        let ownership = self.conv_and_norm(v, &head.ownership, &norm)?;
        self.name(Role::Results, results)?;
        self.name(Role::Scores, scores)?;
        self.name(Role::Ownership, ownership)
    }
}

/// The layer `dense`, which reads the norm's output, with the norm's weights multiplied into its own: it reads `x /
/// √(mean of x² + ε)`.
fn weighed(dense: &Dense, norm: &TokenNorm) -> Dense {
    let mut weighed = dense.clone();
    for row in weighed.weights.chunks_exact_mut(dense.inputs) {
        row.iter_mut().zip(&norm.weights).for_each(|(weight, by)| *weight *= by);
    }
    weighed
}

/// The layer `dense`, which makes `from` heads, with each head repeated so that there are `to` of them.
fn for_heads(dense: Dense, from: usize, to: usize) -> Dense {
    if from == to {
        return dense;
    }
    let times = to / from;
    let repeated = |all: &[f32]| -> Vec<f32> {
        all.chunks_exact(all.len() / from)
            .flat_map(|head| std::iter::repeat_n(head, times).flatten())
            .copied()
            .collect()
    };
    let (weights, bias) = (repeated(&dense.weights), repeated(&dense.bias));
    Dense { inputs: dense.inputs, outputs: dense.outputs * times, weights, bias }
}
