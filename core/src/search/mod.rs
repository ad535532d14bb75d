//! PUCT over a node repository: gather and backprop, one file for each idea.
//!
//! A playout is three steps. [`Search::gather`] walks from the root to a leaf; whoever runs the search finds out what
//! the leaf is worth; [`Search::answer`] (or [`Search::backprop`], where the value was known already) brings that to
//! the root. Many events can be gathered before the first answer comes back. [`Search::run`] does all three in a loop.

mod backprop;
mod choice;
mod event;
mod gather;
mod params;
pub mod puct;
mod reuse;
#[cfg(test)]
mod tests;

pub use backprop::Refused;
pub use event::{Event, MAX_PLIES, Step};
pub use gather::Gathered;
pub use params::{Cpuct, Fpu, MovesLeft, Params};

use crate::evaluate::{Evaluator, Move, MoveLogit};
use crate::stats::Counts;
use crate::tree::{NodeId, NodeView, Tree};
use heapless::Vec;

/// Most root moves that can be ranked or named for a restricted search: Go on a 19×19 board has 362.
pub const MAX_ROOT_MOVES: usize = 362;

/// Most visits of a root; a search ends there, short of what 32 bits hold. Lc0 has the same limit.
pub const MAX_VISITS: u32 = 4_000_000_000;

/// A search: a tree, its root, and the rules by which playouts walk it.
pub struct Search<'m> {
    tree: Tree<'m>,
    params: Params,
    root: Option<NodeId>,
    /// Moves that may be searched at the root; empty for all.
    root_filter: Vec<Move, MAX_ROOT_MOVES>,
    remaining_playouts: Option<u32>,
    counts: Counts,
    seldepth: u32,
    in_flight: u32,
    /// Visits that were taken back because a cycle was opened.
    taken_back: u32,
    epoch: u32,
    /// Slot at which recycling goes on.
    clock_hand: u32,
}

/// Why [`Search::run`] ended before its last playout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunError<E> {
    /// The evaluator failed.
    Evaluator(E),
    /// The answer was refused.
    Refused(Refused),
    /// There is no room for another leaf (a node, and blocks for [`Params::max_edges`] edges), and nothing but the
    /// principal variation to fold.
    Full,
}

impl<'m> Search<'m> {
    /// A search without a node in `tree`.
    pub fn new(mut tree: Tree<'m>, params: Params) -> Self {
        tree.clear();
        Self {
            tree,
            params,
            root: None,
            root_filter: Vec::new(),
            remaining_playouts: None,
            counts: Counts::default(),
            seldepth: 0,
            in_flight: 0,
            taken_back: 0,
            epoch: 0,
            clock_hand: 0,
        }
    }

    /// Forgets the tree. Events in flight will be refused as stale.
    pub fn clear(&mut self) {
        self.tree.clear();
        self.root = None;
        self.in_flight = 0;
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Begins to count anew, for the next move of the game.
    pub fn start_move(&mut self) {
        self.counts = Counts::default();
        self.seldepth = 0;
        self.taken_back = 0;
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Changes the parameters. Another policy temperature counts for new nodes only.
    ///
    /// The draw score is that of the side to move at the root: whoever advances the root by one ply flips it. The Q
    /// that edges keep contain it, so [`Search::clear`] the tree when a draw is worth something else to the same side.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    /// Restricts the search to some root moves (UCI's `searchmoves`); none named means all. Moves beyond
    /// [`MAX_ROOT_MOVES`] are not taken.
    pub fn set_root_moves(&mut self, moves: impl IntoIterator<Item = Move>) {
        self.root_filter.clear();
        self.root_filter.extend(moves.into_iter().take(MAX_ROOT_MOVES));
    }

    /// How many more playouts are expected at most: root moves that can't become the best one in so many are left out.
    /// `None` searches all (smart pruning off).
    pub fn set_remaining_playouts(&mut self, remaining: Option<u32>) {
        self.remaining_playouts = remaining;
    }

    /// The root, once a playout has begun.
    pub fn root(&self) -> Option<NodeView<'_>> {
        self.root.map(|id| NodeView::new(&self.tree, id))
    }

    /// Completed visits of the root, those of earlier moves included.
    pub fn nodes(&self) -> u32 {
        self.root.map_or(0, |root| self.tree.n(root))
    }

    /// The repository.
    pub fn tree(&self) -> &Tree<'m> {
        &self.tree
    }

    /// What happened since [`Search::start_move`].
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The largest depth of a playout since [`Search::start_move`], the root counted as 1.
    pub fn seldepth(&self) -> u32 {
        self.seldepth
    }

    /// Playouts between gathering and backprop.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Visits of earlier moves that were taken back since [`Search::start_move`]: a draw by repetition that is none
    /// any more.
    pub fn taken_back(&self) -> u32 {
        self.taken_back
    }

    fn is_root_move(&self, mv: Move) -> bool {
        self.root_filter.is_empty() || self.root_filter.contains(&mv)
    }

    fn root_best_n(&self) -> u32 {
        let visits = self.root.into_iter().flat_map(|root| self.tree.edges(root).zip(self.tree.visits(root)));
        visits.filter(|((mv, _), _)| self.is_root_move(*mv)).map(|(_, (_, visit))| visit.n).max().unwrap_or(0)
    }

    /// The draw score of the side to move `plies` below the root.
    fn draw_score_at(&self, plies: usize) -> f32 {
        if plies.is_multiple_of(2) { self.params.draw_score } else { -self.params.draw_score }
    }

    /// Does `playouts` playouts, one after the other, on one stack; fewer where the game has ended at the root. Nothing
    /// else may be in flight. `EDGES` is the most legal moves of a position, `PLIES` the longest path. When the memory
    /// is full, the least visited subtrees are folded and the search goes on.
    ///
    /// `EDGES` must not be less than the most legal moves that the evaluator may push; it also lowers
    /// [`Params::max_edges`]. A root that is proven is searched
    /// on all the same. For a limit in time call this in small portions, and ask [`stop::Limits`](crate::stop::Limits)
    /// in between.
    pub fn run<E: Evaluator, const EDGES: usize, const PLIES: usize>(
        &mut self,
        evaluator: &mut E,
        playouts: u64,
    ) -> Result<(), RunError<E::Error>> {
        let mut event = Event::<PLIES>::new();
        let mut policy = Vec::<MoveLogit, EDGES>::new();
        self.params.max_edges = self.params.max_edges.min(EDGES);
        let end = self.counts.playouts.saturating_add(playouts);
        while self.counts.playouts < end {
            match self.gather(&mut event) {
                Gathered::Leaf => {
                    policy.clear();
                    let answer = evaluator.evaluate(event.moves(), policy.as_mut_view()).map_err(|error| {
                        self.cancel(&mut event);
                        RunError::Evaluator(error)
                    })?;
                    self.answer(&mut event, &answer, &mut policy).map_err(RunError::Refused)?;
                }
                Gathered::Known => self.backprop(&mut event).map_err(RunError::Refused)?,
                Gathered::Full if self.recycle() == 0 => return Err(RunError::Full),
                Gathered::NoMoves => break,
                Gathered::Full => {}
                Gathered::Collision => self.cancel(&mut event), // with nothing else in flight, there is none
            }
        }
        Ok(())
    }
}
