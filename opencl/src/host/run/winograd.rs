//! Winograd's convolutions of a group.

use super::conv::end;
use super::{Run, Workspace};
use crate::host::board::LANES;
use crate::host::plan::{Conv, WinogradWeights};
use crate::host::product::Block;
use crate::host::team::each;
use crate::host::winograd::{self, Channels, End, PANEL, POINTS, Rows};

/// Some positions of a group that are computed together.
#[derive(Clone, Copy)]
struct Together<'a> {
    conv: &'a Conv,
    weights: &'a WinogradWeights,
    run: Run<'a>,
    /// The first of the positions.
    start: usize,
    /// The tiles of all of them.
    tiles: usize,
}

impl Together<'_> {
    /// The blocks of a panel's products.
    fn of_panel(&self) -> usize {
        POINTS * self.tiles
    }

    /// A position's tiles.
    fn rows(&self, position: usize) -> Rows {
        Rows { count: self.tiles, first: position * winograd::tiles(self.conv.board) }
    }

    /// The products of as many panels as `products` has room for, from panel `first` on.
    fn multiply(&self, points: &[f32], first: usize, products: &mut [Block]) {
        let WinogradWeights { weights, bias } = self.weights;
        let of_panel = weights.len() / bias.len();
        let weights = &weights[first * of_panel..][..products.len() / self.of_panel() * of_panel];
        winograd::multiply(self.run.isa, points, weights, self.tiles, products);
    }
}

impl Workspace {
    /// Winograd's convolution of all positions, some at a time, in parts of nearly equal size.
    pub(super) fn winograd(&mut self, conv: &Conv, weights: &WinogradWeights, run: Run<'_>, output: &mut [f32]) {
        let (positions, len) = (run.positions, conv.output.len());
        let (mut points, mut products) = (std::mem::take(&mut self.points), std::mem::take(&mut self.products));
        let most = positions.div_ceil(positions.div_ceil(winograd::together(conv.board)));
        for (number, output) in output[..positions * len].chunks_mut(most * len).enumerate() {
            let positions = output.len() / len;
            let tiles = positions * winograd::tiles(conv.board);
            let together = Together { conv, weights, run, start: number * most, tiles };
            let points = &mut points[..positions * conv.points()];
            self.points_of(together, points);
            self.squares_of(together, points, &mut products, output);
        }
        (self.points, self.products) = (points, products);
    }

    /// Winograd's points of the input.
    fn points_of(&self, together: Together<'_>, points: &mut [f32]) {
        let Together { conv, run, start, tiles, .. } = together;
        let (distance, plane) = (conv.input.len(), conv.board.plane);
        let (input, positions) = (&self.slots[conv.input.slot][start * distance..], points.len() / conv.points());
        let of_block = POINTS * tiles * LANES;
        each(run.team, points.chunks_exact_mut(of_block).enumerate(), |(number, points)| {
            let first = number * LANES;
            let channels = LANES.min(conv.input.shape.channels - first);
            let planes = &input[first * plane..];
            winograd::points(run.isa, conv.board, Channels { planes, channels, positions, distance }, points);
        });
    }

    /// The output of all panels, out of the points of the input.
    fn squares_of(&self, together: Together<'_>, points: &[f32], products: &mut [Block], output: &mut [f32]) {
        let Together { conv, weights, run, .. } = together;
        let (panels, of_panel, plane, len) =
            (weights.bias.len(), together.of_panel(), conv.board.plane, conv.output.len());
        if let Some(team) = run.team {
            // The same number of parts for each thread, if there are enough panels.
            let parts = panels.div_ceil(run.isa.blocks()).next_multiple_of(team.members());
            let part = panels.div_ceil(parts);
            let products = products[..panels * of_panel].chunks_mut(part * of_panel);
            let parts = products.zip(output.chunks_mut(part * PANEL * plane)).enumerate();
            team.each(parts, |(number, (products, output))| {
                together.multiply(points, number * part, products);
                self.finish_panels(together, number * part, 0, products, output);
            });
            return;
        }
        for first in (0..panels).step_by(run.isa.blocks()) {
            let end = panels.min(first + run.isa.blocks());
            let products = &mut products[..(end - first) * of_panel];
            together.multiply(points, first, products);
            let range = first * PANEL * plane..(end * PANEL * plane).min(len);
            for (position, output) in output.chunks_exact_mut(len).enumerate() {
                self.finish_panels(together, first, position, products, &mut output[range.clone()]);
            }
        }
    }

    /// Finishes some panels of a position, from panel `first` on, out of all positions' products.
    fn finish_panels(
        &self,
        together: Together<'_>,
        first: usize,
        position: usize,
        products: &[Block],
        output: &mut [f32],
    ) {
        let Together { conv, weights, run, start, .. } = together;
        let (residual, activation) = end(conv);
        let of_panel = PANEL * conv.board.plane;
        let panels = products.chunks_exact(together.of_panel()).zip(output.chunks_mut(of_panel)).zip(first..);
        for ((products, output), number) in panels {
            let from = number * of_panel;
            let residual = residual.map(|place| &self.value(place, start + position)[from..][..output.len()]);
            let (rows, end) = (together.rows(position), End { residual, activation });
            winograd::squares(run.isa, conv.board, products, rows, &weights.bias[number], end, output);
        }
    }
}
