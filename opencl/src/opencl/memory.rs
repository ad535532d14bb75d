//! Which values share a buffer.

use crate::graph::Graph;

/// Assigns a buffer to every value; there are fewer buffers than values.
#[derive(Debug, PartialEq, Eq)]
pub struct Plan {
    /// For each buffer, how many elements it holds for one position.
    pub slots: Vec<usize>,
    /// For each value, the input first, its index in `slots`.
    pub slot_of: Vec<usize>,
}

/// Gives each value a buffer of at least `sizes[value]` elements; a buffer is reused once no layer reads its value any
/// more.
///
/// A layer never writes to what it reads. An output has a buffer to itself: what was put there before a batch stays
/// until the launch that makes the output, see [`Read::proof`](crate::device::Read::proof).
///
/// If positions are `apart`, one may be in a later layer than another: then values that share a buffer are of the same
/// size, so that a position has the same part of the buffer in every layer.
pub fn plan(graph: &Graph, sizes: &[usize], apart: bool) -> Plan {
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
    use crate::graph::{Activation, INPUT, Layer, Role, Shape, ValueId};

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
