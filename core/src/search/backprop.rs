//! Backprop: brings answers from the leaves to the root. `settle` has written them into the leaves.

use super::Search;
use super::event::{Below, Event, Stage, Step};
use crate::evaluate::{Ending, Value};
use crate::repository::{Bound, EdgeValue, Key, Node, Repository, Sums, Visit};
use crate::sort;
use crate::sync::set;
use core::borrow::BorrowMut;
use core::cmp::Ordering;

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
    /// The second half of [`Search::answer`], for many events at once: each of them settled, or
    /// [`Known`](super::Gathered::Known). If they share ancestors, an ancestor is written once for all of them (or a
    /// few times, where some of them end on the way because they only restored what was folded). The events' order in
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
    pub(super) fn below(&self, key: Key, node: &impl Node) -> Option<Below> {
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
}

/// Adds visits to a node whose result is certain: all its visits are worth the same.
#[inline]
fn add_to_ended(node: &mut impl Node, visits: u32) {
    let mean = node.mean();
    node.add(visits as i32, Sums::of(mean, visits));
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
