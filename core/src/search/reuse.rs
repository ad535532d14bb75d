//! Keeping what is known: across the moves of a game, and when the memory is full.

use super::Search;
use crate::evaluate::{Move, Value};
use crate::tree::{Bounds, NodeId, Sums, Visit, VisitRef};

/// Share of the tree that [`Search::recycle`] frees at least, if it can: one in this many nodes.
const RECYCLED_SHARE: usize = 8;

impl Search<'_> {
    /// The game went on by `moves` from the root: the tree below them is kept, the rest is freed. Gives back the
    /// visits that the new root has already.
    ///
    /// Bring back or cancel what is in flight before: otherwise the whole tree is forgotten, since nobody would take
    /// those visits back. Answers that come later are refused as stale.
    pub fn advance(&mut self, moves: &[Move]) -> u32 {
        if self.in_flight > 0 {
            self.clear();
            return 0;
        }
        for &mv in moves {
            self.advance_one(mv);
        }
        self.epoch = self.epoch.wrapping_add(1);
        if let Some(root) = self.root {
            self.reopen_root(root);
        }
        self.nodes()
    }

    fn advance_one(&mut self, mv: Move) {
        let Some(old) = self.root else { return };
        let place = self.visit_of(old, mv);
        let child = place.and_then(|(_, visit)| visit.child);
        if let (Some((place, visit)), Some(_)) = (place, child) {
            self.tree.set_visit(place, Visit { child: None, ..visit });
        }
        self.tree.free_subtree(old);
        self.root = child;
    }

    /// What is kept of a move that was visited.
    fn visit_of(&self, node: NodeId, mv: Move) -> Option<(VisitRef, Visit)> {
        let index = self.tree.edges(node).position(|(edge, _)| edge == mv)?;
        self.tree.visits(node).nth(index)
    }

    /// A root is searched even if it was proven, or drawn by a rule that holds only below a root: its value becomes
    /// the mean of what it was, once, and of its children.
    fn reopen_root(&mut self, root: NodeId) {
        if self.tree.ending(root).is_none() {
            return;
        }
        if !self.tree.is_expanded(root) {
            // Ended without children: asked again, it may be a mate, or a draw that does not count at the root.
            self.tree.free_subtree(root);
            self.root = None;
            return;
        }
        let (mut n, mut sums) = (1, Sums::of(self.tree.mean(root), 1));
        for (_, visit) in self.tree.visits(root) {
            let below = match visit.child {
                Some(child) => self.tree.sums(child),
                // Draws were not kept. Q has them in it, so it stands for W−L.
                None if visit.has_value() => Sums::of(Value { wl: -visit.q, d: 0.0, m: visit.m }, visit.n),
                None => continue,
            };
            n += visit.n;
            sums = sums.plus(below.one_ply_up(visit.n));
        }
        self.tree.set_ending(root, None);
        self.tree.set_bounds(root, Bounds::OPEN);
        self.tree.set_sums(root, n, sums);
        self.tree.set_regrown(root);
    }

    /// Makes room by folding the least visited subtrees into their parents' edges, which keep N and Q. Nodes of the
    /// line that would be played stay. Gives back the number of nodes freed: 0 if there is nothing to fold, or while events
    /// are in flight.
    pub fn recycle(&mut self) -> usize {
        let Some(root) = self.root.filter(|_| self.in_flight == 0) else { return 0 };
        let best = self.best_move();
        self.pin_line(root, best, true);
        let target = (self.tree.live_nodes() / RECYCLED_SHARE).max(1);
        let limit = self.fold_limit(target);
        let slots = self.tree.slots_used();
        let mut freed = 0;
        for _ in 0..slots {
            if freed >= target {
                break;
            }
            // Begin where the last time ended, so that no part of the tree is folded more often than others.
            self.clock_hand = if self.clock_hand + 1 < slots { self.clock_hand + 1 } else { 0 };
            if let Some(parent) = self.tree.node_in_slot(self.clock_hand) {
                freed += self.fold_children(parent, limit);
            }
        }
        self.pin_line(root, best, false);
        freed
    }

    /// The number of visits up to which nodes are folded so that `target` nodes go: a power of two.
    fn fold_limit(&self, target: usize) -> u32 {
        let mut by_size = [0usize; 32];
        let nodes = (0..self.tree.slots_used()).filter_map(|slot| self.tree.node_in_slot(slot));
        for node in nodes.filter(|node| !self.tree.is_pinned(*node)) {
            by_size[self.tree.n(node).max(1).ilog2() as usize] += 1;
        }
        let mut sum = 0;
        for (log, count) in by_size.iter().enumerate() {
            sum += count;
            if sum > 2 * target {
                return (2u32 << log) - 1;
            }
        }
        u32::MAX
    }

    fn fold_children(&mut self, parent: NodeId, limit: u32) -> usize {
        let mut freed = 0;
        for index in 0..self.tree.visited_count(parent) {
            let Some((place, visit)) = self.tree.visits(parent).nth(index) else { break };
            let Some(child) = visit.child else { continue };
            if self.tree.is_pinned(child) || self.tree.n(child) > limit {
                continue;
            }
            self.tree.set_visit(place, Visit { child: None, ..visit });
            freed += self.tree.free_subtree(child);
        }
        freed
    }

    /// Marks the nodes of the line that begins with the move to play and goes on with the most visits.
    fn pin_line(&mut self, root: NodeId, best: Option<Move>, on: bool) {
        self.tree.set_pinned(root, on);
        let mut node = best.and_then(|mv| self.visit_of(root, mv)).and_then(|(_, visit)| visit.child);
        while let Some(id) = node {
            self.tree.set_pinned(id, on);
            let most = self.tree.visits(id).map(|(_, visit)| visit).max_by_key(|visit| visit.n);
            node = most.and_then(|visit| visit.child);
        }
    }
}
