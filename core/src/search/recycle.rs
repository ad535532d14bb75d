//! Recycling: how a search goes on when its memory is full.
//!
//! A folded subtree leaves its N and value in its parent's edge. When a playout comes there again, the subtree grows
//! anew: the same evaluations, chosen by the same statistics, in the same order. Until it has as many visits as the
//! edge says, such a playout brings nothing new to the nodes above, so they do not count it; as nothing has changed
//! there, the next one comes the same way. With one thread and a tree the search goes where it would go without a limit
//! to its memory (but for what was proven of a node that is gone), and takes more playouts for it.
//!
//! The more visits there are for each node of memory, the more playouts only restore ([`Search::restored`]). So that
//! the search does not come to a standstill, there may be at most [`MOST_RESTORED`] of them for each visit of the root.
//! Beyond that a folded node takes over what its edge has kept, and what it finds anew is added to that.
//!
//! The root does not count restoring playouts, so its visits lag behind, most of all for a move that became the best one
//! recently. So the move to play is the one that would have the most visits if PUCT assigned these playouts there at the current values
//! ([`puct::level`](super::puct::level)).
//!
//! A leaf whose edges find no room stays in its parent's edge, and no playout is gathered before the tree is folded.
//! Otherwise playouts would reach that leaf repeatedly and learn no more than its one evaluation.

use super::Search;
use crate::repository::{Key, MOST_IDLE, Node, Repository, Visit};
use crate::sync::{get, set};

/// How many nodes are looked at in one go: so few that the search does not wait for long.
const WINDOW: usize = 1 << 14;
/// The share of these nodes that is freed at least, if possible: one in this many. If less is freed at a time, the
/// heap's pieces stay small.
const RECYCLED_SHARE: usize = 4;
/// How many nodes of the line that would be played stay whatever else there is, including the root: the move to play is
/// one of the root's edges, and what is below that grows again.
const SHORTEST_LINE: usize = 2;
/// By how many doublings of N recycling raises a node's rank for each of its passes in which the node still counts as
/// recent.
const RECENCY: u32 = 2;
/// How many playouts may restore, for each visit of the root.
const MOST_RESTORED: u32 = 2;
/// The number of ranks: log₂ of N, and recency.
const RANKS: usize = 32 + (RECENCY * MOST_IDLE) as usize;

/// What decides which nodes are folded first: those whose subtree costs few playouts to restore, and that no playout
/// has come to for long.
fn rank(n: u32, idle: u32) -> usize {
    (n.max(1).ilog2() + RECENCY * (MOST_IDLE - idle)) as usize
}

impl<R: Repository> Search<R> {
    /// Makes room by folding subtrees of few visits that were not visited lately into their parents' edges, which keep
    /// N and value. Three kinds of nodes stay: those on the path of an event in flight; the root's children whose
    /// result is certain, for without it another move might seem to be the best; and the line that would be played.
    /// Only where there is nothing else to fold and nothing in flight, the last half of that line is folded, then half
    /// of what is left, and so on.
    ///
    /// Returns how many nodes were freed. 0 means that none could be, and that the search can't go on before the events
    /// in flight, if there are any, are back. 1 may also mean that none was freed but the search can go on: what was
    /// missing was room for a leaf's edges, and now the leaf's parent's edge keeps its value.
    ///
    /// It looks at only a part of the tree, so that it ends soon, and goes on with another part the next time.
    #[must_use = "0 means that there is no room"]
    pub fn recycle(&mut self) -> usize {
        let Some(root) = self.root else { return 0 };
        let can_go_on = get(&self.short_of_room) as usize;
        set(&self.short_of_room, 0);
        let mut pinned = self.pin_line(root, true, usize::MAX);
        let mut freed = self.recycle_somewhere();
        while freed == 0 && can_go_on == 0 && pinned > SHORTEST_LINE && !self.is_under_way(root) {
            self.pin_line(root, false, usize::MAX);
            pinned = self.pin_line(root, true, (pinned / 2).max(SHORTEST_LINE));
            freed = self.recycle_somewhere();
        }
        self.pin_line(root, false, usize::MAX);
        self.set_restorable();
        freed.max(can_go_on)
    }

    /// Folds in the first window in which something can be folded; returns how many nodes were freed.
    fn recycle_somewhere(&mut self) -> usize {
        let windows = self.repository.live_nodes() / WINDOW + 2;
        (0..windows).map(|_| self.recycle_window()).find(|freed| *freed > 0).unwrap_or(0)
    }

    /// Begins to count the playouts that restore.
    pub(super) fn start_restoring(&mut self) {
        set(&self.restored, 0);
        self.visits_before = self.visits();
        self.set_restorable();
    }

    /// Sets how many playouts may restore: as many as the tree has nodes, so that it may be restored as a whole, or
    /// [`MOST_RESTORED`] for each visit of this move if that is more.
    fn set_restorable(&mut self) {
        let visits = self.visits().saturating_sub(self.visits_before);
        self.restorable = MOST_RESTORED.saturating_mul(visits).max(self.repository.live_nodes() as u32);
    }

    pub(super) fn may_restore(&self) -> bool {
        self.restored() < self.restorable
    }

    /// The nodes from the clock hand on, wrapping around after the last one: from only a few nodes at the end one could
    /// not tell which subtrees are small.
    fn window(&self) -> impl Iterator<Item = Key> + '_ {
        let from = |cursor| core::iter::successors(self.repository.scan(cursor), |(_, at)| self.repository.scan(*at));
        let before = from(0).take_while(|(_, at)| *at <= self.clock_hand);
        from(self.clock_hand).chain(before).map(|(node, _)| node).take(WINDOW)
    }

    fn recycle_window(&mut self) -> usize {
        let (limit, target) = self.fold_limit();
        let mut freed = 0;
        for _ in 0..WINDOW {
            // The next time a window that ends in the middle is continued from there: no part is folded more often than
            // others.
            let Some((node, at)) = self.repository.scan(self.clock_hand) else {
                self.clock_hand = 0;
                break;
            };
            self.clock_hand = at;
            freed += self.fold_children(node, limit);
            if freed >= target {
                break;
            }
        }
        freed
    }

    /// Returns the rank up to which nodes have to be folded to free a share of the window's nodes, and how many nodes
    /// that share is. Every node looked at becomes idler.
    fn fold_limit(&self) -> (usize, usize) {
        let mut by_rank = [0usize; RANKS];
        let mut all = 0;
        for key in self.window() {
            let node = self.repository.lock(key);
            all += 1;
            for at in 0..node.visited_count() {
                let Some(mut child) = node.child(at).map(|child| self.repository.lock(child)) else { continue };
                if !child.is_pinned() {
                    let idle = (child.idle() + 1).min(MOST_IDLE);
                    child.set_idle(idle);
                }
                // Those that can't be folded do not count: they might be all that is small.
                let rank = self.rank_of_child(key, &node.visit(at), &child);
                if let Some(count) = rank.and_then(|rank| by_rank.get_mut(rank)) {
                    *count += 1;
                }
            }
        }
        let target = (all / RECYCLED_SHARE).max(1);
        let mut sum = 0;
        for (rank, count) in by_rank.iter().enumerate() {
            sum += count;
            // Twice as many as have to go, because many of them go with one above them.
            if sum > 2 * target {
                return (rank, target);
            }
        }
        (RANKS, target)
    }

    /// Folds children with at most the rank `limit`. If a node's result is certain, only that result is of use. Returns
    /// how many nodes were freed.
    fn fold_children(&mut self, parent: Key, limit: usize) -> usize {
        let node = self.repository.lock(parent);
        let (count, certain) = (node.visited_count(), node.ending().is_some() && !node.is_pinned());
        drop(node);
        if certain && self.root != Some(parent) && count > 0 {
            return self.repository.free_below(parent);
        }
        let mut freed = 0;
        for at in 0..count {
            if self.may_fold(parent, at, limit) {
                freed += self.repository.fold(parent, at);
            }
        }
        freed
    }

    fn may_fold(&self, parent: Key, at: usize, limit: usize) -> bool {
        let node = self.repository.lock(parent);
        let Some(child) = node.child(at).map(|child| self.repository.lock(child)) else { return false };
        self.rank_of_child(parent, &node.visit(at), &child).is_some_and(|rank| rank <= limit)
    }

    /// The rank of a node's child; `None` if the child has to stay: it is pinned or visited now, or its result is
    /// certain and the parent is the root.
    fn rank_of_child(&self, parent: Key, visit: &Visit, child: &impl Node) -> Option<usize> {
        let decides = self.root == Some(parent) && child.ending().is_some();
        let may_go = !child.is_pinned() && visit.in_flight == 0 && !decides;
        may_go.then(|| rank(self.visits_to_restore(parent, visit, child), child.idle()))
    }

    /// How many visits are to be made again if a child is folded. One of the root's may have visits that came
    /// [aside](Search::bring_back_aside), or in a graph by other paths: its edge does not count them.
    fn visits_to_restore(&self, parent: Key, visit: &Visit, child: &impl Node) -> u32 {
        let counted = visit.completed();
        if self.root == Some(parent) { counted.max(child.n()) } else { counted }
    }

    /// Pins (or, with `on` false, releases) the root and the nodes of the line that begins with the move to play and
    /// goes on with the most visits, at most `most` of them. Returns how many there were.
    fn pin_line(&self, root: Key, on: bool, most: usize) -> usize {
        self.repository.lock(root).set_pinned(on);
        let mut next = self.best_edge().and_then(|edge| edge.child_key());
        let mut pinned = 1;
        while let Some(key) = next.filter(|_| pinned < most) {
            let mut node = self.repository.lock(key);
            if node.is_pinned() == on {
                break;
            }
            node.set_pinned(on);
            pinned += 1;
            let follows = node.visits().enumerate().max_by_key(|(_, visit)| visit.n);
            next = follows.and_then(|(at, _)| node.child(at));
        }
        pinned
    }
}
