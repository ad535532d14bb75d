//! Policy, value and moves-left heads.

use crate::builder::{Builder, Ending, Named, Step};
use crate::decode::{array, count, present};
use crate::encoder::{self, Common, NARROW_EPSILON};
use crate::error::NetError;
use crate::format::{Architecture, BodyKind, PolicyKind, ValueKind};
use crate::policy::{CONV_PLANES, MOVES, attention_map, conv_map};
use crate::proto::{ConvBlock, MovesLeft, PolicyHead, ValueHead, Weights};
use oncilla_opencl::graph::{Activation, Layer, Role, ValueId};

/// The policy head that every network should have.
pub(crate) const DEFAULT_POLICY: &str = "vanilla";

/// The value head that every network should have.
pub(crate) const DEFAULT_VALUE: &str = "winner";

/// Names of the heads to read. Without a name it is the default head or, if there is none, the first.
pub(crate) struct Wanted<'a> {
    pub policy: Option<&'a str>,
    pub value: Option<&'a str>,
}

/// Builds the heads.
pub(crate) struct Heads<'a> {
    pub builder: &'a mut Builder,
    pub architecture: &'a Architecture,
    /// The body's last value.
    pub body: ValueId,
}

impl Heads<'_> {
    /// Builds every head that the architecture has.
    pub fn build(&mut self, weights: &Weights<'_>, choice: &Wanted<'_>) -> Result<(), NetError> {
        let (policy, place) = policy_head(weights, choice.policy)?;
        self.policy(&policy, weights).map_err(|e| e.within(&place))?;
        let (value, place) = value_head(weights, choice.value)?;
        self.value(&value).map_err(|e| e.within(&place))?;
        if self.architecture.moves_left {
            self.moves_left(&weights.moves_left).map_err(|e| e.within("weights"))?;
        }
        Ok(())
    }

    fn on_attention_body(&self) -> bool {
        matches!(self.architecture.body, BodyKind::Attention(_))
    }

    fn output(&mut self, field: &str, role: Role, value: ValueId) -> Result<(), NetError> {
        self.builder.graph.output(role, value).map_err(|e| NetError::malformed(field, e.what))
    }

    fn policy(&mut self, head: &PolicyHead<'_>, weights: &Weights<'_>) -> Result<(), NetError> {
        let logits = match self.architecture.policy {
            PolicyKind::Classical => self.classical_policy(head)?,
            PolicyKind::Convolution => self.conv_policy(head)?,
            PolicyKind::Attention => self.attention_policy(head, weights)?,
        };
        self.output("policy", Role::Policy, logits)
    }

    fn classical_policy(&mut self, head: &PolicyHead<'_>) -> Result<ValueId, NetError> {
        let activation = self.builder.activation;
        let step = Step { block: head.policy.as_ref(), field: "policy", input: self.body, kernel: 1, activation };
        let planes = self.builder.conv(&step, Builder::channels(&step)?, None, None)?;
        let got = count(head.ip_pol_b.as_ref(), "ip_pol_b")?;
        if got != MOVES {
            return Err(NetError::malformed("ip_pol_b", format!("expected {MOVES} numbers, got {got}")));
        }
        let (w, b) = (("ip_pol_w", head.ip_pol_w.as_ref()), ("ip_pol_b", head.ip_pol_b.as_ref()));
        self.builder.dense(planes, w, b, Activation::None)
    }

    fn conv_policy(&mut self, head: &PolicyHead<'_>) -> Result<ValueId, NetError> {
        let activation = self.builder.activation;
        let first = Step { block: head.policy1.as_ref(), field: "policy1", input: self.body, kernel: 3, activation };
        let inner = self.builder.conv(&first, Builder::channels(&first)?, None, None)?;
        let none = Activation::None;
        let second = Step { block: head.policy.as_ref(), field: "policy", input: inner, kernel: 3, activation: none };
        let channels = Builder::channels(&second)?;
        if channels < CONV_PLANES {
            let what = format!("expected at least {CONV_PLANES} planes, got {channels}");
            return Err(NetError::malformed("policy.biases", what));
        }
        let planes = self.builder.conv(&second, channels, None, None)?;
        let indices = conv_map().map(u32::from).to_vec();
        self.builder.push("policy", Layer::Gather { input: planes, indices, squares: 1, residual: None })
    }

    /// A move's logit is the product of the square it starts from and the square it ends on; a promotion to another
    /// piece than a knight adds what that piece is worth on the square where it appears.
    fn attention_policy(&mut self, head: &PolicyHead<'_>, weights: &Weights<'_>) -> Result<ValueId, NetError> {
        // Convolutional towers were trained with these activations, whatever the others are.
        let (activation, ffn_activation, smolgen_activation) = match self.on_attention_body() {
            true => (self.builder.activation, self.architecture.ffn_activation, self.architecture.smolgen_activation),
            false => (Activation::Selu, Activation::Selu, Activation::None),
        };
        let (w, b) = (("ip_pol_w", head.ip_pol_w.as_ref()), ("ip_pol_b", head.ip_pol_b.as_ref()));
        let mut tokens = self.builder.linear(self.body, w, b, Ending::activate(activation))?;
        if !head.encoders.is_empty() {
            let smolgen = encoder::smolgen_weights(weights.smolgen_w)?;
            let heads = encoder::heads("pol_headcount", head.headcount, head.encoders.len())?;
            let (alpha, epsilon) = (1.0, NARROW_EPSILON);
            let common = Common { heads, alpha, epsilon, ffn_activation, smolgen_activation, smolgen };
            for (i, bytes) in head.encoders.iter().enumerate() {
                tokens = encoder::build(self.builder, bytes, tokens, &common)
                    .map_err(|e| e.within(&format!("pol_encoder[{i}]")))?;
            }
        }
        let plain = Ending::activate(Activation::None);
        let (w, b) = (("ip2_pol_w", head.ip2_pol_w.as_ref()), ("ip2_pol_b", head.ip2_pol_b.as_ref()));
        let query = self.builder.linear(tokens, w, b, plain)?;
        let (w, b) = (("ip3_pol_w", head.ip3_pol_w.as_ref()), ("ip3_pol_b", head.ip3_pol_b.as_ref()));
        let key = self.builder.linear(tokens, w, b, plain)?;
        let channels = |value| self.builder.graph.shape(value).channels;
        encoder::alike(("ip3_pol_b", channels(key)), ("ip2_pol_b", channels(query)))?;
        let scores = self.builder.push("ip3_pol_b", Layer::Scores { query, key })?;
        // The rows: queen, rook, bishop, and what is added to each of these. The last row is set to zero, for moves
        // that are not promotions.
        let channels = self.builder.graph.shape(key).channels;
        let mut pieces = array(head.ip4_pol_w.as_ref(), "ip4_pol_w", &[4, channels])?;
        let (rows, common) = pieces.split_at_mut(3 * channels);
        rows.chunks_exact_mut(channels).for_each(|row| row.iter_mut().zip(&*common).for_each(|(w, c)| *w += c));
        common.fill(0.0);
        let worth = self.builder.pointwise("ip4_pol_w", key, pieces, vec![0.0; 4], plain)?;
        let (moves, promotions) = attention_map();
        let promotions = Layer::Gather { input: worth, indices: promotions, squares: 1, residual: None };
        let promotions = self.builder.push("ip4_pol_w", promotions)?;
        let gather = Layer::Gather { input: scores, indices: moves, squares: 1, residual: Some(promotions) };
        self.builder.push("ip2_pol_b", gather)
    }

    /// The first two layers of a value or moves-left head: a convolution to a few channels, then a dense layer over all
    /// squares.
    fn squeeze(
        &mut self,
        conv: (&str, Option<&ConvBlock<'_>>),
        linear: (Named<'_>, Named<'_>),
        dense: (Named<'_>, Named<'_>),
    ) -> Result<ValueId, NetError> {
        let activation = self.builder.activation;
        if self.on_attention_body() {
            let tokens = self.builder.linear(self.body, linear.0, linear.1, Ending::activate(activation))?;
            return self.builder.dense_by_squares(tokens, dense.0, dense.1, activation);
        }
        let step = Step { block: conv.1, field: conv.0, input: self.body, kernel: 1, activation };
        let planes = self.builder.conv(&step, Builder::channels(&step)?, None, None)?;
        self.builder.dense(planes, dense.0, dense.1, activation)
    }

    fn value(&mut self, head: &ValueHead<'_>) -> Result<(), NetError> {
        let hidden = self.squeeze(
            ("value", head.value.as_ref()),
            (("ip_val_w", head.ip_val_w.as_ref()), ("ip_val_b", head.ip_val_b.as_ref())),
            (("ip1_val_w", head.ip1_val_w.as_ref()), ("ip1_val_b", head.ip1_val_b.as_ref())),
        )?;
        let kind = self.architecture.value;
        let (role, expected, last) = match kind {
            ValueKind::Classical => (Role::Value, 1, Activation::Tanh),
            ValueKind::Wdl => (Role::Wdl, 3, Activation::Softmax),
        };
        let got = count(head.ip2_val_b.as_ref(), "ip2_val_b")?;
        if got != expected {
            let what = format!("expected {expected} numbers for a {kind} value head, got {got}");
            return Err(NetError::malformed("ip2_val_b", what));
        }
        let (w, b) = (("ip2_val_w", head.ip2_val_w.as_ref()), ("ip2_val_b", head.ip2_val_b.as_ref()));
        let value = self.builder.dense(hidden, w, b, last)?;
        self.output("ip2_val_w", role, value)?;
        if count(head.ip_val_err_w.as_ref(), "ip_val_err_w")? == 0 {
            return Ok(());
        }
        let (w, b) = (("ip_val_err_w", head.ip_val_err_w.as_ref()), ("ip_val_err_b", head.ip_val_err_b.as_ref()));
        // As in Lc0's training; Lc0 itself reads these weights but doesn't use them.
        let error = self.builder.dense(hidden, w, b, Activation::Sigmoid)?;
        self.output("ip_val_err_b", Role::ValueError, error)
    }

    fn moves_left(&mut self, head: &MovesLeft<'_>) -> Result<(), NetError> {
        let hidden = self.squeeze(
            ("moves_left", head.moves_left.as_ref()),
            (("ip_mov_w", head.ip_mov_w.as_ref()), ("ip_mov_b", head.ip_mov_b.as_ref())),
            (("ip1_mov_w", head.ip1_mov_w.as_ref()), ("ip1_mov_b", head.ip1_mov_b.as_ref())),
        )?;
        // Plies can't be negative, so the last layer ends in a ReLU whatever the default is.
        let (w, b) = (("ip2_mov_w", head.ip2_mov_w.as_ref()), ("ip2_mov_b", head.ip2_mov_b.as_ref()));
        let plies = self.builder.dense(hidden, w, b, Activation::Relu)?;
        self.output("ip2_mov_b", Role::MovesLeft, plies)
    }
}

/// The policy heads that a file has, by the names that Lc0's options use, the default one first.
pub(crate) fn policy_heads<'w, 'a>(weights: &'w Weights<'a>) -> Vec<(&'static str, &'w PolicyHead<'a>)> {
    let Some(heads) = &weights.policy_heads else { return vec![(DEFAULT_POLICY, &weights.policy)] };
    let others = [("optimistic", &heads.optimistic), ("soft", &heads.soft), ("opponent", &heads.opponent)];
    there(std::iter::once((DEFAULT_POLICY, &heads.vanilla)).chain(others))
}

/// The value heads that a file has, by the names that Lc0's options use, the default one first.
pub(crate) fn value_heads<'w, 'a>(weights: &'w Weights<'a>) -> Vec<(&'static str, &'w ValueHead<'a>)> {
    let Some(heads) = &weights.value_heads else { return vec![(DEFAULT_VALUE, &weights.value)] };
    there([(DEFAULT_VALUE, &heads.winner), ("q", &heads.q), ("st", &heads.st)])
}

fn there<'w, T>(heads: impl IntoIterator<Item = (&'static str, &'w Option<T>)>) -> Vec<(&'static str, &'w T)> {
    heads.into_iter().filter_map(|(name, head)| head.as_ref().map(|head| (name, head))).collect()
}

/// The head with this name, or, without a name, the first, and what it is called.
fn chosen<T: Clone>(
    kind: &str,
    heads: &[(&'static str, &T)],
    name: Option<&str>,
) -> Result<(&'static str, T), NetError> {
    let is_it = |known: &str| name.is_none_or(|name| name == known);
    if let Some(&(known, head)) = heads.iter().find(|(known, _)| is_it(known)) {
        return Ok((known, head.clone()));
    }
    let known: Vec<&str> = heads.iter().map(|(known, _)| *known).collect();
    let what = match (name, &known[..]) {
        (Some(name), [_, ..]) => format!("the network has no {kind} head {name:?}, but {}", known.join(", ")),
        _ => format!("expected at least one {kind} head, got none"),
    };
    Err(NetError::unsupported(format!("weights.{kind}_heads"), what))
}

/// The policy head to read, and its path in the file.
///
/// If a head has no first layer, the one shared by all heads is used, or else the one of files with a single head.
fn policy_head<'a>(weights: &Weights<'a>, name: Option<&str>) -> Result<(PolicyHead<'a>, String), NetError> {
    let (name, mut head) = chosen("policy", &policy_heads(weights), name)?;
    let Some(heads) = &weights.policy_heads else { return Ok((head, "weights".to_string())) };
    head.ip_pol_w = present(head.ip_pol_w).or(present(heads.ip_pol_w)).or(weights.policy.ip_pol_w);
    head.ip_pol_b = present(head.ip_pol_b).or(present(heads.ip_pol_b)).or(weights.policy.ip_pol_b);
    let field = if name == "optimistic" { "optimistic_st" } else { name };
    Ok((head, format!("weights.policy_heads.{field}")))
}

/// The value head to read, and its path in the file.
fn value_head<'a>(weights: &Weights<'a>, name: Option<&str>) -> Result<(ValueHead<'a>, String), NetError> {
    let (name, head) = chosen("value", &value_heads(weights), name)?;
    let place =
        if weights.value_heads.is_some() { format!("weights.value_heads.{name}") } else { "weights".to_string() };
    Ok((head, place))
}
