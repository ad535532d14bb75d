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
//! Fusions (bias, squeeze-excite, residual, activation) are part of a layer, so that a backend can't omit them.
//!
//! An attention network needs only a few types of layers of its own. It has none for what is done to each square alone:
//! a linear map of every token is a 1×1 convolution, its skip connection the convolution's residual. An RMS norm has no
//! weights, because they are merged into the layers that read it.
//!
//! A board is square unless [`Graph::on_board`] says otherwise.
//!
//! A convolution or a dense layer may be marked to multiply in whole numbers of eight bits, see [`crate::int8`].

#[cfg(feature = "opencl")]
mod fingerprint;
mod narrow;
mod prune;
mod shape;

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
        /// Its elements, channel-major, all finite: what keeps a query from a key, as a bias of [`Layer::Attention`], is
        /// a large negative number.
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
    /// What does not fit or is no finite number, or that a value would have more elements than devices can count.
    pub fn push(&mut self, layer: Layer) -> Result<ValueId, ShapeError> {
        let at = self.layers.len();
        let shape = self.shape_of(&layer).and_then(shape::countable).map_err(|what| ShapeError { layer: at, what })?;
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
        let Some(kind) = self.layers.get(layer).map(Layer::name) else {
            let what = format!("int8: expected one of {} layers", self.layers.len());
            return Err(ShapeError { layer, what });
        };
        if int8 && !self.can_be_int8(layer) {
            let what = format!(
                "int8: expected a convolution of kernel 1 or 3, a dense layer or a smolgen, of at most {} inputs, got \
                 {kind} that is none",
                int8::MOST_INPUTS
            );
            return Err(ShapeError { layer, what });
        }
        self.int8[layer] = int8;
        Ok(())
    }

    /// Whether a layer is marked to multiply in whole numbers of eight bits.
    pub fn is_int8(&self, layer: usize) -> bool {
        self.int8.get(layer).copied().unwrap_or(false)
    }

    /// Whether some layer is marked to multiply in whole numbers of eight bits.
    pub fn has_int8(&self) -> bool {
        (0..self.layers.len()).any(|layer| self.is_int8(layer))
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
}
