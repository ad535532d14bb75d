//! The edge that a playout takes.

use super::Search;
use super::params::{Cpuct, Fpu, Params};
use super::puct::{self, MovesLeftUtility};
use crate::evaluate::Move;
use crate::repository::{Naming, Node, Repository, Visit};

/// An edge that a playout takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// One that has a record, and where.
    Visited(usize),
    /// One without: its place among the legal moves.
    Unvisited(u16),
}

/// The best edge so far: the larger score, of equals the one that was visited first.
struct Best {
    score: f32,
    choice: Option<Choice>,
    order: usize,
}

impl Best {
    #[inline]
    fn offer(&mut self, score: f32, order: usize, choice: Choice) {
        if score > self.score || score == self.score && order < self.order || self.choice.is_none() {
            *self = Self { score, choice: Some(choice), order };
        }
    }
}

impl<R: Repository> Search<R> {
    fn params_at(&self, plies: usize) -> (&Cpuct, Fpu) {
        let Params { cpuct, cpuct_at_root, fpu, fpu_at_root, .. } = &self.params;
        if plies == 0 { (cpuct_at_root, *fpu_at_root) } else { (cpuct, *fpu) }
    }

    /// The draw score of the side to move `plies` below the root.
    pub(super) fn draw_score_at(&self, plies: usize) -> f32 {
        if plies.is_multiple_of(2) { self.params.draw_score } else { -self.params.draw_score }
    }

    /// The edge with the largest Q + U; of equals the one with the larger prior. Edges without a record are worth the
    /// same Q each: the one with the largest prior stands for all.
    pub(super) fn choose(&self, node: &impl Node, plies: usize) -> Option<Choice> {
        let (cpuct, fpu) = self.params_at(plies);
        let draw_score = self.draw_score_at(plies);
        let mean = node.mean();
        let exploration = puct::exploration(cpuct, node.n());
        let moves_left = MovesLeftUtility::of(self.params.moves_left, mean);
        let rules = if plies == 0 { self.root_rules(node) } else { None };
        let mut best = Best { score: f32::NEG_INFINITY, choice: None, order: 0 };
        let (mut visited_policy, mut waiting) = (0.0, false);
        for (at, visit) in node.visits().enumerate() {
            let Some(value) = visit.value else {
                waiting = true;
                continue;
            };
            let p = visit.p();
            visited_policy += p;
            if rules.as_ref().is_some_and(|rules| !rules.allow_visited(self, &visit)) {
                continue;
            }
            let q = value.q(draw_score);
            let q = moves_left.map_or(q, |utility| q + utility.of_child(q, value.m()));
            best.offer(q + puct::u(p, exploration, visit.n), at, Choice::Visited(at));
        }
        let fpu = puct::fpu(fpu, mean.q(draw_score), visited_policy);
        if waiting {
            for (at, visit) in node.visits().enumerate().filter(|(_, visit)| visit.value.is_none()) {
                if rules.as_ref().is_none_or(|rules| rules.allow_visited(self, &visit)) {
                    best.offer(fpu + puct::u(visit.p(), exploration, visit.n), at, Choice::Visited(at));
                }
            }
        }
        let upcoming = match &rules {
            None => node.next_unvisited(),
            Some(rules) => rules.next_unvisited(self, node),
        };
        if let Some((index, p)) = upcoming {
            best.offer(fpu + puct::u(p, exploration, 0), usize::MAX, Choice::Unvisited(index));
        }
        best.choice
    }

    fn root_rules(&self, root: &impl Node) -> Option<RootRules> {
        let remaining = self.remaining_playouts();
        if self.allowed.is_empty() && remaining.is_none() {
            return None;
        }
        let allowed = root.visits().filter(|visit| self.is_allowed(visit.mv));
        Some(RootRules { remaining, most_visited: allowed.map(|visit| visit.n).max().unwrap_or(0) })
    }

    pub(super) fn is_allowed(&self, mv: Naming) -> bool {
        match mv {
            _ if self.allowed.is_empty() => true,
            Naming::Index(index) => self.allowed.iter().any(|allowed| allowed.index == index),
            Naming::Named(mv) => self.allowed.iter().any(|allowed| allowed.mv == mv),
        }
    }
}

/// A root move that may be searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub index: u16,
    pub mv: Move,
}

/// What may be searched at the root: `searchmoves`, and no move that can't become the best one any more.
struct RootRules {
    remaining: Option<u32>,
    most_visited: u32,
}

impl RootRules {
    fn hopeless(&self, n: u32) -> bool {
        self.remaining.is_some_and(|remaining| n < self.most_visited && remaining < self.most_visited - n)
    }

    fn allow_visited<R: Repository>(&self, search: &Search<R>, visit: &Visit) -> bool {
        !self.hopeless(visit.n) && search.is_allowed(visit.mv)
    }

    /// The one with the largest prior that may be searched.
    fn next_unvisited<R: Repository>(&self, search: &Search<R>, node: &impl Node) -> Option<(u16, f32)> {
        if self.hopeless(0) {
            return None;
        }
        if search.allowed.is_empty() {
            return node.next_unvisited();
        }
        let open = search.allowed.iter().map(|allowed| allowed.index);
        let open = open.filter_map(|index| Some((index, node.unvisited_prior(index.into())?)));
        open.reduce(|best, edge| if edge.1 > best.1 || edge.1 == best.1 && edge.0 < best.0 { edge } else { best })
    }
}
