//! 5×5 convolutions: what each tap reads of a channel is gathered into a row of a matrix, and the convolution becomes a
//! product like that of a 1×1 convolution. A network has at most one, which reads its few input planes, and is not
//! worth a kernel of its own.

use super::product::{Block, COLUMNS};

/// The side of the kernel in squares.
pub(super) const KERNEL: usize = 5;
pub(super) const TAPS: usize = KERNEL * KERNEL;

/// How many files before the first one and ranks before the first one a kernel reads, and as many after the last.
const BORDER: usize = KERNEL / 2;

/// How many numbers a plane of this many ranks and files has with its border.
pub(super) fn plane((ranks, files): (usize, usize)) -> usize {
    (ranks + 2 * BORDER) * (files + 2 * BORDER)
}

/// Copies `input`, `[channels][ranks][files]`, into `surrounded`, with borders of zeros.
pub(super) fn surround((ranks, files): (usize, usize), input: &[f32], surrounded: &mut [f32]) {
    let stride = files + 2 * BORDER;
    surrounded.fill(0.0);
    let planes = surrounded.chunks_exact_mut(plane((ranks, files)));
    for (from, to) in input.chunks_exact(ranks * files).zip(planes) {
        let rows = to[BORDER * (stride + 1)..].chunks_mut(stride);
        from.chunks_exact(files).zip(rows).for_each(|(from, to)| to[..files].copy_from_slice(from));
    }
}

/// What all taps read for the `number`th sixteen squares, `[channels][TAPS]`, from the output of `surround`.
pub(super) fn gather((ranks, files): (usize, usize), surrounded: &[f32], number: usize, rows: &mut [Block]) {
    let stride = files + 2 * BORDER;
    let mut corners = [0; COLUMNS];
    for (square, corner) in (number * COLUMNS..).zip(&mut corners) {
        // What is read for squares beyond the last one is not used.
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
