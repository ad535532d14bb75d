//! Dense layers of a group.

use super::{PARTS, Run, Workspace};
use crate::host::fours;
use crate::host::kernel;
use crate::host::plan::{Dense, DenseTiles, DenseWeights, FourWeights, GROUP};
use crate::host::product::{self, COLUMNS, DenseInput, DensePanels, Floats, Right};
use crate::host::team::{Team, each};
use crate::host::tiles;
use std::mem::MaybeUninit;
use std::ops::Range;

/// A dense layer with fewer weights than this is done sooner by one thread than several can be told of it.
const WORTH_SHARING: usize = 1 << 16;

/// A row with at most one number in so many that is not zero is multiplied without its zeros.
const MOSTLY_ZEROS: usize = 4;

impl Workspace {
    pub(super) fn dense(&mut self, dense: &Dense, run: Run<'_>, output: &mut [f32]) {
        match &*dense.weights {
            DenseWeights::Single(weights) => {
                self.dense_in_single(dense, weights, Floats, run, output, |panels, output| {
                    product::dense(run.isa, panels, output);
                });
            }
            DenseWeights::Linear(weights, linear) => {
                self.dense_in_single(dense, weights, *linear, run, output, |panels, output| {
                    product::dense_linear(run.isa, panels, output);
                });
            }
            DenseWeights::Tiles(weights) => self.dense_in_tiles(dense, weights, run, output),
            DenseWeights::Fours(weights) => self.dense_in_fours(dense, weights, run, output),
        }
        run.each(output, dense.output.len()).for_each(|(_, y)| kernel::activate(run.isa, dense.activation, y));
    }

    /// All positions are computed together, so that each weight is read once.
    fn dense_in_fours(&mut self, dense: &Dense, weights: &FourWeights, run: Run<'_>, output: &mut [f32]) {
        let FourWeights { weights, ends } = weights;
        let (inputs, outputs) = dense.part();
        let (fours, rows) = (inputs.div_ceil(4), run.positions * dense.parts);
        let rounded = self.fours.chunks_exact_mut(fours).zip(&mut self.steps);
        for (input, (rounded, step)) in self.slots[dense.input.slot].chunks_exact(inputs).take(rows).zip(rounded) {
            fours::round_row(run.isa, input, rounded, step);
        }
        let (input, steps, written) = (&self.fours[..rows * fours], &self.steps[..rows], &mut output[..rows * outputs]);
        if rows == 1 {
            let run = run.shared_if(inputs * outputs >= WORTH_SHARING);
            run.each_part(ends.len(), fours::PANEL, written, |panels, output| {
                let weights = &weights[panels.start * fours..panels.end * fours];
                fours::dense(run.isa, fours::DensePanels { weights, ends: &ends[panels], steps, input }, output);
            });
        } else {
            // Without a team all rows are computed together: a panel's weights stay in the nearest cache for them.
            let count = run.team.map_or(rows, |team| rows_of_member(rows, team));
            let blocks = input.chunks(count * fours).zip(steps.chunks(count)).zip(written.chunks_mut(count * outputs));
            each(run.team, blocks, |((input, steps), output)| {
                fours::dense(run.isa, fours::DensePanels { weights, ends, steps, input }, output);
            });
        }
    }

    /// All rows are computed together, so that each weight is read once.
    fn dense_in_tiles(&mut self, dense: &Dense, weights: &DenseTiles, run: Run<'_>, output: &mut [f32]) {
        let DenseTiles { steps, right, units } = weights;
        let (inputs, outputs) = dense.part();
        let rows = run.positions * dense.parts;
        let mut scratch = std::mem::take(&mut self.scratch);
        let input = &self.slots[dense.input.slot][..rows * inputs];
        tiles::split_left(run.isa, input, inputs, &mut self.left, &mut self.units);
        let multiplier = run.isa.tiles().expect("a plan in tiles is made where there are some");
        // Writes some panels of neurons into rows of `len` numbers, which begin at the first of these neurons.
        let neurons = |panels: Range<usize>, len: usize, output: &mut [f32]| {
            let ready = multiplier.ready();
            for (number, at) in panels.zip((0..).step_by(COLUMNS)) {
                let right = &right[number * steps.len()..][..steps.len()];
                let rows = self.left.chunks_exact(steps.len()).zip(&self.units);
                for ((left, rows), output) in rows.zip(output.chunks_mut(tiles::ROWS * len)) {
                    let mut sums = [MaybeUninit::uninit()];
                    let sums = ready.multiply(left, steps, right, &mut sums);
                    let (neurons, bias) = (&units[number], &dense.bias[number]);
                    tiles::end_in_rows(
                        run.isa,
                        tiles::RowEnds { sums: &sums[0], rows, neurons, bias },
                        at,
                        len,
                        output,
                    );
                }
            }
        };
        let (output, panels) = (&mut output[..rows * outputs], units.len());
        let run = run.shared_if(inputs * outputs >= WORTH_SHARING);
        match run.team {
            None => neurons(0..panels, outputs, output),
            Some(_) => {
                // Panel by panel, so that each thread has a piece of its own; from there the numbers are copied to
                // their rows.
                let of_panel = rows * COLUMNS;
                let made = &mut scratch[..panels * of_panel];
                run.each_part(panels, of_panel, made, |panels, made| {
                    let each = panels.zip(made.chunks_exact_mut(of_panel));
                    each.for_each(|(panel, made)| neurons(panel..panel + 1, COLUMNS, made));
                });
                for (made, first) in made.chunks_exact(of_panel).zip((0..).step_by(COLUMNS)) {
                    for (made, row) in made.chunks_exact(COLUMNS).zip(output.chunks_exact_mut(outputs)) {
                        let row = &mut row[first..outputs.min(first + COLUMNS)];
                        row.copy_from_slice(&made[..row.len()]);
                    }
                }
            }
        }
        self.scratch = scratch;
    }

    /// In single precision, with `make` for some panels and rows; the weights may be stored in fewer bits.
    fn dense_in_single<R: Right + Sync>(
        &mut self,
        dense: &Dense,
        weights: &[R::Row],
        of: R,
        run: Run<'_>,
        output: &mut [f32],
        make: impl Fn(DensePanels<'_, R>, &mut [f32]) + Sync,
    ) {
        let (inputs, outputs) = dense.part();
        let rows = run.positions * dense.parts;
        let used = &self.slots[dense.input.slot][..rows * inputs];
        let written = &mut output[..rows * outputs];
        let each_row = used.chunks_exact(inputs).zip(written.chunks_exact_mut(outputs));
        let all = |input: DenseInput<'_>, output: &mut [f32]| {
            make(DensePanels { weights, of, bias: &dense.bias, input }, output);
        };
        // The neurons of one row; `products` says how many products they are.
        let of_row = |input: DenseInput<'_>, products: usize, output: &mut [f32]| match run.team {
            Some(team) if products >= WORTH_SHARING => {
                let panels = dense.bias.len().div_ceil(PARTS * team.members());
                let parts = weights.chunks(panels * inputs).zip(dense.bias.chunks(panels));
                team.each(parts.zip(output.chunks_mut(panels * COLUMNS)), |((weights, bias), output)| {
                    make(DensePanels { weights, of, bias, input }, output);
                });
            }
            _ => all(input, output),
        };
        let products = weights.len() * COLUMNS;
        match run.team {
            _ if dense.sparse => each_row.for_each(|(row, output)| {
                let entries = product::sparse(row, &mut self.entries);
                if MOSTLY_ZEROS * entries.len() <= inputs {
                    of_row(DenseInput::Sparse(entries), products / inputs * entries.len(), output);
                } else {
                    of_row(DenseInput::Rows(row), products, output);
                }
            }),
            Some(_) if products >= WORTH_SHARING && dense.parts == 1 => {
                each_row.for_each(|(row, output)| of_row(DenseInput::Rows(row), products, output));
            }
            Some(team) if dense.parts > 1 => {
                let count = rows_of_member(rows, team);
                let blocks = used.chunks(count * inputs).zip(written.chunks_mut(count * outputs));
                team.each(blocks, |(input, output)| all(DenseInput::Rows(input), output));
            }
            _ => all(DenseInput::Rows(used), written),
        }
    }
}

/// How many rows of a dense layer a member of the team takes at a time; it reads all weights for them.
fn rows_of_member(rows: usize, team: &Team) -> usize {
    rows.div_ceil(team.members()).min(GROUP)
}
