//! Reuse: keeps what is known across the moves of a game.

use super::Search;
use super::worth::below;
use crate::evaluate::Move;
use crate::repository::{Bounds, Key, Naming, Node, Repository, Sums};

impl<R: Repository> Search<R> {
    /// Makes the position after `moves` the root, because the game went on by them: the tree below it is kept, the rest
    /// is freed. Returns the number of visits that the new root has already. What was said of the old root's moves
    /// ([`Search::set_root_moves`], [`Search::set_remaining_playouts`]) is forgotten, unless `moves` is empty and the
    /// root stays.
    ///
    /// From now on lines begin at the new root, those of an [`Evaluator`](crate::Evaluator) and those of events
    /// ([`Event::moves`](super::Event::moves)) alike: whoever answers them has to play `moves`, too. The search can't
    /// tell if that was forgotten, and would search another game.
    ///
    /// Bring back or cancel the events in flight first: otherwise the whole tree is forgotten, since their visits could
    /// not be taken back. Answers that come later are refused as stale.
    pub fn advance(&mut self, moves: &[Move]) -> u32 {
        if self.root.is_some_and(|root| self.is_under_way(root)) {
            self.clear();
            return 0;
        }
        for &mv in moves {
            self.advance_one(mv);
        }
        self.start_epoch();
        if let Some(root) = self.root {
            self.reopen_root(root);
        }
        // Restoring playouts are counted for the moves of one root.
        self.start_restoring();
        self.visits()
    }

    pub(super) fn is_under_way(&self, root: Key) -> bool {
        let root = self.repository.lock(root);
        root.is_pending() || root.visits().any(|visit| visit.in_flight > 0)
    }

    fn advance_one(&mut self, mv: Move) {
        let Some(old) = self.root else { return };
        let mut node = self.repository.lock(old);
        let at = node.visits().position(|visit| visit.mv == Naming::Named(mv));
        let child = at.and_then(|at| {
            let child = node.child(at);
            node.set_child(at, None); // its link is the root's now
            child
        });
        drop(node);
        self.repository.free(old);
        self.root = child.or_else(|| self.repository.create(None));
        self.lift_restrictions();
    }

    /// Makes a root searchable even if it was proven, or drawn by a rule that holds only below a root: its value
    /// becomes the mean of one visit with its old value, and of its children.
    fn reopen_root(&mut self, root: Key) {
        let mut node = self.repository.lock(root);
        if node.ending().is_none() {
            return;
        }
        if !node.is_expanded() {
            drop(node);
            // The node ended without children: evaluated again, it may be a mate, or a draw that does not count at the
            // root.
            self.repository.free(root);
            self.root = self.repository.create(None);
            return;
        }
        let (visits, sums) = below(&node);
        let (n, sums) = (visits + 1, sums.plus(Sums::of(node.mean(), 1)));
        node.set_ending(None);
        node.set_bounds(Bounds::OPEN);
        let (more, change) = (n.wrapping_sub(node.n()) as i32, sums.minus(node.sums()));
        node.add(more, change);
        node.set_regrown();
    }
}
