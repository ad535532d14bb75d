//! From a graph to the bytes that `oncilla_micro` runs on a microcontroller.

use crate::error::NetError;
use crate::network::Network;
use crate::policy::{attention_map, conv_map};
use oncilla_micro::{ATTENTION, CONVOLUTION, MAGIC, POLICY_PLANES, SINGLE, VERSION, WHOLE};
use oncilla_opencl::graph::{Activation, Graph, INPUT, Layer, Role, SqueezeExcite, ValueId};
use oncilla_opencl::int8::{self, Choice};

/// Marks the layers that [`pack`] will put in eight bits, see [`int8`]: those that have to be, and of the others as
/// many as the bound allows on what a network may lose over `canaries`.
///
/// # Errors
/// If those that have to be in eight bits lose more than the bound, or if the host can't run the graph.
pub fn choose(graph: &mut Graph, canaries: &[f32]) -> Result<Choice, NetError> {
    // The tower, and a convolutional policy's first layer: all 3×3 convolutions that end in a ReLU.
    let needed = |layer: &Layer| matches!(layer, Layer::Conv { kernel: 3, activation: Activation::Relu, .. });
    let choice = int8::choose_within(graph, canaries, 1.0, needed)
        .map_err(|error| NetError::unsupported("", error.to_string()))?;
    match choice.loss.within(1.0) {
        true => Ok(choice),
        false => Err(NetError::unsupported("", format!("the tower loses more in eight bits than the bound: {choice}"))),
    }
}

/// Packs a network. Layers that [`Graph::set_int8`] has marked (see [`choose`]) become whole numbers of eight bits, the
/// others stay in single precision. Input planes that the network does not look at are left out first
/// ([`Network::narrow`]).
///
/// # Errors
/// If the network is not of the one architecture that [`oncilla_micro`] runs, or if a 3×3 convolution is not in eight
/// bits (other than the one that reads the input and the policy's last one). The error names the layer.
pub fn pack(network: &Network) -> Result<Vec<u8>, NetError> {
    let mut network = network.clone();
    network.narrow();
    let Network { graph, planes, .. } = &network;
    let mut walk = Walk { graph, at: 0 };
    let first = walk.linear(INPUT, CONV)?;
    let filters = first.bias.len();
    let mut top = ValueId(1);
    let (mut tower, mut blocks, mut hidden) = (Vec::new(), 0, 0);
    while walk.has_block() {
        let inner = walk.linear(top, CONV)?;
        let outer = walk.linear(ValueId(walk.at), Kind { skip: Some(top), ..CONV })?;
        let se = outer.se.ok_or_else(|| walk.refused_last("expected squeeze and excitation"))?;
        if blocks > 0 && se.hidden != hidden {
            return Err(walk.refused_last("expected squeeze and excitation of the same size in every block"));
        }
        put_layer(&mut tower, &inner);
        put_layer(&mut tower, &outer);
        [&se.w1, &se.b1, &se.w2, &se.b2].into_iter().for_each(|numbers| put_floats(&mut tower, numbers));
        (top, blocks, hidden) = (ValueId(walk.at), blocks + 1, se.hidden);
    }
    let policy = if walk.has_attention() { walk.attention_policy(top)? } else { walk.conv_policy(top)? };
    let value = walk.head(top, Activation::Softmax, Role::Wdl)?;
    let moves_left = walk.head(top, Activation::Relu, Role::MovesLeft)?;
    walk.end()?;

    let mut bytes = MAGIC.to_vec();
    let head = [VERSION.into(), filters, blocks, hidden, planes.len()];
    put_numbers(&mut bytes, head.into_iter().chain(value.sizes).chain(moves_left.sizes))?;
    bytes.extend(planes.iter().map(|&plane| plane as u8));
    put_floats(&mut bytes, &by_plane(first.weights, filters));
    put_floats(&mut bytes, first.bias);
    [tower, value.bytes, moves_left.bytes, policy].into_iter().for_each(|part| bytes.extend(part));
    // `oncilla_micro` itself knows what it needs.
    oncilla_micro::Network::new(&bytes).map_err(|error| NetError::unsupported("", error.to_string()))?;
    Ok(bytes)
}

/// A convolution or a dense layer.
struct Linear<'a> {
    /// The channels that it reads.
    channels: usize,
    /// `[output][channel][tap or square]`.
    weights: &'a [f32],
    bias: &'a [f32],
    se: Option<&'a SqueezeExcite>,
    whole: bool,
}

impl Linear<'_> {
    /// The same layer with only its first `outputs` outputs.
    fn first(&self, outputs: usize) -> Self {
        let outputs = outputs.min(self.bias.len());
        let weights = &self.weights[..self.weights.len() / self.bias.len() * outputs];
        Self { weights, bias: &self.bias[..outputs], ..*self }
    }
}

/// What a layer is required to be.
#[derive(Clone, Copy)]
struct Kind {
    /// The kernel's side, 1 or 3; 0 for a dense layer.
    kernel: usize,
    activation: Activation,
    /// The value that a block's last layer adds.
    skip: Option<ValueId>,
}

const CONV: Kind = Kind { kernel: 3, activation: Activation::Relu, skip: None };

/// A linear map of each square.
const TOKENS: Kind = Kind { kernel: 1, activation: Activation::None, skip: None };

/// Walks through the layers of the graph, one after the other.
struct Walk<'a> {
    graph: &'a Graph,
    /// Index of the next layer, and so the value that the last one has made.
    at: usize,
}

/// A value or moves-left head: its bytes, channels and neurons.
struct Head {
    bytes: Vec<u8>,
    sizes: [usize; 2],
}

impl<'a> Walk<'a> {
    fn refused(&self, what: &str) -> NetError {
        let name = self.graph.layers().get(self.at).map_or("nothing", Layer::name);
        NetError::unsupported(format!("layer {} ({name})", self.at), format!("{what}, to run on a microcontroller"))
    }

    /// The error for the layer before the next one.
    fn refused_last(&self, what: &str) -> NetError {
        Walk { at: self.at - 1, ..*self }.refused(what)
    }

    /// Whether the layer after the next one ends a block.
    fn has_block(&self) -> bool {
        matches!(self.graph.layers().get(self.at + 1), Some(Layer::Conv { residual: Some(_), .. }))
    }

    /// Takes the next layer, which must read `from` and be of this kind.
    fn linear(&mut self, from: ValueId, kind: Kind) -> Result<Linear<'a>, NetError> {
        let (input, kernel, weights, bias, se, residual, activation) = match self.graph.layers().get(self.at) {
            Some(Layer::Conv { input, kernel, weights, bias, se, residual, activation, .. }) => {
                (*input, *kernel, weights, bias, se.as_ref(), *residual, *activation)
            }
            Some(Layer::Dense { input, weights, bias, activation, .. }) => {
                (*input, 0, weights, bias, None, None, *activation)
            }
            _ => return Err(self.refused("expected a convolution or a dense layer")),
        };
        if (input, kernel, residual, activation) != (from, kind.kernel, kind.skip, kind.activation) {
            let what = match kind.kernel {
                0 => "a dense layer".to_string(),
                kernel => format!("a {kernel}x{kernel} convolution"),
            };
            return Err(self.refused(&format!("expected {what} of value {}, then {:?}", from.0, kind.activation)));
        }
        let whole = self.graph.is_int8(self.at);
        self.at += 1;
        Ok(Linear { channels: self.graph.shape(from).channels, weights, bias, se, whole })
    }

    /// Whether the next layer looks at each square alone, as the first one of an attention policy does.
    fn has_attention(&self) -> bool {
        matches!(self.graph.layers().get(self.at), Some(Layer::Conv { kernel: 1, .. }))
    }

    fn conv_policy(&mut self, body: ValueId) -> Result<Vec<u8>, NetError> {
        let inner = self.linear(body, CONV)?;
        let last = self.linear(ValueId(self.at), Kind { activation: Activation::None, ..CONV })?;
        let places = conv_map().map(u32::from);
        self.gather(ValueId(self.at), &places, None)?;
        self.output(Role::Policy)?;
        let mut bytes = vec![CONVOLUTION];
        put_numbers(&mut bytes, places.map(|place| place as usize))?;
        put_layer(&mut bytes, &inner);
        put_layer(&mut bytes, &last.first(POLICY_PLANES));
        Ok(bytes)
    }

    fn attention_policy(&mut self, body: ValueId) -> Result<Vec<u8>, NetError> {
        let embedding = self.linear(body, Kind { activation: Activation::Selu, ..TOKENS })?;
        let tokens = ValueId(self.at);
        let queries = self.linear(tokens, TOKENS)?;
        let query = ValueId(self.at);
        let keys = self.linear(tokens, TOKENS)?;
        let key = ValueId(self.at);
        self.scores(query, key)?;
        let scores = ValueId(self.at);
        let pieces = self.linear(key, TOKENS)?;
        let (moves, promotions) = attention_map();
        self.gather(ValueId(self.at), &promotions, None)?;
        self.gather(scores, &moves, Some(ValueId(self.at)))?;
        self.output(Role::Policy)?;
        let mut bytes = vec![ATTENTION];
        // `64 · piece + to` and `64 · from + to`.
        let places = moves.iter().zip(&promotions).map(|(mv, added)| (added / 64 * 64 * 64 + mv) as usize);
        put_numbers(&mut bytes, places)?;
        put_numbers(&mut bytes, [&embedding, &queries].map(|linear| linear.bias.len()))?;
        [embedding, queries, keys, pieces].iter().for_each(|linear| put_layer(&mut bytes, linear));
        Ok(bytes)
    }

    /// Takes the layer that multiplies queries and keys.
    fn scores(&mut self, from: ValueId, to: ValueId) -> Result<(), NetError> {
        match self.graph.layers().get(self.at) {
            Some(Layer::Scores { query, key }) if (*query, *key) == (from, to) => {}
            _ => return Err(self.refused("expected products of queries and keys")),
        }
        self.at += 1;
        Ok(())
    }

    /// Takes the layer that picks the policy's moves from what was computed for all squares.
    fn gather(&mut self, from: ValueId, places: &[u32], added: Option<ValueId>) -> Result<(), NetError> {
        match self.graph.layers().get(self.at) {
            Some(Layer::Gather { input, indices, residual, .. })
                if (*input, *residual) == (from, added) && indices == places => {}
            _ => return Err(self.refused("expected the choice of a policy's moves")),
        }
        self.at += 1;
        Ok(())
    }

    fn head(&mut self, body: ValueId, last: Activation, role: Role) -> Result<Head, NetError> {
        let squeeze = self.linear(body, Kind { kernel: 1, ..CONV })?;
        let dense = self.linear(ValueId(self.at), Kind { kernel: 0, ..CONV })?;
        let sizes = [squeeze.bias.len(), dense.bias.len()];
        let last = self.linear(ValueId(self.at), Kind { kernel: 0, activation: last, skip: None })?;
        self.output(role)?;
        let mut bytes = Vec::new();
        put_layer(&mut bytes, &squeeze);
        put_layer(&mut bytes, &dense);
        put_layer(&mut bytes, &last);
        Ok(Head { bytes, sizes })
    }

    /// Checks that the last layer makes this output.
    fn output(&self, role: Role) -> Result<(), NetError> {
        match self.graph.outputs().iter().any(|output| (output.role, output.value.0) == (role, self.at)) {
            true => Ok(()),
            false => Err(self.refused(&format!("expected the output {role:?} before this layer"))),
        }
    }

    fn end(&self) -> Result<(), NetError> {
        if self.at == self.graph.layers().len() && self.graph.outputs().len() == 3 {
            return Ok(());
        }
        Err(self.refused("expected no other layer and no other output"))
    }
}

/// Reorders `[filter][plane][tap]` to `[plane][tap][filter]`.
fn by_plane(weights: &[f32], filters: usize) -> Vec<f32> {
    let each = weights.len() / filters;
    (0..each).flat_map(|at| weights.chunks_exact(each).map(move |filter| filter[at])).collect()
}

/// Appends a layer; its weights are reordered, for each output, from `[channel][tap or square]` to `[tap or
/// square][channel]`.
fn put_layer(bytes: &mut Vec<u8>, linear: &Linear<'_>) {
    let each = linear.weights.len() / linear.bias.len();
    let covered = each / linear.channels;
    let order: Vec<usize> =
        (0..covered).flat_map(|tap| (0..linear.channels).map(move |channel| channel * covered + tap)).collect();
    if linear.whole {
        let int8::Weights { numbers, steps } = int8::Weights::new(linear.weights, linear.bias.len());
        bytes.push(WHOLE);
        bytes.extend(numbers.chunks_exact(each).flat_map(|row| order.iter().map(|&at| row[at] as u8)));
        put_floats(bytes, &steps);
    } else {
        bytes.push(SINGLE);
        let rows = linear.weights.chunks_exact(each);
        put_floats(bytes, &rows.flat_map(|row| order.iter().map(|&at| row[at])).collect::<Vec<_>>());
    }
    put_floats(bytes, linear.bias);
}

fn put_numbers(bytes: &mut Vec<u8>, numbers: impl IntoIterator<Item = usize>) -> Result<(), NetError> {
    for number in numbers {
        let number = u16::try_from(number)
            .map_err(|_| NetError::unsupported("", format!("expected sizes below 65536, got {number}")))?;
        bytes.extend(number.to_le_bytes());
    }
    Ok(())
}

fn put_floats(bytes: &mut Vec<u8>, numbers: &[f32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}
