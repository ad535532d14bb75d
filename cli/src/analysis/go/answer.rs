//! What a search of Go found, as the line of an answer.

use oncilla_core::search::EdgeView;
use oncilla_core::tree::Tree;
use oncilla_go::{Color, Move, Size, Symmetry};
use serde_json::{Value as Json, json};
use std::cmp::Ordering;
use std::collections::HashMap;

use super::params::Params;
use super::query::{Query, Wanted};
use crate::analysis::answer::number;
use crate::analysis::hash;
use crate::analysis::request::Object;
use crate::go::notes::{At, Averages};
use crate::go::{Game, Search};
use crate::options::Perspective;

/// Longest line: the first move and as many more as a query may ask for.
const LONGEST_PV: usize = 1001;

/// The line of what is known, or `None` while nothing is.
pub fn line(query: &Query, turn: usize, search: &Search<'_>, is_during_search: bool) -> Option<String> {
    search.tree().filter(|root| root.n() > 0)?;
    let mut answer = Reporter::new(&query.params, query.wanted, search).answer();
    answer.insert("id".into(), json!(query.id));
    answer.insert("isDuringSearch".into(), json!(is_during_search));
    answer.insert("turnNumber".into(), json!(turn));
    Some(Json::Object(answer).to_string())
}

/// Fewer visits say nothing of a move's lower bound, as in KataGo.
const VISITS_FOR_BOUND: f64 = 3.0;

/// Makes the answer about one position.
pub struct Reporter<'r, 's> {
    params: &'r Params,
    wanted: Wanted,
    search: &'r Search<'s>,
    size: Size,
    /// 1 where numbers are seen by White, −1 where by Black.
    side: f64,
}

/// A move of the root.
struct Candidate<'r, 's> {
    edge: EdgeView<'r, Tree<'s>>,
    mv: oncilla_core::Move,
    at: At,
    averages: Averages,
    visits: u32,
    edge_visits: u32,
    /// How far its mean utility may be off.
    radius: f64,
    /// What it is chosen by (KataGo's `playSelectionValue`).
    value: f64,
}

impl<'r, 's> Reporter<'r, 's> {
    /// Of a search as it stands, with values in the view that `params` say.
    pub fn new(params: &'r Params, wanted: Wanted, search: &'r Search<'s>) -> Self {
        let to_move = search.root().side_to_move();
        let seen_by = match params.report_analysis_winrates_as {
            Perspective::SideToMove => to_move,
            Perspective::White => Color::White,
            Perspective::Black => Color::Black,
        };
        let side = if seen_by == Color::White { 1.0 } else { -1.0 };
        Self { params, wanted, search, size: search.root().size(), side }
    }

    /// The move to play: the first of those that were visited.
    pub fn choice(&self) -> Option<Move> {
        self.candidates(&mut HashMap::new()).first().map(|candidate| Move(candidate.mv.0))
    }

    /// `rootInfo`, `moveInfos` and what else is wanted.
    pub fn answer(&self) -> Object {
        let mut answer = Object::new();
        let Wanted { policy, ownership, ownership_stdev, .. } = self.wanted;
        let mut known = HashMap::new();
        let candidates = self.candidates(&mut known);
        answer.insert("rootInfo".into(), self.root_info(&mut known));
        let mut infos = Vec::new();
        for candidate in &candidates {
            infos.push(self.move_info(infos.len(), candidate, Symmetry::NONE));
            for symmetry in self.search.stands_for(Move(candidate.mv.0)) {
                infos.push(self.move_info(infos.len(), candidate, symmetry));
            }
        }
        answer.insert("moveInfos".into(), Json::Array(infos));
        if policy {
            let numbers: Vec<Json> = self.search.raw().policy.iter().map(|&p| illegal_or(p)).collect();
            answer.insert("policy".into(), Json::Array(numbers));
        }
        if ownership || ownership_stdev {
            let root = self.search.tree().zip(self.search.notes().root());
            if let Some((root, (at, _))) = root {
                self.put_ownership(&mut answer, self.search.ownership(root, at), ownership, ownership_stdev);
            }
        }
        answer
    }

    /// Means and deviations of whose each point is, as far as they are wanted.
    fn put_ownership(&self, to: &mut Object, (means, deviations): (Vec<f64>, Vec<f64>), mean: bool, deviation: bool) {
        let digits = |x: f64| json!((x * 1e6).round() / 1e6);
        if mean {
            to.insert("ownership".into(), means.iter().map(|&owned| digits(self.side * owned)).collect());
        }
        if deviation {
            to.insert("ownershipStdev".into(), deviations.iter().map(|&owned| digits(owned)).collect());
        }
    }

    /// The moves of the root that were visited, the one to play first.
    fn candidates(&self, known: &mut HashMap<At, Averages>) -> Vec<Candidate<'r, 's>> {
        let Some((root, (at_root, _))) = self.search.tree().zip(self.search.notes().root()) else { return Vec::new() };
        let candidate = |edge: EdgeView<'r, Tree<'s>>| {
            let mv = edge.mv?;
            let edge_visits = edge.completed();
            let (at, note) = self.search.notes().next(at_root, mv)?;
            let child = edge.child();
            let averages = child.map_or_else(|| note.averages(), |child| self.search.averages(&child, at, known));
            let visits = child.map_or(edge_visits, |child| child.n().max(edge_visits));
            let radius = self.radius(&averages, f64::from(visits));
            let value = f64::from(edge_visits);
            (edge_visits > 0).then_some(Candidate { edge, mv, at, averages, visits, edge_visits, radius, value })
        };
        let mut all: Vec<_> = root.visited().filter_map(candidate).collect();
        self.prefer_by_bound(&mut all);
        all.sort_by(|a, b| {
            let more = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
            more(a.value, b.value)
                .then(b.edge_visits.cmp(&a.edge_visits))
                .then(more(self.prior(Move(a.mv.0)), self.prior(Move(b.mv.0))))
        });
        all
    }

    /// 1 where White is to move at the root.
    fn to_move(&self) -> f64 {
        if self.search.root().side_to_move() == Color::White { 1.0 } else { -1.0 }
    }

    /// `lcbStdevs` deviations of the mean of so many visits. As in KataGo an observation of weight 1/n², of the largest variance, is
    /// mixed in, which keeps one lucky visit from looking certain.
    fn radius(&self, averages: &Averages, n: f64) -> f64 {
        let most = self.search.plan().factors.most();
        let prior = 1.0 / (n * n).max(1.0);
        let weight = n + prior;
        let mean = averages.utility * n / weight;
        let square =
            (averages.utility_square * n + (averages.utility * averages.utility + most * most) * prior) / weight;
        let variance = (square - mean * mean).max(1e-8);
        let effective = weight * weight / (n + prior * prior);
        self.params.lcb_stdevs * (variance / effective).sqrt()
    }

    /// The lower end of what a move may be worth to who makes it.
    fn bound(&self, candidate: &Candidate<'_, '_>) -> f64 {
        self.to_move() * candidate.averages.utility - candidate.radius
    }

    /// Of the moves with visits enough, the one whose value is sure to be good is preferred to those with more visits, where its bound is
    /// better (KataGo's `useLcbForSelection`).
    fn prefer_by_bound(&self, all: &mut [Candidate<'_, '_>]) {
        if !self.params.use_lcb_for_selection {
            return;
        }
        let most = all.iter().map(|candidate| candidate.value).fold(0.0, f64::max);
        let least = self.params.min_visit_prop_for_lcb * most;
        let eligible = all.iter().enumerate().filter(|(_, candidate)| candidate.value >= least.max(VISITS_FOR_BOUND));
        let bounds = eligible.map(|(at, candidate)| (at, self.bound(candidate)));
        let Some((best, bound)) = bounds.max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
        let raised = |other: &Candidate<'_, '_>| {
            let excess = bound - self.bound(other);
            // How many times as wide the other's interval would have to be.
            let ratio = (other.radius + excess) / (other.radius + 0.2 * excess);
            if excess > 0.0 { other.value * ratio * ratio } else { 0.0 }
        };
        let value = all.iter().map(raised).fold(all[best].value, f64::max);
        all[best].value = value;
    }

    /// ½·(1 + win − loss) as it is seen by who numbers are for.
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

    /// What the network says of a move of the root, as `rootPolicyTemperature` changes it. The tree's own prior has the search's share of
    /// mirror images and of what is not searched.
    fn prior(&self, mv: Move) -> f64 {
        let power = 1.0 / self.params.root_policy_temperature;
        let policy = &self.search.raw().policy;
        let tempered = |p: f32| f64::from(p.max(0.0)).powf(power);
        tempered(policy[mv.index()]) / policy.iter().map(|&p| tempered(p)).sum::<f64>()
    }

    /// Of a move that was searched, or of one that it stands for: its image.
    fn move_info(&self, order: usize, candidate: &Candidate<'_, 's>, image: Symmetry) -> Json {
        let Candidate { edge, averages, visits, edge_visits, radius, .. } = candidate;
        let mut info = Object::new();
        info.insert("move".into(), json!(self.text(candidate.mv, image)));
        if image != Symmetry::NONE {
            info.insert("isSymmetryOf".into(), json!(self.text(candidate.mv, Symmetry::NONE)));
        }
        info.insert("order".into(), json!(order));
        info.insert("visits".into(), json!(visits));
        info.insert("edgeVisits".into(), json!(edge_visits));
        info.insert("weight".into(), json!(f64::from(*visits)));
        info.insert("edgeWeight".into(), json!(f64::from(*edge_visits)));
        info.insert("prior".into(), number(self.prior(Move(candidate.mv.0))));
        info.insert("playSelectionValue".into(), number(candidate.value));
        self.put_averages(&mut info, averages);
        if self.wanted.no_result_value {
            info.insert("noResultValue".into(), number(averages.no_result));
        }
        info.insert("scoreMean".into(), number(self.side * averages.lead));
        // Below what the mover expects: above it for who sees the other side.
        let below = -self.side * self.to_move() * radius;
        info.insert("utilityLcb".into(), number(self.side * averages.utility + below));
        let factors = &self.search.plan().factors;
        let of_win = 0.5 * factors.win_loss / factors.most();
        info.insert("lcb".into(), number(self.winrate(averages.winrate()) + below * of_win));
        self.put_line(&mut info, candidate, image);
        let Wanted { moves_ownership, moves_ownership_stdev, .. } = self.wanted;
        if (moves_ownership || moves_ownership_stdev)
            && let Some(child) = edge.child()
        {
            let (means, deviations) = self.search.ownership(child, candidate.at);
            let owned = (self.turned(&means, image), self.turned(&deviations, image));
            self.put_ownership(&mut info, owned, moves_ownership, moves_ownership_stdev);
        }
        Json::Object(info)
    }

    /// What the search expects behind a move of the root.
    fn put_line(&self, info: &mut Object, first: &Candidate<'_, 's>, image: Symmetry) {
        let most = (self.params.analysis_pv_len + 1).min(LONGEST_PV);
        let (mut texts, mut visits, mut edge_visits) = (Vec::new(), Vec::new(), Vec::new());
        let mut edge = Some(first.edge);
        while let Some((this, mv)) = edge.and_then(|edge| Some((edge, edge.mv?))).filter(|_| texts.len() < most) {
            let (own, child) = (this.completed(), this.child());
            texts.push(self.text(mv, image));
            edge_visits.push(own);
            visits.push(child.map_or(own, |child| child.n().max(own)));
            let next = child.into_iter().flat_map(|child| child.visited()).filter(|edge| edge.completed() > 0);
            // Of equals the first, whose prior is larger.
            edge = next.reduce(|best, edge| if edge.completed() > best.completed() { edge } else { best });
        }
        info.insert("pv".into(), json!(texts));
        if self.wanted.pv_visits {
            info.insert("pvVisits".into(), json!(visits));
            info.insert("pvEdgeVisits".into(), json!(edge_visits));
        }
    }

    fn root_info(&self, known: &mut HashMap<At, Averages>) -> Json {
        let mut info = Object::new();
        let white = self.search.root().side_to_move() == Color::White;
        info.insert("currentPlayer".into(), json!(if white { "W" } else { "B" }));
        info.insert("visits".into(), json!(self.search.visits()));
        info.insert("weight".into(), json!(self.search.visits() as f64));
        if let Some((root, (at, _))) = self.search.tree().zip(self.search.notes().root()) {
            self.put_averages(&mut info, &self.search.averages(&root, at, known));
        }
        let raw = self.search.raw();
        // From the side to move's view to the one that is asked for.
        let sign = self.side * self.to_move();
        let winrate = f64::from(raw.winrate());
        info.insert("rawWinrate".into(), number(0.5 + sign * (winrate - 0.5)));
        info.insert("rawLead".into(), number(sign * f64::from(raw.lead)));
        info.insert("rawScoreSelfplay".into(), number(sign * f64::from(raw.score_mean)));
        info.insert("rawScoreSelfplayStdev".into(), number(raw.score_stdev.into()));
        info.insert("rawNoResultProb".into(), number(raw.no_result.into()));
        // As KataGo says that a network has no such head: half of −1 is a win rate's.
        let [value, score] = raw.errors.unwrap_or([-1.0, -1.0]);
        info.insert("rawStWrError".into(), number(0.5 * f64::from(value)));
        info.insert("rawStScoreError".into(), number(score.into()));
        let time = if raw.errors.is_some() { raw.variance_time } else { -1.0 };
        info.insert("rawVarTimeLeft".into(), number(time.into()));
        let [this, alike] = hashes(self.search.root());
        info.insert("thisHash".into(), json!(this));
        info.insert("symHash".into(), json!(alike));
        Json::Object(info)
    }

    fn text(&self, mv: oncilla_core::Move, image: Symmetry) -> String {
        self.size.format(image.apply(self.size, Move(mv.0))).to_string()
    }

    /// What is said of points, of those that they are turned to.
    fn turned(&self, points: &[f64], image: Symmetry) -> Vec<f64> {
        let mut turned = vec![0.0; points.len()];
        self.size.points().zip(points).for_each(|(mv, &of)| turned[image.apply(self.size, mv).index()] = of);
        turned
    }
}

/// A probability, or −1 for what is illegal.
fn illegal_or(p: f32) -> Json {
    if p < 0.0 { json!(-1.0) } else { number(p.into()) }
}

/// Names of a position: equal for equal ones, and of the second those that are mirrored or turned as well.
fn hashes(game: &Game) -> [String; 2] {
    let size = game.size();
    let text = |symmetry: Symmetry| {
        let turned = symmetry.size(size);
        let mut text = vec!['.'; size.area()];
        let banned = game.ko_banned();
        for mv in size.points() {
            let here = match game.board().stone(mv) {
                Some(Color::Black) => 'x',
                Some(Color::White) => 'o',
                None if banned.contains(mv) => 'k',
                None => '.',
            };
            text[symmetry.apply(size, mv).index()] = here;
        }
        let side = if game.side_to_move() == Color::White { 'o' } else { 'x' };
        let passes = game.moves().rev().take_while(|(_, mv)| *mv == size.pass()).count().min(2);
        format!("{}x{} {} {side} {passes} {:?}", turned.x(), turned.y(), text.iter().collect::<String>(), game.button())
    };
    let alike = Symmetry::ALL.into_iter().map(text).min().unwrap_or_default();
    [hash::digits(&text(Symmetry::NONE)), hash::digits(&alike)]
}
