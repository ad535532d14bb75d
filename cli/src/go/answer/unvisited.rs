//! Moves without a visit, which are shown if fewer moves were visited than are wanted (`minmoves`). As in KataGo they
//! have the value that first-play urgency makes of the network's priors, and otherwise the means and the ownership of
//! the root. The search itself goes by the root's flattened priors if there is any `wideRootNoise`.

use hashbrown::{HashMap, HashSet};
use oncilla_go::{Move, Symmetry};
use serde_json::{Value as Json, json};

use super::{Candidate, Reporter};
use crate::fields::Object;
use crate::go::Params;
use crate::go::notes::{At, Averages, Note};
use crate::json::number;

impl Reporter<'_, '_> {
    /// Adds to the visited moves, which `infos` shows together with their images, as many of the likeliest other moves
    /// as are missing, each with its images. If no move was visited, none is added. A move that is [not to be
    /// named](crate::go::Search::names) counts as one that is missing, as in KataGo.
    pub(super) fn add_unvisited(
        &self,
        infos: &mut Vec<Json>,
        visited: &[Candidate<'_, '_>],
        known: &mut HashMap<At, Averages>,
    ) {
        let missing = self.wanted.min_moves.saturating_sub(visited.len());
        let Some((root, (at, note))) = self.search.tree().zip(self.search.notes().root()) else { return };
        if missing == 0 || visited.is_empty() {
            return;
        }
        let seen = visited.iter().map(|candidate| candidate.arm.prior).sum();
        let averages = self.params.unvisited(&self.search.averages(&root, at, known), note, seen);
        let owned = self.moves_owned(Some(root), at);
        // An image of a visited move counts as one of the moves that are missing, but it is there already.
        let mut shown: HashSet<Move> = visited.iter().flat_map(|candidate| self.images(Move(candidate.mv.0))).collect();
        for mv in self.likeliest(visited).into_iter().take(missing) {
            for symmetry in [Symmetry::NONE].into_iter().chain(self.search.stands_for(mv)) {
                let image = symmetry.apply(self.size, mv);
                if self.search.names(image) && shown.insert(image) {
                    infos.push(self.unvisited_info(infos.len(), mv, symmetry, &averages, owned.as_ref()));
                }
            }
        }
    }

    /// A move and the moves for which it stands.
    fn images(&self, mv: Move) -> impl Iterator<Item = Move> {
        let symmetries = [Symmetry::NONE].into_iter().chain(self.search.stands_for(mv));
        symmetries.map(move |symmetry| symmetry.apply(self.size, mv))
    }

    /// The legal moves that are not among the visited ones, the likeliest first.
    fn likeliest(&self, visited: &[Candidate<'_, '_>]) -> Vec<Move> {
        let policy = &self.search.raw().policy;
        let is_visited = |mv: Move| visited.iter().any(|candidate| candidate.mv.0 == mv.0);
        let all = self.size.points().chain([self.size.pass()]);
        let mut others: Vec<Move> = all.filter(|mv| policy[mv.index()] >= 0.0 && !is_visited(*mv)).collect();
        others.sort_by(|a, b| policy[b.index()].total_cmp(&policy[a.index()]));
        others
    }

    fn unvisited_info(
        &self,
        order: usize,
        mv: Move,
        image: Symmetry,
        averages: &Averages,
        owned: Option<&(Vec<f64>, Vec<f64>)>,
    ) -> Json {
        let [name, original] = [image, Symmetry::NONE].map(|symmetry| self.text(oncilla_core::Move(mv.0), symmetry));
        let mut info = Object::new();
        if image != Symmetry::NONE {
            info.insert("isSymmetryOf".into(), json!(original));
        }
        info.insert("order".into(), json!(order));
        for counted in ["visits", "edgeVisits"] {
            info.insert(counted.into(), json!(0));
        }
        for weighed in ["weight", "edgeWeight", "playSelectionValue", "utilityLcb"] {
            info.insert(weighed.into(), number(0.0));
        }
        info.insert("prior".into(), number(self.search.prior(mv)));
        self.put_averages(&mut info, averages);
        if self.wanted.no_result_value {
            info.insert("noResultValue".into(), number(averages.no_result));
        }
        info.insert("scoreMean".into(), info["scoreLead"].clone());
        info.insert("lcb".into(), info["winrate"].clone());
        info.insert("pv".into(), json!([name]));
        if self.wanted.pv_visits {
            for visits in ["pvVisits", "pvEdgeVisits"] {
                info.insert(visits.into(), json!([0]));
            }
        }
        info.insert("move".into(), json!(name));
        self.put_moves_owned(&mut info, owned, image);
        Json::Object(info)
    }
}

impl Params {
    /// What a move of the root without visits is worth, if the moves with visits have the priors `seen` together: what
    /// first-play urgency says of its utility, and of its win rate as far as that can be said.
    fn unvisited(&self, root: &Averages, note: &Note, seen: f64) -> Averages {
        let power = if self.fpu_parent_weight_by_visited_policy { self.fpu_parent_weight_power } else { 0.0 };
        let of_mean = seen.powf(power).min(1.0);
        let parent = of_mean * root.utility + (1.0 - of_mean) * f64::from(note.raw_utility);
        let reduction = self.root_fpu_reduction_max * seen.sqrt();
        let utility = if note.white_to_move { parent - reduction } else { parent + reduction };
        let win_loss = if self.win_loss_utility_factor == 1.0 { root.win_loss + utility - root.utility } else { 0.0 };
        Averages { weight: 0.0, utility, win_loss: win_loss.clamp(-1.0, 1.0), no_result: 0.0, ..*root }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root's mean and the network's word of it are mixed by the priors that were seen; the reduction grows with
    /// their square root.
    #[test]
    fn urgency_says_what_a_move_is_worth() {
        let root =
            Averages { utility: 0.3, win_loss: 0.2, score: 4.0, lead: 5.0, no_result: 0.1, ..Averages::default() };
        let note = |white_to_move| Note { raw_utility: 0.1, white_to_move, ..Note::default() };
        let params = Params::default();
        let [white, black] = [true, false].map(|white| params.unvisited(&root, &note(white), 0.25));
        let parent = 0.0625 * 0.3 + 0.9375 * f64::from(0.1_f32);
        assert!((white.utility - (parent - 0.05)).abs() < 1e-12 && (black.utility - (parent + 0.05)).abs() < 1e-12);
        assert!((white.win_loss - (0.2 + white.utility - 0.3)).abs() < 1e-12);
        assert_eq!((white.score, white.lead, white.no_result), (4.0, 5.0, 0.0));
        let scoring = Params { win_loss_utility_factor: 0.5, ..params };
        assert_eq!(scoring.unvisited(&root, &note(true), 0.25).win_loss, 0.0);
        let by_mean = Params { fpu_parent_weight_by_visited_policy: false, ..params };
        assert!((by_mean.unvisited(&root, &note(true), 0.25).utility - 0.25).abs() < 1e-12);
    }
}
