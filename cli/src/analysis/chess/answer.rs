//! Writes the result of a search as one line of an answer.

use oncilla_chess::{Board, Castling, Color, History, Move, MoveList, notation, unpack};
use oncilla_core::evaluate::{Ending, Value};
use oncilla_core::formula::lcb::Visited;
use oncilla_core::heapless::Vec as FixedVec;
use oncilla_core::repository::Bound;
use oncilla_core::search::MAX_ROOT_MOVES;
use serde_json::{Value as Json, json};

use super::hash;
use super::query::{Query, TreeBounds, Wanted};
use crate::engine::{EdgeView, RootResults, Search, Settings, mate};
use crate::evaluator::Evaluator;
use crate::fields::Object;
use crate::json::number;
use crate::options::Perspective;

/// Length of the longest `pv`: its first move and `analysisPVLen` more, of which there are at most 1000.
const LONGEST_PV: usize = 1001;

/// The most nodes that a `tree` contains.
const MOST_TREE_NODES: usize = 50_000;

/// The network's evaluation of the root position itself.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// The value for the side to move.
    pub value: Option<Value>,
    /// The squared error of W − L that the network expects; `None` if it has no head for that.
    pub error: Option<f32>,
    /// The probabilities of the legal moves, in the order of the legal moves.
    pub policy: Vec<f64>,
}

/// Writes the answers about one position.
pub struct Reporter<'r, 's> {
    search: &'r Search<'s>,
    query: &'r Query,
    turn: usize,
    settings: &'r Settings,
    board: &'r Board,
    has_moves_left: bool,
    has_wdl: bool,
    raw: &'r Raw,
    /// The results of the root's moves in the tablebases.
    results: Option<&'r RootResults>,
    hashes: [String; 2],
    legal: MoveList,
}

impl<'r, 's> Reporter<'r, 's> {
    /// A reporter for the search of the position after `turn` moves.
    pub fn new(
        search: &'r Search<'s>,
        query: &'r Query,
        turn: usize,
        evaluator: &Evaluator,
        position: &'r History,
        raw: &'r Raw,
    ) -> Self {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        Self {
            search,
            query,
            turn,
            settings: &query.plan.settings,
            board: position.board(),
            has_moves_left: evaluator.has_moves_left(),
            has_wdl: evaluator.has_wdl(),
            raw,
            results: None,
            hashes: hash::of(position),
            legal,
        }
    }

    /// Sets the known results of the root's moves. The root and its moves are then reported with these values instead
    /// of those of the search.
    pub fn knowing(self, results: &'r RootResults) -> Self {
        Self { results: Some(results), ..self }
    }

    /// Writes the line; `None` while the root has no visits.
    pub fn line(&self, is_during_search: bool) -> Option<String> {
        let root = self.search.root().filter(|root| root.n() > 0)?;
        let mut answer = Object::new();
        answer.insert("id".into(), json!(self.query.id));
        answer.insert("isDuringSearch".into(), json!(is_during_search));
        // The moves that may be searched and have visits, with the one to play first.
        let mut moves = FixedVec::<EdgeView<'_>, MAX_ROOT_MOVES>::new();
        self.search.rank_root(moves.as_mut_view());
        moves.retain(|edge| edge.completed() > 0);
        let n = is_during_search.then(|| self.visits_with(&moves)).flatten().unwrap_or_else(|| root.n());
        answer.insert("rootInfo".into(), self.root_info(root.value(), n));
        answer.insert("moveInfos".into(), Json::Array(self.move_infos(&moves)));
        if self.query.wanted.policy {
            let texts = self.legal.iter().map(|&mv| self.text(self.board, mv));
            let policy: Object = texts.zip(self.raw.policy.iter().map(|&p| number(p))).collect();
            answer.insert("policy".into(), Json::Object(policy));
        }
        let mut line = Json::Object(answer).to_string();
        // `tree` and `turnNumber` are appended as text: their names are last in the alphabetical order of the keys.
        line.pop();
        if let Some(bounds) = self.query.wanted.tree {
            self.write_tree(&moves, bounds, &mut line);
        }
        line += &format!(",\"turnNumber\":{}}}", self.turn);
        line.shrink_to_fit();
        Some(line)
    }

    /// Appends `tree`, and `treeIsCut` if it has reached the most nodes.
    fn write_tree(&self, moves: &[EdgeView<'_>], bounds: TreeBounds, line: &mut String) {
        line.push_str(",\"tree\":");
        let mut tree = TreeWriter { reporter: self, min_visits: bounds.min_visits, left: MOST_TREE_NODES, line };
        tree.write_children(moves.iter().copied(), self.root(), bounds.depth);
        if tree.left == 0 {
            line.push_str(",\"treeIsCut\":true");
        }
    }

    fn root(&self) -> At<'r> {
        At { board: self.board, is_root: true, mover: 1.0, side: self.side() }
    }

    /// 1 if numbers are reported for the side to move at the root, −1 if for the other side.
    fn side(&self) -> f64 {
        let Wanted { perspective, .. } = self.query.wanted;
        let seen_by = match perspective {
            Perspective::SideToMove => return 1.0,
            Perspective::White => Color::White,
            Perspective::Black => Color::Black,
        };
        if seen_by == self.board.side_to_move() { 1.0 } else { -1.0 }
    }

    fn text(&self, board: &Board, mv: Move) -> String {
        notation::format_move(board, mv, Castling::of(self.query.chess960)).to_string()
    }

    fn root_info(&self, value: Value, n: u32) -> Json {
        let edges = self.search.root().into_iter().flat_map(|root| root.edges());
        let moves = edges.filter_map(|edge| Some((edge.ending(), edge.value()?)));
        let mut info = Object::new();
        let white = self.board.side_to_move() == Color::White;
        info.insert("currentPlayer".into(), json!(if white { "W" } else { "B" }));
        info.insert("visits".into(), json!(n));
        info.insert("weight".into(), json!(f64::from(n)));
        let known = self.results.and_then(|results| results.of_root(moves, value));
        let (value, draw_score) = (known.unwrap_or_else(|| self.shown(value)), self.search.params().draw_score);
        let of = Valued { value, n, draw_score, is_certain: self.legal.is_empty() || known.is_some() };
        self.put_value(&mut info, of, self.side());
        let [this, sym] = &self.hashes;
        info.insert("thisHash".into(), json!(this));
        info.insert("symHash".into(), json!(sym));
        if let Some(raw) = self.raw.value {
            let wdl = wdl(raw, self.side());
            info.insert("rawWinrate".into(), number(wdl[0] + 0.5 * wdl[1]));
            info.insert("rawWdl".into(), json!(wdl.map(number)));
            if self.has_moves_left {
                info.insert("rawMovesLeft".into(), number(raw.m.into()));
            }
        }
        if let Some(error) = self.raw.error {
            // W − L has twice the range of a win rate.
            info.insert("rawStWrError".into(), number(f64::from(error).max(0.0).sqrt() / 2.0));
        }
        Json::Object(info)
    }

    fn move_infos(&self, moves: &[EdgeView<'_>]) -> Vec<Json> {
        let at_root = self.root();
        let values = never_rising(moves.iter().map(self.search.ranked_visits()).collect());
        let infos = moves.iter().zip(values).enumerate().filter_map(|(order, (edge, value))| {
            let mut info = self.edge_info(edge, at_root)?;
            info.insert("playSelectionValue".into(), json!(f64::from(value)));
            if !info.contains_key("prior") {
                info.insert("prior".into(), number(self.prior(edge)));
            }
            info.insert("order".into(), json!(order));
            self.put_line(&mut info, edge);
            Some(Json::Object(info))
        });
        infos.collect()
    }

    /// The prior of a root move whose prior the search has set to 0, because the move is certain to lose.
    fn prior(&self, edge: &EdgeView<'_>) -> f64 {
        let at = self.legal.iter().position(|&mv| edge.mv().is_some_and(|of_edge| unpack(of_edge.0) == mv));
        let temperature =
            f64::from(self.search.params().policy_temperature * self.query.plan.root_temperature.unwrap_or(1.0));
        let tempered = |p: f64| p.powf(1.0 / temperature);
        let sum: f64 = self.raw.policy.iter().copied().map(tempered).sum();
        at.and_then(|at| self.raw.policy.get(at)).map_or(0.0, |&p| tempered(p) / sum)
    }

    /// All fields of an edge except those of its `pv`. If the move is certain to lose, `prior` is missing, because the
    /// search has set it to 0.
    fn edge_info(&self, edge: &EdgeView<'_>, at: At<'_>) -> Option<Object> {
        let (mv, value) = edge.mv().zip(edge.value())?;
        let n = edge.completed();
        let mut info = Object::new();
        info.insert("move".into(), json!(self.text(at.board, unpack(mv.0))));
        info.insert("visits".into(), json!(edge.child().map_or(n, |child| child.n().max(n))));
        info.insert("edgeVisits".into(), json!(n));
        info.insert("weight".into(), json!(f64::from(n)));
        info.insert("playSelectionValue".into(), json!(f64::from(n)));
        if edge.bounds().upper != Bound::Loss {
            info.insert("prior".into(), number(edge.p().into()));
        }
        let sign = at.mover;
        let draw_score = self.search.params().draw_score * sign as f32;
        // The contempt of the other side is that of the root's side to move with the opposite sign.
        let seen = Value { wl: value.wl * sign as f32, ..value };
        let shown = self.shown(seen);
        // Moves left are counted from the position before the move.
        let value = Value { wl: shown.wl * sign as f32, m: shown.m + 1.0, ..shown };
        let known =
            self.results.filter(|_| at.is_root).and_then(|results| results.of_move(unpack(mv.0), edge.ending(), value));
        let is_certain = edge.bounds().closed() || known.is_some();
        let of = Valued { value: known.unwrap_or(value), n, draw_score, is_certain };
        self.put_value(&mut info, of, at.side * sign);
        // A result from a tablebase file is not a mate that was found.
        let found = mate(edge).filter(|_| edge.ending() != Some(Ending::Tablebase));
        let exact = self.results.filter(|_| at.is_root).and_then(|results| results.mate_with(unpack(mv.0)));
        if let Some(moves) = exact.or(found) {
            info.insert("mate".into(), json!(moves * (at.side * sign) as i32));
        }
        Some(info)
    }

    /// Removes from a value, which is that of the side to move at the root, the contempt that the search added.
    fn shown(&self, value: Value) -> Value {
        self.search.params().wdl_rescale.undo(value, self.settings.contempt.objectivity)
    }

    /// `side` is 1 if the numbers are reported for the side that `of` belongs to, −1 if for the other one.
    fn put_value(&self, info: &mut Object, of: Valued, side: f64) {
        let Valued { value, n, draw_score, is_certain } = of;
        let q = f64::from(value.q(draw_score));
        let bound = match is_certain {
            true => q,
            false => f64::from(self.settings.lcb.bound(Visited { n, q: q as f32, d: value.d }, draw_score)),
        };
        let wdl = wdl(value, side);
        let winrate = wdl[0] + 0.5 * wdl[1];
        // The score is computed for that side, and not negated: a winning percentage p becomes 100 − p.
        let seen = Value { wl: value.wl * side as f32, ..value };
        let score = self.query.wanted.score_type.score(seen, draw_score * side as f32, self.has_wdl);
        info.insert("winrate".into(), number(winrate));
        info.insert("drawrate".into(), number(wdl[1]));
        info.insert("wdl".into(), json!(wdl.map(number)));
        info.insert("scoreCp".into(), json!(score));
        let unit = side * f64::from(self.query.wanted.win_loss_utility);
        info.insert("utility".into(), number(unit * q));
        info.insert("utilityLcb".into(), number(unit * bound));
        info.insert("lcb".into(), number(winrate - side * (q - bound) / 2.0));
        if self.has_moves_left {
            info.insert("movesLeft".into(), number(value.m.into()));
        }
    }

    /// The principal variation that begins with a root move; with tablebases, the way to mate if it is known, and no
    /// move that is known to change the result.
    fn expected(&self, first: &EdgeView<'_>) -> Vec<Move> {
        let mut line = FixedVec::<_, LONGEST_PV>::new();
        self.search.pv(first, line.as_mut_view());
        let line: Vec<Move> = line.iter().map(|mv| unpack(mv.0)).collect();
        let Some(results) = self.results else { return line };
        results.shown(self.board, &line, line.len())
    }

    fn put_line(&self, info: &mut Object, first: &EdgeView<'_>) {
        let mut line = self.expected(first);
        line.truncate(self.query.wanted.pv_len + 1);
        let mut board = self.board.clone();
        let mut texts = Vec::with_capacity(line.len());
        let (mut visits, mut edge_visits) = (Vec::new(), Vec::new());
        let mut edge = Some(*first);
        for (ply, mv) in line.into_iter().enumerate() {
            texts.push(self.text(&board, mv));
            board.play_unchecked(mv);
            if ply > 0 {
                let child = edge.and_then(|edge| edge.child());
                edge =
                    child.and_then(|child| child.visited().find(|edge| edge.mv().map(|mv| unpack(mv.0)) == Some(mv)));
            }
            let own = edge.map_or(0, |edge| edge.completed());
            edge_visits.push(own);
            visits.push(edge.and_then(|edge| edge.child()).map_or(own, |child| child.n().max(own)));
        }
        info.insert("pv".into(), json!(texts));
        if self.query.wanted.pv_visits {
            info.insert("pvVisits".into(), json!(visits));
            info.insert("pvEdgeVisits".into(), json!(edge_visits));
        }
    }

    /// The visits of the root that are consistent with those of `moves`, which were read earlier, while the search went
    /// on. `None` if the root has visits that belong to none of its moves.
    fn visits_with(&self, moves: &[EdgeView<'_>]) -> Option<u32> {
        let root = self.search.root().filter(|root| root.is_expanded() && !root.is_regrown())?;
        let left_out = root.visited().filter(|edge| !self.search.may_play(edge));
        // 1 for the root's own evaluation.
        Some(1 + moves.iter().copied().chain(left_out).map(|edge| edge.completed()).sum::<u32>())
    }
}

/// Writes `tree` to a line. Each node is converted to text at once: as a JSON value it takes several KB, which is far
/// more than its text.
struct TreeWriter<'t> {
    reporter: &'t Reporter<'t, 't>,
    /// The fewest visits of a node that is written.
    min_visits: u32,
    /// The number of nodes that may still be written.
    left: usize,
    line: &'t mut String,
}

impl TreeWriter<'_> {
    /// Writes the moves of a node, the most visited first, and the nodes below them, `depth` plies in all.
    fn write_children<'a>(&mut self, edges: impl Iterator<Item = EdgeView<'a>>, at: At<'_>, depth: usize) {
        let mut edges: Vec<EdgeView<'_>> = edges.filter(|edge| edge.completed() >= self.min_visits).collect();
        edges.sort_by_key(|edge| std::cmp::Reverse(edge.completed()));
        self.line.push('[');
        for edge in edges {
            if self.left == 0 {
                break;
            }
            let Some(info) = self.reporter.edge_info(&edge, at) else { continue };
            self.left -= 1;
            let info = Json::Object(info).to_string();
            self.line.push_str(if self.line.ends_with('[') { "{" } else { ",{" });
            self.write_below(&edge, at, depth - 1);
            self.line.push_str(info.trim_start_matches('{'));
        }
        self.line.push(']');
    }

    /// Writes `children` of an edge, if there are any, before its other fields.
    fn write_below(&mut self, edge: &EdgeView<'_>, at: At<'_>, depth: usize) {
        let Some((child, mv)) = edge.child().zip(edge.mv()).filter(|_| depth > 0) else { return };
        let mut board = at.board.clone();
        board.play_unchecked(unpack(mv.0));
        let below = At { board: &board, is_root: false, mover: -at.mover, side: at.side };
        let begin = self.line.len();
        self.line.push_str("\"children\":");
        self.write_children(child.visited(), below, depth);
        if self.line.ends_with("[]") {
            self.line.truncate(begin);
        } else {
            self.line.push(',');
        }
    }
}

/// `playSelectionValue` of the ranked moves, as far as visits can express the ranking: each is at least as large as
/// those after it, since a known result or a bound can rank a move before moves with more visits.
fn never_rising(mut visits: Vec<u32>) -> Vec<u32> {
    let mut most = 0;
    for n in visits.iter_mut().rev() {
        most = most.max(*n);
        *n = most;
    }
    visits
}

/// The position from which an edge leads.
#[derive(Clone, Copy)]
struct At<'b> {
    board: &'b Board,
    is_root: bool,
    /// 1 if the side to move is that of the root, −1 if it is the other side.
    mover: f64,
    /// 1 if numbers are reported for the side to move at the root, −1 if for the other side.
    side: f64,
}

/// A value for the side to move, with what is needed to report it.
#[derive(Clone, Copy)]
struct Valued {
    value: Value,
    n: u32,
    /// The value of a draw for that side.
    draw_score: f32,
    /// Whether the value is a proven or exactly known result.
    is_certain: bool,
}

/// Probabilities of win, draw and loss; seen by the other side if `side` is −1. An edge stores D with few bits, and W −
/// L exactly, so D is limited to 1 − |W − L|.
fn wdl(value: Value, side: f64) -> [f64; 3] {
    let wl = side * f64::from(value.wl).clamp(-1.0, 1.0);
    let d = f64::from(value.d).min(1.0 - wl.abs()).max(0.0);
    [(1.0 + wl - d) / 2.0, d, (1.0 - wl - d) / 2.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_chosen_first_has_no_less_than_those_behind() {
        assert_eq!(never_rising(vec![3, 9, 9, 2, 4, 0]), [9, 9, 9, 4, 4, 0]);
        assert!(never_rising(Vec::new()).is_empty());
    }

    #[test]
    fn the_other_side_sees_the_same_game() {
        let value = Value { wl: 0.25, d: 0.5, m: 10.0 };
        assert_eq!(wdl(value, 1.0), [0.375, 0.5, 0.125]);
        assert_eq!(wdl(value, -1.0), [0.125, 0.5, 0.375]);
    }

    #[test]
    fn a_draw_is_no_more_likely_than_a_win_leaves_it() {
        for (wl, d) in
            [(0.75, 0.25002), (-0.75, 0.25002), (1.0, 1e-5), (-1.0, 0.0), (1.0001, 0.5), (0.0, 1.1), (0.5, -0.1)]
        {
            for side in [1.0, -1.0] {
                let wdl = wdl(Value { wl, d, m: 0.0 }, side);
                assert!((wdl.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{wdl:?}");
                assert!(wdl.iter().all(|p| (0.0..=1.0).contains(p)), "{wdl:?}");
                let wl = side * f64::from(wl.clamp(-1.0, 1.0));
                assert!((wdl[0] - wdl[2] - wl).abs() < 1e-9, "{wdl:?}");
            }
        }
    }
}
