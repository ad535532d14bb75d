//! Layers, shapes and weights: everything that describes a network.
//!
//! A [`Graph`] is a list of layers in the order in which they run. Layer `i` makes the value `ValueId(i + 1)`;
//! `ValueId(0)` is the input. Every layer reads only values made before it, so a graph has no cycles.
//!
//! Values are `[batch][channels][squares]` for a [`Shape`] with `squares > 1` (row-major, the batch slowest) and
//! `[batch][channels]` if `squares == 1`. Weights are row-major with the output channel slowest: convolution
//! `[out][in][kernel][kernel]` as cross-correlation with zero padding that keeps the board's size, dense `[out][in]`
//! with `y = W·x + b`.
//!
//! An attention network has no layers of its own for what is done to each square alone: a linear map of every token is
//! a 1×1 convolution, its skip connection the convolution's residual.
//!
//! A board is square unless [`Graph::on_board`] says otherwise.
//!
//! A convolution or a dense layer may be marked to multiply in whole numbers of eight bits, see [`crate::int8`].

mod narrow;
mod prune;

use crate::int8;
use std::fmt;
use std::sync::Arc;

/// A value in a graph: 0 is the input, `i + 1` is what layer `i` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueId(pub usize);

/// The input planes.
pub const INPUT: ValueId = ValueId(0);

/// The size of one value for one position: channels times squares of the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Channels (planes, filters or neurons).
    pub channels: usize,
    /// Squares of the board: 64 in chess, 1 for a vector without a board.
    pub squares: usize,
}

impl Shape {
    /// Number of elements for one position.
    pub fn len(self) -> usize {
        self.channels * self.squares
    }

    /// True for a shape without elements, which no layer makes.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// What is done to each element at the end of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// Nothing.
    None,
    /// `max(0, x)`.
    Relu,
    /// `x · tanh(ln(1 + e^x))`.
    Mish,
    /// Hyperbolic tangent.
    Tanh,
    /// `max(0, x)²`.
    Relu2,
    /// `x · sigmoid(x)`.
    Swish,
    /// `λ·x` above 0, `λ·α·(e^x − 1)` below, see [`SELU`]. Klambauer et al. 2017, arXiv:1706.02515.
    Selu,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// Over all elements of the position's value: `e^x / Σ e^x`.
    Softmax,
}

impl Activation {
    /// The activations that work element by element: all but [`Activation::Softmax`].
    pub const ELEMENTWISE: [Self; 8] =
        [Self::None, Self::Relu, Self::Mish, Self::Tanh, Self::Relu2, Self::Swish, Self::Selu, Self::Sigmoid];
}

/// λ and α of [`Activation::Selu`].
pub const SELU: (f32, f32) = (1.050_701, 1.673_263_2);

/// Squeeze and excitation, after a convolution and before the residual is added.
///
/// `p` = mean of the convolution (bias included) over the squares, `h = act(w1·p + b1)`, `(γ, β) = w2·h + b2`, the
/// result `sigmoid(γ)·z + β`. The activation `act` is the layer's own.
#[derive(Clone, Debug)]
pub struct SqueezeExcite {
    /// Neurons of the hidden layer.
    pub hidden: usize,
    /// `[hidden][channels]`.
    pub w1: Vec<f32>,
    /// `[hidden]`.
    pub b1: Vec<f32>,
    /// `[2 · channels][hidden]`: first the scales γ, then the shifts β.
    pub w2: Vec<f32>,
    /// `[2 · channels]`.
    pub b2: Vec<f32>,
}

/// A step of the network. Batch norm is folded into weights and bias before a graph is made.
#[derive(Clone, Debug)]
pub enum Layer {
    /// `activation(se(conv(input) + bias) + residual)`.
    Conv {
        /// What is convolved.
        input: ValueId,
        /// Output channels.
        channels: usize,
        /// 1, 3 or 5: the kernel is square.
        kernel: usize,
        /// `[channels][input channels][kernel][kernel]`.
        weights: Vec<f32>,
        /// `[channels]`.
        bias: Vec<f32>,
        /// Squeeze and excitation, if the block has it.
        se: Option<SqueezeExcite>,
        /// A value of the output's shape, added before the activation.
        residual: Option<ValueId>,
        /// Applied last.
        activation: Activation,
    },
    /// `activation(weights · input + bias)`; the input is read as one vector, channel-major.
    Dense {
        /// What is multiplied.
        input: ValueId,
        /// Output neurons.
        channels: usize,
        /// `[channels][elements of the input]`.
        weights: Vec<f32>,
        /// `[channels]`.
        bias: Vec<f32>,
        /// Applied last.
        activation: Activation,
    },
    /// `output[i] = input[indices[i]] + residual[i]`: picks the entries of a policy that can be moves, or gives a value
    /// another shape.
    Gather {
        /// What is read.
        input: ValueId,
        /// For each element of the output, the element of the input that it is; both are counted channel-major.
        indices: Vec<u32>,
        /// Squares of the output, a divisor of the number of indices; 1 for a vector.
        squares: usize,
        /// A value of the output's shape.
        residual: Option<ValueId>,
    },
    /// `[channels][squares]` numbers that are the same for every position.
    Constant {
        /// Shape of the output.
        shape: Shape,
        /// Its elements, channel-major.
        values: Vec<f32>,
    },
    /// `input · scale + shift`, element by element.
    Gate {
        /// What is scaled.
        input: ValueId,
        /// `[channels][squares]`.
        scale: Vec<f32>,
        /// `[channels][squares]`.
        shift: Vec<f32>,
    },
    /// `activation(scale · (input + added) + shift)`, channel by channel: a batch norm that can't be folded into the
    /// convolution before it, because something else reads that one too, or because something is added in between.
    Affine {
        /// What is scaled.
        input: ValueId,
        /// A vector with a number for each channel, which is added on each square.
        added: Option<ValueId>,
        /// `[channels]`.
        scale: Vec<f32>,
        /// `[channels]`.
        shift: Vec<f32>,
        /// Applied last.
        activation: Activation,
    },
    /// The mean of each channel over its squares, then the largest number of each: the output is `[2 · channels]`.
    /// KataGo calls it global pooling. Wu 2019, arXiv:1902.10565, section 3.3.
    Pool {
        /// What is pooled.
        input: ValueId,
    },
    /// For each square, over its channels: `gammas · (x − mean) / √(variance + epsilon) + betas`, with the biased
    /// variance. Ba, Kiros, Hinton 2016, arXiv:1607.06450.
    LayerNorm {
        /// What is normed.
        input: ValueId,
        /// At least 0.
        epsilon: f32,
        /// `[channels]`.
        gammas: Vec<f32>,
        /// `[channels]`.
        betas: Vec<f32>,
    },
    /// `x / √(mean of x² + epsilon)`, with the mean over the channels of each square, or over all of the position's
    /// value. The layer has no weights: they go into those of the layers that read it. Zhang, Sennrich 2019,
    /// arXiv:1910.07467.
    RmsNorm {
        /// What is normed.
        input: ValueId,
        /// Above 0, because nothing else keeps zeros from being divided by 0.
        epsilon: f32,
        /// Whether one mean is taken over all channels and squares.
        whole: bool,
    },
    /// Turns pairs of neighbouring channels: `(a, b)` becomes `(a·cos φ − b·sin φ, b·cos φ + a·sin φ)`, so that products of
    /// two squares depend on how far they are from each other. Rotary position embedding: Su et al. 2021,
    /// arXiv:2104.09864.
    Rotate {
        /// A value with an even number of channels.
        input: ValueId,
        /// φ in radians, `[channels / 2][squares]`.
        angles: Vec<f32>,
    },
    /// `left · right`, element by element: half of a gated linear unit, whose other half is the activation that `left`
    /// has behind it. Shazeer 2020, arXiv:2002.05202.
    Multiply {
        /// One factor.
        left: ValueId,
        /// The other, of the same shape.
        right: ValueId,
    },
    /// Scaled dot-product attention between the squares of a position. Vaswani et al. 2017, arXiv:1706.03762.
    ///
    /// Head `h` has channels `h·d` to `(h + 1)·d` of query, key and value. For each square `q`, a softmax over squares
    /// `k` of `query[q] · key[k] / √d + bias[h][k][q]` weighs `value[k]`.
    Attention {
        /// `[channels][squares]`.
        query: ValueId,
        /// A value of the query's shape.
        key: ValueId,
        /// `[channels of the output][squares]`.
        value: ValueId,
        /// Divides the channels of query and value.
        heads: usize,
        /// `[heads][squares of the key · squares of the query]`, with the query's square fastest.
        bias: Option<ValueId>,
    },
    /// A bias for each head of an attention: `output[h] = weights · input[h]`, where `input[h]` is the `h`-th of equal
    /// parts of the input, read as one vector. Lc0 calls it smolgen.
    Smolgen {
        /// What is multiplied; `heads` divides its number of elements.
        input: ValueId,
        /// Channels of the output.
        heads: usize,
        /// `[squares of the output][elements of a part]`. Several layers may share them.
        weights: Arc<Vec<f32>>,
    },
    /// `output[a][b] = query[a] · key[b] / √channels` for squares `a` of the query and `b` of the key: a policy by from
    /// and to squares.
    Scores {
        /// `[channels][squares]`; its squares are the output's channels.
        query: ValueId,
        /// A value with as many channels; its squares are the output's squares.
        key: ValueId,
    },
}

impl Layer {
    /// The values that the layer reads.
    pub fn reads(&self) -> impl Iterator<Item = ValueId> + use<> {
        let read = match self {
            Layer::Conv { input, residual, .. } | Layer::Gather { input, residual, .. } => {
                [Some(*input), *residual, None, None]
            }
            Layer::Dense { input, .. }
            | Layer::Gate { input, .. }
            | Layer::LayerNorm { input, .. }
            | Layer::RmsNorm { input, .. }
            | Layer::Rotate { input, .. }
            | Layer::Pool { input }
            | Layer::Smolgen { input, .. } => [Some(*input), None, None, None],
            Layer::Multiply { left, right } => [Some(*left), Some(*right), None, None],
            Layer::Affine { input, added, .. } => [Some(*input), *added, None, None],
            Layer::Constant { .. } => [None; 4],
            Layer::Attention { query, key, value, bias, .. } => [Some(*query), Some(*key), Some(*value), *bias],
            Layer::Scores { query, key } => [Some(*query), Some(*key), None, None],
        };
        read.into_iter().flatten()
    }

    /// The layer's name, for a person.
    pub fn name(&self) -> &'static str {
        match self {
            Layer::Conv { .. } => "convolution",
            Layer::Dense { .. } => "dense",
            Layer::Gather { .. } => "gather",
            Layer::Constant { .. } => "constant",
            Layer::Gate { .. } => "gate",
            Layer::Affine { .. } => "affine",
            Layer::Pool { .. } => "pool",
            Layer::LayerNorm { .. } => "layer norm",
            Layer::RmsNorm { .. } => "RMS norm",
            Layer::Rotate { .. } => "rotation",
            Layer::Multiply { .. } => "product",
            Layer::Attention { .. } => "attention",
            Layer::Smolgen { .. } => "smolgen",
            Layer::Scores { .. } => "attention scores",
        }
    }
}

/// What an output of the network means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Logits of the policy, one for each move of the game's index, or for each point of a Go board; then there may be
    /// several policies, one after the other.
    Policy,
    /// Logits of a pass, one for each policy.
    Pass,
    /// Probabilities of win, draw and loss of the side to move.
    Wdl,
    /// One number in `[-1, 1]`: win minus loss.
    Value,
    /// Plies until the end of the game, at least 0.
    MovesLeft,
    /// The squared error that the network expects of its value, in `[0, 1]`.
    ValueError,
    /// Logits of a win and a loss of the side to move, and of a game without a result.
    Results,
    /// What KataGo's networks say of the score, exactly as the last layer gives it.
    Scores,
    /// Who will own each point: from −1 to 1, for the side to move.
    Ownership,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 9] = [
        Role::Policy,
        Role::Pass,
        Role::Wdl,
        Role::Value,
        Role::MovesLeft,
        Role::ValueError,
        Role::Results,
        Role::Scores,
        Role::Ownership,
    ];
}

/// A value that the caller gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// What it means.
    pub role: Role,
    /// Which value it is.
    pub value: ValueId,
}

/// A network: layers in the order in which they run, and its outputs.
#[derive(Clone, Debug)]
pub struct Graph {
    input: Shape,
    /// Ranks and files, see [`Graph::on_board`].
    board: Option<(usize, usize)>,
    layers: Vec<Layer>,
    /// By layer, whether it multiplies in eight bits, see [`Graph::set_int8`].
    int8: Vec<bool>,
    shapes: Vec<Shape>,
    outputs: Vec<Output>,
}

/// Why a layer or an output does not fit into a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// Index of the layer in the graph.
    pub layer: usize,
    /// What was expected and what was found.
    pub what: String,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "layer {}: {}", self.layer, self.what)
    }
}

impl std::error::Error for ShapeError {}

/// Checks that a value's elements can be counted as kernels do, in an `int`.
fn countable(shape: Shape) -> Result<Shape, String> {
    let Shape { channels, squares } = shape;
    match channels.checked_mul(squares) {
        Some(1..=MOST_ELEMENTS) => Ok(shape),
        _ => Err(format!("expected 1 to {MOST_ELEMENTS} elements, got {channels} channels of {squares} squares")),
    }
}

/// The most elements of a value, for one position.
const MOST_ELEMENTS: usize = i32::MAX as usize;

impl Graph {
    /// A graph without layers.
    pub fn new(input: Shape) -> Self {
        Self { input, board: None, layers: Vec::new(), int8: Vec::new(), shapes: vec![input], outputs: Vec::new() }
    }

    /// Sets the shape of the board: values with `ranks · files` squares are on a board of that many ranks and files.
    /// Other values are on a square board.
    pub fn on_board(mut self, ranks: usize, files: usize) -> Self {
        self.board = Some((ranks, files));
        self
    }

    /// The ranks and files that [`Graph::on_board`] was given.
    pub fn board(&self) -> Option<(usize, usize)> {
        self.board
    }

    /// The ranks and files of the board that has this many squares, if there is one.
    pub fn sides(&self, squares: usize) -> Option<(usize, usize)> {
        let side = squares.isqrt();
        let square = Some((side, side)).filter(|(ranks, files)| ranks * files == squares);
        self.board.filter(|(ranks, files)| ranks * files == squares).or(square)
    }

    /// The ranks and files of the board that a convolution of `kernel` × `kernel` sees; for a 1×1 convolution the
    /// arrangement of the squares is of no matter.
    pub(crate) fn sides_for(&self, kernel: usize, squares: usize) -> Result<(usize, usize), String> {
        let sides = self.sides(squares).or((kernel == 1).then_some((1, squares)));
        sides.ok_or_else(|| format!("a {kernel}x{kernel} convolution: expected a board, got {squares} squares"))
    }

    /// Appends a layer after checking every length against its shapes; returns the value that it makes.
    ///
    /// # Errors
    /// What does not fit, or that a value would have more elements than devices can count.
    pub fn push(&mut self, layer: Layer) -> Result<ValueId, ShapeError> {
        let at = self.layers.len();
        let shape = self.shape_of(&layer).and_then(countable).map_err(|what| ShapeError { layer: at, what })?;
        self.layers.push(layer);
        self.int8.push(false);
        self.shapes.push(shape);
        Ok(ValueId(at + 1))
    }

    /// Marks a layer to multiply in whole numbers of eight bits, or removes the mark, see [`crate::int8`]. The host
    /// follows the mark; OpenCL does so except for a smolgen, which stays in single precision there.
    ///
    /// # Errors
    /// If there is no such layer, or if [`Graph::can_be_int8`] is false for it.
    pub fn set_int8(&mut self, layer: usize, int8: bool) -> Result<(), ShapeError> {
        if int8 && !self.can_be_int8(layer) {
            let most = int8::MOST_INPUTS;
            let what = format!(
                "int8: expected a convolution of kernel 1 or 3, a dense layer or a smolgen of at most {most} inputs"
            );
            return Err(ShapeError { layer, what });
        }
        match self.int8.get_mut(layer) {
            Some(mark) => *mark = int8,
            None => return Err(ShapeError { layer, what: "there is no such layer".to_string() }),
        }
        Ok(())
    }

    /// Whether a layer is marked to multiply in whole numbers of eight bits.
    pub fn is_int8(&self, layer: usize) -> bool {
        self.int8.get(layer).copied().unwrap_or(false)
    }

    /// Whether a layer can multiply in whole numbers of eight bits: a convolution other than 5×5, a dense layer or a
    /// smolgen, if its sums fit into 32 bits.
    pub fn can_be_int8(&self, layer: usize) -> bool {
        match self.layers.get(layer) {
            Some(Layer::Conv { kernel: 5, .. }) => false,
            Some(Layer::Conv { weights, bias, .. } | Layer::Dense { weights, bias, .. }) => {
                weights.len() / bias.len() <= int8::MOST_INPUTS
            }
            Some(Layer::Smolgen { input, heads, .. }) => self.shape(*input).len() / heads <= int8::MOST_INPUTS,
            _ => false,
        }
    }

    /// Makes a value an output, with this role.
    pub fn output(&mut self, role: Role, value: ValueId) -> Result<(), ShapeError> {
        let fault = |what: String| ShapeError { layer: value.0.saturating_sub(1), what };
        let shape = self.get(value).map_err(fault)?;
        let expected = match role {
            Role::Policy | Role::Pass | Role::Scores | Role::Ownership => None,
            Role::Wdl | Role::Results => Some(3),
            Role::Value | Role::MovesLeft | Role::ValueError => Some(1),
        };
        if let Some(n) = expected.filter(|&n| n != shape.len()) {
            return Err(fault(format!("output {role:?}: expected {n} elements, got {}", shape.len())));
        }
        if self.outputs.iter().any(|o| o.role == role) {
            return Err(fault(format!("output {role:?} is named twice")));
        }
        self.outputs.push(Output { role, value });
        Ok(())
    }

    /// Shape of the input planes.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// The layers in the order in which they run.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Shape of a value of this graph.
    ///
    /// # Panics
    /// If the value belongs to another, longer graph.
    pub fn shape(&self, value: ValueId) -> Shape {
        self.shapes[value.0]
    }

    /// The outputs.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// How many elements one output has for one position; `None` if the network lacks it.
    pub fn output_len(&self, role: Role) -> Option<usize> {
        self.outputs.iter().find(|o| o.role == role).map(|o| self.shape(o.value).len())
    }

    /// The floating-point operations of one evaluation: two for each multiply-add, with convolutions counted without
    /// Winograd's saving.
    pub fn flops(&self) -> u64 {
        self.layers.iter().enumerate().map(|(i, layer)| self.layer_flops(i, layer)).sum()
    }

    fn layer_flops(&self, at: usize, layer: &Layer) -> u64 {
        let out = self.shapes[at + 1];
        match layer {
            Layer::Conv { weights, .. } => 2 * weights.len() as u64 * out.squares as u64,
            Layer::Dense { weights, .. } => 2 * weights.len() as u64,
            Layer::Smolgen { heads, weights, .. } => 2 * (heads * weights.len()) as u64,
            Layer::Attention { query, .. } => {
                let from = self.shape(*query);
                2 * (from.squares * from.squares * (from.channels + out.channels)) as u64
            }
            Layer::Scores { query, .. } => 2 * (self.shape(*query).channels * out.len()) as u64,
            Layer::Gather { .. }
            | Layer::Constant { .. }
            | Layer::Gate { .. }
            | Layer::Affine { .. }
            | Layer::Pool { .. }
            | Layer::LayerNorm { .. }
            | Layer::RmsNorm { .. }
            | Layer::Rotate { .. }
            | Layer::Multiply { .. } => 0,
        }
    }

    /// A hash of everything but the weights: graphs with the same one take the same time.
    pub fn shape_hash(&self) -> u64 {
        let mut hash = Fnv::default();
        let mut add = |n: usize| hash.add(&(n as u64).to_le_bytes());
        for ((layer, shape), int8) in self.layers.iter().zip(&self.shapes).zip(&self.int8) {
            add((*int8).into());
            // The shape of each layer's value, before the layer's own numbers; those of the outputs follow at the end.
            [shape.channels, shape.squares].into_iter().for_each(&mut add);
            layer.name().bytes().for_each(|byte| add(byte.into()));
            layer.reads().for_each(|value| add(value.0));
            match layer {
                Layer::Conv { kernel, se, activation, .. } => {
                    let hidden = se.as_ref().map_or(0, |se| se.hidden);
                    [*kernel, hidden, *activation as usize].into_iter().for_each(&mut add);
                }
                Layer::Dense { activation, .. } | Layer::Affine { activation, .. } => add(*activation as usize),
                Layer::Attention { heads, .. } | Layer::Smolgen { heads, .. } => add(*heads),
                Layer::RmsNorm { whole, .. } => add((*whole).into()),
                Layer::Gather { .. }
                | Layer::Constant { .. }
                | Layer::Gate { .. }
                | Layer::Pool { .. }
                | Layer::LayerNorm { .. }
                | Layer::Rotate { .. }
                | Layer::Multiply { .. }
                | Layer::Scores { .. } => {}
            }
        }
        // The board is added only if it was given, so that what was stored for a chessboard is still found.
        self.board.into_iter().flat_map(|(ranks, files)| [ranks, files]).for_each(&mut add);
        for Output { role, value } in &self.outputs {
            let Shape { channels, squares } = self.shape(*value);
            [*role as usize, value.0, channels, squares].into_iter().for_each(&mut add);
        }
        hash.finish()
    }

    fn get(&self, value: ValueId) -> Result<Shape, String> {
        let made = self.shapes.len();
        self.shapes.get(value.0).copied().ok_or_else(|| format!("reads value {}, only {made} exist", value.0))
    }

    fn shape_of(&self, layer: &Layer) -> Result<Shape, String> {
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
                    check("squeeze weights", &se.w1, &[se.hidden, *channels])?;
                    check("squeeze bias", &se.b1, &[se.hidden])?;
                    check("excite weights", &se.w2, &[2, *channels, se.hidden])?;
                    check("excite bias", &se.b2, &[2, *channels])?;
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
                let from = self.get(*input)?;
                if indices.is_empty() || *squares == 0 || !indices.len().is_multiple_of(*squares) {
                    return Err(format!("gather of {} elements on {squares} squares", indices.len()));
                }
                if let Some(i) = indices.iter().find(|&&i| i as usize >= from.len()) {
                    return Err(format!("gather index {i}: the input has {} elements", from.len()));
                }
                let to = Shape { channels: indices.len() / squares, squares: *squares };
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
                    false => Err(format!("product: left {left:?}, right {right:?}")),
                }
            }
            Layer::Attention { query, key, value, heads, bias } => {
                let (query, key, value) = (self.get(*query)?, self.get(*key)?, self.get(*value)?);
                if key != query || value.squares != query.squares {
                    return Err(format!("attention: query {query:?}, key {key:?}, value {value:?}"));
                }
                for shape in [query, value] {
                    if *heads == 0 || !shape.channels.is_multiple_of(*heads) {
                        return Err(format!("attention: {} channels for {heads} heads", shape.channels));
                    }
                }
                let bias = bias.map(|bias| self.get(bias)).transpose()?;
                let expected = Shape { channels: *heads, squares: query.squares * query.squares };
                match bias.filter(|&bias| bias != expected) {
                    Some(bias) => Err(format!("attention bias: expected {expected:?}, got {bias:?}")),
                    None => Ok(value),
                }
            }
            Layer::Smolgen { input, heads, weights } => {
                let from = self.get(*input)?.len();
                if *heads == 0 || !from.is_multiple_of(*heads) {
                    return Err(format!("smolgen: {from} elements for {heads} heads"));
                }
                let each = from / heads;
                check("smolgen weights", weights, &[weights.len() / each, each])?;
                Ok(Shape { channels: *heads, squares: weights.len() / each })
            }
            Layer::Scores { query, key } => {
                let (query, key) = (self.get(*query)?, self.get(*key)?);
                match query.channels == key.channels {
                    true => Ok(Shape { channels: query.squares, squares: key.squares }),
                    false => Err(format!("attention scores: query {query:?}, key {key:?}")),
                }
            }
        }
    }

    fn check_residual(&self, residual: Option<ValueId>, to: Shape) -> Result<(), String> {
        match residual.map(|residual| self.get(residual)).transpose()? {
            Some(shape) if shape != to => Err(format!("residual: expected {to:?}, got {shape:?}")),
            _ => Ok(()),
        }
    }
}

/// Of weights `[…][inputs][taps]`, those of the inputs that `kept` lists.
fn columns(weights: &[f32], inputs: usize, taps: usize, kept: &[usize]) -> Vec<f32> {
    let rows = weights.chunks_exact(inputs * taps);
    rows.flat_map(|row| kept.iter().flat_map(move |&at| &row[at * taps..][..taps])).copied().collect()
}

/// The hash FNV-1a of 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub fn finish(self) -> u64 {
        self.0
    }
}

fn check(what: &str, data: &[f32], dims: &[usize]) -> Result<(), String> {
    let expected = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    match expected {
        Some(n) if n == data.len() && n > 0 => Ok(()),
        _ => Err(format!("{what}: expected {dims:?} elements, got {}", data.len())),
    }
}
