//! Small graphs that together need every kernel, because a network uses only some of them.

use crate::graph::{Activation, Graph, INPUT, Layer, Role, Shape, ShapeError, SqueezeExcite, ValueId};

/// Graphs with made-up weights, each with its name. Their sizes are not multiples of anything.
pub fn kit() -> Vec<(&'static str, Graph)> {
    let parts: [(&str, Part); 6] = [
        ("convolution", convolutions),
        ("odd board", odd_board),
        ("vectors", vectors),
        ("attention", attention),
        ("board of Go", board_of_go),
        ("transformer of Go", transformer_of_go),
    ];
    // A part that does not fit would be a mistake in this file, which a test finds.
    parts.into_iter().filter_map(|(name, part)| Some((name, part().ok()?))).collect()
}

type Part = fn() -> Result<Graph, ShapeError>;

/// Numbers that look random, always the same, between -1 and 1.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as f32 / (1 << 23) as f32 - 1.0
    }

    /// Numbers of such a size that a sum over `fan_in` of them is about one.
    fn take(&mut self, n: usize, fan_in: usize) -> Vec<f32> {
        let scale = (3.0 / fan_in as f32).sqrt();
        (0..n).map(|_| self.next() * scale).collect()
    }
}

/// A graph that is being built.
struct Builder {
    graph: Graph,
    numbers: Numbers,
}

impl Builder {
    fn new(channels: usize, squares: usize) -> Self {
        Self { graph: Graph::new(Shape { channels, squares }), numbers: Numbers(channels as u32) }
    }

    fn conv(&mut self, input: ValueId, channels: usize, kernel: usize, with: Fused) -> Result<ValueId, ShapeError> {
        let fan_in = self.graph.shape(input).channels * kernel * kernel;
        let numbers = &mut self.numbers;
        let se = with.hidden.map(|hidden| SqueezeExcite {
            hidden,
            w1: numbers.take(hidden * channels, channels),
            b1: numbers.take(hidden, 4),
            w2: numbers.take(2 * channels * hidden, hidden),
            b2: numbers.take(2 * channels, 4),
        });
        let (weights, bias) = (numbers.take(channels * fan_in, fan_in), numbers.take(channels, 4));
        let Fused { residual, activation, .. } = with;
        self.graph.push(Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation })
    }

    fn dense(&mut self, input: ValueId, channels: usize, activation: Activation) -> Result<ValueId, ShapeError> {
        let fan_in = self.graph.shape(input).len();
        let (weights, bias) = (self.numbers.take(channels * fan_in, fan_in), self.numbers.take(channels, 4));
        self.graph.push(Layer::Dense { input, channels, weights, bias, activation })
    }

    fn norm(&mut self, input: ValueId) -> Result<ValueId, ShapeError> {
        let channels = self.graph.shape(input).channels;
        let (gammas, betas) = (self.numbers.take(channels, 4), self.numbers.take(channels, 4));
        self.graph.push(Layer::LayerNorm { input, epsilon: 0.1, gammas, betas })
    }

    fn affine(
        &mut self,
        input: ValueId,
        added: Option<ValueId>,
        activation: Activation,
    ) -> Result<ValueId, ShapeError> {
        let channels = self.graph.shape(input).channels;
        let (scale, shift) = (self.numbers.take(channels, 3), self.numbers.take(channels, 4));
        self.graph.push(Layer::Affine { input, added, scale, shift, activation })
    }

    fn gather(&mut self, input: ValueId, squares: usize, residual: Option<ValueId>) -> Result<ValueId, ShapeError> {
        let len = self.graph.shape(input).len();
        // Backwards and in steps: seven has no factor in common with these lengths.
        let indices = (0..len).map(|at| (len - 1 - at * 7 % len) as u32).collect();
        self.graph.push(Layer::Gather { input, indices, squares, residual })
    }

    fn end(mut self, value: ValueId) -> Result<Graph, ShapeError> {
        self.graph.output(Role::Policy, value)?;
        Ok(self.graph)
    }
}

/// What is fused into a convolution.
#[derive(Clone, Copy)]
struct Fused {
    hidden: Option<usize>,
    residual: Option<ValueId>,
    activation: Activation,
}

const PLAIN: Fused = Fused { hidden: None, residual: None, activation: Activation::Relu };

/// Every activation, from planes and from blocks, with and without squeeze and excitation.
fn convolutions() -> Result<Graph, ShapeError> {
    let mut builder = Builder::new(11, 64);
    let mut x = builder.conv(INPUT, 19, 3, PLAIN)?;
    for (at, activation) in Activation::ELEMENTWISE.into_iter().enumerate() {
        let hidden = (at % 2 == 1).then_some(5);
        let y = builder.conv(x, 19, 1, Fused { activation, ..PLAIN })?;
        x = builder.conv(y, 19, 3, Fused { hidden, residual: Some(x), activation })?;
    }
    let planes = builder.conv(INPUT, 19, 1, Fused { residual: Some(x), ..PLAIN })?;
    builder.end(planes)
}

/// A board whose side no tile divides.
fn odd_board() -> Result<Graph, ShapeError> {
    let mut builder = Builder::new(3, 25);
    let x = builder.conv(INPUT, 9, 3, PLAIN)?;
    let y = builder.conv(x, 9, 3, Fused { hidden: Some(3), residual: Some(x), ..PLAIN })?;
    builder.end(y)
}

/// Layers of vectors, without a board.
fn vectors() -> Result<Graph, ShapeError> {
    let mut builder = Builder::new(5, 64);
    let mut x = builder.dense(INPUT, 33, Activation::None)?;
    for activation in Activation::ELEMENTWISE {
        x = builder.dense(x, 33, activation)?;
    }
    let y = builder.norm(x)?;
    let y = builder.gather(y, 1, Some(x))?;
    let y = builder.dense(y, 33, Activation::Softmax)?;
    builder.end(y)
}

/// The layers of attention networks.
fn attention() -> Result<Graph, ShapeError> {
    let (heads, squares) = (3, 64);
    let mut builder = Builder::new(9, squares);
    let shape = Shape { channels: 9, squares };
    let values = builder.numbers.take(shape.len(), 4);
    let constant = builder.graph.push(Layer::Constant { shape, values })?;
    let (scale, shift) = (builder.numbers.take(shape.len(), 4), builder.numbers.take(shape.len(), 4));
    let gated = builder.graph.push(Layer::Gate { input: INPUT, scale, shift })?;
    let x = builder.conv(gated, 9, 1, Fused { residual: Some(constant), ..PLAIN })?;
    let x = builder.norm(x)?;
    let query = builder.conv(x, 9, 1, Fused { activation: Activation::None, ..PLAIN })?;
    let value = builder.conv(x, 6, 1, Fused { activation: Activation::None, ..PLAIN })?;
    let parts = builder.dense(x, 4 * heads, Activation::Swish)?;
    let weights = builder.numbers.take(squares * squares * 4, 4).into();
    let bias = builder.graph.push(Layer::Smolgen { input: parts, heads, weights })?;
    let biased = builder.graph.push(Layer::Attention { query, key: x, value, heads, bias: Some(bias) })?;
    let plain = builder.graph.push(Layer::Attention { query: biased, key: biased, value: x, heads, bias: None })?;
    let scores = builder.graph.push(Layer::Scores { query: plain, key: x })?;
    let y = builder.gather(scores, squares, None)?;
    builder.end(y)
}

/// The layers of KataGo's networks, on a board that is not a square: both plain values and values in blocks are scaled
/// and pooled.
fn board_of_go() -> Result<Graph, ShapeError> {
    let (ranks, files) = (5, 9);
    let squares = ranks * files;
    let mut builder = Builder::new(4, squares);
    builder.graph = builder.graph.on_board(ranks, files);
    let scaled = builder.affine(INPUT, None, Activation::Tanh)?;
    let pooled = builder.graph.push(Layer::Pool { input: scaled })?;
    let added = builder.dense(pooled, 19, Activation::None)?;
    let x = builder.conv(scaled, 19, 5, Fused { activation: Activation::None, ..PLAIN })?;
    let mut y = builder.affine(x, Some(added), Activation::Relu)?;
    for activation in Activation::ELEMENTWISE {
        y = builder.affine(y, None, activation)?;
    }
    let y = builder.conv(y, 19, 3, Fused { residual: Some(x), ..PLAIN })?;
    let y = builder.conv(y, 19, 5, PLAIN)?;
    let pooled = builder.graph.push(Layer::Pool { input: y })?;
    let added = builder.dense(pooled, 19, Activation::None)?;
    let y = builder.affine(y, Some(added), Activation::Mish)?;
    let y = builder.gather(y, squares, None)?;
    builder.end(y)
}

/// The further layers of KataGo's networks with attention, in which each square is a token. The board has eight by
/// eight points, for which a network can be one launch on a GPU.
fn transformer_of_go() -> Result<Graph, ShapeError> {
    let (channels, squares) = (10, 64);
    let mut builder = Builder::new(channels, squares);
    let linear = Fused { activation: Activation::None, ..PLAIN };
    let normed = builder.graph.push(Layer::RmsNorm { input: INPUT, epsilon: 0.1, whole: false })?;
    let query = builder.conv(normed, 12, 1, linear)?;
    let angles = builder.numbers.take(6 * squares, 4);
    let query = builder.graph.push(Layer::Rotate { input: query, angles })?;
    let value = builder.conv(normed, 9, 1, linear)?;
    let attended = builder.graph.push(Layer::Attention { query, key: query, value, heads: 3, bias: None })?;
    let x = builder.conv(attended, channels, 1, Fused { residual: Some(INPUT), ..linear })?;
    let normed = builder.graph.push(Layer::RmsNorm { input: x, epsilon: 0.1, whole: false })?;
    let left = builder.conv(normed, 17, 1, Fused { activation: Activation::Swish, ..PLAIN })?;
    let right = builder.conv(normed, 17, 1, linear)?;
    let product = builder.graph.push(Layer::Multiply { left, right })?;
    let x = builder.conv(product, channels, 1, Fused { residual: Some(x), ..linear })?;
    let whole = builder.graph.push(Layer::RmsNorm { input: x, epsilon: 0.1, whole: true })?;
    let y = builder.affine(whole, None, Activation::Swish)?;
    builder.end(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Backend, Outputs};
    use crate::device::device_is_there;
    use crate::kernels::{Precision, Tuning, Variant};
    use crate::opencl::{OpenCl, Options, canary};
    use crate::tune::Candidate;

    /// On a device, if there is one.
    fn made(graph: &Graph, tuning: Tuning, precision: Precision) -> Option<OpenCl> {
        device_is_there()?;
        let options = Options { max_batch: 3, tuning: Some(tuning), precision, ..Options::default() };
        Some(OpenCl::unchecked(graph.clone().into(), &options).expect("it compiles"))
    }

    /// What a network's one launch waits for follows from it.
    #[test]
    fn kernels_write_to_what_their_launchers_call_outputs() {
        for (_, mut graph) in kit() {
            for precision in [Precision::Fp32, Precision::Int8] {
                for variant in [Variant::Cpu, Variant::Gpu] {
                    for layer in 0..graph.layers().len() {
                        let int8 = precision == Precision::Int8 && graph.can_be_int8(layer);
                        graph.set_int8(layer, int8).expect("it can be");
                    }
                    let tuning = Tuning { network: 0, ..Tuning::start(variant, 8) };
                    let Some(mut device) = made(&graph, tuning, precision) else { continue };
                    let steps = device.steps.iter_mut().flatten();
                    let known: usize = steps.map(|step| step.check_outputs(&device.session)).sum();
                    let knows = device.session.device().knows_const_arguments();
                    assert!(known > 0 || !knows, "what is const");
                }
            }
        }
    }

    #[test]
    fn a_network_is_one_launch_on_a_cpu() {
        for (what, graph) in kit() {
            for network in [0, 1] {
                let tuning = Tuning { network, ..Tuning::start(Variant::Cpu, 8) };
                let Some(mut device) = made(&graph, tuning, Precision::Fp32) else { continue };
                assert_eq!(device.refused(), None, "{what}");
                assert_eq!(device.launches(1) == 1, network == 1, "{what}");
                device.agrees_with_host().expect(what);
                device.another().expect("there is room").agrees_with_host().expect(what);
            }
        }
    }

    #[test]
    fn a_chess_network_is_one_launch_on_a_gpu_that_is_told_so() {
        for (what, graph) in kit() {
            for precision in [Precision::Fp32, Precision::Fp16] {
                let tuning = Tuning { network: 1, ..Tuning::start(Variant::Gpu, 8) };
                let Some(mut device) = made(&graph, tuning, precision) else { continue };
                assert_eq!(device.refused(), None, "{what}");
                // A group makes the squares of a chessboard, and a network without convolutions is one launch on any
                // board.
                let is_one = !["odd board", "board of Go"].contains(&what);
                assert_eq!(device.launches(1) == 1, is_one, "{what}");
                if !is_one {
                    let options = Options { tuning: Some(tuning), precision, ..Options::default() };
                    let error = Candidate { graph: graph.clone().into(), options }.run().expect_err(what);
                    assert!(error.0.starts_with("this network is not one launch: "), "{error}");
                }
                device.agrees_with_host().expect(what);
                device.another().expect("there is room").agrees_with_host().expect(what);
            }
        }
    }

    /// How few have kernels of their own depends on the units that a GPU has.
    #[test]
    fn a_few_positions_have_the_answers_that_many_have() {
        const MOST: usize = 24;
        let Some(device) = device_is_there() else { return };
        for (what, graph) in kit() {
            let each = graph.input().len();
            let input = canary::planes(MOST * each);
            for (units, winograd) in [(5, 0), (20, 4), (12, 2)] {
                let tuning = Tuning { winograd, ..Tuning::start(Variant::Gpu, 8) };
                let options = Options { max_batch: MOST, tuning: Some(tuning), ..Options::default() };
                let mut device = device.clone();
                device.compute_units = units;
                let made = OpenCl::unchecked_on(&device, graph.clone().into(), &options);
                let mut made = made.unwrap_or_else(|error| panic!("{what}, {units} units: {error}"));
                made.agrees_with_host().unwrap_or_else(|error| panic!("{what}, {units} units: {error}"));
                let mut answer = |batch: usize| {
                    let mut outputs = Outputs::default();
                    made.evaluate(&input[..batch * each], &mut outputs).expect("it runs");
                    outputs.policy
                };
                let all = answer(MOST);
                for batch in 1..MOST {
                    let some = answer(batch);
                    assert!(all.starts_with(&some), "{what}, {units} units, {batch} positions");
                }
            }
        }
    }

    #[test]
    fn a_launch_has_any_number_of_groups() {
        for (what, graph) in kit() {
            let tuning = Tuning { network: 1, ..Tuning::start(Variant::Cpu, 8) };
            let Some(mut device) = made(&graph, tuning, Precision::Fp32) else { continue };
            for groups in [1, 3, 7, 33] {
                let network = device.network.as_mut().expect("one launch");
                network.in_groups(&device.session, groups).expect("there is room");
                // Of several positions and of one, in turns: both halves of the counters are used again.
                for _ in 0..3 {
                    device.agrees_with_host().unwrap_or_else(|error| panic!("{what}, {groups} groups: {error}"));
                }
            }
        }
    }

    #[test]
    fn a_batch_in_pieces_has_the_answers_that_it_has_at_once() {
        const MOST: usize = 8;
        let Some(device) = device_is_there() else { return };
        for (what, graph) in kit() {
            let input = canary::planes(MOST * graph.input().len());
            for (network, variant) in [(0, Variant::Cpu), (1, Variant::Cpu), (0, Variant::Gpu)] {
                let tuning = Tuning { network, ..Tuning::start(variant, 8) };
                let options = Options { max_batch: MOST, tuning: Some(tuning), ..Options::default() };
                let mut made = OpenCl::unchecked_on(&device, graph.clone().into(), &options).expect(what);
                let mut answers = |largest_piece: usize| {
                    made.common.largest_piece = largest_piece;
                    let mut outputs = Outputs::default();
                    // The second one counts on what the first has left behind.
                    for _ in 0..2 {
                        made.evaluate(&input, &mut outputs).expect("it runs");
                    }
                    (made.launches(MOST), outputs)
                };
                let (at_once, expected) = answers(MOST);
                let (in_three, got) = answers(3);
                assert!(in_three > at_once, "{what}: {in_three} launches, {at_once} at once");
                assert!(network == 0 || in_three == 3, "{what}: {in_three} launches of 3, 3 and 2 positions");
                assert!(got == expected, "{what}, {variant} kernels, {network}: {got:?} for {expected:?}");
            }
        }
    }

    #[test]
    fn a_device_for_small_batches_has_memory_for_no_more() {
        let Some(device) = device_is_there() else { return };
        for (what, graph) in kit() {
            let input = canary::planes(3 * graph.input().len());
            for (network, variant) in [(0, Variant::Cpu), (1, Variant::Cpu), (0, Variant::Gpu), (1, Variant::Gpu)] {
                let tuning = Tuning { network, ..Tuning::start(variant, 8) };
                let options = Options { max_batch: 24, tuning: Some(tuning), ..Options::default() };
                let mut made = OpenCl::unchecked_on(&device, graph.clone().into(), &options).expect(what);
                let answers = |made: &mut OpenCl| {
                    let mut outputs = Outputs::default();
                    made.evaluate(&input, &mut outputs).expect("it runs");
                    outputs
                };
                let (expected, before, launches) = (answers(&mut made), made.memory, made.launches(3));
                // As it is for a device that is quick enough for so many.
                made.common.max_batch = 13;
                let mut made = made.with_less_memory(24);
                assert_eq!(made.memory.written, before.written, "{what}: more than half");
                made.common.max_batch = 3;
                let mut made = made.with_less_memory(24);
                assert!(made.memory.written < before.written, "{what}: {:?}, before {before:?}", made.memory);
                assert_eq!((made.max_batch(), made.launches(3)), (3, launches), "{what}");
                assert!(answers(&mut made) == expected, "{what}, {variant} kernels, {network}");
                assert!(made.evaluate(&input.repeat(2), &mut Outputs::default()).is_err(), "{what}: six positions");
                made.another().expect("there is room").agrees_with_host().expect(what);
            }
        }
    }

    #[test]
    fn every_part_is_there_and_every_kind_of_layer_in_it() {
        let kit = kit();
        assert_eq!(kit.len(), 6);
        let kinds: Vec<&str> = kit.iter().flat_map(|(_, graph)| graph.layers().iter().map(Layer::name)).collect();
        for kind in [
            "convolution",
            "dense",
            "gather",
            "constant",
            "gate",
            "affine",
            "pool",
            "layer norm",
            "RMS norm",
            "rotation",
            "product",
            "attention",
            "smolgen",
            "attention scores",
        ] {
            assert!(kinds.contains(&kind), "{kind}");
        }
    }
}
