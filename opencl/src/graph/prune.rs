//! Filters that are always zero, and weights too small to count.

use super::{Activation, Graph, Layer, ValueId};

/// Larger in absolute value than any input of a layer, up to what half precision holds.
const MOST: f32 = 65_504.0;

/// Weights below this in absolute value add less to a sum than it can resolve, whatever they are multiplied with.
const NEGLIGIBLE: f32 = 1e-25;

impl Graph {
    /// Leaves out the filters that a ReLU keeps at zero whatever comes in, and sets weights to zero that are too small
    /// to count. It computes the same from less, as long as no input of a layer is NaN or larger than 65,504 in
    /// absolute value.
    ///
    /// Training leaves both: a filter whose ReLU never opens gets no gradient any more, and weight decay makes its
    /// weights so small that they are subnormal numbers, with which some processors multiply a hundred times as slowly.
    ///
    /// A filter can go where its layer's value is read as the input of convolutions and dense layers and in no other
    /// way; one of each layer always stays.
    pub fn prune(&mut self) {
        for layer in &mut self.layers {
            if let Layer::Conv { weights, .. } | Layer::Dense { weights, .. } = layer {
                weights.iter_mut().filter(|weight| weight.abs() < NEGLIGIBLE).for_each(|weight| *weight = 0.0);
            }
        }
        for at in 0..self.layers.len() {
            let open = self.layers[at].opens();
            if open.contains(&false) && self.is_only_multiplied(ValueId(at + 1)) {
                let mut kept: Vec<usize> = (0..open.len()).filter(|&channel| open[channel]).collect();
                if kept.is_empty() {
                    kept.push(0);
                }
                self.keep_channels(at, &kept);
            }
        }
    }

    /// Whether the inputs of convolutions and dense layers are all that reads a value.
    fn is_only_multiplied(&self, value: ValueId) -> bool {
        let multiplied = |layer: &Layer| match layer {
            Layer::Conv { residual, .. } => *residual != Some(value),
            Layer::Dense { .. } => true,
            _ => !layer.reads().any(|read| read == value),
        };
        self.outputs.iter().all(|output| output.value != value) && self.layers.iter().all(multiplied)
    }

    fn keep_channels(&mut self, at: usize, kept: &[usize]) {
        let shape = self.shapes[at + 1];
        for layer in &mut self.layers[at + 1..] {
            match layer {
                Layer::Conv { input, weights, kernel, .. } if input.0 == at + 1 => {
                    *weights = columns(weights, shape.channels, *kernel * *kernel, kept);
                }
                Layer::Dense { input, weights, .. } if input.0 == at + 1 => {
                    *weights = columns(weights, shape.channels, shape.squares, kept);
                }
                _ => {}
            }
        }
        if let Layer::Conv { channels, weights, bias, .. } | Layer::Dense { channels, weights, bias, .. } =
            &mut self.layers[at]
        {
            *weights = columns(weights, shape.channels, weights.len() / shape.channels, kept);
            *bias = kept.iter().map(|&channel| bias[channel]).collect();
            *channels = kept.len();
        }
        self.shapes[at + 1].channels = kept.len();
    }
}

impl Layer {
    /// By channel, whether a ReLU at the layer's end can be anything but zero. Empty for layers without
    /// one, or that add something.
    fn opens(&self) -> Vec<bool> {
        let (weights, bias) = match self {
            Layer::Conv { weights, bias, se: None, residual: None, activation: Activation::Relu, .. }
            | Layer::Dense { weights, bias, activation: Activation::Relu, .. } => (weights, bias),
            _ => return Vec::new(),
        };
        let most = |row: &[f32]| MOST * row.iter().map(|weight| weight.abs()).sum::<f32>();
        let opens = |(row, bias): (&[f32], &f32)| bias + most(row) > 0.0;
        weights.chunks_exact(weights.len() / bias.len()).zip(bias).map(opens).collect()
    }
}

/// Of weights `[…][inputs][taps]`, those of the inputs that `kept` lists.
pub(super) fn columns(weights: &[f32], inputs: usize, taps: usize, kept: &[usize]) -> Vec<f32> {
    let rows = weights.chunks_exact(inputs * taps);
    rows.flat_map(|row| kept.iter().flat_map(move |&at| &row[at * taps..][..taps])).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{INPUT, Role, Shape};
    use crate::host::plain;
    use quickcheck::quickcheck;

    const SQUARES: usize = 64;
    const FILTERS: usize = 5;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at + seed) * 37 % 101) as f32 / 50.0 - 1.0).collect()
    }

    fn conv(input: ValueId, inputs: usize, channels: usize, activation: Activation) -> Layer {
        let (weights, bias) = (numbers(channels * inputs * 9, channels), numbers(channels, 3));
        Layer::Conv { input, channels, kernel: 3, weights, bias, se: None, residual: None, activation }
    }

    /// A layer of filters of which those in `shut` never open, with weights of this size.
    fn partly_shut(shut: &[usize], size: f32, activation: Activation) -> Layer {
        let mut layer = conv(INPUT, 2, FILTERS, activation);
        if let Layer::Conv { weights, bias, .. } = &mut layer {
            for &filter in shut {
                weights[filter * 18..][..18].iter_mut().for_each(|weight| *weight *= size);
                bias[filter] = -0.5;
            }
        }
        layer
    }

    fn graph(first: Layer, others: impl IntoIterator<Item = Layer>) -> Graph {
        let mut graph = Graph::new(Shape { channels: 2, squares: SQUARES });
        let mut last = graph.push(first).expect("a layer that fits");
        for layer in others {
            last = graph.push(layer).expect("a layer that fits");
        }
        graph.output(Role::Policy, last).expect("any length");
        graph
    }

    fn policy(graph: &Graph) -> Vec<f32> {
        plain::evaluate(graph, &numbers(2 * SQUARES, 1)).expect("an evaluation").policy
    }

    fn dense(input: ValueId, inputs: usize) -> Layer {
        let (weights, bias) = (numbers(4 * inputs, 5), numbers(4, 7));
        Layer::Dense { input, channels: 4, weights, bias, activation: Activation::None }
    }

    quickcheck! {
        fn a_network_computes_the_same_without_filters_that_never_open(shut: Vec<usize>, dense_reads: bool, smaller: u8) -> bool {
            let mut shut: Vec<usize> = shut.iter().map(|filter| filter % FILTERS).collect();
            shut.sort_unstable();
            shut.dedup();
            let reader = match dense_reads {
                true => dense(ValueId(1), FILTERS * SQUARES),
                false => conv(ValueId(1), FILTERS, 3, Activation::None),
            };
            let whole = graph(partly_shut(&shut, 1e-8 * 0.1f32.powi((smaller % 40).into()), Activation::Relu), [reader]);
            let mut pruned = whole.clone();
            pruned.prune();
            let left = (FILTERS - shut.len()).max(1);
            pruned.shape(ValueId(1)).channels == left && policy(&pruned) == policy(&whole)
        }
    }

    #[test]
    fn a_filter_stays_that_may_open_or_that_something_else_reads() {
        let gather = Layer::Gather { input: ValueId(1), indices: vec![70], squares: 1, residual: None };
        let mut skip = conv(INPUT, 2, FILTERS, Activation::None);
        if let Layer::Conv { residual, .. } = &mut skip {
            *residual = Some(ValueId(1));
        }
        let reader = || conv(ValueId(1), FILTERS, 3, Activation::None);
        let shut = |activation| partly_shut(&[1, 2], 1e-9, activation);
        let several = [
            graph(partly_shut(&[1, 2], 1e-4, Activation::Relu), [reader()]),
            graph(shut(Activation::Mish), [reader()]),
            graph(shut(Activation::Relu), [reader(), gather]),
            graph(shut(Activation::Relu), [skip]),
            graph(shut(Activation::Relu), []),
        ];
        for (at, mut graph) in several.into_iter().enumerate() {
            let before = policy(&graph);
            graph.prune();
            assert_eq!(graph.shape(ValueId(1)).channels, FILTERS, "graph {at}");
            assert_eq!(policy(&graph), before, "graph {at}");
        }
    }

    #[test]
    fn a_filter_whose_sums_may_overflow_stays() {
        let mut layer = partly_shut(&[1], 0.0, Activation::Relu);
        if let Layer::Conv { weights, bias, .. } = &mut layer {
            (weights[18], bias[1]) = (f32::MAX, f32::MIN);
        }
        let mut graph = graph(layer, [dense(ValueId(1), FILTERS * SQUARES)]);
        graph.prune();
        assert_eq!(graph.shape(ValueId(1)).channels, FILTERS);
    }

    /// Such a filter would hide its fault if it were left out.
    #[test]
    fn a_filter_whose_numbers_are_nan_is_refused() {
        for (weight, bias) in [(0.0, f32::NAN), (f32::NAN, -0.5), (f32::INFINITY, f32::NEG_INFINITY)] {
            let mut layer = partly_shut(&[1], 0.0, Activation::Relu);
            if let Layer::Conv { weights, bias: biases, .. } = &mut layer {
                (weights[18], biases[1]) = (weight, bias);
            }
            let refused =
                Graph::new(Shape { channels: 2, squares: SQUARES }).push(layer).expect_err("no finite number");
            let what =
                if weight == 0.0 { "bias: expected finite numbers, got NaN at 1" } else { "weights: expected finite" };
            assert!(refused.what.contains(what), "{refused}");
        }
    }

    #[test]
    fn no_weight_is_so_small_that_its_products_are_subnormal() {
        let mut graph = graph(partly_shut(&[0, 3], 1e-39, Activation::Tanh), [dense(ValueId(1), FILTERS * SQUARES)]);
        graph.prune();
        let Layer::Conv { weights, .. } = &graph.layers()[0] else { panic!("the layer that was put in") };
        assert!(weights.iter().all(|&weight| weight == 0.0 || weight.abs() > 1e-3));
        assert!(weights[..18].iter().all(|&weight| weight == 0.0) && weights[18] != 0.0);
    }
}
