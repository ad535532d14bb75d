//! The moves that were visited, the one to play first.

use super::Reporter;
use super::choice::{Arm, scale_to_one, value_by_priors};
use crate::go::ending::{self, Searched};
use crate::go::notes::{At, Averages, Note};
use hashbrown::HashMap;
use oncilla_core::search::EdgeView;
use oncilla_core::tree::Tree;
use oncilla_go::Move;
use std::cmp::Ordering;

/// A visited move of the root, for whoever chooses what to play. It may be that the root counts none of its visits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The move.
    pub mv: Move,
    /// The value by which it is chosen (KataGo's `playSelectionValue`).
    pub value: f64,
    /// The mean utility of its visits for the side to move, without bonuses.
    pub utility: f64,
    /// Whether it is a pass that should wait until nothing else is as good (`fillDameBeforePass`).
    pub waits: bool,
}

/// A move that was visited.
pub(super) struct Candidate<'r, 's> {
    pub edge: EdgeView<'r, Tree<'s>>,
    pub mv: oncilla_core::Move,
    /// The position after it.
    pub at: At,
    pub averages: Averages,
    pub visits: u32,
    pub edge_visits: u32,
    /// The facts by which the move is chosen.
    pub arm: Arm,
    /// The value of a move of the root before bounds are looked at.
    pub pruned: f64,
}

impl<'r, 's> Reporter<'r, 's> {
    /// The visited moves, the one to play first.
    pub fn choices(&self) -> Vec<Choice> {
        let candidates = self.candidates(&mut HashMap::new());
        let pass_waits = self.pass_can_wait(&candidates);
        let choice = |Candidate { mv, averages, arm, .. }: &Candidate<'_, '_>| {
            let mv = Move(mv.0);
            let waits = pass_waits && mv == self.size.pass();
            Choice { mv, value: arm.value, utility: self.to_move() * averages.utility, waits }
        };
        candidates.iter().map(choice).collect()
    }

    /// The visited moves of the root, the one to play first.
    pub(super) fn candidates(&self, known: &mut HashMap<At, Averages>) -> Vec<Candidate<'r, 's>> {
        let Some((root, (at_root, _))) = self.search.tree().zip(self.search.notes().root()) else { return Vec::new() };
        let mut all: Vec<_> = root.visited().filter_map(|edge| self.candidate(at_root, edge, known)).collect();
        let of_root = self.search.averages(&root, at_root, known);
        self.give_values(&of_root, &mut all);
        all.sort_by(|a, b| {
            let more = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
            more(a.arm.value, b.arm.value).then(b.edge_visits.cmp(&a.edge_visits)).then(more(a.arm.prior, b.arm.prior))
        });
        all
    }

    /// A move from the position `at`, if it was visited.
    pub(super) fn candidate(
        &self,
        at: At,
        edge: EdgeView<'r, Tree<'s>>,
        known: &mut HashMap<At, Averages>,
    ) -> Option<Candidate<'r, 's>> {
        let (mv, edge_visits) = (edge.mv()?, edge.completed());
        let (next, note) = self.search.notes().next(at, mv)?;
        let child = edge.child();
        let averages =
            child.map_or_else(|| note.averages().times(edge_visits), |child| self.search.averages(&child, next, known));
        let visits = child.map_or(edge_visits, |child| child.n().max(edge_visits));
        (visits > 0).then(|| {
            let arm = self.arm(at, &edge, &averages, visits);
            Candidate { edge, mv, at: next, averages, visits, edge_visits, arm, pruned: 0.0 }
        })
    }

    /// The arm of a move from the position `at`, after which there is a position with these averages and visits.
    pub(super) fn arm(&self, at: At, edge: &EdgeView<'r, Tree<'s>>, averages: &Averages, visits: u32) -> Arm {
        let edge_visits = edge.completed();
        // The product comes first: if each visit counts 1, that is exact.
        let by_edge = |of_all: f64| of_all * f64::from(edge_visits) / f64::from(visits);
        let (weight, weight_square) = (by_edge(averages.weight), by_edge(averages.weight_square));
        let by_edge = Averages { weight, weight_square, ..*averages };
        // Only moves of the root have a bonus, and a prior other than that of the tree.
        let of_root = edge.mv().filter(|_| at == 0).map(|mv| Move(mv.0));
        let bonus = of_root.map_or(0.0, |mv| self.search.bonus(mv, averages));
        Arm {
            visits: edge_visits,
            weight,
            utility: self.search.sign(at) * (averages.utility + bonus),
            prior: of_root.map_or_else(|| edge.p().into(), |mv| self.search.prior(mv)),
            radius: self.params.radius(&by_edge, self.search.plan().factors.most()),
            value: weight,
        }
    }

    fn give_values(&self, root: &Averages, all: &mut [Candidate<'_, '_>]) {
        let mut arms: Vec<Arm> = all.iter().map(|candidate| candidate.arm).collect();
        if self.pass_can_wait(all) {
            let passes = all.iter().zip(&mut arms).filter(|(candidate, _)| Move(candidate.mv.0) == self.size.pass());
            passes.for_each(|(_, arm)| arm.value = 0.0);
        }
        let explored = self.params.prune(root, &mut arms);
        let has_values = arms.iter().any(|arm| arm.value > 0.0);
        if !has_values {
            value_by_priors(&mut arms);
        }
        let mut scaled = arms.clone();
        scale_to_one(&mut scaled);
        all.iter_mut().zip(&scaled).for_each(|(candidate, arm)| candidate.pruned = arm.value);
        if has_values {
            self.params.prefer_by_bound(explored, &mut arms);
        }
        scale_to_one(&mut arms);
        all.iter_mut().zip(arms).for_each(|(candidate, arm)| candidate.arm = arm);
    }

    fn pass_can_wait(&self, all: &[Candidate<'_, '_>]) -> bool {
        let searched = all.iter().map(|Candidate { mv, arm, averages, .. }| Searched {
            mv: Move(mv.0),
            visits: arm.visits,
            weight: arm.weight,
            averages,
        });
        self.params.fill_dame_before_pass && ending::pass_can_wait(self.search.root(), self.search.raw(), searched)
    }
}

/// The root's averages: its own evaluation, and its moves as far as they would be visited now.
pub(super) fn root_averages(root: &Note, candidates: &[Candidate<'_, '_>]) -> Averages {
    let own = root.averages();
    // Moves that the root has not counted have values by their priors, which are no weights.
    let counted = candidates.iter().filter(|candidate| candidate.edge_visits > 0);
    counted.fold(own, |all, candidate| all.plus(&candidate.averages, candidate.pruned))
}
