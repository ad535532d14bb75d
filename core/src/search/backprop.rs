//! Backprop: brings answers from the leaves to the root.

use super::Search;
use super::event::{Below, Event, Stage, Step};
use crate::evaluate::{Answer, Ending, Value, Verdict};
use crate::repository::{Bound, Bounds, EdgeValue, Key, Naming, Node, Repository, Sums, Visit, prior};
use crate::sort;
use crate::sync::set;
use crate::tree::MAX_EDGES;
use core::borrow::BorrowMut;
use core::cmp::Ordering;
use core::fmt;

/// Why an answer did not enter the tree. Its visits are undone, except with [`Refused::Stale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refused {
    /// Nothing changed: the tree was cleared or re-rooted since the event was gathered, or the event has no leaf of its
    /// own, or its leaf needs no answer ([`Known`](super::Gathered::Known)).
    Stale,
    /// The event's last move has not been named, see [`Event::name`].
    Unnamed,
    /// The answer says that the game goes on, but came without a legal move.
    NoEdges,
    /// The answer has more legal moves than a node can have: [`MAX_EDGES`].
    TooManyEdges,
    /// The number of logits is not the number of moves: see [`Search::renew_root`].
    ListsDiffer,
    /// The memory is too small for the root's edges.
    NoRoom,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str(
                "the event does not wait for this, or the tree was cleared or advanced since it was gathered",
            ),
            Self::Unnamed => f.write_str("nobody said which move the event's last one is"),
            Self::NoEdges => f.write_str("a position that goes on came without a legal move"),
            Self::TooManyEdges => write!(f, "more than {MAX_EDGES} legal moves came"),
            Self::ListsDiffer => f.write_str("there are not as many logits as moves"),
            Self::NoRoom => f.write_str("the memory has no room for the root's moves"),
        }
    }
}

impl core::error::Error for Refused {}

impl Refused {
    /// Whether a position in which the game goes on may have `edges` legal moves.
    pub(super) fn check_edges(edges: usize) -> Result<(), Self> {
        match edges {
            0 => Err(Self::NoEdges),
            n if n > MAX_EDGES => Err(Self::TooManyEdges),
            _ => Ok(()),
        }
    }
}

/// What a node on a path learned from the edges along which its visits came back.
#[derive(Clone, Copy)]
struct Lifted {
    sums: Sums,
    /// Moves left of a result below that may prove something here.
    proving: Option<f32>,
    /// Visits that are new to the edge. The others restored a folded subtree, whose visits the edge has counted.
    counted: u32,
}

/// Rare cases among events that are brought back together: the events are looked at one by one for a case only if there
/// is one.
#[derive(Clone, Copy, Default)]
struct Rare {
    /// Some event has a result that may prove something above.
    proving: bool,
    /// Some event has the value of a leaf that there is no room for.
    unkept: bool,
}

impl<R: Repository> Search<R> {
    /// Brings the answer to a gathered [`Leaf`](super::Gathered::Leaf) into the tree and to the root. `policy` has a
    /// logit for each legal move, in the order of the game's list; the slice is overwritten, even if the answer is
    /// refused.
    ///
    /// # Errors
    /// Any [`Refused`] but [`Refused::ListsDiffer`]; the playout is taken back, except with [`Refused::Stale`].
    pub fn answer<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        answer: &Answer,
        policy: &mut [f32],
    ) -> Result<(), Refused> {
        self.settle(event, answer, policy)?;
        self.bring_back(core::slice::from_mut(event));
        Ok(())
    }

    /// Takes back a playout that collided, or whose leaf can't be answered.
    pub fn cancel<const PLIES: usize>(&self, event: &mut Event<PLIES>) {
        if event.epoch == self.epoch && event.stage != Stage::Idle {
            if let (Some(leaf), Stage::Leaf) = (event.leaf, event.stage) {
                self.repository.lock(leaf).set_pending(false);
            }
            self.undo(event);
        }
        event.finish();
    }

    /// The first half of [`Search::answer`]: writes the answer into the leaf, whose event then waits for
    /// [`Search::bring_back`].
    ///
    /// # Errors
    /// As [`Search::answer`].
    pub fn settle<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        answer: &Answer,
        policy: &mut [f32],
    ) -> Result<(), Refused> {
        let leaf = self.unanswered(event)?;
        if let Err(fault) = self.check(event, answer, policy) {
            self.cancel(event);
            return Err(fault);
        }
        let verdict = match answer.verdict {
            Verdict::Position(value) => Verdict::Position(self.params.wdl_rescale.at(event.plies()).apply(value)),
            ended => decided(ended),
        };
        let answer = &Answer { verdict, ..*answer };
        if let Verdict::Position(_) = verdict {
            self.make_priors(policy, event.path.is_empty());
        }
        let stage = match event.path.last().copied() {
            None => self.write_answer(event, leaf, verdict, policy).then_some(answered(verdict, None)),
            Some(step) => Some(self.settle_below(event, step, leaf, answer, policy)),
        };
        if let Some(stage) = stage {
            event.stage = stage;
            return Ok(());
        }
        self.cancel(event);
        Err(Refused::NoRoom)
    }

    /// [`Search::settle`] for a leaf whose position the graph has already. `key` is the position's
    /// [key](crate::evaluate::Answer::key), and `edges` the number of its legal moves; its value need not be known. The
    /// event then [is a transposition](Event::is_transposition), and waits for [`Search::bring_back`].
    ///
    /// `false` means that the graph has no such node, or no longer, because it was folded; or that the leaf can't be
    /// joined to it, because the node is on the leaf's own path, or the leaf is the root. Then the event has not
    /// changed, and waits for its answer as before. In a tree the result is always `false`.
    ///
    /// # Errors
    /// [`Refused::Stale`], or [`Refused::Unnamed`], after which the playout is taken back.
    pub fn settle_transposition<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        key: u64,
        edges: usize,
    ) -> Result<bool, Refused> {
        let leaf = self.unanswered(event)?;
        if event.unnamed.is_some() {
            self.cancel(event);
            return Err(Refused::Unnamed);
        }
        let Some(step) = event.path.last().copied() else { return Ok(false) };
        // Asked first, because a leaf that joins no other node is the position's node from then on, and this one has no
        // edges yet.
        if !self.repository.has(key, edges) {
            return Ok(false);
        }
        let Some(known) = self.join(event, leaf, key, edges) else { return Ok(false) };
        event.stage = self.replace_leaf(event, step, leaf, known);
        Ok(true)
    }

    /// The leaf of an event that waits for an answer in this tree.
    fn unanswered<const PLIES: usize>(&self, event: &Event<PLIES>) -> Result<Key, Refused> {
        event.leaf.filter(|_| event.epoch == self.epoch && event.stage == Stage::Leaf).ok_or(Refused::Stale)
    }

    /// Turns logits into priors.
    pub(super) fn make_priors(&self, policy: &mut [f32], of_root: bool) {
        prior::softmax(policy, self.params.policy_temperature);
        if of_root {
            self.params.add_noise(policy);
            policy.iter_mut().for_each(|p| *p *= self.params.root_policy_sum);
        }
    }

    fn check<const PLIES: usize>(&self, event: &Event<PLIES>, answer: &Answer, policy: &[f32]) -> Result<(), Refused> {
        match answer.verdict {
            _ if event.unnamed.is_some() => Err(Refused::Unnamed),
            Verdict::Position(_) => Refused::check_edges(policy.len()),
            Verdict::Terminal(..) => Ok(()),
        }
    }

    /// Writes an answer into a leaf below the root. Its parent stays locked meanwhile: so a thread that finds the
    /// leaf's edges knows the move that leads to it, and no playout is on its way to a leaf that is no longer linked.
    fn settle_below<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        step: Step,
        leaf: Key,
        answer: &Answer,
        policy: &[f32],
    ) -> Stage {
        let known = match answer.verdict {
            Verdict::Position(_) => self.join(event, leaf, answer.key, policy.len()),
            Verdict::Terminal(..) => None,
        };
        if let Some(known) = known {
            return self.replace_leaf(event, step, leaf, known);
        }
        let (mut parent, _) = self.edge_above(step);
        if self.write_answer(event, leaf, answer.verdict, policy) {
            return answered(answer.verdict, None);
        }
        // No room for its edges: the parent's edge keeps the value, as if the leaf had been folded.
        parent.set_child(step.at.into(), None);
        drop(parent);
        self.repository.discard(leaf);
        set(&self.short_of_room, 1);
        answered(answer.verdict, Some(answer.verdict.value()))
    }

    /// The node above a leaf, locked, and the edge to the leaf, whose record has its move from now on.
    #[inline(always)]
    fn edge_above(&self, step: Step) -> (R::Node<'_>, Visit) {
        let mut parent = self.repository.lock(step.node);
        let visit = Visit { mv: Naming::Named(step.mv), ..parent.visit(step.at.into()) };
        parent.set_visit(step.at.into(), visit);
        (parent, visit)
    }

    /// Links the edge to a leaf to the node that has the leaf's position already, and frees the leaf.
    fn replace_leaf<const PLIES: usize>(&self, event: &mut Event<PLIES>, step: Step, leaf: Key, known: Key) -> Stage {
        let (mut parent, visit) = self.edge_above(step);
        self.link(&mut parent, step.at.into(), visit, known);
        drop(parent);
        self.repository.discard(leaf);
        event.leaf = Some(known);
        Stage::Known { counts_there: false }
    }

    /// The node that has the leaf's position already. A node on the way to the leaf does not count: an edge to it would
    /// close a cycle, whose nodes are below themselves, and a node that is its own child could not be locked as both.
    fn join<const PLIES: usize>(&self, event: &Event<PLIES>, leaf: Key, position: u64, edges: usize) -> Option<Key> {
        if position == Answer::NO_KEY {
            return None;
        }
        let on_the_way = |node| event.path.iter().any(|step| step.node == node);
        self.repository.join(leaf, position, edges, |node| !on_the_way(node))
    }

    /// Links an edge to the node that its position has already. If the edge kept more of a folded child than the other
    /// node knows, it keeps that.
    fn link(&self, parent: &mut R::Node<'_>, at: usize, visit: Visit, known: Key) {
        parent.set_child(at, Some(known));
        if visit.value.is_some() {
            let mut node = self.repository.lock(known);
            if node.n() < visit.completed() {
                node.set_restoring(true);
            }
        }
    }

    /// Returns `false` if there is no room for the edges; the node can be asked for once more then.
    fn write_answer<const PLIES: usize>(
        &self,
        event: &mut Event<PLIES>,
        leaf: Key,
        verdict: Verdict,
        policy: &[f32],
    ) -> bool {
        let mut node = self.repository.lock(leaf);
        node.set_pending(false);
        match verdict {
            Verdict::Position(value) => {
                if !node.expand(policy) {
                    return false;
                }
                node.add(1, Sums::of(value, 1));
                event.below = self.below(leaf, &node);
            }
            Verdict::Terminal(value, ending) => {
                // A leaf that there was no room for may have left visits behind.
                let n = node.n() + 1;
                node.set_ending(Some(ending));
                node.settle(n, value);
                if is_proof(ending) {
                    let bound = bound_of(value);
                    node.set_bounds(Bounds { lower: bound, upper: bound });
                }
            }
        }
        true
    }

    /// The second half of [`Search::answer`], for many events at once: each of them settled, or
    /// [`Known`](super::Gathered::Known). If they share ancestors, each ancestor is written once. The events' order in
    /// the slice changes; events of other kinds are left as they are.
    pub fn bring_back<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(&self, events: &mut [E]) {
        self.bring_back_to(0, events);
    }

    /// Like [`Search::bring_back`], but only to the root's children: neither the root nor its edges count the visits
    /// (as in the playouts of KataGo's `humanSLRootExploreProbWeightless`). So a host learns more of moves that the
    /// search itself would hardly look at, and their values don't change that of the root.
    ///
    /// The child of a root's edge then has more visits than the edge, which may even have none, and no value. To the
    /// search itself such a move is one without visits, but first-play urgency may count its prior as visited. In a
    /// graph, playouts that take the edge later [catch up](super::Params::catch_up) with the child first.
    pub fn bring_back_aside<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(&self, events: &mut [E]) {
        self.bring_back_to(1, events);
    }

    /// Brings events back to the nodes `highest` plies below the root; above, they are taken back.
    #[inline(always)]
    fn bring_back_to<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(&self, highest: usize, events: &mut [E]) {
        for event in events.iter_mut().map(BorrowMut::borrow_mut) {
            if event.is_ready() && event.epoch != self.epoch {
                event.finish();
            }
        }
        if events.len() > 1 {
            sort::by(events, |a, b| in_order(a.borrow(), b.borrow()));
        }
        let climbing = events.partition_point(|event| event.borrow().is_ready());
        let Some(climbing) = events.get_mut(..climbing) else { return };
        let (mut deepest, mut rare) = (0, Rare::default());
        for event in climbing.iter_mut().map(BorrowMut::borrow_mut) {
            self.count_at_leaf(event);
            deepest = deepest.max(event.path.len());
            rare.proving |= event.proving.is_some();
            rare.unkept |= matches!(event.stage, Stage::Answered { value: Some(_), .. });
        }
        for plies in (highest..deepest).rev() {
            self.lift_all(climbing, plies, &mut rare);
        }
        for event in climbing.iter_mut().map(BorrowMut::borrow_mut) {
            self.undo_steps(event.path.get(..highest).unwrap_or_default());
            event.finish();
        }
    }

    /// Counts the visit at the leaf, if that has not happened yet.
    fn count_at_leaf<const PLIES: usize>(&self, event: &mut Event<PLIES>) {
        let Some(leaf) = event.leaf else { return };
        match event.stage {
            Stage::Answered { value: None, proven } => {
                event.proving = (proven && self.params.sticky_endgames).then(|| self.repository.lock(leaf).mean().m);
            }
            Stage::Known { counts_there: true } => {
                // If the game has not ended there, the path could not get longer.
                let mut node = self.repository.lock(leaf);
                let mean = node.mean();
                self.count_visit(&mut node, mean);
            }
            Stage::Answered { .. }
            | Stage::Known { counts_there: false }
            | Stage::Idle
            | Stage::Descending
            | Stage::Leaf
            | Stage::Restored
            | Stage::Collided => {}
        }
    }

    /// Brings visits to the nodes `plies` below the root, from those one ply deeper.
    fn lift_all<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(
        &self,
        events: &mut [E],
        plies: usize,
        rare: &mut Rare,
    ) {
        let mut rest = events;
        while let Some(first) = rest.first() {
            let Some(node) = first.borrow().node_at(plies) else {
                rest = rest.split_first_mut().map_or(Default::default(), |(_, others)| others);
                continue;
            };
            let count = rest.iter().take_while(|event| event.borrow().node_at(plies) == Some(node)).count();
            let Some((group, others)) = rest.split_at_mut_checked(count) else { return };
            self.lift_node(group, node, plies, rare);
            rest = others;
        }
    }

    /// Brings the visits of a group of events, all of which come back through `node`, to that node.
    fn lift_node<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(
        &self,
        group: &mut [E],
        node: Key,
        plies: usize,
        rare: &mut Rare,
    ) {
        let mut here = self.repository.lock(node);
        let (mut all, mut sums, mut proving) = (0, Sums::default(), None);
        let mut rest = &mut *group;
        while let Some(first) = rest.first() {
            let at = first.borrow().edge_at(plies);
            let count = rest.iter().take_while(|event| event.borrow().edge_at(plies) == at).count();
            let Some((same_edge, others)) = rest.split_at_mut_checked(count) else { break };
            let lifted = self.lift_edge(&mut here, same_edge, at.into(), plies, *rare);
            all += lifted.counted;
            sums = sums.plus(lifted.sums);
            proving = lifted.proving.or(proving);
            rest = others;
        }
        // Where all visits only restore, the node keeps what it has, and there is nothing to prove.
        if all > 0 && here.ending().is_some() {
            // Proven meanwhile by another playout.
            add_to_ended(&mut here, all);
            proving = None;
        } else if all > 0 {
            here.add(all as i32, sums);
            proving = proving.filter(|_| plies > 0).and_then(|m| self.prove(&mut here, m));
        }
        let restored = group.len() as u32 - all;
        if let Some(first) = group.first_mut() {
            first.borrow_mut().below = if restored == 0 { self.below(node, &here) } else { None };
        }
        drop(here);
        if restored > 0 {
            self.leave_restored(group, plies);
            self.count_restored(restored);
        }
        rare.proving |= proving.is_some();
        if rare.proving {
            group.iter_mut().for_each(|event| event.borrow_mut().proving = proving);
        }
    }

    /// Ends the events that made up for visits which the nodes from `plies` plies below the root upwards have counted
    /// already.
    fn leave_restored<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(&self, group: &mut [E], plies: usize) {
        for event in group.iter_mut().map(BorrowMut::borrow_mut).filter(|event| event.stage == Stage::Restored) {
            self.undo_steps(event.path.get(..plies).unwrap_or_default());
            event.path.clear();
        }
    }

    /// Refreshes one edge, along which some visits have come back.
    fn lift_edge<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(
        &self,
        here: &mut R::Node<'_>,
        events: &mut [E],
        at: usize,
        plies: usize,
        rare: Rare,
    ) -> Lifted {
        let visits = events.len() as u16;
        if let Some(value) = self.value_below(here, events, at, rare) {
            if !here.is_firm(at) {
                here.set_firm(at);
            }
            return Lifted { sums: here.arrive(at, visits, value), proving: None, counted: visits.into() };
        }
        let mut proving = if rare.proving { events.iter().find_map(|event| event.borrow().proving) } else { None };
        let mut child = here.child(at).map(|child| self.repository.lock(child));
        if rare.unkept
            && let Some(child) = &mut child
        {
            // There was no room for a leaf then, but since then there was for another one.
            unkept(events, plies).for_each(|value| self.count_visit(child, value));
        }
        match child.filter(|child| child.n() > 0) {
            Some(mut child) => {
                let counted = if child.is_restoring() { self.restore(here, &mut child, at, visits) } else { visits };
                events.iter_mut().skip(counted.into()).for_each(|event| event.borrow_mut().stage = Stage::Restored);
                if counted == 0 {
                    return Lifted { sums: Sums::default(), proving: None, counted: 0 };
                }
                if !here.is_firm(at) && is_settled(&child) {
                    here.set_firm(at);
                }
                let mean = self.worth(&child);
                let value = EdgeValue::of_child(mean);
                if child.ending().is_some() && child.bounds().closed() {
                    let before = here.visit(at);
                    // A move after which the opponent wins for certain attracts no visits any more.
                    if child.bounds().lower == Bound::Win {
                        here.set_visit(at, Visit { prior: 0, ..before });
                    }
                    if before.value != Some(value) && self.params.sticky_endgames {
                        proving = proving.or(Some(mean.m));
                    }
                }
                Lifted { sums: here.arrive(at, counted, value), proving, counted: counted.into() }
            }
            None => {
                let before = here.visit(at);
                let mut after = Visit { in_flight: before.in_flight - visits, ..before };
                for (n, value) in (before.completed()..).zip(unkept(events, plies)) {
                    after.value = Some(mixed(after.value, n, value));
                }
                here.set_visit(at, after);
                Lifted { sums: after.contribution().minus(before.contribution()), proving, counted: visits.into() }
            }
        }
    }

    /// What the edge above a node needs to know of it; `None` where that is more than its value.
    #[inline(always)]
    fn below(&self, key: Key, node: &impl Node) -> Option<Below> {
        let plain = node.is_expanded() && node.ending().is_none() && !node.is_restoring();
        if plain { Some(Below { node: key, n: node.n(), value: EdgeValue::of_child(self.worth(node)) }) } else { None }
    }

    /// The value of an edge's child, if the only visits of the child that the edge does not know yet are those that
    /// come back now: the thread that wrote the child last has left its value in the event, and the child, which is
    /// settled, need not be locked again.
    #[inline(always)]
    fn value_below<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(
        &self,
        here: &R::Node<'_>,
        events: &mut [E],
        at: usize,
        rare: Rare,
    ) -> Option<EdgeValue> {
        let below = events.first_mut()?.borrow_mut().below.take()?;
        let plain = here.child(at) == Some(below.node) && !rare.proving && !rare.unkept;
        (plain && here.visit(at).completed() + events.len() as u32 == below.n).then_some(below.value)
    }

    /// Counts a visit that is not counted below the node. If there is no room for that, the node is one visit short.
    #[inline]
    fn count_visit(&self, node: &mut R::Node<'_>, value: Value) {
        if node.ending().is_some() {
            add_to_ended(node, 1);
        } else if !node.regrow(1, value) {
            set(&self.short_of_room, 1);
        }
    }

    /// Visits come back through an edge to a node that was folded and grew again: returns how many of them are new to
    /// the edge. The others made up for visits that the edge has counted before: they are taken back from it, and it
    /// keeps its value, which the child will have once it has as many visits again. If too many playouts did that
    /// already, the child takes over from the edge the visits that it lacks.
    fn restore(&self, here: &mut R::Node<'_>, child: &mut R::Node<'_>, at: usize, visits: u16) -> u16 {
        let before = here.visit(at);
        let all = before.completed() + u32::from(visits);
        let missing = all.saturating_sub(child.n());
        if missing > 0 && child.ending().is_some() {
            // All its visits are worth the same.
            let mean = child.mean();
            child.settle(all, mean);
        } else if missing > 0
            && !self.may_restore()
            && let Some(kept) = before.value
        {
            child.regrow(missing, kept.at_child());
        }
        let back = all.saturating_sub(child.n()).min(visits.into()) as u16;
        if back == 0 {
            // Other visits on their way may have been counted at the child, but not yet here.
            let alone = before.in_flight == visits;
            child.set_restoring(!alone);
        } else {
            here.set_visit(at, Visit { n: before.n - u32::from(back), in_flight: before.in_flight - back, ..before });
        }
        visits - back
    }

    /// Writes into a node what its children prove. Returns the moves left to tell its parents, if anything is proven.
    fn prove(&self, node: &mut R::Node<'_>, child_m: f32) -> Option<f32> {
        let children = self.children(node);
        if children.bounds == Bounds::OPEN {
            return None;
        }
        // A node may know more than its children do: from one that was folded since.
        let bounds = node.bounds().both(children.bounds);
        node.set_bounds(bounds);
        if !bounds.closed() {
            return Some(child_m + 1.0);
        }
        let bound = bounds.upper;
        // A win is settled by the first winning move that is found: a shorter one may exist. A loss is settled when all
        // moves are known, so the longest is exact.
        let m = match bound {
            Bound::Loss => children.longest_loss.max(child_m),
            Bound::Draw => child_m,
            Bound::Win => children.win.unwrap_or(child_m),
        } + 1.0;
        let n = node.n();
        node.settle(n, Value { m, ..bound.value() });
        node.set_ending(Some(if children.by_tablebase { Ending::Tablebase } else { Ending::Game }));
        Some(m)
    }

    /// The bounds that the children prove together, from the side to move at their parent.
    pub(super) fn children(&self, node: &R::Node<'_>) -> Children {
        let mut all = Children {
            bounds: Bounds { lower: Bound::Loss, upper: Bound::Loss },
            win: None,
            longest_loss: 0.0,
            by_tablebase: false,
        };
        for at in 0..node.visited_count() {
            let Some(child) = node.child(at).map(|child| self.repository.lock(child)) else {
                all.join(Bounds::OPEN);
                continue;
            };
            let bounds = child.bounds().flipped();
            let by_tablebase = child.ending() == Some(Ending::Tablebase);
            if bounds.lower == Bound::Win {
                let m = child.mean().m;
                if !by_tablebase {
                    // A mate is as good as it gets, whatever tablebases say of other moves.
                    return Children { bounds, win: Some(m), by_tablebase: false, ..all };
                }
                all.win = all.win.or(Some(m));
            }
            all.join(bounds);
            all.by_tablebase |= by_tablebase;
            if bounds.upper == Bound::Loss {
                all.longest_loss = all.longest_loss.max(child.mean().m);
            }
        }
        if node.visited_count() < node.edge_count() {
            all.join(Bounds::OPEN);
        }
        all
    }
}

pub(super) struct Children {
    pub(super) bounds: Bounds,
    /// Moves left after the first move that wins.
    win: Option<f32>,
    longest_loss: f32,
    by_tablebase: bool,
}

impl Children {
    fn join(&mut self, child: Bounds) {
        self.bounds.lower = self.bounds.lower.max(child.lower);
        self.bounds.upper = self.bounds.upper.max(child.upper);
    }
}

/// Adds visits to a node whose result is certain: all its visits are worth the same.
#[inline]
fn add_to_ended(node: &mut impl Node, visits: u32) {
    let mean = node.mean();
    node.add(visits as i32, Sums::of(mean, visits));
}

fn answered(verdict: Verdict, value: Option<Value>) -> Stage {
    Stage::Answered { value, proven: matches!(verdict, Verdict::Terminal(_, ending) if is_proof(ending)) }
}

/// Whether what ended like this has a certain result.
fn is_proof(ending: Ending) -> bool {
    match ending {
        Ending::Game | Ending::Tablebase => true,
        Ending::TwoFold | Ending::Scored => false,
    }
}

/// The values of those leaves below an edge that there was no room for.
fn unkept<const PLIES: usize, E: BorrowMut<Event<PLIES>>>(events: &[E], plies: usize) -> impl Iterator<Item = Value> {
    events.iter().filter_map(move |event| {
        let event = event.borrow();
        match event.stage {
            Stage::Answered { value, .. } if event.path.len() == plies + 1 => value,
            _ => None,
        }
    })
}

/// True if the node will not be a leaf that is answered again, as a repetition may be, or a node that was folded.
fn is_settled(node: &impl Node) -> bool {
    node.is_expanded() || node.ending().is_some_and(|ending| ending != Ending::TwoFold)
}

/// A result in the form in which it is passed on: its value is exactly what it proves, because a proven win with
/// another value would be neither; and a repetition is worth a draw. A score stays as it is.
fn decided(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Terminal(value, ending @ (Ending::Game | Ending::Tablebase)) => {
            Verdict::Terminal(Value { m: value.m, ..bound_of(value).value() }, ending)
        }
        Verdict::Terminal(value, Ending::TwoFold) => {
            Verdict::Terminal(Value { m: value.m, ..Value::DRAW }, Ending::TwoFold)
        }
        Verdict::Terminal(_, Ending::Scored) | Verdict::Position(_) => verdict,
    }
}

/// The nearest result; a value that is not a number counts as a draw.
fn bound_of(value: Value) -> Bound {
    match value.wl {
        wl if wl >= 0.5 => Bound::Win,
        wl if wl <= -0.5 => Bound::Loss,
        _ => Bound::Draw,
    }
}

/// The value that an edge with `n` visits keeps when one more visit, of a child that is not kept, was worth `value`.
fn mixed(kept: Option<EdgeValue>, n: u32, value: Value) -> EdgeValue {
    let Some(kept) = kept else { return EdgeValue::of_child(Sums::in_range(value)) };
    EdgeValue::of_child(Sums::of(kept.at_child(), n).plus(Sums::of(value, 1)).mean(n + 1))
}

/// How events are sorted: those with common ancestors stand together, and those that are not on their way up come last.
fn in_order<const PLIES: usize>(a: &Event<PLIES>, b: &Event<PLIES>) -> Ordering {
    let way = |step: &Step| step.at;
    let along_the_way = || a.path.iter().map(way).cmp(b.path.iter().map(way));
    b.is_ready().cmp(&a.is_ready()).then_with(along_the_way)
}
