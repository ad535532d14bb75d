//! Convolutions of a group.

use super::{Run, Workspace};
use crate::graph::Activation;
use crate::host::columns;
use crate::host::direct::{self, ConvPanel, TILE};
use crate::host::fours;
use crate::host::kernel::{self, Finish};
use crate::host::plan::{
    ColumnWeights, Conv, ConvWeights, FourWeights, Place, PointwiseFourWeights, TileWeights, at_once,
};
use crate::host::product::{self, Block, COLUMNS, Inputs, Pointwise};
use crate::host::se;
use crate::host::team::each;
use crate::host::tiles::{self, Layout, Operand, Scale};
use std::mem::MaybeUninit;

/// The input of a convolution in tiles.
struct InTiles<'a> {
    /// `[positions][operands]`.
    right: &'a [Operand],
    /// `[positions]`.
    scales: &'a [Scale],
}

impl Workspace {
    pub(super) fn conv(&mut self, conv: &Conv, run: Run<'_>, output: &mut [f32]) {
        match &conv.weights {
            ConvWeights::Winograd(weights) => self.winograd(conv, weights, run, output),
            ConvWeights::Tiles(weights) => self.conv_in_tiles(conv, weights, run, output),
            ConvWeights::Pointwise(weights) => self.pointwise(conv, weights, run, output),
            ConvWeights::Columns(weights) => self.by_columns(conv, weights, run, output),
            ConvWeights::Direct(weights) => self.direct(conv, weights, run, output),
            ConvWeights::PointwiseFours(weights) => self.pointwise_in_fours(conv, weights, run, output),
            ConvWeights::Fours(weights) => self.conv_in_fours(conv, weights, run, output),
        }
        self.squeeze_excite(conv, run, output);
    }

    fn direct(&self, conv: &Conv, weights: &[f32], run: Run<'_>, output: &mut [f32]) {
        let of_panel = weights.len() / conv.bias.len();
        self.by_panels(conv, TILE, run, output, |number, position, output| {
            let weights = &weights[number * of_panel..][..of_panel];
            let input = self.value(conv.input, position);
            direct::conv(run.isa, ConvPanel { board: conv.board, weights, bias: &conv.bias[number], input }, output);
        });
    }

    fn conv_in_fours(&mut self, conv: &Conv, weights: &FourWeights, run: Run<'_>, output: &mut [f32]) {
        let FourWeights { weights, ends } = weights;
        let fours = self.round_to_fours(conv, run);
        let (of_panel, tile) = (weights.len() / ends.len(), fours::TILE_PANELS);
        self.by_panels(conv, tile * fours::PANEL, run, output, |number, position, output| {
            let first = number * tile;
            let ends = &ends[first..ends.len().min(first + tile)];
            let weights = &weights[first * of_panel..][..ends.len() * of_panel];
            let (board, step) = (conv.board, self.steps[position]);
            let input = &self.fours[position * fours..][..fours];
            fours::conv(run.isa, fours::ConvPanels { board, weights, ends, step, input }, output);
        });
    }

    /// Finishes some planes of a convolution, from plane `first` on, after their sums.
    fn finish(&self, conv: &Conv, run: Run<'_>, position: usize, first: usize, output: &mut [f32]) {
        let (residual, activation) = end(conv);
        let residual = residual.map(|r| &self.value(r, position)[first * conv.board.plane..][..output.len()]);
        kernel::finish(run.isa, Finish { board: conv.board, residual, activation }, output);
    }

    /// A convolution in tiles, some positions at a time: the inputs that a panel's weights multiply stay in a near
    /// cache for all panels.
    fn conv_in_tiles(&mut self, conv: &Conv, weights: &TileWeights, run: Run<'_>, output: &mut [f32]) {
        let positions = run.positions;
        let (mut right, mut scales) = (std::mem::take(&mut self.right), std::mem::take(&mut self.scales));
        let (needed, len) = (conv.operands(), conv.output.len());
        // Parts of nearly equal size, because each part reads all the weights.
        let at_once = positions.div_ceil(positions.div_ceil(at_once(needed)));
        for first in (0..positions).step_by(at_once) {
            let range = first..positions.min(first + at_once);
            let unsplit = if weights.split { 0..0 } else { range.clone() };
            for (position, (right, scale)) in unsplit.zip(right.chunks_exact_mut(needed).zip(&mut scales)) {
                split(conv, weights.layout, run, self.value(conv.input, position), right, scale);
            }
            let output = &mut output[range.start * len..range.end * len];
            self.panels_in_tiles(conv, weights, run, first, InTiles { right: &right, scales: &scales }, output);
        }
        (self.right, self.scales) = (right, scales);
    }

    /// Computes all panels of some positions, from position `first` on, from their inputs in tiles.
    fn panels_in_tiles(
        &self,
        conv: &Conv,
        weights: &TileWeights,
        run: Run<'_>,
        first: usize,
        input: InTiles<'_>,
        output: &mut [f32],
    ) {
        let (needed, len, each) = (conv.operands(), conv.output.len(), conv.output.len() / conv.output.shape.channels);
        let (residual, activation) = end(conv);
        let multiplier = run.isa.tiles().expect("a plan in tiles is made where there are some");
        let (width, steps) = (tiles::ROWS * each, weights.steps.len());
        run.each_panel(len, width, output, |number, position, output| {
            let ready = multiplier.ready();
            let left = &weights.left[number * steps..][..steps];
            let (units, bias) = (&weights.units[number], &weights.bias[number]);
            let residual = residual.map(|place| &self.value(place, first + position)[number * width..][..output.len()]);
            let right = &input.right[position * needed..][..needed];
            let mut sums = [const { MaybeUninit::uninit() }; tiles::BLOCKS];
            let sums = ready.multiply(left, &weights.steps, right, &mut sums);
            for (block, (sums, squares)) in sums.iter().zip(&input.scales[position].unit).enumerate() {
                let ends = tiles::Ends { sums, units, squares, bias, residual, activation };
                match weights.layout {
                    Layout::Flat => tiles::end_side_by_side(run.isa, ends, block, output),
                    Layout::Board => tiles::end_on_board(run.isa, ends, block, output),
                }
            }
        });
    }

    fn pointwise(&mut self, conv: &Conv, weights: &[f32], run: Run<'_>, output: &mut [f32]) {
        let squares = conv.input.shape.squares;
        let boards = run.isa.takes_boards() && squares == product::CHESS;
        self.as_product(conv, weights, run, output, |input, _, blocks| {
            if boards {
                return Inputs::Boards(input);
            }
            product::pack(run.isa, input, squares, blocks);
            Inputs::Packed(blocks)
        });
    }

    /// A convolution as a product whose right side has a column for each square: the inputs around it.
    fn by_columns(&mut self, conv: &Conv, weights: &ColumnWeights, run: Run<'_>, output: &mut [f32]) {
        let (channels, sides) = (conv.input.shape.channels, weights.sides);
        self.as_product(conv, &weights.weights, run, output, |input, scratch, blocks| {
            let surrounded = &mut scratch[..channels * columns::plane(sides)];
            columns::surround(sides, input, surrounded);
            let rows = blocks.chunks_exact_mut(channels * columns::TAPS);
            each(run.team, rows.enumerate(), |(number, rows)| columns::gather(sides, surrounded, number, rows));
            Inputs::Packed(blocks)
        });
    }

    /// A convolution as one product, position by position: `side` makes the right side from an input, using scratch
    /// memory and blocks.
    fn as_product(
        &mut self,
        conv: &Conv,
        weights: &[f32],
        run: Run<'_>,
        output: &mut [f32],
        side: impl for<'a> Fn(&'a [f32], &mut [f32], &'a mut [Block]) -> Inputs<'a>,
    ) {
        let (mut room, mut scratch) = (std::mem::take(&mut self.room), std::mem::take(&mut self.scratch));
        let (inputs, squares) = (weights.len() / (TILE * conv.bias.len()), conv.input.shape.squares);
        let blocks = &mut room[..squares.div_ceil(COLUMNS) * inputs];
        let (residual, activation) = end(conv);
        for (position, output) in run.each(output, conv.output.len()) {
            let input = side(self.value(conv.input, position), &mut scratch, blocks);
            let residual = residual.map(|place| self.value(place, position));
            run.each_part(conv.bias.len(), TILE * squares, output, |panels, output| {
                let first = panels.start * TILE;
                let weights = &weights[first * inputs..panels.end * TILE * inputs];
                let bias = &conv.bias[panels];
                let residual = residual.map(|r| &r[first * squares..][..output.len()]);
                product::pointwise(run.isa, Pointwise { squares, weights, bias, input, residual, activation }, output);
            });
        }
        (self.room, self.scratch) = (room, scratch);
    }

    /// Rounds the inputs of a convolution in eight bits; returns the number of fours of a position.
    fn round_to_fours(&mut self, conv: &Conv, run: Run<'_>) -> usize {
        let (plane, fours) = (conv.board.plane, conv.fours());
        let mut rounded = std::mem::take(&mut self.fours);
        for (position, rounded) in run.each(&mut rounded, fours) {
            let mut step = 0.0;
            fours::round(run.isa, self.value(conv.input, position), plane, conv.room(), rounded, &mut step);
            self.steps[position] = step;
        }
        self.fours = rounded;
        fours
    }

    /// A 1×1 convolution in eight bits, position by position.
    fn pointwise_in_fours(&mut self, conv: &Conv, weights: &PointwiseFourWeights, run: Run<'_>, output: &mut [f32]) {
        let PointwiseFourWeights { weights, ends } = weights;
        let fours = self.round_to_fours(conv, run);
        let (squares, of_panel) = (conv.input.shape.squares, weights.len() / ends.len());
        let (residual, activation) = end(conv);
        for (position, output) in run.each(output, conv.output.len()) {
            let input = &self.fours[position * fours..][..fours];
            let step = self.steps[position];
            let residual = residual.map(|place| self.value(place, position));
            run.each_part(ends.len(), TILE * squares, output, |panels, output| {
                let first = panels.start * TILE * squares;
                let residual = residual.map(|r| &r[first..][..output.len()]);
                let weights = &weights[panels.start * of_panel..panels.end * of_panel];
                let ends = &ends[panels];
                fours::pointwise(
                    run.isa,
                    fours::Pointwise { squares, weights, ends, step, input, residual, activation },
                    output,
                );
            });
        }
    }

    /// Runs `sums` for each panel of `width` channels and each position, and then what comes after the sums.
    fn by_panels(
        &self,
        conv: &Conv,
        width: usize,
        run: Run<'_>,
        output: &mut [f32],
        sums: impl Fn(usize, usize, &mut [f32]) + Sync,
    ) {
        let len = conv.output.len();
        let written = &mut output[..run.positions * len];
        run.each_panel(len, width * conv.board.plane, written, |number, position, output| {
            sums(number, position, output);
            self.finish(conv, run, position, number * width, output);
        });
    }

    fn squeeze_excite(&mut self, conv: &Conv, run: Run<'_>, output: &mut [f32]) {
        let Some(se) = &conv.se else { return };
        let mut scratch = std::mem::take(&mut self.scratch);
        for (position, planes) in run.each(output, conv.output.len()) {
            let se = se::Se {
                board: conv.board,
                squares: conv.output.shape.squares,
                hidden: se.hidden,
                w1: &se.w1,
                b1: &se.b1,
                w2: &se.w2,
                b2: &se.b2,
                residual: conv.residual.map(|r| self.value(r, position)),
                activation: conv.activation,
            };
            se::squeeze_excite(run.isa, se, planes, &mut scratch);
        }
        self.scratch = scratch;
    }
}

/// Splits the input of a convolution in tiles.
fn split(conv: &Conv, layout: Layout, run: Run<'_>, input: &[f32], right: &mut [Operand], scale: &mut Scale) {
    let plane = match layout {
        Layout::Flat => {
            tiles::scale_rows(run.isa, input, scale);
            product::CHESS
        }
        Layout::Board => {
            tiles::scale_board(run.isa, input, scale);
            conv.board.plane
        }
    };
    let (together, each_part) = (layout.together(), layout.operands() / layout.together());
    each(run.team, right.chunks_exact_mut(together).enumerate(), |(number, operands)| {
        let (part, at) = (number / each_part * tiles::DEPTH * plane, number % each_part);
        let input = &input[part..input.len().min(part + tiles::DEPTH * plane)];
        match layout {
            Layout::Flat => tiles::split_rows(run.isa, input, at, scale, &mut operands[0]),
            Layout::Board => tiles::split_board(run.isa, input, at, scale, operands),
        }
    });
}

/// Residual and activation that follow a convolution's sums: none if squeeze and excitation comes first, which then
/// does both.
pub(super) fn end(conv: &Conv) -> (Option<Place>, Activation) {
    match conv.se {
        None => (conv.residual, conv.activation),
        Some(_) => (None, Activation::None),
    }
}
