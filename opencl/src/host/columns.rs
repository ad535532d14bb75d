//! 5×5 convolutions: what each tap reads of a channel is gathered into a row of a matrix, and the convolution becomes a
//! product as a 1×1 convolution is one. A network has one at most, of its few input planes, which is not worth a kernel
//! of its own.

use super::product::{Block, COLUMNS};

/// Squares of a side of the kernel.
pub(super) const KERNEL: usize = 5;
pub(super) const TAPS: usize = KERNEL * KERNEL;

/// Files before the first one and ranks before the first one that a kernel reads, and as many behind the last.
const BORDER: usize = KERNEL / 2;

/// Numbers of a plane with its border, of so many ranks and files.
pub(super) fn plane((ranks, files): (usize, usize)) -> usize {
    (ranks + 2 * BORDER) * (files + 2 * BORDER)
}

/// `input`, `[channels][ranks][files]`, with borders of zeros.
pub(super) fn surround((ranks, files): (usize, usize), input: &[f32], surrounded: &mut [f32]) {
    let stride = files + 2 * BORDER;
    surrounded.fill(0.0);
    let planes = surrounded.chunks_exact_mut(plane((ranks, files)));
    for (from, to) in input.chunks_exact(ranks * files).zip(planes) {
        let rows = to[BORDER * (stride + 1)..].chunks_mut(stride);
        from.chunks_exact(files).zip(rows).for_each(|(from, to)| to[..files].copy_from_slice(from));
    }
}

/// What all taps read for the `number`th sixteen squares, `[channels][TAPS]`: of what `surround` has made.
pub(super) fn gather((ranks, files): (usize, usize), surrounded: &[f32], number: usize, rows: &mut [Block]) {
    let stride = files + 2 * BORDER;
    let mut corners = [0; COLUMNS];
    for (square, corner) in (number * COLUMNS..).zip(&mut corners) {
        // Nobody looks at what is beyond the last square.
        let square = square.min(ranks * files - 1);
        *corner = square / files * stride + square % files;
    }
    for (plane, rows) in surrounded.chunks_exact(plane((ranks, files))).zip(rows.chunks_exact_mut(TAPS)) {
        for (tap, row) in rows.iter_mut().enumerate() {
            let window = &plane[tap / KERNEL * stride + tap % KERNEL..];
            row.0 = corners.map(|corner| window[corner]);
        }
    }
}
