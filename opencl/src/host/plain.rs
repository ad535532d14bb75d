//! The reference: each layer as it is defined, one position after the other, sums in double precision.
//!
//! Slow on purpose. Tests compare every other way of running a graph with this one.

use crate::backend::{BackendError, Outputs, batch_of};
use crate::graph::{Activation, Graph, Layer, Shape, SqueezeExcite};

/// Evaluates `input`, `[batch][channels][squares]`, a batch of any size from 1.
///
/// # Errors
/// If `input` is not a whole number of positions, or a 3×3 convolution runs over a board that is not a square.
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
/// As [`evaluate`].
pub fn values(graph: &Graph, position: &[f32]) -> Result<Vec<Vec<f32>>, BackendError> {
    batch_of(graph, 1, position)?;
    let mut values = vec![position.to_vec()];
    for layer in graph.layers() {
        values.push(run(graph, layer, &values)?);
    }
    Ok(values)
}

fn run(graph: &Graph, layer: &Layer, values: &[Vec<f32>]) -> Result<Vec<f32>, BackendError> {
    Ok(match layer {
        Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation } => {
            let shape = graph.shape(*input);
            let side = side(shape, *kernel)?;
            let mut y = convolve(&values[input.0], shape.channels, *channels, side, *kernel, weights, bias);
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
            let rows = weights.chunks_exact(x.len()).zip(bias);
            activate(*activation, rows.map(|(w, b)| f64::from(*b) + dot(w, x)).collect())
        }
        Layer::Gather { input, indices } => indices.iter().map(|&i| values[input.0][i as usize]).collect(),
    })
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Rows and files of a board; a 1×1 convolution doesn't care how the squares lie.
fn side(shape: Shape, kernel: usize) -> Result<(usize, usize), BackendError> {
    let side = shape.squares.isqrt();
    match kernel {
        1 => Ok((1, shape.squares)),
        _ if side * side == shape.squares => Ok((side, side)),
        _ => Err(BackendError(format!(
            "a {kernel}x{kernel} convolution needs a square board, got {} squares",
            shape.squares
        ))),
    }
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

fn activate(activation: Activation, mut y: Vec<f64>) -> Vec<f32> {
    match activation {
        Activation::None => {}
        Activation::Relu => y.iter_mut().for_each(|v| *v = v.max(0.0)),
        Activation::Mish => y.iter_mut().for_each(|v| *v *= softplus(*v).tanh()),
        Activation::Tanh => y.iter_mut().for_each(|v| *v = v.tanh()),
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
