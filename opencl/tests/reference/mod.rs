//! A graph in plain loops, read off the definitions in `graph.rs`.

use oncilla_opencl::backend::Outputs;
use oncilla_opencl::graph::{Activation, Graph, Layer, SqueezeExcite, ValueId};

fn activate(x: f64, activation: Activation) -> f64 {
    match activation {
        Activation::None | Activation::Softmax => x,
        // f64::max would hide a NaN.
        Activation::Relu => {
            if x < 0.0 {
                0.0
            } else {
                x
            }
        }
        Activation::Mish => x * x.exp().ln_1p().tanh(),
        Activation::Tanh => x.tanh(),
    }
}

fn row(w: &[f32], b: f32, x: &[f64]) -> f64 {
    w.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum::<f64>() + f64::from(b)
}

fn excite(z: &mut [f64], se: &SqueezeExcite, squares: usize, activation: Activation) {
    let channels = z.len() / squares;
    let pool: Vec<f64> = z.chunks(squares).map(|c| c.iter().sum::<f64>() / squares as f64).collect();
    let hidden = se.w1.chunks(channels).zip(&se.b1).map(|(w, b)| activate(row(w, *b, &pool), activation));
    let hidden: Vec<f64> = hidden.collect();
    let e: Vec<f64> = se.w2.chunks(se.hidden).zip(&se.b2).map(|(w, b)| row(w, *b, &hidden)).collect();
    for (i, z) in z.iter_mut().enumerate() {
        let c = i / squares;
        *z = *z / (1.0 + (-e[c]).exp()) + e[channels + c];
    }
}

fn convolve(x: &[f64], squares: usize, k: usize, weights: &[f32], bias: &[f32]) -> Vec<f64> {
    let side = squares.isqrt();
    let p = k / 2;
    let mut out = Vec::new();
    for (w, b) in weights.chunks(x.len() / squares * k * k).zip(bias) {
        for square in 0..squares {
            let mut sum = f64::from(*b);
            for (at, w) in w.iter().enumerate() {
                let (c, i, j) = (at / (k * k), at / k % k, at % k);
                let (y, x_) = (square / side + i, square % side + j);
                if y >= p && y - p < side && x_ >= p && x_ - p < side {
                    sum += f64::from(*w) * x[c * squares + (y - p) * side + x_ - p];
                }
            }
            out.push(sum);
        }
    }
    out
}

fn layer(layer: &Layer, squares: usize, values: &[Vec<f64>]) -> Vec<f64> {
    match layer {
        Layer::Conv { input, kernel, weights, bias, se, residual, activation, .. } => {
            let mut z = convolve(&values[input.0], squares, *kernel, weights, bias);
            if let Some(se) = se {
                excite(&mut z, se, squares, *activation);
            }
            if let Some(residual) = residual {
                z.iter_mut().zip(&values[residual.0]).for_each(|(z, r)| *z += r);
            }
            z.iter().map(|&z| activate(z, *activation)).collect()
        }
        Layer::Dense { input, weights, bias, activation, .. } => {
            let x = &values[input.0];
            let rows = weights.chunks(x.len()).zip(bias);
            let y: Vec<f64> = rows.map(|(w, b)| activate(row(w, *b, x), *activation)).collect();
            match activation {
                Activation::Softmax => {
                    let sum: f64 = y.iter().map(|y| y.exp()).sum();
                    y.iter().map(|y| y.exp() / sum).collect()
                }
                _ => y,
            }
        }
        Layer::Gather { input, indices } => indices.iter().map(|&i| values[input.0][i as usize]).collect(),
    }
}

/// All outputs of a batch.
pub fn evaluate(graph: &Graph, input: &[f32]) -> Outputs {
    let mut outputs = Outputs::default();
    for position in input.chunks(graph.input().len()) {
        let mut values: Vec<Vec<f64>> = vec![position.iter().map(|&x| f64::from(x)).collect()];
        for (at, each) in graph.layers().iter().enumerate() {
            values.push(layer(each, graph.shape(ValueId(at + 1)).squares, &values));
        }
        for output in graph.outputs() {
            outputs.head_mut(output.role).extend(values[output.value.0].iter().map(|&x| x as f32));
        }
    }
    outputs
}
