//! What a search reports: numbers, not text.

use super::Search;
use super::tables::RootResults;
use cozy_chess::Move;
use oncilla_core::evaluate::{Ending, Value};
use oncilla_core::repository::Bounds;
use oncilla_core::stats::Span;

/// Gets the reports of a search. Its methods are called from the search's own thread, in order.
pub trait Observer: Send {
    /// Gets how the search stands; also called last, right before [`Observer::done`].
    fn info(&mut self, info: &Info);
    /// Called when the search has ended.
    fn done(&mut self, done: &Done);
    /// Gets something that a person should know, in one line.
    fn note(&mut self, text: &str);
    /// Gets what tablebases say of the root's moves, before the search begins.
    fn results(&mut self, _results: &RootResults) {}
    /// Gets the tree itself, for an observer that needs more than an [`Info`]: after every batch, while the search may
    /// go on, and once at the end, right before the last [`Observer::info`].
    fn look(&mut self, _search: &Search<'_>, _is_last: bool) {}
}

/// How a search stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// The mean depth of this move's playouts; the root counts as 1.
    pub depth: u32,
    /// The largest depth of this move's playouts; the root counts as 1.
    pub seldepth: u32,
    /// Milliseconds since the search began.
    pub time_ms: u64,
    /// Visits of the root, those of earlier moves included.
    pub nodes: u64,
    /// Playouts of this move.
    pub playouts: u64,
    /// Playouts each second since the first batch came back; before the second batch, those of the first one as if in a
    /// millisecond.
    pub nps: u64,
    /// Evaluations each second, likewise.
    pub eps: u64,
    /// How full the tree's memory is, per mille.
    pub hashfull: u32,
    /// Nodes in the tree's memory.
    pub tree_nodes: u64,
    /// Bytes of the tree's memory that hold something.
    pub tree_bytes: u64,
    /// Tablebase hits.
    pub tbhits: u64,
    /// Whether the network estimates moves left.
    pub has_moves_left: bool,
    /// Whether the network distinguishes draws from losses.
    pub has_wdl: bool,
    /// The best lines, best first.
    pub lines: Vec<Line>,
    /// Like [`Done::stats`], if `LogLiveStats` is on; else empty.
    pub stats: Vec<MoveStats>,
}

/// A line of play and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The value to the side to move at the root, with moves left in plies from the root; before the first move's first
    /// visit those are what Lc0 says.
    pub value: Value,
    /// Moves until mate, negative if the side to move is mated; the numbers of tablebase results begin at 101.
    pub mate: Option<i32>,
    /// Visits of the first move.
    pub nodes: u64,
    /// The moves, with castling as king takes rook; the last one may be a move without a visit.
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
    /// The prior; for the root the sum of the priors of the visited moves.
    pub p: f32,
    /// The mean value to the side to move at the root, once there is a visit; without contempt as far as
    /// `WDLEvalObjectivity` says.
    pub value: Option<Value>,
    /// Q of `value` with the draw score; before the first visit, the FPU.
    pub q: f32,
    /// The exploration term; `None` for the root.
    pub u: Option<f32>,
    /// Q + U + moves-left utility, as the search sees them: with contempt. `None` for the root.
    pub s: Option<f32>,
    /// The network's own value, if it is still known, or the value of a result, with the draw score.
    pub v: Option<f32>,
    /// How the game ends after this move, if it ends there.
    pub ending: Option<Ending>,
    /// What is proven, for the side to move at the root.
    pub bounds: Bounds,
}

/// What a search did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Totals of all searches of the game.
    pub game: Span,
    /// Totals of this search.
    pub current_move: Span,
    /// The last moments of this search, the shortest window first.
    pub windows: Vec<Span>,
    /// How many playouts may be in flight, if that follows from what was measured.
    pub in_flight: Option<usize>,
}

/// The results at the end of a search.
#[derive(Default, Clone, Debug, PartialEq)]
pub struct Done {
    /// The move to play; `None` if the game has ended.
    pub best: Option<Move>,
    /// The reply that is expected.
    pub ponder: Option<Move>,
    /// All root moves by rising N, then by rising Q + U, and the root last.
    pub stats: Vec<MoveStats>,
    /// What the search did.
    pub statistics: Statistics,
    /// Why the search ended before its limit, if something has failed; it was given as a note, too.
    pub fault: Option<String>,
}
