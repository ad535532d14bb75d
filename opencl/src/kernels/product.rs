//! What the launchers of conv.cl and winograd.cl share where their kernels are `product.cl`'s.

use super::{Kernels, Range, Tuning};

/// Before the text of a family that multiplies matrices.
macro_rules! with_product {
    ($text:literal) => {
        concat!(include_str!("product.cl"), include_str!($text))
    };
}
pub(super) use with_product;

/// Groups are `LX` by so many items, `LY` in product.cl.
const LY: usize = 8;

/// Most rows of a group: what is as long as a multiple of this is whole groups with every tuning.
pub(super) const MOST_ROWS: usize = 32 * 8;

/// Items of a group.
pub(super) fn items(lx: usize) -> usize {
    lx * LY
}

/// Output channels of a group.
pub(super) fn channels(kernels: &Kernels<'_>) -> usize {
    LY * kernels.tuning.item_channels
}

/// The options of product.cl. Not every product can do without local memory.
pub(super) fn options(tuning: Tuning, lx: usize, needs_local: bool) -> String {
    let depth = if needs_local && tuning.depth == 0 { 8 } else { tuning.depth };
    format!("-DLX={lx} -DITEM_ROWS={} -DITEM_CHANNELS={} -DDEPTH={depth}", tuning.item_rows, tuning.item_channels)
}

/// Rows of a group.
pub(super) fn rows(tuning: Tuning, lx: usize) -> usize {
    lx * tuning.item_rows
}

/// For `each` rows of a position by `panels` of [`channels`].
pub(super) fn range(kernels: &Kernels<'_>, lx: usize, each: usize, panels: usize) -> Range {
    Range { each, whole: rows(kernels.tuning, lx), across: panels, local: [lx, LY] }
}
