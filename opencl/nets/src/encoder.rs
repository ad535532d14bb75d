//! A layer of a transformer's encoder, as in Lc0: the norm comes after the skip connection (post-norm), and a factor
//! alpha scales what is added to it (DeepNorm the other way round: Wang et al. 2022, arXiv:2203.00555).

use crate::builder::{Builder, Ending, SQUARES, elements};
use crate::decode::{array, present};
use crate::error::NetError;
use crate::proto::{Encoder, Ffn, Layer as Encoded, Mha, Smolgen};
use crate::wire::Message;
use oncilla_opencl::graph::{Activation, Layer, ValueId};
use std::sync::Arc;

/// Lc0's epsilon inside a smolgen, and in bodies with a dense embedding.
pub(crate) const WIDE_EPSILON: f32 = 1e-3;

/// Lc0's epsilon in other bodies and in policy heads.
pub(crate) const NARROW_EPSILON: f32 = 1e-6;

/// What the layers of one encoder have in common.
pub(crate) struct Common {
    /// Number of heads of the attention, see [`heads`].
    pub heads: usize,
    /// Scales what is added to the skip connection.
    pub alpha: f32,
    pub epsilon: f32,
    pub ffn_activation: Activation,
    pub smolgen_activation: Activation,
    /// The last weights of every smolgen, see [`smolgen_weights`]; `None` if no layer has a smolgen.
    pub smolgen: Option<Arc<Vec<f32>>>,
}

/// The number of heads that a file gives in `field` for its `encoders`.
pub(crate) fn heads(field: &str, count: u64, encoders: usize) -> Result<usize, NetError> {
    match usize::try_from(count).unwrap_or(usize::MAX) {
        0 if encoders > 0 => {
            Err(NetError::malformed(field, format!("expected at least 1 for {encoders} encoders, got 0")))
        }
        count => Ok(count),
    }
}

/// The weights that all smolgens share, reordered from `[query · 64 + key][part]` to the order of
/// [`Layer::Attention`]'s bias.
pub(crate) fn smolgen_weights(weights: Option<Encoded<'_>>) -> Result<Option<Arc<Vec<f32>>>, NetError> {
    let weights = present(weights);
    if weights.is_none() {
        return Ok(None);
    }
    let weights = weights.as_ref();
    let got = elements(("smolgen_w", weights))?;
    if !got.is_multiple_of(SQUARES * SQUARES) {
        let what = format!("expected a multiple of {} numbers, got {got}", SQUARES * SQUARES);
        return Err(NetError::malformed("smolgen_w", what));
    }
    let part = got / (SQUARES * SQUARES);
    let mut weights = array(weights, "smolgen_w", &[SQUARES, SQUARES, part])?;
    for query in 0..SQUARES {
        for key in 0..query {
            let (one, other) = ((key * SQUARES + query) * part, (query * SQUARES + key) * part);
            let (before, after) = weights.split_at_mut(other);
            before[one..one + part].swap_with_slice(&mut after[..part]);
        }
    }
    Ok(Some(Arc::new(weights)))
}

/// Builds one layer, and returns the value after its second norm.
pub(crate) fn build(builder: &mut Builder, bytes: &[u8], input: ValueId, common: &Common) -> Result<ValueId, NetError> {
    let mut encoder = Encoder::default();
    encoder.merge(bytes)?;
    let mha = encoder.mha.unwrap_or_default();
    let attended = attention(builder, &mha, input, common).map_err(|e| e.within("mha"))?;
    let (gammas, betas) = (("ln1_gammas", encoder.ln1_gammas.as_ref()), ("ln1_betas", encoder.ln1_betas.as_ref()));
    let normed = builder.layer_norm(attended, gammas, betas, common.epsilon)?;
    let fed = feed_forward(builder, encoder.ffn.as_ref(), normed, common.alpha, common.ffn_activation)
        .map_err(|e| e.within("ffn"))?;
    let (gammas, betas) = (("ln2_gammas", encoder.ln2_gammas.as_ref()), ("ln2_betas", encoder.ln2_betas.as_ref()));
    builder.layer_norm(fed, gammas, betas, common.epsilon)
}

/// `input + alpha · (attention · dense)`.
fn attention(builder: &mut Builder, mha: &Mha<'_>, input: ValueId, common: &Common) -> Result<ValueId, NetError> {
    if mha.has_rpe {
        return Err(NetError::unsupported("rpe", "relative position encoding (RPE) is not supported"));
    }
    let heads = common.heads;
    let plain = Ending::activate(Activation::None);
    let query = builder.linear(input, ("q_w", mha.q_w.as_ref()), ("q_b", mha.q_b.as_ref()), plain)?;
    let key = builder.linear(input, ("k_w", mha.k_w.as_ref()), ("k_b", mha.k_b.as_ref()), plain)?;
    let value = builder.linear(input, ("v_w", mha.v_w.as_ref()), ("v_b", mha.v_b.as_ref()), plain)?;
    let channels = |value| builder.graph.shape(value).channels;
    alike(("k_b", channels(key)), ("q_b", channels(query)))?;
    for (field, got) in [("q_b", channels(query)), ("v_b", channels(value))] {
        multiple_of_heads(field, got, heads)?;
    }
    let bias = match &mha.smolgen {
        Some(unit) => Some(smolgen(builder, unit, input, common).map_err(|e| e.within("smolgen"))?),
        None => None,
    };
    let mixed = builder.push("headcount", Layer::Attention { query, key, value, heads, bias })?;
    let ending = Ending { scale: common.alpha, residual: Some(input), activation: Activation::None };
    builder.linear(mixed, ("dense_w", mha.dense_w.as_ref()), ("dense_b", mha.dense_b.as_ref()), ending)
}

/// Checks that an array has as many numbers as another.
pub(crate) fn alike((field, got): (&str, usize), (other, expected): (&str, usize)) -> Result<(), NetError> {
    match got == expected {
        true => Ok(()),
        false => {
            Err(NetError::malformed(field, format!("expected {expected} numbers, as many as {other} has, got {got}")))
        }
    }
}

/// Checks that an array can be parted among the heads.
fn multiple_of_heads(field: &str, got: usize, heads: usize) -> Result<(), NetError> {
    match heads > 0 && got.is_multiple_of(heads) {
        true => Ok(()),
        false => {
            Err(NetError::malformed(field, format!("expected a multiple of {heads}, the heads, got {got} numbers")))
        }
    }
}

/// Builds a bias for each head of the attention, from the whole board.
fn smolgen(builder: &mut Builder, unit: &Smolgen<'_>, input: ValueId, common: &Common) -> Result<ValueId, NetError> {
    let heads = common.heads;
    let weights = common.smolgen.clone();
    let weights =
        weights.ok_or_else(|| NetError::malformed("", "expected weights.smolgen_w to go with it, got none"))?;
    let embedding = builder.graph.shape(input).channels;
    let got = elements(("compress", unit.compress.as_ref()))?;
    if !got.is_multiple_of(embedding) {
        let what = format!("expected a multiple of {embedding} numbers, got {got}");
        return Err(NetError::malformed("compress", what));
    }
    let compress = array(unit.compress.as_ref(), "compress", &[got / embedding, embedding])?;
    let no_bias = vec![0.0; got / embedding];
    let tokens = builder.pointwise("compress", input, compress, no_bias, Ending::activate(Activation::None))?;
    let activation = common.smolgen_activation;
    let (w, b) = (("dense1_w", unit.dense1_w.as_ref()), ("dense1_b", unit.dense1_b.as_ref()));
    let hidden = builder.dense_by_squares(tokens, w, b, activation)?;
    let (gammas, betas) = (("ln1_gammas", unit.ln1_gammas.as_ref()), ("ln1_betas", unit.ln1_betas.as_ref()));
    let hidden = builder.layer_norm(hidden, gammas, betas, WIDE_EPSILON)?;
    let (w, b) = (("dense2_w", unit.dense2_w.as_ref()), ("dense2_b", unit.dense2_b.as_ref()));
    let parts = builder.dense(hidden, w, b, activation)?;
    let (got, each) = (builder.graph.shape(parts).len(), weights.len() / (SQUARES * SQUARES));
    if Some(got) != heads.checked_mul(each) {
        let what =
            format!("expected {heads}·{each} numbers, for each of the heads as many as smolgen_w takes, got {got}");
        return Err(NetError::malformed("dense2_b", what));
    }
    let (gammas, betas) = (("ln2_gammas", unit.ln2_gammas.as_ref()), ("ln2_betas", unit.ln2_betas.as_ref()));
    let parts = builder.layer_norm(parts, gammas, betas, WIDE_EPSILON)?;
    builder.push("dense2_b", Layer::Smolgen { input: parts, heads, weights })
}

/// `input + alpha · dense2(act(dense1(input)))`, square by square.
pub(crate) fn feed_forward(
    builder: &mut Builder,
    ffn: Option<&Ffn<'_>>,
    input: ValueId,
    alpha: f32,
    activation: Activation,
) -> Result<ValueId, NetError> {
    let ffn = ffn.copied().unwrap_or_default();
    let (w, b) = (("dense1_w", ffn.dense1_w.as_ref()), ("dense1_b", ffn.dense1_b.as_ref()));
    let hidden = builder.linear(input, w, b, Ending::activate(activation))?;
    let (w, b) = (("dense2_w", ffn.dense2_w.as_ref()), ("dense2_b", ffn.dense2_b.as_ref()));
    let ending = Ending { scale: alpha, residual: Some(input), activation: Activation::None };
    builder.linear(hidden, w, b, ending)
}
