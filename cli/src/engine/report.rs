//! What a search says: numbers, not text.

use super::Search;
use super::tables::RootResults;
use cozy_chess::Move;
use oncilla_core::evaluate::{Ending, Value};
use oncilla_core::repository::Bounds;
use oncilla_core::stats::Span;

/// Who hears of a search. Called from the search's own thread, in order.
pub trait Observer: Send {
    /// How the search stands; also called last, right before [`Observer::done`].
    fn info(&mut self, info: &Info);
    /// The search has ended.
    fn done(&mut self, done: &Done);
    /// Something that a person should know, in one line.
    fn note(&mut self, text: &str);
    /// What tablebases say of the root's moves; before the search begins.
    fn results(&mut self, _results: &RootResults) {}
    /// The tree itself, for whoever wants more than an [`Info`]: after every batch, while the search may go on, and
    /// once at the end, right before the last [`Observer::info`].
    fn look(&mut self, _search: &Search<'_>, _is_last: bool) {}
}

/// How a search stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Mean depth of this move's playouts, the root counted as 1.
    pub depth: u32,
    /// Largest depth, likewise.
    pub seldepth: u32,
    /// Since the search began.
    pub time_ms: u64,
    /// Visits of the root, those of earlier moves included.
    pub nodes: u64,
    /// Playouts of this move.
    pub playouts: u64,
    /// Playouts each second since the first batch came back; before the second one those of the first in a millisecond.
    pub nps: u64,
    /// Evaluations each second, likewise.
    pub eps: u64,
    /// How full the tree's memory is, per mille.
    pub hashfull: u32,
    /// Nodes in the tree's memory.
    pub tree_nodes: u64,
    /// Bytes of it that hold something.
    pub tree_bytes: u64,
    /// Tablebase hits.
    pub tbhits: u64,
    /// True if the network estimates moves left.
    pub has_moves_left: bool,
    /// True if the network tells draws from losses.
    pub has_wdl: bool,
    /// The best lines, best first.
    pub lines: Vec<Line>,
    /// As [`Done::stats`], with `LogLiveStats`; empty without.
    pub stats: Vec<MoveStats>,
}

/// A line of play and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// From the side to move at the root; moves left in plies from the root, those of a move without a visit as Lc0 has
    /// them.
    pub value: Value,
    /// Moves until mate, negative if the side to move is mated; tablebase results count from 101 on.
    pub mate: Option<i32>,
    /// Visits of the first move.
    pub nodes: u64,
    /// The moves, castling as king takes rook; the last one may be a move that nobody has visited yet.
    pub pv: Vec<Move>,
}

/// What is known of a root move, or of the root itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveStats {
    /// The move; `None` for the root.
    pub mv: Option<Move>,
    /// Policy index; for the root the number of legal moves.
    pub index: usize,
    /// Completed visits.
    pub n: u32,
    /// Visits in flight.
    pub in_flight: u32,
    /// Prior; for the root the sum of the priors visited.
    pub p: f32,
    /// Mean value from the side to move at the root, after the first visit; without contempt as far as
    /// `WDLEvalObjectivity` says.
    pub value: Option<Value>,
    /// Q of `value` with the draw score; before the first visit the FPU.
    pub q: f32,
    /// Exploration term; `None` for the root.
    pub u: Option<f32>,
    /// Q + U + moves-left utility, as the search sees them: with contempt. `None` for the root.
    pub s: Option<f32>,
    /// The network's own value, where it is still known, or that of a result, with the draw score.
    pub v: Option<f32>,
    /// How the game ends there.
    pub ending: Option<Ending>,
    /// What is proven, from the side to move at the root.
    pub bounds: Bounds,
}

/// What a search did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// All searches of the game.
    pub game: Span,
    /// This one.
    pub current_move: Span,
    /// The last moments, the shortest first.
    pub windows: Vec<Span>,
    /// How many playouts may be in flight, where that follows from what was measured.
    pub in_flight: Option<usize>,
}

/// The end of a search.
#[derive(Default, Clone, Debug, PartialEq)]
pub struct Done {
    /// The move to play; `None` where the game has ended.
    pub best: Option<Move>,
    /// The reply that is expected.
    pub ponder: Option<Move>,
    /// All root moves by rising N, then rising Q + U, and the root last.
    pub stats: Vec<MoveStats>,
    /// What the search did.
    pub statistics: Statistics,
    /// Why it ended before its limit, where something has failed; it was said as a note, too.
    pub fault: Option<String>,
}
