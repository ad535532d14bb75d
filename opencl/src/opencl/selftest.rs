//! Layer by layer against the host: which kernel is wrong, and by how much.
//!
//! Each layer's kernels are given what the host's plain form computed for the layers before, so that an error shows at
//! the layer where it arose, or at the next layer if a launch also makes what that one begins with. Then the whole
//! network runs as it does in a game, and its outputs show how the errors add up.

use super::OpenCl;
pub use super::kit::kit;
use crate::backend::{Backend, BackendError, Outputs, batch_of};
use crate::compare::relative_error;
use crate::device::Error;
use crate::graph::{Role, Shape, ValueId};
use crate::host::plain;
use crate::int8::Loss;

/// One layer's kernels compared with the host.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerError {
    /// Index in the graph.
    pub layer: usize,
    /// What the layer does, see [`crate::graph::Layer::name`].
    pub name: &'static str,
    /// The shape of its output.
    pub shape: Shape,
    /// The worst error, see [`relative_error`].
    pub error: f32,
}

/// One output of the whole network, compared with the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadError {
    /// Which output.
    pub role: Role,
    /// The worst error, see [`relative_error`].
    pub error: f32,
}

/// What a self-test found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The layers, in the order in which they run.
    pub layers: Vec<LayerError>,
    /// The outputs, in the graph's order.
    pub heads: Vec<HeadError>,
    /// How much the outputs differ as a whole, if there are layers in eight bits. Single numbers of policy and value
    /// have no bound then: an input that lies half way between two steps falls to one side here and to the other there.
    pub loss: Option<Loss>,
}

impl Findings {
    /// The worst error of all. A number that is not finite is worse than any other.
    pub fn worst(&self) -> f32 {
        let all = self.layers.iter().map(|layer| layer.error).chain(self.heads.iter().map(|head| head.error));
        all.fold(0.0, |worst, error| if error > worst || error.is_nan() { error } else { worst })
    }
}

impl OpenCl {
    /// Compares every layer and every output with the host's plain form, for a batch of positions as in
    /// [`crate::backend::Backend::evaluate`], or more. It tests a single position, all of these, and the largest batch,
    /// in which they are repeated: a driver may run only few groups of a range. On a slow GPU the largest batch is as
    /// many as it is quick enough for. `done` is called again and again with the number of layers that are finished.
    ///
    /// # Errors
    /// If the device fails, or if `input` is no whole number of positions, at least one.
    pub fn self_test(&mut self, input: &[f32], done: impl FnMut(usize)) -> Result<Findings, BackendError> {
        batch_of(&self.common.graph, usize::MAX, input)?;
        if self.leaves_host_free() {
            // A launch that takes too long may have the system reset a GPU.
            self.limit_batches()?;
        }
        let each = self.common.graph.input().len();
        let expected: Vec<Vec<Vec<f32>>> = input
            .chunks_exact(each)
            .map(|position| plain::values(&self.common.graph, position))
            .collect::<Result<_, _>>()?;
        let layers = self.test_layers(&expected, done)?;
        let (heads, loss) = self.test_heads(input, &expected)?;
        Ok(Findings { layers, heads, loss })
    }

    fn test_layers(
        &mut self,
        expected: &[Vec<Vec<f32>>],
        mut done: impl FnMut(usize),
    ) -> Result<Vec<LayerError>, Error> {
        let _alone = self.turns.wait_alone();
        let graph = self.common.graph.clone();
        let layers = graph.layers();
        let found = layers.iter().enumerate().map(|(layer, what)| LayerError {
            layer,
            name: what.name(),
            shape: graph.shape(ValueId(layer + 1)),
            error: 0.0,
        });
        let mut found: Vec<LayerError> = found.collect();
        let batches = batches(expected.len(), self.common.largest_piece);
        let (all, mut said) = (batches.len(), 0);
        for (turn, positions) in batches.into_iter().enumerate() {
            // All layers for one batch before the next batch: what a launch of the layer before has made for this one,
            // see `conv::Joins`, belongs to the same batch.
            for (layer, what) in layers.iter().enumerate() {
                let made = ValueId(layer + 1);
                for value in what.reads() {
                    self.put(value, &positions, expected)?;
                }
                for step in &mut self.steps[layer] {
                    step.enqueue(&self.session, positions.len())?;
                }
                let (got, wanted) = (self.get(made, positions.len())?, side_by_side(made, &positions, expected));
                found[layer].error = found[layer].error.max(relative_error(&wanted, &got));
                let now = (turn * layers.len() + layer + 1) / all;
                (said..now).for_each(|before| done(before + 1));
                said = now;
            }
        }
        Ok(found)
    }

    fn test_heads(
        &mut self,
        input: &[f32],
        expected: &[Vec<Vec<f32>>],
    ) -> Result<(Vec<HeadError>, Option<Loss>), Error> {
        let graph = self.common.graph.clone();
        let has_int8 = graph.has_int8();
        let mut heads: Vec<_> =
            graph.outputs().iter().map(|output| HeadError { role: output.role, error: 0.0 }).collect();
        let mut loss = None;
        let each = graph.input().len();
        for positions in batches(expected.len(), self.common.max_batch) {
            let (mut got, mut wanted) = (Outputs::default(), Outputs::default());
            let input: Vec<f32> = positions.iter().flat_map(|at| input[at * each..][..each].iter().copied()).collect();
            self.run(positions.len(), &input, &mut got)?;
            for (output, head) in graph.outputs().iter().zip(&mut heads) {
                *wanted.head_mut(head.role) = side_by_side(output.value, &positions, expected);
                head.error = head.error.max(relative_error(wanted.head(head.role), got.head(head.role)));
            }
            // The last batch contains all positions.
            loss = has_int8.then(|| Loss::between(&graph, &wanted, &got));
        }
        Ok((heads, loss))
    }

    /// Sends a value of these positions to its place on the device.
    fn put(&self, value: ValueId, positions: &[usize], expected: &[Vec<Vec<f32>>]) -> Result<(), Error> {
        let place = &self.values[value.0];
        let mut stored = vec![0.0; positions.len() * place.layout.stride()];
        for (&position, stored) in positions.iter().zip(stored.chunks_exact_mut(place.layout.stride())) {
            place.layout.pack(&expected[position][value.0], stored);
        }
        self.session.write(&place.buffer, &stored)
    }

    /// Fetches a value for every position.
    fn get(&self, value: ValueId, positions: usize) -> Result<Vec<f32>, Error> {
        let place = &self.values[value.0];
        let mut stored = vec![0.0; positions * place.layout.stride()];
        self.session.read(&place.buffer, &mut stored)?;
        let mut plain = Vec::new();
        place.layout.unpack(&stored, &mut plain);
        Ok(plain)
    }
}

/// Which of the `positions` are in each batch. First a single one, for which some kernels have a form of their own;
/// then all of them, in several batches if only `most` fit into one; then as many as fit. Each batch begins with
/// another position, so that what a batch has left behind is wrong everywhere in the next.
fn batches(positions: usize, most: usize) -> Vec<Vec<usize>> {
    let batch = |from: usize, size: usize| (from..from + size).map(|at| at % positions).collect();
    let mut batches = vec![batch(0, 1)];
    if positions > 1 {
        batches.extend((0..positions).step_by(most).map(|at| batch(at + 1, most.min(positions - at))));
    }
    if positions != most {
        batches.push(batch(2, most));
    }
    batches
}

fn side_by_side(value: ValueId, positions: &[usize], expected: &[Vec<Vec<f32>>]) -> Vec<f32> {
    positions.iter().flat_map(|&at| expected[at][value.0].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_batch_is_tested_too() {
        assert_eq!(batches(3, 5), [vec![0], vec![1, 2, 0], vec![2, 0, 1, 2, 0]]);
        assert_eq!(batches(2, 2), [vec![0], vec![1, 0]]);
        assert_eq!(batches(1, 1), [vec![0]]);
        assert_eq!(batches(1, 3), [vec![0], vec![0, 0, 0]]);
        assert_eq!(batches(5, 3), [vec![0], vec![1, 2, 3], vec![4, 0], vec![2, 3, 4]], "each is in one");
    }

    #[test]
    fn the_worst_of_all_is_the_worst() {
        let layer = |error| LayerError { layer: 0, name: "dense", shape: Shape { channels: 1, squares: 1 }, error };
        let head = |error| HeadError { role: Role::Value, error };
        let findings = Findings { layers: vec![layer(0.5), layer(0.1)], heads: vec![head(0.2)], loss: None };
        assert_eq!(findings.worst(), 0.5);
        let findings = Findings { heads: vec![head(f32::INFINITY)], ..findings };
        assert_eq!(findings.worst(), f32::INFINITY);
    }
}
