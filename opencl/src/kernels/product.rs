//! What the launchers of conv.cl and winograd.cl share where their kernels are `product.cl`'s.

use super::{ALONE_ITEMS, Kernels, Range, Tuning, halves};

/// Before the text of a family that multiplies matrices.
macro_rules! with_product {
    ($text:literal) => {
        concat!(include_str!("product.cl"), include_str!($text))
    };
}
pub(super) use with_product;

/// Groups are `LX` by so many items, `LY` in product.cl.
const LY: usize = 8;

/// The same where a group takes a position through the whole network.
const ALONE_LY: usize = 16;

fn ly(kernels: &Kernels<'_>) -> usize {
    if kernels.alone() { ALONE_LY } else { LY }
}

/// Most rows of a group: what is as long as a multiple of this is whole groups with every tuning.
pub(super) const MOST_ROWS: usize = 32 * 8;

/// Output channels to which weights are padded: whole groups of every shape.
pub(super) fn channels(kernels: &Kernels<'_>) -> usize {
    ly(kernels) * kernels.tuning.item_channels
}

/// Groups for a few positions are small, so that there are many of them: what one of them does takes as long as the
/// whole product.
const FEW_COLUMNS: usize = 4;

/// Rows, and channels, of an item of such a group.
const FEW_ITEM: usize = 4;

/// Steps of the sum that such a group brings into local memory at a time: it waits for memory, not for the multiplier.
const FEW_DEPTH: usize = 32;

/// Where an element is four steps.
const FEW_DEPTH_INT8: usize = 16;

/// Large groups for each of a GPU's units, from which on they are as good as many small ones.
const GROUPS_OF_UNIT: usize = 2;

/// Groups of one shape, as product.cl has them.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// `LX`, what is tried first comes first.
    pub columns: Vec<usize>,
    ly: usize,
    item_rows: usize,
    item_channels: usize,
    depth: usize,
}

impl Groups {
    /// The options of product.cl.
    pub fn options(&self, lx: usize) -> String {
        let Self { ly, item_rows, item_channels, depth, .. } = self;
        format!("-DLX={lx} -DLY={ly} -DITEM_ROWS={item_rows} -DITEM_CHANNELS={item_channels} -DDEPTH={depth}")
    }

    /// Items of a group.
    pub fn items(&self, lx: usize) -> usize {
        lx * self.ly
    }

    /// Rows of a group.
    pub fn rows(&self, lx: usize) -> usize {
        lx * self.item_rows
    }

    /// Groups by which so many channels are made.
    fn panels(&self, padded: usize) -> usize {
        padded / (self.ly * self.item_channels)
    }

    /// For `each` rows of a position by so many channels, `times` all of that.
    pub fn range(&self, lx: usize, each: usize, padded: usize, times: usize) -> Range {
        Range { each, whole: self.rows(lx), across: times * self.panels(padded), local: [lx, self.ly] }
    }
}

/// The groups of a product, for many positions and, where others are better for that, for a few. The sums are the same
/// to the bit.
pub(super) struct Shapes {
    pub many: Groups,
    /// And the smallest batch that is none of them.
    pub few: Option<(Groups, usize)>,
}

impl Shapes {
    /// Of `times` a product of `each` rows of a position by so many channels, padded as [`channels`] says. Not every
    /// product can do without local memory.
    pub fn new(kernels: &Kernels<'_>, [each, padded, times]: [usize; 3], needs_local: bool, int8: bool) -> Self {
        let Tuning { item_rows, item_channels, columns, depth, .. } = kernels.tuning;
        if kernels.alone() {
            // Every item has something to bring.
            let depth = depth.max(ALONE_LY);
            let columns = vec![ALONE_ITEMS / ALONE_LY];
            return Self { many: Groups { columns, ly: ALONE_LY, item_rows: 4, item_channels, depth }, few: None };
        }
        let depth = if needs_local && depth == 0 { 8 } else { depth };
        let many = Groups { columns: kernels.columns(), ly: LY, item_rows, item_channels, depth };
        let few_depth = match depth {
            0 => 0,
            _ if int8 => FEW_DEPTH_INT8,
            _ => FEW_DEPTH,
        };
        let few = Groups {
            columns: halves(FEW_COLUMNS),
            ly: LY,
            item_rows: FEW_ITEM,
            item_channels: FEW_ITEM,
            depth: few_depth,
        };
        let units = kernels.session.device().compute_units as usize;
        // Rows of so many groups less one, and one more.
        let enough = (GROUPS_OF_UNIT * units).div_ceil(times * many.panels(padded)).saturating_sub(1);
        let from = enough * many.rows(columns) / each + 1;
        let has_few = columns > FEW_COLUMNS && from > 1;
        Self { many, few: has_few.then_some((few, from)) }
    }
}
