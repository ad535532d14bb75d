//! Channels of the input that a network does not look at.

use super::prune::columns;
use super::{Graph, INPUT, Layer};

impl Graph {
    /// Leaves out the channels of the input that have no weight but zeros, and returns the others, in order: what the
    /// graph's input is from now on. It computes the same from less.
    ///
    /// A channel counts as looked at where anything but a convolution's weights reads the input; one always stays.
    pub fn narrow(&mut self) -> Vec<usize> {
        let all = self.input.channels;
        let mut is_read = vec![false; all];
        for layer in self.layers.iter().filter(|layer| layer.reads().any(|value| value == INPUT)) {
            match layer {
                Layer::Conv { weights, kernel, residual, .. } if *residual != Some(INPUT) => {
                    for (at, taps) in weights.chunks_exact(kernel * kernel).enumerate() {
                        is_read[at % all] |= taps.iter().any(|&w| w != 0.0);
                    }
                }
                _ => is_read.fill(true),
            }
        }
        if self.outputs.iter().any(|output| output.value == INPUT) {
            is_read.fill(true);
        }
        let mut read: Vec<usize> = (0..all).filter(|&channel| is_read[channel]).collect();
        if read.is_empty() {
            read.push(0);
        }
        for layer in &mut self.layers {
            if let Layer::Conv { input: INPUT, weights, kernel, .. } = layer {
                *weights = columns(weights, all, *kernel * *kernel, &read);
            }
        }
        self.input.channels = read.len();
        self.shapes[INPUT.0] = self.input;
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Activation, Role, Shape, ValueId};
    use crate::host::plain;

    const BOARD: usize = 64;

    /// Weights from −1 to 1 for the inputs that are `looked_at`.
    fn conv(input: ValueId, inputs: usize, kernel: usize, looked_at: &[usize]) -> Layer {
        let (channels, taps) = (3, kernel * kernel);
        let weight = |at: usize| match looked_at.contains(&(at / taps % inputs)) {
            true => (at * 37 % 101) as f32 / 50.0 - 1.0,
            false => 0.0,
        };
        let weights = (0..channels * inputs * taps).map(weight).collect();
        let (bias, se, residual, activation) = (vec![0.1, -0.2, 0.3], None, None, Activation::Relu);
        Layer::Conv { input, channels, kernel, weights, bias, se, residual, activation }
    }

    fn graph(inputs: usize, layers: impl IntoIterator<Item = Layer>) -> Graph {
        let mut graph = Graph::new(Shape { channels: inputs, squares: BOARD });
        let last = layers.into_iter().map(|layer| graph.push(layer).expect("a layer that fits")).last();
        graph.output(Role::Policy, last.unwrap_or(INPUT)).expect("any length");
        graph
    }

    #[test]
    fn a_network_computes_the_same_from_the_channels_that_it_looks_at() {
        // Two layers look at the input: at other channels.
        let mut narrow = graph(7, [conv(INPUT, 7, 3, &[1, 4]), conv(INPUT, 7, 1, &[4, 6])]);
        let wide = narrow.clone();
        assert_eq!(narrow.narrow(), [1, 4, 6]);
        assert_eq!(narrow.input(), Shape { channels: 3, squares: BOARD });
        assert_eq!(narrow.shape(INPUT), narrow.input());
        assert_eq!(narrow.narrow(), [0, 1, 2], "nothing more is to be left out");
        let input: Vec<f32> = (0..7 * BOARD).map(|at| (at * 29 % 64) as f32 / 64.0).collect();
        let seen: Vec<f32> = [1, 4, 6].iter().flat_map(|&at| &input[at * BOARD..][..BOARD]).copied().collect();
        let [wide, narrow] = [(&wide, &input), (&narrow, &seen)]
            .map(|(graph, input)| plain::evaluate(graph, input).expect("an evaluation").policy);
        assert_eq!(wide, narrow);
    }

    #[test]
    fn what_is_read_in_another_way_is_read_whole() {
        let mut added = conv(INPUT, 3, 1, &[1]);
        if let Layer::Conv { residual, .. } = &mut added {
            *residual = Some(INPUT);
        }
        let picked = Layer::Gather { input: INPUT, indices: vec![70], squares: 1, residual: None };
        for layers in [vec![added], vec![conv(INPUT, 3, 1, &[1]), picked], vec![]] {
            assert_eq!(graph(3, layers).narrow(), [0, 1, 2]);
        }
    }

    #[test]
    fn one_channel_always_stays() {
        let mut blind = graph(5, [conv(INPUT, 5, 3, &[])]);
        assert_eq!(blind.narrow(), [0]);
        assert!(plain::evaluate(&blind, &[1.0; BOARD]).is_ok());
    }
}
