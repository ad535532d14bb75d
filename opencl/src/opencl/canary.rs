//! The self-check at start-up: a driver that compiles our kernels into something else is found here and not in a game.
//!
//! The tolerance is a share of the output's largest number, not of each number: a number near zero may be the
//! difference of two large ones, and keeps their rounding error.

use super::{Fault, OpenCl};
use crate::backend::{Backend, BackendError, Outputs};
use crate::compare::{canary, relative_error};
use crate::graph::{Graph, Role};
use crate::host::Host;
use crate::int8::Loss;
use std::sync::Arc;

/// How many positions the host evaluates: more than one, so that the places of later positions are checked too.
const POSITIONS: usize = 3;

/// An input of `len` numbers, of which one in 16 is a one: about as in a chessboard's planes, where one in 24 is. With
/// one in four, the direct convolutions of our network of ten blocks in single precision are 2e-4 from sums in double
/// precision, on any device; with one in 16 they are 2e-5 from them.
pub fn planes(len: usize) -> Vec<f32> {
    canary(len, 16)
}

/// A few positions, and what the host computes for them.
#[derive(Debug)]
pub struct Canary {
    input: Vec<f32>,
    expected: Outputs,
}

impl Canary {
    /// Makes the host evaluate them, with one thread.
    ///
    /// # Errors
    /// If the host can't run the graph.
    pub fn new(graph: &Arc<Graph>) -> Result<Self, BackendError> {
        let input = planes(POSITIONS * graph.input().len());
        let mut expected = Outputs::default();
        Host::on_vectors(graph.clone(), 1)?.evaluate(&input, &mut expected)?;
        Ok(Self { input, expected })
    }

    /// Runs batches of these sizes on the device. A single position and several are of interest, for some kernels have
    /// a form for either, and the sizes that are used in play: a driver may run only few groups of a range. Each batch
    /// begins with another one of the positions, the first batch with the one at `turn`, so that what an earlier batch
    /// has left behind is wrong everywhere.
    ///
    /// No number may be further from the host's than `bound`, as a share of the largest number of its output
    /// ([`error`]). With layers in eight bits there is no such bound: an input that lies half way between two steps
    /// falls to one side here and to the other there, and what follows rounds otherwise too. In that case the device
    /// may differ from the host by as much as int8 may differ from single precision, [`Loss::BOUND`].
    ///
    /// # Errors
    /// If the device fails or disagrees, with the worst number.
    pub fn check(&self, device: &mut OpenCl, sizes: &[usize], turn: usize, bound: f32) -> Result<(), Fault> {
        let graph = Arc::clone(&device.common.graph);
        sizes.iter().zip(turn..).try_for_each(|(&batch, turn)| {
            let (input, expected) = self.batch(&graph, batch, turn);
            let mut got = Outputs::default();
            device.answer(batch, &input, &mut got)?;
            agree(&graph, &expected, &got, bound).map_err(|what| {
                let name = &device.session.device().name;
                BackendError(format!("device \"{name}\", {batch} at a time: {what}")).into()
            })
        })
    }

    /// A batch of `batch` positions, one after the other from the one at `turn` on, and what is expected of them.
    fn batch(&self, graph: &Graph, batch: usize, turn: usize) -> (Vec<f32>, Outputs) {
        let mut expected = Outputs::default();
        for role in graph.outputs().iter().map(|output| output.role) {
            *expected.head_mut(role) = in_turns(self.expected.head(role), batch, turn);
        }
        (in_turns(&self.input, batch, turn), expected)
    }
}

/// The parts of `all`, one for each of [`POSITIONS`], repeated to `batch` parts from the one at `turn` on.
fn in_turns(all: &[f32], batch: usize, turn: usize) -> Vec<f32> {
    let each = all.len() / POSITIONS;
    let part = |at: usize| &all[(at + turn) % POSITIONS * each..][..each];
    (0..batch).flat_map(|at| part(at).iter().copied()).collect()
}

/// The batch sizes that [`Canary::check`] looks at first: one position, a few, and `preferred`. On a GPU the largest
/// batch comes after these, for how few have kernels of their own depends on its units.
pub fn sizes(preferred: usize, max_batch: usize) -> Vec<usize> {
    let mut sizes = [1, POSITIONS, preferred].map(|size| size.min(max_batch)).to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn agree(graph: &Graph, expected: &Outputs, got: &Outputs, bound: f32) -> Result<(), String> {
    if graph.has_int8() {
        let (mean, worst) = (Loss::between(graph, expected, got), Loss::worst(graph, expected, got));
        let agrees = mean.within(1.0) && worst.within(Loss::WORST);
        return agrees.then_some(()).ok_or_else(|| {
            let (most, times) = (Loss::BOUND, Loss::WORST);
            format!(
                "int8 disagrees with the host: expected a mean policy divergence of at most {}, a value within {}, and \
                 {times} times as much of a single position, got {} and {}, and {} and {}",
                most.policy, most.value, mean.policy, mean.value, worst.policy, worst.value
            )
        });
    }
    let mut roles = graph.outputs().iter().map(|output| output.role);
    roles.try_for_each(|role| compare(role, expected.head(role), got.head(role), bound))
}

fn compare(role: Role, expected: &[f32], got: &[f32], bound: f32) -> Result<(), String> {
    if expected.len() != got.len() {
        return Err(format!("{role:?}: expected {} numbers, got {}", expected.len(), got.len()));
    }
    // An output that is not finite is infinitely far off, whatever the others are.
    let found = relative_error(expected, got);
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
    use crate::device::{Programs, device_is_there};
    use crate::graph::{Activation, INPUT, Layer, Shape};
    use crate::kernels::{Tuning, Variant};
    use crate::opencl::Options;
    use crate::test_folder::Folder;

    #[test]
    fn a_wrong_or_missing_number_is_a_disagreement() {
        let compare = |expected: &[f32], got: &[f32]| compare(Role::Value, expected, got, 1e-3);
        assert_eq!(compare(&[0.5, 100.0], &[0.5001, 100.01]), Ok(()));
        assert_eq!(compare(&[0.5, 100.0], &[0.55, 100.0]), Ok(()), "rounding of numbers as large as 100");
        assert!(compare(&[0.5, 0.5], &[0.5, 0.502]).is_err_and(|e| e.contains("at 1")));
        assert!(compare(&[0.5], &[f32::NAN]).is_err());
        assert!(compare(&[0.5], &[]).is_err());
    }

    #[test]
    fn no_two_batches_in_a_row_have_a_position_at_the_same_place() {
        let parts = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5];
        assert_eq!(in_turns(&parts, 2, 0), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(in_turns(&parts, 4, 1), [1.0, 1.5, 2.0, 2.5, 0.0, 0.5, 1.0, 1.5]);
        assert_eq!(
            [sizes(16, 128), sizes(2, 128), sizes(16, 2), sizes(1, 1)],
            [vec![1, 3, 16], vec![1, 2, 3], vec![1, 2], vec![1]]
        );
    }

    /// One convolution, whose weights are all `weight`.
    fn graph(weight: f32) -> Arc<Graph> {
        graph_with(weight, Activation::Relu)
    }

    fn graph_with(weight: f32, activation: Activation) -> Arc<Graph> {
        let mut graph = Graph::new(Shape { channels: 3, squares: 64 });
        let conv = Layer::Conv {
            input: INPUT,
            channels: 2,
            kernel: 3,
            weights: vec![weight; 2 * 3 * 9],
            bias: vec![0.0; 2],
            se: None,
            residual: None,
            activation,
        };
        let value = graph.push(conv).expect("the shapes fit");
        graph.output(Role::Policy, value).expect("the value is there");
        Arc::new(graph)
    }

    /// What such a driver stored is a program of this name that computes something else.
    #[test]
    fn a_program_from_a_file_that_computes_something_else_is_compiled_again() {
        if device_is_there().is_none() {
            return;
        }
        let folders = ["programs-plain", "programs-bad"].map(Folder::new);
        let programs = |at: usize| Some(Arc::new(Programs::new(&folders[at].0)));
        for variant in [Variant::Cpu, Variant::Gpu] {
            let tuning = Some(Tuning { winograd: 2, ..Tuning::start(variant, 8) });
            let open = |graph, programs| {
                let options = Options { max_batch: 4, tuning, programs, ..Options::default() };
                OpenCl::new(graph, &options).expect("it works")
            };
            let plain = programs(0);
            let made = open(graph_with(-0.5, Activation::None), plain.clone()).tuning();
            let bad = programs(1).expect("a folder");
            bad.pass_off(&plain.expect("a folder"), "-DACTS=1 ", "-DACTS=2 ");
            for says in [true, false] {
                let programs = programs(1);
                let device = open(graph(-0.5), programs.clone());
                assert_eq!((device.tuning(), device.refused()), (made, None), "nothing else replaces it");
                let note = programs.and_then(|programs| programs.take_note());
                let is_renewed = |note: &String| note.contains(": the device fails with them (");
                assert_eq!(note.as_ref().is_some_and(is_renewed), says, "{variant}: {note:?}");
            }
        }
    }

    #[test]
    fn a_device_that_computes_something_else_is_refused() {
        let options = Options { max_batch: 4, ..Options::default() };
        if device_is_there().is_none() {
            return;
        }
        let mut device = OpenCl::unchecked(graph(0.5), &options).expect("it compiles");
        let mut check = |graph: &Arc<Graph>| {
            device.common.graph = Arc::clone(graph);
            let checked = Canary::new(graph).expect("the host").check(&mut device, &[1, 3, 4], 0, 1e-3);
            checked.map_err(BackendError::from)
        };
        assert_eq!(check(&graph(0.5)), Ok(()));
        let error = check(&graph(0.501)).expect_err("the weights differ");
        assert!(error.0.contains("Policy disagrees with the host by "), "{error}");
        let int8 = |weight| {
            let mut graph = Graph::clone(&graph(weight));
            graph.set_int8(0, true).expect("a convolution can be");
            Arc::new(graph)
        };
        assert_eq!(check(&int8(0.5)), Ok(()), "within what eight bits lose");
        let error = check(&int8(-0.5)).expect_err("the weights differ");
        assert!(error.0.contains("int8 disagrees with the host"), "{error}");
    }
}
