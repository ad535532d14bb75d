//! A model run as its layers are described: one position, one layer after the other.

use oncilla_nets::katago::{Block, Conv, Dense, Model, Norm, Pass, PolicyHead, ValueHead};
use oncilla_opencl::graph::Activation;

/// `[channel][y·width + x]`.
pub type Planes = Vec<Vec<f32>>;

/// What a model says, before anything is done with it.
pub struct Raw {
    /// `[point]`, and that of a pass last.
    pub policy: Vec<f32>,
    /// Win, loss, no result.
    pub value: Vec<f32>,
    /// See [`ValueHead::scores`].
    pub scores: Vec<f32>,
    /// `[point]`.
    pub ownership: Vec<f32>,
}

/// The size of the board, all of whose points are on it.
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

    /// Of each channel the mean, then of each that times the board's size, then of each the maximum.
    fn pooled(self, input: &Planes) -> Vec<f32> {
        let means = means(input);
        let sized: Vec<f32> = means.iter().map(|mean| mean * self.offset() / 10.0).collect();
        let most = input.iter().map(|plane| plane.iter().copied().fold(f32::NEG_INFINITY, f32::max)).collect();
        [means, sized, most].concat()
    }

    /// As the value head has it: with the square of the board's size in the place of the maximum.
    fn pooled_for_value(self, input: &Planes) -> Vec<f32> {
        let factors = [1.0, self.offset() / 10.0, self.offset().powi(2) / 100.0 - 0.1];
        let means = means(input);
        factors.iter().flat_map(|factor| means.iter().map(move |mean| mean * factor)).collect()
    }

    fn block(self, block: &Block, x: &Planes) -> Planes {
        let (second, norm, mut inner) = match block {
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
        inner.iter_mut().zip(x).for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(to, from)| *to += from));
        inner
    }

    fn policy(self, head: &PolicyHead, x: &Planes) -> Vec<f32> {
        let pooled = self.pooled(&normed(&head.pooled_norm, self.conv(&head.pooled, x)));
        let sum = plus(self.conv(&head.conv, x), &dense(&head.bias, &pooled));
        let mut logits = self.conv(&head.points, &normed(&head.norm, sum)).swap_remove(0);
        let Pass::Linear(pass) = &head.pass else { panic!("nothing of that version is recorded") };
        logits.push(dense(pass, &pooled)[0]);
        logits
    }

    fn value(self, head: &ValueHead, x: &Planes) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let v = normed(&head.norm, self.conv(&head.conv, x));
        let hidden = dense(&head.hidden, &self.pooled_for_value(&v));
        let hidden: Vec<f32> = hidden.into_iter().map(|x| activated(head.activation, x)).collect();
        let ownership = self.conv(&head.ownership, &v).swap_remove(0).into_iter().map(f32::tanh).collect();
        (dense(&head.value, &hidden), dense(&head.scores, &hidden), ownership)
    }

    /// What the model says of a position.
    pub fn evaluate(self, model: &Model, planes: &Planes, globals: &[f32]) -> Raw {
        let trunk = &model.trunk;
        let x = plus(self.conv(&trunk.conv, planes), &dense(&trunk.globals, globals));
        let x = trunk.blocks.iter().fold(x, |x, block| self.block(block, &x));
        let x = normed(&trunk.norm, x);
        let (value, scores, ownership) = self.value(&model.value, &x);
        Raw { policy: self.policy(&model.policy, &x), value, scores, ownership }
    }
}

fn means(input: &Planes) -> Vec<f32> {
    input.iter().map(|plane| plane.iter().sum::<f32>() / plane.len() as f32).collect()
}

fn activated(activation: Activation, x: f32) -> f32 {
    match activation {
        Activation::Relu => x.max(0.0),
        other => panic!("{other:?} is not in what is recorded"),
    }
}

fn normed(norm: &Norm, mut planes: Planes) -> Planes {
    for ((plane, scale), shift) in planes.iter_mut().zip(&norm.scale).zip(&norm.shift) {
        plane.iter_mut().for_each(|x| *x = activated(norm.activation, *x * scale + shift));
    }
    planes
}

/// Adds to each channel a number of its own.
fn plus(mut planes: Planes, numbers: &[f32]) -> Planes {
    planes.iter_mut().zip(numbers).for_each(|(plane, number)| plane.iter_mut().for_each(|x| *x += number));
    planes
}

fn dense(layer: &Dense, input: &[f32]) -> Vec<f32> {
    assert_eq!(input.len(), layer.inputs);
    let row = |(row, bias): (&[f32], &f32)| bias + row.iter().zip(input).map(|(w, x)| w * x).sum::<f32>();
    layer.weights.chunks_exact(layer.inputs).zip(&layer.bias).map(row).collect()
}
