//! A network: its graph, and what its file says about it.

use crate::body;
use crate::builder::{Builder, SQUARES};
use crate::container;
use crate::error::NetError;
use crate::format::{Architecture, BodyKind, InputFormat, PolicyKind, ValueKind};
use crate::heads::{DEFAULT_POLICY, DEFAULT_VALUE, Heads, Wanted, policy_heads, value_heads};
use crate::proto::{Net, Weights};
use crate::tower::{self, Tower};
use crate::wire::Message;
use oncilla_opencl::graph::{Activation, Graph, Layer, Role, Shape};
use std::path::Path;

/// How many input planes a chess network has: eight positions of 13, and eight more.
pub(crate) const PLANES: usize = 112;

/// A network that has been read: what to run and how to feed it.
#[derive(Clone, Debug)]
pub struct Network {
    /// The graph. Its input is `[planes][64]`; its outputs are given by [`Role`], with [`crate::policy::MOVES`] logits
    /// for the policy.
    pub graph: Graph,
    /// Which of the format's 112 planes are the graph's input, in order: all of them, unless [`Network::narrow`] leaves
    /// some out.
    pub planes: Vec<usize>,
    /// How positions become the graph's input.
    pub input_format: InputFormat,
    /// What the file says about itself.
    pub facts: Facts,
}

/// Which heads of a network are read, by the names of Lc0's options `policy_head` and `value_head`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadChoice {
    /// `vanilla`, which nearly every network has, `optimistic`, `soft` or `opponent`.
    pub policy: String,
    /// `winner`, which nearly every network has, `q` or `st`.
    pub value: String,
}

impl HeadChoice {
    fn wanted(&self) -> Wanted<'_> {
        Wanted { policy: Some(&self.policy), value: Some(&self.value) }
    }
}

impl Default for HeadChoice {
    fn default() -> Self {
        Self { policy: DEFAULT_POLICY.to_string(), value: DEFAULT_VALUE.to_string() }
    }
}

/// What a file says about the network in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Filters of the tower; 0 if there is none.
    pub filters: usize,
    /// Residual blocks; 0 if there is no tower.
    pub blocks: usize,
    /// Whether the blocks have squeeze and excitation.
    pub squeeze_excite: bool,
    /// Kind of the body.
    pub body: BodyKind,
    /// Encoder layers of an attention body; 0 if there is none.
    pub encoders: usize,
    /// Heads of the attention in each encoder layer.
    pub attention_heads: u64,
    /// Channels of each square between the encoder layers.
    pub embedding: usize,
    /// Kind of the policy head.
    pub policy: PolicyKind,
    /// Kind of the value head.
    pub value: ValueKind,
    /// Names of the policy heads that are there, for [`HeadChoice`]: the default one first.
    pub policy_heads: Vec<&'static str>,
    /// Names of the value heads that are there.
    pub value_heads: Vec<&'static str>,
    /// Whether the value head that was read estimates its own error.
    pub value_error: bool,
    /// Whether there is a moves-left head.
    pub moves_left: bool,
    /// The activation after layers for which the file does not name another one.
    pub activation: Activation,
    /// The oldest version of Lc0 that can read the file: major, minor, patch.
    pub min_version: [u64; 3],
    /// Training steps; 0 if the file doesn't say.
    pub training_steps: u64,
    /// The file's licence text, shortened to 4096 characters; usually empty.
    pub license: String,
    /// Number of weights and biases, after batch norm has been folded.
    pub parameters: u64,
}

impl Network {
    /// Reads a network file, compressed or not, with its default heads.
    ///
    /// # Errors
    /// If the file can't be read, is of another kind, damaged, or of an architecture that isn't supported.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, NetError> {
        Self::read_heads(path, &HeadChoice::default())
    }

    /// Reads a network file with the heads that `choice` names.
    ///
    /// # Errors
    /// Like [`Network::read`]; also if the network has no head with that name.
    pub fn read_heads(path: impl AsRef<Path>, choice: &HeadChoice) -> Result<Self, NetError> {
        Self::build(&container::read_file(path.as_ref(), container::check_kind)?, &choice.wanted())
    }

    /// Reads a network file with its default heads or, for one that it lacks, the first of [`Facts::policy_heads`] or
    /// [`Facts::value_heads`]: enough to describe it.
    ///
    /// # Errors
    /// Like [`Network::read`].
    pub fn read_first_heads(path: impl AsRef<Path>) -> Result<Self, NetError> {
        let wanted = Wanted { policy: None, value: None };
        Self::build(&container::read_file(path.as_ref(), container::check_kind)?, &wanted)
    }

    /// Reads a network from the bytes of its file, compressed or not, with its default heads.
    ///
    /// Memory stays within a small multiple of the message's size. A compressed message may have 64 MiB or 32 times the
    /// size of its file, whichever is more, but never more than [`MAX_BYTES`](crate::MAX_BYTES).
    ///
    /// # Errors
    /// Like [`Network::read`].
    pub fn from_bytes(file: &[u8]) -> Result<Self, NetError> {
        Self::from_bytes_heads(file, &HeadChoice::default())
    }

    /// Reads a network from the bytes of its file, with the heads that `choice` names.
    ///
    /// # Errors
    /// Like [`Network::read_heads`].
    pub fn from_bytes_heads(file: &[u8], choice: &HeadChoice) -> Result<Self, NetError> {
        Self::build(&container::message(file)?, &choice.wanted())
    }

    fn build(message: &[u8], wanted: &Wanted<'_>) -> Result<Self, NetError> {
        let mut net = Net::default();
        net.merge(message)?;
        let architecture = Architecture::of(&net)?;
        let weights =
            net.weights.as_ref().ok_or_else(|| NetError::malformed("weights", "expected weights, got none"))?;
        let input = Shape { channels: PLANES, squares: SQUARES };
        let mut builder = Builder::new(input, architecture.activation);
        let mut tower = Tower::NONE;
        if architecture.body == BodyKind::Convolution || !weights.residual.is_empty() {
            tower = tower::build(&mut builder, weights).map_err(|e| e.within("weights"))?;
        }
        let mut top = tower.top;
        if let BodyKind::Attention(embedding) = architecture.body {
            top = body::build(&mut builder, weights, &architecture, embedding, top).map_err(|e| e.within("weights"))?;
        }
        let embedding = builder.graph.shape(top).channels;
        Heads { builder: &mut builder, architecture: &architecture, body: top }.build(weights, wanted)?;
        let facts = facts(&net, weights, &architecture, &tower, embedding, &builder.graph);
        Ok(Self { graph: builder.graph, planes: (0..PLANES).collect(), input_format: architecture.input, facts })
    }

    /// Leaves out the planes for which the network has no weight but zeros. It then computes the same from less input;
    /// and a network that does not look at earlier positions need not be asked again when other moves have led to the
    /// same position.
    pub fn narrow(&mut self) {
        let kept = self.graph.narrow();
        self.planes = kept.iter().map(|&at| self.planes[at]).collect();
    }

    /// Leaves out what has no effect: planes, like [`Network::narrow`], and filters, like [`Graph::prune`].
    pub fn prune(&mut self) {
        self.narrow();
        self.graph.prune();
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

fn facts(
    net: &Net<'_>,
    weights: &Weights<'_>,
    architecture: &Architecture,
    tower: &Tower,
    embedding: usize,
    graph: &Graph,
) -> Facts {
    let version = net.min_version.unwrap_or_default();
    let attention = architecture.body != BodyKind::Convolution;
    Facts {
        filters: tower.filters,
        blocks: tower.blocks,
        squeeze_excite: tower.squeeze_excite,
        body: architecture.body,
        encoders: weights.encoders.len(),
        attention_heads: if attention { weights.headcount } else { 0 },
        embedding: if attention { embedding } else { 0 },
        policy: architecture.policy,
        value: architecture.value,
        policy_heads: policy_heads(weights).iter().map(|(name, _)| *name).collect(),
        value_heads: value_heads(weights).iter().map(|(name, _)| *name).collect(),
        value_error: graph.output_len(Role::ValueError).is_some(),
        moves_left: architecture.moves_left,
        activation: architecture.activation,
        min_version: [version.major, version.minor, version.patch],
        training_steps: net.training_params.unwrap_or_default().training_steps,
        license: String::from_utf8_lossy(&net.license[..net.license.len().min(4096)]).into_owned(),
        parameters: parameters(graph),
    }
}

/// How many numbers were learnt; those that layers share count once.
fn parameters(graph: &Graph) -> u64 {
    let mut shared = Vec::new();
    let mut count = 0;
    for layer in graph.layers() {
        count += match layer {
            Layer::Conv { weights, bias, se, .. } => {
                let se = se.as_ref().map_or(0, |se| se.w1.len() + se.b1.len() + se.w2.len() + se.b2.len());
                weights.len() + bias.len() + se
            }
            Layer::Dense { weights, bias, .. } => weights.len() + bias.len(),
            Layer::Gate { scale, shift, .. } => scale.len() + shift.len(),
            Layer::Affine { scale, shift, .. } => scale.len() + shift.len(),
            Layer::LayerNorm { gammas, betas, .. } => gammas.len() + betas.len(),
            Layer::Constant { values, .. } => values.len(),
            Layer::Smolgen { weights, .. } if shared.contains(&std::sync::Arc::as_ptr(weights)) => 0,
            Layer::Smolgen { weights, .. } => {
                shared.push(std::sync::Arc::as_ptr(weights));
                weights.len()
            }
            Layer::Rotate { angles, .. } => angles.len(),
            Layer::Gather { .. }
            | Layer::Pool { .. }
            | Layer::RmsNorm { .. }
            | Layer::Multiply { .. }
            | Layer::Attention { .. }
            | Layer::Scores { .. } => 0,
        };
    }
    count as u64
}
