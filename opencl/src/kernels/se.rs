//! Launches `se.cl`.

use super::tuning::LEAST_LANES;
use super::{Family, Items, Kernels, Launch, Range, Value, Variant, activation_code, halves};
use crate::device::{Arg, Buffer, Error};
use crate::graph::{Activation, SqueezeExcite};

pub(super) const FAMILY: Family = Family { name: "se", source: include_str!("se.cl") };

/// Squeeze and excitation of a convolution's output, in place.
#[derive(Clone, Copy, Debug)]
pub struct Se<'a> {
    /// The convolution's output, bias included, before any activation.
    pub value: &'a Value,
    /// The weights of the two layers.
    pub weights: &'a SqueezeExcite,
    /// Added before the activation.
    pub residual: Option<&'a Value>,
    /// The activation of the hidden layer, which is applied at the end as well.
    pub activation: Activation,
}

/// How many words of four bytes the packed weights and the scratch memory take on the device.
pub fn weight_words(kernels: &Kernels<'_>, channels: usize, hidden: usize) -> usize {
    let (vec, batch) = (kernels.block(), kernels.max_batch);
    let (channels, padded) = (channels.next_multiple_of(vec), hidden.next_multiple_of(vec));
    let scratch = if kernels.variant() == Variant::Cpu { batch * (3 * channels + padded) } else { 0 };
    padded * (channels + 1) + 2 * channels * (hidden + 1) + scratch
}

/// Packs the weights, and makes the launch.
///
/// # Errors
/// If the local memory is too small, or if the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, se: &Se<'_>) -> Result<Launch, Error> {
    kernels.check(&[se.value])?;
    kernels.check(se.residual.as_slice())?;
    match kernels.variant() {
        Variant::Cpu => launch_positions(kernels, se),
        Variant::Gpu => launch_groups(kernels, se),
    }
}

/// The weights, with channels and hidden neurons padded to multiples of `vec` (1: no padding).
struct Packed {
    /// `[channel][hidden, padded]`.
    w1: Vec<f32>,
    /// `[hidden, padded]`.
    b1: Vec<f32>,
    /// `[hidden][2][channel, padded]`.
    w2: Vec<f32>,
    /// `[2][channel, padded]`.
    b2: Vec<f32>,
}

fn pack(se: &SqueezeExcite, channels: usize, vec: usize) -> Packed {
    let (padded, hidden) = (channels.next_multiple_of(vec), se.hidden.next_multiple_of(vec));
    let mut packed = Packed {
        w1: vec![0.0; padded * hidden],
        b1: se.b1.clone(),
        w2: vec![0.0; se.hidden * 2 * padded],
        b2: vec![0.0; 2 * padded],
    };
    packed.b1.resize(hidden, 0.0);
    for (at, &w) in se.w1.iter().enumerate() {
        packed.w1[at % channels * hidden + at / channels] = w;
    }
    let place = |o: usize| o / channels * padded + o % channels;
    for (at, &w) in se.w2.iter().enumerate() {
        packed.w2[at % se.hidden * 2 * padded + place(at / se.hidden)] = w;
    }
    for (o, &b) in se.b2.iter().enumerate() {
        packed.b2[place(o)] = b;
    }
    packed
}

fn launch_positions(kernels: &mut Kernels<'_>, se: &Se<'_>) -> Result<Launch, Error> {
    let layout = se.value.layout;
    let blocks = layout.shape.channels.div_ceil(kernels.tuning.vector);
    let hidden_blocks = se.weights.hidden.div_ceil(kernels.tuning.vector);
    let packed = pack(se.weights, layout.shape.channels, kernels.tuning.vector);
    let session = kernels.session;
    let (w1, b1) = (session.upload(&packed.w1)?, session.upload(&packed.b1)?);
    let (w2, b2) = (session.upload(&packed.w2)?, session.upload(&packed.b2)?);
    let scratch = session.buffer(kernels.max_batch * (3 * blocks + hidden_blocks) * kernels.tuning.vector)?;
    let residual = se.residual.unwrap_or(se.value);
    let args = [
        Arg::Output(&se.value.buffer),
        Arg::Int(layout.block),
        Arg::Int(blocks),
        Arg::Int(layout.shape.squares),
        Arg::Int(layout.stride()),
        Arg::Buffer(&w1),
        Arg::Buffer(&b1),
        Arg::Int(se.weights.hidden),
        Arg::Int(hidden_blocks),
        Arg::Buffer(&w2),
        Arg::Buffer(&b2),
        Arg::Buffer(&residual.buffer),
        Arg::Int(se.residual.is_some().into()),
        Arg::Int(residual.layout.block),
        Arg::Int(residual.layout.stride()),
        Arg::Output(&scratch),
        Arg::Int(activation_code(se.activation)),
    ];
    kernels.by_item(FAMILY, "", "se", &args, 1)
}

/// The weights that the GPU variant reads, on the device.
pub(super) struct Sent {
    w1: Buffer,
    b1: Buffer,
    w2: Buffer,
    b2: Buffer,
}

impl Sent {
    /// Sends the weights.
    ///
    /// # Errors
    /// If the local memory is too small, or if the driver fails.
    pub fn new(kernels: &Kernels<'_>, se: &Se<'_>) -> Result<Self, Error> {
        let (channels, session) = (se.value.layout.shape.channels, kernels.session);
        let (needed, available) = ((10 * channels + se.weights.hidden) as u64 * 4, session.device().local_memory);
        if needed > available {
            let what = format!("squeeze and excitation of {channels} channels");
            return Err(Error::LocalMemory { device: session.device().name.clone(), what, needed, available });
        }
        let Packed { w1, b1, w2, b2 } = pack(se.weights, channels, 1);
        let [w1, b1, w2, b2] = [w1, b1, w2, b2].map(|numbers| session.upload(&numbers));
        Ok(Self { w1: w1?, b1: b1?, w2: w2?, b2: b2? })
    }

    /// The arguments `SE_ARGS` in se.cl.
    pub fn args<'a>(&'a self, se: &Se<'a>) -> [Arg<'a>; 12] {
        let (channels, hidden) = (se.value.layout.shape.channels, se.weights.hidden);
        let residual = se.residual.unwrap_or(se.value);
        [
            Arg::Buffer(&self.w1),
            Arg::Buffer(&self.b1),
            Arg::Int(hidden),
            Arg::Buffer(&self.w2),
            Arg::Buffer(&self.b2),
            Arg::Buffer(&residual.buffer),
            Arg::Int(se.residual.is_some().into()),
            Arg::Int(residual.layout.stride()),
            Arg::Int(activation_code(se.activation)),
            Arg::Local(channels * 8),
            Arg::Local(hidden),
            Arg::Local(2 * channels),
        ]
    }
}

/// Sizes of groups in the GPU variant: at least [`LEAST_LANES`], which add up a channel. Each position has only one
/// group, so that it is larger than where there are many.
pub(super) fn group_sizes(kernels: &Kernels<'_>) -> Vec<usize> {
    let sizes = match kernels.alone() {
        true => kernels.lanes(),
        false => halves((2 * kernels.tuning.lanes).max(LEAST_LANES)),
    };
    sizes.into_iter().filter(|&lanes| lanes >= LEAST_LANES).collect()
}

fn launch_groups(kernels: &mut Kernels<'_>, se: &Se<'_>) -> Result<Launch, Error> {
    let Value { layout, buffer } = se.value;
    let sent = Sent::new(kernels, se)?;
    let mut args = vec![Arg::Output(buffer), Arg::Int(layout.shape.channels), Arg::Int(layout.stride())];
    args.extend(sent.args(se));
    let options = |lanes| format!("-DSQUARES={} -DLANES={lanes}", layout.shape.squares);
    let sizes = group_sizes(kernels);
    let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, &sizes, |lanes| lanes, options, "se", &args)?;
    let range = Range { each: 1, whole: 1, across: 1, local: [lanes, 1] };
    Ok(Launch::new(kernels, kernel, range, args.len()).with(Items::Together))
}
