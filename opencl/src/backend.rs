//! What all ways of running a graph have in common.

use crate::graph::{Graph, Role};
use std::fmt;
use std::time::Instant;

/// The outputs of one batch, each `[batch][elements]`; the output of a head that the network lacks is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// Logits, see [`Role::Policy`].
    pub policy: Vec<f32>,
    /// See [`Role::Pass`].
    pub pass: Vec<f32>,
    /// Probabilities, see [`Role::Wdl`].
    pub wdl: Vec<f32>,
    /// See [`Role::Value`].
    pub value: Vec<f32>,
    /// See [`Role::MovesLeft`].
    pub moves_left: Vec<f32>,
    /// See [`Role::ValueError`].
    pub value_error: Vec<f32>,
    /// See [`Role::Results`].
    pub results: Vec<f32>,
    /// See [`Role::Scores`].
    pub scores: Vec<f32>,
    /// See [`Role::Ownership`].
    pub ownership: Vec<f32>,
}

impl Outputs {
    /// The numbers of the head with this role.
    pub fn head(&self, role: Role) -> &[f32] {
        match role {
            Role::Policy => &self.policy,
            Role::Pass => &self.pass,
            Role::Wdl => &self.wdl,
            Role::Value => &self.value,
            Role::MovesLeft => &self.moves_left,
            Role::ValueError => &self.value_error,
            Role::Results => &self.results,
            Role::Scores => &self.scores,
            Role::Ownership => &self.ownership,
        }
    }

    /// The buffer of the head with this role.
    pub fn head_mut(&mut self, role: Role) -> &mut Vec<f32> {
        match role {
            Role::Policy => &mut self.policy,
            Role::Pass => &mut self.pass,
            Role::Wdl => &mut self.wdl,
            Role::Value => &mut self.value,
            Role::MovesLeft => &mut self.moves_left,
            Role::ValueError => &mut self.value_error,
            Role::Results => &mut self.results,
            Role::Scores => &mut self.scores,
            Role::Ownership => &mut self.ownership,
        }
    }
}

/// What the owner of a batch wants done besides its evaluation: `chore` is called once with each number below `count`.
#[derive(Clone, Copy)]
pub struct Chores<'a> {
    /// The number of chores.
    pub count: usize,
    /// Does one of them. Several threads may call it at once.
    pub chore: &'a (dyn Fn(usize) + Sync),
}

impl fmt::Debug for Chores<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chores").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Chores<'_> {
    /// Does them in the calling thread.
    pub fn do_here(self) {
        (0..self.count).for_each(self.chore);
    }
}

impl Default for Chores<'_> {
    /// Nothing to do.
    fn default() -> Self {
        Self { count: 0, chore: &|_| () }
    }
}

/// Something that runs one graph in batches.
///
/// A backend is owned by one thread at a time; it may use more cores or a device inside.
pub trait Backend: Send {
    /// The graph that the backend runs.
    fn graph(&self) -> &Graph;

    /// One line for a person: what runs the network.
    fn describe(&self) -> String;

    /// The largest batch that [`Backend::evaluate`] takes, in positions.
    fn max_batch(&self) -> usize;

    /// The batch size that is worth waiting for on this device.
    fn preferred_batch(&self) -> usize;

    /// Whether the host's cores have time while a batch is computed: then another batch is worth gathering meanwhile.
    fn leaves_host_free(&self) -> bool {
        false
    }

    /// Evaluates `input`, `[batch][channels][squares]`, into `outputs`, whose buffers are reused.
    ///
    /// # Errors
    /// If the device fails, or if `input` is not a whole number of positions between 1 and [`Backend::max_batch`].
    fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError>;

    /// Like [`Backend::evaluate`], for a caller who has something better to do than to wait for a device that may have
    /// failed: once `is_late` returns true, a backend that can abandon a batch gives up one that takes unusually long.
    ///
    /// # Errors
    /// Like [`Backend::evaluate`]; also if the batch was given up.
    fn evaluate_unless(
        &mut self,
        input: &[f32],
        outputs: &mut Outputs,
        is_late: &dyn Fn() -> bool,
    ) -> Result<(), BackendError> {
        let _ = is_late;
        self.evaluate(input, outputs)
    }

    /// Like [`Backend::evaluate_unless`]; also does `chores`, unless it fails. By default the caller's thread does them
    /// first; a backend that computes on the host's cores lends them for it.
    ///
    /// # Errors
    /// Like [`Backend::evaluate_unless`].
    fn evaluate_beside(
        &mut self,
        chores: Chores<'_>,
        input: &[f32],
        outputs: &mut Outputs,
        is_late: &dyn Fn() -> bool,
    ) -> Result<(), BackendError> {
        chores.do_here();
        self.evaluate_unless(input, outputs, is_late)
    }

    /// Whether a batch that was given up may still be answered: until then, failures say nothing about the device.
    fn may_answer_yet(&self) -> bool {
        false
    }
}

/// Every method is passed on, also those that have a default.
macro_rules! pass_on {
    () => {
        fn graph(&self) -> &Graph {
            (**self).graph()
        }

        fn describe(&self) -> String {
            (**self).describe()
        }

        fn max_batch(&self) -> usize {
            (**self).max_batch()
        }

        fn preferred_batch(&self) -> usize {
            (**self).preferred_batch()
        }

        fn leaves_host_free(&self) -> bool {
            (**self).leaves_host_free()
        }

        fn evaluate(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), BackendError> {
            (**self).evaluate(input, outputs)
        }

        fn evaluate_unless(
            &mut self,
            input: &[f32],
            outputs: &mut Outputs,
            is_late: &dyn Fn() -> bool,
        ) -> Result<(), BackendError> {
            (**self).evaluate_unless(input, outputs, is_late)
        }

        fn evaluate_beside(
            &mut self,
            chores: Chores<'_>,
            input: &[f32],
            outputs: &mut Outputs,
            is_late: &dyn Fn() -> bool,
        ) -> Result<(), BackendError> {
            (**self).evaluate_beside(chores, input, outputs, is_late)
        }

        fn may_answer_yet(&self) -> bool {
            (**self).may_answer_yet()
        }
    };
}

#[deny(clippy::missing_trait_methods)]
impl<B: Backend + ?Sized> Backend for &mut B {
    pass_on!();
}

#[deny(clippy::missing_trait_methods)]
impl<B: Backend + ?Sized> Backend for Box<B> {
    pass_on!();
}

/// Seconds that the shortest of `runs` runs takes: other programs make a run longer, none makes one shorter.
///
/// # Errors
/// The error of the first run that fails.
pub fn shortest<E>(runs: usize, mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut shortest = f64::INFINITY;
    for _ in 0..runs {
        let begun = Instant::now();
        run()?;
        shortest = shortest.min(begun.elapsed().as_secs_f64());
    }
    // If the clock stood still, it is assumed to have ticked once.
    Ok(shortest.max(1e-9))
}

/// Why a backend could not be made or could not evaluate, in one line for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendError(pub String);

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BackendError {}

/// The number of positions in `input`, or why that is not a batch for the backend.
pub fn batch_of(graph: &Graph, max_batch: usize, input: &[f32]) -> Result<usize, BackendError> {
    let each = graph.input().len();
    let batch = input.len().checked_div(each).unwrap_or(0);
    if !input.len().is_multiple_of(each) || batch == 0 || batch > max_batch {
        return Err(BackendError(format!(
            "input: expected 1 to {max_batch} positions of {each} numbers, got {} numbers",
            input.len()
        )));
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Shape;

    /// A backend of which no answer is a default one.
    struct Odd(Graph);

    fn error(text: &str) -> Result<(), BackendError> {
        Err(BackendError(text.into()))
    }

    #[deny(clippy::missing_trait_methods)]
    impl Backend for Odd {
        fn graph(&self) -> &Graph {
            &self.0
        }

        fn describe(&self) -> String {
            "odd".into()
        }

        fn max_batch(&self) -> usize {
            3
        }

        fn preferred_batch(&self) -> usize {
            2
        }

        fn leaves_host_free(&self) -> bool {
            true
        }

        fn evaluate(&mut self, _: &[f32], _: &mut Outputs) -> Result<(), BackendError> {
            error("plain")
        }

        fn evaluate_unless(&mut self, _: &[f32], _: &mut Outputs, _: &dyn Fn() -> bool) -> Result<(), BackendError> {
            error("unless")
        }

        fn evaluate_beside(
            &mut self,
            _: Chores<'_>,
            _: &[f32],
            _: &mut Outputs,
            _: &dyn Fn() -> bool,
        ) -> Result<(), BackendError> {
            error("beside")
        }

        fn may_answer_yet(&self) -> bool {
            true
        }
    }

    /// What a backend answers to every call, in their order.
    fn answers<B: Backend + ?Sized>(backend: &mut B) -> Vec<String> {
        let (outputs, never) = (&mut Outputs::default(), &|| false);
        vec![
            format!("{:?}", backend.graph().input()),
            backend.describe(),
            format!("{} {}", backend.max_batch(), backend.preferred_batch()),
            format!("{} {}", backend.leaves_host_free(), backend.may_answer_yet()),
            format!("{:?}", backend.evaluate(&[], outputs)),
            format!("{:?}", backend.evaluate_unless(&[], outputs, never)),
            format!("{:?}", backend.evaluate_beside(Chores::default(), &[], outputs, never)),
        ]
    }

    #[test]
    fn a_lent_or_boxed_backend_is_that_backend() {
        let input = Shape { channels: 3, squares: 4 };
        let mut odd = Odd(Graph::new(input));
        let own = answers(&mut odd);
        let says = |text: &str| format!("Err(BackendError({text:?}))");
        let input = format!("{input:?}");
        assert_eq!(own[..4], [&input, "odd", "3 2", "true true"].map(String::from));
        assert_eq!(own[4..], ["plain", "unless", "beside"].map(says));
        assert_eq!(answers::<dyn Backend>(&mut odd), own);
        assert_eq!(answers::<&mut Odd>(&mut &mut odd), own);
        let mut lent: &mut dyn Backend = &mut odd;
        assert_eq!(answers::<&mut dyn Backend>(&mut lent), own);
        let mut boxed: Box<dyn Backend> = Box::new(odd);
        assert_eq!(answers::<Box<dyn Backend>>(&mut boxed), own);
    }
}
