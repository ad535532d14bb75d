//! Selection: the edge that a playout takes.

use super::Search;
use super::params::{CatchUp, Cpuct, Explored, Fpu};
use super::puct::{self, MovesLeftUtility};
use super::root::RootRules;
use super::worth::own;
use crate::evaluate::Value;
use crate::repository::{EdgeValue, Naming, Node, Repository, Seen, Visit};
use core::hint::select_unpredictable;

/// An edge that a playout takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// An edge that has a record, at this place.
    Visited(usize),
    /// An edge without a record, at this index among the legal moves.
    Unvisited(u16),
}

/// Q + U of an edge that has a value.
struct Score {
    exploration: f32,
    draw_score: f32,
    /// Whether U goes by the weights of visits, and not by their number.
    by_weight: bool,
    moves_left: Option<MovesLeftUtility>,
}

impl Score {
    /// Whether nothing counts but W − L and the number of visits.
    fn is_plain(&self) -> bool {
        self.moves_left.is_none() && self.draw_score == 0.0 && !self.by_weight
    }

    #[inline(always)]
    fn of(&self, edge: &Seen, value: EdgeValue) -> f32 {
        let q = value.q(self.draw_score);
        let q = self.moves_left.map_or(q, |utility| q + utility.of_child(q, value.m()));
        let u = match self.by_weight {
            false => puct::u(edge.p(), self.exploration, edge.n),
            true => puct::u_of_weight(edge.p(), self.exploration, edge.n as f32 * weight_of_visit(value)),
        };
        q + u
    }
}

/// The best of the edges with a value, of those that wait for their first one, and of those without a record: these are
/// worth `fpu`.
#[inline(always)]
fn best_choice(
    node: &impl Node,
    seen: BestSeen,
    fpu: f32,
    exploration: f32,
    rules: Option<&RootRules>,
) -> Option<Choice> {
    let (mut best, mut choice) = (seen.score, seen.at.map(Choice::Visited));
    let mut offer = |score: f32, other: Choice| {
        if choice.is_none() || score > best {
            (best, choice) = (score, Some(other));
        }
    };
    if seen.waiting {
        for (at, edge) in node.seen().enumerate().filter(|(_, edge)| edge.value.is_none()) {
            if rules.is_none_or(|rules| rules.allow(at, edge.n)) {
                offer(fpu + puct::u(edge.p(), exploration, edge.n), Choice::Visited(at));
            }
        }
    }
    let upcoming = match rules {
        None => node.next_unvisited(),
        Some(rules) => rules.next_unvisited(node),
    };
    if let Some((index, p)) = upcoming {
        offer(fpu + puct::u(p, exploration, 0), Choice::Unvisited(index));
    }
    choice.or_else(|| first_allowed(node, rules))
}

impl<R: Repository> Search<R> {
    fn params_at(&self, plies: usize) -> (&Cpuct, Fpu) {
        let params = &self.params;
        if plies == 0 { (params.root_cpuct(), params.root_fpu()) } else { (&params.cpuct, params.fpu) }
    }

    /// The draw score of the side to move `plies` below the root.
    pub(super) fn draw_score_at(&self, plies: usize) -> f32 {
        if plies.is_multiple_of(2) { self.params.draw_score } else { -self.params.draw_score }
    }

    /// The edge with the largest Q + U; of equal ones the one that was visited first, which has the larger prior. Edges
    /// without a record are worth the same Q each: the one with the largest prior stands for all of them.
    ///
    /// `told`: in a graph, the value that the edge which led here keeps of this node.
    #[inline]
    pub(super) fn choose(&self, node: &impl Node, plies: usize, told: &Option<EdgeValue>) -> Option<Choice> {
        let (cpuct, fpu) = self.params_at(plies);
        let draw_score = self.draw_score_at(plies);
        let worth = if self.counts_alike { None } else { Some(self.worth_here(node, told)) };
        let exploration = match worth {
            None => puct::exploration(cpuct, node.n()),
            Some(worth) => self.exploration_here(node, cpuct, worth),
        };
        let rules = if plies == 0 { self.root_rules(node) } else { None };
        let score = self.score_at(node, exploration, draw_score);
        // Everything but the plain case is rare, and would cost a test at each edge.
        let plain = score.is_plain() && rules.is_none();
        let seen = match &rules {
            None if plain => best_seen(node, |edge, value| value.wl() + puct::u(edge.p(), exploration, edge.n)),
            None => best_seen(node, |edge, value| score.of(edge, value)),
            Some(rules) => best_allowed(node, rules, |edge, value| score.of(edge, value)),
        };
        let (q, visited_policy) = match worth {
            Some(worth) => self.held_against_by(node, plies, worth, &seen),
            None if plain => (node.mean_wl(), seen.visited_policy),
            None => (node.mean().q(draw_score), seen.visited_policy),
        };
        let fpu = puct::fpu(fpu, q, visited_policy);
        best_choice(node, seen, fpu, exploration, rules.as_ref())
    }

    /// The Q that unvisited moves of a node which is worth `worth` are compared with, and the sum of the visited priors.
    #[cold]
    #[inline(never)]
    fn held_against_by(&self, node: &impl Node, plies: usize, worth: Value, seen: &BestSeen) -> (f32, f32) {
        let visited_policy = match plies {
            0 => self.visited_at_root(node, seen),
            _ => seen.visited_policy.min(1.0),
        };
        (self.held_against(node, worth, visited_policy).q(self.draw_score_at(plies)), visited_policy)
    }

    /// First-play urgency at the root: the value of an unvisited move, as [`Search::choose`] has it.
    #[cold]
    #[inline(never)]
    pub(super) fn root_urgency(&self, root: &impl Node) -> f32 {
        let seen = best_seen(root, |_, _| 0.0);
        let (q, visited_policy) = match self.counts_alike {
            true => (root.mean().q(self.draw_score_at(0)), seen.visited_policy),
            false => self.held_against_by(root, 0, self.worth_here(root, &None), &seen),
        };
        puct::fpu(self.params.root_fpu(), q, visited_policy)
    }

    /// How the edges of a node are scored.
    #[inline(always)]
    fn score_at(&self, node: &impl Node, exploration: f32, draw_score: f32) -> Score {
        let by_weight = self.params.explored == Explored::Weights;
        let moves_left = self.params.moves_left.filter(|_| !by_weight);
        let moves_left = moves_left.and_then(|params| MovesLeftUtility::of(Some(params), node.mean()));
        Score { exploration, draw_score, by_weight, moves_left }
    }

    /// The part of the root's priors, whose sum may be more than 1, that belongs to visited moves. A move counts as
    /// visited, too, if all its visits came [aside](Search::bring_back_aside): it has a name, and no value. (So has one
    /// whose first visit another thread is about to bring back.)
    #[cold]
    #[inline(never)]
    fn visited_at_root(&self, root: &impl Node, seen: &BestSeen) -> f32 {
        let is_aside = |visit: &Visit| visit.value.is_none() && matches!(visit.mv, Naming::Named(_));
        let aside = || root.visits().filter(is_aside).fold(0.0, |sum, visit| sum + visit.p());
        let all = seen.visited_policy + if seen.waiting { aside() } else { 0.0 };
        (all / self.params.root_policy_sum.max(1.0)).min(1.0)
    }

    /// What priors are multiplied by at a node whose value to itself is `worth`, if that is not the plain mean of its
    /// visits.
    #[cold]
    #[inline(never)]
    fn exploration_here(&self, node: &impl Node, cpuct: &Cpuct, worth: Value) -> f32 {
        let (exploration, all) = match self.params.explored {
            Explored::Visits => (puct::exploration(cpuct, node.n()), node.n() as f32),
            Explored::Weights => {
                let weight = |visit: Visit| Some(visit.completed() as f32 * weight_of_visit(visit.value?));
                let below: f32 = node.visits().filter_map(weight).sum();
                let (n, own) = own(node);
                (puct::exploration_by_weight(cpuct, below), below + n as f32 * own.m / Value::WEIGHT_ONE)
            }
        };
        let factor = |deviation| puct::deviation_factor(&deviation, all, worth);
        exploration * self.params.deviation.map_or(1.0, factor)
    }

    /// What a node is worth to itself. An edge that has all the visits of its child may have been
    /// [told](Search::revalue_edge) a better value than the node knows.
    #[cold]
    #[inline(never)]
    fn worth_here(&self, node: &impl Node, told: &Option<EdgeValue>) -> Value {
        match told {
            Some(told) if self.params.catch_up == CatchUp::Visits => told.at_child(),
            _ => self.worth(node),
        }
    }
}

/// If no score is a number, no edge is the best, but the playout has to go on.
#[cold]
fn first_allowed(node: &impl Node, rules: Option<&RootRules<'_>>) -> Option<Choice> {
    let allowed = |(at, visit): (usize, Visit)| rules.is_none_or(|rules| rules.allow(at, visit.n));
    node.visits().enumerate().position(allowed).map(Choice::Visited)
}

/// Like [`best_seen`], but only among the root moves that may be searched.
fn best_allowed(root: &impl Node, rules: &RootRules<'_>, score: impl Fn(&Seen, EdgeValue) -> f32) -> BestSeen {
    let mut best = best_seen(root, &score);
    (best.score, best.at) = (f32::NEG_INFINITY, None);
    for (at, visit) in root.visits().enumerate() {
        let Some(value) = visit.value.filter(|_| rules.allow(at, visit.n)) else { continue };
        let score = score(&visit.into(), value);
        if score > best.score {
            (best.score, best.at) = (score, Some(at));
        }
    }
    best
}

/// The weight of each visit of an edge: see [`Explored::Weights`].
fn weight_of_visit(value: EdgeValue) -> f32 {
    value.m() / Value::WEIGHT_ONE
}

/// The best of the edges that have a value.
struct BestSeen {
    score: f32,
    at: Option<usize>,
    /// Sum of their priors.
    visited_policy: f32,
    /// True if there are records without a value: their first visit is in flight, or, at the root, all their visits came
    /// [aside](Search::bring_back_aside).
    waiting: bool,
}

/// This loop is where gathering spends its time. It stays a function of its own, so that its sum and its best stay in
/// registers. Which edge is better can't be predicted, so there is no branch for it.
#[inline(never)]
fn best_seen(node: &impl Node, score_of: impl Fn(&Seen, EdgeValue) -> f32) -> BestSeen {
    const NOWHERE: usize = usize::MAX;
    let (mut score, mut at, mut visited_policy, mut waiting) = (f32::NEG_INFINITY, NOWHERE, 0.0, false);
    for (index, edge) in node.seen().enumerate() {
        let Some(value) = edge.value else {
            waiting = true;
            continue;
        };
        visited_policy += edge.p();
        let of_edge = score_of(&edge, value);
        let better = of_edge > score;
        score = select_unpredictable(better, of_edge, score);
        at = select_unpredictable(better, index, at);
    }
    BestSeen { score, at: (at != NOWHERE).then_some(at), visited_policy, waiting }
}
