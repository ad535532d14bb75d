//! Our kernels: one `.cl` file a family, beside it the launcher of the same name.
//!
//! Each `.cl` file states at its top what it computes, how its operands are laid out and how much local memory it
//! takes. A launcher packs the weights for that layout, sets the arguments once, and knows how the range follows from the
//! batch. There are two variants of what is worth it, see [`Variant`]. Those for a GPU were run on PoCL only, for their
//! results; nothing is known of their speed on a GPU.

pub mod attention;
pub mod conv;
pub mod dense;
pub mod elementwise;
pub mod gather;
pub mod layout;
pub mod norm;
pub mod se;
pub mod softmax;

use crate::device::{Arg, Buffer, Error, Kernel, Kind, Program, Session};
use crate::graph::Activation;
use layout::Layout;

/// Which text of a kernel is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Registers only, groups of one work item, channels in blocks of a vector: for OpenCL on a host's cores.
    Cpu,
    /// Work-groups with local memory, squares next to each other.
    Gpu,
}

impl Variant {
    /// What a kind of device is given unless the user says otherwise.
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Cpu => Variant::Cpu,
            Kind::Gpu | Kind::Accelerator => Variant::Gpu,
        }
    }
}

/// A value of the graph on the device: `[position][layout]` in a buffer.
#[derive(Clone, Debug)]
pub struct Value {
    /// How one position is stored.
    pub layout: Layout,
    /// Holds the largest batch.
    pub buffer: Buffer,
}

/// Makes kernels for one session: knows the variant and keeps the compiled programs.
#[derive(Debug)]
pub struct Kernels<'a> {
    session: &'a Session,
    variant: Variant,
    vec: usize,
    max_batch: usize,
    programs: Vec<(String, Program)>,
}

impl<'a> Kernels<'a> {
    /// For batches of at most `max_batch` positions.
    pub fn new(session: &'a Session, variant: Variant, max_batch: usize) -> Self {
        // Neon's registers hold four floats, but it has twice as many of them as AVX2.
        let vec = if session.device().vector_width >= 16 { 16 } else { 8 };
        Self { session, variant, vec, max_batch, programs: Vec::new() }
    }

    /// The session for which they are made.
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// Positions in the largest batch.
    pub fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// Which text is run.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Channels of a block in what a convolution makes.
    pub fn block(&self) -> usize {
        match self.variant {
            Variant::Cpu => self.vec,
            Variant::Gpu => 1,
        }
    }

    fn options(&self) -> String {
        match self.variant {
            Variant::Cpu => format!("-cl-mad-enable -DVARIANT_CPU -DVEC={}", self.vec),
            Variant::Gpu => "-cl-mad-enable -DVARIANT_GPU".to_string(),
        }
    }

    /// A kernel of `family`, compiled with `options` if it wasn't yet.
    fn kernel(&mut self, family: Family, options: &str, name: &str, args: &[Arg<'_>]) -> Result<Kernel, Error> {
        let key = format!("{} {} {options}", family.name, self.options());
        if !self.programs.iter().any(|(k, _)| *k == key) {
            let source = format!("{COMMON}\n{}", family.source);
            let options = format!("{} {options}", self.options());
            let program = self.session.program(family.name, &source, &options)?;
            self.programs.push((key.clone(), program));
        }
        match self.programs.iter().find(|(k, _)| *k == key) {
            Some((_, program)) => self.session.kernel(program, name, args),
            None => Err(self.unfit(format!("{}.cl was not kept", family.name))),
        }
    }

    /// A kernel whose groups have as many items as the device takes for it, tried from the front of `sizes`.
    ///
    /// A limit is known only after the kernel was compiled, and the kernel is compiled for its size.
    fn kernel_in_groups(
        &mut self,
        family: Family,
        sizes: &[usize],
        items: impl Fn(usize) -> usize,
        options: impl Fn(usize) -> String,
        name: &str,
        args: &[Arg<'_>],
    ) -> Result<(Kernel, usize), Error> {
        let mut limit = self.session.device().max_work_group.max(1);
        for &size in sizes {
            if items(size) > limit {
                continue;
            }
            let kernel = self.kernel(family, &options(size), name, args)?;
            limit = self.session.work_group_limit(&kernel);
            if items(size) <= limit {
                return Ok((kernel, size));
            }
        }
        let least = sizes.iter().map(|&size| items(size)).min().unwrap_or(1);
        Err(self.unfit(format!("{name} of {}.cl: groups of {least} items needed, {limit} allowed", family.name)))
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
        // There is little to do for an item: on a CPU a group is a loop.
        const CPU_LANES: [usize; 1] = [64];
        let sizes: &[usize] = match self.variant {
            Variant::Cpu => &CPU_LANES,
            Variant::Gpu => &GPU_LANES,
        };
        let options = |lanes| format!("-DLANES={lanes} {options}");
        let (kernel, lanes) = self.kernel_in_groups(family, sizes, |lanes| lanes, options, name, args)?;
        let range = Range { each: 1, whole: 1, across: elements.div_ceil(lanes), local: [1, lanes] };
        Ok(Launch::new(self, kernel, range, args.len()))
    }

    /// A launch of a kernel with `across` groups of one item for each position, as the CPU variant has them; the argument
    /// `batch` comes last.
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

    /// The values a kernel reads or writes must hold the largest batch.
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

    /// The same for values that a kernel knows in the order of the host only.
    fn check_plain(&self, values: &[&Value]) -> Result<(), Error> {
        if let Some(value) = values.iter().find(|value| value.layout.block != 1) {
            return Err(self.unfit(format!("a plain value needed, got blocks of {}", value.layout.block)));
        }
        self.check(values)
    }
}

/// Items of a group in the GPU variant of kernels that don't care how many they are.
const GPU_LANES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];

/// One `.cl` file.
#[derive(Clone, Copy, Debug)]
struct Family {
    name: &'static str,
    source: &'static str,
}

/// Stands before the text of every family.
const COMMON: &str = include_str!("common.cl");

/// One run of a kernel in a batch's chain.
#[derive(Debug)]
pub struct Launch {
    kernel: Kernel,
    range: Range,
    max_batch: usize,
    /// Place of the argument `batch`, and what it is set to.
    batch_arg: usize,
    batch: usize,
}

/// How many groups a batch takes: `ceil(batch * each / whole)` by `across`, groups of `local` items.
#[derive(Clone, Copy, Debug)]
struct Range {
    each: usize,
    whole: usize,
    across: usize,
    local: [usize; 2],
}

impl Launch {
    fn new(kernels: &Kernels<'_>, kernel: Kernel, range: Range, batch_arg: usize) -> Self {
        Self { kernel, range, max_batch: kernels.max_batch, batch_arg, batch: 0 }
    }

    /// Puts this run for `batch` positions behind all that was enqueued before.
    ///
    /// # Errors
    /// If the batch is bigger than what the buffers were made for, or the driver refuses.
    pub fn enqueue(&mut self, session: &Session, batch: usize) -> Result<(), Error> {
        if batch == 0 || batch > self.max_batch {
            let what = format!("batch: expected 1 to {}, got {batch}", self.max_batch);
            return Err(Error::Unfit { device: session.device().name.clone(), what });
        }
        if self.batch != batch {
            session.set_arg(&mut self.kernel, self.batch_arg, Arg::Int(batch))?;
            self.batch = batch;
        }
        let Range { each, whole, across, local } = self.range;
        let global = [(batch * each).div_ceil(whole) * local[0], across * local[1]];
        // SAFETY: a launcher made the range for a kernel that leaves out what lies behind the batch, its buffers were
        // checked to hold `max_batch` positions, and `batch` is no more.
        unsafe { session.run(&self.kernel, global, local) }
    }
}

/// The number by which common.cl knows an activation. A softmax is not among them: it has a kernel of its own.
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
