//! The root of a search: what the networks say of it, and what follows from that and from the plan.
//!
//! If the position is its own mirror image, one of several symmetric moves is searched, and the others are reported as
//! its images.

use super::evaluator::{Batch, Evaluator, Question};
use super::notes::{Note, Passed};
use super::uncertainty::Uncertainty;
use super::utility::{Outlook, Utility};
use super::{Evaluation, Game, Plan, ending};
use oncilla_core::evaluate::Value;
use oncilla_go::{Color, Move, PointSet, Symmetry};
use std::sync::Arc;

/// The position that is searched, how it is searched, and what follows from that.
pub(super) struct RootContext {
    pub(super) root: Arc<Game>,
    pub(super) plan: Plan,
    pub(super) raw: Arc<Evaluation>,
    /// The prior of each move of the root, as `rootPolicyTemperature` changes it, before it is flattened.
    pub(super) priors: Vec<f64>,
    /// The evaluation of the root by the network for human play.
    pub(super) human: Option<Arc<Evaluation>>,
    /// The priors of that evaluation, flattened like all priors of the root; none without it.
    pub(super) human_priors: Vec<f64>,
    pub(super) utility: Utility,
    /// The symmetries that leave the root's position unchanged (see [`symmetries`]).
    symmetries: Vec<Symmetry>,
    /// Whether one of several symmetric moves could be searched if all moves were allowed.
    is_symmetric: bool,
    /// See [`ending::costs`].
    costs: Vec<f32>,
    /// See [`ending::useless`].
    useless: PointSet,
}

impl RootContext {
    /// `evaluations` has the networks' evaluations of the root.
    pub(super) fn new(root: Arc<Game>, plan: Plan, evaluations: RootEvaluations) -> Self {
        let RootEvaluations { raw, expected, human, .. } = evaluations;
        let white_score = root.side_to_move().sign::<f64>() * f64::from(expected);
        let utility = Utility::new(plan.factors, root.size().area(), white_score);
        let of_stones = symmetries_of_stones(&root, &plan);
        let is_symmetric = of_stones.len() > 1;
        let symmetries = symmetries(&root, &plan, of_stones);
        let costs = ending::costs(&root, &raw, plan.ending_bonus as f32);
        let useless = if plan.prunes_useless { ending::useless(&root) } else { PointSet::EMPTY };
        let priors = tempered(&raw.policy, plan.root_temperature.into());
        let flat = |prior: &f32| f64::from(prior.max(0.0)).powf(1.0 / f64::from(plan.root_flattening));
        let human_priors = human.iter().flat_map(|human| &human.policy).map(flat).collect();
        Self { root, plan, raw, priors, human, human_priors, utility, symmetries, is_symmetric, costs, useless }
    }

    /// Centres the dynamic part of the utility near another expected score for White than the network's.
    pub(super) fn expect(&mut self, white_score: f64) {
        self.utility = Utility::new(self.plan.factors, self.root.size().area(), white_score);
    }

    /// The utility for White of a move of the root in addition to that of the position after it, if that has this
    /// outlook.
    pub(super) fn bonus(&self, mv: Move, outlook: &Outlook) -> f64 {
        let cost = f64::from(self.costs[mv.index()]);
        match self.root.side_to_move() {
            _ if cost == 0.0 => 0.0,
            Color::White => self.utility.of_more(outlook, -cost),
            Color::Black => self.utility.of_more(outlook, cost),
        }
    }

    /// The plan's weighing of uncertainty, if there is one and the network reports its uncertainty.
    pub(super) fn uncertainty(&self) -> Option<&Uncertainty> {
        self.plan.uncertainty.as_ref().filter(|_| self.raw.short_term.is_some())
    }

    /// The note of a position with this evaluation and with `side` to move.
    pub(super) fn note_of(&self, evaluation: &Evaluation, side: Color, keeps_ownership: bool) -> Note {
        let note = Note::of(evaluation, side, |outlook| self.utility.of(outlook), keeps_ownership);
        let uncertainty = self.plan.uncertainty.as_ref();
        let weight = uncertainty.and_then(|unsure| unsure.weight(evaluation, &note.outlook, &self.utility));
        note.weighing(weight.unwrap_or(1.0))
    }

    /// The tree's value, from the view of the side to move, for what a position passes on: its mean utility, and a `d`
    /// with which the core computes the deviation of the utilities instead of that of outcomes
    /// ([`Deviation`](oncilla_core::search::Deviation)).
    pub(super) fn value_of(&self, passed: Passed, white_to_move: bool) -> Value {
        let most = self.plan.factors.most();
        let utility = f64::from(passed.utility) / most;
        let own = if white_to_move { utility } else { -utility };
        let d = (1.0 - f64::from(passed.square) / (most * most)) as f32;
        Value { wl: own as f32, d, m: passed.weight * Value::WEIGHT_ONE }
    }

    /// The tree's value for the network's evaluation of a position.
    pub(super) fn raw_value_of(&self, note: &Note) -> Value {
        self.value_of(Passed::of_one(note.raw_utility.into(), note.own_weight), note.white_to_move)
    }

    /// Whether a move of the root is not searched although it is legal and allowed: because it is useless, or because a
    /// mirror image of it is searched.
    pub(super) fn leaves_out(&self, mv: Move) -> bool {
        self.useless.contains(mv) || self.images(mv).any(|image| self.comes_before(image, mv))
    }

    /// Whether an answer may name a move that was not searched. As in KataGo, moves that are not allowed are named
    /// unless the position is symmetric.
    pub(super) fn names(&self, mv: Move) -> bool {
        !self.is_symmetric || self.plan.restrictions.allows(self.root.side_to_move(), 0, mv)
    }

    /// The mirror images of a move of the root, itself among them, of which only one is searched.
    fn images(&self, mv: Move) -> impl Iterator<Item = Move> + '_ {
        self.symmetries.iter().map(move |symmetry| symmetry.apply(self.root.size(), mv))
    }

    /// Whether `one` is searched rather than its mirror image `other`. KataGo searches the image furthest to the right
    /// (of several, the highest) if Black is to move, and the one furthest to the left (of several, the lowest) if
    /// White is.
    fn comes_before(&self, one: Move, other: Move) -> bool {
        let size = self.root.size();
        let place = |mv| size.coordinates(mv).map(|(x, y)| (x, size.y() - 1 - y));
        match self.root.side_to_move() {
            Color::Black => place(one) > place(other),
            Color::White => place(one) < place(other),
        }
    }

    /// One symmetry for each move of the root that is not searched because `mv` stands for it; the symmetry turns `mv`
    /// into that move.
    pub(super) fn stands_for(&self, mv: Move) -> Vec<Symmetry> {
        let size = self.root.size();
        let mut found: Vec<(Move, Symmetry)> = Vec::new();
        for &symmetry in &self.symmetries {
            let image = symmetry.apply(size, mv);
            if image != mv && found.iter().all(|(known, _)| *known != image) {
                found.push((image, symmetry));
            }
        }
        found.into_iter().map(|(_, symmetry)| symmetry).collect()
    }
}

/// The probabilities of a policy with its logits divided by a temperature. What is illegal has none.
fn tempered(policy: &[f32], temperature: f64) -> Vec<f64> {
    // In a flat policy a high power of every probability may round to 0. That of the largest, in its own unit, is 1.
    let most = f64::from(policy.iter().copied().fold(f32::MIN_POSITIVE, f32::max));
    let powers: Vec<f64> = policy.iter().map(|&p| (f64::from(p.max(0.0)) / most).powf(1.0 / temperature)).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// Those of the symmetries `of_stones` that leave the set of moves that may be searched unchanged.
fn symmetries(root: &Game, plan: &Plan, of_stones: Vec<Symmetry>) -> Vec<Symmetry> {
    if plan.restrictions.reach_below_root() {
        // A move that is forbidden below the root need not be forbidden after a mirrored move.
        return vec![Symmetry::NONE];
    }
    let (size, allowed) = (root.size(), |mv| plan.restrictions.allows(root.side_to_move(), 0, mv));
    let leaves_all =
        |symmetry: &Symmetry| size.points().all(|point| allowed(point) == allowed(symmetry.apply(size, point)));
    of_stones.into_iter().filter(leaves_all).collect()
}

/// The symmetries that, as in KataGo, leave the root's stones unchanged, even if the network sees earlier moves that
/// are not symmetric. If ko forbids a point, or mirror images are searched separately, this is only the identity.
fn symmetries_of_stones(root: &Game, plan: &Plan) -> Vec<Symmetry> {
    let size = root.size();
    let stone = |point| root.board().stone(point);
    let leaves_all = |symmetry: &Symmetry| {
        symmetry.size(size) == size && size.points().all(|point| stone(point) == stone(symmetry.apply(size, point)))
    };
    match plan.prunes_symmetric && root.ko_banned().is_empty() {
        true => Symmetry::ALL.into_iter().filter(leaves_all).collect(),
        false => vec![Symmetry::NONE],
    }
}

/// The networks' evaluations of a root.
pub(super) struct RootEvaluations {
    /// The main network's evaluation.
    raw: Arc<Evaluation>,
    /// The main network's expected score for the side to move.
    expected: f32,
    /// The evaluation by the network for human play beside the main one.
    human: Option<Arc<Evaluation>>,
    /// Lines for the user.
    pub(super) said: Vec<String>,
}

impl RootEvaluations {
    /// Evaluates the root with a plan's networks; `evaluator` is that of the main one, and `batch` is its batch.
    ///
    /// # Errors
    /// Like [`Evaluator::run`].
    pub(super) fn of(evaluator: &Evaluator, batch: &mut Batch, root: &Game, plan: &Plan) -> Result<Self, String> {
        let (raw, expected, mut said) = raw_of(evaluator, batch, root, plan)?;
        let human = match plan.human.as_ref().filter(|_| plan.question.profile.is_some()) {
            Some(human) => {
                // A batch keeps the service that runs its network, so the other network needs a batch of its own.
                let (evaluation, _, more) = raw_of(human, &mut Batch::default(), root, plan)?;
                said.extend(more);
                Some(evaluation)
            }
            None => None,
        };
        Ok(Self { raw, expected, human, said })
    }
}

/// A network's evaluation of the root's position, as the mean over the plan's number of symmetries, and the expected
/// score, which is that of the first symmetry alone, as in KataGo.
fn raw_of(
    evaluator: &Evaluator,
    batch: &mut Batch,
    root: &Game,
    plan: &Plan,
) -> Result<(Arc<Evaluation>, f32, Vec<String>), String> {
    let mut asked = plan.question_at(0);
    asked.policy.optimism = plan.root_optimism;
    let symmetries = Symmetry::ALL.into_iter().filter(|symmetry| symmetry.fits(root.size()));
    let (mut all, mut said) = (Vec::new(), Vec::new());
    for symmetry in symmetries.take(plan.root_symmetries.max(1)) {
        let (evaluation, notes) = evaluator.ask_in(batch, root, &Question { symmetry, ..asked })?;
        all.push(evaluation);
        said.extend(notes);
    }
    match &all[..] {
        [one] => Ok((Arc::clone(one), one.score_mean, said)),
        several => {
            let several: Vec<Evaluation> = several.iter().map(|one| (**one).clone()).collect();
            let mean = Evaluation::mean(&several).ok_or("no answer came")?;
            Ok((Arc::new(mean), several[0].score_mean, said))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the lowest temperature that may be set, the largest probability to the power 100 is no `f32` other than 0.
    #[test]
    fn a_flat_policy_has_priors_at_every_temperature() {
        let policy = [0.25, -1.0, 0.2, 0.25, 0.0, 0.3];
        let cold = tempered(&policy, 0.01);
        assert!((cold.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{cold:?}");
        assert!(cold[5] > 0.999 && cold[0] > 0.0 && cold[0] == cold[3] && cold[2] < cold[0], "{cold:?}");
        assert_eq!((cold[1], cold[4]), (0.0, 0.0));
        let plain = tempered(&policy, 1.0);
        assert!(plain.iter().zip(policy).all(|(found, p)| (found - f64::from(p.max(0.0))).abs() < 1e-7), "{plain:?}");
    }
}
