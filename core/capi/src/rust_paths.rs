//! What Rust hosts call and C hosts can't, kept for `ci/no-panic`: each function is exported and takes everything that
//! it works on from outside, so that the compiler knows no more of it than it would in a program.

use core::convert::Infallible;
use oncilla_core::Move;
use oncilla_core::evaluate::{Answer, Evaluator, Moves, Verdict};
use oncilla_core::formula::contempt::{Contempt, RescaleParams};
use oncilla_core::heapless::{Vec, VecView};
use oncilla_core::search::{EdgeView, MostMoves, MostPlies, Search};
use oncilla_core::stats::{Counts, Span, Stage, Stats, WINDOWS};
use oncilla_core::stop::{Limits, Progress, Reason, Root, RootEdge};
use oncilla_core::time::{Clock, Manager};
use oncilla_core::tree::{Tree, TreeMemory};

type TheSearch = Search<Tree<'static>>;

/// An evaluator that pushes as many moves as there is room for.
pub struct Host {
    verdict: Verdict,
    moves: u16,
}

impl Evaluator for Host {
    type Error = Infallible;

    fn legal_moves(&mut self, line: Moves<'_>, moves: &mut VecView<Move>) {
        let _ = (0..self.moves).try_for_each(|mv| moves.push(Move(mv + line.len() as u16)).map_err(drop));
    }

    fn evaluate(&mut self, line: Moves<'_>, policy: &mut VecView<f32>) -> Result<Answer, Infallible> {
        let _ = (0..self.moves).try_for_each(|mv| policy.push(f32::from(mv)).map_err(drop));
        Ok(Answer { key: line.map(|mv| u64::from(mv.0)).sum(), verdict: self.verdict })
    }
}

/// All of a search on one stack.
#[unsafe(no_mangle)]
pub fn rust_search_run(search: &mut TheSearch, host: &mut Host, playouts: u64) -> bool {
    search.run(host, MostMoves::<256>, MostPlies::<128>, playouts).is_ok()
}

/// Uses memory of a fixed capacity.
#[unsafe(no_mangle)]
pub fn rust_tree_memory_lend(memory: &'static mut TreeMemory<1000, 25_000>, search: &mut TheSearch) {
    *search = Search::new(memory.lend(), *search.params());
}

/// Ranks the root's moves (Multi-PV), and takes the line of each.
#[unsafe(no_mangle)]
pub fn rust_search_rank(search: &TheSearch, line: &mut Vec<Move, 64>) -> u32 {
    let mut ranked = Vec::<EdgeView<'_, Tree<'static>>, 8>::new();
    search.rank_root(ranked.as_mut_view());
    ranked.iter().map(|edge| (search.pv(edge, line.as_mut_view()), edge.n()).1).sum()
}

/// The move to play, by the list of legal moves.
#[unsafe(no_mangle)]
pub fn rust_search_move_to_play(search: &TheSearch, ply: u32, legal: &Vec<Move, 64>) -> Option<Move> {
    search.move_to_play(ply, |index| legal.get(index).copied().unwrap_or_default())
}

/// Asks all that can be asked of a node.
#[unsafe(no_mangle)]
pub fn rust_search_look(search: &TheSearch, draw_score: f32) -> f32 {
    let Some(root) = search.root() else { return 0.0 };
    let edges = root.edges().filter_map(|edge| Some(edge.q(draw_score)? + edge.m()? + edge.child()?.value().m));
    let proven = f32::from(u8::from(search.proven().closed()));
    edges.sum::<f32>() + root.visited_policy() + root.in_flight() as f32 + proven
}

/// Asks every limit.
#[unsafe(no_mangle)]
pub fn rust_limits_check(limits: &mut Limits, progress: &Progress<'_>, manager: &Manager) -> Option<Reason> {
    limits.check(progress, manager.nps()).stop
}

/// Asks every limit, with what a search reports about itself.
#[unsafe(no_mangle)]
pub fn rust_limits_check_search(limits: &mut Limits, search: &TheSearch, counts: &Counts, ms: f64) -> Option<Reason> {
    limits.check(&Progress::of(search, counts, ms), None).stop
}

/// Summarises the root's edges for the limits.
#[unsafe(no_mangle)]
pub fn rust_root_of(edges: &Vec<RootEdge, 362>) -> Root {
    Root::of(edges.iter().copied())
}

/// Statistics of a game.
#[unsafe(no_mangle)]
pub fn rust_stats(stats: &mut Stats, counts: &mut Counts, ms: u64, n: usize, stage: Stage) -> [Span; WINDOWS] {
    counts.add_playout(ms);
    counts.add_batch(n);
    counts.add_wait(stage, ms);
    stats.start_move(ms);
    stats.record(ms, counts);
    counts.add_playout(stats.recent(ms, ms).counts.playouts + stats.game(ms).ms + stats.current_move(ms).ms);
    stats.windows(ms)
}

/// Contempt.
#[unsafe(no_mangle)]
pub fn rust_contempt(params: &RescaleParams, contempt: &mut Contempt, elo: f64, white: bool) -> f64 {
    contempt.rescale = params.rescale(elo);
    contempt.at_root(white, !white).ratio
}

/// Takes the numbers that a time manager reports.
#[unsafe(no_mangle)]
pub fn rust_time_numbers(manager: &mut Manager, clock: &Clock, nodes: u64) -> f64 {
    let budget = manager.on_move_start(clock, nodes);
    let learnt = manager.learnt().iter().map(|(_, number)| number).sum::<f64>();
    budget.numbers.get("deadline_ms").unwrap_or(0.0) + learnt
}
