//! Which layers multiply in eight bits without harm, and what that costs a network.

use crate::backend::{Backend, BackendError, Outputs};
use crate::graph::{Graph, INPUT, Layer, Role};
use crate::host::Host;
use std::fmt;
use std::sync::Arc;

/// What eight bits cost a network: means over positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// Kullback–Leibler divergence of the policy (a softmax over all its entries) from that of single precision, in
    /// nats.
    pub policy: f64,
    /// Absolute difference of the value (win minus loss) from that of single precision.
    pub value: f64,
}

impl Loss {
    /// The most that a network may lose.
    pub const BOUND: Self = Self { policy: 0.01, value: 0.01 };

    /// Whether neither is above this share of the bound; false for a NaN.
    pub fn within(self, share: f64) -> bool {
        self.policy <= share * Self::BOUND.policy && self.value <= share * Self::BOUND.value
    }

    /// How many times the bound a single position may lose on a device.
    #[cfg(any(feature = "opencl", test))]
    pub(crate) const WORST: f64 = 10.0;

    /// The mean over the positions.
    pub(crate) fn between(graph: &Graph, expected: &Outputs, got: &Outputs) -> Self {
        Self::over(graph, expected, got, |losses| losses.iter().sum::<f64>() / losses.len().max(1) as f64)
    }

    /// The loss of the position that loses most: the mean of a large batch hides one that is wrong altogether.
    #[cfg(any(feature = "opencl", test))]
    pub(crate) fn worst(graph: &Graph, expected: &Outputs, got: &Outputs) -> Self {
        // A NaN is larger than any other loss.
        let larger = |a: f64, b: &f64| if a >= *b || a.is_nan() { a } else { *b };
        Self::over(graph, expected, got, |losses| losses.iter().fold(0.0, larger))
    }

    fn over(graph: &Graph, expected: &Outputs, got: &Outputs, all: impl Fn(&[f64]) -> f64) -> Self {
        let moves = graph.output_len(Role::Policy).unwrap_or(1);
        let pairs = expected.policy.chunks_exact(moves).zip(got.policy.chunks_exact(moves));
        let of_policy: Vec<f64> = pairs.map(|(p, q)| divergence(p, q)).collect();
        let wl = |wdl: &[f32]| f64::from(wdl[0]) - f64::from(wdl[2]);
        let of_wdl = expected.wdl.chunks_exact(3).zip(got.wdl.chunks_exact(3)).map(|(a, b)| (wl(a) - wl(b)).abs());
        let of_value = expected.value.iter().zip(&got.value).map(|(a, b)| f64::from((a - b).abs()));
        let of_values: Vec<f64> = of_wdl.chain(of_value).collect();
        Self { policy: all(&of_policy), value: all(&of_values) }
    }
}

/// KL(softmax(p) ‖ softmax(q)) for logits p and q, in nats.
pub fn divergence(p: &[f32], q: &[f32]) -> f64 {
    let log_sum = |logits: &[f32]| {
        let most = logits.iter().fold(f32::NEG_INFINITY, |most, &x| most.max(x));
        f64::from(most) + logits.iter().map(|&x| f64::from(x - most).exp()).sum::<f64>().ln()
    };
    let (all_p, all_q) = (log_sum(p), log_sum(q));
    p.iter().zip(q).map(|(&a, &b)| (f64::from(a) - all_p, f64::from(b) - all_q)).map(|(a, b)| a.exp() * (a - b)).sum()
}

/// Which layers were chosen, and what they cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// How many layers multiply in whole numbers.
    pub taken: usize,
    /// How many layers could, but had too large an error.
    pub refused: usize,
    /// The loss of the network as it is now.
    pub loss: Loss,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { taken, refused, loss } = self;
        write!(f, "int8: {taken} layers")?;
        if *refused > 0 {
            write!(f, ", {refused} stay in single precision because the loss would be over the bound")?;
        }
        write!(f, "; mean policy divergence {:.5}, mean value difference {:.5}", loss.policy, loss.value)
    }
}

/// How much of the bound may be used on the canaries: other positions may lose more than they do.
const SHARE: f64 = 0.5;

/// Marks those layers of `graph` that may multiply in whole numbers: as many as keep the loss within the bound over
/// `canaries`, which are positions as in [`Backend::evaluate`]. The host evaluates them in both precisions.
///
/// Layers that read the input are left out: its planes have different scales (a counter beside ones and zeros).
///
/// If all of them together lose too much, each is tried alone, and those that lose least are chosen, as many as
/// possible: half of them, then half of the rest or half of those, and so on.
///
/// # Errors
/// If the host can't run the graph, or if `canaries` is not a whole number of positions; or if the network is one of
/// Go, whose losses are not measured.
pub fn choose(graph: &mut Graph, canaries: &[f32]) -> Result<Choice, BackendError> {
    choose_within(graph, canaries, SHARE, |_| false)
}

/// Like [`choose`], with another share of the bound than half of it, and with layers that are `needed` in eight bits:
/// these are marked whatever they lose, and the loss may then be above the bound.
///
/// # Errors
/// Like [`choose`].
pub fn choose_within(
    graph: &mut Graph,
    canaries: &[f32],
    share: f64,
    needed: impl Fn(&Layer) -> bool,
) -> Result<Choice, BackendError> {
    if graph.output_len(Role::Results).is_some() {
        return Err(BackendError("int8: expected a network of chess, got one of Go".to_string()));
    }
    let reads_input = |layer: &Layer| layer.reads().any(|value| value == INPUT);
    let layers = graph.layers().iter().enumerate();
    let can_be = layers.filter(|&(at, layer)| graph.can_be_int8(at) && !reads_input(layer));
    let (mut candidates, others): (Vec<usize>, Vec<usize>) =
        can_be.map(|(at, _)| at).partition(|&at| needed(&graph.layers()[at]));
    let needed = candidates.len();
    candidates.extend(&others);
    let mut trials = Trials::new(graph, canaries)?;
    let mut loss_of = |layers: &[usize]| trials.loss_of(layers);
    let all = candidates.len();
    let mut loss = loss_of(&candidates)?;
    if !loss.within(share) {
        let mut alone = Vec::with_capacity(others.len());
        for layer in others {
            let Loss { policy, value } = loss_of(&[layer])?;
            alone.push((layer, (policy / Loss::BOUND.policy).max(value / Loss::BOUND.value)));
        }
        alone.sort_by(|a, b| a.1.total_cmp(&b.1));
        candidates.truncate(needed);
        candidates.extend(alone.into_iter().map(|(layer, _)| layer));
        // The first `good` of the layers are known to be within the bound, or are needed; the first `bad` of them are
        // known not to be.
        let (mut good, mut bad) = (needed, all);
        loss = loss_of(&candidates[..needed])?;
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            let found = loss_of(&candidates[..middle])?;
            if found.within(share) {
                (good, loss) = (middle, found);
            } else {
                bad = middle;
            }
        }
        candidates.truncate(good);
    }
    mark(graph, &candidates)?;
    Ok(Choice { taken: candidates.len(), refused: all - candidates.len(), loss })
}

/// Marks these layers and no others.
fn mark(graph: &mut Graph, layers: &[usize]) -> Result<(), BackendError> {
    let mut all = 0..graph.layers().len();
    all.try_for_each(|layer| graph.set_int8(layer, layers.contains(&layer))).map_err(|e| BackendError(e.to_string()))
}

/// What a network answers with some of its layers in eight bits, compared with its answers in single precision.
struct Trials<'a> {
    /// A copy of the graph, whose marks are set for each trial.
    graph: Arc<Graph>,
    canaries: &'a [f32],
    /// The answers in single precision.
    expected: Outputs,
}

impl<'a> Trials<'a> {
    fn new(graph: &Graph, canaries: &'a [f32]) -> Result<Self, BackendError> {
        let mut trials = Self { graph: Arc::new(graph.clone()), canaries, expected: Outputs::default() };
        trials.expected = trials.evaluate(&[])?;
        Ok(trials)
    }

    /// What is lost with these layers in eight bits.
    fn loss_of(&mut self, layers: &[usize]) -> Result<Loss, BackendError> {
        let got = self.evaluate(layers)?;
        Ok(Loss::between(&self.graph, &self.expected, &got))
    }

    fn evaluate(&mut self, layers: &[usize]) -> Result<Outputs, BackendError> {
        // No host of an earlier trial is left, so that nothing is copied.
        mark(Arc::make_mut(&mut self.graph), layers)?;
        let mut outputs = Outputs::default();
        Host::on_vectors(Arc::clone(&self.graph), 1)?.evaluate(self.canaries, &mut outputs)?;
        Ok(outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Activation, Shape};

    #[test]
    fn a_divergence_is_that_of_the_definition() {
        // 3/4 and 1/4 against even chances.
        let expected = 0.75 * 1.5f64.ln() + 0.25 * 0.5f64.ln();
        assert!((divergence(&[3f32.ln() + 5.0, 5.0], &[1.0, 1.0]) - expected).abs() < 1e-6);
        assert_eq!(divergence(&[1.0, 2.0], &[2.0, 3.0]), 0.0);
    }

    /// Dense layers in a row, which lose next to nothing in eight bits.
    fn graph() -> Graph {
        let mut graph = Graph::new(Shape { channels: 4, squares: 1 });
        let mut x = INPUT;
        for _ in 0..4 {
            let row = [1.0, -0.5, 0.25, 1.0];
            let weights = (0..4).flat_map(|o| (0..4).map(move |i| row[(i + o) % 4])).collect();
            let activation = Activation::Tanh;
            x = graph.push(Layer::Dense { input: x, channels: 4, weights, bias: vec![0.1; 4], activation }).unwrap();
        }
        graph.output(Role::Policy, x).unwrap();
        graph
    }

    #[test]
    fn a_layer_that_loses_too_much_stays() {
        let canaries = [0.9, -0.2, 0.1, 0.4, 0.0, 0.3, -0.8, 0.2];
        let mut good = graph();
        let choice = choose(&mut good, &canaries).unwrap();
        assert_eq!((choice.taken, choice.refused), (3, 0), "{choice}");
        assert!(choice.loss.within(SHARE) && !good.is_int8(0) && good.is_int8(3));
        // Sums of thousands, of which only the rest counts.
        let mut bad = Graph::new(Shape { channels: 2, squares: 1 });
        let dense = |input, weights: [f32; 4]| Layer::Dense {
            input,
            channels: 2,
            weights: weights.to_vec(),
            bias: vec![0.0; 2],
            activation: Activation::None,
        };
        let x = bad.push(dense(INPUT, [1000.0, 0.0, 1000.0, 1.0])).unwrap();
        let y = bad.push(dense(x, [1.0, 0.0, 0.0, 1.0])).unwrap();
        let z = bad.push(dense(y, [-1.0, 1.0, 0.0, 0.0])).unwrap();
        bad.output(Role::Policy, z).unwrap();
        let choice = choose(&mut bad, &[1.0, 2.0, 0.7, -3.0]).unwrap();
        assert!(choice.refused > 0 && choice.loss.within(SHARE), "{choice}");
        assert!(choice.to_string().contains("stay in single precision"), "{choice}");
        let needed = choose_within(&mut bad, &[1.0, 2.0, 0.7, -3.0], SHARE, |_| true).unwrap();
        assert!(needed.refused == 0 && !needed.loss.within(SHARE), "{needed}");
        assert!(bad.is_int8(1) && bad.is_int8(2));
        // What was marked before counts for nothing.
        assert_eq!(choose(&mut bad, &[1.0, 2.0, 0.7, -3.0]).unwrap(), choice);
        assert!(!(bad.is_int8(1) && bad.is_int8(2)));
    }

    #[test]
    fn many_good_positions_do_not_hide_a_wrong_one() {
        let graph = graph();
        let expected = Outputs { policy: [1.0, 0.0, 0.0, 0.0].repeat(128), ..Outputs::default() };
        let mut got = expected.clone();
        assert!(Loss::worst(&graph, &expected, &got).within(0.0));
        got.policy[4..8].copy_from_slice(&[0.0, 0.0, 2.0, 0.0]);
        let [mean, worst] = [Loss::between, Loss::worst].map(|of| of(&graph, &expected, &got));
        assert!(mean.within(1.0) && !worst.within(Loss::WORST), "{mean:?}, {worst:?}");
        got.policy[4] = f32::NAN;
        assert!(!Loss::worst(&graph, &expected, &got).within(f64::MAX));
    }

    #[test]
    fn only_sums_can_be_marked() {
        let mut graph = graph();
        assert!(graph.set_int8(1, true).is_ok() && graph.is_int8(1));
        assert!(graph.set_int8(9, true).is_err() && graph.set_int8(9, false).is_err());
        let gather = Layer::Gather { input: INPUT, indices: vec![0], squares: 1, residual: None };
        graph.push(gather).unwrap();
        assert!(graph.set_int8(4, true).is_err());
    }
}
