//! The layout of a dense layer's weights, and what comes after its sums.

use super::{DEPTH, ROWS, Steps, Sums};
use crate::host::arith::{Arith, Form};
use crate::host::isa::versions;
use crate::host::product::{Block, COLUMNS};

/// The steps over `inputs` inputs. The operands of a panel's weights, sixteen neurons, are in the order in which they
/// are read.
pub(in crate::host) fn steps_of_inputs(inputs: usize) -> Steps {
    let steps = inputs.div_ceil(DEPTH);
    Steps::new(0..steps, 0, steps)
}

/// The sums of a panel of rows for a panel of neurons, what they are worth, and the bias.
#[derive(Clone, Copy)]
pub(in crate::host) struct RowEnds<'a> {
    pub sums: &'a Sums,
    /// What the rows are worth.
    pub rows: &'a [f32; ROWS],
    /// What the neurons are worth.
    pub neurons: &'a Block,
    pub bias: &'a Block,
}

versions! {
    /// Finishes the sums and writes them into the rows of `output`, `len` numbers each, from the place of neuron
    /// `first` on.
    end_in_rows = end_in_rows_body(ends: RowEnds<'_>, first: usize, len: usize, output: &mut [f32])
}

#[inline(always)]
fn end_in_rows_body<F: Form>(ends: RowEnds<'_>, first: usize, len: usize, output: &mut [f32]) {
    for (row, (output, unit)) in output.chunks_exact_mut(len).zip(ends.rows).enumerate() {
        let mut single = Block::ZERO;
        for at in (0..COLUMNS).step_by(F::Wide::LANES) {
            let sum = ends.sums.single::<F::Wide>(row, at, *unit, ends.neurons);
            F::Wide::store(F::Wide::plus(sum, F::Wide::load(&ends.bias.0[at..])), &mut single.0[at..]);
        }
        single.put_in_row(output, first);
    }
}
