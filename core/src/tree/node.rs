//! Reading and updating the parts of a node.

use super::memory::{Block, NodeWords, Tree};
use super::pool::NONE;
use super::prior;
use super::sums::Sums;
use crate::evaluate::{Ending, Move, MoveLogit, Value};
use core::cmp::Reverse;

/// A node's slot. Never 0, so that an `Option` of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(core::num::NonZeroU32);

impl NodeId {
    pub(super) fn from_link(link: u32) -> Option<Self> {
        core::num::NonZeroU32::new(link).map(Self)
    }

    pub(super) fn link(self) -> u32 {
        self.0.get()
    }

    fn slot(self) -> usize {
        self.0.get() as usize - 1
    }
}

// The words of a node. A freed node keeps the list of free nodes in its first word.
const N: usize = 0;
const EDGES: usize = 1;
const VISITS: usize = 2;
const STATE: usize = 3;
const SUMS: usize = 4;
const _: () = assert!(SUMS + Sums::WORDS == size_of::<NodeWords>() / 4);

// The bits of STATE.
const COUNT_MASK: u32 = 0x3ff;
const VISITED_SHIFT: u32 = 10;
const ENDING_SHIFT: u32 = 20;
const LOWER_SHIFT: u32 = 22;
const UPPER_SHIFT: u32 = 24;
const TWO_BITS: u32 = 3;
const LIVE: u32 = 1 << 26;
const EXPANDED: u32 = 1 << 27;
const PENDING: u32 = 1 << 28;
const REGROWN: u32 = 1 << 29;
const PINNED: u32 = 1 << 30;

/// Most edges a node can have: the counts have ten bits.
pub const MAX_EDGES: usize = COUNT_MASK as usize;

// A block of edges or visits: its last word links to the next one.
const NEXT: usize = size_of::<Block>() / 4 - 1;
/// Edges of one word each: the move above the packed prior.
pub const EDGES_PER_BLOCK: usize = NEXT;
/// Visited edges of three words each: N, Q, child; and both moves left in one word.
pub const VISITS_PER_BLOCK: usize = 2;
const VISIT_WORDS: usize = 3;
const BOTH_M: usize = VISITS_PER_BLOCK * VISIT_WORDS;

/// Moves left of a visited edge are kept in 1/32 ply, at most 2,047.
const M_ONE: f32 = 32.0;

/// A result that is certain, seen from the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// The side to move loses.
    Loss,
    /// A draw.
    Draw,
    /// The side to move wins.
    Win,
}

impl Bound {
    fn from_bits(bits: u32) -> Self {
        match bits & TWO_BITS {
            0 => Self::Loss,
            1 => Self::Draw,
            _ => Self::Win,
        }
    }

    /// As the other side sees it.
    pub fn flipped(self) -> Self {
        match self {
            Self::Loss => Self::Win,
            Self::Draw => Self::Draw,
            Self::Win => Self::Loss,
        }
    }

    /// The value of a game that has ended so.
    pub fn value(self) -> Value {
        match self {
            Self::Loss => Value::LOSS,
            Self::Draw => Value::DRAW,
            Self::Win => Value::WIN,
        }
    }
}

/// What is proven of a node, from its side to move: the result lies between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The side to move gets at least this.
    pub lower: Bound,
    /// The side to move gets at most this.
    pub upper: Bound,
}

impl Bounds {
    /// Nothing is proven.
    pub const OPEN: Self = Self { lower: Bound::Loss, upper: Bound::Win };

    /// As the other side sees it.
    pub fn flipped(self) -> Self {
        Self { lower: self.upper.flipped(), upper: self.lower.flipped() }
    }
}

/// Where a visited edge's record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitRef(u32);

/// What a node holds of an edge that was visited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Visits along this edge, those in flight included.
    pub n: u32,
    /// The child's value for the side to move at the parent, draw score included; no number before the first visit
    /// has come back.
    pub q: f32,
    /// The child's moves left in plies.
    pub m: f32,
    /// The child, if it is in the tree: a folded one is not.
    pub child: Option<NodeId>,
}

impl Visit {
    /// True once a visit has come back.
    pub fn has_value(&self) -> bool {
        !self.q.is_nan()
    }
}

impl Tree<'_> {
    fn word(&self, id: NodeId, word: usize) -> u32 {
        self.nodes[id.slot()][word]
    }

    fn word_mut(&mut self, id: NodeId, word: usize) -> &mut u32 {
        &mut self.nodes[id.slot()][word]
    }

    fn flag(&self, id: NodeId, flag: u32) -> bool {
        self.word(id, STATE) & flag != 0
    }

    fn set_flag(&mut self, id: NodeId, flag: u32, on: bool) {
        let state = self.word_mut(id, STATE);
        *state = if on { *state | flag } else { *state & !flag };
    }

    fn two_bits(&self, id: NodeId, shift: u32) -> u32 {
        self.word(id, STATE) >> shift & TWO_BITS
    }

    fn set_two_bits(&mut self, id: NodeId, shift: u32, bits: u32) {
        let state = self.word_mut(id, STATE);
        *state = *state & !(TWO_BITS << shift) | bits << shift;
    }

    /// A new node without visits, or `None` when there is no room.
    pub(crate) fn take_node(&mut self) -> Option<NodeId> {
        let id = NodeId::from_link(self.node_pool.take(self.nodes)?)?;
        *self.word_mut(id, STATE) = LIVE | (Bound::Win as u32) << UPPER_SHIFT;
        Some(id)
    }

    /// Completed visits.
    pub(crate) fn n(&self, id: NodeId) -> u32 {
        self.word(id, N)
    }

    pub(crate) fn sums(&self, id: NodeId) -> Sums {
        Sums::from_words(&self.nodes[id.slot()][SUMS..])
    }

    pub(crate) fn set_sums(&mut self, id: NodeId, n: u32, sums: Sums) {
        let words = &mut self.nodes[id.slot()];
        words[N] = n;
        words[SUMS..].copy_from_slice(&sums.to_words());
    }

    /// Adds `n` visits.
    pub(crate) fn add(&mut self, id: NodeId, n: u32, sums: Sums) {
        self.set_sums(id, self.n(id) + n, self.sums(id).plus(sums));
    }

    /// Mean over the completed visits, from the side to move at the node.
    pub(crate) fn mean(&self, id: NodeId) -> Value {
        self.sums(id).mean(self.n(id))
    }

    /// How the node's game ended, if it did.
    pub(crate) fn ending(&self, id: NodeId) -> Option<Ending> {
        match self.two_bits(id, ENDING_SHIFT) {
            0 => None,
            1 => Some(Ending::Game),
            2 => Some(Ending::Tablebase),
            _ => Some(Ending::TwoFold),
        }
    }

    pub(crate) fn set_ending(&mut self, id: NodeId, ending: Option<Ending>) {
        let bits = match ending {
            None => 0,
            Some(Ending::Game) => 1,
            Some(Ending::Tablebase) => 2,
            Some(Ending::TwoFold) => 3,
        };
        self.set_two_bits(id, ENDING_SHIFT, bits);
    }

    /// What is proven.
    pub(crate) fn bounds(&self, id: NodeId) -> Bounds {
        let bound = |shift| Bound::from_bits(self.two_bits(id, shift));
        Bounds { lower: bound(LOWER_SHIFT), upper: bound(UPPER_SHIFT) }
    }

    pub(crate) fn set_bounds(&mut self, id: NodeId, bounds: Bounds) {
        self.set_two_bits(id, LOWER_SHIFT, bounds.lower as u32);
        self.set_two_bits(id, UPPER_SHIFT, bounds.upper as u32);
    }

    /// True once the node's evaluation has come back and its edges are known.
    pub(crate) fn is_expanded(&self, id: NodeId) -> bool {
        self.flag(id, EXPANDED)
    }

    /// True while somebody evaluates the node.
    pub(crate) fn is_pending(&self, id: NodeId) -> bool {
        self.flag(id, PENDING)
    }

    pub(crate) fn set_pending(&mut self, id: NodeId, on: bool) {
        self.set_flag(id, PENDING, on);
    }

    /// True if some visits of this node are kept nowhere below it: it was folded and grew again, or a line ended at
    /// it because the path could not get longer.
    pub(crate) fn is_regrown(&self, id: NodeId) -> bool {
        self.flag(id, REGROWN)
    }

    pub(crate) fn set_regrown(&mut self, id: NodeId) {
        self.set_flag(id, REGROWN, true);
    }

    pub(crate) fn set_pinned(&mut self, id: NodeId, on: bool) {
        self.set_flag(id, PINNED, on);
    }

    pub(crate) fn is_pinned(&self, id: NodeId) -> bool {
        self.flag(id, PINNED)
    }

    /// The node in the `slot`th record, if there is one.
    pub(crate) fn node_in_slot(&self, slot: u32) -> Option<NodeId> {
        let id = NodeId::from_link(slot + 1)?;
        (slot < self.node_pool.high_water() && self.flag(id, LIVE)).then_some(id)
    }

    pub(crate) fn slots_used(&self) -> u32 {
        self.node_pool.high_water()
    }

    pub(crate) fn free_nodes(&self) -> usize {
        self.nodes.len() - self.node_pool.live()
    }

    pub(crate) fn free_blocks(&self) -> usize {
        self.blocks.len() - self.block_pool.live()
    }

    /// Number of legal moves.
    pub(crate) fn edge_count(&self, id: NodeId) -> usize {
        (self.word(id, STATE) & COUNT_MASK) as usize
    }

    /// Number of edges with a visit, in flight or not: always the first ones.
    pub(crate) fn visited_count(&self, id: NodeId) -> usize {
        (self.word(id, STATE) >> VISITED_SHIFT & COUNT_MASK) as usize
    }

    /// Blocks that `edges` edges need.
    pub(crate) fn blocks_for(edges: usize) -> usize {
        edges.div_ceil(EDGES_PER_BLOCK)
    }

    /// Gives a node its edges, sorted by prior (`logit` holds the probability by now). Equal priors stand in the order
    /// of their moves, so that the order is the same everywhere. Without room the node stays as it is and the answer
    /// is `false`.
    pub(crate) fn expand(&mut self, id: NodeId, policy: &mut [MoveLogit]) -> bool {
        if policy.len() > MAX_EDGES || Self::blocks_for(policy.len()) > self.free_blocks() {
            return false;
        }
        policy.sort_unstable_by_key(|p| (Reverse(prior::pack(p.logit)), p.mv));
        let mut next = NONE;
        // From the last piece to the first: each knows the one behind it.
        for piece in policy.chunks(EDGES_PER_BLOCK).rev() {
            let Some(link) = self.block_pool.take(self.blocks) else { return false };
            let block = &mut self.blocks[link as usize - 1];
            for (word, p) in block.iter_mut().zip(piece) {
                *word = u32::from(p.mv.0) << 16 | u32::from(prior::pack(p.logit));
            }
            block[NEXT] = next;
            next = link;
        }
        *self.word_mut(id, EDGES) = next;
        let state = self.word_mut(id, STATE);
        *state = *state & !COUNT_MASK | policy.len() as u32 | EXPANDED;
        true
    }

    /// Moves and priors, most likely first.
    pub(crate) fn edges(&self, id: NodeId) -> impl Iterator<Item = (Move, f32)> + '_ {
        self.edge_words(id).map(|word| (Move((word >> 16) as u16), prior::unpack(word as u16)))
    }

    fn edge_words(&self, id: NodeId) -> impl Iterator<Item = u32> + '_ {
        let mut link = self.word(id, EDGES);
        let mut at = 0;
        (0..self.edge_count(id)).map(move |_| {
            if at == EDGES_PER_BLOCK {
                link = self.blocks[link as usize - 1][NEXT];
                at = 0;
            }
            at += 1;
            self.blocks[link as usize - 1][at - 1]
        })
    }

    /// The `index`th edge's prior becomes the smallest one: its move loses, so nothing should attract visits to it.
    pub(crate) fn clear_prior(&mut self, id: NodeId, index: usize) {
        let mut link = self.word(id, EDGES);
        for _ in 0..index / EDGES_PER_BLOCK {
            link = self.blocks[link as usize - 1][NEXT];
        }
        self.blocks[link as usize - 1][index % EDGES_PER_BLOCK] &= !0xffff;
    }

    /// The records of the visited edges, in the order of the edges.
    pub(crate) fn visits(&self, id: NodeId) -> impl Iterator<Item = (VisitRef, Visit)> + '_ {
        let mut link = self.word(id, VISITS);
        let mut at = 0;
        (0..self.visited_count(id)).map(move |_| {
            if at == VISITS_PER_BLOCK {
                link = self.blocks[link as usize - 1][NEXT];
                at = 0;
            }
            at += 1;
            let place = VisitRef(link * VISITS_PER_BLOCK as u32 + at as u32 - 1);
            (place, self.visit(place))
        })
    }

    fn visit_place(place: VisitRef) -> (usize, usize) {
        (place.0 as usize / VISITS_PER_BLOCK - 1, place.0 as usize % VISITS_PER_BLOCK)
    }

    pub(crate) fn visit(&self, place: VisitRef) -> Visit {
        let (slot, half) = Self::visit_place(place);
        let block = &self.blocks[slot];
        let words = &block[half * VISIT_WORDS..][..VISIT_WORDS];
        let m = block[BOTH_M] >> (16 * half) & 0xffff;
        Visit { n: words[0], q: f32::from_bits(words[1]), m: m as f32 / M_ONE, child: NodeId::from_link(words[2]) }
    }

    pub(crate) fn set_visit(&mut self, place: VisitRef, visit: Visit) {
        let (slot, half) = Self::visit_place(place);
        let block = &mut self.blocks[slot];
        let child = visit.child.map_or(NONE, NodeId::link);
        block[half * VISIT_WORDS..][..VISIT_WORDS].copy_from_slice(&[visit.n, visit.q.to_bits(), child]);
        // The conversion saturates.
        let m = u32::from(libm::rintf(visit.m * M_ONE) as u16);
        block[BOTH_M] = block[BOTH_M] & !(0xffff << (16 * half)) | m << (16 * half);
    }

    /// The record of the `index`th edge; makes those up to it if they are missing. `None` when there is no room.
    pub(crate) fn visit_at(&mut self, id: NodeId, index: usize) -> Option<(VisitRef, Visit)> {
        while self.visited_count(id) <= index {
            self.push_visit(id)?;
        }
        self.visits(id).nth(index)
    }

    fn push_visit(&mut self, id: NodeId) -> Option<()> {
        let count = self.visited_count(id);
        let last = self.last_block(self.word(id, VISITS));
        let link = if count.is_multiple_of(VISITS_PER_BLOCK) {
            let link = self.block_pool.take(self.blocks)?;
            match last {
                NONE => *self.word_mut(id, VISITS) = link,
                last => self.blocks[last as usize - 1][NEXT] = link,
            }
            link
        } else {
            last
        };
        let place = VisitRef(link * VISITS_PER_BLOCK as u32 + (count % VISITS_PER_BLOCK) as u32);
        self.set_visit(place, Visit { n: 0, q: f32::NAN, m: 0.0, child: None });
        *self.word_mut(id, STATE) += 1 << VISITED_SHIFT;
        Some(())
    }

    fn last_block(&self, mut link: u32) -> u32 {
        while link != NONE && self.blocks[link as usize - 1][NEXT] != NONE {
            link = self.blocks[link as usize - 1][NEXT];
        }
        link
    }

    fn free_blocks_of(&mut self, mut link: u32) {
        while link != NONE {
            let next = self.blocks[link as usize - 1][NEXT];
            self.block_pool.give(self.blocks, link);
            link = next;
        }
    }

    /// Frees a node and everything below it; gives back how many nodes that were.
    ///
    /// Nodes still to be freed form a list through their first word: no recursion, whatever the depth.
    pub(crate) fn free_subtree(&mut self, top: NodeId) -> usize {
        let mut freed = 0;
        *self.word_mut(top, N) = NONE;
        let mut todo = Some(top);
        while let Some(id) = todo {
            todo = NodeId::from_link(self.word(id, N));
            todo = self.push_children(id, todo);
            self.free_node(id);
            freed += 1;
        }
        freed
    }

    fn push_children(&mut self, id: NodeId, mut todo: Option<NodeId>) -> Option<NodeId> {
        let mut link = self.word(id, VISITS);
        while link != NONE {
            for half in 0..VISITS_PER_BLOCK {
                let child = NodeId::from_link(self.blocks[link as usize - 1][half * VISIT_WORDS + 2]);
                if let Some(child) = child {
                    *self.word_mut(child, N) = todo.map_or(NONE, NodeId::link);
                    todo = Some(child);
                }
            }
            link = self.blocks[link as usize - 1][NEXT];
        }
        todo
    }

    /// Frees one node whose children somebody else owns or has freed.
    pub(crate) fn free_node(&mut self, id: NodeId) {
        self.free_blocks_of(self.word(id, EDGES));
        self.free_blocks_of(self.word(id, VISITS));
        *self.word_mut(id, STATE) = 0;
        self.node_pool.give(self.nodes, id.link());
    }
}
