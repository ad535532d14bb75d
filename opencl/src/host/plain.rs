//! The reference: each layer follows its definition, one position after the other, with sums in double precision.
//!
//! It is slow on purpose. Tests compare every other way of running a graph with it.

use crate::backend::{BackendError, Outputs, batch_of};
use crate::graph::{Activation, Graph, Layer, SELU, Shape, SqueezeExcite};
use crate::int8;

/// Evaluates `input`, `[batch][channels][squares]`, for a batch of any size from 1 on.
///
/// # Errors
/// If `input` is not a whole number of positions, or if a 3×3 or 5×5 convolution works on squares that are not a board.
pub fn evaluate(graph: &Graph, input: &[f32]) -> Result<Outputs, BackendError> {
    batch_of(graph, usize::MAX, input)?;
    let mut outputs = Outputs::default();
    for position in input.chunks_exact(graph.input().len()) {
        let values = values(graph, position)?;
        for output in graph.outputs() {
            outputs.head_mut(output.role).extend_from_slice(&values[output.value.0]);
        }
    }
    Ok(outputs)
}

/// Every value of the graph for one position, in the order of their `ValueId`s; the first is `position` itself.
///
/// # Errors
/// Like [`evaluate`].
pub fn values(graph: &Graph, position: &[f32]) -> Result<Vec<Vec<f32>>, BackendError> {
    values_with(graph, position, |_, made| made)
}

/// Like [`values`], with what each layer makes replaced by something else.
///
/// # Errors
/// Like [`evaluate`].
pub(super) fn values_with(
    graph: &Graph,
    position: &[f32],
    each: impl Fn(&Layer, Vec<f32>) -> Vec<f32>,
) -> Result<Vec<Vec<f32>>, BackendError> {
    batch_of(graph, 1, position)?;
    let mut values = vec![position.to_vec()];
    for layer in graph.layers() {
        let int8 = graph.is_int8(values.len() - 1);
        values.push(each(layer, run(graph, layer, int8, &values)?));
    }
    Ok(values)
}

fn run(graph: &Graph, layer: &Layer, int8: bool, values: &[Vec<f32>]) -> Result<Vec<f32>, BackendError> {
    Ok(match layer {
        Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation } => {
            let shape = graph.shape(*input);
            let side = graph.sides_for(*kernel, shape.squares).map_err(BackendError)?;
            let inputs = shape.channels;
            let mut y = match int8 {
                false => convolve(&values[input.0], inputs, *channels, side, *kernel, weights, bias),
                true => in_whole_numbers(&values[input.0], weights, bias, |x, weights| {
                    convolve(x, inputs, *channels, side, *kernel, weights, &vec![0.0; *channels])
                }),
            };
            if let Some(se) = se {
                squeeze_excite(se, &mut y, shape.squares, *activation);
            }
            if let Some(residual) = residual {
                y.iter_mut().zip(&values[residual.0]).for_each(|(y, r)| *y += f64::from(*r));
            }
            activate(*activation, y)
        }
        Layer::Dense { input, weights, bias, activation, .. } => {
            let x = &values[input.0];
            let y: Vec<f64> = match int8 {
                false => products(x, weights).iter().zip(bias).map(|(y, b)| y + f64::from(*b)).collect(),
                true => in_whole_numbers(x, weights, bias, products),
            };
            activate(*activation, y)
        }
        Layer::Gather { input, indices, residual, .. } => {
            let mut y: Vec<f32> = indices.iter().map(|&i| values[input.0][i as usize]).collect();
            if let Some(residual) = residual {
                y.iter_mut().zip(&values[residual.0]).for_each(|(y, r)| *y += r);
            }
            y
        }
        Layer::Constant { values, .. } => values.clone(),
        Layer::Gate { input, scale, shift } => {
            let pairs = scale.iter().zip(shift);
            let gate = |(x, (a, b)): (&f32, (&f32, &f32))| (f64::from(*x) * f64::from(*a) + f64::from(*b)) as f32;
            values[input.0].iter().zip(pairs).map(gate).collect()
        }
        Layer::Affine { input, added, scale, shift, activation } => {
            let squares = graph.shape(*input).squares;
            let mut y = Vec::with_capacity(values[input.0].len());
            for (channel, plane) in values[input.0].chunks_exact(squares).enumerate() {
                let added = added.map_or(0.0, |added| f64::from(values[added.0][channel]));
                let (a, b) = (f64::from(scale[channel]), f64::from(shift[channel]));
                y.extend(plane.iter().map(|&x| a * (f64::from(x) + added) + b));
            }
            activate(*activation, y)
        }
        Layer::Pool { input } => {
            let planes = || values[input.0].chunks_exact(graph.shape(*input).squares);
            let mean = |plane: &[f32]| (plane.iter().map(|&x| f64::from(x)).sum::<f64>() / plane.len() as f64) as f32;
            planes().map(mean).chain(planes().map(largest)).collect()
        }
        Layer::LayerNorm { input, epsilon, gammas, betas } => {
            layer_norm(&values[input.0], graph.shape(*input), f64::from(*epsilon), gammas, betas)
        }
        Layer::RmsNorm { input, epsilon, whole } => {
            rms_norm(&values[input.0], graph.shape(*input), f64::from(*epsilon), *whole)
        }
        Layer::Rotate { input, angles } => {
            let (x, squares) = (&values[input.0], graph.shape(*input).squares);
            let turned = |at: usize| {
                let (channel, square) = (at / squares, at % squares);
                let angle = f64::from(angles[channel / 2 * squares + square]);
                let (other, sine) =
                    if channel % 2 == 0 { (at + squares, -angle.sin()) } else { (at - squares, angle.sin()) };
                (f64::from(x[at]) * angle.cos() + f64::from(x[other]) * sine) as f32
            };
            (0..x.len()).map(turned).collect()
        }
        Layer::Multiply { left, right } => values[left.0].iter().zip(&values[right.0]).map(|(a, b)| a * b).collect(),
        Layer::Attention { query, key, value, heads, bias } => {
            let bias = bias.map(|bias| &values[bias.0][..]);
            let [query, key, value] = [query, key, value].map(|v| (graph.shape(*v), &values[v.0][..]));
            attention(query, key.1, value, *heads, bias)
        }
        Layer::Smolgen { input, heads, weights } => {
            let parts = values[input.0].chunks_exact(values[input.0].len() / heads);
            let of_part = |part: &[f32]| match int8 {
                false => products(part, weights),
                true => in_whole_numbers(part, weights, &vec![0.0; weights.len() / part.len()], products),
            };
            parts.flat_map(of_part).map(|y| y as f32).collect()
        }
        Layer::Scores { query, key } => {
            let (from, to) = (graph.shape(*query), graph.shape(*key));
            let scale = 1.0 / (from.channels as f64).sqrt();
            let (query, key) = (&values[query.0][..], &values[key.0][..]);
            let score = &|a: usize, b: usize| scale * product((query, from.squares, a), (key, to.squares, b));
            (0..from.squares).flat_map(|a| (0..to.squares).map(move |b| score(a, b) as f32)).collect()
        }
    })
}

/// The scalar products of a vector with each row of `weights`.
fn products(x: &[f32], weights: &[f32]) -> Vec<f64> {
    weights.chunks_exact(x.len()).map(|w| dot(w, x)).collect()
}

/// The scalar product of the channels of square `a` with those of square `b`; for each side the values, the number of
/// squares and the square are given.
fn product((a, squares_a, at_a): (&[f32], usize, usize), (b, squares_b, at_b): (&[f32], usize, usize)) -> f64 {
    let a = a.chunks_exact(squares_a).map(|channel| f64::from(channel[at_a]));
    let b = b.chunks_exact(squares_b).map(|channel| f64::from(channel[at_b]));
    a.zip(b).map(|(a, b)| a * b).sum()
}

fn layer_norm(x: &[f32], shape: Shape, epsilon: f64, gammas: &[f32], betas: &[f32]) -> Vec<f32> {
    let mut y = vec![0.0; x.len()];
    for square in 0..shape.squares {
        let at = |channel: usize| channel * shape.squares + square;
        let mean = (0..shape.channels).map(|c| f64::from(x[at(c)])).sum::<f64>() / shape.channels as f64;
        let squares = (0..shape.channels).map(|c| (f64::from(x[at(c)]) - mean).powi(2));
        let deviation = (squares.sum::<f64>() / shape.channels as f64 + epsilon).sqrt();
        for c in 0..shape.channels {
            let normed = (f64::from(x[at(c)]) - mean) / deviation;
            y[at(c)] = (f64::from(gammas[c]) * normed + f64::from(betas[c])) as f32;
        }
    }
    y
}

fn rms_norm(x: &[f32], shape: Shape, epsilon: f64, whole: bool) -> Vec<f32> {
    let of = |square: usize| x.iter().skip(square).step_by(shape.squares).map(|&x| f64::from(x).powi(2)).sum::<f64>();
    let mut sums: Vec<f64> = (0..shape.squares).map(of).collect();
    let mut count = shape.channels;
    if whole {
        let all = sums.iter().sum();
        sums.fill(all);
        count *= shape.squares;
    }
    let scale = |square: usize| 1.0 / (sums[square] / count as f64 + epsilon).sqrt();
    x.iter().enumerate().map(|(at, &x)| (f64::from(x) * scale(at % shape.squares)) as f32).collect()
}

/// `query` and `value` are each given as shape and elements.
fn attention(
    (from, query): (Shape, &[f32]),
    key: &[f32],
    (to, value): (Shape, &[f32]),
    heads: usize,
    bias: Option<&[f32]>,
) -> Vec<f32> {
    let squares = from.squares;
    let (depth, width) = (from.channels / heads, to.channels / heads);
    let mut y = vec![0.0; value.len()];
    for head in 0..heads {
        let query = &query[head * depth * squares..][..depth * squares];
        let key = &key[head * depth * squares..][..depth * squares];
        for q in 0..squares {
            let logit = |k: usize| {
                let bias = bias.map_or(0.0, |bias| f64::from(bias[(head * squares + k) * squares + q]));
                product((query, squares, q), (key, squares, k)) / (depth as f64).sqrt() + bias
            };
            let logits: Vec<f64> = (0..squares).map(logit).collect();
            let largest = logits.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
            let weights: Vec<f64> = logits.iter().map(|v| (v - largest).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for c in head * width..(head + 1) * width {
                let channel = &value[c * squares..][..squares];
                let mean = channel.iter().zip(&weights).map(|(v, w)| f64::from(*v) * w).sum::<f64>() / sum;
                y[c * squares + q] = mean as f32;
            }
        }
    }
    y
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn convolve(
    x: &[f32],
    inputs: usize,
    outputs: usize,
    (rows, files): (usize, usize),
    kernel: usize,
    weights: &[f32],
    bias: &[f32],
) -> Vec<f64> {
    let squares = rows * files;
    let mut y = Vec::with_capacity(outputs * squares);
    for o in 0..outputs {
        for row in 0..rows {
            for file in 0..files {
                let mut sum = f64::from(bias[o]);
                for i in 0..inputs {
                    for kr in 0..kernel {
                        for kf in 0..kernel {
                            let (r, f) = (row + kr, file + kf);
                            let pad = kernel / 2;
                            if r < pad || f < pad || r - pad >= rows || f - pad >= files {
                                continue;
                            }
                            let w = weights[((o * inputs + i) * kernel + kr) * kernel + kf];
                            sum += f64::from(w) * f64::from(x[i * squares + (r - pad) * files + f - pad]);
                        }
                    }
                }
                y.push(sum);
            }
        }
    }
    y
}

/// What `multiply` makes of input and weights after they were rounded, see [`crate::int8`]. In double precision a sum
/// of whole numbers is exact.
fn in_whole_numbers(
    x: &[f32],
    weights: &[f32],
    bias: &[f32],
    multiply: impl FnOnce(&[f32], &[f32]) -> Vec<f64>,
) -> Vec<f64> {
    let most = int8::most(x);
    let weights = int8::Weights::new(weights, bias.len());
    let whole = |x: &i8| f32::from(*x);
    let numbers: Vec<f32> = x.iter().map(|&x| whole(&int8::round(x, int8::per_step(most)))).collect();
    let mut y = multiply(&numbers, &weights.numbers.iter().map(whole).collect::<Vec<_>>());
    let step = f64::from(most / int8::MOST);
    let each = y.len() / bias.len();
    for ((y, weight_step), bias) in y.chunks_exact_mut(each).zip(&weights.steps).zip(bias) {
        y.iter_mut().for_each(|y| *y = *y * step * f64::from(*weight_step) + f64::from(*bias));
    }
    y
}

fn squeeze_excite(se: &SqueezeExcite, y: &mut [f64], squares: usize, activation: Activation) {
    let channels = y.len() / squares;
    let pooled: Vec<f32> =
        y.chunks_exact(squares).map(|plane| (plane.iter().sum::<f64>() / squares as f64) as f32).collect();
    let hidden = se.w1.chunks_exact(channels).zip(&se.b1).map(|(w, b)| f64::from(*b) + dot(w, &pooled));
    let hidden = activate(activation, hidden.collect());
    let excited: Vec<f64> =
        se.w2.chunks_exact(se.hidden).zip(&se.b2).map(|(w, b)| f64::from(*b) + dot(w, &hidden)).collect();
    for (c, plane) in y.chunks_exact_mut(squares).enumerate() {
        let scale = 1.0 / (1.0 + (-excited[c]).exp());
        plane.iter_mut().for_each(|v| *v = scale * *v + excited[channels + c]);
    }
}

/// The largest of some numbers; NaN if one is NaN.
fn largest(plane: &[f32]) -> f32 {
    plane.iter().fold(f32::NEG_INFINITY, |most, &x| if x > most || x.is_nan() { x } else { most })
}

/// Keeps a NaN, as every backend does, which `max` would hide.
fn relu(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { x }
}

fn activate(activation: Activation, mut y: Vec<f64>) -> Vec<f32> {
    match activation {
        Activation::None => {}
        Activation::Relu => y.iter_mut().for_each(|v| *v = relu(*v)),
        Activation::Mish => y.iter_mut().for_each(|v| *v *= softplus(*v).tanh()),
        Activation::Tanh => y.iter_mut().for_each(|v| *v = v.tanh()),
        Activation::Relu2 => y.iter_mut().for_each(|v| *v = relu(*v).powi(2)),
        Activation::Swish => y.iter_mut().for_each(|v| *v /= 1.0 + (-*v).exp()),
        Activation::Selu => y.iter_mut().for_each(|v| {
            let (lambda, alpha) = (f64::from(SELU.0), f64::from(SELU.1));
            *v = if *v > 0.0 { lambda * *v } else { lambda * alpha * v.exp_m1() };
        }),
        Activation::Sigmoid => y.iter_mut().for_each(|v| *v = 1.0 / (1.0 + (-*v).exp())),
        Activation::Softmax => {
            let largest = y.iter().fold(f64::NEG_INFINITY, |m, &v| m.max(v));
            y.iter_mut().for_each(|v| *v = (*v - largest).exp());
            let sum: f64 = y.iter().sum();
            y.iter_mut().for_each(|v| *v /= sum);
        }
    }
    y.into_iter().map(|v| v as f32).collect()
}

/// `ln(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
