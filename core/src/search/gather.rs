//! Gathering: from the root to a leaf, at each node by what the node itself holds.

use super::event::{Event, Step};
use super::params::{Cpuct, Fpu};
use super::puct::{self, MovesLeftUtility};
use super::{MAX_VISITS, Params, Search};
use crate::evaluate::{Ending, Move, Value};
use crate::tree::{MAX_EDGES, NodeId, Sums, Tree, Visit, VisitRef};

/// What a playout met on its way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// A node that nobody has evaluated: [`Search::answer`] it.
    Leaf,
    /// A node whose value is known already: [`Search::backprop`], there is nothing to answer.
    Known,
    /// A node that another playout is evaluating: [`Search::cancel`] once that one's answer is in. Until then the visits
    /// in flight of this one lead the next ones elsewhere; without them every playout would collide at the same node.
    Collision,
    /// No room for another node: let the events in flight come back, then [`Search::recycle`].
    Full,
    /// The game has ended at the root, no move may be searched there, or it has [`MAX_VISITS`].
    NoMoves,
}

/// An edge that a playout takes.
struct Choice {
    index: usize,
    mv: Move,
    /// Where the edge's visits are, if it has had one.
    visit: Option<(VisitRef, Visit)>,
}

impl Search<'_> {
    /// Takes one playout from the root to a leaf, counting a visit in flight along its edges.
    pub fn gather<const PLIES: usize>(&mut self, event: &mut Event<PLIES>) -> Gathered {
        event.path.clear();
        event.epoch = self.epoch;
        event.leaf = None;
        event.collided = false;
        let Some(root) = self.root_or_new() else { return Gathered::Full };
        if self.tree.n(root).saturating_add(self.in_flight) >= MAX_VISITS {
            return Gathered::NoMoves;
        }
        let mut node = root;
        loop {
            event.leaf = Some(node);
            if self.tree.ending(node).is_some() {
                if node == root {
                    return Gathered::NoMoves;
                }
                return self.arrive(event, Gathered::Known);
            }
            if !self.tree.is_expanded(node) {
                if self.tree.is_pending(node) {
                    event.collided = true;
                    self.in_flight += 1;
                    self.counts.collisions += 1;
                    return Gathered::Collision;
                }
                self.tree.set_pending(node, true);
                return self.arrive(event, Gathered::Leaf);
            }
            if event.path.is_full() {
                self.tree.set_regrown(node);
                return self.arrive(event, Gathered::Known);
            }
            let Some(choice) = self.choose(node, event.plies()) else {
                self.undo(event);
                return Gathered::NoMoves;
            };
            let Some((child, visit)) = self.enter(node, &choice, event.plies()) else {
                self.undo(event);
                return Gathered::Full;
            };
            let step = Step { parent: node, visit, edge: choice.index as u16, mv: choice.mv };
            let _ = event.path.push(step); // there is room: see above
            self.reopen_cycle(event, child);
            node = child;
        }
    }

    fn arrive<const PLIES: usize>(&mut self, event: &Event<PLIES>, met: Gathered) -> Gathered {
        self.in_flight += 1;
        self.seldepth = self.seldepth.max(event.plies() as u32 + 1);
        met
    }

    /// Takes the visits in flight back from the edges of a path.
    pub(super) fn undo<const PLIES: usize>(&mut self, event: &mut Event<PLIES>) {
        for step in &event.path {
            let visit = self.tree.visit(step.visit);
            self.tree.set_visit(step.visit, Visit { n: visit.n - 1, ..visit });
        }
        event.path.clear();
        event.leaf = None;
    }

    fn root_or_new(&mut self) -> Option<NodeId> {
        if self.root.is_none() {
            self.root = self.room_for_a_leaf().then(|| self.tree.take_node()).flatten();
        }
        self.root
    }

    /// A leaf needs a node, blocks for its edges once its answer comes, and a block for the edge it hangs on (more of
    /// those where moves are filtered). What is promised to the leaves in flight is not free either.
    fn room_for_a_leaf(&self) -> bool {
        let most = self.params.max_edges.min(MAX_EDGES);
        let each = Tree::blocks_for(most) + 1;
        let filtered = if self.root_filter.is_empty() { 0 } else { most };
        self.tree.free_nodes() > 0 && self.tree.free_blocks() > (self.in_flight as usize + 1) * each + filtered
    }

    /// Counts a visit in flight on an edge and gives back its child, made now if it is not in the tree.
    fn enter(&mut self, node: NodeId, choice: &Choice, plies: usize) -> Option<(NodeId, VisitRef)> {
        let known = choice.visit.and_then(|(_, visit)| visit.child);
        if known.is_none() && !self.room_for_a_leaf() {
            return None;
        }
        let (place, visit) = match choice.visit {
            Some(visit) => visit,
            None => self.tree.visit_at(node, choice.index)?,
        };
        let child = match known {
            Some(child) => child,
            None => {
                let child = self.tree.take_node()?;
                if visit.has_value() {
                    self.regrow(child, node, visit, plies);
                }
                child
            }
        };
        self.tree.set_visit(place, Visit { n: visit.n + 1, child: Some(child), ..visit });
        Some((child, place))
    }

    /// A folded node begins with what its edge kept: N, Q and moves left. Draws were not kept; the parent's stand in for
    /// them.
    fn regrow(&mut self, child: NodeId, parent: NodeId, kept: Visit, plies: usize) {
        let Visit { n, q, m, .. } = kept;
        let d = self.tree.mean(parent).d;
        let value = Value { wl: -(q - self.draw_score_at(plies) * d), d, m };
        self.tree.set_sums(child, n, Sums::of(value, n));
        self.tree.set_regrown(child);
    }

    fn params_at(&self, plies: usize) -> (Cpuct, Fpu) {
        let Params { cpuct, cpuct_at_root, fpu, fpu_at_root, .. } = self.params;
        if plies == 0 { (cpuct_at_root, fpu_at_root) } else { (cpuct, fpu) }
    }

    /// The edge with the largest Q + U; of equals the one with the larger prior. Edges without a visit are worth the
    /// same Q each and come in the order of their priors: the first of them stands for all.
    fn choose(&self, node: NodeId, plies: usize) -> Option<Choice> {
        let tree = &self.tree;
        let (cpuct, fpu) = self.params_at(plies);
        let mean = tree.mean(node);
        let exploration = puct::exploration(&cpuct, tree.n(node));
        let moves_left = MovesLeftUtility::of(self.params.moves_left, mean);
        let mut priors = tree.edges(node).map(|(_, p)| p);
        let seen = tree.visits(node).map(|(_, visit)| (priors.next().unwrap_or(0.0), visit));
        let visited_policy = seen.filter(|(_, visit)| visit.has_value()).map(|(p, _)| p).sum();
        let fpu = puct::fpu(fpu, mean.q(self.draw_score_at(plies)), visited_policy);
        let root_rules = (plies == 0).then(|| self.root_rules()).flatten();

        let mut best: Option<(f32, Choice)> = None;
        let mut visits = tree.visits(node);
        for (index, (mv, p)) in tree.edges(node).enumerate() {
            let visit = visits.next();
            let n = visit.map_or(0, |(_, v)| v.n);
            if root_rules.as_ref().is_some_and(|rules| !rules.allow(self, mv, n)) {
                continue;
            }
            let q = match visit {
                Some((_, v)) if v.has_value() => v.q + moves_left.map_or(0.0, |u| u.of_child(v.q, v.m)),
                _ => fpu,
            };
            let score = q + puct::u(p, exploration, n);
            if best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, Choice { index, mv, visit }));
            }
            if visit.is_none() {
                break;
            }
        }
        best.map(|(_, choice)| choice)
    }

    fn root_rules(&self) -> Option<RootRules> {
        let pruning = self.remaining_playouts.is_some();
        (pruning || !self.root_filter.is_empty()).then(|| RootRules { most_visited: self.root_best_n() })
    }

    /// A node that ended by a two-fold repetition is open again once the first occurrence of its position lies before
    /// the root: the opponent could have repeated it in the game, we did not. Its visits are taken back all the way up.
    fn reopen_cycle<const PLIES: usize>(&mut self, event: &Event<PLIES>, child: NodeId) {
        if self.tree.ending(child) != Some(Ending::TwoFold) {
            return;
        }
        let n = self.tree.n(child);
        if event.plies() as f32 >= self.tree.mean(child).m {
            return;
        }
        let mut sums = self.tree.sums(child);
        self.tree.set_sums(child, 0, Default::default());
        self.tree.set_ending(child, None);
        for (at, step) in event.path.iter().enumerate().rev() {
            sums = sums.one_ply_up(n);
            let visit = self.tree.visit(step.visit);
            self.tree.set_visit(step.visit, Visit { n: visit.n - n, ..visit });
            let rest = self.tree.sums(step.parent).minus(sums);
            self.tree.set_sums(step.parent, self.tree.n(step.parent) - n, rest);
            self.refresh_edge(step, at);
        }
        self.taken_back += n;
    }
}

/// What may be searched at the root: `searchmoves`, and no move that can't become the best one any more.
struct RootRules {
    most_visited: u32,
}

impl RootRules {
    fn allow(&self, search: &Search<'_>, mv: Move, n: u32) -> bool {
        let hopeless = |remaining| n < self.most_visited && remaining < self.most_visited - n;
        search.is_root_move(mv) && !search.remaining_playouts.is_some_and(hopeless)
    }
}
