//! Which move is best, and what follows it.

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

/// The first of a seed's streams that choices by chance are taken from, one for each ply of the game; noise has the
/// seed itself.
const CHOICE_STREAM: u64 = 1;

/// What is certain of a move, worst first.
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
    b.m().unwrap_or(0.0).total_cmp(&a.m().unwrap_or(0.0))
}

/// What open moves are compared by.
struct Rule {
    draw_score: f32,
    /// The level that edges are raised to, and the exploration that goes with it, see [`puct::level`].
    due: Option<(f32, f32)>,
}

impl Rule {
    fn plain(draw_score: f32) -> Self {
        Self { draw_score, due: None }
    }

    /// Visits of an edge, those included that are due to it.
    fn visits<R: Repository>(&self, edge: &EdgeView<'_, R>) -> u32 {
        let n = edge.completed();
        match (self.due, edge.q(self.draw_score)) {
            (Some((level, exploration)), Some(q)) => puct::Arm { n, q, p: edge.p }.raised(level, exploration),
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
    let drawn = |e: &EdgeView<'_, R>| e.ending().filter(|_| e.completed() > 0);
    if let (Some(a_by), Some(b_by)) = (drawn(a), drawn(b)) {
        let by_rule = |by| by != Ending::Tablebase;
        return by_rule(a_by).cmp(&by_rule(b_by)).then_with(|| shorter(a, b));
    }
    let q = |e: &EdgeView<'_, R>| e.q(rule.draw_score).unwrap_or(f32::NEG_INFINITY);
    rule.visits(a).cmp(&rule.visits(b)).then_with(|| q(a).total_cmp(&q(b))).then_with(|| a.p.total_cmp(&b.p))
}

/// The best edge; of equals the first.
fn best_of<'a, R: Repository>(edges: impl Iterator<Item = EdgeView<'a, R>>, rule: &Rule) -> Option<EdgeView<'a, R>> {
    edges.reduce(|best, edge| if better(&edge, &best, rule) == Ordering::Greater { edge } else { best })
}

/// Puts one more where it belongs in a list that is in order, after its equals. Where the list is full the last one
/// falls out.
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

/// Moves `chosen` to the front: from where `is_it` finds it, or, where it is among those that fell out, in place of the
/// last.
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
    /// playout and where the game has ended.
    ///
    /// Moves get their names when they are first visited. Where the one to play has none, because those that were
    /// visited lose, `legal` is asked which move stands at that place (from 0) among the root's legal ones.
    pub fn move_to_play(&self, ply: u32, legal: impl FnOnce(usize) -> Move) -> Option<Move> {
        let edge = self.edge_to_play(ply)?;
        edge.mv.or_else(|| edge.index.map(legal))
    }

    /// The best move of those that were visited, by proven results and visits: only those have a name. `None` before
    /// one was.
    ///
    /// After few playouts it may be a move that is proven to lose while others were not tried yet, and neither
    /// temperature nor lower bounds are asked: to play a game, [`Search::move_to_play`] is the one to call.
    pub fn best_move(&self) -> Option<Move> {
        let best_named = || best_of(self.root_edges()?.filter(|edge| edge.mv.is_some()), &self.root_rule());
        self.best_edge()?.mv.or_else(|| best_named()?.mv)
    }

    /// The best edge by proven results and visits: `None` before the first playout and where the game has ended. An
    /// edge that nobody visited has no move, only its place in the game's list.
    pub fn best_edge(&self) -> Option<EdgeView<'_, R>> {
        best_of(self.root_edges()?, &self.root_rule())
    }

    /// The edge to play after `ply` half moves of the game: [`Search::best_edge`], or another one where
    /// [`Params::temperature`](super::Params::temperature) leaves it to chance, or
    /// [`Params::final_choice`](super::Params::final_choice) asks for a lower bound.
    pub fn edge_to_play(&self, ply: u32) -> Option<EdgeView<'_, R>> {
        let params = self.params();
        let temperature = params.temperature.at(ply);
        if temperature > 0.0 {
            let uniform = Random::stream(params.seed, CHOICE_STREAM + u64::from(ply)).uniform();
            let fpu = self.root_fpu();
            let candidate = |e: &EdgeView<'_, R>| {
                let q = e.q(params.draw_score).unwrap_or(fpu);
                Candidate { n: e.completed(), q, p: e.p }
            };
            let moves = self.root_edges()?.map(|edge| (edge, candidate(&edge)));
            return params.temperature.choose(temperature, moves, uniform);
        }
        self.best_edge().map(|best| self.final_choice(best))
    }

    /// The edge to play where nothing is left to chance, and `best` is the best one.
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

    /// What an unvisited move of the root is worth.
    fn root_fpu(&self) -> f32 {
        let Some(root) = self.root() else { return 0.0 };
        puct::fpu(self.params().root_fpu(), root.value().q(self.params().draw_score), root.visited_policy())
    }

    /// The best `ranked.capacity()` root edges that may be searched, best first: the one to play, where nothing is left
    /// to chance.
    pub fn rank_root<'a>(&'a self, ranked: &mut VecView<EdgeView<'a, R>>) {
        ranked.clear();
        let Some(edges) = self.root_edges() else { return };
        let rule = self.root_rule();
        for edge in edges {
            push_ranked(ranked, edge, |a, b| better(b, a, &rule));
        }
        // By its lower bound, another one than the most visited may be the one to play.
        if let Some(chosen) = ranked.first().map(|best| self.final_choice(*best)).filter(|chosen| chosen.mv.is_some()) {
            move_to_front(ranked, chosen, |edge| edge.mv == chosen.mv);
        }
    }

    /// Says how many visits [`Search::rank_root`] compares a root edge by: its own, and those that playouts which only
    /// restored would have been.
    pub fn ranked_visits(&self) -> impl Fn(&EdgeView<'_, R>) -> u32 + use<R> {
        let rule = self.root_rule();
        move |edge| rule.visits(edge)
    }

    /// The line that begins with a root edge, each side playing its best move, as far as nodes have visits or `line`
    /// has room. Where a move follows that nobody visited, its place in the game's list comes back: the tree knows no
    /// more.
    pub fn pv(&self, first: &EdgeView<'_, R>, line: &mut VecView<Move>) -> Option<usize> {
        line.clear();
        let mut edge = *first;
        let mut draw_score = self.params().draw_score;
        while let Some(mv) = edge.mv
            && line.push(mv).is_ok()
        {
            draw_score = -draw_score;
            let child = edge.child().filter(|child| child.n() > 0)?;
            edge = best_of(child.edges(), &Rule::plain(draw_score))?;
        }
        edge.index
    }

    /// By visits, as they would be if playouts that only restored had been visits.
    fn root_rule(&self) -> Rule {
        let restored = self.restored();
        let due = if restored == 0 { None } else { self.due(restored) };
        Rule { due, ..Rule::plain(self.params().draw_score) }
    }

    /// What so many visits more raise the root's edges to, see [`Rule::due`]. Not inlined: the list is the largest
    /// thing that a search has on the stack, and is there only as long as it is worked on.
    #[inline(never)]
    fn due(&self, restored: u32) -> Option<(f32, f32)> {
        let (params, n) = (self.params(), self.root()?.n().saturating_add(restored));
        let exploration = puct::exploration(params.root_cpuct(), n);
        let arm = |e: EdgeView<'_, R>| Some(puct::Arm { n: e.completed(), q: e.q(params.draw_score)?, p: e.p });
        let arms = self.root_edges()?.filter_map(arm);
        // An edge below the level changes nothing: those with the largest Q + U say where it is.
        let score = |arm: &puct::Arm| arm.q + puct::u(arm.p, exploration, arm.n);
        let mut edges = Vec::<puct::Arm, MAX_ROOT_MOVES>::new();
        list::fill_largest(edges.as_mut_view(), arms, score);
        puct::level(&edges, exploration, restored).map(|level| (level, exploration))
    }

    fn root_edges(&self) -> Option<impl Iterator<Item = EdgeView<'_, R>> + Clone> {
        Some(self.root()?.edges().filter(|edge| self.may_play(edge)))
    }
}
