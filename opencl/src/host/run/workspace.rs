//! The memory that a thread runs a plan in.

use crate::host::fours::{self, Four};
use crate::host::needs::Needs;
use crate::host::plan::{GROUP, Plan};
use crate::host::product::{Block, COLUMNS, Entry};
use crate::host::tiles::{self, Operand, Scale};
use std::ops::{Deref, DerefMut, Range};

/// Numbers that begin at the start of a cache line: then sixteen squares of a chessboard are one line, and not parts of
/// two.
#[derive(Default)]
pub(super) struct Values {
    room: Vec<f32>,
    range: Range<usize>,
}

impl Values {
    fn zeros(len: usize) -> Self {
        let room = vec![0.0; len + COLUMNS];
        // If the start can't be aligned, the results are still right.
        let first = room.as_ptr().align_offset(align_of::<Block>()).min(COLUMNS);
        Self { room, range: first..first + len }
    }
}

impl Deref for Values {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.room[self.range.clone()]
    }
}

impl DerefMut for Values {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.room[self.range.clone()]
    }
}

/// One thread's memory: room for the values of [`GROUP`] positions.
pub(in crate::host) struct Workspace {
    /// By slot, `[GROUP][elements]`. Borders are zero from the beginning, and stay zero.
    pub(super) slots: Vec<Values>,
    /// The points of Winograd's convolution, for as many positions as are computed at once, and their products: for the
    /// panels that are made at once, or for all panels if several threads work on a position.
    pub(super) points: Vec<f32>,
    pub(super) products: Vec<Block>,
    /// Inputs in eight bits, and what a step of each is worth: for each position, or for each of its parts.
    pub(super) fours: Vec<Four>,
    pub(super) steps: Vec<f32>,
    /// Inputs in tiles: those of a convolution, and for each position what its squares are worth; those of a dense
    /// layer, and what its rows are worth.
    pub(super) right: Vec<Operand>,
    pub(super) scales: Vec<Scale>,
    pub(super) left: Vec<Operand>,
    pub(super) units: Vec<[f32; tiles::ROWS]>,
    /// A dense layer's inputs that are not zero, for one position.
    pub(super) entries: Vec<Entry>,
    /// Other working memory of a step, see [`Needs::scratch`] and [`Needs::room`].
    pub(super) scratch: Vec<f32>,
    pub(super) room: Vec<Block>,
}

impl Workspace {
    /// How many bytes [`Workspace::new`] takes.
    pub fn bytes(plan: &Plan, shared: bool) -> usize {
        let slots = GROUP * plan.slots.iter().sum::<usize>() + COLUMNS * plan.slots.len();
        let needs = &plan.needs;
        let numbers = slots + needs.points + needs.scratch.of(shared);
        GROUP * (needs.fours * size_of::<Four>() + needs.parts * size_of::<f32>())
            + size_of::<f32>() * numbers
            + size_of::<Operand>() * (needs.right + needs.left)
            + size_of::<Scale>() * Self::scales(needs)
            + size_of::<[f32; tiles::ROWS]>() * Self::units(needs)
            + size_of::<Entry>() * needs.entries
            + size_of::<Block>() * (needs.room.of(shared) + needs.products.of(shared))
    }

    /// For how many positions it stores what their squares are worth, if anything is in tiles.
    fn scales(needs: &Needs) -> usize {
        if needs.right > 0 { GROUP } else { 0 }
    }

    /// For how many panels of rows it stores what they are worth.
    fn units(needs: &Needs) -> usize {
        if needs.left > 0 { (GROUP * needs.parts).div_ceil(tiles::ROWS) } else { 0 }
    }

    /// With `shared`, several threads may work on one job.
    pub fn new(plan: &Plan, shared: bool) -> Self {
        let needs = &plan.needs;
        Self {
            slots: plan.slots.iter().map(|len| Values::zeros(GROUP * len)).collect(),
            points: vec![0.0; needs.points],
            products: vec![Block::ZERO; needs.products.of(shared)],
            fours: vec![fours::ZEROS; GROUP * needs.fours],
            steps: vec![0.0; GROUP * needs.parts],
            right: vec![Operand::ZERO; needs.right],
            scales: vec![Scale::ZERO; Self::scales(needs)],
            left: vec![Operand::ZERO; needs.left],
            units: vec![[0.0; tiles::ROWS]; Self::units(needs)],
            entries: vec![Entry::default(); needs.entries],
            scratch: vec![0.0; needs.scratch.of(shared)],
            room: vec![Block::ZERO; needs.room.of(shared)],
        }
    }
}
