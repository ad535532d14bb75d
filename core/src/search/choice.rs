//! Which move is best, and which line follows it.

use super::view::EdgeView;
use super::{MAX_ROOT_MOVES, Search, puct};
use crate::evaluate::{Ending, Move};
use crate::formula::lcb::{FinalChoice, Lcb, Visited};
use crate::formula::random::Random;
use crate::formula::temperature::Candidate;
use crate::list;
use crate::repository::{Bound, Repository};
use crate::sort;
use core::cmp::Ordering;
use heapless::{Vec, VecView};

/// The first of a seed's streams from which choices by chance are taken, one stream for each ply of the game; noise
/// uses the seed itself.
const CHOICE_STREAM: u64 = 1;

/// What is certain of a move, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    Mated,
    TablebaseLoss,
    Open,
    TablebaseWin,
    Mates,
}

fn certainty<R: Repository>(edge: &EdgeView<'_, R>) -> Certainty {
    let (bounds, ending) = edge.result();
    match ending {
        Some(ending) if edge.completed() > 0 && bounds.closed() => match (bounds.lower, ending) {
            (Bound::Win, Ending::Tablebase) => Certainty::TablebaseWin,
            (Bound::Win, _) => Certainty::Mates,
            (Bound::Loss, Ending::Tablebase) => Certainty::TablebaseLoss,
            (Bound::Loss, _) => Certainty::Mated,
            (Bound::Draw, _) => Certainty::Open,
        },
        _ => Certainty::Open,
    }
}

fn shorter<R: Repository>(a: &EdgeView<'_, R>, b: &EdgeView<'_, R>) -> Ordering {
    let plies = |edge: &EdgeView<'_, R>| edge.known_value().map_or(0.0, |value| value.m);
    plies(b).total_cmp(&plies(a))
}

/// How a move is known to be a draw. A score is none: its value counts, like that of a game that goes on.
fn drawn<R: Repository>(edge: &EdgeView<'_, R>) -> Option<Ending> {
    edge.ending().filter(|by| *by != Ending::Scored && edge.completed() > 0 && certainty(edge) == Certainty::Open)
}

/// How moves without a certain result are compared.
struct Rule {
    draw_score: f32,
    /// The level that edges are raised to, see [`puct::level`].
    due: Option<puct::Level>,
    /// The visits of the most visited drawn move, if a move is drawn. Drawn moves are compared with each other by length
    /// and not by visits, so all of them take its place among the others; if each took its own, the order could be a
    /// circle.
    of_draws: Option<u32>,
}

impl Rule {
    fn new<'a, R: Repository + 'a>(
        draw_score: f32,
        due: Option<puct::Level>,
        edges: impl Iterator<Item = EdgeView<'a, R>>,
    ) -> Self {
        let mut rule = Self { draw_score, due, of_draws: None };
        rule.of_draws = edges.filter(|edge| drawn(edge).is_some()).map(|edge| rule.visits(&edge)).max();
        rule
    }

    /// How a move is known to be a draw.
    fn drawn<R: Repository>(&self, edge: &EdgeView<'_, R>) -> Option<Ending> {
        self.of_draws.and_then(|_| drawn(edge))
    }

    /// The visits by which an edge is compared with others.
    fn weight<R: Repository>(&self, edge: &EdgeView<'_, R>) -> u32 {
        self.of_draws.filter(|_| drawn(edge).is_some()).unwrap_or_else(|| self.visits(edge))
    }

    /// Visits of an edge, including those that are due to it.
    fn visits<R: Repository>(&self, edge: &EdgeView<'_, R>) -> u32 {
        let n = edge.completed();
        match (self.due, edge.q(self.draw_score)) {
            (Some(level), Some(q)) => puct::Arm { n, q, p: edge.p() }.raised(level),
            _ => n,
        }
    }
}

/// `Greater` if `a` is the better move to play: certain wins first, then visits, Q and prior, certain losses last.
fn better<R: Repository>(a: &EdgeView<'_, R>, b: &EdgeView<'_, R>, rule: &Rule) -> Ordering {
    let (certain_a, certain_b) = (certainty(a), certainty(b));
    let by_length = || match certain_a {
        Certainty::Mates | Certainty::TablebaseWin => shorter(a, b),
        Certainty::Mated | Certainty::TablebaseLoss => shorter(b, a),
        Certainty::Open => between_open(a, b, rule),
    };
    certain_a.cmp(&certain_b).then_with(by_length)
}

fn between_open<R: Repository>(a: &EdgeView<'_, R>, b: &EdgeView<'_, R>, rule: &Rule) -> Ordering {
    if let (Some(a_by), Some(b_by)) = (rule.drawn(a), rule.drawn(b)) {
        let by_rule = |by| by != Ending::Tablebase;
        return by_rule(a_by).cmp(&by_rule(b_by)).then_with(|| shorter(a, b));
    }
    let q = |e: &EdgeView<'_, R>| e.q(rule.draw_score).unwrap_or(f32::NEG_INFINITY);
    let is_drawn = |e: &EdgeView<'_, R>| rule.drawn(e).is_some();
    let by_value = rule.weight(a).cmp(&rule.weight(b)).then_with(|| q(a).total_cmp(&q(b)));
    by_value.then_with(|| is_drawn(a).cmp(&is_drawn(b))).then_with(|| a.p().total_cmp(&b.p()))
}

/// The best edge; of equal ones the first.
fn best_of<'a, R: Repository>(edges: impl Iterator<Item = EdgeView<'a, R>>, rule: &Rule) -> Option<EdgeView<'a, R>> {
    edges.reduce(|best, edge| if better(&edge, &best, rule) == Ordering::Greater { edge } else { best })
}

/// Inserts an item at its place in a sorted list, after its equals. If the list is full, the last item falls out.
fn push_ranked<T>(ranked: &mut VecView<T>, one: T, order: impl Fn(&T, &T) -> Ordering) {
    if ranked.len() == ranked.capacity() {
        if ranked.last().is_none_or(|last| order(&one, last).is_ge()) {
            return;
        }
        ranked.pop();
    }
    let _ = ranked.push(one); // there is room: see above
    sort::insert_last(ranked, order);
}

/// Moves `chosen` to the front: from where `is_it` finds it, or, if it is among those that fell out, in place of the
/// last item.
fn move_to_front<T>(ranked: &mut VecView<T>, chosen: T, is_it: impl Fn(&T) -> bool) {
    let at = match ranked.iter().position(is_it) {
        Some(at) => at,
        None if ranked.len() == ranked.capacity() => {
            ranked.pop();
            let _ = ranked.push(chosen);
            ranked.len().saturating_sub(1)
        }
        None => return,
    };
    if let Some(front) = ranked.get_mut(..=at) {
        sort::insert_last(front, |_, _| Ordering::Less);
    }
}

impl<R: Repository> Search<R> {
    /// The move to play after `ply` half moves of the game: that of [`Search::edge_to_play`]. `None` before the first
    /// playout, and if the game has ended.
    ///
    /// A move is named when it is first visited. If the one to play has no name, because all visited moves lose,
    /// `legal` is called with its index (from 0) among the root's legal moves, and returns the move.
    #[must_use]
    pub fn move_to_play(&self, ply: u32, legal: impl FnOnce(usize) -> Move) -> Option<Move> {
        Some(self.edge_to_play(ply)?.mv_or(legal))
    }

    /// The best move of those that were visited, by proven results and visits: only those have a name. `None` before a
    /// move was visited.
    ///
    /// After few playouts it may be a move that is proven to lose while others were not tried yet, and neither
    /// temperature nor lower bounds are taken into account: to play a game, call [`Search::move_to_play`].
    #[must_use]
    pub fn best_move(&self) -> Option<Move> {
        let best_named = || best_of(self.root_edges()?.filter(|edge| edge.mv().is_some()), &self.root_rule());
        self.best_edge()?.mv().or_else(|| best_named()?.mv())
    }

    /// The best edge by proven results and visits. `None` before the first playout, and if the game has ended. An
    /// unvisited edge has no move, only its index in the game's list.
    #[must_use]
    pub fn best_edge(&self) -> Option<EdgeView<'_, R>> {
        best_of(self.root_edges()?, &self.root_rule())
    }

    /// The edge to play after `ply` half moves of the game: [`Search::best_edge`], or another one if
    /// [`Params::temperature`](super::Params::temperature) leaves the choice to chance, or
    /// [`Params::final_choice`](super::Params::final_choice) asks for a lower bound.
    #[must_use]
    pub fn edge_to_play(&self, ply: u32) -> Option<EdgeView<'_, R>> {
        let params = self.params();
        let temperature = params.temperature.at(ply);
        if temperature > 0.0 {
            let uniform = Random::stream(params.seed, CHOICE_STREAM + u64::from(ply)).uniform();
            let fpu = self.root().map_or(0.0, |root| root.read(|root| self.root_urgency(root)));
            let candidate = |e: &EdgeView<'_, R>| {
                let q = e.q(params.draw_score).unwrap_or(fpu);
                Candidate { n: e.completed(), q, p: e.p() }
            };
            let moves = self.root_edges()?.map(|edge| (edge, candidate(&edge)));
            return params.temperature.choose(temperature, moves, uniform);
        }
        self.best_edge().map(|best| self.final_choice(best))
    }

    /// The edge to play when nothing is left to chance. `best` is the best one by results and visits.
    fn final_choice<'a>(&'a self, best: EdgeView<'a, R>) -> EdgeView<'a, R> {
        match self.params().final_choice {
            FinalChoice::Lcb(lcb) if certainty(&best) == Certainty::Open => self.best_by_bound(&lcb).unwrap_or(best),
            _ => best,
        }
    }

    fn best_by_bound(&self, lcb: &Lcb) -> Option<EdgeView<'_, R>> {
        let draw_score = self.params().draw_score;
        let visited = |e: &EdgeView<'_, R>| {
            let (q, d) = (e.q(draw_score).unwrap_or(0.0), e.value().map_or(0.0, |v| v.d));
            Visited { n: e.completed(), q, d }
        };
        let open = self.root_edges()?.filter(|edge| certainty(edge) == Certainty::Open);
        lcb.choose(open.map(|edge| (edge, visited(&edge))), draw_score)
    }

    /// Fills `ranked` to its capacity with the best root edges that may be searched, the best first: that is the one to
    /// play when nothing is left to chance.
    pub fn rank_root<'a>(&'a self, ranked: &mut VecView<EdgeView<'a, R>>) {
        ranked.clear();
        let Some(edges) = self.root_edges() else { return };
        let rule = self.root_rule();
        for edge in edges {
            push_ranked(ranked, edge, |a, b| better(b, a, &rule));
        }
        // By its lower bound, another move than the most visited one may be the one to play.
        if let Some(chosen) = ranked.first().map(|best| self.final_choice(*best)).filter(|chosen| chosen.mv().is_some())
        {
            move_to_front(ranked, chosen, |edge| edge.mv() == chosen.mv());
        }
    }

    /// Returns a function that says by how many visits [`Search::rank_root`] compares a root edge whose result is open:
    /// its own, and those that playouts which only restored would have been.
    pub fn ranked_visits(&self) -> impl Fn(&EdgeView<'_, R>) -> u32 + use<R> {
        let rule = self.root_rule();
        move |edge| rule.visits(edge)
    }

    /// Writes into `line` the moves that begin with a root edge and go on with each side's best move, as far as nodes
    /// have visits and `line` has room. If an unvisited move follows, its index in the game's list is returned: the
    /// tree knows no more of it.
    pub fn pv(&self, first: &EdgeView<'_, R>, line: &mut VecView<Move>) -> Option<usize> {
        line.clear();
        let mut edge = *first;
        let mut draw_score = self.params().draw_score;
        while let Some(mv) = edge.mv()
            && line.push(mv).is_ok()
        {
            draw_score = -draw_score;
            let child = edge.child().filter(|child| child.n() > 0)?;
            edge = best_of(child.edges(), &Rule::new(draw_score, None, child.edges()))?;
        }
        edge.index()
    }

    /// The rule by visits, counted as if playouts that only restored had been visits.
    fn root_rule(&self) -> Rule {
        let restored = self.restored();
        let due = if restored == 0 { None } else { self.due(restored) };
        Rule::new(self.params().draw_score, due, self.root_edges().into_iter().flatten())
    }

    /// The level that `restored` more visits would raise the root's edges to, see [`Rule::due`]. Not inlined: the list
    /// is the largest thing that a search has on the stack, and should be there only while it is worked on.
    #[inline(never)]
    fn due(&self, restored: u32) -> Option<puct::Level> {
        let (params, n) = (self.params(), self.root()?.n().saturating_add(restored));
        let exploration = puct::exploration(params.root_cpuct(), n);
        let arm = |e: EdgeView<'_, R>| Some(puct::Arm { n: e.completed(), q: e.q(params.draw_score)?, p: e.p() });
        let arms = self.root_edges()?.filter_map(arm);
        // An edge below the level changes nothing: those with the largest Q + U say where it is.
        let score = |arm: &puct::Arm| arm.q + puct::u(arm.p, exploration, arm.n);
        let mut edges = Vec::<puct::Arm, MAX_ROOT_MOVES>::new();
        list::fill_largest(edges.as_mut_view(), arms, score);
        puct::level(&edges, exploration, restored)
    }

    fn root_edges(&self) -> Option<impl Iterator<Item = EdgeView<'_, R>> + Clone> {
        Some(self.root()?.edges().filter(|edge| self.may_play(edge)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items are compared by their first part; the second tells equals apart.
    fn ranked(items: &[(u8, char)]) -> Vec<(u8, char), 3> {
        let mut ranked = Vec::new();
        items.iter().for_each(|&one| push_ranked(ranked.as_mut_view(), one, |a, b| a.0.cmp(&b.0)));
        ranked
    }

    #[test]
    fn a_ranking_keeps_the_best_and_of_equals_the_first() {
        assert_eq!(ranked(&[(3, 'a'), (1, 'b')])[..], [(1, 'b'), (3, 'a')]);
        assert_eq!(ranked(&[(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd')])[..], [(1, 'b'), (2, 'd'), (3, 'a')]);
        assert_eq!(ranked(&[(1, 'a'), (2, 'b'), (3, 'c'), (3, 'd'), (4, 'e')])[..], [(1, 'a'), (2, 'b'), (3, 'c')]);
        let mut none = Vec::<u8, 0>::new();
        push_ranked(none.as_mut_view(), 1, u8::cmp);
        assert!(none.is_empty());
    }

    #[test]
    fn the_chosen_one_comes_first_and_the_others_keep_their_order() {
        let chosen = |items: &[u8], chosen| {
            let mut ranked = Vec::<u8, 3>::from_slice(items).unwrap();
            move_to_front(ranked.as_mut_view(), chosen, |one| *one == chosen);
            ranked
        };
        assert_eq!(chosen(&[1, 2, 3], 1)[..], [1, 2, 3]);
        assert_eq!(chosen(&[1, 2, 3], 2)[..], [2, 1, 3]);
        assert_eq!(chosen(&[1, 2, 3], 3)[..], [3, 1, 2]);
        // It fell out of a list that is full; a list that is not full never had it.
        assert_eq!(chosen(&[1, 2, 3], 9)[..], [9, 1, 2]);
        assert_eq!(chosen(&[1, 2], 9)[..], [1, 2]);
    }
}
