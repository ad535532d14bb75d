//! Launches `attention.cl`.

use super::{Family, Kernels, Launch, Value};
use crate::device::{Arg, Buffer, Error};

const FAMILY: Family = Family { name: "attention", source: include_str!("attention.cl") };

/// Attention between the squares of a position, see [`crate::graph::Layer::Attention`].
#[derive(Debug)]
pub struct Attention<'a> {
    /// `[channels][squares]`.
    pub query: &'a Value,
    /// As many.
    pub key: &'a Value,
    /// `[channels of the output][squares]`.
    pub value: &'a Value,
    /// Divides the channels of query and value.
    pub heads: usize,
    /// `[heads][squares of the key · squares of the query]`.
    pub bias: Option<&'a Value>,
    /// Where the result goes, plain.
    pub output: &'a Value,
}

/// Makes the launch.
///
/// # Errors
/// If the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, attention: &Attention<'_>) -> Result<Launch, Error> {
    let Attention { query, key, value, heads, bias, output } = *attention;
    kernels.check(&[query, key, value, output])?;
    kernels.check(bias.as_slice())?;
    let (from, to) = (query.layout.shape, value.layout.shape);
    let any = bias.unwrap_or(query);
    let args = [
        Arg::Buffer(&query.buffer),
        Arg::Int(query.layout.block),
        Arg::Int(query.layout.stride()),
        Arg::Buffer(&key.buffer),
        Arg::Int(key.layout.block),
        Arg::Int(key.layout.stride()),
        Arg::Buffer(&value.buffer),
        Arg::Int(value.layout.block),
        Arg::Int(value.layout.stride()),
        Arg::Buffer(&any.buffer),
        Arg::Int(bias.is_some().into()),
        Arg::Int(any.layout.block),
        Arg::Int(any.layout.stride()),
        Arg::Int(heads),
        Arg::Int(from.channels / heads),
        Arg::Int(to.channels / heads),
        Arg::Buffer(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    let options = format!("-DSQUARES={}", from.squares);
    kernels.by_element(FAMILY, &options, "attention", &args, heads * from.squares)
}

/// Products of two squares' channels, see [`crate::graph::Layer::Scores`]: query, key, and where they go, plain.
///
/// # Errors
/// If the driver fails.
pub fn launch_scores(kernels: &mut Kernels<'_>, query: &Value, key: &Value, output: &Value) -> Result<Launch, Error> {
    kernels.check(&[query, key, output])?;
    let (from, to) = (query.layout.shape, key.layout.shape);
    let args = [
        Arg::Buffer(&query.buffer),
        Arg::Int(query.layout.block),
        Arg::Int(query.layout.stride()),
        Arg::Buffer(&key.buffer),
        Arg::Int(key.layout.block),
        Arg::Int(key.layout.stride()),
        Arg::Int(from.channels),
        Arg::Int(from.squares),
        Arg::Int(to.squares),
        Arg::Buffer(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    kernels.by_element(FAMILY, "", "scores", &args, from.squares * to.squares)
}

/// The same map for equal parts of a vector, see [`crate::graph::Layer::Smolgen`].
#[derive(Debug)]
pub struct Smolgen<'a> {
    /// What is multiplied.
    pub input: &'a Value,
    /// Number of parts.
    pub heads: usize,
    /// What [`upload_smolgen`] made.
    pub weights: &'a Buffer,
    /// `[heads][outputs]`, plain.
    pub output: &'a Value,
}

/// Sends a smolgen's weights `[outputs][part]`, transposed. Layers that share weights share the buffer.
///
/// # Errors
/// If the driver fails.
pub fn upload_smolgen(kernels: &Kernels<'_>, weights: &[f32], outputs: usize) -> Result<Buffer, Error> {
    let part = weights.len() / outputs;
    let transposed: Vec<f32> = (0..weights.len()).map(|i| weights[i % outputs * part + i / outputs]).collect();
    kernels.session.upload(&transposed)
}

/// Makes the launch.
///
/// # Errors
/// If the driver fails.
pub fn launch_smolgen(kernels: &mut Kernels<'_>, smolgen: &Smolgen<'_>) -> Result<Launch, Error> {
    let Smolgen { input, heads, weights, output } = *smolgen;
    kernels.check(&[input, output])?;
    let outputs = output.layout.shape.squares;
    let args = [
        Arg::Buffer(&input.buffer),
        Arg::Int(input.layout.block),
        Arg::Int(input.layout.shape.squares),
        Arg::Int(input.layout.stride()),
        Arg::Buffer(weights),
        Arg::Int(input.layout.shape.len() / heads),
        Arg::Int(heads),
        Arg::Int(outputs),
        Arg::Buffer(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    kernels.by_element(FAMILY, "", "smolgen", &args, heads * outputs)
}
