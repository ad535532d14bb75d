//! Going on when the memory is full.

use super::Search;
use crate::repository::{Key, Node, Repository};

/// Nodes that are looked at in one go: so many that the search does not wait for long.
const WINDOW: usize = 1 << 14;
/// Share of them that is freed at least, if it can be: one in so many.
const RECYCLED_SHARE: usize = 8;

impl<R: Repository> Search<R> {
    /// Makes room by folding the least visited subtrees into their parents' edges, which keep N and value. Nodes of the
    /// line that would be played stay, and so do those on the path of an event in flight, and the root's children whose
    /// result is certain: without it another move might seem to be the best. Gives back the number of nodes freed: 0 if
    /// there is nothing to fold.
    ///
    /// Looks at a part of the tree only, so that it ends soon, and goes on with another part the next time.
    pub fn recycle(&mut self) -> usize {
        let Some(root) = self.root else { return 0 };
        self.pin_line(root, true);
        let windows = self.repository.live_nodes() / WINDOW + 2;
        let mut freed = 0;
        for _ in 0..windows {
            freed += self.recycle_window(root);
            if freed > 0 {
                break;
            }
        }
        self.pin_line(root, false);
        freed
    }

    /// The nodes from the clock hand on, and after the last one those from the first on: a few nodes at the end would not
    /// tell which ones are small.
    fn window(&self) -> impl Iterator<Item = Key> + '_ {
        let from = |cursor| core::iter::successors(self.repository.scan(cursor), |(_, at)| self.repository.scan(*at));
        let before = from(0).take_while(|(_, at)| *at <= self.clock_hand);
        from(self.clock_hand).chain(before).map(|(node, _)| node).take(WINDOW)
    }

    fn recycle_window(&mut self, root: Key) -> usize {
        let (limit, target) = self.fold_limit();
        let mut freed = 0;
        for _ in 0..WINDOW {
            // A window that ends in the middle goes on there the next time: no part is folded more often than others.
            let Some((node, at)) = self.repository.scan(self.clock_hand) else {
                self.clock_hand = 0;
                break;
            };
            self.clock_hand = at;
            freed += self.fold_children(node, limit, node != root);
            if freed >= target {
                break;
            }
        }
        freed
    }

    /// The number of visits up to which nodes are folded so that a share of the window's nodes goes (a power of two), and
    /// how many nodes that share is.
    fn fold_limit(&self) -> (u32, usize) {
        let mut by_size = [0usize; 32];
        let mut all = 0;
        for key in self.window() {
            let node = self.repository.lock(key);
            all += 1;
            if !node.is_pinned() {
                by_size[node.n().max(1).ilog2() as usize] += 1;
            }
        }
        let target = (all / RECYCLED_SHARE).max(1);
        let mut sum = 0;
        for (log, count) in by_size.iter().enumerate() {
            sum += count;
            if sum > 2 * target {
                return ((2u64 << log).saturating_sub(1).min(u32::MAX.into()) as u32, target);
            }
        }
        (u32::MAX, target)
    }

    /// Folds children with at most `limit` visits. Of a node whose result is certain only the result is of use.
    fn fold_children(&mut self, parent: Key, limit: u32, below_root: bool) -> usize {
        let node = self.repository.lock(parent);
        let (count, certain) = (node.visited_count(), node.ending().is_some() && !node.is_pinned());
        drop(node);
        if certain && below_root && count > 0 {
            return self.repository.free_below(parent);
        }
        let mut freed = 0;
        for at in 0..count {
            if self.may_fold(parent, at, limit, below_root) {
                freed += self.repository.fold(parent, at);
            }
        }
        freed
    }

    fn may_fold(&self, parent: Key, at: usize, limit: u32, certain_too: bool) -> bool {
        let node = self.repository.lock(parent);
        let flying = node.visit(at).in_flight > 0;
        let Some(child) = node.child(at).filter(|_| !flying) else { return false };
        let child = self.repository.lock(child);
        !child.is_pinned() && child.n() <= limit && (certain_too || child.ending().is_none())
    }

    /// Marks the nodes of the line that begins with the move to play and goes on with the most visits.
    fn pin_line(&self, root: Key, on: bool) {
        self.repository.lock(root).set_pinned(on);
        let mut next = self.best_edge().and_then(|edge| edge.child_key());
        while let Some(key) = next {
            let mut node = self.repository.lock(key);
            if node.is_pinned() == on {
                return;
            }
            node.set_pinned(on);
            let most = node.visits().enumerate().max_by_key(|(_, visit)| visit.n);
            next = most.and_then(|(at, _)| node.child(at));
        }
    }
}
