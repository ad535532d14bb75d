//! The self-check at start-up: a driver that compiles our kernels into something else is found here and not in a game.

use super::OpenCl;
use super::selftest::batches;
use crate::backend::{Backend, BackendError, Outputs};
use crate::graph::{Graph, Role};
use crate::host::{Host, canary, error};
use crate::int8::Loss;
use std::sync::Arc;

/// Positions of the canary batch: more than one, so that the second one's places are checked too.
const POSITIONS: usize = 3;

/// Input for so many numbers. Of a chessboard's planes about one number in 24 is a one. With many more (one in four) a network of ten blocks, ours,
/// makes so much of rounding that direct convolutions in single precision are 2e-4 from sums in double precision, on any device; with these 2e-5.
pub fn planes(len: usize) -> Vec<f32> {
    canary(len, 16)
}

/// Runs a small batch and a single position on the device and on the host: some kernels have a form for either. No number may be further
/// from the host's than `bound`, as a share of the largest number of its output ([`error`]). With layers in eight bits there is no such bound: an input that lies half way between two steps falls
/// to one side here and to the other there, and what follows rounds otherwise too. There the device may differ from the host by what
/// int8 may differ from single precision, [`Loss::BOUND`].
///
/// # Errors
/// If the device fails or disagrees, with the worst number.
pub fn check(device: &mut OpenCl, graph: &Arc<Graph>, bound: f32) -> Result<(), BackendError> {
    let positions = POSITIONS.min(device.max_batch());
    let input = planes(positions * graph.input().len());
    let mut host = Host::new(graph.clone(), 1)?;
    let each = graph.input().len();
    batches(positions).try_for_each(|batch| check_batch(device, &mut host, graph, &input[..batch * each], bound))
}

fn check_batch(
    device: &mut OpenCl,
    host: &mut Host,
    graph: &Graph,
    input: &[f32],
    bound: f32,
) -> Result<(), BackendError> {
    let (mut got, mut expected) = (Outputs::default(), Outputs::default());
    host.evaluate(input, &mut expected)?;
    device.evaluate(input, &mut got)?;
    if (0..graph.layers().len()).any(|layer| graph.is_int8(layer)) {
        let loss = Loss::between(graph, &expected, &got);
        let (name, most) = (&device.session.device().name, Loss::BOUND);
        return loss.within(1.0).then_some(()).ok_or_else(|| {
            let expected =
                format!("a mean policy divergence of at most {} and a value within {}", most.policy, most.value);
            BackendError(format!(
                "device \"{name}\": int8 disagrees with the host: expected {expected}, got {} and {}",
                loss.policy, loss.value
            ))
        });
    }
    for role in graph.outputs().iter().map(|output| output.role) {
        compare(role, expected.head_mut(role), got.head_mut(role), bound)
            .map_err(|what| BackendError(format!("device \"{}\": {what}", device.session.device().name)))?;
    }
    Ok(())
}

fn compare(role: Role, expected: &[f32], got: &[f32], bound: f32) -> Result<(), String> {
    if expected.len() != got.len() {
        return Err(format!("{role:?}: expected {} numbers, got {}", expected.len(), got.len()));
    }
    // What is not finite is infinitely far, whatever else is.
    let found = error(expected, got);
    if found <= bound {
        return Ok(());
    }
    let difference = |at: usize| (expected[at] - got[at]).abs();
    let worst = (0..got.len()).max_by(|&a, &b| difference(a).total_cmp(&difference(b))).unwrap_or_default();
    Err(format!(
        "{role:?} disagrees with the host by {found:.1e} of its largest number, at most {bound:.0e} was expected; at {worst}: expected {}, got {}",
        expected[worst], got[worst]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Activation, INPUT, Layer, Shape};
    use crate::opencl::Options;

    #[test]
    fn a_wrong_or_missing_number_is_a_disagreement() {
        let compare = |expected: &[f32], got: &[f32]| compare(Role::Value, expected, got, 1e-3);
        assert_eq!(compare(&[0.5, 100.0], &[0.5001, 100.01]), Ok(()));
        assert_eq!(compare(&[0.5, 100.0], &[0.55, 100.0]), Ok(()), "rounding of numbers as large as 100");
        assert!(compare(&[0.5, 0.5], &[0.5, 0.502]).is_err_and(|e| e.contains("at 1")));
        assert!(compare(&[0.5], &[f32::NAN]).is_err());
        assert!(compare(&[0.5], &[]).is_err());
    }

    /// One convolution, whose weights are all `weight`.
    fn graph(weight: f32) -> Arc<Graph> {
        let mut graph = Graph::new(Shape { channels: 3, squares: 64 });
        let conv = Layer::Conv {
            input: INPUT,
            channels: 2,
            kernel: 3,
            weights: vec![weight; 2 * 3 * 9],
            bias: vec![0.0; 2],
            se: None,
            residual: None,
            activation: Activation::Relu,
        };
        let value = graph.push(conv).expect("the shapes fit");
        graph.output(Role::Policy, value).expect("the value is there");
        Arc::new(graph)
    }

    #[test]
    fn a_device_that_computes_something_else_is_refused() {
        let options = Options { max_batch: 4, ..Options::default() };
        let mut device = match OpenCl::unchecked(graph(0.5), &options) {
            Ok(device) => device,
            Err(error) if std::env::var("ONCILLA_REQUIRE_OPENCL").as_deref() == Ok("1") => panic!("{error}"),
            Err(error) => {
                // Not `eprintln!`: the test runner keeps that to itself where a test passes.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("skipped: {error}\n").as_bytes());
                return;
            }
        };
        assert_eq!(check(&mut device, &graph(0.5), 1e-3), Ok(()));
        let error = check(&mut device, &graph(0.501), 1e-3).expect_err("the weights differ");
        assert!(error.0.contains("Policy disagrees with the host by "), "{error}");
        let int8 = |weight| {
            let mut graph = Graph::clone(&graph(weight));
            graph.set_int8(0, true).expect("a convolution can be");
            Arc::new(graph)
        };
        assert_eq!(check(&mut device, &int8(0.5), 1e-3), Ok(()), "within what eight bits lose");
        let error = check(&mut device, &int8(-0.5), 1e-3).expect_err("the weights differ");
        assert!(error.0.contains("int8 disagrees with the host"), "{error}");
    }
}
