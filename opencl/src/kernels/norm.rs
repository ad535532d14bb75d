//! Launches `norm.cl`.

use super::{Family, Kernels, Launch, Value};
use crate::device::{Arg, Error};

const FAMILY: Family = Family { name: "norm", source: include_str!("norm.cl") };

/// A layer norm over the channels of each square.
#[derive(Debug)]
pub struct LayerNorm<'a> {
    /// What is normed.
    pub input: &'a Value,
    /// At least 0.
    pub epsilon: f32,
    /// `[channels]`.
    pub gammas: &'a [f32],
    /// `[channels]`.
    pub betas: &'a [f32],
    /// Where the result goes, plain.
    pub output: &'a Value,
}

/// Sends the weights, and makes the launch.
///
/// # Errors
/// If the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, norm: &LayerNorm<'_>) -> Result<Launch, Error> {
    kernels.check(&[norm.input, norm.output])?;
    let gammas = kernels.session.upload(norm.gammas)?;
    let betas = kernels.session.upload(norm.betas)?;
    let from = norm.input.layout;
    let args = [
        Arg::Buffer(&norm.input.buffer),
        Arg::Int(from.block),
        Arg::Int(from.stride()),
        Arg::Int(from.shape.channels),
        Arg::Int(from.shape.squares),
        Arg::Buffer(&gammas),
        Arg::Buffer(&betas),
        // A graph has none below 0, so that the sign is free.
        Arg::Int(norm.epsilon.abs().to_bits() as usize),
        Arg::Buffer(&norm.output.buffer),
        Arg::Int(norm.output.layout.stride()),
    ];
    kernels.by_element(FAMILY, "", "layer_norm", &args, from.shape.squares)
}
