//! What the tests of the OpenCL backend share: random graphs, and whether there is a device.

#![allow(dead_code, reason = "compiled into each test and the example, none of which uses all of it")]

use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::compare::relative_error;
use oncilla_opencl::device::{self, DeviceChoice};
use oncilla_opencl::graph::{Activation, Graph, INPUT, Layer, Role, Shape, SqueezeExcite, ValueId};
use oncilla_opencl::host::plain;
use oncilla_opencl::kernels::{Precision, Tuning};
use oncilla_opencl::opencl::{OpenCl, Options};

/// How far sums in another order may be apart, as a share of the number, or absolutely for numbers below one.
pub const TOLERANCE: f32 = 2e-5;

/// A way of running a graph, for batches of two sizes one after the other on the same object.
#[derive(Clone, Debug)]
pub struct Way {
    pub tuning: Tuning,
    pub precision: Precision,
    pub batches: [usize; 2],
}

/// Returns the first difference between `graph` run in this way and the reference.
///
/// In eight bits, half of the time only the layers that read the input are in eight bits, and then both agree to the
/// bit. Otherwise all layers that can be are, and a number half way between two whole ones may be rounded up in one and
/// down in the other.
pub fn agrees(mut graph: Graph, way: &Way, random: &mut Random) -> Result<(), String> {
    let Way { tuning, precision, batches } = *way;
    let only_first = random.pick(&[true, false]);
    for layer in 0..graph.layers().len() {
        let is_first = graph.layers()[layer].reads().all(|value| value == INPUT);
        let int8 = precision == Precision::Int8 && graph.can_be_int8(layer) && (is_first || !only_first);
        graph.set_int8(layer, int8).expect("it can be");
    }
    let max_batch = batches[0].max(batches[1]);
    let options = Options { max_batch, tuning: Some(tuning), precision, self_check: false, ..Options::default() };
    let mut device = OpenCl::new(graph.clone(), &options).map_err(|e| format!("{tuning}: {e}"))?;
    for batch in batches {
        let input: Vec<f32> = (0..batch * graph.input().len()).map(|_| random.float()).collect();
        let mut got = Outputs::default();
        device.evaluate(&input, &mut got).map_err(|e| format!("{tuning}: {e}"))?;
        let expected = plain::evaluate(&graph, &input).expect("the reference runs every graph");
        for output in graph.outputs() {
            let (expected, got) = (expected.head(output.role), got.head(output.role));
            // With rounded numbers, an error is a share of what was added up, not of the result.
            let over = |bound| Some(relative_error(expected, got)).filter(|e| *e > bound).map(|e| format!("error {e}"));
            let difference = match precision {
                Precision::Fp32 => first_difference(expected, got, TOLERANCE),
                Precision::Int8 if only_first => over(TOLERANCE),
                Precision::Fp16 | Precision::Int8 => over(precision.bound()),
            };
            if let Some(difference) = difference {
                return Err(format!("{tuning}, {precision}, batch {batch}, {:?}: {difference}", output.role));
            }
        }
    }
    Ok(())
}

/// The graph with this value as its only output.
pub fn output(mut graph: Graph, value: ValueId) -> Graph {
    graph.output(Role::Policy, value).expect("a policy has any length");
    graph
}

/// A small generator with a seed, the same on all machines (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number between -1 and 1.
    pub fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// `n` numbers of such a size that a sum over `fan_in` of them is of the size of one.
    pub fn floats(&mut self, n: usize, fan_in: usize) -> Vec<f32> {
        let scale = (3.0 / fan_in.max(1) as f32).sqrt();
        (0..n).map(|_| self.float() * scale).collect()
    }
}

/// Appends a convolution with random weights.
pub fn conv(
    graph: &mut Graph,
    random: &mut Random,
    (input, channels, kernel): (ValueId, usize, usize),
    hidden: Option<usize>,
    residual: Option<ValueId>,
    activation: Activation,
) -> ValueId {
    let from = graph.shape(input).channels;
    let fan_in = from * kernel * kernel;
    let se = hidden.map(|hidden| SqueezeExcite {
        hidden,
        w1: random.floats(hidden * channels, channels),
        b1: random.floats(hidden, 4),
        w2: random.floats(2 * channels * hidden, hidden),
        b2: random.floats(2 * channels, 4),
    });
    let weights = random.floats(channels * fan_in, fan_in);
    let bias = random.floats(channels, 4);
    graph
        .push(Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation })
        .expect("the shapes fit")
}

/// Appends a dense layer with random weights.
pub fn dense(
    graph: &mut Graph,
    random: &mut Random,
    input: ValueId,
    channels: usize,
    activation: Activation,
) -> ValueId {
    let fan_in = graph.shape(input).len();
    let weights = random.floats(channels * fan_in, fan_in);
    let bias = random.floats(channels, 4);
    graph.push(Layer::Dense { input, channels, weights, bias, activation }).expect("the shapes fit")
}

/// A network like maia-1500: an SE tower, a convolutional policy, WDL and moves left.
pub fn tower(seed: u64, side: usize, filters: usize, blocks: usize, activation: Activation) -> Graph {
    let random = &mut Random(seed);
    let mut graph = Graph::new(Shape { channels: 112, squares: side * side });
    let mut x = conv(&mut graph, random, (INPUT, filters, 3), None, None, activation);
    for _ in 0..blocks {
        let y = conv(&mut graph, random, (x, filters, 3), None, None, activation);
        x = conv(&mut graph, random, (y, filters, 3), Some(8), Some(x), activation);
    }
    let p = conv(&mut graph, random, (x, filters, 3), None, None, activation);
    let p = conv(&mut graph, random, (p, 80, 3), None, None, Activation::None);
    let each = 80 * side * side;
    let indices = (0..1858).map(|_| random.below(each) as u32).collect();
    let p =
        graph.push(Layer::Gather { input: p, indices, squares: 1, residual: None }).expect("the indices are inside");
    graph.output(Role::Policy, p).expect("the value is there");
    for (role, squeeze, last, end) in
        [(Role::Wdl, 32, 3, Activation::Softmax), (Role::MovesLeft, 8, 1, Activation::Relu)]
    {
        let v = conv(&mut graph, random, (x, squeeze, 1), None, None, activation);
        let v = dense(&mut graph, random, v, 128, activation);
        let v = dense(&mut graph, random, v, last, end);
        graph.output(role, v).expect("the head has its size");
    }
    graph
}

/// A network like KataGo's: planes and globals as one vector, a block with pooling and one without, and all outputs.
pub fn go(seed: u64, (ranks, files): (usize, usize), [planes, globals, filters]: [usize; 3]) -> Graph {
    let random = &mut Random(seed);
    let squares = ranks * files;
    let mut graph = Graph::new(Shape { channels: planes * squares + globals, squares: 1 }).on_board(ranks, files);
    let part = |graph: &mut Graph, elements: std::ops::Range<usize>, squares: usize| {
        let indices = elements.map(|at| at as u32).collect();
        graph.push(Layer::Gather { input: INPUT, indices, squares, residual: None }).expect("the indices are inside")
    };
    let (end, all) = (planes * squares, planes * squares + globals);
    let (board, rest) = (part(&mut graph, 0..end, squares), part(&mut graph, end..all, 1));
    let x = conv(&mut graph, random, (board, filters, 5), None, None, Activation::None);
    let added = dense(&mut graph, random, rest, filters, Activation::None);
    let x = affine(&mut graph, random, x, Some(added), Activation::None);

    let y = affine(&mut graph, random, x, None, Activation::Relu);
    let y = conv(&mut graph, random, (y, filters, 3), None, None, Activation::Relu);
    let x = conv(&mut graph, random, (y, filters, 3), None, Some(x), Activation::None);
    let y = affine(&mut graph, random, x, None, Activation::Mish);
    let regular = conv(&mut graph, random, (y, filters, 3), None, None, Activation::None);
    let pooled = conv(&mut graph, random, (y, 5, 3), None, None, Activation::Relu);
    let pooled = graph.push(Layer::Pool { input: pooled }).expect("the shapes fit");
    let added = dense(&mut graph, random, pooled, filters, Activation::None);
    let y = affine(&mut graph, random, regular, Some(added), Activation::Relu);
    let x = conv(&mut graph, random, (y, filters, 3), None, Some(x), Activation::None);

    let x = affine(&mut graph, random, x, None, Activation::Relu);
    let policy = conv(&mut graph, random, (x, 1, 1), None, None, Activation::None);
    let value = conv(&mut graph, random, (x, 7, 1), None, None, Activation::Relu);
    let pooled = graph.push(Layer::Pool { input: value }).expect("the shapes fit");
    let [pass, results, scores] = [1, 3, 6].map(|outputs| dense(&mut graph, random, pooled, outputs, Activation::None));
    let ownership = conv(&mut graph, random, (value, 1, 1), None, None, Activation::Tanh);
    for (role, value) in [
        (Role::Policy, policy),
        (Role::Pass, pass),
        (Role::Results, results),
        (Role::Scores, scores),
        (Role::Ownership, ownership),
    ] {
        graph.output(role, value).expect("the head has its size");
    }
    graph
}

/// Appends an affine layer with random numbers.
pub fn affine(
    graph: &mut Graph,
    random: &mut Random,
    input: ValueId,
    added: Option<ValueId>,
    activation: Activation,
) -> ValueId {
    let channels = graph.shape(input).channels;
    let (scale, shift) = (random.floats(channels, 1), random.floats(channels, 4));
    graph.push(Layer::Affine { input, added, scale, shift, activation }).expect("the shapes fit")
}

/// True if there is a device; false, after printing a line, if there is none and none is required.
pub fn device_is_there() -> bool {
    oncilla_testing::opencl(device::choose(&DeviceChoice::Auto)).is_some()
}

/// The first place where `got` is further from `expected` than `tolerance`, relative to numbers above one.
pub fn first_difference(expected: &[f32], got: &[f32], tolerance: f32) -> Option<String> {
    if expected.len() != got.len() {
        return Some(format!("expected {} numbers, got {}", expected.len(), got.len()));
    }
    // Not "is further than": every comparison with a NaN is false.
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= tolerance * a.abs().max(1.0);
    let at = expected.iter().zip(got).position(|pair| !near(pair))?;
    Some(format!("at {at}: expected {}, got {}", expected[at], got[at]))
}
