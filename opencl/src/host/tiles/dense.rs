//! How the weights of a dense layer lie, and what comes after its sums.

use super::{BLOCKS, COLUMNS, DEPTH, LINES, Line, Right, Steps, Stride, Sums};
use crate::host::arith::Form;
use crate::host::kernel::versions;
use crate::host::product::Block;

/// Lines of a step, in either half.
pub(super) const OF_STEP: usize = LINES * BLOCKS;

/// The steps over so many inputs. The lines of a panel's weights lie in the order in which they are read.
pub(in crate::host) fn steps_of_inputs(inputs: usize) -> Steps {
    let steps = 0..inputs.div_ceil(DEPTH);
    // Both halves of a step, 8 kB, one after the other.
    Steps::new(steps.map(|step| 2 * step * OF_STEP), Stride { line: 1, block: LINES }, 2)
}

/// Lines of a panel.
pub(in crate::host) fn lines_of_panel(steps: &Steps) -> usize {
    2 * steps.len() * OF_STEP
}

/// The halves of a panel's lines.
pub(in crate::host) fn right(lines: &[Line]) -> Right<'_> {
    Right { upper: &lines[..lines.len() - OF_STEP], lower: &lines[OF_STEP..] }
}

versions! {
    /// Adds the bias to the sums of a panel's neurons, sixteen rows of each of `sums`, and writes them where the `first`
    /// neuron's place is in the rows of `output`, `len` numbers each.
    end_in_rows = end_in_rows_body(sums: &mut [Sums], bias: &[Block], first: usize, len: usize, output: &mut [f32])
}

#[inline(always)]
fn end_in_rows_body<F: Form>(sums: &mut [Sums], bias: &[Block], first: usize, len: usize, output: &mut [f32]) {
    let rows = sums.iter_mut().flatten().zip(output.chunks_exact_mut(len));
    for (sums, output) in rows {
        let neurons = &mut output[first..len.min(first + COLUMNS)];
        for (number, (sums, bias)) in sums.iter_mut().zip(bias).enumerate() {
            sums.add::<F::Wide>(bias);
            sums.put_in_row(neurons, number * crate::host::product::COLUMNS);
        }
    }
}
