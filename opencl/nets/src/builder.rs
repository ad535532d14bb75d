//! From the arrays of a file to the layers of a graph. Errors name the field of the array that does not fit.

use crate::decode::{array, count};
use crate::error::NetError;
use crate::proto::{ConvBlock, Layer as Encoded};
use oncilla_opencl::graph::{Activation, Graph, Layer, Shape, ShapeError, SqueezeExcite, ValueId};

/// Squares of a chessboard.
pub(crate) const SQUARES: usize = 64;

/// A convolution of the file, on its way into the graph.
pub(crate) struct Step<'a> {
    pub block: Option<&'a ConvBlock<'a>>,
    pub field: &'a str,
    pub input: ValueId,
    pub kernel: usize,
    pub activation: Activation,
}

/// An array and the name of its field.
pub(crate) type Named<'a> = (&'a str, Option<&'a Encoded<'a>>);

/// What is done to the sums of a linear map.
#[derive(Clone, Copy)]
pub(crate) struct Ending {
    /// Scales both weights and bias.
    pub scale: f32,
    pub residual: Option<ValueId>,
    pub activation: Activation,
}

impl Ending {
    /// Applies only the activation.
    pub fn activate(activation: Activation) -> Self {
        Self { scale: 1.0, residual: None, activation }
    }
}

/// A graph that is being built.
pub(crate) struct Builder {
    pub graph: Graph,
    /// The network's default activation.
    pub activation: Activation,
}

impl Builder {
    pub fn new(input: Shape, activation: Activation) -> Self {
        Self { graph: Graph::new(input), activation }
    }

    pub fn push(&mut self, field: &str, layer: Layer) -> Result<ValueId, NetError> {
        self.graph.push(layer).map_err(|e: ShapeError| NetError::malformed(field, e.what))
    }

    /// The number of channels of a convolution whose arrays determine it.
    pub fn channels(step: &Step<'_>) -> Result<usize, NetError> {
        let block = step.block.ok_or_else(|| NetError::malformed(step.field, "expected a convolution, got none"))?;
        block.channels().map_err(|e| e.within(step.field))
    }

    pub fn conv(
        &mut self,
        step: &Step<'_>,
        channels: usize,
        se: Option<SqueezeExcite>,
        residual: Option<ValueId>,
    ) -> Result<ValueId, NetError> {
        let &Step { block, field, input, kernel, activation } = step;
        let block = block.ok_or_else(|| NetError::malformed(field, "expected a convolution, got none"))?;
        let inputs = self.graph.shape(input).channels;
        let conv = block.decode(channels, inputs, kernel).map_err(|e| e.within(field))?;
        let (weights, bias) = (conv.weights, conv.bias);
        self.push(field, Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation })
    }

    /// A dense layer with as many neurons as its bias has elements.
    pub fn dense(
        &mut self,
        input: ValueId,
        weights: Named<'_>,
        bias: Named<'_>,
        activation: Activation,
    ) -> Result<ValueId, NetError> {
        let (field, inputs) = (weights.0, self.graph.shape(input).len());
        let (weights, bias) = linear_map(weights, bias, &[inputs])?;
        self.push(field, Layer::Dense { input, channels: bias.len(), weights, bias, activation })
    }

    /// A dense layer whose weights are in the order of squares, with all channels of a square next to each other.
    pub fn dense_by_squares(
        &mut self,
        input: ValueId,
        weights: Named<'_>,
        bias: Named<'_>,
        activation: Activation,
    ) -> Result<ValueId, NetError> {
        let (field, from) = (weights.0, self.graph.shape(input));
        let (mut weights, bias) = linear_map(weights, bias, &[from.squares, from.channels])?;
        transpose_rows(&mut weights, from);
        self.push(field, Layer::Dense { input, channels: bias.len(), weights, bias, activation })
    }

    /// A linear map of each square, the same for all: a 1×1 convolution, with as many channels as its bias has
    /// elements.
    pub fn linear(
        &mut self,
        input: ValueId,
        weights: Named<'_>,
        bias: Named<'_>,
        ending: Ending,
    ) -> Result<ValueId, NetError> {
        let (field, inputs) = (weights.0, self.graph.shape(input).channels);
        let (weights, bias) = linear_map(weights, bias, &[inputs])?;
        self.pointwise(field, input, weights, bias, ending)
    }

    /// A 1×1 convolution from decoded arrays.
    pub fn pointwise(
        &mut self,
        field: &str,
        input: ValueId,
        mut weights: Vec<f32>,
        mut bias: Vec<f32>,
        ending: Ending,
    ) -> Result<ValueId, NetError> {
        let Ending { scale, residual, activation } = ending;
        weights.iter_mut().chain(&mut bias).for_each(|w| *w *= scale);
        let channels = bias.len();
        self.push(field, Layer::Conv { input, channels, kernel: 1, weights, bias, se: None, residual, activation })
    }

    pub fn layer_norm(
        &mut self,
        input: ValueId,
        gammas: Named<'_>,
        betas: Named<'_>,
        epsilon: f32,
    ) -> Result<ValueId, NetError> {
        let channels = self.graph.shape(input).channels;
        let field = gammas.0;
        let gammas = array(gammas.1, field, &[channels])?;
        let betas = array(betas.1, betas.0, &[channels])?;
        self.push(field, Layer::LayerNorm { input, epsilon, gammas, betas })
    }
}

/// Weights `[neurons][inputs…]` and the bias, for as many neurons as the bias has elements.
fn linear_map(weights: Named<'_>, bias: Named<'_>, inputs: &[usize]) -> Result<(Vec<f32>, Vec<f32>), NetError> {
    let neurons = elements(bias)?;
    let weights = array(weights.1, weights.0, &[&[neurons], inputs].concat())?;
    Ok((weights, array(bias.1, bias.0, &[neurons])?))
}

/// The number of elements of an array, which must not be empty.
pub(crate) fn elements((field, array): Named<'_>) -> Result<usize, NetError> {
    match count(array, field)? {
        0 => Err(NetError::malformed(field, "expected at least one number, got none")),
        n => Ok(n),
    }
}

/// Transposes every row of `weights` from `[squares][channels]` to `[channels][squares]`.
fn transpose_rows(weights: &mut [f32], shape: Shape) {
    let mut row = vec![0.0; shape.len()];
    for weights in weights.chunks_exact_mut(shape.len()) {
        row.copy_from_slice(weights);
        for (channel, weights) in weights.chunks_exact_mut(shape.squares).enumerate() {
            let squares = row[channel..].iter().step_by(shape.channels);
            weights.iter_mut().zip(squares).for_each(|(w, v)| *w = *v);
        }
    }
}
