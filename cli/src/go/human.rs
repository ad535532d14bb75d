//! Playouts that begin with a move that a player of the profile would look at, as in KataGo
//! (`humanSLRootExploreProbWeightless`, `humanSLRootExploreProbWeightful`, `humanSLCpuctExploration`,
//! `humanSLCpuctPermanent`).
//!
//! Such a playout chooses its move at the root by the policy of the network for human play, with an exploration of its
//! own; below the root it goes on like any other. Either the root counts its visit like all others, or not at all: then
//! the visit counts for the position after the move only. So the search knows what the move is worth, but neither its
//! choice among root moves nor the root's mean counts these visits. Among the latter playouts a move counts as often as
//! the position after it was visited.
//!
//! For such a playout the core is restricted to a single root move.

use super::search::Search;
use oncilla_core::Move;
use oncilla_core::search::{EdgeView, puct};
use oncilla_core::tree::Tree;
use oncilla_go::Move as GoMove;

/// Multiples of the golden ratio's fraction spread evenly over 0 to 1, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How much the root is explored so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HumanExploration {
    /// The part of the playouts that begin so and are not counted at the root, from 0 to 1
    /// (`humanSLRootExploreProbWeightless`).
    pub weightless: f64,
    /// The part of those that are counted, from 0 to 1 (`humanSLRootExploreProbWeightful`). What both parts are more
    /// than 1 together is left out here.
    pub weightful: f64,
    /// The weight of exploration, in utility (`humanSLCpuctExploration`).
    pub constant: f64,
    /// What that grows by with the square root of the weight of the root's moves (`humanSLCpuctPermanent`).
    pub growth: f64,
}

/// How a playout counts whose first move is chosen so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Below the root only.
    Weightless,
    /// Like any other.
    Weightful,
}

impl HumanExploration {
    /// `None` if no playout begins so.
    pub(super) fn if_any(self) -> Option<Self> {
        (self.weightless + self.weightful > 0.0).then_some(self)
    }

    /// How the playout that comes after so many others counts, if it begins so. KataGo leaves that to chance; here it
    /// is the same in every run.
    fn way(&self, playouts: u64) -> Option<Way> {
        match (playouts as f64 * GOLDEN).fract() {
            share if share < self.weightless => Some(Way::Weightless),
            share if share < self.weightless + self.weightful => Some(Way::Weightful),
            _ => None,
        }
    }

    /// The factor of a prior, which is then divided by one plus the move's weight, if all moves have `weight` together.
    fn factor(&self, weight: f64) -> f64 {
        (self.constant + self.growth * weight.sqrt()) * (weight + puct::WEIGHT_OF_NONE).sqrt()
    }
}

/// A move of the root as such a choice sees it.
pub(super) struct HumanArm {
    mv: GoMove,
    /// The prior of the network for human play.
    policy: f64,
    /// The prior by which the move is chosen: the same, flattened like all priors of the root.
    prior: f64,
    /// The mean utility for the side to move, once a visit has come back.
    utility: Option<f64>,
    /// The weight of its visits, including those in flight.
    weight: f64,
    /// The weight of those that have come back.
    known: f64,
    /// Whether anybody has visited it, or is about to.
    is_visited: bool,
}

impl Search<'_> {
    /// The move with which the next playout has to begin, with its place among the root's moves, and how the playout
    /// counts; `None` if the search chooses by itself.
    pub(super) fn human_choice(&self) -> Option<(Way, (usize, Move))> {
        let exploration = self.plan().human_exploration?;
        let way = exploration.way(self.gathered())?;
        let moves = self.root_moves();
        let arms = self.human_arms(way, moves)?;
        let urgency = self.human_urgency(&arms)?;
        let factor = exploration.factor(arms.iter().map(|arm| arm.known).sum());
        let score = |arm: &HumanArm| arm.utility.unwrap_or(urgency) + factor * arm.prior / (1.0 + arm.weight);
        // Of equals the first one is taken.
        let best = arms.iter().reduce(|best, arm| if score(arm) > score(best) { arm } else { best })?;
        let place = moves.iter().position(|mv| *mv == best.mv)?;
        Some((way, (place, Move(best.mv.0))))
    }

    /// The root's moves as a playout of this kind sees them; `None` as long as the root is not evaluated.
    pub(super) fn human_arms(&self, way: Way, moves: &[GoMove]) -> Option<Vec<HumanArm>> {
        let human = self.human()?;
        let root = self.tree().filter(|root| root.is_expanded())?;
        let (at_root, _) = self.notes.root()?;
        let sign = self.sign(at_root);
        let arm = |edge: EdgeView<'_, Tree<'_>>| {
            let mv = edge.mv().map(|mv| GoMove(mv.0)).or_else(|| moves.get(edge.index()?).copied())?;
            let policy = f64::from(human.policy[mv.index()].max(0.0));
            let prior = self.context.human_priors[mv.index()];
            let (of_edge, in_flight) = (edge.completed(), edge.n() - edge.completed());
            let of_position = edge.child().map_or(0, |child| child.n()).max(of_edge);
            let completed = if way == Way::Weightless { of_position } else { of_edge };
            let known = self.notes.next(at_root, Move(mv.0)).filter(|_| completed > 0);
            let each = known.map_or(1.0, |(_, note)| f64::from(note.passed.weight));
            let utility =
                known.map(|(_, note)| sign * (f64::from(note.passed.utility) + self.context.bonus(mv, &note.outlook)));
            let [weight, known] = [completed + in_flight, completed].map(|visits| f64::from(visits) * each);
            Some(HumanArm { mv, policy, prior, utility, weight, known, is_visited: of_position + in_flight > 0 })
        };
        Some(root.edges().filter_map(arm).collect())
    }

    /// The utility that a move without visits is taken to have for the side to move, by the sum of the priors of the
    /// moves that were visited or are being visited.
    pub(super) fn human_urgency(&self, arms: &[HumanArm]) -> Option<f64> {
        let (at, note) = self.notes.root()?;
        let plan = self.plan();
        let visited: f64 = arms.iter().filter(|arm| arm.is_visited).map(|arm| arm.policy).sum();
        let visited = visited.min(1.0);
        let share = visited.powf(plan.params.fpu_parent_power.into());
        let [mean, own] = [note.passed.utility, note.raw_utility].map(|white| self.sign(at) * f64::from(white));
        let (parent, most) = (share * mean + (1.0 - share) * own, plan.factors.most());
        Some(f64::from(puct::fpu(plan.params.root_fpu(), (parent / most) as f32, visited as f32)) * most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exploring(weightless: f64, weightful: f64) -> HumanExploration {
        HumanExploration { weightless, weightful, constant: 0.5, growth: 2.0 }
    }

    #[test]
    fn the_parts_are_spread_evenly() {
        for (weightless, weightful, expected) in
            [(0.0, 0.0, 0.0), (0.25, 0.5, 0.5), (0.8, 0.0, 0.0), (0.0, 1.0, 1.0), (0.8, 0.5, 0.2)]
        {
            let exploration = exploring(weightless, weightful);
            for length in [10_u64, 100, 1000] {
                let ways: Vec<_> = (700..700 + length).map(|playouts| exploration.way(playouts)).collect();
                for (way, part) in [(Way::Weightless, weightless), (Way::Weightful, expected)] {
                    let taken = ways.iter().filter(|taken| **taken == Some(way)).count() as f64;
                    assert!((taken - part * length as f64).abs() <= 2.0, "{way:?} {part} {length}: {taken}");
                }
            }
        }
    }

    #[test]
    fn exploration_grows_with_what_was_visited() {
        let exploration = exploring(1.0, 0.0);
        assert!((exploration.factor(0.0) - 0.5 * 0.1).abs() < 1e-12);
        assert!((exploration.factor(9.0) - 6.5 * 9.01_f64.sqrt()).abs() < 1e-12);
    }
}
