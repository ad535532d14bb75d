//! The memory that a graph takes on a device: how its values are stored, and which of them share a buffer.

use crate::device::Error;
use crate::graph::{Graph, Layer, ValueId};
use crate::kernels::layout::Layout;
use crate::kernels::{Kernels, Value, affine, attention, conv, dense, se};

/// Bytes of device memory, not counting what single kernels need for themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    /// Weights, and everything that is written to.
    pub all: u64,
    /// What is written to: each batch on the device needs its own.
    pub written: u64,
}

/// Checks that the graph fits into the device's memory, then makes a buffer for every value, and the scratch memory
/// that layers share.
///
/// # Errors
/// If the device has too little memory, or if the driver fails.
pub(super) fn allocate(kernels: &mut Kernels<'_>, graph: &Graph) -> Result<(Vec<Value>, Footprint), Error> {
    let layouts = layouts(kernels, graph);
    let needs = Needs { kernels, graph, layouts: &layouts };
    let strides: Vec<usize> = layouts.iter().map(|layout| layout.stride()).collect();
    let plan = plan(graph, &strides, kernels.alone());
    let weights: u64 = (0..graph.layers().len()).map(|at| needs.weight_words(at) as u64).sum();
    let values: u64 = plan.slots.iter().map(|&floats| floats as u64 * kernels.max_batch() as u64).sum();
    let scratch = needs.scratch_words();
    let lent: u64 = scratch.iter().map(|&floats| floats as u64).sum();
    let (device, needed) = (kernels.session().device(), 4 * (weights + values + lent));
    let memory = Footprint { all: needed, written: 4 * (values + lent) };
    if needed > device.global_memory {
        return Err(Error::Memory {
            device: device.name.clone(),
            what: format!("weights and a batch of {} positions", kernels.max_batch()),
            needed,
            available: device.global_memory,
        });
    }
    kernels.reserve(scratch)?;
    let buffers = plan
        .slots
        .iter()
        .map(|floats| kernels.session().buffer(floats * kernels.max_batch()))
        .collect::<Result<Vec<_>, _>>()?;
    let places = layouts.into_iter().zip(plan.slot_of);
    Ok((places.map(|(layout, s)| Value { layout, buffer: buffers[s].clone() }).collect(), memory))
}

/// How each value is stored: in the order of the host, except for boards that convolutions write in blocks and that are
/// read by no layer that knows only the host's order. An affine layer keeps the order of its input.
fn layouts(kernels: &Kernels<'_>, graph: &Graph) -> Vec<Layout> {
    let mut plain = vec![false; graph.layers().len() + 1];
    for layer in graph.layers() {
        match layer {
            Layer::Conv { .. } | Layer::Dense { .. } | Layer::Affine { .. } | Layer::Pool { .. } => {}
            Layer::Gather { residual, .. } => residual.iter().for_each(|value| plain[value.0] = true),
            other => other.reads().for_each(|value| plain[value.0] = true),
        }
    }
    let mut layouts = vec![Layout::plain(graph.input())];
    for (at, layer) in graph.layers().iter().enumerate() {
        layouts.push(match layer {
            Layer::Conv { input, channels, kernel, .. } => {
                let (input, int8) = (layouts[input.0], graph.is_int8(at));
                let conv = conv::Outline { input, channels: *channels, kernel: *kernel, int8 };
                conv.output_layout(kernels, plain[at + 1])
            }
            Layer::Affine { input, .. } => affine::output_layout(layouts[input.0], plain[at + 1]),
            _ => Layout::plain(graph.shape(ValueId(at + 1))),
        });
    }
    layouts
}

/// What layers need besides their values, given how these are stored.
struct Needs<'a, 'k> {
    kernels: &'a Kernels<'k>,
    graph: &'a Graph,
    /// By [`ValueId`].
    layouts: &'a [Layout],
}

impl Needs<'_, '_> {
    /// The scratch memory of the layer that needs most: layers run one after the other, and share it.
    fn scratch_words(&self) -> [usize; 2] {
        let Self { kernels, graph, layouts } = *self;
        let layers = graph.layers().iter().enumerate().map(|(at, layer)| match layer {
            Layer::Conv { input, channels, kernel, .. } => {
                let (input, int8) = (layouts[input.0], graph.is_int8(at));
                conv::Outline { input, channels: *channels, kernel: *kernel, int8 }.scratch_words(kernels)
            }
            Layer::Dense { input, .. } => dense::scratch_words(kernels, layouts[input.0], graph.is_int8(at)),
            _ => [0; 2],
        });
        layers.fold([0; 2], |[v, m], [a, b]| [v.max(a), m.max(b)])
    }

    /// Words of weights of a layer. Each of several smolgens with the same weights counts them, which is more than they
    /// take.
    fn weight_words(&self, at: usize) -> usize {
        let Self { kernels, graph, layouts } = *self;
        match &graph.layers()[at] {
            Layer::Conv { input, channels, kernel, se, .. } => {
                let excite = se.as_ref().map_or(0, |se| se::weight_words(kernels, *channels, se.hidden));
                let (input, int8) = (layouts[input.0], graph.is_int8(at));
                conv::Outline { input, channels: *channels, kernel: *kernel, int8 }.weight_words(kernels) + excite
            }
            Layer::Dense { input, channels, .. } => {
                dense::weight_words(kernels, layouts[input.0], *channels, graph.is_int8(at))
            }
            Layer::Gather { indices, .. } => indices.len(),
            Layer::Constant { values, .. } => values.len(),
            Layer::Gate { scale, shift, .. } => scale.len() + shift.len(),
            Layer::Affine { input, .. } => affine::weight_words(layouts[input.0]),
            Layer::LayerNorm { gammas, betas, .. } => gammas.len() + betas.len(),
            Layer::Smolgen { input, heads, weights } => {
                let part = layouts[input.0].shape.len() / heads;
                attention::smolgen_words(kernels, weights.len(), weights.len() / part)
            }
            // Cosines and sines.
            Layer::Rotate { angles, .. } => 2 * angles.len(),
            Layer::Attention { .. }
            | Layer::Scores { .. }
            | Layer::Pool { .. }
            | Layer::RmsNorm { .. }
            | Layer::Multiply { .. } => 0,
        }
    }
}

/// Assigns a buffer to every value; there are fewer buffers than values.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    /// For each buffer, how many elements it holds for one position.
    slots: Vec<usize>,
    /// For each value, the input first, its index in `slots`.
    slot_of: Vec<usize>,
}

/// Gives each value a buffer of at least `sizes[value]` elements; a buffer is reused once no layer reads its value any
/// more.
///
/// A layer never writes to what it reads. An output has a buffer to itself: what was put there before a batch stays
/// until the launch that makes the output, see [`Read::proof`](crate::device::Read::proof).
///
/// If positions are `apart`, one may be in a later layer than another: then values that share a buffer are of the same
/// size, so that a position has the same part of the buffer in every layer.
fn plan(graph: &Graph, sizes: &[usize], apart: bool) -> Plan {
    let mut last_use: Vec<usize> = (0..sizes.len()).collect();
    for (at, layer) in graph.layers().iter().enumerate() {
        for value in layer.reads() {
            last_use[value.0] = at + 1;
        }
    }
    let is_output = |value| graph.outputs().iter().any(|output| output.value.0 == value);

    let mut plan = Plan { slots: Vec::new(), slot_of: Vec::new() };
    let mut free: Vec<usize> = Vec::new();
    for (value, &size) in sizes.iter().enumerate() {
        let slot = match apart {
            _ if is_output(value) => new(&mut plan.slots, size),
            true => take_same(&mut free, &mut plan.slots, size),
            false => take(&mut free, &mut plan.slots, size),
        };
        plan.slot_of.push(slot);
        // A value that is never read is last used when it is made.
        let done = (0..=value).filter(|&done| last_use[done] == value && !is_output(done));
        free.extend(done.map(|done| plan.slot_of[done]));
    }
    plan
}

/// The free buffer that fits best, grown if none is big enough, or a new one.
fn take(free: &mut Vec<usize>, slots: &mut Vec<usize>, size: usize) -> usize {
    let waste = |slot: usize| if slots[slot] >= size { (0, slots[slot] - size) } else { (1, size - slots[slot]) };
    match (0..free.len()).min_by_key(|&at| waste(free[at])) {
        Some(at) => {
            let slot = free.swap_remove(at);
            slots[slot] = slots[slot].max(size);
            slot
        }
        None => new(slots, size),
    }
}

/// A free buffer of exactly that size, or a new one.
fn take_same(free: &mut Vec<usize>, slots: &mut Vec<usize>, size: usize) -> usize {
    match free.iter().position(|&slot| slots[slot] == size) {
        Some(at) => free.swap_remove(at),
        None => new(slots, size),
    }
}

fn new(slots: &mut Vec<usize>, size: usize) -> usize {
    slots.push(size);
    slots.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Activation, INPUT, Role, Shape};

    fn conv(graph: &mut Graph, input: ValueId, residual: Option<ValueId>) -> ValueId {
        let channels = graph.shape(input).channels;
        let layer = Layer::Conv {
            input,
            channels,
            kernel: 1,
            weights: vec![0.0; channels * channels],
            bias: vec![0.0; channels],
            se: None,
            residual,
            activation: Activation::Relu,
        };
        graph.push(layer).expect("shapes fit")
    }

    #[test]
    fn a_tower_of_any_height_takes_three_buffers_and_the_output_one() {
        let mut graph = Graph::new(Shape { channels: 2, squares: 4 });
        let mut x = INPUT;
        for _ in 0..20 {
            let y = conv(&mut graph, x, None);
            x = conv(&mut graph, y, Some(x));
        }
        graph.output(Role::Policy, x).expect("the value is there");
        let sizes = vec![8; graph.layers().len() + 1];
        assert_eq!(plan(&graph, &sizes, false).slots, [8, 8, 8, 8]);
    }

    #[test]
    fn a_value_keeps_its_buffer_until_its_last_reader() {
        let mut graph = Graph::new(Shape { channels: 2, squares: 4 });
        let a = conv(&mut graph, INPUT, None);
        let b = conv(&mut graph, a, None);
        let c = conv(&mut graph, b, None);
        let d = conv(&mut graph, c, Some(a));
        graph.output(Role::Policy, b).expect("the value is there");
        let plan = plan(&graph, &[8; 5], false);
        let slot = |value: ValueId| plan.slot_of[value.0];
        assert!(slot(a) != slot(b) && slot(a) != slot(c) && slot(a) != slot(d) && slot(b) != slot(c));
        assert_ne!(slot(b), slot(d), "an output keeps its buffer");
        assert_ne!(slot(b), slot(INPUT), "and nothing was there before it");
        assert_eq!(slot(c), slot(INPUT));
    }

    #[test]
    fn positions_that_are_apart_keep_their_part_of_a_buffer() {
        let mut graph = Graph::new(Shape { channels: 2, squares: 4 });
        let mut x = INPUT;
        for _ in 0..4 {
            x = conv(&mut graph, x, None);
        }
        graph.output(Role::Policy, x).expect("the value is there");
        let sizes = [8, 4, 6, 8, 8];
        for apart in [false, true] {
            let plan = plan(&graph, &sizes, apart);
            let all_same = plan.slot_of.iter().zip(sizes).all(|(&slot, size)| plan.slots[slot] == size);
            assert_eq!((plan.slots.len(), all_same), (if apart { 4 } else { 3 }, apart), "{plan:?}");
        }
    }
}
