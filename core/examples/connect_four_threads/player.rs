//! A player whose threads share one search.
#![allow(dead_code, reason = "who plays a game needs other things than who tests one")]

use super::connect_four::Board;
use oncilla_core::Move;
use oncilla_core::evaluate::Evaluator;
use oncilla_core::heapless;
use oncilla_core::search::{Event, Gathered, Params, Search};
use oncilla_core::stats::Counts;
use oncilla_core::stop::{KnownBest, Limits, OnlyMove, Progress, Reason, SmartPruning, TimeLimit};
use oncilla_core::time::{Clock, Manager};
use oncilla_core::tree::Tree;
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Instant;

/// Playouts that a thread has under way at a time: that many positions would be a batch of an evaluator that wants
/// batches.
const BATCH: usize = 8;
/// Longest game.
const PLIES: usize = 42;
const COLUMNS: usize = 7;

/// Plays from a position on; what the search and the time manager know is kept from move to move.
pub struct Player<'m> {
    board: Board,
    /// Threads that do playouts share it. Who makes room or advances it has it alone.
    search: RwLock<Search<Tree<'m>>>,
    manager: Manager,
}

/// A move, and what the search had come to.
pub struct Thought {
    pub mv: Move,
    /// The move's value to the side that makes it, from -1 to 1.
    pub wl: f32,
    pub line: Vec<Move>,
    pub playouts: u64,
    pub used_ms: f64,
    pub why: End,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Limit(Reason),
    /// The game has ended at the root.
    NoMoves,
    /// There is no room, and nothing to fold.
    NoRoom,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit(reason) => reason.fmt(f),
            Self::NoMoves => f.write_str("the game has ended"),
            Self::NoRoom => f.write_str("the memory is full"),
        }
    }
}

impl<'m> Player<'m> {
    pub fn new(board: Board, tree: Tree<'m>) -> Self {
        Self { board, search: RwLock::new(Search::new(tree, Params::default())), manager: Manager::default() }
    }

    /// The move to play, found by `threads` threads; `None` if the game has ended.
    pub fn think(&mut self, clock: &Clock, threads: usize) -> Option<Thought> {
        let search = self.search.get_mut().unwrap_or_else(PoisonError::into_inner);
        search.start_move();
        let budget = self.manager.on_move_start(clock, search.visits().into());
        let limits = Limits {
            time: Some(TimeLimit::of(&budget)),
            only_move: Some(OnlyMove),
            known_best: Some(KnownBest),
            pruning: SmartPruning::new(1.33),
            ..Limits::default()
        };
        let watch =
            Watch { manager: &mut self.manager, limits, start: Instant::now(), counts: Counts::ZERO, end: None };
        let watch = Mutex::new(watch);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| work(&self.search, self.board, &watch));
            }
        });
        let Watch { start, counts, end, .. } = watch.into_inner().unwrap_or_else(PoisonError::into_inner);
        let used_ms = ms_since(start);
        self.manager.on_move_end(used_ms, counts.playouts);
        self.thought(clock.ply, counts.playouts, used_ms, end?)
    }

    fn thought(&mut self, ply: u32, playouts: u64, used_ms: f64, why: End) -> Option<Thought> {
        let search = self.search.get_mut().unwrap_or_else(PoisonError::into_inner);
        let best = search.edge_to_play(ply)?;
        let nth = |index| self.board.moves().nth(index).expect("a place in this very list");
        let mv = best.mv_or(nth);
        let mut line = heapless::Vec::<Move, 8>::new();
        search.pv(&best, line.as_mut_view());
        let wl = best.value().map_or(0.0, |value| value.wl);
        Some(Thought { mv, wl, line: line.to_vec(), playouts, used_ms, why })
    }

    /// Somebody has moved.
    pub fn play(&mut self, mv: Move) {
        self.board = self.board.play(mv);
        self.search.get_mut().unwrap_or_else(PoisonError::into_inner).advance(&[mv]);
    }

    pub fn board(&self) -> Board {
        self.board
    }

    pub fn search(&mut self) -> &Search<Tree<'m>> {
        self.search.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the threads of one search have in common, beside the tree: how far they are, and whether that is enough.
struct Watch<'a> {
    manager: &'a mut Manager,
    limits: Limits,
    start: Instant,
    counts: Counts,
    end: Option<End>,
}

impl Watch<'_> {
    /// One thread's share since it was here last, and how it ended. True if the search is over.
    fn is_over(&mut self, search: &Search<Tree<'_>>, share: &Counts, end: Option<End>) -> bool {
        self.counts = self.counts.plus(share);
        let mut progress = Progress::of(search, &self.counts, ms_since(self.start));
        self.manager.on_progress(progress.elapsed_ms, progress.playouts);
        if let Some(leader) = progress.root.leader() {
            progress.unsettled = self.manager.on_leader(progress.elapsed_ms, leader);
        }
        let decision = self.limits.check(&progress, self.manager.nps());
        // Root moves that can't become the best one any more are left out.
        search.set_remaining_playouts(u32::try_from(decision.remaining_playouts).ok());
        self.end = self.end.or(end).or(decision.stop.map(End::Limit));
        self.end.is_some()
    }
}

/// What a thread does until the search is over: a look at the clock, a batch, room where there is none.
fn work(search: &RwLock<Search<Tree<'_>>>, board: Board, watch: &Mutex<Watch<'_>>) {
    let shared = || search.read().unwrap_or_else(PoisonError::into_inner);
    let mut events: [Event<PLIES>; BATCH] = std::array::from_fn(|_| Event::new());
    let (mut share, mut end) = (Counts::ZERO, None);
    loop {
        // The watch comes first, then the search: the same order in every thread.
        if watch.lock().unwrap_or_else(PoisonError::into_inner).is_over(&shared(), &share, end) {
            return;
        }
        share = Counts::ZERO;
        // Not in the `match`: making room waits for the read lock to be released, which the `match` would hold.
        let met = playouts(&shared(), &mut events, board, &mut share);
        end = match met {
            Some(Gathered::Full) if make_room(search, &mut events[0]) => None,
            Some(Gathered::Full) => Some(End::NoRoom),
            Some(_) => Some(End::NoMoves),
            None => None,
        };
    }
}

/// Folds what was visited least, alone with the search; false if that leaves no room. Where it frees nothing, another
/// thread may have made room meanwhile.
fn make_room(search: &RwLock<Search<Tree<'_>>>, event: &mut Event<PLIES>) -> bool {
    let mut search = search.write().unwrap_or_else(PoisonError::into_inner);
    let has_room = search.recycle() > 0 || search.gather(event) != Gathered::Full;
    search.cancel(event);
    has_room
}

/// One batch: down, answers, up. Returns what kept a playout from a leaf, [`Gathered::Full`] or [`Gathered::NoMoves`].
fn playouts(
    search: &Search<Tree<'_>>,
    events: &mut [Event<PLIES>; BATCH],
    board: Board,
    share: &mut Counts,
) -> Option<Gathered> {
    search.gather_together(events);
    let mut hindered = None;
    for event in events.iter_mut() {
        match event.met() {
            Gathered::Leaf => answer(search, event, board),
            Gathered::Known | Gathered::Collision => {}
            met => hindered = Some(met),
        }
        if event.is_ready() {
            share.add_playout(event.plies() as u64 + 1);
        }
    }
    search.bring_back(events);
    // What met another playout's leaf is taken back, now that answers are in.
    events.iter_mut().for_each(|event| search.cancel(event));
    hindered
}

/// Asks the rules about a leaf. With a network, this would be a row of a batch.
fn answer(search: &Search<Tree<'_>>, event: &mut Event<PLIES>, mut board: Board) {
    if let Some(index) = event.unnamed() {
        let mut moves = heapless::Vec::<Move, COLUMNS>::new();
        board.legal_moves(event.moves(), moves.as_mut_view());
        event.name(moves[index]);
    }
    let mut policy = heapless::Vec::<f32, COLUMNS>::new();
    let Ok(answer) = board.evaluate(event.moves(), policy.as_mut_view());
    search
        .settle(event, &answer, &mut policy)
        .expect("a leaf that waits for this answer, and room for the root's moves");
}

fn ms_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1000.0
}
