//! Gathering: a playout goes from the root to a leaf. At each node, what that node itself stores decides where it goes.

use super::event::{Event, Stage, Step};
use super::params::CatchUp;
use super::select::Choice;
use super::{MAX_VISITS, Search};
use crate::evaluate::{Ending, Move, Value};
use crate::repository::{EdgeValue, Key, Naming, Node, Repository, Visit};
use crate::sync::get;
use core::borrow::BorrowMut;

/// What a playout met on its way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Gathered {
    /// A node that has not been evaluated: call [`Search::answer`].
    Leaf,
    /// A node whose value is known already: call [`Search::bring_back`], for there is nothing to answer.
    Known,
    /// A node that another playout is evaluating: call [`Search::cancel`] for this one once the other's answer is in.
    /// Until then its visits in flight lead further playouts elsewhere; without them every playout would collide at the
    /// same node. Or an edge with 1,023 visits in flight, which is the most, or one whose leaf another playout has just
    /// found no room for: then nothing is under way, and cancelling does nothing.
    Collision,
    /// There is no room for another node: call [`Search::recycle`].
    Full,
    /// The game has ended at the root, no move may be searched there, or the root has [`MAX_VISITS`].
    NoMoves,
}

/// If an edge's value and the child's own, which other paths have visited, differ by more than this, it is worth a
/// visit to bring them together. (Bounds of Lc0's graph search.)
const STALE_VALUE: f32 = 0.01;
const STALE_PLIES: f32 = 2.0;

impl<R: Repository> Search<R> {
    /// Takes one playout from the root to a leaf, counting a visit in flight along its edges. If the event is in flight
    /// in this search already, it is cancelled first.
    #[must_use = "it says what the event waits for"]
    pub fn gather<const PLIES: usize>(&self, event: &mut Event<PLIES>) -> Gathered {
        self.gather_together(core::slice::from_mut(event));
        event.met()
    }

    /// Like [`Search::gather`], for a playout whose visit the root's edge will not count: see
    /// [`Search::bring_back_aside`]. In a graph other playouts end where an edge has fewer visits than its child,
    /// because they have found a visit that is new to the edge; this one goes on below the root's edge.
    #[must_use = "it says what the event waits for"]
    pub fn gather_aside<const PLIES: usize>(&self, event: &mut Event<PLIES>) -> Gathered {
        self.begin(event, self.root_with_room());
        event.met = loop {
            match self.descend(event) {
                Some(met) => break met,
                None if event.plies() == 1 && !self.goes_aside(event) => break refuse(event, Gathered::NoMoves),
                None => {}
            }
        };
        event.met
    }

    /// Lets a playout that has taken an edge of the root go below it, whatever the edge knows of the child. `false` if
    /// the child can count no more visits; then the playout is taken back.
    fn goes_aside<const PLIES: usize>(&self, event: &mut Event<PLIES>) -> bool {
        // The edge has nothing to catch up with: no visits are missing, and there is no value to compare.
        event.counted = u32::MAX;
        event.kept = event.kept.filter(|_| self.params.catch_up == CatchUp::Visits);
        let is_full = event.leaf.is_some_and(|child| self.repository.lock(child).n() >= MAX_VISITS);
        if is_full {
            self.undo(event);
        }
        !is_full
    }

    /// Takes several playouts down, all of them by one ply before any goes on to the next; [`Event::met`] says what
    /// each of them met.
    ///
    /// They come to each node in the order of the slice, so that they find what they would find if each were gathered
    /// after the one before. While some choose their edges, what the others are going to read is prefetched, because
    /// memory is slow but answers many requests at a time.
    pub fn gather_together<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(&self, events: &mut [E]) {
        let root = self.root_with_room();
        for event in events.iter_mut().map(BorrowMut::borrow_mut) {
            self.begin(event, root);
        }
        let (count, mut under_way) = (events.len(), events.len());
        while under_way > 0 {
            for at in 0..count {
                let event = events[at].borrow_mut();
                if event.stage == Stage::Descending {
                    match self.descend(event) {
                        None => event.leaf.into_iter().for_each(|node| self.repository.prefetch(node)),
                        Some(met) => {
                            event.met = met;
                            under_way -= 1;
                        }
                    }
                }
                let opposite = if at < count / 2 { at + count - count / 2 } else { at - count / 2 };
                if let Some(event) = events.get(opposite) {
                    self.look_ahead(event.borrow());
                }
            }
        }
    }

    /// The root; `None` if a leaf had no room for its edges. It can't grow: playouts would come to it again and again.
    #[inline]
    fn root_with_room(&self) -> Option<Key> {
        self.root.filter(|_| get(&self.short_of_room) == 0)
    }

    #[inline]
    fn begin<const PLIES: usize>(&self, event: &mut Event<PLIES>, root: Option<Key>) {
        // The event's path is about to be forgotten, and then its visits could not be taken back.
        if self.is_in_flight(event) {
            self.cancel(event);
        }
        event.begin(self.epoch, root);
    }

    /// Prefetches the edges of the node that a playout comes to in half a round; the node itself was prefetched half a
    /// round ago. The root's edges are at hand.
    #[inline]
    fn look_ahead<const PLIES: usize>(&self, event: &Event<PLIES>) {
        if event.stage == Stage::Descending
            && !event.path.is_empty()
            && let Some(node) = event.leaf
        {
            self.repository.prefetch_edges(node);
        }
    }

    /// Takes a playout one ply down. `None` if it goes on.
    fn descend<const PLIES: usize>(&self, event: &mut Event<PLIES>) -> Option<Gathered> {
        let Some((node, mut here)) = self.arrive_at(event) else {
            self.undo(event);
            return Some(refuse(event, if event.path.is_empty() { Gathered::Full } else { Gathered::Collision }));
        };
        event.leaf = Some(node);
        if let Some(ending) = here.ending() {
            let reopened = ending == Ending::TwoFold && (event.plies() as f32) < here.mean().m;
            if event.path.is_empty() {
                return Some(refuse(event, Gathered::NoMoves));
            }
            drop(here);
            if !reopened {
                return Some(stop(event, true));
            }
            self.reopen_cycle(event, node);
            return None;
        }
        if !here.is_expanded() {
            if here.is_pending() {
                event.stage = Stage::Collided;
                return Some(Gathered::Collision);
            }
            here.set_pending(true);
            event.stage = Stage::Leaf;
            return Some(Gathered::Leaf);
        }
        debug_assert!(event.unnamed.is_none(), "a move is named before its node has edges");
        if event.path.is_full() {
            return Some(stop(event, true));
        }
        if event.kept.is_some_and(|edge| self.lags(edge, event.counted, &here)) && !here.is_restoring() {
            return Some(stop(event, false));
        }
        if event.path.is_empty() && here.n() >= MAX_VISITS {
            return Some(refuse(event, Gathered::NoMoves));
        }
        let (at, child) = match self.take_edge(&mut here, node, event.plies(), &event.kept) {
            Ok(next) => next,
            Err(met) => {
                drop(here);
                self.undo(event);
                return Some(refuse(event, met));
            }
        };
        let mv = match here.naming(at) {
            Naming::Named(mv) => mv,
            Naming::Index(index) => {
                event.unnamed = Some(index);
                Move::default()
            }
        };
        let _ = event.path.push(Step { node, at: at as u16, mv }); // there is room: see above
        if self.repository.is_graph() {
            let visit = here.visit(at);
            (event.kept, event.counted) = (visit.value, visit.completed());
            if event.path.len() == 1 && visit.value.is_none() {
                event.kept = self.value_aside(child);
            }
        }
        event.leaf = Some(child);
        event.firm = here.is_firm(at);
        None
    }

    /// The value of a child of the root, if it was visited; all its visits may have come
    /// [aside](Search::bring_back_aside).
    #[cold]
    #[inline(never)]
    fn value_aside(&self, child: Key) -> Option<EdgeValue> {
        let child = self.repository.lock(child);
        (child.n() > 0).then(|| EdgeValue::of_child(self.worth(&child)))
    }

    /// Whether an edge with `visits` completed visits does not know yet what other paths have found out below it.
    #[inline(never)]
    fn lags(&self, edge: EdgeValue, visits: u32, child: &R::Node<'_>) -> bool {
        match self.params.catch_up {
            CatchUp::Values => is_stale(edge, self.worth(child)),
            CatchUp::Visits => visits < child.n(),
        }
    }

    /// Locks and returns the node that the last step leads to; the root if there is no step yet.
    ///
    /// Unless the child is firm, the parent stays locked until the child is locked: so, while the parent of an
    /// unevaluated leaf is locked, no playout is on its way to that leaf. `None` if somebody found no room for the
    /// child since the step was taken, or if there is no root.
    fn arrive_at<const PLIES: usize>(&self, event: &mut Event<PLIES>) -> Option<(Key, R::Node<'_>)> {
        let step = match event.path.last() {
            Some(step) if !event.firm => step,
            _ => return event.leaf.map(|node| (node, self.repository.lock(node))),
        };
        let at = usize::from(step.at);
        let parent = self.repository.lock(step.node);
        if event.unnamed.is_some()
            && let Naming::Named(mv) = parent.naming(at)
        {
            // The thread that evaluated the child meanwhile has named the move.
            event.name(mv);
        }
        let child = parent.child(at)?;
        Some((child, self.repository.lock(child)))
    }

    /// Chooses an edge, counts a visit in flight on it, and finds its child, which is made now if it is not in the
    /// repository. Returns the place of the edge's record, and the child.
    fn take_edge(
        &self,
        here: &mut R::Node<'_>,
        node: Key,
        plies: usize,
        told: &Option<EdgeValue>,
    ) -> Result<(usize, Key), Gathered> {
        let at = match self.choose(here, plies, told).ok_or(Gathered::NoMoves)? {
            Choice::Visited(at) => at,
            Choice::Unvisited(index) => here.open_edge(index).ok_or(Gathered::Full)?,
        };
        let child = match here.child(at) {
            Some(child) => child,
            None => {
                let child = self.grow(node, at, &here.visit(at)).ok_or(Gathered::Full)?;
                here.set_child(at, Some(child));
                child
            }
        };
        // If this is refused, it leaves nothing that has to be taken back.
        if here.depart(at) { Ok((at, child)) } else { Err(Gathered::Collision) }
    }

    /// Makes a child. A folded child begins anew: its edge keeps N and value until it has as many visits again.
    fn grow(&self, parent: Key, at: usize, kept: &Visit) -> Option<Key> {
        let child = self.repository.create(Some((parent, at as u16)))?;
        if kept.value.is_some() {
            self.repository.lock(child).set_restoring(true);
        }
        Some(child)
    }

    /// Takes the visits in flight back from the edges of a path.
    pub(super) fn undo<const PLIES: usize>(&self, event: &Event<PLIES>) {
        self.undo_steps(&event.path);
    }

    pub(super) fn undo_steps(&self, steps: &[Step]) {
        for step in steps {
            let mut node = self.repository.lock(step.node);
            let visit = node.visit(step.at.into());
            node.set_visit(step.at.into(), Visit { n: visit.n - 1, in_flight: visit.in_flight - 1, ..visit });
        }
    }

    /// Opens a node again that ended by a two-fold repetition, once the first occurrence of its position lies before
    /// the root: the opponent could have repeated it in the game, we did not. The node's visits are taken back all the
    /// way up. In a graph other parents' edges keep theirs, and take the new value with their next visit.
    fn reopen_cycle<const PLIES: usize>(&self, event: &Event<PLIES>, node: Key) {
        let (mut taken, mut at_root) = (None::<u32>, 0);
        for step in event.path.iter().rev() {
            let at = usize::from(step.at);
            let mut parent = self.repository.lock(step.node);
            // This happens under the lock of the node's edge, so that the visits that the edge has completed include
            // none of the open node.
            if taken.is_none() && !(parent.child(at) == Some(node) && self.open_cycle(node)) {
                return; // another thread was faster
            }
            let (visit, child) = (parent.visit(at), self.known_below(&parent, at));
            let n = match taken {
                None => visit.completed(),
                // Other paths may have brought these visits here: an edge above loses those that its child no longer
                // has.
                Some(_) if self.repository.is_graph() => child.missing_of(visit.completed()),
                // An edge of the root may have fewer visits than its child: those that came aside are not its own.
                Some(n) => n.min(visit.completed()),
            };
            taken = Some(n);
            at_root = n;
            // A child that makes up for visits which its edge has counted does not change the edge's value yet.
            let left = visit.completed() - n;
            let keeps = child.is_restoring && child.n < left;
            let value = if keeps { visit.value } else { child.value.filter(|_| left > 0) };
            let after = Visit { n: visit.n - n, value, ..visit };
            parent.set_visit(at, after);
            if parent.ending().is_some() {
                // Proven meanwhile by another playout: the visits that are left are worth as much as before.
                let (n, value) = (parent.n() - n, parent.mean());
                parent.settle(n, value);
            } else {
                parent.add((n as i32).wrapping_neg(), after.contribution().minus(visit.contribution()));
            }
        }
        self.count_taken_back(at_root);
    }

    /// Opens a node that ended by repetition. Returns whether it was still closed.
    fn open_cycle(&self, node: Key) -> bool {
        let mut node = self.repository.lock(node);
        let closed = node.ending() == Some(Ending::TwoFold);
        if closed {
            node.set_ending(None);
            node.settle(0, Value::EVEN);
        }
        closed
    }

    /// What the child of an edge has; nothing if there is no child.
    fn known_below(&self, parent: &R::Node<'_>, at: usize) -> KnownBelow {
        let Some(child) = parent.child(at).map(|child| self.repository.lock(child)) else {
            return KnownBelow { n: 0, value: None, is_restoring: false };
        };
        let value = (child.n() > 0).then(|| EdgeValue::of_child(self.worth(&child)));
        KnownBelow { n: child.n(), value, is_restoring: child.is_restoring() }
    }
}

/// What a child has: its visits and their value.
struct KnownBelow {
    n: u32,
    /// The child's value, if it has a visit.
    value: Option<EdgeValue>,
    /// True if it makes up for visits that its edge has counted before the child was folded.
    is_restoring: bool,
}

impl KnownBelow {
    /// How many of the `completed` visits of an edge the child lacks, and will never have.
    fn missing_of(&self, completed: u32) -> u32 {
        if self.is_restoring { 0 } else { completed.saturating_sub(self.n) }
    }
}

/// Ends the playout at a node whose value is known.
fn stop<const PLIES: usize>(event: &mut Event<PLIES>, counts_there: bool) -> Gathered {
    event.stage = Stage::Known { counts_there };
    Gathered::Known
}

fn refuse<const PLIES: usize>(event: &mut Event<PLIES>, met: Gathered) -> Gathered {
    event.finish();
    met
}

fn is_stale(edge: EdgeValue, child: Value) -> bool {
    let kept = edge.at_child();
    let far = |a: f32, b: f32, by: f32| libm::fabsf(a - b) >= by;
    far(kept.wl, child.wl, STALE_VALUE) || far(kept.d, child.d, STALE_VALUE) || far(kept.m, child.m, STALE_PLIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_an_edges_value_may_be_stale() {
        let child = Value { wl: 0.25, d: 0.5, m: 20.0 };
        let stale = |wl, d, m| {
            let kept = Value { wl: child.wl + wl, d: child.d + d, m: child.m + m };
            is_stale(EdgeValue::of_child(kept), child)
        };
        for sign in [1.0, -1.0] {
            assert!(!stale(0.009 * sign, 0.009 * sign, 1.9 * sign));
            assert!(stale(0.011 * sign, 0.0, 0.0));
            assert!(stale(0.0, 0.011 * sign, 0.0));
            assert!(stale(0.0, 0.0, 2.1 * sign));
        }
    }
}
