//! From the layers of a graph to the launches of kernels.

use crate::device::{Buffer, Error};
use crate::graph::{Activation, Graph, Layer, SqueezeExcite, ValueId};
use crate::kernels::conv::{self, Conv, Joins};
use crate::kernels::{
    Kernels, Launch, Step, Value, affine, attention, dense, elementwise, gather, norm, pool, se, softmax,
};
use std::sync::Arc;

/// Makes the launches of each layer, which read and write `values`, and sends its weights.
///
/// # Errors
/// If the device can't run a layer, or if the driver fails.
pub(super) fn lower(kernels: &mut Kernels<'_>, graph: &Graph, values: &[Value]) -> Result<Vec<Vec<Step>>, Error> {
    let mut lowering = Lowering { kernels, graph, values, shared: Vec::new() };
    (0..graph.layers().len()).map(|at| lowering.layer(at)).collect()
}

struct Lowering<'a, 'k> {
    kernels: &'a mut Kernels<'k>,
    graph: &'a Graph,
    /// By [`ValueId`].
    values: &'a [Value],
    /// Weights that layers share, by their address in the graph.
    shared: Vec<(*const Vec<f32>, Buffer)>,
}

impl Lowering<'_, '_> {
    fn layer(&mut self, at: usize) -> Result<Vec<Step>, Error> {
        let (values, output, int8) = (self.values, &self.values[at + 1], self.graph.is_int8(at));
        let value = |id: &ValueId| &values[id.0];
        let kernels = &mut *self.kernels;
        let launch: Launch = match &self.graph.layers()[at] {
            Layer::Conv { input, kernel, weights, bias, se, residual, activation, .. } => {
                let conv = Conv {
                    input: value(input),
                    kernel: *kernel,
                    weights,
                    bias,
                    residual: residual.as_ref().map(value),
                    activation: *activation,
                    output,
                    int8,
                    joins: Joins::of(kernels, self.graph, at),
                    se: None,
                };
                return self.convolution(conv, se.as_ref());
            }
            Layer::Dense { input, weights, bias, activation, .. } => {
                let activation = *activation;
                return self.dense(&dense::Dense { input: value(input), weights, bias, activation, output, int8 });
            }
            Layer::Smolgen { input, heads, weights } => {
                return self.smolgen(value(input), *heads, weights, output);
            }
            Layer::Gather { input, indices, residual, .. } => {
                let residual = residual.as_ref().map(value);
                gather::launch(kernels, &gather::Gather { input: value(input), indices, residual, output })?
            }
            Layer::Constant { values, .. } => elementwise::launch_constant(kernels, values, output)?,
            Layer::Gate { input, scale, shift } => {
                elementwise::launch_gate(kernels, value(input), scale, shift, output)?
            }
            Layer::Affine { input, added, scale, shift, activation } => {
                let (input, added, activation) = (value(input), added.as_ref().map(value), *activation);
                affine::launch(kernels, &affine::Affine { input, added, scale, shift, activation, output })?
            }
            Layer::Pool { input } => pool::launch(kernels, value(input), output)?,
            Layer::LayerNorm { input, epsilon, gammas, betas } => {
                let (input, epsilon) = (value(input), *epsilon);
                norm::launch(kernels, &norm::LayerNorm { input, epsilon, gammas, betas, output })?
            }
            Layer::RmsNorm { input, epsilon, whole } => {
                norm::launch_rms_norm(kernels, value(input), *epsilon, *whole, output)?
            }
            Layer::Rotate { input, angles } => elementwise::launch_turn_pairs(kernels, value(input), angles, output)?,
            Layer::Multiply { left, right } => {
                elementwise::launch_multiply_values(kernels, value(left), value(right), output)?
            }
            Layer::Attention { query, key, value: of, heads, bias } => {
                let (query, key, value, bias) = (value(query), value(key), value(of), bias.as_ref().map(value));
                let attention = attention::Attention { query, key, value, heads: *heads, bias, output };
                attention::launch(kernels, &attention)?
            }
            Layer::Scores { query, key } => attention::launch_scores(kernels, value(query), value(key), output)?,
        };
        Ok(vec![launch.into()])
    }

    /// A convolution, and the squeeze and excitation of its output: in one launch with what joins the next layer, or
    /// in one of its own.
    fn convolution(&mut self, conv: Conv<'_>, se: Option<&SqueezeExcite>) -> Result<Vec<Step>, Error> {
        let Some(weights) = se else { return Ok(vec![conv::step(self.kernels, &conv)?]) };
        // Squeeze and excitation needs the complete convolution first: so residual and activation go to its launch.
        let se = se::Se { value: conv.output, weights, residual: conv.residual, activation: conv.activation };
        let sums = Conv { residual: None, activation: Activation::None, ..conv };
        if sums.joins.next {
            return Ok(vec![conv::step(self.kernels, &Conv { se: Some(se), ..sums })?]);
        }
        Ok(vec![conv::step(self.kernels, &sums)?, se::launch(self.kernels, &se)?.into()])
    }

    fn dense(&mut self, dense: &dense::Dense<'_>) -> Result<Vec<Step>, Error> {
        let mut steps = vec![dense::step(self.kernels, dense)?];
        if dense.activation == Activation::Softmax {
            steps.push(softmax::launch(self.kernels, dense.output)?.into());
        }
        Ok(steps)
    }

    fn smolgen(
        &mut self,
        input: &Value,
        heads: usize,
        weights: &Arc<Vec<f32>>,
        output: &Value,
    ) -> Result<Vec<Step>, Error> {
        let weights = &self.shared_weights(weights, output.layout.shape.squares)?;
        let smolgen = attention::Smolgen { input, heads, weights, output };
        Ok(vec![attention::launch_smolgen(self.kernels, &smolgen)?])
    }

    /// The buffer of a smolgen's weights, which are sent once for all layers that share them.
    fn shared_weights(&mut self, weights: &Arc<Vec<f32>>, outputs: usize) -> Result<Buffer, Error> {
        let address = Arc::as_ptr(weights);
        if let Some((_, buffer)) = self.shared.iter().find(|(known, _)| *known == address) {
            return Ok(buffer.clone());
        }
        let buffer = attention::upload_smolgen(self.kernels, weights, outputs)?;
        self.shared.push((address, buffer.clone()));
        Ok(buffer)
    }
}
