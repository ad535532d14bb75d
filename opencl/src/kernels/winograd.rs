//! Launches `winograd.cl`: a 3×3 convolution in two launches (CPU variant), or in three (GPU variant), of which the
//! last is the first of the convolution that reads it.
//!
//! In a GPU's last launch the squeeze and excitation behind the convolution is computed, too (`conv::Joins`). The
//! layers share the memory of the points.

use super::conv::Conv;
use super::layout::Layout;
use super::product::{self, Groups, Products, Shapes, with_product};
use super::se::{self, Sent};
use super::{Family, Items, Kernels, Launch, Range, Step, Variant};
use crate::device::{Arg, Buffer, Error};
use crate::winograd::transform;

pub(super) const FAMILY: Family = Family {
    name: "winograd",
    source: concat!(
        "#define WITHIN_WINOGRAD\n#define SQUARES (RANKS * FILES)\n",
        include_str!("se.cl"),
        with_product!("winograd.cl")
    ),
};

/// How a board is cut into tiles.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Squares of a tile's side in the output.
    tile: usize,
    ranks: usize,
    files: usize,
}

impl Cut {
    fn of(kernels: &Kernels<'_>, squares: usize) -> Option<Self> {
        let tile = kernels.tuning.winograd;
        kernels.graph.sides(squares).filter(|_| tile > 0).map(|(ranks, files)| Self { tile, ranks, files })
    }

    fn tiles(self) -> usize {
        self.ranks.div_ceil(self.tile) * self.files.div_ceil(self.tile)
    }

    fn points(self) -> usize {
        (self.tile + 2).pow(2)
    }

    /// The products that make `channels` channels, which are whole panels: one for each point.
    fn products(self, channels: usize) -> Products {
        Products { count: self.points(), rows: self.tiles(), channels, needs_local: false, int8: false }
    }

    fn options(self) -> String {
        format!("-DRANKS={} -DFILES={} -DTILE={}", self.ranks, self.files, self.tile)
    }
}

/// What a convolution needs of the scratch memory that layers share, and for its weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Floats of scratch memory: for V, and in the GPU variant for M.
    pub scratch: [usize; 2],
    /// Words of four bytes of packed weights and bias.
    pub weights: usize,
}

/// The needs of a 3×3 convolution of `input` to `channels` channels; zeros if no convolution is Winograd's.
pub fn needs(kernels: &Kernels<'_>, input: Layout, channels: usize) -> Needs {
    let Some(cut) = Cut::of(kernels, input.shape.squares) else { return Needs::default() };
    let (from, to) = (padded_inputs(kernels, input.shape.channels), padded_outputs(kernels, channels));
    let matrix = |channels| cut.points() * rows(kernels, cut) * channels;
    let m = if kernels.variant() == Variant::Gpu { matrix(to) } else { 0 };
    Needs { scratch: [matrix(from), m], weights: to + kernels.stored(to * cut.points() * from) }
}

/// Checks that a matrix of the GPU variant has no more numbers than its kernels count: they do so in 32 bits.
fn check_count(device: &str, max_batch: usize, floats: [usize; 2]) -> Result<(), Error> {
    let most = u64::from(u32::MAX);
    match floats.map(|floats| floats as u64).into_iter().max() {
        Some(needed) if needed > most => Err(Error::Memory {
            device: device.to_string(),
            what: format!("a matrix of Winograd's for a batch of {max_batch} positions, counted in 32 bits"),
            needed: needed.saturating_mul(4),
            available: 4 * most,
        }),
        _ => Ok(()),
    }
}

/// How many rows the largest batch has, in whole groups.
fn rows(kernels: &Kernels<'_>, cut: Cut) -> usize {
    (kernels.max_batch * cut.tiles()).next_multiple_of(match kernels.variant() {
        Variant::Cpu => kernels.tuning.rows,
        Variant::Gpu => product::MOST_ROWS,
    })
}

fn padded_inputs(kernels: &Kernels<'_>, channels: usize) -> usize {
    channels.next_multiple_of(kernels.block())
}

/// How many output channels a panel has.
fn panel(kernels: &Kernels<'_>) -> usize {
    match kernels.variant() {
        Variant::Cpu => kernels.tuning.vectors * kernels.tuning.vector,
        Variant::Gpu => product::channels(kernels),
    }
}

fn padded_outputs(kernels: &Kernels<'_>, channels: usize) -> usize {
    channels.next_multiple_of(panel(kernels))
}

/// Packs the weights, and makes the launches.
///
/// # Errors
/// If the squares are not a board, if the scratch memory is too small, or if the driver fails.
pub fn step(kernels: &mut Kernels<'_>, conv: &Conv<'_>) -> Result<Step, Error> {
    let squares = conv.input.layout.shape.squares;
    let Some(cut) = Cut::of(kernels, squares) else {
        return Err(kernels.unfit(format!("Winograd's tiles: expected a board, got {squares} squares")));
    };
    let needed = needs(kernels, conv.input.layout, conv.bias.len()).scratch;
    let [v, m] = kernels.scratch(needed)?;
    match kernels.variant() {
        Variant::Cpu => {
            let many = launches_in_registers(kernels, conv, cut, &v)?;
            Ok(Step::by_batch(Vec::new(), many, 0))
        }
        Variant::Gpu => {
            check_count(&kernels.session.device().name, kernels.max_batch, needed)?;
            let outputs = padded_outputs(kernels, conv.output.layout.shape.channels);
            let packed = pack_panels(conv, cut.tile, conv.input.layout.shape.channels, outputs);
            let (weights, bias) = (kernels.upload_weights(&packed)?, kernels.session.upload(conv.bias)?);
            let sent = conv.se.as_ref().map(|se| Sent::new(kernels, se)).transpose()?;
            let product = Product { sent: sent.as_ref(), v: &v, m: &m, weights: &weights, bias: &bias, outputs };
            // The same for all convolutions, see `Joins`: a few positions are as many as are a few for the widest.
            let widest = padded_outputs(kernels, kernels.widest);
            let Shapes { many, few } = Shapes::new(kernels, cut.products(widest));
            let many = launches_in_groups(kernels, conv, cut, &product, &many)?;
            let Some((few, many_from)) = few else { return Ok(Step::by_batch(Vec::new(), many, 0)) };
            let few = launches_in_groups(kernels, conv, cut, &product, &few)?;
            Ok(Step::by_batch(few, many, many_from))
        }
    }
}

/// What the GPU variant's launches have in common.
struct Product<'a> {
    v: &'a Buffer,
    m: &'a Buffer,
    weights: &'a Buffer,
    bias: &'a Buffer,
    /// The number of channels, in whole panels.
    outputs: usize,
    /// Of what comes before the next convolution's points.
    sent: Option<&'a Sent>,
}

fn launches_in_registers(
    kernels: &mut Kernels<'_>,
    conv: &Conv<'_>,
    cut: Cut,
    v: &Buffer,
) -> Result<Vec<Launch>, Error> {
    let (from, to) = (conv.input.layout, conv.output.layout);
    let (vec, rows) = (kernels.tuning.vector, kernels.tuning.rows);
    let padded = padded_inputs(kernels, from.shape.channels);
    let options = format!("{} -DROWS={rows} -DVECTORS={}", cut.options(), kernels.tuning.vectors);
    let range = Range { each: cut.tiles(), whole: rows, across: padded / vec, local: [1, 1] };

    let name = if from.block == 1 { "winograd_input_planes" } else { "winograd_input_blocked" };
    let args = [Arg::Buffer(&conv.input.buffer), Arg::Int(from.stride()), Arg::Output(v), Arg::Int(padded)];
    let kernel = kernels.kernel(FAMILY, &options, name, &args)?;
    let input = Launch::new(kernels, kernel, range, args.len()).with(Items::ByPosition);

    let outputs = padded_outputs(kernels, to.shape.channels);
    let weights = kernels.upload_weights(&pack_panels(conv, cut.tile, padded, panel(kernels)))?;
    let bias = kernels.upload_padded(conv.bias, outputs)?;
    let mut args = vec![
        Arg::Buffer(v),
        Arg::Int(padded),
        Arg::Buffer(&weights),
        Arg::Buffer(&bias),
        Arg::Int(to.shape.channels.div_ceil(vec)),
    ];
    args.extend(conv.end());
    let kernel = kernels.kernel(FAMILY, &options, "winograd_output", &args)?;
    let range = Range { across: outputs / panel(kernels), ..range };
    Ok(vec![input, Launch::new(kernels, kernel, range, args.len())])
}

fn launches_in_groups(
    kernels: &mut Kernels<'_>,
    conv: &Conv<'_>,
    cut: Cut,
    product: &Product<'_>,
    groups: &Groups,
) -> Result<Vec<Launch>, Error> {
    let Product { v, m, weights, bias, outputs, sent } = *product;
    let (from, to) = (conv.input.layout, conv.output.layout);
    let inputs = from.shape.channels;

    let args = [Arg::Buffer(v), Arg::Int(inputs), Arg::Buffer(weights), Arg::Output(m)];
    let rows = |lx| groups.rows(lx);
    let options = |lx| format!("{} -DGROUP_ROWS={} {}", cut.options(), rows(lx), groups.options(lx));
    let (kernel, lx) = kernels.kernel_in_groups(
        FAMILY,
        &groups.columns,
        |lx| groups.items(lx),
        options,
        "winograd_multiply",
        &args,
    )?;
    let range = groups.range(lx, cut.products(outputs));
    let multiply = Launch::new(kernels, kernel, range, args.len());

    let sizes = kernels.lanes();
    let options = |lanes| format!("{} -DGROUP_ROWS={} -DLANES={lanes}", cut.options(), rows(lx));
    let whole = |lanes: usize, across: usize| Range { each: cut.tiles(), whole: lanes, across, local: [lanes, 1] };

    let mut launches = Vec::new();
    if !conv.joins.before {
        let args = [Arg::Buffer(&conv.input.buffer), Arg::Int(inputs), Arg::Int(from.stride()), Arg::Output(v)];
        let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, &sizes, |n| n, options, "winograd_input", &args)?;
        launches.push(Launch::new(kernels, kernel, whole(lanes, inputs), args.len()));
    }
    launches.push(multiply);

    let channels = to.shape.channels;
    let mut args = vec![Arg::Buffer(m), Arg::Int(outputs), Arg::Buffer(bias)];
    let (name, sizes) = match conv.se.as_ref().zip(sent) {
        Some((se, sent)) => {
            let z = [Arg::Output(&conv.output.buffer), Arg::Int(channels), Arg::Int(to.stride()), Arg::Output(v)];
            args.extend(z);
            args.extend(sent.args(se));
            ("winograd_between_se", se::group_sizes(kernels))
        }
        None if conv.joins.next => {
            args.extend([Arg::Int(channels), Arg::Output(v)]);
            args.extend(conv.end());
            ("winograd_between", sizes)
        }
        None => {
            args.extend(conv.end());
            ("winograd_output", sizes)
        }
    };
    let (kernel, lanes) = kernels.kernel_in_groups(FAMILY, &sizes, |n| n, options, name, &args)?;
    let of_position = |across| Range { each: 1, whole: 1, across, local: [lanes, 1] };
    let range = match (&conv.se, conv.joins.next) {
        (Some(_), _) => of_position(1),
        (None, true) => of_position(channels.div_ceil((lanes / cut.tiles()).max(1))),
        (None, false) => whole(lanes, channels),
    };
    launches.push(Launch::new(kernels, kernel, range, args.len()));
    Ok(launches)
}

/// `[panel][point][input channel, padded][channel of the panel]` of the weights in Winograd's form.
fn pack_panels(conv: &Conv<'_>, tile: usize, padded: usize, panel: usize) -> Vec<f32> {
    let inputs = conv.input.layout.shape.channels;
    let points = (tile + 2).pow(2);
    let mut packed = vec![0.0; conv.bias.len().next_multiple_of(panel) * points * padded];
    for (at, weights) in conv.weights.chunks_exact(9).enumerate() {
        let (o, c) = (at / inputs, at % inputs);
        for (point, u) in transform(tile, weights).into_iter().enumerate() {
            packed[((o / panel * points + point) * padded + c) * panel + o % panel] = u as f32;
        }
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Then a smaller batch is tried.
    #[test]
    fn a_matrix_with_more_numbers_than_the_kernels_count_is_too_large() {
        let most = u32::MAX as usize;
        assert_eq!(check_count("x", 1, [most, 1]), Ok(()));
        let Some(more) = most.checked_add(1) else { return };
        for floats in [[more, 1], [1, more]] {
            let error = check_count("x", 65_536, floats).expect_err("a number too many");
            assert!(error.is_of_memory(), "{error}");
            assert!(error.to_string().contains("a batch of 65536 positions, counted in 32 bits: 16384 MiB"), "{error}");
        }
    }
}
