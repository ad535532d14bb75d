//! Turns the state of a search into numbers for its observer.

use super::Search;
use super::report::{Done, Info, Line, MoveStats};
use super::settings::Settings;
use super::tables::RootResults;
use crate::evaluator::Evaluator;
use oncilla_chess::{Board, History, MoveList, Transform, nth_legal_move, policy, unpack};
use oncilla_core::Move;
use oncilla_core::evaluate::{Ending, Value};
use oncilla_core::heapless::Vec as FixedVec;
use oncilla_core::repository::{Bound, Bounds};
use oncilla_core::search::{MAX_ROOT_MOVES, puct};
use oncilla_core::stats::Counts;
use oncilla_core::tree::Tree;
use std::time::{Duration, Instant};

/// The longest line that is reported, in moves.
const LONGEST_PV: usize = 64;

/// After this time, a search that finds nothing new still reports, to show that it is alive.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// Tablebase results are reported as mates in at least this many moves.
const TABLEBASE_MATE: f32 = 101.0;

/// An edge of the tree that this program uses.
pub type EdgeView<'a> = oncilla_core::search::EdgeView<'a, Tree<'a>>;

/// Reports on a search from time to time.
pub struct Snapshot {
    since: Instant,
    /// When the answers of the first batch and those of the last batch came.
    batches: Option<(Instant, Instant)>,
    multi_pv: usize,
    live_stats: bool,
    /// The position at the root.
    board: Board,
    /// `WDLEvalObjectivity`.
    objectivity: f64,
    /// Plies of the game before the root.
    ply: u32,
    /// The legal moves at the root. The index of an edge without a visit is an index into this list.
    legal: MoveList,
    /// The results of these moves that tablebases know.
    results: RootResults,
    has_moves_left: bool,
    has_wdl: bool,
    last: Option<Said>,
}

/// What the observer was told last.
#[derive(PartialEq)]
struct Said {
    best: Option<cozy_chess::Move>,
    depth: u32,
    seldepth: u32,
    at: Instant,
}

impl Snapshot {
    /// A snapshot of a search that began at `since`.
    pub fn new(settings: &Settings, evaluator: &Evaluator, position: &History, since: Instant) -> Self {
        let mut legal = MoveList::new();
        position.legal_moves(&mut legal);
        Self {
            since,
            batches: None,
            multi_pv: settings.multi_pv.max(1),
            live_stats: settings.live_stats,
            board: position.board().clone(),
            objectivity: settings.contempt.objectivity,
            ply: position.ply(),
            legal,
            results: RootResults::default(),
            has_moves_left: evaluator.has_moves_left(),
            has_wdl: evaluator.has_wdl(),
            last: None,
        }
    }

    /// Adds known results of the root's moves: lines get these values, not those that the search finds.
    pub fn knowing(self, results: RootResults) -> Self {
        Self { results, ..self }
    }

    fn mv(&self, edge: &EdgeView<'_>) -> Option<cozy_chess::Move> {
        edge.mv().map(|mv| unpack(mv.0)).or_else(|| self.legal.get(edge.index()?).copied())
    }

    /// What the observer is to be told after a batch: something if the best move or a depth changed, or if it has been
    /// told nothing for long.
    pub fn after_batch(&mut self, search: &Search<'_>, counts: &Counts) -> Option<Info> {
        if counts.playouts == 0 {
            return None;
        }
        let now = Instant::now();
        self.batches = Some((self.batches.map_or(now, |(first, _)| first), now));
        let best = search.best_edge().and_then(|edge| self.mv(&edge));
        let said = Said { best, depth: self.depth(search, counts), seldepth: deepest(counts), at: now };
        let news = self.last.as_ref().is_none_or(|last| {
            (last.best, last.depth, last.seldepth) != (said.best, said.depth, said.seldepth)
                || now - last.at > LONGEST_SILENCE
        });
        (news && said.best.is_some()).then(|| {
            self.last = Some(said);
            self.info(search, counts)
        })
    }

    /// What the observer is to be told while a search can't go on and may not end: when it begins to wait, which it has
    /// not done if `has_waited` is false, and if it has been told nothing for long.
    pub fn while_it_waits(&mut self, search: &Search<'_>, counts: &Counts, has_waited: bool) -> Option<Info> {
        let now = Instant::now();
        let is_silent = self.last.as_ref().is_some_and(|last| now - last.at > LONGEST_SILENCE);
        if has_waited && !is_silent {
            return None;
        }
        self.last.iter_mut().for_each(|last| last.at = now);
        Some(self.info(search, counts)).filter(|info| !info.lines.is_empty())
    }

    /// How the search stands.
    pub fn info(&self, search: &Search<'_>, counts: &Counts) -> Info {
        // The time before the first answers says nothing about the speed, nor does the time in which a search waits at
        // its limit. Clients want a number even then.
        let ms = self.batches.map_or(1, |(first, last)| ((last - first).as_millis() as u64).max(1));
        let rate = |n: u64| n * 1000 / ms;
        let mut ranked = FixedVec::<EdgeView<'_>, MAX_ROOT_MOVES>::new();
        search.rank_root(ranked.as_mut_view());
        Info {
            depth: self.depth(search, counts),
            seldepth: deepest(counts),
            time_ms: self.since.elapsed().as_millis() as u64,
            nodes: search.visits().into(),
            playouts: counts.playouts,
            nps: rate(counts.playouts),
            eps: rate(counts.evaluations),
            hashfull: search.repository().permille_full(),
            tree_nodes: search.live_nodes() as u64,
            tree_bytes: search.repository().live_bytes() as u64,
            tbhits: counts.tablebase_hits,
            has_moves_left: self.has_moves_left,
            has_wdl: self.has_wdl,
            lines: ranked.iter().take(self.multi_pv).map(|edge| self.line(search, edge)).collect(),
            stats: if self.live_stats { self.stats(search) } else { Vec::new() },
        }
    }

    /// The depth to be told. It never falls, though a mean may: clients take a smaller one for older news.
    fn depth(&self, search: &Search<'_>, counts: &Counts) -> u32 {
        search.mean_depth(counts).max(self.last.as_ref().map_or(1, |last| last.depth))
    }

    /// Removes from a value to the side to move at the root the contempt that the search has put into it.
    fn shown(&self, search: &Search<'_>, value: Value) -> Value {
        search.params().wdl_rescale.undo(value, self.objectivity)
    }

    fn line(&self, search: &Search<'_>, edge: &EdgeView<'_>) -> Line {
        let value = edge.known_value().unwrap_or_else(|| {
            let value = unvisited(search);
            Value { m: value.m + 1.0, ..value }
        });
        let value = Value { m: value.m + 1.0, ..value };
        let mv = self.mv(edge);
        let known = mv.and_then(|mv| self.results.of_move(mv, edge.ending(), value));
        let value = known.unwrap_or_else(|| self.shown(search, value));
        let mate = mate(edge).or_else(|| tablebase_mate(known?.wl, moves_left(edge)));
        // The mate that the search found may be a longer one.
        let mate = mate.map(|found| mv.and_then(|mv| self.results.mate_with(mv)).unwrap_or(found));
        Line { value, mate, nodes: edge.completed().into(), pv: self.pv::<LONGEST_PV>(search, edge) }
    }

    /// At most `N` visited moves, and the move that follows them although it has no visit yet; or the way to mate, if
    /// it is known. The line ends before a move that is known to change the result.
    fn pv<const N: usize>(&self, search: &Search<'_>, first: &EdgeView<'_>) -> Vec<cozy_chess::Move> {
        let mut visited = FixedVec::<Move, N>::new();
        let next = search.pv(first, visited.as_mut_view());
        let visited: Vec<_> = visited.iter().map(|mv| unpack(mv.0)).collect();
        let is_new = visited.is_empty();
        let (line, next) = if is_new { (self.mv(first).into_iter().collect(), None) } else { (visited, next) };
        let searched = line.len();
        let mut board = self.board.clone();
        line.iter().for_each(|&mv| board.play_unchecked(mv));
        let next = next.and_then(|index| nth_legal_move(&board, index));
        let line: Vec<_> = line.into_iter().chain(next).collect();
        self.results.shown(&self.board, &line, searched)
    }

    /// What is reported at the end of the search.
    pub fn done(&self, search: &Search<'_>) -> Done {
        let Some(best) = search.edge_to_play(self.ply) else {
            return Done::default();
        };
        Done {
            best: self.mv(&best),
            ponder: self.pv::<2>(search, &best).get(1).copied(),
            stats: self.stats(search),
            ..Done::default()
        }
    }

    fn stats(&self, search: &Search<'_>) -> Vec<MoveStats> {
        let Some(root) = search.root() else { return Vec::new() };
        let params = search.params();
        let exploration = puct::exploration(params.root_cpuct(), root.n());
        let moves_left = puct::MovesLeftUtility::of(params.moves_left, root.value());
        let root_q = root.value().q(params.draw_score);
        let fpu = puct::fpu(params.root_fpu(), root_q, root.visited_policy());
        let mut all: Vec<(f32, MoveStats)> = root
            .edges()
            .map(|edge| {
                let q = edge.q(params.draw_score).unwrap_or(fpu);
                let u = puct::u(edge.p(), exploration, edge.n());
                let length = edge.m().and_then(|m| moves_left.map(|utility| utility.of_child(q, m))).unwrap_or(0.0);
                let mv = self.mv(&edge);
                let value = edge.value().map(|value| self.shown(search, value));
                let stats = MoveStats {
                    mv,
                    index: mv.map_or(0, |mv| policy::index(mv, self.board.side_to_move(), Transform::NONE).into()),
                    n: edge.completed(),
                    in_flight: edge.n() - edge.completed(),
                    p: edge.p(),
                    value,
                    q: value.map_or(fpu, |value| value.q(params.draw_score)),
                    u: Some(u),
                    s: Some(q + u + length),
                    v: match edge.ending() {
                        Some(_) => edge.q(params.draw_score),
                        None => own_value(&edge).map(|value| params.wdl_rescale.original(value).wl),
                    },
                    ending: edge.ending(),
                    bounds: edge.bounds(),
                };
                (q + u, stats)
            })
            .collect();
        all.sort_by(|(a_score, a), (b_score, b)| a.n.cmp(&b.n).then_with(|| a_score.total_cmp(b_score)));
        let mut all: Vec<MoveStats> = all.into_iter().map(|(_, stats)| stats).collect();
        let shown = self.shown(search, root.value());
        all.push(MoveStats {
            mv: None,
            index: root.edge_count(),
            n: root.n(),
            in_flight: root.in_flight(),
            p: root.visited_policy(),
            value: Some(shown),
            q: shown.q(params.draw_score),
            u: None,
            s: None,
            v: root.own_value().map(|value| params.wdl_rescale.original(value).wl),
            ending: root.ending(),
            bounds: root.bounds(),
        });
        all
    }
}

/// The value that a move without a visit is taken to have, seen from the root. As in Lc0, that is the root's value. But
/// a root that is proven to be won has its value from another move, even if it was the network that said that it is
/// won: then it is the mean value of the moves whose results are open, and even if there is none.
fn unvisited(search: &Search<'_>) -> Value {
    let Some(root) = search.root() else { return Value::EVEN };
    if search.proven().lower != Bound::Win {
        return root.value();
    }
    let open = root.visited().filter(|edge| !edge.bounds().closed());
    let valued = open.filter_map(|edge| Some((edge.completed() as f32, edge.value()?)));
    let add = |(n, wl, d): (f32, f32, f32), (visits, value): (f32, Value)| {
        (n + visits, wl + visits * value.wl, d + visits * value.d)
    };
    let (n, wl, d) = valued.fold((0.0, 0.0, 0.0), add);
    let mean = if n > 0.0 { Value { wl: wl / n, d: d / n, ..Value::EVEN } } else { Value::EVEN };
    Value { m: root.value().m, ..mean }
}

/// The deepest playout of this move; that of a search which has done none looked at the root.
fn deepest(counts: &Counts) -> u32 {
    (counts.depth_max as u32).max(1)
}

/// Moves until mate with this edge, negative if the side to move is mated.
pub fn mate(edge: &EdgeView<'_>) -> Option<i32> {
    let ending = edge.ending().filter(|_| edge.completed() > 0)?;
    let sign = match edge.bounds() {
        Bounds { lower: Bound::Win, .. } => 1,
        Bounds { upper: Bound::Loss, .. } => -1,
        _ => return None,
    };
    let beyond = if ending == Ending::Tablebase { TABLEBASE_MATE } else { 1.0 };
    Some(sign * moves_to_mate(moves_left(edge), beyond))
}

/// Plies that are left after the move.
fn moves_left(edge: &EdgeView<'_>) -> Option<f32> {
    edge.known_value().map(|value| value.m)
}

/// Moves until mate if a table knows the edge's result; `None` if that is a draw.
fn tablebase_mate(wl: f32, m: Option<f32>) -> Option<i32> {
    (wl != 0.0).then(|| wl.signum() as i32 * moves_to_mate(m, TABLEBASE_MATE))
}

fn moves_to_mate(m: Option<f32>, beyond: f32) -> i32 {
    (m.unwrap_or(0.0).round() / 2.0 + beyond) as i32
}

/// The network's own value of the child, for the side that makes the move. If the child was folded, it is known only
/// while there is no other visit.
fn own_value(edge: &EdgeView<'_>) -> Option<Value> {
    let of_child = edge.child().and_then(|child| child.own_value()).map(|value| Value { wl: -value.wl, ..value });
    of_child.or_else(|| edge.value().filter(|_| edge.completed() == 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::searcher::tests::searched;

    const COUNTS: Counts = Counts { playouts: 500, evaluations: 400, depth_sum: 1700, depth_max: 9, ..Counts::ZERO };

    #[test]
    fn speed_is_what_was_done_from_the_first_answers_to_the_last() {
        searched(50, &[], |snapshot, search| {
            let first = Instant::now();
            assert_eq!((snapshot.info(search, &COUNTS).nps, snapshot.info(search, &COUNTS).eps), (500_000, 400_000));
            snapshot.batches = Some((first, first + Duration::from_millis(2000)));
            let info = snapshot.info(search, &COUNTS);
            assert_eq!((info.nps, info.eps, info.depth, info.seldepth), (250, 200, 3, 9));
        });
    }

    #[test]
    fn an_observer_hears_what_is_new_and_that_the_search_lives() {
        searched(50, &[], |snapshot, search| {
            let hears = |snapshot: &mut Snapshot, counts: &Counts| snapshot.after_batch(search, counts).is_some();
            assert!(!hears(snapshot, &Counts::ZERO), "nothing is done");
            assert!(hears(snapshot, &COUNTS));
            assert!(!hears(snapshot, &COUNTS), "nothing is new");
            assert!(hears(snapshot, &Counts { depth_max: 10, ..COUNTS }));
            assert!(hears(snapshot, &Counts { depth_max: 10, depth_sum: 2500, ..COUNTS }));
            let at = snapshot.last.as_ref().unwrap().at;
            let Some(long_ago) = at.checked_sub(2 * LONGEST_SILENCE) else { return }; // the machine has just been started
            snapshot.last.as_mut().unwrap().at = long_ago;
            assert!(
                hears(snapshot, &Counts { depth_max: 10, depth_sum: 2500, ..COUNTS }),
                "it has been silent for long"
            );
        });
    }

    #[test]
    fn what_is_said_of_moves_adds_up() {
        searched(60, &["e2e4"], |snapshot, search| {
            let stats = snapshot.stats(search);
            let (root, moves) = stats.split_last().unwrap();
            assert_eq!((root.n, root.index, root.mv, root.in_flight), (60, 20, None, 0));
            assert_eq!(moves.iter().map(|mv| mv.n).sum::<u32>() + 1, root.n);
            assert!(moves.is_sorted_by_key(|mv| mv.n) && moves.iter().any(|mv| mv.n == 0));
            assert!(moves.iter().all(|mv| mv.in_flight == 0));
            let visited = moves.iter().filter(|mv| mv.n > 0).map(|mv| mv.p).sum::<f32>();
            assert!((visited - root.p).abs() < 1e-5 && visited < 1.0, "{visited}");
            for mv in moves {
                let (u, s) = (mv.u.unwrap(), mv.s.unwrap());
                // What is left is the utility of the game's length, which is small.
                assert!((s - mv.q - u).abs() < 0.1 && u > 0.0, "{mv:?}");
                // After one visit, the network's value is all that is known of a move.
                let own = mv.v.zip(mv.value);
                assert!(mv.n != 1 || own.is_some_and(|(v, value)| (v - value.wl).abs() < 1e-6), "{mv:?}");
            }
        });
    }

    /// Lc0 counts them likewise: it takes a move without a visit to be one ply further off.
    #[test]
    fn moves_left_count_from_the_root() {
        searched(20, &[], |snapshot, search| {
            let root = search.root().unwrap();
            for edge in root.edges() {
                let line = snapshot.line(search, &edge);
                let m = edge.value().map_or(root.value().m + 2.0, |value| value.m + 1.0);
                assert!((line.value.m - m).abs() < 1e-4, "{line:?}");
                assert_eq!(line.nodes, u64::from(edge.completed()));
            }
        });
    }

    #[test]
    fn mates_are_told_in_moves() {
        assert_eq!([0.0, 1.0, 2.0, 4.0].map(|m| moves_to_mate(Some(m), 1.0)), [1, 1, 2, 3]);
        assert_eq!(moves_to_mate(None, TABLEBASE_MATE), 101);
        assert_eq!([1.0, -1.0, 0.0].map(|wl| tablebase_mate(wl, Some(6.0))), [Some(104), Some(-104), None]);
    }
}
