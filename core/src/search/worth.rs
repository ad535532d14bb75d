//! What a node is worth to its parents, and to its own moves.

use super::Search;
use crate::approx;
use crate::evaluate::Value;
use crate::formula::weighing::Branch;
use crate::repository::{Node, Repository, Sums, Visit};

impl<R: Repository> Search<R> {
    /// What a node passes on to its parents, from its side to move: the mean of its visits, each of which counts as
    /// [`Params::weighing`](super::Params) says.
    #[inline(always)]
    pub(super) fn worth(&self, node: &impl Node) -> Value {
        if self.counts_alike { node.mean() } else { self.weighed(node) }
    }

    /// The value that a node's unvisited moves are compared with. `worth` is what the node is worth, and
    /// `visited_policy` the sum of its visited priors.
    #[cold]
    #[inline(never)]
    pub(super) fn held_against(&self, node: &impl Node, worth: Value, visited_policy: f32) -> Value {
        let power = self.params.fpu_parent_power;
        if power == 0.0 {
            return worth;
        }
        let (_, own) = own(node);
        let share = if visited_policy > 0.0 { approx::exp(power * approx::ln(visited_policy)) } else { 0.0 };
        let mix = |mean: f32, own: f32| own + share * (mean - own);
        Value { wl: mix(worth.wl, own.wl), d: mix(worth.d, own.d), m: mix(worth.m, own.m) }
    }

    #[cold]
    #[inline(never)]
    fn weighed(&self, node: &impl Node) -> Value {
        if self.params.weighing.is_off() || !node.is_expanded() || node.ending().is_some() {
            return node.mean();
        }
        let completed = || node.visits().filter(|visit| visit.completed() > 0 && visit.value.is_some());
        let weights = self.params.weighing.weights(|| completed().filter_map(branch));
        let mut sum = Sum::default();
        completed().zip(weights).for_each(|(visit, weight)| {
            sum.add(visit.contribution().mean(visit.completed()), weight);
        });
        let (n, own) = own(node);
        sum.add(own, n as f32);
        sum.mean().unwrap_or(node.mean())
    }
}

/// The visits that came back along a node's edges, and what they add to its sums.
pub(super) fn below(node: &impl Node) -> (u32, Sums) {
    node.visits()
        .filter(|visit| visit.value.is_some())
        .fold((0, Sums::default()), |(n, sums), visit| (n + visit.completed(), sums.plus(visit.contribution())))
}

/// The visits that are not counted below the node, including the node's own evaluation, and their mean.
pub(super) fn own(node: &impl Node) -> (u32, Value) {
    let (below, sums) = below(node);
    let n = node.n().saturating_sub(below);
    (n, node.sums().minus(sums).mean(n))
}

fn branch(visit: Visit) -> Option<Branch> {
    Some(Branch { n: visit.completed() as f32, q: visit.value?.wl(), p: visit.p() })
}

/// A sum of values with weights.
#[derive(Default)]
struct Sum {
    weight: f32,
    wl: f32,
    d: f32,
    m: f32,
}

impl Sum {
    fn add(&mut self, value: Value, weight: f32) {
        self.weight += weight;
        self.wl += weight * value.wl;
        self.d += weight * value.d;
        self.m += weight * value.m;
    }

    fn mean(&self) -> Option<Value> {
        let mean = |sum: f32| sum / self.weight;
        (self.weight > 0.0).then(|| Value { wl: mean(self.wl), d: mean(self.d), m: mean(self.m) })
    }
}
