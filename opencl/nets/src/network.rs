//! A network: its graph, and what its file says about it.

use crate::container;
use crate::decode::{array, count};
use crate::error::NetError;
use crate::format::{Architecture, InputFormat, PolicyKind, ValueKind};
use crate::policy::{CONV_PLANES, conv_map};
use crate::proto::{ConvBlock, Layer as Encoded, MovesLeft, Net, PolicyHead, Residual, SeUnit, ValueHead, Weights};
use crate::wire::Message;
use oncilla_opencl::graph::{Activation, Graph, INPUT, Layer, Role, Shape, ShapeError, SqueezeExcite, ValueId};
use std::path::Path;

/// Input planes of a chess network: eight positions of 13 and eight more.
const PLANES: usize = 112;

const SQUARES: usize = 64;

/// A network that has been read: what to run and how to feed it.
#[derive(Clone, Debug)]
pub struct Network {
    /// Input `[112][64]`; outputs by [`Role`], the policy with [`crate::policy::MOVES`] logits.
    pub graph: Graph,
    /// How positions become the graph's input.
    pub input_format: InputFormat,
    /// What the file says about itself.
    pub facts: Facts,
}

/// What a file says about the network in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Filters of the tower.
    pub filters: usize,
    /// Residual blocks.
    pub blocks: usize,
    /// Whether the blocks squeeze and excite.
    pub squeeze_excite: bool,
    /// Kind of the policy head.
    pub policy: PolicyKind,
    /// Kind of the value head.
    pub value: ValueKind,
    /// Whether there is a moves-left head.
    pub moves_left: bool,
    /// What follows the convolutions.
    pub activation: Activation,
    /// The oldest Lc0 that can read the file: major, minor, patch.
    pub min_version: [u64; 3],
    /// Training steps, 0 where the file doesn't say.
    pub training_steps: u64,
    /// The file's licence text, shortened to 4096 characters; mostly empty.
    pub license: String,
    /// Weights and biases after batch norm has been folded.
    pub parameters: u64,
}

impl Network {
    /// Reads a network file, compressed or not.
    ///
    /// # Errors
    /// If the file can't be read, is of another kind, damaged, or of an architecture that isn't supported.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, NetError> {
        Self::from_bytes(&container::read_file(path.as_ref())?)
    }

    /// Reads a network from the bytes of its file, compressed or not.
    ///
    /// Memory stays within a small multiple of the message's size. A compressed message may have 64 MiB or 32 times the
    /// size of its file, whichever is more, and never more than [`MAX_BYTES`](crate::MAX_BYTES).
    ///
    /// # Errors
    /// As [`Network::read`].
    pub fn from_bytes(file: &[u8]) -> Result<Self, NetError> {
        let message = container::message(file)?;
        let mut net = Net::default();
        net.merge(&message)?;
        let architecture = Architecture::of(&net)?;
        let weights =
            net.weights.as_ref().ok_or_else(|| NetError::malformed("weights", "expected weights, got none"))?;
        let mut builder = Builder {
            graph: Graph::new(Shape { channels: PLANES, squares: SQUARES }),
            activation: architecture.activation,
        };
        let tower = builder.tower(weights).map_err(|e| e.within("weights"))?;
        builder.heads(weights, &architecture, &tower)?;
        let facts = facts(&net, &architecture, &tower, &builder.graph);
        Ok(Self { graph: builder.graph, input_format: architecture.input, facts })
    }

    /// Whether the value head gives win, draw and loss.
    pub fn has_wdl(&self) -> bool {
        self.facts.value == ValueKind::Wdl
    }

    /// Whether there is a moves-left head.
    pub fn has_moves_left(&self) -> bool {
        self.facts.moves_left
    }
}

fn facts(net: &Net<'_>, architecture: &Architecture, tower: &Tower, graph: &Graph) -> Facts {
    let version = net.min_version.unwrap_or_default();
    Facts {
        filters: tower.filters,
        blocks: tower.blocks,
        squeeze_excite: tower.squeeze_excite,
        policy: architecture.policy,
        value: architecture.value,
        moves_left: architecture.moves_left,
        activation: architecture.activation,
        min_version: [version.major, version.minor, version.patch],
        training_steps: net.training_params.unwrap_or_default().training_steps,
        license: String::from_utf8_lossy(&net.license[..net.license.len().min(4096)]).into_owned(),
        parameters: graph.layers().iter().map(parameters).sum(),
    }
}

fn parameters(layer: &Layer) -> u64 {
    let count = match layer {
        Layer::Conv { weights, bias, se, .. } => {
            let se = se.as_ref().map_or(0, |se| se.w1.len() + se.b1.len() + se.w2.len() + se.b2.len());
            weights.len() + bias.len() + se
        }
        Layer::Dense { weights, bias, .. } => weights.len() + bias.len(),
        Layer::Gather { .. } => 0,
    };
    count as u64
}

/// What the heads are put upon.
struct Tower {
    top: ValueId,
    filters: usize,
    blocks: usize,
    squeeze_excite: bool,
}

/// A convolution of the file on its way into the graph.
struct Step<'a> {
    block: Option<&'a ConvBlock<'a>>,
    field: &'a str,
    input: ValueId,
    kernel: usize,
    activation: Activation,
}

struct Builder {
    graph: Graph,
    activation: Activation,
}

impl Builder {
    fn push(&mut self, field: &str, layer: Layer) -> Result<ValueId, NetError> {
        self.graph.push(layer).map_err(|e: ShapeError| NetError::malformed(field, e.what))
    }

    /// Channels of a convolution that may say their number itself.
    fn channels(step: &Step<'_>) -> Result<usize, NetError> {
        let block = step.block.ok_or_else(|| NetError::malformed(step.field, "expected a convolution, got none"))?;
        block.channels().map_err(|e| e.within(step.field))
    }

    fn conv(
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

    /// A dense layer with as many neurons as its bias has elements; `fields` names weights and bias.
    fn dense(
        &mut self,
        input: ValueId,
        arrays: (Option<&Encoded<'_>>, Option<&Encoded<'_>>),
        fields: (&str, &str),
        activation: Activation,
    ) -> Result<ValueId, NetError> {
        let channels = count(arrays.1, fields.1)?;
        if channels == 0 {
            return Err(NetError::malformed(fields.1, "expected at least one number, got none"));
        }
        let weights = array(arrays.0, fields.0, &[channels, self.graph.shape(input).len()])?;
        let bias = array(arrays.1, fields.1, &[channels])?;
        self.push(fields.0, Layer::Dense { input, channels, weights, bias, activation })
    }

    fn tower(&mut self, weights: &Weights<'_>) -> Result<Tower, NetError> {
        if weights.residual.is_empty() {
            return Err(NetError::malformed("residual", "expected at least one block, got none"));
        }
        let activation = self.activation;
        let step = Step { block: weights.input.as_ref(), field: "input", input: INPUT, kernel: 3, activation };
        let filters = Self::channels(&step)?;
        let top = self.conv(&step, filters, None, None)?;
        let mut tower = Tower { top, filters, blocks: weights.residual.len(), squeeze_excite: false };
        for (i, bytes) in weights.residual.iter().enumerate() {
            self.block(bytes, &mut tower).map_err(|e| e.within(&format!("residual[{i}]")))?;
        }
        Ok(tower)
    }

    fn block(&mut self, bytes: &[u8], tower: &mut Tower) -> Result<(), NetError> {
        let mut block = Residual::default();
        block.merge(bytes)?;
        let (activation, filters, skip) = (self.activation, tower.filters, tower.top);
        let step = |block, field, input| Step { block, field, input, kernel: 3, activation };
        let inner = self.conv(&step(block.conv1.as_ref(), "conv1", skip), filters, None, None)?;
        let se = match &block.se {
            Some(se) => Some(squeeze_excite(se, filters).map_err(|e| e.within("se"))?),
            None => None,
        };
        tower.squeeze_excite |= se.is_some();
        tower.top = self.conv(&step(block.conv2.as_ref(), "conv2", inner), filters, se, Some(skip))?;
        Ok(())
    }

    fn heads(&mut self, weights: &Weights<'_>, architecture: &Architecture, tower: &Tower) -> Result<(), NetError> {
        let (policy, place) = policy_head(weights);
        self.policy(&policy, architecture.policy, tower).map_err(|e| e.within(place))?;
        let (value, place) = value_head(weights);
        self.value(&value, architecture.value, tower).map_err(|e| e.within(place))?;
        if architecture.moves_left {
            self.moves_left(&weights.moves_left, tower).map_err(|e| e.within("weights"))?;
        }
        Ok(())
    }

    fn output(&mut self, field: &str, role: Role, value: ValueId) -> Result<(), NetError> {
        self.graph.output(role, value).map_err(|e| NetError::malformed(field, e.what))
    }

    fn policy(&mut self, head: &PolicyHead<'_>, kind: PolicyKind, tower: &Tower) -> Result<(), NetError> {
        let logits = match kind {
            PolicyKind::Classical => self.classical_policy(head, tower)?,
            PolicyKind::Convolution => self.conv_policy(head, tower)?,
        };
        self.output("policy", Role::Policy, logits)
    }

    fn classical_policy(&mut self, head: &PolicyHead<'_>, tower: &Tower) -> Result<ValueId, NetError> {
        let activation = self.activation;
        let step = Step { block: head.policy.as_ref(), field: "policy", input: tower.top, kernel: 1, activation };
        let planes = self.conv(&step, Self::channels(&step)?, None, None)?;
        let got = count(head.ip_pol_b.as_ref(), "ip_pol_b")?;
        if got != crate::policy::MOVES {
            let what = format!("expected {} numbers, got {got}", crate::policy::MOVES);
            return Err(NetError::malformed("ip_pol_b", what));
        }
        let arrays = (head.ip_pol_w.as_ref(), head.ip_pol_b.as_ref());
        self.dense(planes, arrays, ("ip_pol_w", "ip_pol_b"), Activation::None)
    }

    fn conv_policy(&mut self, head: &PolicyHead<'_>, tower: &Tower) -> Result<ValueId, NetError> {
        let activation = self.activation;
        let first = Step { block: head.policy1.as_ref(), field: "policy1", input: tower.top, kernel: 3, activation };
        let inner = self.conv(&first, Self::channels(&first)?, None, None)?;
        let none = Activation::None;
        let second = Step { block: head.policy.as_ref(), field: "policy", input: inner, kernel: 3, activation: none };
        let channels = Self::channels(&second)?;
        if channels < CONV_PLANES {
            let what = format!("expected at least {CONV_PLANES} planes, got {channels}");
            return Err(NetError::malformed("policy.biases", what));
        }
        let planes = self.conv(&second, channels, None, None)?;
        let indices = conv_map().map(u32::from).to_vec();
        self.push("policy", Layer::Gather { input: planes, indices })
    }

    fn value(&mut self, head: &ValueHead<'_>, kind: ValueKind, tower: &Tower) -> Result<(), NetError> {
        let activation = self.activation;
        let step = Step { block: head.value.as_ref(), field: "value", input: tower.top, kernel: 1, activation };
        let planes = self.conv(&step, Self::channels(&step)?, None, None)?;
        let first = (head.ip1_val_w.as_ref(), head.ip1_val_b.as_ref());
        let hidden = self.dense(planes, first, ("ip1_val_w", "ip1_val_b"), activation)?;
        let (role, expected, last) = match kind {
            ValueKind::Classical => (Role::Value, 1, Activation::Tanh),
            ValueKind::Wdl => (Role::Wdl, 3, Activation::Softmax),
        };
        let got = count(head.ip2_val_b.as_ref(), "ip2_val_b")?;
        if got != expected {
            let what = format!("expected {expected} numbers for a {kind} value head, got {got}");
            return Err(NetError::malformed("ip2_val_b", what));
        }
        let second = (head.ip2_val_w.as_ref(), head.ip2_val_b.as_ref());
        let value = self.dense(hidden, second, ("ip2_val_w", "ip2_val_b"), last)?;
        self.output("ip2_val_w", role, value)
    }

    fn moves_left(&mut self, head: &MovesLeft<'_>, tower: &Tower) -> Result<(), NetError> {
        let activation = self.activation;
        let block = head.moves_left.as_ref();
        let step = Step { block, field: "moves_left", input: tower.top, kernel: 1, activation };
        let planes = self.conv(&step, Self::channels(&step)?, None, None)?;
        let first = (head.ip1_mov_w.as_ref(), head.ip1_mov_b.as_ref());
        let hidden = self.dense(planes, first, ("ip1_mov_w", "ip1_mov_b"), activation)?;
        // Plies can't be negative, so that the last layer ends in a ReLU whatever the default is.
        let second = (head.ip2_mov_w.as_ref(), head.ip2_mov_b.as_ref());
        let plies = self.dense(hidden, second, ("ip2_mov_w", "ip2_mov_b"), Activation::Relu)?;
        self.output("ip2_mov_b", Role::MovesLeft, plies)
    }
}

fn squeeze_excite(se: &SeUnit<'_>, filters: usize) -> Result<SqueezeExcite, NetError> {
    let hidden = count(se.b1.as_ref(), "b1")?;
    if hidden == 0 {
        return Err(NetError::malformed("b1", "expected at least one number, got none"));
    }
    Ok(SqueezeExcite {
        hidden,
        w1: array(se.w1.as_ref(), "w1", &[hidden, filters])?,
        b1: array(se.b1.as_ref(), "b1", &[hidden])?,
        w2: array(se.w2.as_ref(), "w2", &[2, filters, hidden])?,
        b2: array(se.b2.as_ref(), "b2", &[2, filters])?,
    })
}

/// The policy head to read and its place in the file: `vanilla` where there are several.
///
/// The dense layer of a head falls back to the one shared by all, and that to the one of files with a single head.
fn policy_head<'a>(weights: &Weights<'a>) -> (PolicyHead<'a>, &'static str) {
    let single = weights.policy;
    match weights.policy_heads {
        None => (single, "weights"),
        Some(heads) => {
            let head = heads.vanilla.unwrap_or_default();
            let ip_pol_w = head.ip_pol_w.or(heads.ip_pol_w).or(single.ip_pol_w);
            let ip_pol_b = head.ip_pol_b.or(heads.ip_pol_b).or(single.ip_pol_b);
            (PolicyHead { ip_pol_w, ip_pol_b, ..head }, "weights.policy_heads.vanilla")
        }
    }
}

/// The value head to read and its place in the file: `winner` where there are several.
fn value_head<'a>(weights: &Weights<'a>) -> (ValueHead<'a>, &'static str) {
    match weights.value_heads {
        None => (weights.value, "weights"),
        Some(heads) => (heads.winner.unwrap_or_default(), "weights.value_heads.winner"),
    }
}
