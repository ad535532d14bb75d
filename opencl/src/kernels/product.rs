//! What the launchers of conv.cl and winograd.cl have in common if their kernels use `product.cl`.
//!
//! If a compiler can't keep the sums of an item in registers, such a kernel becomes several times slower, which cannot
//! be seen without a GPU: so `ci/gpu_compilers.py` checks what clang generates from every kernel for an AMD and an
//! NVIDIA GPU.
//!
//! For a few positions a GPU mostly waits for memory and for launches (4 µs each on an H200, more elsewhere). So a
//! group fetches the next part of its operands while it multiplies the current one, and a few positions get small
//! groups that fetch more at a time ([`Shapes`]). How many are a few depends on the GPU's units, and on how much of a
//! large group they would leave empty, as a group multiplies all of its rows. Sums are added in the same order, so that
//! an answer does not depend on it.

use super::{ALONE_ITEMS, Kernels, Range, Tuning, halves};

/// Puts `product.cl` before the text of a family that multiplies matrices.
macro_rules! with_product {
    ($text:literal) => {
        concat!(include_str!("product.cl"), include_str!($text))
    };
}
pub(super) use with_product;

/// Groups are `LX` by this many items, `LY` in product.cl.
const LY: usize = 8;

/// `LY` if a group takes a position through the whole network.
const ALONE_LY: usize = 16;

fn ly(kernels: &Kernels<'_>) -> usize {
    if kernels.alone() { ALONE_LY } else { LY }
}

/// The most rows of a group: a length that is a multiple of this is a whole number of groups with every tuning.
pub(super) const MOST_ROWS: usize = 32 * 8;

/// The number of output channels to which weights are padded: whole groups of every shape.
pub(super) fn channels(kernels: &Kernels<'_>) -> usize {
    ly(kernels) * kernels.tuning.item_channels
}

/// Groups for a few positions are small, so that there are many of them: one group's work takes as long as the whole
/// product.
const FEW_COLUMNS: usize = 4;

/// How many rows, and channels, an item of such a group has.
const FEW_ITEM: usize = 4;

/// How many steps of the sum such a group brings into local memory at a time: it waits for memory, not for the
/// multiplier.
const FEW_DEPTH: usize = 32;

/// The same number if an element is four steps.
const FEW_DEPTH_INT8: usize = 16;

/// From this many large groups for each of a GPU's units on, they are as good as many small ones.
const GROUPS_OF_UNIT: usize = 2;

/// What is multiplied for a layer: products of the same size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Products {
    pub count: usize,
    /// How many rows a position has.
    pub rows: usize,
    /// Padded as [`channels`] says.
    pub channels: usize,
    /// Whether operands have to go through local memory.
    pub needs_local: bool,
    /// Whether an operand is four steps of the sum in eight bits.
    pub int8: bool,
}

/// Groups of one shape, as in product.cl.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// `LX`: the values in the order in which they are tried.
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

    /// How many items a group has.
    pub fn items(&self, lx: usize) -> usize {
        lx * self.ly
    }

    /// How many rows a group has.
    pub fn rows(&self, lx: usize) -> usize {
        lx * self.item_rows
    }

    /// How many groups make the channels of all products, for the same rows.
    fn across(&self, products: Products) -> usize {
        products.count * (products.channels / (self.ly * self.item_channels))
    }

    /// The range of a layer.
    pub fn range(&self, lx: usize, products: Products) -> Range {
        Range { each: products.rows, whole: self.rows(lx), across: self.across(products), local: [lx, self.ly] }
    }
}

/// The groups of a product for many positions, and, if others are better for a few positions, for those. The sums are
/// the same to the bit.
pub(super) struct Shapes {
    pub many: Groups,
    /// The groups for a few positions, and the smallest batch that does not use them.
    pub few: Option<(Groups, usize)>,
}

impl Shapes {
    /// The groups of a layer.
    pub fn new(kernels: &Kernels<'_>, products: Products) -> Self {
        let Tuning { item_rows, item_channels, columns, depth, .. } = kernels.tuning;
        if kernels.alone() {
            // Every item has something to bring into local memory.
            let depth = depth.max(ALONE_LY);
            let columns = vec![ALONE_ITEMS / ALONE_LY];
            return Self { many: Groups { columns, ly: ALONE_LY, item_rows: 4, item_channels, depth }, few: None };
        }
        let depth = if products.needs_local && depth == 0 { 8 } else { depth };
        let many = Groups { columns: kernels.columns(), ly: LY, item_rows, item_channels, depth };
        let few_depth = match depth {
            0 => 0,
            _ if products.int8 => FEW_DEPTH_INT8,
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
        // Small groups are used while large ones would leave units idle, or be less than half full.
        let enough = (GROUPS_OF_UNIT * units).div_ceil(many.across(products)).saturating_sub(1);
        let rows = many.rows(columns);
        let from = (enough * rows).max(rows / 2) / products.rows + 1;
        let has_few = columns > FEW_COLUMNS && from > 1;
        Self { many, few: has_few.then_some((few, from)) }
    }
}
