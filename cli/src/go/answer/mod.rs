//! What a search found, for the answers of the protocols: the moves, the one to play first, and KataGo's fields about
//! them and the root.

mod choice;
mod hashes;
mod line;
mod model;
mod unvisited;

use hashbrown::HashMap;
use oncilla_core::search::{EdgeView, NodeView};
use oncilla_core::tree::Tree;
use oncilla_go::{Color, Move, Size, Symmetry};
use serde_json::{Value as Json, json};
use std::cmp::Ordering;

use super::ending::{self, Searched};
use super::notes::{At, Averages, Note};
use super::{Evaluation, Params, Search};
use crate::fields::{BadField, Fields, Object};
use crate::json::number;
use crate::options::Perspective;
use choice::{Arm, scale_to_one, value_by_priors};
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
struct Candidate<'r, 's> {
    edge: EdgeView<'r, Tree<'s>>,
    mv: oncilla_core::Move,
    /// The position after it.
    at: At,
    averages: Averages,
    visits: u32,
    edge_visits: u32,
    /// The facts by which the move is chosen.
    arm: Arm,
    /// The value of a move of the root before bounds are looked at.
    pruned: f64,
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

    /// The visited moves of the root, the one to play first.
    fn candidates(&self, known: &mut HashMap<At, Averages>) -> Vec<Candidate<'r, 's>> {
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
    fn candidate(
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
    fn arm(&self, at: At, edge: &EdgeView<'r, Tree<'s>>, averages: &Averages, visits: u32) -> Arm {
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
        // KataGo says by −1 that a network has no such head; half of that is the number for the win rate.
        let errors = |word: &Evaluation| {
            let [value, score] = word.errors.unwrap_or([-1.0, -1.0]);
            [number(0.5 * f64::from(value)), number(score.into())]
        };
        let [value, score] = errors(raw);
        info.insert("rawStWrError".into(), value);
        info.insert("rawStScoreError".into(), score);
        info.insert("rawVarTimeLeft".into(), number(raw.variance_time.into()));
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

/// The root's averages: its own evaluation, and its moves as far as they would be visited now.
fn root_averages(root: &Note, candidates: &[Candidate<'_, '_>]) -> Averages {
    let own = root.averages();
    // Moves that the root has not counted have values by their priors, which are no weights.
    let counted = candidates.iter().filter(|candidate| candidate.edge_visits > 0);
    counted.fold(own, |all, candidate| all.plus(&candidate.averages, candidate.pruned))
}

/// A probability, or −1 for an illegal move.
fn illegal_or(p: f32) -> Json {
    if p < 0.0 { json!(-1.0) } else { number(p.into()) }
}
