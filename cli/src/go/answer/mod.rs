//! What a search found, for the answers of the protocols: the moves, the one to play first, and KataGo's fields about
//! them and the root.

mod candidates;
mod choice;
mod hashes;
mod line;
mod model;
mod unvisited;

use hashbrown::HashMap;
use oncilla_core::search::NodeView;
use oncilla_core::tree::Tree;
use oncilla_go::{Color, Move, Size, Symmetry};
use serde_json::{Value as Json, json};

use super::notes::{At, Averages};
use super::{Evaluation, Params, Search, ShortTerm};
use crate::fields::{BadField, Fields, Object};
use crate::json::number;
use crate::options::Perspective;
pub use candidates::Choice;
use candidates::{Candidate, root_averages};
use hashes::hashes;
use line::Ply;
pub use model::describe_model;

/// What an answer contains besides what all answers have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `policy`.
    pub policy: bool,
    /// `ownership`.
    pub ownership: bool,
    /// `ownershipStdev`.
    pub ownership_stdev: bool,
    /// `ownership` of each move.
    pub moves_ownership: bool,
    /// `ownershipStdev` of each move.
    pub moves_ownership_stdev: bool,
    /// `pvVisits` and `pvEdgeVisits`.
    pub pv_visits: bool,
    /// `noResultValue`.
    pub no_result_value: bool,
    /// The least number of moves: if fewer were visited, others are added.
    pub min_moves: usize,
}

impl Wanted {
    /// Whether the ownership of the points of any position is wanted.
    pub fn any_ownership(&self) -> bool {
        self.ownership || self.ownership_stdev || self.moves_ownership || self.moves_ownership_stdev
    }

    /// Reads the fields in KataGo's order.
    pub(crate) fn read(fields: Fields<'_>) -> Result<Self, BadField> {
        Ok(Self {
            moves_ownership: fields.switch("includeMovesOwnership")?,
            moves_ownership_stdev: fields.switch("includeMovesOwnershipStdev")?,
            ownership: fields.switch("includeOwnership")?,
            ownership_stdev: fields.switch("includeOwnershipStdev")?,
            policy: fields.switch("includePolicy")?,
            pv_visits: fields.switch("includePVVisits")?,
            no_result_value: fields.switch("includeNoResultValue")?,
            min_moves: 0,
        })
    }
}

/// Makes the answer about one position from its search.
pub struct Reporter<'r, 's> {
    params: &'r Params,
    wanted: Wanted,
    search: &'r Search<'s>,
    size: Size,
    /// 1 if numbers are given from White's view, −1 if from Black's.
    side: f64,
}

impl<'r, 's> Reporter<'r, 's> {
    /// A reporter on a search as it stands, with values from the view that `params` name.
    pub fn new(params: &'r Params, wanted: Wanted, search: &'r Search<'s>) -> Self {
        let to_move = search.root().side_to_move();
        let seen_by = match params.report_analysis_winrates_as {
            Perspective::SideToMove => to_move,
            Perspective::White => Color::White,
            Perspective::Black => Color::Black,
        };
        Self { params, wanted, search, size: search.root().size(), side: seen_by.sign() }
    }

    /// `rootInfo`, `moveInfos` and whatever else is wanted.
    pub fn answer(&self) -> Object {
        let mut answer = Object::new();
        let Wanted { policy, ownership, ownership_stdev, .. } = self.wanted;
        let mut known = HashMap::new();
        let candidates = self.candidates(&mut known);
        answer.insert("rootInfo".into(), self.root_info(&candidates, &mut known));
        let mut infos = Vec::new();
        for candidate in &candidates {
            let line = self.line(candidate, &mut known);
            let owned = self.moves_owned(candidate.edge.child(), candidate.at);
            let images = self.search.stands_for(Move(candidate.mv.0));
            for image in [Symmetry::NONE].into_iter().chain(images) {
                infos.push(self.move_info(infos.len(), candidate, &line, owned.as_ref(), image));
            }
        }
        self.add_unvisited(&mut infos, &candidates, &mut known);
        answer.insert("moveInfos".into(), Json::Array(infos));
        if policy {
            let words = [("policy", Some(self.search.raw())), ("humanPolicy", self.search.human())];
            for (name, word) in words.into_iter().filter_map(|(name, word)| Some((name, word?))) {
                answer.insert(name.into(), word.policy.iter().map(|&p| illegal_or(p)).collect());
            }
        }
        if ownership || ownership_stdev {
            let root = self.search.tree().zip(self.search.notes().root());
            if let Some((root, (at, _))) = root {
                self.put_ownership(&mut answer, self.search.ownership(root, at), ownership, ownership_stdev);
            }
        }
        answer
    }

    /// Means and deviations of the ownership of each point over the visits of a node, if answers have them for moves.
    fn moves_owned(&self, node: Option<NodeView<'_, Tree<'s>>>, at: At) -> Option<(Vec<f64>, Vec<f64>)> {
        let is_wanted = self.wanted.moves_ownership || self.wanted.moves_ownership_stdev;
        node.filter(|_| is_wanted).map(|node| self.search.ownership(node, at))
    }

    /// Puts the ownership that answers have for a move, or the image of it, into its information.
    fn put_moves_owned(&self, info: &mut Object, owned: Option<&(Vec<f64>, Vec<f64>)>, image: Symmetry) {
        let Some((means, deviations)) = owned else { return };
        let owned = (self.turned(means, image), self.turned(deviations, image));
        self.put_ownership(info, owned, self.wanted.moves_ownership, self.wanted.moves_ownership_stdev);
    }

    /// Puts means and deviations of the ownership of each point into `to`, as far as they are wanted.
    fn put_ownership(&self, to: &mut Object, (means, deviations): (Vec<f64>, Vec<f64>), mean: bool, deviation: bool) {
        let digits = |x: f64| json!((x * 1e6).round() / 1e6);
        if mean {
            to.insert("ownership".into(), means.iter().map(|&owned| digits(self.side * owned)).collect());
        }
        if deviation {
            to.insert("ownershipStdev".into(), deviations.iter().map(|&owned| digits(owned)).collect());
        }
    }

    /// 1 if White is to move at the root, −1 otherwise.
    fn to_move(&self) -> f64 {
        self.search.root().side_to_move().sign()
    }

    /// Converts ½·(1 + win − loss) from White's view to the one that numbers are given from.
    fn winrate(&self, white: f64) -> f64 {
        0.5 + self.side * (white - 0.5)
    }

    fn put_averages(&self, info: &mut Object, averages: &Averages) {
        let side = self.side;
        info.insert("winrate".into(), number(self.winrate(averages.winrate())));
        info.insert("scoreLead".into(), number(side * averages.lead));
        info.insert("scoreSelfplay".into(), number(side * averages.score));
        info.insert("scoreStdev".into(), number(averages.score_stdev()));
        info.insert("utility".into(), number(side * averages.utility));
    }

    /// The information about a move that was searched, or about the image for which it stands; `line` and `owned` are
    /// the move's own.
    fn move_info(
        &self,
        order: usize,
        candidate: &Candidate<'_, 's>,
        line: &[Ply],
        owned: Option<&(Vec<f64>, Vec<f64>)>,
        image: Symmetry,
    ) -> Json {
        let Candidate { averages, visits, edge_visits, arm, .. } = candidate;
        let mut info = Object::new();
        info.insert("move".into(), json!(self.text(candidate.mv, image)));
        if image != Symmetry::NONE {
            info.insert("isSymmetryOf".into(), json!(self.text(candidate.mv, Symmetry::NONE)));
        }
        info.insert("order".into(), json!(order));
        info.insert("visits".into(), json!(visits));
        info.insert("edgeVisits".into(), json!(edge_visits));
        info.insert("weight".into(), number(averages.weight));
        info.insert("edgeWeight".into(), number(arm.weight));
        info.insert("prior".into(), number(arm.prior));
        if let Some(human) = self.search.human() {
            let image = image.apply(self.size, Move(candidate.mv.0));
            info.insert("humanPrior".into(), number(human.policy[image.index()].max(0.0).into()));
        }
        info.insert("playSelectionValue".into(), number(arm.value));
        self.put_averages(&mut info, averages);
        if self.wanted.no_result_value {
            info.insert("noResultValue".into(), number(averages.no_result));
        }
        info.insert("scoreMean".into(), number(self.side * averages.lead));
        // The bound is below what the mover expects: for the other side's view, it is above.
        let below = -self.side * self.to_move() * arm.radius;
        info.insert("utilityLcb".into(), number(self.side * self.to_move() * arm.bound()));
        let factors = &self.search.plan().factors;
        let of_win = 0.5 * factors.win_loss / factors.most();
        info.insert("lcb".into(), number(self.winrate(averages.winrate()) + below * of_win));
        self.put_line(&mut info, line, image);
        self.put_moves_owned(&mut info, owned, image);
        Json::Object(info)
    }

    /// Puts a line of play, or the image of it, into `info`.
    fn put_line(&self, info: &mut Object, line: &[Ply], image: Symmetry) {
        info.insert("pv".into(), line.iter().map(|ply| json!(self.text(ply.mv, image))).collect());
        if self.wanted.pv_visits {
            info.insert("pvVisits".into(), line.iter().map(|ply| json!(ply.visits)).collect());
            info.insert("pvEdgeVisits".into(), line.iter().map(|ply| json!(ply.edge_visits)).collect());
        }
    }

    fn root_info(&self, candidates: &[Candidate<'_, 's>], known: &mut HashMap<At, Averages>) -> Json {
        let mut info = Object::new();
        let white = self.search.root().side_to_move() == Color::White;
        info.insert("currentPlayer".into(), json!(if white { "W" } else { "B" }));
        info.insert("visits".into(), json!(self.search.visits()));
        if let Some((root, (at, note))) = self.search.tree().zip(self.search.notes().root()) {
            // As in KataGo the weight is that of all visits, including those that the other values leave out.
            info.insert("weight".into(), number(self.search.averages(&root, at, known).weight));
            let averages = root_averages(note, candidates);
            self.put_averages(&mut info, &averages);
            // This is from KataGo's description: the root's bound is its win rate.
            info.insert("lcb".into(), number(self.winrate(averages.winrate())));
        }
        let raw = self.search.raw();
        // From the side to move's view to the view that is asked for.
        let sign = self.side * self.to_move();
        let winrate = |word: &Evaluation| number(0.5 + sign * (f64::from(word.winrate()) - 0.5));
        info.insert("rawWinrate".into(), winrate(raw));
        info.insert("rawLead".into(), number(sign * f64::from(raw.lead)));
        info.insert("rawScoreSelfplay".into(), number(sign * f64::from(raw.score_mean)));
        info.insert("rawScoreSelfplayStdev".into(), number(raw.score_stdev.into()));
        info.insert("rawNoResultProb".into(), number(raw.no_result.into()));
        // For a network without such heads KataGo's −1 is halved for the win rate, too.
        let short_term = |word: &Evaluation| word.short_term.unwrap_or(ShortTerm::UNKNOWN);
        let errors = |word: &Evaluation| {
            let ShortTerm { value_error, score_error, .. } = short_term(word);
            [number(0.5 * f64::from(value_error)), number(score_error.into())]
        };
        let [value, score] = errors(raw);
        info.insert("rawStWrError".into(), value);
        info.insert("rawStScoreError".into(), score);
        info.insert("rawVarTimeLeft".into(), number(short_term(raw).variance_time.into()));
        if let Some(human) = self.search.human() {
            info.insert("humanWinrate".into(), winrate(human));
            info.insert("humanScoreMean".into(), number(sign * f64::from(human.score_mean)));
            info.insert("humanScoreStdev".into(), number(human.score_stdev.into()));
            let [value, score] = errors(human);
            info.insert("humanStWrError".into(), value);
            info.insert("humanStScoreError".into(), score);
        }
        let [this, alike] = hashes(self.search.root());
        info.insert("thisHash".into(), json!(this));
        info.insert("symHash".into(), json!(alike));
        Json::Object(info)
    }

    fn text(&self, mv: oncilla_core::Move, image: Symmetry) -> String {
        self.size.format(image.apply(self.size, Move(mv.0))).to_string()
    }

    /// Numbers of points, rearranged for the points that `image` turns these into.
    fn turned(&self, points: &[f64], image: Symmetry) -> Vec<f64> {
        let mut turned = vec![0.0; points.len()];
        self.size.points().zip(points).for_each(|(mv, &of)| turned[image.apply(self.size, mv).index()] = of);
        turned
    }
}

/// A probability, or −1 for an illegal move.
fn illegal_or(p: f32) -> Json {
    if p < 0.0 { json!(-1.0) } else { number(p.into()) }
}
