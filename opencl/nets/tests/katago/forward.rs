//! Runs a model layer by layer as the layers are described, for one position.

use oncilla_nets::katago::{
    Attention, Block, Conv, Dense, FeedForward, GLOBALS, MetadataEncoder, Model, Norm, Pass, PolicyHead, RmsNorm,
    Rotation, TokenNorm, TrunkNorm, ValueHead,
};
use oncilla_opencl::graph::Activation;

/// `[channel][y·width + x]`.
pub type Planes = Vec<Vec<f32>>;

/// What a model says, before anything is computed from it.
pub struct Raw {
    /// `[point]`, with the logit of a pass last.
    pub policy: Vec<f32>,
    /// Win, loss, no result.
    pub value: Vec<f32>,
    /// See [`ValueHead::scores`].
    pub scores: Vec<f32>,
    /// `[point]`.
    pub ownership: Vec<f32>,
}

/// The size of a board.
#[derive(Clone, Copy)]
pub struct Board {
    pub width: usize,
    pub height: usize,
}

impl Board {
    /// `√points − 14`: how large a board is compared to one in the middle of 9×9 and 19×19.
    fn offset(self) -> f32 {
        ((self.width * self.height) as f32).sqrt() - 14.0
    }

    fn conv(self, layer: &Conv, input: &Planes) -> Planes {
        assert_eq!(
            (input.len(), layer.weights.len()),
            (layer.inputs, layer.outputs * layer.inputs * layer.kernel.pow(2))
        );
        layer
            .weights
            .chunks_exact(layer.inputs * layer.kernel.pow(2))
            .map(|filter| self.filtered(layer, filter, input))
            .collect()
    }

    fn filtered(self, layer: &Conv, filter: &[f32], input: &Planes) -> Vec<f32> {
        let (k, half) = (layer.kernel, layer.kernel / 2);
        let mut sum = vec![0.0; self.width * self.height];
        for (channel, plane) in input.iter().enumerate() {
            for (ky, kx) in (0..k).flat_map(|ky| (0..k).map(move |kx| (ky, kx))) {
                let weight = filter[(channel * k + ky) * k + kx];
                // Points whose neighbour at (ky − half, kx − half) is on the board.
                let ys = half.saturating_sub(ky)..self.height.min((self.height + half).saturating_sub(ky));
                let xs = half.saturating_sub(kx)..self.width.min((self.width + half).saturating_sub(kx));
                if xs.is_empty() {
                    continue;
                }
                for y in ys {
                    let from = (y + ky - half) * self.width + xs.start + kx - half;
                    let row = &mut sum[y * self.width + xs.start..y * self.width + xs.end];
                    let neighbours = &plane[from..from + row.len()];
                    row.iter_mut().zip(neighbours).for_each(|(sum, neighbour)| *sum += weight * neighbour);
                }
            }
        }
        sum
    }

    /// The mean of each channel, then each mean times the board's size, then the maximum of each channel.
    fn pooled(self, input: &Planes) -> Vec<f32> {
        let means = means(input);
        let sized: Vec<f32> = means.iter().map(|mean| mean * self.offset() / 10.0).collect();
        let most = input.iter().map(|plane| plane.iter().copied().fold(f32::NEG_INFINITY, f32::max)).collect();
        [means, sized, most].concat()
    }

    /// Pools as the value head does: with the square of the board's size in place of the maximum.
    fn pooled_for_value(self, input: &Planes) -> Vec<f32> {
        let factors = [1.0, self.offset() / 10.0, self.offset().powi(2) / 100.0 - 0.1];
        let means = means(input);
        factors.iter().flat_map(|factor| means.iter().map(move |mean| mean * factor)).collect()
    }

    fn block(self, block: &Block, x: &Planes) -> Planes {
        let (second, norm, mut inner) = match block {
            Block::Attention(block) => return sum(x, &self.attention(block, x)),
            Block::FeedForward(block) => return sum(x, &self.feed_forward(block, x)),
            Block::Ordinary { norm1, conv1, norm2, conv2 } => {
                (conv2, norm2, self.conv(conv1, &normed(norm1, x.clone())))
            }
            Block::Pooling { norm1, regular, pooled, pooled_norm, bias, norm2, conv2 } => {
                let x = normed(norm1, x.clone());
                let pooled = self.pooled(&normed(pooled_norm, self.conv(pooled, &x)));
                (conv2, norm2, plus(self.conv(regular, &x), &dense(bias, &pooled)))
            }
            Block::Nested { norm1, down, blocks, norm2, up } => {
                let x = self.conv(down, &normed(norm1, x.clone()));
                (up, norm2, blocks.iter().fold(x, |x, block| self.block(block, &x)))
            }
        };
        inner = self.conv(second, &normed(norm, inner));
        sum(&inner, x)
    }

    /// What each point gets from all points through the heads: `[point][channel]`.
    fn attention(self, block: &Attention, x: &Planes) -> Planes {
        let points = self.width * self.height;
        let tokens = token_normed(&block.norm, x);
        let of = |layer: &Dense| tokens.iter().map(|token| dense(layer, token)).collect::<Vec<_>>();
        let (queries, keys, values) = (of(&block.query), of(&block.key), of(&block.value));
        let (depth, width) = (block.query.outputs / block.heads, block.value.outputs / block.key_heads);
        let mut attended = vec![Vec::new(); points];
        for head in 0..block.heads {
            let shared = head * block.key_heads / block.heads;
            let turned = |all: &[Vec<f32>], of_head: usize| -> Vec<Vec<f32>> {
                let parts = all.iter().enumerate();
                let part = |(at, all): (usize, &Vec<f32>)| {
                    let place = ((at % self.width) as f32, (at / self.width) as f32);
                    turned(&block.rotation, shared, place, &all[of_head * depth..][..depth])
                };
                parts.map(part).collect()
            };
            let (queries, keys) = (turned(&queries, head), turned(&keys, shared));
            for (query, attended) in queries.iter().zip(&mut attended) {
                let products = keys.iter().map(|key| key.iter().zip(query).map(|(a, b)| a * b).sum::<f32>());
                let weights: Vec<f32> = products.map(|product| (product / (depth as f32).sqrt()).exp()).collect();
                let total: f32 = weights.iter().sum();
                let of_channel = |at: usize| weights.iter().zip(&values).map(|(w, v)| w * v[at]).sum::<f32>() / total;
                attended.extend((shared * width..(shared + 1) * width).map(of_channel));
            }
        }
        planes(attended.iter().map(|token| dense(&block.output, token)).collect())
    }

    fn feed_forward(self, block: &FeedForward, x: &Planes) -> Planes {
        let of_token = |token: &Vec<f32>| {
            let swish = dense(&block.first, token).into_iter().map(|x| activated(Activation::Swish, x));
            let gated: Vec<f32> = swish.zip(dense(&block.gate, token)).map(|(a, b)| a * b).collect();
            dense(&block.last, &gated)
        };
        planes(token_normed(&block.norm, x).iter().map(of_token).collect())
    }

    fn trunk_norm(self, norm: &TrunkNorm, x: Planes) -> Planes {
        let RmsNorm { epsilon, whole, scale, shift, activation } = match norm {
            TrunkNorm::Batch(norm) => return normed(norm, x),
            TrunkNorm::Rms(norm) => norm,
        };
        let square = |token: &Vec<f32>| token.iter().map(|x| x * x).sum::<f32>() / token.len() as f32;
        let squares: Vec<f32> = planes(x.clone()).iter().map(square).collect();
        let all = squares.iter().sum::<f32>() / squares.len() as f32;
        let rms = |at: usize| (if *whole { all } else { squares[at] } + epsilon).sqrt();
        let channels = x.into_iter().zip(scale.iter().zip(shift));
        let of_channel = |(plane, (scale, shift)): (Vec<f32>, (&f32, &f32))| {
            let points = plane.iter().enumerate();
            points.map(|(at, x)| activated(*activation, x / rms(at) * scale + shift)).collect()
        };
        channels.map(of_channel).collect()
    }

    fn policy(self, head: &PolicyHead, x: &Planes) -> Vec<f32> {
        let pooled = self.pooled(&normed(&head.pooled_norm, self.conv(&head.pooled, x)));
        let sum = plus(self.conv(&head.conv, x), &dense(&head.bias, &pooled));
        let mut logits = self.conv(&head.points, &normed(&head.norm, sum)).swap_remove(0);
        logits.push(match &head.pass {
            Pass::Linear(pass) => dense(pass, &pooled)[0],
            Pass::Hidden { first, activation, second } => {
                let hidden = dense(first, &pooled).into_iter().map(|x| activated(*activation, x)).collect::<Vec<_>>();
                dense(second, &hidden)[0]
            }
        });
        logits
    }

    fn value(self, head: &ValueHead, x: &Planes) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let v = normed(&head.norm, self.conv(&head.conv, x));
        let hidden = dense(&head.hidden, &self.pooled_for_value(&v));
        let hidden: Vec<f32> = hidden.into_iter().map(|x| activated(head.activation, x)).collect();
        let ownership = self.conv(&head.ownership, &v).swap_remove(0).into_iter().map(f32::tanh).collect();
        (dense(&head.value, &hidden), dense(&head.scores, &hidden), ownership)
    }

    /// What the model says of a position. Metadata, if the model encodes any, is behind the globals in `numbers`.
    pub fn evaluate(self, model: &Model, planes: &Planes, numbers: &[f32]) -> Raw {
        let trunk = &model.trunk;
        let (globals, metadata) = numbers.split_at(GLOBALS);
        let mut x = plus(self.conv(&trunk.conv, planes), &dense(&trunk.globals, globals));
        if let Some(encoder) = &trunk.metadata {
            x = plus(x, &encoded(encoder, metadata));
        }
        let x = trunk.blocks.iter().fold(x, |x, block| self.block(block, &x));
        let x = self.trunk_norm(&trunk.norm, x);
        let (value, scores, ownership) = self.value(&model.value, &x);
        Raw { policy: self.policy(&model.policy, &x), value, scores, ownership }
    }
}

fn encoded(encoder: &MetadataEncoder, metadata: &[f32]) -> Vec<f32> {
    let mut hidden = dense(&encoder.first, metadata);
    hidden.iter_mut().for_each(|x| *x = activated(encoder.first_activation, *x));
    hidden = dense(&encoder.second, &hidden);
    hidden.iter_mut().for_each(|x| *x = activated(encoder.second_activation, *x));
    dense(&encoder.last, &hidden)
}

fn means(input: &Planes) -> Vec<f32> {
    input.iter().map(|plane| plane.iter().sum::<f32>() / plane.len() as f32).collect()
}

fn activated(activation: Activation, x: f32) -> f32 {
    match activation {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Mish => x * x.exp().ln_1p().tanh(),
        Activation::Swish => x / (1.0 + (-x).exp()),
        other => panic!("KataGo has no {other:?}"),
    }
}

/// Turns `[channel][point]` into `[point][channel]`, or the reverse.
fn planes(tokens: Vec<Vec<f32>>) -> Planes {
    (0..tokens[0].len()).map(|at| tokens.iter().map(|token| token[at]).collect()).collect()
}

fn sum(a: &Planes, b: &Planes) -> Planes {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
}

/// The normed input, `[point][channel]`.
fn token_normed(norm: &TokenNorm, x: &Planes) -> Vec<Vec<f32>> {
    let of_token = |token: Vec<f32>| {
        let square = token.iter().map(|x| x * x).sum::<f32>() / token.len() as f32;
        token.iter().zip(&norm.weights).map(|(x, weight)| x / (square + norm.epsilon).sqrt() * weight).collect()
    };
    planes(x.clone()).into_iter().map(of_token).collect()
}

/// Turns a head's query or key at a point, with pairs of channels as complex numbers.
fn turned(rotation: &Rotation, head: usize, (x, y): (f32, f32), channels: &[f32]) -> Vec<f32> {
    if *rotation == Rotation::None {
        return channels.to_vec();
    }
    let pairs = channels.len() / 2;
    let angle = |pair: usize| match rotation {
        Rotation::None => unreachable!("its channels need not be pairs"),
        Rotation::Learnt(frequencies) => {
            x * frequencies[head * pairs + pair][0] + y * frequencies[head * pairs + pair][1]
        }
        Rotation::Fixed { theta } if pair < pairs / 2 => y / theta.powf(2.0 * pair as f32 / pairs as f32),
        Rotation::Fixed { theta } => x / theta.powf(2.0 * (pair - pairs / 2) as f32 / pairs as f32),
    };
    let of_pair = |(pair, number): (usize, &[f32])| {
        let (sine, cosine) = angle(pair).sin_cos();
        [number[0] * cosine - number[1] * sine, number[0] * sine + number[1] * cosine]
    };
    channels.chunks_exact(2).enumerate().flat_map(of_pair).collect()
}

fn normed(norm: &Norm, mut planes: Planes) -> Planes {
    for ((plane, scale), shift) in planes.iter_mut().zip(&norm.scale).zip(&norm.shift) {
        plane.iter_mut().for_each(|x| *x = activated(norm.activation, *x * scale + shift));
    }
    planes
}

/// Adds its own number to each channel.
fn plus(mut planes: Planes, numbers: &[f32]) -> Planes {
    planes.iter_mut().zip(numbers).for_each(|(plane, number)| plane.iter_mut().for_each(|x| *x += number));
    planes
}

fn dense(layer: &Dense, input: &[f32]) -> Vec<f32> {
    assert_eq!(input.len(), layer.inputs);
    let row = |(row, bias): (&[f32], &f32)| bias + row.iter().zip(input).map(|(w, x)| w * x).sum::<f32>();
    layer.weights.chunks_exact(layer.inputs).zip(&layer.bias).map(row).collect()
}
