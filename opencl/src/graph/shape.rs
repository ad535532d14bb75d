//! The shape of the value that a layer makes, and whether the layer's numbers fit the values that it reads.

use super::{Activation, Graph, Layer, Shape, SqueezeExcite, ValueId};

/// Checks that a value's elements can be counted as kernels do, in an `int`.
pub(super) fn countable(shape: Shape) -> Result<Shape, String> {
    let Shape { channels, squares } = shape;
    match channels.checked_mul(squares) {
        Some(1..=MOST_ELEMENTS) => Ok(shape),
        _ => Err(format!("expected 1 to {MOST_ELEMENTS} elements, got {channels} channels of {squares} squares")),
    }
}

/// The most elements of a value, for one position.
const MOST_ELEMENTS: usize = i32::MAX as usize;

impl Graph {
    pub(super) fn get(&self, value: ValueId) -> Result<Shape, String> {
        let made = self.shapes.len();
        self.shapes.get(value.0).copied().ok_or_else(|| format!("reads value {}, only {made} exist", value.0))
    }

    pub(super) fn shape_of(&self, layer: &Layer) -> Result<Shape, String> {
        match layer {
            Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation } => {
                let from = self.get(*input)?;
                let to = Shape { channels: *channels, squares: from.squares };
                if !matches!(kernel, 1 | 3 | 5) {
                    return Err(format!("kernel size: expected 1, 3 or 5, got {kernel}"));
                }
                if *activation == Activation::Softmax {
                    return Err("a convolution can't end in a softmax".to_string());
                }
                check("convolution weights", weights, &[*channels, from.channels, *kernel, *kernel])?;
                check("convolution bias", bias, &[*channels])?;
                if let Some(se) = se {
                    check_squeeze(se, *channels)?;
                }
                self.check_residual(*residual, to)?;
                Ok(to)
            }
            Layer::Dense { input, channels, weights, bias, .. } => {
                let from = self.get(*input)?;
                check("dense weights", weights, &[*channels, from.channels, from.squares])?;
                check("dense bias", bias, &[*channels])?;
                Ok(Shape { channels: *channels, squares: 1 })
            }
            Layer::Gather { input, indices, squares, residual } => {
                let to = gathered(self.get(*input)?, indices, *squares)?;
                self.check_residual(*residual, to)?;
                Ok(to)
            }
            Layer::Constant { shape, values } => {
                check("constant", values, &[shape.channels, shape.squares])?;
                Ok(*shape)
            }
            Layer::Gate { input, scale, shift } => {
                let shape = self.get(*input)?;
                check("gate scale", scale, &[shape.channels, shape.squares])?;
                check("gate shift", shift, &[shape.channels, shape.squares])?;
                Ok(shape)
            }
            Layer::Affine { input, added, scale, shift, activation } => {
                let shape = self.get(*input)?;
                let expected = Shape { channels: shape.channels, squares: 1 };
                if let Some(added) = added.map(|added| self.get(added)).transpose()?.filter(|&added| added != expected)
                {
                    return Err(format!("affine: expected {expected:?} to be added, got {added:?}"));
                }
                if *activation == Activation::Softmax {
                    return Err("an affine layer can't end in a softmax".to_string());
                }
                check("affine scale", scale, &[shape.channels])?;
                check("affine shift", shift, &[shape.channels])?;
                Ok(shape)
            }
            Layer::Pool { input } => Ok(Shape { channels: 2 * self.get(*input)?.channels, squares: 1 }),
            Layer::LayerNorm { input, epsilon, gammas, betas } => {
                let shape = self.get(*input)?;
                if !(*epsilon >= 0.0 && epsilon.is_finite()) {
                    return Err(format!("layer norm epsilon: expected a number of at least 0, got {epsilon}"));
                }
                check("layer norm gammas", gammas, &[shape.channels])?;
                check("layer norm betas", betas, &[shape.channels])?;
                Ok(shape)
            }
            Layer::RmsNorm { input, epsilon, .. } => match *epsilon > 0.0 && epsilon.is_finite() {
                true => self.get(*input),
                false => Err(format!("RMS norm epsilon: expected a number above 0, got {epsilon}")),
            },
            Layer::Rotate { input, angles } => {
                let shape = self.get(*input)?;
                if !shape.channels.is_multiple_of(2) {
                    return Err(format!("rotation: expected an even number of channels, got {}", shape.channels));
                }
                check("rotation angles", angles, &[shape.channels / 2, shape.squares])?;
                Ok(shape)
            }
            Layer::Multiply { left, right } => {
                let (left, right) = (self.get(*left)?, self.get(*right)?);
                match left == right {
                    true => Ok(left),
                    false => Err(format!("product: expected {left:?} on the right, as on the left, got {right:?}")),
                }
            }
            Layer::Attention { query, key, value, heads, bias } => self.attended(*query, *key, *value, *heads, *bias),
            Layer::Smolgen { input, heads, weights } => {
                let from = self.get(*input)?.len();
                if *heads == 0 || !from.is_multiple_of(*heads) {
                    return Err(format!(
                        "smolgen: expected a multiple of {heads} heads, at least one, got {from} elements"
                    ));
                }
                let each = from / heads;
                check("smolgen weights", weights, &[weights.len() / each, each])?;
                Ok(Shape { channels: *heads, squares: weights.len() / each })
            }
            Layer::Scores { query, key } => {
                let (query, key) = (self.get(*query)?, self.get(*key)?);
                match query.channels == key.channels {
                    true => Ok(Shape { channels: query.squares, squares: key.squares }),
                    false => Err(format!(
                        "attention scores: expected a key of {} channels, as the query has, got {}",
                        query.channels, key.channels
                    )),
                }
            }
        }
    }

    /// The shape of what attention makes.
    fn attended(
        &self,
        query: ValueId,
        key: ValueId,
        value: ValueId,
        heads: usize,
        bias: Option<ValueId>,
    ) -> Result<Shape, String> {
        let (query, key, value) = (self.get(query)?, self.get(key)?, self.get(value)?);
        if key != query || value.squares != query.squares {
            return Err(format!(
                "attention: expected a key like the query, {query:?}, and a value of as many squares, got {key:?} and \
                 {value:?}"
            ));
        }
        for shape in [query, value] {
            if heads == 0 || !shape.channels.is_multiple_of(heads) {
                return Err(format!(
                    "attention: expected a multiple of {heads} heads, at least one, got {} channels",
                    shape.channels
                ));
            }
        }
        let bias = bias.map(|bias| self.get(bias)).transpose()?;
        let expected = Shape { channels: heads, squares: query.squares * query.squares };
        match bias.filter(|&bias| bias != expected) {
            Some(bias) => Err(format!("attention bias: expected {expected:?}, got {bias:?}")),
            None => Ok(value),
        }
    }

    fn check_residual(&self, residual: Option<ValueId>, to: Shape) -> Result<(), String> {
        match residual.map(|residual| self.get(residual)).transpose()? {
            Some(shape) if shape != to => Err(format!("residual: expected {to:?}, got {shape:?}")),
            _ => Ok(()),
        }
    }
}

fn check_squeeze(se: &SqueezeExcite, channels: usize) -> Result<(), String> {
    check("squeeze weights", &se.w1, &[se.hidden, channels])?;
    check("squeeze bias", &se.b1, &[se.hidden])?;
    check("excite weights", &se.w2, &[2, channels, se.hidden])?;
    check("excite bias", &se.b2, &[2, channels])
}

/// The shape of these elements of a value of shape `from`.
fn gathered(from: Shape, indices: &[u32], squares: usize) -> Result<Shape, String> {
    if indices.is_empty() || squares == 0 || !indices.len().is_multiple_of(squares) {
        return Err(format!("gather of {} elements on {squares} squares", indices.len()));
    }
    match indices.iter().find(|&&i| i as usize >= from.len()) {
        Some(i) => Err(format!("gather index {i}: the input has {} elements", from.len())),
        None => Ok(Shape { channels: indices.len() / squares, squares }),
    }
}

fn check(what: &str, data: &[f32], dims: &[usize]) -> Result<(), String> {
    let expected = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n > 0);
    if expected != Some(data.len()) {
        return Err(format!("{what}: expected {dims:?} elements, got {}", data.len()));
    }
    match data.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(format!("{what}: expected finite numbers, got {} at {at}", data[at])),
        None => Ok(()),
    }
}
