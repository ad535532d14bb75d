//! An attention body: squares become tokens, encoder layers mix them.

use crate::builder::{Builder, Ending, Named, SQUARES, elements};
use crate::decode::{array, count};
use crate::encoder::{self, Common, NARROW_EPSILON, WIDE_EPSILON};
use crate::error::NetError;
use crate::format::{Architecture, Embedding};
use crate::policy::is_move;
use crate::proto::{self, Weights};
use oncilla_opencl::graph::{Activation, INPUT, Layer, Shape, ValueId};

/// Planes of the input that a dense embedding reads: the pieces of the present position.
const PIECES: usize = 12;

/// Builds the body on `tower`, which is [`INPUT`] where the network has no convolutions; returns its last value.
pub(crate) fn build(
    builder: &mut Builder,
    weights: &Weights<'_>,
    architecture: &Architecture,
    embedding: Embedding,
    tower: ValueId,
) -> Result<ValueId, NetError> {
    let common = Common {
        heads: encoder::heads("headcount", weights.headcount, weights.encoders.len())?,
        alpha: (2.0 * weights.encoders.len() as f32).powf(-0.25),
        epsilon: if embedding == Embedding::Dense { WIDE_EPSILON } else { NARROW_EPSILON },
        ffn_activation: architecture.ffn_activation,
        smolgen_activation: architecture.smolgen_activation,
        smolgen: encoder::smolgen_weights(weights.smolgen_w)?,
    };
    let parts = &weights.embedding;
    let activation = Ending::activate(builder.activation);
    let mut x = match embedding {
        Embedding::Map if tower == INPUT => map(builder, parts)?,
        Embedding::Dense if tower == INPUT => dense(builder, parts)?,
        _ => builder.linear(tower, emb_w(parts), emb_b(parts), activation)?,
    };
    if embedding == Embedding::Dense {
        let gammas = ("ip_emb_ln_gammas", parts.ip_emb_ln_gammas.as_ref());
        x = builder.layer_norm(x, gammas, ("ip_emb_ln_betas", parts.ip_emb_ln_betas.as_ref()), WIDE_EPSILON)?;
    }
    x = gate(builder, parts, x)?;
    if embedding == Embedding::Dense {
        let ffn = parts.ip_emb_ffn.as_ref();
        x = encoder::feed_forward(builder, ffn, x, common.alpha, common.ffn_activation)
            .map_err(|e| e.within("ip_emb_ffn"))?;
        let gammas = ("ip_emb_ffn_ln_gammas", parts.ip_emb_ffn_ln_gammas.as_ref());
        let betas = ("ip_emb_ffn_ln_betas", parts.ip_emb_ffn_ln_betas.as_ref());
        x = builder.layer_norm(x, gammas, betas, WIDE_EPSILON)?;
    }
    for (i, bytes) in weights.encoders.iter().enumerate() {
        x = encoder::build(builder, bytes, x, &common).map_err(|e| e.within(&format!("encoder[{i}]")))?;
    }
    Ok(x)
}

fn emb_w<'a>(parts: &'a proto::Embedding<'a>) -> Named<'a> {
    ("ip_emb_w", parts.ip_emb_w.as_ref())
}

fn emb_b<'a>(parts: &'a proto::Embedding<'a>) -> Named<'a> {
    ("ip_emb_b", parts.ip_emb_b.as_ref())
}

/// The embedding's weights `[embedding][planes + encoding]`, cut behind the planes, and its bias.
fn cut_weights(parts: &proto::Embedding<'_>, encoding: usize) -> Result<[Vec<f32>; 3], NetError> {
    let planes = crate::network::PLANES;
    let embedding = elements(emb_b(parts))?;
    let weights = array(parts.ip_emb_w.as_ref(), "ip_emb_w", &[embedding, planes + encoding])?;
    let rows = || weights.chunks_exact(planes + encoding);
    let of_planes = rows().flat_map(|row| &row[..planes]).copied().collect();
    let of_encoding = rows().flat_map(|row| &row[planes..]).copied().collect();
    Ok([of_planes, of_encoding, array(parts.ip_emb_b.as_ref(), "ip_emb_b", &[embedding])?])
}

/// A token is the planes of its square and, for each square, whether a queen or a knight gets there: 1, and −1 for the
/// square itself. What the weights make of the second part doesn't depend on the position: a constant, added.
fn map(builder: &mut Builder, parts: &proto::Embedding<'_>) -> Result<ValueId, NetError> {
    let [weights, of_encoding, bias] = cut_weights(parts, SQUARES)?;
    let reached = |square: usize, to: usize| match square == to {
        true => -1.0,
        false => f64::from(u8::from(is_move(square, to))),
    };
    let encoding: Vec<[f64; SQUARES]> =
        (0..SQUARES).map(|square| std::array::from_fn(|to| reached(square, to))).collect();
    let product = |row: &[f32], of_square: &[f64]| -> f64 {
        row.iter().zip(of_square).map(|(w, reached)| f64::from(*w) * reached).sum()
    };
    let mut values = Vec::with_capacity(of_encoding.len());
    for row in of_encoding.chunks_exact(SQUARES) {
        values.extend(encoding.iter().map(|of_square| product(row, of_square) as f32));
    }
    drop(of_encoding);
    let shape = Shape { channels: bias.len(), squares: SQUARES };
    let constant = builder.push("ip_emb_w", Layer::Constant { shape, values })?;
    let ending = Ending { residual: Some(constant), ..Ending::activate(builder.activation) };
    builder.pointwise("ip_emb_w", INPUT, weights, bias, ending)
}

/// A token is the planes of its square and its part of what a dense layer makes of all pieces.
fn dense(builder: &mut Builder, parts: &proto::Embedding<'_>) -> Result<ValueId, NetError> {
    let (w, b) =
        (("ip_emb_preproc_w", parts.ip_emb_preproc_w.as_ref()), ("ip_emb_preproc_b", parts.ip_emb_preproc_b.as_ref()));
    let got = elements(b)?;
    if !got.is_multiple_of(SQUARES) {
        return Err(NetError::malformed(b.0, format!("expected a multiple of {SQUARES} numbers, got {got}")));
    }
    let channels = got / SQUARES;
    let indices = (0..(PIECES * SQUARES) as u32).collect();
    let pieces = Layer::Gather { input: INPUT, indices, squares: SQUARES, residual: None };
    let pieces = builder.push("ip_emb_preproc_w", pieces)?;
    let encoding = builder.dense_by_squares(pieces, w, b, Activation::None)?;
    // Its neurons are counted square by square too.
    let at = |i: usize| i % SQUARES * channels + i / SQUARES;
    let indices = (0..got).map(|i| at(i) as u32).collect();
    let encoding = Layer::Gather { input: encoding, indices, squares: SQUARES, residual: None };
    let encoding = builder.push("ip_emb_preproc_b", encoding)?;
    let [weights, of_encoding, bias] = cut_weights(parts, channels)?;
    let no_bias = vec![0.0; bias.len()];
    let of_planes = builder.pointwise("ip_emb_w", INPUT, weights, bias, Ending::activate(Activation::None))?;
    let ending = Ending { residual: Some(of_planes), ..Ending::activate(builder.activation) };
    builder.pointwise("ip_emb_w", encoding, of_encoding, no_bias, ending)
}

/// A factor and a summand for each element of the tokens, where the file has both.
fn gate(builder: &mut Builder, parts: &proto::Embedding<'_>, input: ValueId) -> Result<ValueId, NetError> {
    let (factors, summands) = (parts.ip_mult_gate.as_ref(), parts.ip_add_gate.as_ref());
    if count(factors, "ip_mult_gate")? == 0 && count(summands, "ip_add_gate")? == 0 {
        return Ok(input);
    }
    let channels = builder.graph.shape(input).channels;
    let scale = array(factors, "ip_mult_gate", &[channels, SQUARES])?;
    let shift = array(summands, "ip_add_gate", &[channels, SQUARES])?;
    builder.push("ip_mult_gate", Layer::Gate { input, scale, shift })
}
