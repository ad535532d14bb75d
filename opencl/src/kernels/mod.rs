//! Our kernels: one `.cl` file for each family, and beside it the launcher with the same name.
//!
//! Each `.cl` file states at its top what it computes, how its operands are laid out and how much local memory it
//! takes. A launcher packs the weights for that layout, sets the arguments once, and knows how the range follows from
//! the batch. Kernels for which it is worthwhile have two variants, see [`Variant`]; [`Tuning`] has everything else in
//! which devices differ. Those for a GPU are tested on PoCL; of GPUs an NVIDIA H200 has run them, and its speed is in
//! BENCHMARKS.md.

pub(crate) mod affine;
pub(crate) mod attention;
pub(crate) mod conv;
pub(crate) mod dense;
pub(crate) mod elementwise;
pub(crate) mod gather;
mod launch;
pub(crate) mod layout;
pub(crate) mod network;
pub(crate) mod norm;
mod pointwise;
pub(crate) mod pool;
mod precision;
mod product;
mod quantise;
pub(crate) mod se;
pub(crate) mod softmax;
pub mod starts;
pub mod tuning;
pub(crate) mod winograd;

use crate::device::{Arg, Buffer, Device, Error, Kind, Program, Session};
use crate::graph::{Activation, Graph, Layer};
use fnv::FnvHasher;
use half::f16;
use launch::{Compiled, Items, Range};
pub(crate) use launch::{Launch, Step};
use layout::Layout;
pub use precision::Precision;
use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;
pub use tuning::Tuning;

/// Which variant of the kernels' text is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Registers only, groups of one work item, channels in blocks of a vector: for OpenCL on a host's cores.
    Cpu,
    /// Work-groups with local memory, squares next to each other.
    Gpu,
}

impl Variant {
    /// The variant for a kind of device, unless the user says otherwise.
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Cpu => Variant::Cpu,
            Kind::Gpu | Kind::Accelerator => Variant::Gpu,
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Variant::Cpu => "cpu",
            Variant::Gpu => "gpu",
        })
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "cpu" => Ok(Variant::Cpu),
            "gpu" => Ok(Variant::Gpu),
            _ => Err(format!("variant: expected cpu or gpu, got {text:?}")),
        }
    }
}

/// A value of the graph on the device: `[position][layout]` in a buffer.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// How one position is stored.
    pub layout: Layout,
    /// The buffer, which has room for the largest batch.
    pub buffer: Buffer,
}

/// Programs by the family and the options that they were compiled with.
pub(crate) type CompiledPrograms = Vec<(String, Program)>;

/// Makes kernels for one session: it knows the tuning and keeps the compiled programs.
#[derive(Debug)]
pub(crate) struct Kernels<'a> {
    session: &'a Session,
    graph: &'a Graph,
    tuning: Tuning,
    precision: Precision,
    max_batch: usize,
    /// See `ACTS` in common.cl.
    activations: u32,
    /// The largest number of channels that a convolution of the graph makes.
    widest: usize,
    programs: CompiledPrograms,
    scratch: Option<[Buffer; 2]>,
}

impl<'a> Kernels<'a> {
    /// The kernels for batches of at most `max_batch` positions of a graph.
    pub fn new(session: &'a Session, graph: &'a Graph, tuning: Tuning, precision: Precision, max_batch: usize) -> Self {
        let activations = activations(graph).fold(0, |acts, activation| acts | 1 << activation_code(activation));
        let widest = graph.layers().iter().map(|layer| match layer {
            Layer::Conv { channels, .. } => *channels,
            _ => 0,
        });
        let widest = widest.max().unwrap_or(0);
        let (programs, scratch) = (CompiledPrograms::default(), None);
        Self { session, graph, tuning, precision, max_batch, activations, widest, programs, scratch }
    }

    /// With what was compiled already, for a session in the same context.
    pub fn with_programs(self, programs: CompiledPrograms) -> Self {
        Self { programs, ..self }
    }

    /// What was compiled, for [`Kernels::with_programs`].
    pub fn into_programs(self) -> CompiledPrograms {
        self.programs
    }

    /// The session for which the kernels are made.
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// How many positions the largest batch has.
    pub fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// Which variant of the text is run.
    pub fn variant(&self) -> Variant {
        self.tuning.variant
    }

    /// How many floats the vectors of a span have, if nothing requires a smaller one: `FULL_SPAN` in common.cl.
    fn full_span(&self) -> usize {
        full_span(self.tuning.vector)
    }

    /// How many channels a block has in the output of a convolution.
    pub fn block(&self) -> usize {
        match self.tuning.variant {
            Variant::Cpu => self.tuning.vector,
            Variant::Gpu => 1,
        }
    }

    /// Makes the scratch memory that layers share: two buffers of at least `floats` floats each.
    ///
    /// # Errors
    /// If the driver has no room.
    pub fn reserve(&mut self, floats: [usize; 2]) -> Result<(), Error> {
        self.scratch = Some([self.session.buffer(floats[0])?, self.session.buffer(floats[1])?]);
        Ok(())
    }

    /// The scratch memory, if it is large enough.
    fn scratch(&self, floats: [usize; 2]) -> Result<[Buffer; 2], Error> {
        match &self.scratch {
            Some(buffers) if buffers.iter().zip(floats).all(|(buffer, needed)| buffer.len() >= needed) => {
                Ok(buffers.clone())
            }
            _ => Err(self.unfit(format!("{floats:?} floats of scratch memory were not reserved"))),
        }
    }

    /// Whether a group of a GPU takes a position through the whole network, see [`network`].
    pub(crate) fn alone(&self) -> bool {
        self.tuning.variant == Variant::Gpu && self.tuning.network > 0
    }

    /// Sizes of groups that work on elements in the GPU variant, the largest first.
    fn lanes(&self) -> Vec<usize> {
        if self.alone() { vec![ALONE_ITEMS] } else { halves(self.tuning.lanes) }
    }

    /// Like [`Kernels::lanes`], if a group has work for at most `elements` items.
    fn lanes_for(&self, elements: usize) -> Vec<usize> {
        let fits = |&lanes: &usize| self.alone() || lanes <= elements.next_power_of_two();
        self.lanes().into_iter().filter(fits).collect()
    }

    /// Sizes of groups along the squares of a convolution in the GPU variant, the largest first.
    fn columns(&self) -> Vec<usize> {
        halves(self.tuning.columns)
    }

    fn options(&self) -> String {
        let weights = match self.precision {
            Precision::Fp32 | Precision::Int8 => "",
            Precision::Fp16 => " -DWEIGHTS_FP16",
        };
        // This is for `Step::check_outputs`.
        let info = if cfg!(test) { " -cl-kernel-arg-info" } else { "" };
        let variant = match self.tuning.variant {
            Variant::Cpu => format!("-DVARIANT_CPU -DVEC={}", self.tuning.vector),
            Variant::Gpu => "-DVARIANT_GPU".to_string(),
        };
        format!("-cl-mad-enable {variant} -DACTS={}{weights}{info}", self.activations)
    }

    /// How many words of four bytes `weights` packed weights take.
    fn stored(&self, weights: usize) -> usize {
        match self.precision {
            Precision::Fp32 | Precision::Int8 => weights,
            Precision::Fp16 => weights.div_ceil(2),
        }
    }

    /// Sends `numbers`, followed by zeros up to `padded` numbers.
    fn upload_padded(&self, numbers: &[f32], padded: usize) -> Result<Buffer, Error> {
        let mut numbers = numbers.to_vec();
        numbers.resize(padded, 0.0);
        self.session.upload(&numbers)
    }

    /// Sends packed weights in the precision in which kernels read them.
    fn upload_weights(&self, packed: &[f32]) -> Result<Buffer, Error> {
        match self.precision {
            Precision::Fp32 | Precision::Int8 => self.session.upload(packed),
            Precision::Fp16 => {
                if let Some(weight) = packed.iter().find(|w| !f16::from_f32(**w).is_finite()) {
                    return Err(self.unfit(format!("a weight of {weight:e} is too large for half precision")));
                }
                let word = |pair: &[f32]| {
                    let [a, b] = [0, 1].map(|at| f16::from_f32(pair.get(at).copied().unwrap_or(0.0)).to_ne_bytes());
                    u32::from_ne_bytes([a[0], a[1], b[0], b[1]])
                };
                self.session.upload(&packed.chunks(2).map(word).collect::<Vec<u32>>())
            }
        }
    }

    /// A kernel of `family`, compiled with `options` unless it was already.
    fn kernel(&mut self, family: Family, options: &str, name: &str, args: &[Arg<'_>]) -> Result<Compiled, Error> {
        let key = format!("{} {} {options}", family.name, self.options());
        if !self.programs.iter().any(|(k, _)| *k == key) {
            let source = format!("{COMMON}\n{}", family.source);
            // Some drivers' parsers fail on a blank at the end.
            let options = format!("{} {options}", self.options());
            let options = options.trim();
            let program = self.session.program(family.name, &source, options)?;
            self.programs.push((key.clone(), program));
        }
        match self.programs.iter().find(|(k, _)| *k == key) {
            Some((_, program)) => {
                let kernel = self.session.kernel(program, name, args)?;
                Ok(Compiled { kernel, family, options: options.to_string() })
            }
            None => Err(self.unfit(format!("{}.cl was not kept", family.name))),
        }
    }

    /// A kernel whose groups have as many items as the device allows for it, tried from the front of `sizes`.
    ///
    /// The limit is known only after the kernel was compiled, and the kernel is compiled for its size. A compiler that
    /// lacks registers or local memory for one size may have enough for a smaller one.
    fn kernel_in_groups(
        &mut self,
        family: Family,
        sizes: &[usize],
        items: impl Fn(usize) -> usize,
        options: impl Fn(usize) -> String,
        name: &str,
        args: &[Arg<'_>],
    ) -> Result<(Compiled, usize), Error> {
        let mut limit = self.session.device().max_work_group.max(1);
        let mut refused = None;
        for &size in sizes {
            if items(size) > limit {
                continue;
            }
            let kernel = match self.kernel(family, &options(size), name, args) {
                Ok(kernel) => kernel,
                Err(error) => {
                    // The error for the largest size says most about what is wrong with all.
                    refused.get_or_insert(error);
                    continue;
                }
            };
            limit = self.session.work_group_limit(&kernel.kernel);
            if items(size) <= limit {
                return Ok((kernel, size));
            }
        }
        Err(refused.unwrap_or_else(|| {
            let what = match sizes.iter().map(|&size| items(size)).min() {
                Some(least) => format!("groups of {least} items needed, {limit} allowed"),
                None => self.no_size(),
            };
            self.unfit(format!("{name} of {}.cl: {what}", family.name))
        }))
    }

    /// The error if a launcher finds no size of groups worth trying.
    fn no_size(&self) -> String {
        let Device { local_memory, max_items: [_, along], .. } = self.session.device();
        format!("no size of groups fits {local_memory} bytes of local memory and {along} items along dimension 1")
    }

    /// Those of the sizes that a group may have along dimension 1: some devices that are CPUs allow only one item
    /// there.
    fn along_second(&self, sizes: Vec<usize>) -> Vec<usize> {
        let most = self.session.device().max_items[1].max(1);
        sizes.into_iter().filter(|&size| size <= most).collect()
    }

    /// A launch of a kernel with one item for each of `elements` of a position; the argument `batch` comes last.
    fn by_element(
        &mut self,
        family: Family,
        options: &str,
        name: &str,
        args: &[Arg<'_>],
        elements: usize,
    ) -> Result<Launch, Error> {
        // An item has little to do: on a CPU a group is a loop.
        let sizes = match self.tuning.variant {
            Variant::Cpu => halves(64),
            Variant::Gpu => self.lanes_for(elements),
        };
        let sizes = self.along_second(sizes);
        let options = |lanes| format!("-DLANES={lanes} {options}");
        let (kernel, lanes) = self.kernel_in_groups(family, &sizes, |lanes| lanes, options, name, args)?;
        let range = Range { each: 1, whole: 1, across: elements.div_ceil(lanes), local: [1, lanes] };
        Ok(Launch::new(self, kernel, range, args.len()).with(Items::ByPosition))
    }

    /// A launch of a kernel whose groups along dimension 1 have items for at most `lines` times [`LINE`] numbers, and
    /// whose items work together; `across` says how many groups of a size a position has. The argument `batch` comes
    /// last.
    fn in_lines(
        &mut self,
        family: Family,
        options: impl Fn(usize) -> String,
        name: &str,
        args: &[Arg<'_>],
        lines: usize,
        across: impl Fn(usize) -> usize,
    ) -> Result<Launch, Error> {
        let sizes = self.along_second(self.lanes_for(LINE * lines));
        let (kernel, lanes) = self.kernel_in_groups(family, &sizes, |lanes| lanes, options, name, args)?;
        let range = Range { each: 1, whole: 1, across: across(lanes), local: [1, lanes] };
        Ok(Launch::new(self, kernel, range, args.len()).with(Items::Together))
    }

    /// A launch of a kernel with `across` groups of one item for each position, as the CPU variant has them; the
    /// argument `batch` comes last.
    fn by_item(
        &mut self,
        family: Family,
        options: &str,
        name: &str,
        args: &[Arg<'_>],
        across: usize,
    ) -> Result<Launch, Error> {
        let kernel = self.kernel(family, options, name, args)?;
        Ok(Launch::new(self, kernel, Range { each: 1, whole: 1, across, local: [1, 1] }, args.len()))
    }

    fn unfit(&self, what: String) -> Error {
        Error::Unfit { device: self.session.device().name.clone(), what }
    }

    /// Checks that the values which a kernel reads or writes have room for the largest batch.
    fn check(&self, values: &[&Value]) -> Result<(), Error> {
        for value in values {
            let needed = value.layout.stride() * self.max_batch;
            if value.buffer.len() < needed {
                return Err(
                    self.unfit(format!("a value of {needed} floats in a buffer of {} floats", value.buffer.len()))
                );
            }
        }
        Ok(())
    }

    /// Like [`Kernels::check`], for values that the kernel knows only in the order of the host.
    fn check_plain(&self, values: &[&Value]) -> Result<(), Error> {
        if let Some(value) = values.iter().find(|value| value.layout.block != 1) {
            return Err(self.unfit(format!("a plain value needed, got blocks of {}", value.layout.block)));
        }
        self.check(values)
    }
}

/// Which activations the graph has: the kernels' texts contain no others, which makes them several times shorter.
fn activations(graph: &Graph) -> impl Iterator<Item = Activation> {
    graph.layers().iter().filter_map(|layer| match layer {
        Layer::Conv { activation, .. } | Layer::Dense { activation, .. } | Layer::Affine { activation, .. } => {
            Some(*activation)
        }
        _ => None,
    })
}

/// See [`Kernels::full_span`].
fn full_span(vector: usize) -> usize {
    match vector {
        16 => 4 * 16,
        vector => 2 * vector,
    }
}

/// How many items a group has that takes a position through the whole network: those of a product's group for a
/// chessboard, with four squares each.
const ALONE_ITEMS: usize = 256;

/// How many neighbouring numbers the items of a group read together in the GPU variant, `LINE` in norm.cl and pool.cl:
/// what a device loads at once.
const LINE: usize = 16;

/// A power of two and all smaller ones: a device that refuses groups of one size may accept a smaller one.
fn halves(most: usize) -> Vec<usize> {
    std::iter::successors(Some(most), |size| Some(size / 2)).take_while(|&size| size > 0).collect()
}

/// One `.cl` file.
#[derive(Clone, Copy, Debug)]
struct Family {
    name: &'static str,
    source: &'static str,
}

/// Every family, for [`version`].
const FAMILIES: [Family; 15] = [
    affine::FAMILY,
    attention::FAMILY,
    conv::FAMILY,
    dense::FAMILY,
    elementwise::FAMILY,
    gather::FAMILY,
    network::FAMILY,
    network::OF_POSITIONS,
    norm::FAMILY,
    pointwise::FAMILY,
    pool::FAMILY,
    quantise::FAMILY,
    se::FAMILY,
    softmax::FAMILY,
    winograd::FAMILY,
];

/// A hash of the texts of all kernels: what was measured with other texts does not hold for these.
pub fn version() -> u64 {
    let mut hash = FnvHasher::default();
    hash.write(COMMON.as_bytes());
    FAMILIES.iter().for_each(|family| hash.write(family.source.as_bytes()));
    hash.write(network::sample().as_bytes());
    hash.finish()
}

/// Put before the text of every family.
const COMMON: &str = include_str!("common.cl");

/// The number of an activation in common.cl. There is none for a softmax, which has a kernel of its own.
fn activation_code(activation: Activation) -> usize {
    match activation {
        Activation::None | Activation::Softmax => 0,
        Activation::Relu => 1,
        Activation::Mish => 2,
        Activation::Tanh => 3,
        Activation::Relu2 => 4,
        Activation::Swish => 5,
        Activation::Selu => 6,
        Activation::Sigmoid => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::SELU;
    use crate::int8;

    /// Numbers that a launcher counts with and its text, too.
    #[test]
    fn launchers_and_texts_have_the_same_numbers() {
        let parts = attention::GPU_PARTS;
        for (source, line) in [
            (attention::FAMILY.source, format!("#define TILE {}\n", attention::TILE)),
            (attention::FAMILY.source, format!("#define PANELS {}\n", attention::PANELS)),
            (attention::FAMILY.source, format!("#define PARTS (LANES < {parts} ? LANES : {parts})\n")),
            (dense::FAMILY.source, format!("#define OUTS {}\n", dense::GPU_OUTS)),
        ] {
            assert!(source.contains(&line), "{line}");
        }
    }

    /// Numbers that are stated in Rust and in a text, besides those of launchers.
    #[test]
    fn texts_have_the_numbers_of_their_definitions() {
        let spans = [16, 8].map(|vector| full_span(vector) / vector);
        let (lambda, alpha) = SELU;
        for (source, part) in [
            (COMMON, format!("#define FULL_SPAN (VEC == 16 ? {} : {})\n", spans[0], spans[1])),
            (COMMON, format!("return x > (T)0.0f ? {lambda}f * x : {}f * (EXP(x) - 1.0f);", lambda * alpha)),
            (quantise::FAMILY.source, format!("steps[n] = most / {:.1}f;", int8::MOST)),
            (quantise::FAMILY.source, format!("per_step = most > 0.0f ? {:.1}f / most : 0.0f;", int8::MOST)),
        ] {
            assert!(source.contains(&part), "{part}");
        }
        assert!([4, 8].iter().all(|&vector| full_span(vector) / vector == spans[1]));
    }

    #[test]
    fn activations_have_their_numbers_in_the_text() {
        for activation in Activation::ELEMENTWISE {
            let name = format!("{activation:?}").to_uppercase();
            let line = format!("#define ACT_{name} {}\n", activation_code(activation));
            assert!(COMMON.contains(&line), "{line}");
        }
        assert_eq!(COMMON.matches("#define ACT_").count(), Activation::ELEMENTWISE.len());
    }
}
