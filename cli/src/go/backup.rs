//! After each playout: updates the averages of the positions of its line, from the leaf to the root.
//!
//! The core gives each visit of a node the same weight, at that node and at its parents. KataGo does not: a visit that
//! counts less at one node counts less at all nodes above, and the network's value of a position is corrected by what
//! was found below similar ones (`bias.rs`). (The node keeps the uncorrected value: first-play urgency uses it.) So the
//! values of edges are computed here, from notes. They go to the core's edges (`Search::revalue_edge`) together with the
//! weight of their visits, stored in place of moves left, which exploration uses (`Explored::Weights`).

use super::notes::{At, Passed};
use super::search::Search;
use oncilla_core::Move;
use oncilla_core::formula::weighing::Branch;
use oncilla_core::repository::Key;
use oncilla_core::search::{EdgeView, NodeView};
use oncilla_core::tree::Tree;
use oncilla_go::Move as GoMove;

/// The moves of a node that were visited.
pub(super) struct AllVisited<'s, 'm> {
    /// Each move, and what its visits weigh in the position's averages: there good moves are preferred and bad ones
    /// pruned.
    pub(super) moves: Vec<(Visited<'s, 'm>, f64)>,
    /// The sum of the moves' weights. If nothing is pruned, this is exactly the weight of the visits; the sum of the
    /// rounded weights would not be exact.
    pub(super) weight: f64,
}

/// A move that was visited.
pub(super) struct Visited<'s, 'm> {
    pub(super) edge: EdgeView<'s, Tree<'m>>,
    /// The position after the move.
    pub(super) next: At,
    /// The weight of the move's visits.
    pub(super) weight: f64,
}

impl<'m> Search<'m> {
    /// The moves of a node that were visited.
    pub(super) fn visited<'s>(
        &'s self,
        node: &NodeView<'s, Tree<'m>>,
        at: At,
    ) -> impl Iterator<Item = Visited<'s, 'm>> + use<'s, 'm> {
        node.visited().filter(|edge| edge.completed() > 0).filter_map(move |edge| {
            let (next, note) = self.notes.next(at, edge.mv()?)?;
            Some(Visited { edge, next, weight: f64::from(edge.completed()) * f64::from(note.passed.weight) })
        })
    }

    /// The moves of a node that were visited, with their weights in the position's averages.
    pub(super) fn all_visited<'s>(&'s self, node: &NodeView<'s, Tree<'m>>, at: At) -> AllVisited<'s, 'm> {
        let (sign, most) = (self.sign(at), self.context.plan.factors.most());
        let branch = |Visited { edge, next, weight }: &Visited<'s, 'm>| {
            let q = (sign * f64::from(self.notes.get(*next).passed.utility) / most) as f32;
            Branch { n: *weight as f32, q, p: self.plain_prior(at, edge) }
        };
        let visited: Vec<Visited<'s, 'm>> = self.visited(node, at).collect();
        let branches: Vec<Branch> = visited.iter().map(branch).collect();
        let weighing = &self.context.plan.params.weighing;
        let weights: Vec<f64> = weighing.weights(|| branches.iter().copied()).map(f64::from).collect();
        let kept = weighing.kept(branches.iter().copied()).map(f64::from);
        let weight: f64 = kept.zip(&visited).map(|(kept, visited)| kept.min(visited.weight)).sum();
        let factor = weight / weights.iter().sum::<f64>();
        let moves = visited.into_iter().zip(weights.into_iter().map(|weight| weight * factor)).collect();
        AllVisited { moves, weight }
    }

    /// A move's prior before it is flattened, which only those of the root are.
    fn plain_prior(&self, at: At, edge: &EdgeView<'_, Tree<'_>>) -> f32 {
        let of_root = edge.mv().filter(|_| at == 0).and_then(|mv| self.context.priors.get(usize::from(mv.0)));
        of_root.map_or(edge.p(), |prior| (*prior as f32).max(f32::MIN_POSITIVE))
    }

    /// 1 if White is to move, −1 if Black is.
    pub(super) fn sign(&self, at: At) -> f64 {
        if self.notes.get(at).white_to_move { 1.0 } else { -1.0 }
    }

    /// Updates edges and notes after a playout that came back along this line. If it came back `aside`, the root's own
    /// note stays as it is until a visit that the root counts.
    pub(super) fn back_up(&mut self, line: &[Move], aside: bool) {
        let mut way = Vec::with_capacity(line.len());
        let mut here = self.tree().zip(self.notes.root().map(|(at, _)| at)).map(|(node, at)| (node, at, true));
        for &mv in line {
            let Some((node, at, is_whole)) = here else { break };
            way.push((node.key(), at, mv, is_whole));
            let edge = node.visited().find(|edge| edge.mv() == Some(mv));
            here = edge.and_then(|edge| Some((edge.child()?, self.notes.next(at, mv)?.0, !lacks_visits(&edge))));
        }
        // The note of the position at the end of the line is up to date already.
        for (ply, (node, at, mv, is_whole)) in way.into_iter().enumerate().rev() {
            self.tell_edge(node, at, mv);
            // A folded node keeps its earlier means.
            if is_whole && !(aside && ply == 0) {
                self.sum_up(node, at);
            }
        }
    }

    /// Sets the value of a move's edge to what the position after the move passes on; at the root with the move's
    /// bonus.
    pub(super) fn tell_edge(&mut self, node: Key, at: At, mv: Move) {
        let Some((_, note)) = self.notes.next(at, mv) else { return };
        // The bonus depends on what the network expects there: if it depended on the mean of all visits, everything
        // would have to be summed up again after each visit.
        let bonus = if at == 0 { self.context.bonus(GoMove(mv.0), &note.outlook) } else { 0.0 };
        self.core.revalue_edge(node, mv, self.context.value_of(note.passed.moved_by(bonus), note.white_to_move));
    }

    /// Sums up the visits of a position in its note.
    pub(super) fn sum_up(&mut self, node: Key, at: At) {
        let view = self.core.node(node);
        let (mut count, mut before) = (0, 0.0);
        let (mut utility, mut square) = (0.0, 0.0);
        let AllVisited { moves, weight } = self.all_visited(&view, at);
        for (visited, weight) in moves {
            let Passed { utility: mean, square: of_squares, .. } = self.notes.get(visited.next).passed;
            count += visited.edge.completed();
            before += visited.weight;
            utility += weight * f64::from(mean);
            square += weight * f64::from(of_squares);
        }
        let below = if weight > 0.0 { utility / weight } else { 0.0 };
        let own = self.notes.correct(at, before, below, &self.context.plan.correction);
        let own_weight = f64::from(self.notes.get(at).own_weight);
        let all = weight + own_weight;
        let passed = Passed {
            utility: ((utility + own_weight * own) / all) as f32,
            square: ((square + own_weight * own * own) / all) as f32,
            weight: (all / (f64::from(count) + 1.0)) as f32,
        };
        self.notes.set_passed(at, passed);
    }
}

/// Whether the child of an edge was folded, and has fewer visits than the edge.
pub(super) fn lacks_visits(edge: &EdgeView<'_, Tree<'_>>) -> bool {
    edge.child().is_none_or(|child| child.n() < edge.completed())
}
