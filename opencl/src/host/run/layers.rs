//! The layers of a group that are neither convolutions nor dense.

use super::{Run, Workspace};
use crate::graph::Shape;
use crate::host::board::Board;
use crate::host::kernel;
use crate::host::norm;
use crate::host::plan::{
    Added, Affine, Attention, Gate, Gather, LayerNorm, Multiply, Place, Pool, RmsNorm, Rotate, Scores,
};
use crate::host::product::{self, Block};

/// An affine layer with fewer elements than this is done sooner by one thread than several can be told of it.
const WORTH_SHARING_ELEMENTS: usize = 1 << 13;

impl Workspace {
    pub(super) fn gather(&self, gather: &Gather, run: Run<'_>, output: &mut [f32]) {
        for (position, output) in run.each(output, gather.output.len()) {
            let input = self.value(gather.input, position);
            output.iter_mut().zip(&gather.indices).for_each(|(y, &i)| *y = input[i as usize]);
            if let Some(Added { place, indices }) = &gather.residual {
                let added = self.value(*place, position);
                match indices {
                    None => output.iter_mut().zip(added).for_each(|(y, added)| *y += added),
                    Some(indices) => output.iter_mut().zip(indices).for_each(|(y, &i)| *y += added[i as usize]),
                }
            }
        }
    }

    pub(super) fn gate(&self, gate: &Gate, run: Run<'_>, output: &mut [f32]) {
        for (position, output) in run.each(output, gate.output.len()) {
            kernel::gate(run.isa, self.value(gate.input, position), &gate.scale, &gate.shift, output);
        }
    }

    pub(super) fn affine(&self, affine: &Affine, run: Run<'_>, output: &mut [f32]) {
        let Place { shape, board, .. } = affine.input;
        let board = board.unwrap_or(Board::flat(shape.squares));
        let run = run.shared_if(affine.output.len() >= WORTH_SHARING_ELEMENTS);
        for (position, output) in run.each(output, affine.output.len()) {
            let input = self.value(affine.input, position);
            let added = affine.added.map(|added| self.value(added, position));
            run.each_part(shape.channels, board.plane, output, |channels, output| {
                let affine = kernel::Affine {
                    board,
                    added: added.map(|added| &added[channels.clone()]),
                    scale: &affine.scale[channels.clone()],
                    shift: &affine.shift[channels.clone()],
                    input: &input[channels.start * board.plane..channels.end * board.plane],
                    activation: affine.activation,
                };
                kernel::affine(run.isa, affine, output);
            });
        }
    }

    pub(super) fn pool(&self, pool: &Pool, run: Run<'_>, output: &mut [f32]) {
        let Place { shape, board, .. } = pool.input;
        let board = board.unwrap_or(Board::flat(shape.squares));
        for (position, output) in run.each(output, pool.output.len()) {
            let (means, most) = output.split_at_mut(shape.channels);
            kernel::pool(run.isa, board, self.value(pool.input, position), means, most);
        }
    }

    pub(super) fn layer_norm(&mut self, norm: &LayerNorm, run: Run<'_>, output: &mut [f32]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        for (position, output) in run.each(output, norm.output.len()) {
            let norm = norm::LayerNorm {
                board: norm.input.board,
                epsilon: norm.epsilon,
                gammas: &norm.gammas,
                betas: &norm.betas,
                input: self.value(norm.input, position),
            };
            norm::layer_norm(run.isa, norm, output, &mut scratch);
        }
        self.scratch = scratch;
    }

    pub(super) fn rms_norm(&mut self, norm: &RmsNorm, run: Run<'_>, output: &mut [f32]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let Shape { channels, squares } = norm.input.shape;
        let run = run.shared_if(norm.output.len() >= WORTH_SHARING_ELEMENTS);
        let scales = &mut scratch[..squares];
        for (position, output) in run.each(output, norm.output.len()) {
            let input = self.value(norm.input, position);
            norm::rms_scales(run.isa, input, norm.epsilon, norm.whole, scales);
            run.each_part(channels, squares, output, |channels, output| {
                let input = &input[channels.start * squares..channels.end * squares];
                norm::scale_squares(run.isa, input, scales, output);
            });
        }
        self.scratch = scratch;
    }

    pub(super) fn rotate(&self, rotate: &Rotate, run: Run<'_>, output: &mut [f32]) {
        let Shape { channels, squares } = rotate.input.shape;
        let run = run.shared_if(rotate.output.len() >= WORTH_SHARING_ELEMENTS);
        for (position, output) in run.each(output, rotate.output.len()) {
            let input = self.value(rotate.input, position);
            run.each_part(channels / 2, 2 * squares, output, |pairs, output| {
                let of_pairs = pairs.start * squares..pairs.end * squares;
                let rotate = kernel::Rotate {
                    squares,
                    input: &input[2 * of_pairs.start..2 * of_pairs.end],
                    cosines: &rotate.cosines[of_pairs.clone()],
                    sines: &rotate.sines[of_pairs],
                };
                kernel::rotate(run.isa, rotate, output);
            });
        }
    }

    pub(super) fn multiply(&self, multiply: &Multiply, run: Run<'_>, output: &mut [f32]) {
        let Shape { channels, squares } = multiply.left.shape;
        let run = run.shared_if(multiply.output.len() >= WORTH_SHARING_ELEMENTS);
        for (position, output) in run.each(output, multiply.output.len()) {
            let (left, right) = (self.value(multiply.left, position), self.value(multiply.right, position));
            run.each_part(channels, squares, output, |channels, output| {
                let part = channels.start * squares..channels.end * squares;
                kernel::multiply(run.isa, &left[part.clone()], &right[part], output);
            });
        }
    }

    pub(super) fn attention(&mut self, step: &Attention, run: Run<'_>, output: &mut [f32]) {
        let mut room = std::mem::take(&mut self.room);
        let (each, needed) = (step.output.len() / step.heads, step.room());
        for (position, output) in run.each(output, step.output.len()) {
            let head = |number: usize, output: &mut [f32], room: &mut [Block]| {
                let part = |place: Place| {
                    let len = place.len() / step.heads;
                    &self.value(place, position)[number * len..][..len]
                };
                let head = product::Attention {
                    squares: step.query.shape.squares,
                    query: part(step.query),
                    key: part(step.key),
                    value: part(step.value),
                    bias: step.bias.map(part),
                };
                product::attention(run.isa, head, room, output);
            };
            if let Some(team) = run.team {
                let heads = output.chunks_exact_mut(each).zip(room.chunks_mut(needed)).enumerate();
                team.each(heads, |(number, (output, room))| head(number, output, room));
            } else {
                let heads = output.chunks_exact_mut(each).enumerate();
                heads.for_each(|(number, output)| head(number, output, &mut room[..needed]));
            }
        }
        self.room = room;
    }

    pub(super) fn scores(&mut self, step: &Scores, run: Run<'_>, output: &mut [f32]) {
        let mut room = std::mem::take(&mut self.room);
        for (position, output) in run.each(output, step.output.len()) {
            let (query, key) = (self.value(step.query, position), self.value(step.key, position));
            let channels = step.query.shape.channels;
            product::scores(run.isa, product::Scores { channels, query, key }, &mut room, output);
        }
        self.room = room;
    }
}
