//! What was said of positions is said anew, and the tree below them stays.
//!
//! Some values and priors are those of a root, or of what lies below one: as KataGo has it the root's policy may be
//! softer, looked at through several symmetries, or asked of another head, and what a score is worth depends on what
//! the root is expected to come to. When the game goes on, another position is the root.

use super::backprop::Refused;
use super::worth::own;
use super::{NodeView, Search};
use crate::evaluate::{Move, Value};
use crate::repository::{Bound, EdgeValue, Key, Naming, Node, Repository, Sums, Visit};

impl<R: Repository> Search<R> {
    /// The root's position gets another answer: a value from its side to move, and logits of these moves, in the order
    /// of the game's list. They become priors as those of a root do, and are used up. Moves that were visited before
    /// keep their visits and what is below them; what is none of the list is forgotten. Gives back the visits that the
    /// root has then.
    ///
    /// Nothing may be in flight: what is will be refused as stale.
    ///
    /// # Errors
    /// [`Refused::ListsDiffer`] if there are not as many logits as moves, [`Refused::Stale`] if something is in flight
    /// at the root, [`Refused::NoEdges`] and [`Refused::TooManyEdges`] of the list, [`Refused::NoRoom`]. The root stays
    /// as it was then.
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
        self.start_epoch();
        Ok(self.nodes())
    }

    /// An edge of the old root becomes one of the new root's, if the move is one of its own.
    fn transplant(&self, old: Key, at: usize, new: Key, moves: &[Move]) {
        let node = self.repository.lock(old);
        let (visit, child) = (node.visit(at), node.child(at));
        drop(node);
        let Naming::Named(mv) = visit.mv else { return };
        let wins_for_opponent = child.is_some_and(|child| self.repository.lock(child).bounds().lower == Bound::Win);
        let mut root = self.repository.lock(new);
        // A host may have listed it twice.
        let is_free = |at: usize| root.unvisited_prior(at).is_some();
        let place = (0..).zip(moves).position(|(at, other)| *other == mv && is_free(at));
        let Some(place) = place.filter(|_| visit.completed() > 0).and_then(|place| u16::try_from(place).ok()) else {
            return;
        };
        // Without room it is as if nobody had made the move.
        let Some(to) = root.open_edge(place) else { return };
        let prior = if wins_for_opponent { 0 } else { root.visit(to).prior };
        root.set_visit(to, Visit { prior, ..visit });
        root.set_child(to, child);
        root.add(visit.completed() as i32, visit.contribution());
        drop(root);
        self.repository.lock(old).set_child(at, None); // its link is the new root's now
    }

    /// What was said of a node's own position is worth `own_value` from now on, from its side to move; so are the
    /// visits that are kept nowhere below it. A result that is certain stays as it is.
    ///
    /// Edges that lead to the node don't know of it: [`Search::revalue_edge`].
    pub fn revalue(&mut self, node: Key, own_value: Value) {
        let mut here = self.repository.lock(node);
        let is_certain = here.ending().is_some() && here.bounds().closed();
        if here.n() == 0 || is_certain {
            return;
        }
        if here.ending().is_some() {
            let n = here.n();
            return here.settle(n, own_value);
        }
        let (n, _) = own(&here);
        let sums = here.visits().fold(Sums::of(own_value, n), |sums, visit| sums.plus(visit.contribution()));
        here.set_sums(sums);
    }

    /// The edge of a move that was visited is worth this from now on, from the child's side to move; when visits come
    /// back on it, it is what its child [passes on](Self::passed_on) again. Whoever reckons values by another rule says
    /// so after each visit, from the leaf to the root.
    ///
    /// An edge whose child was folded, and has fewer visits than it, keeps what it has.
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

    /// A node to look at.
    pub fn node(&self, key: Key) -> NodeView<'_, R> {
        NodeView::new(&self.repository, key)
    }
}
