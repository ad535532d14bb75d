//! A locked node: reads and updates its parts.

use super::heap::Array;
use super::memory::{NodeWords, Tree, key_of_link, slot_of};
use super::record::{self, RECORD};
use crate::evaluate::{Ending, Value};
use crate::place;
use crate::repository::{Bound, Bounds, EdgeValue, Key, MOST_IDLE, Naming, Node, Seen, Sums, Visit, prior};
use crate::sync::{AtomicU32, get, release, set};
use core::fmt;

// The words of a node.
pub(super) const STATE: usize = 0;
/// The array of priors; in a node that ended and has no branch: N.
const PRIORS: usize = 1;
/// Without a branch: the value of the only visit. With a branch: its array …
const VALUE: usize = 2;
const BRANCH_ARRAY: usize = VALUE;
/// … the edge to be visited next (its prior's code, with its index in the bits above) …
const UPCOMING: usize = 3;
/// … and how many records there are (low half), and how many there is room for.
const RECORDS: usize = 4;

// The bits of STATE.
pub(super) const LOCKED: u32 = 1;
pub(super) const LIVE: u32 = 1 << 1;
const EXPANDED: u32 = 1 << 2;
const PENDING: u32 = 1 << 3;
const REGROWN: u32 = 1 << 4;
const PINNED: u32 = 1 << 5;
const BRANCH: u32 = 1 << 6;
const RESTORING: u32 = 1 << 7;
/// How the game ended, in three bits; the next three fields have two each.
const ENDING_SHIFT: u32 = 8;
const ENDING_BITS: u32 = 7;
const LOWER_SHIFT: u32 = 11;
const UPPER_SHIFT: u32 = 13;
/// [`MOST_IDLE`] less how often recycling has looked at the node since its last visit.
const RECENT_SHIFT: u32 = 15;
const TWO_BITS: u32 = 3;
/// The number of edges, in the bits that are left.
const COUNT_SHIFT: u32 = 17;
const _: () = assert!(MAX_EDGES < 1 << (u32::BITS - COUNT_SHIFT));
/// The state of a node without visits.
pub(super) const NEW: u32 = LIVE | (Bound::Win as u32) << UPPER_SHIFT;

/// The most edges that a node can have. Go on a 19×19 board has 362.
pub const MAX_EDGES: usize = 1023;

// The words of a branch.
const N: usize = 0;
const SUMS: usize = 1;
const FIRST_RECORD: usize = SUMS + Sums::WORDS;

/// A prior's code in an array of priors: 0 for an edge that has a record. (No prior packs to the largest 16-bit number,
/// so adding 1 does not overflow.)
const HAS_RECORD: u16 = 0;

/// A node of a [`Tree`] under its lock.
pub struct Locked<'t, 'm> {
    tree: &'t Tree<'m>,
    words: &'m NodeWords,
    state: u32,
    /// The words from the branch on; empty without a branch. It is kept here, because the compiler does not merge two
    /// reads of an atomic.
    branch: &'m [AtomicU32],
}

impl fmt::Debug for Locked<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut node = f.debug_struct("Locked");
        node.field("n", &self.n()).field("mean", &self.mean()).field("bounds", &self.bounds());
        node.field("edge_count", &self.edge_count()).finish_non_exhaustive()
    }
}

/// How many words memory delivers at once: a cache line.
#[cfg(not(loom))]
const LINE_WORDS: usize = 16;

/// Prefetches what selection will read of a node. The node is not locked, so what its words say may be out of date;
/// then the wrong words are prefetched, in vain.
#[cfg(not(loom))]
#[inline]
pub(super) fn prefetch_edges(all: &[AtomicU32], node: &NodeWords) {
    let state = get(&node[STATE]);
    let prefetch = |at: usize| _ = all.get(at).map(crate::sync::prefetch);
    // If no edge is left to be opened, selection does not read the priors.
    if state & EXPANDED != 0 && (state & BRANCH == 0 || get(&node[UPCOMING]) != 0) {
        let priors = get(&node[PRIORS]) as usize;
        prefetch(priors);
        prefetch(priors + (state >> COUNT_SHIFT) as usize / 2);
    }
    if state & BRANCH != 0 {
        let (branch, records) = (get(&node[BRANCH_ARRAY]) as usize, (get(&node[RECORDS]) & 0xffff) as usize);
        let end = branch + FIRST_RECORD + records.min(MAX_EDGES) * RECORD;
        (branch..end).step_by(LINE_WORDS).for_each(prefetch);
        prefetch(end - 1);
    }
}

impl Drop for Locked<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        release(&self.words[STATE], self.state);
    }
}

impl<'t, 'm> Locked<'t, 'm> {
    #[inline]
    pub(super) fn new(tree: &'t Tree<'m>, words: &'m NodeWords, state: u32) -> Self {
        let branch =
            if state & BRANCH != 0 { place::from(tree.words, get(&words[BRANCH_ARRAY]) as usize) } else { &[] };
        Self { tree, words, state, branch }
    }

    fn flag(&self, flag: u32) -> bool {
        self.state & flag != 0
    }

    fn set_flag(&mut self, flag: u32, on: bool) {
        self.state = if on { self.state | flag } else { self.state & !flag };
    }

    fn has_ended(&self) -> bool {
        self.state & (ENDING_BITS << ENDING_SHIFT) != 0
    }

    fn two_bits(&self, shift: u32) -> u32 {
        self.state >> shift & TWO_BITS
    }

    fn set_two_bits(&mut self, shift: u32, bits: u32) {
        self.state = self.state & !(TWO_BITS << shift) | bits << shift;
    }

    /// Makes this array the branch.
    fn set_branch(&mut self, array: Array) {
        set(&self.words[BRANCH_ARRAY], array);
        self.set_flag(BRANCH, true);
        self.branch = place::from(self.tree.words, array as usize);
    }

    /// The words of the branch before its records.
    #[inline(always)]
    fn branch_head(&self) -> &'m [AtomicU32; FIRST_RECORD] {
        place::chunk(self.branch, 0)
    }

    #[inline]
    fn records(&self) -> usize {
        if self.flag(BRANCH) { (get(&self.words[RECORDS]) & 0xffff) as usize } else { 0 }
    }

    fn set_records(&mut self, records: usize, room: usize) {
        set(&self.words[RECORDS], records as u32 | (room as u32) << 16);
    }

    #[inline]
    fn record_words(&self) -> &'m [[AtomicU32; RECORD]] {
        if !self.flag(BRANCH) {
            return &[];
        }
        let records = self.records();
        let (all, _) = place::span(self.branch, FIRST_RECORD, records * RECORD).as_chunks::<RECORD>();
        all
    }

    #[inline(always)]
    fn record(&self, at: usize) -> &'m [AtomicU32; RECORD] {
        debug_assert!(at < self.records(), "record {at} of {}", self.records());
        place::chunk(self.branch, FIRST_RECORD + at * RECORD)
    }

    fn priors(&self) -> &'m [AtomicU32] {
        let first = get(&self.words[PRIORS]) as usize;
        place::span(self.tree.words, first, self.edge_count().div_ceil(2))
    }

    /// The value of the only visit of a node without a branch.
    #[inline]
    fn own_value(&self) -> Value {
        let part = |i: usize| f32::from_bits(get(&self.words[VALUE + i]));
        Value { wl: part(0), d: part(1), m: part(2) }
    }

    fn set_own_value(&mut self, value: Value) {
        let value = Sums::in_range(value);
        for (word, part) in self.words[VALUE..].iter().zip([value.wl, value.d, value.m]) {
            set(word, part.to_bits());
        }
    }

    #[inline(always)]
    fn branch_sums(&self) -> Sums {
        head_sums(self.branch_head())
    }

    #[inline(always)]
    fn set_branch_sums(&mut self, n: u32, sums: Sums) {
        write_head(self.branch_head(), n, sums);
    }

    /// Adds visits to a node without a branch.
    #[inline]
    fn add_to_leaf(&mut self, n: i32, sums: Sums) {
        if self.has_ended() {
            set(&self.words[PRIORS], self.n().wrapping_add_signed(n));
        } else {
            self.set_own_value(sums.mean(1));
        }
    }

    /// Moves N and the sums to a new branch, with room for one record.
    fn make_branch(&mut self, n: u32, sums: Sums) -> bool {
        let Some(array) = self.take_branch(1) else { return false };
        self.set_branch(array);
        self.set_records(0, 1);
        self.set_branch_sums(n, sums);
        true
    }

    fn take_branch(&self, records: usize) -> Option<Array> {
        self.tree.arrays.take(self.tree.words, (FIRST_RECORD + records * RECORD) as u32)
    }

    /// How many records to make room for when `records` are full: half as many again, and fewer if memory is short.
    fn grown(&self, records: usize) -> usize {
        let short = self.tree.arrays.is_short(self.tree.words);
        records + records / if short { 8 } else { 2 } + 1
    }

    /// Makes room for one more record.
    fn make_room(&mut self) -> bool {
        let records = self.records();
        if records < (get(&self.words[RECORDS]) >> 16) as usize {
            return true;
        }
        let Some(array) = self.take_branch(self.grown(records)) else { return false };
        let old = get(&self.words[BRANCH_ARRAY]);
        let room = (self.tree.arrays.len(self.tree.words, array) as usize - FIRST_RECORD) / RECORD;
        let used = FIRST_RECORD + records * RECORD;
        for (to, from) in place::span(self.tree.words, array as usize, used).iter().zip(self.branch) {
            set(to, get(from));
        }
        self.set_branch(array);
        self.set_records(records, room.min(MAX_EDGES));
        self.tree.arrays.give(self.tree.words, old);
        true
    }

    /// The word for the edge to be visited next, 0 if all edges have a record.
    #[inline]
    fn upcoming(&self) -> u32 {
        if self.flag(BRANCH) { get(&self.words[UPCOMING]) } else { self.find_upcoming() }
    }

    /// Finds the edge with the largest prior, of equal ones the first, and returns its word.
    fn find_upcoming(&self) -> u32 {
        if !self.flag(EXPANDED) || self.edge_count() == 0 {
            return 0;
        }
        // The code in the high half decides, then the smaller index: the lists are short.
        let (mut best, mut rank) = (0, 0xffff);
        for word in self.priors() {
            let word = get(word);
            best = best.max(word << 16 | rank).max(word & 0xffff_0000 | (rank - 1));
            rank -= 2;
        }
        if best >> 16 == 0 { 0 } else { best >> 16 | (0xffff - (best & 0xffff)) << 16 }
    }

    fn code(&self, index: usize) -> u16 {
        (get(place::at(self.priors(), index / 2)) >> (16 * (index % 2))) as u16
    }

    fn set_code(&mut self, index: usize, code: u16) {
        let word = place::at(self.priors(), index / 2);
        let shift = 16 * (index % 2);
        set(word, get(word) & !(0xffff << shift) | u32::from(code) << shift);
    }

    /// Frees the node's arrays, which are outside of its record.
    pub(super) fn give_arrays(&mut self) {
        if self.flag(EXPANDED) {
            self.tree.arrays.give(self.tree.words, get(&self.words[PRIORS]));
        }
        if self.flag(BRANCH) {
            self.tree.arrays.give(self.tree.words, get(&self.words[BRANCH_ARRAY]));
        }
        self.state &= !(EXPANDED | BRANCH);
        self.branch = &[];
    }

    /// Makes the node one of which nothing is known, for anybody who still holds its key.
    pub(super) fn die(&mut self) {
        self.state = (Bound::Win as u32) << UPPER_SHIFT;
    }

    /// Frees the edges of a node that ended: N and value remain.
    pub(super) fn become_leaf(&mut self) {
        let (n, value) = (self.n(), self.mean());
        self.give_arrays();
        self.settle(n, value);
    }
}

#[inline(always)]
fn head_sums(head: &[AtomicU32; FIRST_RECORD]) -> Sums {
    Sums::from_words(|i| get(&head[SUMS + i]))
}

#[inline(always)]
fn write_head(head: &[AtomicU32; FIRST_RECORD], n: u32, sums: Sums) {
    set(&head[N], n);
    for (word, part) in head[SUMS..].iter().zip(sums.to_words()) {
        set(word, part);
    }
}

impl Node for Locked<'_, '_> {
    #[inline]
    fn n(&self) -> u32 {
        if self.flag(BRANCH) {
            get(&self.branch_head()[N])
        } else if self.has_ended() {
            get(&self.words[PRIORS])
        } else {
            u32::from(self.flag(EXPANDED))
        }
    }

    #[inline]
    fn mean(&self) -> Value {
        if self.flag(BRANCH) {
            self.branch_sums().mean(self.n())
        } else if self.n() > 0 {
            self.own_value()
        } else {
            Value::EVEN
        }
    }

    #[inline]
    fn mean_wl(&self) -> f32 {
        if self.flag(BRANCH) { self.branch_sums().mean_wl(self.n()) } else { self.mean().wl }
    }

    #[inline]
    fn sums(&self) -> Sums {
        if self.flag(BRANCH) { self.branch_sums() } else { Sums::of(self.mean(), self.n()) }
    }

    #[inline]
    fn add(&mut self, n: i32, sums: Sums) {
        self.state |= MOST_IDLE << RECENT_SHIFT;
        if self.flag(BRANCH) {
            let head = self.branch_head();
            write_head(head, get(&head[N]).wrapping_add_signed(n), head_sums(head).plus(sums));
        } else {
            self.add_to_leaf(n, sums);
        }
    }

    fn settle(&mut self, n: u32, value: Value) {
        debug_assert!(self.flag(BRANCH) || !self.flag(EXPANDED), "the word for visits names this leaf's priors");
        if self.flag(BRANCH) {
            self.set_branch_sums(n, Sums::of(value, n));
        } else {
            set(&self.words[PRIORS], n);
            self.set_own_value(value);
        }
    }

    fn set_sums(&mut self, sums: Sums) {
        let n = self.n();
        if self.flag(BRANCH) {
            self.set_branch_sums(n, sums);
        } else {
            self.set_own_value(sums.mean(n));
        }
    }

    fn regrow(&mut self, n: u32, value: Value) -> bool {
        let sums = Sums::of(value, n);
        if self.flag(BRANCH) {
            self.set_branch_sums(self.n() + n, self.sums().plus(sums));
        } else if self.make_branch(self.n() + n, self.sums().plus(sums)) {
            set(&self.words[UPCOMING], self.find_upcoming());
        } else {
            return false;
        }
        self.set_regrown();
        true
    }

    #[inline]
    fn ending(&self) -> Option<Ending> {
        match self.state >> ENDING_SHIFT & ENDING_BITS {
            0 => None,
            1 => Some(Ending::Game),
            2 => Some(Ending::Tablebase),
            3 => Some(Ending::TwoFold),
            _ => Some(Ending::Scored),
        }
    }

    fn set_ending(&mut self, ending: Option<Ending>) {
        let bits = match ending {
            None => 0,
            Some(Ending::Game) => 1,
            Some(Ending::Tablebase) => 2,
            Some(Ending::TwoFold) => 3,
            Some(Ending::Scored) => 4,
        };
        self.state = self.state & !(ENDING_BITS << ENDING_SHIFT) | bits << ENDING_SHIFT;
    }

    fn bounds(&self) -> Bounds {
        let bound = |shift| match self.two_bits(shift) {
            0 => Bound::Loss,
            1 => Bound::Draw,
            _ => Bound::Win,
        };
        Bounds { lower: bound(LOWER_SHIFT), upper: bound(UPPER_SHIFT) }
    }

    fn set_bounds(&mut self, bounds: Bounds) {
        self.set_two_bits(LOWER_SHIFT, bounds.lower as u32);
        self.set_two_bits(UPPER_SHIFT, bounds.upper as u32);
    }

    #[inline]
    fn is_expanded(&self) -> bool {
        self.flag(EXPANDED)
    }

    #[inline]
    fn is_pending(&self) -> bool {
        self.flag(PENDING)
    }

    fn set_pending(&mut self, on: bool) {
        self.set_flag(PENDING, on);
    }

    fn is_regrown(&self) -> bool {
        self.flag(REGROWN)
    }

    fn set_regrown(&mut self) {
        self.set_flag(REGROWN, true);
    }

    fn is_restoring(&self) -> bool {
        self.flag(RESTORING)
    }

    fn set_restoring(&mut self, on: bool) {
        self.set_flag(RESTORING, on);
    }

    fn idle(&self) -> u32 {
        MOST_IDLE - self.two_bits(RECENT_SHIFT)
    }

    fn set_idle(&mut self, idle: u32) {
        self.set_two_bits(RECENT_SHIFT, MOST_IDLE - idle);
    }

    fn is_pinned(&self) -> bool {
        self.flag(PINNED)
    }

    fn set_pinned(&mut self, on: bool) {
        self.set_flag(PINNED, on);
    }

    fn expand(&mut self, priors: &[f32]) -> bool {
        let len = priors.len().div_ceil(2) as u32;
        let Some(array) = self.tree.arrays.take(self.tree.words, len) else { return false };
        let code = |p: f32| u32::from(prior::pack(p)) + 1;
        for (word, pair) in place::span(self.tree.words, array as usize, len as usize).iter().zip(priors.chunks(2)) {
            let [low, high] = match pair {
                [low, high] => [code(*low), code(*high)],
                [low, ..] => [code(*low), HAS_RECORD.into()],
                [] => [HAS_RECORD.into(); 2],
            };
            set(word, low | high << 16);
        }
        set(&self.words[PRIORS], array);
        self.state = self.state & ((1 << COUNT_SHIFT) - 1) | (priors.len() as u32) << COUNT_SHIFT | EXPANDED;
        if self.flag(BRANCH) {
            set(&self.words[UPCOMING], self.find_upcoming());
        }
        true
    }

    #[inline]
    fn edge_count(&self) -> usize {
        (self.state >> COUNT_SHIFT) as usize
    }

    #[inline]
    fn visited_count(&self) -> usize {
        self.records()
    }

    #[inline]
    fn visit(&self, at: usize) -> Visit {
        record::read(self.record(at))
    }

    #[inline]
    fn visits(&self) -> impl Iterator<Item = Visit> + '_ {
        self.record_words().iter().map(record::read)
    }

    #[inline]
    fn seen(&self) -> impl Iterator<Item = Seen> + '_ {
        self.record_words().iter().map(record::seen)
    }

    #[inline]
    fn naming(&self, at: usize) -> Naming {
        record::naming(self.record(at))
    }

    #[inline]
    fn depart(&mut self, at: usize) -> bool {
        record::depart(self.record(at))
    }

    #[inline(always)]
    fn arrive(&mut self, at: usize, visits: u16, value: EdgeValue) -> Sums {
        record::arrive(self.record(at), visits, value)
    }

    #[inline]
    fn set_visit(&mut self, at: usize, visit: Visit) {
        record::write(self.record(at), visit);
    }

    #[inline]
    fn child(&self, at: usize) -> Option<Key> {
        key_of_link(record::child(self.record(at)))
    }

    fn set_child(&mut self, at: usize, child: Option<Key>) {
        record::set_child(self.record(at), child.map_or(0, |child| slot_of(child) + 1));
    }

    #[inline]
    fn is_firm(&self, at: usize) -> bool {
        record::is_firm(self.record(at))
    }

    #[inline]
    fn set_firm(&mut self, at: usize) {
        record::set_firm(self.record(at));
    }

    #[inline]
    fn next_unvisited(&self) -> Option<(u16, f32)> {
        let upcoming = self.upcoming();
        let code = upcoming as u16;
        (code != HAS_RECORD).then(|| ((upcoming >> 16) as u16, prior::unpack(code - 1)))
    }

    fn unvisited_prior(&self, index: usize) -> Option<f32> {
        if !self.flag(EXPANDED) || index >= self.edge_count() {
            return None;
        }
        let code = self.code(index);
        (code != HAS_RECORD).then(|| prior::unpack(code - 1))
    }

    fn open_edge(&mut self, index: u16) -> Option<usize> {
        if !self.flag(BRANCH) && !self.make_branch(self.n(), self.sums()) {
            return None;
        }
        if !self.make_room() {
            return None;
        }
        let at = self.records();
        self.set_records(at + 1, (get(&self.words[RECORDS]) >> 16) as usize);
        let prior = self.code(index.into()) - 1;
        self.set_code(index.into(), HAS_RECORD);
        set(&self.words[UPCOMING], self.find_upcoming());
        let words = self.record(at);
        record::set_child(words, 0);
        record::write(words, Visit { n: 0, in_flight: 0, value: None, prior, mv: Naming::Index(index) });
        Some(at)
    }
}
