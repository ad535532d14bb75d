//! PUCT over a node repository: gather and backprop, one file for each idea.
//!
//! A playout is three steps. [`Search::gather`] walks from the root to a leaf; the host finds out what the leaf is
//! worth; [`Search::answer`] (or [`Search::bring_back`], if the value was known already) brings that to the root. Many
//! events can be gathered before the first answer comes back, and [`Search::bring_back`] takes many at once. These take
//! the search by `&`: any number of threads may call them at the same time. What changes the tree as a whole
//! ([`Search::recycle`], [`Search::advance`], [`Search::clear`]) takes it by `&mut`, so that no other thread is in it;
//! events may be in flight meanwhile. [`Search::run`] does everything in a loop on one stack.
//! [`Search::gather_aside`] and [`Search::bring_back_aside`] are for playouts that the root does not count.
//!
//! An [`Event`] is a playout in flight. It holds the path from the root, because nodes have no link to their parents.
//!
//! A node's sums are its own evaluation plus, for each edge, the edge's completed visits times the value stored in the
//! edge. This holds in a tree and in a graph. When a playout takes an edge whose child was visited on other paths, the
//! edge is updated with the child's value. To choose an edge, gathering reads a node and its array, never the children.
//!
//! A thread may lock a child while it holds the parent, never the other way round. A gathering thread holds a node only
//! while it chooses an edge there. It reaches a child through the locked parent, because a leaf may turn out to be the
//! position of another node, or to have no room. Once a visit of an evaluated child has come back, the edge marks the
//! child as *firm*, and the parent need not be locked any more.

mod backprop;
mod choice;
mod event;
mod gather;
mod params;
mod prove;
pub mod puct;
mod recycle;
mod renew;
mod reuse;
mod root;
mod select;
mod settle;
#[cfg(all(test, not(loom)))]
mod tests;
mod view;
mod worth;

pub(crate) use event::Step;
pub use event::{Event, MAX_PLIES};
pub use gather::Gathered;
pub use params::{CatchUp, Cpuct, Deviation, Explored, Fpu, MovesLeft, Params};
pub use settle::Refused;
pub use view::{Contents, EdgeView, NodeView};

use crate::evaluate::{Answer, Evaluator, Move};
use crate::repository::{Bounds, Key, Node, Repository};
use crate::stats::Counts;
use crate::sync::{AtomicU32, get, set, unique};
use core::error::Error;
use core::fmt;
use heapless::Vec;
use root::RootMoves;

/// Most root moves that can be ranked or named for a restricted search: Go on a 19×19 board has 362.
pub const MAX_ROOT_MOVES: usize = 362;

/// Most visits of a root; a search ends there, just below what 32 bits can hold. Lc0 has the same limit.
pub const MAX_VISITS: u32 = 4_000_000_000;

/// A mean of fewer playouts than this says little of a tree that has visits from earlier moves.
const LEAST_PLAYOUTS: u64 = 100;

/// Stands for no limit to the playouts that are expected.
const UNLIMITED: u32 = u32::MAX;

/// For [`Search::run`]: `N` is at least the largest number of legal moves of a position. (It is a type, so that it can't
/// be confused with [`MostPlies`].)
///
/// The lists that an [`Evaluator`] pushes to have room for `N` elements. The search can't tell a list that is full from
/// one that was cut off: where an evaluator drops what does not fit (`let _ = moves.push(mv)`), those moves are never
/// searched, and nobody is told. `extend` panics instead, with heapless's message about a capacity. An evaluator that
/// does not know its game's largest number of moves returns an error of its own from [`Evaluator::evaluate`], which is
/// asked about a position before [`Evaluator::legal_moves`] is: see there.
///
/// ```compile_fail,E0308
/// # use oncilla_core::Evaluator;
/// use oncilla_core::search::{MostMoves, MostPlies, Search};
/// use oncilla_core::tree::Tree;
///
/// fn swapped<E: Evaluator>(search: &mut Search<Tree<'_>>, evaluator: &mut E) {
///     let _ = search.run(evaluator, MostPlies::<32>, MostMoves::<9>, 100);
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MostMoves<const N: usize>;

/// For [`Search::run`]: the length of the longest path from the root, in plies: a playout that gets so deep ends there.
/// `N` is at least 1.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MostPlies<const N: usize>;

/// A search: a repository of nodes, its root, and the rules by which playouts walk it.
pub struct Search<R> {
    repository: R,
    params: Params,
    /// [`Params::counts_alike`], which is asked at every node.
    counts_alike: bool,
    root: Option<Key>,
    root_moves: RootMoves,
    remaining_playouts: AtomicU32,
    /// Visits that were taken back because a cycle was opened.
    taken_back: AtomicU32,
    /// Playouts that made up for visits below a node that was folded.
    restored: AtomicU32,
    /// How many playouts may do that.
    restorable: u32,
    /// Visits of the root when the move began.
    visits_before: u32,
    /// Not 0 once there was no room for a leaf's edges.
    short_of_room: AtomicU32,
    epoch: u32,
    /// The cursor from which recycling goes on.
    clock_hand: u64,
    counts: Counts,
}

impl<R: Repository> fmt::Debug for Search<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search")
            .field("visits", &self.visits())
            .field("live_nodes", &self.repository.live_nodes())
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

#[cfg(feature = "defmt")]
impl<R: Repository> defmt::Format for Search<R> {
    fn format(&self, f: defmt::Formatter<'_>) {
        let (visits, live_nodes) = (self.visits(), self.live_nodes());
        defmt::write!(f, "Search {{ visits: {}, live_nodes: {}, params: {}, .. }}", visits, live_nodes, self.params);
    }
}

/// Why [`Search::run`] ended before its last playout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RunError<E> {
    /// The evaluator failed.
    Evaluator(E),
    /// The search refused the evaluator's answer.
    Refused(Refused),
    /// The evaluator listed this many legal moves of a position, but gave another number of logits. In a graph it may
    /// also be that two positions have equal keys and are not equal ([`Answer::key`](crate::evaluate::Answer::key)).
    ListsDiffer {
        /// Moves that [`Evaluator::legal_moves`] pushed.
        moves: usize,
        /// Logits that [`Evaluator::evaluate`] pushed.
        logits: usize,
    },
    /// There is no room for another leaf, and nothing left to fold.
    Full,
    /// The playout met the leaf of an event that is in flight. No playout gets past it before that event is brought
    /// back or cancelled; if the event is lost, [`Search::clear`] helps.
    InFlight,
}

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evaluator(error) => write!(f, "the evaluator failed: {error}"),
            Self::Refused(refused) => write!(f, "the evaluator's answer was refused: {refused}"),
            Self::ListsDiffer { moves, logits } => {
                write!(
                    f,
                    "the evaluator listed {moves} moves and gave {logits} logits for the same position, \
                     or for two with equal keys that are not equal"
                )
            }
            Self::Full => f.write_str("the memory is full, and there is nothing to fold"),
            Self::InFlight => f.write_str("the playout met the leaf of an event that is in flight"),
        }
    }
}

/// The evaluator's own error is part of the message, so it is not given as a source. It may be a text, or another type
/// that is no [`Error`]: who wants more of it finds it in [`RunError::Evaluator`].
impl<E: fmt::Debug + fmt::Display> Error for RunError<E> {}

impl<R: Repository> Search<R> {
    /// A search without a visit in `repository`; nodes that the repository holds are forgotten.
    pub fn new(repository: R, params: Params) -> Self {
        let mut search = Self {
            repository,
            params,
            counts_alike: params.counts_alike(),
            root: None,
            root_moves: RootMoves::all(),
            remaining_playouts: AtomicU32::new(UNLIMITED),
            taken_back: AtomicU32::new(0),
            restored: AtomicU32::new(0),
            restorable: 0,
            visits_before: 0,
            short_of_room: AtomicU32::new(0),
            epoch: 0,
            clock_hand: 0,
            counts: Counts::default(),
        };
        search.clear();
        search
    }

    /// Forgets the tree. Events in flight will be refused as stale. Every root move may be searched again. The next root
    /// is whatever position the [`Evaluator`] says is there after no move: for another game, give it that game's.
    pub fn clear(&mut self) {
        self.repository.clear();
        self.root = self.repository.create(None);
        self.start_epoch();
        self.clock_hand = 0;
        set(&self.short_of_room, 0);
        self.lift_restrictions();
        self.start_restoring();
    }

    /// Makes stale what was gathered before: it belongs to another tree. No two searches have an epoch in common, so an
    /// event that strays into another search is as stale as one that is late.
    fn start_epoch(&mut self) {
        self.epoch = unique();
    }

    /// Forgets what was said of the old root's moves: it does not hold for those of another root.
    fn lift_restrictions(&mut self) {
        self.root_moves = RootMoves::all();
        self.set_remaining_playouts(None);
    }

    /// Resets the counts ([`Search::run_counts`]) and what [`Search::restored`] says, for the next move of the game.
    pub fn start_move(&mut self) {
        self.counts = Counts::default();
        set(&self.taken_back, 0);
        self.start_restoring();
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Changes the parameters. A new policy temperature affects new nodes only. Pass numbers from outside to
    /// [`Params::check`] first.
    ///
    /// Draw score and `wdl_rescale` are those of the side to move at the root: a host that advances the root by one ply
    /// changes the sign of the draw score and takes the rescale
    /// [`from_the_other_side`](crate::formula::contempt::Rescale::from_the_other_side).
    pub fn set_params(&mut self, params: Params) {
        self.counts_alike = params.counts_alike();
        self.params = params;
    }

    /// Restricts the search to some root moves (UCI's `searchmoves`), each given with its index among the legal ones,
    /// until the root changes ([`Search::advance`], [`Search::clear`]); an empty list means all moves. Moves beyond the
    /// first [`MAX_ROOT_MOVES`] are ignored, and so not searched. An index that the root does not have allows no move:
    /// if all are such, none may be searched.
    pub fn set_root_moves(&mut self, moves: impl IntoIterator<Item = (usize, Move)>) {
        self.root_moves = RootMoves::named(moves);
    }

    /// Says how many more playouts are expected at most, until the root changes: root moves that can't become the best
    /// one in that many are left out. `None` searches all moves (smart pruning off).
    pub fn set_remaining_playouts(&self, remaining: Option<u32>) {
        set(&self.remaining_playouts, remaining.unwrap_or(UNLIMITED));
    }

    fn remaining_playouts(&self) -> Option<u32> {
        Some(get(&self.remaining_playouts)).filter(|remaining| *remaining != UNLIMITED)
    }

    /// The root; `None` only if the memory has no room for a single node.
    pub fn root(&self) -> Option<NodeView<'_, R>> {
        self.root.map(|key| NodeView::new(&self.repository, key))
    }

    /// What is proven of the root's position, from its side to move, by all its moves together. The root's own
    /// [`bounds`](NodeView::bounds) say that only if the game has ended: while it goes on, the root is never settled,
    /// so that a proven position is searched on and there is a move to play (as in Lc0's `StickyEndgames`).
    #[must_use]
    pub fn proven(&self) -> Bounds {
        let Some(root) = self.root else { return Bounds::OPEN };
        let node = self.repository.lock(root);
        let by_moves = node.is_expanded() && node.ending().is_none();
        // The root may know more than its moves: one of its bounds may have been proven before it was the root, by a
        // child that was folded since.
        if by_moves { node.bounds().both(self.children(&node).bounds) } else { node.bounds() }
    }

    /// Completed visits of the root, including those from earlier moves of the game: what UCI and Lc0 call nodes. The
    /// number of nodes in memory is [`Search::live_nodes`].
    pub fn visits(&self) -> u32 {
        self.root.map_or(0, |root| self.repository.lock(root).n())
    }

    /// Nodes that the repository holds: fewer than the visits, if nodes are visited again or were folded.
    pub fn live_nodes(&self) -> usize {
        self.repository.live_nodes()
    }

    /// The repository, to be inspected: how full it is, whether it has a position. It can't be changed that way, because
    /// its trait's methods that take it by `&` are for the search only: a node that another hand made or took away
    /// would break the tree.
    pub fn repository(&self) -> Contents<'_, R> {
        Contents::new(&self.repository)
    }

    /// Counts of what [`Search::run`] did since [`Search::start_move`]. It does not see the playouts that a host
    /// gathers as events: of these the host keeps [`Counts`] of its own.
    pub fn run_counts(&self) -> Counts {
        self.counts
    }

    /// Mean depth in whole plies, the root counted as 1, of the playouts that `counts` has of this move. In a tree that
    /// has visits from earlier moves of the game the first playouts go deeper or less deep by chance: there the mean is
    /// that of at least a hundred playouts, and a missing one counts 0.
    pub fn mean_depth(&self, counts: &Counts) -> u32 {
        let least = if self.visits_before > 0 { LEAST_PLAYOUTS } else { 1 };
        (counts.depth_sum / counts.playouts.max(least)) as u32
    }

    /// Visits from earlier moves of the game that were taken back since [`Search::start_move`], because a draw by
    /// repetition no longer was one.
    pub fn taken_back(&self) -> u32 {
        get(&self.taken_back)
    }

    fn count_taken_back(&self, n: u32) {
        self.taken_back.fetch_add(n, core::sync::atomic::Ordering::Relaxed);
    }

    /// Playouts since [`Search::start_move`] or [`Search::advance`] that did not count as visits of the root: they made
    /// up for visits below a node that was folded, which are counted already.
    pub fn restored(&self) -> u32 {
        get(&self.restored)
    }

    fn count_restored(&self, n: u32) {
        self.restored.fetch_add(n, core::sync::atomic::Ordering::Relaxed);
    }

    /// True if visits of this tree are in flight along the event's path: it waits for [`Search::bring_back`] or
    /// [`Search::cancel`].
    pub fn is_in_flight<const PLIES: usize>(&self, event: &Event<PLIES>) -> bool {
        event.epoch == self.epoch && event.is_under_way()
    }

    /// The number of moves left, in plies, that the parent of an event's leaf expects; 0 if the leaf is the root.
    pub fn moves_left_above<const PLIES: usize>(&self, event: &Event<PLIES>) -> f32 {
        event.path.last().map_or(0.0, |step| self.repository.lock(step.node).mean().m)
    }

    /// Whether a root edge may be searched, see [`Search::set_root_moves`].
    pub fn may_play(&self, edge: &EdgeView<'_, R>) -> bool {
        self.root_moves.contain(edge.naming())
    }

    /// Does `playouts` playouts, one after the other, on one stack, and returns how many it did. It does fewer, or
    /// none, if the game has ended at the root, if no move may be searched there ([`Search::set_root_moves`]), or if
    /// the root has as many visits as can be counted. No event may be in flight: a playout that meets one is
    /// [`RunError::InFlight`]. The evaluator has room to push as many moves as [`MostMoves`] says, and has to push all
    /// of a position's; paths are as long as [`MostPlies`] says at most. When the memory is full, subtrees are folded
    /// and the search goes on; playouts that restore them count too.
    ///
    /// A root whose result is proven is still searched. For a limit in time, call this for small portions of playouts,
    /// and ask [`stop::Limits`](crate::stop::Limits) in between.
    ///
    /// # Errors
    /// Any [`RunError`]. What was done before the error stays, and the next call goes on from there; so it does if the
    /// evaluator panics, and the panic is caught.
    pub fn run<E: Evaluator + ?Sized, const EDGES: usize, const PLIES: usize>(
        &mut self,
        evaluator: &mut E,
        _: MostMoves<EDGES>,
        _: MostPlies<PLIES>,
        playouts: u64,
    ) -> Result<u64, RunError<E::Error>> {
        let mut event = Event::<PLIES>::new();
        let begun = self.counts.playouts;
        let end = begun.saturating_add(playouts);
        while self.counts.playouts < end {
            let met = self.gather(&mut event);
            let depth = event.plies() as u64 + 1;
            match met {
                Gathered::Leaf => {
                    self.ask::<E, EDGES, PLIES>(evaluator, &mut event)?;
                    self.counts.add_batch(1);
                }
                Gathered::Known => {
                    self.counts.add_known(&event);
                    self.bring_back(core::slice::from_mut(&mut event));
                }
                Gathered::Full if self.recycle() == 0 => return Err(RunError::Full),
                Gathered::Full => continue,
                Gathered::NoMoves => break,
                Gathered::Collision => {
                    // The evaluator would give the same answers: another try would end here too.
                    self.cancel(&mut event);
                    return Err(RunError::InFlight);
                }
            }
            self.counts.add_playout(depth);
        }
        Ok(self.counts.playouts - begun)
    }

    fn ask<E: Evaluator + ?Sized, const EDGES: usize, const PLIES: usize>(
        &self,
        evaluator: &mut E,
        event: &mut Event<PLIES>,
    ) -> Result<(), RunError<E::Error>> {
        let mut policy = Vec::<f32, EDGES>::new();
        let answer = self.evaluated(evaluator, event, &mut policy)?;
        self.answer(event, &answer, &mut policy).map_err(RunError::Refused)
    }

    /// What the evaluator says of an event's leaf. If it fails or panics, the playout is taken back.
    fn evaluated<E: Evaluator + ?Sized, const EDGES: usize, const PLIES: usize>(
        &self,
        evaluator: &mut E,
        event: &mut Event<PLIES>,
        policy: &mut Vec<f32, EDGES>,
    ) -> Result<Answer, RunError<E::Error>> {
        let mut asked = Asked { search: self, event, is_answered: false };
        self.name::<E, EDGES, PLIES>(evaluator, asked.event)?;
        let answer = evaluator.evaluate(asked.event.moves(), policy.as_mut_view()).map_err(RunError::Evaluator)?;
        asked.is_answered = true;
        Ok(answer)
    }

    /// Names the last move of an event, if the tree does not know it: the evaluator lists the legal moves of the leaf's
    /// parent, and must list as many as it gave logits for.
    fn name<E: Evaluator + ?Sized, const EDGES: usize, const PLIES: usize>(
        &self,
        evaluator: &mut E,
        event: &mut Event<PLIES>,
    ) -> Result<(), RunError<E::Error>> {
        let (Some(index), Some(step)) = (event.unnamed(), event.path.last()) else { return Ok(()) };
        let logits = self.repository.lock(step.node).edge_count();
        let mut moves = Vec::<Move, EDGES>::new();
        evaluator.legal_moves(event.moves(), moves.as_mut_view());
        match moves.get(index) {
            Some(&mv) if moves.len() == logits => {
                event.name(mv);
                Ok(())
            }
            _ => Err(RunError::ListsDiffer { moves: moves.len(), logits }),
        }
    }
}

/// An event whose leaf the evaluator is asked about: without an answer the playout is taken back. (The search's own work
/// with an answer is not covered. If that panics, a node may stay locked, for which taking back would wait for ever.)
struct Asked<'a, R: Repository, const PLIES: usize> {
    search: &'a Search<R>,
    event: &'a mut Event<PLIES>,
    is_answered: bool,
}

impl<R: Repository, const PLIES: usize> Drop for Asked<'_, R, PLIES> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.search.cancel(self.event);
        }
    }
}
