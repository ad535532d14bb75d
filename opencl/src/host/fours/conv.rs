//! 3×3 convolutions in fours over boards. A lane is a channel of the output: a square's four inputs go to all lanes,
//! and a tile is a rank of squares times one or two panels of sixteen channels.

use super::{Dots, Ends, Four, PANEL, Weights, with_dots};
use crate::host::arith::{Form, Ranks};
use crate::host::board::{Board, LANES};
use crate::host::direct::store;

/// Rows and columns of the kernel; the weights for an input and an output channel.
const KERNEL: usize = 3;
pub(in crate::host) const TAPS: usize = KERNEL * KERNEL;

/// How many panels a tile has.
pub(in crate::host) const TILE_PANELS: usize = 2;

/// One or two panels of a convolution.
#[derive(Clone, Copy)]
pub(in crate::host) struct ConvPanels<'a> {
    pub board: Board,
    /// `[panels][fours of input channels][TAPS]`, zeros where there are fewer channels.
    pub weights: &'a [Weights],
    /// `[panels]`.
    pub ends: &'a [Ends<PANEL>],
    /// What a step of the input is worth.
    pub step: f32,
    /// `[fours of input channels][plane]`.
    pub input: &'a [Four],
}

with_dots! {
    /// Computes the planes of one or two panels into `output`, `[channels][plane]`, without residual and activation.
    conv = conv_body(panels: ConvPanels<'_>, output: &mut [f32])
}

#[inline(always)]
fn conv_body<D: Dots>(panels: ConvPanels<'_>, output: &mut [f32]) {
    // The same code is compiled twice: with the chessboard's numbers as constants, and for any board.
    if panels.board == Board::CHESS {
        conv_on::<D>(ConvPanels { board: Board::CHESS, ..panels }, output);
    } else {
        conv_on::<D>(panels, output);
    }
}

#[inline(always)]
fn conv_on<D: Dots>(panels: ConvPanels<'_>, output: &mut [f32]) {
    match panels.ends.len() {
        1 => ranks::<D, 1>(panels, output),
        _ => ranks::<D, TILE_PANELS>(panels, output),
    }
}

#[inline(always)]
fn ranks<D: Dots, const PANELS: usize>(panels: ConvPanels<'_>, output: &mut [f32]) {
    let board = panels.board;
    let (vectors, step) = board.vectors();
    let mut steps = [[0.0; PANEL]; PANELS];
    for (steps, ends) in steps.iter_mut().zip(panels.ends) {
        *steps = ends.steps.map(|of_channel| of_channel * panels.step);
    }
    for vector in 0..vectors {
        let at = vector * step;
        let mut sums = [[[0; PANEL]; LANES]; PANELS];
        match D::SQUARES {
            LANES => tile::<D, PANELS, LANES>(&panels, at, 0, &mut sums),
            _ => {
                tile::<D, PANELS, { LANES / 2 }>(&panels, at, 0, &mut sums);
                tile::<D, PANELS, { LANES / 2 }>(&panels, at, LANES / 2, &mut sums);
            }
        }
        let planes = output.chunks_mut(PANEL * board.plane);
        for (((sums, steps), ends), planes) in sums.iter().zip(&steps).zip(panels.ends).zip(planes) {
            end::<<D::Form as Form>::Row>(board, sums, (steps, &ends.bias), at, planes);
        }
    }
}

/// The sums of some squares of a rank.
#[inline(always)]
fn tile<D: Dots, const PANELS: usize, const SQUARES: usize>(
    panels: &ConvPanels<'_>,
    at: usize,
    first: usize,
    to: &mut [[[i32; PANEL]; LANES]; PANELS],
) {
    let board = panels.board;
    let mut sums = [[D::sums(&panels.ends[0].start); SQUARES]; PANELS];
    for (sums, ends) in sums.iter_mut().zip(panels.ends).skip(1) {
        *sums = [D::sums(&ends.start); SQUARES];
    }
    let of_panel = panels.weights.len() / PANELS;
    for (number, plane) in panels.input.chunks_exact(board.plane).enumerate() {
        for tap in 0..TAPS {
            let window = &plane[at + tap / KERNEL * board.stride + tap % KERNEL + first..][..SQUARES];
            for (panel, sums) in sums.iter_mut().enumerate() {
                let weights = &panels.weights[panel * of_panel + number * TAPS + tap];
                for (sums, &four) in sums.iter_mut().zip(window) {
                    *sums = D::add(*sums, D::splat(four), D::fours(&weights.0));
                }
            }
        }
    }
    for (to, sums) in to.iter_mut().zip(&sums) {
        for (to, sums) in to[first..].iter_mut().zip(sums) {
            D::store(*sums, to);
        }
    }
}

/// From sums `[squares][channels]` to the planes of a panel: multiplies each channel by what a sum of 1 is worth, and
/// adds the bias.
#[inline(always)]
fn end<R: Ranks>(
    board: Board,
    sums: &[[i32; PANEL]; LANES],
    (steps, bias): (&[f32; PANEL], &[f32; PANEL]),
    at: usize,
    planes: &mut [f32],
) {
    let mut values = [[0.0; PANEL]; LANES];
    for (values, sums) in values.iter_mut().zip(sums) {
        let ends = steps.iter().zip(bias);
        values.iter_mut().zip(sums).zip(ends).for_each(|((y, &sum), (step, bias))| *y = sum as f32 * step + bias);
    }
    for first in (0..PANEL).step_by(LANES) {
        let mut rows = [R::splat(0.0); LANES];
        for (row, values) in rows.iter_mut().zip(&values) {
            *row = R::load(&values[first..]);
        }
        let channels = R::transpose(&rows);
        for (plane, channel) in planes.chunks_exact_mut(board.plane).skip(first).zip(&channels) {
            let mut squares = [0.0; LANES];
            R::store(*channel, &mut squares);
            store(board, plane, at, &squares);
        }
    }
}
