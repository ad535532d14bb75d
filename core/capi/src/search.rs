//! A search in lent memory, and what can be asked of it.

use crate::event::PLIES;
use crate::handle::{Handle, Output, alone, input, inputs, output, outputs, padding, place, shared};
use crate::params::{OncillaParams, params_or_default};
use crate::status::{OncillaStatus, attempt};
use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use oncilla_core::Move;
use oncilla_core::heapless::Vec;
use oncilla_core::repository::Bound;
use oncilla_core::search::{EdgeView, NodeView, Search};
use oncilla_core::tree::{GraphWords, MAX_EDGES, NodeWords, Tree};

/// The most legal moves that a position may have. (Go on a 19x19 board has 362.)
pub const ONCILLA_MAX_EDGES: usize = 1023;
/// For oncilla_set_remaining_playouts: there is no limit.
pub const ONCILLA_NO_LIMIT: u32 = 0xffff_ffff;

/// Bytes that a search takes beside its nodes and edge words, at most; used by ONCILLA_SEARCH_BYTES. It takes about
/// 2,500 bytes, unless the library is part of a Rust program in which each thread has a share of the memory.
pub const ONCILLA_SEARCH_OVERHEAD: usize = 6144;

const _: () = assert!(ONCILLA_MAX_EDGES == MAX_EDGES);
const _: () = assert!(size_of::<OncillaSearch>() + padding::<OncillaSearch>() <= ONCILLA_SEARCH_OVERHEAD);

/// A search. It is in the host's memory.
#[repr(C, align(8))]
pub struct OncillaSearch {
    mark: u32,
    /// Identifies the search among those of a program, so that no event gets to another search than its own.
    pub(crate) number: u32,
    pub(crate) search: Search<Tree<'static>>,
}

// SAFETY: `repr(C)`, and the mark comes first.
unsafe impl Handle for OncillaSearch {
    const MARK: u32 = u32::from_be_bytes(*b"srch");
}

static SEARCHES: AtomicU32 = AtomicU32::new(0);

/// What a search has room for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaCapacity {
    /// How many nodes, at least 1 and at most 2^29 - 1. A node takes 20 bytes.
    pub nodes: u32,
    /// How many words of 4 bytes for the edges of all nodes, at most 2^30 - 1. A node with 30 legal moves takes 16 of
    /// them, 8 more once a child of it is visited, and about 6 for each visited child: 22 to 25 for each node are
    /// enough for chess, 15 for Connect Four.
    pub edge_words: u32,
    /// Not 0: a graph, in which a position that is reached on several paths has one node, by the keys of the answers:
    /// see OncillaAnswer.key for what they must be. It takes 20 bytes more for each node.
    pub graph: u32,
}

/// Bytes of each part of a search's memory, in the order of the parts.
struct Layout {
    before_nodes: usize,
    nodes: usize,
    words: usize,
    graph: usize,
}

impl OncillaCapacity {
    fn layout(&self) -> Result<Layout, OncillaStatus> {
        let bytes = |count: u32, size: usize| (count as usize).checked_mul(size).ok_or(OncillaStatus::OncillaBadCount);
        if self.nodes == 0 || self.nodes as usize > Tree::MAX_NODES || self.edge_words as usize > Tree::MAX_WORDS {
            return Err(OncillaStatus::OncillaBadCount);
        }
        Ok(Layout {
            before_nodes: padding::<OncillaSearch>() + size_of::<OncillaSearch>(),
            nodes: bytes(self.nodes, size_of::<NodeWords>())?,
            words: bytes(self.edge_words, size_of::<AtomicU32>())?,
            graph: if self.graph == 0 { 0 } else { bytes(self.nodes, size_of::<GraphWords>())? },
        })
    }
}

impl Layout {
    fn bytes(&self) -> Result<usize, OncillaStatus> {
        let sum = [self.nodes, self.words, self.graph].iter().try_fold(self.before_nodes, |sum, &x| sum.checked_add(x));
        sum.filter(|bytes| *bytes <= isize::MAX as usize).ok_or(OncillaStatus::OncillaBadCount)
    }
}

/// Makes an array in a search's memory, with every word 0.
///
/// # Safety
/// `first` leads to `count` objects of only [`AtomicU32`]s, aligned for them, that no other code uses from now on.
unsafe fn zeroed<T>(first: NonNull<u8>, count: u32) -> &'static [T] {
    let first = first.cast::<T>();
    let count = count as usize;
    // SAFETY: the caller says that there is room; a word of 0 is a valid `AtomicU32`. The memory is lent until the
    // search is used no more, which is as long as the reference lives.
    unsafe {
        first.write_bytes(0, count);
        core::slice::from_raw_parts(first.as_ptr(), count)
    }
}

/// `bytes` gets how many bytes of memory a search of this capacity takes. Returns ONCILLA_BAD_COUNT if the capacity has
/// no node, or more than there can be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_search_size(capacity: *const OncillaCapacity, bytes: *mut usize) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (capacity, bytes) = unsafe { (input(capacity)?, output(bytes)?) };
        bytes.set(capacity.layout()?.bytes()?);
        Ok(())
    })
}

/// Makes a search without a visit in `memory`, which it occupies as long as it is used; what the memory held before
/// does not matter. There is nothing to free. `params` may be NULL, for the defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_search_new(
    memory: *mut c_void,
    bytes: usize,
    capacity: *const OncillaCapacity,
    params: *const OncillaParams,
    search: *mut *mut OncillaSearch,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (capacity, params, to) = unsafe { (input(capacity)?, params_or_default(params)?, output(search)?) };
        let layout = capacity.layout()?;
        // SAFETY: the contract of the crate.
        let handle: NonNull<OncillaSearch> = unsafe { place(memory, bytes, layout.bytes()?)? };
        // SAFETY: `place` found `layout.bytes()` bytes behind `memory`, and put the handle at most `padding` after
        // its beginning. Sizes of handle and nodes are multiples of 4, so words are aligned. No part overlaps another.
        let (nodes, words, graph) = unsafe {
            let nodes = handle.add(1).cast::<u8>();
            let words = nodes.add(layout.nodes);
            let graph = words.add(layout.words);
            (
                zeroed::<NodeWords>(nodes, capacity.nodes),
                zeroed::<AtomicU32>(words, capacity.edge_words),
                zeroed::<GraphWords>(graph, if capacity.graph == 0 { 0 } else { capacity.nodes }),
            )
        };
        let tree = if graph.is_empty() { Tree::new(nodes, words) } else { Tree::new_graph(nodes, words, graph) };
        let number = SEARCHES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: `place` found aligned room.
        unsafe { handle.write(OncillaSearch { mark: OncillaSearch::MARK, number, search: Search::new(tree, params) }) };
        to.set(handle.as_ptr());
        Ok(())
    })
}

/// Ends the use of a search: its handle is no longer valid, and its memory belongs to the host again. An event that is
/// under way in it is of no use any more: cancel it before, or make it anew with oncilla_event_new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_search_end(search: *mut OncillaSearch) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { alone(search)? }.mark = 0;
        Ok(())
    })
}

/// Changes the parameters. A new policy temperature affects new nodes only. `draw_score` and `wdl_rescale` are those of
/// the side to move at the root: a host that advances the root by one ply changes the signs of `draw_score` and
/// `wdl_rescale.diff`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_set_params(search: *mut OncillaSearch, params: *const OncillaParams) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, params) = unsafe { (alone(search)?, params_or_default(params)?) };
        search.search.set_params(params);
        Ok(())
    })
}

/// Forgets the tree. Events in flight count for nothing any more: to settle or answer one is ONCILLA_STALE, and
/// oncilla_bring_back drops those that were settled, or needed no answer, and returns ONCILLA_OK. The others belong to
/// this search until they are cancelled. Every root move may be searched again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_clear(search: *mut OncillaSearch) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { alone(search)? }.search.clear();
        Ok(())
    })
}

/// Resets the counts, for the next move of the game.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_start_move(search: *mut OncillaSearch) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        unsafe { alone(search)? }.search.start_move();
        Ok(())
    })
}

/// Makes the position after `count` moves from the root the new root, because the game went on by them: the tree below
/// it is kept, the rest is freed. `visits` (which may be NULL) gets the number of visits that the new root has already.
/// Bring back or cancel the events in flight first: otherwise the whole tree is forgotten. What oncilla_set_root_moves
/// and oncilla_set_remaining_playouts said of the old root is forgotten, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_advance(
    search: *mut OncillaSearch,
    moves: *const u16,
    count: usize,
    visits: *mut u32,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, moves) = unsafe { (alone(search)?, inputs(moves, count)?) };
        // SAFETY: the contract of the crate.
        let visits = unsafe { outputs(visits, (!visits.is_null()).into())? };
        let mut kept = search.search.visits();
        for &mv in moves {
            kept = search.search.advance(&[Move(mv)]);
        }
        visits.fill([kept]);
        Ok(())
    })
}

/// Makes room by folding subtrees of few visits into their parents' edges, which keep N and value. `freed` (which may
/// be NULL) gets the number of nodes freed: 0 if nothing could be, so that the search can't go on before events in
/// flight are back, if there are any; 1 also if none was freed, but the search can go on. Call it when a gathered event meets ONCILLA_FULL; other events may be in flight.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_recycle(search: *mut OncillaSearch, freed: *mut usize) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let search = unsafe { alone(search)? };
        // SAFETY: the contract of the crate.
        let to = unsafe { outputs(freed, (!freed.is_null()).into())? };
        to.fill([search.search.recycle()]);
        Ok(())
    })
}

/// Restricts the search to some root moves (UCI's searchmoves), until oncilla_advance or oncilla_clear: `indices[i]` is
/// the index of `moves[i]` among the legal moves. A `count` of 0 allows all moves; it may be at most 362. An index that
/// the root does not have allows no move: if all are such, none may be searched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_set_root_moves(
    search: *mut OncillaSearch,
    moves: *const u16,
    indices: *const u16,
    count: usize,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let search = unsafe { alone(search)? };
        // SAFETY: the contract of the crate.
        let (moves, indices) = unsafe { (inputs(moves, count)?, inputs(indices, count)?) };
        if count > oncilla_core::search::MAX_ROOT_MOVES {
            return Err(OncillaStatus::OncillaBadCount);
        }
        search.search.set_root_moves(indices.iter().zip(moves).map(|(&index, &mv)| (index.into(), Move(mv))));
        Ok(())
    })
}

/// Says how many more playouts are expected at most, until oncilla_advance or oncilla_clear: root moves that can't
/// become the best one in that many are left out. ONCILLA_NO_LIMIT searches all moves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_set_remaining_playouts(search: *const OncillaSearch, remaining: u32) -> OncillaStatus {
    attempt(|| {
        let remaining = Some(remaining).filter(|remaining| *remaining != ONCILLA_NO_LIMIT);
        // SAFETY: the contract of the crate.
        unsafe { shared(search)? }.search.set_remaining_playouts(remaining);
        Ok(())
    })
}

/// `mv` gets the best move by visits, proven results first, among the moves that have been visited: others have no
/// name. After few playouts it may be a move that is proven to lose while others were not tried yet:
/// oncilla_edge_to_play takes those into account, too. Returns ONCILLA_NO_MOVE before a move has been visited.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_best_move(search: *const OncillaSearch, mv: *mut u16) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, to) = unsafe { (shared(search)?, output(mv)?) };
        to.set(search.search.best_move().ok_or(OncillaStatus::OncillaNoMove)?.0);
        Ok(())
    })
}

/// `mv` gets the move to play after `ply` half moves of the game: that of oncilla_best_move, or another one if the
/// temperature leaves the choice to chance, or if the parameters ask for a lower bound. An unvisited move has no name:
/// if it is the one to play, because the visited moves are proven to lose or because chance has chosen it, the function
/// returns ONCILLA_UNNAMED, and oncilla_edge_to_play has the move's index. Returns ONCILLA_NO_MOVE before a move has
/// been visited.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_move_to_play(search: *const OncillaSearch, ply: u32, mv: *mut u16) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, to) = unsafe { (shared(search)?, output(mv)?) };
        let best = search.search.best_move().ok_or(OncillaStatus::OncillaNoMove)?;
        let edge = search.search.edge_to_play(ply);
        to.set(edge.map_or(Some(best), |edge| edge.mv()).ok_or(OncillaStatus::OncillaUnnamed)?.0);
        Ok(())
    })
}

/// `edge` gets the root's move to play after `ply` half moves of the game, even if it is unvisited, as may happen when
/// the visited moves are proven to lose: then its `mv` is -1, and its `index` is its index among the legal moves.
/// Returns ONCILLA_NO_MOVE before the first playout, and if the game has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_edge_to_play(
    search: *const OncillaSearch,
    ply: u32,
    edge: *mut OncillaRootEdge,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, to) = unsafe { (shared(search)?, output(edge)?) };
        let edge = search.search.edge_to_play(ply).ok_or(OncillaStatus::OncillaNoMove)?;
        to.set(OncillaRootEdge::of(&edge));
        Ok(())
    })
}

/// `moves` gets the principal variation: the best move and what both sides would play after it, as far as nodes have
/// visits and there is room; at most oncilla_max_plies moves. `count` gets how many moves were written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_pv(
    search: *const OncillaSearch,
    moves: *mut u16,
    room: usize,
    count: *mut usize,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, moves, count) = unsafe { (shared(search)?, outputs(moves, room)?, output(count)?) };
        let mut line = Vec::<Move, PLIES>::new();
        if let Some(first) = search.search.best_edge() {
            search.search.pv(&first, line.as_mut_view());
        }
        count.set(moves.fill(line.iter().map(|mv| mv.0)));
        Ok(())
    })
}

/// A move of the root.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaRootEdge {
    /// The move, or -1 if it is unvisited.
    pub mv: i32,
    /// The move's index among the legal moves, or -1 once the move is known.
    pub index: i32,
    /// Visits that have come back.
    pub visits: u32,
    /// Visits in flight.
    pub in_flight: u32,
    /// The prior, in [0, 1].
    pub prior: f32,
    /// Not 0 once a visit has come back: only then wl, d and m mean something.
    pub has_value: u32,
    /// A win's probability minus a loss's, to the side that makes the move.
    pub wl: f32,
    /// The probability of a draw.
    pub d: f32,
    /// Plies left after the move.
    pub m: f32,
    /// What is proven, for the side that makes the move: at least this (-1 a loss, 0 a draw, 1 a win) ...
    pub lower: i32,
    /// ... and at most this.
    pub upper: i32,
}

impl OncillaRootEdge {
    fn of(edge: &EdgeView<'_, Tree<'static>>) -> Self {
        let value = edge.value();
        let part = value.unwrap_or(oncilla_core::evaluate::Value::EVEN);
        let bounds = edge.bounds();
        Self {
            mv: edge.mv().map_or(-1, |mv| mv.0.into()),
            index: edge.index().map_or(-1, |index| index as i32),
            visits: edge.completed(),
            in_flight: edge.n() - edge.completed(),
            prior: edge.p(),
            has_value: value.is_some().into(),
            wl: part.wl,
            d: part.d,
            m: part.m,
            lower: sign(bounds.lower),
            upper: sign(bounds.upper),
        }
    }
}

fn sign(bound: Bound) -> i32 {
    match bound {
        Bound::Loss => -1,
        Bound::Draw => 0,
        Bound::Win => 1,
    }
}

/// `edges` gets the moves of the root: those that were visited in the order of their first visits, then the others in
/// the order of the game's list. `count` (which may be NULL) gets how many were written; if there are more than `room`,
/// the first ones are. So a `count` as large as `room` may not be all: ONCILLA_MAX_EDGES is room for any root. None is
/// missing even if other threads search meanwhile; each is as it was when it was looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_root_edges(
    search: *const OncillaSearch,
    edges: *mut OncillaRootEdge,
    room: usize,
    count: *mut usize,
) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, to) = unsafe { (shared(search)?, outputs(edges, room)?) };
        // SAFETY: the contract of the crate.
        let count = unsafe { outputs(count, (!count.is_null()).into())? };
        count.fill([search.search.root().map_or(0, |root| write_edges(&root, &to))]);
        Ok(())
    })
}

/// Writes all edges of a node, or as many as there is room for, and returns how many. A move that is visited for the
/// first time meanwhile might be in neither part of the list: then all edges are written again, which can't happen more
/// often than there are moves.
fn write_edges(node: &NodeView<'_, Tree<'static>>, to: &Output<OncillaRootEdge>) -> usize {
    node.of_all_edges(|| to.fill(node.edges().map(|edge| OncillaRootEdge::of(&edge))))
}

/// What a search reports about itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OncillaStats {
    /// Visits of the root, including those from earlier moves of the game.
    pub visits: u32,
    /// Visits in flight through the root.
    pub in_flight: u32,
    /// How many nodes are in use.
    pub nodes: u32,
    /// How many words edges use.
    pub edge_words: u32,
    /// How full the fuller of the two memories is, per mille (UCI's hashfull).
    pub permille_full: u32,
    /// Visits from earlier moves of the game that were taken back since oncilla_start_move, because a draw by
    /// repetition no longer was one.
    pub taken_back: u32,
    /// Playouts since oncilla_start_move that did not count as visits of the root: they restored what was folded.
    pub restored: u32,
    /// The root's value: a win's probability minus a loss's, to the side to move.
    pub wl: f32,
    /// The probability of a draw.
    pub d: f32,
    /// Plies left.
    pub m: f32,
    /// What is proven of the root's position by all its moves: at least this (-1 a loss, 0 a draw, 1 a win) ...
    pub lower: i32,
    /// ... and at most this.
    pub upper: i32,
}

/// `stats` gets counts of the tree, and the root's value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oncilla_stats(search: *const OncillaSearch, stats: *mut OncillaStats) -> OncillaStatus {
    attempt(|| {
        // SAFETY: the contract of the crate.
        let (search, to) = unsafe { (shared(search)?, output(stats)?) };
        to.set(stats_of(&search.search).ok_or(OncillaStatus::OncillaNoRoom)?);
        Ok(())
    })
}

fn stats_of(search: &Search<Tree<'static>>) -> Option<OncillaStats> {
    let (root, tree) = (search.root()?, search.repository());
    let (value, bounds) = (root.value(), search.proven());
    Some(OncillaStats {
        visits: root.n(),
        in_flight: root.in_flight(),
        nodes: tree.live_nodes() as u32,
        edge_words: tree.live_words() as u32,
        permille_full: tree.permille_full(),
        taken_back: search.taken_back(),
        restored: search.restored(),
        wl: value.wl,
        d: value.d,
        m: value.m,
        lower: sign(bounds.lower),
        upper: sign(bounds.upper),
    })
}
