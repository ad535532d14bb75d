//! Backprop: an answer on its way from the leaf to the root.

use super::Search;
use super::event::{Event, Step};
use crate::evaluate::{Answer, Ending, MoveLogit, Value, Verdict};
use crate::tree::{Bound, Bounds, MAX_EDGES, NodeId, Sums, Visit, prior};

/// Why an answer did not enter the tree. But for [`Refused::Stale`], its visits are undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Nothing changed: the tree was cleared or re-rooted since the event was gathered, or the event has no leaf of its
    /// own, or its leaf asks for the other one of [`Search::answer`] and [`Search::backprop`].
    Stale,
    /// A position that goes on came without a legal move.
    NoEdges,
    /// More legal moves came than `Params::max_edges` says, or than a node can have.
    TooManyEdges,
}

impl Search<'_> {
    /// Brings the answer to a gathered [`Leaf`](super::Gathered::Leaf) into the tree. `policy` is used up: its logits
    /// become probabilities, and its order changes.
    pub fn answer<const PLIES: usize>(
        &mut self,
        event: &mut Event<PLIES>,
        answer: &Answer,
        policy: &mut [MoveLogit],
    ) -> Result<(), Refused> {
        let leaf = self.in_flight_leaf(event, true)?;
        if let Verdict::Position(_) = answer.verdict {
            let fault = match policy.len() {
                0 => Some(Refused::NoEdges),
                n if n > self.params.max_edges.min(MAX_EDGES) => Some(Refused::TooManyEdges),
                _ => None,
            };
            if let Some(fault) = fault {
                self.cancel(event);
                return Err(fault);
            }
        }
        let visit = self.settle(leaf, event, answer.verdict, policy);
        self.counts.evaluations += 1;
        let proven = matches!(answer.verdict, Verdict::Terminal(_, Ending::Game | Ending::Tablebase));
        self.climb(event, visit, proven && self.params.sticky_endgames);
        Ok(())
    }

    /// Counts one more visit of a [`Known`](super::Gathered::Known) node.
    pub fn backprop<const PLIES: usize>(&mut self, event: &mut Event<PLIES>) -> Result<(), Refused> {
        let leaf = self.in_flight_leaf(event, false)?;
        let visit = Sums::of(self.tree.mean(leaf), 1);
        self.tree.add(leaf, 1, visit);
        self.counts.terminals += 1;
        self.climb(event, visit, false);
        Ok(())
    }

    /// Takes back a playout that collided, or whose leaf can't be answered.
    pub fn cancel<const PLIES: usize>(&mut self, event: &mut Event<PLIES>) {
        let Some(leaf) = event.leaf.filter(|_| event.epoch == self.epoch) else { return };
        self.in_flight -= 1;
        if !event.collided {
            self.tree.set_pending(leaf, false);
        }
        self.undo(event);
    }

    /// The leaf of an event in flight, if it is (not) one that waits for an answer.
    fn in_flight_leaf<const PLIES: usize>(&self, event: &Event<PLIES>, waits: bool) -> Result<NodeId, Refused> {
        let ours = |leaf: &NodeId| event.epoch == self.epoch && !event.collided && self.tree.is_pending(*leaf) == waits;
        event.leaf.filter(ours).ok_or(Refused::Stale)
    }

    /// Writes an answer into the leaf. Gives back what its ancestors add.
    fn settle<const PLIES: usize>(
        &mut self,
        leaf: NodeId,
        event: &Event<PLIES>,
        verdict: Verdict,
        policy: &mut [MoveLogit],
    ) -> Sums {
        self.tree.set_pending(leaf, false);
        match verdict {
            Verdict::Position(_) => {
                prior::softmax(policy, self.params.policy_temperature);
                let fits = self.tree.expand(leaf, policy);
                debug_assert!(fits, "gathering keeps blocks free for this");
            }
            Verdict::Terminal(value, ending) => self.end_game(leaf, event.path.last(), value, ending),
        }
        let visit = Sums::of(verdict.value(), 1);
        match verdict {
            Verdict::Position(_) => self.tree.add(leaf, 1, visit),
            // What was known of a folded node before it grew again is less than what is known now.
            Verdict::Terminal(value, _) => {
                let n = self.tree.n(leaf) + 1;
                self.tree.set_sums(leaf, n, Sums::of(value, n));
            }
        }
        visit
    }

    fn end_game(&mut self, node: NodeId, edge: Option<&Step>, value: Value, ending: Ending) {
        self.tree.set_ending(node, Some(ending));
        if ending != Ending::TwoFold {
            let bound = match value.wl {
                wl if wl > 0.0 => Bound::Win,
                wl if wl < 0.0 => Bound::Loss,
                _ => Bound::Draw,
            };
            self.tree.set_bounds(node, Bounds { lower: bound, upper: bound });
            self.shun_if_lost(edge, bound);
        }
    }

    /// A move after which the opponent wins for certain attracts no visits any more.
    fn shun_if_lost(&mut self, edge: Option<&Step>, opponent: Bound) {
        if let Some(step) = edge.filter(|_| opponent == Bound::Win) {
            self.tree.clear_prior(step.parent, step.edge.into());
        }
    }

    /// Adds one visit to every node of the path above the leaf, refreshes the edges between them, and passes proven
    /// results up.
    ///
    /// `fix` is by how much the sums of the node below changed because it was proven: the visits that it had before
    /// are corrected in every ancestor that is not proven itself.
    fn climb<const PLIES: usize>(&mut self, event: &mut Event<PLIES>, mut visit: Sums, mut proving: bool) {
        let mut fix = Sums::default();
        for at in (0..event.path.len()).rev() {
            let step = event.path[at];
            self.refresh_edge(&step, at);
            let child_m = visit.mean(1).m;
            visit = visit.one_ply_up(1);
            fix = fix.flipped();
            let node = step.parent;
            if let Some(ending) = self.tree.ending(node) {
                // Proven meanwhile by another playout.
                debug_assert!(ending != Ending::TwoFold, "such nodes have no children");
                proving = false;
                fix = Sums::default();
                visit = Sums::of(self.tree.mean(node), 1);
            } else {
                let proof = if proving && at > 0 { self.prove(node, child_m) } else { Proof::None };
                proving = proof != Proof::None;
                if let Proof::Ended(bound, change) = proof {
                    fix = change;
                    visit = Sums::of(self.tree.mean(node), 1);
                    self.shun_if_lost(event.path.get(at - 1), bound);
                } else {
                    self.tree.add(node, 0, fix);
                }
            }
            self.tree.add(node, 1, visit);
        }
        self.in_flight -= 1;
        self.counts.playouts += 1;
        self.counts.depth_sum += event.plies() as u64 + 1;
        event.path.clear();
        event.leaf = None;
    }

    /// Copies what a parent keeps of its child into the edge between them. `plies` is the parent's distance from the
    /// root.
    pub(super) fn refresh_edge(&mut self, step: &Step, plies: usize) {
        let visit = self.tree.visit(step.visit);
        let Some(child) = visit.child else { return };
        if self.tree.n(child) == 0 {
            self.tree.set_visit(step.visit, Visit { q: f32::NAN, ..visit });
            return;
        }
        let mean = self.tree.mean(child);
        let q = Value { wl: -mean.wl, ..mean }.q(self.draw_score_at(plies));
        self.tree.set_visit(step.visit, Visit { q, m: mean.m, ..visit });
    }

    /// What the children prove of a node, written into it.
    fn prove(&mut self, node: NodeId, child_m: f32) -> Proof {
        let children = self.children(node);
        if children.bounds == Bounds::OPEN {
            return Proof::None;
        }
        self.tree.set_bounds(node, children.bounds);
        let Bounds { lower, upper } = children.bounds;
        if lower != upper {
            return Proof::Bounds;
        }
        // The shortest win is not known, the longest loss is.
        let m = if upper == Bound::Loss { children.longest_loss.max(child_m) } else { child_m };
        let (n, before) = (self.tree.n(node), self.tree.sums(node));
        let after = Sums::of(Value { m: m + 1.0, ..upper.value() }, n);
        self.tree.set_sums(node, n, after);
        self.tree.set_ending(node, Some(if children.by_tablebase { Ending::Tablebase } else { Ending::Game }));
        Proof::Ended(upper, after.minus(before))
    }

    /// The children's bounds together, from the side to move at their parent.
    fn children(&self, node: NodeId) -> Children {
        let tree = &self.tree;
        let mut all = Children {
            bounds: Bounds { lower: Bound::Loss, upper: Bound::Loss },
            longest_loss: 0.0,
            by_tablebase: false,
        };
        for (_, visit) in tree.visits(node) {
            let bounds = visit.child.map_or(Bounds::OPEN, |child| tree.bounds(child).flipped());
            let by_tablebase = visit.child.is_some_and(|child| tree.ending(child) == Some(Ending::Tablebase));
            if bounds.lower == Bound::Win && !by_tablebase {
                // A mate is as good as it gets, whatever tablebases say of other moves.
                return Children { bounds, by_tablebase: false, ..all };
            }
            all.join(bounds);
            all.by_tablebase |= by_tablebase;
            if bounds.upper == Bound::Loss {
                all.longest_loss = all.longest_loss.max(visit.child.map_or(0.0, |child| tree.mean(child).m));
            }
        }
        if tree.visited_count(node) < tree.edge_count(node) {
            all.join(Bounds::OPEN);
        }
        all
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Proof {
    None,
    /// Something is excluded.
    Bounds,
    /// The result is certain; by how much that changes the sums of the visits so far.
    Ended(Bound, Sums),
}

struct Children {
    bounds: Bounds,
    longest_loss: f32,
    by_tablebase: bool,
}

impl Children {
    fn join(&mut self, child: Bounds) {
        self.bounds.lower = self.bounds.lower.max(child.lower);
        self.bounds.upper = self.bounds.upper.max(child.upper);
    }
}
