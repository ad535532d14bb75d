//! Replaces what was said of positions, and keeps the tree below them.
//!
//! Some values and priors hold only for a root, or only below a certain root: as in KataGo, the root's policy may be
//! softer, averaged over several symmetries, or taken from another head, and the utility of a score may depend on the
//! score expected at the root. When the game goes on, another position is the root.

use super::settle::Refused;
use super::worth::below;
use super::{NodeView, Search};
use crate::evaluate::{Ending, Move, Value};
use crate::repository::{Bound, EdgeValue, Key, Naming, Node, Repository, Sums, Visit};

impl<R: Repository> Search<R> {
    /// Gives the root's position another answer: a value from its side to move, and logits of these moves, in the order
    /// of the game's list. The logits become priors as a root's do, and the slice is overwritten. Moves that were
    /// visited before keep their visits and what is below them; moves that are not in the list are forgotten. Returns
    /// the number of visits that the root has then.
    ///
    /// An index of a root's move ([`Event::unnamed`](super::Event::unnamed),
    /// [`Search::set_root_moves`]) is one in `moves` from now on, and what was said with earlier ones is lifted, as in
    /// [`Search::advance`]. So with [`Search::run`], which asks the evaluator for its list, `moves` are all legal moves.
    ///
    /// No event may be in flight: one that is will be refused as stale.
    ///
    /// # Errors
    /// [`Refused::ListsDiffer`] if there are not as many logits as moves; [`Refused::Stale`] if a visit is in flight at
    /// the root; [`Refused::NoEdges`] or [`Refused::TooManyEdges`] if the list is empty or too long;
    /// [`Refused::NoRoom`]. Then the root stays as it was.
    pub fn renew_root(&mut self, value: Value, moves: &[Move], policy: &mut [f32]) -> Result<u32, Refused> {
        if moves.len() != policy.len() {
            return Err(Refused::ListsDiffer);
        }
        Refused::check_edges(moves.len())?;
        let old = self.root.filter(|root| !self.is_under_way(*root)).ok_or(Refused::Stale)?;
        self.make_priors(policy, true);
        let new = self.repository.create(None).ok_or(Refused::NoRoom)?;
        let mut node = self.repository.lock(new);
        let has_room = node.expand(policy);
        if has_room {
            node.add(1, Sums::of(self.params.wdl_rescale.apply(value), 1));
        }
        drop(node);
        if !has_room {
            self.repository.discard(new);
            return Err(Refused::NoRoom);
        }
        let edges = self.repository.lock(old).visited_count();
        for at in 0..edges {
            self.transplant(old, at, new, moves);
        }
        self.repository.free(old);
        self.root = Some(new);
        self.lift_restrictions();
        self.start_epoch();
        let visits = self.visits();
        // Visits that were counted at the old root alone are gone.
        self.visits_before = self.visits_before.min(visits);
        Ok(visits)
    }

    /// Makes an edge of the old root one of the new root's, if its move is in `moves`.
    fn transplant(&self, old: Key, at: usize, new: Key, moves: &[Move]) {
        let node = self.repository.lock(old);
        let (visit, child) = (node.visit(at), node.child(at));
        drop(node);
        let Naming::Named(mv) = visit.mv else { return };
        let (below, wins_for_opponent) = child.map_or((0, false), |child| {
            let child = self.repository.lock(child);
            (child.n(), child.bounds().lower == Bound::Win)
        });
        // It may be that all visits came aside.
        let is_visited = visit.completed() > 0 || below > 0;
        let mut root = self.repository.lock(new);
        // A host may have listed the move twice.
        let is_free = |at: usize| root.unvisited_prior(at).is_some();
        let place = (0..).zip(moves).position(|(at, other)| *other == mv && is_free(at));
        let Some(place) = place.filter(|_| is_visited).and_then(|place| u16::try_from(place).ok()) else {
            return;
        };
        // Without room for the edge the move is treated as not visited.
        let Some(to) = root.open_edge(place) else { return };
        let prior = if wins_for_opponent { 0 } else { root.visit(to).prior };
        root.set_visit(to, Visit { prior, ..visit });
        root.set_child(to, child);
        root.add(visit.completed() as i32, visit.contribution());
        drop(root);
        self.repository.lock(old).set_child(at, None); // its link is the new root's now
    }

    /// Makes a node's own evaluation worth `own_value` from now on, from its side to move; and likewise the visits that
    /// are not counted below it. A result that is certain stays as it is, and so does a draw by repetition: of the games
    /// that have ended, only a score has a value that may be another one.
    ///
    /// The edges that lead to the node do not learn of it: see [`Search::revalue_edge`].
    pub fn revalue(&mut self, node: Key, own_value: Value) {
        let mut here = self.repository.lock(node);
        let n = here.n();
        match here.ending() {
            _ if n == 0 => {}
            None => {
                let (visits, sums) = below(&here);
                here.set_sums(sums.plus(Sums::of(own_value, n.saturating_sub(visits))));
            }
            Some(Ending::Scored) if !here.bounds().closed() => here.settle(n, own_value),
            Some(_) => {}
        }
    }

    /// Makes the edge of a move that was visited worth `value` from now on, given from the child's side to move. When
    /// visits come back along it, it gets its child's mean again, weighed by
    /// [`Params::weighing`](super::Params::weighing). A host that computes values by another rule calls this after each
    /// visit, from the leaf up to the root.
    ///
    /// An edge whose child was folded, and has fewer visits than the edge, keeps its value.
    pub fn revalue_edge(&mut self, node: Key, mv: Move, value: Value) {
        let mut here = self.repository.lock(node);
        let named = |at: &usize| here.visit(*at).mv == Naming::Named(mv);
        let Some(at) = (0..here.visited_count()).find(named) else { return };
        let before = here.visit(at);
        let has_all = |child| self.repository.lock(child).n() >= before.completed();
        if before.completed() == 0 || !here.child(at).is_some_and(has_all) {
            return;
        }
        let after = Visit { value: Some(EdgeValue::of_child(value)), ..before };
        here.set_visit(at, after);
        if here.ending().is_none() {
            let sums = here.sums().minus(before.contribution()).plus(after.contribution());
            here.set_sums(sums);
        }
    }

    /// A view of the node with this key.
    pub fn node(&self, key: Key) -> NodeView<'_, R> {
        NodeView::new(&self.repository, key)
    }
}
