//! Launches `attention.cl`.

use super::{Family, Items, Kernels, Launch, Range, Step, Value, Variant};
use crate::device::{Arg, Buffer, Error};

pub(super) const FAMILY: Family = Family { name: "attention", source: include_str!("attention.cl") };

/// How many squares of a query, or rows of a smolgen, an item of the CPU variant takes: `TILE` in attention.cl.
pub(super) const TILE: usize = 4;
/// How many panels of a smolgen an item of the CPU variant makes: `PANELS` in attention.cl.
pub(super) const PANELS: usize = 8;
/// How many words of weights a core's own cache keeps beside what else the core works on.
const CACHED: usize = 1 << 17;
/// How many items share a query in the GPU variant, `PARTS` in attention.cl.
pub(super) const GPU_PARTS: usize = 4;

/// How many heads an item of a smolgen makes in the GPU variant: for a few positions, so that there are many items, and
/// for more, so that a weight is read once for all.
const GPU_HEADS: [usize; 2] = [2, 8];

/// From this many items for each unit of a GPU on, there are enough of them.
const ITEMS_OF_UNIT: usize = 512;

/// Attention between the squares of a position, see [`crate::graph::Layer::Attention`]. All values are plain.
#[derive(Debug)]
pub struct Attention<'a> {
    /// `[channels][squares]`.
    pub query: &'a Value,
    /// A value of the query's shape.
    pub key: &'a Value,
    /// `[channels of the output][squares]`.
    pub value: &'a Value,
    /// Divides the channels of query and value.
    pub heads: usize,
    /// `[heads][squares of the key · squares of the query]`.
    pub bias: Option<&'a Value>,
    /// Where the result goes.
    pub output: &'a Value,
}

/// Makes the launch.
///
/// # Errors
/// If the driver fails.
pub fn launch(kernels: &mut Kernels<'_>, attention: &Attention<'_>) -> Result<Launch, Error> {
    let Attention { query, key, value, heads, bias, output } = *attention;
    kernels.check_plain(&[query, key, value, output])?;
    kernels.check_plain(bias.as_slice())?;
    let squares = query.layout.shape.squares;
    let any = bias.unwrap_or(query);
    let args = [
        Arg::Buffer(&query.buffer),
        Arg::Int(query.layout.stride()),
        Arg::Buffer(&key.buffer),
        Arg::Int(key.layout.stride()),
        Arg::Buffer(&value.buffer),
        Arg::Int(value.layout.stride()),
        Arg::Buffer(&any.buffer),
        Arg::Int(bias.is_some().into()),
        Arg::Int(any.layout.stride()),
        Arg::Int(heads),
        Arg::Int(query.layout.shape.channels / heads),
        Arg::Int(value.layout.shape.channels / heads),
        Arg::Output(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    let name = "attention";
    if kernels.variant() == Variant::Cpu {
        return Ok(kernels
            .by_item(FAMILY, &format!("-DSQUARES={squares}"), name, &args, heads)?
            .with(Items::ByPosition));
    }
    // Half of the local memory, so that two groups on a unit hide each other's waits.
    let most = kernels.session.device().local_memory / 2 / (4 * squares.next_multiple_of(4) as u64);
    let parts = |lanes: usize| lanes.min(GPU_PARTS);
    let fits = |&lanes: &usize| (lanes / parts(lanes)) as u64 <= most || lanes == 1;
    let sizes: Vec<usize> = kernels.lanes_for(heads * squares * GPU_PARTS).into_iter().filter(fits).collect();
    let sizes = kernels.along_second(sizes);
    let options = |lanes| format!("-DSQUARES={squares} -DLANES={lanes}");
    let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, &sizes, |lanes| lanes, options, name, &args)?;
    let range =
        Range { each: 1, whole: 1, across: (heads * squares).div_ceil(lanes / parts(lanes)), local: [1, lanes] };
    Ok(Launch::new(kernels, kernel, range, args.len()).with(Items::Together))
}

/// Makes the launch for the products of two squares' channels, see [`crate::graph::Layer::Scores`]; query, key and
/// output are plain.
///
/// # Errors
/// If the driver fails.
pub fn launch_scores(kernels: &mut Kernels<'_>, query: &Value, key: &Value, output: &Value) -> Result<Launch, Error> {
    kernels.check_plain(&[query, key, output])?;
    let (from, to) = (query.layout.shape, key.layout.shape);
    let args = [
        Arg::Buffer(&query.buffer),
        Arg::Int(query.layout.stride()),
        Arg::Buffer(&key.buffer),
        Arg::Int(key.layout.stride()),
        Arg::Int(from.channels),
        Arg::Int(from.squares),
        Arg::Int(to.squares),
        Arg::Output(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    match kernels.variant() {
        Variant::Cpu => {
            Ok(kernels.by_item(FAMILY, "", "scores", &args, from.squares.div_ceil(TILE))?.with(Items::ByPosition))
        }
        Variant::Gpu => {
            let options = format!("-DFROM={} -DTO={}", from.squares, to.squares);
            let fours = from.squares.div_ceil(4) * to.squares.div_ceil(4);
            kernels.by_element(FAMILY, &options, "scores", &args, fours)
        }
    }
}

/// The same linear map for equal parts of a vector, see [`crate::graph::Layer::Smolgen`]. Values are plain.
#[derive(Debug)]
pub struct Smolgen<'a> {
    /// What is multiplied.
    pub input: &'a Value,
    /// Number of parts.
    pub heads: usize,
    /// What [`upload_smolgen`] made.
    pub weights: &'a Buffer,
    /// `[heads][outputs]`.
    pub output: &'a Value,
}

/// How many outputs are side by side in a panel of a smolgen's weights.
fn panel(kernels: &Kernels<'_>, outputs: usize) -> usize {
    match kernels.variant() {
        // `WIDTH` in attention.cl.
        Variant::Cpu => kernels.full_span(),
        Variant::Gpu => outputs,
    }
}

/// How many words of four bytes a smolgen's weights for `outputs` outputs take on the device.
pub fn smolgen_words(kernels: &Kernels<'_>, weights: usize, outputs: usize) -> usize {
    kernels.stored(packed_len(kernels, weights, outputs))
}

fn packed_len(kernels: &Kernels<'_>, weights: usize, outputs: usize) -> usize {
    weights / outputs * outputs.next_multiple_of(panel(kernels, outputs))
}

/// Packs and sends a smolgen's weights `[outputs][part]`. Layers that share weights share the buffer.
///
/// # Errors
/// If the driver fails.
pub fn upload_smolgen(kernels: &Kernels<'_>, weights: &[f32], outputs: usize) -> Result<Buffer, Error> {
    let (part, panel) = (weights.len() / outputs, panel(kernels, outputs));
    let mut packed = vec![0.0; packed_len(kernels, weights.len(), outputs)];
    for (o, row) in weights.chunks_exact(part).enumerate() {
        for (j, &w) in row.iter().enumerate() {
            packed[(o / panel * part + j) * panel + o % panel] = w;
        }
    }
    kernels.upload_weights(&packed)
}

/// Makes the launch.
///
/// # Errors
/// If the driver fails.
pub fn launch_smolgen(kernels: &mut Kernels<'_>, smolgen: &Smolgen<'_>) -> Result<Step, Error> {
    let Smolgen { input, heads, weights, output } = *smolgen;
    kernels.check_plain(&[input, output])?;
    let outputs = output.layout.shape.squares;
    let part = input.layout.shape.len() / heads;
    let args = [
        Arg::Buffer(&input.buffer),
        Arg::Int(input.layout.stride()),
        Arg::Buffer(weights),
        Arg::Int(part),
        Arg::Int(heads),
        Arg::Int(outputs),
        Arg::Output(&output.buffer),
        Arg::Int(output.layout.stride()),
    ];
    match kernels.variant() {
        Variant::Cpu => {
            let kernel = kernels.kernel(FAMILY, "", "smolgen", &args)?;
            let across = outputs.div_ceil(PANELS * panel(kernels, outputs));
            let range = Range { each: heads, whole: TILE, across, local: [1, 1] };
            let launch = Launch::new(kernels, kernel, range, args.len());
            // More is written than the weights are: if the weights stay in a cache, what is written should go to
            // neighbouring memory.
            Ok(if weights.len() <= CACHED { launch.with(Items::ByPosition) } else { launch }.into())
        }
        Variant::Gpu => {
            let (alone, units) = (kernels.alone(), kernels.session.device().compute_units as usize);
            let columns = outputs.div_ceil(4);
            let mut launch = |heads_of_item: usize| {
                let options = format!("-DPART={part} -DOUTPUTS={outputs} -DHEADS={heads_of_item}");
                kernels.by_element(FAMILY, &options, "smolgen", &args, heads.div_ceil(heads_of_item) * columns)
            };
            let [few, many] = GPU_HEADS;
            if alone {
                return Ok(launch(many)?.into());
            }
            let from = (ITEMS_OF_UNIT * units).div_ceil(heads.div_ceil(many) * columns);
            Ok(Step::by_batch(vec![launch(few)?], vec![launch(many)?], from))
        }
    }
}
